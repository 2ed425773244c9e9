"""What series, dates, regressors and periods can be like where users bring them: what is said, or what holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience import statespace as ss
from consilience.errors import ConsilienceError
from tests.rows import holds_for_each

pd = pytest.importorskip("pandas")
Y = np.random.default_rng(0).normal(size=12).cumsum()
MONTHS = pd.date_range("2024-01-31", periods=12, freq="ME")


def level() -> Any:
    """A level and noise."""
    return ss.LevelTrend(1) + ss.MeasurementError()


def priced() -> Any:
    """A level, noise and a regressor."""
    return level() + ss.Regression(["price"])


def built(space: Any, y: Any, exog: Any = None) -> pm.Model:
    """A model of a series."""
    with pm.Model() as model:
        space.build_statespace_graph(y, exog=exog)
    return model


def ahead(space: Any, y: Any, periods: Any = 3, past: Any = None, **later: Any) -> Any:
    """A forecast from draws of the prior; `past` are regressors of the data."""
    model = built(space, y, past)
    prior = pm.sample_prior_predictive(3, model=model, random_seed=1)["prior"]
    posterior = {v.name: prior[v.name].values for v in model.free_RVs}
    return space.forecast(pm.to_inference_data(posterior, model=model), periods, random_seed=1, **later)


SEASONS = (
    lambda: ss.LevelTrend(2) + ss.TimeSeasonality(12) + ss.MeasurementError(),
    lambda: ss.SARIMAX((1, 1, 1), (1, 1, 1, 12)),
    lambda: ss.ETS(("A", "A", "A"), 12),
)
TAKEN: dict[str, tuple[Callable[[], Any], Any]] = {
    "gaps at both ends": (level, np.r_[np.nan, np.nan, Y, np.nan]),
    "gaps everywhere": (level, np.full(5, np.nan)),
    **{f"season longer than the series, {k}": (space, Y[:5]) for k, space in enumerate(SEASONS)},
    "season longer than the series, products": (lambda: ss.ETS(("M", "A", "M"), 12), np.exp(Y[:5])),
    "one value": (level, Y[:1]),
    "one value of a seasonal ARIMA": (lambda: ss.SARIMAX((1, 0, 1), (1, 0, 0, 4)), Y[:1]),
    "one value of products": (lambda: ss.ETS(("M", "A", "M"), 4), np.array([3.0])),
    "two values": (lambda: ss.LevelTrend(2) + ss.MeasurementError(), Y[:2]),
    "two series of one time": (lambda: ss.DynamicFactor(1, 1, ["a", "b"]), np.ones((1, 2))),
    "constant": (level, np.full(8, 4.0)),
    "constant, products": (lambda: ss.ETS(("M", "A", "N")), np.full(8, 4.0)),
    "constant, ARMA": (lambda: ss.SARIMAX((1, 0, 1)), np.full(8, 4.0)),
    "large": (level, 1e12 * Y),
    "far from 0": (lambda: ss.LevelTrend(2) + ss.TimeSeasonality(4) + ss.MeasurementError(), 1e12 + Y),
    "large, products": (lambda: ss.ETS(("M", "A", "M"), 4), 1e12 * np.exp(Y / 9)),
    "small": (lambda: ss.SARIMAX((1, 1, 1)), 1e-12 * Y),
    "objects": (level, pd.Series([1.0, None, 3.0], dtype=object)),
    "masked": (level, np.ma.masked_invalid(np.r_[Y, np.nan])),
    "whole numbers and gaps of pandas": (level, pd.Series([1, None, 3], dtype="Int64")),
    "one date": (level, pd.Series(Y[:1], MONTHS[:1])),
}


def test_series_that_are_taken_have_densities_slopes_and_forecasts() -> None:
    def law(row: tuple[Callable[[], Any], Any]) -> None:
        make, y = row
        model = built(make(), y)
        point = model.initial_point()
        assert np.isfinite(model.compile_logp()(point))
        assert np.isfinite(model.compile_dlogp()(point)).all()
        assert np.isfinite(ahead(make(), y)["forecast_observed"].values).all()

    holds_for_each(TAKEN.items(), law)


def dated(*dates: str) -> Any:
    """A series at these dates."""
    return pd.Series(Y[: len(dates)], pd.to_datetime(list(dates)))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no value": (lambda: built(level(), []), "at least one time"),
    "infinite": (lambda: built(level(), [1.0, np.inf]), "must be finite"),
    "text": (lambda: built(level(), ["a", "b"]), "the data must be real numbers"),
    "complex": (lambda: built(level(), [1 + 2j, 3]), "the data must be real numbers.*complex"),
    "three axes": (lambda: built(level(), np.zeros((2, 2, 2))), r"\(times, columns\), got \(2, 2, 2\)"),
    "two series": (lambda: built(level(), np.zeros((4, 2))), "1 observed series, but the data have 2"),
    "a date is left out": (lambda: built(level(), dated("2024-01-01", "2024-01-02", "2024-01-05", "2024-01-06")),
                           "after 2024-01-02 comes 2024-01-05.*row of NaN"),
    "most dates are left out": (lambda: built(level(), dated("2024-01-01", "2024-01-03", "2024-01-04", "2024-01-06")),
                                "after 2024-01-01 comes 2024-01-03"),
    "an hour is left out": (lambda: built(level(), dated("2024-01-01 01:00", "2024-01-01 02:00", "2024-01-01 04:00")),
                            "after 2024-01-01 02:00:00 comes 2024-01-01 04:00:00"),
    "a year is left out": (lambda: built(level(), pd.Series(Y[:4], [2001, 2002, 2005, 2006])),
                           "times of the data.*after 2002 comes 2005"),
    "a date twice": (lambda: built(level(), dated("2024-01-01", "2024-01-02", "2024-01-02")), "2024-01-02.* twice"),
    "from the end": (lambda: built(level(), pd.Series(Y, MONTHS)[::-1]), r"not in order.*sort_index"),
    "no date": (lambda: built(level(), pd.Series(Y[:2], pd.to_datetime(["2024-01-01", None]))), "must ascend"),
    "regressors end": (lambda: built(priced(), Y, np.ones((11, 1))), "`exog` must have 12 rows"),
    "regressors of text": (lambda: built(priced(), Y, [["a"]] * 12), "`exog` must be real numbers"),
    "regressors of other names": (lambda: built(priced(), Y, pd.DataFrame({"cost": np.ones(12)})),
                                  "lacks the columns price; it has cost"),
    "regressors in another order": (
        lambda: built(priced(), pd.Series(Y, MONTHS), pd.DataFrame({"price": np.ones(12)}, MONTHS[::-1])),
        "row 0 is that of 2024-12-31.*the series has 2024-01-31",
    ),
    "no later regressors": (lambda: ahead(priced(), Y, 3, Y[:, None]), "needs `exog`: the columns price for 3 times"),
    "later regressors end": (lambda: ahead(priced(), Y, 3, Y[:, None], exog=[[1.0], [2.0]]), "must have 3 rows"),
    "later regressors with gaps": (lambda: ahead(priced(), Y, 2, Y[:, None], exog=[[1.0], [np.nan]]), "with NaN"),
    "no periods": (lambda: ahead(level(), Y, 0), "`periods` must be a whole number >= 1, got 0"),
    "half a period": (lambda: ahead(level(), Y, 2.5), "`periods` must be a whole number >= 1, got 2.5"),
    "no periods of products": (lambda: ahead(ss.ETS(("M", "N", "N")), np.exp(Y), -1), "whole number >= 1, got -1"),
    "too few labels": (lambda: ahead(level(), Y, 3, coords=[1, 2]), "a label for each of the 3 periods, got 2"),
}  # fmt: skip


def test_what_is_refused_says_what_came() -> None:
    def law(row: tuple[Callable[[], Any], str]) -> None:
        make, message = row
        with pytest.raises(ConsilienceError, match=f"(?s){message}"):
            make()

    holds_for_each(REFUSED.items(), law)


LABELS = {
    "month ends": (pd.Series(Y, MONTHS), ["2025-01-31", "2025-02-28"]),
    "months": (pd.Series(Y, pd.period_range("2024-01", periods=12, freq="M")), ["2025-01-01", "2025-02-01"]),
    "working days": (pd.Series(Y, pd.bdate_range("2024-01-01", periods=12)), ["2024-01-17", "2024-01-18"]),
    "no frequency of pandas": (
        pd.Series(Y, pd.DatetimeIndex(pd.date_range("2024-01-01", periods=12, freq="37h15min").values)),
        ["2024-01-19 15:00:00", "2024-01-21 04:15:00"],
    ),
    "four weeks, four weeks, five weeks": (
        dated("2024-01-28", "2024-02-25", "2024-03-31", "2024-04-28", "2024-05-26"), ["2024-06-23", "2024-07-21"],
    ),
    "a zone": (pd.Series(Y, pd.date_range("2024-03-20", periods=12, tz="Europe/Berlin")), ["2024-04-01", "2024-04-02"]),
    "years": (pd.Series(Y[:3], [2001, 2002, 2003]), ["2004", "2005"]),
    "words": (pd.Series(Y[:3], ["a", "b", "c"]), ["3", "4"]),
}  # fmt: skip


def test_labels_of_a_forecast_go_on() -> None:
    """By what is seen of the dates where they have no frequency, and without a warning of pandas."""

    def law(row: tuple[Any, list[str]]) -> None:
        y, expected = row
        times = ahead(level(), y, 2)["time_ahead"].to_index()
        assert [str(t).removesuffix(" 00:00:00")[: len(e)] for t, e in zip(times, expected, strict=True)] == expected

    holds_for_each(LABELS.items(), law)
