"""Monotone functions of one random operand without a closed inverse: the inverse is found numerically, on request.

That a function is monotone is proved from the range of its derivative. The inverse is a bisection in the order of the
logarithms of sizes and then Newton's method, of whose last steps derivatives of the inverse follow (the implicit
function theorem).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import numpy as np

from consilience.backends.reference import evaluate
from consilience.distributions.constraints import Bound, is_infinite
from consilience.distributions.mathematics import (
    absolute,
    equal,
    exp,
    greater,
    isfinite,
    less,
    log,
    logical_and,
    maximum,
    minimum,
    where,
)
from consilience.distributions.random_variable import is_random
from consilience.distributions.shapes import broadcast
from consilience.ir import FLOATS, Node, constant, is_leaf, substitute, tensor_input, topological
from consilience.ir.side_tables import describe
from consilience.logprob.bijections import Bijection
from consilience.logprob.derivation import derive, is_measurable, require_not_repeated, rule
from consilience.logprob.intervals import FUNCTIONS, Array, has_corners, is_continuous, ranges
from consilience.logprob.measure import Ends, Measure, number, refusal
from consilience.logprob.transformed import Transformed
from consilience.ops.elementwise import Elementwise, StopGradient, apply, as_tensor
from consilience.ops.reduce import reduce
from consilience.ops.shape import broadcast_to
from consilience.transforms.gradient import gradient

_wanted: ContextVar[bool] = ContextVar("numeric_inverse", default=False)
# Sizes of arguments lie between exp(-REACH) and exp(REACH); so many halvings leave a relative error below 1e-7.
REACH: Final = 704.0
HALVINGS: Final = 36
# Newton's steps inside the last interval, and those through which derivatives pass: two give them up to the third.
INNER_STEPS: Final = 2
LAST_STEPS: Final = 2
# Sizes at which the axis is divided into cells for the proof.
CELL_ENDS: Final = np.geomspace(1e-4, 1e4, 161)


@contextmanager
def numeric_inverses(wanted: bool) -> Iterator[None]:
    """Whether derivations inside may invert functions numerically."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def inverts_numerically() -> bool:
    """Whether derivations may do so here."""
    return _wanted.get()


def only_way(node: Node) -> Node | None:
    """The nearest node through which alone an elementwise expression gets its randomness; None where there is none."""
    for candidate in reversed(topological([node], stop=is_random)):
        if candidate is node or not is_measurable(candidate):
            continue
        rest = _down_to(node, candidate)
        if not any(is_random(n) and n is not candidate for n in rest):
            steps = [n for n in rest if n is not candidate and is_measurable(n)]
            known = all(isinstance(n.op, Elementwise) and n.op.function in FUNCTIONS for n in steps)
            return candidate if known else None
    return None


def _down_to(node: Node, end: Node) -> list[Node]:
    return topological([node], stop=lambda n: n is end or is_random(n))


def direction(node: Node, argument: Node, ends: Ends) -> bool | None:
    """Whether an expression increases in a node below it, between the ends; None where neither can be shown."""
    x = tensor_input(argument.dtype, argument.static_shape)
    value, slope = _at(node, argument, x), _slope(node, argument, x)
    low, high = _least(ends[0]), _greatest(ends[1])
    whole = ranges([value], {x: (np.array([low]), np.array([high]))})
    if not is_continuous(value, x, whole):
        return None
    inner = np.unique(np.r_[-CELL_ENDS, 0.0, CELL_ENDS])
    if math.isfinite(low) and math.isfinite(high):
        inner = np.r_[inner, np.linspace(low, high, 101)]
    edges = np.unique(np.r_[low, inner[(inner > low) & (inner < high)], high])
    least, greatest = ranges([slope], {x: (edges[:-1], edges[1:])})[slope]
    for increasing, (nearest, farthest) in ((True, (least, greatest)), (False, (-greatest, -least))):
        # The derivative of an analytic function may be 0 at single points.
        if (nearest > 0).all() or ((nearest >= 0).all() and (farthest > 0).any() and not has_corners(value, x)):
            return increasing
    return None


def _at(node: Node, argument: Node, x: Node) -> Node:
    return substitute([node], {argument: x})[0]


def _slope(node: Node, argument: Node, x: Node) -> Node:
    """The derivative by an argument x that has the shape of the value."""
    stand_in = tensor_input(x.dtype, x.static_shape)
    value = _at(node, argument, stand_in)
    (slope,) = gradient(reduce("sum", value) if value.ndim else value, [stand_in])
    return substitute([slope], {stand_in: x})[0]


def _least(bound: Bound) -> float:
    return float(_range(bound)[0][0])


def _greatest(bound: Bound) -> float:
    return float(_range(bound)[1][0])


def _range(bound: Bound) -> tuple[Array, Array]:
    node = as_tensor(number(bound))
    x = tensor_input("float64", ())
    return ranges([node], {x: (np.zeros(1), np.zeros(1))})[node]


def bijection(node: Node, argument: Node, ends: Ends, increasing: bool) -> Bijection:
    """A monotone expression, with the inverse found numerically."""
    lower, upper = (None if is_infinite(end) else as_tensor(number(end)) for end in ends)

    def forward(x: Node) -> Node:
        return _at(node, argument, x)

    def inside(x: Node) -> Node:
        x = x if lower is None else maximum(x, lower)
        return x if upper is None else minimum(x, upper)

    def inverse(y: Node) -> Node:
        full = broadcast([node.static_shape, y.static_shape], "a value")
        y = y if y.static_shape == full else broadcast_to(y, full)
        target = Node(StopGradient(), y)
        left, right = (broadcast_to(constant(side * 2.0 * REACH), full) for side in (-1.0, 1.0))
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            found = forward(inside(_sized(middle)))
            before = less(found, target) if increasing else greater(found, target)
            # What overflows has its root nearer to 0.
            ahead = where(apply("isnan", found), less(middle, 0.0), before)
            left, right = where(ahead, middle, left), where(ahead, right, middle)
        least, greatest = inside(_sized(left)), inside(_sized(right))
        x = inside(_sized(0.5 * (left + right)))
        for _ in range(INNER_STEPS):
            x = maximum(least, minimum(_step(x, target), greatest))
        x = Node(StopGradient(), x)
        for _ in range(LAST_STEPS):
            x = _step(x, y)
        return x

    def _step(x: Node, y: Node) -> Node:
        slope = _slope(node, argument, x)
        change = (y - forward(x)) / where(equal(slope, 0.0), 1.0, slope)
        usable = logical_and(isfinite(change), apply("neq", slope, 0.0))
        return x + where(usable, change, 0.0)

    def log_slope(x: Node, y: Node) -> Node:
        return -log(absolute(_slope(node, argument, x)))

    far = [_end(forward(inside(_sized(constant(side * 2.0 * REACH)))), side) for side in (-1.0, 1.0)]
    image = (far[0], far[1]) if increasing else (far[1], far[0])
    return Bijection(forward, inverse, log_slope, increasing, ends, image)


def _sized(t: Node) -> Node:
    """A number by the logarithm of its size."""
    size = exp(absolute(t) - REACH)
    return where(less(t, 0.0), -size, size)


def _end(value: Node, side: float) -> Bound:
    """The value at an end, as a number where it is known."""
    if any(is_leaf(node) for node in topological([value])):
        return value
    known = np.asarray(evaluate([value], {})[0], "float64")
    return float(known) if known.ndim == 0 else constant(known)


@rule(*sorted(FUNCTIONS), last=True)
def monotone_function(node: Node) -> Measure | None:
    """A function of one random operand that is shown to be monotone, where it is asked for."""
    argument = only_way(node)
    if argument is None or node.dtype not in FLOATS:
        return None
    wanted = _wanted.get()
    measure = derive(argument)
    increasing = direction(node, argument, measure.ends)
    if increasing is None:
        if not wanted:
            return None
        raise refusal(
            node,
            f"it could not be shown to be a monotone function of {describe(argument)}, on all of its values",
            "write the density as `CustomDist(logp=)`, or give the variable the support on which it is monotone",
        )
    if not wanted:
        raise refusal(
            node,
            f"it {'in' if increasing else 'de'}creases in {describe(argument)}, but its inverse has no closed form",
            "to find the inverse numerically, give `numeric_inverse=True` to `logp`, or to `CustomDist` beside `dist`",
        )
    require_not_repeated(node, argument)
    return Transformed(node, measure, bijection(node, argument, measure.ends, increasing))
