"""Random expressions of named dims: xarray is right about their values and dims, differences about their slopes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience.xtensor as px
from tests.xtensor.generate import expression
from tests.xtensor.worlds import arrays, by_xarray, compare, evaluated, inputs, written


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_random_expressions_are_what_xarray_makes_of_them(seed: int) -> None:
    text, orders = expression(seed)
    compare(text, arrays(seed, orders), static=bool(seed % 2))


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(20))
def test_many_random_expressions_are_what_xarray_makes_of_them(thousand: int) -> None:
    for seed in range(1000 * thousand, 1000 * (thousand + 1)):
        text, orders = expression(seed)
        compare(text, arrays(seed, orders), static=bool(seed % 2), backend="reference" if seed % 20 else "llvm")


def test_slopes_of_random_expressions_are_those_of_differences() -> None:
    """Sums of sines of the expression, along a random direction of `x`; kinks within reach are passed over."""
    checked = 0
    for seed in range(60):
        text, orders = expression(seed)
        values = arrays(seed, orders)
        symbols = inputs(values, static=False)
        rng = np.random.default_rng(seed)
        direction = rng.normal(size=values["x"].shape)

        def at(step: float, text: str = text, values: Any = values, along: Any = direction) -> float:
            return float(np.sin(by_xarray(text, {**values, "x": values["x"] + step * along})).sum())

        slopes = [(at(step) - at(-step)) / (2 * step) for step in (1e-6, 2e-6)]
        if not re.search(r"\bx\b", text) or not np.allclose(*slopes, rtol=1e-6, atol=1e-7):
            continue
        cost = px.math.sin(written(text, symbols)).sum()
        slope = px.grad(cost, symbols["x"], disconnected_inputs="ignore")
        found = np.sum(direction * evaluated(slope, symbols, values, "reference"))
        np.testing.assert_allclose(found, slopes[0], rtol=1e-5, atol=1e-6, err_msg=text)
        checked += 1
    assert checked >= 30
