"""What is called between the steps of a fit, under the names of `pymc.callbacks`.

Any callable serves: it is called as `callback(approximation, losses, step)` and ends the fit by StopIteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from consilience.first_use import load_on_use

Floats = npt.NDArray[np.float64]


class CheckParametersConvergence:
    """Ends a fit when the parameters hardly change.

    `every`: steps between two looks. `tolerance`: largest change between them. `diff` ('relative', 'absolute'):
    "relative" to the parameter before, or "absolute". `ord`: of the norm over all parameters.

    A fit has a rule of its own, which knows the noise of the bound; give `converge=False` to have this one alone.
    """

    def __init__(
        self,
        every: int = 100,
        tolerance: float = 1e-3,
        diff: Literal["relative", "absolute"] = "relative",
        ord: float = np.inf,
    ) -> None:
        if diff not in ("relative", "absolute"):
            raise ValueError(f"`diff` must be 'relative' or 'absolute', got {diff!r}.")
        if every < 1:
            raise ValueError(f"`every` must be at least 1, got {every!r}.")
        self.every, self.tolerance, self.diff, self.ord = every, tolerance, diff, ord
        self._before: Floats | None = None

    def __call__(self, approx: Any, loss: Sequence[float] | None, i: int) -> None:
        """Compare the parameters with those of the last look."""
        if i % self.every:
            return
        now = np.array(approx.parameters, float)
        if self._before is not None:
            change = now - self._before
            if self.diff == "relative":
                change = change / (np.abs(self._before) + self.tolerance)
            if np.linalg.norm(change, self.ord) < self.tolerance:
                raise StopIteration(f"Convergence achieved at {i}")
        self._before = now


class Tracker:
    """Keeps what functions return during a fit.

    `every`: steps between two looks. `**functions`: by name; each may take (approximation, losses, step), (step) or
    nothing. What they returned is a list under the same name: `tracker["mean"]`.
    """

    def __init__(self, every: int = 1, **functions: Callable[..., Any]) -> None:
        if every < 1:
            raise ValueError(f"`every` must be at least 1, got {every!r}.")
        self.every = every
        self.whatchdict = functions
        self.hist: dict[str, list[Any]] = {name: [] for name in functions}
        self._taken = {name: _parameters(function) for name, function in functions.items()}

    def __call__(self, approx: Any, loss: Sequence[float] | None, i: int) -> None:
        """Call every function."""
        if i % self.every:
            return
        for name, function in self.whatchdict.items():
            given = {0: (), 1: (i,), 3: (approx, loss, i)}[self._taken[name]]
            self.hist[name].append(function(*given))

    def clear(self) -> None:
        """Forget all of it."""
        self.hist = {name: [] for name in self.hist}

    def __getitem__(self, name: str) -> list[Any]:
        return self.hist[name]


def _parameters(function: Callable[..., Any]) -> int:
    """How many arguments a function needs: 0, 1 or 3."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 0
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(needed) not in (0, 1, 3):
        raise TypeError(f"a function that is tracked takes (approx, loss, i), (i) or nothing; got {function!r}.")
    return 3 if several and not needed else len(needed)


load_on_use(__name__, {}, public=True)
