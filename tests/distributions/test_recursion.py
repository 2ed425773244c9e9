"""Series by recursion: densities, moments and draws of GARCH, hidden Markov models and linear Gaussian state spaces."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats as st

from consilience import distributions as pd
from consilience.backends.function import function
from consilience.distributions.densities import drawn, mean, variance
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, tensor_input
from consilience.transforms.gradient import gradient

Array = npt.NDArray[Any]
BACKENDS = ("llvm", "reference")
RNG = np.random.default_rng(5)
START, CHAIN = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.35, 0.65]])


def value_of(node: Node, backend: str = "llvm") -> Array:
    return np.asarray(function([], node, mode=backend)())


def garch(x: Array, omega: float, alpha: float, beta: float, first: float) -> float:
    """The log density by its definition."""
    total, squared = 0.0, first**2
    for t, now in enumerate(x):
        squared = omega + alpha * x[t - 1] ** 2 + beta * squared if t else squared
        total += st.norm.logpdf(now, 0.0, np.sqrt(squared))
    return total


def paths(x: Array, emit: Any) -> float:
    """The log density as the sum over all paths of hidden states."""
    total = 0.0
    for path in itertools.product(range(2), repeat=len(x)):
        weight = START[path[0]] * np.prod([CHAIN[a, b] for a, b in itertools.pairwise(path)])
        total += weight * np.prod([emit(now, state) for now, state in zip(x, path, strict=True)])
    return float(np.log(total))


class Space:
    """A state space of three hidden and p visible numbers, and its joint normal distribution of four times."""

    def __init__(self, p: int) -> None:
        rng = np.random.default_rng(p)
        self.T, self.Z = 0.4 * rng.normal(size=(3, 3)), rng.normal(size=(p, 3))
        self.H, self.Q = 0.3 * np.eye(p) + 0.1, 0.5 * np.eye(3) + 0.2
        self.a0, self.P0 = rng.normal(size=3), np.eye(3) + 0.3
        self.rv = pd.LinearGaussianStateSpace.dist(self.a0, self.P0, self.T, self.Z, self.H, self.Q, steps=3)
        means, own = [self.a0], [self.P0]
        for _ in range(3):
            means.append(self.T @ means[-1])
            own.append(self.T @ own[-1] @ self.T.T + self.Q)
        joint = np.block(
            [
                [
                    np.linalg.matrix_power(self.T, t - u) @ own[u]
                    if t >= u
                    else own[t] @ np.linalg.matrix_power(self.T, u - t).T
                    for u in range(4)
                ]
                for t in range(4)
            ]
        )
        seen = np.kron(np.eye(4), self.Z)
        self.mean = seen @ np.concatenate(means)
        self.covariance = seen @ joint @ seen.T + np.kron(np.eye(4), self.H)


@pytest.mark.parametrize("backend", BACKENDS)
class TestDensity:
    """Against definitions that sum or integrate in another way."""

    def test_garch(self, backend: str) -> None:
        x = RNG.normal(size=9)
        rv = pd.GARCH11.dist(0.2, 0.3, 0.6, 1.4, steps=8)
        assert value_of(pd.logp(rv, x), backend) == pytest.approx(garch(x, 0.2, 0.3, 0.6, 1.4), rel=1e-12)

    def test_hidden_markov_of_numbers(self, backend: str) -> None:
        x = np.array([0.1, 2.5, 3.1, -0.4, 1.5])
        rv = pd.HiddenMarkov.dist(START, CHAIN, pd.Normal.dist([0.0, 3.0], [1.0, 0.5]), steps=4)
        wanted = paths(x, lambda now, k: st.norm.pdf(now, [0.0, 3.0][k], [1.0, 0.5][k]))
        assert value_of(pd.logp(rv, x), backend) == pytest.approx(wanted, rel=1e-12)

    def test_hidden_markov_of_counts_and_vectors(self, backend: str) -> None:
        counts = pd.HiddenMarkov.dist(START, CHAIN, pd.Poisson.dist([1.0, 8.0]), steps=3)
        wanted = paths(np.array([0, 7, 9, 1]), lambda now, k: st.poisson.pmf(now, [1.0, 8.0][k]))
        assert value_of(pd.logp(counts, [0, 7, 9, 1]), backend) == pytest.approx(wanted, rel=1e-12)
        centres = np.array([[0.0, 0.0], [2.0, 3.0]])
        vectors = pd.HiddenMarkov.dist(START, CHAIN, pd.MvNormal.dist(centres, cov=np.eye(2)), steps=2)
        x = RNG.normal(size=(3, 2))
        wanted = paths(x, lambda now, k: st.multivariate_normal(centres[k]).pdf(now))
        assert value_of(pd.logp(vectors, x), backend) == pytest.approx(wanted, rel=1e-12)

    def test_chains_that_change_with_time(self, backend: str) -> None:
        """The axis before that of the states is time."""
        centres = RNG.normal(size=(4, 2))
        x = RNG.normal(size=4)
        rv = pd.HiddenMarkov.dist(START, CHAIN, pd.Normal.dist(centres, 1.0), steps=3)
        total = 0.0
        for path in itertools.product(range(2), repeat=4):
            weight = START[path[0]] * np.prod([CHAIN[a, b] for a, b in itertools.pairwise(path)])
            total += weight * np.prod(st.norm.pdf(x, centres[np.arange(4), list(path)]))
        assert value_of(pd.logp(rv, x), backend) == pytest.approx(np.log(total), rel=1e-12)

    @pytest.mark.parametrize("p", [1, 2])
    def test_state_space(self, backend: str, p: int) -> None:
        space = Space(p)
        x = RNG.normal(size=(4, p))
        wanted = st.multivariate_normal(space.mean, space.covariance).logpdf(x.ravel())
        assert value_of(pd.logp(space.rv, x), backend) == pytest.approx(wanted, rel=1e-10)


def test_batches_are_their_members() -> None:
    """Series side by side, parameters of each."""
    x = RNG.normal(size=(2, 5))
    both = value_of(pd.logp(pd.GARCH11.dist([0.1, 0.4], 0.2, 0.5, [1.0, 2.0], steps=4), x))
    assert both == pytest.approx([garch(x[0], 0.1, 0.2, 0.5, 1.0), garch(x[1], 0.4, 0.2, 0.5, 2.0)])
    chains = np.stack([CHAIN, CHAIN.T / CHAIN.T.sum(1, keepdims=True)])
    emission = pd.Normal.dist([0.0, 3.0], 1.0)
    both = value_of(pd.logp(pd.HiddenMarkov.dist(START, chains, emission, steps=4), x))
    alone = [
        value_of(pd.logp(pd.HiddenMarkov.dist(START, c, emission, steps=4), y)) for c, y in zip(chains, x, strict=True)
    ]
    assert both == pytest.approx(np.stack(alone))


def test_a_hidden_chain_is_drawn_alike_whether_its_probabilities_are_numbers_or_an_input() -> None:
    """Rows of P are judged one by one: a row that does not sum to 1 makes the whole series NaN."""
    rows, key = tensor_input("float64", (2, 2), "rows"), tensor_input("key", (), "seed")
    emission = pd.Normal.dist([0.0, 3.0], 1.0)
    given = drawn(pd.HiddenMarkov.dist(START, rows, emission, steps=4), key)
    known = drawn(pd.HiddenMarkov.dist(START, CHAIN, emission, steps=4), key)
    both = function([key, rows], [given, known])
    series, expected = both(3, CHAIN)
    assert series.shape == (5,)
    assert np.array_equal(series, expected)
    assert np.isnan(both(3, np.array([[0.9, 0.1], [0.5, 0.6]]))[0]).all()


def test_gradients_are_those_of_differences() -> None:
    """Of every parameter of GARCH, and of the transition of a state space."""
    x = RNG.normal(size=12)
    inputs = [tensor_input("float64", (), name) for name in ("omega", "alpha_1", "beta_1", "initial_vol")]
    at = [0.2, 0.3, 0.6, 1.4]
    density = pd.logp(pd.GARCH11.dist(*inputs, steps=11), x)
    found = function(inputs, gradient(density, inputs))(*at)
    for i, own in enumerate(found):
        up, down = ([v + s * 1e-6 * (i == j) for j, v in enumerate(at)] for s in (1, -1))
        assert own == pytest.approx((garch(x, *up) - garch(x, *down)) / 2e-6, rel=1e-6)
    space, T = Space(2), tensor_input("float64", (3, 3), "T")
    y = RNG.normal(size=(4, 2))
    rv = pd.LinearGaussianStateSpace.dist(space.a0, space.P0, T, space.Z, space.H, space.Q, steps=3)
    density = pd.logp(rv, y)
    value, slope = function([T], density), function([T], gradient(density, [T])[0])(space.T)
    for place in np.ndindex(3, 3):
        change = np.zeros((3, 3))
        change[place] = 1e-6
        assert slope[place] == pytest.approx((value(space.T + change) - value(space.T - change)) / 2e-6, rel=1e-5)


@pytest.mark.parametrize(
    "rv",
    [
        pd.GARCH11.dist(0.2, 0.3, 0.4, 1.4, steps=3),
        pd.HiddenMarkov.dist(START, CHAIN, pd.Normal.dist([0.0, 3.0], [1.0, 0.5]), steps=3),
        pd.HiddenMarkov.dist(START, CHAIN, pd.Poisson.dist([1.0, 8.0]), steps=3),
        Space(1).rv,
        Space(2).rv,
    ],
    ids=["GARCH11", "HiddenMarkov", "HiddenMarkov of counts", "state space", "state space of vectors"],
)
def test_draws_have_the_mean_and_the_variance(rv: Node) -> None:
    """Within five standard errors, from 40,000 draws."""
    draws = np.asarray(pd.draw(rv, draws=40_000, random_seed=3), float)
    centre, spread = value_of(mean(rv)), value_of(variance(rv))
    assert np.all(np.abs(draws.mean(0) - centre) < 5 * np.sqrt(spread / 40_000))
    deviation = draws.var(0)
    fourth = ((draws - draws.mean(0)) ** 4).mean(0)
    assert np.all(np.abs(deviation - spread) < 5 * np.sqrt((fourth - deviation**2) / 40_000))


def test_hidden_states_persist_in_draws() -> None:
    """Neighbouring values are correlated as the chain says."""
    rv = pd.HiddenMarkov.dist(START, CHAIN, pd.Normal.dist([0.0, 3.0], 0.1), steps=1)
    states = np.round(np.asarray(pd.draw(rv, draws=40_000, random_seed=3)) / 3).astype(int)
    for a in range(2):
        rows = states[states[:, 0] == a, 1]
        assert abs(rows.mean() - CHAIN[a, 1]) < 5 * np.sqrt(CHAIN[a, 0] * CHAIN[a, 1] / len(rows))


def test_state_space_draws_are_correlated_in_time() -> None:
    """The covariance of all values of a series."""
    space = Space(1)
    draws = np.asarray(pd.draw(space.rv, draws=40_000, random_seed=3)).reshape(40_000, -1)
    own = np.diag(space.covariance)
    error = np.sqrt((np.outer(own, own) + space.covariance**2) / 40_000)
    assert np.all(np.abs(np.cov(draws.T) - space.covariance) < 5 * error)


def test_what_is_no_series_by_recursion() -> None:
    """Parameters out of range, shapes that do not fit."""
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: pd.GARCH11.dist(-0.1, 0.2, 0.3, 1.0, steps=3), ParameterError, "omega must be > 0"),
        (lambda: pd.GARCH11.dist(0.1, 0.2, 0.3, 1.0), TypeError, "needs `steps`"),
        (
            lambda: pd.HiddenMarkov.dist([0.5, 0.5], np.full((3, 3), 1 / 3), pd.Normal.dist([0, 1], 1), steps=3),
            ShapeError,
            "init_probs has 2 states",
        ),
        (lambda: pd.HiddenMarkov.dist(START, CHAIN, pd.Normal.dist(), steps=3), ShapeError, "init_probs has 2 states"),
        (
            lambda: pd.HiddenMarkov.dist([0.5, 0.6], CHAIN, pd.Normal.dist([0, 1], 1), steps=3),
            ParameterError,
            "sum to 1",
        ),
        (
            lambda: pd.LinearGaussianStateSpace.dist(
                np.zeros(2), np.eye(2), np.eye(3), np.ones((1, 2)), np.eye(1), np.eye(2), steps=3
            ),
            ShapeError,
            "T must have the shape",
        ),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
