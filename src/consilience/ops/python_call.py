"""Functions of NumPy arrays as ops: results of declared types, computed by Python.

A callable with its types in, nodes out. Backends call it with the interpreter's lock; it must be pure, since equal
calls are one.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Node, Op, TensorType, TupleType, Type, numpy_dtype
from consilience.record import Record

Array = npt.NDArray[Any]


class NativeCall(Record):
    """How machine code makes a call itself: a C function that gives an int, 0 for success.

    address     where it starts; it is called from several threads at once
    arguments   in their order: "operand 0", "result 1" (pointers to float64 in row-major order, by position), an
                integer (an int of C), or a tuple of one integer (a pointer)
    """

    address: int
    arguments: tuple[str | int | tuple[int], ...]


class PythonFunction(Record, eq=False):
    """A callable of arrays.

    function   of one array per operand; gives one array, or a list or tuple of them
    name       for messages
    gradient   of the operands and of one cotangent per result; gives one cotangent per operand, None for zeros
    native     the same as machine code, where there is such: Python is not asked then
    slopes     whether the function gives a number and, as second result, its derivative by the only operand
    """

    function: Callable[..., Any]
    name: str
    gradient: Callable[..., Any] | None = None
    native: NativeCall | None = None
    slopes: bool = False

    @property
    def identity(self) -> str:
        """A description that is the same in every process: its name, and its code where Python knows that."""
        function = inspect.unwrap(self.function)
        code = getattr(function, "__code__", None)
        known = "" if code is None else hashlib.sha256(repr(_plain(code)).encode()).hexdigest()
        parts = (self.name, getattr(function, "__qualname__", ""), known[:16], getattr(function, "identity", ""))
        return " ".join(filter(None, parts))


class PythonCall(Op):
    """Results of a function of arrays, of the types in `results`."""

    function: PythonFunction
    results: tuple[TensorType, ...]

    def result_type(self, *inputs: Node) -> Type:
        return TupleType(self.results)

    def __repr__(self) -> str:
        return f"python({self.function.name})"


def _plain(constant: Any) -> Any:
    """A constant of a function without what differs between processes: addresses of code, the order of sets."""
    if isinstance(constant, CodeType):
        return constant.co_code, constant.co_names, _plain(constant.co_consts)
    if isinstance(constant, tuple):
        return [_plain(each) for each in constant]
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant


def called(op: PythonCall, operands: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The arrays that the function gives, checked.

    operands   read-only copies are passed on
    shapes     of the results
    raises     ShapeError and DtypeError where the function gives another number, shape or kind of arrays than declared
    """
    given = [np.array(a) for a in operands]
    for array in given:
        array.setflags(write=False)
    found = op.function.function(*given)
    listed = list(found) if isinstance(found, list | tuple) else [found]
    title = f"the Python function `{op.function.name}`"
    if len(listed) != len(op.results):
        raise ShapeError(f"{title} was declared with {len(op.results)} results and gave {len(listed)}.")
    checked = []
    for i, (value, of, shape) in enumerate(zip(listed, op.results, shapes, strict=True)):
        array = np.asarray(value)
        wanted = numpy_dtype(of.dtype)
        if array.shape != shape:
            raise ShapeError(f"{title} was declared to give an array of shape {shape} (result {i}), got {array.shape}.")
        if not np.can_cast(array.dtype, wanted, "same_kind"):
            raise DtypeError(f"{title} was declared to give {of.dtype} (result {i}), got {array.dtype}.")
        checked.append(np.asarray(array, wanted))
    return checked
