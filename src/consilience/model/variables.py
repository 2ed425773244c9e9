"""The variables of a model: names, dimensions and coordinates over a graph of random variables.

Variables register themselves here while the model is on the context stack. Densities, starting points and
predictions are made of them by the other files of this folder; `model` gives users one class for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, cast

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.backends.pickling import duplicate
from consilience.backends.shapes import bind_lengths
from consilience.distributions import context
from consilience.distributions.partly_observed import joined
from consilience.distributions.random_variable import distribution_of, is_random
from consilience.distributions.transforms import Transform, default_transform, label, sampled_transform
from consilience.errors import (
    DtypeError,
    ImputationWarning,
    MissingRuleError,
    ModelError,
    ShapeError,
    warn,
)
from consilience.ir import FLOATS, Dim, Dimension, Node, constant_value, tensor_input, topological
from consilience.ir import dimension as dimensions
from consilience.ir.side_tables import describe, name_of, set_name
from consilience.model import missing, observation
from consilience.model.coordinates import Coordinates, Labels, NamedAxes, check_elements, unstorable
from consilience.model.data import (
    GivenData,
    Mask,
    data_slot,
    for_slot,
    given_data,
    in_known_order,
    in_order_of,
    initial_numbers,
    labels_along,
    no_such_data,
    with_sparse_parts,
)
from consilience.ops.assertion import Assume
from consilience.ops.elementwise import TensorLike, is_step
from consilience.record import Record

RESERVED_NAMES: Final = ("chain", "draw", "__sample__")  # axes that every result has
UNLABELLED: Final = (np.ndarray, np.generic, int, float, str, type(None), Node)  # values that have no labels

DimensionNames = str | Sequence[str | None] | None


class FreeVariable(Record):
    """A random variable to be inferred.

    `transform`: map to the unconstrained line that users see; None for none.
    `initval`: the user's starting value or strategy, None for the default.
    `inside`: whether every position leads into the support, as with the default transform; if not, the density must
        look.
    `value`: the value variable: an input for the unconstrained value, named as PyMC names it (`tau_log__`).
    `sampled`: map to the positions of samplers: `transform`, or one of better geometry where that is a default.
    """

    name: str
    node: Node
    transform: Transform | None
    initval: Any
    inside: bool
    value: Node
    sampled: Transform | None

    @property
    def coordinates(self) -> str:
        """The name of the coordinates along which samplers move the variable."""
        return _title(self.name, self.sampled)

    @property
    def continuous(self) -> bool:
        """Whether its values are floats."""
        return self.node.dtype in FLOATS

    @property
    def has_trees(self) -> bool:
        """Whether it is a sum of regression trees, which step methods for numbers cannot move."""
        return distribution_of(self.node).title == "BART"

    @property
    def size(self) -> int:
        """Number of elements; 0 where data decide it."""
        return math.prod(n if isinstance(n, int) else 0 for n in self.node.static_shape)


class ObservedVariable(Record):
    """A random variable with data: a constant or a shared slot.

    `weight`: how many observations each one stands for, where the data are a batch, or truth values: whether it counts;
        None: itself.
    """

    name: str
    node: Node
    data: Node
    weight: Node | None = None


def value_variable(name: str, node: Node, transform: Transform | None) -> Node:
    """A fresh input for the unconstrained value of a free variable: float64, or the variable's integer type."""
    shape = node.static_shape if transform is None else transform.unconstrained_shape(node.static_shape)
    return tensor_input("float64" if node.dtype in FLOATS else node.dtype, shape, _title(name, transform))


def _title(name: str, transform: Transform | None) -> str:
    return name if transform is None else f"{name}_{label(transform)}__"


class ModelVariables(metaclass=context.Declaring):
    """The variables of one model, as they were declared.

    `name`: prefix `name::` of all variables (default '').
    `coords`: labels of dimensions: name -> sequence of labels.
    `check_bounds`: whether densities are NaN for parameters out of range (default True).
    `model`: the model of which this is a part: its variables belong to both, dimensions are common. By default the one
        in whose `with` block this one is made; None for a model of its own (default context.DEFAULT).
    """

    # Names of marginalized variables, and of deterministics of them, of which the values at a position include draws.
    recovers: tuple[str, ...] = ()

    def __init__(
        self,
        name: str = "",
        coords: Mapping[str, Labels] | None = None,
        check_bounds: bool = True,
        *,
        model: ModelVariables | context.Default | None = context.DEFAULT,
    ) -> None:
        around = self.__dict__.get("around") if isinstance(model, context.Default) else model
        self.parent: ModelVariables | None = around if isinstance(around, ModelVariables) else None
        before: str = self.parent.name if self.parent is not None else ""
        self.name: str = "::".join(part for part in (before, name) if part)
        self.coordinates: Coordinates = Coordinates() if self.parent is None else self.parent.coordinates
        self.check_bounds: bool = check_bounds if self.parent is None else self.parent.check_bounds
        self.named: dict[str, Node] = {}
        self.free: list[FreeVariable] = []
        self.observed: list[ObservedVariable] = []
        # Discrete variables that are summed out of the density, and the deterministics that depend on them.
        self.marginalized: list[FreeVariable] = []
        self.conditional_deterministics: dict[str, Node] = {}
        # How many values are summed of those that have infinitely many.
        self.summed_values: dict[str, int] = {}
        self.named_deterministics: dict[str, Node] = {}
        self.named_potentials: dict[str, Node] = {}
        self.data: dict[str, Node] = {}
        # Names of data that are constants in all expressions; what `data` has under them is kept for results.
        self.frozen: set[str] = set()
        self.dims_of: dict[str, tuple[str | None, ...]] = {}
        # Names of the columns of tables that data came from.
        self.columns_of: dict[str, tuple[Any, ...]] = {}
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

    # ---- copies

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "cache": {}}  # compiled code does not leave the process

    def __deepcopy__(self, memo: object) -> Self:
        return duplicate(self)

    def __getitem__(self, name: str) -> Node:
        for full in (name, self.name_for(name)):
            if full in self.named:
                return self._shown(full)
        raise KeyError(f"the model has no variable `{name}`; it has {', '.join(self.named) or 'none'}.")

    def _shown(self, full: str, node: Node | None = None) -> Node:
        """A variable as its user made it: with named dims where it was made with these."""
        dims, node = self.dims_of.get(full), self.named[full] if node is None else node
        return cast(Node, dims.of(node)) if isinstance(dims, NamedAxes) else node

    def made_with_dims(self, name: str, made: Any) -> None:
        """Have `model[name]` be a tensor with named dims, as the variable was made."""
        full = self.name_for(name)
        self.dims_of[full] = NamedAxes.like(cast("tuple[str, ...]", self.dims_of.get(full, ())), made)

    __iter__ = None  # otherwise Python goes through `model[0]`, `model[1]`, …

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.named or self.name_for(name) in self.named)

    def name_for(self, name: str) -> str:
        """The full name of a variable of this model: with the model's own name before it, if it has one."""
        return f"{self.name}::{name}" if self.name else name

    def lineage(self) -> Iterator[ModelVariables]:
        """This model and all those of which it is a part."""
        owner: ModelVariables | None = self
        while owner is not None:
            yield owner
            owner = owner.parent

    # ---- PyMC's names for the parts

    @property
    def coords(self) -> dict[str, tuple[Any, ...] | None]:
        """Labels of every dimension; None for a dimension without labels."""
        return self.coordinates.labels()

    @property
    def named_vars(self) -> dict[str, Node]:
        """All named variables in order of registration."""
        return {name: self._shown(name) for name in self.named}

    @property
    def named_vars_to_dims(self) -> dict[str, tuple[str | None, ...]]:
        """Dimension names of the variables that have any."""
        return dict(self.dims_of)

    @property
    def variables(self) -> list[FreeVariable | ObservedVariable]:
        """All random variables, the free ones first."""
        return [*self.free, *self.observed]

    @property
    def deterministics(self) -> list[Node]:
        """Named expressions whose values are kept."""
        return [self._shown(name, node) for name, node in self.named_deterministics.items()]

    @property
    def potentials(self) -> list[Node]:
        """Terms added to the log density."""
        return [self._shown(name, node) for name, node in self.named_potentials.items()]

    # ---- coordinates

    def add_coord(self, name: str, values: Labels = None, *, length: int | None = None) -> None:
        """A dimension with labels, or with a length only."""
        for owner in self.lineage():
            if name in owner.named:
                raise ModelError(f"`{name}` is a variable of the model; give the dimension another name.")
            owner._check_generated(name, "dimension")
        self.coordinates.add(name, values, length)

    def add_coords(self, coords: Mapping[str, Labels | None], *, lengths: Mapping[str, Any] | None = None) -> None:
        """Several dimensions with labels, or with lengths: those of `lengths` for dimensions whose labels are None."""
        for name, values in coords.items():
            self.add_coord(name, values, length=(lengths or {}).get(name))

    def lengths_of(self, dims: str | Sequence[str | None]) -> list[Dim | None]:
        """Length per dimension, for distributions that take their shape from `dims`."""
        names = (dims,) if isinstance(dims, str) else tuple(dims)
        return [None if name is None else self.coordinates.length(name, "`dims`") for name in names]

    def dim_length(self, name: str) -> Dim:
        """Length of a dimension, symbolic when data decide it."""
        return self.coordinates.length(name)

    # ---- registration

    def given_data(
        self, name: str, observed: Any, total_size: Any = None, dims: Sequence[str | None] | None = None
    ) -> GivenData | None:
        """Data of a variable as they are taken in, None where it has none; see `data.given_data`."""
        if observed is not None:
            return given_data(self.name_for(name), in_order_of(dims or (), observed, self.coords), total_size)
        if total_size is not None:
            raise ModelError(f"`{name}`: `total_size` is the size of all data, `observed` a part of them; give both.")
        return None

    def register(
        self,
        name: str,
        node: Node,
        *,
        observed: GivenData | TensorLike | None = None,
        dims: DimensionNames = None,
        transform: Any = context.DEFAULT,
        initval: Any = None,
        total_size: Any = None,
    ) -> Node:
        """Take a random variable into the model, as free or observed; called by the distributions."""
        given = observed if isinstance(observed, GivenData) else self.given_data(name, observed, total_size)
        if given is not None and given.missing is not None and distribution_of(node).takes_gaps:
            given = given.with_gaps()
        if given is not None and given.missing is not None:
            return self._register_partly(name, node, given, given.missing, dims, transform)
        full = self._full_name(name)
        check_elements(full, node)
        self._add_dims_of(full, node, dims)
        axes = self._checked_dims(full, node, dims)
        if given is None:
            self.take_free(full, node, transform, initval)
        else:
            node, data, weight = observation.conditioned(full, node, given, self.check_bounds)
            self.take_observed(full, node, data, weight)
        set_name(node, full)
        self._enter(full, node, axes)
        return node

    def _register_partly(
        self, name: str, node: Node, given: GivenData, mask: Mask, dims: DimensionNames, transform: Any
    ) -> Node:
        """Take a random variable with missing data: `y_observed`, `y_unobserved`, and both as deterministic `y`."""
        full = self._full_name(name)
        self._add_dims_of(full, node, dims)
        axes = self._checked_dims(full, node, dims)
        observation.check_shape(full, node, mask.shape)
        if transform is not context.DEFAULT and transform is not None:
            raise ModelError(f"`{full}` has missing values, and then takes no `transform`; leave it out.")
        self._full_name(f"{name}_unobserved")  # nothing is registered unless all can be
        there, lacking, places = missing.parts(full, node, mask)
        there = self.register(f"{name}_observed", there, observed=given.present(places))
        self.register(f"{name}_unobserved", lacking, transform=transform)
        warn(
            f"the data of `{full}` have {int(mask.sum())} missing values, which become the free variable "
            f"`{full}_unobserved`.",
            ImputationWarning,
        )
        return self.add_deterministic(name, missing.fixed(joined(there, lacking, places, mask.shape), node, mask), axes)

    def take_free(self, full: str, node: Node, transform: Any, initval: Any) -> None:
        """Take a random variable to be inferred, by its full name."""
        free = self.free_variable(full, node, transform, initval)
        value = name_of(free.value)
        if value != full and value in self.named:
            raise ModelError(
                f"points and `initvals` call the unconstrained value of `{full}` `{value}`, which is a variable of the "
                "model; give one of both another name."
            )
        for owner in self.lineage():
            owner.free.append(free)

    def free_variable(self, full: str, node: Node, transform: Any, initval: Any) -> FreeVariable:
        """A random variable to be inferred, with the maps to the line that `transform` means; not yet in the model."""
        if initval is not None and not isinstance(initval, str | Node):
            initial_numbers(full, initval)
        default = transform is context.DEFAULT
        chosen = default_transform(node) if default else transform
        inside = node.dtype in FLOATS and (default or _is_default(node, chosen))
        sampled = sampled_transform(node) if inside else chosen
        return FreeVariable(full, node, chosen, initval, inside, value_variable(full, node, chosen), sampled)

    def has_steps(self) -> bool:
        """Whether anything jumps where a number passes another: whoever sums over variables then looks closer."""
        return any(map(is_step, topological([v.node for v in self.observed] + [*self.named_potentials.values()])))

    def take_observed(self, full: str, node: Node, data: Node, weight: Node | None) -> None:
        """Take a random variable with data, by its full name; each of them stands for `weight` observations."""
        for owner in self.lineage():
            owner.observed.append(ObservedVariable(full, node, data, weight))

    def _enter(self, name: str, node: Node, dims: tuple[str | None, ...] | None, place: str = "named") -> None:
        """Take note of a named node, at a place of its kind, too; what was compiled before is out of date."""
        for owner in self.lineage():
            owner.named[name] = getattr(owner, place)[name] = node
            if dims is not None:
                owner.dims_of[name] = dims
            owner.cache.clear()

    def _full_name(self, name: str) -> str:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a variable needs a name as its first argument, got {name!r}.")
        full = self.name_for(name)
        if full in RESERVED_NAMES:
            raise ModelError(f"`{full}` names an axis of every result; give the variable another name.")
        if "/" in full:
            raise ModelError(f"the name {full!r} has a slash, which parts the groups of a result; leave it out.")
        if why := unstorable(full):
            raise ModelError(f"a variable cannot be called {full[:80]!a}: {why}.")
        for owner in self.lineage():
            owner._check_generated(full, "variable")
            owner._check_value(full)
        if any(full in owner.named for owner in self.lineage()):
            raise ModelError(f"`{full}` already exists in the model; names must be unique.")
        if full in self.coordinates:
            raise ModelError(f"`{full}` is a dimension of the model; give the variable another name.")
        return full

    def _check_value(self, name: str) -> None:
        """Refuse that a variable and the unconstrained value of another have one name: `x_log__` of `x`."""
        of = next((v.name for v in self.free if v.name != name and name_of(v.value) == name), None)
        if of is not None:
            raise ModelError(
                f"`{name}` is what points and `initvals` call the unconstrained value of `{of}`; give the variable "
                "another name."
            )

    def _check_generated(self, name: str, kind: str) -> None:
        """Refuse the name that results give to an axis without a dimension: `a_dim_0` of `a`."""
        base, _, number = name.rpartition("_dim_")
        node = self.named.get(base)
        if node is None or not number.isdecimal():
            return
        if int(number) < sum(dim is None for dim in self.dims_of.get(base, (None,) * node.ndim)):
            raise ModelError(
                f"`{name}` is what results call an axis of `{base}`; give the {kind} another name, or `{base}` dims."
            )

    def _check_axes(self, name: str, dims: Sequence[str | None]) -> None:
        """Refuse a dimension that occurs twice, and axes whose generated names mean something else."""
        for dim in dims:
            if dim is not None and dims.count(dim) > 1:
                raise ModelError(
                    f"`{name}` has the dimension `{dim}` twice: {tuple(dims)}; each axis needs a dimension of its "
                    f"own, such as `{dim}` and `{dim}_2` with equal labels."
                )
        for number in range(dims.count(None)):
            generated = f"{name}_dim_{number}"
            if generated in self.named or generated in self.coordinates:
                raise ModelError(
                    f"results call an axis of `{name}` `{generated}`, which is the name of something else in the "
                    "model; rename that, or give `dims`."
                )

    def _add_dims_of(self, name: str, node: Node, dims: DimensionNames) -> None:
        """Take in the dimensions that the model does not know yet: their lengths are those of the random variable."""
        names = _listed(dims)
        for dim, length in zip(names, node.static_shape if len(names) == node.ndim else (), strict=False):
            if dim is None or dim in self.coordinates:
                continue
            if dim == name:
                raise ModelError(f"`{name}` is a variable and names its own dimension; give that another name.")
            known = length if isinstance(length, int) else dimensions.substitute(length, self._lengths())
            if not isinstance(known, int):
                raise ModelError(
                    f"`{name}` names the dimension `{dim}`, which is unknown, and so is its length `{length!r}`; name "
                    f"it where data have it: `pm.Data(…, dims={dim!r})`."
                )
            self.add_coord(dim, length=known)
            self.coordinates.tie(dim, length)

    def _lengths(self) -> dict[dimensions.Atom, Dim]:
        """The symbolic lengths that the present data decide."""
        lengths: dict[dimensions.Atom, Dim] = {}
        for slot in self.data.values():
            bind_lengths(slot, contexts.DEFAULT.get(slot).shape, lengths)
        return lengths

    def _checked_dims(
        self, name: str, node: Node, dims: DimensionNames, computed: bool = False
    ) -> tuple[str | None, ...] | None:
        """Dims that fit a variable; of a computed one, axes of another length than their dims lose these."""
        names = (None,) * node.ndim if dims is None else _listed(dims)
        if len(names) != node.ndim:
            raise ShapeError(
                f"`{name}` has {node.ndim} axes of lengths {node.static_shape}, but {len(names)} dims: {names}."
            )
        self._check_axes(name, names)
        if dims is None:
            return None
        fitting = list(names)
        for axis, (dim, length) in enumerate(zip(names, node.static_shape, strict=True)):
            if dim is None:
                continue
            wanted = self.coordinates.length(dim, f"axis {axis} of `{name}`")
            if computed and wanted is not length:
                lengths = self._lengths()
                wanted, length = dimensions.substitute(wanted, lengths), dimensions.substitute(length, lengths)
            if isinstance(wanted, int) and isinstance(length, int) and wanted != length:
                problem = f"axis {axis} of `{name}` has length {length}, but the dimension `{dim}` has length {wanted}."
                if not computed:
                    raise ShapeError(problem)
                warn(f"{problem} Results leave the labels out.")
                fitting[axis] = None
        return tuple(fitting)

    def add_named(self, node: Node, dims: DimensionNames = None) -> None:
        """Find a node that has a name under it; its values are not kept."""
        name = name_of(node)
        if name is None:
            raise ModelError(f"{describe(node)} has no name; give it one with `.copy(name=…)`, or use `Deterministic`.")
        if is_random(node):
            raise ModelError(f"`{name}` is a random variable; take it into the model with `model.register_rv`.")
        full = self._full_name(name)
        self._enter(full, node, self._checked_dims(full, node, dims))

    def add_deterministic(self, name: str, node: Node, dims: DimensionNames = None) -> Node:
        """Name an expression so that its values are kept."""
        full = self._full_name(name)
        axes = self._checked_dims(full, node, dims, computed=True)
        _call(node, full)
        self._enter(full, node, axes, "named_deterministics")
        return node

    def add_potential(self, name: str, node: Node, dims: DimensionNames = None) -> Node:
        """Add a term to the log density."""
        full = self._full_name(name)
        if node.dtype in ("bool", "key"):
            raise DtypeError(
                f"the potential `{full}` must be a log density, got {describe(node)}; a condition is "
                "`pt.where(condition, 0.0, -np.inf)`."
            )
        axes = self._checked_dims(full, node, dims)
        _call(node, full)
        self._enter(full, node, axes, "named_potentials")
        return node

    def add_data(self, name: str, value: npt.ArrayLike, dims: DimensionNames = None) -> Node:
        """A named slot for data that can be exchanged with `set_data`."""
        full = self._full_name(name)
        value = in_order_of(_listed(dims), value, self.coords)
        array = given_data(full, value, columns=True).numbers()
        names = _listed(dims) if dims is not None else (None,) * array.ndim
        if len(names) != array.ndim:
            raise ShapeError(f"the data `{full}` have {array.ndim} axes of shape {array.shape}, but {len(names)} dims.")
        self._check_axes(full, names)
        shape: list[int | Dimension | None] = []
        for axis, dim in enumerate(names):
            if dim is None:
                shape.append(None)
            else:
                shape.append(self.coordinates.open(dim, array.shape[axis], f"axis {axis} of the data `{full}`"))
        slot = data_slot(full, array, shape)
        self._enter(full, slot, names if any(dim is not None for dim in names) else None, "data")
        if (columns := labels_along(value, 1)) is not None:
            for owner in self.lineage():
                owner.columns_of[full] = columns
        return slot

    def set_data(self, name: str, values: npt.ArrayLike, coords: Mapping[str, Labels] | None = None) -> None:
        """Exchange the values of a data slot.

        Values of the same shape need no recompilation. Where the length of a dimension changes, give its new
        labels in `coords` and set all data along it before the model is used, or all at once by `pm.set_data`. Raises
        KeyError for an unknown name, DtypeError and ShapeError for values that do not fit; then nothing is changed.
        """
        self.set_all({name: values}, coords)

    def set_all(self, values: Mapping[str, npt.ArrayLike], coords: Mapping[str, Labels] | None = None) -> None:
        """Exchange the values of several data slots, all or none."""
        labels = {dim: self.coordinates.new_labels(dim, new) for dim, new in (coords or {}).items()}
        arrays: dict[Node, npt.NDArray[Any]] = {}
        lengths: dict[str, int] = {}
        known = with_sparse_parts(values, lambda name: self.data.get(name, self.data.get(self.name_for(name))))
        for name, value in known.items():
            full = name if name in self.data else self.name_for(name)
            if full not in self.data:
                raise no_such_data(name, self.data)
            if full in self.frozen:
                raise ModelError(
                    f"the data `{full}` are frozen, so they cannot be exchanged; set them in the model that was frozen."
                )
            slot = self.data[full]
            array = for_slot(full, slot, self.placed(full, value, labels))
            for dim, length in zip(self.dims_of.get(full, ()), array.shape, strict=False):
                if dim is not None:
                    self.coordinates.check_length(dim, length, full, labels)
                    lengths[dim] = length
            arrays[slot] = array
        decided: dict[dimensions.Atom, Dim] = {}
        for slot, array in arrays.items():
            bind_lengths(slot, array.shape, decided)
        for slot, array in arrays.items():
            contexts.DEFAULT.set(slot, array)
        self.coordinates.change(lengths, labels, decided)

    def placed(self, name: str, value: Any, changed: Mapping[str, tuple[Any, ...] | None] | None = None) -> Any:
        """New values of data, or of a variable, by the labels that these have, `changed` in place of some."""
        labels, columns = self.coordinates.labels(changed), self.columns_of.get(name)
        return in_known_order(name, self.dims_of.get(name, ()), value, labels, columns)

    def placed_point(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a point, those with labels placed by these; unconstrained ones are their variable's."""
        labelled = [name for name, value in point.items() if not isinstance(value, UNLABELLED)]
        if not labelled:  # as in each call of a compiled function
            return dict(point)
        own = {str(v.value.name): v.name for v in self.free}
        return {**point, **{name: self.placed(own.get(name, name), point[name]) for name in labelled}}

    def data_slots(self) -> list[Node]:
        """Shared slots of the model's data, and other shared variables that its expressions use."""
        known: list[Node] | None = self.cache.get("slots")
        if known is None:
            weights = [v.weight for v in self.observed if v.weight is not None]
            written = [*self.named.values(), *(v.data for v in self.observed), *weights]
            known = self.cache["slots"] = list(dict.fromkeys([*self.data.values(), *contexts.slots_of(written)]))
        return list(known)


def _listed(dims: DimensionNames) -> tuple[str | None, ...]:
    return () if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)


def _call(node: Node, name: str) -> None:
    """Name an expression that has no name; constants are common to all models and stay without."""
    if name_of(node) is None and constant_value(node) is None:
        set_name(node, name)


def called(node: Node, name: str) -> Node:
    """The value under a name; a node that has another name already, such as a leaf, stays as it is."""
    if name_of(node) not in (None, name) or constant_value(node) is not None:
        node = Node(Assume((), name), node)
    set_name(node, name)
    return node


def _is_default(node: Node, transform: Transform | None) -> bool:
    """Whether a transform that was asked for is the one of the variable's support."""
    try:
        return transform == default_transform(node)
    except MissingRuleError:  # no map is known; that is why one was given
        return False
