"""Of which degree expressions are in some of the leaves that they are made of, from the graph alone.

A graph and leaves in; 0, 1, 2, … for polynomials in all of these leaves together, infinity for whatever else, out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final, TypeAlias

import numpy as np

from consilience.distributions.parameters import known_value
from consilience.ir import FLOATS, Node, topological
from consilience.ops import Elementwise
from consilience.ops.assertion import Assume, Require
from consilience.ops.control import Item
from consilience.ops.elementwise import Cast
from consilience.ops.index import Index, IndexUpdate
from consilience.ops.linalg import InverseQuadratic, MatMul, Solve, SolveTriangular
from consilience.ops.loop import Scan, parts
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.reduce import Cumulative, Reduce
from consilience.ops.shape import BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, Transpose
from consilience.ops.sparse.factorisation import SparseTriangularSolve
from consilience.ops.sparse.products import SparseProduct, TransposedSparseProduct

Degree: TypeAlias = float | list[float]  # of the members of a tuple
MOST_STEPS: Final = 4  # of a loop, after which the degrees of what it carries should stay
SCALING: Final = (MatMul, Solve, SolveTriangular, InverseQuadratic, SparseProduct, TransposedSparseProduct)


def degrees(outputs: Sequence[Node], leaves: Collection[Node]) -> list[float]:
    """The degree of each output in the leaves together; infinity where it is no polynomial, or is not known to be.

    >>> import consilience.tensor as pt
    >>> from consilience.elimination.polynomial import degrees
    >>> x, s = pt.dvector("x"), pt.dscalar("s")
    >>> degrees([pt.sum(((x - 1) / s) ** 2), pt.exp(x), s, x * x[0] * s], [x])
    [2.0, inf, 0.0, 2.0]
    """
    known: dict[Node, Degree] = dict.fromkeys(leaves, 1.0)
    return _spread(outputs, known)


def linear_parts(output: Node, leaves: Collection[Node]) -> list[Node]:
    """What an output reads of the leaves: the last expressions that are linear in them, on every way to it.

    >>> import consilience.tensor as pt
    >>> from consilience.elimination.polynomial import linear_parts
    >>> x, s = pt.dvector("x"), pt.dscalar("s")
    >>> predictor = 1.0 + s * x
    >>> linear_parts(pt.sum(pt.exp(predictor)), [x]) == [predictor]
    True
    """
    known: dict[Node, Degree] = dict.fromkeys(leaves, 1.0)
    _spread([output], known)
    found: list[Node] = []
    seen = set[Node]()
    waiting = [output]
    while waiting:
        node = waiting.pop()
        if node in seen or node not in known:
            continue
        seen.add(node)
        if known[node] == 1.0:
            found.append(node)
        else:
            waiting += node.inputs
    return found


def _spread(outputs: Sequence[Node], known: dict[Node, Degree]) -> list[float]:
    """The degrees of outputs, given those of some nodes, to which all that depends on them are added."""
    for node in topological(list(outputs), stop=known.__contains__):
        if node in known:
            continue
        own = [known.get(operand, 0.0) for operand in node.inputs]
        if isinstance(node.op, Item) and isinstance(own[0], list):
            known[node] = own[0][node.op.position]
        elif isinstance(node.op, Scan) and any(own):
            known[node] = _of_loop(node, [1.0 * degree for degree in own if not isinstance(degree, list)])
        elif any(own):
            known[node] = _degree(node, [math.inf if isinstance(degree, list) else degree for degree in own])
    found = [known.get(output, 0.0) for output in outputs]
    return [math.inf if isinstance(degree, list) else degree for degree in found]


def _of_loop(node: Node, own: list[float]) -> list[float]:
    """The degrees of the results of a loop: those of what it carries, as they are when they stay."""
    loop = parts(node)
    op = loop.op
    count = 1 + op.carried + op.traces
    if op.until or own[0] or len(own) < len(node.inputs):
        return [math.inf] * count
    carried, given = own[1 : 1 + op.carried], own[1 + op.carried :]
    for _ in range(MOST_STEPS):
        inside = {n: d for n, d in zip(loop.inside, [*carried, *given], strict=True) if d}
        found = _spread(op.body.results, dict(inside))
        after = [max(pair) for pair in zip(carried, found, strict=False)]
        if after == carried:
            return [0.0, *carried, *found[op.carried :]]
        carried = after
    return [math.inf] * count


def multipliers(outputs: Sequence[Node], leaves: Collection[Node]) -> list[Node]:
    """What multiplies or divides anything that depends on the leaves, on the way to the outputs."""
    reached = set(leaves)
    found: list[Node] = []
    for node in topological(list(outputs), stop=reached.__contains__):
        if node in reached or reached.isdisjoint(node.inputs):
            continue
        reached.add(node)
        scaled = isinstance(node.op, (*SCALING, Scan)) or (
            isinstance(node.op, Elementwise) and node.op.function in ("mul", "true_div")
        )
        found += [operand for operand in node.inputs if scaled and operand not in reached]
    return found


def _degree(node: Node, own: list[float]) -> float:
    first, rest = own[0], own[1:]
    match node.op:
        case Elementwise() as op:
            return _of_elements(node, op.function, own)
        case Cast():
            return first if node.dtype in FLOATS else math.inf
        case Assume() | Require() | ParameterCheck() | Asserted() | Index():
            return math.inf if any(rest) else first
        case Reshape() | Transpose() | ExpandDims() | Squeeze() | BroadcastTo():
            return first
        case Concatenate():
            return max(own)
        case IndexUpdate():
            return math.inf if any(own[2:]) else max(own)
        case Reduce(kind="sum") | Cumulative(kind="sum"):
            return first
        case MatMul():
            return sum(own)
        case Solve() | SolveTriangular():
            return math.inf if first else own[1]
        case InverseQuadratic():
            return math.inf if first else 2.0 * own[1]
        case SparseProduct() | TransposedSparseProduct():
            return first + own[3]
        case SparseTriangularSolve():
            return math.inf if first else own[1]
        case _:
            return math.inf


def _of_elements(node: Node, function: str, own: list[float]) -> float:
    match function:
        case "add" | "sub" | "neg":
            return max(own)
        case "where":
            return math.inf if own[0] else max(own[1:])
        case "mul":
            return sum(own)
        case "true_div":
            return math.inf if own[1] else own[0]
        case "square":
            return 2.0 * own[0]
        case "pow" if not own[1]:
            power = number_of(node.inputs[1])
            return own[0] * power if power is not None and power > 0 and power.is_integer() else math.inf
        case _:
            return math.inf


def small(node: Node) -> Node:
    """What a node is broadcast from: lengths that data decide are in no constant."""
    while isinstance(node.op, BroadcastTo):
        node = node.inputs[0]
    return node


def number_of(node: Node) -> float | None:
    """The number that all elements of a constant are."""
    value = known_value(small(node))
    if value is None or value.size == 0 or value.dtype.kind not in "iuf":
        return None
    first = value.flat[0]
    return float(first) if np.all((value == first) | (np.isnan(value) & np.isnan(first))) else None


__all__ = ["degrees", "linear_parts", "multipliers", "number_of", "small"]
