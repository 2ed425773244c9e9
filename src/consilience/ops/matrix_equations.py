"""Linear equations of matrices and with bands, on the last two axes; leading axes are a batch, equal in all operands.

In: float64 matrices. Out: the solution. Where there is none the function fails with status FACTORISATION_FAILED.
"""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.ir import Dim, KeptAxes, Node, Op, TensorType, TupleType
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.elementwise import apply
from consilience.ops.linalg import Inverse, matrix_transpose
from consilience.ops.shape import eye


def _equal(pairs: tuple[tuple[Dim, Dim], ...], reason: str) -> tuple[ShapeConstraint, ...]:
    return tuple(ShapeConstraint(a, b, reason) for a, b in pairs if a is not b and a != b)


def _differ(a: Dim, b: Dim) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


class SolveSylvester(Op):
    """X with A X + X B = Q, or A' X + X B' = Q when `transposed`: A is m x m, B is n x n, Q and X are m x n.

    It fails where an eigenvalue of A is the negative of one of B.
    """

    core = 2
    linear = ((2,),)
    transposed: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        a, b, q = inputs
        for name, x in (("A", a), ("B", b)):
            if _differ(*x.static_shape[-2:]):
                raise ShapeError(f"A X + X B = Q needs square A and B, {name} is {describe(x)}.")
        rows, columns = q.static_shape[-2:]
        if _differ(a.static_shape[-1], rows) or _differ(b.static_shape[-1], columns):
            raise ShapeError(
                f"A X + X B = Q needs as many rows in Q as in A and as many columns as in B, got\n  {describe(a)}\n"
                f"  {describe(b)}\n  {describe(q)}"
            )
        return q.tensor_type

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        a, b, q = (x.static_shape for x in inputs)
        square = _equal(((a[-2], a[-1]), (b[-2], b[-1])), "a square matrix has equal lengths")
        sides = _equal(((a[-1], q[-2]), (b[-1], q[-1])), "Q of A X + X B = Q has A's rows and B's columns")
        batch = (*zip(a[:-2], q[:-2], strict=True), *zip(b[:-2], q[:-2], strict=True))
        return square + sides + _equal(batch, "batch axes agree")


class SolveRiccati(Op):
    """The stabilising X = H + A' X (I + G X)^-1 A, for square matrices of one shape, G and H symmetric.

    It fails where there is none: the eigenvalues of (I + G X)^-1 A must lie within the unit circle.
    """

    core = 2

    def result_type(self, *inputs: Node) -> TensorType:
        for x in inputs:
            if _differ(*x.static_shape[-2:]) or any(map(_differ, x.static_shape, inputs[0].static_shape)):
                raise ShapeError(f"a Riccati equation needs square matrices of one shape, got {describe(x)}.")
        return inputs[0].tensor_type

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        first = inputs[0].static_shape
        square = _equal(((first[-2], first[-1]),), "a square matrix has equal lengths")
        pairs = (pair for x in inputs[1:] for pair in zip(first, x.static_shape, strict=True))
        return square + _equal(tuple(pairs), "matrices of a Riccati equation have one shape")


class SolveBanded(Op):
    """`y` with A y = b for a matrix A that is zero but for `below` diagonals below the main one and `above` above it.

    The first operand holds the diagonals as rows, the highest first: element (i, j) of A stands at
    (above + i - j, j). Elements that are outside of A are not read. It fails where A is singular.
    """

    core = 2
    linear = ((1,),)
    below: int
    above: int

    def result_type(self, *inputs: Node) -> TensorType:
        bands, b = inputs
        rows = bands.static_shape[-2]
        if _differ(rows, self.below + self.above + 1):
            raise ShapeError(
                f"a matrix with {self.below} diagonals below the main one and {self.above} above it is given by "
                f"{self.below + self.above + 1} rows, got {describe(bands)}."
            )
        if _differ(bands.static_shape[-1], b.static_shape[-2]):
            raise ShapeError(
                f"a system of {bands.static_shape[-1]} unknowns needs as many rows on the right: {describe(b)}."
            )
        return b.tensor_type

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        bands, b = (x.static_shape for x in inputs)
        rows = _equal(((bands[-2], self.below + self.above + 1),), "a banded matrix has one row per diagonal")
        sides = _equal(((bands[-1], b[-2]),), "the right side has one row per unknown")
        return rows + sides + _equal((*zip(bands[:-2], b[:-2], strict=True),), "batch axes agree")


class TridiagonalLU(Op):
    """Factors of a tridiagonal matrix, which is given as by `SolveBanded`: four rows, and exchanges (int32, from 1).

    The rows are the factors of L below its diagonal of ones, and the diagonals of U from its main one on, as LAPACK's
    gttrf gives them; behind their ends are zeros. A singular matrix has factors too.
    """

    core = 2

    def result_type(self, *inputs: Node) -> TupleType:
        (bands,) = inputs
        *batch, rows, n = bands.static_shape
        if _differ(rows, 3):
            raise ShapeError(f"a tridiagonal matrix is given by 3 rows, got {describe(bands)}.")
        return TupleType((bands.tensor_type.with_shape((*batch, 4, n)), TensorType("int32", (*batch, n))))


class TridiagonalLUSolve(Op):
    """`y` with A y = b, or A' y = b if `transposed`, from results of `TridiagonalLU`; fails where A is singular."""

    core = 2
    linear = ((2,),)
    transposed: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        packed, _, b = inputs
        if _differ(packed.static_shape[-1], b.static_shape[-2]):
            raise ShapeError(
                f"a system of {packed.static_shape[-1]} unknowns needs as many rows on the right: {describe(b)}."
            )
        return b.tensor_type

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        packed, exchanged, b = (x.static_shape for x in inputs)
        sides = _equal(((packed[-1], b[-2]), (packed[-1], exchanged[-1])), "the right side has one row per unknown")
        batch = (*zip(packed[:-2], b[:-2], strict=True), *zip(exchanged[:-1], b[:-2], strict=True))
        return sides + _equal(batch, "batch axes agree")


class ToeplitzInverse(Op):
    """The first column x of the inverse of the symmetric positive definite matrix T[i, j] = c[|i - j|], and variances.

    Shape (2, n) of c of shape (n,). The second row are the variances that are left of each element of a normal vector
    of covariance T once those before it are known: their product is the determinant. It fails where T is not positive
    definite. These four come into programs whose derivatives have been taken (`planning/explore/toeplitz`).
    """

    def result_type(self, *inputs: Node) -> TensorType:
        (c,) = inputs
        return c.tensor_type.with_shape((2, *c.static_shape))


class ToeplitzSolve(Op):
    """`y` with T y = b, shape (n, m), from the first column x of the inverse of T."""

    linear = ((1,),)

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[1].tensor_type

    def kept_axes(self, *inputs: Node) -> KeptAxes:
        return {}, {1: 1}


class ToeplitzInverseSums(Op):
    """Sums of the inverse of T along its diagonal and, for k = 1, 2, …, its k-th ones on both sides, from x."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type


class DiagonalSums(Op):
    """The same sums of U V' for U and V of shape (n, m)."""

    linear = ((0,), (1,))

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type.with_shape(inputs[0].static_shape[:1])


def solve_discrete(a: Node, q: Node) -> Node:
    """X with X = a X a' + q by a continuous equation, where no eigenvalue of a is -1 and no two have the product 1."""
    identity = eye(a.static_shape[-1], dtype=a.dtype)
    above = Node(Inverse(), apply("add", a, identity))
    turned = apply("sub", a, identity) @ above
    return Node(SolveSylvester(), turned, matrix_transpose(turned), -2.0 * (above @ q @ matrix_transpose(above)))
