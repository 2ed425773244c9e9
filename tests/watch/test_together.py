"""Pages of runs that are not of the plainest kind: on workers of an executor, resumed, extended."""

from __future__ import annotations

import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("zarr")

import consilience as pm  # as above
from consilience.watch import views  # as above
from consilience.watch.folder import Folder  # as above
from consilience.watch.live import Page  # as above


def shown(page: Page) -> dict[str, object]:
    """What the page of a run of this process shows."""
    return views.run(page.source(page.names()[0]), views.Clock())


def test_a_run_on_workers_of_an_executor_is_shown(tmp_path: Path) -> None:
    with pm.Model(), ThreadPoolExecutor(2) as workers:
        pm.Normal("x", shape=3)
        run = pm.sample(chains=2, random_seed=1, executor=workers, progressbar=False, blocking=False,
                        save=pm.Save(store=str(tmp_path / "a.zarr")))  # fmt: skip
        result = run.wait(100)
        live = pm.sample(chains=2, random_seed=1, executor=workers, progressbar=False, blocking=False,
                         stop=pm.Stop(ess=1e9, max_time=60))  # fmt: skip
        page = Page(live._run)
        until = time.monotonic() + 30
        while not (now := shown(page))["draws"] or not page.live.draws:
            assert time.monotonic() < until
            time.sleep(0.2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            live.stop()
    assert now["status"] == "sampling"
    found = views.run(Folder(tmp_path).source("a.zarr"), views.Clock())
    assert (found["status"], found["draws"], found["chains"]) == (result.status, result.posterior.sizes["draw"], 2)
    assert found["began"]["dimension"] == 3  # type: ignore[index]


def test_an_extended_and_a_resumed_run_go_on_in_their_page(tmp_path: Path) -> None:
    store, checkpoint = tmp_path / "a.zarr", tmp_path / "a.checkpoint"
    with pm.Model() as model:
        pm.Normal("x", shape=3)
        result = pm.sample(stop=pm.Stop(ess=300), random_seed=1, progressbar=False,
                           save=pm.Save(store=str(store), checkpoint=str(checkpoint)))  # fmt: skip
    folder, clock = Folder(store), views.Clock()
    before = views.run(folder.source("a.zarr"), clock)
    longer = result.extend(target_ess=6000)
    after = views.run(folder.source("a.zarr"), clock)
    assert before["draws"] < after["draws"] == longer.posterior.sizes["draw"]  # type: ignore[operator]
    assert after["status"] == longer.status
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resumed = pm.resume(checkpoint, model=model, progressbar=False)
    assert resumed.posterior.sizes["draw"] > 0
    assert Folder(tmp_path).names() == ["a.checkpoint", "a.zarr"]


def test_the_page_of_a_run_in_the_background_shows_its_result_at_the_end() -> None:
    with pm.Model():
        pm.Normal("x", shape=3)
        run = pm.sample(random_seed=1, progressbar=False, blocking=False)
    page = Page(run._run)
    run._run.page = page
    shown(page)
    result = run.wait(60)
    page.ended(result)
    found = shown(page)
    assert (found["status"], found["draws"]) == (result.status, result.posterior.sizes["draw"])
    assert found["prior"]


def test_in_a_notebook_the_page_stands_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    shell = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=object()), display=SimpleNamespace(display=seen.append)
    )
    monkeypatch.setitem(sys.modules, "IPython", shell)
    with pm.Model():
        pm.Normal("x")
        run = pm.sample(random_seed=1, progressbar=False, blocking=False)
    server = run.watch(port=0)
    run.wait(60)
    server.close()
    assert seen == [server]
    assert f'<iframe src="{server.address}"' in server._repr_html_()
