"""Points of a model as vectors, as `pymc.blocking` has them.

In: a dictionary of arrays. Out: one vector that knows its parts, and back. Outside: `Model.log_density`, whose vectors
are those of the sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from consilience.ir import Node
from consilience.model.starting_point import initial_point

if TYPE_CHECKING:
    from consilience.model.model import Model

__all__ = [
    "Compose", "DictToArrayBijection", "PointType", "RaveledVars", "StatsDict", "StatsType", "make_initial_point_fn",
]  # fmt: skip

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


def make_initial_point_fn(
    *,
    model: Model,
    overrides: Mapping[str | Node, Any] | None = None,
    jitter_rvs: Collection[Node] | None = None,
    default_strategy: str = "support_point",
    return_transformed: bool = True,
) -> Callable[[Any], PointType]:
    """A function of a seed that gives a starting value for each free variable, by name.

    `overrides`: starting values by name or variable, or "support_point" or "prior".
    `jitter_rvs`: variables whose unconstrained values get uniform noise from (-1, 1).
    `default_strategy`: "support_point" or "prior", for variables without a starting value.
    `return_transformed`: values on the unconstrained line, by its names (`tau_log__`), or those of the variables.
    Raises ValueError for another strategy; when it is called, what starting values raise elsewhere.
    """
    if default_strategy not in ("support_point", "prior"):
        raise ValueError(f"`default_strategy` must be 'support_point' or 'prior', got {default_strategy!r}.")
    wishes: dict[str, Any] = {str(v.name): default_strategy for v in model.free if v.initval is None}
    wishes |= {key if isinstance(key, str) else str(key.name): value for key, value in (overrides or {}).items()}
    moved = {str(model.rvs_to_values[rv].name) for rv in jitter_rvs or ()}

    def of_seed(seed: Any) -> PointType:
        rng = np.random.default_rng(seed)
        point = initial_point(model, int(rng.integers(2**31)), wishes)
        for name in moved:
            point[name] = point[name] + rng.uniform(-1, 1, point[name].shape).astype(point[name].dtype)
        if return_transformed:
            return point
        natural = model.compile_fn(model.replace_rvs_by_values(model.free_RVs), inputs=model.value_vars)(point)
        return {str(rv.name): np.asarray(value) for rv, value in zip(model.free_RVs, natural, strict=True)}

    return of_seed
