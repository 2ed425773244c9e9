"""Bayesian inference on its own tensor compiler.

Models come in as PyMC users write them; posteriors go out as `xarray.DataTree`.
"""

__version__ = "0.1.0"
