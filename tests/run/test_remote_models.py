"""Models of all kinds on a process of their own, by `executor=`: draws are those of threads, bit for bit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import consilience as pm
import consilience.dims as pmd
import consilience.tensor as pt
from consilience.compile.ops import as_op
from tests.run.test_remote_chains import assert_same

SHORT: dict[str, Any] = {
    "draws": 60, "tune": 60, "chains": 2, "random_seed": 3, "progressbar": False, "compute_convergence_checks": False
}  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        yield processes


def rows(count: int = 5) -> pm.Model:
    with pm.Model(coords={"row": range(count)}) as model:
        pm.Normal("y", pm.Normal("mu"), 1.0, observed=pm.Data("seen", np.arange(float(count)), dims="row"), dims="row")
    return model


def python_density() -> pm.Model:
    centre = 1.5

    @as_op(itypes=[pt.dscalar], otypes=[pt.dscalar])
    def own(x: Any) -> Any:
        return np.asarray(-0.5 * (x - centre) ** 2)

    with pm.Model() as model:
        pm.Potential("own", own(pm.Normal("x")))
    return model


def own_distributions() -> pm.Model:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.CustomDist("y", mu, logp=lambda value, mu: -0.5 * (value - mu) ** 2, observed=np.arange(3.0))
        pm.CustomDist("z", mu, dist=lambda mu, size: pm.Normal.dist(mu, 1.0, size=size), observed=np.ones(3))
    return model


def counts() -> pm.Model:
    with pm.Model() as model:
        k = pm.Binomial("k", 5, pm.Beta("p", 2, 2), shape=3)
        pm.Normal("y", k, 0.5, observed=[1.0, 3.0, 4.0])
    return model


def classes() -> pm.Model:
    with pm.Model() as model:
        mu = pm.Normal("mu", [-2.0, 2.0])
        pm.Normal("y", mu[pm.Categorical("z", [0.3, 0.7], shape=4)], 1.0, observed=[-2.0, 2.0, 1.0, -1.0])
    return model


def classes_summed_out() -> pm.Model:
    return pm.marginalize(classes(), ["z"])


def collapsed() -> pm.Model:
    x = np.random.default_rng(0).normal(size=(50, 2))
    with pm.Model() as model:
        pm.Normal("y", x @ pm.Normal("b", shape=2), pm.HalfNormal("sigma"), observed=x @ [1.0, 2.0])
    return pm.collapse(model, ["b"])


def named_dims() -> pm.Model:
    with pm.Model(coords={"place": ["a", "b", "c"]}) as model:
        seen = xarray.DataArray(np.arange(3.0), dims="place")
        pmd.Normal("y", pmd.Normal("x", dims="place"), pmd.HalfNormal("sigma"), observed=seen)
    return model


def deterministics() -> pm.Model:
    with pm.Model(coords={"place": ["a", "b"]}) as model:
        x = pm.Normal("x", dims="place")
        pm.Deterministic("level", pm.math.exp(x), dims="place")
        pm.Normal("y", x, 1.0, observed=[0.0, 1.0], dims="place")
    return model


def walk() -> pm.Model:
    with pm.Model() as model:
        seen = np.random.default_rng(1).normal(size=20)
        pm.AR("x", pm.Uniform("rho", -1, 1), sigma=1.0, init_dist=pm.Normal.dist(), observed=seen)
    return model


@pytest.mark.filterwarnings("ignore:`x` moved by Slice, which needs no gradient")
@pytest.mark.parametrize(
    "make",
    [rows, python_density, own_distributions, counts, classes, classes_summed_out, collapsed, named_dims,
     deterministics, walk],
    ids=lambda make: make.__name__,
)  # fmt: skip
def test_draws_are_those_of_threads(pool: ProcessPoolExecutor, make: Callable[[], pm.Model]) -> None:
    assert_same(pm.sample(model=make(), **SHORT), pm.sample(model=make(), executor=pool, **SHORT))


@pytest.mark.filterwarnings("ignore::consilience.errors.ImputationWarning")
def test_missing_values_are_drawn_elsewhere_too(pool: ProcessPoolExecutor) -> None:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu"), 1.0, observed=np.ma.masked_invalid([1.0, np.nan, 3.0]))
    there = pm.sample(model=model, executor=pool, **SHORT)
    assert_same(pm.sample(model=model, **SHORT), there)
    assert there.posterior["y_unobserved"].sizes["y_unobserved_dim_0"] == 1


def test_new_data_and_coordinates_between_runs_arrive_on_workers(pool: ProcessPoolExecutor) -> None:
    model = rows()
    before = pm.sample(model=model, executor=pool, **SHORT)
    pm.set_data({"seen": np.arange(7.0) + 9.0}, model, coords={"row": list("abcdefg")})
    after = pm.sample(model=model, executor=pool, **SHORT)
    assert_same(pm.sample(model=model, **SHORT), after)
    assert list(after.observed_data["row"].values) == list("abcdefg")
    assert float(after.posterior["mu"].mean()) > float(before.posterior["mu"].mean()) + 3.0


def test_settings_of_a_run_hold_on_workers(pool: ProcessPoolExecutor) -> None:
    """Initial values, criteria to stop, chosen names, likelihoods, step methods, PyMC's callbacks, handles."""
    places: list[dict[str, Any]] = [{}, {"executor": pool}]
    choices: list[dict[str, Any]] = [
        {"initvals": {"mu": 5.0}},
        {"random_seed": 11, "draws": None, "stop": pm.Stop(ess=300)},
        {"var_names": ["mu"]},
        {"idata_kwargs": {"log_likelihood": True}},
        {"cores": 1, "chains": 3},
    ]
    for settings in choices:
        here, there = (pm.sample(model=rows(), **place, **{**SHORT, **settings}) for place in places)
        assert_same(here, there)
        assert list(here.children) == list(there.children)
    one, other = (pm.sample(model=rows(), step=pm.Slice(("mu",)), **place, **SHORT) for place in places)
    assert_same(one, other)
    seen: list[tuple[int, int]] = []

    def callback(trace: Any, draw: Any) -> None:
        seen.append((draw.chain, draw.draw_idx))

    there = pm.sample(model=rows(), executor=pool, callback=callback, **SHORT)
    assert len(seen) == len(set(seen)) >= 2 * SHORT["draws"]
    handle = pm.sample(model=rows(), executor=pool, blocking=False, **SHORT)
    handle.pause()
    time.sleep(0.1)
    handle.resume()
    assert_same(there, handle.wait())


def test_an_interrupted_run_with_a_store_and_a_checkpoint_goes_on(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    checked = {**SHORT, "draws": None, "stop": pm.Stop(ess=1e9, min_draws=50, max_draws=3000)}
    model, places = rows(), pm.Save(checkpoint=tmp_path / "run", store=tmp_path / "draws.zarr")

    def stop(event: Any) -> None:
        if isinstance(event, pm.events.Progress) and any(chain.draws for chain in event.chains):
            raise KeyboardInterrupt

    cut = pm.sample(model=model, executor=pool, callback=stop, save=places, **checked)
    whole = pm.resume(tmp_path / "run", model, executor=pool, progressbar=False)
    assert_same(pm.sample(model=model, **checked), whole)
    assert cut.posterior.sizes["draw"] <= whole.posterior.sizes["draw"]
    stored = zarr.open_group(tmp_path / "draws.zarr", mode="r")["posterior/mu"]
    np.testing.assert_array_equal(stored[:], whole.posterior["mu"].values)
