"""Prior beside posterior, leave-one-out figures and what a journal tells of the process agree with what they are of."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
from consilience.errors import ConsilienceWarning, StorageError
from consilience.output.storage import journal
from consilience.sample.storing import ProcessReport
from consilience.watch import criticism, views
from consilience.watch.source import StoreSource, TreeSource

pytest.importorskip("starlette")


def tree(**groups: dict[str, Any]) -> xr.DataTree:
    """Groups of arrays (chain, draw, …)."""
    made = {}
    for group, arrays in groups.items():
        named = {n: (["chain", "draw", *[f"{n}_{i}" for i in range(a.ndim - 2)]], a) for n, a in arrays.items()}
        made[group] = xr.Dataset(named)
    return xr.DataTree.from_dict(made)


def test_densities_of_prior_and_posterior_are_those_of_their_draws() -> None:
    rng = np.random.default_rng(1)
    source = TreeSource(
        tree(posterior={"x": rng.normal(2, 0.1, (4, 5000))}, prior={"x": rng.normal(size=(1, 20000))}), "a"
    )
    assert source.prior_known
    found = criticism.prior(source, "x", ())
    edges = np.array(found["edges"])
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    assert edges[0] < -0.6
    assert edges[-1] > 2.2
    normal = np.exp(-(middle**2) / 2) / np.sqrt(2 * np.pi)
    assert np.allclose(found["prior"], normal, atol=5 * np.sqrt(0.4 / (20000 * width)))
    assert np.sum(found["posterior"]) * width == pytest.approx(1.0, abs=2e-3)
    assert found["inside"] == pytest.approx(np.sum(found["prior"]) * width, abs=1e-3)
    with pytest.raises(KeyError):
        criticism.prior(
            TreeSource(tree(posterior={"x": np.zeros((2, 9))}, prior={"y": np.zeros((1, 9))}), "a"), "x", ()
        )


def test_a_prior_that_has_no_quartiles_is_not_drawn() -> None:
    source = TreeSource(tree(posterior={"x": np.ones((2, 90))}, prior={"x": np.full((1, 90), np.inf)}), "a")
    assert criticism.prior(source, "x", ())["edges"] == []


def test_leave_one_out_agrees_with_its_sum_and_with_a_normal_model() -> None:
    pytest.importorskip("arviz_stats")
    rng = np.random.default_rng(2)
    y = rng.normal(size=40)
    mean = y.mean() + rng.normal(size=(4, 2000)) / np.sqrt(40)
    likelihood = -0.5 * (y - mean[..., None]) ** 2 - 0.5 * np.log(2 * np.pi)
    source = TreeSource(tree(posterior={"m": mean}, log_likelihood={"y": likelihood}), "a")
    assert views.overview(source, views.Clock())["pointwise"]
    found = criticism.leave_one_out(source)
    others = (y.sum() - y) / 39  # the exact density of each observation, given the others
    exact = -0.5 * (y - others) ** 2 / (1 + 1 / 39) - 0.5 * np.log(2 * np.pi * (1 + 1 / 39))
    assert found["elpd"] == pytest.approx(exact.sum(), abs=0.05)
    assert found["parameters"] == pytest.approx(1.0, abs=0.3)
    assert (found["observations"], found["bad"]) == (40, 0)
    few = tree(posterior={"m": mean[:, :50]}, log_likelihood={"y": likelihood[:, :50]})
    with pytest.raises(StorageError, match="too few draws"):
        criticism.leave_one_out(TreeSource(few, "a"))
    with pytest.raises(StorageError, match="not all finite"):
        criticism.leave_one_out(
            TreeSource(
                tree(posterior={"m": mean}, log_likelihood={"y": np.where(likelihood < -3, -np.inf, likelihood)}), "a"
            )
        )


def test_evidences_and_shapes_are_listed() -> None:
    made = tree(posterior={"x": np.random.default_rng(1).normal(size=(4, 100))})
    made["observed_data"] = xr.Dataset({"y": (("a", "b"), np.zeros((3, 2)))})
    made["posterior"].attrs.update(log_marginal_likelihood=-12.5, log_marginal_likelihood_error=0.25, seed=7)
    found = views.overview(TreeSource(made, "a"), views.Clock())
    assert (found["evidence"], found["observed"], found["seed"]) == ([-12.5, 0.25], {"y": [3, 2]}, 7)


def test_the_worst_coordinates_are_shown_by_their_variables() -> None:
    nearest = [["standardized x[1]", 1.1, 90.0], ["y", 1.0, 400.0], ["lp", 1.0, 500.0]]
    check = {"kind": "check", "time": 0, "nearest": nearest, "passed": False, "ess": 90.0, "rhat": 1.1,
             "ess_name": "", "rhat_name": "", "target_ess": 400}  # fmt: skip
    draws = np.random.default_rng(1).normal(size=(4, 100, 3))
    source = TreeSource(tree(posterior={"a": draws[..., 0], "y": draws[..., 1], "x": draws}), "a", [check])
    assert [e["text"] for e in views.run(source, views.Clock())["worst"]][:2] == ["x[1]", "y"]


def test_what_fails_in_a_journal_ends_no_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object) -> dict[str, Any]:
        raise StopIteration("nothing learnt")

    monkeypatch.setattr(ProcessReport, "__call__", fails)
    with pm.Model():
        pm.Normal("x")
        with pytest.warns(ConsilienceWarning, match="ends before the run: nothing learnt"):
            result = pm.sample(random_seed=1, progressbar=False, save=pm.Save(store=str(tmp_path / "a.zarr")))
    assert StoreSource(tmp_path / "a.zarr", "a").draws == result.posterior.sizes["draw"]


def test_a_journal_tells_of_model_metric_and_process(tmp_path: Path) -> None:
    with pm.Model(coords={"g": ["a", "b"]}):
        scale = pm.HalfNormal("scale", 1)
        x = pm.Normal("x", 0, [1e-3, 1e3], dims="g")
        pm.Deterministic("twice", 2 * x, dims="g")
        pm.Normal("y", x[0], scale, observed=np.zeros(5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pm.sample(stop=pm.Stop(ess=1e7, max_time=2.5), random_seed=1, cores=1, progressbar=False,
                      save=pm.Save(store=str(tmp_path / "a.zarr")))  # fmt: skip
    source = StoreSource(tmp_path / "a.zarr", "a")
    found = views.run(source, views.Clock())
    graph = found["began"]["graph"]
    assert ["x", "twice"] in graph["edges"]
    assert ["scale", "y"] in graph["edges"]
    assert ["x", "free", "Normal", "g (2)"] in graph["vertices"]
    assert 0 < found["processor"] < time.process_time()
    if Path("/proc/self/statm").exists():
        assert 1e7 < found["memory"] < 1e11
        assert found["threads"] >= 2
    assert found["metric"]["smallest"][0][0] == "x[a]"
    assert found["metric"]["largest"][0][0] == "x[b]"
    assert found["metric"]["largest"][0][1] == pytest.approx(1e3, rel=0.5)
    assert source.prior_known is False
    told = [r for r in journal.records((tmp_path / "a.zarr" / journal.NAME).read_bytes()) if "metric" in r]
    assert len(told) < len(source.records) or len(source.records) < 3
