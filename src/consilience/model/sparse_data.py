"""Sparse matrices as data of a model: their vectors and their shape are data of their own.

In: a matrix of SciPy and its name. Out: names and arrays of the parts, and a sparse variable of slots that hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.errors import ShapeError
from consilience.ir import Node
from consilience.ops.sparse.variable import SparseVariable, canonical, is_scipy_sparse


def parts(name: str, matrix: Any) -> dict[str, npt.NDArray[Any]]:
    """The parts of a matrix, row by row, under their names."""
    known = canonical(matrix, "csr")
    arrays = (known.data, known.indices, known.indptr, np.array(known.shape, "int64"))
    return {f"{name}.{part}": a for part, a in zip(("data", "indices", "indptr", "shape"), arrays, strict=True)}


def variable(name: str, matrix: Any, slot: Callable[[str, npt.NDArray[Any]], Node]) -> SparseVariable:
    """A sparse variable of slots, which `slot` makes of the names and arrays of parts; its columns stay as many."""
    data, indices, indptr, shape = (slot(own, array) for own, array in parts(name, matrix).items())
    columns = int(contexts.DEFAULT.get(shape)[1])
    return SparseVariable(data, indices, indptr, (indptr.static_shape[0] - 1, columns), "csr")


def taken_apart(values: Mapping[str, Any], find: Callable[[str], Node | None]) -> dict[str, Any]:
    """New values of data by name, those of sparse data as their parts.

    find     the slot of a name
    raises   ShapeError for a sparse matrix with another number of columns than the data have
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        shape = find(f"{name}.shape") if is_scipy_sparse(value) else None
        if shape is None:
            found[name] = value
            continue
        have, want = value.shape[1], int(contexts.DEFAULT.get(shape)[1])
        if have != want:
            raise ShapeError(f"the sparse data `{name}` have {want} columns, which stay; got a matrix with {have}.")
        found.update(parts(name, value))
    return found
