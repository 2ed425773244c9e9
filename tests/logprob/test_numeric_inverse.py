"""Monotone functions without a closed inverse, and the proof that they are monotone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from consilience.ir import Node, tensor_input
from consilience.logprob.intervals import FUNCTIONS, RULES, ranges
from consilience.ops.elementwise import apply
from consilience.ops.scalar import TABLE
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of
from tests.logprob.laws import check_continuous, check_discrete, check_quantiles, evaluated


def normal() -> Node:
    """A variable with values of both signs."""
    return pd.Normal.dist(0.3, 0.8)


def gamma() -> Node:
    """A variable with positive values."""
    return pd.Gamma.dist(3.0, 1.0)


# A function, and its argument.
MONOTONE = {
    "sum of increasing functions": (lambda x: x + pt.tanh(x), normal),
    "cubic polynomial": (lambda x: x**3 + x, normal),
    "product of factors": (lambda x: x * x * x + x**5, gamma),
    "product on a half line": (lambda x: x * pt.exp(x), gamma),
    "positive multiples": (lambda x: 0.3 * x + 2.0 * pt.softplus(x) - 1.0, normal),
    "logarithm on a half line": (lambda x: x + pt.log(x), gamma),
    "small wave": (lambda x: x - 0.5 * pt.sin(x), normal),
    "decreasing": (lambda x: pt.exp(-x) - x, normal),
    "wave on an interval": (lambda x: pt.sin(x), lambda: pd.Beta.dist(2.0, 3.0)),
    "corner": (lambda x: x + pt.maximum(x, 0.0), normal),
    "two powers": (lambda x: pt.sqrt(x) + x**1.7, gamma),
    "logarithm of a sum": (lambda x: pt.logaddexp(x, 2.0 * x), normal),
    "image of an interval": (lambda x: pt.tanh(x) + pt.erf(x), normal),
    "composition": (lambda x: pt.exp(0.2 * (x + pt.arctan(x)) + 1.0), normal),
    "size": (lambda x: (lambda size: size + pt.tanh(size))(pt.abs(x)), normal),
    "function of a sum": (lambda x: x + pt.sigmoid(x), lambda: pd.Normal.dist(0.2, 1.0, shape=3).sum()),
}


@pytest.mark.parametrize("name", MONOTONE)
def test_monotone_functions(name: str) -> None:
    """Density, tails, draws, quantiles and gradient agree."""
    function, argument = MONOTONE[name]
    node = function(argument())
    check_continuous(node, numeric_inverse=True)
    if name != "size":
        check_quantiles(node, numeric_inverse=True)


def test_roots_far_out_and_near_zero() -> None:
    """The inverse keeps its digits over the whole range of floats."""
    x = np.array([-1e100, -1e3, -1.0, -1e-9, -1e-200, 0.0, 1e-200, 1e-9, 1.0, 1e3, 1e100])
    node = (lambda x: x**3 + x)(pd.Cauchy.dist(0.0, 1.0))
    expected = scipy.stats.cauchy.logpdf(x) - np.log(3 * x**2 + 1)
    np.testing.assert_allclose(evaluated(logprob.logp, node, x**3 + x, numeric_inverse=True), expected, rtol=1e-13)
    steep = (lambda x: x + pt.tanh(1e6 * (x - 5.0)))(pd.Normal.dist(5.0, 1.0))
    offset = np.array([-1e-6, 1e-8, 3e-7])
    found = evaluated(logprob.logp, steep, 5 + offset + np.tanh(1e6 * offset), numeric_inverse=True)
    slope = 1 + 1e6 / np.cosh(1e6 * offset) ** 2
    # The value itself is known to 1e-15, its place on the slope to 1e-9 of the steep part.
    np.testing.assert_allclose(found, scipy.stats.norm.logpdf(offset) - np.log(slope), rtol=1e-8)


def test_outside_the_image() -> None:
    """The density is 0 there, and the tails are 0 and 1."""
    node = (lambda x: x * pt.exp(x))(gamma())
    assert list(evaluated(logprob.logp, node, [-1.0, -1e-9], numeric_inverse=True)) == [-np.inf, -np.inf]
    assert list(evaluated(logprob.logccdf, node, [-1.0], numeric_inverse=True)) == [0.0]
    bounded = (lambda x: pt.tanh(x) + pt.erf(x))(normal())
    assert list(evaluated(logprob.logp, bounded, [-2.1, 2.1], numeric_inverse=True)) == [-np.inf, -np.inf]


def test_masses_move() -> None:
    """A function of a count is found at its values."""
    k = np.arange(40.0)
    node = (lambda x: x + pt.tanh(x))(pd.Poisson.dist(2.5) * 1.0)
    check_discrete(node, k + np.tanh(k), numeric_inverse=True)


def test_gradients_in_parameters() -> None:
    """The implicit function theorem: of first and second order, in parameters of the variable and of the function."""
    a, mu = tensor_input("float64", (), "a"), tensor_input("float64", (), "mu")
    rv = pd.Normal.dist(mu, 0.8)
    y = np.array([-1.3, 0.2, 0.9, 4.0])
    density = logprob.logp(rv + pt.exp(a) * pt.tanh(rv), y, numeric_inverse=True).sum()

    def expected(a, mu):
        roots = [scipy.optimize.brentq(lambda x, y=y: x + np.exp(a) * np.tanh(x) - y, -9, 9, xtol=1e-15) for y in y]
        slopes = 1 + np.exp(a) / np.cosh(roots) ** 2
        return (scipy.stats.norm.logpdf(roots, mu, 0.8) - np.log(slopes)).sum()

    at = {a: 0.3, mu: -0.2}
    np.testing.assert_allclose(value_of(density, at), expected(0.3, -0.2), rtol=1e-12)
    by_a, by_mu = gradient(density, [a, mu])
    h = 1e-4
    np.testing.assert_allclose(value_of(by_a, at), (expected(0.3 + h, -0.2) - expected(0.3 - h, -0.2)) / (2 * h), 1e-6)
    np.testing.assert_allclose(value_of(by_mu, at), (expected(0.3, -0.2 + h) - expected(0.3, -0.2 - h)) / (2 * h), 1e-6)
    (twice,) = gradient(by_a, [a])
    second = (value_of(by_a, at | {a: 0.3 + h}) - value_of(by_a, at | {a: 0.3 - h})) / (2 * h)
    np.testing.assert_allclose(value_of(twice, at), second, rtol=1e-6)


def test_batches_and_vectors() -> None:
    """Values and parameters broadcast; elements of one event have one density."""
    scale = np.array([0.5, 1.0, 2.0])
    node = (lambda x: x + scale * pt.tanh(x))(pd.Normal.dist(0.0, 1.0, shape=3))
    x = np.linspace(-2.0, 2.0, 12).reshape(4, 3)
    expected = scipy.stats.norm.logpdf(x) - np.log(1 + scale / np.cosh(x) ** 2)
    found = evaluated(logprob.logp, node, x + scale * np.tanh(x), numeric_inverse=True)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    one = evaluated(logprob.logp, node, 0.4, numeric_inverse=True)
    alone = [evaluated(logprob.logp, (lambda x, s=s: x + s * pt.tanh(x))(pd.Normal.dist()), 0.4, numeric_inverse=True)
             for s in scale]  # fmt: skip
    np.testing.assert_allclose(one, alone, rtol=1e-12)
    covariance = np.eye(3) + 0.3
    vector = (lambda x: x + pt.tanh(x))(pd.MvNormal.dist(np.zeros(3), covariance))
    v = x[1]
    expected = scipy.stats.multivariate_normal(np.zeros(3), covariance).logpdf(v) - np.log1p(np.cosh(v) ** -2.0).sum()
    np.testing.assert_allclose(evaluated(logprob.logp, vector, v + np.tanh(v), numeric_inverse=True), expected)


def test_of_several_nodes() -> None:
    """In joint densities too."""
    x = normal()
    parts = logprob.conditional_logp({x + pt.tanh(x): 1.0, pd.Normal.dist(x, 1.0): 0.0}, numeric_inverse=True)
    root = scipy.optimize.brentq(lambda x: x + np.tanh(x) - 1, 0, 1)
    expected = scipy.stats.norm.logpdf([root, 0.0], [0.3, root], [0.8, 1.0]) - [np.log1p(np.cosh(root) ** -2.0), 0.0]
    np.testing.assert_allclose([float(value_of(part)) for part in parts.values()], expected)


NOT_MONOTONE = {
    "product on the line": lambda x: x * pt.exp(x),
    "flat part": lambda x: x + pt.abs(x),
    "pole": lambda x: x - 1.0 / x,
    "pole of a power": lambda x: x - x**-3,
    "steps": lambda x: x + pt.where(x > 0.5, x, 0.1),
    "leaps": lambda x: x + pt.floor(x),
    "part of the domain": lambda x: x + pt.log(x),
    "large wave": lambda x: x + 1.5 * pt.sin(x),
    "unknown sign": lambda x: x + tensor_input("float64", (), "a") * pt.tanh(x),
}


@pytest.mark.parametrize("name", NOT_MONOTONE)
def test_no_function_is_taken_for_monotone(name: str) -> None:
    """Refused with the user's line, whatever the option."""
    node = NOT_MONOTONE[name](normal())
    for wanted in (False, True):
        with pytest.raises(MissingRuleError, match=r"test_numeric_inverse\.py"):
            logprob.logp(node, 0.3, numeric_inverse=wanted)


def test_the_option_is_named() -> None:
    """Without it the error says that it would help."""
    x = normal()
    with pytest.raises(MissingRuleError, match=r"test_numeric_inverse\.py.*increases in.*give `numeric_inverse=True`"):
        logprob.logp(x + pt.tanh(x), 0.3)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_ranges_contain_all_values(name: str) -> None:
    """On cells inside the domain, of one and of both signs."""
    rng = np.random.default_rng(3)
    row = TABLE[name]
    arity = row.arity or 2
    domain = [(max(low, -6.0), min(high, 6.0)) for low, high in (*row.domain, *[(-6.0, 6.0)] * arity)][:arity]
    cells = [np.sort(rng.uniform(low, high, (2, 40)), axis=0) for low, high in domain]
    if name == "where":
        cells[0] = np.repeat([[0.0], [1.0]], 40, 1)
    inputs = [tensor_input("bool" if name == "where" and i == 0 else "float64", ()) for i in range(arity)]
    node = apply(name, *inputs)
    low, high = ranges([node], {x: (cell[0], cell[1]) for x, cell in zip(inputs, cells, strict=True)})[node]
    points = [cell[0] + (cell[1] - cell[0]) * rng.uniform(size=(200, 40)) for cell in cells]
    if name == "where":
        points[0] = points[0] > 0.5
    with np.errstate(all="ignore"):
        values = row.numpy(*points)
    near = 1e-12 * np.maximum(1, np.abs(values))
    assert (np.isnan(low) | (low - near <= values)).all()
    assert (np.isnan(high) | (values <= high + near)).all()
    if row.monotone and name not in RULES:
        assert not np.isnan(low).any()
