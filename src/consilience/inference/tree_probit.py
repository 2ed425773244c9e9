"""Sums of trees behind a probit: latent normals, of which the data are the signs, are drawn given the trees.

Means of the normals enter; slopes and curvatures of the log density of the sums given the normals leave, which is
quadratic. Source: Albert, Chib (1993); tails of normals: Robert (1995).
"""

from __future__ import annotations

from consilience.inference.bart_state import BARTScratch
from consilience.inference.density import Density, evaluate_table
from consilience.inference.point import Point
from consilience.inference.trees import TreeRows, set_scores, toss, toss_normal
from consilience.native.mathematics import isfinite, log, sqrt
from consilience.native.typed_python import boolean, f64, i64, native


@native(rare=True)
def means_are_finite(point: Point, scratch: BARTScratch, density: Density) -> boolean:
    """Whether a chain can begin where it is."""
    found = evaluate_table(density, point.position, scratch.normals)
    for k in range(2 * point.dimension):
        found = found and isfinite(scratch.normals[k])
    return found


@native
def positive_normal(rows: TreeRows, mean: f64) -> f64:
    """A normal number with a mean and the variance 1, given that it is positive."""
    if mean > -0.5:
        found = mean + toss_normal(rows)
        while found <= 0.0:
            found = mean + toss_normal(rows)
        return found
    least = -mean
    rate = 0.5 * (least + sqrt(least * least + 4.0))
    found = 0.0
    while found == 0.0:
        beyond = -log(toss(rows)) / rate
        short = least + beyond - rate
        if log(toss(rows)) < -0.5 * short * short:
            found = beyond
    return found


@native
def draw_normals(point: Point, scratch: BARTScratch, density: Density, begin: i64) -> boolean:
    """Draw the normals of one ensemble, whose rows begin at `begin`; False where they have no means."""
    rows = scratch.rows
    means = scratch.normals
    slopes = scratch.normals[point.dimension :]
    if not evaluate_table(density, point.position, means):
        return False
    for i in range(begin, begin + rows.outputs * rows.rows):
        if not (isfinite(means[i]) and isfinite(slopes[i])):
            return False
    for i in range(begin, begin + rows.outputs * rows.rows):
        slope = slopes[i]
        scratch.curvature[i] = slope * slope
        scratch.score[i] = 0.0
        if slope != 0.0:
            scratch.score[i] = slope * (positive_normal(rows, means[i]) - means[i])
    set_scores(rows, scratch.curvature[begin:], scratch.score[begin:])
    return True
