"""Chains of NUTS: what they remember, how they learn from a transition, and what a tuner may tell them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from consilience.inference.density import Density
from consilience.inference.dual_averaging import learn
from consilience.inference.lbfgs import LBFGS, lbfgs_initialization
from consilience.inference.metric import Scales
from consilience.inference.nuts import Nuts, NutsInfo, transition
from consilience.inference.point import Point, start
from consilience.inference.step_size_search import Probe
from consilience.inference.warmup import (
    Warmup,
    adapt,
    adapt_alone,
    begin,
    keep_fallback,
    search,
)
from consilience.native.typed_python import boolean, i64, native, record
from consilience.record import Record

if TYPE_CHECKING:
    pass

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

    `learning`: what is learnt from now on.
    `initialize`: climb from the starting point to the typical set before anything else.
    `max_treedepth`: greatest depth of a tree.
    `scales`: the metric.
    `step`: the state of the step size.
    `target_accept`: acceptance probability that the step size is tuned for.
    `search`: a step size from which to search another one before the window begins.
    """

    learning: Learning | None = None
    initialize: bool | None = None
    max_treedepth: int | None = None
    scales: Scales | None = None
    step: Averaging | None = None
    target_accept: float | None = None
    search: float | None = None


@record
class NutsState:
    """What a chain of NUTS remembers besides where it is.

    learning: One of `Learning`.
    max_treedepth: Greatest number of doublings.
    initializing: Whether it climbs to the typical set when it starts.
    searching: Whether `start` searches a step size from where the chain is.
    """

    warmup: Warmup
    learning: i64
    max_treedepth: i64
    initializing: boolean
    searching: boolean


@record
class NutsScratch:
    """Memory of a transition."""

    nuts: Nuts
    lbfgs: LBFGS
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
    if state.initializing:
        lbfgs_initialization(scratch.lbfgs, density, point)
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
    """One transition and what it teaches."""
    warmup = state.warmup
    nuts = scratch.nuts
    nuts.info = info
    nuts.max_treedepth = state.max_treedepth
    info.step_size = warmup.step.step
    if not transition(nuts, warmup.step.step):
        return False
    learn_from(point, state, scratch, density, info)
    info.step_size_bar = warmup.step.average
    info.lp = point.logp
    return True
