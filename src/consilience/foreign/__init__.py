"""Models of others: log densities that are computed elsewhere, Stan's programs, models of PyMC and NumPyro.

What another library knows of a model in; a `pm.Model`, the density of one, or a function of tensors, out. Programs of
JAX, PyTorch and StableHLO stand in `engines`.
"""

from consilience.foreign import pytensor_dims as pytensor_dims  # these fill the table
from consilience.foreign import pytensor_indexing as pytensor_indexing
from consilience.foreign import pytensor_matrices as pytensor_matrices
from consilience.foreign import pytensor_ops as pytensor_ops
from consilience.foreign import pytensor_scan as pytensor_scan
from consilience.foreign.bridgestan import from_bridgestan
from consilience.foreign.density import from_density
from consilience.foreign.numpyro import from_numpyro
from consilience.foreign.pymc_model import from_pymc
from consilience.foreign.pytensor_graph import from_pytensor

__all__ = ["from_bridgestan", "from_density", "from_numpyro", "from_pymc", "from_pytensor"]
