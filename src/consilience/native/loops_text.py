"""Reading and checking loop programs: their printed form, and the law that values are used in their scope.

In: a `loops.Module`. Out: text that is stable under renaming (for golden files), or `VerificationError`.
Outside: LLVM text (`emit`), running (`interpret`).
"""

from __future__ import annotations

from collections.abc import Iterator

from consilience.errors import VerificationError
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
    Value,
    Variable,
    While,
    signature_text,
    void,
)


def text(module: Module) -> str:
    """All functions, one after the other; values are numbered in the order of their appearance."""
    imports = [
        f"import {name}{signature_text(signature)}\n"
        for name, signature in sorted(module.imports.items())
        if name not in module.functions
    ]
    functions = ["".join(_LoopPrinter(function).lines()) for function in module.functions.values()]
    return "\n".join(["".join(imports), *functions] if imports else functions)


class _LoopPrinter:
    def __init__(self, function: LoopFunction) -> None:
        self.function = function
        self.names: dict[Value | Variable, str] = dict(
            zip(function.parameters, (f"%{n}" for n in function.parameter_names), strict=True)
        )
        self.numbers = {"%": 0, "$": 0}

    def name(self, value: Value | Variable) -> str:
        if isinstance(value, Value) and value.op == "const":
            return f"{value.type}({_numbers(value)})"
        known = self.names.get(value)
        if known is None:
            mark = "%" if isinstance(value, Value) else "$"
            self.numbers[mark] += 1
            known = self.names[value] = f"{mark}{self.numbers[mark]}"
        return known

    def lines(self) -> Iterator[str]:
        f = self.function
        parameters = ", ".join(
            f"{p.type} {n}{' noalias' if n in f.noalias else ''}"
            for n, p in zip(f.parameter_names, f.parameters, strict=True)
        )
        flags = [flag for flag in ("export", "contract", "pure", "inline", "shared", "rare") if getattr(f, flag)]
        yield f"function {f.name}({parameters}) -> {f.result} [{' '.join(flags)}]\n"
        yield from self.block(f.body, "  ")

    def block(self, block: list[Statement], indent: str) -> Iterator[str]:
        inner = indent + "  "
        for s in block:
            match s:
                case Value():
                    yield f"{indent}{self.value(s)}\n"
                case Set():
                    yield f"{indent}{self.name(s.variable)}: {s.value.type} := {self.name(s.value)}\n"
                case Store():
                    mask = "" if s.mask is None else f" where {self.name(s.mask)}"
                    value = f"{s.value.type} {self.name(s.value)}"
                    yield f"{indent}store {value} at {self.name(s.pointer)} align {s.align}{mask}\n"
                case For():
                    bounds = " ".join(self.name(b) for b in (s.start, s.stop, s.step))
                    yield f"{indent}for {self.name(s.index)} in {bounds}\n"
                    yield from self.block(s.body, inner)
                case While():
                    yield f"{indent}while\n"
                    yield from self.block(s.test, inner)
                    condition = "?" if s.condition is None else self.name(s.condition)
                    yield f"{indent}holds {condition} do\n"
                    yield from self.block(s.body, inner)
                case If():
                    yield f"{indent}if {self.name(s.condition)}\n"
                    yield from self.block(s.then, inner)
                    if s.otherwise is not None:
                        yield f"{indent}else\n"
                        yield from self.block(s.otherwise, inner)
                case Return():
                    yield f"{indent}return{'' if s.value is None else ' ' + self.name(s.value)}\n"
                case Break() | Continue():
                    yield f"{indent}{s.op}\n"

    def value(self, v: Value) -> str:
        operands = " ".join(self.name(a) for a in v.args)
        detail = v.detail
        if isinstance(detail, Variable):
            detail = self.name(detail)
        shown = "" if detail is None else f" [{_detail(detail)}]"
        call = f"{v.op}{shown} {operands}".rstrip()
        return call if v.type is void else f"{self.name(v)}: {v.type} = {call}"


def _detail(detail: str | int | float | tuple[int, ...] | tuple[float, ...]) -> str:
    return " ".join(map(str, detail)) if isinstance(detail, tuple) else str(detail)


def _numbers(value: Value) -> str:
    detail = value.detail
    return " ".join(map(repr, detail)) if isinstance(detail, tuple) else repr(detail)


def verify(module: Module) -> None:
    """Check that every value is used only where its instruction has run; types hold by construction."""
    for function in module.functions.values():
        _Scopes(function.name, set(function.parameters)).block(function.body)


class _Scopes:
    def __init__(self, function: str, known: set[Value]) -> None:
        self.function = function
        self.known = known

    def use(self, statement: Statement, *values: Value | None) -> None:
        for value in values:
            if value is not None and value.op != "const" and value not in self.known:
                raise VerificationError(
                    f"{self.function}: {statement.op} uses {value} ({value.op}) outside the block "
                    f"that computes it; carry it out in a variable"
                )

    def inner(self, block: list[Statement], *more: Value) -> None:
        _Scopes(self.function, self.known | set(more)).block(block)

    def block(self, block: list[Statement]) -> None:
        for s in block:
            match s:
                case Value():
                    self.use(s, *s.args)
                    self.known.add(s)
                case Set() | Return():
                    self.use(s, s.value)
                case Store():
                    self.use(s, s.value, s.pointer, s.mask)
                case For():
                    self.use(s, s.start, s.stop, s.step)
                    self.inner(s.body, s.index)
                case While():
                    self.block(s.test)  # runs at least once, and before all that follows
                    self.use(s, s.condition)
                    self.inner(s.body)
                case If():
                    self.use(s, s.condition)
                    self.inner(s.then)
                    self.inner(s.otherwise or [])
                case Break() | Continue():
                    pass
