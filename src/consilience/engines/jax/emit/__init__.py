"""The JAX backend: a graph as one function that XLA compiles, for processors and accelerators.

A graph in, an executable or a pure function of JAX's arrays out. Ops without a meaning in JAX are computed by NumPy,
which JAX calls. Imported when it is asked for; JAX is an extra.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.backends import llvm
from consilience.backends.registry import Executable
from consilience.backends.shapes import Lengths
from consilience.errors import MissingPackageError
from consilience.ir import Node
from consilience.lower.specialise import specialise

try:
    import jax as jax
except ImportError as error:
    raise MissingPackageError("JAX is not there: pip install 'consilience[jax]'.") from error

from consilience.engines.jax.emit.program import JaxProgram


def compile(
    inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths, data: Sequence[Node] = (), *, level: int = 2
) -> Executable:
    """The graph as compiled by XLA (`registry.Compile`); JAX decides how hard to optimise."""
    results, memo = specialise([*outputs, *inputs, *data], lengths)
    leaves, bound = [memo[i] for i in inputs], [memo[d] for d in data]
    return llvm.staged(leaves, results[: len(outputs)], bound, level=level, origins=outputs, make=JaxProgram)
