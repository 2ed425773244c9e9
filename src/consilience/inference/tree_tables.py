"""Likelihoods of all cuts of one column at a node of a regression tree, the leaves integrated out.

For each row the slope and curvature of a log likelihood that is quadratic in the sum of trees enter; weights of cuts,
and cuts drawn from them, leave. A table of sums by value of the column gives all of them. Source: Pratola (2016) for
rules of inner nodes.
"""

from __future__ import annotations

from consilience.inference.trees import (
    CONTINUOUS,
    LEAF,
    MISSING,
    ONE_HOT,
    OPTIONS,
    SLOTS,
    SUBSET,
    TreeRows,
    Trees,
    leaf_of,
    rules_at,
    toss,
)
from consilience.native.mathematics import exp, inf, log, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, simd


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
