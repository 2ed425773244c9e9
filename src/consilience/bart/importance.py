"""Which covariates a sum of trees splits by, and how much of it subsets of them explain.

A fitted variable enters, by its result; shares, orders of covariates and pictures leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.bart.fitted import Array, axes_for, fit_of, labels_of, rows_of, some_draws
from consilience.errors import ModelError
from consilience.model.model import Model
from consilience.sample.bart import covariates_of, forest_of, sums_at

METHODS = ("VI", "backward", "backward_VI", "forward")


def _shares(words: Array, columns: int) -> Array:
    """Share of the splits that each column has."""
    tags = (np.ascontiguousarray(words).view(np.int64) & 4095)[:, 1:]
    counts: Array = np.bincount((tags[tags > 0] >> 1) - 1, minlength=columns).astype(float)
    shares: Array = counts / max(counts.sum(), 1.0)
    return shares


def get_variable_inclusion(
    result: Any, X: Any = None, model: Model | None = None, bart_var_name: str | None = None,
    labels: Sequence[str] | None = None, to_kulprit: bool = False, *, var: Any = None,
) -> Any:  # fmt: skip
    """Share of the splits that each covariate has, the greatest first.

    Parameters
    ----------
    result : DataTree or TensorVariable
        A result of `pm.sample`; or the variable made by `pm.BART`, for its last result.
    X : array_like, optional
        The covariates, for their names.
    model : Model, optional
        The model; by default that of the enclosing `with` block, or the one that was sampled last.
    bart_var_name, var : optional
        The variable made by `pm.BART`, where there are several.
    labels : sequence of str, optional
        Names of the covariates, in the order of the columns.
    to_kulprit : bool, default False
        Return names of no covariate, the first one, the first two, …, as lists for `kulprit`.

    Returns
    -------
    tuple
        Shares, float64 (column,), and names, both in the order of the shares.

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
    >>> names
    ['0', '1']
    """
    variable, words = fit_of(result, model, bart_var_name if var is None else var)
    shares = _shares(words, len(forest_of(variable).columns))
    order = np.argsort(-shares, kind="stable")
    own = labels_of(variable, X) if labels is None or hasattr(X, "columns") else list(labels)
    names = [own[place] for place in order]
    return [names[:count] for count in range(len(names) + 1)] if to_kulprit else (shares[order], names)


def plot_variable_inclusion(
    result: Any, X: Any = None, labels: Sequence[str] | None = None, figsize: tuple[float, float] | None = None,
    plot_kwargs: Mapping[str, Any] | None = None, ax: Any = None, *, var: Any = None, model: Model | None = None,
) -> Any:  # fmt: skip
    """Plot the share of the splits that each covariate has.

    Parameters
    ----------
    result, X, labels, var, model : optional
        As for `get_variable_inclusion`.
    figsize : tuple of float, optional
        Of a new figure, in inches.
    plot_kwargs : dict, optional
        `color`, `marker` and `ls` of the line, `rotation` of names.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Of Matplotlib. A line marks equal shares.

    See Also
    --------
    get_variable_inclusion : The numbers.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_variable_inclusion.__name__
    'plot_variable_inclusion'
    """
    shares, names = get_variable_inclusion(result, X, model=model, labels=labels, var=var)
    style = {"color": "C0", "marker": "o", "ls": "-", "rotation": 0, **(plot_kwargs or {})}
    rotation = style.pop("rotation")
    ax = axes_for(1, figsize=figsize)[0] if ax is None else ax
    ax.axhline(1 / len(names), color="0.5", linestyle="--")
    ax.plot(shares, **style)
    ax.set(xlabel="covariate", ylabel="share of splits")
    ax.set_xticks(range(len(names)), names, rotation=rotation)
    return ax


def compute_variable_importance(
    result: Any, bartrv: Any = None, X: Any = None, model: Model | None = None, method: str = "VI", fixed: int = 0,
    samples: int = 50, random_seed: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """How much of the fitted function subsets of covariates explain, the best first.

    A covariate that is left out has, in each row, the value of another row drawn at random; the squared correlation of
    the function then with the function itself is computed draw by draw.

    Parameters
    ----------
    result : DataTree
        A result of `pm.sample`.
    bartrv : str or TensorVariable, optional
        The variable made by `pm.BART`, where there are several.
    X : array_like, optional
        Covariates; those of the model by default.
    model : Model, optional
        The model; by default that of the enclosing `with` block, or the one that was sampled last.
    method : str, default "VI"
        The order of covariates. "VI": by their share of the splits. "backward": each time the one is left out that is
        missed least. "backward_VI": the same after the `fixed` ones with the least share. "forward": each time the one
        is added that explains most.
    fixed : int, default 0
        Number of covariates that "backward_VI" leaves out first.
    samples : int, default 50
        Draws that are used.
    random_seed : int, optional
        Seed.

    Returns
    -------
    dict
        `indices` and `labels` of the covariates in their order, `r2_mean` of the first one, two, …, and `r2_hdi`,
        intervals of 94 %, float64 (column, 2); `preds`, the functions of the first one, two, … covariates, and
        `preds_all`, the whole function, with the axes column, draw, row, and output where there are several.

    See Also
    --------
    plot_variable_importance : As a picture.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.compute_variable_importance.__name__
    'compute_variable_importance'
    """
    if method not in METHODS:
        raise ModelError(f"`method` must be one of {', '.join(METHODS)}, got {method!r}.")
    variable, words = fit_of(result, model, bartrv)
    rows = covariates_of(variable) if X is None else rows_of(variable, X)
    width = rows.shape[1]
    if method == "backward_VI" and not 0 < fixed < width:
        raise ModelError(f"`fixed` must be a number from 1 to {width - 1}, fewer than the covariates, got {fixed!r}.")
    by_share = np.argsort(-_shares(words, width), kind="stable").tolist()
    words, rng = some_draws(words, samples, random_seed)
    other = rows[rng.permutation(len(rows))]
    whole = sums_at(variable, words, rows)

    def of(kept: Sequence[int]) -> Array:
        mixed = other.copy()
        mixed[:, kept] = rows[:, kept]
        return sums_at(variable, words, mixed)

    def explained(kept: Sequence[int]) -> Array:
        return _squared_correlation(whole.reshape(len(words), -1), of(kept).reshape(len(words), -1))

    order = _order(method, by_share, fixed, lambda kept: float(explained(kept).mean()))
    r2 = [explained(order[: count + 1]) for count in range(width)]
    names = labels_of(variable, X)
    preds = np.stack([of(order[: count + 1]) for count in range(width)])
    return {
        "indices": np.array(order),
        "labels": np.array([names[place] for place in order]),
        "r2_mean": np.array([own.mean() for own in r2]),
        "r2_hdi": np.array([np.quantile(own, [0.03, 0.97]) for own in r2]),
        "preds": preds if preds.ndim == 3 else np.moveaxis(preds, 2, -1),
        "preds_all": whole if whole.ndim == 2 else np.moveaxis(whole, 1, -1),
    }


def _order(method: str, by_share: list[int], fixed: int, explained: Callable[[Sequence[int]], float]) -> list[int]:
    """Covariates, the best first."""
    if method == "VI":
        return by_share
    if method == "forward":
        order: list[int] = []
        while len(order) < len(by_share):
            left = sorted(set(by_share) - set(order))
            order.append(max(left, key=lambda column: explained([*order, column])))
        return order
    last = by_share[len(by_share) - fixed :] if method == "backward_VI" else []
    left = [column for column in by_share if column not in last]
    while len(left) > 1:
        worst = max(left, key=lambda column: explained([kept for kept in left if kept != column]))
        left.remove(worst)
        last = [worst, *last]
    return [*left, *last]


def _squared_correlation(a: Array, b: Array) -> Array:
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    scale = (a * a).sum(axis=1) * (b * b).sum(axis=1)
    found: Array = (a * b).sum(axis=1) ** 2 / np.where(scale > 0.0, scale, 1.0)
    return found


def vi_to_kulprit(vi_results: Mapping[str, Any]) -> list[list[str]]:
    """Names of no covariate, the first one, the first two, …: paths for `kulprit`.

    Parameters
    ----------
    vi_results : dict
        What `compute_variable_importance` gave.

    Returns
    -------
    list of list of str
        As many as there are covariates; the last one is left out.

    See Also
    --------
    compute_variable_importance : The order of covariates.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.vi_to_kulprit({"labels": ["a", "b"]})
    [[], ['a']]
    """
    names = [str(name) for name in vi_results["labels"]]
    return [names[:count] for count in range(len(names))]


def plot_variable_importance(
    vi_results: Any, submodels: Sequence[int] | None = None, labels: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None, plot_kwargs: Mapping[str, Any] | None = None, ax: Any = None, *,
    bartrv: Any = None, X: Any = None, model: Model | None = None, samples: int = 50, random_seed: Any = None,
) -> Any:  # fmt: skip
    """Plot how much of the fitted function the first one, two, … covariates explain.

    Parameters
    ----------
    vi_results : dict or DataTree
        What `compute_variable_importance` gave, or a result of `pm.sample`.
    submodels : sequence of int, optional
        Which numbers of covariates to draw, counted from 0; all by default.
    labels : sequence of str, optional
        Names of the covariates, in the order of their importance.
    figsize : tuple of float, optional
        Of a new figure, in inches.
    plot_kwargs : dict, optional
        `color_r2` and `marker_r2` of the points, `rotation` of names.
    ax : Axes, optional
        Where to draw.
    bartrv, X, model, samples, random_seed : optional
        As for `compute_variable_importance`, where a result is given.

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
        vi_results
        if isinstance(vi_results, dict)
        else compute_variable_importance(vi_results, bartrv, X, model, samples=samples, random_seed=random_seed)
    )
    style = dict(plot_kwargs or {})
    chosen = list(range(len(found["r2_mean"]))) if submodels is None else [int(place) for place in submodels]
    mean, interval = found["r2_mean"][chosen], found["r2_hdi"][chosen]
    ax = axes_for(1, figsize=figsize)[0] if ax is None else ax
    ax.errorbar(
        range(len(mean)), mean, np.abs(interval.T - mean), fmt=style.get("marker_r2", "o"),
        color=style.get("color_r2", "C0"),
    )  # fmt: skip
    names = _with_plus(found["labels"] if labels is None else labels, chosen)
    ax.set(ylabel="R² with the whole function", ylim=(0, 1.02))
    ax.set_xticks(range(len(mean)), names, rotation=style.get("rotation", 0))
    return ax


def _with_plus(labels: Sequence[str], chosen: Sequence[int]) -> list[str]:
    return [f"+ {labels[place]}" if place else str(labels[place]) for place in chosen]


def plot_scatter_submodels(
    vi_results: Mapping[str, Any], func: Callable[[Array], Array] | None = None,
    submodels: Sequence[int] | None = None, grid: Any = None, labels: Sequence[str] | None = None,
    figsize: tuple[float, float] | None = None, plot_kwargs: Mapping[str, Any] | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot the functions of the first one, two, … covariates against the whole function.

    Parameters
    ----------
    vi_results : dict
        What `compute_variable_importance` gave.
    func : callable, optional
        Applied to the functions, as the inverse of a link.
    submodels, labels, figsize : optional
        As for `plot_variable_importance`.
    grid : str or tuple of int, optional
        "long", "wide", or numbers of rows and columns of new axes.
    plot_kwargs : dict, optional
        `marker_scatter`, `color_scatter` and `alpha_scatter` of points, `color_ref` and `ls_ref` of the diagonal.
    ax : sequence of Axes, optional
        Where to draw, one for each number of covariates.

    Returns
    -------
    list of Axes
        Of Matplotlib.

    See Also
    --------
    plot_variable_importance : The squared correlations.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.plot_scatter_submodels.__name__
    'plot_scatter_submodels'
    """
    style = dict(plot_kwargs or {})
    chosen = list(range(len(vi_results["preds"]))) if submodels is None else [int(place) for place in submodels]
    drawn = list(np.ravel(ax)) if ax is not None else axes_for(len(chosen), grid, figsize, True)
    names = _with_plus(vi_results["labels"] if labels is None else labels, chosen)
    change = (lambda values: values) if func is None else func
    whole = change(vi_results["preds_all"])
    ends = float(whole.min()), float(whole.max())
    for own, place, name in zip(drawn, chosen, names, strict=False):
        own.scatter(
            change(vi_results["preds"][place]).ravel(), whole.ravel(), marker=style.get("marker_scatter", "."),
            color=style.get("color_scatter", "C0"), alpha=style.get("alpha_scatter", 0.1),
        )  # fmt: skip
        own.plot(ends, ends, color=style.get("color_ref", "0.5"), linestyle=style.get("ls_ref", "--"))
        own.set(title=name, xlabel="function of these covariates", ylabel="whole function")
    return drawn
