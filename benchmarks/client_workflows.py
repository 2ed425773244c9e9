"""Workflows of libraries that build on PyMC, in the idioms of their documentation, on small made-up data.

A workflow takes arguments of `pm.sample`, hands them on as users of its library do, and gives the result. Nothing is
imported before a workflow runs, so one library may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

Workflow = Callable[[Mapping[str, Any]], Any]
WORKFLOWS: Final[dict[str, Workflow]] = {}


def workflow(function: Workflow) -> Workflow:
    """Enter a workflow under its name; the word before the first underscore names the library."""
    WORKFLOWS[function.__name__] = function
    return function


def rng() -> np.random.Generator:
    """The source of all data."""
    return np.random.default_rng(20)


# Bambi: `model.fit(inference_method=…)`


def bambi_fit(formula: Any, data: Any, keywords: Mapping[str, Any], **arguments: Any) -> Any:
    """A model of a formula, fitted with the arguments of `pm.sample`."""
    import bambi

    given = dict(keywords)
    method = given.pop("nuts_sampler", "pymc")
    return bambi.Model(formula, data, **arguments).fit(inference_method=method, **given)


def table(rows: int = 120) -> Any:
    """Two predictors, a group, and responses of several kinds."""
    import pandas as pd

    r = rng()
    x, z, group = r.normal(size=rows), r.normal(size=rows), r.integers(0, 8, rows)
    mean = 1 + 0.8 * x - 0.5 * z + r.normal(0, 0.7, 8)[group]
    heavy = mean + r.standard_t(3, rows)
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            "group": np.array(list("abcdefgh"))[group],
            "y": mean + r.normal(size=rows),
            "heavy": heavy,
            "yes": (r.random(rows) < 1 / (1 + np.exp(-mean))).astype(int),
            "count": r.poisson(np.exp(mean / 2)),
            "over": r.negative_binomial(2, 2 / (2 + np.exp(mean / 2))),
            "positive": r.gamma(2, np.exp(mean / 2) / 2),
            "share": r.beta(2 + np.exp(mean / 3), 3),
            "kind": r.choice(["p", "q", "r"], rows),
            "tries": 10,
            "hits": r.binomial(10, 1 / (1 + np.exp(-mean))),
        }
    )


@workflow
def bambi_linear(k: Mapping[str, Any]) -> Any:
    """Linear regression."""
    return bambi_fit("y ~ x + z", table(), k)


@workflow
def bambi_varying_intercepts(k: Mapping[str, Any]) -> Any:
    """Intercepts that vary over groups."""
    return bambi_fit("y ~ x + (1|group)", table(), k)


@workflow
def bambi_varying_slopes(k: Mapping[str, Any]) -> Any:
    """Slopes that vary over groups."""
    return bambi_fit("y ~ x + (x|group)", table(), k)


@workflow
def bambi_logistic(k: Mapping[str, Any]) -> Any:
    """Logistic regression."""
    return bambi_fit("yes ~ x + z", table(), k, family="bernoulli")


@workflow
def bambi_poisson(k: Mapping[str, Any]) -> Any:
    """Counts."""
    return bambi_fit("count ~ x * z", table(), k, family="poisson")


@workflow
def bambi_negative_binomial(k: Mapping[str, Any]) -> Any:
    """Overdispersed counts."""
    return bambi_fit("over ~ x + z", table(), k, family="negativebinomial")


@workflow
def bambi_robust(k: Mapping[str, Any]) -> Any:
    """Regression with heavy tails."""
    return bambi_fit("heavy ~ x", table(), k, family="t")


@workflow
def bambi_gamma(k: Mapping[str, Any]) -> Any:
    """Positive responses."""
    return bambi_fit("positive ~ x", table(), k, family="gamma", link="log")


@workflow
def bambi_binomial(k: Mapping[str, Any]) -> Any:
    """Proportions of known numbers of trials."""
    return bambi_fit("p(hits, tries) ~ x", table(), k, family="binomial")


@workflow
def bambi_categorical(k: Mapping[str, Any]) -> Any:
    """A response with three kinds."""
    return bambi_fit("kind ~ x", table(), k, family="categorical")


@workflow
def bambi_distributional(k: Mapping[str, Any]) -> Any:
    """A scale that depends on a predictor."""
    import bambi

    return bambi_fit(bambi.Formula("y ~ x", "sigma ~ z"), table(), k)


@workflow
def bambi_splines(k: Mapping[str, Any]) -> Any:
    """Splines of a predictor."""
    return bambi_fit("y ~ bs(x, df=5)", table(), k)


# CausalPy: `sample_kwargs` of the model


def causal_model(name: str, keywords: Mapping[str, Any]) -> Any:
    """One of CausalPy's models."""
    import causalpy

    return getattr(causalpy.pymc_models, name)(sample_kwargs=dict(keywords))


def causal(experiment: str, *arguments: Any, **keywords: Any) -> Any:
    """The draws of an experiment of CausalPy."""
    import causalpy

    return getattr(causalpy, experiment)(*arguments, **keywords).idata


def series(rows: int = 60) -> Any:
    """A series with a trend, whose level changes after two thirds of it."""
    import pandas as pd

    r, t = rng(), np.arange(rows)
    frame = pd.DataFrame({"t": t.astype(float), "month": t % 12, "y": 5 + 0.1 * t + 2.0 * (t > 40)})
    frame["y"] += r.normal(0, 0.5, rows)
    frame.index = pd.RangeIndex(rows)
    return frame


@workflow
def causalpy_differences_in_differences(k: Mapping[str, Any]) -> Any:
    """Difference in differences."""
    import causalpy

    return causal(
        "DifferenceInDifferences",
        causalpy.load_data("did"),
        formula="y ~ 1 + group*post_treatment",
        time_variable_name="t",
        group_variable_name="group",
        model=causal_model("LinearRegression", k),
    )


@workflow
def causalpy_regression_discontinuity(k: Mapping[str, Any]) -> Any:
    """A jump at a threshold."""
    import causalpy

    return causal(
        "RegressionDiscontinuity",
        causalpy.load_data("rd"),
        formula="y ~ 1 + x + treated + x:treated",
        model=causal_model("LinearRegression", k),
        treatment_threshold=0.5,
    )


@workflow
def causalpy_regression_discontinuity_with_splines(k: Mapping[str, Any]) -> Any:
    """A jump at a threshold beside a curve."""
    import causalpy

    return causal(
        "RegressionDiscontinuity",
        causalpy.load_data("rd"),
        formula="y ~ 1 + bs(x, df=6) + treated",
        model=causal_model("LinearRegression", k),
        treatment_threshold=0.5,
    )


@workflow
def causalpy_regression_kink(k: Mapping[str, Any]) -> Any:
    """A change of slope at a threshold."""
    import pandas as pd

    r = rng()
    x = r.uniform(-1, 1, 100)
    treated = (x >= 0.2).astype(int)
    y = 1 + x + 2 * (x - 0.2) * treated + r.normal(0, 0.1, 100)
    return causal(
        "RegressionKink",
        pd.DataFrame({"x": x, "y": y, "treated": treated}),
        formula="y ~ 1 + x + I((x-0.2)*treated)",
        model=causal_model("LinearRegression", k),
        kink_point=0.2,
    )


@workflow
def causalpy_interrupted_series(k: Mapping[str, Any]) -> Any:
    """A series before and after an intervention."""
    return causal("InterruptedTimeSeries", series(), 41, formula="y ~ 1 + t", model=causal_model("LinearRegression", k))


@workflow
def causalpy_interrupted_series_with_seasons(k: Mapping[str, Any]) -> Any:
    """The same with months."""
    return causal(
        "InterruptedTimeSeries",
        series(),
        41,
        formula="y ~ 1 + t + C(month)",
        model=causal_model("LinearRegression", k),
    )


@workflow
def causalpy_synthetic_control(k: Mapping[str, Any]) -> Any:
    """A unit as a mixture of others."""
    import causalpy

    return causal(
        "SyntheticControl",
        causalpy.load_data("sc"),
        73,
        control_units=["a", "b", "c", "d", "e", "f", "g"],
        treated_units=["actual"],
        model=causal_model("WeightedSumFitter", k),
    )


@workflow
def causalpy_nonequivalent_groups(k: Mapping[str, Any]) -> Any:
    """Two groups measured before and after."""
    import causalpy

    return causal(
        "PrePostNEGD",
        causalpy.load_data("anova1"),
        formula="post ~ 1 + C(group) + pre",
        group_variable_name="group",
        pretreatment_variable_name="pre",
        model=causal_model("LinearRegression", k),
    )


@workflow
def causalpy_inverse_propensity(k: Mapping[str, Any]) -> Any:
    """Propensities of being treated."""
    import pandas as pd

    r = rng()
    age, active = r.normal(size=150), r.integers(0, 2, 150)
    treated = (r.random(150) < 1 / (1 + np.exp(-0.8 * age))).astype(int)
    outcome = 1 + 2 * treated + age + r.normal(size=150)
    return causal(
        "InversePropensityWeighting",
        pd.DataFrame({"trt": treated, "age": age, "active": active, "outcome": outcome}),
        formula="trt ~ 1 + age + C(active)",
        outcome_variable="outcome",
        weighting_scheme="robust",
        model=causal_model("PropensityScore", k),
    )


@workflow
def causalpy_instrument(k: Mapping[str, Any]) -> Any:
    """An instrument for a confounded treatment."""
    import pandas as pd

    r = rng()
    hidden, z = r.normal(size=(2, 120))
    t = 0.8 * z + hidden + r.normal(0, 0.5, 120)
    frame = pd.DataFrame({"z": z, "t": t, "y": 1 + 2 * t - 2 * hidden + r.normal(0, 0.5, 120)})
    priors = {"mus": [[0.0, 0.0], [0.0, 0.0]], "sigmas": [2.0, 2.0], "eta": 2, "lkj_sd": 1}
    return causal(
        "InstrumentalVariable",
        instruments_data=frame[["t", "z"]],
        data=frame[["y", "t"]],
        instruments_formula="t ~ 1 + z",
        formula="y ~ 1 + t",
        priors=priors,
        model=causal_model("InstrumentalVariableRegression", k),
    )


# PyMC-Marketing: `fit(nuts_sampler=…)`


def customers() -> Any:
    """Customers with their last purchase, number of purchases, age and spending."""
    import pandas as pd

    r = rng()
    age = r.uniform(20, 60, 80)
    rate, dead = r.gamma(2, 0.05, 80), r.exponential(40, 80)
    alive = np.minimum(age, dead)
    frequency = r.poisson(rate * alive)
    recency = np.where(frequency > 0, alive * r.uniform(0.5, 1, 80), 0.0)
    spent = r.gamma(6, 5, 80)
    return pd.DataFrame(
        {
            "customer_id": np.arange(80),
            "frequency": frequency,
            "recency": recency,
            "T": age,
            "monetary_value": spent,
        }
    )


@workflow
def marketing_beta_geometric(k: Mapping[str, Any]) -> Any:
    """BG/NBD."""
    from pymc_marketing.clv import BetaGeoModel

    model = BetaGeoModel()
    return model.fit(data=customers()[["customer_id", "frequency", "recency", "T"]], **k)


@workflow
def marketing_modified_beta_geometric(k: Mapping[str, Any]) -> Any:
    """MBG/NBD."""
    from pymc_marketing.clv import ModifiedBetaGeoModel

    return ModifiedBetaGeoModel().fit(data=customers()[["customer_id", "frequency", "recency", "T"]], **k)


@workflow
def marketing_pareto(k: Mapping[str, Any]) -> Any:
    """Pareto/NBD."""
    from pymc_marketing.clv import ParetoNBDModel

    return ParetoNBDModel().fit(data=customers()[["customer_id", "frequency", "recency", "T"]], method="mcmc", **k)


@workflow
def marketing_gamma_gamma(k: Mapping[str, Any]) -> Any:
    """Spending per purchase."""
    from pymc_marketing.clv import GammaGammaModel

    data = customers().query("frequency > 0")[["customer_id", "frequency", "monetary_value"]]
    return GammaGammaModel().fit(data=data, **k)


@workflow
def marketing_beta_binomial(k: Mapping[str, Any]) -> Any:
    """BG/BB, of discrete opportunities."""
    from pymc_marketing.clv import BetaGeoBetaBinomModel

    r = rng()
    data = customers()[["customer_id"]]
    data["T"] = 6
    last = r.integers(0, 7, len(data))
    data["recency"], data["frequency"] = last, np.where(last > 0, r.integers(1, np.maximum(last, 1) + 1), 0)
    return BetaGeoBetaBinomModel().fit(data=data, **k)


@workflow
def marketing_shifted_beta_geometric(k: Mapping[str, Any]) -> Any:
    """Contracts that are renewed."""
    from pymc_marketing.clv import ShiftedBetaGeoModel

    r = rng()
    data = customers()[["customer_id"]]
    data["T"] = 8
    data["recency"] = np.minimum(r.geometric(r.beta(1, 3, len(data))), 8)
    data["cohort"] = "one"
    return ShiftedBetaGeoModel().fit(data=data, **k)


def media(weeks: int = 80) -> Any:
    """Two channels, an event and sales by week."""
    import pandas as pd

    r = rng()
    x = r.gamma(2, 0.3, (weeks, 2))
    return pd.DataFrame(
        {
            "date": pd.date_range("2024-01-01", periods=weeks, freq="W-MON"),
            "tv": x[:, 0],
            "web": x[:, 1],
            "event": (np.arange(weeks) % 20 == 0).astype(float),
            "y": 3 + 2 * np.tanh(x[:, 0]) + np.tanh(x[:, 1]) + r.normal(0, 0.3, weeks),
        }
    )


def media_mix(keywords: Mapping[str, Any], saturation: str, adstock: str = "GeometricAdstock", **arguments: Any) -> Any:
    """A media mix model."""
    from pymc_marketing import mmm

    data = media()
    model = mmm.MMM(
        date_column="date",
        channel_columns=["tv", "web"],
        target_column="y",
        adstock=getattr(mmm, adstock)(l_max=4),
        saturation=getattr(mmm, saturation)(),
        **arguments,
    )
    return model.fit(data.drop(columns="y"), data["y"], **keywords)


@workflow
def marketing_media_mix(k: Mapping[str, Any]) -> Any:
    """Geometric adstock and logistic saturation."""
    return media_mix(k, "LogisticSaturation")


@workflow
def marketing_media_mix_with_seasons(k: Mapping[str, Any]) -> Any:
    """With an event and Fourier terms."""
    return media_mix(k, "LogisticSaturation", control_columns=["event"], yearly_seasonality=2)


@workflow
def marketing_media_mix_michaelis(k: Mapping[str, Any]) -> Any:
    """Delayed adstock, Michaelis and Menten's saturation."""
    return media_mix(k, "MichaelisMentenSaturation", "DelayedAdstock")


@workflow
def marketing_media_mix_tanh(k: Mapping[str, Any]) -> Any:
    """Saturation by tanh."""
    return media_mix(k, "TanhSaturation")


@workflow
def marketing_media_mix_with_moving_baseline(k: Mapping[str, Any]) -> Any:
    """An intercept that moves with time, as a Gaussian process."""
    return media_mix(k, "LogisticSaturation", time_varying_intercept=True)


# pymc-extras: models of PyMC with its parts


@workflow
def extras_generalized_extreme_values(k: Mapping[str, Any]) -> Any:
    """Yearly maxima."""
    import pymc
    import pymc_extras

    with pymc.Model():
        mu, sigma = pymc.Normal("mu", 3.8, 0.2), pymc.HalfNormal("sigma", 0.3)
        xi = pymc.TruncatedNormal("xi", 0, 0.2, lower=-0.6, upper=0.6)
        seen = 3.8 + 0.2 * rng().gumbel(size=60)
        pymc_extras.GenExtreme("y", mu, sigma, xi, observed=seen)
        return pymc.sample(**k)


@workflow
def extras_horseshoe(k: Mapping[str, Any]) -> Any:
    """Shares of explained variance (R2D2M2)."""
    import pymc
    import pymc_extras

    r = rng()
    x = r.normal(size=(60, 3))
    with pymc.Model(coords={"b": range(3)}):
        _, beta = pymc_extras.R2D2M2CP("beta", 1.0, x.std(0), dims="b", r2=0.5, r2_std=0.2)
        sigma = pymc.HalfNormal("sigma", 1.0)
        pymc.Normal("y", x @ beta, sigma, observed=x @ [1.0, 0.0, -1.0] + r.normal(size=60))
        return pymc.sample(**k)


@workflow
def extras_prior_by_name(k: Mapping[str, Any]) -> Any:
    """Priors as data."""
    import pymc
    from pymc_extras.prior import Prior

    with pymc.Model(coords={"group": range(4)}):
        effect = Prior("Normal", mu=Prior("Normal"), sigma=Prior("HalfNormal"), dims="group", centered=False)
        level = effect.create_variable("level")
        pymc.Normal("y", level[np.arange(40) % 4], 1.0, observed=rng().normal(size=40))
        return pymc.sample(**k)


@workflow
def extras_marginalised_mixture(k: Mapping[str, Any]) -> Any:
    """A mixture whose labels are summed out."""
    import pymc
    import pymc_extras

    r = rng()
    with pymc.Model() as model:
        p = pymc.Beta("p", 2, 2)
        z = pymc.Bernoulli("z", p, shape=30)
        mu = pymc.Normal("mu", [-2.0, 2.0], 1.0, shape=2)
        pymc.Normal("y", mu[z], 1.0, observed=np.where(r.random(30) < 0.4, 2, -2) + r.normal(size=30))
    with pymc_extras.marginalize(model, ["z"]):
        return pymc.sample(**k)


@workflow
def extras_local_level(k: Mapping[str, Any]) -> Any:
    """A local level, by the Kalman filter."""
    import pandas as pd
    import pymc
    import pytensor.tensor as pt
    from pymc_extras.statespace import structural

    r = rng()
    y = pd.DataFrame(
        {"y": np.cumsum(r.normal(0, 0.3, 40)) + r.normal(0, 0.5, 40)},
        index=pd.date_range("2024-01-01", periods=40, freq="D"),
    )
    parts = structural.LevelTrend(order=1, innovations_order=1) + structural.MeasurementError()
    built = parts.build(verbose=False)
    with pymc.Model(coords=built.coords):
        pymc.Deterministic("P0", pt.eye(built.k_states), dims=built.param_dims["P0"])
        pymc.Normal("initial_level_trend", dims=built.param_dims["initial_level_trend"])
        pymc.HalfNormal("sigma_level_trend", dims=built.param_dims["sigma_level_trend"])
        pymc.HalfNormal("sigma_MeasurementError")
        built.build_statespace_graph(y)
        return pymc.sample(**k)


# kulprit, simuk, preliz


@workflow
def kulprit_reference_model(k: Mapping[str, Any]) -> Any:
    """The reference model of a search over submodels, and the search."""
    import bambi
    import kulprit

    given = dict(k)
    method = given.pop("nuts_sampler", "pymc")
    model = bambi.Model("y ~ x + z", table())
    result = model.fit(inference_method=method, idata_kwargs={"log_likelihood": True}, **given)
    kulprit.ProjectionPredictive(model, result).project()
    return result


@workflow
def simuk_calibration(k: Mapping[str, Any]) -> Any:
    """Simulation-based calibration: the ranks of 8 posteriors."""
    import pymc
    import simuk

    with pymc.Model() as model:
        mu, tau = pymc.Normal("mu", 0, 5), pymc.HalfCauchy("tau", 5)
        theta = pymc.Normal("theta", mu, tau, shape=4)
        pymc.Normal("y", theta, 2.0, observed=[1.0, 2.0, 3.0, 4.0])
    given = {name: value for name, value in k.items() if name != "random_seed"}
    calibration = simuk.SBC(model, num_simulations=8, sample_kwargs=given, seed=1)
    calibration.run_simulations()
    with model:
        return pymc.sample(**k)


@workflow
def preliz_prior_by_elicitation(k: Mapping[str, Any]) -> Any:
    """A prior from an interval with a stated probability, in a model of PyMC."""
    import preliz
    import pymc

    prior = preliz.Gamma()
    preliz.maxent(prior, 1, 10, 0.9, plot=False)
    with pymc.Model():
        rate = prior.to_pymc("rate")
        pymc.Poisson("y", rate, observed=rng().poisson(4, 30))
        return pymc.sample(**k)
