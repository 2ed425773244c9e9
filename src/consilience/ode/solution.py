"""Initial value problems dy/dt = f(y, t, theta), y(t0) = y0: the solution at given times, with its derivatives.

A function of tensors, an initial state, times and parameters in; a tensor of states out. The whole solver is a loop of
the tensor language, so it is compiled with what stands around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Literal, overload

import numpy as np

import consilience.tensor as pt
from consilience.errors import DtypeError, ParameterError, ShapeError
from consilience.ir import FLOATS, INTEGERS, Node, constant_value
from consilience.ir.side_tables import describe
from consilience.ode.adjoint import differentiable
from consilience.ode.dense_output import states_at
from consilience.ode.forward import sensitivities
from consilience.ode.integration import Method, Steps, Tolerance, integrate
from consilience.ode.right_hand_side import right_hand_side
from consilience.ode.rosenbrock import RODAS5P
from consilience.ode.runge_kutta import DORMAND_PRINCE, TSITOURAS
from consilience.record import Record

METHODS: Final[dict[str, Method]] = {"rk45": DORMAND_PRINCE, "tsit5": TSITOURAS, "stiff": RODAS5P}
REASONS: Final = (
    "the last time was reached",
    "the right-hand side was not finite",
    "the tolerance was not met: the step became too small",
    "`max_steps` were not enough",
)
"""What the numbers of `Solution.status` mean."""


class Solution(Record, eq=False):
    """A solution and how it was found.

    states    the states, shape (times, *y0.shape); NaN behind the time that was reached
    status    int64: 0 if the last time was reached, otherwise why not, as `REASONS` says
    steps     int64: number of steps tried
    rejected  int64: number of those whose error was not tolerated
    reached   float64: the last time that was reached
    """

    states: Node
    status: Node
    steps: Node
    rejected: Node
    reached: Node


@overload
def solve(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    theta: Any = ...,
    *,
    t0: Any = ...,
    method: str = ...,
    rtol: float = ...,
    atol: Any = ...,
    max_steps: int = ...,
    sensitivity: str = ...,
    full_output: Literal[False] = ...,
) -> Node: ...


@overload
def solve(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    theta: Any = ...,
    *,
    t0: Any = ...,
    method: str = ...,
    rtol: float = ...,
    atol: Any = ...,
    max_steps: int = ...,
    sensitivity: str = ...,
    full_output: Literal[True],
) -> Solution: ...


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
    sensitivity: str = "adjoint",
    full_output: bool = False,
) -> Node | Solution:
    """Solution of dy/dt = f(y, t, theta) with y(t0) = y0 at the times t, shape (times, *y0.shape).

    f            function (y, t, theta) -> dy/dt, written with tensors: y has the shape of y0, t is a scalar; it gives a
                 tensor of the shape of y, or a list of numbers. Other tensors that it uses need no listing.
    y0           initial state: a tensor of any shape with at least one element, or a list of scalars
    t            times in ascending order, none before t0; times may be repeated
    theta        parameters: a tensor, or tuples, lists and dicts of them, which f gets in the same form
    t0           time of the initial state; the first of t if not given
    method       "rk45" (Dormand and Prince) or "tsit5" (Tsitouras), explicit of order 5, for smooth equations;
                 "stiff" (Rodas5P), implicit of order 5, where fast and slow changes meet
    rtol, atol   an error e of a step is tolerated if the root mean square of e / (atol + rtol |y|) is at most 1; numbers
                 > 0, atol perhaps one for every element of y0
    max_steps    most steps that are tried; memory is used for so many
    sensitivity  how derivatives are computed. "adjoint": the recorded steps backwards, at a cost that hardly grows with
                 the number of parameters. "forward": derivatives by all parameters are integrated with the state and
                 their error is held to the tolerance too, also where no derivative is asked for.
    full_output  whether to give a `Solution`, which says how the states were found

    Derivatives reach y0, theta, t0, t, and what f uses from around it. Where the solution cannot be continued to a time
    (f not finite, tolerance not met, too many steps) the state is NaN: a sampler takes that for a divergence. Integers
    become float64, as are states.

    Raises ParameterError for times out of order and settings out of range, ShapeError and DtypeError for states, times
    and derivatives that do not fit.
    """
    if not callable(f):
        raise TypeError(f"`f` must be a function of (y, t, theta), got {f!r}.")
    initial, times = _real(y0, "y0"), _real(t, "t")
    start = None if t0 is None else _real(t0, "t0")
    _check_shapes(initial, times, start)
    start = times[0] if start is None else start
    _check_times(times, start)
    if method not in METHODS:
        raise ParameterError(f"`method` must be {_either(METHODS)}, got {method!r}.")
    if sensitivity not in ("adjoint", "forward"):
        raise ParameterError(f"`sensitivity` must be 'adjoint' or 'forward', got {sensitivity!r}.")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise ParameterError(f"`max_steps` must be an integer >= 1, got {max_steps!r}.")
    tolerance = _tolerance(rtol, atol, initial)
    rhs, of = right_hand_side(f, initial, theta), METHODS[method]
    flat = pt.reshape(initial, (initial.size,))
    if sensitivity == "forward":
        both = sensitivities(rhs, of, start, flat, times, tolerance, max_steps)
        steps, states = both.steps, both.states
    else:
        steps = integrate(rhs, of, start, flat, pt.max(times), tolerance, max_steps)
        states = states_at(times, differentiable(steps, rhs, of, start, flat), rhs, of)
    states = pt.reshape(states, (times.shape[0], *initial.shape))
    if not full_output:
        return states
    status = pt.where(steps.failed, pt.where(steps.finite, 2, 1), pt.where(steps.reached < pt.max(times), 3, 0))
    tried = pt.arange(max_steps) < steps.count
    rejected = pt.sum(tried & pt.eq(steps.lengths, 0.0))
    return Solution(states, status, steps.count, rejected, steps.reached)


def _either(names: Any) -> str:
    *first, last = (repr(name) for name in names)
    return f"{', '.join(first)} or {last}"


def _real(given: Any, name: str) -> Node:
    """A float64 tensor; lists may hold scalars."""
    node = pt.stack([pt.as_tensor(v) for v in given]) if isinstance(given, list | tuple) and given else pt.as_tensor(given)
    if node.dtype not in FLOATS and node.dtype not in INTEGERS:
        raise DtypeError(f"`{name}` must be real, got {describe(node)}.")
    return node if node.dtype == "float64" else node.astype("float64")


def _check_shapes(initial: Node, times: Node, start: Node | None) -> None:
    if 0 in initial.static_shape:
        raise ShapeError(f"`y0` must have at least one element, got {describe(initial)}.")
    if times.ndim != 1 or times.static_shape[0] == 0:
        raise ShapeError(f"`t` must be a vector of at least one time, got {describe(times)}.")
    if start is not None and start.ndim:
        raise ShapeError(f"`t0` must be a scalar, got {describe(start)}.")


def _check_times(times: Node, start: Node) -> None:
    """Refuse known times that are out of order; unknown ones give NaN where they lie before the start."""
    known, begin = constant_value(times), constant_value(start)
    if known is not None:
        if not np.isfinite(known).all():
            raise ParameterError(f"the times `t` must be finite, got {known}.")
        falls = np.flatnonzero(np.diff(known) < 0)
        if len(falls):
            k = int(falls[0])
            raise ParameterError(
                f"the times `t` must ascend, but t[{k}] = {known[k]:g} is followed by {known[k + 1]:g}; sort them, and "
                "the data with them."
            )
    if begin is not None and not np.isfinite(begin):
        raise ParameterError(f"`t0` must be finite, got {begin}.")
    if known is not None and begin is not None and known[0] < begin:
        raise ParameterError(
            f"no time of `t` may lie before `t0` = {float(begin):g}, got {known[0]:g}; an equation is solved backwards "
            "by solving dy/ds = -f(y, -s, theta) for s = -t."
        )


def _tolerance(rtol: float, atol: Any, initial: Node) -> Tolerance:
    if isinstance(rtol, bool) or not isinstance(rtol, int | float | np.number) or not 0 < rtol < math.inf:
        raise ParameterError(f"`rtol` must be a number > 0, got {rtol!r}.")
    absolute = _real(atol, "atol")
    known = constant_value(absolute)
    if known is None or not ((known > 0) & np.isfinite(known)).all():
        raise ParameterError(f"`atol` must be one number > 0, or one for every element of y0, got {atol!r}.")
    if absolute.ndim and absolute.static_shape != initial.static_shape:
        raise ShapeError(
            f"`atol` must be one number, or have the shape {initial.static_shape} of y0, got {describe(absolute)}."
        )
    return Tolerance(float(rtol), pt.reshape(absolute, (-1,)) if absolute.ndim else absolute)
