"""The state of a run as one line: numbers of all chains together enter, text leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from consilience.ui.words import clock, counted, duration, short


@dataclass(frozen=True, slots=True)
class Overview:
    """All chains of a run together.

    chains           number of chains
    tune, draws      transitions of each chain: those of tuning, those afterwards
    tuning           whether a chain is tuning still
    done             transitions made by all chains, tuning included
    divergences      divergences after tuning, of all chains
    step_size        mean over the chains; NaN if there is none
    tree_depth       mean over the chains of the depth of late; NaN if there is none
    gradients        evaluations of the density by all chains
    seconds          since the run began
    remaining        seconds left; None if unknown
    interrupted      whether the user stopped the run
    """

    chains: int
    tune: int
    draws: int
    tuning: bool
    done: int
    divergences: int
    step_size: float
    tree_depth: float
    gradients: int
    seconds: float
    remaining: float | None
    interrupted: bool

    @property
    def total(self) -> int:
        """Transitions wanted of all chains, tuning included."""
        return self.chains * (self.tune + self.draws)

    @property
    def activity(self) -> str:
        """What goes on, and in how many chains."""
        return f"{'Tuning' if self.tuning else 'Sampling'} {counted(self.chains, 'chain')}"

    @property
    def facts(self) -> list[str]:
        """Divergences and speed, the more important first."""
        facts = [counted(self.divergences, "divergence")]
        if self.gradients and self.seconds > 0:
            facts.append(f"{short(self.gradients / self.seconds)} gradients/s")
        return facts

    @property
    def time_left(self) -> list[str]:
        """The time left, if known."""
        return [] if self.remaining is None else [f"{clock(self.remaining)} left"]

    def going_on(self) -> str:
        """The state of a run that goes on, as one line."""
        count = f"{self.done} of {self.total} draws ({100 * self.done / max(1, self.total):.0f} %)"
        return f"{self.activity}: {', '.join([count, *self.facts, *self.time_left])}"

    def beside_bar(self, room: int) -> str:
        """The same beside a bar, in `room` characters; what matters least is left out first."""
        count, facts = f"{self.done}/{self.total}", self.facts
        while facts and len(", ".join([count, *facts, *self.time_left])) > room:
            facts.pop()
        return ", ".join([count, *facts, *self.time_left])

    def at_the_end(self, room: int | None = None) -> str:
        """The state of a run that ended, as one line; facts beyond `room` characters are left out."""
        each = " each" if self.chains > 1 else ""
        if self.done >= self.total:
            length = f"{self.tune} tuning + {self.draws} draws{each}" if self.tune else f"{self.draws} draws{each}"
            line = f"Sampled {counted(self.chains, 'chain')}: {length} in {duration(self.seconds)}"
        else:
            how = "stopped by the user" if self.interrupted else "stopped"
            line = f"{self.activity}: {how} after {self.done} of {self.total} draws, {duration(self.seconds)}"
        facts = self.facts
        if not math.isnan(self.step_size):
            facts.append(f"step size {self.step_size:.3g}")
        if not math.isnan(self.tree_depth):
            facts.append(f"tree depth {self.tree_depth:.1f}")
        for fact in facts:
            if room is not None and len(f"{line}, {fact}") > room:
                break
            line = f"{line}, {fact}"
        return line
