"""Calls of small functions: microseconds each, beside NumPy, and beside PyTensor where it is installed.

`python -m benchmarks.small_calls [--repeats 15]` runs all in turns and prints medians. The log density of a model is
called with a point, as other people's samplers call it. PyTensor takes its arguments as they are (`trust_input`).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.report import Row, show

CALLS = 2000
ROW = np.arange(10.0)
NUMBERS = np.array(2.0), np.array(3.0), np.array(4.0)


def ours() -> dict[str, Callable[[], Any]]:
    """Functions of this library."""
    x, mu, (a, b, c) = pt.dvector("x"), pt.dvector("mu"), pt.dscalars("a", "b", "c")
    total = pt.sum(pm.logp(pm.Normal.dist(mu, 1.0), x))
    plus, line = pm.function([x], x + 1.0), pm.function([a, b, c], a * b + c)
    normal = pm.function([x, mu], [total, *pt.grad(total, [x, mu])])
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu"), pm.HalfNormal("sigma"), observed=ROW)
    logp, point = model.compile_logp(), model.initial_point()
    return {
        "x + 1 of ten numbers": lambda: plus(ROW),
        "a b + c": lambda: line(*NUMBERS),
        "ten normal densities with slopes": lambda: normal(ROW, ROW),
        "log density of a model at a point": lambda: logp(point),
    }


def by_numpy() -> dict[str, Callable[[], Any]]:
    """The same by hand."""
    a, b, c = NUMBERS
    half = 0.5 * np.log(2.0 * np.pi)

    def normal() -> tuple[Any, ...]:
        error = ROW - ROW
        return -(0.5 * error * error + half).sum(), -error, error

    return {
        "x + 1 of ten numbers": lambda: ROW + 1.0,
        "a b + c": lambda: a * b + c,
        "ten normal densities with slopes": normal,
    }


def by_pytensor() -> dict[str, Callable[[], Any]]:
    """PyTensor's, where it is installed."""
    if find_spec("pytensor") is None:
        return {}
    import pytensor
    import pytensor.tensor as theirs

    x, (a, b, c) = theirs.dvector("x"), theirs.dscalars("a", "b", "c")
    plus, line = pytensor.function([x], x + 1.0), pytensor.function([a, b, c], a * b + c)
    plus.trust_input = line.trust_input = True
    return {"x + 1 of ten numbers": lambda: plus(ROW), "a b + c": lambda: line(*NUMBERS)}


def one(function: Callable[[], Any]) -> float:
    """Microseconds of a call, of the processor."""
    began = time.process_time()
    for _ in range(CALLS):
        function()
    return (time.process_time() - began) / CALLS * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    functions = {"": ours(), "NumPy": by_numpy(), "PyTensor": by_pytensor()}
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(repeats + 1):
        for who, own in functions.items():
            for what, function in own.items():
                times.setdefault((what, who), []).append(one(function))
    median = {key: statistics.median(found[1:]) for key, found in times.items()}
    rows = []
    for what in functions[""]:
        others = [f"{who} {median[what, who]:.2f}" for who in functions if who and (what, who) in median]
        rows.append(Row(what, median[what, ""], "us", note=", ".join(others)))
    here = Path(__file__).parent
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    show(f"calls of small functions, commit {commit.stdout.strip()}", rows)


if __name__ == "__main__":
    main()
