"""What moves the chains of a run: segments of work enter, windows leave.

An engine decides nothing: how long chains tune and draw, whether they begin again and when they stop is decided by
the `RunCourse` of the run from the windows, for all engines alike.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

from consilience.errors import SamplingError
from consilience.events import ChainProgress, Event
from consilience.inference.columns import Columns
from consilience.inference.messages import ChainTuning, Matrix, Segment, Window
from consilience.record import Record

SUPERCHAINS: Final = 16
FEWEST_OF_SUPERCHAINS: Final = 4  # chains that a superchain has at least
FEWEST_DRAWS: Final = 16  # of each chain at the first check, where superchains are judged
USUAL_CHAINS: Final = 4  # that `min_draws` is meant for: more chains have as many draws all together at the first check


def superchains_of(chains: int) -> int:
    """How many superchains so many chains make up; 0 for few, which are judged one by one."""
    return SUPERCHAINS if chains >= SUPERCHAINS * FEWEST_OF_SUPERCHAINS else 0


class Chains(Record, eq=False):
    """The chains of an engine, and how draws are judged: few chains make many draws each, many chains make few.

    `count`: how many begin.
    `dimension`: their coordinates.
    `columns`: their statistics.
    `longest`: transitions of a segment at most; None: no limit.
    `superchains`: how many the chains make up (`diagnostics.superchains`): R-hat, E-BFMI and disagreement are theirs,
        and the draws at the first check are shared; 0: chains are judged one by one.
    `at_once`: whether they move all at once, many of them, and make few draws each. Then every check looks at the
        draws, however few they were worth at the one before, and forgets in which scalars chains were once far from
        each other; draws may be given up for a remedy at the end, too; other coordinates are thought of once in a run,
        and not once in every attempt to sample.
    `work`: estimated floating-point operations of one evaluation of the log density, those of loops included, if known.
    """

    count: int
    dimension: int
    columns: Columns
    longest: int | None = None
    superchains: int = 0
    at_once: bool = False
    work: float | None = None

    def fewest(self, asked: int) -> int:
        """Draws of each chain at the first check, where `asked` is meant for the usual number of chains."""
        return max(FEWEST_DRAWS, -(-asked * USUAL_CHAINS // self.count)) if self.superchains else asked


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

    `chains`: what is to be known of them. `threads`: how many threads move them. `stopping`: whether a stop was asked
    for. `lost`: in words, why chains can't go on though nobody asked them to stop; empty while they can.
    """

    threads: int = 1
    lost: str = ""

    def __init__(self, chains: Chains) -> None:
        self.chains = chains
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
        return tuple(range(self.chains.count))

    @property
    def notes(self) -> tuple[str, ...]:
        """Faults of chains of which the result bears traces, in words."""
        return ()

    @property
    def moves(self) -> tuple[str, ...]:
        """Chains that went on elsewhere while tuning, in words."""
        return ()

    @property
    def copies(self) -> tuple[int, ...]:
        """Chains that went on from where another was, so that they are no witnesses of their own."""
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
    def tuning(self, chain: int) -> ChainTuning:
        """What a chain has learnt."""

    @abstractmethod
    def states(
        self, drawn: int, taken: Mapping[int, Window], divergences: Mapping[int, int], ended: bool
    ) -> tuple[ChainProgress, ...]:
        """Where the chains are."""

    def under_way(self) -> tuple[dict[int, Matrix], dict[int, Matrix]]:
        """Draws and statistics of the sampling segment under way, by chain; empty where the engine cannot tell.

        All have the length of the shortest. Chains that fail make them anew, so these draws may be none in the end.
        """
        return {}, {}

    # --- what the run's own thread calls

    @contextmanager
    def working(self) -> Iterator[None]:
        """What chains need while they are moved; at its end nothing is at work any more."""
        yield

    @abstractmethod
    def advance(self, segment: Segment, overseer: Overseer) -> Mapping[int, Window] | None:
        """The windows of a segment by chain, those left out missing; None once a stop is asked for."""

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
        """States of all chains after the last window, as numbers, strings and arrays in dictionaries and lists."""
        raise SamplingError(f"{type(self).__name__} has no checkpoints.")

    def load(self, state: list[dict[str, Any]]) -> None:
        """Take over states that were saved."""
        raise SamplingError(f"{type(self).__name__} has no checkpoints.")

    def ends(self, overseer: Overseer) -> bool:
        """Whether to stop, after a pause if there is one: asked between two parts of a segment."""
        self._going.wait()
        overseer.seconds_left()
        return self.stopping
