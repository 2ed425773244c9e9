"""The unconstrained vector of a model: which stretch belongs to which variable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError, ShapeError
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
        unknown = set(point) - {s.key for s in self.stretches}
        if unknown:
            raise ModelError(f"the point has unknown entries {sorted(unknown)}; known are {self.keys()}.")
        for stretch in self.stretches:
            if stretch.key not in point:
                raise ModelError(f"the point has no value for `{stretch.key}`; it needs {self.keys()}.")
            value = np.asarray(point[stretch.key], float)
            if value.shape != stretch.shape:
                raise ShapeError(f"`{stretch.key}` needs shape {stretch.shape}, got {value.shape}.")
            result[stretch.slice] = value.ravel()
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
