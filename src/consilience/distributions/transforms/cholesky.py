"""Positive definite matrices and their Cholesky factors as free vectors: logarithms on the diagonal.

Densities of a symmetric matrix are with respect to its lower triangle.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from consilience.distributions.mathematics import LOG_2, exp, log, where
from consilience.distributions.transforms.transform import Transform, chain
from consilience.distributions.triangles import (
    diagonal_positions,
    is_diagonal,
    lower_triangle,
    order,
    packed,
    row_count,
    triangle_length,
    unpacked,
)
from consilience.errors import ShapeError
from consilience.ir import Node, Shape, constant
from consilience.ops.index import getitem
from consilience.ops.linalg import Cholesky, diagonal, matmul, matrix_transpose
from consilience.ops.reduce import reduce
from consilience.ops.shape import full


class LowerTriangular(Transform):
    """Lower triangular n x n matrices to R^(n (n + 1) / 2): their elements row by row.

    See CholeskyCovTransform: With a positive diagonal.
    >>> import consilience.distributions.transforms as tr
    >>> tr.LowerTriangular().backward([1.0, 2.0, 3.0]).eval().tolist()
    [[1.0, 0.0], [2.0, 3.0]]
    """

    name: ClassVar[str] = "lower_triangular"
    event_rank: ClassVar[int] = 2

    def to_line(self, value: Node) -> Node:
        return packed(value)

    def from_line(self, unconstrained: Node) -> Node:
        return unpacked(unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return full(unconstrained.static_shape[:-1], 0.0, unconstrained.dtype)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-2], triangle_length(shape[-1]))

    def unconstrained_rank(self) -> int:
        return 1


class CholeskyCovPacked(Transform):
    """Packed lower triangles with a positive diagonal to R^(n (n + 1) / 2): the logarithm of the diagonal.

    n: Number of rows; that of the value for None.
    See CovariancePartialCorrelations: Scales and correlations apart.
    >>> import consilience.distributions.transforms as tr
    >>> tr.CholeskyCovPacked(n=2).backward([0.0, 0.5, 0.0]).eval().tolist()
    [1.0, 0.5, 1.0]
    """

    name: ClassVar[str] = "cholesky-cov-packed"
    event_rank: ClassVar[int] = 1
    n: int | None = None

    def to_line(self, value: Node) -> Node:
        rows = self._rows(value)
        return where(is_diagonal(rows), log(where(is_diagonal(rows), value, 1.0)), value)

    def from_line(self, unconstrained: Node) -> Node:
        rows = self._rows(unconstrained)
        return where(is_diagonal(rows), exp(where(is_diagonal(rows), unconstrained, 0.0)), unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        positions = diagonal_positions(self._rows(unconstrained))
        return reduce("sum", getitem(unconstrained, (Ellipsis, positions)), -1)

    def _rows(self, vector: Node) -> int:
        rows = row_count(vector.static_shape[-1])
        if self.n is not None and rows != self.n:
            raise ShapeError(f"a packed Cholesky factor of {self.n} rows was needed, got one of {rows} rows.")
        return rows


class CovarianceCholesky(Transform):
    """Positive definite matrices to their lower Cholesky factors.

    See CholeskyCovTransform: On to the real line.
    >>> import consilience.distributions.transforms as tr
    >>> tr.CovarianceCholesky().forward([[4.0, 2.0], [2.0, 2.0]]).eval().tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """

    name: ClassVar[str] = "cholesky"
    event_rank: ClassVar[int] = 2

    def to_line(self, value: Node) -> Node:
        return Node(Cholesky(), value)

    def from_line(self, unconstrained: Node) -> Node:
        factor = lower_triangle(unconstrained)
        return matmul(factor, matrix_transpose(factor))

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # d(L L') / dL is triangular; on its diagonal L_jj stands once per row i > j, and 2 L_jj for i = j.
        n = order(unconstrained)
        return n * LOG_2 + weighted_log_diagonal(unconstrained, np.arange(n, 0, -1.0))


class CholeskyCovTransform(Transform):
    """Positive definite n x n matrices to R^(n (n + 1) / 2): Cholesky factors row by row, logarithms on the diagonal.

    n: Number of rows; that of the value for None.
    See CovarianceCholesky: To the factor.
    >>> import consilience.distributions.transforms as tr
    >>> tr.CholeskyCovTransform(n=2).backward([0.0, 0.5, 0.0]).eval().tolist()
    [[1.0, 0.5], [0.5, 1.25]]
    """

    name: ClassVar[str] = "cholesky-cov"
    event_rank: ClassVar[int] = 2
    n: int | None = None

    def to_line(self, value: Node) -> Node:
        return self._steps().to_line(value)

    def from_line(self, unconstrained: Node) -> Node:
        return self._steps().from_line(unconstrained)

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        return self._steps().log_jacobian_determinant(unconstrained)

    def _steps(self) -> Transform:
        return chain(covariance_cholesky, lower_triangular, CholeskyCovPacked(self.n))

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return lower_triangular.unconstrained_shape(shape)

    def unconstrained_rank(self) -> int:
        return 1


def weighted_log_diagonal(matrix: Node, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Node:
    """Sum of the logarithms of the diagonal, each with its weight."""
    return reduce("sum", constant(weights, matrix.dtype) * log(diagonal(matrix)), -1)


lower_triangular = LowerTriangular()
cholesky_cov_packed = CholeskyCovPacked()
covariance_cholesky = CovarianceCholesky()
cholesky_cov = CholeskyCovTransform()
