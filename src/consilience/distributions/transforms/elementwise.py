"""Bijections of single numbers: half lines by the logarithm, intervals by log odds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from consilience.distributions.mathematics import (
    arctan2,
    cos,
    exp,
    log,
    log1mexp,
    logit,
    minimum,
    sigmoid,
    sin,
    softplus,
    where,
)
from consilience.distributions.tails import expm1_quotient, log1p_quotient
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node, constant_value
from consilience.ops.elementwise import apply, as_tensor
from consilience.ops.shape import full


class Log(Transform):
    """(0, inf) to R by y = log x.

    See LogExpM1: Close to the identity for large numbers.
    >>> import consilience.distributions.transforms as tr
    >>> tr.Log().forward(1.0).eval().item(), tr.Log().backward(0.0).eval().item()
    (0.0, 1.0)
    """

    name: ClassVar[str] = "log"

    def to_line(self, value: Node) -> Node:
        return log(value)

    def from_line(self, unconstrained: Node) -> Node:
        return exp(unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return unconstrained


class LogOdds(Transform):
    """(0, 1) to R by y = log(x / (1 - x)).

    See Interval: Any interval.
    >>> import consilience.distributions.transforms as tr
    >>> tr.LogOdds().backward(0.0).eval().item()
    0.5
    """

    name: ClassVar[str] = "logodds"

    def to_line(self, value: Node) -> Node:
        return logit(value)

    def from_line(self, unconstrained: Node) -> Node:
        return sigmoid(unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # log s(y) + log s(-y) in one transcendental function instead of two.
        return unconstrained - 2.0 * softplus(unconstrained)


class LogExpM1(Transform):
    """(0, inf) to R by y = log(exp(x) - 1): close to x for large x, to log x for small x.

    See Log: Another map of positive numbers.
    >>> import consilience.distributions.transforms as tr
    >>> tr.LogExpM1().backward(0.0).eval().round(4).item()
    0.6931
    """

    name: ClassVar[str] = "log_exp_m1"

    def to_line(self, value: Node) -> Node:
        return value + log1mexp(-value)

    def from_line(self, unconstrained: Node) -> Node:
        return softplus(unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return -softplus(-unconstrained)


class LogExpM1OfRate(Transform):
    """(0, inf) to R by y = log(exp(rate x) - 1), or by minus that of 1 / x.

    Along log x, a gamma density of shape below 1 falls slowly on one side and doubly exponentially on the other, and
    no step fits both. Here both sides fall exponentially.
    """

    name: ClassVar[str] = "small_shape"
    rate: Node
    reciprocal: bool

    def to_line(self, value: Node) -> Node:
        z = self.rate / value if self.reciprocal else self.rate * value
        y = z + log1mexp(-z)
        return -y if self.reciprocal else y

    def from_line(self, unconstrained: Node) -> Node:
        return self.rate / softplus(-unconstrained) if self.reciprocal else softplus(unconstrained) / self.rate

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        if not self.reciprocal:
            return -softplus(-unconstrained) - log(self.rate)
        return log(self.rate) - 2.0 * log(softplus(-unconstrained)) - softplus(unconstrained)


class Circular(Transform):
    """Angles in [-pi, pi] as any real number, of which whole turns are taken off.

    Many numbers stand for one angle, so that a density of angles, seen over all numbers, repeats with period 2 pi.

    See Interval: An interval with two ends.
    >>> import consilience.distributions.transforms as tr
    >>> tr.Circular().backward(7.0).eval().round(4).item()
    0.7168
    """

    name: ClassVar[str] = "circular"

    def to_line(self, value: Node) -> Node:
        return value

    def from_line(self, unconstrained: Node) -> Node:
        return arctan2(sin(unconstrained), cos(unconstrained))

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return full(unconstrained.static_shape, 0.0, unconstrained.dtype)


class ExtremeValueLogarithm(Transform):
    """Numbers x with 1 + shape z > 0 to R by y = log(1 + shape z) / shape, z at shape 0; z = (x - location) / scale."""

    name: ClassVar[str] = "extreme_value"
    location: Node
    scale: Node
    shape: Node

    def to_line(self, value: Node) -> Node:
        return log1p_quotient(self.shape, (value - self.location) / self.scale)

    def from_line(self, unconstrained: Node) -> Node:
        return self.location + self.scale * expm1_quotient(self.shape, unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return log(self.scale) + self.shape * unconstrained


class Interval(Transform):
    """An interval to R; bounds are numbers or tensors that broadcast against the value, None for infinity.

    Between two bounds y = log((x - lower) / (upper - x)), next to one bound the logarithm of the distance.

    lower: Lower end of the interval; None for no end.
    upper: Upper end of the interval; None for no end.
    bounds_fn: In place of bounds a function of a variable's key, its shape and its parameters that gives both.
    See Log: Positive numbers.
    See LogOdds: Probabilities.
    >>> import consilience.distributions.transforms as tr
    >>> tr.Interval(2.0, 4.0).backward(0.0).eval().item()
    3.0
    """

    name: ClassVar[str] = "interval"
    lower: float | Node | None = None
    upper: float | Node | None = None
    bounds_fn: Callable[..., tuple[Any, Any]] | None = None

    def __post_init__(self) -> None:
        for end in ("lower", "upper"):
            bound = getattr(self, end)
            if isinstance(bound, list | tuple | np.ndarray):
                bound = as_tensor(bound)
            if (number := _number(bound)) is not None:
                bound = None if math.isinf(number) else float(number)
            object.__setattr__(self, end, bound)
        if self.bounds_fn is not None:
            if self.lower is not None or self.upper is not None:
                raise ValueError("an interval transform takes bounds, or a function `bounds_fn` that gives them.")
            return
        if self.lower is None and self.upper is None:
            raise ValueError("an interval transform needs a lower or an upper bound.")
        if isinstance(self.lower, int | float) and isinstance(self.upper, int | float) and not self.lower < self.upper:
            raise ValueError(f"the lower bound must be below the upper one, got {self.lower:g} and {self.upper:g}.")

    def of_inputs(self, inputs: tuple[Node | None, ...]) -> Transform:
        return self if self.bounds_fn is None else Interval(*self.bounds_fn(*inputs))

    def to_line(self, value: Node) -> Node:
        if (standard := self._standard) is not None:
            return standard.to_line(value)
        if self.upper is None:
            return log(apply("sub", value, self._low))
        if self.lower is None:
            return log(apply("sub", self._high, value))
        return log(apply("sub", value, self._low)) - log(apply("sub", self._high, value))

    def from_line(self, unconstrained: Node) -> Node:
        if (standard := self._standard) is not None:
            return standard.from_line(unconstrained)
        if self.upper is None:
            return apply("add", self._low, exp(unconstrained))
        if self.lower is None:
            return apply("sub", self._high, exp(unconstrained))
        inside = apply("add", self._low, apply("mul", self._width, sigmoid(unconstrained)))
        # Rounding may lead past the upper end, never below the lower one.
        return minimum(inside, self._high)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        if self.lower is None or self.upper is None:
            return unconstrained
        return log(self._width) + (unconstrained - 2.0 * softplus(unconstrained))

    @property
    def _standard(self) -> Transform | None:
        """The transform of fewer steps that an interval from 0, or from 0 to 1, has."""
        if not isinstance(self.lower, float) or self.lower != 0.0:
            return None
        return log_transform if self.upper is None else log_odds if self.upper == 1.0 else None

    @property
    def _low(self) -> float | Node:
        return -math.inf if self.lower is None else self.lower

    @property
    def _high(self) -> float | Node:
        return math.inf if self.upper is None else self.upper

    @property
    def _width(self) -> Node:
        return apply("sub", self._high, self._low)


class PartialInterval(Transform):
    """As `Interval`, where some elements of known bounds are infinite: each element has the map of its own bounds.

    `lower`: lower ends, -inf where there is none. `upper`: upper ends, inf where there is none.
    """

    name: ClassVar[str] = "interval"
    lower: float | Node
    upper: float | Node

    def to_line(self, value: Node) -> Node:
        low, high, bounded_below, bounded_above = self._ends()
        above_low = log(where(bounded_below, value - low, 1.0))
        below_high = log(where(bounded_above, high - value, 1.0))
        one = where(bounded_below, above_low, where(bounded_above, below_high, value))
        return where(bounded_below & bounded_above, above_low - below_high, one)

    def from_line(self, unconstrained: Node) -> Node:
        low, high, bounded_below, bounded_above = self._ends()
        distance = exp(where(bounded_below ^ bounded_above, unconstrained, 0.0))
        one = where(bounded_below, low + distance, where(bounded_above, high - distance, unconstrained))
        both = minimum(low + (high - low) * sigmoid(unconstrained), high)
        return where(bounded_below & bounded_above, both, one)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        low, high, bounded_below, bounded_above = self._ends()
        both = log(high - low) + (unconstrained - 2.0 * softplus(unconstrained))
        one = where(bounded_below | bounded_above, unconstrained, 0.0 * unconstrained)
        return where(bounded_below & bounded_above, both, one)

    def _ends(self) -> tuple[Any, Any, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """The ends, other numbers (0 and 1 apart) where there are none, and where there are ends below and above."""
        known = [constant_value(e) if isinstance(e, Node) else np.asarray(e) for e in (self.lower, self.upper)]
        below, above = (np.asarray(True if k is None else np.isfinite(k)) for k in known)
        low = self.lower if known[0] is None else np.where(below, known[0], 0.0)
        high = self.upper if known[1] is None else np.where(above, known[1], 0.0)
        both = below & above  # elsewhere the width is of no influence, and its logarithm a number
        return low, where(both, high, where(above, high, low + 1.0)), below, above


def _number(bound: float | Node | None) -> float | None:
    if isinstance(bound, Node):
        known = constant_value(bound)
        return float(known.item()) if known is not None and known.size == 1 and known.ndim == 0 else None
    return bound


log_transform = Log()
log_odds = LogOdds()
log_exp_m1 = LogExpM1()
circular = Circular()
