"""Random models whose blocks are forced out of the density: equal after integration, and drawn again as they were."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.elimination.generate import generated
from tests.elimination.law import elimination, explained, failure


def check(seeds: range, every: int) -> None:
    """The laws for models; draws, which take compilations of their own, for one in so many."""
    for seed in seeds:
        program = generated(seed)
        wrong = failure(program, seed % every == 0)
        assert wrong is None, explained(program, seed % every == 0)


def test_random_blocks_are_integrated_exactly_or_refused() -> None:
    check(range(27, 31), 3)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, 500, 25))
def test_hundreds_of_random_blocks_are_integrated_exactly_or_refused(first: int) -> None:
    check(range(first, first + 25), 2)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_most_random_models_have_a_block_that_is_integrated() -> None:
    """The laws say something: of each family there are some, and together they are most."""
    found = Counter(elimination(generated(seed), False) for seed in range(60))
    assert found["refused"] < 24
    assert {"positive", "unit", "shares", "normal"} <= {word for title in found for word in title.split(" and ")}
