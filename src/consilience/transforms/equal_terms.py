"""Terms of one form, written one by one, as one term over arrays.

People write models in loops: a thousand terms, each a graph of its own. Outputs in, equal outputs out, where sums and
joins of many operands of one form are single expressions of stacked leaves: a compiler then meets each form once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import inf
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.ir import Constant, Dim, Node, Op, TensorType, constant, is_leaf, rebuild, topological
from consilience.ir.side_tables import carry, without_sources
from consilience.ir.traversal import longest_path
from consilience.ir.types import ALGEBRAIC
from consilience.ops.assertion import Assume
from consilience.ops.elementwise import Cast, Elementwise
from consilience.ops.index import FULL, At, Entry, Gather, Index, SliceIndex
from consilience.ops.linalg import MatMul
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    concatenate,
    moveaxis,
    reshape,
    stack,
)
from consilience.transforms.vectorize.table import Operand, batched_row

# Fewer terms than this stay as they are.
FEWEST: Final = 16
# Fewer steps of a recurrence than this stay as they are (`FEWEST` of `equal_steps`, which is not loaded for them).
FEWEST_STEPS: Final = 24
# Terms with a value of more elements gain nothing from being one loop.
GREATEST: Final = 1024
# Levels of a term that tell its form, and that are stacked: terms of a recurrence differ in their depth alone.
LEVELS: Final = 24

_LIFTED: Final[tuple[type[Op], ...]] = (
    Elementwise, Cast, Assume, Reduce, MatMul, Index, Reshape, ExpandDims, Squeeze, Transpose, BroadcastTo,
)  # fmt: skip


def equal_terms_batched(outputs: Sequence[Node], keep: Collection[Node] = ()) -> list[Node]:
    """Equal outputs, with sums and joins of at least `FEWEST` operands of one form as expressions of stacked leaves.

    The order of summation changes, so results are equal up to rounding.

    `outputs`: expressions of any shape. `keep`: nodes that stay as they are and are not looked into. Returns: one
    expression per output, of its type.
    """
    kept = frozenset(keep)
    order = topological(outputs, stop=kept.__contains__)
    if len(order) < FEWEST:
        return list(outputs)
    if _repeats_itself(order, outputs, kept):
        from consilience.transforms.equal_steps import equal_steps_looped  # recurrences alone need it

        outputs = equal_steps_looped(outputs, keep)
        order = topological(outputs, stop=kept.__contains__)
    if not _promising(order):
        return list(outputs)
    links = _links(order, outputs, kept)
    forms = _Forms(kept)
    found: dict[Node, Node] = {}
    chains: dict[Node, list[Node]] = {}
    with without_sources():
        for node in order:
            if node in kept or is_leaf(node):
                found[node] = node
                continue
            if _is_sum(node):
                own: list[Node] = []
                for i in node.inputs:
                    # A chain's list is handed on, not copied: chains of thousands stay linear in time.
                    if i in links:
                        own = chains.pop(i) if not own else own + chains.pop(i)
                    else:
                        own.append(found[i])
                if node in links:
                    chains[node] = own
                    continue
                here = _summed(own, forms) if len(own) >= FEWEST else _sum(node, own)
            else:
                here = rebuild(node, tuple([found[i] for i in node.inputs]))
                if isinstance(here.op, Concatenate) and len(here.inputs) >= FEWEST:
                    here = _joined(here, forms)
            if here is not node:
                carry(node, here)
            found[node] = here
    return [found[output] for output in outputs]


def _promising(order: Sequence[Node]) -> bool:
    sums = 0
    for node in order:
        several = len(node.inputs)
        if several >= 2 and isinstance(node.op, Elementwise | Concatenate):
            if isinstance(node.op, Concatenate):
                if several >= FEWEST:
                    return True
            elif node.op.function == "add":
                sums += several - 1
    return sums >= FEWEST - 1


def _repeats_itself(order: Sequence[Node], outputs: Sequence[Node], kept: frozenset[Node]) -> bool:
    """Whether an op occurs so often on the longest path that it may be a recurrence; a long sum is none."""
    if len(order) < 2 * FEWEST_STEPS or not _often(longest_path(order, kept, FEWEST_STEPS)):
        return False
    links = _links(order, outputs, kept)
    return _often([node for node in longest_path(order, kept, FEWEST_STEPS, links) if node not in links])


def _often(path: Sequence[Node]) -> bool:
    return max(Counter(node.op.__class__ for node in path).values(), default=0) >= FEWEST_STEPS


def _is_sum(node: Node) -> bool:
    op = node.op
    return isinstance(op, Elementwise) and op.function == "add" and node.dtype in ALGEBRAIC and node.dtype != "bool"


def _links(order: Sequence[Node], outputs: Sequence[Node], kept: frozenset[Node]) -> set[Node]:
    """Sums with one reader, which is a sum of their type: parts of a longer sum."""
    readers: dict[Node, int] = dict.fromkeys(outputs, 2)
    for node in order:
        for operand in node.inputs if node not in kept else ():
            readers[operand] = readers.get(operand, 0) + 1
    return {
        i
        for node in order
        if node not in kept and _is_sum(node)
        for i in node.inputs
        if readers[i] == 1 and i not in kept and _is_sum(i) and i.type == node.type
    }


def _sum(node: Node, operands: Sequence[Node]) -> Node:
    return node if tuple(operands) == node.inputs else Node(node.op, *operands)


def _summed(operands: Sequence[Node], forms: _Forms) -> Node:
    """The sum, with the operands of each frequent form as one sum over an axis."""
    groups: dict[object, list[Node]] = {}
    for operand in operands:
        groups.setdefault(forms.key(operand), []).append(operand)
    rest: list[Node] = []
    for key, group in groups.items():
        if key is None or len(group) < FEWEST:
            rest += group
        else:
            rest.append(reduce("sum", _Stacks(forms.kept, len(group)).of(group).full((len(group),)), (0,)))
    return rest[0] if len(rest) == 1 else Node(Elementwise("add"), *rest)


def _joined(node: Node, forms: _Forms) -> Node:
    """The join, with each long run of operands of one form as one operand."""
    assert isinstance(node.op, Concatenate)
    axis = node.op.axis
    runs: list[tuple[object, list[Node]]] = []
    for operand in node.inputs:
        key = forms.key(operand)
        if runs and key is not None and runs[-1][0] == key:
            runs[-1][1].append(operand)
        else:
            runs.append((key, [operand]))
    parts: list[Node] = []
    for key, run in runs:
        if key is None or len(run) < FEWEST:
            parts += run
        else:
            shape = run[0].static_shape
            stacked = moveaxis(_Stacks(forms.kept, len(run)).of(run).full((len(run),)), 0, axis)
            parts.append(reshape(stacked, (*shape[:axis], len(run) * shape[axis], *shape[axis + 1 :])))
    return node if len(parts) == len(node.inputs) else parts[0] if len(parts) == 1 else concatenate(parts, axis)


class _Forms:
    """Numbers of what terms have in common: ops, types and static parts, but for constants and positions read."""

    def __init__(self, kept: frozenset[Node]) -> None:
        self.kept = kept
        self._numbers: dict[object, int] = {}
        self._known: dict[Node, tuple[int, int, float]] = {}

    def key(self, node: Node) -> object:
        """A key that terms of one form share; None where nothing is gained by computing such terms together."""
        number, levels, size = self._of(node)
        if levels == 0 or size > GREATEST or isinstance(node.op, Concatenate):
            return None
        return number

    def _of(self, node: Node) -> tuple[int, int, float]:
        """Number of the form, levels it has, and the size of its largest value."""
        known = self._known
        for each in topological([node], stop=lambda n: n in known or n in self.kept):
            if each in known:
                continue
            of = each.type
            if not isinstance(of, TensorType) or of.dtype not in ALGEBRAIC:
                known[each] = (self._number(of), 0, inf)
                continue
            size = of.size if isinstance(of.size, int) else inf
            op = each.op
            if not isinstance(op, _LIFTED) or each in self.kept:
                known[each] = (self._number(of), 0, size)
                continue
            below = [known[i] for i in each.inputs]
            levels = 1 + max(levels for _, levels, _ in below)
            if not isinstance(op, Index) or levels > 1:  # what parts are read of may be large
                size = max(size, *(size for _, _, size in below))
            part: object = op
            if isinstance(op, Index):
                part = (Index, *[type(e) if isinstance(e, At | SliceIndex) else e for e in op.specification])
            number = self._number((part, of, *(number for number, _, _ in below)))
            known[each] = (number, levels, size) if levels < LEVELS else (self._number(of), 0, size)
        return known[node]

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


class _Stacks:
    """Values of `count` terms at once, along a first axis."""

    def __init__(self, kept: frozenset[Node], count: int) -> None:
        self._kept = kept
        self._batch = (count,)
        self._known: dict[tuple[Node, ...], Node] = {}
        self._lifted: set[Node] = set()

    def of(self, nodes: Sequence[Node], level: int = 0) -> Operand:
        """The terms stacked, or one of them where they are all the same."""
        first = nodes[0]
        key = tuple(nodes)
        if all(node is first for node in nodes):
            return Operand(first, first, False)
        if key not in self._known:
            self._known[key] = self._stacked(key, level)
        return Operand(first, self._known[key], True)

    def _stacked(self, nodes: tuple[Node, ...], level: int) -> Node:
        first = nodes[0]
        if all(isinstance(node.op, Constant) for node in nodes):
            return constant(np.stack([node.op.array for node in nodes if isinstance(node.op, Constant)]))
        taken = _taken(nodes)
        if taken is not None:
            return taken
        places = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
        if 2 * len(places) <= len(nodes):
            few = _Stacks(self._kept, len(places)).of(list(places), level).value
            return few[constant(np.asarray([places[node] for node in nodes]))]
        if level < 2 * LEVELS and self._liftable(nodes):
            self._lifted.update(nodes)
            inputs = [self.of([node.inputs[k] for node in nodes], level + 1) for k in range(len(first.inputs))]
            row = batched_row(first)(first, inputs, self._batch)
            assert isinstance(row, Node)
            return row
        return stack(nodes)

    def _liftable(self, nodes: Sequence[Node]) -> bool:
        """Whether one op on stacked operands computes these values, and none of them a second time."""
        first = nodes[0]
        if not isinstance(first.op, _LIFTED) or len(nodes) < FEWEST:
            return False
        types = [i.type for i in first.inputs]
        return all(
            node.op == first.op
            and len(node.inputs) == len(types)
            and node not in self._kept
            and node not in self._lifted
            and all(i.type == of for i, of in zip(node.inputs, types, strict=True))
            for node in nodes
        )


def _taken(nodes: Sequence[Node]) -> Node | None:
    """Parts of one value at several places, read at once: x[1, 3], x[4, 3] … as x[:, 3][[1, 4, …]]."""
    first = nodes[0]
    if not isinstance(first.op, Index) or len(first.inputs) != 1:
        return None
    base, entries = first.inputs[0], first.op.specification
    if not all(isinstance(e, At | SliceIndex) for e in entries):
        return None
    columns: list[list[Entry]] = [[] for _ in entries]
    for node in nodes:
        if not isinstance(node.op, Index) or node.inputs != first.inputs or node.type != first.type:
            return None
        for column, own, entry in zip(columns, node.op.specification, entries, strict=True):
            if type(own) is not type(entry):
                return None
            column.append(own)
    varying = {axis: column for axis, column in enumerate(columns) if any(e != column[0] for e in column)}
    lengths = [base.static_shape[axis] for axis in varying]
    positions = [_positions(column, n) for column, n in zip(varying.values(), lengths, strict=True)]
    rest = tuple(FULL if axis in varying else entry for axis, entry in enumerate(entries))
    left = base if all(e == FULL for e in rest) else Node(Index(rest), base)
    axes = [sum(not isinstance(e, At) for e in rest[:axis]) for axis in varying]
    if any(p is None for p in positions) or (len(axes) > 1 and any(p is not None and p.ndim > 1 for p in positions)):
        return None
    known = [p for p in positions if p is not None]
    read = _read(moveaxis(left, axes, range(len(axes))), known)
    # The elements of a slice stand behind the axis of the terms: they go back to where the slice stood.
    return moveaxis(read, 1, 1 + axes[0]) if known[0].ndim > 1 else read


def _positions(column: Sequence[Entry], length: Dim) -> npt.NDArray[np.int64] | None:
    """The places (term) or (term, element) that entries of one axis read; None where they are not known."""
    if isinstance(length, int):
        each = [e.position % length if isinstance(e, At) else list(_range(e, length)) for e in column]
        return np.asarray(each, np.int64)
    if all(isinstance(e, At) and e.position >= 0 for e in column):
        return np.asarray([e.position for e in column if isinstance(e, At)], np.int64)
    return None


def _range(entry: Entry, length: int) -> range:
    return entry.range(length) if isinstance(entry, SliceIndex) and entry.static else range(0)


def _read(x: Node, positions: Sequence[npt.NDArray[np.int64]]) -> Node:
    """`x[positions]` along the first axes, as a view where they run evenly."""
    places = positions[0]
    steps = np.diff(places.reshape(-1))
    if len(positions) == 1 and len(steps) and steps[0] > 0 and (steps == steps[0]).all():
        entry = SliceIndex(int(places.flat[0]), int(places.flat[-1]) + 1, int(steps[0]))
        whole = len(steps) + 1 == x.static_shape[0]
        part = x if whole else Node(Index((entry, *[FULL] * (x.ndim - 1))), x)
        return reshape(part, (*places.shape, *x.static_shape[1:])) if places.ndim > 1 else part
    gathers = [Gather()] * len(positions)
    return Node(Index((*gathers, *[FULL] * (x.ndim - len(gathers)))), x, *map(constant, positions))


__all__ = ["FEWEST", "FEWEST_STEPS", "equal_terms_batched"]
