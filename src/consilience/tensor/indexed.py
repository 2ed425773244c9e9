"""Indexing as functions of PyTensor's names: elements taken, replaced and added to, by an array of positions."""

from __future__ import annotations

from typing import Any

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.index import getitem
from consilience.tensor.gathering import inc_subtensor, set_subtensor

__all__ = [
    "advanced_inc_subtensor", "advanced_inc_subtensor1", "advanced_set_subtensor", "advanced_set_subtensor1",
    "advanced_subtensor", "advanced_subtensor1",
]  # fmt: skip


def advanced_subtensor(x: TensorLike, *index: Any) -> Node:
    """`x[index]`, an array of positions or a slice for each of the first axes."""
    return getitem(as_tensor(x), index)


def advanced_set_subtensor(x: TensorLike, y: TensorLike, *index: Any) -> Node:
    """x with y in place of its elements at the positions."""
    return set_subtensor(advanced_subtensor(x, *index), y)


def advanced_inc_subtensor(x: TensorLike, y: TensorLike, *index: Any, **settings: bool) -> Node:
    """x with y added at the positions, as often as each is named; `settings` are those of `inc_subtensor`."""
    return inc_subtensor(advanced_subtensor(x, *index), y, **settings)


advanced_subtensor1, advanced_set_subtensor1 = advanced_subtensor, advanced_set_subtensor
advanced_inc_subtensor1 = advanced_inc_subtensor
