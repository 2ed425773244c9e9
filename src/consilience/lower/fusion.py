"""Groups of loop nodes become kernels.

Nodes of one level and one loop space in, LoopKernel values with their views and scalar nodes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from consilience.ir import Node
from consilience.lower import segments
from consilience.lower.forms import LOOP, READ, SCATTER, Forms, components, domain_of
from consilience.lower.loop_kernel import Instruction, Leaf, LoopKernel, Operand, Reduction, Root, StoreRoot, collapse
from consilience.lower.scalar_code import HEAVY
from consilience.lower.views import IOTA, Lengths, View, broadcast, proved_inside, static
from consilience.ops import Cast, Elementwise, Index, IndexUpdate, Reduce
from consilience.ops.index import At, Gather, NewAxis, SliceIndex, gather_place
from consilience.record import Record, replace

# Weight of one kernel beyond which independent parts get loops of their own.
FULL = 96
# From this many independent parts on, equal parts are likely and are compiled once when kept apart.
MANY_PARTS = 24


class KernelStep(Record):
    """A kernel with what its arguments stand for, and the values that it computes.

    `scattered`: the targets of its scatters, in the order of their roots.
    """

    kernel: LoopKernel
    memories: list[View]
    invariants: list[Node]
    results: list[Node]
    nodes: Sequence[Node] = ()
    scattered: Sequence[View] = ()


def instructions_of(function: str) -> int:
    """Rough number of instructions of one element of a step of a kernel: many for a function of the math library."""
    return 12 if function in HEAVY else 2 if function == "gather" else 1


def weight(node: Node) -> int:
    """Rough number of instructions of one element."""
    if isinstance(node.op, Index | IndexUpdate):
        return instructions_of("gather")
    function = node.op.function if isinstance(node.op, Elementwise) else ""
    return max(instructions_of(function), len(node.inputs) - 1)


def parts(forms: Forms, nodes: list[Node]) -> list[list[Node]]:
    """Independent parts of a group, packed into loops of bounded weight."""
    independent = components(forms, nodes)
    if len(independent) >= MANY_PARTS:
        return independent
    packed: list[list[Node]] = []
    load = 0
    for component in independent:
        heavy = sum(weight(n) for n in component)
        if packed and load + heavy <= FULL:
            packed[-1].extend(component)
            load += heavy
        else:
            packed.append(list(component))
            load = heavy
    return packed


def squeezed(strides: Lengths, shape: Lengths) -> Lengths:
    """Strides along the axes whose length is not 1."""
    return tuple(s for s, n in zip(strides, shape, strict=True) if n != 1)


class _Assembly:
    """Collects the numbered parts of one kernel."""

    def __init__(self, forms: Forms, buffer: Callable[[Node], View | None], members: Iterable[Node]) -> None:
        self.forms = forms
        self.buffer = buffer
        self.members = set(members)
        self.leaves: dict[Leaf, int] = {}
        self.memories: list[View] = []
        self.memory_numbers: dict[tuple[object, int], int] = {}
        self.invariants: dict[Node, int] = {}
        self.body: list[Instruction] = []
        self.numbers: dict[Instruction, int] = {}
        self.place: dict[Node, Operand] = {}
        self.roots: list[Root] = []
        self.results: list[Node] = []
        self.scattered: list[View] = []
        self.index: Node | None = None
        self.groups = 0
        self.order: npt.NDArray[np.int64] | None = None
        self.borders = -1

    def group_by(self, index: Node, groups: int) -> None:
        """Run group by group of a sorted index array."""
        if self.index is None:
            self.index = index
            self.groups = groups
            self.order = segments.order_of(index)
            offsets = self.buffer(segments.borders(index, groups))
            assert offsets is not None
            self.borders = self.memory(offsets)

    def strides(self, view: View, shape: Lengths) -> Lengths:
        """Strides along the axes of the loop nest."""
        own = squeezed(view.strides, shape)
        return own if self.index is None else (0, *own)

    def memory(self, view: View) -> int:
        key = (view.storage, view.offset)
        if key not in self.memory_numbers:
            self.memory_numbers[key] = len(self.memories)
            self.memories.append(view)
        return self.memory_numbers[key]

    def operand(self, node: Node, shape: Lengths) -> Operand:
        """How the kernel reads an operand whose result space has `shape` (with axes of length 1)."""
        if node in self.place:
            return self.place[node]
        if self.forms.scalar_like(node):
            return ("invariant", self.invariants.setdefault(node, len(self.invariants)))
        if self.forms.form.get(node) == READ:
            self.place[node] = _value(self, node)
            return self.place[node]
        view = self.buffer(self.in_order(node))
        assert view is not None, f"{node!r} has no place in memory"
        return self.leaf(broadcast(view, shape), node.dtype, shape)

    def in_order(self, node: Node) -> Node:
        """A constant vector in the order in which the loop takes its elements."""
        return node if self.order is None else segments.reordered(node, self.order)

    def leaf(self, view: View, dtype: str, shape: Lengths) -> Operand:
        strides = self.strides(view, shape)
        if view.storage is IOTA:
            leaf = Leaf(-1, dtype, strides, view.offset)
        else:
            leaf = Leaf(self.memory(view), dtype, strides)
        return ("leaf", self.leaves.setdefault(leaf, len(self.leaves)))

    def add(self, instruction: Instruction) -> Operand:
        number = self.numbers.setdefault(instruction, len(self.body))
        if number == len(self.body):
            self.body.append(instruction)
        return ("body", number)

    def finished(self, domain: Lengths) -> KernelStep:
        dtypes = tuple(node.dtype for node in self.invariants)
        if self.index is not None:
            domain = (self.groups, *domain)
        leaves = tuple(self.leaves)
        if sum(leaf.strides[-1:] > (1,) for leaf in leaves) > 1:
            from consilience.lower.row_tiles import joined  # few loops read matrices across

            leaves = joined(leaves, self.memories, {root.memory for root in self.roots if root.memory >= 0})
        kernel = LoopKernel(
            domain, leaves, dtypes, tuple(self.body), tuple(self.roots), len(self.memories), self.borders
        )
        invariants = list(self.invariants)
        return KernelStep(collapse(kernel), self.memories, invariants, self.results, scattered=self.scattered)


def build(forms: Forms, buffer: Callable[[Node], View | None], nodes: list[Node], domain: Lengths) -> KernelStep:
    """One kernel that computes the given nodes (in topological order) of one loop space."""
    parts = _Assembly(forms, buffer, nodes)
    for node in nodes:
        if node in forms.grouped:
            parts.group_by(forms.grouped[node], static(node.static_shape)[0])
    for node in nodes:
        if forms.form[node] == LOOP:
            parts.place[node] = _value(parts, node)
            if node in forms.stored:
                target = buffer(node)
                assert target is not None
                shape = static(node.static_shape)
                parts.roots.append(
                    StoreRoot(parts.place[node], parts.memory(target), node.dtype, parts.strides(target, shape))
                )
        elif forms.form[node] == SCATTER:
            _scatter(parts, node)
        else:
            _reduction(parts, node)
    return replace(parts.finished(domain), nodes=nodes)


def _value(parts: _Assembly, node: Node) -> Operand:
    shape = static(node.static_shape)
    op = node.op
    if isinstance(op, Elementwise):
        operands = tuple(parts.operand(i, shape) for i in node.inputs)
        return parts.add(Instruction(op.function, node.dtype, operands))
    if isinstance(op, Cast):
        return parts.add(Instruction("cast", node.dtype, (parts.operand(node.inputs[0], shape),)))
    assert isinstance(op, Index)
    return _gather(parts, node, op, shape)


def gather_layout(op: Index, node: Node, source: View) -> tuple[Lengths, int, list[tuple[int, int]], int, int]:
    """Affine strides over the result, extra offset, (length, stride) per index array, and the arrays' axes."""
    place = gather_place(op.specification)
    assert place is not None
    arrays = node.inputs[1:]
    rank = max(a.ndim for a in arrays)
    plain: list[int] = []
    offset = 0
    axes: list[tuple[int, int]] = []
    axis = 0
    for entry in op.specification:
        if isinstance(entry, NewAxis):
            plain.append(0)
            continue
        length, stride = source.shape[axis], source.strides[axis]
        axis += 1
        if isinstance(entry, Gather):
            axes.append((length, stride))
        elif isinstance(entry, At):
            offset += entry.position % length * stride
        else:
            assert isinstance(entry, SliceIndex)
            taken = entry.range(length)
            offset += taken.start * stride if len(taken) else 0
            plain.append(taken.step * stride)
    strides = (*plain[:place], *[0] * rank, *plain[place:])
    return strides, offset, axes, place, rank


def index_view(view: View, shape: Lengths, place: int, rank: int) -> View:
    """An index array's view over the whole result: constant along the axes of slices."""
    inner = broadcast(view, shape[place : place + rank])
    lead, tail = place, len(shape) - place - rank
    return View(view.storage, view.offset, (*[0] * lead, *inner.strides, *[0] * tail), shape)


def _scatter(parts: _Assembly, node: Node) -> None:
    """Values written or added, one after the other, to a target that holds the elements of before."""
    op = node.op
    assert isinstance(op, IndexUpdate)
    base, values, *arrays = node.inputs
    target = parts.buffer(node)
    assert target is not None
    shape = static(values.static_shape)
    value = parts.operand(values, shape)
    memory, strides, operands, details = _indexed(parts, Node(Index(op.specification), base, *arrays), target, shape)
    place = _places(parts, operands, details, shape)
    mode = "add" if op.mode == "inc" else op.mode
    parts.scattered.append(target)
    parts.roots.append(StoreRoot(value, parts.memory(memory), node.dtype, strides, mode, place))


def _indexed(
    parts: _Assembly, node: Node, source: View, shape: Lengths
) -> tuple[View, Lengths, tuple[Operand, ...], tuple[tuple[int, int, bool], ...]]:
    """Of an index with arrays: where it begins, affine strides over the loops, its arrays and what they address."""
    op = node.op
    assert isinstance(op, Index)
    strides, offset, axes, place, rank = gather_layout(op, node, source)
    operands: list[Operand] = []
    details: list[tuple[int, int, bool]] = []
    for array, (length, stride) in zip(node.inputs[1:], axes, strict=True):
        details.append((length, stride, proved_inside(array, length)))
        if array in parts.place and domain_of(array) == tuple(n for n in shape if n != 1):
            operands.append(parts.place[array])
        elif parts.forms.scalar_like(array):
            operands.append(parts.operand(array, shape))
        else:
            view = parts.buffer(parts.in_order(array))
            assert view is not None
            operands.append(parts.leaf(index_view(view, shape, place, rank), array.dtype, shape))
    begin = View(source.storage, source.offset + offset, (), ())
    return begin, parts.strides(View(source.storage, 0, strides, shape), shape), tuple(operands), tuple(details)


def _places(
    parts: _Assembly, operands: tuple[Operand, ...], details: tuple[tuple[int, int, bool], ...], shape: Lengths
) -> Operand:
    """What index arrays add to an offset, checked once for all elements of the axes that they do not vary with."""
    nowhere = parts.strides(View(IOTA, 0, (0,) * len(shape), shape), shape)
    return parts.add(Instruction("gather", "int64", operands, (-1, nowhere, details)))


def _gather(parts: _Assembly, node: Node, op: Index, shape: Lengths) -> Operand:
    source = parts.buffer(node.inputs[0])
    assert source is not None
    if node.inputs[1:] == (parts.index,) and op.specification == (Gather(),) and source.storage is not IOTA:
        # One element per group.
        leaf = Leaf(parts.memory(View(source.storage, source.offset, (), ())), node.dtype, (source.strides[0], 0))
        return ("leaf", parts.leaves.setdefault(leaf, len(parts.leaves)))
    begin, strides, operands, details = _indexed(parts, node, source, shape)
    if source.storage is IOTA:
        # The elements of a range are their places: the checked positions plus what the other axes add.
        rest = ("leaf", parts.leaves.setdefault(Leaf(-1, node.dtype, strides, begin.offset), len(parts.leaves)))
        return parts.add(Instruction("add", node.dtype, (_places(parts, operands, details, shape), rest)))
    if any(strides):  # rows: their beginnings are found outside the loop over their elements
        operands, details = (_places(parts, operands, details, shape),), ((0, 1, True),)
    return parts.add(Instruction("gather", node.dtype, operands, (parts.memory(begin), strides, details)))


def _reduction(parts: _Assembly, node: Node) -> None:
    op = node.op
    if node in parts.forms.grouped:
        _sum_by_group(parts, node)
        return
    assert isinstance(op, Reduce)
    (operand,) = node.inputs
    full = static(operand.static_shape)
    value = parts.operand(operand, full)
    squeezed_axes = [i for i, n in enumerate(full) if n != 1]
    axes = tuple(position for position, axis in enumerate(squeezed_axes) if axis in op.axes)
    if parts.index is not None and axes:  # one axis of elements, reduced whole
        axes = (0, 1)
    if node not in parts.forms.stored:
        parts.roots.append(Reduction(value, op.kind, axes, node.dtype))
        parts.results.append(node)
        return
    target = parts.buffer(node)
    assert target is not None
    kept = iter(target.strides)
    strides = tuple(0 if axis in op.axes else next(kept) for axis in range(len(full)))
    own = parts.strides(View(target.storage, target.offset, strides, full), full)
    parts.roots.append(Reduction(value, op.kind, axes, node.dtype, parts.memory(target), own))


def _sum_by_group(parts: _Assembly, node: Node) -> None:
    values = node.inputs[1]
    value = parts.operand(values, static(values.static_shape))
    target = parts.buffer(node)
    assert target is not None
    parts.roots.append(Reduction(value, "sum", (1,), node.dtype, parts.memory(target), (target.strides[0], 0)))


def copy(source: View, target: View, dtype: str) -> KernelStep:
    """A kernel that copies one view to another of equal shape."""
    return _transfer(source, None, target, dtype, "set")


def fill(value: Node, target: View) -> KernelStep:
    """A kernel that repeats a scalar over a view."""
    return _transfer(None, value, target, value.dtype, "set")


def fill_number(target: View, dtype: str) -> KernelStep:
    """A kernel that repeats its one scalar argument over a view."""
    return _transfer(None, None, target, dtype, "set")


def accumulate(source: View, target: View, dtype: str) -> KernelStep:
    """A kernel that adds one view to another of equal shape."""
    return _transfer(source, None, target, dtype, "add")


def _transfer(source: View | None, value: Node | None, target: View, dtype: str, mode: str) -> KernelStep:
    shape = target.shape
    domain = tuple(n for n in shape if n != 1) or (1,)
    memories: list[View] = []
    leaves: tuple[Leaf, ...] = ()
    operand: Operand = ("invariant", 0)

    def strides(view: View) -> Lengths:
        return squeezed(view.strides, shape) or (0,)

    if source is not None:
        operand = ("leaf", 0)
        if source.storage is IOTA:
            leaves = (Leaf(-1, dtype, strides(source), source.offset),)
        else:
            leaves = (Leaf(0, dtype, strides(source)),)
            memories.append(source)
    memories.append(target)
    root = StoreRoot(operand, len(memories) - 1, dtype, strides(target), mode)
    invariants = [] if value is None else [value]
    kinds = () if source is not None else (dtype,)
    kernel = LoopKernel(domain, leaves, kinds, (), (root,), len(memories))
    return KernelStep(collapse(kernel), memories, invariants, [])
