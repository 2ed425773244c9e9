"""Simulation-based calibration of samplers that are right and of ones that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ModelError, SamplingError, StorageError
from consilience.estimators.calibration import uniformity

DATA = np.zeros(3)


def conjugate(scale: float = 1.0) -> pm.Model:
    """A normal mean with known deviation."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, scale)
        pm.Normal("y", mu, 1.0, observed=DATA)
    return model


def exact(model: pm.Model, seed: int, scale: float = 1.0) -> Any:
    """Independent draws of the posterior of `conjugate`, with a deviation that may be wrong."""
    y = model.get_data("y simulated")
    deviation = (1 + y.size) ** -0.5
    draws = np.random.default_rng(seed).normal(deviation**2 * y.sum(), scale * deviation, (2, 200))
    return pm.to_inference_data({"mu": draws}, model=model)


def too_narrow(model: pm.Model, seed: int) -> Any:
    return exact(model, seed, 0.6)


def prior_only(model: pm.Model, seed: int) -> Any:
    """Overlooks the data, which ranks of the parameters alone cannot show."""
    return pm.to_inference_data({"mu": np.random.default_rng(seed).normal(size=(2, 200))}, model=model)


def test_the_exact_posterior_passes_and_wrong_ones_fail() -> None:
    right = pm.sbc(conjugate(), exact, 300, random_seed=1)
    assert right.passed()
    assert right.failures == {}
    assert set(right.summary().index) == {"mu", "log_likelihood"}
    assert not pm.sbc(conjugate(), too_narrow, 300, random_seed=1).passed()


def test_a_sampler_that_overlooks_the_data_fails_by_the_log_likelihood_only() -> None:
    found = pm.sbc(conjugate(), prior_only, 300, random_seed=1).tests()
    assert found["mu"].ecdf_p > 1e-3
    assert found["log_likelihood"].ecdf_p < 1e-3


def test_ranks_do_not_depend_on_threads_and_a_study_goes_on_where_it_was_torn(tmp_path: Path) -> None:
    whole = pm.sbc(conjugate(), exact, 30, random_seed=7, cores=1)
    for cores in (2, 8):
        assert whole.ranks.equals(pm.sbc(conjugate(), exact, 30, random_seed=7, cores=cores).ranks)
    path = tmp_path / "study.jsonl"
    pm.sbc(conjugate(), exact, 20, random_seed=7, store=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:11]) + lines[11][:9])
    calls: list[int] = []

    def exact_counted(model: pm.Model, seed: int) -> Any:
        calls.append(seed)
        return exact(model, seed)

    exact_counted.__name__ = "exact"
    assert whole.ranks.equals(pm.sbc(conjugate(), exact_counted, 30, store=path).ranks)
    assert len(calls) == 21
    with pytest.raises(StorageError, match="another file"):
        pm.sbc(conjugate(), too_narrow, 30, store=path)
    with pytest.raises(StorageError, match="another model"):
        pm.sbc(conjugate(2.0), exact, 30, store=path)


def test_failures_are_counted() -> None:
    def sometimes(model: pm.Model, seed: int) -> Any:
        if seed % 2:
            raise SamplingError("no start")
        return exact(model, seed)

    found = pm.sbc(conjugate(), sometimes, 20, random_seed=3)
    assert found.failures["error"] == len(found.errors) == 20 - found.ranks.sizes["replication"]
    assert 0 < len(found.errors) < 20
    assert not found.passed()


def test_autocorrelated_draws_are_reported() -> None:
    def slow(model: pm.Model, seed: int) -> Any:
        draws = np.repeat(exact(model, seed).posterior["mu"].values[:, :20], 10, axis=1)
        return pm.to_inference_data({"mu": draws}, model=model)

    assert pm.sbc(conjugate(), slow, 10, random_seed=3).failures["few effective draws"] == 10


def test_p_values_of_uniform_ranks_are_uniform_and_bands_hold_them() -> None:
    rng = np.random.default_rng(5)
    found = [uniformity(rng.integers(0, 100, 200), 100) for _ in range(400)]
    assert stats.kstest([f.ecdf_p for f in found], "uniform").pvalue > 1e-3
    inside = sum(bool(((f.difference >= f.lower) & (f.difference <= f.upper)).all()) for f in found)
    assert stats.binomtest(inside, 400, 0.95).pvalue > 1e-3


def test_what_cannot_be_simulated_is_refused() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
    with pytest.raises(ModelError, match="no observed"):
        pm.sbc(model, exact, 3)
    with model:
        pm.Normal("y", mu, 1.0, observed=DATA)
        pm.Potential("p", -(mu**2))
    with pytest.raises(ModelError, match="potential `p`"):
        pm.sbc(model, exact, 3)


def test_power_is_that_of_the_exact_test() -> None:
    """The posterior's mean is above a bound with a probability that a normal distribution gives."""
    found = pm.power(
        conjugate(),
        lambda tree: tree.posterior["mu"].mean() > 0.5,
        400,
        fixed={"mu": 1.0},
        sampler=exact,
        random_seed=2,
    )
    error = 0.5 / np.sqrt(400)  # of the mean of the draws, beside that of the data
    expected = stats.norm.sf(0.5, 0.75, np.hypot(0.75 / np.sqrt(3), error))
    assert found.interval[0] < expected < found.interval[1]


def test_predictive_checks_find_a_statistic_that_does_not_fit() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.Normal("y", mu, 1.0, observed=np.array([0.1, -0.3, 9.0]))
    own: dict[str, Any] = {"max": np.max, "size": np.size}
    found = pm.prior_predictive_check(model, own, random_seed=1)
    assert found.p_value["max"] < 0.01
    assert found.p_value["size"] == 0.5
    assert found.mcse["size"] == 0.0
    draws = np.random.default_rng(0).normal(2.2, 0.5, (2, 300))
    tree = pm.to_inference_data({"mu": draws}, model=model)
    assert pm.posterior_predictive_check(tree, own, model=model, random_seed=1).p_value["max"] < 0.01


def test_pictures_have_a_row_for_each_scalar() -> None:
    pytest.importorskip("matplotlib")
    assert len(pm.sbc(conjugate(), exact, 20, random_seed=1).plot().axes) == 4
    assert len(pm.prior_predictive_check(conjugate(), random_seed=1).plot().axes) == 4


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["nuts", "smc", "pathfinder"])
def test_samplers_are_calibrated_on_an_easy_model(sampler: str) -> None:
    found = pm.sbc(conjugate(), sampler, 300, random_seed=11)
    assert found.passed(1e-3), found.summary()
