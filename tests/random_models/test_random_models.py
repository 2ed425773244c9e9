"""Models as users write them, chosen at random, have the log density and gradient that NumPy finds.

A failure prints the model, shrunken, as code. `python -m tests.random_models --number 17 --seeds 1` looks at one.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from consilience.transforms import equal_terms
from tests.random_models.densities import FAMILIES, constrained
from tests.random_models.generate import generated
from tests.random_models.idioms import UNARY
from tests.random_models.runs import checked, checked_numbers, explained, run

SEEDS = (1, 2, 3)
QUICK = 80
CHUNKS = 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_models_of_random_idioms_agree_with_numpy(chunk: int) -> None:
    """Value, gradient, both backends; every twentieth model is sampled too."""
    part = checked(checked_numbers(SEEDS, QUICK)[chunk::CHUNKS])
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


def test_models_are_the_same_where_any_two_terms_count_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums and joins of two terms of one form become one term over arrays, as those of many do."""
    monkeypatch.setattr(equal_terms, "FEWEST", 2)
    part = checked(checked_numbers((11,), 60))
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_many_models_of_random_idioms_agree_with_numpy() -> None:
    """The same of 20,000."""
    failures = [f for part in run(checked_numbers(SEEDS, 20_000), os.cpu_count() or 1) for f in part.failures]
    assert not failures, f"{len(failures)} fail, such as {failures[0].outcome.label}\n{explained(failures[:1], 60.0)}"


def test_a_model_depends_on_seed_and_number_alone() -> None:
    """What failed once can be looked at again."""
    first, second = generated(5, 7), generated(5, 7)
    assert first.program == second.program
    assert first.truth.value == second.truth.value


def test_every_idiom_occurs() -> None:
    """The histogram of idioms over some models has no empty row."""
    from tests.random_models.grammar import IDIOMS

    missing = set(IDIOMS)
    missing |= {f"dtype {t}" for t in ("float64", "float32", "int64", "int32", "int8", "bool")}
    missing |= {f"layout {t}" for t in ("C", "F", "strided", "reversed")}
    for number in range(150):
        missing -= generated(4, number).features.keys()
        if not missing:
            break
    assert not missing
    assert len(UNARY) > 10


@pytest.mark.parametrize("support", ["positive", "unit", "interval", "simplex"])
def test_jacobians_of_the_oracle_are_determinants(support: str) -> None:
    """The log Jacobian is that of the derivatives by complex steps."""
    u = np.random.default_rng(3).normal(size=4 if support == "simplex" else 1)
    bounds = [np.asarray(-1.0), np.asarray(2.5)]
    columns = [np.imag(constrained(support, u + 1e-30j * e, bounds)[0])[: len(u)] / 1e-30 for e in np.eye(len(u))]
    wanted = np.linalg.slogdet(np.stack(columns, 1))[1]
    assert np.sum(constrained(support, u, bounds)[1]) == pytest.approx(wanted, rel=1e-12)
    assert FAMILIES
