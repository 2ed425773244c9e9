"""What moves the chains of a model: density, starting points and a plan enter, a leg of a run leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.inference import NUTS, Kernel
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.signature import signature
from consilience.model.starting_point import starting_positions
from consilience.native import target
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
    from consilience.inference.modes.symmetries import Quotient
    from consilience.sample.copies import Copies
    from consilience.sample.discrete_regions import DiscreteRegions

Floats = npt.NDArray[np.float64]
OtherCoordinates: TypeAlias = Callable[[Floats, Recoordinated, float], Leg | None]
"""See `run.launch.new_leg`."""
RegionSearch: TypeAlias = "SeparateModes | DiscreteRegions"
"""A search for the regions of a posterior, before its chains begin."""


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


def symmetries_of(
    density: ModelDensity, seed: int, written: Sequence[str]
) -> Callable[[Floats, bool], Quotient | None]:
    """What gives the symmetries that draws disagree by, or all; see `copies`."""

    @cache
    def copies() -> Copies:
        from consilience.sample.copies import Copies  # few runs ask

        return Copies(density, seed, written)

    return lambda draws, whole: copies()(draws, whole)


class Mover(Record, eq=False):
    """What moves the chains of a run, in all its coordinates: how they move, and the engine with its settings.

    kernel: How they move.
    seed: What their draws depend on.
    cores: Processors for them, and for the search for separate regions; all by default.
    written: The model with the discrete variables that are summed out, where there are some.
    """

    kernel: Kernel | ChEES
    seed: int
    cores: int | None = None
    written: Model | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What a checkpoint keeps of it, as plain values by name: what has to be equal for the same draws."""
        raise NotImplementedError

    def identity(self, density: ModelDensity, plan: ModelPlan, chains: int) -> dict[str, Any]:
        """What has to be equal for a run to be resumed with the same draws."""
        return {
            **signature(density),
            **self.settings,
            "options": plan.of_the_run,
            "chains": chains,
            "seed": self.seed,
            "version": sys.modules["consilience"].__version__,
            "vector_lanes": target.host().lanes,
        }

    def leg(
        self,
        density: ModelDensity,
        points: Floats | int,
        plan: ModelPlan,
        other_coordinates: OtherCoordinates | None,
    ) -> Leg:
        """A leg from these points (point, coordinate), or of so many chains that are put somewhere later.

        Where separate modes are to be looked for, that happens here, and points are moved to them.
        """
        usable, search = threads(self.cores), None
        symmetries = symmetries_of(density, self.seed, plan.coordinates.rewritten)
        monitored = replace(monitored_of(density, plan), symmetries=symmetries)
        if isinstance(self.kernel, NUTS):
            monitored = replace(monitored, improper=properness(density, monitored.names, usable))
        places = np.zeros((points, density.dimension)) if isinstance(points, int) else points
        if plan.modes and may_have_modes(density):
            search = search_of(density, monitored, self.seed, usable, self.written)
            places = places if isinstance(points, int) else search.spread(places)
            monitored = search.watched(monitored)
        common = {"monitored": monitored, "other_coordinates": other_coordinates, "work": density.work}
        return self._leg(density, places, plan, search, seed=self.seed, **common).of(density)

    def _leg(
        self, density: ModelDensity, places: Floats, plan: ModelPlan, search: RegionSearch | None, **common: Any
    ) -> Leg:
        """The same from these places, by the engine's own `new_leg`, which takes `common`."""
        raise NotImplementedError


class OnThreads(Mover, eq=False):
    """Chains on threads, or in other processes.

    threads_per_chain: See `run.launch.new_leg`.
    executor: Moves the chains in other processes; None: threads do.
    """

    kernel: Kernel
    threads_per_chain: int | None = None
    executor: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        """See `Mover`: the kernel."""
        parts = [[title(type(part)), as_plain(part)] for part in self.kernel.parts]
        return {"kernel": json.loads(json.dumps(parts, default=np.ndarray.tolist))}

    def _leg(
        self, density: ModelDensity, places: Floats, plan: ModelPlan, search: RegionSearch | None, **common: Any
    ) -> Leg:
        """See `Mover`."""
        starts = partial(_another_start, density, plan, self.seed, search, len(places)) if plan.noise else None
        return new_leg(
            DivisibleDensity(density),
            self.kernel,
            places,
            plan,
            cores=self.cores,
            threads_per_chain=self.threads_per_chain,
            chunks=density.chunks,
            operations=density.operations,
            curvature=cache(partial(_curvature, density, threads(self.cores))),
            starts=starts,
            executor=self.executor,
            portable=None if self.executor is None else Portable(density),
            **common,
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
