"""Batched forms of programs: a table with one row per op, an engine, and functions of batches for users."""

from consilience.transforms.vectorize import (
    call,
    control,
    elementwise,
    factorisations,
    fourier,
    index,
    linalg,
    matrix_equations,
    order,
    reduce,
    scan,
    shape,
    sparse,
    structured,
)
from consilience.transforms.vectorize.engine import vectorize, vectorize_graph
from consilience.transforms.vectorize.mapped import vmap
from consilience.transforms.vectorize.named_axes import axis_index, pmax, pmean, pmin, psum
from consilience.transforms.vectorize.signature import vectorize_function
from consilience.transforms.vectorize.table import BATCHED, NO_BATCHED, missing

__all__ = [
    "BATCHED", "NO_BATCHED", "axis_index", "call", "control", "elementwise", "factorisations", "fourier", "index",
    "linalg", "matrix_equations", "missing", "order", "pmax", "pmean", "pmin", "psum", "reduce", "scan", "shape",
    "sparse",
    "structured", "vectorize", "vectorize_function", "vectorize_graph", "vmap",
]  # fmt: skip
