"""Parallel tempering, one transition: replicas at rising temperatures move, and neighbours change places.

Geyer (1991); even and odd pairs take turns, and inverse temperatures are spaced to equal rejection rates (Syed,
Bouchard-Cote, Deligiannidis & Doucet 2021). The replica at inverse temperature b has the density to the power b; the
draws are those of b = 1.
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
from consilience.inference.messages import Window
from consilience.inference.point import Point, start_without_gradient
from consilience.inference.self_tuning import SelfTuning
from consilience.inference.settings import check_number
from consilience.inference.streams import REPLICA_ACCEPTANCE, REPLICAS, SWAP, normal_vector, purpose_key, uniform
from consilience.inference.tuner import TuningSetting
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, log, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

FIRST_ROUND = 32  # transitions before the ladder is first changed; each round is twice as long as the one before
FINAL_SHARE = 0.2  # of tuning, in which the ladder stays as it is
LEAST_REJECTION = 1e-3  # counted between neighbours, so that no two of them come to the same temperature
LARGEST_VARIANCE = 1e200
WIDEST = 1e4  # a replica that spreads so many times as far as the draws has no density, or hardly one


@record
class TemperingInfo:
    """What happened in one transition.

    `accept`: mean acceptance probability of the proposals at b = 1.
    `swaps`: pairs of neighbours that changed places.
    `barrier`: sum of the rejection rates between neighbours since the ladder was last changed.
    `spread`: standard deviation of the hottest replica, in units of that of the draws, as learnt while tuning; the
        greatest over coordinates.
    `round_trips`: journeys of a replica from b = 1 to the hottest level and back that ended here.
    `lp`: log density of the new state.
    """

    accept: f64
    swaps: i64
    barrier: f64
    spread: f64
    round_trips: i64
    lp: f64


@record
class TemperingState:
    """What a chain remembers besides the position at b = 1, which its first replica holds as well.

    levels: Number of replicas.
    inverses (Array): Inverse temperatures, falling from 1, f64[levels].
    positions (Array): f64[levels, dimension].
    logps (Array): Log densities, f64[levels].
    been_hot (Array): 1 for replicas that were at the hottest level since they were at b = 1, i64[levels].
    scales (Array): Logarithms of the factors on the deviations of proposals, f64[levels].
    means, variances (Array): Of the positions at each level, learnt while tuning, f64[levels, dimension].
    rejections (Array): Sums of the rejection probabilities between neighbours since the ladder was changed,
        f64[levels].
    proposed (Array): How many swaps these are of, f64[levels].
    round_end: Transition after which the ladder is next changed.
    moves: Metropolis steps of each replica between swaps.
    tune: Number of tuning transitions.
    """

    levels: i64
    inverses: Array[f64]
    positions: Array[f64]
    logps: Array[f64]
    been_hot: Array[i64]
    scales: Array[f64]
    means: Array[f64]
    variances: Array[f64]
    rejections: Array[f64]
    proposed: Array[f64]
    round_end: i64
    moves: i64
    tune: i64


@record
class TemperingScratch:
    """Memory of a transition.

    positions, logps (Array): Where the replicas have come to, f64[levels, dimension] and f64[levels].
    acceptance (Array): Their mean acceptance probabilities, f64[levels].
    proposal, normals (Array): f64[dimension].
    barrier (Array): Sums of rejection rates up to each level, f64[levels].
    """

    positions: Array[f64]
    logps: Array[f64]
    acceptance: Array[f64]
    proposal: Array[f64]
    normals: Array[f64]
    barrier: Array[f64]


@native(rare=True)
def start_tempering(
    point: Point, state: TemperingState, scratch: TemperingScratch, density: Density, info: TemperingInfo
) -> boolean:
    """Put all replicas at the starting point; False if its log density is not finite."""
    if not start_without_gradient(point, density):
        return False
    n = point.dimension
    for k in range(state.levels):
        copy(point.position, state.positions[k * n :], n)
        copy(point.position, state.means[k * n :], n)
        state.logps[k] = point.logp
    return True


@native
def explore(point: Point, state: TemperingState, scratch: TemperingScratch, density: Density, level: i64) -> boolean:
    """Random-walk Metropolis steps of one replica, in the scratch memory; False where the run was stopped."""
    n = point.dimension
    here = scratch.positions[level * n :]
    variances = state.variances[level * n :]
    inverse = state.inverses[level]
    scale = exp(state.scales[level])
    key = purpose_key(point.key, REPLICA_ACCEPTANCE)
    scratch.acceptance[level] = 0.0
    for j in range(state.moves):
        if stopped(density):
            return False
        number = level * state.moves + j
        normal_vector(point, REPLICAS, number * n, scratch.normals)
        for i in range(n):
            scratch.proposal[i] = here[i] + scale * sqrt(variances[i]) * scratch.normals[i]
        logp = log_density(density, scratch.proposal)
        accept = exp(min(0.0, inverse * (logp - scratch.logps[level])))
        scratch.acceptance[level] += accept / float(state.moves)
        if uniform(key, point.transition, number) < accept:
            copy(scratch.proposal, here, n)
            scratch.logps[level] = logp
    return True


@native
def swap(point: Point, state: TemperingState) -> i64:
    """Let neighbours change places, even pairs after even transitions and odd ones after odd; how many did."""
    n = point.dimension
    key = purpose_key(point.key, SWAP)
    swaps = 0
    k = point.transition & 1
    while k + 1 < state.levels:
        gain = (state.inverses[k] - state.inverses[k + 1]) * (state.logps[k + 1] - state.logps[k])
        accept = exp(min(0.0, gain))
        state.rejections[k] += 1.0 - accept
        state.proposed[k] += 1.0
        if uniform(key, point.transition, k) < accept:
            swaps += 1
            upper = state.positions[k * n :]
            lower = state.positions[(k + 1) * n :]
            for i in range(n):
                kept = upper[i]
                upper[i] = lower[i]
                lower[i] = kept
            logp = state.logps[k]
            state.logps[k] = state.logps[k + 1]
            state.logps[k + 1] = logp
            hot = state.been_hot[k]
            state.been_hot[k] = state.been_hot[k + 1]
            state.been_hot[k + 1] = hot
        k += 2
    return swaps


@native(rare=True)
def learn_proposals(point: Point, state: TemperingState, scratch: TemperingScratch) -> None:
    """Move means, variances and scales of each level towards what its last steps say."""
    n = point.dimension
    wanted = 0.234 + 0.206 / float(n)
    done = float(point.transition)
    weight = 1.0 / (5.0 + 0.5 * done)
    for k in range(state.levels):
        state.scales[k] += (scratch.acceptance[k] - wanted) / sqrt(done)
        for i in range(n):
            at = k * n + i
            gap = state.positions[at] - state.means[at]
            state.means[at] += weight * gap
            variance = state.variances[at] + weight * (gap * gap - state.variances[at])
            state.variances[at] = min(max(variance, 1.0 / LARGEST_VARIANCE), LARGEST_VARIANCE)


@native(rare=True)
def space_ladder(state: TemperingState, sums: Array[f64]) -> None:
    """Move the inner inverse temperatures to where neighbours reject equally often.

    The sum of rejection rates is taken as linear in log b between two levels.
    """
    last = state.levels - 1
    sums[0] = 0.0
    for k in range(last):
        sums[k + 1] = sums[k] + max(LEAST_REJECTION, state.rejections[k] / max(1.0, state.proposed[k]))
        state.rejections[k] = log(state.inverses[k])  # the old ladder, while the new one is made
        state.proposed[k] = 0.0
    state.rejections[last] = log(state.inverses[last])
    k = 0
    for j in range(1, last):
        wanted = sums[last] * float(j) / float(last)
        while sums[k + 1] < wanted:
            k += 1
        share = (wanted - sums[k]) / (sums[k + 1] - sums[k])
        state.inverses[j] = exp(state.rejections[k] + share * (state.rejections[k + 1] - state.rejections[k]))
    for k in range(state.levels):
        state.rejections[k] = 0.0


@native
def describe(point: Point, state: TemperingState, info: TemperingInfo) -> None:
    """Barrier, spread, and whether a round trip has ended."""
    n = point.dimension
    last = state.levels - 1
    info.barrier = 0.0
    for k in range(last):
        info.barrier += state.rejections[k] / max(1.0, state.proposed[k])
    info.spread = 0.0
    for i in range(n):
        info.spread = max(info.spread, sqrt(state.variances[last * n + i] / state.variances[i]))
    info.round_trips = state.been_hot[0]
    state.been_hot[0] = 0
    state.been_hot[last] = 1


@native
def step_tempering(
    point: Point, state: TemperingState, scratch: TemperingScratch, density: Density, info: TemperingInfo
) -> boolean:
    """Move every replica, let neighbours change places, and learn while tuning."""
    n = point.dimension
    copy(state.positions, scratch.positions, state.levels * n)
    copy(state.logps, scratch.logps, state.levels)
    for k in range(state.levels):
        if not explore(point, state, scratch, density, k):
            return False
    if stopped(density):
        return False
    copy(scratch.positions, state.positions, state.levels * n)
    copy(scratch.logps, state.logps, state.levels)
    info.accept = scratch.acceptance[0]
    info.swaps = swap(point, state)
    copy(state.positions, point.position, n)
    point.logp = state.logps[0]
    info.lp = point.logp
    describe(point, state, info)
    point.transition += 1
    if point.transition <= state.tune:
        learn_proposals(point, state, scratch)
        if point.transition == state.round_end:
            state.round_end = 2 * state.round_end + FIRST_ROUND
            if float(point.transition) <= (1.0 - FINAL_SHARE) * float(state.tune):
                space_ladder(state, scratch.barrier)
    return True


class ParallelTempering(Kernel):
    """Parallel tempering with random-walk Metropolis, for all variables of a continuous model with several modes.

    vars, compiled : ...
    levels (int): Number of inverse temperatures from 1 to `hottest`, at least 2.
    hottest (float): The least inverse temperature, between 0 and 1: the density to this power has to be one, and to be
        without barriers between the modes.
    moves (int): Metropolis steps of every replica between two swaps, at least 1.
    See sample_smc: For several modes, too, with the evidence.

    Notes
    -----
    A transition takes levels * moves evaluations. Inverse temperatures, and scales for each level and coordinate, are
    learnt while tuning. The statistic `barrier` is the sum of the rejection rates between neighbours; about twice as
    many levels serve best. Where the replica at `hottest` spreads ten thousand times as far as the draws, its density
    is taken for improper, as a Cauchy density to the power 1/2 is, and the run ends with a SamplingError.


    References
    ----------
    Swendsen, Wang (1986), Physical Review Letters 57, 2607.

    >>> with pm.Model():
    ...     x = pm.NormalMixture("x", [0.5, 0.5], [-5.0, 5.0], 1.0)
    ...     result = pm.sample(step=pm.ParallelTempering(levels=4), random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    levels: int = 10
    hottest: float = 0.01
    moves: int = 5

    needs: ClassVar[Needs] = "logp"
    Info: ClassVar[type[Any]] = TemperingInfo
    start: ClassVar[Any] = start_tempering
    step: ClassVar[Any] = step_tempering
    roles: ClassVar[Mapping[Role, str]] = {"log density": "lp", "acceptance": "accept"}
    scheduled: ClassVar[bool] = True
    whole: ClassVar[bool] = True

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_number("hottest", self.hottest)
        if not 0.0 < self.hottest < 1.0:
            raise SamplingError(f"hottest needs a number between 0 and 1, both excluded, got {self.hottest}.")
        if self.levels < 2:
            raise SamplingError(f"levels needs an integer of at least 2, got {self.levels}.")
        if self.moves < 1:
            raise SamplingError(f"moves needs an integer of at least 1, got {self.moves}.")

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> TemperingState:
        """See `Kernel.state`."""
        levels, n = self.levels, block.dimension
        return TemperingState(
            levels=levels,
            inverses=np.geomspace(1.0, self.hottest, levels),
            positions=np.zeros(levels * n),
            logps=np.zeros(levels),
            been_hot=np.zeros(levels, np.int64),
            scales=np.full(levels, np.log(2.38 / np.sqrt(n))),
            means=np.zeros(levels * n),
            variances=np.ones(levels * n),
            rejections=np.zeros(levels),
            proposed=np.zeros(levels),
            round_end=FIRST_ROUND,
            moves=self.moves,
            tune=tune,
        )

    def scratch(
        self, block: Block, point: Point, state: TemperingState, density: Density, vectors: Vectors
    ) -> TemperingScratch:
        """See `Kernel.scratch`."""
        levels = state.levels
        return TemperingScratch(
            positions=np.zeros(levels * block.dimension),
            logps=np.zeros(levels),
            acceptance=np.zeros(levels),
            proposal=vectors.vector(),
            normals=vectors.vector(),
            barrier=np.zeros(levels),
        )

    def tuner(self, setting: TuningSetting) -> LadderTuner:
        """Chains tune each by itself; what spreads without bounds is noticed."""
        return LadderTuner(setting, self)


class LadderTuner(SelfTuning):
    """A tuner that leaves chains to themselves, and ends the run where the hottest replica has no density."""

    def __init__(self, setting: TuningSetting, kernel: ParallelTempering) -> None:
        super().__init__(setting)
        self.kernel = kernel

    def take(self, windows: Mapping[int, Window]) -> None:
        """Look at the spread of the hottest replicas; SamplingError where it is that of no density."""
        super().take(windows)
        place = self.kernel.columns.names.index("spread")
        spread = max(window.statistics[place, -1] for window in windows.values())
        if self.finished and not spread < WIDEST:
            raise SamplingError(
                f"the density to the power {self.kernel.hottest} seems to be improper: the replica there spreads "
                f"{spread:.1g} times as far as the draws, where less than {WIDEST:g} is needed. Give "
                "ParallelTempering a greater `hottest`, or variables with heavy tails other priors."
            )
