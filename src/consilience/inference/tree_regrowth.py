"""Regression trees grown from their root, given all other trees: where chains begin.

A tree enters; another one leaves that is drawn node by node, each node from all cuts of many columns and from staying a
leaf, in proportion to their prior and likelihood as if both sides of a cut were leaves. Source: He, Hahn (2021).
"""

from __future__ import annotations

from consilience.inference.tree_moves import free_pair, part_rows
from consilience.inference.tree_tables import draw_rule, evidence, gather, try_rules
from consilience.inference.trees import (
    LEAF,
    SLOTS,
    SUBSET,
    UNUSED,
    TreeRows,
    Trees,
    available,
    depth_of,
    set_rule,
    split_level,
    toss,
    weight_of,
    words_of_leaf,
)
from consilience.native.mathematics import exp, inf, log
from consilience.native.typed_python import f64, i64, native

MOST_COLUMNS = 32
"""Columns that are weighed at a node, on average; of more some are, at random."""


@native(rare=True)
def weigh_columns(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> f64:
    """Log of the weight of all cuts at a node and of a leaf there, over the likelihood of the leaf.

    Its rows are `members`. Logarithms of the weights of the columns, over that likelihood, are put into `proposed`.
    Columns that split by subsets have none, since there are too many subsets to weigh them all.
    """
    base = tree * SLOTS
    split = split_level(rows, depth_of(trees, base, node))
    whole = available(rows, trees, base, node, rows.cumulative)
    greatest = log(1.0 - split)
    for column in range(rows.columns):
        weight = weight_of(rows.cumulative, column)
        level = -inf
        if weight > 0.0 and rows.kinds[column] != SUBSET and toss(rows) * float(rows.columns) < float(MOST_COLUMNS):
            level = try_rules(rows, trees, tree, node, column, 0, 2)
        if level > -inf:
            level += log(split * weight / whole) - evidence(rows, rows.whole)
        rows.proposed[column] = level
        greatest = max(greatest, level)
    total = exp(log(1.0 - split) - greatest)
    for column in range(rows.columns):
        total += exp(rows.proposed[column] - greatest)
    return greatest + log(total)


@native(rare=True)
def chosen_column(rows: TreeRows, weight: f64) -> i64:
    """A column by `proposed`; -1 for a leaf. The weights of all columns and of a leaf have the logarithm `weight`."""
    rest = toss(rows)
    for column in range(rows.columns):
        rest -= exp(rows.proposed[column] - weight)
        if rest < 0.0:
            return column
    return -1


@native(rare=True)
def clear(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Make a tree one leaf, whose sums are those of all leaves that it had."""
    base = tree * SLOTS
    width = 1 + 2 * rows.outputs
    for node in range(trees.high[tree]):
        if trees.variable[base + node] == LEAF:
            rows.used -= words_of_leaf(rows)
        elif trees.variable[base + node] >= 0:
            rows.used -= 1
        if node > 0:
            for k in range(width):
                own = rows.sums[node * width + k] if trees.variable[base + node] == LEAF else 0.0
                rows.sums[k] = own + (rows.sums[k] if node > 1 else 0.0)
        trees.variable[base + node] = UNUSED
    trees.variable[base] = LEAF
    trees.high[tree] = 1
    rows.used += words_of_leaf(rows)
    places = rows.places[tree * rows.rows :]
    for i in range(rows.rows):
        places[i] = 0


@native(rare=True)
def regrow(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Have another tree, grown from the root."""
    clear(rows, trees, tree)
    base = tree * SLOTS
    rows.chosen[0] = 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = rows.chosen[waiting]
        gather(rows, tree, node, node, -1)
        column = chosen_column(rows, weigh_columns(rows, trees, tree, node))
        pair = free_pair(trees, base)
        if column >= 0 and pair >= 0 and rows.used + 1 + words_of_leaf(rows) <= rows.room:
            try_rules(rows, trees, tree, node, column, 0, 2)
            set_rule(trees, base + node, column, draw_rule(rows, column))
            trees.left[base + node] = pair
            for k in range(pair, pair + 2):
                trees.variable[base + k] = LEAF
                trees.parent[base + k] = node
                rows.chosen[waiting] = k
                waiting += 1
            trees.high[tree] = max(trees.high[tree], pair + 2)
            part_rows(rows, trees, tree, node)
            rows.used += 1 + words_of_leaf(rows)
