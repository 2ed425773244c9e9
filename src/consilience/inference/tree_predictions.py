"""Sums of trees at rows, from trees as `trees.write_trees` writes them.

Written trees of draws and covariates enter; sums leave, one per draw, output and row.
"""

from __future__ import annotations

from consilience.inference.trees import CONTINUOUS, ONE_HOT, TAG
from consilience.native.mathematics import bits_float
from consilience.native.typed_python import Array, boolean, f64, i64, native, simd


@native
def is_leaf(word: i64) -> boolean:
    """Whether a word of a written tree is a leaf's value."""
    return word & TAG == 0


@native
def cut_of(word: i64) -> f64:
    """Where a written node cuts its column."""
    return bits_float(word & ~TAG)


@native
def follow(word: i64, kind: i64, value: f64) -> boolean:
    """Whether a value goes to the left child of a written node."""
    if value != value:
        return (word & 1) == 0
    cut = cut_of(word)
    if kind == CONTINUOUS:
        return value <= cut
    if kind == ONE_HOT:
        return value == cut
    if not 0.0 <= value < 62.0:
        return False
    return (int(cut) >> int(value)) & 1 == 1


@native
def column_at(word: i64, covariates: Array[f64], rows: i64) -> Array[f64]:
    """The column that a written node splits by."""
    return covariates[(((word & TAG) >> 1) - 1) * rows :]


@native
def add_small_tree(own: Array[i64], root: i64, covariates: Array[f64], target: Array[f64], rows: i64) -> boolean:
    """Add a tree of up to three leaves, with one output and cuts alone, to all rows; False if it is larger.

    Most trees are so small. Without branches rows are added side by side.
    """
    word = own[root]
    if is_leaf(word):
        first = bits_float(word)
        for i in simd(rows):
            target[i] += first
        return True
    column = column_at(word, covariates, rows)
    cut = cut_of(word)
    if is_leaf(own[root + 1]) and is_leaf(own[root + 2]):
        first = bits_float(own[root + 1])
        second = bits_float(own[root + 2])
        for i in simd(rows):
            target[i] += first if column[i] <= cut else second
        return True
    straight = is_leaf(own[root + 1])  # the other node is the right child
    node = root + 2 if straight else root + 1
    if is_leaf(own[node]) or not (is_leaf(own[root + 3]) and is_leaf(own[root + 4])):
        return False
    if not straight and not is_leaf(own[root + 2]):
        return False
    inner = column_at(own[node], covariates, rows)
    below = cut_of(own[node])
    first = bits_float(own[root + 1 if straight else root + 4])
    second = bits_float(own[root + 3 if straight else root + 2])
    third = bits_float(own[root + 4 if straight else root + 3])
    for i in simd(rows):
        rest = second if inner[i] <= below else third
        left = first if straight else rest
        right = rest if straight else first
        target[i] += left if column[i] <= cut else right
    return True


@native
def sum_trees(
    words: Array[i64],
    covariates: Array[f64],
    kinds: Array[i64],
    standards: Array[f64],
    sizes: Array[i64],
    skips: Array[i64],
    found: Array[f64],
) -> None:
    """Sums of trees of every draw, f64[draw, ensemble, output, row].

    words       of the draws, i64[draw, word]
    covariates  f64[column, row]; NaN where a value is missing
    standards   what makes lines of covariates: their means and spreads, f64[2, column]
    sizes       numbers of draws, words of a draw, trees of a sum, ensembles, outputs, rows, 1
                where all columns have cuts and no value is missing, 1 where leaves have lines, columns
    skips       memory, i64[word + 64]
    """
    draws = sizes[0]
    width = sizes[1]
    trees = sizes[2]
    ensembles = sizes[3]
    outputs = sizes[4]
    n = sizes[5]
    plain = sizes[6] == 1
    lines = sizes[7] == 1
    columns = sizes[8]
    for draw in range(draws):
        own = words[draw * width :]
        offset = bits_float(own[0])
        at = 1
        for ensemble in range(ensembles):
            target = found[(draw * ensembles + ensemble) * outputs * n :]
            for i in range(outputs * n):
                target[i] = offset
            for _ in range(trees):
                root = at
                waiting = 0
                going = True
                while going:  # where the right child of each node is
                    if is_leaf(own[at]):
                        at += 2 * outputs if lines else outputs
                        going = waiting > 0
                        if going:
                            waiting -= 1
                            skips[skips[width + waiting]] = at
                    else:
                        skips[width + waiting] = at
                        waiting += 1
                        at += 1
                done = False
                if plain and outputs == 1 and not lines:
                    done = add_small_tree(own, root, covariates, target, n)
                for i in range(0 if done else n):
                    place = root
                    word = own[place]
                    above = -1
                    while word & TAG != 0:
                        column = ((word & TAG) >> 1) - 1
                        value = covariates[column * n + i]
                        if plain:
                            place = place + 1 if value <= cut_of(word) else skips[place]
                        else:
                            place = place + 1 if follow(word, kinds[column], value) else skips[place]
                        word = own[place]
                        above = column
                    for k in range(outputs):
                        target[k * n + i] += bits_float(own[place + k])
                    if lines and above >= 0:
                        value = covariates[above * n + i]
                        if value == value:
                            z = (value - standards[above]) / standards[columns + above]
                            for k in range(outputs):
                                target[k * n + i] += z * bits_float(own[place + outputs + k])
