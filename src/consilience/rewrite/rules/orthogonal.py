"""Orthogonal matrices, as factorisations give them: the transpose is the inverse."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import Inverse, Item, MatMul, Solve
from consilience.ops.factorisations import QR, SVD, Eigh
from consilience.ops.linalg import matrix_transpose
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites


@rewrites(
    Inverse,
    Solve,
    name="inverse of an orthogonal matrix",
    examples=[
        lambda t: t.inv(t.node(Item(0), t.node(QR("full"), t.square_matrix))),
        lambda t: t.inv(t.transpose(-t.node(Item(1), t.node(Eigh(), t.positive_definite)))),
        lambda t: t.solve(t.node(Item(2), t.node(SVD(), t.square_matrix)), t.right3),
        lambda t: t.solve(t.node(Item(0), t.node(SVD(), t.square_matrix)) @ t.eye(3), t.right3),
    ],
)
def orthogonal_inverse(node: Node, facts: Facts) -> Node | None:
    """inv(Q) is Q', and Q y = b has the solution Q' b."""
    q, *right = node.inputs
    assert isinstance(node.op, Inverse | Solve)
    if node.op.assume != "general" or not facts.structure(q, "orthogonal"):
        return None
    turned = matrix_transpose(q)
    return Node(MatMul(), turned, *right) if right else turned


RULES: tuple[Rule, ...] = (orthogonal_inverse,)
