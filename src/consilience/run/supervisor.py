"""A run of fixed length: chains on threads, progress to listeners, an end that leaves nothing behind.

A log density, a kernel and starting points enter; a `Run` leaves. Draws are a function of density, kernel,
starting points, seed and lengths alone: neither the number of threads nor their timing nor listeners have a
part in them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consilience.errors import InitialPointError, SamplingError
from consilience.inference.density import LogDensity
from consilience.inference.kernel import Kernel, Rows
from consilience.inference.streams import chain_key
from consilience.native.blas import single_threaded
from consilience.run.events import Listener, RunEnded, RunStarted
from consilience.run.interrupt import StopRequest, interrupts_stop
from consilience.run.reports import Reports
from consilience.run.result import Run, name_statistics
from consilience.run.workers import Job, Workers, usable_cores

TICK = 0.1  # seconds between two reports


def run_chains(
    density: LogDensity,
    kernel: Kernel,
    initial_points: ArrayLike,
    *,
    draws: int,
    tune: int,
    seed: int,
    cores: int | None = None,
    listeners: Iterable[Listener] = (),
) -> Run:
    """Run one chain from each starting point.

    density          the target
    kernel           the sampler: `NutsKernel()`, `HmcKernel()`, `MetropolisKernel()`
    initial_points   float64 (chain, coordinate), unconstrained
    draws, tune      transitions of each chain to keep, and to tune with before; draws + tune >= 1
    seed             any 64-bit integer; chain c has the same draws however many chains there are
    cores            greatest number of threads; by default the processors this process may use
    listeners        are given `RunStarted`, about ten times a second one `Progress` per chain, and
                     `RunEnded`, in the thread that called this function
    returns          the run; after Ctrl-C, which is safe at any moment and as often as one likes, the draws
                     made so far, all chains cut to the same length
    raises           InitialPointError if a starting point has no finite log density or gradient;
                     SamplingError if a chain fails (the others are stopped); whatever a listener raises
    """
    points = check_points(initial_points, density.dimension)
    if draws < 0 or tune < 0 or draws + tune < 1:
        raise SamplingError(f"a run needs draws >= 0 and tune >= 0, not both 0; got draws={draws}, tune={tune}.")
    began = time.perf_counter()
    chains, rows = len(points), tune + draws
    request = StopRequest()
    all_draws = np.empty((chains, rows, density.dimension))
    table = np.empty((chains, len(kernel.statistics), rows))
    jobs = [
        Job(
            index=c,
            chain=kernel.chain(
                density, points[c], chain_key(seed, c), tune, Rows(all_draws[c], table[c]), request.flag
            ),
            statistics=tuple(kernel.statistics),
            table=table[c],
            rows=rows,
            tune=tune,
        )
        for c in range(chains)
    ]
    threads = min(chains, usable_cores() if cores is None else max(1, cores))
    reports = Reports(jobs, tuple(listeners), request)
    workers = Workers(jobs, threads, request)
    with interrupts_stop(request), single_threaded():
        try:
            reports.send(RunStarted(chains, threads, tune, draws, density.dimension))
            workers.start()
            while not workers.idle.wait(TICK):
                reports.progress()
        except KeyboardInterrupt:  # comes only where `interrupts_stop` could not take the signal over
            request.interrupt()
        finally:
            workers.stop()
        raise_failure(jobs)

        kept = min(job.done for job in jobs)
        tuned = min(tune, kept)
        run = Run(
            draws=all_draws[:, tuned:kept],
            statistics=name_statistics(table, kernel.statistics, tuned, kept),
            warmup_draws=all_draws[:, :tuned],
            warmup_statistics=name_statistics(table, kernel.statistics, 0, tuned),
            divergences=tuple(job.chain.divergences() for job in jobs),
            tuning=tuple(job.chain.tuning() for job in jobs),
            made=tuple(job.done for job in jobs),
            evaluations=tuple(job.chain.evaluations for job in jobs),
            chain_seconds=tuple(job.seconds for job in jobs),
            tuning_seconds=tuple(job.tuning_seconds for job in jobs),
            seconds=time.perf_counter() - began,
            interrupted=request.by_user,
            seed=seed,
        )
        reports.progress()
        reports.send(RunEnded(run.interrupted, run.draws.shape[1], run.seconds))
    return run


def check_points(initial_points: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Starting points as float64 (chain, coordinate); InitialPointError if they have another shape."""
    points = np.ascontiguousarray(initial_points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != dimension or len(points) == 0:
        raise InitialPointError(
            f"initial_points needs the shape (chains, {dimension}) with chains >= 1, got {points.shape}."
        )
    return points


def raise_failure(jobs: list[Job]) -> None:
    """Raise what the first failing chain raised, with the chain's number."""
    for job in jobs:
        failure = job.failure
        if failure is None:
            continue
        if isinstance(failure, InitialPointError):
            raise InitialPointError(f"chain {job.index}: {failure}") from failure
        raise SamplingError(
            f"chain {job.index} failed after {job.done} of {job.rows} transitions with "
            f"{type(failure).__name__}: {failure}. The other chains were stopped."
        ) from failure
