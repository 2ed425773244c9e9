"""Checks that a lowered program reads nothing before it is made, in registers and in every byte of the workspace.

A Program in; AssertionError with the step and the value at fault. It walks the steps as the machine does, with a
tag per byte of the arena that names the block last written there, so it checks forms, places and plan together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from consilience.ir import Node, constant_value, numpy_dtype
from consilience.lower.fusion import KernelStep
from consilience.lower.kernel_code import initialise
from consilience.lower.loop_kernel import LoopKernel, StoreRoot
from consilience.lower.plan import plan
from consilience.lower.steps import (
    BranchStep,
    CallStep,
    KeepStep,
    LoopStep,
    Program,
    ScalarStep,
    Step,
)
from consilience.lower.views import Storage, View, static
from consilience.ops import Index

# Bytes of workspace up to which a program is walked: a tag is kept for each.
MOST_BYTES = 1 << 26

Places = npt.NDArray[np.int64]


def reached(offset: int, strides: Sequence[int], shape: Sequence[int]) -> Places:
    """Offsets of all elements of a view."""
    places = np.array([offset], np.int64)
    for stride, length in zip(strides, shape, strict=True):
        if stride and length != 1:
            places = (places[:, None] + stride * np.arange(length)).ravel()
        elif not length:
            return places[:0]
    return places


class _Machine:
    """What is known to be made at one moment."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.offsets, arena = plan(program)
        self.tags = np.full(arena, -1, np.int64)
        self.written: dict[int, npt.NDArray[np.bool_]] = {
            i: np.zeros(math.prod(static(o.static_shape)), bool) for i, o in enumerate(program.outputs)
        }
        self.registers: set[Node] = set()
        # Of a loop at one step: what stands for an element and where it lies; blocks that have changed places.
        self.elements: dict[Storage, tuple[Storage, int]] = {}
        self.exchanged: dict[Storage, Storage] = {}

    def copy(self) -> _Machine:
        other = object.__new__(_Machine)
        other.program, other.offsets = self.program, self.offsets
        other.tags = self.tags.copy()
        other.written = {i: flags.copy() for i, flags in self.written.items()}
        other.registers = set(self.registers)
        other.elements, other.exchanged = dict(self.elements), dict(self.exchanged)
        return other

    def actual(self, storage: Storage, places: Places) -> tuple[Storage, Places]:
        """Where elements of loops and exchanged blocks lie now."""
        while storage in self.elements:
            storage, start = self.elements[storage]
            places = places + start
        return self.exchanged.get(storage, storage), places

    def bytes_of(self, storage: Storage, places: Places) -> Places:
        size = numpy_dtype(storage.dtype).itemsize
        return (self.offsets[storage.number] + places[:, None] * size + np.arange(size)).ravel()

    def read(self, storage: Storage, places: Places, what: object) -> None:
        storage, places = self.actual(storage, places)
        if storage.place == "iota" or not places.size:
            return
        assert places.min() >= 0, f"{what} reads before the beginning of {storage}"
        assert places.max() < storage.size, f"{what} reads behind the end of {storage}"
        if storage.place == "workspace":
            made = self.tags[self.bytes_of(storage, places)] == storage.number
            assert made.all(), f"{what} reads {storage} before it is made, or after it was overwritten"
        elif storage.place == "outputs":
            assert self.written[storage.number][places].all(), f"{what} reads {storage} before it is made"

    def write(self, storage: Storage, places: Places, what: object) -> None:
        storage, places = self.actual(storage, places)
        if not places.size:
            return
        assert storage.place in ("workspace", "outputs"), f"{what} writes to {storage}"
        assert places.min() >= 0, f"{what} writes before the beginning of {storage}"
        assert places.max() < storage.size, f"{what} writes behind the end of {storage}"
        if storage.place == "workspace":
            self.tags[self.bytes_of(storage, places)] = storage.number
        else:
            self.written[storage.number][places] = True

    def view(self, view: View) -> tuple[Storage, Places]:
        return view.storage, reached(view.offset, view.strides, view.shape)


def verify(program: Program) -> Program:
    """The program itself, if every value it reads has been made; programs of much memory are not walked."""
    if plan(program)[1] > MOST_BYTES:
        return program
    machine = _Machine(program)
    _run(machine, program.steps, program.buffers)
    for number, flags in machine.written.items():
        assert flags.all(), f"output {number} is not written whole by\n{program}"
    return program


def _run(machine: _Machine, steps: Sequence[Step], buffers: Mapping[Node, View]) -> None:
    for step in steps:
        if isinstance(step, ScalarStep):
            for node in step.nodes:
                _scalar_node(machine, node, buffers)
                machine.registers.add(node)
        elif isinstance(step, KeepStep):
            _scalar(machine, step.node, buffers)
            machine.write(*machine.view(step.target), step)
        elif isinstance(step, KernelStep):
            _kernel(machine, step, buffers)
        elif isinstance(step, CallStep):
            for source in step.sources:
                machine.read(*machine.view(source), step.node)
            for target in step.targets:
                machine.write(*machine.view(target), step.node)
        elif isinstance(step, LoopStep):
            _loop(machine, step, buffers)
        else:
            _branch(machine, step, buffers)


def _scalar(machine: _Machine, node: Node, buffers: Mapping[Node, View]) -> None:
    known = constant_value(node)
    if node in machine.registers or (known is not None and known.size == 1):
        return
    assert node in buffers, f"{node!r} is read as a scalar and lies nowhere"
    buffer = buffers[node]
    machine.read(buffer.storage, np.array([buffer.offset]), node)


def _scalar_node(machine: _Machine, node: Node, buffers: Mapping[Node, View]) -> None:
    operands = list(node.inputs)
    if isinstance(node.op, Index) and len(operands) > 1 and operands[0] not in machine.registers:
        source = operands.pop(0)
        machine.read(*machine.view(buffers[source]), node)
    for operand in operands:
        _scalar(machine, operand, buffers)


def _accesses(kernel: LoopKernel) -> Iterator[tuple[int, Places]]:
    """What the leaves and gathers of a kernel may read: memory number, places."""
    for leaf in kernel.leaves:
        if leaf.memory >= 0:
            yield leaf.memory, reached(0, leaf.strides, kernel.domain)
    for step in kernel.body:
        if step.function == "gather" and step.detail[0] != -1:
            memory, strides, axes = step.detail
            assert isinstance(memory, int)
            assert isinstance(strides, tuple)
            assert isinstance(axes, tuple)
            kind, number = step.operands[0]
            if kind == "body" and kernel.body[number].detail[:1] == (-1,):  # places found outside the loop over rows
                yield memory, _places(kernel, number, strides)
                continue
            lengths, steps = [n for n, _, _ in axes], [s for _, s, _ in axes]
            yield memory, reached(0, (*strides, *steps), (*kernel.domain, *lengths))
    if kernel.borders >= 0:
        yield kernel.borders, np.arange(kernel.domain[0] + 1)


def _places(kernel: LoopKernel, number: int, strides: Sequence[int]) -> Places:
    """Offsets that index arrays may give, with affine strides."""
    axes = kernel.body[number].detail[2]
    assert isinstance(axes, tuple)
    return reached(0, (*strides, *(s for _, s, _ in axes)), (*kernel.domain, *(n for n, _, _ in axes)))


def _kernel(machine: _Machine, step: KernelStep, buffers: Mapping[Node, View]) -> None:
    kernel = step.kernel
    if 0 in kernel.domain:
        return
    for node in step.invariants:
        _scalar(machine, node, buffers)
    for root, _ in initialise(kernel):
        view = step.memories[root.memory]
        machine.write(view.storage, view.offset + reached(0, root.strides, kernel.domain), step)
    read: list[Places] = []
    for memory, places in _accesses(kernel):
        view = step.memories[memory]
        machine.read(view.storage, view.offset + places, step)
        if view.storage.place == "workspace":
            read.append(machine.bytes_of(view.storage, view.offset + places))
    for root in kernel.roots:
        if isinstance(root, StoreRoot) or root.memory >= 0:
            view = step.memories[root.memory]
            places = view.offset + reached(0, root.strides, kernel.domain)
            if isinstance(root, StoreRoot) and root.place is not None:
                places = view.offset + _places(kernel, root.place[1], root.strides)
            if isinstance(root, StoreRoot) and (root.mode == "add" or root.place is not None):
                machine.read(view.storage, places, step)
            elif view.storage.place == "workspace" and isinstance(root, StoreRoot):
                target = machine.bytes_of(view.storage, places)
                assert not any(np.isin(target, places).any() for places in read), (
                    f"a loop writes what it reads:\n{step}"
                )
            machine.write(view.storage, places, step)
    machine.registers.update(step.results)


def _loop(machine: _Machine, step: LoopStep, buffers: Mapping[Node, View]) -> None:
    """The first and the last step, between which blocks of carried tensors have changed places."""
    _scalar(machine, step.limit, buffers)
    for number in step.numbers:
        _scalar(machine, number.initial, buffers)
    lengths = [element.whole.shape[0] for element in step.elements]
    before = dict(machine.elements), dict(machine.exchanged), set(machine.registers)
    for place in () if 0 in lengths else (0, -1):
        for element in step.elements:
            whole = element.whole
            start = whole.offset + (whole.shape[0] - 1 if place else 0) * whole.strides[0]
            if whole.storage.place != "iota":
                machine.elements[element.inside.storage] = (whole.storage, start)
            elif element.leaf is not None:
                machine.registers.add(element.leaf)
            if element.home is not None:
                machine.write(*machine.view(element.home), step)
        for number in step.numbers:
            machine.registers.add(number.leaf)
            if number.home is not None:
                machine.write(*machine.view(number.home), step)
        for tensor in step.tensors:
            machine.read(*machine.view(tensor.current), step)
        inside = {**buffers, **step.buffers}
        _run(machine, step.body, inside)
        for node in [*(n.following for n in step.numbers), *([] if step.stop is None else [step.stop])]:
            _scalar(machine, node, inside)
        for tensor in step.tensors:
            machine.read(*machine.view(tensor.following), step)
            one, other = tensor.current.storage, tensor.following.storage
            machine.exchanged[one] = other if place == 0 else one
            machine.exchanged[other] = one if place == 0 else other
    machine.elements, machine.exchanged, machine.registers = before
    for element in step.elements:
        if element.leaf is None:
            machine.write(*machine.view(element.whole), step)
    for last in [step.count, *(n.last for n in step.numbers), *(t.last for t in step.tensors)]:
        machine.write(*machine.view(last), step)


def _branch(machine: _Machine, step: BranchStep, buffers: Mapping[Node, View]) -> None:
    _scalar(machine, step.condition, buffers)
    ends = []
    for steps, own in step.branches:
        inside = machine.copy()
        _run(inside, steps, {**buffers, **own})
        ends.append(inside)
    one, other = ends
    machine.tags = np.where(one.tags == other.tags, one.tags, -1)
    machine.written = {i: flags & other.written[i] for i, flags in one.written.items()}
