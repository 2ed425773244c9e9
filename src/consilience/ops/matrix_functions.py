"""Functions of square matrices: the exponential, the logarithm and the square root; leading axes are a batch."""

from __future__ import annotations

from consilience.ir import Node, ShapeConstraint, TensorType
from consilience.ops.linalg import _Square, _square
from consilience.ops.shape import concatenate, full

KINDS = ("expm", "logm", "sqrtm")


class MatrixFunction(_Square):
    """The exponential ("expm"), principal logarithm ("logm") or principal square root ("sqrtm") of a float64 matrix.

    The two latter fail where they are not real: for eigenvalues below 0, and for the logarithm at 0.
    """

    flops = 30.0
    kind: str

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], self.kind)
        return inputs[0].tensor_type

    def __repr__(self) -> str:
        return self.kind


class MatrixFunctionDerivative(_Square):
    """The derivative of a `MatrixFunction` at A along a matrix E of A's shape: inputs A and E."""

    flops = 60.0
    linear = ((1,),)
    kind: str

    def result_type(self, *inputs: Node) -> TensorType:
        _square(inputs[0], self.kind)
        return inputs[0].tensor_type

    def shape_constraints(self, *inputs: Node) -> tuple[ShapeConstraint, ...]:
        pairs = zip(*(x.static_shape for x in inputs), strict=True)
        along = (ShapeConstraint(a, b, "a derivative is along matrices of one shape") for a, b in pairs if a != b)
        return (*super().shape_constraints(*inputs), *along)


def in_corner(a: Node, e: Node) -> Node:
    """[[A, E], [0, A]]: a function of this matrix has the function's derivative at A along E in its corner.

    Source: N. Higham (2008), "Functions of Matrices", chapter 3.
    """
    zeros = full(a.static_shape, 0.0, a.dtype)
    return concatenate([concatenate([a, e], -1), concatenate([zeros, a], -1)], -2)
