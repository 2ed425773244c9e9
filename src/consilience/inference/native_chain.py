"""A chain whose transitions are machine code: what the kernels written in typed Python have in common."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from consilience.errors import InitialPointError
from consilience.inference.block import Block
from consilience.inference.chain_state import State
from consilience.inference.density import Density, Inputs, LogDensity, Outputs
from consilience.inference.kernel import Divergences, Rows, Tuning
from consilience.inference.normal_numbers import normal_numbers
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import Array, NativeFunction, Record, f64
from consilience.native.typed_python.library import compile_native


def open_density(density: LogDensity, stop: NDArray[np.int64]) -> Density:
    """The density as native code calls it, with scratch memory of its own."""
    scratch = Vectors(max(1, -(-density.workspace // 8)))
    place, one = Vectors(density.dimension), Vectors(1)
    return Density(
        entry=cast("Callable[[Inputs, Outputs, Array[f64], int], int]", density.entry),  # a record takes addresses
        workspace=scratch.vector(),
        constants=density.constants,
        inputs=Inputs(place.vector()),
        outputs=Outputs(one.vector(), place.vector()),
        evaluations=0,
        stop=stop,
    )


def new_state(key: int, position: NDArray[np.float64], vectors: Vectors, compiled: bool = True) -> State:
    """A chain before its first transition, at a copy of `position`; `compiled` as in the kernels."""
    return State(
        key=key,
        normals=normal_numbers.compiled if compiled else normal_numbers,
        transition=0,
        dimension=vectors.dimension,
        stride=vectors.stride,
        logp=-np.inf,
        position=vectors.vector(position),
        gradient=vectors.vector(),
    )


def new_block(rows: Rows) -> Block:
    """Rows for a chain, with room for a divergence in each of them."""
    transitions, dimension = rows.draws.shape
    return Block(
        rows=transitions,
        columns=len(rows.statistics),
        draws=rows.draws.reshape(-1),
        statistics=rows.statistics.reshape(-1),
        divergences=0,
        room=transitions,
        # the system hands out memory when it is written to, so room that is not used costs nothing
        divergence_rows=np.empty(transitions, np.int64),
        divergence_from=np.empty(transitions * dimension),
        divergence_to=np.empty(transitions * dimension),
    )


@functools.cache
def compile_pair(
    start: NativeFunction[[Any], int], step: NativeFunction[[Any, int], int]
) -> tuple[Callable[[Any], int], Callable[[Any, int], int]]:
    """Both functions of a kernel as machine code of one library; calls release the interpreter's lock."""
    library = compile_native([start, step])
    native_start = library.function(start.name, ctypes.c_int64, ctypes.c_void_p)
    native_step = library.function(step.name, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)

    def call_start(memory: Record) -> int:
        return int(native_start(memory.address))

    def call_step(memory: Record, count: int) -> int:
        return int(native_step(memory.address, count))

    return call_start, call_step


class KernelRecord(Protocol):
    """What the record of every kernel's chain holds besides its own fields."""

    density: Density
    state: State
    block: Block


Memory = TypeVar("Memory", bound=KernelRecord)


class NativeChain(Generic[Memory]):
    """One chain of a kernel.

    memory    the chain's record: its state, its scratch memory and the rows it writes to
    start     evaluates the starting point; 0 means that its log density or gradient is not finite
    step      makes up to so many transitions and gives their number
    learnt    reads what was learnt off the record
    """

    def __init__(
        self,
        memory: Memory,
        start: Callable[[Memory], int],
        step: Callable[[Memory, int], int],
        learnt: Callable[[Memory], Tuning],
    ) -> None:
        self.memory = memory
        self._start = start
        self._step = step
        self._learnt = learnt

    def begin(self) -> None:
        if self._start(self.memory):
            return
        state = self.memory.state
        broken = np.flatnonzero(~np.isfinite(np.asarray(state.gradient)))
        which = f", and its gradient is not finite at coordinates {broken[:10].tolist()}" if len(broken) else ""
        raise InitialPointError(
            f"a chain needs a starting point with a finite log density and gradient; the log density is "
            f"{state.logp}{which}. Give another starting point."
        )

    def advance(self, count: int) -> int:
        return int(self._step(self.memory, count))

    @property
    def evaluations(self) -> int:
        return self.memory.density.evaluations

    def divergences(self) -> Divergences:
        block = self.memory.block
        count = min(block.divergences, block.room)
        shape = (count, self.memory.state.dimension)
        return Divergences(
            transitions=np.asarray(block.divergence_rows)[:count].copy(),
            begins=np.asarray(block.divergence_from)[: count * shape[1]].reshape(shape).copy(),
            ends=np.asarray(block.divergence_to)[: count * shape[1]].reshape(shape).copy(),
        )

    def tuning(self) -> Tuning:
        return self._learnt(self.memory)
