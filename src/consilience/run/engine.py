"""What moves the chains of a run: segments of work enter, windows leave.

An engine decides nothing: how long chains tune and draw, whether they begin again and when they stop is decided by
`RunController` from the windows, for all engines alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

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


class Engine(Protocol):
    """The chains of one run, and how they are moved.

    columns      their statistics
    threads      how many threads move them
    paused       whether they rest
    stopping     whether a stop was asked for
    living       numbers of the chains that were not left out
    evaluations  of the log density, by every chain
    seconds      spent on every chain
    notes        faults of chains, in words
    """

    @property
    def columns(self) -> Columns: ...
    @property
    def threads(self) -> int: ...
    @property
    def paused(self) -> bool: ...
    @property
    def stopping(self) -> bool: ...
    @property
    def living(self) -> tuple[int, ...]: ...
    @property
    def evaluations(self) -> tuple[int, ...]: ...
    @property
    def seconds(self) -> tuple[float, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    # --- what may be called from any thread

    def stop(self) -> None:
        """Let `advance` return soon; asking twice is harmless."""
        ...

    def pause(self) -> None:
        """Let chains rest after the few milliseconds they are at."""
        ...

    def resume(self) -> None:
        """Go on after a pause."""
        ...

    def states(
        self, drawn: int, taken: Mapping[int, Window], divergences: Mapping[int, int], ended: bool
    ) -> tuple[ChainProgress, ...]:
        """Where the chains are.

        drawn, divergences   draws of each chain in the windows taken in, and their divergences by chain
        taken                the last of these windows
        """
        ...

    # --- what the supervisor's thread calls

    def working(self) -> AbstractContextManager[None]:
        """What chains need while they are moved; at its end nothing is at work any more."""
        ...

    def advance(self, segment: Segment, overseer: Overseer) -> dict[int, Window] | None:
        """The windows of a segment in the order of the chains, those left out missing; None once a stop is asked for.

        raises   InitialPointError, SamplingError where no chain is left
        """
        ...

    def cut_short(self) -> dict[int, Window]:
        """After a stop: what each chain did of the segment under way, and beyond; lengths may differ."""
        ...

    def end(self) -> None:
        """Be where the last window ended: nothing more is to come."""
        ...

    def release(self) -> None:
        """Let go what only further segments need."""
        ...

    def again(self) -> None:
        """Be ready to go on after the end."""
        ...

    def follow(self, other: Any) -> None:
        """Go on after an engine of the same kind, whose chains were in other coordinates."""
        ...

    def tuning(self, chain: int) -> Tuning:
        """What a chain has learnt."""
        ...

    def save(self, living: Sequence[int]) -> list[dict[str, Any]]:
        """States of all chains after the last window, as numbers, strings and arrays in dictionaries and lists.

        living   chains that were not left out then
        """
        ...

    def load(self, state: list[dict[str, Any]]) -> None:
        """Take over states that were saved."""
        ...
