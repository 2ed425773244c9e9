"""Elements at other places, parts, and joined parts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError, ModelError
from tests.distributions.cases import value_of
from tests.logprob.laws import evaluated

MU = np.arange(6.0).reshape(2, 3)
# An operation that rearranges tensors, and arrays in the same way.
OPERATIONS = {
    "element": lambda x: x[1, 2],
    "row": lambda x: x[1],
    "column": lambda x: x[:, -1],
    "slice": lambda x: x[:, 1:],
    "reversed": lambda x: x[:, ::-1],
    "gathered": lambda x: x[[1, 0, 1], [2, 0, 0]],
    "permuted": lambda x: x[:, [2, 0, 1]],
    "new axis": lambda x: x[:, None],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape((3, 2)),
    "flat": lambda x: x.reshape((6,))[::2],
    "squeezed": lambda x: x[:1].reshape((1, 3)).squeeze(),
}
CUSTOM = {"logp": lambda value, mu: -0.5 * (value - mu) ** 2, "logcdf": lambda value, mu: value - mu}
SOURCES = {
    "variable": (lambda: pd.Normal.dist(MU, 1.0), lambda v: scipy.stats.norm(MU, 1).logpdf(v)),
    "function": (lambda: pt.exp(pd.Normal.dist(MU, 1.0)), lambda v: scipy.stats.lognorm(1, scale=np.exp(MU)).logpdf(v)),
    "custom": (lambda: pd.CustomDist.dist(MU, **CUSTOM), lambda v: -0.5 * (v - MU) ** 2),
    "joined": (
        lambda: pt.concatenate([pd.Normal.dist(MU[:1], 1.0), pd.Gamma.dist(MU[1:], 1.0)]),
        lambda v: np.concatenate([scipy.stats.norm(MU[:1], 1).logpdf(v[:1]), scipy.stats.gamma(MU[1:]).logpdf(v[1:])]),
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_elements_keep_their_densities(source: str, operation: str) -> None:
    """As for the whole, one value or a batch of them."""
    make, density = SOURCES[source]
    move = OPERATIONS[operation]
    values = np.linspace(0.1, 2.0, 6).reshape(2, 3)
    node, expected = move(make()), move(density(values))
    np.testing.assert_allclose(evaluated(logprob.logp, node, move(values)), expected)
    batch = np.stack([values, values + 0.5])
    moved = np.stack([move(v) for v in batch])
    np.testing.assert_allclose(evaluated(logprob.logp, node, moved), np.stack([move(density(v)) for v in batch]))


def test_tails_and_quantiles_of_elements() -> None:
    """They move with the elements."""
    node = pd.Normal.dist(MU, 1.0).T
    np.testing.assert_allclose(evaluated(logprob.logcdf, node, 1.0), scipy.stats.norm(MU.T, 1).logcdf(1.0))
    np.testing.assert_allclose(evaluated(logprob.icdf, node, 0.3), scipy.stats.norm(MU.T, 1).ppf(0.3))


def test_events_of_vectors() -> None:
    """One number per vector; elements moved between vectors make one event of all."""
    covariance = np.eye(3) + 0.3
    rv = pd.MvNormal.dist(np.zeros(3), covariance, shape=(2, 3))
    frozen = scipy.stats.multivariate_normal(np.zeros(3), covariance)
    v = np.array([[0.1, 0.2, 0.3], [0.5, -1.0, 2.0]])
    np.testing.assert_allclose(evaluated(logprob.logp, rv[1], v[1]), frozen.logpdf(v[1]))
    np.testing.assert_allclose(evaluated(logprob.logp, rv[::-1], v), frozen.logpdf(v))
    np.testing.assert_allclose(evaluated(logprob.logp, pt.exp(rv), np.exp(v)), frozen.logpdf(v) - v.sum(1))
    np.testing.assert_allclose(evaluated(logprob.logp, rv.T, v.T), frozen.logpdf(v).sum())
    joined = pt.concatenate([rv, pd.Normal.dist(shape=(2, 1))], axis=1)
    w = np.array([[0.7], [-0.2]])
    np.testing.assert_allclose(
        evaluated(logprob.logp, joined, np.c_[v, w]), frozen.logpdf(v) + scipy.stats.norm.logpdf(w)[:, 0]
    )


def test_parts_that_are_parameters_of_others() -> None:
    """Each is taken given those before it."""
    a = pd.Normal.dist(0.5, 1.0)
    b = pd.Normal.dist(a, 2.0)
    expected = [scipy.stats.norm.logpdf(1.0, 0.5), scipy.stats.norm.logpdf(3.0, 1.0, 2.0)]
    np.testing.assert_allclose(evaluated(logprob.logp, pt.stack([a, b]), [1.0, 3.0]), expected)


def test_joint_density_of_several_nodes() -> None:
    """Each node given the values of the others."""
    a = pd.Normal.dist(0.5, 1.0)
    b = pd.Normal.dist(a, 2.0)
    found = [float(value_of(n)) for n in logprob.conditional_logp({a: 1.0, pt.exp(b): 2.0}).values()]
    np.testing.assert_allclose(
        found, [scipy.stats.norm.logpdf(1.0, 0.5), scipy.stats.lognorm(2, scale=np.e).logpdf(2.0)]
    )
    # The value of a parent follows from that of an invertible function of it.
    found = [float(value_of(n)) for n in logprob.conditional_logp({2.0 * pt.exp(a): 2.0 * np.e, b: 3.0}).values()]
    np.testing.assert_allclose(
        found, [scipy.stats.norm.logpdf(1.0, 0.5) - np.log(2 * np.e), scipy.stats.norm.logpdf(3.0, 1.0, 2.0)]
    )
    x = pd.Normal.dist(MU[1], 1.0)
    parts = logprob.conditional_logp(dict(zip(pt.split(x, 3), [[0.0], [1.0], [2.0]], strict=True)))
    np.testing.assert_allclose(
        [float(value_of(n)[0]) for n in parts.values()], scipy.stats.norm(MU[1], 1).logpdf([0, 1, 2])
    )


def test_factors_are_found_by_value_variables_and_by_nodes() -> None:
    """As in PyMC, whose `conditional_logp` is keyed by the values that it is given."""
    x = pd.Normal.dist()
    y = pt.exp(pd.Normal.dist(x, 1.0))
    x_value, y_value = x.clone(), y.clone()
    factors = logprob.conditional_logp({x: x_value, y: y_value})
    assert list(factors) == [x_value, y_value]
    assert factors[y] is factors[y_value]
    expected = scipy.stats.lognorm(1.0, scale=np.exp(0.5)).logpdf(2.0)
    np.testing.assert_allclose(factors[y].eval({x_value: 0.5, y_value: 2.0}), expected)
    with pytest.raises(KeyError):
        factors[pt.dscalar("z")]
    with pytest.raises(ModelError, match="is the value of several variables"):
        logprob.conditional_logp({x: x_value, pd.Normal.dist(): x_value})


REFUSED = {
    "repeats elements": lambda x: logprob.logp(x[[0, 0]], [0.0, 0.0]),
    "same random numbers twice": lambda x: logprob.logp(pt.concatenate([x[:2], pt.exp(x[1:])]), np.zeros(4)),
    "follows from the values": lambda x: logprob.conditional_logp({x: np.zeros(3), pt.exp(x): np.ones(3)}),
    "whose value does not follow": lambda x: logprob.conditional_logp(
        {pt.abs(x): np.ones(3), pd.Normal.dist(x, 1.0): np.zeros(3)}
    ),
    "uses the same random numbers twice": lambda x: logprob.conditional_logp({x[:2]: np.zeros(2), x[1:]: np.ones(2)}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_has_no_density(message: str) -> None:
    """Elements that follow from each other, with the user's line."""
    with pytest.raises(MissingRuleError, match=f"test_rearrangement.py.*{message}|{message}.*test_rearrangement.py"):
        REFUSED[message](pd.Normal.dist(MU[0], 1.0))
