"""What can be computed: one family of ops per file, and the notation that builds them."""

from consilience.ops import complex_numbers, formulas, notation
from consilience.ops.assertion import Assume, Require
from consilience.ops.control import Cond, Item, cond, ifelse
from consilience.ops.elementwise import (
    AlteredGradient,
    Cast,
    Elementwise,
    StopGradient,
    TensorLike,
    apply,
    as_tensor,
    cast,
)
from consilience.ops.index import Index, IndexUpdate, MaskPositions, getitem
from consilience.ops.linalg import (
    Cholesky,
    Det,
    DetSign,
    Inverse,
    InverseQuadratic,
    LogAbsDet,
    MatMul,
    Solve,
    SolveTriangular,
)
from consilience.ops.order import ArgSort, SearchSorted, Sort
from consilience.ops.random import Key
from consilience.ops.reduce import ArgReduce, Cumulative, Reduce, Softmax, reduce
from consilience.ops.scalar import TABLE, ScalarFunction
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Iota,
    LengthOf,
    Reshape,
    Squeeze,
    Transpose,
)

__all__ = [
    "TABLE", "AlteredGradient", "ArgReduce", "ArgSort", "Assume", "BroadcastTo", "Cast", "Cholesky", "Concatenate",
    "Cond", "Cumulative", "Det", "DetSign", "Elementwise", "ExpandDims", "Index", "IndexUpdate", "Inverse",
    "InverseQuadratic", "Iota", "Item", "Key", "LengthOf", "LogAbsDet", "MaskPositions", "MatMul", "Reduce",
    "Require", "Reshape", "ScalarFunction", "SearchSorted", "Softmax", "Solve", "SolveTriangular", "Sort", "Squeeze",
    "StopGradient", "TensorLike", "Transpose", "apply", "as_tensor", "cast", "complex_numbers", "cond", "formulas",
    "getitem", "ifelse", "notation", "reduce",
]  # fmt: skip
