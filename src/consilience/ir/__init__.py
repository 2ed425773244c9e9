"""A program as a value: frozen interned nodes, types with symbolic lengths, regions, shape constraints."""

from consilience.ir.digest import digest
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
from consilience.ir.lengths import computed_atoms, substitute, with_lengths
from consilience.ir.node import Node
from consilience.ir.op import KeptAxes, Op
from consilience.ir.parse import parse
from consilience.ir.region import Region, close, with_regions
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.text import text
from consilience.ir.traversal import rebuild, topological, users
from consilience.ir.types import (
    ALGEBRAIC,
    COMPLEXES,
    DTYPES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    UNSIGNED,
    Shape,
    TensorType,
    TupleType,
    Type,
    numpy_dtype,
)
from consilience.ir.verify import verify

__all__ = [
    "ALGEBRAIC",
    "COMPLEXES",
    "DTYPES",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "UNSIGNED",
    "Constant",
    "Dim",
    "Dimension",
    "Input",
    "KeptAxes",
    "Node",
    "Op",
    "Parameter",
    "Region",
    "Shape",
    "ShapeConstraint",
    "Shared",
    "TensorType",
    "TupleType",
    "Type",
    "close",
    "computed_atoms",
    "constant",
    "constant_value",
    "digest",
    "is_leaf",
    "numpy_dtype",
    "parse",
    "rebuild",
    "shared_slot",
    "substitute",
    "symbol",
    "tensor_input",
    "text",
    "topological",
    "users",
    "verify",
    "with_lengths",
    "with_regions",
]
