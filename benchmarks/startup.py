"""Wall time of whole scripts, from process start to their last line, of the sampling phase, and of the import alone."""

from __future__ import annotations

import statistics
import tempfile

from benchmarks.fresh import run
from benchmarks.report import Row, show

SCRIPT = ["examples/eight_schools.py", "--no-plots"]
PLAIN = """
import consilience as pm
with pm.Model():
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    z = pm.Normal("z", 0, 1, shape=8)
    pm.Normal("y", mu + tau * z, [15, 10, 16, 11, 9, 11, 10, 18], observed=[28, 8, -3, 7, -1, 1, 18, 12])
    result = pm.sample(random_seed=1, progressbar=False)
print(result["posterior"].attrs["sampling_time"])
"""
TIMED_IMPORT = "import time; begin = time.perf_counter(); import {}; {}; print(time.perf_counter() - begin)"
USED = {
    "numpy": "numpy.asarray",
    "consilience": "consilience.Model, consilience.Normal, consilience.sample",  # names load when first used
}


def summary(seconds: list[float], digits: int = 2) -> str:
    """Spread of repeated measurements."""
    most = max(seconds)
    return f"median {statistics.median(seconds):.{digits}f}, most {most:.{digits}f}, of {len(seconds)}"


def main(repeats: int = 7) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as cache:
        run(SCRIPT, cache)  # byte code and file cache, as after any first use
    cold, warm = [], []
    plain: list[float] = []
    sampling: list[list[float]] = [[], []]
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(run(SCRIPT, cache)[0])
            warm.append(run(SCRIPT, cache)[0])
        with tempfile.TemporaryDirectory() as cache:
            whole, printed = run(["-c", PLAIN], cache)
            plain.append(whole)
            sampling[0].append(float(printed))
            sampling[1].append(float(run(["-c", PLAIN], cache)[1]))
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
            Row("plain pm.sample only, empty object cache", min(plain), "s", 1.2, note=summary(plain)),
            Row("its sampling phase", min(sampling[0]), "s", 0.05, note=summary(sampling[0], 3)),
            Row("its sampling phase, second run", min(sampling[1]), "s", 0.05, note=summary(sampling[1], 3)),
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
