"""What a page shows before a run ends: draws from the first on, chains that are apart, the line to go on with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.compile.ops import as_op
from consilience.watch import views
from consilience.watch.seen import LARGE_RHAT, places_of, seen
from consilience.watch.source import StoreSource
from tests.watch.stores import Make, begin, make, moment

__all__ = ["make"]
live = pytest.importorskip("consilience.watch.live")


@pytest.fixture
def slow_run() -> Iterator[Any]:
    """A run whose first check is far away."""

    @as_op(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def slowly(x: Any) -> Any:
        time.sleep(0.002)
        return x

    with pm.Model():
        mu = pm.Normal("mu", 0, 1)
        pm.Normal("y", slowly(mu), 1, observed=np.zeros(3))
        run = pm.sample(step=pm.Slice([mu]), tune=50, chains=2, random_seed=1, progressbar=False, blocking=False)
    yield run
    run.stop()


def test_draws_are_seen_before_the_first_check_and_are_those_of_the_result(slow_run: Any) -> None:
    """A prefix of the draws that the run gives in the end, whatever moment they were copied at."""
    source = live.LiveSource(slow_run._work)
    until = time.monotonic() + 120
    while source.draws < 5 and time.monotonic() < until:
        time.sleep(0.05)
        source._due = 0.0
        source.refresh()
    assert 5 <= source.draws < 400
    early = source.part("posterior", "mu", ()).copy()
    assert views.run(source, views.Clock())["worst"][0]["text"] == "mu"
    slow_run.stop()
    result = slow_run.wait(60)
    assert np.array_equal(early, result.posterior["mu"].values[:, : early.shape[1]])


def test_chains_are_grouped_by_the_places_where_they_are() -> None:
    rng = np.random.default_rng(1)
    means = np.array([5.0, -5.0, 5.2, -5.1, 40.0])
    assert places_of(means[:, None] + rng.normal(size=(5, 200))) == [[3, 1], [0, 2], [4]]
    assert places_of(rng.normal(size=(3, 200)))[0] != []
    assert len(places_of(rng.normal(size=(64, 200)))) == 1


@pytest.mark.parametrize("apart", [True, False])
def test_chains_in_different_places_are_named_with_advice(make: Make, apart: bool) -> None:
    """An R-hat that is large because chains drift gets other advice than one of separate modes."""
    rng = np.random.default_rng(1)
    fine = rng.normal(size=(4, 300))
    if apart:
        wrong = rng.normal(size=(4, 300)) + np.array([9.0, -9.0, 9.0, -9.0])[:, None]
    else:
        wrong = np.cumsum(rng.normal(size=(4, 300)), axis=1)
    source = StoreSource(make("a.zarr", {"fine": fine, "x": wrong}, status=None), "a")
    elements = [{"text": name, "variable": name, "place": ()} for name in ("fine", "x")]
    found = seen(source, elements)
    assert found is not None
    assert found["name"] == "x"
    assert found["rhat"] > LARGE_RHAT
    assert ("ordered" in found["advice"]) == apart
    if apart:
        assert [place["chains"] for place in found["places"]] == [[1, 3], [0, 2]]
    assert seen(source, elements[:1]) is None
    assert seen(StoreSource(make("b.zarr", {"x": np.zeros((4, 300))}), "b"), elements[1:]) is None


def test_numbers_come_before_elements_unless_something_is_wrong(make: Make) -> None:
    rng = np.random.default_rng(1)
    draws = {"theta": rng.normal(size=(4, 200, 6)), "tau": rng.normal(size=(4, 200))}
    check = {"kind": "check", "time": 1.0, "draws": 200, "rhat": 1.005, "rhat_name": "theta[4]", "ess": 500.0}
    check |= {"ess_name": "theta[4]", "target_ess": 400.0, "target_rhat": 1.01, "passed": True, "needed": 200.0}
    check["nearest"] = [["theta[4]", 1.005, 500.0]]
    for rhat, first in [(1.005, "tau"), (1.4, "theta[4]")]:
        path = make(f"{rhat}.zarr", draws, records=[begin(), moment(1.0, 200), check | {"rhat": rhat}])
        worst = views.run(StoreSource(path, "a"), views.Clock())["worst"]
        assert worst[0]["text"] == first
        assert len({element["text"] for element in worst}) == len(worst) >= 4


def test_a_killed_run_says_how_to_go_on(make: Make) -> None:
    """By its checkpoint if it has one, else by its draws."""
    old = time.time() - 1000
    for known, line in [({"checkpoint": "runs/a"}, "pm.resume('runs/a', model)"), ({}, "xarray.open_datatree(")]:
        path = make(f"{len(known)}.zarr", records=[begin(time=old, **known), moment(5.0, 200, at=old)], status=None)
        found = views.run(StoreSource(path, "a"), views.Clock())
        assert found["status"] == "stale"
        assert line in found["resume"]
    short = views.run(StoreSource(make("c.zarr", status="not_converged"), "c"), views.Clock())
    assert short["resume"] == "result = result.extend(target_ess=400)"
    assert views.run(StoreSource(make("d.zarr"), "d"), views.Clock())["resume"] is None
