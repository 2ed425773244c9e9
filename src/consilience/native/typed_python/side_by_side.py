"""Loops whose turns run side by side, eight at a time: `for i in simd(n)`.

In: the body of such a loop, once more for eight turns together. Out: its instructions on vectors of eight, sums in
eight parts. Outside: the loop around it and the rest of its turns, one by one (`translate`).

Eight on every machine, whatever its registers hold, so that sums have the same bits on all.
"""

from __future__ import annotations

import ast
from typing import Final

from consilience.native.loops import Builder
from consilience.native.mathematics import NATIVE, Row, below_infinity
from consilience.native.program import Type, Value, Variable, f64, i64
from consilience.native.typed_python.calls import Calls
from consilience.native.typed_python.native_types import BOOLEAN, F64, NativeType
from consilience.native.typed_python.scope import Local, Typed

SIDES: Final = 8
WIDE: Final = Type("f64", SIDES)
DIRECT: Final = frozenset({Builder.sqrt, Builder.floor, Builder.ceil, Builder.trunc, Builder.copysign, Builder.isnan,
                           Builder.minimum, Builder.maximum, Builder.div, Builder.fma,
                           below_infinity})  # fmt: skip


class Turns:
    """Eight turns of a loop.

    index, first   name of the loop's index, and its value in the first of them
    sums           what these turns add to, by name
    extremes       of what they keep the least or the greatest, by name
    own            names assigned in the body so far
    places         addresses of eight neighbouring elements, one for each turn
    """

    def __init__(self, index: str, first: Value, sums: dict[str, Variable], extremes: dict[str, Variable]) -> None:
        self.index = index
        self.first = first
        self.sums = sums
        self.extremes = extremes
        self.own: set[str] = set()
        self.places: set[Value] = set()


class SideBySide(Calls):
    """Translates expressions and assignments also for eight turns of a loop at once."""

    turns: Turns | None = None

    def check_turns(self, node: ast.For, index: str) -> None:
        """Refuse what turns side by side cannot do: anything but assignments to own names and own elements."""
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name()]) | ast.AugAssign(target=ast.Name()):
                    continue
                case ast.Assign(targets=[ast.Subscript() as target]) | ast.AugAssign(target=ast.Subscript() as target):
                    if _mentions(target.slice, index):
                        continue
                    raise self.error(statement, f"every turn writes `{ast.unparse(target)}`; simd needs a[{index}]")
            raise self.error(statement, "a simd loop assigns to names and elements, nothing else; use range")

    # ---- names

    def name(self, node: ast.Name) -> Typed:
        turns = self.turns
        if turns is not None:
            if node.id == turns.index:
                raise self.error(node, f"the index of simd names elements, as in a[{node.id}], and is no number here")
            if node.id in turns.sums or node.id in turns.extremes:
                kind = "a sum" if node.id in turns.sums else "the extreme"
                raise self.error(node, f"`{node.id}` is {kind} over all turns, known only after the loop")
        return super().name(node)

    def add_to_sum(self, node: ast.AugAssign, total: Variable) -> None:
        """What eight turns add to a sum, or take from it."""
        term = self.spread(self.to(node, self.expression(node.value), F64, "the term"))
        combine = self.b.add if isinstance(node.op, ast.Add) else self.b.sub
        self.b.set(total, combine(self.b.get(total), term))

    def improves(self, node: ast.Assign, turns: Turns) -> bool:
        """Keep the better, turn by turn, of an extreme and what eight turns have; False: that is not what is asked."""
        match extreme_of(node):
            case (name, kind, term) if name in turns.extremes:
                value = self.spread(self.to(node, self.expression(term), F64, f"what `{name}` is compared with"))
                best = self.b.get(turns.extremes[name])
                better = self.b.cmp("lt" if kind == "min" else "gt", value, best)
                self.b.set(turns.extremes[name], self.b.select(better, value, best))
                return True
        return False

    def keep(self, node: ast.stmt, turns: Turns, name: str, got: Typed) -> None:
        """Assign to a name that lives for one turn."""
        if name == turns.index or name in {*turns.sums, *turns.extremes} or name in self.assigned - turns.own:
            raise self.error(node, f"`{name}` has a value before the loop: one turn may not hand it to the next")
        if got.type is not F64 or got.value is None:
            raise self.error(node, f"a name in a simd loop holds f64, got {got.type}")
        value = self.spread(got.value)
        local = self.locals.get(name)
        if local is None or local.variable.type is not WIDE:
            self.locals[name] = Local(self.b.variable(value), F64, self.line(node))
        else:
            self.b.set(local.variable, value)
        turns.own.add(name)
        self.assigned.add(name)

    # ---- memory

    def element(self, node: ast.Subscript, array: Typed) -> Value:
        turns = self.turns
        if turns is None or not _mentions(node.slice, turns.index):
            return super().element(node, array)
        b = self.b
        if array.type.element is not F64 or array.value is None:
            raise self.error(node, f"simd takes elements of Array[f64], got {array.type}")
        match node.slice:
            case ast.Name():
                place = turns.first
            case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=other) if name == turns.index:
                place = b.add(turns.first, self.index(other))
            case ast.BinOp(left=other, op=ast.Add(), right=ast.Name(id=name)) if name == turns.index:
                place = b.add(turns.first, self.index(other))
            case _:
                raise self.error(node, f"a simd loop reads and writes a[{turns.index}] or a[{turns.index} + ...] only")
        pointer = b.offset(array.value, place, f64)
        turns.places.add(pointer)
        return pointer

    def read(self, pointer: Value, type: NativeType, slot: bool = False) -> Typed:
        if self.turns is not None and pointer in self.turns.places:
            return Typed(self.b.load(WIDE, pointer), F64)
        return super().read(pointer, type, slot)

    def write(self, pointer: Value, type: NativeType, value: Value, slot: bool = False) -> None:
        if self.turns is not None and pointer in self.turns.places:
            self.b.store(self.spread(value), pointer)
        else:
            super().write(pointer, type, value, slot)

    # ---- operations

    def spread(self, value: Value) -> Value:
        """The same number for every turn, unless each has its own."""
        return value if value.type.lanes == SIDES else self.b.splat(value, SIDES)

    def together(self, node: ast.AST, x: Typed, y: Typed, symbol: str) -> tuple[Value, Value, NativeType]:
        p, q, kind = super().together(node, x, y, symbol)
        if p.type.lanes != q.type.lanes:
            p, q = self.spread(p), self.spread(q)
        return p, q, kind

    def choice(self, node: ast.IfExp) -> Typed:
        if self.turns is None:
            return super().choice(node)
        condition = self.boolean(node.test)
        x = self.to(node, self.expression(node.body), F64, "the side before if")
        y = self.to(node, self.expression(node.orelse), F64, "the side after else")
        return Typed(self.b.select(condition, self.spread(x), self.spread(y)), F64)

    def logical(self, node: ast.BoolOp) -> Typed:
        if self.turns is None:
            return super().logical(node)
        result, *others = (self.boolean(value) for value in node.values)
        for other in others:
            if result.type.lanes != other.type.lanes:
                result, other = self.spread(result), self.spread(other)
            result = (self.b.and_ if isinstance(node.op, ast.And) else self.b.or_)(result, other)
        return Typed(result, BOOLEAN)

    def call(self, node: ast.Call) -> Typed:
        callee = self.constant(node.func)
        if self.turns is None or any(callee is known for known in (abs, min, max)):
            return super().call(node)
        row = next((row for function, row in NATIVE.items() if function is callee), None)
        if row is None or row.write not in DIRECT:
            raise self.error(node, f"`{ast.unparse(node.func)}` has no form for turns side by side; use range")
        return self._direct(node, row)

    def _direct(self, node: ast.Call, row: Row) -> Typed:
        values = [self.to(node, self.expression(a), F64, f"argument {k + 1}") for k, a in enumerate(node.args)]
        if len(values) != len(row.parameters):
            raise self.error(node, f"`{ast.unparse(node.func)}` takes {len(row.parameters)} arguments")
        if any(value.type.lanes == SIDES for value in values):
            values = [self.spread(value) for value in values]
        return Typed(row.write(self.b, *values), F64 if row.result is f64 else BOOLEAN)


def whole_eights(b: Builder, count: Value) -> Value:
    """The largest multiple of eight that `count` holds; 0 if it is negative."""
    zero = b.const(i64, 0)
    return b.select(b.cmp("lt", count, zero), zero, b.and_(count, b.const(i64, -SIDES)))


def sums_of(body: list[ast.stmt], known: set[str]) -> list[str]:
    """Names with a value before the loop to which the body adds."""
    found = []
    for statement in body:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub()) if name in known:
                found.append(name)
    return list(dict.fromkeys(found))


def extreme_of(statement: ast.stmt) -> tuple[str, str, ast.expr] | None:
    """Name, kind and term of `name = min(name, term)`, or of `max`."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Name(id="min" | "max" as kind), args=[ast.Name(id=first), term], keywords=[]),
        ) if first == name:
            return name, kind, term
    return None


def extremes_of(body: list[ast.stmt], known: set[str]) -> dict[str, str]:
    """Names with a value before the loop of which the body keeps the extreme, and which; both kinds are neither."""
    found = [extreme for statement in body if (extreme := extreme_of(statement)) is not None]
    kinds = {(name, kind) for name, kind, _ in found if name in known}
    return {name: kind for name, kind in sorted(kinds) if len({k for n, k in kinds if n == name}) == 1}


def _mentions(node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))
