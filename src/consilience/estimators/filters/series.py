"""Data of many times: arrays, series with labels, gaps.

What a user gives in; arrays with time as first axis, where they have gaps, and labels of times out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, ModelError, ShapeError
from consilience.estimators.filters.definition import DATUM, Definition
from consilience.ir import numpy_dtype
from consilience.model.data import given_data
from consilience.record import Record

Arrays = dict[str, npt.NDArray[Any]]


class Series(Record, eq=False):
    """Observed values by name with time as first axis, 0 for what is missing; where they are there; labels of times.

    `labels`: None where there are none.
    """

    data: Arrays
    seen: Arrays
    length: int
    labels: npt.NDArray[Any] | None

    def with_gaps(self) -> Arrays:
        """The data, of floats and NaN where some are missing."""
        return {
            n: a if self.seen[n].all() else np.where(self.seen[n], a.astype(float), np.nan)
            for n, a in self.data.items()
        }


def series_of(given: Any, definition: Definition, times: Any = None) -> Series:
    """Data that fit a definition; NaN and masked elements are missing.

    Raises ModelError for missing names and for events of which a part is missing. Raises ShapeError. Raises DtypeError.
    """
    leaves = definition.data
    named = dict(given) if isinstance(given, Mapping) else {DATUM: given}
    if set(named) != set(leaves):
        raise ModelError(f"`observation` gives {', '.join(leaves)}, and the data are of {', '.join(map(str, named))}.")
    data, seen = {}, {}
    together = definition.missing_together()
    for name, leaf in leaves.items():
        given = given_data(name, named[name])
        values = given.values if given.masked else given.numbers()
        if values.ndim == 0 or values.shape[1:] != leaf.static_shape or not len(values):
            wanted = ", ".join(["time", *map(str, leaf.static_shape)])
            raise ShapeError(
                f"the data of `{name}` must have the shape ({wanted}) with at least one time, got {values.shape}."
            )
        here = np.ones(values.shape, bool) if given.missing is None else ~given.missing
        axes = tuple(range(values.ndim - together[name], values.ndim))
        if not np.array_equal(here.any(axes), here.all(axes)):
            raise ModelError(f"at some times a part of the vector `{name}` is missing; give all of it, or none.")
        filled = np.where(here, values, 0)
        typed = filled.astype(numpy_dtype(leaf.dtype))
        if leaf.dtype in ("int64", "int32") and not np.array_equal(typed, filled):
            raise DtypeError(f"the data of `{name}` must be whole numbers, as its distribution's.")
        data[name], seen[name] = typed, here
    lengths = {name: len(values) for name, values in data.items()}
    length = next(iter(lengths.values()))
    if set(lengths.values()) != {length}:
        raise ShapeError(f"all data need the same number of times, got {lengths}.")
    labels = _labels(next(iter(named.values()))) if times is None else np.asarray(times)
    if labels is not None and len(labels) != length:
        raise ShapeError(f"there are {len(labels)} labels of times for {length} times.")
    return Series(data, seen, length, labels)


def times_after(times: npt.NDArray[Any], steps: int) -> npt.NDArray[Any]:
    """Labels of the times that follow: by the last difference of numbers and dates, else counted on from the last."""
    if len(times) > 1 and times.dtype.kind in "iufM":
        found: npt.NDArray[Any] = times[-1] + (times[-1] - times[-2]) * np.arange(1, steps + 1)
        return found
    return np.arange(len(times), len(times) + steps)


def _labels(given: Any) -> npt.NDArray[Any] | None:
    """Those of pandas' series and tables and of xarray's arrays."""
    if hasattr(given, "iloc"):
        return np.asarray(given.index)
    dims = getattr(given, "dims", None)
    if dims and dims[0] in getattr(given, "coords", {}):
        return np.asarray(given.coords[dims[0]])
    return None
