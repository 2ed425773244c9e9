"""What is told of a run agrees with its draws and its journal, whatever state these are in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from consilience.diagnostics import ess_bulk, split_rhat
from consilience.errors import StorageError
from consilience.events import ChainProgress, CheckFigures, Progress, RunEnded
from consilience.output.storage import journal
from consilience.watch import views
from consilience.watch.folder import Folder
from consilience.watch.source import StoreSource
from tests.watch.stores import Make, begin, lines, make, moment

__all__ = ["make"]


def test_draws_summaries_and_figures_are_those_of_the_store(make: Make) -> None:
    rng = np.random.default_rng(2)
    draws = {
        "x": rng.normal(size=(4, 9000)),
        "theta": rng.normal(size=(4, 9000, 2)),
        "n": rng.integers(0, 9, (4, 9000)),
    }
    path = make("a.zarr", draws, coords={"g": ["A, 1", "<b>"]}, dims={"theta": ["g"]})
    source = StoreSource(path, "a")
    assert (source.chains, source.draws) == (4, 9000)
    for name, place in [("x", ()), ("theta", (1,)), ("n", ())]:
        assert np.array_equal(source.part("posterior", name, place), draws[name][(..., *place)])
        assert np.array_equal(source.part("posterior", name, place, 7, 5000), draws[name][(..., *place)][:, :5000:7])
    assert [name for name, _ in source.elements(source.groups["posterior"]["theta"])] == ["theta[A, 1]", "theta[<b>]"]
    assert source.locate("theta[<b>]") == ("theta", (1,))
    assert source.locate("theta[C]") is None
    found = views.summary(source)
    place = found["names"].index("theta[A, 1]")
    assert found["columns"]["mean"][place] == pytest.approx(draws["theta"][..., 0].mean())
    lines_, figures = views.trace(source, "posterior", "x", ())
    assert lines_.shape[2] == 2
    assert lines_[:, :, 0].min() == np.float32(draws["x"][:, : lines_.shape[1] * figures["width"]].min())
    assert figures["ess_bulk"][-1] == pytest.approx(float(ess_bulk(draws["x"])))
    assert figures["r_hat"][-1] >= float(split_rhat(draws["x"])) - 1e-9
    assert sum(map(sum, figures["ranks"])) == 4 * len(range(0, 9000, 3))


def test_numbers_that_are_not_finite_are_shown_as_gaps(make: Make) -> None:
    x = np.random.default_rng(1).normal(size=(4, 100))
    x[0, 3], x[1, 4], x[2, 5] = np.nan, np.inf, 1e300
    source = StoreSource(make("a.zarr", {"x": x}), "a")
    found, figures = views.trace(source, "posterior", "x", ())
    assert figures["finite"] == 398
    assert not np.isfinite(found[2, 5]).any()
    json.dumps(
        [figures, views.summary(source), views.run(source, views.Clock()), views.pairs(source, [("x", ())])],
        allow_nan=False,
    )


@pytest.mark.parametrize("shape", [(1, 50), (4, 0), (4, 3), (2, 4)])
def test_few_chains_and_few_draws_are_shown(make: Make, shape: tuple[int, int]) -> None:
    source = StoreSource(make("a.zarr", {"x": np.zeros(shape), "empty": np.zeros((*shape, 0))}, status=None), "a")
    found = views.run(source, views.Clock())
    assert found["draws"] == shape[1]
    json.dumps([found, views.summary(source), views.search(source, "")], allow_nan=False)
    if shape[1]:
        assert views.trace(source, "posterior", "x", ())[0].shape == (*shape, 2)


def test_a_half_written_chunk_is_a_gap_and_a_store_of_other_kinds_is_refused_in_words(
    make: Make, tmp_path: Path
) -> None:
    path = make("a.zarr")
    chunk = path / "posterior" / "x" / "c" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:100])
    assert np.isnan(StoreSource(path, "a").part("posterior", "x", ())).all()
    for text in (
        "",
        "{",
        "[]",
        '{"consolidated_metadata": {"metadata": {}}}',
        '{"consolidated_metadata": {"metadata": {"posterior/draw": 3}}}',
    ):
        (path / "zarr.json").write_text(text)
        with pytest.raises(StorageError, match="not a store of draws, or in a format that"):
            StoreSource(path, "a")
    assert Folder(tmp_path).names() == ["a.zarr"]
    with pytest.raises(StorageError, match="is not there"):
        Folder(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    assert Folder(tmp_path / "empty").names() == []


def test_a_store_without_a_journal_is_shown(make: Make) -> None:
    found = views.run(StoreSource(make("a.zarr"), "a"), views.Clock())
    assert (found["status"], found["events"], found["checks"]) == ("converged", [], [])


def test_a_run_that_says_nothing_is_stale_and_goes_on_when_it_does(make: Make) -> None:
    old = time.time() - 1000
    path = make("a.zarr", records=[begin(time=old), moment(5.0, 200, at=old)], status=None)
    source, clock = StoreSource(path, "a"), views.Clock()
    found = views.overview(source, clock)
    assert found["status"] == "stale"
    assert found["last"] == pytest.approx(old)
    # Its clock may be wrong: what counts is that something new comes.
    journal.append(path, moment(6.0, 220, at=old + 1))
    source.refresh()
    found = views.overview(source, clock)
    assert (found["status"], found["skewed"]) == ("sampling", True)
    for record in (begin(resumed=True), moment(7.0, 220, "tuning")):
        journal.append(path, record)
    source.refresh()
    assert views.overview(source, views.Clock())["status"] == "tuning"


def test_a_killed_run_is_seen_on_its_own_machine_at_once_and_its_clock_is_not_blamed(make: Make) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    old, here = time.time() - 4, socket.gethostname()
    path = make("a.zarr", records=[begin(time=old, host=here, process=gone.pid), moment(5.0, 200, at=old)], status=None)
    source, clock = StoreSource(path, "a"), views.Clock()
    found = views.run(source, clock)
    assert (found["status"], found["skewed"], found["progress"]["phase"]) == ("stale", False, ["stopped"] * 4)
    alive = make("b.zarr", records=[begin(time=old, host=here, process=os.getpid()), moment(5.0, 200, at=old)],
                 status=None)  # fmt: skip
    assert views.overview(StoreSource(alive, "b"), clock)["status"] == "sampling"
    # What it said before it was killed came while nobody looked: the page sees it late.
    late = time.time() - 100
    journal.append(path, moment(6.0, 220, at=late))
    source.refresh()
    assert views.overview(source, clock)["skewed"] is False


def test_chains_of_a_run_that_is_over_have_the_counts_of_its_end(make: Make) -> None:
    ended = {"kind": "ended", "time": time.time(), "status": "converged", "reason": "", "draws": 200, "seconds": 9.0}
    found = views.run(StoreSource(make("a.zarr", records=[begin(), moment(5.0, 120), ended]), "a"), views.Clock())
    progress = found["progress"]
    assert (found["draws"], progress["phase"]) == (200, ["done"] * 4)
    assert [row[-1] for row in progress["draws"]] == [200] * 4
    assert [row[-1] for row in progress["done"]] == [250] * 4


def test_figures_of_a_run_that_is_over_are_those_of_its_draws(make: Make) -> None:
    """The last record of progress came before some divergences and gradients."""
    flags = np.zeros((4, 200), bool)
    flags[2, :3] = flags[3, 7] = True
    path = make("a.zarr", stats={"diverging": flags}, records=[begin(), moment(1.0, 100)])
    source = StoreSource(path, "a")
    source.attributes = {**source.attributes, "gradients": 12_345}
    found = views.run(source, views.Clock())
    assert (found["divergences"], found["gradients"]) == (4, 12_345)
    assert [row[-1] for row in found["progress"]["divergences"]] == [0, 0, 3, 1]


def test_of_evenly_spread_draws_the_run_knows_what_diverged(make: Make) -> None:
    records = [begin(), moment(1.0, 100)]
    for chain in records[1]["chains"]:
        chain[3] = 5
    source = StoreSource(make("a.zarr", stats={"diverging": np.eye(4, 200) > 0}, records=records, status=None), "a")
    source.stride = 7
    assert views.overview(source, views.Clock())["divergences"] == 20


def test_a_last_line_that_is_being_written_is_left_for_later(make: Make) -> None:
    path = make("a.zarr", records=[begin()], status=None)
    with (path / journal.NAME).open("ab") as file:
        file.write(b'{"kind":"check","ti')
    source = StoreSource(path, "a")
    assert [record["kind"] for record in source.records] == ["began"]
    with (path / journal.NAME).open("ab") as file:
        file.write(b'me":1}\nno json\n[1]\n')
    source.refresh()
    assert [record["kind"] for record in source.records] == ["began", "check"]


def test_a_journal_stays_with_its_store_and_grows_slowly(make: Make) -> None:
    written: list[object] = []
    told = journal.Journal(written.append)
    chain = ChainProgress(0, "sampling", 60, 10, 0, 0.5, float("nan"), 70, 1.0)
    for second in range(100):
        told(Progress((chain,), None, float(second), False))
    assert len(written) == 1
    told(Progress((chain,), None, 100.0, True))  # a pause is said at once
    told(CheckFigures(400, 1.0, "x", float("inf"), "x", None, 1.01, 500, False))
    told(RunEnded("converged", "", 400, 1.0))
    assert [json.loads(journal.as_line(record))["kind"] for record in written] == [
        "progress",
        "progress",
        "check",
        "ended",
    ]  # type: ignore[arg-type]
    assert json.loads(journal.as_line(written[2]))["ess"] is None  # type: ignore[arg-type]
    path = make("a.zarr", records=[begin()])
    assert lines(path) == 1


def test_of_thousands_of_variables_any_is_found(make: Make) -> None:
    values = {f"v{i}": np.zeros((1, 8)) for i in range(60)} | {"w": np.random.default_rng(1).normal(size=(1, 8, 300))}
    source = StoreSource(make("a.zarr", values), "a")
    assert views.search(source, "v17")["found"] == [{"text": "v17", "variable": "v17", "place": ()}]
    assert views.search(source, "W[299]")["found"][0]["place"] == (299,)
    assert views.search(source, "")["more"]


def test_divergences_are_told_by_what_goes_with_them(make: Make) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 4, 500))
    source = StoreSource(make("a.zarr", {"x": x, "y": y}, stats={"diverging": x < -1.5}), "a")
    found = views.divergences(source)
    assert found["count"] == int((x < -1.5).sum())
    assert found["rows"][0]["text"] == "x"
    assert found["rows"][0]["shift"] < -5
    assert abs(found["rows"][1]["shift"]) < 4
    assert len(views.pairs(source, [("x", ()), ("y", ())])["diverged"][0]) == found["count"]
    none = StoreSource(make("b.zarr", {"x": x}, stats={"diverging": np.zeros_like(x, dtype=bool)}), "b")
    assert views.divergences(none)["count"] == 0
