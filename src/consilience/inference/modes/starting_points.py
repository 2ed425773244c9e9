"""Where chains begin if a log density has several regions: in each that counts, the more chains the more mass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consilience.errors import SamplingError
from consilience.inference.density import LogDensity
from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.regions import Regions, regions_above
from consilience.record import Record

SPREAD: Final = 2.0  # so that chains begin further apart than draws lie
SHRINKING: Final = (1.0, 0.75, 0.5, 0.25)  # of the spread, until a point belongs to the region
BUDGET: Final = 500  # evaluations per chain
PURPOSE: Final = 1  # of the random numbers


class Starts(Record, eq=False):
    """Where chains begin.

    `points`: float64[chains, dimension]. `regions`: number of the region each begins in, int64[chains]; -1: the point
    given for it was kept.
    """

    points: Floats
    regions: NDArray[np.int64]


def chains_per_region(shares: Sequence[float], chains: int) -> list[int]:
    """Chains for regions with these shares of the mass: one each, in order, then to the one that lacks most."""
    total = sum(shares)
    counts = [1 if k < chains else 0 for k in range(len(shares))]
    for _ in range(chains - sum(counts)):
        lacking = [share / total * chains - count for share, count in zip(shares, counts, strict=True)]
        counts[lacking.index(max(lacking))] += 1
    return counts


def starting_points(
    target: LogDensity, found: Regions, points: ArrayLike, *, seed: int, threads: int = 1, spread: float = SPREAD
) -> Starts:
    """A starting point per chain, spread over the regions that hold more than 0.5 % of the mass.

    The first chain of a region begins where a draw of the mode's normal lies, for from further out it may leave a small
    region at once; the others begin `spread` times as far out. Where one of several regions holds so much, all begin
    there, whatever the lesser ones attract. Coordinates in which regions do not differ stay as they are given. So do
    all where there is one region, for its mode may lie far from the mass, or none is known to count; but for the last,
    which begins aside where such a place was found.

    `points`: where chains would begin otherwise, float64[chains, dimension]. `seed`: of the random numbers, any
    integer. `spread`: width of the normals that points are drawn from, in deviations of the mode's. Raises
    SamplingError for points of another shape.
    """
    given = np.array(points, np.float64)
    if given.ndim != 2 or given.shape[1] != target.dimension:
        raise SamplingError(f"`points` needs shape (chains, {target.dimension}), got {given.shape}.")
    chains = len(given)
    kept = Starts(given, np.full(chains, -1))
    substantial = [k for k, region in enumerate(found.regions) if region.substantial]
    if not found.several:
        if found.aside is not None and chains > 1:
            given[-1] = found.aside
        return kept
    counts = chains_per_region([found.regions[k].share for k in substantial], chains)
    regions = np.repeat(np.array(substantial), counts)
    block = found.regions[0].block
    modes = np.stack([found.regions[k].mode for k in regions])[:, block]
    normals = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), PURPOSE])).standard_normal(modes.shape)
    widths = np.full(chains, spread)
    widths[np.unique(regions, return_index=True)[1]] = 1.0
    moves = widths[:, None] * np.stack([found.regions[k].within @ z for k, z in zip(regions, normals, strict=True)])
    with Evaluations(target, BUDGET * chains, threads) as evaluations:
        tried = np.tile(given, (len(SHRINKING), 1))
        tried[:, block] = np.concatenate([modes + factor * moves for factor in SHRINKING])
        usable = regions_above(evaluations, found, tried) == np.tile(regions, len(SHRINKING))
        usable &= np.isfinite(evaluations.gradients(tried)).all(1)
    for chain in range(chains):
        candidates = range(chain, len(tried), chains)
        if fitting := [k for k in candidates if usable[k]]:
            given[chain] = tried[fitting[0]]
            kept.regions[chain] = regions[chain]
    return kept
