"""To which region a point belongs: the one to whose mode an ascent from there leads."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.ascent import scaled_by, whitened_by
from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.prominence import Linkage
from consilience.inference.modes.search import ModalRegion, Regions

ASCENT_EVALUATIONS: Final = 30
TOLERANCE: Final = 1e-2
LONGEST: Final = 4.0  # step of an ascent, in deviations


def regions_above(evaluations: Evaluations, found: Regions, points: Floats) -> NDArray[np.int64]:
    """Number of the region each of the points belongs to, int64[points]; -1 for none, or beyond the budget.

    Ascents run in coordinates whitened by the heaviest region, of which there must be one with a known mass. They begin
    at its mode in the coordinates in which regions do not differ: how far draws lie out there says nothing of a region.
    """
    heaviest = found.substantial[0]
    assert heaviest.within is not None  # a region that counts has one
    points = found.at_the_heaviest(points)
    rows = evaluations.affordable(len(points), ASCENT_EVALUATIONS)
    whole = len(heaviest.block) == len(heaviest.mode)
    coordinates = whitened_by(heaviest.within) if whole else scaled_by(_deviations(heaviest))
    ends = evaluations.ascend(
        points[:rows], coordinates, np.full(rows, LONGEST), heaviest.mode, ASCENT_EVALUATIONS, TOLERANCE
    )
    linkage = Linkage(evaluations)
    modes = linkage.add(np.stack([r.mode for r in found.regions]), np.array([r.logp for r in found.regions]))
    for point, region in zip(modes, found.regions, strict=True):
        if region.within is not None:
            whitening = np.linalg.inv(region.within) if whole else 1.0 / _deviations(region)
            linkage.mode_with(int(point), np.asarray(whitening, np.float64))
        linkage.polished(int(point), int(point))
    landed = np.full(len(points), -1)
    numbers = linkage.add(ends.points, ends.logps)
    linkage.link(coordinates, probing=False)
    of_region = {int(linkage.labels[point]): k for k, point in reversed(list(enumerate(modes)))}
    landed[np.flatnonzero(np.isfinite(ends.logps))] = [of_region.get(int(linkage.labels[p]), -1) for p in numbers]
    return landed


def _deviations(region: ModalRegion) -> Floats:
    """Of all coordinates, float64[dimension]."""
    assert region.within is not None  # asked of such regions only
    widths = region.widths.copy()
    widths[region.block] = np.sqrt((region.within**2).sum(1))
    return widths
