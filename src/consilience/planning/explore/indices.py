"""Elements read at index arrays before or after functions and products, whichever has fewer of them."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node
from consilience.ops import Elementwise, Index, MatMul, apply
from consilience.ops.index import FULL, At, Entry, Gather, SliceIndex
from consilience.ops.linalg import matrix_transpose
from consilience.ops.reduce import reduce
from consilience.ops.scalar import DRAWS
from consilience.planning.explore.matrix_products import LARGEST
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.linear_algebra import transposed


def _one_gather(node: Node) -> int | None:
    """The axis that is read at an index vector, where the others are taken whole."""
    if not isinstance(node.op, Index) or len(node.inputs) != 2 or node.inputs[1].ndim != 1:
        return None
    entries = node.op.specification
    if any(e != FULL and not isinstance(e, Gather) for e in entries):
        return None
    return entries.index(Gather())


@rewrites(
    Index,
    name="function of what is read",
    operands=[Elementwise],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.exp(t.vector)[t.places],
        lambda t: (t.vector * t.x + t.scalar)[t.places],
        lambda t: (t.matrix * t.row)[t.places],
        lambda t: (t.matrix * t.row)[:, t.places],
        lambda t: (t.matrix * t.column)[t.places],
    ],
)
def read_before(node: Node, facts: Facts) -> Node | None:
    """f(x)[i] is f(x[i])."""
    axis = _one_gather(node)
    inner = node.inputs[0]
    if axis is None or not isinstance(inner.op, Elementwise) or inner.op.function in DRAWS:
        return None
    back = inner.ndim - axis  # the axis counted from the end
    length = inner.static_shape[axis]
    operands: list[Node] = []
    for x in inner.inputs:
        if x.ndim < back or (x.static_shape[-back] == 1 and length != 1):
            operands.append(x)
        elif x.static_shape[-back] == length:
            entries: list[Entry] = [FULL] * x.ndim
            entries[-back] = Gather()
            operands.append(Node(Index(tuple(entries)), x, node.inputs[1]))
        else:
            return None
    return apply(inner.op.function, *operands) if any(a is not b for a, b in _pairs(operands, inner)) else None


def _pairs(operands: Sequence[Node], node: Node) -> list[tuple[Node, Node]]:
    return list(zip(operands, node.inputs, strict=True))


@rewrites(
    Elementwise,
    name="reading of a function",
    operands=[Index],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.exp(t.vector[t.places]),
        lambda t: t.scalar * t.vector[t.places] * t.x[t.places],
    ],
)
def read_after(node: Node, facts: Facts) -> Node | None:
    """f(x[i], y[i]) is f(x, y)[i]: of fewer elements where i repeats."""
    assert isinstance(node.op, Elementwise)
    if node.op.function in DRAWS:
        return None
    read = [x for x in node.inputs if x.ndim]
    if not read or any(_one_gather(x) != 0 or x.type.__class__ is not node.type.__class__ for x in read):
        return None
    places = read[0].inputs[1]
    shape = read[0].inputs[0].static_shape
    if any(x.inputs[1] is not places or x.inputs[0].static_shape != shape for x in read):
        return None
    inner = apply(node.op.function, *(x.inputs[0] if x.ndim else x for x in node.inputs))
    return Node(read[0].op, inner, places)


@rewrites(
    Index,
    name="parts of a product of matrices",
    operands=[MatMul],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: (t.matrix @ t.vector4)[t.places],
        lambda t: (t.vector3 @ t.matrix)[t.places],
        lambda t: (t.matrix_b @ t.matrix_d)[t.places],
        lambda t: (t.matrix_b @ t.matrix_d)[:, t.places],
        lambda t: (t.matrix_b @ t.matrix_d)[1],
        lambda t: (t.matrix_b @ t.matrix_d)[1:, 2],
        lambda t: (t.matrix_b @ t.matrix_d)[t.places, t.places],
        lambda t: (t.matrix @ t.vector4)[1:],
    ],
)
def parts_of_product(node: Node, facts: Facts) -> Node | None:
    """(A B)[i, j] is A[i] B[:, j]; cells at pairs of index arrays are the sums of A[i] times B'[j]."""
    assert isinstance(node.op, Index)
    product, *arrays = node.inputs
    entries = node.op.specification
    if not isinstance(product.op, MatMul) or not all(isinstance(e, SliceIndex | At | Gather) for e in entries):
        return None
    a, b = product.inputs
    if a.ndim > 2 or b.ndim > 2 or len(entries) != product.ndim or any(x.ndim != 1 for x in arrays):
        return None
    if len(arrays) == 2:
        lines = Node(Index((Gather(), FULL)), a, arrays[0])
        turned = transposed(b)
        columns = Node(Index((Gather(), FULL)), matrix_transpose(b) if turned is None else turned, arrays[1])
        return reduce("sum", apply("mul", lines, columns), 1)
    wanted = list(entries)
    given = list(arrays)
    if a.ndim == 2:
        a = _taken(a, wanted.pop(0), 0, given)
    if b.ndim == 2:
        b = _taken(b, wanted.pop(0), 1, given)
    return Node(MatMul(), a, b)


def _taken(x: Node, entry: Entry, axis: int, arrays: list[Node]) -> Node:
    if entry == FULL:
        return x
    entries: list[Entry] = [FULL, FULL]
    entries[axis] = entry
    return Node(Index(tuple(entries)), x, *([arrays.pop(0)] if isinstance(entry, Gather) else []))


RULES: tuple[Rule, ...] = (read_before, read_after, parts_of_product)
