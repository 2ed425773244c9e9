"""Where a chain is: the part of its state that every kernel shares.

Plain arrays and numbers, nothing else: written to disk and read back they continue the same chain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import Density, evaluate
from consilience.inference.vectors import Vectors
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.mathematics import isfinite
from consilience.native.random import random_normals
from consilience.native.random.library import Fill, filled_uniforms, normals
from consilience.native.typed_python import Array, FunctionPointer, boolean, f64, i64, native, record


@record
class Point:
    """Where a kernel is among the coordinates that it moves.

    key: The chain's key for random numbers.
    normals (FunctionPointer): `random_normals`: fills an array with standard normals, given key, counter, array and
        length.
    transition: Transitions done so far; the counter of the next one's random numbers.
    dimension: Number of coordinates.
    stride: Distance between rows of the chain's scratch memory, see `vectors`.
    logp: Log density at `position`.
    position (Array): f64[dimension].
    gradient (Array): Gradient of the log density at `position`, f64[dimension]; not used by every kernel.
    """

    key: i64
    normals: FunctionPointer[[i64, i64, Array[f64], i64], None]
    transition: i64
    dimension: i64
    stride: i64
    logp: f64
    position: Array[f64]
    gradient: Array[f64]


@native(rare=True)
def finite(values: Array[f64], dimension: i64) -> boolean:
    """Whether all of them are finite numbers."""
    result = True
    for i in range(dimension):
        result = result and isfinite(values[i])
    return result


@native(rare=True)
def start_without_gradient(point: Point, density: Density) -> boolean:
    """Evaluate the density at the chain's position; False if it is not finite."""
    point.logp = evaluate(density, point.position, point.gradient)
    return isfinite(point.logp)


@native(rare=True)
def start(point: Point, density: Density) -> boolean:
    """Evaluate the density at the chain's position; False if it or its gradient is not finite."""
    point.logp = evaluate(density, point.position, point.gradient)
    return isfinite(point.logp) and finite(point.gradient, point.dimension)


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


def compiling_normals() -> Beside[Fill]:
    """`random_normals` as machine code, in the same way."""
    return WORKSHOP.begin("normals", normals)


def compiling_uniforms() -> Beside[Fill]:
    """`random_uniforms`, in the same way."""
    return WORKSHOP.begin("uniforms", filled_uniforms)
