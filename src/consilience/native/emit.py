"""LLVM text of a loop program.

In: a `loops.Module` and a target. Out: LLVM IR as one string, ready for the optimiser. Outside: passes,
machine code, linking (`jit`).

Floats keep IEEE meaning: no flag is set but `contract` (machines with fused multiply-add, functions that
allow it) and `reassoc` on explicitly reassociated sums. Reductions combine halves, so their order does not
depend on the machine. The frame pointer is always kept: without it, spilled 512-bit registers are unaligned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from consilience.errors import VerificationError
from consilience.native.instructions import (
    VALUES,
    Instructions,
    mangle,
    parameter_text,
    result_text,
    spell,
    symbol_text,
    typed,
)
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
    While,
    void,
)

if TYPE_CHECKING:
    from consilience.native.target import Target

GROUPS: Final = ("nounwind", "nounwind willreturn memory(none)", "nounwind alwaysinline",
                 "nounwind willreturn alwaysinline memory(none)", "nounwind noinline",
                 "nounwind willreturn noinline memory(none)", "nounwind noinline minsize optsize",
                 "nounwind willreturn noinline minsize optsize memory(none)")  # fmt: skip


def emit(module: Module, target: Target) -> str:
    """LLVM IR text of all functions of `module` for `target`, with the declarations they need."""
    emitter = _Emitter(module, target)
    for function in module.functions.values():
        emitter.function(function)
    return emitter.text()


class _Emitter(Instructions):
    def __init__(self, module: Module, target: Target) -> None:
        super().__init__(target)
        self.module = module
        self.target = target
        self.out.append(f'target triple = "{target.triple}"\n')
        self.groups: set[int] = set()
        self.slots: set[str] = set()
        self.open = True  # whether control can reach the current point
        self.loops: list[tuple[str, str]] = []  # (target of break, target of continue), innermost last
        self.left: set[str] = set()  # targets of break that were used

    # ---- module level

    def text(self) -> str:
        for symbol, (result, parameters) in self.module.imports.items():
            if symbol not in self.module.functions:
                group = 1 if symbol in self.module.pure_imports else 0
                self.groups.add(group)
                types = ", ".join(parameter_text(p) for p in parameters)
                head = f"{self.convention(result, parameters)}{result_text(result)}"
                self.declared[symbol] = f"declare {head} {symbol_text(symbol)}({types}) #{group}\n"
        bits = max(128, self.target.lanes * 64)
        machine = (
            f'"frame-pointer"="all" "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" '
            f'"target-cpu"="{self.target.cpu}"'
        )
        if self.target.features:
            machine += f' "target-features"="{self.target.features}"'
        self.out.extend(self.declared.values())
        for group in sorted(self.groups):
            self.out.append(f"attributes #{group} = {{ {GROUPS[group]} {machine} }}\n")
        return "".join(self.out)

    def function(self, function: LoopFunction) -> None:
        head = self.out
        self.out = []
        self.entry = []
        self.slots = set()
        self.labels = 0
        self.loops = []
        self.prefixes = {}
        self.contract = "contract " if function.contract and self.fused else ""
        self.open = True
        self.block(function.body)
        if self.open:
            if function.result is void:
                self.out.append("  ret void\n")
            else:
                raise VerificationError(f"{function.name} returns {function.result} but can end without ret")
        types = tuple(p.type for p in function.parameters)
        parameters = ", ".join(
            f"{parameter_text(p.type)}{' noalias' if name in function.noalias else ''} {p.reference}"
            for name, p in zip(function.parameter_names, function.parameters, strict=True)
        )
        group = 2 * (1 if function.inline else 3 if function.rare else 2 if function.shared else 0) + function.pure
        self.groups.add(group)
        linkage = "" if function.export else "internal "
        head.append(
            f"define {linkage}{self.convention(function.result, types)}{result_text(function.result)} "
            f"{symbol_text(function.name)}({parameters}) #{group} {{\nentry.0:\n"
        )
        head.extend(self.entry)
        head.extend(self.out)
        head.append("}\n")
        self.out = head

    # ---- statements

    def block(self, block: list[Statement]) -> None:
        handlers = HANDLERS
        for statement in block:
            if not self.open:
                return
            handlers[statement.op](self, statement)

    def label(self, name: str) -> str:
        self.labels = n = self.labels + 1
        return f"{name}.{n}"

    def start(self, label: str) -> None:
        """Begin the block `label`, falling into it when the block before is open."""
        if self.open:
            self.out.append(f"  br label %{label}\n")
        self.out.append(f"{label}:\n")
        self.open = True

    def set(self, s: Set) -> None:
        type, name = spell(s.value.type), s.variable.reference
        if name not in self.slots:
            self.slots.add(name)
            self.entry.append(f"  {name} = alloca {type}\n")
        self.out.append(f"  store {type} {s.value.reference}, ptr {name}\n")

    def store(self, s: Store) -> None:
        value, type = s.value.reference, s.value.type
        if type.kind == "i1":
            narrow, type = value, Type("i8", type.lanes)
            value = self.temporary(f"zext {spell(s.value.type)} {narrow} to {spell(type)}")
        if s.mask is None:
            self.out.append(f"  store {spell(type)} {value}, ptr {s.pointer.reference}, align {s.align}\n")
            return
        mask = spell(s.mask.type)
        name = self.declare(f"llvm.masked.store.{mangle(type)}.p0", "void", f"{spell(type)}, ptr, i32 immarg, {mask}")
        self.out.append(
            f"  call void @{name}({spell(type)} {value}, ptr {s.pointer.reference}, i32 {s.align}, "
            f"{mask} {s.mask.reference})\n"
        )

    def loop(self, s: For) -> None:
        turns = _turns(s)
        if turns == 0:
            return
        # Tested at the bottom behind a guard: one branch per turn, and the first turn dominates the rest.
        body, latch, after = self.label("for"), self.label("next"), self.label("after")
        index, start, stop = s.index.reference, s.start.reference, s.stop.reference
        if turns == 1:
            self.start(body)
            self.out.append(f"  {index} = add i64 {start}, 0\n")
        else:
            before = self.label("guard")
            self.start(before)
            guard = f"label %{body}"
            if turns is None:
                guard = f"i1 {self.temporary(f'icmp slt i64 {start}, {stop}')}, {guard}, label %{after}"
            self.out.append(f"  br {guard}\n{body}:\n")
            self.out.append(f"  {index} = phi i64 [ {start}, %{before} ], [ {index}.next, %{latch} ]\n")
        self.loops.append((after, latch))
        self.block(s.body)
        self.loops.pop()
        self.start(latch)
        if turns == 1:
            self.start(after)
            return
        again = f"{index}.again"
        # Where LLVM cannot see that the index grows evenly, it does not look for better addresses in loops: they have
        # the machine's own form already, and the search took a sixth of the code generator's time.
        expect = self.declare("llvm.expect.i64", "i64", "i64, i64")
        self.out.append(
            f"  {index}.sum = add nsw i64 {index}, {s.step.reference}\n"
            f"  {index}.next = call i64 @{expect}(i64 {index}.sum, i64 0)\n"
            f"  {again} = icmp slt i64 {index}.next, {stop}\n"
            f"  br i1 {again}, label %{body}, label %{after}\n{after}:\n"
        )
        self.open = True

    def loop_while(self, s: While) -> None:
        test, body, after = self.label("while"), self.label("do"), self.label("done")
        self.start(test)
        self.loops.append((after, test))
        self.block(s.test)
        if s.condition is None:
            raise VerificationError("a while loop was never checked")
        endless = s.condition.reference == "true"
        if self.open:
            choice = f"label %{body}" if endless else f"i1 {s.condition.reference}, label %{body}, label %{after}"
            self.out.append(f"  br {choice}\n{body}:\n")
            self.block(s.body)
        self.loops.pop()
        if self.open:
            self.out.append(f"  br label %{test}\n")
        self.open = not endless or after in self.left
        if self.open:
            self.out.append(f"{after}:\n")

    def branch(self, s: If) -> None:
        yes, no, after = self.label("then"), self.label("else"), self.label("end")
        has_else = s.otherwise is not None
        self.out.append(f"  br i1 {s.condition.reference}, label %{yes}, label %{no if has_else else after}\n{yes}:\n")
        self.block(s.then)
        joined = self.open or not has_else
        if self.open:
            self.out.append(f"  br label %{after}\n")
        if s.otherwise is not None:
            self.out.append(f"{no}:\n")
            self.open = True
            self.block(s.otherwise)
            joined = joined or self.open
            if self.open:
                self.out.append(f"  br label %{after}\n")
        if joined:
            self.out.append(f"{after}:\n")
        self.open = joined

    def leave(self, s: Break) -> None:
        after = self.loops[-1][0]
        self.left.add(after)
        self.out.append(f"  br label %{after}\n")
        self.open = False

    def again(self, s: Continue) -> None:
        self.out.append(f"  br label %{self.loops[-1][1]}\n")
        self.open = False

    def ret(self, s: Return) -> None:
        self.out.append("  ret void\n" if s.value is None else f"  ret {typed(s.value)}\n")
        self.open = False


def _turns(s: For) -> int | None:
    """How often a loop with constant bounds runs; None where the bounds are computed."""
    if not s.start.op == s.stop.op == s.step.op == "const":
        return None
    bounds = [value.detail for value in (s.start, s.stop, s.step)]
    return len(range(*(int(bound) for bound in bounds)))  # type: ignore[arg-type]  # constants of i64 hold integers


HANDLERS: Final[dict[str, Callable[[_Emitter, Any], None]]] = {
    **VALUES,
    "break": _Emitter.leave,
    "continue": _Emitter.again,
    "for": _Emitter.loop,
    "if": _Emitter.branch,
    "return": _Emitter.ret,
    "set": _Emitter.set,
    "store": _Emitter.store,
    "while": _Emitter.loop_while,
}
