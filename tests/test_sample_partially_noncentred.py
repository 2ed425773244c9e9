"""Hierarchies that diverge or mix badly go on in partially non-centred coordinates; the result is that of the model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
from consilience.diagnostics import mcse_mean
from consilience.run import Event, Restarted
from tests.cutting import stopping

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
WITHOUT_COORDINATES = ("steps", "metric", "jumps", "modes")
QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False}
FINE = ("converged", "converged_with_divergences")

pytestmark = pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")


def schools() -> pm.Model:
    """Eight schools, centred: a funnel."""
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfNormal("tau", 5.0)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("best", pm.math.max(theta))
        pm.Normal("y", theta, ERRORS, observed=EFFECTS, dims="school")
    return model


def walk() -> pm.Model:
    """A random walk whose steps are much smaller than the noise."""
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 0.5)
        level = pm.GaussianRandomWalk("level", sigma=sigma, init_dist=pm.Normal.dist(0.0, 1.0), shape=15)
        pm.Normal("y", level, 2.0, observed=np.sin(np.arange(15.0)))
    return model


def zero_sum() -> pm.Model:
    """Effects that sum to zero, hardly told from each other."""
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 1.0)
        effect = pm.ZeroSumNormal("effect", sigma=sigma, shape=6)
        pm.Normal("y", effect, 2.0, observed=[0.5, -0.2, 0.1, 0.4, -0.6, 0.0])
    return model


def funnel() -> pm.Model:
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 3.0)
        pm.Normal("x", 0.0, pm.math.exp(v / 2.0), shape=9)
    return model


def vectors() -> pm.Model:
    """Normal vectors of a covariance whose size is estimated."""
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1.0)
        pm.MvNormal("x", np.zeros(3), cov=scale * (np.eye(3) + 0.3))
    return model


def logarithms() -> pm.Model:
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 2.0)
        rate = pm.LogNormal("rate", 0.0, scale, shape=4)
        pm.Poisson("y", rate, observed=[1, 1, 2, 1])
    return model


MODELS = {
    "a location and a scale": (schools, "tau", "theta"),
    "a funnel": (funnel, "v", "x"),
    "random walk": (walk, "sigma", "level"),
    "zero sum": (zero_sum, "sigma", "effect"),
    "vectors": (vectors, "scale", "x"),
    "logarithms": (logarithms, "scale", "rate"),
}


@pytest.mark.parametrize("title", MODELS)
def test_draws_are_those_of_the_model_written_by_standard_variables(title: str) -> None:
    """Of the scale, on the logarithmic line where funnels hide, and of an element: within 5 standard errors."""
    build, scale, name = MODELS[title]
    model = build()
    with model:
        found = pm.sample(**QUIET)
    assert found.status in FINE, found.reason
    attributes = found.posterior.attrs
    assert json.loads(attributes["restarts"])[0] == "coordinates"
    assert list(json.loads(attributes["centredness"])) == [name]
    assert list(found.posterior.data_vars) == [*(v.name for v in model.free), *model.named_deterministics]
    wanted = pm.sample(
        2500, tune=1000, model=pm.noncenter(model, [name]), target_accept=0.95, **QUIET | {"random_seed": 2}
    )
    for values in (
        lambda tree: np.log(np.abs(tree[scale].values)) if scale != "v" else tree[scale].values,
        lambda tree: tree[name].values[..., 0],
    ):
        own, other = values(found.posterior), values(wanted.posterior)
        error = np.hypot(mcse_mean(own), mcse_mean(other))
        assert abs(own.mean() - other.mean()) < 5 * error


def test_hierarchies_of_hierarchies_and_beside_each_other() -> None:
    """Both levels of counties in regions are rewritten, and their deterministic children are the model's."""
    rng = np.random.default_rng(1)
    region, county = np.repeat(np.arange(4), 5), np.repeat(np.arange(20), 2)
    with pm.Model(coords={"region": list("abcd")}):
        of_regions, of_counties = pm.HalfNormal("of_regions", 1.0), pm.HalfNormal("of_counties", 1.0)
        a = pm.Normal("a", pm.Normal("mu", 0.0, 2.0), of_regions, dims="region")
        b = pm.Normal("b", a[region], of_counties, shape=20)
        pm.Deterministic("spread", b - a[region])
        pm.Normal("y", b[county], 1.0, observed=rng.normal(size=40))
        found = pm.sample(**QUIET)
    assert list(json.loads(found.posterior.attrs["centredness"])) == ["a", "b"]
    draws = found.posterior
    np.testing.assert_allclose(draws["spread"], draws["b"].values - draws["a"].values[..., region], atol=1e-9)


def test_hierarchies_that_the_data_determine_stay_as_they_are() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(10), 50)
    with pm.Model():
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 2.0)
        theta = pm.Normal("theta", mu, tau, shape=10)
        pm.Normal("y", theta[group], 1.0, observed=rng.normal(size=10)[group] + rng.normal(size=500))
        found = pm.sample(**QUIET)
    assert (found.status, json.loads(found.posterior.attrs["centredness"])) == ("converged", {})


def test_models_with_a_prefix() -> None:
    with pm.Model(name="outer") as model:
        with pm.Model(name="inner"):
            mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 5.0)
            pm.Normal("y", pm.Normal("theta", mu, tau, shape=8), ERRORS, observed=EFFECTS)
        found = pm.sample(model=model, **QUIET)
    assert list(json.loads(found.posterior.attrs["centredness"])) == ["outer::inner::theta"]
    assert list(found.posterior.data_vars) == [v.name for v in model.free_RVs]


@pytest.mark.parametrize(
    "settings", [{"remedies": WITHOUT_COORDINATES}, {"draws": 500, "tune": 300}, {"init": "adapt_diag"}]
)
def test_only_runs_that_decide_their_length_and_may(settings: dict[str, Any]) -> None:
    with schools():
        found = pm.sample(**QUIET, **settings)
    assert "coordinates" not in json.loads(found.posterior.attrs["restarts"])
    assert json.loads(found.posterior.attrs["centredness"]) == {}


def test_a_name_that_is_taken_leaves_the_run_as_it_was() -> None:
    with schools() as model:
        pm.Deterministic("theta_raw", 2.0 * model["mu"])
        with pytest.warns(pm.ConsilienceWarning, match="own coordinates: the model has a variable `theta_raw` already"):
            found = pm.sample(stop=pm.Stop(max_draws=500), **QUIET)
    assert "coordinates" not in json.loads(found.posterior.attrs["restarts"])


def test_what_is_said_and_counted() -> None:
    """Evaluations of the draws that were given up are tuning; the event says what happens; nothing is advised again."""
    said: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Restarted):
            said.append(event.reason)

    with schools():
        found = pm.sample(callback=listen, **QUIET)
        other = pm.sample(remedies=("steps", "metric", "jumps", "modes"), stop=pm.Stop(max_draws=500), **QUIET)
    attributes = found.posterior.attrs
    assert "other coordinates suit the draws better" in said[0]
    assert attributes["gradients"] > attributes["gradients_warmup"] > 4 * 400
    assert 50 <= attributes["tuning_steps"] < 600
    assert attributes["sampling_time"] >= attributes["time_warmup"] > 0
    assert "theta_raw" not in str(attributes)
    assert found.posterior["theta"].dims == ("chain", "draw", "school")
    assert other.posterior.attrs["status"] == "not_converged"


def test_threads_do_not_change_the_draws() -> None:
    with schools():
        assert_equal(pm.sample(cores=1, **QUIET), pm.sample(cores=4, **QUIET))


def assert_equal(first: xarray.DataTree, second: xarray.DataTree) -> None:
    """Whether two results have the same posterior in the same coordinates."""
    for name in first["posterior"].data_vars:
        np.testing.assert_allclose(first["posterior"][name], second["posterior"][name], rtol=1e-12, atol=1e-12)
    assert first["posterior"].attrs["centredness"] == second["posterior"].attrs["centredness"] != "{}"


def test_longer_runs_and_predictions_begin_with_what_is_there() -> None:
    model = schools()
    with model:
        found = pm.sample(**QUIET)
        count = found.posterior.sizes["draw"]
        longer = found.extend(draws=count + 200)
        pm.compute_log_likelihood(longer, model=model)
        pm.sample_posterior_predictive(longer, random_seed=1, extend_inferencedata=True, progressbar=False)
    np.testing.assert_array_equal(longer.posterior["theta"][:, :count], found.posterior["theta"])
    assert longer["log_likelihood"]["y"].shape == (4, count + 200, 8)
    assert longer["posterior_predictive"]["y"].shape == (4, count + 200, 8)
    best = found.posterior["theta"].max("school")
    np.testing.assert_allclose(found.posterior["best"], best)


def test_a_run_that_is_cut_off_again_and_again_changes_its_coordinates_once(tmp_path: Path) -> None:
    """Stopped at its n-th event, for n = 0, 1, …: the draws, and the counts, of a run that was not."""
    model, path = schools(), tmp_path / "run"
    longer: dict[str, Any] = {**QUIET, "stop": pm.Stop(ess=1e9, min_draws=100, max_draws=30_000)}

    with model:
        unbroken = pm.sample(**longer)
    attempts = 0
    tree = pm.sample(model=model, save=pm.Save(checkpoint=path), callback=stopping(0), **longer)
    while tree.status == "interrupted":
        attempts += 1
        tree = pm.resume(path, schools(), cores=1 + attempts % 3, callback=stopping(attempts), progressbar=False)
    assert attempts
    assert_equal(tree, unbroken)
    for name in ("status", "reason", "gradients", "gradients_warmup", "tuning_steps", "restarts", "step_size"):
        assert np.array_equal(tree.posterior.attrs[name], unbroken.posterior.attrs[name]), name


def test_stores_hold_the_draws_of_the_last_coordinates(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    path = tmp_path / "run.zarr"
    with schools():
        found = pm.sample(save=pm.Save(store=path), **QUIET)
    with xarray.open_datatree(path, engine="zarr") as stored:
        assert_equal(stored, found)


def test_runs_in_the_background_change_their_coordinates_too() -> None:
    with schools():
        wanted = pm.sample(**QUIET)
        run = pm.sample(blocking=False, **QUIET)
        while not run.finished:
            some = run.draws()
            assert some.posterior["theta"].shape[0] == 4
            np.testing.assert_allclose(some.posterior["best"], some.posterior["theta"].max("school"))
            time.sleep(0.01)
        assert_equal(run.wait(), wanted)


def test_time_is_limited_over_both_coordinates() -> None:
    """The limit holds for both together, and a stop in the background ends the second as well."""
    with schools():
        found = pm.sample(stop=pm.Stop(max_time=0.0), **QUIET)
        assert found.status == "not_converged"
        run = pm.sample(blocking=False, stop=pm.Stop(ess=1e9, max_draws=10**7), **QUIET)
        while "coordinates" not in json.loads(run.draws().posterior.attrs["restarts"]):
            time.sleep(0.01)
        assert run.stop().status == "interrupted"
