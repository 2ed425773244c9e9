"""What a name means while a function is translated.

In: the function's globals and the assignments seen so far. Out: typed values, constants and callables, or an
error that shows the user's line. Outside: expressions (`expressions`) and statements (`translate`).
"""

from __future__ import annotations

import ast
import builtins
import types
from typing import Any

from consilience.errors import NativeError
from consilience.native.loops import Builder, Module
from consilience.native.program import Value, Variable
from consilience.native.typed_python.function import NativeFunction, Source
from consilience.native.typed_python.native_types import NativeType
from consilience.record import Record


class Typed(Record):
    """A value and its type; `constant` is the number of a literal; `parts` are the values of a tuple."""

    value: Value | None
    type: NativeType
    constant: int | float | None = None
    parts: tuple[Typed, ...] = ()


class Local(Record):
    """A local name: its register, its type, and the line that decided the type."""

    variable: Variable
    type: NativeType
    line: int


class NativeModule:
    """The functions translated together, and those still to be translated."""

    def __init__(self) -> None:
        self.module = Module()
        self.symbols: dict[NativeFunction[..., Any], str] = {}
        self.waiting: list[NativeFunction[..., Any]] = []

    def symbol(self, function: NativeFunction[..., Any]) -> str:
        """The symbol of `function`, which is put on the list when it is new."""
        known = self.symbols.get(function)
        if known is None:
            base = f"{function.function.__module__}.{function.function.__qualname__}".replace(".<locals>", "")
            known, number = base, 1
            while known in self.symbols.values():
                number += 1
                known = f"{base}.{number}"
            self.symbols[function] = known
            self.waiting.append(function)
        return known


class Scope:
    """State shared by the translation of one function's statements and expressions."""

    def __init__(self, program: NativeModule, function: NativeFunction[..., Any], builder: Builder) -> None:
        self.program = program
        self.function = function
        self.source: Source = function.source
        self.b = builder
        self.parameters: dict[str, Typed] = {}
        self.locals: dict[str, Local] = {}
        self.assigned: set[str] = set()
        self.local_names = _assigned_names(self.source.tree)
        code, cells = function.python.__code__, function.python.__closure__ or ()
        self.closure = dict(zip(code.co_freevars, cells, strict=False))

    def lookup(self, name: str) -> Any:
        """The object a name from outside the function stands for: a closure's, a global's, a builtin's."""
        if name in self.closure:
            return self.closure[name].cell_contents
        found = self.function.python.__globals__.get(name, _MISSING)
        return vars(builtins).get(name, _MISSING) if found is _MISSING else found

    def error(self, node: ast.AST, message: str) -> NativeError:
        """`message` with the user's file, line and source line."""
        return self.source.error(node, message)

    def constant(self, node: ast.expr) -> Any:
        """The object a global name, or an attribute of a global module, stands for."""
        if isinstance(node, ast.Name):
            if node.id in self.local_names or node.id in self.parameters:
                return _MISSING
            found = self.lookup(node.id)
            if found is _MISSING:
                raise self.error(node, f"`{node.id}` is neither a local name nor a global one")
            return found
        if isinstance(node, ast.Attribute):
            owner = self.constant(node.value)
            if isinstance(owner, types.ModuleType):
                if not hasattr(owner, node.attr):
                    raise self.error(node, f"module {owner.__name__} has no `{node.attr}`")
                return getattr(owner, node.attr)
        return _MISSING

    def is_missing(self, found: object) -> bool:
        """Whether `constant` found no object: the expression is computed at run time."""
        return found is _MISSING

    def line(self, node: ast.AST) -> int:
        """The line of `node` in the user's file."""
        return int(getattr(node, "lineno", 1))


_MISSING = object()


def _assigned_names(tree: ast.FunctionDef) -> frozenset[str]:
    """Names that the function's statements set; expressions of typed Python set none."""
    found: set[str] = set()
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        for target in targets:
            elements = target.elts if isinstance(target, ast.Tuple) else [target]
            found.update(e.id for e in elements if isinstance(e, ast.Name))
        waiting.extend(getattr(node, "body", ()))
        waiting.extend(getattr(node, "orelse", ()))
    return frozenset(found)
