"""Normal matrices whose rows and columns have covariances of their own."""

from __future__ import annotations

from typing import Any

from consilience.distributions.constraints import cholesky_factor, positive_definite, real_matrix
from consilience.distributions.distribution import Continuous, instead_of, parameter
from consilience.distributions.mathematics import LOG_SQRT_2_PI, log, square
from consilience.distributions.parameters import as_parameter, named_arguments
from consilience.distributions.triangles import lower_triangle, order
from consilience.errors import ShapeError
from consilience.ir import Node, Shape
from consilience.ops.linalg import cholesky, diagonal, matmul, matrix_transpose, solve_triangular
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims


class MatrixNormal(Continuous):
    """Normal m x n matrices: the covariance of X_ij and X_kl is U_ik V_jl.

    mu: Mean, shape (..., m, n); a number or a vector stands for equal elements, or equal rows.
    rowcov, rowchol: U, the covariance of rows, m x m, or its lower Cholesky factor.
    colcov, colchol: V, the covariance of columns, n x n, or its lower Cholesky factor.
    """

    mu = parameter(real_matrix, nan_check=False)
    rowchol = parameter(cholesky_factor)
    colchol = parameter(cholesky_factor)
    support = real_matrix
    arguments = ("mu", "rowcov", "rowchol", "colcov", "colchol")
    alternatives = (
        instead_of("rowchol", lambda rowcov: cholesky(rowcov), rowcov=positive_definite),
        instead_of("colchol", lambda colcov: cholesky(colcov), colcov=positive_definite),
        instead_of(
            ("rowchol", "colchol"),
            lambda rowcov, colcov: (cholesky(rowcov), cholesky(colcov)),
            rowcov=positive_definite,
            colcov=positive_definite,
        ),
    )

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, cls.arguments, parameters, named)
        mean = as_parameter(cls.title, "mu", given.pop("mu", 0.0))
        mean = expand_dims(mean, tuple(range(2 - mean.ndim))) if mean.ndim < 2 else mean
        return super().dist(mean, shape=shape, size=size, **given)

    def event_shape(self) -> Shape:
        lengths = (order(self.rowchol), order(self.colchol))
        for axis, length in zip(self.mu.static_shape[-2:], lengths, strict=True):
            if isinstance(axis, int) and axis not in (1, length):
                raise ShapeError(
                    f"{self.title}: mu must be {lengths[0]} x {lengths[1]} as the covariances of rows and columns, "
                    f"got the shape {self.mu.static_shape}."
                )
        return lengths

    def logp(self, value: Node) -> Node:
        rows, columns = order(self.rowchol), order(self.colchol)
        left = solve_triangular(self.rowchol, value - self.mu, lower=True)
        scaled = solve_triangular(self.colchol, matrix_transpose(left), lower=True)
        log_determinant = columns * _log_det(self.rowchol) + rows * _log_det(self.colchol)
        constant = rows * columns * LOG_SQRT_2_PI
        return -0.5 * reduce("sum", square(scaled), (-2, -1)) - log_determinant - constant

    def draw(self, key: Node, shape: Shape) -> Node:
        z = draw("random_normal", key, shape)
        spread = matmul(matmul(lower_triangle(self.rowchol), z), matrix_transpose(lower_triangle(self.colchol)))
        return self.mu + spread

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        of_rows, of_columns = (
            reduce("sum", square(lower_triangle(factor)), -1) for factor in (self.rowchol, self.colchol)
        )
        return expand_dims(of_rows, -1) * expand_dims(of_columns, -2)


def _log_det(factor: Node) -> Node:
    return reduce("sum", log(diagonal(factor)), -1)
