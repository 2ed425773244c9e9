"""Normal models of the BUGS examples (volumes I and II): growth curves, variance components, regressions."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tests.public_models.registry import published, read

BUGS = read("bugs")
MANUAL = "published table; as in stan-dev/example-models, BSD 3-Clause"


@published("BUGS volume I, Rats (Gelfand et al. 1990)", MANUAL)
def rats(pm: Any, pt: Any, np: Any) -> Any:
    days, weight = BUGS["rats"]["x"], BUGS["rats"]["y"]
    coords = {"rat": np.arange(30), "day": days}
    with pm.Model(coords=coords) as model:
        x = pm.Data("x", days - days.mean(), dims="day")
        alpha_c = pm.Normal("alpha_c", mu=0, tau=1.0e-6)
        beta_c = pm.Normal("beta_c", mu=0, tau=1.0e-6)
        sigma_alpha = pm.HalfNormal("sigma_alpha", 50)
        sigma_beta = pm.HalfNormal("sigma_beta", 5)
        alpha = pm.Normal("alpha", alpha_c, sigma_alpha, dims="rat")
        beta = pm.Normal("beta", beta_c, sigma_beta, dims="rat")
        tau_c = pm.Gamma("tau_c", alpha=0.001, beta=0.001)
        pm.Deterministic("sigma", 1 / pm.math.sqrt(tau_c))
        pm.Deterministic("alpha0", alpha_c - x.mean() * beta_c)
        mu = alpha[:, None] + beta[:, None] * x[None, :]
        pm.Normal("y", mu=mu, tau=tau_c, observed=weight, dims=("rat", "day"))
    return model


@published("BUGS volume II, Birats: bivariate normal hierarchy of rats (Gelfand et al. 1990)", MANUAL)
def birats(pm: Any, pt: Any, np: Any) -> Any:
    x, y = BUGS["rats"]["x"], BUGS["rats"]["y"]
    with pm.Model(coords={"rat": np.arange(30), "param": ["alpha", "beta"]}) as model:
        mu_beta = pm.Normal("mu_beta", mu=np.zeros(2), sigma=100, dims="param")
        chol, corr, stds = pm.LKJCholeskyCov(
            "chol", n=2, eta=2.0, sd_dist=pm.HalfNormal.dist([50.0, 5.0]), compute_corr=True
        )
        beta = pm.MvNormal("beta", mu=mu_beta, chol=chol, dims=("rat", "param"))
        sigma = pm.HalfNormal("sigma", 20)
        pm.Normal("y", beta[:, 0, None] + beta[:, 1, None] * x, sigma, observed=y.astype("float64"))
    return model


@published("BUGS volume I, Dyes: variance components model (Box and Tiao 1973)", MANUAL)
def dyes(pm: Any, pt: Any, np: Any) -> Any:
    df = pd.DataFrame(BUGS["dyes"]["y"]).stack().rename("yield").reset_index().rename(columns={"level_0": "batch"})
    with pm.Model(coords={"batch": df["batch"].unique(), "obs_id": df.index}) as model:
        batch_idx = pm.Data("batch_idx", df["batch"].to_numpy(), dims="obs_id")
        theta = pm.Normal("theta", 0.0, sigma=1e5)
        tau_btw = pm.Gamma("tau_btw", 0.001, 0.001, initval=1.0)
        tau_with = pm.Gamma("tau_with", 0.001, 0.001, initval=1.0)
        s2 = [pm.Deterministic(f"sigma2_{n}", 1 / t) for n, t in [("btw", tau_btw), ("with", tau_with)]]
        pm.Deterministic("f_btw", s2[0] / (s2[0] + s2[1]))
        m = pm.Normal("m", mu=theta, tau=tau_btw, dims="batch")
        pm.Normal("y", mu=m[batch_idx], tau=tau_with, observed=df["yield"], dims="obs_id")
    return model


@published("BUGS volume I, Equiv: bioequivalence in a cross-over trial (Gelfand et al. 1990)", MANUAL)
def equiv(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["equiv"]
    treat = np.stack([d["group"], -d["group"]], axis=1)
    with pm.Model() as model:
        mu, phi, pi = pm.Normal("mu", 0, 1e3), pm.Normal("phi", 0, 1e3), pm.Normal("pi", 0, 1e3)
        precision1 = pm.Gamma("tau1", 0.001, 0.001)
        precision2 = pm.Gamma("tau2", 0.001, 0.001)
        theta = pm.Deterministic("theta", pm.math.exp(phi))
        pm.Deterministic("equiv", pm.math.and_(theta > 0.8, theta < 1.2))
        delta = pm.Normal("delta", mu=0.0, tau=precision2, shape=d["N"])
        m = mu + d["sign"] * pi / 2 + treat * phi / 2 + delta.dimshuffle(0, "x")
        pm.Normal("Y", m, tau=precision1, observed=d["Y"])
    return model


def stack_loss(errors: str) -> Any:
    """Stacks with errors of a distribution."""

    def model_of(pm: Any, pt: Any, np: Any) -> Any:
        d = BUGS["stacks"]
        z = (d["x"] - d["x"].mean(0)) / d["x"].std(axis=0, ddof=1)
        with pm.Model(coords={"predictor": ["air flow", "temperature", "acid"]}) as model:
            beta0 = pm.Normal("beta0", 0, sigma=316.0)
            if errors == "ridge":
                phi = pm.Gamma("phi", 1e-2, 1e-2)
                beta = pm.Normal("beta", 0, tau=phi, dims="predictor")
            else:
                beta = pm.Normal("beta", 0, sigma=316, dims="predictor")
            mu = beta0 + pm.math.sum(z * beta, axis=1)
            if errors == "dexp":
                tau = pm.Gamma("tau", alpha=1e-3, beta=1e-3)
                pm.Laplace("Y", mu=mu, b=1 / tau, observed=d["Y"])
            else:
                sigma = pm.HalfCauchy("sigma", 10)
                pm.StudentT("Y", nu=4, mu=mu, sigma=sigma, observed=d["Y"])
            pm.Deterministic("b", beta / d["x"].std(axis=0, ddof=1), dims="predictor")
        return model

    model_of.__name__ = f"stacks_{errors}"
    return published(f"BUGS volume I, Stacks: robust regression, {errors} (Birkes and Dodge 1993)", MANUAL)(model_of)


stacks_dexp, stacks_t4, stacks_ridge = map(stack_loss, ("dexp", "t4", "ridge"))


@published("BUGS volume II, Dugongs: nonlinear growth curve (Ratkowsky 1983)", MANUAL)
def dugongs(pm: Any, pt: Any, np: Any) -> Any:
    x, Y = BUGS["dugongs"]["x"], BUGS["dugongs"]["Y"]
    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0, 1000)
        beta = pm.Normal("beta", 0, 1000)
        lam = pm.Uniform("lambda", 0.5, 1.0)
        tau = pm.Gamma("tau", 1e-4, 1e-4)
        pm.Deterministic("U3", pm.math.logit(lam))
        m = alpha - beta * lam**x
        pm.Normal("Y", m, tau=tau, observed=Y)
    return model


@published("BUGS volume II, Orange trees: hierarchical nonlinear model (Draper and Smith 1981)", MANUAL)
def orange_trees(pm: Any, pt: Any, np: Any) -> Any:
    x, Y = BUGS["orange"]["x"], BUGS["orange"]["Y"]
    with pm.Model(coords={"tree": range(5), "p": [1, 2, 3], "time": x}) as model:
        mu = pm.Normal("mu", 0, 100, dims="p")
        sigma = pm.HalfNormal("sigma", sigma=1, dims="p")
        theta = pm.Normal("theta", mu, sigma, dims=("tree", "p"))
        sigma_C = pm.HalfCauchy("sigma_C", 10)
        phi1 = pm.math.exp(theta[:, 0])[:, np.newaxis]
        phi2 = pm.math.expm1(theta[:, 1])[:, np.newaxis]
        phi3 = -pm.math.exp(theta[:, 2])[:, np.newaxis]
        eta = phi1 / (1 + phi2 * pm.math.exp(phi3 * x / 100.0))
        pm.Normal("Y", eta, sigma_C, observed=Y, dims=("tree", "time"))
    return model


@published("BUGS volume II, Orange trees: multivariate normal random effects", MANUAL)
def orange_trees_multivariate(pm: Any, pt: Any, np: Any) -> Any:
    x, Y = BUGS["orange"]["x"], BUGS["orange"]["Y"]
    with pm.Model() as model:
        mu = pm.MvNormal("mu", mu=np.zeros(3), cov=np.eye(3) * 10.0, shape=3)
        chol, *_ = pm.LKJCholeskyCov("chol", n=3, eta=1, sd_dist=pm.Exponential.dist(2, shape=3))
        z = pm.Normal("z", 0, 1, shape=(5, 3))
        theta = pm.Deterministic("theta", mu + pt.dot(z, chol.T))
        sigma = pm.HalfCauchy("sigma", 10)
        phi = pt.exp(theta)
        eta = phi[:, :1] / (1 + phi[:, 1:2] * pt.exp(-phi[:, 2:3] * x / 100.0))
        pm.Normal("Y", eta, sigma, observed=Y)
    return model


@published("BUGS volume II, Jaw: repeated measures analysis of variance (Elston and Grizzle 1962)", MANUAL)
def jaw(pm: Any, pt: Any, np: Any) -> Any:
    Y, age = BUGS["jaws"]["Y"], BUGS["jaws"]["age"]
    with pm.Model() as model:
        beta0 = pm.Normal("beta0", 0, 32)
        beta1 = pm.Normal("beta1", 0, 32)
        sd_dist = pm.HalfNormal.dist(sigma=3, shape=4)
        packed = pm.LKJCholeskyCov("packed", n=4, eta=1, sd_dist=sd_dist, compute_corr=False)
        L = pm.math.expand_packed_triangular(4, packed, lower=True)
        Sigma = pm.Deterministic("Sigma", L.dot(L.T))
        pm.MvNormal("Y", mu=beta0 + beta1 * age, cov=Sigma, observed=Y)
    return model


@published("BUGS volume II, Stagnant: changepoint at one of the points (Carlin, Gelfand and Smith 1992)", MANUAL)
def stagnant(pm: Any, pt: Any, np: Any) -> Any:
    x, Y = BUGS["stagnant"]["x"], BUGS["stagnant"]["Y"]
    with pm.Model() as model:
        k = pm.Categorical("k", p=np.ones(29) / 29)
        alpha = pm.Normal("alpha", 0.0, 1000)
        beta = pm.Normal("beta", 0.0, 1000, shape=2)
        tau = pm.Gamma("tau", 0.001, 0.001)
        x_change = pt.as_tensor(x)[k]
        idx = pm.math.gt(np.arange(29), k)
        mu = alpha + pt.where(idx, beta[1], beta[0]) * (x - x_change)
        pm.Normal("Y", mu, tau=tau, observed=Y)
    return model


@published("BUGS volume II, Stagnant: continuous changepoint", MANUAL)
def stagnant_continuous(pm: Any, pt: Any, np: Any) -> Any:
    x, Y = BUGS["stagnant"]["x"], BUGS["stagnant"]["Y"]
    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0, 5)
        beta = pm.Normal("beta", 0, 5, shape=2)
        x_change = pm.Uniform("x_change", -1.3, 1.1)
        sigma = pm.HalfCauchy("sigma", 5)
        mu = pm.math.switch(x < x_change, alpha + beta[0] * (x - x_change), alpha + beta[1] * (x - x_change))
        pm.Normal("Y", mu, sigma, observed=Y)
    return model


@published("BUGS volume II, Pines: two regressions and their weights (Carlin and Chib 1995)", MANUAL)
def pines(pm: Any, pt: Any, np: Any) -> Any:
    d = {k: BUGS["pines"][k] for k in "xyz"}
    y, x, z = ((v - v.mean()) / v.std() for v in (d["y"], d["x"], d["z"]))
    with pm.Model() as model:
        alpha, gamma = pm.Normal("alpha", 0, 1000), pm.Normal("gamma", 0, 1000)
        beta, delta = pm.Normal("beta", 0, 100), pm.Normal("delta", 0, 100)
        sigma = pm.InverseGamma("sigma2", 3, 1, shape=2) ** 0.5
        w = pm.Dirichlet("w", [1.0, 1.0])
        comps = [pm.Normal.dist(alpha + beta * x, sigma[0]), pm.Normal.dist(gamma + delta * z, sigma[1])]
        pm.Mixture("y", w=w, comp_dists=comps, observed=y)
    return model


@published("BUGS volume II, Eyes: normal mixture (Bowmaker et al. 1985)", MANUAL)
def eyes(pm: Any, pt: Any, np: Any) -> Any:
    y = BUGS["eyes"]["y"]
    with pm.Model() as model:
        P = pm.Dirichlet("P", a=np.ones(2))
        theta = pm.HalfNormal("theta", 31)
        lambda1 = pm.Normal("lambda1", 540, 30)
        lam = pm.Deterministic("lambda", pt.stack([lambda1, lambda1 + theta]))
        sigma = pm.HalfCauchy("sigma", 5)
        pm.NormalMixture("y", w=P, mu=lam, sigma=sigma, observed=y)
    return model
