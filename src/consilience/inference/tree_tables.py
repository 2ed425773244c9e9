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
    bits_of,
    rules_at,
    side_of,
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
def gather(rows: TreeRows, tree: i64, node: i64, first: i64, second: i64) -> None:
    """Put the numbers of the rows at a node into `members`: they lie in either of two slots, or in one and -1."""
    n = rows.rows
    rows.members = rows.every
    rows.count = n
    if node == 0:
        return
    places = rows.places[tree * n :]
    members = rows.some
    count = 0
    for i in range(n):
        place = i64(places[i])
        members[count] = i
        count += (1 if place == first else 0) + (1 if place == second else 0)
    rows.members = members
    rows.count = count


@native
def bend_alike(rows: TreeRows, levels: i64, leaves: i64) -> None:
    """Curvatures in `table` where all rows have the same: they follow from the numbers of rows."""
    table = rows.table
    curvature = rows.alike
    for k in range(levels * leaves):
        table[3 * k + 1] = curvature * table[3 * k]
    for k in range(MISSING * leaves, (MISSING + 1) * leaves):
        table[3 * k + 1] = curvature * table[3 * k]


@native
def tabulate(rows: TreeRows, column: i64) -> None:
    """Sums by value of a column, over `members`, and of all."""
    outputs = rows.outputs
    width = 1 + 2 * outputs
    n = rows.rows
    count = rows.count
    levels = rows.levels[column]
    table = rows.table  # names of their own: what a loop reads of a record is read in each turn
    members = rows.members
    curvatures = rows.curvature
    scores = rows.score
    whole = rows.whole
    for k in simd(levels * width):
        table[k] = 0.0
    lost = MISSING * width
    for k in range(width):
        table[lost + k] = 0.0
    codes = rows.codes[column * n :]
    if outputs == 1:
        if rows.alike > 0.0:
            for m in range(count):
                i = members[m]
                at = i64(codes[i]) * 3
                table[at] += 1.0
                table[at + 2] += scores[i]
            bend_alike(rows, levels, 1)
        else:
            for m in range(count):
                i = members[m]
                at = i64(codes[i]) * 3
                table[at] += 1.0
                table[at + 1] += curvatures[i]
                table[at + 2] += scores[i]
        number = table[lost]
        curvature = table[lost + 1]
        score = table[lost + 2]
        for c in range(levels):
            number += table[3 * c]
            curvature += table[3 * c + 1]
            score += table[3 * c + 2]
        whole[0] = number
        whole[1] = curvature
        whole[2] = score
        return
    for m in range(count):
        i = members[m]
        at = i64(codes[i]) * width
        table[at] += 1.0
        for k in range(outputs):
            table[at + 1 + 2 * k] += curvatures[k * n + i]
            table[at + 2 + 2 * k] += scores[k * n + i]
    for k in range(width):
        total = table[lost + k]
        for c in range(levels):
            total += table[c * width + k]
        whole[k] = total


@native
def list_below(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> i64:
    """Number of leaves below a node: `number` numbers them, -1 at other slots, and `leaves` lists them.

    Those below its left child come first; there are `middle` of them.
    """
    base = tree * SLOTS
    count = 0
    for slot in range(trees.high[tree]):
        rows.number[slot] = -1
    for child in range(trees.left[base + node], trees.left[base + node] + 2):
        rows.middle = count
        for slot in range(trees.high[tree]):
            if trees.variable[base + slot] == LEAF and lies_below(trees, base, slot, child):
                rows.number[slot] = count
                rows.leaves[count] = slot
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
    number = rows.number
    members = rows.every
    count = n
    if node != 0:
        members = rows.some
        count = 0
        for i in range(n):
            members[count] = i
            count += 1 if number[i64(places[i])] >= 0 else 0
    rows.members = members
    rows.count = count
    steps = list_rules(rows, trees, tree, node)
    codes = rows.codes
    kinds = rows.kind_at
    begins = rows.begin_at
    bits = rows.bits_at
    asides = rows.aside_at
    children = rows.child_at
    left = trees.left[base + node]
    middle = rows.middle
    lefts = rows.lefts
    rights = rows.rights
    for m in range(count):
        i = members[m]
        own = number[i64(places[i])]
        at = left + (1 if own < middle else 0)  # where it would go on the other side
        for _ in range(steps):  # for all rows the same number, since a loop that ends by chance costs more than a turn
            at = children[at] + side_of(kinds[at], i64(codes[begins[at] + i]), bits[at], asides[at])
        other = number[at]
        lefts[m] = min(own, other)
        rights[m] = max(own, other)


@native
def list_rules(rows: TreeRows, trees: Trees, tree: i64, node: i64) -> i64:
    """What `gather_below` needs of every node of a tree; gives the depth of the tree below the children of a node.

    A leaf sends all rows to itself.
    """
    base = tree * SLOTS
    steps = 0
    for slot in range(trees.high[tree]):
        column = trees.variable[base + slot]
        if column >= 0:
            rows.kind_at[slot] = rows.kinds[column]
            rows.begin_at[slot] = column * rows.rows
            rows.bits_at[slot] = bits_of(rows.kinds[column], trees.cut[base + slot], trees.aside[base + slot])
            rows.aside_at[slot] = trees.aside[base + slot]
            rows.child_at[slot] = trees.left[base + slot]
        elif column == LEAF:
            rows.kind_at[slot] = CONTINUOUS
            rows.begin_at[slot] = 0
            rows.bits_at[slot] = MISSING
            rows.aside_at[slot] = 1
            rows.child_at[slot] = slot
            if rows.number[slot] >= 0:
                depth = 0
                at = slot
                while at != node:
                    at = trees.parent[base + at]
                    depth += 1
                steps = max(steps, depth - 1)
    return steps


@native
def tabulate_below(rows: TreeRows, column: i64, leaves: i64) -> None:
    """Sums by value of a column, over `members`, of each leaf below a node if the rows go to its side of the node."""
    n = rows.rows
    outputs = rows.outputs
    own = 1 + 2 * outputs
    width = leaves * own
    table = rows.table
    members = rows.members
    lefts = rows.lefts
    rights = rows.rights
    curvatures = rows.curvature
    scores = rows.score
    for k in simd(rows.levels[column] * width):
        table[k] = 0.0
    for k in range(width):
        table[MISSING * width + k] = 0.0
    codes = rows.codes[column * n :]
    if outputs == 1 and rows.alike > 0.0:
        for m in range(rows.count):
            i = members[m]
            line = i64(codes[i]) * width
            left = line + i64(lefts[m]) * 3
            right = line + i64(rights[m]) * 3
            score = scores[i]
            table[left] += 1.0
            table[left + 2] += score
            table[right] += 1.0
            table[right + 2] += score
        bend_alike(rows, rows.levels[column], leaves)
        return
    if outputs == 1:
        for m in range(rows.count):
            i = members[m]
            line = i64(codes[i]) * width
            left = line + i64(lefts[m]) * 3
            right = line + i64(rights[m]) * 3
            curvature = curvatures[i]
            score = scores[i]
            table[left] += 1.0
            table[left + 1] += curvature
            table[left + 2] += score
            table[right] += 1.0
            table[right + 1] += curvature
            table[right + 2] += score
        return
    for m in range(rows.count):
        i = members[m]
        line = i64(codes[i]) * width
        left = line + i64(lefts[m]) * own
        right = line + i64(rights[m]) * own
        table[left] += 1.0
        table[right] += 1.0
        for k in range(outputs):
            curvature = curvatures[k * n + i]
            score = scores[k * n + i]
            table[left + 1 + 2 * k] += curvature
            table[left + 2 + 2 * k] += score
            table[right + 1 + 2 * k] += curvature
            table[right + 2 + 2 * k] += score


@native
def accumulate(rows: TreeRows, column: i64, subset: i64, begin: i64, width: i64, k: i64, target: i64) -> i64:
    """Number of rows, curvature and score of an output that go left by each cut of a column, into `parts`.

    They stand from `begin` on in each line of `table`. Gives the number of cuts; where some values are missing there
    are two options for each: missing values go left, then right. `whole` has the sums over all values.
    """
    counts = rows.table[begin:]
    curvatures = rows.table[begin + 1 + 2 * k :]
    scores = rows.table[begin + 2 + 2 * k :]
    lost = MISSING * width
    missing = rows.missing[column]
    kind = rows.kinds[column]
    mask = subset if kind == SUBSET else rows.mask
    into = rows.parts[target * OPTIONS :]
    bend = rows.parts[(target + 1 + 2 * k) * OPTIONS :]
    rise = rows.parts[(target + 2 + 2 * k) * OPTIONS :]
    a = 0.0
    b = 0.0
    c = 0.0
    options = 0
    if kind == CONTINUOUS:
        for value in range(rows.low, rows.high):
            line = value * width
            a += counts[line]
            b += curvatures[line]
            c += scores[line]
            if missing == 1:
                into[options] = a + counts[lost]
                bend[options] = b + curvatures[lost]
                rise[options] = c + scores[lost]
                options += 1
            into[options] = a
            bend[options] = b
            rise[options] = c
            options += 1
        line = rows.high * width
        a += counts[line]
        b += curvatures[line]
        c += scores[line]
    else:
        for value in range(rows.levels[column]):
            line = value * width
            a += counts[line]
            b += curvatures[line]
            c += scores[line]
            if kind == ONE_HOT and (mask >> value) & 1 == 1:
                if missing == 1:
                    into[options] = counts[line] + counts[lost]
                    bend[options] = curvatures[line] + curvatures[lost]
                    rise[options] = scores[line] + scores[lost]
                    options += 1
                into[options] = counts[line]
                bend[options] = curvatures[line]
                rise[options] = scores[line]
                options += 1
        if kind == SUBSET:
            left = 1.0 if missing == 1 and (subset >> 62) & 1 == 0 else 0.0
            into[0] = left * counts[lost]
            bend[0] = left * curvatures[lost]
            rise[0] = left * scores[lost]
            for value in range(rows.levels[column]):
                if (mask >> value) & 1 == 1:
                    line = value * width
                    into[0] += counts[line]
                    bend[0] += curvatures[line]
                    rise[0] += scores[line]
            options = 1
    rows.whole[0] = a + counts[lost]
    rows.whole[1 + 2 * k] = b + curvatures[lost]
    rows.whole[2 + 2 * k] = c + scores[lost]
    return options


@native
def lay_out(rows: TreeRows, column: i64, subset: i64, leaves: i64) -> i64:
    """Number of cuts of a column; puts the sums of all leaves below the node, by cut, into `parts`."""
    own = 1 + 2 * rows.outputs
    width = own if leaves == 2 else leaves * own  # two leaves have one entry: what does not go left goes right
    options = 0
    for leaf in range(leaves):
        for k in range(rows.outputs):
            if leaf == 0 or leaves > 2:
                begin = leaf * own
                options = accumulate(rows, column, subset, begin, width, k, begin)
            if leaf >= rows.middle:
                copied = 0 if leaves == 2 else leaf * own
                for part in range(3):
                    at = part + 2 * k if part > 0 else 0
                    whole = rows.whole[at]
                    lefts = rows.parts[(copied + at) * OPTIONS :]
                    others = rows.parts[(leaf * own + at) * OPTIONS :]
                    if part > 0 or k == 0:
                        for o in simd(options):
                            others[o] = whole - lefts[o]
    return options


@native
def add_up_rule(rows: TreeRows, trees: Trees, base: i64, node: i64, leaves: i64) -> None:
    """Sums of the leaves below a node under its rule, by whose column `table` is made."""
    own = 1 + 2 * rows.outputs
    width = own if leaves == 2 else leaves * own
    column = trees.variable[base + node]
    kind = rows.kinds[column]
    aside = trees.aside[base + node]
    bits = bits_of(kind, trees.cut[base + node], aside)
    levels = rows.levels[column]
    for leaf in range(leaves):
        begin = 0 if leaves == 2 else leaf * own
        right = 1 if leaf >= rows.middle else 0
        for k in range(rows.outputs):
            counts = rows.table[begin:]
            curvatures = rows.table[begin + 1 + 2 * k :]
            scores = rows.table[begin + 2 + 2 * k :]
            a = 0.0
            b = 0.0
            c = 0.0
            for place in range(levels + 1):
                value = MISSING if place == levels else place
                if side_of(kind, value, bits, aside) == right:
                    line = value * width
                    a += counts[line]
                    b += curvatures[line]
                    c += scores[line]
            at = rows.leaves[leaf] * own
            rows.sums[at] = a
            rows.sums[at + 1 + 2 * k] = b
            rows.sums[at + 2 + 2 * k] = c


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
        rows.middle = 1
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
    allowed = exponents[begin:]
    for o in simd(last - begin):
        greatest = max(greatest, allowed[o])
    if greatest == -inf:
        return -inf
    total = 0.0
    chances = rows.chances
    for o in range(options):
        if begin <= o < last and exponents[o] > greatest - 40.0:
            chances[o] *= exp(exponents[o] - greatest)
            total += chances[o]
        else:
            chances[o] = 0.0
    return greatest + log(total / float(count))


@native
def draw_rule(rows: TreeRows, column: i64) -> i64:
    """A cut by its chances, and whether missing values go right from bit 62 on; none for subsets."""
    missing = rows.missing[column]
    kind = rows.kinds[column]
    chances = rows.chances
    mask = rows.mask
    first = rows.low if kind == CONTINUOUS else 0
    last = rows.high if kind == CONTINUOUS else rows.levels[column]
    total = 0.0
    options = 0
    for c in range(first, last):
        if kind == CONTINUOUS or (mask >> c) & 1 == 1:
            for _ in range(1 + missing):
                total += chances[options]
                options += 1
    rest = toss(rows) * total
    option = 0
    found = 0
    going = True
    for c in range(first, last):
        if going and (kind == CONTINUOUS or (mask >> c) & 1 == 1):
            for side in range(1 + missing):
                if going and chances[option] > 0.0:
                    found = c | (side << 62)
                    rest -= chances[option]
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
