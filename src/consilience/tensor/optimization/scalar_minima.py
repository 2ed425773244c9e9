"""Minima of one variable: a bracket by steps downhill, then Brent's method or golden sections within it.

A function of a scalar in; the last point and whether it is a minimum out. Each step of a loop evaluates once. Source:
R. Brent (1973), "Algorithms for Minimization Without Derivatives", chapter 5.
"""

from __future__ import annotations

import math
from typing import Any, Final

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply
from consilience.tensor.optimization.iteration import (
    CONVERGED,
    FAILED,
    RUNNING,
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

GROWTH: Final = (1 + math.sqrt(5)) / 2
GOLDEN: Final = 2 - GROWTH  # the smaller part of a golden section
EXPANSIONS: Final = 100


def bracket(function: Function, a: Node, b: Node, c: Node | None) -> tuple[Node, Node, Node, Node]:
    """Three points with the least value at the second, and whether there are such: a, b, c.

    From a and b by growing steps downhill; given all three, they are only looked at. Infinite values bound
    the search like great ones.
    """

    def step(now: Any) -> dict[str, TensorLike]:
        first, second = eq(now.count, 0), eq(now.count, 1)
        value = function(now.trial)
        there = either(finite(value), both(negated(first), value > 0))
        begun = now.count > 1
        turn = both(second, value > now.at_b) if c is None else eq(now.count, -1)
        # Points in the order downhill; before the third value there is none to compare.
        down = both(begun, value < now.at_b)
        found = both(begun, there, negated(down))
        if c is not None:
            found = both(found, now.at_b <= now.at_a, now.at_b <= value)
        old_a, old_b = where(down, now.b, now.a), where(down, now.trial, now.b)
        far = now.trial if c is None else c
        next_a = where(first, now.trial, where(second, where(turn, now.trial, now.b), old_a))
        next_b = where(first, now.b, where(second, where(turn, now.b, now.trial), old_b))
        at_a = where(second, where(turn, value, now.at_b), where(down, now.at_b, now.at_a))
        at_b = where(first, value, where(second, where(turn, now.at_b, value), where(down, value, now.at_b)))
        third = next_b + GROWTH * (next_b - next_a) if c is None else far
        never = begun if c is not None else eq(now.count, -1)
        failed = either(negated(there), never, now.count > EXPANSIONS)
        return {
            "status": status(found, failed),
            "a": next_a,
            "at_a": at_a,
            "b": where(first, now.trial, next_b),
            "at_b": at_b,
            "trial": where(either(found, failed), now.trial, where(first, b, third)),
            "count": now.count + 1,
        }

    zero = a * 0.0
    last = iterate(step, a=a, at_a=zero, b=a, at_b=zero, trial=a, count=0)
    return last.a, last.b, last.trial, eq(last.status, CONVERGED)


def brent(
    function: Function,
    low: Node,
    start: Node,
    high: Node,
    valid: Node,
    *,
    xtol: TensorLike,
    atol: TensorLike,
    maxiter: int | Node,
) -> tuple[Node, Node]:
    """Parabolas through the three best points within [low, high], golden sections where those do not help.

    `start`: the first point within. `valid`: whether there is anything to search; where not, `start` is given back as
    no minimum. `xtol`: relative, and `atol` absolute: the distance to the minimum that is allowed. `maxiter`: number of
    evaluations at most.
    """

    def step(now: Any) -> dict[str, TensorLike]:
        first = eq(now.count, 0)
        u, fu = now.trial, function(now.trial)
        there = either(finite(fu), both(negated(first), fu > 0))
        better = either(first, fu <= now.fx)
        right = u >= now.x
        moved = negated(first)
        low = where(both(moved, better, right), now.x, where(both(moved, negated(better), negated(right)), u, now.low))
        high = where(
            both(moved, better, negated(right)), now.x, where(both(moved, negated(better), right), u, now.high)
        )
        second = either(fu <= now.fw, eq(now.w, now.x))
        third = either(fu <= now.fv, eq(now.v, now.x), eq(now.v, now.w))
        v = where(better, now.w, where(second, now.w, where(third, u, now.v)))
        fv = where(better, now.fw, where(second, now.fw, where(third, fu, now.fv)))
        w, fw = where(better, now.x, where(second, u, now.w)), where(better, now.fx, where(second, fu, now.fw))
        x, fx = where(better, u, now.x), where(better, fu, now.fx)
        v, w, fv, fw = (where(first, a, b) for a, b in ((u, v), (u, w), (fu, fv), (fu, fw)))

        middle = 0.5 * (low + high)
        tolerance = xtol * apply("abs", x) + atol
        found = both(there, apply("abs", x - middle) <= 2.0 * tolerance - 0.5 * (high - low))
        # The step to the least point of the parabola through x, w and v.
        r, q = (x - w) * (fx - fv), (x - v) * (fx - fw)
        p = (x - v) * q - (x - w) * r
        q = 2.0 * (q - r)
        p, q = where(q > 0, -p, p), apply("abs", q)
        good = both(
            apply("abs", now.previous) > tolerance,
            apply("abs", p) < apply("abs", 0.5 * q * now.previous),
            p > q * (low - x),
            p < q * (high - x),
        )
        parabola = p / where(good, q, 1.0)
        edge = either(x + parabola - low < 2.0 * tolerance, high - x - parabola < 2.0 * tolerance)
        parabola = where(edge, where(middle >= x, tolerance, -tolerance), parabola)
        side = where(x < middle, high - x, low - x)
        move = where(good, parabola, GOLDEN * side)
        least = where(apply("abs", move) >= tolerance, move, where(move > 0, tolerance, -tolerance))
        failed = either(negated(there), now.count >= maxiter)
        return {
            "status": status(found, failed),
            "low": low,
            "high": high,
            "x": x,
            "fx": fx,
            "w": w,
            "fw": fw,
            "v": v,
            "fv": fv,
            "last": move,
            "previous": where(good, now.last, side),
            "trial": x + least,
            "count": now.count + 1,
        }

    zero = start * 0.0
    last = iterate(
        step,
        status=where(valid, RUNNING, FAILED),
        low=apply("minimum", low, high),
        high=apply("maximum", low, high),
        **dict.fromkeys(("x", "w", "v", "trial"), start),
        **dict.fromkeys(("fx", "fw", "fv", "last", "previous"), zero),
        count=0,
    )
    return last.x, eq(last.status, CONVERGED)


def golden(
    function: Function,
    low: Node,
    start: Node,
    high: Node,
    valid: Node,
    *,
    xtol: TensorLike,
    atol: TensorLike,
    maxiter: int | Node,
) -> tuple[Node, Node]:
    """Golden sections of [low, high]; arguments as those of `brent`."""

    def step(now: Any) -> dict[str, TensorLike]:
        first = eq(now.count, 0)
        value = function(now.trial)
        there = either(finite(value), both(negated(first), value > 0))
        better = either(first, value < now.fx)
        right = now.trial > now.x
        moved = negated(first)
        low = where(
            both(moved, better, right), now.x, where(both(moved, negated(better), negated(right)), now.trial, now.low)
        )
        high = where(
            both(moved, better, negated(right)), now.x, where(both(moved, negated(better), right), now.trial, now.high)
        )
        x, fx = where(better, now.trial, now.x), where(better, value, now.fx)
        found = both(there, high - low <= 2.0 * (xtol * apply("abs", x) + atol))
        side = where(high - x > x - low, high - x, low - x)
        failed = either(negated(there), now.count >= maxiter)
        return {
            "status": status(found, failed),
            "low": low,
            "high": high,
            "x": x,
            "fx": fx,
            "trial": x + GOLDEN * side,
            "count": now.count + 1,
        }

    last = iterate(
        step,
        status=where(valid, RUNNING, FAILED),
        low=apply("minimum", low, high),
        high=apply("maximum", low, high),
        x=start,
        fx=start * 0.0,
        trial=start,
        count=0,
    )
    return last.x, eq(last.status, CONVERGED)
