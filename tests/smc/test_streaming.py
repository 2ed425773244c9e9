"""Data in batches lead to the posterior and the evidence of all data, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.errors import ModelError, SamplingError, ShapeError

X = np.random.default_rng(1).normal(size=(40, 2))
Y = X @ [1.0, -0.5] + np.random.default_rng(2).normal(size=40)
PRECISION = np.eye(2) + X.T @ X
MEAN = np.linalg.solve(PRECISION, X.T @ Y)
DEVIATION = np.sqrt(np.diag(np.linalg.inv(PRECISION)))
EVIDENCE = float(stats.multivariate_normal(np.zeros(40), np.eye(40) + X @ X.T).logpdf(Y))
FIRST = 10


def regression(rows: Any = slice(0, FIRST)) -> pm.Model:
    with pm.Model(coords={"place": ["a", "b"]}) as model:
        x, y = pm.Data("x", X[rows]), pm.Data("y", Y[rows])
        pm.Normal("seen", x @ pm.Normal("b", 0, 1, dims="place"), 1.0, observed=y)
    return model


def streamed(order: Any, size: int, **settings: Any) -> tuple[Any, int]:
    """The result after batches of a size, and in how many of them particles did not move."""
    with regression(order[:FIRST]):
        result = pm.sample_smc(800, chains=6, random_seed=1, progressbar=False)
        still = 0
        for start in range(FIRST, 40, size):
            rows = order[start : start + size]
            result = pm.smc.assimilate(
                result, {"x": X[rows], "y": Y[rows]}, random_seed=1, progressbar=False, **settings
            )
            still += "particles" in result
    return result, still


ORDER = np.arange(40)
CASES: list[tuple[Any, int, dict[str, Any]]] = [
    (ORDER, 5, {}),
    (ORDER[::-1], 3, {"kernel": pm.smc.MH}),
    (ORDER, 30, {"kernel": pm.smc.HMC}),
    (ORDER, 10, {"threshold": 0.95}),
]


@pytest.mark.parametrize(("order", "size", "settings"), CASES)
def test_the_posterior_and_the_evidence_are_those_of_all_data(order: Any, size: int, settings: Any) -> None:
    result, still = streamed(order, size, **settings)
    about, b = result["posterior"].attrs, result["posterior"]["b"]
    assert abs(about["log_marginal_likelihood"] - EVIDENCE) < 4 * about["log_marginal_likelihood_error"]
    assert about["log_marginal_likelihood_error"] < 0.12
    np.testing.assert_allclose(b.mean(("chain", "draw")), MEAN, atol=5 * DEVIATION.max() / np.sqrt(1500))
    np.testing.assert_allclose(b.std(("chain", "draw")), DEVIATION, rtol=0.07)
    assert (still > 0) == (size in (3, 5))
    assert list(b["place"].values) == ["a", "b"]
    assert result["observed_data"]["seen"].shape == (40,)


def test_draws_do_not_depend_on_threads_nor_on_a_file_in_between(tmp_path: Any) -> None:
    found = []
    for cores in (1, 4):
        with regression():
            result = pm.sample_smc(300, chains=2, random_seed=1, progressbar=False, cores=cores)
            for row in range(FIRST, FIRST + 3):
                more = {"x": X[row : row + 1], "y": Y[row : row + 1]}
                result = pm.smc.assimilate(result, more, random_seed=row, cores=cores, progressbar=False)
                result.to_netcdf(tmp_path / "kept.nc")
                if cores == 4:
                    import xarray

                    result = xarray.open_datatree(tmp_path / "kept.nc").load()
                    result.close()
            found.append(result["posterior"]["b"].values)
    np.testing.assert_array_equal(*found)


def test_labels_and_transformed_variables_are_carried_on() -> None:
    """A scale on the positive numbers, with data along a dimension with labels."""
    values = np.random.default_rng(5).normal(0, 2, 30)
    with pm.Model(coords={"day": list("abcde")}) as model:
        y = pm.Data("y", values[:5], dims="day")
        s = pm.Gamma("precision", 2.0, 2.0)
        pm.Normal("seen", 0, s**-0.5, observed=y, dims="day")
        result = pm.sample_smc(1000, chains=4, random_seed=1, progressbar=False)
        for start in (5, 6, 18):
            end = {5: 6, 6: 18, 18: 30}[start]
            labels = {"day": [f"day {i}" for i in range(start, end)]}
            result = pm.smc.assimilate(
                result, {"y": values[start:end]}, coords=labels, random_seed=2, progressbar=False
            )
    assert len(model.coords["day"]) == 30
    assert result["observed_data"]["seen"]["day"].values[-1] == "day 29"
    shape, rate = 2 + 15, 2 + 0.5 * (values**2).sum()
    assert float(result["posterior"]["precision"].mean()) == pytest.approx(shape / rate, rel=0.03)
    covariance = stats.multivariate_t(np.zeros(30), np.eye(30), df=4)
    exact = covariance.logpdf(values)
    about = result["posterior"].attrs
    assert abs(about["log_marginal_likelihood"] - exact) < 4 * about["log_marginal_likelihood_error"]


def test_what_cannot_be_appended_leaves_the_data_as_they_were() -> None:
    with regression() as model:
        result = pm.sample_smc(200, chains=2, random_seed=1, progressbar=False)
        more = {"x": X[10:12], "y": Y[10:12]}
        for new, error, words in (
            ({}, ModelError, "empty"),
            ({"z": Y}, ModelError, "no `pm.Data` named 'z'"),
            ({"x": Y[:2]}, ShapeError, "can be appended"),
            ({"y": Y[10:12]}, ShapeError, "observed at 12 places, but its parameters have 10"),
            ({"x": X[10:12], "y": [1e200, 0.0]}, SamplingError, "no particle has a likelihood"),
        ):
            with pytest.raises(error, match=words):
                pm.smc.assimilate(result, new, progressbar=False)
            assert model["y"].eval().shape == (FIRST,)
            assert model["x"].eval().shape == (FIRST, 2)
        with pytest.raises(ModelError, match="nowhere"):
            pm.smc.assimilate(result, more, coords={"nowhere": [1, 2]}, progressbar=False)
        pm.smc.assimilate(result, more, progressbar=False)
        with pytest.raises(ModelError, match="other data of `x`"):
            pm.smc.assimilate(result, more, progressbar=False)
        with pytest.raises(ModelError, match="no evidences"):
            pm.smc.assimilate(pm.sample_prior_predictive(10), more)


def test_variables_whose_number_grows_with_the_data_are_refused() -> None:
    with pm.Model() as model:
        y = pm.Data("y", Y[:5])
        pm.Normal("seen", pm.Normal("each", 0, 1, shape=y.shape[0]), 1.0, observed=y)
        result = pm.sample_smc(200, chains=2, random_seed=1, progressbar=False)
        with pytest.raises(ModelError, match="grows with the data"):
            pm.smc.assimilate(result, {"y": Y[5:6]})
    assert model["y"].eval().shape == (5,)


def test_columns_of_new_rows_are_appended_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame(np.random.default_rng(1).normal(size=(4, 2)), columns=["a", "b"])
    with pm.Model() as model:
        pm.Normal("y", pm.Data("X", rows[:2]) @ pm.Normal("beta", shape=2), observed=pm.Data("y_data", [0.5, 1.0]))
        result = pm.sample_smc(100, random_seed=1, progressbar=False, compute_convergence_checks=False)
        new = {"X": rows[2:][["b", "a"]], "y_data": [0.0, 0.2]}
        pm.smc.assimilate(result, new, random_seed=1, progressbar=False, compute_convergence_checks=False)
    np.testing.assert_array_equal(model.data["X"].get_value(), rows)
