"""Correlation matrices and covariances of Lewandowski, Kurowicka and Joe: densities, draws, moments, models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

import consilience as pm
import consilience.distributions as pd
from consilience.backends.function import function
from consilience.distributions import transforms
from consilience.errors import ParameterError, ShapeError, SupportError
from consilience.ir import constant, tensor_input
from consilience.ops.parameter_check import released
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

RNG = np.random.default_rng(2009)
SPREAD = pd.LogNormal.dist(0.3, 0.5)
spread = scipy.stats.lognorm(0.5, 0, np.exp(0.3))


def of_vine(eta: float, n: int, factor: np.ndarray) -> float:
    """The density by independent beta variables for the partial correlations, each given all earlier columns."""
    total = 0.0
    for row in range(1, n):
        for column in range(row):
            rest = np.sqrt((factor[row, column:] ** 2).sum())
            shape = eta + (n - 2 - column) / 2
            total += scipy.stats.beta(shape, shape, -1, 2).logpdf(factor[row, column] / rest)
            total -= np.log(rest)  # the element of the factor as a function of the partial correlation
    return total


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("eta", [0.4, 1.0, 3.5])
def test_density_is_that_of_the_vine(n, eta) -> None:
    """Batches of factors and of eta, against a second formula with its own normaliser."""
    y = RNG.normal(size=(3, n * (n - 1) // 2))
    factors = value_of(transforms.correlation_partials.backward(constant(y)))
    expected = [of_vine(eta, n, factor) for factor in factors]
    assert_allclose(value_of(pd.logp(pd.LKJCorr.dist(n, eta), factors)), expected, rtol=1e-10, atol=1e-12)
    many = pd.LKJCorr.dist(n=n, eta=np.full(3, eta))
    assert many.static_shape == (3, n, n)
    assert_allclose(value_of(pd.logp(many, factors)), expected, rtol=1e-10, atol=1e-12)


def test_normaliser_is_exact_for_large_eta() -> None:
    """The integral of (1 - r^2)^(eta - 1) is B(1/2, eta): no digits lost at 1e12, finite at both ends."""
    for eta in (1e-9, 1.0, 1e6, 1e12):
        result = value_of(pd.logp(pd.LKJCorr.dist(2, eta), np.eye(2)))
        expected = -scipy.special.betaln(0.5, eta) if eta < 1e3 else 0.5 * np.log(eta / np.pi)
        assert_allclose(result, expected, rtol=1e-6 if eta == 1e6 else 1e-12)
    for eta in (1e-300, 1e300):
        assert np.isfinite(value_of(pd.logp(pd.LKJCorr.dist(4, eta), np.eye(4))))


@pytest.mark.parametrize("eta", [1.5])
def test_integrates_to_one_on_the_unconstrained_side(eta) -> None:
    """Three correlations, and covariances of two: sums over a grid, whose error is of order exp(-pi^2 / 0.4)."""
    grid = np.arange(-10.8, 11.0, 0.4)
    points = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
    y = tensor_input("float64", (len(points), 3), "y")
    factor = transforms.correlation_partials.backward(y)
    density = pd.density(pd.LKJCorr.dist(3, eta), factor) + transforms.correlation_partials.log_jacobian_determinant(y)
    densities = np.exp(function([y], density)(points))
    assert_allclose(densities.sum() * 0.4**3, 1.0, rtol=1e-6)

    covariances = pd.LKJCholeskyCov.dist(eta, 2, SPREAD, compute_corr=False)
    transform = transforms.covariance_partial
    total = pd.density(covariances, transform.backward(y)) + transform.log_jacobian_determinant(y)
    densities = np.exp(function([y], total)(points * [0.3, 1.0, 0.3]))
    assert_allclose(densities.sum() * 0.12 * 0.4 * 0.12, 1.0, rtol=1e-6)


@pytest.mark.parametrize("eta", [0.7, 4.0])
def test_draws_have_the_law_of_the_density(eta) -> None:
    """Each correlation is a stretched beta variable, determinants products of betas; moments as declared."""
    n, count = 4, 20_000
    rv = pd.LKJCorr.dist(n, eta)
    factors = pd.draw(rv, count, random_seed=3)
    assert (factors == np.tril(factors)).all()
    draws = factors @ factors.swapaxes(1, 2)
    assert_allclose(np.diagonal(draws, axis1=1, axis2=2), 1.0, rtol=1e-14)
    shape = eta + (n - 2) / 2
    for row, column in ((1, 0), (3, 0), (3, 2)):
        law = scipy.stats.beta(shape, shape, -1, 2)
        assert scipy.stats.kstest(draws[:, row, column], law.cdf).pvalue > 1e-4
    squared = 1.0
    for row in range(1, n):
        squared *= scipy.stats.beta(eta + (n - 1 - row) / 2, row / 2).mean()
    determinants = np.linalg.det(draws)
    assert abs(determinants.mean() - squared) < 5 * determinants.std() / np.sqrt(count)
    variance = value_of(pd.variance(rv))
    assert_allclose(factors.var(0), variance, atol=5 * np.sqrt(2 / count))
    assert_allclose(value_of(pd.mean(rv)), factors.mean(0), atol=5 / np.sqrt(count))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_covariance_factors_have_the_density_of_scale_times_correlation(n) -> None:
    """The factor's density from those of its standard deviations and correlations, by the Jacobian of differences."""
    eta = 1.7
    vector = value_of(transforms.covariance_partial.backward(constant(RNG.normal(size=n * (n + 1) // 2))))
    factor = np.zeros((n, n))
    factor[np.tril_indices(n)] = vector

    def parts(packed: np.ndarray) -> np.ndarray:
        matrix = np.zeros((n, n))
        matrix[np.tril_indices(n)] = packed
        sd = np.sqrt((matrix**2).sum(1))
        correlation = (matrix / sd[:, None]) @ (matrix / sd[:, None]).T
        return np.concatenate([sd, correlation[np.tril_indices(n, -1)]])

    steps = 1e-6 * np.eye(vector.size)
    slopes = np.array([(parts(vector + step) - parts(vector - step)) / 2e-6 for step in steps])
    sd = parts(vector)[:n]
    correlation = (factor / sd[:, None]) @ (factor / sd[:, None]).T
    expected = spread.logpdf(sd).sum() + np.linalg.slogdet(slopes)[1]
    if n > 1:
        own = np.linalg.cholesky(correlation)
        expected += value_of(pd.logp(pd.LKJCorr.dist(n, eta), own))
        expected -= (np.arange(n - 1.0, -1.0, -1.0) * np.log(np.diagonal(own))).sum()
    for components in (SPREAD, pd.LogNormal.dist(0.3, 0.5, shape=n)):
        rv = pd.LKJCholeskyCov.dist(eta, n, components, compute_corr=False)
        assert_allclose(value_of(pd.logp(rv, vector)), expected, rtol=1e-7)


def test_covariance_factors_have_their_moments() -> None:
    """Draws, and the standard deviations in them, with one distribution per row; batches of eta."""
    scales = pd.LogNormal.dist([0.0, 0.5, -1.0], 0.3)
    rv = pd.LKJCholeskyCov.dist(1.5, 3, scales, compute_corr=False)
    count = 20_000
    draws = pd.draw(rv, count, random_seed=4)
    mean, variance = value_of(pd.mean(rv)), value_of(pd.variance(rv))
    assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(variance / count)).all()
    assert_allclose(draws.var(0), variance, rtol=0.1)
    last = np.sqrt((draws[:, 3:] ** 2).sum(-1))
    assert scipy.stats.kstest(last, scipy.stats.lognorm(0.3, 0, np.exp(-1.0)).cdf).pvalue > 1e-4
    batch = pd.LKJCholeskyCov.dist([1.0, 2.0], 3, scales, compute_corr=False)
    assert batch.static_shape == (2, 6)
    assert pd.draw(batch, 5, random_seed=1).shape == (5, 2, 6)
    assert value_of(pd.support_point(batch)).shape == (2, 6)


def test_result_is_the_factor_the_correlations_and_the_deviations() -> None:
    """Outside a model three expressions; inside, PyMC's names besides; `compute_corr=False` gives the vector."""
    with pm.Model() as model:
        factor, correlation, deviations = pd.LKJCholeskyCov("chol", eta=2.0, n=3, sd_dist=pd.Exponential.dist(1.0))
    assert [v.name for v in model.free_RVs] == ["chol"]
    assert list(model.named_vars) == ["chol", "chol_corr", "chol_stds"]
    assert [v.name for v in model.deterministics] == ["chol_corr", "chol_stds"]
    assert (factor.static_shape, correlation.static_shape, deviations.static_shape) == ((3, 3), (3, 3), (3,))
    values = dict(zip("LRs", pm.draw([factor, correlation, deviations], random_seed=1), strict=True))
    scaled = values["s"][:, None] * values["R"] * values["s"]
    assert_allclose(values["L"] @ values["L"].T, scaled, rtol=1e-12)
    outside = pd.LKJCholeskyCov.dist(2.0, 3, pd.Exponential.dist(1.0))
    assert [node.static_shape for node in outside] == [(3, 3), (3, 3), (3,)]
    with pm.Model() as model:
        vector = pd.LKJCholeskyCov("chol", 2.0, 3, pd.Exponential.dist(1.0), compute_corr=False)
        pd.LKJCholeskyCov("other", 2.0, 3, pd.Exponential.dist(1.0), store_in_trace=False)
    assert vector.static_shape == (6,)
    assert list(model.named_vars) == ["chol", "other"]


def test_correlations_come_as_their_cholesky_factor() -> None:
    """As in PyMC 6; what PyMC 5 gave is named, with what to write for it. Numbers of PyMC 6.4."""
    factor = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.48, 0.28, np.sqrt(1.0 - 0.48**2 - 0.28**2)]]
    found = value_of(pd.logp(pd.LKJCorr.dist(3, [0.7, 2.0]), factor))
    assert_allclose(found, [-2.06266298, -1.65424005], rtol=1e-7)
    for matrix in (False, True):
        with pm.Model(), pytest.raises(TypeError, match=r"the Cholesky factor L, and `L @ L.mT` the matrix of correl"):
            pd.LKJCorr("R", 3, 2.0, return_matrix=matrix)


def test_covariance_of_correlated_effects_is_found() -> None:
    """The posterior of n standard deviations and correlations, against importance weights on exact prior draws."""
    rng = np.random.default_rng(5)
    truth = np.array([[1.0, 0.6, -0.3], [0.6, 1.5, 0.1], [-0.3, 0.1, 0.5]])
    data = rng.multivariate_normal(np.zeros(3), truth, 6)
    with pm.Model():
        factor, _, _ = pd.LKJCholeskyCov("chol", 2.0, 3, pd.LogNormal.dist(0.0, 0.5))
        pd.MvNormal("y", 0.0, chol=factor, observed=data)
        result = pm.sample(1000, tune=600, target_accept=0.9, chains=2, cores=1, progressbar=False, random_seed=3)
    parts = pd.LKJCholeskyCov.dist(2.0, 3, pd.LogNormal.dist(0.0, 0.5))
    factors, correlations, deviations = pd.draw(parts, 60_000, random_seed=9)
    logs = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(-1)
    inverses = np.linalg.inv(factors)
    squares = np.einsum("nij,kj->nik", inverses, data)
    weights = -len(data) * logs - 0.5 * (squares**2).sum((-2, -1))
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    size = 1 / (weights**2).sum()
    assert size > 1000
    posterior = result.posterior
    for name, exact in (("chol_corr", correlations), ("chol_stds", deviations)):
        mean = np.tensordot(weights, exact, 1)
        spreads = np.sqrt(np.tensordot(weights, (exact - mean) ** 2, 1))
        found = np.asarray(posterior[name]).reshape(-1, *mean.shape)
        assert (np.abs(found.mean(0) - mean) <= 5 * spreads * np.sqrt(1 / 1000 + 1 / size) + 1e-12).all()
        assert_allclose(found.std(0), spreads, rtol=0.2, atol=1e-12)


def test_gradients_agree_with_differences() -> None:
    """Of the packed density, along the value, eta and the scale of the deviations; both backends."""
    value = value_of(transforms.covariance_partial.backward(constant(RNG.normal(size=6))))
    x, eta, scale = (tensor_input("float64", shape, name) for shape, name in (((6,), "x"), ((), "eta"), ((), "s")))
    node = released([pd.logp(pd.LKJCholeskyCov.dist(eta, 3, pd.HalfNormal.dist(scale), compute_corr=False), x)])[0]
    compiled = function([x, eta, scale], [node, *gradient(node, [x, eta, scale])])
    density, *slopes = compiled(value, 1.5, 0.8)
    assert_allclose(density, value_of(node, {x: value, eta: 1.5, scale: 0.8}), rtol=1e-12)
    flat = np.concatenate([value, [1.5, 0.8]])
    for place, slope in enumerate(np.concatenate([np.ravel(s) for s in slopes])):
        step = 1e-6 * np.eye(8)[place]
        above, below = (compiled(f[:6], f[6], f[7])[0] for f in (flat + step, flat - step))
        assert_allclose(slope, (above - below) / 2e-6, rtol=1e-6, atol=1e-7)


def test_wrong_parameters_and_values_are_refused_with_a_reason() -> None:
    """One row has no correlations; n is known beforehand; matrices that are no correlation matrices."""
    with pytest.raises(ParameterError, match="LKJCorr: n must be a whole number >= 2, got 1"):
        pd.LKJCorr.dist(1, 1.0)
    with pytest.raises(ParameterError, match="n must be a number known when the variable is made"):
        pd.LKJCorr.dist(tensor_input("int64", (), "n"), 1.0)
    with pytest.raises(ParameterError, match="eta must be > 0, got -1"):
        pd.LKJCorr.dist(2, -1.0)
    with pytest.raises(ShapeError, match=r"sd_dist must be one distribution or n = 3 of them, got the shape \(2,\)"):
        pd.LKJCholeskyCov.dist(1.0, 3, pd.Exponential.dist(1.0, shape=2))
    with pytest.raises(ParameterError, match="sd_dist must be a distribution of positive numbers, got Normal"):
        pd.LKJCholeskyCov.dist(1.0, 3, pd.Normal.dist(0.0, 1.0))
    with pytest.raises(TypeError, match="sd_dist must be a distribution such as"):
        pd.LKJCholeskyCov.dist(1.0, 3, 1.0)
    correlations = np.array([[1.0, 0.2], [0.2, 1.0]])
    for wrong in (2.0 * np.eye(2), correlations, np.diag([1.0, -1.0])):
        assert value_of(pd.logp(pd.LKJCorr.dist(2, 1.0), wrong)) == -np.inf
        with pm.Model(), pytest.raises(SupportError, match="lower triangular with a positive diagonal and rows of len"):
            pd.LKJCorr("R", 2, 1.0, observed=wrong)
