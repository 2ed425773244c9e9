"""`pm.sample(backend="jax")` gives what `pm.sample` gives, by other means."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
from consilience.errors import InitialPointError, MissingPackageError, ModelError, SamplingError

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is an extra")


EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools() -> pm.Model:
    """Eight schools, not centred."""
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfNormal("tau", 5.0)
        z = pm.Normal("z", dims="school")
        theta = pm.Deterministic("theta", mu + tau * z, dims="school")
        pm.Normal("y", theta, ERRORS, observed=EFFECTS)
    return model


def sampled(model: pm.Model, floatX: str | None = None, **settings: Any) -> Any:
    with pm.config.change_flags(floatX=floatX):
        return pm.sample(model=model, backend="jax", progressbar=False, **{"random_seed": 1, **settings})


@needs_jax
def test_eight_schools_are_those_of_nuts() -> None:
    """Means and deviations within five standard errors of both, and the same variables, dims and labels."""
    model = eight_schools()
    ours = sampled(model, chains=512, stop=pm.Stop(ess=4000))
    theirs = pm.sample(
        model=model, random_seed=1, progressbar=False, stop=pm.Stop(ess=2000), compute_convergence_checks=False
    )
    assert ours.status == "converged"
    assert ours.posterior.sizes["chain"] == 512
    assert set(ours.sample_stats.data_vars) >= {"acceptance_rate", "n_steps", "diverging", "energy", "step_size", "lp"}
    for name in theirs.posterior.data_vars:
        assert ours.posterior[name].dims == theirs.posterior[name].dims
        for power in (1, 2):
            mine, other = (
                r.posterior[name].values.reshape(*r.posterior[name].shape[:2], -1) ** power for r in (ours, theirs)
            )
            error = np.hypot(*(found.std(axis=(0, 1)) / np.sqrt(size) for found, size in ((mine, 2000), (other, 1000))))
            assert (np.abs(mine.mean(axis=(0, 1)) - other.mean(axis=(0, 1))) < 5.0 * error).all()
    table = pm.summary(ours)
    assert (table.columns["r_hat"] < 1.01).all()
    assert not [f for f in pm.diagnostics.inspect(ours) if f.level == "warning" and f.kind != "divergences"]


@needs_jax
@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_centred_hierarchies_go_on_in_other_coordinates(tmp_path: Path) -> None:
    """The same posterior as that of the model written by hand, under its own names; `extend` and stores follow."""
    pytest.importorskip("zarr")
    by_hand = eight_schools()
    with pm.Model(coords=by_hand.coords) as centred:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfNormal("tau", 5.0)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Normal("y", theta, ERRORS, observed=EFFECTS)
    found = sampled(centred, stop=pm.Stop(ess=2000), save=pm.Save(store=tmp_path / "run.zarr"))
    assert found.status in ("converged", "converged_with_divergences"), found.reason
    assert json.loads(found.posterior.attrs["restarts"])[0] == "coordinates"
    assert list(found.posterior.data_vars) == ["mu", "tau", "theta"]
    wanted = sampled(by_hand, stop=pm.Stop(ess=2000))
    for name in ("mu", "tau", "theta"):
        own, other = (np.arctan(tree.posterior[name].values / 5.0) for tree in (found, wanted))
        error = np.hypot(own.std(axis=(0, 1)), other.std(axis=(0, 1))) / np.sqrt(2000.0)
        assert (np.abs(own.mean(axis=(0, 1)) - other.mean(axis=(0, 1))) < 5.0 * error).all()
    count = found.posterior.sizes["draw"]
    with xarray.open_datatree(tmp_path / "run.zarr", engine="zarr") as stored:
        np.testing.assert_allclose(stored["posterior"]["theta"], found.posterior["theta"], rtol=1e-10, atol=1e-10)
    longer = found.extend(draws=count + 8)
    np.testing.assert_array_equal(longer.posterior["theta"][:, :count], found.posterior["theta"])
    left = sampled(centred, remedies=("steps", "metric", "jumps", "modes"), stop=pm.Stop(max_draws=32))
    assert json.loads(left.posterior.attrs["centredness"]) == {}


@needs_jax
def test_ranks_of_true_values_are_uniform_in_a_conjugate_model() -> None:
    """Normal data with a normal mean, 200 data sets at once: the rank of each true mean among 512 draws is uniform."""
    generator = np.random.default_rng(0)
    true = generator.standard_normal(200)
    observed = true + 2.0 * generator.standard_normal((5, 200))
    with pm.Model() as model:
        mean = pm.Normal("mean", 0.0, 1.0, shape=200)
        pm.Normal("y", mean, 2.0, observed=observed)
    found = sampled(model, chains=512, draws=1, tune=150, compute_convergence_checks=False)
    draws = found.posterior["mean"].values[:, 0]
    ranks, places = np.sort((draws < true).mean(axis=0)), (np.arange(200) + 0.5) / 200
    assert np.max(np.abs(ranks - places)) < 1.63 / np.sqrt(200)  # Kolmogorov, 1 %
    precision = 1.0 + 5.0 / 4.0
    scores = (draws.mean(axis=0) - observed.sum(axis=0) / 4.0 / precision) * np.sqrt(512 * precision)
    assert np.abs(scores.mean()) < 3.3 / np.sqrt(200)
    assert np.abs(scores.std() - 1.0) < 3.3 / np.sqrt(2 * 200)
    assert np.abs(draws.std(axis=0) * np.sqrt(precision) - 1.0).max() < 5.0 / np.sqrt(2 * 512)


@needs_jax
def test_values_of_shared_variables_are_read_anew() -> None:
    """They are no data of the model by name; what JAX compiled for other values is not used."""
    slope = pm.shared(np.ones(20))
    with pm.Model() as model:
        k = pm.DiscreteUniform("k", 1, 19)
        level = pm.Normal("level", 0.0, 1.0, shape=2)
        pm.Normal("y", pm.math.switch(np.arange(20) < k, level[0], level[1]), 0.5, observed=slope)
    for value in (1.0, -1.0):
        slope.set_value(np.full(20, value))
        result = sampled(model, chains=64)
        assert set(result.posterior["k"].values.ravel()) <= set(range(1, 20))
        assert float(result.posterior["level"][..., 0].mean()) == pytest.approx(0.94 * value, abs=0.1)


@needs_jax
def test_the_same_seed_gives_the_same_draws() -> None:
    model = eight_schools()
    settings: dict[str, Any] = {"chains": 64, "draws": 5, "tune": 20, "compute_convergence_checks": False}
    first, second = (sampled(model, **settings) for _ in range(2))
    np.testing.assert_array_equal(first.posterior["theta"], second.posterior["theta"])


@needs_jax
def test_results_go_on_in_the_background_and_to_the_disk(tmp_path: Path) -> None:
    model = eight_schools()
    store = tmp_path / "draws.zarr"
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    run = sampled(
        model, chains=64, draws=60, tune=20, blocking=False, save=pm.Save(store=store), compute_convergence_checks=False
    )
    result = run.wait()
    assert result.posterior.sizes["draw"] == 60
    np.testing.assert_array_equal(
        xarray.open_datatree(store, engine="zarr").posterior["theta"], result.posterior["theta"]
    )


@needs_jax
def test_a_result_is_extended_to_more_effective_draws() -> None:
    model = eight_schools()
    whole = sampled(model, chains=64)
    more = whole.extend(target_ess=4000)
    count = whole.posterior.sizes["draw"]
    assert more.posterior.sizes["draw"] > count
    np.testing.assert_array_equal(more.posterior["theta"][:, :count], whole.posterior["theta"])


@needs_jax
def test_a_callback_hears_of_the_run_and_ends_it() -> None:
    """Beside the chains: they make some draws until it does."""
    kinds = []

    def listen(event: Any) -> None:
        kinds.append(type(event).__name__)
        if kinds[-1] == "DrawsMade":
            raise KeyboardInterrupt

    found = sampled(eight_schools(), chains=64, draws=100_000, tune=20, callback=listen)
    assert found.status == "interrupted"
    assert 0 < found.posterior.sizes["draw"] < 100_000
    assert kinds[0] == "RunStarted"
    assert kinds[-1] == "RunEnded"


class Kill(BaseException):
    """As if the process had ended: nothing catches it."""


def two_towns() -> pm.Model:
    """Two separate modes, between whose normals chains jump, and a wall behind which steps diverge."""
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 3.0, shape=2)
        near, far = (-0.5 * ((x - m) ** 2).sum() / s**2 - 2.0 * np.log(s) for m, s in ((-4.0, 0.7), (4.0, 0.4)))
        pm.Potential("towns", pm.math.logaddexp(near, far))
        pm.Potential("wall", pm.math.where(x[0] < 4.6, 0.0, -np.inf))
    return model


@needs_jax
@pytest.mark.parametrize(
    ("made", "end", "settings"),
    [
        (eight_schools, 1, {"draws": 120, "tune": 110}),
        (eight_schools, 4, {"draws": 120, "tune": 110}),
        (eight_schools, 2, {"discard_tuned_samples": False}),
        (eight_schools, 2, {"draws": 120, "tune": 110, "floatX": "float32"}),
        (two_towns, 4, {}),
    ],
)
def test_a_run_that_is_killed_after_any_segment_is_resumed_to_the_same_bits(
    made: Any, end: int, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.run import checkpoint

    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    whole = sampled(made(), chains=64, compute_convergence_checks=False, **settings)
    segments, kept = [], checkpoint.Checkpoint.__call__

    def keep(self: Any, course: Any, engine: Any, windows: Any, last: bool) -> None:
        kept(self, course, engine, windows, last)
        segments.append(last)
        if len(segments) == end and not last:
            raise Kill

    monkeypatch.setattr(checkpoint.Checkpoint, "__call__", keep)
    save = pm.Save(checkpoint=tmp_path / "run")
    with pytest.raises(Kill):
        sampled(made(), chains=64, compute_convergence_checks=False, save=save, **settings)
    monkeypatch.undo()
    again = pm.resume(tmp_path / "run", model=made(), progressbar=False)
    assert (again.status, again.reason) == (whole.status, whole.reason)
    for group in ("posterior", "sample_stats", *(["warmup_posterior"] if "discard_tuned_samples" in settings else [])):
        for name, values in whole[group].items():
            np.testing.assert_array_equal(again[group][name].values, values.values, err_msg=name)


@needs_jax
def test_a_checkpoint_of_chains_in_lock_step_tells_what_it_needs(tmp_path: Path) -> None:
    save = pm.Save(checkpoint=tmp_path / "run")
    sampled(eight_schools(), chains=64, draws=20, tune=20, save=save, compute_convergence_checks=False)
    with pytest.raises(SamplingError, match="lock step on one device; leave out `threads_per_chain`"):
        pm.resume(tmp_path / "run", model=eight_schools(), threads_per_chain=2)
    jax = pytest.importorskip("jax")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "__version__", "0.0.1")
        with pytest.raises(SamplingError, match=r"JAX was .* and is 0\.0\.1"):
            pm.resume(tmp_path / "run", model=eight_schools())


@needs_jax
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"step": pm.Metropolis()}, "`step`"),
        ({"nuts": {"max_treedepth": 5}}, "`nuts`"),
        ({"nuts": {"jumps": 4}}, "`nuts`"),
        ({"tuning": pm.Tuning(budget=5)}, "`budget`"),
        ({"tuning": pm.Tuning(pool=False)}, "`pool`"),
        ({"tuning": pm.Tuning(metric="dense")}, "diagonal"),
        ({"device": "abacus"}, "cpu:0"),
        ({"target_accept": 1.5}, "between 0 and 1"),
        ({"chains": 0}, "`chains`"),
    ],
)
def test_what_chains_in_lock_step_have_not_is_refused(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(SamplingError, match=said):
        sampled(eight_schools(), **setting)


def counts_and_covariances() -> pm.Model:
    """Gamma functions, a Cholesky factor and gathers, whose rows in JAX name dtypes."""
    place = np.linspace(0.0, 1.0, 12)
    with pm.Model() as model:
        rate, length = pm.Gamma("rate", 2.0, 1.0), pm.InverseGamma("length", 3.0, 1.0)
        pm.NegativeBinomial("n", mu=rate, alpha=2.0, observed=[1, 4, 2])
        cov = pm.math.exp(-((place[:, None] - place) ** 2) / length) + 0.1 * np.eye(12)
        pm.MvNormal("y", np.zeros(12), cov=cov, observed=np.sin(place))
        part = pm.Normal("part", shape=3)
        pm.Bernoulli("hit", logit_p=part[np.array([0, 2, 1, 1])], observed=[1, 0, 1, 1])
    return model


@needs_jax
@pytest.mark.parametrize("made", [eight_schools, counts_and_covariances])
def test_single_precision_gives_the_same_posterior_in_double(made: Any) -> None:
    """Means within five standard errors of both, 1,000 effective draws each; nothing warns of dtypes."""
    ours, double = (
        sampled(made(), chains=128, stop=pm.Stop(ess=1000), floatX=floatX, compute_convergence_checks=False)
        for floatX in ("float32", None)
    )
    for name in double.posterior.data_vars:
        mine, other = (run.posterior[name].values for run in (ours, double))
        assert mine.dtype == "float64"
        assert not np.array_equal(mine[:, :5], other[:, :5])
        error = np.sqrt(2.0 / 1000.0) * other.std(axis=(0, 1))
        assert (np.abs(mine.mean(axis=(0, 1)) - other.mean(axis=(0, 1))) < 5.0 * error).all(), name
    assert ours.sample_stats["lp"].dtype == "float64"


@needs_jax
def test_a_discrete_variable_is_refused_by_name() -> None:
    with pm.Model() as model:
        pm.Poisson("count", 3.0)
    with pytest.raises(ModelError, match=r"`count` is discrete.*marginalize"):
        sampled(model)


@needs_jax
def test_a_start_without_density_is_refused_as_elsewhere() -> None:
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Potential("nowhere", pm.math.log(-(x**2) - 1.0))
    with pytest.raises(InitialPointError, match="nowhere"):
        sampled(model)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(pm.ArgumentError, match="`backend` must be 'llvm', 'jax' or None"):
        pm.sample(model=eight_schools(), backend="tpu")  # type: ignore[arg-type]  # what is refused


def test_a_device_without_the_backend_is_refused() -> None:
    with pytest.raises(SamplingError, match="backend"):
        pm.sample(model=eight_schools(), device="gpu")


def test_without_jax_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        n for n in sys.modules if n.startswith(("consilience.run.lock_step.", "consilience.sample.lock_step"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(sys.modules["consilience.sample"], "lock_step", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingPackageError, match=r"not there: pip install 'consilience\[jax\]'"):
        pm.sample(model=eight_schools(), backend="jax")
