"""The dispatcher: from a node to its measure, by the rule of its op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.distributions.random_variable import is_random, random_variables
from consilience.ir import Node, Op, topological
from consilience.ir.side_tables import describe, without_sources
from consilience.logprob.measure import Measure, Sources, refusal
from consilience.ops.elementwise import Elementwise

Rule: TypeAlias = Callable[[Node], Measure | None]

# Per op, or name of a scalar function, the rules in order; a rule gives None where it does not apply.
RULES: Final[dict[type[Op] | str, list[Rule]]] = {}


# Rules that are tried when none of these applies.
LAST_RULES: Final[dict[type[Op] | str, list[Rule]]] = {}


def rule(*of: type[Op] | str, last: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for ops and names of scalar functions; `last` is for those that others go before."""

    def register(function: Rule) -> Rule:
        for key in of:
            (LAST_RULES if last else RULES).setdefault(key, []).append(function)
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

    Raises MissingRuleError: which names the node that stops the derivation.
    """
    if not is_measurable(node):
        raise refusal(node, "it does not depend on a random variable", "a deterministic node has no density")
    key = node.op.function if isinstance(node.op, Elementwise) else type(node.op)
    with without_sources():
        for candidate in (*RULES.get(key, ()), *LAST_RULES.get(key, ())):
            measure: Measure | None = candidate(node)
            if measure is not None:
                return measure
    random = [operand for operand in node.inputs if operand.dtype != "key" and is_measurable(operand)]
    if len(set(random)) < len(random):
        raise refusal(
            node,
            f"{describe(random[0])} is used twice in one step that cannot be inverted",
            "write the step as a function of one operand, such as `x**2` for `x * x`",
        )
    if len(random) > 1:
        raise refusal(node, *_of_several(node, random))
    raise refusal(
        node,
        f"there is no rule for `{node.op!r}` of {describe(random[0])}",
        "write the density as `CustomDist(logp=)`",
    )


# What the user may write instead, by the function of independent operands.
_LOCATION: Final = "make one a parameter of another, as `Normal.dist(x, 1.0)` for a normal variable added to x, "
_SCALE: Final = "make one a parameter of another, as `Normal.dist(0.0, x)` for a normal variable times x, "
INSTEAD: Final = {"add": _LOCATION, "sub": _LOCATION, "mul": _SCALE, "true_div": _SCALE}


def _of_several(node: Node, random: Sequence[Node]) -> tuple[str, str]:
    """Why a step of several random operands stops a derivation, and what would help."""
    listed = " and ".join(describe(operand) for operand in random)
    why = f"{len(random)} random operands meet in one step that cannot be inverted, {listed}"
    below = [direct_variables(operand) for operand in random]
    held = [rv for i, own in enumerate(below) for rv in own if any(rv in other for other in below[:i])]
    if held:
        return (
            f"{why}; more than one depends on {describe(held[0])}",
            "write the step as a function of one operand, or the density as `CustomDist(logp=)`",
        )
    above = parents_among({rv: None for own in below for rv in own})
    if above:
        return (
            f"{why}; {describe(above[0])} is a parameter of another of their variables",
            "give it a value with `conditional_logp`",
        )
    function = node.op.function if isinstance(node.op, Elementwise) else ""
    return (
        why,
        INSTEAD.get(function, "")
        + "give all but one of them values with `conditional_logp`, or write the density as `CustomDist(logp=)`",
    )


def sole_random(node: Node) -> int | None:
    """Position of the only random operand; None where several are random."""
    places = [i for i, operand in enumerate(node.inputs) if is_measurable(operand)]
    return places[0] if len(places) == 1 else None


def not_repeated(node: Node, argument: Node) -> bool:
    """Whether every element of the argument enters one element of the result: no axis is stretched."""
    own, shape = argument.static_shape, node.static_shape
    lead = len(shape) - len(own)
    return all(n == 1 for n in shape[:lead]) and all(a != 1 or b == 1 for a, b in zip(own, shape[lead:], strict=True))


def require_not_repeated(node: Node, argument: Node) -> None:
    """Refuse a step that makes several elements of one random number."""
    if not not_repeated(node, argument):
        raise refusal(
            node,
            f"it repeats one random number over several elements, {describe(argument)}",
            "give the variable the full `shape`, or index the deterministic operand",
        )


def together(node: Node, parts: Sequence[Sources]) -> Sources:
    """The sources of all parts together; refuses parts that share elements of a random variable."""
    sources: dict[Node, npt.NDArray[np.int64] | None] = {}
    for part in parts:
        for rv, positions in part.items():
            if rv not in sources:
                sources[rv] = positions
                continue
            held = sources[rv]
            if held is None or positions is None or np.intersect1d(held, positions).size:
                raise refusal(
                    node,
                    f"it uses the same random numbers twice, those of {describe(rv)}",
                    "write the step as a function of one expression, or the density as `CustomDist(logp=)`",
                )
            sources[rv] = np.union1d(held, positions)
    return sources


def share_elements(parts: Sequence[Sources]) -> bool:
    """Whether several parts use the same element of a random variable."""
    held: list[tuple[Node, npt.NDArray[np.int64] | None]] = []
    for part in parts:
        for rv, positions in part.items():
            for other, taken in held:
                if rv is other and (positions is None or taken is None or np.intersect1d(positions, taken).size):
                    return True
        held += part.items()
    return False


def are_independent(parts: Sequence[Sources]) -> bool:
    """Whether parts share no element of a random variable, and none is a parameter of another."""
    return not share_elements(parts) and not parents_among({rv: None for part in parts for rv in part})


def parents_among(sources: Sources) -> list[Node]:
    """The sources that are parameters of others."""
    above = {parent for rv in sources for parent in random_variables(rv.inputs)}
    return [rv for rv in sources if rv in above]


def independent(node: Node, parts: Sequence[Sources]) -> Sources:
    """As `together`; refuses parts of which one is a parameter of another as well."""
    sources = together(node, parts)
    for rv in parents_among(sources):
        raise refusal(
            node,
            f"one operand is a parameter of another, through {describe(rv)}, so they are not independent",
            "give it a value with `conditional_logp`",
        )
    return sources
