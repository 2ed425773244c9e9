"""Sums of regression trees in flat arrays: rules that split rows, and moves of one tree given all others.

Covariates as small whole numbers, and for each row the slope and curvature of a log likelihood that is quadratic in the
sum, enter; trees that a Metropolis move leaves invariant leave. Where that likelihood comes from stays outside.
Sources: Chipman, George, McCulloch (1998; 2010). Rules are drawn from their weights with the leaves integrated out.
"""

from __future__ import annotations

from consilience.inference.streams import uniform
from consilience.native.mathematics import bits_float, exp, float_bits, inf, log, sqrt
from consilience.native.random import random_normal
from consilience.native.typed_python import Array, boolean, f64, i8, i64, native, record

SLOTS = 127
"""Nodes of one tree at most: the root and 63 pairs of children, which fit into one byte."""
LEVELS = 128
"""Room for the values of one covariate, which are numbered from 0."""
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
        Values of leaves, f64[tree, slot, output].
    high : Array
        Slots that may be in use, i64[tree].
    """

    variable: Array[i64]
    cut: Array[i64]
    aside: Array[i64]
    parent: Array[i64]
    left: Array[i64]
    value: Array[f64]
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
    cuts : Array
        Where cuts lie on the scale of the covariate, f64[column, level]; their lowest bits are zero.
    alpha, beta : f64
        A node of depth d splits with the probability alpha (1 + d)^-beta.
    precision : f64
        1 / variance of a leaf's value.
    fewest : i64
        TreeRows of a leaf.
    places : Array
        Slot of the leaf of each row, i8[tree, row].
    curvature, score : Array
        Of the log likelihood of each row: its curvature with the sign changed, and its slope at the present sum,
        f64[output, row].
    sums : Array
        Number of rows, curvatures and scores of a slot, f64[slot, 1 + 2 output].
    table : Array
        The same by value of a covariate, f64[level, 1 + 2 output].
    chances : Array
        Of cuts, f64[2 level].
    side, whole : Array
        Sums on one side of a cut, and of both, f64[1 + 2 output].
    chosen : Array
        Slots to choose from, i64[slot].
    members, count : Array, i64
        TreeRows that a move looks at, i64[row], and how many there are.
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
    cuts: Array[f64]
    alpha: f64
    beta: f64
    precision: f64
    fewest: i64
    places: Array[i8]
    curvature: Array[f64]
    score: Array[f64]
    sums: Array[f64]
    table: Array[f64]
    chances: Array[f64]
    side: Array[f64]
    whole: Array[f64]
    chosen: Array[i64]
    members: Array[i64]
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
def draw_column(rows: TreeRows, trees: Trees, base: i64, node: i64) -> i64:
    """A column by its prior probability among those that may split a node; -1 if there is none."""
    if not growable(rows, trees, base, node):
        return -1
    found = -1
    while found < 0:
        u = toss(rows) * rows.cumulative[rows.columns - 1]
        low = 0
        high = rows.columns - 1
        while low < high:
            middle = (low + high) >> 1
            if rows.cumulative[middle] > u:
                high = middle
            else:
                low = middle + 1
        if rules_at(rows, trees, base, node, low) > 0:
            found = low
    return found


@native
def evidence(rows: TreeRows, sums: Array[f64]) -> f64:
    """Log likelihood of rows with these sums in one leaf, whose value is integrated out."""
    found = 0.0
    for k in range(rows.outputs):
        precise = sums[1 + 2 * k] + rows.precision
        score = sums[2 + 2 * k]
        found += 0.5 * (log(rows.precision / precise) + score * score / precise)
    return found


@native
def gather(rows: TreeRows, tree: i64, first: i64, second: i64) -> None:
    """Put the numbers of the rows that lie in either of two slots, or in one and -1, into `members`."""
    n = rows.rows
    places = rows.places[tree * n :]
    count = 0
    for i in range(n):
        place = places[i]
        rows.members[count] = i
        count += (1 if place == first else 0) + (1 if place == second else 0)
    rows.count = count


@native
def tabulate(rows: TreeRows, column: i64) -> None:
    """Sums by value of a column, over `members`."""
    width = 1 + 2 * rows.outputs
    n = rows.rows
    for k in range(rows.levels[column] * width):
        rows.table[k] = 0.0
    for k in range(width):
        rows.table[MISSING * width + k] = 0.0
    codes = rows.codes[column * n :]
    if rows.outputs == 1:
        for m in range(rows.count):
            i = rows.members[m]
            at = i64(codes[i]) * 3
            rows.table[at] += 1.0
            rows.table[at + 1] += rows.curvature[i]
            rows.table[at + 2] += rows.score[i]
        return
    for m in range(rows.count):
        i = rows.members[m]
        at = i64(codes[i]) * width
        rows.table[at] += 1.0
        for k in range(rows.outputs):
            rows.table[at + 1 + 2 * k] += rows.curvature[k * n + i]
            rows.table[at + 2 + 2 * k] += rows.score[k * n + i]


@native
def weigh(rows: TreeRows, which: i64) -> f64:
    """Exponent of the likelihood of both sides of a cut; the factor before it goes to `chances`. -inf: too few rows."""
    left = rows.side
    whole = rows.whole
    if left[0] < float(rows.fewest) or whole[0] - left[0] < float(rows.fewest):
        rows.chances[which] = 0.0
        return -inf
    exponent = 0.0
    factor = 1.0
    for k in range(rows.outputs):
        curvature = left[1 + 2 * k]
        score = left[2 + 2 * k]
        first = curvature + rows.precision
        second = whole[1 + 2 * k] - curvature + rows.precision
        rest = whole[2 + 2 * k] - score
        both = rows.precision / (first * second)
        factor *= rows.precision * both
        exponent += 0.5 * (score * score * second + rest * rest * first) * both / rows.precision
    rows.chances[which] = sqrt(factor)
    return exponent


@native
def try_rules(rows: TreeRows, trees: Trees, tree: i64, node: i64, column: i64, subset: i64) -> f64:
    """Log of the mean likelihood of all cuts of a column at a node, the leaves integrated out; -inf if none is allowed.

    Its rows are `members`.
    `chances` are then those of the cuts, in order; where some values are missing, those with missing values left and
    right follow each other. Of subsets this is the one given, without its missing values or, from bit 62 on, with.
    """
    width = 1 + 2 * rows.outputs
    count = rules_at(rows, trees, tree * SLOTS, node, column)
    tabulate(rows, column)
    kind = rows.kinds[column]
    missing = rows.missing[column]
    lost = MISSING * width
    levels = rows.levels[column]
    for k in range(width):
        total = rows.table[lost + k]
        for c in range(levels):
            total += rows.table[c * width + k]
        rows.whole[k] = total
        rows.side[k] = 0.0
    greatest = -inf
    options = 0
    exponents = rows.chances[2 * LEVELS :]
    if kind == SUBSET:
        count = 1
        mask = subset & ((1 << 62) - 1)
        for c in range(levels):
            if (mask >> c) & 1 == 1:
                for k in range(width):
                    rows.side[k] += rows.table[c * width + k]
        if missing == 1 and (subset >> 62) & 1 == 0:
            for k in range(width):
                rows.side[k] += rows.table[lost + k]
        exponents[0] = weigh(rows, 0)
        greatest = exponents[0]
        options = 1
    else:
        last = rows.high if kind == CONTINUOUS else levels
        for c in range(rows.low if kind == CONTINUOUS else 0, last):
            allowed = True
            if kind == CONTINUOUS:
                for k in range(width):
                    rows.side[k] += rows.table[c * width + k]
            else:
                allowed = (rows.mask >> c) & 1 == 1
                for k in range(width):
                    rows.side[k] = rows.table[c * width + k]
            if allowed and kind == CONTINUOUS and missing == 0 and options > 0 and rows.table[c * width] == 0.0:
                exponents[options] = exponents[options - 1]  # the cut parts the rows as the one before
                rows.chances[options] = rows.chances[options - 1]
                options += 1
            elif allowed:
                if missing == 1:
                    for k in range(width):
                        rows.side[k] += rows.table[lost + k]
                    exponents[options] = weigh(rows, options)
                    greatest = max(greatest, exponents[options])
                    options += 1
                    for k in range(width):
                        rows.side[k] -= rows.table[lost + k]
                exponents[options] = weigh(rows, options)
                greatest = max(greatest, exponents[options])
                options += 1
        if missing == 1:
            count *= 2
    if greatest == -inf:
        return -inf
    total = 0.0
    for o in range(options):
        if exponents[o] > greatest - 40.0:
            rows.chances[o] *= exp(exponents[o] - greatest)
            total += rows.chances[o]
        else:
            rows.chances[o] = 0.0
    return greatest + log(total / float(count))


@native
def draw_rule(rows: TreeRows, column: i64) -> i64:
    """A cut by its chances, and whether missing values go right from bit 62 on; none for subsets."""
    missing = rows.missing[column]
    kind = rows.kinds[column]
    first = rows.low if kind == CONTINUOUS else 0
    last = rows.high if kind == CONTINUOUS else rows.levels[column]
    total = 0.0
    options = 0
    for c in range(first, last):
        if kind == CONTINUOUS or (rows.mask >> c) & 1 == 1:
            for _ in range(1 + missing):
                total += rows.chances[options]
                options += 1
    rest = toss(rows) * total
    option = 0
    found = 0
    going = True
    for c in range(first, last):
        if going and (kind == CONTINUOUS or (rows.mask >> c) & 1 == 1):
            for side in range(1 + missing):
                if going and rows.chances[option] > 0.0:
                    found = c | (side << 62)
                    rest -= rows.chances[option]
                    going = rest >= 0.0
                option += 1
    return found


@native
def draw_subset(rows: TreeRows, trees: Trees, base: i64, node: i64, column: i64) -> i64:
    """A subset of the values of a column that reach a node, neither none nor all, each as likely as any other."""
    rules_at(rows, trees, base, node, column)
    mask = rows.mask
    found = 0
    while found == 0 or found == mask:
        found = 0
        for c in range(rows.levels[column]):
            if (mask >> c) & 1 == 1 and toss(rows) < 0.5:
                found = found | (1 << c)
    if rows.missing[column] == 1 and toss(rows) < 0.5:
        found = found | (1 << 62)
    return found


@native
def goes_left(kind: i64, code: i64, cut: i64, aside: i64) -> boolean:
    """Whether a value goes to the left child."""
    if code == MISSING:
        return aside == 0
    if kind == CONTINUOUS:
        return code <= cut
    if kind == ONE_HOT:
        return code == cut
    return (cut >> code) & 1 == 1


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
def part_rows(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> None:
    """Send `members` to the children of a node, and add up both."""
    n = rows.rows
    base = tree * SLOTS
    column = trees.variable[base + node]
    kind = rows.kinds[column]
    cut = trees.cut[base + node]
    aside = trees.aside[base + node]
    left = trees.left[base + node]
    width = 1 + 2 * rows.outputs
    for k in range(2 * width):
        rows.sums[left * width + k] = 0.0
    codes = rows.codes[column * n :]
    places = rows.places[tree * n :]
    for m in range(rows.count):
        i = rows.members[m]
        child = left if goes_left(kind, i64(codes[i]), cut, aside) else left + 1
        places[i] = child
        at = child * width
        rows.sums[at] += 1.0
        for k in range(rows.outputs):
            rows.sums[at + 1 + 2 * k] += rows.curvature[k * n + i]
            rows.sums[at + 2 + 2 * k] += rows.score[k * n + i]


@native
def list_slots(rows: TreeRows, trees: Trees, tree: i64, above: boolean) -> i64:
    """Number of leaves, or of nodes above two leaves, which are put into `chosen`."""
    base = tree * SLOTS
    count = 0
    for node in range(trees.high[tree]):
        column = trees.variable[base + node]
        if above:
            if column >= 0:
                left = base + trees.left[base + node]
                if trees.variable[left] == LEAF and trees.variable[left + 1] == LEAF:
                    rows.chosen[count] = node
                    count += 1
        elif column == LEAF:
            rows.chosen[count] = node
            count += 1
    return count


@native
def free_pair(trees: Trees, base: i64) -> i64:
    """The first of two slots that are not in use; -1 if there are none."""
    for k in range(1, SLOTS - 1, 2):
        if trees.variable[base + k] == UNUSED:
            return k
    return -1


@native
def grow(rows: TreeRows, trees: Trees, tree: i64) -> boolean:
    """Try to split a leaf."""
    base = tree * SLOTS
    leaves = list_slots(rows, trees, tree, False)
    node = rows.chosen[min(leaves - 1, int(toss(rows) * float(leaves)))]
    depth = depth_of(trees, base, node)
    pair = free_pair(trees, base)
    if pair < 0 or rows.used + 1 + rows.outputs > rows.room:
        return False
    width = 1 + 2 * rows.outputs
    if rows.sums[node * width] < 2.0 * float(rows.fewest):
        return False
    column = draw_column(rows, trees, base, node)
    if column < 0:
        return False
    rule = draw_subset(rows, trees, base, node, column) if rows.kinds[column] == SUBSET else 0
    gather(rows, tree, node, -1)
    level = try_rules(rows, trees, tree, node, column, rule)
    if level == -inf:
        return False
    if rows.kinds[column] != SUBSET:
        rule = draw_rule(rows, column)
    own = evidence(rows, rows.sums[node * width :])
    set_rule(trees, base + node, column, rule)
    trees.left[base + node] = pair
    for k in range(pair, pair + 2):
        trees.variable[base + k] = LEAF
        trees.parent[base + k] = node
    trees.high[tree] = max(trees.high[tree], pair + 2)
    before = split_level(rows, depth)
    ratio = log(before / (1.0 - before)) + level - own
    ratio += stays_leaf(rows, trees, base, pair, depth + 1) + stays_leaf(rows, trees, base, pair + 1, depth + 1)
    ratio += log(float(leaves) / float(list_slots(rows, trees, tree, True)))
    if log(toss(rows)) < ratio:
        part_rows(rows, trees, tree, node)
        rows.used += 1 + rows.outputs
        return True
    trees.variable[base + node] = LEAF
    for k in range(pair, pair + 2):
        trees.variable[base + k] = UNUSED
    return False


@native
def prune(rows: TreeRows, trees: Trees, tree: i64) -> boolean:
    """Try to make a node above two leaves a leaf: `grow` the other way round."""
    base = tree * SLOTS
    nodes = list_slots(rows, trees, tree, True)
    if nodes == 0:
        return False
    node = rows.chosen[min(nodes - 1, int(toss(rows) * float(nodes)))]
    depth = depth_of(trees, base, node)
    left = trees.left[base + node]
    column = trees.variable[base + node]
    gather(rows, tree, left, left + 1)
    level = try_rules(rows, trees, tree, node, column, rule_of(trees, base + node))
    width = 1 + 2 * rows.outputs
    own = evidence(rows, rows.whole)
    before = split_level(rows, depth)
    ratio = log(before / (1.0 - before)) + level - own
    ratio += stays_leaf(rows, trees, base, left, depth + 1) + stays_leaf(rows, trees, base, left + 1, depth + 1)
    leaves = list_slots(rows, trees, tree, False) - 1
    ratio += log(float(leaves) / float(nodes))
    if log(toss(rows)) >= -ratio:
        return False
    for k in range(width):
        rows.sums[node * width + k] = rows.whole[k]
    trees.variable[base + node] = LEAF
    for k in range(left, left + 2):
        trees.variable[base + k] = UNUSED
    while trees.variable[base + trees.high[tree] - 1] == UNUSED:
        trees.high[tree] -= 1
    places = rows.places[tree * rows.rows :]
    for m in range(rows.count):
        places[rows.members[m]] = node
    rows.used -= 1 + rows.outputs
    return True


@native
def change(rows: TreeRows, trees: Trees, tree: i64) -> boolean:
    """Try another rule at a node above two leaves."""
    base = tree * SLOTS
    nodes = list_slots(rows, trees, tree, True)
    if nodes == 0:
        return False
    node = rows.chosen[min(nodes - 1, int(toss(rows) * float(nodes)))]
    depth = depth_of(trees, base, node)
    left = trees.left[base + node]
    before = trees.variable[base + node]
    old = rule_of(trees, base + node)
    column = draw_column(rows, trees, base, node)
    subset = rows.kinds[column] == SUBSET
    gather(rows, tree, left, left + 1)
    ratio = 0.0
    if column != before or subset:
        ratio -= try_rules(rows, trees, tree, node, before, old)
    rule = draw_subset(rows, trees, base, node, column) if subset else 0
    level = try_rules(rows, trees, tree, node, column, rule)
    if level == -inf:
        return False
    if column != before or subset:
        ratio += level
    if not subset:
        rule = draw_rule(rows, column)
    ratio -= stays_leaf(rows, trees, base, left, depth + 1) + stays_leaf(rows, trees, base, left + 1, depth + 1)
    set_rule(trees, base + node, column, rule)
    ratio += stays_leaf(rows, trees, base, left, depth + 1) + stays_leaf(rows, trees, base, left + 1, depth + 1)
    if log(toss(rows)) < ratio:
        part_rows(rows, trees, tree, node)
        return True
    set_rule(trees, base + node, before, old)
    return False


@native
def lift(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Take a tree out of the scores, and add up the rows of its leaves."""
    base = tree * SLOTS
    n = rows.rows
    outputs = rows.outputs
    width = 1 + 2 * outputs
    for k in range(trees.high[tree] * width):
        rows.sums[k] = 0.0
    places = rows.places[tree * n :]
    if outputs == 1:
        values = trees.value[base:]
        for i in range(n):
            place = i64(places[i])
            score = rows.score[i] + rows.curvature[i] * values[place]
            rows.score[i] = score
            at = 3 * place
            rows.sums[at] += 1.0
            rows.sums[at + 1] += rows.curvature[i]
            rows.sums[at + 2] += score
        return
    for i in range(n):
        place = i64(places[i])
        at = width * place
        rows.sums[at] += 1.0
        for k in range(outputs):
            score = rows.score[k * n + i] + rows.curvature[k * n + i] * trees.value[(base + place) * outputs + k]
            rows.score[k * n + i] = score
            rows.sums[at + 1 + 2 * k] += rows.curvature[k * n + i]
            rows.sums[at + 2 + 2 * k] += score


@native
def draw_leaves(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Draw the values of all leaves given the scores without the tree."""
    base = tree * SLOTS
    width = 1 + 2 * rows.outputs
    for node in range(trees.high[tree]):
        if trees.variable[base + node] == LEAF:
            for k in range(rows.outputs):
                precise = rows.sums[node * width + 1 + 2 * k] + rows.precision
                mean = rows.sums[node * width + 2 + 2 * k] / precise
                trees.value[(base + node) * rows.outputs + k] = rounded(mean + toss_normal(rows) / sqrt(precise))


@native
def place_rows(rows: TreeRows, trees: Trees, tree: i64) -> None:
    """Find the leaf of every row of a tree."""
    base = tree * SLOTS
    n = rows.rows
    for i in range(n):
        node = 0
        while trees.variable[base + node] >= 0:
            column = trees.variable[base + node]
            code = i64(rows.codes[column * n + i])
            left = trees.left[base + node]
            node = (
                left
                if goes_left(rows.kinds[column], code, trees.cut[base + node], trees.aside[base + node])
                else left + 1
            )
        rows.places[tree * n + i] = node


@native
def write_trees(rows: TreeRows, trees: Trees, first: i64, count: i64, words: Array[i64], begin: i64) -> i64:
    """Write trees as words, node by node, the left child first; gives the place behind them.

    A leaf is its values. A node is its cut on the covariate's scale (of categories: their number, or their bits), with
    twice the column's number, counted from 1, and whether missing values go right, in its lowest bits.
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
            else:
                cut = trees.cut[base + node]
                value = rows.cuts[column * LEVELS + cut] if rows.kinds[column] == CONTINUOUS else float(cut)
                words[at] = float_bits(value) | (2 * (column + 1)) | trees.aside[base + node]
                at += 1
                rows.chosen[waiting] = trees.left[base + node] + 1
                rows.chosen[waiting + 1] = trees.left[base + node]
                waiting += 2
    return at
