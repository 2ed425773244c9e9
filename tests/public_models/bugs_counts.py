"""Counts and proportions of the BUGS examples (volumes I and II)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tests.public_models.registry import published, read

BUGS = read("bugs")
MANUAL = "published table; as in stan-dev/example-models, BSD 3-Clause"


@published("BUGS volume I, Pumps (George et al. 1993)", MANUAL)
def pumps(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["pumps"]
    with pm.Model() as model:
        alpha = pm.Exponential("alpha", 1.0)
        beta = pm.Gamma("beta", alpha=0.1, beta=1.0)
        theta = pm.Gamma("theta", alpha=alpha, beta=beta, shape=len(d["x"]))
        pm.Poisson("x", mu=theta * d["t"], observed=d["x"])
    return model


@published("BUGS volume I, Seeds: random effect logistic regression (Crowder 1978)", MANUAL)
def seeds(pm: Any, pt: Any, np: Any) -> Any:
    df = pd.DataFrame({k: BUGS["seeds"][k] for k in ("N", "n", "x1", "x2")})
    x1, x2 = df[["x1", "x2"]].to_numpy().T
    with pm.Model(coords={"plate": df.index}) as model:
        alpha0 = pm.Normal("alpha0", 0.0, tau=1.0e-6)
        alpha1 = pm.Normal("alpha1", 0.0, tau=1.0e-6)
        alpha2 = pm.Normal("alpha2", 0.0, tau=1.0e-6)
        alpha12 = pm.Normal("alpha12", 0.0, tau=1.0e-6)
        sigma = pm.Uniform("sigma", 0, 10)
        b = pm.Normal("b", 0.0, sigma, dims="plate")
        eta = alpha0 + alpha1 * x1 + alpha2 * x2 + alpha12 * x1 * x2
        p = pm.Deterministic("p", pm.math.invlogit(eta + b), dims="plate")
        pm.Binomial("r", n=df["N"].values, p=p, observed=df["n"], dims="plate")
    return model


@published("BUGS volume I, Surgical: institutional ranking, fixed effects", MANUAL)
def surgical_fixed(pm: Any, pt: Any, np: Any) -> Any:
    with pm.Model(coords={"hospital": list("ABCDEFGHIJKL")}) as model:
        p = pm.Beta("p", 1.0, 1.0, dims="hospital")
        pm.Binomial("r", n=BUGS["surgical"]["n"], p=p, observed=BUGS["surgical"]["r"], dims="hospital")
    return model


@published("BUGS volume I, Surgical: institutional ranking, random effects", MANUAL)
def surgical(pm: Any, pt: Any, np: Any) -> Any:
    n, r = BUGS["surgical"]["n"], BUGS["surgical"]["r"]
    with pm.Model(coords={"hospital": list("ABCDEFGHIJKL")}) as model:
        mu = pm.Normal("mu", mu=0.0, sigma=1000)
        tau = pm.Gamma("tau", 0.001, 0.001)
        pm.Deterministic("sigma", 1 / pm.math.sqrt(tau))
        b = pm.Normal("b", mu=mu, tau=tau, dims="hospital")
        p = pm.Deterministic("p", pm.math.sigmoid(b), dims="hospital")
        pm.Deterministic("pop_mean", pm.math.exp(mu) / (1 + pm.math.exp(mu)))
        pm.Deterministic("rank", pt.argsort(pt.argsort(p)) + 1, dims="hospital")
        pm.Binomial("r", n=n, p=p, observed=r, dims="hospital")
    return model


@published("BUGS volume I, Salm: extra-Poisson variation in dose-response (Breslow 1984)", MANUAL)
def salm(pm: Any, pt: Any, np: Any) -> Any:
    x, y = BUGS["salm"]["x"], BUGS["salm"]["y"]
    with pm.Model(coords={"dose": x, "plate": range(3)}) as model:
        alpha = pm.Normal("alpha", 0, 100)
        beta = pm.Normal("beta", 0, 100)
        gamma = pm.Normal("gamma", 0, 100)
        tau = pm.Gamma("tau", 0.001, 0.001)
        lam = pm.Normal("lambda", 0.0, tau=tau, dims=("dose", "plate"))
        log_mu = alpha + beta * np.log(x + 10)[:, None] + gamma * x[:, None] + lam
        pm.Poisson("y", pm.math.exp(log_mu), observed=y, dims=("dose", "plate"))
    return model


@published("BUGS volume I, Blocker: random effects meta-analysis of clinical trials", MANUAL)
def blocker(pm: Any, pt: Any, np: Any) -> Any:
    trial = BUGS["blocker"]
    with pm.Model(coords={"trial": np.arange(1, 23)}) as model:
        d = pm.Normal("d", 0.0, tau=1.0e-6)
        tau = pm.Gamma("tau", 1.0e-3, 1.0e-3)
        mu = pm.Normal("mu", 0.0, tau=1.0e-5, dims="trial")
        delta = pm.StudentT("delta", nu=4, mu=d, lam=tau, dims="trial")
        pm.Normal("delta_new", d, tau=tau)
        pm.Deterministic("sigma", 1 / pt.sqrt(tau))
        pm.Binomial("rc", trial["nc"], p=pm.math.invlogit(mu), observed=trial["rc"])
        pm.Binomial("rt", trial["nt"], p=pm.math.invlogit(mu + delta), observed=trial["rt"])
    return model


@published("BUGS volume I, Magnesium: meta-analysis with a uniform shrinkage prior", MANUAL)
def magnesium(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["magnesium"]
    variance = 1 / (d["rt"] + 0.5) + 1 / (d["nt"] - d["rt"] + 0.5) + 1 / (d["rc"] + 0.5) + 1 / (d["nc"] - d["rc"] + 0.5)
    s0_sq = 1 / np.mean(1 / variance)
    with pm.Model() as model:
        shrink = pm.Uniform("B0")
        tau_sq = pm.Deterministic("tau_sq", s0_sq * (1 - shrink) / shrink)
        theta = pm.Uniform("theta", -10, 10)
        pc = pm.Uniform("pc", lower=0, upper=1, shape=8)
        phi = pm.Normal("phi", mu=theta, sigma=pm.math.sqrt(tau_sq), shape=8)
        pm.Deterministic("OR", pt.exp(theta))
        pm.Binomial("rc", n=d["nc"], p=pc, observed=d["rc"])
        pm.Binomial("rt", n=d["nt"], logit_p=pm.math.logit(pc) + phi, observed=d["rt"])
    return model


@published("BUGS volume I, Oxford: smooth fit to log-odds ratios (first 60 strata)", MANUAL)
def oxford(pm: Any, pt: Any, np: Any) -> Any:
    d = {k: v[:60] for k, v in BUGS["oxford"].items() if k != "K"}
    year = d["year"].astype(float)
    with pm.Model(coords={"stratum": np.arange(60)}) as model:
        alpha = pm.Normal("alpha", 0.0, 100.0)
        beta1 = pm.Normal("beta1", 0.0, 100.0)
        beta2 = pm.Normal("beta2", 0.0, 100.0)
        sigma = pm.Gamma("tau", 1.0e-3, 1.0e-3) ** -0.5
        mu = pm.Normal("mu", 0.0, 1000, dims="stratum")
        z = pm.Normal("z", dims="stratum")
        log_psi = alpha + beta1 * year + beta2 * (year * year - 22.0) + z * sigma
        pm.Binomial("r0", n=d["n0"], logit_p=mu, observed=d["r0"], dims="stratum")
        pm.Binomial("r1", n=d["n1"], logit_p=mu + log_psi, observed=d["r1"], dims="stratum")
    return model


@published("BUGS volume I, Epilepsy: repeated measures on Poisson counts (Thall and Vail 1990)", MANUAL)
def epil(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["epil"]
    df = pd.DataFrame(d["y"], columns=["v1", "v2", "v3", "v4"])
    df["lbase4"], df["trt"], df["lage"] = np.log(d["Base"] / 4), d["Trt"], np.log(d["Age"])
    X = (df[["lbase4", "trt", "lage"]] - df[["lbase4", "trt", "lage"]].mean()).to_numpy()
    BT = df["lbase4"] * df["trt"]
    coords = {"patient": df.index.to_numpy(), "visit": ["v1", "v2", "v3", "v4"], "beta": ["base", "trt", "age"]}
    with pm.Model(coords=coords) as model:
        a0 = pm.Normal("a0", 0, 10)
        beta = pm.Normal("betas", 0, 10, dims="beta")
        bt = pm.Normal("alpha_BT", 0, 10)
        v4 = pm.Normal("alpha_V4", 0, 10)
        sigma_b1 = pm.HalfNormal("sigma_b1", 1)
        sigma_b = pm.HalfNormal("sigma_b", 1)
        b1 = pm.Normal("b1", 0, sigma_b1, dims="patient")
        b = pm.Normal("b", 0, sigma_b, dims=["patient", "visit"])
        person = a0 + pm.math.dot(X, beta) + bt * (BT - BT.mean()).to_numpy() + b1
        eta = person[:, None] + v4 * (d["V4"] - d["V4"].mean())[None, :] + b
        pm.Poisson("y", mu=pm.math.exp(eta), observed=df[["v1", "v2", "v3", "v4"]], dims=("patient", "visit"))
    return model


@published("BUGS volume I, Dogs: loglinear model for binary data (Lindsey 1994)", MANUAL)
def dogs(pm: Any, pt: Any, np: Any) -> Any:
    y = BUGS["dogs"]["Y"]
    avoided = np.cumsum(y, axis=1) - y
    shocked = np.cumsum(1 - y, axis=1) - (1 - y)
    with pm.Model() as model:
        alpha = pm.TruncatedNormal("alpha", mu=0, sigma=300, upper=-0.00001)
        beta = pm.TruncatedNormal("beta", mu=0, sigma=300, upper=-0.00001)
        p = pm.math.exp(alpha * avoided[:, 1:] + beta * shocked[:, 1:])
        pm.Deterministic("A", pt.exp(alpha))
        pm.Deterministic("B", pt.exp(beta))
        pm.Bernoulli("y", p=p, observed=1 - y[:, 1:])
    return model


@published("BUGS volume I, Litters: beta-binomial (Tamura and Young 1987)", MANUAL)
def litters(pm: Any, pt: Any, np: Any) -> Any:
    n, r = BUGS["litter"]["n"], BUGS["litter"]["r"]
    with pm.Model() as model:
        mu = pm.Uniform("mu", shape=(2, 1))
        a_plus_b = pm.Pareto("a_plus_b", alpha=1.5, m=0.1, shape=(2, 1))
        pm.Deterministic("theta", 1 / (a_plus_b + 1))
        pm.BetaBinomial("r", n=n, alpha=mu * a_plus_b, beta=(1 - mu) * a_plus_b, observed=r)
    return model


@published("BUGS volume I, LSAT: Rasch model (Bock and Aitkin), 100 persons of the 1,000", MANUAL)
def lsat(pm: Any, pt: Any, np: Any) -> Any:
    counts = np.diff(np.r_[0, BUGS["lsat"]["culm"]])
    answers = np.repeat(BUGS["lsat"]["response"], counts, axis=0)[::10]
    long = pd.DataFrame(answers).reset_index().melt(id_vars="index", var_name="item", value_name="correct")
    person, item = long["index"].to_numpy(), long["item"].to_numpy(dtype=int)
    with pm.Model(coords={"item": [f"item {i}" for i in range(1, 6)]}) as model:
        alpha = pm.Normal("alpha", 0.0, 100.0, dims="item")
        beta = pm.HalfNormal("beta", 100.0)
        theta = pm.Normal("theta", 0, 1, shape=100)
        pm.Deterministic("a", alpha - alpha.mean(), dims="item")
        pm.Bernoulli("y", logit_p=beta * theta[person] - alpha[item], observed=long["correct"].astype(float).to_numpy())
    return model


def dose_response(link: str) -> Any:
    """Beetles with the link of a name."""

    def model_of(pm: Any, pt: Any, np: Any) -> Any:
        d = BUGS["beetles"]
        x = d["x"]
        with pm.Model() as model:
            alpha_star = pm.Normal("alpha_star", 0.0, 100.0)
            beta = pm.Normal("beta", 0.0, 100.0)
            eta = alpha_star + beta * (x - np.mean(x))
            p = {
                "logit": lambda: pm.math.invlogit(eta),
                "probit": lambda: pm.math.invprobit(eta),
                "cloglog": lambda: 1 - pm.math.exp(-pm.math.exp(eta)),
            }[link]()
            pm.Deterministic("rhat", p * d["n"])
            pm.Binomial("r", n=d["n"], p=p, observed=d["r"])
        return model

    model_of.__name__ = f"beetles_{link}"
    return published(f"BUGS volume II, Beetles: {link} link (Bliss 1935)", MANUAL)(model_of)


beetles_logit, beetles_probit, beetles_cloglog = map(dose_response, ("logit", "probit", "cloglog"))


@published("BUGS volume II, Alligators: multinomial-logistic regression (Agresti 1990)", MANUAL)
def alligators(pm: Any, pt: Any, np: Any) -> Any:
    X = BUGS["alli"]["X"]  # lakes, sizes, foods
    coords = {"lake": range(4), "size": ["small", "large"], "food": ["fish", "inv", "rep", "bird", "other"]}
    with pm.Model(coords=coords) as model:
        alpha = pm.Normal("alpha", 0, 300, shape=4)
        beta = pm.Normal("beta", 0, 300, shape=(3, 4))
        gamma = pm.Normal("gamma", 0, 300, shape=(1, 4))
        a = pt.concatenate([np.zeros(1), alpha])
        b = pt.concatenate([np.zeros((4, 1)), pt.concatenate([np.zeros((1, 4)), beta])], axis=1)
        g = pt.concatenate([np.zeros((2, 1)), pt.concatenate([np.zeros((1, 4)), gamma])], axis=1)
        p = pm.math.softmax(a[None, None, :] + b[:, None, :] + g[None, :, :], axis=-1)
        p = pm.Deterministic("p", p, dims=("lake", "size", "food"))
        pm.Multinomial("X", n=X.sum(-1), p=p, observed=X, dims=("lake", "size", "food"))
    return model


@published("BUGS volume II, Endo: conditional inference in case-control studies (Breslow and Day 1980)", MANUAL)
def endometrial(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["endo"]
    est = np.zeros((d["I"], 2), dtype="int8")
    est[: d["n11"] + d["n10"], 0] = 1
    est[: d["n11"], 1] = est[d["n11"] + d["n10"] : d["n11"] + d["n10"] + d["n01"], 1] = 1
    with pm.Model() as model:
        beta = pm.Normal("beta", mu=0, sigma=1000)
        numerator = pm.math.exp(beta * est[:, 0])
        p = numerator / (numerator + pm.math.exp(beta * est[:, 1]))
        pm.Potential("likelihood", pm.math.sum(pm.math.log(p)))
    return model


@published("BUGS volume II, Ice: non-parametric smoothing in an age-cohort model (Breslow and Clayton 1993)", MANUAL)
def ice(pm: Any, pt: Any, np: Any) -> Any:
    df = pd.DataFrame({k: BUGS["ice"][k] for k in ("age", "year", "cases", "pyr")})
    age_idx, ages = pd.factorize(df["age"])
    year_idx = df["year"].to_numpy() - 1
    with pm.Model(coords={"age": ages, "cohort": np.arange(1, 12)}) as model:
        alpha = pm.Normal("alpha", 0.0, 10.0, shape=12)
        tau = pm.Gamma("tau", 1.0, 0.1)
        beta = pm.GaussianRandomWalk(
            "beta", mu=0.0, sigma=1 / pm.math.sqrt(tau), init_dist=pm.Normal.dist(0.0, 0.01), dims="cohort"
        )
        levels = pm.math.concatenate([[0.0], alpha])
        log_rate = levels[age_idx] + beta[year_idx]
        pm.Poisson("cases", pm.math.exp(log_rate + np.log(df["pyr"].values)), observed=df["cases"].values)
    return model


@published("BUGS volume II, Hearts: a mixture model for count data (Berry 1987)", MANUAL)
def hearts(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["hearts"]
    zero = d["y"] == 0
    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0, 100)
        delta = pm.Normal("delta", 0, 100)
        theta = pm.Deterministic("theta", pm.math.invlogit(delta))
        p = pm.math.invlogit(alpha)
        t = np.asarray(d["t"], dtype="float64")
        cured = pt.log(theta + (1 - theta) * (1 - p) ** t)
        sick = pm.math.log1p(-theta) + pm.logp(pm.Binomial.dist(n=d["t"], p=p), d["y"])
        pm.Potential("y", pt.where(zero, cured, sick).sum())
    return model


@published("BUGS volume II, Air: covariate measurement error (Whittemore and Keller 1988)", MANUAL)
def air(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["air"]
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, sigma=[32.0, 32.0])
        X = pm.Normal("X", mu=d["alpha"] + d["beta"] * d["Z"], tau=1 / d["sigma2"])
        p = pm.math.invlogit(theta[0] + theta[1] * X)
        pm.Binomial("y", n=d["n"], p=p, observed=d["y"])
    return model


@published("BUGS volume I, Inhalers: ordered categorical data (Ezzet and Whitehead 1993), 57 patients of 286", MANUAL)
def inhalers(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["inhalers"]
    cells = np.diff(np.c_[np.r_[0, d["Ncum"][:-1, 1]], d["Ncum"]], axis=1)
    group = np.concatenate([np.repeat([0, 1], row) for row in cells])[::5]
    response = np.repeat(d["pattern"], cells.sum(1), axis=0)[::5] - 1
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 10)
        pi = pm.Normal("pi", 0, 10)
        kappa = pm.Normal("kappa", 0, 10)
        sigma = pm.HalfNormal("sigma", 2)
        b = pm.Normal("b", 0, sigma, shape=len(group))
        cutpoints = pm.Normal(
            "a",
            mu=0,
            sigma=10,
            shape=3,
            transform=pm.distributions.transforms.ordered,
            initval=np.array([-1.0, 1.0, 3.0]),
        )
        for t in range(2):
            fixed = beta * d["treat"][group, t] / 2 + pi * d["period"][group, t] / 2 + kappa * d["carry"][group, t]
            pm.OrderedLogistic(
                f"response_{t}", eta=fixed + b, cutpoints=cutpoints, observed=response[:, t], compute_p=False
            )
    return model


@published("BUGS volume I, Bones: latent trait model for multiple ordered categories (Roche et al. 1975)", MANUAL)
def bones(pm: Any, pt: Any, np: Any) -> Any:
    d = BUGS["bones"]
    seen = np.argwhere(d["grade"] > 0)
    child, indicator = seen.T
    k = d["grade"][child, indicator]  # 1, 2, ...: between thresholds k - 1 and k
    gamma = np.pad(d["gamma"], ((0, 0), (1, 1)))[indicator]
    rows = np.arange(len(seen))
    with pm.Model() as model:
        theta = pm.Normal("theta", 0.0, tau=0.001, shape=13)
        q = pm.math.invlogit(d["delta"][indicator, None] * (theta[child, None] - gamma))
        above = pt.switch(pt.eq(k, 1), 1.0, q[rows, k - 1])
        beyond = pt.switch(pt.eq(k, d["ncat"][indicator]), 0.0, q[rows, k])
        pm.Potential("grades", pm.math.log(above - beyond))
    return model


@published("BUGS volume II, Asia: expert system (Lauritzen and Spiegelhalter 1988)", "probabilities of the paper")
def asia(pm: Any, pt: Any, np: Any) -> Any:
    with pm.Model() as model:
        smoking = pm.Bernoulli("smoking", 0.5)
        tuberculosis = pm.Bernoulli("tuberculosis", pt.as_tensor_variable([0.01, 0.05])[1])
        lung_cancer = pm.Bernoulli("lung_cancer", pm.math.switch(smoking, 0.1, 0.01))
        bronchitis = pm.Bernoulli("bronchitis", pm.math.switch(smoking, 0.6, 0.3))
        either = pm.Deterministic("either", pm.math.maximum(tuberculosis, lung_cancer))
        xray = pt.as_tensor_variable(np.array([0.05, 0.98]))
        pm.Bernoulli("xray", xray[either])
        table = pt.as_tensor_variable(np.array([[0.1, 0.8], [0.7, 0.9]]))
        pm.Bernoulli("dyspnoea", table[either, bronchitis], observed=1)
    return model


@published("BUGS volume II, Pigs: genetic counselling in a pedigree", "pedigree of the manual, shortened")
def pigs(pm: Any, pt: Any, np: Any) -> Any:
    p = np.array([[[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0]], [[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]],
                  [[0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]]])  # fmt: skip
    with pm.Model() as model:
        q = pm.Uniform("q", 0, 1)
        founders = pt.stack([(1 - q) ** 2, 2 * q * (1 - q), q**2])
        ann = pm.Categorical("Ann", p=founders)
        brian = pm.Categorical("Brian", p=founders)
        dorothy = pm.Categorical("Dorothy", p=pt.as_tensor_variable(p)[ann, brian])
        eric = pm.Categorical("Eric", p=founders)
        pm.Potential("healthy", pt.switch(pt.eq(dorothy, 2), -np.inf, 0.0))
        child = pt.as_tensor_variable(p)[dorothy, eric]
        pm.Categorical("Jane", p=child, observed=2)
    return model
