"""PyTensor's scalars, which are tensors of rank 0 here: types by dtype, conversions, values that are fixed.

In: dtypes, numbers and tensors of one element. Out: types, tensors of rank 0, arrays. Outside: operations, which are
those of tensors.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.evaluation import eval as evaluate
from consilience.errors import GraphError, ShapeError
from consilience.ir import Constant, Input, Node, Shared, TensorType, topological
from consilience.ir.lengths import sources_of, symbols_in
from consilience.ir.side_tables import describe, set_name
from consilience.ir.types import NUMBERS
from consilience.ops.dtypes import named
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.shape import BroadcastTo, reshape
from consilience.rewrite.rules import simplify
from consilience.tensor.inputs import dscalars, lscalars, zscalars

TYPES: Final = {dtype: TensorType(dtype) for dtype in NUMBERS}
bool, complex64, complex128 = TYPES["bool"], TYPES["complex64"], TYPES["complex128"]
float16, float32, float64 = TYPES["float16"], TYPES["float32"], TYPES["float64"]
int8, int16, int32, int64 = TYPES["int8"], TYPES["int16"], TYPES["int32"], TYPES["int64"]
uint8, uint16, uint32, uint64 = TYPES["uint8"], TYPES["uint16"], TYPES["uint32"], TYPES["uint64"]
all_types: Final = [TYPES[dtype] for dtype in sorted(NUMBERS)]
complexs, floats, ints = zscalars, dscalars, lscalars

__all__ = [
    "NotScalarConstantError", "ScalarType", "all_types", "as_scalar", "bool", "complex64", "complex128", "complexs",
    "float16", "float32", "float64", "floats", "get_scalar_constant_value", "get_scalar_type",
    "get_underlying_scalar_constant_value", "int8", "int16", "int32", "int64", "ints", "scalar_from_tensor",
    "tensor_from_scalar", "uint8", "uint16", "uint32", "uint64", "upcast",
]  # fmt: skip


class NotScalarConstantError(GraphError, ValueError):
    """A tensor that is no number known before a call."""


def ScalarType(dtype: npt.DTypeLike) -> TensorType:
    """The type of one number."""
    return TYPES[named(dtype)]


get_scalar_type = ScalarType


def upcast(dtype: npt.DTypeLike, *dtypes: npt.DTypeLike) -> str:
    """The dtype of a result computed from several, by NumPy's promotion."""
    return str(np.result_type(*(named(d) for d in (dtype, *dtypes))))


def as_scalar(x: TensorLike, name: str | None = None) -> Node:
    """A number as a tensor of rank 0; a tensor of more elements raises ShapeError."""
    node = as_tensor(x)
    if not all(node.broadcastable):
        raise ShapeError(f"one number was needed, got {describe(node)}.")
    found = reshape(node, ()) if node.ndim else node
    if name is not None:
        set_name(found, name)
    return found


def scalar_from_tensor(t: TensorLike) -> Node:
    """The tensor itself, which has rank 0; ShapeError for another rank."""
    node = as_tensor(t)
    if node.ndim:
        raise ShapeError(f"a tensor of rank 0 was needed, got {describe(node)}.")
    return node


tensor_from_scalar = scalar_from_tensor


def get_underlying_scalar_constant_value(v: Any, *_: Any, **__: Any) -> npt.NDArray[Any]:
    """The number that all elements of an expression have, as far as the expression says it.

    PyTensor's settings of how far it looks are accepted.

    Raises NotScalarConstantError where it depends on inputs or shared variables, or elements differ.
    """
    if v is None:
        raise NotScalarConstantError("None is no number.")
    (node,) = simplify([as_tensor(v)])
    while isinstance(node.op, BroadcastTo):  # as often as may be
        (node,) = node.inputs
    nodes = topological([node, *sources_of([node])])
    if symbols_in([node]):
        raise NotScalarConstantError(f"{describe(node)} depends on lengths that are known at the call.")
    free = next((n for n in nodes if isinstance(n.op, Input | Shared) and not isinstance(n.op, Constant)), None)
    if free is not None:
        raise NotScalarConstantError(f"{describe(node)} depends on {describe(free)}, which is known at the call.")
    value = np.asarray(evaluate(node))
    if not value.size or (value != value.flat[0]).any():
        raise NotScalarConstantError(f"one number was needed, got {describe(node)} of {value.size} elements.")
    return np.asarray(value.flat[0])


def get_scalar_constant_value(v: Any, *_: Any, **__: Any) -> npt.NDArray[Any]:
    """As `get_underlying_scalar_constant_value`, of an expression of one element."""
    node = as_tensor(v)
    if not all(node.broadcastable):
        raise NotScalarConstantError(f"one number was needed, got {describe(node)}.")
    return get_underlying_scalar_constant_value(node)
