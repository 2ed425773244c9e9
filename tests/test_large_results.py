"""Results of very many numbers: draws are there once, or on the disk, and are those of other results, bit for bit."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
from consilience.inference import fisher_metric, nuts_tuner, pooled_tuning
from consilience.run import attempt
from consilience.sample import results

LARGE = 10  # numbers that are many here
WINDOW = 7 * 2 * 18  # numbers in a window: 7 draws of 2 chains


def drawn(**settings: Any) -> Any:
    """A result with variables as they are, transformed ones, and deterministics."""
    with pm.Model(coords={"group": range(5)}):
        a = pm.Normal("a", 0, 1, dims="group")
        s = pm.HalfNormal("s", 1, shape=(2, 3))
        b = pm.Normal("b", 0, 1, shape=(3, 2))
        pm.Normal("c")
        pm.Deterministic("d", a * s.sum())
        pm.Deterministic("e", b.sum())
        return pm.sample(chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False, **settings)


def assert_same(one: Any, other: Any) -> None:
    """All variables and statistics of two results are equal in every bit."""
    assert set(one.posterior.data_vars) == set(other.posterior.data_vars)
    for group in ("posterior", "sample_stats"):
        for name, values in one[group].data_vars.items():
            np.testing.assert_array_equal(values.values, other[group][name].values, err_msg=str(name))


@pytest.mark.parametrize("chosen", [None, ["s", "e", "a"], ["d"]])
@pytest.mark.parametrize("deterministics", ["eager", "lazy"])
def test_large_results_are_those_of_small_ones(
    monkeypatch: pytest.MonkeyPatch, chosen: list[str] | None, deterministics: Any
) -> None:
    """Variables without a transform are views of the draws; what is derived is computed in parts."""
    plain = drawn(draws=30, tune=30, var_names=chosen)
    monkeypatch.setattr(results, "LARGE", LARGE)
    large = drawn(draws=30, tune=30, var_names=chosen, save=pm.Save(deterministics=deterministics))
    assert_same(plain, large)
    if chosen is None:
        run = large._run.wait()
        assert all(np.shares_memory(large.posterior[name].values, run.draws) for name in "abc")


def test_views_of_draws_are_not_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes on from the draws would go on from other ones; a copy is anybody's own."""
    monkeypatch.setattr(results, "LARGE", LARGE)
    large = drawn(draws=30, tune=30)
    before = large.posterior["a"].values.copy()
    with pytest.raises(ValueError, match="read-only"):
        large.posterior["a"].values[0, 0, 0] = 1.0
    own = copy.deepcopy(large)
    own.posterior["a"].values[0, 0, 0] = before[0, 0, 0] + 1.0
    np.testing.assert_array_equal(large.posterior["a"].values, before)
    assert_same(large.extend(draws=40), drawn(draws=40, tune=30))


@pytest.mark.parametrize("lengths", [{"draws": 30, "tune": 30}, {}])
def test_windows_of_any_length_give_the_same_draws(monkeypatch: pytest.MonkeyPatch, lengths: dict[str, int]) -> None:
    """Where draws are cut into windows, and whether chains run ahead, has no part in them."""
    plain = drawn(**lengths)
    monkeypatch.setattr(importlib.import_module("consilience.run.launch"), "WINDOW_NUMBERS", WINDOW)
    assert_same(plain, drawn(**lengths))


def test_draws_that_go_to_a_store_stay_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Result, store, and what the run is extended to are those of a run in memory; nothing else is left on the disk."""
    plain, longer = drawn(draws=30, tune=30), drawn(draws=50, tune=30)
    monkeypatch.setattr(results, "LARGE", LARGE)
    monkeypatch.setattr(attempt, "MOST_SEEN", LARGE)
    monkeypatch.setattr(importlib.import_module("consilience.run.launch"), "WINDOW_NUMBERS", WINDOW)
    stored = drawn(draws=30, tune=30, save=pm.Save(store=tmp_path / "run.zarr"))
    last = stored._run.course.attempt
    on_disk = last.on_disk.all(30)
    assert all(np.shares_memory(w.draws, on_disk) for windows in last.windows for w in windows.values())
    assert_same(plain, stored)
    assert_same(longer, stored.extend(draws=50))
    assert_same(longer, xarray.open_datatree(tmp_path / "run.zarr", engine="zarr"))
    assert {path.name for path in tmp_path.iterdir()} <= {"run.zarr", ".run.zarr.lock"}


def test_a_disk_without_room_leaves_draws_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Not a draw is lost, nor the process to a page that finds no place."""
    plain = drawn(draws=30, tune=30)

    def none_left(self: object, rows: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "LARGE", LARGE)
    monkeypatch.setattr(attempt, "MOST_SEEN", LARGE)
    monkeypatch.setattr(importlib.import_module("consilience.run.launch"), "WINDOW_NUMBERS", WINDOW)
    monkeypatch.setattr(attempt.DiskWindows, "_grow", none_left)
    assert_same(plain, drawn(draws=30, tune=30, save=pm.Save(store=tmp_path / "run.zarr")))


def test_tuning_of_many_coordinates_keeps_bounded_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws and gradients that wait to be learnt from are thinned to a bound, and teach the scales all the same."""
    kept = []
    remember = pooled_tuning.PooledTuning._remember

    def watched(self: Any, windows: Any) -> None:
        remember(self, windows)
        kept.append(sum(own[0].size for _, _, chains in self.history for own in chains.values()))

    monkeypatch.setattr(pooled_tuning.PooledTuning, "_remember", watched)
    monkeypatch.setattr(pooled_tuning, "MOST_NUMBERS", 60 * 40)
    monkeypatch.setattr(nuts_tuner, "MOST_NUMBERS", 60 * 40)
    monkeypatch.setattr(fisher_metric, "LARGE", 100)
    monkeypatch.setattr(fisher_metric, "MANY", 30)
    widths = np.geomspace(0.01, 100.0, 40)
    with pm.Model():
        pm.Normal("x", 0.0, widths, shape=40)
        result = pm.sample(
            draws=20, tune=200, chains=2, random_seed=2, progressbar=False, compute_convergence_checks=False
        )
    assert max(kept) < 1.7 * 60 * 40
    scales = result._run.course.tuner.inner.scales[0].scale
    np.testing.assert_allclose(np.log(scales), np.log(widths), atol=0.5)
    assert result.sample_stats["diverging"].values.sum() == 0
