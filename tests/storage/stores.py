"""A store of three chains and what its readers must see, for the tests of stores that grow."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from consilience.storage import build, lock, zarr_store
from consilience.storage.zarr_store import ZarrStore

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


def store_draws(path: Path) -> int:
    """Draws that readers see."""
    return int(zarr_store.read_members(path)["posterior/draw"]["shape"][0])
