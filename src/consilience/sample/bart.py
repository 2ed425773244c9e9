"""What a step method for sums of trees has to know of a model, and sums of trees at new rows.

A model's variables and results of runs enter; priors of trees, and functions drawn from a posterior at the present
covariates, leave.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.analysis.separability import links
from consilience.distributions.forests import CONTINUOUS, Coded, Forest, coded
from consilience.distributions.random_variable import distribution_of
from consilience.elimination.addends import total
from consilience.elimination.latent_normals import means_of_latent_normals
from consilience.elimination.polynomial import degrees
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.inference.bart_state import TreePrior
from consilience.inference.tree_predictions import sum_trees
from consilience.inference.trees import LEVELS, MISSING
from consilience.ir import Node, constant_value, topological
from consilience.model.blocks import is_separable
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.model.variables import FreeVariable
from consilience.ops.reduce import reduce
from consilience.rewrite.rules import simplify
from consilience.sample.results import in_parallel
from consilience.transforms.gradient import gradient

Array = npt.NDArray[Any]


def forest_of(variable: FreeVariable) -> Forest:
    """The settings of a sum of trees."""
    forest: Forest = distribution_of(variable.node).settings[0]
    return forest


def covariates_of(variable: FreeVariable) -> Array:
    """The present values of its covariates, float64 (row, column)."""
    known = np.asarray(variable.node.inputs[1].eval(), float)
    if known.shape[1] != len(forest_of(variable).columns):
        raise ShapeError(
            f"`{variable.name}` was made with {len(forest_of(variable).columns)} covariates, and `X` now has "
            f"{known.shape[1]} columns."
        )
    return known


def shape_of(variable: FreeVariable, density: ModelDensity) -> tuple[int, int]:
    """Sums that have trees of their own, and sums that share those of each."""
    stretch = next(s for s in density.layout.stretches if s.variable.name == variable.name)
    count = math.prod(stretch.shape[:-1])
    return (count, 1) if forest_of(variable).separate else (1, count)


def words_of(variable: FreeVariable, density: ModelDensity) -> int:
    """Room for the trees of one draw."""
    return tree_prior(variable, density, coded_rows=False).words


def tree_prior(variable: FreeVariable, density: ModelDensity, coded_rows: bool = True) -> TreePrior:
    """Covariates and prior of a variable, for `BARTStep`."""
    forest = forest_of(variable)
    ensembles, outputs = shape_of(variable, density)
    X = covariates_of(variable) if coded_rows else np.zeros((1, len(forest.columns)))
    if np.isinf(X).any():
        raise ParameterError(f"`{variable.name}`: `X` has infinite values; use NaN for missing ones.")
    known = coded(forest, X)
    codes = np.where(known.codes < 0, MISSING, known.codes).astype(np.int8)
    return TreePrior(
        codes=np.ascontiguousarray(codes),
        kinds=np.array(forest.kinds, np.int64),
        levels=np.array(known.levels, np.int64),
        missing=np.array((known.codes < 0).any(axis=1), np.int64),
        cumulative=np.cumsum(forest.weights),
        cuts=padded(forest, known),
        trees=forest.m,
        ensembles=ensembles,
        outputs=outputs,
        alpha=forest.alpha,
        beta=forest.beta,
        offset=forest.offset,
        scale=forest.scale,
        orders=np.array(forest.orders, np.int64),
        standard=np.ascontiguousarray(forest.standard(X).T) if forest.lines else np.zeros((1, 1)),
        lines=forest.lines,
        sparse=forest.sparse,
        learnt=forest.learnt,
        quadratic=coded_rows and quadratic_in(variable, density),
        apart=coded_rows and rows_are_apart(variable, density),
        kinks=coded_rows and has_kinks(variable, density),
    )


def padded(forest: Forest, known: Coded) -> Array:
    """Cuts of all columns in one matrix, float64 (column, level)."""
    cuts = np.zeros((len(forest.kinds), LEVELS))
    for place, own in enumerate(known.cuts):
        if forest.kinds[place] == CONTINUOUS:
            cuts[place, : len(own)] = own
    return cuts


def rows_are_apart(variable: FreeVariable, density: ModelDensity) -> bool:
    """Whether no row of a sum of trees meets another one, given all other variables."""
    terms, value = _terms(variable, density)
    acting = [term for term in terms if value in set(topological([term]))]
    last = value.ndim - 1
    return all(last in {link.axis for link in (links(term, value) or {}).values()} for term in acting)


def _terms(variable: FreeVariable, density: ModelDensity) -> tuple[list[Node], Node]:
    """All terms of a density, and a variable's value in them."""
    names = (v.name for v in density.model.free)
    return density.graph(), dict(zip(names, density.values_of_terms, strict=True))[variable.name]


def quadratic_in(variable: FreeVariable, density: ModelDensity) -> bool:
    """Whether the log density is quadratic in each element of a variable, which do not meet given all others."""
    terms, value = _terms(variable, density)
    if not (
        rows_are_apart(variable, density) if forest_of(variable).separate else is_separable(terms, variable, value)
    ):
        return False
    return _bends(variable, density) == (True, True)


def has_latent_normals(variable: FreeVariable, density: ModelDensity) -> bool:
    """Whether the data are the signs of normals whose means are linear in a variable, one for each element: probit."""
    terms, value = _terms(variable, density)
    found = means_of_latent_normals([term for term in terms if value in set(topological([term]))], value)
    if found is None or not set(density.values_of_terms).isdisjoint(topological(found[1])):
        return False
    factors = [np.asarray(factor.eval()) for factor in found[1]]
    return all(np.isin(factor, (0.0, 1.0)).all() for factor in factors) and bool(np.all(sum(factors) <= 1.0))


def has_kinks(variable: FreeVariable, density: ModelDensity) -> bool:
    """Whether a log density that is not quadratic in a variable bends in kinks, where no second derivative shows it."""
    return _bends(variable, density) == (True, False)


def _bends(variable: FreeVariable, density: ModelDensity) -> tuple[bool, bool]:
    """Whether second derivatives are free of a variable, and whether the log density is a polynomial of degree 2.

    Derivatives alone do not tell: those of |x|, of a maximum and of what a comparison chooses are constants, too.
    """
    terms, value = _terms(variable, density)
    acting = total([term for term in terms if value in set(topological([term]))])
    (slope,) = gradient(acting, [value])
    (curvature,) = gradient(reduce("sum", slope), [value])
    (found,) = simplify([curvature])
    return value not in set(topological([found])), min(degrees([acting, *simplify([acting])], [value])) <= 2


def written(trace: Any, name: str) -> Array | None:
    """The trees of a variable in a result, (…, word) with the axes of its draws; None where there are none."""
    stats = trace["sample_stats"] if "sample_stats" in getattr(trace, "children", ()) else {}
    key = f"{name.replace('::', '_')}_trees"
    return np.asarray(stats[key]) if key in stats else None


def follows_data(variable: FreeVariable) -> bool:
    """Whether the rows of a sum of trees may have been exchanged since it was fitted."""
    return constant_value(variable.node.inputs[1]) is None


def at_present_rows(model: Model, trace: Any, shape: tuple[int, ...] | None = None) -> dict[str, Array]:
    """Values at the present covariates of all sums of trees that a trace holds, with the axes of its draws.

    Parameters
    ----------
    shape : tuple of int, optional
        Numbers of draws along their axes; trees of other numbers of draws are not those of the draws.
    """
    found = {}
    for variable in model.free:
        if variable.has_trees and follows_data(variable) and (words := written(trace, variable.name)) is not None:
            if shape is not None and words.shape[:-1] != shape:
                raise ModelError(
                    f"the trees of `{variable.name}` are those of {words.shape[:-1]} draws, and the posterior has "
                    f"{shape}; take the same draws of both groups, as `result.isel(draw=…)` does."
                )
            found[variable.name] = sums_at(variable, words, covariates_of(variable))
    return found


def sums_at(variable: FreeVariable, words: Array, covariates: Array) -> Array:
    """Sums of written trees (…, word) at rows of covariates (row, column)."""
    forest = forest_of(variable)
    count = _outputs(variable)
    ensembles, outputs = (count, 1) if forest.separate else (1, count)
    for place, kind in enumerate(forest.kinds):
        values, name = covariates[:, place], forest.columns[place]
        if np.isinf(values).any():
            raise ParameterError(f"`{variable.name}`: column {name} of the new rows is infinite.")
        if kind != CONTINUOUS and ((values < 0) | (values != np.floor(values)) & ~np.isnan(values)).any():
            raise ParameterError(f"`{variable.name}`: column {name} of the new rows must hold numbers of categories.")
    columns = np.ascontiguousarray(covariates.T, np.float64).reshape(-1)
    kinds = np.array(forest.kinds, np.int64)
    standards = np.array([*forest.centres, *forest.spreads] if forest.lines else [0.0])
    rows = len(covariates)
    plain = int(not kinds.any() and not np.isnan(columns).any())
    flat = np.ascontiguousarray(words, np.float64).view(np.int64).reshape(-1, words.shape[-1])

    def some(part: Array) -> Array:
        found = np.empty((len(part), count * rows))
        sizes = np.array(
            [len(part), part.shape[1], forest.m, ensembles, outputs, rows, plain, forest.lines > 0, len(forest.kinds)],
            np.int64,
        )
        skips = np.zeros(part.shape[1] + 64, np.int64)
        sum_trees.compiled(
            np.ascontiguousarray(part).reshape(-1), columns, kinds, standards, sizes, skips, found.reshape(-1)
        )
        return found

    shape = tuple(int(n) for n in variable.node.static_shape[:-1])
    return in_parallel(some, flat).reshape(*words.shape[:-1], *shape, rows)


def _outputs(variable: FreeVariable) -> int:
    return math.prod(int(n) for n in variable.node.static_shape[:-1])


# ---- the last result of a variable

_FITS: weakref.WeakKeyDictionary[Node, tuple[weakref.ref[Model], weakref.ref[Any]]] = weakref.WeakKeyDictionary()


def remember_fit(model: Model, result: Any) -> None:
    """Note that a result has the trees of a model's variables, as long as all of them live."""
    for variable in model.free:
        if variable.has_trees:
            _FITS[variable.node] = weakref.ref(model), weakref.ref(result)


def last_fit(node: Node) -> tuple[Model, Any] | None:
    """The model and the last result of a sum of trees, if they still are."""
    kept = _FITS.get(node)
    model, result = (None, None) if kept is None else (kept[0](), kept[1]())
    return None if model is None or result is None else (model, result)


def model_of_fit(result: Any) -> Model | None:
    """The model whose last result this is."""
    return next((model() for model, own in _FITS.values() if result is not None and own() is result), None)
