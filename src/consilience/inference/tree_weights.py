"""Prior probabilities of the columns of regression trees that are learnt: a Dirichlet prior that leaves few in use.

Trees and weights of the columns enter; other weights, drawn given the trees, leave. Source: Linero (2018).
"""

from __future__ import annotations

from consilience.inference.trees import SLOTS, TreeRows, Trees, available, toss, toss_normal, weight_of
from consilience.native.mathematics import exp, inf, lgamma, log, sqrt
from consilience.native.typed_python import Array, f64, i64, native

GRID = 100
"""Concentrations of the Dirichlet distribution that are weighed."""
SMALLEST = 1e-12
"""Probability of a column at least: far above the rounding of those that are cumulated."""


@native
def log_gamma_draw(rows: TreeRows, shape: f64) -> f64:
    """Log of a number from a gamma distribution with the scale 1. Source: Marsaglia, Tsang (2000)."""
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    found = -inf
    while found == -inf:
        z = toss_normal(rows)
        v = 1.0 + c * z
        if v > 0.0:
            cube = 3.0 * log(v)
            if log(toss(rows)) < 0.5 * z * z + d - d * v * v * v + d * cube:
                found = log(d) + cube
    return found + log(toss(rows)) / shape


@native
def cumulate(rows: TreeRows, levels: Array[f64], target: Array[f64]) -> None:
    """Cumulated probabilities of the columns from their logarithms.

    None is lost beside others: a node that can split by an improbable column alone does so as often as any other.
    """
    whole = 0.0
    for column in range(rows.columns):
        whole += max(SMALLEST, exp(levels[column]))
        target[column] = whole


@native
def lean(rows: TreeRows, trees: Trees, first: i64, count: i64, tree: i64) -> None:
    """Weights of the columns that are tried for a tree: half their prior, half how often other trees split by them."""
    weights = rows.proposed
    for column in range(rows.columns):
        weights[column] = 0.0
    used = 0.0
    for other in range(first, first + count):
        if other != tree:
            variable = trees.variable[other * SLOTS :]
            for node in range(trees.high[other]):
                column = variable[node]
                if column >= 0:
                    weights[column] += 1.0
                    used += 1.0
    total = 0.0
    for column in range(rows.columns):
        own = weight_of(rows.cumulative, column)
        total += own if used == 0.0 else 0.5 * own + 0.5 * weights[column] / used
        rows.leaning[column] = total


@native
def level_of_nodes(rows: TreeRows, trees: Trees, count: i64) -> f64:
    """Log of the probability that each node finds some column, over all nodes that split rows."""
    found = 0.0
    for tree in range(count):
        for node in range(trees.high[tree]):
            if trees.variable[tree * SLOTS + node] >= 0:
                found += log(available(rows, trees, tree * SLOTS, node, rows.cumulative))
    return found


@native
def draw_concentration(rows: TreeRows, levels: Array[f64], chances: Array[f64]) -> f64:
    """A concentration given the logarithms of the weights.

    The share of it and the number of columns together has a Beta(1/2, 1) prior, on a grid.
    """
    columns = float(rows.columns)
    total = 0.0
    for column in range(rows.columns):
        total += levels[column]
    greatest = -inf
    for k in range(GRID):
        share = (float(k) + 0.5) / float(GRID)
        concentration = columns * share / (1.0 - share)
        own = concentration / columns
        chances[k] = lgamma(concentration) - columns * lgamma(own) + own * total - 0.5 * log(share)
        greatest = max(greatest, chances[k])
    whole = 0.0
    for k in range(GRID):
        whole += exp(chances[k] - greatest)
    rest = toss(rows) * whole
    found = GRID - 1
    for k in range(GRID):
        if rest >= 0.0:
            rest -= exp(chances[k] - greatest)
            found = k
    share = (float(found) + 0.5) / float(GRID)
    return columns * share / (1.0 - share)


@native
def draw_weights(rows: TreeRows, trees: Trees, count: i64, levels: Array[f64], concentration: Array[f64]) -> None:
    """Draw the weights of all columns, whose logarithms are `levels`, and their concentration given all trees.

    The Dirichlet distribution of the numbers of nodes proposes; where a node cannot split by some columns, Metropolis
    corrects it.
    """
    own = concentration[0] / float(rows.columns)
    before = rows.proposed
    for column in range(rows.columns):
        before[column] = own
    for tree in range(count):
        for node in range(trees.high[tree]):
            column = trees.variable[tree * SLOTS + node]
            if column >= 0:
                before[column] += 1.0
    greatest = -inf
    for column in range(rows.columns):
        before[column] = log_gamma_draw(rows, before[column])
        greatest = max(greatest, before[column])
    whole = 0.0
    for column in range(rows.columns):
        whole += exp(before[column] - greatest)
    whole = greatest + log(whole)
    ratio = level_of_nodes(rows, trees, count)
    for column in range(rows.columns):
        old = levels[column]
        levels[column] = before[column] - whole
        before[column] = old
    cumulate(rows, levels, rows.cumulative)
    ratio -= level_of_nodes(rows, trees, count)
    if log(toss(rows)) >= ratio:
        for column in range(rows.columns):
            levels[column] = before[column]
        cumulate(rows, levels, rows.cumulative)
    concentration[0] = draw_concentration(rows, levels, rows.chances)
