"""Random programs: whatever alternatives are taken, values are what was written; plans are never dearer."""

from __future__ import annotations

import os

import numpy as np
import pytest

from consilience.backends.reference import evaluate
from consilience.ir import topological
from consilience.planning.alternatives import FUEL, Alternatives
from consilience.planning.choice import plan
from consilience.planning.explore import ALWAYS, EXPLORE
from consilience.rewrite.rules import simplify
from tests.planning.random_programs import LARGEST, RandomProgram
from tests.planning.samples import complaint
from tests.rows import over_rows


def with_random_forms(seed: int) -> str:
    """How a random program with forms taken at random differs from what it was."""
    generator = np.random.default_rng(seed)
    program = RandomProgram(seed, int(generator.integers(4, 16)))
    outputs = simplify(program.outputs)
    for value in evaluate(outputs, program.arrays):
        if not np.all(np.abs(value) < LARGEST):
            return ""

    def at_random(found: Alternatives) -> dict[int, int]:
        return {n: int(generator.integers(len(members))) for n, members in enumerate(found.members)}

    return complaint(outputs, program.arrays, at_random, tolerance=1e-7)


@over_rows("seed", range(400))
def test_forms_at_random_compute_what_was_written(seed: int) -> None:
    assert with_random_forms(seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_twenty_thousand_programs(block: int) -> None:
    count = int(os.environ.get("CONSILIENCE_PROGRAMS", "20000")) // 20
    wrong = [
        seed for seed in range(10_000 + block * count, 10_000 + (block + 1) * count) if with_random_forms(seed) != ""
    ]
    assert wrong == []


@over_rows("seed", range(60))
def test_plans_are_no_dearer_and_bounded_and_the_same_each_time(seed: int) -> None:
    outputs = simplify(RandomProgram(seed, 12).outputs)
    found = plan(outputs)
    assert found.seconds <= found.written_seconds
    assert [o.type for o in found.outputs] == [o.type for o in outputs]
    assert plan(outputs).outputs == found.outputs
    assert Alternatives(outputs, [], EXPLORE, ALWAYS).spent <= FUEL * len(topological(outputs))
