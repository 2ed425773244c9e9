"""Chains on workers of an executor make the draws of chains on threads, whatever becomes of the workers."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.cluster import pickles, tasks
from consilience.cluster.executors import Adapter
from consilience.compile.ops import as_op
from consilience.errors import SamplingError, StorageError, WorkerLostError
from consilience.output.storage.files import lock
from consilience.run.remote import dispatcher
from tests.cluster.work import other_versions

LENGTHS = {"draws": 60, "tune": 60}


class KilledWorker(Exception):
    """As Dask's, by which the death of a worker is known."""


class Elsewhere(Adapter):
    """A worker that shares nothing with the run: what goes to it and comes back is pickled.

    fate   of each task by its number: "lost", "silent" for ever, or None
    """

    isolates = True

    def __init__(self, fate: Callable[[int], str | None] = lambda number: None) -> None:
        super().__init__(ThreadPoolExecutor(2))
        self.fate, self.sent, self.silent = fate, 0, list[Future[Any]]()

    def count(self) -> int:
        return 2

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.sent += 1
        match self.fate(self.sent):
            case "silent":
                self.silent.append(Future())
                return self.silent[-1]
            case "lost":
                return self.executor.submit(self._die)
        return self.executor.submit(
            lambda: pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(arguments)))))
        )

    @staticmethod
    def _die() -> None:
        raise KilledWorker("the worker is gone")


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        yield processes


def normals() -> pm.Model:
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0, shape=2)
        pm.Normal("y", mu.sum(), 1.0, observed=np.array([1.0, 2.0]))
    return model


def mixed() -> pm.Model:
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.5, shape=2)
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.Normal("y", mu + z.sum(), 1.0, observed=np.array([1.0, 2.0]))
    return model


def drawn(model: pm.Model, **others: Any) -> Any:
    settings = {"random_seed": 3, "progressbar": False, "compute_convergence_checks": False, **LENGTHS, **others}
    return pm.sample(model=model, **settings)


def assert_same(one: Any, other: Any) -> None:
    assert one.posterior.sizes == other.posterior.sizes
    for group in ("posterior", "sample_stats"):
        for name, values in one[group].data_vars.items():
            np.testing.assert_array_equal(values.values, other[group][name].values, err_msg=name)


METHODS: dict[str, tuple[Callable[[], pm.Model], Callable[[], Any], dict[str, Any]]] = {
    "nuts": (normals, lambda: None, {}),
    "turns": (mixed, lambda: [pm.BinaryGibbsMetropolis(["z"]), pm.Metropolis(["mu"])], {}),
    "a chain's own past": (normals, lambda: pm.DEMetropolisZ(), {}),
    "a population": (normals, lambda: pm.DEMetropolis(), {"chains": 5}),
    "slice": (normals, lambda: pm.Slice(), {}),
}


@pytest.mark.parametrize("method", METHODS)
def test_draws_are_those_of_threads(method: str) -> None:
    make, step, others = METHODS[method]
    model = make()
    assert_same(drawn(model, step=step(), **others), drawn(model, step=step(), executor=Elsewhere(), **others))


def test_draws_of_another_process_are_those_of_threads(pool: ProcessPoolExecutor) -> None:
    model = normals()
    ended = {"draws": None, "tune": None, "stop": pm.Stop(ess=100, min_draws=50)}
    assert_same(drawn(model, **ended), drawn(model, **ended, executor=pool))


def test_draws_do_not_depend_on_how_far_a_task_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "LONGEST", 0.0)
    elsewhere = Elsewhere()
    model = normals()
    assert_same(drawn(model, draws=15, tune=10), drawn(model, draws=15, tune=10, executor=elsewhere))
    assert elsewhere.sent >= 4 * 25


def test_lost_workers_cost_time_and_no_draw() -> None:
    events: list[Any] = []
    model = normals()
    lossy = Elsewhere(lambda number: "lost" if number % 3 == 2 else None)
    assert_same(drawn(model), drawn(model, executor=lossy, callback=events.append))
    assert any("done again" in event.reason for event in events if isinstance(event, pm.events.WorkerNotice))


def test_what_a_frozen_worker_was_at_is_done_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "PATIENCE", 0.05)
    monkeypatch.setattr(dispatcher, "FIRST_PATIENCE", 5.0)
    monkeypatch.setattr(dispatcher, "LOOK", 0.02)
    frozen = Elsewhere(lambda number: "silent" if number == 7 else None)
    model = normals()
    assert_same(drawn(model), drawn(model, executor=frozen))
    assert len(frozen.silent) == 1


def test_a_run_whose_workers_are_all_gone_keeps_its_draws_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    model = normals()
    whole = drawn(model, draws=2000)
    gone = threading.Event()

    def stop(event: Any) -> None:
        if isinstance(event, pm.events.DrawsMade):
            gone.set()

    checks = {"draws": None, "tune": 60, "stop": pm.Stop(ess=1e9, min_draws=50, max_draws=2000)}
    where = tmp_path / "run"
    with pytest.warns(pm.errors.ConsilienceWarning, match="cut short.*worker"):
        cut = drawn(
            model, **checks, callback=stop, save=pm.Save(checkpoint=where),
            executor=Elsewhere(lambda number: "lost" if gone.is_set() else None),
        )  # fmt: skip
    assert cut.status == "interrupted"
    assert 0 < cut.posterior.sizes["draw"] < 2000
    further = pm.resume(where, model, executor=Elsewhere(), progressbar=False)
    np.testing.assert_array_equal(further.posterior["mu"], whole.posterior["mu"])


def test_a_run_whose_workers_are_gone_at_once_says_so() -> None:
    with pytest.raises(SamplingError, match="worker died"):
        drawn(normals(), executor=Elsewhere(lambda number: "lost"))


def test_a_scheduler_that_does_not_answer_is_waited_for_and_told_of() -> None:
    looks = iter(range(1000))

    class Unreliable(Elsewhere):
        def away(self) -> str:
            return "the scheduler does not answer" if self.sent > 8 and next(looks) < 5 else ""

    events: list[Any] = []
    model = normals()
    assert_same(drawn(model), drawn(model, executor=Unreliable(), callback=events.append))
    told = [event.reason for event in events if isinstance(event, pm.events.WorkerNotice)]
    assert told[0] == "the scheduler does not answer"
    assert "answers again" in told[1]


def test_a_run_whose_scheduler_is_gone_while_it_tunes_names_the_call_that_goes_on(tmp_path: Path) -> None:
    class Gone(Elsewhere):
        def away(self) -> str:
            if self.sent > 8:
                raise WorkerLostError("the scheduler is gone.")
            return ""

    where = tmp_path / "run"
    model = normals()
    with pytest.raises(WorkerLostError, match=r"the scheduler is gone\. Continue with `pm.resume\(.*run', executor"):
        drawn(model, tune=400, executor=Gone(), save=pm.Save(checkpoint=where))
    assert_same(drawn(model, tune=400), pm.resume(where, model, executor=Elsewhere(), progressbar=False))


def test_what_becomes_of_workers_without_an_error_is_told() -> None:
    class Talking(Elsewhere):
        def count(self) -> int:
            self.news = ["a worker is gone"] * (not events)
            return 2

    events: list[Any] = []
    drawn(normals(), executor=Talking(), callback=events.append)
    assert pm.events.WorkerNotice("a worker is gone") in events


def test_pauses_and_extensions_change_no_draw() -> None:
    model = normals()
    background = drawn(model, executor=Elsewhere(), blocking=False)
    background.pause()
    time.sleep(0.05)
    background.resume()
    short = background.wait()
    assert_same(drawn(model), short)
    assert_same(drawn(model).extend(draws=150), short.extend(draws=150))


def test_a_stop_keeps_what_all_chains_have_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "LONGEST", 0.0)
    model = normals()
    background = drawn(model, draws=100_000, tune=10, executor=Elsewhere(), blocking=False)
    while background.progress.chains[0].draws < 5:
        time.sleep(0.01)
    background.stop()
    cut = background.wait()
    count = cut.posterior.sizes["draw"]
    assert 0 < count < 100_000
    np.testing.assert_array_equal(cut.posterior["mu"], drawn(model, draws=count, tune=10).posterior["mu"])


def test_an_executor_that_was_shut_down_is_refused_by_name() -> None:
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(SamplingError, match=r"ThreadPoolExecutor.*shut down"):
        drawn(normals(), executor=closed)


def test_what_does_not_pickle_is_named() -> None:
    with pm.Model() as model:
        x = pm.Normal("x")
        lock = threading.Lock()
        pm.Potential("p", pm.math.sqr(x))
        model.add_coord("a", [1])
        model.remarks = lock  # type: ignore[attr-defined]  # whatever a user may hang on a model
    with pytest.raises(SamplingError, match=r"the model can't be sent to workers.*remarks"):
        drawn(model, executor=Elsewhere())


def test_an_executor_and_lock_step_exclude_each_other() -> None:
    with pytest.raises(SamplingError, match="`executor`"):
        drawn(normals(), backend="jax", executor=Elsewhere())


def test_workers_of_other_versions_are_refused_with_both_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "versions", other_versions)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as there,
        pytest.raises(
            SamplingError, match=rf"consilience {pm.__version__} where this process has 0\.0\.0, NumPy {np.__version__}"
        ),
    ):
        drawn(normals(), executor=there)


def test_a_density_of_the_session_goes_with_cloudpickle_or_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.CustomDist("y", mu, logp=lambda value, mu: -((value - mu) ** 2), observed=[0.5])
    assert_same(drawn(model), drawn(model, executor=Elsewhere()))
    monkeypatch.setattr(pickles, "find_spec", lambda name: None)
    with pytest.raises(SamplingError, match=r"the model can't be sent to workers.*`pip install cloudpickle` lets"):
        drawn(model, executor=Elsewhere())


def test_a_table_that_a_density_carries_is_named_if_it_is_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "LARGE", 10**5)
    table = np.zeros(10**5)

    @as_op(itypes=[pt.dvector], otypes=[pt.dscalar])
    def density(x: Any) -> Any:
        return np.asarray(-0.5 * (x**2).sum() + table[0])

    with pm.Model() as model:
        pm.Potential("p", density(pm.Normal("x", shape=2)))
    with pytest.warns(pm.errors.ConsilienceWarning, match=r"the model goes to each worker with .* GiB are `table`"):
        drawn(model, step=pm.Metropolis(), executor=Elsewhere())


def test_stores_are_written_here_whatever_folders_workers_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their path need not be shared: a relative one is of this process, and workers elsewhere write nothing."""
    pytest.importorskip("zarr")
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    model = normals()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=os.chdir, initargs=(there,)) as pool:
        assert_same(drawn(model), drawn(model, executor=pool, save=pm.Save(store="run.zarr")))
    assert [path.name for path in here.iterdir() if path.suffix != ".lock"] == ["run.zarr"]
    assert not list(there.iterdir())
    with lock(here / "run.zarr"), pytest.raises(StorageError, match="being written by another run"):
        drawn(model, executor=Elsewhere(), save=pm.Save(store="run.zarr", overwrite=True))
