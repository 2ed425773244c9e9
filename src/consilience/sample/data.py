"""Values of a model's data, by name, as results keep them."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.backends.pickling import duplicate
from consilience.ir import dimension as dims
from consilience.ir import topological
from consilience.ir.leaves import stays
from consilience.model.minibatch import has_batches
from consilience.model.model import Model
from consilience.model.observation import slot_values

Array = npt.NDArray[Any]


class ModelAsBegun:
    """A model with the data of one moment, whatever `set_data` makes of them afterwards; called, it gives it.

    The model itself as long as its data are the same, a copy of it afterwards.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._data = {slot: contexts.DEFAULT.versioned(slot) for slot in model.data_slots()}
        self._coordinates = model.coordinates.copy()
        self._copy: Model | None = None

    def __call__(self) -> Model:
        """The model with these data."""
        same = self._coordinates.labels() == self.model.coords and all(
            contexts.DEFAULT.versioned(slot)[1] == version for slot, (_, version) in self._data.items()
        )
        if self._copy is None and not same:
            made, slots, coordinates = duplicate((self.model, list(self._data), self._coordinates))
            contexts.DEFAULT.set_all(dict(zip(slots, (value for value, _ in self._data.values()), strict=True)))
            made.coordinates, self._copy = coordinates, made
        return self.model if self._copy is None else self._copy


def constant_data(model: Model) -> dict[str, Array]:
    """Present values of the model's data by name, but for outcomes that do not fit the length of the predictors.

    Copies that their owner may change, as the model's own may not; large data that lie read-only in place stay there.
    """
    slots, values, _, _ = slot_values(model, drawn=True)
    known = dict(zip(slots, values, strict=True))
    mine = {name: known[slot] for name, slot in model.data.items() if slot in known}
    return {name: array if stays(array, array.dtype) else array.copy() for name, array in mine.items()}


def observed_data(model: Model) -> dict[str, Array]:
    """Observed values by variable; left out where they do not fit the present data's lengths, or are random rows."""
    slots, values, _, lengths = slot_values(model, drawn=True)
    known = dict(zip(slots, values, strict=True))
    moved = model.coordinates.moved()
    result = {}
    for variable in model.observed:
        if has_batches([variable.data]):
            continue
        used = set(topological([variable.data]))
        if any(slot in used and slot not in known for slot in model.data_slots()):
            continue
        (array,) = reference.evaluate([variable.data], {s: v for s, v in known.items() if s in used})
        axes = zip(model.dims_of.get(variable.name, ()), array.shape, strict=False)
        if any(dim in moved and model.coordinates.current_length(dim) != length for dim, length in axes if dim):
            continue
        if array.shape == tuple(dims.substitute(n, lengths) for n in variable.node.static_shape):
            result[variable.name] = array
    return result
