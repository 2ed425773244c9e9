"""The density that is to be approximated: of all free variables of a model, or of some given the others.

A model, the chosen variables and where the others stay in; a compiled density with batches of evaluations out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import ModelError
from consilience.inference.density import LogDensity
from consilience.inference.modes.evaluations import Evaluations
from consilience.ir import Node
from consilience.ir.arithmetic import plain
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model, modelcontext
from consilience.model.starting_point import starting_position, starting_positions
from consilience.model.trees import refuse_trees
from consilience.model.variables import FreeVariable

Floats = npt.NDArray[np.float64]
Variables = Node | str | Sequence[Node | str] | None
UNLIMITED: Final = 2**62  # evaluations


class TargetDensity:
    """The log density over the coordinates of the chosen variables.

    `density`: of the whole model. `start`: the whole position that is begun from, float64[coordinates of the model].
    `places`: of the chosen coordinates in it, int64[dimension]. `local`: the log density over them.
    """

    def __init__(
        self,
        model: Model | None,
        variables: Variables = None,
        initvals: Mapping[str, Any] | None = None,
        *,
        jacobian: bool,
        seed: int,
        batches: bool = False,
        gradients: bool = True,
    ) -> None:
        owner = modelcontext(model)
        self.model = owner
        self.density: ModelDensity = model_density(owner, jacobian=jacobian, batches=batches)
        self.seed, self.initvals = seed, initvals
        chosen = _chosen(owner, variables)
        refuse_trees(owner, "an optimizer or approximation", [v.name for v in chosen])
        whole = [v for v in chosen if not v.continuous]
        if whole:
            names = ", ".join(f"`{v.name}`" for v in whole)
            data = (
                "or give it data"
                if batches
                else "give it data, or leave it where it is by naming the others in `vars=`"
            )
            raise ModelError(
                f"{names} is discrete, and an approximation moves along gradients; sum it out with `pm.marginalize`, "
                f"{data}."
            )
        if self.density.without_gradient and gradients:
            raise ModelError(f"an approximation needs gradients: {self.density.without_gradient}")
        layout = self.density.layout
        self.start = starting_position(owner, layout, self.density.lengths, initvals, seed)
        own = {v.name for v in chosen}
        stretches = [s for s in layout.stretches if s.variable.name in own]
        self.names = [s.variable.name for s in stretches]
        self.local: LogDensity = self.density
        self.places = np.arange(layout.dimension)
        if self.density.without_gradient:
            self.places = np.concatenate([self.places[s.slice] for s in stretches])
        elif len(stretches) < len(layout.stretches):
            part = self.density.restricted(self.names, "gradient")
            self.local, self.places = part, part.places
        if not len(self.places):
            raise ModelError("the variables have no elements, so there is nothing to find.")

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.places)

    def evaluations(self, rows: int = 1) -> Evaluations:
        """Batches of evaluations, on as many threads as there are rows and processors."""
        threads = max(1, min(rows, os.cpu_count() or 1))
        return Evaluations(self.local, UNLIMITED, threads, position=self.start)

    def logp(self, point: Floats) -> float:
        """Log density at one point, -inf where it has none, without the help of gradients."""
        return self.density(self.whole(point[None])[0])[0]

    def starts(self, count: int, width: float) -> Floats:
        """The start and points up to `width` from it, float64[count, dimension], where the density is finite.

        Raises InitialPointError: that names the variable at fault.
        """
        own = starting_positions(self.density, 1, self.seed, self.initvals, jitter=False)
        if count == 1:
            return own[:, self.places]
        others = starting_positions(self.density, count - 1, self.seed, self.initvals, width=width)
        if len(self.places) < self.density.dimension:
            others = np.array([self.whole(row[self.places][None])[0] for row in others])
            finite = [np.isfinite(self.density(row)[0]) for row in others]
            others = others[finite]
        return np.concatenate([own, others])[:, self.places]

    def whole(self, points: Floats) -> Floats:
        """Points of all coordinates, float64[rows, coordinates of the model]."""
        full = np.repeat(self.start[None], len(points), axis=0)
        full[:, self.places] = points
        return full

    def coordinate(self, index: int) -> str:
        """The name of a coordinate, for messages."""
        return self.density.layout.coordinate(int(self.places[index]))


def _chosen(model: Model, variables: Variables) -> list[FreeVariable]:
    if variables is None:
        return list(model.free)
    variables = plain(variables)
    listed = [variables] if isinstance(variables, Node | str) else [plain(one) for one in variables]
    known = {key: v for v in model.free for key in (v.name, v.node, v.value)}
    unknown = [v for v in listed if v not in known]
    if unknown or not listed:
        wrong = getattr(unknown[0], "name", unknown[0]) if unknown else "nothing"
        raise ModelError(f"`vars` names {wrong!r}; the free variables are {[v.name for v in model.free]}.")
    own = {known[v].name for v in listed}
    return [v for v in model.free if v.name in own]
