"""Random programs of which parts are selected: time with the choice of where to read over time as written.

    python -m benchmarks.selections [--count 200] [--seed 0] [--repeats 9]

Functions, reversals, joins, sums along axes, sorts, running sums, products, systems and inverses of inputs of 1,000 to
200,000 numbers; positions, slices and index arrays of what comes out, now and then beside a sum of all of it. Both ways
give the same values and take turns; medians of the processor's time are compared. What seems slower is measured anew.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import consilience as pm
import consilience.tensor as pt
from benchmarks.report import Row, show

SECONDS = 0.004  # of one measurement; shorter calls are repeated
SLOWER = 1.02
FUNCTIONS: tuple[Callable[[Any], Any], ...] = (pt.exp, pt.tanh, pt.gammaln, pt.sqr, pt.sigmoid, lambda x: -x)


class Program:
    """Inputs with their values, and outputs that are parts of what is computed of them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.n = int(10 ** self.random.uniform(3, 5.3))
        self.rows = int(10 ** self.random.uniform(1.3, 2.5))
        self.values: list[Any] = []
        self.words: list[str] = []
        self.inputs = [pt.dvector("s", shape=(self.n,)), pt.dmatrix("m", shape=(self.rows, self.rows))]
        self.inputs.append(pt.dmatrix("t", shape=(max(2, self.n // 50), 50)))
        self.arrays = [self.random.gamma(3.0, size=x.static_shape) for x in self.inputs]
        self.arrays[1] += 3 * self.rows * np.eye(self.rows)
        found = self.inputs[int(self.random.choice(3, p=[0.4, 0.35, 0.25]))]
        for _ in range(int(self.random.integers(1, 5))):
            found = self.grown(found)
        self.outputs = [self.part(found) for _ in range(int(self.random.integers(1, 3)))]
        if self.random.random() < 0.25:
            self.outputs.append(pt.sum(found))
            self.words.append("beside the sum of all")
        used = set(pm.inputvars(self.outputs))
        self.used = [k for k, x in enumerate(self.inputs) if x in used]

    def pick(self, *options: Any) -> Any:
        """One of some."""
        return options[int(self.random.integers(len(options)))]

    def grown(self, x: Any) -> Any:
        """One more step."""
        kind = int(self.random.integers(11))
        square = x.ndim == 2 and x.static_shape == (self.rows, self.rows)
        if kind == 5:
            self.words.append("reversed")
            return x[::-1]
        if kind == 6:
            self.words.append("joined")
            return pt.concatenate(self.pick([x, pt.exp(-x)], [pt.sqr(x), x]), axis=int(self.random.integers(x.ndim)))
        if kind == 7:
            self.words.append("sorted")
            return pt.sort(x, axis=int(self.random.integers(x.ndim)))
        if kind == 8 and x.ndim == 2:
            self.words.append("reduced")
            return self.pick(pt.sum, pt.max, pt.logsumexp)(x, axis=int(self.random.integers(2)))
        if kind == 8:
            self.words.append("accumulated")
            return pt.cumsum(x) / self.n
        if kind in (9, 10) and square:
            self.words.append("solved")
            m = self.inputs[1]
            return self.pick(pt.linalg.inv(m) * 1.5, pt.linalg.solve(m, x), m @ x / self.rows, x @ m / self.rows)
        self.words.append("function")
        function = self.pick(*FUNCTIONS)
        return function(x / 4) + self.pick(0.0, 1.0) * x

    def part(self, x: Any) -> Any:
        """A position, a slice or a few places of each axis, at least of one."""
        whole = int(self.random.integers(x.ndim + 1)) if x.ndim > 1 else -1
        keys: list[Any] = []
        gathered = False
        for axis, length in enumerate(x.static_shape):
            kind = int(self.random.integers(4))
            few = int(self.random.integers(1, 1 + min(length, 20)))
            if axis == whole:
                keys.append(slice(None))
            elif kind == 0:
                keys.append(int(self.random.integers(-length, length)))
            elif kind == 1 or gathered:
                keys.append(self.pick(slice(None, few), slice(-few, None), slice(None, length // 2, 2)))
            elif kind == 2:
                gathered = True
                keys.append(self.random.integers(0, length, size=few))
            else:
                keys.append(slice(None, few, 1))
        self.words.append("part")
        return x[tuple(keys)]


def time_of(call: Callable[[], Any], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - began) / count


def ratio(calls: Sequence[Callable[[], Any]], repeats: int) -> tuple[float, float]:
    """Time with the choice over time without, and seconds of the latter."""
    once = [max(min(time_of(call, 1) for _ in range(3)), 2e-7) for call in calls]
    counts = [max(1, int(SECONDS / own)) for own in once]
    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        for own, call, count in zip(times, calls, counts, strict=True):
            own.append(time_of(call, count))
    with_it, without = map(statistics.median, times)
    return with_it / without, without


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=9)
    asked = parser.parse_args()
    found: list[tuple[float, str]] = []
    with threadpool_limits(1):
        for seed in range(asked.seed, asked.seed + asked.count):
            program = Program(seed)
            inputs, arrays = [program.inputs[k] for k in program.used], [program.arrays[k] for k in program.used]
            functions = [pm.function(inputs, program.outputs, mode=pm.Mode(plan=plan)) for plan in (True, False)]
            for a, b in zip(*(f(*arrays) for f in functions), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=f"seed {seed}")
            calls = [partial(f, *arrays) for f in functions]
            own, seconds = ratio(calls, asked.repeats)
            for _ in range(3):
                if own > SLOWER:
                    own = min(own, ratio(calls, 3 * asked.repeats)[0])
            words = ", ".join(program.words)
            what = f"seed {seed}, n {program.n}, rows {program.rows}: {words}; {1e6 * seconds:.1f} us"
            found.append((own, what))
            if own > SLOWER:
                print(f"{own:.3f} {what}", flush=True)
    found.sort()
    ratios = np.array([own for own, _ in found])
    rows = [
        Row("programs", len(found), ""),
        Row(f"slower than {SLOWER}", int((ratios > SLOWER).sum()), "", 0),
        Row("greatest ratio", float(ratios[-1]), "", SLOWER, note=found[-1][1]),
        Row("geometric mean", float(np.exp(np.log(ratios).mean())), ""),
        Row("twice as fast or more", int((ratios < 0.5).sum()), ""),
        Row("least ratio", float(ratios[0]), "", note=found[0][1]),
    ]
    here = Path(__file__).parent
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    show(f"selections: time with the choice of where to read over time as written, {commit.stdout.strip()}", rows)


if __name__ == "__main__":
    main()
