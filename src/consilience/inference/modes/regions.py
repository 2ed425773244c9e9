"""The separate regions of a log density, and to which of them a point belongs.

A point belongs to the region to whose mode an ascent from there leads.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.ascent import scaled_by, whitened_by
from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.prominence import Linkage
from consilience.record import Record

NEGLIGIBLE: Final = 0.005  # share of the mass
LIGHTEST: Final = 1e-4  # share of the mass of regions that may count together with others
ASCENT_EVALUATIONS: Final = 30
TOLERANCE: Final = 1e-2
LONGEST: Final = 4.0  # step of an ascent, in deviations


class ModalRegion(Record, eq=False):
    """One region of a log density.

    `mode`: highest point found, float64[dimension].
    `logp`: log density there.
    `laplace`: log mass by the curvature at the mode; NaN without a positive definite one. Where modes differ in a block
        only, that of the block, with the others at the mode.
    `importance`: log mass by importance sampling; NaN where there is one region, or laplace is NaN or less than a ten
        thousandth of the heaviest, or the block has more than 100 coordinates.
    `share`: of the mass of all regions whose mass is known, between 0 and 1; NaN where it is not.
    `uncertain`: whether both log masses differ by more than 1.
    `positive_definite`: whether the negative Hessian is, at the mode.
    `converged`: whether g' H^-1 g < 0.01 there.
    `hits`: ascents that ended in the region.
    `block`: coordinates in which regions differ, the same for all of them, int64[block]; all where there are at most
        100.
    `within`: Cholesky factor of the inverse of the negative Hessian in the block, float64[block, block], or None.
    `widths`: deviations in the other coordinates, which are the same in all regions, float64[dimension]; in the block
        they are those of the starting points.
    """

    mode: Floats
    logp: float
    laplace: float
    importance: float
    share: float
    uncertain: bool
    positive_definite: bool
    converged: bool
    hits: int
    block: NDArray[np.int64]
    within: Floats | None
    widths: Floats

    @property
    def substantial(self) -> bool:
        """Whether it has a converged mode and more than 0.5 % of the mass: chains should begin there and come there."""
        return self.converged and self.positive_definite and self.share > NEGLIGIBLE

    @property
    def factor(self) -> Floats | None:
        """Cholesky factor of the covariance of all coordinates, float64[dimension, dimension], or None.

        Coordinates outside of the block count as independent, for they are the same in all regions.
        """
        if self.within is None or len(self.block) == len(self.mode):
            return self.within
        factor = np.diag(self.widths)
        factor[np.ix_(self.block, self.block)] = self.within
        return factor

    @property
    def deviations(self) -> Floats:
        """Of all coordinates, float64[dimension]; of a region that has a factor."""
        assert self.within is not None
        widths = self.widths.copy()
        widths[self.block] = np.sqrt((self.within**2).sum(1))
        return widths

    def whitened(self, points: Floats) -> Floats:
        """How far points (…, dimension) lie from the mode, within the block and in its deviations, (…, block)."""
        assert self.within is not None  # a region that counts has one
        moves = (points[..., self.block] - self.mode[self.block]).reshape(-1, len(self.block))
        return np.asarray(np.linalg.solve(self.within, moves.T).T.reshape(*points.shape[:-1], -1))


class Regions(Record, eq=False):
    """The regions found, by falling share, those of unknown mass last; falling log density decides between equals.

    `regions`: at least one, unless nothing was looked for or no starting point had a finite log density; `statement`
        says so.
    `ascents`: from how many starting points.
    `gradients`: evaluations of the log density with its gradient.
    `complete`: whether the budget allowed 10 ascents of either stage at least, and all comparisons of their ends.
    `statement`: what was done and what may be concluded, in a sentence or two.
    `unmet`: with 95 % probability, the next ascent leads to a region not yet met in fewer cases than this share; see
        `coverage`. NaN without ascents.
    aside : ndarray, optional
        A high point far outside of the heaviest mode that a ridge leads to: where a chain should begin if there is one
        region. None: not known.
    """

    regions: tuple[ModalRegion, ...]
    ascents: int
    gradients: int
    complete: bool
    statement: str
    unmet: float = np.nan
    aside: Floats | None = None

    @property
    def several(self) -> bool:
        """Whether there are separate regions, one of which counts: only then is it known where draws should lie."""
        return len(self.regions) > 1 and any(region.substantial for region in self.regions)

    @property
    def substantial(self) -> tuple[ModalRegion, ...]:
        """The regions that count, the heaviest first."""
        return tuple(region for region in self.regions if region.substantial)

    @property
    def together(self) -> tuple[ModalRegion, ...]:
        """Those that count alone, and lighter ones if these hold more than 0.5 % of the mass together."""
        known = [region for region in self.regions if region.converged and region.positive_definite]
        light = [region for region in known if LIGHTEST < region.share <= NEGLIGIBLE]
        return self.substantial + (tuple(light) if sum(region.share for region in light) > NEGLIGIBLE else ())

    def at_the_heaviest(self, points: Floats) -> Floats:
        """Points (…, dimension) with the coordinates in which regions do not differ moved to the heaviest mode."""
        heaviest = self.substantial[0]
        moved = np.broadcast_to(heaviest.mode, points.shape).copy()
        moved[..., heaviest.block] = points[..., heaviest.block]
        return moved


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
    coordinates = whitened_by(heaviest.within) if whole else scaled_by(heaviest.deviations)
    ends = evaluations.ascend(
        points[:rows], coordinates, np.full(rows, LONGEST), heaviest.mode, ASCENT_EVALUATIONS, TOLERANCE
    )
    linkage = Linkage(evaluations)
    modes = linkage.add(np.stack([r.mode for r in found.regions]), np.array([r.logp for r in found.regions]))
    for point, region in zip(modes, found.regions, strict=True):
        if region.within is not None:
            whitening = np.linalg.inv(region.within) if whole else 1.0 / region.deviations
            linkage.mode_with(int(point), np.asarray(whitening, np.float64))
        linkage.polished(int(point), int(point))
    landed = np.full(len(points), -1)
    numbers = linkage.add(ends.points, ends.logps)
    linkage.link(coordinates, probing=False)
    of_region = {int(linkage.labels[point]): k for k, point in reversed(list(enumerate(modes)))}
    landed[np.flatnonzero(np.isfinite(ends.logps))] = [of_region.get(int(linkage.labels[p]), -1) for p in numbers]
    return landed
