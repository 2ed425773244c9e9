"""`pm.sample` moves only what is left when discrete variables are summed out, and gives their draws back."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.seeds import hashed
from consilience.errors import ModelError, ShapeError, SupportError
from consilience.inference import BinaryGibbsMetropolis, HamiltonianMC, Metropolis
from consilience.model.summation import summability, summable, without
from consilience.sample.coordinates import ChainCoordinates, rewritten

QUIET: dict[str, Any] = {"progressbar": False, "random_seed": 3, "compute_convergence_checks": False}
Y = np.array([-1.3, -0.2, 2.9, -2.0, 3.1, 0.7])


def mixture() -> pm.Model:
    """Assignments, a deterministic of them, and a variable on which nothing depends."""
    with pm.Model(coords={"row": list("abcdef")}) as model:
        p = pm.Beta("p", 2.0, 2.0)
        mu = pm.Normal("mu", [-1.0, 2.5], 0.5, shape=2)
        z = pm.Bernoulli("z", p, dims="row")
        pm.Deterministic("count", z.sum())
        pm.Deterministic("twice", 2.0 * p)
        pm.Poisson("new", 3.0)
        pm.Normal("y", mu[z], 1.0, observed=Y, dims="row")
    return model


def together() -> pm.Model:
    """Elements that act on the same data."""
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.3, shape=3)
        x = pm.Normal("x", 0.0, 1.0)
        pm.Normal("y", x + (z * [1.0, 2.0, 4.0]).sum(), 1.0, observed=3.5)
    return model


def chain() -> pm.Model:
    """Each scalar depends on the one before."""
    stay = np.array([[0.9, 0.1], [0.2, 0.8]])
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0)
        states = [pm.Categorical("z0", [0.5, 0.5])]
        for t in range(1, 4):
            states.append(pm.Categorical(f"z{t}", pt.as_tensor(stay)[states[-1]]))
        pm.Normal("y", x + 1.5 * pt.stack(states), 1.0, observed=[0.1, 1.2, 0.4, 2.0])
    return model


def without_end() -> pm.Model:
    """A count of which some were seen."""
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 0.1)
        n = pm.Poisson("n", pt.exp(1.0 + x))
        pm.Binomial("y", n, 0.5, observed=2)
    return model


@pytest.mark.parametrize("make", [mixture, together, chain, without_end])
def test_draws_of_summed_variables_have_their_exact_distribution_given_the_others(make: Callable[[], pm.Model]) -> None:
    """Positions around one point, too near to matter: frequencies of all values against their enumeration."""
    model = make()
    names = summable(model)
    density = rewritten(model, ChainCoordinates(names)).log_density()
    acting = [name for name in names if name != "new"]
    rng = np.random.default_rng(1)
    point = 0.3 * rng.standard_normal(density.dimension)
    count = 20_000
    draws = density.expand(point + 1e-9 * rng.standard_normal((count, density.dimension)))
    found = np.concatenate([draws[name].reshape(count, -1) for name in acting], axis=1)
    values = range(12) if make is without_end else range(2)
    cases = np.array(list(itertools.product(values, repeat=found.shape[1])))
    parts = np.split(cases, np.cumsum([draws[name][0].size for name in acting])[:-1], axis=1)
    whole = model.log_density()
    given = {name: np.repeat(a[:1], len(cases), axis=0) for name, a in draws.items() if name not in acting}
    given |= {n: part.reshape(len(cases), *draws[n].shape[1:]) for n, part in zip(acting, parts, strict=True)}
    log_p = np.array([whole(position)[0] for position in whole.unconstrained(given)])
    expected = np.exp(log_p - np.logaddexp.reduce(log_p))
    frequencies = (found[:, None, :] == cases).all(axis=2).mean(axis=0)
    assert frequencies.sum() > 0.999
    assert np.abs(frequencies - expected).max() < 4.5 * np.sqrt(0.25 / count)


def test_the_result_is_that_of_the_model_as_it_is_written() -> None:
    """Names in their order, types, dims, labels; deterministics agree with what they are made of."""
    with mixture() as model:
        result = pm.sample(50, tune=50, **QUIET)
    posterior = result.posterior
    assert list(posterior.data_vars) == ["p", "mu", "z", "new", "count", "twice"]
    assert posterior["z"].dtype == posterior["new"].dtype == np.int64
    assert posterior["z"].dims == ("chain", "draw", "row")
    assert list(posterior["row"].values) == list("abcdef")
    assert (posterior["count"] == posterior["z"].sum("row")).all()
    assert 2.0 < float(posterior["new"].mean()) < 4.0
    assert json.loads(posterior.attrs["marginalized"]) == ["z", "new"]
    assert posterior.attrs["sampler"] == "NUTS"
    density = pm.marginalize(model, ["z", "new"]).log_density()
    point = {name: posterior[name].values[0, 7:8] for name in ("p", "mu")}
    expected = density(density.unconstrained(point)[0])[0]
    assert float(result.sample_stats["lp"][0, 7]) == pytest.approx(expected, rel=1e-10)


@pytest.fixture(scope="module")
def reference() -> Any:
    return pm.sample(100, tune=60, model=mixture(), **QUIET).posterior.load()


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in reference_names)


reference_names = ("p", "mu", "z", "new", "count", "twice")


def test_draws_are_the_same_however_a_run_is_kept(reference: Any, tmp_path: Path) -> None:
    """Eager deterministics, a store written while it runs, a run that is extended, and a pickle."""
    eager = pm.sample(100, tune=60, model=mixture(), save=pm.Save(deterministics="eager"), **QUIET)
    assert same(eager.posterior, reference)
    stored = pm.sample(100, tune=60, model=mixture(), save=pm.Save(store=tmp_path / "draws.zarr"), **QUIET)
    with xarray.open_datatree(tmp_path / "draws.zarr", engine="zarr") as tree:
        assert same(tree.posterior, reference)
        assert tree.posterior.attrs["marginalized"] == '["z", "new"]'
    assert same(pickle.loads(pickle.dumps(stored)).posterior, reference)
    assert same(pm.sample(40, tune=60, model=mixture(), **QUIET).extend(draws=100).posterior, reference)


def test_a_run_that_was_cut_off_goes_on_with_the_same_draws(reference: Any, tmp_path: Path) -> None:
    events = []

    def stop(event: Any) -> None:
        events.append(event)
        if len(events) == 4:
            raise KeyboardInterrupt

    with mixture():
        pm.sample(100, tune=60, save=pm.Save(checkpoint=tmp_path / "run"), callback=stop, **QUIET)
    resumed = pm.resume(tmp_path / "run", model=mixture(), progressbar=False)
    assert same(resumed.posterior, reference)


def test_a_run_in_the_background_and_callbacks_see_the_same_draws(reference: Any) -> None:
    seen: dict[tuple[int, int], Any] = {}

    def look(trace: Any, draw: Any) -> None:
        seen[draw.chain, draw.draw_idx] = (draw.point["z"], draw.point["count"])

    with mixture():
        running = pm.sample(100, tune=60, blocking=False, callback=look, **QUIET)
        early = running.draws()
        result = running.wait()
    assert same(result.posterior, reference)
    count = early.posterior.sizes["draw"]
    assert np.array_equal(early.posterior["z"], reference["z"][:, :count])
    assert len(seen) == 400
    for (chain_number, number), (z, total) in seen.items():
        assert np.array_equal(z, reference["z"].values[chain_number, number])
        assert total == z.sum()


def test_groups_that_need_the_discrete_draws_have_them(reference: Any) -> None:
    with mixture() as model:
        result = pm.sample(
            20, tune=20, discard_tuned_samples=False, idata_kwargs={"log_likelihood": True, "log_prior": True}, **QUIET
        )
        predicted = pm.sample_posterior_predictive(result, progressbar=False)
    z, mu = result.posterior["z"].values, result.posterior["mu"].values
    expected = -0.5 * (Y - np.take_along_axis(mu, z, 2)) ** 2 - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(result.log_likelihood["y"], expected, rtol=1e-10)
    assert set(result.log_prior.data_vars) == {v.name for v in model.free}
    assert result.warmup_posterior["z"].shape == (4, 20, 6)
    assert predicted.posterior_predictive["y"].shape == (4, 20, 6)


def test_names_that_are_kept_or_watched_may_be_discrete_ones() -> None:
    with mixture():
        result = pm.sample(20, tune=20, var_names=["count"], **QUIET)
        assert list(result.posterior.data_vars) == ["count"]
        watched = pm.sample(progressbar=False, random_seed=1, stop=pm.Stop(monitor=["z", "count"]))
        with pytest.raises(ModelError, match="`monitor` names"):
            pm.sample(20, tune=20, stop=pm.Stop(monitor=["zz"]), **QUIET)
    assert watched.status == "converged"


@pytest.mark.parametrize(
    ("value", "error"), [(np.ones(4), ShapeError), (np.full(6, 0.5), SupportError), (np.full(6, 2), SupportError)]
)
def test_starting_values_of_summed_variables_have_to_fit(value: Any, error: type[Exception]) -> None:
    with mixture(), pytest.raises(error, match="initial value of `z`"):
        pm.sample(20, tune=20, initvals={"z": value}, **QUIET)


def test_starting_values_of_summed_variables_make_no_difference(reference: Any) -> None:
    with mixture():
        given = pm.sample(100, tune=60, initvals={"z": np.ones(6, int)}, **QUIET)
        some = pm.sample(20, tune=20, chains=2, initvals=[{"z": np.ones(6, int), "mu": [-1.0, 2.0]}, None], **QUIET)
    assert same(given.posterior, reference)
    assert some.posterior["z"].shape == (2, 20, 6)


@pytest.mark.parametrize(
    ("step", "summed"),
    [
        (lambda m: pm.NUTS(), ["z", "new"]),
        (lambda m: HamiltonianMC(), ["z", "new"]),
        (lambda m: BinaryGibbsMetropolis([m["z"]]), ["new"]),
        (lambda m: [Metropolis([m["new"]]), pm.NUTS()], ["z"]),
        (lambda m: Metropolis(), []),
    ],
)
def test_a_variable_that_a_step_method_is_given_to_is_not_summed_out(step: Any, summed: list[str]) -> None:
    with mixture() as model:
        result = pm.sample(20, tune=20, step=step(model), **QUIET)
    assert json.loads(result.posterior.attrs["marginalized"]) == summed
    assert list(result.posterior.data_vars) == list(reference_names)


def test_a_model_of_discrete_variables_alone_keeps_its_step_methods() -> None:
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.3)
        pm.Normal("y", z, 1.0, observed=1.0)
        result = pm.sample(20, tune=20, **QUIET)
    assert summable(model) == ()
    assert json.loads(result.posterior.attrs["marginalized"]) == []
    assert "BinaryGibbsMetropolis" in result.posterior.attrs["settings"]


def test_what_is_too_dear_keeps_its_step_method_and_the_rest_is_summed_out() -> None:
    with pm.Model() as model:
        many = pm.Bernoulli("many", 0.5, shape=20)
        far = pm.DiscreteUniform("far", 0, 10**6)
        one = pm.Bernoulli("one", 0.5)
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.Normal("y", mu + many.sum() + one + far / 1e6, 1.0, observed=np.linspace(9.0, 11.0, 10))
    assert summable(model) == ("one",)
    found = summability(model)
    assert "act together" in found.refused["many"]
    assert "operations" in found.refused["far"]
    with model:
        result = pm.sample(20, tune=20, **QUIET)
    assert result.posterior.attrs["sampler"] == "CompoundStep"
    assert set(result.posterior.data_vars) == {"many", "far", "one", "mu"}


def test_a_model_that_was_marginalized_by_hand_is_sampled_as_it_is() -> None:
    summed = pm.marginalize(mixture(), ["z", "new"])
    result = pm.sample(20, tune=20, model=summed, **QUIET)
    assert list(result.posterior.data_vars) == ["p", "mu", "twice"]
    assert result.posterior.attrs["marginalized"] == "[]"
    half = pm.sample(20, tune=20, model=pm.marginalize(mixture(), ["z"]), **QUIET)
    assert list(half.posterior.data_vars) == ["p", "mu", "new", "twice"]
    assert half.posterior.attrs["marginalized"] == '["new"]'


def test_new_data_and_labels_are_those_of_the_model() -> None:
    with pm.Model(coords={"row": ["a", "b"]}) as model:
        x = pm.Data("x", [1.0, 2.0], dims="row")
        z = pm.Bernoulli("z", 0.4, dims="row")
        pm.Normal("y", pm.Normal("mu") + 2 * z, 1.0, observed=x, dims="row")
        first = pm.sample(10, tune=10, **QUIET)
        pm.set_data({"x": [1.0, 2.0, 3.0]}, coords={"row": ["c", "d", "e"]})
        second = pm.sample(10, tune=10, **QUIET)
    assert summable(model) == ("z",)
    assert list(first.posterior["row"].values) == ["a", "b"]
    assert list(second.posterior["row"].values) == ["c", "d", "e"]
    assert second.posterior["z"].shape == (4, 10, 3)


def test_missing_discrete_data_are_drawn_anew_for_every_draw() -> None:
    """A step in counts of which one is missing: nothing depends on it but a deterministic."""
    counts = np.array([4.0, 5.0, np.nan, 4.0, 1.0, 0.0, 1.0])
    with pm.Model():
        step = pm.DiscreteUniform("step", 0, 6)
        rate = pm.math.switch(step > np.arange(7), pm.Exponential("early", 0.2), pm.Exponential("late", 1.0))
        with pytest.warns(pm.ImputationWarning):
            pm.Poisson("counts", rate, observed=counts)
        posterior = pm.sample(200, tune=200, **QUIET).posterior
    assert json.loads(posterior.attrs["marginalized"]) == ["step", "counts_unobserved"]
    assert np.array_equal(posterior["counts"].values[..., 2], posterior["counts_unobserved"].values[..., 0])
    assert (posterior["counts"].values[..., [0, 1, 3]] == [4, 5, 4]).all()
    assert 2.0 < float(posterior["counts_unobserved"].mean()) < 7.0


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_hierarchies_go_on_in_other_coordinates_beside_summed_variables() -> None:
    """The draws ask for less centred effects, and outliers are drawn in the new coordinates, too."""
    rng = np.random.default_rng(0)
    with pm.Model(coords={"group": range(12)}):
        effect = pm.Normal("effect", pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 2), dims="group")
        outlier = pm.Bernoulli("outlier", 0.1, dims="group")
        pm.Deterministic("share", outlier.mean() + 0.0 * effect[0])
        pm.Normal("y", effect, pt.where(pt.eq(outlier, 1), 10.0, 1.5), observed=rng.normal(size=12), dims="group")
        posterior = pm.sample(progressbar=False, random_seed=1).posterior
    assert "coordinates" in json.loads(posterior.attrs["restarts"])
    assert list(json.loads(posterior.attrs["centredness"])) == ["effect"]
    assert set(posterior.data_vars) == {"effect", "mu", "tau", "outlier", "share"}
    np.testing.assert_allclose(posterior["share"], posterior["outlier"].mean("group"))


def test_a_switch_between_two_places_is_certified_with_the_right_weights() -> None:
    """A component for all data: the weight of each of two models, in closed form."""
    with pm.Model():
        k = pm.Bernoulli("k", 0.5)
        mu = pm.Normal("mu", 0.0, 3.0)
        pm.Normal("y", pt.where(pt.eq(k, 1), mu, -mu) + 2.0 * k, 1.0, observed=[1.0, 1.4])
        result = pm.sample(progressbar=False, random_seed=1)
    covariance = 9.0 + np.eye(2)
    away = np.array([[1.0, 1.4], [-1.0, -0.6]])
    log_evidence = -0.5 * np.einsum("ki,ij,kj->k", away, np.linalg.inv(covariance), away)
    expected = 1.0 / (1.0 + np.exp(log_evidence[0] - log_evidence[1]))
    assert result.status == "converged"
    assert float(result.posterior["k"].mean()) == pytest.approx(expected, abs=0.06)


def test_chains_in_lock_step_have_discrete_variables() -> None:
    pytest.importorskip("jax")
    with mixture():
        result = pm.sample(50, tune=100, chains=32, backend="jax", **QUIET)
    assert result.posterior["z"].shape == (32, 50, 6)
    assert (result.posterior["count"] == result.posterior["z"].sum("row")).all()


def test_seeds_of_rows_are_equal_for_equal_rows_alone() -> None:
    rows = np.random.default_rng(0).standard_normal((20_000, 3))
    seeds = hashed(rows)
    assert np.array_equal(seeds, hashed(rows.copy()))
    assert len(set(seeds.tolist())) == len(rows)
    assert (seeds >= 0).all()
    changed = rows.copy()
    changed[:, 1] = np.nextafter(changed[:, 1], 9.0)
    assert (hashed(changed) != seeds).all()
    assert (hashed(rows[:, ::-1]) != seeds).all()
    for shift in range(63):  # every bit is 1 in half of them, also where rows differ in one bit
        for bits in (seeds, seeds ^ hashed(changed)):
            assert abs(((bits >> shift) & 1).mean() - 0.5) < 0.02


@pytest.mark.parametrize("kept", ["here", "checkpoint", "background"])
def test_more_values_are_summed_where_draws_come_near_to_the_last(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count without end, sums long enough for the starting point alone; the mean is that of a normal around 50."""
    monkeypatch.setattr("consilience.model.tails.PRIOR_DRAWS", 0)

    def make() -> pm.Model:
        with pm.Model() as model:
            rate = pm.Exponential("rate", 0.02, initval=5.0)
            pm.Normal("y", pm.Poisson("n", rate), 5.0, observed=50.0)
        return model

    save = pm.Save(checkpoint=tmp_path / "run") if kept == "checkpoint" else None
    model = make()
    result = pm.sample(model=model, progressbar=False, random_seed=1, save=save, blocking=kept != "background")
    result = result.wait() if kept == "background" else result
    n = result.posterior["n"].values
    assert result.status == "converged"
    assert without(model, ["n"]).summed_values["n"] < result._run.plan.coordinates.summed_values["n"]
    values = np.arange(200)  # the rate has been integrated out
    weights = np.exp(-0.5 * (values - 50.0) ** 2 / 25 - values * np.log(1.02))
    assert n.mean() == pytest.approx((values * weights).sum() / weights.sum(), abs=0.7)
    if kept == "checkpoint":
        again = pm.resume(tmp_path / "run", model=make(), progressbar=False)
        assert np.array_equal(again.posterior["n"], n)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_sums_that_cannot_be_long_enough_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consilience.model.tails.PRIOR_DRAWS", 0)
    monkeypatch.setattr("consilience.model.tails.LARGEST", 110)
    with pm.Model():
        rate = pm.Exponential("rate", 0.02, initval=5.0)
        pm.Normal("y", pm.Poisson("n", rate), 5.0, observed=50.0)
        result = pm.sample(100, tune=100, progressbar=False, random_seed=1)
    assert result.status == "not_converged"
    assert "near to where the sum over values of `n` ends" in result.reason


def test_parameters_out_of_range_have_no_draws_also_where_nothing_depends_on_the_variable() -> None:
    """A rate that is negative has no density, however its counts are summed out."""
    with pm.Model():
        a = pm.Normal("a", 0.1, 0.4)
        pm.Poisson("count", a + 0.5)
        posterior = pm.sample(100, tune=100, **QUIET).posterior
    assert json.loads(posterior.attrs["marginalized"]) == ["count"]
    assert float(posterior["a"].min()) > -0.5
