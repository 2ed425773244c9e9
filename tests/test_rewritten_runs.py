"""Runs that rewrite their model or put draws into copies of the posterior, beside all else that is done with runs.

One law over a table of models: whatever happens to a run, its draws and what is said of it are those of the run that
nothing happened to; and what is computed of draws is computed of those that are kept.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ModelError, SamplingError
from consilience.run import checkpoint as checkpoints
from tests.test_sample_carried import SHORT, coefficients, groups, process, walk

RNG = np.random.default_rng(3)
ABILITIES = RNG.normal(size=20)[:, None] * RNG.normal(size=15) + 0.3 * RNG.normal(size=(20, 15))
MIXED = np.concatenate([RNG.normal(-1.0, 1.0, 15), RNG.normal(2.2, 1.0, 15)])
FACTORS = RNG.normal(size=(80, 2)) @ RNG.normal(size=(2, 6)) + 0.4 * RNG.normal(size=(80, 6))
COPIES: dict[str, Any] = {"remedies": "symmetries", "random_seed": 3, "progressbar": False}
pytestmark = [
    pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto distribution"),
]


def signs() -> pm.Model:
    with pm.Model() as model:
        ability, item = pm.Normal("ability", shape=20), pm.Normal("item", shape=15)
        pm.Deterministic("first", ability[0] * item)
        pm.Normal("y", ability[:, None] * item, 0.3, observed=pm.Data("seen", ABILITIES))
    return model


def labels() -> pm.Model:
    """With labels that are summed out, and drawn again."""
    with pm.Model(coords={"row": [f"row {i}" for i in range(len(MIXED))]}) as model:
        mu, weights = pm.Normal("mu", 0.0, 5.0, shape=2), pm.Dirichlet("w", np.ones(2))
        z = pm.Categorical("z", weights, dims="row")
        pm.Deterministic("mean", mu[z], dims="row")
        pm.Normal("y", mu[z], 1.0, observed=pm.Data("seen", MIXED, dims="row"), dims="row")
    return model


def rotations() -> pm.Model:
    with pm.Model() as model:
        loadings = pm.Normal("loadings", shape=(6, 2))
        cov = pm.Deterministic("cov", pt.dot(loadings, loadings.T) + pm.HalfNormal("sd") ** 2 * pt.eye(6))
        pm.MvNormal("y", np.zeros(6), cov=cov, observed=pm.Data("seen", FACTORS))
    return model


CARRIED = (walk, process, groups, coefficients)
MODELS: dict[Callable[[], pm.Model], tuple[dict[str, Any], str]] = {
    **dict.fromkeys(CARRIED, (SHORT, "block")),
    **dict.fromkeys((signs, labels, rotations), (COPIES, "symmetries")),
}


@pytest.fixture(scope="module", autouse=True)
def taken_at_once() -> Iterator[None]:
    """Prices at which small models take coordinates as large ones do."""
    with pytest.MonkeyPatch.context() as patch:
        remedies = importlib.import_module("consilience.run.remedies.coordinates")
        model_run = importlib.import_module("consilience.sample.model_run")  # `consilience.sample` is a function, too
        for name in ("LONG", "LONG_OF_BLOCKS"):
            patch.setattr(remedies, name, 0)
        patch.setattr(model_run, "DEAR", 0)
        patch.setattr(model_run, "COMPILATION", -1e9)
        yield


@dataclasses.dataclass
class Case:
    """A model, the run that nothing happened to, and the checkpoints that it would have left at each moment."""

    build: Callable[[], pm.Model]
    settings: dict[str, Any]
    result: Any
    folder: Path
    moments: list[Path]

    @property
    def draws(self) -> int:
        return int(self.result.posterior.sizes["draw"])

    def run(self, **more: Any) -> Any:
        return pm.sample(model=more.pop("model", None) or self.build(), **self.settings, **more)


@pytest.fixture(scope="module", params=MODELS, ids=lambda build: build.__name__)
def case(request: Any, tmp_path_factory: Any) -> Case:
    (settings, restart), folder = MODELS[request.param], tmp_path_factory.mktemp(request.param.__name__)
    moments: list[Path] = []
    keep = checkpoints.Checkpoint.keep

    def keep_all(self: checkpoints.Checkpoint, *arguments: Any) -> None:
        self._due = 0.0
        keep(self, *arguments)
        assert self.fault is None
        moments.append(shutil.copy(self.path, folder / f"moment{len(moments)}"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "keep", keep_all)
        save = pm.Save(checkpoint=folder / "live", store=folder / "live.zarr")
        found = pm.sample(model=request.param(), save=save, **settings)
    assert restart in json.loads(found.posterior.attrs["restarts"])
    return Case(request.param, settings, found, folder, moments)


SAID = ("status", "reason", "advice", "worst", "restarts", "transported", "regions", "notes", "gradients", "last_check")


def same(one: Any, other: Any, said: bool = True, groups: tuple[str, ...] = ("posterior", "observed_data")) -> None:
    """Bit for bit, as far as both have draws."""
    for group in groups:
        assert set(one[group].data_vars) == set(other[group].data_vars)
        for name, values in one[group].data_vars.items():
            wanted, found = np.asarray(values), np.asarray(other[group][name])
            if group in ("posterior", "log_likelihood"):
                count = min(wanted.shape[1], found.shape[1])
                wanted, found = wanted[:, :count], found[:, :count]
            np.testing.assert_array_equal(found, wanted, err_msg=f"{group}, {name}")
    for name in SAID if said else ():
        assert one.posterior.attrs[name] == other.posterior.attrs[name], name


def cut_off_anywhere(case: Case) -> None:
    """Before and after coordinates were taken, or copies found, and at its end, which its file tells whole."""
    for path in {*case.moments[1::4], case.moments[-1]}:
        same(case.result, pm.resume(path, case.build(), progressbar=False, store=f"{path}.zarr"))


def stores(case: Case) -> None:
    with xr.open_datatree(case.folder / "live.zarr", engine="zarr") as stored:
        same(case.result, stored)


def in_other_threads(case: Case) -> None:
    with ThreadPoolExecutor(2) as executor:
        same(case.result, case.run(executor=executor))


def extension(case: Case) -> None:
    longer = case.run().extend(draws=case.draws + 20, progressbar=False)
    same(case.result, longer, said=False)
    again = pm.resume(case.moments[-1], case.build(), progressbar=False, store=case.folder / "again.zarr")
    same(longer, again.extend(draws=case.draws + 20, progressbar=False))


def other_data(model: pm.Model) -> None:
    """The same rows in another order, with other labels."""
    dims = (model.named_vars_to_dims.get("seen") or (None,))[0]
    coords = None if dims is None else {dims: [f"new {i}" for i in range(len(model.coords[dims] or ()))]}
    pm.set_data({"seen": np.asarray(model["seen"].eval())[::-1] + 1.0}, model, coords=coords)


def data_that_are_set_meanwhile(case: Case) -> None:
    """In the midst of a run, and before it is extended: draws and all groups are those of the data of its start."""
    known = {"idata_kwargs": {"log_likelihood": True}}
    whole = case.run(**known)
    groups = ("posterior", "observed_data", "log_likelihood")
    model = case.build()
    background = case.run(model=model, blocking=False, **known)
    other_data(model)
    found = background.wait()
    same(whole, found, groups=groups)
    longer = whole.extend(draws=case.draws + 20, progressbar=False)
    same(longer, found.extend(draws=case.draws + 20, progressbar=False), groups=groups)
    for name, coord in whole.observed_data.coords.items():
        np.testing.assert_array_equal(found.observed_data.coords[name], coord)


def resumed_with_other_data(case: Case) -> None:
    model = case.build()
    other_data(model)
    for path in (case.moments[0], case.moments[-1]):
        with pytest.raises(SamplingError, match="as they were"):
            pm.resume(path, model, progressbar=False, store=f"{path}.other.zarr")
    if "where" in model.data:
        pm.set_data({"where": [0, 1], "seen": np.zeros(2)}, model, coords={"row": ["a", "b"]})
        with pytest.raises(SamplingError, match="as they were"):
            pm.resume(case.moments[-1], model, progressbar=False, store=case.folder / "fewer.zarr")


def of_the_draws_that_are_kept(case: Case) -> None:
    """Deterministics and densities, pointwise, by the bare draws and the model as it was written."""
    kept = case.run(idata_kwargs={"log_likelihood": True, "log_prior": True}, save=pm.Save(deterministics="lazy"))
    same(case.result, kept)
    model = case.build()
    free = [v.name for v in model.free_RVs]
    bare = xr.DataTree.from_dict({"posterior": kept.posterior.to_dataset().drop_attrs()[free]})
    likelihood = pm.compute_log_likelihood(bare, model=model, extend_inferencedata=False)
    np.testing.assert_array_equal(kept.log_likelihood["y"], likelihood["y"])
    prior = pm.compute_log_prior(bare, model=model, extend_inferencedata=False)
    derived = pm.compute_deterministics(bare.posterior.to_dataset(), model=model, progressbar=False)
    for name in free:
        np.testing.assert_array_equal(kept.log_prior[name], prior[name])
    for name in derived.data_vars:
        np.testing.assert_allclose(kept.posterior[name], derived[name], rtol=1e-9, atol=1e-12, err_msg=name)
    one, other = (
        pm.sample_posterior_predictive(draws, model=case.build(), random_seed=1, progressbar=False)
        for draws in (kept, bare)
    )
    np.testing.assert_array_equal(one.posterior_predictive["y"], other.posterior_predictive["y"])


def listeners_and_warm_starts(case: Case) -> None:
    """A callback is told the draws that are kept; chains begin at them."""
    told: dict[int, Mapping[str, Any]] = {}

    def listen(trace: Any, draw: Any) -> None:
        told[draw.chain] = trace

    same(case.result, case.run(callback=listen))
    free = [v.name for v in case.build().free_RVs if v.name in told[0].varnames]  # type: ignore[attr-defined]
    assert free
    for chain, trace in told.items():
        for name in free:
            values = np.asarray(trace[name])[-case.draws :]
            np.testing.assert_array_equal(values, case.result.posterior[name][chain])
    warm = case.run(initvals=case.result, stop=pm.Stop(max_draws=20)) if "stop" not in case.settings else None
    assert warm is None or warm.posterior.sizes["draw"] == 20


FEATURES = [
    cut_off_anywhere, stores, in_other_threads, extension, data_that_are_set_meanwhile, resumed_with_other_data,
    of_the_draws_that_are_kept, listeners_and_warm_starts,
]  # fmt: skip


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.__name__)
def test_what_happens_to_a_run_changes_nothing_of_it(case: Case, feature: Callable[[Case], None]) -> None:
    feature(case)


def test_copies_are_told_by_the_names_of_the_model() -> None:
    """Coordinates that were taken have names of their own, which nobody wrote."""
    rng = np.random.default_rng(0)
    rates = np.exp(rng.normal(size=6)[:, None] * np.cumsum(0.3 * rng.normal(size=60)))
    with pm.Model():
        loadings, s = pm.Normal("loadings", shape=6), pm.HalfNormal("s")
        x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(), shape=60)
        pm.Poisson("y", pt.exp(loadings[:, None] * x), observed=rng.poisson(rates))
        found = pm.sample(random_seed=3, progressbar=False)
    assert {"block", "symmetries"} <= {*json.loads(found.posterior.attrs["restarts"])}
    assert "with opposite signs of `loadings` and `x`;" in found.advice
    assert "_raw" not in found.advice


@pytest.mark.slow
def test_runs_on_other_processes_are_the_same(case: Case) -> None:
    executor: Executor
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as executor:
        save = pm.Save(checkpoint=case.folder / "elsewhere")
        same(case.result, case.run(executor=executor, save=save))
        again = pm.resume(case.folder / "elsewhere", case.build(), executor=executor, progressbar=False)
        longer = case.run().extend(draws=case.draws + 20, progressbar=False)
        same(longer, again.extend(draws=case.draws + 20, progressbar=False))


@pytest.mark.parametrize("place", ["referred", "_approximated", "correlated", "transport", "gradient"])
def test_a_block_that_cannot_be_rewritten_is_reported(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The run goes on as it was, and its report says why; resumed, too."""
    module = importlib.import_module("consilience.model.transport")

    def fails(*arguments: Any) -> Any:
        raise ModelError("the factor is at fault.")

    monkeypatch.setattr(module, place, fails)
    build = coefficients if place == "correlated" else groups
    found = pm.sample(model=build(), save=pm.Save(checkpoint=tmp_path / "run"), **SHORT)
    assert json.loads(found.posterior.attrs["transported"]) == {}
    said = " ".join(found.report().split())
    assert "no block was given coordinates that follow the others" in said
    assert "the factor is at fault" in said
    same(found, pm.resume(tmp_path / "run", build(), progressbar=False))
