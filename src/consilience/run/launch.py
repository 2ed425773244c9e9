"""How a run begins: a density, a kernel, starting points and a plan enter; its first leg leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.inference import tuner as tuners
from consilience.inference.block import block_of
from consilience.inference.density import LogDensity
from consilience.inference.jump_tuner import Jumping, asked_jumps
from consilience.inference.kernel import Kernel, MarkovChain
from consilience.inference.self_tuning import SelfTuning
from consilience.inference.streams import chain_key
from consilience.run.course import Leg, RunCourse
from consilience.run.engine import Chains
from consilience.run.monitor import Monitored
from consilience.run.plan import RunPlan
from consilience.run.remedies.coordinates import Recoordinated
from consilience.run.threads.chain_worker import ChainWorker
from consilience.run.threads.engine import ThreadEngine
from consilience.run.threads.thread_pool import crew

if TYPE_CHECKING:
    from consilience.inference.curvature import SparseCurvature

# Of a window of sampling, 64 MiB: it is copied to where draws are kept, and to those who are told of it.
WINDOW_NUMBERS: Final = 1 << 23


def new_leg(
    density: LogDensity,
    kernel: Kernel,
    initial_points: ArrayLike,
    plan: RunPlan,
    *,
    seed: int,
    cores: int | None = None,
    threads_per_chain: int | None = None,
    chunks: int = 0,
    monitored: Monitored | None = None,
    operations: float | None = None,
    work: float | None = None,
    other_coordinates: Callable[[NDArray[np.float64], Recoordinated, float], Leg | None] | None = None,
    starts: Callable[[int, int], NDArray[np.float64]] | None = None,
    curvature: Callable[[], SparseCurvature] | None = None,
    executor: Any = None,
    portable: Callable[[], LogDensity] | None = None,
) -> Leg:
    """The course and the engine of a run with one chain from each starting point, ready to start.

    `density`: the target.
    `kernel`: the sampler: `NUTS()`, `HamiltonianMC()`, ….
    `initial_points`: float64 (chain, coordinate), unconstrained.
    `seed`: any 64-bit integer; draws depend on it and on the number of chains, not on threads.
    `cores`: greatest number of threads; by default the processors this process may use.
    `threads_per_chain`: for one evaluation of the density; by default as many as chains leave idle.
    `chunks`: that an evaluation is cut into, for threads to take: see `native.shared_work`; 0: none.
    `monitored`: what is watched; by default all coordinates.
    `operations`: estimated floating-point operations of one evaluation with its gradient, if known: they bound the
        directions of an "auto" metric.
    `work`: the same with those of loops, by which the run's patience is priced; see `forecast.price`.
    `other_coordinates`: gives, of draws (chain, draw, coordinate) that are hard to make, a leg of the same target in
        other coordinates that goes on in place of this one, or None; asked where a run decides its length.
    `starts`: gives further starting points (coordinate,) for chains that fail while tuning, by the chain's number and
        theirs, from 1; draws depend on it, so that it has to give the same again.
    `curvature`: gives that of the log density, where it may be sparse; None: not to be had.
    `executor`: moves the chains in other processes, here or elsewhere; see `cluster.Workers`. None: threads do.
    `portable`: makes the density there, and pickles; None: the density itself does.
    Raises InitialPointError if the starting points have another shape.
    """
    points = check_points(initial_points, density.dimension)
    chains, dimension = points.shape
    if chains < kernel.fewest_chains:
        raise SamplingError(f"{type(kernel).__name__} needs at least {kernel.fewest_chains} chains, got {chains}.")
    columns, parts = kernel.columns, kernel.parts
    watched = monitored or Monitored(tuple(f"x[{i}]" for i in range(dimension)))
    facts = Chains(chains, dimension, columns, longest=max(1, WINDOW_NUMBERS // (chains * dimension)), work=work)
    setting = tuners.TuningSetting(
        chains=chains,
        dimension=dimension,
        columns=columns,
        lengths=plan,
        operations=operations,
        blocks=tuple(block_of(density, part.vars, part.needs) for part in parts) if kernel.joint else (),
        curvature=curvature,
    )
    tuner: tuners.Tuner = kernel.tuner(setting) or SelfTuning(setting)
    asked = asked_jumps(kernel)
    if all(part.jumping for part in parts) and (asked != "auto" or "jumps" in plan.remedies):
        between_regions = asked != 0 or "jumps" in plan.remedies
        tuner = Jumping(tuner, setting, asked, watched.normals if between_regions else None)
    makes = [
        functools.partial(_chain, kernel, density, chain_key(seed, c), tuner.length, points[c]) for c in range(chains)
    ]
    if executor is None:
        workers = []
        for c, make in enumerate(makes):
            stop = np.zeros(1, np.int64)
            workers.append(
                ChainWorker(c, functools.partial(make, stop), stop, columns, dimension, watched.without_turns)
            )
        threads = crew(chains, cores, threads_per_chain, chunks)
        engine = ThreadEngine(facts, workers, threads, watched.names, plan.window_budget, starts)
    else:
        from consilience.run.remote.engine import Recipe, RemoteEngine  # few runs need it

        recipe = Recipe(portable or functools.partial(_itself, density), kernel, tuner.length, dimension)
        engine = RemoteEngine(facts, makes, executor, recipe, watched, plan.window_budget, starts)
    return Leg(RunCourse(plan, engine.chains, tuner, watched, other_coordinates), engine)


def _chain(
    kernel: Kernel,
    density: LogDensity,
    key: int,
    tune: int,
    own: NDArray[np.float64],
    stop: NDArray[np.int64],
    point: NDArray[np.float64] | None = None,
) -> MarkovChain:
    return kernel.chain(density, own if point is None else point, key, tune, stop)


def _itself(density: LogDensity) -> LogDensity:
    return density


def check_points(initial_points: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Starting points as float64 (chain, coordinate); InitialPointError if they have another shape."""
    points = np.ascontiguousarray(initial_points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != dimension or len(points) == 0:
        raise InitialPointError(
            f"initial_points needs the shape (chains, {dimension}) with chains >= 1, got {points.shape}."
        )
    return points
