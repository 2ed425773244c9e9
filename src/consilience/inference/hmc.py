"""Hamiltonian Monte Carlo with a trajectory of fixed mean length, one transition: state in, state out.

Duane et al. (1987); the number of leapfrog steps is drawn anew for every transition (Mackenzie 1989), because
a length in step with the target's own period would not mix. Tuning, storage and threads stay outside.
"""

from __future__ import annotations

from consilience.inference.chain_state import State
from consilience.inference.density import Density, stopped
from consilience.inference.hamiltonian import copy, draw_momentum, kinetic_energy, leapfrog
from consilience.inference.metric import Metric, velocity_of
from consilience.inference.streams import ACCEPTANCE, MOMENTUM, PATH_LENGTH, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, inf, isnan
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

GREATEST_ENERGY_ERROR = 1000.0


@record
class Path:
    """Scratch memory of one transition.

    positions, gradients, drifts   two points, the last and the one being made, f64[2, stride]
    momentum, velocity             f64[dimension]
    """

    positions: Array[f64]
    gradients: Array[f64]
    drifts: Array[f64]
    momentum: Array[f64]
    velocity: Array[f64]


@record
class HmcInfo:
    """What happened in one transition.

    leapfrogs      leapfrog steps taken
    acceptance     min(1, exp(start energy - end energy))
    accepted       whether the end of the path is the new state
    diverging      whether the energy error passed its bound; the path ends there
    energy         energy of the new state
    energy_error   energy at the end of the path minus energy at its start
    diverging_from, diverging_to   rows of `Path.positions`: the leapfrog step that diverged
    """

    leapfrogs: i64
    acceptance: f64
    accepted: boolean
    diverging: boolean
    energy: f64
    energy_error: f64
    diverging_from: i64
    diverging_to: i64


@record
class Hmc:
    """All that a transition reads and writes.

    path_length   mean integration time, positive; the metric's scale is its unit
    max_steps     greatest number of leapfrog steps, at least 1
    """

    density: Density
    state: State
    metric: Metric
    path: Path
    info: HmcInfo
    path_length: f64
    max_steps: i64


def new_hmc(
    density: Density, state: State, metric: Metric, vectors: Vectors, path_length: float, max_steps: int
) -> Hmc:
    """All that transitions of `state` need, with fresh scratch memory."""
    path = Path(vectors.rows(2), vectors.rows(2), vectors.rows(2), vectors.vector(), vectors.vector())
    info = HmcInfo(
        leapfrogs=0,
        acceptance=0.0,
        accepted=False,
        diverging=False,
        energy=0.0,
        energy_error=0.0,
        diverging_from=0,
        diverging_to=0,
    )
    return Hmc(density, state, metric, path, info, path_length, max_steps)


@native
def steps_of_path(state: State, step_size: f64, path_length: f64, max_steps: i64) -> i64:
    """Number of leapfrog steps: path_length / step_size times a number uniform on (0.5, 1.5), at least 1."""
    key = purpose_key(state.key, PATH_LENGTH)
    steps = path_length / step_size * (0.5 + uniform(key, state.transition, 0)) + 0.5
    return int(max(1.0, min(steps, float(max_steps))))


@native
def hmc_transition(hmc: Hmc, step_size: f64) -> boolean:
    """Move the state by one transition of HMC with this step size, and describe it in `hmc.info`.

    returns   False, with the state as it was, if the run was stopped meanwhile
    """
    density = hmc.density
    state = hmc.state
    path = hmc.path
    info = hmc.info
    metric = hmc.metric
    n = state.dimension
    stride = state.stride
    draw_momentum(state, metric, MOMENTUM, 0, path.momentum)
    velocity_of(metric, path.momentum, path.velocity)
    copy(state.position, path.positions, n)
    copy(state.gradient, path.gradients, n)
    velocity_of(metric, path.gradients, path.drifts)
    start_energy = kinetic_energy(path.momentum, path.velocity, n) - state.logp
    steps = steps_of_path(state, step_size, hmc.path_length, hmc.max_steps)
    here = 0
    logp = state.logp
    energy = start_energy
    info.leapfrogs = 0
    info.diverging = False
    while info.leapfrogs < steps and not info.diverging and not stopped(density):
        last = here * stride
        there = (1 - here) * stride
        logp, kinetic = leapfrog(
            density,
            metric,
            step_size,
            path.positions[last:],
            path.gradients[last:],
            path.drifts[last:],
            path.momentum,
            path.velocity,
            path.positions[there:],
            path.gradients[there:],
            path.drifts[there:],
        )
        energy = kinetic - logp
        info.leapfrogs += 1
        info.diverging = not (energy - start_energy <= GREATEST_ENERGY_ERROR)
        info.diverging_from = here
        here = 1 - here
        info.diverging_to = here
    if stopped(density):
        return False

    error = energy - start_energy
    if isnan(error):
        error = inf
    info.energy_error = error
    info.acceptance = exp(min(0.0, -error))
    choice = uniform(purpose_key(state.key, ACCEPTANCE), state.transition, 0)
    info.accepted = choice < info.acceptance and not info.diverging
    info.energy = start_energy
    if info.accepted:
        copy(path.positions[here * stride :], state.position, n)
        copy(path.gradients[here * stride :], state.gradient, n)
        state.logp = logp
        info.energy = energy
    state.transition += 1
    return True
