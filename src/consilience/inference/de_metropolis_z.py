"""Differential evolution from a chain's own past, one transition: state in, state out.

ter Braak & Vrugt (2008). The chain's history is the archive of points, so that one chain is enough; its length is
bounded by thinning, so that it always covers the whole past. Snooker updates are an option.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from consilience.errors import SamplingError
from consilience.inference.archive import ARCHIVE, pair
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Role
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.differential_evolution import (
    DEInfo,
    DEProposal,
    Tuned,
    check_proposal,
    decide,
    distance,
    new_proposal,
    propose,
)
from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Command
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.settings import check_number
from consilience.inference.streams import SNOOKER, purpose_key, two_uniforms, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import log
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

SHORTEST = 1.2  # snooker updates go between so many and so many times the projected difference
LONGEST = 2.2


@record
class DEMetropolisZState:
    """What a chain remembers besides where it is.

    history (Array): Past points, f64[ARCHIVE, dimension].
    points: How many of its rows are filled.
    every: Transitions between two points that are kept; doubled, with every other point dropped, when it is full.
    snooker: Probability of a snooker update.
    dropped: Share of the history that is forgotten when tuning ends.
    tune: Number of tuning transitions.
    """

    proposal: DEProposal
    history: Array[f64]
    points: i64
    every: i64
    snooker: f64
    dropped: f64
    tune: i64


@record
class DEMetropolisZScratch:
    """The point proposed, f64[dimension]."""

    position: Array[f64]


@native
def remember(point: Point, state: DEMetropolisZState) -> None:
    """Add the point to the history if it is its turn."""
    n = point.dimension
    if point.transition % state.every != 0:
        return
    if state.points == ARCHIVE:
        state.points = ARCHIVE >> 1
        state.every *= 2
        for k in range(state.points):
            copy(state.history[(2 * k + 1) * n :], state.history[k * n :], n)
        if point.transition % state.every != 0:
            return
    copy(point.position, state.history[state.points * n :], n)
    state.points += 1


@native
def forget(state: DEMetropolisZState, dimension: i64) -> None:
    """Drop the older part of the history, but for two points."""
    kept = max(min(state.points, 2), int((1.0 - state.dropped) * float(state.points)))
    first = state.points - kept
    for k in range(kept):
        copy(state.history[(first + k) * dimension :], state.history[k * dimension :], dimension)
    state.points = kept


@native
def propose_along_line(point: Point, state: DEMetropolisZState, target: Array[f64]) -> f64:
    """A snooker update: along the line through the point and a past one, by the projection of a difference on it.

    Gives the logarithm of the Jacobian, (dimension - 1) log(|target - past one| / |point - past one|).
    """
    n = point.dimension
    key = purpose_key(point.key, SNOOKER)
    first, second = two_uniforms(key, point.transition, 1)
    a, b = pair(state.points, first, second)
    third, between = two_uniforms(key, point.transition, 2)
    anchor = state.history[min(int(third * float(state.points)), state.points - 1) * n :]
    end = state.history[a * n :]
    begin = state.history[b * n :]
    copy(point.position, target, n)
    length = distance(point.position, anchor, n)
    if length == 0.0:  # the point itself is no line
        return 0.0
    along = 0.0
    for i in range(n):
        along += (point.position[i] - anchor[i]) / length * (end[i] - begin[i])
    factor = (SHORTEST + (LONGEST - SHORTEST) * between) * along / length
    for i in range(n):
        target[i] += factor * (point.position[i] - anchor[i])
    reached = distance(target, anchor, n)
    if reached == 0.0:
        return 0.0
    return float(n - 1) * log(reached / length)


@native
def start_de_metropolis_z(
    point: Point, state: DEMetropolisZState, scratch: DEMetropolisZScratch, density: Density, info: DEInfo
) -> boolean:
    """Evaluate the starting point; False if its log density is not finite."""
    return start_without_gradient(point, density)


@native
def step_de_metropolis_z(
    point: Point, state: DEMetropolisZState, scratch: DEMetropolisZScratch, density: Density, info: DEInfo
) -> boolean:
    """Propose a point, accept it or not, and remember where the chain is."""
    if stopped(density):
        return False
    factor = 0.0
    kind = 1.0
    if state.snooker > 0.0:
        kind = uniform(purpose_key(point.key, SNOOKER), point.transition, 0)
    if kind < state.snooker and state.points >= 2:
        factor = propose_along_line(point, state, scratch.position)
    else:
        propose(point, state.proposal, state.history, state.points, scratch.position)
    logp = log_density(density, scratch.position)
    decide(point, state.proposal, scratch.position, logp, factor, state.tune, info)
    remember(point, state)
    if point.transition == state.tune:
        forget(state, point.dimension)
    return True


class DEMetropolisZ(Kernel):
    """Differential evolution with a chain's own history (ter Braak & Vrugt 2008), for continuous variables.

    vars, compiled : ...
    lamb (float): Factor on the difference of two past points, positive; 2.38 / sqrt(2 dimension) by default.
    scaling (float): Half width of the uniform perturbation of each coordinate, positive.
    tune (Tuned): What is tuned: "lambda", "scaling", or None for nothing.
    tune_interval (int): Transitions between two changes, at least 1.
    tune_drop_fraction (float): Share of the history that is forgotten when tuning ends, from 0 to 1.
    snooker (float): Probability of a snooker update in place of a difference, from 0 to 1.
    See DEMetropolis: Across chains.

    Notes
    -----
    At most 1000 past points are kept, spread over the whole past.


    References
    ----------
    Ter Braak, Vrugt (2008), Statistics and Computing 18, 435.

    >>> with pm.Model():
    ...     x = pm.Normal("x", shape=2)
    ...     result = pm.sample(step=pm.DEMetropolisZ(), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    lamb: float | None = None
    scaling: float = 0.001
    tune: Tuned = "lambda"
    tune_interval: int = 100
    tune_drop_fraction: float = 0.9
    snooker: float = 0.0

    needs: ClassVar[Needs] = "logp"
    jumping: ClassVar[bool] = True
    Info: ClassVar[type[Any]] = DEInfo
    start: ClassVar[Any] = start_de_metropolis_z
    step: ClassVar[Any] = step_de_metropolis_z
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept", "step size": "lamb"}

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_proposal(self.lamb, self.scaling, self.tune, self.tune_interval)
        for name in ("tune_drop_fraction", "snooker"):
            value = getattr(self, name)
            check_number(name, value)
            if not 0.0 <= value <= 1.0:
                raise SamplingError(f"{name} needs a number from 0 to 1, got {value}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> DEMetropolisZState:
        """See `Kernel.state`."""
        n = block.dimension
        proposal = new_proposal(self.lamb, self.scaling, self.tune, self.tune_interval, n)
        history = np.zeros(ARCHIVE * n)
        return DEMetropolisZState(proposal, history, 0, 1, self.snooker, self.tune_drop_fraction, tune)

    def scratch(
        self, block: Block, point: Point, state: DEMetropolisZState, density: Density, vectors: Vectors
    ) -> DEMetropolisZScratch:
        """See `Kernel.scratch`."""
        return DEMetropolisZScratch(vectors.vector())

    def apply(self, point: Point, state: DEMetropolisZState, command: Command) -> bool:
        """Tuning may end before its time."""
        if command == "sample" and point.transition < state.tune:
            forget(state, point.dimension)
        return super().apply(point, state, command)
