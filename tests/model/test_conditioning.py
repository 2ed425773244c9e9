"""Models made from models: what `do` and `observe` leave, and that the old model stays as it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import consilience as pm
from consilience.model.freezing import freeze_dims_and_data


def chain() -> pm.Model:
    """x -> y -> z, with data and a bounded variable whose bounds depend on x."""
    with pm.Model(coords={"i": [1, 2]}) as model:
        w = pm.Data("w", [1.0, 2.0], dims="i")
        x = pm.Normal("x", 0, 1)
        y = pm.Normal("y", x, 1, dims="i")
        pm.Deterministic("d", y * w, dims="i")
        pm.Uniform("u", x, x + 1)
        pm.Normal("z", y + w, 1, observed=[0.5, 1.5], dims="i")
    return model


def test_do_cuts_what_acts_on_a_variable() -> None:
    old = chain()
    text = repr(old)
    new = pm.do(old, {"y": [3.0, 4.0]})
    assert [v.name for v in new.free] == ["x", "u_interval__"[:1]]
    assert list(new.data) == ["w", "y"]
    expected = stats.norm().logpdf(0.2) + np.log(0.25) + stats.norm([4.0, 6.0], 1).logpdf([0.5, 1.5]).sum()
    assert new.compile_logp()({"x": 0.2, "u_interval__": 0.0}) == pytest.approx(expected)
    new.set_data("y", [0.0, 0.0])
    assert new.compile_logp(["z"])({"x": 0.2, "u_interval__": 0.0}) == pytest.approx(
        stats.norm([1.0, 2.0], 1).logpdf([0.5, 1.5]).sum()
    )
    assert repr(old) == text
    prior = pm.sample_prior_predictive(3, new, random_seed=1)
    np.testing.assert_array_equal(prior.prior["d"], np.zeros((1, 3, 2)))


def test_do_with_an_expression_makes_a_deterministic() -> None:
    old = chain()
    new = pm.do(old, {old["y"]: old["x"] + [1.0, 2.0]})
    assert list(new.named_deterministics) == ["y", "d"]
    draws = pm.sample_prior_predictive(5, new, random_seed=1).prior
    np.testing.assert_allclose(draws["y"], draws["x"].values[..., None] + [1.0, 2.0])
    np.testing.assert_allclose(draws["d"], draws["y"] * [1.0, 2.0])
    constant = pm.do(old, {"y": [1.0, 2.0]}, make_interventions_shared=False)
    assert list(constant.named_deterministics) == ["y", "d"]


def test_do_and_prune_keeps_what_the_data_depend_on() -> None:
    new = pm.do(chain(), {"y": [3.0, 4.0]}, prune_vars=True)
    assert list(new.named) == ["w", "y", "z"]


def test_do_nothing_is_a_copy_of_equal_density() -> None:
    old = chain()
    new = pm.do(old, {})
    point = {"x": 0.2, "y": [0.1, 0.3], "u_interval__": 0.4}
    assert new.compile_logp()(point) == old.compile_logp()(point)
    with new:
        pm.Normal("more")
    assert "more" not in old


def test_observed_variables_are_free_no_more() -> None:
    old = chain()
    new = pm.observe(old, {"x": 0.5, old["y"]: [1.0, 2.0]})
    assert [v.name for v in new.free] == ["u"]
    assert [v.name for v in new.observed] == ["x", "y", "z"]
    expected = (
        stats.norm().logpdf(0.5)
        + stats.norm(0.5, 1).logpdf([1.0, 2.0]).sum()
        + np.log(0.25)
        + stats.norm([2.0, 4.0], 1).logpdf([0.5, 1.5]).sum()
    )
    assert new.compile_logp()({"u_interval__": 0.0}) == pytest.approx(expected)


def test_predictions_after_an_intervention() -> None:
    """The posterior of x is that of the old model; y is what was set."""
    old = chain()
    trace = {"x": np.zeros((1, 4)), "y": np.zeros((1, 4, 2)), "u": np.full((1, 4), 0.5)}
    with pm.do(old, {"y": [100.0, 200.0]}):
        tree = pm.sample_posterior_predictive(trace, var_names=["z"], random_seed=1)
    np.testing.assert_allclose(tree.posterior_predictive["z"].mean(("chain", "draw")), [101, 202], atol=3)


def test_an_intervention_may_depend_on_the_variable_itself() -> None:
    """The variable stays; what it acted on sees `do_x`, with its dims, as in PyMC."""
    with pm.Model(coords={"row": [1, 2]}) as old:
        x = pm.Normal("x", dims="row")
        s = pm.Normal("s")
        pm.Deterministic("d", x + s, dims="row")
        pm.Normal("y", x, 1.0, observed=[1.0, 2.0], dims="row")
    new = pm.do(old, {"x": x * s})
    assert [v.name for v in new.free] == ["x", "s"]
    assert list(new.named) == ["x", "do_x", "s", "d", "y"]
    assert new.named_vars_to_dims["do_x"] == ("row",)
    point = {"x": np.array([0.3, -0.2]), "s": np.array(0.5)}
    wanted = stats.norm.logpdf([0.3, -0.2, 0.5]).sum() + stats.norm(0.5 * point["x"]).logpdf([1.0, 2.0]).sum()
    assert new.compile_logp()(point) == pytest.approx(wanted)
    found = pm.compute_deterministics({n: v[None, None] for n, v in point.items()}, model=new)
    np.testing.assert_allclose(found["d"][0, 0], 0.5 * point["x"] + 0.5)
    again = pm.do(old, {"x": 2 * x, "s": 1.0}, prune_vars=True)
    assert [v.name for v in again.free] == ["x"]
    assert list(again.named) == ["x", "do_x", "y"]
    assert old.compile_logp()(point) == pytest.approx(
        stats.norm.logpdf([0.3, -0.2, 0.5]).sum() + stats.norm(point["x"]).logpdf([1.0, 2.0]).sum()
    )
    with new, pytest.raises(pm.ModelError, match="called `do_x`, which the model has already"):
        pm.do(new, {"x": new["x"] * 2})


def test_observed_variables_and_deterministics_with_a_density_may_be_observed() -> None:
    """Of normal values cut at -1 and 1 those at the ends are as likely as all beyond."""
    with pm.Model() as old:
        x = pm.Normal("x")
        cut = pm.Deterministic("cut", pm.math.clip(pm.Normal.dist(x, shape=4), -1, 1))
        pm.Deterministic("later", cut + x)
        pm.Normal("y", x, 1.0, observed=[1.0, 2.0], total_size=4)
    data = [0.9, 0.5, 1.0, -1.0]
    new = pm.observe(old, {cut: data, "y": [3.0, 4.0]})
    assert [v.name for v in new.observed] == ["cut", "y"]
    normal = stats.norm(0.3)
    wanted = stats.norm.logpdf(0.3) + normal.logpdf([0.9, 0.5]).sum() + normal.logsf(1.0) + normal.logcdf(-1.0)
    wanted += 2 * normal.logpdf([3.0, 4.0]).sum()
    assert new.compile_logp()({"x": 0.3}) == pytest.approx(wanted)
    drawn = pm.sample_prior_predictive(200, model=new, random_seed=1)
    assert float(abs(drawn.prior_predictive["cut"]).max()) == 1.0
    np.testing.assert_allclose(
        drawn.prior["later"], drawn.prior_predictive["cut"].to_numpy() + drawn.prior["x"].to_numpy()[..., None]
    )
    assert np.isneginf(pm.observe(old, {"cut": [0.9, 0.5, 2.0, 0.0]}).compile_logp()({"x": 0.3}))


def test_what_cannot_be_set_or_observed_is_refused() -> None:
    old = chain()
    with pytest.raises(pm.ModelError, match="interventions on `x` make variables depend on themselves"):
        pm.do(old, {"x": old["y"].sum()})
    with pytest.raises(pm.ModelError, match="is not a named variable"):
        pm.do(old, {pm.Normal.dist(0, 1): 1.0})
    with pytest.raises(pm.ShapeError, match=r"`y` has shape \(2,\), got values of shape \(3,\)"):
        pm.do(old, {"y": [1.0, 2.0, 3.0]})
    with pytest.raises(pm.ModelError, match=r"`d` cannot be observed: it follows from .* without any chance"):
        pm.observe(old, {"d": [1.0, 2.0]})
    with pytest.raises(pm.ShapeError, match=r"`observed` of `y` has shape \(3,\)"):
        pm.observe(old, {"y": [1.0, 2.0, 3.0]})


def test_unknown_names_are_refused_with_those_there_are() -> None:
    for change in (pm.do, pm.observe):
        with pytest.raises(KeyError, match="no variable `nowhere`; it has w, x, y"):
            change(chain(), {"nowhere": 1.0})


def test_labelled_values_are_brought_to_a_variable_by_the_names_of_their_axes() -> None:
    """Positions would say something else: the same dims stand in another order."""
    xr = pytest.importorskip("xarray")
    given = xr.DataArray([[0.0, 1.0], [2.0, 3.0]], dims=("a", "b"))
    with pm.Model(coords={"a": [0, 1], "b": [0, 1]}) as model:
        data = pm.Data("data", given, dims=("b", "a"))
        observed = pm.Normal("observed", 0, 1, dims=("b", "a"), observed=given)
        pm.dims.Normal("named", 0, 1, dims=("b", "a"))
        plain = pm.Normal("plain", 0, 1, dims=("b", "a"))
        pm.Deterministic("seen", plain + 0, dims=("b", "a"))
    np.testing.assert_array_equal(data.get_value(), given.values.T)
    np.testing.assert_array_equal(model.rvs_to_values[observed].eval(), given.values.T)
    for name in ("named", "plain"):
        conditioned = pm.observe(model, {name: given})
        (value,) = [v for v in conditioned.observed_RVs if v.name == name]
        np.testing.assert_array_equal(conditioned.rvs_to_values[value].eval(), given.values.T)
    np.testing.assert_array_equal(pm.do(model, {"plain": given})["seen"].eval(), given.values.T)
    model.set_data("data", 10 * given)
    np.testing.assert_array_equal(data.get_value(), 10 * given.values.T)


def second_names(named: bool) -> pm.Model:
    """With deterministics that are variables themselves, as `x.T` of a vector is, which data read; or without."""
    with pm.Model() as model:
        x = pm.Normal("x", pm.Normal("m"), pm.HalfNormal("s"), shape=3)
        again = pm.Deterministic("again", x.T) if named else x
        w = pm.Data("w", [1.0, 2.0, 3.0])
        weights = pm.Deterministic("weights", w) if named else w
        pm.Normal("y", 2.0 * again * weights, 1.0, observed=np.ones(3))
        pm.Potential("pull", -(x.sum() ** 2))
    return model


@pytest.mark.parametrize(
    "change",
    [
        lambda model: pm.do(model, {}),
        lambda model: pm.do(model, {"x": [0.3, 1.0, -2.0]}),
        lambda model: pm.do(model, {"x": 2.0 * model["x"]}),
        lambda model: pm.do(model, {"w": [0.3, 1.0, -2.0]}),
        lambda model: pm.do(model, {"m": 2.0}, prune_vars=True),
        lambda model: pm.observe(model, {"x": [0.3, 1.0, -2.0]}),
        lambda model: pm.noncenter(model, "x"),
        lambda model: pm.noncenter(model, {"x": [0.3, 1.0, 0.0]}),
        freeze_dims_and_data,
    ],
)
def test_a_variable_that_has_a_second_name_is_one_variable(change: Callable[[pm.Model], pm.Model]) -> None:
    made, wanted = (change(second_names(named)) for named in (True, False))
    point = {key: np.full(np.shape(value), 0.3) for key, value in wanted.initial_point().items()}
    assert made.compile_logp()(point) == pytest.approx(wanted.compile_logp()(point), rel=1e-12)
    assert made["again"] is made["do_x" if "do_x" in made.named else "x"]
