"""Chains of finite discrete variables: their sum over all paths, and draws of a path, by products of matrices.

Log weights of states and of pairs of neighbouring states in; the logarithm of the sum over all paths, or a path out.
A product of T matrices takes log2(T) steps of products side by side, so that no loop is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from consilience.analysis.separability import gathered, links
from consilience.distributions.mathematics import less
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ops.arrangement import take_along_axis
from consilience.ops.index import At, Index, SliceIndex
from consilience.ops.reduce import cumulative, reduce, softmax
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, moveaxis, reshape
from consilience.record import Record
from consilience.transforms.vectorize import vectorize


class Part(Record):
    """What reads a part of a variable along one axis.

    `node`: the part. `start`: first position; `fixed` for a single position, whose axis is lost.
    """

    node: Node
    start: int
    fixed: bool


class Weights(Record):
    """Log weights of the paths of a chain: a path's is the sum along it.

    `axis`: the axis of the variable along which its elements are neighbours. `states`: of each state at each place (T,
    *rest, K); rest are the other axes of the variable. `pairs`: of a state and the next one (T - 1, *rest, K, K); None
    where neighbours are independent.
    """

    axis: int
    states: Node
    pairs: Node | None


def weights(leaf: Node, factors: Sequence[Node], least: int, count: int) -> Weights | None:
    """What factors say about a variable whose elements act together with the next one only; None for any other.

    `factors`: log densities; what counts is the sum of all their elements.
    """
    for axis, length in enumerate(leaf.static_shape):
        if isinstance(length, int) and length > 1:
            found = [_of_factor(leaf, axis, length, factor, least, count) for factor in factors]
            if all(one is not None for one in found):
                tables = [one for one in found if one is not None]
                states, pairs = (_total([t for paired, t in tables if paired is which]) for which in (False, True))
                if states is None:
                    states = broadcast_to(constant(0.0), (count, *leaf.static_shape))
                order = moveaxis(moveaxis(states, 0, -1), axis, 0)
                if pairs is None:
                    return Weights(axis, order, None)
                return Weights(axis, order, moveaxis(moveaxis(pairs, (0, 1), (-2, -1)), axis, 0))
    return None


def _total(tables: Sequence[Node]) -> Node | None:
    result = None
    for table in tables:
        result = table if result is None else result + table
    return result


def _of_factor(leaf: Node, axis: int, length: int, factor: Node, least: int, count: int) -> tuple[bool, Node] | None:
    """Whether a factor acts on pairs, and its table (K, *shape) or (K, K, *shape but one along the axis)."""
    views = _views(leaf, axis, length, factor)
    if views is None or len({view.fixed for view in views}) > 1:
        return None
    inputs = [tensor_input(leaf.dtype, view.node.static_shape) for view in views]
    (written,) = substitute([factor], {v.node: own for v, own in zip(views, inputs, strict=True)})
    if leaf in topological([written]):
        return None
    start = min(view.start for view in views)
    offsets = [view.start - start for view in views]
    if max(offsets) > 1 or len({own.static_shape for own in inputs}) > 1:
        return None
    linked = [links(written, own) or {} for own in inputs]
    first = inputs[0]
    needed = {i for i, n in enumerate(first.static_shape) if n != 1}
    if any(needed != {link.axis for link in own.values()} for own in linked):
        return None
    paired = max(offsets) == 1
    if any(own != linked[0] for own in linked) or (paired and any(k.places is not None for k in linked[0].values())):
        return None
    numbers = np.arange(least, least + count)
    grid = np.stack([np.repeat(numbers, count), np.tile(numbers, count)]) if paired else numbers[None]
    each = [reshape(constant(values, leaf.dtype), (-1, *(1 for _ in first.static_shape))) for values in grid]
    given = {
        own: broadcast_to(each[offset], (grid.shape[1], *first.static_shape))
        for own, offset in zip(inputs, offsets, strict=True)
    }
    (batched,) = vectorize([written], given)
    table = gathered(batched, linked[0], first)
    table = expand_dims(table, axis + 1) if views[0].fixed else table
    taken = 1 if views[0].fixed else first.static_shape[axis]
    assert isinstance(taken, int)
    after = length - (1 if paired else 0) - start - taken
    table = _padded(table, axis + 1, start, after)
    return paired, reshape(table, (count, count, *table.static_shape[1:])) if paired else table


def _views(leaf: Node, axis: int, length: int, factor: Node) -> list[Part] | None:
    """The parts of a variable that a factor reads; None where it reads anything but parts along one axis."""
    found: dict[Node, Part] = {}
    for node in topological([factor]):
        if leaf not in node.inputs:
            continue
        reads = isinstance(node.op, Index) and len(node.inputs) == 1
        entries = node.op.specification if isinstance(node.op, Index) and reads else ()
        others = [entry for place, entry in enumerate(entries) if place != axis]
        if len(entries) == leaf.ndim and all(entry == SliceIndex() for entry in others):
            entry = entries[axis]
            if isinstance(entry, At):
                found[node] = Part(node, entry.position % length, True)
                continue
            if isinstance(entry, SliceIndex) and entry.static and entry.step in (None, 1) and len(entry.range(length)):
                found[node] = Part(node, entry.range(length).start, False)
                continue
        found[leaf] = Part(leaf, 0, False)
    return list(found.values()) or None


def _padded(table: Node, axis: int, before: int, after: int) -> Node:
    """A table with zeros at the places along an axis of which it says nothing."""
    shape = table.static_shape
    zeros = [broadcast_to(constant(0.0), (*shape[:axis], n, *shape[axis + 1 :])) for n in (before, after)]
    parts = [zeros[0]] * (before > 0) + [table] + [zeros[1]] * (after > 0)
    return concatenate(parts, axis)


def log_sum(of: Weights) -> Node:
    """Logarithm of the sum over all paths, with the shape of the other axes."""
    assert of.pairs is not None
    steps = _steps(of.states, of.pairs)
    number = steps.static_shape[0]
    assert isinstance(number, int)
    while number > 1:
        even = number - number % 2
        joined = _product(steps[0:even:2], steps[1:even:2])
        steps = concatenate([joined, steps[even:]]) if number % 2 else joined
        number = number // 2 + number % 2
    return reduce("logsumexp", steps[0], (-2, -1))


def drawn_path(of: Weights, uniform: Node) -> tuple[Node, Node]:
    """A path with the probability of its weight, and the log probability of each state at each place.

    `uniform`: numbers between 0 and 1 (T, *rest). Returns: numbers of states (T, *rest), and (T, *rest, K).
    """
    assert of.pairs is not None
    number = of.states.static_shape[0]
    assert isinstance(number, int)
    steps = _steps(of.states, of.pairs)
    until = reduce("logsumexp", _running(steps), -2)
    ahead = of.pairs + expand_dims(of.states[1:], of.states.ndim - 1)
    # Backwards the product of transposed matrices runs along the reversed chain.
    beyond = reduce("logsumexp", _running(moveaxis(ahead, -1, -2)[::-1]), -2)[::-1]
    before = concatenate([of.states[:1], until])
    behind = concatenate([beyond, broadcast_to(constant(0.0), (1, *of.states.static_shape[1:]))])
    # The state at each place for every state at the next one; such functions are put together two by two.
    choice = moveaxis(expand_dims(before[:-1], before.ndim) + of.pairs, -1, -2)
    maps = _category(choice, expand_dims(uniform[:-1], uniform.ndim))
    last = _category(before[-1], uniform[-1])
    lag = 1
    while lag < number - 1:
        maps = concatenate([take_along_axis(maps[:-lag], maps[lag:], -1), maps[-lag:]])
        lag *= 2
    ends = broadcast_to(expand_dims(expand_dims(last, 0), last.ndim + 1), (number - 1, *last.static_shape, 1))
    path = concatenate([take_along_axis(maps, ends, -1)[..., 0], expand_dims(last, 0)])
    return path, softmax(before + behind, -1, logarithm=True)


def _steps(states: Node, pairs: Node) -> Node:
    """Matrices whose product has the weights of all paths between the first and the last state."""
    steps = pairs + expand_dims(states[1:], states.ndim - 1)
    first = steps[:1] + expand_dims(states[:1], states.ndim)
    return concatenate([first, steps[1:]]) if states.static_shape[0] != 2 else first


def _product(left: Node, right: Node) -> Node:
    """log(exp(left) @ exp(right)) of matrices."""
    return reduce("logsumexp", expand_dims(left, left.ndim) + expand_dims(right, right.ndim - 2), -2)


def _running(steps: Node) -> Node:
    """The products of the first matrix with those that follow, up to each of them."""
    number, lag = steps.static_shape[0], 1
    assert isinstance(number, int)
    while lag < number:
        steps = concatenate([steps[:lag], _product(steps[:-lag], steps[lag:])])
        lag *= 2
    return steps


def _category(log_weights: Node, uniform: Node) -> Node:
    """The number of the last axis at which the running sum of probabilities reaches a number between 0 and 1."""
    sums = cumulative("sum", softmax(log_weights, -1), -1)[..., :-1]
    return reduce("sum", less(sums, expand_dims(uniform, uniform.ndim)), -1)
