"""The state of a run, all chains together: events enter, one record leaves, which every display shows its own way."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from consilience.ui.events import ChainState, ProgressFigures, RunEnds, RunGoesOn, RunStarts
from consilience.ui.pace import Pace, fraction_done, transitions_left
from consilience.ui.words import plain

Stage: TypeAlias = Literal["starting", "tuning", "retuning", "sampling", "paused"]

LONGEST_REASON = 200
"""Letters of a reason that are kept; the whole of it is in the warnings and in the result."""


class Worst(NamedTuple):
    """The worst figures of the last check; targets are NaN where nothing is asked for."""

    rhat: float
    rhat_name: str
    target_rhat: float
    ess: float
    ess_name: str
    target_ess: float


class Overview(NamedTuple):
    """All chains of a run together.

    stage            what goes on
    chains, lost     chains of the run, and those of them that were left out
    tuning_steps     transitions of tuning of the chain with the fewest; None if nothing is known of a chain
    tune             tuning steps wanted; None where that is decided while running
    draws            draws after tuning of the chain with the fewest
    total            draws wanted of each chain; None where that is decided while running
    next_check       draws at which convergence is checked next; None if it is not
    divergences      divergences after tuning, of all chains
    worst            figures of the last check; None before it
    gradient_rate    evaluations of the density per second by all chains; NaN if unknown
    step_size        mean over the chains; NaN if there is none
    tree_depth       mean over the chains of the depth of late; NaN if there is none
    seconds          since the run began
    remaining        seconds left; None if unknown
    fraction         share of the run that is over, between 0 and 1; None if unknown
    status, reason   how the run ended and why; empty while it goes on
    """

    stage: Stage
    chains: int
    lost: int
    tuning_steps: int | None
    tune: int | None
    draws: int
    total: int | None
    next_check: int | None
    divergences: int
    worst: Worst | None
    gradient_rate: float
    step_size: float
    tree_depth: float
    seconds: float
    remaining: float | None
    fraction: float | None
    status: str = ""
    reason: str = ""


def overview(
    run: RunStarts,
    now: RunGoesOn | None,
    pace: Pace,
    *,
    lost: int = 0,
    restarted: bool = False,
    end: RunEnds | None = None,
) -> Overview:
    """The state of a run.

    now         its latest progress; None before the first
    pace        speed of late
    lost        chains of which it was told that they are left out
    restarted   whether the chains were sent back to tuning
    end         how it ended; None while it goes on
    """
    states = () if now is None else now.chains
    alive = [state for state in states if state.phase != "failed"]
    check = None if now is None else now.check
    left = transitions_left(run, alive, check, restarted) if alive else None
    speed = pace.transitions
    gradients, seconds = pace.gradients, 0.0 if now is None else now.seconds
    if end is not None:
        seconds = end.seconds
        whole = sum(state.gradients for state in states)
        gradients = whole / seconds if seconds > 0 and whole else math.nan
    return Overview(
        stage="paused" if now is not None and now.paused else stage(alive, restarted),
        chains=run.chains,
        lost=max(lost, len(states) - len(alive)),
        tuning_steps=min((state.done - state.draws for state in alive), default=None),
        tune=None if restarted else run.tune,
        draws=end.draws if end is not None else min((state.draws for state in alive), default=0),
        total=run.max_draws if run.draws is None and run.target_ess is None else run.draws,
        next_check=next_check(run, check),
        divergences=sum(state.divergences for state in alive),
        worst=None if check is None else worst(check),
        gradient_rate=gradients,
        step_size=mean(state.step_size for state in alive),
        tree_depth=mean(state.tree_depth for state in alive),
        seconds=seconds,
        remaining=left / speed if left is not None and speed > 0 else None,
        fraction=fraction_done(run, alive, left, restarted),
        status="" if end is None else end.status,
        reason="" if end is None else plain(end.reason)[:LONGEST_REASON],
    )


def stage(alive: Iterable[ChainState], restarted: bool) -> Stage:
    """What goes on: the chains are as far as the last of them."""
    phases = {state.phase for state in alive}
    if not phases - {"waiting"}:
        return "starting"
    if phases & {"waiting", "tuning"}:
        return "retuning" if restarted else "tuning"
    return "sampling"


def next_check(run: RunStarts, check: ProgressFigures | None) -> int | None:
    """Draws at which convergence is checked next; None if the end of the run depends on no check."""
    if run.draws is not None or run.target_ess is None:
        return None
    return min(run.min_draws if check is None else check.next_check, run.max_draws)


def worst(check: ProgressFigures) -> Worst:
    """The figures of a check, with names that can be shown."""
    target = math.nan if check.target_ess is None else check.target_ess
    return Worst(
        check.rhat, plain(check.rhat_name), check.target_rhat, check.ess, plain(check.ess_name), target_ess=target
    )


def mean(values: Iterable[float]) -> float:
    """Mean of the numbers among the values; NaN if there are none."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan
