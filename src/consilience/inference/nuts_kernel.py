"""Chains of NUTS: what they remember, how they tune, and what a run may tell them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block
from consilience.inference.columns import Role
from consilience.inference.density import Density, stopped
from consilience.inference.descent import Descent, descend, new_descent
from consilience.inference.dual_averaging import learn
from consilience.inference.fisher_metric import Form
from consilience.inference.jumps import Jumps, JumpScratch, jump_around, new_jump_scratch, new_jumps
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Command, Tuning
from consilience.inference.metric import Scales, install, installed
from consilience.inference.nuts import Nuts, NutsInfo, new_nuts, transition
from consilience.inference.point import Point, start
from consilience.inference.settings import check_fraction, check_positive
from consilience.inference.step_size_search import Probe, new_probe
from consilience.inference.streams import TREE, purpose_key
from consilience.inference.vectors import Vectors
from consilience.inference.warmup import (
    Warmup,
    adapt,
    adapt_alone,
    begin,
    keep_fallback,
    new_warmup,
    return_to_fallback,
    search,
)
from consilience.native.typed_python import boolean, i64, native, record
from consilience.native.typed_python.records import release
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.inference.tuner import Setting, Tuner

FORMS = ("auto", "diag", "lowrank", "dense")
DEEPEST = 20  # 2**20 leapfrog steps per transition

# `Learning`, as native code sees it
SCHEDULE = 1
ALONE = 2
STEP = 3


class Learning(IntEnum):
    """What a chain learns from its transitions."""

    NOTHING = 0
    SCHEDULE = 1  # metric and step size, by itself, on a schedule of fixed length
    ALONE = 2  # metric and step size, by itself, for as long as it is told to
    STEP = 3  # the step size; the metric comes from the tuner


class Averaging(Record):
    """A state of dual averaging: see `dual_averaging.StepSize`."""

    step: float
    anchor: float
    count: int


class NutsCommand(Record, eq=False):
    """What a tuner tells a chain of NUTS between two windows. What is None stays as it is.

    learning        what is learnt from now on
    descend         climb from the starting point to the typical set before anything else
    max_treedepth   greatest depth of a tree
    scales          the metric
    step            the state of the step size
    target_accept   acceptance probability that the step size is tuned for
    search          a step size from which to search another one before the window begins
    jumps, archive  differential-evolution jumps after every transition, and the points they are made of,
                    float64 (point, coordinate)
    """

    learning: Learning | None = None
    descend: bool | None = None
    max_treedepth: int | None = None
    scales: Scales | None = None
    step: Averaging | None = None
    target_accept: float | None = None
    search: float | None = None
    jumps: int | None = None
    archive: NDArray[np.float64] | None = None


@record
class NutsState:
    """What a chain of NUTS remembers besides where it is.

    learning        one of `Learning`
    max_treedepth   greatest number of doublings
    descending      whether it climbs to the typical set when it starts
    searching       whether `start` searches a step size from where the chain is
    """

    warmup: Warmup
    jumps: Jumps
    learning: i64
    max_treedepth: i64
    descending: boolean
    searching: boolean


@record
class NutsScratch:
    """Memory of a transition."""

    nuts: Nuts
    jumps: JumpScratch
    descent: Descent
    probe: Probe


@native(rare=True)
def start_nuts(point: Point, state: NutsState, scratch: NutsScratch, density: Density, info: NutsInfo) -> boolean:
    """Evaluate the starting point and find a first metric and step size; False if the point is not finite.

    Where only a step size is wanted it is searched from the point where the chain is.
    """
    if not start(point, density):
        return False
    if state.searching:
        search(state.warmup, density, point, scratch.probe)
        state.searching = False
        return True
    if state.descending:
        descend(scratch.descent, density, point)
    begin(state.warmup, density, point, scratch.probe)
    return True


@native(rare=True)
def learn_from(point: Point, state: NutsState, scratch: NutsScratch, density: Density, info: NutsInfo) -> None:
    """Let the last transition teach what it may."""
    warmup = state.warmup
    informative = info.index_in_trajectory != 0 and not info.diverging
    if state.learning == STEP:
        keep_fallback(warmup, point, info.mean_tree_accept_sym)
        learn(warmup.step, info.mean_tree_accept_sym)
    elif state.learning == ALONE:
        adapt_alone(warmup, density, point, scratch.probe, info.mean_tree_accept, informative)
    elif state.learning == SCHEDULE and point.transition <= warmup.length:
        # Past the early phase a chain is where it belongs: there losing energy is no better than gaining it.
        late = point.transition > warmup.early
        acceptance = info.mean_tree_accept_sym if late else info.mean_tree_accept
        adapt(warmup, density, point, scratch.probe, acceptance, informative)


@native
def step_nuts(point: Point, state: NutsState, scratch: NutsScratch, density: Density, info: NutsInfo) -> boolean:
    """One transition, what it teaches, and the jumps that follow it."""
    warmup = state.warmup
    nuts = scratch.nuts
    nuts.info = info
    nuts.max_treedepth = state.max_treedepth
    info.step_size = warmup.step.step
    if not transition(nuts, warmup.step.step):
        return False
    learn_from(point, state, scratch, density, info)
    if state.jumps.count > 0:
        jump_around(state.jumps, scratch.jumps, density, point)
        if stopped(density):
            return False  # not all jumps were made: the transition does not count
    info.step_size_bar = warmup.step.average
    info.lp = point.logp
    return True


class NUTS(Kernel):
    """The No-U-Turn Sampler (Hoffman & Gelman 2014), with multinomial trajectories (Betancourt 2017).

    target_accept   mean acceptance probability to tune the step size for, between 0 and 1
    max_treedepth   greatest number of doublings of a trajectory, from 1 to 20
    initial_step    where the search for a first step size begins, positive
    metric          "diag", "lowrank" (a diagonal and some directions), "dense", or "auto": as many directions as pay
    descend         whether chains climb to the typical set before anything else
    jumps           jumps between past points of all chains after each transition; "auto": when chains disagree
    """

    target_accept: float = 0.8
    max_treedepth: int = 10
    initial_step: float = 0.1
    metric: Form = "auto"
    descend: bool = True
    jumps: int | Literal["auto"] = 0

    Info: ClassVar[type[Any]] = NutsInfo
    start: ClassVar[Any] = start_nuts
    step: ClassVar[Any] = step_nuts
    roles: ClassVar[Mapping[Role, str]] = {
        "log density": "lp",
        "divergence": "diverging",
        "energy": "energy",
        "energy error": "max_energy_error",
        "acceptance": "mean_tree_accept_sym",
        "step size": "step_size",
        "depth": "depth",
    }

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""
        check_fraction("target_accept", self.target_accept)
        check_positive("initial_step", self.initial_step)
        if not 1 <= self.max_treedepth <= DEEPEST:
            raise SamplingError(f"max_treedepth needs an integer from 1 to {DEEPEST}, got {self.max_treedepth}.")
        if self.metric not in FORMS:
            raise SamplingError(f"`metric` must be one of {', '.join(map(repr, FORMS))}, got {self.metric!r}.")
        if self.jumps != "auto" and self.jumps < 0:
            raise SamplingError(f'`jumps` must be a number of at least 0 or "auto", got {self.jumps!r}.')

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> NutsState:
        """See `Kernel.state`."""
        return NutsState(
            warmup=new_warmup(vectors, tune, self.target_accept, self.initial_step),
            jumps=new_jumps(),
            learning=Learning.SCHEDULE if tune else Learning.NOTHING,
            max_treedepth=self.max_treedepth,
            descending=False,
            searching=False,
        )

    def scratch(self, block: Block, point: Point, state: NutsState, density: Density, vectors: Vectors) -> NutsScratch:
        """See `Kernel.scratch`."""
        return NutsScratch(
            nuts=new_nuts(density, point, state.warmup.metric, vectors, self.max_treedepth),
            jumps=new_jump_scratch(vectors),
            descent=new_descent(vectors),
            probe=new_probe(vectors),
        )

    def obey(self, point: Point, state: NutsState, command: Command) -> bool:
        """Take in a `NutsCommand`, or "sample"."""
        if command == "sample":
            command = NutsCommand(learning=Learning.NOTHING)
        if not isinstance(command, NutsCommand):
            raise SamplingError(f"chains of NUTS take a NutsCommand, got {command!r}.")
        warmup, step = state.warmup, state.warmup.step
        if command.descend is not None:
            state.descending = command.descend
        if command.learning is not None:
            if command.learning == Learning.NOTHING and state.learning == Learning.STEP and warmup.found:
                return_to_fallback(warmup, point)
            warmup.found = False
            state.learning = command.learning
        if command.max_treedepth is not None:
            state.max_treedepth = command.max_treedepth
        if command.scales is not None:
            install(warmup.metric, command.scales)
            release(warmup.metric)
        if command.step is not None:
            step.step = step.average = command.step.step
            step.anchor = command.step.anchor
            step.count = command.step.count
            step.error = 0.0
        if command.search is not None:
            step.step = command.search
            state.searching = True
        if command.target_accept is not None:
            step.target = command.target_accept
        if command.jumps is not None:
            state.jumps.count = command.jumps
        if command.archive is not None:
            state.jumps.archive = np.ascontiguousarray(command.archive).reshape(-1)
            state.jumps.points = len(command.archive)
            release(state.jumps)
        return state.searching

    def learnt(self, state: NutsState) -> Tuning:
        """Step size and metric as they are now."""
        return Tuning(state.warmup.step.step, installed(state.warmup.metric))

    def rekey(self, scratch: NutsScratch, key: int) -> None:
        """See `Kernel.rekey`."""
        scratch.nuts.trajectory.key = int(purpose_key(key, TREE))

    def ends(self, scratch: NutsScratch) -> tuple[Any, Any]:
        """See `Kernel.ends`."""
        return scratch.nuts.trajectory.diverging_from, scratch.nuts.trajectory.diverging_to

    def tuner(self, setting: Setting) -> Tuner:
        """Chains tune together: one metric and one step size from the draws of all."""
        from consilience.inference.nuts_tuner import NutsTuner

        return NutsTuner(self, setting)
