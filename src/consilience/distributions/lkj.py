"""Distributions of correlation matrices, and of covariances by their Cholesky factors.

Source: Lewandowski, Kurowicka and Joe (2009), Journal of Multivariate Analysis 100, 1989-2001.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.distributions import context
from consilience.distributions.constraints import Real, positive
from consilience.distributions.custom import CustomDist
from consilience.distributions.densities import drawn, support_point, supported_density
from consilience.distributions.distribution import Continuous, component, parameter, static
from consilience.distributions.mathematics import LOG_PI, exp, log, log_half_step_of_gamma, sqrt, square, where
from consilience.distributions.matrix_constraints import correlation_factor, packed_cholesky_factor
from consilience.distributions.parameters import truth, whole
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.triangles import chi_triangle, packed, triangle_length, unpacked
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import as_tensor
from consilience.ops.linalg import diagonal, matmul, matrix_transpose
from consilience.ops.random import fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims


class LKJCorr(Continuous):
    """Cholesky factors L of correlation matrices R = L L' with density det(R)^(eta - 1) / C.

    The density of L is with respect to its elements below the diagonal, whose rows are of length 1; that of R follows
    by the Jacobian, the product of L_ii^(n - i).

    n: Number of rows >= 2, known when the variable is made.
    eta: > 0: at 1 all correlation matrices are equally likely, above it those near the identity.
    >>> with pm.Model() as model:
    ...     L = pm.LKJCorr("L", n=3, eta=2.0)
    ...     R = pm.Deterministic("R", L @ L.T)
    ...     y = pm.MvNormal("y", mu=[0.0, 0.0, 0.0], chol=L)
    """

    n: int = static(whole(2))
    eta = parameter(positive)
    support = correlation_factor

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        if "return_matrix" in named:
            raise TypeError(
                f"{cls.title}: `return_matrix` is of PyMC 5; the variable is the Cholesky factor L, and `L @ L.mT` the "
                "matrix of correlations."
            )
        return super().dist(*parameters, shape=shape, size=size, **named)

    def event_shape(self) -> Shape:
        return (self.n, self.n)

    def logp(self, value: Node) -> Node:
        powers = 2.0 * (expand_dims(self.eta, -1) - 1.0) + constant(np.arange(self.n - 1.0, -1.0, -1.0), self.eta.dtype)
        return reduce("sum", powers * log(diagonal(value)), -1) - log_normaliser(self.eta, self.n)

    def draw(self, key: Node, shape: Shape) -> Node:
        return factor_draw(key, shape[:-2], self.n, self.eta)

    def mean(self) -> Node:
        return where(constant(np.eye(self.n, dtype=bool)), expand_dims(mean_diagonal(self.eta, self.n), -1), 0.0)

    def variance(self) -> Node:
        return squares_of_factor(self.eta, self.n) - square(self.mean())

    def support_point(self) -> Node:
        return broadcast_to(constant(np.eye(self.n), self.eta.dtype), (*self.eta.static_shape, self.n, self.n))


class LKJCholeskyCov(Continuous):
    """Cholesky factors L of covariances D R D: R as of `LKJCorr`, standard deviations D independent of it.

    The variable is the lower triangle of L row by row, a vector of n (n + 1) / 2 elements.

    eta: > 0: at 1 all correlation matrices are equally likely, above it those near the identity.
    n: Number of rows >= 1, known when the variable is made.
    sd_dist: Distribution of the standard deviations, `….dist(...)`: one for all, or n of them.
    compute_corr: True (the default): the result is (L as a matrix, R, standard deviations), of which a model keeps the
        last two as `<name>_corr` and `<name>_stds` unless `store_in_trace=False`; False: the vector.
    """

    eta = parameter(positive)
    n: int = static(whole(1))
    sd_dist = component()
    support = packed_cholesky_factor

    def __new__(
        cls, name: str, *parameters: Any, compute_corr: bool = True, store_in_trace: bool = True, **named: Any
    ) -> Any:
        """A variable of the model whose `with` block this is; see the class, and `Distribution` for what else."""
        compute_corr = truth(cls.title, "compute_corr", compute_corr)
        store_in_trace = truth(cls.title, "store_in_trace", store_in_trace)
        vector = super().__new__(cls, name, *parameters, compute_corr=False, **named)
        if not compute_corr:
            return vector
        factor, correlation, deviations = covariance_parts(vector)
        if store_in_trace:
            model = context.current(cls.title)
            correlation = model.add_deterministic(f"{name}_corr", correlation)
            deviations = model.add_deterministic(f"{name}_stds", deviations)
        return factor, correlation, deviations

    @classmethod
    def dist(
        cls, *parameters: Any, compute_corr: bool = True, shape: Any = None, size: Any = None, **named: Any
    ) -> Any:
        """A variable outside any model, or its three parts; see the class."""
        vector = super().dist(*parameters, shape=shape, size=size, **named)
        return covariance_parts(vector) if truth(cls.title, "compute_corr", compute_corr) else vector

    def event_shape(self) -> Shape:
        return (triangle_length(self.n),)

    def batch_shapes(self) -> list[Shape]:
        distribution = distribution_of(self.sd_dist)
        # What a user's own functions are the density of, nobody knows.
        if isinstance(distribution.bound_support, Real) and not isinstance(distribution, CustomDist):
            raise ParameterError(
                f"{self.title}: sd_dist must be a distribution of positive numbers, got {distribution.title}; "
                "`HalfNormal` and `Exponential` are such."
            )
        sd = self.sd_dist.static_shape
        if sd and sd[-1] not in (1, self.n):
            raise ShapeError(
                f"{self.title}: sd_dist must be one distribution or n = {self.n} of them, got the shape {sd}."
            )
        return [self.eta.static_shape, sd[:-1]]

    def logp(self, value: Node) -> Node:
        factor = unpacked(value)
        log_sd = 0.5 * log(reduce("sum", square(factor), -1))
        log_correlation = log(diagonal(factor)) - log_sd  # of the diagonal of the factor of R
        row = np.arange(float(self.n))
        powers = 2.0 * expand_dims(self.eta, -1) + constant(self.n - 2.0 - row, self.eta.dtype)
        densities = supported_density(self.sd_dist, exp(log_sd))
        if not distribution_of(self.sd_dist).event_rank:
            densities = reduce("sum", densities, -1)
        # One power of the diagonal and the powers of the deviations are the Jacobian of L as a function of R and D.
        shape_terms = reduce("sum", powers * log_correlation - constant(row, self.eta.dtype) * log_sd, -1)
        return shape_terms + densities - log_normaliser(self.eta, self.n)

    def draw(self, key: Node, shape: Shape) -> Node:
        batch = shape[:-1]
        factor = factor_draw(fold_in(key, 0), batch, self.n, self.eta)
        deviations = drawn(self.sd_dist, fold_in(key, 1), (*batch, self.n))
        return packed(factor * expand_dims(deviations, -1))

    def mean(self) -> Node:
        on_diagonal = expand_dims(mean_diagonal(self.eta, self.n) * self._sd(distribution_of(self.sd_dist).mean()), -1)
        return packed(where(constant(np.eye(self.n, dtype=bool)), on_diagonal, 0.0))

    def variance(self) -> Node:
        sd = distribution_of(self.sd_dist)
        second_moment = expand_dims(self._sd(sd.variance() + square(sd.mean())), -1)
        return packed(second_moment * squares_of_factor(self.eta, self.n)) - square(self.mean())

    def support_point(self) -> Node:
        deviations = expand_dims(self._sd(support_point(self.sd_dist)), -1)
        return packed(where(constant(np.eye(self.n, dtype=bool)), deviations, 0.0))

    def _sd(self, value: Node) -> Node:
        """A value per standard deviation."""
        return broadcast_to(value, (*value.static_shape[:-1], self.n))


def log_normaliser(eta: Node, n: int) -> Node:
    """log C of n x n matrices: the integral of det(R)^(eta - 1), with no difference of large numbers."""
    k = np.arange(1.0, n)
    steps = constant(n - k, eta.dtype) * log_half_step_of_gamma(
        expand_dims(eta, -1) + constant(0.5 * (n - 1.0 - k), eta.dtype)
    )
    return 0.25 * n * (n - 1) * LOG_PI - reduce("sum", steps, -1)


def mean_diagonal(eta: Node, n: int) -> Node:
    """Expected diagonal of the factor of R, shape (..., n): roots of beta variables."""
    row = np.arange(float(n))
    half = expand_dims(eta, -1) + constant(0.5 * (n - 1.0 - row), eta.dtype)
    return exp(log_half_step_of_gamma(half) - log_half_step_of_gamma(half + constant(0.5 * row, eta.dtype)))


def squares_of_factor(eta: Node, n: int) -> Node:
    """Expected squares of the elements of the factor of R, shape (..., n, n)."""
    total = expand_dims(2.0 * eta + (n - 1.0), (-2, -1))
    row = constant(np.arange(float(n))[:, None], eta.dtype)
    on_diagonal = where(constant(np.eye(n, dtype=bool)), 1.0 - row / total, 1.0 / total)
    return on_diagonal * constant(np.tri(n), eta.dtype)


def factor_draw(key: Node, batch: Shape, n: int, eta: Node) -> Node:
    """Cholesky factors of draws of `LKJCorr`, of shape (..., n, n): the onion method, a row at a time.

    The squared length of a row before the diagonal is a beta variable and its direction uniform; so is that of
    standard normal numbers beside the root of twice a gamma variable, scaled to length 1.
    """
    half = expand_dims(eta, -1) + constant(0.5 * np.arange(n - 1.0, -1.0, -1.0), eta.dtype)
    rows = chi_triangle(key, (*batch, n, n), half)
    return rows / sqrt(reduce("sum", square(rows), -1, keepdims=True))


def covariance_parts(vector: Node) -> tuple[Node, Node, Node]:
    """The Cholesky factor as a matrix, the correlations and the standard deviations of a packed factor."""
    factor = unpacked(as_tensor(vector))
    deviations = sqrt(reduce("sum", square(factor), -1))
    scaled = factor / expand_dims(deviations, -1)
    return factor, matmul(scaled, matrix_transpose(scaled)), deviations
