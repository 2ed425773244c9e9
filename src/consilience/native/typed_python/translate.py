"""Translation of functions and statements.

In: native functions. Out: one loop module with all of them and everything they call. Outside: expressions,
machine code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final

from consilience.native.loops import Module
from consilience.native.program import Value, i64, ptr
from consilience.native.typed_python.expressions import SYMBOLS
from consilience.native.typed_python.function import NativeFunction
from consilience.native.typed_python.native_types import F64, I64, NONE, NativeType, native_type, simd
from consilience.native.typed_python.scope import Local, NativeModule, Typed
from consilience.native.typed_python.side_by_side import (
    SIDES,
    WIDE,
    SideBySide,
    Turns,
    extremes_of,
    sums_of,
    whole_eights,
)

HINTS: Final = {
    "Assert": "return a status instead",
    "AsyncFor": "typed Python is synchronous",
    "ClassDef": "define records at module level",
    "Delete": "memory belongs to the caller",
    "FunctionDef": "define functions at module level",
    "Global": "pass state in a record",
    "Import": "import at module level",
    "ImportFrom": "import at module level",
    "Match": "write if and elif",
    "Nonlocal": "pass state in a record",
    "Raise": "return a status instead",
    "Try": "return a status instead",
    "With": "open it outside",
}


def translate(exports: Mapping[str, NativeFunction[..., Any]]) -> Module:
    """The loop module with `exports` under their names, and the functions they call as internal ones."""
    program = NativeModule()
    for name, function in exports.items():
        program.symbols[function] = name
        program.waiting.append(function)
    while program.waiting:
        function = program.waiting.pop()
        _function(program, function, export=function in exports.values())
    return program.module


def _function(program: NativeModule, function: NativeFunction[..., Any], export: bool) -> None:
    parameters, result = function.signature
    declared = [(name, type.register) for name, type in parameters.items()]
    if result.kind == "tuple":
        declared.append(("result.slots", ptr))
    builder = program.module.function(
        program.symbols[function],
        declared,
        None if result.kind in ("tuple", "none") else result.register,
        export,
        contract=function.contract,
        inline=function.inline,
        shared=function.shared,
        rare=function.rare,
    )
    body = Statements(program, function, builder)
    body.result = result
    for (name, type), value in zip(parameters.items(), builder.parameters, strict=False):
        typed = body.widen(value, type)
        if name in body.local_names and typed.value is not None:
            body.locals[name] = Local(builder.variable(typed.value), typed.type, body.line(body.source.tree))
            body.assigned.add(name)
        else:
            body.parameters[name] = typed
    if result.kind == "tuple":
        body.slots = builder.parameters[-1]
    if body.block(body.source.tree.body):
        if result is not NONE:
            raise body.error(body.source.tree, f"`{function.name}` returns {result} but can end without return")
        builder.ret()


class Statements(SideBySide):
    """Translates statements; each method says whether control can go on behind it."""

    result: NativeType = NONE
    slots: Value | None = None
    breaks: list[set[str]]  # names surely assigned at each break of the innermost loop

    def block(self, statements: list[ast.stmt]) -> bool:
        """Translate a block; what follows a return, break or continue is left out."""
        return all(self.statement(statement) for statement in statements)

    def statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign():
                if len(node.targets) != 1:
                    raise self.error(node, "assign to one target at a time")
                if self.turns is not None and self.improves(node, self.turns):
                    return True
                self.assign(node, node.targets[0], self.expression(node.value))
            case ast.AnnAssign():
                self._annotated(node)
            case ast.AugAssign():
                self._augmented(node)
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call()):
                self.expression(node.value)
            case ast.Return():
                self._return(node)
                return False
            case ast.If():
                return self._if(node)
            case ast.While():
                return self._while(node)
            case ast.For():
                self._for(node)
            case ast.Break():
                if self._loops_open():
                    self.breaks.append(set(self.assigned))
                self.b.break_()
                return False
            case ast.Continue():
                self.b.continue_()
                return False
            case _:
                kind = type(node).__name__
                hint = HINTS.get(kind, "use a simpler form")
                raise self.error(node, f"typed Python has no {kind} statement; {hint}")
        return True

    def _loops_open(self) -> bool:
        return hasattr(self, "breaks")

    # ---- assignment

    def assign(self, node: ast.stmt, target: ast.expr, got: Typed) -> None:
        match target:
            case ast.Tuple():
                if got.type.kind != "tuple" or len(got.parts) != len(target.elts):
                    raise self.error(node, f"{len(target.elts)} targets need as many values, got {got.type}")
                for one, part in zip(target.elts, got.parts, strict=True):
                    self.assign(node, one, part)
            case ast.Name():
                self._assign_name(node, target.id, got)
            case ast.Subscript():
                if isinstance(target.slice, ast.Slice):
                    raise self.error(node, "slices cannot be assigned; write a loop")
                array = self.expression(target.value)
                if array.type.kind != "array" or array.type.element is None:
                    raise self.error(node, f"`{ast.unparse(target.value)}` is {array.type}, which cannot be indexed")
                pointer = self.element(target, array)
                value = self.to(node, got, array.type.element, f"`{ast.unparse(target)}`")
                self.write(pointer, array.type.element, value)
            case ast.Attribute():
                pointer, type = self.field(target)
                value = self.to(node, got, type, f"`{ast.unparse(target)}`")
                self.write(pointer, type, value, slot=True)
            case _:
                raise self.error(node, f"cannot assign to `{ast.unparse(target)}`")

    def _assign_name(self, node: ast.stmt, name: str, got: Typed) -> None:
        if got.value is None:
            raise self.error(node, f"`{name}` must be one value, got {got.type}")
        if self.turns is not None:
            self.keep(node, self.turns, name, got)
            return
        local = self.locals.get(name)
        if local is None:
            self.locals[name] = Local(self.b.variable(got.value), got.type, self.line(node))
        elif local.type == got.type:
            self.b.set(local.variable, got.value)
        elif local.type.kind == "u64" and got.constant is not None:
            self.b.set(local.variable, self.to(node, got, local.type, f"`{name}`"))
        else:
            help = "; write a literal with a point, or f64(...)" if local.type.number else ""
            if got.type is F64 and local.type is I64:
                help = f"; let it start as f64 at line {local.line}, or write i64(...)"
            raise self.error(node, f"`{name}` is {got.type} here but {local.type} at line {local.line}{help}")
        self.assigned.add(name)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.error(node, "a declaration needs a value")
        try:
            annotation = eval(ast.unparse(node.annotation), self.function.python.__globals__)
        except NameError as error:
            raise self.error(node, f"the annotation names {error.name!r}, which does not exist at run time") from None
        wanted = native_type(annotation)
        got = self.expression(node.value)
        value = self.to(node, got, wanted, f"`{ast.unparse(node.target)}`")
        self.assign(node, node.target, self.widen(self.narrow(value, wanted), wanted))

    def _augmented(self, node: ast.AugAssign) -> None:
        symbol = SYMBOLS[type(node.op)]
        match node.target:
            case ast.Name():
                if self.turns is not None and node.target.id in self.turns.sums:
                    self.add_to_sum(node, self.turns.sums[node.target.id])
                    return
                old = self.name(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
                self._assign_name(node, node.target.id, self.operation(node, symbol, old, self.expression(node.value)))
            case ast.Subscript():
                array = self.expression(node.target.value)
                if array.type.kind != "array" or array.type.element is None:
                    raise self.error(node, f"`{ast.unparse(node.target.value)}` is {array.type}, not an array")
                if isinstance(node.target.slice, ast.Slice):
                    raise self.error(node, "slices cannot be assigned; write a loop")
                self._update(node, self.element(node.target, array), array.type.element, symbol, slot=False)
            case ast.Attribute():
                pointer, kind = self.field(node.target)
                self._update(node, pointer, kind, symbol, slot=True)

    def _update(self, node: ast.AugAssign, pointer: Value, type: NativeType, symbol: str, slot: bool) -> None:
        new = self.operation(node, symbol, self.read(pointer, type, slot), self.expression(node.value))
        value = self.to(node, new, type, f"`{ast.unparse(node.target)}`")
        self.write(pointer, type, value, slot)

    # ---- control

    def _return(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            if self.result is not NONE:
                raise self.error(node, f"the result must be {self.result}, got nothing")
            self.b.ret()
            return
        got = self.expression(node.value)
        if self.result.kind != "tuple":
            if self.result is NONE:
                raise self.error(node, f"the function is annotated to return None, got {got.type}")
            self.b.ret(self.narrow(self.to(node, got, self.result, "the result"), self.result))
            return
        if len(got.parts) != len(self.result.parameters) or self.slots is None:
            raise self.error(node, f"the result must be {self.result}, got {got.type}")
        for k, (part, type) in enumerate(zip(got.parts, self.result.parameters, strict=True)):
            value = self.to(node, part, type, f"result {k + 1}")
            self.write(self.b.offset(self.slots, self.b.const(i64, k), i64), type, value, slot=True)
        self.b.ret()

    def _if(self, node: ast.If) -> bool:
        condition = self.boolean(node.test)
        before = set(self.assigned)
        with self.b.if_(condition):
            goes_on = self.block(node.body)
        after = self.assigned
        self.assigned = before
        if not node.orelse:
            return True
        self.assigned = set(before)
        with self.b.else_():
            else_goes_on = self.block(node.orelse)
        if goes_on and else_goes_on:
            self.assigned &= after
        elif goes_on:
            self.assigned = after
        return goes_on or else_goes_on

    def _loop_body(self, body: list[ast.stmt]) -> list[set[str]]:
        """Translate the body; returns the names assigned at each break."""
        outer = getattr(self, "breaks", None)
        self.breaks = []
        before = set(self.assigned)
        self.block(body)
        self.assigned = before
        found = self.breaks
        if outer is None:
            del self.breaks
        else:
            self.breaks = outer
        return found

    def _while(self, node: ast.While) -> bool:
        if node.orelse:
            raise self.error(node, "loops have no else; use a flag")
        endless = isinstance(node.test, ast.Constant) and node.test.value is True
        with self.b.while_() as loop:
            loop.check(self.boolean(node.test))
            breaks = self._loop_body(node.body)
        if endless and breaks:
            self.assigned = set.intersection(*breaks)
        return not endless or bool(breaks)

    def _side_by_side(self, node: ast.For, index: str, count: Value, just_eight: bool) -> Value:
        """All turns of a simd loop that make whole eights; the number of these turns."""
        b = self.b
        self.check_turns(node, index)
        whole = whole_eights(b, count)
        sums = {name: b.variable(b.const(WIDE, 0.0)) for name in sums_of(node.body, self.assigned)}
        kinds = extremes_of(node.body, self.assigned)
        for name in (*sums, *kinds):
            if self.locals[name].type is not F64:
                got, kind = self.locals[name].type, "a sum" if name in sums else f"a {kinds[name]}"
                raise self.error(node, f"{kind} in a simd loop is f64, `{name}` is {got}; let it start as 0.0")
        extremes = {name: b.variable(b.splat(b.get(self.locals[name].variable), SIDES)) for name in kinds}
        locals, assigned = dict(self.locals), set(self.assigned)
        zero = b.const(i64, 0)
        # Eight turns are no loop, which would cost as much as what they do.
        with nullcontext(zero) if just_eight else b.for_(zero, whole, SIDES) as first:
            self.turns = Turns(index, first, sums, extremes)
            self.block(node.body)
            self.turns = None
        self.locals, self.assigned = locals, assigned
        for name, variable in sums.items():
            total = self.locals[name].variable
            b.set(total, b.add(b.get(total), b.reduce("add", b.get(variable))))
        for name, variable in extremes.items():
            b.set(self.locals[name].variable, b.reduce(kinds[name], b.get(variable)))
        return whole

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node, "loops have no else; use a flag")
        counter = self.constant(node.iter.func) if isinstance(node.iter, ast.Call) else None
        counting = counter is range or counter is simd
        if not counting or not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            raise self.error(node, "for loops count: `for i in range(...)` or `for i in simd(...)`")
        name = node.target.id
        bounds = [self.expression(a) for a in node.iter.args]
        if not 1 <= len(bounds) <= 3 or node.iter.keywords:
            raise self.error(node, "range takes one to three integers")
        values = [self.to(node, x, I64, "a bound of range") for x in bounds]
        b = self.b
        start, stop = (b.const(i64, 0), values[0]) if len(values) == 1 else (values[0], values[1])
        if counter is simd:
            if len(values) != 1:
                raise self.error(node, "simd takes one integer, the number of turns; slice arrays to begin elsewhere")
            just_eight = bounds[0].constant == SIDES
            start = self._side_by_side(node, name, stop, just_eight)
            if just_eight:
                return
        step = bounds[2].constant if len(bounds) == 3 else 1
        if not isinstance(step, int) or step == 0:
            raise self.error(node, "the step of range is an integer literal other than 0")
        if name not in self.locals:
            self.locals[name] = Local(b.variable(b.const(i64, 0)), I64, self.line(node))
        local = self.locals[name]
        if local.type is not I64:
            raise self.error(node, f"`{name}` counts here but is {local.type} at line {local.line}")
        known = name in self.assigned
        if step > 0:
            with b.for_(start, stop, step) as index:
                b.set(local.variable, index)
                self.assigned.add(name)
                self._loop_body(node.body)
        else:
            size = b.const(i64, -step)
            span = b.add(b.sub(start, stop), b.const(i64, -step - 1))
            turns = b.select(b.cmp("lt", stop, start), b.div(span, size), b.const(i64, 0))
            with b.for_(0, turns) as turn:
                b.set(local.variable, b.sub(start, b.mul(turn, size)))
                self.assigned.add(name)
                self._loop_body(node.body)
        if not known:
            self.assigned.discard(name)
