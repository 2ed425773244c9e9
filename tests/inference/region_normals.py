"""Normals of separate regions, from their modes, factors and shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.normals import RegionNormals

Floats = NDArray[np.float64]


def normals_of(modes: Sequence[Floats], factors: Sequence[Floats], shares: Sequence[float]) -> RegionNormals:
    """Regions that differ in all coordinates, none of them discrete."""
    dimension = len(modes[0])
    return RegionNormals(
        places=np.arange(dimension),
        modes=np.stack(modes),
        factors=np.stack(factors),
        shares=np.array(shares, np.float64),
        whole=np.zeros(0, np.int64),
        values=np.zeros((len(modes), 0)),
    )
