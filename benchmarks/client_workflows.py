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
