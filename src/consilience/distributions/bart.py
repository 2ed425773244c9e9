"""Sums of regression trees as a distribution of vectors: a function of covariates, unknown in shape.

Covariates and the prior's settings in, random functions at their rows out. Its density is a constant: trees are moved
by a step method of their own, `pm.BARTStep`, which knows the prior. Source: Chipman, George, McCulloch (2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import RealMatrix, real_vector
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.forests import (
    CONTINUOUS,
    LEAVES,
    MOST_CATEGORIES,
    ONE_HOT,
    SUBSET,
    Forest,
    prior_draws,
)
from consilience.distributions.random_variable import random_variables
from consilience.distributions.simulator import as_vector, call_with_seed, generator_of
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.ir import Node, Shape, TensorType
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import full

Array = npt.NDArray[Any]

KINDS: Final = {"continuous": CONTINUOUS, "onehot": ONE_HOT, "subset": SUBSET}
MOST_COLUMNS: Final = 2000
MOST_TREES: Final = 5000


class ContinuousSplit:
    """Values up to a cut go left: the rule for numbers and ordered categories.

    See Also
    --------
    SubsetSplit : For categories without an order.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.ContinuousSplit.__name__
    'ContinuousSplit'
    """


class OneHotSplit:
    """One category goes left, all others right.

    See Also
    --------
    SubsetSplit : Several categories go left.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.OneHotSplit.__name__
    'OneHotSplit'
    """


class SubsetSplit:
    """Some categories go left, all others right; for up to 40 categories.

    See Also
    --------
    OneHotSplit : One category goes left.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.bart.SubsetSplit.__name__
    'SubsetSplit'
    """


class Covariates(RealMatrix):
    """Matrices of numbers, some of which may be missing."""

    def holds(self, value: Node) -> Node:
        """True."""
        return full((), True, "bool")

    def admits(self, value: Node) -> Node:
        """True."""
        return full((), True, "bool")

    def contains_all(self, value: Node) -> bool:
        """True."""
        return True


class BART(Continuous):
    """Bayesian additive regression trees: a function of covariates as a sum of m small trees.

    Parameters
    ----------
    X
        Covariates, shape (n, p): an array, a data frame, or `pm.Data`, for which new rows can be set for predictions.
        NaN where a value is missing.
    Y
        The response, shape (n,), on the scale of the function: its mean and spread set those of the prior. A response
        of zeros and ones gives the mean 0 and leaves of 3 / sqrt(m), for a logit or probit; so does one of the classes
        0, …, k - 1 with `shape=(k, n)`, for a softmax.
    m
        Number of trees.
    alpha, beta
        A node of depth d splits with the probability alpha (1 + d)^-beta.
    response
        "constant": each leaf has one value. "linear": the value of a leaf is a line in the covariate that the node
        above splits by. "mix": each leaf has either, with equal probability.
    split_prior
        Weight of each column as one that nodes split by; equal ones if not given. "sparse": weights are learnt with a
        Dirichlet prior that prefers few columns (Linero, 2018).
    split_rules
        A rule for each column, or a dictionary by name of column: `pm.bart.ContinuousSplit`, `pm.bart.OneHotSplit` or
        `pm.bart.SubsetSplit`. By default categories without an order of a data frame have subsets, all else cuts.
    separate_trees
        Whether each row of a matrix of functions, `shape=(k, n)`, has trees of its own; they share them otherwise.
    monotone
        1 for a column with which the function rises, -1 for one with which it falls, 0 for others: a list, or a
        dictionary by name of column.
    leaf_sd
        Standard deviation of a leaf. By default that of `Y` divided by sqrt(m) is the usual one, and its variance is
        learnt, with the prior InverseGamma(3, usual variance / 2).

    References
    ----------
    Chipman, George, McCulloch: BART: Bayesian Additive Regression Trees (2010). Linero: Bayesian Regression Trees for
    High-Dimensional Prediction and Variable Selection (2018). Chipman, George, McCulloch, Shively: mBART:
    Multidimensional Monotone BART (2022).

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as pm
    >>> with pm.Model():
    ...     mu = pm.BART("mu", X=np.linspace(0.0, 1.0, 5)[:, None], Y=np.arange(5.0), m=10)
    >>> mu.type.ndim
    1
    """

    X = parameter(Covariates(), nan_check=False)
    forest: Forest = static(lambda title, name, given: given)
    support = real_vector
    arguments = ("X", "Y", "m", "alpha", "beta", "response", "split_rules", "split_prior", "separate_trees",
                 "monotone", "leaf_sd")  # fmt: skip

    @classmethod
    def dist(  # type: ignore[override]  # what is given besides covariates
        cls,
        X: Any,
        Y: Any,
        m: int = 50,
        alpha: float = 0.95,
        beta: float = 2.0,
        response: str = "constant",
        split_rules: Any = None,
        split_prior: Any = None,
        separate_trees: bool = False,
        monotone: Any = None,
        leaf_sd: float | None = None,
        shape: Any = None,
        size: Any = None,
        **unknown: Any,
    ) -> Node:
        """A variable outside any model; see the class."""
        _refuse(unknown, response)
        covariates, columns, categories, kinds = table(X)
        whole = isinstance(m, int | np.integer) and not isinstance(m, bool)
        if not whole or not 1 <= m <= MOST_TREES:
            raise ParameterError(
                f"BART: `m`, the number of trees, must be a whole number from 1 to {MOST_TREES}, got {m!r}."
            )
        if not 0.0 < alpha < 1.0:
            raise ParameterError(f"BART: `alpha` must lie between 0 and 1, got {alpha!r}.")
        if not 0.0 <= beta < math.inf:
            raise ParameterError(f"BART: `beta` must be a number >= 0, got {beta!r}.")
        if shape is not None and not isinstance(shape, list | tuple):
            shape = (shape,)
        if shape is not None and len(shape) > 2:
            raise ShapeError(f"BART: `shape` must be (n,) or (k, n) for n rows of `X`, got {tuple(shape)}.")
        response_of_rows = _response(Y, None if isinstance(covariates, Node) else len(covariates))
        offset, scale = _scale(response_of_rows, int(m), shape[0] if shape is not None and len(shape) == 2 else 2)
        if leaf_sd is not None and not 0.0 < leaf_sd < math.inf:
            raise ParameterError(f"BART: `leaf_sd`, the standard deviation of a leaf, must be > 0, got {leaf_sd!r}.")
        chosen = _kinds(split_rules, columns, kinds, categories)
        sparse = isinstance(split_prior, str)
        if sparse and split_prior != "sparse":
            raise ParameterError(f'BART: `split_prior` takes weights or "sparse", got {split_prior!r}.')
        lines = LEAVES.index(response)
        centres, spreads = _standards(covariates) if lines else ((), ())
        settings = Forest(
            int(m), float(alpha), float(beta), offset, scale if leaf_sd is None else float(leaf_sd), leaf_sd is None,
            chosen, _weights(None if sparse else split_prior, columns), sparse, columns, categories,
            bool(separate_trees), lines, _orders(monotone, columns, chosen, response), centres, spreads,
        )  # fmt: skip
        return cls.variable([as_tensor(covariates)], shape, size, [settings])

    def event_shape(self) -> Shape:
        return (self.X.static_shape[0],)

    def logp(self, value: Node) -> Node:
        return full(value.static_shape[:-1], 0.0, value.dtype)

    def draw(self, key: Node, shape: Shape) -> Node:
        def drawn(uniforms: Array, lengths: Array, covariates: Array) -> Array:
            rng = generator_of(uniforms)
            lead = tuple(int(n) for n in lengths[:-1])
            flat = prior_draws(self.forest, covariates, math.prod(lead), rng)
            return flat.reshape(*lead, len(covariates))

        return call_with_seed(drawn, "BART", TensorType("float64", shape), key, as_vector(shape), self.X)

    def mean(self) -> Node:
        return full(self.event_shape(), self.forest.offset)

    def support_point(self) -> Node:
        return full(self.event_shape(), self.forest.offset)


def _refuse(unknown: dict[str, Any], response: str) -> None:
    if unknown:
        raise TypeError(
            f"BART has no argument `{next(iter(unknown))}`; it takes X, Y, m, alpha, beta, response, split_rules, "
            "split_prior, separate_trees, monotone, leaf_sd, and shape or dims."
        )
    if response not in LEAVES:
        raise ParameterError(f'BART: `response` must be "constant", "linear" or "mix", got {response!r}.')


def table(X: Any) -> tuple[Any, tuple[str, ...], tuple[tuple[Any, ...] | None, ...], list[int]]:
    """Covariates as numbers or an expression; names of columns, their categories, and the kind of rule that fits."""
    kinds: list[int] = []
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = tuple(map(str, X.columns))
        arrays, categories = [], []
        for name in X.columns:
            values, own, kind = _column(X[name])
            arrays.append(values)
            categories.append(own)
            kinds.append(kind)
        covariates: Any = np.column_stack(arrays) if arrays else np.zeros((len(X), 0))
        _check_covariates(covariates)
        return covariates, names, tuple(categories), kinds
    if not isinstance(X, Node):
        try:
            X = np.asarray(X, float)
        except (TypeError, ValueError):
            raise ParameterError(
                "BART: `X` must hold numbers; give categories as a data frame, or as whole numbers with `split_rules=`."
            ) from None
        _check_covariates(X)
    if X.ndim != 2:
        raise ShapeError(f"BART: `X` must have the shape (rows, columns), got {X.ndim} axes.")
    if isinstance(X, Node):
        depends_on_random(X)
        width = X.static_shape[1]
        if not isinstance(width, int):
            width = np.shape(X.eval())[1]
    else:
        width = X.shape[1]
    return X, tuple(map(str, range(width))), (None,) * width, [CONTINUOUS] * width


def depends_on_random(X: Node) -> None:
    """Raise ModelError for covariates that are random."""
    if found := random_variables([X]):
        raise ModelError(
            f"BART: `X` depends on {found[0]!r}, which is random; trees split rows of known covariates. Use the data "
            "that the variable was made from, or two terms, each with covariates of its own."
        )


def _column(values: Any) -> tuple[Array, tuple[Any, ...] | None, int]:
    """A column of a data frame as numbers, with its categories, which are numbered in their order."""
    pd: Any = import_module("pandas")  # of which the column is
    if isinstance(values.dtype, pd.CategoricalDtype):
        own = values.cat
        numbers = own.codes.to_numpy().astype(float)
        ordered, categories = bool(own.ordered), tuple(own.categories)
    elif values.dtype.kind in "OUS" or isinstance(values.dtype, pd.StringDtype):
        found = pd.Categorical(values)
        numbers, ordered, categories = np.asarray(found.codes, float), False, tuple(found.categories)
    else:
        return values.to_numpy(dtype=float, na_value=np.nan), None, CONTINUOUS
    numbers[numbers < 0] = np.nan
    many = len(categories) > MOST_CATEGORIES
    return numbers, categories, CONTINUOUS if ordered or many else SUBSET


def _check_covariates(X: Array) -> None:
    if X.ndim == 2 and X.shape[1] == 0:
        raise ShapeError("BART: `X` has no columns; it needs one covariate at least.")
    if X.ndim == 2 and X.shape[0] == 0:
        raise ShapeError("BART: `X` has no rows.")
    if X.ndim == 2 and X.shape[1] > MOST_COLUMNS:
        raise ShapeError(f"BART: `X` has {X.shape[1]} columns, more than {MOST_COLUMNS}; choose among them beforehand.")
    if np.isinf(X).any():
        where = tuple(int(i) for i in np.argwhere(np.isinf(X))[0])
        raise ParameterError(f"BART: `X` is infinite at {where}; use NaN for missing values, or a large number.")
    if X.ndim == 2 and len(X) and np.isnan(X).all(axis=0).any():
        column = int(np.flatnonzero(np.isnan(X).all(axis=0))[0])
        raise ParameterError(f"BART: column {column} of `X` has no values at all; leave it out.")


def _response(Y: Any, rows: int | None) -> Array:
    """The response as numbers, one for each row as far as the rows are known."""
    try:
        values = np.asarray(Y.eval() if isinstance(Y, Node) else Y, float)
    except (TypeError, ValueError):
        raise ParameterError(
            "BART: `Y` must be numbers, for it sets the scale of the prior; code categories as 0, 1, …"
        ) from None
    if rows is not None and values.ndim and values.size and rows not in values.shape:
        raise ShapeError(f"BART: `X` has {rows} rows, and `Y` the shape {values.shape}; give the response of each row.")
    return values


def _scale(values: Array, m: int, classes: Any) -> tuple[float, float]:
    """Mean of the sum, and usual standard deviation of a leaf; those of pymc-bart, but for more than two classes."""
    if not values.size or not np.isfinite(values).any():
        raise ParameterError("BART: `Y` has no finite values; it is the response, and sets the scale of the prior.")
    finite = values[np.isfinite(values)]
    if np.isin(finite, np.arange(max(2, int(classes)) if isinstance(classes, int | np.integer) else 2)).all():
        return 0.0, 3.0 / math.sqrt(m)
    spread = float(finite.std())
    return float(finite.mean()), (spread if spread > 0.0 else 1.0) / math.sqrt(m)


def _kinds(
    rules: Any, columns: Sequence[str], usual: Sequence[int], categories: Sequence[tuple[Any, ...] | None]
) -> tuple[int, ...]:
    if rules is None:
        return tuple(usual)
    if isinstance(rules, dict):
        unknown = [name for name in rules if str(name) not in columns]
        if unknown:
            raise ParameterError(f"BART: `split_rules` names {unknown}; the columns are {list(columns)}.")
        found = {str(name): _kind(rule) for name, rule in rules.items()}
        chosen = [found.get(name, kind) for name, kind in zip(columns, usual, strict=True)]
    else:
        if not isinstance(rules, list | tuple) or len(rules) != len(columns):
            raise ParameterError(f"BART: `split_rules` must be a list of {len(columns)} rules, got {rules!r}.")
        chosen = [_kind(rule) for rule in rules]
    for name, kind, own in zip(columns, chosen, categories, strict=True):
        if kind != CONTINUOUS and own is not None and len(own) > MOST_CATEGORIES:
            raise ParameterError(
                f"BART: column `{name}` has {len(own)} categories, more than {MOST_CATEGORIES}; join some, or give it "
                "pm.bart.ContinuousSplit, which takes them in their order."
            )
    return tuple(chosen)


def _kind(rule: Any) -> int:
    name = rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__)
    known = KINDS.get(name.lower().removesuffix("rule").removesuffix("split").replace("_", ""))
    if known is None:
        raise ParameterError(
            f"BART: `split_rules` takes pm.bart.ContinuousSplit, pm.bart.OneHotSplit and pm.bart.SubsetSplit, got "
            f"{rule!r}."
        )
    return known


def _orders(given: Any, columns: Sequence[str], kinds: Sequence[int], response: str) -> tuple[int, ...]:
    """Of each column: 1 where the function rises with it, -1 where it falls, 0 elsewhere."""
    if given is None:
        return (0,) * len(columns)
    if isinstance(given, dict):
        if unknown := [name for name in given if str(name) not in columns]:
            raise ParameterError(f"BART: `monotone` names {unknown}; the columns are {list(columns)}.")
        named = {str(name): order for name, order in given.items()}
        given = [named.get(name, 0) for name in columns]
    orders = list(given) if isinstance(given, list | tuple | np.ndarray) else []
    if len(orders) != len(columns) or any(order not in (-1, 0, 1) for order in orders):
        raise ParameterError(
            f"BART: `monotone` takes 1, -1 or 0 for each of {len(columns)} columns, or a dictionary of them by name of "
            f"column; got {given!r}."
        )
    for name, order, kind in zip(columns, orders, kinds, strict=True):
        if order and kind != CONTINUOUS:
            raise ParameterError(
                f"BART: `monotone` wants order in column `{name}`, which has categories without one; make it an "
                "ordered categorical of pandas, or give it pm.bart.ContinuousSplit in `split_rules`."
            )
    if any(orders) and response != "constant":
        raise ParameterError(
            f'BART: `monotone` needs leaves with constants, and got `response="{response}"`; leave `response` out.'
        )
    return tuple(int(order) for order in orders)


def _standards(covariates: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and spread of each column; the spread is 1 where there is none."""
    known = np.asarray(covariates.eval() if isinstance(covariates, Node) else covariates, float)
    centres, spreads = [], []
    for column in known.T:
        present = column[np.isfinite(column)]
        centres.append(float(present.mean()) if present.size else 0.0)
        spread = float(present.std()) if present.size else 0.0
        spreads.append(spread if spread > 0.0 else 1.0)
    return tuple(centres), tuple(spreads)


def _weights(given: Any, columns: Sequence[str]) -> tuple[float, ...]:
    if given is None:
        return (1.0 / len(columns),) * len(columns)
    weights = np.asarray(given, float)
    if weights.shape != (len(columns),) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum():
        raise ParameterError(
            f"BART: `split_prior` needs {len(columns)} weights >= 0, one for each column of `X`, not all zero; got "
            f"{given!r}."
        )
    return tuple((weights / weights.sum()).tolist())
