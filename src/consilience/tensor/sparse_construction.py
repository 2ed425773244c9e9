"""Sparse variables as function inputs and from vectors, their parts, and equal matrices with other entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import Dim, Node, tensor_input
from consilience.ir.settings import config
from consilience.ops.dtypes import named
from consilience.ops.elementwise import TensorLike, apply, as_tensor
from consilience.ops.index import flatnonzero, getitem
from consilience.ops.shape import as_length, full
from consilience.ops.sparse.coordinates import from_coordinates, taken
from consilience.ops.sparse.variable import OTHER, Format, SparseVariable, as_sparse_variable, compressed, is_sparse

sparse_formats = ["csc", "csr"]


def matrix(
    format: Format,
    name: str | None = None,
    dtype: npt.DTypeLike | None = None,
    shape: Sequence[int | None] | None = None,
) -> SparseVariable:
    """A sparse function input of a format, "csr" or "csc"; `pt.function` takes SciPy's matrices for it.

    format, name : ...
    dtype: Of the entries, `config.floatX` if None; the places of entries are int32.
    shape: Numbers of rows and columns, None where they are known only at the call; known ones make faster programs.
    Returns: The input, for `pm.function([x], ...)`.
    See csr_matrix: Row by row.
    See csc_matrix: Column by column.
    >>> import scipy.sparse
    >>> import consilience as pm
    >>> x = pm.sparse.matrix("csr", name="x", dtype="float64")
    >>> f = pm.function([x], x @ [1.0, 10.0])
    >>> f(scipy.sparse.csr_matrix([[0.0, 2.0]])).tolist()
    [20.0]
    """
    if format not in OTHER:
        raise ValueError(f"format must be 'csr' or 'csc', got {format!r}.")
    given = (None, None) if shape is None else tuple(shape)
    lines, width = given if format == "csr" else given[::-1]

    def part(kind: str, what: str, lengths: Sequence[int | None]) -> Node:
        return tensor_input(kind, lengths, None if name is None else f"{name}.{what}")

    data = part(named(config.floatX if dtype is None else dtype), "data", (None,))
    indices = tensor_input("int32", data.static_shape, None if name is None else f"{name}.indices")
    indptr = part("int32", "indptr", (None if lines is None else lines + 1,))
    height: Dim = indptr.static_shape[0] - 1
    other: Dim = as_length(part("int64", "columns" if format == "csr" else "rows", ())) if width is None else width
    both = (height, other) if format == "csr" else (other, height)
    return SparseVariable(data, indices, indptr, both, format)


def csr_matrix(
    name: str | None = None, dtype: npt.DTypeLike | None = None, shape: Sequence[int | None] | None = None
) -> SparseVariable:
    """A sparse function input, row by row; see `matrix`.

    name : ...
    dtype: Element type of the entries; `config.floatX` by default.
    shape: Lengths of the axes.
    Returns: The input, for functions.
    See csc_matrix: An input column by column.
    >>> pm.sparse.csr_matrix("x").ndim
    2
    """
    return matrix("csr", name, dtype, shape)


def csc_matrix(
    name: str | None = None, dtype: npt.DTypeLike | None = None, shape: Sequence[int | None] | None = None
) -> SparseVariable:
    """A sparse function input, column by column; see `matrix`.

    name : ...
    dtype: Element type of the entries; `config.floatX` by default.
    shape: Lengths of the axes.
    Returns: The input, for functions.
    See csr_matrix: An input row by row.
    >>> pm.sparse.csc_matrix("x").ndim
    2
    """
    return matrix("csc", name, dtype, shape)


def _input(kind: str, format: Format, dtype: str) -> Callable[..., SparseVariable]:
    """The function that makes inputs of one format and dtype, with its docstring."""

    def of_dtype(name: str | None = None) -> SparseVariable:
        return matrix(format, name, dtype)

    order = "row by row" if format == "csr" else "column by column"
    of_dtype.__doc__ = f"""A sparse function input of {dtype}, {order}.

Parameters
----------
name : str, optional
    Name shown when the expression is printed.

Returns
-------
SparseVariable
    The input, for functions.

See Also
--------
{format}_matrix : An input of any dtype.

Examples
--------
>>> import consilience.sparse as sparse
>>> x = sparse.{kind}("x")
>>> x.format, x.dtype
('{format}', '{dtype}')
"""
    of_dtype.__name__ = of_dtype.__qualname__ = kind
    return of_dtype


csr_dmatrix = _input("csr_dmatrix", "csr", "float64")
csr_fmatrix = _input("csr_fmatrix", "csr", "float32")
csc_dmatrix = _input("csc_dmatrix", "csc", "float64")
csc_fmatrix = _input("csc_fmatrix", "csc", "float32")


def CSR(data: TensorLike, indices: TensorLike, indptr: TensorLike, shape: Any) -> SparseVariable:
    """A sparse matrix, row by row, from vectors.

    data: The entries.
    indices: The column of each: ascending within a row, none twice. This is checked where they are constants; of other
        indices the program checks only that they are inside the matrix.
    indptr: Where each row begins, and the number of entries at the end.
    shape (int or sequence of int): Numbers of rows and columns.
    Returns: The matrix, of format "csr".
    Raises ShapeError: Where these do not fit.
    Raises DtypeError: For places that are no integers.
    See CSC: The same, column by column.
    >>> import consilience.sparse as sparse
    >>> A = sparse.CSR([1.0, 2.0], indices=[1, 0], indptr=[0, 1, 2], shape=(2, 2))
    >>> A.toarray().eval().tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    return compressed(data, indices, indptr, shape, "csr")


def CSC(data: TensorLike, indices: TensorLike, indptr: TensorLike, shape: Any) -> SparseVariable:
    """A sparse matrix, column by column, from vectors; as `CSR` with rows and columns exchanged.

    data: The stored elements.
    indices: The row of each entry: ascending within a column, none twice.
    indptr: Where each column begins, and the number of entries at the end.
    shape : ...
    Returns: The matrix, of format "csc".
    See CSR: The same, row by row.
    >>> import consilience.sparse as sparse
    >>> A = sparse.CSC([1.0, 2.0], indices=[0, 1], indptr=[0, 1, 2], shape=(2, 2))
    >>> A.toarray().eval().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return compressed(data, indices, indptr, shape, "csc")


def csm_properties(csm: Any) -> tuple[Node, Node, Node, tuple[int | Node, int | Node]]:
    """Entries, their places, where rows (columns) begin, and the shape.

    csm : ...
    Returns: The parts that `CSR` and `CSC` take.
    See CSR: A matrix from its parts.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> data, indices, indptr, shape = sparse.csm_properties(scipy.sparse.csr_matrix([[0.0, 2.0]]))
    >>> data.eval().tolist(), indices.eval().tolist(), indptr.eval().tolist(), shape
    ([2.0], [1], [0, 1], (1, 2))
    """
    x = as_sparse_variable(csm)
    return x.data, x.indices, x.indptr, x.shape


def csm_data(csm: Any) -> Node:
    """The entries, a vector.

    csm : ...
    Returns: One element per entry.
    See csm_properties: All parts.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.csm_data(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])).eval().tolist()
    [2.0, 1.0]
    """
    return as_sparse_variable(csm).data


def csm_indices(csm: Any) -> Node:
    """The column (of "csc" the row) of each entry.

    csm : ...
    Returns: One integer per entry.
    See csm_properties: All parts.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.csm_indices(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])).eval().tolist()
    [1, 0]
    """
    return as_sparse_variable(csm).indices


def csm_indptr(csm: Any) -> Node:
    """Where each row (of "csc" each column) begins, and the number of entries.

    csm : ...
    Returns: One integer more than there are rows (columns).
    See csm_properties: All parts.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.csm_indptr(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])).eval().tolist()
    [0, 1, 2]
    """
    return as_sparse_variable(csm).indptr


def csm_shape(csm: Any) -> tuple[int | Node, int | Node]:
    """Numbers of rows and columns.

    csm : ...
    Returns: Integers where they are known, else scalars.
    See csm_properties: All parts.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.csm_shape(scipy.sparse.csr_matrix([[0.0, 2.0, 0.0]]))
    (1, 3)
    """
    return as_sparse_variable(csm).shape


def as_sparse_or_tensor_variable(x: Any, name: str | None = None) -> SparseVariable | Node:
    """A sparse variable of what is sparse, a tensor of all else.

    x, name : ...
    Returns: Sparse if `x` is.
    See as_sparse_variable: Takes sparse matrices only.
    >>> import consilience.sparse as sparse
    >>> sparse.as_sparse_or_tensor_variable([1.0, 2.0]).ndim
    1
    """
    return as_sparse_variable(x, name) if is_sparse(x) else as_tensor(x)


def transpose(x: Any) -> SparseVariable:
    """Rows and columns exchanged: the same entries in the other format.

    x (sparse) : ...
    Returns: Of format "csc" where `x` is "csr", and the other way round.
    See conjugate: The complex conjugate of the stored entries.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.transpose(scipy.sparse.csr_matrix([[0.0, 2.0]])).toarray().eval().tolist()
    [[0.0], [2.0]]
    """
    return as_sparse_variable(x).T


def neg(x: Any) -> SparseVariable:
    """The negative matrix.

    x (sparse) : ...
    Returns: A matrix with entries at the same places.
    See sub: The difference.
    See true_div: A sparse matrix divided by a number.
    See mul: The product element by element.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.neg(scipy.sparse.csr_matrix([[0.0, 2.0]])).data.eval().tolist()
    [-2.0]
    """
    return -as_sparse_variable(x)


def cast(variable: Any, dtype: npt.DTypeLike) -> SparseVariable:
    """Entries of another type.

    variable: The expression.
    dtype : ...
    Returns: The same places with entries of that type.
    See clean: The same matrix without entries that are zero.
    See ensure_sorted_indices: The same matrix with entries in order.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.cast(scipy.sparse.csr_matrix([[0.0, 2.0]]), "float32").dtype
    'float32'
    """
    return as_sparse_variable(variable).astype(dtype)


def sp_ones_like(x: Any) -> SparseVariable:
    """Ones at the places of the entries.

    x (sparse) : ...
    Returns: A matrix with entries at the same places.
    See sp_zeros_like: A matrix without entries.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.sp_ones_like(scipy.sparse.csr_matrix([[0.0, 2.0]])).toarray().eval().tolist()
    [[0.0, 1.0]]
    """
    own = as_sparse_variable(x)
    return own.with_data(full(own.data.static_shape, 1, own.dtype))


def sp_zeros_like(x: Any) -> SparseVariable:
    """A matrix of the same shape without entries.

    x (sparse) : ...
    Returns: A matrix without entries.
    See sp_ones_like: Ones at the places of the entries.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.sp_zeros_like(scipy.sparse.csr_matrix([[0.0, 2.0]])).toarray().eval().tolist()
    [[0.0, 0.0]]
    """
    own = as_sparse_variable(x)
    nothing = as_tensor(np.empty(0, "int64"))
    return from_coordinates(
        nothing, nothing, as_tensor(np.empty(0, own.dtype)), own.static_shape, own.format, ordered=True
    )


def ensure_sorted_indices(x: Any) -> SparseVariable:
    """The same matrix with entries in order, one per place: for vectors that are inputs and come in any order.

    x (sparse) : ...
    Returns: Entries in order; values at one place are added up.
    See cast: Entries of another type.
    See clean: The same matrix without entries that are zero.
    >>> import consilience.sparse as sparse
    >>> x = sparse.csr_dmatrix("x")
    >>> sparse.ensure_sorted_indices(x).format
    'csr'
    """
    own = as_sparse_variable(x)
    return from_coordinates(*own.coordinates, own.data, own.static_shape, own.format)


def clean(x: Any) -> SparseVariable:
    """The same matrix without entries that are zero; their number may be known only when the function runs.

    x (sparse) : ...
    Returns: The entries that are not zero.
    See ensure_sorted_indices: The same matrix with entries in order.
    See cast: Entries of another type.
    >>> import consilience.sparse as sparse
    >>> A = sparse.CSR([0.0, 2.0], indices=[1, 0], indptr=[0, 1, 2], shape=(2, 2))
    >>> sparse.clean(A).data.eval().tolist()
    [2.0]
    """
    own = as_sparse_variable(x)
    kept = flatnonzero(apply("neq", own.data, 0))
    rows, columns = (taken(c, kept) for c in own.coordinates)
    return from_coordinates(rows, columns, getitem(own.data, kept), own.static_shape, own.format, ordered=True)
