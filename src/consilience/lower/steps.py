"""Programs: steps over buffers, in order, and how they are written for reading.

`program` makes them of graphs, `plan` gives their blocks places in memory, `entry` makes machine code of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from consilience.ir import Constant, Node
from consilience.lower import fusion
from consilience.lower.fusion import KernelStep
from consilience.lower.views import Storage, View
from consilience.record import Record

Array: TypeAlias = npt.NDArray[Any]


class ScalarStep(Record):
    """Scalars to compute, in order; each ends in a register."""

    nodes: list[Node]


class KeepStep(Record):
    """A scalar written to memory."""

    node: Node
    target: View


class CallStep(Record):
    """An op done by a routine of its own (`routines`): sources and targets are contiguous views."""

    node: Node
    sources: list[View]
    targets: list[View]


class BranchStep(Record):
    """One of two step lists, chosen by a scalar.

    `buffers`: places of the values that live inside one branch only, for each of the two.
    """

    condition: Node
    then: list[Step]
    otherwise: list[Step]
    buffers: tuple[dict[Node, View], dict[Node, View]]

    @property
    def branches(self) -> tuple[tuple[list[Step], dict[Node, View]], ...]:
        """Steps and buffers of both branches."""
        return ((self.then, self.buffers[0]), (self.otherwise, self.buffers[1]))


class CarriedScalar(Record):
    """A number carried from step to step in a register.

    `leaf`: what the body reads.
    `home`: its copy in memory, for steps that read it there; None where there are none.
    `initial`: the number before the first step.
    `following`: the number after a step.
    `last`: where it lies after the loop.
    """

    leaf: Node
    home: View | None
    initial: Node
    following: Node
    last: View


class CarriedTensor(Record):
    """A tensor carried from step to step in two blocks of memory that change places.

    `leaf`: what the body reads, and where it lies before the loop; `current` is filled by an earlier step. `current`:
    what the body reads, and where it lies before the loop; `current` is filled by an earlier step. `following`: where
    the body writes the next one. `last`: where it lies after the loop.
    """

    leaf: Node
    current: View
    following: View
    last: View


class Element(Record):
    """One element, along the first axis, of what is read or written from step to step.

    `leaf`: what the body reads; None for what it writes.
    `inside`: its view inside the body, whose storage stands for the element.
    `whole`: all elements.
    `home`: a copy in memory of a number that has no place (of an iota), where steps read it there.
    """

    leaf: Node | None
    inside: View
    whole: View
    home: View | None = None


class LoopStep(Record):
    """A list of steps, repeated.

    `limit`: number of repetitions at most, int64.
    `count`: where the number of repetitions is written.
    `stop`: bool that ends the loop after its step, if any.
    `reverse`: repetition i reads and writes element `limit - 1 - i`.
    `endless`: whether nothing but its condition ends the loop.
    `buffers`: places of the values that live inside the body only.
    """

    node: Node
    limit: Node
    count: View
    stop: Node | None
    reverse: bool
    endless: bool
    numbers: list[CarriedScalar]
    tensors: list[CarriedTensor]
    elements: list[Element]
    body: list[Step]
    buffers: dict[Node, View]


Step: TypeAlias = "ScalarStep | KeepStep | KernelStep | CallStep | BranchStep | LoopStep"


def inner_steps(step: Step) -> Iterator[tuple[list[Step], dict[Node, View]]]:
    """Lists of steps inside a step, with the buffers known there only."""
    if isinstance(step, BranchStep):
        yield from step.branches
    elif isinstance(step, LoopStep):
        yield step.body, step.buffers


def written(scalar: Node, target: View) -> Step:
    """A scalar, or one number repeated, written to memory."""
    return KeepStep(scalar, target) if target.size == 1 else fusion.fill(scalar, target)


class Program:
    """Everything `entry` needs.

    `inputs`: leaves in the order of the inputs table. `data`: leaves whose arrays come first in the constants table,
    bound later. `constants`: arrays of the constants table, after those of the data. `blocks`: workspace blocks
    (`Storage.number` counts them); `plan` gives them places.
    """

    def __init__(self, inputs: list[Node], outputs: list[Node], data: list[Node]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.data = data
        self.constants: list[Array] = []
        self.blocks: list[Storage] = []
        self.steps: list[Step] = []
        self.elements = 0  # storages that stand for one element of a sequence or trace
        self.buffers: dict[Node, View] = {}

    def __str__(self) -> str:
        return "\n".join(_Printer(self).lines(self.steps, ""))


class _Printer:
    """Writes a program with a number for every scalar."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.numbers: dict[Node, int] = {}
        self.elements: dict[Node, View] = {}  # what stands for an element of a sequence

    def scalar(self, node: Node) -> str:
        if node in self.numbers:
            return f"s{self.numbers[node]}"
        if isinstance(node.op, Constant) and node.op.array.size == 1:
            return repr(node.op.array.item())
        buffer = self.program.buffers.get(node, self.elements.get(node))
        return repr(buffer) if buffer is not None else repr(node)

    def lines(self, steps: Sequence[Step], indent: str) -> list[str]:
        lines: list[str] = []
        for step in steps:
            if isinstance(step, ScalarStep):
                for node in step.nodes:
                    operands = ", ".join(self.scalar(i) for i in node.inputs)
                    self.numbers[node] = len(self.numbers)
                    lines.append(f"{indent}s{self.numbers[node]} = {node.op!r}({operands})")
            elif isinstance(step, KeepStep):
                lines.append(f"{indent}{step.target!r} = {self.scalar(step.node)}")
            elif isinstance(step, KernelStep):
                where = [f"memory {i}: {view!r}" for i, view in enumerate(step.memories)]
                where += [f"invariant {i}: {self.scalar(node)}" for i, node in enumerate(step.invariants)]
                for node in step.results:
                    self.numbers[node] = len(self.numbers)
                results = [f"results: {', '.join(f's{self.numbers[n]}' for n in step.results)}"] if step.results else []
                lines += [indent + line for line in str(step.kernel).split("\n")]
                lines.append(f"{indent}  with {'; '.join(where + results)}")
            elif isinstance(step, CallStep):
                lines.append(f"{indent}{step.targets} = {step.node.op!r}{step.sources}")
            elif isinstance(step, LoopStep):
                lines += self.loop(step, indent)
            else:
                lines.append(f"{indent}if {self.scalar(step.condition)}:")
                lines += self.lines(step.then, indent + "  ")
                lines.append(f"{indent}else:")
                lines += self.lines(step.otherwise, indent + "  ")
        return lines

    def loop(self, step: LoopStep, indent: str) -> list[str]:
        """A loop: its head, what is carried, its body."""
        lines = [f"{indent}repeat at most {self.scalar(step.limit)} times{', in reverse' * step.reverse}:"]
        for element in step.elements:
            kind = "reads" if element.leaf is not None else "writes"
            if element.leaf is not None:
                self.elements[element.leaf] = element.inside
            lines.append(f"{indent}  {kind} {element.inside!r} of {element.whole!r}")
        for number in step.numbers:
            name = self.numbers[number.leaf] = len(self.numbers)
            lines.append(f"{indent}  carries s{name}, at first {self.scalar(number.initial)}")
        lines += [f"{indent}  carries {t.current!r}, next {t.following!r}" for t in step.tensors]
        lines += self.lines(step.body, indent + "  ")
        for number in step.numbers:
            lines.append(f"{indent}  next s{self.numbers[number.leaf]} = {self.scalar(number.following)}")
        if step.stop is not None:
            lines.append(f"{indent}  until {self.scalar(step.stop)}")
        return lines
