"""Moves of one regression tree given all others: Metropolis steps that try all cuts of a column.

For each row the slope and curvature of a log likelihood that is quadratic in the sum of trees enter; trees that a move
leaves invariant leave. Where that likelihood comes from stays outside. Rules are drawn from their weights with the
leaves integrated out. Sources: Chipman, George, McCulloch (1998; 2010); Pratola (2016) for rules of inner nodes.
"""

from __future__ import annotations

from consilience.inference.trees import (
    CONTINUOUS,
    LEAF,
    MISSING,
    MOST_LEAVES,
    ONE_HOT,
    OPTIONS,
    SLOTS,
    SUBSET,
    UNUSED,
    TreeRows,
    Trees,
    available,
    depth_of,
    draw_column,
    goes_left,
    leaf_of,
    rounded,
    rule_of,
    rules_at,
    set_rule,
    split_level,
    stays_leaf,
    toss,
    toss_normal,
)
from consilience.native.mathematics import exp, inf, log, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, simd

LEAVES, ABOVE_LEAVES, INNER = range(3)
"""Which nodes of a tree."""


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
    """Sums by value of a column, over `members`, and of all."""
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
    else:
        for m in range(rows.count):
            i = rows.members[m]
            at = i64(codes[i]) * width
            rows.table[at] += 1.0
            for k in range(rows.outputs):
                rows.table[at + 1 + 2 * k] += rows.curvature[k * n + i]
                rows.table[at + 2 + 2 * k] += rows.score[k * n + i]
    for k in range(width):
        total = rows.table[MISSING * width + k]
        for c in range(rows.levels[column]):
            total += rows.table[c * width + k]
        rows.whole[k] = total
        rows.start[k] = 0.0


@native
def list_below(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> i64:
    """Number of leaves below a node, which are numbered in `number`; all other slots have -1."""
    base = tree * SLOTS
    count = 0
    for slot in range(trees.high[tree]):
        rows.number[slot] = -1
        if trees.variable[base + slot] == LEAF and lies_below(trees, base, slot, node):
            rows.number[slot] = count
            count += 1
    return count


@native
def lies_below(trees: Trees, base: i64, slot: i64, node: i64) -> boolean:
    """Whether a slot lies below a node, or is the node."""
    at = slot
    while at != 0 and at != node:
        at = trees.parent[base + at]
    return at == node


@native
def gather_below(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> None:
    """Put the rows of the leaves that `number` numbers into `members`, with the leaves on both sides of the node."""
    n = rows.rows
    base = tree * SLOTS
    places = rows.places[tree * n :]
    count = 0
    for i in range(n):
        rows.members[count] = i
        count += 1 if rows.number[i64(places[i])] >= 0 else 0
    rows.count = count
    left = trees.left[base + node]
    for slot in range(trees.high[tree]):
        rows.chosen[slot] = 1 if rows.number[slot] >= 0 and lies_below(trees, base, slot, left) else 0
    first = trees.variable[base + left] == LEAF
    second = trees.variable[base + left + 1] == LEAF
    for m in range(count):
        i = rows.members[m]
        place = places[i]
        if rows.chosen[i64(place)] == 1:
            rows.lefts[m] = place
            rows.rights[m] = left + 1 if second else leaf_of(rows, trees, base, left + 1, i)
        else:
            rows.lefts[m] = left if first else leaf_of(rows, trees, base, left, i)
            rows.rights[m] = place


@native
def tabulate_below(rows: TreeRows, column: i64, leaves: i64) -> None:
    """By value of a column, what each leaf gains if the value goes left: numbers of rows, curvatures, scores.

    `start` has the sums if all values go right.
    """
    n = rows.rows
    own = 1 + 2 * rows.outputs
    width = leaves * own
    for k in range(rows.levels[column] * width):
        rows.table[k] = 0.0
    lost = MISSING * width
    for k in range(width):
        rows.table[lost + k] = 0.0
        rows.start[k] = 0.0
    codes = rows.codes[column * n :]
    for m in range(rows.count):
        i = rows.members[m]
        line = i64(codes[i]) * width
        left = rows.number[i64(rows.lefts[m])] * own
        right = rows.number[i64(rows.rights[m])] * own
        rows.table[line + left] += 1.0
        rows.table[line + right] -= 1.0
        rows.start[right] += 1.0
        for k in range(rows.outputs):
            curvature = rows.curvature[k * n + i]
            score = rows.score[k * n + i]
            rows.table[line + left + 1 + 2 * k] += curvature
            rows.table[line + left + 2 + 2 * k] += score
            rows.table[line + right + 1 + 2 * k] -= curvature
            rows.table[line + right + 2 + 2 * k] -= score
            rows.start[right + 1 + 2 * k] += curvature
            rows.start[right + 2 + 2 * k] += score


@native
def lay_out(rows: TreeRows, column: i64, subset: i64, leaves: i64) -> i64:
    """Number of cuts of a column; puts the sums of all leaves below the node, by cut, into `parts`.

    Where some values are missing there are two options for a cut: missing values go left, then right.
    """
    own = 1 + 2 * rows.outputs
    kind = rows.kinds[column]
    missing = rows.missing[column]
    levels = rows.levels[column]
    width = own if leaves == 2 else leaves * own
    options = 0
    for k in range(width):
        total = rows.start[k]
        lost = rows.table[MISSING * width + k]
        parts = rows.parts[k * OPTIONS :]
        options = 0
        if kind == SUBSET:
            for c in range(levels):
                if (subset >> c) & 1 == 1:
                    total += rows.table[c * width + k]
            parts[0] = total + (lost if missing == 1 and (subset >> 62) & 1 == 0 else 0.0)
            options = 1
        elif kind == ONE_HOT:
            for c in range(levels):
                if (rows.mask >> c) & 1 == 1:
                    side = total + rows.table[c * width + k]
                    if missing == 1:
                        parts[options] = side + lost
                        options += 1
                    parts[options] = side
                    options += 1
        else:
            for c in range(rows.low, rows.high):
                total += rows.table[c * width + k]
                if missing == 1:
                    parts[options] = total + lost
                    options += 1
                parts[options] = total
                options += 1
        if leaves == 2:
            whole = rows.whole[k]
            for o in simd(options):
                rows.parts[o + (own + k) * OPTIONS] = whole - parts[o]
    return options


@native
def weigh(rows: TreeRows, options: i64, leaves: i64) -> None:
    """Likelihood of each option in `parts`: its exponent, and the factor before it in `chances`. -inf: too few rows."""
    own = 1 + 2 * rows.outputs
    precision = rows.precision
    fewest = float(rows.fewest)
    exponents = rows.exponents
    chances = rows.chances
    parts = rows.parts
    for o in simd(options):
        exponents[o] = 0.0
        chances[o] = 1.0
    for k in range(rows.outputs):
        for leaf in range(leaves):
            curvatures = (leaf * own + 1 + 2 * k) * OPTIONS
            scores = curvatures + OPTIONS
            for o in simd(options):
                precise = parts[o + curvatures] + precision
                exponents[o] += 0.5 * parts[o + scores] * parts[o + scores] / precise
                chances[o] *= precision / precise
        if rows.outputs > 1:  # many factors leave the range of floats
            for o in range(options):
                exponents[o] += 0.5 * log(chances[o])
                chances[o] = 1.0
    for leaf in range(leaves):
        count = leaf * own * OPTIONS
        for o in simd(options):
            exponents[o] = exponents[o] if parts[o + count] >= fewest else -inf
    for o in simd(options):
        chances[o] = sqrt(chances[o])


@native
def try_rules(rows: TreeRows, trees: Trees, tree: i64, node: i64, column: i64, subset: i64, leaves: i64) -> f64:
    """Log of the mean likelihood of all cuts of a column at a node, the leaves integrated out; -inf if none is allowed.

    Its rows are `members`, and `leaves` the number of leaves below it, as `list_below` numbers them where they are
    more than two.
    `chances` are then those of the options that `lay_out` lists. Of subsets there is the one given, without its missing
    values or, from bit 62 on, with.
    """
    count = rules_at(rows, trees, tree * SLOTS, node, column)
    kind = rows.kinds[column]
    missing = rows.missing[column]
    first = rows.low
    end = rows.high
    if leaves > 2:
        tabulate_below(rows, column, leaves)
        base = tree * SLOTS
        for slot in range(1, trees.high[tree]):  # cuts below a node lie on their side of its cut
            if trees.variable[base + slot] == column and slot != node and lies_below(trees, base, slot, node):
                cut = trees.cut[base + slot]
                if lies_below(trees, base, slot, trees.left[base + node]):
                    first = max(first, cut + 1)
                else:
                    end = min(end, cut)
    else:
        tabulate(rows, column)
    options = lay_out(rows, column, subset, leaves)
    weigh(rows, options, leaves)
    if kind == SUBSET:
        count = 1
    elif missing == 1:
        count *= 2
    exponents = rows.exponents
    begin = 0
    last = options
    if kind == CONTINUOUS:
        begin = (first - rows.low) * (1 + missing)
        last = (end - rows.low) * (1 + missing)
    greatest = -inf
    for o in range(begin, last):
        greatest = max(greatest, exponents[o])
    if greatest == -inf:
        return -inf
    total = 0.0
    for o in range(options):
        if begin <= o < last and exponents[o] > greatest - 40.0:
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
    nodes = list_slots(rows, trees, tree, ABOVE_LEAVES)
    if nodes == 0:
        return False
    node = rows.chosen[min(nodes - 1, int(toss(rows) * float(nodes)))]
    depth = depth_of(trees, base, node)
    left = trees.left[base + node]
    column = trees.variable[base + node]
    gather(rows, tree, left, left + 1)
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
    rows.used -= 1 + rows.outputs
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
                found -= log(float(count) * available(rows, trees, base, slot))
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
def settle_below(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> None:
    """Send `members` to the leaves below a node, and add them up."""
    n = rows.rows
    base = tree * SLOTS
    column = trees.variable[base + node]
    kind = rows.kinds[column]
    cut = trees.cut[base + node]
    aside = trees.aside[base + node]
    width = 1 + 2 * rows.outputs
    for slot in range(trees.high[tree]):
        if rows.number[slot] >= 0:
            for k in range(width):
                rows.sums[slot * width + k] = 0.0
    codes = rows.codes[column * n :]
    places = rows.places[tree * n :]
    for m in range(rows.count):
        i = rows.members[m]
        slot = rows.lefts[m] if goes_left(kind, i64(codes[i]), cut, aside) else rows.rights[m]
        places[i] = slot
        at = i64(slot) * width
        rows.sums[at] += 1.0
        for k in range(rows.outputs):
            rows.sums[at + 1 + 2 * k] += rows.curvature[k * n + i]
            rows.sums[at + 2 + 2 * k] += rows.score[k * n + i]


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
    column = draw_column(rows, trees, base, node) if other else before
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
        gather(rows, tree, trees.left[base + node], trees.left[base + node] + 1)
    ratio = 0.0
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
            settle_below(rows, trees, tree, node)
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
        for half in range(n >> 1):
            i = 2 * half
            place = i64(places[i])
            curvature = curvatures[i]
            score = scores[i] + curvature * values[place]
            scores[i] = score
            at = 3 * place
            sums[at] += 1.0
            sums[at + 1] += curvature
            sums[at + 2] += score
            place = i64(places[i + 1])
            curvature = curvatures[i + 1]
            score = scores[i + 1] + curvature * values[place]
            scores[i + 1] = score
            at = 3 * place
            others[at] += 1.0
            others[at + 1] += curvature
            others[at + 2] += score
        for i in range(n & ~1, n):
            place = i64(places[i])
            scores[i] += curvatures[i] * values[place]
            sums[3 * place] += 1.0
            sums[3 * place + 1] += curvatures[i]
            sums[3 * place + 2] += scores[i]
        for k in range(trees.high[tree] * 3):
            sums[k] += others[k]
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
