"""Derivatives of a recorded integration: the steps backwards, each with the pullback of its method.

The lengths of steps count as constants: what is differentiated is the solution on the steps that were chosen. This is
the exact derivative of what was computed, as accurate as the solution; a continuous adjoint equation would be solved
backwards with errors of its own, and be unstable where the equation is dissipative.
"""

from __future__ import annotations

from typing import Any

import consilience.tensor as pt
from consilience.ir import Node, tensor_input
from consilience.ode.integration import IntegrationSteps, Method
from consilience.ode.state_function import StateFunction
from consilience.ops.loop import fresh
from consilience.ops.scan import scan
from consilience.record import replace
from consilience.tensor.differentiation import pullback


def differentiable(
    steps: IntegrationSteps, f: StateFunction, method: Method, start: Node, initial: Node
) -> IntegrationSteps:
    """The same steps, whose times and states have derivatives with respect to start, initial state and parameters."""

    @pt.custom_vjp
    def recorded(start: Node, initial: Node, times: Node, states: Node, *rest: Node) -> tuple[Node, Node]:
        return times, states

    def forward(*operands: Node) -> tuple[Any, Any]:
        results = recorded(*operands)
        return results, (*results, *operands[4:])

    def backward(kept: tuple[Node, ...], cotangents: list[Node]) -> list[Node | None]:
        times, states, lengths, count, *parameters = kept
        found = _backwards(f, method, times, states, lengths, count, tuple(parameters), *cotangents)
        by_parameter = dict(zip(f.differentiable, found[2:], strict=True))
        return [*found[:2], None, None, None, None, *(by_parameter.get(i) for i in range(len(parameters)))]

    recorded.defvjp(forward, backward)
    fixed = [pt.stop_gradient(value) for value in (steps.times, steps.states, steps.lengths)]
    times, states = recorded(start, initial, *fixed, steps.count, *f.parameters)
    return replace(steps, times=times, states=states, lengths=fixed[2])


def _backwards(
    f: StateFunction,
    method: Method,
    times: Node,
    states: Node,
    lengths: Node,
    count: Node,
    parameters: tuple[Node, ...],
    by_times: Node,
    by_states: Node,
) -> list[Node]:
    """Cotangents of start, initial state and differentiable parameters for those of times and states."""
    t, h, seed = (tensor_input("float64", ()) for _ in range(3))
    y, pull, seeds = (fresh(states[0]) for _ in range(3))
    pull_time = fresh(t)
    inside = tuple(fresh(value) for value in parameters)
    wanted = [inside[i] for i in f.differentiable]
    totals = [fresh(value) for value in wanted]
    behind = method.advance(f, t, y, h, inside)
    slopes = pullback([behind], [t, y, *wanted], [pull], disconnected_inputs="ignore")
    loop = scan(
        {
            pull_time: (pt.zeros((), "float64"), pull_time + slopes[0] + seed),
            pull: (pt.zeros_like(states[0]), slopes[1] + seeds),
            **{
                total: (pt.zeros_like(parameters[i]), total + slope)
                for i, total, slope in zip(f.differentiable, totals, slopes[2:], strict=True)
            },
        },
        {t: times, y: states, h: lengths, seed: by_times, seeds: by_states},
        [],
        length=times.static_shape[0],
        limit=count,
        reverse=True,
        fixed=dict(zip(inside, parameters, strict=True)),
    )
    return list(loop.last)
