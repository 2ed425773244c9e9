"""Pullbacks of ops with regions: the derivative of a choice is the same choice between derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import MissingRuleError
from consilience.ir import Node, Parameter, Region, TensorType, computed_atoms, substitute, topological
from consilience.ir.lengths import source_of
from consilience.ir.side_tables import describe
from consilience.ops import Cond, Item
from consilience.ops.shape import broadcast_to
from consilience.record import replace
from consilience.transforms.gradient.engine import accumulate
from consilience.transforms.gradient.index import zeros_like
from consilience.transforms.gradient.table import Cotangents, no_derivative, pullback_of


@pullback_of(Cond)
def _cond(node: Node, g: tuple[Node | None, ...], wanted: Sequence[bool]) -> Cotangents:
    """One choice for all cotangents; only the chosen region's pullback is computed."""
    assert isinstance(node.op, Cond)
    condition, *operands = node.inputs
    asked = [i for i, w in enumerate(wanted[1:]) if w]
    given = [(i, cotangent) for i, cotangent in enumerate(g) if cotangent is not None]
    known = len(operands)
    types = (*node.op.then.parameters, *(cotangent.tensor_type for _, cotangent in given))
    seeds = [Node(Parameter(known + k, types[known + k])) for k in range(len(given))]

    def pulled(region: Region) -> list[Node]:
        starts: dict[Node, Node] = {}
        for (i, _), seed in zip(given, seeds, strict=True):
            result = region.results[i]
            seed = broadcast_to(seed, result.static_shape)  # inside, where lengths of branches differ
            starts[result] = starts[result] + seed if result in starts else seed
        wrt = [region.parameter(i) for i in asked]
        found = accumulate(starts, wrt)
        return [zeros_like(p) if c is None else c for p, c in zip(wrt, found, strict=True)]

    branches = [pulled(node.op.then), pulled(node.op.otherwise)]
    for atom in computed_atoms([*branches[0], *branches[1]]):
        # Lengths are known before a program runs, and a branch runs when its condition is known.
        if any(isinstance(n.op, Parameter) for n in topological([source_of(atom)])):
            raise MissingRuleError(
                f"the derivative of a branch of {describe(node)} needs the length `{atom.name}`, which only the branch "
                "knows: give `while_loop` its `max_steps=`, or compute the loop before `ifelse`."
            )
    choice = choose(node.op, condition, branches[0], branches[1], types, [*operands, *(c for _, c in given)])
    results: list[Node | None] = [None] * len(node.inputs)
    for k, i in enumerate(asked):
        results[i + 1] = Node(Item(k), choice)
    return results


def choose(
    like: Cond,
    condition: Node,
    then: list[Node],
    otherwise: list[Node],
    types: Sequence[TensorType],
    operands: Sequence[Node],
) -> Node:
    """A choice like another, of results written on `Parameter(i, types[i])`, without parameters that none reads."""
    parameters = [Node(Parameter(i, of)) for i, of in enumerate(types)]
    read = set(topological([*then, *otherwise]))
    used = [i for i, parameter in enumerate(parameters) if parameter in read]
    kept = tuple(types[i] for i in used)
    new = {parameters[i]: Node(Parameter(k, kept[k])) for k, i in enumerate(used)}
    first, second = (Region(kept, tuple(substitute(results, new))) for results in (then, otherwise))
    return Node(replace(like, then=first, otherwise=second), condition, *(operands[i] for i in used))


no_derivative(Item, "the engine puts the cotangents of a tuple together itself")
