"""The interpreter and machine code agree, bit for bit, on random programs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import ExecutionError, OutOfBoundsError
from consilience.native import jit
from consilience.native.loops import Builder, Module, Type, Value, f32, f64, i1, i8, i16, i32, i64, ptr
from consilience.native.loops_text import verify
from consilience.native.target import host
from tests.native.interpret import DTYPES, interpret

KINDS = (f64, f32, i64, i32, i16, i8, i1)
ROOM = 64  # bytes per result


def without_nan(b: Builder, x: Value) -> Value:
    """The sign and payload of NaN are the machine's choice; keep them out of the bits."""
    return b.select(b.isnan(x), b.const(x.type, 0), x)


def positive(b: Builder, x: Value) -> Value:
    return b.or_(b.and_(x, b.const(x.type, 15)), b.const(x.type, 1))


def amount(b: Builder, x: Value) -> Value:
    return b.and_(x, b.const(x.type, x.type.bits - 1))


def signature(x: Value) -> Type:
    return Type({64: "i64", 32: "i32", 16: "i16", 8: "i8"}[x.type.bits], x.type.lanes)


def bits(b: Builder, x: Value) -> Value:
    return b.bitcast(without_nan(b, x), signature(x))


FLOAT: dict[str, Callable[[Builder, Value, Value, Value], Value]] = {
    "add": lambda b, x, y, z: b.add(x, y),
    "sub": lambda b, x, y, z: b.sub(x, y),
    "mul": lambda b, x, y, z: b.mul(x, y),
    "div": lambda b, x, y, z: b.div(x, y),
    "rem": lambda b, x, y, z: b.rem(x, y),
    "neg": lambda b, x, y, z: b.neg(x),
    "fma": lambda b, x, y, z: b.fma(x, y, z),
    "minimum": lambda b, x, y, z: b.minimum(x, y),
    "maximum": lambda b, x, y, z: b.maximum(x, b.const(x.type, 0.5)),
    "abs": lambda b, x, y, z: b.abs(x),
    "sqrt": lambda b, x, y, z: b.sqrt(b.abs(x)),
    "floor": lambda b, x, y, z: b.floor(x),
    "ceil": lambda b, x, y, z: b.ceil(x),
    "trunc": lambda b, x, y, z: b.trunc(x),
    "round_even": lambda b, x, y, z: b.round_even(x),
    "copysign": lambda b, x, y, z: b.copysign(x, without_nan(b, y)),
    "select": lambda b, x, y, z: b.select(b.cmp("lt", x, y), y, z),
    "isnan": lambda b, x, y, z: b.isnan(x),
    "compare": lambda b, x, y, z: b.xor(b.cmp("le", x, y), b.cmp("ne", y, z)),
    "bits": lambda b, x, y, z: bits(b, x),
}
INTEGER: dict[str, Callable[[Builder, Value, Value, Value], Value]] = {
    "add": lambda b, x, y, z: b.add(x, y),
    "sub": lambda b, x, y, z: b.sub(x, y),
    "mul": lambda b, x, y, z: b.mul(x, y),
    "div": lambda b, x, y, z: b.div(x, positive(b, y)),
    "rem": lambda b, x, y, z: b.rem(x, positive(b, y)),
    "div_unsigned": lambda b, x, y, z: b.div_unsigned(x, positive(b, y)),
    "rem_unsigned": lambda b, x, y, z: b.rem_unsigned(x, positive(b, y)),
    "neg": lambda b, x, y, z: b.neg(x),
    "abs": lambda b, x, y, z: b.abs(x),
    "minimum": lambda b, x, y, z: b.minimum(x, y),
    "maximum": lambda b, x, y, z: b.maximum(x, y),
    "and": lambda b, x, y, z: b.and_(x, y),
    "or": lambda b, x, y, z: b.or_(x, y),
    "xor": lambda b, x, y, z: b.xor(x, y),
    "not": lambda b, x, y, z: b.not_(x),
    "shl": lambda b, x, y, z: b.shl(x, amount(b, y)),
    "lshr": lambda b, x, y, z: b.lshr(x, amount(b, y)),
    "ashr": lambda b, x, y, z: b.ashr(x, amount(b, y)),
    "select": lambda b, x, y, z: b.select(b.cmp("ult", x, y), y, z),
    "compare": lambda b, x, y, z: b.or_(b.cmp("gt", x, y), b.cmp("uge", y, z)),
}
MASK: dict[str, Callable[[Builder, Value, Value, Value], Value]] = {
    "and": lambda b, x, y, z: b.and_(x, y),
    "or": lambda b, x, y, z: b.or_(x, y),
    "xor": lambda b, x, y, z: b.xor(x, y),
    "not": lambda b, x, y, z: b.not_(x),
    "compare": lambda b, x, y, z: b.and_(b.cmp("lt", x, y), b.cmp("ne", y, z)),
    "select": lambda b, x, y, z: b.select(x, y, z),
}
REDUCTIONS = ("add", "mul", "min", "max", "and", "or", "umin", "umax")


class Generator:
    """Turns lists of small integers into a program: every integer picks among what fits."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.module = Module()
        self.b = self.module.function("f", [("data", ptr), ("out", ptr)], None, contract=False)
        self.pool: list[Value] = []
        data = self.b.parameters[0]
        for k, kind in enumerate(KINDS):
            for j in range(2):
                type = kind.vector(lanes)
                place = self.b.offset(data, self.b.const(i64, (2 * k + j) * ROOM), i8)
                self.pool.append(self.b.load(type, place))

    def step(self, operation: int, x: int, y: int, z: int) -> None:
        b, pool = self.b, self.pool
        first = pool[x % len(pool)]
        same = [v for v in pool if v.type is first.type]
        others = same[y % len(same)], same[z % len(same)]
        table = FLOAT if first.type.floating else MASK if first.type.kind == "i1" else INTEGER
        names = [*table, "cast", "cast_unsigned", "reduce", "lanes"]
        name = names[operation % len(names)]
        if name in table:
            result = table[name](b, first, *others)
        elif name.startswith("cast"):
            kind = KINDS[y % len(KINDS)].vector(first.type.lanes)
            result = b.cast(first, kind, signed=name == "cast")
        elif first.type.lanes == 1:
            return
        elif name == "reduce":
            floating, mask = first.type.floating, first.type.kind == "i1"
            kinds = REDUCTIONS[:4] if floating else REDUCTIONS[4:6] if mask else REDUCTIONS
            result = b.splat(b.reduce(kinds[y % len(kinds)], first), self.lanes)
        else:
            lanes = self.lanes
            result = b.shuffle(first, others[0], [(z + 3 * k) % (2 * lanes) for k in range(lanes)])
            result = b.insert(result, b.extract(first, y % lanes), z % lanes)
        pool.append(result)

    def finish(self) -> int:
        """Store all results; the number of results."""
        out = self.b.parameters[1]
        for k, value in enumerate(self.pool):
            place = self.b.offset(out, self.b.const(i64, k * ROOM), i8)
            self.b.store(value, place)
        self.b.ret()
        return len(self.pool)


def results(pool: Sequence[Value], out: npt.NDArray[np.uint8]) -> list[list[Any]]:
    found = []
    for k, value in enumerate(pool):
        size = value.type.size * value.type.lanes
        dtype = np.dtype(np.int8) if value.type.kind == "i1" else DTYPES[value.type.kind]
        lanes = out[k * ROOM : k * ROOM + size].view(dtype)
        if value.type.floating:
            lanes = np.where(np.isnan(lanes), np.nan, lanes)
            found.append([float(x).hex() for x in lanes])
        else:
            found.append(lanes.tolist())
    return found


SPECIAL = (0.0, -0.0, 1.0, -1.5, 0.5, 2.5, np.inf, -np.inf, np.nan, 5e-324, 1e308, -3e38, 1e-45, 2.0**63)


def inputs(seed: int) -> npt.NDArray[np.uint8]:
    """Two lines of each kind: special numbers mixed with ordinary ones."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, 2 * len(KINDS) * ROOM, np.uint8)
    with np.errstate(over="ignore"):
        for k, kind in enumerate(KINDS):
            line = data[2 * k * ROOM : 2 * (k + 1) * ROOM]
            if kind.floating:
                count = line.nbytes // kind.size
                values = np.where(rng.random(count) < 0.4, rng.choice(SPECIAL, count), rng.normal(size=count) * 50)
                line.view(DTYPES[kind.kind])[:] = values
            elif kind is i1:
                line[:] &= 1
    return data


def run(module: Module, *arrays: npt.NDArray[Any]) -> None:
    library = jit.load(module, ["f"])
    types = [ctypes.c_void_p] * len(arrays)
    library.function("f", None, *types)(*(a.ctypes.data for a in arrays))


steps = st.lists(st.tuples(*[st.integers(0, 400)] * 4), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(steps, st.sampled_from((1, 2, 4, 8)), st.integers(0, 10))
def test_straight_line_programs_compute_what_the_interpreter_computes(
    program: list[tuple[int, int, int, int]], lanes: int, seed: int
) -> None:
    generator = Generator(lanes)
    for step in program:
        generator.step(*step)
    count = generator.finish()
    verify(generator.module)
    data = inputs(seed)
    expected, got = np.zeros(count * ROOM, np.uint8), np.zeros(count * ROOM, np.uint8)
    interpret(generator.module, "f", data, expected, fused=host().fma)
    run(generator.module, data, got)
    assert results(generator.pool, got) == results(generator.pool, expected)


class Control:
    """Random programs with loops and branches over three integer variables and a log of what happened."""

    def __init__(self) -> None:
        self.module = Module()
        self.b = self.module.function("f", [("data", ptr), ("out", ptr)], None)
        b = self.b
        self.out = b.parameters[1]
        self.variables = [b.variable(b.load(i64, b.offset(b.parameters[0], b.const(i64, k), i64))) for k in range(3)]
        self.fuel = b.variable(b.const(i64, 60))

    def block(self, program: list[Any], loops: int) -> None:
        for node in program:
            if self.b.terminated:
                return
            self.node(node, loops)

    def small(self, which: int, modulus: int) -> Value:
        b = self.b
        return b.rem_unsigned(b.get(self.variables[which % 3]), b.const(i64, modulus))

    def node(self, node: Any, loops: int) -> None:
        b = self.b
        kind, number, inner = node
        which, condition = number % 3, b.cmp("lt", self.small(number, 7), b.const(i64, 3))
        match kind % 7:
            case 0 | 1:
                x, y = b.get(self.variables[which]), b.get(self.variables[(number // 3) % 3])
                mixed = b.add(b.mul(x, b.const(i64, 5)), b.xor(y, b.const(i64, number)))
                b.set(self.variables[which], mixed)
                b.store(mixed, b.offset(self.out, self.small(number + 1, 16), i64))
            case 2:
                with b.for_(b.neg(self.small(number, 3)), self.small(number + 1, 6), 1 + number % 2) as i:
                    b.set(self.variables[which], b.add(b.get(self.variables[which]), i))
                    self.block(inner, loops + 1)
            case 3:
                with b.while_() as loop:
                    left = b.get(self.fuel)
                    b.set(self.fuel, b.sub(left, b.const(i64, 1)))
                    loop.check(b.cmp("gt", left, b.const(i64, 0)))
                    self.block(inner, loops + 1)
            case 4 | 5:
                half = len(inner) // 2
                with b.if_(condition):
                    self.block(inner[:half], loops)
                if kind % 7 == 5:
                    with b.else_():
                        self.block(inner[half:], loops)
            case 6:
                with b.if_(condition):
                    if loops and number % 3 == 0:
                        b.break_()
                    elif loops and number % 3 == 1:
                        b.continue_()
                    else:
                        b.ret()


nodes: Any = st.recursive(
    st.just([]),
    lambda inner: st.lists(st.tuples(st.integers(0, 6), st.integers(0, 50), inner), max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(nodes, st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 3))
def test_loops_and_branches_do_what_the_interpreter_does(program: list[Any], start: tuple[int, int, int]) -> None:
    control = Control()
    control.block(program, 0)
    if not control.b.terminated:
        for k, variable in enumerate(control.variables):
            place = control.b.offset(control.out, control.b.const(i64, 16 + k), i64)
            control.b.store(control.b.get(variable), place)
    verify(control.module)
    data = np.array(start, np.int64)
    expected, got = np.zeros(19, np.int64), np.zeros(19, np.int64)
    interpret(control.module, "f", data, expected)
    run(control.module, data, got)
    assert got.tolist() == expected.tolist()


def test_masked_and_gathered_memory_is_touched_only_where_the_mask_says() -> None:
    module = Module()
    b = module.function("f", [("x", ptr), ("y", ptr), ("n", ptr)], None)
    x, y, n = b.parameters
    lanes = f64.vector(4)
    indices = b.load(i64.vector(4), n)
    mask = b.cmp("ge", indices, b.const(indices.type, 0))
    found = b.masked_load(lanes, x, mask, b.const(lanes, (7.0, 8.0, 9.0, 10.0)))
    picked = b.gather(lanes, x, b.abs(indices))
    b.masked_store(b.add(found, picked), y, mask)
    flags = b.load(i1.vector(4), b.offset(n, b.const(i64, 4), i64))
    b.store(b.xor(flags, mask), b.offset(n, b.const(i64, 4), i64))
    b.ret()
    arrays: list[list[npt.NDArray[Any]]] = [
        [np.array([1.0, 2.0, 3.0]), np.zeros(3), np.array([0, -2, 1, -1, 0], np.int64)] for _ in range(2)
    ]
    for _, _, n_array in arrays:
        n_array.view(np.uint8)[32:36] = [1, 0, 0, 1]
    interpret(module, "f", *arrays[0])
    run(module, *arrays[1])
    for expected, got in zip(*arrays, strict=True):
        np.testing.assert_array_equal(got, expected)
    assert arrays[0][1].tolist() == [2.0, 0.0, 5.0]


def test_the_interpreter_refuses_memory_outside_the_arrays() -> None:
    module = Module()
    b = module.function("f", [("x", ptr), ("i", i64)], f64)
    b.ret(b.load(f64, b.offset(b.parameters[0], b.parameters[1], f64)))
    assert interpret(module, "f", np.arange(3.0), 2) == 2.0
    for outside in (-1, 3):
        with pytest.raises(OutOfBoundsError, match="8 bytes"):
            interpret(module, "f", np.arange(3.0), outside)


def test_the_interpreter_calls_functions_pointers_and_imports() -> None:
    module = Module()
    g = module.function("g", [("x", f64)], f64, export=False)
    memory = g.stack(f64, 2)
    g.store(g.parameters[0], memory)
    g.ret(g.math("exp", g.load(f64, memory)))
    b = module.function("f", [("x", f64)], f64)
    address = b.symbol("g", f64, f64)
    direct, through = b.call("g", f64, b.parameters[0]), b.call_pointer(address, f64, b.parameters[0])
    b.ret(b.sub(b.add(direct, through), b.call("outside", f64, direct)))
    assert interpret(module, "f", 0.0, imports={"outside": lambda x: 5 * x}) == -3.0
    with pytest.raises(ExecutionError, match="outside"):
        interpret(module, "f", 0.0)


def test_integer_division_by_zero_is_reported() -> None:
    module = Module()
    b = module.function("f", [("n", i64)], i64)
    b.ret(b.div(b.const(i64, 1), b.parameters[0]))
    assert interpret(module, "f", -1) == -1
    with pytest.raises(ExecutionError, match="zero"):
        interpret(module, "f", 0)
