"""What a run tells its listeners: small immutable records, always from the thread that started the run.

A listener is any callable that takes one event. It may be slow without slowing the chains; if it raises, the
run stops and the exception goes on to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Phase: TypeAlias = Literal["waiting", "tuning", "sampling", "done", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins.

    chains, threads   numbers of chains and of threads that work on them
    tune, draws       transitions of each chain, tuning and afterwards
    dimension         number of coordinates
    """

    chains: int
    threads: int
    tune: int
    draws: int
    dimension: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where one chain is.

    done          transitions so far, those of tuning included
    divergences   divergences after tuning
    step_size     step size (or scale) of the last transition; NaN before the first one
    tree_depth    mean depth of the latest transitions; NaN for kernels without trees
    gradients     evaluations of the log density so far
    seconds       time spent working on this chain
    """

    chain: int
    phase: Phase
    done: int
    divergences: int
    step_size: float
    tree_depth: float
    gradients: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunEnded:
    """All chains have stopped.

    interrupted   whether the user stopped the run before its end
    draws         draws kept from each chain
    seconds       time from start to end
    """

    interrupted: bool
    draws: int
    seconds: float


Event: TypeAlias = RunStarted | Progress | RunEnded
Listener: TypeAlias = Callable[[Event], None]
