"""Sums by group over a sorted, constant index: the loop runs group by group instead of scattering.

Where values are added to the places of a constant, ascending index array, the loop over elements becomes a
loop over groups around a loop over the group's elements: what is gathered with that index is one number per
group, and the sums stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from consilience.ir import Node, constant, constant_value
from consilience.lower.views import static
from consilience.ops import IndexUpdate
from consilience.ops.index import Gather
from consilience.rewrite.structure import is_zero

# Below this many elements per group the loop over groups costs more than it saves.
ELEMENTS_PER_GROUP = 3


def find(order: Sequence[Node], unsorted: bool = True) -> dict[Node, Node]:
    """Sums by group that can be computed in a loop over groups: update node -> its index array.

    One index array is chosen per number of elements, so that a loop has one kind of group. Index arrays that
    do not ascend are taken only if `unsorted`: then the loop runs in another order of the elements.
    """
    chosen: dict[int, Node] = {}
    found: dict[Node, Node] = {}
    for node in order:
        if not isinstance(node.op, IndexUpdate) or node.op.mode != "inc" or node.op.specification != (Gather(),):
            continue
        base, values, index = node.inputs
        if index.ndim != 1 or values.ndim != 1 or base.ndim != 1 or not is_zero(base):
            continue
        (elements,) = static(values.static_shape)
        (groups,) = static(base.static_shape)
        positions = constant_value(index)
        if positions is None or groups < 2 or elements < ELEMENTS_PER_GROUP * groups:
            continue
        if positions.shape != (elements,) or positions.min() < 0 or positions.max() >= groups:
            continue
        if not unsorted and not ascending(index):
            continue
        if chosen.setdefault(elements, index) is index:
            found[node] = index
    return found


def ascending(index: Node) -> bool:
    """Whether a constant index array never falls."""
    positions = constant_value(index)
    return positions is not None and bool((np.diff(positions) >= 0).all())


def order_of(index: Node) -> npt.NDArray[np.int64] | None:
    """The order of the elements in which the index array ascends; None when it does already."""
    positions = constant_value(index)
    assert positions is not None
    return None if ascending(index) else np.argsort(positions, kind="stable")


def borders(index: Node, groups: int) -> Node:
    """First element of every group, and the number of elements at the end: int64 (groups + 1,)."""
    positions = constant_value(index)
    assert positions is not None
    return constant(np.searchsorted(np.sort(positions), np.arange(groups + 1)).astype("int64"))


def reordered(node: Node, order: npt.NDArray[np.int64]) -> Node:
    """A constant vector in another order."""
    array = constant_value(node)
    assert array is not None
    return constant(array[order])
