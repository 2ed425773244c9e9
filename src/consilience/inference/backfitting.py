"""Backfitting of regression trees: each tree given all others, under any log density of their sum.

The log density and its gradient enter, as a slope and a curvature of each row; trees that leave it invariant leave.
Where it is quadratic in the sums this is exact. Elsewhere a quadratic around an anchor proposes, and one evaluation of
the density decides by Metropolis.
"""

from __future__ import annotations

from consilience.inference.bart_state import DAMPING, BARTInfo, BARTScratch, BARTState
from consilience.inference.density import Density, evaluate
from consilience.inference.hamiltonian import copy
from consilience.inference.point import Point
from consilience.inference.tree_lines import CONSTANT, add_up, draw_lines, gain_of_lines, lift_lines, value_at
from consilience.inference.tree_moves import change, draw_leaves, grow, lift, prune
from consilience.inference.tree_orders import in_order
from consilience.inference.tree_probit import draw_normals
from consilience.inference.tree_regrowth import regrow
from consilience.inference.tree_weights import lean
from consilience.inference.trees import SLOTS, UNUSED, TreeRows, Trees, set_scores, toss
from consilience.native.mathematics import inf, log, sqrt
from consilience.native.random import random_uniform
from consilience.native.typed_python import Array, boolean, f64, i8, i64, native

MOVES = 3
"""Of each tree in one sweep."""
BEGINNING = 20
"""Sweeps at most."""


@native
def beginning(point: Point, state: BARTState) -> boolean:
    """Whether this sweep is one of the first while tuning, which look for a place to start from."""
    return 2 * point.transition < min(state.tune, 2 * BEGINNING)


@native
def damp(scratch: BARTScratch, learnt: Array[f64], accepted: f64, begins: boolean) -> None:
    """Take smaller steps while few trees of a sweep are accepted, in the beginning; full ones afterwards."""
    if scratch.quadratic or not begins:
        learnt[DAMPING] = 1.0
    elif accepted < 0.25:
        learnt[DAMPING] *= 4.0
    elif accepted > 0.5:
        learnt[DAMPING] = max(1.0, 0.5 * learnt[DAMPING])


@native
def sign_of(probe: i64, row: i64) -> f64:
    """1 or -1 at random; 1 for a negative number of the probe."""
    if probe < 0:
        return 1.0
    return 1.0 if random_uniform(probe, row) < 0.5 else -1.0


@native
def curve(
    point: Point, scratch: BARTScratch, density: Density, around: Array[f64], begin: i64, output: i64, step: f64
) -> boolean:
    """Curvatures and slopes of one output from gradients on both sides of a place; False where there are none.

    `around` is the place, and the rows of an ensemble begin at `begin`. Where the density is quadratic one side is
    enough.
    """
    rows = scratch.rows
    size = rows.outputs * rows.rows
    width = step if scratch.quadratic else 2.0 * step
    first = begin + output * rows.rows
    copy(point.position, scratch.position, point.dimension)
    if not scratch.quadratic:
        for i in range(begin, begin + size):
            scratch.position[i] = around[i]
    for i in range(first, first + rows.rows):
        scratch.curvature[i] = 0.0
        scratch.score[i] = 0.0
    for probe in range(scratch.probes):
        for i in range(first, first + rows.rows):
            scratch.position[i] = around[i] + step * sign_of(probe if scratch.probes > 1 else -1, i)
        if evaluate(density, scratch.position, scratch.gradient) == -inf:
            return False
        for i in range(first, first + rows.rows):
            scratch.curvature[i] -= sign_of(probe if scratch.probes > 1 else -1, i) * scratch.gradient[i]
            scratch.score[i] += 0.0 if scratch.quadratic else 0.5 * scratch.gradient[i]
        for i in range(first, first + rows.rows):
            scratch.position[i] = around[i] - (
                0.0 if scratch.quadratic else step * sign_of(probe if scratch.probes > 1 else -1, i)
            )
        if evaluate(density, scratch.position, scratch.gradient) == -inf:
            return False
        for i in range(first, first + rows.rows):
            scratch.curvature[i] += sign_of(probe if scratch.probes > 1 else -1, i) * scratch.gradient[i]
            scratch.score[i] += (1.0 if scratch.quadratic else 0.5) * scratch.gradient[i]
    for i in range(first, first + rows.rows):
        scratch.curvature[i] = max(0.0, scratch.curvature[i] / (width * float(scratch.probes)))
        scratch.score[i] /= float(scratch.probes)
    return True


@native
def approximate(point: Point, state: BARTState, scratch: BARTScratch, density: Density, ensemble: i64) -> boolean:
    """Slope and curvature of the density at the rows of one ensemble; False where there are none.

    Where it is quadratic two gradients tell it: here, and one unit away. Where it is the probability of the signs of
    latent normals, it is that of these, which are drawn. Elsewhere it is what a quadratic around the
    anchor says of the place where the chain is; of a density that bends in kinks, such as Laplace's, from
    gradients as far away as a leaf's usual value. Where rows meet, directions with random signs tell the diagonal of
    the curvature alone; they are the same in every sweep.
    """
    rows = scratch.rows
    begin = ensemble * rows.outputs * rows.rows
    if scratch.latent:
        return draw_normals(point, scratch, density, begin)
    around = point.position if scratch.quadratic else state.anchor
    step = 1.0 if scratch.quadratic else (sqrt(1.0 / scratch.usual) if scratch.kinks else 1e-3)
    for k in range(rows.outputs):
        first = begin + k * rows.rows
        if not curve(point, scratch, density, around, begin, k, step):
            return False
        for i in range(first, first + rows.rows):
            curvature = state.learnt[DAMPING] * scratch.curvature[i]
            scratch.curvature[i] = curvature
            scratch.score[i] -= curvature * (point.position[i] - around[i])
    set_scores(rows, scratch.curvature[begin:], scratch.score[begin:])
    return True


@native
def copy_tree(source: Trees, source_tree: i64, target: Trees, target_tree: i64, outputs: i64) -> None:
    """Have a tree in another place, where it replaces the one that was there."""
    base = source_tree * SLOTS
    other = target_tree * SLOTS
    high = source.high[source_tree]
    for node in range(high, target.high[target_tree]):
        target.variable[other + node] = UNUSED
    target.high[target_tree] = high
    for node in range(high):
        target.variable[other + node] = source.variable[base + node]
        target.cut[other + node] = source.cut[base + node]
        target.aside[other + node] = source.aside[base + node]
        target.parent[other + node] = source.parent[base + node]
        target.left[other + node] = source.left[base + node]
    copy(source.value[base * outputs :], target.value[other * outputs :], high * outputs)
    if source.sloped:
        copy(source.slope[base * outputs :], target.slope[other * outputs :], high * outputs)


@native
def keep(rows: TreeRows, trees: Trees, tree: i64, kept: Trees, kept_places: Array[i8]) -> None:
    """Remember a tree and the leaves of its rows."""
    copy_tree(trees, tree, kept, 0, rows.outputs)
    n = rows.rows
    places = rows.places[tree * n :]
    for i in range(n):
        kept_places[i] = places[i]


@native
def put_back(rows: TreeRows, trees: Trees, tree: i64, kept: Trees, kept_places: Array[i8]) -> None:
    """Have a tree as it was remembered."""
    copy_tree(kept, 0, trees, tree, rows.outputs)
    n = rows.rows
    places = rows.places[tree * n :]
    for i in range(n):
        places[i] = kept_places[i]


@native
def move_tree(rows: TreeRows, trees: Trees, tree: i64) -> i64:
    """Try one move; gives the number of changes."""
    u = toss(rows)
    if u < 0.15:
        return 1 if grow(rows, trees, tree) else 0
    if u < 0.3:
        return 1 if prune(rows, trees, tree) else 0
    return 1 if change(rows, trees, tree, u < 0.6) else 0


@native
def move_with_lines(rows: TreeRows, trees: Trees, scratch: BARTScratch, tree: i64) -> i64:
    """Try moves that know constants in the leaves, each corrected for their lines; gives the number of changes."""
    before = gain_of_lines(rows, trees, tree)
    changed = 0
    for _ in range(MOVES):
        used = rows.used
        keep(rows, trees, tree, scratch.tried, scratch.tried_places)
        if move_tree(rows, trees, tree) == 1:
            after = gain_of_lines(rows, trees, tree)
            if log(toss(rows)) < after - before:
                before = after
                changed += 1
            else:
                put_back(rows, trees, tree, scratch.tried, scratch.tried_places)
                rows.used = used
                add_up(rows, trees, tree)
    draw_lines(rows, trees, tree)
    return changed


@native
def renew(
    point: Point, state: BARTState, scratch: BARTScratch, density: Density, info: BARTInfo, tree: i64, ensemble: i64
) -> None:
    """One tree given all others."""
    rows = scratch.rows
    trees = state.trees
    n = rows.rows
    outputs = rows.outputs
    begin = ensemble * outputs * n
    base = tree * SLOTS
    if rows.ordered or not scratch.quadratic:
        keep(rows, trees, tree, scratch.kept, scratch.kept_places)
    used = rows.used
    changed = 0
    refused = False
    begins = beginning(point, state)
    lean(rows, trees, ensemble * scratch.count, scratch.count, tree)
    if rows.lines != CONSTANT:
        lift_lines(rows, trees, tree)
        changed = move_with_lines(rows, trees, scratch, tree)
    else:
        lift(rows, trees, tree)
        if begins:
            regrow(rows, trees, tree)
        for _ in range(MOVES):
            changed += move_tree(rows, trees, tree)
        draw_leaves(rows, trees, tree)
        refused = rows.ordered and not in_order(rows, trees, tree)
        if refused:
            put_back(rows, trees, tree, scratch.kept, scratch.kept_places)
            rows.used = used
            changed = 0
    places = rows.places[tree * n :]
    if scratch.quadratic:
        for k in range(outputs):
            own = trees.value[base * outputs + k :]
            score = rows.score[k * n :]
            curvature = rows.curvature[k * n :]
            position = point.position[begin + k * n :]
            if rows.lines != CONSTANT:
                for i in range(n):
                    new = value_at(rows, trees, base, i64(places[i]), k, i)
                    score[i] -= curvature[i] * new
                    position[i] += new
            else:
                for i in range(n):
                    new = own[i64(places[i]) * outputs]
                    score[i] -= curvature[i] * new
                    position[i] += new
        info.changed += changed
        info.accepted += 0.0 if refused else 1.0
        return
    gain = 0.0  # of the quadratic
    was = scratch.kept_places
    for k in range(outputs):
        score = rows.score[k * n :]
        curvature = rows.curvature[k * n :]
        position = point.position[begin + k * n :]
        for i in range(n):
            old = value_at(rows, scratch.kept, 0, i64(was[i]), k, i)
            new = value_at(rows, trees, base, i64(places[i]), k, i)
            move = new - old
            gain += move * (score[i] - curvature[i] * (old + 0.5 * move))
            score[i] -= curvature[i] * new
            position[i] += move
    if refused:
        return
    level = evaluate(density, point.position, scratch.gradient)
    if log(toss(rows)) < level - point.logp - (0.0 if begins else gain):
        point.logp = level
        info.changed += changed
        info.accepted += 1.0
        return
    for k in range(outputs):
        for i in range(n):
            old = value_at(rows, scratch.kept, 0, i64(was[i]), k, i)
            move = value_at(rows, trees, base, i64(places[i]), k, i) - old
            rows.score[k * n + i] += rows.curvature[k * n + i] * move
            point.position[begin + k * n + i] -= move
    put_back(rows, trees, tree, scratch.kept, scratch.kept_places)
    rows.used = used
