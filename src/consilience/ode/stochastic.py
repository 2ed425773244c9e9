"""Stochastic differential equations dy = f(y, t, theta) dt + g(y, t, theta) dW: paths for given noise.

Drift, diffusion, an initial state, times and standard normal noise in; a path out, which is differentiable in all of
them. A density of paths that were seen at all times is `pm.EulerMaruyama`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ode.arguments import check_shapes, check_times, real
from consilience.ode.state_function import right_hand_side
from consilience.tensor.differentiation import pushforward


def sde(
    f: Callable[..., Any],
    g: Callable[..., Any],
    y0: Any,
    t: Any,
    theta: Any = (),
    *,
    noise: Any,
    method: str = "euler-maruyama",
) -> Node:
    """Path of dy = f dt + g dW at the times t, with one step from each to the next; shape (times, *y0.shape).

    f, g: Functions (y, t, theta) of the state; f gives the drift, a tensor of the shape of y or a list of numbers. g
        gives the diffusion of every element by a noise of its own, of the same shape.
    y0: Initial state, at the first time: a tensor with at least one element, or a list of scalars.
    t: At least two times, ascending.
    theta: Parameters: a tensor, or tuples, lists and dicts of them, which f and g get in the same form.
    noise: Standard normal numbers, shape (times - 1, *y0.shape): drawn ones, or a latent `pm.Normal`.
    method: "euler-maruyama": of strong order 1/2; "milstein": of strong order 1, by the derivative of g, for g_i that
        depend on y_i alone among the states.
    Returns: The path at the times.
    Raises ParameterError: For times out of order and other methods.
    Raises ShapeError: For noise and functions that do not fit.
    See solve: Equations without noise.
    See EulerMaruyama: The path as a distribution.

    References
    ----------
    Kloeden, Platen: Numerical Solution of Stochastic Differential Equations (1992).

    >>> path = pm.ode.sde(lambda y, t, theta: -y, lambda y, t, theta: 0.1, 1.0, [0.0, 0.5, 1.0], noise=[0.0, 0.0])
    >>> path.eval().tolist()
    [1.0, 0.5, 0.25]
    """
    for name, function in (("f", f), ("g", g)):
        if not callable(function):
            raise TypeError(f"`{name}` must be a function of (y, t, theta), got {function!r}.")
    if method not in ("euler-maruyama", "milstein"):
        raise ParameterError(f"`method` must be 'euler-maruyama' or 'milstein', got {method!r}.")
    initial, times, normal = real(y0, "y0"), real(t, "t"), real(noise, "noise")
    check_shapes(initial, times, None)
    check_times(times, times[0])
    wanted = (times.static_shape[0] - 1, *initial.static_shape)
    if normal.ndim != len(wanted) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(normal.static_shape, wanted, strict=True)
    ):
        raise ShapeError(
            f"`noise` must have the shape {wanted}, one number per step and state, got {describe(normal)}."
        )
    drift, diffusion = (right_hand_side(h, initial, theta, name) for h, name in ((f, "f"), (g, "g")))
    flat = pt.reshape(initial, (-1,))

    def step(now: Node, later: Node, z: Node, y: Node) -> Node:
        h = later - now
        spread = diffusion(now, y, diffusion.parameters)
        following = y + h * drift(now, y, drift.parameters) + pt.sqrt(h) * spread * z
        if method == "milstein":
            curved = pushforward(spread, y, spread, disconnected_outputs="ignore")
            following = following + 0.5 * h * curved * (z * z - 1.0)
        return following

    later = pt.scan(
        step,
        sequences=[times[:-1], times[1:], pt.reshape(normal, (normal.shape[0], -1))],
        outputs_info=flat,
        return_updates=False,
    )
    return pt.reshape(pt.concatenate([flat[None], later]), (times.shape[0], *initial.shape))
