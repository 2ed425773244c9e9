"""Log densities and functions for others: C libraries that need no Python, modules of StableHLO.

A model or a compiled function in; out comes a folder with a header, source or object code, data, an example and a
Makefile, or the text of a module.
"""

from consilience.exports.folder import export
from consilience.exports.stablehlo import to_stablehlo

__all__ = ["export", "to_stablehlo"]
