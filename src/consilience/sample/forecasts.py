"""Forecasts: a posterior and a number of periods enter, draws of the times behind the data leave, with their labels."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError
from consilience.ir import dimension
from consilience.ir.side_tables import name_of
from consilience.model.forecasting import Horizon, axis_of, observed_names, series_of, time_axis
from consilience.model.forecasting import forecast as draws_of_forecast
from consilience.model.model import Model, modelcontext
from consilience.model.observation import slot_values
from consilience.model.predictive import redrawn
from consilience.output.storage.datatree import label_array
from consilience.record import replace
from consilience.run.plan import whole_number
from consilience.sample.arguments import wanted
from consilience.sample.compiling import prepare_sampler
from consilience.sample.given import Given

Array = npt.NDArray[Any]


def forecast(
    result: Any,
    periods: int,
    *,
    var_names: Sequence[str] | str | None = None,
    exog: Mapping[str, Any] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    model: Model | None = None,
    sample_dims: Sequence[str] | None = None,
    random_seed: Any = None,
    extend_inferencedata: bool = False,
) -> Any:
    """Draw the periods behind the data, for every draw of the posterior.

    Series go on from their last values and states: autoregressions, random walks, GARCH series, state spaces, and loops
    of `CustomDist(dist=)` that return a scan. Gaussian processes at places that are `pm.Data` go on given their values
    so far. Observed variables that depend on such a series, or on data along time, are drawn given its later values.
    `pm.sample_posterior_predictive` draws the series anew from its beginning instead.

    result (DataTree): A result of `pm.sample`, a data set of draws or a dictionary of arrays (chain, draw, …).
    periods: Number of periods >= 1.
    var_names: Variables and deterministics to return; by default the observed ones along time.
    exog (mapping of str to array_like): For each `pm.Data` along time its values in the forecast periods, time first:
        an array (periods, …).
    coords (mapping of str to sequence): Labels of the periods by the name of the dimension of time. By default dates
        and equally spaced numbers go on.
    model: The model; by default that of the enclosing `with` block.
    sample_dims: Axes of the draws; ("chain", "draw") by default.
    random_seed (int, sequence of int or Generator): Seed; the same one gives the same result. A fresh one by default.
    extend_inferencedata: Add the group to `result` and return it.
    Returns (DataTree): A tree with the group `predictions`: draws (chain, draw, periods, …) by name.
    Raises ModelError: Where a variable is one event over all times and no series that can go on, where later data are
        missing, and where labels do not tell how they go on.
    See sample_posterior_predictive: Draws of data like those observed.
    See CustomDist: Series by programs that draw in loops.
    >>> with pm.Model(coords={"year": [2021, 2022, 2023, 2024]}) as model:
    ...     rho = pm.Normal("rho", 0.5, 0.2)
    ...     y = pm.AR("y", rho, 1.0, observed=[0.3, 0.9, 1.2, 0.4], dims="year")
    >>> draws = {"rho": np.full((1, 100), 0.5)}
    >>> later = pm.forecast(draws, 2, model=model, random_seed=1)
    >>> later.predictions["y"].sizes["year"], later.predictions["year"].values.tolist()
    (2, [2025, 2026])
    """
    owner = modelcontext(model)
    periods = whole_number("periods", periods, 1)
    possible = [v.name for v in owner.variables] + list(owner.named_deterministics)
    chosen = [var_names] if isinstance(var_names, str) else var_names
    names = wanted(chosen, possible) if chosen is not None else observed_names(owner)
    if not names:
        raise ModelError(
            "the model has no observed variables, so there is nothing to forecast; name some: `var_names`."
        )
    lengths = slot_values(owner)[3]
    told = [*(coords or {}), *(d[0] for n in exog or {} if n in owner.data and (d := owner.dims_of.get(n)))]
    dim, past = _time(owner, names, [name for name in told if name is not None], lengths)
    lengths_along = [owner.dim_length(dim)] if dim is not None else []
    lengths_along += [owner.data[name].static_shape[0] for name in exog or {} if name in owner.data]
    symbols = frozenset(symbol for n in lengths_along if (symbol := dimension.as_symbol(n)) is not None)
    horizon = Horizon(dim, past, periods, symbols)
    later = {name: _whole(owner, name, values, horizon) for name, values in (exog or {}).items()}
    if chosen is None:
        names = [name for name in names if time_axis(owner, name, horizon, lengths) is not None] or names
    given = _labels(owner, horizon, coords)
    _check_dates(exog or {}, given)
    draws = Given.of(owner, result, sample_dims)
    lacking = redrawn(owner, names, list(draws.values))
    if lacking:
        raise ModelError(f"the draws hold no {', '.join(f'`{n}`' for n in lacking)}, on which the forecast depends.")
    prepare_sampler()
    made = draws_of_forecast(owner, names, draws.values, draws.count, seed_from(random_seed), horizon, later)
    series = [str(name_of(node)) + f"_dim_{axis_of(rv)}" for node, rv in series_of(owner).items()]
    behind = dict.fromkeys(series if dim is None else [dim], given)
    labelled = replace(draws, labels=draws.labels | behind)
    return labelled.result(owner, {"predictions": draws.unfolded(made)}, result if extend_inferencedata else None)


def _time(model: Model, names: Sequence[str], told: Iterable[str], lengths: Any) -> tuple[str | None, int]:
    """The dimension of time and the number of times with data: those of a series, else of what is observed.

    `names`: of what is to be forecast. `told`: dimensions of later data and labels, which are those of time.
    """
    series = {node: axis_of(rv) for node, rv in series_of(model).items()}
    seen = [model.named[name] for name in observed_names(model)]
    others = {node: 0 for node in seen if node.ndim and node not in series}
    chosen = {model.named[name] for name in names}
    for node, axis in sorted({**series, **others}.items(), key=lambda item: item[0] not in chosen):
        dims = model.dims_of.get(str(name_of(node)))
        if dims is not None and node not in series:
            named = [dim for dim in dims if dim is not None]
            known = [d for d in named if d in told] or [d for d in named if _has_dates(model, d)] or named
            if len(known) > 1:
                raise ModelError(
                    f"`{name_of(node)}` has the dimensions {', '.join(f'`{d}`' for d in known)}, and nothing tells "
                    "which of them is time: give the labels of the periods, `coords={dim: labels}`."
                )
            axis = dims.index(known[0]) if known else axis
        length = dimension.substitute(node.static_shape[axis], lengths)
        if isinstance(length, int):
            return (None if dims is None else dims[axis]), length
    raise ModelError(f"{', '.join(f'`{n}`' for n in names)}: no variable of the model has an axis of time.")


def _has_dates(model: Model, dim: str | None) -> bool:
    labels = None if dim is None else model.coords[dim]
    return labels is not None and len(labels) > 0 and isinstance(labels[0], dt.date | np.datetime64)


def _whole(model: Model, name: str, values: Any, horizon: Horizon) -> Array:
    """Data of the past and of the periods."""
    if name not in model.data:
        raise ModelError(f"`exog` names `{name}`, which is no `pm.Data` of the model; it has {list(model.data)}.")
    before, after = np.asarray(model.data[name].get_value()), np.asarray(values)
    if len(before) != horizon.past or after.shape[:1] != (horizon.periods,) or after.shape[1:] != before.shape[1:]:
        wanted = (horizon.periods, *before.shape[1:])
        raise ModelError(
            f"`exog[{name!r}]` has shape {after.shape}, and {wanted} is needed: the values of the {horizon.periods} "
            f"periods behind the {horizon.past} with data (`{name}` has {len(before)} of them)."
        )
    if after.dtype.kind == "f" and not np.isfinite(after).all():
        raise ModelError(f"`exog[{name!r}]` has values that are not finite.")
    own = after.astype(before.dtype)
    if before.dtype.kind != "f" and (own != after).any():
        changed = after[own != after].flat[0]
        raise ModelError(
            f"`exog[{name!r}]` has values as {changed}, and `{name}` holds {before.dtype}: give its data as floats, "
            f'`pm.Data("{name}", values.astype(float))`.'
        )
    return np.concatenate([before, own])


def _check_dates(exog: Mapping[str, Any], labels: Any) -> None:
    """Refuse tables whose dates are others than those of the forecast, or in another order."""
    for name, table in exog.items():
        index: Any = getattr(table, "index", None)
        if getattr(getattr(index, "dtype", None), "kind", "") == "M" and np.asarray(labels).dtype.kind == "M":
            own = np.asarray(index.values, "datetime64[ns]")
            wanted = np.asarray(labels, "datetime64[ns]")
            if (own != wanted).any():
                place = int(np.argmax(own != wanted))
                raise ModelError(
                    f"row {place} of `exog[{name!r}]` has the date {own[place]}, and that of the forecast is "
                    f"{wanted[place]}: bring the rows into its order, or give its dates, `coords={{dim: dates}}`."
                )


def _labels(model: Model, horizon: Horizon, coords: Mapping[str, Sequence[Any]] | None) -> Any:
    """Labels of the periods: those given, or those by which the present ones go on."""
    given = dict(coords or {})
    dim = horizon.dim
    unknown = next((name for name in given if name != dim), None)
    if unknown is not None:
        raise ModelError(f"`coords` names `{unknown}`; the dimension of time of this forecast is `{dim}`.")
    if dim in given:
        labels = label_array(list(given[dim]))
        if len(labels) != horizon.periods:
            raise ModelError(f"`coords[{dim!r}]` has {len(labels)} labels for {horizon.periods} periods.")
        return labels
    present = None if dim is None else model.coords[dim]
    if present is None:
        return np.arange(horizon.past, horizon.past + horizon.periods)
    found = labels_behind(label_array(list(present)), horizon.periods)
    if found is None:
        raise ModelError(
            f"the labels of `{dim}` do not tell how they go on: they are no dates of one frequency (some lack, or "
            "occur twice) and no numbers at equal distances. Give those of the forecast: "
            f"`coords={{{dim!r}: labels}}`."
        )
    return found.to_numpy() if hasattr(found, "to_numpy") else found


def labels_behind(labels: Any, periods: int) -> Any:
    """The next labels of dates and periods of one frequency, or of numbers at equal distances; None of others."""
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations

    index = labels if isinstance(labels, pd.Index) else pd.Index(labels)
    if index.dtype == object and isinstance(index[0], dt.date):
        index = pd.DatetimeIndex(index)
    if len(index) > 1 and not index.is_unique:
        return None
    if isinstance(index, pd.PeriodIndex):
        regular = index.equals(pd.period_range(index[0], periods=len(index)))
        return pd.period_range(index[-1], periods=periods + 1)[1:] if regular else None
    if isinstance(index, pd.DatetimeIndex):
        frequency = frequency_of(index)
        return None if frequency is None else pd.date_range(index[-1], periods=periods + 1, freq=frequency)[1:]
    if index.dtype.kind in "iuf" and len(index) > 1:
        steps = np.diff(index.to_numpy().astype(float))
        if np.allclose(steps, steps[0], rtol=1e-9, atol=0):
            step = index[1] - index[0]
            return np.asarray([index[-1] + step * (i + 1) for i in range(periods)], index.dtype)
    return None


def frequency_of(index: Any) -> Any:
    """The frequency of an index of dates, told or seen; None where there is none.

    Two dates tell their distance, unless it may be a month, a quarter or a year.
    """
    import pandas as pd

    if index.freq is not None:
        return index.freq
    if len(index) < 3:
        step = index[-1] - index[0]
        return step if pd.Timedelta(0) < step < pd.Timedelta(days=28) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the form in which later versions of pandas answer
        found = pd.infer_freq(index)
        # Fifth Sundays of months pass for fourth ones.
        follows = found is not None and index.equals(pd.date_range(index[0], periods=len(index), freq=found))
    return found if follows else None
