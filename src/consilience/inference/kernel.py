"""The contract of a step method: what it needs, what it remembers, what it tells, and one native transition.

A kernel is a small immutable value that holds settings. Its chains' memory, its transitions and its statistics are
records and functions of typed Python, named by class attributes. Threads, tuning across chains and storage stay
outside; see `docs/step-methods.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.inference.block import Block, Needs
from consilience.inference.columns import Columns, Role, columns_of
from consilience.inference.density import Density, LogDensity
from consilience.inference.messages import Command, Tuning
from consilience.inference.point import Point
from consilience.inference.vectors import Vectors
from consilience.native.typed_python import NativeFunction
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.inference.chain import Chain
    from consilience.inference.tuner import Setting, Tuner

# (point, state, scratch, density, info): whether it was done; False where the run was stopped meanwhile.
Transition = NativeFunction[[Point, Any, Any, Density, Any], bool]


class Kernel(Record):
    """A step method with its settings; derive from it to write another one.

    vars       names of the variables it moves, or the variables themselves; none: all that no other kernel moves
    compiled   False runs the same source under CPython: slow, for debugging; the density's entry is then a Python
               callable

    A derived class states:

    needs      "logp", "gradient" (log densities come with gradients), or "table" (the log density at every value of
               each coordinate, for discrete variables whose elements are independent of each other given all others)
    Info       a `@record` of f64, i64 and boolean fields: the statistics of one transition, in their order
    roles      which field of `Info` is the log density, tells a divergence, …: see `columns.Role`
    start      `@native` (point, state, scratch, density, info) -> boolean: evaluates the starting point; False if it
               cannot be one. `point.start_without_gradient` and `point.start` evaluate it
    step       `@native`, with the same parameters: one transition of `point`, described in `info`. False, with `point`
               and `state` as they were, if `density.stopped`; otherwise it has added 1 to `point.transition`
    scheduled  whether it tunes itself on a schedule, so that the length of its tuning has to be known beforehand
    discrete, continuous   whether it can move whole numbers, and real ones

    and makes a chain's memory with `state` and `scratch`. What is in `state` is all that checkpoints hold besides
    `point`: every field of it is written and read back.
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
    fewest_chains: ClassVar[int] = 1

    def __post_init__(self) -> None:
        given = self.vars
        several = given if isinstance(given, list | tuple) else (given,)
        names = tuple(v if isinstance(v, str) else getattr(v, "name", None) for v in several)
        if not all(isinstance(name, str) for name in names):
            raise SamplingError(
                f"{type(self).__name__} takes variables or their names first, got {given!r}; give settings by name."
            )
        object.__setattr__(self, "vars", names)
        self.check()

    def check(self) -> None:
        """Raise SamplingError for settings out of range."""

    def state(self, block: Block, point: Point, vectors: Vectors, tune: int) -> Any:
        """What a chain of this kernel remembers, a record; made once, before the first transition.

        tune   number of transitions at the beginning in which it tunes itself; 0 for none
        """
        raise NotImplementedError

    def scratch(self, block: Block, point: Point, state: Any, density: Density, vectors: Vectors) -> Any:
        """Memory that transitions use and do not remember, a record; made anew when a chain is resumed."""
        raise NotImplementedError

    def obey(self, point: Point, state: Any, command: Command) -> bool:
        """Take in what a tuner has decided; gives whether `start` is to run once more before the next transition.

        The one command that all kernels know is "sample": tuning is over.
        """
        if command == "sample" and hasattr(state, "tune"):
            state.tune = 0
        return False

    def learnt(self, state: Any) -> Tuning | None:
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
    ) -> Chain:
        """A new chain; see `chain.Chain`."""
        from consilience.inference.chain import Chain

        return Chain(self, density, position, key, tune, stop)

    def tuner(self, setting: Setting) -> Tuner | None:
        """What tunes all chains of a run together; None: every chain tunes itself."""
        return None

    @property
    def columns(self) -> Columns:
        """Names, types and roles of the statistics."""
        return columns_of(self.Info, self.roles)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that move a chain one after the other: this one."""
        return (self,)
