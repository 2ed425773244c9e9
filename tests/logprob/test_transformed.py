"""Densities of invertible functions of random variables."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError, ParameterError
from consilience.ir import tensor_input
from consilience.logprob.bijections import ROWS
from consilience.ops.elementwise import apply
from tests.distributions.cases import value_of
from tests.logprob.laws import CHANCE, check_continuous, check_discrete, check_quantiles, evaluated


def normal():
    """A variable with values of both signs."""
    return pd.Normal.dist(0.3, 0.8)


def inside(low, high):
    """A variable with values between two numbers."""
    return low + (high - low) * pd.Beta.dist(2.0, 3.0)


# Arguments that lie in the domain, where that is not everything.
ARGUMENTS = {
    "sqrt": lambda: pd.Gamma.dist(2.0, 1.0),
    "log": lambda: pd.Gamma.dist(2.0, 1.0),
    "log2": lambda: pd.Gamma.dist(2.0, 1.0),
    "log10": lambda: pd.Gamma.dist(2.0, 1.0),
    "log1p": lambda: inside(-0.9, 2.0),
    "log1mexp": lambda: -pd.Gamma.dist(2.0, 1.0),
    "ndtri_exp": lambda: -pd.Gamma.dist(2.0, 1.0),
    "logit": lambda: pd.Beta.dist(2.0, 3.0),
    "ndtri": lambda: pd.Beta.dist(2.0, 3.0),
    "erfinv": lambda: inside(-0.9, 0.8),
    "arcsin": lambda: inside(-0.9, 0.8),
    "arccos": lambda: inside(-0.9, 0.8),
    "arctanh": lambda: inside(-0.9, 0.8),
    "arccosh": lambda: 1.0 + pd.Gamma.dist(2.0, 1.0),
}
EVEN = ("abs", "square", "cosh")


@pytest.mark.parametrize("name", ROWS)
def test_every_bijection(name: str) -> None:
    """Density, tails, draws, gradient, and quantiles where there is one branch."""
    node = apply(name, ARGUMENTS.get(name, normal)())
    check_continuous(node)
    if name not in (*EVEN, "reciprocal"):
        check_quantiles(node)


MORE = {
    "affine": lambda: 3.0 - 2.0 * normal(),
    "quotient by a negative number": lambda: normal() / -2.5,
    "number over": lambda: 2.0 / normal(),
    "negative number over a positive variable": lambda: -2.0 / pd.Gamma.dist(3.0, 1.0),
    "cube": lambda: normal() ** 3,
    "fourth power": lambda: normal() ** 4,
    "even negative power": lambda: normal() ** -2,
    "odd negative power": lambda: normal() ** -3,
    "fractional power": lambda: pd.Gamma.dist(2.0, 1.0) ** 1.7,
    "negative fractional power": lambda: pd.Gamma.dist(4.0, 1.0) ** -0.7,
    "even power of a positive variable": lambda: pd.Gamma.dist(2.0, 1.0) ** 2,
    "fractional power of a variable of both signs": lambda: normal() ** 0.5,
    "rising exponential": lambda: 2.0 ** normal(),
    "falling exponential": lambda: 0.3 ** normal(),
    "logarithm of a variable of both signs": lambda: pt.log(normal()),
    "reciprocal of a logarithm's part": lambda: pt.reciprocal(pt.log(normal())),
    "chain": lambda: pt.log1p(pt.exp(-pt.tanh(2.0 * normal() + 1.0))),
    "two even steps": lambda: pt.square(pt.abs(normal()) - 0.5),
    "negative variable squared": lambda: pt.square(-pd.Gamma.dist(2.0, 1.0)),
}


@pytest.mark.parametrize("name", MORE)
def test_functions_with_operands(name: str) -> None:
    """Powers, affine steps, chains, and functions that some values have no image of."""
    check_continuous(MORE[name]())


def test_known_distributions() -> None:
    """Transforms that are distributions of their own."""
    x = np.array([0.1, 0.7, 3.0])
    normal_ = pd.Normal.dist(0.2, 1.1)
    lognormal = scipy.stats.lognorm(1.1, scale=np.exp(0.2))
    np.testing.assert_allclose(evaluated(logprob.logp, pt.exp(normal_), x), lognormal.logpdf(x))
    chi = pd.Normal.dist() ** 2
    np.testing.assert_allclose(evaluated(logprob.logp, chi, x), scipy.stats.chi2(1).logpdf(x))
    inverse = 1.0 / pd.Gamma.dist(3.0, 2.0)
    np.testing.assert_allclose(evaluated(logprob.logp, inverse, x), scipy.stats.invgamma(3, scale=2).logpdf(x))


def test_far_tails_keep_their_digits() -> None:
    """Nothing cancels 30 standard deviations from the mean."""
    frozen = scipy.stats.norm(0, 2)
    node = pt.exp(pd.Normal.dist(0.0, 2.0))
    for z in (-60.0, 60.0):
        at = np.exp([z])
        np.testing.assert_allclose(evaluated(logprob.logp, node, at), frozen.logpdf([z]) - z, rtol=1e-13)
        np.testing.assert_allclose(evaluated(logprob.logcdf, node, at), frozen.logcdf([z]), rtol=1e-12)
        np.testing.assert_allclose(evaluated(logprob.logccdf, node, at), frozen.logsf([z]), rtol=1e-12)


def test_outside_the_image() -> None:
    """The density is 0 there, and the tails are 0 and 1."""
    node = pt.sigmoid(normal())
    assert list(evaluated(logprob.logp, node, [-1.0, 2.0])) == [-np.inf, -np.inf]
    assert list(evaluated(logprob.logcdf, node, [-1.0, 2.0])) == [-np.inf, 0.0]
    assert list(evaluated(logprob.logccdf, node, [-1.0, 2.0])) == [0.0, -np.inf]
    assert list(evaluated(logprob.logcdf, pt.log(normal()), [-800.0])) == [-np.inf]


DISCRETE = {
    "exponential of a count": (lambda: pt.exp(pd.Poisson.dist(2.5)), np.exp(np.arange(40.0))),
    "affine of a count": (lambda: 2 * pd.Poisson.dist(2.5) + 1, 2 * np.arange(40) + 1),
    "reversed count": (lambda: 3 - pd.Poisson.dist(2.5), 3 - np.arange(40)),
    "square around the middle": (lambda: (pd.Poisson.dist(2.5) - 2) ** 2, np.arange(40) ** 2),
    "size": (lambda: abs(pd.Poisson.dist(2.5) - 2), np.arange(40)),
    "third of a count": (lambda: pd.Poisson.dist(2.5) / 3.0, np.arange(40) / 3.0),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_masses_are_not_stretched(name: str) -> None:
    """A function of whole numbers moves their masses."""
    make, values = DISCRETE[name]
    check_discrete(make(), values)


def test_parameters_out_of_range_are_refused() -> None:
    """As for the variable itself, when the density is computed."""
    sigma = tensor_input("float64", (), "sigma")
    density = logprob.logp(pt.exp(pd.Normal.dist(0.0, sigma)), 2.0)
    with pytest.raises(ParameterError, match=r"sigma must be > 0, got -1"):
        pt.function([sigma], density)(-1.0) if hasattr(pt, "function") else value_of(density, {sigma: -1.0})


REFUSED = {
    "of type float64.*test_transformed.py.*used twice": lambda x: x * x,
    "2 random operands meet": lambda x: x * pd.Gamma.dist(2.0, 1.0),
    "no rule for `sin`": lambda x: pt.sin(x),
    "repeats one random number": lambda x: x + np.zeros(3),
    "does not depend on a random variable": lambda x: pt.as_tensor(2.0),
    "an exponent is 0": lambda x: x**0,
    "the exponent is not known": lambda x: x ** tensor_input("float64", (), "c"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_inverted(message: str) -> None:
    """The error names the node, the user's line and the reason."""
    with pytest.raises(MissingRuleError, match=message):
        logprob.logp(REFUSED[message](normal()), 1.0)


def test_chance_is_small() -> None:
    """All rows together fail by chance once in thousands of seeds."""
    assert CHANCE * (len(ROWS) + len(MORE) + len(DISCRETE)) < 1e-3


def test_long_chains() -> None:
    """The work grows with the length of the chain, not with a power of it that would take minutes here."""
    node, value = normal(), 0.5
    expected = scipy.stats.norm(0.3, 0.8).logpdf(value)
    for _ in range(100):
        expected += 0.5 * np.log1p(value**2) - np.log(0.99)
        node, value = 0.99 * pt.arcsinh(node) + 0.01, 0.99 * np.arcsinh(value) + 0.01
    np.testing.assert_allclose(evaluated(logprob.logp, node, value), expected, rtol=1e-9)
