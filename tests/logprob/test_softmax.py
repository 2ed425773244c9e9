"""Softmax of random vectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from consilience.ir import Node, tensor_input
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of
from tests.logprob.laws import evaluated

MU, COVARIANCE = np.array([0.3, -0.4]), np.array([[0.8, 0.2], [0.2, 0.5]])
FROZEN = scipy.stats.multivariate_normal(MU, COVARIANCE)
V = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


def softmax(x: Node) -> Node:
    """Along the last axis."""
    return pt.special.softmax(x, axis=-1)


def vector() -> Node:
    """Two dependent variables."""
    return pd.MvNormal.dist(MU, COVARIANCE)


CASES = {
    "last coordinate fixed": (lambda: pt.concatenate([vector(), np.zeros(1)]), 2, FROZEN.logpdf),
    "first coordinate fixed": (lambda: pt.concatenate([np.ones(1), vector()]), 0, lambda d: FROZEN.logpdf(d + 1)),
    "middle coordinate fixed": (
        lambda: pt.concatenate([pd.Laplace.dist(0.0, 1.0, shape=1), np.zeros(1), pd.Logistic.dist(0.0, 1.0, shape=1)]),
        1,
        lambda d: scipy.stats.laplace.logpdf(d[..., 0]) + scipy.stats.logistic.logpdf(d[..., 1]),
    ),
    "all normal": (
        lambda: pd.Normal.dist([0.3, -0.4, 0.1], [1.0, 2.0, 0.5]),
        2,
        scipy.stats.multivariate_normal([0.2, -0.5], [[1.25, 0.25], [0.25, 4.25]]).logpdf,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_logistic_normal(name: str) -> None:
    """The density of the log ratios over the product of all coordinates; outside the simplex it is 0."""
    make, at, density = CASES[name]
    ratios = np.log(np.delete(V, at, -1) / V[:, [at]])
    expected = density(ratios) - np.log(V).sum(-1)
    np.testing.assert_allclose(evaluated(logprob.logp, softmax(make()), V), expected, rtol=1e-12)
    logarithm = pt.special.log_softmax(make(), axis=-1)
    expected += np.log(np.delete(V, at, -1)).sum(-1)
    np.testing.assert_allclose(evaluated(logprob.logp, logarithm, np.log(V)), expected, rtol=1e-12)
    assert list(evaluated(logprob.logp, softmax(make()), [[0.5, 0.6, 0.2], [-0.1, 0.6, 0.5]])) == [-np.inf, -np.inf]


def test_integral_and_draws() -> None:
    """The density of two coordinates integrates to 1, and to the share of draws in a part."""
    node = softmax(pt.concatenate([vector(), np.zeros(1)]))
    grid, weights = np.polynomial.legendre.leggauss(60)
    a, wa = (grid + 1) / 2, weights / 2
    # The triangle as the image of a square.
    x, y = np.broadcast_arrays(a[:, None], a * (1 - a[:, None]))
    density = np.exp(evaluated(logprob.logp, node, np.stack([x, y, 1 - x - y], -1)))
    share = density * (1 - a[:, None]) * wa[:, None] * wa
    np.testing.assert_allclose(share.sum(), 1, rtol=1e-8)
    draws = pd.draw(node, 20000, random_seed=4)
    for k, mean in enumerate(draws.mean(0)[:2]):
        np.testing.assert_allclose(mean, (share * (x, y)[k]).sum(), atol=5 * draws[:, k].std() / np.sqrt(20000))


def test_gradient() -> None:
    """By the parameters, against differences."""
    mu = tensor_input("float64", (2,), "mu")
    node = softmax(pt.concatenate([pd.MvNormal.dist(mu, COVARIANCE), np.zeros(1)]))
    (slope,) = gradient(logprob.logp(node, V).sum(), [mu])
    ratios = np.log(V[:, :2] / V[:, 2:])
    np.testing.assert_allclose(value_of(slope, {mu: MU}), np.linalg.solve(COVARIANCE, (ratios - MU).sum(0)), rtol=1e-10)


def test_other_vectors() -> None:
    """Vectors of which the differences have no density are refused with the user's line."""
    for z in (pd.Gamma.dist(2.0, 1.0, shape=3), pt.concatenate([pd.Normal.dist(shape=2), np.zeros(2)])):
        with pytest.raises(MissingRuleError, match=r"test_softmax\.py.*Fix a coordinate"):
            logprob.logp(softmax(z), V[0])
