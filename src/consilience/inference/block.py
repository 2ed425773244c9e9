"""The coordinates that a kernel moves, and the density it sees of them.

A block is a part of a chain's position, or all of it. Which variables of a model it stands for is decided elsewhere.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import LogDensity
from consilience.record import Record

# What a kernel asks of a density: values, values with gradients, the probabilities of all values of each coordinate, or
# the means of latent normals whose signs are known, and how much each rises with its coordinate.
Needs = Literal["logp", "gradient", "table", "normals"]


class Block(Record, eq=False):
    """Some coordinates of a chain's position.

    `density`: of these coordinates given all others, up to terms in which they do not occur.
    `places`: where they lie in the position, int64 (coordinate,), ascending.
    `names`: of the variables.
    `discrete`: whether the coordinates are whole numbers, bool (coordinate,).
    `lower`, `upper`: bounds of a discrete coordinate, both included, float64 (coordinate,); else infinite. They hold
        for every value of the other coordinates.
    `separable`: whether a "table" is possible: coordinates are independent of each other given all others.
    `prior`: what a step method that draws from a prior of its own has to know of it, as `bart.TreePrior`.
    """

    density: LogDensity
    places: NDArray[np.int64]
    names: tuple[str, ...]
    discrete: NDArray[np.bool_]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    separable: bool = False
    prior: Any = None

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.places)


@runtime_checkable
class Divisible(Protocol):
    """A log density that can be restricted to some of its variables."""

    def block(self, names: tuple[str, ...], needs: Needs) -> Block:
        """The block of these variables, all of them for `()`; its density is compiled when it is first asked for."""
        ...


def block_of(density: LogDensity, names: tuple[str, ...], needs: Needs) -> Block:
    """The block of these variables; a density that cannot be divided is one block of real numbers."""
    if isinstance(density, Divisible):
        return density.block(names, needs)
    n = density.dimension
    unbounded = np.full(n, np.inf)
    return Block(density, np.arange(n), (), np.zeros(n, np.bool_), -unbounded, unbounded)
