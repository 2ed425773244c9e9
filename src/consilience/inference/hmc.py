"""Hamiltonian Monte Carlo with a trajectory of fixed mean length, one transition: state in, state out.

Duane et al. (1987); the number of leapfrog steps is drawn anew for every transition (Mackenzie 1989), because
a length in step with the target's own period would not mix. Storage and threads stay outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from consilience.errors import SamplingError
from consilience.inference.block import Block
from consilience.inference.columns import Role
from consilience.inference.density import Density, stopped
from consilience.inference.hamiltonian import copy, draw_momentum, kinetic_energy, leapfrog
from consilience.inference.kernel import Kernel
from consilience.inference.messages import ChainTuning
from consilience.inference.metric import installed, velocity_of
from consilience.inference.point import Point, start
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.step_size_search import Probe, new_probe
from consilience.inference.streams import ACCEPTANCE, MOMENTUM, PATH_LENGTH, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import Warmup, adapt, begin, new_warmup
from consilience.native.mathematics import exp, inf, isnan
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

GREATEST_ENERGY_ERROR = 1000.0


@record
class HmcInfo:
    """What happened in one transition, under PyMC's names.

    `step_size`, `step_size_bar`: step size used, and the average of dual averaging.
    `n_steps`: leapfrog steps taken.
    `acceptance_rate`: min(1, exp(start energy - end energy)).
    `accepted`: whether the end of the path is the new state.
    `diverging`: whether the energy error passed its bound; the path ends there.
    `energy`: energy of the new state.
    `energy_error`: energy at the end of the path minus energy at its start.
    `lp`: log density of the new state.
    """

    step_size: f64
    step_size_bar: f64
    n_steps: i64
    acceptance_rate: f64
    accepted: boolean
    diverging: boolean
    energy: f64
    energy_error: f64
    lp: f64


@record
class HmcState:
    """What a chain remembers besides where it is.

    path_length: Mean integration time, positive; the metric's scale is its unit.
    max_steps: Greatest number of leapfrog steps, at least 1.
    """

    warmup: Warmup
    path_length: f64
    max_steps: i64
    tune: i64


@record
class HmcScratch:
    """Memory of a transition.

    positions, gradients, drifts (Array): Two points, the last and the one being made, f64[2, stride].
    momentum, velocity (Array): f64[dimension].
    begin, end (Array): Ends of the leapfrog step that diverged, f64[dimension].
    """

    positions: Array[f64]
    gradients: Array[f64]
    drifts: Array[f64]
    momentum: Array[f64]
    velocity: Array[f64]
    begin: Array[f64]
    end: Array[f64]
    probe: Probe


@native
def steps_of_path(point: Point, step_size: f64, path_length: f64, max_steps: i64) -> i64:
    """Number of leapfrog steps: path_length / step_size times a number uniform on (0.5, 1.5), at least 1."""
    key = purpose_key(point.key, PATH_LENGTH)
    steps = path_length / step_size * (0.5 + uniform(key, point.transition, 0)) + 0.5
    return int(max(1.0, min(steps, float(max_steps))))


@native
def start_hmc(point: Point, state: HmcState, scratch: HmcScratch, density: Density, info: HmcInfo) -> boolean:
    """Evaluate the starting point and find a first metric and step size; False if the point is not finite."""
    if not start(point, density):
        return False
    begin(state.warmup, density, point, scratch.probe)
    return True


@native
def step_hmc(point: Point, state: HmcState, scratch: HmcScratch, density: Density, info: HmcInfo) -> boolean:
    """Move the point along a path of random length, accept its end or not, and let that teach what it may."""
    warmup = state.warmup
    metric = warmup.metric
    step_size = warmup.step.step
    n = point.dimension
    stride = point.stride
    draw_momentum(point, metric, MOMENTUM, 0, scratch.momentum)
    velocity_of(metric, scratch.momentum, scratch.velocity)
    copy(point.position, scratch.positions, n)
    copy(point.gradient, scratch.gradients, n)
    velocity_of(metric, scratch.gradients, scratch.drifts)
    start_energy = kinetic_energy(scratch.momentum, scratch.velocity, n) - point.logp
    steps = steps_of_path(point, step_size, state.path_length, state.max_steps)
    here = 0
    logp = point.logp
    energy = start_energy
    info.n_steps = 0
    info.diverging = False
    while info.n_steps < steps and not info.diverging and not stopped(density):
        last = here * stride
        there = (1 - here) * stride
        logp, kinetic = leapfrog(
            density,
            metric,
            step_size,
            scratch.positions[last:],
            scratch.gradients[last:],
            scratch.drifts[last:],
            scratch.momentum,
            scratch.velocity,
            scratch.positions[there:],
            scratch.gradients[there:],
            scratch.drifts[there:],
        )
        energy = kinetic - logp
        info.n_steps += 1
        info.diverging = not (energy - start_energy <= GREATEST_ENERGY_ERROR)
        if info.diverging:
            copy(scratch.positions[last:], scratch.begin, n)
            copy(scratch.positions[there:], scratch.end, n)
        here = 1 - here
    if stopped(density):
        return False

    error = energy - start_energy
    if isnan(error):
        error = inf
    info.energy_error = error
    info.acceptance_rate = exp(min(0.0, -error))
    choice = uniform(purpose_key(point.key, ACCEPTANCE), point.transition, 0)
    info.accepted = choice < info.acceptance_rate and not info.diverging
    info.energy = start_energy
    if info.accepted:
        copy(scratch.positions[here * stride :], point.position, n)
        copy(scratch.gradients[here * stride :], point.gradient, n)
        point.logp = logp
        info.energy = energy
    point.transition += 1
    info.step_size = step_size
    if point.transition <= state.tune:
        adapt(warmup, density, point, scratch.probe, info.acceptance_rate, info.accepted)
    info.step_size_bar = warmup.step.average
    info.lp = point.logp
    return True


class LeapfrogPath(Kernel):
    """Kernels that move along a path of leapfrog steps, with a diagonal metric learnt while tuning."""

    scheduled: ClassVar[bool] = True
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = HmcInfo
    start: ClassVar[Any] = start_hmc
    step: ClassVar[Any] = step_hmc
    roles: ClassVar[Mapping[Role, str]] = {
        "log density": "lp",
        "divergence": "diverging",
        "energy": "energy",
        "energy error": "energy_error",
        "acceptance": "acceptance_rate",
        "step size": "step_size",
    }

    def scratch(self, block: Block, point: Point, state: HmcState, density: Density, vectors: Vectors) -> HmcScratch:
        """See `Kernel.scratch`."""
        return HmcScratch(
            positions=vectors.rows(2),
            gradients=vectors.rows(2),
            drifts=vectors.rows(2),
            momentum=vectors.vector(),
            velocity=vectors.vector(),
            begin=vectors.vector(),
            end=vectors.vector(),
            probe=new_probe(vectors),
        )

    def learnt(self, state: HmcState) -> ChainTuning:
        """Step size and metric as they are now."""
        return ChainTuning(state.warmup.step.step, installed(state.warmup.metric))

    def ends(self, scratch: HmcScratch) -> tuple[Any, Any]:
        """See `Kernel.ends`."""
        return scratch.begin, scratch.end


class HamiltonianMC(LeapfrogPath):
    """Hamiltonian Monte Carlo with a diagonal metric that is learned while tuning.

    vars, compiled : ...
    path_length: Mean integration time, positive; the learnt metric's scale is its unit.
    target_accept: Mean acceptance probability to tune the step size for, between 0 and 1.
    max_steps: Greatest number of leapfrog steps of a transition, at least 1.
    initial_step: Where the search for a first step size begins, positive.
    See MALA: The Metropolis-adjusted Langevin algorithm.
    See NUTS: The No-U-Turn Sampler (Hoffman & Gelman 2014).

    References
    ----------
    Neal: MCMC Using Hamiltonian Dynamics, in Handbook of Markov Chain Monte Carlo (2011).

    >>> pm.HamiltonianMC(target_accept=0.9).target_accept
    0.9
    """

    path_length: float = 2.0
    target_accept: float = 0.65
    max_steps: int = 1024
    initial_step: float = 0.1

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_positive("path_length", self.path_length)
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)
        if self.max_steps < 1:
            raise SamplingError(f"max_steps needs an integer of at least 1, got {self.max_steps}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> HmcState:
        """See `Kernel.state`."""
        warmup = new_warmup(vectors, tune, self.target_accept, self.initial_step)
        return HmcState(warmup, self.path_length, self.max_steps, tune)
