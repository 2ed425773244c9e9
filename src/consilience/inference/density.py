"""The one thing a sampler knows of a model: a log density with its gradient, as machine code.

A density enters as four plain numbers (`LogDensity`); `evaluate` calls it from native code. Where it comes
from, what its coordinates mean and how its data are stored stay outside.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from consilience.inference.vectors import Vectors
from consilience.native.mathematics import inf, isfinite
from consilience.native.typed_python import Array, FunctionPointer, address, boolean, f64, i64, native, record


@runtime_checkable
class LogDensity(Protocol):
    """A log density on the unconstrained space, compiled.

    `dimension`: number of coordinates, at least 1. `entry`: address of `i64 entry(ptr inputs, ptr outputs, ptr
    workspace, ptr constants)`, where inputs[0] is the position f64[dimension], outputs[0] the log density f64[1] and
    outputs[1] its gradient f64[dimension]; the result is a status, 0 for success; re-entrant. `constants`: address of
    the table of constants, passed on as it is. `workspace`: bytes of 64-byte aligned scratch memory that each thread
    has to bring.
    """

    @property
    def dimension(self) -> int: ...
    @property
    def entry(self) -> int: ...
    @property
    def constants(self) -> int: ...
    @property
    def workspace(self) -> int: ...


@record
class Inputs:
    """The table `inputs` of an entry: the coordinates that are moved, and the whole position of the chain.

    The entry of a whole density reads `position` only; that of a block (`block.Block`) takes all other coordinates
    from `rest`, f64 of the length of the chain's position.
    """

    position: Array[f64]
    rest: Array[f64]


@record
class Outputs:
    """The table `outputs` of an entry: two pointers. Entries without gradient leave the second alone."""

    logp: Array[f64]
    gradient: Array[f64]


@record
class Density:
    """A log density in the form native code calls; one per chain, for it owns the scratch memory.

    unused (Array): f64[dimension] for gradients that nobody reads.
    evaluations: Calls of the entry so far.
    stop (Array): i64[1], not 0 once the run is to stop; shared by all chains.
    """

    entry: FunctionPointer[[Inputs, Outputs, Array[f64], i64], i64]
    workspace: Array[f64]
    constants: i64
    inputs: Inputs
    outputs: Outputs
    unused: Array[f64]
    evaluations: i64
    stop: Array[i64]


@native
def stopped(density: Density) -> boolean:
    """Whether the run is to stop: a transition that finds it so leaves its state as it was."""
    return density.stop[0] != 0


@native
def evaluate(density: Density, position: Array[f64], gradient: Array[f64]) -> f64:
    """Log density at `position`; its gradient goes to `gradient`.

    A status other than 0 and a log density that is no finite number count as -inf. The gradient is then
    unspecified. A finite log density may still come with a gradient that is not finite: whoever uses the
    gradient notices, because the kinetic energy computed from it is not finite either.
    """
    inputs = density.inputs
    outputs = density.outputs
    inputs.position = position
    outputs.gradient = gradient
    density.evaluations += 1
    status = density.entry(inputs, outputs, density.workspace, density.constants)
    logp = outputs.logp[0]
    if status != 0 or not isfinite(logp):
        return -inf
    return logp


@native
def log_density(density: Density, position: Array[f64]) -> f64:
    """Log density at `position`, as `evaluate` gives it; for kernels that need no gradient."""
    return evaluate(density, position, density.unused)


@native
def evaluate_table(density: Density, position: Array[f64], table: Array[f64]) -> boolean:
    """What a block that "needs" a table has of every coordinate given all others, see `Kernel`; False where it fails.

    Probabilities of its values, f64[value, coordinate], or mean and slope of its latent normal, f64[2, coordinate].
    """
    outputs = density.outputs
    before = outputs.logp
    density.inputs.position = position
    outputs.logp = table
    density.evaluations += 1
    status = density.entry(density.inputs, outputs, density.workspace, density.constants)
    outputs.logp = before
    return status == 0


def open_density(
    density: LogDensity,
    stop: NDArray[np.int64],
    position: NDArray[np.float64] | None = None,
    compiled: bool = True,
) -> Density:
    """The density as a kernel calls it, with scratch memory of its own.

    `position`: the chain's whole position, from which a block takes the other coordinates. `compiled`: whether native
    code calls it, and not CPython.
    """
    memory = Vectors(max(1, -(-density.workspace // 8)))
    place, one = Vectors(density.dimension), Vectors(1)
    entry: Any = density.entry  # a record takes addresses, and callables for CPython
    return Density(
        entry=entry if compiled or callable(entry) else cast("Any", _from_python(entry)),
        workspace=memory.vector(),
        constants=density.constants,
        inputs=Inputs(place.vector(), place.vector() if position is None else position),
        outputs=Outputs(one.vector(), place.vector()),
        unused=place.vector(),
        evaluations=0,
        stop=stop,
    )


def _from_python(entry: int) -> Callable[[Inputs, Outputs, NDArray[np.float64], int], int]:
    """A compiled entry as kernels call it that CPython runs."""
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_void_p,) * 4)(entry)

    def call(inputs: Inputs, outputs: Outputs, workspace: NDArray[np.float64], constants: int) -> int:
        return int(native(address(inputs), address(outputs), workspace.ctypes.data, constants))

    return call
