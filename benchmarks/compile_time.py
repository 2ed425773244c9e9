"""Time from a model in hand to a callable log density and gradient, with an empty object cache.

Each measurement is a process of its own, and there are two kinds. In the first the process has compiled another,
small model before: LLVM is loaded and its pages are touched. In the second the model is the first thing that the
process compiles. Either way the functions of the vector math library that it calls are compiled with it.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time

import numpy as np

from benchmarks.fresh import ask
from benchmarks.report import Row, show

LIMITS = {
    "eight schools": 0.025,
    "radon": 0.050,
    "logistic 1000x10": 0.050,
    "mixture 3x1000": 0.100,
    "GP, 200 points": 0.050,
    "10 separate terms": None,
    "100 separate terms": 1.5,
    "1000 separate terms": None,
}


def warm_up() -> None:
    """Compile a small model that is none of those measured."""
    import consilience as pm

    with pm.Model() as small:
        scale = pm.Gamma("scale", 2, 1)
        pm.Normal("y", 0, scale, observed=np.linspace(-1, 1, 64))
    small.log_density()


def measure(name: str, *, warm: bool) -> float:
    """Seconds to compile model `name` in this process."""
    from benchmarks.models import MODELS

    if warm:
        warm_up()
    model = MODELS[name]()
    begin = time.perf_counter()
    density = model.log_density()
    seconds = time.perf_counter() - begin
    assert np.isfinite(density(np.zeros(density.dimension))[0])
    return seconds


def times(name: str, kind: str, repeats: int) -> list[float]:
    """Seconds of each of several processes."""
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            found.append(float(ask("benchmarks.compile_time", kind, name, cache=cache)))
    return found


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    best: dict[str, float] = {}
    for name, limit in LIMITS.items():
        repeats = 3 if name.startswith("1000 ") else 7
        seconds = times(name, "warm", repeats)
        first = min(times(name, "first", repeats))
        best[name] = min(seconds)
        note = (
            f"median {statistics.median(seconds) * 1e3:.0f} ms, of {repeats}; first in its process {first * 1e3:.0f} ms"
        )
        rows.append(Row(name, best[name] * 1e3, "ms", None if limit is None else limit * 1e3, note=note))
    growth = best["1000 separate terms"] / best["100 separate terms"]
    rows.append(Row("1000 terms over 100 terms", growth, "", 13, note="linear growth is 10"))
    show("Compile time of log density and gradient, empty object cache, best run", rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[2], warm=sys.argv[1] == "warm")))
    else:
        main()
