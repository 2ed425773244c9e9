"""One log density on several threads: a logistic regression of many rows, from an array and from a file.

By wall clock, which a loaded machine spoils, and by processor time. `python -m benchmarks.one_density 10000000` has
as many rows, which may be more than the memory holds, as they are in a file that is mapped.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row, show

COLUMNS = 20


def main(rows: int = 1_000_000, repeats: int = 7) -> None:
    """Print a table for float64 in memory and float32 in a file that is mapped."""
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("float64", "float32"):
            show(
                f"Logistic {rows}x{COLUMNS} {dtype} (load average {os.getloadavg()[0]:.1f})",
                _table(_matrix(Path(folder) / f"{dtype}.npy", rows, dtype), repeats),
            )


def _matrix(path: Path, rows: int, dtype: str) -> Any:
    random = np.random.default_rng(0)
    matrix = np.lib.format.open_memmap(path, "w+", dtype, (rows, COLUMNS))
    for i in range(0, rows, 50_000):
        matrix[i : i + 50_000] = random.standard_normal((min(50_000, rows - i), COLUMNS))
    del matrix
    return np.load(path, mmap_mode="r")


def _table(x: Any, repeats: int) -> list[Row]:
    import consilience as pm
    from consilience.model.log_density import model_density
    from consilience.native.shared_work import IdleThreads

    y = np.asarray(x @ np.full(COLUMNS, 0.1, x.dtype) > 0).astype("int64")
    y.setflags(write=False)
    with pm.Model() as model:
        pm.Bernoulli("y", logit_p=pm.Normal("a") + x @ pm.Normal("b", shape=COLUMNS), observed=y)
    before = _anonymous()
    density = model_density(model)
    position = np.random.default_rng(1).normal(size=density.dimension) * 0.1
    alone = density(position)
    found, helpers = [], IdleThreads()
    times, work = {0: _best(lambda: density(position), repeats)}, {0: 0.0}
    work[0] = _best(lambda: density(position), repeats, time.process_time)
    for count in (1, 2, 7):
        calls = helpers.calls
        threads = [threading.Thread(target=helpers.help, args=(calls,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        times[count] = _best(lambda: found.append(density(position)), repeats)
        work[count] = _best(lambda: found.append(density(position)), repeats, time.process_time)
        helpers.call_back()
        for thread in threads:
            thread.join()
    for value, slope in found:
        assert value == alone[0]
        np.testing.assert_array_equal(slope, alone[1], err_msg="bits depend on the number of threads")
    held = _anonymous() - before
    ones = np.ones(len(x), x.dtype)
    product = _best(lambda: x.T @ ones, repeats)
    effort = _best(lambda: x.T @ ones, repeats, time.process_time)
    return [
        Row("one thread over two", times[0] / times[1], "times", 1.7, at_least=True, note=_rate(x, times[0], times[1])),
        Row("processor time of two threads over one", work[1] / work[0], "times", 1.1, note=_rate(x, work[0], work[1])),
        Row("two threads over X.T @ v of NumPy", times[1] / product, "times", 2.0, note=_rate(x, times[1], product)),
        Row("processor time of both", work[1] / effort, "times", 2.0, note=_rate(x, work[1], effort)),
        Row("memory of model and code over the data", held / (x.nbytes + y.nbytes), "times", 0.2),
    ]


def _rate(x: Any, *seconds: float) -> str:
    """How quickly the matrix was read."""
    return " and ".join(f"{1e3 * own:.1f} ms ({x.nbytes / own / 1e9:.1f} GB/s)" for own in seconds)


def _best(call: Any, repeats: int, clock: Any = time.perf_counter) -> float:
    found = []
    for _ in range(repeats):
        begin = clock()
        call()
        found.append(clock() - begin)
    return min(found)


def _anonymous() -> int:
    """Bytes of this process that are no pages of files; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
