"""Cross-validation by refits: right where that is known, the same on any executor, failed refits in their place."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from scipy import special, stats

import consilience as pm
from consilience.errors import ConsilienceWarning, ModelError, SamplingError, ShapeError, StorageError
from tests.cross_validation.wrapped import Exact, fails_by_place, posterior_of_mean

pytest.importorskip("arviz_stats")

DATA = np.random.default_rng(5).normal(0.3, 1.0, 12)
QUICK: dict[str, Any] = {"draws": 200, "tune": 100, "chains": 2, "compute_convergence_checks": False}
CONTEXT = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # workers import nothing so


def conjugate(data: Any = DATA) -> pm.Model:
    with pm.Model(coords={"obs": np.arange(len(data)) + 100}) as model:
        values = pm.Data("values", data)
        pm.Normal("y", pm.Normal("mean"), 1.0, observed=values, dims="obs")
    return model


@pytest.fixture(scope="module")
def model() -> pm.Model:
    return conjugate()


@pytest.fixture(scope="module")
def result(model: pm.Model) -> Any:
    found = pm.sample(model=model, random_seed=1, progressbar=False)
    return pm.compute_log_likelihood(found, model=model)


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=CONTEXT) as made:
        yield made


def exact_density(held: Any) -> Any:
    """Log predictive densities of held-out observations, each by the posterior of all others."""
    rest = np.delete(DATA, held)
    precision = 1.0 + len(rest)
    return stats.norm.logpdf(DATA[held], rest.sum() / precision, np.sqrt(1 + 1 / precision))


def test_what_is_left_out_has_no_part_in_the_posterior(model: pm.Model, result: Any) -> None:
    """A mean's predictive density is known; refits of 4,000 draws agree to 4 of their Monte-Carlo errors."""
    folds = np.arange(12) % 3
    found = pm.loo_kfold(result, model=model, folds=folds, pointwise=True, random_seed=2, draws=1000, chains=4)
    expected = np.empty(12)
    for fold in range(3):
        expected[folds == fold] = exact_density(np.flatnonzero(folds == fold))
    assert np.abs(found.elpd_i.values - expected).max() < 0.05
    assert found.elpd == pytest.approx(found.elpd_i.values.sum())
    assert found.elpd_i.coords["obs"].values.tolist() == list(range(100, 112))
    assert found.n_folds == 3
    assert found.errors == {}


def test_the_numbers_do_not_depend_on_the_executor(model: pm.Model, result: Any, pool: ProcessPoolExecutor) -> None:
    here = pm.loo_kfold(result, model=model, k=4, pointwise=True, random_seed=2, cores=1, **QUICK)
    with ThreadPoolExecutor(3) as threads:
        for executor in (threads, pool):
            there = pm.loo_kfold(result, model=model, k=4, pointwise=True, random_seed=2, executor=executor, **QUICK)
            assert np.array_equal(there.elpd_i, here.elpd_i)
            assert (there.elpd, there.se, there.p) == (here.elpd, here.se, here.p)


def test_an_observation_outside_the_support_does_not_count_where_it_is_left_out() -> None:
    """Uniform(0, highest): at highest = 1 the density is that of the three data below 1, or 0."""
    with pm.Model() as bounded:
        highest = pm.HalfNormal("highest", 5.0)
        pm.Uniform("y", 0, highest, observed=[0.2, 0.4, 0.5, 3.0])
    draws = xarray.Dataset({"highest": (("chain", "draw"), [[1.0, 4.0]])})
    found = []

    def looks(model: pm.Model, random_seed: int, cores: int, progressbar: bool) -> Any:
        found.append(float(model.compile_logp(jacobian=False)({"highest_log__": 0.0})))
        return xarray.DataTree.from_dict({"posterior": draws})

    given = pm.compute_log_likelihood(xarray.DataTree.from_dict({"posterior": draws}), model=bounded)
    pm.loo_kfold(given, model=bounded, folds=range(4), sampler=looks, cores=1, random_seed=1)
    prior = stats.halfnorm.logpdf(1.0, scale=5.0)
    assert found == pytest.approx([-np.inf, -np.inf, -np.inf, prior])


def test_arviz_wrappers_are_refitted_as_arviz_does(result: Any, pool: ProcessPoolExecutor) -> None:
    from arviz_stats import loo_kfold, reloo

    wrapper, folds = Exact(DATA, result), np.arange(12) % 3 + 1
    theirs = loo_kfold(result, wrapper, folds=folds, pointwise=True)
    ours = pm.loo_kfold(result, wrapper, folds=folds, pointwise=True, executor=pool, save_fits=True)
    assert np.allclose(ours.elpd_i, theirs.elpd_i, rtol=1e-12)
    assert (ours.elpd, ours.se, ours.p) == pytest.approx((theirs.elpd, theirs.se, theirs.p))
    assert sorted(ours.fold_fits) == [1, 2, 3]
    theirs = reloo(wrapper, k_threshold=-np.inf, pointwise=True)
    ours = pm.reloo(wrapper, k_threshold=-np.inf, pointwise=True, executor=pool)
    assert np.allclose(ours.elpd_i, theirs.elpd_i, rtol=1e-12)
    assert ours.p == pytest.approx(theirs.p)
    assert not ours.pareto_k.values.any()
    with pytest.raises(SamplingError, match="the wrapper samples"):
        pm.loo_kfold(result, wrapper, draws=3)


def test_refits_that_raise_hang_or_kill_are_named_and_the_others_kept(
    model: pm.Model, result: Any, pool: ProcessPoolExecutor
) -> None:
    plain = pm.loo(result, pointwise=True)
    with pytest.warns(ConsilienceWarning, match="3 of 12 refits failed, such as 0: ValueError: not without the first"):
        found = pm.reloo(
            result, plain, model=model, k_threshold=-np.inf, pointwise=True, executor=pool, limit=2.0,
            sampler=fails_by_place, random_seed=1,
        )  # fmt: skip
    assert [found.errors[place].split(":")[0] for place in range(3)] == [
        "ValueError",
        "TimeLimitError",
        "WorkerLostError",
    ]
    assert np.array_equal(found.elpd_i[:3], plain.elpd_i[:3])
    assert np.array_equal(found.pareto_k[:3], plain.pareto_k[:3])
    assert not found.pareto_k[3:].values.any()


def test_a_failed_fold_leaves_its_observations_without_a_number(model: pm.Model, result: Any, tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": model, "folds": range(12), "random_seed": 1, "store": tmp_path / "folds.jsonl"}
    with pytest.warns(ConsilienceWarning, match="12 of 12 refits failed"):
        found = pm.loo_kfold(result, sampler=broken, **given)
    assert np.isnan(found.elpd)
    assert np.isnan(found.elpd_i).all()
    with pytest.warns(ConsilienceWarning, match="12 of 12 refits failed"):
        pm.loo_kfold(result, sampler=exact, **given)
    again = pm.loo_kfold(result, sampler=exact, retry=True, **given)
    assert again.errors == {}
    lines = len((tmp_path / "folds.jsonl").read_text().splitlines())
    assert pm.loo_kfold(result, sampler=broken, **given).elpd == again.elpd  # all is there
    assert len((tmp_path / "folds.jsonl").read_text().splitlines()) == lines
    with pytest.raises(StorageError, match="was written for"):
        pm.loo_kfold(result, sampler=exact, draws=7, **given)


def broken(**_: Any) -> Any:
    raise ValueError("no")


def exact(model: pm.Model, random_seed: int, cores: int, progressbar: bool) -> Any:
    return posterior_of_mean(DATA, random_seed % 1000)


def test_folds_keep_classes_in_equal_shares_and_groups_together(model: pm.Model, result: Any) -> None:
    classes = np.repeat([0, 1], [8, 4])
    given: dict[str, Any] = {"model": model, "sampler": exact, "random_seed": 4, "save_fits": True}
    for one in pm.loo_kfold(result, k=4, stratify_by=classes, **given).fold_fits.values():
        assert np.bincount(classes[one["test_indices"]]).tolist() == [2, 1]
    groups = np.arange(12) // 3
    for one in pm.loo_kfold(result, k=2, group_by=groups, **given).fold_fits.values():
        assert np.bincount(groups[one["test_indices"]], minlength=4).tolist().count(3) == 2
    sizes = [len(one["test_indices"]) for one in pm.loo_kfold(result, k=5, **given).fold_fits.values()]
    assert sorted(sizes) == [2, 2, 2, 3, 3]


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ uses it
def test_compare_refits_what_importance_sampling_cannot_tell(model: pm.Model, result: Any) -> None:
    with pm.Model(coords={"obs": np.arange(12) + 100}) as fixed:
        pm.Normal("y", 0, pm.HalfNormal("sd"), observed=DATA, dims="obs")
    other = pm.compute_log_likelihood(pm.sample(model=fixed, random_seed=1, progressbar=False), model=fixed)
    table = pm.compare(
        {"mean": result, "sd": other}, models={"mean": model}, k_threshold=-np.inf, random_seed=2, draws=500
    )
    expected = sum(float(exact_density([place])[0]) for place in range(12))
    assert table.loc["mean", "elpd"] == pytest.approx(expected, abs=0.1)
    assert table.loc["sd", "elpd"] == pytest.approx(pm.loo(other).elpd)
    with pytest.raises(ModelError, match="refits need `models=`"):
        pm.compare({"mean": result, "sd": other}, draws=3)
    with pytest.raises(ModelError, match="`models` has `other`"):
        pm.compare({"mean": result, "sd": other}, models={"other": model})


def test_observations_of_a_model_with_a_summed_variable_are_left_out() -> None:
    """A change point is summed out of each refit's density; what is left out there has no part in it."""
    counts = np.array([4, 5, 4, 6, 1, 0, 1, 0])
    with pm.Model() as model:
        change = pm.DiscreteUniform("change", 1, 7)
        before, after = pm.Exponential("before", 0.5), pm.Exponential("after", 0.5)
        rate = pm.math.switch(np.arange(8) < change, before, after)
        pm.Poisson("y", rate, observed=counts)
        found = pm.sample(random_seed=1, progressbar=False)
        pm.compute_log_likelihood(found, progressbar=False)
    refitted = pm.reloo(found, model=model, k_threshold=-np.inf, random_seed=2, pointwise=True, draws=1000)
    assert refitted.errors == {}

    def evidence(kept: Any) -> float:
        """Log of the sum over change points of the integral over both rates, gamma by gamma."""
        sides = [[counts[:c][kept[:c]], counts[c:][kept[c:]]] for c in range(1, 8)]
        each = [
            sum(
                special.gammaln(y.sum() + 1) - (y.sum() + 1) * np.log(len(y) + 0.5) - special.gammaln(y + 1).sum()
                for y in both
            )
            for both in sides
        ]
        return float(special.logsumexp(each))

    whole = evidence(np.ones(8, bool))
    expected = [whole - evidence(np.arange(8) != place) for place in range(8)]
    assert np.abs(refitted.elpd_i.values - expected).max() < 0.1


def test_nothing_is_refitted_where_importance_sampling_can_be_trusted(model: pm.Model, result: Any) -> None:
    """`reloo` then says what `loo` says."""
    plain = pm.loo(result)
    again = pm.reloo(result, model=model, random_seed=2)
    assert (again.elpd, again.errors) == (plain.elpd, {})


def test_what_cannot_be_left_out_is_said(model: pm.Model, result: Any) -> None:
    with pm.Model() as joint:
        pm.MvNormal("y", np.zeros(12), np.eye(12), observed=DATA)
        pm.Normal("mean")
    with pytest.raises(ModelError, match="one log density together"):
        pm.loo_kfold(result, model=joint)
    with pytest.raises(ShapeError, match="from 2 to 12"):
        pm.loo_kfold(result, model=model, k=13)
    with pytest.raises(ShapeError, match="for each of 12 observations, got 3"):
        pm.loo_kfold(result, model=model, folds=[1, 2, 3])
    with pytest.raises(ShapeError, match="not both"):
        pm.loo_kfold(result, model=model, folds=range(12), group_by=range(12))
    with pytest.raises(ModelError, match="`z` has no log likelihood; there are those of y"):
        pm.loo_kfold(result, model=model, var_name="z")
