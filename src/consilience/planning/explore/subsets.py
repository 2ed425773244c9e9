"""Sums by what repeats in them, and choices by known masks: dear values only of the elements that need them."""

from __future__ import annotations

import numpy as np

from consilience.ir import Constant, Node, constant, rebuild
from consilience.ops import BroadcastTo, Elementwise, Index, IndexUpdate, Reduce, apply, cast
from consilience.ops.index import Gather
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to, full
from consilience.planning.explore.indices import NESTED, read_through, repeated
from consilience.planning.explore.matrix_products import LARGEST
from consilience.rewrite.facts import Facts
from consilience.rewrite.rule import Rule, rewrites
from consilience.rewrite.rules.operands import function_of, is_number

# Of so few elements the others need no index; and how deep choices are looked for in functions.
FEW = 0.25
INSIDE = 3
ROWS = (Gather(),)


def _places(x: Node) -> Node | None:
    """The index vector at which a vector is read."""
    read = isinstance(x.op, Index) and x.op.specification == ROWS and x.inputs[1].ndim == 1
    return x.inputs[1] if read else None


def _grouped(values: Node, places: Node, length: object) -> tuple[list[Node], Node] | None:
    """A product as factors that are the same wherever the index is, and the sums of the others by what it is."""
    if isinstance(values.op, BroadcastTo) and not values.inputs[0].ndim:
        factors = [values.inputs[0]]
    else:
        factors = list(values.inputs) if function_of(values) == "mul" else [values]
    shared = [x for x in factors if not x.ndim or (_places(x) is places and x.inputs[0].static_shape == (length,))]
    rest = [x for x in factors if x not in shared]
    if not shared or values.ndim != 1 or not isinstance(length, int):
        return None
    zeros = full((length,), 0.0, dtype=values.dtype)

    def summed(x: Node) -> Node:
        return Node(IndexUpdate(ROWS, "inc"), zeros, broadcast_to(x, places.static_shape), places)

    counts = summed(constant(np.ones((), values.dtype)))
    sums = summed(apply("mul", *rest) if len(rest) > 1 else rest[0]) if rest else counts
    # What nothing is read of may be infinite, and infinity times no elements is nothing.
    filled = apply("gt", counts, 0.0)
    return [apply("where", filled, x.inputs[0] if x.ndim else x, 0.0) for x in shared], sums


@rewrites(
    Reduce,
    name="sum by counts of what is read",
    operands=[Index, "mul"],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: t.vector[t.constant([0, 3, 3, 1, 0, 0])].sum(),
        lambda t: (t.exp(t.vector3)[t.constant([0, 2, 2, 0])] * t.vector4).sum(),
        lambda t: (t.vector3[t.constant([1, 2, 2])] * t.numbers3[t.constant([1, 2, 2])] * t.scalar).sum(),
    ],
)
def sum_by_counts(node: Node, facts: Facts) -> Node | None:
    """The sum of f[g] y is that of f times the sums of y by g, which are counts where y is 1."""
    values = node.inputs[0]
    assert isinstance(node.op, Reduce)
    if node.op.kind != "sum" or values.ndim != 1 or node.dtype != "float64":
        return None
    factors = values.inputs if function_of(values) == "mul" else (values,)
    for places in dict.fromkeys(p for x in factors if (p := _places(x)) is not None):
        source = next(x for x in factors if _places(x) is places).inputs[0]
        if repeated(source, places, 1.0) and (found := _grouped(values, places, source.static_shape[0])) is not None:
            return reduce("sum", apply("mul", *found[0], found[1]), 0)
    return None


@rewrites(
    IndexUpdate,
    name="sums by groups of what is the same in a group",
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: t.node(
            IndexUpdate(ROWS, "inc"), full((2,), 0.0), t.matrix_c[:, 0][t.places % 2] * t.row[t.places], t.places % 2
        ),
        lambda t: t.node(IndexUpdate(ROWS, "inc"), full((2,), 0.0), t.broadcast_to(t.scalar, (2,)), t.places % 2),
    ],
)
def group_sums(node: Node, facts: Facts) -> Node | None:
    """The sums by g of f[g] y are f times the sums of y by g."""
    assert isinstance(node.op, IndexUpdate)
    base, values, *arrays = node.inputs
    none = isinstance(base.op, BroadcastTo) and isinstance(base.inputs[0].op, Constant) and is_zero(base.inputs[0])
    if (
        not none
        or node.dtype != "float64"
        or node.op.mode != "inc"
        or node.op.specification != ROWS
        or arrays[0].ndim != 1
    ):
        return None
    if isinstance(values.op, BroadcastTo) and isinstance(values.inputs[0].op, Constant):
        return None  # counts
    found = _grouped(values, arrays[0], node.static_shape[0]) if repeated(base, arrays[0], 1.0) else None
    return apply("mul", *found[0], found[1]) if found is not None else None


def is_zero(x: Node) -> bool:
    """Whether a constant is the number 0."""
    assert isinstance(x.op, Constant)
    return is_number(x) and not x.op.array.any()


def _subset(x: Node, positions: tuple[Node, ...], facts: Facts) -> Node:
    """The elements of a tensor at known positions, read of what its functions are made of."""
    return read_through(Node(Index((Gather(),) * x.ndim), x, *positions), NESTED, {}, facts)


def _positions(mask: Node) -> tuple[Node, ...]:
    assert isinstance(mask.op, Constant)
    return tuple(constant(p.astype("int64")) for p in np.nonzero(mask.op.array))


@rewrites(
    "where",
    name="choice by subsets",
    tier="explore",
    every_dtype=True,
    examples=[
        lambda t: t.where(t.constant([True, False, False, False, True]), t.exp(t.vector), t.x),
        lambda t: t.where(t.constant([True, True, False, True, True]), t.vector, t.exp(t.x * t.scalar)),
        lambda t: t.where(t.constant([[True, False, False, False]] * 3), t.exp(t.matrix * t.row), t.matrix),
    ],
)
def chosen_subset(node: Node, facts: Facts) -> Node | None:
    """Where few elements are chosen, they alone are computed and put among the others."""
    mask, *branches = node.inputs
    if not isinstance(mask.op, Constant) or mask.static_shape != node.static_shape or not node.ndim:
        return None
    share = float(mask.op.array.mean()) if mask.op.array.size else 0.5
    first = share <= 0.5
    few, many = branches if first else branches[::-1]
    if few.type != node.type or not isinstance(few.op, Elementwise):
        return None
    positions = _positions(mask if first else constant(~mask.op.array))
    specification = (Gather(),) * node.ndim
    values = _subset(few, positions, facts)
    others = broadcast_to(cast(many, node.dtype), node.static_shape)
    return Node(IndexUpdate(specification, "set"), others, values, *positions)


@rewrites(
    Reduce,
    name="sum of choices by subsets",
    operands=[Elementwise],
    tier="explore",
    within=LARGEST,
    examples=[
        lambda t: t.where(t.constant([True, False, False, False, True]), t.exp(t.vector), t.x).sum(),
        lambda t: (t.y * t.where(t.constant([True, True, False, True, True]), t.vector, t.exp(t.x))).sum(),
        lambda t: (t.where(t.constant([True, False, True, False, True]), t.exp(t.vector), 0.0) * t.x + t.y).sum(),
    ],
)
def sum_of_subsets(node: Node, facts: Facts) -> Node | None:
    """The sum of where(m, x, y) is the sum of x where m holds, and that of y elsewhere: read there, or 0 at the few."""
    values = node.inputs[0]
    assert isinstance(node.op, Reduce)
    choice = _choice_in(values, INSIDE)
    if node.op.kind != "sum" or len(node.op.axes) != values.ndim or choice is None:
        return None
    mask = choice.inputs[0].op
    assert isinstance(mask, Constant)
    share = float(mask.array.mean()) if mask.array.size else 0.0
    few, other = (mask.array, choice.inputs[2]) if share <= 0.5 else (~mask.array, choice.inputs[1])
    if not few.any():
        return None
    if few.mean() <= FEW:
        rest = apply("where", constant(few), 0.0, _exchanged(values, choice, other, INSIDE))
        rest = reduce("sum", rest)
    else:
        rest = reduce("sum", _subset(values, _positions(constant(~few)), facts), 0)
    return apply("add", reduce("sum", _subset(values, _positions(constant(few)), facts), 0), rest)


def _choice_in(x: Node, depth: int) -> Node | None:
    """A choice by a known mask of this shape in a function."""
    if (
        function_of(x) == "where"
        and isinstance(x.inputs[0].op, Constant)
        and x.inputs[0].static_shape == x.static_shape
    ):
        return x
    if not isinstance(x.op, Elementwise) or not depth or not x.ndim:
        return None
    inner = (i for i in x.inputs if i.static_shape == x.static_shape)
    return next((found for i in inner if (found := _choice_in(i, depth - 1)) is not None), None)


def _exchanged(x: Node, old: Node, new: Node, depth: int) -> Node:
    if x is old:
        return broadcast_to(cast(new, old.dtype), old.static_shape)
    if not isinstance(x.op, Elementwise) or not depth:
        return x
    return rebuild(x, tuple([_exchanged(i, old, new, depth - 1) for i in x.inputs]))


RULES: tuple[Rule, ...] = (sum_by_counts, group_sums, chosen_subset, sum_of_subsets)
