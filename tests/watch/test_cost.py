"""What a page costs the run that it shows: reports of progress no more often than they are needed, and little time."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import urllib.parse
import urllib.request
import warnings
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.events import Event, Progress, Restarted
from consilience.inference.columns import Columns
from consilience.run.listeners import Listeners

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


class Seldom:
    """A listener that can do with few reports."""

    every = 3600.0

    def __init__(self) -> None:
        self.told: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.told.append(event)


def test_reports_of_progress_are_made_for_those_whose_time_has_come() -> None:
    seldom, always = Seldom(), []
    made: list[Progress] = []

    def progress() -> Progress:
        made.append(Progress((), None, 0.0, False))
        return made[-1]

    some = Listeners([seldom], lambda: None)
    for _ in range(5):
        some.tell(progress)
    assert (len(seldom.told), len(made)) == (1, 1)
    some.add([always.append])
    for _ in range(5):
        some.tell(progress)
    some.send(made[0])
    assert (len(seldom.told), len(always), len(made)) == (2, 6, 6)


def test_progress_is_told_between_events_that_take_long() -> None:
    """A listener that cannot keep up, as one that writes many draws, hears of progress none the less."""
    heard: list[Event] = []
    some = Listeners([heard.append], lambda: None)
    progress = Progress((), None, 0.0, False)
    for _ in range(3):
        some.post(Restarted("again"))
    some.deliver(lambda: progress)
    assert [type(event) for event in heard] == [Restarted, Progress] * 3
    some.post(Restarted("again"))
    some.deliver()
    assert type(heard[-1]) is Restarted


def test_a_column_of_statistics_is_that_of_their_table() -> None:
    words = np.array([[1, 2], [np.float64(0.5).view(np.int64), np.float64(np.nan).view(np.int64)], [1, 0]]).T
    columns = Columns({"depth": "int64", "energy": "float64", "diverging": "bool"}, {})
    for place in range(3):
        assert np.array_equal(columns.column(words, place), columns.table(words)[place], equal_nan=True)


def test_pauses_are_told_to_listeners_at_once() -> None:
    seldom = Seldom()
    with pm.Model():
        pm.Normal("x", shape=3)
        run = pm.sample(stop=pm.Stop(ess=1e9, max_time=60), random_seed=1, cores=1, progressbar=False, blocking=False,
                        callback=seldom)  # fmt: skip
    try:
        while not seldom.told:
            time.sleep(0.05)
        for act, paused in ((run.pause, True), (run.resume, False)):
            seldom.told.clear()
            act()
            until = time.monotonic() + 20
            while not any(isinstance(e, Progress) and e.paused is paused for e in seldom.told):
                assert time.monotonic() < until
                time.sleep(0.05)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.stop()


def spent(names: tuple[str, ...], known: dict[int, str]) -> float:
    """Processor seconds of the threads of these names, as far as they were seen."""
    ticks = os.sysconf("SC_CLK_TCK")
    known |= {t.native_id: t.name for t in threading.enumerate() if t.native_id is not None}
    total = 0.0
    for number, name in known.items():
        if name.startswith(names):
            try:
                with open(f"/proc/self/task/{number}/stat", "rb") as file:
                    fields = file.read().rsplit(b")", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / ticks
            except OSError:
                pass
    return total


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the times of threads from /proc")
def test_an_open_page_takes_a_fiftieth_of_the_time_and_a_closed_one_next_to_none() -> None:
    rng = np.random.default_rng(1)
    with pm.Model():
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfNormal("tau", 1)
        a = pm.Normal("a", mu, tau, shape=85)
        pm.Normal("y", a[rng.integers(0, 85, 919)], 1, observed=rng.normal(size=919))
        run = pm.sample(stop=pm.Stop(ess=1e9, max_time=90), random_seed=1, cores=1, progressbar=False, blocking=False)
    shown, known = run.watch(port=0), dict[int, str]()
    base = shown.address.split("#")[0]
    mine = ("consilience-watch", "consilience-listeners", "AnyIO")

    def ask(what: str, **query: str) -> Any:
        asked = f"{base}api/{what}?{urllib.parse.urlencode({'run': 'this run', **query})}"
        return urllib.request.urlopen(asked, timeout=30).read()

    try:
        while not json.loads(ask("run"))["draws"]:
            time.sleep(0.2)
        time.sleep(12)  # the threads that answered are gone
        shares = []
        for is_open in (False, True):
            began, before, until, turn = time.process_time(), spent(mine, known), time.monotonic() + 25, 0
            stream = is_open and urllib.request.urlopen(f"{base}api/events?run=this+run", timeout=30)
            while time.monotonic() < until:
                time.sleep(2.5)
                if stream and stream.readline().startswith(b"event"):  # as the page does: all that it shows
                    worst = json.loads(ask("run"))["worst"][:4]
                    asked = [json.dumps([e["variable"], e["place"]]) for e in worst]
                    for of in asked:
                        ask("trace", of=of)
                    if turn % 6 == 0:
                        ask("summary")
                        ask("pairs", of=f"[{','.join(asked)}]")
                    turn += 1
                spent(mine, known)
            shares.append((spent(mine, known) - before) / (time.process_time() - began))
            if stream:
                stream.close()
        assert shares[0] < 0.01
        assert shares[1] < 0.02
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.stop()
        shown.close()
