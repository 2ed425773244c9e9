"""A growing store shows a prefix of the draws, alike in all variables, and is what memory holds at the end."""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consilience.errors import ShapeError, StorageError
from consilience.output.storage import tree_of, zarr_arrays
from consilience.output.storage.zarr_directory import checksum
from consilience.output.storage.zarr_store import ZarrStore
from tests.storage.stores import (
    COORDS,
    DIMS,
    DRAWS,
    FIXED,
    POSTERIOR,
    STATISTICS,
    assert_same,
    blocks,
    chosen,
    create,
    in_memory,
    names,
    part,
    seen,
    seen_with,
)

zarr = pytest.importorskip("zarr", reason="growing stores need it")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that a few draws fill."""
    monkeypatch.setattr(zarr_arrays, "CHUNK_DRAWS", 8)


def test_a_store_is_the_tree_of_memory(tmp_path: Path) -> None:
    """At every step and at the end: dimensions, labels, attributes, element types, values."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        assert seen(path) == store.draws == 0
        for first, last in ((0, 3), (3, 8), (8, 9), (9, 33), (33, 33), (33, 40)):
            store.append(blocks(first, last))
            assert seen(path) == store.draws == last
        store.finish(FIXED, {"status": "converged", "seed": 8})
    assert seen_with(path, {"status": "converged", "seed": 8}) == 40
    assert names(tmp_path) == ["run.zarr"]


def test_a_variable_may_have_any_name(tmp_path: Path) -> None:
    """Before the first draws, after a restart, and once a chain is left out."""
    draws = np.arange(6.0).reshape(2, 3, 1)
    path = tmp_path / "run.zarr"
    with ZarrStore.create(path, chains=2, coords={"g": ["a"]}, dims={"none": ["g"]}) as store:
        for _ in range(2):
            store.append({"posterior": {"none": draws}})
            store.append({"posterior": {"none": draws}})
            store.restart()
        store.append({"posterior": {"none": draws}})
        store.keep_chains([1])
    with xr.open_datatree(path, engine="zarr") as tree:
        assert tree["posterior"]["none"].dims == ("chain", "draw", "g")
        assert np.array_equal(tree["posterior"]["none"], draws[1:])


def test_dask_reads_what_is_there(tmp_path: Path) -> None:
    """Where it is installed `open_zarr` cuts draws into its own pieces by default, and text becomes objects."""
    pytest.importorskip("dask")
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, DRAWS))
        store.finish(FIXED)
    for name, expected in tree_of({**blocks(0, DRAWS), **FIXED}, COORDS, DIMS).children.items():
        with xr.open_zarr(path, group=name) as group:
            assert name != "posterior" or group["mu"].chunks
            xr.testing.assert_identical(group.load().drop_attrs(), expected.to_dataset().drop_attrs())


ELEMENT_TYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 f2 f4 f8 c8 c16 >f8 >i4 >c16"


@pytest.mark.parametrize("dtype", ELEMENT_TYPES.split())
def test_every_element_type_comes_back(tmp_path: Path, dtype: str) -> None:
    """Of draws and of other arrays, in the byte order of this machine."""
    values = np.arange(24).reshape(2, 4, 3).astype(dtype)
    with ZarrStore.create(tmp_path / "run.zarr", chains=2) as store:
        store.append({"posterior": {"x": values}})
        store.finish({"constant_data": {"x": values}})
    with xr.open_datatree(tmp_path / "run.zarr", engine="zarr") as tree:
        for group in ("posterior", "constant_data"):
            found = tree[group]["x"].values
            assert found.dtype == np.dtype(dtype).newbyteorder("=")
            np.testing.assert_array_equal(found, values)


def test_missing_and_extreme_values_come_back(tmp_path: Path) -> None:
    """NaN, infinities, signed zeros and the values that stand for nothing in the format."""
    reals = np.array([[np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1.7e308]])
    whole = np.array([[0, -1, 2**63 - 1, -(2**63), 0, 0, 0]])
    with ZarrStore.create(tmp_path / "run.zarr", chains=1) as store:
        store.append({"posterior": {"reals": reals, "whole": whole}})
    with xr.open_zarr(tmp_path / "run.zarr", group="posterior", chunks=None) as group:
        assert group["reals"].values.tobytes() == reals.tobytes()
        np.testing.assert_array_equal(group["whole"], whole, strict=True)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lengths=st.lists(st.integers(0, 20), max_size=6), budget=st.sampled_from([1, 40, 300, 10**6]))
def test_any_blocks_make_the_same_store(tmp_path: Path, lengths: list[int], budget: int) -> None:
    """However draws are cut into blocks, and into chunks."""
    path = tmp_path / "run.zarr"
    with pytest.MonkeyPatch.context() as patched, create(path, overwrite=True) as store:
        patched.setattr(zarr_arrays, "CHUNK_BYTES", budget)
        for length in lengths:
            last = min(DRAWS, store.draws + length)
            store.append(blocks(store.draws, last))
        assert seen(path) == min(DRAWS, sum(lengths))


def test_variables_of_no_elements_are_kept(tmp_path: Path) -> None:
    """Such as effects of groups of which there are none."""
    values = np.zeros((2, 9, 0, 3))
    with ZarrStore.create(tmp_path / "run.zarr", chains=2) as store:
        store.append({"posterior": {"x": values}})
        store.append({"posterior": {"x": values}})
    with xr.open_zarr(tmp_path / "run.zarr", group="posterior", chunks=None) as group:
        assert group["x"].shape == (2, 18, 0, 3)


def test_large_draws_make_chunks_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And small ones few files: at most one per four thousand draws and variable."""
    monkeypatch.undo()
    values = np.zeros((2, 3, 300_000))
    with ZarrStore.create(tmp_path / "run.zarr", chains=2) as store:
        store.append({"posterior": {"x": values, "y": values[..., 0]}})
        for _ in range(3):
            store.append({"posterior": {"x": values, "y": values[..., 0]}})
    chunks = [entry for entry in (tmp_path / "run.zarr/posterior/x/c/0").rglob("*") if entry.is_file()]
    assert len(chunks) == 12
    assert [entry.name for entry in (tmp_path / "run.zarr/posterior/y/c/0").iterdir()] == ["0"]


def test_metadata_is_as_zarr_consolidates_it(tmp_path: Path) -> None:
    """So that its versions to come read the store as one of their own."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, 11))
        store.finish(FIXED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of extensions to the format
        for group in ("", "posterior"):
            ours = json.loads((path / group / "zarr.json").read_text())
            assert ours["consolidated_metadata"].pop("crc32") == checksum(ours)
            zarr.consolidate_metadata(path, path=group or None)
            assert json.loads((path / group / "zarr.json").read_text()) == ours


def test_a_reader_keeps_what_it_saw(tmp_path: Path) -> None:
    """Opened before draws are appended and read after it."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, 21))
        with xr.open_zarr(path, group="posterior", chunks=None) as early:
            store.append(blocks(21, 40))
            assert_same(early.load(), in_memory(21)["posterior"].to_dataset())


# -- restart, resumption, chains -----------------------------------------------------------------------------------


def test_a_restart_begins_with_no_draws(tmp_path: Path) -> None:
    """As often as one likes; at the end no chunk is left that nobody sees."""
    path = tmp_path / "run.zarr"
    store = create(path)
    store.restart()
    for draws in (20, 9, 33):
        assert seen(path) == store.draws == 0
        store.append(blocks(0, draws))
        assert seen(path) == draws
        store.restart()
    store.append(blocks(0, 17))
    store.finish(FIXED)
    assert seen_with(path, {}) == 17
    chunks = [entry for entry in (path / "posterior/mu").rglob("*") if entry.is_file() and entry.name != "zarr.json"]
    assert len(chunks) == 3


@pytest.mark.parametrize("draws", [0, 1, 7, 8, 9, 16, 20])
def test_a_store_may_begin_with_draws(tmp_path: Path, draws: int) -> None:
    """Those of a checkpoint, in the place of a store that a killed run left."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, 20))
    with create(path, overwrite=True, groups=blocks(0, draws)) as store:
        assert store.draws == seen(path) == draws
        store.append(blocks(draws, 37))
        store.finish(FIXED, {"status": "converged"})
    assert seen_with(path, {"status": "converged"}) == 37


def test_a_store_that_has_ended_goes_on(tmp_path: Path) -> None:
    """With what others added to it; not if another run took its place."""
    path = tmp_path / "run.zarr"
    store = create(path)
    store.append(blocks(0, 11))
    store.finish(FIXED, {"status": "interrupted"})
    store.reopen()
    store.append(blocks(11, 30))
    store.finish(FIXED, {"status": "converged"})
    assert seen_with(path, {"status": "converged"}) == 30
    tree_of({"predictions": {"z": np.zeros((3, 4))}})["predictions"].to_dataset().to_zarr(
        path, group="predictions", consolidated=False
    )
    store.reopen()
    store.append(blocks(30, 33))
    store.finish({})
    with xr.open_datatree(path, engine="zarr") as tree:
        assert tree["predictions"].sizes["draw"] == 4
    create(path, overwrite=True, groups=blocks(0, 33)).close()
    with pytest.raises(StorageError, match="was written by another run meanwhile"):
        store.reopen()
    with create(path, overwrite=True):
        with pytest.raises(StorageError, match="is being written by another run"):
            store.reopen()
    assert seen(path) == 0


def test_lost_chains_are_left_out(tmp_path: Path) -> None:
    """The others keep their labels and draws, and go on."""
    path = tmp_path / "run.zarr"
    store = create(path)
    store.append(blocks(0, 19))
    store.keep_chains([0, 2])
    store.append(chosen(19, 30, np.s_[[0, 2]]))
    with pytest.raises(StorageError, match=r"needs the shape \(2, draws, \.\.\.\), and has \(3, 1\)"):
        store.append(blocks(30, 31))
    store.keep_chains([1])
    store.append(chosen(30, 33, np.s_[[2]]))
    store.finish(FIXED)
    with xr.open_datatree(path, engine="zarr") as tree:
        for name in ("posterior", "sample_stats"):
            assert_same(tree[name].to_dataset(), in_memory(33)[name].to_dataset().isel(chain=[2]))


# -- refusals ------------------------------------------------------------------------------------------------------


def test_another_run_is_replaced_only_if_asked(tmp_path: Path) -> None:
    """And stays whole until then."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, 12))
    with pytest.raises(StorageError, match=r"holds a run of \d{4}-.* with 12 draws; overwrite=True replaces it"):
        create(path)
    assert seen(path) == 12
    with create(path, overwrite=True) as store:
        assert seen(path) == 0
        store.append(blocks(0, 3))
    assert seen(path) == 3
    assert names(tmp_path) == ["run.zarr"]


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    """It holds nothing that could be lost."""
    (tmp_path / "run.zarr").mkdir()
    create(tmp_path / "run.zarr").close()
    assert seen(tmp_path / "run.zarr") == 0


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("file", "is a file, and a store is a directory"),
        ("foreign file", r"holds 'notes.txt', which is not of a store"),
        ("file within", r"holds 'posterior/mu/notes.txt', which is not of a store"),
        ("hidden directory", r"holds '.git', which is not of a store"),
        ("zarr of another program", "is not a store of this library"),
        ("no metadata", "is not a store of this library"),
        ("parent missing", "the directory .* must exist"),
    ],
)
def test_what_is_no_store_is_never_replaced(tmp_path: Path, case: str, message: str, overwrite: bool) -> None:
    """Whatever is asked; nothing is changed."""
    path = tmp_path / "run.zarr"
    if case in ("foreign file", "file within", "hidden directory"):
        with create(path) as store:
            store.append(blocks(0, 2))
    if case == "file":
        path.write_text("text")
    elif case == "foreign file":
        (path / "notes.txt").write_text("text")
    elif case == "file within":
        (path / "posterior/mu/notes.txt").write_text("text")
    elif case == "hidden directory":
        (path / ".git").mkdir()
    elif case == "zarr of another program":
        zarr.create_array(path, shape=(3,), dtype="f8", name="posterior/draw")
    elif case == "no metadata":
        (path / "0").mkdir(parents=True)
    else:
        path = tmp_path / "none" / "run.zarr"
    before = contents_of(tmp_path)
    with pytest.raises(StorageError, match=message):
        create(path, overwrite=overwrite)
    assert contents_of(tmp_path) == before


def contents_of(folder: Path) -> dict[str, bytes]:
    """All files and directories in a folder but locks."""
    entries = [entry for entry in folder.rglob("*") if not entry.name.endswith(".lock")]
    return {str(entry): entry.read_bytes() if entry.is_file() else b"" for entry in entries}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            {"posterior": {"mu": np.zeros((3, 2))}},
            "'posterior/count' was int64 of shape .. in each draw, and is now not given",
        ),
        (
            {"posterior": POSTERIOR | {"new": np.zeros((3, DRAWS))}, "sample_stats": STATISTICS},
            "'posterior/new' was not given, and is now float64",
        ),
        ({"posterior": POSTERIOR, "sample_stats": part(STATISTICS, 0, 2)}, "the same number of draws, and have"),
        (
            {"posterior": {"mu": np.zeros((2, 40))}},
            r"needs the shape \(3, draws, ...\), and has \(2, 40\)",
        ),
        ({"posterior": {"mu": np.zeros(3)}}, r"needs the shape \(3, draws, ...\), and has \(3,\)"),
        (
            {"posterior": POSTERIOR | {"mu": np.zeros((3, DRAWS), dtype="f4")}, "sample_stats": STATISTICS},
            "was float64 of shape .. in each draw, and is now float32",
        ),
        (
            {"posterior": POSTERIOR | {"theta": np.zeros((3, DRAWS, 4))}, "sample_stats": STATISTICS},
            r"and is now float64 of shape \(4,\)",
        ),
        ({"prior": {"mu": np.zeros((3, 2))}}, "group 'prior' does not grow with the draws; finish takes it"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(tmp_path: Path, groups: Any, message: str) -> None:
    """Nothing is written then."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, 9))
        with pytest.raises(StorageError, match=message):
            store.append(groups)
        assert seen(path) == 9
        store.append(blocks(9, 12))
    assert seen(path) == 12


@pytest.mark.parametrize(
    ("first", "error", "message"),
    [
        ({"theta": np.zeros((3, 2, 5))}, ShapeError, "length 5 along 'school'"),
        ({"names": np.full((3, 2), "x", dtype=object)}, StorageError, "has element type object, which is not stored"),
        ({"when": np.zeros((3, 2), dtype="M8[ns]")}, StorageError, r"has element type datetime64\[ns\]"),
    ],
)
def test_a_first_block_that_does_not_fit_does_no_harm(
    tmp_path: Path, first: Any, error: type[Exception], message: str
) -> None:
    """The store stays as it was made, and takes the next one."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        with pytest.raises(error, match=message):
            store.append({"posterior": {"mu": np.zeros((3, 2))} | first})
        assert seen(path) == 0
        store.append(blocks(0, 5))
        assert seen(path) == 5


def test_labels_that_cannot_be_stored_are_refused(tmp_path: Path) -> None:
    """Labels of draws, which are not known when a store begins, and too many; pairs are written as text."""
    with pytest.raises(StorageError, match="leave out the labels of 'draw'"):
        ZarrStore.create(tmp_path / "run.zarr", chains=1, coords={"draw": [1, 2]})
    with ZarrStore.create(
        tmp_path / "run.zarr", chains=1, coords={"pair": [("a", 1), ("b", 2)]}, dims={"x": ["pair"]}
    ) as store:
        store.append({"posterior": {"x": np.zeros((1, 2, 2))}})
    kept = xr.open_datatree(tmp_path / "run.zarr", engine="zarr")
    assert kept["posterior"]["pair"].values.tolist() == ["('a', 1)", "('b', 2)"]
    with pytest.raises(ShapeError, match="'chain'"):
        ZarrStore.create(tmp_path / "other.zarr", chains=2, coords={"chain": [1, 2, 3]})
    assert names(tmp_path) == ["run.zarr"]


def test_a_store_that_has_ended_takes_nothing(tmp_path: Path) -> None:
    """Unless it is reopened; groups that grow are not for the end."""
    store = create(tmp_path / "run.zarr")
    with pytest.raises(StorageError, match="group 'posterior' grows by append"):
        store.finish({"posterior": {"mu": np.zeros((3, 1))}})
    store.close()
    append, finish, keep = lambda: store.append(blocks(0, 1)), lambda: store.finish({}), lambda: store.keep_chains([0])
    for act in (append, store.restart, finish, keep):
        with pytest.raises(StorageError, match="reopen goes on with it"):
            act()


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is made."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(StorageError, match=r"pip install 'consilience\[zarr\]'"):
        create(tmp_path / "run.zarr")
    assert names(tmp_path) == []
