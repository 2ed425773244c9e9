"""The joint density of several nodes: a factor for each, given the values of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from consilience.distributions.random_variable import random_variables
from consilience.distributions.shapes import broadcast
from consilience.ir import Node, substitute
from consilience.ir.side_tables import describe, pass_on, without_sources
from consilience.logprob.derivation import derive, direct_variables, independent, is_measurable
from consilience.logprob.measure import Measure, refusal
from consilience.ops.elementwise import cast
from consilience.ops.shape import broadcast_to
from consilience.record import Record


class Joint(Record):
    """Nodes that have values, each with its measure given the others, and its log density.

    `origins`: values of random variables that follow from those of the nodes.
    """

    measures: dict[Node, Measure]
    densities: list[Node]
    origins: dict[Node, Node]


def joint(values: Mapping[Node, Node], density: Callable[[Measure, Node], Node]) -> Joint:
    """The factors of the joint density of nodes, each given the values of the others.

    density: The log density of a measure at a value.
    Raises MissingRuleError: Where a factor cannot be derived, or two nodes share their randomness.
    """
    measures: dict[Node, Measure] = {}
    for node in values:
        if not is_measurable(node):
            raise refusal(node, "it does not depend on a random variable", "leave it out of the values")
        (conditioned,) = substitute([node], {o: typed(o, value) for o, value in values.items() if o is not node})
        pass_on(node, conditioned)
        if not is_measurable(conditioned):
            raise refusal(
                node,
                "it follows from the values that were given for other nodes",
                "leave out its value or theirs",
            )
        measures[node] = derive(conditioned)
    held: list[Measure] = []
    for node, measure in measures.items():
        for other in held:
            shared = [rv for rv in measure.sources if rv in other.sources]
            independent(node, [{rv: one.sources[rv] for rv in shared} for one in (measure, other)])
        held.append(measure)
    with without_sources():
        results = [density(measure, values[node]) for node, measure in measures.items()]
        known: dict[Node, Node] = {}
        for node, measure in measures.items():
            found = measure.origins(typed(node, values[node]))
            known |= {rv: typed(rv, value) for rv, value in found.items()}
        results = substitute(results, known)
        for node, result in zip(measures, results, strict=True):
            left = set(random_variables([result])) & {rv for other in measures for rv in direct_variables(other)}
            if left:
                raise refusal(
                    node,
                    f"it depends on {describe(left.pop())}, whose value does not follow from those of the other nodes",
                    "give the value of that variable itself",
                )
    return Joint(measures, results, known)


def typed(node: Node, value: Node) -> Node:
    """A value in the place of its node: of its element type, and of its shape where it is smaller."""
    made = cast(value, node.dtype)
    shape = broadcast([node.static_shape, made.static_shape], "a value")
    return made if made.static_shape == shape else broadcast_to(made, shape)
