"""Callbacks of two arguments, `callback(trace, draw)` as PyMC calls them, on the events of a run.

A function of the user in, a listener out. It is called once per kept draw, chain after chain, behind the chains' backs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from consilience.events import DrawsMade, Event, Listener, Restarted
from consilience.model.log_density import ModelDensity

Array = npt.NDArray[Any]


class Draw(NamedTuple):
    """One draw of one chain.

    `is_last`: always False: a run decides by itself which draw is the last.
    `draw_idx`: number of the draw in its chain, from 0.
    `tuning`: always False: draws of the tuning are not told.
    `stats`: a list with one mapping, of the statistics of the transition.
    `point`: values by name, on their own scales and, as `tau_log__`, on the unconstrained line.
    """

    chain: int
    is_last: bool
    draw_idx: int
    tuning: bool
    stats: list[dict[str, Any]]
    point: dict[str, Array]


class TraceSoFar:
    """The draws of one chain so far: `len(trace)`, `trace["mu"]`, `trace.point(-1)`."""

    def __init__(self, chain: int) -> None:
        self.chain = chain
        self.points: list[dict[str, Array]] = []

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, name: str) -> Array:
        return self.get_values(name)

    @property
    def varnames(self) -> list[str]:
        """Names that have values."""
        return list(self.points[0]) if self.points else []

    def get_values(self, varname: str, burn: int = 0, thin: int = 1) -> Array:
        """The values of a variable, shape (draw, …); KeyError for another name."""
        if varname not in self.varnames:
            raise KeyError(f"the trace has no values of `{varname}`; it has {', '.join(self.varnames) or 'none'}.")
        return np.array([point[varname] for point in self.points[burn::thin]])

    def point(self, idx: int) -> dict[str, Array]:
        """The values of one draw by name."""
        return self.points[idx]


class DrawCallback:
    """A listener that calls `callback(trace=…, draw=…)` for every draw.

    `density`: gives the density of the run, which may change its coordinates.
    """

    def __init__(self, callback: Callable[..., Any], density: Callable[[], ModelDensity]) -> None:
        self.__qualname__ = getattr(callback, "__qualname__", type(callback).__qualname__)
        self._callback, self._density = callback, density
        self._traces: dict[int, TraceSoFar] = {}

    def __call__(self, event: Event) -> None:
        """Tell the draws of an event."""
        if isinstance(event, Restarted):
            self._traces.clear()
        if not isinstance(event, DrawsMade):
            return
        density = self._density()
        for chain, positions in enumerate(event.draws):
            trace = self._traces.setdefault(chain, TraceSoFar(chain))
            values = density.expand(positions)
            for i, position in enumerate(positions):
                own = {name: array[i] for name, array in values.items()}
                point = {**density.layout.point(position), **own}
                stats = {name: array[chain, i] for name, array in event.statistics.items()}
                trace.points.append(point)
                self._callback(trace=trace, draw=Draw(chain, False, event.first + i, False, [stats], point))


def listener_of(callback: Callable[..., Any], density: Callable[[], ModelDensity]) -> Listener:
    """What listens to a run for a user's callback of one argument, the event, or of two, `trace` and `draw`.

    Raises TypeError for a callback of other arguments.
    """
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(callback).parameters
    except (TypeError, ValueError):  # of compiled code, which tells nothing
        parameters = {}
    kinds = {p.kind for p in parameters.values()}
    anything = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    needed = {p.name for p in parameters.values() if p.default is p.empty and p.kind not in anything}
    both = {"trace", "draw"} <= set(parameters) or kinds & anything == {inspect.Parameter.VAR_KEYWORD}
    if both and needed <= {"trace", "draw"}:
        return DrawCallback(callback, density)
    if len(needed) > 1:
        raise TypeError(
            f"a callback takes one event of the run, or `trace` and `draw` by these names; got {callback!r} with "
            f"({', '.join(parameters)})."
        )
    return callback
