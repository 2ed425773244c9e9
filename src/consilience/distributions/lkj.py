"""Distributions of correlation matrices, and of covariances by their Cholesky factors.

Source: Lewandowski, Kurowicka and Joe (2009), Journal of Multivariate Analysis 100, 1989-2001.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from consilience.distributions import context
from consilience.distributions.constraints import positive
from consilience.distributions.densities import drawn, support_point, supported_density
from consilience.distributions.distribution import Continuous, component, parameter, static
from consilience.distributions.mathematics import LOG_PI, exp, log, log_half_step_of_gamma, sqrt, square, where
from consilience.distributions.matrix_constraints import correlation_matrix, packed_cholesky_factor
from consilience.distributions.parameters import whole
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.triangles import packed, triangle_length, unpacked
from consilience.errors import ShapeError
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import as_tensor
from consilience.ops.linalg import LogAbsDet, diagonal, matmul, matrix_transpose
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, expand_dims


class LKJCorr(Continuous):
    """Correlation matrices R with density det(R)^(eta - 1) / C, with respect to the elements below the diagonal.

    n       number of rows >= 2, known when the variable is made
    eta     > 0: at 1 all correlation matrices are equally likely, above it those near the identity
    """

    n: int = static(whole(2))
    eta = parameter(positive)
    support = correlation_matrix

    def event_shape(self) -> Shape:
        return (self.n, self.n)

    def logp(self, value: Node) -> Node:
        return (self.eta - 1.0) * Node(LogAbsDet("positive definite"), value) - log_normaliser(self.eta, self.n)

    def draw(self, key: Node, shape: Shape) -> Node:
        factor = factor_draw(key, shape, self.eta)
        return matmul(factor, matrix_transpose(factor))

    def mean(self) -> Node:
        return broadcast_to(constant(np.eye(self.n)), (*self.eta.static_shape, self.n, self.n))

    def variance(self) -> Node:
        off = where(constant(np.eye(self.n, dtype=bool)), 0.0, 1.0)
        return off / expand_dims(2.0 * self.eta + (self.n - 1.0), (-2, -1))


class LKJCholeskyCov(Continuous):
    """Cholesky factors L of covariances D R D: R as in `LKJCorr`, standard deviations D independent of it.

    The variable is the lower triangle of L row by row, a vector of n (n + 1) / 2 elements.

    eta             > 0: at 1 all correlation matrices are equally likely, above it those near the identity
    n               number of rows >= 1, known when the variable is made
    sd_dist         distribution of the standard deviations, `….dist(...)`: one for all, or n of them
    compute_corr    True (the default): the result is (L as a matrix, R, standard deviations), of which a model keeps
                    the last two as `<name>_corr` and `<name>_stds` unless `store_in_trace=False`; False: the vector
    """

    eta = parameter(positive)
    n: int = static(whole(1))
    sd_dist = component()
    support = packed_cholesky_factor

    def __new__(
        cls, name: str, *parameters: Any, compute_corr: bool = True, store_in_trace: bool = True, **named: Any
    ) -> Any:
        """A variable of the model whose `with` block this is; see the class, and `Distribution` for what else."""
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
        return covariance_parts(vector) if compute_corr else vector

    def event_shape(self) -> Shape:
        return (triangle_length(self.n),)

    def batch_shapes(self) -> list[Shape]:
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
        powers = 2.0 * expand_dims(self.eta, -1) + constant(self.n - 2.0 - row)
        densities = supported_density(self.sd_dist, exp(log_sd))
        if not distribution_of(self.sd_dist).event_rank:
            densities = reduce("sum", densities, -1)
        # One power of the diagonal and the powers of the deviations are the Jacobian of L as a function of R and D.
        shape_terms = reduce("sum", powers * log_correlation - constant(row) * log_sd, -1)
        return shape_terms + densities - log_normaliser(self.eta, self.n)

    def draw(self, key: Node, shape: Shape) -> Node:
        batch = shape[:-1]
        factor = factor_draw(fold_in(key, 0), (*batch, self.n, self.n), self.eta)
        deviations = drawn(self.sd_dist, fold_in(key, 1), (*batch, self.n))
        return packed(factor * expand_dims(deviations, -1))

    def mean(self) -> Node:
        on_diagonal = expand_dims(self._mean_diagonal() * self._sd(distribution_of(self.sd_dist).mean()), -1)
        return packed(where(constant(np.eye(self.n, dtype=bool)), on_diagonal, 0.0))

    def variance(self) -> Node:
        sd = distribution_of(self.sd_dist)
        second_moment = expand_dims(self._sd(sd.variance() + square(sd.mean())), -1)
        total = expand_dims(2.0 * self.eta + (self.n - 1.0), (-2, -1))
        row = constant(np.arange(float(self.n))[:, None])
        share = where(constant(np.eye(self.n, dtype=bool)), 1.0 - row / total, 1.0 / total)
        return packed(second_moment * share) - square(self.mean())

    def support_point(self) -> Node:
        deviations = expand_dims(self._sd(support_point(self.sd_dist)), -1)
        return packed(where(constant(np.eye(self.n, dtype=bool)), deviations, 0.0))

    def _mean_diagonal(self) -> Node:
        """Expected diagonal of the factor of R: roots of beta variables."""
        row = np.arange(float(self.n))
        half = expand_dims(self.eta, -1) + constant(0.5 * (self.n - 1.0 - row))
        return exp(log_half_step_of_gamma(half) - log_half_step_of_gamma(half + constant(0.5 * row)))

    def _sd(self, value: Node) -> Node:
        """A value per standard deviation."""
        return broadcast_to(value, (*value.static_shape[:-1], self.n))


def log_normaliser(eta: Node, n: int) -> Node:
    """log C of n x n matrices: the integral of det(R)^(eta - 1), with no difference of large numbers."""
    k = np.arange(1.0, n)
    steps = constant(n - k) * log_half_step_of_gamma(expand_dims(eta, -1) + constant(0.5 * (n - 1.0 - k)))
    return 0.25 * n * (n - 1) * LOG_PI - reduce("sum", steps, -1)


def factor_draw(key: Node, shape: Shape, eta: Node) -> Node:
    """Cholesky factors of draws of `LKJCorr`, of shape (..., n, n): the onion method, a row at a time.

    The squared length of a row before the diagonal is a beta variable and its direction uniform; so is that of
    standard normal numbers beside the root of twice a gamma variable, scaled to length 1.
    """
    n = shape[-1]
    assert isinstance(n, int)
    before = unpacked(
        draw("random_normal", fold_in(key, 0), (*shape[:-2], triangle_length(n, strict=True))), strict=True
    )
    half = expand_dims(eta, -1) + constant(0.5 * np.arange(n - 1.0, -1.0, -1.0))
    last = sqrt(2.0 * draw("random_gamma", fold_in(key, 1), shape[:-1], half))
    rows = where(constant(np.eye(n, dtype=bool)), expand_dims(last, -1), before)
    return rows / sqrt(reduce("sum", square(rows), -1, keepdims=True))


def covariance_parts(vector: Node) -> tuple[Node, Node, Node]:
    """The Cholesky factor as a matrix, the correlations and the standard deviations of a packed factor."""
    factor = unpacked(as_tensor(vector))
    deviations = sqrt(reduce("sum", square(factor), -1))
    scaled = factor / expand_dims(deviations, -1)
    return factor, matmul(scaled, matrix_transpose(scaled)), deviations
