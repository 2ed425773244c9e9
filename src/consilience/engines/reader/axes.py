"""Axes of tensors: parts along one, elements from the last to the first, what all readers need of indexing."""

from __future__ import annotations

import itertools
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.reader.rules import Rule, Tensors


def at(axis: int, entry: Any) -> tuple[Any, ...]:
    """The index with an entry along one axis, and everything along those before and behind."""
    return (*(slice(None),) * axis, entry)


def parts(x: Any, sizes: Sequence[int], axis: int) -> Tensors:
    """Consecutive parts along an axis."""
    ends = np.cumsum([0, *sizes])
    return [x[at(axis, slice(int(a), int(b)))] for a, b in itertools.pairwise(ends)]


def entries(x: Any, axis: int) -> Tensors:
    """All entries along an axis, which is gone."""
    return [x[at(axis, i)] for i in range(x.static_shape[axis])]


def backwards(x: Any, axes: Container[int]) -> Any:
    """From the last to the first along some axes."""
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim))]


def along(x: Any, axis: int, reverse: bool, function: Rule) -> Any:
    """A function of all that comes before, or of all that comes after."""
    return backwards(function(backwards(x, [axis])), [axis]) if reverse else function(x)


def swapped(x: Any) -> Any:
    """The last two axes exchanged."""
    return pt.swapaxes(x, -1, -2)


def ordered(x: Any, axis: int, descending: bool = False) -> Any:
    """Numbers of the elements along an axis in their order; equal ones keep theirs."""
    if not descending:
        return pt.argsort(x, axis=axis, stable=True)
    found = pt.argsort(backwards(x, [axis]), axis=axis, stable=True)
    return backwards(x.static_shape[axis] - 1 - found, [axis])
