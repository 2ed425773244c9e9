"""The memory of a stochastic ascent: what machine code reads and writes between two looks.

What all families of approximations have is here, and what tells them apart: a record and five functions of each, in
files of their own.
"""

from __future__ import annotations

from consilience.inference.density import Density
from consilience.native.random import random_normals
from consilience.native.typed_python import Array, FunctionPointer, boolean, f64, i64, native, record

MEAN_FIELD = 0
FULL_RANK = 1
PARTICLES = 2
LOW_RANK = 3
FLOW = 4
LONGEST = 1.0  # standard deviations that a natural step moves a coordinate
WIDEST = 0.7  # by which it changes the log of one, or relatively the scale in any direction
HALF_LOG_TURN = 0.9189385332046727  # log(2 pi) / 2
PER_STEP = 1 << 20  # draws of one step, and numbers of one draw


@record
class StepRule:
    """The rule for steps; `kind` is one of `optimizers`, for the rest see `Optimizer`.

    `memory`: of the rule, f64[numbers]. `most`: greatest norm of the gradient; 0: any.
    """

    kind: i64
    first: f64
    second: f64
    epsilon: f64
    window: i64
    memory: Array[f64]
    most: f64


@record
class Batches:
    """Rows of all minibatches, as numbers; their lengths and those of their data, and how many batches there are."""

    rows: Array[f64]
    lengths: Array[i64]
    data_lengths: Array[i64]
    count: i64


@record
class Tally:
    """What is added up over the steps between two looks.

    `sums`: of the parameters, f64[count].
    `pulls`: how far the gradient says means and logs of standard deviations are from the optimum, in standard
        deviations, f64[2 dimension]; of particles and flows the mean direction instead.
    `turns`: products of the gradient by the means with the one before, and with itself, f64[2].
    `before`: the gradient before, f64[dimension].
    """

    sums: Array[f64]
    pulls: Array[f64]
    turns: Array[f64]
    before: Array[f64]


@record
class Ascent:
    """One approximation on its way up, and the memory that every family needs.

    `dimension`: of the density.
    `draws`: per step, or number of particles.
    `count`: of the parameters, whose order is told where a family is.
    `parameters`, `gradient`: f64[count].
    `normals`, `points`, `slopes`: f64[draws, dimension].
    `logps`: f64[draws].
    `vector`: scratch memory, f64[dimension].
    `rate`: of the rule, as it is by now.
    `key`: of the random numbers.
    `step`: steps taken so far.
    `bounds`: estimates of the bound at the steps of one call, f64.
    `failures`: steps in a row in which no draw had a finite log density.
    """

    density: Density
    dimension: i64
    draws: i64
    count: i64
    parameters: Array[f64]
    gradient: Array[f64]
    normals: Array[f64]
    points: Array[f64]
    slopes: Array[f64]
    logps: Array[f64]
    vector: Array[f64]
    rule: StepRule
    rate: f64
    tally: Tally
    batches: Batches
    key: i64
    step: i64
    bounds: Array[f64]
    failures: i64


@record
class Stein:
    """Stein's kernel, where draws move along its direction instead of the gradient of the bound.

    `active`: whether they do. `scales`: of coordinates, f64[dimension]. `turned`: scratch, f64[draws, dimension].
    """

    active: boolean
    scales: Array[f64]
    bandwidth: f64
    turned: Array[f64]


@record
class AscentFamily:
    """What tells a family of approximations from others; every function takes the ascent and `own`.

    `own`: address of the record of the family.
    `place`: puts points where the parameters say; gives the entropy, as far as it is the same for all draws.
    `entropy`: the rest of a draw's, added to a number.
    `gather`: the gradient of the bound by the parameters, from so many finite draws; for NATURAL in the approximation's
        own scale.
    `step`: a natural step.
    `narrow`: halves the scale around the mean.
    """

    own: i64
    place: FunctionPointer[[Ascent, i64], f64]
    entropy: FunctionPointer[[Ascent, i64, i64, f64], f64]
    gather: FunctionPointer[[Ascent, i64, i64], None]
    step: FunctionPointer[[Ascent, i64], None]
    narrow: FunctionPointer[[Ascent, i64], None]


@native
def draw_normals(ascent: Ascent, k: i64) -> None:
    """Normals of draw k; they come in opposite pairs."""
    n = ascent.dimension
    normals = ascent.normals[k * n :]
    if k % 2 == 0:
        random_normals(ascent.key, (ascent.step * PER_STEP + k) * PER_STEP, normals, n)
    else:
        before = ascent.normals[(k - 1) * n :]
        for i in range(n):
            normals[i] = -before[i]


@native
def add_squares(ascent: Ascent, k: i64, total: f64) -> f64:
    """The entropy of a draw of normals, added to a number."""
    n = ascent.dimension
    for i in range(n):
        normal = ascent.normals[k * n + i]
        total += 0.5 * normal * normal
    return total


@native
def limited(x: f64, most: f64) -> f64:
    """x between -most and most."""
    return min(max(x, -most), most)
