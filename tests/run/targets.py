"""Densities with two modes and with holes, for runs that have to notice."""

from __future__ import annotations

from consilience.inference.density import Inputs, Outputs
from consilience.native.mathematics import exp, inf, log, sqrt
from consilience.native.typed_python import Array, f64, i64, native
from tests.inference.targets import Constants


@native
def two_normals(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Two standard normals of equal weight, at ± number / 2 along the first coordinate."""
    x = inputs.position
    half = 0.5 * constants.number
    total = 0.0
    for i in range(1, constants.dimension):
        total += x[i] * x[i]
        outputs.gradient[i] = -x[i]
    left = -0.5 * (x[0] + half) * (x[0] + half)
    right = -0.5 * (x[0] - half) * (x[0] - half)
    top = max(left, right)
    a = exp(left - top)
    b = exp(right - top)
    outputs.logp[0] = -0.5 * total + top + log(a + b)
    outputs.gradient[0] = -(a * (x[0] + half) + b * (x[0] - half)) / (a + b)
    return 0


@native
def far_below(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Two standard normals, the second at `number` along the first coordinate and exp(-400) times as heavy."""
    x = inputs.position
    total = 0.0
    for i in range(1, constants.dimension):
        total += x[i] * x[i]
        outputs.gradient[i] = -x[i]
    left = -0.5 * x[0] * x[0]
    right = -0.5 * (x[0] - constants.number) * (x[0] - constants.number) - 400.0
    top = max(left, right)
    a = exp(left - top)
    b = exp(right - top)
    outputs.logp[0] = -0.5 * total + top + log(a + b)
    outputs.gradient[0] = -(a * x[0] + b * (x[0] - constants.number)) / (a + b)
    return 0


@native
def with_switch(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Standard normal; NaN where the record's `mean[0]`, which a test may change at any time, is not 0."""
    x = inputs.position
    total = 0.0
    for i in range(constants.dimension):
        total += x[i] * x[i]
        outputs.gradient[i] = -x[i]
    outputs.logp[0] = -0.5 * total
    if constants.mean[0] != 0.0:
        outputs.logp[0] = inf - inf
    return 0


@native
def long_tailed(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Constants) -> i64:
    """Tails that fall as slowly as exp(-|x|), in every coordinate."""
    x = inputs.position
    total = 0.0
    for i in range(constants.dimension):
        size = sqrt(1.0 + x[i] * x[i])
        total += size
        outputs.gradient[i] = -x[i] / size
    outputs.logp[0] = -total
    return 0
