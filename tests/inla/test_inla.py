"""Nested Laplace approximations against closed forms and quadrature, and what they say of models of other forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, sparse, stats

import consilience as pm
from consilience.errors import ModelError, SamplingError
from consilience.estimators.approximations.target import TargetDensity
from consilience.estimators.inla.conditional import conditional
from consilience.estimators.inla.design import composite
from consilience.estimators.inla.latent_field import LatentField
from consilience.estimators.inla.mixture import SkewedMixture, skewed
from consilience.estimators.inla.precision import Factor, structure_of

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
NOISE = 0.7
Y = X @ np.array([1.0, -2.0, 0.5]) + NOISE * RNG.normal(size=40)
PRECISION = np.eye(3) / 4.0 + X.T @ X / NOISE**2
COVARIANCE = np.linalg.inv(PRECISION)
MEAN = COVARIANCE @ X.T @ Y / NOISE**2


def test_a_normal_model_without_hyperparameters_is_solved_exactly() -> None:
    """Evidence, means, standard deviations, quantiles and densities of a linear regression of known noise."""
    with pm.Model(coords={"feature": ["a", "b", "c"]}):
        pm.Normal("b", 0.0, 2.0, dims="feature")
        pm.Normal("y", X @ pm.modelcontext(None)["b"], NOISE, observed=Y)
        fit = pm.fit(method="inla", latent=["b"], random_seed=1)
    evidence = stats.multivariate_normal.logpdf(Y, np.zeros(40), NOISE**2 * np.eye(40) + 4.0 * X @ X.T)
    assert fit.log_marginal_likelihood == pytest.approx(evidence, abs=1e-9)
    own, sd = fit.marginal("b"), np.sqrt(np.diag(COVARIANCE))
    np.testing.assert_allclose(own.mean, MEAN, atol=1e-9)
    np.testing.assert_allclose(own.sd, sd, atol=1e-9)
    np.testing.assert_allclose(own.skewness, 0.0, atol=1e-9)
    np.testing.assert_allclose(own.quantile(0.1), stats.norm.ppf(0.1, MEAN, sd), atol=1e-9)
    np.testing.assert_allclose(own.pdf(MEAN + 0.3), stats.norm.pdf(0.3, 0.0, sd), rtol=1e-9)
    summary = fit.summary()
    assert summary["b"].dims == ("metric", "feature")
    np.testing.assert_allclose(summary["b"].sel(metric="mean"), MEAN, atol=1e-9)
    draws: Any = fit.sample(20_000, random_seed=2)["posterior"]["b"]
    assert draws.dims == ("chain", "draw", "feature")
    np.testing.assert_allclose(draws.mean(("chain", "draw")), MEAN, atol=5 * sd.max() / np.sqrt(20_000))
    np.testing.assert_allclose(np.cov(draws.values[0].T), COVARIANCE, atol=6 * sd.max() ** 2 / np.sqrt(20_000))


def test_a_hyperparameter_is_integrated_over_a_grid() -> None:
    """Noise and effects of unknown variance: the evidence and moments by quadrature over the hyperparameter."""
    groups = np.repeat(np.arange(8), 4)
    y = RNG.normal(size=8)[groups] + 0.5 * RNG.normal(size=32)
    with pm.Model():
        tau = pm.Gamma("tau", 3.0, 3.0)
        z = pm.Normal("z", 0.0, tau, shape=8)
        pm.Normal("y", z[groups], 0.5, observed=y)
        fit = pm.fit(method="inla", latent="z", random_seed=1)
    same = groups[:, None] == groups

    def weight(log_tau: float) -> float:
        covariance = 0.25 * np.eye(32) + np.exp(2 * log_tau) * same
        prior = stats.gamma.logpdf(np.exp(log_tau), 3.0, scale=1 / 3.0) + log_tau
        return float(stats.multivariate_normal.logpdf(y, np.zeros(32), covariance) + prior)

    top = weight(0.0)
    line = np.linspace(-4.0, 3.0, 4001)
    masses = np.exp([weight(t) - top for t in line])
    evidence = top + np.log(integrate.simpson(masses, x=line))
    assert fit.log_marginal_likelihood == pytest.approx(evidence, abs=1e-4)
    shares = masses / masses.sum()
    sums = np.array([y[groups == k].sum() for k in range(8)])
    precision = 4 * 4.0 + np.exp(-2 * line)
    means = 4.0 * sums / precision[:, None]
    mean = shares @ means
    sd = np.sqrt(shares @ (1.0 / precision[:, None] + (means - mean) ** 2))
    own = fit.marginal("z")
    np.testing.assert_allclose(own.mean, mean, atol=1e-4)
    np.testing.assert_allclose(own.sd, sd, atol=1e-4)
    tau_mean = shares @ np.exp(line)
    tau_sd = np.sqrt(shares @ (np.exp(line) - tau_mean) ** 2)
    assert float(fit.summary()["tau"].sel(metric="mean")) == pytest.approx(tau_mean, abs=0.02 * tau_sd)
    assert float(fit.summary()["tau"].sel(metric="sd")) == pytest.approx(tau_sd, rel=0.02)


def poisson_with_a_walk() -> pm.Model:
    """Counts along a random walk, with an intercept and a coefficient."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    walk = np.cumsum(0.2 * rng.normal(size=40))
    y = rng.poisson(np.exp(2.0 + 0.3 * x + walk))
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 3.0)
        b = pm.Normal("b", 0.0, 1.0)
        step = pm.HalfNormal("step", 0.5)
        z = pm.GaussianRandomWalk("z", 0.0, step, init_dist=pm.Normal.dist(0.0, 0.1), shape=40)
        pm.Poisson("y", pm.math.exp(a + b * x + z), observed=y)
    return model


def test_the_precision_of_a_walk_is_a_band_with_a_border() -> None:
    """Full columns of coefficients are told apart, and few products give all entries."""
    field = LatentField(TargetDensity(poisson_with_a_walk(), jacobian=True, seed=0), ["a", "b", "z"])
    assert field.structure.width == 1
    np.testing.assert_array_equal(field.structure.full, [0, 1])
    assert len(field.structure.seeds) == 5


def test_the_slope_along_hyperparameters_is_that_of_the_laplace_approximation() -> None:
    """The mode and the log determinant move along with them."""
    field = LatentField(TargetDensity(poisson_with_a_walk(), jacobian=True, seed=0), ["a", "b", "z"])
    x, theta = field.start()
    at = conditional(field, theta, x)
    above, below = (conditional(field, theta + move, at.mode).logp for move in (1e-4, -1e-4))
    np.testing.assert_allclose(at.gradient(), (above - below) / 2e-4, rtol=1e-6)


def test_a_factor_is_that_of_the_dense_matrix() -> None:
    """Determinant, solutions, variances and corrections, whatever the structure."""
    field = LatentField(TargetDensity(poisson_with_a_walk(), jacobian=True, seed=0), ["a", "b", "z"])
    x, theta = field.start()
    at = conditional(field, theta, x)
    products, _ = field.products(at.mode, theta, np.eye(field.size))
    assert at.factor.log_determinant == pytest.approx(np.linalg.slogdet(-products)[1], rel=1e-12)
    inverse = np.linalg.inv(-products)
    right = np.random.default_rng(1).normal(size=field.size)
    np.testing.assert_allclose(at.factor.solve(right), inverse @ right, rtol=1e-8)
    coloured = at.factor.coloured(np.eye(field.size))
    np.testing.assert_allclose(coloured @ coloured.T, inverse, atol=1e-10)
    moments = at.moments()
    np.testing.assert_allclose(moments.sd, np.sqrt(np.diag(inverse)), rtol=1e-8)
    # Of counts, third derivatives are minus the rate along each linear predictor.
    units = np.eye(field.size)
    third = np.array([field.slopes(at.mode, theta, units, np.repeat(u[None], field.size, 0))[0] for u in units])
    np.testing.assert_allclose(moments.shift, 0.5 * inverse @ np.einsum("jki,jk->i", third, inverse), rtol=1e-6)
    expected = np.einsum("jkl,ij,ik,il->i", third, inverse, inverse, inverse)
    np.testing.assert_allclose(moments.skewness * moments.sd**3, expected, rtol=1e-6, atol=1e-12)


def _not_normal() -> None:
    s = pm.HalfNormal("s", 1.0)
    z = pm.StudentT("z", 4.0, 0.0, s, shape=5)
    pm.Normal("y", z, 1.0, observed=np.zeros(5))


def _scaled_by_itself() -> None:
    z = pm.Normal("z", 0.0, 1.0)
    s = pm.HalfNormal("s", pm.math.exp(z))
    pm.Normal("y", z, s, observed=np.zeros(5))


def _positive() -> None:
    z = pm.HalfNormal("z", 1.0)
    pm.Normal("y", z, 1.0, observed=np.zeros(5))


def _many() -> None:
    b = pm.Normal("b", 0.0, 1.0, shape=20)
    z = pm.Normal("z", 0.0, 1.0)
    pm.Normal("y", b + z, 1.0, observed=np.zeros(20))


def _discrete() -> None:
    z = pm.Normal("z", 0.0, 1.0)
    k = pm.Bernoulli("k", 0.5)
    pm.Normal("y", z + k, 1.0, observed=np.zeros(20))


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (_not_normal, r"not normal: its curvature along `z\[.\]`"),
        (_scaled_by_itself, "prior of `s` depends on the latent"),
        (_positive, "not normal: its curvature along `z_log__`"),
        (_many, r"20 hyperparameters.*`b` \(20\)"),
        (_discrete, "`k` is discrete"),
    ],
)
def test_models_of_other_forms_are_refused(declare: Any, message: str) -> None:
    """With the variable at fault."""
    with pm.Model():
        declare()
        with pytest.raises(ModelError, match=message):
            pm.fit(method="inla", latent=["z"])


def test_a_likelihood_without_a_mode_is_refused_with_the_place() -> None:
    """An improper prior, and a likelihood whose curvature outweighs the prior's."""
    with pm.Model():
        s = pm.HalfNormal("s", 1.0)
        z = pm.Normal("z", 0.0, 1.0, shape=3)
        pm.Potential("up", pm.math.sum(s + pm.math.exp(z[1])))
        with pytest.raises(SamplingError, match=r"s_log__ = .*`z\[1\]`"):
            pm.fit(method="inla", latent=["z"])


@pytest.mark.parametrize("latent", [None, [], ["w"]])
def test_names_of_latent_variables_are_checked(latent: Any) -> None:
    """And the free variables listed."""
    with pm.Model():
        pm.Normal("z", 0.0, 1.0)
        with pytest.raises(ModelError, match=r"`latent` .* of `z`"):
            pm.fit_INLA(latent)


def test_a_prior_that_data_do_not_bound_is_refused() -> None:
    """Successes only, with a flat prior: the density grows without end."""
    with pm.Model():
        z = pm.Flat("z")
        s = pm.HalfNormal("s", 1.0)
        u = pm.Normal("u", 0.0, s, shape=10)
        pm.Bernoulli("y", logit_p=z + u, observed=np.ones(10, int))
        with pytest.raises(SamplingError, match=r"along `z`.*proper prior"):
            pm.fit(method="inla", latent=["z", "u"])


def test_hyperparameters_without_a_mode_are_named() -> None:
    """A flat prior of a scale that no data bound."""
    with pm.Model():
        s = pm.HalfFlat("s")
        pm.Normal("z", 0.0, s, shape=3)
        with pytest.raises(SamplingError, match=r"no mode that could be found, most along `s_log__`"):
            pm.fit(method="inla", latent="z")


def test_hyperparameters_far_from_the_start_are_reached() -> None:
    """A mean of ten thousand, with a wide prior, as a hyperparameter."""
    y = 1e4 + np.array([0.3, -0.2, 0.1, 0.4])
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 1e5)
        z = pm.Normal("z", mu, 1.0)
        pm.Normal("y", z, 1.0, observed=y)
        fit = pm.fit(method="inla", latent="z", random_seed=1)
    # The mean of the data and what lies around it are independent.
    around = stats.norm.logpdf(y - y.mean()).sum() - stats.norm.logpdf(0.0, 0.0, 0.5)
    evidence = around + stats.norm.logpdf(y.mean(), 0.0, np.sqrt(1e10 + 1.25))
    assert fit.log_marginal_likelihood == pytest.approx(evidence, abs=1e-4)
    assert float(fit.marginal("z").mean) == pytest.approx(y.mean(), abs=1e-3)


def test_entries_that_come_up_later_are_found() -> None:
    """Two elements act together beyond a point only, where the mode lies but not the start."""
    y = np.array([3.0, 5.0, 2.0])
    with pm.Model():
        s = pm.HalfNormal("s", 1.0)
        z = pm.Normal("z", 0.0, 1.0, shape=3)
        pm.Normal("y", z, 0.1 + 0.0 * s, observed=y)
        pm.Potential("p", pm.math.switch(z[0] > 2.0, -0.5 * (z[1] - z[2]) ** 2, 0.0))
        fit = pm.fit(method="inla", latent="z", random_seed=1)
    precision = np.diag(np.full(3, 101.0)) + np.array([[0, 0, 0], [0, 1, -1], [0, -1, 1]])
    np.testing.assert_allclose(fit.marginal("z").mean, np.linalg.solve(precision, 100.0 * y), atol=1e-6)
    np.testing.assert_allclose(fit.marginal("z").sd, np.sqrt(np.diag(np.linalg.inv(precision))), rtol=1e-6)


@pytest.mark.parametrize("full", [0, 2, 9])
@pytest.mark.parametrize("width", [0, 1, 3, 8])
def test_factors_of_bands_with_borders_are_those_of_dense_matrices(width: int, full: int) -> None:
    """Entries from products, determinant, solutions and selected entries of the inverse."""
    n = 60
    rng = np.random.default_rng(width + 10 * full)
    i, j = np.indices((n, n))
    matrix = np.where(np.abs(i - j) <= width, rng.normal(size=(n, n)), 0.0)
    columns = rng.permutation(n)[:full]
    matrix[columns] = rng.normal(size=(full, n))
    matrix = matrix + matrix.T
    matrix += np.diag(1.0 + 2.0 * np.abs(matrix).sum(0))
    turn = rng.permutation(n)
    matrix = matrix[turn][:, turn]
    structure = structure_of(sparse.csr_matrix(matrix != 0.0))
    assert len(structure.full) >= full
    assert structure.width <= 3 * width
    entries = structure.entries(structure.seeds @ matrix)
    np.testing.assert_allclose(entries, matrix[structure.rows, structure.columns], rtol=1e-14)
    vector = rng.normal(size=n)
    np.testing.assert_allclose(structure.times(entries, vector), matrix @ vector, rtol=1e-10, atol=1e-10)
    factor, inverse = Factor(structure, entries), np.linalg.inv(matrix)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-12)
    np.testing.assert_allclose(factor.solve(vector), inverse @ vector, rtol=1e-9, atol=1e-12)
    selected, diagonal = factor.selected()
    np.testing.assert_allclose(selected, inverse[structure.rows, structure.columns], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(diagonal, np.diag(inverse), rtol=1e-10)
    weights = structure.weights(selected)
    assert (weights * (structure.seeds @ matrix)).sum() == pytest.approx(n)
    with pytest.raises(np.linalg.LinAlgError):
        Factor(structure, structure.entries(structure.seeds @ (matrix - 1e4 * np.eye(n))))


@pytest.mark.parametrize("dimension", range(1, 16))
def test_composite_designs_integrate_polynomials_of_degree_three(dimension: int) -> None:
    """Against a standard normal density; products of two coordinates too."""
    points, weights = composite(dimension)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ points, 0.0, atol=1e-12)
    np.testing.assert_allclose((points.T * weights) @ points, np.eye(dimension), atol=1e-12)
    third = np.einsum("p,pi,pj,pk->ijk", weights, points, points, points)
    np.testing.assert_allclose(third, 0.0, atol=1e-12)
    if dimension > 2:
        corners = points[1 : len(points) - 2 * dimension] / 1.1
        fourth = np.mean(corners[:, 0] * corners[:, 1] * corners[:, 2] * corners[:, -1])
        assert fourth == pytest.approx(0.0 if dimension > 3 else np.mean(corners[:, 0] * corners[:, 1]))


@pytest.mark.parametrize("skewness", [0.0, 1e-4, 0.02, -0.4, 1.3])
def test_parts_of_mixtures_have_the_moments_that_they_are_given(skewness: float) -> None:
    """Of one part; densities, probabilities and quantiles agree."""
    part = SkewedMixture(np.ones(1), np.array([0.7]), np.array([1.8]), np.array([skewness]))
    x = np.linspace(-20.0, 40.0, 60_001)
    density = part.pdf(x)
    step = x[1] - x[0]
    mean = (density * x).sum() * step
    assert mean == pytest.approx(0.7, abs=1e-5)
    assert (density * (x - mean) ** 2).sum() * step == pytest.approx(1.8**2, rel=1e-4)
    assert (density * (x - mean) ** 3).sum() * step / 1.8**3 == pytest.approx(skewness, abs=1e-3)
    np.testing.assert_allclose(np.cumsum(density) * step, part.cdf(x + 0.5 * step), atol=1e-5)
    for p in (0.01, 0.5, 0.9):
        assert part.cdf(part.quantile(p)) == pytest.approx(p, abs=1e-10)
    draws = skewed(np.random.default_rng(1).normal(size=100_000), np.array(skewness))
    assert stats.skew(draws) == pytest.approx(skewness, abs=0.06)


def test_three_hyperparameters_are_integrated_by_a_composite_design() -> None:
    """Effects of unknown mean and variance with unknown noise, the mean as a hyperparameter or as a latent variable.

    Designs are exact for polynomials of degree 3 times a normal density; posteriors of variances have longer tails.
    """
    y = 1.0 + RNG.normal(size=20)[:, None] * 0.8 + 0.5 * RNG.normal(size=(20, 6))
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 2.0)
        tau = pm.HalfNormal("tau", 1.0)
        sigma = pm.HalfNormal("sigma", 1.0)
        z = pm.Normal("z", 0.0, tau, shape=20)
        pm.Normal("y", mu + z[:, None], sigma, observed=y)
        fits = {design: pm.fit(method="inla", latent=["z"], design=design, random_seed=1) for design in ("ccd", "grid")}
        exact = pm.fit(method="inla", latent=["mu", "z"], random_seed=1)
    assert fits["ccd"].log_marginal_likelihood == pytest.approx(exact.log_marginal_likelihood, abs=0.05)
    assert fits["grid"].log_marginal_likelihood == pytest.approx(exact.log_marginal_likelihood, abs=1e-3)
    own = exact.marginal("z")
    np.testing.assert_allclose(fits["ccd"].marginal("z").mean, own.mean, atol=0.01 * own.sd.max())
    np.testing.assert_allclose(fits["ccd"].marginal("z").sd, own.sd, rtol=0.05)
    np.testing.assert_allclose(fits["grid"].marginal("z").sd, own.sd, rtol=0.002)
    draws = fits["ccd"].sample(2000, random_seed=3)["posterior"].to_dataset()
    assert float(draws["mu"].mean()) == pytest.approx(
        float(exact.marginal("mu").mean), abs=0.1 * float(draws["mu"].std())
    )
    same = fits["ccd"].sample(2000, random_seed=3)["posterior"].to_dataset()
    assert draws.identical(same.assign_attrs(draws.attrs))
