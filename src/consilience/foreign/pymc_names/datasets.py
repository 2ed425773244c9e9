"""Functions of points over draws, and a model's data and labels, as `pymc.backends.arviz` has them.

In: a model, draws, a compiled function. Out: dictionaries and data sets. Outside: results of runs (`sample`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.output.storage import datatree
from consilience.sample import data

if TYPE_CHECKING:
    import xarray

    from consilience.model.model import Model

__all__ = [
    "apply_function_over_dataset", "coords_and_dims_for_inferencedata", "dataset_to_point_list", "find_constants",
    "find_observations",
]  # fmt: skip


def coords_and_dims_for_inferencedata(model: Model) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Labels of a model's dims that have some, as arrays, and the dims of its variables, as lists."""
    coords = {name: np.asarray(labels) for name, labels in model.coords.items() if labels is not None}
    return coords, {name: list(dims) for name, dims in model.named_vars_to_dims.items()}


def find_observations(model: Model) -> dict[str, npt.NDArray[Any]]:
    """The observed values of a model by the names of their variables."""
    return dict(data.observed_data(model))


def find_constants(model: Model) -> dict[str, npt.NDArray[Any]]:
    """The data of a model by name, but for those that are observed values alone."""
    return dict(data.constant_data(model))


def dataset_to_point_list(
    ds: xarray.Dataset | Mapping[str, xarray.DataArray], sample_dims: Sequence[str]
) -> tuple[list[dict[str, npt.NDArray[Any]]], dict[str, Any]]:
    """The draws of a data set as a list of points, and the labels of the dims over which they were listed."""
    arrays = dict(ds)
    if not arrays or not sample_dims:
        return [{}], {}
    first = next(iter(arrays.values()))
    labels = {dim: first[dim] for dim in sample_dims}
    shape = tuple(len(values) for values in labels.values())
    flat = {
        str(name): array.transpose(*sample_dims, ...)
        .to_numpy()
        .reshape(-1, *(array.sizes[d] for d in array.dims if d not in sample_dims))
        for name, array in arrays.items()
    }
    return [{name: values[i] for name, values in flat.items()} for i in range(int(np.prod(shape)))], labels


def apply_function_over_dataset(
    fn: Callable[[dict[str, npt.NDArray[Any]]], Sequence[npt.ArrayLike]],
    dataset: xarray.Dataset,
    *,
    output_var_names: Sequence[str],
    coords: Mapping[str, Any],
    dims: Mapping[str, Sequence[Any]],
    sample_dims: Sequence[str] = ("chain", "draw"),
    progressbar: bool = True,
    progressbar_theme: Any = None,
) -> xarray.Dataset:
    """The results of a function of a point at every draw of a data set, as a data set.

    `fn`: function of a dictionary of arrays that gives as many arrays as `output_var_names` has names.
    `dataset`: draws, with the dims `sample_dims`; the order of their other dims is that of `dims`.
    `coords`: labels of dims, and the dims of results that have more than `sample_dims`.
    `dims`: labels of dims, and the dims of results that have more than `sample_dims`.
    `progressbar`: of no effect, as `progressbar_theme`: the function is compiled and takes microseconds.
    Raises ShapeError where the function gives another number of arrays than there are names.
    """
    del progressbar, progressbar_theme
    ordered = {}
    for name, array in dataset.data_vars.items():
        own = (*sample_dims, *dims.get(str(name), ()))
        ordered[str(name)] = array.transpose(*own) if {*own} == {*array.dims} else array
    points, labels = dataset_to_point_list(ordered, sample_dims)
    draws: list[Sequence[Any]] = []
    for point in points:
        found = fn(point)
        if len(found) != len(output_var_names):
            raise ShapeError(f"the function gives {len(found)} arrays for the names {', '.join(output_var_names)}.")
        draws.append(found)
    lengths = [len(values) for values in labels.values()]
    arrays = {
        name: np.stack([np.asarray(draw[i]) for draw in draws]).reshape(*lengths, *np.shape(draws[0][i]))
        for i, name in enumerate(output_var_names)
    }
    # A log density of a vector has no axis for its elements: what dims there are beyond the axes is left out.
    axes = {name: list(dims.get(name, ()))[: array.ndim - len(lengths)] for name, array in arrays.items()}
    known = {**coords, **{name: values.to_numpy() for name, values in labels.items()}}
    return datatree.dataset(arrays, known, axes, datatree.origin_of_now(), tuple(sample_dims), "results")
