"""Products of matrices: their order, and what is not read of them.

Reordering holds up to rounding and where no intermediate result overflows, as for products of numbers.
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import MatMul
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites

# Products of three factors of this size do not overflow.
LARGEST = 1e60


def _chained(*factors: Node) -> bool:
    """Whether a product may be taken in either order: vectors only outside, and no batch of matrices times a vector."""
    vectors = any(f.ndim == 1 for f in factors)
    return factors[1].ndim > 1 and (not vectors or all(f.ndim <= 2 for f in factors))


@rewrites(
    MatMul,
    name="product with the last factors first",
    operands=[MatMul],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: (t.matrix_b @ t.matrix_c) @ t.vector3,
        lambda t: (t.vector3 @ t.matrix_b) @ t.matrix_d,
        lambda t: (t.matrix_b @ t.matrix_c) @ t.matrix,
        lambda t: (t.vector3 @ t.matrix) @ t.vector4,
    ],
)
def last_first(node: Node, facts: Facts) -> Node | None:
    """(A B) c is A (B c)."""
    left, c = node.inputs
    if not isinstance(left.op, MatMul):
        return None
    a, b = left.inputs
    if not _chained(a, b, c):
        return None
    inner = Node(MatMul(), b, c)
    return Node(MatMul(), a, inner)


@rewrites(
    MatMul,
    name="product with the first factors first",
    operands=[MatMul],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: t.matrix_b @ (t.matrix_c @ t.vector3),
        lambda t: t.vector3 @ (t.matrix_b @ t.matrix_d),
        lambda t: t.matrix_b @ (t.matrix_c @ t.matrix),
    ],
)
def first_first(node: Node, facts: Facts) -> Node | None:
    """A (B c) is (A B) c."""
    a, right = node.inputs
    if not isinstance(right.op, MatMul):
        return None
    b, c = right.inputs
    return Node(MatMul(), Node(MatMul(), a, b), c) if _chained(a, b, c) else None


RULES: tuple[Rule, ...] = (last_first, first_first)
