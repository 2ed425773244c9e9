"""Replace symbolic lengths by integers.

Graph and values of its symbols in, a graph of static shapes out. Lengths that are computed when the program runs stay
symbolic until their values are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from consilience.errors import ShapeError
from consilience.ir import (
    Dim,
    Input,
    Node,
    Op,
    ShapeConstraint,
    Shared,
    computed_atoms,
    constant_value,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.lengths import lengths_in, replaced, source_of
from consilience.ir.side_tables import carry, name_of, set_name
from consilience.ops import BroadcastTo, Cond, Item, apply
from consilience.ops.assertion import require
from consilience.ops.parameter_check import Asserted


def specialise(outputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim]) -> tuple[list[Node], dict[Node, Node]]:
    """The graph at fixed lengths, and for every node of the old graph its new node."""
    values = dict(lengths)
    for atom in computed_atoms(outputs):
        if atom not in values:
            source = _specialised([source_of(atom)], values)[source_of(atom)]
            known = constant_value(source)
            if known is not None:
                values[atom] = int(known)
            elif source is not atom.source:
                values[atom] = dims.computed(source, atom.name, non_negative=atom.kind == "size")
    if not values:
        return list(outputs), {node: node for node in topological(outputs)}
    memo = _specialised(outputs, values)
    return [memo[output] for output in outputs], memo


def _specialised(outputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim]) -> dict[Node, Node]:
    memo: dict[Node, Node] = {}
    chosen: dict[Node, list[Node]] = {}

    def region(results: Sequence[Node]) -> list[Node]:
        inside = _specialised(results, lengths)
        return [inside[result] for result in results]

    for node in topological(outputs):
        inputs = tuple(memo[i] for i in node.inputs)
        if isinstance(node.op, Item) and node.inputs[0] in chosen:
            memo[node] = chosen[node.inputs[0]][node.op.position]
            continue
        if isinstance(node.op, Cond):
            settled = _settled(node.op, inputs, lengths, region)
            if isinstance(settled, list):
                chosen[node], memo[node] = settled, node
                continue
            op: Op = settled
        else:
            op = replaced(node.op, lengths, region)
        known = op.settled()
        if known is not None:
            memo[node] = known
        elif isinstance(op, BroadcastTo) and op.shape == inputs[0].static_shape:
            memo[node] = inputs[0]  # lengths that were two are one
        elif op is node.op and all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
            memo[node] = node
        else:
            memo[node] = Node(op, *inputs)
            carry(node, memo[node])
            name = name_of(node)
            if name is not None and isinstance(op, Input | Shared):
                set_name(memo[node], name)
    return memo


def _settled(
    op: Cond, inputs: Sequence[Node], lengths: Mapping[dims.Atom, Dim], region: Callable[[Sequence[Node]], list[Node]]
) -> Cond | list[Node]:
    """A choice at fixed lengths: the results of a branch, where it is the only one that can be, or a choice of both.

    A branch that is not possible at these lengths is an error where it is chosen.
    """
    condition, *operands = inputs
    choice = dims.substitute(op.choice, lengths) if op.choice is not None else None
    if isinstance(choice, int):
        which = 0 if choice else 1
        results, owed = replaced(((op.then, op.otherwise)[which], op.owed[which]), lengths, region)
        return require(results.apply(*operands), owed)
    regions: list[Any] = []
    left: list[tuple[ShapeConstraint, ...]] = []
    for branch, owed in zip((op.then, op.otherwise), op.owed, strict=True):
        must = replaced(owed, lengths, region)
        wrong = next(
            (c for c in must if isinstance(c.left, int) and isinstance(c.right, int) and c.left != c.right), None
        )
        try:
            regions.append(
                ShapeError(f"{wrong.reason}, in {wrong.where}.") if wrong else replaced(branch, lengths, region)
            )
        except ShapeError as error:
            regions.append(error)
        left.append(tuple(c for c in must if not (isinstance(c.left, int) and isinstance(c.right, int))))
    bad = [i for i, found in enumerate(regions) if isinstance(found, ShapeError)]
    if len(bad) == 2:
        raise regions[0]
    if bad:
        good = 1 - bad[0]
        holds = apply("logical_not", condition) if good else condition
        message = str(regions[bad[0]])
        return [Node(Asserted(message), result, holds) for result in regions[good].apply(*operands)]
    then, otherwise = regions
    if choice is not None and then.result_types == otherwise.result_types:
        atoms = {atom for length in lengths_in((then, otherwise, tuple(left)), set()) for atom in dims.atoms(length)}
        choice = None if atoms.isdisjoint(dims.atoms(choice)) else choice
    return Cond(then, otherwise, (left[0], left[1]), choice)
