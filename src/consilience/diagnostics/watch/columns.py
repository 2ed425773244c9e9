"""Draws kept by scalar: blocks of draws enter; rows of one scalar, and its order as far as it is known, leave.

The draws of a scalar lie in chunks, each a quarter as long as all before it, so nothing is ever copied again. Orders
(int32) lie beside them for as many scalars as the memory given allows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.native.mathematics import isfinite
from consilience.native.typed_python import Array, f64, i32, i64, native, record

FIRST_CAPACITY = 250  # draws per chain of the first chunk; rows a power of two apart would share cache lines
TILE = 32  # scalars copied together: some cache lines of a draw, and as many rows as the cache holds at once
MOST_DRAWS = (1 << 31) - 1  # positions are int32


@record
class Chunk:
    """Draws first <= i < first + capacity of all chains and scalars.

    values    draw i of chain c and scalar s at (s * capacity + i - first) * chains + c
    order     positions i * chains + c in ascending order of the draws, for each slot `capacity` * chains of them
    previous  the chunk before it; the oldest chunk's is not to be followed
    """

    first: i64
    capacity: i64
    values: Array[f64]
    order: Array[i32]
    previous: Chunk


class Nowhere(Chunk):
    """What the oldest chunk names as the one before it."""

    def __init__(self) -> None:
        pass

    @property
    def address(self) -> int:
        """No address."""
        return 0


@native
def store(
    chunk: Chunk,
    chains: i64,
    chain: i64,
    scalars: i64,
    first: i64,
    count: i64,
    source: Array[f64],
    draw_step: i64,
    scalar_step: i64,
) -> None:
    """Copy draws first <= i < first + count of a chain into their chunk.

    Draw (i, s) of `source` is at (i - first) * draw_step + s * scalar_step.
    """
    values = chunk.values
    width = chunk.capacity * chains
    begin = (first - chunk.first) * chains + chain
    for tile in range(0, scalars, TILE):
        end = min(tile + TILE, scalars)
        for i in range(count):
            for s in range(tile, end):
                values[s * width + begin + i * chains] = source[i * draw_step + s * scalar_step]


@native
def note(
    chunk: Chunk,
    chains: i64,
    scalars: i64,
    first: i64,
    count: i64,
    origin: Array[f64],
    moved: Array[i64],
    unusable: Array[i64],
) -> None:
    """Note of draws first <= i < first + count the very first, how many differ from it, how many are not finite."""
    for s in range(scalars):
        row = chunk.values[(s * chunk.capacity + first - chunk.first) * chains :]
        if first == 0:
            origin[s] = row[0]
        start = origin[s]
        moves = 0
        wrong = 0
        for k in range(count * chains):
            moves += 0 if row[k] == start else 1
            wrong += 0 if isfinite(row[k]) else 1
        moved[s] += moves
        unusable[s] += wrong


@native
def fetch_row(chunk: Chunk, chunks: i64, scalar: i64, chains: i64, count: i64, row: Array[f64]) -> None:
    """The first `count` draws of all chains of a scalar, in one piece: draw i of chain c at i * chains + c."""
    for _ in range(chunks):
        values = chunk.values
        begin = scalar * chunk.capacity * chains
        target = chunk.first * chains
        for k in range(min(chunk.capacity, count - chunk.first) * chains):
            row[target + k] = values[begin + k]
        chunk = chunk.previous


@native
def fetch_thinned(
    chunk: Chunk, chunks: i64, scalar: i64, chains: i64, count: i64, wanted: i64, row: Array[f64]
) -> None:
    """`wanted` of `count` draws of all chains, evenly spread: draw (2 i + 1) count / (2 wanted) becomes draw i."""
    i = wanted - 1
    for _ in range(chunks):
        values = chunk.values
        begin = scalar * chunk.capacity * chains
        draw = ((2 * i + 1) * count) // (2 * wanted)
        while i >= 0 and draw >= chunk.first:
            here = begin + (draw - chunk.first) * chains
            for c in range(chains):
                row[i * chains + c] = values[here + c]
            i -= 1
            draw = ((2 * i + 1) * count) // (2 * wanted)
        chunk = chunk.previous


@native
def fetch_order(chunk: Chunk, chunks: i64, slot: i64, chains: i64, count: i64, order: Array[i32]) -> None:
    """The first `count` * chains places of a kept order."""
    for _ in range(chunks):
        kept = chunk.order
        begin = slot * chunk.capacity * chains
        target = chunk.first * chains
        for k in range(min(chunk.capacity, count - chunk.first) * chains):
            order[target + k] = kept[begin + k]
        chunk = chunk.previous


@native
def keep_order(chunk: Chunk, chunks: i64, slot: i64, chains: i64, count: i64, order: Array[i32]) -> None:
    """Keep an order of `count` * chains places."""
    for _ in range(chunks):
        kept = chunk.order
        begin = slot * chunk.capacity * chains
        target = chunk.first * chains
        for k in range(min(chunk.capacity, count - chunk.first) * chains):
            kept[begin + k] = order[target + k]
        chunk = chunk.previous


class Columns:
    """The chunks of all scalars.

    chunks    newest first
    count     draws per chain
    slots     orders that there is memory for
    slot      int64[scalars], the slot of a scalar's order, -1 for none
    ordered   int64[scalars], how many draws per chain that order covers
    taken     int64[1], slots given away
    origin    float64[scalars], the very first draw
    moved     int64[scalars], draws that differ from it
    unusable  int64[scalars], draws that are not finite
    """

    def __init__(self, chains: int, scalars: int, memory: int) -> None:
        self.chains = chains
        self.scalars = scalars
        self.memory = memory
        self.chunks: list[Chunk] = []
        self.count = 0
        self.slots = 0
        self.room = 0  # draws per chain that as many orders are meant for
        self.slot = np.full(scalars, -1, np.int64)
        self.ordered = np.zeros(scalars, np.int64)
        self.taken = np.zeros(1, np.int64)
        self.origin = np.zeros(scalars)
        self.moved = np.zeros(scalars, np.int64)
        self.unusable = np.zeros(scalars, np.int64)

    @property
    def capacity(self) -> int:
        """Draws per chain that there is room for."""
        return self.chunks[0].first + self.chunks[0].capacity if self.chunks else 0

    def grow(self, least: int) -> None:
        """Make room for `least` more draws per chain behind a full last chunk."""
        first = self.capacity
        capacity = max(least, first // 4, FIRST_CAPACITY if first == 0 else 0)
        if (first + capacity) * self.chains > MOST_DRAWS:
            raise ShapeError(
                f"{first + capacity} draws of {self.chains} chains are more than the {MOST_DRAWS} that convergence "
                "can be watched on; thin the draws"
            )
        if first + capacity > self.room:
            self.room = max(first + capacity, self.room + max(self.room // 2, FIRST_CAPACITY))
        slots = min(self.scalars, self.memory // (4 * self.chains * self.room))
        lying = [(chunk.first, chunk.capacity, chunk.values) for chunk in reversed(self.chunks)]
        if slots < self.slots or not self.chunks:
            # Fewer orders fit than before: all are dropped, and those asked for first are kept again.
            self.chunks = []
            self.slots = slots
            self.slot[:] = -1
            self.ordered[:] = 0
            self.taken[:] = 0
        fresh = [*lying, (first, capacity, np.empty(self.scalars * capacity * self.chains))][len(self.chunks) :]
        for place, length, values in fresh:
            order = np.empty(max(1, self.slots * length * self.chains), np.int32)
            before = self.chunks[0] if self.chunks else Nowhere()
            self.chunks.insert(0, Chunk(place, length, values, order, before))

    def draws(self, scalars: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Draws (chain, draw, scalar) of some scalars."""
        parts = [
            np.asarray(chunk.values).reshape(self.scalars, chunk.capacity, self.chains)[scalars]
            for chunk in reversed(self.chunks)
        ]
        if not parts:
            return np.empty((self.chains, 0, len(scalars)))
        return np.concatenate(parts, axis=1)[:, : self.count].transpose(2, 1, 0)
