"""Functions of numbers: PyTensor's scalar ops by the names of their classes, as functions of tensors.

Operands of a common rank in, their elementwise function out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import consilience.tensor as pt
from consilience.ir import FLOATS, Node

Scalar = Callable[..., Node]


def _chain(function: Callable[[Any, Any], Node]) -> Scalar:
    return lambda *operands: reduce(function, operands)


def _float(operand: Node) -> Node:
    """Truth values and integers as numbers, where PyTensor computes with floats."""
    return operand if operand.dtype in FLOATS else pt.cast(operand, "float64")


def _of_floats(function: Callable[..., Node]) -> Scalar:
    return lambda *operands: function(*map(_float, operands))


def _logical(word: Callable[..., Node], bits: Callable[..., Node]) -> Scalar:
    """Of truth values, or bit by bit of integers."""

    def rule(*operands: Node) -> Node:
        return reduce(word if all(o.dtype == "bool" for o in operands) else bits, operands)

    return rule


def _second(like: Node, value: Node) -> Node:
    return pt.broadcast_arrays(like, value)[1]


_SAME_NAME: Final = """
    abs sign ceil floor trunc neg log log2 log10 log1p exp exp2 expm1 sqr sqrt cos arccos sin arcsin tan arctan
    cosh arccosh sinh arcsinh tanh arctanh erf erfc erfcx erfinv erfcinv gamma gammaln psi sigmoid softplus log1mexp
    reciprocal gammainc gammaincc gammaincinv gammainccinv betainc betaincinv j0 j1 i0 i1 jv ive kve owens_t polygamma
    arctan2 hyp2f1 isnan isinf round_half_to_even round_half_away_from_zero true_div
"""
_NOT_FLOAT: Final = {
    "abs", "ceil", "floor", "isinf", "isnan", "neg", "round_half_to_even", "sign", "sqr", "trunc",
}  # fmt: skip

SCALARS: Final[dict[str, Scalar]] = {
    name.replace("_", ""): getattr(pt, name) if name in _NOT_FLOAT else _of_floats(getattr(pt, name))
    for name in _SAME_NAME.split()
} | {
    "add": _chain(pt.add),
    "mul": _chain(pt.mul),
    "sub": pt.sub,
    "truediv": _of_floats(pt.true_div),
    "intdiv": pt.int_div,
    "mod": pt.mod,
    "pow": pt.power,
    "maximum": _chain(pt.maximum),
    "minimum": _chain(pt.minimum),
    "clip": pt.clip,
    "switch": pt.switch,
    "second": _second,
    "identity": lambda x: x,
    "lt": pt.lt,
    "gt": pt.gt,
    "le": pt.le,
    "ge": pt.ge,
    "eq": pt.eq,
    "neq": pt.neq,
    "and": _logical(pt.logical_and, pt.bitwise_and),
    "or": _logical(pt.logical_or, pt.bitwise_or),
    "xor": _logical(pt.logical_xor, pt.bitwise_xor),
    "invert": lambda x: pt.logical_not(x) if x.dtype == "bool" else pt.bitwise_not(x),
    "trigamma": _of_floats(pt.tri_gamma),
    "ndtriexp": _of_floats(pt.ndtri_exp),
}
