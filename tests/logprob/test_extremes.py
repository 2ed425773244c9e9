"""Greatest and least of independent numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from tests.logprob.laws import check_continuous, check_discrete, check_quantiles, evaluated

CASES = {
    "greatest of equal ones": lambda: pd.Normal.dist(0.3, 1.2, shape=5).max(),
    "least of equal ones": lambda: pd.Gamma.dist(2.0, 1.0, shape=5).min(),
    "greatest of transformed ones": lambda: pt.exp(2.0 - pd.Normal.dist(0.3, 1.2, shape=5)).max(),
    "greatest of different ones": lambda: pd.Normal.dist(np.array([0.0, 1.0]), np.array([1.0, 2.0])).max(),
    "least of different ones": lambda: pd.Exponential.dist(np.array([1.0, 2.0, 0.5])).min(),
    "least of different families": lambda: pt.minimum(pd.Normal.dist(1.0, 1.0), pd.Gamma.dist(2.0, 1.0)),
    "greatest of joined ones": lambda: pt.concatenate([pd.Normal.dist(shape=2), pd.Gamma.dist([2.0], 1.0)]).max(),
}


@pytest.mark.parametrize("name", CASES)
def test_extremes(name: str) -> None:
    """Density, tails, draws and gradient agree; equal ones have quantiles."""
    check_continuous(CASES[name]())
    if "equal" in name:
        check_quantiles(CASES[name]())


def test_least_exponential_is_exponential() -> None:
    """Rates add up."""
    node = pd.Exponential.dist(np.array([1.0, 2.0, 0.5])).min()
    x = np.array([0.0, 0.3, 50.0])
    np.testing.assert_allclose(evaluated(logprob.logp, node, x), np.log(3.5) - 3.5 * x, rtol=1e-12)


def test_axes_of_a_tensor() -> None:
    """One number per remaining element, for batches of values too."""
    mu = np.arange(6.0).reshape(2, 3)
    node = pd.Normal.dist(mu, 1.0).max(axis=0)
    values = np.linspace(-1, 4, 12).reshape(4, 3)
    a, b = (scipy.stats.norm(m, 1) for m in mu)
    expected = np.log(a.pdf(values) * b.cdf(values) + a.cdf(values) * b.pdf(values))
    np.testing.assert_allclose(evaluated(logprob.logp, node, values), expected)


def test_mass_of_the_greatest_censored() -> None:
    """Atoms at both bounds, a density between."""
    frozen = scipy.stats.norm(0.3, 1.2)
    node = pt.clip(pd.Normal.dist(0.3, 1.2, shape=5), 0.0, 1.0).max()
    expected = [frozen.cdf(0) ** 5, 5 * frozen.cdf(0.5) ** 4 * frozen.pdf(0.5), 1 - frozen.cdf(1) ** 5]
    np.testing.assert_allclose(np.exp(evaluated(logprob.logp, node, [0.0, 0.5, 1.0])), expected)


def test_shared_numbers_are_refused() -> None:
    """A variable and a function of it are not independent."""
    x = pd.Normal.dist()
    with pytest.raises(MissingRuleError, match=r"maximum.*same random numbers twice"):
        logprob.logp(pt.maximum(x, x + 1.0), 0.0)
    with pytest.raises(MissingRuleError, match=r"maximum.*is a parameter of another"):
        logprob.logp(pt.maximum(x, pd.Normal.dist(x, 1.0)), 0.0)


PLACES = {
    "least": lambda: pt.sort(pd.Normal.dist(0.3, 1.2, shape=5))[0],
    "second": lambda: pt.sort(pd.Normal.dist(0.3, 1.2, shape=5))[1],
    "middle of transformed ones": lambda: pt.sort(pt.exp(pd.Normal.dist(0.3, 1.2, shape=5)))[2],
    "middle of different families": lambda: pt.sort(
        pt.concatenate([pd.Normal.dist([0.0, 2.0], 1.0), pd.Gamma.dist([2.0, 3.0, 1.0], 1.0)])
    )[2],
    "second of different ones": lambda: pt.sort(pd.Normal.dist(np.array([0.0, 1.0, 3.0]), [1.0, 2.0, 0.5]))[-2],
    "function of the greatest": lambda: pt.exp(-0.3 * pt.sort(pd.Gamma.dist(2.0, 1.0, shape=4))[-1]),
}


@pytest.mark.parametrize("name", PLACES)
def test_order_statistics(name: str) -> None:
    """One place of sorted equal ones."""
    check_continuous(PLACES[name]())
    if "function" not in name and "different" not in name:
        check_quantiles(PLACES[name]())


COUNTS = {
    "second of equal counts": lambda: pt.sort(pd.Poisson.dist(2.5, shape=4))[1],
    "greatest of different counts": lambda: pt.sort(pd.Poisson.dist([2.5, 1.0, 4.0]))[-1],
    "middle of different counts": lambda: pt.sort(pt.stack([pd.Poisson.dist(2.5), pd.Binomial.dist(9, 0.4),
                                                            pd.Geometric.dist(0.3)]))[1],
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_order_statistics_of_counts(name: str) -> None:
    """Masses, tails and draws agree."""
    check_discrete(COUNTS[name](), np.arange(80))


def test_places_are_the_extremes() -> None:
    """The last place of different variables is the greatest, to the last digits of both tails."""
    x = pd.Normal.dist(np.arange(12.0), 1.0)
    values = np.array([-30.0, 0.0, 7.3, 11.0, 60.0])
    for place, extreme in ((-1, x.max()), (0, x.min())):
        for formula in (logprob.logp, logprob.logcdf, logprob.logccdf):
            found = evaluated(formula, pt.sort(x)[place], values)
            np.testing.assert_allclose(found, evaluated(formula, extreme, values), rtol=1e-10, atol=1e-15)


def test_sorted_counts() -> None:
    """Equal ones have fewer orders: the masses of all ascending vectors sum to 1."""
    node = pt.sort(pd.Binomial.dist(3, 0.4, shape=4))
    vectors = np.array(list(itertools.combinations_with_replacement(range(4), 4)))
    masses = np.exp(evaluated(logprob.logp, node, vectors))
    np.testing.assert_allclose(masses.sum(), 1, rtol=1e-12)
    draws = pd.draw(node, 20000, random_seed=5)
    share = (draws == [1, 1, 1, 2]).all(1).mean()
    np.testing.assert_allclose(share, masses[(vectors == [1, 1, 1, 2]).all(1)][0], atol=0.015)


def test_sorted_vectors() -> None:
    """Every ascending vector stands for all its permutations."""
    node = pt.sort(pd.Normal.dist(0.3, 1.2, shape=(2, 3)))
    v = np.array([[0.1, 0.4, 2.0], [0.1, 2.0, 0.4]])
    expected = scipy.stats.norm(0.3, 1.2).logpdf(v[0]).sum() + np.log(6)
    np.testing.assert_allclose(evaluated(logprob.logp, node, v), [expected, -np.inf])
    descending = pt.sort(pd.Normal.dist(0.3, 1.2, shape=3))[::-1]
    np.testing.assert_allclose(evaluated(logprob.logp, descending, v[0][::-1]), expected)
    with pytest.raises(MissingRuleError, match=r"test_extremes\.py"):
        logprob.logp(pt.sort(pd.Normal.dist([0.0, 1.0], 1.0)), [0.0, 1.0])
