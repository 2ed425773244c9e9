"""Which of the regions found before a run its draws have come to: draws ascend, and their ends belong to a region.

Draws taken at random show what share of them lies in a region; those nearest to a region of little mass are looked at
besides, for few of the random ones would lie there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consilience.errors import SamplingError
from consilience.inference.density import LogDensity
from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.regions import NEGLIGIBLE, ModalRegion, Regions, regions_above
from consilience.record import Record

MOST_DRAWS: Final = 4000  # of more, every second, third, ... is considered
RANDOM: Final = 200  # draws taken at random
NEAREST: Final = 20  # at most, per region
LIGHT_ONES: Final = 8  # regions that are looked at of those that count together only
ENOUGH: Final = 2  # ascents that have to end in a region
QUARTER: Final = 4  # a quarter of the nearest draws has to, for the random ones can be too few
BUDGET: Final = 20_000
MANY: Final = 0.05  # of the draws, in a region that has less than a tenth of that of the mass
PURPOSE: Final = 2  # of the random numbers


class Visits(Record, eq=False):
    """What draws have seen of the regions.

    `visited`: bool[regions]. `shares`: of the draws taken at random, float64[regions]; NaN if nothing was looked at.
    `elsewhere`: share of these draws that ascend to none of the regions. `gradients`: evaluations of the log density
    with its gradient.
    """

    visited: NDArray[np.bool_]
    shares: Floats
    elsewhere: float
    gradients: int

    def unvisited(self, found: Regions) -> tuple[ModalRegion, ...]:
        """The regions of more than 0.5 % of the mass that no draw came to: a run with such is not converged.

        Lighter ones, too, which hold more than that together, if draws came to none of them.
        """
        missed = tuple(r for r, seen in zip(found.regions, self.visited, strict=True) if r.substantial and not seen)
        light, visited = set(_light(found)), np.flatnonzero(self.visited)
        return missed if light.intersection(visited.tolist()) else missed + tuple(found.regions[k] for k in light)

    def overestimated(self, found: Regions) -> tuple[ModalRegion, float] | None:
        """A region of no more than 0.5 % of the mass in which more than 5 % of the draws lie, and how many do."""
        pairs = zip(found.regions, self.shares, strict=True)
        lesser = [(r, float(s)) for r, s in pairs if r.converged and r.share <= NEGLIGIBLE and not r.uncertain]
        region, share = max(lesser, key=lambda pair: pair[1], default=(None, 0.0))
        return None if region is None or not share > MANY else (region, share)


def visits(
    target: LogDensity,
    found: Regions,
    draws: ArrayLike,
    *,
    seed: int,
    budget: int = BUDGET,
    threads: int = 1,
    stop: NDArray[np.int64] | None = None,
) -> Visits:
    """Look where draws lie. Without several regions, one of which counts, nothing is evaluated; all are visited.

    `draws`: float64[..., dimension], of all chains.
    `seed`: of the choice of draws, any integer.
    `budget`: greatest number of evaluations.
    `stop`: int64[1]: once it is not 0, the ascents end.
    Raises SamplingError for draws of another dimension, or none. Raises Stopped where the ascents were.
    """
    points = np.asarray(draws, np.float64)
    if points.ndim < 2 or points.shape[-1] != target.dimension or not points.size:
        raise SamplingError(f"`draws` needs shape (..., {target.dimension}) and at least one draw, got {points.shape}.")
    points = points.reshape(-1, target.dimension)
    points = points[:: -(-len(points) // MOST_DRAWS)]
    count = len(found.regions)
    watched = [k for k, region in enumerate(found.regions) if region.substantial] + _light(found)
    if not found.several:
        return Visits(np.ones(count, bool), np.full(count, np.nan), np.nan, 0)
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), PURPOSE]))
    chosen = [generator.permutation(len(points))[:RANDOM]]
    chosen += [_nearest(points, found.regions[k]) for k in watched]
    looked_at, places = np.unique(np.concatenate(chosen), return_inverse=True)
    with Evaluations(target, budget, threads, stop) as evaluations:
        landed = regions_above(evaluations, found, points[looked_at])[places]
        spent = evaluations.spent
    at_random = landed[: len(chosen[0])]
    visited = np.array([np.sum(at_random == k) >= ENOUGH for k in range(count)])
    begin = len(chosen[0])
    for k, near in zip(watched, chosen[1:], strict=True):
        arrived = np.sum(landed[begin : begin + len(near)] == k)
        visited[k] |= arrived >= max(min(ENOUGH, len(near)), len(near) / QUARTER)
        begin += len(near)
    shares = np.array([np.mean(at_random == k) for k in range(count)])
    return Visits(visited, shares, float(np.mean(at_random < 0)), spent)


def _light(found: Regions) -> list[int]:
    """The heaviest regions of those that count together only."""
    together = found.together[len(found.substantial) :]
    return [k for k, region in enumerate(found.regions) if any(region is one for one in together)][:LIGHT_ONES]


def distinguishing_coordinates(region: ModalRegion, found: Regions, most: int = 3) -> list[int]:
    """The coordinates that tell a region from the others that count, or from lesser ones: by falling distance.

    The distance is that from the nearest other mode, in the larger of both deviations along the coordinate.
    """
    others = [other for other in found.regions if other.within is not None and other is not region]
    block = region.block
    apart = np.full(len(block), np.inf)
    for other in [one for one in others if one.substantial] or others:
        scale = np.maximum(other.deviations, region.deviations)[block]
        apart = np.minimum(apart, np.abs(other.mode - region.mode)[block] / scale)
    return [int(block[k]) for k in np.argsort(-apart, kind="stable")[:most]]


def _nearest(points: Floats, region: ModalRegion) -> NDArray[np.int64]:
    """The draws nearest to a mode, in its deviations: as many as would lie there, and no more than are needed."""
    wanted = int(np.clip(np.ceil(region.share * len(points)), ENOUGH, NEAREST))
    distances = np.linalg.norm(region.whitened(points), axis=-1)
    return np.argsort(distances, kind="stable")[:wanted]
