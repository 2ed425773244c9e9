"""Models with constant data and lengths: the same densities, and nothing that can change."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
from consilience.model import freeze_dims_and_data, freeze_model


def regression() -> pm.Model:
    with pm.Model(coords={"group": ["a", "b"]}) as model:
        x = pm.Data("x", [1.0, 2.0, 3.0], dims="row")
        group = pm.Data("g", [0, 1, 1], dims="row")
        offset = pm.Data("offset", [0.5, 0.25])
        level = pm.Normal("level", 0.0, 1.0, dims="group")
        slope = pm.Normal("slope", shape=offset.shape)
        noise = pm.Normal("noise", dims="row")
        mean = pm.Deterministic("mean", level[group] + slope.sum() * x + noise, dims="row")
        pm.Normal("y", mean, 1.0, observed=pm.Data("seen", [1.0, 2.0, 3.0], dims="row"), dims="row")
        pm.Potential("pull", -((slope - offset) ** 2))
    return model


def test_frozen_models_have_the_same_density_and_no_data() -> None:
    model = regression()
    frozen = freeze_dims_and_data(model)
    point = {name: value + 0.3 for name, value in model.initial_point().items()}
    before = model.compile_logp()(point)
    assert frozen.compile_logp()(point) == pytest.approx(before, rel=1e-14)
    assert frozen.observed[0].data.op == frozen["seen"].op
    assert frozen["x"].static_shape == frozen["mean"].static_shape == (3,)
    assert frozen["slope"].static_shape == (2,)
    assert frozen.coordinates.length("row") == 3
    with model:
        pm.set_data({"x": [9.0] * 4, "g": [0] * 4, "seen": [0.0] * 4})
    assert frozen.compile_logp()(point) == pytest.approx(before, rel=1e-14)
    with pytest.raises(pm.ModelError, match="the data `x` are frozen"):
        frozen.set_data("x", [1.0, 2.0, 3.0])
    assert "x" in pm.model_to_mermaid(frozen)
    assert "level ~ Normal(0, 1)" in repr(frozen)
    with pytest.warns(pm.ConsilienceWarning, match="potentials `pull`"):
        prior = pm.sample_prior_predictive(4, model=frozen, random_seed=1)
    assert prior.prior["mean"].dims == ("chain", "draw", "row")
    for one in (frozen, pm.do(frozen, {"level": [0.0, 1.0]}), freeze_dims_and_data(frozen), frozen.copy()):
        with pytest.warns(pm.ConsilienceWarning, match="potentials `pull`"):
            kept = pm.sample_prior_predictive(2, model=one, random_seed=1).constant_data
        np.testing.assert_array_equal(kept["x"], [1.0, 2.0, 3.0])
        assert kept["x"].dims == ("row",)
        assert {"x", "g", "offset", "seen"} <= set(kept.data_vars)
    np.testing.assert_array_equal(frozen.get_data("g"), [0, 1, 1])
    with pytest.raises(pm.ModelError, match="the data `x` are frozen"):
        pm.do(frozen, {"x": [3.0, 2.0, 1.0]})


def test_part_of_the_data_may_stay() -> None:
    frozen = freeze_dims_and_data(regression(), dims=[], data=["offset", "g"])
    assert set(frozen.data) - frozen.frozen == {"x", "seen"}
    assert frozen["slope"].static_shape == (2,)
    frozen.set_data("x", [0.0, 0.0, 0.0])
    assert np.isfinite(frozen.compile_logp()(frozen.initial_point()))


def test_data_along_fixed_dimensions_are_exchanged_for_others_of_their_length() -> None:
    model = regression()
    point = model.initial_point()
    frozen = freeze_dims_and_data(model, data=["g"])
    assert frozen["x"].static_shape == (3,)
    assert frozen.compile_logp()(point) == model.compile_logp()(point)
    before = model.get_data("x").copy()
    frozen.set_data("x", [0.0, 0.5, 0.0])
    np.testing.assert_array_equal(model.get_data("x"), before)
    model.set_data("x", [0.0, 0.5, 0.0])
    assert frozen.compile_logp()(point) == model.compile_logp()(point)
    with pytest.raises(pm.errors.ShapeError):
        frozen.set_data("x", [0.0, 0.0])
    with pytest.raises((pm.errors.ShapeError, pm.ModelError)):
        frozen.set_data("x", [0.0, 0.0], coords={"row": [0, 1]})


def test_names_to_freeze_have_to_be_there() -> None:
    model = regression()
    with pytest.raises(KeyError, match="no dimension `rows`"):
        freeze_dims_and_data(model, dims=["rows"])
    with pytest.raises(KeyError, match="no data `z`"):
        freeze_dims_and_data(model, data=["z"])


def test_a_frozen_model_keeps_the_data_of_predictions_free() -> None:
    """What free variables depend on is constant, lengths and the data that decide them included; the rest is not."""
    with pm.Model(coords={"group": ["a", "b"]}) as model:
        x, scale = pm.Data("x", [0.0, 1.0, 2.0]), pm.Data("scale", 2.0)
        slope = pm.Normal("slope", 0.0, scale, dims="group")
        y = pm.Normal("y", slope.sum() * x, observed=[1.0, 2.0, 3.0], shape=x.shape)
    frozen = freeze_model(model)
    assert frozen.frozen == {"scale"}
    logps = [m.compile_logp()({"slope": [0.1, 0.2]}) for m in (frozen, model)]
    np.testing.assert_allclose(*logps, rtol=1e-14)
    with frozen:
        pm.set_data({"x": [1.0, 2.0, 3.0, 4.0]})
        with pytest.raises(pm.ModelError, match="the data `scale` are frozen"):
            pm.set_data({"scale": 1.0})
    assert y.name == "y"
    whole = freeze_model(regression())
    assert whole.frozen == {"x", "g", "offset", "seen"}
