"""Loops with `simd`: the same numbers as turns one by one, on every machine, or an error with the line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import NativeError
from consilience.native.jit import compile_object
from consilience.native.mathematics import exp, inf, isfinite, isnan, sqrt
from consilience.native.target import CROSS, Target
from consilience.native.typed_python import Array, NativeFunction, f64, i64, native, simd, stack
from consilience.native.typed_python.translate import translate

LENGTHS = st.integers(-3, 70)


@native
def dot(x: Array[f64], y: Array[f64], n: i64) -> f64:
    total = 0.0
    for i in simd(n):
        total += x[i] * y[i]
    return total


@native
def mixed(x: Array[f64], y: Array[f64], out: Array[f64], shift: i64, n: i64) -> tuple[f64, f64]:
    """Names of one turn, choices, shifted elements, numbers from outside, two sums, and names used again."""
    scale = y[0]
    above = 1.0
    below = 0.0
    for i in simd(n):
        here = x[i] * 2.0
        here += scale
        nearer = here if here > 0.5 and not isnan(here) else -x[i]
        out[i] = sqrt(abs(nearer)) + min(y[i + 1], y[shift + i])
        out[i] *= 3
        above += nearer
        below -= out[i]
    for i in simd(n):
        here = out[i]
        out[i] = -here
    return above, below


@native
def extremes(x: Array[f64], n: i64) -> tuple[f64, f64, f64]:
    """Of elements and of what is made of them; they begin with something else."""
    least = 1.0
    most = -1.0
    widest = 0.25
    for i in simd(n):
        least = min(least, x[i])
        here = abs(x[i])
        widest = max(widest, here)
        most = max(most, -x[i])
    return least, most, widest


@given(LENGTHS, st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 1e300]), st.integers(0, 70))
@settings(max_examples=200, deadline=None)
def test_extremes_have_the_bits_of_turns_one_by_one(n: int, seed: int, scale: float, special: int) -> None:
    """Infinite numbers among them too; what is not a number is neither less nor greater."""
    x = scale * np.random.default_rng(seed).normal(size=80)
    x[special] = [math.inf, -math.inf, math.nan, 0.0][seed % 4]
    assert extremes.compiled(x, n) == extremes(x, n)


@native
def just_eight(x: Array[f64], rows: i64) -> tuple[f64, f64]:
    """Rows of eight numbers each: column by column, and all together."""
    columns = stack(f64, 8)
    for s in simd(8):
        columns[s] = 0.0
    least = inf
    for k in range(rows):
        row = x[8 * k :]
        for s in simd(8):
            columns[s] += row[s]
            least = min(least, row[s])
    product = 1.0
    for s in range(8):
        product *= columns[s]
    return product, least


@given(st.integers(0, 10), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_eight_turns_need_no_loop(rows: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=80)
    assert just_eight.compiled(x, rows) == just_eight(x, rows)


@given(LENGTHS, st.integers(0, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_turns_side_by_side_do_what_turns_one_by_one_do(n: int, shift: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=80), rng.normal(size=80)
    plain, native_ = np.full(80, 7.0), np.full(80, 7.0)
    sums = mixed(x, y, plain, shift, n)
    assert mixed.compiled(x, y, native_, shift, n) == pytest.approx(sums, rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(native_, plain)  # elements have the same bits; only sums may differ in the last


@given(st.integers(0, 100), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_sums_are_added_up_in_eight_parts_on_every_machine(n: int, seed: int) -> None:
    x, y = np.random.default_rng(seed).normal(size=(2, 100))
    parts = np.zeros(8)
    for begin in range(0, n - n % 8, 8):
        parts += x[begin : begin + 8] * y[begin : begin + 8]
    while len(parts) > 1:
        parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
    total = 0.0 + parts[0]
    for i in range(n - n % 8, n):
        total += x[i] * y[i]
    assert dot.compiled(x, y, n) == total


def test_infinite_terms_stay_infinite() -> None:
    x = np.ones(1003)
    x[500] = inf
    assert math.isinf(dot.compiled(x, np.ones(1003), 1003))


@pytest.mark.parametrize("machine", CROSS.values(), ids=CROSS)
def test_loops_side_by_side_compile_for_every_width(machine: Target) -> None:
    module = translate({"dot": dot, "mixed": mixed})
    assert len(compile_object(module, machine)) > 500


# ---- what is refused


@native
def integer_sum(x: Array[i64], n: i64) -> f64:
    total = 0.0
    for i in simd(n):
        total += x[i]
    return total


@native
def carried(x: Array[f64], n: i64) -> None:
    last = 0.0
    for i in simd(n):
        last = x[i] - last
        x[i] = last


@native
def sum_read(x: Array[f64], n: i64) -> None:
    total = 0.0
    for i in simd(n):
        total += x[i]
        x[i] = total


@native
def one_element(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        x[0] = x[i]


@native
def strided(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        x[2 * i] = 1.0


@native
def index_as_number(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        x[i] = f64(i)


@native
def branching(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        if x[i] > 0.0:
            x[i] = 0.0


@native
def c_function(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        x[i] = exp(x[i])


@native
def native_call(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        x[i] = dot(x, x, n)


@native
def begins_elsewhere(x: Array[f64], n: i64) -> None:
    for i in simd(1, n):  # type: ignore[call-arg]  # refused
        x[i] = 0.0


@native
def whole_numbers(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        k = n + 1
        x[i + k] = 0.0


@native
def counted(x: Array[f64], n: i64) -> i64:
    count = 0
    for i in simd(n):
        count += 1
        x[i] = 0.0
    return count


@native
def nested(x: Array[f64], n: i64) -> None:
    for i in simd(n):
        for j in simd(n):
            x[j] = x[i]


@native
def least_read(x: Array[f64], n: i64) -> None:
    least = 0.0
    for i in simd(n):
        least = min(least, x[i])
        x[i] = least


@native
def both_ends(x: Array[f64], n: i64) -> None:
    end = 0.0
    for i in simd(n):
        end = min(end, x[i])
        end = max(end, -x[i])


@native
def whole_least(x: Array[f64], n: i64) -> i64:
    least = 0
    for i in simd(n):
        least = min(least, x[i])  # type: ignore[assignment]  # refused
    return least


REFUSED: list[tuple[NativeFunction[..., Any], str]] = [
    (integer_sum, r"elements of Array\[f64\]"),
    (carried, "`last` has a value before the loop"),
    (sum_read, "`total` is a sum over all turns"),
    (one_element, "every turn writes `x\\[0\\]`"),
    (strided, "reads and writes a\\[i\\]"),
    (index_as_number, "no form for turns"),
    (branching, "assigns to names and elements, nothing else"),
    (c_function, "`exp` has no form for turns side by side"),
    (native_call, "`dot` has no form for turns side by side"),
    (begins_elsewhere, "simd takes one integer"),
    (counted, "a sum in a simd loop is f64, `count` is i64"),
    (nested, "assigns to names and elements, nothing else"),
    (least_read, "`least` is the extreme over all turns"),
    (both_ends, "`end` has a value before the loop"),
    (whole_least, "a min in a simd loop is f64, `least` is i64"),
    (whole_numbers, "a name in a simd loop holds f64"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[f.name for f, _ in REFUSED])
def test_what_turns_cannot_do_together_is_refused_with_its_line(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(NativeError, match=message) as caught:
        translate({"f": function})  # type: ignore[dict-item]  # native functions, seen as callables
    assert "test_side_by_side.py:" in str(caught.value)


@native
def finite_count(x: Array[f64], n: i64) -> f64:
    total = 0.0
    for i in simd(n):
        total += 1.0 if isfinite(x[i]) else 0.0
    return total


def test_choices_by_tests_of_numbers_count_right() -> None:
    x = np.array([1.0, inf, -inf, math.nan] * 5)
    assert finite_count.compiled(x, 20) == finite_count(x, 20) == 5.0
