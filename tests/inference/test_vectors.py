"""Laws of the memory for a chain's vectors."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.inference.vectors import LINE, PAGE, SHORT, Vectors


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 3000), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_rows_are_aligned_apart_and_do_not_overlap(dimension: int, counts: list[int]) -> None:
    """Every row begins at a multiple of 64 bytes; long rows that follow each other differ in place."""
    vectors = Vectors(dimension)
    assert vectors.stride >= dimension
    assert vectors.stride < dimension + LINE + PAGE
    blocks = [vectors.rows(count) for count in counts]
    starts = [
        block.ctypes.data + 8 * vectors.stride * row
        for block, count in zip(blocks, counts, strict=True)
        for row in range(count)
    ]
    assert all(start % 64 == 0 for start in starts)
    assert all(not block.any() for block in blocks)
    ordered = sorted(starts)
    assert all(b - a >= 8 * dimension for a, b in itertools.pairwise(ordered))
    if dimension > SHORT:
        places = [start % 4096 for start in starts]
        assert all(a != b for a, b in itertools.pairwise(places))


def test_a_vector_holds_what_it_is_given() -> None:
    """A copy, of exactly the dimension."""
    values = np.arange(5.0)
    vector = Vectors(5).vector(values)
    np.testing.assert_array_equal(vector, values)
    values[0] = 9.0
    assert vector[0] == 0.0
