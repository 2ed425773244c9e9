"""Which scalars move slowly: the newest draws of all enter, guesses at their autocorrelation times leave.

A guess only tells where to look first: it is of draws, not of their ranks, and sees no farther than the next draw.
"""

from __future__ import annotations

from consilience.diagnostics.watch.columns import ColumnBlock
from consilience.native.typed_python import Array, f64, i64, native, simd

MOST_DRAWS = 50  # of each chain


@native
def autocovariance(
    block: ColumnBlock, draws: i64, sums: Array[f64], variance: Array[f64], covariance: Array[f64]
) -> None:
    """Add each scalar's variance, and its covariance at lag 1, in the first draws of a block; `sums` is memory."""
    scalars = block.scalars
    origin = block.values
    squares = sums[scalars:]
    products = sums[2 * scalars :]
    for s in simd(scalars):
        sums[s] = 0.0
        squares[s] = 0.0
        products[s] = 0.0
    for i in range(1, draws):
        before = block.values[(i - 1) * scalars :]
        row = block.values[i * scalars :]
        for s in simd(scalars):
            here = row[s] - origin[s]
            sums[s] += here
            squares[s] += here * here
            products[s] += here * (before[s] - origin[s])
    share = 1.0 / f64(draws)
    for s in simd(scalars):
        mean = share * sums[s]
        variance[s] += share * squares[s] - mean * mean
        covariance[s] += share * products[s] - mean * mean


@native
def guess_times(block: ColumnBlock, blocks: i64, memory: Array[f64], times: Array[f64]) -> None:
    """The autocorrelation time that each scalar would have if it forgot at every step what it forgets at one.

    `memory` is for five times as many numbers as there are scalars.
    """
    scalars = block.scalars
    variance = memory[3 * scalars :]
    covariance = memory[4 * scalars :]
    for s in simd(scalars):
        variance[s] = 0.0
        covariance[s] = 0.0
    for _ in range(blocks):
        autocovariance(block, min(block.count, MOST_DRAWS), memory, variance, covariance)
        block = block.previous
    for s in simd(scalars):
        forgotten = variance[s] - covariance[s]
        times[s] = (variance[s] + covariance[s]) / forgotten if forgotten > 0.0 else 1.0
