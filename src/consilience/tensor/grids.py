"""Points at regular distances under PyTensor's and NumPy's names: on a line, on a logarithmic scale, on a grid."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from consilience.ir import Node
from consilience.ir import constant as _constant
from consilience.ir.types import FLOATS, INTEGERS
from consilience.ops.dtypes import named
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.shape import (
    arange,
    as_length,
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    full,
    length_of,
)


def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: object = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Node | tuple[Node, Node]:
    """`num` evenly spaced numbers from `start` to `stop`, the last one included where `endpoint`.

    start, stop: Numbers or tensors, which broadcast; the numbers run along the new axis `axis`.
    num: Number of points.
    endpoint: Whether `stop` is the last point.
    retstep: Also give the distance of neighbours.
    dtype, axis (new) : ...
    Returns: As many numbers as `num`, along a new axis in front; with `retstep` their distance, too.
    See geomspace: `num` numbers of equal ratios from `start` to `stop`.
    See logspace: Numbers at equal ratios between powers.
    See arange: Numbers at a fixed distance.
    >>> pt.linspace(0.0, 1.0, 3).eval().tolist()
    [0.0, 0.5, 1.0]
    """
    low, high = _ends(start, stop)
    positions, gaps = _places(num, low, endpoint)
    distance = apply("true_div", apply("sub", high, low), gaps)
    values = apply("add", apply("mul", positions, distance), low)
    if endpoint:
        values = apply("where", _is_last(positions, num), high, values)
    result = _spread_along(values, axis, dtype)
    return (result, distance) if retstep else result


def _ends(start: TensorLike, stop: TensorLike) -> list[Node]:
    """Both ends as floats of one dtype and shape."""
    ends, dtype = promote([start, stop])
    return broadcast_arrays(*ends) if dtype in FLOATS else broadcast_arrays(*(cast(end, "float64") for end in ends))


def _places(num: object, low: Node, endpoint: bool) -> tuple[Node, Node]:
    """The places 0, 1, … along a new first axis before those of `low`, and the number of gaps between the ends."""
    count = length_of(as_length(num))
    numbers = apply("add", arange(count), full((count,), 0))  # an array of so many: no length is negative
    positions = expand_dims(numbers, tuple(range(1, low.ndim + 1)))
    gaps = apply("maximum", apply("sub", count, 1), 1) if endpoint else count
    return cast(positions, low.dtype), cast(gaps, low.dtype)


def _is_last(positions: Node, num: object) -> Node:
    last = apply("sub", length_of(as_length(num)), 1)
    return apply("logical_and", apply("eq", positions, last), apply("gt", last, 0))


def _spread_along(values: Node, axis: int, dtype: npt.DTypeLike | None) -> Node:
    if dtype is not None:
        values = cast(apply("floor", values) if named(dtype) in INTEGERS else values, dtype)
    place = axis % values.ndim
    order = [*range(1, place + 1), 0, *range(place + 1, values.ndim)]
    return values.transpose(*order) if place else values


def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: object = 50,
    base: TensorLike = 10.0,
    endpoint: bool = True,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Node:
    """`num` numbers from base ** start to base ** stop whose logarithms are evenly spaced.

    start: Power of the first number.
    stop: Power of the last number.
    num: Number of points.
    base: Base of the logarithm.
    endpoint: Whether `stop` is the last point.
    dtype, axis (new) : ...
    Returns: As many numbers as `num`, along a new axis in front.
    See arange: Numbers at a fixed distance.
    See linspace: `num` evenly spaced numbers from `start` to `stop`.
    See geomspace: `num` numbers of equal ratios from `start` to `stop`.
    >>> pt.logspace(0.0, 2.0, 3).eval().tolist()
    [1.0, 10.0, 100.0]
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    assert isinstance(exponents, Node)
    result = apply("pow", base, exponents)
    return result if dtype is None else cast(result, dtype)


def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: object = 50,
    base: TensorLike = 10.0,
    endpoint: bool = True,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Node:
    """`num` numbers of equal ratios from `start` to `stop`, which have one sign, in float64; the ends are exact.

    start: First number.
    stop: Last number.
    num: Number of points.
    base: Has no influence; PyTensor computes through powers of it.
    endpoint: Whether `stop` is the last point.
    dtype, axis (new) : ...
    Returns: As many numbers as `num`, along a new axis in front.
    See logspace: Numbers at equal ratios between powers.
    See arange: Numbers at a fixed distance.
    See linspace: `num` evenly spaced numbers from `start` to `stop`.
    >>> pt.geomspace(1.0, 8.0, 4).eval().round(4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    as_tensor(base)  # which is checked alone
    low, high = _ends(cast(start, "float64"), cast(stop, "float64"))
    positions, gaps = _places(num, low, endpoint)
    share = apply("true_div", positions, gaps)
    values = apply("mul", low, apply("pow", apply("true_div", high, low), share))
    if endpoint:
        values = apply("where", _is_last(positions, num), high, values)
    return _spread_along(values, axis, dtype)


def meshgrid(*xi: TensorLike, indexing: str = "xy", sparse: bool = False) -> list[Node]:
    """Coordinate tensors of a grid from its axes: vectors of lengths n, m, … give tensors of shape (m, n, …).

    *xi: Coordinates along each axis, vectors.
    indexing: "xy" exchanges the first two axes as plots do, "ij" does not.
    sparse: Leave axes of length 1 in place of repeating.
    Returns: One tensor per axis.
    See tril_indices: Positions on and below a diagonal.
    >>> [x.eval().tolist() for x in pt.meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', got {indexing!r}.")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    axes = [
        expand_dims(as_tensor(x).ravel(), tuple(i for i in range(len(xi)) if i != place))
        for x, place in zip(xi, order, strict=True)
    ]
    if sparse:
        return axes
    shape = [axes[order.index(i)].static_shape[i] for i in range(len(xi))]
    return [broadcast_to(axis, shape) for axis in axes]


class _Grid:
    """`mgrid[…]` and `ogrid[…]`: coordinates from slices, as NumPy's; ends may be integer scalars of the graph."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, slices: slice | tuple[slice, ...]) -> Node | list[Node]:
        listed = (slices,) if isinstance(slices, slice) else slices
        if not any(isinstance(end, Node) for s in listed for end in (s.start, s.stop, s.step)):
            found = (np.ogrid if self._sparse else np.mgrid)[slices]
            return as_tensor(found) if isinstance(slices, slice) else [as_tensor(axis) for axis in found]
        if any(s.stop is None or isinstance(s.step, complex) for s in listed):
            raise ValueError(
                "`mgrid` and `ogrid` of tensors need slices `start:stop:step` with a stop and a real step."
            )
        axes = [arange(0 if s.start is None else s.start, s.stop, 1 if s.step is None else s.step) for s in listed]
        return axes[0] if isinstance(slices, slice) else meshgrid(*axes, indexing="ij", sparse=self._sparse)


mgrid = _Grid(sparse=False)

ogrid = _Grid(sparse=True)


def bartlett(M: int | Node) -> Node:
    """The triangular window of M points; of none for less than 1. M may be known at the call only.

    M: Number of points.
    Returns: A vector of float64.
    See arange: Numbers at a fixed distance.
    >>> pt.bartlett(5).eval().tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if isinstance(M, Node):
        count = apply("maximum", M, 0)
        from_middle = apply("abs", apply("sub", apply("mul", 2.0, arange(count)), apply("sub", count, 1)))
        return apply("sub", 1.0, apply("true_div", from_middle, apply("maximum", apply("sub", count, 1), 1)))
    return _constant(np.bartlett(M))
