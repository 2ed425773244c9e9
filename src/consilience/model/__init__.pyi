"""Written by `python tools/names.py` from the tables of model.py; not to be edited."""

from consilience.model.model import Data as Data
from consilience.model.model import Deterministic as Deterministic
from consilience.model.minibatch import Minibatch as Minibatch
from consilience.model.model import Model as Model
from consilience.model.log_density import ModelDensity as ModelDensity
from consilience.model.model_graph import NodeType as NodeType
from consilience.model.model import Point as Point
from consilience.model.model import Potential as Potential
from consilience.model.shrinkage import R2D2 as R2D2
from consilience.model.shrinkage import RegularizedHorseshoe as RegularizedHorseshoe
from consilience.model.centredness import centredness as centredness
from consilience.model.conditioning import change_value_transforms as change_value_transforms
from consilience.model.model import clone_model as clone_model
from consilience.model.marginalization import collapse as collapse
from consilience.model.conditioning import do as do
from consilience.model.conditioning import extract_deterministics as extract_deterministics
from consilience.model.freezing import freeze_dims_and_data as freeze_dims_and_data
from consilience.model.freezing import freeze_model as freeze_model
from consilience.model.conditioning import insert_deterministics as insert_deterministics
from consilience.model.marginalization import marginalize as marginalize
from consilience.model.log_density import model_density as model_density
from consilience.model.pictures import model_to_graphviz as model_to_graphviz
from consilience.model.pictures import model_to_mermaid as model_to_mermaid
from consilience.model.pictures import model_to_networkx as model_to_networkx
from consilience.model.model import modelcontext as modelcontext
from consilience.model.reparametrization import noncenter as noncenter
from consilience.model.conditioning import observe as observe
from consilience.model.reparametrization import recenter as recenter
from consilience.model.conditioning import remove_value_transforms as remove_value_transforms
from consilience.model.model import set_data as set_data

__all__: list[str]
