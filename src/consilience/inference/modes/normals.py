"""The normals that stand for the separate regions of a density: what jumps between these are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.record import Record

Floats = NDArray[np.float64]


class RegionNormals(Record, eq=False):
    """Regions that differ in some coordinates only: there a normal stands for each, all others stay as they are.

    `places`: coordinates in which regions differ, int64 (place,).
    `modes`: float64 (region, place).
    `factors`: Cholesky factors of the covariances, float64 (region, place, place).
    `shares`: of the mass, positive; they need not add up to 1, float64 (region,).
    `whole`: further coordinates, which have one value in all of a region: discrete ones, int64 (whole,).
    `values`: these values, float64 (region, whole).
    """

    places: NDArray[np.int64]
    modes: Floats
    factors: Floats
    shares: Floats
    whole: NDArray[np.int64]
    values: Floats

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.shares)
