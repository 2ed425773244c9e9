"""The models: what each is written after, its coordinates, and data simulated at the published size.

Each is a function of (pm, pt, np), a PyMC-like module, its tensor module and NumPy, and gives the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.spatial import Delaunay

Build = Callable[[Any, Any, Any], Any]
GALLERY: Final = "PyMC's example gallery, "


class Hard(NamedTuple):
    """One row: how it is built, where the like is published, and how it is sampled where lengths are fixed."""

    build: Build
    source: str
    coordinates: int
    latent: bool  # most coordinates are normal given a few others
    options: dict[str, int]
    seconds: float = 60.0  # that a run takes about: the cheapest are measured first


MODELS: Final[dict[str, Hard]] = {}


def hard(
    source: str, coordinates: int, latent: bool = False, seconds: float = 60.0, **options: int
) -> Callable[[Build], Build]:
    """Register a model by its function's name."""

    def register(build: Build) -> Build:
        MODELS[build.__name__] = Hard(build, source, coordinates, latent, options, seconds)
        return build

    return register


def walk(rng: Any, steps: int, step: float) -> Any:
    """A random walk of normal steps."""
    return step * rng.normal(size=steps).cumsum()


def autoregression(rng: Any, steps: int, step: float) -> Any:
    """A walk that comes back to zero after some hundred steps."""
    return lfilter([step], [1.0, -0.99], rng.normal(size=steps))


def smooth(rng: Any, points: Any, length: float) -> Any:
    """A random surface of unit variance at points of a plane: a sum of waves, smooth over `length`."""
    waves = rng.normal(size=(200, 2)) / length
    return (2.0 / 200) ** 0.5 * np.cos(points @ waves.T + rng.uniform(0, 6.283, 200)).sum(-1)


def neighbours(points: Any) -> tuple[Any, Any]:
    """Pairs of neighbours, each once, of areas around points in a plane: the edges of Delaunay's triangulation."""
    corners = Delaunay(points).simplices
    edges = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), 1)
    first, second = np.unique(edges, axis=0).T
    return first, second


@hard(
    GALLERY + "stochastic volatility (S&P 500, 2,906 days), after Hoffman and Gelman 2014",
    2_902,
    latent=True,
    seconds=5,
)
def stochastic_volatility(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(1)
    level = autoregression(rng, 2_900, 0.09)
    returns = np.exp(level - 4.8) * rng.standard_t(8, 2_900)
    with pm.Model(coords={"day": range(2_900)}) as model:
        step_size = pm.Exponential("step_size", 10)
        volatility = pm.GaussianRandomWalk(
            "volatility", sigma=step_size, init_dist=pm.Normal.dist(0, 100), dims="day"
        )  # fmt: skip
        nu = pm.Exponential("nu", 0.1)
        pm.StudentT("returns", nu=nu, lam=pt.exp(-2 * volatility), observed=returns, dims="day")
    return model


AREAS: Final = 1_921
BYM_SCALE: Final = 0.4395  # geometric mean of the diagonal of the generalised inverse of the graph's Laplacian


@hard(
    GALLERY + "Besag-York-Mollié model of traffic accidents in 1,921 areas of New York City",
    3_846,
    latent=True,
    seconds=16,
)
def areas_bym(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(2)
    points = rng.uniform(size=(AREAS, 2))
    first, second = neighbours(points)
    W = np.zeros((AREAS, AREAS))
    W[first, second] = W[second, first] = 1.0
    x, exposure = rng.normal(size=AREAS), rng.gamma(2.0, 4.0, AREAS) + 1.0
    y = rng.poisson(exposure * np.exp(-0.3 + 0.2 * x + 0.5 * smooth(rng, points, 0.15) + 0.3 * rng.normal(size=AREAS)))
    with pm.Model(coords={"area": range(AREAS)}) as model:
        beta0, beta1 = pm.Normal("beta0", 0, 1), pm.Normal("beta1", 0, 1)
        theta = pm.Normal("theta", 0, 1, dims="area")
        phi = pm.ICAR("phi", W=W, dims="area")
        sigma = pm.HalfNormal("sigma", 1)
        rho = pm.Beta("rho", 0.5, 0.5)
        mixture = pt.sqrt(1 - rho) * theta + pt.sqrt(rho / BYM_SCALE) * phi
        pm.Poisson("y", mu=exposure * pt.exp(beta0 + beta1 * x + sigma * mixture), observed=y)
    return model


@hard(
    GALLERY + "rolling regression (prices of a mine and of gold): intercept and slope as random walks",
    2_203,
    True,
    seconds=3,
)
def rolling_regression(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(3), 1_100
    x = walk(rng, n, 0.06)
    x = (x - x.mean()) / x.std()
    y = walk(rng, n, 0.03) + (0.5 + walk(rng, n, 0.03)) * x + 0.05 * rng.normal(size=n)
    with pm.Model(coords={"day": range(n)}) as model:
        sigma_alpha, sigma_beta = pm.Exponential("sigma_alpha", 50), pm.Exponential("sigma_beta", 50)
        start = pm.Normal.dist(0, 10)
        alpha = pm.GaussianRandomWalk("alpha", sigma=sigma_alpha, init_dist=start, dims="day")
        beta = pm.GaussianRandomWalk("beta", sigma=sigma_beta, init_dist=pm.Normal.dist(0, 10), dims="day")
        sd = pm.HalfNormal("sd", 0.1)
        pm.Normal("y", alpha + beta * x, sd, observed=y)
    return model


PERSONS: Final = 6_731


@hard(
    GALLERY + "frailty models (Cox regression of employees who leave, as Poisson counts of 12 months)",
    6_765,
    True,
    seconds=8,
)
def cox_frailty(pm: Any, pt: Any, np: Any) -> Any:
    rng, months = np.random.default_rng(4), 12
    X, stratum = rng.normal(size=(PERSONS, 8)), rng.integers(0, 2, PERSONS)
    hazard = np.exp(-3.0 + 0.3 * np.sin(np.arange(months) / 2.0) + 0.2 * np.array([[0.0], [1.0]]))
    beta = np.array([0.4, -0.3, 0.2, 0.2, 0.0, 0.0, 0.1, -0.1])
    rate = rng.gamma(2.0, 0.5, PERSONS)[:, None] * np.exp(X @ beta)[:, None] * hazard[stratum]
    left = rng.uniform(size=(PERSONS, months)) < 1 - np.exp(-rate)
    month = np.where(left.any(1), left.argmax(1), months - 1)
    at_risk = (np.arange(months) <= month[:, None]).astype(float)
    quits = (left & (np.arange(months) == month[:, None])).astype("int64")
    with pm.Model(coords={"person": range(PERSONS), "month": range(months), "stratum": range(2)}) as model:
        step = pm.HalfNormal("step", 0.5)
        log_hazard = pm.GaussianRandomWalk(
            "log_hazard", sigma=step, init_dist=pm.Normal.dist(-3, 2), dims=("stratum", "month")
        )  # fmt: skip
        b = pm.Normal("b", 0, 1, shape=8)
        theta = pm.Gamma("theta", 2, 0.5)
        frailty = pm.Gamma("frailty", theta, theta, dims="person")
        mu = frailty[:, None] * pt.exp(pt.dot(X, b))[:, None] * pt.exp(log_hazard)[stratum]
        pm.Poisson("quits", mu=at_risk * mu + 1e-12 * (1 - at_risk), observed=quits, dims=("person", "month"))
    return model


@hard(
    GALLERY + "multi-output Gaussian processes by coregionalization (spin rates of 5 pitchers in 251 games)",
    43,
    seconds=40,
)
def coregionalized_gp(pm: Any, pt: Any, np: Any) -> Any:
    rng, n, outputs = np.random.default_rng(5), 251, 5
    which = np.sort(rng.integers(0, outputs, n))
    day = rng.integers(0, 180, n) / 10.0
    shared = np.stack([np.sin(day / 3.0), np.cos(day / 1.5), day / 18.0])
    loadings = rng.normal(size=(outputs, 3))
    y = (loadings[which] * shared.T).sum(1) + 0.3 * rng.normal(size=n)
    inputs = np.stack([day, which.astype(float)], 1)
    with pm.Model() as model:
        covariance = 0
        for name, kernel in (("slow", pm.gp.cov.ExpQuad), ("rough", pm.gp.cov.Matern32)):
            ell = pm.Gamma(f"{name}_ell", 2, 0.5)
            W = pm.Normal(f"{name}_W", 0, 1, shape=(outputs, 3))
            kappa = pm.Gamma(f"{name}_kappa", 1.5, 1, shape=outputs)
            outer = pm.gp.cov.Coregion(input_dim=2, W=W, kappa=kappa, active_dims=[1])
            covariance = kernel(input_dim=2, ls=ell, active_dims=[0]) * outer + covariance
        sigma = pm.HalfNormal("sigma", 1)
        pm.gp.Marginal(cov_func=covariance).marginal_likelihood("y", inputs, y, sigma=sigma)
    return model


@hard(GALLERY + "log-Gaussian Cox process (positions of anemones, counted in cells)", 255, latent=True, seconds=25)
def cox_process(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(6)
    cells = np.stack(np.meshgrid(np.arange(18.0), np.arange(14.0)), -1).reshape(-1, 2) * 10.0
    counts = rng.poisson(np.exp(0.5 + 0.8 * smooth(rng, cells, 40.0)))
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 3)
        rho = pm.Uniform("rho", 10, 200)
        variance = pm.InverseGamma("variance", 1, 1)
        gp = pm.gp.Latent(cov_func=variance * pm.gp.cov.Matern52(2, ls=rho))
        log_intensity = gp.prior("log_intensity", X=cells)
        pm.Poisson("counts", mu=pt.exp(mu + log_intensity), observed=counts)
    return model


@hard(
    GALLERY + "structural equation models (support, self-efficacy, satisfaction; 15 indicators)",
    2_240,
    latent=True,
    seconds=6,
)
def structural_equations(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(7), 437
    support = rng.multivariate_normal([0, 0], [[1.0, 0.4], [0.4, 0.8]], n)
    covariate = rng.normal(size=n)
    academic = support @ [0.4, 0.3] + 0.7 * rng.normal(size=n)
    social = support @ [0.3, 0.5] + 0.6 * rng.normal(size=n)
    satisfied = 0.3 * academic + 0.4 * social + support @ [0.1, 0.3] + 0.2 * covariate + 0.6 * rng.normal(size=n)
    factors = np.stack([support[:, 0], support[:, 1], academic, social, satisfied], 1)
    y = 4 + factors.repeat(3, 1) * rng.uniform(0.7, 1.2, 15) + rng.uniform(0.4, 0.8, 15) * rng.normal(size=(n, 15))
    with pm.Model(coords={"person": range(n), "indicator": range(15)}) as model:
        psi = pm.InverseGamma("psi", 5, 3, dims="indicator")
        free = pm.Normal("loadings", 1, 0.5, shape=(5, 2))
        tau = pm.Normal("tau", 3, 10, dims="indicator")
        chol, _, _ = pm.LKJCholeskyCov(
            "chol", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0, shape=2), compute_corr=True
        )  # fmt: skip
        ksi = pm.MvNormal("support", np.zeros(2), chol=chol, shape=(n, 2))
        paths, effects = pm.Normal("paths", 0, 0.5, shape=(2, 2)), pm.Normal("effects", 0, 0.5, shape=5)
        residual = pm.HalfNormal("residual", 1, shape=3)
        efficacy = pm.Normal("efficacy", pt.dot(ksi, paths), residual[:2], shape=(n, 2))
        mean = pt.dot(efficacy, effects[:2]) + pt.dot(ksi, effects[2:4]) + effects[4] * covariate
        satisfaction = pm.Normal("satisfaction", mean, residual[2], dims="person")
        eta = pt.concatenate([ksi, efficacy, satisfaction[:, None]], axis=1)
        loadings = pt.concatenate([np.ones((5, 1)), free], axis=1)
        mu = tau + (eta[:, :, None] * loadings).reshape((n, 15))
        pm.Normal("y", mu, psi, observed=y, dims=("person", "indicator"))
    return model


@hard(GALLERY + "probabilistic matrix factorization (MovieLens 100k: 943 people, 1,682 films, 10 factors)", 26_250)
def ratings(pm: Any, pt: Any, np: Any) -> Any:
    rng, people, films, rank, cells = np.random.default_rng(8), 943, 1_682, 10, 90_000
    chosen = rng.choice(people * films, cells, replace=False)
    i, j = chosen // films, chosen % films
    u, v = 0.5 * rng.normal(size=(people, rank)), 0.5 * rng.normal(size=(films, rank))
    y = (u[i] * v[j]).sum(1) + 0.7 * rng.normal(size=cells)
    with pm.Model() as model:
        U = pm.Normal("U", 0, 0.5, shape=(people, rank))
        V = pm.Normal("V", 0, 0.5, shape=(films, rank))
        pm.Normal("R", (U[i] * V[j]).sum(axis=-1), tau=2.0, observed=y)
    return model


@hard("Piironen and Vehtari 2017; Betancourt's case study of sparse regression", 125, seconds=4)
def regularised_horseshoe(pm: Any, pt: Any, np: Any) -> Any:
    rng, n, d, relevant = np.random.default_rng(9), 100, 61, 5
    X = rng.normal(size=(n, d))
    y = X[:, :relevant] @ [2.0, -1.5, 1.0, 0.7, -0.5] + rng.normal(size=n)
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 2.5)
        tau = pm.HalfCauchy("tau", relevant / (d - relevant) * sigma / np.sqrt(n))
        lam = pm.HalfCauchy("lam", 1, shape=d)
        c2 = pm.InverseGamma("c2", 2, 8)
        z = pm.Normal("z", 0, 1, shape=d)
        beta = pm.Deterministic("beta", z * tau * lam * pt.sqrt(c2 / (c2 + tau**2 * lam**2)))
        pm.Normal("y", pt.dot(X, beta), sigma, observed=y)
    return model


@hard(
    "Riutort-Mayol et al. 2023; " + GALLERY + "Hilbert space approximations, in two dimensions",
    1_603,
    latent=True,
    seconds=30,
)
def map_hsgp(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(10), 600
    places = rng.uniform(-1, 1, (n, 2))
    y = 1.5 * smooth(rng, places, 0.25) + 0.4 * rng.normal(size=n)
    with pm.Model() as model:
        ell, eta, sigma = pm.InverseGamma("ell", 3, 1), pm.HalfNormal("eta", 2), pm.HalfNormal("sigma", 1)
        gp = pm.gp.HSGP(m=[40, 40], c=1.5, cov_func=eta**2 * pm.gp.cov.Matern52(2, ls=ell))
        f = gp.prior("f", X=places)
        pm.Normal("y", f, sigma, observed=y)
    return model


@hard(GALLERY + "latent Gaussian processes; Stan's example of a Gaussian process regression", 25, seconds=3.5)
def gp_regression(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(11), 22
    x = np.sort(rng.uniform(0, 10, n))
    y = 1.5 * np.sin(x) + 0.3 * x + 0.3 * rng.normal(size=n)
    with pm.Model() as model:
        ell, eta, sigma = pm.Gamma("ell", 2, 1), pm.HalfNormal("eta", 3), pm.HalfNormal("sigma", 1)
        f = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.Matern52(1, ls=ell)).prior("f", X=x[:, None])
        pm.Normal("y", f, sigma, observed=y)
    return model


@hard("logistic regression of clicks or loans: 10^6 rows, 20 columns, 500 groups", 522, latent=True)
def million_rows(pm: Any, pt: Any, np: Any) -> Any:
    rng, n, groups = np.random.default_rng(12), 1_000_000, 500
    X, g = rng.normal(size=(n, 20)), rng.integers(0, groups, n)
    logit = X @ (0.3 * rng.normal(size=20)) + (0.5 * rng.normal(size=groups) - 1.0)[g]
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-logit))).astype("int64")
    with pm.Model(coords={"group": range(groups)}) as model:
        mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1)
        a = pm.Normal("a", mu, tau, dims="group")
        b = pm.Normal("b", 0, 1, shape=20)
        pm.Bernoulli("y", logit_p=a[g] + pt.dot(X, b), observed=y)
    return model


@hard(
    "hierarchy of 100,000 independent groups, 300 tuning and 300 kept draws",
    100_002,
    latent=True,
    draws=300,
    tune=300,
    seconds=50,
)
def many_groups(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(13), 100_000
    y = rng.normal(1.0 + 0.7 * rng.normal(size=n), 1.0)
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 2)
        theta = pm.Normal("theta", mu, tau, shape=n)
        pm.Normal("y", theta, 1, observed=y)
    return model
