"""The JAX backend: a graph as one function that XLA compiles, for processors and accelerators.

A graph in, an executable or a pure function of JAX's arrays out. Ops without a meaning in JAX are computed by NumPy,
which JAX calls. Imported when it is asked for; JAX is an extra.
"""

from __future__ import annotations

from consilience.backends.registry import Compile
from consilience.engines.emitter.table import compiler
from consilience.errors import MissingPackageError

try:
    import jax as jax
except Exception as error:
    raise MissingPackageError.of("JAX", "pip install 'consilience[jax]'", error) from error

from consilience.engines.jax.emit.program import JaxProgram

compile: Compile = compiler(JaxProgram)
