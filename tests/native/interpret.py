"""Running loop programs in plain Python: slow, obvious, and checking every memory access.

In: a `loops.Module`, arguments, the arrays the program may touch. Out: what machine code would give, bit for
bit where no product and sum are fused. Outside: speed; optimisation.

Registers are NumPy arrays with one element per lane. Pointers are real addresses, but every access must lie
inside an array that was passed, a stack of the running call, or an array named in `memory`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from consilience.errors import ExecutionError, OutOfBoundsError
from consilience.native import mathematics
from consilience.native.loops import Module
from consilience.native.program import (
    Break,
    Continue,
    For,
    If,
    LoopFunction,
    Return,
    Set,
    Statement,
    Store,
    Type,
    Value,
    Variable,
    While,
    void,
)

Lanes: TypeAlias = npt.NDArray[Any]
DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
    "ptr": np.dtype(np.int64),
}
UNSIGNED: Final = {8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}
LIMIT: Final = 10_000_000  # turns of one loop after which it is taken to be endless


def interpret(
    module: Module,
    name: str,
    *args: Any,
    imports: Mapping[str, Callable[..., Any]] | None = None,
    memory: Iterable[npt.NDArray[Any]] = (),
    fused: bool = True,
) -> Any:
    """Run function `name` and give its result: a number, an array of lanes, or None.

    `args`: numbers, arrays of lanes for vectors, and for pointers NumPy arrays or addresses. `imports`:
    Python functions for imported symbols; those of the C library, and vector functions with a namesake in
    `mathematics`, need not be given. `memory`: further arrays that the program reaches through pointers.
    `fused`: whether `fma` rounds once, as machines with that instruction do.

    Raises OutOfBoundsError for an access outside all arrays, ExecutionError for what machine code leaves
    undefined (division of integers by zero, a missing symbol, an endless loop).
    """
    machine = _Machine(module, imports or {}, fused)
    function = module.functions[name]
    values = []
    for parameter, value in zip(function.parameters, args, strict=True):
        if isinstance(value, np.ndarray) and parameter.type.kind == "ptr" and parameter.type.lanes == 1:
            machine.own(value)
            values.append(np.array([value.ctypes.data], np.int64))
        else:
            values.append(_register(parameter.type, value))
    for array in memory:
        machine.own(array)
    with np.errstate(all="ignore"):
        result = machine.run(function, values)
    if result is None:
        return None
    return result[0].item() if function.result.lanes == 1 else result


def _register(type: Type, value: Any) -> Lanes:
    if type.integer and type.kind != "i1" and not isinstance(value, np.ndarray):
        low = int(value) & ((1 << type.bits) - 1)
        value = low - (1 << type.bits) if low >> (type.bits - 1) else low
    return np.broadcast_to(np.asarray(value, DTYPES[type.kind]), (type.lanes,)).copy()


class _Leave(Exception):
    """A break, continue or return on its way out."""

    def __init__(self, op: str, value: Lanes | None = None) -> None:
        self.op = op
        self.value = value


class _Machine:
    def __init__(self, module: Module, imports: Mapping[str, Callable[..., Any]], fused: bool) -> None:
        self.module = module
        self.imports = imports
        self.fused = fused
        self.regions: list[tuple[int, int, npt.NDArray[Any]]] = []

    # ---- memory

    def own(self, array: npt.NDArray[Any]) -> None:
        """Allow access to `array`."""
        start = int(array.ctypes.data)
        self.regions.append((start, start + array.nbytes, array))

    def bytes_at(self, address: int, count: int, what: str) -> npt.NDArray[np.uint8]:
        for start, stop, _ in self.regions:
            if start <= address and address + count <= stop:
                return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))
        raise OutOfBoundsError(f"{what} of {count} bytes at {address:#x} lies outside all arrays")

    def read(self, type: Type, address: int) -> Lanes:
        found = self.bytes_at(address, type.size * type.lanes, f"a load of {type}")
        dtype = np.dtype(np.int8) if type.kind == "i1" else DTYPES[type.kind]
        return found.view(dtype).astype(DTYPES[type.kind])

    def write(self, value: Lanes, address: int, type: Type) -> None:
        target = self.bytes_at(address, type.size * type.lanes, f"a store of {type}")
        target[:] = np.ascontiguousarray(value).view(np.uint8)

    # ---- functions

    def run(self, function: LoopFunction, args: list[Lanes]) -> Lanes | None:
        depth = len(self.regions)
        frame = _Frame(self)
        frame.values.update(zip(function.parameters, args, strict=True))
        try:
            frame.block(function.body)
        except _Leave as leave:
            return leave.value
        finally:
            del self.regions[depth:]
        if function.result is not void:
            raise ExecutionError(f"{function.name} ended without return")
        return None

    def call(self, symbol: str, type: Type, args: list[Lanes]) -> Lanes | None:
        function = self.module.functions.get(symbol)
        if function is not None and symbol not in self.imports:
            return self.run(function, args)
        python = self.imports.get(symbol)
        if python is None:
            name = symbol.removeprefix("consilience_").partition("_f64x")[0]
            python = getattr(mathematics, name, None)
            if not callable(python):
                raise ExecutionError(f"no Python function for the symbol {symbol}; pass it in `imports`")
            lanes = [python(*(a[k].item() for a in args)) for k in range(type.lanes)]
            return np.array(lanes, DTYPES[type.kind])
        result = python(*(a[0].item() if len(a) == 1 else a for a in args))
        return None if type is void else _register(type, result)


class _Frame:
    """The registers of one call."""

    def __init__(self, machine: _Machine) -> None:
        self.machine = machine
        self.values: dict[Value, Lanes] = {}
        self.variables: dict[Variable, Lanes] = {}

    def get(self, value: Value) -> Lanes:
        return _register(value.type, np.asarray(value.detail)) if value.op == "const" else self.values[value]

    def one(self, value: Value) -> Any:
        return self.get(value)[0].item()

    def block(self, block: list[Statement]) -> None:
        for s in block:
            match s:
                case Value():
                    result = self.value(s)
                    if result is not None:
                        self.values[s] = result
                case Set():
                    self.variables[s.variable] = self.get(s.value)
                case Store():
                    self.store(s)
                case For():
                    self.loop(s)
                case While():
                    self.loop_while(s)
                case If():
                    if self.one(s.condition):
                        self.block(s.then)
                    elif s.otherwise is not None:
                        self.block(s.otherwise)
                case Return():
                    raise _Leave("return", None if s.value is None else self.get(s.value))
                case Break() | Continue():
                    raise _Leave(s.op)

    def store(self, s: Store) -> None:
        value, address, element = self.get(s.value), self.one(s.pointer), s.value.type.element
        if s.mask is None:
            self.machine.write(value, address, s.value.type)
            return
        for lane in np.flatnonzero(self.get(s.mask)):
            self.machine.write(value[lane : lane + 1], address + int(lane) * element.size, element)

    def loop(self, s: For) -> None:
        for turn, index in enumerate(range(self.one(s.start), self.one(s.stop), self.one(s.step))):
            self.values[s.index] = np.array([index], np.int64)
            if not self.turn(s.body, turn):
                return

    def loop_while(self, s: While) -> None:
        turn = 0
        while True:
            try:
                self.block(s.test)
            except _Leave as leave:
                if leave.op == "return":
                    raise
                if leave.op == "break":
                    return
                continue
            if not self.one(cast("Value", s.condition)) or not self.turn(s.body, turn):
                return
            turn += 1

    def turn(self, body: list[Statement], number: int) -> bool:
        """Run a loop's body; False after a break."""
        if number > LIMIT:
            raise ExecutionError(f"a loop did not end within {LIMIT} turns")
        try:
            self.block(body)
        except _Leave as leave:
            if leave.op == "return":
                raise
            return leave.op == "continue"
        return True

    # ---- values

    def value(self, v: Value) -> Lanes | None:
        method = getattr(self, f"do_{v.op}", None)
        if method is not None:
            return cast("Lanes | None", method(v))
        args = [self.get(a) for a in v.args]
        return np.asarray(OPERATIONS[v.op](*args)).astype(DTYPES[v.type.kind])

    def do_get(self, v: Value) -> Lanes:
        return self.variables[cast("Variable", v.detail)]

    def do_stack(self, v: Value) -> Lanes:
        (size,) = cast("tuple[int]", v.detail)
        memory = np.full(size + 64, 0xAA, np.uint8)
        skipped = -memory.ctypes.data % 64
        self.machine.own(memory[skipped : skipped + size])
        return np.array([memory.ctypes.data + skipped], np.int64)

    def do_load(self, v: Value) -> Lanes:
        return self.machine.read(v.type, self.one(v.args[0]))

    def do_masked_load(self, v: Value) -> Lanes:
        address, result = self.one(v.args[0]), self.get(v.args[2]).copy()
        for lane in np.flatnonzero(self.get(v.args[1])):
            result[lane] = self.machine.read(v.type.element, address + int(lane) * v.type.size)[0]
        return result

    def do_gather(self, v: Value) -> Lanes:
        address = self.one(v.args[0])
        places = (address + int(i) * v.type.size for i in self.get(v.args[1]))
        return np.concatenate([self.machine.read(v.type.element, place) for place in places])

    def do_offset(self, v: Value) -> Lanes:
        pointer, index = (self.get(a) for a in v.args)
        return np.asarray(pointer + index * cast("int", v.detail))

    def do_call(self, v: Value) -> Lanes | None:
        return self.machine.call(cast("str", v.detail), v.type, [self.get(a) for a in v.args])

    def do_symbol(self, v: Value) -> Lanes:
        names = sorted({*self.machine.module.functions, *self.machine.module.imports})
        return np.array([-1 - names.index(cast("str", v.detail))], np.int64)

    def do_call_pointer(self, v: Value) -> Lanes | None:
        address, args = self.one(v.args[0]), [self.get(a) for a in v.args[1:]]
        if address < 0:  # made by do_symbol
            names = sorted({*self.machine.module.functions, *self.machine.module.imports})
            return self.machine.call(names[-1 - address], v.type, args)
        types = [np.ctypeslib.as_ctypes_type(DTYPES[a.type.kind]) for a in v.args[1:]]
        result = None if v.type is void else np.ctypeslib.as_ctypes_type(DTYPES[v.type.kind])
        found = ctypes.CFUNCTYPE(result, *types)(address)(*(a[0].item() for a in args))
        return None if v.type is void else _register(v.type, found)

    def do_cmp(self, v: Value) -> Lanes:
        x, y = (self.get(a) for a in v.args)
        predicate = cast("str", v.detail)
        if predicate.startswith("u"):
            x, y, predicate = _unsigned(x), _unsigned(y), predicate[1:]
        return cast("Lanes", COMPARISONS[predicate](x, y))

    def do_fma(self, v: Value) -> Lanes:
        x, y, z = (self.get(a) for a in v.args)
        if not self.machine.fused:
            return x * y + z
        if v.type.kind == "f32":
            return _fused_f32(x, y, z)
        return np.array([mathematics.fma(*map(float, t)) for t in zip(x, y, z, strict=True)])

    def do_minimum(self, v: Value) -> Lanes:
        return self.extremum(v, np.less)

    def do_maximum(self, v: Value) -> Lanes:
        return self.extremum(v, np.greater)

    def extremum(self, v: Value, better: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
        x, y = (self.get(a) for a in v.args)
        if v.args[1].op == "const" and not np.isnan(y).any():
            x, y = y, x
        return np.where(np.not_equal(x, x) | better(x, y), x, y)

    def do_cast(self, v: Value) -> Lanes:
        return _cast(self.get(v.args[0]), v.type, signed=True)

    def do_cast_unsigned(self, v: Value) -> Lanes:
        return _cast(self.get(v.args[0]), v.type, signed=False)

    def do_bitcast(self, v: Value) -> Lanes:
        x = self.get(v.args[0])
        bits = np.packbits(x, bitorder="little") if x.dtype == np.bool_ else x.view(np.uint8)
        if v.type.kind == "i1":
            return np.unpackbits(bits, bitorder="little", count=v.type.lanes).astype(np.bool_)
        return bits.view(DTYPES[v.type.kind])

    def do_splat(self, v: Value) -> Lanes:
        return np.repeat(self.get(v.args[0]), v.type.lanes)

    def do_extract(self, v: Value) -> Lanes:
        i = self.one(v.args[1])
        return self.get(v.args[0])[i : i + 1]

    def do_insert(self, v: Value) -> Lanes:
        result = self.get(v.args[0]).copy()
        result[self.one(v.args[2])] = self.get(v.args[1])[0]
        return result

    def do_shuffle(self, v: Value) -> Lanes:
        both = np.concatenate([self.get(a) for a in v.args])
        return both[list(cast("tuple[int, ...]", v.detail))]

    def do_reduce(self, v: Value) -> Lanes:
        combine = REDUCTIONS[cast("str", v.detail)]
        x = self.get(v.args[0])
        while len(x) > 1:
            x = combine(x[: len(x) // 2], x[len(x) // 2 :])
        return x.astype(DTYPES[v.type.kind])


def _unsigned(x: Lanes) -> Lanes:
    return x if x.dtype == np.bool_ else x.view(UNSIGNED[x.dtype.itemsize])


def _integer_divisors(x: Lanes, y: Lanes) -> None:
    if not y.all():
        raise ExecutionError("an integer was divided by zero")


def _divide(x: Lanes, y: Lanes) -> Lanes:
    if x.dtype.kind == "f":
        return x / y
    _integer_divisors(x, y)
    return np.asarray((x - np.fmod(x, y)) // y)


def _remainder(x: Lanes, y: Lanes) -> Lanes:
    if x.dtype.kind != "f":
        _integer_divisors(x, y)
    return np.fmod(x, y)


def _unsigned_division(operation: Callable[[Lanes, Lanes], Lanes]) -> Callable[[Lanes, Lanes], Lanes]:
    def divide(x: Lanes, y: Lanes) -> Lanes:
        _integer_divisors(x, y)
        return operation(_unsigned(x), _unsigned(y)).view(x.dtype)

    return divide


def _shift(x: Lanes, y: Lanes, operation: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
    return operation(_unsigned(x), _unsigned(y)).view(x.dtype)


def _cast(x: Lanes, type: Type, signed: bool) -> Lanes:
    wanted = DTYPES[type.kind]
    if type.kind == "i1":
        return np.asarray(x != 0)
    if x.dtype.kind == "f" and type.integer:
        low, high = (-(2.0 ** (type.bits - 1)), 2.0 ** (type.bits - 1)) if signed else (0.0, 2.0**type.bits)
        whole = np.trunc(x.astype(np.float64))
        inside = (whole >= low) & (whole < high)
        target: Any = wanted if signed else UNSIGNED[wanted.itemsize]
        limits = np.iinfo(target)
        result = np.where(inside, whole, 0.0).astype(target)
        result = np.where(whole >= high, limits.max, np.where(whole < low, limits.min, result))
        return result.astype(target).view(wanted)
    if not signed and x.dtype.kind == "i":
        x = _unsigned(x)
    return x.astype(wanted)


def _fused_f32(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x * y + z rounded once to f32.

    The product is exact in f64. The sum is rounded there to odd (when inexact, the last bit is set), so that
    the second rounding cannot meet a tie that the first one made (S. Boldo, G. Melquiond 2008).
    """
    product, term = x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64)
    total = product + term
    part = total - product
    rest = (product - (total - part)) + (term - part)
    toward = np.where(rest > 0, np.inf, -np.inf)
    inexact = (rest != 0) & np.isfinite(total) & (total.view(np.int64) & 1 == 0)
    return np.where(inexact, np.nextafter(total, toward), total).astype(np.float32)


COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": np.abs,
    "add": np.add,
    "add_reassociated": np.add,
    "and": np.bitwise_and,
    "ashr": np.right_shift,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "div": _divide,
    "div_unsigned": _unsigned_division(np.floor_divide),
    "floor": np.floor,
    "isnan": np.isnan,
    "lshr": lambda x, y: _shift(x, y, np.right_shift),
    "mul": np.multiply,
    "neg": np.negative,
    "not": np.invert,
    "or": np.bitwise_or,
    "rem": _remainder,
    "rem_unsigned": _unsigned_division(np.mod),
    "round_even": np.rint,
    "select": np.where,
    "shl": lambda x, y: _shift(x, y, np.left_shift),
    "sqrt": np.sqrt,
    "sub": np.subtract,
    "trunc": np.trunc,
    "xor": np.bitwise_xor,
}
REDUCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": lambda x, y: np.where((x != x) | (x < y), x, y),
    "max": lambda x, y: np.where((x != x) | (x > y), x, y),
    "umin": lambda x, y: np.minimum(_unsigned(x), _unsigned(y)),
    "umax": lambda x, y: np.maximum(_unsigned(x), _unsigned(y)),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
