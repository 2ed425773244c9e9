"""Results larger than memory: in a store or on workers, part by part, they are those in memory, bit for bit."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
from consilience.diagnostics import variables
from consilience.errors import ConsilienceWarning, StorageError
from consilience.output.storage import deferred
from consilience.sample import in_parts

pytest.importorskip("zarr")

CONTEXT = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
COUNT = 30

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # workers import nothing so


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven draws, or three observations, are a part; the last is shorter."""
    monkeypatch.setattr(in_parts, "PART", 2 * COUNT * 8 * 7)
    monkeypatch.setattr(variables, "PIECE", 2 * 50 * 8 * 3)


@pytest.fixture(scope="module")
def model() -> pm.Model:
    x = np.linspace(-1, 1, COUNT)
    with pm.Model(coords={"row": np.arange(COUNT) + 7, "kind": ["a", "b"]}) as made:
        level, sigma = pm.Normal("level", dims="kind"), pm.HalfNormal("sigma")
        pm.Deterministic("line", level[0] + x, dims="row")
        pm.Deterministic("sum", level.sum())
        pm.Normal("y", level[0] + x, sigma, observed=x, dims="row")
        pm.MvNormal("pair", level, np.eye(2), observed=[0.1, 0.2])
    return made


@pytest.fixture(scope="module")
def posterior() -> xarray.DataTree:
    generator = np.random.default_rng(3)
    level = generator.normal(size=(2, 50, 2))
    sigma = generator.uniform(0.5, 2.0, (2, 50))
    coords = {"chain": [4, 2], "draw": np.arange(50) + 10, "kind": ["a", "b"]}
    made = xarray.Dataset({"level": (("chain", "draw", "kind"), level), "sigma": (("chain", "draw"), sigma)}, coords)
    return xarray.DataTree.from_dict({"posterior": made})


@pytest.fixture(params=["here", "threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "here":
        yield None
    else:
        kind: Any = ThreadPoolExecutor if request.param == "threads" else ProcessPoolExecutor
        with kind(2, **({} if request.param == "threads" else {"mp_context": CONTEXT})) as pool:
            yield pool


@pytest.mark.parametrize("on_disk", [True, False])
def test_parts_are_what_the_whole_is(
    model: pm.Model, posterior: Any, executor: Any, on_disk: bool, tmp_path: Path
) -> None:
    """Values, labels, dimensions; of predictions, densities and deterministics; wherever they are computed."""
    if executor is None and not on_disk:
        pytest.skip("that is the whole")
    place: dict[str, Any] = {"model": model, "executor": executor}
    for number, (function, settings) in enumerate([
        (pm.compute_log_likelihood, {"extend_inferencedata": False}),
        (pm.compute_log_prior, {"extend_inferencedata": False}),
        (pm.sample_posterior_predictive, {"random_seed": 3}),
        (pm.sample_posterior_predictive, {"random_seed": 3, "predictions": True, "var_names": ["y", "sum"]}),
        (pm.compute_deterministics, {}),
    ]):  # fmt: skip
        whole = function(posterior, model=model, **settings)
        parts = function(posterior, store=tmp_path / f"{number}.zarr" if on_disk else None, **place, **settings)
        assert list(getattr(whole, "children", ())) == list(getattr(parts, "children", ()))
        for group in getattr(whole, "children", None) or [None]:
            xarray.testing.assert_equal(
                whole.to_dataset() if group is None and hasattr(whole, "children") else whole if group is None
                else whole[group].to_dataset(),
                parts if group is None else parts[group].to_dataset(),
            )  # fmt: skip


def test_a_result_is_extended_by_what_lies_on_the_disk(model: pm.Model, posterior: Any, tmp_path: Path) -> None:
    """Groups go into the store of a run beside its draws, and xarray reads of them what is looked at."""
    store = tmp_path / "run.zarr"
    result = pm.sample(
        model=model, draws=50, tune=50, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False,
        save=pm.Save(store=store),
    )  # fmt: skip
    assert pm.compute_log_likelihood(result, model=model, store=store) is result
    assert not result["log_likelihood"]["y"].variable._in_memory
    read = xarray.open_datatree(store, engine="zarr")
    assert {"posterior", "log_likelihood"} <= set(read.children)
    xarray.testing.assert_equal(read["log_likelihood"].to_dataset(), result["log_likelihood"].to_dataset())
    with pytest.raises(StorageError, match="has a group 'log_likelihood'"):
        pm.compute_log_likelihood(result, model=model, store=store)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(StorageError, match="not a store of this library"):
        pm.compute_log_likelihood(posterior, model=model, store=other)
    # Draws that are read from a store are parts, too.
    again = pm.compute_deterministics(read, model=model, store=tmp_path / "d.zarr")
    assert np.array_equal(again["line"], pm.compute_deterministics(result, model=model)["line"])


def test_what_fails_leaves_no_store(model: pm.Model, posterior: Any, tmp_path: Path) -> None:
    def fails(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("consilience.output.storage.zarr_parts.write_chunks", fails)
        with pytest.raises(StorageError, match="free some space"):
            pm.compute_log_likelihood(posterior, model=model, store=tmp_path / "full.zarr")
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == []


def test_a_warning_of_parts_is_one(posterior: Any, tmp_path: Path) -> None:
    with pm.Model(coords={"kind": ["a", "b"]}) as bad:
        level = pm.Normal("level", dims="kind")
        pm.Normal("y", 0.0, pm.math.log(level[0]), observed=np.zeros(COUNT))
    with pytest.warns(ConsilienceWarning, match=r"draws are NaN.*more parts of the draws say the like") as told:
        pm.sample_posterior_predictive(posterior, model=bad, store=tmp_path / "nan.zarr", random_seed=1)
    assert len([one for one in told if "NaN" in str(one.message)]) == 1


def test_loo_and_summary_of_parts_are_those_of_the_whole(model: pm.Model, posterior: Any, tmp_path: Path) -> None:
    """Sums differ by rounding where parts do; no observation does."""
    pytest.importorskip("arviz_stats")
    names: dict[str, Any] = {"model": model, "var_names": ["y"]}
    whole = pm.compute_log_likelihood(posterior.copy(), **names)
    parts = pm.compute_log_likelihood(posterior.copy(), store=tmp_path / "l.zarr", **names)
    with pytest.warns(UserWarning, match="Estimated shape parameter"):
        expected = pm.loo(whole, pointwise=True)
    with pytest.warns(UserWarning, match=r"for \d+ of 30 observations"):
        found = pm.loo(parts, pointwise=True)
    assert np.allclose(found.elpd_i, expected.elpd_i, rtol=1e-12, atol=0)
    assert np.allclose(found.pareto_k, expected.pareto_k, rtol=1e-9, atol=1e-12)
    assert (found.elpd, found.se, found.p) == pytest.approx((expected.elpd, expected.se, expected.p), rel=1e-10)
    assert (found.warning, found.good_k, found.n_samples) == (expected.warning, expected.good_k, expected.n_samples)
    with ThreadPoolExecutor(2) as threads, pytest.warns(UserWarning, match="Estimated shape"):
        assert np.array_equal(pm.loo(whole, pointwise=True, executor=threads).elpd_i, found.elpd_i)
    one, other = (pm.summary(result, group="log_likelihood") for result in (whole, parts))
    assert one.labels == other.labels
    assert all(np.array_equal(one[column], other[column]) for column in one)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_summaries_of_deterministics_that_are_computed_when_they_are_read_never_have_them_whole(
    model: pm.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the numbers of those that are there; nor does any other look at some of their elements."""
    settings: dict[str, Any] = {"draws": 50, "tune": 100, "chains": 2, "random_seed": 1, "progressbar": False}
    eager = pm.sample(model=model, save=pm.Save(deterministics="eager"), **settings)
    lazy, looked_at = (pm.sample(model=model, **settings) for _ in range(2))
    monkeypatch.setattr(deferred, "LARGE", 2 * COUNT * 8 * 7)
    most: list[int] = []
    computed = deferred.Deferred.part
    monkeypatch.setattr(
        deferred.Deferred, "part", lambda own, key: (lambda x: (most.append(x.nbytes), x)[1])(computed(own, key))
    )
    table = pm.summary(lazy)
    assert table.labels == pm.summary(eager).labels
    for name, values in pm.summary(eager).columns.items():
        np.testing.assert_array_equal(table[name], values, err_msg=name)
    assert len(most) > COUNT // 6
    assert max(most) <= 2 * 2 * 50 * 8 * 3
    line, whole = looked_at.posterior["line"], eager.posterior["line"]
    for key in (np.s_[:, :, 3:9], np.s_[1, ::3, ::-2], np.s_[:, 7, 4], np.s_[:, [8, 3], [1, 5, 2]], np.s_[:, :0, 2:4]):
        xarray.testing.assert_equal(line[key], whole[key])


def test_pieces_are_all_elements_in_their_order() -> None:
    for shape in [(2, 50), (2, 50, 7), (2, 50, 3, 4), (2, 50, 2, 1, 5), (2, 50, 0)]:
        values = np.arange(np.prod(shape)).reshape(shape)
        for most in (1, 800, 2400, 10**9):
            found = [values[(slice(None), slice(None), *p)] for p in variables.pieces(shape, 8, most)]
            flat = [one.reshape(2, 50, int(np.prod(one.shape[2:]))) for one in found]
            everything = values.reshape(2, 50, int(np.prod(shape[2:])))
            assert np.array_equal(np.concatenate([*flat, np.zeros((2, 50, 0))], -1), everything)
            assert all(one.nbytes <= max(most, 800) for one in flat)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_what_is_larger_than_memory_is_computed_in_it(tmp_path: Path) -> None:
    """3.2 GB of log likelihoods in a process that may have 1.5 GiB."""
    command = [sys.executable, "-m", "benchmarks.workers.larger_than_memory", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "3.20 GB of log likelihoods, 1.5 GiB of address space" in done.stdout
