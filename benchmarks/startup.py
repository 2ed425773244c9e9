"""Wall time of a whole script, from process start to printed summary, and of the import alone."""

from __future__ import annotations

import statistics
import tempfile

from benchmarks.fresh import run
from benchmarks.report import Row, show

SCRIPT = ["examples/eight_schools.py"]
TIMED_IMPORT = "import time; begin = time.perf_counter(); import {}; {}; print(time.perf_counter() - begin)"
USED = {
    "numpy": "numpy.asarray",
    "consilience": "consilience.Model, consilience.Normal, consilience.sample",  # names load when first used
}


def summary(seconds: list[float]) -> str:
    """Spread of repeated measurements."""
    return f"median {statistics.median(seconds):.2f}, of {len(seconds)}"


def main(repeats: int = 7) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as cache:
        run(SCRIPT, cache)  # byte code and file cache, as after any first use
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(run(SCRIPT, cache)[0])
            warm.append(run(SCRIPT, cache)[0])
    imports: dict[str, list[float]] = {name: [] for name in USED}
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2 * repeats):
            for name, seconds in imports.items():
                seconds.append(float(run(["-c", TIMED_IMPORT.format(name, USED[name])], cache)[1]))
    ours, numpys = min(imports["consilience"]), min(imports["numpy"])
    show(
        "Eight schools as a script: seconds from process start to printed summary, best run",
        [
            Row("empty object cache", min(cold), "s", 1.5, note=summary(cold)),
            Row("second run", min(warm), "s", 1.0, note=summary(warm)),
            Row(
                "import consilience, beyond import numpy",
                ours - numpys,
                "s",
                0.15,
                note=f"{ours:.3f} s, numpy {numpys:.3f} s",
            ),
        ],
    )


if __name__ == "__main__":
    main()
