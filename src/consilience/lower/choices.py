"""Dear values that are computed only where an element of a vector takes them.

In: the loop of a kernel. Out: for a `where`, the instructions that nothing but one of its sides needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.analysis.operations import per_element
from consilience.lower.loop_kernel import LoopKernel, StoreRoot

# Additions that a side must cost: less is computed sooner than asked for.
DEAR = 80.0

Sides = tuple[tuple[int, ...], tuple[int, ...]]


def sides_of_choices(kernel: LoopKernel, depths: Sequence[int], depth: int) -> dict[int, Sides]:
    """By the number of a choice, what its second and its third operand alone need, if that is dear; else nothing.

    `depths`: of how many axes each instruction is; those of fewer than `depth` are computed outside the loop.
    """
    users: list[set[tuple[int, int]]] = [set() for _ in kernel.body]  # an instruction, and which operand of it
    for n, step in enumerate(kernel.body):
        for place, (kind, operand) in enumerate(step.operands):
            if kind == "body":
                users[operand].add((n, place))
    for root in kernel.roots:
        for read in (root.value, root.place if isinstance(root, StoreRoot) else None):
            if read is not None and read[0] == "body":
                users[read[1]].add((-1, 0))
    found: dict[int, Sides] = {}
    taken: set[int] = set()
    for n in reversed(range(len(kernel.body))):
        if kernel.body[n].function != "where" or depths[n] != depth or n in taken:
            continue
        sides = tuple(_needed_by(kernel, users, depths, depth, n, place) for place in (1, 2))
        if sides[0] or sides[1]:
            found[n] = sides[0], sides[1]
            taken.update(*sides)
    return found


def _needed_by(
    kernel: LoopKernel,
    users: Sequence[set[tuple[int, int]]],
    depths: Sequence[int],
    depth: int,
    choice: int,
    place: int,
) -> tuple[int, ...]:
    """Instructions that one side of a choice alone needs, in order; none where they are cheap."""
    needed: set[int] = set()
    cost = 0.0
    for n in reversed(range(choice)):
        step = kernel.body[n]
        if depths[n] != depth or step.function == "gather" or not users[n]:
            continue
        if all(user in needed or (user, at) == (choice, place) for user, at in users[n]):
            needed.add(n)
            cost += per_element(step.function, len(step.operands))
    return tuple(sorted(needed)) if cost >= DEAR else ()
