"""Densities, distribution functions and quantiles against SciPy and against each other."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.errors import MissingRuleError, ParameterError, ShapeError
from consilience.ir import constant, tensor_input
from consilience.ops.parameter_check import released
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from consilience.transforms.vectorize import vectorize
from tests.distributions.cases import CASES, Case, name_of, value_of

CONTINUOUS = [case for case in CASES if not case.discrete]
DISCRETE = [case for case in CASES if case.discrete]
over_all = pytest.mark.parametrize("case", CASES, ids=name_of)
over_continuous = pytest.mark.parametrize("case", CONTINUOUS, ids=name_of)
over_invertible = pytest.mark.parametrize("case", [c for c in CASES if c.has("icdf")], ids=name_of)
over_continuous_invertible = pytest.mark.parametrize("case", [c for c in CONTINUOUS if c.has("icdf")], ids=name_of)
over_discrete = pytest.mark.parametrize("case", DISCRETE, ids=name_of)


def reference_logp(case: Case, frozen, values):
    with np.errstate(all="ignore"):
        result = frozen.logpmf(values) if case.discrete else frozen.logpdf(values)
    return np.where(np.isinf(values), -np.inf, result)


@over_all
def test_logp_is_that_of_scipy(case: Case) -> None:
    """Random parameters, values drawn from them, the ends of the support, far tails."""
    rng = np.random.default_rng(1)
    parameters, frozen = case.sample(rng, (7,))
    values = case.values(rng, frozen, 20)
    result = value_of(pd.logp(case.distribution.dist(**parameters), values))
    assert_allclose(result, reference_logp(case, frozen, values), rtol=1e-10, atol=1e-13)


@over_all
def test_logcdf_is_that_of_scipy(case: Case) -> None:
    """In the upper half the distribution function is 1 minus the survival function; as far as SciPy's has digits."""
    rng = np.random.default_rng(2)
    parameters, frozen = case.sample(rng, (7,))
    values = case.values(rng, frozen, 20)
    with np.errstate(all="ignore"):
        expected = np.where(frozen.cdf(values) < 0.5, frozen.logcdf(values), np.log1p(-frozen.sf(values)))
        known = (expected > -690.0) | (reference_logp(case, frozen, values) == -np.inf)
    result = value_of(pd.logcdf(case.distribution.dist(**parameters), values))
    assert (result[~known] < -690.0).all()
    assert_allclose(result[known], expected[known], rtol=1e-10, atol=1e-300)


@over_continuous
def test_logccdf_is_that_of_scipy(case: Case) -> None:
    """In the lower half the survival function is 1 minus the distribution function; as far as SciPy's has digits."""
    rng = np.random.default_rng(2)
    parameters, frozen = case.sample(rng, (7,))
    values = case.values(rng, frozen, 20)
    with np.errstate(all="ignore"):
        beyond = frozen.sf(values)
        expected = np.where(beyond < 0.5, np.log(beyond), np.log1p(-frozen.cdf(values)))
        known = (beyond > 1e-290) | (frozen.logpdf(values) == -np.inf)
    result = value_of(pd.logccdf(case.distribution.dist(**parameters), values))
    assert_allclose(result[known], expected[known], rtol=1e-10, atol=1e-300)


@over_continuous
def test_upper_tail_falls_by_the_density_as_far_as_it_goes(case: Case) -> None:
    """The slope of logccdf is minus the density over the tail, down to probabilities of 1e-100."""
    parameters, frozen = case.sample(np.random.default_rng(17), ())
    rv = case.distribution.dist(**parameters)
    value = tensor_input("float64", (6,), "value")
    tail = pd.logccdf(rv, value)
    slope = gradient(reduce("sum", tail), value)
    terms = function([value], [tail, slope, pd.logp(rv, value)], backend="reference")
    tails = function([value], tail, backend="reference")
    low, high = np.full(6, frozen.ppf(0.5)), np.full(6, frozen.ppf(0.5)) + 1.0
    wanted = np.array([-1e-3, -1.0, -5.0, -30.0, -100.0, -230.0])
    for _ in range(1100):
        near = tails(high) > wanted
        if not near.any():
            break
        high = np.where(near, low + 2.0 * (high - low), high)
    for _ in range(60):
        middle = 0.5 * (low + high)
        far = tails(middle) <= wanted
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    tail, slope, density = terms(low)
    assert_allclose(slope, -np.exp(density - tail), rtol=1e-8)


@over_invertible
def test_icdf_is_that_of_scipy(case: Case) -> None:
    """Also at 0 and 1; NaN outside."""
    rng = np.random.default_rng(3)
    parameters, frozen = case.sample(rng, (7,))
    rv = case.distribution.dist(**parameters)
    q = np.array([1e-12, 1e-4, 0.1, 0.49, 0.5, 0.51, 0.9, 0.9999, 1 - 1e-12])[:, None]
    result = value_of(pd.icdf(rv, q))
    if case.discrete:
        assert_array_equal(result, frozen.ppf(q))
    else:
        # SciPy's quantiles lose digits next to 0 and 1, its distribution functions next to a bound.
        q = np.broadcast_to(q, result.shape)
        error = np.where(q < 0.5, frozen.cdf(result) / q - 1.0, frozen.sf(result) / (1.0 - q) - 1.0)
        same = np.isclose(result, frozen.ppf(q), rtol=1e-10, atol=0.0)
        assert (same | (np.abs(error) < 1e-9)).all()
        assert_array_equal(value_of(pd.icdf(rv, np.array([0.0, 1.0])[:, None])), frozen.ppf([[0.0], [1.0]]))
    assert np.isnan(value_of(pd.icdf(rv, np.array([-0.1, 1.1, np.nan])[:, None]))).all()


@over_continuous_invertible
def test_quantile_of_the_probability_of_a_value_is_the_value(case: Case) -> None:
    """icdf(exp(logcdf(x))) = x."""
    rng = np.random.default_rng(4)
    parameters, frozen = case.sample(rng, (7,))
    rv = case.distribution.dist(**parameters)
    values = frozen.ppf(np.linspace(0.05, 0.95, 19)[:, None])
    q = np.exp(value_of(pd.logcdf(rv, values)))
    assert_allclose(value_of(pd.icdf(rv, q)), values, rtol=1e-9, atol=1e-11)


@over_continuous_invertible
def test_probability_of_the_quantile_of_a_probability_is_the_probability(case: Case) -> None:
    """logcdf(icdf(q)) = log(q), as far as float64 resolves the quantile."""
    parameters, _ = case.sample(np.random.default_rng(9), (7,))
    rv = case.distribution.dist(**parameters)
    q = np.concatenate([10.0 ** np.linspace(-5.0, -0.5, 10), np.linspace(0.4, 0.999, 9)])[:, None]
    quantiles = value_of(pd.icdf(rv, q))
    room = np.exp(value_of(pd.logp(rv, quantiles))) * np.spacing(np.abs(quantiles))
    assert (np.abs(np.exp(value_of(pd.logcdf(rv, quantiles))) - q) <= 1e-9 * q + room).all()


@over_continuous_invertible
def test_slope_of_the_quantile_is_one_over_the_density(case: Case) -> None:
    """Also at the median, where the quantile of a symmetric law is made of two tails."""
    parameters, _ = case.sample(np.random.default_rng(11), ())
    rv = case.distribution.dist(**parameters)
    q = tensor_input("float64", (7,), "q")
    quantile = pd.icdf(rv, q)
    x, slope = function([q], [quantile, gradient(reduce("sum", quantile, (0,)), q)])(
        np.array([0.01, 0.3, 0.4999, 0.5, 0.5001, 0.7, 0.99])
    )
    assert_allclose(slope, np.exp(-value_of(pd.logp(rv, x))), rtol=1e-8)


@pytest.mark.parametrize(
    "case",
    [c for c in CONTINUOUS if c.distribution in (pd.StudentT, pd.Gamma, pd.InverseGamma, pd.Beta)],
    ids=name_of,
)
@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_quantiles_reach_far_into_both_tails(case: Case, backend: str) -> None:
    """The smaller of the two tail probabilities comes back with its digits."""
    rng = np.random.default_rng(10)
    shapes = {p: np.exp(rng.normal(1.0, 0.5, 5)) for p in case.parameters(rng, ())}
    if "mu" in shapes:
        shapes["mu"] = np.zeros(5)
    frozen = case.scipy(**shapes)
    q = tensor_input("float64", (15, 1), "q")
    quantile = function([q], pd.icdf(case.distribution.dist(**shapes), q), backend=backend)
    tail = 10.0 ** -np.linspace(1.0, 15.0, 15)[:, None]
    assert_allclose(frozen.cdf(quantile(tail)), np.broadcast_to(tail, (15, 5)), rtol=1e-10)
    upper = 1.0 - tail
    room = np.abs(frozen.pdf(quantile(upper)) * np.spacing(quantile(upper))) / (1.0 - upper)
    error = frozen.sf(quantile(upper)) / (1.0 - upper) - 1.0
    assert (np.abs(error) <= 1e-10 + room).all()


@over_discrete
def test_quantile_jumps_at_the_probabilities_of_whole_numbers(case: Case) -> None:
    """icdf is k up to the probability of k and k + 1 beyond it."""
    parameters, _ = case.sample(np.random.default_rng(11), (5,))
    rv = case.distribution.dist(**parameters)
    k = np.broadcast_to(np.arange(0, 12)[:, None], (12, 5))
    q = np.exp(value_of(pd.logcdf(rv, k)))
    mass, next = (np.exp(value_of(pd.logp(rv, at))) / np.maximum(q, 1e-300) for at in (k, k + 1))
    ordinary = (q < 0.99) & (mass > 1e-6)
    assert ordinary.any()
    assert_array_equal(value_of(pd.icdf(rv, q * (1.0 - 1e-10)))[ordinary], k[ordinary])
    ordinary &= next > 1e-6
    assert_array_equal(value_of(pd.icdf(rv, q * (1.0 + 1e-10)))[ordinary], k[ordinary] + 1)


@pytest.mark.parametrize(
    "case", [c for c in DISCRETE if c.distribution in (pd.Poisson, pd.Binomial, pd.NegativeBinomial)], ids=name_of
)
@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_quantile_of_the_probability_of_a_count_is_the_count(case: Case, backend: str) -> None:
    """icdf(exp(logcdf(k))) = k: what rounding takes off or adds to a probability does not move it."""
    parameters, frozen = case.sample(np.random.default_rng(12), (7,))
    rv = case.distribution.dist(**parameters)
    k = frozen.ppf(np.linspace(0.01, 0.99, 40)[:, None])
    q = tensor_input("float64", k.shape, "q")
    quantile = function([q], pd.icdf(rv, q), backend=backend)
    assert_array_equal(quantile(np.exp(value_of(pd.logcdf(rv, k)))), k)


@over_continuous
def test_density_integrates_to_one(case: Case) -> None:
    """Piecewise over quantiles, where the density is smooth."""
    rng = np.random.default_rng(5)
    parameters, frozen = case.sample(rng, ())
    rv = case.distribution.dist(**parameters)
    x = tensor_input("float64", (), "x")
    compiled = function([x], pd.logp(rv, x), backend="reference")
    cuts = frozen.ppf([0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
    total = sum(
        scipy.integrate.quad(lambda t: float(np.exp(compiled(t))), a, b, epsabs=1e-10)[0]
        for a, b in itertools.pairwise(cuts)
    )
    assert_allclose(total, 0.98, rtol=1e-8)


@over_discrete
def test_masses_sum_to_one(case: Case) -> None:
    """All whole numbers up to where the rest is negligible."""
    rng = np.random.default_rng(6)
    parameters, frozen = case.sample(rng, (5,))
    values = np.arange(-3, int(frozen.ppf(1 - 1e-13).max()) + 50)[:, None]
    masses = np.exp(value_of(pd.logp(case.distribution.dist(**parameters), values)))
    assert_allclose(masses.sum(0), 1.0, rtol=1e-10)


@over_discrete
def test_distribution_function_is_the_sum_of_masses(case: Case) -> None:
    """Values between two whole numbers count as the lower one."""
    rng = np.random.default_rng(7)
    parameters, _ = case.sample(rng, (5,))
    rv = case.distribution.dist(**parameters)
    values = np.arange(0, 40)[:, None]
    masses = np.exp(value_of(pd.logp(rv, values)))
    assert_allclose(np.exp(value_of(pd.logcdf(rv, values))), masses.cumsum(0), rtol=1e-10)
    assert_array_equal(value_of(pd.logcdf(rv, values + 0.5)), value_of(pd.logcdf(rv, values.astype(float))))


@over_discrete
def test_numbers_that_are_not_whole_have_no_mass(case: Case) -> None:
    """Also NaN and infinity."""
    parameters, _ = case.sample(np.random.default_rng(8), ())
    rv = case.distribution.dist(**parameters)
    assert_array_equal(value_of(pd.logp(rv, [0.5, np.nan, np.inf, -np.inf])), -np.inf)


@over_all
def test_gradient_is_that_of_finite_differences(case: Case) -> None:
    """With respect to the value and to each real parameter."""
    rng = np.random.default_rng(9)
    parameters, frozen = case.sample(rng, (4,))
    nodes = {n: tensor_input("int64" if v.dtype.kind == "i" else "float64", v.shape, n) for n, v in parameters.items()}
    rv = case.distribution.dist(**nodes)
    at = frozen.ppf([0.3, 0.6, 0.45, 0.7])
    value = tensor_input("int64" if case.discrete else "float64", at.shape, "value")
    total = reduce("sum", pd.logp(rv, value))
    point = {nodes[n]: v for n, v in parameters.items()} | {value: at.astype(value.dtype)}
    whole = {nodes[p.name] for p in case.distribution.parameters if p.constraint.discrete and p.name in nodes}
    reals = [leaf for leaf in point if leaf.dtype == "float64" and leaf not in whole]
    for leaf, slope in zip(reals, gradient(total, reals), strict=True):
        h = 1e-5
        numeric = np.empty(4)
        for i in range(4):
            step = np.zeros(4)
            step[i] = h
            above, below = (value_of(total, point | {leaf: point[leaf] + s}) for s in (step, -step))
            numeric[i] = (above - below) / (2 * h)
        assert_allclose(value_of(slope, point), numeric, rtol=1e-5, atol=1e-7, err_msg=repr(leaf))


@over_all
def test_gradient_outside_the_support_is_zero_not_nan(case: Case) -> None:
    """The part that is not chosen has no derivative."""
    parameters, _ = case.sample(np.random.default_rng(10), ())
    nodes = {n: tensor_input("float64", (), n) for n, v in parameters.items() if v.dtype.kind == "f"}
    rv = case.distribution.dist(**{**parameters, **nodes})
    if isinstance(pd.support_of(rv), type(pd.support_of(pd.Normal.dist()))):
        return
    total = pd.logp(rv, np.int64(-1) if case.discrete else -1e4)
    for slope in gradient(total, list(nodes.values())):
        assert value_of(slope, {nodes[n]: parameters[n] for n in nodes}) == 0.0


@over_all
def test_compiled_densities_are_those_of_the_reference(case: Case) -> None:
    """Machine code after rewriting, against NumPy on the graph as written, with its derivatives."""
    rng = np.random.default_rng(11)
    parameters, frozen = case.sample(rng, (6,))
    nodes = {n: tensor_input("int64" if v.dtype.kind == "i" else "float64", v.shape, n) for n, v in parameters.items()}
    rv = case.distribution.dist(**nodes)
    at = frozen.ppf(rng.uniform(0.05, 0.95, (6,)))
    value = tensor_input("int64" if case.discrete else "float64", at.shape, "value")
    terms = [pd.logp(rv, value), pd.logcdf(rv, value), pd.density(rv, value)]
    reals = [n for n in nodes.values() if n.dtype == "float64"]
    terms += gradient(reduce("sum", terms[0]), reals)
    compiled = function([*nodes.values(), value], terms)(*parameters.values(), at.astype(value.dtype))
    point = {nodes[n]: v for n, v in parameters.items()} | {value: at.astype(value.dtype)}
    for fast, term in zip(compiled, terms, strict=True):
        assert_allclose(fast, value_of(term, point), rtol=1e-10, atol=1e-13)


WRONG = {
    "sigma": (0.0, -1.0, np.nan), "beta": (0.0, -1.0, np.nan), "b": (0.0, -1.0, np.nan),
    "lam": (0.0, -1.0, np.nan), "nu": (0.0, -1.0, -2.5, np.nan), "alpha": (0.0, -1.0, -1.5, np.nan),
    "p": (-0.1, 1.1, np.nan), "mu": (np.nan,), "lower": (np.nan,), "upper": (-50.0, np.nan), "n": (-1, -7),
    "logit_p": (np.nan,), "kappa": (0.0, -1.0, np.nan), "q": (0.0, 1.0, -0.5, np.nan), "s": (0.0, -1.0, np.nan),
    "m": (0.0, -1.0, np.nan), "a": (0.0, -1.0, np.nan), "c": (0.0, -1.0, np.nan), "xi": (np.nan,),
}  # fmt: skip


@over_all
def test_wrong_symbolic_parameters_have_no_finite_density(case: Case) -> None:
    """For every parameter: an error, and in models NaN or -inf at every value, never a finite number or +inf."""
    rng = np.random.default_rng(12)
    parameters, frozen = case.sample(rng, ())
    values = case.values(rng, frozen, 10)
    for name, own in parameters.items():
        wrong = case.wrong.get(name) or WRONG[name]
        if case.distribution in (pd.Poisson, pd.NegativeBinomial) and name == "mu":
            wrong = (-1.0, -1e-3, np.nan)
        if case.distribution is pd.Cauchy and name == "alpha":
            wrong = (np.nan,)
        leaf = tensor_input("int64" if own.dtype.kind == "i" else "float64", (), name)
        rv = case.distribution.dist(**{**parameters, name: leaf})
        if own.dtype.kind == "f" and name not in case.wrong:
            wrong = (*wrong, np.inf, -np.inf)
        inside = values[np.isfinite(value_of(pd.logp(case.distribution.dist(**parameters), values)))]
        for bad, (density, at) in itertools.product(wrong, ((pd.logp, values), (pd.density, inside))):
            if density is pd.logp:
                with pytest.raises(ParameterError, match=rf"{case.distribution.title}: \w+ must be"):
                    value_of(pd.logp(rv, at), {leaf: bad})
            result = value_of(released([density(rv, at)])[0], {leaf: bad})
            assert (np.isnan(result) | (result == -np.inf)).all(), (name, bad, density)
            violated = {n: bool(value_of(valid, {leaf: bad})) for n, _, valid in pd.parameter_violation(rv)}
            assert not violated[name]


@over_all
def test_a_density_without_check_is_that_with_check_inside_the_support(case: Case) -> None:
    """`density` leaves out nothing but the check of the value."""
    rng = np.random.default_rng(13)
    parameters, frozen = case.sample(rng, (5,))
    values = frozen.rvs(size=(10, 5), random_state=rng)
    rv = case.distribution.dist(**parameters)
    assert_array_equal(value_of(pd.density(rv, values)), value_of(pd.logp(rv, values)))
    assert not value_of(pd.support_violation(rv, values)).any()


@over_all
@pytest.mark.parametrize(
    ("parameter_shape", "value_shape"),
    [((), (3,)), ((3,), ()), ((3,), (4, 1)), ((4, 1), (3,)), ((1,), (5,)), ((2, 3), (3,))],
)
def test_parameters_and_values_broadcast(
    case: Case, parameter_shape: tuple[int, ...], value_shape: tuple[int, ...]
) -> None:
    """As NumPy does, also axes of length 1 and different ranks."""
    rng = np.random.default_rng(14)
    parameters, frozen = case.sample(rng, parameter_shape)
    values = np.broadcast_to(np.asarray(1 if case.discrete else 0.7), value_shape)
    rv = case.distribution.dist(**parameters)
    result = value_of(pd.logp(rv, values))
    assert result.shape == np.broadcast_shapes(parameter_shape, value_shape)
    assert_allclose(result, reference_logp(case, frozen, values), rtol=1e-10, atol=1e-13)


@over_continuous
def test_float32_parameters_make_a_float32_variable(case: Case) -> None:
    """And a density that is right to single precision."""
    rng = np.random.default_rng(15)
    parameters, frozen = case.sample(rng, (5,))
    rv = case.distribution.dist(**{n: v.astype("float32") for n, v in parameters.items()})
    assert rv.dtype == "float32"
    values = frozen.ppf(np.linspace(0.2, 0.8, 5)).astype("float32")
    node = pd.logp(rv, constant(values))
    assert node.dtype == "float32"
    assert_allclose(value_of(node), frozen.logpdf(values.astype(float)), rtol=1e-3, atol=1e-4)


@over_all
def test_moments_are_those_of_scipy(case: Case) -> None:
    """Mean and variance where they exist, else NaN or infinity; the support point lies in the support."""
    rng = np.random.default_rng(16)
    parameters, frozen = case.sample(rng, (6,))
    rv = case.distribution.dist(**parameters, shape=(2, 6))
    if case.has("mean"):
        for own, reference in ((pd.mean(rv), frozen.mean()), (pd.variance(rv), frozen.var())):
            result = value_of(own)
            assert result.shape == (2, 6)
            finite = np.isfinite(reference)
            assert_allclose(result[:, finite], np.broadcast_to(reference, (2, 6))[:, finite], rtol=1e-10)
            assert not np.isfinite(result[:, ~finite]).any()
    point = value_of(pd.support_point(rv))
    assert point.shape == (2, 6)
    assert np.isfinite(value_of(pd.logp(rv, point))).all()
    assert not value_of(pd.support_violation(rv, point)).any()


def test_log_odds_keep_their_digits() -> None:
    """Where the probability itself rounds to 0 or 1."""
    logit = np.array([-800.0, -40.0, 40.0, 800.0])
    failure = value_of(pd.logp(pd.Bernoulli.dist(logit_p=logit), 0))
    assert_allclose(failure, -np.logaddexp(0.0, logit), rtol=1e-14)
    many = value_of(pd.logp(pd.Binomial.dist(n=3, logit_p=logit), 1))
    assert_allclose(many, np.log(3) + logit - 3 * np.logaddexp(0.0, logit), rtol=1e-13)


def test_improper_distributions_have_density_one() -> None:
    """On the real line and on the positive half line; nothing else is known of them."""
    assert_array_equal(value_of(pd.logp(pd.Flat.dist(shape=3), [-1.0, 0.0, 1e9])), 0.0)
    assert_array_equal(value_of(pd.logp(pd.HalfFlat.dist(shape=3), [-1.0, 0.0, 1e9])), [-np.inf, -np.inf, 0.0])
    for rv in (pd.Flat.dist(), pd.HalfFlat.dist()):
        assert np.isfinite(value_of(pd.logp(rv, value_of(pd.support_point(rv)))))
        for missing, arguments in ((pd.logcdf, (0.0,)), (pd.icdf, (0.5,)), (pd.mean, ()), (pd.draw, ())):
            with pytest.raises(MissingRuleError, match="available are logp"):
                missing(rv, *arguments)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_parameters_out_of_range_at_run_time_are_named(backend: str) -> None:
    """Functions of densities fail with the parameter, its rule and the value, as for constants; none gives NaN."""
    s = tensor_input("float64", (2,), "s")
    for made in (
        pd.logp(pd.Normal.dist(0.0, s), 0.5),
        pd.logcdf(pd.Normal.dist(0.0, s), 0.5),
        pd.icdf(pd.Normal.dist(0.0, s), 0.5),
    ):
        f = function([s], made, backend=backend)
        assert np.isfinite(f(np.array([1.0, 2.0]))).all()
        with pytest.raises(ParameterError, match=r"Normal: sigma must be > 0, got -2\.0 \(element 1\)"):
            f(np.array([1.0, -2.0]))
    with pytest.raises(ParameterError, match=r"Normal: sigma must be > 0, got -1\.0"):
        pd.Normal.dist(0.0, -1.0)


def test_requirements_pass_derivatives_and_batches() -> None:
    """The value goes through; its gradient and its batched form fail for the same parameters."""
    s = tensor_input("float64", (), "s")
    density = pd.logp(pd.Normal.dist(0.0, s), 0.5)
    slope = gradient(density, [s])[0]
    assert_allclose(value_of(slope, {s: np.asarray(2.0)}), -0.5 + 0.25 / 8.0)
    many = tensor_input("float64", (3,), "many")
    (batched,) = vectorize([density], {s: many})
    assert_allclose(value_of(batched, {many: np.array([1.0, 2.0, 3.0])}), stats.norm(0, [1.0, 2.0, 3.0]).logpdf(0.5))
    with pytest.raises(ParameterError, match=r"sigma must be > 0, got 0\.0 \(element 2\)"):
        value_of(batched, {many: np.array([1.0, 2.0, 0.0])})
    (free,) = released([density])
    assert np.isnan(value_of(free, {s: np.asarray(-1.0)}))


@pytest.mark.parametrize(
    ("mu", "sigma"),
    [(0.0, 1.0), (2.0, 0.1), (-3.0, 1e-3), (1.0, 3.9), (1.0, 4.1), (-20.0, 6.0), (5.0, 2.5), (0.0, 1e3)],
)
def test_moments_of_logit_normal_variables_are_integrals(mu: float, sigma: float) -> None:
    """Over pieces of the logit, in many digits."""
    with mp.workdps(20):
        ends = {mu + k * sigma for k in (-40, -8, 0, 8, 40)} | ({-40.0, -3.0, 0.0, 3.0, 40.0} if sigma > 1 else set())

        def integral(function):
            def integrand(y):
                return mp.exp(-(((y - mu) / mp.mpf(sigma)) ** 2) / 2) * function(1 / (1 + mp.exp(-y)))

            return mp.quad(integrand, sorted(ends)) / (sigma * mp.sqrt(2 * mp.pi))

        mean = integral(lambda p: p)
        variance = integral(lambda p: (p - mean) ** 2)
    rv = pd.LogitNormal.dist(mu, sigma)
    assert_allclose([value_of(pd.mean(rv)), value_of(pd.variance(rv))], [float(mean), float(variance)], rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "length"),
    [
        (lambda: pd.StickBreakingWeights.dist(3.0, 7), 4),
        (lambda: pd.ZeroSumNormal.dist(1.0, shape=3), 4),
        (lambda: pd.GaussianRandomWalk.dist(steps=3, init_dist=pd.Normal.dist()), 7),
        (lambda: pd.AR.dist([0.5], shape=5), 8),
        (lambda: pd.Dirichlet.dist(np.ones(3)), 4),
    ],
)
def test_a_value_with_events_of_another_length_is_refused(make, length: int) -> None:
    """Formulas that sum over an event take a vector of any length."""
    rv = make()
    with pytest.raises(ShapeError, match=rf"ends with the shape \({length},\), and one event has the shape"):
        pd.logp(rv, np.full(length, 1.0 / length))
