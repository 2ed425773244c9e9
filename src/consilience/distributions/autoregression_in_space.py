"""Normal vectors whose elements depend on those of their neighbours."""

from __future__ import annotations

import functools
import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import IntervalConstraint, positive, real_vector
from consilience.distributions.distribution import Continuous, parameter
from consilience.distributions.mathematics import LOG_SQRT_2_PI, cos, log, log1p, square
from consilience.distributions.matrix_constraints import adjacency_matrix
from consilience.distributions.multivariate_normal import PrecisionMvNormal
from consilience.distributions.neighbours import MOST_DENSE, Neighbours, neighbours_of
from consilience.distributions.triangles import order
from consilience.errors import MissingRuleError, ParameterError
from consilience.ir import Node, Shape, constant
from consilience.ops.elementwise import apply, cast
from consilience.ops.linalg import LogAbsDet, matmul, matrix_transpose
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, expand_dims, full, reshape
from consilience.ops.sparse.factorisation import SparseFactor

Floats: TypeAlias = npt.NDArray[np.float64]


class CAR(Continuous):
    """Conditional autoregression: normal vectors of precision tau (D - alpha W); D holds the sums of W's rows.

    mu: Mean, shape (..., n); a number stands for equal means.
    W: Weights between neighbours, n x n: symmetric, zero on the diagonal; usually 1 for neighbours, else 0. May be a
        sparse matrix of SciPy. For known W time and memory of a density are in proportion to the pairs of neighbours.
        Its determinant takes, once, the eigenvalues of groups of up to a thousand connected elements, and a hundred
        sparse factors of larger ones.
    alpha: Between -1 and 1: how far an element follows the mean of its neighbours.
    tau: Scale of the precision > 0.
    """

    mu = parameter(real_vector, default=0.0, broadcast=True, nan_check=False)
    W = parameter(adjacency_matrix, nan_check=False)
    alpha = parameter(IntervalConstraint(-1.0, 1.0, False, False))
    tau = parameter(positive)
    support = real_vector

    def event_shape(self) -> Shape:
        return (order(self.W),)

    def logp(self, value: Node) -> Node:
        n = order(self.W)
        deviation = value - self.mu
        known = neighbours_of(self.W)
        sums = reduce("sum", self.W, -1) if known is None else constant(known.sums, self.W.dtype)
        own = reduce("sum", sums * square(deviation), -1)
        quadratic = self.tau * (own - 2.0 * self.alpha * self._neighbouring_products(deviation))
        return 0.5 * (n * log(self.tau) + self._log_determinant() - quadratic) - n * LOG_SQRT_2_PI

    def draw(self, key: Node, shape: Shape) -> Node:
        known = neighbours_of(self.W)
        if known is None or order(self.W) <= MOST_DENSE or self.alpha.ndim or self.tau.ndim:
            return self._normal().draw(key, shape)
        z = cast(draw("random_normal", key, shape), self.W.dtype)
        return self.mu + cast(_correlated(known.factor(self.tau, self.tau * self.alpha), z), self.W.dtype)

    def mean(self) -> Node:
        return self.mu

    def variance(self) -> Node:
        return self._normal().variance()

    def _neighbouring_products(self, deviation: Node) -> Node:
        """Sum over pairs of neighbours of W_ij x_i x_j."""
        if neighbours_of(self.W) is None:
            return 0.5 * reduce("sum", deviation * reduce("sum", self.W * expand_dims(deviation, -2), -1), -1)
        row, column, weights = _pairs(self.W)
        return reduce("sum", weights * deviation[..., row] * deviation[..., column], -1)

    def _log_determinant(self) -> Node:
        """Of D - alpha W; for known W by its eigenvalues relative to D, or their series."""
        known = neighbours_of(self.W)
        if known is None:
            return Node(LogAbsDet("positive definite"), self._structure())
        eigenvalues, large = known.relative
        terms = log1p(-expand_dims(self.alpha, -1) * constant(eigenvalues, self.W.dtype))
        result = float(np.log(known.sums).sum()) + reduce("sum", terms, -1)
        for series in large:
            angle = apply("arccos", apply("arctanh", self.alpha * math.tanh(series.half)) / series.half)
            orders = constant(np.arange(1.0, series.coefficients.size), self.W.dtype)
            terms = constant(series.coefficients[1:], self.W.dtype) * cos(orders * expand_dims(angle, -1))
            ends = log1p(-self.alpha) + (log1p(self.alpha) if series.bipartite else 0.0)
            result = result + float(series.coefficients[0]) + reduce("sum", terms, -1) + ends
        return result

    def _structure(self) -> Node:
        unit = constant(np.eye(order(self.W)), self.W.dtype)
        neighbours = expand_dims(reduce("sum", self.W, -1), -1)
        return unit * neighbours - expand_dims(self.alpha, (-2, -1)) * self.W

    def _normal(self) -> PrecisionMvNormal:
        return PrecisionMvNormal.bound([self.mu, expand_dims(self.tau, (-2, -1)) * self._structure()])


class ICAR(Continuous):
    """Intrinsic conditional autoregression: exp(-sum over neighbours of W_ij (x_i - x_j)^2 / (2 sigma^2)).

    Besides, the mean of the vector is normal around 0, with deviation `zero_sum_stdev`. The density has the constant
    that makes its integral 1 where all elements are connected.

    W: Weights between neighbours, n x n, known when the variable is made; as in `CAR`.
    sigma: > 0, standard deviation of differences of neighbours.
    zero_sum_stdev: > 0, standard deviation of the mean of the vector.
    """

    W = parameter(adjacency_matrix, nan_check=False)
    sigma = parameter(positive, default=1.0)
    zero_sum_stdev = parameter(positive, default=0.001)
    support = real_vector

    def event_shape(self) -> Shape:
        return (order(self.W),)

    def logp(self, value: Node) -> Node:
        n, known = order(self.W), self._known()
        rank = n - len(known.groups)
        row, column, weights = _pairs(self.W)
        squares = reduce("sum", weights * square(value[..., row] - value[..., column]), -1) / square(self.sigma)
        mean = reduce("sum", value, -1) / (n * self.zero_sum_stdev)
        scale = 0.5 * known.log_pseudo_determinant - rank * log(self.sigma)
        normaliser = scale - log(self.zero_sum_stdev) - (0.5 * math.log(n) + (rank + 1) * LOG_SQRT_2_PI)
        return normaliser - 0.5 * (squares + square(mean))

    def draw(self, key: Node, shape: Shape) -> Node:
        z, known = cast(draw("random_normal", key, shape), self.W.dtype), self._known()
        if order(self.W) > MOST_DENSE:
            self._check_connected()
            first, rest = z[..., :1], cast(_correlated(known.factor(1.0, 1.0, pinned=True), z[..., 1:]), self.W.dtype)
            pinned = concatenate([0.0 * first, rest], -1)
            centred = pinned - expand_dims(reduce("sum", pinned, -1), -1) / order(self.W)
            return expand_dims(self.sigma, -1) * centred + expand_dims(self.zero_sum_stdev, -1) * first
        return matmul(self._deviations() * z, constant(self._basis().T, self.W.dtype))

    def mean(self) -> Node:
        return full((order(self.W),), 0.0, self.W.dtype)

    def variance(self) -> Node:
        return reduce("sum", square(expand_dims(self._deviations(), -2) * constant(self._basis(), self.W.dtype)), -1)

    def _deviations(self) -> Node:
        """Standard deviations along the eigenvectors; the first is that of the mean."""
        self._check_connected()
        spectrum, _ = self._spectrum()
        n = order(self.W)
        along_mean = constant(np.concatenate([[np.sqrt(float(n))], np.zeros(n - 1)]), self.W.dtype)
        others = constant(np.concatenate([[0.0], 1.0 / np.sqrt(spectrum)]), self.W.dtype)
        return expand_dims(self.zero_sum_stdev, -1) * along_mean + expand_dims(self.sigma, -1) * others

    def _basis(self) -> Floats:
        n = order(self.W)
        return np.concatenate([np.full((n, 1), n**-0.5), self._spectrum()[1]], 1)

    def _check_connected(self) -> None:
        if (groups := len(self._known().groups)) > 1:
            raise MissingRuleError(
                f"{self.title}: nothing can be drawn, because the {order(self.W)} elements fall into {groups} groups "
                "without a connection, and the distances between these are free. Connect them in W."
            )

    def _spectrum(self) -> tuple[Floats, Floats]:
        self._known()
        return _laplacian_spectrum(self.W)

    def _known(self) -> Neighbours:
        known = neighbours_of(self.W)
        if known is None:
            raise ParameterError(f"{self.title}: W must be one matrix, known when the variable is made.")
        return known


def _pairs(weights: Node) -> tuple[Node, Node, Node]:
    """Rows, columns and weights of the pairs of neighbours, each pair once."""
    known = neighbours_of(weights)
    assert known is not None
    row, column, values = known.pairs
    return constant(row), constant(column), constant(values, weights.dtype)


@functools.lru_cache(maxsize=8)
def _laplacian_spectrum(weights: Node) -> tuple[Floats, Floats]:
    """Positive eigenvalues of D - W, and their eigenvectors."""
    known = neighbours_of(weights)
    assert known is not None
    values, vectors = np.linalg.eigh(np.diag(known.sums) - known.matrix.toarray())
    kept = values > 1e-10 * values[-1]
    return values[kept], vectors[:, kept]


def _correlated(factor: SparseFactor, z: Node) -> Node:
    """Vectors (..., n) whose precision is factored, of independent standard normal ones."""
    if z.ndim == 1:
        return factor.correlate(z)
    columns = matrix_transpose(reshape(z, (-1, z.static_shape[-1])))
    return reshape(matrix_transpose(factor.correlate(columns)), z.static_shape)
