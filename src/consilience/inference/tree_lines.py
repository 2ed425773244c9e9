"""Leaves with lines: the value of a leaf rises with the column that the node above it splits by.

A leaf of a tree of one node has a constant. The moves of `tree_moves` know constants only; here is what corrects their
choice by Metropolis (surrogate transitions, Liu 2001, section 9.4.3), and what draws the lines.
"""

from __future__ import annotations

from consilience.inference.tree_moves import lift
from consilience.inference.trees import LEAF, SLOTS, TreeRows, Trees, rounded, toss, toss_normal
from consilience.native.mathematics import exp, log, sqrt
from consilience.native.typed_python import f64, i64, native

CONSTANT, LINEAR, MIX = range(3)
"""Leaves: constants, lines, or either with the same probability."""


@native
def column_above(trees: Trees, at: i64, base: i64) -> i64:
    """The column of the node above the leaf whose slot is `at`; -1 for a root."""
    if at == base:
        return -1
    return trees.variable[base + trees.parent[at]]


@native
def value_at(rows: TreeRows, trees: Trees, base: i64, place: i64, output: i64, row: i64) -> f64:
    """What a tree, whose slots begin at `base`, adds at a row that lies in a leaf."""
    at = base + place
    found = trees.value[at * rows.outputs + output]
    if rows.lines != CONSTANT:
        column = column_above(trees, at, base)
        if column >= 0:
            found += trees.slope[at * rows.outputs + output] * rows.standard[column * rows.rows + row]
    return found


@native
def lift_lines(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Take a tree with lines out of the scores, and add up the rows of its leaves: `tree_moves.lift`."""
    n = rows.rows
    base = tree * SLOTS
    places = rows.places[tree * n :]
    for i in range(n):
        at = base + i64(places[i])
        column = column_above(trees, at, base)
        if column >= 0:
            for k in range(rows.outputs):
                slope = trees.slope[at * rows.outputs + k]
                rows.score[k * n + i] += rows.curvature[k * n + i] * slope * rows.standard[column * n + i]
    lift(rows, trees, tree)


@native
def add_up(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """The sums of the rows of all leaves anew, with those that lines need in `moments`."""
    n = rows.rows
    base = tree * SLOTS
    outputs = rows.outputs
    width = 1 + 2 * outputs
    for node in range(trees.high[tree]):
        for k in range(width):
            rows.sums[node * width + k] = 0.0
        for k in range(3 * outputs):
            rows.moments[node * 3 * outputs + k] = 0.0
    places = rows.places[tree * n :]
    for i in range(n):
        place = i64(places[i])
        column = column_above(trees, base + place, base)
        z = rows.standard[column * n + i] if column >= 0 else 0.0
        rows.sums[place * width] += 1.0
        for k in range(outputs):
            curvature = rows.curvature[k * n + i]
            score = rows.score[k * n + i]
            rows.sums[place * width + 1 + 2 * k] += curvature
            rows.sums[place * width + 2 + 2 * k] += score
            at = 3 * (place * outputs + k)
            rows.moments[at] += curvature * z
            rows.moments[at + 1] += curvature * z * z
            rows.moments[at + 2] += score * z


@native
def gain_of_line(rows: TreeRows, node: i64, output: i64) -> f64:
    """Log of the likelihood of a leaf with a line, against that with a constant; both are integrated out."""
    sums = rows.sums[node * (1 + 2 * rows.outputs) + 1 + 2 * output :]
    moments = rows.moments[3 * (node * rows.outputs + output) :]
    single = sums[0] + rows.precision
    constant = log(rows.precision / single) + sums[1] * sums[1] / single
    own = 2.0 * rows.precision  # of the value at the mean of the column, and of the slope
    first = sums[0] + own
    second = moments[1] + own - moments[0] * moments[0] / first
    rest = moments[2] - moments[0] * sums[1] / first
    line = log(own / first) + log(own / second) + sums[1] * sums[1] / first + rest * rest / second
    return 0.5 * (line - constant)


@native
def gain_of_lines(rows: TreeRows, trees: Trees, tree: i64) -> f64:
    """Log of the likelihood of a tree with lines, against that with constants; adds up what it needs."""
    add_up(rows, trees, tree)
    base = tree * SLOTS
    found = 0.0
    for node in range(1, trees.high[tree]):
        if trees.variable[base + node] == LEAF:
            for k in range(rows.outputs):
                gain = gain_of_line(rows, node, k)
                if rows.lines == MIX:  # log((1 + exp(gain)) / 2)
                    gain = max(gain, 0.0) + log(0.5 + 0.5 * exp(-abs(gain)))
                found += gain
    return found


@native
def draw_lines(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Draw the lines of all leaves given the scores without the tree, whose sums `gain_of_lines` has added up."""
    base = tree * SLOTS
    outputs = rows.outputs
    for node in range(trees.high[tree]):
        if trees.variable[base + node] == LEAF:
            for k in range(outputs):
                sums = rows.sums[node * (1 + 2 * outputs) + 1 + 2 * k :]
                moments = rows.moments[3 * (node * outputs + k) :]
                at = (base + node) * outputs + k
                line = node > 0
                if line and rows.lines == MIX:
                    line = log(1.0 / toss(rows) - 1.0) < gain_of_line(rows, node, k)
                if line:
                    own = 2.0 * rows.precision
                    first = sums[0] + own
                    second = moments[1] + own - moments[0] * moments[0] / first
                    slope = (moments[2] - moments[0] * sums[1] / first) / second
                    slope = rounded(slope + toss_normal(rows) / sqrt(second))
                    mean = (sums[1] - moments[0] * slope) / first
                    trees.slope[at] = slope
                    trees.value[at] = rounded(mean + toss_normal(rows) / sqrt(first))
                else:
                    single = sums[0] + rows.precision
                    trees.slope[at] = 0.0
                    trees.value[at] = rounded(sums[1] / single + toss_normal(rows) / sqrt(single))
