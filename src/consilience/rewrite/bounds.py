"""Bounds of the elements of a value: one transfer rule per op.

A node and the bounds of its inputs in, bounds of the node out. Exact arithmetic is meant: the
exponential is positive although it may underflow.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.ir import COMPLEXES, FLOATS, INTEGERS, Constant, Node
from consilience.ir.dimension import non_negative
from consilience.ops import (
    ArgReduce,
    ArgSort,
    Cast,
    Cumulative,
    Elementwise,
    Iota,
    LengthOf,
    MaskPositions,
    Reduce,
    SearchSorted,
    Softmax,
)
from consilience.ops.scalar import Column
from consilience.record import Record

INF = math.inf


class Bounds(Record):
    """Closed interval that holds every element which is not NaN, with what else is known of all elements.

    `nonzero`: 0 is excluded. `finite`: a real number, neither infinite nor NaN. `not_nan`: never NaN. `whole`: an
    integer (or infinite). `unsigned`: a 0 is +0.
    """

    low: float = -INF
    high: float = INF
    nonzero: bool = False
    finite: bool = False
    not_nan: bool = False
    whole: bool = False
    unsigned: bool = False

    def and_also(self, other: Bounds) -> Bounds:
        """Both descriptions hold."""
        return Bounds(
            max(self.low, other.low),
            min(self.high, other.high),
            self.nonzero or other.nonzero,
            self.finite or other.finite,
            self.not_nan or other.not_nan or self.finite or other.finite,
            self.whole or other.whole,
            self.unsigned or other.unsigned,
        )

    def or_else(self, other: Bounds) -> Bounds:
        """One of the two descriptions holds."""
        return Bounds(
            min(self.low, other.low),
            max(self.high, other.high),
            self.without_zero and other.without_zero,
            self.finite and other.finite,
            self.not_nan and other.not_nan,
            self.whole and other.whole,
            self.without_minus_zero and other.without_minus_zero,
        )

    @property
    def without_minus_zero(self) -> bool:
        """-0 is excluded."""
        return self.unsigned or self.without_zero

    @property
    def without_zero(self) -> bool:
        """0 is excluded, by the interval or otherwise."""
        return self.nonzero or self.low > 0 or self.high < 0


UNKNOWN = Bounds()
TRUTH = Bounds(0.0, 1.0, finite=True, not_nan=True, whole=True, unsigned=True)
Transfer = Callable[..., Bounds]

_of_constants: weakref.WeakKeyDictionary[Node, Bounds] = weakref.WeakKeyDictionary()


def bounds_of(node: Node, known: Mapping[Node, Bounds]) -> Bounds:
    """Bounds of a tensor node, given those of its inputs."""
    op = node.op
    if isinstance(op, Constant):
        return _constant(node)
    inputs = [known[i] for i in node.inputs]
    picked: tuple[int, ...] = ()
    if isinstance(op, Elementwise):
        rule = ELEMENTWISE.get(op.function)
        found = rule(*inputs) if rule is not None else UNKNOWN
    elif picked := op.picks_of(len(inputs)):
        found = functools.reduce(Bounds.or_else, (inputs[place] for place in picked))
    elif isinstance(op, Cast):
        found = _cast(op.dtype, node.inputs[0].dtype, inputs[0])
    elif isinstance(op, Reduce):
        found = _reduce(op, node.inputs[0], inputs[0])
    elif isinstance(op, Iota | MaskPositions | ArgReduce | ArgSort | SearchSorted):
        found = Bounds(low=0.0)
    elif isinstance(op, Softmax):
        found = Bounds(-INF, 0.0) if op.logarithm else Bounds(0.0, 1.0)
    elif isinstance(op, LengthOf):
        found = Bounds(low=0.0) if non_negative(op.length) else UNKNOWN
    elif isinstance(op, Cumulative) and op.kind == "sum":
        found = Bounds(
            0.0 if inputs[0].low >= 0 else -INF, 0.0 if inputs[0].high <= 0 else INF, finite=inputs[0].finite
        )
    else:
        found = UNKNOWN
    return _of_dtype(found, node.dtype, bool(picked))


def _of_dtype(found: Bounds, dtype: str, same: bool) -> Bounds:
    """What the dtype adds to bounds, or leaves of them.

    Integers wrap around where they leave their range; those of 64 bits with a sign are taken to stay inside it.
    Few digits of float16 are left of exact arithmetic: only what is not computed keeps its bounds.
    """
    if dtype == "bool":
        return found.and_also(TRUTH)
    if dtype in COMPLEXES:
        return UNKNOWN
    if dtype == "float16":
        return found if same else UNKNOWN
    if dtype not in INTEGERS:
        return found
    if dtype != "int64":
        limits = np.iinfo(dtype)
        low, high = float(limits.min), float(limits.max)
        if found.low < low or found.high > high:
            found = Bounds(low, high)
    return found.and_also(_INTEGER)


_INTEGER = Bounds(finite=True, not_nan=True, whole=True, unsigned=True)


def _constant(node: Node) -> Bounds:
    found = _of_constants.get(node)
    if found is None:
        assert isinstance(node.op, Constant)
        found = _of_constants[node] = array_bounds(node.op.array)
    return found


def array_bounds(array: npt.NDArray[Any]) -> Bounds:
    """Bounds of the elements of an array."""
    if array.size == 0:
        return Bounds(INF, -INF, True, True, True, True)
    if array.dtype.kind == "c":
        return UNKNOWN
    if array.dtype.kind in "biu":
        low, high = float(array.min()), float(array.max())
        return Bounds(low, high, bool(array.all()), True, True, True, True)
    nan = bool(np.isnan(array).any())
    real = array[~np.isnan(array)] if nan else array
    if real.size == 0:
        return Bounds(INF, -INF, True)
    return Bounds(
        float(real.min()),
        float(real.max()),
        bool((real != 0).all()),
        not nan and bool(np.isfinite(array).all()),
        not nan,
        not nan and bool((np.trunc(array) == array).all()),
        not (np.signbit(real) & (real == 0)).any(),
    )


def _cast(target: str, source: str, x: Bounds) -> Bounds:
    if target == "bool":
        return TRUTH
    if target in INTEGERS and source in FLOATS:
        # Truncation may reach 0, NaN becomes 0.
        return Bounds(min(x.low, 0.0), max(x.high, 0.0))
    return x


def _reduce(op: Reduce, operand: Node, x: Bounds) -> Bounds:
    lengths = [operand.static_shape[a] for a in op.axes]
    filled = all(isinstance(n, int) and n > 0 for n in lengths)
    if op.kind in ("any", "all"):
        return TRUTH
    if op.kind == "sum":
        one_sign = x.low >= 0 or x.high <= 0
        return Bounds(
            0.0 if x.low >= 0 else -INF,
            0.0 if x.high <= 0 else INF,
            filled and one_sign and x.without_zero,
            x.finite,
            x.finite or (x.not_nan and one_sign),
            x.whole,
            x.without_minus_zero,
        )
    if op.kind == "prod":
        return Bounds(0.0 if x.low >= 0 else -INF, INF, x.without_zero, x.finite, x.finite, x.whole)
    return Bounds(high=INF)  # logsumexp


def _sum(*inputs: Bounds) -> Bounds:
    low = math.fsum(b.low for b in inputs) if all(b.low > -INF for b in inputs) else -INF
    high = math.fsum(b.high for b in inputs) if all(b.high < INF for b in inputs) else INF
    # Bounds are sums of rounded numbers: only what survives one step outwards is claimed.
    low, high = _outwards(low, high, inputs)
    same_sign = all(b.low >= 0 for b in inputs) or all(b.high <= 0 for b in inputs)
    finite = all(b.finite for b in inputs)
    return Bounds(
        low,
        high,
        same_sign and any(b.without_zero for b in inputs),
        finite,
        finite or (same_sign and all(b.not_nan for b in inputs)) or _one_infinite(inputs),
        all(b.whole for b in inputs),
        any(b.without_minus_zero for b in inputs),  # the sum of zeros is -0 where all of them are
    )


def _one_infinite(inputs: Sequence[Bounds]) -> bool:
    return all(b.not_nan for b in inputs) and sum(not b.finite for b in inputs) == 1


def _outwards(low: float, high: float, inputs: Sequence[Bounds]) -> tuple[float, float]:
    exact = all(_exact(b.low) and _exact(b.high) for b in inputs)
    if exact:
        return low, high
    return (math.nextafter(low, -INF) if low else low), (math.nextafter(high, INF) if high else high)


def _exact(number: float) -> bool:
    return math.isinf(number) or ((1024.0 * number).is_integer() and abs(number) < 2.0**40)


def _corner(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _product(*inputs: Bounds) -> Bounds:
    low, high = inputs[0].low, inputs[0].high
    for b in inputs[1:]:
        corners = [_corner(x, y) for x in (low, high) for y in (b.low, b.high)]
        low, high = min(corners), max(corners)
    low, high = _outwards(low, high, inputs)
    finite = all(b.finite for b in inputs)
    nonzero = all(b.without_zero for b in inputs)
    return Bounds(
        low,
        high,
        nonzero,
        finite,
        finite or (nonzero and all(b.not_nan for b in inputs)),
        all(b.whole for b in inputs) and finite,
        all(b.low >= 0 and b.without_minus_zero for b in inputs),
    )


def _negative(x: Bounds) -> Bounds:
    return Bounds(-x.high, -x.low, x.nonzero, x.finite, x.not_nan, x.whole)


def _difference(x: Bounds, y: Bounds) -> Bounds:
    return _sum(x, _negative(y))


def _reciprocal(x: Bounds) -> Bounds:
    # 1 / inf is 0; 1 / 0 has the sign of the zero.
    low = 0.0 if x.low >= 0 and x.without_zero else -INF
    high = 0.0 if x.high <= 0 and x.without_zero else INF
    return Bounds(low, high, x.finite, x.finite and x.without_zero, x.not_nan)


def _quotient(x: Bounds, y: Bounds) -> Bounds:
    found = _product(x, _reciprocal(y))
    low = 0.0 if found.low >= 0 else -INF
    high = 0.0 if found.high <= 0 else INF
    finite = x.finite and y.finite and y.without_zero
    return Bounds(low, high, x.without_zero and y.finite, finite, finite)


def _square(x: Bounds) -> Bounds:
    return Bounds(
        0.0,
        INF if not (abs(x.low) <= 1 and abs(x.high) <= 1) else 1.0,
        x.without_zero,
        x.finite,
        x.not_nan,
        x.whole,
        True,
    )


def _absolute(x: Bounds) -> Bounds:
    low = x.low if x.low >= 0 else -x.high if x.high <= 0 else 0.0
    return Bounds(low, max(abs(x.low), abs(x.high)), x.without_zero, x.finite, x.not_nan, x.whole, True)


def _sign(x: Bounds) -> Bounds:
    return Bounds(
        1.0 if x.low > 0 else 0.0 if x.low >= 0 else -1.0,
        -1.0 if x.high < 0 else 0.0 if x.high <= 0 else 1.0,
        x.without_zero, x.not_nan, x.not_nan, True,
    )  # fmt: skip


def _root(x: Bounds) -> Bounds:
    inside = x.low >= 0
    return Bounds(0.0, 1.0 if x.high <= 1 else INF, x.without_zero, x.finite and inside, x.not_nan and inside)


def _power(x: Bounds, y: Bounds) -> Bounds:
    if x.low >= 0 and x.without_zero:
        finite = x.finite and y.finite
        return Bounds(0.0, INF, finite, finite, finite)
    if x.low >= 0:
        return Bounds(0.0, INF)
    return UNKNOWN


def _exponential(x: Bounds) -> Bounds:
    return Bounds(
        1.0 if x.low >= 0 else 0.0, 1.0 if x.high <= 0 else INF, x.finite or x.low >= 0, x.finite, x.not_nan
    )  # fmt: skip


def _positive_exponential(x: Bounds) -> Bounds:
    # exp(-inf) is 0, which a sign fact leaves aside as it does underflow.
    found = _exponential(x)
    return Bounds(found.low, found.high, True, found.finite, found.not_nan)


def _expm1(x: Bounds) -> Bounds:
    low = 0.0 if x.low >= 0 else -1.0
    return Bounds(low, 0.0 if x.high <= 0 else INF, x.without_zero, x.finite, x.not_nan)


def _logarithm(x: Bounds) -> Bounds:
    positive = x.low >= 0 and x.without_zero
    return Bounds(
        0.0 if x.low >= 1 else -INF, 0.0 if x.high <= 1 else INF, x.low > 1 or x.high < 1,
        x.finite and positive, x.not_nan and x.low >= 0,
    )  # fmt: skip


def _log1p(x: Bounds) -> Bounds:
    return Bounds(
        0.0 if x.low >= 0 else -INF, 0.0 if x.high <= 0 else INF, x.without_zero,
        x.finite and x.low > -1, x.not_nan and x.low >= -1,
    )  # fmt: skip


def _within(low: float, high: float, nonzero: bool = False) -> Transfer:
    def rule(*inputs: Bounds) -> Bounds:
        not_nan = all(b.finite or b.not_nan for b in inputs)
        return Bounds(low, high, nonzero, not_nan, not_nan)

    return rule


def _softplus(x: Bounds) -> Bounds:
    return Bounds(0.0, INF, True, x.finite, x.not_nan)


def _odd(bound: float) -> Transfer:
    """An increasing odd function with values in [-bound, bound]."""

    def rule(x: Bounds) -> Bounds:
        sure = x.finite or x.not_nan
        return Bounds(
            0.0 if x.low >= 0 else -bound,
            0.0 if x.high <= 0 else bound,
            x.without_zero,
            (sure and not math.isinf(bound)) or x.finite,
            sure,
        )

    return rule


def _tail(x: Bounds) -> Bounds:
    sure = x.finite or x.not_nan
    return Bounds(0.0, 2.0, True, sure, sure)


def _greater(*inputs: Bounds) -> Bounds:
    a, b = inputs
    low = max(a.low, b.low)
    either = (a.low >= 0 and a.without_zero) or (b.low >= 0 and b.without_zero)
    return Bounds(
        low, max(a.high, b.high), either or (a.without_zero and b.without_zero),
        a.finite and b.finite, a.not_nan and b.not_nan, a.whole and b.whole,
    )  # fmt: skip


def _less(*inputs: Bounds) -> Bounds:
    a, b = inputs
    either = (a.high <= 0 and a.without_zero) or (b.high <= 0 and b.without_zero)
    return Bounds(
        min(a.low, b.low), min(a.high, b.high), either or (a.without_zero and b.without_zero),
        a.finite and b.finite, a.not_nan and b.not_nan, a.whole and b.whole,
    )  # fmt: skip


def _rounded(x: Bounds) -> Bounds:
    low = math.floor(x.low) if math.isfinite(x.low) else x.low
    high = math.ceil(x.high) if math.isfinite(x.high) else x.high
    return Bounds(float(low), float(high), False, x.finite, x.not_nan, True)


def _choice(condition: Bounds, x: Bounds, y: Bounds) -> Bounds:
    return x.or_else(y)


def _truth(*inputs: Bounds) -> Bounds:
    return TRUTH


ELEMENTWISE: Final = Column[Transfer](
    "bounds",
    {
        "add": _sum,
        "sub": _difference,
        "mul": _product,
        "true_div": _quotient,
        "neg": _negative,
        "reciprocal": _reciprocal,
        "square": _square,
        "abs": _absolute,
        "sign": _sign,
        "sqrt": _root,
        "pow": _power,
        "exp": _positive_exponential,
        "exp2": _positive_exponential,
        "expm1": _expm1,
        "log": _logarithm,
        "log2": _logarithm,
        "log10": _logarithm,
        "log1p": _log1p,
        "log1mexp": lambda x: Bounds(-INF, 0.0, x.finite, x.finite and x.high < 0, x.not_nan and x.high <= 0),
        "log1p_square": lambda x: Bounds(0.0, INF, x.without_zero, x.finite, x.finite or x.not_nan),
        "softplus": _softplus,
        "sigmoid": _within(0.0, 1.0, True),
        "hypot": lambda x, y: Bounds(
            0.0, INF, x.without_zero or y.without_zero, x.finite and y.finite, x.finite and y.finite
        ),
        "sin": lambda x: Bounds(-1.0, 1.0, False, x.finite, x.finite),
        "cos": lambda x: Bounds(-1.0, 1.0, False, x.finite, x.finite),
        "arctan": _odd(2.0),
        "sinh": _odd(INF),
        "arcsinh": _odd(INF),
        "cbrt": _odd(INF),
        "tanh": _odd(1.0),
        "erf": _odd(1.0),
        "cosh": lambda x: Bounds(1.0, INF, True, x.finite, x.not_nan),
        "erfc": _tail,
        "erfcx": lambda x: Bounds(0.0, INF, True, x.finite, x.not_nan),
        "log_ndtr": lambda x: Bounds(-INF, 0.0, True, x.finite, x.not_nan),
        "i0e": lambda x: Bounds(0.0, 1.0, x.finite, x.not_nan, x.not_nan),
        "gammainc": lambda a, x: Bounds(0.0, 1.0),
        "gammaincc": lambda a, x: Bounds(0.0, 1.0),
        "betainc": lambda a, b, x: Bounds(0.0, 1.0),
        "log_gammainc": lambda a, x: Bounds(-INF, 0.0),
        "log_gammaincc": lambda a, x: Bounds(-INF, 0.0),
        "log_betainc_odds": lambda a, b, w: Bounds(-INF, 0.0),
        "beta_binomial_sum": lambda a, b, n, k: Bounds(0.0, INF),
        "gammaincinv": lambda a, p: Bounds(0.0, INF),
        "gammainccinv": lambda a, q: Bounds(0.0, INF),
        "betaincinv": lambda a, b, p: Bounds(0.0, 1.0),
        "betainccinv": lambda a, b, q: Bounds(0.0, 1.0),
        **dict.fromkeys(
            ("poisson_quantile", "binomial_quantile", "negative_binomial_quantile", "beta_binomial_quantile"),
            lambda *_: Bounds(0.0, INF, whole=True),
        ),
        "maximum": _greater,
        "minimum": _less,
        "floor": _rounded,
        "ceil": _rounded,
        "trunc": _rounded,
        "round": _rounded,
        "where": _choice,
        "random_uniform": _within(0.0, 1.0),
        "random_exponential": lambda *_: Bounds(0.0, INF, False, True, True),
        "random_von_mises": _within(-4.0, 4.0),
        "random_gamma": lambda *_: Bounds(0.0, INF),
        "random_poisson": lambda *_: Bounds(0.0, INF),
        "random_binomial": lambda *_: Bounds(0.0, INF),
        "random_conway_maxwell_poisson": lambda *_: Bounds(0.0, INF),
    },
)
for _name in (
    "eq", "neq", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "signbit",
    "logical_and", "logical_or", "logical_xor", "logical_not",
):  # fmt: skip
    ELEMENTWISE[_name] = _truth
