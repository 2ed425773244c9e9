"""Where a chain is: its worker enters, `ChainProgress` leaves. Only rows that are finished are looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from consilience.events import ChainProgress, Phase
from consilience.inference.columns import Columns, Role
from consilience.inference.messages import Matrix, Window
from consilience.run.threads.chain_worker import RECENT, ChainWorker


def state(
    worker: ChainWorker,
    columns: Columns,
    drawn: int,
    taken: Window | None,
    divergences: Mapping[int, int],
    stopping: bool,
    ended: bool,
) -> ChainProgress:
    """The state of one chain; the arguments are those of `Engine.states`."""
    # Read once, the rows first: a worker may be changing them, and new rows are empty.
    segment, rows, done = worker.segment, worker.rows, worker.done
    draws_now = segment is not None and segment.phase == "sampling"  # from the moment on that it is asked for
    sampling = draws_now and worker.ready
    words = None if rows is None or not worker.ready else rows.statistics[:done]

    def recent(role: Role, count: int) -> float:
        place = columns.place(role)
        if place is None:
            return math.nan
        if taken is not None and (ended or words is None or not done):
            latest = taken.statistics[place, -count:]  # at the end, and where a segment has only begun
        elif words is not None:
            latest = columns.column(words[-count:], place)
        else:
            return math.nan
        return float(np.mean(latest)) if len(latest) else math.nan

    # What was not taken in yet; the rows stay in place after that.
    ahead = worker.total - worker.after[0]
    fresh = 0
    diverging = columns.place("divergence")
    if sampling and ahead and words is not None and diverging is not None:
        fresh = int(np.count_nonzero(columns.column(words, diverging) == 1))
    return ChainProgress(
        chain=worker.index,
        phase=_phase(worker, draws_now, stopping, ended),
        done=worker.total,
        draws=drawn + (ahead if sampling else 0),
        divergences=divergences.get(worker.index, 0) + fresh,
        step_size=recent("step size", 1),
        tree_depth=recent("depth", RECENT),
        gradients=worker.evaluations,
        seconds=worker.seconds,
    )


def under_way(worker: ChainWorker, columns: Columns, number: int) -> tuple[Matrix, Matrix] | None:
    """The rows of a worker's segment that are finished, if it is at work on this one: nobody writes into them again."""
    life, segment, rows, done = worker.life, worker.segment, worker.rows, worker.done
    if worker.number != number or segment is None or segment.phase != "sampling" or not worker.ready or rows is None:
        return None
    draws, table = worker.folded(rows.draws[:done]), columns.table(rows.statistics[:done].copy())
    changed = worker.life != life or worker.number != number or worker.rows is not rows
    return None if changed or not np.isfinite(draws).all() else (draws, table)


def _phase(worker: ChainWorker, sampling: bool, stopping: bool, ended: bool) -> Phase:
    if worker.lost:
        return "failed"
    if ended:
        return "done"
    if stopping:
        return "stopped"
    if worker.number < 0:
        return "waiting"
    return "sampling" if sampling else "tuning"
