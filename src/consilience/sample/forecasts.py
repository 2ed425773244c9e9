"""Forecasts: a posterior and a number of periods enter, draws of the times behind the data leave, with their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError
from consilience.ir import dimension
from consilience.ir.side_tables import name_of
from consilience.model.forecasting import Horizon, axis_of, observed_names, series_of
from consilience.model.forecasting import forecast as draws_of_forecast
from consilience.model.model import Model, modelcontext
from consilience.model.observation import slot_values
from consilience.model.predictive import redrawn
from consilience.output.storage.datatree import label_array
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
    var_names: Variables and deterministics to return; by default the observed ones.
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
    dim, past = _time(owner, names, lengths)
    lengths_along = [owner.dim_length(dim)] if dim is not None else []
    lengths_along += [owner.data[name].static_shape[0] for name in exog or {} if name in owner.data]
    symbols = frozenset(symbol for n in lengths_along if (symbol := dimension.as_symbol(n)) is not None)
    horizon = Horizon(dim, past, periods, symbols)
    later = {name: _whole(owner, name, values, horizon) for name, values in (exog or {}).items()}
    given = _labels(owner, horizon, coords)
    draws = Given.of(owner, result, sample_dims)
    lacking = redrawn(owner, names, list(draws.values))
    if lacking:
        raise ModelError(f"the draws hold no {', '.join(f'`{n}`' for n in lacking)}, on which the forecast depends.")
    prepare_sampler()
    made = draws_of_forecast(owner, names, draws.values, draws.count, seed_from(random_seed), horizon, later)
    arrays, axes = draws.unfolded(made), owner.named_vars_to_dims
    import xarray

    rank = len(draws.shape)
    variables = {}
    for name, array in arrays.items():
        own = axes.get(name, (None,) * (array.ndim - rank))
        listed = [d if d is not None else f"{name}_dim_{i}" for i, d in enumerate(own)]
        variables[name] = ((*draws.axes, *listed), array)
    labels = {n: label_array(v) for n, v in owner.coords.items() if v is not None and n != dim}
    used = {d for dims, _ in variables.values() for d in dims}
    known = {n: v for n, v in {**labels, **draws.labels}.items() if n in used}
    series = {str(name_of(node)): axis_of(rv) for node, rv in series_of(owner).items()}
    unnamed = [f"{n}_dim_{axis}" for n, axis in series.items() if n not in axes]
    known |= {n: given for n in (unnamed if dim is None else [dim]) if n in used}
    data = xarray.Dataset(variables, coords=known)
    if not extend_inferencedata:
        return xarray.DataTree.from_dict({"predictions": data})
    if not isinstance(result, xarray.DataTree):
        raise ModelError("only a tree can be extended; pass `extend_inferencedata=False`.")
    result["predictions"] = xarray.DataTree(data)
    return result


def _time(model: Model, names: Sequence[str], lengths: Any) -> tuple[str | None, int]:
    """The dimension of time and the number of times with data: those of a series, else of what is observed."""
    series = {node: axis_of(rv) for node, rv in series_of(model).items()}
    others = {v.node: 0 for v in model.observed if v.node.ndim and v.node not in series}
    for node, axis in {**series, **others}.items():
        length = dimension.substitute(node.static_shape[axis], lengths)
        own = model.dims_of.get(str(name_of(node)))
        if isinstance(length, int):
            return (None if own is None else own[axis]), length
    raise ModelError(f"{', '.join(f'`{n}`' for n in names)}: no variable of the model has an axis of time.")


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
    return np.concatenate([before, after.astype(before.dtype)])


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
    return _continued(str(dim), label_array(list(present)), horizon.periods)


def _continued(dim: str, labels: Any, periods: int) -> Any:
    """The next labels of dates of one frequency, or of numbers at equal distances."""
    import pandas as pd  # type: ignore[import-untyped]  # pandas carries no annotations

    index = pd.Index(labels)
    if index.dtype.kind == "M":
        frequency: Any = None
        if len(index) > 2 and index.is_unique:
            frequency = pd.DatetimeIndex(index, freq="infer").freq
        elif len(index) == 2 and index[1] > index[0]:
            frequency = index[1] - index[0]
        if frequency is not None:
            return pd.date_range(index[-1], periods=periods + 1, freq=frequency)[1:].to_numpy()
    elif index.dtype.kind in "iuf" and len(index) > 1:
        steps = np.diff(index.to_numpy().astype(float))
        if steps[0] != 0 and np.allclose(steps, steps[0], rtol=1e-9, atol=0):
            step = index[1] - index[0]
            return np.asarray([index[-1] + step * (i + 1) for i in range(periods)], index.dtype)
    raise ModelError(
        f"the labels of `{dim}` do not tell how they go on: they are no dates of one frequency (some lack, or occur "
        f"twice) and no numbers at equal distances. Give those of the forecast: `coords={{{dim!r}: labels}}`."
    )
