"""Loop programs: what the builder refuses, and how programs read."""

from __future__ import annotations

import copy
import math
import pickle
import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.errors import VerificationError
from consilience.native.loops import Builder, Module, Type, f32, f64, i1, i8, i32, i64, ptr
from consilience.native.loops_text import text, verify

WIDE = f64.vector(4)


def builder() -> Builder:
    parameters = [("x", f64), ("n", i64), ("p", ptr), ("v", WIDE), ("m", i1.vector(4)), ("s", f32), ("c", i1)]
    return Module().function("f", parameters, f64)


def test_equal_types_are_one_object() -> None:
    assert Type("f64", 4) is f64.vector(4)
    assert f64.vector(4).element is f64
    assert f64.vector(1) is f64
    assert pickle.loads(pickle.dumps(WIDE)) is WIDE
    assert copy.deepcopy(WIDE) is WIDE
    assert (f64.size, f32.size, i8.size, i1.size, ptr.size, WIDE.size) == (8, 4, 1, 1, 8, 8)
    for kind, lanes in (("f16", 1), ("f64", 3), ("f64", 0), ("void", 2)):
        with pytest.raises(VerificationError):
            Type(kind, lanes)


MISTAKES: list[tuple[str, Callable[[Builder], object], tuple[str, ...]]] = [
    ("kinds mixed", lambda b: b.add(b.parameters[0], b.parameters[1]), ("f64", "i64", "add")),
    ("lanes mixed", lambda b: b.mul(b.parameters[0], b.parameters[3]), ("f64", "f64x4", "mul")),
    ("widths mixed", lambda b: b.sub(b.parameters[0], b.parameters[5]), ("f64", "f32", "sub")),
    ("arithmetic on masks", lambda b: b.add(b.parameters[4], b.parameters[4]), ("i1x4", "and_")),
    ("bits of floats", lambda b: b.and_(b.parameters[0], b.parameters[0]), ("f64", "and")),
    ("sqrt of an integer", lambda b: b.sqrt(b.parameters[1]), ("i64", "sqrt")),
    ("fma of two types", lambda b: b.fma(b.parameters[0], b.parameters[0], b.parameters[5]), ("f32", "fma")),
    ("unsigned floats", lambda b: b.cmp("ult", b.parameters[0], b.parameters[0]), ("ult", "f64")),
    ("unknown predicate", lambda b: b.cmp("less", b.parameters[0], b.parameters[0]), ("less",)),
    ("mask of other lanes", lambda b: b.select(b.parameters[4], b.parameters[0], b.parameters[0]), ("i1x4",)),
    ("cast of lanes", lambda b: b.cast(b.parameters[3], f64), ("f64x4", "f64")),
    ("bitcast of widths", lambda b: b.bitcast(b.parameters[0], i32), ("f64", "i32")),
    ("extract from a scalar", lambda b: b.extract(b.parameters[0], 0), ("f64",)),
    ("lane out of range", lambda b: b.extract(b.parameters[3], 4), ("lane 4",)),
    ("shuffle out of range", lambda b: b.shuffle(b.parameters[3], b.parameters[3], (0, 8)), ("below 8",)),
    ("reduce by xor", lambda b: b.reduce("xor", b.parameters[3]), ("xor", "f64x4")),
    ("load from a number", lambda b: b.load(f64, b.parameters[1]), ("i64", "f64")),
    ("offset by a float", lambda b: b.offset(b.parameters[2], b.parameters[0], f64), ("ptr", "f64")),
    (
        "variable of another type",
        lambda b: b.set(b.variable(b.parameters[0]), b.parameters[1]),
        ("f64", "i64"),
    ),
    ("wrong result", lambda b: b.ret(b.parameters[1]), ("f64", "i64")),
    ("no result", lambda b: b.ret(), ("f64", "nothing")),
    ("break outside a loop", lambda b: b.break_(), ("break", "loop")),
    ("else without if", lambda b: b.else_().__enter__(), ("else_",)),
    ("a step that stands still", lambda b: b.for_(0, 9, 0).__enter__(), ("step 0",)),
    ("a loop over floats", lambda b: b.for_(0, b.parameters[0]).__enter__(), ("i64", "f64")),
    ("an integer with a fraction", lambda b: b.const(i64, 0.5), ("0.5", "i64")),
    ("an integer too large", lambda b: b.const(i8, 256), ("256", "i8")),
    ("too few lanes", lambda b: b.const(WIDE, (1.0, 2.0)), ("4 numbers", "2")),
    ("math of two lanes", lambda b: b.math("pow", b.parameters[0], b.parameters[3]), ("pow", "f64x4")),
]


@pytest.mark.parametrize(("mistake", "needles"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_refused_where_it_is_made(mistake: Callable[[Builder], object], needles: tuple[str, ...]) -> None:
    with pytest.raises(VerificationError) as caught:
        mistake(builder())
    for needle in needles:
        assert needle in str(caught.value)


def test_code_behind_a_return_is_refused() -> None:
    b = builder()
    b.ret(b.parameters[0])
    with pytest.raises(VerificationError, match="never run"):
        b.add(b.parameters[0], b.parameters[0])


def test_code_behind_a_break_goes_on_after_the_block() -> None:
    b = builder()
    with b.while_() as loop:
        loop.check(b.parameters[6])
        with b.if_(b.parameters[6]):
            b.break_()
            with pytest.raises(VerificationError, match="never run"):
                b.neg(b.parameters[0])
        b.neg(b.parameters[0])


def unchecked(b: Builder) -> None:
    with b.while_():
        pass


def checked_twice(b: Builder) -> None:
    with b.while_() as loop:
        loop.check(b.parameters[6])
        loop.check(b.parameters[6])


def checked_inside(b: Builder) -> None:
    with b.while_() as loop:
        with b.if_(b.parameters[6]):
            loop.check(b.parameters[6])


@pytest.mark.parametrize(
    ("program", "complaint"),
    [(unchecked, r"one loop\.check"), (checked_twice, "once"), (checked_inside, "outermost")],
)
def test_a_while_loop_is_checked_exactly_once(program: Callable[[Builder], None], complaint: str) -> None:
    with pytest.raises(VerificationError, match=complaint):
        program(builder())


def test_one_symbol_has_one_signature() -> None:
    module = Module()
    b = module.function("f", [("x", f64)], f64)
    b.call("g", f64, b.parameters[0])
    with pytest.raises(VerificationError, match=r"\(f64\) -> f64"):
        b.call("g", None, b.parameters[0])
    with pytest.raises(VerificationError, match="defined as"):
        module.function("g", [("n", i64)], f64)
    with pytest.raises(VerificationError, match="twice"):
        module.function("f", [], None)


@given(st.floats(allow_nan=True, width=64))
def test_float_constants_keep_their_bits(number: float) -> None:
    constant = builder().const(f64, number)
    assert constant.reference == f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    assert struct.pack("<d", constant.detail) == struct.pack("<d", number)


@given(st.floats(allow_nan=False, allow_infinity=True))
def test_f32_constants_are_rounded_once(number: float) -> None:
    with np.errstate(over="ignore"):
        assert builder().const(f32, number).detail == float(np.float32(number))


@given(st.integers(-(2**63), 2**64 - 1))
def test_integer_constants_keep_their_low_bits(number: int) -> None:
    detail = builder().const(i64, number).detail
    assert isinstance(detail, int)
    assert (detail - number) % 2**64 == 0
    assert -(2**63) <= detail < 2**63


def test_constants_are_shared_but_zero_keeps_its_sign() -> None:
    b = builder()
    assert b.const(f64, 1.0) is b.const(f64, 1)
    assert b.const(f64, 0.0) is not b.const(f64, -0.0)
    assert b.const(f64, 1.0) is not b.const(WIDE, 1.0)
    assert b.const(i64, 1) is not b.const(i1, True)
    assert b.splat(b.const(f64, math.pi), 4) is b.const(WIDE, math.pi)
    assert b.iota(i64.vector(4)).detail == (0, 1, 2, 3)


def test_verify_finds_values_that_leave_their_block() -> None:
    b = builder()
    with b.for_(0, 3) as index:
        inside = b.add(index, index)
    verify(b.module)
    b.add(inside, inside)
    with pytest.raises(VerificationError, match="variable"):
        verify(b.module)


def test_a_program_reads_like_this() -> None:
    module = Module()
    b = module.function("norm", [("x", ptr), ("n", i64)], f64, noalias=["x"])
    x, n = b.parameters
    total = b.variable(b.const(WIDE, 0.0))
    with b.for_(0, n, 4) as i:
        v = b.load(WIDE, b.offset(x, i, f64))
        with b.if_(b.cmp("gt", i, b.const(i64, 100))):
            b.break_()
        with b.else_():
            b.set(total, b.fma(v, v, b.get(total)))
    with b.while_() as loop:
        loop.check(b.cmp("lt", b.reduce("add", b.get(total)), b.const(f64, -0.0)))
        b.store(b.const(WIDE, (1, 2, 3, 4)), x, align=64)
    b.ret(b.math("sqrt", b.math("exp", b.reduce("add", b.get(total)))))
    verify(module)
    assert (
        text(module)
        == """\
import consilience_exp_f64x1(f64) -> f64

function norm(ptr x noalias, i64 n) -> f64 [export contract]
  $1: f64x4 := f64x4(0.0)
  for %1 in i64(0) %n i64(4)
    %2: ptr = offset [8] %x %1
    %3: f64x4 = load [8] %2
    %4: i1 = cmp [gt] %1 i64(100)
    if %4
      break
    else
      %5: f64x4 = get [$1]
      %6: f64x4 = fma %3 %3 %5
      $1: f64x4 := %6
  while
    %7: f64x4 = get [$1]
    %8: f64 = reduce [add] %7
    %9: i1 = cmp [lt] %8 f64(-0.0)
  holds %9 do
    store f64x4 f64x4(1.0 2.0 3.0 4.0) at %x align 64
  %10: f64x4 = get [$1]
  %11: f64 = reduce [add] %10
  %12: f64 = call [consilience_exp_f64x1] %11
  %13: f64 = sqrt %12
  return %13
"""
    )
