"""Sums of regression trees in flat arrays: rules that split rows, their prior, and trees as words.

Covariates as small whole numbers enter; leaves of rows, prior probabilities and written trees leave. Moves of trees are
in `tree_moves`. Source: Chipman, George, McCulloch (1998).
"""

from __future__ import annotations

from consilience.inference.streams import uniform
from consilience.native.mathematics import bits_float, exp, float_bits, log
from consilience.native.random import random_normal
from consilience.native.typed_python import Array, boolean, f64, i8, i64, native, record, simd

SLOTS = 127
"""Nodes of one tree at most: the root and 63 pairs of children, which fit into one byte."""
MOST_LEAVES = 12
"""Leaves below a node whose rule is changed."""
LEVELS = 128
"""Room for the values of one covariate, which are numbered from 0."""
OPTIONS = 264
"""Room for the cuts of one covariate, each with missing values on either side; no power of 2, which caches dislike."""
MISSING = 127
"""Number of a missing value."""
CONTINUOUS = 0
ONE_HOT = 1
SUBSET = 2
LEAF = -1
UNUSED = -2
TAG = 4095
"""The lowest bits of a word that tell what it is: see `write_trees`."""


@record
class Trees:
    """Trees, one behind another; each has `SLOTS` nodes, of which 0 is the root.

    Attributes
    ----------
    variable : Array
        Column that a node splits by, `LEAF`, or `UNUSED`, i64[tree, slot].
    cut : Array
        The greatest value, the value, or the values as bits that go left, i64[tree, slot].
    aside : Array
        1 where missing values go right, i64[tree, slot].
    parent, left : Array
        Slots, i64[tree, slot]; the right child lies behind the left one.
    value : Array
        Values of leaves, f64[tree, slot, output]; where they have lines, at the mean of the column.
    slope : Array
        Slopes of leaves with lines, f64[tree, slot, output].
    sloped : boolean
        Whether leaves may have lines.
    high : Array
        Slots that may be in use, i64[tree].
    """

    variable: Array[i64]
    cut: Array[i64]
    aside: Array[i64]
    parent: Array[i64]
    left: Array[i64]
    value: Array[f64]
    slope: Array[f64]
    sloped: boolean
    high: Array[i64]


@record
class TreeRows:
    """The covariates, the prior of trees, and memory for one move.

    Attributes
    ----------
    rows, columns, outputs : i64
        How many there are; outputs are those of one leaf.
    codes : Array
        Values, i8[column, row]; `MISSING` where there is none.
    kinds, levels, missing : Array
        Kind of rule, number of values and whether some are missing, i64[column].
    cumulative : Array
        Cumulated prior probabilities of the columns, f64[column].
    leaning : Array
        Cumulated weights of the columns that are tried for another rule, f64[column].
    cuts : Array
        Where cuts lie on the scale of the covariate, f64[column, level]; their lowest bits are zero.
    alpha, beta : f64
        A node of depth d splits with the probability alpha (1 + d)^-beta.
    precision : f64
        1 / variance of a leaf's value.
    lines : i64
        Leaves: constants, lines, or both; see `tree_lines`.
    standard : Array
        Covariates with the mean 0 and the spread 1 for lines, f64[column, row].
    moments : Array
        Sums over the rows of leaves that lines need, f64[slot, output, 3].
    proposed : Array
        Weights of columns that are tried, f64[column].
    orders : Array
        1 where a function rises with a column, -1 where it falls, 0 where it does as it likes, i64[column].
    ordered : boolean
        Whether it rises or falls with some column.
    fewest : i64
        TreeRows of a leaf.
    places : Array
        Slot of the leaf of each row, i8[tree, row].
    curvature, score : Array
        Of the log likelihood of each row: its curvature with the sign changed, and its slope at the present sum,
        f64[output, row].
    alike : f64
        The curvature of all rows where they have the same, else 0.
    sums : Array
        Number of rows, curvatures and scores of a slot, f64[slot, 1 + 2 output].
    table : Array
        The same by value of a covariate, f64[level, 1 + 2 output], or as `tree_tables.tabulate_below` has it.
    parts : Array
        Sums of the leaves below a node for each cut, f64[leaf, 1 + 2 output, option].
    exponents, chances : Array
        Of cuts, f64[option].
    whole : Array
        Sums of both sides of a cut, f64[1 + 2 output].
    number, leaves : Array
        Numbers of the leaves below a node, i64[slot], and the other way round.
    middle : i64
        Number of the leaves below its left child, which come first.
    kind_at, begin_at, bits_at, aside_at, child_at : Array
        Of the rule of a node: kind, where the codes of its column begin, both as `side_of` wants them, and the left
        child, i64[slot].
    lefts, rights : Array
        Numbers of the leaves to which `members` go from the left and the right child of a node, i8[row].
    chosen : Array
        Slots to choose from, i64[slot].
    members, count : Array, i64
        Rows that a move looks at, i64[row], and how many there are.
    every, some : Array
        All rows, and room for others, i64[row]: `members` is one of the two.
    low, high, mask : i64
        Values of a covariate that reach a node: from `low` to `high`, or bits.
    used, room : i64
        Words that all trees take when they are written, and may take.
    key, transition, block : i64
        Of random numbers.
    """

    rows: i64
    columns: i64
    outputs: i64
    codes: Array[i8]
    kinds: Array[i64]
    levels: Array[i64]
    missing: Array[i64]
    cumulative: Array[f64]
    leaning: Array[f64]
    cuts: Array[f64]
    alpha: f64
    beta: f64
    precision: f64
    lines: i64
    standard: Array[f64]
    moments: Array[f64]
    proposed: Array[f64]
    orders: Array[i64]
    ordered: boolean
    fewest: i64
    places: Array[i8]
    curvature: Array[f64]
    score: Array[f64]
    alike: f64
    sums: Array[f64]
    table: Array[f64]
    parts: Array[f64]
    exponents: Array[f64]
    chances: Array[f64]
    whole: Array[f64]
    number: Array[i64]
    leaves: Array[i64]
    middle: i64
    kind_at: Array[i64]
    begin_at: Array[i64]
    bits_at: Array[i64]
    aside_at: Array[i64]
    child_at: Array[i64]
    lefts: Array[i8]
    rights: Array[i8]
    chosen: Array[i64]
    members: Array[i64]
    every: Array[i64]
    some: Array[i64]
    count: i64
    low: i64
    high: i64
    mask: i64
    used: i64
    room: i64
    key: i64
    transition: i64
    block: i64


@native
def set_scores(rows: TreeRows, curvature: Array[f64], score: Array[f64]) -> None:
    """Have other slopes and curvatures, f64[output, row]; those that differ by rounding alone become the same."""
    rows.curvature = curvature
    rows.score = score
    first = curvature[0]
    most = 0.0
    count = rows.rows * rows.outputs
    for i in simd(count):
        most = max(most, abs(curvature[i] - first))
    rows.alike = first if most <= 1e-12 * first else 0.0
    if rows.alike > 0.0:
        for i in simd(count):
            curvature[i] = first


@native
def words_of_leaf(rows: TreeRows) -> i64:
    """Words that a leaf takes when it is written."""
    return rows.outputs if rows.lines == 0 else 2 * rows.outputs


@native
def toss(rows: TreeRows) -> f64:
    """A number uniform on (0, 1)."""
    rows.block += 1
    return uniform(rows.key, rows.transition, rows.block)


@native
def toss_normal(rows: TreeRows) -> f64:
    """A standard normal number."""
    rows.block += 1
    return random_normal(rows.key, 2 * ((rows.transition << 32) | rows.block))


@native
def rounded(value: f64) -> f64:
    """The value with its lowest bits zero: as a word of a written tree has it."""
    return bits_float(float_bits(value) & ~TAG)


@native
def depth_of(trees: Trees, base: i64, node: i64) -> i64:
    """Number of nodes above a node of the tree whose slots begin at `base`."""
    depth = 0
    at = node
    while at != 0:
        at = trees.parent[base + at]
        depth += 1
    return depth


@native
def count_bits(mask: i64) -> i64:
    """Number of ones."""
    rest = mask
    count = 0
    while rest != 0:
        rest = rest & (rest - 1)
        count += 1
    return count


@native
def rules_at(rows: TreeRows, trees: Trees, base: i64, node: i64, column: i64) -> i64:
    """Number of cuts of a column that may split a node, given those above it; which, in `low`, `high` and `mask`.

    Subsets count as one where there are any, since they are drawn and not tried in turn.
    """
    kind = rows.kinds[column]
    levels = rows.levels[column]
    low = 0
    high = levels - 1
    mask = (1 << min(levels, 62)) - 1
    at = node
    while at != 0:
        above = trees.parent[base + at]
        if trees.variable[base + above] == column:
            cut = trees.cut[base + above]
            left = trees.left[base + above] == at
            if kind == CONTINUOUS:
                if left:
                    high = min(high, cut)
                else:
                    low = max(low, cut + 1)
            else:
                own = 1 << cut if kind == ONE_HOT else cut
                mask = mask & own if left else mask & ~own
        at = above
    rows.low = low
    rows.high = high
    rows.mask = mask
    if kind == CONTINUOUS:
        return high - low
    count = count_bits(mask)
    if count < 2:
        return 0
    return count if kind == ONE_HOT else 1


@native
def growable(rows: TreeRows, trees: Trees, base: i64, node: i64) -> boolean:
    """Whether some rule may split a node."""
    before = 0.0
    for column in range(rows.columns):
        if rows.cumulative[column] > before and rules_at(rows, trees, base, node, column) > 0:
            return True
        before = rows.cumulative[column]
    return False


@native
def weight_of(cumulative: Array[f64], column: i64) -> f64:
    """The weight of one column."""
    return cumulative[column] - (cumulative[column - 1] if column > 0 else 0.0)


@native
def available(rows: TreeRows, trees: Trees, base: i64, node: i64, cumulative: Array[f64]) -> f64:
    """Weight of the columns that have some rule for a node."""
    found = 0.0
    before = 0.0
    for column in range(rows.columns):
        own = cumulative[column] - before
        if own > 0.0 and rules_at(rows, trees, base, node, column) > 0:
            found += own
        before = cumulative[column]
    return found


@native
def split_level(rows: TreeRows, depth: i64) -> f64:
    """Prior probability that a node of some depth splits, where it can."""
    level = rows.alpha
    if rows.beta == 2.0:
        return level / float((1 + depth) * (1 + depth))
    return level * exp(-rows.beta * log(float(1 + depth)))


@native
def stays_leaf(rows: TreeRows, trees: Trees, base: i64, node: i64, depth: i64) -> f64:
    """Log prior probability that a node does not split."""
    if not growable(rows, trees, base, node):
        return 0.0
    return log(1.0 - split_level(rows, depth))


@native
def draw_column(rows: TreeRows, trees: Trees, base: i64, node: i64, cumulative: Array[f64]) -> i64:
    """A column by its weight among those that may split a node; -1 if there is none."""
    if not growable(rows, trees, base, node):
        return -1
    for _ in range(20):
        u = toss(rows) * cumulative[rows.columns - 1]
        low = 0
        high = rows.columns - 1
        while low < high:
            middle = (low + high) >> 1
            if cumulative[middle] > u:
                high = middle
            else:
                low = middle + 1
        if rules_at(rows, trees, base, node, low) > 0:
            return low
    rest = toss(rows) * available(rows, trees, base, node, cumulative)  # those that have rules are improbable
    before = 0.0
    found = -1
    for column in range(rows.columns):
        own = cumulative[column] - before
        if rest >= 0.0 and own > 0.0 and rules_at(rows, trees, base, node, column) > 0:
            rest -= own
            found = column
        before = cumulative[column]
    return found


@native
def bits_of(kind: i64, cut: i64, aside: i64) -> i64:
    """The rule of a node as `side_of` wants it: where it splits, or the categories that go left, as bits.

    Missing values are 0 where they go left of a continuous rule, and the highest bit of a rule of categories.
    """
    if kind == CONTINUOUS:
        return cut + 1 - aside
    own = 1 << cut if kind == ONE_HOT else cut
    return own | ((1 - aside) << 63)


@native(inline=True)
def side_of(kind: i64, code: i64, bits: i64, aside: i64) -> i64:
    """0 for a value that goes left, 1 for one that goes right: a number, since to jump by it costs more than a sum."""
    right = 1 if (code + 1 - aside) & MISSING > bits else 0
    return right if kind == CONTINUOUS else 1 - ((bits >> (code & 63)) & 1)


@native
def set_rule(trees: Trees, at: i64, column: i64, rule: i64) -> None:
    """Have a node split by a column and a rule as `draw_rule` gives it."""
    trees.variable[at] = column
    trees.cut[at] = rule & ((1 << 62) - 1)
    trees.aside[at] = (rule >> 62) & 1


@native
def rule_of(trees: Trees, at: i64) -> i64:
    """The rule of a node, as `draw_rule` gives it."""
    return trees.cut[at] | (trees.aside[at] << 62)


@native
def leaf_of(rows: TreeRows, trees: Trees, base: i64, top: i64, row: i64) -> i64:
    """The leaf of a row at or below a node."""
    node = top
    column = trees.variable[base + node]
    while column >= 0:
        kind = rows.kinds[column]
        aside = trees.aside[base + node]
        bits = bits_of(kind, trees.cut[base + node], aside)
        node = trees.left[base + node] + side_of(kind, i64(rows.codes[column * rows.rows + row]), bits, aside)
        column = trees.variable[base + node]
    return node


@native
def place_rows(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Find the leaf of every row of a tree."""
    for i in range(rows.rows):
        rows.places[tree * rows.rows + i] = leaf_of(rows, trees, tree * SLOTS, 0, i)


@native
def write_trees(rows: TreeRows, trees: Trees, first: i64, count: i64, words: Array[i64], begin: i64) -> i64:
    """Write trees as words, node by node, the left child first; gives the place behind them.

    A leaf is its values, and behind them its slopes where leaves have lines. A node is its cut on the covariate's scale
    (of categories: their number, or their bits), with twice the column's number, counted from 1, and whether missing
    values go right, in its lowest bits.
    """
    at = begin
    for tree in range(first, first + count):
        base = tree * SLOTS
        rows.chosen[0] = 0
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = rows.chosen[waiting]
            column = trees.variable[base + node]
            if column < 0:
                for k in range(rows.outputs):
                    words[at] = float_bits(trees.value[(base + node) * rows.outputs + k])
                    at += 1
                if trees.sloped:
                    for k in range(rows.outputs):
                        words[at] = float_bits(trees.slope[(base + node) * rows.outputs + k])
                        at += 1
            else:
                cut = trees.cut[base + node]
                value = rows.cuts[column * LEVELS + cut] if rows.kinds[column] == CONTINUOUS else float(cut)
                words[at] = float_bits(value) | (2 * (column + 1)) | trees.aside[base + node]
                at += 1
                rows.chosen[waiting] = trees.left[base + node] + 1
                rows.chosen[waiting + 1] = trees.left[base + node]
                waiting += 2
    return at
