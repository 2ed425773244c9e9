"""What a whole run of the radon model spends on being watched and on learning its metric, beside drawing."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import consilience as pm
from benchmarks.models import radon
from benchmarks.report import Row, show
from consilience.errors import ConvergenceWarning
from consilience.inference import pooled_tuning
from consilience.inference.nuts_tuner import NutsTuner
from consilience.inference.pooled_tuning import PooledTuning
from consilience.run import verdicts
from consilience.run.monitor import Monitor

SEEDS = range(1, 7)
WHOLE_LIMIT = 0.5
WATCH_LIMIT = 3.0
PLACES: dict[str, list[tuple[Any, str]]] = {
    "watch": [
        *((Monitor, name) for name in ("extend", "check", "figures")),
        *((verdicts, name) for name in ("separated_scalars", "disagreement", "poorly_known_quantile", "energy_is_low")),
    ],
    "metric": [
        (PooledTuning, "_metric"),
        (pooled_tuning, "log_ratios"),
        (pooled_tuning, "pooled_step_size"),
        (NutsTuner, "_metric_is_wrong"),
    ],
}


@contextmanager
def counted(spent: dict[str, float]) -> Iterator[None]:
    """Add the processor seconds of all calls of `PLACES` to `spent`, by kind."""

    def timed(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                spent[kind] += time.thread_time() - begin

        return call

    with ExitStack() as stack:
        for kind, places in PLACES.items():
            for owner, name in places:
                stack.enter_context(patch.object(owner, name, timed(kind, getattr(owner, name))))
        yield


def main(repeats: int = 7) -> None:
    """Print the table."""
    model = radon()
    runs: dict[tuple[int, int], list[tuple[float, float, float, float]]] = {}
    with warnings.catch_warnings(), model:
        warnings.simplefilter("ignore", ConvergenceWarning)
        pm.sample(random_seed=1, progressbar=False)  # compiles
        for _ in range(repeats):
            for seed in SEEDS:
                for cores in (1, 2):
                    spent = dict.fromkeys(PLACES, 0.0)
                    begin = time.perf_counter()
                    with counted(spent):
                        result = pm.sample(random_seed=seed, progressbar=False, cores=cores)
                    whole = time.perf_counter() - begin
                    inside = result["posterior"].attrs["sampling_time"]
                    runs.setdefault((seed, cores), []).append((whole, inside, spent["watch"], spent["metric"]))
    # Other programs only add: the least of each figure is the run's own.
    least = {cores: np.array([np.min(runs[seed, cores], axis=0) for seed in SEEDS]) for cores in (1, 2)}
    whole, inside, watch, metric = np.median(least[2], axis=0)
    alone = np.median(least[1], axis=0)[1]
    each = ", ".join(f"{seconds:.2f}" for seconds in least[2][:, 0])
    title = f"A whole run of radon, four chains on two cores (load average {os.getloadavg()[0]:.1f})"
    show(
        title,
        [
            Row("pm.sample, compiled", whole, "s", WHOLE_LIMIT, note=f"seeds {SEEDS[0]} to {SEEDS[-1]}: {each}"),
            Row("of it chains at work and decisions", inside, "s"),
            Row("watching convergence", 1e3 * watch, "ms"),
            Row("its share of the run", 100 * watch / whole, "%", WATCH_LIMIT, note="processor over wall time"),
            Row("its share of chains at work and decisions", 100 * watch / inside, "%"),
            Row("metric and step size", 1e3 * metric, "ms"),
            Row("their share of the run", 100 * metric / whole, "%"),
            Row("two cores over one", alone / inside, "times"),
        ],
    )


if __name__ == "__main__":
    main()
