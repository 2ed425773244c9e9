"""Values at every draw, some draws at a time: results larger than memory, on the disk or on workers.

Draws that need not be read yet and a function of some of them in; arrays, or a data set that is read when it is looked
at, out. Values do not depend on how draws are cut.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.cluster.workers import Workers
from consilience.errors import ConsilienceWarning, warn
from consilience.model.model import Model
from consilience.model.predictive import log_likelihood, predict
from consilience.output.storage.datatree import DimensionedArray, group_of, origin_of_now
from consilience.output.storage.deferred import Deferred
from consilience.record import replace
from consilience.sample.given import Given

Array = npt.NDArray[Any]
Place = tuple[tuple[int, ...], int, int]
PART: Final = 32 * 2**20
"""Bytes of values of a part, unless one draw has more."""
IN_FLIGHT: Final = 512 * 2**20
"""Bytes of values of all parts that are on their way at once."""


class Values:
    """Variables of a model at some draws.

    kind       "densities" of variables at what they are, or "draws" of them
    settings   of `predict`
    """

    def __init__(self, model: Model, names: Sequence[str], kind: str, settings: Mapping[str, Any]) -> None:
        self.model, self.names, self.kind, self.settings = model, list(names), kind, dict(settings)

    def __copy__(self) -> Values:
        return Values(self.model.copy(), self.names, self.kind, self.settings)

    def at(self, given: Mapping[str, Array], count: int, first: int) -> dict[str, Array]:
        """Arrays (count, …) by name; `first` is the number of the first draw among all."""
        if self.kind == "densities":
            return log_likelihood(self.model, self.names, given, count)
        return predict(self.model, self.names, given, count, first=first, **self.settings)


def _part(values: Values, item: tuple[Place, int, Mapping[str, Array], int]) -> tuple[dict[str, Array], list[str]]:
    _, count, given, first = item
    if threading.current_thread() is not threading.main_thread():  # filters are the whole process's
        return values.at(given, count, first), []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConsilienceWarning)
        found = values.at(given, count, first)
    return found, [str(one.message) for one in told if isinstance(one.message, ConsilienceWarning)]


def in_parts(
    values: Values,
    draws: Given,
    group: str,
    dims: Mapping[str, Sequence[str | None]] | None,
    *,
    store: str | os.PathLike[str] | None,
    executor: Any,
    arranged: Callable[[str, Array], Array] = lambda name, array: array,
) -> Any:
    """Values at all draws as a data set.

    draws      as `Given.of(…, whole=False)` has them
    dims       dimensions of variables; None: those of the model, as far as values have them
    store      a zarr store where they are written; None for memory
    executor   where they are computed; None: here, one part after the other
    arranged   what is made of given values before they are used
    raises     StorageError where the store can't be written, or has the group; what workers raise
    """
    model, last = values.model, draws.shape[-1]

    def given(place: Place) -> dict[str, Array]:
        lead, begin, end = place
        return {name: arranged(name, one.part(lead, slice(begin, end))) for name, one in draws.values.items()}

    start: Place = ((0,) * (len(draws.shape) - 1), 0, 1)
    probe, _ = _part(values, (start, 1, given(start), 0))
    each, told = sum(array.nbytes for array in probe.values()), list[str]()
    with contextlib.nullcontext() if executor is None else Workers(executor) as workers:
        most = PART if workers is None else min(PART, IN_FLIGHT // (2 * workers.count))
        size = max(1, min(last, most // max(1, each)))
        arrays = {name: Deferred((*draws.shape, *one.shape[1:]), one.dtype, _never) for name, one in probe.items()}
        if dims is None:
            rank = len(draws.shape)
            dims = {n: model.dims_of[n][: len(arrays[n].shape) - rank] for n in arrays if n in model.dims_of}
        labelled = group_of(arrays, {**model.coords, **draws.labels}, dims, origin_of_now(), draws.axes, group)

        def computed() -> Iterator[tuple[Place, dict[str, Array]]]:
            items = _items(draws.shape, size, given)
            if workers is None:
                for item in items:
                    yield item[0], _noted(_part(values, item), told)
                return
            shared = workers.share(values, "the model")
            for task in workers.each(_part, items, shared):
                if task is not None:
                    yield task.item[0], _noted(task.result(), told)

        if store is None:
            whole = {name: np.empty(one.shape, one.dtype) for name, one in arrays.items()}
            for (lead, begin, end), found in computed():
                for name, array in found.items():
                    whole[name][lead][begin:end] = array
            variables = {name: DimensionedArray(one.dims, whole[name]) for name, one in labelled.data_vars.items()}
            made: Any = replace(labelled, data_vars=variables).dataset()
        else:
            from consilience.output.storage.zarr_parts import GroupInParts  # few results are written so

            with GroupInParts(store, group, labelled, len(draws.shape), size) as written:
                for (lead, begin, _), found in computed():
                    written.write(lead, begin, found)
                made = written.finish()
    if told:
        others = f" {len(told) - 1} more parts of the draws say the like." if len(told) > 1 else ""
        warn(f"{told[0]}{others}")
    return made


def _items(
    shape: tuple[int, ...], size: int, given: Callable[[Place], dict[str, Array]]
) -> Iterator[tuple[Place, int, dict[str, Array], int]]:
    last = shape[-1]
    for number, lead in enumerate(np.ndindex(shape[:-1])):
        for begin in range(0, last, size):
            end = min(begin + size, last)
            place = (tuple(lead), begin, end)
            yield place, end - begin, given(place), number * last + begin


def _noted(found: tuple[dict[str, Array], list[str]], told: list[str]) -> dict[str, Array]:
    told.extend(found[1])
    return found[0]


def _never(chains: Any, draws: Any) -> Array:
    raise AssertionError("these are shapes and types alone")
