"""Draws of a model's free variables as users hand them over, and results with the same axes of draws.

A tree, a data set or a dictionary in, arrays with one axis of draws out; and back again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError
from consilience.model.data import given_data, in_order_of
from consilience.model.model import Model
from consilience.output.storage.datatree import (
    SAMPLE_DIMENSIONS,
    WITHOUT_DRAWS,
    dataset,
    label_array,
    origin_of_now,
)
from consilience.record import Record

if TYPE_CHECKING:
    import xarray

Array = npt.NDArray[Any]


class Unread:
    """Draws of a variable that are read when they are asked for: an array, or what xarray reads from a disk.

    shape   with all axes of draws as one
    """

    def __init__(self, values: Any, axes: int) -> None:
        self._values = values
        self.shape: tuple[int, ...] = (int(np.prod(values.shape[:axes])), *values.shape[axes:])

    def part(self, place: tuple[int, ...], draws: slice) -> Array:
        """Some draws along the last axis of draws, at a place of the others."""
        return np.asarray(self._values[(*place, draws)])


def other_labels(model: Model, data: Any) -> dict[str, tuple[Any, Any]]:
    """The index of each dim along which a data set has other labels than the model declares, or others first; and its.

    A dictionary of arrays has no labels.
    """
    found = {}
    for dim, index in getattr(data, "indexes", {}).items():
        labels = model.coords.get(dim)
        if labels is not None and model.coordinates.has_declared_labels(dim):
            wanted = type(index)(label_array(labels))
            if not index.equals(wanted):
                found[dim] = index, wanted
    return found


def in_model_order(model: Model, data: Any) -> Any:
    """A data set with what lies along labelled dims in the order of the model, where labels are the same."""
    turned = {
        dim: index.get_indexer(wanted)
        for dim, (index, wanted) in other_labels(model, data).items()
        if len(index) == len(wanted) and index.is_unique and index.isin(wanted).all()
    }
    return data.isel(turned) if turned else data


class Given(Record):
    """Draws of a model's free variables.

    `values`: arrays (draw of all axes, …) by name; `Unread` where they were asked for so. `axes`: names of the axes of
    draws, `shape` their lengths, `labels` their labels.
    """

    values: dict[str, Any]
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    labels: dict[str, Array]

    @classmethod
    def of(
        cls,
        model: Model,
        trace: Any,
        sample_dims: Sequence[str] | None,
        names: Sequence[str] | None = None,
        whole: bool = True,
    ) -> Given:
        """Draws from a tree with the group `posterior`, a data set, or a dictionary of arrays.

        `names`: variables to take, as far as there are draws of them; the free ones by default. `whole`: False: nothing
        is read yet.
        """
        wanted = [v.name for v in model.free] if names is None else list(names)
        axes = (
            SAMPLE_DIMENSIONS
            if sample_dims is None
            else tuple([sample_dims] if isinstance(sample_dims, str) else sample_dims)
        )
        if isinstance(trace, list | tuple):
            trace = [model.placed_point(point) if isinstance(point, Mapping) else point for point in trace]
        posterior = in_model_order(model, variables_of(trace))
        if isinstance(posterior, Mapping) and not hasattr(posterior, "sizes"):
            placed = {
                name: in_order_of((*axes, *model.dims_of.get(name, ())), posterior[name], model.coords)
                for name in wanted
                if name in posterior
            }
            arrays = {name: given_data(name, value).numbers() for name, value in placed.items()}
            if not arrays:
                raise ModelError("the draws hold no free variable of the model.")
            shape, labels = next(iter(arrays.values())).shape[: len(axes)], {}
        else:
            missing = [axis for axis in axes if axis not in posterior.sizes]
            if missing:
                raise ModelError(
                    f"the draws have no axis `{missing[0]}`, but {list(posterior.sizes)}; see `sample_dims`."
                )
            arrays = {name: posterior[name].transpose(*axes, ...) for name in wanted if name in posterior}
            shape = tuple(int(posterior.sizes[axis]) for axis in axes)
            plain = {axis: posterior.indexes[axis] for axis in axes if axis in posterior.indexes}
            labels = {axis: index.to_numpy() for axis, index in plain.items() if index.nlevels == 1}
        if any(v.has_trees for v in model.free if v.name in wanted):
            from consilience.sample.bart import at_present_rows  # few models have trees

            arrays |= {name: array for name, array in at_present_rows(model, trace, shape).items() if name in arrays}
        if not whole:
            return cls({name: Unread(array, len(axes)) for name, array in arrays.items()}, axes, shape, labels)
        count, read = int(np.prod(shape)), {name: np.asarray(array) for name, array in arrays.items()}
        folded = {name: array.reshape(count, *array.shape[len(axes) :]) for name, array in read.items()}
        return cls(folded, axes, shape, labels)

    @property
    def count(self) -> int:
        """Number of draws in all."""
        return int(np.prod(self.shape))

    def first(self) -> Given:
        """The first draw of those that are not read yet."""
        place = (0,) * (len(self.shape) - 1)
        read = {name: one.part(place, slice(0, 1)) for name, one in self.values.items()}
        return Given(read, self.axes, (1,) * len(self.shape), {})

    def unfolded(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Values (draw, …) with the axes of the draws in place of the first."""
        return {name: value.reshape(*self.shape, *value.shape[1:]) for name, value in values.items()}

    def dataset(self, model: Model, arrays: Mapping[str, Array], dims: Mapping[str, Any], group: str) -> xarray.Dataset:
        """Arrays with the draws' axes as a data set with the model's labels and the draws'."""
        axes = () if group in WITHOUT_DRAWS else self.axes
        return dataset(arrays, {**model.coords, **self.labels}, dims, origin_of_now(), axes, group)

    def result(
        self,
        model: Model,
        groups: Mapping[str, Any],
        onto: Any,
        dims: Mapping[str, Any] | None = None,
    ) -> Any:
        """A tree of these groups, which are arrays by name or data sets, or the tree `onto` with them."""
        import xarray

        axes = model.named_vars_to_dims if dims is None else dims
        made = {
            name: arrays if isinstance(arrays, xarray.Dataset) else self.dataset(model, arrays, axes, name)
            for name, arrays in groups.items()
            if len(arrays)
        }
        if onto is None:
            return xarray.DataTree.from_dict(made)
        if not isinstance(onto, xarray.DataTree):
            raise ModelError("only a tree can be extended; pass `extend_inferencedata=False`.")
        for name, group in made.items():
            onto[name] = xarray.DataTree(group)
        return onto


def variables_of(trace: Any) -> Any:
    """The group of draws: a data set, a group of a tree, or a dictionary of arrays; points are the draws of a chain."""
    if hasattr(trace, "children") and trace.children:
        if "posterior" not in trace.children:
            raise ModelError("the trace has no group `posterior`; pass a result of `pm.sample`.")
        return trace["posterior"].to_dataset()
    if hasattr(trace, "to_dataset"):
        return trace.to_dataset()
    if isinstance(trace, list | tuple) and trace and all(isinstance(point, Mapping) for point in trace):
        return {name: np.stack([np.asarray(point[name]) for point in trace])[np.newaxis] for name in trace[0]}
    if not isinstance(trace, Mapping):
        raise ModelError(
            "the trace must be a result of `pm.sample`, a data set, a dictionary of draws or a list of points, as "
            f"`pm.find_MAP` gives one; got {type(trace).__name__}."
        )
    return trace


def named_draws(trace: Any, name: str, axes: tuple[str, ...]) -> Array:
    """The draws of one variable with the axes of draws first; ModelError where there are none."""
    variables = variables_of(trace)
    if name not in variables:
        known = ", ".join(map(str, variables)) or "none"
        raise ModelError(f"the posterior holds no draws of `{name}`; it has {known}.")
    found = variables[name]
    return np.asarray(found.transpose(*axes, ...) if hasattr(found, "dims") else found)
