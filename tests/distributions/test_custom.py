"""Distributions given as functions of graphs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.distributions.generator import METHODS, GraphGenerator
from consilience.distributions.mathematics import log, square
from consilience.errors import MissingRuleError, ParameterError, ShapeError
from consilience.ir import Node, tensor_input
from consilience.ops.random import Key, draw
from consilience.ops.reduce import reduce
from tests.distributions.cases import value_of
from tests.distributions.generator_arguments import ARGUMENTS


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


def test_draws_of_an_expression_with_a_density_of_its_own() -> None:
    """As in PyMC: no transform, shapes of the expression, starting values of its variables."""

    def logp(value, mu):
        return -square(value - mu)

    scalar = pd.CustomDist.dist(2.0, dist=lambda mu, size: pd.Gamma.dist(mu, 1.0, size=size), logp=logp, shape=3)
    assert scalar.static_shape == (3,)
    assert pd.default_transform(scalar) is None
    assert_allclose(value_of(pd.logp(scalar, [-1.0, 0.0, 2.0])), [-9.0, -4.0, 0.0])
    assert_allclose(pd.draw(scalar, 4000, random_seed=1).mean(0), 2.0, atol=0.1)
    assert_array_equal(value_of(pd.support_point(scalar)), [2.0, 2.0, 2.0])
    count = pd.CustomDist.dist([1.0, 4.0], dist=lambda mu, size: pd.Poisson.dist(mu, size=size), logp=logp)
    assert (count.static_shape, count.dtype) == ((2,), "int64")
    assert_allclose(pd.draw(count, 4000, random_seed=1).mean(0), [1.0, 4.0], atol=0.15)
    moved = pd.CustomDist.dist(5.0, dist=lambda mu, size: pd.Normal.dist(mu, 1.0, size=size) + 1.0, logp=logp, size=2)
    assert_array_equal(value_of(pd.support_point(moved)), [6.0, 6.0])
    assert_allclose(pd.draw(moved, 4000, random_seed=1).mean(0), 6.0, atol=0.1)
    vector = pd.CustomDist.dist(
        np.arange(2.0),
        dist=lambda mu, size: pd.MvNormal.dist(mu, np.eye(2), size=size),
        logp=lambda value, mu: -reduce("sum", square(value - mu), -1),
        size=4,
    )
    assert vector.static_shape == (4, 2)
    assert_allclose(value_of(pd.logp(vector, np.zeros((4, 2)))), -np.ones(4))
    assert_allclose(pd.draw(vector, 4000, random_seed=1).mean((0, 1)), [0.0, 1.0], atol=0.05)


def test_an_expression_of_one_variable_has_the_draws_of_that_variable() -> None:
    def expression(mu, size):
        return pd.Normal.dist(mu, 2.0, size=size)

    own = pd.CustomDist.dist([0.0, 5.0], dist=expression, logp=lambda value, mu: -square(value - mu), shape=2)
    plain = pd.Normal.dist([0.0, 5.0], 2.0)
    assert_array_equal(pd.draw(own, 10, random_seed=1234), pd.draw(plain, 10, random_seed=1234))


def test_a_distribution_may_be_its_probabilities_alone() -> None:
    rv = pd.CustomDist.dist(1.0, logcdf=lambda value, rate: log(1.0 - 2.0 ** (-rate * value)), class_name="Halving")
    assert_allclose(value_of(pd.logcdf(rv, 1.0)), np.log(0.5))
    for use in (lambda: pd.logp(rv, 1.0), lambda: pd.draw(rv)):
        with pytest.raises(MissingRuleError, match="Halving was made without"):
            use()


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
    (lambda: pd.CustomDist.dist(0.0), TypeError, "needs `logp=` .*`random=` or `dist=`"),
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


def test_random_may_use_the_methods_of_numpys_generator() -> None:
    """As PyMC's users write it; every call is independent, and `pt.random` takes the generator as a key."""

    def random(mu, sigma, rng=None, size=None):
        by_key = 0 * draw("random_normal", rng, size)
        return rng.normal(loc=mu, scale=sigma, size=size) + rng.gamma(4.0, 0.5, size=size) + by_key

    rv = pd.CustomDist.dist(1.0, 2.0, logp=normal_logp, random=random, shape=(2,))
    draws = pd.draw(rv, 20_000, random_seed=1)
    assert_allclose(draws.mean(axis=0), 1 + 2, atol=0.06)
    assert_allclose(draws.var(axis=0), 4 + 1, rtol=0.05)
    assert_array_equal(draws[:5], pd.draw(rv, 20_000, random_seed=1)[:5])


# What NumPy's generator has; orders are tested below.
COMPARED = sorted({m for m in METHODS if hasattr(np.random.Generator, m)} - {"permutation", "shuffle"})


@pytest.mark.parametrize("method", COMPARED)
def test_the_generators_methods_have_numpys_law(method: str) -> None:
    """Mean and variance of NumPy's method of that name with the same arguments."""
    arguments = ARGUMENTS.get(method, ())
    size = 40_000
    make = getattr(GraphGenerator(Node(Key(3))), method)
    if method == "multivariate_hypergeometric":  # which has no size
        own = pd.draw(METHODS[method](*arguments), size, random_seed=3)
    else:
        own = function([], make(*arguments, size=size))()
    numpys = getattr(np.random.default_rng(1), method)(*arguments, size=size)
    assert own.shape == numpys.shape
    if method == "standard_cauchy":
        assert_allclose(np.quantile(own, [0.25, 0.5, 0.75]), [-1.0, 0.0, 1.0], atol=0.05)
        return
    error = 6 * numpys.std(axis=0) / np.sqrt(size)
    assert (np.abs(own.mean(axis=0) - numpys.mean(axis=0)) < np.sqrt(2) * error).all()
    assert_allclose(own.var(axis=0), numpys.var(axis=0), rtol=0.1)


def test_wrong_draws_are_refused() -> None:
    """A method that is not there, and draws of another shape."""
    missing = pd.CustomDist.dist(0.0, 1.0, logp=normal_logp, random=lambda mu, sigma, rng, size: rng.gompertz(mu))
    with pytest.raises(MissingRuleError, match="no method `gompertz`; it has bernoulli"):
        pd.draw(missing)
    scalar = pd.CustomDist.dist(0.0, logp=lambda v, mu: v, random=lambda mu, rng, size: rng.normal(mu), shape=3)
    with pytest.raises(ShapeError, match=r"`random` must give draws of shape \(3,\)"):
        pd.draw(scalar)


def test_a_scalar_is_the_sum_for_the_whole_variable_also_with_a_signature() -> None:
    """One number for all events; otherwise one for each, and nothing else."""
    mu = np.zeros((5, 3))
    values = np.ones((5, 3))

    def rv(logp):
        return pd.CustomDist.dist(mu, logp=logp, signature="(n)->(n)")

    def each(value, mu):
        return -0.5 * reduce("sum", square(value - mu), -1)

    assert value_of(pd.logp(rv(lambda v, mu: reduce("sum", each(v, mu))), values)) == -7.5
    assert_allclose(value_of(pd.logp(rv(each), values)), np.full(5, -1.5))
    for wrong in (
        lambda v, mu: -0.5 * square(v - mu),
        lambda v, mu: each(v, mu)[:1],
        lambda v, mu: each(v, mu)[:, None],
    ):
        with pytest.raises(ShapeError, match=r"`logp` must give one number per event, of shape \(5,\)"):
            pd.logp(rv(wrong), values)
    with pytest.raises(ShapeError, match=r"`logcdf` must give one number per event, of shape \(2,\)"):
        pd.logcdf(pd.CustomDist.dist(np.zeros(2), logp=each, logcdf=lambda v, mu: reduce("sum", v)), np.ones(2))


def test_orders_are_permutations_of_equal_probability() -> None:
    """Of numbers and of elements; each order of three comes as often as any other."""
    orders = pd.draw(METHODS["permutation"](3), 12_000, random_seed=5)
    assert (np.sort(orders, axis=1) == np.arange(3)).all()
    counts = np.unique(orders @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts - 2000).max() < 6 * np.sqrt(2000)
    shuffled = pd.draw(METHODS["shuffle"](np.arange(12.0).reshape(4, 3), 1), random_seed=1)
    assert_array_equal(np.sort(shuffled, axis=1), np.arange(12.0).reshape(4, 3))


def test_choices_without_replacement() -> None:
    """Distinct elements, the probable ones more often; too many are refused."""
    chosen = pd.draw(METHODS["choice"](5, size=3, replace=False, p=[0.6, 0.1, 0.1, 0.1, 0.1]), 4_000, random_seed=5)
    assert (np.diff(np.sort(chosen, axis=1), axis=1) > 0).all()
    numpys = np.random.default_rng(1)
    wanted = np.mean([0 in numpys.choice(5, 3, False, [0.6, 0.1, 0.1, 0.1, 0.1]) for _ in range(4_000)])
    assert abs((chosen == 0).any(axis=1).mean() - wanted) < 0.04
    with pytest.raises(ParameterError, match="6 elements of 5"):
        METHODS["choice"](5, size=6, replace=False)
