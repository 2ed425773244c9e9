"""Tasks on workers of every kind: results, values that are sent once, deaths, times, stops and bad input."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import consilience as pm
from consilience.cluster import Task, Workers, pickles, tasks
from consilience.errors import ConsilienceWarning, MissingPackageError, SamplingError, TimeLimitError, WorkerLostError
from tests.cluster import work

KINDS = ["threads", "processes"]


def pool_of_two() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver"))


@pytest.fixture(scope="module")
def executors() -> Iterator[dict[str, Executor]]:
    with ThreadPoolExecutor(2) as threads, pool_of_two() as processes:
        yield {"threads": threads, "processes": processes}


@pytest.fixture(params=KINDS)
def executor(request: pytest.FixtureRequest, executors: dict[str, Executor]) -> Executor:
    return executors[request.param]


def outcomes(executor: Any, function: Any, items: Any, *values: Any, limit: float | None = None) -> dict[Any, Any]:
    with Workers(executor) as workers:
        shared = [workers.share(value, "the value") for value in values]
        ended = [task for task in workers.each(function, items, *shared, limit=limit) if task is not None]
    return {task.item: task.error or task.result() for task in ended}


def test_each_item_comes_back_once(executor: Executor) -> None:
    assert outcomes(executor, work.square, range(100)) == {n: n * n for n in range(100)}


def test_errors_are_those_of_their_tasks(executor: Executor) -> None:
    found = outcomes(executor, work.raises, range(3))
    assert [str(found[n]) for n in range(3)] == ["no 0", "no 1", "no 2"]
    assert all(type(error) is ValueError for error in found.values())


def test_an_error_that_does_not_unpickle_breaks_no_pool(executors: dict[str, Executor]) -> None:
    found = outcomes(executors["processes"], work.raises_awkwardly, range(2))
    assert str(found[1]) == "Awkward: 1 and 2"
    assert outcomes(executors["processes"], work.square, [3]) == {3: 9}


def test_a_value_is_sent_once_and_kept_by_each_worker(executor: Executor) -> None:
    found = list(outcomes(executor, work.use, range(40), work.Counted(1000)).values())
    times = [used for _, _, used in found]
    first = times.count(1)
    assert first <= 2
    assert max(times) >= 40 / first


def test_values_of_closed_workers_leave_this_process(executors: dict[str, Executor]) -> None:
    outcomes(executors["threads"], work.use, range(3), work.Counted(10))
    assert not any(isinstance(value, work.Counted) for value in tasks._values.values())


def test_python_is_interrupted_at_its_time(executor: Executor) -> None:
    found = outcomes(executor, work.sleeps, [0.05, 30.0], limit=0.3)
    assert found[0.05] == 0.05
    assert isinstance(found[30.0], TimeLimitError)


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_an_interrupt_that_a_destructor_loses_is_raised_once_more_and_told_to_nobody() -> None:
    told: list[Any] = []
    wait_for(lambda: tasks._watcher is None)
    before, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        with pytest.raises(TimeLimitError):
            tasks.called(work.dies_slowly, (30.0,), 0.1, "no name", 0)
        wait_for(lambda: sys.unraisablehook == told.append)
    finally:
        sys.unraisablehook = before
    assert told == []


def test_leaving_stops_what_runs_and_keeps_the_executor(executor: Executor) -> None:
    began = time.monotonic()
    with Workers(executor) as workers:
        for _ in range(6):
            workers.submit(work.sleeps, 60.0)
        workers.finished(0.3)
    assert time.monotonic() - began < 5.0
    assert outcomes(executor, work.square, [3]) == {3: 9}


def test_a_task_that_kills_its_workers_fails_alone(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = outcomes(pool, work.dies_if_odd, range(5))
        assert {n: isinstance(one, WorkerLostError) for n, one in found.items()} == {n: n % 2 == 1 for n in range(5)}
        assert outcomes(pool, work.dies_once, [str(tmp_path / "there")]) == {str(tmp_path / "there"): "lived"}


class OnceBroken(Executor):
    """An executor of another kind, whose workers are gone."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise BrokenExecutor("gone")


def test_a_broken_pool_of_the_user_is_replaced_or_the_way_out_is_said() -> None:
    with pool_of_two() as pool:
        pool.submit(work.dies_if_odd, 1).exception()  # the user's own task broke it
        assert outcomes(pool, work.square, range(3)) == {0: 0, 1: 1, 2: 4}
    with pytest.raises(WorkerLostError, match=r"\(OnceBroken\) died, which ends it\. Give a new one; with `store=`"):
        outcomes(OnceBroken(), work.square, [1])


def test_an_executor_that_is_shut_down_is_refused() -> None:
    for pool in (ThreadPoolExecutor(1), ProcessPoolExecutor(1)):
        pool.shutdown()
        with pytest.raises(SamplingError, match="has not been shut down"):
            outcomes(pool, work.square, [1])


def test_what_is_no_executor_is_refused() -> None:
    with pytest.raises(TypeError, match="Dask client"):
        Workers(4)


def test_other_versions_are_refused_with_both_named(
    executors: dict[str, Executor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "versions", work.other_versions)
    with pytest.raises(SamplingError, match=rf"consilience {pm.__version__} where this process has 0\.0\.0, NumPy"):
        outcomes(executors["processes"], work.square, [1])


def test_the_part_that_does_not_pickle_is_named(executors: dict[str, Executor]) -> None:
    value = work.Counted(10)
    value.inner = {"lock": threading.Lock()}  # type: ignore[attr-defined]  # that is the point
    with pytest.raises(SamplingError, match=r"as the value\.inner\['lock'\] does not pickle .*lock"):
        outcomes(executors["processes"], work.use, range(3), value)


def test_a_large_closure_is_named(executors: dict[str, Executor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "LARGE", 10**5)
    table = os.urandom(10**6)

    def size(number: int) -> int:
        return len(table) + number

    with pytest.warns(ConsilienceWarning, match=r"GiB are `table`, which size uses"):
        assert outcomes(executors["processes"], size, [1]) == {1: 10**6 + 1}


def test_cancelled_tasks_do_not_come_back(executor: Executor) -> None:
    with Workers(executor) as workers:
        tasks_ = [workers.submit(work.square, n, item=n) for n in range(6)]
        workers.cancel(tasks_[5])
        found: list[Task] = []
        while workers.pending:
            found += workers.finished()
    assert sorted(task.item for task in found) == [0, 1, 2, 3, 4]


def test_ray_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"pip install consilience\[ray\]"):
        pm.cluster.ray()
