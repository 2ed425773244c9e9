"""Written by `python tools/names.py` from the tables of scan.py; not to be edited."""

from consilience.tensor.loops import foldl as foldl
from consilience.tensor.loops import foldr as foldr
from consilience.tensor.loops import map as map
from consilience.tensor.loops import reduce as reduce
from consilience.tensor.loops import scan as scan
from consilience.tensor.loops import until as until
from consilience.tensor.loops import while_loop as while_loop

__all__: list[str]
