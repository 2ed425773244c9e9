"""Where each workspace block lies: blocks whose lives do not overlap share memory.

A program in, a byte offset per block and the size of the arena out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from consilience.ir import Node, numpy_dtype
from consilience.lower.fusion import KernelStep
from consilience.lower.steps import (
    BranchStep,
    CallStep,
    KeepStep,
    LoopStep,
    Program,
    ScalarStep,
    Step,
    inner_steps,
)
from consilience.lower.views import Storage, View

# Blocks start on cache lines; the slack lets a vector read past the end of a block.
ALIGNMENT = 64


def views_of(step: Step, buffers: Mapping[Node, View]) -> Iterator[View]:
    """Every view a step reads or writes; scalars that may come from memory included."""
    for node in scalars(step):
        view = buffers.get(node)
        if view is not None:
            yield view
    if isinstance(step, KernelStep):
        yield from step.memories
    elif isinstance(step, KeepStep):
        yield step.target
    elif isinstance(step, CallStep):
        yield from step.sources
        yield from step.targets
    elif isinstance(step, LoopStep):
        yield step.count
        for number in step.numbers:
            yield number.last
            if number.home is not None:
                yield number.home
        for tensor in step.tensors:
            yield from (tensor.current, tensor.following, tensor.last)
        for element in step.elements:
            yield element.whole
            if element.home is not None:
                yield element.home
    for steps, own in inner_steps(step):
        inside = {**buffers, **own}
        for inner in steps:
            yield from views_of(inner, inside)
        if isinstance(step, LoopStep):
            ends = [n.following for n in step.numbers] + ([step.stop] if step.stop is not None else [])
            yield from (inside[node] for node in ends if node in inside)


def scalars(step: Step) -> Iterator[Node]:
    """Nodes whose value a step reads as a scalar."""
    if isinstance(step, ScalarStep):
        for node in step.nodes:
            yield from node.inputs
    elif isinstance(step, KeepStep):
        yield step.node
    elif isinstance(step, KernelStep):
        yield from step.invariants
    elif isinstance(step, BranchStep):
        yield step.condition
    elif isinstance(step, LoopStep):
        yield step.limit
        for number in step.numbers:
            yield number.initial


def size_in_bytes(block: Storage) -> int:
    """Bytes a block takes in the arena."""
    raw = block.size * numpy_dtype(block.dtype).itemsize
    return max(ALIGNMENT, -(-raw // ALIGNMENT) * ALIGNMENT)


def lives(program: Program) -> dict[int, tuple[int, int]]:
    """First and last step that touch each block."""
    found: dict[int, tuple[int, int]] = {}

    def touch(view: View, position: int) -> None:
        if view.storage.place == "workspace":
            first, _ = found.get(view.storage.number, (position, position))
            found[view.storage.number] = (first, position)

    for position, step in enumerate(program.steps):
        for view in views_of(step, program.buffers):
            touch(view, position)
    return found


def plan(program: Program) -> tuple[list[int], int]:
    """Byte offset of every block, and the bytes of the whole arena.

    Blocks are placed in order of their first use, each in the smallest free gap that holds it.
    """
    offsets = [0] * len(program.blocks)
    spans = lives(program)
    gaps: list[tuple[int, int]] = []  # (start, end), sorted, below the top
    top = 0
    endings: dict[int, list[int]] = {}
    for number, (_, last) in spans.items():
        endings.setdefault(last, []).append(number)
    starting: dict[int, list[int]] = {}
    for number, (first, _) in spans.items():
        starting.setdefault(first, []).append(number)
    for position in range(len(program.steps)):
        for number in starting.get(position, ()):
            size = size_in_bytes(program.blocks[number])
            best = _best_gap(gaps, size)
            if best is None:
                offsets[number] = top
                top += size
            else:
                start, end = gaps.pop(best)
                offsets[number] = start
                if start + size < end:
                    gaps.insert(best, (start + size, end))
        for number in endings.get(position, ()):
            start = offsets[number]
            gaps = _merged([*gaps, (start, start + size_in_bytes(program.blocks[number]))])
    return offsets, top


def _best_gap(gaps: Sequence[tuple[int, int]], size: int) -> int | None:
    fitting = [(end - start, i) for i, (start, end) in enumerate(gaps) if end - start >= size]
    return min(fitting)[1] if fitting else None


def _merged(gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    gaps.sort()
    result: list[tuple[int, int]] = []
    for start, end in gaps:
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result
