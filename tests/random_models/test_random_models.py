"""Models as users write them, chosen at random, have the log density and gradient that NumPy finds.

A failure prints the model, shrunken, as code. `python -m tests.random_models --number 17 --seeds 1` looks at one.
"""

from __future__ import annotations

import os

import mpmath as mp
import numpy as np
import pytest

import consilience as pm
from consilience.planning import choosing
from consilience.planning.alternatives import Alternatives
from consilience.transforms import equal_steps, equal_terms
from tests.random_models.coordinates import of_samplers
from tests.random_models.densities import FAMILIES, constrained
from tests.random_models.generate import generated
from tests.random_models.idioms import UNARY
from tests.random_models.runs import Part, checked, checked_numbers, explained, run

SEEDS = (1, 2, 3)
QUICK = 80
CHUNKS = 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_models_of_random_idioms_agree_with_numpy(chunk: int) -> None:
    """Value, gradient, both backends; every twentieth model is sampled too."""
    part = checked(checked_numbers(SEEDS, QUICK)[chunk::CHUNKS])
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


@pytest.mark.parametrize("part_of_four", range(4))
def test_models_are_the_same_where_any_two_terms_count_as_many(
    monkeypatch: pytest.MonkeyPatch, part_of_four: int
) -> None:
    """Sums and joins of two terms of one form become one term over arrays, as those of many do."""
    monkeypatch.setattr(equal_terms, "FEWEST", 2)
    part = checked(checked_numbers((11,), 60)[part_of_four::4])
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


@pytest.mark.parametrize("part_of_four", range(4))
def test_models_are_the_same_where_any_three_steps_count_as_many(
    monkeypatch: pytest.MonkeyPatch, part_of_four: int
) -> None:
    """Three steps of one form become one loop, as those of many do."""
    monkeypatch.setattr(equal_terms, "FEWEST_STEPS", 3)
    monkeypatch.setattr(equal_steps, "FEWEST", 3)
    part = checked(checked_numbers((12,), 40)[part_of_four::4])
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


def with_random_forms(keys: list[tuple[int, int]]) -> Part:
    """Models whose density and gradient are compiled in forms that are taken at random, whatever they cost."""
    generator = np.random.default_rng(keys[0])

    def at_random(found: Alternatives) -> dict[int, int]:
        return {n: int(generator.integers(len(members))) for n, members in enumerate(found.members)}

    before = choosing.set(at_random)
    try:
        return checked(keys)
    finally:
        choosing.reset(before)


def test_models_in_random_forms_agree_with_numpy() -> None:
    part = with_random_forms(checked_numbers((14,), 20))
    assert not part.failures, f"{part.failures[0].outcome.label}\n{explained(part.failures[:1], 20.0)}"


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_models_in_random_forms_agree_with_numpy(block: int) -> None:
    count = int(os.environ.get("CONSILIENCE_MODELS", "4000")) // 20
    part = with_random_forms([(15, number) for number in range(block * count, (block + 1) * count)])
    assert not part.failures, f"{len(part.failures)} fail\n{explained(part.failures[:1], 20.0)}"


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


@pytest.mark.parametrize("eta", [-40.0, -25.0, -4.0, 0.3, 25.0, 40.0])
def test_ordered_categories_far_from_the_cutpoints_have_all_digits(eta: float) -> None:
    """The oracle's log probabilities and slopes, and the library's, are those of 60 digits, however improbable."""
    cutpoints, categories = [-0.5, 1.0], np.arange(3)
    formula = FAMILIES["OrderedLogistic"].formula
    with mp.workdps(60):

        def wanted(k: int, x: mp.mpf) -> mp.mpf:
            below = [mp.mpf(0), *(1 / (1 + mp.exp(x - c)) for c in cutpoints), mp.mpf(1)]
            return mp.log(below[k + 1] - below[k])

        values = [float(wanted(k, mp.mpf(eta))) for k in range(3)]
        slopes = [float(mp.diff(lambda x, k=k: wanted(k, x), mp.mpf(eta))) for k in range(3)]
    found = formula(categories, np.full(3, eta + 1e-30j), cutpoints, False)
    library = pm.logp(pm.OrderedLogistic.dist(eta=eta, cutpoints=cutpoints), categories).eval()
    # The oracle takes the logarithm of a probability, which near 1 is known to its own last digit.
    np.testing.assert_allclose(found.real, values, rtol=1e-14, atol=2e-16)
    np.testing.assert_allclose(found.imag / 1e-30, slopes, rtol=1e-14)
    np.testing.assert_allclose(library, values, rtol=1e-14)


def test_samplers_coordinates_of_an_empty_variable_have_jacobian_one() -> None:
    """Where samplers move along other coordinates in variables without elements only, nothing changes."""
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Wald("w", mu=pm.math.exp(x), lam=1.75, shape=0)
        pm.Normal("y", x, observed=0.5)
    found = of_samplers(model, {"x": np.asarray(0.25), "w_log__": np.zeros(0)})
    assert found is not None
    (change, jacobian), (value, slope), (known, slopes) = found
    assert change == jacobian == 0.0
    assert value == pytest.approx(known, rel=1e-14)
    np.testing.assert_allclose(slope, slopes, rtol=1e-14)
