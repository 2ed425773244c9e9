"""Loop programs as C11: the functions of a module, readable, with expressions written out.

In: functions of loop programs, and whether the machine has fused multiply-add. Out: the text of a C file. Programs of
one lane are ISO C; wider ones use the vectors of GCC and Clang (`helpers`). Outside: compilers, symbols of others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final, cast

from consilience.backends.c.inline_functions import Helpers
from consilience.backends.c.names import RESERVED, identifier, number_text, parameter_names, prototype
from consilience.backends.c.written import MEMORY, Pending, Uses
from consilience.errors import VerificationError
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
    Value,
    Variable,
    While,
    void,
)

# How strongly C's signs bind.
_COMPARED, _SHIFTED, _SUM, _PRODUCT, _UNARY, _ATOM = 6, 8, 9, 10, 11, 12
_SIGNS: Final = {
    "or": ("|", 3), "xor": ("^", 4), "and": ("&", 5), "add": ("+", _SUM), "add_reassociated": ("+", _SUM),
    "sub": ("-", _SUM), "mul": ("*", _PRODUCT), "div": ("/", _PRODUCT), "rem": ("%", _PRODUCT),
}  # fmt: skip
_COMPARISONS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ROUNDINGS: Final = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round_even": "nearbyint",
}  # fmt: skip
_UNSIGNED: Final = {"div_unsigned": "/", "rem_unsigned": "%"}
# Texts up to this length are written into the expressions that use them.
_LONGEST: Final = 72


def function_text(helpers: Helpers, function: LoopFunction, pure: Collection[str], fused: bool, export: bool) -> str:
    """One function."""
    body = "\n".join(_CText(helpers, function, pure, fused).lines())
    return f"{prototype(helpers, function, export)}\n{{\n{body}\n}}\n"


class _CText:
    def __init__(self, helpers: Helpers, function: LoopFunction, pure: Collection[str], fused: bool) -> None:
        self.helpers = helpers
        self.function = function
        self.fused = fused
        self.contract = fused and function.contract
        self.uses = Uses(function, pure)
        self.names: dict[Value | Variable, str] = {}
        self.taken = {*parameter_names(function), *RESERVED}
        self.pending: dict[Value, Pending] = {}
        self.declared: set[Variable] = set()
        self.used: set[Value] = set()
        self.stacks: list[str] = []
        self.factors: dict[Value, tuple[str, str]] = {}
        self._offsets: dict[Value, tuple[str, str]] = {}
        self._reads: set[object] = set()
        self._numbers: dict[str, int] = {}
        self.names.update(zip(function.parameters, parameter_names(function), strict=True))

    def _fresh(self, stem: str) -> str:
        number = self._numbers.get(stem, 0)
        name = stem
        while name in self.taken:
            number += 1
            name = f"{stem}{number}"
        self._numbers[stem] = number
        self.taken.add(name)
        return name

    # ---- statements

    def lines(self) -> Iterator[str]:
        body = list(self._block(self.function.body, "    "))
        for p in self.function.parameters:
            if p not in self.used:
                yield f"    (void){self.names[p]};"
        for variable, name in self.names.items():
            if isinstance(variable, Variable) and variable not in self.declared:
                yield f"    {self._declaration(variable.type, name)};"
        yield from self.stacks
        yield from body

    def _declaration(self, type: Type, name: str) -> str:
        return f"{self.helpers.name(type)} {name}".replace("* ", "*")

    def _block(self, block: Sequence[Statement], indent: str) -> Iterator[str]:
        for s in block:
            yield from self._statement(s, indent)
        yield from self._flush(indent)

    def _statement(self, s: Statement, indent: str) -> Iterator[str]:
        match s:
            case Value():
                yield from self._computed(s, indent)
            case Set():
                if s.variable in self.uses.read:
                    text = self._text(s.value)
                    yield from self._flush(indent, s.variable)
                    yield indent + self._assigned(s.variable, text)
            case Store():
                yield from self._stored(s, indent)
            case For():
                yield from self._loop(s, indent)
            case While():
                yield from self._flush(indent)
                yield f"{indent}for (;;) {{"
                inner = indent + "    "
                for own in s.test:
                    yield from self._statement(own, inner)
                if s.condition is not None and not (s.condition.op == "const" and s.condition.detail):
                    condition = self._text(s.condition, _UNARY)
                    yield from self._flush(inner)
                    yield f"{inner}if (!{condition})"
                    yield f"{inner}    break;"
                yield from self._block(s.body, inner)
                yield f"{indent}}}"
            case If():
                condition = self._text(s.condition)
                yield from self._flush(indent)
                yield f"{indent}if ({condition}) {{"
                yield from self._block(s.then, indent + "    ")
                if s.otherwise:
                    yield f"{indent}}} else {{"
                    yield from self._block(s.otherwise, indent + "    ")
                yield f"{indent}}}"
            case Return():
                text = "" if s.value is None else f" {self._text(s.value)}"
                yield from self._flush(indent)
                yield f"{indent}return{text};"
            case Break() | Continue():
                yield from self._flush(indent)
                yield f"{indent}{s.op};"

    def _loop(self, s: For, indent: str) -> Iterator[str]:
        start = self._text(s.start)
        bounds = []
        for stem, bound in (("stop", s.stop), ("step", s.step)):
            text = self._text(bound)
            if not _fixed(bound):
                name = self._fresh(stem)
                yield from self._flush(indent)
                yield f"{indent}const int64_t {name} = {text};"
                text = name
            bounds.append(text)
        yield from self._flush(indent)
        stop, step = bounds
        i = self.names[s.index] = self._fresh("i")
        again = f"{i}++" if step == "1" else f"{i} += {step}"
        yield f"{indent}for (int64_t {i} = {start}; {i} < {stop}; {again}) {{"
        yield from self._block(s.body, indent + "    ")
        yield f"{indent}}}"

    def _stored(self, s: Store, indent: str) -> Iterator[str]:
        type = s.value.type
        if s.mask is not None:
            name = self.helpers.masked_store(type)
            line = f"{name}({self._text(s.pointer)}, {self._text(s.mask)}, {self._text(s.value)});"
        elif type.lanes > 1:
            line = f"{self.helpers.store(type)}({self._text(s.pointer)}, {self._text(s.value)});"
        else:
            place, text = self._place(type, s.pointer), self._text(s.value)
            plus = f"{place} + "
            line = f"{place} += {text[len(plus) :]};" if text.startswith(plus) else f"{place} = {text};"
            if text.startswith(plus) and not re.fullmatch(r"[\w.()*, ]*", text[len(plus) :]):
                line = f"{place} = {text};"
        yield from self._flush(indent, MEMORY)
        yield indent + line

    def _assigned(self, variable: Variable, text: str) -> str:
        name = self.names.get(variable)
        if name is None:
            name = self.names[variable] = self._fresh("x" if variable.type.floating else "n")
            if self.uses.declared_inside(variable):
                self.declared.add(variable)
                return f"{self._declaration(variable.type, name)} = {text};"
        return f"{name} = {text};"

    def _computed(self, v: Value, indent: str) -> Iterator[str]:
        """Keep a value for where it is used, or give it a name."""
        count = self.uses.counts.get(v, 0)
        if self.uses.impure(v) and (v.type is void or not count):
            text, _, _ = self._written(v)
            yield from self._flush(indent)
            yield f"{indent}{text};" if v.type is void else f"{indent}(void){text};"
            return
        if not count:
            return
        if v.op == "stack":
            name = self.names[v] = self._fresh("scratch")
            (size,) = cast("tuple[int]", v.detail)
            self.stacks.append(f"    ALIGNED_64 char {name}[{size}];")
            return
        text, strength, reads = self._written(v)
        if self.uses.impure(v):
            yield from self._flush(indent)
            yield self._named(v, text, indent)
        elif count == 1 and (len(text) <= _LONGEST or v in self.factors):
            self.pending[v] = Pending(text, strength, reads)
        else:
            yield self._named(v, text, indent)

    def _named(self, v: Value, text: str, indent: str) -> str:
        name = self.names[v] = self._fresh("p" if v.type.kind == "ptr" else "t")
        type = self.helpers.name(v.type)
        # A pointer is constant as such; what it points to is not.
        return (
            f"{indent}{type}const {name} = {text};" if type.endswith("*") else f"{indent}const {type} {name} = {text};"
        )

    def _flush(self, indent: str, *changed: object) -> Iterator[str]:
        """Give names to values whose texts read what changes now; to all, if that is not told."""
        for value, kept in list(self.pending.items()):
            if value in self.pending and (not changed or not kept.reads.isdisjoint(changed)):
                del self.pending[value]
                yield self._named(value, kept.text, indent)

    # ---- expressions

    def _text(self, v: Value, strength: int = 0) -> str:
        text, own = self._operand(v)
        return text if own >= strength else f"({text})"

    def _operand(self, v: Value) -> tuple[str, int]:
        if v.op == "const":
            text = self._constant(v)
            return text, _UNARY if text.startswith("-") else _ATOM
        kept = self.pending.pop(v, None)
        if kept is not None:
            self._reads |= kept.reads
            return kept.text, kept.strength
        self.used.add(v)
        try:
            return self.names[v], _ATOM
        except KeyError:
            raise VerificationError(f"{self.function.name}: {v} ({v.op}) is used before it is computed") from None

    def _written(self, v: Value) -> tuple[str, int, frozenset[object]]:
        self._reads = set()
        if v.op in ("load", "masked_load", "gather"):
            self._reads.add(MEMORY)
        elif v.op == "get":
            self._reads.add(v.detail)
        text, strength = self._expression(v)
        return text, strength, frozenset(self._reads)

    def _listed(self, args: Sequence[Value]) -> str:
        return ", ".join(self._text(a) for a in args)

    def _constant(self, v: Value) -> str:
        detail = v.detail
        if isinstance(detail, tuple):
            numbers = [-int(n) for n in detail] if v.type.kind == "i1" else detail
            kind = Type("i64") if v.type.kind == "i1" else v.type.element
            return f"({self.helpers.name(v.type)}){{{', '.join(number_text(kind, n) for n in numbers)}}}"
        assert isinstance(detail, int | float)
        text = number_text(v.type.element, detail)
        return text if v.type.lanes == 1 else f"{self.helpers.splat(v.type)}({text})"

    def _fused(self, op: str, x: Value, y: Value) -> tuple[str, int] | None:
        """A sum of a product that waits for its use, rounded once, as machine code of LLVM is."""
        if not (self.contract and x.type.floating and op in ("add", "add_reassociated", "sub")):
            return None
        for product, other in ((x, y), (y, x)):
            factors = self.factors.get(product)
            if factors is not None and product in self.pending:
                self._reads |= self.pending.pop(product).reads
                a, b = factors
                c = self._text(other, _UNARY if op == "sub" and product is x else 0)
                if op == "sub":
                    a, c = (a, f"-{c}") if product is x else (f"-({a})", c)
                return self._fma(x.type, a, b, c)
        return None

    def _fma(self, type: Type, x: str, y: str, z: str) -> tuple[str, int]:
        if type.lanes > 1:
            return f"{self.helpers.lanewise('fma', type, 3)}({x}, {y}, {z})", _ATOM
        return f"fma{'f' * (type.kind == 'f32')}({x}, {y}, {z})", _ATOM

    def _expression(self, v: Value) -> tuple[str, int]:
        op, args, type = v.op, v.args, v.type
        if op in _SIGNS:
            return self._binary(v)
        if op in _UNSIGNED:
            u = self._unsigned(type)
            x, y = (f"({u}){self._text(a, _UNARY)}" for a in args)
            return self._back(type, f"{x} {_UNSIGNED[op]} {y}")
        if op in _ROUNDINGS:
            if type.lanes > 1:
                return f"{self.helpers.lanewise(_ROUNDINGS[op], type)}({self._listed(args)})", _ATOM
            return f"{_ROUNDINGS[op]}{'f' * (type.kind == 'f32')}({self._listed(args)})", _ATOM
        return cast("tuple[str, int]", getattr(self, f"_op_{op}")(v))

    def _unsigned(self, type: Type) -> str:
        if type.lanes > 1:
            return self.helpers.vector(f"u{type.bits}", type.lanes)
        return f"uint{type.bits}_t"

    def _back(self, type: Type, text: str) -> tuple[str, int]:
        return f"({self.helpers.name(type)})({text})", _UNARY

    def _binary(self, v: Value) -> tuple[str, int]:
        op, (x, y), type = v.op, v.args, v.type
        sign, strength = _SIGNS[op]
        if type.kind == "i1" and type.lanes == 1:
            # What has an effect has a name by now: the second operand may as well be left out.
            sign, strength = {"and": ("&&", 2), "or": ("||", 1), "xor": ("!=", _COMPARED)}[op]
            return f"{self._text(x, _COMPARED + 1)} {sign} {self._text(y, _COMPARED + 1)}", strength
        if type.floating:
            if op == "rem":
                name = "fmod" + "f" * (type.kind == "f32")
                return (
                    f"{name if type.lanes == 1 else self.helpers.lanewise('fmod', type, 2)}({self._listed((x, y))})",
                    _ATOM,
                )
            found = self._fused(op, x, y)
            if found is not None:
                return found
        elif op in ("add", "sub", "mul") and not (type.lanes == 1 and type.bits == 64 and _small(x) and _small(y)):
            # What may wrap around wraps as unsigned numbers.
            u = "uint32_t" if type.lanes == 1 and type.bits < 32 else self._unsigned(type)
            a, b = (f"({u}){self._text(z, _UNARY)}" for z in (x, y))
            return self._back(type, f"{a} {sign} {b}")
        elif type.bits < 32 and type.lanes == 1:
            return self._back(type, f"{self._text(x, strength)} {sign} {self._text(y, strength + 1)}")
        # Compilers ask for brackets where signs of bits and of arithmetic meet.
        inner = strength if strength >= _SUM else _UNARY
        a, b = self._text(x, inner), self._text(y, inner + (strength >= _SUM))
        if op == "mul" and type.floating and self.contract:
            self.factors[v] = a, b
        return f"{a} {sign} {b}", strength

    def _op_neg(self, v: Value) -> tuple[str, int]:
        (x,) = v.args
        if v.type.floating:
            return f"-{self._text(x, _ATOM)}", _UNARY
        u = "uint32_t" if v.type.lanes == 1 and v.type.bits < 32 else self._unsigned(v.type)
        zero = "0" if v.type.lanes == 1 else f"({u}){{0}}"
        return self._back(v.type, f"{zero} - ({u}){self._text(x, _UNARY)}")

    def _op_abs(self, v: Value) -> tuple[str, int]:
        if v.type.lanes == 1 and v.type.floating:
            return f"fabs{'f' * (v.type.kind == 'f32')}({self._listed(v.args)})", _ATOM
        return f"{self.helpers.magnitude(v.type)}({self._listed(v.args)})", _ATOM

    def _op_fma(self, v: Value) -> tuple[str, int]:
        x, y, z = v.args
        if self.fused:
            return self._fma(v.type, self._text(x), self._text(y), self._text(z))
        return f"{self._text(x, _PRODUCT)} * {self._text(y, _UNARY)} + {self._text(z, _PRODUCT)}", _SUM

    def _op_minimum(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.minimum(v.type, '<')}({self._listed(v.args)})", _ATOM

    def _op_maximum(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.minimum(v.type, '>')}({self._listed(v.args)})", _ATOM

    def _op_copysign(self, v: Value) -> tuple[str, int]:
        if v.type.lanes == 1:
            return f"copysign{'f' * (v.type.kind == 'f32')}({self._listed(v.args)})", _ATOM
        return f"{self.helpers.copysign(v.type)}({self._listed(v.args)})", _ATOM

    def _op_not(self, v: Value) -> tuple[str, int]:
        (x,) = v.args
        if v.type.kind == "i1" and v.type.lanes == 1:
            return f"!{self._text(x, _UNARY)}", _UNARY
        if v.type.bits < 32 and v.type.lanes == 1:
            return self._back(v.type, f"~{self._text(x, _UNARY)}")
        return f"~{self._text(x, _UNARY)}", _UNARY

    def _shift(self, v: Value, sign: str, signed: bool = False) -> tuple[str, int]:
        x, y = v.args
        t, u = self.helpers.name(v.type), self._unsigned(v.type)
        left = self._text(x, _UNARY)
        right = self._text(y, _UNARY)
        if v.type.lanes > 1 and not signed:
            right = f"({u}){right}"
        return f"({t})({left if signed else f'({u}){left}'} {sign} {right})", _UNARY

    def _op_shl(self, v: Value) -> tuple[str, int]:
        return self._shift(v, "<<")

    def _op_lshr(self, v: Value) -> tuple[str, int]:
        return self._shift(v, ">>")

    def _op_ashr(self, v: Value) -> tuple[str, int]:
        return self._shift(v, ">>", signed=True)

    def _op_cmp(self, v: Value) -> tuple[str, int]:
        x, y = v.args
        predicate = str(v.detail)
        sign = _COMPARISONS[predicate.removeprefix("u")] if predicate[0] == "u" else _COMPARISONS[predicate]
        cast = f"({self._unsigned(x.type)})" if predicate[0] == "u" and x.type.bits > 1 else ""
        if x.type.lanes > 1 and x.type.kind == "i1":
            cast = f"({self.helpers.vector('u64', x.type.lanes)})"  # false < true
        text = f"{cast}{self._text(x, _UNARY if cast else _SUM)} {sign} {cast}{self._text(y, _UNARY if cast else _SUM)}"
        if x.type.lanes > 1:
            return self.helpers.mask(x.type, text), _UNARY
        return text, _COMPARED

    def _op_isnan(self, v: Value) -> tuple[str, int]:
        (x,) = v.args
        if v.type.lanes == 1:
            return f"isnan({self._text(x)})", _ATOM
        name = self.helpers.function(
            f"isnan_{x.type}", self.helpers.name(v.type), f"{self.helpers.name(x.type)} x",
            f"return {self.helpers.mask(x.type, 'x != x')};",
        )  # fmt: skip
        return f"{name}({self._text(x)})", _ATOM

    def _op_select(self, v: Value) -> tuple[str, int]:
        mask, x, y = v.args
        if mask.type.lanes > 1:
            return f"{self.helpers.select(v.type)}({self._listed(v.args)})", _ATOM
        return f"{self._text(mask, _COMPARED)} ? {self._text(x, 2)} : {self._text(y, 2)}", 1

    def _op_cast(self, v: Value) -> tuple[str, int]:
        return self._converted(v, signed=True)

    def _op_cast_unsigned(self, v: Value) -> tuple[str, int]:
        return self._converted(v, signed=False)

    def _converted(self, v: Value, signed: bool) -> tuple[str, int]:
        (x,) = v.args
        source, type = x.type, v.type
        t = self.helpers.name(type)
        if type.kind == "i1":
            if type.lanes > 1:
                return self.helpers.mask(source, f"{self._text(x, _SUM)} != 0"), _UNARY
            return f"{self._text(x, _SUM)} != 0", _COMPARED
        if source.floating and type.integer:
            return f"{self.helpers.saturated(source, type, signed)}({self._text(x)})", _ATOM
        if source.kind == "i1":
            sign = "-" if type.lanes > 1 else ""
            text = f"{sign}{self._text(x, _ATOM if sign else _UNARY)}"
        else:
            text = self._text(x, _UNARY)
            if source.integer and not signed:
                text = f"({self._unsigned(source)}){text}"
        if type.lanes > 1:
            return f"__builtin_convertvector({text}, {t})", _ATOM
        return f"({t}){text}", _UNARY

    def _op_bitcast(self, v: Value) -> tuple[str, int]:
        (x,) = v.args
        source, type = x.type, v.type
        if "ptr" in (source.kind, type.kind):
            return f"({self.helpers.name(type)})(intptr_t){self._text(x, _UNARY)}", _UNARY
        if type.lanes > 1 and source.lanes > 1:
            return f"({self.helpers.name(type)}){self._text(x, _UNARY)}", _UNARY
        return f"{self.helpers.bits(source, type)}({self._text(x)})", _ATOM

    def _op_splat(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.splat(v.type)}({self._listed(v.args)})", _ATOM

    def _op_extract(self, v: Value) -> tuple[str, int]:
        x, i = v.args
        text = f"{self._text(x, _ATOM)}[{self._text(i)}]"
        if x.type.kind == "i1":
            return f"{text} != 0", _COMPARED
        return (f"(char *)(intptr_t){text}", _UNARY) if x.type.kind == "ptr" else (text, _ATOM)

    def _op_insert(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.insert(v.type)}({self._listed(v.args)})", _ATOM

    def _op_shuffle(self, v: Value) -> tuple[str, int]:
        indices = ", ".join(map(str, cast("tuple[int, ...]", v.detail)))
        t = self.helpers.name(v.type)
        return f"({t})__builtin_shufflevector({self._listed(v.args)}, {indices})", _UNARY

    def _op_reduce(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.reduce(str(v.detail), v.args[0].type)}({self._listed(v.args)})", _ATOM

    def _op_offset(self, v: Value) -> tuple[str, int]:
        pointer, index = v.args
        size = cast("int", v.detail)
        if v.type.lanes > 1:
            base = self._text(pointer, _UNARY)
            if pointer.type.lanes == 1:
                base = f"{self.helpers.splat(v.type)}({base})"
            return f"{base} + {self._text(index, _UNARY)} * {size}", _SUM
        base, start = self._offsets.get(pointer, ("", "")) if pointer in self.pending else ("", "")
        if start and pointer.detail == size:
            self._reads |= self.pending.pop(pointer).reads
        else:
            base, start = self._text(pointer, _SUM), ""
        own = self._text(index, _SUM if not start else _PRODUCT)
        if start:
            own = start if own == "0" else f"{start} + {own}"
        if own == "0":
            return base, _SUM
        self._offsets[v] = base, own
        if size == 1:
            return f"{base} + {own}", _SUM
        return f"{base} + {size} * {own if own.isidentifier() or own.isdecimal() else f'({own})'}", _SUM

    def _op_load(self, v: Value) -> tuple[str, int]:
        if v.type.lanes > 1:
            return f"{self.helpers.load(v.type)}({self._listed(v.args)})", _ATOM
        place = self._place(v.type, v.args[0])
        return (f"{place} != 0", _COMPARED) if v.type.kind == "i1" else (place, _ATOM)

    def _place(self, type: Type, pointer: Value) -> str:
        """An element of memory that a load reads and a store writes."""
        kind = type.kind.upper()
        if pointer in self.pending and pointer in self._offsets and pointer.detail == type.size:
            self._reads |= self.pending.pop(pointer).reads
            base, index = self._offsets[pointer]
            return f"{kind}({base}, {index})"
        return f"{kind}({self._text(pointer)}, 0)"

    def _op_masked_load(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.masked_load(v.type)}({self._listed(v.args)})", _ATOM

    def _op_gather(self, v: Value) -> tuple[str, int]:
        return f"{self.helpers.gather(v.type)}({self._listed(v.args)})", _ATOM

    def _op_get(self, v: Value) -> tuple[str, int]:
        return self.names[cast("Variable", v.detail)], _ATOM

    def _op_call(self, v: Value) -> tuple[str, int]:
        return f"{identifier(str(v.detail))}({self._listed(v.args)})", _ATOM

    def _op_call_pointer(self, v: Value) -> tuple[str, int]:
        address, *args = v.args
        result = self.helpers.name(v.type)
        types = ", ".join(self.helpers.name(a.type) for a in args) or "void"
        return f"(({result} (*)({types}))(intptr_t){self._text(address, _UNARY)})({self._listed(args)})", _ATOM

    def _op_symbol(self, v: Value) -> tuple[str, int]:
        return f"(char *)(intptr_t){identifier(str(v.detail))}", _UNARY


def _fixed(v: Value) -> bool:
    """Whether the text of a value means the same all the time."""
    return v.op in ("const", "parameter", "index")


def _small(v: Value) -> bool:
    """Whether a number counts elements, so that sums and products of such numbers stay far from the bounds of i64."""
    if v.op == "const":
        return isinstance(v.detail, int) and abs(v.detail) < 2**31
    return v.op == "index" or (v.op in ("add", "sub", "mul", "div", "rem") and all(map(_small, v.args)))
