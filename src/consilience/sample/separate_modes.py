"""Separate modes of a model's posterior: looked for before the chains begin, and asked after when they end.

A model's density and starting points enter; points spread over the regions leave, and later, in words, the region that
no draw has come to. The search itself is in `inference.modes`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.inference.modes.search import ModalRegion, Regions, find_regions
from consilience.inference.modes.starting_points import starting_points
from consilience.inference.modes.visits import distinguishing_coordinates, visits
from consilience.model.log_density import ModelDensity
from consilience.model.starting_point import starting_position
from consilience.record import replace
from consilience.run import Monitored

Floats = npt.NDArray[np.float64]
FEWEST_ARRIVALS: Final = 8  # of chains in a region, from which on their draws tell how much it weighs
PURPOSE: Final = 3  # of the random numbers
BUDGET: Final = 3000  # gradients: a tenth of those of a usual run


class SeparateModes:
    """The search of one run: the same regions whenever it is asked, as they depend on density and seed alone."""

    def __init__(self, density: ModelDensity, monitored: Monitored, seed: int, threads: int) -> None:
        self.density = density
        self.monitored = monitored
        self.seed = seed
        self.threads = threads

    @cached_property
    def found(self) -> Regions:
        """All regions found."""
        density = self.density
        centre = starting_position(density.model, density.layout, density.lengths)
        return find_regions(density, centre, seed=self.seed, budget=BUDGET, threads=self.threads)

    def spread(self, points: Floats, seed: int | None = None) -> Floats:
        """Starting points (chain, coordinate) in all regions that hold more than 0.5 %; the same where there is one."""
        own = self.seed if seed is None else seed
        return starting_points(self.density, self.found, points, seed=own, threads=self.threads).points

    def watched(self, monitored: Monitored) -> Monitored:
        """What is monitored, with regions that are missed, and with places in them where there are several."""
        several = sum(region.substantial for region in self.found.regions) > 1
        return replace(monitored, missed=self.missed, places=self.places if several else None)

    def places(self, count: int) -> Floats:
        """So many points (point, coordinate) of the normals that stand for the regions which count, as many of each."""
        regions = [region for region in self.found.regions if region.substantial]
        generator = np.random.Generator(np.random.Philox(key=[self.seed & (2**64 - 1), PURPOSE]))
        points = generator.standard_normal((count, self.density.dimension))
        for k, region in enumerate(regions):
            assert region.factor is not None  # a region that counts has one
            points[k :: len(regions)] = region.mode + points[k :: len(regions)] @ region.factor.T
        return points

    def missed(self, draws: Floats) -> str:
        """In words, the heaviest region that no draw (chain, draw, coordinate) has come to; empty if there is none."""
        found = self.found
        unvisited = visits(self.density, found, draws, seed=self.seed, threads=self.threads).unvisited(found)
        if not unvisited:
            return self._seldom_visited(draws)
        region = max(unvisited, key=lambda one: one.share)
        return (
            f"a separate region of the posterior, around {self._place(region)}, with about "
            f"{100.0 * region.share:.2g} % of its mass, was found before sampling, and no draw has come there; do not "
            "rely on these draws as they are: try more chains, or a reparameterization"
        )

    def _seldom_visited(self, draws: Floats) -> str:
        """In words, the region that chains came to least often, where that is too seldom to know its share by.

        An effective size does not tell: the one visit there was has no say in how long the next will be in coming.
        """
        regions = [region for region in self.found.regions if region.substantial]
        if len(regions) < 2:
            return ""
        nearest = np.stack([_log_normal(region, draws) for region in regions]).argmax(axis=0)
        inside = [nearest == k for k in range(len(regions))]
        arrivals = [int((here[:, 1:] & ~here[:, :-1]).sum()) for here in inside]
        rarest = int(np.argmin(arrivals))
        if arrivals[rarest] >= FEWEST_ARRIVALS:
            return ""
        region = regions[rarest]
        return (
            f"the posterior has {len(regions)} separate regions, and chains came to the one around "
            f"{self._place(region)} {arrivals[rarest]} times only: {100.0 * inside[rarest].mean():.2g} % of the draws "
            f"lie there, of a mass of about {100.0 * region.share:.2g} %; try more chains, or a larger `max_draws`"
        )

    def _place(self, region: ModalRegion) -> str:
        names = self.monitored.names
        named = [f"`{names[i]}` = {region.mode[i]:.3g}" for i in distinguishing_coordinates(region, self.found)]
        return f"{', '.join(named)} on the unconstrained scale"


def _log_normal(region: ModalRegion, draws: Floats) -> Floats:
    """Log density (chain, draw) of the normal that stands for a region, times its share of the mass."""
    assert region.factor is not None  # a region that counts has one
    white = np.linalg.solve(region.factor, (draws - region.mode).reshape(-1, draws.shape[-1]).T)
    level = np.log(region.share) - np.log(np.abs(np.diag(region.factor))).sum()
    return np.asarray((level - 0.5 * (white**2).sum(axis=0)).reshape(draws.shape[:-1]))
