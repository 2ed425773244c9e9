"""Pages that stay open: a tab that sleeps for an hour, two tabs, a run that ends meanwhile, a thousand runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
import urllib.request
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.watch.folder import Folder
from tests.watch.stores import Make, begin, make, moment
from tests.watch.test_page import CHROMIUM, Seen, browser, seen, server

__all__ = ["browser", "make", "seen"]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="pages are looked at with Chromium")
DRAWS = "document.querySelector('.figures dd')?.firstChild.textContent"


@needs_browser
def test_a_tab_wakes_after_an_hour_to_the_end_that_another_saw(seen: Seen, browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    with pm.Model():
        mu = pm.Normal("mu", 0, 5)
        pm.Normal("y", mu, 1, observed=rng.normal(size=20))
        run = pm.sample(stop=pm.Stop(ess=1e7, max_time=120), random_seed=1, cores=1, progressbar=False, blocking=False,
                        save=pm.Save(store=str(tmp_path / "a.zarr")))  # fmt: skip
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()
    other = Seen(browser.new_page(viewport={"width": 900, "height": 700}))
    seen.page.clock.install()
    try:
        for tab in (seen, other):
            tab.page.goto(f"{shown.address}#run=a.zarr")
            tab.page.wait_for_selector(".badge:has-text('sampling')")
        sleeping = seen.page.context.new_cdp_session(seen.page)
        sleeping.send("Page.setWebLifecycleState", {"state": "frozen"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.stop()
            result = run.wait(60)
        other.page.wait_for_selector(".badge:has-text('interrupted')")
        sleeping.send("Page.setWebLifecycleState", {"state": "active"})
        seen.page.clock.fast_forward("01:00:00")
        seen.page.wait_for_selector(".badge:has-text('interrupted')")
        draws = f"{result.posterior.sizes['draw']:,}"
        for tab in (seen, other):
            tab.wait_until(f"{DRAWS} === '{draws}'")
            tab.page.wait_for_selector("article.trace canvas")
            assert tab.page.locator(".advances").count() == 0
            assert tab.faults == []
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.stop()
        other.page.close()
        shown.close()


def many(folder: Path, one: Path, count: int) -> int:
    """Copies of a store, with stores that are broken and files that are none; how many of these are listed as runs."""
    for number in range(1, count):
        shutil.copytree(one, folder / f"run{number:04}.zarr", copy_function=os.link)
    broken = [b"", b"{", b"[]", b'{"zarr_format": 2}', b'{"consolidated_metadata": {"metadata": {}}}', b"\xff\xfe"]
    for number, text in enumerate(broken):
        (folder / f"broken{number}.zarr").mkdir()
        (folder / f"broken{number}.zarr" / "zarr.json").write_bytes(text)
    (folder / "half.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    (folder / "notes.txt").write_text("not a run", encoding="utf-8")
    (folder / "table.nc").write_bytes(b"not HDF")
    (folder / "elsewhere.zarr").symlink_to(one)
    (folder / "empty.zarr").mkdir()
    with sqlite3.connect(folder / "foreign.sqlite") as made:
        made.execute("CREATE TABLE t (x)")
    made.close()
    return len(broken) + 1


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_runs_are_listed_and_looked_at_again_for_little(make: Make, tmp_path: Path, count: int) -> None:
    records = [begin(), *(moment(float(i), 10 * i) for i in range(20)), {"kind": "ended", "time": 1.0, "seconds": 20.0,
               "status": "converged", "reason": "", "draws": 200}]  # fmt: skip
    bad = many(tmp_path, make("run0000.zarr", records=records), count)
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()
    times: list[float] = []
    try:
        for _ in range(3):
            begun = time.process_time()
            answer = urllib.request.urlopen(f"{shown.address}api/runs", timeout=120).read()
            times.append(time.process_time() - begun)
        statuses = [run["status"] for run in json.loads(answer)["runs"]]
        assert (len(statuses), statuses.count("unreadable"), statuses.count("converged")) == (count + bad, bad, count)
        assert min(times[1:]) < 0.6 * times[0], times
        (tmp_path / "run0007.zarr" / "course.jsonl").unlink()  # a copy that is no longer the one
        changed = json.loads(urllib.request.urlopen(f"{shown.address}api/runs", timeout=120).read())["runs"]
        assert next(run for run in changed if run["name"] == "run0007.zarr")["began"] == {}
    finally:
        shown.close()


@needs_browser
def test_of_many_runs_the_first_are_drawn_and_all_are_found(seen: Seen, make: Make, tmp_path: Path) -> None:
    many(tmp_path, make("run0000.zarr", records=[begin()]), 310)
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()
    page = seen.page
    page.goto(shown.address)
    page.wait_for_selector("text=317 runs, the first 300 of them below")
    assert page.locator("tbody tr").count() == 300
    page.fill("input[aria-label='Filter runs']", "run0309")
    page.wait_for_selector("text=1 run of 317")
    page.fill("input[aria-label='Filter runs']", "")
    page.click("button:has-text('Show all')")
    page.wait_for_selector("td:has-text('run0309.zarr')")
    assert page.locator("tbody tr").count() == 317
    assert seen.faults == []
    shown.close()
