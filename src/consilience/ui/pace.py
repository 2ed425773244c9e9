"""How fast a run goes and how much of it is left: the state of its chains enters, rates and seconds leave."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence

from consilience.ui.events import ChainState, ProgressFigures, RunStarts

SECONDS_OF_RATE = 3.0
"""Rates are those of so many last seconds."""

ENDED = ("done", "stopped", "failed")
"""Phases of a chain that makes no more transitions."""


class Pace:
    """Transitions and gradients per second of late, of all chains together."""

    def __init__(self) -> None:
        self._history: collections.deque[tuple[float, int, int]] = collections.deque([(0.0, 0, 0)])

    def note(self, seconds: float, transitions: int, gradients: int) -> None:
        """Take note of what was done in all after so many seconds."""
        history = self._history
        if not math.isfinite(seconds) or (history and seconds < history[-1][0]):
            return
        history.append((seconds, transitions, gradients))
        while len(history) > 2 and history[1][0] < seconds - SECONDS_OF_RATE:
            history.popleft()

    def forget(self) -> None:
        """Begin anew, after a pause: its seconds say nothing about the speed."""
        self._history.clear()

    @property
    def transitions(self) -> float:
        """Transitions per second; NaN if unknown."""
        return self._rate(1)

    @property
    def gradients(self) -> float:
        """Gradients per second; NaN if unknown."""
        return self._rate(2)

    def _rate(self, column: int) -> float:
        if len(self._history) < 2:
            return math.nan
        first, last = self._history[0], self._history[-1]
        seconds, number = last[0] - first[0], last[column] - first[column]
        return number / seconds if seconds > 0 and number >= 0 else math.nan


def draws_wanted(run: RunStarts, check: ProgressFigures | None) -> float | None:
    """Draws per chain at which the run is expected to end; None before a check tells.

    The effective sample size grows in proportion to the draws, so that target / ess times the draws are
    needed; the run ends not before its next check and not after `max_draws`.
    """
    if run.draws is not None:
        return run.draws
    if run.target_ess is None:
        return run.max_draws
    if check is None:
        return None
    if check.passed:
        return check.draws
    target = run.target_ess if check.target_ess is None else check.target_ess
    needed = check.draws * target / check.ess if check.ess else math.inf
    return None if math.isnan(needed) else min(max(needed, check.next_check), run.max_draws)


def transitions_left(
    run: RunStarts, chains: Sequence[ChainState], check: ProgressFigures | None, restarted: bool = False
) -> float | None:
    """Transitions that the chains will make yet, all together; None if that is not known.

    restarted: whether the chains were sent back to tuning, for an unknown length
    """
    wanted = draws_wanted(run, check)
    if wanted is None:
        return None
    left = 0.0
    for chain in chains:
        if chain.phase in ENDED:
            continue
        if chain.phase != "sampling":
            if run.tune is None or restarted:
                return None
            left += max(0, run.tune - chain.done)
        left += max(0.0, wanted - chain.draws)
    return left


def fraction_done(run: RunStarts, chains: Sequence[ChainState], left: float | None, restarted: bool) -> float | None:
    """Share of the run that is over, between 0 and 1; None if that is not known.

    Tuning counts where its length is fixed.
    """
    if left is None:
        return None
    whole = run.tune is not None and not restarted
    made = sum(chain.done if whole else chain.draws for chain in chains if chain.phase != "failed")
    return made / (made + left) if made > 0 else 0.0
