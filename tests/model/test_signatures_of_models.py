"""What tells models apart: equal for equal values of all that a model reads, other for others, whatever holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
from consilience.model.log_density import model_density
from consilience.model.signature import signature

HOLDERS: dict[str, Callable[[str, Any], Any]] = {
    "constant": lambda name, value: np.asarray(value),
    "data": lambda name, value: pm.Data(name, value),
    "shared, with a name": lambda name, value: pm.shared(np.asarray(value), name=name),
    "shared": lambda name, value: pm.shared(np.asarray(value)),
}
VALUES = st.lists(st.floats(-9.0, 9.0), min_size=2, max_size=4)


def model_of(slopes: list[float], holder: str, offset: float, other: str) -> pm.Model:
    with pm.Model() as model:
        b = pm.Normal("b")
        mean = HOLDERS[other]("offset", offset) + b * HOLDERS[holder]("x", slopes)
        pm.Normal("y", mean, 1.0, observed=np.ones(len(slopes)))
    return model


def signature_of(*given: Any) -> dict[str, str]:
    return signature(model_density(model_of(*given)))


@settings(max_examples=10, deadline=None)
@given(VALUES, st.sampled_from(list(HOLDERS)), st.floats(-9.0, 9.0), st.sampled_from(list(HOLDERS)))
def test_equal_values_have_equal_signatures_and_others_other_ones(slopes, holder, offset, other):
    found = signature_of(slopes, holder, offset, other)
    assert found == signature_of(slopes, holder, offset, other)
    assert found != signature_of([slopes[0] + 1.0, *slopes[1:]], holder, offset, other)
    assert found != signature_of(slopes, holder, offset + 1.0, other)


def test_two_shared_variables_of_one_name_are_both_told():
    first, second = (pm.shared(np.array(value), name="x") for value in (1.0, 2.0))
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("b") * first + second, 1.0, observed=np.ones(3))
    before = signature(model_density(model))
    second.set_value(3.0)
    assert signature(model_density(model)) != before


@pytest.mark.parametrize("holder", HOLDERS)
def test_runs_are_resumed_whatever_holds_the_data(holder: str, tmp_path: Path) -> None:
    """Slots beside the model's own data have digests in checkpoints, too."""
    slopes = [0.5, 1.0, 2.0]
    with model_of(slopes, holder, 0.5, holder):
        result = pm.sample(20, tune=30, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False,
                           save=pm.Save(checkpoint=tmp_path / "run"))  # fmt: skip
    again = pm.resume(tmp_path / "run", model_of(slopes, holder, 0.5, holder), progressbar=False)
    assert np.array_equal(again.posterior["b"], result.posterior["b"])
    with pytest.raises(pm.errors.SamplingError, match="cannot be resumed"):
        pm.resume(tmp_path / "run", model_of([0.5, 1.0, 3.0], holder, 0.5, holder), progressbar=False)
