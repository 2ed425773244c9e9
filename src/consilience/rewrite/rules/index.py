"""Indices: new axes apart, indices of indices as one, reading what was joined, repeated or just written.

Only static entries (positions and slices) are composed, and index arrays whose values are known: a rule
never removes an index that could lie outside its axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.ir import Constant, Dim, Node, constant
from consilience.ir import dimension as dims
from consilience.ops import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Index,
    IndexUpdate,
    Iota,
    Transpose,
    apply,
)
from consilience.ops.index import FULL, At, Entry, Gather, NewAxis, SliceIndex, Specification, gather_place
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, transpose
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites


def _static(specification: Specification) -> bool:
    return all(isinstance(entry, At) or (isinstance(entry, SliceIndex) and entry.static) for entry in specification)


def _indexed(x: Node, entries: Sequence[Entry], arrays: Sequence[Node] = ()) -> Node:
    if not arrays and all(entry == FULL for entry in entries):
        return x
    return Node(Index(tuple(entries)), x, *arrays)


@rewrites(
    Index,
    name="new axes apart from indices",
    examples=[lambda t: t.vector[:, None], lambda t: t.matrix[None, 1], lambda t: t.matrix[t.places, None]],
)
def new_axes_apart(node: Node, facts: Facts) -> Node | None:
    """x[i, None] is a new axis on x[i]."""
    assert isinstance(node.op, Index)
    entries = node.op.specification
    if not any(isinstance(e, NewAxis) for e in entries):
        return None
    bare = tuple(e for e in entries if not isinstance(e, NewAxis))
    gathers = [i for i, e in enumerate(entries) if isinstance(e, Gather)]
    if gathers and any(isinstance(e, NewAxis) for e in entries[gathers[0] : gathers[-1]]):
        return None  # the new axis decides where the gathered axes stand
    inner = _indexed(node.inputs[0], bare, node.inputs[1:])
    labels = ["new" if isinstance(e, NewAxis) else "old" for e in entries if isinstance(e, NewAxis | SliceIndex)]
    place = gather_place(entries)
    if place is not None:
        labels[place:place] = ["old"] * (node.ndim - len(labels))
    return expand_dims(inner, tuple(i for i, label in enumerate(labels) if label == "new"))


@rewrites(
    Index,
    name="indices that take everything",
    examples=[
        lambda t: t.node(Index((SliceIndex(0, 5, 1),)), t.vector),
        lambda t: t.node(Index((SliceIndex(),)), t.vector),
    ],
)
def everything(node: Node, facts: Facts) -> Node | None:
    """A slice has one form; an index of full slices is the value."""
    assert isinstance(node.op, Index)
    entries = node.op.specification
    if not _static(entries):
        return None
    lengths = node.inputs[0].static_shape
    canonical = [_canonical(e, n) for e, n in zip(entries, lengths, strict=True)]
    if all(entry == FULL for entry in canonical):
        return node.inputs[0]
    return None if tuple(canonical) == entries else _indexed(node.inputs[0], canonical)


def _canonical(entry: Entry, length: Dim) -> Entry:
    if isinstance(entry, SliceIndex):
        if isinstance(length, int):
            return _slice_of(entry.range(length), length)
        if entry.step == 1 or entry.start == 0:
            forward = entry.step is None or entry.step > 0
            return SliceIndex(
                None if entry.start == 0 and forward else entry.start,
                entry.stop,
                None if entry.step == 1 else entry.step,
            )
        return entry
    if isinstance(entry, At) and isinstance(length, int) and entry.position < 0:
        return At(entry.position + length)
    return entry


def _slice_of(taken: range, length: int) -> SliceIndex:
    """The one slice for a range of positions of an axis."""
    if len(taken) == 0:
        return SliceIndex(None, 0)
    if len(taken) == 1:
        start = taken[0]
        return SliceIndex(start or None, start + 1 if start + 1 < length else None)
    if taken.step > 0:
        stop = taken[-1] + 1
        # The end of a stepped slice may lie anywhere before the next position.
        end = None if taken[-1] + taken.step >= length else stop
        return SliceIndex(taken.start or None, end, taken.step if taken.step != 1 else None)
    first = None if taken.start == length - 1 else taken.start
    last = None if taken[-1] + taken.step < 0 else taken[-1] - 1
    return SliceIndex(first, last, taken.step)


@rewrites(
    Index,
    name="index of an index",
    operands=[Index],
    examples=[
        lambda t: t.vector[1:][1:3],
        lambda t: t.matrix[1][2],
        lambda t: t.matrix[:, ::-1][1:, 0],
        lambda t: t.vector[t.constant([0, 3, 1])][1:],
        lambda t: t.vector[t.constant([0, 3, 1])][t.places],
    ],
)
def index_of_index(node: Node, facts: Facts) -> Node | None:
    """x[a:b][i] is x[a + i]; x[array][i] is x[array[i]] for a known array."""
    assert isinstance(node.op, Index)
    inner = node.inputs[0]
    if not isinstance(inner.op, Index):
        return None
    x = inner.inputs[0]
    first, second = inner.op.specification, node.op.specification
    if (
        first == (Gather(),)
        and len(inner.inputs) == 2
        and isinstance(inner.inputs[1].op, Constant)
        and len(second) == 1
    ):
        if inner.inputs[1].ndim == 1 and isinstance(second[0], SliceIndex | At | Gather):
            taken = Node(Index(second), *inner.inputs[1:], *node.inputs[1:])
            return Node(Index((Gather(),)), x, taken)
        return None
    if not (_static(first) and _static(second)):
        return None
    remaining = iter(second)
    composed: list[Entry] = []
    for entry, length in zip(first, x.static_shape, strict=True):
        if isinstance(entry, At):
            composed.append(entry)
            continue
        found = _composed(entry, next(remaining), length)
        if found is None:
            return None
        composed.append(found)
    return _indexed(x, composed)


def _composed(first: Entry, second: Entry, length: Dim) -> Entry | None:
    assert isinstance(first, SliceIndex)
    if second == FULL:
        return first
    if first == FULL:
        return second
    if isinstance(length, int):
        taken = first.range(length)
        if isinstance(second, SliceIndex):
            return _slice_of(taken[second.bounds()], length)
        assert isinstance(second, At)
        return At(taken[second.position]) if -len(taken) <= second.position < len(taken) else None
    start = first.start or 0
    if not isinstance(start, int) or start < 0 or first.stop is not None or first.step is not None:
        return None
    if isinstance(second, At):
        return At(start + second.position) if second.position >= 0 else None
    assert isinstance(second, SliceIndex)
    low, high = second.start or 0, second.stop
    if second.step is not None or not dims.non_negative(low) or (high is not None and not dims.non_negative(high)):
        return None
    return SliceIndex(start + low, None if high is None else start + high)


@rewrites(
    Index,
    name="index of what is repeated",
    operands=[BroadcastTo],
    examples=[
        lambda t: t.broadcast_to(t.row, (3, 4))[1],
        lambda t: t.broadcast_to(t.scalar, (5,))[1:],
        lambda t: t.broadcast_to(t.row, (3, 4))[:, 2],
        lambda t: t.broadcast_to(t.column, (3, 4))[1:, 1],
    ],
)
def index_of_repeated(node: Node, facts: Facts) -> Node | None:
    """Positions along repeated axes do not matter."""
    assert isinstance(node.op, Index)
    repeated, entries = node.inputs[0], node.op.specification
    if not isinstance(repeated.op, BroadcastTo) or not _static(entries):
        return None
    (x,) = repeated.inputs
    lengths = repeated.static_shape
    if any(isinstance(e, At) and not isinstance(n, int) for e, n in zip(entries, lengths, strict=True)):
        return None
    missing = repeated.ndim - x.ndim
    own: list[Entry] = []
    for entry, length, wanted in zip(entries[missing:], x.static_shape, lengths[missing:], strict=True):
        if length == 1 and wanted != 1:
            own.append(At(0) if isinstance(entry, At) else FULL)
        else:
            own.append(entry)
    return broadcast_to(_indexed(x, own), node.static_shape)


@rewrites(
    Index,
    name="index of a join",
    operands=[Concatenate],
    examples=[
        lambda t: t.concatenate([t.vector, t.x])[2],
        lambda t: t.concatenate([t.vector, t.x])[6],
        lambda t: t.concatenate([t.vector, t.x])[5:],
        lambda t: t.concatenate([t.vector, t.x, t.y])[3:8],
        lambda t: t.stack([t.scalar, t.positive])[1],
    ],
)
def index_of_join(node: Node, facts: Facts) -> Node | None:
    """Only the parts that are read are joined."""
    assert isinstance(node.op, Index)
    join = node.inputs[0]
    entries = node.op.specification
    if not isinstance(join.op, Concatenate) or not _static(entries):
        return None
    axis = join.op.axis
    edges = [0]
    for part in join.inputs:
        length = part.static_shape[axis]
        if not isinstance(length, int):
            return None
        edges.append(edges[-1] + length)
    entry = entries[axis]
    parts = list(zip(join.inputs, edges[:-1], edges[1:], strict=True))
    if isinstance(entry, At):
        position = entry.position % edges[-1]
        part, low, _ = next(p for p in parts if p[1] <= position < p[2])
        return _indexed(part, (*entries[:axis], At(position - low), *entries[axis + 1 :]))
    assert isinstance(entry, SliceIndex)
    taken = entry.range(edges[-1])
    if taken.step != 1 or not len(taken):
        return None
    read: list[Node] = []
    for part, low, high in parts:
        first, last = max(taken.start, low), min(taken.stop, high)
        if first < last:
            own = _slice_of(range(first - low, last - low), high - low)
            read.append(_indexed(part, (*entries[:axis], own, *entries[axis + 1 :])))
    if len(read) == len(parts):
        return None
    return concatenate(read, axis - sum(isinstance(e, At) for e in entries[:axis]))


@rewrites(
    Index,
    name="index of new axes",
    operands=[ExpandDims],
    examples=[
        lambda t: t.expand_dims(t.vector, 0)[0],
        lambda t: t.expand_dims(t.vector, 1)[1:],
        lambda t: t.expand_dims(t.matrix, 1)[1, 0],
    ],
)
def index_of_new_axes(node: Node, facts: Facts) -> Node | None:
    """New axes are added after indexing, and those at which a position is taken not at all."""
    assert isinstance(node.op, Index)
    view = node.inputs[0]
    entries = node.op.specification
    if not isinstance(view.op, ExpandDims) or not _static(entries):
        return None
    new = view.op.axes
    if any(isinstance(entries[a], SliceIndex) and entries[a] != FULL for a in new):
        return None
    inner = _indexed(view.inputs[0], [e for a, e in enumerate(entries) if a not in new])
    left = [a for a, e in enumerate(entries) if not isinstance(e, At)]
    added = tuple(i for i, a in enumerate(left) if a in new)
    return expand_dims(inner, added) if added else inner


@rewrites(
    Index,
    name="index of permuted axes",
    operands=[Transpose],
    examples=[lambda t: t.transpose(t.matrix)[1], lambda t: t.transpose(t.matrix)[1:, :2]],
)
def index_of_permuted(node: Node, facts: Facts) -> Node | None:
    """Indices move before a permutation."""
    assert isinstance(node.op, Index)
    view = node.inputs[0]
    entries = node.op.specification
    if not isinstance(view.op, Transpose) or not _static(entries):
        return None
    axes = view.op.axes
    own: list[Entry] = [FULL] * len(axes)
    for a, entry in zip(axes, entries, strict=True):
        own[a] = entry
    left = [a for a, entry in enumerate(own) if isinstance(entry, SliceIndex)]
    order = [left.index(a) for a in axes if a in left]
    return transpose(_indexed(view.inputs[0], own), order) if order else _indexed(view.inputs[0], own)


@rewrites(
    Index,
    name="known index arrays that run evenly",
    operands=[Constant, Iota],
    examples=[
        lambda t: t.vector[t.node(Iota(5))],
        lambda t: t.matrix[:, t.node(Iota(3))],
        lambda t: t.vector[t.constant([1, 2, 3])],
        lambda t: t.matrix[:, t.constant([0, 2])],
        lambda t: t.node(Index((Gather(), FULL)), t.matrix, t.constant(1)),
    ],
)
def even_gather(node: Node, facts: Facts) -> Node | None:
    """x[[1, 2, 3]] is x[1:4]; an index array of rank 0 is a position."""
    assert isinstance(node.op, Index)
    x, *arrays = node.inputs
    entries = list(node.op.specification)
    if len(arrays) != 1 or any(isinstance(e, NewAxis) for e in entries):
        return None
    axis = entries.index(Gather())
    length = x.static_shape[axis]
    run = arrays[0].op
    if isinstance(run, Iota):
        count = run.length
        if count != length and not (isinstance(count, int) and isinstance(length, int) and count <= length):
            return None
        entries[axis] = _canonical(SliceIndex(None, count), length)
        return _indexed(x, entries)
    if not isinstance(run, Constant):
        return None
    positions = run.array
    if not isinstance(length, int) or positions.size == 0 or positions.min() < 0 or positions.max() >= length:
        return None
    if positions.ndim == 0:
        entries[axis] = At(int(positions))
        return _indexed(x, entries)
    steps = np.diff(positions) if positions.ndim == 1 else np.zeros(1)
    if positions.ndim != 1 or (len(steps) and (steps[0] < 1 or (steps != steps[0]).any())):
        return None
    step = int(steps[0]) if len(steps) else 1
    entries[axis] = _slice_of(range(int(positions[0]), int(positions[-1]) + 1, step), length)
    return _indexed(x, entries)


@rewrites(
    Index,
    name="index at repeated places",
    examples=[
        lambda t: t.vector[t.broadcast_to(t.constant([[1], [3]]), (2, 3))],
        lambda t: t.vector[t.broadcast_to(t.constant([2, 0]), (3, 2))],
        lambda t: t.matrix[:, t.broadcast_to(t.constant([[1], [0]]), (2, 3))],
        lambda t: t.matrix[
            t.broadcast_to(t.constant([[1], [0]]), (2, 3)), t.broadcast_to(t.constant([[1], [1]]), (2, 3))
        ],
        lambda t: t.vector[t.constant([[1], [2]])],
        lambda t: t.matrix[t.constant([[1], [0]])],
    ],
)
def index_at_repeated_places(node: Node, facts: Facts) -> Node | None:
    """What is read at repeated places is read once and repeated; axes of length 1 of known places are added later."""
    assert isinstance(node.op, Index)
    x, *arrays = node.inputs
    entries = node.op.specification
    place = gather_place(entries)
    if place is None or any(isinstance(e, NewAxis) for e in entries):
        return None
    if len(arrays) == 1 and isinstance(arrays[0].op, Constant):
        known = arrays[0].op.array
        single = tuple(axis for axis, length in enumerate(known.shape) if length == 1)
        if len(single) + 1 != known.ndim or not single:
            return None
        read = Node(node.op, x, constant(known.squeeze(single)))
        return expand_dims(read, tuple(place + axis for axis in single))
    if not all(isinstance(array.op, BroadcastTo) and isinstance(array.inputs[0].op, Constant) for array in arrays):
        return None
    rank = max(array.ndim for array in arrays)
    given = [array.inputs[0] for array in arrays]
    given = [expand_dims(a, tuple(range(rank - a.ndim))) if a.ndim < rank else a for a in given]
    read = Node(node.op, x, *given)
    if read.static_shape == node.static_shape or 0 in node.static_shape[place : place + rank]:
        return None
    return broadcast_to(read, node.static_shape)


def _position(entry: Entry) -> int:
    assert isinstance(entry, At)
    return entry.position


def _separate(a: Specification, b: Specification, shape: Sequence[Dim]) -> bool:
    """Whether two static indices share no element, seen on one axis."""
    for p, q, n in zip(a, b, shape, strict=True):
        if not isinstance(n, int) or not _static((p, q)):
            continue
        first, second = (set(e.range(n)) if isinstance(e, SliceIndex) else {_position(e) % n} for e in (p, q))
        if first.isdisjoint(second):
            return True
    return False


@rewrites(
    Index,
    name="reading what was written",
    operands=[IndexUpdate],
    examples=[
        lambda t: t.vector[1:3].set(0.0)[1:3],
        lambda t: t.vector[2].set(t.scalar)[2],
        lambda t: t.vector[2].set(t.scalar)[3],
        lambda t: t.vector[1:].inc(t.scalar)[1:],
        lambda t: t.vector[t.constant([0, 3, 1])].set(t.scalar)[t.constant([0, 3, 1])],
    ],
)
def read_of_write(node: Node, facts: Facts) -> Node | None:
    """x[i].set(v)[i] is v; other places are those of x. Arrays of positions must be free of repetition."""
    assert isinstance(node.op, Index)
    written = node.inputs[0]
    if not isinstance(written.op, IndexUpdate):
        return None
    x, values, *arrays = written.inputs
    here, there = node.op.specification, written.op.specification
    if here == there and node.inputs[1:] == tuple(arrays):
        if arrays and not (
            len(arrays) == 1 and isinstance(arrays[0].op, Constant) and facts.structure(arrays[0], "unique")
        ):
            return None
        if arrays and not _inside(arrays[0], x.static_shape[there.index(Gather())]):
            return None
        return values if written.op.mode == "set" else apply("add", _indexed(x, here, arrays), values)
    if not arrays and _static(here) and _static(there) and _separate(here, there, x.static_shape):
        return _indexed(x, here)
    return None


def _inside(positions: Node, length: Dim) -> bool:
    assert isinstance(positions.op, Constant)
    array = positions.op.array
    return isinstance(length, int) and bool(((array >= 0) & (array < length)).all())


@rewrites(
    IndexUpdate,
    name="writing everything",
    examples=[
        lambda t: t.node(IndexUpdate((FULL,), "set"), t.vector, t.x),
        lambda t: t.node(IndexUpdate((FULL,), "inc"), t.vector, t.x),
    ],
)
def write_everything(node: Node, facts: Facts) -> Node | None:
    """Setting the whole gives the values, increasing the whole is a sum."""
    assert isinstance(node.op, IndexUpdate)
    entries = node.op.specification
    if not _static(entries):
        return None
    x, values = node.inputs
    canonical = tuple(_canonical(e, n) for e, n in zip(entries, x.static_shape, strict=True))
    if all(entry == FULL for entry in canonical):
        return values if node.op.mode == "set" else apply("add", x, values)
    return None if canonical == entries else Node(IndexUpdate(canonical, node.op.mode), x, values)


RULES: tuple[Rule, ...] = (
    new_axes_apart,
    everything,
    index_of_index,
    index_of_repeated,
    index_of_join,
    index_of_new_axes,
    index_of_permuted,
    even_gather,
    index_at_repeated_places,
    read_of_write,
    write_everything,
)
