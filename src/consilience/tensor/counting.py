"""Counts of elements: by value, by the interval they lie in, and the interval of each.

In: tensors, ascending ends of intervals. Out: expressions of `searchsorted` and of sums by position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Node
from consilience.ir import dimension as dims
from consilience.ir.settings import config
from consilience.ir.side_tables import describe
from consilience.ir.types import COMPLEXES, FLOATS, INTEGERS
from consilience.ops.arrangement import flatten
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem, index_inc, index_set
from consilience.ops.order import searchsorted
from consilience.ops.parameter_check import Asserted
from consilience.ops.reduce import reduce
from consilience.ops.shape import arange, as_length, concatenate, full, length_of, reshape


def bincount(
    x: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    assert_nonneg: bool = False,
) -> Node:
    """How often each integer 0, 1, … occurs in a vector, up to its greatest; with `weights` their sums.

    x : ...
    weights: Weight of each element.
    minlength: A length that the result has at least.
    assert_nonneg: Changes nothing: negative integers always make the function raise OutOfBoundsError.
    Returns: A vector of int64, or of the dtype of the weights.
    See histogram: How many elements lie in each interval (int64).
    See unique: The different elements in ascending order.
    >>> pt.bincount([0, 1, 1, 3]).eval().tolist()
    [1, 2, 0, 1]
    """
    node = as_tensor(x)
    if node.ndim != 1 or node.dtype not in ("bool", *INTEGERS):
        raise ShapeError(f"a vector of integers >= 0 was needed, got {describe(node)}.")
    node = cast(node, "int64")
    least = apply("sub", 0 if minlength is None else minlength, 1)
    greatest = apply("maximum", reduce("max", _or_one(node, -1)), least)
    # A negative integer leads behind the end, where an index is refused.
    length = as_length(apply("add", greatest, 1))
    places = apply("where", apply("lt", node, 0), length_of(length), node)
    values = as_tensor(1 if weights is None else weights)
    values = values if weights is None else cast(values, "float64")
    return index_inc(getitem(full((length,), 0, values.dtype), places), values)


def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> Node:
    """The number of the interval in which each element lies (int64): i where bins[i - 1] <= x < bins[i].

    x : ...
    bins: A vector that ascends or descends, else the function raises AssertionError; 0 and its length stand for what
        lies outside. Of a descending one, i where bins[i - 1] > x >= bins[i].
    right: The other end belongs to an interval.
    Returns: Numbers of intervals (int64), of the shape of `x`.
    See searchsorted: Places in an ascending vector.
    See histogram_bin_edges: The ends of the intervals in which `histogram` counts.
    See histogram: How many elements lie in each interval (int64).
    >>> pt.digitize([0.5, 1.5], [0.0, 1.0, 2.0]).eval().tolist()
    [1, 2]
    """
    node, ends = as_tensor(x), _vector(bins, "digitize")
    before, after = getitem(ends, slice(None, -1)), getitem(ends, slice(1, None))
    down, up = (reduce("any", apply(name, after, before)) for name in ("lt", "gt"))
    fits = apply("logical_not", apply("logical_and", down, up))
    down = Node(Asserted("`digitize` needs `bins` that ascend or descend."), down, fits)
    ascending = apply("where", down, getitem(ends, slice(None, None, -1)), ends)
    found = searchsorted(ascending, node, "left" if right else "right")
    return apply("where", down, apply("sub", length_of(ends.static_shape[0]), found), found)


def histogram_bin_edges(
    a: TensorLike, bins: Any = 10, range: tuple[TensorLike, TensorLike] | None = None, weights: TensorLike | None = None
) -> Node:
    """The ends of the intervals in which `histogram` counts: one more than there are intervals.

    a : ...
    bins: A number of intervals of equal width, or a vector of ascending ends.
    range: Least and greatest edge.
    weights: Taken for NumPy's sake; ends do not depend on them.
    Returns: A vector that ascends.
    See histogram: How many elements lie in each interval (int64).
    See digitize: The number of the interval in which each element lies (int64).
    See searchsorted: Places in an ascending vector.
    >>> pt.histogram_bin_edges([0.0, 1.0, 2.0], bins=2).eval().tolist()
    [0.0, 1.0, 2.0]
    """
    if weights is not None:
        as_tensor(weights)  # which is checked alone
    return _edges(flatten(a), bins, range)[0]


def histogram(
    a: TensorLike,
    bins: Any = 10,
    range: tuple[TensorLike, TensorLike] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Node, Node]:
    """How many elements lie in each interval (int64), the last one closed on both sides, and the ends of the intervals.

    a : ...
    bins: A number of intervals of equal width, or a vector of ascending ends.
    range: Least and greatest end for a number of intervals, those of the elements for None; a width of 0 becomes 1.
    density: Divide by width and sum, so that the integral is 1.
    weights: Of the elements: their sums are given in place of counts, in their dtype.
    Returns: The counts, or the density, and the ends.
    See unique: The different elements in ascending order.
    See bincount: How often each integer occurs.
    >>> [x.eval().tolist() for x in pt.histogram([0.0, 1.0, 2.0], bins=2)]
    [[1, 2], [0.0, 1.0, 2.0]]
    """
    x = flatten(a)
    if x.dtype in COMPLEXES:
        raise DtypeError(f"complex numbers have no order: {describe(x)}.")
    edges, equal = _edges(x, bins, range)
    last = apply("sub", length_of(edges.static_shape[0]), 1)
    if equal:
        number, inside = _equal_interval(x, edges)
    else:
        found = searchsorted(edges, x, "right")
        number = apply("where", apply("eq", x, getitem(edges, -1)), apply("sub", last, 1), apply("sub", found, 1))
        inside = apply("logical_and", apply("ge", x, getitem(edges, 0)), apply("le", x, getitem(edges, -1)))
    # What lies outside is counted behind the end and left out.
    number = apply("where", inside, number, last)
    values = as_tensor(1 if weights is None else weights)
    values = values if weights is None else flatten(values)
    if weights is not None and values.static_shape != x.static_shape:
        values = reshape(values, x.static_shape)
    size = edges.static_shape[0]
    kind = "int64" if values.dtype == "bool" else values.dtype
    total = index_inc(getitem(full((size,), 0, kind), number), values)
    counts = getitem(total, slice(None, -1))
    if not density:
        return counts, edges
    widths = apply("sub", getitem(edges, slice(1, None)), getitem(edges, slice(None, -1)))
    return apply("true_div", apply("true_div", cast(counts, "float64"), widths), reduce("sum", counts)), edges


def _edges(x: Node, bins: Any, range: tuple[TensorLike, TensorLike] | None) -> tuple[Node, bool]:
    """The ends of intervals, and whether these have equal widths."""
    if isinstance(bins, str):
        raise ValueError(
            f"`bins` must be a number of intervals or their ends; estimates such as {bins!r} are not there."
        )
    given = as_tensor(bins)
    if given.ndim == 1:
        rising = apply("ge", getitem(given, slice(1, None)), getitem(given, slice(None, -1)))
        message = "`histogram` needs ends of intervals that ascend."
        return Node(Asserted(message), given, reduce("all", rising)), False
    if given.ndim or given.dtype not in INTEGERS:
        raise ShapeError(f"`bins` must be a whole number or a vector, got {describe(given)}.")
    if isinstance(bins, int) and bins < 1:
        raise ShapeError(f"at least one interval was needed, got bins={bins}.")
    own = x if x.dtype in FLOATS else cast(x, "float64")
    if range is None:
        # No elements lie in [0, 1], as NumPy has it.
        low, high = (reduce(kind, _or_one(own, end)) for kind, end in (("min", 0), ("max", 1)))
    else:
        low, high = (cast(end, own.dtype) for end in map(as_tensor, range))
    fits = apply("logical_and", apply("le", low, high), apply("isfinite", apply("sub", high, low)))
    low = Node(
        Asserted("`histogram` needs a finite range from least to greatest, and elements without NaN."), low, fits
    )
    flat = apply("eq", low, high)
    low, high = apply("where", flat, low - 0.5, low), apply("where", flat, high + 0.5, high)
    places = arange(apply("add", given, 1))
    whole = apply("sub", high, low)
    # What enters a maximum or minimum is rounded by itself, as in NumPy: elements may lie on an end.
    step = apply("maximum", apply("true_div", whole, cast(given, own.dtype)), 0.0)
    distances = apply("minimum", apply("mul", cast(places, own.dtype), step), whole)
    return apply("where", apply("eq", places, given), high, apply("add", distances, low)), True


def _or_one(x: Node, stand_in: TensorLike) -> Node:
    """A vector itself, or where it is empty one of one element."""
    missing = dims.maximum(1 - x.static_shape[0], 0)
    return x if missing == 0 else concatenate([x, full((missing,), stand_in, x.dtype)])


def _equal_interval(x: Node, edges: Node) -> tuple[Node, Node]:
    """The interval of each element, by division and a comparison with the ends beside it; and whether it is inside."""
    low, high = getitem(edges, 0), getitem(edges, -1)
    last = apply("sub", length_of(edges.static_shape[0]), 2)
    inside = apply("logical_and", apply("ge", x, low), apply("le", x, high))
    scale = apply("true_div", cast(apply("add", last, 1), edges.dtype), apply("sub", high, low))
    near = apply("where", inside, apply("sub", x, low) * scale, 0.0)
    number = apply("minimum", cast(near, "int64"), last)
    number = apply("sub", number, cast(apply("lt", x, getitem(edges, number)), "int64"))
    above = apply("logical_and", apply("ge", x, getitem(edges, number + 1)), apply("neq", number, last))
    return apply("where", inside, apply("add", number, cast(above, "int64")), 0), inside


def to_one_hot(y: TensorLike, nb_class: object, dtype: npt.DTypeLike | None = None) -> Node:
    """Rows of zeros with a one at each of the classes y: a vector of n gives shape (n, nb_class).

    y: Integers from 0 to nb_class - 1; others make the function raise OutOfBoundsError.
    nb_class: Number of classes.
    dtype: Of the result; `config.floatX` for None.
    Returns: Of one more axis, of length `nb_class`.
    See eye: Ones where column - row equals `k`.
    >>> pt.to_one_hot([0, 2], 3).eval().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    classes = _vector(y, "to_one_hot")
    if classes.dtype not in INTEGERS:
        raise DtypeError(f"classes are integers, got {describe(classes)}.")
    count = as_length(nb_class)
    places = apply("where", apply("lt", classes, 0), length_of(count), classes)
    zeros = full((classes.static_shape[0], count), 0, config.floatX if dtype is None else np.dtype(dtype).name)
    return index_set(getitem(zeros, (arange(length_of(classes.static_shape[0])), places)), 1)


def _vector(value: TensorLike, name: str) -> Node:
    node = as_tensor(value)
    if node.ndim != 1:
        raise ShapeError(f"`{name}` needs a vector, got {describe(node)}.")
    return node
