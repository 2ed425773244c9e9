"""Fits of a study are runs of the list, and results that did not judge themselves have a page, too."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import consilience as pm
from consilience.errors import StorageError
from consilience.output.storage import study_file
from consilience.output.storage.study_file import FITS
from consilience.watch import server, views
from consilience.watch import study as studies
from consilience.watch.folder import Folder
from tests.watch.stores import Client

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def one_of(row: list[float]) -> pm.Model:
    """A normal with its data."""
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Normal("y", x, 1, observed=np.asarray(row) if len(row) else 1 / 0)
    return model


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rows = {"shop/1": [0.1, 0.2], "<b>": [1.0], "broken": []}
    pm.sample_many(
        one_of, rows, store=tmp_path / "runs" / "study", random_seed=1, progressbar=False, draws=100, tune=100
    )
    return tmp_path / "runs" / "study"


def test_fits_of_a_study_are_listed_and_read(study: Path) -> None:
    folder, clock = Folder(study), views.Clock()
    assert folder.names() == ["<b>", "broken", "shop/1"]
    found = {name: views.overview(folder.brief(name), clock) for name in folder.names()}
    assert found["broken"]["status"] == "failed"
    assert "division by zero" in found["broken"]["reason"]
    assert found["shop/1"]["seconds"] > 0
    whole = views.run(folder.source("shop/1"), clock)
    assert (whole["draws"], whole["status"]) == (100, found["shop/1"]["status"])
    assert views.run(folder.source("broken"), clock)["status"] == "failed"
    assert Folder(study.parent).names() == ["study/<b>", "study/broken", "study/shop/1"]
    with pytest.raises(KeyError):
        folder.source("shop/2")


def test_seeds_of_a_study_are_exact_in_its_table_and_on_the_page(study: Path) -> None:
    """They have 63 bits: more than a float, and a number of JavaScript, holds."""
    told = {}
    for line in (study / FITS).read_text().splitlines():
        found = json.loads(line).get("found", {})
        told[found.get("name")] = found.get("seed")
    rows = {name: row for name in ("shop/1", "<b>", "broken") for row in [[0.1, 0.2] if name == "shop/1" else [1.0]]}
    rows["broken"] = []
    fits = pm.sample_many(one_of, rows, store=study, progressbar=False, draws=100, tune=100)
    table = fits.table()
    assert int(table.loc["shop/1", "seed"]) == told["shop/1"] > 2**53
    assert table["seed"].isna().tolist() == [name == "broken" for name in table.index]
    app = Client(server.application(Folder(study), "token", "127.0.0.1"), "127.0.0.1")
    listed = {run["name"]: run for run in app.get("/token/api/runs").json()["runs"]}
    assert listed["shop/1"]["seed"] == str(told["shop/1"])


def test_a_study_that_grows_is_read_anew_and_a_damaged_one_is_said(study: Path) -> None:
    folder = Folder(study)
    folder.names()
    lines = (study / FITS).read_text().splitlines()
    line = next(json.loads(line) for line in lines if "shop/1" in line)
    line["found"]["name"] = "later"
    with (study / FITS).open("a") as file:
        file.write(json.dumps(line) + "\n" + '{"replication": 9, "fou')
    assert "later" in folder.names()
    (study / FITS).with_suffix(".data").write_bytes(b"nothing")
    with pytest.raises(StorageError, match="is damaged at byte"):
        folder.source("later")


def test_fits_under_way_are_listed_and_become_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as their driver is heard of; the file that names them goes with the study."""
    place, clock = tmp_path / "study", views.Clock()
    goes_on, looked = threading.Event(), threading.Event()
    monkeypatch.setattr(study_file, "BEAT", 0.0)

    def model_of(row: list[float]) -> pm.Model:
        if row == [2.0]:
            assert goes_on.wait(60)
        return one_of(row)

    def look(event: pm.events.StepProgress) -> None:
        there = (place / "fits.now").exists()
        if there and event.done == 1 and list(json.loads((place / "fits.now").read_text())) == ["second"]:
            looked.set()

    handle = pm.sample_many(
        model_of, {"first": [1.0], "second": [2.0]}, store=place, cores=2, random_seed=1, draws=50, tune=50,
        chains=1, compute_convergence_checks=False, callback=look, blocking=False,
    )  # fmt: skip
    assert looked.wait(60)
    folder = Folder(place)
    assert folder.names() == ["first", "second"]
    found = views.overview(folder.brief("second"), clock)
    assert found["status"] == "sampling"
    assert views.run(folder.source("second"), clock)["draws"] == 0
    monkeypatch.setattr(studies, "PATIENCE", -1.0)
    assert views.overview(folder.brief("second"), clock)["status"] == "stale"
    goes_on.set()
    assert not handle.wait().errors
    assert not (place / "fits.now").exists()
    assert folder.names() == ["first", "second"]
    assert views.run(folder.source("second"), clock)["draws"] == 50


def test_a_study_behind_a_link_is_not_read(study: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in (FITS, "fits.data"):
        os.symlink(study / name, tmp_path / "other" / name)
    assert Folder(tmp_path / "other").names() == []


def test_draws_that_did_not_judge_themselves_have_a_page(tmp_path: Path) -> None:
    with pm.Model():
        x = pm.Normal("x")
        pm.Normal("y", x, 1, observed=np.zeros(4))
        particles = pm.sample_smc(draws=100, random_seed=1, progressbar=False)
        fitted = pm.fit(200, random_seed=1, progressbar=False)
    assert pm.report(particles, tmp_path / "a.html").startswith("SMC, ")
    assert pm.report(fitted.sample(100, random_seed=1), tmp_path / "b.html").startswith("MeanField, 1 × 100 draws")
    assert "</html>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    with pytest.raises(pm.SamplingError, match=r"got MeanField.*`sample\(1000\)`"):
        pm.report(fitted, tmp_path / "c.html")
    with pytest.raises(pm.SamplingError, match="a tree without it"):
        pm.report(particles)


def test_rows_of_a_study_are_filled_without_reading_draws(study: Path) -> None:
    """Draws, R-hat, ESS, divergences and the time at which it began are in its line, and equal those of the fit."""
    folder, clock = Folder(study), views.Clock()
    folder.names()
    row, whole = (views.overview(of("shop/1"), clock) for of in (folder.brief, folder.source))
    for name in ("chains", "draws", "divergences", "check", "reason", "status", "seed", "study"):
        assert row[name] == whole[name], name
    assert row["check"]["rhat"] > 0
    assert abs(row["began"]["time"] - (study / FITS).stat().st_mtime) < 300
    assert row["study"] == ""
    assert views.overview(folder.brief("broken"), clock)["began"]["time"] > 1e9
    (study / FITS).with_suffix(study_file.UNDER_WAY).write_text(
        json.dumps({"next": [1.0, "tuning", 4, 0], "old": 1.0, "half": [2.0, "sampling", 4, 60]})
    )
    found = {name: views.overview(folder.brief(name), clock) for name in folder.names()[:]}
    assert (found["next"]["status"], found["half"]["draws"], found["old"]["began"]["time"]) == ("tuning", 60, 1.0)
