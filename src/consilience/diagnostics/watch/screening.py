"""Whether chains may sit in different places: some draws enter, the scalars worth a closer look leave.

Chains that differ in place or width differ in how many of their draws lie beside a point, or in an interval. Eight
neighbouring scalars are looked at side by side: element s of a row belongs to the scalar `first` + s.
"""

from __future__ import annotations

from consilience.diagnostics.watch.columns import ColumnBlock, fetch_some
from consilience.diagnostics.watch.judgement import GROUP
from consilience.diagnostics.watch.series import Workspace
from consilience.native.mathematics import inf, maximum
from consilience.native.typed_python import Array, f64, i64, native, simd, stack

FEW = 32  # draws of all chains, of which the median and quartiles are taken


@native
def sort_rows(rows: Array[f64], count: i64) -> None:
    """Bring each scalar's numbers in ascending order; neighbours change places, so that none has to wait."""
    for turn in range(count):
        for k in range(turn % 2, count - 1, 2):
            upper = rows[GROUP * k :]
            lower = rows[GROUP * k + GROUP :]
            for s in simd(GROUP):
                less = min(upper[s], lower[s])
                more = max(upper[s], lower[s])
                upper[s] = less
                lower[s] = more


@native
def take_few(rows: Array[f64], chains: i64, draws: i64, few: Array[f64]) -> i64:
    """Copies of a few evenly spread rows of each chain; gives their number."""
    each = min(draws, max(1, FEW // chains))
    for c in range(chains):
        for k in range(each):
            row = rows[GROUP * (c * draws + (2 * k + 1) * draws // (2 * each)) :]
            copy = few[GROUP * (c * each + k) :]
            for s in simd(GROUP):
                copy[s] = row[s]
    return chains * each


@native(shared=True)
def differences_of_shares(
    rows: Array[f64], chains: i64, draws: i64, above: Array[f64], upto: Array[f64], found: Array[f64]
) -> None:
    """Variance of the chains' shares of draws above one number and up to another, over that of one such draw."""
    share = stack(f64, GROUP)
    total = stack(f64, GROUP)
    squares = stack(f64, GROUP)
    for s in simd(GROUP):
        total[s] = 0.0
        squares[s] = 0.0
    part = 1.0 / f64(draws)
    for c in range(chains):
        for s in simd(GROUP):
            share[s] = 0.0
        i = 0
        while i + 2 <= draws:
            row = rows[GROUP * (c * draws + i) :]
            for s in simd(GROUP):
                here = 1.0 if row[s] > above[s] and row[s] <= upto[s] else 0.0
                share[s] += here + (1.0 if row[GROUP + s] > above[s] and row[GROUP + s] <= upto[s] else 0.0)
            i += 2
        while i < draws:
            row = rows[GROUP * (c * draws + i) :]
            for s in simd(GROUP):
                share[s] += 1.0 if row[s] > above[s] and row[s] <= upto[s] else 0.0
            i += 1
        for s in simd(GROUP):
            own = share[s] * part
            total[s] += own
            squares[s] += own * own
    one = 1.0 / f64(chains)
    others = 1.0 / f64(chains - 1)
    for s in simd(GROUP):
        mean = total[s] * one
        within = mean * (1.0 - mean)
        between = maximum(0.0, squares[s] - total[s] * mean) * others
        found[s] = between / within if within > 0.0 else 0.0


@native
def screen(
    block: ColumnBlock,
    blocks: i64,
    work: Workspace,
    chains: i64,
    draws: i64,
    some: i64,
    scalars: i64,
    difference: f64,
    unusable: Array[f64],
    found: Array[i64],
) -> i64:
    """The scalars whose chains differ, by `some` draws of each; gives their number.

    Two shares of draws are compared, below about the median, and between about the quartiles: the first tells
    chains in different places, the second chains of different width.
    """
    count = 0
    first = 0
    lowest = stack(f64, GROUP)
    of_place = stack(f64, GROUP)
    of_width = stack(f64, GROUP)
    for s in simd(GROUP):
        lowest[s] = -inf
    rows = work.some
    few_rows = work.some[GROUP * chains * some :]
    while first < scalars:
        together = min(GROUP, scalars - first)
        fetch_some(block, blocks, first, together, draws, some, rows, 1, GROUP)
        few = take_few(rows, chains, some, few_rows)
        sort_rows(few_rows, few)
        median = few_rows[GROUP * (few // 2) :]
        lower = few_rows[GROUP * (few // 4) :]
        upper = few_rows[GROUP * (few - 1 - few // 4) :]
        differences_of_shares(rows, chains, some, lowest, median, of_place)
        differences_of_shares(rows, chains, some, lower, upper, of_width)
        for s in range(together):
            if unusable[first + s] == 0.0 and (of_place[s] > difference or of_width[s] > difference):
                found[count] = first + s
                count += 1
        first += GROUP
    return count
