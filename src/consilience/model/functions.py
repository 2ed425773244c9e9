"""What users ask of a model beside sampling: log densities, gradients and points as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.model.log_density import ModelDensity, model_density
from consilience.model.starting_point import starting_position
from consilience.model.trouble import point_logps as _point_logps
from consilience.model.trouble import trouble
from consilience.model.variables import ModelVariables

Point = Mapping[str, Any]


def initial_point(model: ModelVariables) -> dict[str, npt.NDArray[np.float64]]:
    """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`)."""
    density = model_density(model)
    return density.layout.point(starting_position(density.model, density.layout, density.lengths))


def compile_logp(model: ModelVariables) -> Callable[[Point], float]:
    """A function of a point (as `initial_point` gives) to the log density, for the data of the moment."""
    model_density(model)

    def logp(point: Point) -> float:
        density = model_density(model)
        return density(density.layout.position(point))[0]

    return logp


def compile_dlogp(model: ModelVariables) -> Callable[[Point], npt.NDArray[np.float64]]:
    """A function of a point that returns the gradient, one flat vector in the order of `initial_point`."""
    model_density(model)

    def dlogp(point: Point) -> npt.NDArray[np.float64]:
        density = model_density(model)
        return density(density.layout.position(point))[1]

    return dlogp


def point_logps(model: ModelVariables, point: Point | None = None) -> dict[str, float]:
    """Log density of each variable with its Jacobian, and each potential; they sum to the model's."""
    density = model_density(model)
    return _point_logps(density, position_of(density, point))


def report(model: ModelVariables, point: Point | None = None) -> str:
    """The log density of each variable at a point, one line each, and what is wrong if one is not finite."""
    density = model_density(model)
    position = position_of(density, point)
    values = _point_logps(density, position)
    width = max(map(len, values), default=0)
    lines = [f"{name:<{width}}  {value:.6g}" for name, value in values.items()]
    return "\n".join([*lines, *trouble(density, position)])


def position_of(density: ModelDensity, point: Point | None) -> npt.NDArray[np.float64]:
    """A point as a vector; the default starting point if none is given."""
    if point is not None:
        return density.layout.position(point)
    return starting_position(density.model, density.layout, density.lengths)
