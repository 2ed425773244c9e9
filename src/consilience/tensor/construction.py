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


def constant(
    x: npt.ArrayLike, name: str | None = None, ndim: int | None = None, dtype: npt.DTypeLike | None = None
) -> Node:
    """A fixed array; equal arrays are one node.

    x: Tensor, or what becomes one: an array, a number, nested lists.
    name : ...
    ndim: The rank: axes of length 1 are put before the others, or left out there.
    dtype : ...
    Returns: A constant, which compilation computes with.
    See tensor: A function input.
    See cast: `x` with another element type.
    See as_tensor: A node for any array.
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

    x, name : ...
    ndim: The rank: axes of length 1 are put before the others, or left out there; ShapeError for longer ones.
    dtype : ...
    allow_xtensor_conversion: Whether a tensor with named dims loses them; TypeError for one otherwise.
    Returns: A tensor; a tensor itself where nothing is to be done.
    See constant: A fixed array.
    See tensor: A function input.
    See cast: `x` with another element type.
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

    seed: Integer.
    Returns: A scalar of dtype "key", for `rng=` of `pt.random`.
    See random.split: Several independent keys from one.
    See random.fold_in: A new key from a key and an integer.
    >>> draw = pt.random.normal(rng=pt.key(1))
    >>> draw.eval() == draw.eval()
    np.True_
    """
    return Node(Key(int(seed)))


def zeros(shape: object, dtype: npt.DTypeLike | None = None) -> Node:
    """Zeros of a shape.

    shape, dtype (floatX) : ...
    Returns: Of that shape, `config.floatX` unless a dtype is given.
    See ones_like: Ones with the shape and (unless given) dtype of a tensor.
    See ones: Ones of a shape.
    >>> pt.empty((2, 2)).eval().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return full(shape, 0, named(dtype))


empty = zeros


def ones(shape: object, dtype: npt.DTypeLike | None = None) -> Node:
    """Ones of a shape.

    shape, dtype (floatX) : ...
    Returns: Of that shape, `config.floatX` unless a dtype is given.
    See empty: Zeros of a shape.
    See ones_like: Ones with the shape and (unless given) dtype of a tensor.
    >>> pt.ones((2,)).eval().tolist()
    [1.0, 1.0]
    """
    return full(shape, 1, named(dtype))


def alloc(value: TensorLike, *shape: object) -> Node:
    """`value` repeated to the lengths that follow it.

    value: Value that is repeated.
    *shape (int or sequence of int): Lengths.
    Returns: Of that shape, and of the dtype of the value unless one is given.
    See fill: Values at the shape of another tensor.
    See full_like: `fill_value` with the shape and (unless given) dtype of a.
    See full: A tensor of one repeated value.
    >>> pt.alloc(1.5, 2, 2).eval().tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    """
    return broadcast_to(value, shape)


def zeros_like(model: TensorLike, dtype: npt.DTypeLike | None = None, opt: bool = False) -> Node:
    """Zeros with the shape and (unless given) dtype of a tensor.

    model: Tensor whose shape is taken.
    dtype: Element type of the result; that of the tensor by default.
    opt: Taken for PyTensor's sake and without effect.
    Returns: Of the shape of the argument.
    See full_like: `fill_value` with the shape and (unless given) dtype of a.
    See empty_like: Zeros with the shape and (unless given) dtype of a tensor.
    See ones_like: Ones with the shape and (unless given) dtype of a tensor.
    >>> pt.zeros_like([3.0, 4.0]).eval().tolist()
    [0.0, 0.0]
    """
    return full_like(model, 0, dtype)


def empty_like(prototype: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Zeros with the shape and (unless given) dtype of a tensor.

    prototype: Tensor whose shape is taken.
    dtype: Element type of the result; that of the tensor by default.
    Returns: Of the shape of the argument.
    See ones_like: Ones with the shape and (unless given) dtype of a tensor.
    See zeros_like: Zeros with the shape and (unless given) dtype of a tensor.
    See full_like: `fill_value` with the shape and (unless given) dtype of a.
    >>> pt.empty_like([1.0, 2.0]).eval().tolist()
    [0.0, 0.0]
    """
    return full_like(prototype, 0, dtype)


def ones_like(model: TensorLike, dtype: npt.DTypeLike | None = None, opt: bool = False) -> Node:
    """Ones with the shape and (unless given) dtype of a tensor.

    model: Tensor whose shape is taken.
    dtype: Element type of the result; that of the tensor by default.
    opt: Taken for PyTensor's sake and without effect.
    Returns: Of the shape of the argument.
    See ones: Ones of a shape.
    See empty: Zeros of a shape.
    >>> pt.ones_like([3.0, 4.0]).eval().tolist()
    [1.0, 1.0]
    """
    return full_like(model, 1, dtype)


def identity_like(x: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Ones on the main diagonal and zeros elsewhere, with the shape and (unless given) dtype of a matrix.

    x : ...
    dtype: Element type of the result; that of the matrix by default.
    Returns: Of the shape of the argument.
    See eye: Ones where column - row equals `k`.
    See tri: Ones on and below diagonal `k`.
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

    N: Number of rows.
    M: Number of columns; as many as rows by default.
    k, dtype (floatX) : ...
    Returns: A matrix, `config.floatX` unless a dtype is given.
    See identity_like: Ones on the main diagonal and zeros elsewhere.
    See eye: Ones where column - row equals `k`.
    >>> pt.tri(2).eval().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    row, column = arange(length_of(as_length(N))), arange(length_of(as_length(N if M is None else M)))
    return cast(apply("ge", apply("add", expand_dims(row, 1), k), column), dtype)


def tril_indices(n: object, k: int = 0, m: object | None = None) -> tuple[Node, Node]:
    """Rows and columns of the elements on and below diagonal `k` of n x m matrices (n x n for None).

    n: Number of rows.
    k : ...
    m: Number of columns; as many as rows by default.
    Returns: Two vectors of int64, which index a matrix together.
    See meshgrid: Coordinate tensors of a grid from its axes.
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

    n: Number of rows.
    k : ...
    m: Number of columns; as many as rows by default.
    Returns: Two vectors of int64, which index a matrix together.
    See tril_indices_from: `tril_indices` for the shape of a matrix.
    See triu_indices_from: `triu_indices` for the shape of a matrix.
    See tril_indices: Positions on and below a diagonal.
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

    a, k : ...
    Returns: Two vectors of int64, which index a matrix together.
    See triu_indices_from: `triu_indices` for the shape of a matrix.
    See tril_indices: Positions on and below a diagonal.
    See triu_indices: Positions on and above a diagonal.
    >>> [x.eval().tolist() for x in pt.tril_indices_from(pt.zeros((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _lengths(a, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(a: TensorLike, k: int = 0) -> tuple[Node, Node]:
    """`triu_indices` for the shape of a matrix.

    a, k : ...
    Returns: Two vectors of int64, which index a matrix together.
    See tril_indices: Positions on and below a diagonal.
    See triu_indices: Positions on and above a diagonal.
    See tril_indices_from: `tril_indices` for the shape of a matrix.
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

    X: Array, or a tree of them.
    Returns: A tensor of a tensor, an array of anything else.
    See intX: An expression or an array as int64.
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
