"""The draws of a run, where they lie: blocks of draws enter; rows of one scalar, and its order as known, leave.

Draws are read in place and never copied, each scalar's when it is looked at. Orders (int32) are kept in chunks, each a
quarter as long as all before it, for as many scalars as the memory given allows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.native.mathematics import isfinite
from consilience.native.typed_python import Array, f64, i32, i64, native, record, simd

FIRST_CAPACITY = 250  # draws per chain of the first chunk; rows a power of two apart would share cache lines
MOST_DRAWS = (1 << 31) - 1  # positions are int32


@record
class Block:
    """Draws first <= i < first + count of one chain, as they came: draw i of scalar s at (i - first) * scalars + s.

    previous  the block before it, of another chain or of earlier draws; the oldest block's is not to be followed
    """

    first: i64
    count: i64
    chain: i64
    scalars: i64
    values: Array[f64]
    previous: Block


@record
class Chunk:
    """Orders of draws first <= i < first + capacity of all chains.

    order     positions i * chains + c in ascending order of the draws, for each slot `capacity` * chains of them
    previous  the chunk before it; the oldest chunk's is not to be followed
    """

    first: i64
    capacity: i64
    order: Array[i32]
    previous: Chunk


class Nowhere:
    """A record that is none."""

    def __init__(self) -> None:
        pass

    @property
    def address(self) -> int:
        """No address."""
        return 0


class NoBlock(Nowhere, Block):
    """What the oldest block names as the one before it."""


class NoChunk(Nowhere, Chunk):
    """What the oldest chunk names as the one before it."""


@native
def note(block: Block, chains: i64, origin: Array[f64], moved: Array[f64], unusable: Array[f64]) -> None:
    """Note of the newest draws of all chains how many differ from the very first, and how many are not finite."""
    scalars = block.scalars
    for _ in range(chains):
        for i in range(block.count):
            row = block.values[i * scalars :]
            for s in simd(scalars):
                moved[s] += 0.0 if row[s] == origin[s] else 1.0
                unusable[s] += 0.0 if isfinite(row[s]) else 1.0
        block = block.previous


@native
def fetch_row(block: Block, blocks: i64, scalar: i64, chains: i64, row: Array[f64]) -> None:
    """The draws of all chains of a scalar, in one piece: draw i of chain c at i * chains + c."""
    for _ in range(blocks):
        values = block.values[scalar:]
        step = block.scalars
        begin = block.first * chains + block.chain
        for k in range(block.count):
            row[begin + k * chains] = values[k * step]
        block = block.previous


@native
def fetch_thinned(
    block: Block, blocks: i64, scalar: i64, chains: i64, count: i64, wanted: i64, row: Array[f64]
) -> None:
    """`wanted` of `count` draws of all chains, evenly spread: draw (2 i + 1) count / (2 wanted) becomes draw i."""
    whole = count // wanted
    part = 2 * (count - whole * wanted)
    last = wanted - 1
    draw_of_last = ((2 * last + 1) * count) // (2 * wanted)
    rest_of_last = (2 * last + 1) * count - draw_of_last * 2 * wanted
    for _ in range(blocks):
        values = block.values[scalar:]
        step = block.scalars
        first = block.first
        i = last
        draw = draw_of_last
        rest = rest_of_last
        while i >= 0 and draw >= first:
            row[i * chains + block.chain] = values[(draw - first) * step]
            i -= 1
            draw -= whole
            rest -= part
            if rest < 0:
                rest += 2 * wanted
                draw -= 1
        if block.chain == 0:  # the last of its draws that was to come
            last = i
            draw_of_last = draw
            rest_of_last = rest
        block = block.previous


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
    """The draws of all scalars.

    blocks    one of each chain for each time that draws came, oldest first
    chunks    of orders, newest first
    count     draws per chain
    slots     orders that there is memory for
    slot      int64[scalars], the slot of a scalar's order, -1 for none
    ordered   int64[scalars], how many draws per chain that order covers
    taken     int64[1], slots given away
    origin    float64[scalars], the very first draw
    moved     float64[scalars], how many draws differ from it
    unusable  float64[scalars], how many draws are not finite
    """

    def __init__(self, chains: int, scalars: int, memory: int) -> None:
        self.chains = chains
        self.scalars = scalars
        self.memory = memory
        self.blocks: list[Block] = []
        self.chunks: list[Chunk] = []
        self.count = 0
        self.slots = 0
        self.room = 0  # draws per chain that as many orders are meant for
        self.slot = np.full(scalars, -1, np.int64)
        self.ordered = np.zeros(scalars, np.int64)
        self.taken = np.zeros(1, np.int64)
        self.origin = np.zeros(scalars)
        self.moved = np.zeros(scalars)
        self.unusable = np.zeros(scalars)

    @property
    def capacity(self) -> int:
        """Draws per chain that there is room for in orders."""
        return self.chunks[0].first + self.chunks[0].capacity if self.chunks else 0

    def add(self, sources: Sequence[npt.NDArray[np.float64]]) -> None:
        """The next draws of each chain, at least one, (draw, scalar), in C order; there is room for their orders."""
        length = len(sources[0])
        if not self.blocks:
            self.origin[:] = sources[0][0]
        before = self.blocks[-1] if self.blocks else NoBlock()
        for chain, source in enumerate(sources):
            before = Block(self.count, length, chain, self.scalars, source.reshape(-1), before)
            self.blocks.append(before)
        self.count += length

    def make_room(self, length: int) -> None:
        """Make room for the orders of so many draws of each chain."""
        least = self.count + length - self.capacity
        if least <= 0:
            return
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
        lying = [(chunk.first, chunk.capacity) for chunk in reversed(self.chunks)]
        if slots < self.slots or not self.chunks:
            # Fewer orders fit than before: all are dropped, and those asked for first are kept again.
            self.chunks = []
            self.slots = slots
            self.slot[:] = -1
            self.ordered[:] = 0
            self.taken[:] = 0
        for place, length in [*lying, (first, capacity)][len(self.chunks) :]:
            order = np.empty(max(1, self.slots * length * self.chains), np.int32)
            before = self.chunks[0] if self.chunks else NoChunk()
            self.chunks.insert(0, Chunk(place, length, order, before))

    def draws(self, scalars: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Draws (chain, draw, scalar) of some scalars."""
        found = np.empty((self.chains, self.count, len(scalars)))
        for block in self.blocks:
            rows = np.asarray(block.values).reshape(block.count, self.scalars)[:, scalars]
            found[block.chain, block.first : block.first + block.count] = rows
        return found
