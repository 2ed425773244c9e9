"""Normal vectors whose covariance is a Kronecker product, with or without noise of equal variance."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from consilience.distributions.constraints import (
    cholesky_factor,
    nonnegative,
    positive_definite,
    real_matrix,
    real_vector,
)
from consilience.distributions.distribution import Continuous, DistributionParameter, parameter
from consilience.distributions.mathematics import LOG_SQRT_2_PI, log, sqrt, square
from consilience.distributions.multivariate_normal import MvNormal, factor_solve, matrix_times
from consilience.distributions.parameters import check_constant, named_arguments
from consilience.distributions.triangles import lower_triangle, order
from consilience.errors import ShapeError
from consilience.ir import Node, Shape, constant_value
from consilience.ops.elementwise import as_tensor
from consilience.ops.linalg import cholesky, diagonal, matmul, matrix_transpose
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims, eye, moveaxis, reshape


class KroneckerNormal(Continuous):
    """Normal vectors of covariance K_1 x K_2 x … + sigma^2 I (Kronecker products), by computations with each K_i alone.

    mu: Mean, shape (..., N), N the product of the numbers of rows; a number stands for equal means.
    covs: The matrices K_i, in order; or chols, their lower Cholesky factors; or evds, pairs of their eigenvalues and
        matrices of eigenvectors, as `numpy.linalg.eigh` gives them.
    sigma: Standard deviation of the noise >= 0, none by default; with noise, matrices that are not known when the
        variable is made need `evds`: without it the variable is an `MvNormal` of the whole covariance.
    """

    mu = parameter(real_vector, nan_check=False)
    chol = parameter(cholesky_factor)
    support = real_vector
    arguments = ("mu", "covs", "chols", "evds", "sigma")
    # Of an instance: the parameters after `mu`, which are repeated for each K_i.
    repeated: tuple[tuple[Node, ...], ...]

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        arguments = named_arguments(cls.title, cls.arguments, parameters, named)
        mean, noise = (as_tensor(arguments.pop(name, 0.0), "float64") for name in ("mu", "sigma"))
        mean = mean if mean.ndim else expand_dims(mean, 0)
        check_constant(cls.title, "sigma", noise, nonnegative, {})
        if len(arguments) != 1:
            raise TypeError(f"{cls.title} needs one of covs, chols and evds, got {' and '.join(arguments) or 'none'}.")
        ((name, listed),) = arguments.items()
        if not len(listed):
            raise ShapeError(f"{cls.title}: {name} must be a list of at least one, got none.")
        if name == "evds":
            return KroneckerNormalWithNoise.of_spectra(mean, noise, listed, shape, size)
        matrices = [as_tensor(matrix, "float64") for matrix in listed]
        for place, matrix in enumerate(matrices):
            constraint = positive_definite if name == "covs" else cholesky_factor
            check_constant(cls.title, f"{name}[{place}]", matrix, constraint, {})
        silent = constant_value(noise)
        if silent is not None and not silent.any():
            factors = [cholesky(matrix) for matrix in matrices] if name == "covs" else matrices
            return cls.variable([mean, *factors], shape, size, (len(factors),))
        known = [np.asarray(value) for matrix in matrices if (value := constant_value(matrix)) is not None]
        if len(known) == len(matrices):
            known = known if name == "covs" else [np.tril(factor) @ np.tril(factor).T for factor in known]
            return KroneckerNormalWithNoise.of_spectra(mean, noise, [np.linalg.eigh(m) for m in known], shape, size)
        if name == "chols":
            matrices = [matmul(lower_triangle(m), matrix_transpose(lower_triangle(m))) for m in matrices]
        whole = functools.reduce(_kronecker, matrices)
        whole = whole + square(noise) * eye(whole.static_shape[-1], dtype="float64")
        return MvNormal.dist(mean, whole, shape=shape, size=size)

    @classmethod
    def bound(
        cls, parameters: Sequence[Node], settings: Sequence[Any] = (), components: Sequence[Sequence[Node]] = ()
    ) -> Self:
        bound = object.__new__(cls)
        single = len(cls.parameters) - cls._each
        own = zip((p.name for p in cls.parameters[:single]), parameters, strict=False)
        rest = parameters[single:]
        repeated = tuple(tuple(rest[i : i + cls._each]) for i in range(0, len(rest), cls._each))
        bound.__dict__.update(own, values=tuple(parameters), settings=tuple(settings), components=(), repeated=repeated)
        return bound

    # How many of the last declared parameters are repeated.
    _each = 1

    @classmethod
    def parameter_count(cls, settings: Sequence[Any]) -> int:
        return len(cls.parameters) + cls._each * (int(settings[0]) - 1)

    def by_name(self) -> Mapping[str, Node]:
        return {}

    def declared(self) -> tuple[DistributionParameter, ...]:
        single = len(self.parameters) - self._each
        return self.parameters[:single] + self.parameters[single:] * len(self.repeated)

    def event_ranks(self) -> tuple[int, ...]:
        return tuple(p.event_rank for p in self.declared())

    def event_shape(self) -> Shape:
        length = math.prod(self._orders())
        if self.mu.static_shape[-1] not in (1, length):
            orders = " x ".join(map(str, self._orders()))
            raise ShapeError(
                f"{self.title}: mu must have {orders} = {length} elements, got {self.mu.static_shape[-1]}."
            )
        return (length,)

    def logp(self, value: Node) -> Node:
        z = self._along_axes(value - self.mu, lambda factor, x: factor_solve(factor, x, transposed=False))
        length = math.prod(self._orders())
        logs = [reduce("sum", log(diagonal(factor)), -1) * (length / order(factor)) for (factor,) in self.repeated]
        return -0.5 * reduce("sum", square(z), -1) - functools.reduce(Node.__add__, logs) - length * LOG_SQRT_2_PI

    def draw(self, key: Node, shape: Shape) -> Node:
        z = draw("random_normal", key, shape)
        return self.mu + self._along_axes(z, lambda factor, x: matrix_times(lower_triangle(factor), x))

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return _outer([reduce("sum", square(lower_triangle(factor)), -1) for (factor,) in self.repeated])

    def _orders(self) -> tuple[int, ...]:
        return tuple(order(group[-1]) for group in self.repeated)

    def _along_axes(self, vector: Node, operation: Callable[[Node, Node], Node]) -> Node:
        """An operation of each matrix and the vectors along its axis, where an element has one index for each K_i."""
        orders = self._orders()
        x = reshape(vector, (*vector.static_shape[:-1], *orders))
        for axis, group in zip(range(-len(orders), 0), self.repeated, strict=True):
            x = moveaxis(operation(group[-1], moveaxis(x, axis, -1)), -1, axis)
        return reshape(x, vector.static_shape)


class KroneckerNormalWithNoise(KroneckerNormal, parameterization=True):
    """By eigenvalues and eigenvectors of each K_i, which those of the whole are products of."""

    mu = parameter(real_vector, nan_check=False)
    sigma = parameter(nonnegative)
    eigenvalues = parameter(real_vector, nan_check=False)
    eigenvectors = parameter(real_matrix, nan_check=False)
    _each = 2

    @classmethod
    def of_spectra(cls, mean: Node, noise: Node, spectra: Sequence[Any], shape: Any, size: Any) -> Node:
        """A variable outside any model, of pairs of eigenvalues and eigenvectors."""
        parts = [as_tensor(part, "float64") for values, vectors in spectra for part in (values, vectors)]
        return cls.variable([mean, noise, *parts], shape, size, (len(spectra),))

    def logp(self, value: Node) -> Node:
        z = self._along_axes(value - self.mu, lambda basis, x: matrix_times(matrix_transpose(basis), x))
        spectrum = self._spectrum()
        length = math.prod(self._orders())
        return -0.5 * reduce("sum", square(z) / spectrum + log(spectrum), -1) - length * LOG_SQRT_2_PI

    def draw(self, key: Node, shape: Shape) -> Node:
        z = sqrt(self._spectrum()) * draw("random_normal", key, shape)
        return self.mu + self._along_axes(z, matrix_times)

    def variance(self) -> Node:
        return self._along_axes(self._spectrum(), lambda basis, x: matrix_times(square(basis), x))

    def _spectrum(self) -> Node:
        return _outer([values for values, _ in self.repeated]) + expand_dims(square(self.sigma), -1)


def _outer(vectors: Sequence[Node]) -> Node:
    """All products of one element of each vector, the last running fastest."""
    return functools.reduce(lambda a, b: reshape(expand_dims(a, 1) * b, (-1,)), vectors)


def _kronecker(left: Node, right: Node) -> Node:
    rows = order(left) * order(right)
    return reshape(expand_dims(left, (1, 3)) * expand_dims(right, (0, 2)), (rows, rows))
