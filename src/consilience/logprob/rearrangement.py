"""Elements of a random tensor at other places, or some of them: index, slice, reshape, transpose, expand, squeeze."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from consilience.backends.reference import evaluate
from consilience.distributions.densities import support_point
from consilience.distributions.random_variable import (
    RandomVariable,
    batch_part,
    distribution_of,
    fresh_key,
    is_random,
)
from consilience.distributions.shapes import broadcast, spread
from consilience.ir import Node, Op, constant, constant_value, is_leaf, substitute, topological
from consilience.ir.dimension import product
from consilience.ir.side_tables import pass_on
from consilience.logprob.derivation import derive, direct_variables, is_measurable, rule, sole_random
from consilience.logprob.measure import Measure, refusal
from consilience.logprob.variables import VariableMeasure, elements_of
from consilience.ops.elementwise import Cast, Elementwise, cast
from consilience.ops.index import FULL, At, Gather, Index, NewAxis, getitem, index_set
from consilience.ops.random import counters
from consilience.ops.reduce import reduce
from consilience.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    broadcast_to,
    reshape,
)
from consilience.record import replace


def rearranged(op: Op, arrays: tuple[Node, ...], x: Node, trailing: int = 0) -> Node:
    """The elements of x, where the op ends before the last axes."""
    if isinstance(op, Index):
        return Node(Index((*op.specification, *[FULL] * trailing)), x, *arrays)
    rank = x.ndim - trailing
    if isinstance(op, Reshape | BroadcastTo):
        return Node(replace(op, shape=(*op.shape, *x.static_shape[rank:])), x)
    if isinstance(op, Transpose):
        return Node(Transpose((*op.axes, *range(rank, x.ndim))), x)
    return Node(op, x)


def before_event(op: Op, node: Node, argument: Node, rank: int) -> Op | None:
    """The op on the axes before the last `rank` ones; None where it touches these."""
    if not rank:
        return op
    if isinstance(op, Index):
        kept = op.specification[-rank:] == (FULL,) * rank
        return Index(op.specification[:-rank]) if kept else None
    if isinstance(op, Reshape | BroadcastTo):
        kept = node.static_shape[-rank:] == argument.static_shape[-rank:]
        return replace(op, shape=op.shape[:-rank]) if kept else None
    if isinstance(op, Transpose):
        first = argument.ndim - rank
        return Transpose(op.axes[:-rank]) if op.axes[-rank:] == tuple(range(first, argument.ndim)) else None
    assert isinstance(op, ExpandDims | Squeeze)
    return op if all(axis < max(node.ndim, argument.ndim) - rank for axis in op.axes) else None


def positions_of(node: Node) -> npt.NDArray[np.int64] | None:
    """Where the elements of the result stand in the flattened argument; None where that is not known."""
    argument = node.inputs[0]
    shape = [n for n in argument.static_shape if isinstance(n, int)]
    if len(shape) < argument.ndim or not all(constant_value(i) is not None for i in node.inputs[1:]):
        return None
    if isinstance(node.op, Index) and not all(
        isinstance(e, At | Gather | NewAxis) or e.static for e in node.op.specification
    ):
        return None
    places = constant(np.arange(math.prod(shape)).reshape(shape))
    return np.asarray(evaluate([Node(node.op, places, *node.inputs[1:])], {})[0])


def all_elements(node: Node) -> Measure | None:
    """All elements of one random vector or series in another order, by several steps; None for any other."""
    variables = direct_variables(node)
    if len(variables) != 1 or not all(isinstance(n, int) for n in (*variables[0].static_shape, *node.static_shape)):
        return None
    (rv,) = variables
    steps = [n for n in topological([node], stop=is_random) if not is_random(n) and is_measurable(n)]
    if not all(map(_moves_elements, steps)):
        return None
    measure = derive(rv)
    size = math.prod(int(n) for n in rv.static_shape)
    counted = constant(np.arange(size, dtype=rv.dtype).reshape(rv.static_shape))
    (placed,) = substitute([node], {rv: counted})
    if not measure.event_axes or any(is_leaf(n) for n in topological([placed])):
        return None
    places = np.asarray(evaluate([placed], {})[0]).astype("int64")
    if places.size != size or np.unique(places).size != size:
        return None
    return Selected(node, measure, None, places, places)


def _moves_elements(node: Node) -> bool:
    """Whether a step only puts elements elsewhere, or converts them."""
    if isinstance(node.op, Concatenate):
        return True
    moving = isinstance(node.op, Index | Reshape | Transpose | ExpandDims | Squeeze | Cast)
    return moving and not any(map(is_measurable, node.inputs[1:]))


@rule(Index, Reshape, Transpose, ExpandDims, Squeeze, BroadcastTo)
def rearrangement(node: Node) -> Measure | None:
    """Pushed down to the parameters of random variables where these are elementwise, else by scattered values."""
    argument, *arrays = node.inputs
    if any(is_measurable(array) for array in arrays):
        return None
    places = positions_of(node)
    _check_unique(node, places)
    if isinstance(argument.op, Elementwise) and argument.op.function != "where" and sole_random(argument) is not None:
        return derive(_of_operands(node, argument))
    if isinstance(argument.op, RandomVariable):
        part = _part_of_variable(node, argument, places)
        if part is not None:
            return VariableMeasure(part)
    measure = derive(argument)
    rank = -min(measure.event_axes) if measure.event_axes else 0
    complete = places is not None and places.size == product(argument.static_shape)
    op = before_event(node.op, node, argument, rank)
    return None if op is None and not complete else Selected(node, measure, op, places if complete else None, places)


def _check_unique(node: Node, places: npt.NDArray[np.int64] | None) -> None:
    if places is not None:
        repeated = np.unique(places).size != places.size
    elif isinstance(node.op, BroadcastTo):
        own, shape = node.inputs[0].static_shape, node.static_shape
        padded = (1,) * (len(shape) - len(own)) + own
        repeated = any(a == 1 and b != 1 for a, b in zip(padded, shape, strict=True))
    else:
        repeated = any(array.ndim for array in node.inputs[1:])
    if repeated:
        raise refusal(
            node,
            "it repeats elements of a random tensor, or its index is not known to be without repetition",
            "index with constants that differ, or give the variable the full `shape`",
        )


def _of_operands(node: Node, argument: Node) -> Node:
    """The op on every operand of an elementwise step in place of its result."""
    shape, arrays = argument.static_shape, node.inputs[1:]
    operands = []
    for operand in argument.inputs:
        if not operand.ndim and not is_measurable(operand):
            operands.append(operand)
            continue
        new = rearranged(node.op, arrays, spread(operand, shape))
        pass_on(operand, new)
        operands.append(new)
    result = Node(argument.op, *operands)
    pass_on(argument, result)
    return result


def _part_of_variable(node: Node, rv: Node, places: npt.NDArray[np.int64] | None) -> Node | None:
    """A random variable with the parameters at the places; None where these cannot be found by the axes."""
    bound = distribution_of(rv)
    op = before_event(node.op, node, rv, bound.event_rank)
    if op is None or bound.components or bound.declared() == (None,) * len(bound.values):
        return None
    assert isinstance(rv.op, RandomVariable)
    batch = batch_part(rv.static_shape, bound)
    values = []
    for value, rank in zip(bound.values, bound.event_ranks(), strict=True):
        if value.ndim > rank:
            full = spread(value, (*batch, *value.static_shape[value.ndim - rank :]))
            value = rearranged(op, node.inputs[1:], full, rank)
        values.append(value)
    part = Node(replace(rv.op, shape=node.static_shape), fresh_key(), *values)
    pass_on(rv, part)
    return elements_of(part, rv, places)


def anywhere(node: Node) -> Node:
    """A value inside the support: the node's at the support points of its variables."""
    points = {rv: support_point(rv) for rv in direct_variables(node)}
    return substitute([node], points)[0]


class Selected(Measure):
    """Elements of a measure, by values of it that have the given ones at their places."""

    def __init__(
        self,
        node: Node,
        argument: Measure,
        op: Op | None,
        order: npt.NDArray[np.int64] | None,
        places: npt.NDArray[np.int64] | None,
    ) -> None:
        """What is selected.

        `op`: on the axes before those of one event; None where it moves elements within events. `order`: places of the
        elements in the argument, where all of them are there. `places`: places, where they are known.
        """
        axes = argument.event_axes if op is not None else tuple(range(-node.ndim, 0))
        sources = argument.sources
        if isinstance(argument.node.op, RandomVariable) and not axes and places is not None:
            sources = {rv: places.ravel() if held is None else held for rv, held in sources.items()}
        super().__init__(
            node,
            sources,
            discrete=argument.discrete,
            whole=argument.whole,
            atomic=argument.atomic,
            event_axes=axes,
            ends=argument.ends,
        )
        self.argument, self.op = argument, op
        self.origin = None if order is None else np.argsort(order.ravel())

    def _spread(self, value: Node, filling: Node) -> Node:
        """Values of the argument, of a batch of values of the node."""
        shape, own = self.shape, self.argument.shape
        full = broadcast_to(value, broadcast([shape, value.static_shape], "a value"))
        batch = full.static_shape[: full.ndim - len(shape)]
        flat = reshape(full, (*batch, product(shape)))
        if self.origin is not None:
            spread_out = getitem(flat, (..., constant(self.origin.astype("int64"))))
        else:
            from_argument = reshape(rearranged(self.node.op, self.node.inputs[1:], counters(own)), (-1,))
            filled = reshape(broadcast_to(filling, own), (product(own),))
            spread_out = index_set(getitem(broadcast_to(filled, (*batch, product(own))), (..., from_argument)), flat)
        return reshape(spread_out, (*batch, *own))

    def _taken(self, result: Node, value: Node) -> Node:
        """The numbers of the argument's elements, at the places of the node's."""
        rank = max(value.ndim - len(self.shape), 0)
        if self.op is None:
            axes = tuple(range(rank, result.ndim))
            return reduce("sum", result, axes) if axes else result
        batch = tuple(range(rank))
        if not rank:
            return rearranged(self.op, self.node.inputs[1:], result)
        turned = Node(Transpose((*range(rank, result.ndim), *batch)), result)
        taken = rearranged(self.op, self.node.inputs[1:], turned, rank)
        return Node(Transpose((*range(taken.ndim - rank, taken.ndim), *range(taken.ndim - rank))), taken)

    def logp(self, value: Node) -> Node:
        full = self._spread(value, cast(anywhere(self.argument.node), value.dtype))
        return self._taken(self.argument.logp(full), value)

    def logcdf(self, value: Node) -> Node:
        full = self._spread(value, cast(anywhere(self.argument.node), value.dtype))
        return self._taken(self.argument.logcdf(full), value)

    def logccdf(self, value: Node) -> Node:
        full = self._spread(value, cast(anywhere(self.argument.node), value.dtype))
        return self._taken(self.argument.logccdf(full), value)

    def quantile(self, q: Node) -> Node:
        return self._taken(self.argument.quantile(self._spread(q, constant(0.5))), q)

    def snapped(self, value: Node, error: Node) -> Node:
        full = self._spread(value, cast(anywhere(self.argument.node), value.dtype))
        moved = self.argument.snapped(full, self._spread(error, constant(0.0)))
        return value if moved is full or self.op is None or self.event_axes else self._taken(moved, value)

    def origins(self, value: Node) -> Mapping[Node, Node]:
        return {} if self.origin is None else self.argument.origins(self._spread(value, constant(0.0)))

    def atoms(self, value: Node) -> Node | None:
        if self.discrete:
            return super().atoms(value)
        full = self._spread(value, cast(anywhere(self.argument.node), value.dtype))
        found = self.argument.atoms(full)
        if found is None or found.ndim < len(self.argument.shape):
            return found
        if self.op is None:
            self.missing("logp")
        return self._taken(found, value)
