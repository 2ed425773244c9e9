"""The unconstrained vector of a model: which stretch belongs to which variable.

A position is that vector; a point is the same as users see it, by names of value variables. Most variables have one
map to the line, and then both are the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.distributions.transforms import Transform
from consilience.errors import ModelError, ShapeError
from consilience.ir import Dim, Node, Shape, substitute, tensor_input
from consilience.ir import dimension as dims
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.variables import FreeVariable
from consilience.ops import cast
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
    """All stretches, in the order in which the variables were declared.

    `lengths`: those that data decide, for maps whose bounds depend on data.
    """

    stretches: tuple[Stretch, ...]
    lengths: Mapping[dims.Atom, Dim]

    @property
    def dimension(self) -> int:
        """Length of the vector."""
        return sum(stretch.size for stretch in self.stretches)

    def point(self, position: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        """A vector as named values on the unconstrained line."""
        return dict(zip(self.keys(), self._remapped(self.parts(position), to_users=True), strict=True))

    def position(self, point: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        """Named values as a vector; every variable is needed."""
        result = np.empty(self.dimension)
        arrays = point_arrays(point, {s.key: s.shape for s in self.stretches})
        for stretch, part in zip(self.stretches, self._remapped([*arrays.values()], to_users=False), strict=True):
            result[stretch.slice] = part.ravel()
        return result

    def transformed(self, rows: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
        """Vectors (row, coordinate) as values (row, *shape) on the unconstrained line, of the transformed variables."""
        found = {}
        for s in self.stretches:
            if s.variable.transform is not None:
                own = rows[:, s.slice]
                if s.variable.sampled != s.variable.transform:  # samplers move along other coordinates
                    own = np.stack([self.point(row)[s.key] for row in rows])
                found[s.key] = own.reshape(len(rows), *s.shape)
        return found

    def parts(self, position: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
        """A vector cut into the variables' coordinates."""
        return [position[s.slice].reshape(s.shape).copy() for s in self.stretches]

    def _remapped(self, parts: list[npt.NDArray[Any]], to_users: bool) -> list[npt.NDArray[Any]]:
        """Coordinates of samplers as those of value variables, or the other way round."""
        if all(s.variable.sampled == s.variable.transform for s in self.stretches):
            return parts
        sampled, users = [s.variable.sampled for s in self.stretches], [s.variable.transform for s in self.stretches]
        before, after = (sampled, users) if to_users else (users, sampled)
        return self.between(before, after, [s.shape for s in self.stretches])(parts)

    def between(
        self, before: Sequence[Transform | None], after: Sequence[Transform | None], shapes: Sequence[tuple[int, ...]]
    ) -> Callable[[Sequence[npt.NDArray[Any]]], list[npt.NDArray[Any]]]:
        """What turns the variables' values under some transforms, of these shapes, into those under others.

        None stands for a variable's own scale.
        """
        with without_sources():
            given = [tensor_input("float64", shape, s.key) for s, shape in zip(self.stretches, shapes, strict=True)]
            natural: dict[Node, Node] = {}
            outputs = []
            for stretch, value, one, other in zip(self.stretches, given, before, after, strict=True):
                own = stretch.variable
                natural[own.node] = cast(value if one is None else one.backward(value), own.node.dtype)
                if one == other:
                    outputs.append(value)
                else:
                    outputs.append(natural[own.node] if other is None else other.forward(natural[own.node]))
                # Bounds of transforms may depend on earlier variables.
                outputs[-1], natural[own.node] = substitute([outputs[-1], natural[own.node]], natural)
            static, memo = specialise([*outputs, *given], self.lengths)
            read = [slot for slot in contexts.slots_of(outputs) if slot in memo]  # of others the length alone
            data = {memo[slot]: contexts.DEFAULT.get(slot) for slot in read}

        def turned(parts: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
            values: dict[Node, Any] = {memo[node]: part for node, part in zip(given, parts, strict=True)}
            with without_sources():
                found = reference.evaluate(static[: len(outputs)], values | data)
            return [np.asarray(a, float) for a in found]

        return turned

    def keys(self) -> list[str]:
        """Names of the entries of a point."""
        return [s.key for s in self.stretches]

    def coordinate(self, index: int) -> str:
        """The name of one coordinate, for messages."""
        for s in self.stretches:
            if s.start <= index < s.start + s.size:
                if not s.shape:
                    return s.variable.coordinates
                place = np.unravel_index(index - s.start, s.shape)
                return f"{s.variable.coordinates}[{', '.join(str(int(i)) for i in place)}]"
        raise IndexError(index)


def point_arrays(
    point: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], others: Collection[str] = ()
) -> dict[str, npt.NDArray[Any]]:
    """Values of the entries that a point must have, in the order of `shapes`; it may have `others` besides.

    Raises ModelError for entries that are missing or unknown. Raises ShapeError for values of another shape.
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
    return Layout(tuple(stretches), lengths)
