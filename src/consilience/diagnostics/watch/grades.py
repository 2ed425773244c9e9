"""Scores without sorting: some draws of a scalar fall into equal steps of their range; scores of the steps leave.

Draws of one step share their average rank, as equal draws do. Where a step holds too many of them, nothing is said.
"""

from __future__ import annotations

from consilience.diagnostics.watch.series import Plan, Work
from consilience.diagnostics.watch.sorting import spread_of
from consilience.native.mathematics import float_bits, inf
from consilience.native.typed_python import Array, boolean, f64, i32, i64, native

GRADES = 128  # steps from the least draw to the greatest
WHOLE = 4503599627370496.0  # 2**52: numbers from here on are whole, and end in the bits of what was added to it
CROWD = 16  # a step with more than one in so many draws blurs their ranks
NEAR = 0.02  # distance from the share of a tail, within which the end of a step may be


@native
def deal_out(values: Array[f64], total: i64, grades: Array[i32], counts: Array[i64]) -> boolean:
    """The grade of each value, and how many each grade has; False: the values have no range to divide."""
    least, most = spread_of(values, 0, total)
    step = f64(GRADES - 1) / (most - least)
    if not (step > 0.0 and step < inf):
        return False
    for grade in range(GRADES):
        counts[grade] = 0
    for k in range(total):
        grade = float_bits((values[k] - least) * step + WHOLE) & (GRADES - 1)
        grades[k] = grade
        counts[grade] += 1
    return True


@native
def score_grades(plan: Plan, counts: Array[i64], scores: Array[f64]) -> boolean:
    """Normal scores of grades; False: too blurred."""
    below = 0
    for grade in range(GRADES):
        count = counts[grade]
        if count * CROWD > plan.total:
            return False
        scores[grade] = plan.scores[2 * below + count - 1] if count > 0 else 0.0
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
        score = plan.scores[2 * nearer + count - 1] if count > 0 else 0.0
        if lower >= 0:
            scores[lower] = score
        if upper < GRADES:
            scores[upper] = score
        nearer += count
        lower -= 1
        upper += 1


@native
def end_of_share(counts: Array[i64], total: i64, share: f64) -> i64:
    """How many of the lowest grades hold about `share` of all draws; 0 if no number does."""
    wanted = share * f64(total)
    below = 0
    nearest = NEAR * f64(total)
    found = 0
    for grade in range(GRADES):
        below += counts[grade]
        distance = abs(f64(below) - wanted)
        if distance < nearest:
            nearest = distance
            found = grade + 1
    return found


@native(shared=True)
def grade(plan: Plan, work: Work, values: Array[f64], lower: f64, upper: f64) -> boolean:
    """Grades of the values, `plan.total` one half chain after another, and scores by them.

    `lower` and `upper` are the shares of draws at which tails end. False: grades are too blurred to score by.
    """
    total = plan.total
    if not deal_out(values, total, work.grades, work.counts):
        return False
    if not score_grades(plan, work.counts, work.grade_scores):
        return False
    score_folded_grades(plan, work.counts, work.folded_scores)
    work.below_lower = end_of_share(work.counts, total, lower)
    work.below_upper = end_of_share(work.counts, total, upper)
    return work.below_lower > 0 and work.below_upper > 0


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
def indicators_of_grades(plan: Plan, grades: Array[i32], end: i64) -> None:
    """Ones for draws of grades below `end`, zeros for the others."""
    half = plan.half
    for h in range(2 * plan.chains):
        series = plan.series[h * plan.stride :]
        own = grades[h * half :]
        for i in range(half):
            series[i] = 1.0 if i64(own[i]) < end else 0.0
