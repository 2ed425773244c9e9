"""Distributions made of normal vectors: their exponentials, and their quotients by a random scale."""

from __future__ import annotations

import math
from typing import ClassVar

from consilience.distributions.constraints import (
    cholesky_factor,
    positive,
    positive_definite,
    positive_vector,
    real_vector,
)
from consilience.distributions.distribution import instead_of, parameter
from consilience.distributions.mathematics import (
    LOG_PI,
    exp,
    expm1,
    greater,
    log,
    log1p,
    log_half_step_of_gamma,
    sqrt,
    where,
)
from consilience.distributions.multivariate_normal import ByCovariance, CholeskyMvNormal, MvNormal, PrecisionMvNormal
from consilience.ir import Node, Shape
from consilience.ops.elementwise import cast
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, expand_dims


class MvStudentT(ByCovariance):
    """Vectors with heavy tails, (1 + (x - mu)' S^-1 (x - mu) / nu)^(-(nu + n) / 2) up to a constant.

    nu: Degrees of freedom > 0; the mean exists above 1, the covariance nu / (nu - 2) S above 2.
    mu: Location, shape (..., n); a number stands for equal elements.
    scale: S, shape (..., n, n), symmetric positive definite (also called cov or Sigma); or tau = S^-1; or chol, its
        lower triangular Cholesky factor (upper triangular with lower=False).
    """

    nu = parameter(positive, nan_check=False)
    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    scale = parameter(positive_definite, nan_check=False)
    support = real_vector
    alternatives = (
        instead_of("scale", lambda cov: cov, cov=positive_definite),
        instead_of("scale", lambda Sigma: Sigma, Sigma=positive_definite),
    )
    form: ClassVar[type[MvNormal]] = MvNormal

    def logp(self, value: Node) -> Node:
        normal = self._normal()
        length = normal.length()
        # Gamma((nu + n) / 2) / Gamma(nu / 2) in n half steps: no difference of large numbers for large nu.
        halves = 0.5 * expand_dims(self.nu, -1) + 0.5 * cast(Node(Iota(self.event_shape()[0])), self.nu.dtype)
        ratio = reduce("sum", log_half_step_of_gamma(halves), -1)
        normaliser = ratio - 0.5 * length * (log(self.nu) + LOG_PI) - normal.half_log_determinant()
        return normaliser - 0.5 * (self.nu + length) * log1p(normal.squared_distance(value) / self.nu)

    def draw(self, key: Node, shape: Shape) -> Node:
        mixing = draw("random_gamma", fold_in(key, 1), shape[:-1], 0.5 * self.nu) / (0.5 * self.nu)
        z = draw("random_normal", fold_in(key, 0), shape)
        return self.mu + self._normal().spread(z) / expand_dims(sqrt(mixing), -1)

    def mean(self) -> Node:
        return where(greater(expand_dims(self.nu, -1), 1.0), self.mu, math.nan)

    def variance(self) -> Node:
        nu = expand_dims(self.nu, -1)
        finite = self._normal().variance() * nu / (nu - 2.0)
        return where(greater(nu, 2.0), finite, where(greater(nu, 1.0), math.inf, math.nan))

    def support_point(self) -> Node:
        return self.mu

    def _normal(self) -> MvNormal:
        return self.form.bound(self.values[1:])


class CholeskyMvStudentT(MvStudentT, parameterization=True):
    """By the lower triangular factor of the scale."""

    nu = parameter(positive, nan_check=False)
    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    chol = parameter(cholesky_factor)
    form: ClassVar[type[MvNormal]] = CholeskyMvNormal


class PrecisionMvStudentT(MvStudentT, parameterization=True):
    """By the inverse of the scale."""

    nu = parameter(positive, nan_check=False)
    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    tau = parameter(positive_definite, nan_check=False)
    form: ClassVar[type[MvNormal]] = PrecisionMvNormal


class MvLogNormal(ByCovariance):
    """Vectors of positive numbers whose logarithms are normal.

    mu: Mean of the logarithms, shape (..., n); a number stands for equal means.
    cov: Covariance of the logarithms, shape (..., n, n), symmetric positive definite; or tau, its inverse; or chol, its
        lower triangular Cholesky factor (upper triangular with lower=False).
    """

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    cov = parameter(positive_definite, nan_check=False)
    support = positive_vector
    form: ClassVar[type[MvNormal]] = MvNormal

    def logp(self, value: Node) -> Node:
        logarithm = log(value)
        return self._normal().logp(logarithm) - reduce("sum", logarithm, -1)

    def draw(self, key: Node, shape: Shape) -> Node:
        return exp(self._normal().draw(key, shape))

    def mean(self) -> Node:
        return exp(self.mu + 0.5 * self._normal().variance())

    def variance(self) -> Node:
        variance = self._normal().variance()
        return expm1(variance) * exp(2.0 * self.mu + variance)

    def support_point(self) -> Node:
        return exp(self.mu)

    def _normal(self) -> MvNormal:
        return self.form.bound(self.values)


class CholeskyMvLogNormal(MvLogNormal, parameterization=True):
    """By the lower triangular factor of the logarithms' covariance."""

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    chol = parameter(cholesky_factor)
    form: ClassVar[type[MvNormal]] = CholeskyMvNormal


class PrecisionMvLogNormal(MvLogNormal, parameterization=True):
    """By the inverse of the logarithms' covariance."""

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    tau = parameter(positive_definite, nan_check=False)
    form: ClassVar[type[MvNormal]] = PrecisionMvNormal
