"""Pullbacks of equations and functions of matrices: an equation for the solution is one for its derivative."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ops import Solve
from consilience.ops.index import getitem
from consilience.ops.matrix_equations import (
    DiagonalSums,
    SolveBanded,
    SolveRiccati,
    SolveSylvester,
    ToeplitzInverse,
    ToeplitzInverseSums,
    ToeplitzSolve,
    TridiagonalLU,
    TridiagonalLUSolve,
    solve_discrete,
)
from consilience.ops.matrix_functions import MatrixFunction, MatrixFunctionDerivative, in_corner
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, concatenate, eye, full, stack
from consilience.transforms.gradient.linalg import symmetric
from consilience.transforms.gradient.table import Cotangents, partial_of, pullback_of


@partial_of(SolveSylvester)
def _sylvester(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, SolveSylvester)
    a, b, _ = node.inputs
    right = Node(SolveSylvester(not node.op.transposed), a, b, g)
    if position == 2:
        return right
    left, x = (right, node.mT) if position == 0 else (node.mT, right)
    slope = -(left @ x)
    return slope.mT if node.op.transposed else slope


@pullback_of(SolveRiccati)
def _riccati(node: Node, g: Node, wanted: Sequence[bool]) -> Cotangents:
    """S = C S C' + g for the closed loop C = (I + G X)^-1 A; cotangents of the symmetric matrices are symmetric."""
    a, weight, _ = node.inputs
    identity = broadcast_to(eye(a.static_shape[-1], dtype=a.dtype), a.static_shape)
    across = node @ Node(Solve(), identity + weight @ node, a)
    s = solve_discrete(Node(Solve(), identity + weight @ node, a), symmetric(g))
    return [2.0 * (across @ s), -(across @ s @ across.mT), s]


def shifted(x: Node, steps: int) -> Node:
    """Elements so many places further on the last axis, zeros behind its ends."""
    if not steps:
        return x
    zeros = full((*x.static_shape[:-1], abs(steps)), 0.0, x.dtype)
    joined = concatenate([x, zeros] if steps > 0 else [zeros, x], -1)
    return getitem(joined, (Ellipsis, slice(steps, None) if steps > 0 else slice(None, steps)))


@partial_of(SolveBanded)
def _banded(node: Node, g: Node, position: int) -> Node:
    op = node.op
    assert isinstance(op, SolveBanded)
    bands, _ = node.inputs
    height = op.below + op.above
    mirrored = [shifted(bands[..., height - row, :], row - op.below) for row in range(height + 1)]
    right = Node(SolveBanded(op.above, op.below), stack(mirrored, -2), g)
    if position == 1:
        return right
    s, y = right.mT, node.mT
    return stack([-reduce("sum", shifted(s, row - op.above) * y, -2) for row in range(height + 1)], -2)


@partial_of(MatrixFunction)
def _matrix_function(node: Node, g: Node, position: int) -> Node:
    """The derivative at A' along the cotangent; that of a root R solves R' S + S R' = g."""
    assert isinstance(node.op, MatrixFunction)
    if node.op.kind == "sqrtm":
        return Node(SolveSylvester(True), node, node, g)
    return Node(MatrixFunctionDerivative(node.op.kind), node.inputs[0].mT, g)


@partial_of(MatrixFunctionDerivative)
def _derivative(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, MatrixFunctionDerivative)
    a, e = node.inputs
    if position == 1:
        return Node(node.op, a.mT, g)
    n = a.static_shape[-1]
    zeros = full(a.static_shape, 0.0, a.dtype)
    corner = concatenate([concatenate([zeros, g], -1), concatenate([zeros, zeros], -1)], -2)
    slope = Node(node.op, in_corner(a, e).mT, corner)
    first, second = slice(None, n), slice(n, None)
    return slope[..., first, first] + slope[..., second, second]


@pullback_of(TridiagonalLU)
def _tridiagonal_lu(node: Node, g: object, wanted: Sequence[bool]) -> Cotangents:
    raise MissingRuleError(
        "the derivative of the factors of `tridiagonal_lu_factor` is not known; "
        "`solve(a, b, assume_a='tridiagonal')` has one in both operands."
    )


@pullback_of(TridiagonalLUSolve)
def _tridiagonal_lu_solve(node: Node, g: Node, wanted: Sequence[bool]) -> Cotangents:
    assert isinstance(node.op, TridiagonalLUSolve)
    packed, exchanged, _ = node.inputs
    if wanted[0]:
        raise MissingRuleError(
            "the derivative of `tridiagonal_lu_solve` with respect to the factors is not known; "
            "`solve(a, b, assume_a='tridiagonal')` has one in both operands."
        )
    return [None, None, Node(TridiagonalLUSolve(not node.op.transposed), packed, exchanged, g)]


@pullback_of(ToeplitzInverse)
@pullback_of(ToeplitzSolve)
@pullback_of(ToeplitzInverseSums)
@pullback_of(DiagonalSums)
def _toeplitz(node: Node, g: object, wanted: Sequence[bool]) -> Cotangents:
    raise MissingRuleError("Toeplitz matrices come into programs whose derivatives have been taken.")
