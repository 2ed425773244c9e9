"""The program of a graph: steps over buffers, in order.

A static, expanded graph in; buffers in memory, kernels, library calls and scalar code out. `entry` turns a
program into machine code, `str` prints it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from consilience.errors import MissingRuleError
from consilience.ir import Constant, Node, TupleType, constant, topological
from consilience.lower import fusion
from consilience.lower.forms import (
    IN_LOOPS,
    INVARIANT,
    LEAF,
    LOOP,
    READ,
    REDUCE,
    SCATTER,
    STEP,
    TUPLE,
    VIEW,
    Forms,
    available,
    decide,
    domain_of,
)
from consilience.lower.kernel_code import identity
from consilience.lower.repetition import loop, read_in_memory
from consilience.lower.routines import scratch
from consilience.lower.steps import (
    BranchStep,
    CallStep,
    Program,
    ScalarStep,
    Step,
    written,
)
from consilience.lower.views import IOTA, Storage, View, apply_view, broadcast, is_view, static, whole
from consilience.ops import (
    Cholesky,
    Concatenate,
    Cond,
    ExpandDims,
    Index,
    IndexUpdate,
    Iota,
    Item,
    Reshape,
    SolveTriangular,
    Squeeze,
)
from consilience.ops.loop import Scan

# Routines that turn one operand into the result, and which.
OVERWRITES: dict[type, int] = {Cholesky: 0, SolveTriangular: 1}
KEEPS_ORDER = (Reshape, ExpandDims, Squeeze)


class Lowering:
    """Builds one Program."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], data: Sequence[Node]) -> None:
        self.program = Program(list(inputs), list(outputs), list(data))
        self.buffers = self.program.buffers
        self.constant_numbers: dict[Node, int] = {}
        self.members: dict[Node, list[View]] = {}
        self.numbers: set[Node] = set()  # leaves of the bodies of loops that are in registers
        for place, leaves in (("inputs", inputs), ("constants", data)):
            for number, leaf in enumerate(leaves):
                shape = static(leaf.static_shape)
                self.buffers[leaf] = whole(Storage(place, number, leaf.dtype, math.prod(shape)), shape)

    # ---- storage

    def block(self, dtype: str, shape: tuple[int, ...]) -> View:
        """Fresh workspace memory."""
        storage = Storage("workspace", len(self.program.blocks), dtype, math.prod(shape))
        self.program.blocks.append(storage)
        return whole(storage, shape)

    def _constant(self, node: Node) -> View:
        assert isinstance(node.op, Constant)
        number = self.constant_numbers.setdefault(node, len(self.program.constants))
        if number == len(self.program.constants):
            self.program.constants.append(node.op.array)
        return whole(
            Storage("constants", len(self.program.data) + number, node.dtype, node.op.array.size), node.op.array.shape
        )

    # ---- the whole

    def run(self) -> Program:
        """Steps for all outputs."""
        outputs = self.program.outputs
        targets: dict[Node, View] = {}
        for number, output in enumerate(outputs):
            shape = static(output.static_shape)
            storage = Storage("outputs", number, output.dtype, math.prod(shape))
            targets.setdefault(output, whole(storage, shape))
        self.program.steps = self.steps(outputs, targets, given=dict(self.buffers))
        for number, output in enumerate(outputs):
            shape = static(output.static_shape)
            target = whole(Storage("outputs", number, output.dtype, math.prod(shape)), shape)
            first = targets[output]
            if not same_place(first, target):
                self.program.steps.append(fusion.copy(first, target, output.dtype))
        return self.program

    def steps(self, outputs: Sequence[Node], targets: dict[Node, View], given: dict[Node, View]) -> list[Step]:
        """Steps that compute the outputs into their targets; `given` values exist already."""
        order = topological(outputs, stop=given.__contains__)
        forms = decide(order, outputs, given, self.numbers)
        self._place(forms, targets, given)
        kept = self._kept_scalars(forms, targets, given)
        levels: list[list[Step]] = [[] for _ in range(max(forms.level.values(), default=0) + 2)]
        scalars: list[list[Node]] = [[] for _ in levels]
        keeps: list[list[Step]] = [[] for _ in levels]
        groups: list[dict[tuple[int, ...], list[Node]]] = [{} for _ in levels]
        for node in order:
            if node in given:
                continue
            level, form = forms.level[node], forms.form[node]
            if node in kept:
                self.buffers[node] = kept[node]
                keeps[available(forms, node)].append(written(node, kept[node]))
            if form == INVARIANT:
                scalars[level].append(node)
            elif form in IN_LOOPS:
                if form == SCATTER:
                    keeps[level] += self._laid_down(forms, node)
                if forms.form[node] == REDUCE and 0 in static(node.inputs[0].static_shape):
                    levels[level] += self._empty_reduction(forms, node)
                elif 0 not in domain_of(node):
                    groups[level].setdefault(domain_of(node), []).append(node)
            elif form in (STEP, TUPLE):
                levels[level] += self._own_step(forms, node)
            elif form in (LEAF, VIEW, READ):
                pass
            else:
                raise AssertionError(form)
        result: list[Step] = []
        for level, steps in enumerate(levels):
            if scalars[level]:
                result.append(ScalarStep(scalars[level]))
            result += keeps[level]
            for domain, nodes in groups[level].items():
                for part in fusion.parts(forms, nodes):
                    result.append(fusion.build(forms, self.buffer, part, domain))
            result += steps
        return result + self._deliver(forms, targets)

    # ---- places

    def _place(self, forms: Forms, targets: dict[Node, View], given: dict[Node, View]) -> None:
        """Memory for all stored values: in an output or a part of a join where possible, else a block."""
        placed: dict[Node, View] = {}
        for output, target in targets.items():
            self._offer(forms, placed, output, target, given)
        for node in reversed(forms.order):
            if isinstance(node.op, Concatenate) and node not in given:
                buffer = placed.setdefault(node, self.block(node.dtype, static(node.static_shape)))
                for operand, part in joined_parts(node, buffer):
                    if part.contiguous:
                        self._offer(forms, placed, operand, part, given)
        for node in forms.order:
            if node in given:
                continue
            form = forms.form[node]
            if node in forms.stored:
                place = placed.get(node) or self._overwritten(forms, placed, node, given)
                self.buffers[node] = place if place is not None else self.block(node.dtype, static(node.static_shape))
            elif form == TUPLE:
                self._tuple_buffers(forms, node)
            elif form == LEAF:
                self.buffers[node] = self._leaf_buffer(node)
            elif form == VIEW and not isinstance(node.op, Item):
                self._view_buffer(node)

    def _overwritten(self, forms: Forms, placed: dict[Node, View], node: Node, given: dict[Node, View]) -> View | None:
        """The memory of the operand that a routine may work in: nobody else reads it afterwards."""
        position = OVERWRITES.get(type(node.op))
        if position is None:
            return None
        operand = node.inputs[position]
        alone = forms.users.get(operand) == [node] and operand not in forms.wanted and operand not in given
        if not alone or forms.form[operand] not in (LOOP, STEP) or operand not in forms.stored:
            return None
        if isinstance(operand.op, Concatenate) and _parts_are_read(forms, placed, operand):
            return None
        buffer = self.buffers[operand]
        return buffer if buffer.storage.place == "workspace" and buffer.contiguous else None

    def _offer(self, forms: Forms, placed: dict[Node, View], node: Node, target: View, given: dict[Node, View]) -> None:
        """Let a value be made where it is needed, looking through views that keep the order of elements."""
        while isinstance(node.op, KEEPS_ORDER) and node not in given and forms.form.get(node) == VIEW:
            node = node.inputs[0]
        if node in given or node not in forms.stored or node in placed:
            return
        shape = static(node.static_shape)
        placed[node] = whole(target.storage, shape, target.offset)

    def _tuple_buffers(self, forms: Forms, node: Node) -> None:
        """Memory for every member of a tuple, used or not."""
        assert isinstance(node.type, TupleType)
        members = self.members[node] = [self.block(t.dtype, static(t.shape)) for t in node.type.items]
        for user in forms.users.get(node, []):
            if isinstance(user.op, Item):
                self.buffers[user] = members[user.op.position]

    def _leaf_buffer(self, node: Node) -> View:
        if isinstance(node.op, Constant):
            return self._constant(node)
        if isinstance(node.op, Iota):
            (length,) = static(node.static_shape)
            return View(IOTA, 0, (1,), (length,))
        raise MissingRuleError(f"no value is given for {node!r}.")

    def _view_buffer(self, node: Node) -> None:
        source = self.buffers[node.inputs[0]]
        view = apply_view(node, source)
        assert view is not None, f"{node!r} was decided to be a view"
        self.buffers[node] = view

    def buffer(self, node: Node) -> View | None:
        """Where a value lies, if it has a place in memory."""
        known = self.buffers.get(node)
        return self._constant(node) if known is None and isinstance(node.op, Constant) else known

    def _kept_scalars(self, forms: Forms, targets: dict[Node, View], given: dict[Node, View]) -> dict[Node, View]:
        """Copies in memory of the values in registers that some step reads from memory."""
        wanted: dict[Node, View] = {}
        for node in forms.order:
            if node in given:
                continue
            readers: list[Node] = []
            if forms.form[node] in (STEP, TUPLE) and not isinstance(node.op, Concatenate | Cond | Scan):
                readers = list(node.inputs)
                if isinstance(node.op, IndexUpdate) and forms.scalar_like(node.inputs[0]):
                    readers = readers[1:]
            elif isinstance(node.op, Cond):
                readers = list(node.inputs[1:])
            elif isinstance(node.op, Scan):
                readers = read_in_memory(node)
            elif isinstance(node.op, Index) and forms.form[node] in (LOOP, READ):
                readers = list(node.inputs[:1])
            for operand in readers:
                if operand not in given and forms.in_register(operand) and operand not in wanted:
                    wanted[operand] = self.block(operand.dtype, static(operand.static_shape))
        return wanted

    # ---- steps of their own

    def _empty_reduction(self, forms: Forms, node: Node) -> list[Step]:
        """A reduction over no elements is its neutral element."""
        neutral = constant(np.asarray(identity(node.op.kind, node.dtype)), node.dtype)  # type: ignore[attr-defined]  # Reduce
        if node in forms.stored:
            target = self.buffers[node]
            return [fusion.fill(neutral, target)] if target.size else []
        self.buffers[node] = broadcast(self._constant(neutral), static(node.static_shape))
        return []

    def _own_step(self, forms: Forms, node: Node) -> list[Step]:
        op = node.op
        if isinstance(op, Concatenate):
            return self._join(forms, node)
        if isinstance(op, IndexUpdate):
            return self._update(forms, node)
        if isinstance(op, Cond):
            return self._branch(forms, node)
        if isinstance(op, Scan):
            return loop(self, forms, node)
        if is_view(node):
            source = self.buffers[node.inputs[0]]
            target = self.buffers[node]
            flat = whole(target.storage, source.shape, target.offset)
            return [fusion.copy(source, flat, node.dtype)] if source.size else []
        if isinstance(node.type, TupleType):
            targets = self.members[node]
        else:
            targets = [self.buffers[node]]
        steps: list[Step] = []
        sources = [self._contiguous(operand, steps) for operand in node.inputs]
        if any(target.size for target in targets):
            own = [self.block(dtype, (length,)) for dtype, length in scratch(node)]
            steps.append(CallStep(node, sources, [*targets, *own]))
        return steps

    def _contiguous(self, node: Node, steps: list[Step]) -> View:
        """The value in row-major order, copied if it lies otherwise."""
        view = self.buffers[node]
        if view.contiguous or not view.size:
            return view
        target = self.block(node.dtype, view.shape)
        steps.append(fusion.copy(view, target, node.dtype))
        return target

    def _join(self, forms: Forms, node: Node) -> list[Step]:
        steps: list[Step] = []
        for operand, part in joined_parts(node, self.buffers[node]):
            if not part.size:
                continue
            if forms.scalar_like(operand):
                steps.append(written(operand, part))
                continue
            source = self.buffers[operand]
            if not same_place(source, part):
                steps.append(fusion.copy(source, part, node.dtype))
        return steps

    def _laid_down(self, forms: Forms, node: Node) -> list[Step]:
        """The elements of before, of which an update changes some."""
        base, target = node.inputs[0], self.buffers[node]
        if not target.size:
            return []
        if forms.scalar_like(base):
            return [fusion.fill(base, target)]
        return [fusion.copy(self.buffers[base], target, node.dtype)]

    def _update(self, forms: Forms, node: Node) -> list[Step]:
        """A changed copy: first the old elements, then the new ones."""
        op = node.op
        assert isinstance(op, IndexUpdate)
        base, values = node.inputs
        steps = self._laid_down(forms, node)
        if not steps or not math.prod(static(values.static_shape)):
            return steps
        part = apply_view(Node(Index(op.specification), base), self.buffers[node])
        assert part is not None
        if forms.form.get(values) == INVARIANT and op.mode == "set":
            steps.append(fusion.fill(values, part))
        else:
            transfer = fusion.copy if op.mode == "set" else fusion.accumulate
            steps.append(transfer(self.buffers[values], part, node.dtype))
        return steps

    def _branch(self, forms: Forms, node: Node) -> list[Step]:
        op = node.op
        assert isinstance(op, Cond)
        assert isinstance(node.type, TupleType)
        condition, *operands = node.inputs
        results = self.members[node]
        given = {operand: self.buffers[operand] for operand in operands}
        branches: list[list[Step]] = []
        inner: list[dict[Node, View]] = []
        for region in (op.then, op.otherwise):
            outputs = region.apply(*operands)
            targets: dict[Node, View] = {}
            extra: list[Step] = []
            for output, target in zip(outputs, results, strict=True):
                if output in targets:
                    extra.append(fusion.copy(targets[output], target, output.dtype))
                targets.setdefault(output, target)
            steps, own = self.inside(outputs, targets, given)
            branches.append(steps + extra)
            inner.append(own)
        return [BranchStep(condition, branches[0], branches[1], (inner[0], inner[1]))]

    def inside(
        self, outputs: Sequence[Node], targets: dict[Node, View], given: dict[Node, View]
    ) -> tuple[list[Step], dict[Node, View]]:
        """Steps of a region, and the buffers that live only there."""
        outer, members = dict(self.buffers), dict(self.members)
        self.buffers.update(given)
        steps = self.steps(outputs, targets, given)
        own = {n: view for n, view in self.buffers.items() if outer.get(n) is not view}
        self.members = members
        self.buffers.clear()
        self.buffers.update(outer)
        return steps, own

    def _deliver(self, forms: Forms, targets: dict[Node, View]) -> list[Step]:
        """Outputs that were not made in place are copied."""
        steps: list[Step] = []
        for output, target in targets.items():
            if not target.size:
                continue
            if forms.scalar_like(output):
                steps.append(written(output, target))
                continue
            buffer = self.buffers[output]
            if not same_place(buffer, target):
                steps.append(fusion.copy(buffer, target, output.dtype))
        return steps


def same_place(one: View, other: View) -> bool:
    """Whether two views of equal size hold the same elements in the same order."""
    return (one.storage, one.offset) == (other.storage, other.offset) and one.contiguous and other.contiguous


def joined_parts(node: Node, buffer: View) -> list[tuple[Node, View]]:
    """Every operand of a join with the part of the result it fills."""
    assert isinstance(node.op, Concatenate)
    axis = node.op.axis
    parts = []
    start = 0
    for operand in node.inputs:
        shape = static(operand.static_shape)
        parts.append(
            (operand, View(buffer.storage, buffer.offset + start * buffer.strides[axis], buffer.strides, shape))
        )
        start += shape[axis]
    return parts


def lower(inputs: Sequence[Node], outputs: Sequence[Node], data: Sequence[Node] = ()) -> Program:
    """The program of a static, expanded graph; `data` leaves are bound to arrays after compilation."""
    return Lowering(inputs, outputs, data).run()


def _parts_are_read(forms: Forms, placed: Mapping[Node, View], join: Node) -> bool:
    """Whether a part of a join that is made in its memory is read from there by others, too."""
    for operand in join.inputs:
        node, user = operand, join
        read = False
        while True:
            read = read or node in forms.wanted or any(other is not user for other in forms.users.get(node, ()))
            if not (isinstance(node.op, KEEPS_ORDER) and forms.form.get(node) == VIEW):
                break
            user, node = node, node.inputs[0]
        inner = isinstance(node.op, Concatenate)
        if node in placed and (read or (inner and _parts_are_read(forms, placed, node))):
            return True
    return False
