"""`pm.gp.mean`: mean functions, their sums and products.

Inputs of shape (n, columns) in, n means as a graph out.
"""

from __future__ import annotations

from typing import Any

import consilience.tensor as pt
from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.gp.covariance import points
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.tensor import TensorLike


class MeanFunction:
    """A function of points; `a + b` and `a * b` combine, with numbers too.

    See Linear: A linear one.
    See Constant: A constant one.
    >>> class Square(pm.gp.mean.MeanFunction):
    ...     def __call__(self, X):
    ...         return pm.math.sum(pm.tensor.as_tensor(X) ** 2, axis=1)
    >>> Square()([[1.0], [2.0]]).eval().tolist()
    [1.0, 4.0]
    """

    def __call__(self, X: TensorLike) -> Node:
        """Means at the rows of X, shape (n,)."""
        rows = points(X)
        return pt.as_tensor(self.at(rows)) + pt.zeros_like(rows[:, 0])

    def at(self, X: Node) -> TensorLike:
        """Means at the rows of X, shape (n,) or one number for all."""
        raise NotImplementedError

    def __add__(self, other: Any) -> MeanFunction:
        return MeanSum(self, _mean(other))

    def __radd__(self, other: Any) -> MeanFunction:
        return MeanSum(_mean(other), self)

    def __mul__(self, other: Any) -> MeanFunction:
        return MeanProduct(self, _mean(other))

    def __rmul__(self, other: Any) -> MeanFunction:
        return MeanProduct(_mean(other), self)


class ZeroMean(MeanFunction):
    """0 everywhere.

    See Constant: The number c.
    See Linear: X coeffs + intercept.
    >>> pm.gp.mean.Zero()([[1.0], [2.0]]).eval().tolist()
    [0.0, 0.0]
    """

    def at(self, X: Node) -> TensorLike:
        return 0.0


class ConstantMean(MeanFunction):
    """The number c, or one number for each row of the inputs.

    c: Constant value.
    See Linear: X coeffs + intercept.
    See Zero: 0 everywhere.
    >>> pm.gp.mean.Constant(3.0)([[1.0], [2.0]]).eval().tolist()
    [3.0, 3.0]
    """

    def __init__(self, c: TensorLike = 0.0) -> None:
        self.c = pt.as_tensor(c)
        if self.c.ndim > 1:
            raise ShapeError(f"a constant mean is a number, got {describe(self.c)}.")

    def at(self, X: Node) -> TensorLike:
        return self.c


class LinearMean(MeanFunction):
    """X coeffs + intercept.

    coeffs: One number for each column of the inputs, or one for all.
    intercept: Value where the inputs are 0.
    See Zero: 0 everywhere.
    See Constant: The number c.
    >>> pm.gp.mean.Linear([2.0], 1.0)([[1.0], [2.0]]).eval().tolist()
    [3.0, 5.0]
    """

    def __init__(self, coeffs: TensorLike, intercept: TensorLike = 0.0) -> None:
        self.A, self.b = pt.as_tensor(coeffs), pt.as_tensor(intercept)
        if self.A.ndim > 1:
            raise ShapeError(f"`coeffs` must be a number or a vector, got {describe(self.A)}.")

    def at(self, X: Node) -> TensorLike:
        given, wanted = self.A.static_shape[-1:], X.static_shape[1]
        if given and isinstance(given[0], int) and isinstance(wanted, int) and given[0] not in (1, wanted):
            raise ShapeError(f"`coeffs` has {given[0]} numbers, and X has {wanted} columns.")
        return pt.sum(X * self.A, axis=1) + self.b


class MeanSum(MeanFunction):
    """Sum of two mean functions.

    first: The first one.
    second: The second one.
    See Prod: The product.
    >>> mean = pm.gp.mean.Constant(1.0) + pm.gp.mean.Linear(coeffs=[2.0])
    >>> mean([[0.0], [1.0]]).eval().tolist()
    [1.0, 3.0]
    """

    def __init__(self, first: MeanFunction, second: MeanFunction) -> None:
        self.first, self.second = first, second

    def at(self, X: Node) -> TensorLike:
        return self.first(X) + self.second(X)


class MeanProduct(MeanFunction):
    """Product of two mean functions.

    first: The first one.
    second: The second one.
    See Add: The sum.
    >>> mean = pm.gp.mean.Constant(3.0) * pm.gp.mean.Linear(coeffs=[2.0])
    >>> mean([[0.0], [1.0]]).eval().tolist()
    [0.0, 6.0]
    """

    def __init__(self, first: MeanFunction, second: MeanFunction) -> None:
        self.first, self.second = first, second

    def at(self, X: Node) -> TensorLike:
        return self.first(X) * self.second(X)


def _mean(value: Any) -> MeanFunction:
    return value if isinstance(value, MeanFunction) else ConstantMean(value)


Zero, Constant, Linear, Add, Prod = ZeroMean, ConstantMean, LinearMean, MeanSum, MeanProduct

__all__ = ["Add", "Constant", "Linear", "MeanFunction", "Prod", "Zero"]

load_on_use(__name__, {}, public=True)
