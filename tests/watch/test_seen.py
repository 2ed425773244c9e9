"""What a page shows before a run ends: draws from the first on, chains that are apart, the line to go on with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.compile.ops import as_op
from consilience.watch import views
from consilience.watch.highest_density import modes_of
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
        run = pm.sample(step=pm.Slice([mu]), tune=50, chains=2, stop=pm.Stop(min_draws=100_000), random_seed=1,
                        progressbar=False, blocking=False)  # fmt: skip
    yield run
    run.stop()


def test_draws_are_seen_before_the_first_check_and_are_those_of_the_result(slow_run: Any) -> None:
    """A prefix of the draws that the run gives in the end, whatever moment they were copied at."""
    source = live.LiveSource(slow_run._run)
    until = time.monotonic() + 120
    while source.draws < 5 and time.monotonic() < until:
        time.sleep(0.05)
        source._due = source._may = 0.0
        source.refresh()
    assert source.draws >= 5
    assert not [record for record in source.records if record["kind"] == "check"]
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


def test_a_store_shows_draws_before_its_first_check_and_they_are_those_of_the_result(tmp_path: Path) -> None:
    """They lie beside the store, go with its first draws, and stand there when the run is killed before these."""
    from consilience.output.storage import first_draws

    @as_op(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def slowly(x: Any) -> Any:
        time.sleep(0.002)
        return x

    path = tmp_path / "a.zarr"
    with pm.Model(coords={"g": ["a", "b"]}):
        mu = pm.Normal("mu", 0, 1, dims="g")
        pm.Deterministic("twice", 2 * mu, dims="g")
        pm.Normal("y", slowly(mu[0]), 1, observed=np.zeros(3))
        run = pm.sample(step=pm.Slice([mu]), tune=20, chains=2, stop=pm.Stop(min_draws=100_000), random_seed=1,
                        progressbar=False, blocking=False, save=pm.Save(store=str(path)))  # fmt: skip
    until = time.monotonic() + 120
    source = StoreSource(path, "a")
    while source.draws < 3 and time.monotonic() < until:
        time.sleep(0.2)
        source.refresh()
    assert source.draws >= 3
    found = views.run(source, views.Clock())
    assert not found["checks"]
    assert [name for name, _ in source.elements(source.groups["posterior"]["twice"])] == ["twice[a]", "twice[b]"]
    early = {name: source.part("posterior", name, None).copy() for name in ("mu", "twice")}
    assert views.trace(source, "posterior", "mu", (1,))[0].shape == (2, source.draws, 2)
    assert (path / first_draws.NAME).is_file()
    run.stop()
    result = run.wait(60)
    assert not (path / first_draws.NAME).exists()
    source.refresh()
    assert source.draws == result.posterior.sizes["draw"]
    for name, draws in early.items():
        assert np.array_equal(draws, result.posterior[name].values[:, : draws.shape[1]])
        assert np.array_equal(source.part("posterior", name, None), result.posterior[name].values)


@pytest.mark.parametrize("damage", ["nothing", "half", "a link", "text"])
def test_draws_beside_a_store_that_are_damaged_are_none(make: Make, tmp_path: Path, damage: str) -> None:
    from consilience.output.storage import first_draws

    path = make("a.zarr", {"x": np.zeros((2, 0))}, records=[begin()], status=None)
    first_draws.write(path, {"posterior": {"x": np.ones((2, 30))}}, {}, 3)
    assert (StoreSource(path, "a").draws, StoreSource(path, "a").stride) == (30, 3)
    file = path / first_draws.NAME
    whole = file.read_bytes()
    match damage:
        case "a link":
            file.rename(tmp_path / "elsewhere.npz")
            file.symlink_to(tmp_path / "elsewhere.npz")
        case _:
            file.write_bytes({"nothing": b"", "half": whole[: len(whole) // 2], "text": b"no numbers"}[damage])
    assert StoreSource(path, "a").draws == 0


def test_modes_that_are_apart_have_an_interval_each() -> None:
    """Laws: normal, skewed and heavy tails are one interval; two modes are two, which hold what was asked for."""
    rng = np.random.default_rng(1)
    one = [rng.normal(size=4000), rng.exponential(size=4000), rng.standard_cauchy(4000), rng.uniform(size=4000),
           rng.integers(0, 5, 4000).astype(float), np.zeros(4000), np.full(4000, np.nan),
           rng.normal(size=20)]  # fmt: skip
    for draws in one:
        assert modes_of(draws.reshape(4, -1)) is None
    two = np.concatenate([rng.normal(size=1000), rng.normal(8, 0.3, 3000)])
    found = modes_of(two.reshape(4, -1))
    assert found is not None
    assert len(found) == 2
    inside = sum(float(((two >= low) & (two <= top)).mean()) for low, top in found)
    assert 0.93 < inside < 0.97
    assert found[0][1] < 3.5 < found[1][0]
