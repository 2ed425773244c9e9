"""Pictures of ranks and of predictive checks. Arrays in; figures of Matplotlib, which is loaded on first use, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import MissingPackageError
from consilience.estimators.calibration.uniformity import uniformity


def ranks_and_bands(ranks: Mapping[str, npt.NDArray[np.int64]], levels: int, prob: float) -> Any:
    """A row for each name: histogram of its ranks, and its distribution function minus the uniform one."""
    figure, axes = _figure(len(ranks), 2)
    for (name, values), (left, right) in zip(ranks.items(), axes, strict=True):
        bins = min(20, levels)
        left.hist(values, np.linspace(-0.5, levels - 0.5, bins + 1), color="C0", alpha=0.6)
        left.axhline(len(values) / bins, color="0.3", linewidth=0.8)
        left.set(xlabel=f"rank of {name}", ylabel="replications")
        found = uniformity(values, levels, prob)
        right.fill_between(found.points, found.lower, found.upper, color="0.85", step="post")
        right.step(found.points, found.difference, where="post", color="C0")
        right.set(xlabel="share of the ranks", ylabel="ECDF difference")
    return figure


def values_and_observed(simulated: Mapping[str, npt.NDArray[Any]], observed: Mapping[str, Any]) -> Any:
    """A row for each statistic: histogram of its simulated values, a line where the data are if that is a number."""
    figure, axes = _figure(len(simulated), 1)
    for (name, values), (left,) in zip(simulated.items(), axes, strict=True):
        left.hist(values, 30, color="C0", alpha=0.6)
        if np.ndim(observed[name]) == 0:
            left.axvline(float(observed[name]), color="0.2")
        left.set(xlabel=name, ylabel="draws")
    return figure


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(f"plots need Matplotlib ({error}): pip install 'consilience[plots]'") from error
    figure = Figure(figsize=(4.5 * columns, 2.6 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)
