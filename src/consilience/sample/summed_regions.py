"""Normals to jump between where discrete variables are summed out: one for each combination of the values they had.

The model that was written and the density that chains move in enter. Normals of combinations may lie within each other
(a coefficient that is included, or follows its prior): no search for modes finds these, and no trajectory leads from a
narrow one to a wide one.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.inference.modes.normals import RegionNormals
from consilience.model.blocks import values_of
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.record import replace
from consilience.run import Monitored
from consilience.sample.discrete_regions import DiscreteRegions

Floats = npt.NDArray[np.float64]
FEW: Final = 32  # combinations, up to which draws that pass are compared with all of them
PROMISED: Final = 400  # effective draws
ERRORS: Final = 4.0  # standard errors of them
ROUGH: Final = 0.25  # of a share times its complement, by which curvatures may be wrong


def few_combinations(written: Model) -> bool:
    """Whether the discrete variables of a model have so few combinations of values that all can be looked at."""
    values = 1.0
    for variable in written.free:
        if not variable.continuous:
            low, high = values_of(variable)
            values *= (high - low + 1.0) ** variable.size if variable.size else math.inf
    return values <= FEW


def contradicted(written: Model, normals: RegionNormals, draws: Floats) -> str:
    """In words, that the combination of which shares of the mass and of draws (chain, draw, coordinate) differ most.

    Empty where these differ by no more than the noise of as many draws as were asked for, and curvatures, explain. What
    belongs to a combination is told by the normals, so that its draws may lie among those of others.
    """
    flat = draws.reshape(-1, draws.shape[-1])[:, normals.places]
    levels = []
    for mode, factor, share in zip(normals.modes, normals.factors, normals.shares, strict=True):
        z = np.linalg.solve(factor, (flat - mode).T)
        levels.append(math.log(share) - np.log(np.diag(factor)).sum() - 0.5 * (z**2).sum(axis=0))
    logs = np.stack(levels)
    seen = np.exp(logs - np.logaddexp.reduce(logs)).mean(axis=1)
    known = normals.shares / normals.shares.sum()
    spread = known * (1.0 - known)
    excess = np.abs(seen - known) - ERRORS * np.sqrt(spread / PROMISED) - ROUGH * spread
    worst = int(np.argmax(excess))
    if not excess[worst] > 0.0:
        return ""
    listed = ", ".join(f"`{v.name}`" for v in written.free if not v.continuous)
    return (
        f"about {100.0 * known[worst]:.2g} % of the mass belongs to one combination of values of {listed}, and "
        f"{100.0 * seen[worst]:.2g} % of the draws: chains do not come and go between them often enough"
    )


def component_normals(
    written: Model, density: ModelDensity, monitored: Monitored, seed: int, threads: int
) -> RegionNormals | None:
    """The normals of the heaviest combinations; None where fewer than two are known, or coordinates are others."""
    whole = model_density(written)
    kept = [(s.key, s.size) for s in whole.layout.stretches if s.variable.continuous]
    if kept != [(s.key, s.size) for s in density.layout.stretches]:
        return None
    normals = DiscreteRegions(whole, monitored, seed, threads).found.normals()
    if normals is None:
        return None
    nowhere = np.zeros(0, np.int64)
    places = np.arange(density.dimension)
    return replace(normals, places=places, whole=nowhere, values=np.zeros((normals.count, 0)))
