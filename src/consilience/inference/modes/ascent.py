"""L-BFGS ascents to the modes of a log density, many in one native call, in coordinates scaled beforehand.

An ascent moves u from 0, where the point is start + F u; F is a scale per coordinate or a triangular factor of a
covariance. Where ascents begin, and what their ends mean, stays outside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import Density, LogDensity, evaluate, open_density, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.lbfgs import ARMIJO, LBFGS, inner, new_lbfgs, point_uphill, remember
from consilience.inference.metric import along
from consilience.inference.point import Point, finite, new_point
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import inf, isfinite, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd

MOST_TRIALS = 12  # shortenings of one step
MOST_PULLS = 10  # halvings of the way to a starting point outside the support
INFORMED = 6  # pairs after which the estimate of the inverse curvature is trusted
EXHAUSTED = 1e-3  # share of the tolerance below which it need not be


@record
class LinearMap:
    """The linear map F from the coordinates of an ascent to those of the density.

    `dense`: whether `factor` counts, else `scale`. `scale`: f64[dimension]. `factor`: lower triangle, f64[dimension,
    dimension].
    """

    dense: boolean
    scale: Array[f64]
    factor: Array[f64]


def scaled_by(scale: NDArray[np.float64]) -> LinearMap:
    """Multiplication of every coordinate by its scale, float64[dimension]."""
    return LinearMap(dense=False, scale=np.ascontiguousarray(scale, np.float64), factor=np.zeros(1))


def whitened_by(factor: NDArray[np.float64]) -> LinearMap:
    """From coordinates in which a covariance is the identity; its Cholesky factor, float64[dimension, dimension]."""
    return LinearMap(dense=True, scale=np.zeros(1), factor=np.ascontiguousarray(factor, np.float64).reshape(-1))


@record
class Ascents:
    """A batch of ascents, a row each.

    `points`: in: where they begin; out: where they end, f64[rows, dimension].
    `logps`: log density there, -inf where no point with a finite one was found, f64[rows].
    `decrements`: `g' H g` there, H the estimate of the inverse curvature, f64[rows].
    `longest`: greatest length of a step in scaled coordinates, f64[rows].
    `centre`: where starting points outside the support are pulled to, f64[dimension].
    `most`: evaluations per ascent.
    `tolerance`: decrement that ends an ascent.
    """

    points: Array[f64]
    logps: Array[f64]
    decrements: Array[f64]
    longest: Array[f64]
    centre: Array[f64]
    coordinates: LinearMap
    most: i64
    tolerance: f64


@record
class Climber:
    """Scratch memory of one thread.

    `scaled`: its `position` holds the scaled coordinates u. `point`: start + F u, f64[dimension]. `slope`: gradient of
    the log density there, f64[dimension].
    """

    density: Density
    scaled: Point
    lbfgs: LBFGS
    point: Array[f64]
    slope: Array[f64]


def new_climber(target: LogDensity, stop: NDArray[np.int64], position: NDArray[np.float64] | None = None) -> Climber:
    """Fresh scratch memory; `stop` ends ascents early once it is not 0, `position` is that of `open_density`."""
    vectors = Vectors(target.dimension)
    return Climber(
        density=open_density(target, stop, position),
        scaled=new_point(0, np.zeros(target.dimension), vectors),
        lbfgs=new_lbfgs(vectors),
        point=vectors.vector(),
        slope=vectors.vector(),
    )


@native(rare=True)
def place(climber: Climber, coordinates: LinearMap, start: Array[f64], scaled: Array[f64]) -> None:
    """`point` = start + F `scaled`."""
    n = climber.scaled.dimension
    if coordinates.dense:
        for i in range(n):
            climber.point[i] = start[i] + along(coordinates.factor[i * n :], scaled, i + 1)
    else:
        for i in range(n):
            climber.point[i] = start[i] + coordinates.scale[i] * scaled[i]


@native(contract=True)
def evaluate_scaled(
    climber: Climber, coordinates: LinearMap, start: Array[f64], scaled: Array[f64], gradient: Array[f64]
) -> f64:
    """Log density at start + F `scaled`; its gradient F' g goes to `gradient`."""
    n = climber.scaled.dimension
    slope = climber.slope
    place(climber, coordinates, start, scaled)
    logp = evaluate(climber.density, climber.point, slope)
    if coordinates.dense:
        for i in range(n):
            gradient[i] = 0.0
        for i in range(n):
            row = coordinates.factor[i * n :]
            size = slope[i]
            for j in simd(i + 1):
                gradient[j] += row[j] * size
    else:
        for i in range(n):
            gradient[i] = coordinates.scale[i] * slope[i]
    return logp


@native(rare=True)
def enter_support(climber: Climber, ascents: Ascents, start: Array[f64], last: i64) -> boolean:
    """Evaluate the starting point, pulled to the centre until density and gradient are finite; False if never."""
    state = climber.scaled
    n = state.dimension
    for i in range(n):
        state.position[i] = 0.0
    pulls = 0
    while pulls <= MOST_PULLS and climber.density.evaluations < last and not stopped(climber.density):
        state.logp = evaluate_scaled(climber, ascents.coordinates, start, state.position, state.gradient)
        if isfinite(state.logp) and finite(state.gradient, n):
            return True
        for i in range(n):
            start[i] = ascents.centre[i] + 0.5 * (start[i] - ascents.centre[i])
        pulls += 1
    return False


@native(rare=True)
def step_uphill(
    climber: Climber, ascents: Ascents, start: Array[f64], length: f64, decrement: f64, last: i64
) -> boolean:
    """Move along the direction, shortened until the density gains enough; False if it never does.

    `last`: number of the evaluation after which no other is made.
    """
    state = climber.scaled
    lbfgs = climber.lbfgs
    density = climber.density
    n = state.dimension
    trial = 0
    while trial < MOST_TRIALS and density.evaluations < last and not stopped(density):
        for i in range(n):
            lbfgs.position[i] = state.position[i] + length * lbfgs.direction[i]
        logp = evaluate_scaled(climber, ascents.coordinates, start, lbfgs.position, lbfgs.gradient)
        if logp >= state.logp + ARMIJO * length * decrement and finite(lbfgs.gradient, n):
            remember(lbfgs, state)
            copy(lbfgs.position, state.position, n)
            copy(lbfgs.gradient, state.gradient, n)
            state.logp = logp
            return True
        # the top of the parabola through both log densities and the slope at the first
        shortfall = state.logp + length * decrement - logp
        shorter = 0.1
        if isfinite(shortfall) and shortfall > 0.0:
            shorter = min(max(0.5 * length * decrement / shortfall, 0.1), 0.5)
        length *= shorter
        trial += 1
    return False


@native(rare=True)
def ascend(climber: Climber, ascents: Ascents, row: i64) -> None:
    """One ascent, from its point to near a mode or as far as its evaluations reach."""
    state = climber.scaled
    lbfgs = climber.lbfgs
    n = state.dimension
    start = ascents.points[row * n :]
    last = climber.density.evaluations + ascents.most
    ascents.logps[row] = -inf
    ascents.decrements[row] = inf
    if not enter_support(climber, ascents, start, last):
        return
    lbfgs.pairs = 0
    decrement = inf
    climbing = True
    while climbing:
        point_uphill(lbfgs, state)
        decrement = inner(state.gradient, lbfgs.direction, n)
        if not isfinite(decrement) or decrement <= 0.0:
            break
        informed = lbfgs.pairs >= min(INFORMED, n) and decrement < ascents.tolerance
        if informed or (lbfgs.pairs > 0 and decrement < EXHAUSTED * ascents.tolerance):
            break
        norm = sqrt(inner(lbfgs.direction, lbfgs.direction, n))
        length = min(1.0, ascents.longest[row] / norm)
        if lbfgs.pairs == 0:
            length = min(length, 1.0 / norm)
        climbing = step_uphill(climber, ascents, start, length, decrement, last)
    place(climber, ascents.coordinates, start, state.position)
    copy(climber.point, start, n)
    ascents.logps[row] = state.logp
    ascents.decrements[row] = decrement if isfinite(decrement) else inf


@native
def ascend_rows(climber: Climber, ascents: Ascents, first: i64, step: i64, rows: i64) -> None:
    """The ascents of rows first, first + step, ... below `rows`."""
    row = first
    while row < rows and not stopped(climber.density):
        ascend(climber, ascents, row)
        row += step
