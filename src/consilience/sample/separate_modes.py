"""Separate modes of a model's posterior: looked for before the chains begin, and asked after when they end.

A model's density and starting points enter; points spread over the regions leave, and later, in words, the region that
no draw has come to. The search itself is in `inference.modes`.
"""

from __future__ import annotations

from functools import cached_property
from itertools import count
from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.inference.modes.normals import RegionNormals
from consilience.inference.modes.search import ModalRegion, Regions, find_regions
from consilience.inference.modes.starting_points import starting_points
from consilience.inference.modes.visits import distinguishing_coordinates, visits
from consilience.model.log_density import ModelDensity
from consilience.model.prior_positions import prior_positions
from consilience.model.starting_point import starting_position
from consilience.record import replace
from consilience.run import Monitored

Floats = npt.NDArray[np.float64]
FEWEST_ARRIVALS: Final = 8  # of chains in a region, from which on their draws tell how much it weighs
BUDGET: Final = 3000  # gradients: a tenth of those of a usual run
FURTHER: Final = 12_000  # once there are several regions, of which runs take ten times as many


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
        calls = count()

        def others(wanted: int) -> Floats:
            seed = self.seed + next(calls)
            return prior_positions(density.model, density.layout, density.lengths, centre, wanted, seed)

        return find_regions(
            density,
            centre,
            seed=self.seed,
            budget=BUDGET,
            further=FURTHER,
            others=others,
            threads=self.threads,
        )

    def spread(self, points: Floats) -> Floats:
        """Starting points (chain, coordinate) in all regions that hold more than 0.5 %; the same where there is one."""
        return starting_points(self.density, self.found, points, seed=self.seed, threads=self.threads).points

    def watched(self, monitored: Monitored) -> Monitored:
        """What is monitored, with regions that are missed, and the normals of those that count, if several do."""
        return replace(monitored, missed=self.missed, normals=self.normals)

    @cached_property
    def normals(self) -> RegionNormals | None:
        """The normals that stand for the regions which count; None where there are fewer than two."""
        regions = self.found.substantial
        factors = [region.within for region in regions if region.within is not None]  # one that counts has one
        if len(regions) < 2:
            return None
        block = regions[0].block
        return RegionNormals(
            places=block,
            modes=np.stack([region.mode[block] for region in regions]),
            factors=np.stack(factors),
            shares=np.array([region.share for region in regions]),
            whole=block[:0],
            values=np.zeros((len(regions), 0)),
        )

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
    assert region.within is not None  # a region that counts has one
    level = np.log(region.share) - np.log(np.abs(np.diag(region.within))).sum()
    return np.asarray(level - 0.5 * (region.whitened(draws) ** 2).sum(axis=-1))
