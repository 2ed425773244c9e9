"""Log densities in typed Python, with moments known exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from consilience.inference.density import Inputs, Outputs
from consilience.native.mathematics import exp, inf, log, log1p
from consilience.native.typed_python import Array, NativeFunction, NativeRecord, f64, i64, native, record


@record
class Constants:
    """What the densities below read: matrix is f64[dimension, dimension], mean f64[dimension]."""

    dimension: i64
    mean: Array[f64]
    matrix: Array[f64]
    number: f64


@native(contract=True)
def independent(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Independent normals with means `mean` and precisions on the first row of `matrix`."""
    x = inputs.position
    gradient = outputs.gradient
    mean = constants.mean
    precision = constants.matrix
    total = 0.0
    for i in range(constants.dimension):
        gradient[i] = precision[i] * (mean[i] - x[i])
        total += gradient[i] * (mean[i] - x[i])
    outputs.logp[0] = -0.5 * total
    return 0


@native
def correlated(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Multivariate normal with the precision `matrix`; differences from the mean go to the workspace."""
    n = constants.dimension
    gradient = outputs.gradient
    for i in range(n):
        workspace[i] = inputs.position[i] - constants.mean[i]
    total = 0.0
    for i in range(n):
        product = 0.0
        for j in range(n):
            product += constants.matrix[i * n + j] * workspace[j]
        gradient[i] = -product
        total += product * workspace[i]
    outputs.logp[0] = -0.5 * total
    return 0


@native
def student(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Independent Student-t with `number` degrees of freedom."""
    nu = constants.number
    total = 0.0
    for i in range(constants.dimension):
        x = inputs.position[i]
        total -= 0.5 * (nu + 1.0) * log1p(x * x / nu)
        outputs.gradient[i] = -(nu + 1.0) * x / (nu + x * x)
    outputs.logp[0] = total
    return 0


@native
def funnel(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Neal's funnel: v ~ Normal(0, 3), the others ~ Normal(0, exp(v / 2))."""
    x = inputs.position
    v = x[0]
    total = 0.0
    for i in range(1, constants.dimension):
        total += x[i] * x[i]
        outputs.gradient[i] = -x[i] * exp(-v)
    others = f64(constants.dimension - 1)
    outputs.logp[0] = -v * v / 18.0 - 0.5 * total * exp(-v) - 0.5 * others * v
    outputs.gradient[0] = -v / 9.0 + 0.5 * total * exp(-v) - 0.5 * others
    return 0


@native
def two_modes(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Unit normals around (-number, ...) and (number, ...), the second with the weight `matrix`[0]."""
    x = inputs.position
    n = constants.dimension
    place = constants.number
    weight = constants.matrix[0]
    below = 0.0
    above = 0.0
    for i in range(n):
        below -= 0.5 * (x[i] + place) * (x[i] + place)
        above -= 0.5 * (x[i] - place) * (x[i] - place)
    below += log(1.0 - weight)
    above += log(weight)
    share = 1.0 / (1.0 + exp(below - above)) if above > below else exp(above - below) / (1.0 + exp(above - below))
    outputs.logp[0] = max(below, above) + log1p(exp(-abs(above - below)))
    for i in range(n):
        outputs.gradient[i] = place * (2.0 * share - 1.0) - x[i]
    return 0


@native
def flat(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """No force at all."""
    for i in range(constants.dimension):
        outputs.gradient[i] = 0.0
    outputs.logp[0] = 0.0
    return 0


@native
def half_space(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Exponential(1) where the first coordinate is positive; elsewhere it fails as `number` says.

    number   1: a status that is not 0; 2: log density NaN; 3: log density inf; 4: gradient NaN
    """
    x = inputs.position
    outputs.logp[0] = -x[0]
    outputs.gradient[0] = -1.0
    if x[0] <= 0.0:
        if constants.number == 1.0:
            return 1
        if constants.number == 2.0:
            outputs.logp[0] = inf - inf
        if constants.number == 3.0:
            outputs.logp[0] = inf
        if constants.number == 4.0:
            outputs.gradient[0] = inf - inf
    return 0


@dataclass
class Target:
    """A density with exact moments, in the form samplers take."""

    function: NativeFunction[..., int]
    dimension: int
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    matrix: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))
    number: float = 0.0

    def __post_init__(self) -> None:
        matrix = np.ascontiguousarray(self.matrix.reshape(-1))
        self.record = Constants(self.dimension, np.ascontiguousarray(self.mean), matrix, self.number)
        self.workspace = 8 * self.dimension

    @property
    def entry(self) -> int:
        return int(self.function.compiled.address)

    @property
    def constants(self) -> int:
        return cast("NativeRecord", self.record).address


class PlainTarget:
    """A target whose entry is the same source run by CPython."""

    def __init__(self, target: Target) -> None:
        self.dimension = target.dimension
        self.workspace = target.workspace
        self.constants = 0
        self._target = target

    @property
    def entry(self) -> Callable[..., int]:
        def call(inputs: Any, outputs: Any, workspace: Any, constants: int) -> int:
            return self._target.function(inputs, outputs, workspace, self._target.record)

        return call


def normal(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> Target:
    """Independent normals."""
    return Target(independent, len(mean), mean, deviation, 1.0 / deviation**2)


def standard(dimension: int) -> Target:
    """The standard normal."""
    return normal(np.zeros(dimension), np.ones(dimension))


def correlated_normal(dimension: int, seed: int) -> Target:
    """A multivariate normal with a random covariance of moderate condition."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((dimension, 2 * dimension))
    covariance = factor @ factor.T / (2 * dimension)
    mean = rng.standard_normal(dimension)
    precision = np.asarray(np.linalg.inv(covariance), np.float64)
    return Target(correlated, dimension, mean, np.sqrt(np.diag(covariance)), precision)


def bimodal(dimension: int, place: float, weight: float) -> Target:
    """Two unit normals at (-place, ...) and (place, ...), the second with this weight."""
    mean = np.full(dimension, place * (2.0 * weight - 1.0))
    deviation = np.sqrt(1.0 + place**2 - mean**2)
    return Target(two_modes, dimension, mean, deviation, np.array([weight]), place)
