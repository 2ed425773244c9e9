"""Distributions given as functions of graphs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.distributions.mathematics import log, square
from consilience.errors import MissingRuleError, ShapeError
from consilience.ir import tensor_input
from consilience.ops.random import draw
from consilience.ops.reduce import reduce
from tests.distributions.cases import value_of


def normal_logp(value, mu, sigma):
    """A normal density without its constant."""
    return -0.5 * square((value - mu) / sigma) - log(sigma)


def normal_random(mu, sigma, rng, size):
    """Normal draws."""
    return mu + sigma * draw("random_normal", rng, size)


def test_functions_make_a_distribution() -> None:
    """Density, draws, shape and starting point as given."""
    rv = pd.CustomDist.dist(
        [1.0, 2.0],
        0.5,
        logp=normal_logp,
        random=normal_random,
        support_point=lambda mu, sigma: mu,
        shape=(3, 2),
    )
    assert (rv.static_shape, rv.dtype) == ((3, 2), "float64")
    assert_allclose(value_of(pd.logp(rv, np.ones((3, 2)))), np.tile([np.log(2), -2 + np.log(2)], (3, 1)))
    draws = pd.draw(rv, 2000, random_seed=1)
    assert draws.shape == (2000, 3, 2)
    assert_allclose(draws.mean((0, 1)), [1, 2], atol=0.05)
    assert_array_equal(value_of(pd.support_point(rv)), np.tile([1, 2], (3, 1)))
    assert pd.default_transform(rv) is None
    assert pd.parameter_violation(rv) == []


def test_parameters_may_be_symbols() -> None:
    """The functions see graphs."""
    sigma = tensor_input("float64", (), "sigma")
    rv = pd.CustomDist.dist(0.0, sigma, logp=normal_logp)
    assert_allclose(value_of(pd.logp(rv, 2.0), {sigma: 2.0}), -0.5 - np.log(2))
    assert value_of(pd.support_point(rv)) == 0.0


def test_vectors_by_signature_or_by_ranks() -> None:
    """An event's length follows from a parameter or from the shape."""

    def logp(value, mu):
        return -0.5 * reduce("sum", square(value - mu), -1)

    mu = np.arange(3.0)
    for rv in (
        pd.CustomDist.dist(mu, logp=logp, signature="(n)->(n)"),
        pd.CustomDist.dist(mu, logp=logp, ndim_supp=1, ndims_params=[1], shape=3),
    ):
        assert rv.static_shape == (3,)
        assert_allclose(value_of(pd.logp(rv, np.zeros((2, 3)))), [-2.5, -2.5])
    batch = pd.CustomDist.dist(np.zeros((5, 3)), logp=logp, signature="(n)->(n)")
    assert batch.static_shape == (5, 3)
    assert pd.CustomDist.dist(logp=lambda value: value.sum(-1), signature="->(2)").static_shape == (2,)


def test_counts() -> None:
    """An integer dtype makes a discrete distribution: no transform, whole numbers only."""
    rv = pd.CustomDist.dist(0.5, logp=lambda value, p: value * log(p), dtype="int64")
    assert rv.dtype == "int64"
    assert pd.default_transform(rv) is None
    assert_allclose(value_of(pd.logp(rv, [2, 3])), np.log(0.5) * np.array([2, 3]))
    assert value_of(pd.logp(rv, 0.5)) == -np.inf


def test_what_was_not_given_says_so() -> None:
    """Under the distribution's own name."""
    rv = pd.CustomDist.dist(0.0, 1.0, logp=normal_logp, class_name="Mine")
    with pytest.raises(MissingRuleError, match="Mine was made without `random=`"):
        pd.draw(rv)
    with pytest.raises(MissingRuleError, match="Mine was made without `logcdf=`"):
        pd.logcdf(rv, 0.0)
    with pytest.raises(MissingRuleError, match="Mine has no `icdf`"):
        pd.icdf(rv, 0.5)
    with pytest.raises(MissingRuleError, match="CustomDist was made without `logp=`"):
        pd.logp(pd.CustomDist.dist(0.0, 1.0, random=normal_random), 0.0)


WRONG = [
    (lambda: pd.CustomDist.dist(0.0), TypeError, "needs `logp=` .* or `random=`"),
    (
        lambda: pd.CustomDist.dist(0.0, dist=lambda mu, size: mu),
        MissingRuleError,
        "no density is derived from `dist=`",
    ),
    (
        lambda: pd.CustomDist.dist(mu=0.0, logp=normal_logp),
        TypeError,
        "no argument `mu`; parameters are given by position",
    ),
    (
        lambda: pd.CustomDist.dist(0.0, logp=normal_logp, dtype="text"),
        TypeError,
        "dtype must be one of .*, got 'text'",
    ),
    (
        lambda: pd.CustomDist.dist(0.0, logp=normal_logp, signature="(n),(n)->(n)"),
        TypeError,
        "does not fit 1 parameters",
    ),
    (
        lambda: pd.CustomDist.dist(0.0, logp=normal_logp, signature="(n)->(n)"),
        ShapeError,
        "a parameter of rank 1 or more",
    ),
    (
        lambda: pd.CustomDist.dist(0.0, logp=normal_logp, ndim_supp=1),
        ShapeError,
        "follows from no parameter; give `shape`",
    ),
    (
        lambda: pd.CustomDist.dist(0.0, logp=normal_logp, ndims_params=[0, 1]),
        TypeError,
        "2 entries for 1 parameters",
    ),
    (
        lambda: pd.CustomDist.dist([0.0], logp=normal_logp, signature="(n)->(n)", ndim_supp=1),
        TypeError,
        "give `signature` or `ndim_supp`",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), WRONG)
def test_wrong_arguments(make, error, message) -> None:
    """Each says what was needed."""
    with pytest.raises(error, match=message):
        make()
