"""Hidden states and mixtures of Stan's, NumPyro's, Turing's and brms's examples, written as PyMC users write them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tests.public_models.pymc_time import pm_scan
from tests.public_models.registry import published

STAN = "Stan user's guide: "
BPA = "Kéry and Schaub, Bayesian Population Analysis, as in Stan's example models: "


@published(STAN + "hidden Markov model by the forward algorithm")
def hidden_markov(pm: Any, pt: Any, np: Any) -> Any:
    y = np.r_[np.random.default_rng(1).normal(3, 1, 15), np.random.default_rng(2).normal(10, 1, 15)]
    with pm.Model() as model:
        theta = pm.Dirichlet("theta", a=np.ones((2, 2)))
        mu = pm.Normal("mu", mu=[3.0, 10.0], sigma=1)
        emission = pm.logp(pm.Normal.dist(mu=mu, sigma=1), y[:, None])

        def forward(e, alpha, theta):
            return pt.logsumexp(alpha[:, None] + pt.log(theta), axis=0) + e

        first = pt.log(0.5) + emission[0]
        alpha = pm_scan(pm)(
            forward, sequences=[emission[1:]], outputs_info=[first], non_sequences=[theta], return_updates=False
        )
        pm.Potential("likelihood", pt.logsumexp(alpha[-1]))
    return model


@published(STAN + "change point, marginalized by hand", "mining disasters of Jarrett 1979, the first 60 years")
def change_point_marginalized(pm: Any, pt: Any, np: Any) -> Any:
    from tests.public_models.pymc_time import DISASTERS

    d = np.nan_to_num(np.array(DISASTERS[:60]), nan=1).astype(int)
    t = np.arange(60)
    with pm.Model() as model:
        e, l = pm.Exponential("e", 1), pm.Exponential("l", 1)  # noqa: E741
        rate = pt.switch(t[:, None] > t[None, :], e, l)
        lp = -np.log(60.0) + pm.logp(pm.Poisson.dist(rate), d[None, :]).sum(axis=1)
        pm.Deterministic("s", pt.argmax(lp))
        pm.Potential("d", pm.math.logsumexp(lp))
    return model


@published(STAN + "item response, two parameters")
def item_response_2pl(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(3)
    correct = rng.binomial(1, 1 / (1 + np.exp(-(rng.normal(0.5, 1, (40, 1)) - rng.normal(0, 1, 6)))))
    df = pd.DataFrame(correct).melt(ignore_index=False).reset_index()
    jj, kk = df["index"].to_numpy(), df["variable"].to_numpy(dtype="int64")
    with pm.Model(coords={"student": range(40), "question": range(6)}) as model:
        mu_beta = pm.Cauchy("mu_beta", 0, 5)
        alpha = pm.Normal("alpha", dims="student")
        beta = pm.Normal("beta", 0, pm.HalfCauchy("sigma_beta", 5), dims="question")
        gamma = pm.LogNormal("gamma", 0, pm.HalfCauchy("sigma_gamma", 5), dims="question")
        pm.Bernoulli("y", logit_p=gamma[kk] * (alpha[jj] - (beta[kk] + mu_beta)), observed=df["value"].to_numpy())
    return model


@published(STAN + "Bradley-Terry pairs")
def bradley_terry(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(4)
    home, away = rng.integers(0, 6, 60), rng.integers(0, 6, 60)
    away = np.where(home == away, (away + 1) % 6, away)
    y = rng.binomial(1, 1 / (1 + np.exp(-(rng.normal(size=6)[home] - rng.normal(size=6)[away]))))
    with pm.Model(coords={"player": list("ABCDEF")}) as model:
        sigma = pm.LogNormal("sigma", 0, 0.5)
        alpha = pm.ZeroSumNormal("alpha", sigma=sigma, dims="player")
        pm.Bernoulli("y", logit_p=alpha[home] - alpha[away], observed=y)
    return model


@published(STAN + "noisy raters (Dawid and Skene), classes summed out; NumPyro's annotation example")
def noisy_raters(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(5)
    truth = rng.choice(3, 15)
    votes = np.where(rng.random((15, 4)) < 0.7, truth[:, None], rng.integers(0, 3, (15, 4)))
    with pm.Model() as model:
        pi = pm.Dirichlet("pi", a=np.full(3, 3.0))
        beta = np.full((4, 3, 3), 1.0) + 1.5 * np.eye(3)
        theta = pm.Dirichlet("theta", a=beta, shape=(4, 3, 3))
        log_class = pt.log(pi)[None, :] + sum(pt.log(theta)[j, :, votes[:, j]] for j in range(4))
        pm.Potential("y", pm.math.logsumexp(log_class, axis=1).sum())
        pm.Deterministic("truth", pm.math.softmax(log_class, axis=1))
    return model


@published(STAN + "latent Dirichlet allocation, topics summed out")
def latent_dirichlet(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(6)
    doc, word = np.repeat(np.arange(5), 12), rng.integers(0, 6, 60)
    with pm.Model() as model:
        theta = pm.Dirichlet("theta", a=np.full((5, 2), 0.5))
        phi = pm.Dirichlet("phi", a=np.full((2, 6), 0.5))
        pm.Potential("w", pt.log((theta[doc] * phi[:, word].T).sum(axis=-1)))
    return model


@published(STAN + "Cormack-Jolly-Seber capture-recapture; NumPyro's and Pyro's example")
def capture_recapture(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(7)
    n, T = 40, 6
    y = np.zeros((n, T), dtype=int)
    y[:, 0] = 1
    alive = np.ones(n, bool)
    for t in range(1, T):
        alive &= rng.random(n) < 0.7
        y[:, t] = alive & (rng.random(n) < 0.6)
    last = y.shape[1] - 1 - y[:, ::-1].argmax(1)
    with pm.Model() as model:
        phi = pm.Uniform("phi", 0, 1, shape=T - 1)
        p = pm.Uniform("p", 0, 1, shape=T - 1)
        chi = [pt.ones(())]
        for t in range(T - 2, -1, -1):
            chi.insert(0, (1 - phi[t]) + phi[t] * (1 - p[t]) * chi[0])
        chi = pm.Deterministic("chi", pt.stack(chi))
        inside = np.arange(1, T)[None, :] <= last[:, None]
        pm.Potential("seen", pt.where(inside, pt.log(phi) + pt.where(y[:, 1:], pt.log(p), pt.log1p(-p)), 0.0))
        pm.Potential("unseen", pt.log(chi[last]))
    return model


@published(BPA + "site occupancy, presence summed out")
def occupancy(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(8)
    elevation = rng.normal(size=40)
    z = rng.binomial(1, 1 / (1 + np.exp(-elevation)))
    y = rng.binomial(4, 0.4 * z)
    with pm.Model() as model:
        b = pm.Normal("beta", 0, 2, shape=2)
        p = pm.Beta("p", 1, 1)
        psi = pm.Deterministic("psi", pm.math.invlogit(b[0] + b[1] * elevation))
        pm.ZeroInflatedBinomial("y", psi=psi, n=4, p=p, observed=y)
        pm.Deterministic("occupied", psi.sum())
    return model


@published(BPA + "N-mixture of repeated counts, abundance summed out")
def n_mixture(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(9)
    counts = rng.binomial(rng.poisson(4, 20)[:, None], 0.5, (20, 3))
    N = np.arange(25)
    possible = N[None, :] >= counts.max(1)[:, None]
    with pm.Model() as model:
        lam = pm.Gamma("lambda", 0.5, 0.1)
        p = pm.Uniform("p", 0, 1)
        log_n = pm.logp(pm.Poisson.dist(lam), N)
        log_y = pm.logp(pm.Binomial.dist(n=np.maximum(N, counts.max())[None, None, :], p=p), counts[:, :, None]).sum(1)
        pm.Potential("y", pt.logsumexp(pt.where(possible, log_n + log_y, -np.inf), axis=1))
    return model


@published(STAN + "low-dimensional Gaussian mixture with ordered means and weights by a potential")
def ordered_mixture(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(10)
    y = np.r_[rng.normal(-2.75, 1, 40), rng.normal(2.75, 1, 60)]
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2, shape=2, transform=pm.distributions.transforms.ordered, initval=[-1.0, 1.0])
        sigma = pm.HalfNormal("sigma", 2, shape=2)
        theta = pm.Beta("theta", 5, 5)
        components = pt.log(pt.stack([theta, 1 - theta])) + pm.logp(pm.Normal.dist(mu, sigma), y[:, None])
        pm.Potential("y", pt.logsumexp(components, axis=-1).sum())
    return model


@published("PyMC example gallery: Gaussian mixture with labels, marginalized by Mixture, and shapes by dims")
def mixture_by_dims(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(11)
    x = rng.normal(np.array([-5, 0, 5])[rng.choice(3, 90)], np.array([0.5, 2.0, 0.75])[rng.choice(3, 90)])
    with pm.Model(coords={"cluster": range(3)}) as model:
        mu = pm.Normal(
            "μ", mu=0, sigma=5, transform=pm.distributions.transforms.ordered, initval=[-4, 0, 4], dims="cluster"
        )
        sigma = pm.HalfNormal("σ", sigma=1, dims="cluster")
        weights = pm.Dirichlet("w", np.ones(3), dims="cluster")
        pm.NormalMixture("x", w=weights, mu=mu, sigma=sigma, observed=x)
    return model


@published("PyMC example gallery: Dirichlet process mixture of densities, truncated")
def dirichlet_process(pm: Any, pt: Any, np: Any) -> Any:
    faithful = np.r_[np.random.default_rng(12).normal(-1.2, 0.3, 30), np.random.default_rng(13).normal(0.7, 0.4, 50)]
    K = 30

    def stick_breaking(beta):
        portion_remaining = pt.concatenate([[1], pt.extra_ops.cumprod(1 - beta)[:-1]])
        return beta * portion_remaining

    with pm.Model(coords={"component": np.arange(K), "obs_id": np.arange(80)}) as model:
        alpha = pm.Gamma("alpha", 1.0, 1.0)
        beta = pm.Beta("beta", 1.0, alpha, dims="component")
        w = pm.Deterministic("w", stick_breaking(beta), dims="component")
        tau = pm.Gamma("tau", 1.0, 1.0, dims="component")
        lambda_ = pm.Gamma("lambda_", 10.0, 1.0, dims="component")
        mu = pm.Normal("mu", 0, tau=lambda_ * tau, dims="component")
        pm.NormalMixture("obs", w, mu, tau=lambda_ * tau, observed=faithful, dims="obs_id")
    return model


@published("NumPyro examples: Neal's funnel")
def funnel(pm: Any, pt: Any, np: Any) -> Any:
    with pm.Model() as model:
        y = pm.Normal("y", 0, 3)
        pm.Normal("x", 0, pm.math.exp(y / 2), shape=9)
    return model


@published("NumPyro examples: baseball batting averages (Efron and Morris 1975)", "table of the paper")
def baseball(pm: Any, pt: Any, np: Any) -> Any:
    hits = np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7])
    with pm.Model() as model:
        phi = pm.Uniform("phi", lower=0.0, upper=1.0)
        kappa_log = pm.Exponential("kappa_log", lam=1.5)
        kappa = pm.Deterministic("kappa", pt.exp(kappa_log))
        thetas = pm.Beta("thetas", alpha=phi * kappa, beta=(1.0 - phi) * kappa, shape=18)
        pm.Binomial("y", n=45, p=thetas, observed=hits)
    return model


@published("NumPyro examples: proportion test")
def proportions(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(14)
    treated, z = rng.binomial(1, 0.5, 200), rng.normal(size=200)
    y = rng.binomial(1, 1 / (1 + np.exp(-(-1 + 0.8 * treated + 0.2 * z))))
    X = np.column_stack((np.ones(200), treated, z))
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, sigma=[1.0, 0.5, 0.5])
        pm.Bernoulli("y", logit_p=X @ beta, observed=y)
        pm.Deterministic("lift", pm.math.invlogit(beta[0] + beta[1]) - pm.math.invlogit(beta[0]))
    return model


@published("NumPyro examples: horseshoe regression with interactions")
def horseshoe_interactions(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(15)
    X = rng.normal(size=(60, 8))
    Y = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=60)
    with pm.Model() as model:
        tau = pm.HalfStudentT("tau", 2, 0.1)
        lam = pm.HalfStudentT("lam", 5, shape=8)
        c2 = pm.InverseGamma("c2", 1, 1)
        z = pm.Normal("z", 0, 1, shape=8)
        beta = pm.Deterministic("beta", z * tau * lam * pt.sqrt(c2 / (c2 + tau**2 * lam**2)))
        pm.Normal("Y", pm.math.dot(X, beta), pm.HalfNormal("sigma", 1), observed=Y)
    return model


@published("Turing tutorials: multinomial logistic regression of irises")
def irises(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(16)
    species = pd.Categorical(np.repeat(["setosa", "versicolor", "virginica"], 20))
    X = rng.normal(species.codes[:, None], 0.7, (60, 4))
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 1, shape=2)
        coef = pm.Normal("coef", 0, 1, shape=(4, 2))
        v = pt.concatenate([pt.zeros((60, 1)), intercept + X @ coef], axis=1)
        pm.Categorical("species", logit_p=v, observed=species.codes)
    return model


@published("Turing tutorials: Bayesian estimation of a coin's bias, with deterministic odds")
def coin_flips(pm: Any, pt: Any, np: Any) -> Any:
    flips = [1, 0, 1, 1, 0, 0, 1, 1, 1, 0]
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        pm.Deterministic("odds", p / (1 - p))
        pm.Bernoulli("y", p, observed=flips)
    return model


@published("brms vignette on distributional models: unequal variances and zero-inflation by a predictor (fishing)")
def fishing(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(17)
    df = pd.DataFrame(
        {"persons": rng.integers(1, 5, 100), "child": rng.integers(0, 4, 100), "camper": rng.integers(0, 2, 100)}
    )
    df["count"] = rng.poisson(np.exp(-1 + 0.8 * df.persons - df.child)) * rng.binomial(1, 0.6, 100)
    with pm.Model() as model:
        b = pm.Normal("b", 0, 2, shape=3)
        intercept = pm.StudentT("Intercept", nu=3, mu=-2.3, sigma=2.5)
        b_zi = pm.Normal("b_zi", 0, 1)
        zi_intercept = pm.Logistic("Intercept_zi", 0, 1)
        mu = pm.math.exp(intercept + pm.math.dot(df[["persons", "child", "camper"]].to_numpy(), b))
        zi = pm.math.sigmoid(zi_intercept + b_zi * df["child"].to_numpy())
        pm.ZeroInflatedPoisson("count", psi=1 - zi, mu=mu, observed=df["count"])
    return model


@published("brms vignette on non-linear models: cumulative insurance losses (Gesmann)")
def insurance_losses(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(18)
    year, dev = np.repeat(np.arange(8), 6), np.tile(np.arange(6, 78, 12), 8)
    cum = 5000 * (1 - np.exp(-((dev / 45) ** 1.3))) + rng.normal(0, 100, 48)
    with pm.Model(coords={"AY": range(1991, 1999)}) as model:
        ult = pm.Normal("ult", 5000, 1000)
        sd = pm.HalfStudentT("sd_ult", nu=3, sigma=600)
        r = pm.Normal("r_AY", 0, 1, dims="AY")
        omega = pm.TruncatedNormal("omega", 1, 2, lower=0)
        theta = pm.TruncatedNormal("theta", 45, 10, lower=0)
        mu = (ult + sd * r[year]) * (1 - pm.math.exp(-((dev / theta) ** omega)))
        pm.Normal("cum", mu, pm.HalfStudentT("sigma", nu=3, sigma=300), observed=cum)
    return model


@published("brms vignette on missing values: chained predictor and outcome (mice's nhanes)")
def missing_chain(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(19)
    age = rng.integers(1, 4, 25)
    df = pd.DataFrame({"age": age, "bmi": rng.normal(26, 4, 25)})
    df["chl"] = 100 + 3 * df.bmi + 15 * df.age + rng.normal(0, 25, 25)
    df.loc[[2, 5, 9, 14], "bmi"] = np.nan
    df.loc[[3, 5, 11], "chl"] = np.nan
    with pm.Model() as model:
        a = pm.Normal("a", [26, 190], [10, 50], shape=2)
        b_age = pm.Normal("b_age", 0, 20, shape=2)
        b_bmi = pm.Normal("b_bmi", 0, 10)
        sigma = pm.HalfNormal("sigma", [10, 50], shape=2)
        bmi = pm.Normal("bmi", a[0] + b_age[0] * df["age"].values, sigma[0], observed=df["bmi"])
        mu = a[1] + b_age[1] * df["age"].values + b_bmi * (bmi - 26)
        pm.Normal("chl", mu, sigma[1], observed=df["chl"].to_numpy())
    return model


@published("brms vignette on multivariate models: tarsus and back of tits")
def tits(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(20)
    dam, sex = rng.integers(0, 10, 60), rng.integers(0, 2, 60)
    Y = rng.multivariate_normal([0, 0], [[1, -0.2], [-0.2, 1]], 60) + 0.4 * sex[:, None]
    with pm.Model(coords={"response": ["tarsus", "back"], "dam": range(10)}) as model:
        b0, b_sex = pm.Normal("b0", 0, 1, dims="response"), pm.Normal("b_sex", 0, 1, dims="response")
        L, _, sd = pm.LKJCholeskyCov("L", n=2, eta=1.0, sd_dist=pm.HalfStudentT.dist(nu=3, sigma=2.5))
        r = pm.Normal("z", dims=("dam", "response")) @ L.T
        Lrescor, *_ = pm.LKJCholeskyCov("rescor", n=2, eta=1.0, sd_dist=pm.HalfStudentT.dist(nu=3, sigma=2.5))
        pm.MvNormal("Y", b0 + b_sex * sex[:, None] + r[dam], chol=Lrescor, observed=Y)
    return model
