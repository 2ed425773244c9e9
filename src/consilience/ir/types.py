"""What is known of a value before it exists: element type and shape.

Types are frozen and compare by value. A tuple type describes ops with several results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from consilience.errors import DtypeError
from consilience.ir.arithmetic import meaning
from consilience.ir.dimension import Dim, product
from consilience.ir.settings import FLOATS as FLOATS
from consilience.ir.settings import config
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.ir.node import Node

SIGNED = ("int64", "int32", "int16", "int8")
UNSIGNED = ("uint64", "uint32", "uint16", "uint8")
INTEGERS = (*SIGNED, *UNSIGNED)
COMPLEXES = ("complex128", "complex64")
NUMBERS = (*FLOATS, *INTEGERS, "bool", *COMPLEXES)
DTYPES = (*NUMBERS, "key")
# Dtypes whose arithmetic the algebra of real numbers and of sums without overflow describes: rules rewrite it.
# The others are rounded or wrap around at every step, or are complex, and are computed as written.
ALGEBRAIC = frozenset(("float64", "float32", "int64", "int32", "bool", "key"))

Shape: TypeAlias = tuple[Dim, ...]


class TensorType(Record):
    """An array: `dtype` is one of DTYPES, `shape` a tuple of integers or symbolic lengths.

    Rank 0 is a tensor type like any other. `key` is the seed of a random stream, one int64.

    dtype (str): Element type.
    shape (tuple of int): Lengths of the axes.
    See tensor: Makes an input of a type.
    >>> pt.zeros((2, 3)).type == pt.TensorType("float64", (2, 3))
    True
    """

    dtype: str
    shape: Shape = ()

    def __post_init__(self) -> None:
        if self.dtype not in _STORED or self.dtype.__class__ is not str:
            object.__setattr__(self, "dtype", _named(self.dtype))
        if self.shape.__class__ is not tuple:
            object.__setattr__(self, "shape", tuple(self.shape))

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    ndim = rank

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Whether each axis has length 1 for certain, and so is stretched by broadcasting."""
        return tuple(isinstance(n, int) and n == 1 for n in self.shape)

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The dtype as NumPy's."""
        return numpy_dtype(self.dtype)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    def __call__(self, name: str | None = None, shape: Sequence[Dim | None] | None = None) -> Node:
        """A variable of this type; lengths that are None are known when the function is called."""
        made: Node = meaning("variable of a type")(self.dtype, self.shape if shape is None else shape, name)
        return made

    make_variable = __call__

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """The data as an array of this type: what a function does with the value of an input.

        Parameters
        ----------
        data : array_like
            The value.
        strict : bool, default False
            Whether the data must be an array of this dtype already.
        allow_downcast : bool, optional
            True: converted whatever is lost; None: Python's floats are rounded to float32.

        Raises
        ------
        DtypeError
            For data of another kind.
        ShapeError
            For data of another rank or length.
        """
        return meaning("filter")(self, data, strict, allow_downcast)

    def clone(self, dtype: str | None = None, shape: Any = None) -> TensorType:
        """The same type with another dtype or shape."""
        return TensorType(dtype or self.dtype, self.shape if shape is None else tuple(shape))

    def with_shape(self, shape: Shape) -> TensorType:
        """The same element type with another shape."""
        return TensorType(self.dtype, shape)

    def with_dtype(self, dtype: str) -> TensorType:
        """The same shape with another element type."""
        return TensorType(dtype, self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(repr, self.shape))}]"


class TupleType(Record):
    """Several values at once, taken apart by `Item`."""

    items: tuple[TensorType, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"


Type: TypeAlias = TensorType | TupleType


# NumPy builds the name of a dtype anew at every access.
_NAMES = {np.dtype(name): name for name in NUMBERS}
_STORED = {name: np.dtype("int64" if name == "key" else name) for name in DTYPES}


def _named(dtype: Any) -> str:
    """The name of a dtype that NumPy knows by another, or of "floatX"; DtypeError where there is none."""
    if isinstance(dtype, str) and dtype == "floatX":
        return str(config.floatX)
    try:
        name = "" if dtype is None else dtype_name(np.dtype(dtype))
    except TypeError:
        name = ""
    if name not in DTYPES:
        raise DtypeError(f"there is no dtype {dtype!r}; give one of {', '.join(NUMBERS)}.")
    return name


def dtype_name(dtype: np.dtype[np.generic]) -> str:
    """Name of a NumPy dtype."""
    return _NAMES.get(dtype) or dtype.name


def numpy_dtype(dtype: str) -> np.dtype[np.generic]:
    """How elements of a dtype are stored: a key is an int64."""
    return _STORED[dtype]


def dtype_of(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    """The dtype a NumPy array takes inside a graph: its own; DtypeError where there is none."""
    name = dtype_name(array.dtype)
    if name in DTYPES:
        return name
    raise DtypeError(f"arrays of dtype `{array.dtype}` have no meaning here; use one of {', '.join(NUMBERS)}.")
