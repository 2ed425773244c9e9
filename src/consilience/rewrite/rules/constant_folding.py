"""Values that depend on constants only, computed at once.

Nodes with constant inputs in, constants out. Results much larger than their inputs stay symbolic.
"""

from __future__ import annotations

import numpy as np

from consilience.ir import COMPLEXES, Constant, Node, TensorType, constant, numpy_dtype
from consilience.ir.leaves import LARGE
from consilience.ops import Elementwise, Transpose
from consilience.ops.scalar import DRAWS
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.values import MEANINGS, Array

# A result of at most this many elements is always computed; a larger one if it is not larger than its inputs.
SMALL = 4096
_UNFOLDED = frozenset((*DRAWS, "fold_in"))


def value(node: Node) -> Array | None:
    """The value of a node whose inputs are constants, or None where it is better left symbolic."""
    op = node.op
    if isinstance(op, Elementwise) and op.function in _UNFOLDED:
        return None
    if not isinstance(node.type, TensorType):
        return None
    size = node.type.size
    arrays = [i.op.array for i in node.inputs if isinstance(i.op, Constant)]
    if not isinstance(size, int) or size > max(SMALL, *(a.size for a in arrays), 0):
        return None
    try:
        with np.errstate(all="ignore"):
            found = MEANINGS[type(op)](op, *arrays)
    except (IndexError, ValueError):
        return None  # an index outside its axis fails when the function runs, with its own message
    return None if found is None else np.asarray(found, dtype=numpy_dtype(node.dtype))


@rewrites(
    *MEANINGS,
    name="constants are folded",
    every_dtype=True,
    examples=[
        lambda t: t.exp(t.constant([1.0, 2.0])),
        lambda t: t.constant([[1.0, 2.0], [3.0, 5.0]]).sum(axis=0),
        lambda t: t.constant([1.0, 2.0, 3.0])[1:],
        lambda t: t.constant([[1.0, 2.0, 4.0]]).T,
        lambda t: t.constant([[1.0, 2.0], [3.0, 4.0]]) @ t.constant([1.0, -1.0]),
        lambda t: t.constant([1.0, 2.5]).astype("int64"),
    ],
)
def fold(node: Node, facts: Facts) -> Node | None:
    """A constant for a value of constants."""
    for operand in node.inputs:
        if not isinstance(operand.op, Constant):
            return None
        if isinstance(node.op, Transpose) and operand.op.array.nbytes >= LARGE:
            return None  # a view, which is no second copy
    found = value(node)
    return constant(found) if found is not None else None


@rewrites(
    Elementwise,
    name="constant arrays of one value are numbers",
    operands=[Constant],
    every_dtype=True,
    examples=[lambda t: t.vector * t.constant([2.0] * 5), lambda t: t.scalar + t.constant([[1.0, 1.0]])],
)
def uniform(node: Node, facts: Facts) -> Node | None:
    """Operands that repeat one number, replaced by the number."""
    changed = False
    operands: list[Node] = []
    for operand in node.inputs:
        if isinstance(operand.op, Constant) and operand.op.array.ndim and operand.op.array.size:
            single = _single(operand)
            if single is not None:
                operands.append(single)
                changed = True
                continue
        operands.append(operand)
    return Node(node.op, *operands) if changed else None


def _single(node: Node) -> Node | None:
    assert isinstance(node.op, Constant)
    if node.dtype in COMPLEXES:
        return None  # equal numbers may differ in the signs of their zeros
    flat = node.op.array.reshape(-1)
    first = flat[:1]
    if flat[-1] != flat[0] or flat[flat.size // 2] != flat[0]:
        return None
    same = bool((flat == first).all())
    if same and flat.dtype.kind == "f" and not (np.signbit(flat) == np.signbit(first)).all():
        same = False
    return constant(first.reshape(())) if same else None


RULES: tuple[Rule, ...] = (fold, uniform)
