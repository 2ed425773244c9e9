"""The normal distribution of vectors, by covariance, precision or Cholesky factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from consilience.distributions.constraints import cholesky_factor, positive_definite, positive_semidefinite, real_vector
from consilience.distributions.distribution import Continuous, derived, parameter
from consilience.distributions.mathematics import LOG_SQRT_2_PI, greater_equal, log, maximum, sqrt, square, where
from consilience.distributions.parameters import as_parameter, truth
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, Shape
from consilience.ir.dimension import product
from consilience.ops.control import Item
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.factorisations import Eigh
from consilience.ops.linalg import (
    Cholesky,
    Inverse,
    LogAbsDet,
    diagonal,
    inverse_quadratic,
    matmul,
    matrix_transpose,
    solve_triangular,
)
from consilience.ops.random import draw
from consilience.ops.reduce import count, reduce
from consilience.ops.shape import Iota, broadcast_to, expand_dims, reshape, squeeze, transpose


class ByCovariance(Continuous):
    """Base of distributions of vectors with a location `mu` and, as last parameter, a matrix for their covariance."""

    @classmethod
    def dist(
        cls,
        *parameters: Any,
        lower: bool = True,
        method: str = "cholesky",
        shape: Any = None,
        size: Any = None,
        **named: Any,
    ) -> Node:
        """A variable outside any model; `lower=False` says that `chol` is upper triangular.

        Parameters
        ----------
        *parameters : TensorLike
            `mu`, and the covariance in one of its forms, as for the distribution itself.
        lower : bool, default True
            Whether `chol` is lower triangular.
        method : str, default 'cholesky'
            "cholesky", "svd" or "eigh", PyMC's ways to a root of the covariance for draws. The draws of all three have
            one distribution. With the last two, `MvNormal` draws by eigenvectors, and takes a `cov` that is singular up
            to rounding, which has no density.
        shape, size : int or sequence of int, optional
            Lengths of all axes, or of those in front of the axis of one event.
        **named : TensorLike
            The same by name.
        """
        lower = truth(cls.title, "lower", lower)
        if method not in ("cholesky", "svd", "eigh"):
            raise ParameterError(f"{cls.title}: method must be 'cholesky', 'svd' or 'eigh', got {method!r}.")
        if method != "cholesky" and cls is MvNormal and named.keys().isdisjoint(("chol", "tau")):
            return SemidefiniteMvNormal.dist(*parameters, shape=shape, size=size, **named)
        if not lower and named.get("chol") is not None:
            named["chol"] = matrix_transpose(as_parameter(cls.title, "chol", named["chol"]))
        return super().dist(*parameters, shape=shape, size=size, **named)

    def event_shape(self) -> Shape:
        location, matrix = self.by_name()["mu"], self.values[-1]
        name = self.parameters[-1].name
        rows, columns = matrix.static_shape[-2:]
        if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
            raise ShapeError(f"{self.title}: {name} must be square, got {rows} x {columns}.")
        length = location.static_shape[-1]
        if isinstance(length, int) and isinstance(columns, int) and length not in (1, columns):
            raise ShapeError(f"{self.title}: mu has {length} elements, but {name} is {columns} x {columns}.")
        return (columns,)


class MvNormal(ByCovariance):
    """Bell curve of vectors: exp(-(x - mu)' K^-1 (x - mu) / 2) / sqrt(det(2 pi K)).

    mu: Mean, shape (..., n); a number stands for equal means.
    cov: Covariance K, shape (..., n, n), symmetric positive definite; or tau = K^-1; or chol, its lower triangular
        Cholesky factor (upper triangular with lower=False).
    """

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    cov = parameter(positive_definite, nan_check=False)
    support = real_vector

    def logp(self, value: Node) -> Node:
        return -0.5 * self.squared_distance(value) - self.half_log_determinant() - self.length() * LOG_SQRT_2_PI

    def draw(self, key: Node, shape: Shape) -> Node:
        return self.mu + self.spread(draw("random_normal", key, shape))

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return diagonal(self.cov)

    def has(self, formula: str) -> bool:
        # A covariance whose length follows from data is that of a process, which goes on with them.
        return super().has(formula) and (
            formula != "continued" or not isinstance(self.values[-1].static_shape[-1], int)
        )

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        whole = later.cov
        size = whole.static_shape[-1]
        if isinstance(size, int) and size == past.static_shape[-1]:
            raise ShapeError(
                f"{self.title}: the covariance is one of {size} times: make what it follows from `pm.Data`, and give "
                "the later values, `exog={name: values}`."
            )
        mean = broadcast_to(later.mu, (*later.mu.static_shape[:-1], size))
        before, then = slice(None, -periods), slice(-periods, None)
        factor = Node(Cholesky(), whole[..., before, before])
        across = solve_triangular(factor, whole[..., before, then], lower=True)
        told = factor_solve(factor, past - mean[..., before], transposed=False)
        covariance = whole[..., then, then] - matmul(matrix_transpose(across), across)
        return MvNormal.dist(mean[..., then] + matrix_times(matrix_transpose(across), told), covariance)

    def length(self) -> Node:
        """Number of elements of one vector, as a float."""
        matrix = self.values[-1]
        return cast(as_tensor(count(matrix, (matrix.ndim - 1,))), matrix.dtype)

    def squared_distance(self, value: Node) -> Node:
        """(x - mu)' K^-1 (x - mu)."""
        return _inverse_quadratic(self.cov, value - self.mu)

    def half_log_determinant(self) -> Node:
        """`log(det K) / 2`."""
        return 0.5 * Node(LogAbsDet("positive definite"), self.cov)

    def spread(self, z: Node) -> Node:
        """Standard normal vectors turned into vectors of the covariance."""
        return matrix_times(Node(Cholesky(), self.cov), z)


class SemidefiniteMvNormal(MvNormal):
    """By a covariance that may be singular: drawn by its eigenvectors, those of values up to rounding left out."""

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    cov = parameter(positive_semidefinite, nan_check=False)

    def spread(self, z: Node) -> Node:
        values, vectors = (cast(Node(Item(i), Node(Eigh(), cast(self.cov, "float64"))), z.dtype) for i in (0, 1))
        return matrix_times(vectors * expand_dims(sqrt(maximum(values, 0.0)), -2), z)


SemidefiniteMvNormal.title = MvNormal.title


class CholeskyMvNormal(MvNormal, parameterization=True):
    """By the lower triangular factor L of K = L L'."""

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    chol = parameter(cholesky_factor)
    cov = derived(lambda of: matmul(lower_triangle(of.chol), matrix_transpose(lower_triangle(of.chol))))

    def squared_distance(self, value: Node) -> Node:
        return reduce("sum", square(factor_solve(self.chol, value - self.mu, transposed=False)), -1)

    def half_log_determinant(self) -> Node:
        return reduce("sum", log(diagonal(self.chol)), -1)

    def spread(self, z: Node) -> Node:
        return matrix_times(lower_triangle(self.chol), z)


class PrecisionMvNormal(MvNormal, parameterization=True):
    """By the precision matrix, the inverse of K."""

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    tau = parameter(positive_definite, nan_check=False)
    cov = derived(lambda of: Node(Inverse("positive definite"), of.tau))

    def squared_distance(self, value: Node) -> Node:
        deviation = value - self.mu
        return reduce("sum", deviation * matrix_times(self.tau, deviation), -1)

    def half_log_determinant(self) -> Node:
        return -0.5 * Node(LogAbsDet("positive definite"), self.tau)

    def spread(self, z: Node) -> Node:
        return factor_solve(Node(Cholesky(), self.tau), z, transposed=True)


def lower_triangle(matrix: Node) -> Node:
    """A square matrix with zeros above the diagonal."""
    n = matrix.static_shape[-1]
    rows, columns = expand_dims(Node(Iota(n)), 1), expand_dims(Node(Iota(n)), 0)
    return where(greater_equal(rows, columns), matrix, 0.0)


def _columns(vectors: Node) -> Node:
    """Vectors of any batch shape as the columns of one matrix."""
    n = vectors.static_shape[-1]
    if vectors.ndim == 1:
        return expand_dims(vectors, 1)
    return transpose(reshape(vectors, (product(vectors.static_shape[:-1]), n)))


def _applied(operation: Callable[[Node, Node], Node], matrix: Node, vectors: Node) -> Node:
    """An operation on columns, for each of a batch of vectors; one matrix for all works on all at once."""
    if matrix.ndim > 2:
        return squeeze(operation(matrix, expand_dims(vectors, -1)), -1)
    columns = operation(matrix, _columns(vectors))
    if vectors.ndim == 1:
        return squeeze(columns, -1)
    return reshape(transpose(columns), vectors.static_shape)


def _inverse_quadratic(covariance: Node, vectors: Node) -> Node:
    """x' K^-1 x for each of a batch of vectors."""
    if covariance.ndim > 2:
        return squeeze(inverse_quadratic(covariance, expand_dims(vectors, -1)), -1)
    return reshape(inverse_quadratic(covariance, _columns(vectors)), vectors.static_shape[:-1])


def matrix_times(matrix: Node, vectors: Node) -> Node:
    """A matrix times each of a batch of vectors."""
    return _applied(matmul, matrix, vectors)


def factor_solve(factor: Node, vectors: Node, transposed: bool) -> Node:
    """The inverse of a lower triangular matrix (or of its transpose) times each of a batch of vectors."""
    return _applied(lambda a, b: solve_triangular(a, b, lower=True, trans=transposed), factor, vectors)
