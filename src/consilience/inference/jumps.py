"""Jumps by differences of archived points: how chains tell each other about distant modes.

Differential evolution (ter Braak & Vrugt 2008): x + gamma (a - b) with two points drawn from the archive is a
symmetric proposal while the archive stays as it is. Where the points come from, and when they change, stays
outside.
"""

from __future__ import annotations

import numpy as np

from consilience.inference.archive import pair
from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.point import Point, finite
from consilience.inference.streams import JUMP, purpose_key, two_uniforms
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp, sqrt
from consilience.native.typed_python import Array, f64, i64, native, record

WHOLE_SHARE = 0.7  # of the jumps, that go the whole difference: from mode to mode
SHORTENING = 2.38  # / sqrt(2 dimension): the best factor for a normal target


@record
class Jumps:
    """What jumps are made of.

    count       jumps after each transition
    points      number of points in the archive
    archive     f64[points, dimension]
    accepted    jumps accepted so far
    """

    count: i64
    points: i64
    archive: Array[f64]
    accepted: i64


@record
class JumpScratch:
    """The point proposed: f64[dimension]."""

    position: Array[f64]
    gradient: Array[f64]


def new_jumps() -> Jumps:
    """No jumps."""
    return Jumps(0, 0, np.zeros(1), 0)


def new_jump_scratch(vectors: Vectors) -> JumpScratch:
    """Fresh scratch memory."""
    return JumpScratch(vectors.vector(), vectors.vector())


@native(rare=True)
def jump(jumps: Jumps, scratch: JumpScratch, density: Density, point: Point, stage: i64) -> None:
    """One Metropolis step with a proposal from the archive; `stage` counts those of one transition."""
    n = point.dimension
    key = purpose_key(point.key, JUMP)
    first, second = two_uniforms(key, point.transition, 2 * stage)
    kind, accept = two_uniforms(key, point.transition, 2 * stage + 1)
    a, b = pair(jumps.points, first, second)
    factor = 1.0 if kind < WHOLE_SHARE else SHORTENING / sqrt(2.0 * float(n))
    begin = jumps.archive[a * n :]
    end = jumps.archive[b * n :]
    for i in range(n):
        scratch.position[i] = point.position[i] + factor * (begin[i] - end[i])
    logp = evaluate(density, scratch.position, scratch.gradient)
    # a trajectory could not leave a point without gradient, so none ends there, and no jump may
    if accept < exp(min(0.0, logp - point.logp)) and finite(scratch.gradient, n):
        copy(scratch.position, point.position, n)
        copy(scratch.gradient, point.gradient, n)
        point.logp = logp
        jumps.accepted += 1


@native(rare=True)
def jump_around(jumps: Jumps, scratch: JumpScratch, density: Density, point: Point) -> None:
    """All jumps that follow one transition."""
    if jumps.points >= 2:
        stage = 0
        while stage < jumps.count and not stopped(density):
            jump(jumps, scratch, density, point, stage)
            stage += 1
