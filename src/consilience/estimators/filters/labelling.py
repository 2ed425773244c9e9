"""What filters find as labelled trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.output.storage.datatree import dataset, origin_of_now

if TYPE_CHECKING:
    import xarray

Arrays = Mapping[str, npt.NDArray[Any]]
Labels = Mapping[str, Any]
Axes = Mapping[str, Sequence[str | None]]
Groups = Mapping[str, tuple[tuple[str, ...], Arrays]]


def tree(groups: Groups, coords: Labels, dims: Axes, about: Mapping[str, Mapping[str, Any]]) -> xarray.DataTree:
    """Groups of arrays by name, with the axes that all of a group have first.

    `about`: attributes of groups.
    """
    import xarray

    made = xarray.DataTree()
    for name, (first, arrays) in groups.items():
        attributes = {**origin_of_now(), **about.get(name, {})}
        made[name] = xarray.DataTree(dataset(arrays, coords, dims, attributes, first, name))
    return made


def evidence_of(logs: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Log of the mean of independent estimates of a likelihood, given as logs, and its standard error."""
    highest = logs.max()
    if not np.isfinite(highest):
        return float(highest), np.nan
    ratios = np.exp(logs - highest)
    value = float(highest + np.log(ratios.mean()))
    return value, float(ratios.std(ddof=1) / ratios.mean() / np.sqrt(len(logs))) if len(logs) > 1 else np.nan


def weighted_quantiles(
    values: npt.NDArray[Any], logs: npt.NDArray[np.float64], shares: Sequence[float]
) -> npt.NDArray[Any]:
    """Quantiles (quantile, time, …) of particles (time, particle, …): the least with so much weight not above it."""
    weights = np.exp(logs).reshape(*logs.shape, *[1] * (values.ndim - 2))
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    sums = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, axis=1), axis=1)
    sums /= sums[:, -1:]
    return np.stack([np.take_along_axis(ordered, np.argmax(sums >= q, axis=1)[:, None], axis=1)[:, 0] for q in shares])
