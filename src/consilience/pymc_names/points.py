"""Points of a model as vectors, as `pymc.blocking` has them.

In: a dictionary of arrays. Out: one vector that knows its parts, and back. Outside: `Model.log_density`, whose vectors
are those of the sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["Compose", "DictToArrayBijection", "PointType", "RaveledVars", "StatsDict", "StatsType"]

T = TypeVar("T")
PointType: TypeAlias = dict[str, npt.NDArray[Any]]
StatsDict: TypeAlias = dict[str, Any]
StatsType: TypeAlias = list[StatsDict]


class RaveledVars(NamedTuple):
    """A vector, and the name, shape, size and dtype of each of the variables joined in it."""

    data: npt.NDArray[Any]
    point_map_info: tuple[tuple[str, tuple[int, ...], int, np.dtype[Any]], ...]


class Compose(Generic[T]):
    """`fa` after `fb`; can be pickled where both can."""

    def __init__(self, fa: Callable[[PointType], T], fb: Callable[[RaveledVars], PointType]) -> None:
        self.fa = fa
        self.fb = fb

    def __call__(self, x: RaveledVars) -> T:
        return self.fa(self.fb(x))


class _Back:
    def __init__(self, start_point: Mapping[str, npt.NDArray[Any]] | None) -> None:
        self.start_point = start_point

    def __call__(self, array: RaveledVars) -> PointType:
        return DictToArrayBijection.rmap(array, self.start_point)


class DictToArrayBijection:
    """The map between dictionaries of arrays and vectors."""

    @staticmethod
    def map(var_dict: Mapping[str, npt.NDArray[Any]]) -> RaveledVars:
        """All arrays flattened and joined, in the order of the dictionary."""
        arrays = {name: np.asarray(value) for name, value in var_dict.items()}
        joined = np.concatenate([a.ravel() for a in arrays.values()]) if arrays else np.zeros(0)
        return RaveledVars(joined, tuple((name, a.shape, a.size, a.dtype) for name, a in arrays.items()))

    @staticmethod
    def rmap(array: RaveledVars, start_point: Mapping[str, npt.NDArray[Any]] | None = None) -> PointType:
        """The arrays by name; those of `start_point` that the vector does not hold are there, too."""
        point = dict(start_point or {})
        begin = 0
        for name, shape, size, dtype in array.point_map_info:
            point[name] = array.data[begin : begin + size].reshape(shape).astype(dtype)
            begin += size
        return point

    @classmethod
    def mapf(cls, f: Callable[[PointType], T], start_point: Mapping[str, npt.NDArray[Any]] | None = None) -> Compose[T]:
        """The function of a dictionary as one of a vector."""
        return Compose(f, _Back(start_point))
