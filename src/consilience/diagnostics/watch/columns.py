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
from consilience.native.typed_python import Array, boolean, f64, i32, i64, native, record, simd
from consilience.native.typed_python.records import Rows

FIRST_CAPACITY = 250  # draws per chain of the first chunk; rows a power of two apart would share cache lines
FIRST_BLOCKS = 64  # in the first memory for them
MOST_DRAWS = (1 << 31) - 1  # positions are int32


@record
class Block:
    """Draws first <= i < first + count of one chain, as they came: draw i of scalar s at (i - first) * scalars + s.

    previous  the block before it, of another chain or of earlier draws; the oldest block names itself
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


class NoChunk(Chunk):
    """What the oldest chunk names as the one before it."""

    def __init__(self) -> None:
        pass

    @property
    def address(self) -> int:
        """No address."""
        return 0


@native
def all_finite(block: Block, sums: Array[f64]) -> boolean:
    """Whether all draws of a block are finite; `sums` is memory for as many numbers as there are scalars."""
    scalars = block.scalars
    for s in simd(scalars):
        sums[s] = 0.0
    i = 0
    while i + 4 <= block.count:
        first = block.values[i * scalars :]
        second = block.values[(i + 1) * scalars :]
        third = block.values[(i + 2) * scalars :]
        fourth = block.values[(i + 3) * scalars :]
        for s in simd(scalars):  # 0 for what is finite, NaN for what is not
            sums[s] += ((first[s] - first[s]) + (second[s] - second[s])) + (
                (third[s] - third[s]) + (fourth[s] - fourth[s])
            )
        i += 4
    while i < block.count:
        row = block.values[i * scalars :]
        for s in simd(scalars):
            sums[s] += row[s] - row[s]
        i += 1
    total = 0.0
    for s in simd(scalars):
        total += sums[s]
    return total == 0.0


@native
def note(
    block: Block, blocks: i64, origin: Array[f64], moved: Array[f64], unusable: Array[f64], sums: Array[f64]
) -> i64:
    """Note of the newest blocks which scalars differ from the very first draw, and how many draws are not finite.

    Gives the number of scalars none of whose draws differ, or some of whose are not finite.
    """
    scalars = block.scalars
    for _ in range(blocks):
        still = 0.0
        for s in simd(scalars):
            still += 1.0 if moved[s] == 0.0 else 0.0
        if still > 0.0 or not all_finite(block, sums):
            for i in range(block.count):
                row = block.values[i * scalars :]
                for s in simd(scalars):
                    moved[s] = moved[s] if row[s] == origin[s] else 1.0
                    unusable[s] += 0.0 if isfinite(row[s]) else 1.0
        block = block.previous
    failing = 0.0
    for s in simd(scalars):
        failing += 1.0 if moved[s] == 0.0 else 0.0
        failing += 1.0 if unusable[s] > 0.0 else 0.0
    return i64(failing)


@native
def fetch_row(block: Block, blocks: i64, scalar: i64, chains: i64, held: i64, row: Array[f64]) -> None:
    """The draws of all chains of a scalar, in one piece: draw i of chain c at i * chains + c. `held` are there."""
    for _ in range(blocks):
        if block.first < held:
            break
        values = block.values[scalar:]
        step = block.scalars
        begin = block.first * chains + block.chain
        for k in range(block.count):
            row[begin + k * chains] = values[k * step]
        block = block.previous


@native
def fetch_some(
    block: Block, blocks: i64, scalar: i64, scalars: i64, chains: i64, count: i64, wanted: i64, rows: Array[f64]
) -> None:
    """`wanted` of `count` draws of neighbouring scalars: draw (2 i + 1) count / (2 wanted) becomes draw i.

    Draw i of chain c of the scalar `scalar` + s lies at (s * chains + c) * `wanted` + i.
    """
    whole = count // wanted
    part = 2 * (count - whole * wanted)
    last = wanted - 1
    draw_of_last = ((2 * last + 1) * count) // (2 * wanted)
    rest_of_last = (2 * last + 1) * count - draw_of_last * 2 * wanted
    room = chains * wanted
    for _ in range(blocks):
        values = block.values[scalar:]
        step = block.scalars
        first = block.first
        target = rows[block.chain * wanted :]
        i = last
        draw = draw_of_last
        rest = rest_of_last
        while i >= 0 and draw >= first:
            own = values[(draw - first) * step :]
            for s in range(scalars):
                target[s * room + i] = own[s]
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

    newest    the newest block, of which there is one of each chain for each time that draws came
    blocks    how many there are
    chunks    of orders, newest first
    count     draws per chain
    slots     orders that there is memory for
    slot      int64[scalars], the slot of a scalar's order, -1 for none
    ordered   int64[scalars], how many draws per chain that order covers
    taken     int64[1], slots given away
    origin    float64[scalars], the very first draw
    moved     float64[scalars], 1 if a draw differs from it
    unusable  float64[scalars], how many draws are not finite
    sums      float64[scalars], memory to look for what is not finite in
    """

    def __init__(self, chains: int, scalars: int, memory: int) -> None:
        self.chains = chains
        self.scalars = scalars
        self.memory = memory
        self.newest = 0  # its address
        self.blocks = 0
        self.chunks: list[Chunk] = []
        self.count = 0
        self._rows: list[Rows[Block]] = []
        self._sources: list[tuple[int, int, npt.NDArray[np.float64]]] = []
        self.slots = 0
        self.room = 0  # draws per chain that as many orders are meant for
        self.slot = np.full(scalars, -1, np.int64)
        self.ordered = np.zeros(scalars, np.int64)
        self.taken = np.zeros(1, np.int64)
        self.origin = np.zeros(scalars)
        self.moved = np.zeros(scalars)
        self.unusable = np.zeros(scalars)
        self.sums = np.zeros(scalars)

    @property
    def capacity(self) -> int:
        """Draws per chain that there is room for in orders."""
        return self.chunks[0].first + self.chunks[0].capacity if self.chunks else 0

    def add(self, sources: Sequence[npt.NDArray[np.float64]]) -> None:
        """The next draws of each chain, at least one, (draw, scalar), in C order; there is room for their orders."""
        length = len(sources[0])
        if not self.blocks:
            self.origin[:] = sources[0][0]
        for chain, source in enumerate(sources):
            if not self._rows or self._rows[-1].count == self._rows[-1].capacity:
                self._rows.append(Rows(Block, max(FIRST_BLOCKS, self.blocks)))
            rows, values = self._rows[-1], source.ctypes.data
            slots = (self.count, length, chain, self.scalars, values, self.newest or rows.next)
            self.newest = rows.append(slots, source.reshape(-1), values)
            self._sources.append((chain, self.count, source))
        self.blocks += len(sources)
        self.count += length

    def block(self) -> Block:
        """The newest block, from which one comes to the others."""
        block = self._rows[-1].at(self.newest)
        assert block is not None
        return block

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
        for chain, first, source in self._sources:
            found[chain, first : first + len(source)] = source[:, scalars]
        return found
