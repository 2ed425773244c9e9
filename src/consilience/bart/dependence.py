"""Pictures of how a sum of trees depends on one covariate at a time.

A fitted variable enters, by its result or as `pymc_bart` has it; axes with curves leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from consilience.bart.fitted import Array, axes_for, fit_of, labels_of, rows_of, some_draws
from consilience.errors import ModelError, ShapeError
from consilience.model.model import Model
from consilience.record import Record
from consilience.sample.bart import covariates_of, sums_at

GRID = 20
SMOOTH = 200
"""Points of a smoothed curve."""


class CurveStyle(Record, eq=False):
    """How curves are drawn; see `plot_pdp`."""

    smooth: bool
    smooth_kwargs: dict[str, Any] | None
    grid: Any
    sharey: Any
    figsize: tuple[float, float] | None
    axes: Any

    def curve(self, grid: Array, values: Array, discrete: bool) -> tuple[Array, Array]:
        """Points of curves, (point,) and (point, …): smoothed where that is asked for."""
        if not self.smooth or discrete or len(grid) < 3:
            return grid, values
        from scipy.signal import savgol_filter

        fine = np.linspace(grid[0], grid[-1], SMOOTH)
        lines = np.stack([np.interp(fine, grid, line) for line in values.reshape(len(grid), -1).T], axis=1)
        settings = {"window_length": 55, "polyorder": 2, **(self.smooth_kwargs or {})}
        return fine, savgol_filter(lines, axis=0, **settings).reshape(SMOOTH, *values.shape[1:])


def plot_pdp(
    result: Any, X: Any = None, Y: Any = None, xs_interval: str = "quantiles", xs_values: Any = None,
    var_idx: Sequence[int] | None = None, var_discrete: Sequence[int] | None = None,
    func: Callable[[Array], Array] | None = None, samples: int = 200, ref_line: bool = True,
    random_seed: Any = None, sharey: Any = True, smooth: bool = False, grid: Any = None, color: Any = "C0",
    color_mean: Any = "C0", alpha: float = 0.3, figsize: tuple[float, float] | None = None,
    smooth_kwargs: dict[str, Any] | None = None, ax: Any = None, *, var: Any = None, model: Model | None = None,
) -> Any:  # fmt: skip
    """Plot partial dependence: the function averaged over all rows, as one covariate takes each value of a grid.

    Parameters
    ----------
    result : DataTree or TensorVariable
        A result of `pm.sample`; or the variable made by `pm.BART`, as in `pymc_bart`, for its last result.
    X : array_like, optional
        Covariates; those of the model by default.
    Y : array_like, optional
        The response, of which only the name is used.
    xs_interval : str, default "quantiles"
        "quantiles": the grid has quantiles of the covariate; "linear": it is even; "insample": its values.
    xs_values : int or sequence of float, optional
        Number of points of the grid, or the quantiles; 20 points by default.
    var_idx : sequence of int, optional
        Columns to draw; all by default.
    var_discrete : sequence of int, optional
        Columns that are drawn at each of their values.
    func : callable, optional
        Applied to the function before the average, as the inverse of a link.
    samples : int, default 200
        Draws that are used.
    ref_line : bool, default True
        Whether a line marks the average over the grid.
    random_seed : int, optional
        Seed.
    sharey : bool or str, default True
        Whether new axes share their scale, as in `matplotlib.pyplot.subplots`.
    smooth : bool, default False
        Smooth curves by a Savitzky-Golay filter.
    grid : str or tuple of int, optional
        "long", "wide", or numbers of rows and columns of new axes.
    color, color_mean : color, default "C0"
        Of bands and of curves.
    alpha : float, default 0.3
        Opacity of bands.
    figsize : tuple of float, optional
        Of a new figure, in inches.
    smooth_kwargs : dict, optional
        Passed to `scipy.signal.savgol_filter`.
    ax : sequence of Axes, optional
        Where to draw, one for each covariate.
    var, model : optional
        As for `predict`.

    Returns
    -------
    list of Axes
        Of Matplotlib. Bands hold 94 % of the draws.

    See Also
    --------
    plot_ice : The same for single rows.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_pdp.__name__
    'plot_pdp'
    """
    how = CurveStyle(smooth, smooth_kwargs, grid, sharey, figsize, ax)

    def draw(own: Any, points: Array, curves: Array, discrete: bool) -> None:
        mean = curves.mean(axis=2)  # over rows
        bounds = np.quantile(mean, [0.03, 0.97], axis=0)
        middle = mean.mean(axis=0)
        fine, found = how.curve(points, np.stack([*bounds, middle], axis=1), discrete)
        low, high, line = found.T
        if discrete:
            own.errorbar(fine, line, (line - low, high - line), fmt="o", color=color_mean, ecolor=color)
            own.set_xticks(fine)
        else:
            own.fill_between(fine, low, high, alpha=alpha, color=color)
            own.plot(fine, line, color=color_mean)
        if ref_line:
            own.axhline(middle.mean(), color="0.7", linestyle="--", zorder=0)

    return _dependence(
        (result, var, model), X, Y, (xs_interval, xs_values), (var_idx, var_discrete), func, samples, random_seed, how,
        None, draw,
    )  # fmt: skip


def plot_ice(
    result: Any, X: Any = None, Y: Any = None, var_idx: Sequence[int] | None = None,
    var_discrete: Sequence[int] | None = None, func: Callable[[Array], Array] | None = None, centered: bool = True,
    samples: int = 100, instances: int = 30, random_seed: Any = None, sharey: Any = True, smooth: bool = False,
    grid: Any = None, color: Any = "C0", color_mean: Any = "C1", alpha: float = 0.3,
    figsize: tuple[float, float] | None = None, smooth_kwargs: dict[str, Any] | None = None, ax: Any = None, *,
    xs_interval: str = "quantiles", xs_values: Any = None, var: Any = None, model: Model | None = None,
) -> Any:  # fmt: skip
    """Plot individual conditional expectations: the function at single rows, as a covariate takes values of a grid.

    Parameters
    ----------
    result, X, Y, var_idx, var_discrete, func, samples, random_seed, sharey, smooth, grid : optional
        As for `plot_pdp`.
    centered : bool, default True
        Whether all lines begin at 0.
    instances : int, default 30
        Rows that are drawn at random.
    color, color_mean : color, default "C0", "C1"
        Of lines of rows, and of their mean.
    alpha : float, default 0.3
        Opacity of lines of rows.
    figsize, smooth_kwargs, ax, xs_interval, xs_values, var, model : optional
        As for `plot_pdp`.

    Returns
    -------
    list of Axes
        Of Matplotlib.

    See Also
    --------
    plot_pdp : Their average.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_ice.__name__
    'plot_ice'
    """
    how = CurveStyle(smooth, smooth_kwargs, grid, sharey, figsize, ax)

    def draw(own: Any, points: Array, curves: Array, discrete: bool) -> None:
        lines = curves.mean(axis=0)
        lines = lines - lines[0] if centered else lines
        fine, lines = how.curve(points, lines, discrete)
        own.plot(fine, lines, color=color, alpha=alpha, linewidth=0.8)
        own.plot(fine, lines.mean(axis=1), color=color_mean)

    return _dependence(
        (result, var, model), X, Y, (xs_interval, xs_values), (var_idx, var_discrete), func, samples, random_seed, how,
        instances, draw,
    )  # fmt: skip


def _dependence(
    fitted: tuple[Any, Any, Model | None],
    X: Any,
    Y: Any,
    interval: tuple[str, Any],
    chosen: tuple[Sequence[int] | None, Sequence[int] | None],
    func: Callable[[Array], Array] | None,
    samples: int,
    random_seed: Any,
    how: CurveStyle,
    instances: int | None,
    draw: Callable[[Any, Array, Array, bool], None],
) -> Any:
    result, var, model = fitted
    variable, words = fit_of(result, model, var)
    rows = covariates_of(variable) if X is None else rows_of(variable, X)
    if len(sums_shape := variable.node.static_shape) > 1:
        raise ShapeError(
            f"`{variable.name}` has the shape {sums_shape}: use `pm.bart.predict`, and choose a row of it."
        )
    words, rng = some_draws(words, samples, random_seed)
    some = rows if instances is None else rows[np.sort(rng.choice(len(rows), min(instances, len(rows)), replace=False))]
    columns = list(range(rows.shape[1])) if chosen[0] is None else [int(place) for place in chosen[0]]
    discrete = {int(place) for place in chosen[1] or ()}
    drawn = list(np.ravel(how.axes)) if how.axes is not None else axes_for(
        len(columns), how.grid, how.figsize, how.sharey
    )  # fmt: skip
    names = labels_of(variable, X)
    for own, column in zip(drawn, columns, strict=False):
        at_values = column in discrete
        points = _grid(rows[:, column], "insample" if at_values else interval[0], interval[1])
        curves = np.empty((len(words), len(points), len(some)))
        for place, value in enumerate(points):
            at = some.copy()
            at[:, column] = value
            curves[:, place] = sums_at(variable, words, at)
        draw(own, points, curves if func is None else func(curves), at_values)
        own.set(xlabel=names[column])
    if how.axes is None:
        drawn[0].figure.supylabel(f"Partial {getattr(Y, 'name', None) or variable.name}")
    return drawn


def _grid(values: Array, interval: str, points: Any) -> Array:
    """Values of a covariate at which curves are drawn."""
    if interval not in ("quantiles", "linear", "insample"):
        raise ModelError(f'`xs_interval` must be "quantiles", "linear" or "insample", got {interval!r}.')
    present = np.unique(values[~np.isnan(values)])
    count = int(points) if np.ndim(points) == 0 and points is not None else GRID
    if count < 2:
        raise ModelError(f"`xs_values` must be a number of points from 2, or quantiles, got {points!r}.")
    if interval == "insample" or (points is None and len(present) <= count):
        return present
    if interval == "linear":
        return np.linspace(present[0], present[-1], count)
    levels = np.linspace(0.02, 0.98, count) if np.ndim(points) == 0 else np.asarray(points, float)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise ModelError(f"`xs_values` must be quantiles between 0 and 1, got {points!r}.")
    return np.unique(np.quantile(values[~np.isnan(values)], levels))
