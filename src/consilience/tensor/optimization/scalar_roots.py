"""Roots of one equation in one variable: bisection, Brent's method, Newton, secants and Halley.

A function of a scalar in; the last point and whether it is a root out. Each step of a loop evaluates once. Source of
`brent`: R. Brent (1973), "Algorithms for Minimization Without Derivatives", chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply
from consilience.tensor.optimization.iteration import (
    CONVERGED,
    Function,
    both,
    either,
    eq,
    finite,
    iterate,
    negated,
    status,
    where,
)


def _tolerance(x: Node, xtol: TensorLike, rtol: TensorLike) -> Node:
    return xtol + rtol * apply("abs", x)


def _unlike(f: Node, g: Node) -> Node:
    """Whether values have different signs, or one is zero."""
    return apply("sign", f) * apply("sign", g) <= 0


def bisection(
    function: Function, low: Node, high: Node, *, xtol: TensorLike, rtol: TensorLike, maxiter: int | Node
) -> tuple[Node, Node]:
    """Halves of an interval at whose ends the values have different signs; other intervals give their first end."""

    def step(now: Any) -> dict[str, TensorLike]:
        first, second = eq(now.count, 0), eq(now.count, 1)
        value = function(now.trial)
        there = finite(value)
        begin = either(first, both(negated(second), _unlike(value, now.at_high)))
        low, at_low = where(begin, now.trial, now.low), where(begin, value, now.at_low)
        high, at_high = where(begin, now.high, now.trial), where(begin, now.at_high, value)
        width = apply("abs", high - low)
        middle = low + 0.5 * (high - low)
        found = both(there, either(eq(value, 0.0), both(now.count > 1, width <= _tolerance(middle, xtol, rtol))))
        failed = either(negated(there), both(second, negated(_unlike(at_low, at_high))), now.count > maxiter + 1)
        return {
            "status": status(found, failed),
            "low": low,
            "at_low": at_low,
            "high": high,
            "at_high": at_high,
            "trial": where(either(found, failed), now.trial, where(first, now.high, middle)),
            "count": now.count + 1,
        }

    last = iterate(step, low=low, at_low=low * 0.0, high=high, at_high=low * 0.0, trial=low, count=0)
    return where(eq(last.status, CONVERGED), last.trial, last.low), eq(last.status, CONVERGED)


def brent(
    function: Function, low: Node, high: Node, *, xtol: TensorLike, rtol: TensorLike, maxiter: int | Node
) -> tuple[Node, Node]:
    """Brent's method: interpolation within an interval at whose ends the values have different signs, else halving.

    Other intervals give the end whose value is nearer to zero.
    """

    def step(now: Any) -> dict[str, TensorLike]:
        value = function(now.b)
        there = finite(value)
        # The three points: best b, the one before a, and c on the other side of the root.
        second, a, at_a, b, at_b = eq(now.count, 1), now.a, now.at_a, now.b, value
        beyond = either(eq(now.count, 0), second, negated(_unlike(at_b, now.at_c)))
        c, at_c = where(beyond, a, now.c), where(beyond, at_a, now.at_c)
        last, previous = where(beyond, b - a, now.last), where(beyond, b - a, now.previous)
        swap = apply("abs", at_c) < apply("abs", at_b)
        a, b, c = where(swap, b, a), where(swap, c, b), where(swap, b, c)
        at_a, at_b, at_c = where(swap, at_b, at_a), where(swap, at_c, at_b), where(swap, at_b, at_c)
        tolerance = 0.5 * _tolerance(b, xtol, rtol)
        middle = 0.5 * (c - b)
        # Inverse quadratic interpolation through three points, a secant through two.
        s = at_b / at_a
        q, r = at_a / at_c, at_b / at_c
        two = eq(a, c)
        p = where(two, 2.0 * middle * s, s * (2.0 * middle * q * (q - r) - (b - a) * (r - 1.0)))
        q = where(two, 1.0 - s, (q - 1.0) * (r - 1.0) * (s - 1.0))
        q, p = where(p > 0, -q, q), apply("abs", p)
        bound = apply("minimum", 3.0 * middle * q - apply("abs", tolerance * q), apply("abs", previous * q))
        good = both(apply("abs", previous) >= tolerance, apply("abs", at_a) > apply("abs", at_b), 2.0 * p < bound)
        move = where(good, p / q, middle)
        onwards = where(apply("abs", move) > tolerance, move, where(middle > 0, tolerance, -tolerance))
        begun = now.count > 0
        found = both(begun, there, either(eq(at_b, 0.0), apply("abs", middle) <= tolerance))
        wrong = both(second, negated(_unlike(now.at_a, value)))
        failed = either(negated(there), wrong, now.count > maxiter + 1)
        ends = either(found, failed)
        return {
            "status": status(found, failed),
            "a": where(begun, b, now.b),
            "at_a": where(begun, at_b, value),
            "b": where(begun, where(ends, b, b + onwards), now.c),
            "c": where(begun, c, now.c),
            "at_c": where(begun, at_c, now.at_c),
            "last": where(begun, move, now.last),
            "previous": where(good, last, middle),
            "count": now.count + 1,
        }

    zero = low * 0.0
    last = iterate(step, a=low, at_a=zero, b=low, c=high, at_c=zero, last=zero, previous=zero, count=0)
    return last.b, eq(last.status, CONVERGED)


def _stepwise(
    evaluate: Callable[[Any], tuple[Node, Node, dict[str, TensorLike]]],
    start: Node,
    xtol: TensorLike,
    rtol: TensorLike,
    maxiter: int | Node,
    **more: TensorLike,
) -> tuple[Node, Node]:
    """Steps from one point until one is small; `evaluate` gives the value there, the step, and what else changes.

    The first step is not looked at where `before`, the point before, is among what changes.
    """

    def step(now: Any) -> dict[str, TensorLike]:
        value, onwards, changed = evaluate(now)
        there = finite(value, onwards)
        root = eq(value, 0.0)
        small = both(there, now.count >= ("before" in more), apply("abs", onwards) <= _tolerance(now.x, xtol, rtol))
        failed = either(negated(there), now.count >= maxiter)
        return {
            "status": status(either(root, small), failed),
            "x": where(either(root, negated(there)), now.x, now.x + onwards),
            "count": now.count + 1,
            **changed,
        }

    last = iterate(step, x=start, count=0, **more)
    return last.x, eq(last.status, CONVERGED)


def newton(
    function: Function, start: Node, *, xtol: TensorLike, rtol: TensorLike, maxiter: int | Node
) -> tuple[Node, Node]:
    """Newton steps; `function` gives value and slope. A slope of zero and values that are not finite end the search."""

    def evaluate(now: Any) -> tuple[Node, Node, dict[str, TensorLike]]:
        value, slope = function(now.x)
        return value, -value / slope, {}

    return _stepwise(evaluate, start, xtol, rtol, maxiter)


def halley(
    function: Function, start: Node, *, xtol: TensorLike, rtol: TensorLike, maxiter: int | Node
) -> tuple[Node, Node]:
    """Halley's steps; `function` gives value, slope and second derivative."""

    def evaluate(now: Any) -> tuple[Node, Node, dict[str, TensorLike]]:
        value, slope, bend = function(now.x)
        newton_step = value / slope
        share = 1.0 - 0.5 * newton_step * bend / slope
        # Where the correction would turn the step around, Newton's is taken.
        return value, -newton_step / where(share > 0, share, 1.0), {}

    return _stepwise(evaluate, start, xtol, rtol, maxiter)


def secant(
    function: Function, start: Node, second: Node, *, xtol: TensorLike, rtol: TensorLike, maxiter: int | Node
) -> tuple[Node, Node]:
    """Secants through the last two points."""

    def evaluate(now: Any) -> tuple[Node, Node, dict[str, TensorLike]]:
        value = function(now.x)
        first = eq(now.count, 0)
        onwards = -value * (now.x - now.before) / (value - now.at_before)
        return value, where(first, second - start, onwards), {"before": now.x, "at_before": value}

    return _stepwise(evaluate, start, xtol, rtol, maxiter, before=start, at_before=start * 0.0)
