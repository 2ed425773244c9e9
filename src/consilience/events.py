"""What a run tells its listeners: small immutable records, one after the other, never from a thread that samples.

A listener is any callable that takes one event. It may be slow without slowing the chains. If it raises
KeyboardInterrupt the run ends as by Ctrl-C; after any other exception it is not called again, and the run goes
on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from consilience.record import Record

Phase: TypeAlias = Literal["waiting", "tuning", "sampling", "done", "stopped", "failed"]
Status: TypeAlias = Literal[
    "converged", "converged_with_divergences", "not_converged", "chains_disagree", "interrupted", "completed"
]


class RunStarted(Record):
    """A run begins.

    Parameters
    ----------
    chains, threads : int
        Numbers of chains and of threads that work on them.
    dimension : int
        Number of coordinates.
    tune, draws : int or None
        Transitions of each chain, tuning and afterwards; None where the run decides.
    target_ess : float or None
        Effective draws asked for; None where there is no such rule.
    min_draws : int
        Draws of each chain before the first check, and at most; None: as many as it takes.
    max_draws : int or None
        Draws of each chain before the first check, and at most; None: as many as it takes.
    max_tune : int
        Tuning transitions of each chain at most.
    """

    chains: int
    threads: int
    dimension: int
    tune: int | None
    draws: int | None
    target_ess: float | None
    min_draws: int
    max_draws: int | None
    max_tune: int


class ChainProgress(Record):
    """Where one chain is.

    Parameters
    ----------
    done : int
        Transitions so far, those of tuning included.
    draws : int
        Transitions after tuning.
    divergences : int
        Divergences after tuning.
    step_size : float
        Step size (or scale) of the last transition; NaN before the first one.
    tree_depth : float
        Mean depth of the latest transitions; NaN for kernels without trees.
    gradients : int
        Evaluations of the log density so far.
    seconds : float
        Time spent working on this chain.
    """

    chain: int
    phase: Phase
    done: int
    draws: int
    divergences: int
    step_size: float
    tree_depth: float
    gradients: int
    seconds: float


class CheckFigures(Record):
    """What the last check of convergence found: the worst figures it came to know.

    Parameters
    ----------
    draws : int
        Draws of each chain that it saw.
    rhat : float
        Largest R-hat, and of what.
    rhat_name : str
        Largest R-hat, and of what.
    ess : float
        Smallest effective size, bulk or tail, and of what.
    ess_name : str
        Smallest effective size, bulk or tail, and of what.
    target_ess : float or None
        What is asked for.
    target_rhat : float
        What is asked for.
    next_check : int
        Draws of each chain at the next one.
    passed : bool
        Whether all that was asked for is there.
    needed : float, default math.nan
        Draws of each chain that should do, as forecast; NaN where nobody can tell.
    nearest : tuple of tuple of (str, float, float), default ()
        Name, R-hat and smaller effective size of the scalars in the worst states among those examined.
    """

    draws: int
    rhat: float
    rhat_name: str
    ess: float
    ess_name: str
    target_ess: float | None
    target_rhat: float
    next_check: int
    passed: bool
    needed: float = math.nan
    nearest: tuple[tuple[str, float, float], ...] = ()


class Progress(Record):
    """Where all chains are, about ten times a second; `check` is None before the first check."""

    chains: tuple[ChainProgress, ...]
    check: CheckFigures | None
    seconds: float
    paused: bool


class StepProgress(Record):
    """Where an estimator that advances in steps is, about ten times a second where a step does not take longer.

    `done`: steps that were made, and how many there will be at most; None where that is not known.
    `most`: steps that were made, and how many there will be at most; None where that is not known.
    `words`: figures, in words.
    `seconds`: since it began.
    `paused`: whether it rests.
    """

    done: int
    most: int | None
    words: str
    seconds: float
    paused: bool


class DrawsMade(Record):
    """Draws first, first + 1, … of all chains, final unless the run starts again (`Restarted`).

    `draws`: float64 (chain, draw, coordinate), unconstrained. `statistics`: per statistic an array (chain, draw).
    """

    first: int
    draws: NDArray[np.float64]
    statistics: Mapping[str, NDArray[Any]]


class Restarted(Record):
    """All draws so far have become part of the tuning."""

    reason: str


class ChainMoved(Record):
    """A chain that failed while tuning, or came to a place without mass, goes on elsewhere."""

    chain: int
    reason: str


class ChainLost(Record):
    """A chain failed again and is left out from now on, with all its draws."""

    chain: int
    reason: str


class WorkerNotice(Record):
    """Something happened to workers of an executor that changes no draw: one was lost, or did not answer."""

    reason: str


class RunEnded(Record):
    """All chains have stopped.

    `status`: how the run ended: see `consilience.sample.sample`. `reason`: why, in words; empty where there is nothing
    to say. `draws`: draws kept from each chain. `seconds`: time from start to end.
    """

    status: Status
    reason: str
    draws: int
    seconds: float


Event: TypeAlias = (
    RunStarted
    | Progress
    | StepProgress
    | DrawsMade
    | CheckFigures
    | Restarted
    | ChainMoved
    | ChainLost
    | WorkerNotice
    | RunEnded
)
Listener: TypeAlias = Callable[[Event], None]
