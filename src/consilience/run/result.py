"""What a run leaves: draws, statistics, what the chains have learnt and how it all came to its end.

Its arrays are made of windows that follow each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.events import CheckFigures
from consilience.inference.columns import ELEMENT, Columns
from consilience.inference.messages import (
    ChainTuning,
    Divergences,
    JointWindows,
    Window,
    draws_by_chain,
    statistics_by_chain,
)
from consilience.record import Record, replace
from consilience.run.verdicts import Sight, Verdict


class RunResult(Record):
    """The result of a run.

    Parameters
    ----------
    chains : tuple of int
        Numbers of the chains that are part of it; the first axes below follow them.
    draws : ndarray
        Float64 (chain, draw, coordinate), unconstrained.
    statistics : mapping of str to ndarray
        Per statistic an array (chain, draw).
    warmup_draws : ndarray
        Float64 (chain, tuning transition, coordinate); no transitions unless they were kept.
    warmup_statistics : mapping of str to ndarray
        Per statistic an array (chain, tuning transition).
    divergences : tuple of Divergences
        Per chain, of the draws.
    tuning : tuple of ChainTuning
        Per chain: step size and metric.
    evaluations : tuple of int
        Per chain: evaluations of the log density, those of tuning included.
    tuner_evaluations : int
        Those that the tuner made itself, beside the chains', as for a curvature.
    tuning_evaluations : int
        Of chains and tuner, by the end of tuning, draws that were given up included.
    tuned : int
        Transitions of each chain in the first tuning.
    windows : tuple
        What the tuner reports.
    restarts : tuple of str
        Reasons for which draws were given up.
    verdict : Verdict
        How it ended.
    check : CheckFigures or None
        What the last check found.
    rank : int
        Directions of the metric.
    notes : tuple of str
        Faults of chains of which the draws bear traces, in words.
    moves : tuple of str
        Chains that went on elsewhere while tuning, in words.
    constants : tuple of str
        Monitored quantities that never vary.
    chain_seconds : tuple of float
        Per chain: time spent on it.
    tuning_seconds : float
        Of all chains.
    check_seconds : float
        Time spent on checks and other decisions.
    seconds : float
        Time of the whole run.
    interrupted : bool
        Whether the user stopped it before its end.
    seed : int
        The seed.
    superchains : int, default 0
        How many the chains make up, by which R-hat judges; 0: they are judged one by one.
    diverged : Sight, optional
        What draws showed that were given up for divergences; None: there are none.
    """

    chains: tuple[int, ...]
    draws: NDArray[np.float64]
    statistics: Mapping[str, NDArray[Any]]
    warmup_draws: NDArray[np.float64]
    warmup_statistics: Mapping[str, NDArray[Any]]
    divergences: tuple[Divergences, ...]
    tuning: tuple[ChainTuning, ...]
    evaluations: tuple[int, ...]
    tuner_evaluations: int
    tuning_evaluations: int
    tuned: int
    windows: tuple[Any, ...]
    restarts: tuple[str, ...]
    verdict: Verdict
    check: CheckFigures | None
    rank: int
    notes: tuple[str, ...]
    moves: tuple[str, ...]
    constants: tuple[str, ...]
    chain_seconds: tuple[float, ...]
    tuning_seconds: float
    check_seconds: float
    seconds: float
    interrupted: bool
    seed: int
    superchains: int = 0
    diverged: Sight | None = None


def name_statistics(table: NDArray[np.float64], columns: Columns) -> dict[str, NDArray[Any]]:
    """A table (chain, statistic, transition) as one array per statistic; elements of a vector are its last axis."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(columns.types):
        places.setdefault(name.partition(ELEMENT)[0], []).append(place)
    types = list(columns.types.items())
    return {
        name: np.moveaxis(table[:, some[0] : some[-1] + 1], 1, -1).copy()
        if ELEMENT in types[some[0]][0]
        else table[:, some[0]].astype(np.dtype(types[some[0]][1]))
        for name, some in places.items()
    }


def cut(window: Window, count: int) -> Window:
    """The first transitions of a window."""
    early = window.divergences.transitions < count
    return replace(
        window,
        draws=window.draws[:count],
        statistics=window.statistics[:, :count],
        gradients=None,
        divergences=Divergences(
            window.divergences.transitions[early], window.divergences.begins[early], window.divergences.ends[early]
        ),
    )


def joined(windows: Sequence[Window]) -> Window:
    """Windows of one chain as one; gradients are left out."""
    if len(windows) == 1:
        return windows[0]
    return replace(
        windows[-1],
        draws=np.concatenate([w.draws for w in windows]),
        statistics=np.concatenate([w.statistics for w in windows], axis=1),
        gradients=None,
        divergences=all_divergences(windows, windows[0].draws.shape[1]),
    )


def all_divergences(windows: Sequence[Window], dimension: int) -> Divergences:
    """Divergences of one chain; transitions are counted from the first window on."""
    if not windows:
        return Divergences(np.zeros(0, np.int64), np.zeros((0, dimension)), np.zeros((0, dimension)))
    begins = np.cumsum([0, *(len(w.draws) for w in windows[:-1])])
    return Divergences(
        np.concatenate([w.divergences.transitions + b for w, b in zip(windows, begins, strict=True)]),
        np.concatenate([w.divergences.begins for w in windows]),
        np.concatenate([w.divergences.ends for w in windows]),
    )


def divergences_by_chain(
    windows: Sequence[Mapping[int, Window]], chains: Sequence[int], dimension: int
) -> tuple[Divergences, ...]:
    """`all_divergences` of each chain."""
    if not all(isinstance(some, JointWindows) for some in windows):
        return tuple(all_divergences([some[c] for some in windows], dimension) for c in chains)
    diverging = {c for some in windows if isinstance(some, JointWindows) for c in some.divergences}
    none = all_divergences((), dimension)
    return tuple(all_divergences([some[c] for some in windows], dimension) if c in diverging else none for c in chains)


def stacked(windows: Mapping[int, Window], chains: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws (chain, transition, coordinate) and statistics (chain, statistic, transition) of one segment."""
    return np.asarray(draws_by_chain(windows, chains)), np.asarray(statistics_by_chain(windows, chains))


def of_all_chains(
    windows: Sequence[Mapping[int, Window]], chains: Sequence[int], dimension: int, columns: int, share: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws (chain, transition, coordinate) and statistics (chain, statistic, transition) of all segments, copied once.

    Windows of tuning may have statistics only. `share`: as soon as a window is copied it is made a view of the copy,
    so that both are there for one window at a time only.
    """
    if not windows:
        return np.empty((len(chains), 0, dimension)), np.empty((len(chains), columns, 0))
    first = chains[0]
    draws = np.empty((len(chains), sum(len(some[first].draws) for some in windows), dimension))
    table = np.empty((len(chains), columns, sum(some[first].statistics.shape[1] for some in windows)))
    row = column = 0
    for some in windows:
        rows = slice(row, row + len(some[first].draws))
        places = slice(column, column + some[first].statistics.shape[1])
        if isinstance(some, JointWindows):
            draws[:, rows], table[:, :, places] = draws_by_chain(some, chains), statistics_by_chain(some, chains)
            if share and len(chains) == len(some):
                some.draws, some.statistics = draws[:, rows], table[:, :, places]
        else:
            for place, c in enumerate(chains):
                draws[place, rows] = some[c].draws
                table[place, :, places] = some[c].statistics
                if share and isinstance(some, dict):
                    some[c] = replace(some[c], draws=draws[place, rows], statistics=table[place, :, places])
        row, column = rows.stop, places.stop
    return draws, table
