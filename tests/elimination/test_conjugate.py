"""Integrals over conjugate families, against quadrature, and draws of the variables against known conditionals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln, multigammaln

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ModelError

Build = Callable[[], Any]


def gamma(shape: Any = 3) -> Any:
    a = pm.HalfNormal("a")
    return pm.Gamma("x", a, a, shape=shape)


def beta(shape: Any = 3) -> Any:
    return pm.Beta("x", pm.HalfNormal("a"), 2, shape=shape)


def poisson_with_exposures() -> None:
    pm.Poisson("y", gamma()[[0, 1, 2, 2]] * np.array([1, 2.0, 0.5, 0]), observed=[1, 0, 3, 0])


def poisson_by_its_logarithm() -> None:
    pm.Poisson("y", pt.exp(pt.log(gamma()) + 0.3 * np.array([1, 2.0, 3])), observed=[1, 0, 3])


def poisson_of_persons_and_months() -> None:
    r = np.array([[1, 0.0], [1, 1], [0, 0]])
    pm.Poisson("y", r * gamma()[:, None] * [1.0, 2.0] + 1e-12 * (1 - r), observed=[[1, 0], [0, 3], [0, 0]])


def exponential_and_gamma() -> None:
    x = gamma()
    pm.Exponential("y", x, observed=[1, 0.3, 2.0])
    pm.Gamma("z", 2, x[:2], observed=[0.3, 1.0])


def censored_times() -> None:
    pm.Censored("y", pm.Exponential.dist(2.0 * gamma()), None, [1, 1, 1.5], observed=[1, 0.3, 1.5])


def one_scalar() -> None:
    pm.Poisson("y", gamma(()), observed=[1, 0, 3])


def a_table() -> None:
    pm.Poisson("y", gamma((2, 3)), observed=[[1, 0, 3], [2, 2, 0]])


def precisions() -> None:
    pm.Normal("y", 0.3, tau=2 * gamma()[:, None], observed=[[1, 0.3], [2.0, 1], [0, 2]])


def scales_of_a_power() -> None:
    pm.Normal("y", 0.3, gamma() ** -0.5, observed=[1, 0.3, 2.0])


def variances() -> None:
    a = pm.HalfNormal("a")
    pm.Normal("y", a, pt.sqrt(pm.InverseGamma("x", a, a, shape=3)) * 2, observed=[1, 0.3, 2.0])


def laplace_rates() -> None:
    pm.Laplace("y", 0.1, 1 / gamma(), observed=[1, 0.0, 3])


def pareto_exponents() -> None:
    pm.Pareto("y", alpha=gamma(), m=0.5, observed=[1, 0.7, 3])


def a_potential() -> None:
    pm.Potential("y", pt.sum(2 * pt.log(gamma()) - 0.7))


def binomial_bernoulli_and_geometric() -> None:
    x = beta()
    pm.Binomial("y", p=x, n=[5, 6, 7], observed=[0, 3, 7])
    pm.Bernoulli("b", x[[0, 0, 1]], observed=[1, 0, 1])
    pm.Geometric("g", x[:2], observed=[1, 4])


def the_rest_of_a_probability() -> None:
    pm.Binomial("y", p=1 - beta(), n=[5, 6, 7], observed=[0, 3, 7])


def uniform_probabilities() -> None:
    pm.HalfNormal("a")
    pm.Binomial("y", p=pm.Uniform("x", 0, 1, shape=2), n=[5, 6], observed=[1, 3])


K = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, 0.1], [0.0, 0.1, 1.0]])
VECTORS = [[0.3, -0.2, 1.0], [1.0, 0.5, -0.4]]


def inverse_gamma(shape: Any = ()) -> Any:
    a = pm.HalfNormal("a")
    return pm.InverseGamma("x", a + 1, a, shape=shape)


def variances_by_their_roots() -> None:
    pm.Normal("y", 0.2, pm.Deterministic("sigma", pt.sqrt(inverse_gamma(3))), observed=[1, 0.3, 2.0])


def a_variance_of_correlated_rows() -> None:
    pm.MvNormal("y", np.zeros(3), cov=inverse_gamma() * K, observed=VECTORS)


def a_variance_of_each_row() -> None:
    pm.MvNormal("y", np.zeros(3), cov=inverse_gamma(3)[[0, 2]][:, None, None] * K, observed=VECTORS)


def a_variance_by_a_factor() -> None:
    pm.MvNormal(
        "y", np.zeros(3), chol=pt.sqrt(inverse_gamma(2))[:, None, None] * np.linalg.cholesky(K), observed=VECTORS
    )


def a_precision_of_correlated_rows() -> None:
    pm.MvNormal("y", np.zeros(3), tau=gamma(2)[:, None, None] * K, observed=VECTORS)


def a_variance_of_steps_that_are_not_observed() -> None:
    steps = pm.GaussianRandomWalk("w", sigma=pt.sqrt(inverse_gamma()), init_dist=pm.Normal.dist(0, 3), shape=3)
    pm.Poisson("y", pt.exp(steps), observed=[1, 2, 3])


def a_variance_of_a_process() -> None:
    cov = inverse_gamma() * pm.gp.cov.Matern52(1, ls=1.0)
    f = pm.gp.Latent(cov_func=cov).prior("f", X=np.arange(3.0)[:, None], reparameterize=False, jitter=0.0)
    pm.Poisson("y", pt.exp(f), observed=[1, 2, 3])


def precisions_of_a_field() -> None:
    W = np.eye(3, k=1) + np.eye(3, k=-1)
    pm.CAR("y", mu=np.zeros(3), W=W, alpha=0.6, tau=gamma(()), observed=[0.3, -0.2, 1.0])


CASES = [
    poisson_with_exposures, poisson_by_its_logarithm, poisson_of_persons_and_months, exponential_and_gamma,
    censored_times, one_scalar, a_table, precisions, scales_of_a_power, variances, laplace_rates, pareto_exponents,
    a_potential, binomial_bernoulli_and_geometric, the_rest_of_a_probability, uniform_probabilities,
    variances_by_their_roots, a_variance_of_correlated_rows, a_variance_of_each_row, a_variance_by_a_factor,
    a_precision_of_correlated_rows, a_variance_of_steps_that_are_not_observed, a_variance_of_a_process,
    precisions_of_a_field,
]  # fmt: skip


def both(build: Build) -> tuple[pm.Model, pm.Model]:
    with pm.Model() as model:
        build()
    return model, pm.collapse(model, "x")


def by_quadrature(model: pm.Model, point: dict[str, Any]) -> float:
    """The logarithm of the integral over the elements of x, which are independent given all else."""
    logp = model.compile_logp()
    (title,) = [v.name for v in model.value_vars if str(v.name).startswith("x_")]
    shape = model["x"].type.shape
    start = np.full(shape, -0.3)
    base = total = float(logp({**point, title: start}))
    for place in np.ndindex(*shape):

        def density(value: float, place: tuple[int, ...] = place) -> float:
            moved = start.copy()
            moved[place] = value
            return float(np.exp(logp({**point, title: moved}) - base))

        total += np.log(quad(density, -25, 25, points=[-2, 0, 2], limit=200)[0])
    return total


@pytest.mark.parametrize("build", CASES, ids=lambda f: f.__name__)
def test_the_integrated_density_is_the_density_integrated_by_quadrature(build: Build) -> None:
    model, collapsed = both(build)
    point = {name: np.full(np.shape(start), 0.4) for name, start in collapsed.initial_point().items()}
    np.testing.assert_allclose(collapsed.compile_logp()(point), by_quadrature(model, point), rtol=1e-6, atol=1e-6)


def test_slopes_of_an_integrated_density_are_those_of_its_values() -> None:
    _, collapsed = both(poisson_of_persons_and_months)
    logp, slope = collapsed.compile_logp(), collapsed.compile_dlogp()
    low, high = ({"a_log__": np.array(0.4 + step)} for step in (-1e-5, 1e-5))
    np.testing.assert_allclose(slope({"a_log__": np.array(0.4)}), (logp(high) - logp(low)) / 2e-5, rtol=1e-7)


def test_shares_of_categories_have_the_dirichlet_multinomial_density() -> None:
    with pm.Model() as model:
        a = pm.HalfNormal("a")
        x = pm.Dirichlet("x", a * np.array([1.0, 2, 3]), shape=(2, 3))
        pm.Multinomial("y", n=[5, 6], p=x, observed=[[1, 2, 2], [3, 3, 0]])
        pm.Categorical("z", p=x[[0, 1, 1, 0]], observed=[1, 2, 2, 0])
    value = pm.collapse(model, "x").compile_logp()({"a_log__": np.array(0.2)})
    alpha = np.exp(0.2) * np.array([1.0, 2, 3])
    tables, chosen = np.array([[1, 2, 2], [3, 3, 0]]), np.array([[1, 1, 0], [0, 0, 2]])
    counts = tables + chosen
    expected = stats.halfnorm.logpdf(np.exp(0.2)) + 0.2
    expected += (gammaln(tables.sum(1) + 1) - gammaln(tables + 1).sum(1)).sum()
    expected += (gammaln(alpha.sum()) - gammaln(alpha.sum() + counts.sum(1))).sum()
    expected += (gammaln(alpha + counts) - gammaln(alpha)).sum()
    np.testing.assert_allclose(value, expected, rtol=1e-10)


def wishart_integral(nu: float, rate: Any) -> float:
    """The logarithm of the integral of det(X)^((nu - p - 1) / 2) exp(-tr(rate X) / 2)."""
    p = len(rate)
    return float(nu * p / 2 * np.log(2) + multigammaln(nu / 2, p) - nu / 2 * np.linalg.slogdet(rate)[1])


@pytest.mark.parametrize("family", ["Wishart", "inverse Wishart"])
@pytest.mark.parametrize("form", ["own", "inverse", "scaled", "groups"])
def test_matrices_of_normal_rows_have_the_density_of_wishart_s_integral(family: str, form: str) -> None:
    V = np.array([[1.0, 0.3], [0.3, 2.0]])
    rows = np.random.default_rng(4).normal(size=(5, 2))
    groups = [[0, 1, 1, 0, 1]] if form == "groups" else [[0] * 5]
    is_precision = family == "Wishart"
    a = 1.3
    with pm.Model() as model:
        scale = pm.HalfNormal("a")
        kind = pm.Wishart if is_precision else pm.InverseWishart
        x = kind("x", 4.0 + scale, scale * V, shape=(2, 2, 2) if form == "groups" else None)
        view = x[np.array(groups[0])] if form == "groups" else 2.0 * x if form == "scaled" else x
        other = form == "inverse"
        view = pt.linalg.inv(view) if other else view
        pm.MvNormal("y", np.zeros(2), **{"tau" if is_precision != other else "cov": view}, observed=rows)
    value = pm.collapse(model, "x").compile_logp()({"a_log__": np.log(a)})
    rate = np.linalg.inv(a * V) if is_precision else a * V
    times = (2.0 if is_precision else 0.5) if form == "scaled" else 1.0
    expected = stats.halfnorm.logpdf(a) + np.log(a) + 5 * (np.log(times) - np.log(2 * np.pi))
    for group in range(2 if form == "groups" else 1):
        own = rows[np.array(groups[0]) == group]
        after = wishart_integral(4 + a + len(own), rate + times * own.T @ own)
        expected += after - wishart_integral(4 + a, rate)
    np.testing.assert_allclose(value, expected, rtol=1e-10)


@pytest.mark.parametrize("family", ["Wishart", "InverseWishart"])
def test_drawn_matrices_have_the_moments_of_their_conditional(family: str) -> None:
    V, n = np.array([[1.0, 0.3], [0.3, 2.0]]), 4000
    rows = np.random.default_rng(4).normal(size=(5, 2))
    with pm.Model() as model:
        nu = 6.0 + pm.HalfNormal("a")
        scale = {"tau": pm.Wishart("x", nu, V)} if family == "Wishart" else {"cov": pm.InverseWishart("x", nu, V)}
        pm.MvNormal("y", np.zeros(2), **scale, observed=rows)
    known = {"a": np.full((1, n), 0.7)}
    drawn = pm.recover_marginals(known, model=pm.collapse(model, "x"), extend_inferencedata=False, random_seed=1)
    x, products = drawn["x"].values[0], rows.T @ rows
    if family == "Wishart":
        own = stats.wishart(6.7 + 5, np.linalg.inv(np.linalg.inv(V) + products))
    else:
        own = stats.invwishart(6.7 + 5, V + products)
    error = x.std(0) / n**0.5
    assert (np.abs(x.mean(0) - own.mean()) < 5 * error).all()
    wanted = own.rvs(40_000, random_state=1).var(0)
    np.testing.assert_allclose(x.var(0), wanted, rtol=0.2)
    np.testing.assert_array_equal(x, np.swapaxes(x, 1, 2))


def correlations_of_a_prior_over_these_alone() -> None:
    x = pm.LKJCorr("x", n=2, eta=2.0)
    pm.MvNormal("y", np.zeros(2), cov=pm.HalfNormal("a") * (x @ x.mT), observed=[[1.0, 0.3]])


def a_matrix_and_something_added() -> None:
    pm.HalfNormal("a")
    pm.MvNormal("y", np.zeros(2), tau=pm.Wishart("x", 4.0, np.eye(2)) + np.eye(2), observed=[[1.0, 0.3]])


def a_precision_matrix_as_a_covariance() -> None:
    pm.HalfNormal("a")
    pm.MvNormal("y", np.zeros(2), cov=pm.Wishart("x", 4.0, np.eye(2)), observed=[[1.0, 0.3]])


def a_variance_and_something_added() -> None:
    pm.MvNormal("y", np.zeros(3), cov=inverse_gamma() * K + np.eye(3), observed=VECTORS)


def test_draws_follow_the_conditional_at_each_draw_of_the_rest() -> None:
    y, exposure = np.array([0, 4, 11]), np.array([1.0, 2.0, 3.0])
    with pm.Model() as model:
        a = pm.HalfNormal("a")
        pm.Poisson("y", pm.Gamma("x", a, 2 * a, shape=3) * exposure, observed=y)
        p = pm.Beta("p", a, 1.0)
        pm.Binomial("k", n=9, p=p, observed=7)
    known = np.abs(np.random.default_rng(3).normal(size=(1, 4000)))
    collapsed = pm.collapse(model, ["x", "p"])
    found = pm.recover_marginals({"a": known}, model=collapsed, extend_inferencedata=False, random_seed=1)
    a_of, x = known[0][:, None], found["x"].values[0]
    places = stats.gamma.cdf(x, a_of + y, scale=1 / (2 * a_of + exposure))
    for column in places.T:
        assert stats.kstest(column, "uniform").pvalue > 0.01
    assert np.abs(np.corrcoef(np.column_stack([known[0], places]).T)[0, 1:]).max() < 0.05
    p_of = stats.beta.cdf(found["p"].values[0], known[0] + 7, 3.0)
    assert stats.kstest(p_of, "uniform").pvalue > 0.01


def nothing_known() -> None:
    pm.Poisson("y", gamma() + 1.0, observed=[1, 0, 3])


def half_normal_rates() -> None:
    pm.HalfNormal("a")
    pm.Poisson("y", pm.HalfNormal("x", shape=3), observed=[1, 0, 3])


def zero_inflated() -> None:
    pm.ZeroInflatedPoisson("y", psi=0.3, mu=gamma(), observed=[1, 0, 3])


def student_scales() -> None:
    pm.StudentT("y", nu=4, mu=0, lam=gamma(), observed=[1, 0, 3])


def product_of_two() -> None:
    x = gamma()
    pm.Poisson("y", x[:2] * x[1:], observed=[1, 0])


def truncated_prior() -> None:
    pm.HalfNormal("a")
    x = pm.Truncated("x", pm.Gamma.dist(2, 1), lower=0.5, shape=3)
    pm.Poisson("y", x, observed=[1, 0, 3])


@pytest.mark.parametrize(
    "build",
    [
        nothing_known,
        half_normal_rates,
        zero_inflated,
        student_scales,
        product_of_two,
        truncated_prior,
        correlations_of_a_prior_over_these_alone,
        a_matrix_and_something_added,
        a_precision_matrix_as_a_covariance,
        a_variance_and_something_added,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_not_linear_in_statistics_is_refused(build: Build) -> None:
    with pm.Model() as model:
        build()
    with pytest.raises(ModelError, match="`x`"):
        pm.collapse(model, "x")


def test_variables_that_act_together_are_refused_together() -> None:
    with pm.Model() as model:
        a = pm.HalfNormal("a")
        u, v = pm.Gamma("u", a, 1, shape=2), pm.Gamma("v", a, 1, shape=2)
        pm.Poisson("y", u * v, observed=[1, 2])
    with pytest.raises(ModelError, match="`u` and `v` act together"):
        pm.collapse(model, ["u", "v"])
    assert [v.name for v in pm.collapse(model, "u").free_RVs] == ["a", "v"]


def test_a_precision_and_the_normal_variables_that_it_is_of_are_refused_together() -> None:
    with pm.Model() as model:
        a = pm.HalfNormal("a")
        tau = pm.Gamma("tau", a, a)
        x = pm.Normal("x", 0, tau=tau, shape=3)
        pm.Normal("y", x, a, observed=[0.3, 1.0, 2.0])
    with pytest.raises(ModelError, match="`tau` and `x` act together"):
        pm.collapse(model, ["tau", "x"])
    assert [v.name for v in pm.collapse(model, "tau").free_RVs] == ["a", "x"]
