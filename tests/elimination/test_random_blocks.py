"""Random models whose blocks are forced out of the density: equal after integration, and drawn again as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.elimination.generate import MOVED, generated
from tests.elimination.law import elimination, explained, failure, moved_in_coordinates

# Kinds of coordinates by words of their titles.
WORDS = ("summed", "hierarchies", "fields", "heavy tails", "diagonal", "dense", "sparse", "each element")


def check(seeds: range, every: int) -> None:
    """The laws for models; draws, which take compilations of their own, for one in so many."""
    for seed in seeds:
        program = generated(seed)
        wrong = failure(program, seed % every == 0)
        assert wrong is None, explained(program, seed % every == 0)


def test_random_blocks_are_integrated_exactly_or_refused() -> None:
    check(range(27, 33), 3)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, 500, 25))
def test_hundreds_of_random_blocks_are_integrated_exactly_or_refused(first: int) -> None:
    check(range(first, first + 25), 2)


def check_coordinates(seeds: range, families: Sequence[str] = MOVED) -> Counter[str]:
    """The law of coordinates; blocks are large enough that have 2 elements."""
    found: Counter[str] = Counter()
    for seed in seeds:
        program = generated(seed, families)
        try:
            found.update(moved_in_coordinates(program))
        except Exception as error:
            error.add_note(program.text())
            raise
    return found


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consilience.model.transport.TOGETHER", 2)
    monkeypatch.setattr("consilience.model.transport.ALONE", 2)


@pytest.mark.usefixtures("small_blocks")
def test_random_models_have_the_same_posterior_in_other_coordinates() -> None:
    assert len(check_coordinates(range(4))) > 1


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("first", range(0, 500, 250))
def test_hundreds_of_random_models_have_the_same_posterior_in_other_coordinates(first: int) -> None:
    """The law says something: of each kind of coordinates there are some in 250 models."""
    found = Counter(
        word for title in check_coordinates(range(first, first + 50)).elements() for word in WORDS if word in title
    )
    assert set(found) == set(WORDS)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_hundreds_of_random_coefficients_get_coordinates_of_the_same_posterior(first: int) -> None:
    """The law says something: 40 of the 200 move by the diagonal, and as many by a factor."""
    found = check_coordinates(range(first, first + 25), ("coefficients",))
    assert sum(count for kind, count in found.items() if "diagonal" in kind) >= 2


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_most_random_models_have_a_block_that_is_integrated() -> None:
    """The laws say something: of each family there are some, and together they are most."""
    found = Counter(elimination(generated(seed), False) for seed in range(60))
    assert found["refused"] < 30
    assert {"positive", "unit", "shares", "normal"} <= {word for title in found for word in title.split(" and ")}
