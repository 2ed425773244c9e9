"""Workflows of PyMC-Marketing: customers' lifetime value, media mix, choices, diffusion.

As in `client_workflows`: arguments of `pm.sample` in, the result out, on small made-up data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.client_workflows import rng, workflow


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
    """BG/NBD, and who will buy again."""
    from pymc_marketing.clv import BetaGeoModel

    model = BetaGeoModel()
    result = model.fit(data=customers()[["customer_id", "frequency", "recency", "T"]], **k)
    assert (model.expected_purchases(future_t=10) >= 0).all()
    assert (model.expected_probability_alive() <= 1).all()
    return result


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
    model = GammaGammaModel()
    result = model.fit(data=data, **k)
    assert (model.expected_customer_spend(data) > 0).all()
    return result


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
    model.fit(data.drop(columns="y"), data["y"], **keywords)
    return model


@workflow
def marketing_media_mix(k: Mapping[str, Any]) -> Any:
    """Geometric adstock and logistic saturation."""
    return media_mix(k, "LogisticSaturation").idata


@workflow
def marketing_media_mix_with_seasons(k: Mapping[str, Any]) -> Any:
    """With an event and Fourier terms."""
    return media_mix(k, "LogisticSaturation", control_columns=["event"], yearly_seasonality=2).idata


@workflow
def marketing_media_mix_michaelis(k: Mapping[str, Any]) -> Any:
    """Delayed adstock, Michaelis and Menten's saturation."""
    return media_mix(k, "MichaelisMentenSaturation", "DelayedAdstock").idata


@workflow
def marketing_media_mix_tanh(k: Mapping[str, Any]) -> Any:
    """Saturation by tanh."""
    return media_mix(k, "TanhSaturation").idata


@workflow
def marketing_media_mix_with_moving_baseline(k: Mapping[str, Any]) -> Any:
    """An intercept that moves with time, as a Gaussian process."""
    return media_mix(k, "LogisticSaturation", time_varying_intercept=True).idata


@workflow
def marketing_media_mix_planned(k: Mapping[str, Any]) -> Any:
    """A fit, what it predicts for the weeks to come, and how to spend a budget in them."""
    import pandas as pd

    model = media_mix(k, "LogisticSaturation")
    weeks = pd.date_range("2025-07-14", periods=4, freq="W-MON")
    ahead = pd.DataFrame({"date": weeks, "tv": 0.5, "web": 0.5, "event": 0.0})
    predicted = model.sample_posterior_predictive(
        ahead, extend_idata=False, include_last_observations=True, progressbar=False, random_seed=1
    )
    assert predicted["y"].sizes["date"] == len(weeks)
    plan = model.budget_optimizer(start_date="2025-07-14", end_date="2025-08-04").allocate_budget(total_budget=4.0)
    assert abs(float(plan.budgets.sum()) - 4.0) < 1e-3
    return model.idata


@workflow
def marketing_media_mix_of_regions(k: Mapping[str, Any]) -> Any:
    """Two regions, with coefficients of their own."""
    import pandas as pd
    from pymc_marketing import mmm

    data = pd.concat([media(40).assign(region=region) for region in ("north", "south")], ignore_index=True)
    model = mmm.MMM(
        date_column="date",
        channel_columns=["tv", "web"],
        target_column="y",
        dims=("region",),
        adstock=mmm.GeometricAdstock(l_max=4),
        saturation=mmm.LogisticSaturation(),
    )
    return model.fit(data.drop(columns="y"), data["y"], **k)


@workflow
def marketing_customer_choice(k: Mapping[str, Any]) -> Any:
    """A choice between alternatives, by their prices and the customers' income."""
    import pandas as pd
    from pymc_marketing.customer_choice.mnl_logit import MNLogit

    r = rng()
    prices, income = r.normal(size=(120, 3)), r.normal(size=120)
    utility = np.array([0.0, 0.3, -0.3]) - 0.8 * prices + r.gumbel(size=(120, 3))
    data = pd.DataFrame(
        {
            "choice": np.array(["bus", "car", "train"])[utility.argmax(1)],
            "price_bus": prices[:, 0],
            "price_car": prices[:, 1],
            "price_train": prices[:, 2],
            "income": income,
        }
    )
    equations = [f"{mode} ~ price_{mode} | income" for mode in ("bus", "car", "train")]
    return MNLogit(data, equations, "choice", ["price"]).fit(**k)


@workflow
def marketing_diffusion_of_a_product(k: Mapping[str, Any]) -> Any:
    """Bass's model of who takes up something new."""
    import pymc
    from pymc_extras.prior import Prior
    from pymc_marketing.bass import create_bass_model

    weeks = np.arange(20.0)
    rate = 0.03 + 0.4
    share = (1 - np.exp(-rate * weeks)) / (1 + 0.4 / 0.03 * np.exp(-rate * weeks))
    sold = rng().poisson(500 * np.diff(share, prepend=0.0))
    priors = {
        "m": Prior("Gamma", mu=500, sigma=100),
        "p": Prior("Beta", alpha=1.5, beta=30),
        "q": Prior("Beta", alpha=4, beta=6),
        "likelihood": Prior("Poisson", dims="T"),
    }
    with create_bass_model(weeks, sold, priors, {"T": weeks}):
        return pymc.sample(**k)
