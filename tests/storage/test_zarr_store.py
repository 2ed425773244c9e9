"""A growing store shows a whole prefix of the draws at any moment, whatever happens to the one that writes it."""

from __future__ import annotations

import builtins
import errno
import importlib.util
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consilience.errors import ShapeError, StorageError
from consilience.storage import build, files, growing_array, lock, zarr_store
from consilience.storage.zarr_store import ZarrStore

zarr = pytest.importorskip("zarr", reason="growing stores need it")

Arrays = Mapping[str, npt.NDArray[Any]]

RNG = np.random.default_rng(11)
DRAWS = 40
POSTERIOR = {
    "mu": RNG.normal(size=(3, DRAWS)),
    "theta": RNG.normal(size=(3, DRAWS, 2)),
    "count": RNG.integers(-5, 5, size=(3, DRAWS)),
}
STATISTICS = {"diverging": RNG.integers(0, 2, size=(3, DRAWS)).astype(bool)}
BOTH = {"posterior": POSTERIOR, "sample_stats": STATISTICS}
COORDS = {"school": ["A", "Böö"], "when": np.array(["2020-01-01", "2021-03-04"], dtype="M8[ns]"), "free": None}
DIMS = {"theta": ["school"], "y": ["when"]}
ATTRIBUTES = {"seed": 7, "options": {"a": 1}, "windows": [1, 2.5], "rate": np.float64(np.nan), "flag": True}
FIXED = {
    "observed_data": {"y": np.array([1.5, np.nan]), "n": np.int64(3)},
    "constant_data": {"x": np.arange(6.0).reshape(2, 3).T, "label": np.array(["a", "bc"]), "none": np.zeros((0, 2))},
}


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that a few draws fill."""
    monkeypatch.setattr(growing_array, "CHUNK_DRAWS", 8)


def part(arrays: Arrays, first: int, last: int) -> dict[str, npt.NDArray[Any]]:
    """Some draws of all variables."""
    return {name: array[:, first:last] for name, array in arrays.items()}


def blocks(first: int, last: int) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """What to append."""
    return {"posterior": part(POSTERIOR, first, last), "sample_stats": part(STATISTICS, first, last)}


def chosen(first: int, last: int, index: Any) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """A part of each array to append."""
    whole = blocks(first, last)
    return {group: {name: array[index] for name, array in arrays.items()} for group, arrays in whole.items()}


def create(path: Path, **options: Any) -> ZarrStore:
    """A store of the three chains above."""
    return ZarrStore.create(path, chains=3, coords=COORDS, dims=DIMS, attributes=ATTRIBUTES, **options)


def in_memory(draws: int, **options: Any) -> xr.DataTree:
    """The tree that the store must equal."""
    grown = part(POSTERIOR, 0, draws), part(STATISTICS, 0, draws)
    return build(*grown, coords=COORDS, dims=DIMS, attributes=ATTRIBUTES, **options)


def without_date(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as lists and numbers, without the time of making; NaN as text, so that it equals itself."""
    return {
        key: np.asarray(value).tolist() if not (isinstance(value, float) and np.isnan(value)) else "nan"
        for key, value in attributes.items()
        if key != "created_at"
    }


def assert_same(found: xr.Dataset, expected: xr.Dataset) -> None:
    """The same values, element types, dimensions, labels and attributes."""
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
    assert list(found.data_vars) == list(expected.data_vars) or set(found.data_vars) == set(expected.data_vars)
    for name in expected.variables:
        assert found[name].dtype == expected[name].dtype
        assert dict(found[name].attrs) == dict(expected[name].attrs)
    assert without_date(found.attrs) == without_date(expected.attrs)


def seen(path: Path) -> int:
    """Open a store in both ways and check that it holds a prefix of the draws above; its draws by the whole tree."""
    with xr.open_datatree(path, engine="zarr") as tree:
        tree.load()
    draws = int(tree["posterior"].sizes["draw"])
    expected = in_memory(draws)
    if len(tree["posterior"].data_vars) == 0:
        assert draws == 0
        expected = build({"none": np.zeros((3, 0))}, coords=COORDS, attributes=ATTRIBUTES)
        expected["posterior"] = xr.DataTree(expected["posterior"].to_dataset().drop_vars("none"))
    grown = set(tree.children) - set(FIXED)
    assert grown == set(expected.children)
    for name in grown:
        assert_same(tree[name].to_dataset(), expected[name].to_dataset())
    for name in grown:
        with xr.open_zarr(path, group=name) as group:
            alone = group.load()
        if len(alone.data_vars):
            assert_same(alone, in_memory(alone.sizes["draw"])[name].to_dataset())
    return draws


opened: set[str] = set()


def glimpse(path: Path) -> int:
    """As `seen`, with xarray only if no store with the same metadata was opened; else read as the format says."""
    files_of_metadata = [path / "zarr.json", *sorted(path.glob("*/zarr.json"))]
    found = [json.loads(file.read_text())["consolidated_metadata"]["metadata"] for file in files_of_metadata]
    summary = re.sub(r'"created_at": "[^"]*"', "", json.dumps(found))
    if summary not in opened:
        opened.add(summary)
        if "observed_data" in found[0]:
            return seen_with(path, {"status": "converged"} if "status" in found[0]["posterior"]["attributes"] else {})
        return seen(path)
    for file, members in zip(files_of_metadata, found, strict=True):
        prefix = "" if file.parent == path else f"{file.parent.name}/"
        lengths = set()
        for name, variable in ((f"{group}/{name}", array) for group in BOTH for name, array in BOTH[group].items()):
            if (member := members.get(name.removeprefix(prefix))) is not None and prefix in name:
                lengths.add(member["shape"][1])
                np.testing.assert_array_equal(read_raw(path / name, member), variable[:, : member["shape"][1]])
        for name in BOTH:
            if (member := members.get(f"{name}/draw".removeprefix(prefix))) is not None and prefix in f"{name}/":
                lengths.add(member["shape"][0])
                np.testing.assert_array_equal(read_raw(path / name / "draw", member), np.arange(member["shape"][0]))
        assert len(lengths) <= 1
    return store_draws(path)


def read_raw(folder: Path, metadata: Any) -> npt.NDArray[Any]:
    """An array without compression, by its metadata alone."""
    result = np.full(metadata["shape"], 99, dtype=metadata["data_type"])
    chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    separator = metadata["chunk_key_encoding"]["configuration"]["separator"]
    for index in np.ndindex(*(-(-length // step) for length, step in zip(metadata["shape"], chunk, strict=True))):
        contents = np.fromfile(folder / separator.join(["c", *map(str, index)]), metadata["data_type"]).reshape(chunk)
        target = result[tuple(slice(i * step, (i + 1) * step) for i, step in zip(index, chunk, strict=True))]
        target[...] = contents[tuple(slice(length) for length in target.shape)]
    return result


@contextmanager
def died() -> Iterator[None]:
    """Afterwards no lock is held, as after the end of a process."""
    try:
        yield
    finally:
        for held in lock._held.values():
            os.close(held.descriptor)
        lock._held.clear()


# -- what readers see ----------------------------------------------------------------------------------------------


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
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.zarr"]


def seen_with(path: Path, final: Mapping[str, object]) -> int:
    """Check a finished store."""
    with xr.open_datatree(path, engine="zarr") as tree:
        tree.load()
    draws = int(tree["posterior"].sizes["draw"])
    expected = build(
        part(POSTERIOR, 0, draws),
        part(STATISTICS, 0, draws),
        **FIXED,  # type: ignore[arg-type] # names of arguments
        coords=COORDS,
        dims=DIMS,
        attributes=ATTRIBUTES | dict(final),
    )
    assert set(tree.children) == set(expected.children)
    for name in expected.children:
        assert_same(tree[name].to_dataset(), expected[name].to_dataset())
    return draws


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
    with xr.open_zarr(tmp_path / "run.zarr", group="posterior") as group:
        assert group["reals"].values.tobytes() == reals.tobytes()
        np.testing.assert_array_equal(group["whole"], whole, strict=True)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lengths=st.lists(st.integers(0, 20), max_size=6), budget=st.sampled_from([1, 40, 300, 10**6]))
def test_any_blocks_make_the_same_store(tmp_path: Path, lengths: list[int], budget: int) -> None:
    """However draws are cut into blocks, and into chunks."""
    path = tmp_path / "run.zarr"
    with pytest.MonkeyPatch.context() as patched, create(path, overwrite=True) as store:
        patched.setattr(growing_array, "CHUNK_BYTES", budget)
        for length in lengths:
            last = min(DRAWS, store.draws + length)
            store.append(blocks(store.draws, last))
        assert seen(path) == min(DRAWS, sum(lengths))


def test_variables_of_no_elements_are_kept(tmp_path: Path) -> None:
    """Such as effects of groups of which there are none."""
    values = np.zeros((2, 9, 0, 3))
    with ZarrStore.create(tmp_path / "run.zarr", chains=2) as store:
        store.append({"posterior": {"x": values}})
        store.close()
        store = ZarrStore.reopen(tmp_path / "run.zarr", 9)
        store.append({"posterior": {"x": values}})
        store.close()
    with xr.open_zarr(tmp_path / "run.zarr", group="posterior") as group:
        assert group["x"].shape == (2, 18, 0, 3)


def test_large_draws_make_chunks_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And small ones few files: at most one per thousand draws and variable."""
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
            zarr.consolidate_metadata(path, path=group or None)
            assert json.loads((path / group / "zarr.json").read_text()) == ours


def test_readers_without_consolidated_metadata_lag_behind(tmp_path: Path) -> None:
    """They see a prefix of all variables alike while draws are appended, and all draws at the end."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        for first in range(0, DRAWS, 4):
            store.append(blocks(first, first + 4))
            with xr.open_zarr(path, group="posterior", consolidated=False) as group:
                draws = group.sizes["draw"]
                assert store.draws / 2 <= draws <= store.draws
                assert_same(group.load(), in_memory(draws)["posterior"].to_dataset())
            assert zarr.open_array(path / "posterior" / "mu", mode="r").shape == (3, draws)
    with xr.open_datatree(path, engine="zarr", consolidated=False) as tree:
        assert tree["posterior"].sizes["draw"] == DRAWS


def test_a_reader_keeps_what_it_saw(tmp_path: Path) -> None:
    """Opened before a restart or a resumption and read after it; the draws it was shown are there."""
    path = tmp_path / "run.zarr"
    store = create(path)
    store.append(blocks(0, 21))
    with xr.open_zarr(path, group="posterior", chunks=None) as early:
        store.forget()
        assert seen(path) == 0
        store.append(chosen(0, 40, np.s_[:, ::-1]))
        assert_same(early.load(), in_memory(21)["posterior"].to_dataset())
    store.forget()
    store.append(blocks(0, 30))
    assert seen(path) == 30
    store.close()
    with xr.open_zarr(path, group="posterior", chunks=None) as early:
        store = ZarrStore.reopen(path, 9, coords=COORDS, dims=DIMS)
        assert seen(path) == 9
        store.append(blocks(9, 12))
        assert_same(early.load(), in_memory(30)["posterior"].to_dataset())
        store.close()


# -- restart, resumption, chains -----------------------------------------------------------------------------------


def test_a_restart_begins_with_no_draws(tmp_path: Path) -> None:
    """As often as one likes; at the end no chunk is left that nobody sees."""
    path = tmp_path / "run.zarr"
    store = create(path)
    store.forget()
    for draws in (20, 9, 33):
        assert seen(path) == store.draws == 0
        store.append(blocks(0, draws))
        assert seen(path) == draws
        store.forget()
    store.append(blocks(0, 17))
    store.finish(FIXED)
    assert seen_with(path, {}) == 17
    chunks = [entry for entry in (path / "posterior/mu").rglob("*") if entry.is_file() and entry.name != "zarr.json"]
    assert len(chunks) == 3


@pytest.mark.parametrize("draws", [0, 1, 7, 8, 9, 16, 20])
def test_a_resumed_store_keeps_the_draws_that_count(tmp_path: Path, draws: int) -> None:
    """Also after its end, and more than once."""
    path = tmp_path / "run.zarr"
    with create(path) as store:
        store.append(blocks(0, 20))
        store.finish(FIXED, {"status": "interrupted"})
    for _ in range(2):
        with ZarrStore.reopen(path, draws, coords=COORDS, dims=DIMS) as store:
            assert store.draws == draws
            with xr.open_zarr(path, group="posterior") as group:
                assert group.sizes["draw"] == draws
            store.append(blocks(draws, 37))
            store.finish(FIXED, {"status": "converged"})
        assert seen_with(path, {"status": "converged"}) == 37


def test_a_store_without_variables_can_be_resumed(tmp_path: Path) -> None:
    """Killed before the first draws came."""
    path = tmp_path / "run.zarr"
    create(path).close()
    with ZarrStore.reopen(path, 0, coords=COORDS, dims=DIMS) as store:
        store.append(blocks(0, 5))
        assert seen(path) == 5


def test_lost_chains_are_left_out(tmp_path: Path) -> None:
    """The others keep their labels and draws, and go on."""
    path = tmp_path / "run.zarr"
    store = create(path)
    store.append(blocks(0, 19))
    with xr.open_zarr(path, group="posterior", chunks=None) as early:
        store.keep_chains([0, 2])
        assert_same(early.load(), in_memory(19)["posterior"].to_dataset())
    store.append(chosen(19, 30, np.s_[[0, 2]]))
    with pytest.raises(StorageError, match=r"needs the shape \(2, draws, \.\.\.\), and has \(3, 1\)"):
        store.append(blocks(30, 31))
    store.close()
    store = ZarrStore.reopen(path, 28, coords=COORDS, dims=DIMS)
    store.keep_chains([1])
    store.append(chosen(28, 33, np.s_[[2]]))
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
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.zarr"]


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
    """All files and directories in a folder."""
    return {str(entry): entry.read_bytes() if entry.is_file() else b"" for entry in folder.rglob("*")}


def test_stores_that_cannot_be_resumed_are_refused(tmp_path: Path) -> None:
    """With the reason; they are not changed."""
    path = tmp_path / "run.zarr"
    with pytest.raises(StorageError, match="does not exist"):
        ZarrStore.reopen(path, 0)
    with create(path) as store:
        store.append(blocks(0, 12))
    with pytest.raises(StorageError, match="has 12 draws, and 13 are to be kept"):
        ZarrStore.reopen(path, 13)
    chunk = path / "posterior/theta/c/0/1/0"
    contents = chunk.read_bytes()
    chunk.write_bytes(contents[:-1])
    with pytest.raises(StorageError, match=rf"1/0' has {len(contents) - 1} bytes instead of {len(contents)}"):
        ZarrStore.reopen(path, 12)
    chunk.unlink()
    with pytest.raises(StorageError, match="1/0' is missing"):
        ZarrStore.reopen(path, 12)
    (path / "zarr.json").write_text((path / "zarr.json").read_text()[:-5])
    with pytest.raises(StorageError, match="is not a store of this library"):
        ZarrStore.reopen(path, 8)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"posterior": {"mu": np.zeros((3, 2))}}, "'posterior/count' was not given"),
        ({"posterior": POSTERIOR | {"new": np.zeros((3, DRAWS))}, "sample_stats": STATISTICS}, "was not there before"),
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
    """Pairs, and labels of draws, which are not known when a store begins."""
    with pytest.raises(StorageError, match="leave out the labels of 'draw'"):
        ZarrStore.create(tmp_path / "run.zarr", chains=1, coords={"draw": [1, 2]})
    with ZarrStore.create(
        tmp_path / "run.zarr", chains=1, coords={"pair": [("a", 1), ("b", 2)]}, dims={"x": ["pair"]}
    ) as store:
        with pytest.raises(StorageError, match="'posterior/pair' holds Python objects"):
            store.append({"posterior": {"x": np.zeros((1, 2, 2))}})
    with pytest.raises(ShapeError, match="'chain'"):
        ZarrStore.create(tmp_path / "other.zarr", chains=2, coords={"chain": [1, 2, 3]})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run.zarr"]


def test_a_store_that_has_ended_takes_nothing(tmp_path: Path) -> None:
    """Unless it is reopened; groups that grow are not for the end."""
    store = create(tmp_path / "run.zarr")
    with pytest.raises(StorageError, match="group 'posterior' grows by append"):
        store.finish({"posterior": {"mu": np.zeros((3, 1))}})
    store.close()
    append, finish, keep = lambda: store.append(blocks(0, 1)), lambda: store.finish({}), lambda: store.keep_chains([0])
    for act in (append, store.forget, finish, keep):
        with pytest.raises(StorageError, match="reopen goes on with it"):
            act()


def test_names_that_one_filesystem_takes_for_one_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where upper and lower case are the same; elsewhere both are kept."""
    both = {"posterior": {"a": np.zeros((1, 2)), "A": np.ones((1, 2))}}
    with ZarrStore.create(tmp_path / "run.zarr", chains=1) as store:
        (tmp_path / "run.zarr" / "ZARR.JSON").touch()
        with pytest.raises(StorageError, match="'a' and 'A' in group 'posterior' are one name"):
            store.append(both)
        (tmp_path / "run.zarr" / "ZARR.JSON").unlink(missing_ok=True)
        if not (tmp_path / "run.zarr" / "ZARR.JSON").exists():
            store.append(both)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is made."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(StorageError, match=r"pip install 'consilience\[zarr\]'"):
        create(tmp_path / "run.zarr")
    assert list(tmp_path.iterdir()) == []


# -- faults --------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one, for thousands of small files."""
    memory = Path("/dev/shm")
    if not (memory.is_dir() and os.access(memory, os.W_OK)):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


class Death(BaseException):
    """The process is no more."""


@contextmanager
def fault(at: int, *, deadly: bool) -> Iterator[list[str]]:
    """At file operation number `at`, die with all later ones failing too, or have one error; gives those made."""
    made: list[str] = []

    def spoil(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def spoilt(*arguments: Any, **options: Any) -> Any:
            made.append(name)
            if len(made) > at and (deadly or len(made) == at + 1):
                if name == "write" and len(made) == at + 1:
                    arguments[0].write(arguments[1][: len(arguments[1]) // 2])
                raise Death if deadly else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return operation(*arguments, **options)

        return spoilt

    with pytest.MonkeyPatch.context() as patched:
        for name in ("replace", "rename", "mkdir", "unlink", "rmdir", "open", "ftruncate"):
            patched.setattr(os, name, spoil(name, getattr(os, name)))
        patched.setattr(growing_array, "write_all", spoil("write", files.write_all))
        patched.setattr(files, "open", spoil("open", builtins.open), raising=False)
        yield made


def act_overwrite(path: Path) -> None:
    create(path, overwrite=True)


def act_resume(path: Path) -> None:
    ZarrStore.reopen(path, 3, coords=COORDS, dims=DIMS).append(blocks(3, 20))


def act_first_append(path: Path) -> None:
    create(path).append(blocks(0, 9))


def act_forget(path: Path) -> None:
    ZarrStore.reopen(path, store_draws(path), coords=COORDS, dims=DIMS).forget()


def act_finish(path: Path) -> None:
    ZarrStore.reopen(path, store_draws(path), coords=COORDS, dims=DIMS).finish(FIXED)


def store_draws(path: Path) -> int:
    """Draws that readers see."""
    return int(zarr_store.read_members(path)["posterior/draw"]["shape"][0])


@pytest.mark.parametrize("deadly", [True, False], ids=["death", "error"])
@pytest.mark.parametrize("act", [act_overwrite, act_first_append, act_resume, act_forget, act_finish])
def test_a_store_is_whole_after_a_fault_at_any_file_operation(
    quick_path: Path, act: Callable[[Path], None], deadly: bool
) -> None:
    """Of each way to write: readers see draws from before or after, and the store goes on."""
    template = quick_path / "template.zarr"
    existing = act is not act_first_append
    if existing:
        with create(template) as store:
            store.append(blocks(0, 10))
    allowed = {act_first_append: {0, 9}, act_resume: {10, 3, 20}, act_finish: {10}}.get(act, {10, 0})
    for at in itertools.count():
        folder = quick_path / str(at)
        folder.mkdir()
        path = folder / "run.zarr"
        if existing:
            shutil.copytree(template, path)
        message = ""
        with died(), fault(at, deadly=deadly) as made:
            try:
                act(path)
            except Death:
                message = "dead"
            except StorageError as error:
                message = str(error)
        assert message == "" or ("dead" if deadly else "No space left on device") in message
        if path.exists():
            assert glimpse(path) in allowed
            with ZarrStore.reopen(path, min(3, store_draws(path)), coords=COORDS, dims=DIMS) as store:
                store.append(blocks(store.draws, 25))
        else:
            assert not existing or (act is act_overwrite and deadly)
            with create(path) as store:
                store.append(blocks(0, 25))
        assert glimpse(path) == 25
        assert [entry.name for entry in folder.iterdir()] == ["run.zarr"]
        shutil.rmtree(folder)
        if len(made) <= at:
            break
    assert at > 5


def test_a_failed_append_can_be_tried_again(quick_path: Path) -> None:
    """The same store object goes on after an error at any file operation, the first append included."""
    for start, stop in ((0, 9), (9, 20)):
        at = 0
        while True:
            path = quick_path / f"{start}-{at}.zarr"
            with create(path) as store:
                if start:
                    store.append(blocks(0, start))
                message = ""
                with fault(at, deadly=False) as made:
                    try:
                        store.append(blocks(start, stop))
                    except StorageError as error:
                        message = str(error)
                if len(made) <= at:
                    break
                if message:  # an error may also fall on what need not succeed
                    assert f"the {start} draws before are kept; free some space" in message
                    assert glimpse(path) == store.draws == start
                    store.append(blocks(start, stop))
                assert glimpse(path) == store.draws == stop
            at += 1


def test_keeping_chains_is_all_or_nothing(quick_path: Path) -> None:
    """After an error at any file operation all chains are there, and the store goes on with all."""
    at = 0
    while True:
        path = quick_path / f"{at}.zarr"
        with create(path) as store:
            store.append(blocks(0, 12))
            with fault(at, deadly=False) as made:
                try:
                    store.keep_chains([0, 2])
                except StorageError as error:
                    message = str(error)
            if len(made) <= at:
                break
            assert "all chains are kept" in message
            assert glimpse(path) == 12
            store.append(blocks(12, 15))
            assert glimpse(path) == 15
        at += 1


WRITER = """
import resource, sys
import numpy as np
from consilience.errors import StorageError
from consilience.storage import growing_array
from consilience.storage.zarr_store import ZarrStore

growing_array.CHUNK_DRAWS = 64
path, draws, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
coords, dims = {"school": ["A", "B"]}, {"theta": ["school"]}
if draws < 0:
    store = ZarrStore.create(path, chains=2, coords=coords, dims=dims, overwrite=True)
else:
    store = ZarrStore.reopen(path, draws, coords=coords, dims=dims)
random = np.random.default_rng(draws + 1)
print("begun", flush=True)
try:
    while True:
        count = int(random.integers(1, 40))
        values = np.arange(store.draws, store.draws + count) + 1.0
        both = np.stack([values, -values])
        posterior = {f"x{number}": both * number for number in range(1, 6)} | {"theta": np.stack([both, both], -1)}
        store.append({"posterior": posterior, "sample_stats": {"odd": both % 2 == 1}})
        if random.random() < 0.02:
            store.forget()
except StorageError as error:
    print(store.draws, error)
"""


def start_writer(path: Path, draws: int, limit: int = 0) -> subprocess.Popen[str]:
    """A process that appends to a store until it is killed; `draws` of a resumed one, or -1."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(draws), str(limit)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def assert_written(path: Path) -> int:
    """The store holds a prefix of what the writer appends, in both ways of opening it; its draws."""
    with xr.open_datatree(path, engine="zarr") as tree:
        tree.load()
        groups = {name: node.to_dataset() for name, node in tree.children.items()}
    draws = int(groups["posterior"].sizes["draw"])
    with xr.open_zarr(path, group="posterior") as alone:
        assert_prefix(alone.load(), alone.sizes["draw"])
    for group in groups.values():
        assert_prefix(group, draws)
    return draws


def assert_prefix(group: xr.Dataset, draws: int) -> None:
    values = np.arange(draws) + 1.0
    both = np.stack([values, -values])
    expected = {f"x{number}": both * number for number in range(1, 6)}
    expected |= {"theta": np.stack([both, both], -1), "odd": both % 2 == 1, "draw": np.arange(draws)}
    for name in [*group.data_vars, "draw"]:
        np.testing.assert_array_equal(group[name], expected[str(name)], strict=True)


def kill_and_resume(path: Path, kills: int) -> None:
    """Kill the writer at arbitrary moments, open the store, go on from some of its draws."""
    random = np.random.default_rng(8)
    draws = -1
    for _ in range(kills):
        with start_writer(path, draws) as process:
            try:
                process.wait(random.uniform(0.0, 0.15))
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
        assert process.returncode == -9
        present = assert_written(path)
        draws = int(random.integers(0, present + 1)) if random.random() < 0.5 else present
    ZarrStore.reopen(path, draws).close()
    assert [entry.name for entry in path.parent.iterdir()] == ["run.zarr"]


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_killed_writer_leaves_a_whole_store(tmp_path: Path) -> None:
    """A few times, at arbitrary moments."""
    kill_and_resume(tmp_path / "run.zarr", 4)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_writer_killed_a_hundred_times_leaves_a_whole_store(tmp_path: Path) -> None:
    """At arbitrary moments, and resumed each time."""
    kill_and_resume(tmp_path / "run.zarr", 100)


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_readers_beside_a_writer_see_whole_stores(tmp_path: Path) -> None:
    """Opened over and over while another process appends and restarts."""
    path = tmp_path / "run.zarr"
    with start_writer(path, -1) as process:
        try:
            found = [assert_written(path) for _ in range(25)]
            assert process.poll() is None
        finally:
            process.kill()
            process.communicate()
    assert len(set(found)) > 5


@pytest.mark.skipif(os.name == "nt", reason="the size of files cannot be limited there")
def test_files_that_cannot_grow_end_the_writing_and_lose_nothing(tmp_path: Path) -> None:
    """The system itself refuses to write; the error says how many draws are kept."""
    path = tmp_path / "run.zarr"
    with start_writer(path, -1, limit=1500) as process:
        output, _ = process.communicate()
    draws = int(output.split()[0])
    assert f"could not be written (File too large); the {draws} draws before are kept" in output
    assert assert_written(path) == draws


@pytest.mark.skipif(os.name == "nt", reason="the writer limits its files as only POSIX does")
def test_a_second_run_is_refused_while_one_writes(tmp_path: Path) -> None:
    """Both a new one and a resumed one; the error names the process that writes."""
    path = tmp_path / "run.zarr"
    with start_writer(path, -1) as process:
        try:
            for attempt in (
                lambda: create(path, overwrite=True),
                lambda: create(path),
                lambda: ZarrStore.reopen(path, 0),
            ):
                with pytest.raises(StorageError, match=f"is being written by another run .process {process.pid} on"):
                    attempt()
        finally:
            process.kill()
            process.communicate()
    assert_written(path)


def test_a_path_that_a_run_changes_directory_under_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths count from where the run began."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with create(Path("run.zarr")) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.append(blocks(0, 9))
    assert seen(tmp_path / "run.zarr") == 9
    assert list((tmp_path / "elsewhere").iterdir()) == []
