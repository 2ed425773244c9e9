"""Where the time of a program went: stages and their seconds enter, one line leaves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from consilience.ui.words import duration

STAGES = ("import", "build", "compile", "warmup", "sampling")
"""Stages in the order in which they are shown; others follow."""

WITHIN = {"checks"}
"""What results record of the time within another stage: checks are part of warmup and sampling."""

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

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, object]) -> Timing:
        """The record that a result's attributes hold: stages one after the other; other attributes are passed over."""
        return cls(
            {
                stage: float(value)
                for name, value in attributes.items()
                if name.startswith(PREFIX) and isinstance(value, int | float)
                if (stage := name.removeprefix(PREFIX)) not in WITHIN
            }
        )

    def line(self, total: float | None = None, rest: str = "other") -> str:
        """One line such as `time: build 12 ms, sampling 0.40 s, other 0.21 s of 0.62 s`; its parts sum to the total.

        total: seconds of the whole program; the sum of the stages if None, or if that is more.
        rest: what to call the seconds of the whole that belong to no stage.
        """
        order = [stage for stage in STAGES if stage in self.seconds]
        order += [stage for stage in self.seconds if stage not in STAGES]
        parts = [(stage, self.seconds[stage]) for stage in order]
        whole = sum(self.seconds.values())
        if total is not None and total > whole:
            parts.append((rest, total - whole))
            whole = total
        shown = ", ".join(f"{stage} {duration(seconds)}" for stage, seconds in parts)
        return f"time: {shown or 'nothing measured'} of {duration(whole)}"

    __str__ = line
