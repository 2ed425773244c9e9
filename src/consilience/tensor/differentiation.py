"""Derivatives at the public door: the graph is simplified first, then differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from consilience.ir import Node
from consilience.ir.obligations import collect
from consilience.ops.assertion import require
from consilience.rules import simplify
from consilience.transforms import gradient as calculus


@overload
def grad(cost: Node, wrt: Node, disconnected: str = "zero") -> Node: ...
@overload
def grad(cost: Node, wrt: Sequence[Node], disconnected: str = "zero") -> list[Node]: ...
def grad(cost: Node, wrt: Node | Sequence[Node], disconnected: str = "zero") -> Node | list[Node]:
    """Derivative of a scalar with respect to one or several tensors, each of its tensor's shape.

    disconnected   "zero" gives zeros for a tensor the cost does not depend on, "raise" an error
    """
    wanted = [wrt] if isinstance(wrt, Node) else list(wrt)
    results = calculus.gradient(_simplified(cost, wanted), wanted, disconnected=disconnected)
    results = require(results, collect([cost]))
    return results[0] if isinstance(wrt, Node) else results


gradient = grad


def _simplified(cost: Node, keep: Sequence[Node]) -> Node:
    """The cost after rewriting; the tensors to differentiate by stay as they are."""
    return simplify([cost], keep=keep)[0]


def value_and_grad(cost: Node, wrt: Node | Sequence[Node]) -> tuple[Node, Node | list[Node]]:
    """The cost and its derivative; they share everything because equal expressions are one."""
    return cost, grad(cost, wrt)


def jacobian(expression: Node, wrt: Node) -> Node:
    """Derivative of every element: shape (*expression.shape, *wrt.shape)."""
    return calculus.jacobian(_simplified(expression, [wrt]), wrt)


def hessian(cost: Node, wrt: Node) -> Node:
    """Second derivatives of a scalar with respect to a vector of length n: shape (n, n)."""
    return calculus.hessian(_simplified(cost, [wrt]), wrt)
