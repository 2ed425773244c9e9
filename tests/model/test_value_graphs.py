"""Log densities as graphs and functions of chosen variables: SciPy's values, differences for derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import consilience as pm

Y = np.array([0.5, 1.0, 2.5])


def hierarchy() -> pm.Model:
    with pm.Model(coords={"group": ["a", "b", "c"]}) as model:
        mu = pm.Normal("mu", 1, 2)
        s = pm.HalfNormal("s", 1.5)
        z = pm.Normal("z", mu, 0.5, dims="group")
        pm.Deterministic("twice", 2 * z, dims="group")
        pm.Potential("fence", -(mu**2))
        pm.Normal("y", z, s, observed=Y, dims="group")
    return model


POINT = {"mu": 0.3, "s_log__": -0.2, "z": np.array([0.1, 0.4, 1.3])}
S = np.exp(-0.2)


def parts(jacobian: bool = True) -> dict[str, Any]:
    """The elementwise log density of each variable at POINT."""
    return {
        "mu": stats.norm(1, 2).logpdf(0.3),
        "s": stats.halfnorm(0, 1.5).logpdf(S) + (-0.2 if jacobian else 0.0),
        "z": stats.norm(0.3, 0.5).logpdf(POINT["z"]),
        "y": stats.norm(POINT["z"], S).logpdf(Y),
        "fence": -0.09,
    }


@pytest.mark.parametrize("jacobian", [True, False])
@pytest.mark.parametrize("chosen", [None, ["z"], "s", ["y", "mu"], ["fence", "s"], []])
@pytest.mark.parametrize("mode", [None, "reference", "FAST_RUN"])
def test_log_density_of_chosen_variables(jacobian: bool, chosen: Any, mode: str | None) -> None:
    """Named, or given as nodes; summed, or one array per variable in the order asked for."""
    model, expected = hierarchy(), parts(jacobian)
    names = ["mu", "s", "z", "y", "fence"] if chosen is None else [chosen] if isinstance(chosen, str) else chosen
    summed = model.compile_logp(chosen, jacobian=jacobian, mode=mode)(POINT)
    assert summed == pytest.approx(sum(np.sum(expected[name]) for name in names), rel=1e-12)
    if chosen is not None:
        nodes = [model[name] for name in names]
        assert model.compile_logp(nodes, jacobian=jacobian)(POINT) == summed
    each = model.compile_logp(chosen, jacobian, sum=False, mode=mode)(POINT)
    for name, array in zip(names, each, strict=True):
        np.testing.assert_allclose(array, expected[name], rtol=1e-12)


@pytest.mark.parametrize("chosen", [None, ["z"], ["s", "mu"], []])
def test_derivatives_equal_differences(chosen: Any) -> None:
    """Gradient and matrix of second derivatives along chosen variables, in the order asked for."""
    model = hierarchy()
    values = model.value_vars if chosen is None else [model.rvs_to_values[model[name]] for name in chosen]
    logp, slope = model.compile_logp(), model.compile_dlogp(chosen)
    curvature = model.compile_d2logp(chosen, negate_output=False)(POINT)
    flat = [(v.name, place) for v in values for place in np.ndindex(np.shape(POINT[v.name]))]

    def moved(name: str, place: tuple[int, ...], by: float) -> dict[str, Any]:
        array = np.array(POINT[name], float)
        array[place] += by
        return {**POINT, name: array}

    step = 1e-5
    differences = [(logp(moved(*at, step)) - logp(moved(*at, -step))) / (2 * step) for at in flat]
    np.testing.assert_allclose(slope(POINT), differences, rtol=1e-7, atol=1e-8)
    second = [(slope(moved(*at, step)) - slope(moved(*at, -step))) / (2 * step) for at in flat]
    np.testing.assert_allclose(curvature, np.array(second).reshape(len(flat), len(flat)), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(model.compile_d2logp(chosen)(POINT), -curvature)


def test_graphs_and_functions_of_them() -> None:
    """`logp` and its derivatives are expressions over `value_vars`; `compile_fn` compiles any of them."""
    model = hierarchy()
    mu, s, z = model.value_vars
    assert [v.name for v in model.value_vars] == ["mu", "s_log__", "z"]
    assert model.logp().eval({mu: 0.3, s: -0.2, z: POINT["z"]}) == pytest.approx(model.compile_logp()(POINT))
    fn = model.compile_fn({"prior": model.varlogp, "data": model.observedlogp + model.potentiallogp})
    assert sum(fn(POINT).values()) == pytest.approx(model.compile_logp()(POINT))
    assert fn(POINT)["data"] == pytest.approx(model.compile_fn(model.datalogp)(POINT))
    by_position = model.compile_fn(model.replace_rvs_by_values([model["twice"]]), inputs=[z], point_fn=False)
    np.testing.assert_allclose(by_position(POINT["z"])[0], 2 * POINT["z"])
    with pytest.raises(
        pm.ModelError, match=r"depends on `mu`, a random variable; write the graph over `model.value_vars`"
    ):
        model.compile_fn(model["twice"])


def test_views_of_the_variables_have_pymcs_names() -> None:
    model = hierarchy()
    assert model.rvs_to_values[model["s"]] is model.value_vars[1]
    assert model.rvs_to_values[model["y"]].eval().tolist() == Y.tolist()
    assert all(model.rvs_to_values[rv] is value for value, rv in model.values_to_rvs.items())
    assert (model.deterministics, model.potentials) == ([model["twice"]], [model["fence"]])
    assert model.rvs_to_transforms[model["mu"]] is None
    assert model.rvs_to_transforms[model["s"]].name == "log"
    names = [v.name for v in model.unobserved_value_vars[:3]]
    assert names == ["mu", "s_log__", "z"]
    assert len(model.unobserved_value_vars) == 5
    assert model.eval_rv_shapes() == {"mu": (), "s_log__": (), "s": (), "z": (3,)}
    assert (model.continuous_value_vars, model.discrete_value_vars) == (model.value_vars, [])


def test_discrete_variables_have_integer_values() -> None:
    with pm.Model() as model:
        k = pm.Poisson("k", 3.0)
        pm.Normal("x", k, 1)
    assert [v.dtype for v in model.value_vars] == ["int64", "float64"]
    assert [v.name for v in model.discrete_value_vars] == ["k"]
    point = model.initial_point()
    assert point["k"].dtype == np.int64
    expected = stats.poisson(3).logpmf(2) + stats.norm(2, 1).logpdf(1.5)
    assert model.compile_logp()({"k": 2, "x": 1.5}) == pytest.approx(expected)
    assert model.compile_logp()({"k": -1, "x": 1.5}) == -np.inf
    np.testing.assert_allclose(model.compile_dlogp()({"k": 2, "x": 1.5}), [0.5])
    assert model.point_logps(point)["x"] == pytest.approx(stats.norm(point["k"], 1).logpdf(point["x"]))


def test_models_without_free_variables_have_densities() -> None:
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=Y)
    expected = stats.norm().logpdf(Y).sum()
    assert model.point_logps() == {"y": pytest.approx(expected)}
    assert model.compile_logp()({}) == pytest.approx(expected)
    assert model.initial_point() == {}
    assert model.compile_dlogp()({}).shape == (0,)
    assert model.compile_d2logp()({}).shape == (0, 0)
    assert pm.Model().point_logps() == {}


def test_what_cannot_be_computed_has_no_probability() -> None:
    """A parameter out of range, and a matrix without factor, give -inf at a point, as in sampling."""
    with pm.Model() as model:
        s = pm.Normal("s")
        pm.Normal("x", 0, s)
        pm.MvNormal("m", np.zeros(2), cov=pm.math.stack([pm.math.stack([1.0, s]), pm.math.stack([s, 1.0])]))
    logp = model.compile_logp()
    assert np.isfinite(logp({"s": 0.5, "x": 0.0, "m": [0.0, 0.0]}))
    assert logp({"s": -0.5, "x": 0.0, "m": [0.0, 0.0]}) == -np.inf
    assert logp({"s": 2.0, "x": 0.0, "m": [0.0, 0.0]}) == -np.inf


def test_index_data_out_of_range_are_refused_at_a_point_as_in_sampling() -> None:
    with pm.Model() as model:
        i = pm.Data("i", [0, 1, 2])
        a = pm.Normal("a", shape=3)
        pm.Normal("y", a[i], 1, observed=Y)
    logp = model.compile_logp()
    point = model.initial_point()
    assert np.isfinite(logp(point))
    model.set_data("i", [0, 1, 7])
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        logp(point)
    with pytest.raises(IndexError, match="index 7"):
        model.compile_dlogp()(point)


def test_points_are_made_and_checked() -> None:
    model = hierarchy()
    with model:
        point = pm.Point({"mu": 0.3, "other": 1.0}, z=[1.0, 2.0, 3.0], filter_model_vars=True)
    assert {name: value.tolist() for name, value in point.items()} == {"mu": 0.3, "z": [1.0, 2.0, 3.0]}
    model.check_start_vals(POINT)
    with pytest.raises(pm.InitialPointError, match=r"(?s)not finite.*`s` has log density"):
        model.check_start_vals([POINT, {**POINT, "s_log__": 1000.0}])
    assert model.point_logps(POINT, round_vals=2)["mu"] == -1.67


def test_draws_from_the_prior_as_initial_point_depend_on_the_seed() -> None:
    with pm.Model() as model:
        pm.Normal("x", initval="prior")
    first, again, other = (model.initial_point(random_seed=seed)["x"] for seed in (1, 1, 2))
    assert first == again != other


def test_wrong_choices_are_refused() -> None:
    model = hierarchy()
    stranger = pm.Normal.dist(0, 1)
    for fn in (model.compile_logp, model.compile_dlogp, model.logp, model.dlogp):
        with pytest.raises(pm.ModelError, match=r"is not a .*of this model"):
            fn(stranger)
        with pytest.raises(TypeError, match="needs variables of the model or their names, got 3"):
            fn([3])
        with pytest.raises(KeyError, match="no variable `w`"):
            fn("w")
    with pytest.raises(pm.ModelError, match="not a free variable"):
        model.compile_dlogp(["y"])
    with pytest.raises(ValueError, match="`mode` must be one of 'llvm'"):
        model.compile_logp(mode="TPU")
    with pytest.raises(TypeError, match="no argument `jacobain`"):
        model.compile_logp(jacobain=False)
    assert model.compile_logp(on_unused_input="ignore", allow_input_downcast=True)(POINT) < 0


def test_report_of_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    """`debug` names what is not finite, in the density, its gradient, or when drawing."""
    model = hierarchy()
    model.debug(POINT)
    assert "z " in capsys.readouterr().out
    model.debug({**POINT, "s_log__": 1000.0}, verbose=True)
    assert "`s` has log density" in capsys.readouterr().out
    model.debug(fn="dlogp")
    assert "gradient" not in capsys.readouterr().out
    with model:
        pm.Flat("flat")
    model.debug(fn="random")
    assert "`flat` cannot be drawn" in capsys.readouterr().out
    with pytest.raises(ValueError, match="`fn` must be 'logp', 'dlogp' or 'random'"):
        model.debug(fn="grad")


@pytest.mark.parametrize("value", [np.nan, -2.0])
def test_report_of_a_start_outside_the_support(capsys: pytest.CaptureFixture[str], value: float) -> None:
    """`debug` reports an initial value that has no place on the line, where other calls refuse it."""
    with pm.Model() as model:
        spread = pm.HalfNormal("spread", 1.0, initval=value)
        pm.Normal("y", 0.0, spread, observed=[1.0, 2.0])
    with pytest.raises(pm.SupportError, match="`spread` is outside its support"):
        model.initial_point()
    for fn in ("logp", "dlogp"):
        model.debug(fn=fn)
        shown = capsys.readouterr().out
        assert f"the initial value of `spread` is outside its support: {value}" in shown
        assert "`y` has log density nan" in shown


def test_a_custom_log_density_that_is_a_scalar_counts_once() -> None:
    """It is the sum for the whole variable; partial shapes and truth values are refused by name."""

    def model(logp: Any, **named: Any) -> pm.Model:
        with pm.Model() as made:
            mu = pm.Normal("mu")
            pm.CustomDist("x", mu, logp=logp, observed=Y, **named)
        return made

    def elementwise(value: Any, mu: Any) -> Any:
        return -0.5 * (value - mu) ** 2

    expected = stats.norm().logpdf(0.3) + (-0.5 * (Y - 0.3) ** 2).sum()
    for formula in (elementwise, lambda v, mu: pm.math.sum(elementwise(v, mu))):
        made = model(formula)
        assert made.compile_logp()({"mu": 0.3}) == pytest.approx(expected)
        assert made.log_density()([0.3])[0] == pytest.approx(expected)
        assert made.point_logps({"mu": 0.3})["x"] == pytest.approx(expected - stats.norm().logpdf(0.3))
        with made:
            found = pm.compute_log_likelihood({"mu": np.array([[0.3, 0.4]])}, extend_inferencedata=False)
        first = found["x"][0, 0].sum()
        assert float(first) == pytest.approx(expected - stats.norm().logpdf(0.3))
    for wrong in (
        lambda v, mu: elementwise(v, mu)[:2],
        lambda v, mu: elementwise(v, mu)[:1],
        lambda v, mu: pm.math.sum(elementwise(v, mu), keepdims=True),
        lambda v, mu: elementwise(v, mu)[:, None],
    ):
        with pytest.raises(pm.ShapeError, match=r"CustomDist `x`: `logp` must give one number per event.* \(3,\)"):
            model(wrong).compile_logp()
    with pytest.raises(TypeError, match="`logp` must give numbers, got truth values"):
        model(lambda v, mu: v > mu).log_density()


def test_free_custom_variables_with_a_summed_density() -> None:
    with pm.Model() as model:
        pm.CustomDist("x", logp=lambda v: pm.math.sum(-(v**2)), shape=(2, 2))
        pm.CustomDist("n", logp=lambda v: pm.math.sum(-v), shape=3, dtype="int64")
    point = {"x": np.ones((2, 2)), "n": [1, 2, 3]}
    assert model.compile_logp()(point) == pytest.approx(-4 - 6)
