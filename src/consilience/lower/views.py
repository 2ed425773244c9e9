"""Where a value lies: a storage, an offset and a stride per axis.

Views are plain data. A view of the storage IOTA is no memory: its elements are offset + sum of index * stride.
"""

from __future__ import annotations

import math

from consilience.ir import Node, constant_value
from consilience.ops import BroadcastTo, ExpandDims, Index, IndexUpdate, Reshape, Squeeze, Transpose
from consilience.ops.index import At, Gather, NewAxis, SliceIndex
from consilience.record import Record

Lengths = tuple[int, ...]


class Storage(Record):
    """A contiguous block: `place` is "inputs", "outputs", "constants", "workspace", "element" or "iota".

    `number`: position in its table, or the workspace block, or the sequence of a loop of which it is one element.
    `size`: Elements.
    """

    place: str
    number: int
    dtype: str
    size: int


IOTA = Storage("iota", 0, "int64", 0)


class View(Record):
    """Elements of a storage: element (i, j, …) lies at offset + i * strides[0] + j * strides[1] + …"""

    storage: Storage
    offset: int
    strides: Lengths
    shape: Lengths

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return self.storage is not IOTA and all(
            n == 1 or s == t for n, s, t in zip(self.shape, self.strides, row_major(self.shape), strict=True)
        )

    def __repr__(self) -> str:
        return f"{self.storage.place}{self.storage.number}+{self.offset}{list(self.strides)}"


def row_major(shape: Lengths) -> Lengths:
    """Strides of a contiguous array."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def whole(storage: Storage, shape: Lengths, offset: int = 0) -> View:
    """A contiguous view."""
    return View(storage, offset, row_major(shape), shape)


VIEW_OPS = (Reshape, Transpose, ExpandDims, Squeeze, BroadcastTo)


def is_view(node: Node) -> bool:
    """Whether an op only addresses its operand's elements anew."""
    if isinstance(node.op, Index):
        return len(node.inputs) == 1
    return isinstance(node.op, VIEW_OPS)


def static(shape: tuple[object, ...]) -> Lengths:
    """A shape of a specialised graph as integers."""
    return tuple(int(n) for n in shape)  # type: ignore[call-overload]  # integers after specialisation


def apply_view(node: Node, source: View) -> View | None:
    """The view an op makes of its operand's view; None where only a copy would do (some reshapes)."""
    op = node.op
    if isinstance(op, Transpose):
        return View(
            source.storage,
            source.offset,
            tuple(source.strides[a] for a in op.axes),
            tuple(source.shape[a] for a in op.axes),
        )
    if isinstance(op, ExpandDims):
        shape, strides = list(source.shape), list(source.strides)
        for axis in op.axes:
            shape.insert(axis, 1)
            strides.insert(axis, 0)
        return View(source.storage, source.offset, tuple(strides), tuple(shape))
    if isinstance(op, Squeeze):
        keep = [i for i in range(len(source.shape)) if i not in op.axes]
        return View(
            source.storage, source.offset, tuple(source.strides[i] for i in keep), tuple(source.shape[i] for i in keep)
        )
    if isinstance(op, BroadcastTo):
        return broadcast(source, static(op.shape))
    if isinstance(op, Reshape):
        return _reshape(source, static(op.shape))
    assert isinstance(op, Index)
    return _slice(op, source)


def broadcast(source: View, shape: Lengths) -> View:
    """Stretch axes of length 1 and add leading ones, with stride 0."""
    lead = len(shape) - len(source.shape)
    strides = [0] * lead
    for stride, have, want in zip(source.strides, source.shape, shape[lead:], strict=True):
        strides.append(stride if have == want and have != 1 else 0)
    return View(source.storage, source.offset, tuple(strides), shape)


def _reshape(source: View, shape: Lengths) -> View | None:
    if source.size <= 1 or source.size != math.prod(shape):
        return View(source.storage, source.offset, (0,) * len(shape), shape) if source.size == 1 else None
    # Group old and new axes into runs of equal size; inside a run the old axes must collapse into one.
    old = [(n, s) for n, s in zip(source.shape, source.strides, strict=True) if n != 1]
    strides: list[int] = []
    i = 0
    j = 0
    while j < len(shape):
        if shape[j] == 1:
            strides.append(0)
            j += 1
            continue
        old_size, stride = old[i]
        i += 1
        group = [shape[j]]
        j += 1
        new_size = group[0]
        while old_size != new_size:
            if old_size < new_size:
                n, s = old[i]
                if stride != n * s:
                    return None
                old_size, stride = old_size * n, s
                i += 1
            else:
                if j >= len(shape):
                    return None
                group.append(shape[j])
                new_size *= shape[j]
                j += 1
        step = stride * new_size
        for length in group:
            step //= length
            strides.append(step if length != 1 else 0)
    return View(source.storage, source.offset, tuple(strides), shape)


def _slice(op: Index, source: View) -> View:
    offset = source.offset
    strides: list[int] = []
    shape: list[int] = []
    axis = 0
    for entry in op.specification:
        if isinstance(entry, NewAxis):
            strides.append(0)
            shape.append(1)
            continue
        length, stride = source.shape[axis], source.strides[axis]
        axis += 1
        if isinstance(entry, At):
            offset += (entry.position % length if length else 0) * stride
        else:
            assert isinstance(entry, SliceIndex)
            taken = entry.range(length)
            offset += taken.start * stride if len(taken) else 0
            strides.append(taken.step * stride)
            shape.append(len(taken))
    return View(source.storage, offset, tuple(strides), tuple(shape))


def proved_inside(array: Node, length: int) -> bool:
    """Whether an index array is constant and inside its axis."""
    known = constant_value(array)
    return known is not None and (not known.size or (int(known.min()) >= 0 and int(known.max()) < length))


def gathered_lengths(op: Index | IndexUpdate, shape: Lengths) -> Lengths:
    """Lengths of the axes that the index arrays address."""
    axes = iter(shape)
    lengths = [(entry, next(axes)) for entry in op.specification if not isinstance(entry, NewAxis)]
    return tuple(length for entry, length in lengths if isinstance(entry, Gather))
