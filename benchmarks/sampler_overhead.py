"""Time of one leapfrog step of NUTS beyond the gradient, at several dimensions.

The target is a standard normal distribution written in typed Python, so its gradient is nearly free. Run as
`python benchmarks/sampler_overhead.py [dimension ...]`.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import cast

import numpy as np

from consilience.inference import NUTS
from consilience.inference.density import Inputs, Outputs
from consilience.inference.messages import Rows
from consilience.inference.streams import chain_key
from consilience.native.typed_python import Array, NativeRecord, f64, i64, native, record, simd

TUNE = 1000
REPEATS = 7


@record
class Size:
    """The constants of the density."""

    dimension: i64


@native(contract=True)
def standard_normal(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Size) -> i64:
    """Log density -x'x/2 and its gradient."""
    position = inputs.position
    gradient = outputs.gradient
    total = 0.0
    for i in simd(constants.dimension):
        total += position[i] * position[i]
        gradient[i] = -position[i]
    outputs.logp[0] = -0.5 * total
    return 0


@native
def repeat(inputs: Inputs, outputs: Outputs, workspace: Array[f64], constants: Size, count: i64) -> i64:
    """Evaluate the density `count` times."""
    status = 0
    for _ in range(count):
        status |= standard_normal(inputs, outputs, workspace, constants)
    return status


@dataclass(frozen=True)
class Target:
    """The density in the form samplers take."""

    dimension: int
    entry: int
    constants: int
    workspace: int = 0


def gradient_seconds(dimension: int, size: Size) -> float:
    """Time of one evaluation of the density, the best of several loops."""
    inputs, outputs = Inputs(np.ones(dimension)), Outputs(np.zeros(1), np.zeros(dimension))
    count = 2_000_000 // dimension
    best = np.inf
    for _ in range(REPEATS):
        began = time.thread_time()
        repeat.compiled(inputs, outputs, np.zeros(1), size, count)
        best = min(best, (time.thread_time() - began) / count)
    return float(best)


def measure(dimension: int) -> str:
    """One row of the table."""
    size = Size(dimension)
    target = Target(dimension, standard_normal.compiled.address, cast("NativeRecord", size).address)
    kernel = NUTS()
    transitions = TUNE + max(1000, 200_000 // dimension)
    best, evaluations = np.inf, 0
    for _ in range(REPEATS):
        rows = Rows(np.zeros((transitions, dimension)), np.zeros((len(kernel.columns.types), transitions)))
        stop = np.zeros(1, np.int64)
        chain = kernel.chain(target, np.zeros(dimension), chain_key(1, 0), TUNE, stop)
        chain.begin()
        chain.write_to(rows)
        chain.advance(TUNE)
        before = chain.evaluations
        began = time.thread_time()
        chain.advance(transitions - TUNE)
        seconds = time.thread_time() - began
        evaluations = chain.evaluations - before
        best = min(best, seconds / evaluations)
    gradient = gradient_seconds(dimension, size)
    steps = evaluations / (transitions - TUNE)
    return (
        f"{dimension:>9} {1e9 * best:>12.0f} {1e9 * gradient:>12.0f} {1e9 * (best - gradient):>12.0f} "
        f"{steps:>12.1f} {chain.evaluations:>12}"
    )


def main() -> None:
    """Print the table."""
    print("nanoseconds per leapfrog step of NUTS, standard normal target, after tuning")
    print(f"{'dimension':>9} {'total':>12} {'gradient':>12} {'beyond':>12} {'steps/draw':>12} {'gradients':>12}")
    for dimension in [int(a) for a in sys.argv[1:]] or [10, 100, 1000]:
        print(measure(dimension))


if __name__ == "__main__":
    main()
