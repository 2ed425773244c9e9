"""Normal arrays that sum to zero along their last axes."""

from __future__ import annotations

from typing import Any

from consilience.distributions.constraints import Constraint, ZeroSumConstraint, positive
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.mathematics import LOG_SQRT_2_PI, log, square
from consilience.distributions.parameters import as_parameter, named_arguments, whole
from consilience.errors import ShapeError
from consilience.ir import Node, Shape, constant
from consilience.ir.dimension import product
from consilience.ops.elementwise import cast
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.reductions import mean
from consilience.ops.shape import as_shape, expand_dims, full, length_of, squeeze


class ZeroSumNormal(Continuous):
    """Normal arrays of independent elements, given that each of their last axes sums to zero.

    The density is with respect to the volume of the arrays that sum to zero: exp(-sum(x^2) / (2 sigma^2)) over
    (sigma sqrt(2 pi))^d, where d is the product of the lengths - 1 of these axes.

    sigma: > 0, standard deviation before the sum is taken off; one for all elements of the last axes.
    n_zerosum_axes: How many of the last axes sum to zero; 1 by default.
    support_shape: Lengths of these axes; by default those of `shape` or `dims`.
    """

    sigma = parameter(positive, default=1.0)
    support_shape: Shape = static(lambda title, name, given: as_shape(given))
    arguments = ("sigma", "n_zerosum_axes", "support_shape")

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, cls.arguments, parameters, named)
        event = as_shape(given["support_shape"]) if "support_shape" in given else None
        axes = whole(1)(cls.title, "n_zerosum_axes", given.get("n_zerosum_axes", len(event or (0,))))
        which = f"the {axes} axes that sum to zero" if axes > 1 else "the axis that sums to zero"
        if event is None:
            full_shape = () if shape is None else as_shape(shape)
            if len(full_shape) < axes:
                raise ShapeError(f"{cls.title}: `shape`, `dims` or `support_shape` must give {which}.")
            event = full_shape[-axes:]
        if len(event) != axes or 0 in event:
            raise ShapeError(f"{cls.title}: {which} must have an element at least, got the lengths {event}.")
        spread = as_parameter(cls.title, "sigma", given.get("sigma", 1.0))
        last = tuple(range(-min(axes, spread.ndim), 0))
        if any(spread.static_shape[axis] != 1 for axis in last):
            raise ShapeError(
                f"{cls.title}: sigma must have length 1 along {which}, not the shape {spread.static_shape}."
            )
        spread = squeeze(spread, last) if last else spread
        return super().dist(sigma=spread, support_shape=event, shape=shape, size=size)

    @property
    def bound_support(self) -> Constraint:
        return ZeroSumConstraint(len(self.support_shape))

    @property
    def event_rank(self) -> int:
        return len(self.support_shape)

    def event_shape(self) -> Shape:
        return self.support_shape

    def logp(self, value: Node) -> Node:
        freedom = cast(length_of(product(tuple(length - 1 for length in self.support_shape))), value.dtype)
        squares = reduce("sum", square(value / expand_dims(self.sigma, self._last())), self._last())
        return -0.5 * squares - freedom * (log(self.sigma) + LOG_SQRT_2_PI)

    def draw(self, key: Node, shape: Shape) -> Node:
        free = draw("random_normal", key, shape)
        for axis in self._last():
            free = free - mean(free, axis, keepdims=True)
        return expand_dims(self.sigma, self._last()) * free

    def mean(self) -> Node:
        return full((*self.sigma.static_shape, *self.support_shape), 0.0, self.sigma.dtype)

    def variance(self) -> Node:
        kept: Node = constant(1.0, self.sigma.dtype)
        for length in self.support_shape:
            kept = kept * (1.0 - 1.0 / cast(length_of(length), self.sigma.dtype))
        return expand_dims(square(self.sigma) * kept, self._last())

    def _last(self) -> tuple[int, ...]:
        return tuple(range(-len(self.support_shape), 0))
