"""Values with labels are placed by these: the order of a table's columns changes no density and no prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
from consilience.estimators.smc.prior_draws import prior_draws
from consilience.model.starting_point import initial_point
from consilience.sample.given import Given

NAMES = ("a", "b", "c")
RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(RNG.normal(size=(6, 3)), columns=list(NAMES))
NEW = pd.DataFrame(RNG.normal(size=(4, 3)), columns=list(NAMES))
Y = RNG.normal(size=6)


def as_frame(table: Any) -> Any:
    return table


def as_array(table: Any) -> Any:
    return xr.DataArray(table.to_numpy(), dims=("row", "f"), coords={"f": list(table.columns)})


def as_turned_array(table: Any) -> Any:
    return as_array(table).transpose("f", "row")


def regression(table: Any, dims: bool) -> pm.Model:
    with pm.Model(coords={"f": NAMES} if dims else {}) as model:
        X = pm.Data("X", table, dims=("row", "f") if dims else None)
        b = pm.Normal("b", dims="f") if dims else pm.Normal("b", shape=3)
        pm.Normal("y", X @ b, observed=Y[: len(TABLE)])
    return model


def declared(table: Any) -> pm.Model:
    return regression(table, True)


def exchanged(table: Any) -> pm.Model:
    model = regression(TABLE, True)
    pm.set_data({"X": table}, model)
    return model


def exchanged_without_dims(table: Any) -> pm.Model:
    model = regression(TABLE, False)
    pm.set_data({"X": table}, model)
    return model


def exchanged_in_a_copy(table: Any) -> pm.Model:
    model = pm.do(regression(TABLE, False), {})
    pm.set_data({"X": table}, model)
    return model


def exchanged_in_a_part(table: Any) -> pm.Model:
    with pm.Model() as model, pm.Model(name="part"):
        b = pm.Normal("b", shape=3)
        pm.Normal("y", pm.Data("X", TABLE) @ b, observed=Y)
    pm.set_data({"part::X": table}, model)
    return model


def replaced(table: Any) -> pm.Model:
    return pm.do(regression(TABLE, True), {"X": table})


def outcomes(table: Any) -> pm.Model:
    with pm.Model(coords={"f": NAMES, "row": range(len(TABLE))}) as model:
        b = pm.Normal("b", dims="f")
        pm.Normal("y", b, observed=table, dims=("row", "f"))
    return model


def observed(table: Any) -> pm.Model:
    with pm.Model(coords={"f": NAMES, "row": range(len(TABLE))}) as model:
        b = pm.Normal("b", dims="f")
        pm.Normal("y", b, dims=("row", "f"))
    return pm.observe(model, {"y": table})


WITHOUT_DIMS = (exchanged_without_dims, exchanged_in_a_copy, exchanged_in_a_part)
ROUTES = (declared, exchanged, *WITHOUT_DIMS, replaced, outcomes, observed)


def density(model: pm.Model) -> float:
    name = model.free[0].name
    return float(model.compile_logp(mode="reference")({name: np.array([0.3, -1.0, 2.0])}))


@pytest.mark.parametrize("form", [as_frame, as_array, as_turned_array])
@pytest.mark.parametrize("route", ROUTES)
@settings(max_examples=6, deadline=None)
@given(order=st.permutations(NAMES))
def test_columns_are_taken_by_name(
    route: Callable[[Any], pm.Model], form: Callable[[Any], Any], order: list[str]
) -> None:
    if route in WITHOUT_DIMS and form is as_turned_array:
        return  # without dims nothing says which axis is which
    assert density(route(form(TABLE[order]))) == density(route(TABLE.to_numpy()))


def test_columns_of_a_polars_table_are_taken_by_name() -> None:
    polars = pytest.importorskip("polars")
    turned = polars.DataFrame({name: TABLE[name].to_numpy() for name in reversed(NAMES)})
    for route in ROUTES:
        assert density(route(turned)) == density(route(TABLE.to_numpy()))


@settings(max_examples=4, deadline=None)
@given(order=st.permutations(NAMES))
def test_sums_of_trees_predict_from_columns_in_any_order(order: list[str]) -> None:
    with pm.Model() as model:
        f = pm.BART("f", pm.Data("X", TABLE), Y, m=3)
        pm.Normal("y", f, 0.3, observed=Y, shape=f.shape)
        quiet: Any = {"progressbar": False, "compute_convergence_checks": False}
        result = pm.sample(5, tune=5, chains=1, random_seed=1, **quiet)

        def predicted(table: Any) -> Any:
            pm.set_data({"X": table})
            return pm.sample_posterior_predictive(result, var_names=["f"], predictions=True, progressbar=False)

        given_names, positions = predicted(NEW[order]), predicted(NEW.to_numpy())
    del model
    np.testing.assert_array_equal(given_names.predictions["f"], positions.predictions["f"])


def test_new_labels_say_the_order_of_new_columns() -> None:
    model = regression(TABLE, True)
    turned = NEW[["c", "b", "a"]]
    pm.set_data({"X": turned}, model, coords={"f": ["c", "b", "a"]})
    np.testing.assert_array_equal(model.get_data("X"), turned)


def test_rows_are_taken_as_they_stand() -> None:
    """The index of a table is often that of another one: rows beside arrays without labels would be mixed up."""
    model = regression(TABLE, True)
    pm.set_data({"X": TABLE.iloc[::-1]}, model)
    np.testing.assert_array_equal(model.get_data("X"), TABLE.to_numpy()[::-1])


@pytest.mark.parametrize("dims", [False, True])
def test_other_columns_are_named_in_a_warning(dims: bool) -> None:
    model = regression(TABLE, dims)
    with pytest.warns(
        pm.errors.ConsilienceWarning, match=r"data `X` were \['a', 'b', 'c'\], and are \['z', 'b', 'c'\]"
    ):
        pm.set_data({"X": NEW.rename(columns={"a": "z"})}, model)


def test_columns_without_names_are_taken_as_they_stand() -> None:
    model = regression(pd.DataFrame(TABLE.to_numpy()), False)
    pm.set_data({"X": pd.DataFrame(TABLE.to_numpy())[[2, 1, 0]]}, model)
    np.testing.assert_array_equal(model.get_data("X"), TABLE.to_numpy()[:, ::-1])


# Routes by which the values of a variable come: a table (row, f), a model of which, and a number out.


def with_coefficients() -> pm.Model:
    with pm.Model(coords={"f": NAMES, "row": range(len(TABLE))}) as model:
        b = pm.LogNormal("b", dims=("row", "f"))
        pm.Normal("y", b[:, 0] - 2.0 * b[:, 2], observed=Y)
    return model


def of_a_point(model: pm.Model, table: Any) -> Any:
    return model.compile_logp(mode="reference")({"b_log__": table})


def of_slopes(model: pm.Model, table: Any) -> Any:
    return model.logp_dlogp_function(ravel_inputs=True)({"b_log__": table})[1]


def of_a_dictionary(model: pm.Model, table: Any) -> Any:
    return pm.Point({"b_log__": table}, model=model)["b_log__"]


def of_terms(model: pm.Model, table: Any) -> Any:
    return model.point_logps({"b_log__": table})["y"]


def of_starting_values(model: pm.Model, table: Any) -> Any:
    return begun(model, {"b_log__": table})


def of_starting_values_on_the_own_scale(model: pm.Model, table: Any) -> Any:
    return begun(model, {"b": np.exp(table)})


def of_a_variable(model: pm.Model, table: Any) -> Any:
    model.set_initval("b", np.exp(table))
    return model.initial_point()["b_log__"]


def as_draws(table: Any) -> Any:
    draws = table if isinstance(table, xr.DataArray) else as_array(pd.DataFrame(table, columns=list(NAMES)))
    return np.exp(draws).expand_dims("draw")


def of_a_result(model: pm.Model, table: Any) -> Any:
    return begun(model, xr.Dataset({"b": as_draws(table).expand_dims("chain")}))


def of_draws_of_the_prior(model: pm.Model, table: Any) -> Any:
    return prior_draws(model, model.log_density(), 1, 1, {"b": as_draws(table)}, 0).chains[0]


def begun(model: pm.Model, initvals: Any) -> Any:
    return initial_point(model, 0, initvals)["b_log__"]


def of_draws_by_name(model: pm.Model, table: Any) -> Any:
    return Given.of(model, {"b": as_draws(table).expand_dims("chain")}, None).values["b"]


def of_a_list_of_points(model: pm.Model, table: Any) -> Any:
    return Given.of(model, [{"b": as_draws(table)[0]}, {"b": as_draws(table)[0]}], None).values["b"]


OF_DRAWS = (of_a_result, of_draws_of_the_prior, of_draws_by_name, of_a_list_of_points)
VALUES = (
    of_a_point, of_slopes, of_a_dictionary, of_terms, of_starting_values, of_starting_values_on_the_own_scale,
    of_a_variable, *OF_DRAWS,
)  # fmt: skip


@pytest.mark.parametrize("form", [as_array, as_turned_array, as_frame])
@pytest.mark.parametrize("route", VALUES)
@settings(max_examples=4, deadline=None)
@given(order=st.permutations(NAMES))
def test_values_of_variables_are_taken_by_name(route: Any, form: Any, order: list[str]) -> None:
    if route in OF_DRAWS and form is as_frame:
        return  # draws are no tables
    found = route(with_coefficients(), form(TABLE[order]))
    np.testing.assert_allclose(found, route(with_coefficients(), TABLE.to_numpy()), atol=1e-6)
