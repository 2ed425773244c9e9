"""lax's operations that order elements: operands and parameters in, tensors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import consilience.tensor as pt
from consilience.engines.reader.axes import at, ordered
from consilience.engines.reader.lax.table import LAX


@LAX("sort")
def _sort(*operands: Any, dimension: int, num_keys: int, **_: Any) -> Any:
    """The first operands in ascending order, and the others in the same."""
    return in_order(operands, dimension, [(i, True) for i in range(num_keys)])


def in_order(operands: Sequence[Any], axis: int, keys: Sequence[tuple[int, bool]]) -> list[Any]:
    """Arrays in the order of one or several of them; equal ones keep their order.

    `keys`: which of the operands, the first one first, and whether they ascend.
    """
    if list(keys) == [(0, True)] and len(operands) == 1:
        return [pt.sort(operands[0], axis=axis)]
    order: Any = None
    for place, ascending in reversed(keys):
        key = operands[place] if order is None else pt.take_along_axis(operands[place], order, axis=axis)
        found = ordered(key, axis, not ascending)
        order = found if order is None else pt.take_along_axis(order, found, axis=axis)
    return [pt.take_along_axis(x, order, axis=axis) for x in operands]


@LAX("top_k")
def _top_k(x: Any, *, k: int, axis: int = -1, **_: Any) -> Any:
    """The greatest along an axis, greatest first, and where they were."""
    axis %= x.ndim
    order = pt.argsort(-x, axis=axis, stable=True)[at(axis, slice(k))]
    return [pt.take_along_axis(x, order, axis=axis), order]


@LAX("approx_top_k")
def _approximate_top_k(x: Any, *, k: int, reduction_dimension: int, is_max_k: bool, **_: Any) -> Any:
    """The same; all of them are found."""
    found, order = _top_k(x if is_max_k else -x, k=k, axis=reduction_dimension)
    return [found if is_max_k else -found, order]
