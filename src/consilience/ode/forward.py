"""Forward sensitivities: the derivatives of the state are integrated with the state, under the same tolerance.

A right-hand side in; the equation of state and sensitivities together, and states that carry their derivatives, out.
"""

from __future__ import annotations

from typing import Any

import consilience.tensor as pt
from consilience.errors import ShapeError
from consilience.ir import Node, tensor_input
from consilience.ir.side_tables import describe
from consilience.ode.dense_output import states_at
from consilience.ode.integration import IntegrationSteps, Method, Tolerance, integrate
from consilience.ode.state_function import StateFunction
from consilience.record import Record
from consilience.tensor.differentiation import undefined_grad


class Sensitivities(Record, eq=False):
    """Solution of the equation of state and sensitivities together.

    `steps`: the steps of the integration. `states`: shape (times, n), with derivatives. `slopes`: derivatives of the
    states, shape (times, n, p): by the n initial states, then by each parameter's elements.
    """

    steps: IntegrationSteps
    states: Node
    slopes: Node


def sensitivities(
    f: StateFunction, method: Method, start: Node, initial: Node, times: Node, tolerance: Tolerance, max_steps: int
) -> Sensitivities:
    """States at the times and their derivatives with respect to initial state and parameters.

    A sensitivity enters the measure of the error multiplied by the size of its parameter, so that all have the units of
    the state.
    """
    n = _length(initial, "the initial state")
    wanted = [f.parameters[i] for i in f.differentiable]
    sizes = [_length(pt.reshape(w, (-1,)), describe(w)) for w in wanted]
    columns = n + sum(sizes)
    scale = abs(pt.concatenate([initial, *(pt.reshape(w, (-1,)) for w in wanted)]))
    scale = pt.stop_gradient(pt.where(scale > 0, scale, 1.0))
    together = _together(f, n, columns, scale)
    begins = pt.concatenate(
        [initial, pt.reshape(pt.concatenate([pt.eye(n), pt.zeros((n, columns - n))], 1) * scale, (-1,))]
    )
    absolute = pt.zeros((n,)) + tolerance.absolute
    every = pt.concatenate([absolute, pt.reshape(pt.zeros((n, columns)) + absolute[:, None], (-1,))])
    steps = integrate(together, method, start, begins, pt.max(times), Tolerance(tolerance.relative, every), max_steps)
    found = states_at(times, steps, together, method)
    slopes = pt.reshape(found[:, n:], (times.shape[0], n, columns)) / scale

    @pt.custom_vjp
    def solved(start: Node, initial: Node, times: Node, states: Node, slopes: Node, *rest: Node) -> Node:
        return states

    def forward(*operands: Node) -> tuple[Any, Any]:
        result = solved(*operands)
        return result, (result, *operands)

    def backward(kept: tuple[Node, ...], cotangent: Node) -> list[Node | None]:
        states, start, initial, times, _, slopes, *parameters = kept
        own = tuple(parameters)
        # How slopes change is not known: what is made of them depends on all, and has no derivative.
        all_of = pt.sum(initial) + sum(pt.sum(own[i]) for i in f.differentiable)
        total = undefined_grad(pt.sum(cotangent[:, :, None] * slopes, axis=(0, 1)) + 0.0 * all_of)
        by_time = pt.vmap(lambda t, y, g: pt.sum(g * f(t, y, own)))(times, states, cotangent)
        ends = [n + sum(sizes[:k]) for k in range(len(sizes) + 1)]
        by_parameter = {
            i: pt.reshape(total[a:b], parameters[i].shape)
            for i, a, b in zip(f.differentiable, ends, ends[1:], strict=False)
        }
        by_start = -pt.sum(total[:n] * f(start, initial, own))
        return [by_start, total[:n], by_time, None, None, *(by_parameter.get(i) for i in range(len(parameters)))]

    solved.defvjp(forward, backward)
    states = solved(start, initial, times, pt.stop_gradient(found[:, :n]), pt.stop_gradient(slopes), *f.parameters)
    return Sensitivities(steps, states, undefined_grad(slopes))


def _together(f: StateFunction, n: int, columns: int, scale: Node) -> StateFunction:
    """dy/dt = f and dS/dt = J S + df/dtheta as one equation; S in units of `scale`, one further parameter."""
    t, whole = tensor_input("float64", ()), tensor_input("float64", (n + n * columns,))
    inside = tuple(tensor_input(p.dtype, p.static_shape) for p in f.parameters)
    units = tensor_input("float64", (columns,))
    y, moved = whole[:n], pt.reshape(whole[n:], (n, columns))
    derivative = f(t, y, inside)
    jacobian, _ = f.linearised(t, y, inside)
    direct = [
        pt.reshape(pt.jacobian(derivative, inside[i], disconnected_inputs="ignore"), (n, -1)) for i in f.differentiable
    ]
    change = pt.matmul(jacobian, moved) + pt.concatenate([pt.zeros((n, n)), *direct], 1) * units
    result = pt.concatenate([derivative, pt.reshape(change, (-1,))])
    return StateFunction.of(result, t, whole, (*inside, units), (*f.parameters, scale))


def _length(vector: Node, what: str) -> int:
    (length,) = vector.static_shape
    if not isinstance(length, int):
        raise ShapeError(
            f"forward sensitivities need a number of elements that is known when the graph is written, and that of "
            f"{what} is not; give inputs their `shape=`, or use `sensitivity='adjoint'`."
        )
    return length
