"""Variables with heavy tails in coordinates in which these are light: the same posterior, where draws show the need."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
from consilience.ir import constant
from consilience.model.heavy_tails import ALSO, FAR, Asinh, reach, rewritten, suited
from consilience.model.log_density import model_density

PLACES = np.concatenate([-np.geomspace(1e12, 1e-12, 60), [0.0], np.geomspace(1e-12, 1e12, 60)])
SIDES = [(below, above) for below in (False, True) for above in (False, True)]


@pytest.mark.parametrize(("below", "above"), SIDES)
@settings(deadline=None, max_examples=10)
@given(middle=st.floats(-100, 100), width=st.floats(0.01, 100))
def test_a_place_comes_back_with_its_slope(below: bool, above: bool, middle: float, width: float) -> None:
    """Every number returns to rounding; the Jacobian is the slope of the way back, by differences."""
    map_ = Asinh(*(constant(np.array(one, float)) for one in (middle, width)), constant(below), constant(above))
    values = middle + width * PLACES
    there = map_.forward(values).eval()
    np.testing.assert_allclose((map_.backward(there).eval() - middle) / width, PLACES, rtol=1e-9, atol=1e-10)
    assert (np.diff(there) > 0).all()
    places = np.linspace(-20.0, 20.0, 81)
    step = 1e-5
    slopes = (map_.backward(places + step).eval() - map_.backward(places - step).eval()) / (2 * step)
    np.testing.assert_allclose(map_.log_jac_det(places).eval(), np.log(slopes), atol=1e-4)


def cauchy_in_classes() -> Any:
    with pm.Model() as model:
        slope = pm.Cauchy("slope", 0, 2.5, shape=2)
        x = np.linspace(-2, 2, 20)
        pm.Bernoulli("y", logit_p=slope[0] * x, observed=(x > 0).astype(int))
    return model


@pytest.mark.parametrize(("below", "above"), SIDES)
def test_the_density_is_that_of_the_model(below: bool, above: bool) -> None:
    """With the Jacobian, at the places that the map leads to; gradients are those of the density, by differences."""
    model = cauchy_in_classes()
    plain = model_density(model)
    chosen = {"slope": [[1.0, -2.0], [3.0, 0.5], [below, not below], [above, not above]]}
    moved = model_density(rewritten(model, chosen))
    map_ = Asinh(*(constant(np.array(part)) for part in chosen["slope"]))
    for place in np.random.default_rng(0).normal(scale=2.0, size=(20, 2)):
        there = map_.backward(place).eval()
        level, slope = moved(place)
        assert level == pytest.approx(plain(there)[0] + map_.log_jac_det(place).eval().sum(), rel=1e-9)
        moves = 1e-6 * np.eye(2)
        differences = [(moved(place + move)[0] - moved(place - move)[0]) / 2e-6 for move in moves]
        np.testing.assert_allclose(slope, differences, rtol=1e-4, atol=1e-5)


def test_only_heavy_tails_are_mapped_and_each_side_by_itself() -> None:
    """Normal draws ask for nothing; a tail that data cut off keeps its slope."""
    model = cauchy_in_classes()
    rng = np.random.default_rng(1)
    light = rng.normal(size=(4, 1000, 2))
    assert suited(model, {"slope": light}) == {}
    heavy = light.copy()
    heavy[..., 0] = 3.0 + np.abs(rng.standard_cauchy((4, 1000)))
    _, _, below, above = suited(model, {"slope": heavy})["slope"]
    assert (below, above) == ([False, False], [True, False])
    assert suited(model, {"slope": heavy}, ["slope"]) == {}
    assert np.fmax(*reach(light.reshape(-1, 2))).max() < ALSO < FAR


def test_separated_classes_with_a_cauchy_prior_are_certified_and_right() -> None:
    """The shares of draws below quantiles of the posterior, which quadrature over the prior gives."""
    x = np.linspace(-2, 2, 20)
    slopes = 2.5 * np.tan(np.pi * ((np.arange(400_000) + 0.5) / 400_000 - 0.5))
    weights = np.exp(-sum(np.logaddexp(0, -slopes * abs(own)) for own in x))
    below = np.cumsum(weights) / weights.sum()
    with pm.Model():
        slope = pm.Cauchy("slope", 0, 2.5)
        pm.Bernoulli("y", logit_p=slope * x, observed=(x > 0).astype(int))
        result = pm.sample(random_seed=1, progressbar=False)
    assert result.status == "converged", result.reason
    assert json.loads(result.posterior.attrs["heavy_tails"]) == ["slope"]
    assert "coordinates without heavy tails" in pm.report(result)
    draws = result.posterior["slope"].to_numpy()
    for share in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99):
        place = slopes[np.searchsorted(below, share)]
        size = float(pm.ess({"x": (draws <= place).astype(float)})["x"])
        assert (draws <= place).mean() == pytest.approx(share, abs=4.5 * (share * (1 - share) / size) ** 0.5)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_without_the_remedy_they_are_refused() -> None:
    with cauchy_in_classes():
        result = pm.sample(random_seed=1, progressbar=False, remedies=("steps", "metric", "jumps", "modes"))
    assert result.status == "not_converged"
    assert json.loads(result.posterior.attrs["heavy_tails"]) == []
