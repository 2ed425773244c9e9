"""What is shown of populations on their way: one line, redrawn in place on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Final, TextIO

from consilience.estimators.smc.population import Population
from consilience.output.display.stream import columns_of, is_terminal, spelled

FIRST: Final = (0.3, 10.0)  # seconds before the first line, on a terminal and elsewhere
GROWTH: Final = 1.5  # of the time between two lines that stay


class Stages:
    """One line about how far populations are."""

    def __init__(self, shown: bool, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown, self._redrawn = shown, is_terminal(self._stream)
        self._began = time.monotonic()
        self._due = self._began + FIRST[0 if self._redrawn else 1]
        self._drawn = False

    def show(self, populations: Sequence[Population]) -> None:
        """If it is time to."""
        now = time.monotonic()
        if self._shown and now >= self._due:
            self._write(line(populations, now - self._began))
            self._due = now if self._redrawn else self._began + GROWTH * (now - self._began)

    def finish(self, populations: Sequence[Population]) -> None:
        """The last line, if there was one before."""
        if self._drawn:
            self._write(line(populations, time.monotonic() - self._began))

    def close(self) -> None:
        """Leave the line as it is."""
        if self._drawn and self._redrawn:
            self._stream.write("\n")
            self._stream.flush()
        self._drawn = False

    def _write(self, text: str) -> None:
        self._drawn = True
        text = spelled(text, self._stream)
        if self._redrawn:
            room = columns_of(self._stream) - 1
            self._stream.write(f"\r{text[:room]:<{room}}")
        else:
            self._stream.write(text + "\n")
        self._stream.flush()


def line(populations: Sequence[Population], seconds: float) -> str:
    """How far populations are: stages, powers of the likelihood, acceptance of the last moves."""
    least = min(populations, key=lambda p: p.betas[-1] if p.betas else 0.0)
    done = sum(p.done for p in populations)
    parts = [f"stage {len(least.betas)}", f"power {least.betas[-1] if least.betas else 0.0:.3g}"]
    if least.betas:
        parts.append(f"{least.moves[-1]} moves, accepted {least.acceptance[-1]:.2f}")
    parts += [f"{done} of {len(populations)} chains done", f"{seconds:.0f} s"]
    return " · ".join(parts)
