"""Normals whose covariance is a diagonal and a matrix of low rank: S (1 + U U') S, S the scales and U the loadings.

Parameters are means, logs of scales and loadings by rows: these in the memory of an ascent in; draws, their gradient
and steps out. It costs dimension times rank.
"""

from __future__ import annotations

from consilience.estimators.variational.optimizers import NATURAL
from consilience.estimators.variational.state import HALF_LOG_TURN, LONGEST, PER_STEP, WIDEST, Ascent, Stein, limited
from consilience.native.mathematics import exp, log, sqrt
from consilience.native.random import fold_in, random_normals
from consilience.native.typed_python import Array, f64, i64, native, record

LOADS = 2  # purpose of the random numbers of the loadings


@record
class LowRankNormals:
    """Their record.

    `factor`: lower Cholesky factor of 1 + U'U, f64[rank, rank]. `loads`: normals of the loadings, f64[draws, rank].
    `short`: scratch memory, f64[rank]. `turned`: (1 + U U')^-1 of the draws in units of the scales, f64[draws,
    dimension].
    """

    stein: Stein
    rank: i64
    factor: Array[f64]
    loads: Array[f64]
    short: Array[f64]
    turned: Array[f64]


@native
def factorise(ascent: Ascent, own: LowRankNormals) -> f64:
    """factor = lower Cholesky factor of 1 + U'U; gives the log of its determinant."""
    n = ascent.dimension
    r = own.rank
    loadings = ascent.parameters[2 * n :]
    factor = own.factor
    logdet = 0.0
    for a in range(r):
        for b in range(a + 1):
            total = 1.0 if a == b else 0.0
            for i in range(n):
                total += loadings[i * r + a] * loadings[i * r + b]
            for c in range(b):
                total -= factor[a * r + c] * factor[b * r + c]
            if a == b:
                factor[a * r + a] = sqrt(total)
                logdet += log(factor[a * r + a])
            else:
                factor[a * r + b] = total / factor[b * r + b]
    return logdet


@native
def solve(own: LowRankNormals, x: Array[f64]) -> None:
    """x = (1 + U'U)^-1 x, f64[rank]."""
    r = own.rank
    factor = own.factor
    for a in range(r):
        for b in range(a):
            x[a] -= factor[a * r + b] * x[b]
        x[a] /= factor[a * r + a]
    a = r - 1
    while a >= 0:
        for b in range(a + 1, r):
            x[a] -= factor[b * r + a] * x[b]
        x[a] /= factor[a * r + a]
        a -= 1


@native
def place_low_rank(ascent: Ascent, own: LowRankNormals) -> f64:
    """Draws in opposite pairs; `normals` get y, the draws in units of the scales, and `turned` (1 + U U')^-1 y."""
    n = ascent.dimension
    r = own.rank
    logdet = factorise(ascent, own)
    loadings = ascent.parameters[2 * n :]
    key = fold_in(ascent.key, LOADS)
    short = own.short
    for i in range(n):
        logdet += ascent.parameters[n + i]
    for k in range(ascent.draws):
        y = ascent.normals[k * n :]
        turned = own.turned[k * n :]
        loads = own.loads[k * r :]
        if k % 2 == 1:
            for i in range(n):
                y[i] = -ascent.normals[(k - 1) * n + i]
                turned[i] = -own.turned[(k - 1) * n + i]
            for a in range(r):
                loads[a] = -own.loads[(k - 1) * r + a]
        else:
            place = (ascent.step * PER_STEP + k) * PER_STEP
            random_normals(ascent.key, place, y, n)
            random_normals(key, place, loads, r)
            for a in range(r):
                short[a] = 0.0
            for i in range(n):
                row = loadings[i * r :]
                for a in range(r):
                    y[i] += row[a] * loads[a]
                for a in range(r):
                    short[a] += row[a] * y[i]
            solve(own, short)
            for i in range(n):
                row = loadings[i * r :]
                turned[i] = y[i]
                for a in range(r):
                    turned[i] -= row[a] * short[a]
        for i in range(n):
            ascent.points[k * n + i] = ascent.parameters[i] + exp(ascent.parameters[n + i]) * y[i]
    return logdet + float(n) * HALF_LOG_TURN


@native
def low_rank_entropy(ascent: Ascent, own: LowRankNormals, k: i64, total: f64) -> f64:
    """See `AscentFamily`: of normals by (1 + U U')^-1."""
    n = ascent.dimension
    for i in range(n):
        total += 0.5 * ascent.normals[k * n + i] * own.turned[k * n + i]
    return total


@native
def gather_low_rank(ascent: Ascent, own: LowRankNormals, good: i64) -> None:
    """Gradient of the bound; for NATURAL the means' in units of the scales, times 1 + U U'."""
    n = ascent.dimension
    r = own.rank
    share = 1.0 / float(good)
    loadings = ascent.parameters[2 * n :]
    wide = ascent.gradient[n:]
    slopes = ascent.gradient[2 * n :]
    for k in range(ascent.draws):
        if ascent.logps[k] - ascent.logps[k] == 0.0:
            loads = own.loads[k * r :]
            for i in range(n):
                size = exp(ascent.parameters[n + i]) * ascent.slopes[k * n + i] + own.turned[k * n + i]
                size *= share
                ascent.gradient[i] += size
                wide[i] += size * ascent.normals[k * n + i]
                for a in range(r):
                    slopes[i * r + a] += size * loads[a]
    short = own.short
    for a in range(r):
        short[a] = 0.0
    for i in range(n):
        for a in range(r):
            short[a] += loadings[i * r + a] * ascent.gradient[i]
    for i in range(n):
        direction = ascent.gradient[i]
        variance = 1.0
        for a in range(r):
            loading = loadings[i * r + a]
            direction += loading * short[a]
            variance += loading * loading
        ascent.tally.pulls[i] += direction / sqrt(variance)
        ascent.tally.pulls[n + i] += 0.5 * wide[i]
        if ascent.rule.kind == NATURAL:
            ascent.gradient[i] = direction
        else:
            ascent.gradient[i] /= exp(ascent.parameters[n + i])


@native
def step_low_rank(ascent: Ascent, own: LowRankNormals) -> None:
    """A step along the natural gradient by the means, and along it by the scales and the loadings alone."""
    n = ascent.dimension
    r = own.rank
    rate = ascent.rate
    loadings = ascent.parameters[2 * n :]
    slopes = ascent.gradient[2 * n :]
    total = 0.0
    size = 0.0
    for i in range(n * r):
        total += slopes[i] * slopes[i]
        size += loadings[i] * loadings[i]
    shorter = max(1.0, rate * sqrt(total) / (WIDEST * max(1.0, sqrt(size))))
    for i in range(n):
        variance = 1.0
        for a in range(r):
            variance += loadings[i * r + a] * loadings[i * r + a]
        width = sqrt(variance)
        scale = exp(ascent.parameters[n + i])
        ascent.parameters[i] += scale * width * limited(rate * ascent.gradient[i] / width, LONGEST)
        ascent.parameters[n + i] += limited(0.5 * rate * ascent.gradient[n + i], WIDEST)
    for i in range(n * r):
        loadings[i] += rate * slopes[i] / shorter


@native
def narrow_low_rank(ascent: Ascent, own: LowRankNormals) -> None:
    """See `AscentFamily`."""
    n = ascent.dimension
    for i in range(n):
        ascent.parameters[n + i] += log(0.5)


FUNCTIONS = (place_low_rank, low_rank_entropy, gather_low_rank, step_low_rank, narrow_low_rank)
