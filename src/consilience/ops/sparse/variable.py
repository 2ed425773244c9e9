"""`SparseVariable`: a matrix of which only the entries that are not zero are stored, as three ordinary tensors.

In: vectors of entries, of their places and of where rows (or columns) begin; SciPy's matrices. Out: a record with the
operators of matrices. What they mean is in the files beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import ArgumentError, DtypeError, ShapeError
from consilience.ir import Dim, Node, constant, constant_value
from consilience.ir.arithmetic import meaning
from consilience.ir.side_tables import describe, name_of, set_name
from consilience.ir.types import INTEGERS, Shape
from consilience.ops.elementwise import TensorLike, as_tensor, cast
from consilience.ops.shape import as_length, length_of, lengths_listed
from consilience.ops.sparse.products import entry_rows, never_negative

Format: TypeAlias = Literal["csr", "csc"]
Array: TypeAlias = npt.NDArray[Any]
OTHER: dict[Format, Format] = {"csr": "csc", "csc": "csr"}


class SparseVariable:
    """A sparse matrix; every operation builds plain expressions at once.

    data: The entries, row by row ("csr") or column by column ("csc").
    indices: The column (row) of each entry: ascending within a row (column), none twice.
    indptr: Where each row (column) begins, and the number of entries at the end.
    shape (tuple of (int or Dimension, int or Dimension)): Lengths of the axes.
    format: "csr" or "csc".

    Attributes
    ----------
    static_shape : tuple of (int or Dimension, int or Dimension)
        Numbers of rows and columns, integers or symbolic lengths.

    See as_sparse_variable: Makes one of a matrix of SciPy's.
    See matrix: Makes one that is an input of functions.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = sparse.as_sparse_variable(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]))
    >>> A.format, A.shape, A.data.eval().tolist()
    ('csr', (2, 2), [2.0, 1.0])
    >>> (A @ [1.0, 1.0]).eval().tolist()
    [2.0, 1.0]
    """

    __slots__ = ("data", "format", "indices", "indptr", "static_shape")
    data: Node
    indices: Node
    indptr: Node
    static_shape: tuple[Dim, Dim]
    format: Format

    # NumPy's arrays and tensors on the left of an operator leave it to the one on the right.
    __array_ufunc__ = None
    ndim = 2

    def __init__(self, data: Node, indices: Node, indptr: Node, shape: tuple[Dim, Dim], format: Format) -> None:
        for slot, value in zip(
            ("data", "indices", "indptr", "static_shape", "format"), (data, indices, indptr, shape, format), strict=True
        ):
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a sparse variable is frozen; `{name}` cannot be set.", name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseVariable) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.data, self.indices, self.indptr, self.static_shape, self.format

    def __reduce__(self) -> Any:
        return SparseVariable, self._key()

    def __repr__(self) -> str:
        rows, columns = self.static_shape
        name = f"{self.name}: " if self.name else ""
        return f"<{name}{self.format} {self.dtype}[{rows!r}, {columns!r}], {self.data.static_shape[0]!r} entries>"

    # ---- parts

    @property
    def name(self) -> str | None:
        """The name of the entries, without its ending."""
        own = name_of(self.data)
        return own.removesuffix(".data") if own else None

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.data.dtype

    @property
    def shape(self) -> tuple[int | Node, int | Node]:
        """Numbers of rows and columns: integers, and scalars where they are symbolic."""
        rows, columns = (n if isinstance(n, int) else length_of(n) for n in self.static_shape)
        return rows, columns

    @property
    def nnz(self) -> int | Node:
        """Number of stored entries."""
        (count,) = self.data.static_shape
        return count if isinstance(count, int) else length_of(count)

    size = nnz

    @property
    def T(self) -> SparseVariable:
        """The transpose: the same entries in the other format."""
        turned = (self.static_shape[1], self.static_shape[0])
        return SparseVariable(self.data, self.indices, self.indptr, turned, OTHER[self.format])

    def transpose(self) -> SparseVariable:
        """Rows and columns exchanged."""
        return self.T

    @property
    def lines(self) -> Dim:
        """How many rows (of "csr") or columns (of "csc") the entries lie in."""
        return self.static_shape[0 if self.format == "csr" else 1]

    @property
    def width(self) -> Dim:
        """The greatest length of such a row or column."""
        return self.static_shape[1 if self.format == "csr" else 0]

    @property
    def coordinates(self) -> tuple[Node, Node]:
        """Row and column of each entry."""
        lines, places = entry_rows(self.indices, self.indptr), never_negative(self.indices, self.width)
        return (lines, places) if self.format == "csr" else (places, lines)

    @property
    def known(self) -> bool:
        """Whether the places of all entries are constants."""
        return constant_value(self.indices) is not None and constant_value(self.indptr) is not None

    def with_data(self, data: Node) -> SparseVariable:
        """Other entries at the same places."""
        return SparseVariable(data, self.indices, self.indptr, self.static_shape, self.format)

    def astype(self, dtype: npt.DTypeLike) -> SparseVariable:
        """Entries of another type."""
        return self.with_data(cast(self.data, dtype))

    # ---- what the other files say

    def tocsr(self) -> SparseVariable:
        """The same matrix, row by row."""
        result: SparseVariable = meaning("sparse_format")(self, "csr")
        return result

    def tocsc(self) -> SparseVariable:
        """The same matrix, column by column."""
        result: SparseVariable = meaning("sparse_format")(self, "csc")
        return result

    def toarray(self) -> Node:
        """The dense matrix."""
        result: Node = meaning("sparse_dense")(self)
        return result

    todense = toarray

    def eval(self, inputs_to_values: Mapping[Any, Any] | None = None, **options: Any) -> Any:
        """SciPy's matrix of the value, given those of the inputs, of which sparse ones take SciPy's matrices."""
        return meaning("sparse_eval")(self, inputs_to_values, **options)

    def sum(self, axis: int | None = None) -> Node:
        """Sum of all entries, or a vector of the sums along an axis."""
        result: Node = meaning("sparse_sum")(self, axis)
        return result

    def diagonal(self) -> Node:
        """The main diagonal, a vector."""
        result: Node = meaning("sparse_diagonal")(self)
        return result

    def dot(self, other: Any) -> Any:
        """The matrix product."""
        return meaning("sparse_dot")(self, other)

    def multiply(self, other: Any) -> Any:
        """The product element by element."""
        return meaning("sparse_mul")(self, other)

    def __getitem__(self, index: Any) -> Any:
        return meaning("sparse_index")(self, index)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} is no list of tensors: its rows are `A[i]`; `pt.function` and `pt.grad` take it in a list."
        )

    def __matmul__(self, other: Any) -> Any:
        return meaning("sparse_dot")(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return meaning("sparse_dot")(other, self)

    def __add__(self, other: Any) -> Any:
        return meaning("sparse_add")(self, other)

    def __radd__(self, other: Any) -> Any:
        return meaning("sparse_add")(other, self)

    def __sub__(self, other: Any) -> Any:
        return meaning("sparse_sub")(self, other)

    def __rsub__(self, other: Any) -> Any:
        return meaning("sparse_sub")(other, self)

    def __mul__(self, other: Any) -> Any:
        return meaning("sparse_mul")(self, other)

    def __rmul__(self, other: Any) -> Any:
        return meaning("sparse_mul")(other, self)

    def __truediv__(self, other: Any) -> SparseVariable:
        result: SparseVariable = meaning("sparse_div")(self, other)
        return result

    def __neg__(self) -> SparseVariable:
        return self.with_data(-self.data)

    def __pos__(self) -> SparseVariable:
        return self

    def __abs__(self) -> SparseVariable:
        return self.with_data(abs(self.data))


def is_scipy_sparse(value: object) -> bool:
    """Whether a value is a sparse matrix or array of SciPy."""
    return type(value).__module__.startswith("scipy.sparse") and hasattr(value, "tocsr")


def is_sparse(value: object) -> bool:
    """Whether a value is a sparse variable, or a sparse matrix of SciPy."""
    return isinstance(value, SparseVariable) or is_scipy_sparse(value)


def as_sparse_variable(
    x: Any, name: str | None = None, format: Format | None = None, shape: Any = None, ndim: int = 2
) -> SparseVariable:
    """A sparse variable from a sparse matrix of SciPy, or from a tuple (data, indices, indptr) and a shape.

    x (TensorLike): Entries of SciPy's matrices that stand at one place are added up; formats other than "csr" and "csc"
        are converted. A sparse variable stays.
    name: For messages; names the entries "<name>.data".
    format: "csr" or "csc"; that of x if None, and "csr" for tuples.
    shape (int or sequence of int): Numbers of rows and columns; for tuples only, and may be the fourth member.
    ndim : ...
    Returns: The matrix; a sparse variable is returned as it is.
    Raises TypeError: For dense matrices and other things.
    Raises ShapeError: As `CSR` does.
    See as_sparse_or_tensor_variable: Takes what is not sparse, too.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = sparse.as_sparse(scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]]))
    >>> A.format, A.shape
    ('csr', (2, 2))
    """
    format = known_format(format)
    if ndim != 2:
        raise ShapeError(f"sparse variables are matrices, of rank 2; got ndim={ndim}.")
    if isinstance(x, SparseVariable):
        result = x if format in (None, x.format) else x.tocsr() if format == "csr" else x.tocsc()
    elif isinstance(x, tuple) and len(x) in (3, 4):
        given = x[3] if len(x) == 4 else shape
        if given is None:
            raise ShapeError(
                "a sparse matrix from (data, indices, indptr) needs its shape: pass `shape=(rows, columns)`."
            )
        result = compressed(x[0], x[1], x[2], given, format or "csr")
    elif is_scipy_sparse(x):
        result = _from_scipy(x, format or ("csc" if x.format == "csc" else "csr"))
    else:
        what = describe(x) if isinstance(x, Node) else f"{type(x).__name__}"
        raise TypeError(
            "a sparse matrix was needed: one of SciPy, or (data, indices, indptr, shape); "
            f"got {what}. Dense matrices are converted by `sparse.csr_from_dense`."
        )
    if name is not None:
        set_name(result.data, f"{name}.data")
    return result


def known_format(format: Any) -> Format | None:
    """A format as users give it; ArgumentError for what is none."""
    if format is None:
        return None
    found = next((known for known in OTHER if isinstance(format, str) and format == known), None)
    if found is None:
        raise ArgumentError(f"`format` must be 'csr' or 'csc', got {format!r}.")
    return found


def canonical(x: Any, format: Format) -> Any:
    """SciPy's matrix in a format, with entries in order and one per place; x itself is not changed."""
    matrix = x.tocsr() if format == "csr" else x.tocsc()
    if matrix.ndim != 2:
        raise ShapeError(
            f"sparse variables are matrices, got an array of rank {matrix.ndim}: take its `.reshape(1, -1)`."
        )
    width = matrix.shape[1 if format == "csr" else 0]
    _check_structure(matrix.indices, matrix.indptr, width, format, ordered=False)
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if matrix is x else matrix
        matrix.sum_duplicates()
    return matrix


def _from_scipy(x: Any, format: Format) -> SparseVariable:
    matrix = canonical(x, format)
    parts = (constant(matrix.data), constant(matrix.indices), constant(matrix.indptr))
    return SparseVariable(*parts, (int(matrix.shape[0]), int(matrix.shape[1])), format)


def compressed(data: TensorLike, indices: TensorLike, indptr: TensorLike, shape: Any, format: Format) -> SparseVariable:
    """A sparse variable of vectors and a shape, checked as far as they are constants.

    Raises ShapeError for lengths, places or beginnings that do not fit. Raises DtypeError for places that are no
    integers.
    """
    format = known_format(format) or "csr"
    entries, places, begins = as_tensor(data), _integers(indices, "indices"), _integers(indptr, "indptr")
    for node, what in ((entries, "data"), (places, "indices"), (begins, "indptr")):
        if node.ndim != 1:
            raise ShapeError(f"`{what}` of a sparse matrix must be a vector, got {describe(node)}.")
    lengths = _shape(shape)
    lines, width = lengths if format == "csr" else lengths[::-1]
    what = "row" if format == "csr" else "column"
    count = begins.static_shape[0]
    if isinstance(lines, int) and isinstance(count, int) and count != lines + 1:
        raise ShapeError(
            f"`indptr` must tell where each of {lines} {what}s begins and the last ends: {lines + 1} integers, "
            f"got {count}."
        )
    have, want = entries.static_shape[0], places.static_shape[0]
    if isinstance(have, int) and isinstance(want, int) and have != want:
        raise ShapeError(f"`data` and `indices` must be equally long, got {have} and {want}.")
    known, ends = constant_value(places), constant_value(begins)
    if known is not None and ends is not None and isinstance(width, int):
        _check_structure(known, ends, width, format)
    return SparseVariable(entries, places, begins, lengths, format)


def _integers(value: TensorLike, what: str) -> Node:
    node = as_tensor(value)
    if node.dtype == "float64" and (known := constant_value(node)) is not None and not known.size:
        return constant(known.astype("int32"))  # an empty list
    if node.dtype not in INTEGERS:
        raise DtypeError(f"`{what}` of a sparse matrix must be integers, got {describe(node)}.")
    return node if node.dtype in ("int32", "int64") else cast(node, "int64")


def _shape(shape: Any) -> tuple[Dim, Dim]:
    listed: Shape = tuple(as_length(n) for n in lengths_listed(shape))
    if len(listed) != 2:
        raise ShapeError(f"a sparse matrix has a shape (rows, columns), got {shape!r}.")
    return listed[0], listed[1]


def _check_structure(indices: Array, indptr: Array, width: int, format: Format, ordered: bool = True) -> None:
    """ShapeError where the constant places of entries are not those of a matrix with `width` columns (rows)."""
    line, other = ("row", "column") if format == "csr" else ("column", "row")
    lengths = np.diff(indptr)
    if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices) or (lengths < 0).any():
        raise ShapeError(
            f"`indptr` must begin with 0, never decrease and end with the number of entries, {len(indices)}: it tells "
            f"where each {line} begins; got {_shown(indptr)}."
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= width):
        worst = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise ShapeError(f"`indices` must be {other}s from 0 to {width - 1}, got {worst}.")
    if ordered and len(indices) > 1:
        steps = np.diff(indices.astype("int64"))
        starts = indptr[1:-1]
        starts = starts[(starts > 0) & (starts < len(indices))]
        steps[starts - 1] = 1  # from one line to the next
        if (steps <= 0).any():
            place = int(np.argmax(steps <= 0))
            row = int(np.searchsorted(indptr, place, side="right") - 1)
            wrong = "occurs twice" if steps[place] == 0 else "comes out of order"
            raise ShapeError(
                f"`indices` must ascend within each {line}, each {other} once; in {line} {row} the {other} "
                f"{int(indices[place + 1])} {wrong}. SciPy's `matrix.sum_duplicates()` puts entries in order."
            )


def _shown(array: Array) -> str:
    return np.array2string(array, threshold=8, edgeitems=3, separator=", ")
