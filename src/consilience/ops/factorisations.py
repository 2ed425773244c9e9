"""Factorisations of dense matrices on the last two axes; leading axes are a batch.

In: float64 matrices. Out: tuples of their factors. Complex factors leave as real and imaginary parts. What fails makes
the function fail with status FACTORISATION_FAILED. Public names and other dtypes are outside.
"""

from __future__ import annotations

from consilience.errors import DtypeError, ShapeError
from consilience.ir import Dim, Node, Op, TensorType, TupleType, Type
from consilience.ir.dimension import minimum
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ir.types import COMPLEXES
from consilience.ops.control import Item
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.index import getitem
from consilience.ops.linalg import matrix_transpose
from consilience.ops.reduce import reduce


class _Factorisation(Op):
    """Shared by ops on one matrix: tensors of float64 behind its batch axes."""

    core = 2
    flops = 2.0

    def matrix(self, *inputs: Node) -> tuple[tuple[Dim, ...], Dim, Dim]:
        """Batch shape, rows and columns of the operand."""
        if inputs[0].ndim < 2:
            raise ShapeError(f"a matrix was needed, got {describe(inputs[0])}.")
        *batch, rows, columns = inputs[0].static_shape
        return tuple(batch), rows, columns

    def volume(self, *inputs: Node) -> Dim:
        return inputs[0].tensor_type.size * minimum(*inputs[0].static_shape[-2:])


class _SquareFactorisation(_Factorisation):
    """Shared by ops on one square matrix."""

    def matrix(self, *inputs: Node) -> tuple[tuple[Dim, ...], Dim, Dim]:
        batch, rows, columns = super().matrix(*inputs)
        if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
            raise ShapeError(f"a square matrix was needed, got {rows} x {columns}: {describe(inputs[0])}.")
        return batch, rows, columns

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        _, rows, columns = self.matrix(*inputs)
        same = rows is columns or rows == columns
        return () if same else (ShapeConstraint(rows, columns, "a square matrix has equal lengths"),)


def _floats(*shapes: tuple[Dim, ...]) -> TupleType:
    return TupleType(tuple(TensorType("float64", shape) for shape in shapes))


class Eigh(_SquareFactorisation):
    """Eigenvalues in ascending order and orthonormal eigenvectors as columns of a symmetric matrix.

    Reads one triangle. The first element of every vector that is as large as its largest is positive.
    """

    flops = 15.0
    lower: bool = True

    def triangle_read(self) -> str:
        return "lower" if self.lower else "upper"

    def result_type(self, *inputs: Node) -> Type:
        batch, n, _ = self.matrix(*inputs)
        return _floats((*batch, n), (*batch, n, n))


class Eigvalsh(_SquareFactorisation):
    """Eigenvalues of `Eigh` alone."""

    flops = 15.0
    lower: bool = True

    def triangle_read(self) -> str:
        return "lower" if self.lower else "upper"

    def result_type(self, *inputs: Node) -> Type:
        batch, n, _ = self.matrix(*inputs)
        return TensorType("float64", (*batch, n))


class SVD(_Factorisation):
    """U, singular values in descending order, and V' with x = U diag(s) V'; `full` makes U and V square.

    The first element of every column of U that is as large as its largest is positive, for the columns with a singular
    value.
    """

    flops = 15.0
    full: bool = False

    def result_type(self, *inputs: Node) -> Type:
        batch, m, n = self.matrix(*inputs)
        k = minimum(m, n)
        return _floats((*batch, m, m if self.full else k), (*batch, k), (*batch, n if self.full else k, n))


class SingularValues(_Factorisation):
    """Singular values in descending order."""

    flops = 15.0

    def result_type(self, *inputs: Node) -> Type:
        batch, m, n = self.matrix(*inputs)
        return TensorType("float64", (*batch, minimum(m, n)))


class QR(_Factorisation):
    """Q with orthonormal columns and upper triangular R with x = Q R, by Householder reflections.

    `mode`: "reduced": Q has as many columns as R has rows, the smaller length of x; "full": Q is square, R has the
    shape of x; "r": R of "reduced" alone.
    """

    mode: str = "reduced"

    def result_type(self, *inputs: Node) -> Type:
        batch, m, n = self.matrix(*inputs)
        k = m if self.mode == "full" else minimum(m, n)
        return TensorType("float64", (*batch, k, n)) if self.mode == "r" else _floats((*batch, m, k), (*batch, k, n))


class Householder(_Factorisation):
    """R and, below its diagonal, the vectors of the reflections whose product is Q; then their factors tau."""

    def result_type(self, *inputs: Node) -> Type:
        batch, m, n = self.matrix(*inputs)
        return _floats((*batch, m, n), (*batch, minimum(m, n)))


class ColumnOrder(_Factorisation):
    """The order p (int64) of columns in which each is the longest of those left, less what lies in those before.

    QR of x[:, p] has a diagonal of R whose sizes descend.
    """

    def result_type(self, *inputs: Node) -> TensorType:
        batch, _, n = self.matrix(*inputs)
        return TensorType("int64", (*batch, n))


class Eig(_SquareFactorisation):
    """Eigenvalues and right eigenvectors as columns of a square matrix: real parts, imaginary parts of both.

    Vectors have length 1; the first of their elements that is as large as the largest is real and positive.
    """

    flops = 25.0

    def result_type(self, *inputs: Node) -> Type:
        batch, n, _ = self.matrix(*inputs)
        return _floats((*batch, n), (*batch, n), (*batch, n, n), (*batch, n, n))


class Eigvals(_SquareFactorisation):
    """Real and imaginary parts of the eigenvalues of a square matrix."""

    flops = 25.0

    def result_type(self, *inputs: Node) -> Type:
        batch, n, _ = self.matrix(*inputs)
        return _floats((*batch, n), (*batch, n))


class LU(_Factorisation):
    """Unit lower triangular L below the diagonal and upper triangular U with P L U = x, and the rows exchanged.

    Row i was exchanged with row pivots[i] (int32), for i in ascending order. A singular matrix has factors too.
    """

    def result_type(self, *inputs: Node) -> Type:
        batch, m, n = self.matrix(*inputs)
        packed = TensorType("float64", (*batch, m, n))
        return TupleType((packed, TensorType("int32", (*batch, minimum(m, n)))))


class PivotPermutation(Op):
    """Exchanges of rows 0, 1, … as a permutation p (int64) of `length` rows.

    x[p] are the rows exchanged one after the other; the inverse brings them back.
    """

    core = 1
    length: Dim
    inverse: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("int64", (*inputs[0].static_shape[:-1], self.length))


class LDL(_SquareFactorisation):
    """L, block diagonal D and permutation p (int64) of a symmetric matrix x = L D L', whose rows p of L are triangular.

    Reads the lower triangle. D has blocks of lengths 1 and 2 (Bunch and Kaufman); a singular matrix has factors too.
    """

    triangle = "lower"

    def result_type(self, *inputs: Node) -> Type:
        square = inputs[0].tensor_type
        batch, n, _ = self.matrix(*inputs)
        return TupleType((square, square, TensorType("int64", (*batch, n))))


class Schur(_SquareFactorisation):
    """T and orthogonal Z with x = Z T Z'; T has blocks of lengths 1 and 2 on its diagonal, nothing below."""

    flops = 25.0

    def result_type(self, *inputs: Node) -> Type:
        square = inputs[0].static_shape
        self.matrix(*inputs)
        return _floats(square, square)


class ComplexSchur(_SquareFactorisation):
    """Upper triangular T and unitary Z with x = Z T Z^H: real and imaginary parts of T, then of Z."""

    flops = 25.0

    def result_type(self, *inputs: Node) -> Type:
        square = inputs[0].static_shape
        self.matrix(*inputs)
        return _floats(square, square, square, square)


class PseudoInverse(_Factorisation):
    """Moore and Penrose's inverse.

    Inputs: the matrix, and the share of the greatest singular value up to which one counts as 0, a number per matrix.
    `hermitian` reads the lower triangle of a symmetric matrix.
    """

    flops = 15.0
    hermitian: bool = False

    def triangle_read(self) -> str:
        return "lower" if self.hermitian else ""

    def result_type(self, *inputs: Node) -> TensorType:
        batch, m, n = self.matrix(*inputs)
        return TensorType("float64", (*batch, n, m))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        _, m, n = self.matrix(*inputs)
        unlike = self.hermitian and not (m is n or m == n)
        return (ShapeConstraint(m, n, "a symmetric matrix has equal lengths"),) if unlike else ()


class LeastSquares(_Factorisation):
    """The shortest y with the least |A y - b|. Inputs: A, a matrix b, and a share as in `PseudoInverse`."""

    flops = 15.0
    linear = ((1,),)

    def result_type(self, *inputs: Node) -> TensorType:
        batch, m, n = self.matrix(*inputs)
        rows = inputs[1].static_shape[-2]
        if isinstance(m, int) and isinstance(rows, int) and m != rows:
            raise ShapeError(f"least squares need {m} rows on the right, got {rows}: {describe(inputs[1])}.")
        return TensorType("float64", (*batch, n, inputs[1].static_shape[-1]))

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        a, b = inputs[0].static_shape[-2], inputs[1].static_shape[-2]
        return () if a is b or a == b else (ShapeConstraint(a, b, "the right side has one row per equation"),)


def real_matrix(x: TensorLike, name: str) -> tuple[Node, str]:
    """The matrices of x in float64, and the dtype of results: float32 of float32 and float16, otherwise float64."""
    node = as_tensor(x)
    if node.dtype in COMPLEXES:
        raise DtypeError(f"`{name}` takes real matrices; those of complex numbers are not offered: {describe(node)}.")
    if node.ndim < 2:
        raise ShapeError(f"`{name}` needs a matrix, got {describe(node)}.")
    return cast(node, "float64"), "float32" if node.dtype in ("float32", "float16") else "float64"


def factors(op: PseudoInverse | LeastSquares, x: Node) -> tuple[Node, Node, Node]:
    """U, values s and V' with x = U diag(s) V', from which a pseudo-inverse is made; s may be eigenvalues."""
    if isinstance(op, PseudoInverse) and op.hermitian:
        made = Node(Eigh(), x)
        vectors = Node(Item(1), made)
        return vectors, Node(Item(0), made), matrix_transpose(vectors)
    made = Node(SVD(), x)
    left, values, right = (Node(Item(i), made) for i in range(3))
    return left, values, right


def greatest_size(values: Node) -> Node:
    """The greatest absolute value of eigenvalues that ascend or singular values that descend, 0 for none; axis kept."""
    size = apply("abs", values)
    ends = (reduce("sum", getitem(size, (..., part)), -1, keepdims=True) for part in (slice(0, 1), slice(-1, None)))
    return apply("maximum", *ends)
