"""Models that libraries on PyMC build, by their own functions: those of the workflows, and more of their parts.

A name in, a model of PyMC out, before anything is sampled. What a library lacks to be imported is its ImportError.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final
from unittest import mock

import numpy as np

from benchmarks import extras_workflows, forecast_workflows, marketing_workflows  # noqa: F401 - they enter theirs
from benchmarks.client_workflows import WORKFLOWS, rng
from benchmarks.marketing_workflows import customers, media

MODELS: Final[dict[str, Callable[[], Any]]] = {}


class _Built(BaseException):
    """The model that was to be sampled; no library takes it for a failure."""


def _sampled_by(name: str) -> Any:
    """The first model that a workflow samples."""
    import pymc

    def caught(*_: Any, model: Any = None, **__: Any) -> None:
        raise _Built(pymc.modelcontext(model))

    keywords = {"draws": 10, "tune": 10, "chains": 1, "random_seed": 1, "progressbar": False, "nuts_sampler": "pymc"}
    with mock.patch.object(pymc, "sample", caught):
        try:
            WORKFLOWS[name](keywords)
        except _Built as built:
            return built.args[0]
    raise AssertionError(f"{name} samples nothing")


MODELS |= {name: partial(_sampled_by, name) for name in WORKFLOWS}


def entered(function: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a model under its name."""
    MODELS[function.__name__] = function
    return function


# PyMC-Marketing


def _media_mix(adstock: str, saturation: str, **arguments: Any) -> Any:
    from pymc_marketing import mmm

    data = media(24)
    length = 1 if adstock == "NoAdstock" else 4
    model = mmm.MMM(
        date_column="date",
        channel_columns=["tv", "web"],
        target_column="y",
        adstock=getattr(mmm, adstock)(l_max=length),
        saturation=getattr(mmm, saturation)(),
        **arguments,
    )
    model.build_model(data.drop(columns="y"), data["y"])
    return model.model


for _adstock, _saturation in {
    ("WeibullPDFAdstock", "TanhSaturationBaselined"),
    ("WeibullCDFAdstock", "HillSaturation"),
    ("BinomialAdstock", "HillSaturationSigmoid"),
    ("GeometricAdstock", "RootSaturation"),
    ("DelayedAdstock", "InverseScaledLogisticSaturation"),
    ("NoAdstock", "LogisticSaturation"),
    ("GeometricAdstock", "NoSaturation"),
}:
    MODELS[f"marketing_{_adstock}_{_saturation}"] = partial(_media_mix, _adstock, _saturation)


@entered
def marketing_media_that_varies() -> Any:
    """Channels whose effect moves with time."""
    return _media_mix("GeometricAdstock", "LogisticSaturation", time_varying_media=True)


@entered
def marketing_media_mix_with_heavy_tails() -> Any:
    """A likelihood of the user's."""
    from pymc_extras.prior import Prior

    tails = Prior("StudentT", nu=Prior("Gamma", alpha=2, beta=0.1), sigma=Prior("HalfNormal"), dims="date")
    return _media_mix("GeometricAdstock", "LogisticSaturation", model_config={"likelihood": tails})


def _customer_model(name: str, data: Any, **config: Any) -> Any:
    from pymc_marketing import clv

    model = getattr(clv, name)(model_config=config or None)
    model.build_model(data)
    return model.model


@entered
def marketing_beta_geometric_with_covariates() -> Any:
    """Of purchases and of leaving."""
    data = customers().assign(c=rng().normal(size=80))
    columns = {"purchase_covariate_cols": ["c"], "dropout_covariate_cols": ["c"]}
    return _customer_model("BetaGeoModel", data, **columns)


@entered
def marketing_pareto_with_covariates() -> Any:
    """The same."""
    data = customers().assign(c=rng().normal(size=80))
    columns = {"purchase_covariate_cols": ["c"], "dropout_covariate_cols": ["c"]}
    return _customer_model("ParetoNBDModel", data, **columns)


@entered
def marketing_gaussian_processes() -> Any:
    """By basis functions, of a trend and of a season."""
    import pymc
    from pymc_extras.prior import Prior
    from pymc_marketing.mmm.hsgp import HSGP, HSGPPeriodic

    t = np.arange(12)
    with pymc.Model(coords={"t": t}) as model:
        trend = HSGP.parameterize_from_data(t, dims="t").create_variable("trend", xdist=True)
        length = Prior("InverseGamma", alpha=3, beta=2)
        season = HSGPPeriodic(
            scale=Prior("HalfNormal"), ls=length, m=3, cov_func="periodic", period=6, dims="t"
        ).register_data(t)
        mean = trend + season.create_variable("season", xdist=True)
        pymc.Normal("y", getattr(mean, "values", mean), 1.0, observed=rng().normal(size=12))
    return model


# pymc-extras


@entered
def extras_distributions() -> Any:
    """One of each kind."""
    import pymc
    import pymc_extras

    r = rng()
    with pymc.Model() as model:
        s = pymc.HalfNormal("s", initval=0.7)
        pymc_extras.Chi("chi", nu=3)
        pymc_extras.Maxwell("maxwell", a=s)
        pymc_extras.GenExtreme("extreme", mu=0.0, sigma=s, xi=0.1, observed=r.normal(size=5))
        pymc_extras.BetaNegativeBinomial("counts", alpha=1 + s, beta=2, r=3, observed=[1, 2])
        pymc_extras.Skellam("differences", mu1=1 + s, mu2=2.0, observed=[-1, 2])
    return model


@entered
def extras_spline() -> Any:
    """A curve through knots."""
    import pymc
    from pymc_extras.utils.spline import bspline_interpolation

    with pymc.Model() as model:
        curve = bspline_interpolation(pymc.Normal("x", shape=5), n=12, degree=3, sparse=False)
        pymc.Normal("y", curve, 1.0, observed=rng().normal(size=12))
    return model


@entered
def extras_censored_prior() -> Any:
    """A likelihood as data, censored."""
    import pymc
    from pymc_extras.prior import Censored, Prior

    with pymc.Model(coords={"k": range(3)}) as model:
        x = Prior("Gamma", mu=2, sigma=1, dims="k", transform="sigmoid").create_variable("x")
        likelihood = Censored(Prior("Normal", sigma=1.0), upper=1.0)
        likelihood.create_likelihood_variable("y", mu=x, observed=np.array([0.1, 0.2, 1.0]))
    return model


def _state_space(built: Any, width: int = 1, gap: bool = False) -> Any:
    import pandas as pd
    import pymc
    import pytensor.tensor as pt

    y = rng().normal(size=(12, width)).cumsum(0)
    if gap:
        y[3, 0] = np.nan
    index = pd.date_range("2020", periods=len(y), freq="MS")
    data = pd.DataFrame(y, columns=[f"s{i}" for i in range(width)], index=index)
    with pymc.Model(coords=built.coords) as model:
        for name, information in built.param_info.items():
            shape = information["shape"]
            if name == "P0":
                pymc.Deterministic(name, pt.eye(built.k_states) * pymc.Gamma("spread", 2, 5))
            elif "sigma" in name or ("cov" in name and not shape):
                pymc.HalfNormal(name, shape=shape)
            elif len(shape or ()) == 2:
                pymc.Deterministic(name, pt.eye(shape[0]))
            else:
                pymc.Normal(name, 0, 0.3, shape=shape)
        built.build_statespace_graph(data)
    return model


@entered
def extras_level_with_gaps() -> Any:
    """What is missing is passed over."""
    from pymc_extras.statespace import structural

    parts = structural.LevelTrend(order=1) + structural.MeasurementError("seen")
    return _state_space(parts.build(verbose=False), gap=True)


@entered
def extras_seasons_and_cycles() -> Any:
    """Parts of a structural model."""
    from pymc_extras.statespace import structural

    parts = (
        structural.LevelTrend(order=1)
        + structural.TimeSeasonality(season_length=4, name="season")
        + structural.Cycle(cycle_length=5, name="cycle")
        + structural.MeasurementError("seen")
    )
    return _state_space(parts.build(verbose=False))


@entered
def extras_moving_averages() -> Any:
    """SARIMAX, stationary from the start."""
    from pymc_extras.statespace import BayesianSARIMAX

    return _state_space(BayesianSARIMAX(order=(1, 0, 1), stationary_initialization=True, verbose=False))


@entered
def extras_exponential_smoothing() -> Any:
    """Of a level."""
    from pymc_extras.statespace import BayesianETS

    return _state_space(BayesianETS(order=("A", "N", "N"), endog_names=["s0"], verbose=False))
