"""Results in ArviZ's schema: named arrays enter, groups of labelled arrays leave, as `xarray.DataTree` if asked for.

Draws are not copied. What the arrays mean, and how they came about, stays outside.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.collection import collection_paused
from consilience.errors import ShapeError
from consilience.native.beside import WORKSHOP
from consilience.output.storage.deferred import Deferred, lazily
from consilience.record import Record

if TYPE_CHECKING:
    import xarray

Arrays: TypeAlias = Mapping[str, npt.ArrayLike | Deferred]
Coordinates: TypeAlias = Mapping[str, "npt.ArrayLike | None"]
Dimensions: TypeAlias = Mapping[str, "Sequence[str | None]"]
Attributes: TypeAlias = Mapping[str, object]

SAMPLE_DIMENSIONS = ("chain", "draw")
WITHOUT_DRAWS = frozenset({"observed_data", "constant_data", "predictions_constant_data"})
"""Groups whose arrays have no chain and draw axes."""

OF_THE_RUN = frozenset(
    {
        "posterior",
        "sample_stats",
        "warmup_posterior",
        "warmup_sample_stats",
        "unconstrained_posterior",
        "warmup_unconstrained_posterior",
    }
)
"""Groups that carry the attributes of the run."""


class DimensionedArray(NamedTuple):
    """An array with the names of its axes."""

    dims: tuple[str, ...]
    values: Any

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.values, dtype)


class LabelledArrays(Record, eq=False):
    """Labelled arrays without xarray: what it tells of itself has the names that a data set has for it.

    Parameters
    ----------
    data_vars : mapping of str to DimensionedArray
        Arrays by name.
    labels : mapping of str to ndarray
        Along each dimension, by its name.
    """

    data_vars: Mapping[str, DimensionedArray]
    labels: Mapping[str, npt.NDArray[np.generic]]
    attrs: Mapping[str, object]

    @property
    def sizes(self) -> dict[str, int]:
        """Lengths of dimensions."""
        return {name: len(labels) for name, labels in self.labels.items()}

    def dataset(self) -> xarray.Dataset:
        """The same as a data set of xarray, with these very arrays."""
        import xarray

        variables = {
            name: (dims, lazily(values) if isinstance(values, Deferred) else values)
            for name, (dims, values) in self.data_vars.items()
        }
        return xarray.Dataset(variables, coords=self.labels, attrs=dict(self.attrs))


def prepare() -> None:
    """Begin to load xarray beside what the caller does next, such as compiling; it takes 0.3 s once.

    What is being translated for the compiler goes first, so that the compiler has work meanwhile.
    """
    if "xarray" not in sys.modules:
        WORKSHOP.begin_behind("xarray", _load)


def _load() -> None:
    # What fails here fails again where xarray is imported to be used, or the process is about to end.
    # It makes a hundred thousand objects that stay, which the collector would walk through several times.
    with contextlib.suppress(Exception), collection_paused():
        importlib.import_module("xarray")


def tree_of(
    groups: Mapping[str, Arrays],
    coords: Coordinates | None = None,
    dims: Dimensions | None = None,
    attributes: Attributes | None = None,
    kept: Collection[str] = (),
) -> xarray.DataTree:
    """A tree with a group for each of the given dictionaries of arrays; empty ones have none.

    Arrays have the axes (chain, draw, ...), but those of observed and constant data only their own.

    Raises ShapeError if dimensions do not fit an array, or an array does not fit the labels.
    """
    import xarray

    return xarray.DataTree(children=nodes(labelled(groups, coords, dims, attributes, kept)))


def nodes(groups: Mapping[str, LabelledArrays]) -> dict[str, xarray.DataTree]:
    """Each group as a tree by itself: children of another."""
    import xarray

    return {name: xarray.DataTree(group.dataset()) for name, group in groups.items()}


def labelled(
    groups: Mapping[str, Arrays],
    coords: Coordinates | None = None,
    dims: Dimensions | None = None,
    attributes: Attributes | None = None,
    kept: Collection[str] = (),
) -> dict[str, LabelledArrays]:
    """Groups of any name, each by itself and without xarray; the rest is as in `tree_of`."""
    origin = origin_of_now()
    return {
        name: group_of(
            arrays,
            coords,
            dims,
            origin | storable(attributes if attributes is not None and name in OF_THE_RUN else {}),
            SAMPLE_DIMENSIONS if name not in WITHOUT_DRAWS else (),
            name,
        )
        for name, arrays in groups.items()
        if arrays or name in kept
    }


def dataset(
    arrays: Arrays,
    coords: Coordinates | None,
    dims: Dimensions | None,
    attributes: Mapping[str, object],
    sample_dimensions: tuple[str, ...],
    group: str,
) -> xarray.Dataset:
    """One group as a data set of xarray: see `group_of`."""
    return group_of(arrays, coords, dims, attributes, sample_dimensions, group).dataset()


def group_of(
    arrays: Arrays,
    coords: Coordinates | None,
    dims: Dimensions | None,
    attributes: Mapping[str, object],
    sample_dimensions: tuple[str, ...],
    group: str,
) -> LabelledArrays:
    """One group: variables with their dimensions, and the labels of every dimension that occurs."""
    known = {name: labels for name, labels in (coords or {}).items() if labels is not None}
    labels: dict[str, npt.NDArray[np.generic]] = {}
    owner: dict[str, str] = {}
    variables: dict[str, DimensionedArray] = {}
    for name, values in arrays.items():
        array = values if isinstance(values, Deferred) else np.asarray(values)
        names = dimensions(name, array.shape, (dims or {}).get(name, ()), sample_dimensions, group)
        variables[name] = DimensionedArray(names, array)
        for dimension, length in zip(names, array.shape, strict=True):
            if dimension not in labels:
                labels[dimension] = label_array(known[dimension]) if dimension in known else np.arange(length)
                owner[dimension] = "its labels" if dimension in known else repr(name)
            if len(labels[dimension]) != length:
                raise ShapeError(
                    f"{name!r} in group {group!r} has length {length} along {dimension!r}, but "
                    f"{owner[dimension]} {'have' if dimension in known else 'has'} {len(labels[dimension])}"
                )
    return LabelledArrays(variables, labels, attributes)


def dimensions(
    name: str,
    shape: tuple[int, ...],
    given: Sequence[str | None],
    sample_dimensions: tuple[str, ...],
    group: str,
) -> tuple[str, ...]:
    """Names of all axes of a variable."""
    own = len(shape) - len(sample_dimensions)
    if own < 0:
        raise ShapeError(f"{name!r} in group {group!r} needs the axes {sample_dimensions} first; its shape is {shape}")
    if len(given) > own:
        raise ShapeError(f"{name!r} in group {group!r} has {own} axes of its own, but the dimensions {given}")
    names = list(sample_dimensions)
    unnamed = 0
    for axis in range(own):
        chosen = given[axis] if axis < len(given) else None
        if chosen is None:
            chosen = f"{name}_dim_{unnamed}"
            unnamed += 1
        names.append(chosen)
    if len(set(names)) < len(names):
        raise ShapeError(f"{name!r} in group {group!r} has one dimension twice: {names}")
    return tuple(names)


def label_array(labels: npt.ArrayLike) -> npt.NDArray[np.generic]:
    """Labels along one dimension; tuples stay single labels."""
    if isinstance(labels, Sequence) and any(isinstance(label, tuple) for label in labels):
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return array
    return np.asarray(labels)


def stored_labels(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels as every file format takes them: what is neither number, text nor date becomes text, and stays distinct.

    So are dates with a time zone, periods, intervals, tuples, fractions, and numbers of more than 64 bits.
    """
    if labels.dtype.kind == "S":
        return np.array([label.decode("utf-8", "backslashreplace") for label in labels.tolist()])
    if labels.dtype.kind != "O":
        return labels
    known = labels.tolist()
    if all(isinstance(label, str) for label in known):
        return labels
    if all(isinstance(label, dt.datetime) and label.tzinfo is None for label in known):
        return np.asarray(known, "datetime64[us]")
    # pandas from 3 on makes NaN of a None among texts: a tree that xarray has made has the same labels then.
    words = ["None" if isinstance(label, float) and label != label else str(label) for label in known]
    if len(set(words)) < len(set(map(repr, known))):
        words = list(map(repr, known))
    return np.array(words, dtype=object)


def storable_tree(tree: xarray.DataTree) -> xarray.DataTree:
    """A tree whose labels every file format takes: see `stored_labels`."""
    import xarray

    groups: dict[str, xarray.Dataset] = {}
    for node in tree.subtree:
        data = node.to_dataset(inherit=False)
        odd = {
            name: (values.dims, stored_labels(values.values))
            for name, values in data.coords.items()
            if values.ndim == 1 and (values.dtype.kind == "S" or values.dtype == object)
        }
        groups[node.path] = data.drop_vars(list(odd)).assign_coords(odd) if odd else data
    return xarray.DataTree.from_dict(groups, name=tree.name)


def origin_of_now() -> dict[str, object]:
    """Attributes of every group: when it was made and by what."""
    version = str(getattr(sys.modules["consilience"], "__version__", "unknown"))
    return {
        "created_at": dt.datetime.now(dt.UTC).isoformat(),
        "creation_library": "consilience",
        "creation_library_version": version,
        "creation_library_language": "Python",
        "inference_library": "consilience",
        "inference_library_version": version,
    }


def storable(attributes: Attributes) -> dict[str, object]:
    """Attributes as file formats take them: text, numbers, arrays of numbers.

    Truth values become 0 and 1, everything else text; an attribute that is None is left out.
    """
    result: dict[str, object] = {}
    for name, value in attributes.items():
        if value is None:
            continue
        if isinstance(value, bool | np.bool_):
            result[name] = int(value)
        elif isinstance(value, str | int | float | np.number):
            result[name] = value
        elif isinstance(value, list | tuple | np.ndarray):
            array = np.asarray(value)
            result[name] = array if array.dtype.kind in "iuf" else ", ".join(map(str, value))
        else:
            result[name] = str(value)
    return result
