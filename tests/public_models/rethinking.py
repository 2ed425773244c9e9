"""Models of McElreath's Statistical Rethinking (2nd edition, 2020) as its readers write them in PyMC."""

from __future__ import annotations

from typing import Any

import pandas as pd
from scipy.interpolate import BSpline

from tests.public_models.registry import published

BOOK = "Statistical Rethinking, "
TOOLS = pd.DataFrame(
    {
        "population": [1100, 1500, 3600, 4791, 7400, 8000, 9200, 13000, 17500, 275000],
        "total_tools": [13, 22, 24, 43, 33, 19, 40, 28, 55, 71],
        "contact": ["low", "low", "low", "high", "high", "high", "high", "low", "high", "low"],
    }
)
ADMISSIONS = pd.DataFrame(
    {
        "dept": list("AABBCCDDEEFF"),
        "gender": ["male", "female"] * 6,
        "admit": [512, 89, 353, 17, 120, 202, 138, 131, 53, 94, 22, 24],
        "applications": [825, 108, 560, 25, 325, 593, 417, 375, 191, 393, 373, 341],
    }
)


def standardize(series: Any) -> Any:
    return (series - series.mean()) / series.std()


@published(BOOK + "chapter 2: globe tossing", "counts of the book")
def globe_tossing(pm: Any, pt: Any, np: Any) -> Any:
    data = np.repeat((0, 1), (3, 6))
    with pm.Model() as model:
        p = pm.Uniform("p", 0, 1)
        pm.Binomial("w", n=len(data), p=p, observed=data.sum())
    return model


@published(BOOK + "model 4.3: height and weight")
def height_on_weight(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(43)
    d = pd.DataFrame({"weight": rng.normal(45, 6.5, 80)})
    d["height"] = 154 + 0.9 * (d.weight - 45) + rng.normal(0, 5, 80)
    xbar = d.weight.mean()
    with pm.Model() as model:
        a = pm.Normal("a", mu=178, sigma=20)
        b = pm.LogNormal("b", mu=0, sigma=1)
        sigma = pm.Uniform("sigma", 0, 50)
        mu = pm.Deterministic("mu", a + b * (d.weight.values - xbar))
        pm.Normal("height", mu=mu, sigma=sigma, observed=d.height.values)
    return model


@published(BOOK + "model 4.5: polynomial regression")
def height_on_polynomial(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(45)
    weight = standardize(pd.Series(rng.uniform(5, 60, 60)))
    weight_m = np.vstack((weight, weight**2)).T
    height = 146 + 21 * weight - 8 * weight**2 + rng.normal(0, 5, 60)
    with pm.Model() as model:
        a = pm.Normal("a", mu=178, sigma=100)
        b = pm.Normal("b", mu=0, sigma=10, shape=2)
        sigma = pm.Uniform("sigma", lower=0, upper=50)
        mu = pm.Deterministic("mu", a + pm.math.dot(weight_m, b))
        pm.Normal("height", mu=mu, sigma=sigma, observed=height)
    return model


@published(BOOK + "model 4.7: B-splines of the day of first bloom")
def cherry_blossoms(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(47)
    years = np.linspace(0, 1, 120)
    doy = 104 + 4 * np.sin(8 * years) + rng.normal(0, 4, 120)
    knots = np.r_[[0.0] * 3, np.linspace(0, 1, 8), [1.0] * 3]
    B = BSpline.design_matrix(np.clip(years, 0, 1 - 1e-12), knots, 3).toarray()
    with pm.Model(coords={"splines": np.arange(B.shape[1])}) as model:
        a = pm.Normal("a", 100, 10)
        w = pm.Normal("w", mu=0, sigma=10, dims="splines")
        mu = pm.Deterministic("mu", a + pm.math.dot(np.asarray(B, order="F"), w.T))
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("D", mu=mu, sigma=sigma, observed=doy)
    return model


@published(BOOK + "model 5.3: divorce, marriage and age")
def divorce(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(53)
    age = rng.normal(size=50)
    data = pd.DataFrame({"A": age, "M": -0.7 * age + rng.normal(0, 0.7, 50)})
    data["D"] = standardize(-0.6 * data["A"] + rng.normal(0, 0.8, 50))
    with pm.Model() as model:
        sigma = pm.Exponential("sigma", 1)
        bA = pm.Normal("bA", 0, 0.5)
        bM = pm.Normal("bM", 0, 0.5)
        a = pm.Normal("a", 0, 0.2)
        mu = pm.Deterministic("mu", a + bA * data["A"].values + bM * data["M"].values)
        pm.Normal("divorce_rate_std", mu, sigma, observed=data["D"].values)
    return model


@published(BOOK + "model 5.9: energy of milk by clade, index variable")
def milk_by_clade(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(59)
    clade = pd.Categorical(rng.choice(["Ape", "New World", "Old World", "Strepsirrhine"], 29))
    K = standardize(pd.Series(np.array([-0.5, 0.4, 0.7, -0.6])[clade.codes] + rng.normal(0, 0.8, 29)))
    with pm.Model(coords={"clade": clade.categories}) as model:
        mu = pm.Normal("mu", mu=0, sigma=0.5, dims="clade")
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("K", mu=mu[clade.codes], sigma=sigma, observed=K)
    return model


@published(BOOK + "model 8.3: ruggedness, interaction by index")
def ruggedness(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(83)
    cid = pd.Categorical(rng.integers(0, 2, 100).astype(bool))
    rugged = rng.uniform(0, 1, 100)
    log_gdp_std = 1 + np.where(cid.codes, 0.1, -0.15) * (rugged - 0.215) + rng.normal(0, 0.1, 100)
    with pm.Model() as model:
        a = pm.Normal("a", 1, 0.1, shape=cid.categories.size)
        b = pm.Normal("b", 0, 0.3, shape=cid.categories.size)
        mu = a[cid.codes] + b[cid.codes] * (rugged - 0.215)
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("log_gdp_std", mu, sigma, observed=log_gdp_std)
    return model


@published(BOOK + "model 8.5: tulips, continuous interaction with data containers")
def tulips(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(85)
    d = pd.DataFrame({"water": np.tile([-1, 0, 1], 9), "shade": np.repeat([-1, 0, 1], 9)})
    d["blooms_std"] = np.clip(
        0.36 + 0.2 * d.water - 0.11 * d.shade - 0.14 * d.water * d.shade + rng.normal(0, 0.1, 27), 0, 1
    )
    with pm.Model() as model:
        water = pm.Data("water", d.water)
        shade = pm.Data("shade", d.shade)
        a = pm.Normal("a", 0.5, 0.25)
        bW, bS, bWS = (pm.Normal(n, 0, 0.25) for n in ("bW", "bS", "bWS"))
        mu = pm.Deterministic("mu", a + bW * water + bS * shade + bWS * water * shade)
        sigma = pm.Exponential("sigma", 1)
        pm.Normal("blooms", mu, sigma, observed=d.blooms_std)
    return model


@published(BOOK + "model 11.4: prosocial chimpanzees")
def chimpanzees(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(114)
    actor_idx, actors = pd.factorize(np.repeat(np.arange(1, 8), 24))
    treatment = rng.integers(0, 4, actor_idx.size)
    logit = np.array([-0.5, 4.0, -0.8, -0.8, -0.5, 0.5, 2.0])[actor_idx] + np.array([0, 0.5, -0.4, 0.4])[treatment]
    pulled_left = (rng.random(actor_idx.size) < 1 / (1 + np.exp(-logit))).astype(int)
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 1.5, shape=len(actors))
        b = pm.Normal("b", 0.0, 0.5, shape=4)
        actor_id = pm.intX(pm.Data("actor_id", actor_idx))
        p = pm.Deterministic("p", pm.math.invlogit(a[actor_id] + b[treatment]))
        pm.Bernoulli("pulled_left", p=p, observed=pulled_left)
    return model


@published(BOOK + "model 11.8: admissions of Berkeley by department (Bickel et al. 1975)", "table of the paper")
def admissions(pm: Any, pt: Any, np: Any) -> Any:
    d = ADMISSIONS
    gid, genders = d["gender"].factorize()
    dept_id, depts = d["dept"].factorize()
    with pm.Model(coords={"gender": genders, "dept": depts}) as model:
        a = pm.Normal("a", 0, 1.5, dims="gender")
        delta = pm.Normal("delta", 0, 1.5, dims="dept")
        p = pm.math.invlogit(a[gid] + delta[dept_id])
        pm.Deterministic("diff_p", pm.math.invlogit(a[0]) - pm.math.invlogit(a[1]))
        pm.Binomial("admit", p=p, n=d.applications, observed=d.admit)
    return model


@published(BOOK + "model 12.1: beta-binomial admissions", "table of Bickel et al. 1975")
def admissions_beta_binomial(pm: Any, pt: Any, np: Any) -> Any:
    d = ADMISSIONS
    gid = (d["gender"] == "female").astype(int).to_numpy()
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 1.5, shape=2)
        phi = pm.Exponential("phi", 1.0)
        theta = pm.Deterministic("theta", phi + 2.0)
        pbar = pm.Deterministic("pbar", pm.math.invlogit(a[gid]))
        pm.BetaBinomial(
            "A", alpha=pbar * theta, beta=(1.0 - pbar) * theta, n=d.applications.values, observed=d.admit.values
        )
    return model


@published(BOOK + "model 11.10: Oceanic tools", "table of Kline and Boyd 2010")
def oceanic_tools(pm: Any, pt: Any, np: Any) -> Any:
    P = standardize(np.log(TOOLS["population"]))
    cid = TOOLS["contact"].eq("high").astype("int64").values
    with pm.Model() as model:
        a = pm.Normal("a", 3, 0.5, shape=2)
        b = pm.Normal("b", 0, 0.2, shape=2)
        lam = pm.math.exp(a[cid] + b[cid] * P.values)
        pm.Poisson("T", lam, observed=TOOLS["total_tools"])
    return model


@published(BOOK + "model 11.11: scientific model of tools", "table of Kline and Boyd 2010")
def oceanic_tools_scientific(pm: Any, pt: Any, np: Any) -> Any:
    cid = pd.Categorical(TOOLS["contact"]).codes
    with pm.Model() as model:
        pop = pm.Data("P", TOOLS["population"].astype(float))
        a = pm.Normal("a", 1.0, 1.0, shape=2)
        b = pm.Exponential("b", 1.0, shape=2)
        g = pm.Exponential("g", 1.0)
        lam = pm.math.exp(a[cid]) * pop ** b[cid] / g
        pm.Poisson("total_tools", lam, observed=TOOLS["total_tools"].astype(float))
    return model


@published(BOOK + "model 12.2: gamma-Poisson tools", "table of Kline and Boyd 2010")
def oceanic_tools_gamma_poisson(pm: Any, pt: Any, np: Any) -> Any:
    cid = TOOLS["contact"].eq("high").to_numpy().astype(int)
    P = TOOLS["population"].to_numpy(dtype="float64")
    with pm.Model() as model:
        a = pm.Normal("a", 1, 1, shape=2)
        b = pm.Exponential("b", 1, shape=2)
        g = pm.Exponential("g", 1)
        phi = pm.Exponential("phi", 1)
        lam = pt.exp(a[cid]) * P ** b[cid] / g
        pm.NegativeBinomial("T", lam, phi, observed=TOOLS.total_tools)
    return model


@published(BOOK + "model 12.3: zero-inflated Poisson manuscripts")
def drunk_monks(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(365)
    y = (1 - rng.binomial(1, 0.2, 365)) * rng.poisson(1, 365)
    with pm.Model() as model:
        ap = pm.Normal("ap", -1.5, 1.0)
        p = pm.Deterministic("p", pm.math.invlogit(ap))
        al = pm.Normal("al", 1.0, 0.5)
        lambda_ = pm.Deterministic("lambda", pm.math.exp(al))
        pm.ZeroInflatedPoisson("y_obs", 1.0 - p, lambda_, observed=y)
    return model


@published(BOOK + "model 12.6: trolley problems, ordered outcome with monotonic predictor")
def trolley(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(126)
    n = 150
    d = pd.DataFrame(
        {"action": rng.integers(0, 2, n), "intention": rng.integers(0, 2, n), "edu_new": rng.integers(0, 8, n)}
    )
    score = -0.6 * d.action - 0.5 * d.intention - 0.3 * d.edu_new / 7 + rng.logistic(size=n)
    d["response"] = np.digitize(score, [-2.5, -1.8, -1.2, -0.3, 0.4, 1.3])
    with pm.Model() as model:
        kappa = pm.Normal(
            "kappa", 0.0, 1.5, shape=6, transform=pm.distributions.transforms.ordered, initval=np.arange(6) - 2.5
        )
        bA, bI = pm.Normal("bA", 0, 1), pm.Normal("bI", 0, 1)
        bE = pm.Normal("bE", 0.0, 1.0)
        delta = pm.Dirichlet("delta", np.repeat(2.0, 7), shape=7)
        delta_j = pt.concatenate([pt.zeros(1), delta])
        delta_j_cumulative = pt.cumsum(delta_j)
        phi = bE * delta_j_cumulative[d.edu_new.values] + bA * d.action.values + bI * d.intention.values
        pm.OrderedLogistic("resp_obs", phi, kappa, observed=d.response.values)
    return model


@published(BOOK + "model 13.2: reed frogs, varying intercepts")
def reed_frogs(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(132)
    density = np.repeat([10, 25, 35], 8)
    surv = rng.binomial(density, 1 / (1 + np.exp(-rng.normal(1.4, 1.5, 24))))
    with pm.Model(coords={"tank": np.arange(24)}) as model:
        a_bar = pm.Normal("a_bar", 0.0, 1.5)
        sigma = pm.Exponential("sigma", 1.0)
        a = pm.Normal("a", a_bar, sigma, dims="tank")
        p = pm.math.invlogit(a[np.arange(24)])
        pm.Binomial("S", n=density, p=p, observed=surv)
    return model


@published(BOOK + "model 14.1: cafés, correlated varying slopes")
def cafes(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(141)
    cafe_idx = np.repeat(np.arange(12), 10)
    afternoon = np.tile([0, 1], 60)
    effects = rng.multivariate_normal([3.5, -1.0], [[1, -0.35], [-0.35, 0.25]], 12)
    wait = effects[cafe_idx, 0] + effects[cafe_idx, 1] * afternoon + rng.normal(0, 0.5, 120)
    with pm.Model() as model:
        sd_dist = pm.Exponential.dist(1.0)
        chol, _, _ = pm.LKJCholeskyCov("chol_cov", n=2, eta=2, sd_dist=sd_dist, compute_corr=True)
        a_cafe = pm.Normal("a_cafe", 5.0, 2.0)
        b_cafe = pm.Normal("b_cafe", -1.0, 0.5)
        ab = pm.MvNormal("ab", mu=pt.stack([a_cafe, b_cafe]), chol=chol, shape=(12, 2))
        mu = ab[:, 0][cafe_idx] + ab[:, 1][cafe_idx] * afternoon
        sigma = pm.Exponential("sigma", 1.0)
        pm.Normal("wait", mu=mu, sigma=sigma, observed=wait)
    return model


@published(BOOK + "model 14.6: instrumental variable by correlated errors")
def instrument(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(146)
    U, Q = rng.normal(size=100), rng.integers(1, 5, 100)
    E = rng.normal(U + Q)
    W = rng.normal(U + 0 * E)
    E, W, Q = (standardize(pd.Series(v)).to_numpy() for v in (E, W, Q))
    with pm.Model() as model:
        aW, aE = pm.Normal("aW", 0.0, 0.2), pm.Normal("aE", 0.0, 0.2)
        bEW, bQE = pm.Normal("bEW", 0.0, 0.5), pm.Normal("bQE", 0.0, 0.5)
        muW = aW + bEW * E
        muE = aE + bQE * Q
        chol, _, _ = pm.LKJCholeskyCov("chol_cov", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0), compute_corr=True)
        pm.MvNormal("W,E", mu=pt.stack([muW, muE]).T, chol=chol, observed=np.stack([W, E]).T)
    return model


@published(BOOK + "model 14.8: Gaussian process of islands", "tools of Kline and Boyd 2010, distances simulated here")
def tools_in_space(pm: Any, pt: Any, np: Any) -> Any:
    place = np.random.default_rng(148).uniform(0, 4, (10, 2))
    Dmat_ord = np.sqrt(((place[:, None] - place) ** 2).sum(-1))
    Dmatsq = np.power(Dmat_ord, 2)
    P = TOOLS.population.values
    with pm.Model() as model:
        a = pm.Exponential("a", 1.0)
        b = pm.Exponential("b", 1.0)
        g = pm.Exponential("g", 1.0)
        etasq = pm.Exponential("etasq", 2.0)
        rhosq = pm.Exponential("rhosq", 0.5)
        K = etasq * (pm.math.exp(-rhosq * Dmatsq) + np.diag([0.01] * 10))
        k = pm.MvNormal("k", mu=np.zeros(10), cov=K, shape=10)
        lam = (a * P**b / g) * pm.math.exp(k[np.arange(10)])
        pm.Poisson("total_tools", lam, observed=TOOLS.total_tools.values)
    return model


@published(BOOK + "model 14.8, non-centred", "tools of Kline and Boyd 2010, distances simulated here")
def tools_in_space_noncentred(pm: Any, pt: Any, np: Any) -> Any:
    place = np.random.default_rng(148).uniform(0, 4, (10, 2))
    Dmat = np.sqrt(((place[:, None] - place) ** 2).sum(-1))
    with pm.Model() as model:
        a, b, g = (pm.Exponential(n, 1.0) for n in "abg")
        etasq, ls_inv = pm.Exponential("etasq", 2.0), pm.HalfNormal("ls_inv", 2.0)
        rhosq = pm.Deterministic("rhosq", 0.5 * ls_inv**2)
        K = etasq * pt.exp(-rhosq * pt.square(Dmat)) + 0.01 * pt.eye(10)
        L = pt.linalg.cholesky(K)
        z = pm.Normal("z", size=10)
        lam = a * TOOLS["population"].to_numpy() ** b / g * pt.exp(L @ z)
        pm.Poisson("T", lam, observed=TOOLS["total_tools"].to_numpy())
    return model


@published(BOOK + "model 15.2: divorce with measurement error on outcome and predictor")
def measurement_error(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(152)
    A = rng.normal(size=30)
    M_sd, D_sd = rng.uniform(0.1, 0.6, 30), rng.uniform(0.2, 0.9, 30)
    M_obs = rng.normal(-0.7 * A, M_sd)
    D_obs = rng.normal(-0.6 * A, D_sd)
    with pm.Model() as model:
        sigma = pm.Exponential("sigma", 1.0)
        bM, bA = pm.Normal("bM", 0.0, 0.5), pm.Normal("bA", 0.0, 0.5)
        a = pm.Normal("a", 0.0, 0.2)
        M_true = pm.Normal("M_true", 0.0, 1.0, shape=30)
        D_true = pm.Normal("D_true", a + bA * A + bM * M_true, sigma, shape=30)
        pm.Normal("D_obs", D_true, D_sd, observed=D_obs)
        pm.Normal("M_obs", M_true, M_sd, observed=M_obs)
    return model


@published(BOOK + "model 15.5: milk with imputed neocortex")
def milk_imputed(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(155)
    B = rng.normal(size=29)
    d = pd.DataFrame({"B": B, "M": 0.7 * B + rng.normal(0, 0.7, 29)})
    d["K"] = 0.5 * d.B - 0.6 * d.M + rng.normal(0, 0.8, 29)
    d.loc[rng.choice(29, 12, replace=False), "B"] = np.nan
    with pm.Model() as model:
        sigma = pm.Exponential("sigma", 1.0)
        sigma_B = pm.Exponential("sigma_B", 1.0)
        bM, bB = pm.Normal("bM", 0.0, 0.5), pm.Normal("bB", 0.0, 0.5)
        a, nu = pm.Normal("a", 0.0, 0.5), pm.Normal("nu", 0.0, 0.5)
        Bi = pm.Normal("Bi", nu, sigma_B, observed=d["B"])
        mu = a + bB * Bi + bM * d["M"].values
        pm.Normal("K", mu, sigma, observed=d["K"].values)
    return model


@published(BOOK + "model 15.8: cats and songbirds, discrete absence summed out")
def songbirds(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(158)
    cat = rng.binomial(1, 0.2, 60)
    notes = rng.poisson(np.exp(2.0 - 0.7 * cat))
    unknown = rng.binomial(1, 0.2, 60).astype(bool)
    with pm.Model() as model:
        a, b = pm.Normal("a", 0.0, 1.0), pm.Normal("b", 0.0, 0.5)
        k = pm.Beta("k", 2, 2)
        pm.Bernoulli("C", k, observed=cat[~unknown])
        pm.Poisson("N", pm.math.exp(a + b * cat[~unknown]), observed=notes[~unknown])
        with_cat = pm.logp(pm.Poisson.dist(mu=pm.math.exp(a + b)), notes[unknown])
        without = pm.logp(pm.Poisson.dist(mu=pm.math.exp(a)), notes[unknown])
        pm.Potential("N_unknown", pm.math.logaddexp(pm.math.log(k) + with_cat, pm.math.log1p(-k) + without))
    return model


@published(BOOK + "model 16.1: volume of a cylinder")
def howell_cylinder(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(161)
    h = rng.uniform(0.35, 1.3, 60)
    w = h**3 * np.exp(rng.normal(0, 0.15, 60))
    with pm.Model() as model:
        p = pm.Beta("p", 2.0, 18.0)
        k = pm.Exponential("k", 0.5)
        sigma = pm.Exponential("sigma", 1.0)
        mu = pm.math.log(np.pi * k * p**2 * h**3)
        pm.LogNormal("w", mu, sigma, observed=w)
    return model


@published(BOOK + "model 16.2: strategies of children, mixture by custom density")
def boxes(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(162)
    n = 100
    y = rng.choice(3, n, p=[0.25, 0.35, 0.4])
    majority_first = rng.integers(0, 2, n)
    table = np.stack([
        (y == 1), (y == 2), (y == 0), np.full(n, 1 / 3),
        np.where(majority_first == 1, y == 1, y == 2),
    ]).astype(float)  # fmt: skip

    with pm.Model() as model:
        p = pm.Dirichlet("p", np.repeat(4, 5))

        def logp(value, p):
            theta = pt.as_tensor_variable(table)
            return pm.math.sum(pt.log(pt.dot(p, theta)))

        pm.Potential("y", logp(y, p))
    return model


@published(BOOK + "model 16.4: population dynamics, discretized hares and lynxes")
def hares_in_steps(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(164)
    H = 30 * np.exp(0.4 * np.sin(np.arange(21) / 1.6) + rng.normal(0, 0.1, 21))
    L = 20 * np.exp(0.4 * np.sin(np.arange(21) / 1.6 - 1) + rng.normal(0, 0.1, 21))
    with pm.Model() as model:
        bH, mL = pm.LogNormal("bH", np.log(0.5), 0.5), pm.LogNormal("mL", np.log(0.5), 0.5)
        mH, bL = pm.HalfNormal("mH", 0.05), pm.HalfNormal("bL", 0.05)
        sigma = pm.Exponential("sigma", [1.0, 1.0])
        pm.LogNormal("h", pt.log(H[:-1]) + bH - mH * L[:-1], sigma[0], observed=H[1:])
        pm.LogNormal("l", pt.log(L[:-1]) + bL * H[:-1] - mL, sigma[1], observed=L[1:])
    return model


@published(BOOK + "social relations: gifts between households")
def gifts(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(17)
    A, B = np.triu_indices(10, k=1)
    dyad = np.arange(A.size)
    lam = np.exp(0.3 + rng.normal(0, 0.7, (2, dyad.size)))
    giftsAB, giftsBA = rng.poisson(lam)
    with pm.Model() as model:
        a = pm.Normal("a", 0, 1)
        sd_dyad = pm.Exponential("sd_dyad", 1)
        L = pm.LKJCorr("L", n=2, eta=8)
        z = pm.Normal("z", shape=(2, dyad.size))
        d = sd_dyad * pt.dot(L, z)
        g_chol, *_ = pm.LKJCholeskyCov("gr", n=2, eta=4, sd_dist=pm.Exponential.dist(1, size=2))
        gr = pm.Deterministic("giving", (g_chol @ pm.Normal("z_gr", shape=(2, 10))).T)
        pm.Poisson("GAB", pt.exp(a + d[0, dyad] + gr[A, 0] + gr[B, 1]), observed=giftsAB)
        pm.Poisson("GBA", pt.exp(a + d[1, dyad] + gr[B, 0] + gr[A, 1]), observed=giftsBA)
    return model
