"""The contract of a step method: what it needs, what it remembers, what it tells, and one native transition.

A kernel is a small immutable value that holds settings; its memory, transitions and statistics are records and
functions of typed Python, named by class attributes. A `MarkovChain` has them at work, driven by one thread at a time:
which one, and how many transitions at a time, changes nothing in the result. See `docs/step-methods.md`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import numpy as np
from numpy.typing import NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.inference import snapshot as saved
from consilience.inference.block import Block, Needs, block_of
from consilience.inference.columns import Columns, Role, columns_of, element
from consilience.inference.density import Density, LogDensity, open_density
from consilience.inference.jumps import JumpCommand, new_jump_scratch, new_jumps, take_in
from consilience.inference.messages import ChainTuning, Command, Divergences, Rows, Snapshot
from consilience.inference.metric import diagonal
from consilience.inference.point import Point, compiling_normals, new_point
from consilience.inference.streams import RESTART, purpose_key
from consilience.inference.trace import new_trace
from consilience.inference.transitions import KernelRecord, Walk, advance, begin_part, move, settle
from consilience.inference.vectors import Vectors
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.random import fold_in
from consilience.native.typed_python import NativeFunction, NativeRecord, address
from consilience.native.typed_python.library import compile_native
from consilience.native.typed_python.records import layout, release, zeros
from consilience.record import Record, field_names, replace

if TYPE_CHECKING:
    from consilience.inference.tuner import Tuner, TuningSetting

WHOLE_POINT: Final = 1 << 20  # number of the key of a whole position, beyond those of its parts
NO_ROWS: Final = Rows(np.zeros((0, 1)), np.zeros((0, 1), np.int64))


# Keywords of PyMC's step methods without meaning here: a run compiles its model once and seeds its chains; exact draws
# from conditional distributions have no order of proposals.
OF_PYMC: Final = frozenset({"blocked", "compile_kwargs", "early_max_treedepth", "initial_point", "mode", "order",
                            "proposal", "rng", "transit_p"})  # fmt: skip
RENAMED: Final = {"max_steps": "iter_limit"}


def _taking_pymcs(kernel: type[Kernel]) -> Callable[..., None]:
    """The constructor of a step method that takes PyMC's keywords, too, and looks for its variables in `model`."""
    own = kernel.__init__
    fields = field_names(kernel)

    @functools.wraps(own)
    def __init__(self: Kernel, *arguments: Any, model: Any = None, **named: Any) -> None:
        settings = {}
        for name, value in named.items():
            word = RENAMED.get(name, name)
            word = word if word in fields else name
            if word in fields or name not in OF_PYMC:
                settings[word] = value
        own(self, *arguments, **settings)
        lacking = [name for name in self.vars if model is not None and name not in model]
        if lacking:
            raise SamplingError(f"{type(self).__name__} is given {lacking}, of which `model` has none.")

    return __init__


class Kernel(Record):
    """A step method with its settings; derive from it to write another one.

    vars (tuple of str): Names of the variables it moves, or the variables themselves; none: all that no other kernel
        moves.
    compiled (bool): False runs the same source under CPython: slow, for debugging. Kernels that take turns run there
        together.

    Attributes
    ----------
    needs
        "logp", "gradient" (log densities come with gradients), "table" (the probability of every value of each
        coordinate given all others, for discrete variables with independent elements), or "normals" (the mean of a
        latent normal for each coordinate, see `elimination.latent_normals`).
    Info
        A `@record` of f64, i64 and boolean fields: the statistics of one transition, in their order.
    roles
        Which field of `Info` is the log density, tells a divergence, …: see `columns.Role`.
    start
        `@native` (point, state, scratch, density, info) -> boolean: evaluates the starting point; False if it cannot be
        one. `point.start_without_gradient` and `point.start` evaluate it.
    step
        `@native`, with the same parameters: one transition of `point`, described in `info`. False, with `point` and
        `state` as they were, if `density.stopped`; otherwise it has added 1 to `point.transition`.
    scheduled
        Whether it tunes itself on a schedule, so that the length of its tuning has to be known beforehand.
    discrete, continuous
        Whether it can move whole numbers, and real ones.
    trees
        Whether it moves sums of regression trees, and nothing else.
    fewest_chains
        Of a run.
    whole
        Whether it has to move all variables of a model, alone.
    jumping
        Whether its chains may jump between its transitions: nothing that it remembers, but the point and what it
        learnt, depends on where a chain is.

    See Metropolis: A step method that comes with the library.

    Notes
    -----
    A derived class states:

    and makes a chain's memory with `state` and `scratch`. What is in `state` is all that checkpoints hold besides
    `point`: every field of it is written and read back.

    >>> issubclass(pm.Slice, pm.Kernel)
    True
    """

    vars: tuple[str, ...] = ()
    compiled: bool = True

    needs: ClassVar[Needs] = "gradient"
    Info: ClassVar[type[Any]]
    roles: ClassVar[Mapping[Role, str]] = {}
    start: ClassVar[NativeFunction[..., bool]]
    step: ClassVar[NativeFunction[..., bool]]
    scheduled: ClassVar[bool] = False
    discrete: ClassVar[bool] = False
    continuous: ClassVar[bool] = True
    trees: ClassVar[bool] = False
    fewest_chains: ClassVar[int] = 1
    whole: ClassVar[bool] = False
    jumping: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls.__init__ = _taking_pymcs(cls)  # type: ignore[method-assign]  # every class has its own

    def __post_init__(self) -> None:
        given: Any = self.vars  # what users write becomes names below
        several = given if isinstance(given, list | tuple) else (given,)
        if isinstance(given, list) and not given:
            raise SamplingError(
                f"{type(self).__name__} is given an empty list of variables; name some, or leave the list out for all "
                "that no other step method moves."
            )
        names = tuple(v if isinstance(v, str) else getattr(v, "name", None) for v in several)
        if not all(isinstance(name, str) for name in names):
            raise SamplingError(
                f"{type(self).__name__} takes variables or their names first, got {given!r}; give settings by name."
            )
        object.__setattr__(self, "vars", names)
        if not isinstance(self.compiled, bool):
            raise SamplingError(f"{type(self).__name__}: `compiled` must be True or False, got {self.compiled!r}.")
        for field in field_names(self):
            value = getattr(self, field)
            if isinstance(value, np.ndarray):  # kernels are compared and hashed by their settings
                object.__setattr__(self, field, _nested(value.tolist()))
        self.check()

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> Any:
        """What a chain of this kernel remembers, a record; made once, before the first transition.

        Parameters
        ----------
        block : Block
            Density and coordinates that this kernel moves.
        point : Point
            Starting point of the chain.
        vectors : Vectors
            Memory for vectors of the length of the position.
        tune : int
            Number of transitions at the beginning in which it tunes itself; 0 for none.
        """
        raise NotImplementedError

    def scratch(self, block: Block, point: Point, state: Any, density: Density, vectors: Vectors) -> Any:
        """Memory that transitions use and do not remember, a record; made anew when a chain is resumed."""
        raise NotImplementedError

    def apply(self, point: Point, state: Any, command: Command) -> bool:
        """Take in what a tuner has decided; gives whether `start` is to run once more before the next transition.

        The one command that all kernels know is "sample": tuning is over.
        """
        if command == "sample" and hasattr(state, "tune"):
            state.tune = 0
        return False

    def learnt(self, state: Any) -> ChainTuning | None:
        """Step size and metric as they are now, for kernels that have them."""
        return None

    def rekey(self, scratch: Any, key: int) -> None:
        """Take the random numbers of another key; for kernels that keep keys derived from it in their scratch."""

    def ends(self, scratch: Any) -> tuple[Any, Any] | None:
        """The two vectors in which `step` leaves both ends of a leapfrog step that diverged, where some may."""
        return None

    def chain(
        self,
        density: LogDensity,
        position: NDArray[np.float64],
        key: int,
        tune: int,
        stop: NDArray[np.int64],
    ) -> MarkovChain:
        """A new chain; see `MarkovChain`."""
        return MarkovChain(self, density, position, key, tune, stop)

    @property
    def written(self) -> tuple[str, int]:
        """Name and length of one more statistic, a vector; its words are in `words` of the scratch, i64[length]."""
        return "", 0

    def tuner(self, setting: TuningSetting) -> Tuner | None:
        """What tunes all chains of a run together; None: every chain tunes itself."""
        return None

    @property
    def columns(self) -> Columns:
        """Names, types and roles of the statistics."""
        found = columns_of(self.Info, self.roles)
        name, length = self.written
        more = {element(name, k): "float64" for k in range(length)}
        return replace(found, types={**found.types, **more}) if more else found

    @property
    def joint(self) -> bool:
        """Whether the log density of the whole position is a statistic of its own."""
        return False

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that move a chain one after the other: this one."""
        return (self,)


def _nested(values: Any) -> Any:
    """Lists as tuples, on all levels."""
    return tuple(map(_nested, values)) if isinstance(values, list) else values


Functions = tuple[Any, ...]  # addresses, or callables where nothing is compiled


def compiling(kernel: Kernel) -> Beside[Functions]:
    """`start` and `step` of a kernel as machine code, on a thread of its own, begun now unless it was before."""
    start, step = type(kernel).start, type(kernel).step
    return WORKSHOP.begin((start.__module__, start.name, step.__module__, step.name), lambda: _compiled(start, step))


def compiling_transitions() -> Beside[Functions]:
    """The functions of `transitions`, in the same way."""
    return WORKSHOP.begin("transitions", lambda: _compiled(begin_part, move, advance, settle))


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


class MarkovChain:
    """One chain of a kernel, or of several in turn.

    kernel (Kernel): What moves it.
    density (LogDensity): The target; records hold addresses only, which are good as long as it is there.
    position (ndarray): Its starting point, float64 (coordinate,).
    key (int): Key of its random numbers, see `streams.chain_key`.
    tune (int): Number of transitions at the beginning in which kernels tune themselves; 0 for none.
    stop (ndarray): Int64 (1,); once it is not 0 the chain ends after at most one more evaluation.
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
        if not self.compiled:  # none of them then calls machine code
            kernels = tuple(replace(part, compiled=False) for part in kernels)
        self.key = key
        self._objects: dict[int, Any] = {}  # the kernels' records, which native code knows by address only
        several = kernel.joint
        needs = "logp" if several else kernels[0].needs
        self.blocks = [block_of(density, part.vars if several else (), part.needs) for part in kernels]
        # kept, since records hold addresses of its code and data only
        self.whole = block_of(density, (), needs).density if several else self.blocks[0].density
        full = Vectors(len(position)).vector(position)
        joint = open_density(self.whole, stop, compiled=self.compiled)
        begin, step, further, settling = (
            compiling_transitions().result()[1:] if self.compiled else (begin_part, move, advance, settle)
        )
        kinds = np.zeros(len(position), np.bool_)
        for block in self.blocks:
            kinds[block.places] = block.discrete
        vectors = Vectors(len(position))
        whole = new_point(int(fold_in(key, WHOLE_POINT)), position, vectors, self.compiled)
        whole.position = full
        self._begin, self._advance = self._caller(begin), self._caller(further, ctypes.c_int64)
        self.walk = Walk(
            dimension=len(position),
            position=full,
            trace=new_trace(NO_ROWS),
            count=len(kernels),
            parts=np.zeros(len(kernels), np.int64),
            move=step if self.compiled else lambda place: move(self._objects[place]),
            with_joint=several,
            joint=joint,
            whole=whole,
            jumps=new_jumps(kinds),
            jumping=new_jump_scratch(vectors),
            settle=settling if self.compiled else lambda place: settle(self._objects[place]),
        )
        column = 0
        self.parts: list[KernelRecord] = []
        self.states: list[Any] = []
        self.scratches: list[Any] = []
        for number, (part, block) in enumerate(zip(kernels, self.blocks, strict=True)):
            own = self._part(part, block, int(fold_in(key, number)) if several else key, tune, column, several, stop)
            self.parts.append(own)
            np.asarray(self.walk.parts)[number] = address(own)
            column += own.words + own.further

    def _part(
        self, kernel: Kernel, block: Block, key: int, tune: int, column: int, several: bool, stop: NDArray[np.int64]
    ) -> KernelRecord:
        vectors = Vectors(block.dimension)
        full = self.walk.position
        point = new_point(key, np.asarray(full)[block.places], vectors, self.compiled)
        if not several:
            self.walk.position = point.position
            self.walk.whole = point
        opened = self.walk.joint
        if several:
            opened = open_density(block.density, stop, np.asarray(full), self.compiled)
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
        part = KernelRecord(
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
            more=scratch.words if kernel.written[1] else np.zeros(1, np.int64),
            further=kernel.written[1],
            column=column,
            divergence=-1 if flag is None else described.names.index(flag),
            begin=begin,
            end=end,
            places=np.ascontiguousarray(block.places, np.int64),
            alone=not several,
            evaluated=several and kernel.needs in ("logp", "gradient"),
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

        Raises InitialPointError: If its log density is not finite.
        """
        self.apply(command, starting=True)
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

    def apply(self, command: Command, starting: bool = False) -> None:
        """Take in what a tuner has decided; None: nothing new.

        A command "sample", that tuning is over, goes to all kernels; a tuple holds one command for each kernel.
        """
        if isinstance(command, JumpCommand):
            take_in(self.walk.jumps, command)
            command = command.kernels
        if command is None:
            return
        commands: Sequence[Command] = (
            command if isinstance(command, tuple) else (command,) * (1 if command != "sample" else len(self.parts))
        )
        for kernel, part, state, own in zip(self.kernel.parts, self.parts, self.states, commands, strict=True):
            if own is not None and kernel.apply(part.point, state, own) and not starting:
                self._begin(part)

    def write_to(self, rows: Rows) -> None:
        """From now on transitions are written to these rows, from the first one on."""
        self.walk.trace = new_trace(rows, len(self.parts))
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

    def tuning(self) -> ChainTuning:
        """What the first kernel that learns a step size has learnt so far."""
        for kernel, state in zip(self.kernel.parts, self.states, strict=True):
            if (learnt := kernel.learnt(state)) is not None:
                return learnt
        return ChainTuning(np.nan, diagonal(np.ones(self.walk.dimension)))

    def snapshot(self) -> Snapshot:
        """All that decides how the chain goes on, copied: every field of every kernel's point and state."""
        return {
            "position": np.array(self.walk.position),
            "evaluations": [self.walk.joint.evaluations, *(part.density.evaluations for part in self.parts)],
            "points": [saved.take(part.point) for part in self.parts],
            "states": [saved.take(state) for state in self.states],
            "whole": saved.take(self.walk.whole),
            "jumps": saved.take(self.walk.jumps),
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
        saved.put_back(self.walk.whole, snapshot["whole"])
        saved.put_back(self.walk.jumps, snapshot["jumps"])

    def reseed(self, attempt: int) -> None:
        """Other random numbers from now on, a function of the chain's key and `attempt`."""
        if self.kernel.joint:
            self.walk.whole.key = int(purpose_key(self.walk.whole.key, RESTART + attempt))
        for kernel, part, scratch in zip(self.kernel.parts, self.parts, self.scratches, strict=True):
            part.point.key = int(purpose_key(part.point.key, RESTART + attempt))
            kernel.rekey(scratch, part.point.key)
