"""Densities of series that loops draw, value and gradient: beside the library's own distributions, and beside C.

    python -m benchmarks.series

Each program is a `CustomDist(dist=)` that returns a scan. The C of the GARCH series is that of `benchmarks.loops`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from benchmarks.loops import Generated, Y, scan
from benchmarks.native import PlainDensity, one_core, race
from benchmarks.problems import Problem
from benchmarks.report import Row, show
from benchmarks.run_time import check, microseconds
from consilience.ir import Node

LIMIT_WALK, LIMIT_OVER_C, LIMIT_OVER_OWN, LIMIT_COMPILE = 20.0, 1.5, 1.2, 500.0
STEPS = len(Y)


def walk(scale: Node, size: Any) -> Node:
    """A random walk from 0."""
    return scan(lambda x: pm.Normal.dist(x, scale), outputs_info=pt.as_tensor(0.0), n_steps=STEPS)


def autoregression(rho: Node, size: Any) -> Node:
    """An autoregression of two lags, first values included."""
    first = pm.Normal.dist(0.0, 1.0, size=2)
    later = scan(
        lambda before, last: pm.Normal.dist(rho[0] * last + rho[1] * before, 1.0),
        outputs_info={"initial": first, "taps": [-2, -1]},
        n_steps=STEPS - 2,
    )
    return pt.concatenate([first, later])


def garch(omega: Node, alpha: Node, beta: Node, size: Any) -> Node:
    """GARCH(1,1), first value included, as `pm.GARCH11` has it."""
    first = pm.Normal.dist(0.0, 1.0)

    def step(x: Node, variance: Node) -> list[Node]:
        variance = omega + alpha * x**2 + beta * variance
        return [pm.Normal.dist(0.0, pt.sqrt(variance)), variance]

    later = scan(step, outputs_info=[first, pt.as_tensor(1.0)], n_steps=STEPS - 1)[0]
    return pt.concatenate([first[None], later])


def derived(dist: Callable[..., Node], *parameters: Node) -> Node:
    """Log density of a program at the data."""
    return pm.logp(pm.CustomDist.dist(*parameters, dist=dist), Y)


# The program, the library's own distribution, and where they are compared.
SERIES: dict[str, tuple[Callable[[Node], Node], Callable[[Node], Node], np.ndarray]] = {
    "walk": (
        lambda q: derived(walk, pt.exp(q[0])),
        lambda q: pm.logp(pm.GaussianRandomWalk.dist(0.0, pt.exp(q[0]), steps=STEPS - 1), Y),
        np.array([0.2]),
    ),
    "autoregression": (
        lambda q: derived(autoregression, q),
        lambda q: pm.logp(pm.AR.dist(q, 1.0, init_dist=pm.Normal.dist(0.0, 1.0), steps=STEPS - 2), Y),
        np.array([0.5, 0.2]),
    ),
    "garch": (
        lambda q: derived(garch, q[0], q[1], q[2]),
        lambda q: pm.logp(pm.GARCH11.dist(q[0], q[1], q[2], 1.0, steps=STEPS - 1), Y),
        np.array([0.1, 0.1, 0.8]),
    ),
}


def rows() -> list[Row]:
    """Times of each, and what they take to compile."""
    found = []
    for name, (program, own, position) in SERIES.items():
        ours, theirs = Generated(program, position), Generated(own, position)
        taken = Generated(program, position).milliseconds
        (value, slope), (logp, gradient) = ours(position), theirs(position)
        if name != "walk":  # the library's has a prior of its own for the first value
            check(name, (value, slope), logp, gradient)
        if name == "garch":
            by_hand: Any = PlainDensity(Problem(name, name, {}, (Y,), 0.0, position, lambda q: 0.0))
            logp, gradient = by_hand(position)
            check(name, (value + 0.5 * STEPS * np.log(2.0 * np.pi), slope), logp, gradient)
            seconds = race([by_hand, ours])
            note = microseconds(seconds[0])
            found.append(Row(f"{name} over C", seconds[1] / seconds[0], "", LIMIT_OVER_C, note=note))
        seconds = race([theirs, ours])
        limit = LIMIT_WALK if name == "walk" else None
        found.append(Row(f"{name}: value and gradient", 1e6 * seconds[1], "us", limit))
        note = f"{microseconds(seconds[0])}"
        found.append(Row(f"{name} over the library's own", seconds[1] / seconds[0], "", LIMIT_OVER_OWN, note=note))
        note = f"first time {ours.milliseconds:.0f} ms"
        found.append(Row(f"{name}: density, gradient, machine code again", taken, "ms", LIMIT_COMPILE, note=note))
    latent = Generated(lambda q: pm.logp(pm.CustomDist.dist(0.7, dist=walk), q), Y)
    own = Generated(lambda q: pm.logp(pm.GaussianRandomWalk.dist(0.0, 0.7, steps=STEPS - 1), q), Y)
    latent(Y), own(Y)
    seconds = race([own, latent])
    note = f"{microseconds(seconds[0])} of the library's own"
    found.append(Row("walk that is not seen: value and gradient", 1e6 * seconds[1], "us", LIMIT_WALK, note=note))
    return found


def main() -> None:
    """Print the table."""
    one_core()
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, cwd=Path(__file__).parent, capture_output=True, text=True, check=False).stdout.strip()
    show(f"Series of {STEPS} values that loops draw ({commit})", rows())


if __name__ == "__main__":
    main()
