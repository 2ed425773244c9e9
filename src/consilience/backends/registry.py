"""Backends by name: one line each.

A backend is a function `compile(inputs, outputs, lengths)` that returns a callable of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeAlias, cast

import numpy.typing as npt

from consilience.backends.shapes import Lengths
from consilience.ir import Node

Array: TypeAlias = npt.NDArray[Any]


class Executable(Protocol):
    """A graph compiled for fixed shapes: one array per input in, one per output out."""

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]: ...


Compile: TypeAlias = Callable[[Sequence[Node], Sequence[Node], Lengths], Executable]

# Modules are imported when first asked for: the machine-code backend loads LLVM.
BACKENDS = {
    "llvm": "consilience.backends.llvm",
    "reference": "consilience.backends.reference",
}


def backend(name: str) -> Compile:
    """The `compile` function of a backend."""
    if name not in BACKENDS:
        raise ValueError(f"unknown backend {name!r}; available are {', '.join(sorted(BACKENDS))}.")
    return cast(Compile, import_module(BACKENDS[name]).compile)
