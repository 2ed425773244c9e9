"""Symbolic lengths obey the laws of integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import ShapeError
from consilience.ir import dimension as dims
from consilience.ir.dimension import Dim

N, M, K = (dims.symbol(name) for name in "nmk")
SYMBOLS = [dims.as_symbol(s) for s in (N, M, K)]
EXAMPLES = settings(max_examples=300, deadline=None, derandomize=True)


def combined(children: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]), pairs.map(lambda p: p[0] - p[1]), pairs.map(lambda p: dims.multiply(*p)),
        pairs.map(lambda p: dims.maximum(*p)), pairs.map(lambda p: dims.minimum(*p)),
        st.tuples(children, st.integers(1, 5)).map(lambda p: dims.floordiv(*p)),
    )  # fmt: skip


LENGTHS = st.recursive(st.one_of(st.sampled_from([N, M, K]), st.integers(-5, 9)), combined, max_leaves=8)
VALUES = st.tuples(*[st.integers(0, 12)] * 3)


def at(length: Dim, values: tuple[int, ...]) -> int:
    """The length for values of the symbols."""
    found = dims.substitute(length, {s: v for s, v in zip(SYMBOLS, values, strict=True) if s is not None})
    assert isinstance(found, int)
    return found


@EXAMPLES
@given(LENGTHS, LENGTHS, LENGTHS)
def test_ring_laws_hold_as_identity(a: Dim, b: Dim, c: Dim) -> None:
    """Equal polynomials are the same object, so each law can be stated by `is` (`==` for integers)."""

    def same(x: Dim, y: Dim) -> bool:
        return x is y or (isinstance(x, int) and x == y)

    times = dims.multiply
    assert same(a + b, b + a)
    assert same((a + b) + c, a + (b + c))
    assert same(times(a, b), times(b, a))
    assert same(times(times(a, b), c), times(a, times(b, c)))
    assert same(times(a, b + c), times(a, b) + times(a, c))
    assert same(a + 0, a)
    assert same(times(a, 1), a)
    assert times(a, 0) == 0
    assert a - a == 0


@EXAMPLES
@given(LENGTHS, LENGTHS, VALUES, st.integers(1, 6))
def test_substitution_is_evaluation(a: Dim, b: Dim, values: tuple[int, ...], divisor: int) -> None:
    """Values first, then arithmetic, or the other way round."""
    x, y = at(a, values), at(b, values)
    assert at(a + b, values) == x + y
    assert at(a - b, values) == x - y
    assert at(dims.multiply(a, b), values) == x * y
    assert at(dims.maximum(a, b), values) == max(x, y)
    assert at(dims.minimum(a, b), values) == min(x, y)
    assert at(dims.floordiv(a, divisor), values) == x // divisor
    if y > 0:
        assert at(dims.floordiv(a, b), values) == x // y


@EXAMPLES
@given(LENGTHS, VALUES, VALUES)
def test_substitution_in_two_steps(a: Dim, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Symbols replaced by lengths, then by numbers."""
    assert SYMBOLS[0] is not None
    half = dims.substitute(a, {SYMBOLS[0]: M + 2})
    assert at(half, second) == at(a, (second[1] + 2, second[1], second[2]))


@pytest.mark.parametrize("length", range(7))
def test_length_of_every_slice(length: int) -> None:
    """Static and symbolic: the number of elements of `range(length)[start:stop:step]`."""
    bounds = [None, *range(-8, 9)]
    assert SYMBOLS[0] is not None
    for step in (None, 1, 2, 3, -1, -2, -3):
        for start in bounds:
            for stop in bounds:
                wanted = len(range(length)[start:stop:step])
                assert dims.slice_length(start, stop, step, length) == wanted
                try:
                    symbolic = dims.slice_length(start, stop, step, N)
                except ShapeError:
                    assert step is not None
                    assert step < 0
                    continue
                assert dims.substitute(symbolic, {SYMBOLS[0]: length}) == wanted, (start, stop, step)


def test_quotients_that_are_exact() -> None:
    """Factors cancel; what does not stays a quotient."""
    assert dims.floordiv(N * M * 6, N * 2) is M * 3
    assert dims.floordiv(N * 4 + 8, 4) is N + 2
    assert dims.floordiv(N, N) == 1
    assert repr(dims.floordiv(N + 1, 2)) == "(n + 1 // 2)" or "//" in repr(dims.floordiv(N + 1, 2))
    assert dims.floordiv(N + 1, 2) is dims.floordiv(N + 1, 2)


def test_extrema_that_can_be_proved() -> None:
    """Lengths are never negative."""
    assert dims.maximum(N + 3, N) is N + 3
    assert dims.minimum(N, 0) == 0
    assert dims.maximum(N, M) is dims.maximum(N, M)
    assert dims.maximum(N, M) is not N


def test_a_symbolic_length_is_no_integer() -> None:
    """Using it as one says what to do instead."""
    with pytest.raises(ShapeError, match="known only when the function runs"):
        np.zeros(N)  # type: ignore[call-overload]  # what is tested
