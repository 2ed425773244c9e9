"""Correlation matrices and their Cholesky factors as free vectors: canonical partial correlations.

Densities of a correlation matrix, and of its factor, are with respect to the elements below the diagonal.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from consilience.distributions.mathematics import (
    LOG_2,
    absolute,
    arcsinh,
    exp,
    log,
    softplus,
    sqrt,
    square,
    tanh,
    where,
)
from consilience.distributions.transforms.cholesky import CovarianceCholesky, weighted_log_diagonal
from consilience.distributions.transforms.transform import Transform
from consilience.distributions.triangles import (
    diagonal_positions,
    is_diagonal,
    order,
    packed,
    row_count,
    triangle_length,
    unpacked,
)
from consilience.errors import ShapeError
from consilience.ir import Node, Shape, constant
from consilience.ops.index import getitem
from consilience.ops.linalg import diagonal, matrix_transpose
from consilience.ops.reduce import Cumulative, cumulative, reduce
from consilience.ops.shape import concatenate, expand_dims


class CholeskyCorrTransform(Transform):
    """Cholesky factors of n x n correlation matrices to R^(n (n - 1) / 2): L_ik / L_ii for k < i.

    As in PyMC and TensorFlow Probability, the elements of the triangle stand in a spiral: the last row from its end,
    then what is left, read from both ends (`spiral`). Draws of Lewandowski, Kurowicka and Joe have heavy tails in these
    coordinates, so that samplers move along those of `CorrelationPartials`.

    n: Number of rows; that of the value for None.
    upper: The factor is upper triangular.
    See CorrelationPartials: By partial correlations.
    >>> import consilience.distributions.transforms as tr
    >>> tr.CholeskyCorrTransform(n=2).backward([0.5]).eval().round(4).tolist()
    [[1.0, 0.0], [0.4472, 0.8944]]
    """

    name: ClassVar[str] = "cholesky_corr"
    event_rank: ClassVar[int] = 2
    n: int | None = None
    upper: bool = False

    def to_line(self, value: Node) -> Node:
        factor = matrix_transpose(value) if self.upper else value
        rows = order(factor)
        _check_rows(rows, self.n)
        ratios = packed(factor / expand_dims(diagonal(factor), -1), strict=True)
        return getitem(ratios, (Ellipsis, constant(np.argsort(spiral(rows)))))

    def from_line(self, unconstrained: Node) -> Node:
        rows = row_count(unconstrained.static_shape[-1], strict=True)
        _check_rows(rows, self.n)
        ratios = unpacked(getitem(unconstrained, (Ellipsis, constant(spiral(rows)))), strict=True)
        factor = where(constant(np.eye(rows, dtype=bool)), 1.0, ratios) / self._lengths(ratios, keepdims=True)
        return matrix_transpose(factor) if self.upper else factor

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # A row of i ratios r has L_i = r / |(r, 1)|, whose derivative has the determinant |(r, 1)|^-(i + 2).
        rows = row_count(unconstrained.static_shape[-1], strict=True)
        ratios = unpacked(getitem(unconstrained, (Ellipsis, constant(spiral(rows)))), strict=True)
        weights = constant(-np.arange(2.0, rows + 2.0), unconstrained.dtype)
        return reduce("sum", weights * log(self._lengths(ratios)), -1)

    def _lengths(self, ratios: Node, keepdims: bool = False) -> Node:
        return sqrt(1.0 + reduce("sum", square(ratios), -1, keepdims=keepdims))

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-2], triangle_length(shape[-1], strict=True))

    def unconstrained_rank(self) -> int:
        return 1


def spiral(rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each element below the diagonal, row by row, its place in the order of `CholeskyCorrTransform`.

    Source: `fill_triangular` of TensorFlow Probability.
    """
    side = rows - 1
    places = np.arange(side * rows // 2)
    square_of = np.concatenate([places[side:], places[::-1]]).reshape(side, side)
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = square_of[np.tril_indices(side)]
    return found


def _check_rows(rows: int, wanted: int | None) -> None:
    if wanted is not None and rows != wanted:
        raise ShapeError(f"a Cholesky factor of {wanted} rows was needed, got one of {rows} rows.")


class CorrelationPartials(Transform):
    """Cholesky factors of n x n correlation matrices to R^(n (n - 1) / 2), row by row.

    Below the diagonal L_ik = tanh(y_ik) prod_{j<k} 1 / cosh(y_ij): tanh(y_ik) is the partial correlation of i and k
    given all j < k (Lewandowski, Kurowicka and Joe, 2009). Densities of Lewandowski, Kurowicka and Joe fall off
    exponentially in y.

    n: Number of rows; that of the value for None.
    upper: The factor is upper triangular.
    See CholeskyCorrTransform: By ratios of elements.

    References
    ----------
    Lewandowski, Kurowicka, Joe (2009), Journal of Multivariate Analysis 100, 1989, doi:10.1016/j.jmva.2009.04.008.

    >>> import consilience.distributions.transforms as tr
    >>> tr.CorrelationPartials(n=2).backward([0.5]).eval().round(4).tolist()
    [[1.0, 0.0], [0.4621, 0.8868]]
    """

    name: ClassVar[str] = "cholesky-corr-partial"
    event_rank: ClassVar[int] = 2
    n: int | None = None
    upper: bool = False

    def to_line(self, value: Node) -> Node:
        factor = matrix_transpose(value) if self.upper else value
        _check_rows(order(factor), self.n)
        # sinh(y_ik) is L_ik over what is left of the row behind it: no difference of nearly equal numbers.
        rest = _rest_of_rows(factor)
        behind = concatenate([rest[..., 1:], rest[..., :1]], -1)
        return arcsinh(packed(factor, strict=True) / packed(behind, strict=True))

    def from_line(self, unconstrained: Node) -> Node:
        _check_rows(row_count(unconstrained.static_shape[-1], strict=True), self.n)
        partial = unpacked(tanh(unconstrained), strict=True)
        before = _product_before(unpacked(_log_sech(unconstrained), strict=True))
        factor = where(constant(np.eye(order(before), dtype=bool)), 1.0, partial) * before
        return matrix_transpose(factor) if self.upper else factor

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # d tanh gives sech^2, and y_ik stands besides in the factor of each of the elements between it and i.
        row, column = np.tril_indices(row_count(unconstrained.static_shape[-1], strict=True), -1)
        return reduce("sum", constant(row - column + 1.0, unconstrained.dtype) * _log_sech(unconstrained), -1)

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return (*shape[:-2], triangle_length(shape[-1], strict=True))

    def unconstrained_rank(self) -> int:
        return 1


class CorrelationCholesky(CovarianceCholesky):
    """Correlation matrices to their lower Cholesky factors.

    See CholeskyCorrTransform: From the factor on.
    >>> import consilience.distributions.transforms as tr
    >>> tr.CorrelationCholesky().forward([[1.0, 0.6], [0.6, 1.0]]).eval().round(4).tolist()
    [[1.0, 0.0], [0.6, 0.8]]
    """

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # As for covariances, without the elements of the diagonal, which are not free.
        return weighted_log_diagonal(unconstrained, np.arange(order(unconstrained), 0, -1.0) - 1.0)


class CovariancePartialCorrelations(Transform):
    """Packed Cholesky factors of covariances to R^(n (n + 1) / 2), where scales and correlations part.

    In place of the diagonal the logarithms of the standard deviations, elsewhere partial correlations as in
    `CorrelationPartials`.

    See CholeskyCovPacked: By logarithms of the diagonal.
    >>> import consilience.distributions.transforms as tr
    >>> tr.CovariancePartialCorrelations().backward([0.0, 0.0, 0.0]).eval().tolist()
    [1.0, 0.0, 1.0]
    """

    name: ClassVar[str] = "cholesky-cov-partial"
    event_rank: ClassVar[int] = 1

    def to_line(self, value: Node) -> Node:
        factor = unpacked(value)
        rest = _rest_of_rows(factor)
        deviations, behind = rest[..., :1], concatenate([rest[..., 1:], rest[..., :1]], -1)
        on_diagonal = constant(np.eye(order(factor), dtype=bool))
        return packed(where(on_diagonal, log(deviations), arcsinh(factor / behind)))

    def from_line(self, unconstrained: Node) -> Node:
        rows = row_count(unconstrained.static_shape[-1])
        on_diagonal = is_diagonal(rows)
        partial = unpacked(where(on_diagonal, 1.0, tanh(unconstrained)))
        before = _product_before(unpacked(where(on_diagonal, 0.0, _log_sech(unconstrained))))
        deviations = exp(getitem(unconstrained, (Ellipsis, diagonal_positions(rows))))
        return packed(partial * before * expand_dims(deviations, -1))

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        # Besides that of the correlations: L_ik is its row's deviation times a correlation, of which all but the last,
        # the root of what is left, are coordinates.
        rows = row_count(unconstrained.static_shape[-1])
        row, column = np.tril_indices(rows)
        weights = constant(np.where(row == column, row + 1.0, row - column), unconstrained.dtype)
        return reduce("sum", weights * where(is_diagonal(rows), unconstrained, _log_sech(unconstrained)), -1)


def _product_before(log_sech: Node) -> Node:
    """For each element of a row the product of 1 / cosh of those before it."""
    return exp(cumulative("sum", log_sech, -1) - log_sech)


def _rest_of_rows(factor: Node) -> Node:
    """Length of each row from a column on."""
    return sqrt(Node(Cumulative("sum", factor.ndim - 1, reverse=True), square(factor)))


def _log_sech(x: Node) -> Node:
    """log(1 / cosh(x)), without overflow."""
    return LOG_2 - absolute(x) - softplus(-2.0 * absolute(x))


cholesky_corr = CholeskyCorrTransform()
correlation_partials = CorrelationPartials()
covariance_partial = CovariancePartialCorrelations()
correlation_cholesky = CorrelationCholesky()
