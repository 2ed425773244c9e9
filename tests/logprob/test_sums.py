"""Sums: within families, linear maps of normal variables, cumulative sums and products, matrix products."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from consilience.ir import tensor_input
from tests.distributions.cases import value_of
from tests.logprob.laws import check_continuous, check_discrete, evaluated

MU, SIGMA = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.3, 0.2, 1.0]])
MATRIX = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 3.0]])
V = np.array([0.1, 0.2, 0.3])
vector_of = scipy.stats.multivariate_normal


def normals():
    """Three independent variables."""
    return pd.Normal.dist(MU, SIGMA)


FAMILIES = {
    "affine combination": lambda: 2.0 * pd.Normal.dist(0.3, 1.2) - pd.Normal.dist(1.0, 0.5) / 2.0 + 1.0,
    "function of a sum": lambda: pt.exp(0.3 * (pd.Normal.dist(0.3, 1.2) + pd.Normal.dist(1.0, 0.5))),
    "mean": lambda: normals().mean(),
    "waiting times": lambda: pd.Exponential.dist(2.0, shape=3).sum(),
    "gammas of equal rate": lambda: pd.Gamma.dist(1.5, 2.0) + pd.Exponential.dist(2.0),
    "cauchy": lambda: pd.Cauchy.dist(1.0, 2.0, shape=2).sum() - pd.Cauchy.dist(0.0, 1.0),
    "multiples of gammas": lambda: 2.0 * pd.Gamma.dist(1.5, 4.0) + 1.0 + pd.Gamma.dist(2.0, 1.0) / 2.0,
    "chi-squared": lambda: pd.ChiSquared.dist([1.0, 2.5]).sum() + pd.ChiSquared.dist(1.0),
    "inverse gaussian": lambda: pd.Wald.dist(1.3, 2.0, shape=3).sum(),
    "inverse gaussian of equal drift": lambda: pd.Wald.dist(1.0, 2.0, alpha=0.5) + 3.0 * pd.Wald.dist(2.0, 24.0),
    "levy": lambda: pd.Levy.dist(0.5, [0.3, 1.2]).sum() + 2.0 * pd.Levy.dist(0.1, 0.4),
    "the same variable twice": lambda: (lambda x: x[0] + 2.0 * x[0] + x[1])(normals()),
    "sum of a normal vector": lambda: pd.MvNormal.dist(MU, COVARIANCE).sum(),
    "element of a normal vector": lambda: pd.MvNormal.dist(MU, COVARIANCE)[1],
}


@pytest.mark.parametrize("name", FAMILIES)
def test_continuous_sums(name: str) -> None:
    """Density, tails, draws and gradient agree."""
    check_continuous(FAMILIES[name]())


COUNTS = {
    "rates": (lambda: pd.Poisson.dist([1.0, 2.0]).sum(), 0),
    "rates and a number": (lambda: pd.Poisson.dist(1.0) + 1 + pd.Poisson.dist(2.0) + 2, 3),
    "trials": (lambda: pd.Binomial.dist([3, 4], 0.3).sum(), 0),
    "single trials": (lambda: pd.Bernoulli.dist(0.3, shape=5).sum() + pd.Binomial.dist(2, 0.3), 0),
    "failures": (
        lambda: pd.NegativeBinomial.dist(n=2.0, p=0.6) + pd.NegativeBinomial.dist(n=[0.7, 1.1], p=0.6).sum(),
        0,
    ),
    "failures by their mean": (lambda: pd.NegativeBinomial.dist(0.3, 0.9) + pd.NegativeBinomial.dist(0.1, 0.3), 0),
    "trials to the first successes": (lambda: pd.Geometric.dist(0.6, shape=3).sum(), 3),
    "difference of counts": (lambda: pd.Poisson.dist(3.0) - pd.Poisson.dist(2.0), -25),
    "sum of differences": (lambda: pd.Skellam.dist(1.0, 2.0) + pd.Poisson.dist(1.5) - pd.Poisson.dist(0.5) + 1, -25),
}


@pytest.mark.parametrize("name", COUNTS)
def test_sums_of_counts(name: str) -> None:
    """Masses sum to 1, make up the tails, and draws follow them."""
    make, least = COUNTS[name]
    check_discrete(make(), least + np.arange(60))


def test_functions_of_differences_at_their_ends() -> None:
    """The value 0 of a sigmoid is the image of -inf, below which no difference of counts lies."""
    node = pt.sigmoid(0.2 * (pd.Poisson.dist(3.0) - pd.Poisson.dist(2.0)))
    np.testing.assert_array_equal(evaluated(logprob.logcdf, node, [0.0, 1.0]), [-np.inf, 0.0])
    np.testing.assert_array_equal(evaluated(logprob.logccdf, node, [0.0, 1.0]), [0.0, -np.inf])


def test_numbers_that_are_equal_by_name() -> None:
    """Symbols that are the same in all terms are equal."""
    p = tensor_input("float64", (), "p")
    density = logprob.logp(pd.NegativeBinomial.dist(n=2.0, p=p) + pd.NegativeBinomial.dist(n=3.0, p=p), [0, 4, 9])
    np.testing.assert_allclose(value_of(density, {p: 0.4}), scipy.stats.nbinom(5, 0.4).logpmf([0, 4, 9]))
    density = logprob.logp(pd.Binomial.dist([3, 4], p).sum(), [0, 4, 7])
    np.testing.assert_allclose(value_of(density, {p: 0.4}), scipy.stats.binom(7, 0.4).logpmf([0, 4, 7]))


B = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
D = np.diag(SIGMA**2)
LINEAR = {
    "differences": (lambda x: pt.diff(x), B @ MU, B @ D @ B.T),
    "wide matrix": (lambda x: pt.as_tensor(B) @ x, B @ MU, B @ D @ B.T),
    "square matrix": (lambda x: pt.as_tensor(MATRIX) @ x, MATRIX @ MU, MATRIX @ D @ MATRIX.T),
    "vector added": (lambda x: x + pd.MvNormal.dist(MU, COVARIANCE), 2 * MU, D + COVARIANCE),
    "start and steps": (
        lambda x: pt.concatenate([x[:1], pt.diff(x)]),
        np.r_[MU[0], B @ MU],
        np.r_[[[1, 0, 0]], B] @ D @ np.r_[[[1, 0, 0]], B].T,
    ),
    "deviations from the mean": (
        lambda x: (x - x.mean())[:2],
        MU[:2] - 1,
        (np.eye(3) - 1 / 3)[:2] @ D @ (np.eye(3) - 1 / 3)[:2].T,
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_maps_of_normal_variables(name: str) -> None:
    """The result is a normal vector."""
    make, mean, covariance = LINEAR[name]
    v = V[: len(mean)]
    np.testing.assert_allclose(evaluated(logprob.logp, make(normals()), v), vector_of(mean, covariance).logpdf(v))


def test_parts_of_normal_vectors() -> None:
    """Rows and columns of the covariance."""
    rv = pd.MvNormal.dist(MU, COVARIANCE)
    part = [2, 0]
    expected = vector_of(MU[part], COVARIANCE[np.ix_(part, part)]).logpdf(V[:2])
    np.testing.assert_allclose(evaluated(logprob.logp, rv[part], V[:2]), expected)
    batch = pd.MvNormal.dist(np.zeros(3), np.stack([COVARIANCE, 2 * COVARIANCE]))
    expected = scipy.stats.norm(0, [2**0.5, 2]).logpdf(V[:2]).sum()
    np.testing.assert_allclose(evaluated(logprob.logp, batch[:, 0], V[:2]), expected)


def test_scale_known_later() -> None:
    """Parameters may be symbols."""
    sigma = tensor_input("float64", (), "sigma")
    density = logprob.logp(pt.diff(pd.Normal.dist(0.0, sigma, shape=3)), V[:2])
    np.testing.assert_allclose(value_of(density, {sigma: 2.0}), vector_of([0, 0], 4 * B @ B.T).logpdf(V[:2]))


def test_products_with_invertible_matrices() -> None:
    """Any independent elements, columns or rows."""
    gamma = scipy.stats.gamma(2)
    determinant = np.log(abs(np.linalg.det(MATRIX)))
    node = pt.as_tensor(MATRIX) @ pd.Gamma.dist(2.0, 1.0, shape=3)
    np.testing.assert_allclose(evaluated(logprob.logp, node, MATRIX @ V), gamma.logpdf(V).sum() - determinant)
    rows = np.stack([V, 2 * V])
    node = pd.Gamma.dist(2.0, 1.0, shape=(2, 3)) @ MATRIX
    np.testing.assert_allclose(evaluated(logprob.logp, node, rows @ MATRIX), gamma.logpdf(rows).sum(1) - determinant)
    node = pt.as_tensor(MATRIX) @ pd.Gamma.dist(2.0, 1.0, shape=(3, 2))
    np.testing.assert_allclose(evaluated(logprob.logp, node, MATRIX @ rows.T), gamma.logpdf(rows).sum(1) - determinant)


def test_cumulative_sums() -> None:
    """Independent steps of any kind, along an axis, for batches of values."""
    steps = np.array([[0.3, 0.2, 0.9], [1.0, 0.4, 0.6]])
    gamma = scipy.stats.gamma(2).logpdf(steps)
    rv = pd.Gamma.dist(2.0, 1.0, shape=(2, 3))
    for axis in (0, 1):
        found = evaluated(logprob.logp, pt.cumsum(rv, axis=axis), steps.cumsum(axis))
        np.testing.assert_allclose(found, gamma.sum(axis))
    batch = np.stack([steps, steps]).cumsum(2)
    np.testing.assert_allclose(evaluated(logprob.logp, pt.cumsum(rv, axis=1), batch), np.stack([gamma, gamma]).sum(2))
    assert evaluated(logprob.logp, pt.cumsum(pd.Gamma.dist(2.0, 1.0, shape=3)), [0.3, 0.2, 0.9]) == -np.inf
    counts = pt.cumsum(pd.Poisson.dist(2.0, shape=3))
    np.testing.assert_allclose(
        evaluated(logprob.logp, counts, [1, 3, 4]), scipy.stats.poisson(2).logpmf([1, 2, 1]).sum()
    )


def test_cumulative_products() -> None:
    """As cumulative sums of logarithms."""
    rv = pd.Gamma.dist(2.0, 1.0, shape=3)
    value = np.array([0.4, 0.3, 1.2])
    one = evaluated(logprob.logp, pt.log(pt.cumprod(rv)), np.log(value))
    np.testing.assert_allclose(one, evaluated(logprob.logp, pt.cumsum(pt.log(rv)), np.log(value)))


REFUSED = {
    "4 numbers are linear in 3 random ones": lambda x: pt.concatenate([x, x[:1]]),
    "2 random operands meet": lambda x: x[0] * x[1],
    "2 random operands": lambda x: x[0] + pd.Gamma.dist(2.0, 1.0),
    "random operands meet": lambda x: pd.Gamma.dist(1.0, 1.0) + pd.Gamma.dist(1.0, 2.0),
    "operands meet": lambda x: x[0] + pd.Normal.dist(x[0], 1.0),
    "random operands meet in": lambda x: pd.Wald.dist(1.0, 2.0) + pd.Wald.dist(2.0, 2.0),
    "2 random operands meet in": lambda x: pd.Poisson.dist(1.0) + 2 * pd.Poisson.dist(2.0),
    "points of positive mass": lambda x: pt.cumsum(pt.clip(x, 0.0, 1.0)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_other_sums(message: str) -> None:
    """The error names the node and the reason."""
    with pytest.raises(MissingRuleError, match=f"(?s)test_sums.py.*{message}|{message}.*test_sums.py"):
        logprob.logp(REFUSED[message](normals()), np.zeros(4) if "4" in message else 0.3)
