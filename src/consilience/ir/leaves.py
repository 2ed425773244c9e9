"""Nodes without inputs: function inputs, shared slots, region parameters and constants."""

from __future__ import annotations

import itertools
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import dimension, side_tables
from consilience.ir.arithmetic import means
from consilience.ir.node import Node
from consilience.ir.op import Op
from consilience.ir.types import DTYPES, TensorType, dtype_name, dtype_of, numpy_dtype
from consilience.names.absent import elsewhere

SHORT = 64  # bytes of an array that is its own key
LONG = 4096  # bytes from which on machine code uses an array where it lies
LINE = 64  # bytes of a cache line
FEW_COLUMNS = 32  # a product with at most so many columns is a sum of scaled columns in a loop over rows
LARGE = 1 << 22  # bytes from which on an array is used where it lies, on a line or not: reading it waits for memory

_serials = itertools.count()


class Input(Op):
    """A value given when a function is called; `serial` tells two inputs of equal type apart."""

    serial: int
    of: TensorType

    def __reduce__(self) -> tuple[Any, ...]:
        return _fresh, (Input, self.of)

    def result_type(self, *inputs: Node) -> TensorType:
        return self.of


class Shared(Op):
    """A named slot whose value lives in a context, not in the graph."""

    serial: int
    of: TensorType

    def __reduce__(self) -> tuple[Any, ...]:
        return _fresh, (Shared, self.of)

    def result_type(self, *inputs: Node) -> TensorType:
        return self.of


class Parameter(Op):
    """The value at `position` of the region that holds this node."""

    position: int
    of: TensorType

    def result_type(self, *inputs: Node) -> TensorType:
        return self.of


class Constant(Op):
    """A fixed array, compared by dtype, shape and bits: 0.0 is not -0.0, 1 is not True.

    `key`: dtype, shape, and the bits of a short array or a checksum of the bits of a longer one.
    """

    array: npt.NDArray[Any]
    key: tuple[str, tuple[int, ...], bytes | int]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Constant) or self.key != other.key:
            return False
        if isinstance(self.key[2], bytes) or self.array is other.array:
            return True
        return self.array.data.cast("B") == other.array.data.cast("B")

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return _constant, (self.array,)

    def __repr__(self) -> str:
        if self.array.size == 1:
            return f"Constant({self.array.item()!r})"
        return f"Constant(array of {self.array.size})"

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType(self.key[0], self.array.shape)


@means("variable of a type")
def tensor_input(dtype: str, shape: Sequence[int | dimension.Dimension | None], name: str | None = None) -> Node:
    """A fresh function input; `None` in `shape` makes a fresh symbolic length."""
    result = Node(Input(next(_serials), _type(dtype, shape, name)))
    if name is not None:
        side_tables.set_name(result, name)
    return result


def shared_slot(dtype: str, shape: Sequence[int | dimension.Dimension | None], name: str | None = None) -> Node:
    """A fresh shared slot; contexts give it a value."""
    result = Node(Shared(next(_serials), _type(dtype, shape, name)))
    if name is not None:
        side_tables.set_name(result, name)
    return result


def _type(dtype: str, shape: Sequence[int | dimension.Dimension | None], name: str | None) -> TensorType:
    if dtype not in DTYPES:
        raise DtypeError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
    lengths: list[dimension.Dim] = []
    for axis, length in enumerate(shape):
        if length is None:
            lengths.append(dimension.symbol(f"{name or 'input'}.shape[{axis}]"))
        elif isinstance(length, dimension.Dimension):
            lengths.append(length)
        else:
            lengths.append(_checked_length(int(length), name))
    return TensorType(dtype, tuple(lengths))


def _checked_length(length: int, name: str | None) -> int:
    if length < 0:
        raise ValueError(f"lengths of `{name or 'input'}` must be >= 0, got {length}.")
    return length


def constant(value: Node | npt.ArrayLike, dtype: str | None = None) -> Node:
    """A fixed array as a node; interned by dtype, shape and bits.

    The array is copied, unless it `stays`: a large one that is read-only.
    """
    if isinstance(value, Node):
        return value
    if is_masked(value):
        raise DtypeError("masked arrays have no meaning as constants; fill or drop the masked entries first.")
    array = _as_array(value)
    kind = dtype_of(array) if dtype is None else dtype
    if stays(array, numpy_dtype(kind)):
        return Node(_constant(array))
    if array.nbytes > LONG:
        return Node(_constant(on_a_line(array, numpy_dtype(kind))))
    return Node(_constant(np.array(array, dtype=numpy_dtype(kind), order="C", copy=True)))


def on_a_line(array: npt.NDArray[Any], dtype: np.dtype[Any] | None = None) -> npt.NDArray[Any]:
    """A contiguous copy that machine code can use where it lies: it starts on a cache line, and another one follows."""
    kind = np.dtype(array.dtype if dtype is None else dtype)
    size = array.size * kind.itemsize
    raw = np.empty(size + 2 * LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    copy = raw[start : start + size].view(kind).reshape(array.shape)
    copy[...] = array
    return copy


def stays(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether an array is used where it lies: a large, contiguous one of this dtype that nobody can write to.

    Nor to one that it is a view of: `array.setflags(write=False)` says so, `np.load(file, mmap_mode="r")` does.
    """
    if array.nbytes < LARGE or array.dtype != dtype or not (array.flags.c_contiguous and array.flags.aligned):
        return False
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return True


def by_columns(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """A copy of a large matrix of few columns, column after column as loops over its rows read it; None for others.

    Nobody can write to it. One that stays where it lies is none of them.
    """
    rows, columns = array.shape if array.ndim == 2 else (0, 0)
    large = array.nbytes >= LARGE and columns <= min(rows, FEW_COLUMNS) and array.dtype.kind in "biuf"
    if not large or stays(array, dtype):
        return None
    copy = on_a_line(array.T, dtype)
    _freeze(copy)
    return copy.T


def _freeze(array: npt.NDArray[Any]) -> None:
    """Let nobody write to an array, nor to those that it is a view of."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner.setflags(write=False)
        owner = owner.base


def is_on_a_line(array: npt.NDArray[Any]) -> bool:
    """Whether it is such a copy, or a contiguous view of one from its beginning."""
    raw, place = array.base, array.ctypes.data
    return (
        isinstance(raw, np.ndarray)
        and raw.dtype == np.uint8
        and array.flags.c_contiguous
        and place % LINE == 0
        and raw.ctypes.data + raw.nbytes >= place + array.nbytes + LINE
    )


def _constant(stored: npt.NDArray[Any]) -> Constant:
    """The op of an array that nobody else writes to."""
    stored.setflags(write=False)
    bits = stored.tobytes() if stored.nbytes <= SHORT else zlib.crc32(stored.data)
    return Constant(stored, (dtype_name(stored.dtype), stored.shape, bits))


def _fresh(kind: type[Input | Shared], of: TensorType) -> Input | Shared:
    """A leaf of its own."""
    return kind(next(_serials), of)


def _as_array(value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A value as an array of numbers or truth values; DtypeError or ShapeError for anything else."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"the rows of a nested list must have equal lengths: {error}") from None
    except TypeError as error:  # of what says how it becomes an array, and refuses to
        raise DtypeError(f"an array of numbers was needed, got {type(value).__name__}: {error}") from None
    if array.dtype.kind not in "biufc":
        if hasattr(value, "tocsr"):
            raise DtypeError(
                "a dense tensor was needed, got a sparse matrix: `pt.dot` and the functions of `consilience.sparse` "
                "take it, `.toarray()` makes it dense."
            )
        if told := next(filter(None, map(elsewhere, (value, *array.flat))), ""):
            raise DtypeError(told)
        odd = next((x for x in array.flat if not isinstance(x, bool | int | float | np.number)), value)
        raise DtypeError(
            f"values such as {odd!r} ({type(odd).__name__}, dtype {array.dtype}) have no meaning here; tensors hold "
            f"numbers and truth values: code categories and dates as numbers first{_coding(array, odd)}."
        )
    return array


def _coding(array: npt.NDArray[Any], odd: object) -> str:
    """How texts or dates become numbers."""
    if isinstance(odd, str):
        return ", by `codes, labels = pandas.factorize(values)`"
    dated = array.dtype.kind in "mM" or hasattr(odd, "isoformat")
    return ", as days by `(dates - dates.min()) / numpy.timedelta64(1, 'D')`" if dated else ""


def is_masked(value: object) -> bool:
    """Whether a value is a masked array; `numpy.ma` takes milliseconds to load, so this does not load it."""
    # Another thread may be loading the module, which then is there but holds little.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(value, masked)


def constant_value(node: Node) -> npt.NDArray[Any] | None:
    """The array of a constant node, else None."""
    return node.op.array if isinstance(node.op, Constant) else None


def is_leaf(node: Node) -> bool:
    """Whether a node is given from outside: an input, a shared slot or a region's parameter."""
    return isinstance(node.op, Input | Shared | Parameter)
