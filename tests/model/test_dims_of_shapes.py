"""Dimensions that follow from shapes of random variables, and labels that do not fit what was computed."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceWarning, ImputationWarning


def test_random_variables_bring_the_lengths_of_unknown_dims() -> None:
    """From `shape`, `size` and vectors; later variables take them, as with PyMC. Others need known dims."""
    with pm.Model(coords={"row": ["a", "b"]}) as model:
        pm.Normal("b", shape=3, dims="new")
        pm.Normal("c", size=(2, 4), dims=("row", "column"))
        pm.MvNormal("v", np.zeros(5), np.eye(5), shape=(2, 5), dims=("row", "part"))
        with pytest.warns(ImputationWarning):
            pm.Normal("y", shape=2, observed=[1.0, None], dims="week")
        later = pm.Normal("d", dims=("new", "column"))
        for declare in (
            lambda: pm.Deterministic("e", later, dims=("new", "unknown")),
            lambda: pm.Potential("e", later, dims=("new", "unknown")),
            lambda: pm.Normal("e", dims="unknown"),
        ):
            with pytest.raises(pm.ModelError, match="`unknown`"):
                declare()
        with pytest.raises(pm.ModelError, match="names its own dimension"):
            pm.Normal("f", shape=2, dims="f")
        with pytest.raises(pm.ShapeError, match="2 dims"):
            pm.Normal("f", shape=2, dims=("first", "second"))
    assert model.coords == {"row": ("a", "b"), "new": None, "column": None, "part": None, "week": None}
    assert later.static_shape == (3, 4)
    drawn = pm.sample_prior_predictive(2, model=model, random_seed=1).prior
    assert drawn["v"].dims == ("chain", "draw", "row", "part")
    np.testing.assert_array_equal(drawn["column"], np.arange(4))


def test_lengths_of_such_dims_follow_data() -> None:
    with pm.Model() as model:
        x = pm.Data("x", np.arange(3.0))
        b = pm.Normal("b", x, 1, shape=x.shape, dims="new")
        pm.Normal("gap", x[1:], 1, shape=x.shape[0] - 1, dims="gaps")
        pm.Deterministic("twice", 2 * b, dims="new")
    for length in (3, 5):
        pm.set_data({"x": np.zeros(length)}, model)
        drawn = pm.sample_prior_predictive(2, model=model, random_seed=1).prior
        assert (drawn.sizes["new"], drawn.sizes["gaps"]) == (length, length - 1)
        assert model.shape_from_dims(["new", "gaps"]) == (length, length - 1)
        assert drawn["twice"].dims[2:] == ("new",)


@pytest.mark.parametrize("as_data", [False, True])
def test_a_deterministic_of_another_length_than_its_dims_keeps_its_values(as_data: bool) -> None:
    """As the cutpoints of ordinal models, one fewer than the categories whose labels they are given."""
    with pm.Model(coords={"grade": ["low", "middle", "high"], "item": [1, 2]}) as model:
        if as_data:
            pm.Data("weights", np.ones(3), dims="grade")
        cut = pm.Normal("cut", shape=(2, 2))
        with pytest.warns(ConsilienceWarning, match="`steps` has length 2, .* `grade` has length 3.* leave the labels"):
            pm.Deterministic("steps", 2 * cut, dims=("item", "grade"))
        with pytest.raises(pm.ShapeError, match="data `wrong` has length 2"):
            pm.Data("wrong", np.ones(2), dims="grade")
    assert model.named_vars_to_dims["steps"] == ("item", None)
    drawn = pm.sample_prior_predictive(3, model=model, random_seed=1).prior
    assert drawn["steps"].dims == ("chain", "draw", "item", "steps_dim_0")
    np.testing.assert_array_equal(drawn["steps"], 2 * drawn["cut"].to_numpy())
