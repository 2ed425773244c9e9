"""A density whose rows lie with workers: the model with a few of its rows and the shards in, a density out.

Terms that do not depend on rows are computed here, sums over rows of the others by the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.callback import Callback
from consilience.backends.registry import Bound
from consilience.cluster import Shards
from consilience.errors import SamplingError
from consilience.ir import dimension as dims
from consilience.ir import topological
from consilience.ir.leaves import stays
from consilience.model.blocks import Needs, Restricted
from consilience.model.log_density import ModelDensity, model_density, of_terms
from consilience.model.model import Model, set_data
from consilience.model.observation import slot_values
from consilience.model.variables import ModelVariables

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class RowsOfModel:
    """On a worker: what the terms of rows give for some rows, as a function of positions."""

    def __init__(self, model: Model, numbers: Sequence[int]) -> None:
        self.model, self.numbers = model, tuple(numbers)

    def __copy__(self) -> RowsOfModel:
        """With a model of its own, as data are exchanged in it."""
        return RowsOfModel(self.model.copy(), self.numbers)

    def __call__(self, values: dict[str, Array], first: int) -> Any:
        """What gives value and gradient of these rows, and the bytes that it keeps, without those of mapped files.

        It raises what is wrong with rows, and where they begin.
        """
        model = self.model
        coords = {}
        for name, array in values.items():
            for dim in (model.named_vars_to_dims.get(name) or ())[:1]:
                if dim is not None and model.coords.get(dim) is not None:
                    coords[dim] = range(first, first + len(array))
        try:
            set_data(values, model, coords=coords or None)
            bound = of_terms(model, self.numbers)
        except Exception as error:
            error.add_note(f"in the shard of the rows from {first:,} on")
            raise

        def evaluated(position: Array) -> tuple[float, Array]:
            (value, slope), status = bound.map([(position[None], True)], 1)
            return (-np.inf if status else float(value[0])), slope[0]

        return evaluated, sum(array.nbytes for array in values.values() if not stays(array, array.dtype))


class _Sums(Callback):
    """Log density and gradient as machine code has them, from here and from workers."""

    def __init__(self, density: ModelDensity, here: Bound, sums: Any) -> None:
        inputs, outputs, _ = density.program()
        super().__init__(inputs, outputs, density.lengths)
        self._here, self._sums = here, sums

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        position = np.array(arrays[0], float)
        (value, slope), status = self._here.map([(position[None], True)], 1)
        total, slopes = (-np.inf if status else float(value[0])), slope[0].copy()
        for own, gradient in self._sums(position):
            total += own
            slopes += gradient
        return [np.array(total), slopes]


class ShardedDensity(ModelDensity):
    """The log density of a model whose rows lie with workers.

    sums   of the shards, by position
    """

    def __init__(self, density: ModelDensity, shards: Shards) -> None:
        names = [source.name for source in shards.sources]
        model = density.model
        assert isinstance(model, Model)
        if lacking := [name for name in names if name not in model.data]:
            raise SamplingError(
                f"shards were given for `{lacking[0]}`, but the model's data are "
                f"{', '.join(f'`{name}`' for name in model.data) or 'none'}: hold a few rows in `pm.Data`."
            )
        if density.simulated or density.without_gradient:
            told = density.without_gradient or f"{', '.join(f'`{name}`' for name in density.simulated)} are simulated"
            raise SamplingError(f"shards need a log density with a gradient, but {told}; sample without shards.")
        numbers = density.row_terms(names)
        self.sums = shards.over(RowsOfModel(model, numbers), "the model")
        others = [i for i in range(len(density.graph())) if i not in set(numbers)]
        bound = _Sums(density, density.of_terms(others), self.sums)
        super().__init__(model, density._programs, bound, density._data)
        self.chunks = 0
        self.elsewhere = dict.fromkeys(names, self.sums.length)

    def likewise(self, model: ModelVariables) -> ModelDensity:
        return ShardedDensity(model_density(model), self.sums.shards)

    def rows_elsewhere(self) -> dict[str, str]:
        whole = self.sums.described()
        first, behind = self.sums.parts[0]
        return {**{f"data `{name}`": whole[name] for name in whole}, "rows of a shard": str(behind - first)}

    def notes(self) -> list[str]:
        """What is to be said of shards."""
        found, count, workers = [], len(self.sums.parts), self.sums.workers
        if count < workers:
            found.append(
                f"{self.sums.length:,} rows are {count} shard{'s' * (count > 1)}, fewer than the {workers} workers, of "
                "which some have nothing to do; `pm.cluster.shards(rows=…)` makes more of them."
            )
        model, slots = self.model, {self.model.data[name] for name in self.elsewhere}
        derived = model.named_deterministics
        if own := [name for name, node in derived.items() if slots.intersection(topological([node]))]:
            held = len(slot_values(model)[1][list(model.data).index(next(iter(self.elsewhere)))])
            found.append(
                f"{', '.join(f'`{name}`' for name in own)}: of the {held:,} rows that the model itself holds, not of "
                "those on shards."
            )
        return found

    def restricted(self, names: Sequence[str], needs: Needs) -> Restricted:
        raise SamplingError("rows on shards need NUTS for all variables: step methods of some would need them here.")

    def tempered(self, positions: Floats, seeds: npt.NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
        raise SamplingError("a density with rows on shards can't be tempered.")

    def tempered_slopes(self, positions: Floats, power: float) -> tuple[Floats, Floats, Floats]:
        raise SamplingError("a density with rows on shards can't be tempered.")


def divided(
    density: ModelDensity, executor: Any, extras: Sequence[str] = (), summed: Sequence[str] = ()
) -> tuple[ModelDensity, Any]:
    """The density and what moves its chains: with shards these stay here, and rows lie with workers.

    raises   SamplingError for `extras`, values of the likelihood that are to be computed where rows are not, and for
             variables with a value per row that are `summed` out and drawn again afterwards
    """
    if not isinstance(executor, Shards):
        return density, executor
    of_rows = {n for source in executor.sources if (slot := density.model.data.get(source.name)) is not None
               for n in dims.atoms(slot.static_shape[0])}  # fmt: skip
    for variable in density.model.marginalized:
        if variable.name in summed and any(of_rows.intersection(dims.atoms(n)) for n in variable.node.static_shape):
            raise SamplingError(
                f"`{variable.name}` has a value per row, which would be drawn where the rows are not; "
                f"`pm.marginalize(model, [{variable.name!r}])` sums it out without drawing it."
            )
    if extras:
        raise SamplingError(f"`idata_kwargs={{{extras[0]!r}: True}}` needs the rows here, and they are on shards.")
    return ShardedDensity(density, executor), None
