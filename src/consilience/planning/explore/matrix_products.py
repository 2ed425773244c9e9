"""Products of matrices: their order, and what is not read of them.

Reordering holds up to rounding and where no intermediate result overflows, as for products of numbers.
"""

from __future__ import annotations

from consilience.ir import Node, Shape
from consilience.ops import Index, MatMul, Reduce, apply
from consilience.ops.index import SliceIndex
from consilience.ops.linalg import diagonal, matrix_transpose, transposed
from consilience.ops.reduce import reduce
from consilience.ops.shape import Reshape, expand_dims, squeeze
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.operands import function_of

# Products of three factors of this size do not overflow.
LARGEST = 1e60
MOST_TERMS = 8


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


def as_column(x: Node, shape: Shape) -> Node | None:
    """The vector that stands along the rows of a matrix of this shape, and is repeated along its columns."""
    if x.ndim == 2 and x.static_shape == (shape[0], 1) and shape[1] != 1:
        return squeeze(x, 1)
    return None


def as_row(x: Node, shape: Shape) -> Node | None:
    """The vector that stands along the columns of a matrix of this shape, and is repeated along its rows."""
    if x.ndim == 1 and x.static_shape == (shape[1],) and shape[1] != 1:
        return x
    if x.ndim == 2 and x.static_shape == (1, shape[1]) and shape[0] != 1:
        return squeeze(x, 0)
    return None


@rewrites(
    MatMul,
    name="scaled rows and columns leave a product",
    operands=["mul"],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: (t.column * t.matrix) @ t.vector4,
        lambda t: (t.matrix * t.row) @ t.vector4,
        lambda t: (t.column * t.row) @ t.vector4,
        lambda t: (t.column * t.row) @ t.transpose(t.matrix_d),
        lambda t: (t.column * t.matrix * t.row) @ t.transpose(t.matrix_d),
    ],
)
def scaled_left(node: Node, facts: Facts) -> Node | None:
    """(u A v') B is u (A (v B)) for a column u and a row v', and u (v' B) without A."""
    left, right = node.inputs
    if left.ndim != 2 or right.ndim > 2 or function_of(left) != "mul":
        return None
    shape = left.static_shape
    columns = [(x, as_column(x, shape)) for x in left.inputs]
    outside = [x for x, column in columns if column is not None]
    rows = [row for x in left.inputs if (row := as_row(x, shape)) is not None]
    whole = [x for x, column in columns if column is None and as_row(x, shape) is None and x.ndim]
    numbers = [x for x in left.inputs if not x.ndim]
    if not outside and not rows:
        return None
    if any(x.static_shape != shape for x in whole):
        return None
    if whole:
        scaled = apply("mul", right, *(r if right.ndim == 1 else expand_dims(r, 1) for r in rows)) if rows else right
        inner = Node(MatMul(), apply("mul", *whole) if len(whole) > 1 else whole[0], scaled)
    elif rows and outside:
        row = apply("mul", *rows) if len(rows) > 1 else rows[0]
        inner = Node(MatMul(), row, right)
        inner = expand_dims(inner, 0)
    else:
        return None
    if right.ndim == 1:
        return apply("mul", inner, *numbers, *(squeeze(x, 1) for x in outside))
    return apply("mul", inner, *numbers, *outside)


@rewrites(
    MatMul,
    name="scaled rows and columns leave a product on the right",
    operands=["mul"],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: t.vector3 @ (t.column * t.matrix),
        lambda t: t.matrix_c @ (t.column * t.row),
        lambda t: t.matrix_c @ (t.matrix * t.row),
    ],
)
def scaled_right(node: Node, facts: Facts) -> Node | None:
    """B (u A v') is (B u A) v' by the transposed rule."""
    left, right = node.inputs
    if right.ndim != 2 or left.ndim > 2 or function_of(right) != "mul":
        return None
    turned = Node(
        MatMul(), apply("mul", *map(transpose_of, right.inputs)), left if left.ndim == 1 else transpose_of(left)
    )
    found = scaled_left.apply(turned, facts)
    return found if found is None or left.ndim == 1 else transpose_of(found)


def transpose_of(x: Node) -> Node:
    """The transpose; of a vector the column."""
    if x.ndim < 2:
        return expand_dims(x, 1) if x.ndim else x
    inner = transposed(x)
    return matrix_transpose(x) if inner is None else inner


@rewrites(
    MatMul,
    name="product of a column with a row",
    tier="explore",
    within=LARGEST,
    examples=[lambda t: t.column @ t.transpose(t.column), lambda t: t.column5 @ t.row5],
)
def outer_product(node: Node, facts: Facts) -> Node | None:
    """A column times a row is their product element by element, which loops compute where it is read."""
    a, b = node.inputs
    return apply("mul", a, b) if a.ndim > 1 and b.ndim > 1 and a.static_shape[-1] == 1 else None


@rewrites(
    MatMul,
    name="product of a sum",
    operands=["add"],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: (t.matrix_b @ t.matrix_c + t.square_matrix) @ t.vector3,
        lambda t: t.vector3 @ (t.square_matrix + t.column * t.vector3),
    ],
)
def product_of_sum(node: Node, facts: Facts) -> Node | None:
    """(A + B) v is A v + B v, where one of them is a product or has numbers along one axis only."""
    for place, other in ((0, 1), (1, 0)):
        whole, vector = node.inputs[place], node.inputs[other]
        if function_of(whole) != "add" or whole.ndim != 2 or vector.ndim != 1 or len(whole.inputs) > MOST_TERMS:
            continue
        if any(x.static_shape != whole.static_shape for x in whole.inputs):
            continue
        if not any(isinstance(x.op, MatMul) or _low_rank(x) for x in whole.inputs):
            continue
        terms = [Node(MatMul(), *((x, vector) if place == 0 else (vector, x))) for x in whole.inputs]
        return apply("add", *terms)
    return None


def _low_rank(x: Node) -> bool:
    if function_of(x) == "neg":
        return _low_rank(x.inputs[0]) or isinstance(x.inputs[0].op, MatMul)
    return function_of(x) == "mul" and all(i.static_shape != x.static_shape for i in x.inputs)


@rewrites(
    Index,
    name="diagonal of a product",
    operands=[Reshape],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: diagonal(t.matrix_b @ t.matrix_c),
        lambda t: diagonal(t.matrix @ t.transpose(t.matrix)).sum(),
    ],
)
def diagonal_of_product(node: Node, facts: Facts) -> Node | None:
    """The diagonal of A B is the sums of the rows of A times the columns of B."""
    assert isinstance(node.op, Index)
    flat = node.inputs[0]
    if not isinstance(flat.op, Reshape) or flat.ndim != 1 or len(node.inputs) > 1:
        return None
    product = flat.inputs[0]
    if not isinstance(product.op, MatMul) or any(i.ndim != 2 for i in product.inputs):
        return None
    n = product.static_shape[0]
    if not isinstance(n, int) or product.static_shape != (n, n) or n < 2:
        return None
    (entry,) = node.op.specification
    if not isinstance(entry, SliceIndex) or not entry.static or entry.range(n * n) != range(0, n * n, n + 1):
        return None
    a, b = product.inputs
    return reduce("sum", apply("mul", a, transpose_of(b)), -1)


@rewrites(
    Reduce,
    name="sum of a product of matrices",
    operands=[MatMul],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: (t.matrix_b @ t.matrix_c).sum(),
        lambda t: (t.matrix_b @ t.matrix_c).sum(axis=0),
        lambda t: (t.matrix_b @ t.matrix_c).sum(axis=1),
        lambda t: (t.matrix @ t.vector4).sum(),
        lambda t: (t.vector3 @ t.matrix).sum(),
    ],
)
def sum_of_product(node: Node, facts: Facts) -> Node | None:
    """The sum over the rows of A B is the sum over the rows of A, times B."""
    product = node.inputs[0]
    assert isinstance(node.op, Reduce)
    if node.op.kind != "sum" or not isinstance(product.op, MatMul):
        return None
    a, b = product.inputs
    if a.ndim > 2 or b.ndim > 2 or node.ndim != product.ndim - len(node.op.axes):
        return None
    if a.ndim == 2 and 0 in node.op.axes:
        a = reduce("sum", a, 0)
    if b.ndim == 2 and product.ndim - 1 in node.op.axes:
        b = reduce("sum", b, 1)
    return Node(MatMul(), a, b)


@rewrites(
    Reduce,
    name="sum of products with a product of matrices",
    operands=["mul"],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: ((t.matrix_b @ t.matrix_d) * t.matrix).sum(),
        lambda t: (t.column * t.row * t.matrix).sum(),
        lambda t: (t.column * t.row * t.matrix * t.matrix).sum(),
    ],
)
def form_of_sum(node: Node, facts: Facts) -> Node | None:
    """The sum of all u v' ∘ C is u' C v; that of A B ∘ C is that of A ∘ (C B')."""
    product = node.inputs[0]
    assert isinstance(node.op, Reduce)
    if node.op.kind != "sum" or node.op.axes != (0, 1) or function_of(product) != "mul" or product.ndim != 2:
        return None
    shape = product.static_shape
    whole = [x for x in product.inputs if x.static_shape == shape]
    columns = [c for x in product.inputs if (c := as_column(x, shape)) is not None]
    rows = [r for x in product.inputs if (r := as_row(x, shape)) is not None]
    rest = [x for x in product.inputs if x.ndim == 0]
    if len(whole) + len(columns) + len(rows) + len(rest) != len(product.inputs) or not whole:
        return None
    if columns and rows:
        u, v, c = (apply("mul", *each) if len(each) > 1 else each[0] for each in (columns, rows, whole))
        found = Node(MatMul(), Node(MatMul(), u, c), v)
    elif len(whole) == 2 and not columns and not rows:
        inner = next((x for x in whole if isinstance(x.op, MatMul) and all(i.ndim == 2 for i in x.inputs)), None)
        if inner is None:
            return None
        other = whole[1] if whole[0] is inner else whole[0]
        a, b = inner.inputs
        found = reduce("sum", apply("mul", a, Node(MatMul(), other, transpose_of(b))), (0, 1))
    else:
        return None
    return apply("mul", found, *rest) if rest else found


RULES: tuple[Rule, ...] = (
    last_first,
    first_first,
    scaled_left,
    scaled_right,
    outer_product,
    product_of_sum,
    diagonal_of_product,
    sum_of_product,
    form_of_sum,
)
