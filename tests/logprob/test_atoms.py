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
from consilience.logprob.derived import derived_variable
from tests.logprob.laws import check_discrete, evaluated

N = scipy.stats.norm()
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
    **{name: (lambda name=name: getattr(pt, name)(normal()), np.arange(-20.0, 21))
       for name in ("floor", "ceil", "round", "trunc")},
    **{name + " of halves": (lambda name=name: getattr(pt, name)(0.5 * pd.Poisson.dist(2.5) - 1.0), np.arange(-2.0, 21))
       for name in ("floor", "ceil", "round", "trunc")},
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


MASSES = {
    "hurdle": (lambda: pd.HurdleGamma.dist(0.6, 2.0, 1.0), 0.0, 0.4),
    "censored": (lambda: pd.Censored.dist(pd.Normal.dist(), -1.25, 1.0), -1.25, N.cdf(-1.25)),
    "derived": (lambda: derived_variable(pt.clip(pd.Normal.dist(), -1.25, 1.0)), 1.0, N.sf(1.0)),
    "truncated": (
        lambda: pd.Truncated.dist(pd.HurdleGamma.dist(0.6, 2.0, 1.0), 0.0, 2.0),
        0.0,
        0.4 / (0.4 + 0.6 * scipy.stats.gamma(2.0).cdf(2.0)),
    ),
    "censored where it has a mass": (lambda: pd.Censored.dist(pd.HurdleGamma.dist(0.6, 2.0, 1.0), 0.0, 2.0), 0.0, 0.4),
}


@pytest.mark.parametrize("name", MASSES)
def test_a_mass_counts_alone(name: str) -> None:
    """In mixtures and choices the densities of others do not count where one has a mass; functions keep masses."""
    make, at, mass = MASSES[name]
    point = np.array([at])
    assert evaluated(logprob.logp, make(), point) == pytest.approx(np.log(mass))
    mixture = pd.Mixture.dist([0.3, 0.7], [make(), pd.Normal.dist(0.0, 2.0)])
    assert evaluated(logprob.logp, mixture, point) == pytest.approx(np.log(0.3 * mass))
    beside = evaluated(logprob.logp, make(), [at + 0.125 * (1 if at < 1.0 else -1)])[0]
    expected = np.log(0.3 * np.exp(beside) + 0.7 * scipy.stats.norm(0.0, 2.0).pdf(at + 0.125 * (1 if at < 1.0 else -1)))
    assert evaluated(logprob.logp, mixture, [at + 0.125 * (1 if at < 1.0 else -1)]) == pytest.approx(expected)
    choice = pt.switch(pd.Bernoulli.dist(0.3), make(), pd.Normal.dist(0.0, 2.0))
    assert evaluated(logprob.logp, choice, point) == pytest.approx(np.log(0.3 * mass))
    for function, image in ((lambda x: 1.7 * x - 0.3, 1.7 * at - 0.3), (lambda x: pt.exp(0.7 * x), np.exp(0.7 * at))):
        assert evaluated(logprob.logp, function(make()), [image]) == pytest.approx(np.log(mass))
        assert evaluated(logprob.logp, function(mixture), [image]) == pytest.approx(np.log(0.3 * mass))


def test_masses_of_probability_zero_are_none() -> None:
    """A component without weight, or whose mass is 0, leaves the density of the other."""
    normal = scipy.stats.norm().pdf(0.0)
    without = pd.Mixture.dist([0.3, 0.7], [pd.HurdleGamma.dist(1.0, 2.0, 1.0), pd.Normal.dist()])
    assert evaluated(logprob.logp, without, [0.0]) == pytest.approx(np.log(0.7 * normal))
    weightless = pd.Mixture.dist([0.0, 1.0], [pd.HurdleGamma.dist(0.6, 2.0, 1.0), pd.Normal.dist()])
    assert evaluated(logprob.logp, weightless, [0.0]) == pytest.approx(np.log(normal))
    none = pd.Mixture.dist([0.5, 0.5], [pd.Normal.dist(), pd.Normal.dist()])
    assert evaluated(logprob.logp, none, [0.0]) == pytest.approx(np.log(normal))


def test_components_of_one_batch_have_masses() -> None:
    mixture = pd.Mixture.dist([0.25, 0.75], pd.HurdleGamma.dist([0.6, 0.9], 2.0, 1.0))
    assert evaluated(logprob.logp, mixture, [0.0]) == pytest.approx(np.log(0.25 * 0.4 + 0.75 * 0.1))


def test_tails_of_a_truncated_mass() -> None:
    """P(X > x) of what is cut at a point of positive mass leaves that point out."""
    cut = pd.Truncated.dist(pd.HurdleGamma.dist(0.6, 2.0, 1.0), 0.0, 2.0)
    check = np.exp(evaluated(logprob.logcdf, cut, [0.0, 1.0, 2.0])), np.exp(evaluated(logprob.logccdf, cut, [0.0, 1.0]))
    np.testing.assert_allclose(check[0][:2] + check[1], 1.0)
    assert check[0][2] == pytest.approx(1.0)


def test_a_mass_at_the_edge_of_an_image_counts_where_rounding_leaves_it_outside() -> None:
    """Of a - (|h| + 0.3 a) the mass lies at 0.7 a, from which the way back leads to -1e-17, no value of |h|."""
    a, y = pt.dscalar("a"), pt.dscalar("y")
    hurdle = pd.HurdleGamma.dist(psi=0.6, alpha=2.0, beta=1.0)
    found = logprob.logp(a - (pt.abs(hurdle) + 0.3 * a), y)
    for value in (0.153125, 0.7 * 0.21875):
        np.testing.assert_allclose(found.eval({a: 0.21875, y: value}), np.log(0.4))
