"""The parts of a loop program: types, values, variables, statements, functions.

In: numbers and names from `loops.Builder`. Out: plain data that `emit`, `interpret` and `loops_text` walk.
Outside: how programs are built and checked (`loops`).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import ClassVar, Final, SupportsFloat, SupportsIndex, TypeAlias

from consilience.errors import VerificationError

BITS: Final = {"f64": 64, "f32": 32, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i1": 1, "ptr": 64, "void": 0}
FLOATS: Final = frozenset({"f64", "f32"})
INTEGERS: Final = frozenset({"i64", "i32", "i16", "i8", "i1"})


class Type:
    """Element kind and number of lanes. Equal types are one object, so `is` compares them.

    `kind` is one of f64 f32 i64 i32 i16 i8 i1 ptr (void for calls without result), `lanes` a power of two.
    """

    __slots__ = ("bits", "element", "floating", "integer", "kind", "lanes", "number", "size")
    kind: str
    lanes: int
    bits: int
    size: int  # bytes of one lane in memory; a mask lane (i1) takes one byte
    floating: bool
    integer: bool
    number: bool  # arithmetic is defined: floats, and integers but masks
    element: Type
    _known: ClassVar[dict[tuple[str, int], Type]] = {}

    def __new__(cls, kind: str, lanes: int = 1) -> Type:
        known = cls._known.get((kind, lanes))
        if known is not None:
            return known
        if kind not in BITS:
            raise VerificationError(f"a type is one of {' '.join(BITS)}, got {kind!r}")
        if lanes < 1 or lanes & (lanes - 1) or (kind == "void" and lanes != 1):
            raise VerificationError(f"lanes must be a power of two, got {lanes} lanes of {kind}")
        self = object.__new__(cls)
        self.kind = kind
        self.lanes = lanes
        self.bits = BITS[kind]
        self.size = max(1, BITS[kind] // 8)
        self.floating = kind in FLOATS
        self.integer = kind in INTEGERS
        self.number = self.floating or (self.integer and kind != "i1")
        self.element = self if lanes == 1 else Type(kind)
        return cls._known.setdefault((kind, lanes), self)

    def vector(self, lanes: int) -> Type:
        """The same kind with `lanes` lanes (1 gives the scalar)."""
        return Type(self.kind, lanes)

    def __repr__(self) -> str:
        return self.kind if self.lanes == 1 else f"{self.kind}x{self.lanes}"

    def __reduce__(self) -> tuple[type[Type], tuple[str, int]]:
        return Type, (self.kind, self.lanes)


f64: Final = Type("f64")
f32: Final = Type("f32")
i64: Final = Type("i64")
i32: Final = Type("i32")
i16: Final = Type("i16")
i8: Final = Type("i8")
i1: Final = Type("i1")
ptr: Final = Type("ptr")
void: Final = Type("void")

Number: TypeAlias = SupportsFloat | SupportsIndex
Detail: TypeAlias = "str | int | float | tuple[int, ...] | tuple[float, ...] | Variable | None"


class Value:
    """The result of one instruction; compared by identity.

    `detail` holds what is not an operand (predicate, symbol, alignment, numbers of a constant); `reference`
    is the value's spelling in program text: `%v.12`, or an exact literal for a constant.
    """

    __slots__ = ("args", "detail", "op", "reference", "type")

    def __init__(self, type: Type, op: str, args: tuple[Value, ...], detail: Detail, reference: str) -> None:
        self.type = type
        self.op = op
        self.args = args
        self.detail = detail
        self.reference = reference

    def __repr__(self) -> str:
        return f"{self.reference}: {self.type}"


class Variable:
    """A register that may be set many times; a stack slot until the optimiser promotes it."""

    __slots__ = ("reference", "type")

    def __init__(self, type: Type, reference: str) -> None:
        self.type = type
        self.reference = reference

    def __repr__(self) -> str:
        return f"{self.reference}: {self.type}"


class Set:
    """`variable = value`."""

    __slots__ = ("value", "variable")
    op: ClassVar[str] = "set"

    def __init__(self, variable: Variable, value: Value) -> None:
        self.variable = variable
        self.value = value


class Store:
    """Write `value` at `pointer`; with a mask, only the lanes whose mask is true."""

    __slots__ = ("align", "mask", "pointer", "value")
    op: ClassVar[str] = "store"

    def __init__(self, value: Value, pointer: Value, align: int, mask: Value | None) -> None:
        self.value = value
        self.pointer = pointer
        self.align = align
        self.mask = mask


class For:
    """`for index in range(start, stop, step)`, step > 0."""

    __slots__ = ("body", "index", "start", "step", "stop")
    op: ClassVar[str] = "for"

    def __init__(self, index: Value, start: Value, stop: Value, step: Value) -> None:
        self.index = index
        self.start = start
        self.stop = stop
        self.step = step
        self.body: list[Statement] = []


class While:
    """Run `test`; leave when `condition` is false; run `body`; again."""

    __slots__ = ("body", "condition", "test")
    op: ClassVar[str] = "while"

    def __init__(self) -> None:
        self.test: list[Statement] = []
        self.condition: Value | None = None
        self.body: list[Statement] = []


class If:
    """Run `then` when `condition` is true, else `otherwise`."""

    __slots__ = ("condition", "otherwise", "then")
    op: ClassVar[str] = "if"

    def __init__(self, condition: Value) -> None:
        self.condition = condition
        self.then: list[Statement] = []
        self.otherwise: list[Statement] | None = None


class Break:
    """Leave the innermost loop."""

    __slots__ = ()
    op: ClassVar[str] = "break"


class Continue:
    """Go to the next turn of the innermost loop."""

    __slots__ = ()
    op: ClassVar[str] = "continue"


class Return:
    """Leave the function."""

    __slots__ = ("value",)
    op: ClassVar[str] = "return"

    def __init__(self, value: Value | None) -> None:
        self.value = value


Statement: TypeAlias = Value | Set | Store | For | While | If | Break | Continue | Return
Signature: TypeAlias = tuple[Type, tuple[Type, ...]]


class LoopFunction:
    """One function: parameters, result type and body.

    `export`: visible outside the module. `contract`: a product and a sum may fuse into one rounding where the
    machine can. `pure`: reads and writes no memory of others and always returns. `inline`: always inlined.
    `shared`: never inlined, one copy for all callers. `rare`: the same, and short code counts more than fast code.
    `noalias`: names of pointer parameters whose memory no other parameter reaches.
    """

    __slots__ = ("body", "contract", "export", "inline", "name", "noalias", "parameter_names", "parameters",
                 "pure", "rare", "result", "shared")  # fmt: skip

    def __init__(
        self, name: str, parameters: tuple[Value, ...], parameter_names: tuple[str, ...], result: Type
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.parameter_names = parameter_names
        self.result = result
        self.body: list[Statement] = []
        self.export = True
        self.contract = True
        self.pure = False
        self.inline = False
        self.shared = False
        self.rare = False
        self.noalias: frozenset[str] = frozenset()

    @property
    def signature(self) -> Signature:
        return self.result, tuple(p.type for p in self.parameters)


class WhileLoop:
    """Handle of an open `while_`: `check(condition)` ends the test and starts the body."""

    __slots__ = ("_begin", "_statement")

    def __init__(self, statement: While, begin: Callable[[While, Value], None]) -> None:
        self._statement = statement
        self._begin = begin

    def check(self, condition: Value) -> None:
        """Leave the loop unless `condition` (i1). Exactly once per loop, not inside an inner block."""
        if condition.type is not i1:
            raise VerificationError(f"while tests an i1, got {condition.type}")
        if self._statement.condition is not None:
            raise VerificationError("a while loop is checked once; the condition was given before")
        self._begin(self._statement, condition)


def signature_text(signature: Signature) -> str:
    """`(f64, i64) -> f64`."""
    result, parameters = signature
    return f"({', '.join(map(repr, parameters))}) -> {result}"


def element_text(element: Type) -> str:
    """LLVM's name of an element type: `double` for f64."""
    return {"f64": "double", "f32": "float"}.get(element.kind, element.kind)


def literal(element: Type, number: Number) -> tuple[str, int | float]:
    """Exact text of one number of type `element`, and the number as stored."""
    kind = element.kind
    if element.floating:
        real = float(number)
        if kind == "f32":
            real = ctypes.c_float(real).value
        return f"0x{struct.unpack('<Q', struct.pack('<d', real))[0]:016X}", real
    if isinstance(number, (int, SupportsIndex)):  # the protocol alone takes a hundred times longer
        whole = number.__index__()
    elif float(number).is_integer():
        whole = int(float(number))
    else:
        raise VerificationError(f"a constant of type {element} must be an integer, got {number}")
    if kind == "ptr":
        return ("null" if whole == 0 else f"inttoptr (i64 {whole} to ptr)"), whole
    bits = element.bits
    if kind == "void" or not -(1 << (bits - 1)) <= whole < (1 << bits):
        raise VerificationError(f"{whole} does not fit a constant of type {element}")
    if kind == "i1":
        return ("true" if whole & 1 else "false"), whole & 1
    if whole >= 1 << (bits - 1):
        whole -= 1 << bits
    return str(whole), whole
