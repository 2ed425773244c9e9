"""The unconstrained vector of a model: which stretch belongs to which variable."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError, ShapeError
from consilience.ir import Dim, Shape
from consilience.ir import dimension as dims
from consilience.model.variables import FreeVariable
from consilience.record import Record


class Stretch(Record):
    """One variable's part of the vector: elements start, …, start + size - 1 in row-major order."""

    variable: FreeVariable
    key: str
    start: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return math.prod(self.shape)

    @property
    def slice(self) -> slice:
        """The stretch as a slice."""
        return slice(self.start, self.start + self.size)


class Layout(Record):
    """All stretches, in the order in which the variables were declared."""

    stretches: tuple[Stretch, ...]

    @property
    def dimension(self) -> int:
        """Length of the vector."""
        return sum(stretch.size for stretch in self.stretches)

    def point(self, position: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        """A vector as named values on the unconstrained line."""
        return {s.key: position[s.slice].reshape(s.shape).copy() for s in self.stretches}

    def position(self, point: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        """Named values as a vector; every variable is needed."""
        result = np.empty(self.dimension)
        arrays = point_arrays(point, {s.key: s.shape for s in self.stretches})
        for stretch in self.stretches:
            result[stretch.slice] = arrays[stretch.key].ravel()
        return result

    def keys(self) -> list[str]:
        """Names of the entries of a point."""
        return [s.key for s in self.stretches]

    def coordinate(self, index: int) -> str:
        """The name of one coordinate, for messages."""
        for s in self.stretches:
            if s.start <= index < s.start + s.size:
                if not s.shape:
                    return s.key
                place = np.unravel_index(index - s.start, s.shape)
                return f"{s.key}[{', '.join(str(int(i)) for i in place)}]"
        raise IndexError(index)


def point_arrays(
    point: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], others: Collection[str] = ()
) -> dict[str, npt.NDArray[Any]]:
    """Values of the entries that a point must have, in the order of `shapes`; it may have `others` besides.

    raises   ModelError for entries that are missing or unknown, ShapeError for values of another shape
    """
    unknown = [str(name) for name in point if name not in shapes and name not in others]
    if unknown:
        raise ModelError(f"the point has unknown entries {sorted(unknown)}; known are {[*shapes]}.")
    arrays = {}
    for name, shape in shapes.items():
        if name not in point:
            raise ModelError(f"the point has no value for `{name}`; it needs {[*shapes]}.")
        arrays[name] = np.asarray(point[name])
        if arrays[name].shape != shape:
            raise ShapeError(f"`{name}` needs shape {shape}, got {arrays[name].shape}.")
    return arrays


def known_shape(shape: Shape, lengths: Mapping[dims.Atom, Dim], name: str) -> tuple[int, ...]:
    """A shape as integers; ShapeError where a length is not decided by the model's data."""
    found = tuple(dims.substitute(n, lengths) for n in shape)
    for length in found:
        if not isinstance(length, int):
            raise ShapeError(f"the length `{length!r}` of `{name}` is not known from the model's data.")
    return found  # type: ignore[return-value]  # checked by the loop


def layout_of(free: Sequence[FreeVariable], lengths: Mapping[dims.Atom, Dim]) -> Layout:
    """The layout of variables, given the lengths that data decide."""
    stretches: list[Stretch] = []
    start = 0
    for variable in free:
        shape = known_shape(variable.value.static_shape, lengths, variable.name)
        stretches.append(Stretch(variable, str(variable.value.name), start, shape))
        start += stretches[-1].size
    return Layout(tuple(stretches))
