"""Models of others: log densities that are computed elsewhere, Stan's programs, PyMC's models, functions of JAX.

What another library knows of a model in; a `pm.Model`, the density of one, or a function of tensors, out.
"""

from consilience.foreign import pytensor_dims as pytensor_dims  # enters its rule
from consilience.foreign import pytensor_scan as pytensor_scan  # enters its rule
from consilience.foreign.bridgestan import from_bridgestan
from consilience.foreign.density import from_density
from consilience.foreign.jaxpr import from_jax
from consilience.foreign.numpyro import from_numpyro
from consilience.foreign.pymc_model import from_pymc
from consilience.foreign.pytensor_graph import from_pytensor
from consilience.foreign.stablehlo import from_stablehlo
from consilience.foreign.torch_graph import from_torch
from consilience.foreign.wrapped_jax import wrap_jax

__all__ = [
    "from_bridgestan", "from_density", "from_jax", "from_numpyro", "from_pymc", "from_pytensor", "from_stablehlo",
    "from_torch", "wrap_jax",
]  # fmt: skip
