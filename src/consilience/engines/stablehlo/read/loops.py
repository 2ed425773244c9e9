"""StableHLO's loops, and reads and writes of windows at places that are computed.

A loop that counts to a known end is one of known length; what its body reads of an array and writes to one, row by row,
are sequences and traces of the loop, so that its derivative does not keep the arrays of all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.lax import lax
from consilience.engines.reader.rules import Tensors
from consilience.engines.stablehlo.read.elements import HLO, HloCall
from consilience.ir import INTEGERS, Node, constant_value, topological
from consilience.ops.elementwise import Cast, Elementwise
from consilience.ops.loop import fresh
from consilience.ops.scan import scan


class CountedLoop:
    """Rows that the body of a loop reads and writes in the order of its steps.

    `steps`: how many there are. `counters`: leaf -> its number in the first step; it grows by 1. `fixed`: arrays that
    are the same in all steps. `carried`: leaves of what changes.
    """

    def __init__(self, steps: int, counters: dict[Any, int], fixed: set[Any], carried: set[Any]) -> None:
        self._steps, self._counters, self._fixed, self._carried = steps, counters, fixed, carried
        self.reads: dict[tuple[Any, int, int], Any] = {}
        self.writes: dict[Any, tuple[Any, Any, int, int]] = {}

    def read(self, x: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
        """The row of this step of a fixed array, as an array of one row; None for other windows."""
        if x not in self._fixed or not x.ndim or list(sizes) != [1, *x.static_shape[1:]]:
            return None
        place = self._row(starts[0], x.static_shape[0])
        if place is None:
            return None
        leaf = self.reads.setdefault((x, *place), pt.tensor(dtype=x.dtype, shape=x.static_shape[1:]))
        return pt.expand_dims(leaf, 0)

    def write(self, x: Any, update: Any, starts: Sequence[Any]) -> Any:
        """What stands for an array after the row of this step is written; None for other windows."""
        whole = x in self._carried and x not in self.writes and bool(x.ndim)
        if not whole or list(update.static_shape) != [1, *x.static_shape[1:]]:
            return None
        place = self._row(starts[0], x.static_shape[0])
        if place is None:
            return None
        written = fresh(x)
        self.writes[x] = (written, update[0], *place)
        return written

    def _row(self, start: Any, length: int) -> tuple[int, int] | None:
        """The first row and the way from one to the next, 1 or -1, where all lie inside."""
        place = self._place(start)
        if place is None or place[1] not in (1, -1):
            return None
        first, way = place
        return place if 0 <= first < length and 0 <= first + way * (self._steps - 1) < length else None

    def _place(self, node: Any) -> tuple[int, int] | None:
        """a and b of a + b i in step i; None for what is not of this form."""
        if node in self._counters:
            return self._counters[node], 1
        known = constant_value(node)
        if known is not None and known.ndim == 0 and known.dtype.kind in "iu":
            return int(known), 0
        if isinstance(node.op, Cast) and node.dtype in INTEGERS:
            return self._place(node.inputs[0])
        if not isinstance(node.op, Elementwise):
            return None
        if node.op.function == "where":  # places that count from the end, where there are none
            which, _, otherwise = node.inputs
            if which.op != Elementwise("lt") or self._place(which.inputs[1]) != (0, 0):
                return None
            inside = self._place(which.inputs[0])
            if inside is None or min(inside[0], inside[0] + inside[1] * (self._steps - 1)) < 0:
                return None
            return self._place(otherwise)
        parts = [self._place(x) for x in node.inputs]
        if node.op.function not in ("add", "sub", "neg") or None in parts:
            return None
        signs = {"sub": [1, -1], "neg": [-1]}.get(node.op.function, [1] * len(parts))
        a, b = (sum(sign * part[i] for sign, part in zip(signs, parts, strict=True) if part) for i in (0, 1))
        return a, b


_LOOP: ContextVar[CountedLoop | None] = ContextVar("the loop whose body is translated", default=None)


@HLO("dynamic_slice")
def _dynamic_slice(c: HloCall, x: Any, *starts: Any) -> Any:
    sizes, loop = c.ints("sizes", "slice_sizes"), _LOOP.get()
    found = None if loop is None else loop.read(x, starts, sizes)
    return lax("dynamic_slice", x, *starts, slice_sizes=sizes) if found is None else found


@HLO("dynamic_update_slice")
def _dynamic_update_slice(_: HloCall, x: Any, update: Any, *starts: Any) -> Any:
    loop = _LOOP.get()
    found = None if loop is None else loop.write(x, update, starts)
    return lax("dynamic_update_slice", x, update, *starts) if found is None else found


@HLO("while")
def _while(c: HloCall, *initial: Any) -> Tensors:
    """Values when the condition holds no longer."""
    leaves = [fresh(value) for value in initial]
    token = _LOOP.set(None)
    try:
        (goes,), following = c.region(0, *leaves), c.region(1, *leaves)
        kept = {leaf: value for leaf, value, new in zip(leaves, initial, following, strict=True) if new is leaf}
        steps = _steps(goes, kept, leaves, initial, following)
        if steps is None:
            return list(pt.while_loop(lambda *v: c.region(0, *v)[0], lambda *v: c.region(1, *v), list(initial)))
        return _counted(c, steps, kept, leaves, initial, following)
    finally:
        _LOOP.reset(token)


def _counted(
    c: HloCall, steps: int, kept: dict[Any, Any], leaves: Sequence[Any], initial: Sequence[Any], following: Tensors
) -> Tensors:
    """Values after a known number of steps."""
    if not steps:
        return list(initial)
    begins = {leaf: _begin(leaf, value, new) for leaf, value, new in zip(leaves, initial, following, strict=True)}
    counters = {leaf: begin for leaf, begin in begins.items() if begin is not None}
    moving = [leaf for leaf in leaves if leaf not in kept and leaf not in counters]
    loop = CountedLoop(steps, counters, set(kept.values()), set(moving))
    _LOOP.set(loop)
    again = dict(zip(leaves, c.region(1, *(kept.get(leaf, leaf) for leaf in leaves)), strict=True))
    _LOOP.set(None)
    if not _alone(loop, {leaf: again[leaf] for leaf in moving}):
        loop = CountedLoop(steps, {}, set(), set())
        again = dict(zip(leaves, c.region(1, *(kept.get(leaf, leaf) for leaf in leaves)), strict=True))
    first = dict(zip(leaves, initial, strict=True))
    carried = {leaf: (first[leaf], again[leaf]) for leaf in moving if leaf not in loop.writes}
    elements = [element for _, element, _, _ in loop.writes.values()]
    wanted = set(topological([*(new for _, new in carried.values()), *elements]))
    sequences = {leaf: _rows(x, (a, b), steps) for (x, a, b), leaf in loop.reads.items() if leaf in wanted}
    for leaf, begin in counters.items():
        if leaf in wanted:
            sequences[leaf] = pt.constant((begin + np.arange(steps)).astype(leaf.dtype))
    found = scan(carried, sequences, elements, length=steps)
    last = dict(zip(carried, found.last, strict=True))
    for (leaf, (_, _, begin_row, way)), trace in zip(loop.writes.items(), found.traces, strict=True):
        whole = steps == leaf.static_shape[0]
        last[leaf] = trace[::way] if whole else pt.set_subtensor(_rows(first[leaf], (begin_row, way), steps), trace)
    ends = {leaf: pt.constant(np.asarray(begin + steps, leaf.dtype)) for leaf, begin in counters.items()}
    return [{**kept, **ends, **last}[leaf] for leaf in leaves]


def _rows(x: Any, place: tuple[int, int], steps: int) -> Any:
    """Rows in the order in which a loop reads them."""
    first, way = place
    last = first + way * steps
    return x[first : None if last < 0 else last : way]


def _alone(loop: CountedLoop, following: dict[Any, Any]) -> bool:
    """Whether arrays that are written row by row are neither read nor written otherwise."""
    marks = {leaf: written for leaf, (written, *_) in loop.writes.items()}
    if any(following[leaf] is not written for leaf, written in marks.items()):
        return False
    others = [new for leaf, new in following.items() if leaf not in marks]
    elements = [element for _, element, _, _ in loop.writes.values()]
    return {*marks, *marks.values()}.isdisjoint(topological([*others, *elements]))


def _steps(
    goes: Any, kept: dict[Any, Any], leaves: Sequence[Any], initial: Sequence[Any], following: Sequence[Any]
) -> int | None:
    """How many steps are done while `i < n`, where i begins at a known number and grows by 1; None: not known."""
    if goes.op != Elementwise("lt"):
        return None
    counter, end = goes.inputs
    stop = constant_value(kept.get(end, end))
    if counter not in leaves or stop is None:
        return None
    place = leaves.index(counter)
    begin = _begin(counter, initial[place], following[place])
    return None if begin is None else max(0, int(stop) - begin)


def _begin(leaf: Any, initial: Any, following: Node) -> int | None:
    """The known number at which a counter begins; None for what does not grow by 1."""
    begin = constant_value(initial)
    if begin is None or begin.ndim or begin.dtype.kind not in "iu":
        return None
    if following.op != Elementwise("add") or len(following.inputs) != 2 or leaf not in following.inputs:
        return None
    one = [constant_value(x) for x in following.inputs if x is not leaf]
    return int(begin) if len(one) == 1 and one[0] is not None and one[0].ndim == 0 and one[0] == 1 else None
