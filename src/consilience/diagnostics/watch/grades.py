"""Scores without sorting: some draws of a scalar fall into equal steps of their range; scores of the steps leave.

Draws of one step share their average rank, as equal draws do. Where a step holds too many of them, nothing is said.
"""

from __future__ import annotations

from consilience.diagnostics.watch.series import Plan, Workspace, note_spread
from consilience.diagnostics.watch.sorting import spread_of
from consilience.native.mathematics import float_bits, inf
from consilience.native.typed_python import Array, boolean, f64, i32, i64, native, simd

GRADES = 128  # steps from the least draw to the greatest
WHOLE = 4503599627370496.0  # 2**52: numbers from here on are whole, and end in the bits of what was added to it
CROWD = 16  # a step with more than one in so many draws blurs their ranks
NEAR = 0.02  # distance from the share of a tail, within which the end of a step may be


@native
def deal_out(values: Array[f64], total: i64, work: Workspace) -> boolean:
    """The grade of each value, and how many each grade has; False: the values have no range to divide."""
    least, most = spread_of(values, 0, total)
    per_unit = f64(GRADES - 1) / (most - least)
    if not (per_unit > 0.0 and per_unit < inf):
        return False
    work.least = least
    work.per_unit = per_unit
    grades = work.grades
    counts = work.counts
    for grade in range(GRADES):
        counts[grade] = 0
    for k in range(total):
        grade = float_bits((values[k] - least) * per_unit + WHOLE) & (GRADES - 1)
        grades[k] = grade
        counts[grade] += 1
    return True


@native
def score_grades(plan: Plan, counts: Array[i64], scores: Array[f64]) -> boolean:
    """Normal scores of grades; False: too blurred. Those without draws get some number."""
    below = 0
    for grade in range(GRADES):
        count = counts[grade]
        if count * CROWD > plan.total:
            return False
        scores[grade] = plan.scores[max(2 * below + count - 1, 0)]
        below += count
    return True


@native
def score_folded_grades(plan: Plan, counts: Array[i64], scores: Array[f64]) -> None:
    """Normal scores of distances from the end of a grade that is nearest to the median, of draws in each grade."""
    half = plan.total // 2
    upper = 0
    below = 0
    while 2 * (below + counts[upper]) <= plan.total:
        below += counts[upper]
        upper += 1
    if half - below > below + counts[upper] - half:
        upper += 1
    lower = upper - 1
    nearer = 0
    while lower >= 0 or upper < GRADES:
        count = (counts[lower] if lower >= 0 else 0) + (counts[upper] if upper < GRADES else 0)
        score = plan.scores[max(2 * nearer + count - 1, 0)]
        if lower >= 0:
            scores[lower] = score
        if upper < GRADES:
            scores[upper] = score
        nearer += count
        lower -= 1
        upper += 1


@native
def end_of_share(counts: Array[i64], total: i64, share: f64, begin: i64, step: i64) -> i64:
    """How many grades, from `begin` on in one direction, hold about `share` of all draws; 0 if no number does."""
    wanted = share * f64(total)
    held = 0
    nearest = NEAR * f64(total)
    found = 0
    grade = begin
    while f64(held) < wanted:
        held += counts[grade]
        grade += step
        distance = abs(f64(held) - wanted)
        if distance < nearest:
            nearest = distance
            found = abs(grade - begin)
    return found


@native(shared=True)
def grade(plan: Plan, work: Workspace, values: Array[f64], share: f64) -> boolean:
    """Grades of the values, `plan.total` one half chain after another, and scores by them.

    `share` is that of the draws in each tail. False: grades are too blurred to score by.
    """
    total = plan.total
    if not deal_out(values, total, work):
        return False
    if not score_grades(plan, work.counts, work.grade_scores):
        return False
    score_folded_grades(plan, work.counts, work.folded_scores)
    lower = end_of_share(work.counts, total, share, 0, 1)
    upper = end_of_share(work.counts, total, share, GRADES - 1, -1)
    work.end_of_lower = lower
    work.end_of_upper = GRADES - upper
    return lower > 0 and upper > 0


@native(shared=True)
def series_of_grades(plan: Plan, grades: Array[i32], scores: Array[f64]) -> None:
    """Put each draw's score at its place in the series."""
    half = plan.half
    for h in range(2 * plan.chains):
        series = plan.series[h * plan.stride :]
        own = grades[h * half :]
        for i in range(half):
            series[i] = scores[i64(own[i])]


@native(shared=True)
def indicators_of_grades(plan: Plan, work: Workspace, values: Array[f64], end: i64) -> None:
    """The centred series of ones for draws of grades below `end` and zeros for the others."""
    half = plan.half
    least = work.least
    per_unit = work.per_unit
    bound = WHOLE + f64(end)
    squares = 0.0
    for h in range(2 * plan.chains):
        series = plan.series[h * plan.stride :]
        own = values[h * half :]
        ones = 0.0
        for i in simd(half):
            ones += 1.0 if (own[i] - least) * per_unit + WHOLE < bound else 0.0
        mean = ones / f64(half)
        rest = 1.0 - mean
        for i in simd(half):
            series[i] = rest if (own[i] - least) * per_unit + WHOLE < bound else -mean
        squares += ones * rest
        work.means[h] = mean
    note_spread(plan, work, squares)
