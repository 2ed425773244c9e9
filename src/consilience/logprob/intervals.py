"""Ranges of values of scalar expressions, by interval arithmetic: the least and the greatest value on each of cells.

Ends are rounded as the functions are, not outwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.ir import Node, constant_value, topological
from consilience.ops.elementwise import Elementwise
from consilience.ops.scalar import TABLE, Column

Array: TypeAlias = npt.NDArray[np.float64]
# Least and greatest values, one of each per cell.
Range: TypeAlias = tuple[Array, Array]

CORNERS: Final = ("abs", "maximum", "minimum")


def ranges(nodes: Sequence[Node], known: Mapping[Node, Range]) -> dict[Node, Range]:
    """The range of every node that the given ones are computed from.

    `known`: ranges of nodes whose operands do not count. Returns: -inf to inf where nothing is known, NaN where a
    function is not defined on the whole range.
    """
    found = dict(known)
    one = next(iter(known.values()))[0]
    with np.errstate(all="ignore"):
        for node in topological(nodes, stop=lambda n: n in known):
            if node in found:
                continue
            value = constant_value(node)
            if isinstance(node.op, Elementwise):
                found[node] = _of_function(node, [found[operand] for operand in node.inputs])
            elif picked := node.op.picks_of(len(node.inputs)):
                ends = zip(*(found[node.inputs[place]] for place in picked), strict=True)
                found[node] = _hull([end for side in ends for end in side])
            elif value is not None and value.size and value.dtype.kind in "biuf":
                found[node] = np.full_like(one, value.min()), np.full_like(one, value.max())
            else:
                found[node] = np.full_like(one, -np.inf), np.full_like(one, np.inf)
    return found


def is_continuous(node: Node, below: Node, found: Mapping[Node, Range]) -> bool:
    """Whether an expression is defined and continuous in a node below it, of which the ranges are one cell."""
    for step in topological([node], stop=lambda n: n is below):
        if step is below or not any(_depends(operand, below) for operand in step.inputs):
            continue
        assert isinstance(step.op, Elementwise)
        row = TABLE[step.op.function]
        if row.flat or row.result in ("bool", "choice") or np.isnan(found[step]).any():
            return False
        if step.op.function in ("true_div", "reciprocal", "pow") and _has_pole(step, found):
            return False
    return True


def _has_pole(step: Node, found: Mapping[Node, Range]) -> bool:
    """Whether 0 lies inside the range of a divisor, or of the base of a negative power."""
    assert isinstance(step.op, Elementwise)
    low, high = found[step.inputs[1 if step.op.function == "true_div" else 0]]
    negative = step.op.function != "pow" or (found[step.inputs[1]][0] < 0).any()
    return bool(((low < 0) & (high > 0)).any() and negative)


def has_corners(node: Node, below: Node) -> bool:
    """Whether an expression is made of functions that are not analytic."""
    steps = topological([node], stop=lambda n: n is below)
    return any(isinstance(step.op, Elementwise) and step.op.function in CORNERS for step in steps)


def _depends(node: Node, below: Node) -> bool:
    return below in topological([node], stop=lambda n: n is below)


def _of_function(node: Node, operands: list[Range]) -> Range:
    assert isinstance(node.op, Elementwise)
    name = node.op.function
    one = operands[0][0]
    if name in RULES:
        return RULES[name](node, operands)
    function, signs = TABLE[name].numpy, TABLE[name].monotone_in(len(operands))
    if TABLE[name].monotone == "v":
        ((low, high),) = operands
        ends = function(low), function(high)
        least = np.where((low <= 0) & (high >= 0), function(np.zeros_like(low)), np.minimum(*ends))
        return least, np.maximum(*ends)
    if all(signs):
        least, greatest = (
            function(*(own[end if sign > 0 else 1 - end] for own, sign in zip(operands, signs, strict=True)))
            for end in (0, 1)
        )
        return least, greatest
    return np.full_like(one, -np.inf), np.full_like(one, np.inf)


def _hull(candidates: Sequence[Array]) -> Range:
    return np.minimum.reduce(candidates), np.maximum.reduce(candidates)


def _times(a: Array, b: Array) -> Array:
    """A product in which 0 takes what is beside it, as an end that is not reached."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _product(a: Range, b: Range) -> Range:
    return _hull([_times(x, y) for x in a for y in b])


def _whole_power(base: Range, exponent: int) -> Range:
    low, high = base
    if exponent < 0:
        return _inverse(_whole_power(base, -exponent))
    ends = low**exponent, high**exponent
    if exponent % 2:
        return ends
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(*ends)), np.maximum(*ends)


def _inverse(x: Range) -> Range:
    low, high = x
    both = (low < 0) & (high > 0)
    # An end at 0 belongs to the side on which the others are.
    least = np.where(high == 0, -np.inf, 1.0 / high)
    greatest = np.where(low == 0, np.inf, 1.0 / low)
    return np.where(both, -np.inf, least), np.where(both, np.inf, greatest)


def _mul(node: Node, operands: list[Range]) -> Range:
    counts = Counter(node.inputs)
    by_node = dict(zip(node.inputs, operands, strict=True))
    factors = [_whole_power(by_node[factor], count) for factor, count in counts.items()]
    result = factors[0]
    for factor in factors[1:]:
        result = _product(result, factor)
    return result


def _add(node: Node, operands: list[Range]) -> Range:
    low, high = operands[0]
    for other in operands[1:]:
        low, high = low + other[0], high + other[1]
    return low, high


def _sub(node: Node, operands: list[Range]) -> Range:
    a, b = operands
    return a[0] - b[1], a[1] - b[0]


def _pow(node: Node, operands: list[Range]) -> Range:
    base, exponent = operands
    given = constant_value(node.inputs[1])
    if given is not None and given.size and (given == given.flat[0]).all() and float(given.flat[0]).is_integer():
        return _whole_power(base, int(given.flat[0]))
    low, high = _hull([np.power(b, e) for b in base for e in exponent])
    undefined = base[0] < 0
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


def _wave(operand: Range, top: float) -> Range:
    """Of cosines with a greatest value at `top`, on cells of any width."""
    low, high = operand
    turn = 2 * np.pi

    def meets(at: float) -> npt.NDArray[np.bool_]:
        return ~(np.floor((high - at) / turn) < np.ceil((low - at) / turn))

    ends = np.cos(low - top), np.cos(high - top)
    least = np.where(meets(top + np.pi), -1.0, np.fmin(*ends))
    return least, np.where(meets(top), 1.0, np.fmax(*ends))


def _where(node: Node, operands: list[Range]) -> Range:
    chosen, then, otherwise = operands
    low, high = _hull([then[0], otherwise[0]])[0], _hull([then[1], otherwise[1]])[1]
    always, never = chosen[0] >= 1, chosen[1] <= 0
    return (
        np.where(always, then[0], np.where(never, otherwise[0], low)),
        np.where(always, then[1], np.where(never, otherwise[1], high)),
    )


def _extreme(choose: Callable[..., Any]) -> Callable[[Node, list[Range]], Range]:
    return lambda node, operands: (choose(operands[0][0], operands[1][0]), choose(operands[0][1], operands[1][1]))


def _truth(sure: Callable[[Range, Range], Any], never: Callable[[Range, Range], Any]) -> Any:
    def rule(node: Node, operands: list[Range]) -> Range:
        a, b = operands
        return np.where(sure(a, b), 1.0, 0.0), np.where(never(a, b), 0.0, 1.0)

    return rule


def _apart(a: Range, b: Range) -> Any:
    return (a[1] < b[0]) | (b[1] < a[0])


def _one_point(a: Range, b: Range) -> Any:
    return (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0])


RULES: Final = Column[Callable[[Node, list[Range]], Range]](
    "interval",
    {
        "add": _add,
        "sub": _sub,
        "mul": _mul,
        "true_div": lambda node, operands: _product(operands[0], _inverse(operands[1])),
        "reciprocal": lambda node, operands: _inverse(operands[0]),
        "pow": _pow,
        "cos": lambda node, operands: _wave(operands[0], 0.0),
        "sin": lambda node, operands: _wave(operands[0], 0.5 * np.pi),
        "where": _where,
        "maximum": _extreme(np.maximum),
        "minimum": _extreme(np.minimum),
        "lt": _truth(lambda a, b: a[1] < b[0], lambda a, b: a[0] >= b[1]),
        "le": _truth(lambda a, b: a[1] <= b[0], lambda a, b: a[0] > b[1]),
        "gt": _truth(lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
        "ge": _truth(lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
        "eq": _truth(_one_point, _apart),
        "neq": _truth(_apart, _one_point),
    },
)
# Functions of which something is known.
FUNCTIONS: Final = frozenset({*RULES, *(name for name, row in TABLE.items() if row.monotone in ("+", "-", "++", "v"))})
