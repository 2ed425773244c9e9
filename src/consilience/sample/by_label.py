"""Draws of a trace beside the labels that a model has by now: a model and a trace in, draws by label out.

Elements of known labels keep their draws wherever they stand; which labels are new is told, and drawn elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError
from consilience.model.extension import Partly
from consilience.model.model import Model
from consilience.record import Record
from consilience.sample.given import in_model_order, other_labels, variables_of

Array = npt.NDArray[Any]


class ByLabel(Record):
    """Where the labels of a model's dimensions are in a trace.

    `places`: per dimension with other labels: of each label its place in the trace, -1 for a new one. `new`: per
    dimension the labels that the trace has not. `dims`: of the model's variables.
    """

    places: dict[str, npt.NDArray[np.intp]]
    new: dict[str, list[Any]]
    dims: dict[str, tuple[str | None, ...]]

    @classmethod
    def of(cls, model: Model, trace: Any) -> ByLabel:
        """ModelError for a trace that has one label twice."""
        places, new = {}, {}
        for dim, (index, wanted) in other_labels(model, in_model_order(model, variables_of(trace))).items():
            if not index.is_unique:
                raise ModelError(f"the trace has the label {index[index.duplicated()][0]!r} of `{dim}` twice.")
            places[dim] = index.get_indexer(wanted)
            new[dim] = [label for label, place in zip(wanted, places[dim], strict=True) if place < 0]
        followed = following(model, trace)
        return cls(places, new, {n: dims for n, dims in model.named_vars_to_dims.items() if n not in followed})

    def arranged(self, name: str, array: Array, axes: int = 0) -> Array:
        """Values of a variable behind some leading axes by the model's labels; anything for new ones."""
        for axis, dim in enumerate(self.dims.get(name, ()), start=axes):
            if dim in self.places:
                array = np.take(array, np.maximum(self.places[dim], 0), axis=axis)
        return array

    def partly(self, name: str, shape: tuple[int, ...]) -> Partly | None:
        """Which elements of a variable have draws; None for all."""
        own = self.dims.get(name, ())
        axes = tuple(axis for axis, dim in enumerate(own) if dim is not None and self.new.get(dim))
        there = np.ones(shape, bool)
        for axis in axes:
            there[(slice(None),) * axis + (self.places[str(own[axis])] < 0,)] = False
        return Partly(there, axes) if axes else None

    def lacking(self, name: str) -> str:
        """The new labels of a variable, in words; empty if there are none."""
        dims = [dim for dim in self.dims.get(name, ()) if dim is not None and self.new.get(dim)]
        return " and ".join(f"{_listed(self.new[dim])} of `{dim}`" for dim in dims)

    def differs(self, name: str, before: Array, now: Array) -> bool:
        """Whether data have changed where labels are known; labels of nothing are no change."""
        if any(dim in self.places for dim in self.dims.get(name, ())):
            for axis, dim in enumerate(self.dims[name]):
                if dim in self.places:
                    there = np.flatnonzero(self.places[dim] >= 0)
                    before, now = np.take(before, self.places[dim][there], axis), np.take(now, there, axis)
        return not np.array_equal(before, now, equal_nan=now.dtype.kind == "f")


def following(model: Model, trace: Any) -> set[str]:
    """Variables whose values a trace gives at any rows of data: sums of trees."""
    if not any(v.has_trees for v in model.free):
        return set()
    from consilience.sample.bart import follows_data, written  # few models have trees

    return {v.name for v in model.free if v.has_trees and follows_data(v) and written(trace, v.name) is not None}


def _listed(labels: list[Any]) -> str:
    shown = ", ".join(map(repr, labels[:5]))
    return f"{shown} and {len(labels) - 5} more" if len(labels) > 5 else shown
