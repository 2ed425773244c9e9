"""Hamiltonian mechanics in a space with a diagonal metric: momentum, kinetic energy, leapfrog.

Positions, momenta and variances are plain arrays of the same length; nothing here knows trees or tuning.
The variance is the inverse mass, so the velocity of momentum p is variance * p.
"""

from __future__ import annotations

from consilience.inference.chain_state import State
from consilience.inference.density import Density, evaluate
from consilience.inference.streams import normal_vector
from consilience.native.typed_python import Array, f64, i64, native


@native(shared=True)
def copy(source: Array[f64], target: Array[f64], dimension: i64) -> None:
    """target[:dimension] = source[:dimension]; the two do not overlap."""
    for i in range(dimension):
        target[i] = source[i]


@native(reassociate=True, contract=True)
def kinetic_energy(momentum: Array[f64], variance: Array[f64], dimension: i64) -> f64:
    """p' M^-1 p / 2."""
    total = 0.0
    for i in range(dimension):
        total += variance[i] * momentum[i] * momentum[i]
    return 0.5 * total


@native
def draw_momentum(state: State, purpose: i64, first: i64, mass_deviation: Array[f64], momentum: Array[f64]) -> None:
    """momentum ~ Normal(0, M), M = mass_deviation ** 2, from the transition's blocks from `first` on."""
    normal_vector(state, purpose, first, momentum)
    for i in range(state.dimension):
        momentum[i] *= mass_deviation[i]


@native(reassociate=True, contract=True, shared=True)
def leapfrog(
    density: Density,
    variance: Array[f64],
    step: f64,
    position: Array[f64],
    gradient: Array[f64],
    momentum: Array[f64],
    next_position: Array[f64],
    next_gradient: Array[f64],
    dimension: i64,
) -> tuple[f64, f64]:
    """One leapfrog step of size `step` (negative: back in time).

    Gives log density and kinetic energy at its end. `momentum` is carried along in place; `position` and
    `gradient` stay as they are. Where the density or its gradient is not finite, the log density is -inf or
    the kinetic energy is no finite number.
    """
    half = 0.5 * step
    for i in range(dimension):
        momentum[i] += half * gradient[i]
        next_position[i] = position[i] + step * variance[i] * momentum[i]
    logp = evaluate(density, next_position, next_gradient)
    twice_kinetic = 0.0
    for i in range(dimension):
        momentum[i] += half * next_gradient[i]
        twice_kinetic += variance[i] * momentum[i] * momentum[i]
    return logp, 0.5 * twice_kinetic
