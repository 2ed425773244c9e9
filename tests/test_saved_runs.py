"""Nothing is lost, nothing believed: stores and checkpoints that were moved, deleted, replaced, damaged or forged."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
from consilience import inference
from consilience.__main__ import main
from consilience.errors import ConsilienceError, ConsilienceWarning, SamplingError, StorageError
from consilience.events import DrawsMade, RunEnded, RunStarted
from consilience.inference import Kernel
from consilience.output.storage import plain_values, state_file
from consilience.output.storage.checking import check
from consilience.output.storage.lines import as_line, from_line
from tests.run.enemies import contents, forged

pytest.importorskip("zarr", reason="growing stores need it")
SHORT: dict[str, Any] = {
    "draws": 60, "tune": 60, "chains": 2, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False,
}  # fmt: skip


def model(offset: float = 0.0) -> pm.Model:
    with pm.Model(coords={"pair": ["Ä", "B"]}) as found:
        x = pm.Normal("x", offset, dims="pair")
        pm.Normal("y", x.sum(), 1.0, observed=1.0)
    return found


def sampled(checkpoint: Path | None, store: Path | str | None = None, **settings: Any) -> Any:
    save = pm.Save(checkpoint=checkpoint, store=store, overwrite=settings.pop("overwrite", False))
    return pm.sample(model=settings.pop("model", None) or model(), save=save, **SHORT | settings)


def x(result: Any) -> Any:
    return np.asarray(result["posterior"]["x"].values)


def stored(path: Path) -> Any:
    with xr.open_datatree(path, engine="zarr" if path.is_dir() else "h5netcdf") as tree:
        return tree.load()


# --- whose a store is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s.zarr", "s.nc"])
def test_a_resumed_run_replaces_its_own_store_and_no_other(tmp_path: Path, name: str) -> None:
    store = tmp_path / name
    first = sampled(tmp_path / "c1", store)
    pm.resume(tmp_path / "c1", model(), progressbar=False)  # its own
    second = sampled(tmp_path / "c2", store, model=model(5.0), overwrite=True)
    with pytest.raises(
        StorageError, match=r"written by another run than the one that goes on.*pm.resume\(…, store=…\)"
    ):
        pm.resume(tmp_path / "c1", model(), progressbar=False)
    assert (x(stored(store)) == x(second)).all()
    elsewhere = tmp_path / f"other-{name}"
    pm.resume(tmp_path / "c1", model(), progressbar=False, store=elsewhere)
    assert (x(stored(elsewhere)) == x(first)).all()
    pm.resume(tmp_path / "c1", model(), progressbar=False)  # which it has from then on
    assert (x(stored(store)) == x(second)).all()


def test_the_store_of_a_checkpoint_lies_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may be moved together, and the folder one happens to be in does not matter."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    first = sampled(Path("c"), "s.zarr")
    shutil.move(tmp_path / "here", tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    pm.resume(tmp_path / "there" / "c", model(), progressbar=False)
    assert not (tmp_path / "s.zarr").exists()
    assert (x(stored(tmp_path / "there" / "s.zarr")) == x(first)).all()
    assert contents(tmp_path / "there" / "c")[0]["about"]["store"] == "s.zarr"


@pytest.mark.parametrize("name", ["victim.zarr", "victim.nc"])
def test_no_place_outside_of_a_checkpoints_folder_is_written_without_being_asked(tmp_path: Path, name: str) -> None:
    """A checkpoint may come from anywhere, and name any path."""
    (tmp_path / "mail").mkdir()
    sampled(tmp_path / "mail" / "c", tmp_path / "mail" / name)
    state, blocks = contents(tmp_path / "mail" / "c")
    for path in (str(tmp_path / name), f"../{name}"):
        state["about"]["store"] = path
        state_file.create(tmp_path / "mail" / "c", state, blocks)
        with pytest.raises(
            StorageError, match=r"which is not there, and not below the folder.*pm.resume\(…, store=…\)"
        ):
            pm.resume(tmp_path / "mail" / "c", model(), progressbar=False)
        assert not (tmp_path / name).exists()
    pm.resume(tmp_path / "mail" / "c", model(), progressbar=False, store=tmp_path / name)
    assert (tmp_path / name).exists()


# --- step methods ------------------------------------------------------------------------------------------------

METHODS = sorted(
    name
    for name in inference.__all__
    if isinstance(kind := getattr(inference, name), type)
    and issubclass(kind, Kernel)
    and name not in ("Kernel", "CompoundStep", "BARTStep")  # of trees: `test_bart`
)


def moved_by(name: str) -> tuple[pm.Model, Any]:
    """A model that a step method can move, and the method."""
    kind = getattr(inference, name)
    with pm.Model() as found:
        if kind.continuous:
            pm.Normal("a", 0.0, 1.0, shape=3)
        else:
            pm.Bernoulli("a", 0.3, shape=3)
    return found, kind(prior_chol=np.eye(3)) if name == "EllipticalSlice" else kind()


RESUMED = """
import json, os, sys
import consilience as pm
from pathlib import Path
folder, names = Path(sys.argv[1]), sys.argv[2:]
sys.path.insert(0, os.getcwd())
found = {}
for name in names:  # each in a process in which nothing was done before but importing
    read, write = os.pipe()
    if not os.fork():
        try:
            with pm.Model() as model:
                pm.Normal("a", 0.0, 1.0, shape=3) if name.startswith("+") else pm.Bernoulli("a", 0.3, shape=3)
            result = pm.resume(folder / name[1:], model, progressbar=False)
            said = result["posterior"]["a"].values.tobytes().hex()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        with os.fdopen(write, "w") as file:
            file.write(said)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        found[name[1:]] = file.read()
    os.wait()
print(json.dumps(found))
"""


@pytest.mark.skipif(os.name == "nt", reason="fork is not there")
def test_every_step_method_is_resumed_in_a_fresh_process(tmp_path: Path) -> None:
    """It is found by its name, though nothing has loaded its file."""
    expected, names = {}, []
    for name in METHODS:
        own, step = moved_by(name)
        result = pm.sample(model=own, step=step, save=pm.Save(checkpoint=tmp_path / name), **SHORT | {"chains": 8})
        expected[name] = result["posterior"]["a"].values.tobytes().hex()
        names.append(("+" if getattr(inference, name).continuous else "-") + name)
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RESUMED, str(tmp_path), *names],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(told.stdout) == expected


# --- checksums -----------------------------------------------------------------------------------------------------


def in_all_formats(folder: Path) -> dict[str, Path]:
    result = sampled(folder / "c", folder / "s.zarr")
    result.to_zarr(folder / "early.zarr")
    assert result["posterior"] is not None  # from then on there is a tree
    result.to_zarr(folder / "late.zarr")
    result.to_netcdf(folder / "r.nc")
    pm.sample_many(model, {"one": 0.0, "two": 1.0}, store=folder / "study", random_seed=1, draws=20, tune=20, chains=1)
    return {name: folder / name for name in ("c", "s.zarr", "early.zarr", "late.zarr", "r.nc", "study")}


def numbers_of(path: Path) -> Path:
    """The file with the numbers of a result."""
    if (path / "zarr.json").is_file():
        return next(file for file in sorted((path / "posterior" / "x" / "c").rglob("*")) if file.is_file())
    return path / "fits.data" if path.is_dir() else path


@pytest.mark.filterwarnings("ignore")  # of zarr, about text and metadata that xarray writes
def test_a_flipped_bit_is_told_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Among the numbers, by `python -m consilience check`, and by whoever reads."""
    places = in_all_formats(tmp_path)
    assert main(["check", *map(str, places.values())]) == 0
    assert capsys.readouterr().out.count("no checksums") == 1  # of metadata that xarray writes
    for name, path in places.items():
        file = numbers_of(path)
        whole = file.read_bytes()
        for at in (len(whole) // 3, len(whole) // 2):
            changed = bytearray(whole)
            changed[at] ^= 4
            file.write_bytes(changed)
            assert main(["check", str(path)]) == 1, (name, at)
            assert "DAMAGED" in capsys.readouterr().out
            if name.endswith(".zarr"):
                with pytest.raises(ValueError, match="checksum"):
                    stored(path)
        file.write_bytes(whole)
        assert main(["check", str(path)]) == 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_flipped_bit_and_no_cut_gives_other_numbers_in_silence() -> None:
    """A part of `python -m benchmarks.damage`."""
    from benchmarks.damage import READERS, study

    found = study(60, 20, list(READERS), seed=7)
    assert all(counts["different"] == 0 for kinds in found.values() for counts in kinds.values())


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(os.name == "nt", reason="kill works differently there")
def test_runs_of_every_kind_killed_at_random_moments_end_with_the_same_bits() -> None:
    """A part of `python -m benchmarks.kills`."""
    from benchmarks.kills import study
    from benchmarks.workers.killed_run import KINDS

    assert len(KINDS) >= 12
    found = study(len(KINDS), KINDS, seed=7)
    assert not [one for count in found.values() for one in count.wrong]


def test_metadata_of_a_store_and_chunks_that_are_gone_are_told(tmp_path: Path) -> None:
    """Readers alone would fill in zeros, or believe another number."""
    path = tmp_path / "s.zarr"
    sampled(None, path)
    text = (path / "zarr.json").read_text()
    assert check(path).faults == ()
    (path / "zarr.json").write_text(text.replace('"random_seed"', '"random_sead"').replace('"seed": 1', '"seed": 3'))
    assert any("zarr.json: its checksum is wrong" in fault for fault in check(path).faults)
    (path / "zarr.json").write_text(text)
    numbers_of(path).unlink()
    assert any("is not there" in fault for fault in check(path).faults)


def test_what_cannot_be_checked_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["check", str(tmp_path / "notes.txt"), str(tmp_path / "none")]) == 1
    said = capsys.readouterr().err
    assert "is none of what can be checked" in said
    assert "cannot be read" in said
    xr.Dataset({"a": ("n", np.arange(3.0))}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    found = check(tmp_path / "other.nc")
    assert (found.faults, len(found.unknown)) == ((), 1)


def test_lines_say_whether_they_are_whole() -> None:
    for record in ({}, {"a": 1.5, "b": [None, "ä"]}, {"kind": "began", "n": float("inf")}):
        line = as_line(record)
        assert from_line(line) == record
        assert from_line(json.dumps(record)) == record  # of earlier versions
    with pytest.raises(ValueError, match="checksum of the line"):
        from_line(as_line({"a": 15}).replace("15", "16"))


# --- stores that are deleted meanwhile ---------------------------------------------------------------------------


class Deleting:
    """A callback that deletes a folder at an event."""

    def __init__(self, folder: Path, kind: type, number: int) -> None:
        self.folder, self.kind, self.left = folder, kind, number

    def __call__(self, event: Any) -> None:
        if isinstance(event, self.kind):
            self.left -= 1
            if not self.left:
                shutil.rmtree(self.folder)


@pytest.mark.parametrize("deleted", ["s", "s/s.zarr"])
@pytest.mark.parametrize(
    ("kind", "number", "draws"),
    [(RunStarted, 1, 60), (RunStarted, 1, None), (DrawsMade, 1, None), (DrawsMade, 2, 2500), (RunEnded, 1, 60)],
)
def test_a_run_whose_store_is_deleted_ends_with_all_draws(
    tmp_path: Path, deleted: str, kind: type, number: int, draws: int | None
) -> None:
    """It says so once, leaves no broken folder, and its checkpoint can be resumed."""
    settings = {"draws": draws, "tune": None if draws is None else 60, "chains": 4}
    expected = sampled(None, **settings)
    (tmp_path / "s").mkdir()
    with pytest.warns(
        ConsilienceWarning, match=r"was deleted or moved while the run went on\. All draws are in"
    ) as told:
        found = sampled(
            tmp_path / "c", tmp_path / "s" / "s.zarr", callback=Deleting(tmp_path / deleted, kind, number), **settings
        )
    assert len([w for w in told if "store" in str(w.message)]) <= 1
    assert (x(found) == x(expected)).all()
    assert not (tmp_path / "s" / "s.zarr").exists()
    (tmp_path / "s").mkdir(exist_ok=True)
    again = pm.resume(tmp_path / "c", model(), progressbar=False)
    assert (x(again) == x(expected)).all()
    assert (x(stored(tmp_path / "s" / "s.zarr")) == x(expected)).all()


def test_a_run_whose_netcdf_file_cannot_be_written_ends_with_all_draws(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    with pytest.warns(ConsilienceWarning, match="the result was not written: .*must exist"):
        found = sampled(None, tmp_path / "s" / "r.nc", callback=Deleting(tmp_path / "s", DrawsMade, 1))
    assert (x(found) == x(sampled(None))).all()


@pytest.mark.parametrize("spilled", [False, True])
def test_a_checkpoint_whose_writer_was_killed_is_looked_at_without_a_change(tmp_path: Path, spilled: bool) -> None:
    """A transaction that has begun to overwrite the file, with its journal, as a kill leaves them."""
    path, killed = tmp_path / "c", tmp_path / "killed"
    killed.mkdir()
    sampled(path)
    whole = state_file.glance(path)
    with sqlite3.connect(path, isolation_level=None) as database:
        database.execute("PRAGMA cache_size = 1" if spilled else "PRAGMA cache_size = 10000")
        database.execute("BEGIN IMMEDIATE")
        database.execute("DELETE FROM contents WHERE number = 0")
        database.execute("INSERT INTO contents VALUES (0, 0, x'00', zeroblob(3000000))")
        for end in ("", "-journal"):
            shutil.copy(f"{path}{end}", killed / f"c{end}")
        database.execute("ROLLBACK")
    database.close()
    assert (killed / "c").stat().st_size > path.stat().st_size or not spilled
    before = {each.name: each.read_bytes() for each in killed.iterdir()}
    assert plain_values.pack(state_file.glance(killed / "c")) == plain_values.pack(whole)
    assert {each.name: each.read_bytes() for each in killed.iterdir()} == before
    if spilled:
        with (killed / "c-journal").open("ab") as journal:
            journal.write(bytes.fromhex("d9d505f920a163d7"))
        for read in (state_file.glance, state_file.read):
            with pytest.raises(StorageError, match="names another file"):
                read(killed / "c")


# --- checkpoints that an enemy wrote -----------------------------------------------------------------------------


def test_a_file_with_views_is_refused_at_once(tmp_path: Path) -> None:
    """One that never ends, and tables besides that of a checkpoint."""
    sampled(tmp_path / "c")
    endless = (
        "CREATE VIEW contents AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "
        "SELECT 0 AS number, i AS part, x'00' AS digest, x'00' AS bytes FROM n"
    )
    for statements in (("DROP TABLE contents", endless), ("CREATE TABLE other (a)",), ("CREATE VIEW v AS SELECT 1",)):
        bad = tmp_path / "bad"
        shutil.copy(tmp_path / "c", bad)
        with sqlite3.connect(bad) as database:
            for statement in statements:
                database.execute(statement)
        database.close()
        for read in (state_file.read, state_file.glance, lambda path: next(state_file.blocks(path, 1, b""))):
            with pytest.raises(StorageError, match="other tables than a checkpoint"):
                read(bad)
        with pytest.raises(StorageError, match="other tables than a checkpoint"):
            pm.resume(bad, model(), progressbar=False)


def npy(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "bad",
    [
        b"", b"\xff" * 40, (5).to_bytes(8, "little") + b"[[[[[", (2).to_bytes(8, "little") + b"{}" + b"\x93NUMPY\x09",
        (200_000).to_bytes(8, "little") + b"[" * 100_000 + b"]" * 100_000,
        (14).to_bytes(8, "little") + b'{"ndarray":-1}', (13).to_bytes(8, "little") + b'{"ndarray":0}',
        (2).to_bytes(8, "little") + b"{}" + npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10**12,), }"),
        (2).to_bytes(8, "little") + b"{}" + npy("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999,), }"),
        (2).to_bytes(8, "little") + b"{}" + npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
        (2).to_bytes(8, "little") + b"{}" + npy("{'descr': '|S0', 'fortran_order': False, 'shape': (999999999999,), }"),
        (2).to_bytes(8, "little") + b"{}" + npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
    ],
)  # fmt: skip
def test_bytes_that_are_no_values_are_refused_without_memory(bad: bytes) -> None:
    """Arrays that are not there, text nested without end, references to nowhere, objects."""
    with pytest.raises(StorageError, match="no plain values"):
        plain_values.unpack(bad)


def resumes(kind: str) -> tuple[Callable[[Path], Any], Callable[[Path], Any]]:
    """How a checkpoint of a kind is made, and gone on with."""
    if kind == "particles":
        make = lambda path: pm.sample_smc(  # noqa: E731
            40, model=model(), random_seed=1, chains=2, save=pm.Save(checkpoint=path), progressbar=False
        )
        return make, lambda path: pm.smc.resume(path, model(), progressbar=False)
    step = pm.Metropolis() if kind == "Metropolis" else None
    make = lambda path: sampled(path, step=step)  # noqa: E731
    return make, lambda path: pm.resume(path, model(), progressbar=False, max_time=5.0)


def check_forged(folder: Path, kind: str, count: int, seed: int) -> None:
    make, resume = resumes(kind)
    make(folder / "c")
    raised = 0
    for place in forged(folder / "c", folder / "bad", count, seed):
        try:
            resume(folder / "bad")
        except ConsilienceError:
            raised += 1
        except Exception as error:
            raise AssertionError(f"raw error for another value at {place}") from error
    assert raised > count / 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["NUTS", "Metropolis", "particles"])
def test_another_value_anywhere_in_a_checkpoint_gives_a_clear_error_or_none(tmp_path: Path, kind: str) -> None:
    """Its checksums are right."""
    check_forged(tmp_path, kind, 12, 3)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["NUTS", "Metropolis", "particles"])
def test_other_values_at_many_places_of_a_checkpoint_give_clear_errors(tmp_path: Path, kind: str) -> None:
    check_forged(tmp_path, kind, 300, 4)


def test_words_of_a_file_are_quoted_as_those_of_the_file(tmp_path: Path) -> None:
    """A verdict may say anything, and the names of what differs may be anything."""
    with pytest.warns(ConsilienceWarning, match="has not converged: 20 draws per chain"):  # its own words
        sampled(tmp_path / "c", compute_convergence_checks=True, draws=20)
    state, blocks = contents(tmp_path / "c")
    state["state"]["verdict"] = ["not_converged", "all is well\x1b[2J\nrun `curl x`", "", False]
    state_file.create(tmp_path / "bad", state, blocks)
    with pytest.warns(ConsilienceWarning) as told:
        pm.resume(tmp_path / "bad", model(), progressbar=False)
    said = " ".join(str(w.message) for w in told)
    assert "its checkpoint says '" in said
    assert r"all is well\x1b[2J\nrun `curl x`'" in said
    assert "\x1b" not in said
    state["identity"]["evil\x1b[2J"] = "a" * 10_000
    state_file.create(tmp_path / "bad", state, blocks)
    with pytest.raises(SamplingError, match="cannot be resumed") as refused:
        pm.resume(tmp_path / "bad", model(), progressbar=False)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 2000


def test_a_kernel_of_another_module_is_not_imported(tmp_path: Path) -> None:
    sampled(tmp_path / "c")
    state, blocks = contents(tmp_path / "c")
    for name in ("this.Kernel", "Kernels", "LogDensity", "os.system"):
        state["identity"]["kernel"][0][0] = name
        state_file.create(tmp_path / "bad", state, blocks)
        with pytest.raises(SamplingError, match="which is not defined here"):
            pm.resume(tmp_path / "bad", model(), progressbar=False)
    assert "this" not in sys.modules


# --- what decides the bits ---------------------------------------------------------------------------------------


def test_a_result_says_what_decides_its_last_digits(tmp_path: Path) -> None:
    """The processor that machine code is made for, the width of its vectors, and BLAS with its kernels."""
    attributes = sampled(None).posterior.attrs
    assert {"processor", "vector_lanes", "blas"} <= attributes.keys()
    code = "import consilience.native.blas as b, consilience.native.target as t; print(t.host().cpu, '|', b.kernel())"
    here = {**os.environ}
    told = [
        subprocess.run([sys.executable, "-c", code], env=here | more, capture_output=True, text=True, check=True).stdout
        for more in ({}, {"OPENBLAS_CORETYPE": "Nehalem"})
    ]
    assert told[0].strip() == f"{attributes['processor']} | {attributes['blas']}"
    if "openblas" in told[0] and sys.platform == "linux":
        assert "nehalem" in told[1].lower()


def test_a_run_that_goes_on_with_other_arithmetic_says_so(tmp_path: Path) -> None:
    sampled(tmp_path / "c")
    state, blocks = contents(tmp_path / "c")
    state["state"]["verdict"], state["arithmetic"] = None, ["z80", "another BLAS"]
    state_file.create(tmp_path / "other", state, blocks)
    with pytest.warns(ConsilienceWarning, match="begun with the arithmetic of 'z80', 'another BLAS' and goes on with"):
        pm.resume(tmp_path / "other", model(), progressbar=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pm.resume(tmp_path / "c", model(), progressbar=False)
