"""Stein's direction of a set of draws: uphill together, and away from each other.

Draws with slopes of the log density in; directions in the place of the slopes out.
"""

from __future__ import annotations

from consilience.estimators.variational.state import Ascent, Stein
from consilience.native.mathematics import exp
from consilience.native.typed_python import native, simd


@native
def point_by_stein(ascent: Ascent, stein: Stein) -> None:
    """Slopes become Stein's direction: the kernel's mean of the slopes, and of its own slope.

    Source: Liu and Wang (2016), Stein variational gradient descent.
    """
    n = ascent.dimension
    m = ascent.draws
    share = 1.0 / float(m)
    for k in range(m):
        own = ascent.points[k * n :]
        target = stein.turned[k * n :]
        for i in range(n):
            target[i] = 0.0
        for j in range(m):
            other = ascent.points[j * n :]
            slope = ascent.slopes[j * n :]
            distance = 0.0
            for i in range(n):
                apart = (own[i] - other[i]) / stein.scales[i]
                distance += apart * apart
            weight = exp(-distance / stein.bandwidth) * share
            for i in range(n):
                scale = stein.scales[i]
                away = 2.0 * (own[i] - other[i]) / (scale * scale * stein.bandwidth)
                target[i] += weight * (slope[i] + away)
    for i in simd(m * n):
        ascent.slopes[i] = stein.turned[i]
