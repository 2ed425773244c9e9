"""Which dtype a scalar function takes and gives: NumPy's rules, with weak Python numbers.

Dtypes and Python numbers in, names of dtypes out.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, RangeError
from consilience.ir import COMPLEXES, FLOATS, INTEGERS, NUMBERS, numpy_dtype
from consilience.ir.settings import config
from consilience.ops.scalar import TABLE


def named(dtype: npt.DTypeLike | None) -> str:
    """The name of a dtype given as a name, a NumPy dtype or a Python type; `config.floatX` for "floatX" and None."""
    if isinstance(dtype, str) and (dtype in NUMBERS or dtype == "key"):
        return dtype
    if dtype is None or (isinstance(dtype, str) and dtype == "floatX"):
        return config.floatX
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in NUMBERS:
        raise DtypeError(f"there is no dtype {dtype!r}; give one of {', '.join(NUMBERS)} or floatX.")
    return name


def widened(dtype: str) -> str:
    """The dtype in which statistics are computed: int64 for short and unsigned integers, float32 for float16.

    Differences of counts must not wrap around, and densities need more than three digits.
    """
    if dtype == "float16":
        return "float32"
    return "int64" if dtype in INTEGERS and dtype != "int32" else dtype


def part_of(dtype: str) -> str:
    """The dtype of the parts of a complex number; other dtypes themselves."""
    return {"complex128": "float64", "complex64": "float32"}.get(dtype, dtype)


def kind_of(dtype: str) -> str:
    """float, int, bool, complex or key."""
    if dtype in FLOATS:
        return "float"
    if dtype in COMPLEXES:
        return "complex"
    return "int" if dtype in INTEGERS else dtype


def weak_type(value: object) -> type | None:
    """bool, int, float or complex for a Python number, which takes the dtype of what stands beside it; else None."""
    if isinstance(value, np.generic):
        return None
    return next((t for t in (bool, int, float, complex) if isinstance(value, t)), None)


def is_weak(value: object) -> bool:
    """Whether a value is a Python number."""
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def fitted(value: Any, dtype: str) -> npt.NDArray[Any]:
    """A Python number in a dtype; RangeError for an integer that the dtype does not hold, as in NumPy."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(value, dtype=numpy_dtype(dtype))
    except OverflowError:
        raise RangeError(f"the integer {value} is out of bounds for {dtype}; cast the other operand first.") from None


@functools.cache
def float_dtype(function: str, given: tuple[str | type, ...]) -> str:
    """The float dtype in which a function of floats takes operands that are integers or bools.

    PyTensor's, float32 for 8 and 16 bits and float64 for 32 and more: NumPy takes float16 for 8 bits, where exp(12) is
    infinite. float64 for functions NumPy does not have, as in SciPy. Truth values are no numbers of 8 bits: they alone,
    and tests of floats, are taken as float64.
    """
    entry = TABLE[function]
    dtypes = [numpy_dtype(d) if isinstance(d, str) else d for d in given]
    if all(d in (np.dtype(bool), bool) for d in dtypes) or entry.result != "float":
        return "float64"
    if not isinstance(entry.numpy, np.ufunc):
        return "float64"
    operands = tuple(np.dtype(bool) if d is bool else d for d in dtypes)
    found = entry.numpy.resolve_dtypes((*operands, None))[-1].name
    return {"float16": "float32", "float32": "float32"}.get(found, "float64")


@functools.cache
def of_truth(function: str) -> str:
    """The dtype in which a function of integers takes bools: NumPy's, or int64 where NumPy has none."""
    ufunc = TABLE[function].numpy
    try:
        if isinstance(ufunc, np.ufunc):
            found = ufunc.resolve_dtypes((np.dtype(bool),) * ufunc.nin + (None,))[-1].name
            return found if found in INTEGERS else "int64"
    except TypeError:  # NumPy refuses bools
        pass
    return "int64"
