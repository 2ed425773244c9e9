"""Choices between random numbers by random conditions and indices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from tests.logprob.laws import check_continuous, check_discrete, evaluated

N, M = scipy.stats.norm(0, 1), scipy.stats.norm(2, 0.5)


def coin():
    """True with probability 0.3."""
    return pd.Bernoulli.dist(0.3)


CONTINUOUS = {
    "condition": lambda: pt.switch(coin(), pd.Normal.dist(), pd.Normal.dist(2.0, 0.5)),
    "index of stacked ones": lambda: pt.stack([pd.Normal.dist(), pd.Normal.dist(2.0, 0.5)])[coin()],
    "index of a batch": lambda: pd.Normal.dist([0.0, 3.0, 5.0], 1.0)[pd.Categorical.dist([0.2, 0.3, 0.5])],
    "functions of one variable": lambda: (lambda x: pt.switch(coin(), x, -2.0 * x))(pd.Gamma.dist(2.0, 1.0)),
    "function of a mixture": lambda: pt.exp(pt.switch(coin(), pd.Normal.dist(), pd.Normal.dist(2.0, 0.5))),
    "sign of another variable": lambda: pt.switch(pd.Normal.dist() > 0.5, pd.Normal.dist(), pd.Gamma.dist(2.0, 1.0)),
    "greatest of mixtures": lambda: pt.switch(
        pd.Bernoulli.dist(0.3, shape=3), pd.Normal.dist(shape=3), pd.Normal.dist(2.0, 0.5, shape=3)
    ).max(),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_mixtures(name: str) -> None:
    """Density, tails, draws and gradient agree."""
    check_continuous(CONTINUOUS[name]())


DISCRETE = {
    "hurdle": (lambda: pt.switch(coin(), 0, pd.Poisson.dist(2.0)), np.arange(40)),
    "constants": (lambda: pt.as_tensor([1.0, 4.0, 9.0])[pd.Categorical.dist([0.2, 0.3, 0.5])], [1, 4, 9]),
    "counts by index": (lambda: pd.Poisson.dist([2.0, 7.0])[coin()], np.arange(60)),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_mixtures_of_masses(name: str) -> None:
    """Masses, tails and draws agree."""
    check_discrete(*[part() if callable(part) else part for part in DISCRETE[name]])


def test_a_mass_beside_a_density() -> None:
    """At an atom the density of the others does not count."""
    node = pt.switch(coin(), 0.0, pd.Normal.dist())
    np.testing.assert_allclose(evaluated(logprob.logp, node, [0.0, 1.0]), [np.log(0.3), np.log(0.7) + N.logpdf(1)])
    clipped = pt.exp(pt.switch(coin(), pt.maximum(pd.Normal.dist(), 0.0), pd.Normal.dist(2.0, 0.5)))
    expected = [np.log(0.3 * 0.5), np.log(0.3 * N.pdf(1) + 0.7 * M.pdf(1)) - 1]
    np.testing.assert_allclose(evaluated(logprob.logp, clipped, np.exp([0.0, 1.0])), expected)


def test_elements_with_a_choice_each_and_a_common_one() -> None:
    """A choice for every element leaves them independent, one for all makes one event."""
    x, y = pd.Normal.dist(shape=2), pd.Normal.dist(2.0, 0.5, shape=2)
    v = np.array([-0.5, 0.4])
    each = pt.switch(pd.Bernoulli.dist([0.3, 0.6]), x, y)
    weights = np.array([0.3, 0.6])
    np.testing.assert_allclose(evaluated(logprob.logp, each, v), np.log(weights * N.pdf(v) + (1 - weights) * M.pdf(v)))
    common = np.log(0.3 * N.pdf(v).prod() + 0.7 * M.pdf(v).prod())
    np.testing.assert_allclose(evaluated(logprob.logp, pt.switch(coin(), x, y), v), common)
    branch = pt.ifelse(pt.eq(coin(), 1), x, y)
    np.testing.assert_allclose(evaluated(logprob.logp, branch, v), common)
    pairs = pd.Normal.dist([[2.0, 2.0], [0.0, 0.0]], [[0.5, 0.5], [1.0, 1.0]])[pd.Bernoulli.dist([0.3, 0.6]), [0, 1]]
    np.testing.assert_allclose(evaluated(logprob.logp, pairs, v), np.log(weights * N.pdf(v) + (1 - weights) * M.pdf(v)))


def test_vectors_by_a_common_choice() -> None:
    """Events of the components are events of the mixture."""
    node = pt.switch(coin(), pd.MvNormal.dist(np.zeros(2), np.eye(2)), pd.MvNormal.dist(np.ones(2), np.eye(2)))
    v = np.array([0.3, -0.2])
    expected = np.log(0.3 * N.pdf(v).prod() + 0.7 * N.pdf(v - 1).prod())
    np.testing.assert_allclose(evaluated(logprob.logp, node, v), expected)


def test_a_condition_that_is_not_random() -> None:
    """Picks densities."""
    node = pt.switch(np.array([True, False]), pd.Normal.dist(shape=2), pd.Normal.dist(2.0, 0.5, shape=2))
    v = np.array([-0.5, 0.4])
    np.testing.assert_allclose(evaluated(logprob.logp, node, v), [N.logpdf(v[0]), M.logpdf(v[1])])


REFUSED = {
    "same random numbers twice": lambda x: pt.switch(x[0] > 0.0, x[0], 1.0),
    "repeats elements": lambda x: x[pd.Categorical.dist([0.2, 0.3, 0.5], shape=2)],
    "one operand is a parameter of another": lambda x: pt.switch(coin(), x[0], pd.Normal.dist(x[0], 1.0)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_dependent_choices(message: str) -> None:
    """The error names the node and the reason."""
    with pytest.raises(MissingRuleError, match=f"test_mixture.py.*{message}"):
        logprob.logp(REFUSED[message](pd.Normal.dist(shape=3)), 0.3)
