"""Arrays whose values are computed when they are looked at: a function of chains and draws enters, what xarray
treats as any other array leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Places = npt.NDArray[np.int64]
ALL = (slice(None), slice(None))
LARGE: Final = 64 * 2**20


class Deferred:
    """An array (chain, draw, …) that is not there yet.

    `compute`: values for some chains and some draws, given by their positions: (chain, draw, …).

    Values are kept once all of them have been asked for. Of an array of more than `LARGE` bytes a part of what there is
    in each draw is computed some draws at a time, and never kept: the whole may be more than the memory holds.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], compute: Callable[[Places, Places], Array]
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.compute = compute
        self._values: Array | None = None

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(self.part(ALL), dtype)

    def part(self, key: tuple[Any, ...]) -> Array:
        """Values at an outer index: one integer, slice or array of positions per axis."""
        full = (*key, *(slice(None),) * (len(self.shape) - len(key)))
        if self._values is not None:
            return outer(self._values, full)
        chains, draws = np.arange(self.shape[0])[full[0]], np.arange(self.shape[1])[full[1]]
        if (
            math.prod(self.shape) * self.dtype.itemsize > LARGE
            and np.size(draws)
            and not _whole(full[2:], self.shape[2:])
        ):
            return self._some(chains, draws, full[2:])
        values = self.compute(np.atleast_1d(chains), np.atleast_1d(draws)).astype(self.dtype, copy=False)
        in_order = all(np.array_equal(p, np.arange(n)) for p, n in zip((chains, draws), self.shape, strict=False))
        if in_order and np.ndim(chains) == np.ndim(draws) == 1:
            self._values = values
        # These chains and draws were computed and no others; an integer still makes its axis vanish.
        taken = tuple(slice(None) if np.ndim(places) else 0 for places in (chains, draws))
        return outer(values, (*taken, *full[2:]))

    def _some(self, chains: Any, draws: Any, rest: tuple[Any, ...]) -> Array:
        """Some elements of each draw."""
        own, places = np.atleast_1d(chains), np.atleast_1d(draws)
        size = max(1, LARGE // (len(own) * math.prod(self.shape[2:]) * self.dtype.itemsize))
        found: Array | None = None
        for here in (slice(begin, begin + size) for begin in range(0, len(places), size)):
            part = outer(self.compute(own, places[here]), (*ALL, *rest))
            if found is None:
                found = np.empty((len(own), len(places), *part.shape[2:]), self.dtype)
            found[:, here] = part
        assert found is not None
        return outer(found, tuple(slice(None) if np.ndim(p) else 0 for p in (chains, draws)))


def _whole(key: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Whether an outer index takes everything."""
    return all(isinstance(k, slice) and len(range(n)[k]) == n for k, n in zip(key, shape, strict=True))


def outer(values: Array, key: tuple[Any, ...]) -> Array:
    """Values at an index per axis, the axes independent of each other; integers make axes vanish."""
    for axis in reversed(range(len(key))):
        values = values[(slice(None),) * axis + (key[axis],)]
    return values


def lazily(deferred: Deferred) -> Any:
    """The array in the form in which xarray leaves it alone until it is looked at."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Lazy(BackendArray):
        """xarray's side of a deferred array."""

        computed = True

        def __init__(self) -> None:
            self.shape = deferred.shape
            self.dtype = deferred.dtype

        def __getitem__(self, key: Any) -> Any:
            support = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, self.shape, support, deferred.part)

        def __reduce__(self) -> Any:
            return indexing.as_indexable, (np.asarray(deferred),)

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            return self  # its values never change

    return indexing.LazilyIndexedArray(Lazy())
