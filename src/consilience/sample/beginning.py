"""What moves the chains of a model: density, starting points and a plan enter, a leg of a run leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.inference import NUTS, Kernel
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.starting_point import starting_positions
from consilience.record import Record, as_plain, replace
from consilience.run import Monitored
from consilience.run.course import Leg
from consilience.run.launch import new_leg
from consilience.run.lock_step import ChEES
from consilience.run.remedies.coordinates import Recoordinated
from consilience.run.threads.thread_pool import threads
from consilience.sample.monitoring import angular_coordinates, monitored_of, properness
from consilience.sample.plan import ModelPlan
from consilience.sample.separate_modes import SeparateModes
from consilience.sample.step_methods import DivisibleDensity, title

if TYPE_CHECKING:
    from consilience.inference.curvature import SparseCurvature

Floats = npt.NDArray[np.float64]
OtherCoordinates: TypeAlias = Callable[[Floats, Recoordinated, float], Leg | None]
"""See `run.launch.new_leg`."""


class Mover(Protocol):
    """What moves the chains of a run, in all its coordinates: how they move, and the engine with its settings."""

    @property
    def kernel(self) -> Kernel | ChEES:
        """How they move."""
        ...

    @property
    def seed(self) -> int:
        """What their draws depend on."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """What a checkpoint keeps of it, as plain values by name: what has to be equal for the same draws."""
        ...

    def leg(
        self,
        density: ModelDensity,
        points: Floats | int,
        plan: ModelPlan,
        other_coordinates: OtherCoordinates | None,
    ) -> Leg:
        """A leg from these points (chain, coordinate), or of so many chains that are put somewhere later."""
        ...


class RegionSearch(Protocol):
    """A search for the regions of a posterior, before its chains begin."""

    def spread(self, points: Floats, seed: int | None = None) -> Floats:
        """Starting points (chain, coordinate), moved to the regions that hold the mass where these are known."""
        ...

    def watched(self, monitored: Monitored) -> Monitored:
        """What is monitored, with regions that draws may miss, and normals to jump between."""
        ...


def may_have_modes(density: ModelDensity) -> bool:
    """Whether separate modes can be looked for: by gradients, where no variable is an angle."""
    trees = any(v.has_trees for v in density.model.free)
    return not (density.without_gradient or trees) and angular_coordinates(density) is None


def search_of(
    density: ModelDensity, monitored: Monitored, seed: int, threads: int, written: Model | None = None
) -> RegionSearch:
    """The search for separate regions that suits a model; `written` has the variables that are summed out of it."""
    if all(v.continuous for v in density.model.free):
        return SeparateModes(density, monitored, seed, threads, written)
    from consilience.sample.discrete_regions import DiscreteRegions  # few models need it

    return DiscreteRegions(density, monitored, seed, threads)


class OnThreads(Record, eq=False):
    """Chains on threads, or in other processes.

    `kernel`, `seed`: see `Mover`. `cores`, `threads_per_chain`: see `run.launch.new_leg`. `written`: the model with the
    discrete variables that are summed out, if there are some. `executor`: moves the chains in other processes; None:
    threads do.
    """

    kernel: Kernel
    seed: int
    cores: int | None = None
    threads_per_chain: int | None = None
    written: Model | None = None
    executor: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        """See `Mover`: the kernel."""
        parts = [[title(type(part)), as_plain(part)] for part in self.kernel.parts]
        return {"kernel": json.loads(json.dumps(parts, default=np.ndarray.tolist))}

    def leg(
        self,
        density: ModelDensity,
        points: Floats | int,
        plan: ModelPlan,
        other_coordinates: OtherCoordinates | None,
    ) -> Leg:
        """See `Mover`. Where separate modes are to be looked for, that happens here, and points are moved to them."""
        seed, usable = self.seed, threads(self.cores)
        monitored = monitored_of(density, plan)
        if isinstance(self.kernel, NUTS):
            monitored = replace(monitored, improper=properness(density, monitored.names, usable))
        resumed = isinstance(points, int)
        places = np.zeros((points, density.dimension)) if isinstance(points, int) else points
        count, search = len(places), None
        if plan.modes and may_have_modes(density):
            search = search_of(density, monitored, seed, usable, self.written)
            places, monitored = places if resumed else search.spread(places), search.watched(monitored)
        return new_leg(
            DivisibleDensity(density),
            self.kernel,
            places,
            plan,
            seed=seed,
            cores=self.cores,
            threads_per_chain=self.threads_per_chain,
            chunks=density.chunks,
            monitored=monitored,
            operations=density.operations,
            work=density.work,
            other_coordinates=other_coordinates,
            curvature=cache(partial(_curvature, density, usable)),
            starts=partial(_another_start, density, plan, seed, search, count) if plan.noise else None,
            executor=self.executor,
            portable=None if self.executor is None else Portable(density),
        ).of(density)


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
