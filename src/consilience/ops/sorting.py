"""Order of elements: sorting, medians, places in sorted vectors, and lines through points, under public names.

In: tensors. Out: expressions of `ArgSort`, gathers and comparisons. NaN comes last, ties stay in their order.
"""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir import dimension as dims
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS, INTEGERS
from consilience.ops import reduce
from consilience.ops.arrangement import flatten, full_like, one_axis, take_along_axis
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import flatnonzero, getitem, index_inc, index_set
from consilience.ops.reductions import Axis
from consilience.ops.shape import as_length, concatenate, expand_dims, full, length_of, reshape, transpose


def argsort(
    a: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    stable: bool | None = None,
) -> Node:
    """Positions (int64) that put the elements along `axis` in ascending order, of the flattened tensor for None.

    kind, stable   change nothing: sorting is stable
    """
    return reduce.argsort(a, axis)


def sort(
    a: TensorLike, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
) -> Node:
    """The elements along `axis` in ascending order, of the flattened tensor for None; `kind` as in `argsort`."""
    node = flatten(a) if axis is None else as_tensor(a)
    place = one_axis(-1 if axis is None else axis, node)
    return take_along_axis(node, reduce.argsort(node, place), place)


def median(x: TensorLike, axis: Axis = None) -> Node:
    """The middle element over `axis` (all axes for None), or the mean of both middle ones; NaN when one is NaN."""
    node = as_tensor(x)
    node = node if node.dtype in FLOATS else cast(node, "float64")
    axes = reduce.normalised_axes(axis, node.ndim)
    rest = [i for i in range(node.ndim) if i not in axes]
    count = dims.product(tuple(node.static_shape[i] for i in axes))
    if count == 0:
        raise ShapeError(f"no elements have no median: {describe(node)}.")
    ordered = sort(reshape(transpose(node, [*rest, *axes]), [*(node.static_shape[i] for i in rest), count]))
    below, above = (apply("floor_div", apply("sub", length_of(count), k), 2) for k in (1, 0))
    middle = apply("add", getitem(ordered, (..., below)), getitem(ordered, (..., above)))
    last = getitem(ordered, (..., -1))
    return apply("where", apply("isnan", last), last, apply("mul", 0.5, middle))


def searchsorted(x: TensorLike, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> Node:
    """Where to put the elements of v into an ascending vector x so that it stays ascending (int64, v's shape).

    side     before ("left") or behind ("right") equal elements
    sorter   positions that sort x, where it is not ascending itself

    All elements are compared with all.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got {side!r}.")
    vector, values = as_tensor(x), as_tensor(v)
    if vector.ndim != 1:
        raise ShapeError(f"a vector was needed, got {describe(vector)}.")
    ordered = vector if sorter is None else getitem(vector, sorter)
    wanted = expand_dims(values, values.ndim)
    before = apply("lt" if side == "left" else "le", ordered, wanted)
    if {vector.dtype, values.dtype} & set(FLOATS):  # NaN is behind all numbers
        above = apply("logical_not", apply("isnan", ordered)) if side == "left" else True
        before = apply("logical_or", before, apply("logical_and", apply("isnan", wanted), above))
    return reduce.reduce("sum", before, -1)


def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: TensorLike | None = None,
    right: TensorLike | None = None,
    period: None = None,
) -> Node:
    """Values at x of the line through the points (xp, fp), whose xp ascend.

    left, right   values before the first and behind the last point; those of these points for None
    """
    if period is not None:
        raise ValueError(
            "periodic interpolation is not offered; take x modulo the period and repeat points at the ends."
        )
    at, places, values = (
        node if node.dtype in FLOATS else cast(node, "float64") for node in map(as_tensor, (x, xp, fp))
    )
    last = apply("sub", length_of(places.static_shape[0]), 1)
    found = apply("sub", searchsorted(places, at, "right"), 1)
    i = apply("maximum", apply("minimum", found, apply("sub", last, 1)), 0)
    j = apply("minimum", apply("add", i, 1), last)
    start, low = getitem(places, i), getitem(values, i)
    width = apply("sub", getitem(places, j), start)
    safe = apply("where", apply("eq", width, 0), 1.0, width)
    slope = apply("true_div", apply("sub", getitem(values, j), low), safe)
    inside = apply("add", apply("mul", slope, apply("sub", at, start)), low)
    first, final = getitem(places, 0), getitem(places, -1)
    result = apply("where", apply("lt", at, first), getitem(values, 0) if left is None else left, inside)
    beyond = apply("where", apply("gt", at, final), getitem(values, -1) if right is None else right, result)
    return apply("where", apply("eq", at, final), getitem(values, -1), beyond)


def bincount(
    x: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    assert_nonneg: bool = False,
) -> Node:
    """How often each integer 0, 1, … occurs in a vector, up to its greatest; with `weights` their sums.

    minlength       a length that the result has at least
    assert_nonneg   changes nothing: negative integers always make the function raise OutOfBoundsError
    """
    node = as_tensor(x)
    if node.ndim != 1 or node.dtype not in ("bool", *INTEGERS):
        raise ShapeError(f"a vector of integers >= 0 was needed, got {describe(node)}.")
    node = cast(node, "int64")
    least = apply("sub", 0 if minlength is None else minlength, 1)
    greatest = reduce.reduce("max", concatenate([reshape(least, (1,)), node]))
    # A negative integer leads behind the end, where an index is refused.
    length = as_length(apply("add", greatest, 1))
    places = apply("where", apply("lt", node, 0), length_of(length), node)
    values = as_tensor(1 if weights is None else weights)
    values = values if weights is None else cast(values, "float64")
    return index_inc(getitem(full((length,), 0, values.dtype), places), values)


def unique(
    ar: TensorLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: None = None,
) -> Node | tuple[Node, ...]:
    """The different elements of the flattened tensor in ascending order; their number is known when the function runs.

    return_index     also where each occurs first
    return_inverse   also the places in the result that make up the tensor again, in its shape
    return_counts    also how often each occurs
    """
    if axis is not None:
        raise ValueError("`unique` compares elements, not parts along an axis; leave `axis` out.")
    node = as_tensor(ar)
    flat = flatten(node)
    order = reduce.argsort(flat)
    ordered = getitem(flat, order)
    # The first element is different from any before it; of floats NaN is one value.
    changes = apply("neq", getitem(ordered, slice(1, None)), getitem(ordered, slice(None, -1)))
    if flat.dtype in FLOATS:
        missing = apply("isnan", ordered)
        both = apply("logical_and", getitem(missing, slice(1, None)), getitem(missing, slice(None, -1)))
        changes = apply("logical_and", changes, apply("logical_not", both))
    begins = concatenate([full((dims.minimum(ordered.static_shape[0], 1),), True), changes])
    starts = flatnonzero(begins)
    results = [getitem(ordered, starts)]
    if return_index:
        results.append(getitem(order, starts))
    if return_inverse:
        numbers = apply("sub", reduce.cumulative("sum", begins), 1)
        results.append(reshape(index_set(getitem(full_like(order, 0), order), numbers), node.static_shape))
    if return_counts:
        ends = concatenate([getitem(starts, slice(1, None)), full((1,), length_of(flat.static_shape[0]))])
        results.append(apply("sub", getitem(ends, slice(None, starts.static_shape[0])), starts))
    return results[0] if len(results) == 1 else tuple(results)
