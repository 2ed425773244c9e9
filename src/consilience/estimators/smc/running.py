"""Populations side by side on threads or workers, shown while they go on, and kept in a file.

A density, a kernel and begun populations in; the same at the posterior out. What they are depends on the seed alone.
"""

from __future__ import annotations

import importlib.metadata
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from typing import Any, Final, TypeVar, cast

import numpy as np

from consilience.cluster import Task
from consilience.errors import ConvergenceWarning, SamplingError, warn
from consilience.estimators.smc.moves import MOST_MOVES, ParticleKernel
from consilience.estimators.smc.particles import TemperedDensity, TwoFactors
from consilience.estimators.smc.population import Population, advanced, begun
from consilience.estimators.smc.prior_draws import PriorDraws
from consilience.estimators.studies.many import moved_by_pieces
from consilience.events import Listener
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.model import Model
from consilience.model.signature import signature
from consilience.native import target as machine
from consilience.native.threads import NativeThreads
from consilience.record import replace
from consilience.run.checkpoint import Checkpoint
from consilience.run.steps import Stepwise
from consilience.run.threads.thread_pool import threads

R = TypeVar("R")
INTERVAL: Final = 0.2  # seconds between two looks at the stages
PIECE: Final = 1.0  # seconds of stages that a worker makes before it gives a population back, if they are shorter


class Stages:
    """What a population's stages are made by; pickled as the model, which is compiled where it arrives."""

    def __init__(self, density: ModelDensity, kernel: ParticleKernel, path: int, seed: int) -> None:
        self.density, self.kernel, self.path, self.seed = density, kernel, path, seed

    def __reduce__(self) -> tuple[Callable[..., Stages], tuple[Any, ...]]:
        return _compiled, (self.density.model, self.kernel, self.path, self.seed)

    def __copy__(self) -> Stages:
        return self  # threads of one worker share the density

    def further(self, chain: int, population: Population) -> Population:
        """Some stages on."""
        target, end = TemperedDensity(self.density), time.monotonic() + PIECE
        while not population.done:
            population = advanced(population, target, self.kernel, self.path, self.seed, chain)
            if time.monotonic() >= end:
                break
        return population


def _compiled(model: Model, *others: Any) -> Stages:
    return Stages(model_density(model), *others)


class PopulationRun(Stepwise[R]):
    """Chains on their way, a stage a step; it owns their threads.

    `path`: places of each particle that count.
    `cores`: threads for chains and for the particles of each; None for all processors.
    `executor`: makes the stages of a model's density in place of threads.
    `checks`: whether it warns of particles that did not settle.
    `result_of`: what is to be made of populations.
    `populations`: the last of each chain.
    """

    def __init__(
        self,
        density: TwoFactors,
        kernel: ParticleKernel,
        path: int,
        seed: int,
        chains: int,
        cores: int | None,
        checkpoint: Checkpoint | None,
        *,
        checks: bool,
        result_of: Callable[[Sequence[Population]], R],
        executor: Any = None,
        progressbar: bool = False,
        callback: Listener | None = None,
    ) -> None:
        super().__init__(progressbar, callback)
        count = threads(cores)
        side_by_side = min(chains, count)
        self._kernel, self._path, self._seed, self._chains = kernel, path, seed, chains
        self._checkpoint, self._checks, self._result_of = checkpoint, checks, result_of
        self._lock, self._executor = threading.Lock(), executor
        self._chain_threads = NativeThreads(side_by_side, "consilience-populations")
        self._row_threads = NativeThreads(count, "consilience-particles")
        self._target = TemperedDensity(density, self._row_threads, -(-count // side_by_side))
        self.populations: list[Population] = []
        if kernel.needs_gradient and executor is None:  # compiled once, and not by every thread
            self._target.slopes(np.zeros((1, density.dimension)), 1.0)

    def begin(self, starts: PriorDraws) -> None:
        """Populations at draws of the prior."""
        try:
            self.populations = [
                begun(self._target, points, self._seed, i, starts.log_share) for i, points in enumerate(starts.chains)
            ]
        except BaseException:
            self._close()
            raise

    def work(self) -> None:
        """All stages of all chains; raises what `advanced` raises."""
        try:
            self._keep(last=False)
            if self._executor is not None:
                self._on_workers()
                return
            waiting = {self._chain_threads.submit(self._chain, i) for i in range(self._chains)}
            while waiting:
                finished, waiting = wait(waiting, INTERVAL, FIRST_EXCEPTION)
                for run in finished:
                    run.result()
                self.tell()
        except BaseException:
            self.stop()
            raise
        finally:
            self._chain_threads.shutdown(cancel_futures=True)
            self._keep(last=True)
            self._close()

    def _on_workers(self) -> None:
        stages = Stages(cast("ModelDensity", self._target.density), self._kernel, self._path, self._seed)
        begun = {k: one for k, one in enumerate(self.populations) if not one.done}
        moved_by_pieces(self, self._executor, stages, "the model", Stages.further, begun, self._take)

    def _take(self, chain: int, task: Task) -> Population | None:
        self.populations[chain] = found = task.result()
        self._keep(last=False)
        return None if found.done else found

    def result(self) -> R:
        """What there is; ConvergenceWarning where it was stopped, or particles had not forgotten where they began."""
        unsettled, done = [p.unsettled for p in self.populations], [p.done for p in self.populations]
        if not all(done):
            least = min(p.betas[-1] if p.betas else 0.0 for p in self.populations)
            warn(
                f"the run was stopped at the power {least:.3g} of the likelihood, with {sum(done)} of {len(done)} "
                "chains done: particles of the others are of the prior times the likelihood to a power below 1, and "
                "not of the posterior.",
                ConvergenceWarning,
            )
        elif self._checks and any(unsettled):
            warn(
                f"in {sum(unsettled)} of {sum(len(p.betas) for p in self.populations)} stages particles "
                f"still resembled those they began as after {MOST_MOVES} moves: draws and evidence may be wrong. Take "
                "another kernel, or more `draws`.",
                ConvergenceWarning,
            )
        if self._checkpoint is not None and self._checkpoint.fault is not None:
            warn(f"the checkpoint was not written to the end: {self._checkpoint.fault}")
        return self.so_far()

    def so_far(self) -> R:
        """Of the populations as they are; those that are not at the posterior have no evidence."""
        return self._result_of([p if p.done else replace(p, evidence=np.nan) for p in self.populations])

    def where(self) -> tuple[int, None, str]:
        """Stages of the chain with the fewest."""
        least = min(self.populations, key=lambda p: p.betas[-1] if p.betas else 0.0)
        done = sum(p.done for p in self.populations)
        parts = [f"stage {len(least.betas)}", f"power {least.betas[-1] if least.betas else 0.0:.3g}"]
        if least.betas:
            parts.append(f"{least.moves[-1]} moves, accepted {least.acceptance[-1]:.2f}")
        return len(least.betas), None, " · ".join([*parts, f"{done} of {len(self.populations)} chains done"])

    def _close(self) -> None:
        self._chain_threads.shutdown()
        self._row_threads.shutdown()
        if self._checkpoint is not None:
            self._checkpoint.close()

    def _chain(self, chain: int) -> None:
        while not self.populations[chain].done and self.step():
            self.populations[chain] = advanced(
                self.populations[chain], self._target, self._kernel, self._path, self._seed, chain
            )
            self._keep(last=False)

    def _keep(self, last: bool) -> None:
        if self._checkpoint is not None:
            with self._lock:
                self._checkpoint.keep(lambda: {"populations": [p.plain() for p in self.populations]}, last)


def identity(
    density: ModelDensity, kernel: ParticleKernel, draws: int, chains: int, path: int, seed: int
) -> dict[str, Any]:
    """What has to be equal for a run to be resumed with the same draws."""
    return {
        **signature(density),
        "method": "SMC",
        "kernel": [_title(type(kernel)), dict(vars(kernel))],
        "draws": draws,
        "chains": chains,
        "path": path,
        "seed": seed,
        "version": importlib.metadata.version("consilience"),
        "vector_lanes": machine.host().lanes,
    }


def kernel_from(title: str, settings: dict[str, Any]) -> ParticleKernel:
    """A kernel as `identity` has it.

    Raises SamplingError for a class that is not defined in this process.
    """
    known = {_title(kind): kind for kind in _descendants(ParticleKernel)}
    if title not in known:
        raise SamplingError(f"the run moves particles by {title}, which is not defined; import it first.")
    return known[title](**settings)


def _title(kind: type[ParticleKernel]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _descendants(kind: type[ParticleKernel]) -> Iterator[type[ParticleKernel]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)
