"""Translation of expressions.

In: syntax trees of expressions. Out: typed values in the loop program. Integers behave as Python's (`//` and
`%` round down, `/` gives f64), u64 counts modulo 2**64. Outside: calls (`calls`), statements (`translate`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from consilience.native.loops import Builder
from consilience.native.program import Type, Value, i1, i8, i64, ptr
from consilience.native.typed_python.function import NativeFunction
from consilience.native.typed_python.native_types import BOOLEAN, F64, I64, U64, NativeType
from consilience.native.typed_python.records import layout
from consilience.native.typed_python.scope import Scope, Typed

COMPARISONS: Final = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
SYMBOLS: Final = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
                  ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
                  ast.Pow: "**", ast.MatMult: "@"}  # fmt: skip
SIMPLE: Final[dict[str, Callable[[Builder, Value, Value], Value]]] = {
    "+": Builder.add, "-": Builder.sub, "*": Builder.mul, "/": Builder.div, "&": Builder.and_,
    "|": Builder.or_, "^": Builder.xor, "<<": Builder.shl,
}  # fmt: skip
WIDE: Final = {"f32": F64, "i32": I64, "i8": I64}  # small numbers exist in memory only
HINTS: Final = {
    "Subscript": "index arrays by one i64 or slice them as a[start:]",
    "List": "arrays are made outside and passed in, or by stack(f64, count)",
    "ListComp": "write a for loop",
    "GeneratorExp": "write a for loop",
    "Dict": "use a record",
    "Set": "use a record",
    "JoinedStr": "typed Python has no strings",
    "Lambda": "write a @native function",
    "Await": "typed Python is synchronous",
    "NamedExpr": "assign on a line of its own",
}


class Expressions(Scope):
    """Translates expressions; `calls.Calls` adds calls."""

    def expression(self, node: ast.expr) -> Typed:
        """Translate any expression."""
        match node:
            case ast.Constant():
                return self.literal(node, node.value)
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.BinOp():
                return self.binary(node, SYMBOLS[type(node.op)], self.expression(node.left), node.right)
            case ast.UnaryOp():
                return self.unary(node)
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp():
                return self.logical(node)
            case ast.IfExp():
                return self.choice(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Call():
                return self.call(node)
            case ast.Tuple():
                parts = tuple(self.expression(e) for e in node.elts)
                return Typed(None, NativeType("tuple", parameters=tuple(p.type for p in parts)), parts=parts)
            case _:
                kind = type(node).__name__
                raise self.error(
                    node, f"typed Python has no {kind} expression; {HINTS.get(kind, 'use a simpler form')}"
                )

    def call(self, node: ast.Call) -> Typed:
        raise NotImplementedError  # given by calls.Calls

    # ---- atoms

    def literal(self, node: ast.AST, number: object) -> Typed:
        """A constant of the program."""
        if isinstance(number, bool):
            return Typed(self.b.const(i1, number), BOOLEAN)
        if isinstance(number, int):
            if not -(1 << 63) <= number < 1 << 64:
                raise self.error(node, f"{number} does not fit 64 bits")
            type = I64 if number < 1 << 63 else U64
            return Typed(self.b.const(i64, number), type, number)
        if isinstance(number, float):
            return Typed(self.b.const(F64.register, number), F64, number)
        raise self.error(
            node, f"typed Python has no constant {number!r} of type {_kind(number)}; use int, float or bool"
        )

    def name(self, node: ast.Name) -> Typed:
        local = self.locals.get(node.id)
        if local is not None:
            if node.id not in self.assigned:
                raise self.error(node, f"`{node.id}` may be unset here; assign it on every path that leads here")
            return Typed(self.b.get(local.variable), local.type)
        if node.id in self.parameters:
            return self.parameters[node.id]
        if node.id in self.local_names:
            raise self.error(node, f"`{node.id}` is used before it is assigned")
        return self.global_value(node, self.constant(node))

    def global_value(self, node: ast.expr, found: Any) -> Typed:
        """A global constant, or the address of a native function."""
        if isinstance(found, NativeFunction):
            parameters, result = found.signature
            types = tuple(parameters.values())
            if result.kind == "tuple":
                raise self.error(node, f"`{found.name}` returns a tuple; only functions with one result are passed on")
            address = self.b.symbol(self.program.symbol(found), result.register, *(t.register for t in types))
            return Typed(address, NativeType("function", parameters=types, result=result))
        if isinstance(found, (bool, int, float)):
            return self.literal(node, found)
        raise self.error(
            node, f"`{ast.unparse(node)}` is a {_kind(found)}; globals may be numbers and @native functions"
        )

    def attribute(self, node: ast.Attribute) -> Typed:
        found = self.constant(node)
        if not self.is_missing(found):
            return self.global_value(node, found)
        pointer, type = self.field(node)
        return self.read(pointer, type, slot=True)

    def field(self, node: ast.Attribute) -> tuple[Value, NativeType]:
        """Address and type of a record's field."""
        owner = self.expression(node.value)
        if owner.type.kind != "record" or owner.type.record is None or owner.value is None:
            raise self.error(node, f"`{ast.unparse(node.value)}` is {owner.type} and has no field `{node.attr}`")
        fields = layout(owner.type.record)
        if node.attr not in fields.names:
            raise self.error(node, f"{owner.type} has no field `{node.attr}`; its fields are {', '.join(fields.names)}")
        position = fields.names.index(node.attr)
        return self.b.offset(owner.value, self.b.const(i64, position), i64), fields.types[position]

    def subscript(self, node: ast.Subscript) -> Typed:
        array = self.expression(node.value)
        if array.type.kind != "array" or array.type.element is None or array.value is None:
            raise self.error(node, f"`{ast.unparse(node.value)}` is {array.type}, which cannot be indexed")
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise self.error(node, "slices have no step; write a loop over every step-th index")
            if node.slice.lower is None:
                return array
            start = self.index(node.slice.lower)
            return Typed(self.b.offset(array.value, start, _stored(array.type.element)), array.type)
        return self.read(self.element(node, array), array.type.element)

    def element(self, node: ast.Subscript, array: Typed) -> Value:
        """Address of `array[index]`."""
        if array.type.element is None or array.value is None:
            raise self.error(node, f"{array.type} cannot be indexed")
        return self.b.offset(array.value, self.index(node.slice), _stored(array.type.element))

    def index(self, node: ast.expr) -> Value:
        position = self.expression(node)
        if position.type.kind != "i64" or position.value is None:
            raise self.error(node, f"an index is an i64, got {position.type}; write i64(...)")
        if position.constant is not None and position.constant < 0:
            raise self.error(node, "negative indices count from the end, which is unknown here; pass the length")
        return position.value

    def read(self, pointer: Value, type: NativeType, slot: bool = False) -> Typed:
        """Load an array element, or an 8-byte slot. Small numbers widen to f64 or i64."""
        if slot and type.kind == "boolean":
            return Typed(self.b.cast(self.b.load(i64, pointer), i1), type)
        value = self.b.load(type.register, pointer)
        wide = WIDE.get(type.kind)
        return Typed(value, type) if wide is None else Typed(self.b.cast(value, wide.register), wide)

    def write(self, pointer: Value, type: NativeType, value: Value, slot: bool = False) -> None:
        """Store `value`, given in its register type, as `read` will find it."""
        if slot and type.kind == "boolean":
            value = self.b.cast(value, i64)
        elif type.kind in WIDE:
            value = self.b.cast(value, type.register)
        self.b.store(value, pointer)

    # ---- conversion

    def to(self, node: ast.AST, got: Typed, wanted: NativeType, what: str) -> Value:
        """`got` as a `wanted`: integers become f64, literals fit any number; nothing else is implicit."""
        wide = WIDE.get(wanted.kind, wanted)
        if got.value is None:
            raise self.error(node, f"{what} must be {wanted}, got {got.type}")
        if got.type == wide:
            return got.value
        if got.constant is not None and isinstance(got.constant, int):
            if wide is F64:
                return self.b.const(wide.register, float(got.constant))
            if wide is U64 or (wide is I64 and got.constant < 1 << 63):
                return self.b.const(i64, got.constant & ((1 << 64) - 1))
        if wide is F64 and got.type.kind in ("i64", "u64"):
            return self.b.cast(got.value, wide.register, signed=got.type is I64)
        help = f"; write {wide}(...)" if wide.number and got.type.number else ""
        raise self.error(node, f"{what} must be {wanted}, got {got.type}{help}")

    def boolean(self, node: ast.expr) -> Value:
        """A condition."""
        got = self.expression(node)
        if got.type.kind != "boolean" or got.value is None:
            raise self.error(node, f"a condition is a boolean, `{ast.unparse(node)}` is {got.type}; write a comparison")
        return got.value

    def together(self, node: ast.AST, x: Typed, y: Typed, symbol: str) -> tuple[Value, Value, NativeType]:
        """Both operands of an arithmetic operation in their common type."""
        if not (x.type.number and y.type.number) or x.value is None or y.value is None:
            raise self.error(node, f"`{symbol}` needs numbers, got {x.type} and {y.type}")
        if x.type == y.type:
            return x.value, y.value, x.type
        if F64 in (x.type, y.type):
            return self.to(node, x, F64, "operand"), self.to(node, y, F64, "operand"), F64
        if x.constant is not None or y.constant is not None:
            return x.value, y.value, U64  # a u64 with a literal
        raise self.error(node, f"`{symbol}` mixes {x.type} and {y.type}; write u64(...) or i64(...)")

    # ---- operations

    def binary(self, node: ast.AST, symbol: str, x: Typed, right: ast.expr) -> Typed:
        return self.operation(node, symbol, x, self.expression(right))

    def operation(self, node: ast.AST, symbol: str, x: Typed, y: Typed) -> Typed:
        b = self.b
        if symbol in ("&", "|", "^") and x.type == y.type == BOOLEAN and x.value and y.value:
            return Typed(SIMPLE[symbol](b, x.value, y.value), BOOLEAN)
        if symbol == "**":
            raise self.error(node, "typed Python has no `**`; write a product or mathematics.pow(x, y)")
        if symbol == "@":
            raise self.error(node, "typed Python has no `@`; write loops")
        p, q, kind = self.together(node, x, y, symbol)
        if kind is F64:
            if symbol not in "+-*/":
                help = "; write floor(x / y)" if symbol == "//" else ""
                raise self.error(node, f"`{symbol}` takes integers, got {x.type} and {y.type}{help}")
            return Typed(SIMPLE[symbol](b, p, q), F64)
        if symbol == "/":
            signed = kind is I64
            return Typed(b.div(b.cast(p, F64.register, signed), b.cast(q, F64.register, signed)), F64)
        if symbol in SIMPLE:
            return Typed(SIMPLE[symbol](b, p, q), kind, _folded(symbol, x.constant, y.constant))
        if symbol == ">>":
            return Typed((b.ashr if kind is I64 else b.lshr)(p, q), kind)
        if kind is U64:
            return Typed((b.div_unsigned if symbol == "//" else b.rem_unsigned)(p, q), kind)
        return Typed(self._floor_quotient(p, q, y.constant, symbol == "//"), I64)

    def _floor_quotient(self, p: Value, q: Value, divisor: int | float | None, quotient: bool) -> Value:
        """Python's `//` or `%`: the machine truncates, so the result moves when the signs differ."""
        b = self.b
        if isinstance(divisor, int) and divisor > 0 and divisor & (divisor - 1) == 0:
            shift = divisor.bit_length() - 1
            return b.ashr(p, b.const(i64, shift)) if quotient else b.and_(p, b.const(i64, divisor - 1))
        zero = b.const(i64, 0)
        rest = b.rem(p, q)
        differ = b.and_(b.cmp("ne", rest, zero), b.cmp("lt", b.xor(rest, q), zero))
        if quotient:
            return b.sub(b.div(p, q), b.cast(differ, i64))
        return b.add(rest, b.select(differ, q, zero))

    def unary(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number = node.operand.value
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                return self.literal(node, -number)
        if isinstance(node.op, ast.Not):
            return Typed(self.b.not_(self.boolean(node.operand)), BOOLEAN)
        x = self.expression(node.operand)
        if not x.type.number or x.value is None:
            raise self.error(node, f"this operator takes a number, got {x.type}")
        if isinstance(node.op, ast.UAdd):
            return x
        if isinstance(node.op, ast.USub):
            return Typed(self.b.neg(x.value), x.type, None if x.constant is None else -x.constant)
        if x.type is F64:
            raise self.error(node, "`~` takes an integer, got f64")
        return Typed(self.b.not_(x.value), x.type)

    def comparison(self, node: ast.Compare) -> Typed:
        left = self.expression(node.left)
        result: Value | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if type(op) not in COMPARISONS:
                raise self.error(node, f"typed Python has no `{_kind(op)}` comparison")
            right = self.expression(right_node)
            one = self._compare(node, COMPARISONS[type(op)], left, right)
            result = one if result is None else self.b.and_(result, one)
            left = right
        if result is None:
            raise self.error(node, "a comparison needs two operands")
        return Typed(result, BOOLEAN)

    def _compare(self, node: ast.AST, predicate: str, x: Typed, y: Typed) -> Value:
        if x.type == y.type == BOOLEAN and x.value and y.value and predicate in ("eq", "ne"):
            return self.b.cmp(predicate, x.value, y.value)
        p, q, kind = self.together(node, x, y, predicate)
        unsigned = kind is U64 and predicate not in ("eq", "ne")
        return self.b.cmp(f"u{predicate}" if unsigned else predicate, p, q)

    def logical(self, node: ast.BoolOp) -> Typed:
        """`and` and `or`: the right side runs only when it decides."""
        result = self.b.variable(self.boolean(node.values[0]))
        for other in node.values[1:]:
            so_far = self.b.get(result)
            decide = so_far if isinstance(node.op, ast.And) else self.b.not_(so_far)
            with self.b.if_(decide):
                self.b.set(result, self.boolean(other))
        return Typed(self.b.get(result), BOOLEAN)

    def choice(self, node: ast.IfExp) -> Typed:
        """`x if condition else y`; only the chosen side runs."""
        condition = self.boolean(node.test)
        result = None
        with self.b.if_(condition):
            x = self.expression(node.body)
            if x.value is None:
                raise self.error(node, "a conditional expression chooses between single values")
            type = x.type
            result = self.b.variable(x.value)
        with self.b.else_():
            y = self.expression(node.orelse)
            if type is I64 and y.type is F64:
                raise self.error(node, "one side is i64 and the other f64; write f64(...) or a literal with a point")
            self.b.set(result, self.to(node, y, type, "the side after else"))
        return Typed(self.b.get(result), type)


def _stored(element: NativeType) -> Type:
    return {"boolean": i8}.get(element.kind, element.register) if element.kind != "array" else ptr


def _folded(symbol: str, x: int | float | None, y: int | float | None) -> int | None:
    """The value of an integer literal expression, so that `-1 + 2` or `1 << 32` still counts as a literal."""
    if not isinstance(x, int) or not isinstance(y, int):
        return None
    match symbol:
        case "+":
            found = x + y
        case "-":
            found = x - y
        case "*":
            found = x * y
        case "<<" if 0 <= y < 64:
            found = x << y
        case _:
            return None
    return found if -(1 << 63) <= found < 1 << 63 else None


def _kind(thing: object) -> str:
    return type(thing).__name__
