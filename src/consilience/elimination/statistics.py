"""Log densities of a positive variable, of probabilities or of shares, in terms of what it may be linear in.

An expression of a variable x in; the same one with `log x`, `log(1 - x)` and powers of x as leaves out, wherever rules
of logarithms and powers lead there. It is exact: `log(c x)` is `log c + log x`, and `c x >= 0` is `c >= 0`, as x is
positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from consilience.analysis.separability import Link, links
from consilience.distributions.parameters import known_value
from consilience.elimination.polynomial import number_of, small
from consilience.ir import FLOATS, Node, TupleType, constant, substitute, tensor_input, topological
from consilience.ops import Elementwise
from consilience.ops.assertion import Assume, Require
from consilience.ops.elementwise import Cast, apply
from consilience.ops.index import Index, NewAxis, SliceIndex, getitem
from consilience.ops.linalg import Cholesky, Inverse, InverseQuadratic, LogAbsDet, MatMul, Solve, SolveTriangular
from consilience.ops.reduce import Reduce
from consilience.ops.shape import (
    BroadcastTo,
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    broadcast_to,
    expand_dims,
    reshape,
)
from consilience.record import Record

# "log", "log of the rest" (of 1 - x), or the exponent of a power.
Statistic: TypeAlias = "str | float"
LOG: Final = "log"
LOG_OF_REST: Final = "log of the rest"
MOVES: Final = (Reshape, Transpose, ExpandDims, Squeeze, BroadcastTo, Index, Cast)
OF_MATRICES: Final = (Cholesky, Inverse, InverseQuadratic, LogAbsDet, MatMul, Solve, SolveTriangular)
BELOW: Final = {
    "lt": True,
    "le": True,
    "gt": False,
    "ge": False,
}  # of numbers below 1, compared with it or a larger one
MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


class PowerOf(Record, eq=False):
    """`factor * x ** exponent`, or of 1 - x, where x is the variable with its elements moved and repeated."""

    factor: Node
    exponent: float
    base: Node
    rest: bool = False


class Logarithm(Record, eq=False):
    """`term + exponent * log(x)`, or of 1 - x."""

    term: Node
    exponent: float
    base: Node
    rest: bool = False


class Split(Record, eq=False):
    """`where(condition, then, otherwise)`, of which one is a power."""

    condition: Node
    then: Value
    otherwise: Value


Value: TypeAlias = "Node | PowerOf | Logarithm | Split"


class NotLinear(Exception):
    """An expression that no rule here turns into one of statistics."""


class Statistics:
    """Inputs that stand for the statistics of a variable, and expressions of them.

    `leaf`: stands for the variable: positive numbers, or numbers between 0 and 1.
    `at_most_one`, `sums_to_one`: whether none is above 1, and whether those along the last axis sum to 1.

    `inputs`: by statistic, those that were met.
    """

    def __init__(self, leaf: Node, at_most_one: bool, sums_to_one: bool) -> None:
        self.leaf = leaf
        self.at_most_one = at_most_one
        self.sums_to_one = sums_to_one
        self.inputs: dict[Statistic, Node] = {}

    def of(self, outputs: Sequence[Node]) -> list[Node]:
        """The outputs in terms of the inputs, of the same shapes.

        Raises NotLinear: Where a statistic is needed that is none.
        """
        known: dict[Node, Value] = {self.leaf: PowerOf(constant(1.0, self.leaf.dtype), 1.0, self.leaf)}
        for node in topological(list(outputs), stop=known.__contains__):
            if node not in known and any(operand in known for operand in node.inputs):
                known[node] = self._applied(node, [known.get(operand, operand) for operand in node.inputs])
        return [
            broadcast_to(self._node(known[output]), output.static_shape) if output in known else output
            for output in outputs
        ]

    def _input(self, statistic: Statistic, base: Node) -> Node:
        found = self.inputs.get(statistic)
        if found is None:
            found = self.inputs[statistic] = tensor_input(self.leaf.dtype, self.leaf.static_shape)
        return substitute([base], {self.leaf: found})[0]

    def _node(self, value: Value) -> Node:
        match value:
            case PowerOf(exponent=1.0, rest=True):
                return value.factor * (1.0 - self._input(1.0, value.base))
            case PowerOf(rest=True):
                raise NotLinear
            case PowerOf():
                return value.factor * self._input(value.exponent, value.base)
            case Logarithm():
                return value.term + value.exponent * self._input(LOG_OF_REST if value.rest else LOG, value.base)
            case Split():
                return apply("where", value.condition, self._node(value.then), self._node(value.otherwise))
        return value

    def _applied(self, node: Node, operands: Sequence[Value]) -> Value:
        match node.op:
            case Assume() | Require():
                return operands[0]
            case Cast() if node.dtype not in FLOATS:
                pass
            case Reduce(kind="sum") if (found := self._whole(node, operands[0])) is not None:
                return found
            case Reduce(kind="all") if isinstance(operands[0], Node) and _truth(operands[0]) is not None:
                return constant(np.bool_(_truth(operands[0])))
            case Elementwise(function=function):
                return self._of_elements(node, function, operands)
            case op if isinstance(op, OF_MATRICES) and (found := _of_matrices(node, *operands)) is not None:
                return found
            case op if isinstance(op, MOVES):
                a = operands[0]
                if isinstance(a, Node) and not a.ndim and node.inputs[0].ndim and not isinstance(op, Cast):
                    return a  # one number for all elements, wherever they go
                if not isinstance(a, Node) and all(isinstance(operand, Node) for operand in operands[1:]):
                    return _mapped(operands[0], lambda part: moved(part, node))
        return Node(node.op, *self._whole_nodes(node, operands))

    def _whole_nodes(self, node: Node, operands: Sequence[Value]) -> list[Node]:
        """Operands as expressions of the inputs, of their own shapes."""
        return [_filled(self._node(own), operand) for own, operand in zip(operands, node.inputs, strict=True)]

    def _of_elements(self, node: Node, function: str, operands: Sequence[Value]) -> Value:
        split = next((operand for operand in operands if isinstance(operand, Split)), None)
        if split is not None:
            both = [
                self._of_elements(node, function, [_branch(own, split.condition, place) for own in operands])
                for place in (0, 1)
            ]
            return _either(split.condition, both[0], both[1])
        if function == "where" and isinstance(operands[0], Node):
            return _chosen(operands[0], operands[1], operands[2])
        rule = _RULES.get(function)
        found = rule(self, function, *operands) if rule is not None else None
        return Node(node.op, *map(self._node, operands)) if found is None else found

    # Rules: each gives None where it says nothing.

    def _neg(self, _: str, a: Value) -> Value | None:
        match a:
            case PowerOf():
                return _times(a, constant(-1.0, a.factor.dtype))
            case Logarithm():
                return _scaled(a, -1.0)
        return None

    def _mul(self, _: str, a: Value, b: Value) -> Value | None:
        if isinstance(a, Node):
            a, b = b, a
        match a, b:
            case PowerOf(), Node():
                return _times(a, b)
            case PowerOf(), PowerOf() if a.base is b.base and a.rest == b.rest:
                return _powers(a, b, 1.0)
            case Logarithm(), Node() if (number := number_of(b)) is not None and b.ndim == 0:
                return _scaled(a, number)
        return None

    def _true_div(self, _: str, a: Value, b: Value) -> Value | None:
        match a, b:
            case PowerOf(), Node():
                return PowerOf(a.factor / b, a.exponent, a.base, a.rest)
            case Node(), PowerOf():
                return PowerOf(a / b.factor, -b.exponent, b.base, b.rest)
            case PowerOf(), PowerOf() if a.base is b.base and a.rest == b.rest:
                return _powers(a, b, -1.0)
            case Logarithm(), Node() if (number := number_of(b)) is not None and b.ndim == 0 and number:
                return _scaled(a, 1.0 / number)
        return None

    def _add(self, function: str, a: Value, b: Value) -> Value | None:
        if function == "sub":
            if isinstance(b, PowerOf) and isinstance(a, Node) and number_of(a) == 1.0 and self._is_itself(b, 1.0):
                return PowerOf(b.factor, 1.0, b.base, not b.rest) if not a.ndim else None
            if isinstance(b, Logarithm):
                b = _scaled(b, -1.0)
            elif isinstance(b, Node):
                b = -b
            else:
                return None
        elif isinstance(a, Node):
            a, b = b, a
        match a, b:
            case Node(), Logarithm():
                return Logarithm(b.term + a, b.exponent, b.base, b.rest)
            case Logarithm(), Node():
                return Logarithm(a.term + b, a.exponent, a.base, a.rest)
            case Logarithm(), Logarithm() if a.base is b.base and a.rest == b.rest:
                return Logarithm(a.term + b.term, a.exponent + b.exponent, a.base, a.rest)
            case PowerOf(), Node() if number_of(b) == 1.0 and not b.ndim and self._is_itself(a, -1.0):
                return PowerOf(-a.factor, 1.0, a.base, not a.rest)
            case PowerOf(), Node():
                return _beside(a, b)
        return None

    def _is_itself(self, value: PowerOf, sign: float) -> bool:
        return self.at_most_one and value.exponent == 1.0 and number_of(value.factor) == sign

    def _power(self, function: str, a: Value, b: Value | None = None) -> Value | None:
        exponent = {"square": 2.0, "sqrt": 0.5, "reciprocal": -1.0}.get(function)
        if exponent is None and isinstance(b, Node):
            exponent = number_of(b)
            if b.ndim:
                return None
        if not isinstance(a, PowerOf) or exponent is None:
            return None
        return PowerOf(apply("pow", a.factor, exponent), exponent * a.exponent, a.base, a.rest)

    def _log(self, _: str, a: Value) -> Value | None:
        if isinstance(a, PowerOf):
            return Logarithm(apply("log", a.factor), a.exponent, a.base, a.rest)
        return None

    def _log1p(self, _: str, a: Value) -> Value | None:
        if isinstance(a, PowerOf) and self._is_itself(a, -1.0):
            return Logarithm(apply("log", -a.factor), 1.0, a.base, not a.rest)
        return None

    def _exp(self, _: str, a: Value) -> Value | None:
        return PowerOf(apply("exp", a.term), a.exponent, a.base, a.rest) if isinstance(a, Logarithm) else None

    def _xlogy(self, function: str, a: Value, b: Value) -> Value | None:
        own = self._log("", b) if function == "xlogy" else self._log1p("", b)
        if not isinstance(own, Logarithm) or not isinstance(a, Node):
            return None
        assert isinstance(b, PowerOf)
        factor = b.factor if function == "xlogy" else -b.factor
        statistic = self._input(LOG_OF_REST if own.rest else LOG, own.base)
        return apply("xlogy", a, factor) + (own.exponent * a) * statistic

    def _compared(self, function: str, a: Value, b: Value) -> Value | None:
        if isinstance(a, Node):
            a, b, function = b, a, MIRRORED[function]
        if not isinstance(a, PowerOf) or not isinstance(b, Node):
            return None
        number = number_of(b)
        if number == 0.0:
            return apply(function, a.factor, b)
        if number is not None and number >= 1.0 and function in BELOW and self._is_itself(a, 1.0):
            return constant(np.bool_(BELOW[function]))
        return None

    def _finite(self, function: str, a: Value) -> Value | None:
        return apply(function, a.factor) if isinstance(a, PowerOf) else None

    def _whole(self, node: Node, operand: Value) -> Value | None:
        """1, where all shares are added up."""
        axes = getattr(node.op, "axes", ())
        if (
            not self.sums_to_one
            or not isinstance(operand, PowerOf)
            or operand.rest
            or not self._is_itself(operand, 1.0)
        ):
            return None
        linked = (links(operand.base, self.leaf) or {}).get(operand.base.ndim - 1)
        if axes != (operand.base.ndim - 1,) or linked is None or linked != Link(self.leaf.ndim - 1, None):
            return None
        return constant(1.0, node.dtype)


def _of_matrices(node: Node, a: Value, b: Value | None = None) -> Value | None:
    """Of `c x^k`, where x is the same for all elements of a matrix c, and of another matrix."""
    scaled, place = (b, 1) if isinstance(a, Node) and isinstance(node.op, MatMul) else (a, 0)
    if not isinstance(scaled, PowerOf) or isinstance(b if place == 0 else None, PowerOf | Logarithm | Split):
        return None
    base, shape = without_matrix_axes(scaled.base), node.inputs[place].static_shape
    if base is None:
        return None
    factor = broadcast_to(scaled.factor, shape)
    found = Node(node.op, *(own if isinstance(own, Node) else factor for own in (a, b) if own is not None))
    if isinstance(node.op, LogAbsDet):
        order = shape[-1]
        return Logarithm(found, scaled.exponent * order, base, scaled.rest) if isinstance(order, int) else None
    times = 1.0 if isinstance(node.op, MatMul) else 0.5 if isinstance(node.op, Cholesky) else -1.0
    behind = 1 if isinstance(node.op, InverseQuadratic) else 2
    if base.ndim:
        base = expand_dims(base, tuple(range(base.ndim, base.ndim + behind)))
    return PowerOf(found, times * scaled.exponent, base, scaled.rest)


def _filled(found: Node, like: Node) -> Node:
    """An expression in the shape of another one, which it is broadcast to if it is smaller; a tuple as it is."""
    if isinstance(like.type, TupleType):
        return found
    return found if found.static_shape == like.static_shape else broadcast_to(found, like.static_shape)


def moved(part: Node, node: Node) -> Node:
    """What an op that moves elements makes of a part of its operand, as small as that."""
    if not part.ndim and not isinstance(node.op, Cast):
        return part
    found = Node(node.op, broadcast_to(part, node.inputs[0].static_shape), *node.inputs[1:])
    whole = keeps_matrices(node) and without_matrix_axes(part) is not None
    return getitem(found, (..., slice(0, 1), slice(0, 1))) if whole else found


def keeps_matrices(node: Node) -> bool:
    """Whether an op moves whole matrices of its operand, those of its last two axes, or transposes all of them."""
    operand, rank = node.inputs[0], node.inputs[0].ndim
    if node.ndim < 2 or rank < 2:
        return False
    match node.op:
        case BroadcastTo():
            return True
        case Cast() | Reshape():
            return operand.static_shape[-2:] == node.static_shape[-2:]
        case ExpandDims() as op:
            return all(axis < node.ndim - 2 for axis in op.axes)
        case Squeeze() as op:
            return all(axis < rank - 2 for axis in op.axes)
        case Transpose() as op:
            return set(op.axes[-2:]) == {rank - 2, rank - 1}
        case Index() as op:
            entries = list(op.specification)
            while entries and entries[-1] == SliceIndex():
                entries.pop()
            return sum(not isinstance(entry, NewAxis) for entry in entries) <= rank - 2
    return False


def without_matrix_axes(node: Node) -> Node | None:
    """What is the same along the last two axes of whatever it is broadcast to, without these; None for others."""
    while node.ndim and any(n != 1 for n in node.static_shape[-2:]):
        if not isinstance(node.op, BroadcastTo):
            return None
        node = node.inputs[0]
    return reshape(node, node.static_shape[:-2]) if node.ndim else node


def _times(a: PowerOf, b: Node) -> PowerOf:
    return PowerOf(a.factor * b, a.exponent, a.base, a.rest)


def _powers(a: PowerOf, b: PowerOf, sign: float) -> Value:
    factor = a.factor * b.factor if sign > 0 else a.factor / b.factor
    exponent = a.exponent + sign * b.exponent
    return PowerOf(factor, exponent, a.base, a.rest) if exponent else factor


def _scaled(a: Logarithm, number: float) -> Logarithm:
    return Logarithm(a.term * number, a.exponent * number, a.base, a.rest)


def _mapped(value: Value, move: Callable[[Node], Node]) -> Value:
    match value:
        case PowerOf():
            return PowerOf(move(value.factor), value.exponent, move(value.base), value.rest)
        case Logarithm():
            return Logarithm(move(value.term), value.exponent, move(value.base), value.rest)
        case Split():
            then, otherwise = (_mapped(part, move) for part in (value.then, value.otherwise))
            return Split(move(value.condition), then, otherwise)
    return move(value)


def _branch(value: Value, condition: Node, place: int) -> Value:
    if isinstance(value, Split) and value.condition is condition:
        return value.otherwise if place else value.then
    return value


def _chosen(condition: Node, a: Value, b: Value) -> Value:
    known = _truth(condition)
    return _either(condition, a, b) if known is None else a if known else b


def _truth(condition: Node) -> bool | None:
    """What all elements of a condition are; None where that is not known, or they differ."""
    known = known_value(small(condition))
    return None if known is None or not known.size or known.any() != known.all() else bool(known.any())


def _either(condition: Node, a: Value, b: Value) -> Value:
    """`where(condition, a, b)`."""
    for one, other, flipped in ((a, b, False), (b, a, True)):
        if isinstance(one, PowerOf) and isinstance(other, Node) and _absorbs(other):
            parts = (other, one.factor) if flipped else (one.factor, other)
            return PowerOf(apply("where", condition, *parts), one.exponent, one.base, one.rest)
    match a, b:
        case (PowerOf(), PowerOf()) if _alike(a, b):
            return PowerOf(apply("where", condition, a.factor, b.factor), a.exponent, a.base, a.rest)
        case (Logarithm(), Logarithm()) if _alike(a, b):
            return Logarithm(apply("where", condition, a.term, b.term), a.exponent, a.base, a.rest)
        case (Node(), Node()):
            return apply("where", condition, a, b)
    return Split(condition, a, b)


def _alike(a: PowerOf | Logarithm, b: PowerOf | Logarithm) -> bool:
    return a.exponent == b.exponent and a.base is b.base and a.rest == b.rest


def _absorbs(node: Node) -> bool:
    """Whether a number stays itself times any positive one: 0 and NaN."""
    number = number_of(node)
    return number == 0.0 or (number is not None and number != number)


def _beside(a: PowerOf, b: Node) -> Value | None:
    """`a + b` where in each element one of both is 0, as their constant factors show."""
    factors, known = _zeros(a.factor), number_of(b)
    if known == 0.0:
        return a
    none = _zeros(b)
    if factors is None or none is None or not np.all(factors | none):
        return None
    return _either(constant(np.asarray(none)), a, b)


def _zeros(node: Node) -> np.ndarray | None:
    """Where constant factors of a product are 0; None where there are no such."""
    value = known_value(small(node))
    if value is not None:
        return np.asarray(value == 0.0)
    if isinstance(node.op, Elementwise) and node.op.function in ("mul", "true_div"):
        parts = [_zeros(operand) for operand in node.inputs[: 2 if node.op.function == "mul" else 1]]
        found = [part for part in parts if part is not None]
        if found:
            result = found[0]
            for part in found[1:]:
                result = result | part
            return result
    return None


_RULES: Final[Mapping[str, Callable[..., Value | None]]] = {
    "neg": Statistics._neg,
    "mul": Statistics._mul,
    "true_div": Statistics._true_div,
    "add": Statistics._add,
    "sub": Statistics._add,
    **dict.fromkeys(("square", "sqrt", "reciprocal", "pow"), Statistics._power),
    "log": Statistics._log,
    "log1p": Statistics._log1p,
    "exp": Statistics._exp,
    **dict.fromkeys(("xlogy", "xlog1py"), Statistics._xlogy),
    **dict.fromkeys(MIRRORED, Statistics._compared),
    **dict.fromkeys(("isfinite", "isnan", "isinf"), Statistics._finite),
}
