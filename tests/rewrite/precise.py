"""Values of graphs to hundreds of digits: the truth against which both sides of a rule are measured.

A graph and input arrays in, arrays of mpmath numbers out; None where an op has no such meaning here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.ir import Constant, Node, topological
from consilience.ops import (
    BroadcastTo,
    Cast,
    Concatenate,
    Elementwise,
    ExpandDims,
    Index,
    Iota,
    Reduce,
    Reshape,
    Squeeze,
    Transpose,
)
from consilience.rewrite.values import MEANINGS, Array

DIGITS = 420
# Beyond this, 1 + exp(x) needs more digits than there are.
LARGEST_EXPONENT = 900
# Functions whose value needs the exponential of an argument.
GROWING = frozenset(
    (
        "exp",
        "exp2",
        "expm1",
        "log1mexp",
        "softplus",
        "sigmoid",
        "logaddexp",
        "sinh",
        "cosh",
        "tanh",
        "erf",
        "erfc",
        "pow",
        "gammaln",
    )
)


# Ops that move elements without looking at them.
VIEWS = (Concatenate, ExpandDims, Index, Reshape, Squeeze, Transpose)


def digits() -> Any:
    """The arithmetic of many digits."""
    from mpmath import mp  # type: ignore[import-untyped]  # has no annotations

    return mp


def _functions() -> dict[str, Callable[..., Any]]:
    mp = digits()

    nan, inf = mp.nan, mp.inf

    def divide(a: Any, b: Any) -> Any:
        if b == 0:
            return nan if a == 0 or mp.isnan(a) else (inf if a > 0 else -inf)
        if mp.isinf(a) and mp.isinf(b):
            return nan
        return a / b

    def times(a: Any, b: Any) -> Any:
        if (a == 0 and mp.isinf(b)) or (b == 0 and mp.isinf(a)):
            return nan
        return a * b

    def plus(a: Any, b: Any) -> Any:
        if mp.isinf(a) and mp.isinf(b) and a != b:
            return nan
        return a + b

    def log(a: Any) -> Any:
        return nan if mp.isnan(a) or a < 0 else -inf if a == 0 else inf if mp.isinf(a) else mp.log(a)

    def exp(a: Any) -> Any:
        if a == -inf:
            return mp.mpf(0)
        if mp.isfinite(a) and abs(a) > LARGEST_EXPONENT:
            return None
        return mp.exp(a)

    def logaddexp(a: Any, b: Any) -> Any:
        if mp.isinf(a) or mp.isinf(b):
            return max(a, b) if not (mp.isnan(a) or mp.isnan(b)) else nan
        return log(exp(a) + exp(b))

    def power(a: Any, b: Any) -> Any:
        if b == 0:
            return mp.mpf(1)
        if mp.isnan(a) or mp.isnan(b):
            return nan
        if a == 0:
            return inf if b < 0 else mp.mpf(0)
        if mp.isinf(a):
            if a > 0 or (b == int(b) and int(b) % 2 == 0):
                return inf if b > 0 else mp.mpf(0)
            return nan if b != int(b) else -inf if b > 0 else mp.mpf(0)
        if mp.isinf(b):
            return nan if a < 0 else inf if (abs(a) > 1) is (b > 0) else mp.mpf(0)
        if a < 0 and b != int(b):
            return nan
        if abs(b * mp.log(abs(a))) > LARGEST_EXPONENT:
            return None
        return mp.power(a, b)

    def keeping_nan(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *a: nan if any(mp.isnan(v) for v in a) else function(*a)

    def sigmoid(a: Any) -> Any:
        return divide(mp.mpf(1), 1 + exp(-a))

    return {
        "add": plus,
        "sub": lambda a, b: plus(a, -b),
        "mul": times,
        "true_div": divide,
        "neg": lambda a: -a,
        "reciprocal": lambda a: divide(mp.mpf(1), a),
        "square": lambda a: times(a, a),
        "abs": abs,
        "sign": keeping_nan(lambda a: mp.mpf((a > 0) - (a < 0))),
        "sqrt": lambda a: nan if mp.isnan(a) or a < 0 else mp.sqrt(a),
        "pow": power,
        "exp": exp,
        "expm1": lambda a: exp(a) - 1,
        "log": log,
        "log1p": lambda a: log(1 + a),
        "log1mexp": lambda a: log(1 - exp(a)),
        "logaddexp": logaddexp,
        "softplus": lambda a: a if a == inf else log(1 + exp(a)),
        "sigmoid": sigmoid,
        "logit": keeping_nan(lambda a: nan if a < 0 or a > 1 else log(divide(a, 1 - a))),
        "tanh": keeping_nan(mp.tanh),
        "erf": keeping_nan(mp.erf),
        "erfc": keeping_nan(mp.erfc),
        "minimum": keeping_nan(min),
        "maximum": keeping_nan(max),
        "where": lambda c, a, b: a if c else b,
    }


def evaluate_precisely(output: Node, inputs: Mapping[Node, Array]) -> Array | None:
    """The value of a graph with DIGITS digits, or None where an op has no precise meaning here.

    Elements that need more digits than that are None.
    """
    mp = digits()

    with mp.workdps(DIGITS):
        functions = _functions()
        values: dict[Node, Array] = {leaf: _lifted(array) for leaf, array in inputs.items()}
        for node in topological([output], stop=values.__contains__):
            if node not in values:
                found = _value(node, [values[i] for i in node.inputs], functions)
                if found is None:
                    return None
                values[node] = found
        return values[output]


def _lifted(array: Array) -> Array:
    mp = digits()

    if array.dtype.kind != "f":
        return array
    return _each(lambda v: mp.mpf(float(v)), [array])


def _value(node: Node, arrays: Sequence[Array], functions: Mapping[str, Callable[..., Any]]) -> Array | None:
    op = node.op
    if isinstance(op, Constant):
        return _lifted(op.array)
    if isinstance(op, Elementwise):
        if all(a.dtype != object for a in arrays):
            return MEANINGS[Elementwise](op, *arrays)
        function = functions.get(op.function)
        if function is None:
            return _compared(op.function, arrays)
        operands = [_lifted(a.astype("float64")) if a.dtype.kind == "i" else a for a in arrays]
        return _fold(function, operands) if op.function in ("add", "mul") else _each(function, operands)
    if isinstance(op, BroadcastTo):
        return (
            np.broadcast_to(arrays[0], [int(n) for n in op.shape])
            if all(isinstance(n, int) for n in op.shape)
            else None
        )
    if isinstance(op, Iota):
        return np.arange(op.length) if isinstance(op.length, int) else None
    if isinstance(op, Cast):
        if arrays[0].dtype == object:
            return arrays[0] if op.dtype == "float64" else None
        return _lifted(arrays[0].astype(op.dtype))
    if isinstance(op, Reduce) and arrays[0].dtype == object:
        return _reduced(op, arrays[0], functions)
    rule = MEANINGS.get(type(op))
    if rule is None or (not isinstance(op, VIEWS) and any(_has_unknown(a) for a in arrays)):
        return None
    return rule(op, *arrays)


def _has_unknown(array: Array) -> bool:
    return array.dtype == object and any(v is None for v in array.reshape(-1))


def _known(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, None where an operand is None or a function inside gave None."""

    def call(*operands: Any) -> Any:
        if any(v is None for v in operands):
            return None
        try:
            return function(*operands)
        except TypeError:
            return None

    return call


def _each(function: Callable[..., Any], arrays: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.frompyfunc(_known(function), len(arrays), 1)(*arrays), dtype=object)


def _fold(function: Callable[..., Any], arrays: Sequence[Array]) -> Array:
    result = arrays[0]
    for array in arrays[1:]:
        result = _each(function, [result, array])
    return result


def _compared(function: str, arrays: Sequence[Array]) -> Array | None:
    compare: dict[str, Callable[[Any, Any], bool]] = {
        "eq": lambda a, b: bool(a == b),
        "neq": lambda a, b: bool(a != b),
        "lt": lambda a, b: bool(a < b),
        "le": lambda a, b: bool(a <= b),
        "gt": lambda a, b: bool(a > b),
        "ge": lambda a, b: bool(a >= b),
    }
    if function not in compare:
        return None
    found = _each(compare[function], arrays)
    return None if any(v is None for v in found.reshape(-1)) else found.astype(bool)


def _reduced(op: Reduce, x: Array, functions: Mapping[str, Callable[..., Any]]) -> Array | None:
    name = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "logsumexp": "logaddexp"}.get(op.kind)
    if name is None:
        return None
    moved = np.moveaxis(x, op.axes, range(len(op.axes)))
    flat = moved.reshape(-1, *moved.shape[len(op.axes) :])
    if not len(flat):
        return None
    result = flat[0]
    for part in flat[1:]:
        result = _each(functions[name], [np.asarray(result, dtype=object), np.asarray(part, dtype=object)])
    return np.asarray(result, dtype=object)
