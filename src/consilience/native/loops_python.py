"""Loop programs as Python that people can read: loops, branches and assignments, expressions written out.

In: a `loops.Module`, best one for a machine of one lane, and names for the tables of its entry. Out: text that Python
parses. Outside: the exact form of programs (`loops_text`), which this leaves out types and alignments of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

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
    void,
)

# Python's signs and how strongly they bind.
_SIGNS: Final = {
    "or": ("|", 3), "xor": ("^", 4), "and": ("&", 5), "shl": ("<<", 6), "lshr": (">>", 6), "ashr": (">>", 6),
    "add": ("+", 7), "add_reassociated": ("+", 7), "sub": ("-", 7),
    "mul": ("*", 8), "div": ("/", 8), "div_unsigned": ("//", 8), "rem_unsigned": ("%", 8),
}  # fmt: skip
_COMPARISONS: Final = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "ult": "<", "ule": "<=", "ugt": ">",
    "uge": ">=",
}  # fmt: skip
_CHOICE, _COMPARED, _NEGATED, _ATOM = 1, 2, 9, 11
# Texts up to this length are written into the expressions that use them.
_LONGEST: Final = 88
# What the text of a value depends on beside other values: memory, variables by name, and that a call is made.
_MEMORY: Final = "memory"
_CALL: Final = "call"


class _Pending:
    """A value that is written where it is used."""

    def __init__(self, text: str, strength: int, reads: frozenset[object]) -> None:
        self.text, self.strength, self.reads = text, strength, reads


def python_text(module: Module, tables: Mapping[str, Sequence[str]] | None = None, remark: Sequence[str] = ()) -> str:
    """All functions of a program but those that are written into others.

    tables   names for the elements of tables of pointers, by the parameter that holds the table: {"inputs": ["x"]}
    remark   lines that stand above, as comments
    """
    functions = [f for f in module.functions.values() if not f.inline]
    pure = {*module.pure_imports, *(name for name, f in module.functions.items() if f.pure)}
    written = ["".join(f"{line}\n" for line in _FunctionText(f, tables or {}, pure).lines()) for f in functions]
    return "\n\n".join(["".join(f"# {line}\n" for line in remark), *written] if remark else written)


class _FunctionText:
    def __init__(self, function: LoopFunction, tables: Mapping[str, Sequence[str]], pure: Collection[str]) -> None:
        self.function = function
        self.tables = tables
        self.pure = pure
        self._reads: set[object] = set()
        self.uses: dict[Value, int] = {}
        self.names: dict[Value | Variable, str] = {}
        self.taken = set(function.parameter_names)
        self.pending: dict[Value, _Pending] = {}
        self.pointers: dict[Value, tuple[str, str]] = {}
        self._count(function.body)
        self._name_status(function.body)
        for name, value in zip(function.parameter_names, function.parameters, strict=True):
            self.names[value] = name

    def _count(self, block: Sequence[Statement]) -> None:
        """How often every value is used; a use in an inner block counts twice, so that it is computed outside."""
        here = {s for s in block if isinstance(s, Value)}

        def used(*values: Value | None) -> None:
            for value in values:
                if value is not None:
                    self.uses[value] = self.uses.get(value, 0) + (1 if value in here else 2)

        for s in block:
            match s:
                case Value():
                    used(*s.args)
                case Set() | Return():
                    used(s.value)
                case Store():
                    used(s.value, s.pointer, s.mask)
                case For():
                    used(s.start, s.stop, s.step)
                    self._count(s.body)
                case While():
                    self._count([*s.test])
                    if s.condition is not None:
                        self.uses[s.condition] = self.uses.get(s.condition, 0) + 1
                    self._count(s.body)
                case If():
                    used(s.condition)
                    self._count(s.then)
                    self._count(s.otherwise or [])

    def _name_status(self, block: Sequence[Statement]) -> None:
        last = block[-1] if block else None
        if isinstance(last, Return) and last.value is not None and isinstance(last.value.detail, Variable):
            self.names[last.value.detail] = self._fresh("status")

    def _fresh(self, stem: str) -> str:
        name = stem
        number = 0
        while name in self.taken:
            number += 1
            name = f"{stem}{number}"
        self.taken.add(name)
        return name

    # ---- statements

    def lines(self) -> Iterator[str]:
        f = self.function
        yield f"def {f.name}({', '.join(f.parameter_names)}):"
        yield from self._block(f.body, "    ")

    def _block(self, block: Sequence[Statement], indent: str) -> Iterator[str]:
        empty = True
        for s in block:
            for line in self._statement(s, indent):
                empty = False
                yield line
        for line in self._flush(indent):
            empty = False
            yield line
        if empty:
            yield f"{indent}pass"

    def _statement(self, s: Statement, indent: str) -> Iterator[str]:
        match s:
            case Value():
                yield from self._computed(s, indent)
            case Set():
                text = self._text(s.value)
                yield from self._flush(indent, s.variable)
                yield indent + self._assigned(s.variable, text)
            case Store():
                place, text = self._place(s.pointer), self._text(s.value)
                mask = "" if s.mask is None else f"  # where {self._text(s.mask)}"
                yield from self._flush(indent, _MEMORY, _CALL)
                plus = f"{place} + "
                yield (
                    indent
                    + (f"{place} += {text[len(plus) :]}" if text.startswith(plus) else f"{place} = {text}")
                    + mask
                )
            case For():
                bounds = [self._text(b) for b in (s.start, s.stop, s.step)]
                yield from self._flush(indent)
                if bounds[2] == "1":
                    bounds = bounds[1:2] if bounds[0] == "0" else bounds[:2]
                index = self.names[s.index] = self._fresh("i")
                yield f"{indent}for {index} in range({', '.join(bounds)}):"
                yield from self._block(s.body, indent + "    ")
            case While():
                yield from self._flush(indent)
                yield f"{indent}while True:"
                inner = indent + "    "
                for own in s.test:
                    yield from self._statement(own, inner)
                condition = "True" if s.condition is None else self._text(s.condition)
                yield from self._flush(inner)
                yield f"{inner}if not ({condition}):"
                yield f"{inner}    break"
                yield from self._block(s.body, inner)
            case If():
                condition = self._text(s.condition)
                yield from self._flush(indent)
                yield f"{indent}if {condition}:"
                yield from self._block(s.then, indent + "    ")
                if s.otherwise:
                    yield f"{indent}else:"
                    yield from self._block(s.otherwise, indent + "    ")
            case Return():
                text = "" if s.value is None else f" {self._text(s.value)}"
                yield from self._flush(indent)
                yield f"{indent}return{text}"
            case Break() | Continue():
                yield from self._flush(indent)
                yield indent + s.op

    def _assigned(self, variable: Variable, text: str) -> str:
        name = self.names.get(variable)
        if name is None:
            name = self.names[variable] = self._fresh("total" if variable.type.floating else "n")
        for sign in ("+", "*", "|"):
            if text.startswith(f"{name} {sign} "):
                rest = text[len(name) + 3 :]
                if sign == "|" or (re.fullmatch(r"[\w.\[\]() +*-]*", rest) and (sign != "*" or " " not in rest)):
                    return f"{name} {sign}= {rest}"
        return f"{name} = {text}"

    def _computed(self, v: Value, indent: str) -> Iterator[str]:
        """Keep a value for where it is used, or give it a name."""
        if v.op == "offset" and v.type.lanes == 1:
            base, index = self._address(v)
            if v.detail == 1 and v.args[0].op == "parameter":  # counted in bytes: a block of its own
                if self.uses.get(v):
                    block = self._fresh("block")
                    yield f"{indent}{block} = {base}[{index}:]  # bytes"
                    self.pointers[v] = block, "0"
                return
            self.pointers[v] = base, index
            return
        impure = v.op == "call_pointer" or (v.op == "call" and v.detail not in self.pure)
        if impure and (v.type is void or not self.uses.get(v)):
            text, _, _ = self._written(v)
            yield from self._flush(indent, _MEMORY, _CALL)
            yield indent + text
            return
        if not self.uses.get(v):
            return
        table = self._table_entry(v)
        if table is not None:
            name, text = table
            self.names[v] = name
            yield f"{indent}{name} = {text}"
            return
        text, strength, reads = self._written(v)
        if _MEMORY in reads:
            yield from self._flush(indent, *([_MEMORY, _CALL] if _CALL in reads else [_CALL]))
        if self.uses[v] == 1 and len(text) <= _LONGEST and v.op not in ("stack", "call_pointer"):
            self.pending[v] = _Pending(text, strength, reads)
        else:
            yield from self._named(v, text, indent)

    def _named(self, v: Value, text: str, indent: str) -> Iterator[str]:
        self.names[v] = self._fresh("scratch" if v.op == "stack" else "p" if v.type.kind == "ptr" else "t")
        yield f"{indent}{self.names[v]} = {text}"

    def _flush(self, indent: str, *changed: object) -> Iterator[str]:
        """Give names to values whose texts read what changes now; to all, if that is not told."""
        for value, kept in list(self.pending.items()):
            if not changed or not kept.reads.isdisjoint(changed):
                del self.pending[value]
                yield from self._named(value, kept.text, indent)

    def _table_entry(self, v: Value) -> tuple[str, str] | None:
        """The name of a pointer that is loaded from a table, and the table's element."""
        if v.op != "load" or v.type.kind != "ptr":
            return None
        base, index = self._address(v.args[0])
        known = self.tables.get(base, ())
        if not index.isdecimal():
            return None
        name = known[int(index)] if int(index) < len(known) else f"{base.rstrip('s')}{index}"
        return self._fresh(re.sub(r"\W", "_", name)), f"{base}[{index}]"

    # ---- expressions

    def _text(self, v: Value, strength: int = 0) -> str:
        text, own = self._operand(v)
        return text if own >= strength else f"({text})"

    def _operand(self, v: Value) -> tuple[str, int]:
        if v.op == "const":
            text = _number(v)
            return text, _ATOM if not text.startswith("-") else _NEGATED
        kept = self.pending.pop(v, None)
        if kept is not None:
            self._reads |= kept.reads
            return kept.text, kept.strength
        if v in self.pointers:
            base, index = self.pointers[v]
            return (base, _ATOM) if index == "0" else (f"{base}[{index}:]", _ATOM)
        name = self.names.get(v)
        if name is None:
            name = self.names[v] = self._fresh("t")
        return name, _ATOM

    def _written(self, v: Value) -> tuple[str, int, frozenset[object]]:
        """The text of an instruction, how strongly it binds, and what it reads that may change."""
        self._reads = set()
        if v.op in ("load", "masked_load", "gather"):
            self._reads.add(_MEMORY)
        elif v.op == "get":
            self._reads.add(v.detail)
        elif v.op == "call_pointer" or (v.op == "call" and v.detail not in self.pure):
            self._reads |= {_MEMORY, _CALL}
        text, strength = self._expression(v)
        return text, strength, frozenset(self._reads)

    def _expression(self, v: Value) -> tuple[str, int]:
        op, args = v.op, v.args
        if op in _SIGNS and len(args) == 2:
            sign, strength = _SIGNS[op]
            if op == "mul" and args[1].op == "const" and args[1].detail == 1:
                return self._operand(args[0])
            if op == "div" and v.type.integer:  # towards zero, as C
                return f"int({self._text(args[0], strength)} / {self._text(args[1], strength + 1)})", _ATOM
            if v.type.kind == "i1":
                if op == "xor":
                    return f"{self._text(args[0], _COMPARED + 1)} != {self._text(args[1], _COMPARED + 1)}", _COMPARED
                return f"{self._text(args[0], _COMPARED)} {op} {self._text(args[1], _COMPARED)}", 1
            return f"{self._text(args[0], strength)} {sign} {self._text(args[1], strength + 1)}", strength
        match op:
            case "cmp":
                sign = _COMPARISONS[str(v.detail)]
                return f"{self._text(args[0], _COMPARED + 1)} {sign} {self._text(args[1], _COMPARED + 1)}", _COMPARED
            case "rem":  # with the sign of the first, as C
                return f"fmod({self._listed(args)})", _ATOM
            case "neg":
                return f"-{self._text(args[0], _NEGATED)}", _NEGATED
            case "not":
                return (
                    (f"not {self._text(args[0], _COMPARED + 1)}", _CHOICE)
                    if v.type.kind == "i1"
                    else (f"~{self._text(args[0], _NEGATED)}", _NEGATED)
                )
            case "select":
                mask, x, y = args
                parts = (self._text(x, _COMPARED), self._text(mask, _COMPARED), self._text(y, _COMPARED))
                return f"{parts[0]} if {parts[1]} else {parts[2]}", 0
            case "load":
                return self._place(args[0]), _ATOM
            case "get":
                assert isinstance(v.detail, Variable)
                return self.names.setdefault(v.detail, "unset"), _ATOM
            case "call":
                return f"{_called(str(v.detail))}({self._listed(args)})", _ATOM
            case "stack":
                assert isinstance(v.detail, tuple)
                return f"memory({v.detail[0]})", _ATOM
            case "cast" | "cast_unsigned":
                return f"{'bool' if v.type.kind == 'i1' else v.type}({self._text(args[0])})", _ATOM
            case "bitcast":
                if args[0].op == "const":
                    return "None", _ATOM
                return f"bits_{v.type}({self._text(args[0])})", _ATOM
        detail = "" if v.detail is None or isinstance(v.detail, Variable) else f", {v.detail!r}"
        return f"{op}({self._listed(args)}{detail})", _ATOM

    def _listed(self, args: Sequence[Value]) -> str:
        return ", ".join(self._text(a, 1) for a in args)

    def _place(self, pointer: Value) -> str:
        """What a load reads and a store writes."""
        base, index = self._address(pointer)
        return f"{base}[{index}]"

    def _address(self, pointer: Value) -> tuple[str, str]:
        """The array and the index in it that a pointer means."""
        known = self.pointers.get(pointer)
        if known is not None:
            return known
        if pointer.op == "offset" and pointer.type.lanes == 1:
            base, start = self._address(pointer.args[0])
            index = self._text(pointer.args[1], 7 if start != "0" else 0)
            if start == "0":
                return base, index
            return base, start if index == "0" else f"{start} + {index}"
        return self._text(pointer, _ATOM), "0"


def _called(symbol: str) -> str:
    """`exp` for `consilience_exp_f64x1`, and a Python name for any other symbol."""
    plain = re.sub(r"_f64x\d+$", "", symbol.removeprefix("consilience_"))
    return re.sub(r"\W", "_", plain)


def _number(value: Value) -> str:
    detail = value.detail
    if isinstance(detail, tuple):
        return f"[{', '.join(map(_plain, detail))}]"
    assert isinstance(detail, int | float)
    if value.type.kind == "i1":
        return str(bool(detail))
    return "None" if value.type.kind == "ptr" and detail == 0 else _plain(detail)


def _plain(number: int | float) -> str:
    text = repr(number)
    return text if text.lstrip("-") not in ("inf", "nan") else f'float("{text}")'
