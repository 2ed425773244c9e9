"""Columns of matrices that lie row by row: tiles stay inside what is wanted, and columns are those of the matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.ir import Node
from consilience.lower.loop_kernel import Leaf
from consilience.lower.row_tiles import joined, tiles
from consilience.lower.views import Storage, View
from tests.backends.agreement import agree


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_tiles_lie_between_the_first_and_the_last_column_and_have_each_column_once(lanes: int) -> None:
    random = np.random.default_rng(lanes)
    for _ in range(200):
        width = int(random.integers(2, 30))
        wanted = random.permutation(width)[: random.integers(1, width + 1)]
        leaves = [Leaf(0, "float64", (width,), int(start)) for start in wanted]
        read: list[int] = []
        for tile in tiles(leaves, lanes):
            assert wanted.min() <= tile.first
            assert tile.first + tile.width <= wanted.max() + 1
            assert tile.width in (2, 4, 8)
            assert tile.width <= lanes
            assert all(tile.first <= leaves[n].start < tile.first + tile.width for n in tile.wanted)
            read += tile.wanted
        assert len(set(read)) == len(read)
        assert len(read) == (len(wanted) if len(wanted) > 1 else 0)


def test_columns_of_other_rows_and_of_what_is_written_are_left_alone() -> None:
    matrix, target = Storage("inputs", 0, "float64", 60), Storage("outputs", 0, "float64", 60)
    memories = [View(s, offset, (6,), (9,)) for s in (matrix, target) for offset in (3, 5, 9)]
    leaves = [Leaf(n, "float64", (6,)) for n in range(6)]
    found = joined(leaves, memories, {4})
    assert [(leaf.memory, leaf.start) for leaf in found] == [(0, 0), (0, 2), (2, 0), (3, 0), (4, 0), (5, 0)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8"])
@pytest.mark.parametrize("rows", [1, 7, 8, 31, 301])
def test_loops_over_columns_agree_with_the_reference(dtype: str, rows: int) -> None:
    random = np.random.default_rng(rows)
    for columns in (2, 3, 4, 5, 8, 11, 16, 20, 21):
        some = random.permutation(columns)[: 1 + columns // 2].tolist()

        def across(x: Node, v: Node, some: Sequence[int] = some) -> list[Node]:
            eta = v
            for j in some:
                eta = eta + x[:, j] / 9.0
            rest = pt.exp(-pt.sqr(eta))
            return [eta, *((rest * x[:, j]).sum() for j in some)]

        agree(
            across, [(10 * random.standard_normal((rows, columns))).astype(dtype), random.normal(size=rows)], scale=99.0
        )
