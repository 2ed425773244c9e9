"""Rows on workers, from whatever holds them: sums are those of all rows, in the bits of their order alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceError, SamplingError
from consilience.model.log_density import model_density
from tests.shards.rows import POSITION, ROWS, files, model, sharded, small, table

Sources = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def lists(folder: Path) -> dict[str, Any]:
    """Files that end in the middle of shards, and parts of one mapped file."""
    x, _ = table()
    np.save(folder / "first.npy", x[:1001])
    np.save(folder / "second.npy", x[1001:])
    y = np.load(folder / "y.npy", mmap_mode="r")
    return {"x": [folder / "first.npy", folder / "second.npy"], "y": [y[:700], y[700:700], y[700:]]}


def mapped(folder: Path) -> dict[str, Any]:
    """One with a header, one without."""
    y = np.memmap(folder / "y.raw", "int8", "w+", 16, (ROWS,))
    y[:] = table()[1]
    y.flush()
    return {"x": np.load(folder / "x.npy", mmap_mode="r"), "y": y}


def by_columns(folder: Path) -> dict[str, Any]:
    np.save(folder / "columns.npy", np.asfortranarray(table()[0]))
    return {"x": folder / "columns.npy", "y": table()[1]}


def zarrs(folder: Path) -> dict[str, Any]:
    """A path, and an array that is open."""
    zarr = pytest.importorskip("zarr")
    for name, values in zip("xy", table(), strict=True):
        made = zarr.create_array(
            folder / f"{name}.zarr", shape=values.shape, chunks=(170, *values.shape[1:]), dtype=values.dtype
        )
        made[:] = values
    return {"x": folder / "x.zarr", "y": zarr.open_array(folder / "y.zarr", mode="r")}


def parquet(folder: Path) -> dict[str, Any]:
    """A folder of files with several groups of rows each, and one file."""
    arrow, written = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    x, y = table()
    whole = arrow.table({"c": x[:, 2], "a": x[:, 0], "b": x[:, 1], "y": y})
    (folder / "t").mkdir()
    written.write_table(whole.slice(0, 900), folder / "t" / "0.parquet", row_group_size=130)
    written.write_table(whole.slice(900), folder / "t" / "1.parquet")
    written.write_table(whole, folder / "y.parquet", row_group_size=1000)
    return {"x": (folder / "t", ["a", "b", "c"]), "y": (folder / "y.parquet", "y")}


def dask_arrays(folder: Path) -> dict[str, Any]:
    """Of files; and of unknown length."""
    array = pytest.importorskip("dask.array")
    x = array.from_array(np.load(folder / "x.npy", mmap_mode="r"), chunks=(171, 2))
    y = array.from_array(table()[1], chunks=400)
    return {"x": x, "y": y[y >= 0]}


def dask_frames(folder: Path) -> dict[str, Any]:
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    x, y = table()
    frame = frames.from_pandas(pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y, "c": x[:, 2]}), npartitions=7)
    return {"x": (frame, ["a", "b", "c"]), "y": frame["y"]}


@pytest.mark.parametrize(
    "made", [files, lists, mapped, by_columns, zarrs, parquet, dask_arrays, dask_frames], ids=lambda f: f.__name__
)
def test_sums_of_shards_are_the_density_of_all_rows(pool: ThreadPoolExecutor, tmp_path: Path, made: Sources) -> None:
    """The same bits from every kind of source."""
    value, slope = model_density(model(*table()))(POSITION)
    plain = files(tmp_path)
    with sharded(small(), pool, plain) as density:
        first = density(POSITION)
    with sharded(small(), pool, made(tmp_path)) as density:
        assert density.sums.length == ROWS
        found = density(POSITION)
    assert found[0] == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found[1], slope, rtol=1e-9)
    assert found[0] == first[0]
    np.testing.assert_array_equal(found[1], first[1])


def test_bits_depend_neither_on_workers_nor_on_what_they_keep(tmp_path: Path) -> None:
    found = []
    for count, memory in ((1, None), (2, 10_000), (5, 0)):
        with ThreadPoolExecutor(count) as pool, sharded(small(), pool, files(tmp_path), memory=memory) as density:
            found += [density(POSITION), density(POSITION)]
    for other, gradient in found[1:]:
        assert other == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


@pytest.mark.parametrize("kind", ["float32", "float64", "int8", "uint16", "bool"])
def test_numbers_of_any_kind_are_read_as_the_model_has_them(
    pool: ThreadPoolExecutor, tmp_path: Path, kind: str
) -> None:
    """Float32 and whole numbers in the file, float64 in the model; and as the file has them."""
    x = (4 * table()[0]).astype(kind) if kind != "bool" else table()[0] > 0
    x = np.abs(x) if kind == "uint16" else x
    plain = files(tmp_path)
    np.save(tmp_path / "k.npy", x)
    value, slope = model_density(model(x, table()[1]))(POSITION)
    for own in (x[:5], x[:5].astype("float64")):
        with sharded(model(own, table()[1][:5]), pool, {"x": tmp_path / "k.npy", "y": plain["y"]}) as density:
            found = density(POSITION)
        assert found[0] == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(found[1], slope, rtol=1e-5)


def test_what_is_mapped_goes_to_workers_as_its_path(tmp_path: Path) -> None:
    """A whole file, rows of it, and a view of them: some hundred bytes."""
    import pickle

    np.save(tmp_path / "x.npy", table()[0])
    whole = np.load(tmp_path / "x.npy", mmap_mode="r")
    for given, rows in ((whole, slice(None)), (whole[7:], slice(7, None)), (np.asarray(whole)[3:9], slice(3, 9))):
        shards = pm.cluster.shards(ThreadPoolExecutor(1), {"x": given})
        sent = pickle.dumps(shards.sources)
        assert len(sent) < 1000
        np.testing.assert_array_equal(pickle.loads(sent)[0].read(1, 4), table()[0][rows][1:4])


def test_paths_are_those_of_the_driver(
    pool: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative ones are made whole where they are given, as workers have folders of their own."""
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    shards = pm.cluster.shards(pool, {"x": "x.npy", "y": ["y.npy"]})
    monkeypatch.chdir("/")
    assert [source.length() for source in shards.sources] == [ROWS, ROWS]


# --- bad input


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("absent.npy", r"`x`: '/.*absent.npy' on the host '.*' can't be opened \(FileNotFoundError"),
        ("absent.zarr", r"absent.zarr' on the host '.*' can't be opened"),
        (["x.npy", "absent.npy"], "absent.npy"),
        ("t.csv", r"read as a parquet table; name its columns"),
        (("x.npy", "y.npy"), "has no columns to take 'y.npy' of; .* several files as a list"),
        (5, r"the source of `x` must be a path, .* got int"),
        ([1.0, 2.0], r"got float"),
        ([], r"got list"),
        ("words.npy", r"values of the type <U1, where numbers were needed"),
        ("short.npy", r"different numbers of rows: `x` 7, `y` 2,300"),
        (["x.npy", "wide.npy"], r"rows of different kinds: float64 \(3,\), float64 \(4,\)"),
    ],
    ids=str,
)
def test_sources_that_are_none_are_told_by_name(
    pool: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Any, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    x, y = table()
    np.save("x.npy", x)
    np.save("short.npy", x[:7])
    np.save("words.npy", np.full(ROWS, "a"))
    np.save("wide.npy", np.zeros((9, 4)))
    y = np.append(y, np.zeros(9, int)) if source == ["x.npy", "wide.npy"] else y
    with pytest.raises(SamplingError, match=words), sharded(small(), pool, {"x": source, "y": y}) as density:
        density(POSITION)


def test_sources_without_rows_are_refused(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    x, y = table()
    with (
        pytest.raises(SamplingError, match=r"\('x', 'y'\) have no rows"),
        sharded(small(), pool, {"x": x[:0], "y": y[:0]}),
    ):
        pass
    with pytest.raises(SamplingError, match="needs the sources"):
        pm.cluster.shards(pool, {})
    with pytest.raises(SamplingError, match="`rows` must be a whole number of at least 1, got 0"):
        pm.cluster.shards(pool, {"x": x}, rows=0)


def test_missing_values_in_a_table_are_named(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    arrow, written = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    y: list[Any] = table()[1].tolist()
    y[1234] = None
    written.write_table(arrow.table({"y": y}), tmp_path / "y.parquet")
    sources = {"x": table()[0], "y": (tmp_path / "y.parquet", "y")}
    with (
        pytest.raises(SamplingError, match="column 'y' has no value in 1 of the rows 1,200 to 1,500"),
        sharded(small(), pool, sources) as density,
    ):
        density(POSITION)
    with (
        pytest.raises(SamplingError, match="no column 'z'; there are y"),
        sharded(small(), pool, {**sources, "x": (tmp_path / "y.parquet", "z")}),
    ):
        pass


@pytest.mark.parametrize(("name", "value"), [("y", 2), ("y", -1), ("x", np.nan)])
def test_rows_that_the_model_does_not_take_are_told_with_their_shard(
    pool: ThreadPoolExecutor, tmp_path: Path, name: str, value: Any
) -> None:
    """Outside the support they are errors; what is no number gives no density."""
    sources = dict(zip("xy", table(), strict=True))
    sources[name][1234] = value
    with sharded(small(), pool, sources) as density:
        if name == "x":
            assert not np.isfinite(density(POSITION)[0])
            return
        with pytest.raises(ConsilienceError) as caught:
            density(POSITION)
    assert "in the shard of the rows from 1,200 on" in caught.value.__notes__
    assert str(value) in str(caught.value)


def test_a_file_that_changes_while_it_is_read_is_told(pool: ThreadPoolExecutor, tmp_path: Path) -> None:
    sources = files(tmp_path)
    with sharded(small(), pool, sources) as density:
        density(POSITION)
        np.save(sources["y"], 1 - table()[1])
        os.utime(sources["y"], ns=(1, 1))
        with pytest.raises(SamplingError, match=r"`y`: '.*y.npy' on the host '.*' changed while it was read"):
            density(POSITION)
