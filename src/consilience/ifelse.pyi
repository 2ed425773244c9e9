"""Written by `python tools/names.py` from the tables of ifelse.py; not to be edited."""

from consilience.ops.control import cond as cond
from consilience.ops.control import ifelse as ifelse

__all__: list[str]
