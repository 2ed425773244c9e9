"""Initial value problems dy/dt = f(y, t, theta), y(t0) = y0: the solution at given times, with its derivatives.

A function of tensors, an initial state, times and parameters in; a tensor of states out. The whole solver is a loop of
the tensor language, so it is compiled with what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import consilience.tensor as pt
from consilience.ir import Node
from consilience.ode.adjoint import differentiable
from consilience.ode.integration import Method, Tolerance, integrate
from consilience.ode.right_hand_side import right_hand_side
from consilience.ode.rosenbrock import RODAS5P
from consilience.ode.runge_kutta import DORMAND_PRINCE, TSITOURAS

METHODS: Final[dict[str, Method]] = {"rk45": DORMAND_PRINCE, "tsit5": TSITOURAS, "stiff": RODAS5P}


def solve(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    theta: Any = (),
    *,
    t0: Any = None,
    method: str = "rk45",
    rtol: float = 1e-6,
    atol: Any = 1e-8,
    max_steps: int = 1000,
) -> Node:
    initial = pt.as_tensor(y0).astype("float64")
    times = pt.as_tensor(t).astype("float64")
    start = times[0] if t0 is None else pt.as_tensor(t0).astype("float64")
    rhs = right_hand_side(f, initial, theta)
    flat = pt.reshape(initial, (initial.size,))
    of = METHODS[method]
    steps = integrate(rhs, of, start, flat, pt.max(times), Tolerance(rtol, pt.as_tensor(atol)), max_steps)
    recorded = differentiable(steps, rhs, of, start, flat)
    place = steps.place(times)

    def at(time: Node, begin: Node, h: Node, state: Node) -> Node:
        return of.within(rhs, begin, state, h, pt.where(h > 0, (time - begin) / h, 0.0), rhs.parameters)

    states = pt.scan(
        at,
        sequences=[times, recorded.times[place], recorded.lengths[place], recorded.states[place]],
        return_updates=False,
    )
    return pt.where((times <= steps.reached)[:, None], states, pt.nan)
