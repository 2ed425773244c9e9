"""Ops that exist only below the graph: pieces of factorisations as the libraries deliver them."""

from __future__ import annotations

from consilience.ir import Node, Op, TensorType, TupleType


class LUFactor(Op):
    """P A' = L U as LAPACK's getrf gives them, which sees rows as columns: the packed factors, transposed, and for
    each column of A the one exchanged with it (int32, from 1). A singular matrix has factors too: a pivot is 0."""

    def result_type(self, *inputs: Node) -> TupleType:
        (x,) = inputs
        return TupleType((x.tensor_type, TensorType("int32", x.static_shape[:-1])))


class LUPivotSign(Op):
    """-1 for an odd number of row exchanges, 1 for an even one."""

    def result_type(self, *inputs: Node) -> TensorType:
        return TensorType("float64", inputs[0].static_shape[:-1])


class LUSolve(Op):
    """y with A y = b from packed factors, row exchanges and a matrix b. A zero pivot fails."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[2].tensor_type


class SortedOrder(Op):
    """Positions that put the last axis in ascending order, and two tables of integers as scratch memory."""

    def result_type(self, *inputs: Node) -> TupleType:
        return _with_scratch(inputs[0].tensor_type.with_dtype("int64"), inputs[0])


class SortedLines(Op):
    """The elements of the last axis in ascending order, and two tables of integers as scratch memory."""

    def result_type(self, *inputs: Node) -> TupleType:
        return _with_scratch(inputs[0].tensor_type, inputs[0])


class SelectedElements(Op):
    """Elements of the last axis at few positions (int64, a vector, from either end) in ascending order, and scratch.

    A position outside the axis makes the function raise OutOfBoundsError.
    """

    def result_type(self, *inputs: Node) -> TupleType:
        x, positions = inputs
        found = x.tensor_type.with_shape((*x.static_shape[:-1], *positions.static_shape))
        return _with_scratch(found, x)


def _with_scratch(result: TensorType, x: Node) -> TupleType:
    line = TensorType("int64", x.static_shape[-1:])
    return TupleType((result, line, line))


class CholeskyInverse(Op):
    """(L L')^-1 from the lower factor L, both triangles filled."""

    def result_type(self, *inputs: Node) -> TensorType:
        return inputs[0].tensor_type
