"""Functions and derivatives whose arguments and results are sparse matrices.

In: sparse variables beside tensors. Out: functions that take and give SciPy's matrices, and sparse derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from consilience import tensor as pt
from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Dim, Input, Node, numpy_dtype
from consilience.ir.arithmetic import means
from consilience.ops.shape import length_of
from consilience.ops.sparse.variable import SparseVariable, canonical, is_scipy_sparse


def function(inputs: Sequence[Any], outputs: Any, **settings: Any) -> Callable[..., Any]:
    """Compile expressions of sparse variables and tensors.

    inputs    symbolic inputs; for sparse ones the function takes SciPy's sparse matrices
    outputs   an expression, or a list of them; of sparse ones the function gives SciPy's matrices
    settings  as in `pt.function`
    raises    TypeError for a sparse variable that is no input; the function raises TypeError for arguments that are not
              sparse, ShapeError and DtypeError for those that do not fit
    """
    one = not isinstance(outputs, list | tuple)
    listed = [outputs] if one else list(outputs)
    if any(isinstance(x, SparseVariable) for x in inputs):
        settings.setdefault("on_unused_input", "ignore")  # no product reads all parts of its matrix
    flat = [leaf for x in inputs for leaf in (_leaves(x) if isinstance(x, SparseVariable) else [x])]
    results = [leaf for y in listed for leaf in (_results(y) if isinstance(y, SparseVariable) else [y])]
    compiled = pt.function(flat, results, **settings)

    def call(*arguments: Any) -> Any:
        if len(arguments) != len(inputs):
            raise TypeError(f"the function takes {len(inputs)} arguments, got {len(arguments)}.")
        arrays: list[Any] = []
        for x, value in zip(inputs, arguments, strict=True):
            arrays += _arrays(x, value) if isinstance(x, SparseVariable) else [value]
        found = iter(compiled(*arrays))
        made = [_made(y, found) if isinstance(y, SparseVariable) else next(found) for y in listed]
        return made[0] if one else made

    functools.update_wrapper(call, compiled, updated=())
    call.compiled = compiled  # type: ignore[attr-defined]  # for inspection
    return call


def _size(x: SparseVariable) -> Node | None:
    """The input that tells the number of columns (of "csc" rows), where it is one."""
    length: Dim = x.width
    return None if isinstance(length, int) else length_of(length)


def _leaves(x: SparseVariable) -> list[Node]:
    parts = [x.data, x.indices, x.indptr]
    size = _size(x)
    parts += [] if size is None else [size]
    if not all(isinstance(node.op, Input) for node in parts):
        raise GraphError(f"an input must be made by `sparse.csr_matrix` or `sparse.csc_matrix`, got {x!r}.")
    return parts


def _results(x: SparseVariable) -> list[Node]:
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


def _made(x: SparseVariable, arrays: Any) -> Any:
    import scipy.sparse

    data, indices, indptr, rows, columns = (next(arrays) for _ in range(5))
    make = scipy.sparse.csr_matrix if x.format == "csr" else scipy.sparse.csc_matrix
    return make((data, indices, indptr), shape=(int(rows), int(columns)))


@means("sparse_eval")
def evaluated(x: SparseVariable, inputs_to_values: Mapping[Any, Any] | None = None, **options: Any) -> Any:
    """SciPy's matrix of a sparse variable, given the values of inputs."""
    given = dict(inputs_to_values or {})
    return function(list(given), x, **options)(*given.values())


def grad(cost: Any, wrt: Any, **settings: Any) -> Any:
    """Derivatives of a scalar; with respect to a sparse variable a sparse one, of the derivatives of stored entries.

    wrt   a tensor or sparse variable, or a list of them; settings as in `pt.grad`
    """
    listed = list(wrt) if isinstance(wrt, list | tuple) else [wrt]
    nodes = [x.data if isinstance(x, SparseVariable) else x for x in listed]
    found = pt.grad(cost, nodes, **settings)
    made = [x.with_data(g) if isinstance(x, SparseVariable) else g for x, g in zip(listed, found, strict=True)]
    return made if isinstance(wrt, list | tuple) else made[0]
