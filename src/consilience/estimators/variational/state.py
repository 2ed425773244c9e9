"""The memory of a stochastic ascent: what machine code reads and writes between two looks.

Families of approximations and the order of their parameters are written down here.
"""

from __future__ import annotations

from consilience.inference.density import Density
from consilience.native.typed_python import Array, FunctionPointer, boolean, f64, i64, native, record

MEAN_FIELD = 0
FULL_RANK = 1
PARTICLES = 2
LOW_RANK = 3
FLOW = 4
LONGEST = 1.0  # standard deviations that a natural step moves a coordinate
WIDEST = 0.7  # by which it changes the log of one, or relatively the scale in any direction
PER_STEP = 1 << 20  # draws of one step, and numbers of one draw


@record
class FlowInputs:
    """Tables of pointers that the code of a flow reads.

    `parameters`: f64[count]. `normals`: f64[draws, dimension]. `slopes`: of the log density at the points, f64[draws,
    dimension]. `weights`: f64[draws].
    """

    parameters: Array[f64]
    normals: Array[f64]
    slopes: Array[f64]
    weights: Array[f64]


@record
class FlowPlaces:
    """What placing draws writes: points f64[draws, dimension] and log determinants f64[draws]."""

    points: Array[f64]
    logdets: Array[f64]


@record
class FlowGradient:
    """What gathering a gradient writes, f64[count]."""

    gradient: Array[f64]


@record
class FlowCode:
    """Machine code of a flow with its memory; of other families unused.

    `scale`: where the parameters of its last layer of scales begin, or -1. `close`: whether its last layers are scales
    and then a shift.
    """

    place: FunctionPointer[[FlowInputs, FlowPlaces, Array[f64], i64], i64]
    gather: FunctionPointer[[FlowInputs, FlowGradient, Array[f64], i64], i64]
    place_constants: i64
    gather_constants: i64
    workspace: Array[f64]
    inputs: FlowInputs
    places: FlowPlaces
    slope: FlowGradient
    scale: i64
    close: boolean


@record
class Ascent:
    """One approximation on its way up, and the memory it needs.

    `family`: MEAN_FIELD, FULL_RANK, LOW_RANK, FLOW or PARTICLES.
    `stein`: whether draws move along Stein's direction instead of the gradient of the bound.
    `dimension`: of the density.
    `draws`: per step, or number of particles.
    `count`: of the parameters: for MEAN_FIELD means and logs of standard deviations; for FULL_RANK means and the lower
        factor by rows, its diagonal as logs; for LOW_RANK means, logs of scales and loadings by rows; for FLOW those of
        its layers; for PARTICLES these by rows.
    `parameters`, `gradient`, `sums`: f64[count]; `sums` adds up the parameters of all steps.
    `pulls`: adds up how far the gradient says means and logs of standard deviations are from the optimum, in standard
        deviations, f64[2 dimension]; for PARTICLES and FLOW the mean direction instead.
    `turns`: adds up products of the gradient by the means with the one before, and with itself, f64[2].
    `before`: the gradient before, f64[dimension].
    `memory`: of the rule.
    `rank`: of LOW_RANK.
    `factor`: lower factor, f64[dimension, dimension] for FULL_RANK, f64[rank, rank] for LOW_RANK.
    `loads`: normals of the loadings, f64[draws, rank].
    `short`: scratch memory, f64[rank].
    `normals`, `points`, `slopes`, `turned`: f64[draws, dimension]; `turned` is scratch memory.
    `logps`: f64[draws].
    `vector`: f64[dimension].
    `scales`: of coordinates in Stein's kernel, f64[dimension].
    `bandwidth`: of that kernel.
    `flow`: code and memory of FLOW.
    `rule`, `rate`, `first`, `second`, `epsilon`, `window`: see `Optimizer`.
    `most`: greatest norm of the gradient; 0: any.
    `key`: of the random numbers.
    `step`: steps taken so far.
    `bounds`: estimates of the bound at the steps of one call, f64.
    `failures`: steps in a row in which no draw had a finite log density.
    `batch`: rows of all minibatches, as numbers; batches' lengths and those of their data follow.
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
    rank: i64
    factor: Array[f64]
    loads: Array[f64]
    short: Array[f64]
    normals: Array[f64]
    points: Array[f64]
    slopes: Array[f64]
    turned: Array[f64]
    logps: Array[f64]
    vector: Array[f64]
    scales: Array[f64]
    bandwidth: f64
    flow: FlowCode
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
def limited(x: f64, most: f64) -> f64:
    """x between -most and most."""
    return min(max(x, -most), most)
