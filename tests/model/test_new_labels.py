"""Predictions for groups that were not in the data, and for data of another length than the observed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConsilienceError, ConsilienceWarning

COUNT = 4000
KNOWN = np.array([10.0, 20.0, 30.0])


def shops(declare: Callable[[Any, Any], Any]) -> pm.Model:
    """Groups `a` along `shop` with mean `mu` and scale `sigma`, by `declare`; noise is small."""
    with pm.Model(coords={"shop": ["x", "y", "z"]}) as model:
        index = pm.Data("index", [0, 1, 2, 1])
        mu = pm.Normal("mu", 0, 10)
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal("sales", declare(mu, sigma)[index], 0.001, observed=np.zeros(4))
    return model


def trace(model: pm.Model, **draws: Any) -> Any:
    """Draws with mu = 50 and sigma = 0.5 throughout."""
    known = {"mu": np.full((1, COUNT), 50.0), "sigma": np.full((1, COUNT), 0.5)}
    known |= {name: np.tile(value, (1, COUNT) + (1,) * np.ndim(value)) for name, value in draws.items()}
    return pm.to_inference_data({n: v for n, v in known.items() if n in model.named}, model=model)


def predicted(tree: Any, model: pm.Model, *names: str) -> Any:
    with pytest.warns(ConsilienceWarning, match="no draws of new labels"):
        result = pm.sample_posterior_predictive(
            tree, model, predictions=True, random_seed=1, var_names=[*names] if names else None
        )
    return result.predictions


CENTRED: dict[str, tuple[Callable[[Any, Any], Any], dict[str, Any]]] = {
    "centred": (lambda mu, sigma: pm.Normal("a", mu, sigma, dims="shop"), {"a": KNOWN}),
    "noncentred": (
        lambda mu, sigma: pm.Deterministic("a", mu + sigma * pm.Normal("z", dims="shop"), dims="shop"),
        {"z": (KNOWN - 50.0) / 0.5},
    ),
    "by column": (
        lambda mu, sigma: pm.Deterministic("a", (mu + sigma * pm.Normal("z", dims=("part", "shop")))[0], dims="shop"),
        {"z": np.stack([(KNOWN - 50.0) / 0.5, KNOWN])},
    ),
}


@pytest.mark.parametrize("way", CENTRED)
def test_known_labels_keep_their_draws_and_new_ones_come_from_their_population(way: str) -> None:
    declare, draws = CENTRED[way]

    def declared(mu: Any, sigma: Any) -> Any:
        pm.modelcontext().add_coord("part", [1, 2])
        return declare(mu, sigma)

    model = shops(declared)
    tree = trace(model, **draws)
    pm.set_data({"index": [0, 1, 2, 3, 4]}, model, coords={"shop": ["new", "z", "x", "y", "other"]})
    found = predicted(tree, model, "a", "sales")
    assert list(found["shop"]) == ["new", "z", "x", "y", "other"]
    np.testing.assert_allclose(found["a"].sel(shop=["x", "y", "z"])[0, 0], KNOWN, rtol=1e-12)
    drawn = found["a"].sel(shop=["new", "other"]).to_numpy()[0]
    np.testing.assert_allclose(drawn.mean(axis=0), 50.0, atol=0.05)
    np.testing.assert_allclose(drawn.std(axis=0), 0.5, rtol=0.06)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.06
    np.testing.assert_allclose(found["sales"], found["a"], atol=0.01)
    pm.set_data({"index": [0, 0]}, model, coords={"shop": ["y"]})
    alone = pm.sample_posterior_predictive(tree, model, predictions=True, random_seed=1).predictions
    np.testing.assert_allclose(alone["sales"], 20.0, atol=0.01)
    pm.set_data({"index": [0, 1, 2, 1]}, model, coords={"shop": ["x", "y", "z"]})
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_the_line_and_the_report_say_which_labels_are_new() -> None:
    model = shops(CENTRED["centred"][0])
    tree = trace(model, a=KNOWN)
    pm.set_data({"index": [0]}, model, coords={"shop": ["north", "x"]})
    with pytest.warns(ConsilienceWarning, match=r"Drawn anew, given their parameters: `a` for 'north' of `shop`"):
        pm.sample_posterior_predictive(tree, model, predictions=True, random_seed=1)
    with pytest.raises(pm.ShapeError, match=r"`shop` has 2 labels, but `a` was declared with 3"):
        pm.sample(model=model, progressbar=False)
    with pytest.raises(pm.ShapeError, match="Predictions extend it"):
        model.compile_logp()(model.initial_point())
    with pytest.raises(pm.ModelError, match="`shop` must differ from each other, but 'x' occurs twice"):
        pm.set_data({"index": [0]}, model, coords={"shop": ["x", "y", "x"]})
    prior = pm.sample_prior_predictive(5, model=model, random_seed=1).prior
    assert list(prior["a"]["shop"]) == ["north", "x"]


def test_predictors_of_groups_are_data_and_go_by_label() -> None:
    """Also where the data come after the groups, and nothing is in doubt where known labels keep their values."""
    with pm.Model(coords={"shop": ["x", "y"], "month": [1, 2, 3]}) as model:
        index = pm.Data("index", [0, 1])
        size = pm.Data("size", [1.0, 2.0], dims="shop")
        b = pm.Normal("b")
        a = pm.Normal("a", b * size, 0.1, dims="shop")
        season = pm.Normal("season", a[:, None], 0.2, dims=("shop", "month"))
        pm.Normal("y", season[index, 0], 0.001, observed=np.zeros(2))
    tree = pm.to_inference_data(
        {"b": np.full((1, COUNT), 7.0), "a": np.ones((1, COUNT, 2)), "season": np.full((1, COUNT, 2, 3), 5.0)},
        model=model,
    )
    pm.set_data({"index": [0, 1, 2], "size": [3.0, 1.0, 2.0]}, model, coords={"shop": ["new", "x", "y"]})
    found = predicted(tree, model, "a", "season", "y")
    np.testing.assert_array_equal(found["a"].sel(shop=["x", "y"]), 1.0)
    np.testing.assert_allclose(found["a"].sel(shop="new").mean(), 21.0, atol=0.01)
    np.testing.assert_array_equal(found["season"].sel(shop=["x", "y"]), 5.0)
    np.testing.assert_allclose(found["season"].sel(shop="new").mean(), 21.0, atol=0.02)
    np.testing.assert_allclose(found["y"].to_numpy(), found["season"][..., 0], atol=0.01)
    pm.set_data({}, model, coords={"month": [3, 4, 1]})
    again = predicted(tree, model, "season")
    np.testing.assert_array_equal(again["season"].sel(shop="x", month=[1, 3]), 5.0)
    np.testing.assert_allclose(again["season"].sel(shop="x", month=4).mean(), 1.0, atol=0.02)


def test_vectors_of_groups_are_drawn_together() -> None:
    """Intercepts and slopes with a correlation of 0.8."""
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    with pm.Model(coords={"shop": ["x", "y"], "part": ["intercept", "slope"]}) as model:
        index, x = pm.Data("index", [0, 1, 1]), pm.Data("x", [1.0, 2.0, 3.0])
        mu = pm.Normal("mu", 0, 10, dims="part")
        ab = pm.MvNormal("ab", mu, covariance, dims=("shop", "part"))
        pm.Normal("y", ab[index, 0] + ab[index, 1] * x, 0.001, observed=np.zeros(3))
    tree = pm.to_inference_data(
        {"mu": np.tile([3.0, 4.0], (1, COUNT, 1)), "ab": np.zeros((1, COUNT, 2, 2))}, model=model
    )
    pm.set_data({"index": [2, 0], "x": [1.0, 1.0]}, model, coords={"shop": ["x", "y", "new"]})
    found = predicted(tree, model, "ab", "y")
    drawn = found["ab"].sel(shop="new").to_numpy()[0]
    np.testing.assert_allclose(drawn.mean(axis=0), [3.0, 4.0], atol=0.08)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.08)
    np.testing.assert_allclose(found["y"][0, :, 0], drawn.sum(axis=1), atol=0.01)
    np.testing.assert_allclose(found["y"][0, :, 1], 0.0, atol=0.01)
    pm.set_data({"index": [0], "x": [1.0]}, model, coords={"part": ["intercept", "other"], "shop": ["x", "y"]})
    with pytest.raises(pm.ModelError, match=r"`ab` .* one event along `part`"):
        pm.sample_posterior_predictive(tree, model, random_seed=1)


def test_slopes_of_new_groups_by_factors_of_their_covariance() -> None:
    """Noncentred vectors of groups by an LKJ factor, deterministics along two dims."""
    with pm.Model(coords={"shop": ["x", "y"], "part": [0, 1]}) as model:
        index, x = pm.Data("index", [0, 1]), pm.Data("x", [1.0, 2.0])
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.HalfNormal.dist(1.0))
        z = pm.Normal("z", dims=("part", "shop"))
        ab = pm.Deterministic("ab", (chol @ z).T, dims=("shop", "part"))
        pm.Normal("y", ab[index, 0] + ab[index, 1] * x, 0.001, observed=np.zeros(2))
    factor = np.array([[1.0, 0.0], [0.8, 0.6]])
    tree = pm.to_inference_data(
        {"chol": np.tile([1.0, 0.8, 0.6], (1, COUNT, 1)), "z": np.ones((1, COUNT, 2, 2))}, model=model
    )
    pm.set_data({"index": [0, 1], "x": [0.0, 0.0]}, model, coords={"shop": ["new", "y"]})
    found = predicted(tree, model, "ab", "y")
    np.testing.assert_allclose(found["ab"].sel(shop="y")[0, 0], factor.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(np.cov(found["ab"].sel(shop="new")[0].T), factor @ factor.T, atol=0.08)
    np.testing.assert_allclose(found["y"][0, :, 0], found["ab"].sel(shop="new", part=0)[0], atol=0.01)


def test_distributions_with_dims_and_other_kinds_of_labels_extend_alike() -> None:
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    with pm.Model(coords={"day": days, "pair": [("a", 1), ("b", 2)]}) as model:
        mu = pm.dims.Normal("mu")
        level = pm.dims.Normal("level", mu, 0.1, dims="day")
        count = pm.dims.Poisson("count", pm.dims.math.exp(mu), dims=("pair", "day"))
        pm.dims.Normal("y", level + count, 0.001, observed=np.zeros((2, 2)), dims=("pair", "day"))
    tree = pm.to_inference_data(
        {"mu": np.full((1, 50), 5.0), "level": np.ones((1, 50, 2)), "count": np.full((1, 50, 2, 2), 3)}, model=model
    )
    pm.set_data({}, model, coords={"day": days + 1, "pair": [("c", 1), ("b", 2), ("d", 3)]})
    found = predicted(tree, model, "level", "count", "y")
    assert found["count"].dtype == np.int64
    np.testing.assert_array_equal(found["level"][0, 0, 0], 1.0)
    assert (abs(found["level"][..., 1] - 5.0) < 1.0).all()
    np.testing.assert_array_equal(found["count"][0, :, 1, 0], 3)
    assert abs(found["count"].to_numpy()[..., [0, 2], :].mean() / np.exp(5.0) - 1) < 0.05
    whole = (found["level"] + found["count"]).transpose(*found["y"].dims)
    np.testing.assert_allclose(found["y"], whole, atol=0.01)


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "zero sum": (lambda mu, s: pm.ZeroSumNormal("a", s, dims="shop"), r"`a` \(ZeroSumNormal\) is one event along"),
    "series": (lambda mu, s: pm.GaussianRandomWalk("a", mu, s, dims="shop"), "follow each other"),
    "numbers": (lambda mu, s: pm.Normal("a", mu * np.ones(3), s, dims="shop"), r"elements along `shop`.*pm\.Data"),
    "mean": (
        lambda mu, s: pm.Deterministic("d", (a := pm.Normal("a", mu, s, dims="shop")) - a.mean(), dims="shop"),
        "`d` cannot be computed for other labels of `shop`: it takes all elements together",
    ),
    "cumulative": (lambda mu, s: pm.Normal("a", mu, s, dims="shop").cumsum(), "not known to work element by element"),
    "slice": (lambda mu, s: pm.Normal("a", mu, s, dims="shop")[1:], "takes elements by place"),
    "improper": (lambda mu, s: pm.Flat("a", dims="shop"), "`a` cannot be drawn"),
    "shape": (lambda mu, s: pm.Normal("b", pm.Normal("a", mu, s, dims="shop"), 1.0), "Give variables `dims='shop'`"),
}


@pytest.mark.filterwarnings("ignore:the posterior holds no draws of `b`")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_for_new_labels_is_refused_by_name(name: str) -> None:
    declare, message = REFUSED[name]
    model = shops(declare)
    tree = trace(model, a=KNOWN - KNOWN.mean())
    pm.set_data({"index": [0, 1]}, model, coords={"shop": ["x", "y", "z", "new"]})
    with pytest.raises(ConsilienceError, match=message):
        pm.sample_posterior_predictive(tree, model, predictions=True, random_seed=1)


def test_elements_by_place_need_labels_that_stay() -> None:
    """The index of the data is constant: new labels behind the known ones are fine, before them they are not."""
    with pm.Model(coords={"shop": ["x", "y"]}) as model:
        a = pm.Normal("a", dims="shop")
        pm.Normal("y", a[np.array([0, 1, 1])], 0.001, observed=np.zeros(3))
    tree = pm.to_inference_data({"a": np.tile([1.0, 2.0], (1, 5, 1))}, model=model)
    pm.set_data({}, model, coords={"shop": ["x", "y", "new"]})
    np.testing.assert_allclose(predicted(tree, model)["y"][0, 0], [1.0, 2.0, 2.0], atol=0.01)
    pm.set_data({}, model, coords={"shop": ["y", "x"]})
    with pytest.raises(pm.ModelError, match=r"takes elements by place; make the index `pm\.Data`"):
        pm.sample_posterior_predictive(tree, model, random_seed=1)


@pytest.mark.parametrize("length", [18, 3, 1])
@pytest.mark.parametrize("indexed", [False, True])
def test_observed_variables_follow_the_data_of_their_parameters(length: int, indexed: bool) -> None:
    with pm.Model() as model:
        x = pm.Data("x", np.arange(16) % 2) if indexed else pm.Data("x", np.arange(16.0))
        b = pm.Normal("b", shape=2)
        y = pm.Normal("y", b[x] if indexed else b[0] * x, 0.001, observed=np.zeros(16))
        pm.Deterministic("residual", y - x)
    draws = {"b": np.tile([3.0, 5.0], (2, 10, 1))}
    new = np.arange(length) % 2 if indexed else np.arange(float(length))
    wanted = draws["b"][0, 0][new] if indexed else 3.0 * new
    pm.set_data({"x": new}, model)
    for keyword in ({"predictions": True}, {}):
        group = "predictions" if keyword else "posterior_predictive"
        found = pm.sample_posterior_predictive(draws, model, random_seed=1, **keyword)[group]
        np.testing.assert_allclose(found["y"], np.broadcast_to(wanted, (2, 10, length)), atol=0.01)
        np.testing.assert_allclose(found["residual"], found["y"].to_numpy() - new, atol=1e-12)
    assert pm.sample_prior_predictive(3, model=model, random_seed=1).prior_predictive["y"].shape[2:] == (length,)
    with pytest.raises(pm.ShapeError, match=rf"`y` is observed at 16 places, .* have {length} .*observed=pm.Data"):
        model.compile_logp()(model.initial_point())
    with pytest.raises(pm.ShapeError, match="`y` is observed at 16 places"):
        pm.sample(model=model, progressbar=False)
    with pytest.raises(pm.ShapeError, match="`y` is observed at 16 places"):
        pm.compute_log_likelihood(draws, model=model)


def test_data_that_were_forgotten_are_named() -> None:
    with pm.Model(coords={"row": range(4)}) as model:
        x, z = pm.Data("x", np.zeros(4)), pm.Data("z", np.zeros(4))
        b = pm.Normal("b")
        pm.Normal("y", b * x + z, 1.0, observed=np.zeros(4))
        pm.Normal("w", b * x, 1.0, observed=np.zeros(4), dims="row")
    draws = {"b": np.zeros((1, 5))}
    pm.set_data({"x": np.zeros(6)}, model)
    with pytest.raises(pm.ShapeError, match=r"z.shape\[0\]` is 4"):
        pm.sample_posterior_predictive(draws, model, var_names=["y"], random_seed=1)
    with pytest.raises(pm.ShapeError, match=r"`w` has length 4 along `row`, .* have 6; .*coords=\{'row': …\}"):
        pm.sample_posterior_predictive(draws, model, var_names=["w"], random_seed=1)
    pm.set_data({"z": np.zeros(6)}, model, coords={"row": range(6)})
    found = pm.sample_posterior_predictive(draws, model, random_seed=1)
    assert found.posterior_predictive.sizes["row"] == 6
    assert "w" not in found.observed_data


def test_loops_over_variables_are_predicted_and_named_where_their_labels_are_others() -> None:
    """A loop has several results; labels it goes over cannot be extended."""

    def smoothed(x: Any) -> Any:
        return pm.scan(lambda v, last: 0.5 * v + 0.5 * last, [x], [pt.constant(0.0)], return_updates=False)

    with pm.Model(coords={"g": ["a", "b"]}) as model:
        x = pm.Normal("x", dims="g")
        pm.Normal("y", smoothed(x), 1.0, dims="g", observed=[0.3, 0.7])
    draws = pm.to_inference_data({"x": np.zeros((1, 5, 2))}, model=model)
    predicted = pm.sample_posterior_predictive(draws, model=model, random_seed=1)
    assert predicted.posterior_predictive["y"].shape == (1, 5, 2)
    with model:
        pm.set_data({}, coords={"g": ["a", "b", "c"]})
    with pytest.raises(pm.ModelError, match="`y` cannot be computed for other labels of `g`"):
        pm.sample_posterior_predictive(draws, model=model, predictions=True)
