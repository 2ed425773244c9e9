"""`pm.sample` integrates continuous variables out where that pays; its results mean what they meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ModelError, SamplingError
from consilience.model.integration import integrable

rng = np.random.default_rng(5)
N = 120
COUNTS = rng.poisson(rng.gamma(2.0, 1.0, 240))
LEVEL = np.cumsum(0.3 * rng.normal(size=N))
SERIES = LEVEL + 0.4 * rng.normal(size=N)
QUIET: dict[str, Any] = {"progressbar": False, "random_seed": 2}
FIXED: dict[str, Any] = {"draws": 60, "tune": 60, "chains": 2, "compute_convergence_checks": False, **QUIET}


def walk(y: Any = SERIES) -> pm.Model:
    with pm.Model(coords={"day": range(N)}) as model:
        step, noise = pm.Gamma("step", 4, 10), pm.Gamma("noise", 4, 10)
        x = pm.GaussianRandomWalk("x", sigma=step, init_dist=pm.Normal.dist(0, 2), dims="day")
        pm.Deterministic("last", x[-1] * step)
        pm.Normal("y", x, noise, observed=y, dims="day")
    return model


def counts(groups: int = 240) -> pm.Model:
    with pm.Model() as model:
        a, b = pm.Exponential("a", 1.0), pm.Exponential("b", 1.0)
        rate = pm.Gamma("rate", a, b, shape=groups)
        pm.Poisson("y", rate, observed=COUNTS[:groups])
    return model


def integrated(result: Any) -> dict[str, str]:
    found: dict[str, str] = json.loads(result.posterior.attrs["integrated"])
    return found


@pytest.mark.slow  # two whole runs, one of them without what is tested
def test_means_spreads_and_correlations_are_those_of_plain_runs() -> None:
    """Of the few that chains move, of what is drawn again, and of both together."""
    model = walk()
    one = pm.sample(model=model, **QUIET)
    other = pm.sample(model=model, integrate=False, target_accept=0.95, **QUIET)
    assert one.status == other.status == "converged"
    assert integrated(one) == {"x": "normal, by a sparse factor"}
    assert integrated(other) == {}
    assert one.posterior.attrs["gradients"] < other.posterior.attrs["gradients"] / 2
    for name in ("step", "noise", "x", "last"):
        a, b = (np.asarray(r.posterior[name]) for r in (one, other))
        spread = b.std((0, 1))
        assert (np.abs(a.mean((0, 1)) - b.mean((0, 1))) < 0.3 * spread).all(), name
        np.testing.assert_allclose(a.std((0, 1)) / spread, 1.0, atol=0.25, err_msg=name)
    related = [
        np.corrcoef(np.asarray(r.posterior["step"]).ravel(), np.abs(np.diff(r.posterior["x"])).mean(-1).ravel())[0, 1]
        for r in (one, other)
    ]
    assert abs(related[0] - related[1]) < 0.1
    assert related[1] > 0.5
    np.testing.assert_allclose(one.posterior["last"], one.posterior["x"][..., -1] * one.posterior["step"])
    assert one.posterior["x"].dims == ("chain", "draw", "day")
    assert "integrated out" in one.report()


def test_what_is_integrated_by_default_is_large_and_costs_little() -> None:
    assert integrable(walk()) == ("x",)
    assert integrable(counts()) == ("rate",)
    assert integrable(counts(100)) == ()  # chains move so few independent ones well
    with pm.Model() as regression:  # one scale for all does not change what coefficients look like
        X = rng.normal(size=(100, 20))
        pm.Normal("y", X @ pm.Normal("b", shape=20), pm.HalfNormal("s"), observed=rng.normal(size=100))
    assert integrable(regression) == ()
    with pm.Model() as logistic:
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=80)
        pm.Bernoulli("y", logit_p=x, observed=rng.integers(0, 2, 80))
    assert integrable(logistic) == ()
    with pm.Model() as heavy:
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=80)
        pm.StudentT("y", nu=4, mu=x, sigma=1.0, observed=rng.normal(size=80))
    assert integrable(heavy) == ()
    with pm.Model() as alone:
        pm.Normal("y", pm.GaussianRandomWalk("x", sigma=1.0, init_dist=pm.Normal.dist(), shape=80), 1.0,
                  observed=rng.normal(size=80))  # fmt: skip
    assert integrable(alone) == ()
    with pm.Model() as pulled:
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=80)
        pm.Normal("y", x, 1.0, observed=rng.normal(size=80))
        pm.Potential("barrier", -pt.sum(x**4))
    assert integrable(pulled) == ()
    with pm.Model() as improper:
        rate = pm.HalfFlat("rate", shape=240)
        pm.Poisson("y", rate * pm.HalfNormal("s"), observed=COUNTS)
    assert integrable(improper) == ()
    with pm.Model() as batch:
        a = pm.Exponential("a", 1.0)
        pm.Poisson("y", pm.Gamma("rate", a, a, shape=240), observed=COUNTS, total_size=1000)
    assert integrable(batch) == ()


def test_factors_are_integrated_that_unknown_loadings_multiply() -> None:
    """They and their loadings hold each other, so more operations are worth it than where data multiply them."""

    def model(loadings: bool) -> pm.Model:
        x = np.random.default_rng(3).normal(size=(10, 2))
        with pm.Model() as made:
            factors = pm.Normal("factors", 0.0, 1.0 if loadings else pm.HalfNormal("scale"), shape=(250, 2))
            rows = pm.Normal("loadings", 0.0, 1.0, shape=(10, 2)) if loadings else x
            pm.Normal("y", pt.dot(factors, rows.T), pm.HalfNormal("noise"), observed=np.zeros((250, 10)))
        return made

    assert integrable(model(loadings=True)) == ("factors",)
    assert integrable(model(loadings=False)) == ()


def test_factors_are_not_integrated_without_those_that_they_act_on() -> None:
    """Structural equations: all of them cost too much, and some without the others gain nothing."""
    with pm.Model() as model:
        n = 437
        chol = pm.LKJCholeskyCov("chol", n=2, eta=2, sd_dist=pm.Exponential.dist(1.0, shape=2), compute_corr=False)
        low = pm.MvNormal("low", np.zeros(2), chol=pm.math.expand_packed_triangular(2, chol), shape=(n, 2))
        middle = pm.Normal("middle", low @ pm.Normal("paths", shape=(2, 2)), pm.HalfNormal("residual"), shape=(n, 2))
        high = pm.Normal("high", middle @ pm.Normal("effects", shape=2), pm.HalfNormal("rest"), shape=n)
        factors = pt.concatenate([low, middle, high[:, None]], axis=1)
        loadings = pt.concatenate([np.ones((5, 1)), pm.Normal("loadings", 1, 0.5, shape=(5, 2))], axis=1)
        mean = (factors[:, :, None] * loadings).reshape((n, 15))
        pm.Normal("y", mean, pm.HalfNormal("noise", shape=15), observed=np.zeros((n, 15)))
    assert integrable(model) in ((), ("low", "middle", "high"))


def test_sums_of_trees_and_what_acts_beside_them_stay() -> None:
    with pm.Model() as model:
        trees = pm.BART("trees", rng.normal(size=(80, 2)), rng.normal(size=80), m=3)
        x = pm.GaussianRandomWalk("x", sigma=pm.HalfNormal("s"), init_dist=pm.Normal.dist(), shape=80)
        pm.Normal("y", trees + x, pm.HalfNormal("noise"), observed=rng.normal(size=80))
    assert integrable(model) == ()
    with pytest.raises(ModelError, match="`trees` is a sum of regression trees"):
        pm.sample(model=model, integrate="trees", **FIXED)


def test_a_block_that_discrete_variables_act_on_stays() -> None:
    with pm.Model() as model:
        s = pm.HalfNormal("s")
        x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(), shape=N)
        z = pm.Bernoulli("z", 0.3)
        pm.Normal("y", x * z, 1.0, observed=SERIES)
    result = pm.sample(model=model, **FIXED)
    assert json.loads(result.posterior.attrs["marginalized"]) == ["z"]
    assert integrated(result) == {}


def test_named_variables_are_integrated_and_others_are_not() -> None:
    small = counts(4)
    result = pm.sample(model=small, integrate="rate", **FIXED)
    assert integrated(result) == {"rate": "Gamma"}
    assert integrated(pm.sample(model=small, **FIXED)) == {}
    with pytest.raises(ModelError, match="`a` cannot be integrated out: the log density is not linear"):
        pm.sample(model=small, integrate=["a"], **FIXED)
    with pytest.raises(ModelError, match="nothing would be left"):
        pm.sample(model=small, integrate=["a", "b", "rate"], **FIXED)
    with pytest.raises(SamplingError, match="`rate` is given to a step method"):
        pm.sample(model=small, integrate="rate", step=pm.Metropolis(vars=["rate"]), **FIXED)
    with pytest.raises(ModelError, match="`integrate`: the model has no variable `nothing`; it has a, b, rate, y"):
        pm.sample(model=small, integrate="nothing", **FIXED)


def test_step_methods_that_are_asked_for_move_their_variables() -> None:
    model = walk()
    for step in (pm.NUTS(vars=["x"]), pm.Metropolis()):
        result = pm.sample(model=model, step=step, **FIXED)
        assert integrated(result) == {}
    assert integrated(pm.sample(model=model, step=pm.HamiltonianMC(), **FIXED)) != {}


def test_starting_values_of_what_is_integrated_are_checked_and_not_needed() -> None:
    result = pm.sample(model=walk(), initvals={"x": np.zeros(N), "step": 0.5}, **FIXED)
    assert integrated(result) != {}
    with pytest.raises(Exception, match="x"):
        pm.sample(model=walk(), initvals={"x": np.zeros(N + 1)}, **FIXED)


def test_log_likelihoods_and_predictions_are_those_of_the_draws() -> None:
    model = walk()
    result = pm.sample(model=model, idata_kwargs={"log_likelihood": True}, **FIXED)
    x, noise = np.asarray(result.posterior["x"]), np.asarray(result.posterior["noise"])[..., None]
    wanted = -0.5 * ((SERIES - x) / noise) ** 2 - np.log(noise) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(result.log_likelihood["y"], wanted, rtol=1e-10)
    drawn = pm.sample_posterior_predictive(result, model=model, random_seed=1, progressbar=False)
    residuals = np.asarray(drawn.posterior_predictive["y"]) - x
    np.testing.assert_allclose(residuals.std(), np.sqrt((noise**2).mean()), rtol=0.05)


@pytest.mark.parametrize("dims", [None, "row"])
def test_new_data_have_draws_of_their_own(dims: str | None) -> None:
    with pm.Model(coords={"row": [f"r{i}" for i in range(N)]}) as model:
        y, group = pm.Data("y_data", SERIES, dims=dims), pm.Data("group", np.arange(N) % 60, dims=dims)
        s = pm.HalfNormal("s")
        x = pm.GaussianRandomWalk("x", sigma=s, init_dist=pm.Normal.dist(0, 9), shape=60)
        pm.Normal("y", x[group], 0.5, observed=y)
    first = pm.sample(model=model, **FIXED)
    assert integrated(first) == {"x": "normal, by a sparse factor"}
    with model:
        pm.set_data({"y_data": SERIES + 5.0, "group": (np.arange(N) + 1) % 60})
    second = pm.sample(model=model, **FIXED)
    gap = np.asarray(second.posterior["x"]).mean((0, 1)) - np.roll(np.asarray(first.posterior["x"]).mean((0, 1)), 1)
    assert np.abs(gap[2:] - 5.0).max() < 1.0


def test_blocks_along_labels_of_data_are_integrated() -> None:
    """Data are constants where a factor needs places that are known; their labels stay those of the model."""
    with pm.Model(coords={"day": range(N)}) as model:
        slope = pm.Data("slope", np.linspace(-1, 1, N), dims="day")
        step = pm.HalfNormal("step")
        x = pm.GaussianRandomWalk("x", sigma=step, init_dist=pm.Normal.dist(0, 2), dims="day")
        pm.Normal("y", x + slope, 0.4, observed=SERIES, dims="day")
    result = pm.sample(model=model, **FIXED)
    assert integrated(result) == {"x": "normal, by a sparse factor"}
    assert result.posterior["x"].dims == ("chain", "draw", "day")
    np.testing.assert_array_equal(result.constant_data["slope"], np.linspace(-1, 1, N))


def test_a_run_that_was_written_goes_on_with_the_same_draws(tmp_path: Path) -> None:
    model = walk()
    first = pm.sample(model=model, save=pm.Save(checkpoint=tmp_path / "run"), **FIXED)
    again = pm.resume(tmp_path / "run", model=model, progressbar=False)
    np.testing.assert_array_equal(first.posterior["x"], again.posterior["x"])


def test_scalars_in_front_of_the_block_do_not_matter() -> None:
    """A frailty model, whose frailties are read by rows and by a mask."""
    persons, months = 220, 3
    at_risk = (rng.uniform(size=(persons, months)) < 0.7).astype(float)
    events = (rng.uniform(size=(persons, months)) < 0.2 * at_risk).astype(int)
    with pm.Model() as model:
        theta, b = pm.Gamma("theta", 2, 0.5), pm.Normal("b", shape=months)
        frailty = pm.Gamma("frailty", theta, theta, shape=persons)
        mu = at_risk * (frailty[:, None] * pt.exp(b)) + 1e-12 * (1 - at_risk)
        pm.Poisson("y", mu, observed=events)
    assert integrable(model) == ("frailty",)
