"""Survival models of the BUGS examples (volume I): censoring, counting processes, frailties."""

from __future__ import annotations

from typing import Any

from tests.public_models.registry import published, read

BUGS = read("bugs")
MANUAL = "published table; as in stan-dev/example-models, BSD 3-Clause"


@published("BUGS volume I, Mice: Weibull regression of photocarcinogenicity (Grieve 1987)", MANUAL)
def mice(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["mice"]
    t = np.r_[d["t_uncensored"], d["censor_time"]].astype(float)
    group = np.r_[d["group_uncensored"], d["group_censored"]] - 1
    upper = np.r_[np.full(65, np.inf), d["censor_time"]]
    with pm.Model(coords={"group": ["irradiated", "vehicle", "test", "positive"]}) as model:
        r = pm.Exponential("r", 0.1, initval=1.0)
        beta = pm.Normal("beta", 0, 30, dims="group", initval=np.full(4, -3.0))
        scale = pm.math.exp(-beta[group] / r)
        latent = pm.Weibull.dist(alpha=r, beta=scale)
        pm.Censored("t", latent, lower=None, upper=upper, observed=t)
        pm.Deterministic("median", (pm.math.log(2) * pm.math.exp(-beta)) ** (1 / r), dims="group")
    return model


@published("BUGS volume I, Kidney: Weibull regression with random effects (McGilchrist and Aisbett 1991)", MANUAL)
def kidney(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["kidney"]
    kinds = ("_uc", "_rc")
    age, sex, disease, patient, t = (
        np.concatenate([d[k + e] for e in kinds]) for k in ("age", "sex", "disease", "patient", "t")
    )
    observed = np.r_[np.ones(58), np.zeros(18)].astype(bool)
    with pm.Model(coords={"patient": range(1, 39), "disease": ["GN", "AN", "PKD"]}) as model:
        alpha = pm.Normal("alpha", 0, 100)
        b_age, b_sex = pm.Normal("beta_age", 0, 100), pm.Normal("beta_sex", 0, 100)
        b_disease = pm.Normal("beta_disease", 0, 100, dims="disease")
        r = pm.Gamma("r", 1, 1e-3, initval=1.0)
        sigma = pm.HalfNormal("sigma", 1)
        b = pm.Normal("b", 0, sigma, dims="patient")
        eta = alpha + b_age * age + b_sex * sex + pt.concatenate([[0.0], b_disease])[disease - 1] + b[patient - 1]
        hazard = pm.math.exp(eta)
        logp = observed * (pm.math.log(r) + (r - 1) * np.log(t) + eta) - hazard * t**r
        pm.Potential("survival", logp)
    return model


@published("BUGS volume I, Leuk: survival analysis by Cox regression as a counting process (Gehan 1965)", MANUAL)
def leuk(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["leukfr"]
    start, stop = d["t"][:-1], d["t"][1:]
    at_risk = (d["obs_t"][:, None] >= start).astype(int)
    died = at_risk * d["fail"][:, None] * (d["obs_t"][:, None] < stop)
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 1000.0)
        dL0 = pm.Gamma("dL0", alpha=0.001 * (stop - start) * 0.1 + 0.5, beta=0.001 + 0.5, shape=17)
        intensity = at_risk * pt.exp(beta * d["Z"])[:, None] * dL0[None, :]
        pm.Poisson("dN", mu=intensity + 1e-12, observed=died)
        pm.Deterministic("S_treat", pt.exp(-pt.cumsum(dL0)) ** pt.exp(-0.5 * beta))
    return model


@published("BUGS volume I, LeukFr: Cox regression with random effects of pairs (Freireich et al. 1963)", MANUAL)
def leukfr(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["leukfr"]
    start, stop = d["t"][:-1], d["t"][1:]
    at_risk = (d["obs_t"][:, None] >= start).astype(float)
    died = at_risk * d["fail"][:, None] * (d["obs_t"][:, None] < stop)
    with pm.Model(coords={"pair": np.arange(21), "interval": np.arange(17)}) as model:
        beta = pm.Normal("beta", 0, 10)
        tau = pm.Gamma("tau", 1, 1)
        b = pm.Normal("b", 0, tau=tau, dims="pair")
        dL0 = pm.Gamma("dL0", 1.0, 10.0, dims="interval")
        eta = beta * d["Z"] + b[d["pair"] - 1]
        mu = pt.outer(pt.exp(eta), dL0) * at_risk + 1e-10
        pm.Poisson("dN", mu, observed=died)
    return model
