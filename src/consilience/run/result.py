"""What a run leaves: draws, statistics and what the chains have learnt, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.inference.kernel import Divergences, Tuning


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    draws               float64 (chain, draw, coordinate), unconstrained; contiguous within a chain
    statistics          per statistic an array (chain, draw)
    warmup_draws        float64 (chain, tuning transition, coordinate)
    warmup_statistics   per statistic an array (chain, tuning transition)
    divergences         per chain; transitions are counted from the first tuning transition on
    tuning              per chain: step size and metric
    made                per chain: transitions made; more than are kept if chains were cut to one length
    evaluations         per chain: evaluations of the log density
    chain_seconds       per chain: time spent on it
    tuning_seconds      per chain: how much of this was before the end of tuning
    seconds             time of the whole run
    interrupted         whether the user stopped it before its end
    seed                the seed
    """

    draws: NDArray[np.float64]
    statistics: Mapping[str, NDArray[Any]]
    warmup_draws: NDArray[np.float64]
    warmup_statistics: Mapping[str, NDArray[Any]]
    divergences: tuple[Divergences, ...]
    tuning: tuple[Tuning, ...]
    made: tuple[int, ...]
    evaluations: tuple[int, ...]
    chain_seconds: tuple[float, ...]
    tuning_seconds: tuple[float, ...]
    seconds: float
    interrupted: bool
    seed: int


def name_statistics(
    table: NDArray[np.float64], types: Mapping[str, str], begin: int, end: int
) -> dict[str, NDArray[Any]]:
    """Transitions begin:end of a table (chain, statistic, transition), one array per statistic."""
    return {
        name: table[:, column, begin:end].astype(np.dtype(type_)) for column, (name, type_) in enumerate(types.items())
    }
