"""How many floating-point operations a loop program does, read off its text.

Statements of a `loops.Module` in, a number out; None where loops run as long as values say.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Final

from consilience.native.loops import Module
from consilience.native.program import For, If, Statement, Value, While
from consilience.native.target import LANES
from consilience.native.vectormath import FUNCTIONS, define, symbol

_ARITHMETIC: Final = frozenset(
    {"abs", "add", "add_reassociated", "ceil", "copysign", "div", "floor", "maximum", "minimum", "mul", "neg", "rem"}
    | {"round_even", "sqrt", "sub", "trunc"}
)
# Single numbers may go through the C library; their functions are counted as those of vectors.
_MATHEMATICS: Final = {name: (name, 1) for name in FUNCTIONS} | {
    symbol(name, lanes): (name, lanes) for name in FUNCTIONS for lanes in LANES
}


def operations(module: Module, block: Sequence[Statement], known: Mapping[Value, int] | None = None) -> float | None:
    """Floating-point operations of some statements; a fused multiply-add counts as two, of branches the longer counts.

    known   values of parameters
    """
    numbers = dict(known or {})
    total = 0.0
    for s in block:
        part: float | None = 0.0
        match s:
            case Value(op="call"):
                part = _of_call(module, s, numbers)
            case Value(op="fma"):
                part = 2.0 * s.type.lanes
            case Value():
                part = float(s.type.lanes) if s.op in _ARITHMETIC and s.type.floating else 0.0
                part = float(s.args[0].type.lanes) if s.op == "reduce" and s.type.floating else part
            case For():
                bounds = [_number(v, numbers) for v in (s.start, s.stop, s.step)]
                inside = operations(module, s.body, numbers)
                if inside == 0.0:
                    part = 0.0
                elif inside is None or None in bounds:
                    return None
                else:
                    start, stop, step = (int(n or 0) for n in bounds)
                    part = inside * len(range(start, stop, step))
            case If():
                one, other = operations(module, s.then, numbers), operations(module, s.otherwise or [], numbers)
                part = None if one is None or other is None else max(one, other)
            case While():
                both = (operations(module, s.test, numbers), operations(module, s.body, numbers))
                part = 0.0 if both == (0.0, 0.0) else None
        if part is None:
            return None
        total += part
    return total


def _number(value: Value, known: Mapping[Value, int]) -> int | None:
    if value.op == "const" and isinstance(value.detail, int):
        return value.detail
    if value.op in ("add", "sub", "mul", "and") and len(value.args) == 2:
        one, other = (_number(a, known) for a in value.args)
        if one is not None and other is not None:
            return {"add": one + other, "sub": one - other, "mul": one * other, "and": one & other}[value.op]
    return known.get(value)


def _of_call(module: Module, call: Value, known: Mapping[Value, int]) -> float | None:
    called = str(call.detail)
    function = module.functions.get(called)
    if function is not None:
        arguments = zip(function.parameters, call.args, strict=True)
        bound = {p: n for p, a in arguments if (n := _number(a, known)) is not None}
        return operations(module, function.body, bound)
    if called in _MATHEMATICS:
        name, lanes = _MATHEMATICS[called]
        cost = _of_mathematics(name)
        return None if cost is None else cost * lanes
    return 0.0 if call.type.kind == "i32" else None


@functools.cache
def _of_mathematics(name: str) -> float | None:
    """Operations of one value of a function of the vector library."""
    module = Module()
    return operations(module, module.functions[define(module, name, 1, True)].body)
