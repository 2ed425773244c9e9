"""Truncated and censored distributions against SciPy, sums and quadrature."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

import consilience as pm
import consilience.distributions as pd
import consilience.tensor as pt
from consilience.backends.function import function
from consilience.distributions.constraints import IntervalConstraint, Whole
from consilience.distributions.densities import quantile
from consilience.distributions.transforms import Interval
from consilience.errors import MissingRuleError, ParameterError
from consilience.ir import Node, tensor_input
from consilience.ops.elementwise import as_tensor
from consilience.ops.parameter_check import released
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

INF = np.inf
CONTINUOUS = {
    "both sides": (lambda: pd.Normal.dist(1, 2), stats.norm(1, 2), -1.0, 2.5),
    "right tail": (lambda: pd.Normal.dist(0, 1), stats.norm(0, 1), 3.0, INF),
    "left tail": (lambda: pd.Normal.dist(0, 1), stats.norm(0, 1), -INF, -3.0),
    "half line": (lambda: pd.Gamma.dist(2, 1), stats.gamma(2), 0.5, 4.0),
    "heavy": (lambda: pd.StudentT.dist(3, 0, 1), stats.t(3), 1.0, 30.0),
    "no bound": (lambda: pd.Exponential.dist(2), stats.expon(0, 0.5), -INF, INF),
    "bounds beyond the support": (lambda: pd.Beta.dist(2, 3), stats.beta(2, 3), -1.0, 0.4),
}
over_continuous = pytest.mark.parametrize(("make", "frozen", "lower", "upper"), CONTINUOUS.values(), ids=CONTINUOUS)
BACKENDS = ("reference", "llvm")


@over_continuous
@pytest.mark.parametrize("backend", BACKENDS)
def test_truncated_densities_are_scaled_by_the_mass_between_the_bounds(make, frozen, lower, upper, backend) -> None:
    """Density, distribution functions and quantiles, inside and outside the bounds."""
    rv = pd.Truncated.dist(make(), lower, upper)
    below, mass = frozen.cdf(lower), frozen.cdf(upper) - frozen.cdf(lower)
    q = np.linspace(0.0, 1.0, 9)
    x = np.concatenate([frozen.ppf(below + mass * q[1:-1]), [-5.0, 0.45, 3.2, 50.0]])
    inside = (x >= lower) & (x <= upper)
    value = tensor_input("float64", (None,), "value")
    formulas = [f(rv, value) for f in (pd.logp, pd.logcdf, pd.logccdf)]
    density, before, beyond = function([value], formulas, backend=backend)(x)
    with np.errstate(divide="ignore"):
        assert_allclose(density, np.where(inside, frozen.logpdf(x) - np.log(mass), -INF), rtol=1e-10, atol=1e-12)
        expected = np.clip((frozen.cdf(x) - below) / mass, 0.0, 1.0)
        assert_allclose(np.exp(before), expected, rtol=1e-9, atol=1e-14)
        assert_allclose(np.exp(beyond), 1.0 - expected, rtol=1e-9, atol=1e-14)
    quantile = function([value], pd.icdf(rv, value), backend=backend)(q)
    assert_allclose(quantile, frozen.ppf(below + mass * q).clip(lower, upper), rtol=1e-9, atol=1e-12)


@over_continuous
def test_truncated_draws_follow_the_distribution(make, frozen, lower, upper) -> None:
    """Kolmogorov-Smirnov, and nothing outside."""
    draws = pd.draw(pd.Truncated.dist(make(), lower, upper), 10_000, random_seed=1)
    assert draws.min() >= lower
    assert draws.max() <= upper
    below, mass = frozen.cdf(lower), frozen.cdf(upper) - frozen.cdf(lower)
    assert stats.kstest(draws, lambda x: (frozen.cdf(x) - below) / mass).pvalue > 1e-3


@pytest.mark.parametrize(("lower", "upper"), [(30.0, 31.0), (12.0, INF), (-31.0, -30.0), (8.0, 8.001), (-1e-3, 1e-3)])
def test_mass_in_a_tail_keeps_its_digits(lower, upper) -> None:
    """Against many digits; draws stay between the bounds and spread over them."""
    rv = pd.Truncated.dist(pd.Normal.dist(0, 1), lower, upper)
    with mpmath.workdps(300):
        mass = mpmath.ncdf(-lower) if upper == INF else mpmath.ncdf(upper) - mpmath.ncdf(lower)
        at = lower if lower > 0 else upper
        expected = float(mpmath.log(mpmath.npdf(at)) - mpmath.log(mass))
    assert_allclose(value_of(pd.logp(rv, at)), expected, rtol=1e-10)
    draws = pd.draw(rv, 2000, random_seed=1)
    assert ((draws >= lower) & (draws <= upper)).all()
    assert stats.kstest(np.exp(value_of(pd.logcdf(rv, draws))), "uniform").pvalue > 1e-3


FAR_RIGHT = {
    "Normal": lambda: pd.Normal.dist(1, 2),
    "StudentT": lambda: pd.StudentT.dist(3, 1, 2),
    "Cauchy": lambda: pd.Cauchy.dist(1, 2),
    "Laplace": lambda: pd.Laplace.dist(1, 2),
    "Logistic": lambda: pd.Logistic.dist(1, 2),
    "HalfNormal": lambda: pd.HalfNormal.dist(2),
    "HalfCauchy": lambda: pd.HalfCauchy.dist(2),
    "HalfStudentT": lambda: pd.HalfStudentT.dist(3, 2),
    "LogNormal": lambda: pd.LogNormal.dist(1, 2),
    "Exponential": lambda: pd.Exponential.dist(2),
    "Gamma": lambda: pd.Gamma.dist(3, 2),
    "InverseGamma": lambda: pd.InverseGamma.dist(3, 2),
}


@pytest.mark.parametrize("make", FAR_RIGHT.values(), ids=FAR_RIGHT)
def test_draws_reach_into_the_right_tail(make) -> None:
    """Beyond a bound that is exceeded with a probability of 1e-25; the quantile of a tail has its probability."""
    inner = make()
    q = np.array([1e-25, 1e-10, 0.3, 0.5, 0.9])
    assert_allclose(np.exp(value_of(pd.logccdf(inner, value_of(quantile(inner, q, "iccdf"))))), q, rtol=1e-9)
    (bound,) = value_of(quantile(inner, np.array([1e-25]), "iccdf"))
    rv = pd.Truncated.dist(inner, bound)
    draws = pd.draw(rv, 2000, random_seed=1)
    assert (draws >= bound).all()
    assert stats.kstest(np.exp(value_of(pd.logccdf(rv, draws))), "uniform").pvalue > 1e-3


COUNTS = {
    "both sides": (lambda: pd.Poisson.dist(3.0), stats.poisson(3), 1, 5),
    "between whole numbers": (lambda: pd.Poisson.dist(3.0), stats.poisson(3), 0.5, 5.5),
    "from below": (lambda: pd.NegativeBinomial.dist(4.0, 2.0), stats.nbinom(2, 1 / 3), 1, INF),
    "from above": (lambda: pd.Binomial.dist(9, 0.4), stats.binom(9, 0.4), -INF, 3),
}


@pytest.mark.parametrize(("make", "frozen", "lower", "upper"), COUNTS.values(), ids=COUNTS)
def test_bounds_of_counts_belong_to_the_interval(make, frozen, lower, upper) -> None:
    """Masses, distribution function, quantiles, chi square of draws."""
    rv = pd.Truncated.dist(make(), lower, upper)
    k = np.arange(-1, 200)
    masses = np.where((k >= lower) & (k <= upper), frozen.pmf(k), 0.0)
    masses /= masses.sum()
    assert_allclose(np.exp(value_of(pd.logp(rv, k))), masses, rtol=1e-10)
    assert_allclose(np.exp(value_of(pd.logcdf(rv, k))), masses.cumsum(), rtol=1e-10)
    assert_allclose(np.exp(value_of(pd.logccdf(rv, k))), 1.0 - masses.cumsum(), rtol=1e-8, atol=1e-12)
    assert isinstance(pd.support_of(rv), Whole)
    draws = pd.draw(rv, 10_000, random_seed=1)
    assert draws.dtype == "int64"
    seen = np.bincount(draws, minlength=200)[:200]
    common = masses[1:] * 10_000 > 5
    rest = [seen[~common].sum()], [masses[1:][~common].sum() * 10_000]
    seen, expected = np.append(seen[common], rest[0]), np.append(masses[1:][common] * 10_000, rest[1])
    kept = expected > 1e-6
    assert not seen[~kept].any()
    assert stats.chisquare(seen[kept], expected[kept], sum_check=False).pvalue > 1e-3


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_truncated_and_censored_densities(backend) -> None:
    """With respect to parameters, bounds and value, some bounds infinite; against differences."""
    mu, sigma = (tensor_input("float64", (), name) for name in ("mu", "sigma"))
    lower, upper, value = (tensor_input("float64", (4,), name) for name in ("lower", "upper", "value"))
    for family in (pd.Truncated, pd.Censored):
        total = reduce("sum", pd.density(family.dist(pd.Normal.dist(mu, sigma), lower, upper), value))
        leaves = [mu, sigma, lower, upper, value]
        compiled = function(leaves, [total, *gradient(total, leaves)], backend=backend)
        point = [
            np.array(0.3),
            np.array(1.2),
            np.array([-INF, -1.0, -INF, 9.0]),
            np.array([INF, 2.0, -8.0, INF]),
            np.array([0.1, 1.0, -8.5, 9.5]),
        ]
        for position, slope in enumerate(compiled(*point)[1:]):
            assert np.isfinite(slope).all()
            for i in np.ndindex(slope.shape):
                moved = [[p.copy() for p in point] for _ in range(2)]
                moved[0][position][i] += 1e-5
                moved[1][position][i] -= 1e-5
                above, below = (compiled(*arguments)[0] for arguments in moved)
                assert_allclose(slope[i], (above - below) / 2e-5, rtol=1e-6, atol=1e-7)


def test_distributions_without_quantiles_are_truncated_by_trials() -> None:
    """All draws lie inside and follow the density; too few trials are an error."""

    def of_functions(base: Node, random: str, dtype: str) -> Node:
        return pd.CustomDist.dist(
            logp=lambda x: pd.logp(base, x),
            logcdf=lambda x: pd.logcdf(base, x),
            random=lambda rng, size: getattr(rng, random)(2.0, size=size),
            dtype=dtype,
        )

    waiting = of_functions(pd.Exponential.dist(scale=2.0), "exponential", "float64")
    rv = pd.Truncated.dist(waiting, 1.0, 2.5, max_n_steps=60)
    draws = pd.draw(rv, 3000, random_seed=1)
    assert stats.kstest(np.exp(value_of(pd.logcdf(rv, draws))), "uniform").pvalue > 1e-3
    counts = pd.Truncated.dist(of_functions(pd.Poisson.dist(2.0), "poisson", "int64"), 2, 4, max_n_steps=60)
    assert_array_equal(np.unique(pd.draw(counts, 500, random_seed=2)), [2, 3, 4])
    with pytest.raises(ParameterError, match="one of 5 draws lies between lower and upper"):
        pd.draw(pd.Truncated.dist(waiting, 40.0, 41.0, max_n_steps=5), random_seed=1)


def test_support_of_a_truncated_distribution_is_bounded() -> None:
    """The usual bijections are found, and the support point lies inside."""
    half = pd.Truncated.dist(pd.Normal.dist(-3, 1), lower=0.0)
    assert pd.support_of(half) == IntervalConstraint(0.0)
    assert pd.default_transform(half) == Interval(0.0)
    for rv, low, high in (
        (half, 0.0, INF),
        (pd.Truncated.dist(pd.Gamma.dist(2, 1), upper=0.5), 0.0, 0.5),
        (pd.Truncated.dist(pd.Normal.dist(9, 1), upper=0.5), -INF, 0.5),
        (pd.Truncated.dist(pd.Normal.dist(9, 1), 0.0, 100.0), 8.9, 9.1),
        (pd.Truncated.dist(pd.Poisson.dist(2), 4.5, INF), 4.9, 5.1),
    ):
        assert low < value_of(pd.support_point(rv)) < high
        assert np.isfinite(value_of(pd.logp(rv, pd.support_point(rv))))


CENSORED = {
    "normal": (lambda: pd.Normal.dist(1, 2), stats.norm(1, 2)),
    "log normal": (lambda: pd.LogNormal.dist(0, 1), stats.lognorm(1)),
}


@pytest.mark.parametrize(("make", "frozen"), CENSORED.values(), ids=CENSORED)
def test_censored_values_have_the_probability_beyond_their_bound(make, frozen) -> None:
    """With the density between the bounds they make 1; distribution functions and draws follow."""
    lower, upper = 0.4, 2.0
    rv = pd.Censored.dist(make(), lower, upper)
    x = np.array([lower, 1.0, upper, 0.3, 2.1])
    expected = [frozen.cdf(lower), frozen.pdf(1.0), frozen.sf(upper), 0.0, 0.0]
    assert_allclose(np.exp(value_of(pd.logp(rv, x))), expected, rtol=1e-12)
    middle = quad(lambda t: float(np.exp(value_of(pd.logp(rv, t)))), lower + 1e-12, upper - 1e-12)[0]
    assert_allclose(expected[0] + expected[2] + middle, 1.0, rtol=1e-9)
    before = [frozen.cdf(lower), frozen.cdf(1.0), 1.0, 0.0, 1.0]
    assert_allclose(np.exp(value_of(pd.logcdf(rv, x))), before, rtol=1e-12)
    assert_allclose(np.exp(value_of(pd.logccdf(rv, x))), 1.0 - np.array(before), rtol=1e-12)
    draws = pd.draw(rv, 10_000, random_seed=1)
    for bound, probability in ((lower, expected[0]), (upper, expected[2])):
        error = np.sqrt(probability * (1 - probability) / 10_000)
        assert abs((draws == bound).mean() - probability) < 5 * error
    assert_allclose(value_of(pd.icdf(rv, [0.001, 0.999])), [lower, upper])


def test_masses_of_censored_counts_sum_to_one() -> None:
    """P(X >= upper) at the upper bound."""
    k = np.arange(-1, 30)
    for lower, upper in ((1, 4), (-INF, 4), (2, INF)):
        rv = pd.Censored.dist(pd.Poisson.dist(3.0), lower, upper)
        clipped = stats.poisson(3).pmf(np.arange(200))
        places = np.clip(np.arange(200), lower, upper).astype(int)
        expected = np.array([clipped[places == i].sum() for i in k])
        assert_allclose(np.exp(value_of(pd.logp(rv, k))), expected, rtol=1e-10, atol=1e-300)
        assert pd.draw(rv, 100, random_seed=1).dtype == "int64"


def test_counts_are_recorded_at_bounds_between_whole_numbers() -> None:
    """Where bounds are not known until the program runs, their values are those that draws have."""
    low, high = pt.dscalar("low"), pt.dscalar("high")
    rv = pd.Censored.dist(pd.Poisson.dist(3.0), low, high)
    ends = {low: 0.5, high: 4.25}
    values = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 4.25])
    masses = np.exp(pd.logp(rv, values).eval(ends))
    expected = [stats.poisson(3).cdf(0), *stats.poisson(3).pmf([1, 2, 3, 4]), stats.poisson(3).sf(4)]
    assert_allclose(masses, expected, rtol=1e-12)
    assert_allclose(pd.logp(rv, [0.0, 0.75, 5.0]).eval(ends), -INF)


def test_bounds_per_element() -> None:
    """Some values have a bound and others none."""
    upper = np.array([1.0, INF, 1.0])
    rv = pd.Censored.dist(pd.Normal.dist(), upper=upper)
    assert rv.static_shape == (3,)
    expected = [stats.norm.logsf(1.0), stats.norm.logpdf(3.0), stats.norm.logpdf(0.5)]
    assert_allclose(value_of(pd.logp(rv, [1.0, 3.0, 0.5])), expected, rtol=1e-13)
    rv = pd.Truncated.dist(pd.Normal.dist(), upper=upper)
    value = np.array([0.5, 3.0, -2.0])
    line = value_of(pd.default_transform(rv).forward(as_tensor(value)))
    assert_allclose(line, [np.log(0.5), 3.0, np.log(3.0)])
    mass = stats.norm.logcdf(upper)
    assert_allclose(value_of(pd.logp(rv, [1.0, 3.0, 0.5])), stats.norm.logpdf([1.0, 3.0, 0.5]) - mass, rtol=1e-13)


def test_each_element_is_mapped_by_its_own_bounds() -> None:
    """Below, above, both, none: value, inverse and volume are those of variables with these bounds."""
    lower, upper, value = [-INF, 0.0, -2.0, -INF], [0.0, INF, 3.0, INF], np.array([-1.0, 1.0, 0.5, 1.5])
    with pm.Model() as together:
        pm.TruncatedNormal("x", 0.3, 2.0, lower=lower, upper=upper, initval=value)
    with pm.Model() as apart:
        for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
            pm.TruncatedNormal(f"x{i}", 0.3, 2.0, lower=low, upper=high, initval=value[i])
    point, points = together.initial_point(), list(apart.initial_point().values())
    assert_allclose(point["x_interval__"], points)
    moved = point["x_interval__"] + np.array([0.3, -0.8, 1.1, 800.0])
    names = list(apart.initial_point())
    for at in (point["x_interval__"], moved):
        given = dict(zip(names, at, strict=True))
        assert_allclose(together.compile_logp()({"x_interval__": at}), apart.compile_logp()(given))
        assert_allclose(together.compile_dlogp()({"x_interval__": at}), apart.compile_dlogp()(given))


def test_bounds_that_are_wrong() -> None:
    """Constants are refused; what is computed fails, or has no finite density where nothing checks."""
    cases = [
        (lambda: pd.Truncated.dist(pd.Normal.dist(), 3, 2), "Truncated: upper must be a number >= lower"),
        (lambda: pd.Censored.dist(pd.Normal.dist(), 3, 2), "Censored: upper must be a number >= lower"),
        (lambda: pd.Truncated.dist(pd.Normal.dist(), np.nan), "Truncated: lower must be a number or infinite"),
        (lambda: pd.Truncated.dist(pd.Uniform.dist(0, 1), 2), "Uniform has no probability between lower and upper"),
        (lambda: pd.Truncated.dist(pd.Normal.dist(), 1, 1), "Normal has no probability between lower and upper"),
        (lambda: pd.Truncated.dist(pd.Poisson.dist(3), 1.2, 1.8), "Poisson has no probability"),
        (lambda: pd.Truncated.dist(pd.MvNormal.dist([0, 0], np.eye(2))), "dist must be a distribution of numbers"),
    ]
    for make, message in cases:
        with pytest.raises(ParameterError, match=message):
            make()
    with pytest.raises(MissingRuleError, match="Flat has no `logcdf`"):
        pd.Truncated.dist(pd.Flat.dist(), 0)
    bound = tensor_input("float64", (), "bound")
    for family, start in ((pd.Truncated, 1.0), (pd.Censored, 1.0)):
        density = pd.logp(family.dist(pd.Normal.dist(), start, bound), 1.0)
        with pytest.raises(ParameterError, match=r"upper must be a number >=? lower, or infinite"):
            function([bound], density)(0.5)
        assert not np.isfinite(function([bound], released([density])[0])(0.5))
    empty = function([bound], pd.density(pd.Truncated.dist(pd.Uniform.dist(0, 1), bound), 3.0))
    assert not np.isfinite(empty(2.0))
    key = tensor_input("key", (), "key")
    for inner, missing in ((pd.Uniform.dist(0, 1), np.nan), (pd.Binomial.dist(1, 0.5), -1)):
        (graph,) = pd.realised_with([pd.Truncated.dist(inner, bound, shape=3)], key)
        compiled = function([key, bound], graph)
        assert_array_equal(compiled(np.int64(1), 2.0), missing)
        assert (compiled(np.int64(1), 0.5) >= 0.5).all()


def test_parameters_of_a_truncated_distribution_out_of_range() -> None:
    """The message names the component's parameter, a model gets NaN."""
    s = tensor_input("float64", (), "s")
    for family in (pd.Truncated, pd.Censored):
        density = pd.logp(family.dist(pd.Normal.dist(0, s), -1, 1), 0.5)
        with pytest.raises(ParameterError, match=r"(dist\.|Normal: )sigma must be > 0, got -1.0"):
            function([s], density)(-1.0)
        assert np.isnan(function([s], released([density])[0])(-1.0))


@pytest.mark.parametrize("lower", [0.0, -1.0, None])
def test_a_bound_at_the_end_of_the_support_has_a_gradient(lower: float | None) -> None:
    """It is no bound: the derivative of the probability below it is 0, and not that of its logarithm."""
    rate = tensor_input("float64", (), "rate")
    density = pd.logp(pd.Truncated.dist(pd.Exponential.dist(rate), lower=lower, upper=3.5), 1.0)
    slope = gradient(released([density])[0], [rate])[0]
    mass = 1.0 - np.exp(-3.5 * 1.3)
    assert_allclose(value_of(slope, {rate: 1.3}), 1.0 / 1.3 - 1.0 - 3.5 * np.exp(-3.5 * 1.3) / mass, rtol=1e-12)


@over_continuous
@pytest.mark.parametrize("backend", BACKENDS)
def test_moments_between_bounds_are_integrals_of_the_density(make, frozen, lower, upper, backend) -> None:
    """Truncated, and censored with the masses at the bounds."""
    low, high = max(lower, frozen.support()[0]), min(upper, frozen.support()[1])

    def integral(function):
        return quad(lambda x: function(x) * frozen.pdf(x), low, high, epsabs=1e-13, epsrel=1e-12, limit=500)[0]

    mass = frozen.cdf(high) - frozen.cdf(low)
    mean = integral(lambda x: x) / mass
    variance = integral(lambda x: (x - mean) ** 2) / mass
    ends = [(b, p) for b, p in ((lower, frozen.cdf(lower)), (upper, frozen.sf(upper))) if np.isfinite(b)]
    whole = mass * mean + sum(b * p for b, p in ends)
    spread = mass * (variance + (mean - whole) ** 2) + sum(p * (b - whole) ** 2 for b, p in ends)
    truncated, censored = pd.Truncated.dist(make(), lower, upper), pd.Censored.dist(make(), lower, upper)
    graphs = [f(rv) for rv in (truncated, censored) for f in (pd.mean, pd.variance)]
    assert_allclose(function([], graphs, backend=backend)(), [mean, variance, whole, spread], rtol=1e-9)


def test_moments_between_bounds_exist_where_those_of_the_distribution_do_or_both_ends_are_finite() -> None:
    """Infinite or NaN otherwise; none for counts, whose quantiles are steps."""
    assert value_of(pd.mean(pd.Truncated.dist(pd.Pareto.dist(0.9, 1.0), lower=2.0))) == INF
    assert np.isnan(value_of(pd.mean(pd.Truncated.dist(pd.Cauchy.dist(0, 1), lower=2.0))))
    assert_allclose(value_of(pd.mean(pd.Truncated.dist(pd.Cauchy.dist(0, 1), -3.0, 3.0))), 0.0, atol=1e-15)
    several = pd.Truncated.dist(pd.Normal.dist([0.0, 1.0], 1.0), lower=[0.5, 1.5], shape=(3, 2))
    assert value_of(pd.mean(several)).shape == (3, 2)
    assert_allclose(np.diff(value_of(pd.mean(several))), 1.0)
    for counts in (pd.Truncated.dist(pd.Poisson.dist(3), 1, 5), pd.Censored.dist(pd.Poisson.dist(3), 1, 5)):
        with pytest.raises(MissingRuleError, match="has no `mean`"):
            pd.mean(counts)
