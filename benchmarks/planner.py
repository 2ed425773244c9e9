"""Plans against the clock: what is predicted and what is measured, as written, as planned, and for every other form.

    python -m benchmarks.planner [--pytensor FILE] [a part of a case's name]

Where JAX is installed its `jit` computes the same graph, simplified and not planned; FILE holds times of PyTensor (see
`benchmarks.planner_in_pytensor`). Times are processor time, the best of several calls; set OPENBLAS_NUM_THREADS=1 on a
loaded machine. The last lines tell how often plans gain and lose, and how many pairs of forms of one program the
predictions rank as the clock does, of pairs that differ by 1.3 times.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from math import inf
from pathlib import Path
from statistics import geometric_mean

import consilience as pm
from consilience.backends.function import Function
from consilience.planning import Forced, choosing
from consilience.planning.alternatives import Alternatives
from consilience.planning.choice import Price, plan
from consilience.planning.explore import ALWAYS, EXPLORE
from consilience.rewrite.rules import simplify
from tests.planning.cases import CASES, Case, made
from tests.planning.samples import every_alternative

APART = 1.3
SECONDS = 0.15
# Forms of one program that are measured.
FORMS = 8


def seconds(function: Function, case: Case) -> float:
    """Processor time of a call, the best of some."""
    values = list(case.values.values())
    function(*values)
    best, began = inf, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        count = max(1, int(20e-6 / best)) if best < inf else 1
        start = time.process_time()
        for _ in range(count):
            function(*values)
        best = min(best, (time.process_time() - start) / count)
    return best


def compiled(case: Case, choice: bool | Forced) -> Function:
    """The program with some choice of forms."""
    before = choosing.set(choice)
    try:
        function = pm.function(list(case.values), case.outputs)
        function(*case.values.values())
        return function
    finally:
        choosing.reset(before)


def forms(case: Case) -> list[tuple[float, Forced]]:
    """Single changes of the written program that are computed, with their predicted seconds."""
    outputs = simplify(case.outputs)
    found = Alternatives(outputs, [], EXPLORE, ALWAYS)
    price = Price(found)
    written = list(price.chosen)
    listed: list[tuple[float, Forced]] = []
    for number, member in every_alternative(found):
        if price.is_read(number):
            price.switch(number, member)
            listed.append((price.total, fixed({number: member})))
            price.take(written)
    return listed[:FORMS]


def fixed(choices: dict[int, int]) -> Forced:
    """A choice that is given."""
    return lambda found: choices


def main(wanted: str, pytensor: Path | None) -> None:
    """Print a line for each case, and how far ranks agree."""
    agree = total = 0
    gains: list[float] = []
    others: dict[str, list[float]] = {"JAX": [], "PyTensor": []}
    engine = find_spec("jax") is not None
    theirs = json.loads(pytensor.read_text()) if pytensor is not None else {}
    line: Callable[..., str] = "{:52s} {:>9s} {:>9s} {:>9s} {:>9s} {:>6s} {:>9s} {:>9s}  {}".format
    print(line("us", "pred.", "planned", "measured", "planned", "gain", "jax", "pytensor", "rules"))
    for name in CASES:
        if wanted not in name:
            continue
        case = made(name)
        predicted = plan(simplify(case.outputs))
        functions = [compiled(case, False), compiled(case, True)]
        rounds = [[seconds(f, case) for f in functions] for _ in range(2)]
        written, planned = (min(pair) for pair in zip(*rounds, strict=True))
        rules = ", ".join(dict.fromkeys(predicted.rules))
        numbers = [predicted.written_seconds, predicted.seconds, written, planned]
        jax = seconds(pm.function(list(case.values), case.outputs, mode="JAX"), case) if engine else 0.0
        gain = written / planned
        gains.append(gain)
        for kind, value in (("JAX", jax), ("PyTensor", theirs.get(name, 0.0) * 1e-6)):
            others[kind] += [value / planned] if value else []
        beside = (f"{n * 1e6:.1f}" if n else "" for n in (jax, theirs.get(name, 0.0) * 1e-6))
        print(line(name, *(f"{n * 1e6:.1f}" for n in numbers), f"{gain:.2f}", *beside, rules), flush=True)
        points = [(predicted.written_seconds, written)]
        points += [(price, seconds(compiled(case, choice), case)) for price, choice in forms(case)]
        for (p, m), (q, n) in itertools.combinations(points, 2):
            if max(m, n) > APART * min(m, n):
                total += 1
                agree += (p < q) == (m < n)
                if (p < q) != (m < n):
                    print(f"    predicted {p * 1e6:.1f} and {q * 1e6:.1f}, measured {m * 1e6:.1f} and {n * 1e6:.1f}")
    faster = [gain for gain in gains if gain > 1.05]
    if faster:
        slower = sum(gain < 0.95 for gain in gains)
        print(
            f"{len(gains)} programs: {len(faster)} faster, {geometric_mean(faster):.2f} times; {slower} slower by 5 %"
        )
    for kind, ratios in others.items():
        if ratios:
            print(f"{kind} takes {geometric_mean(ratios):.2f} times as long ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"{agree} of {total} pairs that differ by {APART} times are ranked as the clock does")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pytensor", type=Path)
    parser.add_argument("wanted", nargs="*")
    given = parser.parse_args()
    main(" ".join(given.wanted), given.pytensor)
