"""The variables of a model: names, dimensions and coordinates over a graph of random variables.

Variables register themselves here while the model is on the context stack. Densities, starting points and
predictions are made of them by the other files of this folder; `model` gives users one class for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.dist import context
from consilience.dist.transforms import Transform, default_transform
from consilience.errors import ModelError, ShapeError
from consilience.ir import Dim, Dimension, Node, Shared
from consilience.ir.side_tables import name_of, set_name
from consilience.model import observation
from consilience.model.coordinates import Coordinates, Labels
from consilience.ops.elementwise import TensorLike, as_tensor

DimensionNames = str | Sequence[str | None] | None


@dataclass(frozen=True, slots=True)
class FreeVariable:
    """A random variable to be inferred.

    transform   bijection to the unconstrained line; None when the variable is unconstrained
    initval     the user's starting value or strategy, None for the default
    """

    name: str
    node: Node
    transform: Transform | None
    initval: Any


@dataclass(frozen=True, slots=True)
class ObservedVariable:
    """A random variable with data: a constant or a shared slot."""

    name: str
    node: Node
    data: Node


class ModelVariables:
    """The variables of one model, as they were declared.

    coords   labels of dimensions: name -> sequence of labels
    """

    def __init__(self, name: str = "", *, coords: Mapping[str, Labels] | None = None) -> None:
        self.name = name
        self.coordinates = Coordinates()
        self.named: dict[str, Node] = {}
        self.free: list[FreeVariable] = []
        self.observed: list[ObservedVariable] = []
        self.deterministics: dict[str, Node] = {}
        self.potentials: dict[str, Node] = {}
        self.data: dict[str, Node] = {}
        self.dims_of: dict[str, tuple[str | None, ...]] = {}
        self.cache: dict[object, Any] = {}
        for dim, labels in (coords or {}).items():
            self.add_coord(dim, labels)

    # ---- context

    def __enter__(self) -> Self:
        context.push(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context.pop()

    def __repr__(self) -> str:
        lines = [f"{v.name} ~ {v.node.op!r}" for v in self.free]
        lines += [f"{name} = deterministic" for name in self.deterministics]
        lines += [f"{name} = potential" for name in self.potentials]
        lines += [f"{v.name} ~ {v.node.op!r} (observed)" for v in self.observed]
        return "\n".join(lines) if lines else "an empty model"

    def __getitem__(self, name: str) -> Node:
        if name not in self.named:
            raise KeyError(f"the model has no variable `{name}`; it has {', '.join(self.named) or 'none'}.")
        return self.named[name]

    # ---- PyMC's names for the parts

    @property
    def coords(self) -> dict[str, tuple[Any, ...] | None]:
        """Labels of every dimension; None for a dimension without labels."""
        return self.coordinates.labels()

    @property
    def named_vars(self) -> dict[str, Node]:
        """All named variables in order of registration."""
        return dict(self.named)

    @property
    def named_vars_to_dims(self) -> dict[str, tuple[str | None, ...]]:
        """Dimension names of the variables that have any."""
        return dict(self.dims_of)

    @property
    def free_RVs(self) -> list[Node]:  # noqa: N802  # PyMC's name
        """Random variables to be inferred."""
        return [v.node for v in self.free]

    @property
    def observed_RVs(self) -> list[Node]:  # noqa: N802  # PyMC's name
        """Random variables with data."""
        return [v.node for v in self.observed]

    @property
    def basic_RVs(self) -> list[Node]:  # noqa: N802  # PyMC's name
        """All random variables."""
        return self.free_RVs + self.observed_RVs

    # ---- coordinates

    def add_coord(self, name: str, values: Labels = None, *, length: int | None = None) -> None:
        """A dimension with labels, or with a length only."""
        self.coordinates.add(name, values, length)

    def add_coords(self, coords: Mapping[str, Labels]) -> None:
        """Several dimensions with labels."""
        for name, values in coords.items():
            self.add_coord(name, values)

    def dim_lengths(self, dims: str | Sequence[str | None]) -> list[Dim | None]:
        """Length per dimension, for distributions that take their shape from `dims`."""
        names = (dims,) if isinstance(dims, str) else tuple(dims)
        return [None if name is None else self.coordinates.length(name) for name in names]

    def dim_length(self, name: str) -> Dim:
        """Length of a dimension, symbolic when data decide it."""
        return self.coordinates.length(name)

    # ---- registration

    def register(
        self,
        name: str,
        node: Node,
        *,
        observed: TensorLike | None = None,
        dims: DimensionNames = None,
        transform: Any = context.DEFAULT,
        initval: Any = None,
        total_size: Any = None,
    ) -> Node:
        """Take a random variable into the model, as free or observed; called by the distributions."""
        if total_size is not None:
            raise ModelError(f"`{name}`: `total_size` needs minibatches, which are not there yet; drop it.")
        self._check_name(name)
        self._set_dims(name, node, dims)
        self.named[name] = node
        set_name(node, name)
        if observed is None:
            chosen = default_transform(node) if transform is context.DEFAULT else transform
            self.free.append(FreeVariable(name, node, chosen, initval))
        else:
            data = observation.as_data(name, node, observed)
            observation.check_constant(name, node, data)
            self.observed.append(ObservedVariable(name, node, data))
        self.cache.clear()
        return node

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a variable needs a name as its first argument, got {name!r}.")
        if name in self.named or name in self.potentials:
            raise ModelError(f"the model has a variable `{name}` already; names must be unique.")
        if name in self.coordinates:
            raise ModelError(f"`{name}` is a dimension of the model; give the variable another name.")

    def _set_dims(self, name: str, node: Node, dims: DimensionNames) -> None:
        if dims is None:
            return
        names = (dims,) if isinstance(dims, str) else tuple(dims)
        if len(names) != node.ndim:
            raise ShapeError(
                f"`{name}` has {node.ndim} axes of lengths {node.static_shape}, but {len(names)} dims: {names}."
            )
        for axis, (dim, length) in enumerate(zip(names, node.static_shape, strict=True)):
            if dim is None:
                continue
            wanted = self.coordinates.length(dim) if dim in self.coordinates else None
            if wanted is None:
                self.coordinates.claim(dim, length, f"axis {axis} of `{name}`")
            elif isinstance(wanted, int) and isinstance(length, int) and wanted != length:
                raise ShapeError(
                    f"axis {axis} of `{name}` has length {length}, but the dimension `{dim}` has length {wanted}."
                )
        self.dims_of[name] = names

    def add_deterministic(self, name: str, node: Node, dims: DimensionNames = None) -> Node:
        """Name an expression so that its values are kept."""
        self._check_name(name)
        self._set_dims(name, node, dims)
        self.named[name] = node
        self.deterministics[name] = node
        if name_of(node) is None:
            set_name(node, name)
        self.cache.clear()
        return node

    def add_potential(self, name: str, node: Node, dims: DimensionNames = None) -> Node:
        """Add a term to the log density."""
        self._check_name(name)
        self._set_dims(name, node, dims)
        self.potentials[name] = node
        if name_of(node) is None:
            set_name(node, name)
        self.cache.clear()
        return node

    def add_data(self, name: str, value: npt.ArrayLike, dims: DimensionNames = None) -> Node:
        """A named slot for data that can be exchanged with `set_data`."""
        self._check_name(name)
        array = observation.as_array(name, value)
        names = (dims,) if isinstance(dims, str) else tuple(dims) if dims is not None else (None,) * array.ndim
        if len(names) != array.ndim:
            raise ShapeError(f"the data `{name}` have {array.ndim} axes of shape {array.shape}, but {len(names)} dims.")
        shape: list[int | None | Dimension] = []
        for axis, dim in enumerate(names):
            if dim is None:
                shape.append(None)
            else:
                shape.append(self.coordinates.open(dim, array.shape[axis], f"axis {axis} of the data `{name}`"))
        slot = observation.data_slot(name, array, shape)
        if any(dim is not None for dim in names):
            self.dims_of[name] = names
        self.named[name] = slot
        self.data[name] = slot
        self.cache.clear()
        return slot

    def set_data(self, name: str, value: npt.ArrayLike, coords: Mapping[str, Labels] | None = None) -> None:
        """Exchange the values of a data slot.

        Values of the same shape need no recompilation. Where the length of a dimension changes, give its new
        labels in `coords` and set all data along it before the model is used.
        """
        if name not in self.data:
            raise KeyError(f"the model has no data `{name}`; it has {', '.join(self.data) or 'none'}.")
        slot = self.data[name]
        array = observation.as_array(name, value)
        for dim, labels in (coords or {}).items():
            self.coordinates.relabel(dim, labels)
        for dim, length in zip(self.dims_of.get(name, ()), array.shape, strict=False):
            if dim is not None:
                self.coordinates.check_length(dim, length, name, relabelled=dim in (coords or {}))
        contexts.DEFAULT.set(slot, array)

    def data_slots(self) -> list[Node]:
        """Shared slots of the model's data."""
        return [slot for slot in self.data.values() if isinstance(slot.op, Shared)]
