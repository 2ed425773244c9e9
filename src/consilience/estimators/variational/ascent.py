"""Stochastic gradient ascent of the evidence lower bound, many steps in one native call.

A compiled log density, the parameters of an approximation and a rule for steps in; parameters and the bound at every
step out. Draws are reparameterised, and the gradient leaves out the part of zero mean, so that its noise vanishes
where the approximation is exact (Roeder, Wu and Duvenaud 2017, Sticking the landing). When to stop stays outside.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from consilience.estimators.variational.flow_steps import gather_flow, place_flow
from consilience.estimators.variational.low_rank import gather_low_rank, place_low_rank
from consilience.estimators.variational.optimizers import NATURAL
from consilience.estimators.variational.state import FLOW, FULL_RANK, LOW_RANK, MEAN_FIELD, PARTICLES, PER_STEP, Ascent
from consilience.estimators.variational.stein import point_by_stein
from consilience.estimators.variational.steps import limit_norm, narrow, step_by_rule, step_naturally
from consilience.inference.density import evaluate, stopped
from consilience.inference.point import finite
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.mathematics import exp, inf, isfinite
from consilience.native.random import fold_in, random_normals, random_uniform
from consilience.native.typed_python import Array, f64, i64, native, simd
from consilience.native.typed_python.library import compile_native

HALF_LOG_TURN = 0.9189385332046727  # log(2 pi) / 2
ROWS = 1  # purpose of the random numbers that choose rows of a minibatch


@native
def choose_rows(ascent: Ascent, draw: i64) -> None:
    """Other rows of every minibatch, for every draw."""
    key = fold_in(ascent.key, ROWS)
    first = ((ascent.step * PER_STEP + draw) * PER_STEP) * 2
    place = 0
    for b in range(ascent.batches):
        length = float(ascent.data_lengths[b])
        for _ in range(ascent.batch_lengths[b]):
            u = random_uniform(key, first + 2 * place)
            ascent.batch[place] = float(min(int(u * length), ascent.data_lengths[b] - 1))
            place += 1


@native
def unpack_factor(ascent: Ascent) -> None:
    """The lower factor with its diagonal."""
    n = ascent.dimension
    packed = ascent.parameters[n:]
    for i in range(n):
        for j in range(i):
            ascent.factor[i * n + j] = packed[i * n + j]
        ascent.factor[i * n + i] = exp(packed[i * n + i])


@native
def place_draws(ascent: Ascent) -> f64:
    """Draws in pairs of opposite normals; gives the log of the determinant of their scale."""
    n = ascent.dimension
    if ascent.family == PARTICLES:
        for i in simd(ascent.count):
            ascent.points[i] = ascent.parameters[i]
        return 0.0
    if ascent.family == LOW_RANK:
        return place_low_rank(ascent)
    if ascent.family == FLOW:
        return place_flow(ascent)
    logdet = 0.0
    for i in range(n):
        logdet += ascent.parameters[n + i] if ascent.family == MEAN_FIELD else ascent.parameters[n + i * n + i]
    if ascent.family == FULL_RANK:
        unpack_factor(ascent)
    for k in range(ascent.draws):
        normals = ascent.normals[k * n :]
        point = ascent.points[k * n :]
        if k % 2 == 0:
            random_normals(ascent.key, (ascent.step * PER_STEP + k) * PER_STEP, normals, n)
        else:
            before = ascent.normals[(k - 1) * n :]
            for i in range(n):
                normals[i] = -before[i]
        for i in range(n):
            moved = 0.0
            if ascent.family == MEAN_FIELD:
                moved = exp(ascent.parameters[n + i]) * normals[i]
            else:
                row = ascent.factor[i * n :]
                for j in range(i + 1):
                    moved += row[j] * normals[j]
            point[i] = ascent.parameters[i] + moved
    return logdet


@native
def evaluate_draws(ascent: Ascent, logdet: f64) -> i64:
    """Log densities and gradients at the draws; gives how many are finite, and keeps the mean of the bound."""
    n = ascent.dimension
    good = 0
    total = 0.0
    for k in range(ascent.draws):
        slope = ascent.slopes[k * n :]
        if ascent.batches > 0:
            choose_rows(ascent, k)
        logp = evaluate(ascent.density, ascent.points[k * n :], slope)
        if isfinite(logp) and finite(slope, n):
            ascent.logps[k] = logp
            good += 1
            total += logp
            if ascent.family == FLOW:
                total += ascent.flow.places.logdets[k]
            if ascent.family != PARTICLES:
                for i in range(n):
                    normal = ascent.normals[k * n + i]
                    other = ascent.turned[k * n + i] if ascent.family == LOW_RANK else normal
                    total += 0.5 * normal * other
        else:
            ascent.logps[k] = -inf
            for i in range(n):
                slope[i] = 0.0
    bound = 0.0
    if good > 0:
        bound = total / float(good)
        if ascent.family != PARTICLES:
            bound += logdet + float(n) * HALF_LOG_TURN
    ascent.bounds[0] = bound
    return good


@native
def whiten(ascent: Ascent, k: i64) -> None:
    """vector = S' g + normals: the slope of log density minus log approximation, in the approximation's scale.

    With Stein's direction in place of g there are no normals: it has the repulsion already.
    """
    n = ascent.dimension
    slope = ascent.slopes[k * n :]
    normals = ascent.normals[k * n :]
    for i in range(n):
        ascent.vector[i] = 0.0 if ascent.stein else normals[i]
    if ascent.family == MEAN_FIELD:
        for i in range(n):
            ascent.vector[i] += exp(ascent.parameters[n + i]) * slope[i]
        return
    for i in range(n):
        row = ascent.factor[i * n :]
        size = slope[i]
        for j in range(i + 1):
            ascent.vector[j] += row[j] * size


@native
def unwhiten(ascent: Ascent) -> None:
    """vector = S'^-1 vector: back to the scale of the density."""
    n = ascent.dimension
    if ascent.family == MEAN_FIELD:
        for i in range(n):
            ascent.vector[i] /= exp(ascent.parameters[n + i])
        return
    i = n - 1
    while i >= 0:
        row = ascent.factor[i * n :]
        value = ascent.vector[i] / row[i]
        ascent.vector[i] = value
        for j in range(i):
            ascent.vector[j] -= row[j] * value
        i -= 1


@native
def gather_gradient(ascent: Ascent, good: i64) -> None:
    """Gradient of the bound by the parameters; for NATURAL in the approximation's own scale."""
    n = ascent.dimension
    natural = ascent.rule == NATURAL
    for i in range(ascent.count):
        ascent.gradient[i] = 0.0
    if ascent.family == PARTICLES:
        for i in range(ascent.count):
            ascent.gradient[i] = ascent.slopes[i]
            ascent.pulls[i % n] += ascent.slopes[i] / float(ascent.draws)
        return
    if ascent.family == LOW_RANK:
        gather_low_rank(ascent, good)
        return
    if ascent.family == FLOW:
        gather_flow(ascent, good)
        return
    share = 1.0 / float(good)
    wide = ascent.gradient[n:]
    for k in range(ascent.draws):
        if isfinite(ascent.logps[k]):
            normals = ascent.normals[k * n :]
            whiten(ascent, k)
            for i in range(n):
                ascent.pulls[i] += share * ascent.vector[i]
                ascent.pulls[n + i] += 0.5 * share * ascent.vector[i] * normals[i]
            if not natural:
                unwhiten(ascent)
            for i in range(n):
                size = share * ascent.vector[i]
                ascent.gradient[i] += size
                if ascent.family == MEAN_FIELD:
                    wide[i] += size * normals[i]
                else:
                    row = wide[i * n :]
                    for j in range(i + 1):
                        row[j] += size * normals[j]
    if not natural:
        for i in range(n):
            if ascent.family == MEAN_FIELD:
                wide[i] *= exp(ascent.parameters[n + i])
            else:
                wide[i * n + i] *= ascent.factor[i * n + i]


@native
def ascend_steps(ascent: Ascent, steps: i64) -> None:
    """So many steps, or fewer if the run is to stop; `bounds` has the estimates of these."""
    taken = 0
    first = ascent.bounds
    while taken < steps and not stopped(ascent.density):
        ascent.bounds = first[taken:]
        logdet = place_draws(ascent)
        good = evaluate_draws(ascent, logdet)
        if good == 0:
            ascent.bounds[0] = -inf
            ascent.failures += 1
            narrow(ascent)
        else:
            ascent.failures = 0
            if ascent.stein:
                point_by_stein(ascent)
            gather_gradient(ascent, good)
            for i in range(ascent.dimension):
                ascent.turns[0] += ascent.gradient[i] * ascent.before[i]
                ascent.turns[1] += ascent.gradient[i] * ascent.gradient[i]
                ascent.before[i] = ascent.gradient[i]
            if ascent.most > 0.0:
                limit_norm(ascent)
            if ascent.rule == NATURAL:
                step_naturally(ascent)
            else:
                step_by_rule(ascent)
        for i in range(ascent.count):
            ascent.sums[i] += ascent.parameters[i]
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
    size = ascent.batch_lengths[0]
    length = ascent.data_lengths[0]
    count = size * ascent.batches
    whole = length // size
    rest = length % size
    for row in range(rows):
        point = points[row * n :]
        total = 0.0
        for part in range(whole + (1 if rest > 0 else 0)):
            for i in range(count):
                place = part * size + i % size
                ascent.batch[i] = float(place) if place < length else 0.0
            total += evaluate(ascent.density, point, ascent.vector)
        if rest > 0:
            for i in range(count):
                ascent.batch[i] = 0.0
            total -= float(size - rest) / float(size) * evaluate(ascent.density, point, ascent.vector)
        logps[row] = total * float(size) / float(length)


Steps = Callable[[int, int], None]
Evaluate = Callable[[int, int, int, int], None]


def preparing() -> Beside[tuple[Steps, Evaluate]]:
    """Begin to compile the loop on a thread of its own, unless that was done before."""
    return WORKSHOP.begin("variational", _compiled)


def _compiled() -> tuple[Steps, Evaluate]:
    library = compile_native((ascend_steps, evaluate_in_batches))
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    return (
        library.function(ascend_steps.name, None, pointer, integer),
        library.function(evaluate_in_batches.name, None, pointer, pointer, pointer, integer),
    )
