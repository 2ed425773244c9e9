"""The state of a run, all chains together: events enter; how far it is, how fast and what is left are read from it."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable

from consilience.events import ChainLost, ChainProgress, CheckFigures, Progress, Restarted, RunEnded, RunStarted

SECONDS_OF_RATE = 3.0
"""Rates are those of so many last seconds."""

ENDED = ("done", "stopped", "failed")
"""Phases of a chain that makes no more transitions."""


class State:
    """What is known of a run from the events so far.

    `run`: its begin, its latest progress and its end; None before they are told. `now`, `end`: its begin, its latest
    progress and its end; None before they are told. `restarted`: whether the chains were sent back to tuning, for an
    unknown length.
    """

    def __init__(self, run: RunStarted) -> None:
        self.run = run
        self.now: Progress | None = None
        self.end: RunEnded | None = None
        self.restarted = False
        self._lost: set[int] = set()
        self._history = collections.deque([(0.0, 0, 0)])  # seconds, transitions, gradients

    def take(self, event: object) -> None:
        """Take note of an event; those that tell nothing of the progress are passed over."""
        match event:
            case Progress():
                self.now = event
                self._note(event)
            case RunEnded():
                self.end = event
            case ChainLost():
                self._lost.add(event.chain)
            case Restarted():
                self.restarted = True

    def _note(self, now: Progress) -> None:
        history = self._history
        if now.paused:  # the seconds of a pause say nothing about the speed
            history.clear()
        elif math.isfinite(now.seconds) and not (history and now.seconds < history[-1][0]):
            history.append((now.seconds, sum(c.done for c in now.chains), sum(c.gradients for c in now.chains)))
            while len(history) > 2 and history[1][0] < now.seconds - SECONDS_OF_RATE:
                history.popleft()

    @property
    def alive(self) -> list[ChainProgress]:
        """The chains that were not left out."""
        return [] if self.now is None else [chain for chain in self.now.chains if chain.phase != "failed"]

    @property
    def lost(self) -> int:
        """How many chains were left out."""
        return max(len(self._lost), 0 if self.now is None else len(self.now.chains) - len(self.alive))

    @property
    def check(self) -> CheckFigures | None:
        """The last check of convergence."""
        return None if self.now is None else self.now.check

    @property
    def stage(self) -> str:
        """What goes on; the chains are as far as the last of them."""
        phases = {chain.phase for chain in self.alive}
        if self.now is not None and self.now.paused:
            return "paused"
        if not phases - {"waiting"}:
            return "starting"
        if phases & {"waiting", "tuning"}:
            return "retuning" if self.restarted else "tuning"
        return "sampling"

    @property
    def tune(self) -> int | None:
        """Tuning transitions of each chain; None where that is decided while running."""
        return None if self.restarted else self.run.tune

    @property
    def tuning_steps(self) -> int | None:
        """Tuning transitions of the chain with the fewest; None if nothing is known of a chain."""
        return min((chain.done - chain.draws for chain in self.alive), default=None)

    @property
    def draws(self) -> int:
        """Draws after tuning of the chain with the fewest."""
        return min((chain.draws for chain in self.alive), default=0) if self.end is None else self.end.draws

    @property
    def divergences(self) -> int:
        """Divergences after tuning, of all chains."""
        return sum(chain.divergences for chain in self.alive)

    @property
    def total(self) -> int | None:
        """Draws of each chain with which the run ends; None where checks decide."""
        return self.run.max_draws if self.run.draws is None and self.run.target_ess is None else self.run.draws

    @property
    def next_check(self) -> int | None:
        """Draws at which convergence is checked next; None if the end of the run depends on no check."""
        if self.total is not None:
            return None
        following = self.run.min_draws if self.check is None else self.check.next_check
        return following if self.run.max_draws is None else min(following, self.run.max_draws)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self.end.seconds if self.end is not None else 0.0 if self.now is None else self.now.seconds

    @property
    def gradient_rate(self) -> float:
        """Evaluations of the density per second, of late or, at the end, of the whole run; NaN if unknown."""
        if self.end is None:
            return self._rate(2)
        whole = 0 if self.now is None else sum(chain.gradients for chain in self.now.chains)
        return whole / self.seconds if self.seconds > 0 and whole else math.nan

    def _rate(self, column: int) -> float:
        if len(self._history) < 2:
            return math.nan
        first, last = self._history[0], self._history[-1]
        seconds, number = last[0] - first[0], last[column] - first[column]
        return number / seconds if seconds > 0 and number >= 0 else math.nan

    @property
    def draws_wanted(self) -> float | None:
        """Draws per chain at which the run is expected to end, by its own forecast; None where nobody can tell.

        It ends not before its next check and not after `max_draws`.
        """
        check = self.check
        if self.total is not None or check is None:
            return self.total
        if check.passed:
            return check.draws
        most = math.inf if self.run.max_draws is None else self.run.max_draws
        return min(max(check.needed, check.next_check), most) if math.isfinite(check.needed) else None

    @property
    def left(self) -> float | None:
        """Transitions that the chains will make yet, all together; None if that is not known."""
        wanted, tune = self.draws_wanted, self.tune
        going = [chain for chain in self.alive if chain.phase not in ENDED]
        tuning = [chain for chain in going if chain.phase != "sampling"]
        if wanted is None or not self.alive or (tuning and tune is None):
            return None
        steps = sum(max(0, (tune or 0) - chain.done) for chain in tuning)
        return steps + sum(max(0.0, wanted - chain.draws) for chain in going)

    @property
    def remaining(self) -> float | None:
        """Seconds left; None if unknown."""
        left, speed = self.left, self._rate(1)
        return left / speed if left is not None and speed > 0 else None

    @property
    def fraction(self) -> float | None:
        """Share of the run that is over, between 0 and 1: of all transitions if tuning has a fixed length, else of
        the draws; None if unknown."""
        left = self.left
        if left is None or not math.isfinite(left):
            return None
        made = sum(chain.draws if self.tune is None else chain.done for chain in self.alive)
        return made / (made + left) if made > 0 else 0.0


def mean(values: Iterable[float]) -> float:
    """Mean of the numbers among the values; NaN if there are none."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan
