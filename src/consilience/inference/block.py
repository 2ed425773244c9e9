"""The memory a chain writes to: draws, statistics and divergences of one window, allocated before it begins.

Row t belongs to the t-th transition of the window. What is done with the rows stays outside.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.hamiltonian import copy
from consilience.inference.kernel import Rows
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd


@record
class Block:
    """Rows for the draws and statistics of one chain and one window.

    rows              transitions there is room for
    filled            transitions written so far
    columns           statistics per transition
    draws             f64[rows, dimension]
    finite            whether all draws written so far are finite
    statistics        f64[columns, rows]; counts and flags are stored as numbers too
    with_gradients    whether gradients are stored as well
    gradients         f64[rows, dimension]
    divergences       divergences so far
    divergence_rows   their transitions, i64[rows]
    divergence_from, divergence_to   where the diverging leapfrog steps began and ended, f64[rows, dimension]
    """

    rows: i64
    filled: i64
    columns: i64
    draws: Array[f64]
    finite: boolean
    statistics: Array[f64]
    with_gradients: boolean
    gradients: Array[f64]
    divergences: i64
    divergence_rows: Array[i64]
    divergence_from: Array[f64]
    divergence_to: Array[f64]


def new_block(rows: Rows) -> Block:
    """A block on this memory, with room for a divergence in each of its rows."""
    transitions, dimension = rows.draws.shape
    return Block(
        rows=transitions,
        filled=0,
        columns=len(rows.statistics),
        draws=rows.draws.reshape(-1),
        finite=True,
        statistics=rows.statistics.reshape(-1),
        with_gradients=rows.gradients is not None,
        gradients=np.empty(1) if rows.gradients is None else rows.gradients.reshape(-1),
        divergences=0,
        # the system hands out memory when it is written to, so room that is not used costs nothing
        divergence_rows=np.empty(transitions, np.int64),
        divergence_from=np.empty(transitions * dimension),
        divergence_to=np.empty(transitions * dimension),
    )


@native
def put(block: Block, column: i64, row: i64, value: f64) -> None:
    """Store one statistic of one transition."""
    block.statistics[column * block.rows + row] = value


@native
def put_point(block: Block, row: i64, position: Array[f64], gradient: Array[f64], dimension: i64) -> None:
    """Store where a transition led to."""
    copy(position, block.draws[row * dimension :], dimension)
    remainder = 0.0  # NaN where a number less itself is not 0
    for i in simd(dimension):
        remainder += position[i] - position[i]
    if remainder != 0.0:
        block.finite = False
    if block.with_gradients:
        copy(gradient, block.gradients[row * dimension :], dimension)


@native(rare=True)
def put_divergence(block: Block, row: i64, begin: Array[f64], end: Array[f64], dimension: i64) -> None:
    """Store the two ends of the leapfrog step that diverged in transition `row`."""
    at = block.divergences
    block.divergence_rows[at] = row
    copy(begin, block.divergence_from[at * dimension :], dimension)
    copy(end, block.divergence_to[at * dimension :], dimension)
    block.divergences += 1
