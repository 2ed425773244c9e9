"""LLVM text: every machine accepts it, and it keeps the promises about floats, calls and attributes."""

from __future__ import annotations

import ctypes
import math
import re
import time

import numpy as np
import pytest

from consilience.errors import VerificationError
from consilience.native import jit
from consilience.native.emit import emit
from consilience.native.loops import Builder, Module, Type, Value, f32, f64, i1, i8, i16, i32, i64, ptr
from consilience.native.target import CROSS, Target, host
from consilience.record import replace

PLAIN = CROSS["x86-64-v2"]
FUSED = CROSS["x86-64-v4"]
WINDOWS = replace(FUSED, triple="x86_64-pc-windows-msvc")


def everything(lanes: int) -> Module:
    """A module with every instruction, on vectors of `lanes`."""
    module = Module()
    wide = f64.vector(lanes)
    helper = module.function("helper", [("x", wide)], wide, export=False, inline=True)
    helper.ret(helper.neg(helper.parameters[0]))
    b = module.function("f", [("x", ptr), ("n", i64), ("g", ptr), ("small", i8)], i64, noalias=["x"])
    x, n, g, small = b.parameters
    for kind in (f64, f32):
        type = kind.vector(lanes)
        p, q = b.load(type, x), b.load(type, x, align=64 if kind is f64 else None)
        values = [getattr(b, name)(p, q) for name in ("add", "sub", "mul", "div", "rem", "minimum", "maximum")]
        values += [getattr(b, name)(p) for name in ("neg", "abs", "sqrt", "floor", "ceil", "trunc", "round_even")]
        values += [b.copysign(p, q), b.fma(p, q, p), b.add_reassociated(p, q), b.math("exp", p)]
        values += [b.select(b.isnan(p), p, q), b.select(b.cmp("lt", n, n), p, q)]
        store_all(b, x, values)
        store_all(b, x, [b.cast(p, Type(k, lanes), s) for k in ("i64", "i32", "i8", "i1") for s in (True, False)])
        store_all(b, x, [b.splat(b.reduce(op, p), lanes) for op in ("add", "mul", "min", "max")])
        if lanes > 1:
            memory(b, x, p)
    for kind in (i64, i32, i16, i8):
        type = kind.vector(lanes)
        p, q = b.load(type, x), b.load(type, x)
        names = ["add", "sub", "mul", "div", "rem", "div_unsigned", "rem_unsigned", "minimum", "maximum"]
        names += ["and_", "or_", "xor", "shl", "lshr", "ashr"]
        store_all(b, x, [getattr(b, name)(p, q) for name in names])
        store_all(b, x, [b.neg(p), b.abs(p), b.not_(p), b.cast(p, f64.vector(lanes)), b.cast(p, type.vector(lanes))])
        store_all(b, x, [b.cmp(c, p, q) for c in ("lt", "le", "gt", "ge", "eq", "ne", "ult", "ule", "ugt", "uge")])
        store_all(b, x, [b.splat(b.reduce(op, p), lanes) for op in ("add", "mul", "min", "max", "and", "or")])
        if lanes > 1:
            memory(b, x, p)
    b.call("helper", wide, b.load(wide, x))
    b.call_pointer(g, None, n, small)
    b.call_pointer(b.symbol("helper", wide, wide), wide, b.load(wide, x))
    b.store(b.bitcast(b.bitcast(b.stack(f64, 9), i64), ptr), x)
    control(b, n)
    b.ret(b.call("imported", i64, b.cast(small, i1)))
    return module


def store_all(b: Builder, x: Value, values: list[Value]) -> None:
    """Each value to a place of its own, or the optimiser would drop it."""
    for value in values:
        place = len(b.function.body) * value.type.lanes
        b.store(value, b.offset(x, b.const(i64, place), f64))


def memory(b: Builder, x: Value, p: Value) -> None:
    type, lanes = p.type, p.type.lanes
    mask = b.cmp("ne", p, p)
    indices = b.iota(i64.vector(lanes))
    store_all(b, x, [b.masked_load(type, x, mask, p), b.gather(type, x, indices), b.load(mask.type, x)])
    b.store(b.masked_load(mask.type, x, mask, mask), x)
    b.masked_store(p, x, mask)
    b.masked_store(mask, x, mask)
    b.store(b.splat(b.reduce("and", mask), lanes), x)
    first = b.extract(p, b.const(i64, 1))
    store_all(b, x, [b.shuffle(p, p, (0, 2 * lanes - 1)), b.insert(p, first, 0), b.splat(first, 2)])
    b.store(b.offset(x, indices, f64), x)


def control(b: Builder, n: Value) -> None:
    count = b.variable(n)
    with b.for_(0, n) as i:
        with b.for_(i, n, 2):
            with b.if_(b.cmp("lt", i, n)):
                b.continue_()
            b.break_()
        with b.while_() as loop:
            loop.check(b.const(i1, True))
            with b.if_(b.cmp("eq", i, n)):
                b.break_()
            with b.else_():
                b.set(count, b.add(b.get(count), i))
        with b.if_(b.cmp("eq", i, n)):
            b.ret(n)
        with b.else_():
            b.ret(i)
    with b.while_() as loop:
        left = b.get(count)
        with b.if_(b.cmp("eq", left, n)):
            b.break_()
        loop.check(b.cmp("gt", left, n))
        b.set(count, b.sub(left, n))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("name", [*CROSS, "windows"])
def test_every_instruction_becomes_machine_code_on_every_machine(name: str, lanes: int) -> None:
    target = WINDOWS if name == "windows" else CROSS[name]
    image = jit.compile_object(everything(lanes), target)
    assert b"imported" in image  # called at the very end


def line(text: str, needle: str) -> str:
    return next(line for line in text.splitlines() if needle in line)


def emitted(target: Target = FUSED, export: bool = True, contract: bool = True) -> str:
    module = Module()
    b = module.function("f", [("x", f64)], f64, export, contract=contract)
    (x,) = b.parameters
    product = b.mul(x, b.const(f64, 0.1))
    b.ret(b.fma(b.add(product, x), b.div(x, product), b.math("exp", x)))
    return emit(module, target)


def test_floats_are_written_exactly_and_flags_are_few() -> None:
    text = emitted()
    assert "0x3FB999999999999A" in text
    assert "fmul contract double" in text
    assert "fadd contract double" in text
    assert "fdiv double" in text
    assert "llvm.fma.f64" in text
    for flag in ("fast", "nnan", "ninf", "nsz", "arcp", "afn", "reassoc"):
        assert not re.search(rf"\b{flag}\b", text)


def test_contraction_is_absent_where_it_is_unwanted_or_impossible() -> None:
    assert "contract" not in emitted(contract=False)
    plain = emitted(PLAIN)
    assert "contract" not in plain
    assert "llvm.fma" not in plain  # a library call per lane without the instruction


def test_every_function_carries_what_the_machine_needs() -> None:
    text = emitted()
    for needle in ('"frame-pointer"="all"', '"prefer-vector-width"="512"', '"min-legal-vector-width"="512"',
                   '"target-cpu"="x86-64-v4"'):  # fmt: skip
        assert all(needle in line for line in text.splitlines() if line.startswith("attributes"))
    groups = set(re.findall(r"#(\d)", text))
    assert groups == set(re.findall(r"attributes #(\d)", text))
    assert "memory(none)" in line(text, f"attributes #{line(text, 'declare double @cons')[-1]}")


def test_functions_are_visible_only_when_exported() -> None:
    assert line(emitted(), "define").startswith("define double @f(double %x)")
    assert line(emitted(export=False), "define").startswith("define internal double @f(double %x)")
    assert "noalias" not in emitted()


def test_shared_functions_stay_one_copy_and_inline_ones_vanish() -> None:
    """After optimisation two callers of a shared function still call it; an inlined one leaves no symbol."""
    module = Module()
    for name, flags in (("apart", {"shared": True}), ("within", {"inline": True})):
        helper = module.function(name, [("x", f64)], f64, export=False, **flags)
        helper.ret(helper.add(helper.parameters[0], helper.parameters[0]))
    for name in ("f", "g"):
        b = module.function(name, [("x", f64)], f64)
        (x,) = b.parameters
        b.ret(b.add(b.call("apart", f64, x), b.call("within", f64, x)))
    image = jit.compile_object(module, passes="full")
    assert b"apart" in image
    assert b"within" not in image
    library = jit.load(module, ["f", "g"], passes="full")
    for name in ("f", "g"):
        assert library.function(name, ctypes.c_double, ctypes.c_double)(1.5) == 6.0


def test_vectors_travel_in_registers_on_windows() -> None:
    text = emit(everything(8), WINDOWS)
    assert "call x86_regcallcc <8 x double> @consilience_exp_f64x8" in text
    assert "declare x86_regcallcc <8 x double> @consilience_exp_f64x8" in text
    assert "define internal x86_regcallcc <8 x double> @helper" in text
    assert "regcall" not in emit(everything(8), FUSED)
    assert "define signext" not in text
    assert "i8 signext %small" in text


def test_equal_calls_of_pure_functions_are_merged_and_unused_ones_dropped() -> None:
    module = Module()
    b = module.function("f", [("x", f64)], f64)
    (x,) = b.parameters
    b.math("exp", x)
    b.ret(b.add(b.math("tanh", x), b.math("tanh", x)))
    calls: list[float] = []

    def count(x: float) -> float:
        calls.append(x)
        return x

    counter = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(count)
    address = ctypes.cast(counter, ctypes.c_void_p).value or 0
    imports = {"consilience_exp_f64x1": address, "consilience_tanh_f64x1": address}
    f = jit.load(module, ["f"], imports, passes="full").function("f", ctypes.c_double, ctypes.c_double)
    assert f(2.0) == 4.0
    assert calls == [2.0]


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_extrema_propagate_nan_whatever_the_order(name: str, lanes: int) -> None:
    numbers = (1.0, -2.0, math.nan, math.inf, -math.inf)
    module = Module()
    b = module.function("f", [("x", ptr), ("out", ptr)], None)
    x, out = b.parameters
    type = f64.vector(lanes)
    p = b.load(type, x)
    q = b.load(type, b.offset(x, b.const(i64, lanes), f64))
    results = [getattr(b, name)(p, q)]
    for k in numbers:
        results += [getattr(b, name)(p, b.const(type, k)), getattr(b, name)(b.const(type, k), p)]
    for k, result in enumerate(results):
        b.store(result, b.offset(out, b.const(i64, lanes * k), f64))
    b.ret()
    f = jit.load(module, ["f"]).function("f", None, ctypes.c_void_p, ctypes.c_void_p)
    reference = getattr(np, name)
    for left in numbers:
        for right in numbers:
            data, got = np.repeat([left, right], lanes), np.zeros(lanes * len(results))
            f(data.ctypes.data, got.ctypes.data)
            expected = [reference(left, right)]
            for k in numbers:
                expected += [reference(left, k)] * 2
            np.testing.assert_array_equal(got, np.repeat(expected, lanes))


def test_an_extremum_with_a_constant_is_one_comparison() -> None:
    module = Module()
    b = module.function("f", [("x", f64)], f64)
    b.ret(b.minimum(b.parameters[0], b.const(f64, 1.0)))
    text = emit(module, FUSED)
    assert text.count("fcmp") == 1
    assert text.count("select") == 1


def test_a_path_without_return_is_refused() -> None:
    module = Module()
    b = module.function("f", [("c", i1)], f64)
    with b.if_(b.parameters[0]):
        b.ret(b.const(f64, 1.0))
    with pytest.raises(VerificationError, match="without ret"):
        emit(module, FUSED)


def test_an_endless_loop_needs_no_return_but_a_broken_one_does() -> None:
    module = Module()
    b = module.function("f", [("c", i1)], f64)
    with b.while_() as loop:
        loop.check(b.const(i1, True))
        with b.if_(b.parameters[0]):
            b.ret(b.const(f64, 1.0))
    emit(module, FUSED)
    b = module.function("g", [("c", i1)], f64)
    with b.while_() as loop:
        loop.check(b.const(i1, True))
        with b.if_(b.parameters[0]):
            b.break_()
    with pytest.raises(VerificationError, match="without ret"):
        emit(module, FUSED)


def test_f32_mathematics_goes_through_f64() -> None:
    module = Module()
    b = module.function("f", [("x", f32)], f32)
    b.ret(b.math("log", b.parameters[0]))
    log = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(math.log)
    imports = {"consilience_log_f64x1": ctypes.cast(log, ctypes.c_void_p).value or 0}
    f = jit.load(module, ["f"], imports).function("f", ctypes.c_float, ctypes.c_float)
    assert f(3.0) == float(np.float32(math.log(3.0)))


def test_names_of_parameters_never_collide_with_generated_ones() -> None:
    module = Module()
    names = ["entry", "v", "x", "t1", "for", "i32", "double"]
    b = module.function("f", [(name, i64) for name in names], i64)
    total = b.variable(b.const(i64, 0))
    with b.for_(0, 2):
        for parameter in b.parameters:
            b.set(total, b.add(b.get(total), parameter))
    b.ret(b.get(total))
    f = jit.load(module, ["f"]).function("f", ctypes.c_int64, *[ctypes.c_int64] * len(names))
    assert f(*range(len(names))) == 2 * sum(range(len(names)))


def test_programs_are_built_and_written_in_microseconds() -> None:
    def build() -> Module:
        module = Module()
        b = module.function("f", [("x", f64), ("y", f64)], f64)
        x, y = b.parameters
        for _ in range(2000):
            x = b.add(b.mul(x, y), y)
        b.ret(x)
        return module

    times = []
    for _ in range(5):
        start = time.perf_counter()
        emit(build(), host())
        times.append((time.perf_counter() - start) / 4000)
    assert min(times) < 20e-6  # 1.5 us on an idle machine
