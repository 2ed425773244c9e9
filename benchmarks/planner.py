"""Plans against the clock: what is predicted and what is measured, as written, as planned, and for every other form.

    python -m benchmarks.planner [a part of a case's name]

Where JAX is installed its `jit` computes the same graph, simplified and not planned. Times are processor time, the best
of several calls; set OPENBLAS_NUM_THREADS=1 on a loaded machine. The last line tells how many pairs of forms of one
program the predictions rank as the clock does, of pairs that differ by 1.3 times.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from math import inf
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


def main(wanted: str) -> None:
    """Print a line for each case, and how far ranks agree."""
    agree = total = 0
    gains: list[float] = []
    engine = find_spec("jax") is not None
    line: Callable[..., str] = "{:52s} {:>9s} {:>9s} {:>9s} {:>9s} {:>6s} {:>9s}  {}".format
    print(line("us", "pred.", "planned", "measured", "planned", "gain", "jax", "rules"))
    for name in CASES:
        if wanted not in name:
            continue
        case = made(name)
        predicted = plan(simplify(case.outputs))
        written, planned = seconds(compiled(case, False), case), seconds(compiled(case, True), case)
        rules = ", ".join(dict.fromkeys(predicted.rules))
        numbers = [predicted.written_seconds, predicted.seconds, written, planned]
        theirs = ""
        if engine:
            theirs = f"{seconds(pm.function(list(case.values), case.outputs, mode='JAX'), case) * 1e6:.1f}"
        gain = written / planned
        gains += [gain] if predicted.rules else []
        print(line(name, *(f"{n * 1e6:.1f}" for n in numbers), f"{gain:.2f}", theirs, rules), flush=True)
        points = [(predicted.written_seconds, written)]
        points += [(price, seconds(compiled(case, choice), case)) for price, choice in forms(case)]
        for (p, m), (q, n) in itertools.combinations(points, 2):
            if max(m, n) > APART * min(m, n):
                total += 1
                agree += (p < q) == (m < n)
                if (p < q) != (m < n):
                    print(f"    predicted {p * 1e6:.1f} and {q * 1e6:.1f}, measured {m * 1e6:.1f} and {n * 1e6:.1f}")
    if gains:
        print(f"{len(gains)} programs have another form than the written one, {geometric_mean(gains):.2f} times faster")
    print(f"{agree} of {total} pairs that differ by {APART} times are ranked as the clock does")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
