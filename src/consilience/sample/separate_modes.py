"""Separate modes of a model's posterior: looked for before the chains begin, and asked after when they end.

A model's density and starting points enter; points spread over the regions leave, and later, in words, the region that
no draw has come to. The search itself is in `inference.modes`.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.inference.modes.normals import RegionNormals
from consilience.inference.modes.regions import ModalRegion, Regions
from consilience.inference.modes.search import find_regions
from consilience.inference.modes.starting_points import starting_points
from consilience.inference.modes.visits import Visits, distinguishing_coordinates, visits
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.model.prior_positions import prior_positions
from consilience.model.starting_point import starting_position
from consilience.record import replace
from consilience.run import Monitored

if TYPE_CHECKING:
    from consilience.inference.modes.symmetries import Quotient
    from consilience.model.own_units import OwnUnits

Floats = npt.NDArray[np.float64]
FEWEST_ARRIVALS: Final = 8  # of chains in a region, from which on their draws tell how much it weighs
BUDGET: Final = 3000  # gradients: a tenth of those of a usual run
FEW, OF_FEW = 4, 4500  # coordinates in which narrow regions can be found, and the gradients to look for them
FURTHER, OF_A_COORDINATE = 24_000, 4  # once there are several regions, and of each, for Hessians of two modes
DRAWS_OF_A_CHAIN, MOST_DRAWS = 5, 40  # to ascend from
UNKNOWN_SHARE: Final = 0.02  # of draws that ascend to none of the regions, from which on they are searched from
MOST_UNMET: Final = 0.05  # share of starting points that may lead to other regions, where there are several
MOST_ADDITIONS: Final = 2  # of regions found from draws, of a run


class SeparateModes:
    """The search of one run: the same regions whenever it is asked, as they depend on density and seed alone.

    `found`: all regions found: by the search, and from draws that were added since.
    """

    def __init__(
        self, density: ModelDensity, monitored: Monitored, seed: int, threads: int, written: Model | None = None
    ) -> None:
        self.density = density
        self.monitored = monitored
        self.seed = seed
        self.threads = threads
        self.additions = 0
        self.written = written
        self.stop = np.zeros(1, np.int64)
        self.quotient: Quotient | None = None
        self._components: RegionNormals | None = None
        self._of_one_copy: SeparateModes | None = None

    @cached_property
    def found(self) -> Regions:
        return self._search(None)

    def _search(self, begins: Floats | None) -> Regions:
        """Ascents from around the starting position, from draws of the prior, and from these points."""
        density = self.density
        centre = starting_position(density.model, density.layout, density.lengths)
        calls, budget = count(), OF_FEW if density.dimension <= FEW else BUDGET

        def others(wanted: int) -> Floats:
            seed = self.seed + next(calls)
            return prior_positions(density.model, density.layout, density.lengths, centre, wanted, seed)

        def units() -> OwnUnits:
            from consilience.model.own_units import OwnUnits  # few models need it

            return OwnUnits(density.layout)

        found = find_regions(
            density,
            centre,
            seed=self.seed,
            budget=budget if begins is None else 2 * budget,
            further=FURTHER + OF_A_COORDINATE * density.dimension,
            others=others,
            own_units=units,
            begins=begins,
            threads=self.threads,
            stop=self.stop,
        )
        if self.quotient is None:
            return found
        from consilience.inference.modes.symmetries import of_one_copy  # few runs have copies

        return of_one_copy(found, self.quotient)

    def add(self, draws: Floats) -> bool:
        """Search again, from draws (chain, draw, coordinate) too; whether there are other regions that count now.

        For chains that were found to disagree, or came to where no region was known.
        """
        some = draws[:, :: -(-draws.shape[1] // DRAWS_OF_A_CHAIN)]
        spread = some[: -(-MOST_DRAWS // some.shape[1])].reshape(-1, draws.shape[-1])
        known = [region.mode for region in self.found.regions]
        before, self.found = self.found, self._search(np.stack([*known, *spread]))
        self.additions += 1
        old, new = ([region.mode for region in one.substantial] for one in (before, self.found))
        return len(new) > 1 and (len(old) != len(new) or not np.allclose(old, new, rtol=1e-3, atol=1e-3))

    def search_from(self, draws: Floats) -> bool:
        """The same, as often as a run may."""
        return self.additions < MOST_ADDITIONS and self.add(draws)

    def summary(self) -> dict[str, Any]:
        """What is known of separate regions, in plain numbers and words."""
        found = self.found
        drawn = max(1, sum(region.hits for region in found.regions))
        several = len(found.regions) > 1
        return {
            "statement": found.statement,
            "ascents": found.ascents,
            "unmet": _number(found.unmet),
            "regions": [
                {
                    "mass": _number(region.share) if several else 1.0,
                    "starting_points": region.hits / drawn,
                    "log_density": _number(region.logp),
                    "uncertain": region.uncertain,
                    "place": {self.monitored.names[i]: float(region.mode[i]) for i in self._telling(region)},
                }
                for region in found.regions
            ],
        }

    def _telling(self, region: ModalRegion) -> list[int]:
        """The coordinates that tell a region from others, as far as curvatures are known."""
        return [] if region.within is None else distinguishing_coordinates(region, self.found)

    def spread(self, points: Floats, seed: int | None = None) -> Floats:
        """Starting points (chain, coordinate) in all regions that hold more than 0.5 %; the same where there is one."""
        own = self.seed if seed is None else seed
        return starting_points(self.density, self.found, points, seed=own, threads=self.threads).points

    def watched(self, monitored: Monitored) -> Monitored:
        """What is monitored, with regions that are missed, and the normals of those that count, if several do."""
        return replace(
            monitored,
            missed=self.missed,
            normals=self.normals,
            search=self.search_from,
            stop=self.stop,
            components=self.components,
            regions=self.summary,
            searched=lambda: self.found.complete,
        )

    def components(self) -> bool:
        """Let chains jump between combinations of discrete variables that are summed out; whether there are some."""
        if self.written is None or self._components is not None:
            return False
        from consilience.sample.summed_regions import component_normals  # few models need it

        found = component_normals(self.written, self.density, self.monitored, self.seed, self.threads)
        self.written, self._components = None, found
        return found is not None

    def normals(self) -> RegionNormals | None:
        """The normals that stand for regions which count, alone or together; None where there are fewer than two."""
        if self._components is not None:
            return self._components
        regions = self.found.together
        if len(regions) < 2:
            return None
        factors = [region.within for region in regions if region.within is not None]  # these have one
        block = regions[0].block
        return RegionNormals(
            places=block,
            modes=np.stack([region.mode[block] for region in regions]),
            factors=np.stack(factors),
            shares=np.array([region.share for region in regions]),
            whole=block[:0],
            values=np.zeros((len(regions), 0)),
        )

    def divided_by(self, quotient: Quotient) -> SeparateModes:
        """The search of one copy of the posterior."""
        if self._of_one_copy is None or self._of_one_copy.quotient is not quotient:
            from consilience.inference.modes.symmetries import of_one_copy  # few runs have copies

            made = copy(self)
            made.quotient, made.found = quotient, of_one_copy(self.found, quotient)
            self._of_one_copy = made
        return self._of_one_copy

    def missed(self, draws: Floats, quotient: Quotient | None = None) -> str:
        """In words, what speaks against draws (chain, draw, coordinate), by regions; empty if nothing does.

        `quotient`: symmetries, of which one copy is looked at.

        The heaviest region that no draw has come to, or a region of no mass that many have. Where draws ascend to none
        of the regions, these are looked for from the draws too.
        """
        if quotient is not None:
            return self.divided_by(quotient).missed(quotient.fold(draws))
        known, seen = self.found, self._visits(draws)
        if seen.elsewhere > UNKNOWN_SHARE:
            self.search_from(draws)
        if self.found is not known:  # also where those that count are the same
            seen = self._visits(draws)
        if unvisited := seen.unvisited(self.found):
            return self._unvisited(max(unvisited, key=lambda one: one.share))
        if massless := seen.overestimated(self.found):
            return self._massless(*massless)
        return self._seldom_visited(draws) or self._unsearched() or self._unmixed(draws)

    def _unmixed(self, draws: Floats) -> str:
        """In words, that draws contradict what combinations of summed variables weigh; asked once, then chains jump."""
        written = self.written
        if written is None:
            return ""
        from consilience.sample.summed_regions import contradicted, few_combinations  # few models need it

        if not few_combinations(written) or not self.components() or self._components is None:
            return ""
        return contradicted(written, self._components, draws)

    def _unsearched(self) -> str:
        """In words, that there may be many more regions than those that were found; else empty."""
        found = self.found
        if len(found.substantial) < 2:
            return ""
        if not found.complete:
            return (
                f"{len(found.regions)} separate regions of the posterior were found, and not all of them could be "
                f"compared: {found.statement}"
            )
        if not found.unmet > MOST_UNMET:
            return ""
        return (
            f"{found.ascents} searches found {len(found.regions)} separate regions of the posterior, and up to "
            f"{100.0 * found.unmet:.2g} % of further searches may find others: the draws may miss some; use a prior "
            "that selects the regions that you mean"
        )

    def _visits(self, draws: Floats) -> Visits:
        return visits(self.density, self.found, draws, seed=self.seed, threads=self.threads, stop=self.stop)

    @property
    def same(self) -> str:
        """In words, that the regions which count are copies of one; else empty."""
        regions, find = self.found.substantial, self.monitored.symmetries
        known = None if find is None else find(np.stack([region.mode for region in regions])[:, None], True)
        if known is None:
            return ""
        from consilience.inference.modes.symmetries import Quotient, of_one_copy
        from consilience.sample.copies import said

        quotient = Quotient(known.symmetries, regions[0].mode, 1.0 / regions[0].deviations)
        if len(of_one_copy(self.found, quotient).substantial) > 1:
            return ""
        return f"they are copies of one: {said(quotient)}"

    def _unvisited(self, region: ModalRegion) -> str:
        if same := self.same:
            return f"no draw reached the region around {self._place(region)}, one of {self._count}; {same}"
        return (
            f"a separate region of the posterior, around {self._place(region)}, with about "
            f"{100.0 * region.share:.2g} % of its mass, was found before sampling, but no draw reached it; do not use "
            "these draws: try more chains, or another parametrization"
        )

    def _massless(self, region: ModalRegion, share: float) -> str:
        return (
            f"{100.0 * share:.2g} % of the draws lie in a separate region of the posterior, around "
            f"{self._place(region)}, which has about {100.0 * region.share:.1g} % of its mass; do not use these "
            "draws: try more chains, or another parametrization"
        )

    def _seldom_visited(self, draws: Floats) -> str:
        """In words, the region that chains came to least often, where that is too seldom to know its share by.

        An effective size does not tell: the one visit there was has no say in how long the next will be in coming.
        """
        regions = self.found.substantial
        if len(regions) < 2:
            return ""
        nearest = np.stack([_log_normal(region, draws) for region in regions]).argmax(axis=0)
        inside = [nearest == k for k in range(len(regions))]
        arrivals = [int((here[:, 1:] & ~here[:, :-1]).sum()) for here in inside]
        rarest = int(np.argmin(arrivals))
        if arrivals[rarest] >= FEWEST_ARRIVALS:
            return ""
        region = regions[rarest]
        if same := self.same:
            return (
                f"chains came to the region around {self._place(region)} {arrivals[rarest]} times only, one of "
                f"{self._count}; {same}"
            )
        return (
            f"the posterior has {len(regions)} separate regions, and chains came to the one around "
            f"{self._place(region)} {arrivals[rarest]} times only: {100.0 * inside[rarest].mean():.2g} % of the draws "
            f"lie there, of a mass of about {100.0 * region.share:.2g} %; try more chains, or `result.extend(…)`"
        )

    @property
    def _count(self) -> str:
        return f"{len(self.found.substantial)} separate regions"

    def _place(self, region: ModalRegion) -> str:
        names = self.monitored.names
        named = [f"`{names[i]}` = {region.mode[i]:.3g}" for i in distinguishing_coordinates(region, self.found)]
        return f"{', '.join(named)} on the unconstrained scale"


def _log_normal(region: ModalRegion, draws: Floats) -> Floats:
    """Log density (chain, draw) of the normal that stands for a region, times its share of the mass."""
    assert region.within is not None  # a region that counts has one
    level = np.log(region.share) - np.log(np.abs(np.diag(region.within))).sum()
    return np.asarray(level - 0.5 * (region.whitened(draws) ** 2).sum(axis=-1))


def _number(value: float) -> float | None:
    """None, which JSON has, for what is not known."""
    return float(value) if np.isfinite(value) else None
