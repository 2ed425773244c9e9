"""Order in NumPy: sorting, places in what is ordered, selection; rows of the table of meanings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import means
from consilience.backends.shapes import Lengths
from consilience.errors import OutOfBoundsError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.lower.primitives import SelectedElements, SelectedRun
from consilience.ops import ArgSort, SearchSorted, Sort

Array: TypeAlias = npt.NDArray[Any]


@means(Sort)
def _sort(node: Node, lengths: Lengths, x: Array) -> Array:
    assert isinstance(node.op, Sort)
    return np.sort(x, axis=node.op.axis, kind="stable")


@means(ArgSort)
def _argsort(node: Node, lengths: Lengths, x: Array) -> Array:
    assert isinstance(node.op, ArgSort)
    return np.argsort(x, axis=node.op.axis, kind="stable")


@means(SearchSorted)
def _search_sorted(node: Node, lengths: Lengths, vectors: Array, values: Array) -> Array:
    """The first axes of both, as many as the batch has, are common."""
    op = node.op
    assert isinstance(op, SearchSorted)
    side: Any = op.side
    result = np.empty(values.shape, "int64")
    for place in np.ndindex(values.shape[: op.batch]):
        result[place] = np.searchsorted(vectors[place], values[place], side)
    return result


@means(SelectedElements)
def _selected_elements(node: Node, lengths: Lengths, x: Array, positions: Array) -> Array:
    length = x.shape[-1]
    if not ((-length <= positions) & (positions < length)).all():
        raise OutOfBoundsError(f"positions {positions} in an axis of length {length}: {describe(node)}.")
    return np.sort(x, -1, kind="stable")[..., positions]


@means(SelectedRun)
def _selected_run(node: Node, lengths: Lengths, x: Array) -> Array:
    op = node.op
    assert isinstance(op, SelectedRun)
    return np.sort(x, -1, kind="stable")[..., op.start : op.start + op.number]
