"""Roots of systems of equations: damped Newton steps, and Powell's hybrid of Newton and steepest descent.

A function that gives residuals and their Jacobian and a starting vector in; the last point and whether it is a root
out. Each step of the loop evaluates once. Source: M. Powell (1970), "A hybrid method for nonlinear equations"; scaling
of variables as in MINPACK (J. Moré, B. Garbow, K. Hillstrom 1980).
"""

from __future__ import annotations

from typing import Any

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply
from consilience.ops.linalg import matrix_transpose
from consilience.ops.reductions import sum as _sum
from consilience.ops.shape import expand_dims
from consilience.tensor.optimization.iteration import (
    CONVERGED,
    Function,
    both,
    either,
    eq,
    every,
    finite,
    identity,
    iterate,
    negated,
    norm,
    precision,
    solved,
    status,
    total,
    where,
)


def _near(step: Node, x: Node, xtol: TensorLike) -> Node:
    """Whether a step is as small as the error that is allowed: relative, and near 0 times 1e-4."""
    return every(apply("abs", step) <= xtol * (apply("abs", x) + 1e-4))


def newton(residual_and_jacobian: Function, start: Node, *, xtol: TensorLike, maxiter: int | Node) -> tuple[Node, Node]:
    """Newton steps, halved until the residuals become smaller.

    `xtol`: the last whole Newton step changes each variable x by at most xtol * (|x| + 1e-4). `maxiter`: number of
    evaluations at most.

    A singular Jacobian, a start without finite residuals, and steps that no halving makes useful end the search: the
    point is given back, and is no root.
    """
    eps = precision(start)
    one = total(start) * 0.0 + 1.0

    def step(now: Any) -> dict[str, TensorLike]:
        first = eq(now.count, 0)
        trial = where(first, now.x, now.x + now.length * now.newton)
        residual, jacobian = residual_and_jacobian(trial)
        size = norm(residual)
        there = finite(residual, jacobian)
        small = both(negated(first), eq(now.length, 1.0), _near(now.newton, trial, xtol))
        lower = both(there, either(first, size <= (1.0 - 1e-4 * now.length) * now.size))
        done = either(lower, both(there, small, size <= now.size))
        direction, regular = solved(jacobian, -residual)
        root = both(done, eq(size, 0.0))
        length = where(done, 1.0, 0.5 * now.length)
        failed = either(
            both(first, negated(there)), both(done, negated(regular)), length < eps * eps, now.count >= maxiter
        )
        return {
            "status": status(either(root, small), failed),
            "x": where(done, trial, now.x),
            "size": where(done, size, now.size),
            "newton": where(done, direction, now.newton),
            "length": length,
            "count": now.count + 1,
        }

    last = iterate(step, x=start, size=one, newton=start * 0.0, length=one, count=0)
    return last.x, eq(last.status, CONVERGED)


def hybrid(residual_and_jacobian: Function, start: Node, *, xtol: TensorLike, maxiter: int | Node) -> tuple[Node, Node]:
    """Powell's dogleg steps within a region of trust, with the exact Jacobian at every point.

    `xtol`: the last whole Newton step changes each variable x by at most xtol * (|x| + 1e-4). `maxiter`: number of
    evaluations at most.

    Where the Jacobian is singular the step is that of steepest descent. A start without finite residuals, and a point
    where the residuals are stationary but not zero, are given back, and are no root.
    """
    eps = precision(start)
    zero = total(start) * 0.0

    def step(now: Any) -> dict[str, TensorLike]:
        first = eq(now.count, 0)
        trial = where(first, now.x, now.x + now.step)
        residual_there, jacobian_there = residual_and_jacobian(trial)
        size_there = norm(residual_there)
        there = finite(residual_there, jacobian_there)
        relative, promised = size_there / now.size, now.promised / now.size
        ratio = where(there, (1.0 - relative * relative) / (1.0 - promised * promised), -1.0)
        small = both(negated(first), now.whole, _near(now.step, trial, xtol))
        done = both(there, either(first, ratio > 1e-4, both(small, size_there <= now.size)))

        x = where(done, trial, now.x)
        residual = where(done, residual_there, now.residual)
        jacobian = where(done, jacobian_there, now.jacobian)
        size = where(done, size_there, now.size)
        columns = apply("sqrt", _sum(apply("square", jacobian), 0))
        scale = apply("maximum", now.scale, columns)
        scale = where(scale > 0, scale, 1.0)
        width = norm(scale * x)
        moved = norm(now.scale * now.step)
        radius = where(ratio < 0.25, 0.25 * apply("minimum", moved, now.radius), now.radius)
        radius = where(ratio > 0.5, apply("maximum", radius, 2.0 * moved), radius)
        radius = where(first, 100.0 * where(width > 0, width, 1.0), radius)

        # In scaled variables: the Newton step, the least point of the model along steepest descent, and between.
        scaled = jacobian / expand_dims(scale, 0)
        slope = matrix_transpose(scaled) @ residual
        steepness = norm(slope)
        unit = slope / where(steepness > 0, steepness, 1.0)
        bend = norm(scaled @ unit)
        cauchy = steepness / where(bend > 0, bend * bend, 1.0)
        newton, regular = solved(scaled, -residual)
        newton = where(regular, newton, 0.0)
        whole = both(regular, norm(newton) <= radius)
        begin = -apply("minimum", cauchy, radius) * unit
        onwards = newton - begin
        a, b, c = total(onwards * onwards), total(begin * onwards), total(begin * begin) - radius * radius
        root = apply("sqrt", apply("maximum", b * b - a * c, 0.0))
        share = where(both(regular, cauchy < radius), -c / apply("maximum", b + root, eps * eps), 0.0)
        scaled_step = where(whole, newton, begin + apply("minimum", share, 1.0) * onwards)

        failed = either(
            both(first, negated(there)),
            negated(steepness > 0),
            radius <= eps * eps * where(width > 0, width, 1.0),
            now.count >= maxiter,
        )
        return {
            "status": status(both(there, either(small, eq(size, 0.0))), failed),
            "x": x,
            "residual": residual,
            "jacobian": jacobian,
            "size": size,
            "scale": scale,
            "radius": radius,
            "step": scaled_step / scale,
            "promised": norm(residual + scaled @ scaled_step),
            "whole": whole,
            "count": now.count + 1,
        }

    last = iterate(
        step,
        x=start,
        residual=start * 0.0,
        jacobian=identity(start) * 0.0,
        size=zero + 1.0,
        scale=start * 0.0,
        radius=zero + 1.0,
        step=start * 0.0,
        promised=zero,
        whole=False,
        count=0,
    )
    return last.x, eq(last.status, CONVERGED)
