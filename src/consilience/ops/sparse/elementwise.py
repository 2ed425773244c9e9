"""Sparse variables element by element: sums, products with numbers, dense and sparse matrices, functions of entries.

What keeps zeros zero gives a sparse variable with the same places; a sum with a dense matrix is dense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from consilience.errors import ShapeError
from consilience.ir import Node, constant_value
from consilience.ir.arithmetic import means
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.assertion import Require
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.index import flatnonzero, getitem
from consilience.ops.order import searchsorted
from consilience.ops.shape import concatenate, full, length_of
from consilience.ops.sparse.coordinates import added, dense_from_sparse, from_coordinates, same_shape, taken
from consilience.ops.sparse.variable import SparseVariable, as_sparse_variable, is_sparse


@means("sparse_add")
def add(x: Any, y: Any) -> Any:
    """The sum: sparse if both are, else dense. A number is added to all elements by `A.toarray() + number` only.

    x, y : ...
    Returns: Sparse where both operands are, else a dense tensor.
    See structured_add: A number added to the stored entries.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.add(A, A).toarray().eval().tolist()
    [[0.0, 4.0], [2.0, 0.0]]
    """
    if is_sparse(x) and is_sparse(y):
        return added(as_sparse_variable(x), as_sparse_variable(y))
    return apply("add", *(_dense(v, "add") for v in (x, y)))


@means("sparse_sub")
def sub(x: Any, y: Any) -> Any:
    """The difference: sparse if both are, else dense.

    x, y : ...
    Returns: Sparse where both operands are, else a dense tensor.
    See true_div: A sparse matrix divided by a number.
    See mul: The product element by element.
    See neg: The negative matrix.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.sub(A, [[1.0, 1.0], [1.0, 1.0]]).eval().tolist()
    [[-1.0, 1.0], [0.0, -1.0]]
    """
    if is_sparse(x) and is_sparse(y):
        return added(as_sparse_variable(x), -as_sparse_variable(y))
    return apply("sub", *(_dense(v, "sub") for v in (x, y)))


def _dense(value: Any, what: str) -> Node:
    if is_sparse(value):
        return dense_from_sparse(value)
    node = as_tensor(value)
    if not node.ndim:
        raise TypeError(
            f"`{what}` of a sparse matrix and a number is dense; write `A.toarray() + number` for all elements, or "
            "`sparse.structured_add(A, number)` for the stored ones."
        )
    return node


@means("sparse_mul")
def mul(x: Any, y: Any) -> SparseVariable:
    """The product element by element, sparse: of two sparse matrices, or of one and a number, a dense vector or matrix.

    A vector has an element per column, a matrix of one column or row is repeated, as NumPy broadcasts.

    x, y : ...
    Returns: Entries at the places where both operands may have some.
    See dot: The product of matrices.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.mul(A, [10.0, 100.0]).toarray().eval().tolist()
    [[0.0, 200.0], [10.0, 0.0]]
    """
    if is_sparse(x) and is_sparse(y):
        return _both_sparse(as_sparse_variable(x), as_sparse_variable(y))
    matrix, other = (x, y) if is_sparse(x) else (y, x)
    return _with_dense("mul", as_sparse_variable(matrix), other)


multiply = mul
subtract = sub


@means("sparse_div")
def true_div(x: Any, y: TensorLike) -> SparseVariable:
    """A sparse matrix divided by a number, a dense vector (an element per column) or matrix; zeros stay zeros.

    x (sparse), y : ...
    Returns: Quotients at the places of the entries.
    See mul: The product element by element.
    See neg: The negative matrix.
    See sub: The difference.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.true_div(A, 2.0).toarray().eval().tolist()
    [[0.0, 1.0], [0.5, 0.0]]
    """
    return _with_dense("true_div", as_sparse_variable(x), y)


def _with_dense(function: str, x: SparseVariable, other: TensorLike) -> SparseVariable:
    """Each entry with the element of a broadcast dense tensor at its place."""
    node = as_tensor(other)
    if node.ndim > 2:
        raise ShapeError(f"a sparse matrix multiplies numbers, vectors and matrices, got {describe(node)}.")
    if not node.ndim:
        return x.with_data(apply(function, x.data, other))
    needed = []
    index: list[Any] = []
    for axis in range(2 - node.ndim, 2):
        have, want = node.static_shape[axis + node.ndim - 2], x.static_shape[axis]
        if have == 1:
            index.append(0)
            continue
        if isinstance(have, int) and isinstance(want, int) and have != want:
            raise ShapeError(f"a tensor of shape {node.static_shape} does not fit {x!r}: {describe(node)}.")
        if have is not want and have != want:
            needed.append(ShapeConstraint(have, want, "an operand has the lengths of the sparse matrix"))
        index.append(x.coordinates[axis])
    elements = getitem(node, tuple(index))
    elements = Node(Require(tuple(needed)), elements) if needed else elements
    return x.with_data(apply(function, x.data, elements))


def _both_sparse(x: SparseVariable, y: SparseVariable) -> SparseVariable:
    """Entries at places that both have."""
    y = same_shape(x, y, "mul")
    y = y.tocsr() if x.format == "csr" else y.tocsc()
    (a, b), _ = promote([x.data, y.data])
    if x.indices is y.indices and x.indptr is y.indptr:
        return x.with_data(apply("mul", a, b))
    own, others = _keys(x), _keys(y)
    first, second = constant_value(own), constant_value(others)
    if first is not None and second is not None:
        _, left, right = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        at, found = as_tensor(left), as_tensor(right)
    else:
        place = searchsorted(others, own)
        padded = concatenate([others, full((1,), -1, "int64")])
        at = flatnonzero(apply("eq", getitem(padded, place), own))
        found = getitem(place, at)
    rows, columns = (taken(c, at) for c in x.coordinates)
    values = apply("mul", getitem(a, at), getitem(b, found))
    return from_coordinates(rows, columns, values, x.static_shape, x.format, ordered=True)


def _keys(x: SparseVariable) -> Node:
    """The places of entries as ascending integers."""
    line, other = x.coordinates if x.format == "csr" else x.coordinates[::-1]
    one, two = constant_value(line), constant_value(other)
    if one is not None and two is not None and isinstance(x.width, int):
        return as_tensor(one.astype("int64") * x.width + two)
    return apply("add", apply("mul", cast(line, "int64"), length_of(x.width)), cast(other, "int64"))


def col_scale(x: Any, s: TensorLike) -> SparseVariable:
    """Each column times an element of a vector.

    x (sparse) : ...
    s: Vector of factors.
    Returns: A matrix with entries at the same places.
    See row_scale: Each row times an element.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.col_scale(A, [10.0, 100.0]).toarray().eval().tolist()
    [[0.0, 200.0], [10.0, 0.0]]
    """
    return _with_dense("mul", as_sparse_variable(x), _vector(s))


def row_scale(x: Any, s: TensorLike) -> SparseVariable:
    """Each row times an element of a vector.

    x (sparse) : ...
    s: Vector of factors.
    Returns: A matrix with entries at the same places.
    See col_scale: Each column times an element.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.row_scale(A, [10.0, 100.0]).toarray().eval().tolist()
    [[0.0, 20.0], [100.0, 0.0]]
    """
    return _with_dense("mul", as_sparse_variable(x).T, _vector(s)).T


def _vector(value: TensorLike) -> Node:
    node = as_tensor(value)
    if node.ndim != 1:
        raise ShapeError(f"a vector was needed, got {describe(node)}.")
    return node


def _with_number(
    function: str, summary: str, relatives: str, given: str, value: str
) -> Callable[[Any, Any], SparseVariable]:
    """The function `structured_` of that name, with a number, and its value for a matrix, for the example."""
    name = f"structured_{function}"

    def structured(x: Any, y: TensorLike) -> SparseVariable:
        return _with_dense(function, as_sparse_variable(x), y)

    structured.__doc__ = f"""{summary}.

Parameters
----------
x : SparseVariable or sparse matrix
    The matrix.
y : TensorLike
    Number, or a vector of one element per column.

Returns
-------
SparseVariable
    A matrix with entries at the same places.

See Also
--------
{chr(10).join(f"{other} : {_MEANINGS[other]}." for other in relatives.split())}

Examples
--------
>>> import scipy.sparse
>>> import consilience.sparse as sparse
>>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
>>> sparse.{name}(A, {given}).toarray().eval().tolist()
{value}
"""
    structured.__name__ = structured.__qualname__ = name
    return structured


_MEANINGS = {
    "structured_add": "A number added to the stored entries",
    "structured_minimum": "The smaller of each stored entry and a number",
    "structured_maximum": "The greater of each stored entry and a number",
}
structured_add = _with_number(
    "add", "A number, or an element of a vector per column, added to the stored entries only",
    "structured_minimum structured_maximum", "10.0", "[[0.0, 12.0], [11.0, 0.0]]",
)  # fmt: skip
structured_minimum = _with_number(
    "minimum", _MEANINGS["structured_minimum"], "structured_maximum structured_add", "1.5", "[[0.0, 1.5], [1.0, 0.0]]"
)
structured_maximum = _with_number(
    "maximum", _MEANINGS["structured_maximum"], "structured_add structured_minimum", "1.5", "[[0.0, 2.0], [1.5, 0.0]]"
)


def structured_pow(x: Any, y: TensorLike) -> SparseVariable:
    """Each stored entry to a power.

    x (sparse) : ...
    y: The exponent.
    Returns: A matrix with entries at the same places.
    See mul: The product element by element.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> A = scipy.sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])
    >>> sparse.power(A, 3).toarray().eval().tolist()
    [[0.0, 8.0], [1.0, 0.0]]
    """
    matrix = as_sparse_variable(x)
    return matrix.with_data(matrix.data**y)


def conjugate(x: Any) -> SparseVariable:
    """The complex conjugate of the stored entries; a real matrix itself.

    x (sparse) : ...
    Returns: A matrix with entries at the same places.
    See transpose: Rows and columns exchanged.
    >>> import scipy.sparse
    >>> import consilience.sparse as sparse
    >>> sparse.conjugate(scipy.sparse.csr_matrix([[0.0, 1 + 2j]])).data.eval().tolist()
    [(1-2j)]
    """
    matrix = as_sparse_variable(x)
    return matrix.with_data(matrix.data.conj())


def _of_entries(name: str, function: str, value: str) -> Callable[[Any], SparseVariable]:
    """The function of that name, with its value at 0.5 for the example of its docstring."""

    def structured(x: Any) -> SparseVariable:
        matrix = as_sparse_variable(x)
        return matrix.with_data(apply(function, matrix.data))

    structured.__doc__ = f"""`{function}` of the stored entries; all other elements stay zero.

Parameters
----------
x : SparseVariable or sparse matrix
    The matrix.

Returns
-------
SparseVariable
    A matrix with entries at the same places.

See Also
--------
{function} : The function of dense tensors.

Examples
--------
>>> import scipy.sparse
>>> import consilience.sparse as sparse
>>> a = scipy.sparse.csr_matrix([[0.0, 0.5], [0.0, 0.0]])
>>> sparse.{name}(a).toarray().eval().round(4).tolist()
[[0.0, {value}], [0.0, 0.0]]
"""
    structured.__name__ = structured.__qualname__ = name
    return structured


structured_exp = _of_entries("structured_exp", "exp", "1.6487")
structured_log = _of_entries("structured_log", "log", "-0.6931")
structured_sigmoid = _of_entries("structured_sigmoid", "sigmoid", "0.6225")
structured_abs = _of_entries("structured_abs", "abs", "0.5")
sqr = _of_entries("sqr", "square", "0.25")
sgn = _of_entries("sgn", "sign", "1.0")
rint = _of_entries("rint", "round", "0.0")
sqrt = _of_entries("sqrt", "sqrt", "0.7071")
sin = _of_entries("sin", "sin", "0.4794")
sinh = _of_entries("sinh", "sinh", "0.5211")
tan = _of_entries("tan", "tan", "0.5463")
tanh = _of_entries("tanh", "tanh", "0.4621")
arcsin = _of_entries("arcsin", "arcsin", "0.5236")
arcsinh = _of_entries("arcsinh", "arcsinh", "0.4812")
arctan = _of_entries("arctan", "arctan", "0.4636")
arctanh = _of_entries("arctanh", "arctanh", "0.5493")
ceil = _of_entries("ceil", "ceil", "1.0")
floor = _of_entries("floor", "floor", "0.0")
trunc = _of_entries("trunc", "trunc", "0.0")
deg2rad = _of_entries("deg2rad", "deg2rad", "0.0087")
rad2deg = _of_entries("rad2deg", "rad2deg", "28.6479")
expm1 = _of_entries("expm1", "expm1", "0.6487")
log1p = _of_entries("log1p", "log1p", "0.4055")
