"""What a page may meet: folders, stores, runs, ports, browsers and names as they should not be. An entry, a test."""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
import time
import urllib.request
import webbrowser
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("zarr")

import consilience as pm  # as above
from consilience.errors import ConsilienceWarning, StorageError  # as above
from consilience.output.storage import journal  # as above
from consilience.output.storage.zarr_store import ZarrStore  # as above
from consilience.watch import server, views  # as above
from consilience.watch.folder import Folder  # as above
from consilience.watch.source import StoreSource  # as above
from tests.watch.stores import Client, Make, begin, make, moment  # as above

__all__ = ["make"]
TOKEN, HOST = "token", "127.0.0.1:1"
NAMES = ["<script>alert(1)</script>", "\"quoted\" 'twice'", "😀 e\u0301", "long " * 2000, "a/b", "..", "&lt;"]


def asked(folder: Folder, what: str, **query: str) -> Any:
    """An answer of a server over a folder."""
    return Client(server.application(folder, TOKEN, "127.0.0.1"), HOST).get(f"/{TOKEN}/api/{what}", params=query)


def test_a_folder_without_runs_is_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no run")
    assert asked(Folder(tmp_path), "runs").json() == {"single": False, "runs": []}


def test_a_store_that_cannot_be_read_is_listed_with_its_reason(make: Make, tmp_path: Path) -> None:
    make("good.zarr", records=[begin()])
    (make("other.zarr") / "zarr.json").write_text('{"zarr_format": 2}')
    found = {run["name"]: run for run in asked(Folder(tmp_path), "runs").json()["runs"]}
    assert found["good.zarr"]["status"] == "converged"
    assert found["other.zarr"]["status"] == "unreadable"
    assert "in a format that this version cannot read" in found["other.zarr"]["reason"]
    answer = asked(Folder(tmp_path), "run", run="other.zarr")
    assert (answer.status_code, "not a store of draws" in answer.json()["error"]) == (409, True)


def test_a_run_that_grows_restarts_and_ends_while_it_is_read(tmp_path: Path) -> None:
    """Readers see a number of draws that all variables have, whatever the writer does meanwhile."""
    path, over, rng = tmp_path / "a.zarr", threading.Event(), np.random.default_rng(1)
    block = {"posterior": {"x": rng.normal(size=(2, 50)), "y": rng.normal(size=(2, 50, 3))}}
    store = ZarrStore.create(path, chains=2, attributes={"status": "running"}, groups=block)
    store.note(begin())

    def write() -> None:
        for turn in range(12):
            for _ in range(4):
                store.append(block)
            store.note(moment(float(turn), store.draws))
            if turn % 4 == 3:
                store.restart()
        store.append(block)
        store.finish({}, {"status": "converged"})
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    app = Client(server.application(Folder(path), TOKEN, "127.0.0.1"), HOST)
    kinds = set()
    while not over.is_set():
        for what, query in [("run", {}), ("summary", {}), ("trace", {"of": '["y",[2]]'})]:
            kinds.add((answer := app.get(f"/{TOKEN}/api/{what}", params={"run": "a.zarr", **query})).status_code)
            assert answer.status_code in (200, 404, 409), answer.text
    writer.join()
    assert 200 in kinds
    last = app.get(f"/{TOKEN}/api/run", params={"run": "a.zarr"}).json()
    assert (last["status"], last["draws"]) == ("converged", 50)


def test_one_bad_entry_never_hides_the_others(make: Make, tmp_path: Path) -> None:
    """Stores, netCDF files and what is neither, below one folder: each is listed, with what is wrong with it."""
    make("good.zarr")
    with pm.Model():
        pm.Normal("x")
        result = pm.sample(draws=20, tune=20, random_seed=1, progressbar=False, compute_convergence_checks=False)
    result.to_netcdf(tmp_path / "r.nc")
    whole = (tmp_path / "r.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[:3000])
    (tmp_path / "noise.nc").write_bytes(whole[:8] + bytes(range(256)) * 30)
    for number, attributes in enumerate([{"last_check": "[1"}, {"last_check": "7"}, {"gradients": {"a": [1]}},
                                         {"sampling_time": "long"}, {"regions": "[" * 100_000}]):  # fmt: skip
        path = make(f"bad{number}.zarr")
        text = json.loads((path / "zarr.json").read_text())
        text["consolidated_metadata"]["metadata"]["posterior"]["attributes"] |= attributes
        (path / "zarr.json").write_text(json.dumps(text))
    folder = Folder(tmp_path)
    answer = asked(folder, "runs")
    assert answer.status_code == 200
    runs = {run["name"]: run for run in answer.json()["runs"]}
    assert {*runs} == {"good.zarr", "r.nc", "cut.nc", "noise.nc", *(f"bad{n}.zarr" for n in range(5))}
    assert (runs["good.zarr"]["status"], runs["r.nc"]["draws"]) == ("converged", 20)
    assert runs["r.nc"]["status"] == result.status
    assert runs["cut.nc"]["status"] == runs["noise.nc"]["status"] == "unreadable"
    assert asked(folder, "run", run="r.nc").json()["draws"] == 20
    assert asked(folder, "summary", run="r.nc").json()["names"] == ["x"]
    for name in runs:
        assert asked(folder, "run", run=name).status_code in (200, 400, 404, 409), name


def test_a_port_that_is_taken_is_said_or_another_is_found(make: Make, tmp_path: Path) -> None:
    make("a.zarr")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(StorageError, match=f"cannot listen at 127.0.0.1:{number} .*another --port"):
            server.Server(Folder(tmp_path), "127.0.0.1", number)
        first = server.Server(Folder(tmp_path), "127.0.0.1", None)
        second = server.Server(Folder(tmp_path), "127.0.0.1", None)
        assert first.port != second.port
        first._socket.close()
        second._socket.close()


def test_without_a_browser_the_address_is_printed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make("a.zarr")

    def none(address: str) -> bool:
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", none)
    monkeypatch.setattr(server.Server, "serve", lambda self: self._socket.close())
    server.watch(str(tmp_path), port=0)
    assert "at http://127.0.0.1:" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_of_any_kind_are_told_as_they_are(make: Make, tmp_path: Path, name: str) -> None:
    path = make("a.zarr", {"t": np.random.default_rng(1).normal(size=(2, 60, 2))}, coords={"g": [name, "b"]},
                dims={"t": ["g"]}, records=[begin(model=name)])  # fmt: skip
    folder = Folder(path)
    found = asked(folder, "search", run="a.zarr", q=name[:300]).json()["found"]
    assert found[0]["text"] == f"t[{name}]"
    assert asked(folder, "summary", run="a.zarr").json()["names"] == [f"t[{name}]", "t[b]"]
    assert asked(folder, "run", run="a.zarr").json()["began"]["model"] == name


def test_names_of_files_are_told_as_they_are(make: Make, tmp_path: Path) -> None:
    names = ["<b>bold.zarr", "'q\".zarr", "😀.zarr", "sp ace#?&.zarr"]
    for name in names:
        make(name)
    folder = Folder(tmp_path)
    assert sorted(run["name"] for run in asked(folder, "runs").json()["runs"]) == sorted(names)
    for name in names:
        assert asked(folder, "run", run=name).json()["name"] == name


def test_of_draws_that_are_none_or_not_finite_there_is_a_page(make: Make, tmp_path: Path) -> None:
    make("none.zarr", {"x": np.zeros((4, 0))}, records=[begin(), moment(1.0, 0, "tuning")], status=None)
    make("one-chain.zarr", {"x": np.random.default_rng(1).normal(size=(1, 40))})
    make("nan.zarr", {"x": np.full((4, 100), np.nan), "y": np.full((4, 100), np.inf)})
    folder = Folder(tmp_path)
    for name in ("none.zarr", "one-chain.zarr", "nan.zarr"):
        for what, query in [("run", {}), ("summary", {}), ("divergences", {}), ("trace", {"of": '["x",[]]'})]:
            wanted = 404 if (name, what) == ("none.zarr", "trace") else 200  # which has no variables yet
            assert asked(folder, what, run=name, **query).status_code == wanted, (name, what)
    assert asked(folder, "run", run="none.zarr").json()["status"] == "tuning"


def test_a_store_of_five_thousand_variables_is_searched(make: Make, tmp_path: Path) -> None:
    """Made as one array by another's hand: zarr's own metadata say that there are so many."""
    path = make("a.zarr", {"x": np.random.default_rng(1).normal(size=(2, 30))})
    root = json.loads((path / "zarr.json").read_text())
    members = root["consolidated_metadata"]["metadata"]
    for i in range(5000):
        members[f"posterior/v{i}"] = members["posterior/x"]
        os.symlink(path / "posterior" / "x", path / "posterior" / f"v{i}")
    (path / "zarr.json").write_text(json.dumps(root))
    source = StoreSource(path, "a")
    assert views.run(source, views.Clock())["parameters"] == 5001
    assert views.search(source, "v4999")["found"] == [{"text": "v4999", "variable": "v4999", "place": ()}]


RNG = np.random.default_rng(1)
TREES = {
    "thousands of variables": {f"v{i}": (["chain", "draw"], RNG.normal(size=(2, 20))) for i in range(5000)},
    "no draws": {"x": (["chain", "draw"], np.zeros((4, 0)))},
    "one chain": {"x": (["chain", "draw"], RNG.normal(size=(1, 100)))},
    "not finite": {n: (["chain", "draw"], np.full((4, 100), v)) for n, v in (("x", np.nan), ("y", np.inf))},
    "names": {n.replace("/", "") or "x": (["chain", "draw"], RNG.normal(size=(2, 50))) for n in NAMES},
    "words, moments, complex numbers": {
        "words": (["chain", "draw"], np.full((2, 20), "a")),
        "moments": (["chain", "draw"], np.full((2, 20), np.datetime64("2020-01-01", "ns"))),
        "complex": (["chain", "draw"], np.full((2, 20), 1j)),
    },
    "no chains": {"x": (["draw"], RNG.normal(size=20))},
    "nothing": {},
}


@pytest.mark.parametrize("name", TREES)
def test_of_any_tree_there_is_a_page(tmp_path: Path, name: str) -> None:
    tree = xr.DataTree(children={"posterior": xr.DataTree(xr.Dataset(TREES[name]))})
    tree["posterior"].attrs["status"] = "not_converged"
    began = time.process_time()
    pm.report(tree, tmp_path / "a.html")
    assert time.process_time() - began < 20  # of thousands of variables minutes, where a tree is asked for each
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.count("<script") == 3
    assert len(text) < 1_000_000


def test_a_full_disk_ends_what_is_told_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def full(directory: Path, record: Any) -> None:
        written.append(record)
        if len(written) > 2:
            with (directory / journal.NAME).open("ab") as file:
                file.write(journal.as_line(record)[:20])  # what there was room for
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(directory, record)

    append = journal.append
    monkeypatch.setattr(journal, "append", full)
    path = tmp_path / "a.zarr"
    with pm.Model():
        pm.Normal("x")
        with pytest.warns(ConsilienceWarning, match="the course of the run ends before the run"):
            result = pm.sample(random_seed=1, progressbar=False, save=pm.Save(store=str(path)))
    assert result.status == "converged"
    found = asked(Folder(path), "run", run="a.zarr").json()
    assert (found["status"], found["draws"]) == ("converged", result.posterior.sizes["draw"])
    assert len(StoreSource(path, "a").records) == 2
    append(path, begin(resumed=True))  # whoever goes on is heard
    assert StoreSource(path, "a").records[-1]["resumed"]


def test_twenty_pages_at_once_are_answered(make: Make, tmp_path: Path) -> None:
    make("a.zarr", records=[begin(), moment(1.0, 100)])
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()

    def page(number: int) -> list[int]:
        streams = [urllib.request.urlopen(f"{shown.address}api/events?run=a.zarr", timeout=30)]
        addresses = ["", "main.js", "api/runs", "api/run?run=a.zarr", "api/summary?run=a.zarr"]
        codes = [urllib.request.urlopen(shown.address + a, timeout=30).status for a in addresses]
        assert streams[0].readline() == b"event: change\n"
        streams[0].close()
        return codes

    with ThreadPoolExecutor(20) as pages:
        assert list(pages.map(page, range(20))) == [[200] * 5] * 20
    shown.close()
