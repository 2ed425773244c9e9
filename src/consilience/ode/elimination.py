"""Linear equations with one small matrix and many right-hand sides, as expressions of single numbers.

In loops such numbers live in registers, where a library call for a matrix of three rows would cost more than all else
of a step. A singular matrix gives infinities and NaN, no error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import consilience.tensor as pt
from consilience.ir import Node

SMALL = 4

Rows: TypeAlias = list[list[Node]]


def solver(matrix: Node) -> Callable[[Node], Node]:
    """The function b -> x with matrix x = b, for vectors b; the library solves for more than SMALL rows."""
    n = matrix.static_shape[0]
    if not isinstance(n, int) or n > SMALL:
        return lambda right: pt.linalg.solve(matrix, right)

    @pt.custom_vjp
    def solve(matrix: Node, right: Node) -> Node:
        return _substituted(*_factors(matrix, n), right, n)

    def backward(kept: tuple[Node, Node], cotangent: Node) -> tuple[Node, Node]:
        matrix, found = kept
        right = _substituted(*_factors(matrix.T, n), cotangent, n)
        return -right[:, None] * found[None, :], right

    def forward(matrix: Node, right: Node) -> tuple[Node, tuple[Node, Node]]:
        found = solve(matrix, right)
        return found, (matrix, found)

    solve.defvjp(forward, backward)
    return lambda right: solve(matrix, right)


def _factors(matrix: Node, n: int) -> tuple[Rows, list[tuple[int, int, Node]]]:
    """Triangular factors in one square, with the inverse diagonal, and which rows were exchanged to get them."""
    a = [[matrix[i, j] for j in range(n)] for i in range(n)]
    exchanged = []
    for k in range(n):
        for i in range(k + 1, n):
            larger = abs(a[i][k]) > abs(a[k][k])
            exchanged.append((k, i, larger))
            upper, lower = a[k], a[i]
            a[k] = [pt.where(larger, y, x) for x, y in zip(upper, lower, strict=True)]
            a[i] = [pt.where(larger, x, y) for x, y in zip(upper, lower, strict=True)]
        a[k][k] = 1.0 / a[k][k]
        for i in range(k + 1, n):
            a[i][k] = a[i][k] * a[k][k]
            for j in range(k + 1, n):
                a[i][j] = a[i][j] - a[i][k] * a[k][j]
    return a, exchanged


def _substituted(a: Rows, exchanged: list[tuple[int, int, Node]], right: Node, n: int) -> Node:
    """The solution from factors."""
    b = [right[i] for i in range(n)]
    for k, i, larger in exchanged:
        b[k], b[i] = pt.where(larger, b[i], b[k]), pt.where(larger, b[k], b[i])
    for i in range(n):
        for j in range(i):
            b[i] = b[i] - a[i][j] * b[j]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            b[i] = b[i] - a[i][j] * b[j]
        b[i] = b[i] * a[i][i]
    return pt.stack(b)
