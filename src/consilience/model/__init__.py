"""Models: names, dims, coords and data over a graph, and the densities and predictions made from them."""

from typing import TYPE_CHECKING

from consilience import module_paths
from consilience.model.centredness import centredness
from consilience.model.conditioning import (
    change_value_transforms,
    do,
    extract_deterministics,
    insert_deterministics,
    observe,
    remove_value_transforms,
)
from consilience.model.freezing import freeze_dims_and_data, freeze_model
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.marginalization import marginalize
from consilience.model.minibatch import Minibatch
from consilience.model.model import (
    Data,
    Deterministic,
    Model,
    Point,
    Potential,
    clone_model,
    model_to_graphviz,
    model_to_mermaid,
    model_to_networkx,
    modelcontext,
    set_data,
)
from consilience.model.model_graph import NodeType
from consilience.model.reparametrization import noncenter, recenter
from consilience.model.shrinkage import R2D2, RegularizedHorseshoe

__all__ = [
    "R2D2",
    "Data",
    "Deterministic",
    "Minibatch",
    "Model",
    "ModelDensity",
    "NodeType",
    "Point",
    "Potential",
    "RegularizedHorseshoe",
    "centredness",
    "change_value_transforms",
    "clone_model",
    "do",
    "extract_deterministics",
    "freeze_dims_and_data",
    "freeze_model",
    "insert_deterministics",
    "marginalize",
    "model_density",
    "model_to_graphviz",
    "model_to_mermaid",
    "model_to_networkx",
    "modelcontext",
    "noncenter",
    "observe",
    "recenter",
    "remove_value_transforms",
    "set_data",
]


if not TYPE_CHECKING:  # type checkers know by themselves what is not there

    def __getattr__(name: str) -> object:
        return module_paths.attribute(__name__, name, __all__)
