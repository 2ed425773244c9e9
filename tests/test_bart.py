"""Sums of regression trees in models: fits, predictions, resuming, inputs of all kinds, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import (
    ConsilienceError,
    ConvergenceWarning,
    ModelError,
    ParameterError,
    SamplingError,
    ShapeError,
)
from consilience.sample.bart import quadratic_in
from consilience.sample.compiling import compiled

SETTINGS: dict[str, Any] = {
    "chains": 2, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False
}  # fmt: skip


def friedman(n: int, p: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f, f + rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted() -> tuple[pm.Model, Any, np.ndarray]:
    X, _, y = friedman(150)
    with pm.Model() as model:
        x = pm.Data("x", X)
        mu = pm.BART("mu", x, y, m=20)
        sigma = pm.HalfNormal("sigma", 2.0)
        pm.Normal("y", mu, sigma, observed=y, shape=mu.shape)
        result = pm.sample(300, tune=200, **SETTINGS)
    return model, result, X


def predicted(fitted: Any, X: np.ndarray) -> Any:
    model, result, before = fitted
    with model:
        pm.set_data({"x": X})
        try:
            return pm.sample_posterior_predictive(
                result, var_names=["mu", "y"], predictions=True, random_seed=1, progressbar=False
            ).predictions
        finally:
            pm.set_data({"x": before})


def test_a_function_at_new_rows_lies_within_its_intervals(fitted: Any) -> None:
    X, f, _ = friedman(400, seed=7)
    draws = predicted(fitted, X)["mu"].to_numpy().reshape(-1, 400)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    assert np.sqrt(np.mean((draws.mean(axis=0) - f) ** 2)) < 0.35 * f.std()
    assert 0.75 < np.mean((low < f) & (f < high)) < 1.0


def test_trees_of_each_draw_give_its_function_at_the_rows(fitted: Any) -> None:
    model, result, X = fitted
    np.testing.assert_allclose(pm.bart.predict(result, X, model=model), result.posterior["mu"], atol=1e-9)


def test_predictions_of_a_draw_have_its_own_function_and_scale(fitted: Any) -> None:
    _, result, X = fitted
    found = predicted(fitted, np.concatenate([X, X[:3]]))
    mu, y = found["mu"].to_numpy(), found["y"].to_numpy()
    np.testing.assert_allclose(mu[..., : len(X)], result.posterior["mu"], atol=1e-9)
    np.testing.assert_allclose(mu[..., len(X) :], mu[..., :3], atol=1e-12)
    sigma = result.posterior["sigma"].to_numpy()
    assert abs(np.std((y - mu) / sigma[..., None]) - 1.0) < 0.02


def test_a_run_resumed_from_its_checkpoint_has_the_same_bits(tmp_path: Path) -> None:
    X, _, y = friedman(60)

    def model() -> pm.Model:
        with pm.Model() as made:
            mu = pm.BART("mu", X, y, m=10)
            pm.Normal("y", mu, pm.HalfNormal("sigma", 2.0), observed=y)
        return made

    settings = {**SETTINGS, "tune": 50}
    whole = pm.sample(120, model=model(), **settings)
    pm.sample(60, model=model(), save=pm.Save(checkpoint=tmp_path / "b"), **settings)
    resumed = pm.resume(tmp_path / "b", model=model(), progressbar=False).extend(draws=120)
    for group, name in (("posterior", "mu"), ("posterior", "sigma"), ("sample_stats", "mu_trees")):
        np.testing.assert_array_equal(whole[group][name], resumed[group][name])


def test_trees_go_to_files_and_predict_from_there(fitted: Any, tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    model, result, X = fitted
    result.to_netcdf(tmp_path / "r.nc")
    with xarray.open_datatree(tmp_path / "r.nc") as loaded:
        found = pm.bart.predict(loaded, X[:9], model=model)
    np.testing.assert_array_equal(found, pm.bart.predict(result, X[:9], model=model))


def test_trees_in_a_file_of_a_run_take_less_than_half_of_their_memory(fitted: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5netcdf")
    from consilience.output.storage.netcdf import write_netcdf

    result = fitted[1].built()
    write_netcdf(result, tmp_path / "r.nc")
    words = result["sample_stats"]["mu_trees"]
    rest = sum(group.nbytes for group in result.children.values()) - words.nbytes
    assert (tmp_path / "r.nc").stat().st_size < words.nbytes / 2 + 1.1 * rest


def test_classes_have_the_prior_of_a_softmax_and_other_numbers_their_spread() -> None:
    X = np.arange(9.0)[:, None]
    for y, shape, offset, scale in (
        (np.arange(9) % 3, (3, 9), 0.0, 3.0),
        (np.arange(9) % 2, 9, 0.0, 3.0),
        (np.arange(9) % 2, (1, 9), 0.0, 3.0),
        (np.arange(9) % 3, 9, 1.0, np.std(np.arange(9) % 3)),
        (np.arange(9), (2, 9), 4.0, np.std(np.arange(9))),
    ):
        forest = pm.BART.dist(X, y, m=4, shape=shape).op.settings[0]
        assert (forest.offset, forest.scale) == (offset, pytest.approx(scale / 2.0))


def test_functions_are_watched_at_their_rows() -> None:
    X, _, y = friedman(150)
    with pm.Model():
        mu = pm.BART("mu", X, y, m=20)
        pm.Normal("y", mu, 1.0, observed=y)
        with pytest.warns(ConvergenceWarning):
            checked = pm.sample(50, tune=50, chains=2, random_seed=1, progressbar=False)
    assert checked.status != "converged"
    assert "mu[" in checked.reason


@pytest.mark.parametrize("rules", [None, {"kind": pm.bart.OneHotSplit}])
@pytest.mark.parametrize("missing", [True, False])
def test_missing_values_and_categories_split_rows(missing: bool, rules: Any) -> None:
    rng = np.random.default_rng(3)
    n = 240
    kind = rng.choice(["a", "b", "c", "d"], n)
    number = rng.normal(size=n)
    absent = rng.uniform(size=n) < 0.3 if missing else np.zeros(n, bool)
    f = np.where(np.isin(kind, ["a", "c"]), 2.0, -1.0) + np.where(absent, 3.0, np.sign(number))
    frame = pd.DataFrame({"kind": pd.Categorical(kind), "number": np.where(absent, np.nan, number)})
    y = f + 0.3 * rng.normal(size=n)
    with pm.Model() as model:
        mu = pm.BART("mu", frame, y, m=20, split_rules=rules)
        pm.Normal("y", mu, 0.3, observed=y)
        result = pm.sample(150, tune=150, **SETTINGS)
    found = result.posterior["mu"].mean(("chain", "draw")).to_numpy()
    assert np.sqrt(np.mean((found - f) ** 2)) < 0.25
    again = pm.bart.predict(result, frame.iloc[::-1][["number", "kind"]], model=model)
    np.testing.assert_allclose(again[..., ::-1], result.posterior["mu"], atol=1e-9)
    with pytest.raises(ModelError, match="know nothing"):
        pm.bart.predict(result, frame.iloc[:2].assign(kind="z"), model=model)
    with pytest.raises(ModelError, match="no columns"):
        pm.bart.predict(result, frame[["kind"]], model=model)


@pytest.mark.parametrize("separate", [True, False])
def test_vectors_of_functions_have_trees_of_their_own_or_share_them(separate: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(120, 2))
    f = np.stack([np.where(X[:, 0] > 0.5, 2.0, -2.0), np.where(X[:, 0] > 0.5, -1.0, 1.0)])
    y = f + 0.3 * rng.normal(size=f.shape)
    with pm.Model() as model:
        mu = pm.BART("mu", X, y, m=10, shape=(2, 120), separate_trees=separate)
        pm.Normal("y", mu, 0.3, observed=y)
        result = pm.sample(150, tune=100, **SETTINGS)
    assert np.sqrt(np.mean((result.posterior["mu"].mean(("chain", "draw")) - f) ** 2)) < 0.2
    np.testing.assert_allclose(pm.bart.predict(result, X, model=model), result.posterior["mu"], atol=1e-9)


def test_two_sums_of_trees_part_an_effect_from_a_mean() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(300, 2))
    z = rng.integers(0, 2, 300)
    effect = np.where(X[:, 1] > 0.5, 2.0, 0.0)
    y = 3.0 * X[:, 0] + effect * z + 0.3 * rng.normal(size=300)
    with pm.Model():
        mu = pm.BART("mu", X, y, m=20)
        tau = pm.BART("tau", X, y - y.mean(), m=10)
        pm.Normal("y", mu + tau * z, pm.HalfNormal("sigma", 1.0), observed=y)
        result = pm.sample(200, tune=200, **SETTINGS)
    found = result.posterior["tau"].mean(("chain", "draw")).to_numpy()
    assert np.corrcoef(found, effect)[0, 1] > 0.9
    assert float(result.sample_stats["mu_accepted"].min()) == 1.0  # quadratic in both


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "log scale", "joined rows"])
def test_trees_move_under_any_density(family: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 2))
    f = np.where(X[:, 0] > 0.5, 1.0, -1.0)
    with pm.Model():
        if family == "bernoulli":
            y = (rng.uniform(size=300) < 1 / (1 + np.exp(-2 * f))) * 1.0
            mu = pm.BART("mu", X, y, m=20)
            pm.Bernoulli("y", logit_p=2.0 * mu, observed=y.astype(int))
        elif family == "poisson":
            y = rng.poisson(np.exp(1.0 + f))
            mu = pm.BART("mu", X, np.log(y + 0.5), m=20)
            pm.Poisson("y", pm.math.exp(1.0 + mu), observed=y)
        elif family == "log scale":
            y = rng.normal(0.0, np.exp(f))
            mu = pm.BART("mu", X, np.log(np.abs(y) + 0.1), m=20)
            pm.Normal("y", 0.0, pm.math.exp(mu), observed=y)
        else:  # rows that depend on each other
            y = f + 0.3 * rng.normal(size=300)
            mu = pm.BART("mu", X, y, m=20)
            change = pt.concatenate([mu[:1], mu[1:] - mu[:-1]])
            pm.Normal("y", change, 0.4, observed=np.concatenate([y[:1], np.diff(y)]))
        result = pm.sample(300, tune=300, **SETTINGS)
    found = result.posterior["mu"].mean(("chain", "draw")).to_numpy()
    assert np.corrcoef(found, f)[0, 1] > 0.9
    assert 0.1 < float(result.sample_stats["accepted"].mean()) < 1.0


@pytest.mark.parametrize("family", ["normal", "poisson"])
@pytest.mark.parametrize("response", ["linear", "mix"])
def test_leaves_with_lines_follow_lines_beyond_the_data(response: str, family: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1.0, 1.0, size=(150, 2))
    X[::10, 1] = np.nan
    f = np.where(X[:, 0] < 0.0, -2.0 * X[:, 0], 3.0 * X[:, 0])

    def model() -> pm.Model:
        with pm.Model() as made:
            if family == "normal":
                y = f + 0.2 * np.random.default_rng(1).normal(size=150)
                mu = pm.BART("mu", X, y, m=10, response=response)
                pm.Normal("y", mu, 0.2, observed=y)
            else:
                y = np.random.default_rng(1).poisson(np.exp(2.0 + f))
                mu = pm.BART("mu", X, np.log(y + 0.5) - 2.0, m=10, response=response)
                pm.Poisson("y", pm.math.exp(2.0 + mu), observed=y)
        return made

    fitted = model()
    result = pm.sample(300, tune=300, model=fitted, **SETTINGS)
    np.testing.assert_allclose(pm.bart.predict(result, X, model=fitted), result.posterior["mu"], atol=1e-9)
    at = [[-0.8, 0.0], [0.8, 0.0], [0.8, np.nan], [-1.2, 0.0], [1.2, 0.0]]
    found = pm.bart.predict(result, at, model=fitted).mean(axis=(0, 1))
    np.testing.assert_allclose(found[:3], [1.6, 2.4, 2.4], atol=0.4)
    if response == "linear":
        np.testing.assert_allclose(found[3:], [2.4, 3.6], atol=0.4)
    pm.sample(100, tune=100, model=model(), save=pm.Save(checkpoint=tmp_path / "b"), **SETTINGS)
    resumed = pm.resume(tmp_path / "b", model=model(), progressbar=False).extend(draws=150)
    whole = pm.sample(150, tune=100, model=model(), **SETTINGS)
    np.testing.assert_array_equal(whole.sample_stats["mu_trees"], resumed.sample_stats["mu_trees"])


def test_monotone_functions_rise_and_fall_at_every_draw() -> None:
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(
        {
            "rises": rng.uniform(size=200),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], 200)),
            "falls": pd.Categorical(rng.choice([1, 2, 3], 200), ordered=True),
        }
    )
    frame.loc[::9, "rises"] = np.nan
    f = 3.0 * frame["rises"].fillna(0.5) - frame["falls"].astype(float) + (frame["kind"] == "b")
    y = f + 0.5 * rng.normal(size=200)
    with pm.Model() as model:
        mu = pm.BART("mu", frame, y, m=20, monotone={"rises": 1, "falls": -1})
        pm.Normal("y", mu, 0.5, observed=y)
        result = pm.sample(200, tune=200, **SETTINGS)
    assert np.sqrt(np.mean((result.posterior["mu"].mean(("chain", "draw")) - f) ** 2)) < 0.35
    assert 0.05 < float(result.sample_stats["accepted"].mean()) < 1.0
    for kind in "abc":
        for name, values, order in (("rises", np.linspace(-0.5, 1.5, 30), 1), ("falls", [1, 2, 3], -1)):
            other = {"rises": "falls", "falls": "rises"}[name]
            for held in [1, 2, 3] if name == "rises" else [0.2, np.nan]:
                grid = pd.DataFrame({name: values, "kind": kind, other: held})
                for column in ("kind", "falls"):
                    grid[column] = pd.Categorical(grid[column], frame[column].cat.categories)
                assert (order * np.diff(pm.bart.predict(result, grid, model=model)) >= -1e-9).all()


def test_sparse_weights_leave_columns_without_effect_aside() -> None:
    X, _, y = friedman(200, 50)
    shares = []
    for prior in (None, "sparse"):
        with pm.Model() as model:
            mu = pm.BART("mu", X, y, m=20, split_prior=prior)
            pm.Normal("y", mu, 1.0, observed=y)
            result = pm.sample(300, tune=500, **SETTINGS)
        own, names = pm.bart.get_variable_inclusion(result, model=model)
        shares.append(sum(share for share, name in zip(own, names, strict=True) if int(name) < 5))
    assert shares[1] > 0.9 > shares[0]


def test_the_spread_of_leaves_is_learnt_unless_it_is_given() -> None:
    X, _, y = friedman(100)
    for given in (None, 0.5):
        with pm.Model():
            mu = pm.BART("mu", X, y, m=20, leaf_sd=given)
            pm.Normal("y", mu, 1.0, observed=y)
            spread = pm.sample(50, tune=50, **SETTINGS).sample_stats["spread"].to_numpy()
        np.testing.assert_allclose(spread if given else spread.std() > 0.0, given or True)


def test_draws_of_the_prior_have_its_mean_and_spread() -> None:
    X, _, y = friedman(30)
    with pm.Model():
        given = {"leaf_sd": y.std() / 2**0.5}
        for name, settings, spread, error in (  # standard deviations of all rows share one error
            ("usual", {}, 0.5, 0.05),  # the mean variance of InverseGamma(3, 1 / 2) is a quarter
            ("given", given, 1.0, 0.025),
            ("lines", {**given, "response": "mix"}, 1.0, 0.03),
            ("sparse", {**given, "split_prior": "sparse"}, 1.0, 0.025),
        ):
            pm.BART(name, X, y, m=2, **settings)
            prior = pm.sample_prior_predictive(800, var_names=[name], random_seed=1).prior[name].to_numpy()[0]
            assert abs(prior.mean() - y.mean()) < 0.3 * y.std()
            assert abs(prior.std(axis=0).mean() / y.std() / spread - 1.0) < 4.0 * error, name
        pm.BART("rises", X, y, m=3, monotone=[1, 0, 0, 0, 0])
        prior = pm.sample_prior_predictive(100, var_names=["rises"], random_seed=1).prior["rises"].to_numpy()[0]
    slopes = [np.polyfit(X[:, 0], f, 1)[0] for f in prior]
    assert np.mean(np.array(slopes) > 0.0) > 0.6


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"m": 0}, ParameterError, "`m`"),
        ({"m": 10**6}, ParameterError, "`m`"),
        ({"m": 2.5}, ParameterError, "`m`"),
        ({"alpha": 1.5}, ParameterError, "`alpha`"),
        ({"beta": -1}, ParameterError, "`beta`"),
        ({"response": "curved"}, ParameterError, "response"),
        ({"leaf_sd": 0.0}, ParameterError, "leaf_sd"),
        ({"split_prior": "few"}, ParameterError, "split_prior"),
        ({"monotone": [1]}, ParameterError, "monotone"),
        ({"monotone": [2, 0]}, ParameterError, "monotone"),
        ({"monotone": {"age": 1}}, ParameterError, "monotone"),
        ({"monotone": [1, 0], "split_rules": ["onehot", "continuous"]}, ParameterError, "ContinuousSplit"),
        ({"monotone": [1, 0], "response": "linear"}, ParameterError, "response"),
        ({"trees": 3}, TypeError, "no argument `trees`"),
        ({"split_prior": [1.0]}, ParameterError, "split_prior"),
        ({"split_rules": ["continuous"]}, ParameterError, "split_rules"),
        ({"split_rules": ["curved", "continuous"]}, ParameterError, "split_rules"),
        ({"X": np.full((8, 2), np.inf)}, ParameterError, "infinite"),
        ({"X": np.zeros((8, 0))}, ShapeError, "no columns"),
        ({"X": np.zeros((0, 2))}, ShapeError, "no rows"),
        ({"X": np.zeros(8)}, ShapeError, "rows, columns"),
        ({"X": np.column_stack([np.zeros(8), np.full(8, np.nan)])}, ParameterError, "no values"),
        ({"Y": np.full(8, np.nan)}, ParameterError, "`Y`"),
        ({"X": [["a", "b"]] * 8}, ParameterError, "categories"),
        ({"Y": np.arange(7.0)}, ShapeError, r"8 rows, and `Y` the shape \(7,\)"),
        ({"Y": ["a"] * 8}, ParameterError, "`Y` must be numbers"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name(given: dict[str, Any], error: type[Exception], told: str) -> None:
    full = {"X": np.zeros((8, 2)) + np.arange(8.0)[:, None], "Y": np.arange(8.0), **given}
    with pm.Model(), pytest.raises(error, match=told):
        pm.BART("mu", **full)


def test_random_covariates_are_refused() -> None:
    X, _, y = friedman(20)
    with pm.Model():
        first = pm.BART("first", X, y)
        with pytest.raises(ModelError, match="random"):
            pm.BART("second", first[:, None], y)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pm.find_MAP(progressbar=False),
        lambda: pm.fit_laplace(),
        lambda: pm.fit(10, progressbar=False),
        lambda: pm.sample_smc(10, progressbar=False),
        lambda: pm.sample(10, step=pm.NUTS(["mu"]), progressbar=False),
        lambda: pm.sample(10, step=pm.Slice(["mu"]), progressbar=False),
        lambda: pm.sample(10, step=pm.BARTStep(["sigma"]), progressbar=False),
        lambda: pm.marginalize(pm.modelcontext(None), "mu"),
        lambda: pm.collapse(pm.modelcontext(None), "mu"),
        lambda: pm.sample(10, backend="jax", progressbar=False),
    ],
    ids=["find_MAP", "laplace", "fit", "smc", "NUTS", "Slice", "BARTStep", "marginalize", "collapse", "jax"],
)
def test_what_cannot_move_trees_says_so(call: Any) -> None:
    X, _, y = friedman(20)
    with pm.Model():
        mu = pm.BART("mu", X, y, m=3)
        pm.Normal("y", mu, pm.HalfNormal("sigma", 1.0), observed=y)
        with pytest.raises((ConsilienceError, SamplingError), match=r"`(mu|sigma)`"):
            call()


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((12, 1)),
        np.zeros((1, 2)),
        np.tile([[0.0, 1.0]], (12, 1)),
        np.random.default_rng(0).uniform(size=(12, 40)),
    ],
    ids=["constant", "one row", "duplicates", "more columns than rows"],
)
def test_covariates_without_much_to_split_are_sampled(X: np.ndarray) -> None:
    y = np.random.default_rng(1).normal(size=len(X))
    with pm.Model():
        mu = pm.BART("mu", X, y, m=5)
        pm.Normal("y", mu, 1.0, observed=y)
        result = pm.sample(50, tune=50, **SETTINGS)
    assert np.isfinite(result.posterior["mu"]).all()


COUNTS = np.random.default_rng(0).poisson(np.repeat([8.0, 55.0], 30))
BINARY = COUNTS % 2
SHARES = np.where(COUNTS > 30, 0.2, 0.1)


@pytest.mark.parametrize(
    ("Y", "likelihood", "told"),
    [
        (COUNTS, lambda f: pm.Poisson("y", pm.math.exp(f), observed=COUNTS), "not on the scale of `mu`"),
        (COUNTS, lambda f: pm.NegativeBinomial("y", pm.math.exp(f), 3.0, observed=COUNTS), "not on the scale of `mu`"),
        (COUNTS, lambda f: pm.Bernoulli("y", logit_p=f, observed=BINARY), "not on the scale of `mu`"),
        (COUNTS, lambda f: pm.Bernoulli("y", pm.math.invprobit(f), observed=BINARY), "not on the scale of `mu`"),
        (SHARES, lambda f: pm.Binomial("y", 200, pm.math.sigmoid(f), observed=COUNTS), "not on the scale of `mu`"),
        (COUNTS * 1000.0, lambda f: pm.Normal("y", f, 5.0, observed=COUNTS), "not on the scale of `mu`"),
        (COUNTS, lambda f: pm.Poisson("y", f, observed=COUNTS), "takes `mu` of `y` out of its range"),
        (COUNTS, lambda f: pm.Normal("y", 0.0, f, observed=COUNTS * 1.0), "takes `sigma` of `y` out of its range"),
        (SHARES, lambda f: pm.Binomial("y", 200, f, observed=COUNTS), "takes `p` of `y` out of its range"),
        (COUNTS, lambda f: pm.Censored("y", pm.Poisson.dist(f), None, 99, observed=COUNTS), "takes `mu` of `y` out"),
        (COUNTS, lambda f: pm.Censored("y", pm.Normal.dist(f, 5.0), 1.0, None, observed=COUNTS * 1.0), None),
        (COUNTS, lambda f: pm.Truncated("y", pm.Normal.dist(f, 5.0), 0, 99, observed=COUNTS * 1.0), None),
        (np.log(COUNTS + 0.5), lambda f: pm.Poisson("y", pm.math.exp(f), observed=COUNTS), None),
        (np.log(COUNTS / 9.0), lambda f: pm.Poisson("y", 9.0 * pm.math.exp(f), observed=COUNTS), None),
        (BINARY, lambda f: pm.Bernoulli("y", logit_p=f, observed=BINARY), None),
        (BINARY, lambda f: pm.Bernoulli("y", pm.math.invprobit(f), observed=np.arange(60) == 0), None),
        (COUNTS, lambda f: pm.Normal("y", f, pm.HalfNormal("s", 9.0), observed=COUNTS * 1.0), None),
        (COUNTS - 30.0, lambda f: pm.Normal("y", f + pm.Normal("a", 30.0, 9.0), 5.0, observed=COUNTS * 1.0), None),
        (COUNTS, lambda f: pm.Potential("y", -0.5 * pm.math.sum(pm.math.sqr(COUNTS - f))), None),
        (COUNTS, lambda f: pm.Cauchy("y", f, 5.0, observed=COUNTS * 1.0), None),
    ],
)
def test_a_response_on_another_scale_than_the_function_is_named(Y: Any, likelihood: Any, told: str | None) -> None:
    with pm.Model(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        likelihood(pm.BART("mu", np.arange(60.0)[:, None], Y, m=3))
        pm.sample(2, tune=2, **SETTINGS)
    said = [str(one.message) for one in caught if "`mu`" in str(one.message)]
    assert len(said) == (told is not None), said
    assert all(told in sentence for sentence in said), said  # type: ignore[operator]


@pytest.mark.parametrize("family", ["poisson", "negative binomial", "log scale", "exponential"])
def test_steep_likelihoods_do_not_hold_chains_where_they_begin(family: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 2))
    f = np.where(X[:, 0] > 0.5, 1.5, -1.5)
    with pm.Model():
        if family == "log scale":
            y = rng.normal(0.0, np.exp(3.0 + f))
            mu = pm.BART("mu", X, np.log(np.abs(y) + 0.1), m=10)
            pm.Normal("y", 0.0, pm.math.exp(mu), observed=y)
        else:
            y = rng.exponential(np.exp(3.0 + f)) if family == "exponential" else rng.poisson(np.exp(3.0 + f))
            mu = pm.BART("mu", X, np.log(y + 0.5), m=10)
            if family == "poisson":
                pm.Poisson("y", pm.math.exp(mu), observed=y)
            elif family == "exponential":
                pm.Exponential("y", scale=pm.math.exp(mu), observed=y)
            else:
                pm.NegativeBinomial("y", pm.math.exp(mu), 5.0, observed=y)
        result = pm.sample(200, tune=100, **SETTINGS)
    assert np.sqrt(np.mean((result.posterior["mu"].mean(("chain", "draw")) - 3.0 - f) ** 2)) < 0.5
    assert float(result.sample_stats["accepted"].mean()) > 0.1


def test_likelihoods_are_normal_in_a_function_only_where_they_are() -> None:
    X, y = np.arange(12.0)[:, None], np.random.default_rng(0).normal(size=12)
    for normal, likelihood in (
        (True, lambda f: pm.Normal("y", f, 2.0, observed=y)),
        (True, lambda f: pm.Normal("y", 2.0 * f + pm.Normal("a"), pm.HalfNormal("s", np.ones(12)), observed=y)),
        (True, lambda f: pm.Normal("y", f + f * y, 1.0, observed=y)),
        (True, lambda f: pm.Potential("y", -((y - f) ** 2))),
        (False, lambda f: pm.Laplace("y", f, 1.0, observed=y)),
        (False, lambda f: pm.AsymmetricLaplace("y", mu=f, b=1.0, q=0.3, observed=y)),
        (False, lambda f: pm.Normal("y", pm.math.maximum(f, 0.0), 1.0, observed=y)),
        (False, lambda f: pm.Normal("y", pm.math.abs(f), 1.0, observed=y)),
        (False, lambda f: pm.Normal("y", pm.math.switch(f > 0.0, f, 2.0 * f), 1.0, observed=y)),
        (False, lambda f: pm.Normal("y", pm.math.clip(f, -1.0, 1.0), 1.0, observed=y)),
        (False, lambda f: pm.StudentT("y", 4.0, f, 1.0, observed=y)),
    ):
        with pm.Model() as model:
            likelihood(pm.BART("mu", X, y, m=20))
        variable = next(v for v in model.free if v.name == "mu")
        assert quadratic_in(variable, compiled(model)[0]) == normal


def test_inclusion_and_importance_find_the_column_that_matters() -> None:
    rng = np.random.default_rng(6)
    X = rng.uniform(size=(150, 3))
    y = 4.0 * X[:, 1] + 0.2 * rng.normal(size=150)
    with pm.Model() as model:
        mu = pm.BART("mu", X, y, m=10)
        pm.Normal("y", mu, 0.2, observed=y)
        result = pm.sample(100, tune=100, **SETTINGS)
    shares, names = pm.bart.get_variable_inclusion(result, labels=["a", "b", "c"], model=model)
    assert names[0] == "b"
    assert (np.diff(shares) <= 0).all()
    assert abs(shares.sum() - 1.0) < 1e-12
    assert pm.bart.get_variable_inclusion(result, to_kulprit=True)[1] == ["1"]
    for method, fixed in (("VI", 0), ("forward", 0), ("backward", 0), ("backward_VI", 1)):
        found = pm.bart.compute_variable_importance(
            result, mu, X, method=method, fixed=fixed, samples=40, random_seed=1
        )
        assert found["indices"][0] == 1
        assert sorted(found["indices"]) == [0, 1, 2]
        assert found["r2_mean"][0] > 0.8
        assert abs(found["r2_mean"][-1] - 1.0) < 1e-9
        np.testing.assert_array_equal(found["preds"][-1], found["preds_all"])
    assert pm.bart.vi_to_kulprit(found)[1] == ["1"]
    for wrong in ({"method": "best"}, {"method": "backward_VI"}):
        with pytest.raises(ModelError, match=r"method|fixed"):
            pm.bart.compute_variable_importance(result, mu, **wrong)


def test_pictures_are_drawn_from_results_and_from_variables() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, _, y = friedman(60, 5)
    with pm.Model() as model:
        mu = pm.BART("mu", X, y, m=5)
        pm.Normal("y", mu, 1.0, observed=y)
        with pytest.raises(ModelError, match="has no result"):
            pm.bart.plot_pdp(mu, X)
        result = pm.sample(40, tune=20, **SETTINGS)
    names = [f"column {k}" for k in range(5)]
    frame, response = pd.DataFrame(X, columns=names), pd.Series(y, name="response")
    axes = pm.bart.plot_pdp(mu, frame, response, "quantiles", [0.25, 0.5, 0.75], [0, 3], samples=20)
    assert [ax.get_xlabel() for ax in axes] == [names[0], names[3]]
    assert axes[0].figure.texts[0].get_text() == "Partial response"
    np.testing.assert_allclose(axes[0].lines[0].get_xdata(), np.quantile(X[:, 0], [0.25, 0.5, 0.75]))
    line = pm.bart.plot_pdp(result, X, var_idx=[3], samples=80)[0].lines[0]
    assert line.get_ydata()[-1] > line.get_ydata()[0]  # the function increases with it
    assert len(pm.bart.plot_pdp(result, var_discrete=[0], smooth=True, grid=(3, 2), samples=5)) == 5
    assert len(pm.bart.plot_ice(mu, X, y, [0], None, None, False, 20, 5)[0].lines) == 6
    assert len(pm.bart.plot_convergence(result)) == 2
    found = pm.bart.compute_variable_importance(result, mu, X, samples=5)
    for drawn in (found, result):
        assert len(pm.bart.plot_variable_importance(drawn, samples=5).containers) == 1
    assert len(pm.bart.plot_scatter_submodels(found, submodels=[0, 4], grid="wide")) == 2
    assert pm.bart.plot_variable_inclusion(result, frame, model=model).get_xticklabels()[0].get_text() in names
    for wrong in ({"grid": "tall"}, {"xs_interval": "odd"}, {"xs_values": [2.0, 3.0]}):
        with pytest.raises(ModelError, match=next(iter(wrong))):
            pm.bart.plot_pdp(mu, X, **wrong)
