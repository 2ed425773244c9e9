"""`pm.sample` without numbers, `pm.resume`, `extend` and runs in the background, as a user of models sees them."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
from consilience.diagnostics import inspect
from consilience.diagnostics.stopping_rule import StoppingRule
from consilience.errors import StorageError
from consilience.model.log_density import model_density
from consilience.run import DrawsMade, Event, Progress
from consilience.sample.coordinates import ChainCoordinates
from consilience.sample.monitoring import monitored_of
from consilience.sample.plan import ModelPlan, plan_from
from tests.cutting import stopping
from tests.run.support import copied
from tests.test_sample import QUIET, assert_same_draws

LONG: dict[str, Any] = {"random_seed": 3, "stop": pm.Stop(ess=1e9, max_draws=300), **QUIET}


def model() -> pm.Model:
    """A posterior near to a normal one, under the names that `assert_same_draws` knows."""
    with pm.Model(coords={"group": ["a", "b", "c"]}) as result:
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="group")
        mu = pm.Normal("mu", 0, 2)
        s = pm.HalfNormal("s", 1.0)
        z = pm.Normal("z", 0, 1, dims="group")
        pm.Deterministic("theta", z * x, dims="group")
        pm.Normal("y", mu + s + z, 1.0, observed=[0.5, 1.0, 2.0], dims="group")
    return result


# ---- the default


def test_without_numbers_a_run_ends_when_it_is_good_enough() -> None:
    with model():
        tree = pm.sample(random_seed=1, progressbar=False)
    assert (tree.status, tree.reason, tree.worst) == ("converged", "", "")
    count = tree.posterior.sizes["draw"]
    assert tree.posterior.sizes["chain"] == 4
    assert 100 <= count < 2000
    attributes = tree.posterior.attrs
    assert 50 <= attributes["tuning_steps"] < 400
    assert 0 < attributes["gradients_warmup"] < attributes["gradients"]
    windows = json.loads(attributes["warmup_windows"])
    assert windows[-1]["transitions"] == attributes["tuning_steps"]
    assert [window["arrived"] for window in windows] == [[0, 1, 2, 3]] * len(windows)
    options = json.loads(attributes["options"])
    assert (options["max_draws"], options["draws"]) == (None, None)


def test_shorter_runs_begin_longer_ones() -> None:
    with model():
        small = pm.sample(random_seed=1, stop=pm.Stop(ess=100), **QUIET)
        large = pm.sample(random_seed=1, stop=pm.Stop(ess=900), **QUIET)
        fixed = pm.sample(draws=50, random_seed=1, **QUIET)
    for short in (small, fixed):
        count = short.posterior.sizes["draw"]
        assert count < large.posterior.sizes["draw"]
        np.testing.assert_array_equal(short.posterior["theta"], large.posterior["theta"].isel(draw=slice(count)))


@pytest.mark.parametrize("how", [{"target_ess": 900}, {"draws": 555}])
def test_an_extended_result_is_the_longer_run(how: dict[str, int]) -> None:
    with model():
        tree = pm.sample(random_seed=1, stop=pm.Stop(ess=100), **QUIET)
        stop = pm.Stop(ess=how.get("target_ess", 100))
        wanted = pm.sample(random_seed=1, stop=stop, draws=how.get("draws"), **QUIET)
    longer = tree.extend(**how, progressbar=False)
    assert_same_draws(longer, wanted)
    assert longer.status == wanted.status
    assert_same_draws(longer.extend(draws=1500, progressbar=False), tree.extend(draws=1500, progressbar=False))


def test_an_extended_result_tells_what_was_compiled_for_it() -> None:
    """The time that chains waited at the beginning stays a part of it."""
    with model():
        first = pm.sample(**LONG)
    before = first._run.waited_seconds
    first._run.waited_seconds = before + 5.0
    second = first.extend(max_draws=400, target_ess=1e9, progressbar=False)
    gained = second.posterior.attrs["time_compile"] - first.posterior.attrs["time_compile"]
    assert gained == pytest.approx(5.0, abs=0.5)


def test_what_cannot_be_extended_is_said() -> None:
    with model():
        tree = pm.sample(random_seed=1, stop=pm.Stop(ess=100), **QUIET)
    with pytest.raises(pm.SamplingError, match="say how far to extend"):
        tree.extend()
    with pytest.raises(pm.SamplingError, match="`draws` counts those there are"):
        tree.extend(draws=1)
    with pytest.raises(pm.SamplingError, match="`max_draws` counts those there are"):
        tree.extend(target_ess=1000, max_draws=10)


def test_draws_beyond_reach_are_said_with_the_name_of_the_worst() -> None:
    said = r"has not converged.*below the target of 1000000"
    with model(), pytest.warns(pm.ConvergenceWarning, match=said) as caught:
        tree = pm.sample(random_seed=1, stop=pm.Stop(ess=1_000_000, max_draws=150), progressbar=False)
    assert tree.status == "not_converged"
    assert tree.worst in {"mu", "s", "z[a]", "z[b]", "z[c]", "log density"}
    assert f"`{tree.worst}`" in tree.reason
    assert "draws per chain would be enough" in tree.reason
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("settings", "status", "said"),
    [
        ({}, "converged", ""),
        ({"chains": 1}, "converged", "only one chain was run"),
        ({"chains": 1, "draws": 50}, "not_converged", "below the target of 400"),
        ({"draws": 2}, "not_converged", "2 draws per chain are too few to judge"),
        ({"draws": 50}, "not_converged", "below the target of 400"),
        ({"draws": 100}, "not_converged", "below the target of 400"),
        ({"draws": 200, "stop": pm.Stop(ess=50)}, "converged", ""),
        ({"draws": 100, "compute_convergence_checks": False}, "completed", "convergence was not checked"),
        ({"stop": pm.Stop(ess=1e9, max_draws=100)}, "not_converged", "below the target of 1000000000"),
        ({"stop": pm.Stop(max_time=0)}, "not_converged", "max_time=0 seconds were over"),
    ],
)
def test_status_warning_and_summary_say_the_same(settings: dict[str, Any], status: str, said: str) -> None:
    """Of every run, of fixed length or not; `inspect` asks what the run did. Only a plain "converged" is silent."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = pm.sample(model=model(), random_seed=1, tune=200, target_accept=0.95, progressbar=False, **settings)
    assert (tree.status, tree.posterior.attrs["status"]) == (status, status)
    assert said in tree.reason
    told = [str(one.message) for one in caught if one.category is pm.ConvergenceWarning]
    assert len(told) == (bool(said) and status != "completed")
    assert all(tree.reason in message for message in told)
    if tree.posterior.sizes["draw"]:
        assert pm.summary(tree).verdict == (f"status: {status}, {tree.reason}" if said else "")
    if status == "converged":
        found = [finding.kind for finding in inspect(tree) if finding.level == "warning"]
        assert found == (["chains"] if said else [])


def test_one_chain_far_away_is_waited_for() -> None:
    """`initvals` of its own put it there; the filter is shown in the result."""
    with pm.Model():
        pm.Normal("x", shape=10)
        starts = [{"x": np.zeros(10)}] * 3 + [{"x": np.full(10, 1e9)}]
        tree = pm.sample(
            random_seed=1,
            initvals=starts,
            init="adapt_diag",
            progressbar=False,
            tuning=pm.Tuning(max=400),
            stop=pm.Stop(ess=200),
        )
    windows = json.loads(tree.posterior.attrs["warmup_windows"])
    assert windows[0]["arrived"] == [0, 1, 2]
    assert windows[-1]["arrived"] == [0, 1, 2, 3]
    assert tree.status == "converged"


@pytest.mark.parametrize(
    ("make", "monitor", "watched"),
    [
        (lambda: pm.Dirichlet("p", np.ones(3)), None, ["p[0]", "p[1]", "p[2]"]),
        (lambda: pm.Dirichlet("p", np.ones(40)), None, []),
        (lambda: pm.Dirichlet("p", np.ones(40)), "p", [f"p[{i}]" for i in range(40)]),
        (lambda: pm.LKJCorr("c", n=2, eta=1.0), None, None),
        (lambda: pm.Deterministic("twice", 2.0 * pm.Gamma("g", 2.0, 1.0, shape=2)), None, []),
        (lambda: pm.Deterministic("twice", 2.0 * pm.Gamma("g", 2.0, 1.0)), "twice", ["twice"]),
    ],
)
def test_elements_that_several_coordinates_make_are_watched(
    make: Callable[[], Any], monitor: str | None, watched: list[str] | None
) -> None:
    """As far as they are few and can vary; deterministics are where they are named."""
    with pm.Model() as own:
        make()
    density = model_density(own)
    found = monitored_of(density, ModelPlan(monitor=() if monitor is None else (monitor,)))
    if watched is not None:
        assert list(found.derived) == watched
    if found.derive is not None:
        draws = np.random.default_rng(1).normal(size=(20, density.dimension))
        assert found.derive(draws).shape == (20, len(found.derived))
        assert (np.ptp(found.derive(draws), axis=0) > 0).all()


def test_elements_of_a_simplex_have_the_effective_size_asked_for() -> None:
    """With this seed the coordinates have it after 500 draws of each chain, and an element 324."""
    with pm.Model():
        pm.Dirichlet("p", np.full(5, 0.1))
        tree = pm.sample(random_seed=34, progressbar=False)
    table = pm.summary(tree)
    assert tree.status == "converged"
    assert min(table["ess_bulk"].min(), table["ess_tail"].min()) >= 400


def unseen_coordinate(prior: float | None) -> pm.Model:
    """Data tell of two of three numbers; the third has a prior of this deviation, or none."""
    with pm.Model() as result:
        x = pm.Flat("x", shape=3)
        pm.Normal("y", x[:2], 1.0, observed=[0.3, -0.4])
        if prior is not None:
            pm.Potential("prior", -0.5 * (x[2] / prior) ** 2)
    return result


@pytest.mark.filterwarnings("ignore:The maximum tree depth was reached")
def test_an_improper_posterior_is_named_after_few_draws(tmp_path: Path) -> None:
    """A twentieth of the gradients of the whole run. Who wants more draws gets them, with the same words."""
    words = r"the posterior seems to be improper: moving `x\[2\]` alone, its density does not fall off"
    with pytest.warns(pm.ConvergenceWarning, match=rf"has not converged: {words}"):
        tree = pm.sample(
            model=unseen_coordinate(None), random_seed=1, progressbar=False, save=pm.Save(checkpoint=tmp_path / "run")
        )
    assert tree.status == "not_converged"
    assert tree.posterior.sizes["draw"] == 100
    assert tree.posterior.attrs["gradients"] < 400_000
    with pytest.warns(pm.ConvergenceWarning, match=words):
        again = pm.resume(tmp_path / "run", unseen_coordinate(None), progressbar=False)
    assert (again.status, again.reason) == (tree.status, tree.reason)
    with pytest.warns(pm.ConvergenceWarning, match=words):
        assert tree.extend(draws=150).posterior.sizes["draw"] == 150


@pytest.mark.parametrize("fixed", [{}, {"draws": 800, "tune": 100}])
def test_a_posterior_held_by_a_vague_prior_is_not_called_improper(fixed: dict[str, int]) -> None:
    tree = pm.sample(model=unseen_coordinate(1e6), random_seed=1, progressbar=False, **fixed)
    assert (tree.status, tree.reason) == ("converged", "")


# ---- bad input


def test_a_model_without_data() -> None:
    with pm.Model():
        pm.Normal("x", 0, 2)
        tree = pm.sample(random_seed=1, progressbar=False)
    assert tree.status == "converged"
    assert set(tree.children) == {"posterior", "sample_stats"}


def test_a_model_without_free_variables() -> None:
    with pm.Model():
        pm.Normal("y", 0, 1, observed=[1.0])
        with pytest.raises(pm.ModelError):
            pm.sample(random_seed=1, **QUIET)


def test_a_constant_deterministic_is_said_and_blocks_nothing() -> None:
    with pm.Model():
        x = pm.Normal("x")
        pm.Deterministic("zero", x * 0.0)
        pm.Deterministic("square", x**2)
        with pytest.warns(pm.ConsilienceWarning, match="`zero` has the same value in all draws"):
            tree = pm.sample(random_seed=1, stop=pm.Stop(monitor=["zero", "square"]), progressbar=False)
    assert tree.status == "converged"


def test_an_unknown_name_to_monitor_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    with model():
        pm.sample(save=pm.Save(checkpoint=tmp_path / "c"), **LONG)
        before = (tmp_path / "c").read_bytes()
        with pytest.raises(pm.ModelError, match=r"`monitor` names \['w'\]"):
            pm.sample(stop=pm.Stop(monitor="w"), save=pm.Save(checkpoint=tmp_path / "c", overwrite=True), **QUIET)
    assert (tmp_path / "c").read_bytes() == before


def test_a_start_that_is_not_finite_names_the_variable() -> None:
    with pm.Model():
        pm.Normal("x")
        pm.HalfNormal("s")
        for starts in ({"s": -1.0}, [{"s": 1.0}, {"s": -1.0}]):
            with pytest.raises(pm.ConsilienceError, match="`s`"):
                pm.sample(random_seed=1, chains=2, initvals=starts, **QUIET)


def test_starts_that_are_finite_nowhere_name_the_variable() -> None:
    with pm.Model():
        x = pm.Normal("x")
        pm.Potential("never", pm.math.log(-1.0 - x**2))
        with pytest.raises(pm.InitialPointError, match="never"):
            pm.sample(random_seed=1, **QUIET)


@pytest.mark.parametrize("chains", [1, 2, 7])
def test_any_number_of_chains(chains: int) -> None:
    with model():
        tree = pm.sample(random_seed=1, chains=chains, cores=2, **QUIET)
    assert tree.status in {"converged", "converged_with_divergences"}
    assert tree.posterior.sizes["chain"] == chains


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nuts": {"jumps": -2}}, "`jumps` must be an integer of at least 0"),
        ({"draws": 0}, "`draws` must be an integer of at least 1"),
    ],
)
def test_arguments_out_of_range(arguments: dict[str, Any], message: str) -> None:
    with model(), pytest.raises(pm.SamplingError, match=message):
        pm.sample(**arguments, random_seed=1, **QUIET)


def test_jumps_with_a_kernel_that_makes_none() -> None:
    """It samples without them, or says that it cannot; it does not fail on the way."""
    with model():
        tree = pm.sample(step=pm.Metropolis(), random_seed=1, draws=50, tune=50, **QUIET)
    assert tree.posterior.sizes["draw"] == 50


def test_no_time_at_all() -> None:
    with model():
        tree = pm.sample(random_seed=1, stop=pm.Stop(max_time=0), **QUIET)
    assert tree.status == "not_converged"
    assert "max_time=0 seconds were over" in tree.reason
    assert tree.posterior.sizes["draw"] == 0


def test_an_exception_in_the_callback_leaves_the_draws_alone() -> None:
    def clumsy(event: Event) -> None:
        raise ValueError("no more")

    with model():
        with pytest.warns(pm.ConsilienceWarning, match="clumsy raised ValueError: no more") as caught:
            tree = pm.sample(callback=clumsy, **LONG)
        assert_same_draws(tree, pm.sample(**LONG))
    assert caught[0].filename == __file__


def test_keyboard_interrupt_in_the_callback_ends_the_run() -> None:
    def enough(event: Event) -> None:
        if isinstance(event, DrawsMade):
            raise KeyboardInterrupt

    with model():
        tree = pm.sample(draws=200_000, tune=100, random_seed=1, callback=enough, **QUIET)
    assert tree.status == "interrupted"
    assert 0 < tree.posterior.sizes["draw"] < 200_000


# ---- resume


def test_a_run_resumed_at_any_moment_is_the_unbroken_one(tmp_path: Path) -> None:
    """Stopped through the callback at its n-th event, again and again."""
    with model() as m:
        unbroken = pm.sample(**LONG)
    attempts = 0

    tree = pm.sample(model=m, save=pm.Save(checkpoint=tmp_path / "c"), callback=stopping(0, DrawsMade), **LONG)
    while tree.status == "interrupted":
        attempts += 1
        assert attempts < 50
        tree = pm.resume(
            tmp_path / "c", m, cores=1 + attempts % 3, callback=stopping(attempts, DrawsMade), progressbar=False
        )
    assert_same_draws(tree, unbroken)
    for name in ("status", "reason", "worst", "gradients", "warmup_windows", "step_size", "tuning_steps", "options"):
        assert np.array_equal(tree.posterior.attrs[name], unbroken.posterior.attrs[name]), name


def test_a_run_that_had_ended_gives_its_result(tmp_path: Path) -> None:
    with model():
        tree = pm.sample(random_seed=1, save=pm.Save(checkpoint=tmp_path / "c"), **QUIET)
    with model():
        again = pm.resume(tmp_path / "c", progressbar=False)
    assert_same_draws(tree, again)
    assert again.status == "converged"
    longer = again.extend(target_ess=900, progressbar=False)
    assert_same_draws(longer, pm.resume(tmp_path / "c", model(), progressbar=False))


def test_another_model_or_other_data_are_refused(tmp_path: Path) -> None:
    """With what differs; the checkpoint stays as it is."""
    with model():
        pm.sample(random_seed=1, save=pm.Save(checkpoint=tmp_path / "c"), stop=pm.Stop(ess=100), **QUIET)
    before = (tmp_path / "c").read_bytes()
    changed = model()
    with changed:
        pm.set_data({"x": [1.0, 2.0, 4.0]})
    with pm.Model() as other:
        pm.Normal("mu", 0, 3)
    with pytest.raises(pm.SamplingError, match=r"cannot be resumed with the same draws: .*data `\w+` was .* and is"):
        pm.resume(tmp_path / "c", changed, progressbar=False)
    with pytest.raises(pm.SamplingError, match=r"cannot be resumed with the same draws: .*model was .* and is"):
        pm.resume(tmp_path / "c", other, progressbar=False)
    assert (tmp_path / "c").read_bytes() == before


def test_a_checkpoint_is_not_replaced_by_accident(tmp_path: Path) -> None:
    with model():
        first = pm.sample(random_seed=1, save=pm.Save(checkpoint=tmp_path / "c"), stop=pm.Stop(ess=100), **QUIET)
        before = (tmp_path / "c").read_bytes()
        with pytest.raises(StorageError, match="holds the checkpoint of another run"):
            pm.sample(random_seed=2, save=pm.Save(checkpoint=tmp_path / "c"), **QUIET)
        assert (tmp_path / "c").read_bytes() == before
        second = pm.sample(
            random_seed=2, save=pm.Save(checkpoint=tmp_path / "c", overwrite=True), stop=pm.Stop(ess=100), **QUIET
        )
        kept = pm.resume(tmp_path / "c", progressbar=False)
        with pytest.raises(StorageError, match="holds no checkpoint"):
            pm.resume(tmp_path / "nowhere", progressbar=False)
    assert_same_draws(kept, second)
    assert not np.array_equal(first.posterior["mu"], second.posterior["mu"])


def killed_after(seconds: float, script: str, place: Path) -> None:
    """Run a script that says when it begins, and kill it so many seconds later."""
    code = textwrap.dedent(script)
    process = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(seconds)
    process.kill()
    process.wait()
    process.stdout.close()


KILLED = """
    import os, sys
    from pathlib import Path
    import consilience as pm
    from tests.test_sample_runs import LONG, model

    place = Path(sys.argv[1])
    print("begun", flush=True)
    more = {**LONG, "callback": lambda event: __import__("time").sleep(0.01)}
    if place.exists():
        pm.resume(place, model(), progressbar=False)
    else:
        pm.sample(model=model(), save=pm.Save(checkpoint=place), **more)
"""


def check_kills(place: Path, delays: list[float]) -> None:
    with model():
        unbroken = pm.sample(**LONG)
    for delay in delays:
        killed_after(delay, KILLED, place)
        if place.exists():
            with copied(place) as copy:
                assert_same_draws(pm.resume(copy, model(), progressbar=False), unbroken)


@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_killed_and_resumed(tmp_path: Path) -> None:
    check_kills(tmp_path / "c", [0.5, 0.8])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_killed_often_and_resumed(tmp_path: Path) -> None:
    for number in range(10):
        check_kills(tmp_path / f"c{number}", [0.3 + 0.03 * number, 0.35 + 0.05 * number, 0.6])


STORED = """
    import sys
    from pathlib import Path
    import consilience as pm
    from tests.test_sample_runs import VERY_LONG, model

    place = Path(sys.argv[1])
    print("begun", flush=True)
    if (place / "c").exists():
        pm.resume(place / "c", model(), progressbar=False)
    else:
        save = pm.Save(checkpoint=place / "c", store=place / "s.zarr", overwrite=True)
        pm.sample(model=model(), save=save, **VERY_LONG)
"""
VERY_LONG = {"draws": 100_000, "tune": 100, "random_seed": 1, "stop": pm.Stop(ess=None), **QUIET}


def check_store(path: Path, unbroken: Any) -> int:
    """Draws in a store that a killed run left; they begin the unbroken run's."""
    if not (path / "zarr.json").exists():
        return 0
    with xarray.open_datatree(path, engine="zarr") as found:
        if "posterior" not in found.children:
            return 0
        count = found["posterior"].sizes["draw"]
        for name, values in found["posterior"].data_vars.items():
            np.testing.assert_array_equal(values, unbroken["posterior"][name][:, :count])
        assert count == 0 or found["sample_stats"].sizes["draw"] == count
    return count


def check_kills_of_storing(place: Path, delays: Sequence[float]) -> list[int]:
    """Kill a run, and the ones that resume it, after so many seconds; the last one comes to its end."""
    with model():
        unbroken = pm.sample(**VERY_LONG)
    seen = []
    for delay in delays:
        killed_after(delay, STORED, place)
        seen.append(check_store(place / "s.zarr", unbroken))
    if (place / "c").exists():
        assert_same_draws(pm.resume(place / "c", model(), progressbar=False), unbroken)
        assert check_store(place / "s.zarr", unbroken) == VERY_LONG["draws"]
    return seen


@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_a_killed_run_leaves_a_store_that_begins_the_final_draws(tmp_path: Path) -> None:
    check_kills_of_storing(tmp_path, [0.6, 0.9])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_runs_killed_often_leave_stores_that_begin_the_final_draws(tmp_path: Path) -> None:
    """100 kills at random moments."""
    generator = np.random.default_rng(1)
    seen = [
        count
        for number in range(20)
        for count in check_kills_of_storing(tmp_path / str(number), 0.25 + 0.6 * generator.random(5))
    ]
    assert len(seen) == 100
    assert len({*seen}) > 10


INTERRUPTED = """
    import os, random, signal, sys, threading
    import consilience as pm
    from consilience import run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pm.Model():
        pm.Normal("x", shape=50)
        begun = []
        def begin(event):
            if isinstance(event, getattr(run, sys.argv[1])) and not begun:
                begun.append(event)
                threading.Timer(float(sys.argv[2]), os.kill, (os.getpid(), signal.SIGINT)).start()
        tree = pm.sample(draws=1_000_000, tune=200, random_seed=1, progressbar=False, callback=begin)
    assert tree.status == "interrupted", tree.status
    print("kept", tree.posterior.sizes["draw"])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals work differently there")
def test_ctrl_c_at_any_moment_returns_the_draws() -> None:
    kept = []
    for event, delay in (("RunStarted", "0"), ("RunStarted", "0.02"), ("DrawsMade", "0.02")):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(INTERRUPTED), event, delay],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        kept.append(int(done.stdout.split("kept")[-1]))
    assert kept[-1] > 0


# ---- in the background


def test_a_run_in_the_background_is_the_same_run() -> None:
    with model():
        run = pm.sample(blocking=False, **LONG)
        assert isinstance(run.progress, Progress)
        assert_same_draws(run.wait(), pm.sample(**LONG))
    assert run.finished
    assert "finished: 4 chains, 300 draws each" in repr(run)
    assert run.wait() is run.draws()


def test_draws_so_far_begin_the_final_ones() -> None:
    with model():
        run = pm.sample(draws=60_000, tune=100, random_seed=1, blocking=False, **QUIET)
        while min(chain.draws for chain in run.progress.chains) == 0:
            time.sleep(0.001)
        early = run.draws()
        run.pause()
        assert run.progress.paused
        run.resume()
        final = run.stop()
    assert early.status == "interrupted"
    assert final.status in {"interrupted", "not_converged", "converged"}
    count = early.posterior.sizes["draw"]
    np.testing.assert_array_equal(early.posterior["mu"], final.posterior["mu"].isel(draw=slice(count)))


@pytest.mark.skipif(os.name == "nt", reason="signals work differently there")
def test_where_interrupts_are_ignored_a_run_goes_on_and_can_be_stopped() -> None:
    """As under nohup: the signal ends nothing, neither in the background nor in a call that waits; `stop` does."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with model():
            run = pm.sample(draws=10**6, tune=100, random_seed=1, blocking=False, **QUIET)
            while min(chain.draws for chain in run.progress.chains) == 0:
                time.sleep(0.001)
            signal.raise_signal(signal.SIGINT)
            made = run.progress.chains[0].draws
            while run.progress.chains[0].draws == made:
                time.sleep(0.001)
            assert not run.finished
            assert run.stop().status == "interrupted"
            interrupting = lambda event: signal.raise_signal(signal.SIGINT)  # noqa: E731
            waited = pm.sample(draws=50, tune=50, random_seed=1, callback=interrupting, **QUIET)
            assert waited.posterior.sizes["draw"] == 50
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_main_thread_may_leave_a_run_alone() -> None:
    """No thread stays when it is over."""
    threads = set(threading.enumerate())
    with model():
        for _ in range(3):
            run = pm.sample(blocking=False, **LONG)
            run.wait()
    gc.collect()
    assert set(threading.enumerate()) == threads


def test_signal_handlers_are_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with model():
        pm.sample(**LONG)
    assert signal.getsignal(signal.SIGINT) is before


def test_plans_are_read_from_their_plain_values() -> None:
    moved = ChainCoordinates(("z",), {"n": 30}, {"x": [0.5, 1.0]}, {"f": [[0.5], 1.0]})
    plan = ModelPlan(draws=30, names=("x",), rule=StoppingRule(target_ess=50.0), coordinates=moved)
    assert plan_from(plan.of_the_run, plan.of_the_result) == plan
