"""Chains that tune each by itself, on a schedule of fixed length: for kernels without a tuner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from consilience.inference.messages import Command, Segment, Window
from consilience.inference.tuner import SELF_TUNE, Reason, TuningSetting, Windows

LONGEST_SEGMENT = 250  # transitions; nothing is decided between segments, but progress is saved


class SelfTuning:
    """A tuner that leaves chains to themselves: see `tuner.Tuner`.

    command (Command, optional): What chains are told before they begin.
    length (int, optional): Tuning transitions of each chain; by default those of the setting.
    """

    answers: ClassVar[frozenset[Reason]] = frozenset()
    interval: ClassVar[int] = 0
    gradients: ClassVar[int] = 0
    reports: ClassVar[tuple[Any, ...]] = ()
    spent: ClassVar[int] = 0

    def __init__(self, setting: TuningSetting, command: Command = None, length: int = SELF_TUNE) -> None:
        self.chains = setting.chains
        self.length = length if setting.lengths.tune is None else setting.lengths.tune
        self.fixed = self.length
        self.command = command
        self.done = 0
        self.begun = False
        self.finished = False
        self.arrived = tuple(range(setting.chains))

    def next(self) -> Segment:
        """What the chains do next."""
        count = min(LONGEST_SEGMENT, self.length - self.done)
        commands = () if self.begun or self.command is None else (self.command,) * self.chains
        return Segment("tuning", count, commands, begin=not self.begun)

    def take(self, windows: Mapping[int, Window]) -> None:
        """Count what was done."""
        self.begun = True
        self.done += len(next(iter(windows.values())).draws)
        self.finished = self.done >= self.length

    def sample(self) -> tuple[Command, ...]:
        """Tuning is over."""
        return ("sample",) * self.chains

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """Nothing."""
        return ()

    def contradicted(self, windows: Windows) -> Reason | None:
        """Never."""
        return None

    def again(self, reason: Reason, windows: Windows) -> None:
        """There is nothing to learn again."""

    def save(self) -> dict[str, Any]:
        """Its state as numbers."""
        return {"done": self.done, "begun": self.begun, "finished": self.finished}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        self.done, self.begun, self.finished = state["done"], state["begun"], state["finished"]
