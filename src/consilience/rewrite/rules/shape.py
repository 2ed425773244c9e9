"""Views: casts, repeated, new, dropped, permuted and regrouped axes.

Views move towards the outputs, so that functions are computed before elements are repeated; two views
of one kind are one; a view that changes nothing vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.ir import FLOATS, INTEGERS, NUMBERS, Node, Shape, ShapeConstraint, close, numpy_dtype
from consilience.ops import (
    AlteredGradient,
    BroadcastTo,
    Cast,
    Concatenate,
    Elementwise,
    ExpandDims,
    Item,
    Require,
    Reshape,
    Squeeze,
    StopGradient,
    Transpose,
)
from consilience.ops.call import FunctionCall
from consilience.ops.scalar import DRAWS
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, reshape, squeeze, transpose
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites

VIEWS = (ExpandDims, Squeeze, Reshape, Transpose, BroadcastTo)
# Draws have an element per counter; a view of the key or a parameter is not one of the draws.
_UNMOVED = frozenset((*DRAWS, "fold_in"))


@rewrites(
    Elementwise,
    name="repeated operands are not repeated",
    operands=[BroadcastTo, ExpandDims],
    examples=[
        lambda t: t.vector + t.broadcast_to(t.scalar, (5,)),
        lambda t: t.broadcast_to(t.scalar, (5,)) * t.broadcast_to(t.positive, (5,)),
        lambda t: t.matrix * t.expand_dims(t.exp(t.row), 0),
    ],
)
def unrepeated(node: Node, facts: Facts) -> Node | None:
    """Broadcasting happens by itself: operands keep their own size, the result is repeated instead."""
    changed = False
    operands: list[Node] = []
    for x in node.inputs:
        while (isinstance(x.op, BroadcastTo) and _keeps_ones(x)) or (
            isinstance(x.op, ExpandDims) and _leading(x.op.axes)
        ):
            x = x.inputs[0]
            changed = True
        operands.append(x)
    if not changed or (len(operands) == 1 and not isinstance(node.inputs[0].op, BroadcastTo)):
        return None
    result = Node(node.op, *operands)
    wanted = node.static_shape
    if result.static_shape == wanted:
        return result
    return broadcast_to(_with_rank(result, wanted), wanted)


def _keeps_ones(repeated: Node) -> bool:
    """Whether axes of length 1 have it without the promise that the op makes: others would not be stretched."""
    own = repeated.inputs[0].static_shape
    return all(n == 1 for n, m in zip(reversed(own), reversed(repeated.static_shape), strict=False) if m == 1)


def _leading(axes: tuple[int, ...]) -> bool:
    return axes == tuple(range(len(axes)))


def _with_rank(x: Node, shape: Shape) -> Node:
    """New leading axes where the result has axes of length 1 that broadcasting would not show."""
    missing = len(shape) - x.ndim
    return (
        expand_dims(x, tuple(range(missing)))
        if missing and tuple(shape[missing:]) == x.static_shape and _ones(shape[:missing])
        else x
    )


def _ones(lengths: Sequence[object]) -> bool:
    return all(n == 1 for n in lengths)


@rewrites(
    Elementwise,
    Cast,
    name="views move outwards",
    operands=VIEWS,
    examples=[
        lambda t: t.exp(t.expand_dims(t.vector, 1)),
        lambda t: t.exp(t.transpose(t.matrix)),
        lambda t: t.reshape(t.matrix, (12,)) + 1.0,
        lambda t: t.transpose(t.matrix) * t.transpose(t.exp(t.matrix)),
        lambda t: t.expand_dims(t.i, 1).astype("float64"),
    ],
)
def views_outwards(node: Node, facts: Facts) -> Node | None:
    """f(view(x), view(y), number) is view(f(x, y, number)) where the views are the same."""
    op = node.op
    if isinstance(op, Elementwise) and op.function in _UNMOVED:
        return None
    view = next((i.op for i in node.inputs if isinstance(i.op, VIEWS)), None)
    if view is None:
        return None
    inner: list[Node] = []
    shape: Shape | None = None
    for x in node.inputs:
        if x.op == view:
            if not x.ndim:
                return None  # a register; its inside is an array of one element
            x = x.inputs[0]
            if shape is not None and x.static_shape != shape:
                return None
            shape = x.static_shape
        elif x.ndim:
            return None
        inner.append(x)
    return Node(view, Node(op, *inner))


@rewrites(
    Cast,
    name="cast of a cast",
    operands=[Cast],
    examples=[lambda t: t.flag.astype("int64").astype("float64")],
)
def cast_of_cast(node: Node, facts: Facts) -> Node | None:
    """A cast that loses nothing is not needed before another one."""
    inner = node.inputs[0]
    source = inner.inputs[0]
    if not isinstance(inner.op, Cast) or not _exact(source.dtype, inner.dtype):
        return None
    through_floats = source.dtype in INTEGERS and inner.dtype in FLOATS and node.dtype in INTEGERS
    if through_floats and not _exact(source.dtype, node.dtype):
        return None  # integers wrap around where floats saturate
    return source if source.dtype == node.dtype else Node(node.op, source)


def _exact(source: str, target: str) -> bool:
    """Whether every number of a dtype is one of another."""
    if source not in NUMBERS or target not in NUMBERS:
        return False
    a, b = numpy_dtype(source), numpy_dtype(target)
    # NumPy calls float64 safe for integers of 64 bits.
    return np.can_cast(a, b, "safe") and not (a.kind in "iu" and a.itemsize == 8 and b.kind == "f")


@rewrites(
    BroadcastTo,
    name="repeating what is repeated or has its shape",
    examples=[
        lambda t: t.node(BroadcastTo((5,)), t.vector),
        lambda t: t.broadcast_to(t.node(BroadcastTo((1, 4)), t.row), (3, 4)),
        lambda t: t.broadcast_to(t.expand_dims(t.row, 0), (3, 4)),
    ],
)
def broadcast_merged(node: Node, facts: Facts) -> Node | None:
    """broadcast_to of a broadcast_to, of new leading axes, or to the same shape."""
    x = node.inputs[0]
    if x.static_shape == node.static_shape:
        return x
    if isinstance(x.op, BroadcastTo) or (isinstance(x.op, ExpandDims) and _leading(x.op.axes)):
        return Node(node.op, x.inputs[0])
    return None


@rewrites(
    Transpose,
    name="permutations of permuted, repeated and new axes",
    examples=[
        lambda t: t.node(Transpose((0, 1)), t.matrix),
        lambda t: t.transpose(t.node(Transpose((1, 0)), t.matrix)),
        lambda t: t.transpose(t.broadcast_to(t.scalar, (3, 4))),
        lambda t: t.transpose(t.expand_dims(t.vector, 0)),
        lambda t: t.node(Transpose((2, 0, 1)), t.expand_dims(t.matrix, 1)),
    ],
)
def transpose_merged(node: Node, facts: Facts) -> Node | None:
    """A permutation that changes nothing, of a permutation, of a repetition, of new axes."""
    assert isinstance(node.op, Transpose)
    axes, x = node.op.axes, node.inputs[0]
    if axes == tuple(range(len(axes))):
        return x
    if isinstance(x.op, Transpose):
        return transpose(x.inputs[0], [x.op.axes[a] for a in axes])
    if isinstance(x.op, BroadcastTo):
        inner = x.inputs[0]
        if inner.ndim < x.ndim:
            inner = expand_dims(inner, tuple(range(x.ndim - inner.ndim)))
        return broadcast_to(transpose(inner, axes), node.static_shape)
    if isinstance(x.op, ExpandDims):
        new = x.op.axes
        kept = [a for a in range(x.ndim) if a not in new]
        order = [kept.index(a) for a in axes if a not in new]
        return expand_dims(transpose(x.inputs[0], order), tuple(i for i, a in enumerate(axes) if a in new))
    return None


@rewrites(
    ExpandDims,
    name="new axes on new, dropped and repeated axes",
    examples=[
        lambda t: t.expand_dims(t.expand_dims(t.vector, 0), 2),
        lambda t: t.expand_dims(t.squeeze(t.column), 1),
        lambda t: t.expand_dims(t.broadcast_to(t.scalar, (5,)), 1),
        lambda t: t.node(ExpandDims(()), t.vector),
    ],
)
def expand_merged(node: Node, facts: Facts) -> Node | None:
    """New axes of new axes are new axes; dropping an axis and adding it again changes nothing."""
    assert isinstance(node.op, ExpandDims)
    axes, x = node.op.axes, node.inputs[0]
    if not axes:
        return x
    if isinstance(x.op, ExpandDims):
        kept = [a for a in range(node.ndim) if a not in axes]
        return expand_dims(x.inputs[0], tuple(sorted((*axes, *(kept[a] for a in x.op.axes)))))
    if isinstance(x.op, Squeeze) and x.op.axes == axes and x.inputs[0].static_shape == node.static_shape:
        return x.inputs[0]
    if isinstance(x.op, BroadcastTo):
        inner = x.inputs[0]
        if inner.ndim < x.ndim:
            if inner.ndim == 0:
                return broadcast_to(inner, node.static_shape)
            inner = expand_dims(inner, tuple(range(x.ndim - inner.ndim)))
        return broadcast_to(expand_dims(inner, axes), node.static_shape)
    return None


@rewrites(
    Squeeze,
    name="dropping new, repeated and dropped axes",
    examples=[
        lambda t: t.squeeze(t.expand_dims(t.vector, 1)),
        lambda t: t.squeeze(t.expand_dims(t.expand_dims(t.vector, 1), 0), 0),
        lambda t: t.squeeze(t.broadcast_to(t.scalar, (1, 5)), 0),
        lambda t: t.squeeze(t.squeeze(t.node(ExpandDims((0, 1)), t.vector), 0), 0),
        lambda t: t.node(Squeeze(()), t.vector),
    ],
)
def squeeze_merged(node: Node, facts: Facts) -> Node | None:
    """Axes that were added are not dropped but left out."""
    assert isinstance(node.op, Squeeze)
    axes, x = node.op.axes, node.inputs[0]
    if not axes:
        return x
    if isinstance(x.op, ExpandDims):
        both = set(axes) & set(x.op.axes)
        if not both:
            return None
        return _shaped(x.inputs[0], [a for a in range(x.ndim) if a not in axes], x.op.axes, axes)
    if isinstance(x.op, Squeeze):
        kept = [a for a in range(x.inputs[0].ndim) if a not in x.op.axes]
        return squeeze(x.inputs[0], tuple(sorted((*x.op.axes, *(kept[a] for a in axes)))))
    if isinstance(x.op, BroadcastTo):
        inner = x.inputs[0]
        missing = x.ndim - inner.ndim
        own = tuple(a - missing for a in axes if a >= missing)
        return broadcast_to(squeeze(inner, own) if own else inner, node.static_shape)
    return None


def _shaped(x: Node, remaining: Sequence[int], new: tuple[int, ...], dropped: tuple[int, ...]) -> Node:
    """x with the axes of `new` that remain, less those in `dropped`; all counted after the new axes."""
    own = [a for a in range(x.ndim + len(new)) if a not in new]
    inner = squeeze(x, tuple(i for i, a in enumerate(own) if a in dropped)) if any(a in dropped for a in own) else x
    added = tuple(i for i, a in enumerate(remaining) if a in new)
    return expand_dims(inner, added) if added else inner


@rewrites(
    Reshape,
    name="regrouping that only adds, drops or repeats itself",
    examples=[
        lambda t: t.node(Reshape((5,)), t.vector),
        lambda t: t.reshape(t.reshape(t.matrix, (12,)), (2, 6)),
        lambda t: t.reshape(t.vector, (1, 5)),
        lambda t: t.reshape(t.column, (3,)),
        lambda t: t.reshape(t.broadcast_to(t.scalar, (3, 4)), (12,)),
        lambda t: t.reshape(t.expand_dims(t.matrix, 1), (12,)),
    ],
)
def reshape_merged(node: Node, facts: Facts) -> Node | None:
    """The last shape counts; axes of length 1 are added and dropped, not regrouped."""
    x, shape = node.inputs[0], node.static_shape
    if x.static_shape == shape:
        return x
    if isinstance(x.op, Reshape | ExpandDims | Squeeze) and x.tensor_type.size == node.tensor_type.size:
        return reshape(x.inputs[0], shape)
    if isinstance(x.op, BroadcastTo) and not x.inputs[0].ndim:
        return broadcast_to(x.inputs[0], shape)
    real = [n for n in x.static_shape if n != 1]
    if real == [n for n in shape if n != 1]:
        dropped = tuple(i for i, n in enumerate(x.static_shape) if n == 1)
        added = tuple(i for i, n in enumerate(shape) if n == 1)
        inner = squeeze(x, dropped) if dropped else x
        return expand_dims(inner, added) if added else inner
    return None


@rewrites(
    Concatenate,
    name="joins of joins, of nothing and of repetitions",
    operands=None,
    examples=[
        lambda t: t.concatenate([t.concatenate([t.vector, t.x]), t.y]),
        lambda t: t.concatenate([t.vector, t.vector[:0]]),
        lambda t: t.node(Concatenate(0), t.vector),
    ],
)
def concatenate_merged(node: Node, facts: Facts) -> Node | None:
    """Joins along one axis are one join; parts of length 0 are left out."""
    assert isinstance(node.op, Concatenate)
    axis = node.op.axis
    parts: list[Node] = []
    for x in node.inputs:
        parts += x.inputs if isinstance(x.op, Concatenate) and x.op.axis == axis and len(x.inputs) <= 64 else (x,)
    filled = [x for x in parts if x.static_shape[axis] != 0] or parts[:1]
    if len(filled) == 1:
        return filled[0]
    view = filled[0].op
    if isinstance(view, ExpandDims) and axis not in view.axes and all(x.op == view for x in filled):
        own = [a for a in range(node.ndim) if a not in view.axes].index(axis)
        return Node(view, concatenate([x.inputs[0] for x in filled], own))
    return None if filled == list(node.inputs) else concatenate(filled, axis)


@rewrites(
    Require,
    name="requirements are known to the function",
    examples=[lambda t: t.node(Require((ShapeConstraint(5, 5, "equal lengths"),)), t.vector)],
)
def requirement(node: Node, facts: Facts) -> Node | None:
    """The value itself: whoever compiles collected the shape constraints from the graph as it was written."""
    return node.inputs[0]


@rewrites(
    StopGradient, name="stop_gradient after differentiation", examples=[lambda t: t.node(StopGradient(), t.vector)]
)
def stop_gradient(node: Node, facts: Facts) -> Node | None:
    """The value itself, once no derivative is taken any more."""
    return node.inputs[0]


@rewrites(
    AlteredGradient,
    name="altered gradient after differentiation",
    examples=[lambda t: t.node(AlteredGradient("scale", (2.0,)), t.vector)],
)
def altered_gradient(node: Node, facts: Facts) -> Node | None:
    """The value itself, once no derivative is taken any more."""
    return node.inputs[0]


@rewrites(
    Item,
    name="call after differentiation",
    examples=[
        lambda t: t.node(Item(0), t.node(FunctionCall("twice", close([t.vector * 2.0], [t.vector])[0]), t.vector))
    ],
)
def call_written_out(node: Node, facts: Facts) -> Node | None:
    """The function's own graph, once no derivative is taken any more."""
    op, call = node.op, node.inputs[0]
    if not isinstance(op, Item) or not isinstance(call.op, FunctionCall):
        return None
    return call.op.body.apply(*call.inputs)[op.position]


RULES: tuple[Rule, ...] = (
    requirement,
    unrepeated,
    views_outwards,
    cast_of_cast,
    broadcast_merged,
    transpose_merged,
    expand_merged,
    squeeze_merged,
    reshape_merged,
    concatenate_merged,
)
