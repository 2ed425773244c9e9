"""Whatever a model accepts as a name, a dimension or a label can be stored in every format, and is read back."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import consilience as pm

xarray = pytest.importorskip("xarray")
pytest.importorskip("zarr")
pytest.importorskip("h5netcdf")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
    pytest.mark.filterwarnings("ignore:The data type .* does not have a Zarr V3 specification"),
]


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


# Kinds of labels -> two of them.
LABELS: dict[str, Callable[[], Any]] = {
    "dates with a zone": lambda: pd.date_range("2020", periods=2, tz="Europe/Berlin"),
    "datetimes with a zone": lambda: [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in (1, 2)],
    "datetimes": lambda: [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 3)],
    "dates": lambda: [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "datetime64": lambda: np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
    "no date": lambda: pd.to_datetime(["2020", None]),
    "spans": lambda: pd.to_timedelta([1, 2], "D"),
    "periods": lambda: pd.period_range("2020", periods=2, freq="M"),
    "intervals": lambda: pd.interval_range(0, 2),
    "levels": lambda: pd.MultiIndex.from_product([["a"], [1, 2]]),
    "tuples": lambda: [("a", 1), ("b", 2)],
    "categories": lambda: pd.Categorical(["a", "b"]),
    "decimals": lambda: [decimal.Decimal("0.1"), decimal.Decimal(2)],
    "ratios": lambda: [fractions.Fraction(1, 2), fractions.Fraction(1, 3)],
    "members": lambda: [Colour.RED, Colour.BLUE],
    "none among texts": lambda: [None, "a"],
    "numbers among texts": lambda: [1, "a"],
    "bytes": lambda: [b"a", b"\xff"],
    "truth values": lambda: [True, False],
    "floats": lambda: [0.5, np.nan],
    "complex": lambda: [1j, 2.0],
    "beyond 64 bits": lambda: [2**70, 1],
    "objects": lambda: [object(), object()],
    "texts": lambda: ["a/b", "é 😀\n\x1b[31m"],
    "empty text": lambda: ["", "b"],
}
NAMES = (
    "é😀",
    "a.b",
    "a b",
    "a:b",
    "c",
    "0",
    " a",
    "a\n",
    "\x1b[31m",
    "CON",
    "-",
    "x" * 200,
    "%2e%2e",
    "~",
    "*",
)
REFUSED = ("a\ud800", "a\0b", ".", "..", "zarr.json", "x" * 201, "é" * 101, "/", "a/b", "a\\b", "", "chain", "draw")
FORMATS = ("zarr", "netCDF", "store")


def written(model: pm.Model, kind: str, folder: Path) -> Any:
    settings: dict[str, Any] = {"save": pm.Save(store=folder / "s.zarr")} if kind == "store" else {}
    with model:
        result = pm.sample(5, tune=5, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False,
                           **settings)  # fmt: skip
    if kind == "netCDF":
        result.to_netcdf(folder / "r.nc")
        return result, xarray.open_datatree(folder / "r.nc", engine="h5netcdf")
    if kind == "zarr":
        result.to_zarr(folder / "r.zarr")
    return result, xarray.open_datatree(folder / ("s.zarr" if kind == "store" else "r.zarr"), engine="zarr")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_every_kind_are_stored_and_stay_distinct(labels: str, kind: str, tmp_path: Path) -> None:
    with pm.Model(coords={"t": LABELS[labels]()}) as model:
        pm.Normal("x", dims="t")
    result, read = written(model, kind, tmp_path)
    assert len({str(label) for label in read.posterior["t"].values.tolist()}) == 2
    assert np.array_equal(read.posterior["x"].values, result.posterior["x"].values)
    # A tree that was looked at is written by xarray: the same must come of it.
    if kind == "zarr":
        result.posterior["x"].mean()
        result.to_zarr(tmp_path / "again.zarr")
        again = xarray.open_datatree(tmp_path / "again.zarr", engine="zarr")
        both = ([str(label) for label in tree.posterior["t"].values.tolist()] for tree in (again, read))
        assert next(both) == next(both)


@pytest.mark.parametrize("kind", FORMATS)
def test_names_that_are_accepted_are_stored(kind: str, tmp_path: Path) -> None:
    for number, name in enumerate(NAMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pm.Model(coords={f"{name[:190]} axis": ["p", "q"]}) as model:
            pm.Normal(name, dims=f"{name[:190]} axis")
        result, read = written(model, kind, folder)
        assert np.array_equal(read.posterior[name].values, result.posterior[name].values), ascii(name)


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_names_that_no_file_can_have_are_refused_before_the_run(name: str) -> None:
    with pm.Model(), pytest.raises(pm.ModelError):
        pm.Normal(name)
    with pytest.raises(pm.ModelError):
        pm.Model(coords={name: ["p", "q"]})
    if "\0" in name or "\ud800" in name:
        with pytest.raises(pm.ModelError, match="cannot be stored"):
            pm.Model(coords={"t": [name, "q"]})


def test_a_variable_and_the_unconstrained_value_of_another_cannot_have_one_name() -> None:
    with pm.Model():
        pm.HalfNormal("x")
        with pytest.raises(pm.ModelError, match=r"`x_log__` is what .* call the unconstrained value of `x`"):
            pm.Normal("x_log__")
    with pm.Model():
        pm.Normal("x_log__")
        with pytest.raises(pm.ModelError, match="unconstrained value of `x` `x_log__`"):
            pm.HalfNormal("x")


def test_a_directory_is_no_name_of_a_netcdf_file(tmp_path: Path) -> None:
    with pm.Model():
        pm.Normal("x")
        result = pm.sample(5, tune=5, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False)
    with pytest.raises(pm.StorageError, match="is a directory; name a file"):
        result.to_netcdf(tmp_path)
    with pytest.raises(pm.StorageError, match="is a directory; name a file"):
        result.to_netcdf(str(tmp_path))


@pytest.mark.parametrize("shape", [2**63, 10**12, (10**6, 10**6), 2**200])
def test_shapes_beyond_any_memory_are_refused_when_they_are_declared(shape: Any) -> None:
    with pm.Model(), pytest.raises(pm.ConsilienceError, match="shape"):
        pm.Normal("x", shape=shape)
