"""Data of every kind mean the same numbers wherever they enter a model, and are refused in the same words."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse
import xarray as xr

import consilience as pm
from consilience.errors import DtypeError, ImputationWarning
from consilience.model.data import GivenData, given_data

NUMBERS = np.array([1.0, 2.0, 4.0])


class OnDevice:
    """A tensor as those of PyTorch are: numbers are read after `detach().cpu()` alone."""

    def __init__(self, values: Any, home: bool = False) -> None:
        self.values, self.home = np.asarray(values), home

    def detach(self) -> OnDevice:
        return self

    def cpu(self) -> OnDevice:
        return OnDevice(self.values, True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if not self.home:
            raise RuntimeError("on a device, with a gradient")
        return np.asarray(self.values, dtype)


KINDS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "float32": lambda x: x.astype("float32"),
    "uint8": lambda x: x.astype("uint8"),
    "objects": lambda x: np.array([int(v) for v in x], object),
    "decimals": lambda x: [Decimal(int(v)) for v in x],
    "series": pd.Series,
    "nullable": lambda x: pd.Series(x, dtype="Int64"),
    "labelled": lambda x: xr.DataArray(x, dims="i"),
    "masked": lambda x: np.ma.masked_array(x, False),
    "constant": lambda x: pm.math.constant(x),
    "device": OnDevice,
}


def through_data(value: Any) -> npt.NDArray[Any]:
    with pm.Model() as model:
        pm.Data("d", value)
    return model.get_data("d")


def through_set_data(value: Any) -> npt.NDArray[Any]:
    with pm.Model() as model:
        pm.Data("d", np.zeros(2))
    model.set_data("d", value)
    return model.get_data("d")


def through_observed(value: Any) -> npt.NDArray[Any]:
    with pm.Model() as model:
        pm.Normal("d", observed=value)
    return np.asarray(model.rvs_to_values[model["d"]].eval())


def through_observe(value: Any) -> npt.NDArray[Any]:
    with pm.Model() as model:
        pm.Normal("d", shape=3)
    seen = pm.observe(model, {"d": value})
    return np.asarray(seen.rvs_to_values[seen["d"]].eval())


def through_do(value: Any) -> npt.NDArray[Any]:
    with pm.Model() as model:
        pm.Normal("d", shape=3)
    return pm.do(model, {"d": value.eval() if hasattr(value, "eval") else value}).get_data("d")


def through_minibatch(value: Any) -> npt.NDArray[Any]:
    rows = pm.draw(pm.Minibatch(value, batch_size=3), draws=40, random_seed=1)
    return np.unique(rows)


DOORS = (through_data, through_set_data, through_observed, through_observe, through_do, through_minibatch)


@pytest.mark.parametrize("door", DOORS)
def test_all_kinds_of_data_mean_the_same_numbers(door: Callable[[Any], npt.NDArray[Any]]) -> None:
    for kind, made in KINDS.items():
        np.testing.assert_array_equal(door(made(NUMBERS)), NUMBERS, err_msg=kind)


@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_number_is_refused_in_the_same_words(door: Callable[[Any], npt.NDArray[Any]]) -> None:
    for value, words in (
        (["a", "b", "c"], "they hold texts such as 'a'"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)), "they are dates"),
        (np.array([1j, 2, 3]), "complex numbers have no density"),
        ([[1.0], [2.0, 3.0], [4.0]], "must be an array of numbers"),
    ):
        with pytest.raises(DtypeError, match=words):
            door(value)


@pytest.mark.parametrize("door", [d for d in DOORS if d not in (through_data, through_observed)])
def test_dense_data_are_no_sparse_matrix(door: Callable[[Any], npt.NDArray[Any]]) -> None:
    with pytest.raises((DtypeError, pm.ShapeError), match="sparse matrix"):
        door(scipy.sparse.eye(3, format="csr"))


@pytest.mark.parametrize(
    "value",
    [
        np.array([1.0, np.nan, 4.0]),
        np.ma.masked_array([1.0, 2.0, 4.0], [False, True, False]),
        [1, None, 4],
        pd.Series([1, None, 4], dtype="Int64"),
        pd.Series([1.0, None, 4.0]),
        xr.DataArray([1.0, np.nan, 4.0], dims="i"),
        np.array([1, np.nan, 4], object),
        OnDevice([1.0, np.nan, 4.0]),
    ],
)
def test_missing_values_of_all_kinds_become_variables(value: Any) -> None:
    with pm.Model() as model, pytest.warns(ImputationWarning, match="have 1 missing values"):
        pm.Poisson("y", 2.0, observed=value)
    assert model.rvs_to_values[model["y_observed"]].eval().tolist() == [1, 4]
    assert model["y_unobserved"].eval().shape == (1,)


def test_whole_numbers_beside_missing_ones_stay_exact() -> None:
    large = 2**60 + 1
    given = given_data("y", [large, None])
    assert given.missing is not None
    assert given.present(given.missing).values.tolist() == [large]
    np.testing.assert_array_equal(given_data("y", [1, None]).numbers(), [1.0, np.nan])


def test_data_that_were_taken_in_stay_as_they_are() -> None:
    given = given_data("y", NUMBERS)
    assert type(given) is GivenData
    assert given_data("y", given) is given


def test_masked_draws_are_refused() -> None:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("x"), observed=0.5)
    with model, pytest.raises(pm.SupportError, match="`x` has masked values"):
        pm.sample_posterior_predictive({"x": np.ma.masked_array([[0.1, 0.2]], [[False, True]])}, progressbar=False)
