"""The table of many parameters: moments, intervals, standard errors, effective sizes and R-hat of finite draws.

What each number means is told beside its form for NumPy, in `diagnostics`, which the tests compare it with.
"""

from __future__ import annotations

from consilience.diagnostics.compiled.series import (
    Plan,
    Workspace,
    bring_in_order,
    centre,
    effective_size,
    fold,
    indicators,
    quantile,
    rank_scores,
    scale_reduction,
    variance_ratio,
)
from consilience.diagnostics.tail_index import FEWEST_EXCEEDANCES, LARGEST_TAIL_INDEX
from consilience.native.mathematics import divide, floor, inf, isfinite, maximum, nan, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, simd

COLUMNS = (
    "mean",
    "sd",
    "lower",  # ends of the interval
    "upper",
    "mcse_mean",
    "mcse_sd",
    "ess_bulk",
    "ess_tail",
    "r_hat",
    "noise_ratio",
    "unusable",
)
WIDTH = len(COLUMNS)
TAIL = 0.05
RESOLUTION = 1e-15  # draws that lie nearer together than this count in full, as in ArviZ
CONSTANT = -1.0  # in the last column: all draws are equal


@native(shared=True, contract=True)
def centre_row(row: Array[f64], total: i64) -> tuple[f64, f64]:
    """Mean and mean square of the distances from it, which take the place of the numbers in the row."""
    share = 1.0 / f64(total)
    origin = row[0]
    moves = 0.0
    for k in simd(total):
        moves += row[k] - origin
    shift = moves * share
    if not isfinite(shift):  # the sum is too large for a number, which no mean is
        origin = 0.0
        shift = 0.0
        for k in simd(total):
            shift += row[k] * share
    squares = 0.0
    for k in simd(total):
        distance = row[k] - origin - shift
        row[k] = distance
        squares += distance * distance
    return origin + shift, squares * share


@native(shared=True, contract=True)
def relative_variance(row: Array[f64], total: i64, mean: f64) -> f64:
    """Variance of numbers over the square of their mean."""
    squares = 0.0
    for k in simd(total):
        distance = divide(row[k], mean) - 1.0
        squares += distance * distance
    return squares / f64(total)


@native
def narrowest(ascending: Array[f64], total: i64, inside: i64) -> i64:
    """Where the narrowest interval begins from one draw to that `inside` places further; the first of several."""
    begin = 0
    least = ascending[inside] - ascending[0]
    for k in range(1, total - inside):
        width = ascending[k + inside] - ascending[k]
        if width < least:
            least = width
            begin = k
    return begin


@native(shared=True)
def size_of_values(plan: Plan, work: Workspace) -> f64:
    """Effective size of the numbers in the row, not of their ranks."""
    place = plan.place
    least = inf
    most = -inf
    for k in range(plan.chains * plan.draws):
        here = place[k]
        if here >= 0:
            value = work.row[k]
            work.series[here] = value
            least = min(least, value)
            most = max(most, value)
    if most - least < RESOLUTION:
        return f64(plan.total)
    centre(plan, work)
    if not isfinite(work.covariance[0] + work.between):
        return nan
    return effective_size(plan, work)


@native
def describe_interval(plan: Plan, work: Workspace, probability: f64, highest: boolean, numbers: Array[f64]) -> None:
    """Both ends of the interval of the scalar at hand."""
    total = plan.chains * plan.draws
    if highest:
        inside = min(i64(floor(probability * f64(total))), total - 1)
        begin = narrowest(work.ascending, total, inside)
        numbers[2] = work.ascending[begin]
        numbers[3] = work.ascending[begin + inside]
    else:
        tail = (1.0 - probability) / 2.0
        numbers[2] = quantile(work.ascending, total, tail)
        numbers[3] = quantile(work.ascending, total, 1.0 - tail)


@native
def describe_errors(plan: Plan, work: Workspace, deviation: f64, variance: f64, numbers: Array[f64]) -> None:
    """Standard errors of mean and standard deviation of the parameter whose distances from its mean are in the row.

    `variance` is their mean square. In the row they become squares.
    """
    total = plan.chains * plan.draws
    numbers[4] = deviation / sqrt(size_of_values(plan, work))
    row = work.row
    for k in simd(total):
        row[k] = row[k] * row[k]
    spread = relative_variance(row, total, variance)
    numbers[5] = sqrt(variance * spread / size_of_values(plan, work) / 4.0)
    if tail_index_of_squares(work, total, numbers[0]) >= LARGEST_TAIL_INDEX:
        numbers[5] = nan


@native
def tail_index_of_squares(work: Workspace, total: i64, mean: f64) -> f64:
    """Tail index of the squared distances from the mean, of which the largest lie at both ends of the sorted draws."""
    most = min(total // 5, i64(3.0 * sqrt(f64(total))))
    left = 0
    right = total - 1
    largest = work.folded
    for k in range(most + 1):
        below = mean - work.ascending[left]
        above = work.ascending[right] - mean
        distance = maximum(below, above)
        left += 1 if below > above else 0
        right -= 0 if below > above else 1
        largest[k] = distance * distance
    used = most
    while used > 0 and largest[used - 1] == largest[most]:
        used -= 1
    if used < FEWEST_EXCEEDANCES:
        return -inf
    sum = 0.0
    weighted = 0.0
    for k in range(used):  # the largest comes first
        excess = largest[k] - largest[most]
        sum += excess
        weighted += excess * ((f64(k) + 0.35) / f64(used))
    return 2.0 - divide(sum, sum - 2.0 * weighted)


@native
def size_of_tail(plan: Plan, work: Workspace, probability: f64) -> f64:
    """Effective size of a quantile: that of the indicators of not exceeding it."""
    ones = indicators(plan, work, probability)
    if ones == 0 or ones == plan.total:
        return f64(plan.total)
    return effective_size(plan, work)


@native(shared=True)
def describe_ranks(plan: Plan, work: Workspace, target_rhat: f64, numbers: Array[f64]) -> None:
    """Effective sizes, R-hat and, where it is above `target_rhat`, the noise ratio of the parameter at hand."""
    total = f64(plan.total)
    rank_scores(plan, work, work.halves_order, work.halves_ascending)
    of_ranks = scale_reduction(plan, work)
    constant = work.halves_ascending[0] == work.halves_ascending[plan.total - 1]
    numbers[6] = total if constant else effective_size(plan, work)
    ratio = variance_ratio(plan, work) if of_ranks > target_rhat else 0.0
    numbers[7] = min(size_of_tail(plan, work, TAIL), size_of_tail(plan, work, 1.0 - TAIL))
    fold(work.halves_order, work.halves_ascending, plan.total, work.folded_order, work.folded)
    rank_scores(plan, work, work.folded_order, work.folded)
    of_distances = scale_reduction(plan, work)  # NaN if all distances are equal, as for a fair coin
    numbers[8] = of_distances if of_distances > of_ranks else of_ranks
    numbers[9] = max(ratio, variance_ratio(plan, work)) if of_distances > target_rhat else ratio


@native
def describe(
    values: Array[f64],
    count: i64,
    plan: Plan,
    work: Workspace,
    probability: f64,
    highest: boolean,
    statistics: boolean,
    errors: boolean,
    ranks: boolean,
    target_rhat: f64,
    table: Array[f64],
) -> i64:
    """Fill a row of numbers for each of `count` parameters whose draws are given one chain after another.

    Only what is asked for is filled in. The last number of a row is that of its draws which are not finite, of which
    nothing else is said, or `CONSTANT`. Gives the number of parameters with draws that are not finite.
    """
    size = plan.chains * plan.draws
    left_out = 0
    for k in simd(2 * plan.chains * plan.stride):
        work.series[k] = 0.0
    for parameter in range(count):
        own = values[parameter * size :]
        numbers = table[parameter * WIDTH :]
        origin = own[0]
        unusable = 0.0
        moved = 0.0
        for k in simd(size):
            unusable += 0.0 if own[k] - own[k] == 0.0 else 1.0
            moved += 0.0 if own[k] == origin else 1.0
        numbers[10] = unusable if unusable > 0.0 or moved > 0.0 else CONSTANT
        if unusable > 0.0:
            left_out += 1
        else:
            bring_in_order(own, plan, work)
            if ranks:
                describe_ranks(plan, work, target_rhat, numbers)
            if statistics or errors:
                mean, variance = centre_row(work.row, size)
                deviation = sqrt(variance * (f64(size) / f64(size - 1)))
                numbers[0] = mean
                if statistics:
                    numbers[1] = deviation
                    describe_interval(plan, work, probability, highest, numbers)
                if errors:
                    describe_errors(plan, work, deviation, variance, numbers)
    return left_out
