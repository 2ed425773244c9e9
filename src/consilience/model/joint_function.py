"""The log density and its gradient as one compiled function of chosen variables, the others being kept.

A model and a choice of its variables in, a function of points or of flat vectors out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.elimination.addends import total
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, tensor_input
from consilience.ir.side_tables import without_sources
from consilience.model.layout import point_arrays
from consilience.model.starting_point import initial_point
from consilience.model.value_graphs import Chosen, differentiable, factors
from consilience.model.variables import ModelVariables
from consilience.ops.shape import concatenate, reshape
from consilience.planning import before_slopes
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

Array = npt.NDArray[Any]


class LogpDlogp:
    """A function of the chosen variables' unconstrained values that gives (log density, flat gradient).

    Attributes
    ----------
    f
        The function beneath, of all values by position and, if tempered, of the weight.
    """

    def __init__(
        self, model: ModelVariables, chosen: Chosen, tempered: bool, start: Mapping[str, Any] | None, flat: bool
    ) -> None:
        moved = differentiable(model, chosen)
        names = [str(v.name) for v in moved]
        point = initial_point(model, 0)
        if start is not None:
            point |= point_arrays(model.placed_point(start), {name: np.shape(value) for name, value in point.items()})
        self._shapes = {name: point[name].shape for name in names}
        self._extra = {name: value for name, value in point.items() if name not in names}
        self._weights = np.ones(int(tempered))
        self._flat = flat
        self._placed = model.placed_point
        weight = tensor_input("float64", (), "weight")
        values = [v.value for v in model.free]
        with without_sources():
            if tempered:
                free = [v.node for v in model.free]
                rest = [*(v.node for v in model.observed), *model.named_potentials.values()]
                cost = total(factors(model, free)) + weight * total(factors(model, rest))
            else:
                cost = total(factors(model))
            (cost,) = before_slopes(simplify([cost], keep=moved), moved)
            slope = concatenate([reshape(part, (-1,)) for part in gradient(cost, moved)])
        self._order = [str(v.name) for v in values]
        given: list[Node] = [*values, weight] if tempered else values
        self.f = function(given, [cost, slope], name="logp and dlogp", on_unused_input="ignore")

    def set_weights(self, values: Sequence[float] | Array) -> None:
        """Exchange the weights of a tempered density: one, of data and potentials."""
        array = np.asarray(values, float)
        if array.shape != self._weights.shape:
            raise ShapeError(f"the weights need shape {self._weights.shape}, got {array.shape}.")
        self._weights = array

    def set_extra_values(self, extra_vars: Mapping[str, Any]) -> None:
        """Exchange the values of variables that a call does not give; a point may have the others as well."""
        missing = [name for name in self._extra if name not in extra_vars]
        if missing:
            raise ModelError(f"the point has no value for {', '.join(f'`{name}`' for name in missing)}.")
        given = self._placed(extra_vars)
        self._extra = {name: np.asarray(given[name]) for name in self._extra}

    def get_extra_values(self) -> dict[str, Array]:
        """The values of variables that a call does not give."""
        return dict(self._extra)

    def __call__(self, grad_vars: Any, *, extra_vars: Mapping[str, Any] | None = None) -> tuple[Array, Array]:
        """The log density and the gradient, flat, in the order of the variables.

        Parameters
        ----------
        grad_vars : object
            A flat vector, a value per variable, or a point by name.
        """
        if extra_vars is not None:
            self.set_extra_values(extra_vars)
        if isinstance(grad_vars, Mapping):
            arrays = point_arrays(self._placed(grad_vars), self._shapes, self._extra)
        elif self._flat:
            arrays = self._parts(np.asarray(getattr(grad_vars, "data", grad_vars), float))
        else:
            arrays = point_arrays(self._placed(dict(zip(self._shapes, grad_vars, strict=True))), self._shapes)
        known = {**self._extra, **arrays}
        value, slope = self.f(*(known[name] for name in self._order), *self._weights)
        return value, slope

    def _parts(self, vector: Array) -> dict[str, Array]:
        """A flat vector cut into the variables."""
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        if vector.shape != (sum(sizes),):
            raise ShapeError(f"the vector needs shape {(sum(sizes),)}, got {vector.shape}.")
        ends = np.cumsum([0, *sizes])
        pairs = zip(self._shapes.items(), pairwise(ends), strict=True)
        return {name: vector[first:last].reshape(shape) for (name, shape), (first, last) in pairs}
