"""What NUTS costs per leapfrog step beyond the gradient, on a density written in C."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.native import GeneratedDensity, aligned, compile_c, one_core, race
from benchmarks.report import Row, show
from consilience.inference.kernel import Rows
from consilience.inference.nuts_chain import NUTS

LIMITS = {10: 0.3, 100: None, 1000: 5.0}
TUNE = 500


@dataclass(frozen=True)
class Gaussian:
    """Independent normals, a LogDensity; `keep` holds what the addresses point to."""

    dimension: int
    entry: int
    constants: int
    keep: tuple[object, ...]
    workspace: int = 0


def gaussian(dimension: int) -> Gaussian:
    """Standard deviations from 1/e to e."""
    precision = aligned(dimension)
    precision[:] = np.exp(np.linspace(-2, 2, dimension))
    table = (ctypes.c_void_p * 1)(precision.ctypes.data)
    library = compile_c("gaussian", {"N": dimension})
    entry = ctypes.cast(library.entry, ctypes.c_void_p).value
    assert entry is not None
    return Gaussian(dimension, entry, ctypes.addressof(table), (precision, table, library))


def leapfrog(density: Gaussian, draws: int, key: int) -> float:
    """Seconds per evaluation in one chain after its tuning."""
    kernel = NUTS()
    rows = Rows(np.zeros((TUNE + draws, density.dimension)), np.zeros((len(kernel.columns.types), TUNE + draws)))
    chain = kernel.chain(density, np.zeros(density.dimension), key, TUNE, np.zeros(1, np.int64))
    chain.begin()
    chain.write_to(rows)
    chain.advance(TUNE)
    evaluations, begin = chain.evaluations, time.perf_counter()
    chain.advance(draws)
    seconds = time.perf_counter() - begin
    return seconds / (chain.evaluations - evaluations)


def main() -> None:
    """Print the table."""
    one_core()
    rows = []
    for dimension, limit in LIMITS.items():
        density = gaussian(dimension)
        gradient = race([GeneratedDensity(density)])[0]
        step = min(leapfrog(density, 20_000 // dimension + 500, key) for key in range(20))
        note = f"leapfrog {step * 1e6:.3g} us, gradient {gradient * 1e6:.3g} us"
        rows.append(Row(f"dimension {dimension}", (step - gradient) * 1e6, "us", limit, note=note))
    show("NUTS: time per leapfrog step beyond the gradient, best run", rows)


if __name__ == "__main__":
    main()
