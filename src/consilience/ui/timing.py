"""Where the time of a program went: stages and their seconds enter, one line leaves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from consilience.ui.words import duration

STAGES = ("import", "build", "compile", "warmup", "sampling")
"""Stages in the order in which they are shown; others follow."""

PREFIX = "time_"


@dataclass(slots=True)
class Timing:
    """Seconds spent in each stage; a stage entered twice adds up."""

    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, stage: str, seconds: float) -> None:
        """Count further seconds for a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    @contextlib.contextmanager
    def stage(self, stage: str) -> Iterator[None]:
        """Count the time until the end of the `with` block, also if it fails."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(stage, time.perf_counter() - begin)

    def attributes(self) -> dict[str, float]:
        """The seconds under the names that results carry, such as `time_build`."""
        return {PREFIX + stage: seconds for stage, seconds in self.seconds.items()}

    def line(self, total: float | None = None) -> str:
        """One line such as `time: import 0.21 s, build 12 ms, sampling 0.40 s of 0.93 s`.

        total: seconds of the whole program; the sum of the stages if None.
        """
        order = [stage for stage in STAGES if stage in self.seconds]
        order += [stage for stage in self.seconds if stage not in STAGES]
        parts = ", ".join(f"{stage} {duration(self.seconds[stage])}" for stage in order)
        whole = sum(self.seconds.values()) if total is None else total
        return f"time: {parts or 'nothing measured'} of {duration(whole)}"

    __str__ = line
