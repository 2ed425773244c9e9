"""Runs of particles: threads, files that outlive a kill, what is shown, and what goes wrong."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConvergenceWarning, SamplingError, StorageError
from consilience.estimators.smc import running
from consilience.events import StepProgress
from consilience.output.display.step_line import StepLine
from tests.run.support import copied

STORY = """
import time
import numpy as np
import consilience as pm
from consilience.estimators.smc import running

def model():
    x = np.random.default_rng(0).normal(size=(50, 3))
    with pm.Model() as found:
        b = pm.Normal("b", 0, 10, shape=3)
        s = pm.HalfNormal("s", 1)
        pm.Normal("y", x @ b, s, observed=x @ np.array([1.0, -2.0, 0.5]) + np.sin(np.arange(50)))
    return found

SETTINGS = dict(draws=300, kernel=pm.smc.HMC, random_seed=5, chains=2, progressbar=False)
"""
STORIES: dict[str, Any] = {}
exec(STORY, STORIES)


def draws(result: Any) -> Any:
    return np.concatenate([result["posterior"]["b"].values, result["posterior"]["s"].values[..., None]], axis=-1)


@pytest.mark.parametrize("settings", [{}, {"kernel": pm.smc.HMC}, {"kernel": pm.smc.MH, "waste_free": 10}])
def test_draws_do_not_depend_on_the_number_of_threads(settings: dict[str, Any]) -> None:
    """Of one chain, whose particles are divided, and of three."""
    model = STORIES["model"]()
    for chains in (1, 3):
        found = [
            draws(pm.sample_smc(500, model=model, random_seed=5, chains=chains, cores=n, progressbar=False, **settings))
            for n in (1, 2, 8)
        ]
        assert all((one == found[0]).all() for one in found)


def test_all_places_of_waste_free_particles_are_draws() -> None:
    """As many as were asked for, also of paths longer than those that end by the rule."""
    settings = {**STORIES["SETTINGS"], "draws": 500, "kernel": pm.smc.MH}
    for path in (2, 250):
        result = pm.sample_smc(model=STORIES["model"](), **settings, waste_free=path)
        assert draws(result).shape == (2, 500, 4)
        assert (result["sample_stats"]["moves"].values[:, 0] == path - 1).all()
        assert abs(result["posterior"]["b"].values.mean((0, 1)) - np.array([1.0, -2.0, 0.5])).max() < 0.5


def test_a_killed_run_goes_on_with_the_draws_it_would_have_had(tmp_path: Path) -> None:
    """Killed without warning between any two stages, several times; what is left is read by this process."""
    model, settings = STORIES["model"](), STORIES["SETTINGS"]
    expected = pm.sample_smc(model=model, **settings)
    place = tmp_path / "run"
    program = STORY + textwrap.dedent("""
        import sys
        once = running.advanced
        def slow(*given):
            time.sleep(0.1)
            return once(*given)
        running.advanced = slow
        running.Checkpoint.keep = lambda self, state, last, keep=running.Checkpoint.keep: keep(self, state, True)
        print("begun", flush=True)
        if len(sys.argv) > 2:
            pm.smc.resume(sys.argv[1], model(), progressbar=False)
        else:
            pm.sample_smc(model=model(), save=pm.Save(checkpoint=sys.argv[1]), **SETTINGS)
    """)
    for attempt in range(2):
        command = [sys.executable, "-c", program, str(place), *(["again"] if attempt else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            before = place.stat().st_mtime if place.exists() else 0.0
            while not place.exists() or place.stat().st_mtime <= before:
                assert process.poll() is None
                time.sleep(0.01)
            time.sleep(0.35)
            process.kill()
        with copied(place) as copy:
            found = pm.smc.resume(copy, model, cores=1 + attempt, progressbar=False)
        assert (draws(found) == draws(expected)).all()
        for name in ("log_marginal_likelihood", "beta", "acceptance_rate"):
            np.testing.assert_array_equal(found["sample_stats"][name], expected["sample_stats"][name])


def test_a_run_that_had_ended_gives_its_result(tmp_path: Path) -> None:
    model, settings = STORIES["model"](), STORIES["SETTINGS"]
    place = tmp_path / "run"
    result = pm.sample_smc(model=model, save=pm.Save(checkpoint=place), **settings)
    assert (draws(pm.smc.resume(place, model, progressbar=False)) == draws(result)).all()
    with pytest.raises(StorageError, match="checkpoint of another run"):
        pm.sample_smc(model=model, save=pm.Save(checkpoint=place), **settings)
    pm.sample_smc(model=model, save=pm.Save(checkpoint=place, overwrite=True), **settings)
    with pytest.raises(SamplingError, match=r"one of `pm.sample_smc`; go on with it by `pm.smc.resume`"):
        pm.resume(place, model)
    with pm.Model() as other:
        pm.Normal("y", pm.Normal("x"), 1, observed=0.0)
    with pytest.raises(SamplingError, match="cannot be resumed with the same draws: model was"):
        pm.smc.resume(place, other)
    with pytest.raises(StorageError, match="no checkpoint"):
        pm.smc.resume(tmp_path / "nothing", model)
    chains = tmp_path / "chains"
    pm.sample(
        20,
        tune=20,
        model=model,
        chains=1,
        save=pm.Save(checkpoint=chains),
        progressbar=False,
        compute_convergence_checks=False,
    )
    with pytest.raises(SamplingError, match=r"is one of `pm.sample`; go on with it by `pm.resume`"):
        pm.smc.resume(chains, model)


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends it after the stages under way, which are kept, and gives what there is with a warning."""
    model, settings = STORIES["model"](), STORIES["SETTINGS"]
    expected = pm.sample_smc(model=model, **settings)
    once, place = running.advanced, tmp_path / "run"

    def interrupting(population: Any, *given: Any) -> Any:
        if len(population.betas) == 2:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # any other thread may sleep on
            time.sleep(0.5)  # until the main thread has it, also on a busy machine
        return once(population, *given)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        with monkeypatch.context() as patched:
            patched.setattr(running, "advanced", interrupting)
            with pytest.warns(pm.ConvergenceWarning, match="stopped at the power"):
                early = pm.sample_smc(model=model, save=pm.Save(checkpoint=place), cores=1, **settings)
    finally:
        signal.signal(signal.SIGINT, before)
    assert early["posterior"].attrs["status"] == "interrupted"
    assert np.isnan(early["sample_stats"]["log_marginal_likelihood"]).any()
    assert (draws(pm.smc.resume(place, model, progressbar=False)) == draws(expected)).all()


def test_a_simulator_is_resumed(tmp_path: Path) -> None:
    """Models are equal if simulating functions have equal code, and differ by that or by their settings."""

    def made(epsilon: float, width: int = 1) -> pm.Model:
        with pm.Model() as model:
            mu = pm.Normal("mu")
            if width == 1:
                simulate = lambda rng, m, size: rng.normal(m, 1, size)  # noqa: E731  # twice the same name
            else:
                simulate = lambda rng, m, size: rng.normal(m, 2, size)  # noqa: E731
            pm.Simulator("s", simulate, mu, epsilon=epsilon, observed=np.ones(3))
        return model

    place = tmp_path / "run"
    first = pm.sample_smc(
        100, pm.smc.MH, model=made(1.0), save=pm.Save(checkpoint=place), random_seed=1, chains=1, progressbar=False
    )
    again = pm.smc.resume(place, made(1.0), progressbar=False)
    assert (first["posterior"]["mu"].values == again["posterior"]["mu"].values).all()
    for other in (made(2.0), made(1.0, 2)):
        with pytest.raises(SamplingError, match="cannot be resumed with the same draws: model was"):
            pm.smc.resume(place, other)


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_stages_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that is redrawn, and ends with a new line; in files seldom; never with `progressbar=False`."""
    monkeypatch.setattr("consilience.output.display.step_line.FIRST", (0.0, 0.0))
    monkeypatch.setattr(running, "INTERVAL", 0.01)
    for stream, shown in ((Screen(), True), (io.StringIO(), True), (Screen(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        pm.sample_smc(model=STORIES["model"](), **{**STORIES["SETTINGS"], "progressbar": shown})
        text = stream.getvalue()
        if not shown:
            assert not text
            continue
        assert text.endswith("\n")
        assert ("\r" in text) == stream.isatty()
        last = text.strip().splitlines()[-1].split("\r")[-1]
        assert "power 1 · " in last
        assert "2 of 2 chains done" in last
    StepLine(Screen()).finish(StepProgress(1, None, "", 0.0, False))


def test_one_warning_tells_of_particles_that_did_not_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consilience.estimators.smc.moves.MOST_MOVES", 3)
    with pytest.warns(ConvergenceWarning, match=r"stages particles still resembled") as found:
        pm.sample_smc(model=STORIES["model"](), **{**STORIES["SETTINGS"], "kernel": pm.smc.MH})
    assert len(found) == 1
    quiet = {"compute_convergence_checks": False, "blas_cores": 1, "return_inferencedata": True}
    pm.sample_smc(model=STORIES["model"](), **{**STORIES["SETTINGS"], "kernel": pm.smc.MH, **quiet})


def test_tempering_that_stalls_says_so() -> None:
    """All proposals fall where the likelihood is 0."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=4)
        pm.Potential("line", pm.math.where(pm.math.eq(x[0], x[1]), -50 * pm.math.sum(x**2), -np.inf))
    start = {"x": np.random.default_rng(1).normal(size=(64, 1)) * np.ones(4)}
    with pytest.raises(SamplingError, match=r"stalled at the power.*500 moves.*different particles in 4 dimensions"):
        pm.sample_smc(64, pm.smc.IMH, model=model, start=start, random_seed=1, chains=1, progressbar=False)


def test_other_mistakes_are_told() -> None:
    model = STORIES["model"]()
    with pytest.raises(SamplingError, match=r"`kernel` must be pm.smc.IMH, pm.smc.MH or pm.smc.HMC.*NUTS"):
        pm.sample_smc(100, pm.NUTS, model=model)
    for settings, message in (
        ({"waste_free": 7}, "must divide `draws`=100"),
        ({"waste_free": 100}, "must divide `draws`=100"),
        ({"draws": 101, "waste_free": True}, "possible are none"),
        ({"kernel": pm.smc.HMC, "target_accept": 1.5}, "`target_accept` must lie between 0 and 1"),
        ({"kernel": pm.smc.HMC, "max_steps": 0}, "`max_steps` must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            pm.sample_smc(**{"draws": 100, "model": model, **settings})
    for settings, message in (
        ({"draws": 100.5}, "`draws` must be a whole number"),
        ({"chains": "2"}, "`chains` must be a whole number"),
        ({"treshold": 0.5}, "no .*`treshold`.*`threshold`"),
        ({"kernel": pm.smc.MH(), "threshold": 0.4}, "`kernel` has its settings already"),
    ):
        with pytest.raises(TypeError, match=message):
            pm.sample_smc(**{"draws": 100, "model": model, **settings})
    with pm.Model() as infinite:
        x = pm.Normal("x")
        pm.Potential("p", pm.math.where(x > 0, np.inf, 0.0))
    with pytest.raises(SamplingError, match="log likelihood is infinite"):
        pm.sample_smc(100, model=infinite, random_seed=1, progressbar=False)
