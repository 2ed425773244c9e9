"""What a worker does, a pure function: a recipe, states of chains and their orders enter; draws, further states and
faults leave.

A worker compiles a recipe once, for its own processor. How far it comes with a chain before its time is over is told
with the draws, and has no part in them.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from consilience.errors import InitialPointError, SamplingError
from consilience.inference.density import LogDensity
from consilience.inference.kernel import Kernel, MarkovChain
from consilience.inference.messages import Command, Divergences, Rows, Snapshot
from consilience.native import target as processors
from consilience.record import Record

CALL_SECONDS: Final = 0.05  # of one native call: between two looks at the clock
SCRAP: Final = 0.2  # of a task's time: what is left of an order and takes less is done, too
LARGEST_GROWTH: Final = 4  # of the number of transitions per call


class Order(Record):
    """What one chain is to do, from a state on.

    state      after its last transition
    commands   what it is told before: whether it evaluates its starting point, and a tuner's command
    count      transitions at most
    gradients  whether they are wanted
    """

    state: Snapshot
    commands: tuple[tuple[bool, Command], ...]
    count: int
    gradients: bool


class Piece(Record):
    """What one chain did: rows as in `messages.Rows`, divergences among them, its state after them, seconds spent."""

    rows: Rows
    divergences: Divergences
    state: Snapshot
    seconds: float


class Recipe:
    """What chains are made of; pickled without what a worker makes of it.

    make       makes the log density
    kernel     what moves the chains
    tune       transitions of tuning on a chain's own schedule
    dimension  coordinates
    """

    def __init__(self, make: Callable[[], LogDensity], kernel: Kernel, tune: int, dimension: int) -> None:
        self.make, self.kernel, self.tune, self.dimension = make, kernel, tune, dimension
        self._open()

    def _open(self) -> None:
        self._lock = threading.Lock()
        self._density: LogDensity | None = None
        self._free: list[MarkovChain] = []  # that no thread is working with

    def __getstate__(self) -> tuple[Any, ...]:
        return self.make, self.kernel, self.tune, self.dimension

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.make, self.kernel, self.tune, self.dimension = state
        self._open()

    def __copy__(self) -> Recipe:
        return self  # threads of one worker share the density, and take chains from it one by one

    def borrow(self) -> MarkovChain:
        """A chain in no particular state."""
        with self._lock:
            if self._density is None:
                self._density = self.make()
            if self._free:
                return self._free.pop()
        return self.kernel.chain(self._density, np.zeros(self.dimension), 0, self.tune, np.zeros(1, np.int64))

    def give_back(self, chain: MarkovChain) -> None:
        """Let others have it."""
        chain.write_to(Rows(np.empty((0, self.dimension)), np.empty((0, self.words), np.int64)))
        self._free.append(chain)

    @property
    def words(self) -> int:
        """Of a transition's statistics."""
        return len(self.kernel.columns.types)


def processor() -> str:
    """The instructions that machine code here may use: where they differ, last bits do."""
    own = processors.host()
    return f"{own.architecture} with {own.lanes} numbers in a vector{', fused' if own.fma else ''}"


def segments(recipe: Recipe, orders: Sequence[Order], seconds: float) -> tuple[list[Piece | Exception], float, str]:
    """Have chains do what they are ordered to, one after the other.

    seconds  after which a chain makes no further transitions
    returns  what each did or raised, seconds spent, and `processor()`
    """
    began = time.perf_counter()
    done = [_advanced(recipe, order, seconds) for order in orders]
    return done, time.perf_counter() - began, processor()


def _advanced(recipe: Recipe, order: Order, seconds: float) -> Piece | Exception:
    """What a chain did, or what it raised."""
    chain = recipe.borrow()
    began = time.perf_counter()  # compiling is not the chain's time
    try:
        chain.restore(order.state)
        for begins, command in order.commands:
            chain.begin(command) if begins else chain.apply(command)
        rows = _rows(recipe, order)
        chain.write_to(rows)
        made, several = 0, 1
        while made < order.count:
            before = time.perf_counter()
            made += (now := chain.advance(min(several, order.count - made)))
            after = time.perf_counter()
            left = (after - began) * (order.count - made) / max(made, 1)
            if after - began >= seconds and left > SCRAP * seconds:
                break
            wanted = now * CALL_SECONDS / max(after - before, 1e-9)
            several = max(1, min(int(wanted), LARGEST_GROWTH * several))
        kept = Rows(*(a if a is None or len(a) == made else a[:made].copy() for a in _arrays(rows)))
        return Piece(kept, chain.divergences(), chain.snapshot(), time.perf_counter() - began)
    except Exception as error:  # the run decides what becomes of the chain
        return _portable(error)
    finally:
        recipe.give_back(chain)


def _arrays(rows: Rows) -> Sequence[Any]:
    return rows.draws, rows.statistics, rows.gradients


def _rows(recipe: Recipe, order: Order) -> Rows:
    shape = (order.count, recipe.dimension)
    gradients = None
    if order.gradients:  # those of blocks without gradient stay zero
        gradients = np.zeros(shape) if recipe.kernel.joint else np.empty(shape)
    return Rows(np.empty(shape), np.empty((order.count, recipe.words), np.int64), gradients)


def _portable(error: Exception) -> Exception:
    """The error, if it survives the way home; else one with its words."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever a user's own error needs to be made anew
        kind = InitialPointError if isinstance(error, InitialPointError) else SamplingError
        return kind(f"{type(error).__name__}: {error}")
    return error
