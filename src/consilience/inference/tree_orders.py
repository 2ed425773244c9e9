"""Trees that rise or fall with a column: whether the values of their leaves are in order.

A tree is monotone in a column if, of any two leaves that one row could reach by a change of this column alone, the
one with the smaller values of it has the smaller value. Source: Chipman, George, McCulloch, Shively (2022).
"""

from __future__ import annotations

from consilience.inference.tree_tables import lies_below
from consilience.inference.trees import CONTINUOUS, LEAF, SLOTS, TreeRows, Trees, rules_at
from consilience.native.typed_python import boolean, i64, native


@native
def keeps_missing(trees: Trees, base: i64, leaf: i64, column: i64) -> boolean:
    """Whether the rules of a column let a row without a value of it reach a leaf."""
    at = leaf
    while at != 0:
        above = trees.parent[base + at]
        if trees.variable[base + above] == column:
            aside = 1 if trees.left[base + above] != at else 0
            if trees.aside[base + above] != aside:
                return False
        at = above
    return True


@native
def comparable(rows: TreeRows, trees: Trees, tree: i64, first: i64, second: i64, column: i64) -> boolean:
    """Whether rows that are alike but for one column can lie in two leaves, which a node parts by this column."""
    base = tree * SLOTS
    for node in range(trees.high[tree]):
        other = trees.variable[base + node]
        if other >= 0 and other != column:
            rules_at(rows, trees, base, first, other)
            low = rows.low
            high = rows.high
            mask = rows.mask
            rules_at(rows, trees, base, second, other)
            if rows.kinds[other] == CONTINUOUS:
                meet = max(low, rows.low) <= min(high, rows.high)
            else:
                meet = mask & rows.mask != 0
            if not meet and rows.missing[other] == 1:
                meet = keeps_missing(trees, base, first, other) and keeps_missing(trees, base, second, other)
            if not meet:
                return False
    return True


@native
def in_order(rows: TreeRows, trees: Trees, tree: i64) -> boolean:
    """Whether a tree rises and falls with the columns as `orders` says."""
    base = tree * SLOTS
    outputs = rows.outputs
    high = trees.high[tree]
    for node in range(high):
        column = trees.variable[base + node]
        order = rows.orders[column] if column >= 0 else 0
        if order != 0:
            left = trees.left[base + node]
            for first in range(1, high):
                if trees.variable[base + first] == LEAF and lies_below(trees, base, first, left):
                    for second in range(1, high):
                        if trees.variable[base + second] == LEAF and lies_below(trees, base, second, left + 1):
                            falls = False
                            for k in range(outputs):
                                rise = (
                                    trees.value[(base + second) * outputs + k]
                                    - trees.value[(base + first) * outputs + k]
                                )
                                falls = falls or float(order) * rise < 0.0
                            if falls and comparable(rows, trees, tree, first, second, column):
                                return False
    return True
