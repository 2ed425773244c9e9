"""Points of positive mass: censored and rounded variables, truth values, and functions of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from consilience.ir import Node
from tests.logprob.laws import check_discrete, evaluated

FROZEN = scipy.stats.norm(0.3, 1.8)


def normal() -> Node:
    """A variable with values of both signs."""
    return pd.Normal.dist(0.3, 1.8)


def test_censoring_moves_the_tails_to_the_bounds() -> None:
    """Masses at the bounds, the density between, nothing outside."""
    node = pt.clip(normal(), -1.0, 1.5)
    expected = [-np.inf, FROZEN.logcdf(-1), FROZEN.logpdf(0), FROZEN.logsf(1.5), -np.inf]
    np.testing.assert_allclose(evaluated(logprob.logp, node, [-2.0, -1.0, 0.0, 1.5, 2.0]), expected)
    np.testing.assert_allclose(
        evaluated(logprob.logcdf, node, [-2.0, -1.0, 0.0, 1.5]), [-np.inf, FROZEN.logcdf(-1), FROZEN.logcdf(0), 0]
    )
    np.testing.assert_allclose(evaluated(logprob.icdf, node, [0.01, 0.5, 0.99]), [-1, 0.3, 1.5])


def test_an_atom_is_not_stretched() -> None:
    """The slope of a function counts for densities, not for masses."""
    node = 2.0 * pt.exp(pt.clip(normal(), -1.0, 1.5))
    values = 2 * np.exp([-1.0, 0.2, 1.5])
    expected = [FROZEN.logcdf(-1), FROZEN.logpdf(0.2) - np.log(2) - 0.2, FROZEN.logsf(1.5)]
    np.testing.assert_allclose(evaluated(logprob.logp, node, values), expected)


def test_an_atom_in_two_branches() -> None:
    """One at 0 counts once; beside one of the other branch a density does not count."""
    node = pt.abs(pt.maximum(normal(), 0.0))
    np.testing.assert_allclose(evaluated(logprob.logp, node, [0.0, 1.0]), [FROZEN.logcdf(0), FROZEN.logpdf(1)])
    node = pt.abs(pt.maximum(normal(), -1.0))
    both = np.log(FROZEN.pdf(0.5) + FROZEN.pdf(-0.5))
    expected = [both, FROZEN.logcdf(-1), FROZEN.logpdf(2)]
    np.testing.assert_allclose(evaluated(logprob.logp, node, [0.5, 1.0, 2.0]), expected)


ROUNDED = {
    **{name: (lambda f=f: f(normal()), np.arange(-20.0, 21)) for name, f in vars(pt).items() if name in
       ("floor", "ceil", "round", "trunc")},
    **{name + " of halves": (lambda f=f: f(0.5 * pd.Poisson.dist(2.5) - 1.0), np.arange(-2.0, 21))
       for name, f in vars(pt).items() if name in ("floor", "ceil", "round", "trunc")},
    "integer of a float": (lambda: normal().astype("int64"), np.arange(-20.0, 21)),
    "censored count": (lambda: pt.clip(pd.Poisson.dist(2.5), 1, 4), np.arange(7)),
    "rounded and censored": (lambda: pt.clip(pt.floor(normal()), -2.0, 2.0), np.arange(-3.0, 4)),
    "scaled digits": (lambda: pt.round(normal() * 2.0) / 2.0, np.arange(-40.0, 41) / 2),
    "below a number": (lambda: normal() < 1.0, [0, 1]),
    "number on the left": (lambda: normal() >= 1.0, [0, 1]),
    "count equal to a number": (lambda: pt.eq(pd.Poisson.dist(2.5), 2), [0, 1]),
    "count not equal": (lambda: pt.neq(pd.Poisson.dist(2.5), 2), [0, 1]),
    "count below": (lambda: pd.Poisson.dist(2.5) < 3, [0, 1]),
    "count at most": (lambda: pd.Poisson.dist(2.5) <= 3, [0, 1]),
    "negation": (lambda: ~(pd.Poisson.dist(2.5) > 3), [0, 1]),
    "conjunction": (lambda: (normal() > 0.0) & (pd.Poisson.dist(2.5) > 2), [0, 1]),
    "disjunction": (lambda: (normal() > 0.0) | (pd.Poisson.dist(2.5) > 2), [0, 1]),
    "one of two": (lambda: (normal() > 0.0) ^ (pd.Poisson.dist(2.5) > 2), [0, 1]),
    "one of two and a condition": (lambda: pt.logical_xor(normal() > 0.5, True), [0, 1]),
    "both of two numbers": (lambda: pd.Bernoulli.dist(0.3) & pd.Bernoulli.dist(0.6), [0, 1]),
    "any of two numbers": (lambda: pd.Bernoulli.dist(0.3) | pd.Bernoulli.dist(0.6), [0, 1]),
    "one of two numbers": (lambda: pd.Bernoulli.dist(0.3) ^ pd.Bernoulli.dist(0.6), [0, 1]),
    "equal truth values": (lambda: pt.eq(pd.Bernoulli.dist(0.3), normal() > 0.5), [0, 1]),
    "different truth values": (lambda: pt.neq(normal() > 0.5, pd.Poisson.dist(2.5) > 2), [0, 1]),
    "number of a truth value": (lambda: (normal() > 0.0).astype("int64") * 3, [0, 3]),
    "greatest count": (lambda: pd.Poisson.dist(2.5, shape=4).max(), np.arange(40)),
    "least count": (lambda: pd.Poisson.dist(np.array([2.5, 1.0])).min(), np.arange(40)),
    "any": (lambda: (pd.Normal.dist(np.array([0.0, -1.0]), 1.0) > 0.5).any(), [0, 1]),
    "all": (lambda: (pd.Normal.dist(0.0, 1.0, shape=3) > -0.5).all(), [0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUNDED)
def test_masses(name: str) -> None:
    """Masses sum to 1, make up the tails, and draws follow them."""
    make, values = ROUNDED[name]
    check_discrete(make(), values)


def test_far_intervals_keep_their_digits() -> None:
    """The probability of a whole number far above the mean comes from the nearer tail."""
    node = pt.floor(pd.Normal.dist())
    expected = scipy.stats.norm.logsf(20) + np.log1p(-np.exp(scipy.stats.norm.logsf(21) - scipy.stats.norm.logsf(20)))
    np.testing.assert_allclose(evaluated(logprob.logp, node, [20.0, -21.0]), expected, rtol=1e-12)
    assert evaluated(logprob.logp, node, 0.5) == -np.inf


def test_dependent_truth_values_are_refused() -> None:
    """Two conditions on one variable are not independent."""
    x = normal()
    with pytest.raises(MissingRuleError, match=r"bitwise_and.*same random numbers twice"):
        logprob.logp((x > 0.0) & (x < 1.0), 1)
