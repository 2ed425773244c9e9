"""A chain whose transitions are machine code: what the kernels written in typed Python have in common."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.inference import snapshot as saved
from consilience.inference.block import Block, new_block
from consilience.inference.chain_state import State
from consilience.inference.density import Density, Inputs, LogDensity, Outputs
from consilience.inference.kernel import Divergences, Orders, Rows, Snapshot, Tuning
from consilience.inference.streams import RESTART, purpose_key
from consilience.inference.vectors import Vectors
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.random import random_normals
from consilience.native.random.library import Normals, normals
from consilience.native.typed_python import Array, NativeFunction, NativeRecord, f64
from consilience.native.typed_python.library import compile_native
from consilience.native.typed_python.records import release


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
        normals=compiling_normals().result() if compiled else random_normals,
        transition=0,
        dimension=vectors.dimension,
        stride=vectors.stride,
        logp=-np.inf,
        position=vectors.vector(position),
        gradient=vectors.vector(),
    )


Pair = tuple[Callable[[Any], int], Callable[[Any, int], int]]


def compile_pair(start: NativeFunction[[Any], int], step: NativeFunction[[Any, int], int]) -> Pair:
    """Both functions of a kernel as machine code of one library; calls release the interpreter's lock."""
    return compiling(start, step).result()


def compiling(start: NativeFunction[[Any], int], step: NativeFunction[[Any, int], int]) -> Beside[Pair]:
    """`compile_pair` on a thread of its own, begun now unless it was before: a program has other things to do."""
    return WORKSHOP.begin((start.name, step.name), lambda: _compiled(start, step))


def compiling_normals() -> Beside[Normals]:
    """`random_normals` as machine code, in the same way."""
    return WORKSHOP.begin("normals", normals)


def _compiled(start: NativeFunction[[Any], int], step: NativeFunction[[Any, int], int]) -> Pair:
    library = compile_native([start, step])
    native_start = library.function(start.name, ctypes.c_int64, ctypes.c_void_p)
    native_step = library.function(step.name, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)

    def call_start(memory: NativeRecord) -> int:
        return int(native_start(memory.address))

    def call_step(memory: NativeRecord, count: int) -> int:
        return int(native_step(memory.address, count))

    return call_start, call_step


class KernelRecord(Protocol):
    """What the record of every kernel's chain holds besides its own fields."""

    density: Density
    state: State
    block: Block


Memory = TypeVar("Memory", bound=KernelRecord)


NO_ROWS = Rows(np.zeros((0, 1)), np.zeros((1, 0)))

# What a chain needs for a window only, or can be made anew: scratch memory and addresses.
TRANSIENT = frozenset(
    {
        "density", "block", "nuts", "hmc", "jumps", "descent", "probe", "info", "key", "stride", "dimension",
        "rank", "directions", "stretches", "shrinkages", "scratch",
    }
)  # fmt: skip


class NativeChain(Generic[Memory]):
    """One chain of a kernel.

    memory    the chain's record: its state, its scratch memory and the rows it writes to
    start     evaluates the starting point; 0 means that its log density or gradient is not finite
    step      makes up to so many transitions and gives their number
    learnt    reads what was learnt off the record
    target    the density; the record holds addresses only, which are good as long as it is there
    """

    def __init__(
        self,
        memory: Memory,
        start: Callable[[Memory], int],
        step: Callable[[Memory, int], int],
        learnt: Callable[[Memory], Tuning],
        target: LogDensity,
    ) -> None:
        self.memory = memory
        self.target = target
        self._start = start
        self._step = step
        self._learnt = learnt

    def begin(self, descend: bool = False) -> None:
        if descend:
            self.prepare_descent()
        if self._start(self.memory):
            return
        state = self.memory.state
        broken = np.flatnonzero(~np.isfinite(np.asarray(state.gradient)))
        which = f", and its gradient is not finite at coordinates {broken[:10].tolist()}" if len(broken) else ""
        raise InitialPointError(
            f"a chain needs a starting point with a finite log density and gradient; the log density is "
            f"{state.logp}{which}. Give another starting point."
        )

    def prepare_descent(self) -> None:
        """Kernels that can climb first override this."""

    def obey(self, orders: Orders) -> None:
        if any(getattr(orders, name) is not None for name in ("scales", "step", "search", "archive")):
            raise SamplingError(f"chains of {type(self.memory).__name__} tune themselves and take no orders.")

    def write_to(self, rows: Rows) -> None:
        self.memory.block = new_block(rows)
        release(self.memory)  # the rows of windows past

    def advance(self, count: int) -> int:
        block = self.memory.block
        if count > block.rows - block.filled:
            raise SamplingError(
                f"{count} transitions need as many rows to write to, got {block.rows - block.filled}; "
                "give the chain more with `write_to`."
            )
        return int(self._step(self.memory, count))

    @property
    def evaluations(self) -> int:
        return self.memory.density.evaluations

    @property
    def finite(self) -> bool:
        return self.memory.block.finite

    def divergences(self) -> Divergences:
        block = self.memory.block
        count = block.divergences
        shape = (count, self.memory.state.dimension)
        return Divergences(
            transitions=np.asarray(block.divergence_rows)[:count].copy(),
            begins=np.asarray(block.divergence_from)[: count * shape[1]].reshape(shape).copy(),
            ends=np.asarray(block.divergence_to)[: count * shape[1]].reshape(shape).copy(),
        )

    def tuning(self) -> Tuning:
        return self._learnt(self.memory)

    def snapshot(self) -> Snapshot:
        return saved.take(self.memory, TRANSIENT) | {"evaluations": self.evaluations, "key": self.memory.state.key}

    def restore(self, snapshot: Snapshot) -> None:
        saved.put_back(self.memory, snapshot, TRANSIENT)
        self.memory.density.evaluations = int(snapshot["evaluations"])
        self.rekey(int(snapshot["key"]))

    def reseed(self, attempt: int) -> None:
        self.rekey(int(purpose_key(self.memory.state.key, RESTART + attempt)))

    def rekey(self, key: int) -> None:
        """Take the random numbers of another key."""
        self.memory.state.key = key
