"""Runs that only tell of themselves: events, sequences of them, a clock and displays that keep what they are shown."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from consilience.events import (
    ChainLost,
    ChainProgress,
    CheckFigures,
    DrawsMade,
    Phase,
    Progress,
    Restarted,
    RunEnded,
    RunStarted,
    Status,
)
from consilience.output.display.state import State

UNHURRIED = settings(deadline=None)
"""No law of this layer depends on how fast it is shown."""


def started(
    chains: int = 4,
    tune: int | None = None,
    draws: int | None = None,
    target_ess: float | None = 400.0,
    min_draws: int = 100,
    max_draws: int | None = 4000,
) -> RunStarted:
    """Begin of a run."""
    return RunStarted(chains, 2, 10, tune, draws, target_ess, min_draws, max_draws, 1500)


FIXED = started(tune=1000, draws=500)


def chain(
    number: int = 0,
    phase: Phase = "sampling",
    done: int = 0,
    draws: int = 0,
    divergences: int = 0,
    step_size: float = 0.5,
    tree_depth: float = 3.0,
    gradients: int = 0,
) -> ChainProgress:
    """Where a chain is."""
    return ChainProgress(number, phase, done, draws, divergences, step_size, tree_depth, gradients, 0.0)


def check(
    draws: int = 310,
    rhat: float = 1.02,
    rhat_name: str = "tau",
    ess: float = 187.0,
    ess_name: str = "theta[C]",
    target_ess: float | None = 400.0,
    target_rhat: float = 1.01,
    next_check: int = 388,
    passed: bool = False,
    needed: float | None = None,
) -> CheckFigures:
    """What a check found; by default so many draws are needed that they are worth what is asked for."""
    if needed is None:
        needed = math.nan if not ess > 0 or target_ess is None else draws * target_ess / ess
    return CheckFigures(draws, rhat, rhat_name, ess, ess_name, target_ess, target_rhat, next_check, passed, needed)


def now(
    chains: tuple[ChainProgress, ...] = (),
    check: CheckFigures | None = None,
    seconds: float = 1.0,
    paused: bool = False,
) -> Progress:
    """Progress of a run."""
    return Progress(chains, check, seconds, paused)


def ended(status: str = "converged", reason: str = "", draws: int = 500, seconds: float = 12.0) -> RunEnded:
    """End of a run."""
    return RunEnded(cast(Status, status), reason, draws, seconds)


def chains(phase: Phase, done: int, draws: int, number: int = 4, **others: Any) -> tuple[ChainProgress, ...]:
    """Chains that are all as far."""
    return tuple(chain(each, phase, done, draws, **others) for each in range(number))


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Recorder:
    """A display that keeps what it is shown."""

    def __init__(self, first: float = 0.0, interval: float = 0.0) -> None:
        self.first = first
        self.interval = interval
        self.shown: list[State] = []
        self.notices: list[str] = []
        self.ends: list[State | None] = []

    def show(self, now: State) -> None:
        self.shown.append(now)

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def finish(self, now: State | None) -> None:
        self.ends.append(now)


LETTERS = st.characters() | st.sampled_from("\n\t\x1b\u200b<&\"'變σ\u202e[]")
TEXTS = st.text(LETTERS, max_size=60) | st.sampled_from(["tau", "theta[C]", "x" * 500])
COUNTS = st.integers(0, 5000) | st.just(10**15)
FIGURES = st.floats(0.0, 1e5) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e300, 5e-324])
PHASES = st.sampled_from(["waiting", "tuning", "sampling", "done", "stopped", "failed"])
STATUSES = st.sampled_from(
    [
        "converged",
        "converged_with_divergences",
        "not_converged",
        "chains_disagree",
        "interrupted",
        "completed",
        "something_new",
    ]
)

STARTS = st.builds(
    started,
    chains=st.integers(0, 5),
    tune=st.none() | COUNTS,
    draws=st.none() | COUNTS,
    target_ess=st.none() | FIGURES,
    min_draws=COUNTS,
    max_draws=st.none() | COUNTS,
)
CHAINS = st.builds(
    chain, st.integers(0, 5), PHASES, COUNTS, COUNTS, COUNTS, step_size=FIGURES, tree_depth=FIGURES, gradients=COUNTS
)
CHECKS = st.builds(
    check,
    COUNTS,
    FIGURES,
    TEXTS,
    FIGURES,
    TEXTS,
    st.none() | FIGURES,
    FIGURES,
    COUNTS,
    passed=st.booleans(),
    needed=FIGURES,
)
PROGRESS = st.builds(now, st.lists(CHAINS, max_size=5).map(tuple), st.none() | CHECKS, FIGURES, st.booleans())
ENDS = st.builds(ended, STATUSES, TEXTS, COUNTS, FIGURES)
OTHERS = (
    st.builds(Restarted, TEXTS)
    | st.builds(ChainLost, st.integers(0, 5), TEXTS)
    | st.just(DrawsMade(0, np.zeros((1, 1, 1)), {}))
    | st.just("nothing that is known")
)
STEPS = st.sampled_from([0.0, 0.01, 0.1, 0.5, 3.0, 20.0, 1000.0])

ANY_EVENTS = st.lists(st.tuples(STEPS, STARTS | PROGRESS | PROGRESS | OTHERS | ENDS), max_size=25)
"""Events in any order, each with the seconds before it."""


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[float, object]]:
    """One run with its begin and its end."""
    events = draw(st.lists(st.tuples(STEPS, PROGRESS | PROGRESS | OTHERS), max_size=25))
    return [(0.0, draw(STARTS)), *events, (draw(STEPS), draw(ENDS))]
