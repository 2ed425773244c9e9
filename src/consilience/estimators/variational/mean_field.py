"""Independent normals: parameters are means, then logs of standard deviations.

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
    limited,
)
from consilience.native.mathematics import exp, isfinite, log
from consilience.native.typed_python import f64, i64, native, record


@record
class IndependentNormals:
    """Their record."""

    stein: Stein


@native
def place_independent(ascent: Ascent, own: IndependentNormals) -> f64:
    """Draws in pairs of opposite normals."""
    n = ascent.dimension
    logdet = 0.0
    for i in range(n):
        logdet += ascent.parameters[n + i]
    for k in range(ascent.draws):
        draw_normals(ascent, k)
        normals = ascent.normals[k * n :]
        point = ascent.points[k * n :]
        for i in range(n):
            point[i] = ascent.parameters[i] + exp(ascent.parameters[n + i]) * normals[i]
    return logdet + float(n) * HALF_LOG_TURN


@native
def independent_entropy(ascent: Ascent, own: IndependentNormals, k: i64, total: f64) -> f64:
    """See `AscentFamily`."""
    return add_squares(ascent, k, total)


@native
def gather_independent(ascent: Ascent, own: IndependentNormals, good: i64) -> None:
    """By S' g + normals: the slope of log density minus log approximation, in the approximation's scale.

    With Stein's direction in place of g there are no normals: it has the repulsion already.
    """
    n = ascent.dimension
    natural = ascent.rule.kind == NATURAL
    share = 1.0 / float(good)
    wide = ascent.gradient[n:]
    pulls = ascent.tally.pulls
    for k in range(ascent.draws):
        if isfinite(ascent.logps[k]):
            normals = ascent.normals[k * n :]
            slope = ascent.slopes[k * n :]
            for i in range(n):
                scale = exp(ascent.parameters[n + i])
                value = 0.0 if own.stein.active else normals[i]
                value += scale * slope[i]
                pulls[i] += share * value
                pulls[n + i] += 0.5 * share * value * normals[i]
                if not natural:
                    value /= scale
                size = share * value
                ascent.gradient[i] += size
                wide[i] += size * normals[i]
    if not natural:
        for i in range(n):
            wide[i] *= exp(ascent.parameters[n + i])


@native
def step_independent(ascent: Ascent, own: IndependentNormals) -> None:
    """Against the Fisher information, which is the identity in the approximation's scale, and 2 by logs of scales."""
    n = ascent.dimension
    rate = ascent.rate
    wide = ascent.gradient[n:]
    logs = ascent.parameters[n:]
    for i in range(n):
        ascent.parameters[i] += exp(logs[i]) * limited(rate * ascent.gradient[i], LONGEST)
        logs[i] += limited(0.5 * rate * wide[i], WIDEST)


@native
def narrow_independent(ascent: Ascent, own: IndependentNormals) -> None:
    """See `AscentFamily`."""
    n = ascent.dimension
    for i in range(n):
        ascent.parameters[n + i] += log(0.5)


FUNCTIONS = (place_independent, independent_entropy, gather_independent, step_independent, narrow_independent)
