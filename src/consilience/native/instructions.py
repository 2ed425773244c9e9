"""LLVM text of single instructions.

In: values of a loop program. Out: lines of LLVM IR, and the intrinsics they need declared. Outside: blocks,
control flow, functions (`emit`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from consilience.native.program import Type, Value, i1, i8, void

if TYPE_CHECKING:
    from consilience.native.target import Target

ELEMENT: Final = {"f64": "double", "f32": "float"}
FLOAT_OPS: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rem": "frem",
                    "add_reassociated": "fadd"}  # fmt: skip
INTEGER_OPS: Final = {"add": "add", "sub": "sub", "mul": "mul", "div": "sdiv", "rem": "srem",
                      "div_unsigned": "udiv", "rem_unsigned": "urem", "and": "and", "or": "or", "xor": "xor",
                      "shl": "shl", "lshr": "lshr", "ashr": "ashr"}  # fmt: skip
BINARY: Final = tuple(dict.fromkeys((*FLOAT_OPS, *INTEGER_OPS)))
INTRINSICS: Final = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
                     "round_even": "roundeven", "copysign": "copysign"}  # fmt: skip
FLOAT_PREDICATES: Final = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
INTEGER_PREDICATES: Final = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
EXTENSION: Final = {"i1": " zeroext", "i8": " signext", "i16": " signext", "i32": " signext"}


_spelled: dict[Type, str] = {}


def spell(type: Type) -> str:
    """LLVM's name of a type."""
    known = _spelled.get(type)
    if known is None:
        element = ELEMENT.get(type.kind, type.kind)
        known = _spelled[type] = element if type.lanes == 1 else f"<{type.lanes} x {element}>"
    return known


def mangle(type: Type) -> str:
    """A type as it appears in the name of an intrinsic."""
    kind = "p0" if type.kind == "ptr" else type.kind
    return kind if type.lanes == 1 else f"v{type.lanes}{kind}"


class Instructions:
    """Writes one value after the other into `out`."""

    def __init__(self, target: Target) -> None:
        self.x86 = target.triple.startswith(("x86_64", "i686", "amd64"))
        self.windows = self.x86 and "windows" in target.triple
        self.fused = target.fma
        self.out: list[str] = []
        self.entry: list[str] = []  # stack slots, which belong into the first block
        self.declared: dict[str, str] = {}
        self.prefixes: dict[tuple[str, Type], str] = {}
        self.contract = ""
        self.labels = 0

    def declare(self, intrinsic: str, result: str, parameters: str) -> str:
        if intrinsic not in self.declared:
            self.declared[intrinsic] = f"declare {result} @{intrinsic}({parameters})\n"
        return intrinsic

    def convention(self, result: Type, parameters: tuple[Type, ...]) -> str:
        """Vectors travel in registers; the C convention of Windows would pass them by pointer."""
        if self.windows and (result.lanes > 1 or any(p.lanes > 1 for p in parameters)):
            return "x86_regcallcc "
        return ""

    def temporary(self, instruction: str) -> str:
        self.labels = n = self.labels + 1
        self.out.append(f"  %t.{n} = {instruction}\n")
        return f"%t.{n}"

    def binary(self, v: Value) -> None:
        key = (v.op, v.type)
        prefix = self.prefixes.get(key)
        if prefix is None:
            if v.type.floating:
                flags = "reassoc " if v.op == "add_reassociated" else ""
                flags += self.contract if v.op not in ("div", "rem") else ""
                prefix = f"{FLOAT_OPS[v.op]} {flags}{spell(v.type)}"
            else:
                prefix = f"{INTEGER_OPS[v.op]} {spell(v.type)}"
            self.prefixes[key] = prefix
        x, y = v.args
        self.out.append(f"  {v.reference} = {prefix} {x.reference}, {y.reference}\n")

    def intrinsic(self, v: Value, name: str, *args: Value) -> None:
        type = spell(v.type)
        name = f"llvm.{name}.{mangle(v.type)}"
        if name not in self.declared:
            self.declare(name, type, ", ".join(spell(a.type) for a in args))
        operands = ", ".join(f"{type} {a.reference}" for a in args)
        self.out.append(f"  {v.reference} = call {type} @{name}({operands})\n")

    def direct(self, v: Value) -> None:
        self.intrinsic(v, INTRINSICS[v.op], *v.args)

    def neg(self, v: Value) -> None:
        (x,) = v.args
        operation = "fneg {}" if v.type.floating else "sub {} zeroinitializer,"
        self.out.append(f"  {v.reference} = {operation.format(spell(v.type))} {x.reference}\n")

    def absolute(self, v: Value) -> None:
        if v.type.floating:
            self.intrinsic(v, "fabs", *v.args)
            return
        type = spell(v.type)
        name = self.declare(f"llvm.abs.{mangle(v.type)}", type, f"{type}, i1 immarg")
        self.out.append(f"  {v.reference} = call {type} @{name}({type} {v.args[0].reference}, i1 false)\n")

    def fma(self, v: Value) -> None:
        if self.fused:
            self.intrinsic(v, "fma", *v.args)
            return
        # Without the instruction llvm.fma is a library call per lane.
        x, y, z = v.args
        type = spell(v.type)
        product = self.temporary(f"fmul {type} {x.reference}, {y.reference}")
        self.out.append(f"  {v.reference} = fadd {type} {product}, {z.reference}\n")

    def extremum(self, v: Value) -> None:
        x, y = v.args
        name = "min" if v.op == "minimum" else "max"
        if v.type.integer:
            self.intrinsic(v, f"s{name}", x, y)
        elif not self.x86:
            self.intrinsic(v, v.op, x, y)
        else:
            known = _number(x), _number(y)
            self._extremum(v.reference, v.type, v.op == "minimum", x.reference, y.reference, *known)

    def _extremum(
        self,
        result: str,
        type: Type,
        least: bool,
        x: str,
        y: str,
        x_known: bool = False,
        y_known: bool = False,
    ) -> None:
        """min and max of x86 give the second operand on NaN: enough when the first cannot be NaN."""
        t, mask = spell(type), spell(Type("i1", type.lanes))
        if y_known:
            x, y, x_known = y, x, True
        better = self.temporary(f"fcmp {'olt' if least else 'ogt'} {t} {x}, {y}")
        if x_known:
            self.out.append(f"  {result} = select {mask} {better}, {t} {x}, {t} {y}\n")
            return
        chosen = self.temporary(f"select {mask} {better}, {t} {x}, {t} {y}")
        if type.lanes > 1:  # kept apart, or LLVM joins both choices into one that waits for two comparisons
            fence = self.declare(f"llvm.arithmetic.fence.{mangle(type)}", t, t)
            chosen = self.temporary(f"call {t} @{fence}({t} {chosen})")
        missing = self.temporary(f"fcmp uno {t} {x}, {x}")
        self.out.append(f"  {result} = select {mask} {missing}, {t} {x}, {t} {chosen}\n")

    def invert(self, v: Value) -> None:
        type = spell(v.type)
        ones = ("true" if v.type.kind == "i1" else "-1") if v.type.lanes == 1 else None
        if ones is None:
            ones = f"splat ({v.type.kind} {'true' if v.type.kind == 'i1' else '-1'})"
        self.out.append(f"  {v.reference} = xor {type} {v.args[0].reference}, {ones}\n")

    def compare(self, v: Value) -> None:
        x, y = v.args
        predicate = cast("str", v.detail)
        if x.type.floating:
            operation = f"fcmp {FLOAT_PREDICATES[predicate]}"
        else:
            name = INTEGER_PREDICATES.get(predicate, predicate)
            if x.type.kind == "i1" and name.startswith("s"):
                name = f"u{predicate}"  # false < true
            operation = f"icmp {name}"
        self.out.append(f"  {v.reference} = {operation} {spell(x.type)} {x.reference}, {y.reference}\n")

    def isnan(self, v: Value) -> None:
        (x,) = v.args
        self.out.append(f"  {v.reference} = fcmp uno {typed(x)}, {x.reference}\n")

    def select(self, v: Value) -> None:
        mask, x, y = v.args
        self.out.append(f"  {v.reference} = select {typed(mask)}, {typed(x)}, {typed(y)}\n")

    def convert(self, v: Value) -> None:
        (x,) = v.args
        source, type = x.type, v.type
        signed = v.op == "cast" and source.kind != "i1"
        if type.kind == "i1":
            test = "fcmp une" if source.floating else "icmp ne"
            self.out.append(f"  {v.reference} = {test} {typed(x)}, zeroinitializer\n")
            return
        if source.floating and type.integer:
            kind = "fptosi" if v.op == "cast" else "fptoui"
            name = self.declare(f"llvm.{kind}.sat.{mangle(type)}.{mangle(source)}", spell(type), spell(source))
            self.out.append(f"  {v.reference} = call {spell(type)} @{name}({typed(x)})\n")
            return
        if type.floating and source.integer:
            operation = "sitofp" if signed else "uitofp"
        elif type.floating:
            operation = "fpext" if type.bits > source.bits else "fptrunc"
        else:
            operation = "trunc" if type.bits < source.bits else "sext" if signed else "zext"
        self.out.append(f"  {v.reference} = {operation} {typed(x)} to {spell(type)}\n")

    def bitcast(self, v: Value) -> None:
        (x,) = v.args
        operation = {"ptr": "inttoptr"}.get(v.type.kind, "ptrtoint" if x.type.kind == "ptr" else "bitcast")
        self.out.append(f"  {v.reference} = {operation} {typed(x)} to {spell(v.type)}\n")

    def splat(self, v: Value) -> None:
        (x,) = v.args
        type = spell(v.type)
        first = self.temporary(f"insertelement {type} poison, {typed(x)}, i64 0")
        zeros = f"<{v.type.lanes} x i32> zeroinitializer"
        self.out.append(f"  {v.reference} = shufflevector {type} {first}, {type} poison, {zeros}\n")

    def extract(self, v: Value) -> None:
        x, i = v.args
        self.out.append(f"  {v.reference} = extractelement {typed(x)}, i64 {i.reference}\n")

    def insert(self, v: Value) -> None:
        vector, x, i = v.args
        self.out.append(f"  {v.reference} = insertelement {typed(vector)}, {typed(x)}, i64 {i.reference}\n")

    def shuffle(self, v: Value) -> None:
        x, y = v.args
        indices = ", ".join(f"i32 {i}" for i in cast("tuple[int, ...]", v.detail))
        self.out.append(f"  {v.reference} = shufflevector {typed(x)}, {typed(y)}, <{v.type.lanes} x i32> <{indices}>\n")

    def reduce(self, v: Value) -> None:
        (x,) = v.args
        operation, type = cast("str", v.detail), x.type
        if type.integer:
            name = {"min": "smin", "max": "smax"}.get(operation, operation)
            intrinsic = f"llvm.vector.reduce.{name}.{mangle(type)}"
            self.declare(intrinsic, spell(v.type), spell(type))
            self.out.append(f"  {v.reference} = call {spell(v.type)} @{intrinsic}({typed(x)})\n")
            return
        vector, lanes = x.reference, type.lanes
        while lanes > 1:
            wide, half = spell(Type(type.kind, lanes)), Type(type.kind, lanes // 2)
            lanes //= 2
            if lanes == 1:
                low = self.temporary(f"extractelement {wide} {vector}, i64 0")
                high = self.temporary(f"extractelement {wide} {vector}, i64 1")
            else:
                low, high = (
                    self.temporary(
                        f"shufflevector {wide} {vector}, {wide} poison, <{lanes} x i32> "
                        f"<{', '.join(f'i32 {first + i}' for i in range(lanes))}>"
                    )
                    for first in (0, lanes)
                )
            name = v.reference if lanes == 1 else self.fresh()
            if operation in ("min", "max"):
                self._extremum(name, half, operation == "min", low, high)
            else:
                # Without reassoc: the order is written out, so every machine gives the same bits.
                self.out.append(f"  {name} = f{operation} {spell(half)} {low}, {high}\n")
            vector = name

    def fresh(self) -> str:
        self.labels = n = self.labels + 1
        return f"%t.{n}"

    def offset(self, v: Value) -> None:
        pointer, index = v.args
        size = cast("int", v.detail)
        element = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}[size]
        self.out.append(f"  {v.reference} = getelementptr {element}, {typed(pointer)}, {typed(index)}\n")

    def load(self, v: Value) -> None:
        self._loaded(v, lambda type: f"load {spell(type)}, ptr {v.args[0].reference}, align {cast('int', v.detail)}")

    def _loaded(self, v: Value, instruction: Callable[[Type], str]) -> None:
        """Masks lie in memory as one byte per lane."""
        if v.type.kind != "i1":
            self.out.append(f"  {v.reference} = {instruction(v.type)}\n")
            return
        type = Type("i8", v.type.lanes)
        byte = self.temporary(instruction(type))
        self.out.append(f"  {v.reference} = icmp ne {spell(type)} {byte}, zeroinitializer\n")

    def masked_load(self, v: Value) -> None:
        pointer, mask, other = v.args
        fallback = other.reference
        if v.type.kind == "i1":
            fallback = self.temporary(f"zext {typed(other)} to {spell(Type('i8', v.type.lanes))}")

        def instruction(type: Type) -> str:
            t, m = spell(type), spell(mask.type)
            name = self.declare(f"llvm.masked.load.{mangle(type)}.p0", t, f"ptr, i32 immarg, {m}, {t}")
            return (
                f"call {t} @{name}(ptr {pointer.reference}, i32 {cast('int', v.detail)}, "
                f"{m} {mask.reference}, {t} {fallback})"
            )

        self._loaded(v, instruction)

    def gather(self, v: Value) -> None:
        pointer, indices = v.args
        lanes = v.type.lanes
        element = spell(i8 if v.type.element is i1 else v.type.element)
        where = self.temporary(f"getelementptr {element}, ptr {pointer.reference}, {typed(indices)}")

        def instruction(type: Type) -> str:
            t, p, m = spell(type), f"<{lanes} x ptr>", f"<{lanes} x i1>"
            name = self.declare(f"llvm.masked.gather.{mangle(type)}.v{lanes}p0", t, f"{p}, i32 immarg, {m}, {t}")
            return f"call {t} @{name}({p} {where}, i32 {cast('int', v.detail)}, {m} splat (i1 true), {t} poison)"

        self._loaded(v, instruction)

    def stack(self, v: Value) -> None:
        (size,) = cast("tuple[int]", v.detail)
        self.entry.append(f"  {v.reference} = alloca [{size} x i8], align 64\n")

    def get(self, v: Value) -> None:
        self.out.append(f"  {v.reference} = load {spell(v.type)}, ptr {cast('Any', v.detail).reference}\n")

    def call(self, v: Value) -> None:
        symbol = cast("str", v.detail)
        self._call(v, symbol_text(symbol), v.args)

    def call_pointer(self, v: Value) -> None:
        self._call(v, v.args[0].reference, v.args[1:])

    def _call(self, v: Value, callee: str, args: tuple[Value, ...]) -> None:
        operands = ", ".join(f"{parameter_text(a.type)} {a.reference}" for a in args)
        result = "" if v.type is void else f"{v.reference} = "
        convention = self.convention(v.type, tuple(a.type for a in args))
        self.out.append(f"  {result}call {convention}{result_text(v.type)} {callee}({operands})\n")

    def symbol(self, v: Value) -> None:
        self.out.append(f"  {v.reference} = getelementptr i8, ptr {symbol_text(cast('str', v.detail))}, i64 0\n")


VALUES: Final[dict[str, Callable[[Instructions, Any], None]]] = {
    **dict.fromkeys(BINARY, Instructions.binary),
    **dict.fromkeys(INTRINSICS, Instructions.direct),
    "abs": Instructions.absolute,
    "bitcast": Instructions.bitcast,
    "call": Instructions.call,
    "call_pointer": Instructions.call_pointer,
    "cast": Instructions.convert,
    "cast_unsigned": Instructions.convert,
    "cmp": Instructions.compare,
    "extract": Instructions.extract,
    "fma": Instructions.fma,
    "gather": Instructions.gather,
    "get": Instructions.get,
    "insert": Instructions.insert,
    "isnan": Instructions.isnan,
    "load": Instructions.load,
    "masked_load": Instructions.masked_load,
    "maximum": Instructions.extremum,
    "minimum": Instructions.extremum,
    "neg": Instructions.neg,
    "not": Instructions.invert,
    "offset": Instructions.offset,
    "reduce": Instructions.reduce,
    "select": Instructions.select,
    "shuffle": Instructions.shuffle,
    "splat": Instructions.splat,
    "stack": Instructions.stack,
    "symbol": Instructions.symbol,
}


def parameter_text(type: Type) -> str:
    """A type as it is passed: C leaves the widening of small integers to the caller."""
    return spell(type) + (EXTENSION.get(type.kind, "") if type.lanes == 1 else "")


def result_text(type: Type) -> str:
    """A type as it is returned."""
    extension = EXTENSION.get(type.kind) if type.lanes == 1 else None
    return spell(type) if extension is None else f"{extension[1:]} {spell(type)}"


def symbol_text(symbol: str) -> str:
    """A symbol as LLVM writes it, quoted where it must be."""
    return f"@{symbol}" if symbol.replace("_", "a").isalnum() else f'@"{symbol}"'


def typed(v: Value) -> str:
    """A value with its type before it."""
    return f"{spell(v.type)} {v.reference}"


def _number(v: Value) -> bool:
    """Whether `v` is a constant without NaN."""
    if v.op != "const":
        return False
    numbers = cast("tuple[float, ...]", v.detail if isinstance(v.detail, tuple) else (v.detail,))
    return all(n == n for n in numbers)
