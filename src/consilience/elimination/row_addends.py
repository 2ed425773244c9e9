"""Rows of a sum as sums of products: constants, numbers that all rows share, values by group, squares of linear forms.

An expression with one value per row in, its addends out. `row_statistics` adds them up over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.ir import Constant, Node, constant, constant_value, is_leaf, topological
from consilience.ops.assertion import Assume
from consilience.ops.elementwise import Cast, Elementwise, apply
from consilience.ops.index import Gather, Index, SliceIndex
from consilience.ops.linalg import MatMul
from consilience.ops.reduce import Reduce
from consilience.ops.shape import BroadcastTo, reshape
from consilience.record import Record
from consilience.transforms.equal_rows import along_rows, at_rows

# Offsets of exponents that differ by more would lose the smaller ones when the largest is taken out.
SPREAD: Final = 600.0

Weights: TypeAlias = float | npt.NDArray[np.float64]


class Addend(Record, eq=False):
    """weights * all factors * all varying * (matrix @ vector) * (sum of the squared) ** 2, of each row.

    `weights`: known numbers, one for all rows or one each.
    `factors`: numbers that all rows share.
    `varying`: expressions with one value per row, that depends on the row by constants.
    `product`: a known matrix (row, column), and a vector of one factor per column.
    `squared`: a linear form: none of its addends has a square. Empty: no square.
    """

    weights: Weights
    factors: tuple[Node, ...] = ()
    varying: tuple[Node, ...] = ()
    product: tuple[npt.NDArray[Any], Node] | None = None
    squared: tuple[Addend, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it is a product of weights, factors and varying values alone."""
        return self.product is None and not self.squared


def addends(node: Node) -> list[Addend]:
    """The addends of an expression with one value per row; one of them, as it is, where nothing is known of its op."""
    if node.ndim == 0 or node.static_shape == (1,):
        number = constant_value(node)
        return [Addend(1.0, (reshape(node, ()),)) if number is None else Addend(float(number.reshape(())))]
    if isinstance(node.op, Constant):
        return [Addend(node.op.array.astype(float))]
    return _of_op(node) or [Addend(1.0, (), (node,))]


def _of_op(node: Node) -> list[Addend] | None:
    op = node.op
    if isinstance(op, Elementwise):
        rule = _FUNCTIONS.get(op.function)
        return None if rule is None else rule(node.inputs)
    if isinstance(op, Assume | BroadcastTo) and (node.inputs[0].ndim == 0 or node.inputs[0].type == node.type):
        return addends(node.inputs[0])
    if isinstance(op, Cast) and node.dtype == "float64":
        return addends(node.inputs[0])
    if isinstance(op, MatMul):
        left, right = node.inputs
        found, vector = (left, right) if right.ndim == 1 else (right, left)
        matrix = constant_value(found)
        if matrix is not None and matrix.ndim == 2 and vector.ndim == 1 and not isinstance(vector.op, Constant):
            return [Addend(1.0, product=(matrix if found is left else matrix.T, vector))]
    if isinstance(op, Reduce):
        return _row_sums(node)
    return _read(node) if isinstance(op, Index) else None


def _row_sums(node: Node) -> list[Addend] | None:
    """sum(matrix * vector, axis=1)."""
    (each,) = node.inputs
    if not isinstance(node.op, Reduce) or node.op.kind != "sum" or node.op.axes != (1,) or each.ndim != 2:
        return None
    if not isinstance(each.op, Elementwise) or each.op.function != "mul" or len(each.inputs) != 2:
        return None
    columns = each.static_shape[1]
    for left, right in (each.inputs, each.inputs[::-1]):
        matrix = constant_value(left)
        whole = matrix is not None and matrix.shape == each.static_shape
        if matrix is not None and whole and right.static_shape in ((columns,), (1, columns)):
            return [Addend(1.0, product=(matrix, reshape(right, (columns,))))]
    return None


def _read(node: Node) -> list[Addend] | None:
    """Some of the rows of an expression of constant rows, as those that are not missing."""
    x = node.inputs[0]
    (entry, *others) = node.op.specification if isinstance(node.op, Index) else (None,)
    if others or x.ndim != 1 or not isinstance(x.static_shape[0], int):
        return None
    rows = x.static_shape[0]
    if isinstance(entry, SliceIndex) and entry.static:
        places: npt.NDArray[Any] | None = np.asarray(entry.range(rows))
    else:
        places = constant_value(node.inputs[1]) if entry == Gather() else None
    if places is None or places.ndim != 1:
        return None
    taken = rows_at(x, rows, places)
    return None if taken is None else addends(taken)


def rows_at(node: Node, rows: int, places: npt.NDArray[Any]) -> Node | None:
    """The expression for some of its rows; None where it has no constant rows, or joins them."""
    along = along_rows(node, rows)
    if along is None:
        return None
    return at_rows([node], along, places)[0]


def _product(a: Addend, b: Addend) -> Addend | None:
    if not (a.plain or b.plain):
        return None
    of = b if a.plain else a
    return Addend(a.weights * b.weights, a.factors + b.factors, a.varying + b.varying, of.product, of.squared)


def _inverse(one: Addend) -> Addend | None:
    if not one.plain or np.any(one.weights == 0):
        return None
    factors, varying = (tuple([apply("reciprocal", x) for x in group]) for group in (one.factors, one.varying))
    return Addend(1.0 / one.weights, factors, varying)


def _sum(inputs: Sequence[Node]) -> list[Addend]:
    return [one for each in inputs for one in addends(each)]


def _scaled(found: Sequence[Addend], by: float) -> list[Addend]:
    return [Addend(by * a.weights, a.factors, a.varying, a.product, a.squared) for a in found]


def _difference(inputs: Sequence[Node]) -> list[Addend]:
    return [*addends(inputs[0]), *_scaled(addends(inputs[1]), -1.0)]


def _multiplied(inputs: Sequence[Node]) -> list[Addend] | None:
    if len(inputs) == 2 and inputs[0] is inputs[1]:
        return _square(inputs)
    return _distributed([addends(each) for each in inputs])


def _distributed(lists: Sequence[list[Addend] | None]) -> list[Addend] | None:
    """A product of sums of which at most one has several addends."""
    result = [Addend(1.0)]
    for found in lists:
        if found is None or min(len(result), len(found)) > 1:
            return None
        products = [_product(a, b) for a in result for b in found]
        result = [one for one in products if one is not None]
        if len(result) < len(products):
            return None
    return result


def _reciprocal(inputs: Sequence[Node]) -> list[Addend] | None:
    found = addends(inputs[-1])
    inverse = _inverse(found[0]) if len(found) == 1 else None
    return None if inverse is None else [inverse]


def _quotient(inputs: Sequence[Node]) -> list[Addend] | None:
    return _distributed([addends(inputs[0]), _reciprocal(inputs)])


def _square(inputs: Sequence[Node]) -> list[Addend] | None:
    """The square of a linear form, with what multiplies it as a whole outside."""
    outer, core = [Addend(1.0)], inputs[0]
    while isinstance(core.op, Elementwise):
        own: list[Addend] | None
        if core.op.function == "neg":
            own, rest = [Addend(1.0)], list(core.inputs)
        elif core.op.function == "true_div":
            own, rest = _reciprocal(core.inputs), [core.inputs[0]]
        elif core.op.function == "mul":
            lists = [(each, addends(each)) for each in core.inputs]
            own = _distributed([found for _, found in lists if len(found) == 1 and found[0].plain])
            rest = [each for each, found in lists if len(found) > 1 or not found[0].plain]
        else:
            break
        if own is None or len(rest) != 1:
            break
        outer, core = _distributed([outer, own]) or outer, rest[0]
    inner = addends(core)
    if any(one.squared for one in inner):
        return None
    if len(inner) == 1 and inner[0].plain:
        return _distributed([outer, outer, inner, inner])
    twice = _product(outer[0], outer[0])
    assert twice is not None
    return [Addend(twice.weights, twice.factors, twice.varying, squared=tuple(inner))]


def _power(inputs: Sequence[Node]) -> list[Addend] | None:
    exponent = constant_value(inputs[1])
    return _square(inputs) if exponent is not None and exponent.size == 1 and exponent.item() == 2 else None


def _exponential(inputs: Sequence[Node]) -> list[Addend] | None:
    """exp(offset + x) with the largest offset left at x: no greater number occurs than does in the rows."""
    parts = addends(inputs[0])
    if not all(one.plain for one in parts):
        return None
    known = [one.weights for one in parts if not one.factors and not one.varying]
    rest = [one for one in parts if one.factors or one.varying]
    offset = sum(known)
    if not rest or not isinstance(offset, np.ndarray) or any(isinstance(one.weights, np.ndarray) for one in rest):
        return None
    highest, lowest = float(np.max(offset)), float(np.min(offset))
    if not isfinite(highest - lowest) or highest - lowest > SPREAD:
        return None
    power = apply("add", *[_node(one) for one in rest]) if len(rest) > 1 else _node(rest[0])
    value = apply("exp", power + highest)
    weights = np.exp(offset - highest)
    return [Addend(weights, (value,)) if value.ndim == 0 else Addend(weights, (), (value,))]


def _node(one: Addend) -> Node:
    """A plain addend of one weight for all rows as an expression."""
    operands = [*one.factors, *one.varying]
    result = constant(float(one.weights)) * operands[0] if one.weights != 1.0 else operands[0]
    for operand in operands[1:]:
        result = result * operand
    return result


def _logarithm(inputs: Sequence[Node]) -> list[Addend] | None:
    """log of a product with known positive weights; with another input before it, that times the logarithm."""
    (*times, x) = inputs
    found = addends(x)
    if len(found) != 1 or not found[0].plain or not np.all(np.asarray(found[0].weights) > 0):
        return None
    (one,) = found
    logs = [Addend(np.log(one.weights)) if isinstance(one.weights, np.ndarray) else Addend(float(np.log(one.weights)))]
    logs += [Addend(1.0, (apply("log", factor),)) for factor in one.factors]
    logs += [Addend(1.0, (), (apply("log", value),)) for value in one.varying]
    return _distributed([logs, *[addends(each) for each in times]])


_FUNCTIONS: Final[dict[str, Callable[[Sequence[Node]], list[Addend] | None]]] = {
    "add": _sum,
    "sub": _difference,
    "neg": lambda inputs: _scaled(addends(inputs[0]), -1.0),
    "mul": _multiplied,
    "reciprocal": _reciprocal,
    "true_div": _quotient,
    "square": _square,
    "pow": _power,
    "exp": _exponential,
    "log": _logarithm,
    "xlogy": _logarithm,
}


def has_rows(node: Node, rows: int) -> bool:
    """Whether constants with one value per row occur in an expression."""
    return any(
        isinstance(each.op, Constant) and each.op.array.ndim > 0 and each.op.array.shape[0] == rows
        for each in topological([node])
        if not is_leaf(each)
    )


__all__ = ["Addend", "Weights", "addends", "has_rows", "rows_at"]
