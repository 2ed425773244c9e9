"""Values that users give for variables: an array, number or list in, an array of the variable's dtype out, or an error.

Shapes are checked by whoever takes several arguments, since lengths of one may be those of another.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.contexts import seed_of
from consilience.errors import DtypeError, ShapeError
from consilience.ir import Node, TensorType, numpy_dtype
from consilience.ir.arithmetic import means
from consilience.ir.leaves import is_masked
from consilience.ir.side_tables import describe

Array: TypeAlias = npt.NDArray[Any]


def as_argument(node: Node, value: Any, *, strict: bool, downcast: bool | None) -> Array:
    """A value as an array of a variable's dtype.

    strict     whether it must have that dtype already
    downcast   as `allow_input_downcast` of `function`
    raises     DtypeError for what is no array of numbers, or would lose digits
    """
    if is_masked(value):
        raise DtypeError(f"{describe(node)} cannot take a masked array; fill or drop the masked entries first.")
    try:
        array = np.asarray(seed_of(value) if node.dtype == "key" else value)
    except ValueError as error:
        raise DtypeError(f"{describe(node)} needs an array of numbers: {error}") from None
    except RuntimeError as error:  # of a tensor of PyTorch with derivatives
        raise DtypeError(f"{describe(node)} needs an array, for PyTorch's autograd see `.torch`: {error}") from None
    wanted = numpy_dtype(node.dtype)
    if array.dtype == wanted:
        return array
    number = array.dtype.kind in "biuf" and not strict
    if strict or not _converts(value, array, wanted, downcast):
        raise DtypeError(
            f"{describe(node)} needs {node.dtype}, got an array of {array.dtype}; convert it with `.astype`"
            + (", or pass `allow_input_downcast=True` to `function`." if not downcast and number else ".")
        )
    return array.astype(wanted)


@means("filter")
def filtered(of: TensorType, value: Any, strict: bool, downcast: bool | None) -> Array:
    """A value as an array of a type; DtypeError or ShapeError for another dtype, rank or length."""
    array = as_argument(of(), value, strict=strict, downcast=downcast)
    fixed = [n if isinstance(n, int) else None for n in of.shape]
    if len(fixed) != array.ndim or any(n not in (None, m) for n, m in zip(fixed, array.shape, strict=True)):
        raise ShapeError(f"an array of shape {tuple(fixed)} was needed (None: any length), got shape {array.shape}.")
    return array


def _converts(value: object, array: Array, wanted: np.dtype[Any], downcast: bool | None) -> bool:
    """Whether a value may become an array of another dtype.

    Arrays may where no value of their dtype is lost; numbers and lists of Python have no width, so floats are rounded
    unless `downcast` is False, and integers must fit. True lets all numbers, cut off or wrapped as NumPy does it.
    """
    kind = array.dtype.kind
    if downcast:
        return kind in "biuf" or (kind == "c" and wanted.kind == "c")
    whole = kind in "iu" and wanted.kind in "iu"
    if (kind == "b") != (wanted.kind == "b") or not (whole or np.can_cast(array.dtype, wanted, "same_kind")):
        return False
    if hasattr(value, "dtype"):
        return np.can_cast(array.dtype, wanted, "safe")
    if downcast is None and wanted.kind == "f":
        return True
    return bool((array.astype(wanted) == array).all())
