"""Typed Python: the same function gives the same bits under CPython and as machine code."""

from __future__ import annotations

import copy
import ctypes
import gc
import math
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import NativeError
from consilience.native import mathematics
from consilience.native.loops_text import verify
from consilience.native.mathematics import exp, inf, log, nan, sqrt
from consilience.native.typed_python import (
    Array,
    FunctionPointer,
    NativeFunction,
    address,
    boolean,
    compile_native,
    f32,
    f64,
    i8,
    i32,
    i64,
    native,
    record,
    stack,
    u64,
)
from consilience.native.typed_python.records import with_memory
from consilience.native.typed_python.translate import translate

SCALE: Final = 2.5
COUNT: Final = 3
BIG: Final = 2**62

integers = st.integers(-(2**31), 2**31) | st.integers(-20, 20)
words = st.integers(0, 2**64 - 1)
floats = st.floats(width=64)


def bits(x: float) -> str:
    return "nan" if x != x else struct.pack("<d", x).hex()


# ---- arithmetic


@native
def integer_arithmetic(x: i64, y: i64) -> i64:
    total = x + 3 * y - -x
    if y != 0:
        total += x // y + x % y
    total += x // 8 + x % 8 + x // -7 + x % -7 + (x >> 3) + ((x & 1023) << 4) + (~x | 5) + (x ^ y)
    total -= abs(x) + min(x, y, 4) + max(x, y)
    return -total if x < y <= 10 else +total


@native
def float_arithmetic(x: f64, y: f64, n: i64) -> f64:
    total = x * y - x + SCALE * n
    total += 0.0 if y == 0 else x / y
    total -= n / COUNT
    bigger = x if x > y else y
    return -total + abs(x) + min(x, y) - max(y, x, 1) + bigger


@native
def unsigned_arithmetic(x: u64, y: u64) -> u64:
    mixed = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCD
    mixed = mixed - y + ~x
    mixed ^= (y << 7) | (x & 255)
    if y > 0:
        mixed += x // y + x % y
    if x < y:
        mixed = -mixed
    return mixed + 18446744073709551615


@native
def logic(x: i64, y: i64, flag: boolean) -> boolean:
    first = (x > 0 and y > 0) or not flag
    second = (x == y) ^ flag
    return first != second if x < y else first & second | (0 <= x < 10 != y)


@native
def conversions(x: f64, n: i64, k: u64) -> f64:
    narrow = f64(i32(n)) + f64(i8(n))
    rounded = f64(f32(x)) if abs(x) < 1e30 else 0.0
    flag = boolean(n)
    return f64(i64(x)) + f64(k) + narrow + rounded + f64(i64(k)) + f64(u64(n)) + (1.0 if flag else 0.5) + int(x)


@settings(max_examples=200, deadline=None)
@given(integers, integers)
def test_integers_behave_as_in_python(x: int, y: int) -> None:
    assert integer_arithmetic.compiled(x, y) == integer_arithmetic(x, y)


@settings(max_examples=200, deadline=None)
@given(floats, floats, integers)
def test_floats_behave_as_in_python(x: float, y: float, n: int) -> None:
    assert bits(float_arithmetic.compiled(x, y, n)) == bits(float_arithmetic(x, y, n))


@settings(max_examples=200, deadline=None)
@given(words, words)
def test_u64_counts_modulo_2_to_the_64(x: int, y: int) -> None:
    expected = unsigned_arithmetic(x, y)
    assert 0 <= expected < 2**64
    assert unsigned_arithmetic.compiled(x, y) == expected


@given(st.integers(-3, 12), st.integers(-3, 12), st.booleans())
def test_conditions_behave_as_in_python(x: int, y: int, flag: bool) -> None:
    assert logic.compiled(x, y, flag) is logic(x, y, flag)


@settings(max_examples=200, deadline=None)
@given(floats, st.integers(-(2**63), 2**63 - 1), words)
def test_conversions_saturate_and_wrap_in_both_worlds(x: float, n: int, k: int) -> None:
    if not math.isfinite(x):
        with pytest.raises((ValueError, OverflowError)):
            conversions(x, n, k)  # Python's own int() refuses; i64() does not
    elif abs(x) < 2.0**63:
        assert bits(conversions.compiled(x, n, k)) == bits(conversions(x, n, k))


@given(floats)
def test_i64_of_a_float_saturates(x: float) -> None:
    expected = 0
    if x == x:
        expected = int(x) if abs(x) < 2.0**63 else -(2**63) if x < 0 else 2**63 - 1
    assert i64(x) == expected
    assert whole.compiled(x) == expected


@native
def whole(x: f64) -> i64:
    return i64(x)


# ---- control


@native
def collatz(n: i64) -> i64:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@native
def ranges(start: i64, stop: i64) -> i64:
    total = 0
    i = 100
    for i in range(start, stop, 3):
        if i == 5:
            continue
        if i > 20:
            break
        total = 10 * total % 1000003 + i
        i += 1
    for j in range(stop, start, -2):
        total = 7 * total % 1000003 + j
    for _ in range(COUNT):
        total += 1
    return 1000 * total + i


@native
def searching(n: i64) -> tuple[i64, boolean]:
    found = 0
    while True:
        found += 1
        if found * found >= n:
            exact = found * found == n
            break
        if found > 1000:
            return -1, False
    return found, exact


@native
def guarded(x: Array[f64], n: i64) -> i64:
    """The right side of `and` must not run past the end."""
    i = 0
    while i < n and x[i] > 0.0:
        i += 1
    return i


@given(st.integers(1, 10**6))
def test_while_loops_behave_as_in_python(n: int) -> None:
    assert collatz.compiled(n) == collatz(n)
    assert searching.compiled(n) == searching(n)


@given(st.integers(-30, 30), st.integers(-30, 30))
def test_ranges_behave_as_in_python(start: int, stop: int) -> None:
    assert ranges.compiled(start, stop) == ranges(start, stop)


def test_and_does_not_run_its_right_side_needlessly() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert guarded(x, 3) == guarded.compiled(x, 3) == 3
    assert guarded(x, 0) == guarded.compiled(x, 0) == 0


# ---- memory and calls


@record
class Inner:
    bits: u64
    open: boolean
    weight: f64 = 1.5


@record
class State:
    position: Array[f64]
    other: Array[f64]
    counts: Array[i64]
    logp: f64
    count: i64
    inner: Inner
    step: FunctionPointer[[f64, i64], f64]


@native
def twice(x: f64, n: i64) -> f64:
    return 2.0 * x + n


@native
def divmod_pair(n: i64, k: i64) -> tuple[i64, i64]:
    return n // k, n % k


@native
def work(state: State, n: i64) -> f64:
    quotient, rest = divmod_pair(n, 2)
    state.position, state.other = state.other, state.position
    tail = state.position[1:]
    scratch = stack(f64, 4)
    for k in range(4):
        scratch[k] = k * SCALE
    for i in range(n - 1):
        tail[i] += scratch[i % 4]
        state.counts[i] = i + quotient
    state.count -= rest
    state.logp = state.step(state.logp, state.count) + twice(x=1.0, n=2)
    state.inner.bits = state.inner.bits * 3 - 1
    state.inner.open = not state.inner.open and n > 2
    state.inner.weight *= exp(state.logp / 1000.0)
    return state.position[n - 1]


def new_state() -> State:
    return State(
        position=np.arange(6.0),
        other=np.ones(6),
        counts=np.zeros(6, np.int64),
        logp=0.5,
        count=7,
        inner=Inner(0, True),
        step=twice,
    )


def shown(state: Any) -> tuple[Any, ...]:
    arrays = [np.asarray(a).tolist() for a in (state.position, state.other, state.counts)]
    inner = state.inner
    return (*arrays, state.logp, state.count, int(inner.bits), inner.open, inner.weight)


def test_one_record_serves_both_worlds() -> None:
    plain, fast, mixed = new_state(), new_state(), new_state()
    fast.step = mixed.step = twice.compiled  # a machine address for machine code
    for _ in range(3):
        assert work(plain, 6) == work.compiled(fast, 6)
    assert shown(fast) == shown(plain)
    assert fast.inner.bits == 2**64 - 13
    for run in (work, work.compiled, work):
        run(mixed, 6)
    assert shown(mixed) == shown(plain)


def test_arrays_exchanged_by_machine_code_stay_alive() -> None:
    state = new_state()
    state.step = twice.compiled
    work.compiled(state, 3)
    gc.collect()
    state.position = np.asarray(state.position)
    gc.collect()
    assert np.asarray(state.other).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
def test_copies_of_records_have_memory_of_their_own(copied: Callable[[State], State]) -> None:
    state = new_state()
    other = copied(state)
    before = shown(state)
    other.step = twice.compiled
    work.compiled(other, 6)
    assert shown(state) == before
    work(state, 6)
    assert shown(state) == shown(other)


def test_records_refuse_what_does_not_fit() -> None:
    state = new_state()
    wrongs: list[Any] = [np.zeros(3, np.int64), np.zeros((4, 4))[:, 1], [1.0]]
    for wrong in wrongs:
        with pytest.raises(NativeError, match="C-contiguous array of float64"):
            state.position = wrong
    with pytest.raises(NativeError, match="needs a Inner"):
        state.inner = state  # type: ignore[assignment]  # the mistake under test
    with pytest.raises(TypeError, match="missing or unknown"):
        Inner(1)  # type: ignore[call-arg]  # the mistake under test


@record
class Nothing:
    """No fields."""


@native
def passed_on(nothing: Nothing, x: f64) -> f64:
    return x + 1.0


def test_a_record_may_have_no_fields() -> None:
    """Each is an object of its own all the same."""
    one, other = Nothing(), Nothing()
    assert one.address != other.address  # type: ignore[attr-defined]  # records have it when they are made
    assert passed_on(one, 1.0) == passed_on.compiled(other, 1.0) == 2.0
    assert isinstance(copy.deepcopy(one), Nothing)


@record
class Wrong:
    x: f32


def test_fields_take_8_bytes() -> None:
    with pytest.raises(NativeError, match="takes 8 bytes"):
        Wrong(1.0)


def test_the_address_of_a_record_is_where_its_fields_are() -> None:
    inner = Inner(5, True, 2.5)
    slots = (ctypes.c_int64 * 3).from_address(address(inner))
    assert list(slots)[:2] == [5, 1]
    slots[0] = -1
    assert inner.bits == 2**64 - 1


@record
class Link:
    length: i64
    values: Array[f64]
    before: Link


@record
class Sizes:
    """Arrays of several widths, and numbers between them."""

    first: Array[i32]
    scale: f64
    second: Array[f64]
    count: i64
    ready: boolean
    third: Array[u64]


@native
def fill(sizes: Sizes) -> f64:
    for i in range(sizes.count):
        sizes.first[i] = i
        sizes.second[i] = sizes.scale * f64(i)
        sizes.third[i] = u64(7 * i)
    total = 0.0
    for i in range(sizes.count):
        total += f64(sizes.first[i]) + sizes.second[i] + f64(i64(u64(sizes.third[i])))
    return total if sizes.ready else -total


@pytest.mark.parametrize("count", [0, 1, 7, 16, 1000])
def test_arrays_in_the_memory_of_their_record_are_arrays_in_both_worlds(count: int) -> None:
    """They do not overlap, and are there as long as the record."""
    sizes = with_memory(Sizes, first=count, scale=-0.5, second=count, count=count, ready=True, third=count)
    copy = with_memory(Sizes, first=count, scale=-0.5, second=count, count=count, ready=False, third=count)
    gc.collect()
    assert fill.compiled(sizes) == -fill(copy) == 7.5 * (count * (count - 1) // 2)
    for one in (sizes, copy):
        np.testing.assert_array_equal(np.asarray(one.first)[:count], np.arange(count))
        np.testing.assert_array_equal(np.asarray(one.second)[:count], -0.5 * np.arange(count))
        np.testing.assert_array_equal(np.asarray(one.third)[:count], 7 * np.arange(count))


def test_memory_of_a_record_holds_arrays_and_numbers() -> None:
    """All of its fields are given; a record in it lies elsewhere."""
    with pytest.raises(TypeError, match="missing or unknown: \\['third'\\]"):
        with_memory(Sizes, first=1, scale=0.0, second=1, count=1, ready=True)
    with pytest.raises(NativeError, match="field before of record Link is a Link, which lies in memory of its own"):
        with_memory(Link, length=1, values=1, before=0)


@native
def widths(a: Array[i8], b: Array[i32], c: Array[f32], d: Array[boolean], e: Array[u64], n: i64) -> f64:
    total = 0.0
    for i in range(n):
        total += a[i] + b[i] * f64(c[i])
        a[i] = a[i] + 100
        b[i] += 2
        c[i] = 1.0 / (i + 3)
        d[i] = not d[i]
        e[i] = e[i] * 2 + 1
    return total


def test_array_elements_of_every_width() -> None:
    plain: list[Any] = [
        np.array([5, -7, 3], np.int8),
        np.array([5, -7, 9], np.int32),
        np.array([0.5, 2, 3], np.float32),
        np.array([True, False, True]),
        np.array([1, 2**62, 3], np.uint64),
    ]
    fast = [array.copy() for array in plain]
    a, b, c, d, e = plain
    with np.errstate(over="ignore"):
        assert widths.compiled(*fast, 3) == widths(a, b, c, d, e, 3)
    for x, y in zip(plain, fast, strict=True):
        np.testing.assert_array_equal(x, y)


@native
def apply(f: FunctionPointer[[f64, i64], f64], x: f64) -> f64:
    return f(f(x, 1), 2)


@native
def apply_twice(x: f64) -> f64:
    return apply(twice, x)


def test_functions_are_values() -> None:
    foreign = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(lambda x, n: x - n)
    assert apply_twice(1.0) == apply_twice.compiled(1.0) == 8.0
    assert apply.compiled(twice, 1.0) == apply.compiled(twice.compiled.address, 1.0) == 8.0
    assert apply.compiled(foreign, 1.0) == apply(lambda x, n: x - n, 1.0) == -2.0
    with pytest.raises(NativeError, match="machine code can call"):
        apply.compiled(lambda x, n: x, 1.0)


# ---- mathematics

ONE: Final = [
    "acos",
    "asin",
    "atan",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


@native
def all_of_one(x: f64, out: Array[f64]) -> None:
    out[0] = mathematics.acos(x)
    out[1] = mathematics.asin(x)
    out[2] = mathematics.atan(x)
    out[3] = mathematics.cbrt(x)
    out[4] = mathematics.ceil(x)
    out[5] = mathematics.cos(x)
    out[6] = mathematics.cosh(x)
    out[7] = mathematics.erf(x)
    out[8] = mathematics.erfc(x)
    out[9] = mathematics.exp(x)
    out[10] = mathematics.expm1(x)
    out[11] = mathematics.floor(x)
    out[12] = mathematics.log(x)
    out[13] = mathematics.log10(x)
    out[14] = mathematics.log1p(x)
    out[15] = mathematics.log2(x)
    out[16] = mathematics.sin(x)
    out[17] = mathematics.sinh(x)
    out[18] = mathematics.sqrt(x)
    out[19] = mathematics.tan(x)
    out[20] = mathematics.tanh(x)
    out[21] = mathematics.trunc(x)


@native
def all_of_two(x: f64, y: f64, n: i64, out: Array[f64]) -> i64:
    out[0] = mathematics.atan2(x, y)
    out[1] = mathematics.hypot(x, y)
    out[2] = mathematics.pow(x, y)
    out[3] = mathematics.copysign(x, y)
    out[4] = mathematics.minimum(x, y)
    out[5] = mathematics.maximum(x, y)
    out[6] = mathematics.divide(x, y)
    out[7] = mathematics.fma(x, y, 0.1)
    out[8] = mathematics.bits_float(n)
    flags = 1 if mathematics.isnan(x) else 0
    flags += 2 if mathematics.isfinite(x) else 0
    return 100 * flags + mathematics.trailing_zeros(n) if n != 0 else mathematics.float_bits(1.5)


SPECIAL: Final = [0.0, -0.0, 1.0, -1.0, 0.5, inf, -inf, nan, 5e-324, 1e308, -1e308, 709.9, -746.0, 1e-9]


@settings(max_examples=100, deadline=None)
@given(floats | st.sampled_from(SPECIAL))
def test_functions_of_one_number_give_the_same_bits(x: float) -> None:
    expected, got = np.zeros(22), np.zeros(22)
    all_of_one(x, expected)
    all_of_one.compiled(x, got)
    assert dict(zip(ONE, map(bits, got), strict=True)) == dict(zip(ONE, map(bits, expected), strict=True))


@settings(max_examples=100, deadline=None)
@given(
    floats | st.sampled_from(SPECIAL),
    floats | st.sampled_from(SPECIAL),
    st.integers(-(2**63), 2**63 - 1) | integers,
)
def test_functions_of_two_numbers_give_the_same_bits(x: float, y: float, n: int) -> None:
    expected, got = np.zeros(9), np.zeros(9)
    assert all_of_two.compiled(x, y, n, got) == all_of_two(x, y, n, expected)
    if x == y == 0.0:
        expected[4:6] = got[4:6] = 0.0  # which zero an extremum gives is open
    assert list(map(bits, got)) == list(map(bits, expected))


@native
def log_gamma(x: f64) -> f64:
    return mathematics.lgamma(x)


@given(st.floats(1e-300, 1e300) | st.sampled_from([1.0, 2.0, 0.0, inf, -0.5, -1.0]))
def test_lgamma_agrees_to_the_last_bits(x: float) -> None:
    assert math.isclose(log_gamma.compiled(x), log_gamma(x), rel_tol=1e-14, abs_tol=1e-15)


def test_special_values_come_back_instead_of_exceptions() -> None:
    assert log(0.0) == -inf
    assert math.isnan(log(-1.0))
    assert exp(1000.0) == inf
    assert math.isnan(sqrt(-1.0))
    assert mathematics.divide(1.0, -0.0) == -inf


# ---- errors


@native
def changes_type(n: i64) -> f64:
    x = 0
    for _ in range(n):
        x = x + 0.5  # type: ignore[assignment]  # the mistake under test
    return x


@native
def maybe_unset(n: i64) -> i64:
    if n > 0:
        x = 1
    return x


@native
def unset_loop(n: i64) -> i64:
    for i in range(n):
        x = i
    return x


@native
def truthy(n: i64) -> i64:
    while n:
        n -= 1
    return n


@native
def catches(n: i64) -> i64:
    try:
        return n
    except ValueError:
        return 0


@native
def comprehends(n: i64) -> i64:
    return sum([i for i in range(n)])  # noqa: C416


@native
def powers(x: f64) -> f64:
    return x**2


@native
def floors(x: f64) -> f64:
    return x // 2.0


@native
def mixes(x: u64, n: i64) -> u64:
    return x + n


@native
def measures(x: Array[f64]) -> i64:
    return len(x)  # type: ignore[arg-type]  # the mistake under test


@native  # noqa: RET503 - the mistake under test
def falls_off(n: i64) -> i64:  # type: ignore[return]  # the mistake under test
    if n > 0:
        return 1


@native
def counts_backwards(x: Array[f64]) -> f64:
    return x[-1]


@native
def unknown_field(state: State) -> f64:
    return state.momentum  # type: ignore[no-any-return, attr-defined]  # the mistake under test


@native
def calls_numpy(x: f64) -> f64:
    return float(np.exp(x))


@native
def wrong_argument(x: Array[f64]) -> f64:
    return twice(x, 1)  # type: ignore[arg-type]  # the mistake under test


@native
def wrong_count(x: f64) -> f64:
    return twice(x)  # type: ignore[call-arg]  # the mistake under test


@native
def odd_range(n: i64) -> i64:
    for _ in range(0, n, n):
        pass
    return n


@native
def unknown_name(n: i64) -> i64:
    return n + nowhere  # type: ignore[name-defined, no-any-return]  # noqa: F821 - the mistake under test


@native
def returns_wrong(n: i64) -> i64:
    return 0.5 * n  # type: ignore[return-value]  # the mistake under test


@native
def too_many(n: i64) -> tuple[i64, i64]:
    return n, n, n  # type: ignore[return-value]  # the mistake under test


MISTAKES: list[tuple[NativeFunction[..., Any], str, tuple[str, ...]]] = [
    (changes_type, "x = x + 0.5", ("`x` is f64 here but i64 at line", "start as f64")),
    (maybe_unset, "return x", ("`x` may be unset",)),
    (unset_loop, "return x", ("`x` may be unset",)),
    (truthy, "while n:", ("condition is a boolean", "`n` is i64", "comparison")),
    (catches, "try:", ("Try statement", "status")),
    (comprehends, "sum(", ("cannot be called", "@native")),
    (powers, "x**2", ("mathematics.pow",)),
    (floors, "x // 2.0", ("floor(x / y)",)),
    (mixes, "x + n", ("mixes u64 and i64", "u64(...)")),
    (measures, "len(x)", ("length as an i64",)),
    (falls_off, "def falls_off", ("without return",)),
    (counts_backwards, "x[-1]", ("negative", "length")),
    (unknown_field, "state.momentum", ("no field `momentum`", "position, other")),
    (calls_numpy, "np.exp", ("np.exp", "mathematics")),
    (wrong_argument, "twice(x, 1)", ("argument `x` must be f64, got Array[f64]",)),
    (wrong_count, "twice(x)", ("takes (x, n)",)),
    (odd_range, "range(0, n, n)", ("step", "literal")),
    (unknown_name, "nowhere", ("`nowhere`", "global")),
    (returns_wrong, "0.5 * n", ("result must be i64, got f64", "i64(...)")),
    (too_many, "return n, n, n", ("tuple[i64, i64]",)),
]


@pytest.mark.parametrize(("function", "source", "needles"), MISTAKES, ids=[m[0].name for m in MISTAKES])
def test_errors_show_the_users_line_and_say_what_to_write(
    function: NativeFunction[..., Any], source: str, needles: tuple[str, ...]
) -> None:
    with pytest.raises(NativeError) as caught:
        translate({"f": function})
    message = str(caught.value)
    head, _, shown_line = message.partition("\n")
    assert source in shown_line
    path, line, _ = head.split(":", 2)
    assert Path(path).name == Path(__file__).name
    assert source in Path(__file__).read_text().splitlines()[int(line) - 1]
    for needle in needles:
        assert needle in head


def test_missing_annotations_are_named() -> None:
    @native
    def bare(x, y: f64) -> f64:  # type: ignore[no-untyped-def]  # the mistake under test
        return y

    with pytest.raises(NativeError, match="annotate x"):
        translate({"f": bare})

    @native
    def strange(x: str) -> f64:
        return 0.0

    with pytest.raises(NativeError, match="typed Python knows"):
        translate({"f": strange})


# ---- libraries


def test_libraries_export_functions_under_their_names() -> None:
    library = compile_native([twice, divmod_pair], exports={"collatz_steps": collatz})
    assert set(library.exports) == {"twice", "divmod_pair", "collatz_steps"}
    steps = library.function("collatz_steps", ctypes.c_int64, ctypes.c_int64)
    assert steps(27) == 111
    pair = (ctypes.c_int64 * 2)()
    library.function("divmod_pair", None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(-7, 3, pair)
    assert list(pair) == [-3, 2]


def test_translations_keep_the_laws_of_loop_programs() -> None:
    functions: list[Callable[..., Any]] = [
        integer_arithmetic,
        float_arithmetic,
        logic,
        ranges,
        searching,
        work,
    ]
    verify(translate({f.name: f for f in functions if isinstance(f, NativeFunction)}))


def test_a_native_function_is_a_plain_function_until_it_is_compiled(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from consilience.native.typed_python import f64, native\n"
        "@native\n"
        "def half(x: f64) -> f64:\n"
        "    return 0.5 * x\n"
        "assert half(3.0) == 1.5\n"
        "assert 'llvmlite' not in sys.modules\n"
        "assert half.compiled(3.0) == 1.5\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, env=os.environ, timeout=60)
