"""Whether chains may sit in different places: some draws enter, the scalars worth a closer look leave.

Chains that differ in place or width differ in how many of their draws lie beside a point, or in an interval.
"""

from __future__ import annotations

from consilience.diagnostics.watch.columns import fetch_some
from consilience.diagnostics.watch.judgement import GROUP, Shelf
from consilience.diagnostics.watch.series import Work
from consilience.native.mathematics import inf
from consilience.native.typed_python import Array, f64, i64, native, simd

FEW = 32  # draws of all chains, of which the median and quartiles are taken


@native(shared=True)
def difference_of_shares(values: Array[f64], chains: i64, draws: i64, above: f64, upto: f64) -> f64:
    """Variance of the chains' shares of draws above one number and up to another, over that of one such draw."""
    total = 0.0
    squares = 0.0
    for c in range(chains):
        own = values[c * draws :]
        inside = 0.0
        for i in simd(draws):
            inside += (1.0 if own[i] > above else 0.0) * (1.0 if own[i] <= upto else 0.0)
        share = inside / f64(draws)
        total += share
        squares += share * share
    mean = total / f64(chains)
    within = mean * (1.0 - mean)
    between = max(0.0, squares - total * mean) / f64(chains - 1)
    return between / within if within > 0.0 else 0.0


@native
def sort_few(values: Array[f64], chains: i64, draws: i64, sorted_ones: Array[f64]) -> i64:
    """A few evenly spread draws of each chain in ascending order; gives their number."""
    each = min(draws, max(1, FEW // chains))
    count = 0
    for c in range(chains):
        for k in range(each):
            value = values[c * draws + (2 * k + 1) * draws // (2 * each)]
            place = count
            while place > 0 and sorted_ones[place - 1] > value:
                sorted_ones[place] = sorted_ones[place - 1]
                place -= 1
            sorted_ones[place] = value
            count += 1
    return count


@native
def screen(
    shelf: Shelf,
    work: Work,
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
    while first < scalars:
        together = min(GROUP, scalars - first)
        fetch_some(shelf.block, shelf.blocks, first, together, chains, draws, some, work.some)
        for s in range(together):
            if unusable[first + s] == 0.0:
                values = work.some[s * chains * some :]
                few = sort_few(values, chains, some, work.folded)
                median = work.folded[few // 2]
                lower = work.folded[few // 4]
                upper = work.folded[few - 1 - few // 4]
                apart = difference_of_shares(values, chains, some, -inf, median) > difference
                if apart or difference_of_shares(values, chains, some, lower, upper) > difference:
                    found[count] = first + s
                    count += 1
        first += GROUP
    return count
