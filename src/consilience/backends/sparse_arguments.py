"""Sparse arguments and results of functions, which are compiled for the tensors that sparse matrices consist of.

In: inputs and outputs with sparse variables among them. Out: those of tensors, and a function that takes and gives
SciPy's matrices around the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Dim, Input, Node, numpy_dtype
from consilience.ops.shape import length_of
from consilience.ops.sparse.variable import SparseVariable, canonical, is_scipy_sparse


class SparseFunction:
    """A compiled function some of whose arguments or results are SciPy's sparse matrices.

    `compiled`: the function of the tensors; what it tells of itself (`profile`, `explain`, …) is to be had here too.
    """

    def __init__(self, inputs: Sequence[Any], outputs: Any, compiled: Callable[..., Any]) -> None:
        self.inputs = tuple(inputs)
        self.outputs = outputs
        self.compiled = compiled

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "compiled":
            raise AttributeError(name)
        return getattr(self.compiled, name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Results in the form of the outputs; TypeError, ShapeError and DtypeError for matrices that do not fit."""
        values = list(arguments)
        values += [named.pop(x.name) for x in self.inputs[len(values) :] if x.name in named]
        if named or len(values) != len(self.inputs):
            raise TypeError(f"the function takes {len(self.inputs)} arguments, got {len(values) + len(named)}.")
        arrays: list[Any] = []
        for x, value in zip(self.inputs, values, strict=True):
            arrays += _arrays(x, value) if isinstance(x, SparseVariable) else [value]
        found = self.compiled(*arrays)
        if self.outputs is None:
            return found
        parts = iter(found)
        made = [_made(y, parts) if isinstance(y, SparseVariable) else next(parts) for y in _listed(self.outputs)]
        if isinstance(self.outputs, Mapping):
            return dict(zip(self.outputs, made, strict=True))
        return made if isinstance(self.outputs, list | tuple) else made[0]


def has_sparse(inputs: object, outputs: object) -> bool:
    """Whether inputs or outputs of a function hold a sparse variable."""
    given = [*(inputs if isinstance(inputs, list | tuple) else ()), *_listed(outputs)]
    return any(isinstance(x, SparseVariable) for x in given)


def tensors(inputs: Sequence[Any], outputs: Any) -> tuple[list[Any], list[Any] | None]:
    """Inputs and outputs with the tensors of sparse variables in their place."""
    flat = [leaf for x in inputs for leaf in (leaves(x) if isinstance(x, SparseVariable) else [x])]
    if outputs is None:
        return flat, None
    return flat, [part for y in _listed(outputs) for part in (_parts(y) if isinstance(y, SparseVariable) else [y])]


def leaves(x: SparseVariable) -> list[Node]:
    """The inputs of which a sparse input consists; GraphError for other sparse variables."""
    parts = [x.data, x.indices, x.indptr]
    size = _size(x)
    parts += [] if size is None else [size]
    if not all(isinstance(node.op, Input) for node in parts):
        raise GraphError(f"an input must be made by `sparse.csr_matrix` or `sparse.csc_matrix`, got {x!r}.")
    return parts


def _listed(outputs: Any) -> list[Any]:
    if outputs is None:
        return []
    return list(outputs.values() if isinstance(outputs, Mapping) else outputs) if _several(outputs) else [outputs]


def _several(outputs: object) -> bool:
    return isinstance(outputs, list | tuple | Mapping)


def _size(x: SparseVariable) -> Node | None:
    """The input that tells the number of columns (of "csc" rows), where it is one."""
    length: Dim = x.width
    return None if isinstance(length, int) else length_of(length)


def _parts(x: SparseVariable) -> list[Node]:
    return [x.data, x.indices, x.indptr, *(length_of(n) for n in x.static_shape)]


def _arrays(x: SparseVariable, value: Any) -> list[Any]:
    title = f"the sparse input `{x.name}`" if x.name else "a sparse input"
    if not is_scipy_sparse(value):
        raise TypeError(
            f"{title} takes a sparse matrix of SciPy, got {type(value).__name__}; see `scipy.sparse.csr_array`."
        )
    for have, want in zip(value.shape, x.static_shape, strict=True):
        if isinstance(want, int) and have != want:
            raise ShapeError(f"{title} has the shape {x.static_shape}, got a matrix of shape {value.shape}.")
    if not np.can_cast(value.dtype, numpy_dtype(x.dtype), "same_kind"):
        raise DtypeError(f"{title} holds {x.dtype}, got {value.dtype}; convert it: `.astype({x.dtype!r})`.")
    matrix = canonical(value, x.format)
    places = [matrix.indices.astype("int32", copy=False), matrix.indptr.astype("int32", copy=False)]
    width = matrix.shape[1 if x.format == "csr" else 0]
    sized = [] if _size(x) is None else [np.int64(width)]
    return [matrix.data.astype(numpy_dtype(x.dtype), copy=False), *places, *sized]


def _made(x: SparseVariable, arrays: Iterator[Any]) -> Any:
    import scipy.sparse

    data, indices, indptr, rows, columns = (next(arrays) for _ in range(5))
    make = scipy.sparse.csr_matrix if x.format == "csr" else scipy.sparse.csc_matrix
    return make((data, indices, indptr), shape=(int(rows), int(columns)))
