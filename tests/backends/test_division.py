"""Quotients are IEEE's: elementwise division has the bits of NumPy's, whatever is divided by what."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import consilience as pm
import consilience.tensor as pt
from consilience.backends.registry import installed
from tests.backends.agreement import Array

LENGTH = 9
numbers = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, -3e-309, 2.2250738585072014e-308, 1e-300, 1e300, 1.7e308, np.inf, 3.0]),
)
vectors = arrays(np.float64, LENGTH, elements=numbers)
x, y = pt.vector("x"), pt.vector("y")
a, b = pt.vector("a", shape=(LENGTH,)), pt.vector("b", shape=(LENGTH,))
m, s = pt.matrix("m"), pt.dscalar("s")
COMPILED: dict[str, Callable[..., Array]] = {
    "vectors": pm.function([x, y], x / y),
    "vectors of static length": pm.function([a, b], a / b),
    "vector by scalar": pm.function([x, s], x / s),
    "scalar by vector": pm.function([s, x], s / x),
    "scalars": pm.function([s], [s / 3.0, 0.0 / s, 7.0 / s]),
    "matrix by row": pm.function([m, x], m / x),
    "matrix by column": pm.function([m, x], m / x[:, None]),
    "number by vector": pm.function([x], [3.0 / x, 0.0 / x, 1 / x, -x / 3.0]),
    "vector by number": pm.function([x], [x / 3.0, x / 4.0, x / 1e-310, x / 1e300]),
}


def same_bits(found: Array, expected: Array) -> None:
    """Equal with signs of zeros; any NaN is NaN."""
    np.testing.assert_array_equal(found, expected)
    real = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[real], np.signbit(expected)[real])


@given(p=vectors, q=vectors)
@example(p=np.zeros(LENGTH), q=np.full(LENGTH, 1e-310))
@example(p=np.full(LENGTH, 1e-300), q=np.full(LENGTH, 1e-310))
@settings(max_examples=150, deadline=None)
def test_quotients_of_arrays_have_numpys_bits(p: Array, q: Array) -> None:
    """Vectors, scalars and matrices; lengths known and not."""
    with np.errstate(all="ignore"):
        same_bits(COMPILED["vectors"](p, q), p / q)
        same_bits(COMPILED["vectors of static length"](p, q), p / q)
        same_bits(COMPILED["vector by scalar"](p, q[0]), p / q[0])
        same_bits(COMPILED["scalar by vector"](q[0], p), q[0] / p)
        square = np.tile(p, (LENGTH, 1))
        same_bits(COMPILED["matrix by row"](square, q), square / q)
        same_bits(COMPILED["matrix by column"](square, q), square / q[:, None])


@given(p=vectors)
@settings(max_examples=100, deadline=None)
def test_quotients_by_and_of_numbers_have_numpys_bits(p: Array) -> None:
    """Numbers in the graph are no exception."""
    with np.errstate(all="ignore"):
        for found, expected in zip(COMPILED["number by vector"](p), (3.0 / p, 0.0 / p, 1 / p, -p / 3.0), strict=True):
            same_bits(found, expected)
        for found, number in zip(COMPILED["vector by number"](p), (3.0, 4.0, 1e-310, 1e300), strict=True):
            same_bits(found, p / number)
        for found, expected in zip(COMPILED["scalars"](p[0]), (p[0] / 3.0, 0.0 / p[0], 7.0 / p[0]), strict=True):
            same_bits(found, expected)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_comparisons_and_choices_see_the_exact_quotient(backend: str) -> None:
    """Where the last digit decides, division is not rewritten."""
    p, q = np.arange(1.0, 200.0), 3.0
    f = pm.function([x, s], [pt.eq(x / s, x / 3.0), pt.floor(x / s), pt.maximum(x / s, 7.0)], backend=backend)
    equal, whole, greater = f(p, q)
    assert equal.all()
    same_bits(whole, np.floor(p / q))
    same_bits(greater, np.maximum(p / q, 7.0))


def test_inside_sums_a_divisor_is_inverted_once() -> None:
    """Within two units in the last place of each term, and without overflow for normal divisors."""
    p = np.random.default_rng(0).normal(size=50)
    f = pm.function([x, s], x / s + 1.0)
    for divisor in (3.0, 1e-300, 1e300, -7e-308):
        np.testing.assert_allclose(f(p, divisor), p / divisor + 1.0, rtol=1e-15)


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize("shape", [(), (9,)])
def test_a_fraction_that_is_cut_to_0_has_no_sign(backend: str, shape: tuple[int, ...]) -> None:
    """Integers have no -0: 1 divided by one cut from -0.1 is infinite above."""
    t = pt.tensor("t", shape=shape)
    f = pm.function([t], [1.0 / pt.cast(t, "int64"), pt.cast(pt.cast(t, "int32"), "float64")], backend=backend)
    quotient, whole = f(np.full(shape, -0.1))
    np.testing.assert_array_equal(quotient, np.inf)
    assert not np.signbit(whole).any()
