"""Models: names, dims, coords and data over a graph, and the densities and predictions made from them."""

from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Data, Deterministic, Model, Potential, modelcontext, set_data

__all__ = [
    "Data",
    "Deterministic",
    "Model",
    "ModelDensity",
    "Potential",
    "model_density",
    "modelcontext",
    "set_data",
]
