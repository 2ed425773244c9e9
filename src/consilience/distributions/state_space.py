"""Linear Gaussian state spaces: hidden vectors that follow each other linearly, seen through a matrix, all with noise.

Matrices in, a distribution of whole series of observed vectors out; hidden vectors are integrated out by the Kalman
filter (Kalman 1960), in the form of Joseph, which keeps covariances positive definite.
"""

from __future__ import annotations

from typing import Any

from consilience.distributions.constraints import positive_definite, real_matrix, real_vector
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.mathematics import LOG_SQRT_2_PI, log, reciprocal, square
from consilience.distributions.multivariate_normal import factor_solve
from consilience.distributions.parameters import length, named_arguments
from consilience.distributions.recursion import along
from consilience.distributions.shapes import broadcast, same_shape, spread, steps_from
from consilience.errors import ShapeError
from consilience.ir import Dim, Node, Shape
from consilience.ops import Cholesky, SolveTriangular
from consilience.ops.elementwise import cast
from consilience.ops.linalg import diagonal, matmul, matrix_transpose
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate, expand_dims, eye, length_of, squeeze


class LinearGaussianStateSpace(Continuous):
    """Series y_t = Z a_t + e_t, a_(t+1) = T a_t + h_t, with e_t ~ N(0, H), h_t ~ N(0, Q) and a_0 ~ N(a0, P0).

    Parameters
    ----------
    a0
        Mean of the first state, shape (..., n).
    P0
        Its covariance, shape (..., n, n), positive definite.
    T
        Transition of the states, shape (..., n, n).
    Z
        What is seen of a state, shape (..., p, n).
    H
        Covariance of the observations, shape (..., p, p), positive definite.
    Q
        Covariance of the states' noise, shape (..., n, n), positive definite.
    steps
        Length of the series less one; may follow from shape, dims or data.

    Notes
    -----
    A value has the shape (..., steps + 1, p). Letters as in Durbin and Koopman, Time Series Analysis by State Space
    Methods (2012).
    """

    a0 = parameter(real_vector, nan_check=False)
    P0 = parameter(positive_definite)
    T = parameter(real_matrix, nan_check=False)
    Z = parameter(real_matrix, nan_check=False)
    H = parameter(positive_definite)
    Q = parameter(positive_definite)
    steps: Dim = static(length)
    support = real_matrix

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, ("a0", "P0", "T", "Z", "H", "Q", "steps"), parameters, named)
        given["steps"] = steps_from(cls.title, given.get("steps"), shape, 1, -2)
        return super().dist(**given, shape=shape, size=size)

    def event_shape(self) -> Shape:
        (n,), (p,) = self.a0.static_shape[-1:], self.Z.static_shape[-2:-1]
        wanted = {"P0": (n, n), "T": (n, n), "Z": (p, n), "H": (p, p), "Q": (n, n)}
        for name, matrix in wanted.items():
            own = self.by_name()[name].static_shape
            if len(own) < 2 or not same_shape(own[-2:], matrix):
                raise ShapeError(
                    f"{self.title}: for {n} states in a0 and {p} rows of Z, {name} must have the shape (..., "
                    f"{matrix[0]}, {matrix[1]}), got {own}."
                )
        return (self.steps + 1, p)

    def logp(self, value: Node) -> Node:
        batch = value.static_shape[:-2]
        (n,), (p,) = self.a0.static_shape[-1:], self.Z.static_shape[-2:-1]
        start = [spread(self.a0, (*batch, n)), spread(self.P0, (*batch, n, n))]

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            mean, covariance, density = self._updated(states[0], states[1], heads[0])
            forward = spread(_times(self.T, mean), (*batch, n))
            predicted = matmul(matmul(self.T, covariance), matrix_transpose(self.T)) + self.Q
            return [forward, spread(predicted, (*batch, n, n))], [spread(density, batch)]

        _, (densities,) = along(step, start, [value], self.steps + 1, behind=1)
        return reduce("sum", densities, -1) - self._constant(p)

    def _constant(self, p: Dim) -> Node:
        return cast(length_of((self.steps + 1) * p), "float64") * LOG_SQRT_2_PI

    def _updated(self, mean: Node, covariance: Node, seen: Node) -> tuple[Node, Node, Node]:
        """Mean and covariance of a state behind an observation, and the log density of that, without its constant."""
        residual = seen - _times(self.Z, mean)
        across = matmul(covariance, matrix_transpose(self.Z))
        spreading = matmul(self.Z, across) + self.H
        if spreading.static_shape[-1] == 1:
            scale = reciprocal(spreading[..., 0])
            gain = across * expand_dims(scale, scale.ndim)
            half = 0.5 * log(spreading[..., 0, 0])
            distance = square(residual[..., 0]) * scale[..., 0]
        else:
            factor = Node(Cholesky(), spreading)
            whitened = factor_solve(factor, residual, False)
            rows = matrix_transpose(across)
            gain = matrix_transpose(_both(factor, rows))
            half = reduce("sum", log(diagonal(factor)), -1)
            distance = reduce("sum", square(whitened), -1)
        left = eye(covariance.static_shape[-1]) - matmul(gain, self.Z)
        kept = matmul(matmul(left, covariance), matrix_transpose(left))
        noise = matmul(matmul(gain, self.H), matrix_transpose(gain))
        return mean + _times(gain, residual), kept + noise, -half - 0.5 * distance

    def draw(self, key: Node, shape: Shape) -> Node:
        batch = shape[:-2]
        (n,) = self.a0.static_shape[-1:]
        first = self.a0 + _times(Node(Cholesky(), self.P0), draw("random_normal", fold_in(key, 0), (*batch, n)))
        factor = Node(Cholesky(), self.Q)
        noise = draw("random_normal", fold_in(key, 1), (*batch, self.steps, n))
        start = spread(first, (*batch, n))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            moved = _times(self.T, states[0]) + _times(factor, heads[0])
            return [spread(moved, (*batch, n))], [spread(moved, (*batch, n))]

        _, (later,) = along(step, [start], [noise], self.steps, behind=1, within=1)
        states = concatenate([expand_dims(start, start.ndim - 1), later], -2)
        return self._seen(states) + self._noise(fold_in(key, 2), shape)

    def _seen(self, states: Node) -> Node:
        """Z a_t of all times, shape (..., T, p)."""
        return matmul(states, matrix_transpose(self.Z))

    def _noise(self, key: Node, shape: Shape) -> Node:
        return matmul(draw("random_normal", key, shape), matrix_transpose(Node(Cholesky(), self.H)))

    def mean(self) -> Node:
        batch, (n,) = broadcast(self.batch_shapes(), self.title), self.a0.static_shape[-1:]
        start = spread(self.a0, (*batch, n))

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            moved = spread(_times(self.T, states[0]), (*batch, n))
            return [moved], [moved]

        _, (later,) = along(step, [start], [], self.steps, within=1)
        return self._seen(concatenate([expand_dims(start, start.ndim - 1), later], -2))

    def variance(self) -> Node:
        batch, (n,) = broadcast(self.batch_shapes(), self.title), self.a0.static_shape[-1:]
        start = spread(self.P0, (*batch, n, n))

        def seen(covariance: Node) -> Node:
            return diagonal(matmul(matmul(self.Z, covariance), matrix_transpose(self.Z)) + self.H)

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            moved = matmul(matmul(self.T, states[0]), matrix_transpose(self.T)) + self.Q
            moved = spread(moved, (*batch, n, n))
            return [moved], [seen(moved)]

        _, (later,) = along(step, [start], [], self.steps, within=1)
        first = seen(start)
        return concatenate([expand_dims(first, first.ndim - 1), later], -2)


def _both(factor: Node, rows: Node) -> Node:
    """(L L^T)^-1 rows."""
    half = Node(SolveTriangular(lower=True, transposed=False), factor, rows)
    return Node(SolveTriangular(lower=True, transposed=True), factor, half)


def _times(matrix: Node, vector: Node) -> Node:
    """The product for every batch position."""
    return squeeze(matmul(matrix, expand_dims(vector, vector.ndim)), -1)
