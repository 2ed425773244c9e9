"""Thousands of chains in lock step on one device, by JAX: an engine of `run`.

This package loads without JAX; `consilience.run.lock_step.engine` needs it.
"""

from consilience.run.lock_step.settings import ChEES

__all__ = ["ChEES"]
