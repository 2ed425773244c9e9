"""Functions of numbers: PyTensor's scalar ops by the names of their classes, as functions of tensors.

Operands of a common rank in, their elementwise function out.
"""

from __future__ import annotations

from typing import Any, Final

import consilience.tensor as pt
from consilience.engines.reader.rules import Rule, Rules, chain
from consilience.ir import FLOATS, Node


def _float(operand: Node) -> Node:
    """Truth values and integers as numbers, where PyTensor computes with floats."""
    return operand if operand.dtype in FLOATS else pt.cast(operand, "float64")


def _of_floats(function: Rule) -> Rule:
    return lambda *operands: function(*map(_float, operands))


def _logical(word: Rule, bits: Rule) -> Rule:
    """Of truth values, or bit by bit of integers."""

    def rule(*operands: Node) -> Any:
        own = word if all(o.dtype == "bool" for o in operands) else bits
        return chain(own)(*operands) if len(operands) > 1 else own(*operands)

    return rule


def _second(like: Node, value: Node) -> Node:
    return pt.broadcast_arrays(like, value)[1]


_FLOATS: Final = """
    log log2 log10 log1p exp exp2 expm1 sqrt cos arccos sin arcsin tan arctan cosh arccosh sinh arcsinh tanh arctanh erf
    erfc erfcx erfinv erfcinv gamma gammaln psi sigmoid softplus log1mexp reciprocal gammainc gammaincc gammaincinv
    gammainccinv betainc betaincinv j0 j1 i0 i1 jv ive kve owens_t polygamma arctan2 hyp2f1 round_half_away_from_zero
    true_div
"""

SCALARS: Final = Rules(
    {"and": _logical(pt.logical_and, pt.bitwise_and), "or": _logical(pt.logical_or, pt.bitwise_or)},
    xor=_logical(pt.logical_xor, pt.bitwise_xor), invert=_logical(pt.logical_not, pt.bitwise_not),
    second=_second, identity=lambda x: x,
)  # fmt: skip
SCALARS.rows("abs ceil floor isinf isnan neg sign sqr trunc sub mod clip switch lt gt le ge eq neq")
SCALARS.rows({"roundhalftoeven": "round_half_to_even", "intdiv": "int_div", "pow": "power"})
SCALARS.rows("add mul maximum minimum", chain)
SCALARS.rows({name.replace("_", ""): name for name in _FLOATS.split()}, _of_floats)
SCALARS.rows({"trigamma": "tri_gamma", "ndtriexp": "ndtri_exp"}, _of_floats)
