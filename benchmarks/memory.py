"""Peak memory of the radon model and of very many parameters, growth over repeated runs, release of compiled code.

`python -m benchmarks.memory large` has the table of very many parameters and data alone: it takes an hour.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import sys
import tempfile
import threading
import time
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


class Watched:
    """Largest memory in a `with` block above what there was at its beginning, in MB.

    peak   resident memory
    own    without pages of files, which the system takes back when it needs them (Linux)
    """

    def __enter__(self) -> Watched:
        self._before, self._own_before = resident(), self._anonymous()
        self.own, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.peak = peak() - self._before

    def _anonymous(self) -> float:
        status = Path("/proc/self/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("RssAnon")), 0.0)

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.own = max(self.own, self._anonymous() - self._own_before)


def of_parameters(count: int, draws: int, store: bool) -> list[float]:
    """Peak, peak of its own memory, and seconds of `draws` draws of so many groups that are independent."""
    import numpy as np

    import consilience as pm
    from consilience.model.log_density import model_density

    warnings.simplefilter("ignore")  # the runs are short on purpose
    data = np.random.default_rng(1).normal(size=count)
    for size in (5, count):
        with pm.Model() as model:
            pm.Normal("y", pm.Normal("a", 0.0, 1.0, shape=size), 1.0, observed=data[:size])
        model_density(model)(np.zeros(size))
        settings = {"draws": draws, "tune": draws, "progressbar": False, "random_seed": 1}
        if size == 5:
            pm.sample(model=model, **settings)
    with tempfile.TemporaryDirectory(dir=".") as folder, Watched() as watched:
        began = time.perf_counter()
        save = pm.Save(store=f"{folder}/run.zarr") if store else None
        pm.sample(model=model, **settings, **({} if save is None else {"save": save}))
        seconds = time.perf_counter() - began
    return [watched.peak, watched.own, seconds]


def of_rows(rows: int = 1_000_000) -> list[float]:
    """Megabytes of data of a logistic regression with 20 columns and 500 groups, and the peak of compiling it."""
    import numpy as np

    import consilience as pm
    from consilience.model.log_density import model_density

    rng = np.random.default_rng(0)
    for count in (2000, rows):
        x, group, y = rng.normal(size=(count, 20)), rng.integers(0, 500, count), rng.integers(0, 2, count)
        with Watched() as watched, pm.Model() as model:
            effects = pm.Normal("a", 0.0, pm.HalfNormal("s"), shape=500)
            pm.Bernoulli("y", logit_p=x @ pm.Normal("b", shape=20) + effects[group], observed=y)
            density = model_density(model)
            density(np.zeros(density.dimension))
    return [(x.nbytes + group.nbytes + y.nbytes) / MEGABYTE, watched.peak]


LARGE = [(count, draws, store) for count, draws in ((10_000, 300), (100_000, 300), (350_000, 100)) for store in (0, 1)]


def large(cache: str) -> list[Row]:
    """The rows of very many parameters and of much data."""
    rows = []
    for count, draws, store in LARGE:
        most, own, seconds = ask("benchmarks.memory", "parameters", *map(str, (count, draws, store)), cache=cache)
        size, where = 4 * 8 * count * draws / MEGABYTE, "with a store" if store else "in memory"
        note = f"{size:.0f} MB of draws in {seconds:.0f} s, peak {most:.0f} MB, without pages of files {own:.0f} MB"
        what = f"peak over draws, {count} parameters, {draws} + {draws} transitions, {where}"
        rows.append(Row(what, (own if store else most) / size, "", 1.15, note=note))
    data, most = ask("benchmarks.memory", "rows", cache=cache)
    rows.append(Row("peak beside the data, regression of 10^6 rows", most / data, "", note=f"{data:.0f} MB of data"))
    return rows


MEASUREMENTS = {
    "rows": of_rows,
    "parameters": lambda: of_parameters(*map(int, sys.argv[2:4]), bool(int(sys.argv[4]))),
    "imports": import_peak,
    "radon": radon_peak,
    "same": lambda: growth_of_sampling(rebuild=False),
    "anew": lambda: growth_of_sampling(rebuild=True),
    "compiling": growth_of_compiling,
}


def main() -> None:
    """Print the tables."""
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
    if sys.argv[1:] == ["large"]:
        with tempfile.TemporaryDirectory() as kept:
            show("Memory of very many parameters", large(kept))
    elif len(sys.argv) > 1:
        print(json.dumps(MEASUREMENTS[sys.argv[1]]()))
    else:
        main()
