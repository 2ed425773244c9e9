"""The model as users know it: `Model`, and the functions that add to the one in the context."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from consilience.distributions import context
from consilience.ir import Node
from consilience.model import functions
from consilience.model.coordinates import Labels
from consilience.model.functions import Point
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.variables import DimensionNames, ModelVariables
from consilience.ops.elementwise import TensorLike, as_tensor


class Model(ModelVariables):
    """A probabilistic model in PyMC's vocabulary; use it as a context manager.

    coords   labels of dimensions: name -> sequence of labels
    """

    def log_density(self) -> ModelDensity:
        """The compiled log density on the unconstrained space, for the present data."""
        return model_density(self)

    def initial_point(self) -> dict[str, npt.NDArray[np.float64]]:
        """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`)."""
        return functions.initial_point(self)

    def compile_logp(self) -> Callable[[Point], float]:
        """A function from a point (as `initial_point` gives) to the log density."""
        return functions.compile_logp(self)

    def compile_dlogp(self) -> Callable[[Point], npt.NDArray[np.float64]]:
        """A function from a point to the gradient, one flat vector in the order of the point."""
        return functions.compile_dlogp(self)

    def point_logps(self, point: Point | None = None) -> dict[str, float]:
        """Log density of each variable with its Jacobian, and each potential; they sum to the model's.

        point   values as `initial_point` gives; the default starting point if none is given
        """
        return functions.point_logps(self, point)

    def debug(self, point: Point | None = None) -> None:
        """Print the log density of each variable at a point, and what is at fault if one is not finite."""
        print(functions.report(self, point))


def modelcontext(model: Model | None = None) -> Model:
    """The given model, or the innermost one of the context stack."""
    if model is not None:
        return model
    current = context.current_or_none()
    if not isinstance(current, Model):
        raise TypeError("no model on the context stack: call this inside `with pm.Model():` or pass `model=`.")
    return current


def Deterministic(name: str, var: TensorLike, model: Model | None = None, dims: DimensionNames = None) -> Node:
    """Keep the values of an expression under a name."""
    return modelcontext(model).add_deterministic(name, as_tensor(var), dims)


def Potential(name: str, var: TensorLike, model: Model | None = None, dims: DimensionNames = None) -> Node:
    """Add a term to the model's log density; all its elements are summed."""
    return modelcontext(model).add_potential(name, as_tensor(var), dims)


def Data(
    name: str,
    value: npt.ArrayLike,
    *,
    dims: DimensionNames = None,
    coords: Mapping[str, Labels] | None = None,
    model: Model | None = None,
) -> Node:
    """Data under a name that can be exchanged later with `set_data`.

    dims     names of the axes; a length that has no labels yet is the data's
    coords   labels of dimensions
    """
    owner = modelcontext(model)
    owner.add_coords(coords or {})
    return owner.add_data(name, value, dims)


def set_data(
    new_data: Mapping[str, npt.ArrayLike],
    model: Model | None = None,
    *,
    coords: Mapping[str, Labels] | None = None,
) -> None:
    """Exchange the values of several data slots; `coords` gives new labels of dimensions that change."""
    modelcontext(model).set_all(new_data, coords)
