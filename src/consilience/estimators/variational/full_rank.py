"""Normals of any covariance: parameters are means, then the lower factor by rows, its diagonal as logs.

Parameters in the memory of an ascent in; draws, their gradient and steps out.
"""

from __future__ import annotations

from consilience.estimators.variational.optimizers import NATURAL
from consilience.estimators.variational.state import (
    HALF_LOG_TURN,
    LONGEST,
    WIDEST,
    Ascent,
    Stein,
    add_squares,
    draw_normals,
)
from consilience.native.mathematics import exp, isfinite, log, sqrt
from consilience.native.typed_python import Array, f64, i64, native, record

POWERS = 6  # iterations for the greatest singular value of a step


@record
class CorrelatedNormals:
    """Their record: `factor`, the lower one, f64[dimension, dimension]; `scratch`, f64[dimension]."""

    stein: Stein
    factor: Array[f64]
    scratch: Array[f64]


@native
def unpack_factor(ascent: Ascent, own: CorrelatedNormals) -> None:
    """The lower factor with its diagonal."""
    n = ascent.dimension
    packed = ascent.parameters[n:]
    for i in range(n):
        for j in range(i):
            own.factor[i * n + j] = packed[i * n + j]
        own.factor[i * n + i] = exp(packed[i * n + i])


@native
def place_correlated(ascent: Ascent, own: CorrelatedNormals) -> f64:
    """Draws in pairs of opposite normals."""
    n = ascent.dimension
    logdet = 0.0
    for i in range(n):
        logdet += ascent.parameters[n + i * n + i]
    unpack_factor(ascent, own)
    for k in range(ascent.draws):
        draw_normals(ascent, k)
        normals = ascent.normals[k * n :]
        point = ascent.points[k * n :]
        for i in range(n):
            moved = 0.0
            row = own.factor[i * n :]
            for j in range(i + 1):
                moved += row[j] * normals[j]
            point[i] = ascent.parameters[i] + moved
    return logdet + float(n) * HALF_LOG_TURN


@native
def correlated_entropy(ascent: Ascent, own: CorrelatedNormals, k: i64, total: f64) -> f64:
    """See `AscentFamily`."""
    return add_squares(ascent, k, total)


@native
def whiten(ascent: Ascent, own: CorrelatedNormals, k: i64) -> None:
    """vector = S' g + normals: the slope of log density minus log approximation, in the approximation's scale.

    With Stein's direction in place of g there are no normals: it has the repulsion already.
    """
    n = ascent.dimension
    slope = ascent.slopes[k * n :]
    normals = ascent.normals[k * n :]
    for i in range(n):
        ascent.vector[i] = 0.0 if own.stein.active else normals[i]
    for i in range(n):
        row = own.factor[i * n :]
        size = slope[i]
        for j in range(i + 1):
            ascent.vector[j] += row[j] * size


@native
def unwhiten(ascent: Ascent, own: CorrelatedNormals) -> None:
    """vector = S'^-1 vector: back to the scale of the density."""
    n = ascent.dimension
    i = n - 1
    while i >= 0:
        row = own.factor[i * n :]
        value = ascent.vector[i] / row[i]
        ascent.vector[i] = value
        for j in range(i):
            ascent.vector[j] -= row[j] * value
        i -= 1


@native
def gather_correlated(ascent: Ascent, own: CorrelatedNormals, good: i64) -> None:
    """See `AscentFamily`."""
    n = ascent.dimension
    natural = ascent.rule.kind == NATURAL
    share = 1.0 / float(good)
    wide = ascent.gradient[n:]
    pulls = ascent.tally.pulls
    for k in range(ascent.draws):
        if isfinite(ascent.logps[k]):
            normals = ascent.normals[k * n :]
            whiten(ascent, own, k)
            for i in range(n):
                pulls[i] += share * ascent.vector[i]
                pulls[n + i] += 0.5 * share * ascent.vector[i] * normals[i]
            if not natural:
                unwhiten(ascent, own)
            for i in range(n):
                size = share * ascent.vector[i]
                ascent.gradient[i] += size
                row = wide[i * n :]
                for j in range(i + 1):
                    row[j] += size * normals[j]
    if not natural:
        for i in range(n):
            wide[i * n + i] *= own.factor[i * n + i]


@native
def singular_value(ascent: Ascent, own: CorrelatedNormals) -> f64:
    """Greatest singular value of the gradient by the lower factor, by the power method, from below."""
    n = ascent.dimension
    wide = ascent.gradient[n:]
    x = ascent.vector
    y = own.scratch
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
def step_correlated(ascent: Ascent, own: CorrelatedNormals) -> None:
    """Against the Fisher information, which is the identity in the approximation's scale, and 2 along its diagonal."""
    n = ascent.dimension
    rate = ascent.rate
    wide = ascent.gradient[n:]
    packed = ascent.parameters[n:]
    length = 0.0
    for i in range(n):
        length += ascent.gradient[i] * ascent.gradient[i]
    length = max(1.0, rate * sqrt(length / float(n)) / LONGEST)
    for i in range(n):
        row = own.factor[i * n :]
        for j in range(i + 1):
            ascent.parameters[i] += row[j] * ascent.gradient[j] * rate / length
    size = rate * singular_value(ascent, own)
    rate *= min(1.0, WIDEST / size) if size > 0.0 else 1.0
    # The factor times (identity + step), the diagonal by its exponential; columns from the left need those right of
    # them as they were.
    for i in range(n):
        row = own.factor[i * n :]
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
def narrow_correlated(ascent: Ascent, own: CorrelatedNormals) -> None:
    """See `AscentFamily`."""
    n = ascent.dimension
    for i in range(n):
        ascent.parameters[n + i * n + i] += log(0.5)
        for j in range(i):
            ascent.parameters[n + i * n + j] *= 0.5


FUNCTIONS = (place_correlated, correlated_entropy, gather_correlated, step_correlated, narrow_correlated)
