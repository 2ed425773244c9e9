"""Sums of trees of a result: at which rows they are wanted, and what they are there.

A result of `pm.sample`, or the variable that it was fitted for, and covariates enter; functions at rows leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import ess_bulk, split_rhat
from consilience.distributions.bart import table
from consilience.distributions.seeds import seed_from
from consilience.errors import MissingPackageError, ModelError, ShapeError
from consilience.ir import Node, constant_value
from consilience.model.model import Model, modelcontext
from consilience.model.variables import FreeVariable
from consilience.sample.bart import covariates_of, forest_of, last_fit, model_of_fit, sums_at, written

Array = npt.NDArray[Any]


def fit_of(result: Any, model: Model | None, var: Any) -> tuple[FreeVariable, Array]:
    """A variable that has trees, and the trees of all draws, float64 (draw, word).

    `result` is a result, whose variable is the one named or the only one of the model, or the variable itself, as in
    `pymc_bart`: then it is the last result that `pm.sample` gave for it.
    """
    if isinstance(result, list | tuple) and len(result) == 1:
        (result,) = result
    if isinstance(result, Node):
        var = result
        found = last_fit(result)
        if found is None:
            raise ModelError(
                f"`{result!r}` has no result: `pm.sample` was not called for it, or its result is gone. Give the "
                "result of `pm.sample` first, and the variable as `var=`."
            )
        result = found[1]
    variable = found_variable(model, var, result)
    words = words_of(result, variable)
    return variable, words.reshape(-1, words.shape[-1])


def found_variable(model: Model | None, var: Any, result: Any = None) -> FreeVariable:
    """The variable of a model that has trees: the one that is named, or the only one.

    Without a model it is that of the `with` block, or the one that gave the result in this process.
    """
    if model is None and not Model.get_context(error_if_none=False):
        model = model_of_fit(result)
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


def words_of(result: Any, variable: FreeVariable) -> Array:
    """The trees of a variable in a result, float64 (chain, draw, word)."""
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
    variable = found_variable(model, var, result)
    words = words_of(result, variable)
    rows = covariates_of(variable) if X is None else rows_of(variable, X)
    if draws is None:
        return sums_at(variable, words, rows)
    flat = words.reshape(-1, words.shape[-1])
    rng = np.random.default_rng(seed_from(random_seed))
    chosen = rng.choice(len(flat), min(draws, len(flat)), replace=False)
    return sums_at(variable, flat[np.sort(chosen)], rows)


def rows_of(variable: FreeVariable, X: Any) -> Array:
    """New covariates in the order, and with the numbers of categories, of those that the trees were made with."""
    forest = forest_of(variable)
    width = len(forest.columns)
    if hasattr(X, "columns"):
        names = {str(name): name for name in X.columns}
        lacking = [name for name in forest.columns if name not in names]
        if len(lacking) == width == len(names) and forest.columns == tuple(map(str, range(width))):
            names = dict(zip(forest.columns, X.columns, strict=True))  # the trees were made from an array
            lacking = []
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


def labels_of(variable: FreeVariable, X: Any) -> list[str]:
    """Names of its covariates: those of `X`, where it is a data frame."""
    return [str(name) for name in getattr(X, "columns", forest_of(variable).columns)]


def some_draws(words: Array, count: int, seed: Any) -> tuple[Array, np.random.Generator]:
    """So many draws at random, in order, and the generator that chose them."""
    rng = np.random.default_rng(seed_from(seed))
    return words[np.sort(rng.choice(len(words), min(count, len(words)), replace=False))], rng


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
    name = var_name or found_variable(model, None, result).name
    draws = np.asarray(result["posterior"][name])
    sizes, rhat = (np.ravel(function(draws)) for function in (ess_bulk, split_rhat))
    both = list(np.ravel(ax)) if ax is not None else axes_for(2)
    for own, values, line, label in (
        (both[0], sizes, 100.0 * len(draws), "ESS"),
        (both[1], rhat, 1.01, "R-hat"),
    ):
        ordered = np.sort(np.asarray(values, float))
        own.plot(ordered, np.linspace(0.0, 1.0, len(ordered)))
        own.axvline(line, color="0.5", linestyle="--")
        own.set(xlabel=f"{label} of {name}", ylabel="share of rows")
    return both


def axes_for(
    count: int, grid: Any = None, figsize: tuple[float, float] | None = None, sharey: Any = False
) -> list[Any]:
    """Axes of a new figure: "long" one below the other, "wide" side by side, (rows, columns), or four in a row."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError.of("matplotlib", "pip install matplotlib", error) from error
    wide = min(count, 4)
    tall = -(-count // wide)
    if grid is not None:
        shape = {"long": (count, 1), "wide": (1, count)}.get(grid) if isinstance(grid, str) else tuple(grid)
        if shape is None or len(shape) != 2 or shape[0] * shape[1] < 1:
            raise ModelError(f'`grid` must be "long", "wide" or (rows, columns), got {grid!r}.')
        tall, wide = shape
    _, found = plt.subplots(
        tall, wide, figsize=figsize or (3.2 * wide, 2.6 * tall), squeeze=False, layout="constrained", sharey=sharey
    )
    for extra in found.ravel()[count:]:
        extra.set_visible(False)
    return list(found.ravel()[:count])
