"""Long loops in chunks of rows, which threads may take from each other: how many, and what each has of its own.

A loop nest enters; the number of its chunks and the sums that each chunk keeps for itself leave. Both follow from the
program alone, never from the number of threads, so that sums have the same bits with any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.ir import constant_value, numpy_dtype
from consilience.lower.fusion import KernelStep, instructions_of
from consilience.lower.kernel_code import depths
from consilience.lower.loop_kernel import LoopKernel, Reduction, StoreRoot
from consilience.lower.steps import CallStep, LoopStep, ScalarStep, Step
from consilience.lower.views import View
from consilience.record import Record, replace

# Instructions of a loop, one element at a time, from which on it is cut: some 100 us of a processor with vectors.
LONG = 1 << 19
# And of one chunk, as long as there are not more chunks than that.
CHUNK = 1 << 16
MOST = 256
# Rows of a chunk come in whole vectors of any processor, several at a time.
ROWS = 64
# Sums by group that each chunk keeps for itself take at most one element for so many rows, all chunks together.
ROWS_PER_SUM = 8


class Private(Record):
    """Sums in memory that each chunk has of its own, and that are added to the target afterwards.

    memory    number of the memory argument that stands for the target
    target    where they go
    offset    bytes from the beginning of what a chunk has of its own
    first     whether the target holds nothing before
    """

    memory: int
    target: View
    offset: int
    first: bool

    @property
    def span(self) -> int:
        """Elements from the first to the last, gaps included."""
        return 1 + sum((n - 1) * s for n, s in zip(self.target.shape, self.target.strides, strict=True))

    @property
    def apart(self) -> View:
        """The same elements where a chunk has them."""
        return replace(self.target, offset=0, storage=replace(self.target.storage, number=-1))


class Chunks(Record):
    """How a loop is cut along its first axis.

    rows      of each chunk but the last
    size      bytes that each chunk has of its own: the reductions that end in registers, then `private` sums
    """

    count: int
    rows: int
    private: tuple[Private, ...]
    size: int


def instructions(kernel: LoopKernel) -> int:
    """Rough number of instructions of all elements."""
    leaves, body = depths(kernel)
    domain = kernel.domain if kernel.borders < 0 else (1, kernel.domain[1])
    weights = [(depth, 1) for depth in leaves]
    weights += [(depth, instructions_of(step.function)) for depth, step in zip(body, kernel.body, strict=True)]
    weights += [(len(domain), 1)] * len(kernel.roots)
    return sum(weight * math.prod(domain[:depth]) for depth, weight in weights)


def chunks_of(step: KernelStep) -> Chunks | None:
    """How a loop is cut; None for one that is short, or whose rows write where others read or write."""
    kernel = step.kernel
    cost = 0 if not kernel.domain or 0 in kernel.domain else instructions(kernel)
    if cost < LONG:
        return None
    found = _private(step)
    if found is None:
        return None
    private, size = found
    length = kernel.domain[0]
    count = min(MOST, cost // CHUNK, length)
    if private:
        elements = kernel.domain[-1] if kernel.borders >= 0 else math.prod(kernel.domain)
        count = min(count, elements // (ROWS_PER_SUM * sum(own.span for own in private)))
    if count < 2:
        return None
    rows = -(-length // count)
    if len(kernel.domain) == 1:
        rows = -(-rows // ROWS) * ROWS
    count = -(-length // rows)
    return Chunks(count, rows, private, size) if count > 1 else None


def _private(step: KernelStep) -> tuple[tuple[Private, ...], int] | None:
    """Sums that rows of several chunks add to, and the bytes of one chunk; None where rows can't be kept apart."""
    kernel = step.kernel
    size = _lines(8 * len(kernel.results))
    found: list[Private] = []
    scattered = iter(step.scattered)
    for root in kernel.roots:
        if isinstance(root, StoreRoot):
            target = None if root.place is None else next(scattered)
            if target is None and not root.strides[0]:
                return None
            if target is not None and root.mode != "add":
                return None
        else:
            target = None
            if root.memory >= 0 and not root.strides[0]:
                kept = [(n, s) for n, s in zip(kernel.domain, root.strides, strict=True) if s]
                view = step.memories[root.memory]
                target = View(view.storage, view.offset, tuple(s for _, s in kept), tuple(n for n, _ in kept))
        if target is None:
            continue
        only = isinstance(root, StoreRoot) or root.kind == "sum"
        if not only or root.dtype == "bool" or min(target.strides, default=1) < 0 or _uses(kernel, root.memory) > 1:
            return None
        found.append(Private(root.memory, target, size, isinstance(root, Reduction)))
        size += _lines(numpy_dtype(root.dtype).itemsize * found[-1].span)
    return tuple(found), size


def _uses(kernel: LoopKernel, memory: int) -> int:
    """How often a loop reads or writes a memory argument."""
    numbers = [leaf.memory for leaf in kernel.leaves]
    numbers += [int(i.detail[0]) for i in kernel.body if i.function == "gather"]  # type: ignore[call-overload]  # a number
    numbers += [root.memory for root in kernel.roots]
    return numbers.count(memory)


def _lines(size: int) -> int:
    """Bytes in whole cache lines."""
    return -(-size // 64) * 64


def weight(steps: Sequence[Step]) -> int:
    """Rough number of instructions of some steps; at least, where loops end by themselves."""
    total = 0
    for step in steps:
        if isinstance(step, KernelStep):
            total += instructions(step.kernel) if step.kernel.domain and 0 not in step.kernel.domain else 1
        elif isinstance(step, ScalarStep):
            total += len(step.nodes)
        elif isinstance(step, CallStep):
            total += 2 * max((view.size for view in (*step.sources, *step.targets)), default=0)
        elif isinstance(step, LoopStep):
            limit = constant_value(step.limit)
            total += weight(step.body) * (1 if limit is None or step.stop is not None else int(limit))
    return total
