"""Regressions, causal models, survival, choices and users' own densities of PyMC's example gallery."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tests.public_models.registry import published

GALLERY = "PyMC example gallery: "


@published(GALLERY + "A/B testing, several variants in a loop")
def ab_testing(pm: Any, pt: Any, np: Any) -> Any:
    trials, successes = [1000, 1000, 900], [100, 120, 81]
    with pm.Model() as model:
        p = pm.Beta("p", alpha=100, beta=1000, shape=3)
        pm.Binomial("y", n=trials, p=p, shape=3, observed=successes)
        reluplift = []
        for i in range(3):
            others = [p[j] for j in range(3) if j != i]
            comparison = pm.math.maximum(*others)
            reluplift.append(pm.Deterministic(f"uplift_{i}", p[i] / comparison - 1))
    return model


@published(GALLERY + "A/B testing: revenue by gamma values and binomial conversions")
def ab_revenue(pm: Any, pt: Any, np: Any) -> Any:
    visitors, purchased, revenue = np.array([1000, 1000]), np.array([100, 115]), np.array([1000.0, 1320.0])
    with pm.Model() as model:
        theta = pm.Beta("theta", alpha=500, beta=4500, shape=2)
        lam = pm.Gamma("lam", alpha=9000, beta=900, shape=2)
        pm.Binomial("converted", n=visitors, p=theta, observed=purchased, shape=2)
        pm.Gamma("revenue", alpha=purchased, beta=lam, observed=revenue, shape=2)
        revenue_per_visitor = pm.Deterministic("revenue_per_visitor", theta * (1 / lam))
        pm.Deterministic("reluplift_b", revenue_per_visitor[1] / revenue_per_visitor[0] - 1)
    return model


@published(GALLERY + "parametric survival, Weibull accelerated failure times with censored potentials")
def weibull_aft(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(1)
    y = rng.weibull(1.4, 60) * 500
    cens = y > 700
    y = np.minimum(y, 700)

    def weibull_lccdf(x, alpha, beta):
        """Log complementary cdf of Weibull distribution."""
        return -((x / beta) ** alpha)

    with pm.Model() as model:
        alpha_sd = 10.0
        mu = pm.Normal("mu", mu=0, sigma=100, initval=5.0)
        alpha_raw = pm.Normal("a0", mu=0, sigma=0.1)
        alpha = pm.Deterministic("alpha", pt.exp(alpha_sd * alpha_raw))
        beta = pm.Deterministic("beta", pt.exp(mu / alpha))
        pm.Weibull("y_obs", alpha=alpha, beta=beta, observed=y[~cens])
        pm.Potential("y_cens", weibull_lccdf(y[cens], alpha, beta))
    return model


@published(GALLERY + "Bayesian survival analysis: piecewise constant hazards by Poisson counts")
def piecewise_hazard(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(2)
    df = pd.DataFrame(
        {"time": rng.integers(5, 200, 30), "event": rng.binomial(1, 0.6, 30), "metastasized": rng.binomial(1, 0.5, 30)}
    )
    interval_bounds = np.arange(0, 201, 20)
    last_period = np.floor((df.time - 0.01) / 20).astype(int)
    death = np.zeros((30, 10))
    death[np.arange(30), last_period] = df.event
    exposure = np.greater_equal.outer(df.time.to_numpy(), interval_bounds[:-1]) * 20.0
    exposure[np.arange(30), last_period] = df.time - interval_bounds[last_period]
    with pm.Model(coords={"intervals": np.arange(10), "patients": df.index.values}) as model:
        lambda0 = pm.Gamma("lambda0", 0.01, 0.01, dims="intervals")
        beta = pm.Normal("beta", 0, sigma=1000)
        lambda_ = pm.Deterministic("lambda_", pt.outer(pt.exp(beta * df.metastasized), lambda0))
        mu = pm.Deterministic("mu", exposure * lambda_)
        pm.Poisson("obs", mu, observed=death)
    return model


@published(GALLERY + "frailty and survival: Cox model with shared gamma frailties")
def gamma_frailty(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(3)
    quit_ = rng.binomial(1, 0.2, (24, 6))
    exposure = np.ones((24, 6))
    field, level = rng.integers(0, 4, 24), rng.normal(size=(24, 2))
    with pm.Model(coords={"intervals": np.arange(6), "preds": ["sentiment", "level"], "field": range(4)}) as model:
        X_data = pm.Data("X_data_obs", level)
        lambda0 = pm.Gamma("lambda0", 0.01, 0.01, dims="intervals", initval=np.ones(6))
        beta = pm.Normal("beta", 0, sigma=1, dims="preds")
        frailty = pm.Gamma("frailty", alpha=2, beta=2, dims="field")
        lambda_ = pm.Deterministic(
            "lambda_", frailty[field, None] * pt.outer(pt.exp(pm.math.dot(beta, X_data.T)), lambda0)
        )
        pm.Poisson("outcome", exposure * lambda_, observed=quit_)
    return model


@published(GALLERY + "reliability statistics: interval-censored counts by a Weibull density of the user's own")
def reliability(pm: Any, pt: Any, np: Any) -> Any:
    failed = np.array([1.0, 5, 6, 2, 12, 3, 14, 9])
    left = np.array([0.0, 6.12, 19.92, 29.64, 35.4, 39.72, 45.24, 52.32])
    right = np.array([6.12, 19.92, 29.64, 35.4, 39.72, 45.24, 52.32, 63.48])
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 4, 0.5), pm.HalfNormal("sigma", 1)

        def cdf(t):
            return 1 - pt.exp(-pt.exp((pt.log(t) - mu) / sigma))

        inside = pt.concatenate([cdf(right[:1]), cdf(right[1:]) - cdf(left[1:])])
        pm.Potential("failures", (failed * pt.log(inside)).sum())
        pm.Potential("survivors", 115 * pt.log(1 - cdf(right[-1])))
    return model


@published(GALLERY + "discrete choice: heating systems by utilities")
def discrete_choice(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(4)
    ic, oc = rng.uniform(5, 12, (60, 3)), rng.uniform(1, 6, (60, 3))
    observed = pd.factorize(np.array(["ec", "er", "gc"])[rng.integers(0, 3, 60)], sort=True)[0]
    with pm.Model(coords={"alts_probs": ["ec", "er", "gc"], "obs": range(60)}) as model:
        beta_ic, beta_oc = pm.Normal("beta_ic", 0, 1), pm.Normal("beta_oc", 0, 1)
        alphas = pm.Normal("alpha", 0, 1, dims="alts_probs")
        u0 = alphas[0] + beta_ic * ic[:, 0] + beta_oc * oc[:, 0]
        u1 = alphas[1] + beta_ic * ic[:, 1] + beta_oc * oc[:, 1]
        u2 = 0.0 + beta_ic * ic[:, 2] + beta_oc * oc[:, 2]
        s = pm.math.stack([u0, u1, u2]).T
        p_ = pm.Deterministic("p", pm.math.softmax(s, axis=1), dims=("obs", "alts_probs"))
        pm.Categorical("y_cat", p=p_, observed=observed, dims="obs")
    return model


@published(GALLERY + "Dirichlet mixtures of multinomials (trees of forests)")
def dirichlet_multinomial(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(5)
    observed_counts = np.vstack([rng.multinomial(50, p) for p in rng.dirichlet([4.5, 3, 1, 0.5, 1], 10)])
    coords = {"tree": ["pine", "oak", "ebony", "rosewood", "mahogany"], "forest": [f"forest_{i}" for i in range(10)]}
    with pm.Model(coords=coords) as model:
        frac = pm.Dirichlet("frac", a=np.ones(5), dims="tree")
        conc = pm.LogNormal("conc", mu=1, sigma=1)
        pm.DirichletMultinomial("counts", n=50, a=frac * conc, observed=observed_counts, dims=("forest", "tree"))
    return model


@published(GALLERY + "probabilistic factor analysis with a lower-triangular loading matrix")
def factor_analysis(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(6)
    k, d, N = 2, 5, 20
    Y = rng.normal(size=(d, k)) @ rng.normal(size=(k, N)) + 0.3 * rng.normal(size=(d, N))

    def expand_packed_block_triangular(d, k, packed, diag=None):
        out = pt.zeros((d, k), dtype=float)
        if diag is None:
            idxs = np.tril_indices(d, m=k)
            out = pt.set_subtensor(out[idxs], packed)
        else:
            idxs = np.tril_indices(d, k=-1, m=k)
            out = pt.set_subtensor(out[idxs], packed)
            idxs = (np.arange(k), np.arange(k))
            out = pt.set_subtensor(out[idxs], diag)
        return out

    coords = {"latent_columns": np.arange(k), "rows": np.arange(N), "observed_columns": np.arange(d)}
    with pm.Model(coords=coords) as model:
        diag = pm.HalfNormal("W_diag", sigma=1.0, shape=k)
        n_od = int(k * d - k * (k - 1) / 2 - k)
        z = pm.Normal("W_z", 0.0, 1.0, shape=n_od)
        L = expand_packed_block_triangular(d, k, z, diag)
        W = pm.Deterministic("W", L, dims=("observed_columns", "latent_columns"))
        F = pm.Normal("F", dims=("latent_columns", "rows"))
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("X", mu=W @ F, sigma=sigma, observed=Y, dims=("observed_columns", "rows"))
    return model


@published(GALLERY + "probabilistic matrix factorization of ratings with gaps")
def matrix_factorization(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(7)
    R = np.clip(np.round(rng.normal(3, 1, (8, 6))), 1, 5)
    R[rng.random((8, 6)) < 0.4] = np.nan
    nan_mask = np.isnan(R)
    with pm.Model(
        coords={
            "users": range(8),
            "movies": range(6),
            "latent_factors": range(2),
            "obs_id": range(int((~nan_mask).sum())),
        }
    ) as model:
        U = pm.MvNormal(
            "U",
            mu=np.zeros(2),
            tau=np.eye(2),
            dims=("users", "latent_factors"),
            initval=rng.standard_normal((8, 2)) * 0.01,
        )
        V = pm.MvNormal(
            "V",
            mu=np.zeros(2),
            tau=np.eye(2),
            dims=("movies", "latent_factors"),
            initval=rng.standard_normal((6, 2)) * 0.01,
        )
        pm.Normal("R", mu=(U @ V.T)[~nan_mask], tau=2.0, dims="obs_id", observed=R[~nan_mask])
    return model


@published(GALLERY + "mediation analysis")
def mediation(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(8)
    x = rng.normal(1, 3, 75)
    m = rng.normal(0.6 * x + 0.4, 1)
    y = rng.normal(0.5 * m + 0.2 * x, 1)
    with pm.Model(coords={"obs_id": np.arange(75)}) as model:
        x_, m_, y_ = (pm.Data(n, v, dims="obs_id") for n, v in zip(("x", "my", "yy"), (x, m, y), strict=True))
        i_m, i_y = pm.Normal("im", mu=0, sigma=10), pm.Normal("iy", mu=0, sigma=10)
        a, b, c = (pm.Normal(n, mu=0, sigma=10) for n in ("a", "b", "cprime"))
        s_m, s_y = pm.HalfCauchy("σm", 1), pm.HalfCauchy("σy", 1)
        pm.Normal("m_likelihood", mu=i_m + a * x_, sigma=s_m, observed=m_, dims="obs_id")
        pm.Normal("y_likelihood", mu=i_y + b * m_ + c * x_, sigma=s_y, observed=y_, dims="obs_id")
        indirect = pm.Deterministic("indirect effect", a * b)
        pm.Deterministic("total effect", c + indirect)
    return model


@published(GALLERY + "difference in differences")
def difference_in_differences(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(9)
    df = pd.DataFrame({"group": [0, 0, 1, 1] * 10, "t": [0.0, 1.0, 0.0, 1.0] * 10})
    df["treated"] = ((df["group"] == 1) & (df["t"] > 0.5)).astype(int)
    df["y"] = 1 + df["group"] * 0.5 + df["t"] + 0.7 * df["treated"] + rng.normal(0, 0.1, 40)

    def is_treated(t, intervention_time, group):
        return (t > intervention_time) * group

    with pm.Model() as model:
        t = pm.Data("t", df["t"].values, dims="obs_idx")
        treated = pm.Data("treated", df["treated"].values, dims="obs_idx")
        group = pm.Data("group", df["group"].values, dims="obs_idx")
        delta, trend = pm.Normal("Δ", 0, 1), pm.Normal("trend", 0, 1)
        control, treat = pm.Normal("control_intercept", 0, 1), pm.Normal("treat_intercept", 0, 1)
        mu = pm.Deterministic("mu", control + (treat - control) * group + trend * t + delta * treated, dims="obs_idx")
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal("obs", mu, sigma, observed=df["y"], dims="obs_idx")
    return model


@published(GALLERY + "moderation by an interaction, wide table of pandas")
def moderation(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(10)
    df = pd.DataFrame({"hours": rng.exponential(5, 60), "age": rng.uniform(20, 70, 60)})
    df["muscle"] = 25 + 2 * df.hours - 0.02 * df.hours * df.age + rng.normal(0, 3, 60)
    with pm.Model() as model:
        x, m = pm.Data("x", df["hours"]), pm.Data("m", df["age"])
        b0, b1, b2, b3 = (pm.Normal(f"β{i}", mu=0, sigma=10) for i in range(4))
        sigma = pm.HalfCauchy("σ", 1)
        mu = b0 + (b1 * x) + (b2 * x * m) + (b3 * m)
        pm.Normal("y", mu=mu, sigma=sigma, observed=df["muscle"])
    return model


@published(GALLERY + "truncated and censored regression")
def truncated_regression(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(11)
    x = rng.uniform(-10, 10, 120)
    y = x + rng.normal(0, 2, 120)
    keep = (y >= -5) & (y <= 5)
    with pm.Model() as model:
        slope, intercept = pm.Normal("slope", mu=0, sigma=1), pm.Normal("intercept", mu=0, sigma=1)
        sigma = pm.HalfNormal("σ", sigma=1)
        normal_dist = pm.Normal.dist(mu=slope * x[keep] + intercept, sigma=sigma)
        pm.Truncated("obs", normal_dist, lower=-5, upper=5, observed=y[keep])
    return model


@published(GALLERY + "generalized extreme values by a density of the user's own", "annual maxima simulated here")
def extreme_values(pm: Any, pt: Any, np: Any) -> Any:
    y = 3.9 + 0.2 * np.random.default_rng(12).gumbel(size=60)
    with pm.Model() as model:
        mu = pm.Normal("μ", mu=3.8, sigma=0.2)
        sigma = pm.HalfNormal("σ", sigma=0.3)
        xi = pm.TruncatedNormal("ξ", mu=0, sigma=0.2, lower=-0.6, upper=0.6, initval=0.1)

        def gev(value, mu, sigma, xi):
            s = 1 + xi * (value - mu) / sigma
            return pt.switch(s > 0, -pt.log(sigma) - (1 + 1 / xi) * pt.log(s) - s ** (-1 / xi), -np.inf)

        pm.CustomDist("gev", mu, sigma, xi, logp=gev, observed=y)
        pm.Deterministic("z_p", mu - sigma / xi * (1 - (-np.log(1 - 0.1)) ** (-xi)))
    return model


@published(GALLERY + "confirmatory factor analysis of items by correlated factors")
def confirmatory_factors(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(13)
    obs = np.arange(30)
    eta = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], 30)
    data = np.stack([eta[:, 0], eta[:, 0] * 0.8, eta[:, 1], eta[:, 1] * 1.2], 1) + rng.normal(0, 0.4, (30, 4))
    coords = {"obs": obs, "indicators": ["x1", "x2", "y1", "y2"], "latent": ["F1", "F2"]}
    with pm.Model(coords=coords) as model:
        psi = pm.InverseGamma("Psi", 5, 10, dims="indicators")
        lambda1 = pt.set_subtensor(pt.ones(2)[1], pm.Normal("lambdas1", 1, 0.5))
        lambda2 = pt.set_subtensor(pt.ones(2)[1], pm.Normal("lambdas2", 1, 0.5))
        tau = pm.Normal("tau", 0, 1, dims="indicators")
        chol, _, _ = pm.LKJCholeskyCov(
            "chol_cov", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0, shape=2), compute_corr=True
        )
        ksi = pm.MvNormal("ksi", np.zeros(2), chol=chol, dims=("obs", "latent"))
        m = [tau[i] + ksi[obs, i // 2] * (lambda1, lambda2)[i // 2][i % 2] for i in range(4)]
        mu = pm.Deterministic("mu", pm.math.stack(m).T)
        pm.Normal("likelihood", mu, psi, observed=data)
    return model


@published(GALLERY + "hierarchical partial pooling by kappa and phi", "batting averages of Efron and Morris 1975")
def partial_pooling(pm: Any, pt: Any, np: Any) -> Any:
    hits = np.array([18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 10, 10, 10, 9, 8, 7])
    names = [f"player {i}" for i in range(18)]
    with pm.Model(coords={"player_names": names}) as model:
        phi = pm.Uniform("phi", lower=0.0, upper=1.0)
        kappa_log = pm.Exponential("kappa_log", lam=1.5)
        kappa = pm.Deterministic("kappa", pt.exp(kappa_log))
        theta = pm.Beta("theta", alpha=phi * kappa, beta=(1.0 - phi) * kappa, dims="player_names")
        pm.Binomial("y", n=np.full(18, 45), p=theta, dims="player_names", observed=hits)
        theta_new = pm.Beta("theta_new", alpha=phi * kappa, beta=(1.0 - phi) * kappa)
        pm.Binomial("y_new", n=4, p=theta_new, observed=0)
    return model


@published(GALLERY + "Poisson regression with interactions (sneezes)")
def sneezes(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(14)
    df = pd.DataFrame({"nsneeze": 0, "alcohol": np.repeat([False, True], 30), "nomeds": np.tile([False, True], 30)})
    df["nsneeze"] = rng.poisson(np.exp(0.2 + 1.1 * df.alcohol + 1.3 * df.nomeds))
    mx = np.column_stack([np.ones(60), df["alcohol"], df["nomeds"], df["alcohol"] & df["nomeds"]]).astype(float)
    coords = {"regressor": ["Intercept", "alcohol[T.True]", "nomeds[T.True]", "alcohol:nomeds"], "obs_idx": df.index}
    with pm.Model(coords=coords) as model:
        x = pm.Data("mx", mx, dims=("obs_idx", "regressor"))
        beta = pm.Normal("beta", mu=0, sigma=10, dims="regressor")
        mu = pm.math.exp((x * beta).sum(axis=-1))
        pm.Poisson("y", mu=mu, observed=pm.Data("counts", df["nsneeze"].astype("float64")), dims="obs_idx")
    return model


@published(GALLERY + "robust linear regression by Hogg's inliers and outliers", "table of Hogg, Bovy and Lang 2010")
def hogg(pm: Any, pt: Any, np: Any) -> Any:
    dfhogg = pd.DataFrame(
        np.array([
            [201, 592, 61], [244, 401, 25], [47, 583, 38], [287, 402, 15], [203, 495, 21], [58, 173, 15], [210, 479,
            27], [202, 504, 14], [198, 510, 30], [158, 416, 16], [165, 393, 14], [201, 442, 25], [157, 317, 52], [131,
            311, 16], [166, 400, 34], [160, 337, 31], [186, 423, 42], [125, 334, 26], [218, 533, 16], [146, 344, 22],
        ], dtype=float), columns=["x", "y", "sigma_y"],
    )  # fmt: skip
    dfhoggs = (dfhogg[["x", "y"]] - dfhogg[["x", "y"]].mean(0)) / (2 * dfhogg[["x", "y"]].std(0))
    dfhoggs["sigma_y"] = dfhogg["sigma_y"] / (2 * dfhogg["y"].std())
    with pm.Model(coords={"coefs": ["intercept", "slope"], "datapoint_id": [f"p{i}" for i in range(20)]}) as model:
        tsv_x = pm.Data("tsv_x", dfhoggs["x"], dims="datapoint_id")
        tsv_y = pm.Data("tsv_y", dfhoggs["y"], dims="datapoint_id")
        tsv_sigma_y = pm.Data("tsv_sigma_y", dfhoggs["sigma_y"], dims="datapoint_id")
        beta = pm.Normal("beta", mu=0, sigma=10, dims="coefs")
        y_est_in = beta[0] + beta[1] * tsv_x
        y_est_out = pm.Normal("y_est_out", mu=0, sigma=10, initval=dfhoggs["y"].mean())
        sigma_y_out = pm.HalfNormal("sigma_y_out", sigma=1)
        frac_outliers = pm.Uniform("frac_outliers", lower=0.0, upper=0.5)
        inlier = pm.logp(pm.Normal.dist(y_est_in, tsv_sigma_y), tsv_y)
        outlier = pm.logp(pm.Normal.dist(y_est_out, tsv_sigma_y + sigma_y_out), tsv_y)
        pm.Potential("obs", pm.math.logaddexp(pt.log1p(-frac_outliers) + inlier, pt.log(frac_outliers) + outlier))
    return model


@published(
    GALLERY + "simultaneous Bernoulli labels of outliers, indicator kept discrete",
    "part of the table of Hogg et al. 2010",
)
def hogg_labels(pm: Any, pt: Any, np: Any) -> Any:
    x = np.array([201, 244, 47, 287, 203, 58, 210, 202.0]) / 100
    y = np.array([592, 401, 583, 402, 495, 173, 479, 504.0]) / 100
    with pm.Model() as model:
        b = pm.Normal("b", 0, 5, shape=2)
        is_outlier = pm.Bernoulli("is_outlier", p=0.2, shape=8)
        mu = pm.math.switch(is_outlier, y.mean(), b[0] + b[1] * x)
        pm.Normal("y", mu, pm.math.switch(is_outlier, 2.0, 0.3), observed=y)
    return model


@published(GALLERY + "binomial regression")
def binomial_regression(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(15)
    x = np.linspace(-10, 20, 30)
    df = pd.DataFrame({"x": x, "n": 20, "y": rng.binomial(20, 1 / (1 + np.exp(2 - 0.7 * x)))})
    with pm.Model(coords={"observation": df.index.values}) as model:
        x = pm.Data("x", df["x"], dims="observation")
        n = pm.Data("n", df["n"], dims="observation")
        beta0, beta1 = pm.Normal("beta0", mu=0, sigma=1), pm.Normal("beta1", mu=0, sigma=1)
        mu = beta0 + beta1 * x
        p = pm.Deterministic("p", pm.math.invlogit(mu), dims="observation")
        pm.Binomial("y", n=n, p=p, observed=df["y"], dims="observation")
    return model


@published(GALLERY + "bivariate masked data, automatic imputation of a table")
def masked_table(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(16)
    values = rng.normal([1.0, -1.0, 0.5], 1.0, (20, 3))
    mask = rng.random((20, 3)) < 0.15
    df = pd.DataFrame(values).mask(mask)
    with pm.Model(coords={"column": list("abc")}) as model:
        mu = pm.Normal("mu", 0, 2, dims="column")
        sigma = pm.HalfNormal("sigma", 2, dims="column")
        pm.Normal("x", mu, sigma, observed=df)
    return model


@published(GALLERY + "multivariate normal with missing elements, sensitivities of employees")
def missing_multivariate(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(17)
    data = rng.multivariate_normal([3, 4, 3.5], [[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]], 25)
    data[rng.random((25, 3)) < 0.1] = np.nan
    with pm.Model() as model:
        mus = pm.Normal("mus", 3, 1, size=3)
        cov_flat_prior, _, _ = pm.LKJCholeskyCov("cov", n=3, eta=1.0, sd_dist=pm.Exponential.dist(1.0, shape=3))
        pm.MvNormal("likelihood", mus, chol=cov_flat_prior, observed=data)
    return model


@published(GALLERY + "LKJ Cholesky covariance priors for multivariate normal models")
def lkj_covariance(pm: Any, pt: Any, np: Any) -> Any:
    x = np.random.default_rng(18).multivariate_normal([1.0, -2.0], [[0.49, -0.245], [-0.245, 1.96]], 40)
    coords = {"axis": ["y", "z"], "axis_bis": ["y", "z"], "obs_id": np.arange(40)}
    with pm.Model(coords=coords) as model:
        chol, corr, stds = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2))
        pm.Deterministic("cov", chol.dot(chol.T), dims=("axis", "axis_bis"))
        mu = pm.Normal("mu", 0.0, sigma=1.5, dims="axis")
        pm.MvNormal("obs", mu, chol=chol, observed=x, dims=("obs_id", "axis"))
    return model


@published(GALLERY + "customer lifetimes, BG/NBD by a potential")
def beta_geometric(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(19)
    T = rng.uniform(20, 40, 40)
    frequency = rng.poisson(1.5, 40)
    recency = np.where(frequency > 0, T * rng.uniform(0.2, 1, 40), 0.0)
    with pm.Model() as model:
        a, b = pm.HalfNormal("a", 5), pm.HalfNormal("b", 5)
        r, alpha = pm.HalfNormal("r", 5), pm.HalfNormal("alpha", 10)
        x, t_x = frequency.astype("float64"), recency
        A1 = pt.gammaln(r + x) - pt.gammaln(r) + r * pt.log(alpha)
        A2 = pt.gammaln(a + b) + pt.gammaln(b + x) - pt.gammaln(b) - pt.gammaln(a + b + x)
        A3 = -(r + x) * pt.log(alpha + T)
        A4 = pt.log(a) - pt.log(b + pt.maximum(x, 1) - 1) - (r + x) * pt.log(t_x + alpha)
        pm.Potential("loglike", pt.sum(A1 + A2 + pt.switch(x > 0, pt.logaddexp(A3, A4), A3)))
    return model


@published(GALLERY + "copula of exponential and beta marginals, estimated in two steps")
def copula(pm: Any, pt: Any, np: Any) -> Any:
    z = np.random.default_rng(20).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 60)
    with pm.Model() as model:
        chol, corr, stds = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0), compute_corr=True)
        cov = pm.Deterministic("cov", chol.dot(chol.T))
        pm.MvNormal("N", mu=0.0 * np.ones(2), cov=cov, observed=z)
    return model


@published(GALLERY + "updating priors by interpolation of draws")
def interpolated_prior(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(21)
    x_points = np.linspace(-3, 3, 40)
    pdf_points = np.exp(-0.5 * (x_points - 0.4) ** 2)
    x = rng.normal(size=30)
    y = 0.5 * x + rng.normal(0, 0.5, 30)
    with pm.Model() as model:
        alpha = pm.Interpolated("alpha", x_points, pdf_points)
        pm.Normal("Y_obs", mu=alpha * x, sigma=pm.HalfNormal("sigma", 1), observed=y)
    return model


@published(GALLERY + "hierarchical regression of counts, school of pandas categories, Student's t effects and hurdle")
def hurdle_regression(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(22)
    df = pd.DataFrame({"site": pd.Categorical(rng.choice(list("wxyz"), 80)), "x": rng.normal(size=80)})
    df["y"] = np.where(rng.random(80) < 0.4, 0, rng.poisson(np.exp(0.5 + 0.3 * df.x)) + 1)
    with pm.Model(coords={"site": df["site"].cat.categories}) as model:
        site = pm.StudentT("effect", nu=4, mu=0, sigma=pm.HalfNormal("sigma_site", 1), dims="site")
        psi = pm.Beta("psi", 2, 2)
        mu = pm.math.exp(site[df["site"].cat.codes.to_numpy()] + pm.Normal("b", 0, 1) * df["x"].to_numpy())
        pm.HurdlePoisson("y", psi=psi, mu=mu, observed=df["y"])
    return model
