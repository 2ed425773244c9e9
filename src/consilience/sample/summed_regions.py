"""Normals to jump between where discrete variables are summed out: one for each combination of the values they had.

The model that was written and the density that chains move in enter. Normals of combinations may lie within each other
(a coefficient that is included, or follows its prior): no search for modes finds these, and no trajectory leads from a
narrow one to a wide one.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.modes.normals import RegionNormals
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.record import replace
from consilience.run import Monitored
from consilience.sample.discrete_regions import DiscreteRegions


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
