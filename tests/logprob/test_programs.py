"""Random programs behind every door by which densities are derived: draws follow the density, and both move together.

A failure prints the plan; `planned(seed, number)` makes it again.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.logprob.program_laws import failure
from tests.logprob.programs import DOORS, KINDS, planned

QUICK = 24


def failures(keys: list[tuple[int, int]], count: int) -> tuple[list[str], int]:
    """What is wrong, and how many programs have a density."""
    found, derived = [], 0
    for seed, number in keys:
        plan = planned(seed, number)
        wrong = failure(plan, count)
        derived += not wrong.startswith("refused")
        if wrong and not wrong.startswith("refused"):
            found.append(f"{seed}:{number} {plan}: {wrong}")
    return found, derived


@pytest.mark.parametrize("chunk", range(4))
def test_densities_of_programs_are_those_of_their_draws(chunk: int) -> None:
    """Histogram, integral, and dependence on each parameter; most programs have a density."""
    keys = [(1, number) for number in range(chunk, QUICK, 4)]
    wrong, derived = failures(keys, 20_000)
    assert not wrong, "\n".join(wrong)
    assert derived >= len(keys) // 2


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_programs(block: int) -> None:
    count = int(os.environ.get("CONSILIENCE_MODELS", "4000")) // 20
    wrong, _ = failures([(2, number) for number in range(block * count, (block + 1) * count)], 100_000)
    assert not wrong, "\n".join(wrong)


def test_every_door_and_kind_of_parameter_occurs() -> None:
    plans = [planned(1, number) for number in range(QUICK)]
    assert {plan.door for plan in plans} == set(DOORS)
    assert {kind for plan in plans for kind in plan.kinds} == set(KINDS)


def test_a_plan_depends_on_seed_and_number_alone() -> None:
    assert planned(3, 4) == planned(3, 4)
    assert planned(3, 4).moved(0, 0.5).start[0] == pytest.approx(np.add(planned(3, 4).start[0], 0.5))
