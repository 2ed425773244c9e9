"""One of several numbers, chosen by a random condition or index: mixtures, whose weights are the choice's masses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from consilience.distributions.mathematics import logical_and, where
from consilience.distributions.random_variable import is_random
from consilience.ir import Node, Shape, constant, constant_value, substitute, topological
from consilience.ir.region import regions_of
from consilience.ir.side_tables import pass_on
from consilience.logprob.derivation import derive, independent, is_measurable, parents_among, rule, together
from consilience.logprob.measure import EVERYWHERE, Ends, Measure, Sources, refusal
from consilience.logprob.truth import truth_value
from consilience.logprob.variables import Dirac
from consilience.ops.control import Cond, Item
from consilience.ops.elementwise import apply, as_tensor
from consilience.ops.index import Gather, Index, NewAxis
from consilience.ops.order import ArgSort
from consilience.ops.reduce import reduce
from consilience.ops.shape import full

# How many components are written out one by one.
MOST = 1000
# Functions for regions that are no branches.
_WRITERS: list[Callable[[list[Node]], list[Node]]] = []


class Chosen(Measure):
    """Components with the logarithms of their weights.

    Where a weight stands for several elements, these share the choice, and make up one event.
    """

    def __init__(
        self, node: Node, log_weights: list[Node], components: list[Measure], selector: Node, sources: Sources
    ) -> None:
        self.components = components
        lead = node.ndim - selector.ndim
        shared = [
            axis - node.ndim
            for axis in range(node.ndim)
            if axis < lead or (selector.static_shape[axis - lead] == 1 and node.static_shape[axis] != 1)
        ]
        own = {axis for part in components for axis in part.event_axes}
        if not own <= set(shared):
            raise refusal(
                node,
                "parts of one event are chosen from several, and depend on each other",
                "choose between whole events, with a condition that has length 1 along their axes",
            )
        discrete = all(part.discrete for part in components)
        super().__init__(
            node,
            sources,
            discrete=discrete,
            atomic=any(part.atomic for part in components),
            event_axes=tuple(shared),
            ends=_ends(components),
        )
        kept = tuple(axis - node.ndim for axis in range(lead, node.ndim) if axis - node.ndim in shared)
        squeezed = tuple(axis + node.ndim - lead for axis in kept)
        self.log_weights = [
            reduce("max", w, squeezed) if squeezed and w.ndim == selector.ndim else w for w in log_weights
        ]

    def logp(self, value: Node) -> Node:
        densities = [part.logp(value) for part in self.components]
        places = self._places(value, densities)
        if places is not None:
            anywhere = _any(places)
            densities = [
                where(logical_and(anywhere, apply("logical_not", at)), -math.inf, density)
                for at, density in zip(places, densities, strict=True)
            ]
        terms = []
        for part, density, weight in zip(self.components, densities, self.log_weights, strict=True):
            rest = tuple(axis for axis in self.event_axes if axis not in part.event_axes)
            if rest:
                places_left = [axis + sum(1 for other in part.event_axes if other > axis) for axis in rest]
                density = reduce("sum", density, places_left)
            terms.append(density + weight)
        return _log_sum(terms)

    def _places(self, value: Node, densities: list[Node]) -> list[Node] | None:
        """Where the value is an atom of each component; None where there is but one kind of component."""
        if self.discrete:
            return None
        found = []
        for part, density in zip(self.components, densities, strict=True):
            at = apply("gt", density, -math.inf) if part.discrete else part.atoms(value)
            found.append(at)
        if all(at is None for at in found):
            return None
        return [as_tensor(False) if at is None else at for at in found]

    def snapped(self, value: Node, error: Node) -> Node:
        for part in self.components:
            value = part.snapped(value, error)
        return value

    def atoms(self, value: Node) -> Node | None:
        if self.discrete:
            return super().atoms(value)
        places = self._places(value, [part.logp(value) for part in self.components])
        return None if places is None else _any(places)

    def _tail(self, value: Node, formula: str) -> Node:
        if self.event_axes:
            self.missing(formula)
        parts = zip(self.components, self.log_weights, strict=True)
        return apply("minimum", _log_sum([getattr(part, formula)(value) + weight for part, weight in parts]), 0.0)

    def logcdf(self, value: Node) -> Node:
        return self._tail(value, "logcdf")

    def logccdf(self, value: Node) -> Node:
        return self._tail(value, "logccdf")


def _any(places: list[Node]) -> Node:
    result = places[0]
    for place in places[1:]:
        result = apply("logical_or", result, place)
    return result


def _log_sum(terms: list[Node]) -> Node:
    result = terms[0]
    for term in terms[1:]:
        result = apply("logaddexp", result, term)
    return result


def _ends(parts: list[Measure]) -> Ends:
    found = []
    for side, choose in ((0, min), (1, max)):
        bounds = [part.ends[side] for part in parts]
        known = [constant_value(b) if isinstance(b, Node) else b for b in bounds]
        numbers = [float(k) for k in known if k is not None and getattr(k, "size", 1) == 1 and not isinstance(k, str)]
        found.append(choose(numbers) if len(numbers) == len(bounds) else EVERYWHERE[side])
    return found[0], found[1]


def _component(node: Node) -> Measure:
    return derive(node) if is_measurable(node) else Dirac(node)


def mixture(
    node: Node, choices: list[Node], log_weights: list[Node], selector: Node, chooser: Measure | None
) -> Measure:
    """The measure of a node that is one of the choices.

    `selector`: the condition or index. `chooser`: its measure; None where it is not random.
    """
    parts = [_component(choice) for choice in choices]
    for part in parts:
        if chooser is not None:
            independent(node, [chooser.sources, part.sources])
    random = [part for part in parts if part.sources]
    if node.ndim:  # elements of different choices must not come from the same random number
        sources = dict(together(node, [part.sources for part in random]))
    else:
        sources = {rv: None for part in random for rv in part.sources}
    if parents_among(sources):
        independent(node, [part.sources for part in random])
    if chooser is not None:
        sources |= chooser.sources
    return Chosen(node, log_weights, parts, selector, sources)


@rule("where")
def chosen_by_condition(node: Node) -> Measure:
    """`where` with a random condition or one that is not."""
    condition, *choices = node.inputs
    if is_measurable(condition):
        chooser = truth_value(condition)
        return mixture(node, choices, [chooser.log_true, chooser.log_false], condition, chooser)
    weights = [where(condition, 0.0, -math.inf), where(condition, -math.inf, 0.0)]
    return mixture(node, choices, weights, full(node.static_shape, True), None)


@rule(Index)
def chosen_by_index(node: Node) -> Measure | None:
    """A tensor at a random index, the other indices being constants."""
    assert isinstance(node.op, Index)
    x, *arrays = node.inputs
    random = [i for i, array in enumerate(arrays) if is_measurable(array)]
    if len(random) != 1 or isinstance(arrays[random[0]].op, ArgSort):
        return None
    gathered = [
        axis
        for axis, entry in enumerate(e for e in node.op.specification if not isinstance(e, NewAxis))
        if isinstance(entry, Gather)
    ]
    length = x.static_shape[gathered[random[0]]]
    if not isinstance(length, int) or length > MOST:
        raise refusal(node, f"the number of choices is not known, or above {MOST}", "index an axis of known length")
    index = arrays[random[0]]
    chooser = derive(index)
    choices, weights = [], []
    for k in range(length):
        own = list(arrays)
        own[random[0]] = _repeated(k, index.static_shape)
        choice = Node(node.op, x, *own)
        pass_on(node, choice)
        choices.append(choice)
        weights.append(chooser.logp(constant(k)))
    return mixture(node, choices, weights, index, chooser)


def _repeated(k: int, shape: Shape) -> Node:
    known = [n for n in shape if isinstance(n, int)]
    return constant(np.full(known, k)) if len(known) == len(shape) else full(shape, constant(k))


def also_written_out(write: Callable[[list[Node]], list[Node]]) -> Callable[[list[Node]], list[Node]]:
    """Register a function that puts other nodes in place of results of regions that are no branches."""
    _WRITERS.append(write)
    return write


def written_out(nodes: Sequence[Node]) -> list[Node]:
    """The graphs with `where` in place of branches that hold random variables, which rules do not look into.

    Series that loops draw become random variables.
    """
    replaced: dict[Node, Node] = {}
    loops = False
    for node in topological(nodes):
        if not isinstance(node.op, Item) or not isinstance(node.inputs[0].op, Cond):
            loops = loops or (isinstance(node.op, Item) and bool(regions_of(node.inputs[0].op)))
            continue
        branches = node.inputs[0].op
        condition, *operands = node.inputs[0].inputs
        if not any(map(is_random, operands)):
            continue
        choices = [region.apply(*operands)[node.op.position] for region in (branches.then, branches.otherwise)]
        (condition, *choices) = substitute([condition, *choices], replaced)
        chosen = apply("where", condition, *choices)
        pass_on(node, chosen)
        replaced[node] = chosen
    written = substitute(nodes, replaced) if replaced else list(nodes)
    for write in _WRITERS if loops else ():
        written = write(written)
    return written
