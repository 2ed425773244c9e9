"""The draws of a run are those of threads on a process pool, on Dask and on Ray, through pauses and extensions, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.cluster import executors
from consilience.errors import ConsilienceWarning
from tests.run.test_remote_chains import assert_same, drawn, mixed, normals


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 3, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    module = pytest.importorskip("ray")
    module.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        yield pm.cluster.ray()
    finally:
        module.shutdown()


def eight_schools() -> pm.Model:
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        effects = pm.Normal("effects", mu, tau, shape=8)
        error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
        pm.Normal("y", effects, error, observed=np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]))
    return model


def process() -> pm.Model:
    where = np.linspace(0.0, 1.0, 12)[:, None]
    with pm.Model() as model:
        length = pm.Gamma("length", 2.0, 4.0)
        field = pm.gp.Marginal(cov_func=pm.gp.cov.Matern52(1, ls=length))
        field.marginal_likelihood("y", X=where, y=np.sin(5.0 * where[:, 0]), sigma=pm.HalfNormal("sigma", 0.5))
    return model


PROBLEMS: dict[str, tuple[Callable[[], pm.Model], Callable[[], Any]]] = {
    "eight schools": (eight_schools, lambda: None),
    "a compound": (mixed, lambda: [pm.BinaryGibbsMetropolis(["z"]), pm.Metropolis(["mu"])]),
    "a chain's own past": (normals, lambda: pm.DEMetropolisZ()),
    "a Gaussian process": (process, lambda: None),
}
CHECKED: dict[str, Any] = {"draws": None, "stop": pm.Stop(ess=1e9, min_draws=50, max_draws=600)}


@pytest.mark.parametrize("executor", ["processes", "dask", "ray"])
def test_draws_are_those_of_threads_whatever_the_executor(
    executor: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    workers = request.getfixturevalue(executor)
    for name, (make, step) in PROBLEMS.items():
        model = make()
        threads = drawn(model, step=step())
        whole = drawn(model, step=step(), executor=workers)
        assert_same(threads, whole)
        background = drawn(model, step=step(), executor=workers, blocking=False)
        background.pause()
        background.resume()
        assert_same(threads, background.wait())
        assert_same(threads.extend(draws=90), whole.extend(draws=90))
        unbroken = drawn(model, step=step(), **CHECKED)
        assert_same(unbroken, resumed(model, step(), workers, tmp_path / name))


def resumed(model: pm.Model, step: Any, workers: Any, where: Path) -> Any:
    """A run that was stopped after its first draws and taken up from its checkpoint."""

    def stop(event: Any) -> None:
        if isinstance(event, pm.events.DrawsMade):
            raise KeyboardInterrupt

    drawn(model, step=step, executor=workers, callback=stop, save=pm.Save(checkpoint=where), **CHECKED)
    return pm.resume(where, model, executor=workers, progressbar=False)


def test_a_dask_cluster_without_workers_is_told_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "VACANT", 0.5)
    model, events = normals(), list[Any]()
    settings = {"n_workers": 0, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:

        def listen(event: Any) -> None:
            if isinstance(event, pm.events.WorkerNotice):
                events.append(event.reason)
                cluster.scale(1)

        with pytest.warns(ConsilienceWarning, match=r"the Dask cluster at tcp://.* has no workers; this waits until"):
            found = drawn(model, executor=client, callback=listen)
    assert "has no workers" in events[0]
    assert_same(drawn(model), found)
