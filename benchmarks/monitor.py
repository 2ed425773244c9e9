"""Cost of convergence checks that fail and that pass, beside vectorised NumPy; memory; and a summary."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.memory import resident
from benchmarks.native import one_core
from benchmarks.report import Row, show
from consilience.diagnostics import examine, summary
from consilience.diagnostics.monitor import ConvergenceMonitor
from consilience.diagnostics.stopping_rule import StoppingRule

CHAINS, DRAWS, SCALARS, MANY = 4, 1000, 1000, 10_000
BLOCK = 200
COEFFICIENTS = {0.0: 400.0, 0.5: 400.0, 0.9: 50.0}  # with an effective size that all scalars reach
PASSING_LIMIT, FAILING_LIMIT, MEMORY_LIMIT, SUMMARY_LIMIT = 0.3, 1.0, 20.0, 0.15
REPEATS = 5


def autoregression(coefficient: float, scalars: int) -> np.ndarray:
    """Stationary draws (chain, draw, scalar)."""
    rng = np.random.default_rng(int(100 * coefficient))
    draws = rng.normal(size=(CHAINS, DRAWS, scalars))
    draws[:, 0] /= np.sqrt(1 - coefficient**2)
    for t in range(1, DRAWS):
        draws[:, t] += coefficient * draws[:, t - 1]
    return draws


def seconds_of(work: Callable[[], object]) -> float:
    """Time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def passing(draws: np.ndarray, rule: StoppingRule) -> float:
    """Seconds of a check that examines everything."""
    monitor = ConvergenceMonitor(CHAINS, draws.shape[2])
    monitor.extend(draws)
    seconds = seconds_of(lambda: monitor.check(rule))
    assert monitor.check(rule) is None
    return seconds


def failing(draws: np.ndarray) -> float:
    """Seconds of the check after a failing one and another block of draws."""
    monitor = ConvergenceMonitor(CHAINS, draws.shape[2])
    monitor.extend(draws[:, : DRAWS - BLOCK])
    rule = StoppingRule(target_ess=1e9)
    assert monitor.check(rule) is not None
    monitor.extend(draws[:, DRAWS - BLOCK :])
    return seconds_of(lambda: monitor.check(rule))


def speed() -> list[Row]:
    """Times for a thousand scalars."""
    rows = []
    for coefficient, size in COEFFICIENTS.items():
        draws = autoregression(coefficient, SCALARS)
        kind = f"AR {coefficient}" if coefficient else "independent"
        rule = StoppingRule(target_ess=size, target_rhat=1.1)
        by_numpy = min(seconds_of(lambda draws=draws: examine(draws)) for _ in range(2))
        best = min(passing(draws, rule) for _ in range(REPEATS))
        note = f"all diagnostics of all draws by NumPy {by_numpy:.2f} s"
        rows.append(Row(f"passing check, {kind}", best, "s", PASSING_LIMIT, note=note))
        if not coefficient:
            best = min(failing(draws) for _ in range(REPEATS))
            rows.append(Row("failing check after a failing one", 1e3 * best, "ms", FAILING_LIMIT))
            monitor = ConvergenceMonitor(CHAINS, SCALARS)
            monitor.extend(draws)
            best = min(seconds_of(lambda monitor=monitor: monitor.disagreeing(1.2)) for _ in range(REPEATS))
            rows.append(Row("seeking chains that disagree, none", 1e3 * best, "ms"))
            best = min(seconds_of(lambda draws=draws: summary(draws)) for _ in range(REPEATS))
            rows.append(Row("summary of all", best, "s", SUMMARY_LIMIT))
            more = draws[:, :100].copy()
            best = min(seconds_of(lambda monitor=monitor, more=more: monitor.extend(more)) for _ in range(REPEATS))
            rows.append(Row("taking 100 draws", 1e3 * best, "ms"))
    return rows


def memory() -> list[Row]:
    """Resident memory of a monitor of ten thousand scalars that has looked at all of them."""
    block = np.random.default_rng(1).normal(size=(CHAINS, 100, MANY))
    ConvergenceMonitor(1, 1).extend(np.zeros((1, 10, 1)))
    before = resident()
    monitor = ConvergenceMonitor(CHAINS, MANY)
    for _ in range(DRAWS // 100):
        monitor.extend(block)
        monitor.measure(range(0, MANY, 100))
    seconds = seconds_of(monitor.measure)
    note = f"all figures in {seconds:.2f} s"
    return [Row("beyond the draws, which it reads where they lie", resident() - before, "MB", MEMORY_LIMIT, note=note)]


def main() -> None:
    """Print the tables."""
    one_core()
    with threadpool_limits(1):
        show(f"Convergence of {SCALARS} scalars, {CHAINS} chains of {DRAWS} draws, one core", speed())
        show(f"Memory of a monitor of {MANY} scalars", memory())


if __name__ == "__main__":
    main()
