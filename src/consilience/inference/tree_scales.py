"""The spread of the leaves of regression trees given their values: a draw from its conjugate distribution.

The variance of a leaf has an inverse gamma prior with the shape 3, whose scale is half the usual variance, as stochtree
has it: what is fitted well by less shrinks.
"""

from __future__ import annotations

from consilience.inference.tree_weights import log_gamma_draw
from consilience.inference.trees import LEAF, SLOTS, TreeRows, Trees
from consilience.native.mathematics import exp, log
from consilience.native.typed_python import f64, i64, native

SHAPE = 3.0
"""Of the prior of a leaf's variance, whose scale is half the usual variance."""


@native
def draw_precision(rows: TreeRows, trees: Trees, count: i64, usual: f64) -> f64:
    """1 / variance of a leaf given all leaves; `usual` is that of a leaf whose spread is not learnt."""
    values = 0.0
    squares = 0.0
    for tree in range(count):
        for node in range(trees.high[tree]):
            if trees.variable[tree * SLOTS + node] == LEAF:
                for k in range(rows.outputs):
                    at = (tree * SLOTS + node) * rows.outputs + k
                    own = trees.value[at] * trees.value[at]
                    slope = trees.slope[at] if trees.sloped else 0.0
                    if slope != 0.0:  # a line has half the variance, twice
                        values += 2.0
                        squares += 2.0 * (own + slope * slope)
                    else:
                        values += 1.0
                        squares += own
    return exp(log_gamma_draw(rows, SHAPE + 0.5 * values) - log(0.5 / usual + 0.5 * squares))
