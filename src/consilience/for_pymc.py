"""The sampler of this library inside PyMC: once this is imported, `pm.sample(nuts_sampler="consilience")` works there.

PyMC's own models go in, PyMC's own results come out; the rest of PyMC stays as it is. See `docs/do/for-pymc.md`.
"""

from consilience.foreign.inside_pymc.door import install, uninstall

__all__ = ["install", "uninstall"]

install()
