"""Time from a model in hand to a callable log density and gradient, with an empty object cache.

Each measurement is a process of its own. It first compiles another, trivial model: loading LLVM and compiling
the vector math library are paid once, and shown apart.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time

from benchmarks.fresh import ask
from benchmarks.report import Row, show

LIMITS = {
    "eight schools": 0.025,
    "radon": 0.050,
    "logistic 1000x10": 0.050,
    "GP, 200 points": 0.050,
    "10 separate terms": None,
    "100 separate terms": 1.5,
    "1000 separate terms": None,
}


def measure(name: str) -> dict[str, float]:
    """Seconds to compile the trivial model and then model `name`, in this process."""
    import consilience as pm
    from benchmarks.models import MODELS

    with pm.Model() as trivial:
        pm.Normal("x", 0, 1)
    model = MODELS[name]()
    begin = time.perf_counter()
    first = trivial.log_density()
    between = time.perf_counter()
    density = model.log_density()
    end = time.perf_counter()
    assert first.entry != density.entry
    return {"first": between - begin, "compile": end - between}


def main() -> None:
    """Print the table."""
    rows: list[Row] = []
    best: dict[str, float] = {}
    firsts: list[float] = []
    for name, limit in LIMITS.items():
        seconds = []
        for _ in range(2 if name.startswith("1000 ") else 5):
            with tempfile.TemporaryDirectory() as cache:
                found = ask("benchmarks.compile_time", name, cache=cache)
            seconds.append(found["compile"])
            firsts.append(found["first"])
        best[name] = min(seconds)
        note = f"median {statistics.median(seconds) * 1e3:.0f} ms, of {len(seconds)}"
        rows.append(Row(name, best[name] * 1e3, "ms", None if limit is None else limit * 1e3, note=note))
    growth = best["1000 separate terms"] / best["100 separate terms"]
    rows.append(Row("1000 terms over 100 terms", growth, "", 13, note="linear growth is 10"))
    rows.append(Row("once per process: LLVM, vector math", min(firsts) * 1e3, "ms"))
    show("Compile time of log density and gradient, empty object cache, best run", rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
