"""Moves of one regression tree given all others: Metropolis steps that try all cuts of a column.

For each row the slope and curvature of a log likelihood that is quadratic in the sum of trees enter; trees that a move
leaves invariant leave. Where that likelihood comes from stays outside. Rules are drawn from their weights with the
leaves integrated out, which `tree_tables` has. Sources: Chipman, George, McCulloch (1998; 2010).
"""

from __future__ import annotations

from consilience.inference.tree_tables import (
    add_up_rule,
    draw_rule,
    draw_subset,
    evidence,
    gather,
    gather_below,
    lies_below,
    list_below,
    try_rules,
)
from consilience.inference.trees import (
    CONTINUOUS,
    LEAF,
    MOST_LEAVES,
    SLOTS,
    SUBSET,
    UNUSED,
    TreeRows,
    Trees,
    available,
    bits_of,
    depth_of,
    draw_column,
    rounded,
    rule_of,
    rules_at,
    set_rule,
    side_of,
    split_level,
    stays_leaf,
    toss,
    toss_normal,
    weight_of,
    words_of_leaf,
)
from consilience.native.mathematics import inf, log, sqrt
from consilience.native.typed_python import boolean, f64, i64, native

LEAVES, ABOVE_LEAVES, INNER = range(3)
"""Which nodes of a tree."""


@native
def part_rows(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> None:
    """Send `members` to the children of a node, and add up both from the table of its column."""
    n = rows.rows
    base = tree * SLOTS
    column = trees.variable[base + node]
    kind = rows.kinds[column]
    aside = trees.aside[base + node]
    bits = bits_of(kind, trees.cut[base + node], aside)
    left = trees.left[base + node]
    rows.leaves[0] = left
    rows.leaves[1] = left + 1
    add_up_rule(rows, trees, base, node, 2)
    members = rows.members
    codes = rows.codes[column * n :]
    places = rows.places[tree * n :]
    for m in range(rows.count):
        i = members[m]
        places[i] = left + side_of(kind, i64(codes[i]), bits, aside)


@native
def settle_below(rows: TreeRows, trees: Trees, tree: i64, node: i64, leaves: i64) -> None:
    """Send `members` to the leaves below a node, and add them up from the table of its column."""
    n = rows.rows
    base = tree * SLOTS
    column = trees.variable[base + node]
    kind = rows.kinds[column]
    aside = trees.aside[base + node]
    bits = bits_of(kind, trees.cut[base + node], aside)
    add_up_rule(rows, trees, base, node, leaves)
    members = rows.members
    lefts = rows.lefts
    rights = rows.rights
    slots = rows.leaves
    codes = rows.codes[column * n :]
    places = rows.places[tree * n :]
    for m in range(rows.count):
        i = members[m]
        left = i64(lefts[m])
        places[i] = slots[left + side_of(kind, i64(codes[i]), bits, aside) * (i64(rights[m]) - left)]


@native
def list_slots(rows: TreeRows, trees: Trees, tree: i64, which: i64) -> i64:
    """Number of leaves, of nodes above two leaves or of all that split rows, which are put into `chosen`."""
    base = tree * SLOTS
    count = 0
    for node in range(trees.high[tree]):
        column = trees.variable[base + node]
        if which != LEAVES:
            if column >= 0:
                left = base + trees.left[base + node]
                if which == INNER or (trees.variable[left] == LEAF and trees.variable[left + 1] == LEAF):
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
    leaves = list_slots(rows, trees, tree, LEAVES)
    node = rows.chosen[min(leaves - 1, int(toss(rows) * float(leaves)))]
    depth = depth_of(trees, base, node)
    pair = free_pair(trees, base)
    if pair < 0 or rows.used + 1 + words_of_leaf(rows) > rows.room:
        return False
    width = 1 + 2 * rows.outputs
    if rows.sums[node * width] < 2.0 * float(rows.fewest):
        return False
    column = draw_column(rows, trees, base, node, rows.cumulative)
    if column < 0:
        return False
    rule = draw_subset(rows, trees, base, node, column) if rows.kinds[column] == SUBSET else 0
    gather(rows, tree, node, node, -1)
    level = try_rules(rows, trees, tree, node, column, rule, 2)
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
    ratio += log(float(leaves) / float(list_slots(rows, trees, tree, ABOVE_LEAVES)))
    if log(toss(rows)) < ratio:
        part_rows(rows, trees, tree, node)
        rows.used += 1 + words_of_leaf(rows)
        return True
    trees.variable[base + node] = LEAF
    for k in range(pair, pair + 2):
        trees.variable[base + k] = UNUSED
    return False


@native
def prune(rows: TreeRows, trees: Trees, tree: i64) -> boolean:
    """Try to make a node above two leaves a leaf: `grow` the other way round."""
    base = tree * SLOTS
    nodes = list_slots(rows, trees, tree, ABOVE_LEAVES)
    if nodes == 0:
        return False
    node = rows.chosen[min(nodes - 1, int(toss(rows) * float(nodes)))]
    depth = depth_of(trees, base, node)
    left = trees.left[base + node]
    column = trees.variable[base + node]
    gather(rows, tree, node, left, left + 1)
    level = try_rules(rows, trees, tree, node, column, rule_of(trees, base + node), 2)
    width = 1 + 2 * rows.outputs
    own = evidence(rows, rows.whole)
    before = split_level(rows, depth)
    ratio = log(before / (1.0 - before)) + level - own
    ratio += stays_leaf(rows, trees, base, left, depth + 1) + stays_leaf(rows, trees, base, left + 1, depth + 1)
    leaves = list_slots(rows, trees, tree, LEAVES) - 1
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
    rows.used -= 1 + words_of_leaf(rows)
    return True


@native
def level_below(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> f64:
    """Log prior probability of the rules below a node given its own, up to what does not depend on it."""
    base = tree * SLOTS
    found = 0.0
    for slot in range(1, trees.high[tree]):
        column = trees.variable[base + slot]
        if column != UNUSED and slot != node and lies_below(trees, base, slot, node):
            if column == LEAF:
                found += stays_leaf(rows, trees, base, slot, depth_of(trees, base, slot))
            else:
                count = rules_at(rows, trees, base, slot, column)
                found -= log(float(count) * available(rows, trees, base, slot, rows.cumulative))
    return found


@native
def categories_below(rows: TreeRows, trees: Trees, tree: i64, node: i64, column: i64) -> boolean:
    """Whether a node below another one splits by the same column of categories."""
    if rows.kinds[column] == CONTINUOUS:
        return False
    base = tree * SLOTS
    for slot in range(1, trees.high[tree]):
        if trees.variable[base + slot] == column and slot != node and lies_below(trees, base, slot, node):
            return True
    return False


@native
def change(rows: TreeRows, trees: Trees, tree: i64, other: boolean) -> boolean:
    """Try another rule at an inner node, of the column that it splits by or of another one."""
    base = tree * SLOTS
    nodes = list_slots(rows, trees, tree, INNER)
    if nodes == 0:
        return False
    node = rows.chosen[min(nodes - 1, int(toss(rows) * float(nodes)))]
    before = trees.variable[base + node]
    old = rule_of(trees, base + node)
    column = draw_column(rows, trees, base, node, rows.leaning) if other else before
    leaves = list_below(rows, trees, tree, node)
    if leaves > MOST_LEAVES:
        return False
    if leaves > 2 and (
        categories_below(rows, trees, tree, node, before) or categories_below(rows, trees, tree, node, column)
    ):
        return False
    subset = rows.kinds[column] == SUBSET
    if leaves > 2:
        gather_below(rows, trees, tree, node)
    else:
        gather(rows, tree, node, trees.left[base + node], trees.left[base + node] + 1)
    ratio = 0.0
    if column != before:
        ratio += log(weight_of(rows.cumulative, column) / weight_of(rows.cumulative, before))
        ratio -= log(weight_of(rows.leaning, column) / weight_of(rows.leaning, before))
    if column != before or subset:
        ratio -= try_rules(rows, trees, tree, node, before, old, leaves)
    rule = draw_subset(rows, trees, base, node, column) if subset else 0
    level = try_rules(rows, trees, tree, node, column, rule, leaves)
    if level == -inf:
        return False
    if column != before or subset:
        ratio += level
    if not subset:
        rule = draw_rule(rows, column)
    ratio -= level_below(rows, trees, tree, node)
    set_rule(trees, base + node, column, rule)
    ratio += level_below(rows, trees, tree, node)
    if log(toss(rows)) < ratio:
        if leaves > 2:
            settle_below(rows, trees, tree, node, leaves)
        else:
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
        curvatures = rows.curvature
        scores = rows.score
        sums = rows.sums
        others = rows.table  # the odd rows add to sums of their own: additions to one place wait for each other
        for k in range(trees.high[tree] * 3):
            others[k] = 0.0
        alike = rows.alike
        for half in range(n >> 1):
            i = 2 * half
            place = i64(places[i])
            curvature = curvatures[i]
            score = scores[i] + curvature * values[place]
            scores[i] = score
            at = 3 * place
            sums[at] += 1.0
            sums[at + 2] += score
            if alike <= 0.0:
                sums[at + 1] += curvature
            place = i64(places[i + 1])
            curvature = curvatures[i + 1]
            score = scores[i + 1] + curvature * values[place]
            scores[i + 1] = score
            at = 3 * place
            others[at] += 1.0
            others[at + 2] += score
            if alike <= 0.0:
                others[at + 1] += curvature
        for i in range(n & ~1, n):
            place = i64(places[i])
            scores[i] += curvatures[i] * values[place]
            sums[3 * place] += 1.0
            sums[3 * place + 1] += curvatures[i]
            sums[3 * place + 2] += scores[i]
        for k in range(trees.high[tree] * 3):
            sums[k] += others[k]
        if alike > 0.0:
            for k in range(trees.high[tree]):
                sums[3 * k + 1] = alike * sums[3 * k]
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
