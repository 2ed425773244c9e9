"""Sparse matrices from the rows, columns and values of their entries, and what follows: other formats, sums, stacks.

Where all places are constants they are put in order once, when the expression is written; otherwise the program sorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience.errors import ShapeError
from consilience.ir import Dim, Node, constant, constant_value
from consilience.ir import dimension as dims
from consilience.ir.arithmetic import means
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.assertion import Require
from consilience.ops.elementwise import apply, as_tensor, cast, promote
from consilience.ops.index import flatnonzero, getitem, index_inc, nonzero
from consilience.ops.order import argsort
from consilience.ops.reduce import cumulative, reduce
from consilience.ops.shape import Iota, concatenate, full, length_of
from consilience.ops.sparse.variable import Format, SparseVariable, as_sparse_variable, known_format

INT32 = 2**31 - 1


def from_coordinates(
    rows: Node, columns: Node, values: Node, shape: tuple[Dim, Dim], format: Format = "csr", ordered: bool = False
) -> SparseVariable:
    """The matrix with values at rows and columns, all vectors; values at one place are added up.

    `ordered`: whether entries are in the order of the format already, one per place.
    """
    line, other = (rows, columns) if format == "csr" else (columns, rows)
    lines, width = shape if format == "csr" else shape[::-1]
    line, other = cast(line, "int64"), cast(other, "int64")
    if constant_value(line) is not None and constant_value(other) is not None and isinstance(lines, int):
        return _known(line, other, values, shape, format, ordered)
    if not ordered:
        keys = apply("add", apply("mul", line, length_of(width)), other)
        order = argsort(keys)
        keys = getitem(keys, order)
        new = apply("neq", getitem(keys, slice(1, None)), getitem(keys, slice(None, -1)))
        first = full((dims.minimum(keys.static_shape[0], 1),), True)
        begins = concatenate([first, new])
        starts = flatnonzero(begins)
        group = apply("sub", cumulative("sum", begins), 1)
        values = index_inc(getitem(full(starts.static_shape, 0, values.dtype), group), getitem(values, order))
        line, other = getitem(getitem(line, order), starts), getitem(getitem(other, order), starts)
    kind = _places_dtype(shape)
    return SparseVariable(values, cast(other, kind), cast(_begins(line, lines), kind), shape, format)


def _places_dtype(shape: tuple[Dim, Dim], count: int = 0) -> str:
    """The dtype of the places of so many entries: int32 unless a known number is too large."""
    return "int32" if max(count, *(n for n in shape if isinstance(n, int)), 0) <= INT32 else "int64"


def _begins(line: Node, lines: Dim) -> Node:
    """Where each line begins, for the line of each entry."""
    counts = index_inc(getitem(full((lines,), 0, "int64"), line), 1)
    return concatenate([full((1,), 0, "int64"), cumulative("sum", counts)])


def _known(
    line: Node, other: Node, values: Node, shape: tuple[Dim, Dim], format: Format, ordered: bool
) -> SparseVariable:
    one, two = constant_value(line), constant_value(other)
    lines = shape[0 if format == "csr" else 1]
    assert one is not None
    assert two is not None
    assert isinstance(lines, int)
    if not ordered and len(one):
        order = np.lexsort((two, one))
        one, two = one[order], two[order]
        if (order[1:] < order[:-1]).any():
            values = taken(values, constant(order))
        new = np.concatenate([[True], (np.diff(one) != 0) | (np.diff(two) != 0)])
        if not new.all():
            one, two = one[new], two[new]
            values = index_inc(getitem(full((len(one),), 0, values.dtype), np.cumsum(new) - 1), values)
    begins = np.concatenate([[0], np.cumsum(np.bincount(one, minlength=lines))])
    kind = _places_dtype(shape, len(two))
    places = constant(two.astype(kind)), constant(begins.astype(kind))
    return SparseVariable(values, *places, shape, format)


def taken(vector: Node, places: Node) -> Node:
    """Elements of a vector; of constants a constant."""
    known, at = constant_value(vector), constant_value(places)
    return getitem(vector, places) if known is None or at is None else constant(known[at])


@means("sparse_format")
def converted(x: SparseVariable, format: Format) -> SparseVariable:
    """The same matrix in a format."""
    if x.format == format:
        return x
    rows, columns = x.coordinates
    return from_coordinates(rows, columns, x.data, x.static_shape, format)


@means("sparse_dense")
def dense_from_sparse(x: Any) -> Node:
    """The dense matrix.

    x (sparse) : ...
    Returns: A dense matrix.
    See csr_from_dense: The entries of a dense matrix that are not zero.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.dense_from_sparse(scipy.sparse.csr_matrix([[0.0, 2.0]])).eval().tolist()
    [[0.0, 2.0]]
    """
    matrix = as_sparse_variable(x)
    zeros = full(matrix.static_shape, 0, matrix.dtype)
    return index_inc(getitem(zeros, matrix.coordinates), matrix.data)


def csr_from_dense(x: Any) -> SparseVariable:
    """The entries of a dense matrix that are not zero, row by row; their number may be known at run time only.

    x : ...
    Returns: A matrix of format "csr".
    See csc_from_dense: The same, column by column.
    >>> import consilience.sparse as sparse
    >>> sparse.csr_from_dense([[0.0, 2.0], [1.0, 0.0]]).data.eval().tolist()
    [2.0, 1.0]
    """
    return _from_dense(x, "csr")


def csc_from_dense(x: Any) -> SparseVariable:
    """The entries of a dense matrix that are not zero, column by column.

    x : ...
    Returns: A matrix of format "csc".
    See csr_from_dense: The same, row by row.
    >>> import consilience.sparse as sparse
    >>> sparse.csc_from_dense([[0.0, 2.0], [1.0, 0.0]]).data.eval().tolist()
    [1.0, 2.0]
    """
    return _from_dense(x, "csc")


def _from_dense(x: Any, format: Format) -> SparseVariable:
    node = as_tensor(x)
    if node.ndim != 2:
        raise ShapeError(f"a matrix was needed, got {describe(node)}.")
    known = constant_value(node)
    if known is not None:
        import scipy.sparse

        return as_sparse_variable(scipy.sparse.csr_matrix(known), format=format)
    shape = (node.static_shape[0], node.static_shape[1])
    turned = node if format == "csr" else node.T
    line, other = nonzero(turned)
    values = getitem(turned, (line, other))
    rows, columns = (line, other) if format == "csr" else (other, line)
    return from_coordinates(rows, columns, values, shape, format, ordered=True)


# ---- sums


def same_shape(x: SparseVariable, y: SparseVariable, what: str) -> SparseVariable:
    """y, whose shape must be that of x."""
    needed = []
    for have, want in zip(y.static_shape, x.static_shape, strict=True):
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise ShapeError(f"`{what}` needs sparse matrices of one shape, got {x!r} and {y!r}.")
        if have is not want and have != want:
            needed.append(ShapeConstraint(have, want, f"operands of `{what}` have one shape"))
    return y.with_data(Node(Require(tuple(needed)), y.data)) if needed else y


def added(x: SparseVariable, y: SparseVariable) -> SparseVariable:
    """The sum of two sparse matrices, in the format of the first."""
    y = same_shape(x, y, "add")
    (a, b), _ = promote([x.data, y.data])
    if x.format == y.format and x.indices is y.indices and x.indptr is y.indptr:
        return x.with_data(apply("add", a, b))
    pairs = zip(x.coordinates, y.coordinates, strict=True)
    rows, columns = (_joined(cast(p, "int64"), cast(q, "int64")) for p, q in pairs)
    return from_coordinates(rows, columns, concatenate([a, b]), x.static_shape, x.format)


def _joined(*parts: Node) -> Node:
    """Vectors one behind the other; of constants a constant."""
    known = [constant_value(part) for part in parts]
    arrays = [k for k in known if k is not None]
    return constant(np.concatenate(arrays)) if len(arrays) == len(parts) else concatenate(parts)


@means("sparse_sum")
def sp_sum(x: Any, axis: int | None = None, sparse_grad: bool = False) -> Node:
    """Sum of all entries, or a dense vector of sums down the columns (axis 0) or along the rows (axis 1).

    x (sparse) : ...
    axis: Axis or axes to work along, negative ones counted from the end; None for all.
    sparse_grad: Changes nothing: derivatives are those of the stored entries.
    Returns: A number, or a vector of sums.
    See diag: The main diagonal.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.sp_sum(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 3.0]]), axis=0).eval().tolist()
    [1.0, 5.0]
    """
    matrix = as_sparse_variable(x)
    if axis is None:
        return reduce("sum", matrix.data)
    if axis not in (-2, -1, 0, 1):
        raise ShapeError(f"a matrix has the axes 0 and 1, got axis {axis!r}.")
    kept = 1 - axis % 2
    total = reduce("sum", full((1,), 0, matrix.dtype)).dtype  # NumPy's dtype of sums
    zeros = full((matrix.static_shape[kept],), 0, total)
    return index_inc(getitem(zeros, matrix.coordinates[kept]), cast(matrix.data, total))


@means("sparse_diagonal")
def diag(x: Any) -> Node:
    """The main diagonal, a dense vector.

    x (sparse) : ...
    Returns: As long as the shorter axis.
    See square_diagonal: A matrix with a given diagonal.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.diag(scipy.sparse.csr_matrix([[3.0, 2.0], [1.0, 0.0]])).eval().tolist()
    [3.0, 0.0]
    """
    matrix = as_sparse_variable(x)
    rows, columns = matrix.coordinates
    zeros = full((dims.minimum(*matrix.static_shape),), 0, matrix.dtype)
    line, place = constant_value(rows), constant_value(columns)
    if line is not None and place is not None:
        found = np.flatnonzero(line == place)
        return index_inc(getitem(zeros, line[found]), getitem(matrix.data, found))
    found_at = flatnonzero(apply("eq", rows, columns))
    return index_inc(getitem(zeros, getitem(rows, found_at)), getitem(matrix.data, found_at))


def square_diagonal(diagonal: Any) -> SparseVariable:
    """The square sparse matrix with a vector on its diagonal, of format "csc".

    diagonal: The elements of the diagonal.
    Returns: A matrix of format "csc".
    See diag: The diagonal of a matrix.
    >>> import consilience.sparse as sparse
    >>> sparse.square_diagonal([3.0, 2.0]).toarray().eval().tolist()
    [[3.0, 0.0], [0.0, 2.0]]
    """
    node = as_tensor(diagonal)
    if node.ndim != 1:
        raise ShapeError(f"a vector was needed, got {describe(node)}.")
    (length,) = node.static_shape
    line = constant(np.arange(length)) if isinstance(length, int) else Node(Iota(length))
    return from_coordinates(line, line, node, (length, length), "csc", ordered=True)


# ---- stacks


def _stacked(blocks: Sequence[Any], format: Format | None, dtype: Any, down: bool, right: bool) -> SparseVariable:
    kind = known_format(format) or "csc"
    matrices = [as_sparse_variable(block) for block in blocks]
    if not matrices:
        raise ShapeError("at least one matrix was needed, got none.")
    entries, _ = promote([m.data for m in matrices])
    height: Dim = 0
    width: Dim = 0
    rows, columns, needed = [], [], []
    for matrix in matrices:
        for own, first, free in zip(matrix.static_shape, matrices[0].static_shape, (down, right), strict=True):
            if not free and isinstance(own, int) and isinstance(first, int) and own != first:
                raise ShapeError(
                    f"stacked matrices need one {'width' if down else 'height'}: {matrices[0]!r}, {matrix!r}."
                )
            if not free and own is not first and own != first:
                needed.append(ShapeConstraint(own, first, "stacked matrices agree on the other axis"))
        row, column = matrix.coordinates
        rows.append(_shifted(row, height if down else 0))
        columns.append(_shifted(column, width if right else 0))
        height = height + matrix.static_shape[0] if down else matrix.static_shape[0]
        width = width + matrix.static_shape[1] if right else matrix.static_shape[1]
    data = concatenate(entries)
    data = Node(Require(tuple(needed)), data) if needed else data
    result = from_coordinates(_joined(*rows), _joined(*columns), data, (height, width), kind)
    return result if dtype is None else result.astype(dtype)


def _shifted(places: Node, by: Dim) -> Node:
    known = constant_value(places)
    if known is not None and isinstance(by, int):
        return constant(known.astype("int64") + by)
    return apply("add", cast(places, "int64"), length_of(by))


def vstack(blocks: Sequence[Any], format: Format | None = None, dtype: Any = None) -> SparseVariable:
    """Matrices with equally many columns below each other; of format "csc" unless said.

    blocks (sequence): The matrices; dense ones are taken too.
    format : ...
    dtype: Element type of the result; by default it follows from the operands.
    Returns: As many rows as all matrices have together.
    See hstack: Matrices beside each other.
    See block_diag: Matrices along a diagonal.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0]])
    >>> sparse.vstack([A, A]).toarray().eval().tolist()
    [[0.0, 2.0], [0.0, 2.0]]
    """
    return _stacked(blocks, format, dtype, down=True, right=False)


def hstack(blocks: Sequence[Any], format: Format | None = None, dtype: Any = None) -> SparseVariable:
    """Matrices with equally many rows beside each other; of format "csc" unless said.

    blocks (sequence): The matrices; dense ones are taken too.
    format : ...
    dtype: Element type of the result; by default it follows from the operands.
    Returns: As many columns as all matrices have together.
    See vstack: Matrices below each other.
    See block_diag: Matrices along a diagonal.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0]])
    >>> sparse.hstack([A, A]).toarray().eval().tolist()
    [[0.0, 2.0, 0.0, 2.0]]
    """
    return _stacked(blocks, format, dtype, down=False, right=True)


def block_diag(*matrices: Any, format: Format = "csc") -> SparseVariable:
    """Matrices along the diagonal of one.

    *matrices: The matrices, in order.
    format : ...
    Returns: As many rows and columns as all matrices have together.
    See hstack: Matrices beside each other.
    See vstack: Matrices below each other.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0]])
    >>> sparse.block_diag(A, A).toarray().eval().tolist()
    [[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]]
    """
    return _stacked(matrices, format, None, down=True, right=True)
