"""Random-walk Metropolis, one transition: state in, state out.

Metropolis et al. (1953) with normal proposals. No gradient is needed. During tuning the proposal's scale follows the
share of accepted proposals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Tuning
from consilience.inference.metric import diagonal
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_positive
from consilience.inference.streams import ACCEPTANCE, PROPOSAL, normal_vector, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

TUNING_INTERVAL = 100  # proposals between two changes of the scale


@record
class MetropolisInfo:
    """What happened in one transition, under PyMC's names.

    accept     min(1, density at the proposal / density at the start)
    accepted   whether the proposal is the new state
    scaling    factor on all deviations that was used
    lp         log density of the new state
    """

    accept: f64
    accepted: boolean
    scaling: f64
    lp: f64


@record
class MetropolisState:
    """What a chain remembers besides where it is.

    scale        factor on all deviations, positive; tuned
    deviations   standard deviation of a step per coordinate for scale 1, f64[dimension]
    proposals, successes   proposals made and accepted since the scale was last changed
    tune         number of tuning transitions
    """

    scale: f64
    deviations: Array[f64]
    proposals: i64
    successes: i64
    tune: i64


@record
class MetropolisScratch:
    """The point proposed, f64[dimension]."""

    position: Array[f64]


@native
def rescaling(rate: f64) -> f64:
    """Factor for the scale, given the share of accepted proposals; between 20 and 50 % it is left alone."""
    if rate < 0.001:
        return 0.1
    if rate < 0.05:
        return 0.5
    if rate < 0.2:
        return 0.9
    if rate > 0.95:
        return 10.0
    if rate > 0.75:
        return 2.0
    if rate > 0.5:
        return 1.1
    return 1.0


@native
def tune_scale(state: MetropolisState) -> None:
    """Change the scale after every `TUNING_INTERVAL` proposals."""
    if state.proposals == TUNING_INTERVAL:
        state.scale *= rescaling(float(state.successes) / float(state.proposals))
        state.proposals = 0
        state.successes = 0


@native
def start_metropolis(
    point: Point, state: MetropolisState, scratch: MetropolisScratch, density: Density, info: MetropolisInfo
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_metropolis(
    point: Point, state: MetropolisState, scratch: MetropolisScratch, density: Density, info: MetropolisInfo
) -> boolean:
    """Propose a normal step from the point, and accept it or not."""
    if stopped(density):
        return False
    n = point.dimension
    normal_vector(point, PROPOSAL, 0, scratch.position)
    for i in range(n):
        scratch.position[i] = point.position[i] + state.scale * state.deviations[i] * scratch.position[i]
    logp = log_density(density, scratch.position)
    info.scaling = state.scale
    info.accept = exp(min(0.0, logp - point.logp))
    info.accepted = uniform(purpose_key(point.key, ACCEPTANCE), point.transition, 0) < info.accept
    state.proposals += 1
    if info.accepted:
        copy(scratch.position, point.position, n)
        point.logp = logp
        state.successes += 1
    info.lp = point.logp
    point.transition += 1
    if point.transition <= state.tune:
        tune_scale(state)
    return True


class Metropolis(Kernel):
    """Random-walk Metropolis with normal proposals whose scale is tuned.

    scale        factor on all deviations at the beginning, positive
    deviations   standard deviation of a step per coordinate for scale 1, positive; all 1 by default
    """

    scale: float = 1.0
    deviations: tuple[float, ...] | None = None

    needs: ClassVar[Needs] = "logp"
    Info: ClassVar[type[Any]] = MetropolisInfo
    start: ClassVar[Any] = start_metropolis
    step: ClassVar[Any] = step_metropolis
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept", "step size": "scaling"}

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_positive("scale", self.scale)
        for deviation in self.deviations or ():
            check_positive("each of deviations", deviation)

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> MetropolisState:
        """See `Kernel.state`."""
        deviations = np.ones(block.dimension) if self.deviations is None else np.array(self.deviations)
        if len(deviations) != block.dimension:
            raise SamplingError(
                f"deviations needs one number per coordinate, {block.dimension}, got {len(deviations)}."
            )
        return MetropolisState(self.scale, vectors.vector(deviations), 0, 0, tune)

    def scratch(
        self, block: Block, point: Point, state: MetropolisState, density: Density, vectors: Vectors
    ) -> MetropolisScratch:
        """See `Kernel.scratch`."""
        return MetropolisScratch(vectors.vector())

    def learnt(self, state: MetropolisState) -> Tuning:
        """Scale and variances of the proposal as they are now."""
        return Tuning(state.scale, diagonal((state.scale * np.asarray(state.deviations)) ** 2))
