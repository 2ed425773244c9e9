"""A chain at work: its records, its machine code, and what a run may ask of it.

A kernel, a density, a starting point and a key enter; windows of draws leave. It is driven by one thread at a time;
which one, and how many transitions at a time, changes nothing in the result.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.inference import snapshot as saved
from consilience.inference.block import Block, block_of
from consilience.inference.density import Density, Inputs, LogDensity, Outputs
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Command, Divergences, Rows, Snapshot, Tuning
from consilience.inference.metric import diagonal
from consilience.inference.point import Point
from consilience.inference.streams import RESTART, purpose_key
from consilience.inference.trace import new_trace
from consilience.inference.transitions import Part, Walk, advance, begin_part, move
from consilience.inference.vectors import Vectors
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.random import fold_in, random_normals
from consilience.native.random.library import Normals, normals
from consilience.native.typed_python import Array, NativeFunction, NativeRecord, address, f64
from consilience.native.typed_python.library import compile_native
from consilience.native.typed_python.records import layout, release, zeros

NO_ROWS: Final = Rows(np.zeros((0, 1)), np.zeros((0, 1), np.int64))
Functions = tuple[Any, ...]  # addresses, or callables where nothing is compiled


def open_density(density: LogDensity, stop: NDArray[np.int64], position: NDArray[np.float64] | None = None) -> Density:
    """The density as native code calls it, with scratch memory of its own.

    position   the chain's whole position, from which a block takes the other coordinates
    """
    memory = Vectors(max(1, -(-density.workspace // 8)))
    place, one = Vectors(density.dimension), Vectors(1)
    return Density(
        entry=cast("Callable[[Inputs, Outputs, Array[f64], int], int]", density.entry),  # a record takes addresses
        workspace=memory.vector(),
        constants=density.constants,
        inputs=Inputs(place.vector(), place.vector() if position is None else position),
        outputs=Outputs(one.vector(), place.vector()),
        unused=place.vector(),
        evaluations=0,
        stop=stop,
    )


def new_point(key: int, position: NDArray[np.float64], vectors: Vectors, compiled: bool = True) -> Point:
    """A kernel's place before its first transition, at a copy of `position`; `compiled` as in `Kernel`."""
    return Point(
        key=key,
        normals=compiling_normals().result() if compiled else random_normals,
        transition=0,
        dimension=vectors.dimension,
        stride=vectors.stride,
        logp=-np.inf,
        position=vectors.vector(position),
        gradient=vectors.vector(),
    )


def compiling(kernel: Kernel) -> Beside[Functions]:
    """`start` and `step` of a kernel as machine code, on a thread of its own, begun now unless it was before."""
    start, step = type(kernel).start, type(kernel).step
    return WORKSHOP.begin((start.__module__, start.name, step.__module__, step.name), lambda: _compiled(start, step))


def compiling_transitions() -> Beside[Functions]:
    """The functions of `transitions`, in the same way."""
    return WORKSHOP.begin("transitions", lambda: _compiled(begin_part, move, advance))


def compiling_normals() -> Beside[Normals]:
    """`random_normals` as machine code, in the same way."""
    return WORKSHOP.begin("normals", normals)


def _compiled(*functions: NativeFunction[..., Any]) -> Functions:
    exported = {f"{number}.{function.name}": function for number, function in enumerate(dict.fromkeys(functions))}
    library = compile_native(exports=exported)
    names = {function: name for name, function in exported.items()}
    return (library, *(library.address(names[function]) for function in functions))


def prepare(kernel: Kernel) -> None:
    """Begin to compile on threads of their own what chains of a kernel need, beside what the caller does next."""
    for part in kernel.parts:
        if part.compiled:
            compiling(part)  # first, since it takes longest
    compiling_transitions()
    compiling_normals()


class Chain:
    """One chain of a kernel, or of several in turn.

    kernel     what moves it
    density    the target; records hold addresses only, which are good as long as it is there
    position   its starting point, float64 (coordinate,)
    key        key of its random numbers, see `streams.chain_key`
    tune       number of transitions at the beginning in which kernels tune themselves; 0 for none
    stop       int64 (1,); once it is not 0 the chain ends after at most one more evaluation
    """

    def __init__(
        self,
        kernel: Kernel,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        stop: NDArray[np.int64],
    ) -> None:
        kernels = kernel.parts
        self.kernel = kernel
        self.target = density
        self.compiled = all(part.compiled for part in kernels)
        self.key = key
        self._objects: dict[int, Any] = {}  # the kernels' records, which native code knows by address only
        several = len(kernels) > 1
        needs = "logp" if several else kernels[0].needs
        self.blocks = [block_of(density, part.vars if several else (), part.needs) for part in kernels]
        # kept, since records hold addresses of its code and data only
        self.whole = block_of(density, (), needs).density if several else self.blocks[0].density
        full = Vectors(len(position)).vector(position)
        joint = open_density(self.whole, stop)
        begin, step, further = compiling_transitions().result()[1:] if self.compiled else (begin_part, move, advance)
        self._begin, self._advance = self._caller(begin), self._caller(further, ctypes.c_int64)
        self.walk = Walk(
            dimension=len(position),
            position=full,
            trace=new_trace(NO_ROWS),
            count=len(kernels),
            parts=np.zeros(len(kernels), np.int64),
            move=step if self.compiled else lambda place: move(self._objects[place]),
            joint=joint,
        )
        column = 0
        self.parts: list[Part] = []
        self.states: list[Any] = []
        self.scratches: list[Any] = []
        for number, (part, block) in enumerate(zip(kernels, self.blocks, strict=True)):
            own = self._part(part, block, int(fold_in(key, number)) if several else key, tune, column, several, stop)
            self.parts.append(own)
            np.asarray(self.walk.parts)[number] = address(own)
            column += own.words

    def _part(
        self, kernel: Kernel, block: Block, key: int, tune: int, column: int, several: bool, stop: NDArray[np.int64]
    ) -> Part:
        vectors = Vectors(block.dimension)
        full = self.walk.position
        point = new_point(key, np.asarray(full)[block.places], vectors, self.compiled)
        if not several:
            self.walk.position = point.position
        opened = open_density(block.density, stop, np.asarray(full)) if several else self.walk.joint
        state = kernel.state(block, point, vectors, tune)
        scratch = kernel.scratch(block, point, state, opened, vectors)
        described = layout(kernel.Info)
        info = zeros(kernel.Info)
        for one in (state, scratch, info):
            self._objects[address(one)] = one
        self.states.append(state)
        self.scratches.append(scratch)
        flag = kernel.roles.get("divergence")
        begin, end = kernel.ends(scratch) or (vectors.vector(), vectors.vector())
        start, step = compiling(kernel).result()[1:] if self.compiled else map(self._plain, (kernel.start, kernel.step))
        part = Part(
            walk=self.walk,
            start=start,
            step=step,
            point=point,
            density=opened,
            state=address(state),
            scratch=address(scratch),
            info=address(info),
            row=info._slots,
            words=len(described.names),
            column=column,
            divergence=-1 if flag is None else described.names.index(flag),
            begin=begin,
            end=end,
            places=np.ascontiguousarray(block.places, np.int64),
            alone=not several,
            evaluated=several and kernel.needs != "table",
            with_gradient=kernel.needs == "gradient",
        )
        self._objects[address(part)] = part
        return part

    def _plain(self, function: NativeFunction[..., Any]) -> Callable[..., Any]:
        """A kernel's function as CPython runs it: with the records in place of their addresses."""

        def call(point: Point, state: int, scratch: int, density: Density, info: int) -> Any:
            return function(point, self._objects[state], self._objects[scratch], density, self._objects[info])

        return call

    def _caller(self, function: Any, *types: Any) -> Callable[..., int]:
        """A function of `transitions` as Python calls it; compiled calls release the interpreter's lock."""
        if not self.compiled:
            return cast("Callable[..., int]", function)
        native = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *types)(function)

        def call(memory: NativeRecord, *values: int) -> int:
            return int(native(memory.address, *values))

        return call

    def begin(self, command: Command = None) -> None:
        """Evaluate the starting point and prepare, under a tuner's first command.

        raises   InitialPointError if its log density is not finite
        """
        self.obey(command, starting=True)
        for kernel, part in zip(self.kernel.parts, self.parts, strict=True):
            if self._begin(part) & 1:
                continue
            point = part.point
            needed = which = ""
            if kernel.needs == "gradient":
                needed = " and gradient"
                broken = np.flatnonzero(~np.isfinite(np.asarray(point.gradient)))
                which = f", and its gradient is not finite at coordinates {broken[:10].tolist()}" if len(broken) else ""
            raise InitialPointError(
                f"a chain needs a starting point with a finite log density{needed}; the log density is "
                f"{point.logp}{which}. Give another starting point."
            )

    def obey(self, command: Command, starting: bool = False) -> None:
        """Take in what a tuner has decided; None: nothing new.

        A command "sample", that tuning is over, goes to all kernels; a tuple holds one command for each kernel.
        """
        if command is None:
            return
        commands: Sequence[Command] = (
            command if isinstance(command, tuple) else (command,) * (1 if command != "sample" else len(self.parts))
        )
        for kernel, part, state, own in zip(self.kernel.parts, self.parts, self.states, commands, strict=True):
            if own is not None and kernel.obey(part.point, state, own) and not starting:
                self._begin(part)

    def write_to(self, rows: Rows) -> None:
        """From now on transitions are written to these rows, from the first one on."""
        self.walk.trace = new_trace(rows)
        release(self.walk)  # the rows of windows past

    def advance(self, count: int) -> int:
        """Make up to `count` transitions and give the number made, smaller only once a stop was requested."""
        trace = self.walk.trace
        if count > trace.rows - trace.filled:
            raise SamplingError(
                f"{count} transitions need as many rows to write to, got {trace.rows - trace.filled}; "
                "give the chain more with `write_to`."
            )
        return int(self._advance(self.walk, count))

    @property
    def evaluations(self) -> int:
        """Evaluations of the log density so far, those of a block counting as one."""
        different = {address(d): d for d in (self.walk.joint, *(part.density for part in self.parts))}
        return sum(density.evaluations for density in different.values())

    @property
    def finite(self) -> bool:
        """Whether all draws in the rows written to now are finite."""
        return self.walk.trace.finite

    def divergences(self) -> Divergences:
        """Divergences among the rows written to now."""
        trace = self.walk.trace
        count = trace.divergences
        shape = (count, self.walk.dimension)
        return Divergences(
            transitions=np.asarray(trace.divergence_rows)[:count].copy(),
            begins=np.asarray(trace.divergence_from)[: count * shape[1]].reshape(shape).copy(),
            ends=np.asarray(trace.divergence_to)[: count * shape[1]].reshape(shape).copy(),
        )

    def tuning(self) -> Tuning:
        """What the first kernel that learns a step size has learnt so far."""
        for kernel, state in zip(self.kernel.parts, self.states, strict=True):
            if (learnt := kernel.learnt(state)) is not None:
                return learnt
        return Tuning(np.nan, diagonal(np.ones(self.walk.dimension)))

    def snapshot(self) -> Snapshot:
        """All that decides how the chain goes on, copied: every field of every kernel's point and state."""
        return {
            "position": np.array(self.walk.position),
            "evaluations": [self.walk.joint.evaluations, *(part.density.evaluations for part in self.parts)],
            "points": [saved.take(part.point) for part in self.parts],
            "states": [saved.take(state) for state in self.states],
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this chain or of one made alike."""
        if np.shape(snapshot["position"]) != (self.walk.dimension,):
            raise SamplingError(
                f"a saved chain has {np.size(snapshot['position'])} coordinates, the model {self.walk.dimension}; it "
                "was saved for another model."
            )
        np.asarray(self.walk.position)[:] = snapshot["position"]
        for density, count in zip(
            (self.walk.joint, *(part.density for part in self.parts)), snapshot["evaluations"], strict=True
        ):
            density.evaluations = int(count)
        for kernel, part, state, scratch, point, values in zip(
            self.kernel.parts,
            self.parts,
            self.states,
            self.scratches,
            snapshot["points"],
            snapshot["states"],
            strict=True,
        ):
            saved.put_back(part.point, point)
            saved.put_back(state, values)
            kernel.rekey(scratch, part.point.key)

    def reseed(self, attempt: int) -> None:
        """Other random numbers from now on, a function of the chain's key and `attempt`."""
        for kernel, part, scratch in zip(self.kernel.parts, self.parts, self.scratches, strict=True):
            part.point.key = int(purpose_key(part.point.key, RESTART + attempt))
            kernel.rekey(scratch, part.point.key)
