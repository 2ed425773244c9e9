"""The loop program: structured, typed code over scalars, short vectors and memory.

In: calls of `Builder`, from tensor lowering or from `@native`. Out: a `Module` of functions that `emit` turns
into LLVM text and `interpret` runs. Outside: machine targets, optimisation, anything about tensors.

Values are in static single assignment form; what changes is a `Variable`. Operands of different types are
refused when an instruction is built. `verify` (in `loops_text`) checks that values are used in their scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn, cast

from consilience.errors import VerificationError
from consilience.native.program import (
    Break,
    Continue,
    Detail,
    For,
    If,
    LoopFunction,
    Number,
    Return,
    Set,
    Signature,
    Statement,
    Store,
    Type,
    Value,
    Variable,
    While,
    WhileLoop,
    element_text,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    literal,
    ptr,
    signature_text,
    void,
)

__all__ = [
    "Break", "Builder", "Continue", "For", "If", "LoopFunction", "Module", "Return", "Set", "Statement", "Store",
    "Type", "Value", "Variable", "While", "WhileLoop", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "ptr", "void",
]  # fmt: skip

PREDICATES: Final = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "ult", "ule", "ugt", "uge"})
REDUCTIONS: Final = frozenset({"add", "mul", "min", "max", "umin", "umax", "and", "or"})
DIRECT_MATH: Final = frozenset({"abs", "ceil", "floor", "round_even", "sqrt", "trunc"})


class Module:
    """Functions by name, and the signatures of symbols that come from outside."""

    def __init__(self) -> None:
        self.functions: dict[str, LoopFunction] = {}
        self.imports: dict[str, Signature] = {}
        self.pure_imports: set[str] = set()

    def function(
        self,
        name: str,
        parameters: Sequence[tuple[str, Type]],
        result: Type | None,
        export: bool = True,
        *,
        contract: bool = True,
        pure: bool = False,
        inline: bool = False,
        shared: bool = False,
        rare: bool = False,
        noalias: Sequence[str] = (),
    ) -> Builder:
        """Begin function `name`; see `LoopFunction` for the flags. Returns the builder of its body."""
        if name in self.functions:
            raise VerificationError(f"function {name!r} is defined twice in one module")
        names = tuple(parameter for parameter, _ in parameters)
        if len(set(names)) != len(names):
            raise VerificationError(f"function {name!r} has two parameters of one name: {', '.join(names)}")
        unknown = set(noalias) - {parameter for parameter, type in parameters if type is ptr}
        if unknown:
            raise VerificationError(f"function {name!r} has no pointer parameters {sorted(unknown)}")
        values = tuple(Value(type, "parameter", (), parameter, f"%{parameter}") for parameter, type in parameters)
        function = LoopFunction(name, values, names, void if result is None else result)
        function.export, function.contract, function.pure = export, contract, pure
        function.inline, function.shared, function.rare = inline, shared, rare
        function.noalias = frozenset(noalias)
        known = self.imports.get(name)
        if known is not None and known != function.signature:
            raise VerificationError(
                f"function {name!r} was called as {signature_text(known)} and defined as "
                f"{signature_text(function.signature)}"
            )
        self.functions[name] = function
        return Builder(self, function)

    def declare(self, symbol: str, signature: Signature, pure: bool = False) -> None:
        """Note that `symbol` is called with `signature`; two signatures for one symbol are an error."""
        function = self.functions.get(symbol)
        known = self.imports.setdefault(symbol, signature) if function is None else function.signature
        if known != signature:
            raise VerificationError(
                f"{symbol!r} has the signature {signature_text(known)}, it was called as {signature_text(signature)}"
            )
        if pure:
            self.pure_imports.add(symbol)


class Builder:
    """Appends instructions to the current block of one function."""

    def __init__(self, module: Module, function: LoopFunction) -> None:
        self.module = module
        self.function = function
        self.parameters = function.parameters
        self._count = 0
        self._loops = 0
        self._constants: dict[tuple[Type, str], Value] = {}
        self._block: list[Statement] = function.body
        self._append: Callable[[Statement], None] = function.body.append

    # ---- constants

    def const(self, type: Type, number: Number | Sequence[Number]) -> Value:
        """A constant with exactly these bits: a number (repeated in all lanes) or one number per lane."""
        detail: Detail
        if isinstance(number, (tuple, list)):
            if len(number) != type.lanes:
                raise VerificationError(f"a constant {type} needs {type.lanes} numbers, got {len(number)}")
            parts = [literal(type.element, n) for n in number]
            element = element_text(type.element)
            if type.lanes == 1:
                text, detail = parts[0]
            else:
                text = f"<{', '.join(f'{element} {part}' for part, _ in parts)}>"
                detail = cast("tuple[float, ...]", tuple(stored for _, stored in parts))
        else:
            text, detail = literal(type.element, cast("Number", number))
            if type.lanes > 1:
                text = f"splat ({element_text(type.element)} {text})"
        key = (type, text)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = Value(type, "const", (), detail, text)
        return known

    def iota(self, type: Type) -> Value:
        """The lane numbers 0, 1, ..., lanes - 1."""
        return self.const(type, tuple(range(type.lanes)))

    # ---- arithmetic

    def add(self, x: Value, y: Value) -> Value:
        return self._arithmetic("add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self._arithmetic("sub", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        return self._arithmetic("mul", x, y)

    def div(self, x: Value, y: Value) -> Value:
        """Quotient; integers truncate towards zero, and a zero divisor is undefined."""
        return self._arithmetic("div", x, y)

    def rem(self, x: Value, y: Value) -> Value:
        """Remainder with the sign of `x`, as C's `%` and `fmod`; an integer zero divisor is undefined."""
        return self._arithmetic("rem", x, y)

    def add_reassociated(self, x: Value, y: Value) -> Value:
        """Float sum that the optimiser may reorder with its neighbours: one step of a reduction."""
        return self._pair("add_reassociated", x, y, x.type.floating)

    def div_unsigned(self, x: Value, y: Value) -> Value:
        return self._pair("div_unsigned", x, y, x.type.integer and x.type.number)

    def rem_unsigned(self, x: Value, y: Value) -> Value:
        return self._pair("rem_unsigned", x, y, x.type.integer and x.type.number)

    def neg(self, x: Value) -> Value:
        return self._single("neg", x, x.type.number)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z, rounded once where the machine has the instruction, else twice."""
        if x.type is not y.type or x.type is not z.type or not x.type.floating:
            self._refuse("fma", "three floats of one type", x, y, z)
        return self._value(x.type, "fma", (x, y, z))

    def minimum(self, x: Value, y: Value) -> Value:
        """The smaller operand; NaN when one is NaN. Which zero comes of 0.0 and -0.0 is open."""
        return self._arithmetic("minimum", x, y)

    def maximum(self, x: Value, y: Value) -> Value:
        """The larger operand; NaN when one is NaN. Which zero comes of 0.0 and -0.0 is open."""
        return self._arithmetic("maximum", x, y)

    def abs(self, x: Value) -> Value:
        return self._single("abs", x, x.type.number)

    def sqrt(self, x: Value) -> Value:
        return self._single("sqrt", x, x.type.floating)

    def floor(self, x: Value) -> Value:
        return self._single("floor", x, x.type.floating)

    def ceil(self, x: Value) -> Value:
        return self._single("ceil", x, x.type.floating)

    def trunc(self, x: Value) -> Value:
        return self._single("trunc", x, x.type.floating)

    def round_even(self, x: Value) -> Value:
        """Nearest integer, ties to even."""
        return self._single("round_even", x, x.type.floating)

    def copysign(self, x: Value, sign: Value) -> Value:
        return self._pair("copysign", x, sign, x.type.floating)

    # ---- bits

    def and_(self, x: Value, y: Value) -> Value:
        return self._pair("and", x, y, x.type.integer)

    def or_(self, x: Value, y: Value) -> Value:
        return self._pair("or", x, y, x.type.integer)

    def xor(self, x: Value, y: Value) -> Value:
        return self._pair("xor", x, y, x.type.integer)

    def not_(self, x: Value) -> Value:
        return self._single("not", x, x.type.integer)

    def shl(self, x: Value, y: Value) -> Value:
        """x * 2**y modulo the width; undefined for y outside [0, width)."""
        return self._pair("shl", x, y, x.type.integer and x.type.number)

    def lshr(self, x: Value, y: Value) -> Value:
        """Shift right, zeros come in; undefined for y outside [0, width)."""
        return self._pair("lshr", x, y, x.type.integer and x.type.number)

    def ashr(self, x: Value, y: Value) -> Value:
        """Shift right, the sign comes in; undefined for y outside [0, width)."""
        return self._pair("ashr", x, y, x.type.integer and x.type.number)

    # ---- comparison and choice

    def cmp(self, predicate: str, x: Value, y: Value) -> Value:
        """lt le gt ge eq ne; integers also unsigned: ult ule ugt uge. NaN compares false, except with ne."""
        if x.type is not y.type or predicate not in PREDICATES or (predicate[0] == "u" and not x.type.integer):
            self._refuse(f"cmp {predicate!r}", "two operands of one type (and a known predicate)", x, y)
        return self._value(Type("i1", x.type.lanes), "cmp", (x, y), predicate)

    def isnan(self, x: Value) -> Value:
        self._kind("isnan", x, x.type.floating)
        return self._value(Type("i1", x.type.lanes), "isnan", (x,))

    def select(self, mask: Value, x: Value, y: Value) -> Value:
        """x where the mask holds, else y; an i1 scalar chooses whole vectors."""
        lanes = mask.type.lanes
        if x.type is not y.type or mask.type.kind != "i1" or (lanes != 1 and lanes != x.type.lanes):
            self._refuse("select", "a mask and two operands of one type with its lanes", mask, x, y)
        return self._value(x.type, "select", (mask, x, y))

    # ---- conversion

    def cast(self, x: Value, type: Type, signed: bool = True) -> Value:
        """Convert the number. float -> integer saturates, NaN gives 0; anything -> i1 tests against zero.

        `signed=False` reads integer operands (and integer results of floats) as unsigned.
        """
        source = x.type
        if source.lanes != type.lanes or source.kind in ("ptr", "void") or type.kind in ("ptr", "void"):
            raise VerificationError(f"cast keeps the lanes and converts numbers, got {source} to {type}")
        if source is type:
            return x
        return self._value(type, "cast" if signed else "cast_unsigned", (x,))

    def bitcast(self, x: Value, type: Type) -> Value:
        """The same bits as another type of the same width (also between i64 and ptr)."""
        source = x.type
        if source is type:
            return x
        if source.bits * source.lanes != type.bits * type.lanes or not type.bits:
            raise VerificationError(f"bitcast keeps the number of bits, got {source} to {type}")
        if "ptr" in (source.kind, type.kind) and source.lanes != type.lanes:
            raise VerificationError(f"bitcast of pointers goes lane by lane, got {source} to {type}")
        return self._value(type, "bitcast", (x,))

    # ---- lanes

    def splat(self, x: Value, lanes: int) -> Value:
        if x.type.lanes != 1 or x.type is void:
            raise VerificationError(f"splat repeats a scalar, got {x.type}")
        if lanes == 1:
            return x
        if x.op == "const":
            return self.const(Type(x.type.kind, lanes), cast("Number", x.detail))
        return self._value(Type(x.type.kind, lanes), "splat", (x,))

    def extract(self, v: Value, i: int | Value) -> Value:
        if v.type.lanes == 1:
            raise VerificationError(f"extract takes a lane of a vector, got {v.type}")
        return self._value(v.type.element, "extract", (v, self._lane(v.type, i)))

    def insert(self, v: Value, x: Value, i: int | Value) -> Value:
        """`v` with lane `i` replaced by `x`."""
        if v.type.lanes == 1 or x.type is not v.type.element:
            self._refuse("insert", "a vector and one element of it", v, x)
        return self._value(v.type, "insert", (v, x, self._lane(v.type, i)))

    def shuffle(self, v: Value, w: Value, indices: Sequence[int]) -> Value:
        """Lanes of `v` followed by `w`, picked by number; the result has one lane per index."""
        lanes = v.type.lanes
        if v.type is not w.type or lanes == 1:
            self._refuse("shuffle", "two vectors of one type", v, w)
        if len(indices) < 2 or not all(0 <= i < 2 * lanes for i in indices):
            raise VerificationError(f"shuffle of {v.type} takes lane numbers below {2 * lanes}, got {indices}")
        return self._value(Type(v.type.kind, len(indices)), "shuffle", (v, w), tuple(indices))

    def reduce(self, operation: str, v: Value) -> Value:
        """Combine all lanes: add mul min max (NaN propagates), integers umin umax, masks and or.

        Halves first, pairs last.
        """
        bitwise, unsigned = operation in ("and", "or"), operation in ("umin", "umax")
        fits = v.type.integer if bitwise else v.type.number and not (unsigned and v.type.floating)
        if operation not in REDUCTIONS or not fits:
            raise VerificationError(f"reduce has no {operation!r} for {v.type}")
        if v.type.lanes == 1:
            return v
        return self._value(v.type.element, "reduce", (v,), operation)

    # ---- memory

    def offset(self, pointer: Value, index: Value, element: Type) -> Value:
        """pointer + index * element.size (index i64; with lanes, a vector of addresses)."""
        if pointer.type.kind != "ptr" or index.type.kind != "i64":
            self._refuse("offset", "a pointer and an i64 index", pointer, index)
        if pointer.type.lanes not in (1, index.type.lanes):
            self._refuse("offset", "one pointer, or one per index", pointer, index)
        return self._value(Type("ptr", index.type.lanes), "offset", (pointer, index), element.size)

    def load(self, type: Type, pointer: Value, align: int | None = None) -> Value:
        """Read a scalar or consecutive lanes. `align` in bytes, by default the size of one lane."""
        self._memory("load", type, pointer)
        return self._value(type, "load", (pointer,), type.size if align is None else align)

    def store(self, value: Value, pointer: Value, align: int | None = None) -> None:
        self._memory("store", value.type, pointer)
        self._append(Store(value, pointer, value.type.size if align is None else align, None))

    def masked_load(self, type: Type, pointer: Value, mask: Value, other: Value) -> Value:
        """Read the lanes whose mask is true (the others are not touched and take their lane of `other`)."""
        self._memory("masked_load", type, pointer)
        if mask.type is not Type("i1", type.lanes) or other.type is not type or type.lanes == 1:
            self._refuse(f"masked_load of {type}", "a mask with its lanes and a default of its type", mask, other)
        return self._value(type, "masked_load", (pointer, mask, other), type.size)

    def masked_store(self, value: Value, pointer: Value, mask: Value) -> None:
        self._memory("masked_store", value.type, pointer)
        if mask.type is not Type("i1", value.type.lanes) or value.type.lanes == 1:
            self._refuse("masked_store", "a vector and a mask with its lanes", value, mask)
        self._append(Store(value, pointer, value.type.size, mask))

    def gather(self, type: Type, pointer: Value, indices: Value) -> Value:
        """Lane j reads pointer + indices[j] * type.size."""
        self._memory("gather", type, pointer)
        if indices.type is not Type("i64", type.lanes) or type.lanes == 1:
            self._refuse(f"gather of {type}", "i64 indices with its lanes", indices)
        return self._value(type, "gather", (pointer, indices), type.size)

    def stack(self, type: Type, count: int) -> Value:
        """`count` elements of memory that live as long as this call, 64-byte aligned, not initialised."""
        if count < 1 or type is void:
            raise VerificationError(f"stack memory needs at least one element, got {count} of {type}")
        return self._value(ptr, "stack", (), (count * type.size * type.lanes,))

    # ---- variables

    def variable(self, initial: Value) -> Variable:
        if initial.type is void:
            raise VerificationError("a variable needs a value, got the result of a call that returns none")
        self._count = n = self._count + 1
        variable = Variable(initial.type, f"%x.{n}")
        self._append(Set(variable, initial))
        return variable

    def get(self, variable: Variable) -> Value:
        return self._value(variable.type, "get", (), variable)

    def set(self, variable: Variable, value: Value) -> None:
        if value.type is not variable.type:
            raise VerificationError(f"a variable of type {variable.type} cannot be set to {value.type}")
        self._append(Set(variable, value))

    # ---- control

    @contextmanager
    def for_(self, start: int | Value, stop: int | Value, step: int | Value = 1) -> Iterator[Value]:
        """Count up from start (included) to stop (excluded); bounds are taken once, step must be positive."""
        bounds = [self.const(i64, b) if isinstance(b, int) else b for b in (start, stop, step)]
        if any(b.type is not i64 for b in bounds):
            self._refuse("for", "i64 bounds", *bounds)
        if bounds[2].op == "const" and cast("int", bounds[2].detail) <= 0:
            raise VerificationError(f"for counts up, got the step {bounds[2].detail}")
        self._count = n = self._count + 1
        index = Value(i64, "index", (), None, f"%i.{n}")
        statement = For(index, *bounds)
        self._append(statement)
        with self._inside(statement.body, loop=True):
            yield index

    @contextmanager
    def while_(self) -> Iterator[WhileLoop]:
        """Statements before `loop.check(condition)` are the test, those after it the body."""
        statement = While()
        self._append(statement)
        with self._inside(statement.test, loop=True):
            yield WhileLoop(statement, self._begin_body)
        if statement.condition is None:
            raise VerificationError("a while loop needs one loop.check(condition)")

    @contextmanager
    def if_(self, condition: Value) -> Iterator[None]:
        if condition.type is not i1:
            raise VerificationError(f"if tests an i1, got {condition.type}")
        statement = If(condition)
        self._append(statement)
        with self._inside(statement.then):
            yield

    @contextmanager
    def else_(self) -> Iterator[None]:
        """The other branch of the `if_` directly before."""
        last = self._block[-1] if self._block else None
        if not isinstance(last, If) or last.otherwise is not None:
            raise VerificationError("else_ must follow directly after the block of if_")
        last.otherwise = []
        with self._inside(last.otherwise):
            yield

    def break_(self) -> None:
        self._leave_loop("break", Break())

    def continue_(self) -> None:
        self._leave_loop("continue", Continue())

    def ret(self, value: Value | None = None) -> None:
        result = self.function.result
        if (void if value is None else value.type) is not result:
            got = "nothing" if value is None else value.type
            raise VerificationError(f"{self.function.name} returns {result}, got {got}")
        self._append(Return(value))
        self._append = _unreachable

    @property
    def terminated(self) -> bool:
        """Whether the current block has ended with ret, break_ or continue_."""
        return bool(self._block) and isinstance(self._block[-1], (Return, Break, Continue))

    # ---- calls

    def call(self, symbol: str, result: Type | None, *args: Value) -> Value:
        """Call another function of the module, or a symbol given to the JIT as import."""
        type = void if result is None else result
        self.module.declare(symbol, (type, tuple(a.type for a in args)))
        return self._value(type, "call", args, symbol)

    def call_pointer(self, address: Value, result: Type | None, *args: Value) -> Value:
        """Call the C function at `address` (ptr)."""
        if address.type is not ptr:
            raise VerificationError(f"call_pointer needs an address of type ptr, got {address.type}")
        return self._value(void if result is None else result, "call_pointer", (address, *args))

    def symbol(self, name: str, result: Type | None, *parameters: Type) -> Value:
        """The address of a function of the module, or of an imported symbol."""
        self.module.declare(name, (void if result is None else result, parameters))
        return self._value(ptr, "symbol", (), name)

    def math(self, name: str, *args: Value, result: Type | None = None) -> Value:
        """A function of the vector math library, by name; float32 goes through float64.

        Calls `consilience_<name>_f64x<lanes>`; float32 operands are widened and the result narrowed. i64
        operands (random draws) pass as they are. `result` gives another result type than float64. The
        functions are pure: calls with equal operands may be merged, and unused ones dropped.
        """
        if not args or any(a.type.lanes != args[0].type.lanes for a in args):
            self._refuse(f"math {name!r}", "operands with equal lanes", *args)
        if name in DIRECT_MATH and len(args) == 1:
            return self._value(args[0].type, name, args)
        narrow = any(a.type.kind == "f32" for a in args)
        lanes = args[0].type.lanes
        wide = Type("f64", lanes)
        operands = tuple(self.cast(a, wide) if a.type.kind == "f32" else a for a in args)
        if any(a.type.kind not in ("f64", "i64") for a in operands):
            self._refuse(f"math {name!r}", "f64, f32 or i64 operands", *args)
        symbol = f"consilience_{name}_f64x{lanes}"
        type = wide if result is None else result
        self.module.declare(symbol, (type, tuple(a.type for a in operands)), pure=True)
        value = self._value(type, "call", operands, symbol)
        return self.cast(value, Type("f32", lanes)) if narrow and result is None else value

    # ---- inside

    def _value(self, type: Type, op: str, args: tuple[Value, ...], detail: Detail = None) -> Value:
        self._count = n = self._count + 1
        value = Value(type, op, args, detail, f"%v.{n}")
        self._append(value)
        return value

    def _arithmetic(self, op: str, x: Value, y: Value) -> Value:
        type = x.type
        if type is not y.type or not type.number:
            self._refuse(op, "two numbers of one type (masks: and_ or_ xor not_)", x, y)
        self._count = n = self._count + 1
        value = Value(type, op, (x, y), None, f"%v.{n}")
        self._append(value)
        return value

    def _pair(self, op: str, x: Value, y: Value, kind: bool) -> Value:
        if x.type is not y.type or not kind:
            self._refuse(op, "two fitting operands of one type", x, y)
        return self._value(x.type, op, (x, y))

    def _single(self, op: str, x: Value, kind: bool) -> Value:
        self._kind(op, x, kind)
        return self._value(x.type, op, (x,))

    def _kind(self, op: str, x: Value, kind: bool) -> None:
        if not kind:
            self._refuse(op, "another kind of operand", x)

    def _refuse(self, op: str, needed: str, *args: Value) -> NoReturn:
        got = " and ".join(repr(a.type) for a in args)
        raise VerificationError(f"{op} needs {needed}, got {got} in function {self.function.name!r}")

    def _memory(self, op: str, type: Type, pointer: Value) -> None:
        if pointer.type is not ptr or type is void:
            raise VerificationError(f"{op} needs a ptr and a type, got {pointer.type} and {type}")

    def _lane(self, type: Type, i: int | Value) -> Value:
        if isinstance(i, int):
            if not 0 <= i < type.lanes:
                raise VerificationError(f"{type} has no lane {i}")
            return self.const(i64, i)
        if i.type is not i64:
            raise VerificationError(f"a lane number is an i64, got {i.type}")
        return i

    @contextmanager
    def _inside(self, block: list[Statement], loop: bool = False) -> Iterator[None]:
        outer, append = self._block, self._append
        self._block, self._append = block, block.append
        self._loops += loop
        try:
            yield
        finally:
            self._block, self._append = outer, append
            self._loops -= loop

    def _begin_body(self, statement: While, condition: Value) -> None:
        if self._block is not statement.test:
            raise VerificationError("loop.check belongs to the outermost block of its while loop")
        statement.condition = condition
        self._block, self._append = statement.body, statement.body.append

    def _leave_loop(self, name: str, statement: Break | Continue) -> None:
        if not self._loops:
            raise VerificationError(f"{name} needs a loop around it, in function {self.function.name!r}")
        self._append(statement)
        self._append = _unreachable


def _unreachable(statement: Statement) -> NoReturn:
    raise VerificationError(f"{statement.op} can never run: it follows return, break or continue")
