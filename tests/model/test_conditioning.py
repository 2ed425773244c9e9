"""Models made from models: what `do` and `observe` leave, and that the old model stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import consilience as pm


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


def test_what_cannot_be_set_or_observed_is_refused() -> None:
    old = chain()
    with pytest.raises(pm.ModelError, match="interventions on `x` make variables depend on themselves"):
        pm.do(old, {"x": old["y"].sum()})
    with pytest.raises(pm.ModelError, match="is not a named variable"):
        pm.do(old, {pm.Normal.dist(0, 1): 1.0})
    with pytest.raises(pm.ShapeError, match=r"`y` has shape \(2,\), got values of shape \(3,\)"):
        pm.do(old, {"y": [1.0, 2.0, 3.0]})
    with pytest.raises(pm.ModelError, match=r"`d` is not a free variable.*No density is derived"):
        pm.observe(old, {"d": [1.0, 2.0]})
    with pytest.raises(pm.ShapeError, match=r"`observed` of `y` has shape \(3,\)"):
        pm.observe(old, {"y": [1.0, 2.0, 3.0]})


def test_unknown_names_are_refused_with_those_there_are() -> None:
    for change in (pm.do, pm.observe):
        with pytest.raises(KeyError, match="no variable `nowhere`; it has w, x, y"):
            change(chain(), {"nowhere": 1.0})
