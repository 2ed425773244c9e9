"""Regions that differ by labels alone: values of variables at modes enter, whose elements were exchanged leaves.

The components of a mixture may be numbered in any order, and every order is a region of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CLOSE: Final = 0.02  # of the range of a variable's values, within which two modes agree
LEVEL: Final = 0.02  # nats, the same for heights and masses


def exchanged(values: Mapping[str, Array], levels: Array) -> tuple[str, ...]:
    """Names of the variables of which all modes have the same elements, in other orders; empty if some differ else.

    `values`: by variable, on its own scale, (mode, …). `levels`: of each mode what does not depend on labels, such as
    height and mass, (mode, …).
    """
    count = len(levels)
    if count < 2 or not (np.abs(levels - levels[0]) < LEVEL).all():
        return ()
    moved: dict[str, None] = {}
    for mode in range(1, count):
        names = _between(values, 0, mode)
        if not names:
            return ()
        moved.update(dict.fromkeys(names))
    return tuple(moved)


def _between(values: Mapping[str, Array], first: int, second: int) -> list[str]:
    """The variables that an exchange of labels changes between two modes; empty if none leads from one to the other."""
    differing = [name for name, array in values.items() if not _alike(array, array[first], array[second])]
    if not differing:
        return []
    leading = values[differing[0]]
    for axis in range(leading.ndim - 1):
        rows = [np.moveaxis(leading[k], axis, 0).reshape(leading.shape[axis + 1], -1) for k in (first, second)]
        order = np.abs(rows[0][None] - rows[1][:, None]).sum(-1).argmin(1)
        known = sorted(order.tolist()) == list(range(len(order)))
        if known and all(_exchanges(values[name], first, second, order) for name in differing):
            return differing
    return []


def _exchanges(array: Array, first: int, second: int, order: Sequence[int] | Array) -> bool:
    """Whether the values at the first mode, along axes as long as the order, are those at the second."""
    moved = array[first]
    for axis, length in enumerate(moved.shape):
        if length == len(order):
            moved = np.take(moved, order, axis)
            if _alike(array, moved, array[second]):
                return True
    return False


def _alike(array: Array, one: Array, other: Array) -> bool:
    """Whether two values of a variable agree, by the range of all of its values."""
    return bool((np.abs(one - other) <= CLOSE * max(float(np.ptp(array)), 1e-12)).all())
