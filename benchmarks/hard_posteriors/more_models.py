"""More rows of the table of hard models, and what published models take longest here: simulated at the published size.

As in `models`, each is a function of (pm, pt, np) that builds the same in PyMC.
"""

from __future__ import annotations

from typing import Any

from benchmarks.hard_posteriors.models import GALLERY, hard


@hard("300 groups of two data each, which say little of either", 303, latent=True, seconds=2)
def weak_groups(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(2)
    y = 0.3 * rng.normal(size=300)[:, None] + rng.normal(size=(300, 2))
    with pm.Model() as model:
        mu, tau, sigma = pm.Normal("mu", 0, 5), pm.HalfNormal("tau"), pm.HalfNormal("sigma", 2)
        pm.Normal("y", pm.Normal("theta", mu, tau, shape=300)[:, None], sigma, observed=y)
    return model


@hard("posteriordb, irt_2pl: answers of 100 persons to 20 questions, two parameters a question", 143, seconds=6)
def irt_2pl(pm: Any, pt: Any, np: Any) -> Any:
    rng, items, persons = np.random.default_rng(14), 20, 100
    a, b = np.exp(0.4 * rng.normal(size=items)), rng.normal(size=items)
    chance = 1 / (1 + np.exp(-a[:, None] * (rng.normal(size=persons) - b[:, None])))
    y = (rng.uniform(size=chance.shape) < chance).astype("int64")
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 1, shape=persons)
        sigma_a, sigma_b = pm.HalfCauchy("sigma_a", 2), pm.HalfCauchy("sigma_b", 2)
        a, mu_b = pm.LogNormal("a", 0, sigma_a, shape=items), pm.Normal("mu_b", 0, 5)
        b = pm.Normal("b", mu_b, sigma_b, shape=items)
        pm.Bernoulli("y", logit_p=a[:, None] * (theta - b[:, None]), observed=y)
    return model


@hard(GALLERY + "heteroskedastic Gaussian process: mean and log noise by coregionalization", 48, True, seconds=15)
def heteroskedastic_gp(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(15), 20
    x = np.linspace(0, 1, n)
    y = np.sin(6 * x) + np.exp(-2.5 + 2 * x) * rng.normal(size=(5, n))
    inputs = np.stack([np.tile(x, 2), np.repeat([0.0, 1.0], n)], 1)
    with pm.Model() as model:
        ell, eta = pm.InverseGamma("ell", 5, 1), pm.Gamma("eta", 2, 1)
        W, kappa = pm.Normal("W", 0, 3, shape=(2, 2)), pm.Gamma("kappa", 1.5, 1, shape=2)
        kernel = eta**2 * pm.gp.cov.ExpQuad(input_dim=2, ls=ell, active_dims=[0])
        kernel = kernel * pm.gp.cov.Coregion(input_dim=2, W=W, kappa=kappa, active_dims=[1])
        f = pm.gp.Latent(cov_func=kernel + pm.gp.cov.WhiteNoise(1e-3)).prior("f", X=inputs)
        pm.Normal("y", f[:n], pt.exp(f[n:] - 2.0), observed=y)
    return model


@hard(
    GALLERY + "factor analysis (probabilistic principal components): 250 rows, 10 columns, 2 factors", 520, seconds=15
)
def factor_analysis(pm: Any, pt: Any, np: Any) -> Any:
    rng, rows, columns = np.random.default_rng(16), 250, 10
    y = rng.normal(size=(rows, 2)) @ rng.normal(size=(2, columns)) + 0.3 * rng.normal(size=(rows, columns))
    with pm.Model() as model:
        diagonal = pm.HalfNormal("diagonal", 2, shape=2)
        below = pm.Normal("below", 0, 2, shape=2 * columns - 3)
        W = pt.set_subtensor(pt.zeros((columns, 2))[[0, 1], [0, 1]], diagonal)
        W = pt.set_subtensor(
            W[[*range(1, columns), *range(2, columns)], [0] * (columns - 1) + [1] * (columns - 2)], below
        )
        F = pm.Normal("F", 0, 1, shape=(rows, 2))
        psi = pm.HalfNormal("psi", 1)
        pm.Normal("y", pt.dot(F, W.T), psi, observed=y)
    return model


@hard(GALLERY + "vector autoregressions of 8 countries whose coefficients are a hierarchy", 94, seconds=20)
def hierarchical_var(pm: Any, pt: Any, np: Any) -> Any:
    rng, countries, years, lags = np.random.default_rng(17), 8, 50, 2
    A = np.array([[0.4, 0.2], [0.1, 0.3]])
    series = np.zeros((countries, years, 2))
    noise = rng.normal(size=series.shape) @ np.array([[1.0, 0.0], [0.5, 0.8]]).T
    for t in range(1, years):
        series[:, t] = series[:, t - 1] @ (A + 0.1 * rng.normal(size=(countries, 1, 1))[0]).T + 0.5 + noise[:, t]
    past = np.concatenate([series[:, lags - 1 - k : years - 1 - k] for k in range(lags)], -1)
    with pm.Model() as model:
        centre, scale = pm.Normal("centre", 0, 0.3, shape=(2 * lags, 2)), pm.InverseGamma("scale", 3, 0.5)
        level, spread = pm.Normal("level", 0, 1), pm.InverseGamma("spread", 3, 0.5)
        B = pm.Normal("B", centre, scale, shape=(countries, 2 * lags, 2))
        alpha = pm.Normal("alpha", level, spread, shape=(countries, 2))
        chol, _, _ = pm.LKJCholeskyCov(
            "noise", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0, shape=2), compute_corr=True
        )
        for i in range(countries):
            pm.MvNormal(f"y_{i}", alpha[i] + pt.dot(past[i], B[i]), chol=chol, observed=series[i, lags:])
    return model


@hard(GALLERY + "dependent density regression (LIDAR, 221 rows, 20 components)", 100, seconds=40)
def density_regression(pm: Any, pt: Any, np: Any) -> Any:
    rng, n, K = np.random.default_rng(18), 221, 20
    x = np.sort(rng.uniform(-1.7, 1.7, n))
    y = np.where(x < 0, 0.9, 0.9 - 0.9 * x) + np.where(x < 0, 0.1, 0.3) * rng.normal(size=n)
    with pm.Model() as model:
        alpha, beta = pm.Normal("alpha", 0, 5, shape=K), pm.Normal("beta", 0, 5, shape=K)
        v = 0.5 * pt.erfc(-(alpha + beta * x[:, None]) / np.sqrt(2.0))
        left = pt.concatenate([pt.ones((n, 1)), pt.cumprod(1 - v, axis=1)[:, :-1]], axis=1)
        w = pm.Deterministic("w", v * left / (v * left).sum(axis=1, keepdims=True))
        gamma, delta = pm.Normal("gamma", 0, 10, shape=K), pm.Normal("delta", 0, 10, shape=K)
        tau = pm.Gamma("tau", 1, 1, shape=K)
        pm.NormalMixture("y", w, gamma + delta * x[:, None], tau=tau, observed=y)
    return model


@hard(GALLERY + "missing survey answers of 630 employees in 105 teams", 417, seconds=15)
def missing_answers(pm: Any, pt: Any, np: Any) -> Any:
    rng, n, teams = np.random.default_rng(19), 630, 105
    team = rng.integers(0, teams, n)
    X = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.4, 0.3], [0.0, 0.9, 0.3], [0.0, 0.0, 0.8]])
    y = 2.0 + X @ [0.4, 0.2, 0.1] + 0.4 * rng.normal(size=teams)[team] + 0.8 * rng.normal(size=n)
    X = np.where(rng.uniform(size=X.shape) < 0.15, np.nan, X)
    with pm.Model() as model:
        columns = []
        for k in range(3):
            mean, sd = pm.Normal(f"mean_{k}", 0, 1), pm.HalfNormal(f"sd_{k}", 2)
            before = sum((pm.Normal(f"on_{k}_{j}", 0, 1) * columns[j] for j in range(k)), 0.0)
            columns.append(pm.Normal(f"x_{k}", mean + before, sd, observed=np.ma.masked_invalid(X[:, k])))
        effects = pm.Normal("effects", 0, pm.HalfNormal("between", 1), shape=teams)
        b, sigma = pm.Normal("b", 0, 1, shape=3), pm.HalfNormal("sigma", 2)
        mu = pm.Normal("level", 0, 3) + effects[team] + sum(b[k] * columns[k] for k in range(3))
        pm.Normal("y", mu, sigma, observed=y)
    return model


@hard(GALLERY + "Bayesian neural network: two layers of 5, 500 points of two moons", 40, seconds=30)
def neural_network(pm: Any, pt: Any, np: Any) -> Any:
    rng, n = np.random.default_rng(20), 500
    side, angle = rng.integers(0, 2, n), rng.uniform(0, np.pi, n)
    X = np.stack([np.cos(angle) * (1 - 2 * side) + side, np.sin(angle) * (1 - 2 * side) + 0.5 * side], 1)
    X = X + 0.2 * rng.normal(size=X.shape)
    with pm.Model() as model:
        first = pm.Normal("first", 0, 1, shape=(2, 5))
        second, third = pm.Normal("second", 0, 1, shape=(5, 5)), pm.Normal("third", 0, 1, shape=5)
        hidden = pt.tanh(pt.dot(pt.tanh(pt.dot(X, first)), second))
        pm.Bernoulli("y", logit_p=pt.dot(hidden, third), observed=side)
    return model
