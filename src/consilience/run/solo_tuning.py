"""Chains that tune each by itself, on a schedule of fixed length: for one chain, for kernels that take no orders,
and where independence is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from consilience.run.messages import Round, Window

LONGEST_ROUND = 250  # transitions; nothing is decided between rounds, but progress is saved


class SoloTuning:
    """The state of a tuning without talk, with the same calls as `PooledTuning`."""

    def __init__(self, length: int, descend: bool) -> None:
        self.length = length
        self.descend = descend
        self.done = 0
        self.begun = False
        self.finished = False

    def next(self) -> Round:
        """What the chains do next."""
        count = min(LONGEST_ROUND, self.length - self.done)
        begin = not self.begun
        return Round("tuning", count, begin=begin, descend=begin and self.descend)

    def take(self, windows: Mapping[int, Window]) -> None:
        """Count what was done."""
        self.begun = True
        self.done += len(next(iter(windows.values())).draws)
        self.finished = self.done >= self.length

    def save(self) -> dict[str, Any]:
        """Its state as numbers."""
        return {"done": self.done, "begun": self.begun}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        self.done, self.begun = state["done"], state["begun"]
