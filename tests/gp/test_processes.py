"""Gaussian processes against the formulas of multivariate normals, in models that are evaluated and sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import (
    ConsilienceWarning,
    LinearAlgebraError,
    ModelError,
    ParameterError,
    ShapeError,
)

Floats = npt.NDArray[np.float64]
RNG = np.random.default_rng(5)
N = 30
PLACES = RNG.permutation(np.linspace(0.0, 6.0, N) + 0.05 * RNG.normal(size=N))
X = PLACES[:, None]
Y = np.sin(PLACES) + 0.2 * RNG.normal(size=N)
NEW = np.array([[-0.5], [1.3], [2.0], [9.0]])
POINT = {"ls": 0.8, "eta": 1.4, "s": 0.3}
VALUES = {f"{name}_log__": np.log(value) for name, value in POINT.items()}
JITTER = 1e-6
KINDS = ["Matern12", "Matern32", "Matern52", "Exponential", "ExpQuad"]


def kernel(kind: str, a: Floats, b: Floats, ls: float = 0.8, eta: float = 1.4) -> Floats:
    return np.asarray(eta**2 * getattr(pm.gp.cov, kind)(1, ls)(a, b).eval())


def parameters() -> tuple[Any, Any, Any]:
    return pm.Gamma("ls", 3.0, 2.0), pm.HalfNormal("eta", 2.0), pm.HalfNormal("s", 1.0)


def observed(kind: str) -> tuple[pm.Model, Any]:
    with pm.Model() as model:
        ls, eta, s = parameters()
        gp = pm.gp.Marginal(mean_func=pm.gp.mean.Constant(0.4), cov_func=eta**2 * getattr(pm.gp.cov, kind)(1, ls))
        gp.marginal_likelihood("y", X, Y, sigma=s)
    return model, gp


def normal_given(total: Floats, across: Floats, own: Floats, residual: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of a part of a normal vector, given the rest."""
    gain = np.linalg.solve(total, across).T
    return gain @ residual, own - gain @ across


def density_of(model: pm.Model, name: str = "y", values: dict[str, Any] | None = None) -> float:
    given = {**VALUES} if values is None else values
    return float(model.compile_logp(vars=model[name], sum=True)(given))


@pytest.mark.parametrize("kind", KINDS)
class TestMarginal:
    def test_the_log_density_is_that_of_the_multivariate_normal(self, kind: str) -> None:
        model, _ = observed(kind)
        total = kernel(kind, X, X) + (POINT["s"] ** 2 + JITTER) * np.eye(N)
        wanted = stats.multivariate_normal.logpdf(Y, np.full(N, 0.4), total)
        assert density_of(model) == pytest.approx(wanted, rel=1e-10)

    def test_the_gradient_is_that_of_differences(self, kind: str) -> None:
        model, _ = observed(kind)
        logp, slope = model.compile_logp(), model.compile_dlogp()(VALUES)
        for place, name in enumerate(["ls_log__", "eta_log__", "s_log__"]):
            up, down = (logp({**VALUES, name: VALUES[name] + d}) for d in (1e-5, -1e-5))
            assert slope[place] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)

    def test_predictions_are_those_of_the_conditional_normal(self, kind: str) -> None:
        model, gp = observed(kind)
        total = kernel(kind, X, X) + (POINT["s"] ** 2 + JITTER) * np.eye(N)
        mean, covariance = normal_given(total, kernel(kind, X, NEW), kernel(kind, NEW, NEW), Y - 0.4)
        found = gp.predict(NEW, point=POINT, model=model)
        np.testing.assert_allclose(found[0], 0.4 + mean, atol=1e-10)
        np.testing.assert_allclose(found[1], covariance, atol=1e-10)
        variances = gp.predict(NEW, point=POINT, diag=True, pred_noise=True, model=model)[1]
        np.testing.assert_allclose(variances, np.diag(covariance) + POINT["s"] ** 2, atol=1e-10)


def test_sums_of_matern_processes_with_duplicated_and_unsorted_inputs_have_a_state_space_too() -> None:
    cov = pm.gp.cov
    places = np.array([3.0, 1.0, 1.0, -2.0, 50.0, 3.0])[:, None]
    y = np.arange(6.0)
    noise = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    sum_ = 2.0 * (cov.Matern32(1, 1.1) + 0.5 * cov.Matern52(1, 3.0)) + cov.Matern12(1, 0.4)
    with pm.Model() as model:
        pm.gp.Marginal(cov_func=sum_).marginal_likelihood("y", places, y, sigma=noise)
    assert type(model["y"].op).__name__ != "MvNormal"
    wanted = stats.multivariate_normal.logpdf(y, np.zeros(6), sum_(places).eval() + np.diag(noise**2 + JITTER))
    assert density_of(model, values={}) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("kind", ["Matern12", "Matern32", "Matern52"])
def test_a_thousand_points_have_the_density_of_their_matrix(kind: str) -> None:
    """A product with a matrix of ones is no state space, and the same covariance."""
    places = RNG.uniform(0.0, 30.0, size=(1_000, 1))
    y = np.sin(places[:, 0])
    function = 2.0 * getattr(pm.gp.cov, kind)(1, 1.7)
    found = []
    for one in (function, function * pm.gp.cov.Constant(1.0)):
        with pm.Model() as model:
            pm.gp.Marginal(cov_func=one).marginal_likelihood("y", places, y, sigma=0.2)
        found.append(float(model.compile_logp()({})))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_noise_may_have_a_covariance_function_of_its_own() -> None:
    cov = pm.gp.cov
    noise = cov.WhiteNoise(0.2) + 0.5 * cov.Matern12(1, 0.1)
    with pm.Model() as model:
        process = pm.gp.Marginal(cov_func=cov.Matern32(1, 1.5))
        process.marginal_likelihood("y", X, Y, sigma=noise)
    total = kernel("Matern32", X, X, 1.5, 1.0) + noise(X).eval() + JITTER * np.eye(N)
    assert density_of(model, values={}) == pytest.approx(stats.multivariate_normal.logpdf(Y, np.zeros(N), total))
    own = kernel("Matern32", NEW, NEW, 1.5, 1.0)
    mean, covariance = normal_given(total, kernel("Matern32", X, NEW, 1.5, 1.0), own, Y)
    found = process.predict(NEW, pred_noise=True, model=model)
    np.testing.assert_allclose(found[0], mean, atol=1e-10)
    np.testing.assert_allclose(found[1], covariance + noise(NEW).eval(), atol=1e-10)


def test_draws_of_a_state_space_have_its_covariance() -> None:
    places = np.array([[2.0], [0.0], [0.5]])
    kernel_ = 1.5 * pm.gp.cov.Matern52(1, 0.9)
    with pm.Model():
        pm.gp.Marginal(mean_func=pm.gp.mean.Constant(3.0), cov_func=kernel_).marginal_likelihood(
            "y", places, np.zeros(3), sigma=0.4
        )
        draws = pm.sample_prior_predictive(20_000, random_seed=2).prior_predictive["y"].values[0]
    np.testing.assert_allclose(draws.mean(0), 3.0, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), kernel_(places).eval() + 0.16 * np.eye(3), atol=0.07)


def test_the_gradient_by_the_state_space_of_many_points_is_that_of_differences() -> None:
    """5,000 points, for which an n x n matrix would have 200 MB."""
    places = np.sort(RNG.uniform(0.0, 200.0, 5_000))
    with pm.Model() as model:
        ls, eta, s = parameters()
        pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.Matern32(1, ls)).marginal_likelihood(
            "y", places[:, None], np.sin(places), sigma=s
        )
    logp, slope = model.compile_logp(), model.compile_dlogp()(VALUES)
    up, down = (logp({**VALUES, "ls_log__": VALUES["ls_log__"] + d}) for d in (1e-5, -1e-5))
    assert slope[0] == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_means_and_variances_of_many_points_take_no_matrix() -> None:
    """20,000 points, for which an n x n matrix would have 3.2 GB; beside 60 of them, which decide at the new places."""
    places = np.linspace(0.0, 2_000.0, 20_001)
    y = np.sin(places) + 0.1 * RNG.normal(size=len(places))
    near = slice(9_970, 10_030)
    new = np.array([[1000.04], [1000.0], [999.7]])
    kernel_ = pm.gp.cov.Matern32(1, 0.3)
    found = []
    for chosen in (slice(None), near):
        with pm.Model() as model:
            gp = pm.gp.Marginal(cov_func=kernel_)
            gp.marginal_likelihood("y", places[chosen, None], y[chosen], sigma=0.1)
        found.append(gp.predict(new, diag=True, model=model))
    total = kernel_(places[near, None]).eval() + (0.01 + JITTER) * np.eye(60)
    own, across = kernel_(new).eval(), kernel_(places[near, None], new).eval()
    mean, covariance = normal_given(total, across, own, y[near])
    for one, tolerance in zip(found, (1e-4, 1e-11), strict=True):
        np.testing.assert_allclose(one[0], mean, atol=tolerance)
        np.testing.assert_allclose(one[1], np.diag(covariance), atol=tolerance)


def test_parts_of_a_sum_are_told_apart() -> None:
    cov, (a, b) = pm.gp.cov, (0.8, 3.0)
    with pm.Model() as model:
        first = pm.gp.Marginal(cov_func=cov.ExpQuad(1, a))
        second = pm.gp.Marginal(mean_func=pm.gp.mean.Linear(0.1), cov_func=2.0 * cov.Matern32(1, b))
        whole = first + second
        whole.marginal_likelihood("y", X, Y, sigma=0.3)
    total = kernel("ExpQuad", X, X, a, 1.0) + 2.0 * kernel("Matern32", X, X, b, 1.0) + (0.09 + JITTER) * np.eye(N)
    residual = Y - 0.1 * X[:, 0]
    given = {"X": X, "y": Y, "sigma": 0.3, "gp": whole}
    mean, covariance = normal_given(
        total, kernel("ExpQuad", X, NEW, a, 1.0), kernel("ExpQuad", NEW, NEW, a, 1.0), residual
    )
    found = first.predict(NEW, given=given, model=model)
    np.testing.assert_allclose(found[0], mean, atol=1e-10)
    np.testing.assert_allclose(found[1], covariance, atol=1e-10)


def test_the_conditional_is_drawn_for_each_draw_of_the_posterior() -> None:
    model, gp = observed("ExpQuad")
    with model:
        posterior = pm.sample(1000, tune=500, chains=2, target_accept=0.95, random_seed=3, progressbar=False)
        gp.conditional("f", NEW)
        drawn = pm.sample_posterior_predictive(posterior, var_names=["f"], random_seed=4, progressbar=False)
    f = drawn.posterior_predictive["f"].values
    assert f.shape == (2, 1000, 4)
    assert abs(f[..., 1].mean() - np.sin(1.3)) < 0.3
    assert f[..., 3].std() > 3 * f[..., 1].std()


class TestLatent:
    def model(self, reparameterize: bool) -> tuple[pm.Model, Any]:
        with pm.Model() as model:
            gp = pm.gp.Latent(mean_func=pm.gp.mean.Constant(0.4), cov_func=1.96 * pm.gp.cov.Matern52(1, 0.8))
            gp.prior("f", X, reparameterize=reparameterize)
        return model, gp

    def test_values_have_the_covariance(self) -> None:
        model, _ = self.model(reparameterize=False)
        total = kernel("Matern52", X, X) + JITTER * np.eye(N)
        wanted = stats.multivariate_normal.logpdf(Y, np.full(N, 0.4), total)
        assert density_of(model, "f", {"f": Y}) == pytest.approx(wanted, rel=1e-8)

    def test_rotated_values_are_turned_by_the_factor(self) -> None:
        model, _ = self.model(reparameterize=True)
        z = RNG.normal(size=N)
        found = model.compile_fn(model.replace_rvs_by_values([model["f"]]), inputs=model.value_vars)({"f_rotated_": z})
        factor = np.linalg.cholesky(kernel("Matern52", X, X) + JITTER * np.eye(N))
        np.testing.assert_allclose(found[0], 0.4 + factor @ z, atol=1e-10)

    def test_new_values_are_normal_given_the_old(self) -> None:
        model, gp = self.model(reparameterize=False)
        with model:
            gp.conditional("g", NEW)
        total = kernel("Matern52", X, X) + JITTER * np.eye(N)
        own = kernel("Matern52", NEW, NEW)
        mean, covariance = normal_given(total, kernel("Matern52", X, NEW), own, Y - 0.4)
        g = np.array([0.3, -0.1, 0.5, 1.0])
        wanted = stats.multivariate_normal.logpdf(g, 0.4 + mean, covariance + JITTER * np.eye(4))
        assert density_of(model, "g", {"f": Y, "g": g}) == pytest.approx(wanted, rel=1e-7)

    def test_parts_of_a_sum_are_normal_given_its_values(self) -> None:
        with pm.Model(coords={"place": range(N)}) as model:
            first = pm.gp.Latent(cov_func=pm.gp.cov.Matern52(1, 0.8))
            whole = first + pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, 2.0))
            f = whole.prior("f", X, reparameterize=False, dims="place")
            first.conditional("g", NEW, given={"X": X, "f": f, "gp": whole})
        total = kernel("Matern52", X, X, 0.8, 1.0) + kernel("ExpQuad", X, X, 2.0, 1.0) + JITTER * np.eye(N)
        own, across = (kernel("Matern52", a, NEW, 0.8, 1.0) for a in (NEW, X))
        mean, covariance = normal_given(total, across, own, Y)
        g = np.array([0.3, -0.1, 0.5, 1.0])
        wanted = stats.multivariate_normal.logpdf(g, mean, covariance + JITTER * np.eye(4))
        assert density_of(model, "g", {"f": Y, "g": g}) == pytest.approx(wanted, rel=1e-7)
        assert model.named_vars_to_dims["f"] == ("place",)

    def test_counts_are_sampled(self) -> None:
        with pm.Model():
            f = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, 1.0)).prior("f", X)
            pm.Poisson("k", pm.math.exp(f), observed=RNG.poisson(np.exp(np.sin(PLACES))))
            posterior = pm.sample(
                100, tune=300, chains=2, random_seed=3, progressbar=False, compute_convergence_checks=False
            )
        assert np.corrcoef(posterior.posterior["f"].mean(("chain", "draw")), np.sin(PLACES))[0, 1] > 0.8

    def test_t_processes_are_conditioned_as_densities_divide(self) -> None:
        scale = pm.gp.cov.Matern32(1, 0.8)
        both = np.concatenate([X[:5], NEW])
        f, g = Y[:5], np.array([0.3, -0.1, 0.5, 1.0])
        with pm.Model() as model:
            process = pm.gp.TP(scale_func=scale, nu=4.0)
            process.prior("f", X[:5], reparameterize=False, jitter=0.0)
            process.conditional("g", NEW, jitter=0.0)
        joint = stats.multivariate_t(np.zeros(9), scale(both).eval(), df=4.0).logpdf(np.concatenate([f, g]))
        alone = stats.multivariate_t(np.zeros(5), scale(X[:5]).eval(), df=4.0).logpdf(f)
        assert density_of(model, "g", {"f": f, "g": g}) == pytest.approx(joint - alone, rel=1e-9)


class TestHilbertSpace:
    @pytest.mark.parametrize("kind", ["ExpQuad", "Matern32", "Matern52"])
    def test_the_basis_gives_the_covariance_inside_the_box(self, kind: str) -> None:
        with pm.Model():
            gp = pm.gp.HSGP(m=[400], c=3.0, cov_func=1.96 * getattr(pm.gp.cov, kind)(1, 0.8))
            phi, spread = gp.prior_linearized(X)
        basis = (phi * spread).eval()
        np.testing.assert_allclose(basis @ basis.T, kernel(kind, X, X), atol=2e-4 if kind == "Matern32" else 1e-5)

    def test_two_columns_of_three(self) -> None:
        inputs = RNG.uniform(-1.0, 1.0, size=(15, 3))
        function = pm.gp.cov.ExpQuad(3, [0.9, 0.7], active_dims=[0, 2])
        gp = pm.gp.HSGP(m=[25, 30], L=[4.0, 4.0], cov_func=function)
        phi, spread = gp.prior_linearized(inputs)
        basis = (phi * spread).eval()
        assert basis.shape == (15, 750)
        np.testing.assert_allclose(basis @ basis.T, function(inputs).eval(), atol=1e-4)

    def test_harmonics_give_the_periodic_covariance(self) -> None:
        function = pm.gp.cov.Periodic(1, period=1.7, ls=0.6)
        gp = pm.gp.HSGPPeriodic(m=20, scale=1.5, cov_func=function)
        assert gp._m == 20  # PyMC's documentation counts coefficients with it
        (cosines, sines), spread = gp.prior_linearized(X)
        basis = np.concatenate([(cosines * spread).eval(), (sines * spread).eval()], axis=1)
        np.testing.assert_allclose(basis @ basis.T, 1.5**2 * function(X).eval(), atol=1e-12)
        with pm.Model() as model:
            gp.prior("f", X)
        assert model["f_hsgp_coeffs_"].static_shape == (39,)

    @pytest.mark.parametrize("parametrization", ["centered", "noncentered"])
    def test_values_at_new_inputs_belong_to_the_same_function(self, parametrization: str) -> None:
        with pm.Model() as model:
            ls = pm.Gamma("ls", 3.0, 2.0)
            gp = pm.gp.HSGP(
                m=[12], c=2.0, drop_first=True, parametrization=parametrization,
                mean_func=pm.gp.mean.Constant(0.4), cov_func=pm.gp.cov.Matern52(1, ls),
            )  # fmt: skip
            f = gp.prior("f", X)
            again = gp.conditional("again", X[:4])
            pm.Normal("y", f, 0.2, observed=Y)
        assert model["f_hsgp_coeffs"].static_shape == (11,)
        point = model.initial_point()
        point["f_hsgp_coeffs"] = RNG.normal(size=11)
        values = model.compile_fn(model.replace_rvs_by_values([f, again]), inputs=model.value_vars)(point)
        np.testing.assert_allclose(values[0][:4], values[1], atol=1e-12)
        assert np.isfinite(model.compile_dlogp()(point)).all()

    def test_data_exchanged_later_keep_the_box(self) -> None:
        with pm.Model() as model:
            data = pm.Data("X", X)
            f = pm.gp.HSGP(m=[12], c=2.0, cov_func=pm.gp.cov.Matern52(1, 1.0)).prior("f", data)
            values = model.compile_fn(model.replace_rvs_by_values([f]), inputs=model.value_vars)
            point = {"f_hsgp_coeffs": RNG.normal(size=12)}
            before = values(point)[0]
            pm.set_data({"X": X[5:7]})
            np.testing.assert_allclose(values(point)[0], before[5:7], atol=1e-12)

    def test_a_function_is_found_again(self) -> None:
        with pm.Model(coords={"sine": range(20), "place": range(N)}):
            process = pm.gp.HSGP(m=[20], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, 1.0))
            f = process.prior("f", X, dims="place", hsgp_coeffs_dims="sine")
            pm.Normal("y", f, 0.2, observed=Y)
            posterior = pm.sample(1000, tune=500, chains=2, random_seed=3, progressbar=False)
        mean = posterior.posterior["f"].mean(("chain", "draw")).values
        assert np.sqrt(np.mean((mean - np.sin(PLACES)) ** 2)) < 0.15

    def test_the_rules_of_thumb_grow_with_rough_functions(self) -> None:
        m, c = found = pm.gp.approx_hsgp_hyperparams((0.0, 10.0), (0.5, 3.0), "matern52")
        assert found == pm.gp.hsgp_approx.approx_hsgp_hyperparams((0.0, 10.0), (0.5, 3.0), "matern52")
        assert (m, c) == (int(2.65 * 4.1 * 3.0 / 5.0 / 0.1), pytest.approx(4.1 * 3.0 / 5.0))


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: pm.gp.Marginal(), ParameterError, "needs `cov_func`"),
    (lambda: pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, 1.0), mean_func=3.0), ParameterError, "mean function"),
    (lambda: gp().marginal_likelihood("y", X, Y), ParameterError, "needs `sigma`"),
    (lambda: gp().marginal_likelihood("y", X, Y, sigma=-0.1), ParameterError, "at least 0, got -0.1"),
    (lambda: gp().marginal_likelihood("y", PLACES, Y, sigma=0.1), ShapeError, r"X\[:, None\]"),
    (lambda: gp().marginal_likelihood("y", X, Y[:5], sigma=0.1), ShapeError, r"5"),
    (lambda: gp().predict(NEW), ModelError, "declare the process first"),
    (lambda: gp().conditional("f", NEW, given={"Z": 1}), ParameterError, "got 'Z'"),
    (lambda: gp() + pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, 1.0)), ParameterError, "cannot be added"),
    (lambda: pm.gp.HSGP(m=20, c=1.5, cov_func=pm.gp.cov.ExpQuad(1, 1.0)), ParameterError, "one number per active"),
    (lambda: pm.gp.HSGP(m=[20], c=0.9, cov_func=pm.gp.cov.ExpQuad(1, 1.0)), ParameterError, "c must be at least 1"),
    (lambda: pm.gp.HSGP(m=[20], cov_func=pm.gp.cov.ExpQuad(1, 1.0)), ParameterError, "one of `L`"),
    (
        lambda: pm.gp.HSGP(m=[9], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, 1.0)).prior("f", pm.Normal("X", shape=(9, 1))),
        ParameterError,
        "X depends on variables",
    ),
    (
        lambda: pm.gp.HSGP(m=[9], c=1.5, cov_func=pm.gp.cov.ExpQuad(1, 1.0)).prior("f", np.ones((4, 1))),
        ParameterError,
        "half of the range of X must be finite and above 0",
    ),
    (lambda: pm.gp.HSGPPeriodic(m=0, cov_func=pm.gp.cov.Periodic(1, 1.0, ls=1.0)), ParameterError, "m must be"),
    (lambda: pm.gp.TP(scale_func=pm.gp.cov.ExpQuad(1, 1.0), nu=-1.0), ParameterError, "nu must be"),
    (
        lambda: pm.gp.MarginalApprox(cov_func=pm.gp.cov.ExpQuad(1, 1.0)).marginal_likelihood(
            "y", X[:3], X[:5], Y[:3], sigma=0.1
        ),
        ShapeError,
        "5 inducing points for 3 observations",
    ),
    (lambda: pm.gp.MarginalKron(cov_funcs=[]), ParameterError, "needs `cov_funcs`"),
    (
        lambda: pm.gp.LatentKron(cov_funcs=[pm.gp.cov.ExpQuad(1, 1.0)]).prior("f", [X, X]),
        ShapeError,
        "must hold 1 lists",
    ),
]


def gp() -> Any:
    return pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, 1.0))


@pytest.mark.parametrize(("make", "error", "said"), BAD)
def test_bad_input_is_refused_where_it_is_written(make: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pm.Model(), pytest.raises(error, match=said):
        make()


def test_a_singular_covariance_gets_more_jitter_which_is_told_and_bounded() -> None:
    repeated = np.repeat(np.linspace(0.0, 1.0, 10), 4)[:, None]
    with pm.Model() as model:
        process = pm.gp.Marginal(cov_func=1e13 * pm.gp.cov.ExpQuad(1, 5.0))
        process.marginal_likelihood("y", repeated, np.zeros(40), sigma=0.0)
    with pytest.warns(ConsilienceWarning, match="singular within rounding; .* was added to its diagonal"):
        mean, _ = process.predict(NEW, model=model)
    assert np.isfinite(mean).all()
    broken = pm.gp.Marginal(cov_func=-1.0 * pm.gp.cov.ExpQuad(1, 5.0))
    with pytest.raises(LinearAlgebraError, match="points duplicated without noise"):
        broken.predict(NEW, given={"X": X, "y": Y, "sigma": 0.1}, model=model)


def test_parameters_of_priors_are_not_asked_for() -> None:
    with pm.Model() as model:
        rate = pm.HalfNormal("rate", 1.0)
        process = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, pm.Exponential("ls", rate)))
        process.marginal_likelihood("y", X, Y, sigma=0.3)
    with pm.Model() as fixed:
        known = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, 0.8))
        known.marginal_likelihood("y", X, Y, sigma=0.3)
    found = process.predict(NEW, point={"ls": 0.8}, model=model)
    np.testing.assert_allclose(found[0], known.predict(NEW, model=fixed)[0], atol=1e-12)


def test_values_that_are_not_observed_are_conditioned_on_as_variables() -> None:
    for kind in ("ExpQuad", "Matern32"):
        with pm.Model() as model:
            process = pm.gp.Marginal(cov_func=getattr(pm.gp.cov, kind)(1, 0.8))
            process.marginal_likelihood("y", X, None, sigma=0.3, is_observed=False)
        gain = np.linalg.solve(
            kernel(kind, X, X, 0.8, 1.0) + (0.09 + JITTER) * np.eye(N), kernel(kind, X, NEW, 0.8, 1.0)
        )
        for diag in (False, True):
            found = process.predict(NEW, point={"y": Y}, diag=diag, model=model)
            np.testing.assert_allclose(found[0], gain.T @ Y, atol=1e-10)


def test_a_point_without_a_needed_variable_is_refused() -> None:
    model, process = observed("ExpQuad")
    with pytest.raises(ModelError, match="lacks `ls`"):
        process.predict(NEW, point={"eta": 1.0, "s": 1.0}, model=model)
    with pytest.raises(ShapeError, match=r"`ls` has the shape \(\), and the point gives it the shape \(2,\)"):
        process.predict(NEW, point={**POINT, "ls": [1.0, 2.0]}, model=model)
    at_start = process.predict(NEW, model=model)
    own = {"ls": 1.5, "eta": 2.0, "s": 1.0}
    found = process.predict(NEW, point=own, model=model)
    assert at_start[0].shape == found[0].shape
