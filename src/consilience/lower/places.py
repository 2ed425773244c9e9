"""Order along axes in the forms that have routines: of last axes, of few dtypes, and few places without sorting.

A node in, a node of equal value out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.ir import FLOATS, Node, constant, users
from consilience.lower.primitives import SelectedElements, SelectedRun
from consilience.lower.views import static
from consilience.ops import ArgReduce, ArgSort, Index, Reduce, SearchSorted, Sort, apply, cast
from consilience.ops.index import FULL, At, Gather, SliceIndex
from consilience.ops.shape import reshape, squeeze, transpose

# So many places of a sorted axis are found one by one, more by sorting.
FEW_PLACES = 4
# Neighbours are selected where they are at most one of so many.
SHARE = 8


def expand_order(node: Node) -> Node:
    """Sorting along the last axis, places among float64 or int64, few places selected; other nodes themselves."""
    op = node.op
    if isinstance(op, SearchSorted | ArgReduce):
        return _in_words(node)
    if isinstance(op, Index):
        return _selected(node, op)
    last = node.ndim - 1
    if not isinstance(op, ArgSort | Sort) or op.axis == last:
        return node
    turn = (*(a for a in range(node.ndim) if a != op.axis), op.axis)
    result = Node(type(op)(last), transpose(node.inputs[0], turn))
    return transpose(result, tuple(last if a == op.axis else a - (a > op.axis) for a in range(node.ndim)))


def _in_words(node: Node) -> Node:
    """Places among float64 or int64."""
    dtype = node.inputs[0].dtype
    if dtype in ("float64", "int64"):
        return node
    if dtype == "uint64":  # the upper half becomes the negative numbers, which come first
        operands = [cast(apply("bitwise_xor", x, constant(1 << 63, "uint64")), "int64") for x in node.inputs]
    else:
        operands = [cast(x, "float64" if dtype in FLOATS else "int64") for x in node.inputs]
    return Node(node.op, *operands)


def _first_in_order(x: Node) -> Node:
    """The first of each sorted line of the last axis: the least number, and NaN only of lines of nothing else."""
    axis = (x.ndim - 1,)
    if x.dtype not in FLOATS:
        return Node(Reduce("min", axis), x)
    missing = apply("isnan", x)
    least = Node(Reduce("min", axis), apply("where", missing, constant(np.inf, x.dtype), x))
    return apply("where", Node(Reduce("all", axis), missing), constant(np.nan, x.dtype), least)


def _sorted(node: Node) -> tuple[Node, range] | None:
    """What a node has sorted along the last axis, and which places in that order it takes."""
    taken = SliceIndex()
    if isinstance(node.op, Index) and node.op.specification:
        *lead, last = node.op.specification
        if not isinstance(last, SliceIndex) or not last.static or any(entry != FULL for entry in lead):
            return None
        node, taken = node.inputs[0], last
    if not isinstance(node.op, Sort) or node.op.axis != node.ndim - 1:
        return None
    return node.inputs[0], taken.range(static(node.static_shape)[-1])


def sorted_anyway(order: Sequence[Node], outputs: Sequence[Node]) -> set[Node]:
    """Readings of sorted lines that are sorted whole for others, or of which too many places are read one by one."""
    sorts = [node for node in order if isinstance(node.op, Sort)]
    if not sorts:
        return set()
    readers, wanted, found = users(order), set(outputs), set[Node]()
    for node in sorts:
        selected, whole, behind = list[Node](), node in wanted, list(readers.get(node, ()))
        while behind:
            reader = behind.pop()
            if isinstance(reader.op, Index) and _selected(reader, reader.op) is not reader:
                selected.append(reader)
            elif isinstance(reader.op, Index) and _sorted(reader) is not None and reader not in wanted:
                behind += readers.get(reader, ())
            else:
                whole = True
        if whole or len(selected) > FEW_PLACES:
            found.update(selected)
    return found


def _selected(node: Node, op: Index) -> Node:
    """Few places of a sorted last axis are found without sorting."""
    source, *arrays = node.inputs
    found = _sorted(source)
    if found is None:
        return node
    *lead, last = op.specification
    if any(isinstance(entry, Gather) for entry in lead):
        return node
    x, places = found
    length = static(x.static_shape)[-1]
    if any(entry != FULL for entry in lead):
        x = Node(Index((*lead, FULL)), x)
    axis = x.ndim - 1
    if isinstance(last, At):
        inside = -len(places) <= last.position < len(places)
        place = places[last.position] if inside else last.position
        if inside and place in (0, length - 1) and x.dtype != "bool":
            # NaN comes last, and is the greatest of a line.
            return _first_in_order(x) if place == 0 else Node(Reduce("max", (axis,)), x)
        return squeeze(Node(SelectedElements(), x, constant([place], "int64")), -1)
    if isinstance(last, SliceIndex) and last.static:
        taken = places[last.bounds()]
        if taken.step in (1, -1) and 0 < SHARE * len(taken) <= length:
            run = Node(SelectedRun(min(taken), len(taken)), x)
            return run if taken.step == 1 else run[(*(slice(None),) * axis, slice(None, None, -1))]
    few = isinstance(last, Gather) and arrays[0].ndim <= 1 and arrays[0].tensor_type.size in range(1, FEW_PLACES + 1)
    if few and len(places) == length and places.step == 1:
        chosen = Node(SelectedElements(), x, reshape(arrays[0], (-1,)))
        return reshape(chosen, node.static_shape)
    return node
