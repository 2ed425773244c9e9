"""How one chain tunes itself: which transitions teach the metric, which the step size, and when windows end.

The schedule of nutpie for a fixed number of tuning transitions: short windows during the first 30 %, then a
window of 80 draws and windows 1.5 times longer each; during the last 15 % only the step size is learnt. The
first transitions of a chain that is tuned together with others are those of the early phase.
"""

from __future__ import annotations

from consilience.inference.density import Density
from consilience.inference.dual_averaging import StepSize, learn, restart, settle
from consilience.inference.fisher_diagonal import (
    Estimators,
    guess,
    new_estimators,
    observe,
    refresh,
    switch,
    younger_count,
)
from consilience.inference.hamiltonian import copy
from consilience.inference.metric import Metric, new_metric
from consilience.inference.point import Point
from consilience.inference.step_size_search import Probe, search_step_size
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

EARLY_SHARE = 0.3
EARLY_WINDOW = 10
MAIN_WINDOW = 80
WINDOW_GROWTH = 1.5
FINAL_SHARE = 0.15
ACCEPTED_SHARE = 0.5  # of the acceptance asked for, that a step must reach to count as one that works


@record
class Warmup:
    """What a chain learns while it tunes, and where it is in its tuning.

    length: Number of tuning transitions.
    early: The first transition after the early phase.
    final: The first transition that no longer teaches the metric.
    window: Draws the younger estimator needs before it takes over, once the early phase is past.
    learnt: Whether the metric was ever set from draws.
    fallback (Array): Where sampling begins: the last position of the final phase that a step at least as long as the
        average one reached, with its gradient and log density.
    found: Whether there is one.
    """

    metric: Metric
    estimators: Estimators
    step: StepSize
    length: i64
    early: i64
    final: i64
    window: i64
    learnt: boolean
    fallback: Array[f64]
    fallback_gradient: Array[f64]
    fallback_logp: f64
    found: boolean


def new_warmup(vectors: Vectors, length: int, target_accept: float, initial_step: float) -> Warmup:
    """The state before `length` tuning transitions (length >= 0)."""
    return Warmup(
        metric=new_metric(vectors),
        estimators=new_estimators(vectors.dimension),
        step=StepSize(step=initial_step, average=initial_step, target=target_accept, anchor=0.0, error=0.0, count=0),
        length=length,
        early=int(EARLY_SHARE * length),
        final=length - int(FINAL_SHARE * length),
        window=MAIN_WINDOW,
        learnt=False,
        fallback=vectors.vector(),
        fallback_gradient=vectors.vector(),
        fallback_logp=0.0,
        found=False,
    )


@native(rare=True)
def search(warmup: Warmup, density: Density, point: Point, probe: Probe) -> None:
    """Restart the step size from a search under the metric as it is."""
    step = warmup.step
    restart(step, search_step_size(density, point, warmup.metric, probe, step.step))


@native(rare=True)
def begin(warmup: Warmup, density: Density, point: Point, probe: Probe) -> None:
    """First metric and first step size, from a state whose log density and gradient are finite."""
    guess(warmup.metric, point.gradient)
    search(warmup, density, point, probe)


@native(rare=True)
def keep_fallback(warmup: Warmup, point: Point, acceptance: f64) -> None:
    """Remember the state if the step size to come would have reached it.

    Steps shrink as a chain enters a neck. Where tuning ended there, the average step would be rejected for
    thousands of draws: so it was for 2 in 100 chains of centred eight schools.
    """
    if warmup.step.step >= warmup.step.average and acceptance >= ACCEPTED_SHARE * warmup.step.target:
        copy(point.position, warmup.fallback, point.dimension)
        copy(point.gradient, warmup.fallback_gradient, point.dimension)
        warmup.fallback_logp = point.logp
        warmup.found = True


@native(rare=True)
def return_to_fallback(warmup: Warmup, point: Point) -> None:
    """Put the state back where the settled step size works."""
    copy(warmup.fallback, point.position, point.dimension)
    copy(warmup.fallback_gradient, point.gradient, point.dimension)
    point.logp = warmup.fallback_logp


@native(rare=True)
def adapt(warmup: Warmup, density: Density, point: Point, probe: Probe, acceptance: f64, informative: boolean) -> None:
    """Learn from the tuning transition that led to `state`.

    `acceptance`: its mean acceptance probability. `informative`: whether its draw may teach the metric: it moved and
    did not diverge.
    """
    metric = warmup.metric
    estimators = warmup.estimators
    done = point.transition  # counts the transition just made
    searched = False
    if done <= warmup.final:
        if informative:
            observe(estimators, point.position, point.gradient)
        early = done <= warmup.early
        window = EARLY_WINDOW if early else warmup.window
        # no new window where too little tuning is left to fill it
        if younger_count(estimators) >= window and done + window <= warmup.final:
            switch(estimators)
            if not early:
                warmup.window = int(WINDOW_GROWTH * float(warmup.window))
        if refresh(estimators, metric) and not warmup.learnt:
            warmup.learnt = True
            searched = True
            search(warmup, density, point, probe)
    if done > warmup.final:
        keep_fallback(warmup, point, acceptance)
    if not searched:
        learn(warmup.step, acceptance)
    if done == warmup.length:
        settle(warmup.step)
        if warmup.found:
            return_to_fallback(warmup, point)


@native(rare=True)
def adapt_alone(
    warmup: Warmup, density: Density, point: Point, probe: Probe, acceptance: f64, informative: boolean
) -> None:
    """Learn from a transition of the early phase, which ends when somebody else says so; as `adapt`."""
    estimators = warmup.estimators
    if informative:
        observe(estimators, point.position, point.gradient)
    if younger_count(estimators) >= EARLY_WINDOW:
        switch(estimators)
    if refresh(estimators, warmup.metric) and not warmup.learnt:
        warmup.learnt = True
        search(warmup, density, point, probe)
    else:
        learn(warmup.step, acceptance)
