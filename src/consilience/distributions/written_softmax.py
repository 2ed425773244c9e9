"""Softmax functions that were written out: an expression enters, the op with the same values leaves."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops import Elementwise, ExpandDims, Index, Reduce, Softmax
from consilience.ops.index import FULL, At, Specification
from consilience.ops.reduce import softmax


def written_softmax(value: Node) -> Node:
    """A softmax over one axis that was written out as the op, whose logarithm is finite where it is 0 itself."""
    if not isinstance(value.op, Elementwise):
        return value
    function, inner = value.op.function, value.inputs[0]
    if function == "exp" and inner.op == Elementwise("sub"):
        x, total = inner.inputs
        terms, axis = _reduced(total, "logsumexp")
        if terms is None and total.op == Elementwise("log"):
            terms, axis = _reduced(total.inputs[0], "sum")
            terms = terms.inputs[0] if terms is not None and terms.op == Elementwise("exp") else None
    elif function == "true_div" and inner.op == Elementwise("exp"):
        (x,) = inner.inputs
        terms, axis = _reduced(value.inputs[1], "sum")
        terms = x if terms is inner else None
    else:
        return value
    return softmax(x, axis) if terms is x else value


def element_of_softmax(value: Node) -> Node | None:
    """An element of a softmax that was written out, `exp(x - logsumexp(x))[i]` or `exp(x[i] - logsumexp(x))`."""
    if isinstance(value.op, Index):
        whole = written_softmax(value.inputs[0])
        return Node(value.op, whole, *value.inputs[1:]) if isinstance(whole.op, Softmax) else None
    if value.op != Elementwise("exp") or value.inputs[0].op != Elementwise("sub"):
        return None
    part, total = value.inputs[0].inputs
    if not isinstance(total.op, Reduce) or total.op.kind != "logsumexp" or len(total.op.axes) > 1:
        return None
    (whole,), (axis,) = total.inputs, total.op.axes
    index = _index_of(part, whole)
    if index is None or any(isinstance(e, At) != (i == axis) for i, e in enumerate(index) if e != FULL):
        return None
    return Node(Index(index), softmax(whole, axis))


def _index_of(part: Node, whole: Node) -> Specification | None:
    """The static index by which a part was taken of a whole, before functions of both or behind them."""
    if isinstance(part.op, Index) and part.inputs == (whole,):
        return part.op.specification
    if not isinstance(part.op, Elementwise) or part.op != whole.op:
        return None
    pairs = list(zip(part.inputs, whole.inputs, strict=True))
    found = {_index_of(a, b) for a, b in pairs if b.ndim}
    return found.pop() if len(found) == 1 and all(a is b for a, b in pairs if not b.ndim) else None


def _reduced(total: Node, kind: str) -> tuple[Node | None, int]:
    """What is reduced over one axis, and which; the axis is kept, or the only one."""
    inner = total.inputs[0] if isinstance(total.op, ExpandDims) else total
    if not isinstance(inner.op, Reduce) or inner.op.kind != kind or len(inner.op.axes) > 1:
        return None, 0
    (axis,) = inner.op.axes
    kept = total.op == ExpandDims((axis,)) or (inner is total and inner.inputs[0].ndim == 1)
    return inner.inputs[0] if kept else None, axis
