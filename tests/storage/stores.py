"""A store of three chains and what its readers must see, for the tests of stores that grow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from consilience.output.storage import tree_of
from consilience.output.storage.zarr_directory import read_members
from consilience.output.storage.zarr_store import ZarrStore

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


def in_memory(draws: int, attributes: Mapping[str, object] = ATTRIBUTES) -> xr.DataTree:
    """The tree that the store must equal."""
    return tree_of(blocks(0, draws), COORDS, DIMS, attributes)


def without_date(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes as lists and numbers, without the time of making; NaN as text, so that it equals itself."""
    return {
        key: np.asarray(value).tolist() if not (isinstance(value, float) and np.isnan(value)) else "nan"
        for key, value in attributes.items()
        if key != "created_at"
    }


def assert_same(found: xr.Dataset, expected: xr.Dataset) -> None:
    """The same values, element types, dimensions, labels and attributes; text may be of any length."""
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
    for name in expected.variables:
        kinds = "T" if expected[name].dtype.kind != "U" else "TO"  # objects: xarray before 2026.2
        assert found[name].dtype == expected[name].dtype or found[name].dtype.kind in kinds
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
        expected = tree_of({"posterior": {"none": np.zeros((3, 0))}}, COORDS, {}, ATTRIBUTES)
        expected["posterior"] = xr.DataTree(expected["posterior"].to_dataset().drop_vars("none"))
    grown = set(tree.children) - set(FIXED)
    assert grown == set(expected.children)
    for name in grown:
        assert_same(tree[name].to_dataset(), expected[name].to_dataset())
    for name in grown:
        with xr.open_zarr(path, group=name, chunks=None) as group:
            alone = group.load()
        if len(alone.data_vars):
            assert_same(alone, in_memory(alone.sizes["draw"])[name].to_dataset())
    return draws


def seen_with(path: Path, final: Mapping[str, object]) -> int:
    """Check a finished store."""
    with xr.open_datatree(path, engine="zarr") as tree:
        tree.load()
    draws = int(tree["posterior"].sizes["draw"])
    expected = tree_of({**blocks(0, draws), **FIXED}, COORDS, DIMS, ATTRIBUTES | dict(final))
    assert set(tree.children) == set(expected.children)
    for name in expected.children:
        assert_same(tree[name].to_dataset(), expected[name].to_dataset())
    return draws


def store_draws(path: Path) -> int:
    """Draws that readers see."""
    return int(read_members(path)["posterior/draw"]["shape"][0])


def names(folder: Path) -> list[str]:
    """What is in a folder but locks."""
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.endswith(".lock"))
