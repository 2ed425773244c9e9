"""Backends by name: one line each in `first_use.FACES`.

A backend is a function `compile(inputs, outputs, lengths, data)` from a graph to an `Executable`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Final, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from consilience.backends.shapes import Lengths
from consilience.first_use import FACES, face
from consilience.ir import Node

Array: TypeAlias = npt.NDArray[Any]


class Bound(Protocol):
    """A compiled graph with values of its data: what functions, loops over draws and samplers run.

    `entry`, `constants`, `workspace`: address of `i64 entry(ptr inputs, ptr outputs, ptr workspace, ptr constants)`, of
        its table of constants, and bytes of 64-byte aligned scratch memory, for native callers.
    """

    @property
    def entry(self) -> int: ...
    @property
    def constants(self) -> int: ...
    @property
    def workspace(self) -> int: ...

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        """One array per input in, fresh arrays of the outputs out; raises ExecutionError where there is no value."""

    def direct(self, inputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]], one: bool) -> Callable[..., Any] | None:
        """A built-in function of arrays of these dtypes and shapes, see `native.array_call`; None where there is none.

        `inputs`: dtypes and shapes of the arrays.
        `one`: whether it gives the only result rather than a list.
        """

    def map(self, inputs: Sequence[tuple[Array, bool]], count: int) -> tuple[list[Array], int]:
        """Values of the outputs for many draws.

        Parameters
        ----------
        inputs : sequence of tuple of (ndarray, bool)
            Per input an array, and whether its first axis counts draws (else it is the same for all).

        Returns
        -------
        tuple of (list of ndarray, int)
            Arrays with a leading axis of `count`, and the statuses of all calls combined.
        """


class Executable(Protocol):
    """A graph compiled for fixed shapes."""

    def bind(self, values: Sequence[Array] = ()) -> Bound:
        """The code with one array per leaf of data."""


class Compile(Protocol):
    """A backend's entry.

    `inputs`: leaves in the order of the arrays of a call.
    `outputs`: expressions of those and of the data, simplified.
    `lengths`: values of the symbolic lengths.
    `data`: leaves that are bound before calls; what depends on them alone is computed then.
    `level`: how hard to optimise, 0 to 3.
    """

    def __call__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        lengths: Lengths,
        data: Sequence[Node] = (),
        *,
        level: int = 2,
    ) -> Executable: ...


_ROW: Final = "backend "
BACKENDS: Final = [name.removeprefix(_ROW) for name in FACES if name.startswith(_ROW)]

# The package that a backend runs on, where it is an extra.
ENGINES: Final = {"jax": "jax", "torch": "torch"}


def installed() -> list[str]:
    """Names of the backends whose packages are there."""
    return [name for name in BACKENDS if name not in ENGINES or find_spec(ENGINES[name]) is not None]


def backend(name: str) -> Compile:
    """The `compile` function of a backend."""
    if name not in BACKENDS:
        raise ValueError(f"unknown backend {name!r}; available are {', '.join(sorted(BACKENDS))}.")
    return cast(Compile, face(_ROW + name))
