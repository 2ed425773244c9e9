"""A set of particles: parameters are these by rows.

ParticleSet in the memory of an ascent in; where they are moved, out.
"""

from __future__ import annotations

from consilience.estimators.variational.state import LONGEST, Ascent, Stein, limited
from consilience.native.typed_python import f64, i64, native, record, simd


@record
class ParticleSet:
    """Their record."""

    stein: Stein


@native
def place_particles(ascent: Ascent, own: ParticleSet) -> f64:
    """Points are the particles."""
    for i in simd(ascent.count):
        ascent.points[i] = ascent.parameters[i]
    return 0.0


@native
def particle_entropy(ascent: Ascent, own: ParticleSet, k: i64, total: f64) -> f64:
    """There is none."""
    return total


@native
def gather_particles(ascent: Ascent, own: ParticleSet, good: i64) -> None:
    """Each has its own slope."""
    n = ascent.dimension
    for i in range(ascent.count):
        ascent.gradient[i] = ascent.slopes[i]
        ascent.tally.pulls[i % n] += ascent.slopes[i] / float(ascent.draws)


@native
def step_particles(ascent: Ascent, own: ParticleSet) -> None:
    """In the scale of all of them."""
    n = ascent.dimension
    for k in range(ascent.draws):
        for i in range(n):
            scale = own.stein.scales[i]
            step = limited(ascent.rate * scale * ascent.gradient[k * n + i], LONGEST)
            ascent.parameters[k * n + i] += scale * step


@native
def narrow_particles(ascent: Ascent, own: ParticleSet) -> None:
    """They have no scale."""


FUNCTIONS = (place_particles, particle_entropy, gather_particles, step_particles, narrow_particles)
