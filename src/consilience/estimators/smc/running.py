"""Populations side by side on threads, shown while they go on, and kept in a file.

A density, a kernel and begun populations in; the same at the posterior out. What they are depends on the seed alone.
"""

from __future__ import annotations

import importlib.metadata
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, wait
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from consilience.errors import ConsilienceWarning, ConvergenceWarning, SamplingError
from consilience.estimators.smc.moves import MOST_MOVES, ParticleKernel
from consilience.estimators.smc.particles import TemperedDensity, TwoFactors
from consilience.estimators.smc.population import Population, advanced, begun
from consilience.estimators.smc.prior_draws import PriorDraws
from consilience.estimators.smc.stages import Stages
from consilience.model.log_density import ModelDensity
from consilience.model.signature import signature
from consilience.native import target as machine
from consilience.native.threads import NativeThreads
from consilience.run.checkpoint import Checkpoint
from consilience.run.thread_pool import threads

INTERVAL: Final = 0.2  # seconds between two looks at the stages


class PopulationRun:
    """Chains on their way; a context manager that owns their threads.

    path          places of each particle that count
    cores         threads for chains and for the particles of each; None for all processors
    populations   the last of each chain
    """

    def __init__(
        self,
        density: TwoFactors,
        kernel: ParticleKernel,
        path: int,
        seed: int,
        chains: int,
        cores: int | None,
        progressbar: bool,
        checkpoint: Checkpoint | None,
    ) -> None:
        if cores is not None and cores < 1:
            raise ValueError(f"`cores` must be at least 1, got {cores}.")
        count = threads(cores)
        side_by_side = min(chains, count)
        self._kernel, self._path, self._seed, self._chains = kernel, path, seed, chains
        self._checkpoint, self._stages = checkpoint, Stages(progressbar)
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._chain_threads = NativeThreads(side_by_side, "consilience-populations")
        self._row_threads = NativeThreads(count, "consilience-particles")
        self._target = TemperedDensity(density, self._row_threads, -(-count // side_by_side))
        self.populations: list[Population] = []
        if kernel.needs_gradient:  # compiled once, and not by every thread
            self._target.slopes(np.zeros((1, density.dimension)), 1.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._chain_threads.shutdown(cancel_futures=True)
        self._row_threads.shutdown()
        self._stages.close()
        if self._checkpoint is not None:
            if error is not None and self.populations:
                self._keep(last=True)
            self._checkpoint.close()

    def begin(self, starts: PriorDraws) -> None:
        """Populations at draws of the prior."""
        self.populations = [
            begun(self._target, points, self._seed, i, starts.log_share) for i, points in enumerate(starts.chains)
        ]

    def ended(self, checks: bool, stacklevel: int) -> list[Population]:
        """The populations at the posterior.

        raises   what `advanced` raises; KeyboardInterrupt, after the stages under way
        warns    where particles had not forgotten where they began, if `checks`
        """
        self._keep(last=False)
        runs = [self._chain_threads.submit(self._chain, i) for i in range(self._chains)]
        waiting = set(runs)
        while waiting:
            finished, waiting = wait(waiting, INTERVAL, FIRST_EXCEPTION)
            for run in finished:
                run.result()
            self._stages.show(self.populations)
        self._keep(last=True)
        self._stages.finish(self.populations)
        unsettled = [p.unsettled for p in self.populations]
        if checks and any(unsettled):
            warnings.warn(
                f"in {sum(unsettled)} of {sum(len(p.betas) for p in self.populations)} stages particles "
                f"still resembled those they began as after {MOST_MOVES} moves: draws and evidence may be wrong. Take "
                "another kernel, or more `draws`.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        if self._checkpoint is not None and self._checkpoint.fault is not None:
            warnings.warn(
                f"the checkpoint was not written to the end: {self._checkpoint.fault}",
                ConsilienceWarning,
                stacklevel=stacklevel,
            )
        return self.populations

    def _chain(self, chain: int) -> None:
        while not self.populations[chain].done and not self._stop.is_set():
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

    raises   SamplingError for a class that is not defined in this process
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
