"""Many short fits: what each costs beyond its own time, on processes that sleep and on real small models.

`python -m benchmarks.workers.many` prints, for fits of each length, fits per second, the time of a worker per fit
beyond its own, and the driver's processor time per fit. `--studies 400` compares `pm.sbc` of 50 parameters and
`pm.loo_kfold` on two processes, new ones and ones that are there, with threads of this process, by processor time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import consilience as pm
from consilience.cluster import Workers


def sleeps(seconds: float) -> float:
    """A task of a given time, without the interpreter."""
    time.sleep(seconds)
    return seconds


@cache
def some_draws() -> Any:
    """A result."""
    import xarray

    posterior = xarray.Dataset({"rate": (("chain", "draw"), np.zeros((2, 100)))}, {"chain": [0, 1]})
    return xarray.DataTree.from_dict({"posterior": posterior})


def sleeping(model: pm.Model, random_seed: int, cores: int, progressbar: bool, seconds: float) -> Any:
    """A sampler of a given time."""
    time.sleep(seconds)
    return some_draws()


def model_of(row: float) -> pm.Model:
    """A count and its rate."""
    with pm.Model() as model:
        pm.Poisson("sold", pm.Gamma("rate", 2, 1), observed=np.array([row, row + 1, 2.0]))
    return model


def exchanged() -> pm.Model:
    """The same with data that are exchanged."""
    with pm.Model() as model:
        pm.Poisson("sold", pm.Gamma("rate", 2, 1), observed=pm.Data("counts", np.array([1, 2, 2])))
    return model


def shown(what: str, count: int, workers: int, seconds: float, work: Any, *arguments: Any, **named: Any) -> None:
    """Call it, and print a line."""
    began, wall = time.process_time(), time.perf_counter()
    work(*arguments, **named)
    wall, own = time.perf_counter() - wall, time.process_time() - began
    beyond = 1e3 * (wall * workers / count - seconds)
    print(f"{what:56} {count / wall:7.0f} /s, {beyond:7.2f} ms of a worker beyond each, "
          f"{1e3 * own / count:6.2f} ms of the driver", flush=True)  # fmt: skip


def all_of(executor: Any, count: int, seconds: float) -> None:
    """Bare tasks."""
    with Workers(executor) as workers:
        done = sum(task is not None for task in workers.each(sleeps, (seconds for _ in range(count))))
    assert done == count


def regression(terms: int = 49) -> pm.Model:
    """As many coefficients and a scale."""
    x = np.random.default_rng(2).normal(size=(100, terms)) / terms**0.5
    with pm.Model() as model:
        coefficients, scale = pm.Normal("coefficients", shape=terms), pm.HalfNormal("scale")
        pm.Normal("y", x @ coefficients, scale, observed=np.zeros(100))
    return model


def quickly(model: pm.Model, random_seed: int, **_: Any) -> Any:
    """A short run: what is compared is where it is made."""
    return pm.sample(
        model=model, random_seed=random_seed, draws=100, tune=100, chains=1, cores=1, progressbar=False,
        compute_convergence_checks=False,
    )  # fmt: skip


def spent(pool: Any = None) -> float:
    """Processor time of this process, of those that have ended and were its own, and of a pool's that live."""
    ended = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    living = [] if pool is None else [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pool]
    return ended + sum(int(one[11]) + int(one[12]) for one in living) / os.sysconf("SC_CLK_TCK")


def studies(count: int) -> None:
    """`pm.sbc` and `pm.loo_kfold`, here, on two new processes, and on the same again; the driver compiles in all."""
    model = regression()
    result = pm.compute_log_likelihood(quickly(model, 1), model=model)
    study = {"n": count, "draws": 50, "random_seed": 1}
    folds = {"k": 40, "random_seed": 1, "draws": 100, "tune": 100, "chains": 1, "compute_convergence_checks": False}
    for what, function, arguments, settings in (
        (f"sbc, {count} replications", pm.sbc, (model, quickly), study),
        ("loo_kfold, 40 folds", pm.loo_kfold, (result,), {"model": model, **folds}),
    ):
        function(*arguments, cores=2, **{**settings, "n" if "n" in settings else "k": 2})  # imports
        own, wall, expected = measured(function, arguments, settings, None, {"cores": 2})
        print(f"{what}: two threads {own:.1f} s of processors ({wall:.1f} s)", end="", flush=True)
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            for which in ("two new processes", "the same again"):
                other, wall, found = measured(function, arguments, settings, pool, {"executor": pool})
                same = found.ranks.equals(expected.ranks) if function is pm.sbc else found.elpd == expected.elpd
                print(f"; {which} {other:.1f} s ({wall:.1f} s), {other / own:.2f} times"
                      f"{'' if same else ', OTHER NUMBERS'}", end="", flush=True)  # fmt: skip
        print(flush=True)


def measured(function: Any, arguments: Any, settings: Any, pool: Any, place: Any) -> tuple[float, float, Any]:
    """Seconds of processors, of the clock, and what was found."""
    known = list(pool._processes) if pool is not None else []
    began, wall = spent(known), time.perf_counter()
    found = function(*arguments, **place, **settings)
    living = list(pool._processes) if pool is not None else []
    return spent(living) - began, time.perf_counter() - wall, found


def main() -> None:
    """Arguments in, lines of figures out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--real", type=int, default=200, help="real fits of each kind")
    parser.add_argument("--studies", type=int, default=0, help="replications of the studies that are compared")
    given = parser.parse_args()
    if given.studies:
        studies(given.studies)
        return
    count, many = given.count, given.workers
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["consilience"])
    rows = {str(n): n for n in range(count)}
    with (
        ThreadPoolExecutor(many) as threads,
        ProcessPoolExecutor(many, mp_context=context) as pool,
        tempfile.TemporaryDirectory() as folder,
    ):
        all_of(pool, 20 * many, 0.01)
        warm = {str(n): {"counts": np.array([n % 7, 2, 3])} for n in range(20 * many)}
        pm.sample_many(exchanged(), warm, executor=pool, sampler=partial(sleeping, seconds=0.05))  # all have imported
        for seconds in (0.005, 0.05):
            told = f"{1e3 * seconds:g} ms"
            for name, executor in (("threads", threads), ("processes", pool)):
                shown(f"tasks of {told}, {many} {name}", count, many, seconds, all_of, executor, count, seconds)
            fits: dict[str, Any] = {"executor": pool, "sampler": partial(sleeping, seconds=seconds), "random_seed": 1}
            model = exchanged()
            data = {name: {"counts": np.array([n % 7, 2, 3])} for name, n in rows.items()}
            shown(f"fits of {told}, one model, {many} processes", count, many, seconds,
                  pm.sample_many, model, data, **fits)  # fmt: skip
            shown(f"fits of {told}, one model, {many} processes, a folder", count, many, seconds,
                  pm.sample_many, model, data, store=Path(folder) / told, **fits)  # fmt: skip
    real: dict[str, Any] = {"draws": 100, "tune": 100, "chains": 2, "compute_convergence_checks": False}
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        data = {name: {"counts": np.array([n % 7, 2, 3])} for name, n in list(rows.items())[: given.real]}
        model = exchanged()
        for where, place in (("here", {"cores": 1}), ("2 processes", {"executor": pool})):
            for what, models, over in (
                ("one model", model, data),
                ("a model each", model_of, {name: n % 7 for name, n in list(rows.items())[: given.real]}),
            ):
                shown(f"real fits, {what}, {where}", given.real, 1 if where == "here" else 2, 0.0,
                      pm.sample_many, models, over, random_seed=1, **place, **real)  # fmt: skip


if __name__ == "__main__":
    main()
