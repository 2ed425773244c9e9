"""Four chains on two cores against the same four one after the other."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np

from benchmarks.models import logistic
from benchmarks.native import GeneratedDensity, race
from benchmarks.report import Row, show

ROWS, COLUMNS = 20_000, 20


def main(repeats: int = 7) -> None:
    """Print the table."""
    import consilience as pm
    from consilience.errors import ConvergenceWarning

    model = logistic(ROWS, COLUMNS)
    gradient = race([GeneratedDensity(model.log_density())], repeats=20)[0]
    wall: dict[int, list[float]] = {1: [], 2: []}
    work: dict[int, list[float]] = {1: [], 2: []}
    draws: dict[int, np.ndarray] = {}
    with warnings.catch_warnings(), model:
        warnings.simplefilter("ignore", ConvergenceWarning)  # the runs are short on purpose
        for _ in range(repeats):
            for cores, seconds in wall.items():
                begin, spent = time.perf_counter(), time.process_time()
                result = pm.sample(200, tune=200, chains=4, cores=cores, random_seed=1, progressbar=False)
                seconds.append(time.perf_counter() - begin)
                work[cores].append(time.process_time() - spent)
                draws[cores] = np.asarray(result["posterior"]["beta"])
    np.testing.assert_array_equal(draws[1], draws[2], err_msg="draws depend on the number of threads")
    one, two = min(wall[1]), min(wall[2])
    note = f"{two:.2f} s, one after the other {one:.2f} s; gradient {gradient * 1e6:.0f} us"
    show(
        f"Four chains of logistic {ROWS}x{COLUMNS}: threads (load average {os.getloadavg()[0]:.1f})",
        [
            Row("two cores over one", one / two, "times", 1.8, at_least=True, note=note),
            # What threads cost each other, whether or not other programs take the second core.
            Row("processor time of two threads over one", min(work[2]) / min(work[1]), "times", 1.1),
        ],
    )


if __name__ == "__main__":
    main()
