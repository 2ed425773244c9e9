"""Matrices: systems instead of inverses, determinants from diagonals, factorisations that are known.

Structure (triangular, diagonal, positive definite) comes from the graph or from the user's assumptions.
A factorisation that could fail is replaced only by one that fails as well, or by a known result.
"""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import (
    Cholesky,
    Det,
    DetSign,
    Index,
    Inverse,
    InverseQuadratic,
    LogAbsDet,
    MatMul,
    Reduce,
    Solve,
    SolveTriangular,
    Squeeze,
    Transpose,
    apply,
)
from consilience.ops.linalg import diagonal, matrix_transpose, transposed
from consilience.ops.shape import Reshape, expand_dims, eye, squeeze
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.diagonal_matrices import diagonal_of
from consilience.rewrite.rules.operands import MUL, function_of, number, split_coefficient
from consilience.rewrite.structure import is_identity, mirrored


def _turned(x: Node) -> Node:
    inner = transposed(x)
    return matrix_transpose(x) if inner is None else inner


@rewrites(
    MatMul,
    name="inverse times a value",
    operands=[Inverse],
    examples=[
        lambda t: t.inv(t.square_matrix) @ t.vector3,
        lambda t: t.inv(t.square_matrix) @ t.matrix,
        lambda t: t.vector3 @ t.inv(t.square_matrix),
        lambda t: t.transpose(t.matrix) @ t.inv(t.square_matrix),
    ],
)
def inverse_times(node: Node, facts: Facts) -> Node | None:
    """inv(A) b solves A y = b; b inv(A) solves A' y' = b'."""
    left, right = node.inputs
    if isinstance(left.op, Inverse):
        a, b, turn = left.inputs[0], right, False
        op = Solve(left.op.assume)
    elif isinstance(right.op, Inverse):
        a, b, turn = right.inputs[0], left, True
        op = Solve(right.op.assume)
    else:
        return None
    vector = b.ndim == 1
    if vector and a.ndim != 2:
        return None
    if not vector and a.static_shape[:-2] != b.static_shape[:-2]:
        return None
    if vector:
        b = expand_dims(b, 1)
    elif turn:
        b = _turned(b)
    solution = Node(op, _turned(a) if turn and op.assume == "general" else a, b)
    if vector:
        return squeeze(solution, 1)
    return matrix_transpose(solution) if turn else solution


@rewrites(
    Solve,
    name="systems with structure",
    examples=[
        lambda t: t.solve(t.lower, t.matrix),
        lambda t: t.solve(t.transpose(t.lower), t.matrix),
        lambda t: t.solve(t.positive_definite, t.matrix),
    ],
)
def structured_solve(node: Node, facts: Facts) -> Node | None:
    """Triangular systems substitute, positive definite ones use Cholesky."""
    a, b = node.inputs
    assert isinstance(node.op, Solve)
    if node.op.assume != "general":
        return None  # it fails where a triangular matrix has numbers below 0 on its diagonal
    for name in ("lower", "upper"):
        if facts.structure(a, name):
            return Node(SolveTriangular(name == "lower"), a, b)
    if facts.structure(a, "positive_definite"):
        return Node(Solve("positive definite"), a, b)
    return None


@rewrites(
    Solve,
    name="systems of products of triangular matrices",
    operands=[MatMul],
    examples=[
        lambda t: t.solve(t.lower @ t.transpose(t.lower), t.right3, "pos"),
        lambda t: t.solve(t.tril(t.square_matrix) @ t.transpose(t.tril(t.square_matrix)), t.right3),
        lambda t: t.solve(t.lower @ t.transpose(t.tril(t.square_matrix)), t.right3),
        lambda t: t.solve(t.triu(t.square_matrix) @ t.lower, t.right3),
    ],
)
def factored_solve(node: Node, facts: Facts) -> Node | None:
    """L U y = b by two substitutions; L L' is positive definite unless it is singular, which they find."""
    a, b = node.inputs
    assert isinstance(node.op, Solve)
    if not isinstance(a.op, MatMul) or any(i.static_shape != a.static_shape for i in a.inputs):
        return None
    if node.op.assume != "general" and not mirrored(*a.inputs):
        return None
    sides = [next((name for name in ("lower", "upper") if facts.structure(i, name)), None) for i in a.inputs]
    if None in sides:
        return None
    half = Node(SolveTriangular(sides[0] == "lower"), a.inputs[0], b)
    return Node(SolveTriangular(sides[1] == "lower"), a.inputs[1], half)


def _factor(a: Node, facts: Facts) -> Node | None:
    """L if a is L L' for lower triangular L with positive diagonal."""
    if not isinstance(a.op, MatMul):
        return None
    left, right = a.inputs
    if left.ndim < 2 or transposed(right) is not left:
        return None
    known = facts.structure(left, "lower") and facts.structure(left, "positive_diagonal")
    return left if known else None


@rewrites(
    SolveTriangular,
    name="triangular systems of a transpose",
    operands=[Transpose],
    examples=[lambda t: t.solve_triangular(t.transpose(t.lower), t.matrix, lower=False)],
)
def triangular_transposed(node: Node, facts: Facts) -> Node | None:
    """A' y = b is the transposed system of A."""
    assert isinstance(node.op, SolveTriangular)
    inner = transposed(node.inputs[0])
    if inner is None:
        return None
    return Node(SolveTriangular(not node.op.lower, not node.op.transposed), inner, node.inputs[1])


@rewrites(
    Inverse,
    name="inverses with structure",
    examples=[
        lambda t: t.inv(t.inv(t.square_matrix)),
        lambda t: t.inv(t.positive_definite),
        lambda t: t.inv(t.transpose(t.square_matrix)),
    ],
)
def structured_inverse(node: Node, facts: Facts) -> Node | None:
    """The inverse of an inverse, of a transpose, of a positive definite matrix."""
    x = node.inputs[0]
    assert isinstance(node.op, Inverse)
    if isinstance(x.op, Inverse):
        return x.inputs[0]
    inner = transposed(x)
    if inner is not None:
        return matrix_transpose(Node(node.op, inner))
    if node.op.assume == "general" and facts.structure(x, "positive_definite"):
        return Node(Inverse("positive definite"), x)
    return None


@rewrites(
    Cholesky,
    name="factors that are known",
    operands=[MatMul],
    examples=[lambda t: t.cholesky(t.lower @ t.transpose(t.lower))],
)
def known_factor(node: Node, facts: Facts) -> Node | None:
    """The Cholesky factor of L L' is L."""
    return _factor(node.inputs[0], facts)


@rewrites(
    "log",
    name="log of a determinant",
    operands=["abs", Det],
    examples=[lambda t: t.log(t.abs(t.det(t.square_matrix))), lambda t: t.log(t.det(t.positive_definite))],
)
def log_of_determinant(node: Node, facts: Facts) -> Node | None:
    """log|det(A)| without computing the determinant, which overflows early."""
    inner = node.inputs[0]
    if function_of(inner) == "abs" and isinstance(inner.inputs[0].op, Det):
        return Node(LogAbsDet(), inner.inputs[0].inputs[0])
    if isinstance(inner.op, Det) and facts.structure(inner.inputs[0], "positive_definite"):
        return Node(LogAbsDet("positive definite"), inner.inputs[0])
    return None


@rewrites(
    LogAbsDet,
    Det,
    DetSign,
    name="determinants with structure",
    examples=[
        lambda t: t.slogdet(t.lower)[1],
        lambda t: t.slogdet(t.inv(t.square_matrix))[1],
        lambda t: t.slogdet(t.square_matrix @ t.lower)[1],
        lambda t: t.det(t.transpose(t.square_matrix)),
        lambda t: t.det(t.lower),
        lambda t: t.slogdet(t.lower)[0],
        lambda t: t.slogdet(t.positive_definite)[1],
        lambda t: t.det(t.inv(t.square_matrix)),
    ],
)
def structured_determinant(node: Node, facts: Facts) -> Node | None:
    """Determinants of triangular matrices, products, inverses and transposes."""
    op, x = node.op, node.inputs[0]
    inner = transposed(x)
    if inner is not None:
        return Node(op, inner)
    if isinstance(x.op, Inverse):
        value = Node(op, x.inputs[0])
        if isinstance(op, LogAbsDet):
            return apply("neg", value)
        return value if isinstance(op, DetSign) else apply("reciprocal", value)
    general = not isinstance(op, LogAbsDet) or op.assume == "general" or facts.structure(x, "positive_diagonal")
    if general and (facts.structure(x, "lower") or facts.structure(x, "upper")):
        return _from_diagonal(node, x, facts)
    if isinstance(x.op, MatMul) and all(i.static_shape == x.static_shape for i in x.inputs):
        together = "add" if isinstance(op, LogAbsDet) else "mul"
        plain = LogAbsDet() if isinstance(op, LogAbsDet) else op
        return apply(together, *(Node(plain, i) for i in x.inputs))
    if isinstance(op, LogAbsDet) and op.assume == "general" and facts.structure(x, "positive_definite"):
        return Node(LogAbsDet("positive definite"), x)
    if isinstance(op, DetSign) and facts.structure(x, "positive_definite"):
        return number(1, node.dtype)
    return None


def _from_diagonal(node: Node, x: Node, facts: Facts) -> Node:
    entries = diagonal_of(x, facts)
    axis = (entries.ndim - 1,)
    if isinstance(node.op, Det):
        return Node(Reduce("prod", axis), entries)
    if isinstance(node.op, DetSign):
        return Node(Reduce("prod", axis), apply("sign", entries))
    sizes = entries if facts.structure(x, "positive_diagonal") else apply("abs", entries)
    return Node(Reduce("sum", axis), apply("log", sizes))


@rewrites(
    Reduce,
    name="trace of a product with the identity",
    operands=["mul"],
    examples=[lambda t: (t.square_matrix * eye(3)).sum(), lambda t: (t.exp(t.scalar) * eye(3) * t.square_matrix).sum()],
)
def trace(node: Node, facts: Facts) -> Node | None:
    """Σᵢⱼ aᵢⱼ δᵢⱼ is Σᵢ aᵢᵢ."""
    product = node.inputs[0]
    assert isinstance(node.op, Reduce)
    if node.op.kind != "sum" or node.op.axes != (0, 1) or function_of(product) != "mul" or product.ndim != 2:
        return None
    rest = [x for x in product.inputs if not is_identity(x)]
    if len(rest) == len(product.inputs) or not rest:
        return None
    if any(x.ndim and x.static_shape != product.static_shape for x in rest):
        return None
    diagonals = [diagonal(x) if x.ndim else x for x in rest]
    if not any(x.ndim for x in diagonals):
        return None
    inner = diagonals[0] if len(diagonals) == 1 else Node(MUL, *diagonals)
    return Node(Reduce("sum", (0,)), inner)


@rewrites(
    MatMul,
    name="quadratic form of a solution",
    operands=[Squeeze],
    examples=[
        lambda t: t.vector3 @ t.solve(t.positive_definite, t.vector3, "pos"),
        lambda t: t.solve(t.positive_definite, t.vector3) @ t.vector3,
    ],
)
def quadratic_form(node: Node, facts: Facts) -> Node | None:
    """b' A⁻¹ b for positive definite A needs one triangular substitution, not two."""
    for b, solution in (node.inputs, node.inputs[::-1]):
        if not isinstance(solution.op, Squeeze) or b.ndim != 1:
            continue
        system = solution.inputs[0]
        if isinstance(system.op, Solve) and system.op.assume == "positive definite":
            a, column = system.inputs
            if column is expand_dims(b, 1) and a.ndim == 2:
                return squeeze(Node(InverseQuadratic(), a, column), 0)
    return None


@rewrites(
    Reduce,
    name="log of a determinant by a factor",
    operands=["log"],
    examples=[
        lambda t: t.log(diagonal(t.cholesky(t.definite))).sum(),
        lambda t: -2.0 * t.log(diagonal(t.cholesky(t.definite))).sum(),
    ],
)
def determinant_by_factor(node: Node, facts: Facts) -> Node | None:
    """The logarithms of the diagonal of Cholesky's factor of A add up to half of log det(A), whose slope is inv(A)."""
    entries = node.inputs[0].inputs[0]
    assert isinstance(node.op, Reduce)
    if node.op.kind != "sum" or not isinstance(entries.op, Index) or node.op.axes != (0,):
        return None
    factor = entries.inputs[0]
    if isinstance(factor.op, Reshape):
        (factor,) = factor.inputs
    if not isinstance(factor.op, Cholesky) or factor.ndim != 2 or entries is not diagonal(factor):
        return None
    return apply("mul", 0.5, Node(LogAbsDet("positive definite"), factor.inputs[0]))


@rewrites(
    Reduce,
    MatMul,
    name="quadratic form by a factor",
    operands=["square", Squeeze],
    examples=[
        lambda t: t.square(t.solve_triangular(t.cholesky(t.definite), t.vector3, lower=True)).sum(),
        lambda t: t.square(t.solve_triangular(t.cholesky(t.definite), t.right3, lower=True)).sum(),
        lambda t: t.square(t.solve_triangular(t.cholesky(t.definite), t.right3, lower=True)).sum(axis=0),
        lambda t: product_with_itself(t.solve_triangular(t.cholesky(t.definite), t.vector3, lower=True)),
    ],
)
def quadratic_by_factor(node: Node, facts: Facts) -> Node | None:
    """|y|² for L y = b and Cholesky's factor L of A is b' A⁻¹ b, whose slopes need no slope of the factor."""
    op = node.op
    if isinstance(op, Reduce):
        value, axes = node.inputs[0], op.axes
        if op.kind != "sum" or 0 not in axes:
            return None
        squeezed = isinstance(value.op, Squeeze)
        if squeezed:
            value, axes = value.inputs[0], (0, 1)
        if function_of(value) != "square":
            return None
        (solution,) = value.inputs
    else:
        if node.inputs[0] is not node.inputs[1] or not isinstance(node.inputs[0].op, Squeeze):
            return None
        (solution,), axes = node.inputs[0].inputs, (0, 1)
    if isinstance(solution.op, Squeeze):
        (solution,), axes = solution.inputs, (0, 1)
    if not isinstance(solution.op, SolveTriangular) or solution.ndim != 2 or node.ndim != 2 - len(axes):
        return None
    factor, b = solution.inputs
    if not isinstance(factor.op, Cholesky) or not solution.op.lower or solution.op.transposed:
        return None
    forms = Node(InverseQuadratic(), factor.inputs[0], b)
    return Node(Reduce("sum", (0,)), forms) if 1 in axes else forms


def product_with_itself(x: Node) -> Node:
    """x' x."""
    return x @ x


@rewrites(
    Transpose,
    name="transpose of a product",
    operands=[MatMul],
    examples=[
        lambda t: t.transpose(t.transpose(t.matrix) @ t.matrix_b),
        lambda t: t.transpose(t.matrix @ t.transpose(t.matrix_d)),
    ],
)
def transpose_of_product(node: Node, facts: Facts) -> Node | None:
    """(A' B)' is B' A: one transpose less."""
    product = transposed(node)
    if product is None or not isinstance(product.op, MatMul):
        return None
    a, b = product.inputs
    if a.ndim < 2 or b.ndim < 2 or (transposed(a) is None and transposed(b) is None):
        return None
    return Node(MatMul(), _turned(b), _turned(a))


@rewrites(
    MatMul,
    name="product of transposes",
    operands=[Transpose],
    examples=[
        lambda t: t.transpose(t.matrix) @ t.transpose(t.matrix_c),
        lambda t: t.transpose(t.matrix) @ t.vector3,
        lambda t: t.vector4 @ t.transpose(t.matrix),
    ],
)
def product_of_transposes(node: Node, facts: Facts) -> Node | None:
    """A' B' is (B A)'; A' v is v A."""
    a, b = node.inputs
    left, right = (transposed(i) if i.ndim > 1 else None for i in (a, b))
    if left is not None and right is not None:
        return matrix_transpose(Node(MatMul(), right, left))
    if left is not None and b.ndim == 1 and a.ndim == 2:
        return Node(MatMul(), b, left)
    if right is not None and a.ndim == 1 and b.ndim == 2:
        return Node(MatMul(), right, a)
    return None


@rewrites(
    MatMul,
    name="numbers and signs leave matrix products",
    operands=["mul", "neg"],
    examples=[
        lambda t: (2.0 * t.matrix) @ t.vector4,
        lambda t: t.matrix @ (-t.vector4),
        lambda t: (-t.matrix) @ (3.0 * t.vector4),
    ],
)
def numbers_out(node: Node, facts: Facts) -> Node | None:
    """(2 A) b is 2 (A b)."""
    outside: list[Node] = []
    operands: list[Node] = []
    negative = False
    for x in node.inputs:
        if function_of(x) == "neg":
            negative = not negative
            x = x.inputs[0]
        coefficient, rest = split_coefficient(x)
        if coefficient is not None:
            outside.append(number(coefficient, x.dtype))
            x = rest
        operands.append(x)
    if operands == list(node.inputs) or [o.static_shape for o in operands] != [i.static_shape for i in node.inputs]:
        return None
    result = Node(MatMul(), *operands)
    if outside:
        result = Node(MUL, *outside, result)
    return apply("neg", result) if negative else result


RULES: tuple[Rule, ...] = (
    inverse_times,
    structured_solve,
    factored_solve,
    triangular_transposed,
    structured_inverse,
    known_factor,
    log_of_determinant,
    structured_determinant,
    trace,
    quadratic_form,
    determinant_by_factor,
    quadratic_by_factor,
    transpose_of_product,
    product_of_transposes,
    numbers_out,
)
