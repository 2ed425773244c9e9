"""Minima by quasi-Newton steps: BFGS with a dense matrix, and L-BFGS with the last few steps, by one line search.

A function of value and gradient and a starting vector in, the last point and whether it is a minimum out. Each step of
the loop evaluates once. The search along a direction brackets the (weak) Wolfe conditions; near a minimum, where
differences of values are rounding errors, it goes by slopes alone: W. Hager, H. Zhang (2005), "A new conjugate gradient
method with guaranteed descent"; A. Lewis, M. Overton (2013), "Nonsmooth optimization via quasi-Newton methods".
"""

from __future__ import annotations

import math
from typing import Any

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply
from consilience.ops.shape import concatenate, expand_dims, full
from consilience.tensor.loops import foldl, scan
from consilience.tensor.optimization.iteration import (
    Function,
    both,
    either,
    eq,
    every,
    finite,
    identity,
    iterate,
    largest,
    negated,
    norm,
    outer,
    precision,
    status,
    total,
    where,
)

# Of the Wolfe conditions: how much of the promised decrease must come, how much of the slope may remain.
DECREASE = 1e-4
REMAINING = 0.9
TRIALS = 60  # evaluations along one direction


class Dense:
    """The inverse Hessian as a matrix."""

    def start(self, x: Node) -> dict[str, Node]:
        """Values that a loop carries."""
        return {"inverse": identity(x)}

    def updated(self, now: Any, step: Node, change: Node, product: Node, first: Node) -> dict[str, Node]:
        """After a step, which changed the gradient; `product` of both is > 0. The first one sets the scale."""
        scale = where(first, product / total(change * change), 1.0)
        before = now.inverse * scale
        image = before @ change
        turned = outer(step, image)
        gain = (1.0 + total(change * image) / product) / product
        return {"inverse": before - (turned + turned.mT) / product + gain * outer(step, step)}

    def times(self, values: dict[str, Node], vector: Node) -> Node:
        """The inverse Hessian times a vector."""
        return values["inverse"] @ vector


class Limited:
    """The inverse Hessian by the last `memory` steps: J. Nocedal (1980), with rows of zeros where there is none yet."""

    def __init__(self, memory: int) -> None:
        self.memory = memory

    def start(self, x: Node) -> dict[str, Node]:
        """Values that a loop carries."""
        zeros = full((self.memory, *x.static_shape), 0.0, x.dtype)
        ones = full((), 1.0, x.dtype)
        return {"steps": zeros, "changes": zeros, "weights": full((self.memory,), 0.0, x.dtype), "scale": ones}

    def updated(self, now: Any, step: Node, change: Node, product: Node, first: Node) -> dict[str, Node]:
        """After a step, which changed the gradient; `product` of both is > 0."""
        return {
            "steps": _shifted(now.steps, step),
            "changes": _shifted(now.changes, change),
            "weights": _shifted(now.weights, 1.0 / product),
            "scale": product / total(change * change),
        }

    def times(self, values: dict[str, Node], vector: Node) -> Node:
        """The inverse Hessian times a vector, by two loops over the steps."""
        rows = [values["steps"], values["changes"], values["weights"]]

        def down(s: Node, y: Node, weight: Node, rest: Node) -> tuple[Node, Node]:
            share = weight * total(s * rest)
            return rest - share * y, share

        rests, shares = scan(down, rows, [vector, None], go_backwards=True, return_updates=False)

        def up(s: Node, y: Node, weight: Node, share: Node, made: Node) -> Node:
            return made + (share - weight * total(y * made)) * s

        found: Node = foldl(up, [*rows, shares[::-1]], rests[-1] * values["scale"], return_updates=False)
        return found


def _shifted(rows: Node, last: Node) -> Node:
    return concatenate([rows[1:], expand_dims(last, 0)])


def minimum(
    value_and_gradient: Function, start: Node, model: Dense | Limited, *, gtol: TensorLike, maxiter: int | Node
) -> tuple[Node, Node]:
    """The last point, and whether it is a minimum.

    `value_and_gradient`: of a vector. `start`: float vector. `gtol`: a minimum has a gradient whose elements are at
    most so large. `maxiter`: number of steps at most.

    A point is a minimum too where no smaller value can be told from its own by rounding: the decrease that a step
    promises is below it. A start without finite value and gradient is no minimum, and is given back.
    """
    eps = precision(start)
    zero = total(start) * 0.0

    def step(now: Any) -> dict[str, TensorLike]:
        first = eq(now.count, 0)
        trial = where(first, now.x, now.x + now.length * now.direction)
        value, gradient = value_and_gradient(trial)
        there = finite(value, gradient)
        slope = total(gradient * now.direction)
        lower = value <= now.value + DECREASE * now.length * now.slope
        level = both(value <= now.value + 1e3 * eps * apply("abs", now.value), slope <= (2 * DECREASE - 1) * now.slope)
        down = both(there, either(lower, level))
        done = where(first, there, both(down, slope >= REMAINING * now.slope))

        # The bracket of lengths, and the next length in it.
        low, low_slope = where(down, now.length, now.low), where(down, slope, now.low_slope)
        high, high_slope = where(down, now.high, now.length), where(down, now.high_slope, where(there, slope, -1.0))
        closed = apply("isfinite", high)
        width = where(closed, high - low, 1.0)
        secant = low - low_slope * width / where(high_slope > low_slope, high_slope - low_slope, 1.0)
        inside = apply("minimum", apply("maximum", secant, low + 0.1 * width), low + 0.9 * width)
        length = where(closed, where(high_slope > 0, inside, low + 0.5 * width), 2.0 * now.length)

        # The step that is done, and the direction of the next.
        moved, change = trial - now.x, gradient - now.gradient
        product = total(moved * change)
        usable = both(done, negated(first), product > eps * norm(moved) * norm(change))
        after = model.updated(now, moved, change, where(usable, product, 1.0), now.fresh)
        kept = {name: where(usable, value_after, getattr(now, name)) for name, value_after in after.items()}

        stuck = both(negated(first), negated(done), either(now.trials >= TRIALS, every(eq(trial, now.x))))
        negligible = -now.slope <= 16 * eps * apply("abs", now.value)
        again = both(stuck, negated(now.fresh))
        x, f, g = (where(done, a, b) for a, b in ((trial, now.x), (value, now.value), (gradient, now.gradient)))
        newton = -model.times(kept, g)
        promise = total(newton * g)
        reset = either(again, negated(promise < 0))
        begin = model.start(start)
        turning = either(done, again)
        direction = where(turning, where(reset, -g, newton), now.direction)
        fresh = where(turning, either(reset, both(now.fresh, negated(usable))), now.fresh)
        down_slope = where(turning, total(direction * g), now.slope)
        unit = where(fresh, apply("minimum", 1.0, 1.0 / apply("maximum", norm(g), 1e-30)), 1.0)
        count = now.count + done
        converged = either(both(done, largest(gradient) <= gtol), both(stuck, negligible))
        failed = either(both(first, negated(there)), both(stuck, now.fresh), count > maxiter)
        return {
            "status": status(converged, failed),
            "x": x,
            "value": f,
            "gradient": g,
            "direction": direction,
            "slope": down_slope,
            "length": where(turning, unit, length),
            "low": where(turning, 0.0, low),
            "low_slope": where(turning, down_slope, low_slope),
            "high": where(turning, math.inf, high),
            "high_slope": where(turning, 0.0, high_slope),
            "count": count,
            "trials": where(turning, 0, now.trials + 1),
            "fresh": fresh,
            **{name: where(both(turning, reset), begin[name], value_after) for name, value_after in kept.items()},
        }

    last = iterate(
        step,
        x=start,
        value=zero,
        gradient=start * 0.0,
        direction=start * 0.0,
        slope=zero,
        length=zero,
        low=zero,
        low_slope=zero,
        high=zero + math.inf,
        high_slope=zero,
        count=0,
        trials=0,
        fresh=True,
        **model.start(start),
    )
    return last.x, eq(last.status, 1)
