"""Peak memory of the radon model, growth over repeated runs, and release of compiled code."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.fresh import ask
from benchmarks.report import Row, show

MEGABYTE = 1e6
SETTLE = 30  # rounds until the allocator's pools have their size


def resident() -> float:
    """Resident memory of this process now, in MB (Linux; elsewhere its peak), without what the allocator has free.

    Runs differ in length: what one leaves free and the next fills says nothing of what is lost.
    """
    gc.collect()
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if give_back is not None:
        give_back(0)
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE
    return peak()


def peak() -> float:
    """Largest resident memory of this process so far, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE


def radon_peak() -> float:
    """Peak memory after sampling the radon model with four chains, and its table."""
    import consilience as pm
    from benchmarks.models import radon

    str(pm.summary(pm.sample(model=radon(), random_seed=1)))
    return peak()


def import_peak() -> float:
    """Peak memory after the imports alone."""
    import consilience as pm

    assert all([pm.Model, pm.Normal, pm.sample])  # names load when first used
    return peak()


def growth_of_sampling(rebuild: bool, runs: int = 100) -> float:
    """Growth of resident memory over `runs` calls of `sample`, after SETTLE; the model is kept or built anew."""
    import consilience as pm
    from benchmarks.models import eight_schools
    from consilience.errors import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)  # the runs are short on purpose
    settings = {"draws": 100, "tune": 100, "chains": 2, "progressbar": False}
    model = eight_schools()
    for i in range(SETTLE + runs):
        if i == SETTLE:
            before = resident()
        if rebuild:
            model = eight_schools()
        with model:
            pm.sample(random_seed=i, **settings)
    return resident() - before


def growth_of_compiling(functions: int = 200) -> float:
    """Growth of resident memory over `functions` different functions compiled, called and dropped."""
    import numpy as np

    import consilience as pm
    import consilience.tensor as pt

    x = pt.vector("x")
    for i in range(SETTLE + functions):
        if i == SETTLE:
            before = resident()
        function = pm.function([x], pt.exp(x * (i + 0.5)).sum())
        assert np.isfinite(function(np.zeros(3)))
        del function
    return resident() - before


MEASUREMENTS = {
    "imports": import_peak,
    "radon": radon_peak,
    "same": lambda: growth_of_sampling(rebuild=False),
    "anew": lambda: growth_of_sampling(rebuild=True),
    "compiling": growth_of_compiling,
}


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as cache:
        found = {name: ask("benchmarks.memory", name, cache=cache) for name in MEASUREMENTS}
    show(
        "Memory",
        [
            Row("peak after import", found["imports"], "MB"),
            Row("peak of the radon model, 4 chains", found["radon"], "MB"),
            Row("growth over 100 runs of sample, one model", found["same"], "MB", 2),
            Row("growth over 100 runs of sample, model built anew", found["anew"], "MB", 2),
            Row("growth over 200 functions compiled and dropped", found["compiling"], "MB", 2),
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(MEASUREMENTS[sys.argv[1]]()))
    else:
        main()
