"""Linear algebra on the last two axes; leading axes are a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, KeptAxes, Node, Op, TensorType, constant
from consilience.ir.arithmetic import meaning
from consilience.ir.dimension import maximum, minimum
from consilience.ir.leaves import by_columns
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ir.types import COMPLEXES, FLOATS, Shape
from consilience.ops.axes import aligned, all_but, distinct, integers, is_integer
from consilience.ops.dtypes import named
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast, promote
from consilience.ops.index import getitem
from consilience.ops.reduce import reduce
from consilience.ops.shape import Iota, Transpose, broadcast_to, expand_dims, reshape, squeeze, transpose
from consilience.ops.sparse.variable import is_sparse
from consilience.ops.structured import DiagonalMatrix


def _pair(a: Dim, b: Dim, reason: str) -> tuple[ShapeConstraint, ...]:
    return () if a is b or a == b else (ShapeConstraint(a, b, reason),)


def batch_shape(left: Shape, right: Shape) -> tuple[Shape, tuple[tuple[Dim, Dim], ...]]:
    """Broadcast of two batch shapes, and the pairs of lengths that must turn out equal."""
    shape: list[Dim] = []
    pairs: list[tuple[Dim, Dim]] = []
    for axis in range(-max(len(left), len(right)), 0):
        a = left[axis] if len(left) >= -axis else 1
        b = right[axis] if len(right) >= -axis else 1
        if a == 1 or a is b:
            shape.append(b)
        elif b == 1:
            shape.append(a)
        elif isinstance(a, int) and isinstance(b, int):
            if a != b:
                raise ShapeError(f"batch axes of lengths {a} and {b} do not broadcast.")
            shape.append(a)
        else:
            pairs.append((a, b))
            shape.append(a if isinstance(a, int) else b)
    return tuple(shape), tuple(pairs)


class MatMul(Op):
    """NumPy's matmul: vectors, matrices, or batches of matrices."""

    flops = 2.0
    linear = ((0,), (1,))

    def result_type(self, *inputs: Node) -> TensorType:
        a, b = inputs
        inner = (a.static_shape[-1], b.static_shape[-2 if b.ndim > 1 else -1])
        if isinstance(inner[0], int) and isinstance(inner[1], int) and inner[0] != inner[1]:
            raise ShapeError(
                f"cannot multiply: inner lengths {inner[0]} and {inner[1]} differ in\n  {describe(a)}\n  {describe(b)}"
            )
        batch, _ = batch_shape(a.static_shape[:-2], b.static_shape[:-2])
        rows = a.static_shape[-2:-1] if a.ndim > 1 else ()
        columns = b.static_shape[-1:] if b.ndim > 1 else ()
        return TensorType(a.dtype, (*batch, *rows, *columns))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        a, b = inputs
        rank = max(a.ndim, b.ndim, 2)
        batches = aligned(rank, inputs)
        left, right = ({axis: old for axis, old in each.items() if axis < rank - 2} for each in batches)
        if a.ndim > 1:
            left[rank - 2] = a.ndim - 2
        if b.ndim > 1:
            right[rank - 2 + (a.ndim > 1)] = b.ndim - 1
        return left, right

    def volume(self, *inputs: Node) -> Dim:
        return self.result_type(*inputs).size * inputs[0].static_shape[-1]

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        a, b = inputs
        inner = _pair(a.static_shape[-1], b.static_shape[-2 if b.ndim > 1 else -1], "inner lengths of a product agree")
        _, pairs = batch_shape(a.static_shape[:-2], b.static_shape[:-2])
        return inner + tuple(ShapeConstraint(x, y, "batch axes agree") for x, y in pairs)


def _square(x: Node, what: str) -> None:
    if x.ndim < 2:
        raise ShapeError(f"{what} needs a matrix, got {describe(x)}.")
    rows, columns = x.static_shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(f"{what} needs a square matrix, got {rows} x {columns}: {describe(x)}.")


class _Square(Op):
    """Shared by ops on square matrices."""

    core = 2
    flops = 2.0

    def volume(self, *inputs: Node) -> Dim:
        return inputs[0].tensor_type.size * inputs[0].static_shape[-1]

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        rows, columns = inputs[0].static_shape[-2:]
        return _pair(rows, columns, "a square matrix has equal lengths")


class _Assuming(_Square):
    """Shared by ops that read half of a matrix which is said to be symmetric; `assume` as in `Solve`."""

    assume: str = "general"

    def triangle_read(self) -> str:
        return "lower" if self.assume == "positive definite" else ""


class Cholesky(_Square):
    """Lower triangular L with L L' = x for symmetric positive definite x; reads the lower triangle.

    Where x is not positive definite the function fails with status FACTORISATION_FAILED; the values are NaN.
    """

    flops = 1.0 / 3.0
    triangle = "lower"

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], "cholesky")
        return inputs[0].tensor_type


class SolveTriangular(_Square):
    """`y` with A y = b (A' y = b when `transposed`) for triangular A; b is a matrix with A's batch shape."""

    flops = 1.0
    linear = ((1,),)
    lower: bool = True
    transposed: bool = False

    def triangle_read(self) -> str:
        return "lower" if self.lower else "upper"

    def result_type(self, *inputs: Node) -> TensorType:
        return _solution(inputs, "solve_triangular")

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return _of_columns(inputs, 1)

    def volume(self, *inputs: Node) -> Dim:
        return inputs[1].tensor_type.size * inputs[0].static_shape[-1]

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        return _solve_shape_constraints(inputs)


class Solve(_Assuming):
    """`y` with A y = b; b is a matrix with A's batch shape. `assume` is "general" or "positive definite"."""

    linear = ((1,),)

    def result_type(self, *inputs: Node) -> TensorType:
        return _solution(inputs, "solve")

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return _of_columns(inputs, 1)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        return _solve_shape_constraints(inputs)


def _solution(inputs: tuple[Node, ...], what: str) -> TensorType:
    a, b = inputs
    _square(a, what)
    rows, wanted = b.static_shape[-2], a.static_shape[-1]
    if isinstance(rows, int) and isinstance(wanted, int) and rows != wanted:
        raise ShapeError(f"{what} needs {wanted} rows on the right, got {rows}: {describe(b)}.")
    return b.tensor_type


def _solve_shape_constraints(inputs: tuple[Node, ...]) -> tuple[ShapeConstraint, ...]:
    a, b = inputs
    found = _pair(a.static_shape[-2], a.static_shape[-1], "a square matrix has equal lengths")
    found += _pair(a.static_shape[-1], b.static_shape[-2], "the right side has one row per unknown")
    for x, y in zip(a.static_shape[:-2], b.static_shape[:-2], strict=True):
        found += _pair(x, y, "batch axes agree")
    return found


def _of_columns(inputs: tuple[Node, ...], gone: int) -> KeptAxes:
    """Columns of the right side are apart from each other, in the result as its last axis."""
    batch, columns = all_but((), inputs[0].ndim - 2), inputs[1].ndim - 1
    return batch, {**batch, columns + 1 - gone: columns}


class InverseQuadratic(_Square):
    """`b' A^-1 b` for every column b of a matrix; A is symmetric positive definite, with the matrix' batch shape."""

    triangle = "lower"

    def result_type(self, *inputs: Node) -> TensorType:
        of = _solution(inputs, "inverse_quadratic")
        return of.with_shape((*of.shape[:-2], of.shape[-1]))

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return _of_columns(inputs, 2)

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        return _solve_shape_constraints(inputs)


class Inverse(_Assuming):
    """Matrix inverse. `assume` is "general" or "positive definite" (then symmetric, by Cholesky)."""

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], "inv")
        return inputs[0].tensor_type


class LogAbsDet(_Assuming):
    """Logarithm of the determinant's absolute value. `assume` is "general" or "positive definite"."""

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], "slogdet")
        return inputs[0].tensor_type.with_shape(inputs[0].static_shape[:-2])


class DetSign(_Square):
    """Sign of the determinant: -1, 0 or 1."""

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], "slogdet")
        return inputs[0].tensor_type.with_shape(inputs[0].static_shape[:-2])


class Det(_Square):
    """Determinant."""

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], "det")
        return inputs[0].tensor_type.with_shape(inputs[0].static_shape[:-2])


def _float(value: TensorLike) -> Node:
    """Floats that factorisations know; float16 is taken as float32, as SciPy does."""
    x = as_tensor(value)
    if x.dtype in COMPLEXES:
        raise DtypeError(f"factorisations of complex matrices are not there yet: {describe(x)}.")
    if x.dtype == "float16":
        return cast(x, "float32")
    return x if x.dtype in FLOATS else cast(x, "float64")


def matmul(x1: TensorLike, x2: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """NumPy's matmul, as `dtype` if one is given; rank 0 is an error. Operands may be sparse, as in `sparse.dot`.

    x1: First operand; leading axes are a batch.
    x2: Second operand; leading axes are a batch.
    dtype : ...
    Returns: The products, of the axes that are not summed over.
    See batched_dot: `dot` of the parts of two tensors along their first axis.
    See batched_tensordot: `tensordot` of the parts of two tensors along their first axis.
    >>> pt.matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).eval().tolist()
    [3.0, 7.0]
    """
    if is_sparse(x1) or is_sparse(x2):
        product: Node = meaning("sparse_dot")(x1, x2)
        return product if dtype is None else product.astype(dtype)
    (a, b), common = promote([_by_columns(x1), x2])
    if dtype is not None:  # computed no less precisely than the operands are
        wide = np.result_type(common, named(dtype)).name
        return cast(matmul(cast(a, wide), cast(b, wide)), dtype)
    if not a.ndim or not b.ndim:
        raise ShapeError("matmul needs vectors or matrices; multiply by a number with `*`.")
    if a.dtype == "bool":
        a, b = cast(a, "int64"), cast(b, "int64")
    if a.dtype == "float16":  # sums are taken in float32 and rounded once
        return cast(Node(MatMul(), cast(a, "float32"), cast(b, "float32")), "float16")
    return Node(MatMul(), a, b)


def _by_columns(x: TensorLike) -> TensorLike:
    """A large matrix of few columns that is copied is so column by column, as products read it."""
    copy = by_columns(x, x.dtype) if isinstance(x, np.ndarray) and x.dtype.name in FLOATS else None
    return x if copy is None else transpose(constant(copy.T))


def dot(l: TensorLike, r: TensorLike) -> Node:  # noqa: E741 - PyTensor's names
    """NumPy's dot: product with numbers, inner product of vectors, sum over the last and second last axis.

    Operands may be sparse, as in `sparse.dot`.

    l: Left operand.
    r: Right operand.
    Returns: The products, of the axes that are not summed over.
    See matmul: NumPy's matmul.
    See tensordot: Sum of products over pairs of axes.
    See inner: Sum of products over the last axis of both.
    >>> pt.dot([1.0, 2.0], [3.0, 4.0]).eval().item()
    11.0
    """
    if is_sparse(l) or is_sparse(r):
        product: Node = meaning("sparse_dot")(l, r)
        return product
    (a, b), _ = promote([_by_columns(l), r])
    if not a.ndim or not b.ndim:
        return apply("mul", a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2 if b.ndim > 1 else 0,)))


def tensordot(a: TensorLike, b: TensorLike, axes: int | Sequence[object] = 2) -> Node:
    """Sum of products over pairs of axes: the last `axes` of a with the first of b, or the given ones.

    a : ...
    b: Second operand.
    axes (int or sequence): Number of last axes of a that meet the first ones of b; or two lists, axes of a and as many
        of b.
    Returns: The products, of the axes that are not summed over.
    See inner: Sum of products over the last axis of both.
    See vdot: Sum of the products of all elements of two tensors of equal size.
    See dot: NumPy's dot.
    >>> pt.tensordot([[1.0, 2.0]], [[3.0], [4.0]], 1).eval().tolist()
    [[11.0]]
    """
    (a, b), _ = promote([a, b])
    if is_integer(axes):
        (count,) = integers(axes)
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ShapeError(f"tensordot over {count} axes needs as many in both, got {describe(a)} and {describe(b)}.")
        over_a, over_b = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    else:
        over_a, over_b = (distinct(integers(given), node.ndim) for given, node in zip(axes, (a, b), strict=True))  # type: ignore[arg-type]  # no integer, as seen
    if len(over_a) != len(over_b):
        raise ShapeError(f"tensordot needs as many axes on the left as on the right, got {over_a} and {over_b}.")
    keep_a = [i for i in range(a.ndim) if i not in over_a]
    keep_b = [i for i in range(b.ndim) if i not in over_b]
    rows = [a.static_shape[i] for i in keep_a]
    columns = [b.static_shape[i] for i in keep_b]
    inner_a: Dim = 1
    for i, j in zip(over_a, over_b, strict=True):
        x, y = a.static_shape[i], b.static_shape[j]
        if isinstance(x, int) and isinstance(y, int) and x != y:
            raise ShapeError(f"tensordot sums over axes of lengths {x} and {y}: {describe(a)}, {describe(b)}.")
        inner_a = inner_a * x
    inner_b: Dim = 1
    for j in over_b:
        inner_b = inner_b * b.static_shape[j]
    row_count: Dim = 1
    for n in rows:
        row_count = row_count * n
    column_count: Dim = 1
    for n in columns:
        column_count = column_count * n
    flat_a = reshape(transpose(a, [*keep_a, *over_a]), (row_count, inner_a))
    flat_b = reshape(transpose(b, [*over_b, *keep_b]), (inner_b, column_count))
    return reshape(matmul(flat_a, flat_b), (*rows, *columns))


def outer(x: TensorLike, y: TensorLike) -> Node:
    """All products of the elements of two flattened tensors, shape (size of x, size of y).

    x : ...
    y: Second operand.
    Returns: A matrix.
    See kron: Kronecker product.
    See dot: NumPy's dot.
    >>> pt.outer([1.0, 2.0], [3.0, 4.0]).eval().tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    a, b = reshape(x, (-1,)), reshape(y, (-1,))
    return apply("mul", expand_dims(a, 1), expand_dims(b, 0))


def transposed(x: Node) -> Node | None:
    """A if x is A' (last two axes exchanged)."""
    rank = x.ndim
    if isinstance(x.op, Transpose) and x.op.axes == (*range(rank - 2), rank - 1, rank - 2):
        return x.inputs[0]
    return None


def matrix_transpose(x: TensorLike) -> Node:
    """The last two axes exchanged.

    x : ...
    Returns: The same elements, with the axes so.
    See moveaxis: Axes at other places.
    See swapaxes: Two axes exchanged.
    See permute_dims: Axes in the given order.
    >>> pt.matrix_transpose([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"a matrix transpose needs rank 2 or more, got {describe(x)}.")
    return transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def cholesky(x: TensorLike, lower: bool = True) -> Node:
    """Cholesky factor of a symmetric positive definite matrix, lower triangular unless `lower=False`."""
    factor = Node(Cholesky(), _float(x))
    return factor if lower else matrix_transpose(factor)


def _right_side(a: Node, right: TensorLike) -> tuple[Node, Node, bool]:
    (a, b), _ = promote([a, right])
    a, b = _float(a), _float(b)
    vector = b.ndim == 1
    if vector:
        b = expand_dims(b, 1)
    batch, _ = batch_shape(a.static_shape[:-2], b.static_shape[:-2])
    return broadcast_to(a, (*batch, *a.static_shape[-2:])), broadcast_to(b, (*batch, *b.static_shape[-2:])), vector


def solve(a: TensorLike, b: TensorLike, assume_a: str = "gen") -> Node:
    """y with a y = b; `assume_a` "gen" or "pos" (symmetric positive definite). A vector b gives a vector."""
    names = {"gen": "general", "pos": "positive definite"}
    if assume_a not in names:
        raise ValueError(f"assume_a must be 'gen' or 'pos', got {assume_a!r}.")
    matrix = as_tensor(a)
    _square(matrix, "solve")
    matrix, right, vector = _right_side(matrix, b)
    result = Node(Solve(names[assume_a]), matrix, right)
    return squeeze(result, -1) if vector else result


def solve_triangular(a: TensorLike, b: TensorLike, lower: bool = False, trans: int | bool = 0) -> Node:
    """y with a y = b for triangular a (upper unless `lower`); `trans` solves a' y = b."""
    matrix = as_tensor(a)
    _square(matrix, "solve_triangular")
    matrix, right, vector = _right_side(matrix, b)
    result = Node(SolveTriangular(lower, bool(trans)), matrix, right)
    return squeeze(result, -1) if vector else result


def inverse_quadratic(a: TensorLike, b: TensorLike) -> Node:
    """b' a^-1 b for symmetric positive definite a: a vector b gives a number, a matrix one per column."""
    matrix = as_tensor(a)
    _square(matrix, "inverse_quadratic")
    matrix, right, vector = _right_side(matrix, b)
    result = Node(InverseQuadratic(), matrix, right)
    return squeeze(result, -1) if vector else result


def inv(a: TensorLike) -> Node:
    """Matrix inverse.

    a : ...
    Returns: Of the shape of `a`.
    See det: Determinant.
    See slogdet: Sign and logarithm of the absolute value of the determinant.
    >>> pt.inv([[4.0, 2.0], [2.0, 5.0]]).eval().tolist()
    [[0.3125, -0.125], [-0.125, 0.25]]
    """
    return Node(Inverse(), _float(a))


def det(a: TensorLike) -> Node:
    """Determinant.

    a : ...
    Returns: A number per matrix.
    See slogdet: Sign and logarithm of the absolute value of the determinant.
    See inv: Matrix inverse.
    >>> pt.det([[4.0, 2.0], [2.0, 5.0]]).eval().item()
    16.0
    """
    return Node(Det(), _float(a))


def slogdet(x: TensorLike) -> tuple[Node, Node]:
    """Sign and logarithm of the absolute value of the determinant.

    x : ...
    Returns: Both, a number per matrix.
    See inv: Matrix inverse.
    See det: Determinant.
    >>> [x.eval().round(4).item() for x in pt.slogdet([[4.0, 2.0], [2.0, 5.0]])]
    [1.0, 2.7726]
    """
    x = _float(x)
    return Node(DetSign(), x), Node(LogAbsDet(), x)


def diagonal(value: TensorLike, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Node:
    """Elements whose positions on `axis2` and `axis1` differ by `offset`; their axis comes last.

    value: Matrix, or a batch of them.
    offset: The diagonal: above the main one if positive, below it if negative.
    axis1, axis2 : ...
    Returns: Without the two axes, and with one for the diagonal behind the others.
    See trace: Sum of the main diagonal of the last two axes.
    >>> pt.linalg.diagonal([[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [1.0, 4.0]
    """
    x = as_tensor(value)
    for axis in (axis1, axis2):
        if not -x.ndim <= axis < x.ndim:
            raise ShapeError(f"`diagonal` needs two axes: axis {axis} does not exist in {describe(x)}.")
    first, second = axis1 % x.ndim, axis2 % x.ndim
    if first == second:
        raise ShapeError(f"`diagonal` needs two different axes, got {axis1} and {axis2} of {describe(x)}.")
    x = transpose(x, [*(i for i in range(x.ndim) if i not in (first, second)), first, second])
    *lead, rows, columns = x.static_shape
    if not offset and isinstance(x.op, DiagonalMatrix):
        return x.inputs[0]
    below, right = max(-offset, 0), max(offset, 0)
    length = maximum(minimum(rows - below, columns - right), 0)
    if isinstance(rows, int) and isinstance(columns, int) and rows and columns:  # every (columns + 1)st element
        flat = reshape(x, (*lead, rows * columns))
        start = below * columns + right
        stop = start + (length - 1) * (columns + 1) + 1 if length else start
        return getitem(flat, (Ellipsis, slice(start, stop, columns + 1)))
    positions = Node(Iota(length))
    return getitem(x, (Ellipsis, apply("add", positions, below), apply("add", positions, right)))


def trace(value: TensorLike) -> Node:
    """Sum of the main diagonal of the last two axes.

    value: Matrix, or a batch of them.
    Returns: A number per matrix.
    See diagonal: Elements whose positions on `axis2` and `axis1` differ by `offset`.
    >>> pt.linalg.trace([[1.0, 2.0], [3.0, 4.0]]).eval().item()
    5.0
    """
    return reduce("sum", diagonal(value), -1)
