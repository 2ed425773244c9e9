"""Written by `python tools/names.py` from the tables of vectorize.py; not to be edited."""

from consilience.transforms.vectorize.table import BATCHED as BATCHED
from consilience.transforms.vectorize.table import NO_BATCHED as NO_BATCHED
from consilience.transforms.vectorize.named_axes import axis_index as axis_index
from consilience.transforms.vectorize.table import missing as missing
from consilience.transforms.vectorize.named_axes import pmax as pmax
from consilience.transforms.vectorize.named_axes import pmean as pmean
from consilience.transforms.vectorize.named_axes import pmin as pmin
from consilience.transforms.vectorize.named_axes import psum as psum
from consilience.transforms.vectorize.engine import vectorize as vectorize
from consilience.transforms.vectorize.signature import vectorize_function as vectorize_function
from consilience.transforms.vectorize.engine import vectorize_graph as vectorize_graph
from consilience.transforms.vectorize.mapped import vmap as vmap

__all__: list[str]
