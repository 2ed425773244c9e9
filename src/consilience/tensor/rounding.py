"""Whole parts of numbers under PyTensor's and NumPy's names: rounding, and division with a rest."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply, cast
from consilience.ops.notation import round_to


def divmod(x: TensorLike, y: TensorLike) -> tuple[Node, Node]:
    """Floor quotient and remainder, the remainder with the sign of y.

    x, y : ...
    Returns: Quotients and remainders, of the common broadcast shape.
    See ceil_intdiv: The quotient of integers, rounded up.
    >>> [x.eval().item() for x in pt.divmod(7.0, 2.0)]
    [3.0, 1.0]
    """
    return apply("floor_div", x, y), apply("mod", x, y)


def ceil_intdiv(a: TensorLike, b: TensorLike) -> Node:
    """The quotient of integers, rounded up.

    a, b (second) : ...
    Returns: Integers of the common broadcast shape.
    See divmod: Floor quotient and remainder.
    >>> pt.ceil_intdiv(7, 2).eval().item()
    4
    """
    quotient = apply("floor_div", a, b)
    return apply("add", quotient, cast(apply("neq", apply("mod", a, b), 0), quotient.dtype))


def round(a: TensorLike, mode: str | int | None = None, *, decimals: int = 0) -> Node:
    """The nearest multiple of 10 ** -decimals.

    a : ...
    mode: What becomes of halves: "half_to_even" (also for None) or "half_away_from_zero"; an integer here is NumPy's
        `decimals`.
    decimals: Decimal places.
    Returns: Of the shape and dtype of `a`.
    See round_half_away_from_zero: The nearest whole number.
    See iround: The nearest whole number as int64.
    >>> pt.round([1.25, 2.5]).eval().tolist()
    [1.0, 2.0]
    """
    return round_to(a, mode, decimals=decimals)


def round_half_away_from_zero(x: TensorLike) -> Node:
    """The nearest whole number, halves away from zero.

    x : ...
    Returns: Of the shape of the argument.
    See iround: The nearest whole number as int64.
    See round: The nearest multiple of 10 ** -decimals.
    >>> pt.round_half_away_from_zero([2.5, -2.5]).eval().tolist()
    [3.0, -3.0]
    """
    return round_to(x, "half_away_from_zero")


def iround(a: TensorLike, mode: str | None = None) -> Node:
    """The nearest whole number as int64; `mode` as in `round`.

    a : ...
    mode: What becomes of halves: "half_to_even" (also for None) or "half_away_from_zero".
    Returns: Integers of the common broadcast shape.
    See round: The nearest multiple of 10 ** -decimals.
    See round_half_away_from_zero: The nearest whole number.
    >>> pt.iround([1.2, 2.7]).eval().tolist()
    [1, 3]
    """
    return cast(round_to(a, mode), "int64")


tround = round
