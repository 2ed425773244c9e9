"""Small matrices in registers: a vector for each row, transposed."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.native.loops import Builder, Value


def transposed(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """The columns of a tile, from its rows."""
    vectors, lanes, width = list(rows), len(rows), rows[0].type.lanes
    while len(vectors) > width:  # rows i, i + width, i + 2 width, ... in one vector
        together = range(2 * vectors[0].type.lanes)
        pairs = [(i, i + width) for i in range(len(vectors)) if not i & width]
        vectors = [b.shuffle(vectors[i], vectors[j], together) for i, j in pairs]
    step = width // 2
    while step:  # exchange what lies beside the diagonal: blocks of half the width, then of a quarter, ...
        upper = [lane - step + lanes if lane & step else lane for lane in range(lanes)]
        lower = [lane + lanes if lane & step else lane + step for lane in range(lanes)]
        for i in range(width):
            if not i & step:
                x, y = vectors[i], vectors[i + step]
                vectors[i], vectors[i + step] = b.shuffle(x, y, upper), b.shuffle(x, y, lower)
        step //= 2
    return vectors
