"""Processes of Matern's family in one dimension as state spaces: densities and draws in O(n).

f and its first derivatives are a Markov process (Hartikainen and Sarkka, Kalman filtering and smoothing solutions to
temporal Gaussian process regression models, 2010). Covariance functions and constant inputs in, a variable out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.distributions import CustomDist
from consilience.gp.covariance import Add, BaseCovariance, Prod, total
from consilience.gp.numerics import checked_jitter
from consilience.gp.stationary import ExponentialCovariance, Matern
from consilience.ir import Node, constant_value, substitute
from consilience.ir.leaves import tensor_input
from consilience.record import Record
from consilience.tensor import TensorLike

STATES_AT_MOST = 15
# By how much a prediction moves, by how much its variance shrinks, both for a unit of variance, and what is told.
Change: TypeAlias = tuple[Node, Node, tuple[Node, Node]]
Update: TypeAlias = Callable[..., Change]


class MaternTerm(Record, eq=False):
    """One term of a sum: its order nu, variance and lengthscale."""

    order: float
    variance: Node
    lengthscale: Node

    @property
    def states(self) -> int:
        """Number of states: f and its derivatives."""
        return int(self.order + 0.5)


class MarkovChainOfTerms(Record, eq=False):
    """The terms of a sum, and the points of one dimension that it is seen at, float64[n]."""

    terms: tuple[MaternTerm, ...]
    places: npt.NDArray[np.float64]


def state_space_of(cov_func: BaseCovariance, X: Node) -> MarkovChainOfTerms | None:
    """The state space of a covariance function at inputs, or None where it has none here."""
    known = constant_value(X)
    found = _terms(cov_func)
    if known is None or not found or sum(term.states for _, term in found) > STATES_AT_MOST:
        return None
    columns = {column for column, _ in found}
    points = np.asarray(known)
    if len(columns) > 1 or len(points) == 0 or not np.isfinite(points).all():
        return None
    return MarkovChainOfTerms(tuple(term for _, term in found), points[:, columns.pop()])


def cheaper(chain: MarkovChainOfTerms, *, latent: bool = False) -> bool:
    """Whether a state space is predicted to be cheaper than the covariance matrix, with slopes."""
    from consilience.planning import cost
    from consilience.planning.explore.toeplitz import LEAST, regular_steps

    n = len(chain.places)
    regular = n >= LEAST and regular_steps(chain.places) is not None
    states = sum(term.states for term in chain.terms)
    ours, dense = cost.process(n, states, regular=regular, latent=latent)
    return ours < dense


def _terms(cov_func: BaseCovariance) -> list[tuple[int, MaternTerm]]:
    """Terms with the column that they read; none where one of them is of another kind."""
    if isinstance(cov_func, Matern):
        if cov_func.n_dims != 1:
            return []
        length = cov_func.lengthscales[0] * (2.0 if isinstance(cov_func, ExponentialCovariance) else 1.0)
        return [(cov_func.active_dims[0], MaternTerm(cov_func.order, pt.ones(()), length))]
    if isinstance(cov_func, Add):
        parts = [_terms(factor) if isinstance(factor, BaseCovariance) else [] for factor in cov_func.factors]
        return [term for part in parts for term in part] if all(parts) else []
    if isinstance(cov_func, Prod) and len(cov_func.covariances) == 1:
        numbers = [factor for factor in cov_func.factors if isinstance(factor, Node)]
        if all(number.ndim == 0 for number in numbers):
            scale = math.prod(numbers[1:], start=numbers[0].astype("float64"))
            return [
                (column, MaternTerm(term.order, scale * term.variance, term.lengthscale))
                for column, term in _terms(cov_func.covariances[0])
            ]
    return []


def markov_values(chain: MarkovChainOfTerms, normals: Node, jitter: float) -> Node | None:
    """The Cholesky factor of the covariance, with `jitter` > 0, times standard normals of shape (..., n).

    Each value is the mean given those before it, plus a deviation times its own normal. None where the points are not
    in order, ascending or descending: the factor is then no chain.
    """
    gaps = np.diff(chain.places, prepend=chain.places[0])
    if not (np.all(gaps >= 0.0) or np.all(gaps <= 0.0)):
        return None
    rows = pt.moveaxis(normals, -1, 0)
    noise = pt.as_tensor(np.full(len(gaps), checked_jitter(jitter)))
    drawn, _ = Filter(list(chain.terms), rows[0] * 0.0).along(np.abs(gaps), _drawn, rows, noise)
    return pt.moveaxis(drawn, 0, -1)


def markov_normal(
    name: str, chain: MarkovChainOfTerms, mean: Node, noise: Node, jitter: float, **settings: Any
) -> Node:
    """Values of a chain with means and independent noise as a variable of the model, n numbers.

    `noise`: variances, shape (n,), to which `jitter` is added.
    """
    order = np.argsort(chain.places, kind="stable")
    back = np.argsort(order)
    sorted_places = chain.places[order]
    gaps = np.diff(sorted_places, prepend=sorted_places[0])
    orders = [term.order for term in chain.terms]
    count = len(orders)

    def terms_of(parameters: tuple[Node, ...]) -> list[MaternTerm]:
        pairs = zip(orders, parameters[:count], parameters[count:], strict=True)
        return [MaternTerm(nu, variance, length) for nu, variance, length in pairs]

    def logp(value: Node, mean: Node, noise: Node, *parameters: Node) -> Node:
        residuals = pt.moveaxis(value - mean, -1, 0)[order]
        steps = Filter(terms_of(parameters), residuals[0] * 0.0)
        innovations, variances = steps.along(gaps, _seen, residuals, noise[order])
        terms = pt.log(2.0 * math.pi * variances)
        return -0.5 * (pt.sum(terms) + pt.sum(pt.square(innovations) / _behind(variances, innovations), axis=0))

    def random(mean: Node, noise: Node, *parameters: Node, rng: Any, size: Any) -> Node:
        normals = pt.moveaxis(rng.normal(0.0, 1.0, size=size), -1, 0)
        steps = Filter(terms_of(parameters), normals[0] * 0.0)
        drawn, _ = steps.along(gaps, _drawn, normals, noise[order])
        return mean + pt.moveaxis(drawn[back], 0, -1)

    shapes = ",".join(["(n)", "(n)", *["()"] * (2 * count)])
    return CustomDist(
        name,
        mean,
        noise + checked_jitter(jitter),
        *(term.variance for term in chain.terms),
        *(term.lengthscale for term in chain.terms),
        logp=logp,
        random=random,
        signature=f"{shapes}->(n)",
        class_name="MaternStateSpace",
        **settings,
    )


class Filter:
    """Kalman's filter of a sum of terms, written out in scalars.

    `terms`: of the sum. `zero`: zeros of the shape of one observation, a scalar or a batch.

    States are f, f' / rate, f'' / rate^2 … of each term, whose stationary covariance is `variance` times a constant
    matrix. Carried are means, and by how much the covariance differs from the stationary one.
    """

    def __init__(self, terms: list[MaternTerm], zero: Node) -> None:
        self.terms, self.zero = terms, zero
        self.starts = [int(k) for k in np.cumsum([0, *(term.states for term in terms)])]
        self.n = self.starts.pop()
        self.rates = [pt.sqrt(2.0 * term.order / pt.square(term.lengthscale)) for term in terms]

    def along(self, gaps: npt.NDArray[np.float64], update: Update, *sequences: Node) -> tuple[Node, Node]:
        """What `update` tells at each point, two tensors with the points along the first axis.

        `gaps`: to the point before, the first of them 0. `update`: how a prediction is changed by the elements of
        `sequences`.
        """
        first = pt.zeros(())
        triangle = [(i, j) for i in range(self.n) for j in range(i + 1)]

        def step(*values: Node) -> tuple[Node, ...]:
            (gap, *elements), states = values[: 1 + len(sequences)], values[1 + len(sequences) :]
            means, below = list(states[: self.n]), dict(zip(triangle, states[self.n :], strict=True))
            deviation = [[below[max(i, j), min(i, j)] for j in range(self.n)] for i in range(self.n)]
            means, deviation = self._moved(gap, means, deviation)
            across = [total([deviation[i][j] for j in self.starts]) + self._stationary(i) for i in range(self.n)]
            variance, predicted = (total([of[i] for i in self.starts]) for of in (across, means))
            shift, shrink, told = update(predicted, variance, *elements)
            means = [m + c * shift for m, c in zip(means, across, strict=True)]
            lower = [deviation[i][j] - across[i] * across[j] * shrink for i, j in triangle]
            return (*told, *means, *lower)

        found = pt.scan(
            step,
            sequences=[pt.as_tensor(gaps), *sequences],
            outputs_info=[None, None, *[self.zero] * self.n, *[first] * len(triangle)],
            return_updates=False,
        )
        return found[0], found[1]

    def _stationary(self, row: int) -> TensorLike:
        """Stationary covariance of a state and the sum that is seen."""
        for start, term in zip(self.starts, self.terms, strict=True):
            if start <= row < start + term.states:
                return term.variance * float(STATIONARY[term.states][row - start, 0])
        raise AssertionError(row)

    def _moved(self, gap: Node, means: list[Node], deviation: list[list[Node]]) -> Any:
        """Means and deviations after a gap: F m and F D F', block by block."""
        blocks = []
        for term, rate in zip(self.terms, self.rates, strict=True):
            x = pt.minimum(rate * gap, 700.0)
            fade = pt.exp(-x)
            powers = [np.linalg.matrix_power(GENERATOR[term.states], k) / math.factorial(k) for k in range(term.states)]
            blocks.append(
                [
                    [
                        fade * total([float(power[i, j]) * x**k for k, power in enumerate(powers) if power[i, j]])
                        for j in range(term.states)
                    ]
                    for i in range(term.states)
                ]
            )

        def forward(vector: list[Node]) -> list[Node]:
            return [
                total([entry * vector[start + j] for j, entry in enumerate(row)])
                for start, block in zip(self.starts, blocks, strict=True)
                for row in block
            ]

        columns = [forward([deviation[i][j] for i in range(self.n)]) for j in range(self.n)]
        # `columns[j][i]` is (F D)_ij; its rows moved again give F D F', which is symmetric.
        both = [forward([columns[j][i] for j in range(self.n)]) for i in range(self.n)]
        return forward(means), both


def _seen(predicted: Node, variance: Node, value: Node, noise: Node) -> Change:
    """A value with noise; told are its innovation and the variance of that."""
    whole = variance + noise
    return (value - predicted) / whole, 1.0 / whole, (value - predicted, whole)


def _drawn(predicted: Node, variance: Node, normal: Node, noise: Node) -> Change:
    """A value drawn by a standard normal; told are the value and its variance."""
    deviation = pt.sqrt(variance + noise)
    return normal / deviation, 1.0 / pt.square(deviation), (predicted + deviation * normal, variance + noise)


def _weighted(predicted: Node, variance: Node, linear: Node, precision: Node) -> Change:
    """A factor exp(linear f - precision f^2 / 2) of the density; told are the logarithm of its mean and its scale."""
    scale = 1.0 + precision * variance
    squares = linear * predicted + 0.5 * (pt.square(linear) * variance - precision * pt.square(predicted))
    logarithm = squares / scale - 0.5 * pt.log(scale)
    return (linear - precision * predicted) / scale, precision / scale, (logarithm, scale)


def markov_marginals(
    chain: MarkovChainOfTerms, residual: Node, noise: Node, new: npt.NDArray[np.float64]
) -> tuple[Node, Node]:
    """Means and variances of a process without mean at new places, given values with independent noise, in O(n + m).

    `noise`: variances > 0, shape (n,).

    With a factor exp(b f - t f^2 / 2) for f at a new place, the logarithm of the mean of all factors has the slopes
    E f by b and -E f^2 / 2 by t at b = t = 0. The second is taken without residuals, where E f^2 is the variance.
    """
    places = np.concatenate([chain.places, new])
    order = np.argsort(places, kind="stable")
    gaps = np.diff(places[order], prepend=places[order[0]])
    steps = Filter(list(chain.terms), pt.zeros(()))
    b, t = (tensor_input("float64", (len(new),)) for _ in range(2))
    none = np.zeros(len(new))

    def logarithm(values: Node) -> Node:
        linear, precision = (
            pt.concatenate([own, added])[order] for own, added in ((values / noise, b), (1.0 / noise, t))
        )
        return pt.sum(steps.along(gaps, _weighted, linear, precision)[0])

    means, halves = pt.grad(logarithm(residual), b), pt.grad(logarithm(pt.zeros_like(residual)), t)
    zeros = pt.as_tensor(none)
    found = substitute([means, -2.0 * halves], {b: zeros, t: zeros})
    return found[0], found[1]


def _generator(states: int) -> npt.NDArray[np.float64]:
    """I + A for the companion matrix A of (s + 1)^states, which is nilpotent."""
    last = [-math.comb(states, k) for k in range(states)]
    companion = np.eye(states, k=1)
    companion[-1] = last
    return np.asarray(companion + np.eye(states))


GENERATOR = {states: _generator(states) for states in (1, 2, 3)}
STATIONARY = {
    1: np.ones((1, 1)),
    2: np.eye(2),
    3: np.array([[1.0, 0.0, -1.0 / 3.0], [0.0, 1.0 / 3.0, 0.0], [-1.0 / 3.0, 0.0, 1.0]]),
}


def _behind(variances: Node, like: Node) -> Node:
    """Variances with the axes of a batch behind them."""
    return variances if like.ndim == 1 else pt.expand_dims(variances, list(range(1, like.ndim)))
