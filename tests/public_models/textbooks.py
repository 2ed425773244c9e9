"""Models of textbooks: Gelman and Hill; Gelman, Hill and Vehtari; Bayesian Data Analysis; Kruschke."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tests.public_models.registry import published

ARM = "Gelman and Hill, Data Analysis Using Regression and Multilevel/Hierarchical Models: "
BDA = "Gelman et al., Bayesian Data Analysis (3rd edition): "
DBDA = "Kruschke, Doing Bayesian Data Analysis (2nd edition): "
LIGHT = [28, 26, 33, 24, 34, -44, 27, 16, 40, -2, 29, 22, 24, 21, 25, 30, 23, 29, 31, 19, 24, 20, 36, 32, 36, 28, 25,
         21, 28, 29, 37, 25, 28, 26, 30, 32, 36, 26, 30, 22, 36, 23, 27, 27, 28, 27, 31, 27, 26, 33, 26, 32, 32, 24,
         39, 28, 24, 25, 32, 25, 29, 27, 28, 29, 16, 23]  # fmt: skip


@published(ARM + "chapter 12, radon with varying intercepts and floor")
def radon_varying_intercept(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(12)
    county = rng.integers(0, 20, 150)
    df = pd.DataFrame({"county": [f"C{i:02d}" for i in county], "floor": rng.binomial(1, 0.2, 150).astype(float)})
    df["log_radon"] = 1.4 + rng.normal(0, 0.3, 20)[county] - 0.7 * df.floor + rng.normal(0, 0.7, 150)
    county_idx, counties = pd.factorize(df["county"], sort=True)
    with pm.Model(coords={"county": counties, "obs": df.index}) as model:
        floor_idx = pm.Data("floor_idx", df["floor"], dims="obs")
        idx = pm.Data("county_idx", county_idx, dims="obs")
        mu_a = pm.Normal("mu_a", mu=0.0, sigma=10.0)
        sigma_a = pm.Exponential("sigma_a", 1.0)
        alpha = pm.Normal("alpha", mu=mu_a, sigma=sigma_a, dims="county")
        beta = pm.Normal("beta", mu=0.0, sigma=10.0)
        y_hat = alpha[idx] + beta * floor_idx
        pm.Normal("y", mu=y_hat, sigma=pm.Exponential("sigma_y", 1.0), observed=df["log_radon"], dims="obs")
    return model


@published(ARM + "chapter 13, radon with varying slopes and a county predictor")
def radon_group_predictor(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(13)
    county, floor, uranium = rng.integers(0, 15, 120), rng.binomial(1, 0.2, 120), rng.normal(size=15)
    y = 1.4 + 0.7 * uranium[county] - 0.7 * floor + rng.normal(0, 0.7, 120)
    coords = {"param": ["alpha", "beta"], "county": np.arange(15)}
    with pm.Model() as model:
        model.add_coords(coords)
        g = pm.Normal("g", 0, 10, shape=2)
        sd_dist = pm.Exponential.dist(0.5, shape=(2,))
        chol, corr, stds = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=sd_dist)
        z = pm.Normal("z", 0.0, 1.0, dims=("param", "county"))
        ab = pm.Deterministic("alpha_beta_county", pt.dot(chol, z).T, dims=("county", "param"))
        mu_a = g[0] + g[1] * uranium
        pm.Normal("y", (mu_a + ab[:, 0])[county] + ab[county, 1] * floor, pm.Exponential("sigma", 1), observed=y)
    return model


@published(ARM + "chapter 13, pilots: non-nested groups")
def pilots(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(133)
    group, scenario = (v.ravel() for v in np.indices((5, 8)))
    y = 0.44 + rng.normal(0, 0.05, 5)[group] + rng.normal(0, 0.3, 8)[scenario] + rng.normal(0, 0.2, 40)
    with pm.Model(coords={"treatment": range(5), "airport": range(8)}) as model:
        mu = pm.Flat("mu")
        sigma = {k: pm.HalfFlat(f"sigma_{k}") for k in ("y", "gamma", "delta")}
        gamma = pm.Normal("gamma", 0, sigma["gamma"], dims="treatment")
        delta = pm.Normal("delta", 0, sigma["delta"], dims="airport")
        pm.Normal("y", mu + gamma[group] + delta[scenario], sigma["y"], observed=y)
    return model


@published(ARM + "chapter 14, state-level opinions from polls")
def election_polls(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(14)
    n = 200
    df = pd.DataFrame(
        {k: rng.integers(0, m, n) for k, m in {"age": 4, "edu": 4, "state": 10, "female": 2, "black": 2}.items()}
    )
    df["bush"] = rng.binomial(
        1, 1 / (1 + np.exp(-(0.4 - 1.5 * df.black - 0.1 * df.female + rng.normal(0, 0.4, 10)[df.state])))
    )
    region = np.arange(10) % 3
    with pm.Model() as model:
        b0 = pm.Normal("b_0", 0, 10)
        b_female, b_black, b_inter = (pm.Normal(f"b_{k}", 0, 10) for k in ("female", "black", "female_black"))
        effects = {}
        for name, size in (("age", 4), ("edu", 4), ("age_edu", (4, 4)), ("region", 3)):
            effects[name] = pm.Normal(name, 0, pm.HalfNormal(f"sigma_{name}", 1), shape=size)
        state = pm.Normal("state", effects["region"][region], pm.HalfNormal("sigma_state", 1), shape=10)
        eta = (
            b0
            + b_female * df.female.values
            + b_black * df.black.values
            + b_inter * df.female.values * df.black.values
            + effects["age"][df.age.values]
            + effects["edu"][df.edu.values]
            + effects["age_edu"][df.age.values, df.edu.values]
            + state[df.state.values]
        )
        pm.Bernoulli("y", logit_p=eta, observed=df["bush"])
    return model


@published(ARM + "chapter 15, police stops: overdispersed Poisson with an offset")
def police_stops(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(15)
    eth, precinct = (v.ravel() for v in np.indices((3, 12)))
    arrests = rng.integers(20, 300, 36)
    stops = rng.poisson(arrests * np.exp(rng.normal(0, 0.3, 36)))
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 100)
        b_eth = pm.ZeroSumNormal("b_eth", sigma=1, shape=3)
        sigma_precinct, sigma_y = pm.Uniform("sigma_precinct", 0, 100), pm.Uniform("sigma_y", 0, 100)
        b_precinct = pm.Normal("b_precinct", 0, sigma_precinct, shape=12)
        epsilon = pm.Normal("epsilon", 0, sigma_y, shape=36)
        pm.Poisson(
            "stops", pm.math.exp(np.log(arrests) + mu + b_eth[eth] + b_precinct[precinct] + epsilon), observed=stops
        )
    return model


@published(ARM + "chapter 14, ideal points of judges")
def ideal_points(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(147)
    judge, case = (v.ravel() for v in np.indices((9, 20)))
    position = np.linspace(-1.5, 1.5, 9)
    vote = rng.binomial(1, 1 / (1 + np.exp(-2 * (position[judge] - rng.normal(size=20)[case]))))
    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0, 1, shape=9)
        beta = pm.Normal("beta", pm.Normal("mu_beta", 0, 1), pm.HalfNormal("sigma_beta", 1), shape=20)
        gamma = pm.LogNormal("gamma", 0, 0.5, shape=20)
        pm.Potential("identified", pm.logp(pm.Normal.dist(0, 0.01), alpha.mean()))
        pm.Bernoulli("vote", logit_p=gamma[case] * (alpha[judge] - beta[case]), observed=vote)
    return model


@published(ARM + "chapter 18, censored weights")
def censored_weights(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(18)
    height = rng.normal(66, 4, 60)
    weight = np.minimum(150 + 5 * (height - 66) + rng.normal(0, 30, 60), 200.0)
    with pm.Model() as model:
        a, b = pm.Normal("a", 150, 50), pm.Normal("b", 0, 10)
        sigma = pm.HalfCauchy("sigma", beta=25.0)
        pm.Censored(
            "weight", pm.Normal.dist(mu=a + b * (height - 66), sigma=sigma), lower=None, upper=200.0, observed=weight
        )
    return model


@published("Gelman, Hill and Vehtari, Regression and Other Stories: wells in Bangladesh")
def wells(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(19)
    df = pd.DataFrame(
        {"dist100": rng.gamma(1.5, 0.3, 200), "arsenic": rng.gamma(2, 0.8, 200) + 0.5, "educ4": rng.integers(0, 5, 200)}
    )
    df["switch"] = (rng.random(200) < 1 / (1 + np.exp(0.2 + 0.9 * df.dist100 - 0.5 * df.arsenic))).astype(bool)
    X = df.assign(d_x_a=lambda d: d.dist100 * d.arsenic)[["dist100", "arsenic", "educ4", "d_x_a"]]
    X = (X - X.mean()) / (2 * X.std())
    with pm.Model(coords={"predictor": X.columns, "obs": X.index}) as model:
        x = pm.Data("x", X, dims=("obs", "predictor"))
        b = pm.Cauchy("b", 0, 2.5, dims="predictor")
        p = pm.Deterministic("p", pm.math.sigmoid(pm.Cauchy("intercept", 0, 10) + pm.math.dot(x, b)), dims="obs")
        pm.Bernoulli("switch", p=p, observed=df["switch"], dims="obs")
    return model


@published("Gelman and Nolan, golf putting, as in PyMC's gallery", "table of Berry 1996")
def golf_putting(pm: Any, pt: Any, np: Any) -> Any:
    tries = np.array([1443, 694, 455, 353, 272, 256, 240, 217, 200, 237, 202, 192, 174, 167, 201, 195, 191, 147, 152])
    made = np.array([1346, 577, 337, 208, 149, 136, 111, 69, 67, 75, 52, 46, 54, 28, 27, 31, 33, 20, 24])
    distance = np.arange(2, 21)
    r, R = 1.68 / 2 / 12, 4.25 / 2 / 12

    def phi(x):
        return 0.5 + 0.5 * pt.erf(x / pt.sqrt(2.0))

    with pm.Model() as model:
        distance_ = pm.Data("distance", distance, dims="obs_id")
        sigma = pm.HalfNormal("sigma_of_angle")
        p_goes_in = pm.Deterministic("p_goes_in", 2 * phi(pt.arcsin((R - r) / distance_) / sigma) - 1, dims="obs_id")
        pm.Binomial("success", n=tries, p=p_goes_in, observed=made, dims="obs_id")
    return model


@published(BDA + "section 3.7, bioassay (Racine et al. 1986)", "table of the book")
def bioassay(pm: Any, pt: Any, np: Any) -> Any:
    n = np.ones(4, dtype=int) * 5
    y = np.array([0, 1, 3, 5])
    dose = np.array([-0.86, -0.3, -0.05, 0.73])
    with pm.Model() as model:
        cov = np.array([[4.0, 0.5 * 2 * 10], [0.5 * 2 * 10, 100.0]])
        ab = pm.MvNormal("alpha_beta", mu=np.array([0.0, 10.0]), cov=cov, shape=2)
        theta = pm.Deterministic("theta", pm.math.invlogit(ab[0] + ab[1] * dose))
        pm.Deterministic("ld50", -ab[0] / ab[1])
        pm.Binomial("deaths", n=n, p=theta, observed=y)
    return model


@published(BDA + "section 5.3, rat tumours with the diffuse prior by a potential", "a part of the book's table")
def rat_tumours(pm: Any, pt: Any, np: Any) -> Any:
    y = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 4, 5, 3, 5, 9, 10, 4, 6, 15, 16])
    n = np.array([20, 20, 19, 18, 17, 20, 19, 24, 20, 20, 20, 24, 20, 19, 48, 48, 19, 22, 47, 46])

    def logp_ab(value):
        """The prior of (a + b)^(-5/2)."""
        return pt.log(pt.pow(pt.sum(value), -5 / 2))

    with pm.Model(coords={"obs_id": np.arange(20), "param": ["alpha", "beta"]}) as model:
        n_val = pm.Data("n_val", n)
        ab = pm.HalfNormal("ab", sigma=10, dims="param")
        pm.Potential("p(a, b)", logp_ab(ab))
        pm.Deterministic("X", pt.log(ab[0] / ab[1]))
        theta = pm.Beta("theta", alpha=ab[0], beta=ab[1], dims="obs_id")
        pm.Binomial("y", p=theta, observed=y, n=n_val)
    return model


@published(BDA + "section 3.2, Newcomb's speed of light, Student's t", "measurements of Newcomb 1882")
def speed_of_light(pm: Any, pt: Any, np: Any) -> Any:
    with pm.Model() as model:
        mu = pm.Normal("mu", 26, 10)
        log_sigma = pm.Flat("log_sigma", initval=np.log(10.0))
        nu_inv = pm.Uniform("nu_inv", 0.01, 1.0)
        pm.StudentT("y", nu=1 / nu_inv, mu=mu, sigma=pt.exp(log_sigma), observed=LIGHT)
    return model


@published(BDA + "section 11.6, coagulation of blood (Box, Hunter and Hunter 1978)", "table of the book")
def coagulation(pm: Any, pt: Any, np: Any) -> Any:
    diets = [[62, 60, 63, 59], [63, 67, 71, 64, 65, 66], [68, 66, 71, 67, 68, 68], [56, 62, 60, 61, 63, 64, 63, 59]]
    group = np.repeat(np.arange(4), list(map(len, diets)))
    with pm.Model() as model:
        mu = pm.Flat("mu", initval=60)
        tau = pm.HalfFlat("tau")
        log_sigma = pm.Flat("log_sigma")
        theta = pm.Normal("theta", mu, tau, size=4)
        pm.Normal("y", theta[group], pm.math.exp(log_sigma), observed=np.concatenate(diets))
    return model


@published(
    BDA + "chapter 8, sampling with capture: uncertain size of a population (German tanks)", "numbers of the example"
)
def german_tanks(pm: Any, pt: Any, np: Any) -> Any:
    serials = np.array([10, 256, 202, 97])
    with pm.Model() as model:
        n = pm.DiscreteUniform("N", lower=serials.max(), upper=serials.max() + 300)
        pm.DiscreteUniform("y", lower=0, upper=n, observed=serials)
    return model


@published(DBDA + "chapter 9, therapeutic touch: hierarchical coins by mode and concentration")
def therapeutic_touch(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(9)
    df = pd.DataFrame(
        {"s": pd.Categorical(np.repeat([f"S{i:02d}" for i in range(1, 16)], 10)), "y": rng.binomial(1, 0.45, 150)}
    )
    with pm.Model(coords={"practitioner": df.s.cat.categories.to_list()}) as model:
        omega = pm.Beta("omega", 1.0, 1.0)
        kappa_minus2 = pm.Gamma("kappa_minus2", 0.01, 0.01, initval=1.0)
        kappa = pm.Deterministic("kappa", kappa_minus2 + 2)
        theta = pm.Beta("theta", alpha=omega * (kappa - 2) + 1, beta=(1 - omega) * (kappa - 2) + 1, dims="practitioner")
        pm.Bernoulli("y", theta[df.s.cat.codes], observed=df.y)
    return model


@published(DBDA + "chapter 9, batting averages by position")
def batting_by_position(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(99)
    position = np.repeat(np.arange(4), 6)
    at_bats = rng.integers(20, 500, 24)
    hits = rng.binomial(at_bats, rng.beta(20, 60, 24))
    with pm.Model() as model:
        omega = pm.Beta("omega", 1, 1)
        kappa = pm.Gamma("kappa_minus2", mu=10, sigma=10) + 2
        omega_c = pm.Beta("omega_c", omega * (kappa - 2) + 1, (1 - omega) * (kappa - 2) + 1, shape=4)
        kappa_c = pm.Gamma("kappa_c_minus2", mu=30, sigma=20, shape=4) + 2
        theta = pm.Beta(
            "theta",
            omega_c[position] * (kappa_c[position] - 2) + 1,
            (1 - omega_c[position]) * (kappa_c[position] - 2) + 1,
            shape=24,
        )
        pm.Binomial("y", n=at_bats, p=theta, observed=hits)
    return model


@published(DBDA + "chapter 17, robust hierarchical regression of subjects")
def robust_hierarchy(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(17)
    df = pd.DataFrame({"Subj": np.repeat(np.arange(1, 11), 6), "X": np.tile(np.arange(6.0), 10)})
    df["Y"] = 2 * df.X + rng.normal(0, 2, 10)[df.Subj - 1] + rng.standard_t(4, 60)
    zx, zy = ((df[c] - df[c].mean()) / df[c].std() for c in ("X", "Y"))
    subj = df.Subj.values - 1
    with pm.Model(coords={"subject": df.Subj.unique()}) as model:
        zbeta0 = pm.Normal("zbeta0", mu=0, tau=1 / 10**2)
        zbeta1 = pm.Normal("zbeta1", mu=0, tau=1 / 10**2)
        zsigma0, zsigma1 = pm.Uniform("zsigma0", 10**-3, 10**3), pm.Uniform("zsigma1", 10**-3, 10**3)
        zbeta0_s = pm.Normal("zbeta0_s", zbeta0, zsigma0, dims="subject")
        zbeta1_s = pm.Normal("zbeta1_s", zbeta1, zsigma1, dims="subject")
        mu = zbeta0_s[subj] + zbeta1_s[subj] * zx
        zsigma = pm.Uniform("zsigma", 10**-3, 10**3)
        nu = pm.Exponential("nu_minus1", 1 / 29.0)
        pm.StudentT("likelihood", nu=nu + 1, mu=mu, sigma=zsigma, observed=zy)
    return model


@published(DBDA + "chapter 21, robust logistic regression with guessing")
def logistic_with_guessing(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(21)
    x = rng.normal(size=80)
    y = np.where(rng.random(80) < 0.1, rng.integers(0, 2, 80), rng.random(80) < 1 / (1 + np.exp(-3 * x))).astype(int)
    with pm.Model() as model:
        zbeta0, zbeta1 = pm.Normal("zbeta0", 0, 2), pm.Normal("zbeta1", 0, 2)
        guess = pm.Beta("guess", 1, 9)
        mu = guess * 0.5 + (1 - guess) * pm.math.sigmoid(zbeta0 + zbeta1 * x)
        pm.Bernoulli("y", mu, observed=y)
    return model


@published(DBDA + "chapter 23, ordinal predicted variable with thresholds fixed at the ends")
def ordinal_probit(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(23)
    y = np.digitize(rng.normal(1, 2.5, 100), [1.5 - 3, 2.5 - 3, 3.5 - 3, 4.5 - 3])
    with pm.Model() as model:
        theta = pm.Normal(
            "theta",
            mu=np.array([0.5, 1.5]) - 1.0,
            sigma=2,
            shape=2,
            transform=pm.distributions.transforms.ordered,
            initval=np.array([-0.4, 0.6]),
        )
        thresh = pt.concatenate([[-1.5], theta, [1.5]])
        mu, sigma = pm.Normal("mu", 0, 4), pm.Uniform("sigma", 0.1, 10)
        cdf = pm.math.invprobit((thresh - mu) / sigma)
        p = pt.concatenate([[cdf[0]], cdf[1:] - cdf[:-1], [1 - cdf[-1]]])
        pm.Categorical("y", p=p, observed=y)
    return model


@published(DBDA + "chapter 24, Poisson exponential model of a contingency table", "eyes and hair of Snee 1974")
def eyes_and_hair(pm: Any, pt: Any, np: Any) -> Any:
    table = np.array([[20, 68, 5, 15], [94, 7, 16, 10], [84, 119, 29, 54], [17, 26, 14, 14]])
    with pm.Model(coords={"hair": list("bkrn"), "eye": list("bnhg")}) as model:
        beta0 = pm.Normal("beta0", mu=np.log(table.mean()), sigma=2 * table.std() ** 0.5)
        sd = {k: pm.Gamma(f"sigma_{k}", 1.64, 0.32) for k in ("hair", "eye", "both")}
        a1 = pm.Normal("a1", 0.0, sd["hair"], dims="hair")
        a2 = pm.Normal("a2", 0.0, sd["eye"], dims="eye")
        a12 = pm.Normal("a1a2", 0.0, sd["both"], dims=("hair", "eye"))
        lam = pm.math.exp(beta0 + a1[:, None] + a2[None, :] + a12)
        m = beta0 + a1[:, None] + a2 + a12
        pm.Deterministic("b0", m.mean())
        pm.Poisson("y", lam, observed=table)
    return model


@published(DBDA + "chapter 19, groups with variances of their own")
def heterogeneous_groups(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(191)
    x = np.repeat([0, 1, 2, 3], 24)
    y = np.array([97.0, 99, 102, 104])[x] + np.array([8.0, 1, 1, 8])[x] * rng.normal(size=96)
    with pm.Model() as model:
        a0 = pm.Normal("a0", mu=y.mean(), sigma=y.std() * 10)
        a_sigma = pm.Gamma("a_sigma", 1.28, 0.06)
        a = pm.Normal("a", 0.0, sigma=a_sigma, shape=4)
        nu = pm.Exponential("nu", 1 / 30.0)
        mode, sd = pm.Gamma("y_sigma_mode", 1.64, 0.32), pm.Gamma("y_sigma_sd", 1.64, 0.32)
        rate = (mode + pm.math.sqrt(mode**2 + 4 * sd**2)) / (2 * sd**2)
        y_sigma = pm.Gamma("y_sigma", 1 + mode * rate, rate, shape=4)
        b0 = pm.Deterministic("b0", pt.mean(a0 + a))
        pm.Deterministic("b", a0 + a - b0)
        pm.StudentT("y", nu=nu + 1, mu=(a0 + a)[x], sigma=y_sigma[x], observed=y)
    return model


@published("Lee and Wagenmakers, Bayesian Cognitive Modeling: signal detection, hierarchical")
def signal_detection(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(11)
    hits, false_alarms = rng.binomial(20, 0.75, 10), rng.binomial(20, 0.3, 10)
    with pm.Model() as model:
        mu = {k: pm.Normal(f"mu_{k}", 0, 3) for k in "dc"}
        lam = {k: pm.Gamma(f"lambda_{k}", 1, 1) for k in "dc"}
        d, c = (pm.Normal(k, mu[k], tau=lam[k], shape=10) for k in "dc")
        h = pm.Deterministic("h", pm.math.invprobit(d / 2 - c))
        f = pm.Deterministic("f", pm.math.invprobit(-d / 2 - c))
        pm.Binomial("hits", 20, h, observed=hits)
        pm.Binomial("false_alarms", 20, f, observed=false_alarms)
    return model


@published("Lee and Wagenmakers, Bayesian Cognitive Modeling: multinomial processing tree of pairs")
def processing_tree(pm: Any, pt: Any, np: Any) -> Any:
    counts = np.random.default_rng(14).multinomial(20, [0.4, 0.2, 0.1, 0.3], 12)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1, shape=3)
        sd = pm.HalfNormal("sd", 1, shape=3)
        delta = pm.Normal("delta", 0, 1, shape=(12, 3))
        c, r, u = (pm.Deterministic(n, pm.math.invprobit(mu[i] + sd[i] * delta[:, i])) for i, n in enumerate("cru"))
        theta = pt.stack(
            [c * r, (1 - c) * u**2, (1 - c) * 2 * u * (1 - u), c * (1 - r) + (1 - c) * (1 - u) ** 2], axis=1
        )
        pm.Multinomial("k", n=20, p=theta, observed=counts)
    return model


@published("Lee and Wagenmakers, Bayesian Cognitive Modeling: seven scientists", "numbers of the book")
def seven_scientists(pm: Any, pt: Any, np: Any) -> Any:
    x = np.array([-27.020, 3.570, 8.191, 9.898, 9.603, 9.945, 10.056])
    with pm.Model() as model:
        mu = pm.Normal("mu", mu=0, tau=0.001)
        lam = pm.Gamma("lambda", alpha=0.01, beta=0.01, shape=x.shape[0], initval=np.ones(7))
        pm.Normal("x", mu=mu, tau=lam, observed=x)
        pm.Deterministic("sigma", 1 / np.sqrt(lam))
    return model
