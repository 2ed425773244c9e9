"""A program as a value: frozen interned nodes, types with symbolic lengths, regions, obligations."""

from consilience.ir.dimension import Dim, Dimension, symbol
from consilience.ir.leaves import (
    Constant,
    Input,
    Parameter,
    Shared,
    constant,
    constant_value,
    is_leaf,
    shared_slot,
    tensor_input,
)
from consilience.ir.node import Node
from consilience.ir.obligations import Debt, Obligation
from consilience.ir.op import Op
from consilience.ir.region import Region, close
from consilience.ir.traversal import rebuild, substitute, topological, users
from consilience.ir.types import DTYPES, FLOATS, INTEGERS, Shape, TensorType, TupleType, Type, numpy_dtype

__all__ = [
    "DTYPES", "FLOATS", "INTEGERS", "Constant", "Debt", "Dim", "Dimension", "Input", "Node", "Obligation", "Op",
    "Parameter", "Region", "Shape", "Shared", "TensorType", "TupleType", "Type", "close", "constant", "constant_value",
    "is_leaf", "numpy_dtype", "rebuild", "shared_slot", "substitute", "symbol", "tensor_input", "topological", "users",
]
