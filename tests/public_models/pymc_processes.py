"""Gaussian processes, splines, maps and other functions of PyMC's example gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tests.public_models.registry import published

GALLERY = "PyMC example gallery: "


def curve(n: int, seed: int, noise: float = 0.2) -> Any:
    """Points of a smooth curve with noise."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 4, n)
    return x, np.sin(2 * x) + 0.3 * x + noise * rng.normal(size=n)


@published(GALLERY + "marginal likelihood implementation of Gaussian processes")
def gp_marginal(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(30, 1)
    X = x[:, None]
    with pm.Model() as model:
        ell = pm.Gamma("ell", alpha=2, beta=1)
        eta = pm.HalfCauchy("eta", beta=5)
        cov = eta**2 * pm.gp.cov.Matern52(1, ell)
        gp = pm.gp.Marginal(cov_func=cov)
        sigma = pm.HalfCauchy("sigma", beta=5)
        gp.marginal_likelihood("y", X=X, y=y, sigma=sigma)
    return model


@published(GALLERY + "latent Gaussian process with Student's t observations")
def gp_latent_t(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(25, 2)
    with pm.Model() as model:
        ell = pm.Gamma("ell", alpha=2, beta=1)
        eta = pm.HalfNormal("eta", sigma=5)
        cov_func = eta**2 * pm.gp.cov.ExpQuad(input_dim=1, ls=ell)
        gp = pm.gp.Latent(cov_func=cov_func)
        f = gp.prior("f", X=x[:, None])
        sigma = pm.HalfNormal("sigma", sigma=2.0)
        nu = 1 + pm.Gamma("nu", alpha=2, beta=0.1)
        pm.StudentT("y", mu=f, lam=1.0 / sigma, nu=nu, observed=y)
    return model


@published(GALLERY + "mean and covariance functions: mean, linear and periodic parts")
def gp_kernels(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(24, 3)
    with pm.Model() as model:
        trend = pm.gp.mean.Linear(coeffs=pm.Normal("slope", 0, 1), intercept=pm.Normal("intercept", 0, 1))
        period = pm.Normal("period", 3.0, 0.1)
        ls = pm.InverseGamma("ls", alpha=5, beta=5)
        cov = pm.HalfNormal("η", 1) ** 2 * pm.gp.cov.Periodic(1, period=period, ls=ls) + pm.gp.cov.WhiteNoise(
            sigma=1e-3
        )
        cov = cov * pm.gp.cov.RatQuad(1, alpha=2.0, ls=pm.Gamma("ls_rq", 4, 1))
        gp = pm.gp.Marginal(mean_func=trend, cov_func=cov)
        gp.marginal_likelihood("y", X=x[:, None], y=y, sigma=pm.HalfNormal("σ", 1))
    return model


@published(GALLERY + "sparse approximations, FITC with inducing points")
def gp_sparse(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(40, 4)
    with pm.Model() as model:
        ell = pm.Gamma("ell", alpha=2, beta=1)
        eta = pm.HalfNormal("eta", sigma=5)
        gp = pm.gp.MarginalApprox(cov_func=eta**2 * pm.gp.cov.Matern52(1, ell), approx="FITC")
        Xu = np.linspace(0, 4, 6)[:, None]
        gp.marginal_likelihood("obs", X=x[:, None], Xu=Xu, y=y, sigma=pm.HalfNormal("sigma", sigma=5))
    return model


@published(GALLERY + "first steps with HSGP")
def hsgp(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(60, 5)
    with pm.Model(coords={"x": x}) as model:
        X = pm.Data("X", x[:, None])
        ell = pm.LogNormal("ell", mu=0.0, sigma=0.5)
        eta = pm.Exponential("eta", scale=1.0)
        gp = pm.gp.HSGP(
            m=[15], c=1.5, parametrization="noncentered", cov_func=eta**2 * pm.gp.cov.Matern52(input_dim=1, ls=ell)
        )
        f = gp.prior("f", X=X, dims="x")
        sigma = pm.Exponential("sigma", scale=1.0)
        pm.Normal("y_obs", mu=f, sigma=sigma, observed=y)
    return model


@published(GALLERY + "HSGP, linearized form with centred basis")
def hsgp_linearized(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(50, 6)
    with pm.Model() as model:
        ell = pm.InverseGamma("ell", alpha=5, beta=5)
        eta = pm.HalfNormal("eta", 2)
        cov = eta**2 * pm.gp.cov.ExpQuad(1, ls=ell)
        gp = pm.gp.HSGP(m=[12], L=[4.0], cov_func=cov)
        phi, sqrt_psd = gp.prior_linearized(X=(x - x.mean())[:, None])
        beta = pm.Normal("beta", size=gp.n_basis_vectors)
        f = pm.Deterministic("f", phi @ (beta * sqrt_psd))
        pm.Normal("y", mu=pm.Normal("mean", 0, 2) + f, sigma=pm.HalfNormal("sigma", 1), observed=y)
    return model


@published(GALLERY + "HSGP in two dimensions")
def hsgp_two_dimensions(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (50, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + rng.normal(0, 0.1, 50)
    with pm.Model() as model:
        ls = pm.Gamma("ls", 4, 4, shape=2)
        gp = pm.gp.HSGP(m=[4, 3], c=1.4, cov_func=pm.HalfNormal("eta", 1) ** 2 * pm.gp.cov.Matern32(2, ls=ls))
        f = gp.prior("f", X=X)
        pm.Normal("y", f, pm.HalfNormal("sigma", 0.5), observed=y)
    return model


@published(GALLERY + "baby births modelling with HSGPs, periodic part")
def births_periodic(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(8)
    day = np.arange(1, 100)
    y = np.sin(2 * np.pi * day / 50) + rng.normal(0, 0.2, 99)
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1)
        cov = pm.gp.cov.Periodic(input_dim=1, period=50, ls=pm.InverseGamma("ls", 3, 3))
        gp = pm.gp.HSGPPeriodic(m=8, scale=scale, cov_func=cov)
        f = gp.prior("f", X=day[:, None].astype(float))
        pm.Normal("y", mu=f, sigma=pm.HalfNormal("sigma", 1), observed=y)
    return model


@published(GALLERY + "log-Gaussian Cox process on a grid (trees)")
def cox_process(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(9)
    xv, yv = np.meshgrid(np.arange(5) + 0.5, np.arange(4) + 0.5)
    centroids = np.c_[xv.ravel(), yv.ravel()]
    counts = rng.poisson(np.exp(1 + 0.4 * np.sin(centroids[:, 0])))
    with pm.Model() as model:
        mu = pm.Normal("mu", sigma=3)
        rho = pm.Uniform("rho", lower=1, upper=4)
        variance = pm.InverseGamma("variance", alpha=3, beta=1)
        cov_func = variance * pm.gp.cov.Matern52(2, ls=rho)
        mean_func = pm.gp.mean.Constant(mu)
        gp = pm.gp.Latent(mean_func=mean_func, cov_func=cov_func)
        log_intensity = gp.prior("log_intensity", X=centroids)
        pm.Poisson("counts", mu=pm.math.exp(log_intensity) * 1.0, observed=counts)
    return model


@published(GALLERY + "multi-output Gaussian processes, coregionalization")
def coregionalization(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(10)
    x = np.repeat(np.linspace(0, 1, 12), 2)
    o = np.tile([0.0, 1.0], 12)
    y = np.sin(4 * x) * (1 + o) + rng.normal(0, 0.1, 24)
    X = np.column_stack([x, o])
    with pm.Model() as model:
        ell = pm.Gamma("ell", alpha=2, beta=2)
        eta = pm.Gamma("eta", alpha=3, beta=1)
        cov = eta**2 * pm.gp.cov.ExpQuad(input_dim=2, ls=ell, active_dims=[0])
        W = pm.Normal("W", mu=0, sigma=3, shape=(2, 2), initval=np.random.default_rng(1).normal(size=(2, 2)))
        kappa = pm.Gamma("kappa", alpha=1.5, beta=1, shape=2)
        coreg = pm.gp.cov.Coregion(input_dim=2, active_dims=[1], kappa=kappa, W=W)
        mogp = pm.gp.Marginal(cov_func=cov * coreg)
        sigma = pm.HalfNormal("sigma", sigma=3)
        mogp.marginal_likelihood("f", X, y, sigma=sigma)
    return model


@published(GALLERY + "heteroskedastic Gaussian process")
def gp_heteroskedastic(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(20, 11)
    X = x[:, None]
    with pm.Model() as model:
        ell = pm.InverseGamma("ell", mu=1.0, sigma=0.5)
        eta = pm.Gamma("eta", alpha=2, beta=1)
        gp = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ell) + pm.gp.cov.WhiteNoise(sigma=1e-4))
        mu = gp.prior("mu_f", X=X)
        log_gp = pm.gp.Latent(
            mean_func=pm.gp.mean.Constant(-1.0),
            cov_func=0.5 * pm.gp.cov.ExpQuad(1, ls=1.5) + pm.gp.cov.WhiteNoise(sigma=1e-4),
        )
        sigma = pm.math.exp(log_gp.prior("log_sigma_f", X=X))
        pm.Normal("y", mu, sigma, observed=y)
    return model


@published(GALLERY + "Student's t process")
def t_process(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(15, 12)
    with pm.Model() as model:
        ell = pm.Gamma("ell", 2, 2)
        tp = pm.gp.TP(scale_func=pm.gp.cov.ExpQuad(1, ls=ell), nu=4.0)
        f = tp.prior("f", X=x[:, None])
        pm.Normal("y", f, 0.3, observed=y)
    return model


@published(GALLERY + "modelling spatial point patterns with a Kronecker-structured GP")
def gp_kronecker(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(13)
    x1, x2 = np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 4)[:, None]
    y = rng.normal(size=20)
    with pm.Model() as model:
        ls = pm.Gamma("ls", 4, 4, shape=2)
        eta = pm.HalfNormal("eta", 1)
        gp = pm.gp.MarginalKron(cov_funcs=[eta**2 * pm.gp.cov.ExpQuad(1, ls[0]), pm.gp.cov.Matern32(1, ls[1])])
        gp.marginal_likelihood("y", Xs=[x1, x2], y=y, sigma=pm.HalfNormal("sigma", 1))
    return model


@published(GALLERY + "splines with patsy's basis, counts of rentals")
def spline_counts(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(14)
    hour = np.linspace(0, 23, 60)
    y = rng.poisson(np.exp(2 + np.sin(hour / 4)))
    hinges = np.maximum(hour[:, None] - np.array([4.0, 8.0, 12.0, 16.0, 20.0]), 0) / 10
    B = np.column_stack([np.ones(60), hour / 10, hinges])
    with pm.Model(coords={"splines": np.arange(B.shape[1])}) as model:
        tau = pm.HalfCauchy("tau", 1)
        beta = pm.Normal("beta", mu=0, sigma=tau, dims="splines")
        mu = pm.Deterministic("mu", pm.math.dot(B, beta))
        alpha = pm.Exponential("alpha", 0.1)
        pm.NegativeBinomial("y", mu=pm.math.exp(mu), alpha=alpha, observed=y)
    return model


ADJACENCY = np.zeros((9, 9), dtype="int64")
for _i in range(9):
    for _j in range(9):
        ADJACENCY[_i, _j] = abs(_i // 3 - _j // 3) + abs(_i % 3 - _j % 3) == 1


@published(GALLERY + "conditional autoregressive models for disease mapping")
def disease_map(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(15)
    E, aff = rng.uniform(3, 12, 9), rng.uniform(0, 0.2, 9)
    O = rng.poisson(E * np.exp(0.2 + 3 * aff))  # noqa: E741
    with pm.Model(coords={"area_idx": np.arange(9)}) as model:
        beta0, beta1 = pm.Normal("beta0", 0.0, tau=1.0e-5), pm.Normal("beta1", 0.0, tau=1.0e-5)
        tau_ind = pm.Gamma("tau_ind", alpha=3.2761, beta=1.81)
        tau_spat = pm.Gamma("tau_spat", alpha=1.0, beta=1.0)
        theta = pm.Normal("theta", mu=0, tau=tau_ind, dims="area_idx")
        alpha = pm.Beta("alpha", alpha=1, beta=1)
        phi = pm.CAR("phi", mu=np.zeros(9), tau=tau_spat, alpha=alpha, W=ADJACENCY, dims="area_idx")
        mu = pm.Deterministic("mu", pt.exp(np.log(E) + beta0 + beta1 * aff + theta + phi), dims="area_idx")
        pm.Poisson("Y_obs", mu=mu, observed=O, dims="area_idx")
    return model


@published(GALLERY + "the Besag-York-Mollié model")
def besag_york_mollie(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(16)
    E, fragment = rng.uniform(20, 80, 9), rng.normal(size=9)
    y = rng.poisson(E * np.exp(0.1 * fragment))
    scaling_factor = 0.6
    with pm.Model(coords={"area_idx": np.arange(9)}) as model:
        beta0 = pm.Normal("beta0", 0, 1)
        beta1 = pm.Normal("beta1", 0, 1)
        theta = pm.Normal("theta", 0, 1, dims="area_idx")
        phi = pm.ICAR("phi", W=ADJACENCY, dims="area_idx")
        sigma = pm.HalfNormal("sigma", 1)
        rho = pm.Beta("rho", 0.5, 0.5)
        mixture = pm.Deterministic(
            "mixture", pt.sqrt(1 - rho) * theta + pt.sqrt(rho / scaling_factor) * phi, dims="area_idx"
        )
        mu = pm.Deterministic("mu", pt.exp(np.log(E) + beta0 + beta1 * fragment + sigma * mixture), dims="area_idx")
        pm.Poisson("y_i", mu, observed=y)
    return model


@published(GALLERY + "Bayesian neural network, XOR-like data")
def neural_network(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(17)
    X = rng.normal(size=(60, 2)).astype("float64")
    Y = (X[:, 0] * X[:, 1] > 0).astype("float64")
    coords = {
        "hidden_layer_1": np.arange(4),
        "hidden_layer_2": np.arange(4),
        "train_cols": np.arange(2),
        "obs_id": np.arange(60),
    }
    with pm.Model(coords=coords) as model:
        ann_input = pm.Data("ann_input", X, dims=("obs_id", "train_cols"))
        ann_output = pm.Data("ann_output", Y, dims="obs_id")
        weights_in_1 = pm.Normal(
            "w_in_1", 0, sigma=1, initval=rng.standard_normal((2, 4)), dims=("train_cols", "hidden_layer_1")
        )
        weights_1_2 = pm.Normal(
            "w_1_2", 0, sigma=1, initval=rng.standard_normal((4, 4)), dims=("hidden_layer_1", "hidden_layer_2")
        )
        weights_2_out = pm.Normal("w_2_out", 0, sigma=1, initval=rng.standard_normal(4), dims="hidden_layer_2")
        act_1 = pm.math.tanh(pm.math.dot(ann_input, weights_in_1))
        act_2 = pm.math.tanh(pm.math.dot(act_1, weights_1_2))
        act_out = pm.math.sigmoid(pm.math.dot(act_2, weights_2_out))
        pm.Bernoulli("out", act_out, observed=ann_output, total_size=Y.shape[0], dims="obs_id")
    return model


@published(GALLERY + "Gaussian process with additive parts and a jittered custom covariance")
def gp_additive(pm: Any, pt: Any, np: Any) -> Any:
    x, y = curve(20, 18)
    X = pd.DataFrame({"x": x})[["x"]].to_numpy()
    with pm.Model() as model:
        gp1 = pm.gp.Marginal(cov_func=pm.HalfNormal("eta1", 1) ** 2 * pm.gp.cov.Exponential(1, ls=pm.Gamma("l1", 2, 1)))
        gp2 = pm.gp.Marginal(
            mean_func=pm.gp.mean.Zero(), cov_func=pm.HalfNormal("eta2", 1) ** 2 * pm.gp.cov.Linear(1, c=2.0)
        )
        gp = gp1 + gp2
        gp.marginal_likelihood("y", X=X, y=y, sigma=pm.HalfNormal("sigma", 1))
    return model
