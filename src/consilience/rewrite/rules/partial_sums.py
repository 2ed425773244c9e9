"""Sums of parts in zeros: what the gradient of a vector is that is read element by element.

An n-ary sum with several terms `zeros.inc(part, v)` in, the sum with one join of those parts out. Without it each
element read costs two passes over a vector of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Dim, Node
from consilience.ops import Elementwise, IndexUpdate
from consilience.ops.index import FULL, At, SliceIndex
from consilience.ops.shape import concatenate, expand_dims, full
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.structure import is_zero


@rewrites(
    "add",
    name="parts of a vector are joined",
    operands=[IndexUpdate],
    examples=[
        lambda t: t.inc(0, t.scalar) + t.inc(3, t.positive),
        lambda t: t.inc(slice(1, 3), t.vector[:2]) + t.inc(0, t.scalar) + t.vector,
        lambda t: t.inc(-1, t.scalar) + t.inc(4, t.positive) + t.inc(1, t.scalar),
    ],
)
def parts_joined(node: Node, facts: Facts) -> Node | None:
    """Increments of zeros at separate parts of the first axis are those parts side by side."""
    assert isinstance(node.op, Elementwise)
    parts: dict[tuple[int, int], Node] = {}
    rest: list[Node] = []
    taken = 0
    for term in node.inputs:
        place = _part(term) if term.type == node.type else None
        if place is None or not all(place == p or place[1] <= p[0] or p[1] <= place[0] for p in parts):
            rest.append(term)
            continue
        taken += 1
        values = _lines(term, place)
        parts[place] = values if place not in parts else parts[place] + values
    if taken < 2:
        return None
    (length, *others) = node.static_shape
    assert isinstance(length, int)
    pieces: list[Node] = []
    end = 0
    for start, stop in sorted(parts):
        if end < start:
            pieces.append(_zeros(start - end, others, node.dtype))
        pieces.append(parts[start, stop])
        end = stop
    if end < length:
        pieces.append(_zeros(length - end, others, node.dtype))
    whole = concatenate(pieces, 0)
    return Node(node.op, *rest, whole) if rest else whole


def _part(term: Node) -> tuple[int, int] | None:
    """Where on the first axis a term adds its values to zeros; None for other terms."""
    op = term.op
    if not isinstance(op, IndexUpdate) or op.mode != "inc" or len(term.inputs) != 2:
        return None
    first, *others = op.specification
    (length, *_) = term.static_shape
    if not isinstance(length, int) or any(entry != FULL for entry in others) or not is_zero(term.inputs[0]):
        return None
    if isinstance(first, At):
        return first.position % length, first.position % length + 1
    if isinstance(first, SliceIndex) and first.static and first.step in (None, 1):
        taken = first.range(length)
        return (taken.start, taken.stop) if len(taken) else None
    return None


def _lines(term: Node, place: tuple[int, int]) -> Node:
    """The values with the first axis."""
    assert isinstance(term.op, IndexUpdate)
    values = term.inputs[1]
    return expand_dims(values, 0) if isinstance(term.op.specification[0], At) else values


def _zeros(length: int, others: Sequence[Dim], dtype: str) -> Node:
    return full((length, *others), 0, dtype)


RULES: tuple[Rule, ...] = (parts_joined,)
