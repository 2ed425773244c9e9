"""`pt.interpolate`: functions of one variable through given points, as expressions of points and places.

Points in; functions of tensors out, with derivatives with respect to places and points. `interpolate1d` is PyTensor's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.ir import Node, ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS
from consilience.ops.assertion import require
from consilience.ops.axes import is_integer
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.order import argsort, searchsorted
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, length_of, stack
from consilience.tensor.keywords import published
from consilience.tensor.matrix_equations import solve_banded

if TYPE_CHECKING:
    from consilience.tensor.piecewise_linear import interp as interp  # of the table below

_METHODS = ("linear", "nearest", "first", "last", "mean")
_ENDS = ("not-a-knot", "natural", "clamped")


def interpolate1d(
    x: TensorLike,
    y: TensorLike,
    method: str = "linear",
    left_pad: TensorLike | None = None,
    right_pad: TensorLike | None = None,
    extrapolate: bool = True,
) -> Callable[[TensorLike], Node]:
    """A function through the points (x, y).

    x, y: Vectors of one length, at least 2; x in any order.
    method: Between two points: "linear", the line; "nearest", the value of the nearer one; and "last", that of the one
        before or behind; "mean" of both.
    left_pad, right_pad: Values outside of x where `extrapolate` is False; those of the end points for None.
    extrapolate: Whether the first and the last line go on outside; other methods keep the end values.
    Returns: A function of places, which gives values there.
    See cubic_spline: With continuous derivatives.
    Notes: Returns a function of a tensor of any shape. Raises ValueError for an unknown method, ShapeError for other
        shapes.
    >>> f = pt.interpolate.interpolate1d([0.0, 1.0, 3.0], [0.0, 2.0, 4.0])
    >>> f([0.5, 2.0]).eval().tolist()
    [1.0, 3.0]
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}; got {method!r}.")
    places, values = _points(x, y, "interpolate1d", 2)
    left, right = (
        getitem(values, end) if pad is None else cast(pad, values.dtype)
        for end, pad in ((0, left_pad), (-1, right_pad))
    )

    def interpolated(x_hat: TensorLike) -> Node:
        at = _float(x_hat)
        i = _piece(places, at)
        a, b = getitem(places, i), getitem(places, i + 1)
        low, high = getitem(values, i), getitem(values, i + 1)
        if method == "linear":
            found = low + (high - low) * ((at - a) / (b - a))
        elif method == "nearest":
            found = apply("where", apply("le", at - a, b - at), low, high)
        elif method == "mean":
            found = 0.5 * (low + high)
        else:
            found = low if method == "first" else high
        if method != "linear":  # at a point, and outside of all, that point's value
            found = apply("where", apply("le", at, a), low, apply("where", apply("ge", at, b), high, found))
        if extrapolate:
            return found
        found = apply("where", apply("lt", at, getitem(places, 0)), left, found)
        return apply("where", apply("gt", at, getitem(places, -1)), right, found)

    return interpolated


def cubic_spline(
    x: TensorLike, y: TensorLike, bc_type: str = "not-a-knot", nu: int = 0
) -> Callable[[TensorLike], Node]:
    """The function with two continuous derivatives through the points (x, y) that is cubic between them.

    x, y: Vectors of one length, at least 2 (for "not-a-knot" at least 4), x in any order, without repetitions.
    bc_type: At both ends: "not-a-knot", the third derivative is continuous at the second points too; "natural", the
        second derivative is 0; "clamped", the first one is 0.
    nu: 0 for the function, 1, 2 or 3 for its derivatives.
    Returns: A function of places, which gives values there.
    See interpolate1d: Straight lines and steps.
    Notes: Returns a function of a tensor of any shape; outside of x the end pieces go on. The same as
        `scipy.interpolate.CubicSpline`. Source: C. de Boor (1978), "A Practical Guide to Splines", chapter 4.
    >>> f = pt.interpolate.cubic_spline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])
    >>> f(1.5).eval().round(4).item()
    3.375
    """
    if bc_type not in _ENDS:
        raise ValueError(f"bc_type must be one of {', '.join(_ENDS)}; got {bc_type!r}.")
    if nu not in (0, 1, 2, 3):
        raise ValueError(f"nu must be 0, 1, 2 or 3; got {nu!r}.")
    places, values = _points(x, y, "cubic_spline", 4 if bc_type == "not-a-knot" else 2)
    slopes = _slopes(places, values, bc_type)

    def spline(x_hat: TensorLike) -> Node:
        at = _float(x_hat)
        i = _piece(places, at)
        h = getitem(places, i + 1) - getitem(places, i)
        t = at - getitem(places, i)
        rise = (getitem(values, i + 1) - getitem(values, i)) / h
        first, last = getitem(slopes, i), getitem(slopes, i + 1)
        c3 = (first + last - 2.0 * rise) / (h * h)
        c2 = (rise - first) / h - c3 * h
        if nu == 0:
            return getitem(values, i) + t * (first + t * (c2 + t * c3))
        if nu == 1:
            return first + t * (2.0 * c2 + 3.0 * t * c3)
        return 2.0 * c2 + 6.0 * t * c3 if nu == 2 else 6.0 * c3 + 0.0 * t

    return spline


def bspline_basis(x: TensorLike, knots: TensorLike, degree: int = 3) -> Node:
    """Values of the B-splines of a degree at places x, (..., number of knots - degree - 1): a design matrix.

    x : ...
    knots: Vector that ascends, of at least degree + 2 numbers; repeated ones take continuity away. The last spline has
        its value at the last knot too; outside of the knots all are 0.
    degree: Degree of the polynomials.
    Returns: A row per place, a column per function of the basis.
    See cubic_spline: Through points.
    Notes: As `scipy.interpolate.BSpline.design_matrix`. Source: Cox's and de Boor's recursion.
    >>> knots = [0.0, 0.0, 1.0, 2.0, 2.0]
    >>> pt.interpolate.bspline_basis([0.5, 1.0], knots, degree=1).eval().tolist()
    [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
    """
    if not is_integer(degree) or degree < 0:
        raise ValueError(f"degree must be a whole number >= 0, got {degree!r}.")
    t, at = _float(knots), _float(x)
    if t.ndim != 1 or (isinstance(t.static_shape[0], int) and t.static_shape[0] < degree + 2):
        raise ShapeError(f"`bspline_basis` needs a vector of at least {degree + 2} knots, got {describe(t)}.")
    place = expand_dims(at, at.ndim)
    end = getitem(t, -1)
    # The last piece that is not empty holds its right end too.
    inside = apply("lt", place, getitem(t, slice(1, None)))
    final = apply("logical_and", apply("eq", place, end), apply("eq", getitem(t, slice(1, None)), end))
    starts = getitem(t, slice(None, -1))
    here = apply("logical_and", apply("le", starts, place), apply("logical_or", inside, final))
    proper = apply("lt", starts, getitem(t, slice(1, None)))
    basis = cast(apply("logical_and", here, proper), t.dtype)
    for d in range(1, degree + 1):
        low, high = getitem(t, slice(None, -d)), getitem(t, slice(d, None))
        width = high - low
        share = (place - low) / apply("where", apply("gt", width, 0.0), width, 1.0)
        rising = apply("where", apply("gt", width, 0.0), share, 0.0)
        falling = apply("where", apply("gt", width, 0.0), 1.0 - share, 0.0)
        first, rest = (Ellipsis, slice(None, -1)), (Ellipsis, slice(1, None))
        basis = getitem(rising, first) * getitem(basis, first) + getitem(falling, rest) * getitem(basis, rest)
    return basis


def _float(x: TensorLike) -> Node:
    node = as_tensor(x)
    return node if node.dtype in FLOATS else cast(node, "float64")


def _points(x: TensorLike, y: TensorLike, name: str, least: int) -> tuple[Node, Node]:
    """Places in ascending order with their values."""
    places, values = _float(x), _float(y)
    for title, node in (("x", places), ("y", values)):
        if node.ndim != 1 or (isinstance(node.static_shape[0], int) and node.static_shape[0] < least):
            raise ShapeError(f"`{name}` needs a vector `{title}` of at least {least} elements, got {describe(node)}.")
    n, m = places.static_shape[0], values.static_shape[0]
    if isinstance(n, int) and isinstance(m, int) and n != m:
        raise ShapeError(f"`{name}` needs as many values as places, got {n} places and {m} values.")
    order = argsort(places)
    if not (n is m or n == m):
        order = require([order], (ShapeConstraint(n, m, f"`{name}` has as many values as places"),))[0]
    return getitem(places, order), getitem(values, order)


def _piece(places: Node, at: Node) -> Node:
    """The number of the piece that holds each place, the end ones for those outside."""
    last = length_of(places.static_shape[0]) - 2
    return apply("minimum", apply("maximum", searchsorted(places, at, "right") - 1, 0), last)


def _slopes(x: Node, y: Node, bc_type: str) -> Node:
    """First derivatives at the points: the solution of a system with three diagonals."""
    h = getitem(x, slice(1, None)) - getitem(x, slice(None, -1))
    rise = (getitem(y, slice(1, None)) - getitem(y, slice(None, -1))) / h
    before, behind = slice(None, -1), slice(1, None)
    inner = 2.0 * (getitem(h, before) + getitem(h, behind))
    right = 3.0 * (getitem(h, behind) * getitem(rise, before) + getitem(h, before) * getitem(rise, behind))
    if bc_type == "clamped":
        ends: list[Any] = [(1.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
    elif bc_type == "natural":
        ends = [(2.0, 1.0, 3.0 * getitem(rise, 0)), (2.0, 1.0, 3.0 * getitem(rise, -1))]
    else:
        ends = []
        for a, b in ((0, 1), (-1, -2)):
            one, two = getitem(h, a), getitem(h, b)
            both = one + two
            value = ((one + 2.0 * both) * two * getitem(rise, a) + one * one * getitem(rise, b)) / both
            ends.append((two, both, value))
    (d0, o0, r0), (d1, o1, r1) = ends
    diagonal = concatenate([_one(d0, x), inner, _one(d1, x)])
    above = concatenate([_one(0.0, x), _one(o0, x), getitem(h, before)])
    below = concatenate([getitem(h, behind), _one(o1, x), _one(0.0, x)])
    return solve_banded((1, 1), stack([above, diagonal, below]), concatenate([_one(r0, x), right, _one(r1, x)]))


def _one(value: Any, like: Node) -> Node:
    return broadcast_to(cast(as_tensor(value), like.dtype), (1,))


load_on_use(__name__, {"piecewise_linear": "interp"}, publish=published)
