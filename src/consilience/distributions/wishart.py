"""Distributions of covariance matrices: sums of squares of normal vectors, and their inverses."""

from __future__ import annotations

import math

import numpy as np

from consilience.distributions.constraints import cholesky_factor, positive, positive_definite
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import LOG_2, LOG_PI, gammaln, greater, square, where
from consilience.distributions.triangles import chi_triangle, order
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, Shape, constant, constant_value
from consilience.ops.elementwise import cast
from consilience.ops.linalg import (
    Cholesky,
    LogAbsDet,
    diagonal,
    matmul,
    matrix_transpose,
    solve,
    solve_triangular,
    trace,
)
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, expand_dims


class Wishart(Continuous):
    """Sums of nu products x x' of normal vectors of covariance V, for whole nu.

    The density with respect to the lower triangle is det(X)^((nu - p - 1) / 2) exp(-tr(V^-1 X) / 2) up to a constant.

    nu: Degrees of freedom > p - 1.
    V: Scale, shape (..., p, p), symmetric positive definite: the mean is nu V; or scale_chol, its lower Cholesky
        factor.
    """

    nu = parameter(positive)
    V = parameter(positive_definite, nan_check=False)
    support = positive_definite
    alternatives = (
        instead_of(
            "V", lambda scale_chol: matmul(scale_chol, matrix_transpose(scale_chol)), scale_chol=cholesky_factor
        ),
    )

    def event_shape(self) -> Shape:
        return _checked_order(self.title, self.nu, self.V)

    def logp(self, value: Node) -> Node:
        p = order(self.V)
        kernel = 0.5 * (self.nu - (p + 1.0)) * _log_det(value) - 0.5 * trace(solve(self.V, value, "pos"))
        return kernel - 0.5 * self.nu * (p * LOG_2 + _log_det(self.V)) - log_multivariate_gamma(0.5 * self.nu, p)

    def draw(self, key: Node, shape: Shape) -> Node:
        factor = matmul(Node(Cholesky(), self.V), bartlett_factor(key, shape, self.nu))
        return matmul(factor, matrix_transpose(factor))

    def mean(self) -> Node:
        return expand_dims(self.nu, (-2, -1)) * self.V

    def variance(self) -> Node:
        return expand_dims(self.nu, (-2, -1)) * (square(self.V) + _products_of_diagonal(self.V))


class InverseWishart(Continuous):
    """Inverses of matrices that follow `Wishart(nu, V^-1)`.

    The density with respect to the lower triangle is det(X)^(-(nu + p + 1) / 2) exp(-tr(V X^-1) / 2) up to a constant.

    nu: Degrees of freedom > p - 1; the mean V / (nu - p - 1) exists above p + 1, the variance above p + 3.
    V: Scale, shape (..., p, p), symmetric positive definite.
    """

    nu = parameter(positive)
    V = parameter(positive_definite, nan_check=False)
    support = positive_definite

    def event_shape(self) -> Shape:
        return _checked_order(self.title, self.nu, self.V)

    def logp(self, value: Node) -> Node:
        p = order(self.V)
        kernel = -0.5 * (self.nu + (p + 1.0)) * _log_det(value) - 0.5 * trace(solve(value, self.V, "pos"))
        return kernel + 0.5 * self.nu * (_log_det(self.V) - p * LOG_2) - log_multivariate_gamma(0.5 * self.nu, p)

    def draw(self, key: Node, shape: Shape) -> Node:
        # V = L L' and the Wishart matrix of the unit scale A A': the inverse is M' M with A M = L'.
        root = solve_triangular(
            bartlett_factor(key, shape, self.nu), matrix_transpose(Node(Cholesky(), self.V)), lower=True
        )
        return matmul(matrix_transpose(root), root)

    def mean(self) -> Node:
        above = expand_dims(self.nu, (-2, -1)) - (order(self.V) + 1.0)
        return where(greater(above, 0.0), self.V / above, math.nan)

    def variance(self) -> Node:
        above = expand_dims(self.nu, (-2, -1)) - (order(self.V) + 1.0)
        squares = (above + 2.0) * square(self.V) + above * _products_of_diagonal(self.V)
        finite = squares / ((above + 1.0) * square(above) * (above - 2.0))
        return where(greater(above, 2.0), finite, where(greater(above, 0.0), math.inf, math.nan))

    def support_point(self) -> Node:
        return self.V / (expand_dims(self.nu, (-2, -1)) + (order(self.V) + 1.0))


def log_multivariate_gamma(a: Node, p: int) -> Node:
    """Logarithm of the gamma function of p x p matrices; NaN for a <= (p - 1) / 2."""
    arguments = expand_dims(a, -1) - constant(0.5 * np.arange(p), a.dtype)
    inside = where(greater(arguments, 0.0), arguments, math.nan)
    return 0.25 * p * (p - 1) * LOG_PI + reduce("sum", gammaln(inside), -1)


def bartlett_factor(key: Node, shape: Shape, nu: Node) -> Node:
    """Cholesky factors of Wishart matrices of unit scale.

    Source: Bartlett (1933), Proceedings of the Royal Society of Edinburgh 53, 260-283.
    """
    return chi_triangle(key, shape, 0.5 * expand_dims(nu, -1) - 0.5 * cast(Node(Iota(shape[-1])), nu.dtype))


def _checked_order(title: str, nu: Node, scale: Node) -> Shape:
    rows, columns = scale.static_shape[-2:]
    if not isinstance(rows, int) or rows != columns:
        raise ShapeError(
            f"{title}: V must be square, of a length known when the variable is made, got {rows} x {columns}."
        )
    known = constant_value(nu)
    if known is not None and not (known > rows - 1).all():
        raise ParameterError(f"{title}: nu must be > {rows - 1} for {rows} x {rows} matrices, got {known.min():g}.")
    return (rows, rows)


def _log_det(matrix: Node) -> Node:
    return Node(LogAbsDet("positive definite"), matrix)


def _products_of_diagonal(matrix: Node) -> Node:
    own = diagonal(matrix)
    return expand_dims(own, -1) * expand_dims(own, -2)
