"""Coordinates, dims, exchangeable data and what of them needs compilation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.native import jit

X = np.array([0.5, 1.0, 1.5, 2.0])
Y = np.array([1.0, 2.0, 2.5, 4.5])


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often code was loaded since the test began."""
    count = 0
    load = jit.load

    def counted(*arguments: Any, **named: Any) -> jit.Library:
        nonlocal count
        count += 1
        return load(*arguments, **named)

    monkeypatch.setattr(jit, "load", counted)
    return lambda: count


def regression(labels: list[str] | None = None) -> pm.Model:
    with pm.Model(coords={"obs": labels} if labels else None) as model:
        x = pm.Data("x", X, dims="obs")
        y = pm.Data("y_data", Y, dims="obs")
        b = pm.Normal("b", 0, 10)
        pm.Deterministic("mu", b * x, dims="obs")
        pm.Normal("y", b * x, 1.0, observed=y, dims="obs")
    return model


def expected(b: float, x: np.ndarray, y: np.ndarray) -> float:
    likelihood = -0.5 * (y - b * x) ** 2 - 0.5 * np.log(2 * np.pi)
    return float(likelihood.sum() - 0.5 * (b / 10) ** 2 - np.log(10) - 0.5 * np.log(2 * np.pi))


def test_data_of_the_same_shape_need_no_compilation(compilations: Callable[[], int]) -> None:
    model = regression()
    logp = model.compile_logp()
    assert logp({"b": 1.2}) == pytest.approx(expected(1.2, X, Y))
    model.log_density()(np.array([0.3]))
    before = compilations()
    for factor in (2.0, 3.0):
        model.set_data("x", factor * X)
        assert logp({"b": 1.2}) == pytest.approx(expected(1.2, factor * X, Y))
        assert model.log_density()(np.array([0.3]))[0] == pytest.approx(expected(0.3, factor * X, Y))
    assert compilations() == before


def test_sampling_twice_compiles_once(compilations: Callable[[], int]) -> None:
    with regression() as model:
        arguments: dict[str, Any] = {"draws": 50, "tune": 50, "chains": 2, "progressbar": False}
        first = pm.sample(random_seed=1, compute_convergence_checks=False, **arguments)
        before = compilations()
        pm.set_data({"x": 2 * X})
        second = pm.sample(random_seed=1, compute_convergence_checks=False, **arguments)
    assert compilations() == before
    assert second.posterior.attrs["time_build"] == 0.0
    assert second.posterior.attrs["time_compile"] < 0.5 * first.posterior.attrs["time_compile"] + 0.01
    np.testing.assert_array_equal(second.constant_data["x"], 2 * X)
    assert model.log_density() is not None


def test_data_of_another_length_bring_their_labels() -> None:
    model = regression(list("abcd"))
    logp = model.compile_logp()
    x, y = np.arange(6.0), np.arange(6.0) + 1
    pm.set_data({"x": x, "y_data": y}, model=model, coords={"obs": list("uvwxyz")})
    assert logp({"b": 0.7}) == pytest.approx(expected(0.7, x, y))
    assert model.coords["obs"] == tuple("uvwxyz")
    values = model.log_density().expand(np.array([[2.0]]))
    np.testing.assert_allclose(values["mu"], [2 * x])


def test_dimension_without_labels_takes_its_length_from_data() -> None:
    model = regression()
    model.set_data("x", np.arange(3.0))
    with pytest.raises(pm.ShapeError, match="y_data"):
        model.log_density()
    model.set_data("y_data", np.arange(3.0))
    assert model.compile_logp()({"b": 1.0}) == pytest.approx(expected(1.0, np.arange(3.0), np.arange(3.0)))


def test_going_back_to_a_known_shape_does_not_compile(compilations: Callable[[], int]) -> None:
    model = regression()
    model.log_density()
    pm.set_data({"x": X[:2], "y_data": Y[:2]}, model=model)
    model.log_density()(np.array([0.3]))
    before = compilations()
    pm.set_data({"x": X, "y_data": Y}, model=model)
    model.log_density()
    assert compilations() == before


def test_new_length_without_labels_is_refused() -> None:
    model = regression(list("abcd"))
    with pytest.raises(pm.ShapeError, match=r"length 3 along `obs`, which has 4 labels; pass the new labels"):
        model.set_data("x", X[:3])


def test_labels_that_do_not_fit_the_data_are_refused() -> None:
    model = regression(list("abcd"))
    with pytest.raises(pm.ShapeError, match=r"length 3 along `obs`, which has 2 labels"):
        model.set_data("x", X[:3], coords={"obs": ["a", "b"]})


def test_labels_without_their_data_are_noticed_when_the_model_is_used() -> None:
    model = regression(list("abcd"))
    pm.set_data({}, model=model, coords={"obs": list("abc")})
    with pytest.raises(pm.ShapeError, match=r"along the dimension `obs` have length 4, but it has 3 labels"):
        model.log_density()


def test_refused_data_change_nothing() -> None:
    model = regression(list("abcd"))
    before = model.compile_logp()({"b": 1.0})
    with pytest.raises(pm.ShapeError):
        pm.set_data({"x": 2 * X, "y_data": Y[:2]}, model=model)
    with pytest.raises(KeyError, match="no data `z`; it has x, y_data"):
        pm.set_data({"x": 2 * X, "z": Y}, model=model)
    assert model.compile_logp()({"b": 1.0}) == before


def test_densities_need_the_declared_length_of_a_dimension() -> None:
    with pm.Model(coords={"group": ["a", "b"]}) as model:
        pm.Normal("z", dims="group")
        pm.set_data({}, coords={"group": ["c", "d"]})
        assert model.coords["group"] == ("c", "d")
        pm.set_data({}, coords={"group": ["c", "d", "e"]})
        for use in (model.log_density, pm.find_MAP, lambda: model.compile_logp()(model.initial_point())):
            with pytest.raises(pm.ShapeError, match=r"`group` has 3 labels, but `z` was declared with 2"):
                use()
        pm.set_data({}, coords={"group": ["a", "b"]})
        model.log_density()


def test_whole_numbers_stay_whole_numbers() -> None:
    with pm.Model() as model:
        n = pm.Data("n", [3, 4])
        p = pm.Beta("p", 1, 1)
        pm.Binomial("y", n, p, observed=[1, 2])
    model.set_data("n", [5.0, 6.0])
    assert model.log_density() is not None
    with pytest.raises(TypeError, match=r"`n` are int64, got an array of float64"):
        model.set_data("n", [5.5, 6.0])
    with pytest.raises(pm.ShapeError, match=r"have 1 axes, got an array of shape \(1, 2\)"):
        model.set_data("n", [[5, 6]])


def test_rows_and_indices_as_data() -> None:
    index = np.array([0, 2, 1, 0])
    with pm.Model(coords={"county": ["a", "b", "c"]}) as model:
        design = pm.Data("design", np.ones((4, 2)), dims=("obs", None))
        county = pm.Data("county_idx", index, dims="obs")
        a = pm.Normal("a", dims="county")
        b = pm.Normal("b", shape=2)
        pm.Normal("y", a[county] + pm.math.dot(design, b), 1.0, observed=Y)
    position = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    mean = position[:3][index] + 0.9
    prior = -0.5 * position @ position
    constant = -0.5 * np.log(2 * np.pi) * 9
    assert model.log_density()(position)[0] == pytest.approx(prior - 0.5 * ((Y - mean) ** 2).sum() + constant)
    pm.set_data({"county_idx": [0, 0, 0, 3]}, model=model)
    assert model.log_density()(position)[0] == -np.inf
    with pytest.raises(pm.InitialPointError, match=r"(?s)`y` has log density no value .*index"), model:
        pm.sample(random_seed=1, progressbar=False)


def test_shapes_may_come_from_data() -> None:
    with pm.Model() as model:
        x = pm.Data("x", X)
        pm.Normal("z", 0, 1, shape=x.shape)
        pm.Normal("y", x, 1, observed=Y)
    assert model.initial_point()["z"].shape == (4,)


def test_coordinates_of_all_kinds() -> None:
    dates = np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[ns]")
    with pm.Model(coords={"when": dates, "name": ("u", "v", "w"), "year": range(1990, 1993)}) as model:
        model.add_coord("free", length=5)
        pm.Normal("x", dims=("when", "name"))
        pm.Normal("z", dims=("free", "year"))
        prior = pm.sample_prior_predictive(3, random_seed=1)
    assert prior.prior["x"].dims == ("chain", "draw", "when", "name")
    np.testing.assert_array_equal(prior.prior["when"], dates)
    assert prior.prior["z"].shape == (1, 3, 5, 3)
    assert prior.prior["year"].values.tolist() == [1990, 1991, 1992]
    assert model.dim_length("free") == 5


def test_dims_may_name_some_axes_only() -> None:
    with pm.Model(coords={"a": [1, 2]}) as model:
        pm.Normal("x", shape=(2, 3), dims=("a", None))
        prior = pm.sample_prior_predictive(4, random_seed=1)
    assert prior.prior["x"].dims == ("chain", "draw", "a", "x_dim_0")
    assert model.named_vars_to_dims["x"] == ("a", None)


def test_code_of_many_shapes_is_not_kept_for_ever() -> None:
    model = regression()
    for n in range(1, 13):
        pm.set_data({"x": np.ones(n), "y_data": np.ones(n)}, model=model)
        model.log_density()
    assert len(model.cache) <= 10


def test_observed_values_that_no_longer_fit_new_data() -> None:
    with pm.Model(coords={"obs": [1, 2, 3]}) as model:
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="obs")
        b = pm.Normal("b")
        pm.Normal("y", b * x, 1, observed=[1.0, 2.0, 3.0], dims="obs")
    pm.set_data({"x": [1.0, 2.0]}, model=model, coords={"obs": ["u", "v"]})
    with pytest.raises(pm.ShapeError, match="`3` is 3 and `obs` is 2"):
        model.log_density()
    tree = pm.sample_prior_predictive(4, model, random_seed=1)
    assert tree.prior_predictive["y"].shape == (1, 4, 2)
    assert tree.prior_predictive["obs"].values.tolist() == ["u", "v"]
    assert "observed_data" not in tree.children


def test_vectors_of_probabilities_as_data() -> None:
    with pm.Model() as model:
        p = pm.Data("p", [0.2, 0.8])
        pm.Normal("x")
        pm.Categorical("y", p, observed=[0, 1, 1])
    expected = np.log([0.2, 0.8, 0.8]).sum() - 0.5 * np.log(2 * np.pi)
    assert model.compile_logp()({"x": 0.0}) == pytest.approx(expected)
    model.set_data("p", [0.2, 0.9])
    with pytest.raises(pm.ParameterError, match="`y`: its parameter `p` must be numbers >= 0 that sum to 1"):
        model.log_density()
    model.set_data("p", [0.2, 0.3, 0.5])
    assert model.compile_logp()({"x": 0.0}) == pytest.approx(np.log([0.2, 0.3, 0.3]).sum() - 0.9189385332)
    model.set_data("p", [1.0])
    with pytest.raises(pm.SupportError, match=r"got 1 \(element 1\)"):
        model.log_density()


def test_dims_and_labels_come_from_labelled_data() -> None:
    pd = pytest.importorskip("pandas")
    xr = pytest.importorskip("xarray")
    frame = pd.DataFrame(np.eye(2), index=pd.Index(["a", "b"], name="row"), columns=pd.Index([1, 2], name="column"))
    array = xr.DataArray(np.zeros((2, 3)), dims=("row", "free"), coords={"row": ["a", "b"]})
    with pm.Model() as model:
        pm.Data("frame", frame, infer_dims_and_coords=True)
        pm.Data("array", array, infer_dims_and_coords=True)
        pm.Data("series", frame[1], infer_dims_and_coords=True)
        with pytest.raises(pm.ShapeError, match="whose index and columns have names"):
            pm.Data("plain", pd.DataFrame(np.eye(2)), infer_dims_and_coords=True)
    assert model.named_vars_to_dims == {"frame": ("row", "column"), "array": ("row", "free"), "series": ("row",)}
    assert model.coords == {"row": ("a", "b"), "column": (1, 2), "free": None}


def test_a_shared_variable_may_stand_in_a_model() -> None:
    """It is no data of the model, but its value of the moment counts."""
    weights = pt.shared(np.arange(3.0), "weights")
    with pm.Model() as model:
        slope = pm.Normal("slope")
        pm.Normal("y", slope * weights, 1.0, observed=np.ones(3))
        tree = pm.sample(
            draws=20, tune=20, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False
        )
    assert tree.posterior.sizes["draw"] == 20
    before = model.compile_logp()({"slope": 0.3})
    weights.set_value(np.ones(3))
    residuals = np.ones(3) - 0.3
    density = -0.5 * (0.3**2 + residuals @ residuals) - 4 * 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(model.compile_logp()({"slope": 0.3}), density)
    assert before != density


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([1, 2, 3], object), "int64"),
        (np.array([1, np.int8(2), True], object), "int64"),
        (np.array([0.5, 1, Decimal("2.5")], object), "float64"),
        (np.array([True, False], object), "bool"),
        ([False, True], "bool"),
        (np.array([1, None], object), "float64"),
    ],
)
def test_objects_that_are_numbers_are_data(values: Any, dtype: str) -> None:
    with pm.Model() as model:
        assert pm.Data("x", values).dtype == dtype
    wanted = [np.nan if v is None else float(v) for v in values]
    np.testing.assert_array_equal(model.get_data("x").astype(float), wanted)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["low", "high"], r"they hold texts such as 'low'\. `codes, labels = pandas\.factorize"),
        (np.array([1.0, "high"], object), "they hold texts such as 'high'"),
        (np.array(["2024-01-01", "2024-02-01"], "datetime64[D]"), r"they are dates such as 2024-01-01\. .* `coords`"),
        ([date(2024, 1, 1)], r"they are dates such as .*np\.datetime64\('2020-01-01'\)\) / np\.timedelta64\(1, 'D'\)"),
    ],
)
def test_texts_and_dates_are_refused_with_the_way_to_numbers(values: Any, message: str) -> None:
    with pm.Model(coords={"row": values}) as model:
        with pytest.raises(DtypeError, match=f"the data `x` must be an array of numbers: {message}"):
            pm.Data("x", values)
        y = pm.Normal("y", dims="row")
        with pytest.raises(DtypeError, match="must be an array of numbers"):
            pm.Normal("z", y, 1.0, observed=values)
    assert len(model.coords["row"] or ()) == len(values)


def test_data_of_a_result_may_be_changed_without_a_change_of_the_model() -> None:
    """Small data are copies; large ones that nobody can write to are those that the caller gave."""
    large = np.zeros(1 << 20)
    large.setflags(write=False)
    with pm.Model() as model:
        x = pm.Data("x", [1.0, 2.0])
        pm.Data("large", large)
        pm.Normal("y", x, 1.0)
        result = pm.sample_prior_predictive(2, random_seed=1)
    mine = result.constant_data["x"]
    mine[0] = 9.0
    assert mine.values.tolist() == [9.0, 2.0]
    assert model["x"].get_value().tolist() == [1.0, 2.0]
    assert np.shares_memory(result.constant_data["large"].values, large)
