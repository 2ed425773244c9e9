"""Forecasts where other features meet them: what depends on all times at once, gaps, panels, tables, labels, fixings.

The law of all: a forecast is what NumPy makes of the whole time, or a refusal where values so far would change.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError, ModelError
from tests.rows import holds_for_each
from tests.test_forecast import MONTHS, Y

X, LATER = np.arange(1.0, 13.0), np.array([20.0, 3.0])
EXACT = 1e-9
DAYS = {"day": range(12)}

# Of x along time: those that see no later values, and those that do or that depend on how many there are.
CAUSAL: dict[str, Callable[[Any, Any], Any]] = {
    "function": lambda m, x: m.sin(x) + 0.1 * x,
    "choice": lambda m, x: m.where(x > 5.0, x, 2.0),
    "running sum": lambda m, x: m.cumsum(x),
    "before": lambda m, x: m.concatenate([m.zeros(1), x[:-1]]),
    "change": lambda m, x: m.concatenate([m.ones(1), m.diff(x)]),
    "time": lambda m, x: x + m.arange(x.shape[0]),
    "season": lambda m, x: x * (1.0 + (m.arange(x.shape[0]) % 3) ** 2),
    "below the diagonal": lambda m, x: m.tril(m.ones((x.shape[0], x.shape[0]))) @ x,
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "share of the length": lambda m, x: x / x.shape[0],
    "reversed": lambda m, x: x[::-1],
    "rolled": lambda m, x: m.roll(x, 1),
    "sorted": lambda m, x: m.sort(-x),
    "places": lambda m, x: x + m.argsort(-x),
    "next": lambda m, x: m.concatenate([x[1:], m.zeros(1)]),
    "last": lambda m, x: x - x[x.shape[0] - 1],
    "last three": lambda m, x: x - m.sum(x[-3:]),
    "product": lambda m, x: x / m.dot(x, x),
    "matrices": lambda m, x: m.outer(x, x) @ x,
    "system": lambda m, x: m.linalg.solve(m.diag(x * x + 1.0) + m.outer(x, x), x),
    "place of the greatest": lambda m, x: x * (1.0 + m.argmax(x)),
    "mean": lambda m, x: x - m.mean(x),
    "running sum from the end": lambda m, x: m.cumsum(x[::-1])[::-1],
}
ALL = CAUSAL | OTHERS


def draws(model: pm.Model, posterior: dict[str, Any] | None = None, **named: Any) -> Any:
    """The first draw of a forecast of two periods, by name."""
    given = {name: np.broadcast_to(value, (1, 2, *np.shape(value))) for name, value in (posterior or {}).items()}
    found = pm.forecast({"s": np.ones((1, 2)), **given}, 2, model=model, random_seed=1, **named).predictions
    return found.isel(chain=0, draw=0)


def through(names: list[str], m: Any, x: Any) -> Any:
    """Functions of x, one of the other."""
    for name in names:
        x = ALL[name](m, x)
    return x


def check_functions(names: list[str], inside: bool) -> bool:
    """A forecast that is no other than NumPy's; whether it was made. `inside`: in the program of a loop."""
    with pm.Model(coords=DAYS) as model:
        s, x = pm.Normal("s"), pm.Data("x", X, dims="day")
        if inside:
            pm.CustomDist(
                "y", s, x, observed=Y, dims="day",
                dist=lambda s, x, size: pm.scan(
                    lambda x, last: pm.Normal.dist(s * x + 0.0 * last, EXACT),
                    sequences=through(names, pt, x), outputs_info=pt.as_tensor(0.0), return_updates=False,
                ),
            )  # fmt: skip
        else:
            pm.Normal("y", s * through(names, pt, x), EXACT, observed=Y, dims="day")
    whole = through(names, np, np.concatenate([X, LATER]))
    try:
        found = draws(model, exog={"x": LATER})["y"].values
    except ModelError as error:
        if "cannot be computed for later times" not in str(error):
            raise
        return False
    np.testing.assert_allclose(whole[:12], through(names, np, X), rtol=1e-8)
    np.testing.assert_allclose(found, whole[12:], rtol=1e-7, atol=1e-7)
    return True


@pytest.mark.parametrize("inside", [False, True])
def test_functions_of_data_are_forecast_or_refused(inside: bool) -> None:
    def law(name: str) -> None:
        assert check_functions([name], inside) == (name in CAUSAL)

    holds_for_each([(name, name) for name in ALL], law)


def random_functions(seed: int) -> tuple[list[str], bool]:
    """One to three functions, half of them of those that see no later values."""
    rng = np.random.default_rng(seed)
    tables = [CAUSAL if rng.random() < 0.7 else OTHERS for _ in range(rng.integers(2, 4))]
    return [str(rng.choice(list(table))) for table in tables], bool(rng.random() < 0.3)


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1000), marks=pytest.mark.slow)])
def test_random_functions_of_data_are_forecast_or_refused(seeds: range) -> None:
    def law(seed: int) -> None:
        names, inside = random_functions(seed)
        made = check_functions(names, inside)
        assert made or not set(names) <= set(CAUSAL), names

    holds_for_each([(f"{seed}: {random_functions(seed)}", seed) for seed in seeds], law)


def regression(**named: Any) -> Callable[[Any, Any], None]:
    """A normal variable around s x."""
    return lambda s, x: pm.Normal("y", s * x, EXACT, **{"observed": Y, "dims": "day", **named})


def gaps(*places: int) -> Any:
    """Whole numbers with gaps."""
    y = np.arange(12.0)
    y[list(places)] = np.nan
    return y


def rows(s: Any, x: Any) -> None:
    pm.Normal("y", s * x[None, :] + pm.Normal("b", dims="shop")[:, None], EXACT, observed=np.zeros((3, 12)),
              dims=("shop", "day"))  # fmt: skip


def columns(s: Any, x: Any) -> None:
    data = np.where(np.eye(12, 3) == 1.0, np.nan, 0.0)
    pm.Normal("y", s * x[:, None] + pm.Normal("b", dims="shop"), EXACT, observed=data, dims=("day", "shop"))


def fixed_by_data(s: Any, x: Any) -> None:
    mean = pm.Normal("mean", 50.0, 1.0, observed=7.0)
    pm.Normal("y", mean + s * x, EXACT, observed=Y, dims="day")


def hidden_and_gone(s: Any, x: Any) -> None:
    level = pm.GaussianRandomWalk("level", 0.0, EXACT, init_dist=pm.Normal.dist(), dims="day")
    pm.Normal("y", level + s * x, EXACT, observed=np.where(X == 4.0, np.nan, Y), dims="day")


def diffusion(s: Any, x: Any) -> None:
    pm.EulerMaruyama("y", 0.5, lambda y, s: (-s * y, EXACT), (s,), init_dist=pm.Normal.dist(), observed=Y, dims="day")


TWO = {"day": range(12), "shop": range(3)}
FORECAST: dict[str, tuple[Callable[[Any, Any], Any], dict[str, Any], dict[str, Any], Any]] = {
    "gaps": (regression(observed=gaps(3, 11)), DAYS, {"y_unobserved": [0.0, 0.0]}, LATER),
    "gaps of counts": (
        lambda s, x: pm.Binomial("y", 1000, s * x / x, observed=gaps(0), dims="day"), DAYS,
        {"y_unobserved": [3]}, [1000, 1000],
    ),
    "gaps of a mixture": (
        lambda s, x: pm.Mixture("y", [0.4, 0.6], [pm.Normal.dist(s * x, EXACT)] * 2, observed=gaps(5), dims="day"),
        DAYS, {"y_unobserved": [0.0]}, LATER,
    ),
    "gaps of what is cut off": (
        lambda s, x: pm.Censored("y", pm.Normal.dist(s * x, EXACT), -1.0, 15.0, observed=gaps(5), dims="day"),
        DAYS, {"y_unobserved": [0.0]}, [15.0, 3.0],
    ),
    "gaps of a panel": (
        columns, TWO, {"b": [1.0, 2.0, 3.0], "y_unobserved": [0.0] * 3}, LATER[:, None] + [1.0, 2.0, 3.0],
    ),
    "gaps behind a hidden walk": (hidden_and_gone, DAYS, {"level": np.full(12, 5.0), "y_unobserved": [0.0]}, 5 + LATER),
    "time behind the shops": (rows, TWO, {"b": [1.0, 2.0, 3.0]}, np.array([[1.0], [2.0], [3.0]]) + LATER),
    "mixture": (
        lambda s, x: pm.Mixture("y", [0.4, 0.6], [pm.Normal.dist(s * x, EXACT)] * 2, observed=Y, dims="day"),
        DAYS, {}, LATER,
    ),
    "a parent with data and no time": (fixed_by_data, DAYS, {}, 7.0 + LATER),
    "a diffusion": (diffusion, DAYS, {}, Y[-1] * np.array([0.5, 0.25])),
    "no dims": (regression(dims=None), DAYS, {}, LATER),
}  # fmt: skip


def test_what_meets_a_forecast() -> None:
    def law(row: tuple[Callable[[Any, Any], Any], dict[str, Any], dict[str, Any], Any]) -> None:
        make, coords, posterior, expected = row
        with pm.Model(coords=coords) as model:
            s, x = pm.Normal("s"), pm.Data("x", X, dims="day")
            make(s, x)
        found = draws(model, posterior, exog={"x": LATER})["y"].values
        np.testing.assert_allclose(found, expected, atol=1e-6)

    with pytest.warns(pm.ImputationWarning):
        holds_for_each(FORECAST.items(), law)


def with_data(x: Any = X, labels: Any = MONTHS) -> pm.Model:
    """A regression on data at dates."""
    with pm.Model(coords={"day": labels}) as model:
        pm.Normal("y", pm.Normal("s") * pm.Data("x", x, dims="day"), EXACT, observed=Y, dims="day")
    return model


def unordered_panel() -> pm.Model:
    with pm.Model(coords=TWO) as model:
        pm.Normal("y", pm.Normal("s") + np.zeros((3, 1)), EXACT, observed=np.zeros((3, 12)), dims=("shop", "day"))
    return model


def of_another_length() -> pm.Model:
    with pm.Model(coords=DAYS) as model:
        x = pm.Data("x", X, dims="day")
        pm.Deterministic("mu", pm.Normal("s") * x[pt.arange(12)], dims="day")
        pm.Normal("y", model["mu"], 1.0, observed=Y, dims="day")
    return model


def tied_gaps() -> pm.Model:
    with pm.Model(coords=DAYS) as model:
        s, x = pm.Normal("s"), pm.Data("x", X, dims="day")
        with pytest.warns(pm.ImputationWarning):
            pm.CustomDist("y", s, x, logp=lambda v, s, x: -((v - s * x) ** 2), observed=gaps(3), dims="day")
    return model


AHEAD = pd.date_range("2021-01-01", periods=2, freq="MS")
REFUSED: dict[str, tuple[Callable[[], pm.Model], dict[str, Any], str]] = {
    "half numbers for whole ones": (lambda: with_data(np.arange(12)), {"exog": {"x": [12.5, 13.0]}},
                                    "values as 12.5, and `x` holds int64"),
    "dates in another order": (with_data, {"exog": {"x": pd.Series(LATER, AHEAD[::-1])}},
                               "row 0 of `exog.*2021-02-01.*that of the forecast is 2021-01-01"),
    "dates of another year": (with_data, {"exog": {"x": pd.Series(LATER, AHEAD + pd.DateOffset(years=1))}},
                              "has the date 2022-01-01"),
    "no axis of time": (unordered_panel, {}, "`shop`, `day`, and nothing tells which of them is time"),
    "numbers for twelve times": (of_another_length, {"exog": {"x": LATER}, "var_names": ["mu"]},
                                 "12 times where the forecast has 12 and 2 more"),
    "gaps without draws": (tied_gaps, {"exog": {"x": LATER}, "posterior": {"y_unobserved": [0.0]}},
                           "made without `random=`"),
}  # fmt: skip


def test_what_is_refused_says_what_came() -> None:
    def law(row: tuple[Callable[[], pm.Model], dict[str, Any], str]) -> None:
        make, named, message = row
        with pytest.raises((ModelError, MissingRuleError), match=f"(?s){message}"):
            draws(make(), **named)

    holds_for_each(REFUSED.items(), law)


def test_predictions_at_other_labels_say_that_a_series_begins_anew() -> None:
    with pm.Model(coords={"day": MONTHS}) as model:
        s, x = pm.Normal("s"), pm.Data("x", X, dims="day")
        pm.AR("y", s[None], 1.0, init_dist=pm.Normal.dist(), observed=Y, dims="day")
        level = pm.GaussianRandomWalk("level", 0.0, 1.0, init_dist=pm.Normal.dist(), dims="day")
        pm.Normal("z", level + x, 1.0, observed=Y, dims="day")
    given = {"s": np.ones((1, 2)), "level": np.zeros((1, 2, 12))}
    with model:
        pm.sample_posterior_predictive(given, random_seed=1, progressbar=False)
        pm.set_data({"x": LATER}, coords={"day": AHEAD})
        with pytest.warns(pm.ConsilienceWarning, match=r"first value on.*`y` along `day`.*pm\.forecast"):
            pm.sample_posterior_predictive(given, var_names="y", random_seed=1, progressbar=False, predictions=True)
        with pytest.raises(pm.ShapeError, match=r"draws of `level`.*later times.*pm\.forecast"):
            pm.sample_posterior_predictive(given, var_names="z", random_seed=1, progressbar=False, predictions=True)


def test_forecasts_outside_of_the_box_of_basis_functions_say_so() -> None:
    with pm.Model(coords=DAYS) as model:
        s, x = pm.Normal("s"), pm.Data("x", X, dims="day")
        f = pm.gp.HSGP(m=[6], c=1.5, cov_func=s**2 * pm.gp.cov.ExpQuad(1, ls=3.0)).prior("f", x[:, None], dims="day")
        pm.Normal("y", f, 1.0, observed=Y, dims="day")
    prior = pm.sample_prior_predictive(1, model=model, random_seed=1)["prior"]
    given = {v.name: prior[v.name].values[0, 0] for v in model.free_RVs}
    with pytest.warns(pm.ConsilienceWarning, match="forecast of `y` has NaN.*box of an HSGP"):
        draws(model, given, exog={"x": [13.0, 90.0]})


FOUR_FOUR_FIVE = pd.to_datetime(["2024-01-28", "2024-02-25", "2024-03-31", "2024-04-28", "2024-05-26"])
ENDS = pd.date_range("2024-01-31", periods=12, freq="ME")
LABELS: dict[str, tuple[Any, list[str] | None]] = {
    "months": (pd.period_range("2024-01", periods=12, freq="M"), ["2025-01", "2025-02"]),
    "months with a gap": (pd.PeriodIndex(["2024-01", "2024-02", "2024-04"], freq="M"), None),
    "dates of Python": ([day.date() for day in ENDS], ["2025-01-31", "2025-02-28"]),
    "times of Python": ([dt.datetime(2024, 1, 1, k) for k in range(3)], ["2024-01-01T03", "2024-01-01T04"]),
    "two days": (pd.date_range("2024-01-01", periods=2), ["2024-01-03", "2024-01-04"]),
    "two months": (ENDS[:2], None),
    "a zone": (pd.date_range("2024-03-30", periods=12, tz="Europe/Berlin"), ["2024-04-11", "2024-04-12"]),
    "four weeks, four weeks, five weeks": (FOUR_FOUR_FIVE, None),
    "one": ([2024], None),
    "years": (range(2001, 2013), ["2013", "2014"]),
}  # fmt: skip


def test_labels_go_on_or_are_asked_for() -> None:
    def law(row: tuple[Any, list[str] | None]) -> None:
        labels, expected = row
        with pm.Model(coords={"day": labels}) as model:
            pm.AR("y", pm.Normal("s"), 1.0, init_dist=pm.Normal.dist(), observed=Y[: len(labels)], dims="day")
        if expected is None:
            with pytest.raises(ModelError, match="do not tell how they go on"):
                draws(model)
            return
        found = draws(model)["day"].values
        assert [str(label).replace(" ", "T")[: len(e)] for label, e in zip(found, expected, strict=True)] == expected

    holds_for_each(LABELS.items(), law)
