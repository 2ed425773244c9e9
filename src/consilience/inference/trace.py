"""The memory a chain writes to: draws, statistics and divergences of one window, allocated before it begins.

Row t belongs to the t-th transition of the window. What is done with the rows stays outside.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.hamiltonian import copy
from consilience.inference.messages import Rows
from consilience.native.typed_python import Array, boolean, f64, i64, native, record


@record
class Trace:
    """Rows for the draws and statistics of one chain and one window.

    `rows`: transitions there is room for.
    `filled`: transitions written so far.
    `words`: 8-byte words of the statistics of one transition.
    `draws`: f64[rows, dimension].
    `statistics`: i64[rows, words]: the fields of the kernels' Info as they lie in memory.
    `with_gradients`: whether gradients are stored as well.
    `gradients`: f64[rows, dimension].
    `divergences`: divergences so far.
    `divergence_rows`: their transitions, i64[room].
    `divergence_from`, `divergence_to`: where the diverging leapfrog steps began and ended, f64[room, dimension].
    """

    rows: i64
    filled: i64
    words: i64
    draws: Array[f64]
    statistics: Array[i64]
    with_gradients: boolean
    gradients: Array[f64]
    divergences: i64
    divergence_rows: Array[i64]
    divergence_from: Array[f64]
    divergence_to: Array[f64]


def new_trace(rows: Rows, kernels: int = 1) -> Trace:
    """A trace on this memory, with room for a divergence of each of so many kernels in each of its rows."""
    transitions, dimension = rows.draws.shape
    room = transitions * kernels
    return Trace(
        rows=transitions,
        filled=0,
        words=rows.statistics.shape[1],
        draws=rows.draws.reshape(-1),
        statistics=rows.statistics.reshape(-1),
        with_gradients=rows.gradients is not None,
        gradients=np.empty(1) if rows.gradients is None else rows.gradients.reshape(-1),
        divergences=0,
        # the system hands out memory when it is written to, so room that is not used costs nothing
        divergence_rows=np.empty(room, np.int64),
        divergence_from=np.empty(room * dimension),
        divergence_to=np.empty(room * dimension),
    )


@native
def put_position(trace: Trace, row: i64, position: Array[f64], dimension: i64) -> None:
    """Store where a transition led to."""
    copy(position, trace.draws[row * dimension :], dimension)


@native(rare=True)
def put_divergence(trace: Trace, row: i64, begin: Array[f64], end: Array[f64], dimension: i64) -> None:
    """Store the two ends of the leapfrog step that diverged in transition `row`."""
    at = trace.divergences
    trace.divergence_rows[at] = row
    copy(begin, trace.divergence_from[at * dimension :], dimension)
    copy(end, trace.divergence_to[at * dimension :], dimension)
    trace.divergences += 1
