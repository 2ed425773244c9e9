"""Scalar functions under PyTensor's and NumPy's names: one for each row of the scalar table.

A function is made, with its docstring, when it is first used.

Type checkers and editors read `elementwise.pyi`, which `python tools/names.py` writes from the same table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Final

from consilience.ir import Node
from consilience.ir.side_tables import set_name
from consilience.ops.elementwise import TensorLike, apply
from consilience.ops.scalar import DRAWS, TABLE

# Rows that users know in another form: `power`, `round` with its modes, `where` and `logaddexp` with PyTensor's
# parameters, the parts of complex numbers, and what distributions and `pt.random` are made of.
_ELSEWHERE: Final = {
    "pow", "round", "where", "logaddexp", "fold_in", "poisson_quantile", "binomial_quantile",
    "negative_binomial_quantile", "beta_binomial_sum", "beta_binomial_sum_slope_a", "beta_binomial_sum_slope_b",
    "beta_binomial_quantile", "log1p_square", "gammainc_slope",
    "betainc_slope_a", "betainc_slope_b", "log_gammainc_slope_x", "log_gammainc_slope_a", "log_gammaincc_slope_x",
    "log_gammaincc_slope_a", "log_betainc_odds", "log_betainc_odds_slope_w", "log_betainc_odds_slope_a",
    "log_betainc_odds_slope_b", "zeta", "i0e_slope", "ive_slope", "kve_slope", "sine_integral",
    "cosine_integral", "hyp1f1_slope_a", "hyp1f1_slope_b", "hyp2f1_slope_a", "hyp2f1_slope_c",
    "complex", "modulus", "real", "imag", "angle", "conj", *DRAWS,
}  # fmt: skip

# Other spellings of rows, in PyTensor, NumPy and PyMC.
_SPELLINGS: Final = {
    "abs": "absolute",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "deg2rad": "radians",
    "digamma": "psi",
    "eq": "equal",
    "floor_div": "floor_divide int_div",
    "ge": "greater_equal",
    "gt": "greater",
    "invert": "bitwise_invert bitwise_not",
    "le": "less_equal",
    "kv": "kn",
    "left_shift": "bitwise_left_shift",
    "lt": "less",
    "mod": "remainder",
    "mul": "multiply",
    "ndtri": "probit",
    "neg": "negative",
    "neq": "not_equal",
    "rad2deg": "degrees",
    "right_shift": "bitwise_right_shift",
    "round": "rint round_half_to_even",
    "sigmoid": "expit invlogit",
    "sign": "sgn",
    "softplus": "log1pexp",
    "square": "sqr",
    "sub": "subtract",
    "trigamma": "tri_gamma",
    "true_div": "divide",
    "trunc": "fix",
}

ROWS: Final[dict[str, str]] = {name: name for name in TABLE if name not in _ELSEWHERE} | {
    name: row for row, names in _SPELLINGS.items() for name in names.split()
}
"""The row of the scalar table behind each public name."""


def _named(result: Node, name: str | None) -> Node:
    if name is not None:
        set_name(result, name)
    return result


def _of_arity(row: str, arity: int) -> Callable[..., Node]:
    """The function of a row with as many parameters as it has operands, which is what `inspect.signature` shows."""

    def one(x: TensorLike, /, *, name: str | None = None) -> Node:
        return _named(apply(row, x), name)

    def two(x: TensorLike, y: TensorLike, /, *, name: str | None = None) -> Node:
        return _named(apply(row, x, y), name)

    def three(x: TensorLike, y: TensorLike, z: TensorLike, /, *, name: str | None = None) -> Node:
        return _named(apply(row, x, y, z), name)

    def four(x1: TensorLike, x2: TensorLike, x3: TensorLike, x4: TensorLike, /, *, name: str | None = None) -> Node:
        return _named(apply(row, x1, x2, x3, x4), name)

    def several(*xs: TensorLike, name: str | None = None) -> Node:
        return _named(apply(row, *xs), name)

    return (several, one, two, three, four)[arity]


@functools.cache
def _function(row: str) -> Callable[..., Node]:
    call = _of_arity(row, TABLE[row].arity)
    call.__name__ = call.__qualname__ = row
    name = row if row in ROWS else next(name for name, own in ROWS.items() if own == row)
    call.__doc__ = import_module("consilience.tensor.scalar_documentation").documented(name, row)
    return call


def __getattr__(name: str) -> Callable[..., Node]:
    if name not in ROWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = _function(ROWS[name])
    return found


__all__ = list(ROWS)
