"""Threads that share one evaluation of a log density: they change no draw, and say where they can't."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceWarning, SamplingError
from consilience.lower import entry, row_chunks
from consilience.model.log_density import model_density
from consilience.native.shared_work import IdleThreads
from consilience.run.threads.thread_pool import Crew, crew

ROWS = 700
GROUPS = 4
QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False, "random_seed": 3}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of any length in chunks of a hundred rows or so."""
    monkeypatch.setattr(entry, "MANY_ELEMENTS", 0)
    monkeypatch.setattr(row_chunks, "LONG", 3000)
    monkeypatch.setattr(row_chunks, "CHUNK", 1500)


def data(rows: int = ROWS) -> tuple[Any, Any, Any, Any]:
    random = np.random.default_rng(rows)
    x, g = random.normal(size=(rows, 3)), random.integers(0, GROUPS, rows)
    eta = x @ [0.5, -1.0, 0.2] + 0.3 * g
    return x, g, eta + random.normal(size=rows), (random.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)


def regression() -> pm.Model:
    x, _, _, y = data()
    with pm.Model() as model:
        pm.Bernoulli("y", logit_p=pm.Normal("a") + x @ pm.Normal("b", shape=3), observed=y)
    return model


def hierarchy() -> pm.Model:
    x, g, y, _ = data()
    with pm.Model(coords={"group": range(GROUPS), "row": range(ROWS)}) as model:
        group = pm.Data("g", g, dims="row")
        u = pm.Normal("u", 0.0, pm.HalfNormal("s"), dims="group")
        pm.Normal("y", u[group] + x[:, 0] * pm.Normal("b"), pm.HalfNormal("e"), observed=y, dims="row")
    return model


def missing() -> pm.Model:
    x, _, y, _ = data()
    y[[3, 500]] = np.nan
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pm.Normal("y", x @ pm.Normal("b", shape=3), 1.0, observed=y)
    return model


def potential_of_each_row() -> pm.Model:
    x, _, y, _ = data()
    with pm.Model() as model:
        pm.Potential("rows", -0.5 * pm.math.sqr(y - pm.math.exp(pm.Normal("b") * x[:, 0])))
    return model


def discrete_classes() -> pm.Model:
    _, _, y, _ = data()
    with pm.Model() as model:
        k = pm.Bernoulli("k", 0.4, shape=ROWS)
        pm.Normal("y", pm.Normal("m", shape=2)[k], 1.0, observed=y)
    return model


MODELS: list[Callable[[], pm.Model]] = [regression, hierarchy, missing, potential_of_each_row]


def values(model: pm.Model, position: Any) -> tuple[Any, Any]:
    density = model_density(model)
    assert density.chunks > 1
    return density(position)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_densities_in_chunks_are_those_of_the_reference(make: Callable[[], pm.Model]) -> None:
    """Log density and gradient; after other data with more rows, too."""
    model = make()
    position = np.random.default_rng(1).normal(size=model_density(model).dimension) * 0.3
    value, slope = values(model, position)
    wanted, wanted_slope = model_density(model, "reference")(position)
    np.testing.assert_allclose(value, wanted, rtol=1e-11)
    np.testing.assert_allclose(slope, wanted_slope, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("short")
def test_more_rows_are_other_chunks() -> None:
    """Data of another length: the number of chunks follows from the rows."""
    with pm.Model() as model:
        x, y = pm.Data("x", data()[0]), pm.Data("y", data()[2])
        pm.Normal("z", x @ pm.Normal("b", shape=3), 1.0, observed=y)
    before = model_density(model).chunks
    pm.set_data({"x": data(3 * ROWS)[0], "y": data(3 * ROWS)[2]}, model=model)
    value, _ = values(model, [0.1, 0.2, 0.3])
    assert model_density(model).chunks > before
    np.testing.assert_allclose(value, model_density(model, "reference")([0.1, 0.2, 0.3])[0], rtol=1e-11)


@pytest.mark.usefixtures("short")
def test_draws_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """One chain with one, two and eight threads; two chains."""
    did: list[int] = []
    help_ = IdleThreads.help

    def counted(self: IdleThreads, calls: int) -> int:
        did.append(help_(self, calls))
        return did[-1]

    monkeypatch.setattr(IdleThreads, "help", counted)
    model = hierarchy()

    def draws(**settings: Any) -> Any:
        result = pm.sample(15, tune=25, model=model, **{"chains": 1, **QUIET, **settings})
        return result.posterior["u"].values

    alone = draws(cores=1)
    assert not did
    for settings in ({"cores": 2}, {"cores": 8}, {"threads_per_chain": 3}, {"cores": 4, "threads_per_chain": 1}):
        np.testing.assert_array_equal(draws(**settings), alone)
    two = draws(cores=1, chains=2)
    np.testing.assert_array_equal(draws(cores=4, chains=2, threads_per_chain=2), two)


@pytest.mark.usefixtures("short")
def test_a_run_that_is_resumed_may_have_other_threads(tmp_path: Path) -> None:
    """And step methods without gradients, and discrete variables that are summed out, go the same way."""
    model = discrete_classes()

    events: list[Any] = []

    def stop(event: Any) -> None:
        events.append(event)
        if len(events) == 4:
            raise KeyboardInterrupt

    whole = pm.sample(20, tune=30, chains=2, model=model, cores=1, **QUIET)
    save = pm.Save(checkpoint=tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pm.sample(20, tune=30, chains=2, model=model, cores=2, save=save, callback=stop, **QUIET)
    again = pm.resume(tmp_path / "run", model, threads_per_chain=3, progressbar=False)
    for name in ("m", "k"):
        np.testing.assert_array_equal(again.posterior[name].values, whole.posterior[name].values)


def test_who_asks_in_vain_is_told_which_term_joins_rows() -> None:
    places = np.arange(6.0)
    with pm.Model() as joined:
        near = np.exp(-0.5 * (places[:, None] - places) ** 2) + np.eye(6)
        pm.MvNormal("y", pm.Normal("a"), near * pm.HalfNormal("s"), observed=np.zeros(6))
    with pm.Model() as brief:
        pm.Normal("y", pm.Normal("a"), 1.0, observed=np.zeros(6))
    for model, told in ((joined, r"rows depend on each other in `y` \("), (brief, "a second thread would not pay")):
        with pytest.warns(ConsilienceWarning, match=told):
            pm.sample(5, tune=5, chains=1, model=model, threads_per_chain=2, **QUIET)
    for wrong in (0, -1, 1.5, "all", True):
        with pytest.raises(SamplingError, match="threads_per_chain"):
            pm.sample(5, tune=5, model=brief, threads_per_chain=wrong, **QUIET)  # type: ignore[arg-type]  # as meant


def test_threads_of_a_run() -> None:
    """Chains first, then helpers; `cores` bounds all of them."""
    assert crew(4, 8, None, 0) == Crew(4, 4)
    assert crew(1, 8, None, 100) == Crew(8, 1, True)
    assert crew(1, 8, None, 5) == Crew(5, 1, True)
    assert crew(4, 8, None, 100) == Crew(8, 4, True)
    assert crew(4, 2, None, 100) == Crew(2, 2, True)
    assert crew(4, 1, None, 100) == Crew(1, 1, False)
    assert crew(4, 8, 2, 100) == Crew(8, 4, True)
    assert crew(4, 4, 2, 100) == Crew(4, 2, True)
    assert crew(4, 2, 8, 100) == Crew(2, 1, True)
    assert crew(4, 8, 1, 100) == Crew(4, 4)
