"""The way from a starting point to the typical set: a few steps of L-BFGS, stopped before the mode.

Limited-memory BFGS (Nocedal 1980; Liu & Nocedal 1989) climbs the log density. At every point the decrement
g' H g is known, H the estimate of the inverse curvature; at a typical point of a Gaussian its expectation is
the dimension, so the climb ends where it falls to that. Modes, and the necks of funnels, lie beyond.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.point import Point, finite
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import isfinite, sqrt
from consilience.native.typed_python import Array, f64, i64, native, record

HISTORY = 8  # pairs of steps that the inverse curvature is made of
ARMIJO = 1e-4  # share of the promised gain that a step has to bring
MOST_EVALUATIONS = 100
MOST_TRIALS = 15  # shortenings of one step
FEWEST_UPDATES = 3
TYPICAL_POINTS = 2  # in a row


@record
class LBFGS:
    """Scratch memory for a climb.

    moves, turns (Array): Differences of positions and of gradients along the way, f64[HISTORY, stride], as a ring.
    curvatures (Array): Moves' turns of each pair, f64[HISTORY].
    weights (Array): f64[HISTORY].
    pairs: Pairs seen so far.
    direction, position, gradient (Array): f64[dimension].
    """

    moves: Array[f64]
    turns: Array[f64]
    curvatures: Array[f64]
    weights: Array[f64]
    pairs: i64
    direction: Array[f64]
    position: Array[f64]
    gradient: Array[f64]


def new_lbfgs(vectors: Vectors) -> LBFGS:
    """Fresh scratch memory."""
    return LBFGS(
        moves=vectors.rows(HISTORY),
        turns=vectors.rows(HISTORY),
        curvatures=np.zeros(HISTORY),
        weights=np.zeros(HISTORY),
        pairs=0,
        direction=vectors.vector(),
        position=vectors.vector(),
        gradient=vectors.vector(),
    )


@native(rare=True)
def inner(x: Array[f64], y: Array[f64], dimension: i64) -> f64:
    """x' y."""
    total = 0.0
    for i in range(dimension):
        total += x[i] * y[i]
    return total


@native(rare=True)
def point_uphill(lbfgs: LBFGS, point: Point) -> None:
    """direction = H gradient, by the two loops over the pairs (Nocedal 1980)."""
    n = point.dimension
    direction = lbfgs.direction
    copy(point.gradient, direction, n)
    first = max(0, lbfgs.pairs - HISTORY)
    pair = lbfgs.pairs - 1
    while pair >= first:
        slot = pair % HISTORY
        move = lbfgs.moves[slot * point.stride :]
        turn = lbfgs.turns[slot * point.stride :]
        weight = inner(move, direction, n) / lbfgs.curvatures[slot]
        lbfgs.weights[slot] = weight
        for i in range(n):
            direction[i] -= weight * turn[i]
        pair -= 1
    if lbfgs.pairs > 0:
        newest = (lbfgs.pairs - 1) % HISTORY
        turn = lbfgs.turns[newest * point.stride :]
        scale = lbfgs.curvatures[newest] / inner(turn, turn, n)
        for i in range(n):
            direction[i] *= scale
    for pair in range(first, lbfgs.pairs):
        slot = pair % HISTORY
        move = lbfgs.moves[slot * point.stride :]
        turn = lbfgs.turns[slot * point.stride :]
        weight = lbfgs.weights[slot] - inner(turn, direction, n) / lbfgs.curvatures[slot]
        for i in range(n):
            direction[i] += weight * move[i]


@native(rare=True)
def remember(lbfgs: LBFGS, point: Point) -> None:
    """Store the pair from the state to the point reached, if the density curves the right way there."""
    n = point.dimension
    slot = lbfgs.pairs % HISTORY
    move = lbfgs.moves[slot * point.stride :]
    turn = lbfgs.turns[slot * point.stride :]
    for i in range(n):
        move[i] = lbfgs.position[i] - point.position[i]
        turn[i] = point.gradient[i] - lbfgs.gradient[i]
    curvature = inner(move, turn, n)
    if curvature > 1e-12 * sqrt(inner(move, move, n) * inner(turn, turn, n)):
        lbfgs.curvatures[slot] = curvature
        lbfgs.pairs += 1


@native(rare=True)
def lbfgs_initialization(lbfgs: LBFGS, density: Density, point: Point) -> None:
    """Climb from the state, whose log density and gradient are finite, towards the typical set."""
    n = point.dimension
    lbfgs.pairs = 0
    begun = density.evaluations
    typical = 0
    climbing = True
    while climbing and not stopped(density):
        point_uphill(lbfgs, point)
        decrement = inner(point.gradient, lbfgs.direction, n)
        # The first direction is the gradient itself, which has no scale.
        length = 1.0
        if lbfgs.pairs == 0:
            length = 1.0 / max(sqrt(inner(point.gradient, point.gradient, n)), 1e-300)
        elif decrement <= float(n):
            typical += 1
        else:
            typical = 0
        if decrement <= 0.0 or not isfinite(decrement):
            break
        if lbfgs.pairs >= FEWEST_UPDATES and typical >= TYPICAL_POINTS:
            break
        climbing = False
        trial = 0
        while (
            not climbing
            and trial < MOST_TRIALS
            and density.evaluations - begun < MOST_EVALUATIONS
            and not stopped(density)
        ):
            for i in range(n):
                lbfgs.position[i] = point.position[i] + length * lbfgs.direction[i]
            logp = evaluate(density, lbfgs.position, lbfgs.gradient)
            gained = logp >= point.logp + ARMIJO * length * decrement
            if gained and finite(lbfgs.gradient, n):
                remember(lbfgs, point)
                copy(lbfgs.position, point.position, n)
                copy(lbfgs.gradient, point.gradient, n)
                point.logp = logp
                climbing = True
            length *= 0.3 if trial < 3 else 0.1
            trial += 1
