"""Which variables predictions draw anew: each row of the rule, told in words and seen in the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceWarning, ImplicitFreezeWarning
from consilience.sample import resampled_variables

QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}


def chain() -> tuple[pm.Model, Any]:
    """x -> z -> y with z's mean shifted by data; a trace far from the priors, so that anew and kept are told apart."""
    with pm.Model(coords={"row": ["a", "b"]}) as model:
        shift = pm.Data("shift", 0.0)
        x = pm.Normal("x")
        z = pm.Normal("z", x + shift, 1.0, dims="row")
        twice = pm.Deterministic("twice", 2 * z, dims="row")
        y = pm.Normal("y", twice, 1.0, observed=[100.0, 200.0], dims="row")
        pm.Deterministic("residual", y - twice, dims="row")
        pm.Normal("w", x, 1.0, observed=0.0)
    count = 500
    posterior = {"x": np.full((1, count), 40.0), "z": np.tile([50.0, 100.0], (1, count, 1))}
    tree = pm.to_inference_data(posterior, model=model)
    return model, tree


def mean(result: Any, name: str) -> Any:
    return result.posterior_predictive[name].values.mean(axis=(0, 1))


def test_what_the_trace_has_is_kept_and_the_rest_drawn() -> None:
    model, tree = chain()
    plan = resampled_variables(tree, model)
    assert plan.outputs == ("y", "w", "residual")
    assert plan.drawn == {"y": "it is observed", "w": "it is observed"}
    assert plan.computed == {"twice": "a deterministic of `z`", "residual": "a deterministic of `y`, `twice`"}
    assert list(plan.taken) == ["x", "z"]
    assert not plan.doubtful
    result = pm.sample_posterior_predictive(tree, model, random_seed=1)
    np.testing.assert_allclose(mean(result, "y"), [100.0, 200.0], atol=0.3)
    np.testing.assert_allclose(
        result.posterior_predictive["residual"], result.posterior_predictive["y"] - [100.0, 200.0], atol=1e-12
    )


def test_names_alone_do_not_draw() -> None:
    model, tree = chain()
    result = pm.sample_posterior_predictive(tree, model, var_names=["x", "z", "twice"], random_seed=1)
    np.testing.assert_array_equal(result.posterior_predictive["z"], tree.posterior["z"])
    np.testing.assert_array_equal(result.posterior_predictive["twice"], 2 * tree.posterior["z"])


def test_variables_in_sample_vars_are_drawn_given_the_others() -> None:
    model, tree = chain()
    plan = resampled_variables(tree, model, sample_vars=["z"])
    assert plan.outputs == ("z",)
    assert plan.drawn == {"z": "it is in `sample_vars`"}
    result = pm.sample_posterior_predictive(tree, model, sample_vars=["z"], random_seed=1)
    np.testing.assert_allclose(mean(result, "z"), 40.0, atol=0.3)
    wider = pm.sample_posterior_predictive(tree, model, var_names=["y"], sample_vars=["z"], random_seed=1)
    np.testing.assert_allclose(mean(wider, "y"), 80.0, atol=0.5)


def test_descendants_of_what_is_drawn_stay_with_a_warning() -> None:
    model, tree = chain()
    plan = resampled_variables(tree, model, ["x", "y"], sample_vars="x")
    assert plan.doubtful == {"z": "`x` is drawn anew"}
    assert "z  from the trace: the trace has draws of it, although `x` is drawn anew" in repr(plan)
    with pytest.warns(ImplicitFreezeWarning, match=r"used for `z`, although `x` is drawn anew.* `sample_vars`"):
        result = pm.sample_posterior_predictive(tree, model, ["x", "y"], sample_vars="x", random_seed=1)
    np.testing.assert_allclose(mean(result, "x"), 0.0, atol=0.3)
    np.testing.assert_allclose(mean(result, "y"), [100.0, 200.0], atol=0.3)
    meant = pm.sample_posterior_predictive(tree, model, ["x", "y"], sample_vars="x", freeze_vars="z", random_seed=1)
    np.testing.assert_array_equal(meant.posterior_predictive["y"], result.posterior_predictive["y"])
    both = pm.sample_posterior_predictive(tree, model, "y", sample_vars=["x", "z"], random_seed=1)
    np.testing.assert_allclose(mean(both, "y"), 0.0, atol=0.6)


def test_changed_data_put_their_descendants_in_doubt() -> None:
    model, tree = chain()
    with model:
        pm.set_data({"shift": 1000.0})
    assert resampled_variables(tree, model).doubtful == {"z": "the data `shift` have changed"}
    with pytest.warns(ImplicitFreezeWarning, match="although the data `shift` have changed"):
        pm.sample_posterior_predictive(tree, model, random_seed=1)
    result = pm.sample_posterior_predictive(tree, model, "y", sample_vars="z", random_seed=1)
    np.testing.assert_allclose(mean(result, "y"), 2080.0, atol=0.5)
    assert not resampled_variables(tree.posterior.to_dataset(), model).doubtful


def test_other_labels_are_drawn_and_known_ones_found_by_label() -> None:
    model, tree = chain()
    tree["posterior"] = tree.posterior.to_dataset().assign_coords(row=["b", "c"])
    plan = resampled_variables(tree, model)
    assert plan.taken["z"] == "the trace has draws of it, but for 'a' of `row`, drawn given its parameters"
    assert not plan.doubtful
    with pytest.warns(ConsilienceWarning, match="`z` for 'a' of `row`"):
        result = pm.sample_posterior_predictive(tree, model, var_names=["z"], random_seed=1)
    np.testing.assert_array_equal(result.posterior_predictive["z"][..., 1], 50.0)
    np.testing.assert_allclose(mean(result, "z"), [40.0, 50.0], atol=0.3)
    with pytest.raises(pm.ModelError, match="hold no `z` for 'a' of `row`"):
        pm.compute_deterministics(tree, model=model)


@pytest.mark.parametrize(
    "labels", [[1, "a"], [None, "b"], [(1, 2), (3, 4)], [True, False], np.array(["2020-01-01", "2020-01-02"], "M8[D]")]
)
def test_labels_of_every_kind_are_known_again(labels: Any) -> None:
    with pm.Model(coords={"row": labels}) as model:
        x = pm.Normal("x", dims="row")
        pm.Normal("y", x, 1.0, observed=[1.0, 2.0], dims="row")
        tree = pm.to_inference_data({"x": np.zeros((1, 5, 2))})
    assert list(resampled_variables(tree, model).taken) == ["x"]
    assert not resampled_variables(tree, model).doubtful


def test_deterministics_may_be_frozen() -> None:
    model, tree = chain()
    tree["posterior"] = tree.posterior.to_dataset().assign(twice=(("chain", "draw", "row"), np.full((1, 500, 2), 7.0)))
    result = pm.sample_posterior_predictive(tree, model, freeze_vars="twice", random_seed=1)
    np.testing.assert_allclose(mean(result, "y"), 7.0, atol=0.3)
    computed = pm.sample_posterior_predictive(tree, model, random_seed=1)
    np.testing.assert_allclose(mean(computed, "y"), [100.0, 200.0], atol=0.3)


def test_what_the_trace_calls_observed_is_predicted_by_a_model_without_data() -> None:
    _, tree = chain()
    with pm.Model(coords={"new": [1, 2, 3]}) as predicting:
        x = pm.Normal("x")
        pm.Normal("y", x, 1.0, dims="new")
    result = pm.sample_posterior_predictive(tree, predicting, predictions=True, random_seed=1)
    assert result.predictions["y"].dims == ("chain", "draw", "new")
    np.testing.assert_allclose(result.predictions["y"].mean(("chain", "draw")), 40.0, atol=0.3)


def test_draws_of_another_length_are_not_needed_where_nothing_depends_on_them() -> None:
    model, tree = chain()
    tree["posterior"] = tree.posterior.to_dataset().isel(row=[0]).drop_vars("row")
    result = pm.sample_posterior_predictive(tree, model, var_names=["w"], random_seed=1)
    np.testing.assert_allclose(mean(result, "w"), 40.0, atol=0.3)
    with pytest.raises(pm.ShapeError, match=r"draws of `z` have shape \(1,\).*`sample_vars`"):
        pm.sample_posterior_predictive(tree, model, random_seed=1)


def test_wishes_that_cannot_be_met_are_refused() -> None:
    model, tree = chain()
    for argument in ("var_names", "sample_vars", "freeze_vars"):
        with pytest.raises(pm.ModelError, match=rf"`{argument}` names \['shift'\], but the model's variables are"):
            resampled_variables(tree, model, **{"var_names": ["y"], argument: ["shift"]})
    with pytest.raises(pm.ModelError, match="in both `sample_vars` and `freeze_vars`"):
        pm.sample_posterior_predictive(tree, model, sample_vars=["z"], freeze_vars=["z"])
    with pytest.raises(pm.ModelError, match="of which the trace holds no draws"):
        pm.sample_posterior_predictive(tree, model, freeze_vars=["twice"])


@pytest.mark.parametrize("dims", ["row", None])
def test_data_that_are_only_compared_with_need_not_follow(dims: str | None) -> None:
    """Predictions for other rows need new predictors, and no new outcomes, as `pm.Data` or not; sampling needs both."""
    with pm.Model(coords={"row": range(5)}) as model:
        x = pm.Data("x", np.arange(5.0), dims=dims)
        outcome = pm.Data("outcome", np.zeros(5), dims=dims)
        slope = pm.Normal("slope")
        pm.Normal("y", slope * x, 1.0, observed=outcome, dims=dims)
        tree = pm.to_inference_data({"slope": np.full((1, 400), 3.0)})
        pm.set_data({"x": [10.0, 20.0]}, coords={"row": ["new", "newer"]} if dims else None)
        predicted = pm.sample_posterior_predictive(tree, predictions=True, random_seed=1, progressbar=False)
        with pytest.raises(pm.ShapeError, match=r"`outcome`|`y` is observed at 5 places"):
            pm.sample(10, tune=10, chains=1, **QUIET)
    y = predicted["predictions"]["y"]
    np.testing.assert_allclose(y.mean(("chain", "draw")), [30.0, 60.0], atol=0.25)
    assert ("outcome" in predicted["predictions_constant_data"]) is (dims is None)  # where its length fits no label
    if dims:
        assert list(y.row.values) == ["new", "newer"]
    model.set_data("outcome", [1.0, 2.0])
    with model:
        again = pm.sample_posterior_predictive(tree, predictions=True, random_seed=1, progressbar=False)
    np.testing.assert_array_equal(again["predictions"]["y"], y)
    np.testing.assert_array_equal(again["predictions_constant_data"]["outcome"], [1.0, 2.0])


def test_points_are_draws() -> None:
    """A list of points, as `find_MAP` gives one, is a chain of so many draws."""
    with pm.Model():
        mu = pm.Normal("mu", 0.0, 100.0)
        s = pm.HalfNormal("s")
        pm.Normal("y", mu, 1e-3 * s, observed=[1.0, 1.0])
        found = {"mu": np.asarray(7.0), "s": np.asarray(1.0), "s_log__": np.asarray(0.0)}
        drawn = pm.sample_posterior_predictive(
            [found, found | {"mu": np.asarray(9.0)}], random_seed=1, progressbar=False
        )
        with pytest.raises(pm.ModelError, match=r"a list of points, as `pm.find_MAP` gives one; got list"):
            pm.sample_posterior_predictive([1.0], progressbar=False)
    np.testing.assert_allclose(drawn["posterior_predictive"]["y"], [[[7.0, 7.0], [9.0, 9.0]]], atol=0.02)
