"""The rows of a summary: draws of scalars enter; moments, intervals, standard errors, effective sizes and R-hat leave.

The draws are finite. What each number means is told beside its form for NumPy, in `diagnostics`.
"""

from __future__ import annotations

from consilience.diagnostics.watch.judgement import bring_given_in_order, figures
from consilience.diagnostics.watch.series import Plan, Workspace, centre, effective_size, quantile
from consilience.native.mathematics import divide, floor, inf, isfinite, nan, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, simd

WIDTH = 9  # numbers of a scalar: mean, sd, both ends of the interval, both standard errors, bulk and tail size, R-hat
RESOLUTION = 1e-15  # draws that lie nearer together than this count in full, as in ArviZ


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
    series = plan.series
    least = inf
    most = -inf
    for k in range(plan.chains * plan.draws):
        here = place[k]
        if here >= 0:
            value = work.row[k]
            series[here] = value
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
    """Standard errors of mean and standard deviation of the scalar whose distances from its mean are in the row.

    `variance` is their mean square. In the row they become squares.
    """
    total = plan.chains * plan.draws
    numbers[4] = deviation / sqrt(size_of_values(plan, work))
    row = work.row
    for k in simd(total):
        row[k] = row[k] * row[k]
    spread = relative_variance(row, total, variance)
    numbers[5] = sqrt(variance * spread / size_of_values(plan, work) / 4.0)


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
    table: Array[f64],
) -> i64:
    """Fill a row of numbers for each of `count` scalars whose draws are given one chain after another.

    Only what is asked for is filled in. Gives the number of scalars with draws that are not finite, of which nothing
    is said.
    """
    size = plan.chains * plan.draws
    left_out = 0
    for scalar in range(count):
        own = values[scalar * size :]
        numbers = table[scalar * WIDTH :]
        remainder = 0.0
        for k in simd(size):
            remainder += own[k] - own[k]
        if remainder != 0.0:
            left_out += 1
        else:
            bring_given_in_order(own, plan, work)
            mean, variance = centre_row(work.row, size)
            deviation = sqrt(variance * (f64(size) / f64(size - 1)))
            if statistics:
                numbers[0] = mean
                numbers[1] = deviation
                describe_interval(plan, work, probability, highest, numbers)
            if ranks:
                rhat, bulk, tail = figures(plan, work)
                numbers[6] = bulk
                numbers[7] = tail
                numbers[8] = rhat if plan.chains > 1 else nan
            if errors:
                describe_errors(plan, work, deviation, variance, numbers)
    return left_out
