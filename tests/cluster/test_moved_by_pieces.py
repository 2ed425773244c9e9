"""Populations of `pm.sample_smc` and ascents of `pm.fit` on workers are those of threads, however they are cut."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
from consilience.errors import ConvergenceWarning, SamplingError, WorkerLostError
from consilience.estimators.smc import running
from consilience.estimators.variational import fitting
from tests.run.test_remote_chains import Elsewhere

X = np.random.default_rng(0).normal(size=(50, 3))
PLACES: dict[str, Callable[[], Executor | Elsewhere]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    "what is pickled": Elsewhere,
}
KERNELS: list[dict[str, Any]] = [{}, {"kernel": pm.smc.HMC}, {"kernel": pm.smc.MH, "waste_free": 10}]


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one stage, and of one block of steps, where they are cut in this process."""
    monkeypatch.setattr(running, "PIECE", 0.0)
    monkeypatch.setattr(fitting, "PIECE", 0.0)


def regression() -> pm.Model:
    with pm.Model() as model:
        b, s = pm.Normal("b", 0, 10, shape=3), pm.HalfNormal("s", 1)
        pm.Normal("y", X @ b, s, observed=X @ np.array([1.0, -2.0, 0.5]) + np.sin(np.arange(50)))
    return model


def populations(**others: Any) -> Any:
    settings = {"draws": 300, "model": regression(), "random_seed": 5, "chains": 3, "progressbar": False}
    return pm.sample_smc(**{**settings, **others})


def ascents(**others: Any) -> Any:
    settings = {"model": regression(), "random_seed": 5, "restarts": 3, "progressbar": False, "check": False}
    return pm.fit(400, **{**settings, "obj_optimizer": pm.adam(learning_rate=0.02), **others})


def assert_same_draws(one: Any, other: Any) -> None:
    for group in ("posterior", "sample_stats"):
        xr.testing.assert_equal(one[group].to_dataset(), other[group].to_dataset())


def assert_same_fit(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.parameters, other.parameters)
    np.testing.assert_array_equal(one.hist, other.hist)
    assert (one.elbo, one.converged) == (other.elbo, other.converged)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")  # how far an ascent comes is not the point
@pytest.mark.parametrize("place", PLACES)
def test_draws_and_fits_do_not_depend_on_where_they_are_made(place: str) -> None:
    executor = PLACES[place]()
    try:
        for kernel in KERNELS:
            assert_same_draws(populations(**kernel), populations(**kernel, executor=executor))
        for method in ("advi", "fullrank_advi", "asvgd", "planar"):
            optimizer = {"obj_optimizer": None} if method == "fullrank_advi" else {}  # the natural gradient
            assert_same_fit(ascents(method=method, **optimizer), ascents(method=method, executor=executor, **optimizer))
        assert_same_fit(ascents(restarts=1, converge=False), ascents(restarts=1, converge=False, executor=executor))
    finally:
        getattr(executor, "executor", executor).shutdown()


def test_a_fit_goes_on_from_one_that_was_made_elsewhere() -> None:
    """With the memory of its rule of steps, wherever the further steps are made."""
    here, there = pm.ADVI(model=regression(), random_seed=2), pm.ADVI(model=regression(), random_seed=2)
    settings = {"obj_optimizer": pm.adam(), "converge": False, "check": False, "progressbar": False}
    for inference, executor in ((here, None), (there, Elsewhere())):
        inference.fit(100, **settings, executor=executor)
        inference.refine(100, obj_optimizer=pm.adam(), check=False, progressbar=False, executor=executor)
    assert_same_fit(here.approx, there.approx)
    assert len(here.hist) == 200


def test_a_worker_that_is_killed_costs_no_draw() -> None:
    expected = populations()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        killed: list[int] = []

        def kill(event: Any) -> None:
            if pool._processes and not killed:
                killed.append(next(iter(pool._processes)))
                os.kill(killed[0], signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)

        assert_same_draws(expected, populations(executor=pool, callback=kill))
    assert killed


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
@pytest.mark.parametrize("make", [populations, ascents])
def test_a_piece_that_its_executor_gives_up_is_sent_again_and_not_for_ever(make: Callable[..., Any]) -> None:
    same = assert_same_draws if make is populations else assert_same_fit
    often = Elsewhere(lambda number: "lost" if number in (1, 2, 6, 9, 13, 14, 15) else None)
    same(make(), make(executor=often))
    assert often.sent > 15
    never = Elsewhere(lambda number: "lost")
    with pytest.raises(WorkerLostError, match=r"given up 4 times: its worker died \(KilledWorker\).*too little memory"):
        make(executor=never)
    assert never.sent <= 3 * 4


def test_populations_that_lost_their_workers_go_on_from_their_checkpoint(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with pytest.raises(WorkerLostError, match="its worker died"):
        populations(executor=Elsewhere(lambda number: "lost" if number > 12 else None), save=pm.Save(checkpoint=place))
    further = pm.smc.resume(place, regression(), executor=Elsewhere(), progressbar=False)
    assert_same_draws(populations(), further)


def test_a_stop_gives_what_there_is() -> None:
    def stop(event: Any) -> None:
        if event.done:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="the run was stopped at the power"):
        cut = populations(executor=Elsewhere(), callback=stop)
    assert cut.posterior.attrs["status"] == "interrupted"
    assert np.isnan(cut.sample_stats["log_marginal_likelihood"]).any()

    handle = ascents(restarts=1, executor=Elsewhere(), blocking=False, converge=False)
    while not handle.progress.done:
        time.sleep(0.001)
    handle.pause()
    time.sleep(0.2)  # what was under way comes back
    before = handle.progress.done
    time.sleep(0.2)
    assert handle.progress.done == before
    with pytest.warns(ConvergenceWarning, match=r"the fit was interrupted after \d+ steps"):
        part = handle.stop()
    assert 0 < len(part.hist) < 400
    np.testing.assert_array_equal(part.hist, ascents(restarts=1, converge=False).hist[: len(part.hist)])


def test_ascents_that_run_off_are_left_out_and_errors_of_all_are_raised() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0, shape=1)
        pm.Potential("p", pm.math.switch(x < -20.0, x**4, 0.0))
    settings: dict[str, Any] = {
        "model": model, "start_sigma": {"x": 0.01}, "random_seed": 1, "executor": Elsewhere(), "progressbar": False
    }  # fmt: skip
    found = pm.fit(restarts=6, start={"x": -19.8}, **settings)
    assert found.mean.eval() == pytest.approx(0.0, abs=0.05)
    with pytest.raises(SamplingError, match="ran off along"):
        pm.fit(start={"x": -25.0}, restarts=2, **settings)


def test_callbacks_and_executors_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="`callbacks` see an ascent in this process; leave out `executor`"):
        ascents(restarts=1, callbacks=[print], executor=Elsewhere())


def test_a_shut_down_executor_is_refused_by_both() -> None:
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    for function in (populations, ascents):
        with pytest.raises(SamplingError, match=r"ThreadPoolExecutor.*shut down"):
            function(executor=closed)
