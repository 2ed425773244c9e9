"""Log densities and functions as C libraries that need no Python.

A model or a compiled function in; a folder with a header, source or object code, data, an example and a Makefile out.
"""

from consilience.exports.folder import export

__all__ = ["export"]
