"""Large programs in parts of bounded size, one function each: code generation stays linear in their length.

Steps in; lists of steps out, and the scalars that one part computes and another reads, with a slot in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.ir import Node
from consilience.lower.fusion import KernelStep
from consilience.lower.plan import scalars
from consilience.lower.steps import LoopStep, ScalarStep, Step, inner_steps

# Scalars, or as many instructions as some, of one part. A loop counts as several.
PART = 256
LOOP_WEIGHT = 8


def scalars_read(step: Step) -> Iterator[Node]:
    """Nodes whose value a step reads as a scalar, those inside branches and loops included."""
    yield from scalars(step)
    for steps, _ in inner_steps(step):
        for inner in steps:
            yield from scalars_read(inner)
    if isinstance(step, LoopStep):
        yield from (number.following for number in step.numbers)


def scalars_made(step: Step) -> Sequence[Node]:
    """Nodes that are in registers after a step."""
    if isinstance(step, ScalarStep):
        return step.nodes
    return step.results if isinstance(step, KernelStep) else ()


def cut(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps in parts of bounded weight; long lists of scalars are cut too."""
    parts: list[list[Step]] = [[]]
    load = 0
    for step in steps:
        pieces: list[Step] = [step]
        if isinstance(step, ScalarStep) and len(step.nodes) > PART:
            pieces = [ScalarStep(step.nodes[i : i + PART]) for i in range(0, len(step.nodes), PART)]
        for piece in pieces:
            weight = len(piece.nodes) if isinstance(piece, ScalarStep) else LOOP_WEIGHT
            if load and load + weight > PART:
                parts.append([])
                load = 0
            parts[-1].append(piece)
            load += weight
    return parts


def crossing(parts: Sequence[Sequence[Step]]) -> dict[Node, int]:
    """Scalars read in a later part than the one that makes them: node -> number of its slot."""
    made: dict[Node, int] = {}
    slots: dict[Node, int] = {}
    for number, part in enumerate(parts):
        for step in part:
            for node in scalars_read(step):
                if made.get(node, number) != number:
                    slots.setdefault(node, len(slots))
            made.update(dict.fromkeys(scalars_made(step), number))
    return slots
