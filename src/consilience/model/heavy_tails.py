"""Variables with heavy tails in coordinates in which these are light: y with x = middle + width sinh y.

A tail that falls as a power of x falls exponentially in y. Each side has its own map: where data cut one tail off, sinh
would make a wall of it. Draws enter, which variables have such tails, and the model in these coordinates, leave.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from consilience.distributions.mathematics import arcsinh, log, maximum, minimum, sinh, softplus, where
from consilience.distributions.transforms.transform import Transform
from consilience.ir import Node, constant
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt
from consilience.model.model import Model
from consilience.model.reparametrization import heavy_priors
from consilience.model.variables import ModelVariables
from consilience.record import replace

Floats = npt.NDArray[np.float64]
FAR: Final = 6.0  # times 1 sd, beyond which half a percent of the draws of light tails never lie; 2.6 of a normal
ALSO: Final = 4.0  # from which on a side has a map of its own, where another one is heavy
QUANTILES: Final = (0.005, 0.1587, 0.5, 0.8413, 0.995)


class Asinh(Transform):
    """The line to itself: z = (x - middle) / width becomes y = arcsinh z beyond the middle where a tail is heavy.

    y is z elsewhere; both meet with equal first and second derivatives. `below`, `above`: whether the tail on this side
    is heavy, bool.
    """

    name: ClassVar[str] = "asinh"
    middle: Node
    width: Node
    below: Node
    above: Node

    def to_line(self, value: Node) -> Node:
        z = (value - self.middle) / self.width
        low, high = minimum(z, 0.0), maximum(z, 0.0)
        return where(self.below, arcsinh(low), low) + where(self.above, arcsinh(high), high)

    def from_line(self, unconstrained: Node) -> Node:
        low, high = minimum(unconstrained, 0.0), maximum(unconstrained, 0.0)
        return self.middle + self.width * (where(self.below, sinh(low), low) + where(self.above, sinh(high), high))

    def log_jacobian_determinant(self, unconstrained: Node) -> Node:
        low, high = minimum(unconstrained, 0.0), maximum(unconstrained, 0.0)
        return log(self.width) + where(self.below, _log_cosh(low), 0.0) + where(self.above, _log_cosh(high), 0.0)


def _log_cosh(y: Node) -> Node:
    return softplus(2.0 * y) - y - math.log(2.0)


def reach(draws: Floats) -> tuple[Floats, Floats]:
    """How many standard deviations of a normal core half a percent of the draws (draw, …) lie below and above, (…).

    0 where nobody can tell.
    """
    low, left, middle, right, high = np.quantile(draws, QUANTILES, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = (middle - low) / (middle - left), (high - middle) / (right - middle)
    below, above = (np.where(np.isfinite(side), side, 0.0) for side in sides)
    return below, above


def suited(model: ModelVariables, draws: Mapping[str, Any], besides: Sequence[str] = ()) -> dict[str, Any]:
    """For `rewritten`, middle, width and heavy sides of the variables with an element whose draws have heavy tails.

    `draws`: of all free variables, (chain, draw, …) by name. `besides`: names of variables that have other coordinates.
    Returns: four lists for each variable, of its shape.
    """
    chosen = {}
    for name in heavy_priors(model):
        array = np.asarray(draws[name])
        flat = array.reshape(-1, *array.shape[2:])
        below, above = reach(flat)
        if name in besides or not (np.fmax(below, above) > FAR).any():
            continue
        _, left, middle, right, _ = np.quantile(flat, QUANTILES, axis=0)
        width = np.minimum(right - middle, middle - left)
        if (width > 0).all():
            chosen[name] = [part.tolist() for part in (middle, width, below > ALSO, above > ALSO)]
    return chosen


def rewritten(model: Model, chosen: Mapping[str, Any]) -> Model:
    """The same model, of which samplers move the chosen variables in such coordinates."""
    with without_sources():
        made = Rebuilt(model, {}, set()).model()
        for place, variable in enumerate(made.free):
            if variable.name in chosen:
                middle, width, below, above = (np.asarray(part) for part in chosen[variable.name])
                numbers = (constant(part, variable.node.dtype) for part in (middle, width))
                sides = (constant(part.astype(bool)) for part in (below, above))
                made.free[place] = replace(variable, sampled=Asinh(*numbers, *sides))
    return made
