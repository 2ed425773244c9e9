"""Initial value problems dy/dt = f(y, t, theta), y(t0) = y0: the solution at given times, with its derivatives.

A function of tensors, an initial state, times and parameters in; a tensor of states out. The whole solver is a loop of
the tensor language, so it is compiled with what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, overload

import numpy as np

import consilience.tensor as pt
from consilience.errors import ParameterError
from consilience.ir import Node
from consilience.ode.adjoint import differentiable
from consilience.ode.arguments import check_shapes, check_times, either, real, tolerance_of
from consilience.ode.dense_output import states_at
from consilience.ode.events import event_of
from consilience.ode.forward import sensitivities
from consilience.ode.integration import Method, integrate
from consilience.ode.rosenbrock import RODAS5P
from consilience.ode.runge_kutta import DORMAND_PRINCE, TSITOURAS
from consilience.ode.state_function import event_function, right_hand_side
from consilience.record import Record, replace

METHODS: Final[dict[str, Method]] = {"rk45": DORMAND_PRINCE, "tsit5": TSITOURAS, "stiff": RODAS5P}
REASONS: Final = (
    "the last time was reached",
    "the right-hand side was not finite",
    "the tolerance was not met: the step became too small",
    "`max_steps` were not enough",
    "the event happened",
)
"""What the numbers of `OdeResult.status` mean."""


class OdeResult(Record, eq=False):
    """A solution and how it was found.

    states (TensorVariable): The states, shape (times, *y0.shape); NaN behind the time that was reached.
    status (TensorVariable): Int64: 0 if the last time was reached, otherwise why not, as `REASONS` says.
    steps (TensorVariable): Int64: number of steps tried.
    rejected (TensorVariable): Int64: number of those whose error was not tolerated.
    reached (TensorVariable): Float64: the last time that was reached.
    sensitivities (TensorVariable): With sensitivity="forward" the derivatives of the states, shape (times, *y0.shape,
        p): by the elements of y0, of the parameters in theta, and of what f uses besides.
    event_time (TensorVariable): With `event` the time at which it happened, NaN if it did not.
    event_state (TensorVariable): With `event` the state at this time, shape y0.shape.
    See solve: Gives one with `full_output`.
    >>> found = pm.ode.solve(lambda y, t, theta: -y, 1.0, [0.0, 1.0], t0=0.0, full_output=True)
    >>> found.states.eval().round(4).tolist(), found.status.eval().item()
    ([1.0, 0.3679], 0)
    """

    states: Node
    status: Node
    steps: Node
    rejected: Node
    reached: Node
    sensitivities: Node | None = None
    event_time: Node | None = None
    event_state: Node | None = None


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
    event: Callable[..., Any] | None = ...,
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
    event: Callable[..., Any] | None = ...,
    full_output: Literal[True],
) -> OdeResult: ...


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
    event: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> Node | OdeResult:
    """Solution of dy/dt = f(y, t, theta) with y(t0) = y0 at the times t, shape (times, *y0.shape).

    f: Function (y, t, theta) -> dy/dt, written with tensors: y has the shape of y0, t is a scalar; it gives a tensor of
        the shape of y, or a list of numbers. Other tensors that it uses need no listing.
    y0: Initial state: a tensor of any shape with at least one element, or a list of scalars.
    t: Times in ascending order, none before t0; times may be repeated.
    theta: Parameters: a tensor, or tuples, lists and dicts of them, which f gets in the same form.
    t0: Time of the initial state; the first of t if not given.
    method: "rk45" (Dormand and Prince) or "tsit5" (Tsitouras), explicit of order 5, for smooth equations; "stiff"
        (Rodas5P), implicit of order 5, where fast and slow changes meet.
    rtol: An error e of a step is tolerated if the root mean square of e / (atol + rtol |y|) is at most 1; numbers > 0,
        atol perhaps one for every element of y0.
    atol: An error e of a step is tolerated if the root mean square of e / (atol + rtol |y|) is at most 1; numbers > 0,
        atol perhaps one for every element of y0.
    max_steps: Most steps that are tried; memory is used for so many.
    sensitivity: How derivatives are computed. "adjoint": the recorded steps backwards, at a cost that hardly grows with
        the number of parameters. "forward": derivatives by all parameters are integrated with the state and their error
        is held to the tolerance too, also where no derivative is asked for.
    event: Function (y, t, theta) -> number: the integration ends where it changes its sign, at a time and state that
        `full_output` gives, with derivatives; later states are NaN. Two changes within one step are not seen.
    full_output: Whether to give an `OdeResult`, which says how the states were found.
    Returns: The states at the times, or with `full_output` a record of them and of the way there.
    See sde: Stochastic equations.
    See DifferentialEquation: In PyMC's form.

    Notes
    -----
    Derivatives reach y0, theta, t0, t, and what f uses from around it. Where the solution cannot be continued to a time
    (f not finite, tolerance not met, too many steps) the state is NaN: a sampler takes that for a divergence. Integers
    become float64, as are states.

    Raises ParameterError for times out of order and settings out of range, ShapeError and DtypeError for states, times
    and derivatives that do not fit.


    References
    ----------
    Dormand, Prince (1980), Journal of Computational and Applied Mathematics 6, 19, on the method "rk45".

    >>> y = pm.ode.solve(lambda y, t, rate: -rate * y, 1.0, [0.0, 1.0, 2.0], 0.5, t0=0.0)
    >>> y.eval().round(4).tolist()
    [1.0, 0.6065, 0.3679]
    """
    if not callable(f):
        raise TypeError(f"`f` must be a function of (y, t, theta), got {f!r}.")
    initial, times = real(y0, "y0"), real(t, "t")
    start = None if t0 is None else real(t0, "t0")
    check_shapes(initial, times, start)
    start = times[0] if start is None else start
    check_times(times, start)
    if method not in METHODS:
        raise ParameterError(f"`method` must be {either(METHODS)}, got {method!r}.")
    if sensitivity not in ("adjoint", "forward"):
        raise ParameterError(f"`sensitivity` must be 'adjoint' or 'forward', got {sensitivity!r}.")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 1:
        raise ParameterError(f"`max_steps` must be an integer >= 1, got {max_steps!r}.")
    if event is not None and (not callable(event) or sensitivity == "forward"):
        raise ParameterError(
            f"`event` must be a function of (y, t, theta), and needs `sensitivity='adjoint'`; got {event!r} with "
            f"{sensitivity!r}."
        )
    max_steps = int(max_steps)
    tolerance = tolerance_of(rtol, atol, initial)
    rhs, of = right_hand_side(f, initial, theta), METHODS[method]
    flat = pt.reshape(initial, (-1,))
    slopes: Node | None = None
    found: tuple[Node | None, Node | None] = None, None
    if sensitivity == "forward":
        both = sensitivities(rhs, of, start, flat, times, tolerance, max_steps)
        steps, states = both.steps, both.states
        slopes = pt.reshape(both.slopes, (times.shape[0], *initial.shape, both.slopes.shape[2]))
    else:
        crossing = None if event is None else event_function(event, initial, theta)
        steps = integrate(rhs, of, start, flat, pt.max(times), tolerance, max_steps, crossing)
        steps = differentiable(steps, rhs, of, start, flat)
        if crossing is not None:
            when, there = event_of(crossing, steps, rhs, of)
            steps = replace(steps, reached=pt.where(steps.ended, pt.stop_gradient(when), steps.reached))
            found = when, pt.reshape(there, initial.shape)
        states = states_at(times, steps, rhs, of)
    states = pt.reshape(states, (times.shape[0], *initial.shape))
    if not full_output:
        return states
    status = pt.where(steps.failed, pt.where(steps.finite, 2, 1), pt.where(steps.reached < pt.max(times), 3, 0))
    status = pt.where(steps.ended, 4, status)
    return OdeResult(states, status, steps.count, steps.refused, steps.reached, slopes, *found)
