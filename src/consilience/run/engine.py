"""What moves the chains of a run: segments of work enter, windows leave.

An engine decides nothing: how long chains tune and draw, whether they begin again and when they stop is decided by
`RunController` from the windows, for all engines alike.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from consilience.errors import SamplingError
from consilience.events import ChainProgress, Event
from consilience.inference.columns import Columns
from consilience.inference.messages import Segment, Tuning, Window


class Overseer(Protocol):
    """Whom an engine asks while it works, and tells of chains that it leaves out."""

    def seconds_left(self) -> float | None:
        """Seconds the run may still take; None: no limit. Where there are none left it calls the engine's `stop`."""
        ...

    def tell(self, event: Event) -> None:
        """Have the listeners told."""
        ...


class Engine(ABC):
    """The chains of one run, and how they are moved; what is not abstract is that of chains which move all at once.

    columns   their statistics
    threads   how many threads move them
    stopping  whether a stop was asked for
    """

    columns: Columns
    threads: int = 1

    def __init__(self) -> None:
        self.stopping = False  # no Event: its lock is not made for a second Ctrl-C during the first one
        self._going = threading.Event()
        self._going.set()

    # --- what may be called from any thread

    def stop(self) -> None:
        """Let `advance` return soon; asking twice is harmless."""
        self.stopping = True
        self._going.set()

    def pause(self) -> None:
        """Let chains rest after the few milliseconds they are at."""
        self._going.clear()

    def resume(self) -> None:
        """Go on after a pause."""
        self._going.set()

    @property
    def paused(self) -> bool:
        """Whether chains rest."""
        return not self._going.is_set()

    @property
    def living(self) -> tuple[int, ...]:
        """Numbers of the chains that were not left out."""
        return tuple(range(len(self.evaluations)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Faults of chains, in words."""
        return ()

    @property
    @abstractmethod
    def evaluations(self) -> tuple[int, ...]:
        """Of the log density, by every chain."""

    @property
    @abstractmethod
    def seconds(self) -> tuple[float, ...]:
        """Spent on every chain."""

    @abstractmethod
    def tuning(self, chain: int) -> Tuning:
        """What a chain has learnt."""

    @abstractmethod
    def states(
        self, drawn: int, taken: Mapping[int, Window], divergences: Mapping[int, int], ended: bool
    ) -> tuple[ChainProgress, ...]:
        """Where the chains are.

        drawn, divergences   draws of each chain in the windows taken in, and their divergences by chain
        taken                the last of these windows
        """

    # --- what the supervisor's thread calls

    @contextmanager
    def working(self) -> Iterator[None]:
        """What chains need while they are moved; at its end nothing is at work any more."""
        yield

    @abstractmethod
    def advance(self, segment: Segment, overseer: Overseer) -> dict[int, Window] | None:
        """The windows of a segment by chain, those left out missing; None once a stop is asked for.

        raises   InitialPointError, SamplingError where no chain is left
        """

    def cut_short(self) -> dict[int, Window]:
        """After a stop: what each chain did of the segment under way, and beyond; lengths may differ."""
        return {}

    def end(self) -> None:  # noqa: B027  # what goes nowhere ahead is there
        """Be where the last window ended: nothing more is to come."""

    def release(self) -> None:  # noqa: B027  # what keeps nothing has nothing to let go
        """Let go what only further segments need."""

    def again(self) -> None:
        """Be ready to go on after the end."""
        self.stopping = False
        self._going.set()

    def follow(self, other: Any) -> None:
        """Go on after an engine of the same kind, whose chains were in other coordinates."""
        raise SamplingError(f"{type(self).__name__} does not go on in other coordinates.")

    def save(self, living: Sequence[int]) -> list[dict[str, Any]]:
        """States of all chains after the last window, as numbers, strings and arrays in dictionaries and lists.

        living   chains that were not left out then
        """
        raise SamplingError(f"{type(self).__name__} has no checkpoints.")

    def load(self, state: list[dict[str, Any]]) -> None:
        """Take over states that were saved."""
        raise SamplingError(f"{type(self).__name__} has no checkpoints.")

    def ends(self, overseer: Overseer) -> bool:
        """Whether to stop, after a pause if there is one: asked between two parts of a segment."""
        self._going.wait()
        overseer.seconds_left()
        return self.stopping
