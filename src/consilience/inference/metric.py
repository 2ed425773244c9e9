"""The metric: how far a chain moves in which direction, as a scale per coordinate and a few directions more.

Inverse mass = diag(variance) + V diag(stretch) V', with V of as many columns as there are directions: the form
S (I + U (Lambda - I) U') S with S = sqrt(variance), V = S U and stretch = Lambda - 1. With no directions it is
diagonal; with as many as coordinates, dense. All that may be in coordinates u = L' x of a sparse factor L
(`whitening`): L^-T (...) L^-1 then. What the numbers are is learnt elsewhere (`fisher_diagonal`, `fisher_metric`,
`curvature`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consilience.inference.vectors import Vectors
from consilience.inference.whitening import (
    Whitener,
    Whitening,
    solve_lower,
    solve_upper,
    times_lower,
    whitener_in,
    whitening_of,
)
from consilience.native.mathematics import isnan, sqrt
from consilience.native.typed_python import Array, boolean, f64, i64, native, record, simd
from consilience.record import Record, field_names

SMALLEST_VARIANCE = 1e-20
LARGEST_VARIANCE = 1e20
# A velocity is its momentum plus (eigenvalue - 1) times the part along a direction: what is left of a small eigenvalue
# there is lost when the momentum, of size eigenvalue ** -1/2, is rounded, and kinetic energies come out wrong by up to
# 2e-16 / eigenvalue.
SMALLEST_EIGENVALUE = 1e-10
LARGEST_EIGENVALUE = 1e10


class Scales(Record):
    """A metric as a message: scale per coordinate, orthonormal directions of the scaled space, eigenvalues.

    scale (ndarray): Standard deviations s, float64 (coordinate,).
    directions (ndarray): Rows orthonormal, float64 (direction, coordinate).
    eigenvalues (ndarray): Variance along each direction in the scaled space, float64 (direction,), positive.
    whitener: What gives the coordinates that all of it is in; None: those of the density.
    """

    scale: NDArray[np.float64]
    directions: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]
    whitener: Whitener | None = None

    def save(self) -> list[Any]:
        """Its fields as arrays in lists, and None."""
        factor = self.whitener
        parts = None if factor is None else [getattr(factor, name) for name in field_names(Whitener)]
        return [self.scale, self.directions, self.eigenvalues, parts]

    @classmethod
    def load(cls, state: Sequence[Any]) -> Scales:
        """What was saved."""
        scale, directions, eigenvalues, parts = state
        return cls(scale, directions, eigenvalues, None if parts is None else Whitener(*parts))

    @property
    def rank(self) -> int:
        return len(self.eigenvalues)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Diagonal of the inverse mass, float64 (coordinate,), in the coordinates of the whitener if there is one."""
        spread = 1.0 + np.einsum("kd,k,kd->d", self.directions, self.eigenvalues - 1.0, self.directions)
        return np.asarray(self.scale**2 * spread)


def diagonal(variance: NDArray[np.float64]) -> Scales:
    """The metric with these variances and no directions."""
    return Scales(np.sqrt(variance), np.zeros((0, len(variance))), np.zeros(0))


@record
class Metric:
    """The metric as native code uses it.

    variance (Array): Inverse mass per coordinate without the directions, f64[dimension].
    mass_deviation (Array): 1 / sqrt(variance), f64[dimension].
    whitening: What gives the coordinates that all of it is in.
    coupled: Whether coordinates act together: there are directions, or such coordinates.
    rank: Number of directions.
    directions (Array): V', f64[rank, stride].
    stretches (Array): For the velocity: eigenvalue - 1, f64[rank].
    shrinkages (Array): For the momentum: eigenvalue ** -1/2 - 1, f64[rank].
    scratch (Array): f64[3, stride].
    """

    variance: Array[f64]
    mass_deviation: Array[f64]
    whitening: Whitening
    coupled: boolean
    rank: i64
    directions: Array[f64]
    stretches: Array[f64]
    shrinkages: Array[f64]
    scratch: Array[f64]
    dimension: i64
    stride: i64


def new_metric(vectors: Vectors) -> Metric:
    """The unit metric."""
    return Metric(
        variance=vectors.vector(1.0),
        mass_deviation=vectors.vector(1.0),
        whitening=whitening_of(None),
        coupled=False,
        rank=0,
        directions=np.zeros(1),
        stretches=np.zeros(1),
        shrinkages=np.zeros(1),
        scratch=vectors.rows(3),
        dimension=vectors.dimension,
        stride=vectors.stride,
    )


def install(metric: Metric, scales: Scales) -> None:
    """Put a learnt metric in place; variances as `set_variance` keeps them."""
    wanted = scales.scale * scales.scale
    variance, mass_deviation = np.asarray(metric.variance), np.asarray(metric.mass_deviation)
    variance[:] = np.clip(np.where(np.isnan(wanted), 1.0, wanted), SMALLEST_VARIANCE, LARGEST_VARIANCE)
    mass_deviation[:] = 1.0 / np.sqrt(variance)
    rows = np.zeros((max(1, scales.rank), metric.stride))
    rows[: scales.rank, : metric.dimension] = scales.directions * np.sqrt(variance)
    metric.directions = rows.reshape(-1)
    metric.stretches = np.append(scales.eigenvalues - 1.0, 0.0)
    metric.shrinkages = np.append(scales.eigenvalues**-0.5 - 1.0, 0.0)
    metric.rank = scales.rank
    metric.whitening = whitening_of(scales.whitener)
    metric.coupled = scales.rank > 0 or scales.whitener is not None


def installed(metric: Metric) -> Scales:
    """The metric in place, as a message."""
    scale = np.sqrt(np.asarray(metric.variance))
    rank = metric.rank
    rows = np.asarray(metric.directions)[: rank * metric.stride].reshape(rank, metric.stride)[:, : metric.dimension]
    return Scales(scale, rows / scale, np.asarray(metric.stretches)[:rank] + 1.0, whitener_in(metric.whitening))


@native(rare=True)
def make_diagonal(metric: Metric) -> None:
    """Give up all but the variances."""
    metric.rank = 0
    metric.whitening.dimension = 0
    metric.coupled = False


@native
def set_variance(metric: Metric, i: i64, variance: f64) -> None:
    """Set one variance, kept within bounds; what is no number becomes 1."""
    if isnan(variance):
        variance = 1.0
    variance = min(max(variance, SMALLEST_VARIANCE), LARGEST_VARIANCE)
    metric.variance[i] = variance
    metric.mass_deviation[i] = 1.0 / sqrt(variance)


@native(contract=True)
def along(direction: Array[f64], vector: Array[f64], dimension: i64) -> f64:
    """Inner product."""
    total = 0.0
    for i in simd(dimension):
        total += direction[i] * vector[i]
    return total


@native(contract=True)
def along_four(directions: Array[f64], vector: Array[f64], dimension: i64, stride: i64) -> tuple[f64, f64, f64, f64]:
    """Inner products with four neighbouring directions: the vector is read once."""
    second = directions[stride:]
    third = directions[2 * stride :]
    fourth = directions[3 * stride :]
    a = 0.0
    b = 0.0
    c = 0.0
    d = 0.0
    for i in simd(dimension):
        x = vector[i]
        a += directions[i] * x
        b += second[i] * x
        c += third[i] * x
        d += fourth[i] * x
    return a, b, c, d


@native(contract=True)
def add_four(
    directions: Array[f64], a: f64, b: f64, c: f64, d: f64, result: Array[f64], dimension: i64, stride: i64
) -> None:
    """Add multiples of four neighbouring directions."""
    second = directions[stride:]
    third = directions[2 * stride :]
    fourth = directions[3 * stride :]
    for i in simd(dimension):
        result[i] += a * directions[i] + b * second[i] + (c * third[i] + d * fourth[i])


@native(shared=True)
def add_directions(metric: Metric, weights: Array[f64], vector: Array[f64], result: Array[f64]) -> None:
    """result += V diag(weights) V' vector."""
    n = metric.dimension
    stride = metric.stride
    j = 0
    while j + 4 <= metric.rank:
        rows = metric.directions[j * stride :]
        a, b, c, d = along_four(rows, vector, n, stride)
        add_four(rows, weights[j] * a, weights[j + 1] * b, weights[j + 2] * c, weights[j + 3] * d, result, n, stride)
        j += 4
    while j < metric.rank:
        row = metric.directions[j * stride :]
        share = weights[j] * along(row, vector, n)
        for i in simd(n):
            result[i] += share * row[i]
        j += 1


@native(contract=True)
def velocity_of(metric: Metric, momentum: Array[f64], velocity: Array[f64]) -> None:
    """velocity = inverse mass times momentum; the two do not overlap."""
    pushing = momentum
    if metric.whitening.dimension > 0:
        pushing = metric.scratch[2 * metric.stride :]
        for i in simd(metric.dimension):
            pushing[i] = momentum[i]
        solve_lower(metric.whitening, pushing)
    for i in simd(metric.dimension):
        velocity[i] = metric.variance[i] * pushing[i]
    if metric.rank > 0:
        add_directions(metric, metric.stretches, pushing, velocity)
    if metric.whitening.dimension > 0:
        solve_upper(metric.whitening, velocity)


@native
def scale_momentum(metric: Metric, momentum: Array[f64]) -> None:
    """Turn standard normal numbers into a momentum ~ Normal(0, mass), in place.

    mass ** 1/2 = S^-1 (I + U (Lambda^-1/2 - I) U'), and U = S^-1 V.
    """
    deviation = metric.mass_deviation
    if metric.rank > 0:
        scaled = metric.scratch
        shifts = metric.scratch[metric.stride :]
        for i in simd(metric.dimension):
            scaled[i] = deviation[i] * momentum[i]
            shifts[i] = 0.0
        add_directions(metric, metric.shrinkages, scaled, shifts)
        for i in simd(metric.dimension):
            momentum[i] += deviation[i] * shifts[i]
    for i in simd(metric.dimension):
        momentum[i] *= deviation[i]
    if metric.whitening.dimension > 0:
        times_lower(metric.whitening, momentum)
