"""Loops of a graph as steps: what is carried, which elements are read and written, and the body's own steps.

Numbers are carried in registers, tensors in two blocks that change places; sequences and traces are addressed anew in
every step and never copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from consilience.ir import Node, constant, constant_value, tensor_input
from consilience.lower import fusion
from consilience.lower.forms import Forms
from consilience.lower.fusion import KernelStep
from consilience.lower.steps import (
    CallStep,
    CarriedScalar,
    CarriedTensor,
    Element,
    LoopStep,
    Step,
    inner_steps,
    written,
)
from consilience.lower.views import IOTA, Storage, View, static, whole
from consilience.ops.loop import UNBOUNDED, LoopParts, parts

if TYPE_CHECKING:
    from consilience.lower.program import Lowering


def read_in_memory(node: Node) -> list[Node]:
    """Operands of a loop that have to lie in memory: sequences, and what the body may read there."""
    of = parts(node)
    return [*of.sequences, *of.constants]


def loop(lowering: Lowering, forms: Forms, node: Node) -> list[Step]:
    """The steps of a loop: initial values are laid down, then the body is repeated."""
    of = parts(node)
    op = of.op
    count, *members = lowering.members[node]
    lasts, traces = members[: op.carried], members[op.carried :]
    leaves = [tensor_input(p.dtype, p.static_shape) for p in (*of.carries, *of.heads)]
    carries, heads = leaves[: op.carried], leaves[op.carried :]
    body = op.body.apply(*leaves, *of.constants)
    nexts, written_elements = body[: op.carried], body[op.carried : op.carried + op.traces]
    before: list[Step] = []
    given = {operand: lowering.buffers[operand] for operand in of.constants}

    numbers: list[CarriedScalar] = []
    tensors: list[CarriedTensor] = []
    targets: dict[Node, View] = {}
    again: list[tuple[Node, View]] = []
    for leaf, initial, following, last in zip(carries, of.initial, nexts, lasts, strict=True):
        place = given[leaf] = lowering.block(leaf.dtype, last.shape)
        if last.size == 1:
            numbers.append(CarriedScalar(leaf, place, initial, following, last))
        elif last.size:
            target = lowering.block(leaf.dtype, last.shape)
            tensors.append(CarriedTensor(leaf, place, target, last))
            before.append(_laid_down(lowering, forms, initial, place))
            _aim(targets, again, following, target)
    elements: list[Element] = []
    for head, sequence in zip(heads, of.sequences, strict=True):
        elements.append(_read(lowering, head, lowering.buffers[sequence]))
        given[head] = elements[-1].home or elements[-1].inside
    for element, trace in zip(written_elements, traces, strict=True):
        if trace.size:
            inside = whole(_element_storage(lowering, trace), trace.shape[1:])
            elements.append(Element(None, inside, trace))
            _aim(targets, again, element, inside)
    if _may_end_early(of):
        before += [fusion.fill(constant(0, t.storage.dtype), t) for t in traces if t.size]

    lowering.numbers.update(number.leaf for number in numbers)
    lowering.numbers.update(
        element.leaf for element in elements if element.home is not None and element.leaf is not None
    )
    steps, own = lowering.inside(body, targets, given)
    for node_again, target in again:
        if node_again in own or node_again in given:
            source = own.get(node_again, given.get(node_again))
            assert source is not None
            steps.append(
                fusion.copy(source, target, node_again.dtype) if target.size > 1 else written(node_again, target)
            )
        else:
            steps.append(written(node_again, target))
    touched = set(_storages(steps))
    return [
        *before,
        LoopStep(
            node=node,
            limit=of.limit,
            count=count,
            stop=body[-1] if op.until else None,
            reverse=op.reverse,
            endless=op.length == UNBOUNDED,
            numbers=[_settled(n, touched) for n in numbers],
            tensors=tensors,
            elements=[e if e.home is None or e.home.storage in touched else _homeless(e) for e in elements],
            body=steps,
            buffers=own,
        ),
    ]


def _aim(targets: dict[Node, View], again: list[tuple[Node, View]], value: Node, target: View) -> None:
    """Let a value be made at its target; further targets of one value are copies."""
    if value in targets:
        again.append((value, target))
    else:
        targets[value] = target


def _laid_down(lowering: Lowering, forms: Forms, initial: Node, place: View) -> Step:
    if forms.scalar_like(initial):
        return fusion.fill(initial, place)
    return fusion.copy(lowering.buffers[initial], place, initial.dtype)


def _read(lowering: Lowering, head: Node, sequence: View) -> Element:
    """The element that a step reads of a sequence."""
    if sequence.storage is IOTA:
        return Element(head, View(IOTA, 0, (), ()), sequence, lowering.block("int64", ()))
    shape = static(head.static_shape)
    return Element(head, View(_element_storage(lowering, sequence), 0, sequence.strides[1:], shape), sequence)


def _element_storage(lowering: Lowering, of: View) -> Storage:
    """A storage of its own for one element."""
    program = lowering.program
    program.elements += 1
    span = 1 + sum(abs(s) * (n - 1) for s, n in zip(of.strides[1:], of.shape[1:], strict=True) if n)
    return Storage("element", program.elements, of.storage.dtype, max(span, math.prod(of.shape[1:])))


def _may_end_early(of: LoopParts) -> bool:
    """Whether a loop may do fewer steps than its traces have places."""
    known = constant_value(of.limit)
    return of.op.until or known is None or int(known) != of.op.length


def _storages(steps: Iterable[Step]) -> Iterator[Storage]:
    """Blocks that steps read or write in memory, not as numbers in registers."""
    for step in steps:
        views: list[View] = []
        if isinstance(step, KernelStep):
            views = step.memories
        elif isinstance(step, CallStep):
            views = [*step.sources, *step.targets]
        elif isinstance(step, LoopStep):
            views = [element.whole for element in step.elements]
        for view in views:
            yield view.storage
        for inner, _ in inner_steps(step):
            yield from _storages(inner)


def _settled(number: CarriedScalar, touched: set[Storage]) -> CarriedScalar:
    """With its place in memory only if a step reads it there."""
    if number.home is not None and number.home.storage in touched:
        return number
    return CarriedScalar(number.leaf, None, number.initial, number.following, number.last)


def _homeless(element: Element) -> Element:
    return Element(element.leaf, element.inside, element.whole)
