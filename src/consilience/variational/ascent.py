"""Stochastic gradient ascent of the evidence lower bound, many steps in one native call.

A compiled log density, the parameters of an approximation and a rule for steps in; parameters and the bound at every
step out. Draws are reparameterised, and the gradient leaves out the part of zero mean, so that its noise vanishes
where the approximation is exact (Roeder, Wu and Duvenaud 2017, Sticking the landing). When to stop stays outside.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.point import finite
from consilience.native.beside import WORKSHOP, Beside
from consilience.native.mathematics import exp, inf, isfinite, log, sqrt
from consilience.native.random import fold_in, random_normals, random_uniform
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd
from consilience.native.typed_python.library import compile_native
from consilience.variational.optimizers import (
    ADADELTA,
    ADAGRAD,
    ADAM,
    ADAMAX,
    MOMENTUM,
    NATURAL,
    NESTEROV,
    RMSPROP,
    WINDOW,
)

MEAN_FIELD = 0
FULL_RANK = 1
PARTICLES = 2
HALF_LOG_TURN = 0.9189385332046727  # log(2 pi) / 2
ROWS = 1  # purpose of the random numbers that choose rows of a minibatch
PER_STEP = 1 << 20  # draws of one step, and numbers of one draw
LONGEST = 1.0  # standard deviations that a natural step moves a coordinate
WIDEST = 0.7  # by which it changes the log of one, or relatively the scale in any direction
POWERS = 6  # iterations for the greatest singular value of a step


@record
class Ascent:
    """One approximation on its way up, and the memory it needs.

    family       MEAN_FIELD, FULL_RANK or PARTICLES
    stein        whether draws move along Stein's direction instead of the gradient of the bound
    dimension    of the density
    draws        per step, or number of particles
    count        of the parameters: for MEAN_FIELD means and logs of standard deviations; for FULL_RANK means and the
                 lower factor by rows, its diagonal as logs; the particles by rows
    parameters, gradient, sums   f64[count]; `sums` adds up the parameters of all steps
    pulls        adds up how far the gradient says means and logs of standard deviations are from the optimum, in
                 standard deviations, f64[2 dimension]; for PARTICLES the mean direction instead
    turns        adds up products of the gradient by the means with the one before, and with itself, f64[2]
    before       the gradient before, f64[dimension]
    memory       of the rule
    factor       lower factor, f64[dimension, dimension] for FULL_RANK
    normals, points, slopes, turned   f64[draws, dimension]; `turned` is scratch memory
    logps        f64[draws]
    vector       f64[dimension]
    scales       of coordinates in Stein's kernel, f64[dimension]
    bandwidth    of that kernel
    rule, rate, first, second, epsilon, window   see `Optimizer`
    most         greatest norm of the gradient; 0: any
    key          of the random numbers
    step         steps taken so far
    bounds       estimates of the bound at the steps of one call, f64
    failures     steps in a row in which no draw had a finite log density
    batch        rows of all minibatches, as numbers; batches' lengths and those of their data follow
    """

    density: Density
    family: i64
    stein: boolean
    dimension: i64
    draws: i64
    count: i64
    parameters: Array[f64]
    gradient: Array[f64]
    sums: Array[f64]
    pulls: Array[f64]
    turns: Array[f64]
    before: Array[f64]
    memory: Array[f64]
    factor: Array[f64]
    normals: Array[f64]
    points: Array[f64]
    slopes: Array[f64]
    turned: Array[f64]
    logps: Array[f64]
    vector: Array[f64]
    scales: Array[f64]
    bandwidth: f64
    rule: i64
    rate: f64
    first: f64
    second: f64
    epsilon: f64
    window: i64
    most: f64
    key: i64
    step: i64
    bounds: Array[f64]
    failures: i64
    batch: Array[f64]
    batch_lengths: Array[i64]
    data_lengths: Array[i64]
    batches: i64


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
            if ascent.family != PARTICLES:
                for i in range(n):
                    normal = ascent.normals[k * n + i]
                    total += 0.5 * normal * normal
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
def point_by_stein(ascent: Ascent) -> None:
    """Slopes become Stein's direction: the kernel's mean of the slopes, and of its own slope.

    Source: Liu and Wang (2016), Stein variational gradient descent.
    """
    n = ascent.dimension
    m = ascent.draws
    share = 1.0 / float(m)
    for k in range(m):
        own = ascent.points[k * n :]
        target = ascent.turned[k * n :]
        for i in range(n):
            target[i] = 0.0
        for j in range(m):
            other = ascent.points[j * n :]
            slope = ascent.slopes[j * n :]
            distance = 0.0
            for i in range(n):
                apart = (own[i] - other[i]) / ascent.scales[i]
                distance += apart * apart
            weight = exp(-distance / ascent.bandwidth) * share
            for i in range(n):
                scale = ascent.scales[i]
                away = 2.0 * (own[i] - other[i]) / (scale * scale * ascent.bandwidth)
                target[i] += weight * (slope[i] + away)
    for i in simd(m * n):
        ascent.slopes[i] = ascent.turned[i]


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
def limited(x: f64, most: f64) -> f64:
    """x between -most and most."""
    return min(max(x, -most), most)


@native
def singular_value(ascent: Ascent) -> f64:
    """Greatest singular value of the gradient by the lower factor, by the power method, from below."""
    n = ascent.dimension
    wide = ascent.gradient[n:]
    x = ascent.vector
    y = ascent.turned
    norm = 0.0
    for i in range(n):
        x[i] = 1.0
    for _ in range(POWERS):
        for i in range(n):
            y[i] = 0.0
            for j in range(i + 1):
                y[i] += wide[i * n + j] * x[j]
        total = 0.0
        for j in range(n):
            x[j] = 0.0
        for i in range(n):
            for j in range(i + 1):
                x[j] += wide[i * n + j] * y[i]
            total += y[i] * y[i]
        length = 0.0
        for j in range(n):
            length += x[j] * x[j]
        if total == 0.0 or length == 0.0:
            return norm
        norm = sqrt(length / total)
        for j in range(n):
            x[j] /= sqrt(length)
    return norm


@native
def step_naturally(ascent: Ascent) -> None:
    """Against the Fisher information, which is the identity in the approximation's scale, and 2 along its diagonal."""
    n = ascent.dimension
    rate = ascent.rate
    if ascent.family == PARTICLES:
        for k in range(ascent.draws):
            for i in range(n):
                scale = ascent.scales[i]
                step = limited(rate * scale * ascent.gradient[k * n + i], LONGEST)
                ascent.parameters[k * n + i] += scale * step
        return
    wide = ascent.gradient[n:]
    packed = ascent.parameters[n:]
    if ascent.family == MEAN_FIELD:
        for i in range(n):
            ascent.parameters[i] += exp(packed[i]) * limited(rate * ascent.gradient[i], LONGEST)
            packed[i] += limited(0.5 * rate * wide[i], WIDEST)
        return
    length = 0.0
    for i in range(n):
        length += ascent.gradient[i] * ascent.gradient[i]
    length = max(1.0, rate * sqrt(length / float(n)) / LONGEST)
    for i in range(n):
        row = ascent.factor[i * n :]
        for j in range(i + 1):
            ascent.parameters[i] += row[j] * ascent.gradient[j] * rate / length
    size = rate * singular_value(ascent)
    rate *= min(1.0, WIDEST / size) if size > 0.0 else 1.0
    # The factor times (identity + step), the diagonal by its exponential; columns from the left need those right of
    # them as they were.
    for i in range(n):
        row = ascent.factor[i * n :]
        for j in range(i + 1):
            grown = 0.5 * rate * wide[j * n + j]
            if i == j:
                packed[i * n + i] += grown
            else:
                total = row[j] * exp(grown)
                for k in range(j + 1, i + 1):
                    total += row[k] * rate * wide[k * n + j]
                packed[i * n + j] = total


@native
def step_by_rule(ascent: Ascent) -> None:
    """One step of the optimizer."""
    count = ascent.count
    rule = ascent.rule
    rate = ascent.rate
    a = ascent.first
    b = ascent.second
    epsilon = ascent.epsilon
    older = ascent.memory
    newer = ascent.memory[count:]
    time = float(ascent.step + 1)
    slot = (ascent.step % ascent.window) * count
    for i in range(count):
        g = ascent.gradient[i]
        step = rate * g
        if rule == MOMENTUM or rule == NESTEROV:  # noqa: SIM109 - machine code has no tuples of constants
            older[i] = a * older[i] + step
            step = older[i] if rule == MOMENTUM else a * older[i] + step
        elif rule == ADAGRAD:
            older[i] += g * g
            step = rate * g / sqrt(older[i] + epsilon)
        elif rule == WINDOW:
            ascent.memory[slot + i] = g * g
            total = 0.0
            for w in range(ascent.window):
                total += ascent.memory[w * count + i]
            step = rate * g / sqrt(total + epsilon)
        elif rule == RMSPROP:
            older[i] = a * older[i] + (1.0 - a) * g * g
            step = rate * g / sqrt(older[i] + epsilon)
        elif rule == ADADELTA:
            older[i] = a * older[i] + (1.0 - a) * g * g
            bare = g * sqrt(newer[i] + epsilon) / sqrt(older[i] + epsilon)
            newer[i] = a * newer[i] + (1.0 - a) * bare * bare
            step = rate * bare
        elif rule == ADAM:
            older[i] = a * older[i] + (1.0 - a) * g
            newer[i] = b * newer[i] + (1.0 - b) * g * g
            step = rate * older[i] * sqrt(1.0 - exp(time * log(b))) / (1.0 - exp(time * log(a)))
            step /= sqrt(newer[i]) + epsilon
        elif rule == ADAMAX:
            older[i] = a * older[i] + (1.0 - a) * g
            newer[i] = max(b * newer[i], abs(g))
            step = rate / (1.0 - exp(time * log(a))) * older[i] / (newer[i] + epsilon)
        ascent.parameters[i] += step


@native
def limit_norm(ascent: Ascent) -> None:
    """Shorten the gradient to the greatest norm allowed."""
    total = 0.0
    for i in range(ascent.count):
        total += ascent.gradient[i] * ascent.gradient[i]
    norm = sqrt(total)
    if norm > ascent.most:
        for i in range(ascent.count):
            ascent.gradient[i] *= ascent.most / norm


@native
def narrow(ascent: Ascent) -> None:
    """Halve the scale around the mean, where no draw had a finite log density."""
    n = ascent.dimension
    shift = log(0.5)
    for i in range(n):
        if ascent.family == MEAN_FIELD:
            ascent.parameters[n + i] += shift
        elif ascent.family == FULL_RANK:
            ascent.parameters[n + i * n + i] += shift
            for j in range(i):
                ascent.parameters[n + i * n + j] *= 0.5


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
