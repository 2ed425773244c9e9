"""Log densities as sums of parts that act on less: what is summed comes apart, and a stack by its elements.

Log densities and the variables that they act on in, more of them, with the same sum of all elements, out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.analysis.separability import gathered, links
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ops import Elementwise, cast
from consilience.ops.index import Index, NewAxis, SliceIndex, getitem
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import Concatenate, ExpandDims, Iota, Reshape, broadcast_to, expand_dims, reshape
from consilience.transforms.equal_rows import counts_rows, equal_rows_counted
from consilience.transforms.equal_terms import equal_terms_batched
from consilience.transforms.vectorize import vectorize


def addends(factor: Node) -> list[Node]:
    """Parts whose elements have the sum that the elements of a factor have."""
    match factor.op:
        case Elementwise(function="add") if factor.ndim == 0:
            return [part for operand in factor.inputs for part in addends(operand)]
        case Reduce(kind="sum") if factor.ndim == 0:
            return addends(factor.inputs[0])
        case Concatenate():
            return [part for operand in factor.inputs for part in addends(operand)]
    return [factor]


def of_elements(factor: Node, leaves: Sequence[Node], least: int, count: int) -> list[Node]:
    """A factor of variables that are stacked as one factor per variable, if each acts on elements of its own.

    `leaves`: variables of equal shape with the values `least`, …, of `count` in all; the factor may depend on others.
    Returns: the factor alone where it cannot be parted.
    """
    for join in topological([factor]):
        if not isinstance(join.op, Concatenate):
            continue
        axis = join.op.axis
        stacked = [_stacked(operand, axis, leaves) for operand in join.inputs]
        members = [leaf for leaf in stacked if leaf is not None]
        if len(members) < len(stacked) or len(set(members)) < len(members):
            continue
        whole = tensor_input(join.dtype, join.static_shape)
        (written,) = substitute([factor], {join: whole})
        if not set(members).isdisjoint(topological([written])):
            continue
        linked = links(written, whole) or {}
        needed = {i for i, n in enumerate(join.static_shape) if n != 1}
        if needed != {link.axis for link in linked.values()}:
            continue
        each = reshape(constant(np.arange(least, least + count), join.dtype), (count, *(1 for _ in join.static_shape)))
        (batched,) = vectorize([written], {whole: broadcast_to(each, (count, *join.static_shape))})
        table = gathered(batched, linked, whole)
        return [_at(table, axis, place, leaf, least) for place, leaf in enumerate(members)]
    return [factor]


def _stacked(operand: Node, axis: int, leaves: Sequence[Node]) -> Node | None:
    """The variable that an operand of a join is, with one more axis."""
    added = isinstance(operand.op, ExpandDims | Reshape) or (
        isinstance(operand.op, Index)
        and all(isinstance(entry, NewAxis) or entry == SliceIndex() for entry in operand.op.specification)
    )
    if not added or operand.inputs[0] not in leaves:
        return None
    shape = operand.static_shape
    leaf = operand.inputs[0]
    return leaf if shape[axis] == 1 and (*shape[:axis], *shape[axis + 1 :]) == leaf.static_shape else None


def _at(table: Node, axis: int, place: int, leaf: Node, least: int) -> Node:
    """The element of a table (values, *joined) at one place of the joined axis and the value of the variable there."""
    own = getitem(table, (*(slice(None) for _ in range(axis + 1)), place))
    rank = leaf.ndim
    others = [
        expand_dims(Node(Iota(n)), tuple(i for i in range(rank) if i != own_axis))
        for own_axis, n in enumerate(leaf.static_shape)
    ]
    return getitem(own, (leaf - least, *others))


def total(terms: Sequence[Node]) -> Node:
    """The sum of all elements of all terms."""
    sums = [cast(reduce("sum", t), "float64") if t.ndim else cast(t, "float64") for t in terms]
    if not sums:
        return constant(0.0)
    if any(counts_rows(node) for node in topological(sums)):
        from consilience.elimination.row_statistics import by_statistics  # long data alone need it

        sums = equal_rows_counted(by_statistics(sums))
    return equal_terms_batched([sums[0] if len(sums) == 1 else Node(Elementwise("add"), *sums)])[0]
