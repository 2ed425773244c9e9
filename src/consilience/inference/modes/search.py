"""The separate regions of a log density, found before any chain begins, with their modes and masses.

Two stages of ascents: from scales around a starting position, then from around the modes found, in coordinates in
which the heaviest of them is round. Where they end in several regions, a third goes on until it is unlikely that the
next ascent leads to another one. What is not found by them is not excluded: narrow modes in many dimensions are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consilience.errors import SamplingError
from consilience.inference.density import LogDensity
from consilience.inference.modes.ascent import LinearMap, scaled_by, whitened_by
from consilience.inference.modes.common_block import common_block, widths_at
from consilience.inference.modes.coverage import PROMISED, poisson_bound, unmet
from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.inference.modes.prominence import MASSLESS, Linkage
from consilience.inference.modes.region_mass import DRAWS, Curvature, curvature_at, importance, laplace
from consilience.inference.modes.regions import ModalRegion, Regions
from consilience.inference.modes.statement import statement

if TYPE_CHECKING:
    from consilience.inference.modes.lattices import Units

BUDGET: Final = 5_000
FIRST_ASCENTS, FIRST_SCALES, FIRST_EVALUATIONS = 40, (1.0, 3.0, 10.0), 60
FIRST_OTHERS: Final = 12  # starting points from elsewhere, where there are many coordinates
SECOND_ASCENTS, SECOND_SCALES, SECOND_EVALUATIONS = 100, (2.0, 4.0, 8.0, 24.0), 40
SECOND_ROUNDS: Final = 4
FEWEST_ASCENTS: Final = 10  # of either stage; with fewer, a search is not complete
SECOND_SHARE: Final = 8  # of the budget an eighth, after which rounds end
TOLERANCE: Final = 1e-3
POLISH_EVALUATIONS, FEWEST_POLISH_EVALUATIONS, POLISH_TOLERANCE = 200, 20, 1e-6
MOST_REGIONS: Final = 6  # whose curvature is looked at in one go
POLISHING_ROUNDS: Final = 4
LOW: Final = 20.0  # nats below the highest peak, from which on others are looked at only where there are no higher ones
MOST_CENTRES: Final = 3  # modes that ascents of the second stage begin around
THIRD_ASCENTS: Final = 40  # of a round
SEVERAL_ASCENTS: Final = round(poisson_bound(0) / PROMISED)  # that have to lead to no other region, if several count
FEW_REGIONS: Final = 2  # or there are more than so many of any mass
AGAIN: Final = 5  # a fifth of the further budget is added for each region that counts beyond the second,
MOST_ADDED: Final = 14  # so often at most
MOST_EXCHANGED: Final = 10  # coordinates, any two of which are exchanged in the highest mode
EXCHANGED_ASCENTS: Final = 6  # from the highest points that come of it
ASIDE, LEVEL = 5.0, 5.0  # deviations outside of the mode, and nats below it at most: a place where a chain may begin
MOST_STEPPED: Final = 12  # modes between which steps are looked at
MOST_DIMENSIONS: Final = 10_000  # beyond, ascents take seconds, and nothing is looked for
MANY: Final = 1000  # coordinates, of which ascents themselves take their time
FEWER_ASCENTS: Final = 10  # of the second stage then
MOST_WHOLE: Final = 100  # coordinates; of more, Hessians are those of the block in which modes differ
MOST_SAMPLED: Final = 100  # coordinates of a block, beyond which importance sampling knows less than curvatures do
CONVERGED: Final = 1e-2  # g' H g
DISAGREEMENT: Final = 1.0  # between both log masses, from which they are uncertain
LIGHT: Final = 0.002  # mass, of that of the heaviest, of regions that surely do not count


def find_regions(
    target: LogDensity,
    position: ArrayLike,
    *,
    seed: int,
    scale: ArrayLike = 1.0,
    budget: int = BUDGET,
    further: int = 0,
    others: Callable[[int], Floats] | None = None,
    own_units: Callable[[], Units] | None = None,
    begins: ArrayLike | None = None,
    threads: int = 1,
    stop: NDArray[np.int64] | None = None,
) -> Regions:
    """Look for separate regions of a log density; the result depends neither on threads nor on time.

    `target`: the log density.
    `position`: where it is finite; starting points lie around it, pulled to it where they are outside the support.
    `seed`: of the starting points and of importance sampling, any integer.
    `scale`: unit of the distances of starting points (they lie at 1, 3 and 10 of it), a number or one per coordinate.
    `budget`: greatest number of evaluations of log density and gradient; a quarter is for the first stage, which makes
        40 ascents at most. Few of these evaluations are needed where ascents converge soon.
    `further`: evaluations that may be made besides once ascents have ended in more than one region; a fifth
        more for each region that counts beyond the second, up to 14 of them, in up to 100 coordinates.
    `others`: gives so many starting points (point, coordinate), or fewer, such as draws of a prior: other ones each
        time. Asked for where there are more than 100 coordinates (moved one by one they leave what ties them together),
        and once ascents have ended in more than one region.
    `own_units`: makes what turns positions into the variables' own units; asked for once there are several regions,
        which may form a lattice in these.
    `begins`: starting points of the first stage besides its own, such as draws, float64[points, dimension].
    `threads`: at least 1.
    `stop`: int64[1]: once it is not 0, the search ends.
    Raises SamplingError for arguments of another shape or out of range. Raises Stopped where the search was.
    """
    centre = np.array(position, np.float64)
    if centre.shape != (target.dimension,):
        raise SamplingError(f"`position` needs shape ({target.dimension},), got {centre.shape}.")
    given = np.zeros((0, len(centre))) if begins is None else np.array(begins, np.float64)
    if given.ndim != 2 or given.shape[1] != target.dimension:
        raise SamplingError(f"`begins` needs shape (points, {target.dimension}), got {given.shape}.")
    scales = np.broadcast_to(np.asarray(scale, np.float64), centre.shape)
    if not (np.isfinite(scales).all() and (scales > 0.0).all()):
        raise SamplingError("`scale` needs positive, finite numbers.")
    if budget < 1 or threads < 1:
        raise SamplingError(f"`budget` and `threads` need to be at least 1, got {budget} and {threads}.")
    if further < 0:
        raise SamplingError(f"`further` needs to be at least 0, got {further}.")
    with Evaluations(target, budget, threads, stop) as evaluations:
        return _Search(evaluations, centre, scales, seed, further, others, own_units, given).run()


class _Search:
    """One search: the points it has, and the curvatures of their peaks.

    `whole`: whether Hessians are those of all coordinates. `widths`: of the coordinates, where they are not, at the
    first mode found at which ascents came to rest; None before. `at_rest`: whether they have at the point that the
    widths are those of.
    """

    def __init__(
        self,
        evaluations: Evaluations,
        centre: Floats,
        scales: Floats,
        seed: int,
        further: int,
        others: Callable[[int], Floats] | None,
        own_units: Callable[[], Units] | None,
        begins: Floats,
    ) -> None:
        self.evaluations = evaluations
        self.centre = centre
        self.scales = scales
        self.further = further
        self.each = further // AGAIN
        self.added = 0
        self.aside: Floats | None = None
        self.others = others
        self.own_units = own_units
        self.begins = begins
        self.whole = len(centre) <= MOST_WHOLE
        self.widths: Floats | None = None
        self.at_rest = False
        self.since = -1  # ascents that knew of nothing since a region was met that may count; -1: not asked for
        self.units: Units | None = None
        self.places = np.arange(len(centre))
        self.decrements: dict[int, float] = {}
        self.linkage = Linkage(evaluations)
        self.curvatures: dict[int, Curvature | None] = {}
        self.ascents = 0
        self.complete = True
        self.generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 0]))

    def run(self) -> Regions:
        if len(self.centre) > MOST_DIMENSIONS:
            self.complete = False
            return self.regions()
        self.first_stage()
        if len(self.linkage.logps):
            self.second_stage()
            self.exchanges()
            self.third_stage()
        if not self.whole:
            self.look_at_the_block()
        return self.regions()

    # -- stages ----------------------------------------------------------------------------------------------------

    def first_stage(self) -> None:
        """Ascents from around the starting position, in raw coordinates."""
        n = len(self.centre)
        most = min(FIRST_EVALUATIONS, max(1, self.evaluations.budget // 4))
        count = min(FIRST_ASCENTS, max(1, self.evaluations.budget // 4 // most))
        self.complete &= count >= FEWEST_ASCENTS
        widths = np.resize(FIRST_SCALES, count)
        begins = self.centre + widths[:, None] * self.scales * self.generator.standard_normal((count, n))
        self.ascend_from(begins, scaled_by(self.scales), 2.0 * widths, most)
        if given := self.evaluations.affordable(len(self.begins), most):
            self.ascend_from(self.begins[:given], scaled_by(self.scales), np.full(given, 2.0 * max(widths)), most)
        if not self.whole:
            self.from_others(FIRST_OTHERS, most)
        if not len(self.linkage.logps):
            return
        self.polish([int(np.argmax(self.linkage.logps))], self.coordinates())
        self.link()

    def second_stage(self) -> None:
        """Rounds of ascents from around the modes found so far, in coordinates whitened by the heaviest.

        They end when an eighth of the budget was spent on them, but not with one that found the second mode.
        """
        limit = self.evaluations.spent + self.evaluations.budget // SECOND_SHARE
        before = 0
        for number in range(SECOND_ROUNDS):
            modes = self.centres()
            # half as many evaluations are kept for what follows as ascents need at most
            wanted = SECOND_ASCENTS if len(self.centre) <= MANY else FEWER_ASCENTS
            count = self.evaluations.affordable(wanted, SECOND_EVALUATIONS * 3 // 2)
            if number == 0:
                self.complete &= count >= FEWEST_ASCENTS or not modes
            elif self.evaluations.spent >= limit and (len(modes) <= before or len(self.converged()) > 1):
                break
            if not count or not modes:
                break
            self.around(modes[:MOST_CENTRES], count)
            self.link()
            before = len(modes)

    def exchanges(self) -> None:
        """Ascents from the heaviest mode with two coordinates exchanged, as rates may change places (flip-flop)."""
        n, modes = len(self.centre), self.converged()
        if n not in range(2, MOST_EXCHANGED + 1) or not modes or not self.evaluations.affordable(1, n * n):
            return
        mode = self.linkage.positions[modes[0]]
        one, other = np.triu_indices(n, 1)
        begins = np.repeat(mode[None], len(one), axis=0)
        rows = np.arange(len(one))
        begins[rows, one], begins[rows, other] = mode[other], mode[one]
        heights = self.evaluations.at(begins)
        highest = [k for k in np.argsort(-heights, kind="stable") if np.isfinite(heights[k])][:EXCHANGED_ASCENTS]
        if count := self.evaluations.affordable(len(highest), SECOND_EVALUATIONS):
            longest = np.full(count, 2.0 * min(SECOND_SCALES))
            known = len(self.linkage.logps)
            self.ascend_from(begins[highest[:count]], self.coordinates(), longest, SECOND_EVALUATIONS)
            self.link()
            self.look_aside(known)

    def look_aside(self, known: int) -> None:
        """Find an end of the ascents since that no ridge falls to, though it lies far outside of the heaviest mode."""
        modes = self.converged()
        if not modes:  # an exchange led to where the density has no bound, and the ridge to it falls nowhere
            return
        mode = modes[0]
        curvature = self.curvatures[mode]
        assert curvature is not None  # a converged mode has one
        ends = np.arange(known, len(self.linkage.logps))
        apart = (self.linkage.positions[ends] - self.linkage.positions[mode]) @ curvature.whitening.T
        outside = (np.linalg.norm(apart, axis=1) > ASIDE) & (
            self.linkage.logps[ends] > self.linkage.logps[mode] - LEVEL
        )
        if outside.any():
            self.aside = self.linkage.positions[ends[outside][np.argmax(self.linkage.logps[ends[outside]])]].copy()

    def third_stage(self) -> None:
        """Where there are several regions, ascents until so many of starting points that know nothing of them lead to
        no other that may count, and what is known of them does not either.
        """
        before = 0
        while len(self.converged()) > 1:
            # where a density has no bound, or ascents take long, there is always another end that none came to before
            found = len(self.weighty())
            if found > before:
                self.since = 0
                self.allow_for(found)
            self.wanted = SEVERAL_ASCENTS if found > 1 or len(self.converged()) > FEW_REGIONS else THIRD_ASCENTS
            if before and self.since >= self.wanted:
                break
            before = max(before, found)
            modes = self.centres()
            kept = MOST_REGIONS * (DRAWS + 2 * min(len(self.centre), MOST_WHOLE))
            spare = max(0, self.evaluations.left - kept) // (SECOND_EVALUATIONS * 3 // 2)
            count = min(THIRD_ASCENTS, spare)
            if count < FEWEST_ASCENTS or not modes:
                break
            ascents = self.ascents
            self.independently(count // 2)
            self.since += self.ascents - ascents
            self.beyond(modes, count // 4)
            self.around(modes[: 2 * MOST_CENTRES], count // 4)
            self.link()

    def allow_for(self, found: int) -> None:
        """Raise the budget for so many regions that count: more of them take more comparisons, and longer runs."""
        if self.whole:  # elsewhere masses are not known, and ascents are dear
            added = min(max(0, found - FEW_REGIONS), MOST_ADDED)
            self.evaluations.budget += (added - self.added) * self.each
            self.added = max(added, self.added)

    def independently(self, count: int) -> None:
        """Ascents from so many starting points that do not depend on what is known: half of them from elsewhere."""
        count -= self.from_others(count // 2, SECOND_EVALUATIONS)
        widths = np.resize(FIRST_SCALES, count)
        begins = self.centre + widths[:, None] * self.scales * self.generator.standard_normal((count, len(self.centre)))
        self.ascend_from(begins, self.coordinates(), np.full(count, 2.0 * max(FIRST_SCALES)), SECOND_EVALUATIONS)

    def from_others(self, count: int, most: int) -> int:
        """Ascents from so many starting points that come from elsewhere; how many there were."""
        if self.others is None:
            return 0
        given = self.others(count)
        if len(given):
            self.ascend_from(given, self.coordinates(), np.full(len(given), 2.0 * max(FIRST_SCALES)), most)
        return len(given)

    def beyond(self, modes: list[int], count: int) -> None:
        """Ascents from where further modes may lie by those that are known."""
        # few searches come here
        from consilience.inference.modes.lattices import TRIED, SameUnits, candidates, promising

        weighty = set(self.weighty())
        chosen = [int(point) for point in self.generator.permutation(modes)]
        modes = sorted(chosen, key=lambda point: point not in weighty)[:MOST_STEPPED]
        if len(modes) < 2:
            return
        if self.units is None:
            self.units = SameUnits() if self.own_units is None else self.own_units()
        places = self.linkage.positions[modes]
        widths = np.stack([self.spread_at(point) for point in modes])
        elsewhere = np.zeros((0, len(self.centre))) if self.others is None else self.others(count)
        begins = candidates(places, elsewhere, self.units, TRIED * count, self.generator)
        begins = promising(self.evaluations, begins, places, widths, count)
        if len(begins):
            self.ascend_from(
                begins, self.coordinates(), np.full(len(begins), 2.0 * min(SECOND_SCALES)), SECOND_EVALUATIONS
            )

    def spread_at(self, point: int) -> Floats:
        """Deviations of the coordinates in a mode."""
        curvature = self.curvatures.get(point)
        if self.whole:
            assert curvature is not None  # centres have one
            return np.asarray(np.sqrt((curvature.factor**2).sum(axis=1)))
        return self.scales if self.widths is None else self.widths

    def around(self, modes: list[int], count: int) -> None:
        """Ascents from around these modes in turn."""
        widths = np.resize(SECOND_SCALES, count)
        normals = self.generator.standard_normal((count, len(self.centre)))
        begins = np.empty_like(normals)
        for k in range(count):
            point = modes[(k // len(SECOND_SCALES)) % len(modes)]
            begins[k] = self.linkage.positions[point] + widths[k] * self.deviations(point, normals[k])
        self.ascend_from(begins, self.coordinates(), 2.0 * widths, SECOND_EVALUATIONS)

    def deviations(self, point: int, normals: Floats) -> Floats:
        """Normal numbers in the deviations of a mode."""
        curvature = self.curvatures.get(point)
        if self.whole:
            assert curvature is not None  # centres have one
            return np.asarray(curvature.factor @ normals)
        return np.asarray((self.scales if self.widths is None else self.widths) * normals)

    def ascend_from(self, begins: Floats, coordinates: LinearMap, longest: Floats, most: int) -> None:
        """Ascents from these points."""
        ends = self.evaluations.ascend(begins, coordinates, longest, self.centre, most, TOLERANCE)
        self.linkage.add(ends.points, ends.logps, from_starts=True)
        self.ascents += len(begins)

    def link(self) -> None:
        """Regions, with the peaks polished."""
        self.polish_all(probing=False)
        self.linkage.link(self.coordinates())
        self.polish_all(probing=True)
        if len(self.converged()) > 1:
            self.evaluations.budget += self.further
            self.further = 0

    def polish_all(self, probing: bool) -> None:
        """Polish the high peaks of regions, which are found anew each time; with probes, they are known already."""
        for number in range(POLISHING_ROUNDS):
            if number or not probing:
                self.linkage.link(self.coordinates(), probing)
            if not (peaks := self.high()):
                return
            self.polish(peaks, self.coordinates())
        self.linkage.link(self.coordinates(), probing)

    def high(self) -> list[int]:
        """Peaks to polish, by falling height: those of which the mass may count."""
        peaks, highest = self.linkage.to_polish(), float(self.linkage.logps.max())
        high = [peak for peak in peaks if self.linkage.logps[peak] > highest - LOW]
        return (high or peaks)[:MOST_REGIONS]

    def polish(self, points: list[int], coordinates: LinearMap) -> None:
        """Ascend from these points to their modes, and find the curvature there."""
        if len(points) > 1 and self.evaluations.left < 2 * len(points) * POLISH_EVALUATIONS:
            # several peaks: whether ascents come to rest there decides over what else is looked for
            granted = min(self.further, 2 * len(points) * (POLISH_EVALUATIONS + min(len(self.centre), MOST_WHOLE)))
            self.evaluations.budget += granted
            self.further -= granted
        most = min(POLISH_EVALUATIONS, self.evaluations.left // (2 * len(points)))
        if most < FEWEST_POLISH_EVALUATIONS:
            self.complete = False
            return
        begins = self.linkage.positions[points]
        longest = np.full(len(points), max(FIRST_SCALES))
        ends = self.evaluations.ascend(begins, coordinates, longest, self.centre, most, POLISH_TOLERANCE)
        arrived = np.flatnonzero(np.isfinite(ends.logps))  # a function of the user's may fail at any call
        for place, after in zip(arrived, self.linkage.add(ends.points, ends.logps), strict=True):
            self.linkage.polished(points[place], int(after))
            if self.whole:
                self.look_at(int(after))
            else:
                self.look_along_axes(int(after), float(ends.decrements[place]))

    def look_along_axes(self, point: int, decrement: float) -> None:
        """The widths at a point, and whether the ascent to it, which left this decrement, has come to rest."""
        mode = self.linkage.positions[point]
        widths = widths_at(self.evaluations, mode, self.scales, self.generator)
        slope = self.evaluations.gradients(mode[None])[0]
        self.decrements[point] = max(decrement, float(((slope * widths) ** 2).sum()))
        self.linkage.mode_with(point, 1.0 / widths)
        if self.widths is None or not (self.at_rest or self.decrements[point] >= CONVERGED):
            self.widths, self.at_rest = widths, self.decrements[point] < CONVERGED

    def look_at(self, point: int) -> None:
        """The curvature at a point."""
        n = len(self.centre)
        if not self.evaluations.affordable(1, 8 * n):
            self.complete = False
            return
        curvature = curvature_at(self.evaluations, self.linkage.positions[point])
        self.curvatures[point] = curvature
        if curvature is not None:
            self.linkage.mode_with(point, curvature.whitening)

    def look_at_the_block(self) -> None:
        """The curvatures of the modes, in the coordinates in which they differ."""
        modes = self.converged()[:MOST_REGIONS]
        if self.widths is None or len(modes) < 2:
            return
        found = common_block(self.evaluations, self.linkage.positions[modes], self.widths, self.generator)
        if found is None:
            self.complete = False
            return
        self.places = found.places
        self.curvatures.update(zip(modes, found.curvatures, strict=True))

    # -- results ---------------------------------------------------------------------------------------------------

    def definite_modes(self) -> list[tuple[int, Curvature]]:
        """Peaks with a positive definite curvature, by falling Laplace mass; without regions, all such points."""
        points = [int(p) for p in self.linkage.peaks()] or list(self.curvatures)
        known = [(p, c) for p in points if (c := self.curvatures.get(p)) is not None]
        return sorted(known, key=lambda pair: -laplace(float(self.linkage.logps[pair[0]]), pair[1]))

    def settled(self) -> list[int]:
        """Peaks that are ends of polishing, by falling height."""
        return [int(peak) for peak in self.linkage.peaks() if int(peak) in self.decrements]

    def converged(self) -> list[int]:
        """Peaks at which ascents have come to rest: of others, as where a density has no bound, no mass is known."""
        if self.whole:
            return [point for point, curvature in self.definite_modes() if curvature.decrement < CONVERGED]
        return [point for point in self.settled() if self.decrements[point] < CONVERGED]

    def weighty(self) -> list[int]:
        """Those of them that may count: of so light ones there may be more than anybody wants to know."""
        found = self.converged()
        if not self.whole or not found:
            return found
        masses = np.array([laplace(float(self.linkage.logps[p]), c) for p in found if (c := self.curvatures[p])])
        return [p for p, kept in zip(found, masses > masses.max() + np.log(LIGHT), strict=True) if kept]

    def centres(self) -> list[int]:
        """Modes that ascents may begin around: by falling mass, or by height where curvatures are not looked at."""
        return [point for point, _ in self.definite_modes()] if self.whole else self.settled()

    def coordinates(self) -> LinearMap:
        """Whitened by the heaviest mode, or scaled as the starting points where there is none yet."""
        if not self.whole:
            return scaled_by(self.scales if self.widths is None else self.widths)
        modes = self.definite_modes()
        return whitened_by(modes[0][1].factor) if modes else scaled_by(self.scales)

    @property
    def hits(self) -> NDArray[np.int64]:
        """Ascents from starting points that ended in each region."""
        ended_in = self.linkage.labels[self.linkage.from_starts]
        return np.bincount(ended_in[ended_in >= 0], minlength=len(self.linkage.peaks()))

    @property
    def unmet(self) -> float:
        """See `Regions.unmet`; where there are several regions, of the ascents alone that did not depend on them."""
        if self.since >= 0:
            return min(1.0, poisson_bound(0) / max(1, self.since))
        hits, peaks, weighty = self.hits, self.linkage.peaks().tolist(), set(self.weighty())
        light = [k for k, peak in enumerate(peaks) if peak in set(self.converged()) - weighty]
        return unmet(np.delete(hits, light), int(hits.sum()))

    def regions(self) -> Regions:
        """The result."""
        linkage = self.linkage
        peaks = [int(peak) for peak in linkage.peaks()]
        known = [self.curvatures.get(peak) for peak in peaks]
        converged = [c is not None and c.decrement < CONVERGED for c in known]
        weighed = [k for k, (c, yes) in enumerate(zip(known, converged, strict=True)) if c is not None and yes]
        curvatures = [c for k in weighed if (c := known[k]) is not None]
        by_curvature, by_sampling, shares = (np.full(len(peaks), np.nan) for _ in range(3))
        by_curvature[weighed] = [
            laplace(float(linkage.logps[peaks[k]]), c) for k, c in zip(weighed, curvatures, strict=True)
        ]
        heavy = [k for k in weighed if by_curvature[k] > by_curvature[weighed].max() + np.log(MASSLESS)]
        if len(weighed) > 1 and len(self.places) <= MOST_SAMPLED:
            by_sampling[heavy] = importance(
                self.evaluations,
                linkage.positions[[peaks[k] for k in heavy]],
                [c for k in heavy if (c := known[k]) is not None],
                by_curvature[heavy],
                self.generator,
                self.places,
            )
        masses = np.where(np.isnan(by_sampling), by_curvature, by_sampling)
        if weighed:
            shares[weighed] = np.exp(masses[weighed] - np.logaddexp.reduce(masses[weighed]))
        hits = self.hits
        order = np.lexsort((np.arange(len(peaks)), -np.nan_to_num(shares, nan=-1.0)))
        found = tuple(
            ModalRegion(
                mode=linkage.positions[peaks[k]].copy(),
                logp=float(linkage.logps[peaks[k]]),
                laplace=float(by_curvature[k]),
                importance=float(by_sampling[k]),
                share=float(shares[k]),
                uncertain=bool(abs(by_curvature[k] - by_sampling[k]) > DISAGREEMENT),
                positive_definite=known[k] is not None,
                converged=converged[k],
                hits=int(hits[k]),
                block=self.places,
                within=None if (curvature := known[k]) is None else curvature.factor,
                widths=self.scales if self.widths is None else self.widths,
            )
            for k in order
        )
        complete = self.complete and linkage.complete
        return Regions(
            regions=found,
            ascents=self.ascents,
            gradients=self.evaluations.spent,
            complete=complete,
            statement=statement(found, self.ascents, linkage, self.evaluations.budget, complete, self.unmet),
            unmet=self.unmet,
            aside=self.aside,
        )
