"""Constant tensors under PyTensor's and NumPy's names; lengths are integers or symbolic, `config.floatX` the dtype."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ir import constant as _constant
from consilience.ir.arithmetic import plain
from consilience.ir.settings import config
from consilience.ir.side_tables import describe, set_name
from consilience.ir.types import FLOATS, INTEGERS
from consilience.ops.arrangement import full_like
from consilience.ops.axes import is_integer
from consilience.ops.dtypes import named
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.index import nonzero
from consilience.ops.random import Key
from consilience.ops.shape import (
    arange,
    as_length,
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    eye,
    full,
    length_of,
    squeeze,
)
from consilience.tensor.keywords import export


def constant(
    x: npt.ArrayLike, name: str | None = None, ndim: int | None = None, dtype: npt.DTypeLike | None = None
) -> Node:
    """A fixed array; equal arrays are one node.

    Parameters
    ----------
    x : array_like
        Tensor, or what becomes one: an array, a number, nested lists.
    name : ...
    ndim : int, optional
        The rank: axes of length 1 are put before the others, or left out there.
    dtype : ...

    Returns
    -------
    TensorVariable
        A constant, which compilation computes with.

    See Also
    --------
    tensor : A function input.
    cast : `x` with another element type.
    as_tensor : A node for any array.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.constant(3.0).eval().item()
    3.0
    """
    return _checked(as_tensor(x, dtype), name, ndim)


def as_tensor_variable(
    x: TensorLike,
    name: str | None = None,
    ndim: int | None = None,
    dtype: npt.DTypeLike | None = None,
    *,
    allow_xtensor_conversion: bool = False,
) -> Node:
    """A node for any array, number, node or nested list of these.

    Parameters
    ----------
    x, name : ...
    ndim : int, optional
        The rank: axes of length 1 are put before the others, or left out there; ShapeError for longer ones.
    dtype : ...
    allow_xtensor_conversion : bool, default False
        Whether a tensor with named dims loses them; TypeError for one otherwise.

    Returns
    -------
    TensorVariable
        A tensor; a tensor itself where nothing is to be done.

    See Also
    --------
    constant : A fixed array.
    tensor : A function input.
    cast : `x` with another element type.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> (pt.as_tensor([1.0, 2.0]) * 2).eval().tolist()
    [2.0, 4.0]
    """
    return _checked(as_tensor(plain(x) if allow_xtensor_conversion else x, dtype), name, ndim)


def _checked(node: Node, name: str | None, ndim: int | None) -> Node:
    if ndim is not None and node.ndim != ndim:
        extra = node.ndim - ndim
        if not all(node.broadcastable[: max(extra, 0)]):
            raise ShapeError(f"rank {ndim} was needed, got {node.ndim}: {describe(node)}.")
        node = squeeze(node, tuple(range(extra))) if extra > 0 else expand_dims(node, tuple(range(-extra)))
    if name is not None:
        set_name(node, name)
    return node


def key(seed: int) -> Node:
    """A random key: the start of a stream of random numbers, fixed by an integer seed.

    Parameters
    ----------
    seed : int
        Integer.

    Returns
    -------
    TensorVariable
        A scalar of dtype "key", for `rng=` of `pt.random`.

    See Also
    --------
    random.split : Several independent keys from one.
    random.fold_in : A new key from a key and an integer.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> draw = pt.random.normal(rng=pt.key(1))
    >>> draw.eval() == draw.eval()
    np.True_
    """
    return Node(Key(int(seed)))


def zeros(shape: object, dtype: npt.DTypeLike | None = None) -> Node:
    """Zeros of a shape.

    Parameters
    ----------
    shape, dtype (floatX) : ...

    Returns
    -------
    TensorVariable
        Of that shape, `config.floatX` unless a dtype is given.

    See Also
    --------
    ones_like : Ones with the shape and (unless given) dtype of a tensor.
    ones : Ones of a shape.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.empty((2, 2)).eval().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return full(shape, 0, named(dtype))


empty = zeros


def ones(shape: object, dtype: npt.DTypeLike | None = None) -> Node:
    """Ones of a shape.

    Parameters
    ----------
    shape, dtype (floatX) : ...

    Returns
    -------
    TensorVariable
        Of that shape, `config.floatX` unless a dtype is given.

    See Also
    --------
    empty : Zeros of a shape.
    ones_like : Ones with the shape and (unless given) dtype of a tensor.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.ones((2,)).eval().tolist()
    [1.0, 1.0]
    """
    return full(shape, 1, named(dtype))


def alloc(value: TensorLike, *shape: object) -> Node:
    """`value` repeated to the lengths that follow it.

    Parameters
    ----------
    value : TensorLike
        Value that is repeated.
    *shape : int or sequence of int
        Lengths.

    Returns
    -------
    TensorVariable
        Of that shape, and of the dtype of the value unless one is given.

    See Also
    --------
    fill : Values at the shape of another tensor.
    full_like : `fill_value` with the shape and (unless given) dtype of a.
    full : A tensor of one repeated value.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.alloc(1.5, 2, 2).eval().tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    """
    return broadcast_to(value, shape)


def zeros_like(model: TensorLike, dtype: npt.DTypeLike | None = None, opt: bool = False) -> Node:
    """Zeros with the shape and (unless given) dtype of a tensor.

    Parameters
    ----------
    model : TensorLike
        Tensor whose shape is taken.
    dtype : dtype, optional
        Element type of the result; that of the tensor by default.
    opt : bool, default False
        Taken for PyTensor's sake and without effect.

    Returns
    -------
    TensorVariable
        Of the shape of the argument.

    See Also
    --------
    full_like : `fill_value` with the shape and (unless given) dtype of a.
    empty_like : Zeros with the shape and (unless given) dtype of a tensor.
    ones_like : Ones with the shape and (unless given) dtype of a tensor.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.zeros_like([3.0, 4.0]).eval().tolist()
    [0.0, 0.0]
    """
    return full_like(model, 0, dtype)


def empty_like(prototype: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Zeros with the shape and (unless given) dtype of a tensor.

    Parameters
    ----------
    prototype : TensorLike
        Tensor whose shape is taken.
    dtype : dtype, optional
        Element type of the result; that of the tensor by default.

    Returns
    -------
    TensorVariable
        Of the shape of the argument.

    See Also
    --------
    ones_like : Ones with the shape and (unless given) dtype of a tensor.
    zeros_like : Zeros with the shape and (unless given) dtype of a tensor.
    full_like : `fill_value` with the shape and (unless given) dtype of a.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.empty_like([1.0, 2.0]).eval().tolist()
    [0.0, 0.0]
    """
    return full_like(prototype, 0, dtype)


def ones_like(model: TensorLike, dtype: npt.DTypeLike | None = None, opt: bool = False) -> Node:
    """Ones with the shape and (unless given) dtype of a tensor.

    Parameters
    ----------
    model : TensorLike
        Tensor whose shape is taken.
    dtype : dtype, optional
        Element type of the result; that of the tensor by default.
    opt : bool, default False
        Taken for PyTensor's sake and without effect.

    Returns
    -------
    TensorVariable
        Of the shape of the argument.

    See Also
    --------
    ones : Ones of a shape.
    empty : Zeros of a shape.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.ones_like([3.0, 4.0]).eval().tolist()
    [1.0, 1.0]
    """
    return full_like(model, 1, dtype)


def identity_like(x: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Ones on the main diagonal and zeros elsewhere, with the shape and (unless given) dtype of a matrix.

    Parameters
    ----------
    x : ...
    dtype : dtype, optional
        Element type of the result; that of the matrix by default.

    Returns
    -------
    TensorVariable
        Of the shape of the argument.

    See Also
    --------
    eye : Ones where column - row equals `k`.
    tri : Ones on and below diagonal `k`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.identity_like([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    node = as_tensor(x)
    if node.ndim != 2:
        raise ShapeError(f"`identity_like` needs a matrix, got {describe(node)}.")
    rows, columns = node.static_shape
    return eye(rows, columns, dtype=node.dtype if dtype is None else dtype)


def tri(N: object, M: object | None = None, k: int = 0, dtype: npt.DTypeLike | None = None) -> Node:
    """Ones on and below diagonal `k`, zeros above it: N rows and M columns (N for None).

    Parameters
    ----------
    N : object
        Number of rows.
    M : object, optional
        Number of columns; as many as rows by default.
    k, dtype (floatX) : ...

    Returns
    -------
    TensorVariable
        A matrix, `config.floatX` unless a dtype is given.

    See Also
    --------
    identity_like : Ones on the main diagonal and zeros elsewhere.
    eye : Ones where column - row equals `k`.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.tri(2).eval().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    row, column = arange(length_of(as_length(N))), arange(length_of(as_length(N if M is None else M)))
    return cast(apply("ge", apply("add", expand_dims(row, 1), k), column), dtype)


def tril_indices(n: object, k: int = 0, m: object | None = None) -> tuple[Node, Node]:
    """Rows and columns of the elements on and below diagonal `k` of n x m matrices (n x n for None).

    Parameters
    ----------
    n : object
        Number of rows.
    k : ...
    m : object, optional
        Number of columns; as many as rows by default.

    Returns
    -------
    tuple of (TensorVariable, TensorVariable)
        Two vectors of int64, which index a matrix together.

    See Also
    --------
    meshgrid : Coordinate tensors of a grid from its axes.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().tolist() for x in pt.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    if is_integer(n) and (m is None or is_integer(m)):
        places = np.tril_indices(operator.index(n), k, None if m is None else operator.index(m))
        return _constant(places[0]), _constant(places[1])
    rows, columns = nonzero(tri(n, m, k, "bool"))
    return rows, columns


def triu_indices(n: object, k: int = 0, m: object | None = None) -> tuple[Node, Node]:
    """Rows and columns of the elements on and above diagonal `k` of n x m matrices (n x n for None).

    Parameters
    ----------
    n : object
        Number of rows.
    k : ...
    m : object, optional
        Number of columns; as many as rows by default.

    Returns
    -------
    tuple of (TensorVariable, TensorVariable)
        Two vectors of int64, which index a matrix together.

    See Also
    --------
    tril_indices_from : `tril_indices` for the shape of a matrix.
    triu_indices_from : `triu_indices` for the shape of a matrix.
    tril_indices : Positions on and below a diagonal.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().tolist() for x in pt.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    if is_integer(n) and (m is None or is_integer(m)):
        places = np.triu_indices(operator.index(n), k, None if m is None else operator.index(m))
        return _constant(places[0]), _constant(places[1])
    rows, columns = nonzero(apply("logical_not", tri(n, m, k - 1, "bool")))
    return rows, columns


def tril_indices_from(a: TensorLike, k: int = 0) -> tuple[Node, Node]:
    """`tril_indices` for the shape of a matrix.

    Parameters
    ----------
    a, k : ...

    Returns
    -------
    tuple of (TensorVariable, TensorVariable)
        Two vectors of int64, which index a matrix together.

    See Also
    --------
    triu_indices_from : `triu_indices` for the shape of a matrix.
    tril_indices : Positions on and below a diagonal.
    triu_indices : Positions on and above a diagonal.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().tolist() for x in pt.tril_indices_from(pt.zeros((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _lengths(a, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(a: TensorLike, k: int = 0) -> tuple[Node, Node]:
    """`triu_indices` for the shape of a matrix.

    Parameters
    ----------
    a, k : ...

    Returns
    -------
    tuple of (TensorVariable, TensorVariable)
        Two vectors of int64, which index a matrix together.

    See Also
    --------
    tril_indices : Positions on and below a diagonal.
    triu_indices : Positions on and above a diagonal.
    tril_indices_from : `tril_indices` for the shape of a matrix.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> [x.eval().tolist() for x in pt.triu_indices_from(pt.zeros((2, 2)))]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = _lengths(a, "triu_indices_from")
    return triu_indices(rows, k, columns)


def _lengths(a: TensorLike, name: str) -> tuple[object, object]:
    node = as_tensor(a)
    if node.ndim != 2:
        raise ShapeError(f"`{name}` needs a matrix, got {describe(node)}.")
    return node.static_shape[0], node.static_shape[1]


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

    Parameters
    ----------
    start, stop : TensorLike
        Numbers or tensors, which broadcast; the numbers run along the new axis `axis`.
    num : object, default 50
        Number of points.
    endpoint : bool, default True
        Whether `stop` is the last point.
    retstep : bool, default False
        Also give the distance of neighbours.
    dtype, axis (new) : ...

    Returns
    -------
    TensorVariable or tuple of (TensorVariable, TensorVariable)
        As many numbers as `num`, along a new axis in front; with `retstep` their distance, too.

    See Also
    --------
    geomspace : `num` numbers of equal ratios from `start` to `stop`.
    logspace : Numbers at equal ratios between powers.
    arange : Numbers at a fixed distance.

    Examples
    --------
    >>> import consilience.tensor as pt
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

    Parameters
    ----------
    start : TensorLike
        Power of the first number.
    stop : TensorLike
        Power of the last number.
    num : object, default 50
        Number of points.
    base : TensorLike, default 10.0
        Base of the logarithm.
    endpoint : bool, default True
        Whether `stop` is the last point.
    dtype, axis (new) : ...

    Returns
    -------
    TensorVariable
        As many numbers as `num`, along a new axis in front.

    See Also
    --------
    arange : Numbers at a fixed distance.
    linspace : `num` evenly spaced numbers from `start` to `stop`.
    geomspace : `num` numbers of equal ratios from `start` to `stop`.

    Examples
    --------
    >>> import consilience.tensor as pt
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

    Parameters
    ----------
    start : TensorLike
        First number.
    stop : TensorLike
        Last number.
    num : object, default 50
        Number of points.
    base : TensorLike, default 10.0
        Has no influence; PyTensor computes through powers of it.
    endpoint : bool, default True
        Whether `stop` is the last point.
    dtype, axis (new) : ...

    Returns
    -------
    TensorVariable
        As many numbers as `num`, along a new axis in front.

    See Also
    --------
    logspace : Numbers at equal ratios between powers.
    arange : Numbers at a fixed distance.
    linspace : `num` evenly spaced numbers from `start` to `stop`.

    Examples
    --------
    >>> import consilience.tensor as pt
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

    Parameters
    ----------
    *xi : TensorLike
        Coordinates along each axis, vectors.
    indexing : str, default 'xy'
        "xy" exchanges the first two axes as plots do, "ij" does not.
    sparse : bool, default False
        Leave axes of length 1 in place of repeating.

    Returns
    -------
    list of TensorVariable
        One tensor per axis.

    See Also
    --------
    tril_indices : Positions on and below a diagonal.

    Examples
    --------
    >>> import consilience.tensor as pt
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


def floatX(X: TensorLike) -> Any:  # PyMC's name
    """An expression or array as floats of `config.floatX`; expressions stay expressions, all else is an array.

    Parameters
    ----------
    X : TensorLike
        Array, or a tree of them.

    Returns
    -------
    object
        A tensor of a tensor, an array of anything else.

    See Also
    --------
    intX : An expression or an array as int64.

    Examples
    --------
    >>> import consilience as pm
    >>> pm.floatX([1, 2]).dtype.name
    'float64'
    """
    if isinstance(X, Node):
        return as_tensor(X, config.floatX)
    return np.asarray(X, dtype=config.floatX)


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

    Parameters
    ----------
    M : int or TensorVariable
        Number of points.

    Returns
    -------
    TensorVariable
        A vector of float64.

    See Also
    --------
    arange : Numbers at a fixed distance.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> pt.bartlett(5).eval().tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if isinstance(M, Node):
        count = apply("maximum", M, 0)
        from_middle = apply("abs", apply("sub", apply("mul", 2.0, arange(count)), apply("sub", count, 1)))
        return apply("sub", 1.0, apply("true_div", from_middle, apply("maximum", apply("sub", count, 1), 1)))
    return _constant(np.bartlett(M))


e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
euler_gamma = float(np.euler_gamma)
newaxis = None

export(globals(), "e euler_gamma inf mgrid nan newaxis ogrid pi")
