"""Models and data that make no sense: each is refused, in words that say what was needed and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError, ModelError

THREE = [1.0, 2.0, 3.0]


def test_data_of_another_shape_than_the_parameters() -> None:
    with pm.Model(), pytest.raises(pm.ShapeError, match=r"parameters of batch shape \(3,\) .* \(4,\)"):
        pm.Normal("y", np.zeros(3), 1, observed=np.zeros(4))


def test_data_of_another_shape_than_asked_for() -> None:
    with (
        pm.Model(),
        pytest.raises(pm.ShapeError, match=r"`observed` of `y` has shape \(3,\), .* shape \(4,\)"),
    ):
        pm.Normal("y", 0, 1, shape=4, observed=THREE)


def test_parameters_of_two_shapes() -> None:
    with pm.Model(), pytest.raises(pm.ShapeError, match=r"Normal: shapes \(3,\), \(4,\) do not broadcast"):
        pm.Normal("x", np.zeros(3), np.ones(4))


def test_data_lengths_that_first_meet_in_the_model() -> None:
    with pm.Model() as model:
        x, y = pm.Data("x", np.zeros(3)), pm.Data("y", np.zeros(4))
        pm.Normal("z", (x + y).sum(), 1)
    with pytest.raises(pm.ShapeError, match=r"`x.shape\[0\]` is 3 and `y.shape\[0\]` is 4"):
        model.log_density()
    model.set_data("y", np.ones(3))
    assert model.log_density().dimension == 1


def test_unknown_dimension() -> None:
    with (
        pm.Model(coords={"a": [1]}),
        pytest.raises(pm.ModelError, match=r"`dims` names the dimension `b`, which is unknown; the model has `a`"),
    ):
        pm.Normal("x", dims="b")


def test_unknown_dimension_of_a_deterministic_says_whose() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", shape=3)
        with pytest.raises(pm.ModelError, match=r"axis 0 of `d` names the dimension `b`, which is unknown"):
            pm.Deterministic("d", 2 * x, dims="b")
    assert list(model.named) == ["x"]


def test_length_other_than_the_dimension_s() -> None:
    with pm.Model(coords={"a": [1, 2]}):
        with pytest.raises(pm.ShapeError, match=r"axis 0 of `d` has length 3, .* `a` has length 2"):
            pm.Normal("d", shape=3, dims="a")
        with pytest.raises(pm.ShapeError, match=r"2"):
            pm.Normal("y", 0, 1, observed=THREE, dims="a")
        with pytest.raises(pm.ShapeError, match=r"axis 0 of the data `w` has length 3, .* `a` has length 2"):
            pm.Data("w", THREE, dims="a")


def test_number_of_dims_other_than_of_axes() -> None:
    with pm.Model(coords={"a": [1, 2, 3]}):
        x = pm.Normal("x", shape=3)
        with pytest.raises(pm.ShapeError, match=r"`d` has 1 axes of lengths \(3,\), but 2 dims"):
            pm.Deterministic("d", x, dims=("a", "a"))
        with pytest.raises(pm.ShapeError, match=r"the data `w` have 1 axes of shape \(3,\), but 2 dims"):
            pm.Data("w", THREE, dims=("a", None))


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        ({"a/b": [1, 2]}, "needs a name without a slash, got 'a/b'"),
        ({"a": np.zeros((2, 2))}, r"must be one-dimensional, got shape \(2, 2\)"),
        ({"a": 3}, "must be a sequence such as a list or an array, got 3"),
        ({"a": None}, "the dimension `a` needs labels or a length"),
        ({"chain": [1]}, "`chain` names an axis of every result"),
        ({"draw": [1]}, "`draw` names an axis of every result"),
    ],
)
def test_coordinates_without_meaning(coords: dict[str, object], message: str) -> None:
    with pytest.raises(pm.ModelError, match=message):
        pm.Model(coords=coords)


def test_dimension_given_twice_with_other_labels() -> None:
    model = pm.Model(coords={"a": [1, 2]})
    model.add_coord("a", [1, 2])
    with pytest.raises(pm.ModelError, match="`a` exists already, with other labels"):
        model.add_coord("a", [3, 4])
    with pytest.raises(pm.ModelError, match="`a` exists already, with length 2"):
        model.add_coord("a", length=3)
    with pytest.raises(pm.ModelError, match="must be an integer >= 0, got -1"):
        model.add_coord("b", length=-1)


@pytest.mark.parametrize("again", [pm.Normal, pm.HalfNormal])
def test_names_are_unique(again: type) -> None:
    with pm.Model() as model:
        x = pm.Normal("x")
        for declare in (
            lambda: again("x"),
            lambda: pm.Deterministic("x", x),
            lambda: pm.Potential("x", x),
            lambda: pm.Data("x", [1]),
        ):
            with pytest.raises(pm.ModelError, match="`x` already exists"):
                declare()
    assert len(model.free) == 1


def test_name_of_a_dimension_is_no_name_of_a_variable() -> None:
    with pm.Model(coords={"a": [1]}), pytest.raises(pm.ModelError, match="`a` is a dimension"):
        pm.Normal("a")


def test_refused_variable_leaves_no_trace() -> None:
    with pm.Model() as model:
        with pytest.raises(pm.SupportError):
            pm.Poisson("y", 1.0, observed=[-1])
        pm.Poisson("y", 1.0, observed=[1])
    assert [v.name for v in model.observed] == ["y"]


def test_variable_without_a_name() -> None:
    with pm.Model():
        with pytest.raises(TypeError, match="first argument is the variable's name"):
            pm.Normal(0, 1)
        with pytest.raises(pm.ModelError, match="needs a name as its first argument, got ''"):
            pm.Normal("")


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (
            lambda: pm.HalfNormal("y", 1, observed=[1.0, -2.0]),
            r"HalfNormal must be >= 0, got -2.0 \(element 1\)",
        ),
        (lambda: pm.Beta("y", 1, 1, observed=[0.5, 1.5]), r"got 1\.5"),
        (lambda: pm.Bernoulli("y", 0.5, observed=[0, 2]), r"got 2"),
        (lambda: pm.Binomial("y", 5, 0.5, observed=[3, 6]), r"got 6"),
        (lambda: pm.Categorical("y", [0.5, 0.5], observed=[0, 1, 2]), r"got 2"),
        (lambda: pm.Poisson("y", 3, observed=[1.5]), r"`y`: 1 of 1 values are not whole, the first is 1\.5"),
        (lambda: pm.Dirichlet("y", [1, 1, 1], observed=[0.5, 0.5, 0.5]), r"sum to 1"),
        (lambda: pm.Uniform("y", 0, 1, observed=2.0), r"got 2\.0"),
        (lambda: pm.Normal("y", 0, 1, observed=[1.0, np.inf]), r"a finite number, got inf"),
    ],
)
def test_observed_values_outside_the_support(declare: object, message: str) -> None:
    assert callable(declare)
    with pm.Model(), pytest.raises(pm.SupportError, match=message):
        declare()


def test_observed_values_outside_a_support_that_data_bound() -> None:
    with pm.Model() as model:
        n = pm.Data("n", [3, 5])
        p = pm.Beta("p", 1, 1)
        pm.Binomial("y", n, p, observed=[3, 4])
    assert model.log_density() is not None
    model.set_data("n", [3, 3])
    with pytest.raises(pm.SupportError, match=r"`observed` of `y`: values of Binomial .* got 4 \(element 1\)"):
        model.log_density()


def test_observed_data_outside_the_support() -> None:
    with pm.Model() as model:
        y = pm.Data("y_data", [1, 2])
        rate = pm.Exponential("rate", 1)
        pm.Poisson("y", rate, observed=y)
    model.set_data("y_data", [1, -2])
    with pytest.raises(pm.SupportError, match=r"got -2 \(element 1\)"):
        model.log_density()


def test_not_a_number_among_observed_data() -> None:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1, observed=pm.Data("y_data", [1.0, np.nan]))
    with pytest.raises(pm.SupportError, match=r"`observed` of `y`: .* got nan \(element 1\)"):
        model.log_density()


def test_not_a_number_among_covariates() -> None:
    with pm.Model():
        x = pm.Data("x", [1.0, np.nan, 2.0])
        b = pm.Normal("b")
        pm.Normal("y", b * x, 1, observed=THREE)
        with pytest.raises(pm.InitialPointError) as caught:
            pm.sample(random_seed=1, progressbar=False)
    text = str(caught.value)
    assert "`y` has log density nan at (1,) (1 of 3 elements are not finite)" in text
    assert "the data `x` hold 1 values that are not finite, the first at (1,)" in text


def test_masked_values_are_no_data() -> None:
    with pm.Model():
        with pytest.raises(pm.SupportError, match=r"`x` has masked values; .* go to `observed=`"):
            pm.Data("x", np.ma.masked_array(THREE, mask=[False, True, False]))
        pm.Normal("whole", 0, 1, observed=np.ma.masked_array(THREE, mask=False))


@pytest.mark.parametrize("values", [["a", "b"], [1 + 2j], [object()], [[1.0], [1.0, 2.0]]])
def test_data_that_are_no_numbers(values: list[object]) -> None:
    with pm.Model():
        with pytest.raises(TypeError, match="`x` must be an array of numbers"):
            pm.Data("x", values)
        with pytest.raises((TypeError, ValueError), match=r"`y` must be an array of numbers"):
            pm.Normal("y", 0, 1, observed=values)


def test_expression_of_random_variables_is_no_data() -> None:
    with pm.Model():
        x = pm.Normal("x")
        with pytest.raises(TypeError, match="must be data, got an expression with random or free parts"):
            pm.Normal("y", 0, 1, observed=2 * x)
        with pytest.raises(TypeError, match="must be numbers, got an expression"):
            pm.Data("z", x)


def test_negative_sigma_as_a_number() -> None:
    with pm.Model(), pytest.raises(pm.ParameterError, match=r"Normal: sigma must be > 0, got -1"):
        pm.Normal("x", 0, -1)
    with pm.Model(), pytest.raises(pm.ParameterError, match=r"sigma must be > 0, got 0\.0 \(element 1\)"):
        pm.Normal("y", 0, [1.0, 0.0], observed=[1.0, 2.0])


def test_negative_sigma_as_data() -> None:
    with pm.Model() as model:
        sigma = pm.Data("sigma", [1.0, 2.0])
        mu = pm.Normal("mu")
        pm.Normal("y", mu, sigma, observed=[1.0, 2.0])
    assert model.log_density() is not None
    model.set_data("sigma", [1.0, -2.0])
    with pytest.raises(pm.ParameterError, match=r"`y`: its parameter `sigma` must be > 0"):
        model.log_density()
    with pytest.raises(pm.ParameterError, match=r"`y`: its parameter `sigma` must be > 0"), model:
        pm.sample(random_seed=1, progressbar=False)
    with pytest.raises(pm.ParameterError, match=r"`y`: its parameter `sigma` must be > 0"), model:
        pm.sample_prior_predictive(random_seed=1)


def test_constant_covariance_that_is_not_positive_definite() -> None:
    message = r"cov must be symmetric and positive definite, but its least eigenvalue is -1"
    with pm.Model(), pytest.raises(pm.ParameterError, match=message):
        pm.MvNormal("x", np.zeros(2), cov=[[1.0, 2.0], [2.0, 1.0]])


def test_covariance_of_data_that_is_not_positive_definite() -> None:
    with pm.Model():
        covariance = pm.Data("covariance", [[1.0, 2.0], [2.0, 1.0]])
        mu = pm.Normal("mu")
        pm.MvNormal("y", [mu, mu], cov=covariance, observed=[1.0, 2.0])
        with pytest.raises(pm.ConsilienceError, match=r"(?i)positive definite"):
            pm.sample(random_seed=1, progressbar=False)


def test_start_without_density_names_the_variable_its_value_and_its_parents() -> None:
    with pm.Model():
        mu = pm.Normal("mu", 0, 1)
        s = pm.HalfNormal("s", 2.0)
        pm.Normal("y", mu, s - 50, observed=[1.0, 2.0])
        with pytest.raises(pm.InitialPointError) as caught:
            pm.sample(random_seed=1, progressbar=False)
    text = str(caught.value)
    assert "`y` has log density nan at (0,) (2 of 2 elements are not finite)" in text
    assert "its value is [1. 2.]" in text
    assert "mu (`mu`) = 0" in text or "mu = 0" in text
    assert "sigma = -" in text
    assert "of `s` = " in text
    assert "`initvals=`" in text


def test_potential_without_a_value_is_named() -> None:
    with pm.Model():
        x = pm.Normal("x")
        pm.Potential("fence", pm.math.log(x - 100))
        with pytest.raises(pm.InitialPointError, match=r"(?s)the potential `fence` is nan.*of `x` = 0"):
            pm.sample(random_seed=1, progressbar=False)


def test_discrete_free_variables_have_no_derivatives() -> None:
    with pm.Model() as model:
        pm.Poisson("n", 3)
        pm.Normal("x")
    logp, gradient = model.log_density()(np.array([2.0, 1.0]))
    assert logp == pytest.approx(model.compile_logp()({"n": 2, "x": 1.0}))
    np.testing.assert_allclose(gradient, [0.0, -1.0])
    with pytest.raises(pm.ModelError, match="`n` is discrete"):
        model.compile_dlogp("n")
    assert model.compile_logp()({"n": 2, "x": 0.0}) == pytest.approx(2 * np.log(3) - 3 - np.log(2) - 0.9189385332)
    assert model.compile_logp()({"n": -2, "x": 0.0}) == -np.inf


def test_no_free_variables() -> None:
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=THREE)
        with pytest.raises(pm.ModelError, match="no free variables"):
            pm.sample(random_seed=1, progressbar=False)
    with pytest.raises(pm.ModelError, match="no free variables"):
        model.log_density()


def test_points_must_be_complete() -> None:
    with pm.Model() as model:
        pm.Normal("x", shape=2)
        pm.HalfNormal("s")
    logp = model.compile_logp()
    with pytest.raises(pm.ModelError, match=r"no value for `s_log__`; it needs \['x', 's_log__'\]"):
        logp({"x": [0.0, 0.0]})
    with pytest.raises(pm.ModelError, match=r"unknown entries \['s'\]"):
        logp({"x": [0.0, 0.0], "s": 1.0})
    with pytest.raises(pm.ShapeError, match=r"`x` needs shape \(2,\), got \(\)"):
        logp({"x": 0.0, "s_log__": 0.0})
    with pytest.raises(pm.ShapeError, match=r"3 coordinates was needed, got shape \(2,\)"):
        model.log_density()([0.0, 0.0])


def test_variables_of_another_model() -> None:
    with pm.Model(model=None):
        stranger = pm.Normal("stranger")
    with pm.Model() as model:
        pm.Normal("x", stranger, 1)
    with pytest.raises(pm.ModelError, match=r"depends on `stranger`, a random variable that is not a variable"):
        model.log_density()


@pytest.mark.parametrize("name", ["chain", "draw"])
def test_names_of_the_axes_of_results_name_no_variable(name: str) -> None:
    with pm.Model():
        for declare in (pm.Normal, lambda n: pm.Data(n, THREE), lambda n: pm.Deterministic(n, np.ones(3))):
            with pytest.raises(pm.ModelError, match=f"`{name}` names an axis of every result"):
                declare(name)


def test_names_with_a_slash_are_refused() -> None:
    with pm.Model(), pytest.raises(pm.ModelError, match="'a/b' has a slash"):
        pm.Normal("a/b")


def test_a_dimension_twice_is_refused_at_definition() -> None:
    with pm.Model(coords={"o": [1, 2]}) as model:
        x = pm.Normal("x", shape=(2, 2))
        for declare in (
            lambda: pm.Normal("c", dims=("o", "o")),
            lambda: pm.Deterministic("c", x, dims=("o", "o")),
            lambda: pm.Data("c", np.eye(2), dims=("o", "o")),
        ):
            with pytest.raises(pm.ModelError, match="`c` has the dimension `o` twice"):
                declare()
    assert list(model.named) == ["x"]


def test_generated_names_of_axes_belong_to_their_variable() -> None:
    """`a_dim_0` is what results call the axis of `a`, whichever of the two comes first."""
    with pm.Model(coords={"b_dim_0": [1]}):
        pm.Normal("a", shape=3)
        with pytest.raises(pm.ModelError, match="`a_dim_0` is what results call an axis of `a`; give the variable"):
            pm.Normal("a_dim_0")
        with pytest.raises(pm.ModelError, match="`a_dim_0` is what results call an axis of `a`; give the dimension"):
            pm.modelcontext().add_coord("a_dim_0", [1, 2])
        pm.Normal("a_dim_1")
        with pytest.raises(pm.ModelError, match="results call an axis of `b` `b_dim_0`"):
            pm.Normal("b", shape=3)
        pm.Normal("b")
        pm.Normal("c_dim_0")
        with pytest.raises(pm.ModelError, match="results call an axis of `c` `c_dim_0`"):
            pm.Data("c", THREE)


def test_dimension_named_as_a_variable_is_refused() -> None:
    with pm.Model() as model:
        pm.Normal("x")
        with pytest.raises(pm.ModelError, match="`x` is a variable of the model"):
            model.add_coord("x", [1])


def test_labels_may_occur_twice() -> None:
    with pm.Model(coords={"a": ["u", "u", "v"]}):
        x = pm.Normal("x", dims="a")
        pm.Normal("y", x, 1, observed=THREE, dims="a")
        tree = pm.sample(20, tune=20, chains=2, random_seed=1, progressbar=False, compute_convergence_checks=False)
    assert tree.posterior["a"].values.tolist() == ["u", "u", "v"]
    assert pm.summary(tree, kind="stats").labels == ("x[u]", "x[u]", "x[v]")


@pytest.mark.parametrize("shape", [2.5, "3", -1, (2, 1.5), None.__class__, True])
def test_shapes_are_whole_numbers(shape: object) -> None:
    with pm.Model(), pytest.raises(pm.ShapeError, match=r"Normal: `shape` must be"):
        pm.Normal("x", shape=shape)
    with pytest.raises(pm.ShapeError, match=r"Normal: `size` must be"):
        pm.Normal.dist(size=shape)


def test_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(pm.ShapeError, match="MvNormal: mu has 3 elements, but cov is 2 x 2"):
        pm.MvNormal.dist(np.zeros(3), cov=np.eye(2))
    with pytest.raises(pm.ShapeError, match=r"square.*, got 2 x 3"):
        pm.MvNormal.dist(np.zeros(3), chol=np.eye(2, 3))
    upper = np.array([[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(pm.ParameterError, match=r"numbers above the diagonal \(`lower=False`"):
        pm.MvNormal.dist(np.zeros(2), chol=upper)
    value = np.array([0.3, -0.2])
    of_upper = pm.logp(pm.MvNormal.dist(np.zeros(2), chol=upper, lower=False), value).eval()
    np.testing.assert_allclose(of_upper, pm.logp(pm.MvNormal.dist(np.zeros(2), chol=upper.T), value).eval())


def test_a_condition_is_no_potential() -> None:
    with pm.Model():
        x = pm.Normal("x")
        with pytest.raises(TypeError, match=r"potential `p` must be a log density.*pt\.where"):
            pm.Potential("p", x > 0)


def test_variables_without_elements_leave_nothing_to_infer() -> None:
    with pm.Model() as model:
        pm.Normal("x", shape=0)
    with pytest.raises(pm.ModelError, match=r"free variables have no elements \(`x`\)"):
        pm.sample(model=model, progressbar=False)


def test_variables_larger_than_the_memory_are_named() -> None:
    with pm.Model(), pytest.raises(ModelError, match=r"`beyond` has the shape .*: more elements than any memory holds"):
        pm.Normal("beyond", shape=10**13)
    with pm.Model():
        pm.Normal("small", shape=3)
        pm.Normal("huge", shape=5 * 10**10)
        with pytest.raises(MemoryError, match="the largest variable is `huge` with 50,000,000,000 elements"):
            pm.sample(progressbar=False)
        with pytest.raises(MemoryError, match="the largest variable is `huge`"):
            pm.sample_prior_predictive(10)


def test_step_methods_take_variables_first_and_settings_by_name() -> None:
    with pm.Model():
        x = pm.Normal("x")
        for kernel in (pm.NUTS, pm.HamiltonianMC, pm.Metropolis):
            assert kernel([x]).vars == kernel("x").vars == ("x",)
            with pytest.raises(pm.SamplingError, match=r"takes variables or their names first.*settings by name"):
                kernel(0.9)


@pytest.mark.parametrize(
    "of",
    [
        lambda: pm.Censored("x", pm.Normal.dist(0.0, 1.0), -1.0, 1.0),
        lambda: pm.HurdleGamma("x", 0.5, 2.0, 1.0),
        lambda: pm.CustomDist("x", 0.0, dist=lambda mu, size: pm.math.clip(pm.Normal.dist(mu, 1.0, size=size), -1, 1)),
    ],
)
def test_free_variables_with_values_of_positive_probability_are_drawn_but_not_sampled(of: Callable[[], Any]) -> None:
    with pm.Model() as model:
        of()
    assert np.isfinite(pm.sample_prior_predictive(20, model=model, random_seed=1).prior["x"]).all()
    for sampled in (lambda: pm.sample(10, model=model, progressbar=False), model.log_density):
        with pytest.raises(pm.ModelError, match=r"`x` .* positive probability .* `pm\.observe`; .* `pm\.Truncated`"):
            sampled()
    seen = pm.observe(model, {"x": 1.0})
    assert np.isfinite(seen.compile_logp()({}))


@pytest.mark.parametrize(
    ("make", "error", "message", "notes"),
    [
        (
            lambda: pm.Normal("y", pm.Normal("mu", shape=3), observed=np.zeros(10)),
            pm.ShapeError,
            r"batch shape \(3,\) do not fit the shape \(10,\)",
            ["This is the variable `y`.", "Its data (`observed`) have the shape (10,)."],
        ),
        (lambda: pm.Uniform("u", 1, 0), pm.ParameterError, "upper must be > lower", ["This is the variable `u`."]),
        (lambda: pm.Gamma("g", 1), TypeError, r"accepts the parameters .* got alpha", ["This is the variable `g`."]),
        (lambda: pm.Normal("a", shape=2)[["x", "z"]], DtypeError, r"'x'.* `codes, labels = pandas\.fact", []),
        (
            lambda: pm.Normal("b") * np.array(["2020-01-02"], "datetime64[D]"),
            DtypeError,
            r"\(dates - dates\.min\(\)\) / numpy\.timedelta64\(1, 'D'\)",
            [],
        ),
        (lambda: pm.Normal("a", shape=3)[[1, 2, 3]], IndexError, r"index 3 .* `a` .*; places are counted from 0\.", []),
        (lambda: pm.Normal("a", shape=3)[[1, 4]], IndexError, r"index 4 is outside axis 0 of length 3: `a`[^;]*$", []),
        (lambda: f"{pm.Normal('a'):.2f}", TypeError, r"no number to be written by '\.2f'.*`x\.eval\(\)`", []),
        (
            lambda: pm.Normal("b", shape=2).__setitem__(0, 0.0),
            TypeError,
            r"nothing is written into: `b = b\[…\]\.set\(value\)` .* `b\[…\]\.inc\(value\)`",
            [],
        ),
    ],
)
def test_mistakes_of_everyday_are_told_with_the_next_step(
    make: Callable[[], Any], error: type[Exception], message: str, notes: list[str]
) -> None:
    """Which variable, what came, and what to write; the notes are what the screen shows below the message."""
    with pm.Model(), pytest.raises(error, match=message) as raised:
        make()
    shown = getattr(raised.value, "__notes__", [])
    assert len(shown) == len(notes)
    assert all(one.startswith(start) for one, start in zip(shown, notes, strict=True))


def test_elements_are_set_as_the_message_says() -> None:
    """`b[0] = 0` becomes `b = b[0].set(0)`."""
    b = pt.as_tensor([1.0, 2.0])
    np.testing.assert_array_equal(b[0].set(0.0).eval(), [0.0, 2.0])
    np.testing.assert_array_equal(b[0].inc(5.0).eval(), [6.0, 2.0])
    assert f"{b}" == str(b)
