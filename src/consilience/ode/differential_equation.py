"""PyMC's form of an initial value problem: declared once, called with initial states and parameters.

A function, times and sizes in; tensors of states and of their derivatives out. How it is solved, `solution` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ode.arguments import real
from consilience.ode.solution import solve


class DifferentialEquation:
    """The equation dy/dt = func(y, t, p) from t0 on, to be called with y0 and theta as in PyMC.

    func: Function of the state (n_states,), the time and the parameters (n_theta,); gives n_states derivatives, for one
        state perhaps as a scalar.
    times: Times of the wanted states, ascending, none before t0; t0 itself is not added.
    n_states: Number of states, >= 1.
    n_theta: Number of parameters, >= 1.
    t0: Time of the initial state.
    **settings: Method, rtol, atol, max_steps and sensitivity of `solve`.
    See solve: With any states and parameters.
    >>> import numpy as np
    >>> import consilience as pm
    >>> decay = pm.ode.DifferentialEquation(lambda y, t, p: [-p[0] * y[0]], times=[1.0, 2.0], n_states=1, n_theta=1)
    >>> decay(y0=[1.0], theta=[0.5]).eval().round(4).tolist()
    [[0.6065], [0.3679]]
    """

    def __init__(
        self,
        func: Callable[..., Any],
        times: Any,
        *,
        n_states: int,
        n_theta: int,
        t0: float = 0.0,
        **settings: Any,
    ) -> None:
        if not callable(func):
            raise TypeError(f"`func` must be a function of (y, t, p), got {func!r}.")
        for name, count in (("n_states", n_states), ("n_theta", n_theta)):
            if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
                raise ParameterError(f"`{name}` must be an integer >= 1, got {count!r}.")
        unknown = sorted(settings.keys() - {"method", "rtol", "atol", "max_steps", "sensitivity"})
        if unknown:
            raise TypeError(
                f"`DifferentialEquation` has no setting `{unknown[0]}`; there are method, rtol, atol, max_steps and "
                "sensitivity."
            )
        if pt.as_tensor(t0).ndim:
            raise ShapeError(f"`t0` of `DifferentialEquation` must be a number, got {t0!r}.")
        self.func, self.times, self.t0 = func, np.asarray(times, "float64"), t0
        self.n_states, self.n_theta, self.settings = int(n_states), int(n_theta), settings

    def __call__(self, y0: Any, theta: Any, return_sens: bool = False) -> Any:
        """States at the times, shape (times, n_states).

        Parameters
        ----------
        y0 : object
            Initial states, shape (n_states,).
        theta : object
            Parameters, shape (n_theta,).
        return_sens : bool, default False
            Whether the derivatives are given as well: (states, sensitivities), the latter of shape (times, n_states,
            n_states + n_theta), by initial states and parameters.

        Raises
        ------
        ShapeError
            For other lengths.
        """
        initial, parameters = self._vector(y0, "y0", self.n_states), self._vector(theta, "theta", self.n_theta)
        if not return_sens:
            return solve(self._derivatives, initial, self.times, parameters, t0=self.t0, **self.settings)
        settings = self.settings | {"sensitivity": "forward", "full_output": True}
        found = solve(self._derivatives, initial, self.times, parameters, t0=self.t0, **settings)
        return found.states, found.sensitivities[..., : self.n_states + self.n_theta]

    def _derivatives(self, y: Node, t: Node, p: Node) -> Any:
        """What the user's function gives, a scalar as a vector of one element."""
        given = self.func(y, t, p)
        if isinstance(given, list | tuple):
            return given
        derivative = pt.as_tensor(given)
        return derivative if derivative.ndim else derivative[None]

    def _vector(self, given: Any, name: str, length: int) -> Node:
        node = real(given, name)
        if node.ndim != 1 or (isinstance(node.static_shape[0], int) and node.static_shape[0] != length):
            raise ShapeError(f"`{name}` must be a vector of {length} numbers, as declared, got {describe(node)}.")
        return pt.specify_shape(node, (length,))
