"""A first step size: double or halve until one leapfrog's acceptance probability crosses 0.8.

Hoffman & Gelman (2014, algorithm 4) with the threshold 0.8. Enters a point with finite log density and a
metric; leaves a step size. It is only a start: dual averaging does the rest.
"""

from __future__ import annotations

from consilience.inference.density import Density
from consilience.inference.hamiltonian import draw_momentum, kinetic_energy, leapfrog
from consilience.inference.metric import Metric, velocity_of
from consilience.inference.point import Point
from consilience.inference.streams import SEARCH
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import log
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

THRESHOLD = 0.8
MOST_TRIALS = 100  # 2 ** 100 is beyond any choice of units


@record
class Probe:
    """Scratch memory for one leapfrog away from a state: arrays f64[dimension]."""

    drift: Array[f64]
    momentum: Array[f64]
    velocity: Array[f64]
    position: Array[f64]
    gradient: Array[f64]
    next_drift: Array[f64]


def new_probe(vectors: Vectors) -> Probe:
    """Fresh scratch memory."""
    return Probe(*(vectors.vector() for _ in range(6)))


@native(rare=True)
def keeps_energy(density: Density, point: Point, metric: Metric, probe: Probe, step: f64, trial: i64) -> boolean:
    """Whether one leapfrog of this size, with the momentum of this trial, is accepted often enough."""
    n = point.dimension
    draw_momentum(point, metric, SEARCH, trial * n, probe.momentum)
    velocity_of(metric, probe.momentum, probe.velocity)
    velocity_of(metric, point.gradient, probe.drift)
    energy = kinetic_energy(probe.momentum, probe.velocity, n) - point.logp
    logp, kinetic = leapfrog(
        density,
        metric,
        step,
        point.position,
        point.gradient,
        probe.drift,
        probe.momentum,
        probe.velocity,
        probe.position,
        probe.gradient,
        probe.next_drift,
    )
    return energy - (kinetic - logp) > log(THRESHOLD)  # False if the new energy is no number


@native(rare=True)
def search_step_size(density: Density, point: Point, metric: Metric, probe: Probe, step: f64) -> f64:
    """Step size at which keeping the energy turns into losing it, to a factor of 2, searched from `step`."""
    growing = keeps_energy(density, point, metric, probe, step, 0)
    trial = 1
    while trial < MOST_TRIALS:
        if growing:
            step *= 2.0
        else:
            step *= 0.5
        if keeps_energy(density, point, metric, probe, step, trial) != growing:
            break
        trial += 1
    return step
