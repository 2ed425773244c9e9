"""Columns of a matrix that lies row by row, for a loop over its rows: parts of rows are loaded, and transposed.

The leaves of a kernel enter, those of one matrix told by one memory argument and their distance from it; vectors of
columns leave. A column that is read by itself takes a load for each of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.lower.loop_kernel import Leaf
from consilience.lower.views import View
from consilience.record import Record, replace


class Tile(Record):
    """Some columns that are read together, of as many rows as a vector has lanes.

    first     the first of the columns that are loaded, counted from the memory argument
    width     how many, a power of two
    wanted    the leaves that are among them
    """

    first: int
    width: int
    wanted: tuple[int, ...]


def joined(leaves: Sequence[Leaf], memories: Sequence[View], written: set[int]) -> tuple[Leaf, ...]:
    """Leaves that are columns of one matrix share the memory argument of the first; those of the others go unread.

    What the loop writes to, which `written` numbers, is left alone.
    """
    touched = {memories[number].storage for number in written}
    found = list(leaves)
    matrices: dict[object, list[int]] = {}
    for n, leaf in enumerate(leaves):
        if leaf.memory >= 0 and leaf.strides and leaf.strides[-1] > 1 and memories[leaf.memory].storage not in touched:
            matrices.setdefault((memories[leaf.memory].storage, leaf.dtype, leaf.strides), []).append(n)
    for columns in matrices.values():
        columns.sort(key=lambda n: memories[leaves[n].memory].offset)
        base = leaves[columns[0]].memory
        for n in columns:
            beyond = memories[leaves[n].memory].offset - memories[base].offset
            if beyond >= leaves[n].strides[-1]:  # of another row
                base, beyond = leaves[n].memory, 0
            found[n] = replace(leaves[n], memory=base, start=beyond)
    return tuple(found)


def tiles(leaves: Sequence[Leaf], lanes: int) -> list[Tile]:
    """What is read together, in tiles that lie between the first and the last column that are wanted."""
    found: list[Tile] = []
    matrices: dict[object, list[int]] = {}
    for n, leaf in enumerate(leaves):
        if leaf.memory >= 0 and leaf.dtype != "bool" and leaf.strides and leaf.strides[-1] > 1:
            matrices.setdefault((leaf.memory, leaf.dtype, leaf.strides), []).append(n)
    for columns in matrices.values():
        columns.sort(key=lambda n: leaves[n].start)
        begin, end = leaves[columns[0]].start, leaves[columns[-1]].start + 1
        width = min(lanes, 1 << (end - begin).bit_length() - 1)
        while columns:
            first = min(leaves[columns[0]].start, end - width)
            wanted = [n for n in columns if leaves[n].start < first + width]
            columns = columns[len(wanted) :]
            if width > 1:
                found.append(Tile(first, width, tuple(wanted)))
    return found
