"""The memory a chain writes to: draws, statistics and divergences, allocated before the first transition.

Row t belongs to transition t of one chain, tuning included. What is done with the rows stays outside.
"""

from __future__ import annotations

from consilience.inference.hamiltonian import copy
from consilience.native.typed_python import Array, f64, i64, native, record


@record
class Block:
    """Rows for the draws and statistics of one chain.

    rows              transitions there is room for
    columns           statistics per transition
    draws             f64[rows, dimension]
    statistics        f64[columns, rows]; counts and flags are stored as numbers too
    divergences       divergences so far, those of tuning included
    room              divergences there is room for; further ones are counted only
    divergence_rows   their transitions, i64[room]
    divergence_from, divergence_to   where the diverging leapfrog steps began and ended, f64[room, dimension]
    """

    rows: i64
    columns: i64
    draws: Array[f64]
    statistics: Array[f64]
    divergences: i64
    room: i64
    divergence_rows: Array[i64]
    divergence_from: Array[f64]
    divergence_to: Array[f64]


@native
def put(block: Block, column: i64, row: i64, value: f64) -> None:
    """Store one statistic of one transition."""
    block.statistics[column * block.rows + row] = value


@native
def put_divergence(block: Block, row: i64, begin: Array[f64], end: Array[f64], dimension: i64) -> None:
    """Store the two ends of the leapfrog step that diverged in transition `row`."""
    if block.divergences < block.room:
        at = block.divergences
        block.divergence_rows[at] = row
        copy(begin, block.divergence_from[at * dimension :], dimension)
        copy(end, block.divergence_to[at * dimension :], dimension)
    block.divergences += 1
