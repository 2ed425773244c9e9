"""Series of one parameter: scores of its ranks or indicators, their variances and autocorrelation times.

A series lies by half chains, `stride` numbers apart, with zeros behind each, so that lagged products need no ends.
"""

from __future__ import annotations

from consilience.diagnostics.compiled.normal_scores import score_table
from consilience.native.mathematics import divide, float_bits, floor, inf, log10, maximum, sqrt
from consilience.native.routines.sorting import argsort
from consilience.native.typed_python import Array, f64, i32, i64, native, record, simd, u64

LAGS = 4  # covariances computed together
PADDING = 16  # zeros at least behind every half chain
TURNS = 8  # of a loop side by side


@record
class Plan:
    """What all parameters with the same chains and draws share.

    `half`: draws in half a chain; of an odd number of draws the middle one is in neither half.
    `stride`: distance of half chains in a series, at least `half` + `PADDING`.
    `total`: draws in all half chains.
    `place`: where draw i of chain c, number c * draws + i, has its place in a series; -1 for a middle draw.
    `scores`: Normal scores of the ranks 1, 3/2, 2, ..., total; see `score_table`.
    """

    chains: i64
    draws: i64
    half: i64
    stride: i64
    total: i64
    place: Array[i32]
    scores: Array[f64]


@record
class Workspace:
    """Memory for one parameter at a time.

    `row`: its draws, one chain after another.
    `order`, `ascending`: their positions in ascending order, and the draws in that order.
    `halves_order`, `halves_ascending`: the same without middle draws.
    `folded_order`, `folded`: positions by distance from the median, and these distances.
    `series`: what no half chain covers is zero.
    `means`, `covariance`: of a series: the means of its half chains, its covariance at `lags` lags.
    `within`, `between`: mean variance within half chains; variance of their means.
    `keys`, `places`, `other`: memory for sorting.
    """

    row: Array[f64]
    order: Array[i32]
    ascending: Array[f64]
    halves_order: Array[i32]
    halves_ascending: Array[f64]
    folded_order: Array[i32]
    folded: Array[f64]
    series: Array[f64]
    means: Array[f64]
    covariance: Array[f64]
    lags: i64
    within: f64
    between: f64
    keys: Array[u64]
    places: Array[u64]
    other: Array[u64]


@native
def lay_out(plan: Plan) -> None:
    """Fill in the plan's places and scores."""
    chains, draws, half = plan.chains, plan.draws, plan.half
    score_table(plan.total, plan.scores)
    place = plan.place
    second = draws - half
    for c in range(chains):
        start = 2 * c * plan.stride
        if second > half:
            place[c * draws + half] = -1
        for i in range(half):
            place[c * draws + i] = start + i
            place[c * draws + second + i] = start + plan.stride + i


@native(shared=True)
def sort_positions(
    values: Array[f64],
    count: i64,
    order: Array[i32],
    ascending: Array[f64],
    keys: Array[u64],
    places: Array[u64],
    other: Array[u64],
) -> None:
    """Put the positions 0 <= k < count in order of finite values[k], equal ones by position, and the values."""
    for k in range(count):
        bits = float_bits(values[k] + 0.0)  # integers that grow with the values; zeros of both signs have the same
        keys[k] = u64(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)) ^ 0x8000000000000000
    argsort(keys, places, other, count)
    for k in range(count):
        position = i64(u64(places[k]))
        order[k] = position
        ascending[k] = values[position]


@native(shared=True)
def bring_in_order(values: Array[f64], plan: Plan, work: Workspace) -> None:
    """Row and order of a parameter whose draws are given one chain after another."""
    size = plan.chains * plan.draws
    for k in simd(size):
        work.row[k] = values[k]
    sort_positions(work.row, size, work.order, work.ascending, work.keys, work.places, work.other)
    count = 0
    for r in range(size):
        position = work.order[r]
        if plan.place[position] >= 0:
            work.halves_order[count] = position
            work.halves_ascending[count] = work.ascending[r]
            count += 1


@native(shared=True)
def rank_scores(plan: Plan, work: Workspace, order: Array[i32], ascending: Array[f64]) -> None:
    """The centred series of normal scores of the ranks; equal values share their average rank."""
    place = plan.place
    series = work.series
    total = plan.total
    first = 0
    for r in range(total):
        if r + 1 == total or ascending[r + 1] != ascending[r]:
            score = plan.scores[first + r]
            for k in range(first, r + 1):
                series[place[order[k]]] = score
            first = r + 1
    centre(plan, work)


@native(shared=True)
def fold(order: Array[i32], ascending: Array[f64], total: i64, by_distance: Array[i32], distances: Array[f64]) -> None:
    """Positions by the distance from the median, and the distances, for an even number of draws.

    What lies left and right of the median is merged from both ends at once; among equal distances the left ones
    come first. Each end gives half of the result, so neither side runs out.
    """
    middle = total // 2
    median = (ascending[middle - 1] + ascending[middle]) / 2.0
    inner_left = middle - 1
    inner_right = middle
    outer_left = 0
    outer_right = total - 1
    for r in range(middle):
        to_left = abs(median - ascending[inner_left])
        to_right = abs(ascending[inner_right] - median)
        nearer = to_left <= to_right
        distances[r] = to_left if nearer else to_right
        by_distance[r] = order[inner_left if nearer else inner_right]
        inner_left -= 1 if nearer else 0
        inner_right += 0 if nearer else 1
        to_left = abs(median - ascending[outer_left])
        to_right = abs(ascending[outer_right] - median)
        farther = to_left > to_right
        distances[total - 1 - r] = to_left if farther else to_right
        by_distance[total - 1 - r] = order[outer_left if farther else outer_right]
        outer_left += 1 if farther else 0
        outer_right -= 0 if farther else 1


@native
def quantile(ascending: Array[f64], count: i64, probability: f64) -> f64:
    """A quantile of draws in order; it interpolates linearly between neighbours, from the nearer one.

    Source: Hyndman and Fan (1996), Sample quantiles in statistical packages, definition 7.
    """
    place = f64(count - 1) * probability
    below = min(i64(floor(place)), count - 1)
    share = place - f64(below)
    lower = ascending[below]
    upper = ascending[min(below + 1, count - 1)]
    step = upper - lower
    if lower == upper:
        return lower
    return lower + step * share if share < 0.5 else upper - step * (1.0 - share)


@native(shared=True)
def indicators(plan: Plan, work: Workspace, probability: f64) -> i64:
    """The centred series of ones for draws that do not exceed their quantile; gives the number of ones."""
    bound = quantile(work.ascending, plan.chains * plan.draws, probability)
    total = 0.0
    for c in range(2 * plan.chains):
        begin = c // 2 * plan.draws
        own = work.row[begin if c % 2 == 0 else begin + plan.draws - plan.half :]
        series = work.series[c * plan.stride :]
        ones = 0.0
        for i in simd(plan.half):
            here = 1.0 if own[i] <= bound else 0.0
            series[i] = here
            ones += here
        total += ones
    centre(plan, work)
    return i64(total)


@native
def note_spread(plan: Plan, work: Workspace, squares: f64) -> None:
    """Variances within and between half chains, of their means and the sum of all squares about them."""
    halves = 2 * plan.chains
    half = plan.half
    grand = 0.0
    for c in range(halves):
        grand += work.means[c] - work.means[0]
    grand = work.means[0] + grand / f64(halves)
    spread = 0.0
    for c in range(halves):
        difference = work.means[c] - grand
        spread += difference * difference
    work.within = squares / f64((half - 1) * halves)
    work.between = spread / f64(halves - 1)
    work.covariance[0] = squares / f64(half * halves)
    work.lags = 0


@native(shared=True, contract=True)
def centre(plan: Plan, work: Workspace) -> None:
    """Subtract its mean from each half chain of the series; note the means, and the variances within and between.

    Seen from its first number, a half chain that does not move has a variance of exactly zero.
    """
    half = plan.half
    squares = 0.0
    for c in range(plan.chains):  # both halves of a chain at once: neither waits for its own sums
        x = work.series[2 * c * plan.stride :]
        y = work.series[(2 * c + 1) * plan.stride :]
        x_origin = x[0]
        y_origin = y[0]
        x_moves = 0.0
        y_moves = 0.0
        for i in simd(half):
            x_moves += x[i] - x_origin
            y_moves += y[i] - y_origin
        x_mean = x_moves / f64(half)
        y_mean = y_moves / f64(half)
        x_squares = 0.0
        y_squares = 0.0
        for i in simd(half):
            u = x[i] - x_origin - x_mean
            x[i] = u
            x_squares += u * u
            v = y[i] - y_origin - y_mean
            y[i] = v
            y_squares += v * v
        squares += x_squares
        squares += y_squares
        work.means[2 * c] = x_origin + x_mean
        work.means[2 * c + 1] = y_origin + y_mean
    note_spread(plan, work, squares)


@native(shared=True, contract=True)
def more_lags(plan: Plan, work: Workspace) -> None:
    """The next `LAGS` autocovariances, mean over the half chains: sums of products over the number of draws."""
    first = work.lags
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    pieces = 2 * plan.chains
    length = (plan.half - first + TURNS - 1) // TURNS * TURNS  # zeros make the last turns whole
    if first + LAGS <= PADDING:  # products across half chains are with zeros
        length = pieces * plan.stride - PADDING
        pieces = 1
    for c in range(pieces):
        x = work.series[c * plan.stride :]
        y = work.series[c * plan.stride + first :]
        for i in simd(length):
            here = x[i]
            s0 += here * y[i]
            s1 += here * y[i + 1]
            s2 += here * y[i + 2]
            s3 += here * y[i + 3]
    scale = 1.0 / f64(2 * plan.chains * plan.half)
    covariance = work.covariance[first:]
    covariance[0] = s0 * scale
    covariance[1] = s1 * scale
    covariance[2] = s2 * scale
    covariance[3] = s3 * scale
    work.lags = first + LAGS


@native(shared=True)
def correlation_time(plan: Plan, work: Workspace, variance: f64) -> f64:
    """Autocorrelation time of the centred series, its correlations relative to `variance`, which is positive.

    The correlations at lags 2k and 2k + 1 are summed; the sums are used up to the first that is not positive, each
    no larger than the one before. At least 1 / log10(total), which antithetic chains reach.

    Source: Geyer (1992), Practical Markov chain Monte Carlo, section 3.3; Vehtari et al. (2021), section 3.
    """
    longest = max(0, (plan.half - 3) // 2)
    used = 0.0
    lowest = inf
    k = 0
    even = 1.0
    pair = 0.0
    while True:
        if 2 * k + 1 >= work.lags:
            more_lags(plan, work)
        if k > 0:
            even = 1.0 - (work.within - work.covariance[2 * k]) / variance
        pair = even + (1.0 - (work.within - work.covariance[2 * k + 1]) / variance)
        if k == longest or not pair > 0.0:
            break
        lowest = min(lowest, pair)
        used += lowest
        k += 1
    rest = even if even > 0.0 or pair >= 0.0 else 0.0
    return maximum(2.0 * used + rest - 1.0, 1.0 / log10(f64(plan.total)))


@native
def effective_size(plan: Plan, work: Workspace) -> f64:
    """Effective number of draws of the mean of the centred series, whose half chains may differ."""
    return f64(plan.total) / correlation_time(plan, work, work.covariance[0] + work.between)


@native
def scale_reduction(plan: Plan, work: Workspace) -> f64:
    """R-hat of the centred series; NaN if it is constant.

    Source: Gelman and Rubin (1992), Inference from iterative simulation using multiple sequences.
    """
    half = f64(plan.half)
    return sqrt((half * divide(work.between, work.within) + half - 1.0) / half)


@native
def variance_ratio(plan: Plan, work: Workspace) -> f64:
    """Variance of the means of half chains over what their autocorrelation explains; about 1 for chains that agree."""
    explained = work.within * correlation_time(plan, work, work.within)
    return divide(f64(plan.half) * work.between, explained)
