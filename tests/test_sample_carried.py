"""Runs in whose coordinates a block follows the others, beside what else is done with models and results.

The oracle knows nothing of coordinates: the same draws as bare arrays, with the model as it was written.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import consilience as pm
import consilience.tensor as pt

RNG = np.random.default_rng(1)
ROWS = 60
WHERE, COUNTS, NUMBERS = RNG.integers(0, 24, ROWS), RNG.poisson(2.0, ROWS).astype(float), RNG.normal(size=ROWS)
BASIS = RNG.normal(size=(24, 24))
SHORT: dict[str, Any] = {
    "stop": pm.Stop(ess=30, max_draws=100), "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False,
    "compute_convergence_checks": False,
}  # fmt: skip
pytestmark = [
    pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto distribution"),
]


def model_of(block: Callable[[Any], Any], units: int = 24, normal: bool = False) -> pm.Model:
    """Rows, of which data say which unit each is of, their number and their values."""
    with pm.Model(coords={"row": [f"row {i}" for i in range(ROWS)], "unit": [f"u{i}" for i in range(units)]}) as model:
        s = pm.HalfNormal("s")
        where = pm.Data("where", WHERE, dims="row")
        y = pm.Data("seen", NUMBERS if normal else COUNTS, dims="row")
        f = pm.Deterministic("f", block(s), dims="unit")
        pm.Deterministic("last", model["x"][-1] * s)
        if normal:
            pm.Normal("y", f[where], 0.7, observed=y, dims="row")
        else:
            pm.Poisson("y", pt.exp(0.5 * f[where]), observed=y, dims="row")
        if not normal:
            pm.Potential("pull", -0.05 * pt.sum(model["x"] ** 2))
    return model


def walk() -> pm.Model:
    start = pm.Normal.dist()
    return model_of(lambda s: pm.GaussianRandomWalk("x", sigma=s, init_dist=start, dims="unit"), 90)


def process() -> pm.Model:
    K = np.exp(-0.1 * np.subtract.outer(np.arange(24), np.arange(24)) ** 2) + 0.01 * np.eye(24)
    return model_of(lambda s: pm.MvNormal("x", np.zeros(24), cov=s**2 * K, dims="unit"))


def groups() -> pm.Model:
    return model_of(lambda s: pm.Normal("x", 0.0, s, dims="unit"), 110)


def coefficients() -> pm.Model:
    return model_of(lambda s: BASIS @ (s * pm.Normal("x", dims="unit")), normal=True)


KINDS = {
    walk: "normal, by a sparse factor",
    process: "normal, by a dense factor",
    groups: "normal, each element alone",
    coefficients: "normal, by the diagonal of the precision and correlations at a reference",
}


@dataclasses.dataclass
class Run:
    """A run in such coordinates, and how its model is built."""

    build: Callable[[], pm.Model]
    result: Any
    folder: Path

    def bare(self) -> xr.DataTree:
        """The draws alone."""
        posterior = self.result.posterior.to_dataset().drop_attrs()
        return xr.DataTree.from_dict({"posterior": posterior[["x", "s"]]})


@pytest.fixture(scope="module", autouse=True)
def taken_at_once() -> Iterator[None]:
    """Prices at which small models take coordinates as large ones do."""
    with pytest.MonkeyPatch.context() as patch:
        remedies = importlib.import_module("consilience.run.remedies.coordinates")
        model_run = importlib.import_module("consilience.sample.model_run")  # `consilience.sample` is a function, too
        patch.setattr(model_run, "DEAR", 0)
        for name in ("LONG", "LONG_OF_BLOCKS"):
            patch.setattr(remedies, name, 0)
        patch.setattr(model_run, "COMPILATION", -1e9)
        yield


@pytest.fixture(scope="module", params=KINDS, ids=lambda build: build.__name__)
def run(request: Any, tmp_path_factory: Any) -> Run:
    folder = tmp_path_factory.mktemp(request.param.__name__) / "run"
    more: Any = {"save": pm.Save(checkpoint=folder), "idata_kwargs": {"log_likelihood": True, "log_prior": True}}
    found = pm.sample(model=request.param(), **SHORT, **more)
    assert json.loads(found.posterior.attrs["transported"]) == {"x": KINDS[request.param]}
    return Run(request.param, found, folder)


def names_and_deterministics(run: Run) -> None:
    posterior = run.result.posterior
    assert set(posterior.data_vars) == {"x", "s", "f", "last"}
    assert posterior["x"].dims == posterior["f"].dims == ("chain", "draw", "unit")
    assert posterior["x"].coords["unit"].values[-1] == f"u{posterior.sizes['unit'] - 1}"
    x, s = (np.asarray(posterior[name]) for name in ("x", "s"))
    np.testing.assert_allclose(posterior["last"], x[..., -1] * s)
    wanted = (x * s[..., None]) @ BASIS.T if run.build is coefficients else x
    np.testing.assert_allclose(posterior["f"], wanted)


def densities(run: Run) -> None:
    bare = run.bare()
    known = pm.compute_log_likelihood(bare, model=run.build(), extend_inferencedata=False)
    np.testing.assert_array_equal(run.result.log_likelihood["y"], known["y"])
    known = pm.compute_log_prior(bare, model=run.build(), extend_inferencedata=False)
    for name in ("x", "s"):
        np.testing.assert_array_equal(run.result.log_prior[name], known[name])


def cross_validation(run: Run) -> None:
    own = pm.loo(run.result)
    bare = run.bare()
    pm.compute_log_likelihood(bare, model=run.build())
    assert float(own.elpd) == pytest.approx(float(pm.loo(bare).elpd), rel=1e-9)


def predictions(run: Run) -> None:
    for change in (
        lambda model: model,
        lambda model: pm.do(model, {"s": 0.3}),
        lambda model: pm.do(model, {"x": np.zeros(model["x"].type.shape)}),
        lambda model: pm.observe(model, {"s": 0.3}),
    ):
        drawn = [
            pm.sample_posterior_predictive(draws, model=change(run.build()), random_seed=3, progressbar=False)
            for draws in (run.result, run.bare())
        ]
        one, other = (own.posterior_predictive["y"] for own in drawn)
        assert one.dims == ("chain", "draw", "row")
        np.testing.assert_array_equal(one, other)


def predictions_of_other_rows_and_labels(run: Run) -> None:
    drawn = []
    for draws in (run.result, run.bare()):
        model = run.build()
        rows = {"row": ["new", "row 3", "another"]}
        pm.set_data({"where": [0, 5, 5], "seen": np.zeros(3)}, model, coords=rows)
        drawn.append(
            pm.sample_posterior_predictive(
                draws, model=model, var_names=["y", "f"], predictions=True, random_seed=3, progressbar=False
            ).predictions
        )
    assert list(drawn[0].coords["row"].values) == ["new", "row 3", "another"]
    for name in ("y", "f"):
        np.testing.assert_array_equal(drawn[0][name], drawn[1][name])
    np.testing.assert_allclose(drawn[0]["f"], run.result.posterior["f"])


def going_on(run: Run) -> None:
    resumed = pm.resume(run.folder, model=run.build(), progressbar=False)
    for name in ("x", "s", "f"):
        np.testing.assert_array_equal(resumed.posterior[name], run.result.posterior[name])
    count = run.result.posterior.sizes["draw"]
    more = resumed.extend(draws=count + 10, progressbar=False)
    assert more.posterior.sizes["draw"] == count + 10
    np.testing.assert_array_equal(more.posterior["x"][:, :count], run.result.posterior["x"])
    assert more.posterior.attrs["transported"] == run.result.posterior.attrs["transported"]


def files_and_pickles(run: Run) -> None:
    run.result.to_netcdf(run.folder.parent / "one.nc")
    for again in (pickle.loads(pickle.dumps(run.result)), xr.open_datatree(run.folder.parent / "one.nc")):
        np.testing.assert_array_equal(again.posterior["x"], run.result.posterior["x"])
        assert again.posterior.attrs["transported"] == run.result.posterior.attrs["transported"]


def starting_values(run: Run) -> None:
    size = run.result.posterior.sizes["unit"]
    found = pm.sample(model=run.build(), initvals={"x": np.full(size, 0.1)}, **SHORT)
    assert found.posterior.sizes["unit"] == size
    with pytest.raises(Exception, match="`x`"):
        pm.sample(model=run.build(), initvals={"x": np.zeros(size + 1)}, **SHORT)


def step_methods(run: Run) -> None:
    for step in (pm.NUTS(vars=["x"]), pm.Metropolis(vars=["x"])):
        with run.build():
            found = pm.sample(step=step, **{**SHORT, "stop": pm.Stop(ess=30, max_draws=20)})
        assert json.loads(found.posterior.attrs["transported"]) == {}


def points_and_deterministics_of_draws(run: Run) -> None:
    bare = run.bare()
    again = pm.compute_deterministics(bare.posterior.to_dataset(), model=run.build(), progressbar=False)
    np.testing.assert_allclose(again["f"], run.result.posterior["f"], rtol=1e-12)


FEATURES = [
    names_and_deterministics, densities, cross_validation, predictions, predictions_of_other_rows_and_labels,
    going_on, files_and_pickles, starting_values, step_methods, points_and_deterministics_of_draws,
]  # fmt: skip


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.__name__)
def test_a_run_in_coordinates_of_a_block_is_one_of_its_model(run: Run, feature: Callable[[Run], None]) -> None:
    feature(run)
