"""What a run leaves: draws, statistics, what the chains have learnt and how it all came to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.events import CheckFigures
from consilience.inference.columns import Columns
from consilience.inference.messages import Divergences, Tuning
from consilience.record import Record
from consilience.run.stopping import Verdict


class Run(Record):
    """The result of a run.

    chains              numbers of the chains that are part of it; the first axes below follow them
    draws               float64 (chain, draw, coordinate), unconstrained
    statistics          per statistic an array (chain, draw)
    warmup_draws        float64 (chain, tuning transition, coordinate); no transitions unless they were kept
    warmup_statistics   per statistic an array (chain, tuning transition)
    divergences         per chain, of the draws
    tuning              per chain: step size and metric
    evaluations         per chain: evaluations of the log density, those of tuning included
    tuning_evaluations  of all chains, by the end of tuning, draws that were given up included
    tuned               transitions of each chain in the first tuning
    windows             what the tuner reports
    restarts            reasons for which draws were given up
    verdict             how it ended
    check               what the last check found
    rank                directions of the metric
    notes               faults of chains and other things to know, in words
    constants           monitored quantities that never vary
    chain_seconds       per chain: time spent on it
    tuning_seconds      of all chains
    check_seconds       time spent on checks and other decisions
    seconds             time of the whole run
    interrupted         whether the user stopped it before its end
    seed                the seed
    superchains         how many the chains make up, by which R-hat judges; 0: they are judged one by one
    """

    chains: tuple[int, ...]
    draws: NDArray[np.float64]
    statistics: Mapping[str, NDArray[Any]]
    warmup_draws: NDArray[np.float64]
    warmup_statistics: Mapping[str, NDArray[Any]]
    divergences: tuple[Divergences, ...]
    tuning: tuple[Tuning, ...]
    evaluations: tuple[int, ...]
    tuning_evaluations: int
    tuned: int
    windows: tuple[Any, ...]
    restarts: tuple[str, ...]
    verdict: Verdict
    check: CheckFigures | None
    rank: int
    notes: tuple[str, ...]
    constants: tuple[str, ...]
    chain_seconds: tuple[float, ...]
    tuning_seconds: float
    check_seconds: float
    seconds: float
    interrupted: bool
    seed: int
    superchains: int = 0


def name_statistics(table: NDArray[np.float64], columns: Columns) -> dict[str, NDArray[Any]]:
    """A table (chain, statistic, transition) as one array per statistic."""
    return {name: table[:, place].astype(np.dtype(type_)) for place, (name, type_) in enumerate(columns.types.items())}
