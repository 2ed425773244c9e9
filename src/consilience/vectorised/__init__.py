"""Thousands of chains in lock step on one device, by JAX: a log density of JAX and starting points in, a run out.

This package loads without JAX; `consilience.vectorised.launch` needs it.
"""

from consilience.vectorised.settings import ChEES

__all__ = ["ChEES"]
