"""The draws of a run, where they lie: blocks of draws enter; rows of one scalar leave.

Draws are read in place and never copied, each scalar's when it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.native.mathematics import isfinite
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd
from consilience.native.typed_python.records import RecordRows

FIRST_BLOCKS = 64  # in the first memory for them
MOST_DRAWS = (1 << 31) - 1  # positions are int32


@record
class ColumnBlock:
    """Draws first <= i < first + count of one chain, as they came: draw i of scalar s at (i - first) * scalars + s.

    previous  the block before it, of another chain or of earlier draws; the oldest block names itself
    """

    first: i64
    count: i64
    chain: i64
    scalars: i64
    values: Array[f64]
    previous: ColumnBlock


@native
def all_finite(block: ColumnBlock, sums: Array[f64]) -> boolean:
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
    block: ColumnBlock,
    blocks: i64,
    finite: boolean,
    origin: Array[f64],
    moved: Array[f64],
    unusable: Array[f64],
    sums: Array[f64],
) -> i64:
    """Note of the newest blocks which scalars differ from the very first draw, and how many draws are not finite.

    `finite` says that all these draws are. Gives the number of scalars none of whose draws differ, or some of whose are
    not finite.
    """
    scalars = block.scalars
    for _ in range(blocks):
        still = 0.0
        for s in simd(scalars):
            still += 1.0 if moved[s] == 0.0 else 0.0
        if still > 0.0 or (not finite and not all_finite(block, sums)):
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
def fetch_row(block: ColumnBlock, blocks: i64, scalar: i64, chains: i64, held: i64, row: Array[f64]) -> None:
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
    block: ColumnBlock,
    blocks: i64,
    scalar: i64,
    scalars: i64,
    count: i64,
    wanted: i64,
    rows: Array[f64],
    per_scalar: i64,
    per_draw: i64,
) -> None:
    """`wanted` of `count` draws of neighbouring scalars: draw (2 i + 1) count / (2 wanted) becomes draw i.

    Draw i of chain c of the scalar `scalar` + s lies at s * `per_scalar` + (c * `wanted` + i) * `per_draw`.
    """
    whole = count // wanted
    part = 2 * (count - whole * wanted)
    last = wanted - 1
    draw_of_last = ((2 * last + 1) * count) // (2 * wanted)
    rest_of_last = (2 * last + 1) * count - draw_of_last * 2 * wanted
    for _ in range(blocks):
        values = block.values[scalar:]
        step = block.scalars
        first = block.first
        target = rows[block.chain * wanted * per_draw :]
        i = last
        draw = draw_of_last
        rest = rest_of_last
        while i >= 0 and draw >= first:
            own = values[(draw - first) * step :]
            for s in range(scalars):
                target[s * per_scalar + i * per_draw] = own[s]
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


class Columns:
    """The draws of all scalars.

    newest    address of the newest block, of which there is one of each chain for each time that draws came
    blocks    how many there are
    count     draws per chain
    origin    float64[scalars], the very first draw
    moved     float64[scalars], 1 if a draw differs from it
    unusable  float64[scalars], how many draws are not finite
    sums      float64[scalars], memory to look for what is not finite in
    addresses of these four
    """

    def __init__(self, chains: int, scalars: int) -> None:
        self.chains = chains
        self.scalars = scalars
        self.newest = 0
        self.blocks = 0
        self.count = 0
        self._rows: list[RecordRows[ColumnBlock]] = []
        self._sources: list[tuple[int, int, npt.NDArray[np.float64]]] = []
        self.origin, self.moved, self.unusable, self.sums = np.zeros((4, scalars))
        # NumPy takes as long to tell an address as machine code to look at a block.
        self.addresses = tuple(int(a.ctypes.data) for a in (self.origin, self.moved, self.unusable, self.sums))

    def check_number(self, length: int) -> None:
        """Refuse so many more draws of each chain if their positions would not fit."""
        if (self.count + length) * self.chains > MOST_DRAWS:
            raise ShapeError(
                f"{self.count + length} draws of {self.chains} chains are more than the {MOST_DRAWS} that convergence "
                "can be watched on; thin the draws"
            )

    def add(self, sources: Sequence[npt.NDArray[np.float64]]) -> None:
        """The next draws of each chain, at least one, (draw, scalar), in C order."""
        length = len(sources[0])
        if not self.blocks:
            self.origin[:] = sources[0][0]
        if not self._rows or self._rows[-1].room < len(sources):
            self._rows.append(RecordRows(ColumnBlock, max(FIRST_BLOCKS, self.blocks, len(sources))))
        rows, first, slots, arrays = self._rows[-1], self.count, [], {}
        for chain, source in enumerate(sources):
            values = source.ctypes.data
            before = rows.next + (chain - 1) * rows.step if chain else self.newest or rows.next
            slots.append((first, length, chain, self.scalars, values, before))
            arrays[values] = source
            self._sources.append((chain, first, source))
        self.newest = rows.extend(slots, arrays)
        self.blocks += len(sources)
        self.count += length

    def draws(self, scalars: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Draws (chain, draw, scalar) of some scalars."""
        found = np.empty((self.chains, self.count, len(scalars)))
        for chain, first, source in self._sources:
            found[chain, first : first + len(source)] = source[:, scalars]
        return found
