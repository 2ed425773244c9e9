"""PyTensor's ops that read and write parts of tensors: an op with its operands in, tensors of ours out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import consilience.tensor as pt
from consilience.foreign.pytensor_graph import RULES, Translation, index_of
from consilience.ir import Node


@RULES("MakeSlice")
def _make_slice(t: Translation, apply: Any) -> Any:
    return slice(*(None if t(end) is None else t.length(end) for end in apply.inputs))


@RULES("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "BaseSubtensor")
def _subtensor(t: Translation, apply: Any) -> Any:
    x, *rest = apply.inputs
    return t(x)[index_of(t, apply.op, rest)]


@RULES("IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1")
def _inc_subtensor(t: Translation, apply: Any) -> Any:
    x, y, *rest = apply.inputs
    chosen = _chosen(t, x, y, apply.op, rest)
    if chosen is not None:
        value = t(y) if y.type.ndim == 0 else pt.squeeze(t(y), 0)
        return pt.switch(chosen, value, t(x)) if apply.op.set_instead_of_inc else t(x) + pt.switch(chosen, value, 0)
    part = t(x)[index_of(t, apply.op, rest)]
    return part.set(t(y)) if apply.op.set_instead_of_inc else part.inc(t(y))


def _chosen(t: Translation, x: Any, y: Any, op: Any, index: Sequence[Any]) -> Node | None:
    """What a mask of the first axes chooses, where all chosen elements get the same value; None for other indices."""
    if not index or any(isinstance(entry, slice) for entry in getattr(op, "idx_list", ())):
        return None
    if all(i.owner is not None and type(i.owner.op).__name__ == "Nonzero" for i in index):
        masks = {i.owner.inputs[0] for i in index}
        places = [i.owner.outputs.index(i) for i in index]
    else:
        masks, places = set(index), [*range(index[0].type.ndim)] * len(index)
    mask = masks.pop()
    if masks or mask.type.dtype != "bool":
        return None
    rank, axes = mask.type.ndim, len(places)
    if y.type.ndim and (y.type.ndim != x.type.ndim - axes + 1 or y.type.shape[0] != 1):
        return None
    true = t(mask)
    if rank == 1 and places == [0, 0]:  # of both axes at once, so places on the diagonal
        true = pt.and_(pt.eye(true.shape[0], dtype="bool"), pt.dimshuffle(true, 0, "x"))
    elif not rank or places != list(range(rank)):
        return None
    return pt.dimshuffle(true, *range(axes), *("x" for _ in range(x.type.ndim - axes)))


@RULES("IfElse")
def _ifelse(t: Translation, apply: Any) -> Any:
    condition, *branches = t.arguments(apply)
    count = len(branches) // 2
    pairs = zip(branches[:count], branches[count:], strict=True)
    return [pt.ifelse(condition, then, otherwise) for then, otherwise in pairs]
