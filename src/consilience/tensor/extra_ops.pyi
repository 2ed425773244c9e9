"""Written by `python tools/names.py` from the tables of extra_ops.py; not to be edited."""

from consilience.tensor.grids import bartlett as bartlett
from consilience.tensor.counting import bincount as bincount
from consilience.ops.shape import broadcast_arrays as broadcast_arrays
from consilience.tensor.arrangement import broadcast_shape as broadcast_shape
from consilience.ops.shape import broadcast_to as broadcast_to
from consilience.tensor.gathering import compress as compress
from consilience.tensor.joining import concat_with_broadcast as concat_with_broadcast
from consilience.ops.reductions import cumprod as cumprod
from consilience.ops.reductions import cumsum as cumsum
from consilience.tensor.reduction import diff as diff
from consilience.tensor.gathering import fill_diagonal as fill_diagonal
from consilience.tensor.gathering import fill_diagonal_offset as fill_diagonal_offset
from consilience.tensor.grids import geomspace as geomspace
from consilience.tensor.grids import linspace as linspace
from consilience.tensor.grids import logspace as logspace
from consilience.tensor.gathering import ravel_multi_index as ravel_multi_index
from consilience.ops.arrangement import repeat as repeat
from consilience.ops.order import searchsorted as searchsorted
from consilience.ops.shape import squeeze as squeeze
from consilience.tensor.counting import to_one_hot as to_one_hot
from consilience.tensor.ordering import unique as unique
from consilience.tensor.gathering import unravel_index as unravel_index

__all__: list[str]
