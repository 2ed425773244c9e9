"""Runs of kernels on densities without a model: started by hand, or to their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from consilience.events import Listener
from consilience.inference import Kernel, LogDensity
from consilience.run import Monitored, Run, RunPlan, RunResult
from consilience.run.launch import new_leg
from consilience.run.run import Keep


def launch(
    density: LogDensity,
    kernel: Kernel,
    initial_points: ArrayLike,
    plan: RunPlan,
    *,
    seed: int,
    listeners: Iterable[Listener] = (),
    keep: Keep | None = None,
    **settings: Any,
) -> Run:
    """A run, ready to start: see `Run` and `new_leg`, which takes the settings."""
    return Run(new_leg(density, kernel, initial_points, plan, seed=seed, **settings), seed, listeners, keep)


def run_chains(
    density: LogDensity,
    kernel: Kernel,
    initial_points: ArrayLike,
    plan: RunPlan | None = None,
    *,
    seed: int,
    cores: int | None = None,
    monitored: Monitored | None = None,
    listeners: Iterable[Listener] = (),
) -> RunResult:
    """Run to the end; the arguments are those of `new_leg`.

    Returns: the run; after Ctrl-C, which is safe at any moment and as often as one likes, with the draws made so far,
    all chains cut to the same length. Raises InitialPointError. Raises SamplingError where no chain was left.
    """
    running = launch(
        density,
        kernel,
        initial_points,
        plan or RunPlan(),
        seed=seed,
        cores=cores,
        monitored=monitored,
        listeners=listeners,
    )
    running.start(background=False)
    run = running.wait()
    running.listeners.warn(stacklevel=2)
    return run
