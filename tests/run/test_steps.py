"""The handle on what advances in steps: a toy estimator, and those of the library through it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import warn
from consilience.events import StepProgress
from consilience.run.steps import Background, Stepwise


class Counting(Stepwise[int]):
    """Counts, a number a step, to `most`; at a number a function is called."""

    def __init__(self, most: int, at: dict[int, Callable[[Counting], None]] | None = None, **more: Any) -> None:
        super().__init__(**more)
        self.most, self.at, self.count, self.most_seconds = most, at or {}, 0, 0.0

    def work(self) -> None:
        while self.count < self.most and self.step_and_tell():
            self.count += 1
            if self.count in self.at:
                self.at[self.count](self)
            time.sleep(1e-4)

    def result(self) -> int:
        if self.count < self.most:
            warn("stopped")
        return self.count

    def so_far(self) -> int:
        return self.count

    def where(self) -> tuple[int, int, str]:
        return self.count, self.most, f"{self.count}"


def begun(steps: Stepwise[Any]) -> Background[Any]:
    found = steps.delivered(blocking=False)
    assert isinstance(found, Background)
    return found


def test_a_handle_waits_pauses_goes_on_and_stops() -> None:
    run = begun(Counting(10**9))
    with pytest.raises(TimeoutError, match=r"not over after 0\.01 seconds; it goes on"):
        run.wait(0.01)
    run.pause()
    time.sleep(0.05)
    first = run.progress
    time.sleep(0.05)
    assert first.paused
    assert run.progress.done == first.done == run.so_far()
    assert "paused" in repr(run)
    run.resume()
    while run.so_far() == first.done:
        time.sleep(1e-3)
    assert not run.finished
    with pytest.warns(pm.ConsilienceWarning, match="stopped") as said:
        last = run.stop()
    assert said[0].filename == __file__
    assert run.wait() == run.so_far() == last > first.done
    assert run.finished
    assert begun(Counting(5)).wait() == 5


def test_a_pause_does_not_outlive_a_stop() -> None:
    run = begun(Counting(10**9))
    run.pause()
    with pytest.warns(pm.ConsilienceWarning):
        assert run.stop() < 10**9


def test_what_fails_in_the_background_is_raised_to_whoever_waits() -> None:
    def fail(steps: Counting) -> None:
        raise pm.SamplingError("no way up")

    for _ in range(2):
        run = begun(Counting(10, {3: fail}))
        with pytest.raises(pm.SamplingError, match="no way up"):
            run.wait()
    with pytest.raises(pm.SamplingError, match="no way up"):
        Counting(10, {3: fail}).delivered(blocking=True)


def test_listeners_are_told_and_may_stop_or_fail() -> None:
    """A KeyboardInterrupt of a listener is a stop; another exception is said, and ends only the listener."""
    seen: list[StepProgress] = []
    assert Counting(20, callback=seen.append).delivered(blocking=True) == 20
    assert seen[-1].done == seen[-1].most == 20

    def ending(event: Any) -> None:
        raise KeyboardInterrupt

    with pytest.warns(pm.ConsilienceWarning, match="stopped"):
        Counting(10**9, callback=ending).delivered(blocking=True)

    def failing(event: Any) -> None:
        raise ValueError("mine")

    with pytest.warns(pm.ConsilienceWarning, match="failing raised ValueError: mine"):
        assert Counting(20, callback=failing).delivered(blocking=True) == 20


def interrupt(steps: Any) -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def model() -> pm.Model:
    with pm.Model() as made:
        x = pm.Normal("x", 0, 10, shape=3)
        pm.Normal("y", x, 1, observed=np.arange(3.0))
    return made


def test_ctrl_c_gives_what_there_is() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        with pytest.warns(pm.ConsilienceWarning, match="stopped"):
            assert Counting(10**9, {7: interrupt}).delivered(blocking=True) >= 7
        own = model()
        pm.fit(10, model=own, random_seed=1, progressbar=False, converge=False)  # compiled
        late = lambda approx, hist, i: os.kill(os.getpid(), signal.SIGINT) if i == 300 else None  # noqa: E731
        with pytest.warns(pm.ConvergenceWarning, match="interrupted after [0-9]+ steps"):
            fit = pm.fit(10**7, model=own, random_seed=1, progressbar=False, converge=False, callbacks=[late])
        assert 300 <= len(fit.hist) < 10**6
    finally:
        signal.signal(signal.SIGINT, before)


def draws_of(model: pm.Model, seed: int) -> Any:
    """As a sampler that needs a while, right for no model."""
    time.sleep(0.01)
    return pm.to_inference_data({"x": np.random.default_rng(seed).normal(size=(2, 60, 3))})


CALLS: dict[str, Callable[..., Any]] = {
    "smc": lambda **more: pm.sample_smc(200, model=model(), random_seed=1, chains=2, **more),
    "fit": lambda **more: pm.fit(2000, model=model(), random_seed=1, **more),
    "fits": lambda **more: pm.fit(2000, model=model(), random_seed=1, restarts=2, **more),
    "sbc": lambda **more: pm.sbc(model(), draws_of, 6, random_seed=1, log_likelihood=False, **more),
    "power": lambda **more: pm.power(model(), lambda tree: True, 6, sampler=draws_of, random_seed=1, **more),
}


def numbers(result: Any) -> Any:
    """What a result says, to compare."""
    if isinstance(result, pm.Approximation):
        return result.parameters
    if hasattr(result, "ranks"):
        return result.ranks["x"].values
    return result.decisions if hasattr(result, "decisions") else result.posterior["x"].values


@pytest.mark.parametrize("name", CALLS)
def test_results_do_not_depend_on_where_it_runs_nor_on_pauses(name: str) -> None:
    run = CALLS[name](progressbar=False, blocking=False)
    assert isinstance(run, Background)
    run.pause()
    assert isinstance(run.progress, StepProgress)
    run.resume()
    np.testing.assert_equal(numbers(run.wait()), numbers(CALLS[name](progressbar=False)))
    assert run.progress.done > 0


def test_stopped_runs_say_so_and_give_what_there_is() -> None:
    calls = {
        "smc": lambda: pm.sample_smc(2000, pm.smc.MH, model=model(), random_seed=1, chains=2, blocking=False),
        "fit": lambda: pm.fit(10**8, model=model(), random_seed=1, converge=False, blocking=False),
        "sbc": lambda: pm.sbc(model(), draws_of, 10**4, random_seed=1, log_likelihood=False, blocking=False),
    }
    found = {}
    for name, call in calls.items():
        run = call()
        while name != "smc" and not run.progress.done:
            time.sleep(0.01)
        with pytest.warns(pm.ConvergenceWarning, match="stopped|interrupted"):
            found[name] = run.stop()
    assert found["smc"].posterior.attrs["status"] == "interrupted"
    assert np.isnan(found["smc"].posterior.attrs["log_marginal_likelihood"])
    assert 0 < len(found["fit"].hist) < 10**8
    assert 0 < found["sbc"].count < 10**4


def test_chains_have_the_same_handle() -> None:
    run = pm.sample(50, tune=50, model=model(), progressbar=False, compute_convergence_checks=False, blocking=False)
    assert isinstance(run, Background)
    assert run.so_far().posterior.sizes["chain"] == 4
    assert run.wait() is run.draws()
