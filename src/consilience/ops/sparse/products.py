"""Products with matrices in compressed rows, of which only the entries that are not zero are stored.

Three vectors are a matrix: the entries row by row, their columns, and where each row begins (and the last ends).
In: such vectors and dense matrices. Out: dense matrices, or the entries of a product at known places.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.ir import Dim, KeptAxes, Node, Op, TensorType, constant, constant_value
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import apply, cast
from consilience.ops.index import getitem, index_inc
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota, concatenate, expand_dims, full, length_of, reshape

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = tuple[Node, Node, Node]
COMPUTED = ("float64", "float32")
"""Dtypes with machine code of their own; products of others are written in gathers and sums."""


def _equal(a: Dim, b: Dim, reason: str) -> tuple[ShapeConstraint, ...]:
    return () if a is b or a == b else (ShapeConstraint(a, b, reason),)


def _one_column_per_entry(entries: Node, columns: Node) -> tuple[ShapeConstraint, ...]:
    return _equal(entries.static_shape[0], columns.static_shape[0], "a sparse matrix has a column for each entry")


class SparseProduct(Op):
    """A x for entries, columns and beginnings of the rows of A, and a matrix x.

    `width`: number of A's columns; a column beyond it, or rows that do not begin in order, make the function fail
    (OUT_OF_BOUNDS).
    """

    flops = 2.0
    linear = ((0,), (3,))
    width: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        _, _, begins, x = inputs
        return x.tensor_type.with_shape((begins.static_shape[0] - 1, x.static_shape[1]))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return {}, {}, {}, {1: 1}

    def volume(self, *inputs: Node) -> Dim:
        return inputs[0].tensor_type.size * inputs[3].static_shape[1]

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        entries, columns, _, x = inputs
        rows = _equal(x.static_shape[0], self.width, "a product needs as many rows as the matrix has columns")
        return _one_column_per_entry(entries, columns) + rows


class TransposedSparseProduct(Op):
    """A' x for entries, columns and beginnings of the rows of A, and a matrix x with as many rows as A.

    `length`: number of A's columns; fails as `SparseProduct` does.
    """

    flops = 2.0
    linear = ((0,), (3,))
    length: Dim

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[3].tensor_type.with_shape((self.length, inputs[3].static_shape[1]))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return {}, {}, {}, {1: 1}

    def volume(self, *inputs: Node) -> Dim:
        return inputs[0].tensor_type.size * inputs[3].static_shape[1]

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        entries, columns, begins, x = inputs
        rows = _equal(begins.static_shape[0] - 1, x.static_shape[0], "a product needs as many rows as the matrix has")
        return _one_column_per_entry(entries, columns) + rows


class SampledProduct(Op):
    """The entries of u v' at the places that columns and beginnings of rows tell; u and v are matrices."""

    linear = ((0,), (1,))

    def result_type(self, *inputs: Node) -> TensorType:
        u, _, columns, _ = inputs
        return u.tensor_type.with_shape(columns.static_shape)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        u, v, _, begins = inputs
        rows = _equal(begins.static_shape[0] - 1, u.static_shape[0], "a product needs as many rows as the matrix has")
        return rows + _equal(u.static_shape[1], v.static_shape[1], "inner lengths of a product agree")


def entry_rows(columns: Node, begins: Node) -> Node:
    """The row of each entry (int64)."""
    known = constant_value(begins)
    if known is not None:
        return constant(np.repeat(np.arange(len(known) - 1), np.diff(known)))
    count = columns.static_shape[0]
    steps = index_inc(getitem(full((count + 1,), 0, "int64"), getitem(begins, slice(1, -1))), 1)
    return getitem(cumulative("sum", steps), slice(None, count))


def never_negative(places: Node, length: Dim) -> Node:
    """Places of entries; negative ones, unless constant, lead behind the end of an axis, where they are refused."""
    if constant_value(places) is not None:
        return places
    return apply("where", apply("lt", places, 0), cast(length_of(length), places.dtype), places)


def sparse_product(entries: Node, columns: Node, begins: Node, width: Dim, x: Node) -> Node:
    """A x, a matrix, for the compressed rows of A, the number of its columns, and a matrix x of the entries' dtype."""
    if x.dtype in COMPUTED:
        return Node(SparseProduct(width), entries, columns, begins, x)
    terms = apply("mul", expand_dims(entries, 1), getitem(x, never_negative(columns, width)))
    zeros = full((begins.static_shape[0] - 1, x.static_shape[1]), 0, terms.dtype)
    return index_inc(getitem(zeros, entry_rows(columns, begins)), terms)


def transposed_sparse_product(entries: Node, columns: Node, begins: Node, length: Dim, x: Node) -> Node:
    """A' x, a matrix, for the compressed rows of A, the number of its columns, and a matrix x.

    Constants are transposed once, when the product is written.
    """
    turned = _transposed(entries, columns, begins, length)
    if turned is not None:
        return sparse_product(*turned, begins.static_shape[0] - 1, x)
    if x.dtype in COMPUTED:
        return Node(TransposedSparseProduct(length), entries, columns, begins, x)
    terms = apply("mul", expand_dims(entries, 1), getitem(x, entry_rows(columns, begins)))
    zeros = full((length, x.static_shape[1]), 0, terms.dtype)
    return index_inc(getitem(zeros, never_negative(columns, length)), terms)


def sampled_product(u: Node, v: Node, columns: Node, begins: Node) -> Node:
    """The entries of u v' at the places of a sparse matrix, for matrices u and v of one dtype."""
    if u.dtype in COMPUTED:
        return Node(SampledProduct(), u, v, columns, begins)
    places = never_negative(columns, v.static_shape[0])
    terms = apply("mul", getitem(u, entry_rows(columns, begins)), getitem(v, places))
    return cast(reduce("sum", terms, -1), u.dtype)


_turned: weakref.WeakKeyDictionary[Node, dict[tuple[Node, Node], Arrays]] = weakref.WeakKeyDictionary()


def _transposed(entries: Node, columns: Node, begins: Node, length: Dim) -> Arrays | None:
    """The compressed rows of the transpose, where all is constant and inside the matrix."""
    arrays = [constant_value(node) for node in (entries, columns, begins)]
    data, indices, indptr = arrays
    if data is None or indices is None or indptr is None or not isinstance(length, int):
        return None
    if not fits(indices, indptr, length):
        return None
    kept = _turned.setdefault(entries, {})
    found = kept.get((columns, begins))
    if found is None or found[2].static_shape[0] != length + 1:
        import scipy.sparse

        matrix = scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, length)).tocsc()
        found = (constant(matrix.data), constant(matrix.indices), constant(matrix.indptr))
        kept[columns, begins] = found
    return found


def fits(indices: Array, indptr: Array, length: int) -> bool:
    """Whether columns are below a number of columns, and rows begin in order and end with the entries."""
    rows = bool(indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all())
    return rows and (not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < length))


def proved_compressed(columns: Node, begins: Node, length: Dim) -> bool:
    """Whether columns and beginnings of rows are constants that fit a matrix with `length` columns."""
    indices, indptr = constant_value(columns), constant_value(begins)
    return indices is not None and indptr is not None and isinstance(length, int) and fits(indices, indptr, length)


def block_diagonal(columns: Node, begins: Node, width: Dim) -> tuple[Node, Node]:
    """Columns and beginnings of the block diagonal matrix of a batch of matrices with equally many entries.

    `columns`: shape (batch, entries). `begins`: shape (batch, rows + 1). `width`: number of columns of each block.
    """
    batch, count = columns.static_shape
    number = expand_dims(Node(Iota(batch)), 1)
    shifted = apply("add", cast(columns, "int64"), apply("mul", number, length_of(width)))
    starts = apply("add", cast(begins, "int64"), apply("mul", number, length_of(count)))
    rows = reshape(getitem(starts, (slice(None), slice(None, -1))), (-1,))
    total = reshape(length_of(batch * count), (1,))
    return reshape(shifted, (-1,)), concatenate([rows, total])


def matrix_of(x: Node) -> Node:
    """A vector as a matrix of one column; a matrix as it is."""
    if x.ndim not in (1, 2):
        raise ShapeError(f"a sparse matrix multiplies vectors and matrices, got {describe(x)}.")
    return expand_dims(x, 1) if x.ndim == 1 else x
