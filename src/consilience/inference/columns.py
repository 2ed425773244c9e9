"""The statistics of a transition, as the fields of a kernel's `Info` declare them.

A record class enters; names, types and places of its columns leave, and tables of the rows that chains wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from consilience.errors import SamplingError
from consilience.native.typed_python.records import layout
from consilience.record import Record

# What a run may want to know of a transition, whatever the kernel calls it.
Role = Literal["log density", "divergence", "energy", "energy error", "acceptance", "step size", "depth"]
TYPES: Final = {"f64": "float64", "i64": "int64", "boolean": "bool"}
ELEMENT: Final = "\x00"  # between the name of a vector and the number of an element
LOG_DENSITY: Final = "lp"  # of the whole position, where several kernels move parts of it


class Columns(Record):
    """The statistics of a kernel's transitions.

    types: NumPy's name of each statistic's type, in the order of the rows.
    roles: Name of the statistic that has a role, for roles that one has.
    """

    types: Mapping[str, str]
    roles: Mapping[Role, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics, in order."""
        return tuple(self.types)

    def place(self, role: Role) -> int | None:
        """Which column has a role; None where none has."""
        name = self.roles.get(role)
        return None if name is None else self.names.index(name)

    def of(self, role: Role) -> int:
        """Which column has a role that the caller needs; SamplingError if none has."""
        place = self.place(role)
        if place is None:
            raise SamplingError(f"no statistic has the role {role!r}; the kernel's `roles` name {dict(self.roles)}.")
        return place

    def table(self, words: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rows int64 (transition, word) as numbers, float64 (statistic, transition)."""
        table = np.empty((words.shape[1], len(words)))
        for place in range(len(table)):
            table[place] = self.column(words, place)
        return table

    def column(self, words: NDArray[np.int64], place: int) -> NDArray[Any]:
        """One statistic of rows int64 (transition, word), where it lies."""
        values = words[:, place]
        return values.view(np.float64) if list(self.types.values())[place] == "float64" else values


def element(name: str, place: int) -> str:
    """The name of the column that holds one element of a vector."""
    return f"{name}{ELEMENT}{place}"


def columns_of(info: type[Any], roles: Mapping[Role, str]) -> Columns:
    """The columns of a kernel whose transitions are described by records of the class `info`."""
    described = layout(info)
    types = {}
    for name, kind in zip(described.names, described.types, strict=True):
        if kind.kind not in TYPES:
            raise SamplingError(
                f"the field `{name}` of {info.__name__} is a statistic and must be f64, i64 or boolean, not {kind}."
            )
        types[name] = TYPES[kind.kind]
    unknown = [name for name in roles.values() if name not in types]
    if unknown:
        raise SamplingError(f"{info.__name__} has no fields {unknown}, to which roles are given; it has {list(types)}.")
    return Columns(types, dict(roles))


def joined(parts: Sequence[tuple[str, Columns]]) -> Columns:
    """The columns of several kernels, one after the other, and the log density of the whole position.

    A name that one kernel alone has stays as it is; others get their kernel's label before them, as in `z_accepted`.
    Roles belong to the first kernel that has them. None is that of the energy: the energy of a block changes as others
    move, too, and to compare its changes with its variance says nothing of how a chain moves between energies.
    """
    names = Counter(name for _, columns in parts for name in columns.types)
    types: dict[str, str] = {}
    roles: dict[Role, str] = {}
    for label, columns in parts:
        own = {name: f"{label}_{name}" if names[name] > 1 or name == LOG_DENSITY else name for name in columns.types}
        types |= {own[name]: kind for name, kind in columns.types.items()}
        roles = {**{role: own[name] for role, name in columns.roles.items()}, **roles}
    roles.pop("energy", None)
    return Columns({**types, LOG_DENSITY: "float64"}, {**roles, "log density": LOG_DENSITY})
