"""Points recorded one after the other as chains of draws, as `pymc.backends` has them.

In: points, value by value. Out: arrays by name, which `pm.to_inference_data` takes. Outside: runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError, StorageError
from consilience.model.model import modelcontext

if TYPE_CHECKING:
    from consilience.model.model import Model

__all__ = ["MultiTrace", "NDArray"]


class NDArray:
    """One chain in memory: a point of value variables is recorded with the variables that follow from it.

    Parameters
    ----------
    name : str, optional
        Of no influence.
    model : Model, optional
        The model around by default.
    """

    def __init__(self, name: str | None = None, model: Model | None = None) -> None:
        self.name = name
        outputs = modelcontext(model).unobserved_value_vars
        self.varnames = [str(node.name) for node in outputs]
        self._function = modelcontext(model).compile_fn(outputs, inputs=modelcontext(model).value_vars)
        self._draws: list[Sequence[npt.ArrayLike]] = []
        self._length: int | None = None
        self.chain = 0

    def setup(self, draws: int, chain: int, sampler_vars: object = None) -> None:
        """Make room for a number of draws, the next ones of the chain with this number."""
        del sampler_vars
        self._length, self.chain = len(self._draws) + draws, chain

    def record(
        self, point: Mapping[str, npt.ArrayLike], sampler_stats: object = None, *, in_warmup: bool = False
    ) -> None:
        """Keep a point of the value variables; statistics of a sampler are not kept, nor are draws of its warmup.

        Raises
        ------
        StorageError
            Before `setup`, and where there is no room left.
        """
        del sampler_stats
        if self._length is None or len(self._draws) >= self._length:
            raise StorageError(f"there is room for {self._length or 0} draws; `setup(draws, chain)` makes more.")
        if not in_warmup:
            self._draws.append(self._function(point))

    def close(self) -> None:
        """Nothing: draws are there at once."""

    def __len__(self) -> int:
        return len(self._draws)

    def get_values(self, varname: str, burn: int = 0, thin: int = 1) -> npt.NDArray[Any]:
        """The draws of a variable (draw, …), of which the first `burn` are left out and then each `thin`-th taken."""
        place = self.varnames.index(varname)
        return np.asarray([draw[place] for draw in self._draws])[burn::thin]


class MultiTrace(Mapping[str, npt.NDArray[Any]]):
    """Several chains: arrays (chain, draw, …) by the names of variables."""

    def __init__(self, straces: Sequence[NDArray]) -> None:
        lengths = [len(trace) for trace in straces]
        if not lengths or len(set(lengths)) > 1:
            raise ShapeError(f"chains of one length are needed, got {lengths or 'none'}.")
        self._traces = list(straces)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._traces[0].varnames:
            raise KeyError(name)
        return np.stack([trace.get_values(name) for trace in self._traces])

    def __iter__(self) -> Iterator[str]:
        return iter(self._traces[0].varnames)

    def __len__(self) -> int:
        return len(self._traces[0].varnames)

    @property
    def nchains(self) -> int:
        """Number of chains."""
        return len(self._traces)
