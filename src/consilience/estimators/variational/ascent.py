"""Stochastic gradient ascent of the evidence lower bound, many steps in one native call.

A compiled log density, the parameters of an approximation and a rule for steps in; parameters and the bound at every
step out. Draws are reparameterised, and the gradient leaves out the part of zero mean, so that its noise vanishes
where the approximation is exact (Roeder, Wu and Duvenaud 2017, Sticking the landing). When to stop stays outside.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from consilience.estimators.variational.flow_steps import FUNCTIONS as OF_FLOWS
from consilience.estimators.variational.full_rank import FUNCTIONS as OF_FULL_RANK
from consilience.estimators.variational.low_rank import FUNCTIONS as OF_LOW_RANK
from consilience.estimators.variational.mean_field import FUNCTIONS as OF_MEAN_FIELD
from consilience.estimators.variational.optimizers import NATURAL
from consilience.estimators.variational.particles import FUNCTIONS as OF_PARTICLES
from consilience.estimators.variational.state import (
    FLOW,
    FULL_RANK,
    LOW_RANK,
    MEAN_FIELD,
    PARTICLES,
    PER_STEP,
    Ascent,
    AscentFamily,
    Stein,
)
from consilience.estimators.variational.stein import point_by_stein
from consilience.estimators.variational.steps import limit_norm, step_by_rule
from consilience.inference.density import evaluate, stopped
from consilience.inference.point import finite
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.mathematics import inf, isfinite
from consilience.native.random import fold_in, random_uniform
from consilience.native.typed_python import Array, NativeFunction, f64, i64, native
from consilience.native.typed_python.library import compile_native

ROWS = 1  # purpose of the random numbers that choose rows of a minibatch


@native
def choose_rows(ascent: Ascent, draw: i64) -> None:
    """Other rows of every minibatch, for every draw."""
    batches = ascent.batches
    key = fold_in(ascent.key, ROWS)
    first = ((ascent.step * PER_STEP + draw) * PER_STEP) * 2
    place = 0
    for b in range(batches.count):
        length = float(batches.data_lengths[b])
        for _ in range(batches.lengths[b]):
            u = random_uniform(key, first + 2 * place)
            batches.rows[place] = float(min(int(u * length), batches.data_lengths[b] - 1))
            place += 1


@native
def evaluate_draws(ascent: Ascent, family: AscentFamily, constant: f64) -> i64:
    """Log densities and gradients at the draws; gives how many are finite, and keeps the mean of the bound."""
    n = ascent.dimension
    good = 0
    total = 0.0
    for k in range(ascent.draws):
        slope = ascent.slopes[k * n :]
        if ascent.batches.count > 0:
            choose_rows(ascent, k)
        logp = evaluate(ascent.density, ascent.points[k * n :], slope)
        if isfinite(logp) and finite(slope, n):
            ascent.logps[k] = logp
            good += 1
            total = family.entropy(ascent, family.own, k, total + logp)
        else:
            ascent.logps[k] = -inf
            for i in range(n):
                slope[i] = 0.0
    bound = 0.0
    if good > 0:
        bound = total / float(good) + constant
    ascent.bounds[0] = bound
    return good


@native
def take_step(ascent: Ascent, family: AscentFamily, stein: Stein, good: i64) -> None:
    """Gradient of the bound by so many finite draws, and a step along it."""
    if stein.active:
        point_by_stein(ascent, stein)
    for i in range(ascent.count):
        ascent.gradient[i] = 0.0
    family.gather(ascent, family.own, good)
    tally = ascent.tally
    for i in range(ascent.dimension):
        tally.turns[0] += ascent.gradient[i] * tally.before[i]
        tally.turns[1] += ascent.gradient[i] * ascent.gradient[i]
        tally.before[i] = ascent.gradient[i]
    if ascent.rule.most > 0.0:
        limit_norm(ascent)
    if ascent.rule.kind == NATURAL:
        family.step(ascent, family.own)
    else:
        step_by_rule(ascent)


@native
def ascend_steps(ascent: Ascent, family: AscentFamily, stein: Stein, steps: i64) -> None:
    """So many steps, or fewer if the run is to stop; `bounds` has the estimates of these."""
    taken = 0
    first = ascent.bounds
    while taken < steps and not stopped(ascent.density):
        ascent.bounds = first[taken:]
        constant = family.place(ascent, family.own)
        good = evaluate_draws(ascent, family, constant)
        if good == 0:
            ascent.bounds[0] = -inf
            ascent.failures += 1
            family.narrow(ascent, family.own)
        else:
            ascent.failures = 0
            take_step(ascent, family, stein, good)
        for i in range(ascent.count):
            ascent.tally.sums[i] += ascent.parameters[i]
        ascent.step += 1
        taken += 1
    ascent.bounds = first


@native
def evaluate_in_batches(ascent: Ascent, points: Array[f64], logps: Array[f64], rows: i64) -> None:
    """Log densities of all data at the rows of `points`, from batches that follow each other.

    A density of batches is a + w (sum over the batch), w the length of data over that of a batch. The last batch is
    filled up with the first row, whose part a batch of it alone gives; so the sum over all data is exact.
    """
    n = ascent.dimension
    batches = ascent.batches
    size = batches.lengths[0]
    length = batches.data_lengths[0]
    count = size * batches.count
    whole = length // size
    rest = length % size
    for row in range(rows):
        point = points[row * n :]
        total = 0.0
        for part in range(whole + (1 if rest > 0 else 0)):
            for i in range(count):
                place = part * size + i % size
                batches.rows[i] = float(place) if place < length else 0.0
            total += evaluate(ascent.density, point, ascent.vector)
        if rest > 0:
            for i in range(count):
                batches.rows[i] = 0.0
            total -= float(size - rest) / float(size) * evaluate(ascent.density, point, ascent.vector)
        logps[row] = total * float(size) / float(length)


Steps = Callable[[int, int, int, int], None]
Evaluate = Callable[[int, int, int, int], None]
FAMILIES: Final[Mapping[int, tuple[NativeFunction[..., Any], ...]]] = {
    MEAN_FIELD: OF_MEAN_FIELD,
    FULL_RANK: OF_FULL_RANK,
    LOW_RANK: OF_LOW_RANK,
    FLOW: OF_FLOWS,
    PARTICLES: OF_PARTICLES,
}


class AscentCode(NamedTuple):
    """Machine code: so many steps of an ascent, log densities of all data, and addresses of a family's functions."""

    steps: Steps
    evaluate: Evaluate
    families: Mapping[int, tuple[int, ...]]


def preparing() -> Beside[AscentCode]:
    """Begin to compile the loop on a thread of its own, unless that was done before."""
    return WORKSHOP.begin("variational", _compiled)


def _compiled() -> AscentCode:
    library = compile_native((ascend_steps, evaluate_in_batches, *itertools.chain(*FAMILIES.values())))
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    return AscentCode(
        library.function(ascend_steps.name, None, pointer, pointer, pointer, integer),
        library.function(evaluate_in_batches.name, None, pointer, pointer, pointer, integer),
        {family: tuple(library.address(f.name) for f in functions) for family, functions in FAMILIES.items()},
    )
