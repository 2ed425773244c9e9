"""Ops that exist only below the graph: pieces of factorisations as the libraries deliver them."""

from __future__ import annotations

from consilience.ir import Node, Op, TensorType, TupleType


class LUFactor(Op):
    """P A' = L U as LAPACK's getrf gives them, which sees rows as columns.

    The packed factors, transposed, and for each column of A the one exchanged with it (int32, from 1). A singular
    matrix has factors too: a pivot is 0.
    """

    def result_type(self, *inputs: Node) -> TupleType:
        (x,) = inputs
        return TupleType((x.tensor_type, TensorType("int32", x.static_shape[:-1])))


class LUPivotSign(Op):
    """-1 for an odd number of row exchanges, 1 for an even one."""

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("float64", inputs[0].static_shape[:-1])


class LUSolve(Op):
    """`y` with A y = b, or A' y = b, from packed factors of A, row exchanges and a matrix b. A zero pivot fails."""

    transposed: bool = False

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[2].tensor_type


class SmallSolve(Op):
    """`y` with A y = b for matrices of few rows and matrices b. A zero pivot fails."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[1].tensor_type


class SelectedElements(Op):
    """Elements of the last axis at few positions (int64, a vector, from either end) in ascending order.

    A position outside the axis makes the function raise OutOfBoundsError.
    """

    def result_type(self, *inputs: Node) -> TensorType:
        x, positions = inputs
        return x.tensor_type.with_shape((*x.static_shape[:-1], *positions.static_shape))


class SelectedRun(Op):
    """Elements `start` to `start + number` of the last axis in ascending order, at most half of it."""

    start: int
    number: int

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type.with_shape((*inputs[0].static_shape[:-1], self.number))


class SparseCholeskyWithMemory(Op):
    """What `SparseCholesky` gives, and a column as scratch memory."""

    def result_type(self, *inputs: Node) -> TupleType:
        count = inputs[2].static_shape[0] - 1
        return TupleType((inputs[0].tensor_type, TensorType("float64", (count,))))


class SparsePullbackWithMemory(Op):
    """What `SparseCholeskyPullback` gives, a copy of a cotangent, and a column as scratch memory."""

    def result_type(self, *inputs: Node) -> TupleType:
        count = inputs[3].static_shape[0] - 1
        of = inputs[0].tensor_type
        return TupleType((of, of.with_shape(of.shape[-1:]), TensorType("float64", (count,))))


class CholeskyInverse(Op):
    """(L L')^-1 from the lower factor L, both triangles filled."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type
