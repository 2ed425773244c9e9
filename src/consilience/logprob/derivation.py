"""The dispatcher: from a node to its measure, by the rule of its op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from consilience.distributions.random_variable import is_random, random_variables
from consilience.ir import Node, Op, topological
from consilience.ir.side_tables import describe, without_sources
from consilience.logprob.measure import Measure, Sources, refuse
from consilience.ops.elementwise import Elementwise

Rule: TypeAlias = "Callable[[Node], Measure | None]"

# Per op, or name of a scalar function, the rules in order; a rule gives None where it does not apply.
RULES: Final[dict[type[Op] | str, list[Rule]]] = {}


def rule(*of: type[Op] | str) -> Callable[[Rule], Rule]:
    """Register a rule for ops and names of scalar functions."""

    def register(function: Rule) -> Rule:
        for key in of:
            RULES.setdefault(key, []).append(function)
        return function

    return register


def direct_variables(node: Node) -> list[Node]:
    """The random variables that a node is computed from, without those in their parameters."""
    return [n for n in topological([node], stop=is_random) if is_random(n)]


def is_measurable(node: Node) -> bool:
    """Whether a node is random, given the parents of the random variables it is made of."""
    return bool(direct_variables(node))


def derive(node: Node) -> Measure:
    """The measure of a random node.

    raises   MissingRuleError, which names the node that stops the derivation
    """
    if not is_measurable(node):
        refuse(node, "it does not depend on a random variable", "a deterministic node has no density")
    key = node.op.function if isinstance(node.op, Elementwise) else type(node.op)
    with without_sources():
        for candidate in RULES.get(key, ()):
            measure = candidate(node)
            if measure is not None:
                return measure
    random = [operand for operand in node.inputs if operand.dtype != "key" and is_measurable(operand)]
    if len(random) > 1:
        listed = " and ".join(describe(operand) for operand in random)
        refuse(
            node,
            f"{len(random)} random operands meet in one step that cannot be inverted, {listed}",
            "give all but one of them values with `conditional_logp`, or write the density as `CustomDist(logp=)`",
        )
    refuse(node, f"there is no rule for `{node.op!r}`", "write the density as `CustomDist(logp=)`")


def sole_random(node: Node) -> int | None:
    """Position of the only random operand; None where several are random."""
    places = [i for i, operand in enumerate(node.inputs) if is_measurable(operand)]
    return places[0] if len(places) == 1 else None


def not_repeated(node: Node, argument: Node) -> bool:
    """Whether every element of the argument enters one element of the result: no axis is stretched."""
    own, shape = argument.static_shape, node.static_shape
    lead = len(shape) - len(own)
    return all(n == 1 for n in shape[:lead]) and all(
        a != 1 or b == 1 for a, b in zip(own, shape[lead:], strict=True)
    )


def require_not_repeated(node: Node, argument: Node) -> None:
    """Refuse a step that makes several elements of one random number."""
    if not not_repeated(node, argument):
        refuse(
            node,
            f"it repeats one random number over several elements, {describe(argument)}",
            "give the variable the full `shape`, or index the deterministic operand",
        )


def merged(parts: Sequence[Measure]) -> Sources | None:
    """The sources of several measures together; None where the parts are not independent given their parents."""
    sources: dict[Node, np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None] = {}
    for part in parts:
        for rv, positions in part.sources.items():
            if rv in sources:
                held = sources[rv]
                if held is None or positions is None or np.intersect1d(held, positions).size:
                    return None
                sources[rv] = np.union1d(held, positions)
            else:
                sources[rv] = positions
    for rv in sources:
        if any(parent in sources for parent in random_variables(rv.inputs)):
            return None
    return sources


def independent(node: Node, parts: Sequence[Measure]) -> Sources:
    """As `merged`; refuses parts that are not independent."""
    sources = merged(parts)
    if sources is None:
        refuse(
            node,
            "its operands share a random variable, or one is a parameter of another, so they are not independent",
            "give the shared variable a value with `conditional_logp`",
        )
    return sources


