"""How a run of a model begins on threads: density, starting points and a plan enter, a run ready to start leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.inference import NUTS, Kernel
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.starting_point import starting_positions
from consilience.record import replace
from consilience.run import Monitored, Running, launch
from consilience.run.remedies.coordinates import Coordinates
from consilience.run.supervisor import Supervisor
from consilience.run.threads.thread_pool import threads
from consilience.sample.monitoring import monitored_of, properness
from consilience.sample.plan import ModelPlan
from consilience.sample.separate_modes import SeparateModes
from consilience.sample.step_methods import DivisibleDensity

if TYPE_CHECKING:
    from consilience.inference.curvature import SparseCurvature

Floats = npt.NDArray[np.float64]
OtherCoordinates: TypeAlias = Callable[[Floats, Coordinates, float], Supervisor | None]
"""See `run.launch`."""
Begin: TypeAlias = Callable[[ModelDensity, Floats | int, ModelPlan, OtherCoordinates | None], Running]
"""An engine with its settings: density, starting points (or so many, where they are put somewhere later), plan."""


class RegionSearch(Protocol):
    """A search for the regions of a posterior, before its chains begin."""

    def spread(self, points: Floats, seed: int | None = None) -> Floats:
        """Starting points (chain, coordinate), moved to the regions that hold the mass where these are known."""
        ...

    def watched(self, monitored: Monitored) -> Monitored:
        """What is monitored, with regions that draws may miss, and normals to jump between."""
        ...


def search_of(
    density: ModelDensity, monitored: Monitored, seed: int, threads: int, written: Model | None = None
) -> RegionSearch:
    """The search for separate regions that suits a model; `written` has the variables that are summed out of it."""
    if all(v.continuous for v in density.model.free):
        return SeparateModes(density, monitored, seed, threads, written)
    from consilience.sample.discrete_regions import DiscreteRegions  # few models need it

    return DiscreteRegions(density, monitored, seed, threads)


def on_threads(
    density: ModelDensity,
    points: Floats | int,
    plan: ModelPlan,
    other_coordinates: OtherCoordinates | None,
    *,
    kernel: Kernel,
    seed: int,
    cores: int | None,
    threads_per_chain: int | None = None,
    written: Model | None = None,
    executor: Any = None,
) -> Running:
    """A run of chains from these points (chain, coordinate), or of so many chains that are put somewhere later.

    Where separate modes are to be looked for, that happens here, and points are moved to them.

    `written`: the model with the discrete variables that are summed out, if there are some. `executor`: moves the
    chains in other processes; None: threads do.
    """
    monitored = monitored_of(density, plan)
    if isinstance(kernel, NUTS):
        monitored = replace(monitored, improper=properness(density, monitored.names, threads(cores)))
    resumed = isinstance(points, int)
    places = np.zeros((points, density.dimension)) if isinstance(points, int) else points
    count, search = len(places), None
    if plan.modes:
        search = search_of(density, monitored, seed, threads(cores), written)
        places, monitored = places if resumed else search.spread(places), search.watched(monitored)
    return launch(
        DivisibleDensity(density),
        kernel,
        places,
        plan,
        seed=seed,
        cores=cores,
        threads_per_chain=threads_per_chain,
        chunks=density.chunks,
        monitored=monitored,
        operations=density.operations,
        work=density.work,
        other_coordinates=other_coordinates,
        curvature=cache(partial(_curvature, density, threads(cores))),
        starts=partial(_another_start, density, plan, seed, search, count) if plan.noise else None,
        executor=executor,
        portable=None if executor is None else Portable(density),
    )


class Portable:
    """Makes the density that chains see: from the model, where it was sent to another process."""

    def __init__(self, density: ModelDensity) -> None:
        self.density = density

    def __call__(self) -> DivisibleDensity:
        return DivisibleDensity(self.density)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _compiled_anew, (self.density.model,)


def _compiled_anew(model: Model) -> Portable:
    return Portable(model_density(model))


def _curvature(density: ModelDensity, threads: int) -> SparseCurvature:
    """What few runs need."""
    from consilience.elimination.curvature_pattern import curvature_pattern
    from consilience.inference.curvature import SparseCurvature

    return SparseCurvature(density, partial(curvature_pattern, density), threads)


def _another_start(
    density: ModelDensity, plan: ModelPlan, seed: int, search: RegionSearch | None, chains: int, chain: int, time: int
) -> Floats:
    """Where a chain begins the first, second, … time that it begins anew: as at first, with other random numbers."""
    other = int(np.random.SeedSequence([seed & (2**64 - 1), chain, time]).generate_state(1, np.uint64)[0])
    points = starting_positions(density, chains, other, width=plan.noise)
    return np.asarray((points if search is None else search.spread(points, other))[chain])
