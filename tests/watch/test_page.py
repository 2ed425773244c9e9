"""Pages in a real browser: a run is followed and held, a result read, names are text, and nothing else is asked for."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.watch.folder import Folder
from tests.watch.stores import Make, begin, make, moment

__all__ = ["make"]

sync_api = pytest.importorskip("playwright.sync_api")
server = pytest.importorskip("consilience.watch.server")
pytest.importorskip("uvicorn")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="pages are looked at with Chromium: apt-get install chromium")


class Seen:
    """A page, with what it asked for and complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on(
            "request", lambda asked: self.hosts.add(asked.url.split("/")[2] if "//" in asked.url else asked.url[:5])
        )

    def wait_until(self, condition: str, seconds: float = 30.0) -> None:
        """Ask until `condition`, an expression of JavaScript, holds.

        The page's policy forbids `eval`. Playwright's `wait_for_function` needs it from its second look on, so it
        fails wherever the first look comes too early.
        """
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"not within {seconds:g} s: {condition}"
            self.page.wait_for_timeout(20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as played:
        found = played.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def seen(browser: Any) -> Iterator[Seen]:
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.set_default_timeout(40_000)
    yield Seen(page)
    page.close()


def test_a_run_is_followed_paused_asked_for_more_and_stopped(seen: Seen) -> None:
    rng = np.random.default_rng(1)
    with pm.Model(coords={"g": ["<img src=x onerror=alert(1)>", "b"]}):
        mu = pm.Normal("mu", 0, 5)
        theta = pm.Normal("theta", mu, 1, dims="g")
        pm.Normal("y", theta, 1, observed=rng.normal(size=(20, 2)))
        run = pm.sample(stop=pm.Stop(ess=1e7, max_time=120), random_seed=1, cores=1, progressbar=False, blocking=False)
    shown = run.watch(port=0)
    page = seen.page
    try:
        page.goto(shown.address)
        page.wait_for_selector(".badge:has-text('sampling')")
        page.wait_for_selector("article.trace canvas")
        page.fill("input[aria-label='Search parameters']", "onerror")
        card = "article[aria-label='theta[<img src=x onerror=alert(1)>]']"
        for pressed in (False, True):  # all of so few are shown at first
            page.click(f".found button[aria-pressed={str(not pressed).lower()}]:has-text('<img src=x onerror')")
            page.wait_for_selector(card, state="visible" if pressed else "detached")
        page.click("button:has-text('Pause')")
        page.wait_for_selector(".badge:has-text('paused')")
        assert run.progress.paused
        page.click("button:has-text('Resume')")
        page.wait_for_selector(".badge:has-text('sampling')")
        page.fill("input[aria-label='Additional ESS']", "3000")
        page.click("button:has-text('Add to target ESS')")
        page.wait_for_selector("text=Asked for: more")
        assert run._run.plan.rule.target_ess < 1e7
        page.once("dialog", lambda dialog: dialog.accept())
        page.click("button:has-text('Stop')")
        assert run.wait(60).posterior.sizes["draw"] > 400
        page.wait_for_selector(".badge:has-text('interrupted'), .badge:has-text('converged')")
        assert page.locator("button:has-text('Pause')").count() == 0
        assert page.locator("img").count() == 0
        assert seen.faults == []
    finally:
        run.stop()
        shown.close()
    assert {host.split(":")[0] for host in seen.hosts} <= {"127.0.0.1", "data"}


def test_thirty_runs_are_listed_and_opened_by_keyboard(seen: Seen, make: Make, tmp_path: Path) -> None:
    one = make("run00.zarr", records=[begin()])
    for number in range(1, 30):
        shutil.copytree(one, tmp_path / f"run{number:02}.zarr")
    make("sub/<b>stale.zarr", records=[begin(time=1e9), moment(1.0, 10, at=1e9)], status=None)
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()
    page = seen.page
    page.goto(shown.address)
    page.wait_for_selector("text=31 runs")
    assert page.locator(".badge:has-text('stale')").count() == 1
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 5000
    first = "tbody tr:first-child a[data-run]"
    page.click("button[data-focus='sort began']")  # newest first
    assert page.get_attribute("th:has(button[data-focus='sort began'])", "aria-sort") == "descending"
    assert page.get_attribute("tbody tr:last-child a[data-run]", "data-run") == "sub/<b>stale.zarr"
    page.click("button[data-focus='sort began']")
    assert page.get_attribute(first, "data-run") == "sub/<b>stale.zarr"
    assert page.evaluate("document.activeElement.dataset.focus") == "sort began"
    page.click("button[data-focus='sort run']")
    assert page.get_attribute(first, "data-run") == "run00.zarr"
    page.focus("a[data-run='run07.zarr']")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('run07.zarr')")
    page.wait_for_selector("article.trace canvas")
    page.click("button[data-column=mean]")
    page.wait_for_selector("th[aria-sort=descending]:has(button[data-column=mean])")
    page.go_back()
    page.wait_for_selector("text=31 runs")
    page.set_viewport_size({"width": 360, "height": 700})
    seen.wait_until("document.documentElement.scrollWidth <= 360")  # plots are drawn anew
    assert seen.faults == []
    shown.close()


def test_chains_that_are_apart_are_named_and_looked_at_one_by_one(seen: Seen, make: Make, tmp_path: Path) -> None:
    """A drag zooms in and stays so when draws come; a chain stands alone by a click, and by the keyboard."""
    rng = np.random.default_rng(1)
    old = {"time": 1e9}
    wrong = rng.normal(size=(4, 300)) + np.array([9.0, -9.0, 9.0, -9.0])[:, None]
    make("a.zarr", {"x": wrong}, records=[begin(**old, checkpoint="runs/a"), moment(5.0, 300, at=1e9)], status=None)
    shown = server.Server(Folder(tmp_path / "a.zarr"), "127.0.0.1", 0).start()
    page = seen.page
    page.goto(shown.address)
    page.wait_for_selector("article.trace canvas")
    assert "Chains 1, 3 near" in page.inner_text(".seen")
    assert page.inner_text(".line code") == "result = pm.resume('runs/a', model)"
    assert page.locator(".advances progress").count() == 4
    assert "stale" in page.title()
    over = page.locator("article.trace .u-over")
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 50, box["y"] + 20)
    assert page.inner_text("article.trace .u-legend .u-series:nth-child(2) .u-value") not in ("", "–", "--")
    ticks = "() => [...document.querySelectorAll('article.trace .u-legend .u-off')].length"
    assert page.evaluate(ticks) == 0
    page.click("button[data-action=chain1]")
    assert page.get_attribute("button[data-action=chain1]", "aria-pressed") == "true"
    assert page.evaluate(ticks) == 3
    page.click("button[data-action=chain1]")
    assert page.evaluate(ticks) == 0
    page.focus("article.trace .u-legend .u-series:nth-child(3) th")
    page.keyboard.press("Enter")
    assert page.evaluate(ticks) == 3
    page.mouse.move(box["x"] + 40, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 20, steps=4)
    page.mouse.up()
    page.set_viewport_size({"width": 400, "height": 800})
    seen.wait_until("document.documentElement.scrollWidth <= 400")  # plots are drawn anew
    assert seen.faults == []
    shown.close()


def test_a_report_is_one_file_that_asks_for_nothing(seen: Seen, tmp_path: Path) -> None:
    label = "</script><script>alert(1)</script>"
    with pm.Model(coords={"g": [label, "😀" * 3000]}):
        theta = pm.Normal("theta", 0, 1, dims="g")
        pm.Normal("y", theta, 1, observed=np.zeros((5, 2)))
        result = pm.sample(random_seed=1, progressbar=False)
    assert "converged" in pm.report(result, tmp_path / "report.html")
    page = seen.page
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("article.trace canvas")
    page.wait_for_selector(f"td[title='theta[{label}]']")
    page.wait_for_selector("section[aria-label=Model] pre:has-text('theta ~ Normal')")
    assert page.locator("script").count() == 3
    assert seen.faults == []
    assert seen.hosts == {""}  # the file itself
    assert len(page.pdf()) > 10_000
    with pytest.raises(pm.SamplingError, match=r"must end in \".html\""):
        pm.report(result, tmp_path / "report.pdf")
    with pytest.raises(pm.StorageError, match="could not be written"):
        pm.report(result, tmp_path / "nowhere" / "report.html")
