"""Hamiltonian mechanics in a space with a metric: momentum, kinetic energy, leapfrog.

Positions, momenta and velocities are plain arrays of the same length; nothing here knows trees or tuning.
A velocity is the inverse mass times a momentum. It is carried along with its momentum, and the drift (the
inverse mass times the gradient) with its gradient: so a step needs one product with the metric, not two.
"""

from __future__ import annotations

from consilience.inference.density import Density, evaluate
from consilience.inference.metric import Metric, scale_momentum, velocity_of
from consilience.inference.point import Point
from consilience.inference.streams import normal_vector
from consilience.native.typed_python import Array, f64, i64, native, simd


@native(shared=True)
def copy(source: Array[f64], target: Array[f64], dimension: i64) -> None:
    """target[:dimension] = source[:dimension]; the two do not overlap."""
    for i in simd(dimension):
        target[i] = source[i]


@native(contract=True)
def kinetic_energy(momentum: Array[f64], velocity: Array[f64], dimension: i64) -> f64:
    """p' M^-1 p / 2."""
    total = 0.0
    for i in simd(dimension):
        total += momentum[i] * velocity[i]
    return 0.5 * total


@native
def draw_momentum(point: Point, metric: Metric, purpose: i64, first: i64, momentum: Array[f64]) -> None:
    """momentum ~ Normal(0, M), from the transition's blocks from `first` on."""
    normal_vector(point, purpose, first, momentum)
    scale_momentum(metric, momentum)


@native(contract=True)
def kick(
    half: f64, gradient: Array[f64], drift: Array[f64], momentum: Array[f64], velocity: Array[f64], dimension: i64
) -> f64:
    """Half a step of momentum and velocity; gives the kinetic energy afterwards."""
    twice_kinetic = 0.0
    for i in simd(dimension):
        pushed = momentum[i] + half * gradient[i]
        moving = velocity[i] + half * drift[i]
        momentum[i] = pushed
        velocity[i] = moving
        twice_kinetic += pushed * moving
    return 0.5 * twice_kinetic


@native(contract=True, shared=True)
def leapfrog(
    density: Density,
    metric: Metric,
    step: f64,
    position: Array[f64],
    gradient: Array[f64],
    drift: Array[f64],
    momentum: Array[f64],
    velocity: Array[f64],
    next_position: Array[f64],
    next_gradient: Array[f64],
    next_drift: Array[f64],
) -> tuple[f64, f64]:
    """One leapfrog step of size `step` (negative: back in time).

    Gives log density and kinetic energy at its end. Drifts are read and written only where the metric has
    directions. `momentum` and `velocity` are carried along in place; `position`, `gradient` and `drift` stay as they
    are. Where the density or its gradient is not finite, the log density is -inf or the kinetic energy is no finite
    number.
    """
    n = metric.dimension
    half = 0.5 * step
    if metric.coupled:
        for i in simd(n):
            momentum[i] += half * gradient[i]
            moving = velocity[i] + half * drift[i]
            velocity[i] = moving
            next_position[i] = position[i] + step * moving
        logp = evaluate(density, next_position, next_gradient)
        velocity_of(metric, next_gradient, next_drift)
        return logp, kick(half, next_gradient, next_drift, momentum, velocity, n)
    # without directions a drift is quicker made than fetched
    variance = metric.variance
    for i in simd(n):
        slope = half * gradient[i]
        momentum[i] += slope
        moving = velocity[i] + variance[i] * slope
        velocity[i] = moving
        next_position[i] = position[i] + step * moving
    logp = evaluate(density, next_position, next_gradient)
    twice_kinetic = 0.0
    for i in simd(n):
        slope = half * next_gradient[i]
        pushed = momentum[i] + slope
        moving = velocity[i] + variance[i] * slope
        momentum[i] = pushed
        velocity[i] = moving
        twice_kinetic += pushed * moving
    return logp, 0.5 * twice_kinetic
