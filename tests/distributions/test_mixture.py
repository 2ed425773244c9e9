"""Mixtures against weighted sums of their components."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.distributions.constraints import IntervalConstraint, Real, Whole
from consilience.errors import ParameterError, ShapeError
from consilience.ir import tensor_input, topological
from consilience.ops import Elementwise
from consilience.ops.parameter_check import released
from consilience.ops.reduce import reduce
from consilience.ops.shape import stack
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

W, MU, SIGMA = np.array([0.2, 0.3, 0.5]), np.array([-1.0, 0.5, 4.0]), np.array([1.0, 2.0, 0.5])
NORMALS = stats.norm(MU, SIGMA)
X = np.array([-60.0, -3.0, -1.0, 0.3, 2.0, 5.0, 80.0])
BACKENDS = ("reference", "llvm")


def as_list() -> list:
    return [pd.Normal.dist(m, s) for m, s in zip(MU, SIGMA, strict=True)]


FORMS = {
    "batch": lambda: pd.Mixture.dist(W, pd.Normal.dist(MU, SIGMA)),
    "list": lambda: pd.Mixture.dist(W, as_list()),
    "NormalMixture": lambda: pd.NormalMixture.dist(W, MU, SIGMA),
    "NormalMixture by tau": lambda: pd.NormalMixture.dist(W, MU, tau=SIGMA**-2),
}
over_forms = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)


def log_mean(w, terms):
    with np.errstate(divide="ignore"):
        return logsumexp(np.log(w) + terms, axis=-1)


@over_forms
@pytest.mark.parametrize("backend", BACKENDS)
def test_density_is_the_weighted_sum_of_densities(make, backend) -> None:
    """Also where every density is 0 as a number, and both distribution functions."""
    rv = make()
    assert rv.static_shape == ()
    value = tensor_input("float64", (None,), "value")
    compiled = function([value], [pd.logp(rv, value), pd.logcdf(rv, value), pd.logccdf(rv, value)], backend=backend)
    for found, formula in zip(compiled(X), (NORMALS.logpdf, NORMALS.logcdf, NORMALS.logsf), strict=True):
        assert_allclose(found, log_mean(W, formula(X[:, None])), rtol=1e-12, atol=1e-15)
    assert_allclose(value_of(pd.logp(rv, 0.3)), log_mean(W, NORMALS.logpdf(0.3)), rtol=1e-13)


@over_forms
def test_moments_and_draws_of_a_mixture(make) -> None:
    """Kolmogorov-Smirnov, mean and variance."""
    rv = make()
    mean = W @ MU
    assert_allclose(value_of(pd.mean(rv)), mean, rtol=1e-13)
    assert_allclose(value_of(pd.variance(rv)), W @ (SIGMA**2 + (MU - mean) ** 2), rtol=1e-13)
    draws = pd.draw(rv, 20_000, random_seed=1)
    assert stats.kstest(draws, lambda x: NORMALS.cdf(x[:, None]) @ W).pvalue > 1e-3


def test_batches_of_weights_components_and_values_broadcast() -> None:
    """The last axis is that of the components, whatever the others are."""
    rng = np.random.default_rng(2)
    w, mu, value = rng.dirichlet(np.ones(3), (4, 1)), rng.normal(size=(5, 3)), rng.normal(size=(6, 4, 5))
    expected = log_mean(w, stats.norm(mu, SIGMA).logpdf(value[..., None]))
    rv = pd.Mixture.dist(w, pd.Normal.dist(mu, SIGMA))
    assert rv.static_shape == (4, 5)
    assert_allclose(value_of(pd.logp(rv, value)), expected, rtol=1e-12)
    listed = pd.Mixture.dist(w, [pd.Normal.dist(mu[:, k], SIGMA[k]) for k in range(3)])
    assert_allclose(value_of(pd.logp(listed, value)), expected, rtol=1e-12)
    assert_allclose(value_of(pd.mean(listed)), (w * mu).sum(-1), rtol=1e-12)
    assert pd.draw(rv, 7, random_seed=1).shape == pd.draw(listed, 7, random_seed=1).shape == (7, 4, 5)
    for made in (rv, listed):
        draws = pd.draw(made, 3000, random_seed=2)
        error = np.sqrt(value_of(pd.variance(made)) / 3000)
        assert (np.abs(draws.mean(0) - value_of(pd.mean(made))) < 5 * error).all()


def test_mixtures_of_counts() -> None:
    """Different families; masses, distribution function, chi square of draws."""
    parts = [stats.poisson(3), stats.binom(4, 0.2)]
    rv = pd.Mixture.dist([0.3, 0.7], [pd.Poisson.dist(3), pd.Binomial.dist(4, 0.2)])
    k = np.arange(-1, 30)
    masses = 0.3 * parts[0].pmf(k) + 0.7 * parts[1].pmf(k)
    assert_allclose(np.exp(value_of(pd.logp(rv, k))), masses, rtol=1e-12)
    assert_allclose(np.exp(value_of(pd.logcdf(rv, k))), masses.cumsum(), rtol=1e-12)
    draws = pd.draw(rv, 20_000, random_seed=1)
    assert draws.dtype == "int64"
    seen = np.bincount(draws, minlength=31)[:8]
    assert (
        stats.chisquare(
            np.append(seen, 20_000 - seen.sum()), 20_000 * np.append(masses[1:9], 1 - masses[1:9].sum())
        ).pvalue
        > 1e-3
    )
    assert value_of(pd.support_point(rv)) == 1
    assert pd.support_of(rv) == Whole(0.0)


def test_mixtures_of_vectors() -> None:
    """Components side by side or in a list; every vector is one event."""
    mu, cov = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[1.0, 0.3], [0.3, 2.0]])
    values = np.random.default_rng(3).normal(2, 2, (5, 2))
    expected = log_mean([0.4, 0.6], np.stack([stats.multivariate_normal(m, cov).logpdf(values) for m in mu], -1))
    for components in (pd.MvNormal.dist(mu, cov), [pd.MvNormal.dist(m, cov) for m in mu]):
        rv = pd.Mixture.dist([0.4, 0.6], components)
        assert rv.static_shape == (2,)
        assert_allclose(value_of(pd.logp(rv, values)), expected, rtol=1e-12)
        assert_allclose(value_of(pd.mean(rv)), [1.8, 2.4])
        assert_allclose(value_of(pd.variance(rv)), np.diag(cov) + 0.24 * mu[1] ** 2)
        draws = pd.draw(rv, 4000, random_seed=1)
        error = np.sqrt(value_of(pd.variance(rv)) / 4000)
        assert (np.abs(draws.mean(0) - [1.8, 2.4]) < 5 * error).all()
        assert np.corrcoef(draws.T)[0, 1] > 0.5


def test_components_may_be_mixtures() -> None:
    """The axis of the outer components stands before that of the inner ones."""
    w, mu = np.array([[0.5, 0.5], [0.1, 0.9]]), np.array([[0.0, 1.0], [2.0, 3.0]])
    rv = pd.Mixture.dist([0.4, 0.6], pd.NormalMixture.dist(w, mu, 1.0))
    inner = log_mean(w, stats.norm(mu).logpdf(X[:, None, None]))
    assert_allclose(value_of(pd.logp(rv, X)), log_mean([0.4, 0.6], inner), rtol=1e-12)
    assert_allclose(value_of(pd.mean(rv)), [0.4, 0.6] @ (w * mu).sum(-1))


def test_components_may_be_equal_and_have_their_number_from_a_shape() -> None:
    """The mixture of equal distributions is that distribution."""
    values = np.arange(6.0).reshape(2, 3)
    for component in (pd.Normal.dist(1, 2, shape=4), pd.Normal.dist(1, np.full((3, 1), 2.0), shape=(3, 4))):
        rv = pd.Mixture.dist(np.full(4, 0.25), component)
        assert rv.static_shape == component.static_shape[:-1]
        for value in (values, values[0]):
            assert_allclose(value_of(pd.logp(rv, value)), stats.norm(1, 2).logpdf(value), rtol=1e-13)
        assert pd.draw(rv, 5, random_seed=1).shape == (5, *rv.static_shape)
        assert_allclose(value_of(pd.variance(rv)), 4.0)


def test_support_point_of_a_mixture_lies_inside_the_support() -> None:
    """Also where there is nothing between the components."""
    rv = pd.Mixture.dist([0.5, 0.5], [pd.Uniform.dist(0, 1), pd.Uniform.dist(2, 4)])
    assert np.isfinite(value_of(pd.logp(rv, pd.support_point(rv))))


def test_support_of_a_mixture_contains_those_of_its_components() -> None:
    """Outside of all the density is 0; bounds may be tensors."""
    upper = tensor_input("float64", (), "upper")
    cases = [
        ([pd.HalfNormal.dist(1), pd.LogNormal.dist(0, 1)], IntervalConstraint(0.0)),
        ([pd.HalfNormal.dist(1), pd.Normal.dist(0, 1)], Real()),
        ([pd.Uniform.dist(1, 3), pd.Uniform.dist(2, 5)], IntervalConstraint(1.0, 5.0)),
        ([pd.Uniform.dist(1, 3), pd.Uniform.dist(1, upper)], None),
    ]
    for components, expected in cases:
        support = pd.support_of(pd.Mixture.dist([0.5, 0.5], components))
        if expected is None:
            assert isinstance(support, IntervalConstraint)
            assert [value_of(support.upper, {upper: u}) for u in (2.0, 9.0)] == [3.0, 9.0]
        else:
            assert support == expected
    side_by_side = pd.support_of(pd.Mixture.dist([0.5, 0.5], pd.Uniform.dist([1, 2], [3, 5])))
    assert [value_of(b) for b in (side_by_side.lower, side_by_side.upper)] == [1.0, 5.0]
    rv = pd.Mixture.dist([0.25, 0.75], [pd.Uniform.dist(0, 1), pd.Uniform.dist(2, 4)])
    assert_allclose(np.exp(value_of(pd.logp(rv, [-1, 0.5, 1.5, 3, 5]))), [0, 0.25, 0, 0.375, 0])
    assert_allclose(np.exp(value_of(pd.logcdf(rv, [-1, 0.5, 1.5, 3, 5]))), [0, 0.125, 0.25, 0.625, 1])


@pytest.mark.parametrize("form", ["batch", "list"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_mixtures_are_those_of_finite_differences(form, backend) -> None:
    """With respect to logarithms of weights, parameters and value; finite where a weight is 0 as a number."""
    mu, sigma, value = (tensor_input("float64", (n,), name) for n, name in ((3, "mu"), (3, "sigma"), (6, "value")))
    components = pd.Normal.dist(mu, sigma) if form == "batch" else [pd.Normal.dist(mu[k], sigma[k]) for k in range(3)]
    total = reduce("sum", pd.density(pd.Mixture.dist(W, components), value))
    point = [MU, SIGMA, X[:6]]
    leaves = [mu, sigma, value]
    compiled = function(leaves, [total, *gradient(total, leaves)], backend=backend)
    for position, slope in enumerate(compiled(*point)[1:]):
        for i in range(len(slope)):
            moved = [[p.copy() for p in point] for _ in range(2)]
            for sign, arguments in zip((1, -1), moved, strict=True):
                arguments[position][i] += sign * 1e-5
            above, below = (compiled(*arguments)[0] for arguments in moved)
            assert_allclose(slope[i], (above - below) / 2e-5, rtol=1e-6, atol=1e-8)
    zero = pd.Mixture.dist([0.0, 1.0, 0.0], pd.Normal.dist(mu, sigma))
    for slope in gradient(reduce("sum", pd.density(zero, value)), leaves):
        assert np.isfinite(value_of(slope, dict(zip(leaves, point, strict=True)))).all()


def test_weights_out_of_range() -> None:
    """Constants are refused; when computed, the density fails, or is NaN where nothing checks."""
    for wrong in ([0.5, 0.6], [-0.1, 1.1], [np.nan, 1.0]):
        with pytest.raises(ParameterError, match="Mixture: w must be numbers >= 0 that sum to 1"):
            pd.NormalMixture.dist(wrong, [0.0, 1.0], 1.0)
    p = tensor_input("float64", (), "p")
    density = pd.logp(pd.NormalMixture.dist(stack([p, 0.5 * p]), [0.0, 1.0], 1.0), 0.3)
    checked, free = function([p], density), function([p], released([density])[0])
    assert np.isfinite(checked(2 / 3))
    with pytest.raises(ParameterError, match="w must be numbers >= 0 that sum to 1"):
        checked(1.0)
    assert np.isnan(free(1.0))


def test_weights_that_are_a_variable_on_the_simplex_are_not_checked_again() -> None:
    """Weights of another kind pass a condition."""
    for w, checked in ((pd.Dirichlet.dist(np.ones(3)), False), (tensor_input("float64", (3,), "w"), True)):
        order = topological([pd.density(pd.NormalMixture.dist(w, MU, SIGMA), X)])
        readers = [n.op for n in order if w in n.inputs]
        assert (Elementwise("where") in readers) == checked


def test_parameters_of_components_out_of_range() -> None:
    """The message names the component's parameter."""
    s = tensor_input("float64", (2,), "s")
    density = pd.logp(pd.NormalMixture.dist([0.5, 0.5], 0.0, s), 0.3)
    with pytest.raises(ParameterError, match=r"comp_dists\.sigma must be > 0, got -1.0"):
        function([s], density)([1.0, -1.0])
    assert np.isnan(function([s], released([density])[0])([1.0, -1.0]))


def test_what_is_no_mixture() -> None:
    """Numbers of weights, events, kinds of values, and what is no distribution."""
    two = [pd.Normal.dist(), pd.Normal.dist()]
    vector = pd.MvNormal.dist([0, 0], np.eye(2))
    cases = [
        (lambda: pd.Mixture.dist([0.2, 0.3, 0.5], two), ShapeError, "w has 3 weights for 2 components"),
        (lambda: pd.Mixture.dist([0.5, 0.5], pd.Normal.dist([0, 1, 2])), ShapeError, "w has 2 weights for 3"),
        (lambda: pd.Mixture.dist([1.0], pd.Normal.dist()), ShapeError, "one distribution without a batch axis"),
        (
            lambda: pd.Mixture.dist([0.5, 0.5], [pd.Normal.dist(), vector]),
            ShapeError,
            r"events of the shapes \(\), \(2,\)",
        ),
        (
            lambda: pd.Mixture.dist([0.5, 0.5], [pd.Normal.dist(), pd.Poisson.dist(1)]),
            ParameterError,
            "all continuous or all discrete",
        ),
        (lambda: pd.Mixture.dist([0.5, 0.5], [0.0, 1.0]), TypeError, "comp_dists must be a distribution"),
        (lambda: pd.Mixture.dist([0.5, 0.5], []), ParameterError, "at least one distribution"),
        (lambda: pd.NormalMixture.dist([0.5, 0.5]), TypeError, "needs w and mu"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()


def test_lengths_of_mixtures_may_be_symbolic() -> None:
    """The number of components as well."""
    mu, w, value = (tensor_input("float64", (None,), name) for name in ("mu", "w", "value"))
    compiled = function([w, mu, value], pd.logp(pd.NormalMixture.dist(w, mu, 1.0), value))
    for count in (2, 3):
        weights = np.full(count, 1.0 / count)
        expected = log_mean(weights, stats.norm(MU[:count]).logpdf(X[:, None]))
        assert_allclose(compiled(weights, MU[:count], X), expected, rtol=1e-12)
    with pytest.raises(ShapeError):
        compiled(np.array([0.5, 0.5]), MU, X)


@pytest.mark.parametrize("as_components", [False, True])
def test_counts_of_several_totals_are_told_apart(as_components: bool) -> None:
    """A vector of counts belongs to the components with its own total; others have no probability there."""
    totals, p = np.array([5, 10]), np.array([0.2, 0.3, 0.5])
    components = [pd.Multinomial.dist(n, p) for n in totals] if as_components else pd.Multinomial.dist(totals, p)
    for size in (None, (2,)):
        mixture = pd.Mixture.dist([0.4, 0.6], components, size=size)
        for counts, weight in (([1, 1, 3], 0.4), ([2, 3, 5], 0.6), ([1, 1, 1], 0.0)):
            with np.errstate(divide="ignore"):
                expected = np.log(weight) + (stats.multinomial(sum(counts), p).logpmf(counts) if weight else 0.0)
            value = np.broadcast_to(counts, (*(size or ()), 3))
            assert_allclose(value_of(pd.logp(mixture, value)), np.broadcast_to(expected, size or ()))
