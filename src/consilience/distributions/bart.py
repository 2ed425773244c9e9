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
from consilience.distributions.simulator import as_vector, call_with_seed, generator_of
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.ir import Node, Shape, TensorType
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import full
from consilience.record import Record

Array = npt.NDArray[Any]

CONTINUOUS, ONE_HOT, SUBSET = range(3)
KINDS: Final = {"continuous": CONTINUOUS, "onehot": ONE_HOT, "subset": SUBSET}
MOST_CUTS: Final = 100
"""Of one covariate; of more values its quantiles are taken."""
MOST_CATEGORIES: Final = 40
MOST_COLUMNS: Final = 2000
MOST_TREES: Final = 5000
TAG: Final = 4095
"""Lowest bits of the words that trees are written in; cuts leave them zero."""


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


class Forest(Record):
    """What is known of a sum of trees besides the covariates' values; see `BART`.

    `kinds`: of rules, one per column.
    `weights`: prior probabilities of the columns.
    `categories`: the categories of each column, in the order of their numbers; None for numbers.
    """

    m: int
    alpha: float
    beta: float
    offset: float
    scale: float
    kinds: tuple[int, ...]
    weights: tuple[float, ...]
    columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    separate: bool

    def split_level(self, depth: int) -> float:
        """Prior probability that a node splits where it can."""
        return float(self.alpha * (1.0 + depth) ** -self.beta)


class BART(Continuous):
    """Bayesian additive regression trees: a function of covariates as a sum of m small trees.

    Parameters
    ----------
    X
        Covariates, shape (n, p): an array, a data frame, or `pm.Data`, for which new rows can be set for predictions.
        NaN where a value is missing.
    Y
        The response, shape (n,), on the scale of the function: its mean and spread set those of the prior. A response
        of zeros and ones gives the mean 0 and leaves of 3 / sqrt(m), for a logit or probit.
    m
        Number of trees.
    alpha, beta
        A node of depth d splits with the probability alpha (1 + d)^-beta.
    response
        "constant": each leaf has one value.
    split_prior
        Weight of each column as one that nodes split by; equal ones if not given.
    split_rules
        A rule for each column, or a dictionary by name of column: `pm.bart.ContinuousSplit`, `pm.bart.OneHotSplit` or
        `pm.bart.SubsetSplit`. By default categories without an order of a data frame have subsets, all else cuts.
    separate_trees
        Whether each row of a matrix of functions, `shape=(k, n)`, has trees of its own; they share them otherwise.

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
    arguments = ("X", "Y", "m", "alpha", "beta", "response", "split_rules", "split_prior", "separate_trees")

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
        offset, scale = _scale(Y, int(m))
        settings = Forest(
            int(m), float(alpha), float(beta), offset, scale,
            _kinds(split_rules, columns, kinds, categories), _weights(split_prior, columns), columns, categories,
            bool(separate_trees),
        )  # fmt: skip
        node = as_tensor(covariates)
        if shape is not None and not isinstance(shape, list | tuple):
            shape = (shape,)
        if shape is not None and len(shape) > 2:
            raise ShapeError(f"BART: `shape` must be (n,) or (k, n) for n rows of `X`, got {tuple(shape)}.")
        return cls.variable([node], shape, size, [settings])

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
            "split_prior, separate_trees, and shape or dims."
        )
    if response not in ("constant", "linear", "mix"):
        raise ParameterError(f'BART: `response` must be "constant", got {response!r}.')
    if response != "constant":
        raise ParameterError(
            f'BART: leaves with lines, `response="{response}"`, are not available; leave `response` out, and raise '
            "`m`: a sum of more trees follows lines with smaller steps."
        )


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
    from consilience.distributions.random_variable import random_variables

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


def _scale(Y: Any, m: int) -> tuple[float, float]:
    """Mean of the sum, and standard deviation of a leaf, as pymc-bart sets them."""
    values = np.asarray(Y.eval() if isinstance(Y, Node) else Y, float)
    if not values.size or not np.isfinite(values).any():
        raise ParameterError("BART: `Y` has no finite values; it is the response, and sets the scale of the prior.")
    finite = values[np.isfinite(values)]
    if np.isin(finite, (0.0, 1.0)).all():
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


# ---- covariates in whole numbers


class Coded(Record, eq=False):
    """Covariates in whole numbers.

    `codes`: int64 (column, row): how many cuts lie below a value, or the number of its category; -1 where it is
        missing.
    `levels`: number of values per column.
    `cuts`: where cuts lie; empty for categories.
    """

    codes: Array
    levels: tuple[int, ...]
    cuts: tuple[Array, ...]


def coded(forest: Forest, X: Array) -> Coded:
    """Covariates in whole numbers, with cuts between their values."""
    codes = np.full(X.T.shape, -1, np.int64)
    levels, cuts = [], []
    for place, kind in enumerate(forest.kinds):
        values = np.asarray(X[:, place], float)
        present = ~np.isnan(values)
        if kind == CONTINUOUS:
            own = cut_points(values[present])
            codes[place, present] = np.searchsorted(own, values[present], side="left")
            levels.append(len(own) + 1)
            cuts.append(own)
        else:
            check_categories(forest, place, values[present])
            codes[place, present] = values[present].astype(np.int64)
            levels.append(int(codes[place].max()) + 1)
            cuts.append(np.zeros(0))
    return Coded(codes, tuple(levels), tuple(cuts))


def check_categories(forest: Forest, place: int, values: Array) -> None:
    """Raise ParameterError for numbers that are none of categories."""
    if ((values != np.floor(values)) | (values < 0) | (values >= MOST_CATEGORIES)).any():
        raise ParameterError(
            f"BART: column `{forest.columns[place]}` has a rule for categories, which are the whole numbers from 0 to "
            f"{MOST_CATEGORIES - 1}; got {values[:5].tolist()}."
        )


def cut_points(values: Array) -> Array:
    """Cuts between different values: between all of them, or at quantiles of many. Their lowest bits are zero."""
    different = np.unique(values)
    if len(different) > MOST_CUTS + 1:
        ordered = np.sort(values)
        places = np.linspace(0, len(ordered) - 1, MOST_CUTS + 2)[1:-1].astype(int)
        below = np.unique(ordered[places])
        above = different[np.minimum(np.searchsorted(different, below, side="right"), len(different) - 1)]
    else:
        below, above = different[:-1], different[1:]
    middle = np.where(below == above, below, below + 0.5 * (above - below))
    cuts = (middle.view(np.int64) & ~np.int64(TAG)).view(np.float64)
    apart = (cuts >= below) & (cuts < above)  # else they are closer than the bits that are kept
    found: Array = np.unique(cuts[apart])
    return found


# ---- draws of the prior


def prior_draws(forest: Forest, X: Array, count: int, rng: np.random.Generator) -> Array:
    """Functions drawn from the prior, at the rows, (count, rows)."""
    known = coded(forest, X)
    found = np.full((count, len(X)), forest.offset)
    shared = not forest.separate
    for _ in range(forest.m):
        leaves = None
        for k in range(count):
            if leaves is None or not shared:
                leaves = _prior_leaves(forest, known, rng)
            values = rng.normal(0.0, forest.scale, int(leaves.max()) + 1)
            found[k] += values[leaves]
    return found


def _prior_leaves(forest: Forest, known: Coded, rng: np.random.Generator) -> Array:
    """The leaf of each row in a tree of the prior, whose leaves all have rows."""
    while True:
        leaves = np.zeros(known.codes.shape[1], np.int64)
        ranges = [(0, levels - 1) for levels in known.levels]
        masks = [(1 << min(levels, 62)) - 1 for levels in known.levels]
        if _grown(forest, known, rng, leaves, np.arange(len(leaves)), ranges, masks, 0, [0]):
            return leaves


def _grown(
    forest: Forest,
    known: Coded,
    rng: np.random.Generator,
    leaves: Array,
    rows: Array,
    ranges: list[tuple[int, int]],
    masks: list[int],
    depth: int,
    count: list[int],
) -> bool:
    """Number the leaves of these rows; False where one is empty."""
    if not len(rows):
        return False
    able = np.array(
        [
            high > low if kind == CONTINUOUS else mask.bit_count() > 1
            for kind, (low, high), mask in zip(forest.kinds, ranges, masks, strict=True)
        ]
    )
    weights = np.asarray(forest.weights) * able
    if not weights.sum() or rng.random() >= forest.split_level(depth):
        leaves[rows] = count[0]
        count[0] += 1
        return True
    column = int(rng.choice(len(weights), p=weights / weights.sum()))
    codes = known.codes[column, rows]
    (low, high), mask, kind = ranges[column], masks[column], forest.kinds[column]
    if kind == CONTINUOUS:
        cut = int(rng.integers(low, high))
        goes = codes <= cut
        sides = ((low, cut), mask), ((cut + 1, high), mask)
    else:
        present = [c for c in range(mask.bit_length()) if mask >> c & 1]
        if kind == ONE_HOT:
            own = 1 << int(rng.choice(present))
        else:
            own = 0
            while own in (0, mask):
                own = sum(1 << c for c in present if rng.random() < 0.5)
        goes = np.array([own >> int(c) & 1 for c in codes], bool)
        sides = ((low, high), mask & own), ((low, high), mask & ~own)
    if (known.codes[column] < 0).any():
        goes = np.where(codes < 0, rng.random() < 0.5, goes)
    else:
        goes = goes.astype(bool)
    for rest, (own_range, own_mask) in zip((rows[goes], rows[~goes]), sides, strict=True):
        new_ranges, new_masks = list(ranges), list(masks)
        new_ranges[column], new_masks[column] = own_range, own_mask
        if not _grown(forest, known, rng, leaves, rest, new_ranges, new_masks, depth + 1, count):
            return False
    return True
