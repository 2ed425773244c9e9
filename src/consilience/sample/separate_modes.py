"""Separate modes of a model's posterior: looked for before the chains begin, and asked after when they end.

A model's density and starting points enter; points spread over the regions leave, and later, in words, the region that
no draw has come to. The search itself is in `inference.modes`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.inference import NUTS, Kernel
from consilience.inference.modes.search import Regions, find_regions
from consilience.inference.modes.starting_points import starting_points
from consilience.inference.modes.visits import distinguishing_coordinates, visits
from consilience.model.log_density import ModelDensity
from consilience.model.starting_point import starting_position
from consilience.run import Monitored

Floats = npt.NDArray[np.float64]
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

    def spread(self, points: Floats) -> Floats:
        """Starting points (chain, coordinate) in all regions that hold more than 0.5 %; the same where there is one."""
        return starting_points(self.density, self.found, points, seed=self.seed, threads=self.threads).points

    def missed(self, draws: Floats) -> str:
        """In words, the heaviest region that no draw (chain, draw, coordinate) has come to; empty if there is none."""
        found = self.found
        unvisited = visits(self.density, found, draws, seed=self.seed, threads=self.threads).unvisited(found)
        if not unvisited:
            return ""
        region = max(unvisited, key=lambda one: one.share)
        names = self.monitored.names
        place = ", ".join(f"`{names[i]}` = {region.mode[i]:.3g}" for i in distinguishing_coordinates(region, found))
        return (
            f"a separate region of the posterior, around {place} on the unconstrained scale, with about "
            f"{100.0 * region.share:.2g} % of its mass, was found before sampling, and no draw has come there; do not "
            'rely on these draws as they are: try `jumps="auto"`, more chains, or a reparameterization'
        )


def searches(wanted: bool, kernel: Kernel, density: ModelDensity, **of_run: Any) -> bool:
    """Whether separate modes are looked for: in runs that decide their length, from starting points of our own."""
    chosen = of_run["draws"] is None and of_run["initvals"] is None and of_run["init"] == "descent"
    return wanted and chosen and of_run["chains"] > 1 and isinstance(kernel, NUTS) and density.dimension > 0
