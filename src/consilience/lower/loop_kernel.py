"""One fused loop nest: what is read, what is computed, what is stored or reduced.

A kernel is plain data with local numbers, so equal loops are equal values and are compiled once.
`kernel_code` turns it into instructions.
"""

from __future__ import annotations

import math

from consilience.lower.views import Lengths
from consilience.record import Record, replace

# Operands inside a kernel: ("leaf", i), ("invariant", i) or ("body", i).
Operand = tuple[str, int]


class Leaf(Record):
    """Elements read from memory, or made from the loop indices (iota).

    `memory`: number of the memory argument (offset included), or -1 for iota. `start`: offset of an iota; elsewhere
    from the memory argument, in elements.
    """

    memory: int
    dtype: str
    strides: Lengths
    start: int = 0


class Instruction(Record):
    """One computed value: a scalar function, "cast", or "gather".

    `detail`: for a gather (memory number, affine strides, ((length, stride, proved), …) per index operand); from memory
    -1 come the checked places themselves, counted in elements.
    """

    function: str
    dtype: str
    operands: tuple[Operand, ...]
    detail: tuple[object, ...] = ()


class StoreRoot(Record):
    """A value written to memory; `mode` is "set" or "add".

    `place`: for a scatter, what index arrays add to the offset that the strides give: a gather from memory -1.
    """

    value: Operand
    memory: int
    dtype: str
    strides: Lengths
    mode: str = "set"
    place: Operand | None = None


class Reduction(Record):
    """A value combined over `axes`: to a register when memory is -1 (all axes), else to memory.

    strides are 0 along reduced axes.
    """

    value: Operand
    kind: str
    axes: tuple[int, ...]
    dtype: str
    memory: int = -1
    strides: Lengths = ()


Root = StoreRoot | Reduction


class LoopKernel(Record):
    """A nest over `domain`; the last axis runs in vectors.

    `invariants`: dtypes of the scalar arguments. `memories`: number of memory arguments. `borders`: number of the
    memory argument that holds the borders of groups, or -1. With groups the domain is (groups, elements), the second
    loop runs over the elements of one group, counted from the first.
    """

    domain: Lengths
    leaves: tuple[Leaf, ...]
    invariants: tuple[str, ...]
    body: tuple[Instruction, ...]
    roots: tuple[Root, ...]
    memories: int
    borders: int = -1

    @property
    def results(self) -> tuple[Reduction, ...]:
        """The reductions that end in registers, in order."""
        return tuple(r for r in self.roots if isinstance(r, Reduction) and r.memory < 0)

    def __str__(self) -> str:
        grouped = f" in groups of memory {self.borders}" if self.borders >= 0 else ""
        lines = [f"for {list(self.domain)}{grouped}:"]
        for i, leaf in enumerate(self.leaves):
            source = f"memory {leaf.memory}" if leaf.memory >= 0 else "index"
            source += f" + {leaf.start}" if leaf.start or leaf.memory < 0 else ""
            lines.append(f"  leaf {i} = {leaf.dtype} {source} strides {list(leaf.strides)}")
        for i, step in enumerate(self.body):
            operands = ", ".join(f"{kind} {n}" for kind, n in step.operands)
            lines.append(f"  body {i} = {step.dtype} {step.function}({operands}){step.detail or ''}")
        for root in self.roots:
            value = f"{root.value[0]} {root.value[1]}"
            if isinstance(root, StoreRoot):
                place = "" if root.place is None else f" at {root.place[0]} {root.place[1]}"
                lines.append(f"  {root.mode} memory {root.memory} strides {list(root.strides)}{place} = {value}")
            else:
                target = f"memory {root.memory} strides {list(root.strides)}" if root.memory >= 0 else "register"
                lines.append(f"  {target} = {root.kind} over {list(root.axes)} of {value}")
        return "\n".join(lines)


def collapse(kernel: LoopKernel) -> LoopKernel:
    """Merge neighbouring axes that every access walks through as one; drop axes of length 1."""
    if kernel.borders >= 0:
        return kernel
    axes = [i for i, n in enumerate(kernel.domain) if n != 1]
    accesses = [leaf.strides for leaf in kernel.leaves]
    accesses += [root.strides for root in kernel.roots if isinstance(root, StoreRoot) or root.memory >= 0]
    accesses += [step.detail[1] for step in kernel.body if step.function == "gather"]  # type: ignore[misc]  # strides
    reduced = [set(root.axes) for root in kernel.roots if isinstance(root, Reduction)]
    groups: list[list[int]] = []
    for axis in axes:
        if groups:
            last = groups[-1][-1]
            whole = all(s[last] == s[axis] * kernel.domain[axis] for s in accesses)
            together = all((last in r) == (axis in r) for r in reduced)
            if whole and together:
                groups[-1].append(axis)
                continue
        groups.append([axis])
    if len(groups) == len(kernel.domain):
        return kernel

    def strides(old: Lengths) -> Lengths:
        return tuple(old[group[-1]] for group in groups)

    domain = tuple(math.prod(kernel.domain[a] for a in group) for group in groups)
    roots: list[Root] = []
    for root in kernel.roots:
        if isinstance(root, StoreRoot):
            roots.append(replace(root, strides=strides(root.strides)))
        else:
            over = tuple(i for i, group in enumerate(groups) if group[0] in root.axes)
            kept = strides(root.strides) if root.memory >= 0 else ()
            roots.append(Reduction(root.value, root.kind, over, root.dtype, root.memory, kept))
    body = tuple(
        Instruction(s.function, s.dtype, s.operands, (s.detail[0], strides(s.detail[1]), s.detail[2]))  # type: ignore[arg-type]  # strides
        if s.function == "gather"
        else s
        for s in kernel.body
    )
    leaves = tuple(Leaf(f.memory, f.dtype, strides(f.strides), f.start) for f in kernel.leaves)
    return LoopKernel(domain, leaves, kernel.invariants, body, tuple(roots), kernel.memories)
