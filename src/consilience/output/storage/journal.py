"""What happened in a run, moment by moment: events enter, one line of JSON each leaves, in a file that grows.

Readers in other processes read it at any moment; a last line without an end is one that is being written. The draws
themselves stay outside.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from consilience.events import (
    ChainLost,
    ChainMoved,
    ChainProgress,
    CheckFigures,
    Event,
    Progress,
    Restarted,
    RunEnded,
    RunStarted,
)
from consilience.output.storage import lines
from consilience.record import as_plain

NAME: Final = "course.jsonl"
"""Of the file in a store."""
OFTEN, SELDOM, SHARE = 1.0, 30.0, 1 / 500
"""Seconds between two moments of progress: at least, at most, and as a share of the time that has passed between."""

KINDS: Final[Mapping[type, str]] = {
    RunStarted: "began",
    Progress: "progress",
    CheckFigures: "check",
    Restarted: "restarted",
    ChainMoved: "moved",
    ChainLost: "lost",
    RunEnded: "ended",
}
OF_CHAINS: Final = ("done", "draws", "divergences", "step_size", "tree_depth", "gradients", "seconds", "phase")
"""What a moment of progress tells of each chain, in this order."""


class Journal:
    """A listener that writes down what a run tells of itself.

    `write`: takes a record: `kind`, `time` in seconds since 1970 by the clock of this machine, and what the event says.
    `about`: further things to say where the run begins. `seen`: gives further things to say of each moment of progress
    that is written.
    """

    every: Final = OFTEN

    def __init__(
        self,
        write: Callable[[Mapping[str, Any]], None],
        about: Mapping[str, Any] | None = None,
        seen: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.write = write
        self.about = dict(about or {})
        self.seen = seen
        self._due = self._paused = 0.0

    def __call__(self, event: Event) -> None:
        kind = KINDS.get(type(event))
        if kind is None:
            return
        record: dict[str, Any] = {"kind": kind, "time": time.time()}
        if isinstance(event, Progress):
            now = time.monotonic()
            if now < self._due and event.paused == self._paused:
                return
            interval = min(SELDOM, max(OFTEN, event.seconds * SHARE))
            self._due, self._paused = now + interval, event.paused
            record |= {"seconds": event.seconds, "paused": event.paused, "interval": interval}
            record["chains"] = [_of_chain(chain) for chain in event.chains]
            record |= self.seen()
        else:
            record |= as_plain(event)
        if kind == "began":
            record |= {"host": socket.gethostname(), "process": os.getpid(), **self.about}
        self.write(record)


def _of_chain(chain: ChainProgress) -> list[Any]:
    return [chain.chain, *(getattr(chain, name) for name in OF_CHAINS)]


def as_line(record: Mapping[str, Any]) -> bytes:
    """One line of JSON, in which numbers that are not finite are null."""
    return lines.as_line(finite(record), allow_nan=False, default=str).encode() + b"\n"


def finite(value: Any) -> Any:
    """Values as JSON has them: what is not finite is None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value


def append(directory: Path, record: Mapping[str, Any]) -> None:
    """Add a record to the file of a store; raises OSError."""
    descriptor = os.open(directory / NAME, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        size = os.fstat(descriptor).st_size
        os.lseek(descriptor, max(0, size - 1), os.SEEK_SET)
        broken = size and os.read(descriptor, 1) != b"\n"  # a line that was cut off stays one by itself
        os.write(descriptor, (b"\n" if broken else b"") + as_line(record))
    finally:
        os.close(descriptor)


def records(text: bytes) -> Iterator[dict[str, Any]]:
    """The records of whole lines; what is no record, as after a loss of power, or damaged, is passed over."""
    for line in text.splitlines(keepends=True):
        if line.endswith(b"\n"):
            try:
                found = lines.from_line(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict) and isinstance(found.get("kind"), str):
                yield found
