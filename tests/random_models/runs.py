"""Many models in several processes, and the report on those that fail.

In: seeds and numbers. Out: counts per outcome, failures, and text. When a process dies, the model it was at failed.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TypeVar

from tests.random_models.check import Outcome, check
from tests.random_models.generate import generated
from tests.random_models.oracle import truth
from tests.random_models.program import text, with_draws
from tests.random_models.shrink import shrunken

CHUNK = 25
LIFE = 40  # chunks that one process checks

Key = tuple[int, int]
T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """A model that failed."""

    seed: int
    number: int
    outcome: Outcome


@dataclass
class Part:
    """What some models gave."""

    outcomes: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def checked_numbers(
    seeds: Sequence[int], count: int, first: int = 0, numbers: Sequence[int] | None = None
) -> list[Key]:
    """Which models are checked: the same share of each seed."""
    if numbers:
        return [(seed, number) for seed in seeds for number in numbers]
    shares = [count // len(seeds) + (i < count % len(seeds)) for i in range(len(seeds))]
    return [(seed, first + n) for seed, share in zip(seeds, shares, strict=True) for n in range(share)]


def checked(keys: Sequence[Key], engines: Sequence[str] = ()) -> Part:
    """Check some models in this process."""
    part = Part()
    for seed, number in keys:
        try:
            made = generated(seed, number)
        except AssertionError as error:
            outcome = Outcome("oracle", str(error).strip()[:60], str(error))
        else:
            part.features.update(made.features.keys())
            outcome = check(made.program, made.truth, draws=with_draws(number), engines=engines)
        part.outcomes[outcome.label] += 1
        if outcome.kind != "pass":
            part.failures.append(Failure(seed, number, outcome))
    return part


def run(keys: Sequence[Key], jobs: int, engines: Sequence[str] = ()) -> Iterator[Part]:
    """Results in no particular order. After a death of a process, each model of its chunk gets one of its own.

    Processes are new after `LIFE` chunks each, so that memory does not grow; not by `max_tasks_per_child`, which can
    wait for ever (CPython issue 115634).
    """
    chunks = _batches(keys, CHUNK)
    for wave in _batches(chunks, jobs * LIFE):
        lost: list[Sequence[Key]] = []
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running: dict[Future[Part], Sequence[Key]] = {pool.submit(checked, chunk, engines): chunk for chunk in wave}
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    chunk = running.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        lost.append(chunk)
        for key in itertools.chain.from_iterable(lost):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as single:
                try:
                    yield single.submit(checked, [key], engines).result()
                except BrokenProcessPool:
                    outcome = Outcome("crash", "the process died")
                    yield Part(Counter([outcome.label]), Counter(), [Failure(*key, outcome)])


def _batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def report(
    outcomes: Counter[str],
    failures: Sequence[Failure],
    seeds: Sequence[int],
    seconds: float,
    shrink: float,
    engines: Sequence[str] = (),
) -> str:
    """Counts per class of failure, each with its smallest example as code."""
    total = sum(outcomes.values())
    lines = [
        f"{outcomes['pass']} of {total} models pass (seeds {', '.join(map(str, seeds))}; {seconds:.0f} s)",
        *[f"{n:7d}  {label}" for label, n in outcomes.most_common()],
    ]
    classes: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        classes[failure.outcome.label].append(failure)
    for label, members in sorted(classes.items(), key=lambda item: (not item[0].startswith("wrong"), -len(item[1]))):
        places = ", ".join(f"{f.seed}:{f.number}" for f in members[:12])
        lines += [
            "",
            "=" * 100,
            f"{len(members)} x {label}",
            f"seed:number {places}",
            "",
            explained(members, shrink, engines),
        ]
    return "\n".join(lines)


def explained(members: Sequence[Failure], seconds: float, engines: Sequence[str] = ()) -> str:
    """The smallest model that fails like the first of these, as code with its message."""
    if members[0].outcome.kind == "oracle":
        return members[0].outcome.detail
    made = [generated(f.seed, f.number) for f in members[:20]]
    first, failure = min(zip(made, members, strict=False), key=lambda pair: pair[0].program.size())
    program, outcome = first.program, failure.outcome
    if seconds and outcome.where != "the process died":
        draws = with_draws(failure.number) and check(program, first.truth, engines=engines).label != outcome.label
        program, outcome = shrunken(program, outcome, lambda p: check(p, draws=draws, engines=engines), seconds)
    point = truth(program, program.arrays()).point
    code = text(program, point)
    return f"{outcome.detail}\n{code}"
