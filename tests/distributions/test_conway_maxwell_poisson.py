"""Counts of Conway, Maxwell and Poisson against sums in many digits, over long ranges and narrow ones."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.ir import tensor_input
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

# Rates and powers: near geometric, over- and underdispersed, with few and with thousands of counts.
ROWS = [
    (0.5, 0.01), (0.99, 1e-3), (1.02, 3e-3), (20.0, 0.5), (1e-8, 0.3), (1e3, 1.0), (2.0, 30.0), (1e10, 5.0),
    (50.0, 0.9), (1e-9, 1e-3), (1e300, 150.0), (2.0, 1e8),
]  # fmt: skip


def summed(lam: float, nu: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """Logarithm of the normalising constant, mean and variance, by all terms that count."""
    rate, power = mp.log(mp.mpf(lam)), mp.mpf(nu)
    mode = int(mp.floor(mp.exp(rate / power)))
    moments = [mp.mpf(0)] * 3
    for start, step in ((mode, -1), (mode + 1, 1)):
        # Terms relative to that of the mode, by their ratios.
        k, term = start, mp.mpf(1) if step < 0 else mp.exp(rate - power * mp.log(mode + 1))
        while k >= 0 and term > 1e-25:
            moments = [m + term * mp.mpf(k) ** i for i, m in enumerate(moments)]
            if step < 0:
                term *= mp.exp(power * mp.log(k) - rate) if k else 0
            else:
                term *= mp.exp(rate - power * mp.log(k + 1))
            k += step
    mean = moments[1] / moments[0]
    top = mode * rate - power * mp.loggamma(mode + 1)
    return top + mp.log(moments[0]), mean, moments[2] / moments[0] - mean**2


@pytest.mark.parametrize(("lam", "nu"), ROWS)
def test_masses_and_moments_are_those_of_long_sums(lam: float, nu: float) -> None:
    """On both backends."""
    with mp.workdps(40):
        log_sum, mean, variance = summed(lam, nu)
        deviation = float(mp.sqrt(variance))
        x = np.unique(np.floor(np.maximum(float(mean) + deviation * np.array([-6.0, -1.0, 0.0, 2.0, 10.0]), 0.0)))
        expected = [float(k * mp.log(mp.mpf(lam)) - nu * mp.loggamma(k + 1) - log_sum) for k in x]
    rv = pd.ConwayMaxwellPoisson.dist(lam, nu)
    for backend in ("reference", "llvm"):
        found = function([], [pd.logp(rv, x.astype(int)), pd.mean(rv), pd.variance(rv)], backend=backend)()
        assert_allclose(found[0], expected, rtol=1e-12, atol=2e-12)
        assert_allclose(found[1:], [float(mean), float(variance)], rtol=1e-12)


def test_a_power_of_1_gives_poisson_counts() -> None:
    """Tails and quantiles too, at rates whose ranges are far longer than the number of terms."""
    q = np.array([1e-300, 1e-12, 1e-5, 0.01, 0.5, 0.99, 1 - 1e-7])
    for mu in (0.01, 3.0, 1e4, 1e6):
        own, known = pd.ConwayMaxwellPoisson.dist(mu, 1.0), pd.Poisson.dist(mu)
        assert_array_equal(value_of(pd.icdf(own, q)), value_of(pd.icdf(known, q)))
        if mu < 1e5:  # beyond, the incomplete gamma function has fewer digits
            x = np.floor(mu + np.sqrt(mu) * np.array([-5.0, -1.0, 0.0, 1.0, 5.0, 20.0])).astype(int)
            for formula in (pd.logcdf, pd.logccdf):
                assert_allclose(value_of(formula(own, x)), value_of(formula(known, x)), rtol=1e-9, atol=1e-12)


def test_a_tail_of_thousands_of_counts_keeps_its_digits() -> None:
    """Five standard deviations above a million expected counts."""
    rate, x = 10**6, 1_005_000
    with mp.workdps(30):
        term = mp.exp((x + 1) * mp.log(rate) - rate - mp.loggamma(x + 2))
        tail = mp.mpf(0)
        for k in range(x + 2, x + 10_000):
            tail += term
            term *= mp.mpf(rate) / k
    found = value_of(pd.logccdf(pd.ConwayMaxwellPoisson.dist(rate, 1.0), x))
    assert_allclose(np.exp(found), float(tail), rtol=1e-11)


def test_derivatives_are_those_of_a_power_family() -> None:
    """By log lam: x less the mean. By nu: the expected log factorial less that of x."""
    lam, nu = np.array([0.5, 20.0, 1.02, 5e3]), np.array([0.01, 0.5, 0.003, 1.1])
    leaves = [tensor_input("float64", (4,), n) for n in ("lam", "nu")]
    x = np.array([3, 380, 700, 2300])
    rv = pd.ConwayMaxwellPoisson.dist(*leaves)
    total = reduce("sum", pd.logp(rv, x))
    by_lam, by_nu, mean = function(leaves, [*gradient(total, leaves), pd.mean(rv)])(lam, nu)
    assert_allclose(by_lam, (x - mean) / lam, rtol=1e-10)
    for i in range(4):
        k = np.arange(20_000)
        log_mass = value_of(pd.logp(pd.ConwayMaxwellPoisson.dist(lam[i], nu[i]), k))
        log_factorials = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
        assert_allclose(by_nu[i], np.exp(log_mass) @ log_factorials - log_factorials[x[i]], rtol=1e-8, atol=1e-9)


def test_rate_and_center_are_two_words_for_one_parameter() -> None:
    """And the center may be one whose power overflows."""
    x = np.array([0, 990, 1000, 1010])
    by_rate = pd.logp(pd.ConwayMaxwellPoisson.dist(lam=1000.0**1.5, nu=1.5), x)
    assert_allclose(
        value_of(pd.logp(pd.ConwayMaxwellPoisson.dist(mu=1000.0, nu=1.5), x)), value_of(by_rate), rtol=1e-12
    )
    far = pd.ConwayMaxwellPoisson.dist(mu=1000.5, nu=1e3)
    assert_allclose(value_of(pd.mean(far)), 1000.0, atol=0.6)
    assert abs(pd.draw(far, 100, random_seed=1) - 1000).max() <= 6
