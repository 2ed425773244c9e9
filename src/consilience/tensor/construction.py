"""Symbolic inputs and constant tensors under PyTensor's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy.typing as npt

from consilience.ir import Dimension, Node, tensor_input
from consilience.ir import constant as _constant
from consilience.ir.side_tables import set_name
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, kind_of, promote
from consilience.ops.random import Key
from consilience.ops.shape import Iota, as_length, broadcast_arrays, expand_dims, full, length_of

Lengths = Sequence[int | Dimension | None]


def tensor(name: str | None = None, *, dtype: str = "float64", shape: Lengths = (), broadcastable: None = None) -> Node:
    """A function input. `shape` holds a length per axis, None where it is known only at the call."""
    return tensor_input(dtype, shape, name)


def _input(dtype: str | None, rank: int) -> Callable[..., Node]:
    def make(name: str | None = None, *, dtype: str | None = dtype, shape: Lengths | None = None) -> Node:
        lengths = (None,) * rank if shape is None else shape
        if len(lengths) != rank:
            raise ValueError(
                f"a shape of {rank} lengths was needed, got {tuple(lengths)}; use `pt.tensor` for other ranks."
            )
        return tensor_input(dtype or "float64", lengths, name)

    make.__doc__ = f"A function input of rank {rank}, {dtype or 'float64 unless `dtype` says otherwise'}."
    return make


scalar = _input(None, 0)
vector = _input(None, 1)
matrix = _input(None, 2)
tensor3 = _input(None, 3)
dscalar = _input("float64", 0)
dvector = _input("float64", 1)
dmatrix = _input("float64", 2)
tensor4 = _input(None, 4)
dtensor3 = _input("float64", 3)
fscalar = _input("float32", 0)
fvector = _input("float32", 1)
fmatrix = _input("float32", 2)
lscalar = _input("int64", 0)
lvector = _input("int64", 1)
lmatrix = _input("int64", 2)
iscalar = _input("int32", 0)
ivector = _input("int32", 1)
imatrix = _input("int32", 2)
bool_scalar = _input("bool", 0)


def constant(value: npt.ArrayLike, name: str | None = None, dtype: str | None = None) -> Node:
    """A fixed array; equal arrays are one node."""
    node = _constant(value, dtype)
    if name is not None:
        set_name(node, name)
    return node


def as_tensor_variable(
    value: TensorLike, name: str | None = None, ndim: int | None = None, dtype: str | None = None
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


def zeros(shape: object, dtype: str = "float64") -> Node:
    """Zeros of a shape."""
    return full(shape, 0, dtype)


def ones(shape: object, dtype: str = "float64") -> Node:
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


def full_like(x: TensorLike, value: TensorLike, dtype: str | None = None) -> Node:
    """`value` with the shape and (unless given) dtype of x."""
    node = as_tensor(x)
    return full(node.static_shape, value, dtype or node.dtype)


def zeros_like(x: TensorLike, dtype: str | None = None) -> Node:
    """Zeros with the shape and dtype of x."""
    return full_like(x, 0, dtype)


def ones_like(x: TensorLike, dtype: str | None = None) -> Node:
    """Ones with the shape and dtype of x."""
    return full_like(x, 1, dtype)
