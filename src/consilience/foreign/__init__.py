"""Models of others: log densities that are computed elsewhere, Stan's programs, PyMC's models.

What another library knows of a model in; a `pm.Model`, or the density of one, out.
"""

from consilience.foreign.bridgestan import from_bridgestan
from consilience.foreign.density import from_density

__all__ = ["from_bridgestan", "from_density"]
