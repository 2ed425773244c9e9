"""Time series, processes and differential equations of PyMC's example gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tests.public_models.registry import published

GALLERY = "PyMC example gallery: "
HARE = np.array(
    [
        30,
        47.2,
        70.2,
        77.4,
        36.3,
        20.6,
        18.1,
        21.4,
        22,
        25.4,
        27.1,
        40.3,
        57,
        76.6,
        52.3,
        19.5,
        11.2,
        7.6,
        14.6,
        16.2,
        24.7,
    ]
)
LYNX = np.array(
    [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
)
DISASTERS = [4, 5, 4, 0, 1, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3,
             4, 2, 1, 3, np.nan, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1,
             0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 0, 2, 3, 3, 1, np.nan, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0,
             0, 0, 0, 0, 1, 0, 0, 1, 0, 1]  # fmt: skip


@published(GALLERY + "introduction, coal mining disasters with missing years (Jarrett 1979)", "table of the paper")
def coal_mining(pm: Any, pt: Any, np: Any) -> Any:
    disaster_data = pd.Series(DISASTERS)
    years = np.arange(1851, 1962)
    with pm.Model() as model:
        switchpoint = pm.DiscreteUniform("switchpoint", lower=years.min(), upper=years.max())
        early_rate = pm.Exponential("early_rate", 1.0)
        late_rate = pm.Exponential("late_rate", 1.0)
        rate = pm.math.switch(switchpoint >= years, early_rate, late_rate)
        pm.Poisson("disasters", rate, observed=disaster_data)
    return model


@published(GALLERY + "analysis of an AR(1) model")
def ar1(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(1)
    y = np.zeros(60)
    for i in range(1, 60):
        y[i] = 0.95 * y[i - 1] + rng.normal()
    with pm.Model() as model:
        k_ = pm.Normal("k", mu=0, sigma=1)
        tau_ = pm.Exponential("tau", 1.0)
        sigma = 1 / pm.math.sqrt(tau_)
        pm.AR("y", rho=k_, tau=tau_, init_dist=pm.Normal.dist(0, sigma), observed=y)
    return model


@published(GALLERY + "forecasting with structural AR time series, trend and seasonality with coords")
def structural_ar(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(2)
    t = np.arange(80)
    y = 0.05 * t + np.sin(2 * np.pi * t / 12) + rng.normal(0, 0.3, 80)
    fourier = np.stack([f(2 * np.pi * t * k / 12) for k in (1, 2) for f in (np.sin, np.cos)], axis=1)
    coords = {"obs_id": t, "fourier": [f"f{i}" for i in range(4)]}
    with pm.Model(coords=coords) as model:
        t_ = pm.Data("t", t.astype(float), dims="obs_id")
        alpha, beta = pm.Normal("alpha", 0, 1), pm.Normal("beta", 0, 0.1)
        beta_fourier = pm.Normal("beta_fourier", mu=0, sigma=1, dims="fourier")
        coefs = pm.Normal("coefs", [0.0, 0.5, 0.0], 0.2)
        sigma = pm.HalfNormal("sigma", 0.5)
        init = pm.Normal.dist(0, 1, size=2)
        ar = pm.AR("ar", coefs, sigma=sigma, init_dist=init, constant=True, steps=t.size - 2, dims="obs_id")
        mu = pm.Deterministic("mu", ar + alpha + beta * t_ + fourier @ beta_fourier, dims="obs_id")
        pm.Normal("likelihood", mu=mu, sigma=0.3, observed=y, dims="obs_id")
    return model


@published(
    GALLERY + "air passengers, a Prophet-like model", "airline passengers of Box and Jenkins 1976, first five years"
)
def air_passengers(pm: Any, pt: Any, np: Any) -> Any:
    df = pd.DataFrame({
        "Month": pd.date_range("1949-01-01", periods=60, freq="MS"),
        "#Passengers": [112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118, 115, 126, 141, 135, 125, 149, 170,
                        170, 158, 133, 114, 140, 145, 150, 178, 163, 172, 178, 199, 199, 184, 162, 146, 166, 171, 180,
                        193, 181, 183, 218, 230, 242, 209, 191, 172, 194, 196, 196, 236, 235, 229, 243, 264, 272, 237,
                        211, 180, 201],
    })  # fmt: skip
    t = (df["Month"] - pd.Timestamp("1900-01-01")).dt.days.to_numpy()
    t = (t - np.min(t)) / (np.max(t) - np.min(t))
    y = df["#Passengers"].to_numpy()
    y = y / np.max(y)
    n_order = 5
    periods = df["Month"].dt.dayofyear / 365.25
    fourier_features = pd.DataFrame(
        {
            f"{func}_order_{order}": getattr(np, func)(2 * np.pi * periods * order)
            for order in range(1, n_order + 1)
            for func in ("sin", "cos")
        }
    )
    coords = {"fourier_features": np.arange(2 * n_order)}
    with pm.Model(check_bounds=False, coords=coords) as model:
        α = pm.Normal("α", mu=0, sigma=0.5)
        β = pm.Normal("β", mu=0, sigma=0.5)
        trend = pm.Deterministic("trend", α + β * t)
        β_fourier = pm.Normal("β_fourier", mu=0, sigma=0.1, dims="fourier_features")
        seasonality = pm.Deterministic("seasonality", pm.math.dot(β_fourier, fourier_features.to_numpy().T))
        μ = pm.Deterministic("μ", trend * (1 + seasonality))
        σ = pm.HalfNormal("σ", sigma=0.1)
        pm.Normal("likelihood", mu=μ, sigma=σ, observed=y)
    return model


@published(GALLERY + "inferring parameters of SDEs with Euler-Maruyama")
def euler_maruyama(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(3)
    dt, x = 0.1, [0.1]
    for _ in range(49):
        x.append(x[-1] - 0.78 * x[-1] * dt + np.sqrt(dt) * 0.5 * rng.normal())
    z = np.array(x) + 0.1 * rng.normal(size=50)

    def lin_sde(x, lam, s2):
        return lam * x, s2

    with pm.Model() as model:
        l = pm.HalfCauchy("l", beta=1)  # noqa: E741
        s = pm.Uniform("s", 0.005, 0.5)
        xh = pm.EulerMaruyama(
            "xh",
            dt=dt,
            sde_fn=lin_sde,
            sde_pars=(-l, s**2),
            shape=50,
            initval=np.array(x),
            init_dist=pm.Normal.dist(0, 1),
        )
        pm.Normal("zh", mu=xh, sigma=5e-2, observed=z)
    return model


@published(GALLERY + "multivariate Gaussian random walk")
def multivariate_random_walk(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(4)
    y = np.cumsum(rng.multivariate_normal([0, 0], [[0.1, 0.05], [0.05, 0.1]], 30), axis=0) + rng.normal(0, 0.3, (30, 2))
    with pm.Model(coords={"step": range(30), "series": ["A", "B"]}) as model:
        packed, _, _ = pm.LKJCholeskyCov("chol_cov_β", n=2, eta=2, sd_dist=pm.HalfCauchy.dist(2.5), compute_corr=True)
        walk = pm.MvGaussianRandomWalk(
            "walk", mu=np.zeros(2), chol=packed, shape=(30, 2), init_dist=pm.MvNormal.dist(np.zeros(2), np.eye(2))
        )
        sigma = pm.HalfNormal("sigma", 1, dims="series")
        pm.Normal("y", mu=walk, sigma=sigma, observed=y)
    return model


@published(GALLERY + "stochastic volatility of index returns")
def volatility(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(5)
    returns = pd.Series(
        0.01 * np.exp(np.cumsum(rng.normal(0, 0.1, 60))) * rng.standard_t(8, 60),
        index=pd.date_range("2008-05-01", periods=60, freq="B"),
    )
    with pm.Model(coords={"time": returns.index.values}) as model:
        step_size = pm.Exponential("step_size", 10)
        volatility = pm.GaussianRandomWalk("volatility", sigma=step_size, dims="time", init_dist=pm.Normal.dist(0, 100))
        nu = pm.Exponential("nu", 0.1)
        pm.StudentT("returns", nu=nu, lam=np.exp(-2 * volatility), observed=returns, dims="time")
    return model


@published(GALLERY + "bayesian vector autoregression, hand-made lags")
def vector_autoregression(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(6)
    y = np.zeros((40, 2))
    for i in range(2, 40):
        y[i] = [[0.5, 0.1], [0.2, 0.3]] @ y[i - 1] + rng.normal(0, 0.3, 2)
    df = pd.DataFrame(y, columns=["gdp", "inv"])

    def calc_ar_step(lag_coefs, n_eqs, n_lags, df):
        ars = []
        for j in range(n_eqs):
            ar = pm.math.sum(
                [pm.math.sum(lag_coefs[j, i] * df.values[n_lags - (i + 1) : -(i + 1)], axis=-1) for i in range(n_lags)],
                axis=0,
            )
            ars.append(ar)
        return pm.math.stack(ars, axis=-1)

    coords = {
        "lags": [1, 2],
        "equations": df.columns.tolist(),
        "cross_vars": df.columns.tolist(),
        "time": df.index[2:].to_list(),
    }
    with pm.Model(coords=coords) as model:
        lag_coefs = pm.Normal("lag_coefs", mu=0, sigma=0.3, dims=["equations", "lags", "cross_vars"])
        alpha = pm.Normal("alpha", mu=0, sigma=0.5, dims=("equations",))
        data_obs = pm.Data("data_obs", df.values[2:], dims=["time", "equations"])
        mean = alpha + calc_ar_step(lag_coefs, 2, 2, df)
        chol, _, _ = pm.LKJCholeskyCov("noise_chol", eta=1.0, n=2, sd_dist=pm.HalfNormal.dist(1.0, shape=2))
        pm.MvNormal("obs", mu=mean, chol=chol, observed=data_obs, dims=["time", "equations"])
    return model


@published(GALLERY + "excess deaths, counterfactual with linear trend and months")
def excess_deaths(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(7)
    df = pd.DataFrame({"t": np.arange(60), "month": np.tile(np.arange(1, 13), 5), "temp": rng.normal(9, 4, 60)})
    df["deaths"] = 40000 + 20 * df.t - 300 * (df.temp - 9) + rng.normal(0, 800, 60)
    with pm.Model(coords={"month": np.arange(1, 13)}) as model:
        month_idx = pm.Data("month_idx", df["month"].to_numpy(), dims="t")
        time = pm.Data("time", df["t"].to_numpy(), dims="t")
        temp = pm.Data("temp", df["temp"].to_numpy(), dims="t")
        deaths = pm.Data("deaths", df["deaths"].to_numpy(), dims="t")
        intercept = pm.Normal("intercept", 40_000, 10_000)
        month_mu = pm.ZeroSumNormal("month mu", sigma=3000, dims="month")
        linear_trend = pm.TruncatedNormal("linear trend", 0, 50, lower=0)
        temp_coeff = pm.Normal("temp coeff", 0, 200)
        mu = pm.Deterministic(
            "mu", intercept + (linear_trend * time) + month_mu[month_idx - 1] + (temp_coeff * temp), dims="t"
        )
        sigma = pm.HalfNormal("sigma", 2_000)
        pm.TruncatedNormal("obs", mu=mu, sigma=sigma, lower=0, observed=deaths, dims="t")
    return model


@published(GALLERY + "interrupted time series")
def interrupted_time_series(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(8)
    y = 23 + 0.3 * np.arange(36) + rng.normal(0, 2, 36)
    with pm.Model() as model:
        time = pm.Data("time", np.arange(36), dims="obs_id")
        beta0, beta1 = pm.Normal("beta0", 0, 1), pm.Normal("beta1", 0, 0.2)
        mu = pm.Deterministic("mu", beta0 + (beta1 * time), dims="obs_id")
        sigma = pm.HalfNormal("sigma", 2)
        pm.Normal("obs", mu=mu, sigma=sigma, observed=y, dims="obs_id")
    return model


@published(GALLERY + "Lotka-Volterra by scan, Runge-Kutta by hand", "hares and lynxes of Hewitt 1921")
def lotka_volterra_scan(pm: Any, pt: Any, np: Any) -> Any:
    def rhs(x, y, a, b, c, d):
        return x * (a - b * y), y * (c * x - d)

    def step(x, y, a, b, c, d):
        for _ in range(4):
            dx, dy = rhs(x, y, a, b, c, d)
            ex, ey = rhs(x + 0.125 * dx, y + 0.125 * dy, a, b, c, d)
            x, y = x + 0.25 * ex, y + 0.25 * ey
        return x, y

    with pm.Model() as model:
        alpha = pm.TruncatedNormal("alpha", mu=0.5, sigma=0.1, lower=0, initval=0.5)
        beta = pm.TruncatedNormal("beta", mu=0.025, sigma=0.01, lower=0, initval=0.025)
        gamma = pm.TruncatedNormal("gamma", mu=0.8, sigma=0.1, lower=0, initval=0.8)
        delta = pm.TruncatedNormal("delta", mu=0.025, sigma=0.01, lower=0, initval=0.025)
        x0 = pm.TruncatedNormal("x0", mu=34, sigma=5, lower=0, initval=34)
        y0 = pm.TruncatedNormal("y0", mu=6, sigma=3, lower=0, initval=6)
        sigma = pm.HalfNormal("sigma", 10)
        (xs, ys) = pm_scan(pm)(
            fn=step, outputs_info=[x0, y0], non_sequences=[alpha, beta, delta, gamma], n_steps=20, return_updates=False
        )
        X = pt.concatenate([x0[None], xs])
        Y = pt.concatenate([y0[None], ys])
        pm.Normal("Y_obs", mu=pt.stack([X, Y], axis=1), sigma=sigma, observed=np.stack([HARE, LYNX], axis=1))
    return model


def pm_scan(pm: Any) -> Any:
    """The loop of the library that `pm` belongs to."""
    if pm.__name__ == "pymc":
        from pytensor import scan
    else:
        from consilience import scan
    return scan


@published(GALLERY + "GARCH(1, 1) by scan")
def garch_scan(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(9)
    r = rng.standard_t(6, 40) * 0.5
    with pm.Model() as model:
        omega = pm.HalfNormal("omega", 1.0)
        alpha = pm.Uniform("alpha1", 0, 1)
        beta = pm.Uniform("beta1", 0, 1 - alpha, initval=0.3)
        initial = pm.HalfNormal("initial_vol", 1.0)

        def step(y, v, w, a, b):
            return pt.sqrt(w + a * pt.square(y) + b * pt.square(v))

        vol = pm_scan(pm)(
            fn=step,
            sequences=[pt.as_tensor_variable(r[:-1])],
            outputs_info=[initial],
            non_sequences=[omega, alpha, beta],
            strict=True,
            return_updates=False,
        )
        pm.Normal("obs", mu=0, sigma=pt.concatenate([initial[None], vol]), observed=r)
    return model


@published(GALLERY + "GARCH11 distribution")
def garch_distribution(pm: Any, pt: Any, np: Any) -> Any:
    r = np.random.default_rng(9).standard_t(6, 50) * 0.5
    with pm.Model() as model:
        omega = pm.Exponential("omega", 2.0)
        alpha_beta = pm.Dirichlet("ab", np.ones(3))
        pm.GARCH11("obs", omega=omega, alpha_1=alpha_beta[0], beta_1=alpha_beta[1], initial_vol=0.5, observed=r)
    return model


@published(GALLERY + "moving average by CustomDist with a scan")
def moving_average(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(10)
    e = rng.normal(size=52)
    y = 0.5 + e[2:] + 0.6 * e[1:-1] - 0.3 * e[:-2]
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        theta = pm.Normal("theta", 0, 0.5, shape=2)
        sigma = pm.HalfCauchy("sigma", 2.5)

        def innovation(y_t, e1, e2, mu, theta):
            return y_t - mu - theta[0] * e1 - theta[1] * e2, e1

        zero = pt.as_tensor_variable(np.float64(0.0))
        eps, _ = pm_scan(pm)(
            innovation,
            sequences=[pt.as_tensor_variable(y)],
            outputs_info=[zero, zero],
            non_sequences=[mu, theta],
            return_updates=False,
        )
        pm.Potential("likelihood", pm.logp(pm.Normal.dist(0, sigma), eps))
    return model


@published(GALLERY + "SIR epidemic by DifferentialEquation")
def sir_ode(pm: Any, pt: Any, np: Any) -> Any:
    times = np.arange(0.5, 4, 0.5)
    yobs = np.array([[0.95, 0.03], [0.86, 0.11], [0.7, 0.2], [0.5, 0.33], [0.31, 0.42], [0.2, 0.41], [0.14, 0.36]])

    def SIR(y, t, p):
        ds = -p[0] * y[0] * y[1]
        di = p[0] * y[0] * y[1] - p[1] * y[1]
        return [ds, di]

    sir_model = pm.ode.DifferentialEquation(func=SIR, times=times, n_states=2, n_theta=2, t0=0)
    with pm.Model() as model:
        sigma = pm.HalfCauchy("sigma", 1, shape=2)
        R0 = pm.TruncatedNormal("R0", mu=2, sigma=3, lower=1)
        lam = pm.LogNormal("lambda", pm.math.log(2), pm.math.log(2))
        beta = pm.Deterministic("beta", lam * R0)
        sir_curves = sir_model(y0=[0.99, 0.01], theta=[beta, lam])
        pm.LogNormal("Y", mu=pm.math.log(sir_curves), sigma=sigma, observed=yobs)
    return model


@published(GALLERY + "state space: local level by Gaussian random walk, missing periods")
def local_level_missing(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(11)
    y = np.cumsum(rng.normal(0, 0.4, 40)) + rng.normal(0, 0.5, 40)
    y[[7, 8, 20]] = np.nan
    with pm.Model(coords={"time": np.arange(40)}) as model:
        sigma_level = pm.HalfNormal("sigma_level", 1)
        level = pm.GaussianRandomWalk("level", sigma=sigma_level, init_dist=pm.Normal.dist(0, 2), dims="time")
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal("y", level, sigma, observed=np.ma.masked_invalid(y), dims="time")
    return model


@published(GALLERY + "media mix: geometric adstock and saturation")
def media_mix(pm: Any, pt: Any, np: Any) -> Any:
    rng = np.random.default_rng(12)
    X = rng.gamma(2, 0.2, (52, 2))
    y = 1 + 0.5 * X[:, 0] + 0.3 * X[:, 1] + rng.normal(0, 0.1, 52)

    def geometric_adstock(x, alpha, l_max=6):
        cycles = [pt.concatenate([pt.zeros(i), x[: x.shape[0] - i]]) for i in range(l_max)]
        x_cycle = pt.stack(cycles)
        w = pt.as_tensor_variable([pt.power(alpha, i) for i in range(l_max)])
        return pt.dot(w, x_cycle)

    def logistic_saturation(x, lam=0.5):
        return (1 - pt.exp(-lam * x)) / (1 + pt.exp(-lam * x))

    with pm.Model(coords={"channel": ["tv", "radio"], "date": np.arange(52)}) as model:
        x = pm.Data("x", X, dims=("date", "channel"))
        alpha = pm.Beta("alpha", alpha=1, beta=3, dims="channel")
        lam = pm.Gamma("lam", alpha=3, beta=1, dims="channel")
        beta = pm.HalfNormal("beta_channel", sigma=2, dims="channel")
        effects = [logistic_saturation(geometric_adstock(x[:, i], alpha[i]), lam[i]) for i in range(2)]
        contribution = pm.Deterministic("contributions", pt.stack(effects, axis=1) * beta, dims=("date", "channel"))
        mu = pm.Normal("intercept", 0, 2) + contribution.sum(axis=-1)
        pm.Normal("likelihood", mu=mu, sigma=pm.HalfNormal("sigma", 2), observed=y, dims="date")
    return model
