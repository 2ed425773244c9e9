"""Reductions: what is constant along the summed axes leaves the sum, nested reductions become one.

A sum over N rows of a term that is the same in every row is N times the term. Regrouping holds up to
rounding relative to the greatest summand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.ir import INTEGERS, Constant, Dim, Node, dimension
from consilience.ops import (
    BroadcastTo,
    Cast,
    Concatenate,
    ExpandDims,
    Reduce,
    Reshape,
    Transpose,
    apply,
    cast,
)
from consilience.ops.shape import broadcast_to, expand_dims, length_of, squeeze
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.operands import ADD, MUL, function_of, is_number, number, value_of

_NEUTRAL = {"sum": 0.0, "prod": 1.0, "any": False, "all": True, "logsumexp": float("-inf")}
_TOGETHER = {
    "sum": "add",
    "prod": "mul",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
    "logsumexp": "logaddexp",
}
_IDEMPOTENT = ("max", "min", "any", "all")


def constant_axes(x: Node, rank: int, axes: Sequence[int], like: Node) -> tuple[int, ...]:
    """The axes of a broadcast result of rank `rank` along which the operand x repeats one value."""
    missing = rank - x.ndim
    return tuple(a for a in axes if a < missing or (x.static_shape[a - missing] == 1 and like.static_shape[a] != 1))


def _without(x: Node, rank: int, axes: Sequence[int]) -> Node:
    """The operand less the axes of the broadcast result along which it is constant."""
    missing = rank - x.ndim
    own = tuple(a - missing for a in axes if a >= missing)
    return squeeze(x, own) if own else x


def _remaining(axes: Sequence[int], dropped: Sequence[int]) -> tuple[int, ...]:
    """Axes renumbered after others are gone."""
    return tuple(a - sum(d < a for d in dropped) for a in axes if a not in dropped)


def _count(x: Node, axes: Sequence[int]) -> Dim:
    return dimension.product(tuple(x.static_shape[a] for a in axes))


def _filled(x: Node, axes: Sequence[int]) -> bool:
    """Whether the axes are known to hold an element."""
    return all(isinstance(n, int) and n > 0 for n in (x.static_shape[a] for a in axes))


def times(count: Dim, x: Node) -> Node:
    """count * x for a static or symbolic number of repetitions."""
    if isinstance(count, int):
        return apply("mul", number(count, x.dtype), x) if count != 1 else x
    return apply("mul", cast(length_of(count), x.dtype), x)


def _reduced(op: Reduce, x: Node, axes: Sequence[int]) -> Node:
    return Node(Reduce(op.kind, tuple(axes)), x) if axes else x


@rewrites(
    Reduce,
    name="reductions over no axes, or of one or no elements",
    examples=[
        lambda t: t.node(Reduce("sum", ()), t.vector),
        lambda t: t.column.sum(axis=1),
        lambda t: t.vector[:0].sum(),
    ],
)
def trivial(node: Node, facts: Facts) -> Node | None:
    """Nothing to reduce; axes of length 1 are dropped; axes of length 0 give the neutral value."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    if not op.axes:
        return x
    lengths = x.static_shape
    if any(lengths[a] == 0 for a in op.axes) and op.kind in _NEUTRAL:
        return broadcast_to(number(_NEUTRAL[op.kind], node.dtype), node.static_shape)
    single = tuple(a for a in op.axes if lengths[a] == 1)
    if not single:
        return None
    return _reduced(op, squeeze(x, single), _remaining(op.axes, single))


@rewrites(
    Reduce,
    name="reductions of reductions",
    operands=[Reduce],
    examples=[
        lambda t: t.matrix.sum(axis=0).sum(),
        lambda t: t.matrix.max(axis=1).max(),
        lambda t: t.logsumexp(t.logsumexp(t.matrix, 1), 0),
    ],
)
def nested(node: Node, facts: Facts) -> Node | None:
    """One reduction over all axes."""
    inner = node.inputs[0]
    assert isinstance(node.op, Reduce)
    if not isinstance(inner.op, Reduce) or inner.op.kind != node.op.kind:
        return None
    first = inner.op.axes
    kept = [a for a in range(inner.inputs[0].ndim) if a not in first]
    return Node(Reduce(node.op.kind, tuple(sorted((*first, *(kept[a] for a in node.op.axes))))), inner.inputs[0])


@rewrites(
    Reduce,
    name="reductions of permuted, new and regrouped axes",
    operands=[Transpose, ExpandDims, Reshape],
    examples=[
        lambda t: t.transpose(t.matrix).sum(axis=0),
        lambda t: t.expand_dims(t.matrix, 1).sum(axis=0),
        lambda t: t.reshape(t.matrix, (12,)).max(),
    ],
)
def of_view(node: Node, facts: Facts) -> Node | None:
    """The order of the elements does not matter."""
    op, view = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    x = view.inputs[0]
    if isinstance(view.op, Transpose):
        order = view.op.axes
        axes = tuple(sorted(order[a] for a in op.axes))
        kept_before = [a for a in range(x.ndim) if a not in axes]
        kept_after = [order[a] for a in range(view.ndim) if a not in op.axes]
        result = _reduced(op, x, axes)
        permutation = tuple(kept_before.index(a) for a in kept_after)
        return result if permutation == tuple(range(len(permutation))) else Node(Transpose(permutation), result)
    if isinstance(view.op, ExpandDims):
        new = view.op.axes
        if any(a in new for a in op.axes):
            return None  # an axis of length 1, which is dropped first
        own = [a for a in range(view.ndim) if a not in new]
        result = _reduced(op, x, tuple(own.index(a) for a in op.axes))
        return expand_dims(result, _remaining(new, op.axes))
    if isinstance(view.op, Reshape) and len(op.axes) == view.ndim:
        return _reduced(op, x, tuple(range(x.ndim)))
    return None


@rewrites(
    Reduce,
    name="reductions of what is repeated",
    operands=[BroadcastTo],
    examples=[
        lambda t: t.broadcast_to(t.scalar, (3, 4)).sum(),
        lambda t: t.broadcast_to(t.row, (3, 4)).sum(axis=0),
        lambda t: t.broadcast_to(t.row, (3, 4)).max(),
        lambda t: t.broadcast_to(t.positive, (3,)).prod(),
        lambda t: t.logsumexp(t.broadcast_to(t.scalar, (3,)), 0),
    ],
)
def of_repeated(node: Node, facts: Facts) -> Node | None:
    """A sum of n equal terms is n times the term, a product its n-th power."""
    op, repeated = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    x = repeated.inputs[0]
    if not isinstance(repeated.op, BroadcastTo):
        return None
    same = constant_axes(x, repeated.ndim, op.axes, repeated)
    if not same:
        return None
    count = _count(repeated, same)
    if op.kind in _IDEMPOTENT and not _filled(repeated, same):
        return None
    if op.kind == "prod" and x.dtype in INTEGERS:
        return None
    shape = tuple(n for a, n in enumerate(repeated.static_shape) if a not in same)
    rest = broadcast_to(_without(x, repeated.ndim, same), shape)
    inner = _reduced(op, rest, _remaining(op.axes, same))
    if op.kind in _IDEMPOTENT:
        return inner
    if op.kind == "sum":
        if not isinstance(count, int) and is_number(inner) and not np.isfinite(value_of(inner)):
            return None  # the sum of no terms is 0
        return times(count, inner)
    exponent = number(count, x.dtype) if isinstance(count, int) else cast(length_of(count), x.dtype)
    if op.kind == "prod":
        return apply("pow", inner, exponent)
    return apply("add", inner, apply("log", exponent))


def _varies_by_constants(x: Node, axes: Sequence[int]) -> bool:
    """Whether x is a constant array, times factors that are the same along the axes."""
    if function_of(x) == "neg":
        x = x.inputs[0]
    if function_of(x) != "mul":
        return isinstance(x.op, Constant)
    return all(isinstance(f.op, Constant) or len(constant_axes(f, x.ndim, axes, x)) == len(axes) for f in x.inputs)


@rewrites(
    Reduce,
    name="constant terms leave sums",
    operands=["add"],
    within=1e60,
    examples=[
        lambda t: (t.vector + t.scalar).sum(),
        lambda t: (t.matrix + t.row).sum(axis=0),
        lambda t: (t.matrix + t.column).sum(),
        lambda t: (t.matrix + 1.0).sum(axis=1),
        lambda t: (t.vector + t.constant([1.0, 2.0, 3.0, 5.0, 8.0]) * t.scalar).sum(),
    ],
)
def constant_terms(node: Node, facts: Facts) -> Node | None:
    """Σᵢ (xᵢ + c) is Σᵢ xᵢ + n c; constant arrays are summed beforehand."""
    op, total = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    if op.kind != "sum" or function_of(total) != "add" or total.dtype == "bool":
        return None
    rank, shape = total.ndim, total.static_shape
    varying: list[Node] = []
    parts: list[Node] = []
    for x in total.inputs:
        same = constant_axes(x, rank, op.axes, total)
        if not same and x.static_shape == shape and _varies_by_constants(x, op.axes):
            parts.append(Node(op, x))
            continue
        if not same:
            varying.append(x)
            continue
        rest = _without(x, rank, same)
        rest_shape = tuple(n for a, n in enumerate(shape) if a not in same)
        over = _remaining(op.axes, same)
        if over:
            rest = _reduced(op, broadcast_to(rest, rest_shape), over)
        parts.append(times(_count(total, same), rest))
    if not parts:
        return None
    if varying:
        inner = varying[0] if len(varying) == 1 else Node(ADD, *varying)
        parts.insert(0, _reduced(op, broadcast_to(inner, shape), op.axes))
    return apply("add", *parts) if len(parts) > 1 else parts[0]


@rewrites(
    Reduce,
    name="constant factors leave sums",
    operands=["mul", "neg"],
    within=1e60,
    examples=[
        lambda t: (2.0 * t.vector).sum(),
        lambda t: (-t.vector).sum(),
        lambda t: (t.matrix * t.row).sum(axis=0),
        lambda t: (t.vector * t.scalar * t.positive_vector).sum(),
    ],
)
def constant_factors(node: Node, facts: Facts) -> Node | None:
    """Σᵢ c xᵢ is c Σᵢ xᵢ."""
    op, product = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    if op.kind != "sum" or product.dtype == "bool":
        return None
    if function_of(product) == "neg":
        return apply("neg", Node(op, product.inputs[0]))
    if function_of(product) != "mul":
        return None
    rank = product.ndim
    outside = [x for x in product.inputs if len(constant_axes(x, rank, op.axes, product)) == len(op.axes)]
    if not outside or len(outside) == len(product.inputs):
        return None
    inside = [x for x in product.inputs if x not in outside]
    inner = inside[0] if len(inside) == 1 else Node(MUL, *inside)
    # The factors that leave may have stretched axes that are not summed; they do so again outside.
    summed = tuple(a - (rank - inner.ndim) for a in op.axes)
    if any(a < 0 or inner.static_shape[a] != product.static_shape[a + rank - inner.ndim] for a in summed):
        return None
    total = _reduced(op, inner, summed)
    return apply("mul", *(_aligned(x, rank, op.axes) for x in outside), total)


def _aligned(x: Node, rank: int, axes: Sequence[int]) -> Node:
    """A factor that is constant along `axes`, for a result without these axes."""
    return _without(x, rank, axes)


@rewrites(
    Reduce,
    name="constant conditions leave reductions",
    operands=["where"],
    examples=[
        lambda t: t.where(t.scalar > 0.0, t.vector, -np.inf).sum(),
        lambda t: t.where(t.column > 0.0, t.matrix, t.row).sum(axis=1),
        lambda t: t.where(t.scalar > 0.0, t.vector, t.x).max(),
    ],
)
def constant_condition(node: Node, facts: Facts) -> Node | None:
    """Σᵢ where(c, xᵢ, yᵢ) is where(c, Σᵢ xᵢ, Σᵢ yᵢ) for a condition that is the same for all i."""
    op, choice = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    if function_of(choice) != "where":
        return None
    condition, x, y = choice.inputs
    shape = choice.static_shape
    if len(constant_axes(condition, choice.ndim, op.axes, choice)) != len(op.axes):
        return None
    parts = [_reduced(op, broadcast_to(i, shape), op.axes) for i in (x, y)]
    return apply("where", _without(condition, choice.ndim, op.axes), *parts)


@rewrites(
    Reduce,
    name="reductions of joins",
    operands=[Concatenate],
    examples=[
        lambda t: t.concatenate([t.vector, t.x]).sum(),
        lambda t: t.concatenate([t.vector, t.x]).max(),
        lambda t: t.logsumexp(t.concatenate([t.vector, t.x]), 0),
    ],
)
def of_join(node: Node, facts: Facts) -> Node | None:
    """Every part is reduced on its own."""
    op, join = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    if not isinstance(join.op, Concatenate) or join.op.axis not in op.axes or len(join.inputs) > 8:
        return None
    if op.kind in ("max", "min") and not all(_filled(x, (join.op.axis,)) for x in join.inputs):
        return None
    together = _TOGETHER[op.kind]
    result = Node(op, join.inputs[0])
    for x in join.inputs[1:]:
        result = apply(together, result, Node(op, x))
    return result


@rewrites(
    Reduce,
    name="products of exponentials",
    operands=["exp"],
    examples=[lambda t: t.exp(t.vector).prod()],
)
def product_of_exponentials(node: Node, facts: Facts) -> Node | None:
    """Πᵢ exp(xᵢ) is exp(Σᵢ xᵢ)."""
    assert isinstance(node.op, Reduce)
    if node.op.kind != "prod" or function_of(node.inputs[0]) != "exp":
        return None
    return apply("exp", Node(Reduce("sum", node.op.axes), node.inputs[0].inputs[0]))


@rewrites(
    Reduce,
    name="extrema of increasing functions",
    operands=["exp", "neg", "add"],
    examples=[
        lambda t: t.exp(t.vector).max(),
        lambda t: (-t.vector).min(),
        lambda t: (t.vector + t.scalar).max(),
        lambda t: t.logsumexp(t.vector + t.scalar, 0),
    ],
)
def extremum_of_monotone(node: Node, facts: Facts) -> Node | None:
    """max(exp(x)) is exp(max(x)); constants leave extrema and log-sums of exponentials."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, Reduce)
    if op.kind not in ("max", "min", "logsumexp"):
        return None
    function = function_of(x)
    if function == "neg" and op.kind != "logsumexp":
        turned = "min" if op.kind == "max" else "max"
        return apply("neg", Node(Reduce(turned, op.axes), x.inputs[0]))
    if function == "exp" and op.kind != "logsumexp":
        return apply("exp", Node(op, x.inputs[0]))
    if function != "add" or x.dtype not in ("float64", "float32"):
        return None
    outside = [t for t in x.inputs if len(constant_axes(t, x.ndim, op.axes, x)) == len(op.axes)]
    if not outside or len(outside) == len(x.inputs):
        return None
    inside = [t for t in x.inputs if t not in outside]
    inner = inside[0] if len(inside) == 1 else Node(ADD, *inside)
    if inner.static_shape != x.static_shape:
        return None
    return apply("add", *(_without(t, x.ndim, op.axes) for t in outside), Node(op, inner))


@rewrites(
    Reduce,
    name="counting the true",
    operands=[Cast],
    examples=[lambda t: t.flag.astype("int64").max(), lambda t: t.flag.astype("float64").min()],
)
def extremum_of_truth(node: Node, facts: Facts) -> Node | None:
    """The greatest of truth values is whether any holds."""
    assert isinstance(node.op, Reduce)
    inner = node.inputs[0]
    if not isinstance(inner.op, Cast) or inner.inputs[0].dtype != "bool" or node.op.kind not in ("max", "min"):
        return None
    if not _filled(inner, node.op.axes):
        return None
    kind = "any" if node.op.kind == "max" else "all"
    return cast(Node(Reduce(kind, node.op.axes), inner.inputs[0]), node.dtype)


RULES: tuple[Rule, ...] = (
    trivial,
    nested,
    of_view,
    of_repeated,
    constant_terms,
    constant_factors,
    constant_condition,
    of_join,
    product_of_exponentials,
    extremum_of_monotone,
    extremum_of_truth,
)
