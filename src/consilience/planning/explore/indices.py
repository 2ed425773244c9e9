"""Elements read before or after functions, reductions, joins and products, whichever has fewer of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.analysis.separability import kept_axes
from consilience.ir import Constant, Dim, Node, Shape, constant, rebuild
from consilience.ops import (
    ArgReduce,
    ArgSort,
    Concatenate,
    Cumulative,
    Elementwise,
    ExpandDims,
    Index,
    Inverse,
    MatMul,
    Reduce,
    SearchSorted,
    Softmax,
    Solve,
    SolveTriangular,
    Sort,
    apply,
    cast,
)
from consilience.ops.index import FULL, At, Entry, Gather, SliceIndex, Specification, gather_place
from consilience.ops.linalg import matrix_transpose, transposed
from consilience.ops.reduce import reduce
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import concatenate, expand_dims, squeeze
from consilience.planning.explore.matrix_products import LARGEST
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites

# Functions of functions that reading passes in one step, and parts of a join among which it chooses.
NESTED = 40
MOST_PARTS = 6


def reading(node: Node) -> tuple[Specification, tuple[Node, ...]] | None:
    """Which elements of its operand an index reads: without new axes, at index arrays of one shape."""
    if not isinstance(node.op, Index):
        return None
    entries, arrays = node.op.specification, node.inputs[1:]
    if not all(isinstance(e, SliceIndex | At | Gather) for e in entries) or len(entries) != node.inputs[0].ndim:
        return None
    return (entries, arrays) if len({a.static_shape for a in arrays}) <= 1 else None


def _layout(entries: Sequence[Entry], arrays: Sequence[Node], axes: Sequence[int] | None = None) -> list[int]:
    """By axis of what is read: the axis that it is a slice of, or -1 for those of the index arrays."""
    names = range(len(entries)) if axes is None else axes
    found = [name for name, entry in zip(names, entries, strict=True) if isinstance(entry, SliceIndex)]
    place = gather_place(tuple(entries))
    if place is not None:
        found[place:place] = [-1] * arrays[0].ndim
    return found


def _read(x: Node, entries: Sequence[Entry], arrays: Sequence[Node]) -> Node:
    return x if all(e == FULL for e in entries) else Node(Index(tuple(entries)), x, *arrays)


def read_of_operand(x: Node, entries: Specification, arrays: Sequence[Node], shape: Shape) -> Node | None:
    """What is read of an operand where this is read of a function of this shape, along which x may be repeated."""
    missing = len(shape) - x.ndim
    given, kept = iter(arrays), list[Node]()
    own: list[tuple[int, Entry]] = []
    once: list[int] = []
    for axis, (entry, length) in enumerate(zip(entries, shape, strict=True)):
        array = next(given) if isinstance(entry, Gather) else None
        if axis < missing:
            continue
        if x.static_shape[axis - missing] == length:
            own.append((axis, entry))
            kept += [] if array is None else [array]
        elif x.static_shape[axis - missing] != 1:
            return None
        elif isinstance(entry, SliceIndex):
            own.append((axis, FULL))
        else:
            once.append(axis - missing)
    specification = [entry for _, entry in own]
    found = _read(squeeze(x, tuple(once)) if once else x, specification, kept)
    # The axes must stand where those of what is read of the function stand.
    left = _layout(specification, kept, [axis for axis, _ in own])
    wanted, new = _layout(entries, arrays), list[int]()
    while left and wanted:
        here = wanted.pop()
        if here == left[-1]:
            left.pop()
            new = [n + 1 for n in new]
        else:
            new = [0, *(n + 1 for n in new)]
    return None if left else expand_dims(found, tuple(new)) if new else found


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
        lambda t: (t.column * t.row)[t.places, t.places],
        lambda t: (t.column * t.row + t.matrix)[t.constant([[2, 0], [1, 1]])],
        lambda t: t.exp(t.column + t.row)[1:, t.constant([[2, 0], [1, 1]])],
        lambda t: t.exp(t.vector)[3:],
        lambda t: (t.column + t.row)[1],
    ],
)
def read_before(node: Node, facts: Facts) -> Node | None:
    """f(x)[i] is f(x[i])."""
    inner, read = node.inputs[0], reading(node)
    if read is None or not isinstance(inner.op, Elementwise) or inner.op.function in DRAWS:
        return None
    operands = [read_of_operand(x, *read, inner.static_shape) for x in inner.inputs]
    found = [x for x in operands if x is not None]
    return apply(inner.op.function, *found) if len(found) == len(operands) else None


@rewrites(
    Index,
    name="functions of what is read",
    operands=[Elementwise],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.exp(t.sin(t.vector) * t.x)[t.places],
        lambda t: t.exp(t.sin(t.column) * t.row)[t.places, t.places],
    ],
)
def read_first(node: Node, facts: Facts) -> Node | None:
    """f(g(x))[i] is f(g(x[i])), through all functions at once."""
    found = read_through(node, NESTED, {}, facts)
    return None if found is node or found is read_before.apply(node, facts) else found


def read_through(node: Node, depth: int, known: dict[Node, Node], facts: Facts) -> Node:
    """What is read of functions of functions, as functions of what is read."""
    if node not in known:
        inner = read_before.apply(node, facts) if isinstance(node.op, Index) else None
        inner = node if inner is None and isinstance(node.op, ExpandDims) else inner
        found = node
        if inner is not None and depth:
            found = rebuild(inner, tuple([read_through(x, depth - 1, known, facts) for x in inner.inputs]))
        known[node] = found
    return known[node]


@rewrites(
    Index,
    name="reduction of what is read",
    operands=[Reduce],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.matrix.sum(axis=1)[t.places],
        lambda t: t.matrix.max(axis=0)[t.places],
        lambda t: t.logsumexp(t.matrix, 1)[1:],
    ],
)
def reduced_later(node: Node, facts: Facts) -> Node | None:
    """The sums of rows of which few are read are sums of few rows."""
    inner, read = node.inputs[0], reading(node)
    if read is None or not isinstance(inner.op, Reduce):
        return None
    (x,), axes, given = inner.inputs, inner.op.axes, iter(read[0])
    entries = [FULL if axis in axes else next(given) for axis in range(x.ndim)]
    layout = _layout(entries, read[1])
    names = [axis for axis in range(x.ndim) if axis not in axes]
    if [axis for axis in layout if axis not in axes] != _layout(*read, names):
        return None
    summed = tuple(place for place, axis in enumerate(layout) if axis in axes)
    return Node(Reduce(inner.op.kind, summed), _read(x, entries, read[1]))


@rewrites(
    Index,
    name="join of what is read",
    operands=[Concatenate],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.concatenate([t.vector, t.x])[t.constant([7, 2, -1, 7])],
        lambda t: t.concatenate([t.exp(t.vector), t.x])[t.constant([2, 1])],
        lambda t: t.stack([t.vector, t.exp(t.x)])[:, t.places],
        lambda t: t.stack([t.vector, t.exp(t.x), t.y])[t.constant([0, 2, 1, 0, 2]), t.constant([0, 1, 2, 3, 4])],
        lambda t: t.concatenate([t.matrix, t.matrix_d])[t.constant([4, 0, 0])],
    ],
)
def joined_later(node: Node, facts: Facts) -> Node | None:
    """Of parts that are joined are read what is joined later, or what known positions choose."""
    join, read = node.inputs[0], reading(node)
    if read is None or not isinstance(join.op, Concatenate) or not read[1]:
        return None
    entries, arrays = read
    axis = join.op.axis
    if entries[axis] == FULL:
        return concatenate([_read(x, entries, arrays) for x in join.inputs], _layout(*read).index(axis))
    lengths = [x.static_shape[axis] for x in join.inputs]
    which = sum(isinstance(e, Gather) for e in entries[:axis])
    if not isinstance(entries[axis], Gather) or not all(isinstance(n, int) for n in lengths):
        return None
    known = arrays[which].op
    edges = np.cumsum([0, *lengths])
    if not isinstance(known, Constant) or not ((-edges[-1] <= known.array) & (known.array < edges[-1])).all():
        return None
    places = np.where(known.array < 0, known.array + edges[-1], known.array)
    place = gather_place(entries)
    assert place is not None
    behind = (1,) * (node.ndim - place - places.ndim)
    found: Node | None = None
    parts = [(x, low, inside) for x, low, high in zip(join.inputs, edges, edges[1:], strict=False)
             if (inside := (low <= places) & (places < high)).any()]  # fmt: skip
    if len(parts) > MOST_PARTS:
        return None
    for x, low, inside in reversed(parts):
        if x.static_shape[axis] == 1 and len(arrays) > 1:
            rest = (*entries[:axis], *entries[axis + 1 :])
            part = _read(squeeze(x, axis), rest, (*arrays[:which], *arrays[which + 1 :]))
        else:
            own = constant(np.where(inside, places - low, 0))
            part = _read(x, entries, (*arrays[:which], own, *arrays[which + 1 :]))
        found = part if found is None else apply("where", constant(inside.reshape(*inside.shape, *behind)), part, found)
    return found


def _rows(x: Node) -> bool:
    """Whether rows are read at an index vector."""
    read = reading(x)
    return read is not None and read[0] == (Gather(), *[FULL] * (len(read[0]) - 1)) and read[1][0].ndim == 1


def _source(x: Node) -> tuple[Node, Node] | None:
    """What rows are read of, and the index vector: also where axes are added to what is read."""
    new = x.op.axes if isinstance(x.op, ExpandDims) and 0 not in x.op.axes else ()
    read = x.inputs[0] if new else x
    if not _rows(read):
        return None
    return (expand_dims(read.inputs[0], new) if new else read.inputs[0]), read.inputs[1]


def repeated(x: Node, places: Node, times: float) -> bool:
    """Whether index vectors have so many positions for each element along the first axis."""
    length, count = x.static_shape[0], places.static_shape[0]
    return isinstance(length, int) and isinstance(count, int) and times * length <= count


@rewrites(
    Elementwise,
    name="reading of a function",
    operands=[Index],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.exp(t.vector4[t.places]),
        lambda t: t.scalar * t.vector3[t.places] * t.numbers3[t.places],
        lambda t: t.matrix[t.places] * t.expand_dims(t.vector3[t.places], 1),
        lambda t: t.matrix[t.places] * t.row,
    ],
)
def read_after(node: Node, facts: Facts) -> Node | None:
    """f(x[i], y[i]) is f(x, y)[i]: of fewer elements where i repeats."""
    assert isinstance(node.op, Elementwise)
    rows = [x.ndim == node.ndim > 0 and x.static_shape[0] == node.static_shape[0] for x in node.inputs]
    read = [_source(x) if row else (x, None) for x, row in zip(node.inputs, rows, strict=True)]
    found = [pair for pair in read if pair is not None]
    places = {place for _, place in found if place is not None}
    if node.op.function in DRAWS or len(found) < len(read) or len(places) != 1:
        return None
    if len({x.static_shape[0] for x, place in found if place is not None}) > 1:
        return None
    (at,) = places
    if not any(place is not None and repeated(x, at, 0.5) for x, place in found):
        return None
    inner = apply(node.op.function, *(x for x, _ in found))
    return Node(Index((Gather(), *[FULL] * (node.ndim - 1))), inner, at)


@rewrites(
    Reduce,
    Softmax,
    MatMul,
    name="reading of rows that are reduced",
    operands=[Index],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.logsumexp(t.matrix[t.places], 1),
        lambda t: t.matrix[t.places].sum(axis=1),
        lambda t: t.softmax(t.matrix[t.places], axis=1),
        lambda t: t.matrix[t.places] @ t.vector4,
        lambda t: t.matrix_b[t.places] @ t.matrix_d,
    ],
)
def reduced_before(node: Node, facts: Facts) -> Node | None:
    """The sums of the rows A[i] are those of A, read at i; and so are softmax and products."""
    read = node.inputs[0]
    if not _rows(read) or read.ndim != 2 or 0 in getattr(node.op, "axes", ()) or any(x.ndim > 2 for x in node.inputs):
        return None
    inner = Node(node.op, read.inputs[0], *node.inputs[1:])
    return Node(Index((Gather(), *[FULL] * (inner.ndim - 1))), inner, read.inputs[1])


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
    product, read = node.inputs[0], reading(node)
    if read is None or not isinstance(product.op, MatMul) or any(x.ndim > 2 for x in product.inputs):
        return None
    (a, b), entries, arrays = product.inputs, list(read[0]), list(read[1])
    if any(x.ndim != 1 for x in arrays):
        return None
    if len(arrays) == 2:
        turned = transposed(b)
        columns = _read(matrix_transpose(b) if turned is None else turned, (Gather(), FULL), arrays[1:])
        return reduce("sum", apply("mul", _read(a, (Gather(), FULL), arrays[:1]), columns), 1)
    if a.ndim == 2:
        first = entries.pop(0)
        a = _read(a, (first, FULL), [arrays.pop(0)] if isinstance(first, Gather) else [])
    return Node(MatMul(), a, _read(b, (FULL, *entries), arrays) if b.ndim == 2 else b)


# Ops that are done line by line: what is read along other axes is read of the operands as well.
BY_LINES = (ArgReduce, ArgSort, Cumulative, MatMul, SearchSorted, Softmax, Solve, SolveTriangular, Sort)


def _one(entry: Entry, length: Dim) -> Entry:
    """A position as a slice of length one."""
    if not isinstance(entry, At) or not isinstance(length, int):
        return entry
    place = entry.position % length
    return SliceIndex(place, place + 1)


@rewrites(
    Index,
    name="lines of what is read",
    operands=list(BY_LINES),
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.node(Sort(1), t.matrix)[1],
        lambda t: t.node(ArgSort(0), t.matrix)[1:, t.places],
        lambda t: t.node(ArgReduce("max", 1), t.matrix)[t.places],
        lambda t: t.node(Cumulative("sum", 1), t.matrix)[-1, 2:],
        lambda t: t.softmax(t.matrix, axis=1)[::-1][:2],
        lambda t: t.solve(t.square_matrix, t.right3)[1:, 0],
        lambda t: t.node(SolveTriangular(True, False), t.square_matrix, t.right3)[:, 1:],
    ],
)
def lines_read_before(node: Node, facts: Facts) -> Node | None:
    """f(x)[i] is f(x[i]) where f is done for each line along other axes, as `Op.kept_axes` tells."""
    inner, read = node.inputs[0], reading(node)
    if read is None or not isinstance(inner.op, BY_LINES) or len(read[1]) > 1 or any(a.ndim != 1 for a in read[1]):
        return None
    entries, arrays = read
    kept = kept_axes(inner)
    followed = {axis for axes in kept for axis in axes}
    if isinstance(inner.op, Solve | SolveTriangular):
        followed -= set(kept[0])  # of a batch of systems one may have no solution
    moved = {axis for axis in followed if entries[axis] != FULL and isinstance(inner.static_shape[axis], int)}
    if not moved or (isinstance(inner.op, MatMul) and all(x.ndim <= 2 for x in inner.inputs)):
        return None
    operands = list[Node]()
    for x, axes in zip(inner.inputs, kept, strict=True):
        own = dict.fromkeys(range(x.ndim), FULL) | {
            axes[a]: _one(entries[a], x.static_shape[axes[a]]) for a in moved if a in axes
        }
        gathers = any(isinstance(e, Gather) for e in own.values())
        operands.append(_read(x, [own[a] for a in range(x.ndim)], arrays if gathers else ()))
    rest = [(At(0) if isinstance(e, At) else FULL) if a in moved else e for a, e in enumerate(entries)]
    found = _read(Node(inner.op, *operands), rest, arrays if any(isinstance(e, Gather) for e in rest) else ())
    return found if found.static_shape == node.static_shape else None


@rewrites(
    Index,
    name="beginning of what accumulates",
    operands=[Cumulative],
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.node(Cumulative("sum", 0), t.vector)[:3],
        lambda t: t.node(Cumulative("sum", 0), t.vector)[-1],
        lambda t: t.node(Cumulative("prod", 1), t.matrix)[:, 2],
        lambda t: t.node(Cumulative("prod", 1, reverse=True), t.matrix)[:, 1:],
        lambda t: t.node(Cumulative("sum", 0, reverse=True), t.vector)[2],
    ],
)
def accumulated_as_far(node: Node, facts: Facts) -> Node | None:
    """What accumulates up to a place is a sum or product of what comes before, and no more is needed for a slice."""
    inner, read = node.inputs[0], reading(node)
    if read is None or not isinstance(inner.op, Cumulative):
        return None
    entries, arrays = list(read[0]), read[1]
    (x,), axis, length = inner.inputs, inner.op.axis, inner.static_shape[inner.op.axis]
    entry = entries[axis]
    if not isinstance(length, int) or isinstance(entry, Gather) or entry == FULL:
        return None
    single = _one(entry, length)
    assert isinstance(single, SliceIndex)
    if not single.static:
        return None
    taken = range(length)[slice(single.start, single.stop, single.step)]
    if not taken or taken.step != 1:
        return None
    part = SliceIndex(taken.start, length) if inner.op.reverse else SliceIndex(0, taken.stop)
    needed = _read(x, [part if a == axis else FULL for a in range(x.ndim)], ())
    if isinstance(entry, At):
        del entries[axis]
        return _read(Node(Reduce(inner.op.kind, (axis,)), needed), entries, arrays)
    if needed.static_shape == x.static_shape:
        return None
    entries[axis] = SliceIndex(0, len(taken)) if inner.op.reverse else SliceIndex(taken.start, taken.stop)
    return _read(Node(inner.op, needed), entries, arrays)


@rewrites(
    Index,
    name="parts of an inverse",
    operands=[Inverse],
    tier="explore",
    examples=[
        lambda t: t.node(Inverse(), t.square_matrix)[1],
        lambda t: t.node(Inverse(), t.square_matrix)[:, 1:],
        lambda t: t.node(Inverse(), t.square_matrix)[-1, 0],
        lambda t: t.node(Inverse("positive definite"), t.positive_definite)[:1, 1],
    ],
)
def parts_of_inverse(node: Node, facts: Facts) -> Node | None:
    """Columns of an inverse solve systems with columns of the identity, rows those of the transpose."""
    inverse, read = node.inputs[0], reading(node)
    if read is None or read[1] or not isinstance(inverse.op, Inverse) or inverse.ndim != 2:
        return None
    (x,), (row, column), length = inverse.inputs, read[0], inverse.static_shape[0]
    if not isinstance(length, int) or not all(e.static for e in (row, column) if isinstance(e, SliceIndex)):
        return None
    by_column = column != FULL
    wanted = _one(column if by_column else row, length)
    assert isinstance(wanted, SliceIndex)
    taken = range(length)[slice(wanted.start, wanted.stop, wanted.step)]
    if not 0 < len(taken) < length:
        return None
    right = constant(np.eye(length)[:, list(taken)])
    turned = x if by_column or inverse.op.assume != "general" else matrix_transpose(x)
    solved = Node(Solve(inverse.op.assume), turned, cast(right, x.dtype))
    if by_column:
        return _read(solved, (row, At(0) if isinstance(column, At) else FULL), ())
    return _read(matrix_transpose(solved), (At(0) if isinstance(row, At) else FULL, FULL), ())


RULES: tuple[Rule, ...] = (
    read_before,
    read_first,
    reduced_later,
    joined_later,
    read_after,
    reduced_before,
    parts_of_product,
    lines_read_before,
    accumulated_as_far,
    parts_of_inverse,
)
