"""Symbolic inputs and constant tensors under PyTensor's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import Dimension, Node, tensor_input
from consilience.ir.settings import config
from consilience.ir.side_tables import set_name
from consilience.ops.dtypes import DtypeLike, kind_of, named
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.random import Key
from consilience.ops.shape import Iota, as_length, broadcast_arrays, expand_dims, full, length_of

Lengths = Sequence[int | Dimension | None]


def tensor(
    name: str | None = None, *, dtype: DtypeLike = "floatX", shape: Lengths = (), broadcastable: None = None
) -> Node:
    """A function input. `shape` holds a length per axis, None where it is known only at the call."""
    return tensor_input(named(dtype), shape, name)


def _input(kind: str, rank: int) -> Callable[..., Node]:
    def make(name: str | None = None, *, dtype: DtypeLike | None = None, shape: Lengths | None = None) -> Node:
        lengths = (None,) * rank if shape is None else shape
        if len(lengths) != rank:
            raise ValueError(
                f"a shape of {rank} lengths was needed, got {tuple(lengths)}; use `pt.tensor` for other ranks."
            )
        return tensor_input(named(dtype or kind), lengths, name)

    make.__doc__ = f"A function input of rank {rank}, {kind} unless `dtype` says otherwise."
    return make


scalar, vector, matrix, tensor3, tensor4 = (_input("floatX", rank) for rank in range(5))
bscalar, bvector, bmatrix, btensor3, btensor4 = (_input("int8", rank) for rank in range(5))
wscalar, wvector, wmatrix, wtensor3, wtensor4 = (_input("int16", rank) for rank in range(5))
iscalar, ivector, imatrix, itensor3, itensor4 = (_input("int32", rank) for rank in range(5))
lscalar, lvector, lmatrix, ltensor3, ltensor4 = (_input("int64", rank) for rank in range(5))
fscalar, fvector, fmatrix, ftensor3, ftensor4 = (_input("float32", rank) for rank in range(5))
dscalar, dvector, dmatrix, dtensor3, dtensor4 = (_input("float64", rank) for rank in range(5))
cscalar, cvector, cmatrix, ctensor3, ctensor4 = (_input("complex64", rank) for rank in range(5))
zscalar, zvector, zmatrix, ztensor3, ztensor4 = (_input("complex128", rank) for rank in range(5))
bool_scalar = _input("bool", 0)


def constant(value: npt.ArrayLike, name: str | None = None, dtype: DtypeLike | None = None) -> Node:
    """A fixed array; equal arrays are one node."""
    node = as_tensor(value, dtype)
    if name is not None:
        set_name(node, name)
    return node


def as_tensor_variable(
    value: TensorLike, name: str | None = None, ndim: int | None = None, dtype: DtypeLike | None = None
) -> Node:
    """A node for any array, number, node or nested list of these."""
    node = as_tensor(value, dtype)
    if ndim is not None and node.ndim != ndim:
        raise ValueError(f"rank {ndim} was needed, got {node.ndim}.")
    if name is not None:
        set_name(node, name)
    return node


def key(seed: int) -> Node:
    """A random key: the start of a stream of random numbers, fixed by an integer seed."""
    return Node(Key(int(seed)))


def zeros(shape: object, dtype: DtypeLike = "floatX") -> Node:
    """Zeros of a shape."""
    return full(shape, 0, dtype)


def ones(shape: object, dtype: DtypeLike = "floatX") -> Node:
    """Ones of a shape."""
    return full(shape, 1, dtype)


def linspace(start: TensorLike, stop: TensorLike, num: TensorLike = 50, endpoint: bool = True) -> Node:
    """`num` numbers at equal distances from `start` to `stop` along a new first axis; `stop` is the last if `endpoint`.

    start, stop   floats or tensors that broadcast
    num           a length, which may be an integer scalar tensor
    """
    (low, high), dtype = promote([start, stop])
    if kind_of(dtype) != "float":
        low, high = cast(low, "float64"), cast(high, "float64")
    count = as_length(num)
    first, last = broadcast_arrays(low, high)
    gaps = length_of(count) - 1 if endpoint else length_of(count)
    position = expand_dims(Node(Iota(count)), tuple(range(1, first.ndim + 1)))
    steps = cast(apply("maximum", gaps, 1), first.dtype)
    result = cast(position, first.dtype) * ((last - first) / steps) + first
    ends = apply("logical_and", position > 0, apply("eq", position, gaps))
    return apply("where", ends, last, result) if endpoint else result


def full_like(x: TensorLike, value: TensorLike, dtype: DtypeLike | None = None) -> Node:
    """`value` with the shape and (unless given) dtype of x."""
    node = as_tensor(x)
    return full(node.static_shape, value, dtype or node.dtype)


def zeros_like(x: TensorLike, dtype: DtypeLike | None = None) -> Node:
    """Zeros with the shape and dtype of x."""
    return full_like(x, 0, dtype)


def ones_like(x: TensorLike, dtype: DtypeLike | None = None) -> Node:
    """Ones with the shape and dtype of x."""
    return full_like(x, 1, dtype)


def floatX(value: TensorLike) -> Any:  # PyMC's name
    """An expression or array as floats of `config.floatX`; expressions stay expressions, all else is an array."""
    if isinstance(value, Node):
        return as_tensor(value, config.floatX)
    return np.asarray(value, dtype=config.floatX)
