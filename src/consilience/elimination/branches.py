"""Functions of a condition as conditions between functions: f(where(c, a, b)) becomes where(c, f(a), f(b)).

Expressions of discrete variables in, equal ones out. Where a variable acts by a condition alone, as a change point
does, `f`, which is dear, is then computed for two branches, and not for every value of the variable.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, TypeAlias

from consilience.ir import Node, constant, constant_value, topological
from consilience.ir.traversal import rebuild
from consilience.ops import Elementwise
from consilience.ops.elementwise import Cast, elementwise
from consilience.ops.index import Gather, Index, getitem
from consilience.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose, broadcast_to

MOST_BRANCHES: Final = 4  # of one expression


class Branch(NamedTuple):
    """`where(condition, then, otherwise)`."""

    condition: Node
    then: Tree
    otherwise: Tree


Tree: TypeAlias = "Node | Branch"


def hoisted(outputs: Sequence[Node], variables: Collection[Node]) -> list[Node]:
    """The outputs with conditions that depend on the variables moved towards them, past functions of elements."""
    depends = set(variables)
    trees: dict[Node, Branch] = {}
    made: dict[Node, Node] = {}
    for node in topological(outputs):
        if depends.isdisjoint(node.inputs):
            made[node] = node
            continue
        depends.add(node)
        tree = _tree(node, trees, made)
        if isinstance(tree, Branch):
            trees[node] = tree
        made[node] = _whole(tree)
    return [made[node] for node in outputs]


def _tree(node: Node, trees: dict[Node, Branch], made: dict[Node, Node]) -> Tree:
    operands = [made[operand] for operand in node.inputs]
    condition = operands[0]
    match node.op:
        case Elementwise(function="where"):
            return _limited(Branch(condition, *(trees.get(n, made[n]) for n in node.inputs[1:])), node, operands)
        case Cast() if condition.dtype == "bool":
            return Branch(condition, *(constant(value, node.dtype) for value in (1, 0)))
        case Index(specification=(Gather(),)) if condition.static_shape == (2,):
            chosen = trees.get(node.inputs[1])
            if chosen is not None and [_number(chosen.then), _number(chosen.otherwise)] == [1, 0]:
                return Branch(chosen.condition, getitem(condition, 1), getitem(condition, 0))
        case Index() | ExpandDims() | Squeeze() | Reshape() | Transpose() if node.inputs[0] in trees:
            if node.inputs[1:] == tuple(operands[1:]):
                return _rearranged(node, trees[node.inputs[0]], {})
        case Elementwise() | Cast() | BroadcastTo():
            return _limited(_applied(node, [trees.get(n, made[n]) for n in node.inputs]), node, operands)
    return rebuild(node, tuple(operands))


def _number(tree: Tree) -> float | None:
    known = constant_value(tree) if isinstance(tree, Node) else None
    return float(known) if known is not None and known.ndim == 0 else None


def _rearranged(node: Node, tree: Tree, known: dict[Node, Node]) -> Tree:
    """An op that chooses or moves elements, in all branches of its operand, and of the conditions."""
    if isinstance(tree, Branch):
        condition = _rearranged(node, tree.condition, known)
        assert isinstance(condition, Node)
        return Branch(condition, _rearranged(node, tree.then, known), _rearranged(node, tree.otherwise, known))
    if tree not in known:
        known[tree] = Node(node.op, broadcast_to(tree, node.inputs[0].static_shape), *node.inputs[1:])
    return known[tree]


def _applied(node: Node, operands: Sequence[Tree]) -> Tree:
    """An op on elements in all branches of its operands."""
    first = next((one for one in operands if isinstance(one, Branch)), None)
    if first is None:
        return rebuild(node, tuple(one for one in operands if isinstance(one, Node)))
    condition = first.condition
    then, otherwise = ([_under(one, condition, holds) for one in operands] for holds in (True, False))
    return Branch(condition, _applied(node, then), _applied(node, otherwise))


def _under(tree: Tree, condition: Node, holds: bool) -> Tree:
    """What a tree is where a condition holds, or does not."""
    if not isinstance(tree, Branch):
        return tree
    if tree.condition is condition:
        return _under(tree.then if holds else tree.otherwise, condition, holds)
    return Branch(tree.condition, _under(tree.then, condition, holds), _under(tree.otherwise, condition, holds))


def _limited(tree: Tree, node: Node, operands: Sequence[Node]) -> Tree:
    return tree if _count(tree) <= MOST_BRANCHES else rebuild(node, tuple(operands))


def _count(tree: Tree) -> int:
    return _count(tree.then) + _count(tree.otherwise) if isinstance(tree, Branch) else 1


def _whole(tree: Tree) -> Node:
    if not isinstance(tree, Branch):
        return tree
    return Node(elementwise("where"), tree.condition, _whole(tree.then), _whole(tree.otherwise))
