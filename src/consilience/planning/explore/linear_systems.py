"""Systems and inverses of one matrix: what is needed of it anyway may serve for the rest.

The factors of a matrix are shared whichever forms are taken (see `alternatives.Factored`).
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import Inverse, InverseQuadratic, MatMul, Solve, Transpose, apply
from consilience.ops.linalg import matrix_transpose, transposed
from consilience.ops.reduce import reduce
from consilience.ops.shape import expand_dims, squeeze
from consilience.planning.explore.matrix_products import LARGEST
from consilience.record import replace
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.linear_algebra import inverse_times

inverse_as_system = replace(inverse_times, tier="explore")


@rewrites(
    Solve,
    name="system by the inverse",
    tier="explore",
    examples=[lambda t: t.solve(t.square_matrix, t.right3)],
)
def system_by_inverse(node: Node, facts: Facts) -> Node | None:
    """A y = b is solved by y = inv(A) b. Definite systems, often close to singular ones, keep their two triangles."""
    a, b = node.inputs
    assert isinstance(node.op, Solve)
    return Node(MatMul(), Node(Inverse(), a), b) if node.op.assume == "general" else None


@rewrites(
    InverseQuadratic,
    name="quadratic form by the solution",
    tier="explore",
    examples=[lambda t: t.node(InverseQuadratic(), t.positive_definite, t.right3)],
)
def quadratic_by_solution(node: Node, facts: Facts) -> Node | None:
    """b' A⁻¹ b is b' y for A y = b."""
    a, b = node.inputs
    return reduce("sum", apply("mul", b, Node(Solve("positive definite"), a, b)), -2)


@rewrites(
    Solve,
    name="system of a product",
    operands=[MatMul],
    tier="explore",
    within=LARGEST,
    examples=[lambda t: t.solve(t.square_matrix, t.matrix_b @ t.matrix_d)],
)
def system_of_product(node: Node, facts: Facts) -> Node | None:
    """A y = B c is solved by Y c for A Y = B."""
    a, product = node.inputs
    if not isinstance(product.op, MatMul):
        return None
    b, c = product.inputs
    if b.ndim != a.ndim or b.static_shape[:-2] != a.static_shape[:-2] or c.ndim < 2:
        return None
    return Node(MatMul(), Node(node.op, a, b), c)


@rewrites(
    MatMul,
    name="product of a system",
    operands=[Solve],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: t.solve(t.square_matrix, t.matrix_b) @ t.matrix_d,
        lambda t: t.solve(t.square_matrix, t.right3) @ t.vector4,
    ],
)
def product_of_system(node: Node, facts: Facts) -> Node | None:
    """Y c for A Y = B solves A y = B c."""
    system, c = node.inputs
    if not isinstance(system.op, Solve):
        return None
    a, b = system.inputs
    right = Node(MatMul(), b, c if c.ndim > 1 else expand_dims(c, 1))
    if right.ndim != a.ndim or right.static_shape[:-2] != a.static_shape[:-2]:
        return None
    solved = Node(system.op, a, right)
    return solved if c.ndim > 1 else squeeze(solved, 1)


@rewrites(
    MatMul,
    name="product with a system",
    operands=[Solve],
    tier="explore",
    within=LARGEST,
    examples=[lambda t: t.matrix_c @ t.solve(t.square_matrix, t.right3)],
)
def product_with_system(node: Node, facts: Facts) -> Node | None:
    """B y for A y = c is Z' c for A' Z = B'."""
    b, system = node.inputs
    if not isinstance(system.op, Solve) or b.ndim != 2 or system.ndim != 2:
        return None
    a, c = system.inputs
    turned = a if system.op.assume != "general" else matrix_transpose(a)
    return Node(MatMul(), matrix_transpose(Node(system.op, turned, matrix_transpose(b))), c)


@rewrites(
    Transpose,
    name="transpose of a symmetric matrix",
    examples=[lambda t: t.transpose(t.positive_definite), lambda t: t.transpose(t.exp(t.positive_definite))],
)
def symmetric_transposed(node: Node, facts: Facts) -> Node | None:
    """A' is A. Where derivatives are taken it would move slopes from one triangle to the other."""
    x = transposed(node)
    return x if x is not None and facts.structure(x, "symmetric") else None


RULES: tuple[Rule, ...] = (
    inverse_as_system,
    system_by_inverse,
    quadratic_by_solution,
    system_of_product,
    product_of_system,
    product_with_system,
)
