"""Counts at extreme parameters, continuous hurdles, ordered categories, vectors of counts, and what is refused."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import consilience as pm
import consilience.distributions as pd
from consilience.backends.function import function
from consilience.errors import ModelError, ParameterError, ShapeError, SupportError
from consilience.ir import tensor_input
from consilience.ops.parameter_check import released
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of


def log(x):
    return mp.log(x) if x > 0 else mp.mpf("-inf")


def log_ways(n, k):
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


def negative_binomial(x, mu, a):
    ways = mp.loggamma(x + a) - mp.loggamma(a) - mp.loggamma(x + 1)
    return ways - a * mp.log1p(mu / a) + (x * log(mu / (mu + a)) if x else 0)


def beta_binomial(x, a, b, n):
    return log_ways(n, x) + mp.log(mp.beta(x + a, n - x + b)) - mp.log(mp.beta(a, b))


def skellam(x, a, b):
    if not b:
        return x * log(a) - a - mp.loggamma(x + 1)
    v, z = abs(x), 2 * mp.sqrt(a * b)
    return -a - b + x / 2 * mp.log(a / b) + mp.log(mp.besseli(v, z))


HUGE = [
    (pd.NegativeBinomial, negative_binomial, (3, 1e10), (0, 1, 3, 12)),
    (pd.NegativeBinomial, negative_binomial, (1e10, 1e10), (10**10, 10**10 + 10**6, 0, 5)),
    (pd.NegativeBinomial, negative_binomial, (1e9, 1e15), (10**9, 10**9 + 10**5)),
    (pd.NegativeBinomial, negative_binomial, (3, 1e300), (0, 1, 3, 10**6)),
    (pd.NegativeBinomial, negative_binomial, (1e-300, 1e-300), (0, 1, 10**9)),
    (pd.BetaBinomial, beta_binomial, (2, 3, 10**9), (0, 1, 10**8, 10**9)),
    (pd.BetaBinomial, beta_binomial, (1e10, 2e10, 10**9), (333_333_333, 333_400_000)),
    (pd.BetaBinomial, beta_binomial, (1e-300, 1e-300, 10), (0, 3, 10)),
    (pd.Skellam, skellam, (1e3, 2e3), (-1000, -900, 0)),
    (pd.Skellam, skellam, (1e-300, 1e-300), (0, 1, -2)),
    (pd.Skellam, skellam, (5, 0), (0, 3, 200)),
    (pd.Skellam, skellam, (40, 63), (-120, -23, 0, 60)),
    (pd.Geometric, lambda x, p: log(p) + (x - 1) * mp.log1p(-p), (1e-300,), (1, 10**9)),
    (
        pd.HyperGeometric,
        lambda x, whole, k, n: log_ways(k, x) + log_ways(whole - k, n - x) - log_ways(whole, n),
        (4 * 10**9, 10**9, 2 * 10**9),
        (5 * 10**8, 5 * 10**8 + 20_000),
    ),
    (
        pd.ZeroInflatedPoisson,
        lambda x, psi, mu: mp.log((1 - psi) * (x == 0) + psi * mp.exp(x * log(mu) - mu - mp.loggamma(x + 1))),
        (0.3, 1e-300),
        (0, 1),
    ),
    (
        pd.HurdlePoisson,
        lambda x, psi, mu: log(psi) + x * log(mu) - mu - mp.loggamma(x + 1) - mp.log(-mp.expm1(-mu)),
        (0.3, 1e-300),
        (1, 2),
    ),
    (
        pd.HurdleNegativeBinomial,
        lambda x, psi, mu, a: log(psi) + negative_binomial(x, mu, a) - mp.log(-mp.expm1(-a * mp.log1p(mu / a))),
        (0.3, 1e-300, 1e300),
        (1, 2),
    ),
]


@pytest.mark.parametrize(("distribution", "formula", "parameters", "values"), HUGE)
def test_masses_keep_their_digits_at_huge_counts_and_parameters(distribution, formula, parameters, values) -> None:
    """On both backends; nothing large cancels."""
    with mp.workdps(400):
        numbers = [mp.mpf(p) for p in parameters]
        expected = [float(formula(mp.mpf(x), *numbers)) for x in values]
    x = tensor_input("int64", (len(values),), "x")
    density = pd.logp(distribution.dist(*parameters), x)
    for backend in ("reference", "llvm"):
        found = function([x], density, backend=backend)(np.array(values))
        assert_allclose(found, expected, rtol=2e-11, atol=2e-11)


def test_tails_of_huge_counts() -> None:
    """Sums of masses over many standard deviations, as far as a billion trials."""
    rv = pd.BetaBinomial.dist(1e3, 1e10, 10**9)
    near = scipy.stats.nbinom(1e3, 1e10 / (1e10 + 1e9))
    k = np.array([80, 95, 100, 120])
    assert_allclose(np.exp(value_of(pd.logcdf(rv, k))), near.cdf(k), atol=1e-6)
    lower, upper = (np.exp(value_of(f(rv, k))) for f in (pd.logcdf, pd.logccdf))
    assert_allclose(lower + upper, 1.0, rtol=1e-12)
    rv = pd.HyperGeometric.dist(2_000_000, 1_000_000, 1000)
    assert_allclose(
        value_of(pd.logcdf(rv, [450, 550])),
        scipy.stats.hypergeom(2_000_000, 1_000_000, 1000).logcdf([450, 550]),
        rtol=1e-8,
    )


@pytest.mark.parametrize("alpha", [1e10, 1e15, 1e300])
def test_negative_binomial_tails_become_those_of_poisson_counts(alpha: float) -> None:
    """On both backends, for shapes that are given when the function is called."""
    shape = tensor_input("float64", (), "alpha")
    rv, k, q = pd.NegativeBinomial.dist(30.0, shape), np.array([0, 5, 30, 90]), np.array([1e-9, 0.1, 0.5, 0.999])
    terms = [pd.logcdf(rv, k), pd.logccdf(rv, k), pd.icdf(rv, q)]
    near = scipy.stats.poisson(30.0)
    lower = np.where(k < 40, np.log(near.cdf(k)), np.log1p(-near.sf(k)))
    upper = np.where(k < 30, np.log1p(-near.cdf(np.minimum(k, 30))), np.log(near.sf(k)))
    for backend in ("reference", "llvm"):
        below, beyond, quantile = function([shape], terms, backend=backend)(alpha)
        assert_allclose(below, lower, rtol=1e4 / alpha + 1e-11)
        assert_allclose(beyond, upper, rtol=1e4 / alpha + 1e-11)
        assert_array_equal(quantile, near.ppf(q))


HURDLES = [
    (pd.HurdleGamma, {"psi": 0.7, "alpha": 2.0, "beta": 3.0}, scipy.stats.gamma(2.0, 0, 1 / 3.0)),
    (pd.HurdleGamma, {"psi": 0.7, "mu": 2.0, "sigma": 1.0}, scipy.stats.gamma(4.0, 0, 0.5)),
    (pd.HurdleGamma, {"psi": 0.4, "alpha": 0.5, "beta": 1.0}, scipy.stats.gamma(0.5)),
    (pd.HurdleLogNormal, {"psi": 0.7, "mu": 0.3, "sigma": 0.5}, scipy.stats.lognorm(0.5, 0, np.exp(0.3))),
    (pd.HurdleLogNormal, {"psi": 0.2, "mu": 0.3, "tau": 4.0}, scipy.stats.lognorm(0.5, 0, np.exp(0.3))),
]


@pytest.mark.parametrize(("distribution", "parameters", "positive"), HURDLES)
def test_a_continuous_hurdle_is_a_mass_at_zero_and_a_density_beyond(distribution, parameters, positive) -> None:
    """Density, both tails, quantiles, moments, draws."""
    rv, psi = distribution.dist(**parameters), parameters["psi"]
    x = np.array([1e-3, 0.3, 1.0, 5.0])
    assert_allclose(value_of(pd.logp(rv, x)), np.log(psi) + positive.logpdf(x), rtol=1e-12)
    assert_allclose(value_of(pd.logp(rv, [-1.0, 0.0])), [-np.inf, np.log(1 - psi)])
    assert_allclose(np.exp(value_of(pd.logcdf(rv, x))), 1 - psi + psi * positive.cdf(x), rtol=1e-12)
    assert_allclose(value_of(pd.logccdf(rv, x)), np.log(psi) + positive.logsf(x), rtol=1e-9)
    assert_allclose(value_of(pd.logcdf(rv, [-1.0, 0.0])), [-np.inf, np.log(1 - psi)])
    q = np.array([0.0, 0.5 * (1 - psi), 1 - psi, 1 - psi / 2, 1 - psi / 1000])
    expected = np.where(q <= 1 - psi, 0.0, positive.ppf(1 - (1 - q) / psi))
    assert_allclose(value_of(pd.icdf(rv, q)), expected, rtol=1e-9)
    mean = psi * positive.mean()
    second = psi * (positive.var() + positive.mean() ** 2)
    assert_allclose(value_of(pd.mean(rv)), mean)
    assert_allclose(value_of(pd.variance(rv)), second - mean**2)
    draws = pd.draw(rv, 20_000, random_seed=1)
    assert abs((draws == 0).mean() - (1 - psi)) < 5 * np.sqrt(psi * (1 - psi) / 20_000)
    assert scipy.stats.kstest(draws[draws > 0], positive.cdf).pvalue > 1e-4
    assert np.isfinite(value_of(pd.logp(rv, pd.support_point(rv))))


CUTS = np.array([-1.0, 0.5, 2.0])
ORDERED = [
    (pd.OrderedLogistic.dist(0.3, CUTS), scipy.stats.logistic(0.3)),
    (pd.OrderedProbit.dist(0.3, CUTS), scipy.stats.norm(0.3)),
    (pd.OrderedProbit.dist(0.3, CUTS, 2.0), scipy.stats.norm(0.3, 2.0)),
    (pd.OrderedLogistic.dist(0.3, CUTS[:1]), scipy.stats.logistic(0.3)),
]


@pytest.mark.parametrize(("rv", "hidden"), ORDERED)
def test_ordered_categories_are_intervals_of_a_hidden_variable(rv, hidden) -> None:
    """Masses, tails, quantiles, moments, draws; nothing outside the categories."""
    cuts = CUTS if len(value_of(rv.inputs[2])) == 3 else CUTS[:1]
    cdf = np.append(hidden.cdf(cuts), 1.0)
    p = np.diff(cdf, prepend=0.0)
    k = np.arange(len(p))
    assert_allclose(np.exp(value_of(pd.logp(rv, k))), p, rtol=1e-12)
    assert_array_equal(value_of(pd.logp(rv, [-1, len(p)])), -np.inf)
    assert_allclose(np.exp(value_of(pd.logcdf(rv, k))), cdf, rtol=1e-12)
    assert_allclose(np.exp(value_of(pd.logccdf(rv, k))), 1.0 - cdf, rtol=1e-12, atol=1e-15)
    assert_array_equal(value_of(pd.icdf(rv, cdf)), k)
    assert_array_equal(value_of(pd.icdf(rv, cdf - p / 2)), k)
    mean = (k * p).sum()
    assert_allclose(value_of(pd.mean(rv)), mean, rtol=1e-12)
    assert_allclose(value_of(pd.variance(rv)), ((k - mean) ** 2 * p).sum(), rtol=1e-12)
    assert value_of(pd.support_point(rv)) == p.argmax()
    draws = pd.draw(rv, 100_000, random_seed=4)
    assert scipy.stats.chisquare(np.bincount(draws, minlength=len(p)), 100_000 * p).pvalue > 1e-4


@pytest.mark.parametrize("distribution", [pd.OrderedLogistic, pd.OrderedProbit])
def test_ordered_categories_have_digits_far_out_and_a_gradient(distribution) -> None:
    """Where all of the mass is in another category; in batches of locations and of cutpoints."""
    eta, cuts = tensor_input("float64", (3, 1), "eta"), tensor_input("float64", (2, 3), "cuts")
    point = {eta: np.array([[-30.0], [0.1], [30.0]]), cuts: np.stack([CUTS, CUTS + 0.3])}
    k = np.array([[[0]], [[1]], [[2]], [[3]]])
    density = pd.logp(distribution.dist(eta, cuts), k)
    slopes = gradient(reduce("sum", density), [eta, cuts])
    wide = scipy.stats.logistic if distribution is pd.OrderedLogistic else scipy.stats.norm
    with mp.workdps(500):
        exact = mp.ncdf if wide is scipy.stats.norm else lambda z: 1 / (1 + mp.exp(-z))
        ends = np.concatenate([np.full((2, 1), -1e9), point[cuts], np.full((2, 1), 1e9)], 1)
        places = [mp.mpf(e) for (e,) in point[eta]]
        expected = [
            [[float(mp.log(exact(c[i + 1] - e) - exact(c[i] - e))) for c in ends] for e in places] for i in range(4)
        ]
    compiled = function([eta, cuts], [density, *slopes])(*point.values())
    for found in (value_of(density, point), compiled[0]):
        assert found.shape == (4, 3, 2)
        assert_allclose(found, expected, rtol=1e-11)
    for leaf, slope, fast in zip((eta, cuts), slopes, compiled[1:], strict=True):
        own = value_of(slope, point)
        assert_allclose(own, fast, rtol=1e-9)
        for place in np.ndindex(own.shape):
            step = np.zeros(own.shape)
            step[place] = 1e-5
            above, below = (value_of(density, point | {leaf: point[leaf] + s}).sum() for s in (step, -step))
            assert_allclose(own[place], (above - below) / 2e-5, rtol=1e-5, atol=1e-6)


def outcomes(n: int, categories: int) -> np.ndarray:
    """All vectors of counts with the sum n."""
    return np.array([x for x in itertools.product(range(n + 1), repeat=categories) if sum(x) == n])


P = np.array([0.1, 0.2, 0.3, 0.4])
VECTORS = [
    (pd.Multinomial.dist(5, P), scipy.stats.multinomial(5, P)),
    (pd.DirichletMultinomial.dist(5, 3 * P), scipy.stats.dirichlet_multinomial(3 * P, 5)),
    (
        pd.OrderedMultinomial.dist(0.3, CUTS, 5),
        scipy.stats.multinomial(5, np.diff(scipy.stats.logistic(0.3).cdf(CUTS), prepend=0.0, append=1.0)),
    ),
]


@pytest.mark.parametrize(("rv", "known"), VECTORS)
def test_vectors_of_counts_over_all_outcomes(rv, known) -> None:
    """Masses are SciPy's and sum to 1; moments are theirs; draws occur as often; other sums have no mass."""
    x = outcomes(5, 4)
    masses = np.exp(value_of(pd.logp(rv, x)))
    assert_allclose(masses, known.pmf(x), rtol=1e-12)
    assert_allclose(masses.sum(), 1.0, rtol=1e-13)
    mean = masses @ x
    assert_allclose(value_of(pd.mean(rv)), mean, rtol=1e-12)
    assert_allclose(value_of(pd.variance(rv)), masses @ (x - mean) ** 2, rtol=1e-12)
    draws = pd.draw(rv, 100_000, random_seed=5)
    assert_array_equal(draws.sum(-1), 5)
    place = {tuple(row): i for i, row in enumerate(x)}
    counts = np.bincount([place[tuple(row)] for row in draws], minlength=len(x))
    assert scipy.stats.chisquare(counts, 100_000 * masses).pvalue > 1e-4
    assert_array_equal(value_of(pd.logp(rv, [[5, 0, 0, 1], [6, -1, 0, 0], [0, 0, 0, 0]])), -np.inf)
    point = value_of(pd.support_point(rv))
    assert point.sum() == 5
    assert np.isfinite(value_of(pd.logp(rv, point)))


def test_vectors_of_counts_in_batches() -> None:
    """Numbers of draws and tables of probabilities broadcast; also no draw, one category and impossible ones."""
    n, p = np.array([[3], [0]]), np.stack([P, [0.0, 0.5, 0.5, 0.0]])
    rv = pd.Multinomial.dist(n, p)
    assert rv.static_shape == (2, 2, 4)
    draws = pd.draw(rv, 50, random_seed=6)
    assert_array_equal(draws.sum(-1), np.broadcast_to(n, (50, 2, 2)))
    assert (draws[:, :, 1, [0, 3]] == 0).all()
    expected = [[scipy.stats.multinomial(m, row).logpmf(d) for row, d in zip(p, ds, strict=True)]
                for (m,), ds in zip(n, draws[0], strict=True)]  # fmt: skip
    assert_allclose(value_of(pd.logp(rv, draws[0])), expected, rtol=1e-12, atol=1e-15)
    assert_array_equal(pd.draw(pd.Multinomial.dist(7, [1.0]), random_seed=1), [7])
    many = pd.draw(pd.Multinomial.dist(10**9, P), random_seed=1)
    assert many.sum() == 10**9
    with mp.workdps(60):
        exact = mp.loggamma(10**9 + 1) - sum(
            mp.loggamma(int(k) + 1) - int(k) * mp.log(mp.mpf(p)) for k, p in zip(many, P, strict=True)
        )
    assert_allclose(value_of(pd.logp(pd.Multinomial.dist(10**9, P), many)), float(exact), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "shape"), [(pd.Multinomial.dist, None), (pd.DirichletMultinomial.dist, 1.0)], ids=["p", "a"]
)
def test_gradients_of_vectors_of_counts(make, shape) -> None:
    """By finite differences along directions that keep the sum, and compiled."""
    p = tensor_input("float64", (4,), "p")
    x = np.array([[1, 2, 0, 2], [0, 0, 5, 0]])
    total = reduce("sum", pd.logp(make(5, p), x))
    (slope,) = gradient(total, [p])
    at = value_of(slope, {p: P})
    assert_allclose(function([p], slope)(P), at, rtol=1e-10)
    for i in range(3):
        step = np.zeros(4)
        step[i], step[i + 1] = 1e-6, -1e-6
        above, below = (value_of(total, {p: P + s}) for s in (step, -step))
        assert_allclose(at @ step, (above - below) / 2, rtol=1e-5, atol=1e-15)


def test_a_single_number() -> None:
    """Whole or not: the variable has its dtype, all its mass, no variance."""
    whole, half = pd.DiracDelta.dist(3), pd.DiracDelta.dist(np.array([0.5, 1.0]))
    assert (whole.dtype, half.dtype) == ("int64", "float64")
    assert_array_equal(value_of(pd.logp(whole, [2, 3, 4])), [-np.inf, 0.0, -np.inf])
    assert_array_equal(value_of(pd.logp(half, 0.5)), [0.0, -np.inf])
    assert_array_equal(value_of(pd.logcdf(half, 0.7)), [0.0, -np.inf])
    assert_array_equal(value_of(pd.logccdf(whole, [2, 3])), [0.0, -np.inf])
    assert_array_equal(value_of(pd.icdf(whole, [0.1, 1.0])), 3.0)
    assert_array_equal(pd.draw(half, 2, random_seed=1), [[0.5, 1.0]] * 2)
    assert value_of(pd.mean(whole)) == 3
    assert value_of(pd.variance(whole)) == 0.0


def test_skellam_counts() -> None:
    """Masses and moments are SciPy's, draws follow them, and the slope is that of differences."""
    parameters = [np.array([0.3, 4.0, 80.0]), np.array([2.0, 4.0, 30.0])]
    rv, known = pd.Skellam.dist(*parameters), scipy.stats.skellam(*parameters)
    x = np.array([-12, -1, 0, 2, 50])[:, None]
    assert_allclose(value_of(pd.logp(rv, x)), known.logpmf(x), rtol=1e-9)
    assert_allclose(value_of(pd.mean(rv)), known.mean())
    assert_allclose(value_of(pd.variance(rv)), known.var())
    cells = np.arange(-200, 200)[:, None]
    masses = np.exp(value_of(pd.logp(rv, cells)))
    assert_allclose(masses.sum(0), 1.0, rtol=1e-12)
    below, beyond = masses.cumsum(0), masses[::-1].cumsum(0)[::-1] - masses
    for tail, formula in ((below, pd.logcdf), (beyond, pd.logccdf)):
        known_tail = tail > 1e-290
        assert_allclose(np.exp(value_of(formula(rv, cells)))[known_tail], tail[known_tail], rtol=1e-9, atol=1e-14)
    one = pd.Skellam.dist([3.0, 0.0, 0.0], [0.0, 3.0, 0.0])
    k = np.array([-4, -1, 0, 4])[:, None]
    poisson = scipy.stats.poisson(3.0)
    sides = [poisson.cdf(k[:, 0]), poisson.sf(-k[:, 0] - 1), (k[:, 0] >= 0) * 1.0]
    assert_allclose(np.exp(value_of(pd.logcdf(one, k))), np.stack(sides, 1), rtol=1e-12)
    assert_allclose(np.exp(value_of(pd.logccdf(one, k))), 1.0 - np.stack(sides, 1), rtol=1e-11, atol=1e-15)
    draws = pd.draw(rv, 100_000, random_seed=3)
    for i in range(3):
        often = masses[:, i] * 100_000 > 5
        counts = np.array([(draws[:, i] == c).sum() for c in cells[often, 0]])
        wanted = masses[often, i]
        assert scipy.stats.chisquare(counts, counts.sum() * wanted / wanted.sum()).pvalue > 1e-4
    leaves = [tensor_input("float64", (3,), name) for name in ("mu1", "mu2")]
    density = pd.logp(pd.Skellam.dist(*leaves), x)
    point = dict(zip(leaves, parameters, strict=True))
    slopes = gradient(reduce("sum", density), leaves)
    for leaf, slope, fast in zip(leaves, slopes, function(leaves, slopes)(*parameters), strict=True):
        above, below = (value_of(density, point | {leaf: point[leaf] + s}).sum(0) for s in (1e-5, -1e-5))
        assert_allclose(value_of(slope, point), (above - below) / 2e-5, rtol=1e-6, atol=1e-6)
        assert_allclose(fast, value_of(slope, point), rtol=1e-9)


def test_probabilities_of_ordered_categories_are_kept_in_the_model() -> None:
    """Under PyMC's name, unless `compute_p=False`; the model has its density."""
    with pm.Model() as model:
        eta = pm.Normal("eta", shape=5)
        pd.OrderedLogistic("y", eta, CUTS, observed=[0, 1, 2, 3, 1])
        pd.OrderedMultinomial("z", 0.2, CUTS, 10, observed=[2, 3, 4, 1])
        pd.OrderedProbit("w", eta, CUTS, observed=[0, 1, 2, 3, 1], compute_p=False)
        pd.OrderedProbit("v", eta[0], CUTS)
    assert {d.name: d.static_shape for d in model.deterministics} == {
        "y_probs": (5, 4),
        "z_probs": (4,),
        "v_probs": (4,),
    }
    with pm.Model() as only:
        pd.OrderedLogistic("y", 0.0, CUTS, observed=[0, 1])
    cdf = scipy.stats.logistic.cdf(CUTS)
    assert_allclose(float(only.compile_logp()({})), np.log(cdf[0] * (cdf[1] - cdf[0])), rtol=1e-12)


REFUSED = [
    (lambda: pd.OrderedLogistic.dist(0.0, [1.0, 1.0]), ParameterError, r"cutpoints must be increasing, got \[1. 1.\]"),
    (lambda: pd.OrderedLogistic.dist(0.0, 1.0), ParameterError, "cutpoints must be a vector or a batch of them"),
    (lambda: pd.OrderedProbit.dist(0.0, CUTS, -1.0), ParameterError, "OrderedProbit: sigma must be > 0, got -1"),
    (lambda: pd.Multinomial.dist(-1, P), ParameterError, "Multinomial: n must be a whole number >= 0, got -1"),
    (lambda: pd.Multinomial.dist(3, [0.5, 0.6]), ParameterError, r"p must be numbers .* sum to 1, got \[0.5 0.6\]"),
    (lambda: pd.DirichletMultinomial.dist(3, [1.0, 0.0]), ParameterError, r"a must be > 0, got \[1. 0.\]"),
    (lambda: pd.Multinomial.dist(3, P, shape=3), ShapeError, r"must end with the shape of one event, \(4,\)"),
    (lambda: pd.DiscreteUniform.dist(3, 2), ParameterError, "upper must be a whole number >= lower, got 2"),
    (lambda: pd.DiscreteUniform.dist(0.5, 2), ParameterError, "lower must be a whole number, got 0.5"),
    (lambda: pd.HyperGeometric.dist(10, 11, 3), ParameterError, "k must be a whole number >= 0 and <= N, got 11"),
    (lambda: pd.HyperGeometric.dist(10, 3, 11), ParameterError, "n must be a whole number >= 0 and <= N, got 11"),
    (lambda: pd.Geometric.dist(0.0), ParameterError, "p must be > 0 and <= 1, got 0"),
    (lambda: pd.DiscreteWeibull.dist(1.0, 1.0), ParameterError, "q must be > 0 and < 1, got 1"),
    (lambda: pd.BetaBinomial.dist(1.0, 1.0, 2.5), ParameterError, "n must be a whole number >= 0, got 2.5"),
    (lambda: pd.ZeroInflatedPoisson.dist(1.5, 1.0), ParameterError, "psi must be >= 0 and <= 1, got 1.5"),
    (lambda: pd.HurdlePoisson.dist(0.5, 0.0), ParameterError, "HurdlePoisson: mu must be > 0, got 0"),
    (lambda: pd.Skellam.dist(-1.0, 1.0), ParameterError, "mu1 must be >= 0, got -1"),
    (lambda: pd.DiracDelta.dist(np.nan), ParameterError, "DiracDelta: c must be a finite number, got nan"),
    (lambda: pd.ZeroInflatedNegativeBinomial.dist(0.5, mu=1.0), TypeError, r"\(psi, mu, alpha\) or \(psi, p, n\)"),
    (lambda: pd.HurdleGamma.dist(0.5, alpha=1.0, mu=1.0), TypeError, r"\(psi, alpha, beta\) or \(psi, mu, sigma\)"),
    (lambda: pd.OrderedLogistic("y", 0.0, CUTS), ModelError, "No model on context stack"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_wrong_parameters_are_named(make, error, message) -> None:
    """As constants, with the rule and what came."""
    with pytest.raises(error, match=message):
        make()


OUTSIDE = [
    (lambda y: pd.Geometric("y", 0.5, observed=y), [1, 2, 0], r"whole number >= 1, got 0 \(element 2\)"),
    (lambda y: pd.DiscreteUniform("y", 0, 3, observed=y), [1, 4], r"got 4 \(element 1\)"),
    (lambda y: pd.BetaBinomial("y", 1.0, 1.0, 5, observed=y), [1, 6], r">= 0 and <= 5, got 6 \(element 1\)"),
    (lambda y: pd.HyperGeometric("y", 10, 8, 5, observed=y), [3, 5, 2], r">= 3 and <= 5, got 2 \(element 2\)"),
    (lambda y: pd.HurdleGamma("y", 0.5, 1.0, 1.0, observed=y), [0.0, -0.5], r">= 0, got -0.5 \(element 1\)"),
    (lambda y: pd.OrderedLogistic("y", 0.0, CUTS, observed=y), [3, 4], r">= 0 and <= 3, got 4 \(element 1\)"),
    (
        lambda y: pd.Multinomial("y", 3, P, observed=y),
        [[1, 1, 1, 0], [1, 1, 1, 1]],
        r"whole numbers >= 0 that sum to 3, got \[1 1 1 1\] \(element 1\)",
    ),
    (lambda y: pd.DiracDelta("y", 2, observed=y), [2, 3], r"equal to 2, got 3 \(element 1\)"),
]


@pytest.mark.parametrize(("make", "data", "message"), OUTSIDE)
def test_data_outside_the_support_are_named_with_their_place(make, data, message) -> None:
    """When the model is made."""
    with pm.Model(), pytest.raises(SupportError, match=message):
        make(np.array(data))


def test_wrong_vectors_of_parameters_at_run_time_give_no_finite_mass() -> None:
    """An error by itself; in models NaN or -inf."""
    p = tensor_input("float64", (2,), "p")
    for make, wrongs in (
        (lambda: pd.Multinomial.dist(2, p), ([0.5, 0.6], [np.nan, 1.0])),
        (lambda: pd.DirichletMultinomial.dist(2, p), ([1.0, -1.5], [0.0, 1.0])),
    ):
        density = pd.logp(make(), [1, 1])
        for wrong in wrongs:
            with pytest.raises(ParameterError, match="must be"):
                value_of(density, {p: np.array(wrong)})
            assert not np.isfinite(value_of(released([density])[0], {p: np.array(wrong)}))
    cuts = tensor_input("float64", (2,), "cuts")
    density = pd.logp(pd.OrderedLogistic.dist(0.0, cuts), [0, 1, 2])
    assert np.isnan(value_of(released([density])[0], {cuts: np.array([1.0, 0.0])})).all()


@pytest.mark.parametrize("beta", [0.2, 0.5, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("q", [1e-5, 0.5, 0.99, 1 - 1e-8])
def test_moments_of_discrete_weibull_variables_are_sums_of_their_tails(q: float, beta: float) -> None:
    """A long sum, and beyond it Euler and Maclaurin's formula."""
    rate = -mp.log(mp.mpf(q))
    terms = 2000
    with mp.workdps(30):
        tails = [mp.exp(-rate * mp.mpf(x) ** beta) for x in range(1, terms)]
        moments = [mp.fsum(tails), mp.fsum((2 * x - 1) * t for x, t in enumerate(tails, 1))]
        end = mp.mpf(terms) - 0.5
        beyond = [mp.gammainc(p / mp.mpf(beta), rate * end**beta) / beta / rate ** (p / mp.mpf(beta)) for p in (1, 2)]
        tail = lambda x: mp.exp(-rate * x**beta)  # noqa: E731
        moments[0] += beyond[0] + mp.diff(tail, end) / 24
        moments[1] += 2 * beyond[1] - beyond[0] + mp.diff(lambda x: (2 * x - 1) * tail(x), end) / 24
        expected = float(moments[0]), float(moments[1] - moments[0] ** 2)
    rv = pd.DiscreteWeibull.dist(q, beta)
    found = function([], [pd.mean(rv), pd.variance(rv)])()
    assert_allclose(found, expected, rtol=1e-10)
