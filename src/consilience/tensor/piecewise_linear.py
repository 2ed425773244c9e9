"""Linear interpolation in one dimension: the line through given points, and constants or periods outside them."""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.order import argsort, searchsorted
from consilience.ops.shape import concatenate, length_of


def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: TensorLike | None = None,
    right: TensorLike | None = None,
    period: TensorLike | None = None,
) -> Node:
    """Values at x of the line through the points (xp, fp), whose xp ascend.

    x : ...
    xp: Places of the known values, increasing.
    fp: The known values.
    left, right: Values before the first and behind the last point; those of these points for None.
    period: Of x and xp, which then need not ascend; left and right have no meaning.
    Returns: Of the shape of `x`.
    See searchsorted: Places in an ascending vector.
    >>> pt.interp(0.5, [0.0, 1.0], [2.0, 4.0]).eval().item()
    3.0
    """
    at, places, values = (
        node if node.dtype in FLOATS else cast(node, "float64") for node in map(as_tensor, (x, xp, fp))
    )
    for name, node in (("xp", places), ("fp", values)):
        if node.ndim != 1 or node.static_shape[0] == 0:
            raise ShapeError(f"`interp` needs a vector `{name}` with at least one element, got {describe(node)}.")
    if period is not None:
        size = apply("abs", cast(period, places.dtype))
        at, places = apply("mod", at, size), apply("mod", places, size)
        order = argsort(places)
        places, values = getitem(places, order), getitem(values, order)
        # The last point comes once more before the first, the first behind the last.
        ends, starts = slice(-1, None), slice(None, 1)
        places = concatenate([getitem(places, ends) - size, places, getitem(places, starts) + size])
        values = concatenate([getitem(values, ends), values, getitem(values, starts)])
        left = right = None
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
