"""`pm.bart`: what is asked of sums of regression trees once they are fitted, under the names of `pymc_bart`.

A result of `pm.sample` and its model enter; functions at chosen covariates, tables and pictures leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import ess_bulk, split_rhat
from consilience.distributions.bart import BART, ContinuousSplit, OneHotSplit, SubsetSplit, table
from consilience.distributions.seeds import seed_from
from consilience.errors import MissingPackageError, ModelError, ShapeError
from consilience.inference import BARTStep
from consilience.ir import Node, constant_value
from consilience.model.model import Model, modelcontext
from consilience.model.variables import FreeVariable
from consilience.sample.bart import covariates_of, forest_of, sums_at, written

__all__ = [
    "BART",
    "PGBART",
    "BARTStep",
    "ContinuousSplit",
    "ContinuousSplitRule",
    "OneHotSplit",
    "OneHotSplitRule",
    "SubsetSplit",
    "SubsetSplitRule",
    "compute_variable_importance",
    "get_variable_inclusion",
    "plot_convergence",
    "plot_ice",
    "plot_pdp",
    "plot_variable_importance",
    "plot_variable_inclusion",
    "predict",
]  # fmt: skip

Array = npt.NDArray[Any]

PGBART = BARTStep
ContinuousSplitRule, OneHotSplitRule, SubsetSplitRule = ContinuousSplit, OneHotSplit, SubsetSplit
GRID = 20
DRAWS = 200
LINES = 50


def _found(model: Model | None, var: Any) -> FreeVariable:
    """The variable of a model that has trees: the one that is named, or the only one."""
    owner = modelcontext(model)
    own = [v for v in owner.free if v.has_trees]
    name = getattr(var, "name", var)
    chosen = [v for v in own if name in (None, v.name)]
    if len(chosen) != 1:
        known = ", ".join(f"`{v.name}`" for v in own) or "none"
        raise ModelError(
            f"pm.bart needs one variable made by pm.BART, and `var` is {name!r}; the model has {known}. Pass "
            '`var="name"`, and `model=` outside of a `with` block.'
        )
    return chosen[0]


def _words(result: Any, variable: FreeVariable) -> Array:
    words = written(result, variable.name)
    if words is None:
        raise ModelError(
            f"the result has no trees of `{variable.name}`: they are in `sample_stats`, as `{variable.name}_trees`. "
            "Pass a whole result of `pm.sample`."
        )
    return words


def predict(
    result: Any, X: Any = None, var: Any = None, *, model: Model | None = None, draws: int | None = None,
    random_seed: Any = None,
) -> Array:  # fmt: skip
    """Sums of trees at rows of covariates, for draws of the posterior.

    Parameters
    ----------
    result : DataTree
        A result of `pm.sample`.
    X : array_like, optional
        Covariates, shape (rows, columns); those of the model by default. Columns of a data frame are taken by name.
    var : str or TensorVariable, optional
        The variable made by `pm.BART`, where there are several.
    model : Model, optional
        The model; by default that of the enclosing `with` block.
    draws : int, optional
        Take so many draws at random, without replacement; all in order by default.
    random_seed : int, optional
        Seed of that choice.

    Returns
    -------
    ndarray
        Float64 (chain, draw, …, row), or (draw, …, row) where `draws` is given.

    See Also
    --------
    sample_posterior_predictive : New data, after `set_data`.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> with pm.Model() as model:
    ...     f = pm.BART("f", x, x[:, 0], m=5)
    ...     y = pm.Normal("y", f, 0.1, observed=x[:, 0])
    ...     result = pm.sample(
    ...         20, tune=50, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
    ...     )
    >>> pm.bart.predict(result, [[0.5], [2.0]], model=model).shape
    (2, 20, 2)
    """
    variable = _found(model, var)
    words = _words(result, variable)
    rows = covariates_of(variable) if X is None else _rows(variable, X)
    if draws is None:
        return sums_at(variable, words, rows)
    flat = words.reshape(-1, words.shape[-1])
    rng = np.random.default_rng(seed_from(random_seed))
    chosen = rng.choice(len(flat), min(draws, len(flat)), replace=False)
    return sums_at(variable, flat[np.sort(chosen)], rows)


def _rows(variable: FreeVariable, X: Any) -> Array:
    """New covariates in the order, and with the numbers of categories, of those that the trees were made with."""
    forest = forest_of(variable)
    width = len(forest.columns)
    if hasattr(X, "columns"):
        names = {str(name): name for name in X.columns}
        lacking = [name for name in forest.columns if name not in names]
        if lacking:
            raise ModelError(f"the new rows of `{variable.name}` have no columns {lacking}; they have {list(names)}.")
        arrays = []
        for name, categories in zip(forest.columns, forest.categories, strict=True):
            values = X[names[name]]
            if categories is None:
                arrays.append(values.to_numpy(dtype=float, na_value=np.nan))
                continue
            number = {category: float(place) for place, category in enumerate(categories)}
            unknown = [value for value in values.dropna().unique() if value not in number]
            if unknown:
                raise ModelError(
                    f"the new rows of `{variable.name}` have {unknown} in column `{name}`, of which the trees know "
                    f"nothing; they know {list(categories)}. Leave these rows out, or make them missing (NaN)."
                )
            arrays.append(np.array([number.get(value, np.nan) for value in values]))
        return np.column_stack(arrays)
    values = constant_value(X) if isinstance(X, Node) else X
    rows = np.asarray(table(values if values is not None else X.eval())[0], float)
    if rows.shape[1] != width:
        raise ShapeError(f"the new rows of `{variable.name}` have {rows.shape[1]} columns, and its trees {width}.")
    return rows


def get_variable_inclusion(
    result: Any, X: Any = None, labels: Sequence[str] | None = None, *, var: Any = None, model: Model | None = None,
    to_kulprit: bool = False,
) -> tuple[Array, list[str]]:  # fmt: skip
    """Share of the splits that each covariate has, averaged over draws.

    Parameters
    ----------
    result : DataTree
        A result of `pm.sample`.
    X : array_like, optional
        The covariates, for their names.
    labels : sequence of str, optional
        Names of the covariates.
    var, model : optional
        As for `predict`.
    to_kulprit : bool, default False
        Not available; as in `pymc_bart`, sets of names for `kulprit`.

    Returns
    -------
    tuple
        Shares, float64 (column,), and names of the columns.

    See Also
    --------
    plot_variable_importance : How much of the function subsets of covariates explain.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> x = np.random.default_rng(1).uniform(size=(50, 2))
    >>> with pm.Model() as model:
    ...     f = pm.BART("f", x, x[:, 0], m=5)
    ...     y = pm.Normal("y", f, 0.1, observed=x[:, 0])
    ...     result = pm.sample(
    ...         50, tune=100, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
    ...     )
    >>> shares, names = pm.bart.get_variable_inclusion(result, model=model)
    >>> bool(shares[0] > shares[1])
    True
    """
    if to_kulprit:
        raise ModelError("`to_kulprit` is not available; the shares and names are those that `kulprit` is made from.")
    variable = _found(model, var)
    tags = _words(result, variable).view(np.int64) & 4095
    tags = tags[..., 1:]
    names = list(labels) if labels is not None else _labels(variable, X)
    counts = np.bincount((tags[tags > 0] >> 1) - 1, minlength=len(names)).astype(float)
    return counts / max(counts.sum(), 1.0), names


def _labels(variable: FreeVariable, X: Any) -> list[str]:
    return [str(name) for name in getattr(X, "columns", forest_of(variable).columns)]


def plot_variable_inclusion(
    result: Any, X: Any = None, labels: Sequence[str] | None = None, *, var: Any = None, model: Model | None = None,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Plot the share of the splits that each covariate has.

    Parameters
    ----------
    result, X, labels, var, model : optional
        As for `get_variable_inclusion`.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Of Matplotlib.

    See Also
    --------
    get_variable_inclusion : The numbers.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_variable_inclusion.__name__
    'plot_variable_inclusion'
    """
    shares, names = get_variable_inclusion(result, X, labels, var=var, model=model)
    ax = _axes(1)[0] if ax is None else ax
    ax.plot(shares, "o-")
    ax.set(xticks=range(len(names)), xticklabels=names, xlabel="covariate", ylabel="share of splits")
    return ax


def compute_variable_importance(
    result: Any, bartrv: Any = None, X: Any = None, *, model: Model | None = None, samples: int = DRAWS,
    random_seed: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """How much of the fitted function subsets of covariates explain, the best first.

    A covariate that is left out has, in each row, the value of another row drawn at random; the squared correlation of
    the function then with the function itself is computed draw by draw. Covariates are added one by one, each time the
    one that raises its mean most.

    Parameters
    ----------
    result : DataTree
        A result of `pm.sample`.
    bartrv : str or TensorVariable, optional
        The variable made by `pm.BART`, where there are several.
    X : array_like, optional
        Covariates; those of the model by default.
    model : Model, optional
        The model; by default that of the enclosing `with` block.
    samples : int, default 200
        Draws that are used.
    random_seed : int, optional
        Seed.

    Returns
    -------
    dict
        `indices` and `labels` of the covariates in their order, `r2_mean` of the first one, two, …, and `r2_hdi`,
        intervals of 94 %, float64 (column, 2).

    See Also
    --------
    plot_variable_importance : As a picture.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.compute_variable_importance.__name__
    'compute_variable_importance'
    """
    variable = _found(model, bartrv)
    rows = covariates_of(variable) if X is None else _rows(variable, X)
    seed = seed_from(random_seed)
    words = _words(result, variable)
    flat = words.reshape(-1, words.shape[-1])
    rng = np.random.default_rng(seed)
    flat = flat[np.sort(rng.choice(len(flat), min(samples, len(flat)), replace=False))]
    other = rows[rng.permutation(len(rows))]
    full = sums_at(variable, flat, rows).reshape(len(flat), -1)
    left = list(range(rows.shape[1]))
    order: list[int] = []
    means: list[float] = []
    intervals: list[Array] = []
    while left:
        best: tuple[float, int, Array] | None = None
        for column in left:
            kept = [*order, column]
            mixed = other.copy()
            mixed[:, kept] = rows[:, kept]
            r2 = _squared_correlation(full, sums_at(variable, flat, mixed).reshape(len(flat), -1))
            if best is None or r2.mean() > best[0]:
                best = float(r2.mean()), column, r2
        assert best is not None
        order.append(best[1])
        left.remove(best[1])
        means.append(best[0])
        intervals.append(np.quantile(best[2], [0.03, 0.97]))
    names = _labels(variable, X)
    return {
        "indices": np.array(order),
        "labels": [names[place] for place in order],
        "r2_mean": np.array(means),
        "r2_hdi": np.array(intervals),
    }


def _squared_correlation(a: Array, b: Array) -> Array:
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    scale = (a * a).sum(axis=1) * (b * b).sum(axis=1)
    found: Array = (a * b).sum(axis=1) ** 2 / np.where(scale > 0.0, scale, 1.0)
    return found


def plot_variable_importance(
    result: Any, bartrv: Any = None, X: Any = None, *, model: Model | None = None, samples: int = DRAWS,
    random_seed: Any = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot how much of the fitted function the first one, two, … covariates explain.

    Parameters
    ----------
    result : DataTree or dict
        A result of `pm.sample`, or what `compute_variable_importance` gave.
    bartrv, X, model, samples, random_seed : optional
        As for `compute_variable_importance`.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Of Matplotlib.

    See Also
    --------
    compute_variable_importance : The numbers.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_variable_importance.__name__
    'plot_variable_importance'
    """
    found: Mapping[str, Any] = (
        result
        if isinstance(result, dict)
        else compute_variable_importance(result, bartrv, X, model=model, samples=samples, random_seed=random_seed)
    )
    ax = _axes(1)[0] if ax is None else ax
    mean, interval = found["r2_mean"], found["r2_hdi"]
    ax.errorbar(range(len(mean)), mean, np.abs(interval.T - mean), fmt="o-")
    names = [f"+ {name}" if place else str(name) for place, name in enumerate(found["labels"])]
    ax.set(xticks=range(len(mean)), xticklabels=names, ylabel="R² with the whole function", ylim=(0, 1.02))
    return ax


def plot_pdp(
    result: Any, X: Any = None, Y: Any = None, *, var: Any = None, model: Model | None = None,
    func: Callable[[Array], Array] | None = None, var_idx: Sequence[int] | None = None, samples: int = DRAWS,
    xs_interval: str = "quantiles", random_seed: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Partial dependence: the function averaged over all rows, as one covariate takes each value of a grid.

    Parameters
    ----------
    result : DataTree
        A result of `pm.sample`.
    X : array_like, optional
        Covariates; those of the model by default.
    Y : array_like, optional
        The response, of which only the name is used.
    var, model : optional
        As for `predict`.
    func : callable, optional
        Applied to the function before the average, as the inverse of a link.
    var_idx : sequence of int, optional
        Columns to draw; all by default.
    samples : int, default 200
        Draws that are used.
    xs_interval : str, default "quantiles"
        "quantiles": the grid has quantiles of the covariate; "linear": it is even; "insample": its values.
    random_seed : int, optional
        Seed.
    axes : sequence of Axes, optional
        Where to draw, one for each covariate.

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

    def draw(ax: Any, grid: Array, curves: Array) -> None:
        mean = curves.mean(axis=2)  # over rows
        low, high = np.quantile(mean, [0.03, 0.97], axis=0)
        ax.fill_between(grid, low, high, alpha=0.3)
        ax.plot(grid, mean.mean(axis=0))

    return _dependence(result, X, Y, var, model, func, var_idx, samples, xs_interval, random_seed, axes, None, draw)


def plot_ice(
    result: Any, X: Any = None, Y: Any = None, *, var: Any = None, model: Model | None = None,
    func: Callable[[Array], Array] | None = None, var_idx: Sequence[int] | None = None, samples: int = DRAWS,
    instances: int = LINES, centered: bool = True, xs_interval: str = "quantiles", random_seed: Any = None,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Individual conditional expectations: the function at single rows, as one covariate takes each value of a grid.

    Parameters
    ----------
    result, X, Y, var, model, func, var_idx, samples, xs_interval, random_seed, axes : optional
        As for `plot_pdp`.
    instances : int, default 50
        Rows that are drawn at random.
    centered : bool, default True
        Whether all lines begin at 0.

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

    def draw(ax: Any, grid: Array, curves: Array) -> None:
        lines = curves.mean(axis=0)
        lines = lines - lines[0] if centered else lines
        ax.plot(grid, lines, color="C0", alpha=0.3, linewidth=0.8)
        ax.plot(grid, lines.mean(axis=1), color="C1")

    return _dependence(
        result, X, Y, var, model, func, var_idx, samples, xs_interval, random_seed, axes, instances, draw
    )


def _dependence(
    result: Any,
    X: Any,
    Y: Any,
    var: Any,
    model: Model | None,
    func: Callable[[Array], Array] | None,
    var_idx: Sequence[int] | None,
    samples: int,
    xs_interval: str,
    random_seed: Any,
    axes: Any,
    instances: int | None,
    draw: Callable[[Any, Array, Array], None],
) -> Any:
    if isinstance(result, Node):
        raise ModelError(
            "pm.bart plots what a result holds: give the result of `pm.sample` first, and the variable as `var=`."
        )
    variable = _found(model, var)
    rows = covariates_of(variable) if X is None else _rows(variable, X)
    if len(sums_shape := variable.node.static_shape) > 1:
        raise ShapeError(
            f"`{variable.name}` has the shape {sums_shape}: use `pm.bart.predict`, and choose a row of it."
        )
    rng = np.random.default_rng(seed_from(random_seed))
    words = _words(result, variable)
    flat = words.reshape(-1, words.shape[-1])
    flat = flat[np.sort(rng.choice(len(flat), min(samples, len(flat)), replace=False))]
    some = rows if instances is None else rows[np.sort(rng.choice(len(rows), min(instances, len(rows)), replace=False))]
    columns = list(range(rows.shape[1])) if var_idx is None else [int(place) for place in var_idx]
    drawn = list(np.ravel(axes)) if axes is not None else _axes(len(columns))
    names = _labels(variable, X)
    for ax, column in zip(drawn, columns, strict=False):
        grid = _grid(rows[:, column], xs_interval)
        curves = np.empty((len(flat), len(grid), len(some)))
        for place, value in enumerate(grid):
            at = some.copy()
            at[:, column] = value
            curves[:, place] = sums_at(variable, flat, at)
        draw(ax, grid, curves if func is None else func(curves))
        ax.set(xlabel=names[column], ylabel=getattr(Y, "name", None) or variable.name)
    return drawn


def _grid(values: Array, interval: str) -> Array:
    present = np.unique(values[~np.isnan(values)])
    if interval == "insample" or len(present) <= GRID:
        return present
    if interval == "linear":
        return np.linspace(present[0], present[-1], GRID)
    if interval != "quantiles":
        raise ModelError(f'`xs_interval` must be "quantiles", "linear" or "insample", got {interval!r}.')
    return np.unique(np.quantile(values[~np.isnan(values)], np.linspace(0.02, 0.98, GRID)))


def plot_convergence(result: Any, var_name: str | None = None, *, model: Model | None = None, ax: Any = None) -> Any:
    """Plot the effective sample size and R-hat of the function at all rows, as distribution functions.

    Parameters
    ----------
    result : DataTree
        A result of `pm.sample`.
    var_name : str, optional
        The variable made by `pm.BART`, where there are several.
    model : Model, optional
        The model; by default that of the enclosing `with` block.
    ax : sequence of Axes, optional
        Two of them.

    Returns
    -------
    list of Axes
        Of Matplotlib. Lines mark an ESS of 100 per chain, and an R-hat of 1.01.

    See Also
    --------
    summary : The numbers, row by row.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_convergence.__name__
    'plot_convergence'
    """
    name = var_name or _found(model, None).name
    draws = np.asarray(result["posterior"][name])
    sizes, rhat = (np.ravel(function(draws)) for function in (ess_bulk, split_rhat))
    both = list(np.ravel(ax)) if ax is not None else _axes(2)
    for own, values, line, label in (
        (both[0], sizes, 100.0 * len(draws), "ESS"),
        (both[1], rhat, 1.01, "R-hat"),
    ):
        ordered = np.sort(np.asarray(values, float))
        own.plot(ordered, np.linspace(0.0, 1.0, len(ordered)))
        own.axvline(line, color="0.5", linestyle="--")
        own.set(xlabel=f"{label} of {name}", ylabel="share of rows")
    return both


def _axes(count: int) -> list[Any]:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError.of("matplotlib", "pip install matplotlib", error) from error
    wide = min(count, 4)
    tall = -(-count // wide)
    _, found = plt.subplots(tall, wide, figsize=(3.2 * wide, 2.6 * tall), squeeze=False, layout="constrained")
    for extra in found.ravel()[count:]:
        extra.set_visible(False)
    return list(found.ravel()[:count])
