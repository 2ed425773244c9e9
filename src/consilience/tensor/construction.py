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
from consilience.ops.arrangement import full_like
from consilience.ops.axes import is_integer
from consilience.ops.dtypes import named
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import nonzero
from consilience.ops.random import Key
from consilience.ops.shape import (
    arange,
    as_length,
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


e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
euler_gamma = float(np.euler_gamma)
newaxis = None

export(globals(), "e euler_gamma inf nan newaxis pi")
