"""Pullbacks of order: an element's cotangent goes back to where it was."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import ArgSort, Index, IndexUpdate, SearchSorted, Sort
from consilience.ops.arrangement import take_along_axis
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.table import no_derivative, partial_of


@partial_of(Sort)
def _sort(node: Node, g: Node, position: int) -> Node:
    assert isinstance(node.op, Sort)
    x, axis = node.inputs[0], node.op.axis
    read = take_along_axis(x, Node(ArgSort(axis), x), axis)
    assert isinstance(read.op, Index)
    return Node(IndexUpdate(read.op.specification, "inc"), zeros_like(x), g, *read.inputs[1:])


no_derivative(ArgSort, "the results are positions, integers")
no_derivative(SearchSorted, "the results are numbers of elements, integers")
