"""Greatest and least of independent numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from tests.logprob.laws import check_continuous, check_quantiles, evaluated

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
