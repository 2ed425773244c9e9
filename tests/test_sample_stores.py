"""What a run leaves in a store is what it gives in memory, whatever happens on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
from consilience.errors import ConsilienceWarning, StorageError
from consilience.output.storage import tree_of
from consilience.output.storage.zarr_store import ZarrStore
from consilience.run import ChainLost, DrawsMade, Restarted
from consilience.sample.storing import Storing
from tests.test_sample import QUIET
from tests.test_sample_runs import model

pytest.importorskip("zarr", reason="growing stores need it")

DRAWS = np.random.default_rng(2).normal(size=(4, 60, 2))


def begun(path: Path) -> Storing:
    """Storing for a run of four chains of which only the names of its draws are there."""
    return Storing(lambda: lambda draws: {"x": draws}, range(4), ZarrStore.create(path, chains=4))


def made(first: int, last: int, chains: Any = slice(None)) -> DrawsMade:
    """An event with some of the draws."""
    some = DRAWS[chains, first:last]
    return DrawsMade(first, some, {"odd": some[..., 0] > 0})


def result() -> Any:
    """The tree of a finished run."""
    return tree_of({"posterior": {"x": DRAWS}, "observed_data": {"y": np.arange(3.0)}}, attributes={"status": "done"})


def stored(path: Path) -> Any:
    with xr.open_datatree(path, engine="zarr") as tree:
        return tree.load()


def test_draws_are_stored_through_restarts_and_losses(tmp_path: Path) -> None:
    path = tmp_path / "run.zarr"
    store = begun(path)
    for event in (made(5, 9), made(9, 30), Restarted("divergences"), made(0, 10), made(10, 11), made(11, 20)):
        store(event)
    assert stored(path)["posterior"].sizes["draw"] == 20
    kept = [0, 2, 3]
    for event in (ChainLost(1, "by chance"), made(20, 41, kept), made(41, 60, kept)):
        store(event)
    store.finish(result())
    tree = stored(path)
    np.testing.assert_array_equal(tree["posterior"]["x"], DRAWS[kept])
    np.testing.assert_array_equal(tree["sample_stats"]["odd"], DRAWS[kept, :, 0] > 0)
    assert tree["posterior"]["chain"].values.tolist() == kept
    assert tree["posterior"].attrs["status"] == "done"
    np.testing.assert_array_equal(tree["observed_data"]["y"], np.arange(3.0))


def test_a_fault_is_said_at_the_end_and_the_place_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws before it stay."""
    path = tmp_path / "run.zarr"
    store = begun(path)
    store(made(0, 10))

    def full(groups: Any) -> None:
        raise StorageError("the disk is full.")

    monkeypatch.setattr(store.store, "append", full)
    store(made(10, 20))
    store(made(20, 30))
    with pytest.warns(ConsilienceWarning, match=r"only the first 10 draws of each chain: the disk is full\. All draws"):
        store.finish(result())
    np.testing.assert_array_equal(stored(path)["posterior"]["x"], DRAWS[:, :10])
    ZarrStore.create(path, chains=4, overwrite=True).close()


def test_an_extended_run_is_stored_too(tmp_path: Path) -> None:
    """The store holds what the longer result holds."""
    with model():
        tree = pm.sample(
            draws=60, tune=50, random_seed=1, save=pm.Save(store=tmp_path / "run.zarr"), stop=pm.Stop(ess=None), **QUIET
        )
        assert stored(tmp_path / "run.zarr")["posterior"].sizes["draw"] == 60
        longer = tree.extend(draws=90, progressbar=False)
    found = stored(tmp_path / "run.zarr")
    assert found["posterior"].sizes["draw"] == 90
    assert set(found.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
    for group in found.children:
        for name, values in found[group].data_vars.items():
            np.testing.assert_array_equal(values, longer[group][name])


def test_a_course_that_cannot_be_written_is_said_and_draws_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.zarr"
    store = begun(path)
    monkeypatch.setattr(store.journal, "write", _full)
    for event in (made(0, 10), Restarted("divergences"), made(0, 60)):
        store(event)
    with pytest.warns(ConsilienceWarning, match="course of the run ends before the run: no room"):
        store.finish(result())
    assert np.array_equal(stored(path)["posterior"]["x"].values, DRAWS)


def _full(record: Any) -> None:
    raise StorageError("no room.")
