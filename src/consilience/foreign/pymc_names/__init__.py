"""Helpers that libraries on PyMC import from inside of it, and that this library itself has no use for.

They are found at their paths in PyMC (`module_paths`), as `pymc.util.is_transformed_name` with `consilience.as_pymc`.
"""
