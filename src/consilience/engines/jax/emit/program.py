"""A static graph as one function that JAX compiles.

Leaves and expressions in; an executable (`registry.Compile`) or a pure function of JAX's arrays out. The executable has
float64 where the graph says so, whatever JAX's setting is; the function follows the setting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.backends.callback import Callback
from consilience.engines.jax.emit import arrays as arrays  # enters its rows
from consilience.engines.jax.emit import control as control  # enters its rows
from consilience.engines.jax.emit import elementwise as elementwise  # enters its rows
from consilience.engines.jax.emit.meanings import JaxEvaluation
from consilience.engines.jax.emit.namespace import held
from consilience.errors import ExecutionError, LinearAlgebraError, OutOfBoundsError, Status
from consilience.ir import Node
from consilience.ir.side_tables import describe

Array = npt.NDArray[Any]


def traceable(leaves: Sequence[Node], outputs: Sequence[Node]) -> Callable[..., tuple[list[Any], Any]]:
    """A function of arrays in the order of the leaves: values of the outputs and their status."""

    def values(*given: Any) -> tuple[list[Any], Any]:
        typed = {leaf: jnp.asarray(x, held(leaf.dtype)) for leaf, x in zip(leaves, given, strict=True)}
        run = JaxEvaluation(typed)
        return run.of(outputs), run.status

    return values


class JaxProgram:
    """A graph at fixed lengths (`registry.Executable`)."""

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        data: Sequence[Node] = (),
        *,
        level: int = 2,
        origins: Sequence[Node] | None = None,
    ) -> None:
        self.inputs, self.outputs, self.data = tuple(inputs), tuple(outputs), tuple(data)
        self.origins = self.outputs if origins is None else origins
        self.compiled = jax.jit(traceable((*self.inputs, *self.data), self.outputs))

    def bind(self, values: Sequence[Array] = ()) -> BoundJaxProgram:
        """With its data, which move to JAX's device once."""
        with jax.enable_x64(True):
            return BoundJaxProgram(self, [jnp.asarray(v) for v in values])


class BoundJaxProgram(Callback):
    """The same with values of its data; native code calls it back."""

    def __init__(self, program: JaxProgram, values: Sequence[Any]) -> None:
        super().__init__(program.inputs, program.outputs, {})
        self._program, self._values = program, values

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        with jax.enable_x64(True):
            found, status = self._program.compiled(*arrays, *self._values)
            results = [np.array(value) for value in found]
        if status:
            self._explain(int(status), arrays)
        return results

    def _explain(self, status: int, arrays: Sequence[Array]) -> None:
        """Raise what NumPy's meaning says of the failure; it has the place and the numbers."""
        program = self._program
        values = [np.asarray(v) for v in self._values]
        given = dict(zip((*program.inputs, *program.data), (*arrays, *values), strict=True))
        try:
            reference.evaluate(program.outputs, given)
        except ExecutionError:
            raise
        where = ", ".join(describe(o) for o in program.origins[:3])
        if status & Status.OUT_OF_BOUNDS:
            raise OutOfBoundsError(f"an index lies outside its axis in the computation of {where}.")
        raise LinearAlgebraError(f"a matrix is singular or not positive definite in the computation of {where}.")
