"""Mixtures of normal distributions as log densities in typed Python, after any linear map, with known masses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import Inputs, Outputs
from consilience.native.mathematics import exp, inf, log
from consilience.native.typed_python import Array, NativeRecord, f64, i64, native, record

Vector = NDArray[np.float64]


@record
class Parts:
    """Components in coordinates z = unmix (x - offset): isotropic normals.

    means        f64[components, dimension]
    precisions   f64[components]
    heights      log density of each component at its mean, weight included, f64[components]
    unmix        f64[dimension, dimension]
    offset       f64[dimension]
    """

    dimension: i64
    components: i64
    means: Array[f64]
    precisions: Array[f64]
    heights: Array[f64]
    unmix: Array[f64]
    offset: Array[f64]


@native
def mixture(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Parts) -> i64:
    """Its log density; z and its gradient lie in the workspace."""
    n = constants.dimension
    z = workspace
    slope = workspace[n:]
    logs = workspace[2 * n :]
    for i in range(n):
        z[i] = 0.0
        slope[i] = 0.0
        outputs.gradient[i] = 0.0
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += constants.unmix[i * n + j] * (inputs.position[j] - constants.offset[j])
        z[i] = total
    highest = -inf
    for k in range(constants.components):
        mean = constants.means[k * n :]
        square = 0.0
        for i in range(n):
            square += (z[i] - mean[i]) * (z[i] - mean[i])
        logs[k] = constants.heights[k] - 0.5 * constants.precisions[k] * square
        highest = max(highest, f64(logs[k]))
    total = 0.0
    for k in range(constants.components):
        total += exp(logs[k] - highest)
    for k in range(constants.components):
        mean = constants.means[k * n :]
        share = exp(logs[k] - highest) / total
        for i in range(n):
            slope[i] += share * constants.precisions[k] * (mean[i] - z[i])
    for i in range(n):
        for j in range(n):
            outputs.gradient[j] += constants.unmix[i * n + j] * slope[i]
    outputs.logp[0] = highest + log(total)
    return 0


class Mixture:
    """A mixture of isotropic normals, mapped by x = mix z + offset.

    modes     means of the components in x, float64[components, dimension]
    weights   float64[components]
    """

    def __init__(
        self,
        means: Vector,
        weights: Sequence[float],
        deviations: Sequence[float],
        mix: Vector | None = None,
        offset: Vector | None = None,
    ) -> None:
        components, self.dimension = means.shape
        mix = np.eye(self.dimension) if mix is None else mix
        offset = np.zeros(self.dimension) if offset is None else offset
        sd = np.array(deviations, float)
        self.weights = np.array(weights, float)
        self.modes = means @ mix.T + offset
        heights = np.log(self.weights) - self.dimension * np.log(sd * np.sqrt(2 * np.pi))
        heights -= np.linalg.slogdet(mix)[1]
        unmix = np.ascontiguousarray(np.linalg.inv(mix)).reshape(-1)
        flat = np.ascontiguousarray(means, float).reshape(-1)
        self.record = Parts(self.dimension, components, flat, sd**-2.0, heights, unmix, offset)
        self.workspace = 8 * (2 * self.dimension + components)

    @property
    def entry(self) -> int:
        return int(mixture.compiled.address)

    @property
    def constants(self) -> int:
        return cast("NativeRecord", self.record).address


def affine(
    places: Sequence[float], weights: Sequence[float], deviations: Sequence[float], dimension: int, seed: int
) -> Mixture:
    """Components at these places on one axis, then random scales of 0.1 to 10, a random rotation and an offset."""
    rng = np.random.default_rng(seed)
    means = np.zeros((len(places), dimension))
    means[:, 0] = places
    rotation, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    scales = 10.0 ** rng.uniform(-1.0, 1.0, dimension)
    offset = 3.0 * rng.standard_normal(dimension)
    return Mixture(means, weights, deviations, rotation * scales, offset)


def isotropic(
    places: Sequence[float], weights: Sequence[float], deviations: Sequence[float], dimension: int, seed: int
) -> Mixture:
    """Components at these places on a line in a random direction, through a random point near 0."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(dimension)
    direction /= np.linalg.norm(direction)
    means = np.array(places)[:, None] * direction
    return Mixture(means, weights, deviations, None, rng.standard_normal(dimension))
