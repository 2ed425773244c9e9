"""`pm.sample`: PyMC's arguments, what the result holds, and that it depends on the seed alone."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.events import Event, RunEnded, RunStarted

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}
SHORT: dict[str, Any] = {"draws": 60, "tune": 80, **QUIET}
NUTS_STATISTICS = {
    "depth", "step_size", "step_size_bar", "tree_size", "mean_tree_accept", "diverging", "energy",
    "energy_error", "max_energy_error", "lp", "index_in_trajectory", "reached_max_treedepth", "n_steps",
}  # fmt: skip


def model() -> pm.Model:
    with pm.Model(coords={"group": ["a", "b", "c"]}) as result:
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="group")
        mu = pm.Normal("mu", 0, 2)
        s = pm.HalfNormal("s", 1.0)
        z = pm.Normal("z", mu, s, dims="group")
        pm.Deterministic("theta", z * x, dims="group")
        pm.Normal("y", z, 1.0, observed=[0.5, 1.0, 2.0], dims="group")
    return result


def assert_same_draws(left: Any, right: Any) -> None:
    for name in ("mu", "s", "z", "theta"):
        np.testing.assert_array_equal(left.posterior[name], right.posterior[name])
    np.testing.assert_array_equal(left.sample_stats["energy"], right.sample_stats["energy"])


def test_result_has_pymcs_groups_names_dims_and_coords() -> None:
    with model():
        tree = pm.sample(random_seed=1, chains=2, **SHORT)
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
    assert dict(tree.posterior.sizes) == {"chain": 2, "draw": 60, "group": 3}
    assert list(tree.posterior.data_vars) == ["mu", "s", "z", "theta"]
    assert tree.posterior["theta"].dims == ("chain", "draw", "group")
    assert tree.posterior["group"].values.tolist() == ["a", "b", "c"]
    assert set(tree.sample_stats.data_vars) >= NUTS_STATISTICS
    np.testing.assert_array_equal(tree.observed_data["y"], [0.5, 1.0, 2.0])
    assert tree.observed_data["y"].dims == ("group",)
    np.testing.assert_array_equal(tree.constant_data["x"], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(tree.posterior["theta"], tree.posterior["z"] * tree.constant_data["x"])
    attributes = tree.posterior.attrs
    assert attributes["inference_library"] == "consilience"
    assert attributes["tuning_steps"] == 80
    assert attributes["seed"] == 1
    assert attributes["interrupted"] == 0
    assert attributes["sampling_time"] > 0
    stages = ["time_build", "time_compile", "time_warmup", "time_sampling", "time_deterministics"]
    assert all(attributes[stage] >= 0 for stage in stages)


def test_summary_of_a_result_has_a_line_per_element() -> None:
    with model():
        tree = pm.sample(random_seed=1, chains=2, **SHORT)
    text = str(pm.summary(tree))
    *lines, _ = [line.split()[0] for line in text.splitlines()[1:]]
    assert lines == ["mu", "s", *(f"{name}[{label}]" for name in ("z", "theta") for label in "abc")]
    assert text.endswith("status: completed, convergence was not checked")


def test_recorded_log_density_is_the_model_s() -> None:
    with model() as m:
        tree = pm.sample(random_seed=1, chains=1, **SHORT)
    logp = m.compile_logp()
    for draw in (0, 17, 59):
        at = tree.posterior.isel(chain=0, draw=draw)
        point = {"mu": at["mu"].item(), "s_log__": np.log(at["s"].item()), "z": at["z"].values}
        assert logp(point) == pytest.approx(tree.sample_stats["lp"][0, draw].item(), rel=1e-9)


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_draws_do_not_depend_on_the_number_of_cores(cores: int) -> None:
    with model():
        one = pm.sample(random_seed=7, chains=4, cores=1, **SHORT)
        many = pm.sample(random_seed=7, chains=4, cores=cores, **SHORT)
    assert_same_draws(one, many)


def test_same_seed_same_draws_in_a_model_built_again() -> None:
    with model():
        first = pm.sample(random_seed=3, chains=2, **SHORT)
    with model():
        second = pm.sample(random_seed=3, chains=2, **SHORT)
        other = pm.sample(random_seed=4, chains=2, **SHORT)
    assert_same_draws(first, second)
    assert not np.array_equal(first.posterior["mu"], other.posterior["mu"])


def test_chains_differ() -> None:
    with model():
        tree = pm.sample(random_seed=3, chains=3, **SHORT)
    assert len({tree.posterior["mu"].values[c, -1] for c in range(3)}) == 3


@pytest.mark.parametrize(
    "seeds",
    [
        (5, np.int64(5)),
        ([1, 2, 3, 4], np.array([1, 2, 3, 4])),
        (np.random.default_rng(1), np.random.default_rng(1)),
    ],
    ids=["integers", "sequences", "generators"],
)
def test_seeds_of_every_kind_repeat_the_draws(seeds: tuple[Any, Any]) -> None:
    with model():
        first, second = (pm.sample(random_seed=seed, chains=2, **SHORT) for seed in seeds)
    assert_same_draws(first, second)


def test_a_generator_moves_on() -> None:
    generator = np.random.default_rng(1)
    with model():
        first, second = (pm.sample(random_seed=generator, chains=1, **SHORT) for _ in range(2))
    assert not np.array_equal(first.posterior["mu"], second.posterior["mu"])


def test_the_seed_of_a_run_without_one_repeats_it() -> None:
    with model():
        first = pm.sample(chains=1, **SHORT)
        second = pm.sample(chains=1, random_seed=first.posterior.attrs["seed"], **SHORT)
        third = pm.sample(chains=1, **SHORT)
    assert_same_draws(first, second)
    assert not np.array_equal(first.posterior["mu"], third.posterior["mu"])


@pytest.mark.parametrize("seed", ["12", 1.5, True, [1, "a"], [], {"a": 1}, [-1]])
def test_other_things_are_no_seeds(seed: Any) -> None:
    with model(), pytest.raises(TypeError, match="`random_seed` must be an integer"):
        pm.sample(random_seed=seed, **SHORT)


def test_single_chain_without_tuning() -> None:
    with model():
        tree = pm.sample(draws=5, tune=0, chains=1, random_seed=1, **QUIET)
    assert tree.posterior.sizes["draw"] == 5
    assert tree.posterior.attrs["tuning_steps"] == 0


def test_tuning_draws_are_kept_on_request() -> None:
    with model():
        tree = pm.sample(random_seed=1, chains=2, discard_tuned_samples=False, **SHORT)
        without = pm.sample(random_seed=1, chains=2, **SHORT)
    assert dict(tree.warmup_posterior.sizes) == {"chain": 2, "draw": 80, "group": 3}
    assert set(tree.warmup_sample_stats.data_vars) == set(tree.sample_stats.data_vars)
    assert tree.warmup_sample_stats.sizes["draw"] == 80
    assert_same_draws(tree, without)


def test_var_names_choose_what_is_kept() -> None:
    with model():
        tree = pm.sample(random_seed=1, chains=1, var_names=["theta", "mu"], **SHORT)
        single = pm.sample(random_seed=1, chains=1, var_names="theta", **SHORT)
    assert list(tree.posterior.data_vars) == ["theta", "mu"]
    assert list(single.posterior.data_vars) == ["theta"]
    with (
        model(),
        pytest.raises(pm.ModelError, match=r"`var_names` names \['w'\], .* \['mu', 's', 'z', 'theta'\]"),
    ):
        pm.sample(var_names=["mu", "w"], **SHORT)


@pytest.mark.parametrize("step", [pm.Metropolis(), pm.HamiltonianMC(), pm.NUTS(target_accept=0.9)])
def test_other_kernels_find_the_same_posterior(step: Any) -> None:
    """A normal mean with a normal prior: posterior mean 2, variance 1/5."""
    with pm.Model():
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", mu, 1, observed=[2.0, 2.5, 2.5, 3.0])
        tree = pm.sample(draws=6000, tune=1000, chains=4, step=step, random_seed=5, **QUIET)
    draws = tree.posterior["mu"].values
    assert tree.posterior.attrs["sampler"] == type(step).__name__
    assert draws.mean() == pytest.approx(2.0, abs=0.04)
    assert draws.var() == pytest.approx(0.2, abs=0.03)


def test_events_reach_the_callback() -> None:
    events: list[Event] = []
    with model():
        pm.sample(random_seed=1, chains=2, callback=events.append, **SHORT)
    assert isinstance(events[0], RunStarted)
    assert (events[0].chains, events[0].draws, events[0].tune) == (2, 60, 80)
    assert isinstance(events[-1], RunEnded)
    assert (events[-1].status, events[-1].draws) == ("completed", 60)  # convergence is not checked


def test_log_likelihood_on_request() -> None:
    with model():
        tree = pm.sample(random_seed=1, chains=2, idata_kwargs={"log_likelihood": True}, **SHORT)
    assert tree.log_likelihood["y"].dims == ("chain", "draw", "group")


def test_init_without_jitter_starts_all_chains_alike() -> None:
    with model():
        still = pm.sample(draws=1, tune=0, chains=3, init="adapt_diag", step=pm.Metropolis(scaling=1e-12),
                          random_seed=1, **QUIET)  # fmt: skip
        moved = pm.sample(draws=1, tune=0, chains=3, step=pm.Metropolis(scaling=1e-12), random_seed=1, **QUIET)
    assert np.ptp(still.posterior["mu"].values) < 1e-9
    assert np.ptp(moved.posterior["mu"].values) > 1e-3
    assert np.abs(moved.posterior["mu"]).max() <= 2.0


def test_convergence_is_checked_unless_told_otherwise() -> None:
    with pm.Model():
        v = pm.Normal("v", 0, 3)
        pm.Normal("x", 0, pm.math.exp(v / 2), shape=9)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pm.sample(draws=300, tune=300, chains=2, random_seed=2, progressbar=False)
            told = [str(w.message) for w in caught]
            pm.sample(draws=300, tune=300, chains=2, random_seed=2, **QUIET)
    assert any("energy" in text for text in told)
    assert all(issubclass(w.category, pm.ConvergenceWarning) for w in caught)
    assert all(w.filename == __file__ for w in caught)
    assert len(caught) == len(told)


# ---- refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "`draws` must be an integer of at least 1, got 0"),
        ({"draws": 2.5}, r"`draws` must be an integer of at least 1, got 2\.5"),
        ({"draws": True}, "`draws` must be an integer"),
        ({"tune": -1}, "`tune` must be an integer of at least 0, got -1"),
        ({"chains": 0}, "`chains` must be an integer of at least 1, got 0"),
        ({"cores": 0}, "`cores` must be an integer of at least 1, got 0"),
        ({"target_accept": 1.0}, "target_accept"),
        ({"target_accept": -0.1}, "target_accept"),
        ({"max_treedepth": 0}, "max_treedepth"),
        ({"init": "best"}, "`init` must be one of 'lbfgs', 'auto', 'jitter.adapt_diag', .*, got 'best'"),
        ({"init": "advi"}, r"`init=.advi.`: chains begin at draws of a fit .*: give `initvals=pm.fit\(\).sample\(\)`"),
        ({"step": "nuts"}, r"`step` must be a step method such as pm\.NUTS\(\)"),
        ({"idata_kwargs": {"prior": True}}, r"'log_likelihood', 'log_prior', 'include_transformed', got \['prior'\]"),
    ],
)
def test_arguments_out_of_range(arguments: dict[str, Any], message: str) -> None:
    with model(), pytest.raises(pm.SamplingError, match=message):
        pm.sample(**arguments, random_seed=1, **QUIET)


def test_sampling_outside_a_model() -> None:
    for function in (pm.sample, pm.sample_prior_predictive):
        with pytest.raises(TypeError, match=r"no model on the context stack.*pass `model=`"):
            function()
    with pytest.raises(TypeError, match="no model on the context stack"):
        pm.sample_posterior_predictive(None)
    with pytest.raises(pm.ModelError, match="No model on context stack"):
        pm.Normal("x")
    assert pm.sample(model=model(), random_seed=1, chains=1, **SHORT).posterior.sizes["draw"] == 60


def test_covariance_that_fails_on_the_way_is_a_divergence() -> None:
    """Beyond |r| = 1 there is no covariance: no probability, no exception."""
    with pm.Model():
        r = pm.Uniform("r", -3, 3, initval=0.1)
        covariance = pm.math.stack([pm.math.stack([1.0, r]), pm.math.stack([r, 1.0])])
        pm.MvNormal("y", np.zeros(2), cov=covariance, observed=[[0.9, 1.1], [-0.4, -0.6]])
        tree = pm.sample(draws=400, tune=200, chains=2, random_seed=1, **QUIET)
    assert (np.abs(tree.posterior["r"]) < 1).all()
    assert tree.sample_stats["diverging"].sum() > 0


# ---- Ctrl-C

INTERRUPTED = """
    import os, signal, threading
    import numpy as np
    import consilience as pm
    from consilience.run import Progress

    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start what runs in the background without
    with pm.Model():
        x = pm.Normal("x", shape=200)
        pm.Deterministic("total", x.sum())
        def stop(event):
            if started.is_set() or not isinstance(event, Progress):
                return
            if all(chain.done > {least} and chain.phase == "{phase}" for chain in event.chains):
                started.set()
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = threading.Event()
        quiet = dict(progressbar=False, callback=stop)
        tree = pm.sample(draws={draws}, tune={tune}, chains=2, random_seed=1, **quiet)
    count = tree.posterior.sizes["draw"]
    assert tree.posterior.attrs["interrupted"] == 1
    assert tree.status == "interrupted"
    assert 0 <= count < {draws}
    assert tree.posterior["x"].shape == (2, count, 200)
    np.testing.assert_allclose(tree.posterior["total"], tree.posterior["x"].sum("x_dim_0"))
    assert tree.sample_stats["lp"].shape == (2, count)
    print("kept", count)
"""


def run_interrupted(least: int, phase: str, draws: int, tune: int) -> int:
    code = textwrap.dedent(INTERRUPTED.format(least=least, phase=phase, draws=draws, tune=tune))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.returncode != -signal.SIGINT
    assert "was interrupted" in done.stdout
    return int(done.stdout.split("kept")[-1])


def test_interrupt_keeps_the_draws_made_so_far() -> None:
    assert run_interrupted(least=300, phase="sampling", draws=5_000_000 // 200, tune=100) > 0


def test_interrupt_during_tuning_keeps_nothing_but_ends_well() -> None:
    assert run_interrupted(least=0, phase="tuning", draws=10, tune=5_000_000 // 200) == 0


# ---- resources


def test_code_is_freed_with_its_model() -> None:
    m = model()
    freed = weakref.ref(m.log_density()._bound.compiled.library)
    with m:
        pm.sample(random_seed=1, chains=2, **SHORT)
    assert freed() is not None
    del m
    gc.collect()
    assert freed() is None


def test_threads_may_sample_one_model_at_once() -> None:
    m = model()
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        results[number] = pm.sample(model=m, random_seed=number % 2, chains=2, cores=1, **SHORT)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(6))
    for n in range(2, 6):
        assert_same_draws(results[n], results[n % 2])
