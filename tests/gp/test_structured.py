"""Inducing points and Kronecker products against the multivariate normals that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm

RNG = np.random.default_rng(8)
N = 40
X = RNG.uniform(0.0, 5.0, size=(N, 1))
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=N)
XU = np.linspace(0.0, 5.0, 8)[:, None]
NEW = np.array([[0.7], [2.2], [6.0]])
SIGMA = 0.3


def inducing(approx: str, Xu: Any = XU) -> tuple[pm.Model, Any]:
    with pm.Model() as model:
        ls = pm.Gamma("ls", 3.0, 2.0)
        gp = pm.gp.MarginalApprox(approx, cov_func=1.5 * pm.gp.cov.Matern52(1, ls))
        gp.marginal_likelihood("y", X, Xu, Y, sigma=SIGMA)
    return model, gp


def matrices(Xu: Any = XU) -> tuple[Any, ...]:
    """Kff, Kuu, Kuf and Qff = Kfu Kuu^-1 Kuf."""
    cov = 1.5 * pm.gp.cov.Matern52(1, 0.8)
    Kuu = cov(Xu).eval() + 1e-6 * np.eye(len(Xu))
    Kuf = cov(Xu, X).eval()
    return cov(X).eval(), Kuu, Kuf, Kuf.T @ np.linalg.solve(Kuu, Kuf)


def approximated(approx: str) -> tuple[Any, float]:
    Kff, _, _, Qff = matrices()
    left = np.diag(Kff - Qff)
    covariance = Qff + SIGMA**2 * np.eye(N) + (np.diag(left) if approx == "FITC" else 0.0)
    return covariance, 0.5 * left.sum() / SIGMA**2 if approx == "VFE" else 0.0


@pytest.mark.parametrize("approx", ["DTC", "FITC", "VFE"])
class TestInducingPoints:
    def test_the_log_density_is_that_of_low_rank_plus_diagonal(self, approx: str) -> None:
        model, _ = inducing(approx)
        covariance, lost = approximated(approx)
        wanted = stats.multivariate_normal.logpdf(Y, np.zeros(N), covariance) - lost
        values = {"ls_log__": np.log(0.8)}
        assert model.compile_logp(vars=model["y"])(values) == pytest.approx(wanted, rel=1e-9)
        logp, slope = model.compile_logp(), model.compile_dlogp()(values)
        up, down = (logp({"ls_log__": np.log(0.8) + d}) for d in (1e-5, -1e-5))
        assert slope[0] == pytest.approx((up - down) / 2e-5, rel=1e-5)

    def test_predictions_follow_the_low_rank_formula(self, approx: str) -> None:
        model, gp = inducing(approx)
        _, Kuu, Kuf, _ = matrices()
        cov = 1.5 * pm.gp.cov.Matern52(1, 0.8)
        diagonal = np.diag(approximated(approx)[0] - matrices()[3])
        Kus = cov(XU, NEW).eval()
        inner = np.linalg.inv(Kuu + (Kuf / diagonal) @ Kuf.T)
        mean, covariance = gp.predict(NEW, point={"ls": 0.8}, model=model)
        np.testing.assert_allclose(mean, Kus.T @ inner @ (Kuf / diagonal) @ Y, atol=1e-8)
        wanted = cov(NEW).eval() - Kus.T @ np.linalg.solve(Kuu, Kus) + Kus.T @ inner @ Kus
        np.testing.assert_allclose(covariance, wanted, atol=1e-8)
        variances = gp.predict(NEW, point={"ls": 0.8}, diag=True, pred_noise=True, model=model)[1]
        np.testing.assert_allclose(variances, np.diag(wanted) + SIGMA**2, atol=1e-8)

    def test_with_all_points_inducing_it_is_exact(self, approx: str) -> None:
        model, _ = inducing(approx, X)
        exact = stats.multivariate_normal.logpdf(Y, np.zeros(N), matrices()[0] + SIGMA**2 * np.eye(N))
        assert model.compile_logp(vars=model["y"])({"ls_log__": np.log(0.8)}) == pytest.approx(exact, abs=2e-3)


def test_draws_through_inducing_points_have_their_covariance() -> None:
    with pm.Model():
        gp = pm.gp.MarginalApprox("FITC", cov_func=pm.gp.cov.ExpQuad(1, 0.8))
        gp.marginal_likelihood("y", X[:3], X[1:3], Y[:3], sigma=0.4)
        draws = pm.sample_prior_predictive(20_000, random_seed=2).prior_predictive["y"].values[0]
    function = pm.gp.cov.ExpQuad(1, 0.8)
    across = function(X[1:3], X[:3]).eval()
    low = across.T @ np.linalg.solve(function(X[1:3]).eval(), across)
    wanted = low + np.diag(np.diag(function(X[:3]).eval() - low)) + 0.16 * np.eye(3)
    np.testing.assert_allclose(np.cov(draws.T), wanted, atol=0.05)


AXES = [np.linspace(0.0, 2.0, 4)[:, None], RNG.normal(size=(3, 1)), np.array([[0.0], [1.0]])]
GRID = np.array([[*a, *b, *c] for a in AXES[0] for b in AXES[1] for c in AXES[2]])
Z = RNG.normal(size=24)
PLACES = np.array([[0.3, 0.1, 0.5], [1.0, -1.0, 0.0]])
POINT = {"ls": 0.8, "s": 0.3}
VALUES = {name + "_log__": np.log(value) for name, value in POINT.items()}


def kernels(ls: Any) -> list[Any]:
    return [1.5 * pm.gp.cov.Matern52(1, ls), pm.gp.cov.ExpQuad(1, 2.0 * ls), pm.gp.cov.Matern12(1, 1.0)]


def on_grid() -> tuple[pm.Model, Any]:
    with pm.Model() as model:
        ls, s = pm.Gamma("ls", 3.0, 2.0), pm.HalfNormal("s", 1.0)
        gp = pm.gp.MarginalKron(mean_func=pm.gp.mean.Constant(0.5), cov_funcs=kernels(ls))
        gp.marginal_likelihood("y", AXES, Z, sigma=s)
    return model, gp


def whole(a: Any, b: Any) -> Any:
    return pm.gp.cov.Kron(kernels(0.8))(a, b).eval()


def test_the_density_on_a_grid_is_that_of_the_kronecker_product_with_noise() -> None:
    model, _ = on_grid()
    product = np.kron(
        np.kron(*(k(x).eval() for k, x in zip(kernels(0.8)[:2], AXES[:2], strict=True))),
        kernels(0.8)[2](AXES[2]).eval(),
    )
    np.testing.assert_allclose(product, whole(GRID, GRID), atol=1e-14)
    wanted = stats.multivariate_normal.logpdf(Z, np.full(24, 0.5), product + 0.09 * np.eye(24))
    assert model.compile_logp(vars=model["y"])(VALUES) == pytest.approx(wanted, rel=1e-11)


def test_the_gradient_on_a_grid_is_that_of_differences() -> None:
    model, _ = on_grid()
    logp, slope = model.compile_logp(), model.compile_dlogp()(VALUES)
    for place, name in enumerate(VALUES):
        up, down = (logp({**VALUES, name: VALUES[name] + d}) for d in (1e-5, -1e-5))
        assert slope[place] == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_predictions_from_a_grid_are_those_of_the_conditional_normal() -> None:
    model, gp = on_grid()
    total = whole(GRID, GRID) + 0.09 * np.eye(24)
    gain = np.linalg.solve(total, whole(GRID, PLACES)).T
    mean, covariance = gp.predict(PLACES, point=POINT, model=model)
    np.testing.assert_allclose(mean, 0.5 + gain @ (Z - 0.5), atol=1e-10)
    wanted = whole(PLACES, PLACES) - gain @ whole(GRID, PLACES)
    np.testing.assert_allclose(covariance, wanted, atol=1e-10)
    np.testing.assert_allclose(gp.predict(PLACES, POINT, True, True, model)[1], np.diag(wanted) + 0.09, atol=1e-10)


def test_the_mode_and_the_curvature_on_a_grid_are_found() -> None:
    model, _ = on_grid()
    mode = pm.find_MAP(model=model, starts=1)
    slope, place = model.compile_dlogp(), {name: mode[name] for name in VALUES}
    rows = [
        (slope({**place, name: place[name] + 1e-5}) - slope({**place, name: place[name] - 1e-5})) / 2e-5
        for name in VALUES
    ]
    found = model.compile_d2logp(negate_output=False)(place)
    np.testing.assert_allclose(found, rows, rtol=1e-5, atol=1e-6)


def test_equal_eigenvalues_leave_the_gradient_finite() -> None:
    """All points of one axis are so far apart that its matrix is a multiple of the identity."""
    far = 1e4 * np.arange(3.0)[:, None]
    with pm.Model() as model:
        ls = pm.Gamma("ls", 3.0, 2.0)
        gp = pm.gp.MarginalKron(cov_funcs=[pm.gp.cov.ExpQuad(1, ls), pm.gp.cov.ExpQuad(1, ls)])
        gp.marginal_likelihood("y", [far, AXES[0]], Z[:12], sigma=0.3)
    values = {"ls_log__": np.log(0.8)}
    up, down = (model.compile_logp()({"ls_log__": np.log(0.8) + d}) for d in (1e-5, -1e-5))
    assert model.compile_dlogp()(values)[0] == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_latent_values_on_a_grid_are_turned_by_the_product_of_factors_and_conditioned_on() -> None:
    with pm.Model() as model:
        gp = pm.gp.LatentKron(cov_funcs=kernels(0.8))
        gp.prior("f", AXES)
        gp.conditional("g", PLACES)
    small = [k(x).eval() + 1e-6 * np.eye(len(x)) for k, x in zip(kernels(0.8), AXES, strict=True)]
    total = np.kron(np.kron(small[0], small[1]), small[2])
    f = np.linalg.cholesky(total) @ Z
    g = np.array([0.2, -0.4])
    found = model.compile_fn(model.replace_rvs_by_values([model["f"]]), inputs=model.value_vars)(
        {"f_rotated_": Z, "g": g}
    )
    np.testing.assert_allclose(found[0], f, atol=1e-12)
    gain = np.linalg.solve(total, whole(GRID, PLACES)).T
    covariance = whole(PLACES, PLACES) - gain @ whole(GRID, PLACES) + 1e-6 * np.eye(2)
    wanted = stats.multivariate_normal.logpdf(g, gain @ f, covariance)
    assert model.compile_logp(vars=model["g"])({"f_rotated_": Z, "g": g}) == pytest.approx(wanted, rel=1e-8)


def test_a_grid_with_noise_is_sampled_on_threads_and_drawn() -> None:
    model, _ = on_grid()
    with model:
        posterior = pm.sample(
            50, tune=100, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
        drawn = pm.sample_prior_predictive(20, random_seed=1)
    assert np.isfinite(posterior.posterior["ls"]).all()
    assert drawn.prior_predictive["y"].shape == (1, 20, 24)


def test_draws_on_a_grid_have_its_covariance() -> None:
    with pm.Model():
        gp = pm.gp.MarginalKron(cov_funcs=kernels(0.8)[1:])
        gp.marginal_likelihood("y", AXES[1:], np.zeros(6), sigma=0.4)
        draws = pm.sample_prior_predictive(20_000, random_seed=2).prior_predictive["y"].values[0]
    small = [k(x).eval() for k, x in zip(kernels(0.8)[1:], AXES[1:], strict=True)]
    np.testing.assert_allclose(np.cov(draws.T), np.kron(*small) + 0.16 * np.eye(6), atol=0.06)


def test_outputs_share_a_process_by_coregionalisation() -> None:
    """Two outputs of the same inputs: the covariance is the Kronecker product of B and that of the inputs."""
    B = np.array([[1.0, 0.7], [0.7, 2.0]])
    inputs = np.array([[x, output] for output in (0.0, 1.0) for x in X[:6, 0]])
    cov = pm.gp.cov.ExpQuad(2, 0.8, active_dims=[0]) * pm.gp.cov.Coregion(2, B=B, active_dims=[1])
    with pm.Model() as model:
        pm.gp.Marginal(cov_func=cov).marginal_likelihood("y", inputs, Y[:12], sigma=SIGMA)
    total = np.kron(B, pm.gp.cov.ExpQuad(1, 0.8)(X[:6]).eval()) + (SIGMA**2 + 1e-6) * np.eye(12)
    wanted = stats.multivariate_normal.logpdf(Y[:12], np.zeros(12), total)
    assert model.compile_logp()({}) == pytest.approx(wanted, rel=1e-10)
