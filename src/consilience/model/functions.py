"""What users ask of a model beside sampling: log densities, gradients and points as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.model.layout import Layout
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.variables import ModelVariables
from consilience.model.starting_point import point_logps as _point_logps
from consilience.model.starting_point import starting_position

Point = Mapping[str, Any]


def initial_point(model: ModelVariables) -> dict[str, npt.NDArray[np.float64]]:
    """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`)."""
    density = model_density(model)
    return density.layout.point(starting_position(density.model, density.layout, density.lengths))


def compile_logp(model: ModelVariables) -> Callable[[Point], float]:
    """A function of a point (as `initial_point` gives) that returns the log density."""
    density = model_density(model)

    def logp(point: Point) -> float:
        return density(density.layout.position(point))[0]

    return logp


def compile_dlogp(model: ModelVariables) -> Callable[[Point], npt.NDArray[np.float64]]:
    """A function of a point that returns the gradient, one flat vector in the order of the point."""
    density = model_density(model)

    def dlogp(point: Point) -> npt.NDArray[np.float64]:
        return density(density.layout.position(point))[1]

    return dlogp


def point_logps(model: ModelVariables, point: Point | None = None) -> dict[str, float]:
    """Log density of each variable at a point, the default starting point if none is given."""
    density = model_density(model)
    position = _position(density, density.layout, point)
    return _point_logps(density, position)


def _position(density: ModelDensity, layout: Layout, point: Point | None) -> npt.NDArray[np.float64]:
    if point is not None:
        return layout.position(point)
    return starting_position(density.model, layout, density.lengths)
