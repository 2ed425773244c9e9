"""Loops with their gradients beside hand-written C, and what they take to compile and to store.

    python -m benchmarks.loops

The C is a forward and a reverse pass over stored states, compiled with -O3 -march=native -ffast-math; all runners take
turns in one C loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import consilience.tensor as pt
from benchmarks.native import GeneratedDensity, PlainDensity, one_core, race
from benchmarks.problems import Problem
from benchmarks.report import Row, show
from benchmarks.run_time import check, microseconds
from consilience.backends.llvm import Compiled
from consilience.backends.registry import Bound
from consilience.ir import Node

LIMIT, LIMIT_COMPILE = 1.5, 60.0


class Generated(GeneratedDensity):
    """Machine code of a value and its gradient with respect to one vector."""

    def __init__(self, make: Callable[[Node], Node], position: np.ndarray) -> None:
        started = time.perf_counter()
        q = pt.vector("q", shape=position.shape)
        value = make(q)
        slope = pt.grad(value, q)
        f = pt.function([q], [value, slope])
        self.optimised = f.optimised
        self.compiled = Compiled([q], f.optimised)
        self.milliseconds = 1e3 * (time.perf_counter() - started)
        bound = self.compiled.bind()
        super().__init__(_Density(bound, self.compiled.workspace, position.size))  # type: ignore[arg-type]  # its form


class _Density:
    """What the timing loop asks of a density."""

    def __init__(self, bound: Bound, workspace: int, dimension: int) -> None:
        self.bound, self.workspace, self.dimension = bound, workspace, dimension
        self.entry, self.constants = bound.entry, bound.constants  # type: ignore[attr-defined]  # of machine code


def scan(*arguments: object, **keywords: object) -> Node:
    """`pt.scan` without updates."""
    found: Node = pt.scan(*arguments, return_updates=False, **keywords)  # type: ignore[arg-type]  # passed on
    return found


Y = np.random.default_rng(0).normal(size=1000)
EMISSIONS = np.random.default_rng(1).normal(size=(500, 3))


def garch(q: Node) -> Node:
    """GARCH(1,1), 1,000 values."""
    later = scan(lambda y, v: q[0] + q[1] * y**2 + q[2] * v, sequences=Y[:-1], outputs_info=pt.as_tensor(1.0))
    v = pt.concatenate([[1.0], later])
    return pt.sum(-0.5 * pt.log(v) - 0.5 * Y**2 / v)


def arma(q: Node) -> Node:
    """Two lags of values and of errors, 1,000 values."""
    errors = scan(
        lambda now, one, two, e1, e2: now - q[0] * one - q[1] * two - q[2] * e1 - 0.1 * e2,
        sequences=[{"input": Y, "taps": [0, -1, -2]}],
        outputs_info=[{"initial": np.zeros(2), "taps": [-1, -2]}],
    )
    return -0.5 * pt.sum(errors**2)


def hidden_markov(q: Node) -> Node:
    """The forward algorithm, three states, 500 values."""
    transition, means = q[:9].reshape((3, 3)), q[9:]
    values = -0.5 * (pt.as_tensor(EMISSIONS) - means) ** 2
    last = scan(
        lambda e, g: pt.logsumexp(g[:, None] + transition, axis=0) + e, sequences=values[1:], outputs_info=values[0]
    )[-1]
    return pt.logsumexp(last)


def runge_kutta(q: Node) -> Node:
    """Four equations, 1,000 steps of the fourth order."""
    th, h = q[:4], 0.01

    def f(z: Node) -> Node:
        return pt.stack(
            [
                th[0] * z[0] - th[1] * z[0] * z[1],
                -th[2] * z[1] + th[3] * z[0] * z[1],
                -z[2] + 0.1 * z[0],
                -z[3] + 0.1 * z[1],
            ]
        )

    def step(z: Node) -> Node:
        k1 = f(z)
        k2 = f(z + h / 2 * k1)
        k3 = f(z + h / 2 * k2)
        k4 = f(z + h * k3)
        return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return pt.sum(scan(step, outputs_info=q[4:], n_steps=1000)[::100] ** 2)


def kalman(q: Node) -> Node:
    """Four states, 500 numbers."""
    A, noise, seen = q[:16].reshape((4, 4)), q[16] * np.eye(4), np.array([1.0, 0.0, 1.0, 0.0])

    def step(y: Node, m: Node, P: Node) -> list[Node]:
        mean, covariance = A @ m, A @ P @ A.T + noise
        spread = seen @ covariance @ seen + 1.0
        gain, rest = (covariance @ seen) / spread, y - seen @ mean
        density = -0.5 * (pt.log(spread) + rest**2 / spread)
        return [mean + gain * rest, covariance - pt.outer(gain, gain) * spread, density]

    return pt.sum(scan(step, sequences=Y[:500], outputs_info=[np.zeros(4), np.eye(4), None])[2])


START = np.eye(4).ravel() * 0.9 + 0.01
LOOPS: dict[str, tuple[Callable[[Node], Node], tuple[np.ndarray, ...], np.ndarray]] = {
    "garch": (garch, (Y,), np.array([0.1, 0.1, 0.8])),
    "arma": (arma, (Y,), np.array([0.5, 0.2, 0.3])),
    "hidden_markov": (hidden_markov, (EMISSIONS,), np.r_[np.log(np.full(9, 1 / 3)), -1.0, 0.0, 1.0]),
    "runge_kutta": (runge_kutta, (), np.array([0.5, 0.03, 0.8, 0.03, 30.0, 4.0, 1.0, 1.0])),
    "kalman": (kalman, (Y[:500],), np.r_[START, 0.1]),
}


def beside_c() -> list[Row]:
    """Ratios to C, and compile times."""
    rows = []
    for name, (make, fields, position) in LOOPS.items():
        ours = Generated(make, position)
        again = Generated(make, position)
        by_hand = PlainDensity(Problem(name, name, {}, fields, 0.0, position, lambda q: 0.0))
        logp, gradient = by_hand(position)
        check(name, ours(position), logp, gradient)
        seconds = race([by_hand, ours])
        note = f"{microseconds(seconds[1])}, C {microseconds(seconds[0])}"
        rows.append(Row(f"{name} over C", seconds[1] / seconds[0], "", LIMIT, note=note))
        note = f"first time {ours.milliseconds:.0f} ms"
        rows.append(
            Row(f"{name}: graph, gradient, machine code again", again.milliseconds, "ms", LIMIT_COMPILE, note=note)
        )
    return rows


def storage() -> list[Row]:
    """Bytes of workspace of a loop of 10^6 steps."""
    rows = []
    q = pt.vector("q", shape=(1,))
    for checkpoint in ("none", "sqrt"):
        last = scan(lambda p: pt.sin(p * q[0]) + 0.1, outputs_info=1.0, n_steps=10**6, checkpoint=checkpoint)[-1]
        for kind, outputs in (("last value", [last]), ("gradient", [pt.grad(last, q)])):
            size = Compiled([q], pt.function([q], outputs).optimised).workspace
            rows.append(Row(f"10^6 steps, {kind}, checkpoint={checkpoint!r}", size / 1e3, "kB"))
    return rows


def growth() -> list[Row]:
    """Time to build, differentiate and simplify loops of longer and longer bodies, per node."""
    rows = []
    for count in (200, 1000, 5000):
        a = pt.scalar("a")
        started = time.perf_counter()

        def step(p: Node, a: Node = a, count: int = count) -> Node:
            for i in range(count // 4):
                p = pt.sin(p * a + 0.01 * i) * 0.5
            return p

        last = scan(step, outputs_info=1.0, n_steps=10)[-1]
        pt.function([a], [last, pt.grad(last, a)])
        taken = time.perf_counter() - started
        rows.append(Row(f"body of {count} nodes: graph, gradient, simplification", taken / count * 1e6, "us per node"))
    return rows


def main() -> None:
    """Print the tables."""
    one_core()
    show("Loops with gradients: time per call as a ratio, milliseconds to compile", beside_c())
    show("Workspace of long loops", storage())
    show("Growth with the length of the body", growth())


if __name__ == "__main__":
    main()
