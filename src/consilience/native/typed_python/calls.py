"""Translation of calls: conversions, mathematics, other native functions, function values.

In: call expressions. Out: typed values. Outside: everything that is no call.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Final

from consilience.native.mathematics import NATIVE, Row
from consilience.native.program import Value, i1, i64
from consilience.native.typed_python import native_types
from consilience.native.typed_python.expressions import WIDE, Expressions
from consilience.native.typed_python.function import NativeFunction
from consilience.native.typed_python.native_types import (
    BOOLEAN,
    DTYPES,
    F32,
    F64,
    I8,
    I32,
    I64,
    NONE,
    U64,
    NativeType,
)
from consilience.native.typed_python.scope import Typed

CONVERSIONS: Final[dict[object, NativeType]] = {
    builtins.float: F64,
    builtins.int: I64,
    builtins.bool: BOOLEAN,
    native_types.f32: F32,
    native_types.i64: I64,
    native_types.i32: I32,
    native_types.i8: I8,
    native_types.u64: U64,
}
FROM_REGISTER: Final = {"f64": F64, "i64": I64, "i1": BOOLEAN}


class Calls(Expressions):
    """Adds calls to the expressions."""

    def call(self, node: ast.Call) -> Typed:
        callee = self.constant(node.func)
        if self.is_missing(callee):
            return self._function_value(node)
        if isinstance(callee, NativeFunction):
            return self._native(node, callee)
        if node.keywords:
            raise self.error(node, f"`{ast.unparse(node.func)}` takes its arguments in order, without names")
        wanted = CONVERSIONS.get(callee) if _hashable(callee) else None
        if wanted is not None:
            return self._conversion(node, wanted)
        row = NATIVE.get(callee) if _hashable(callee) else None
        if row is not None:
            return self._mathematics(node, row)
        if callee is native_types.stack:
            return self._stack(node)
        if callee is builtins.abs:
            return self._absolute(node)
        if callee in (builtins.min, builtins.max):
            return self._extremum(node, "lt" if callee is builtins.min else "gt")
        help = "pass the length as an i64" if callee is builtins.len else (
            "call @native functions, those of consilience.native.mathematics, abs, min, max, or convert"
        )  # fmt: skip
        raise self.error(node, f"`{ast.unparse(node.func)}` cannot be called in typed Python; {help}")

    def _arguments(self, node: ast.Call, count: int) -> list[Typed]:
        if len(node.args) != count or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.error(node, f"`{ast.unparse(node.func)}` takes {count} arguments, got {len(node.args)}")
        return [self.expression(a) for a in node.args]

    def _native(self, node: ast.Call, callee: Any) -> Typed:
        parameters, result = callee.signature
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        given = dict(zip(parameters, node.args, strict=False)) | named
        if len(node.args) > len(parameters) or given.keys() != parameters.keys():
            names = ", ".join(parameters)
            raise self.error(node, f"`{callee.name}` takes ({names}), each once and without defaults")
        args = {
            name: self.to(node, self.expression(value), parameters[name], f"argument `{name}`")
            for name, value in given.items()
        }
        operands = [self.narrow(args[name], type) for name, type in parameters.items()]
        return self._result(self.program.symbol(callee), result, operands)

    def narrow(self, value: Value, type: NativeType) -> Value:
        """A value in its register type, as it is passed."""
        return self.b.cast(value, type.register) if type.kind in WIDE else value

    def _result(self, symbol: str, result: NativeType, operands: list[Value]) -> Typed:
        if result.kind == "tuple":
            slots = self.b.stack(i64, len(result.parameters))
            self.b.call(symbol, None, *operands, slots)
            parts = tuple(
                self.read(self.b.offset(slots, self.b.const(i64, k), i64), type, slot=True)
                for k, type in enumerate(result.parameters)
            )
            return Typed(None, result, parts=parts)
        value = self.b.call(symbol, None if result is NONE else result.register, *operands)
        return self.widen(value, result)

    def widen(self, value: Value, type: NativeType) -> Typed:
        """A value as it was passed, in its register type."""
        wide = WIDE.get(type.kind)
        if wide is not None:
            return Typed(self.b.cast(value, wide.register), wide)
        return Typed(None if type is NONE else value, type)

    def _function_value(self, node: ast.Call) -> Typed:
        function = self.expression(node.func)
        if function.type.kind != "function" or function.value is None or function.type.result is None:
            raise self.error(node, f"`{ast.unparse(node.func)}` is {function.type} and cannot be called")
        if node.keywords:
            raise self.error(node, "a function value takes its arguments in order, without names")
        types, result = function.type.parameters, function.type.result
        args = self._arguments(node, len(types))
        operands = [
            self.narrow(self.to(node, a, t, f"argument {k + 1}"), t)
            for k, (a, t) in enumerate(zip(args, types, strict=True))
        ]
        value = self.b.call_pointer(function.value, None if result is NONE else result.register, *operands)
        return self.widen(value, result)

    def _conversion(self, node: ast.Call, wanted: NativeType) -> Typed:
        (x,) = self._arguments(node, 1)
        if x.value is None or not (x.type.number or x.type is BOOLEAN):
            raise self.error(node, f"{wanted}(...) converts numbers, got {x.type}")
        wide = WIDE.get(wanted.kind, wanted)
        if x.type == wanted:
            return x
        if wanted.kind == "boolean":
            return Typed(self.b.cast(x.value, i1), BOOLEAN)
        if {x.type.kind, wanted.kind} == {"i64", "u64"}:
            return Typed(x.value, wanted)
        signed = "u64" not in (x.type.kind, wanted.kind)
        value = self.b.cast(x.value, wanted.register, signed)
        return Typed(self.b.cast(value, wide.register), wide)

    def _mathematics(self, node: ast.Call, row: Row) -> Typed:
        args = self._arguments(node, len(row.parameters))
        operands = [
            self.to(node, a, FROM_REGISTER[t.kind], f"argument {k + 1}")
            for k, (a, t) in enumerate(zip(args, row.parameters, strict=True))
        ]
        return Typed(row.write(self.b, *operands), FROM_REGISTER[row.result.kind])

    def _stack(self, node: ast.Call) -> Typed:
        if len(node.args) != 2:
            raise self.error(node, "stack takes an element type and a constant count, as stack(f64, 8)")
        element = CONVERSIONS.get(self.constant(node.args[0]))
        count = self.expression(node.args[1]).constant
        if element is None or element.kind not in DTYPES or not isinstance(count, int) or count < 1:
            raise self.error(node, "stack takes an element type and a constant count, as stack(f64, 8)")
        return Typed(self.b.stack(element.register, count), NativeType("array", element=element))

    def _absolute(self, node: ast.Call) -> Typed:
        (x,) = self._arguments(node, 1)
        if x.type not in (F64, I64) or x.value is None:
            raise self.error(node, f"abs takes f64 or i64, got {x.type}")
        return Typed(self.b.abs(x.value), x.type)

    def _extremum(self, node: ast.Call, predicate: str) -> Typed:
        """min and max of Python: a later argument wins only when it compares strictly better."""
        if len(node.args) < 2:
            raise self.error(node, "min and max take two or more numbers")
        first, *others = (self.expression(a) for a in node.args)
        for other in others:
            best, candidate, kind = self.together(node, first, other, ast.unparse(node.func))
            better = self.b.cmp(f"u{predicate}" if kind is U64 else predicate, candidate, best)
            first = Typed(self.b.select(better, candidate, best), kind)
        return first


def _hashable(thing: object) -> bool:
    return type(thing).__hash__ is not None
