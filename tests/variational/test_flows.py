"""Normalising flows: exact densities and gradients of their layers, shapes that are not normal, bits, and bad input."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ConsilienceWarning
from consilience.estimators.variational.flow import flow_of, layers_of
from consilience.estimators.variational.flow_layers import LAYERS

FORMULAS = ["loc", "scale", "hh", "planar*2", "radial*2", "coupling*3", "iaf*2", "scale-planar*2-loc", "hh-iaf-radial"]


def moved(formula: str, normals: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and log determinants of rows."""
    points, logdets = flow_of(formula, normals.shape[1]).placing(len(normals))([parameters, normals])
    return points, logdets


def wild(formula: str, dimension: int, seed: int = 0) -> np.ndarray:
    """Parameters far from the identity."""
    return np.random.default_rng(seed).normal(size=flow_of(formula, dimension).count)


@pytest.mark.parametrize("formula", FORMULAS)
def test_log_determinants_are_those_of_the_jacobian_by_differences(formula: str) -> None:
    n, h = 3, 1e-6
    for seed in range(3):
        parameters = wild(formula, n, seed)
        z = np.random.default_rng(seed + 10).normal(size=(1, n))
        _, logdet = moved(formula, z, parameters)
        around = [
            (moved(formula, z + h * e, parameters)[0] - moved(formula, z - h * e, parameters)[0])[0] for e in np.eye(n)
        ]
        sign, expected = np.linalg.slogdet(np.array(around) / (2 * h))
        assert sign > 0 or formula.startswith("hh")  # one reflection turns the orientation
        assert logdet[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("formula", FORMULAS)
def test_gradients_by_parameters_are_those_of_differences(formula: str) -> None:
    n, rows, h = 3, 4, 1e-6
    parameters = wild(formula, n)
    rng = np.random.default_rng(1)
    z, slopes, weights = rng.normal(size=(rows, n)), rng.normal(size=(rows, n)), rng.random(rows)

    def objective(p: np.ndarray) -> float:
        points, logdets = moved(formula, z, p)
        return float(weights @ ((slopes * points).sum(1) + logdets))

    (found,) = flow_of(formula, n).gathering(rows)([parameters, z, slopes, weights])
    expected = [
        (objective(parameters + h * e) - objective(parameters - h * e)) / (2 * h) for e in np.eye(len(parameters))
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6 * (1 + np.abs(found).max()))


@pytest.mark.parametrize("name", ["planar", "radial"])
def test_planar_and_radial_layers_increase_along_every_line_that_they_bend(name: str) -> None:
    """With parameters that would fold without their constraint."""
    for seed in range(20):
        parameters = 5.0 * wild(name, 2, seed)
        z = np.random.default_rng(seed).normal(size=(64, 2))
        _, logdets = moved(name, z, parameters)
        assert np.isfinite(logdets).all()


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_begin_near_an_isometry(name: str) -> None:
    flow = flow_of(name, 4)
    z = np.random.default_rng(2).normal(size=(50, 4))
    start = flow.begin(np.zeros(4), np.ones(4), np.random.default_rng(0))
    points, logdets = moved(name, z, start)
    assert np.abs(logdets).max() < 1.0
    assert np.abs(np.linalg.norm(points, axis=1) / np.linalg.norm(z, axis=1) - 1.0).max() < 0.6


def banana() -> pm.Model:
    """y near x squared: means 0 and 1, deviations 1 and sqrt(2.09), evidence 1."""
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 1.0)
        pm.Normal("y", x**2, 0.3)
    return model


def funnel() -> pm.Model:
    """Scales that depend on a coordinate: deviations 1.5 and exp(9/16), evidence 1."""
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 1.5)
        pm.Normal("z", 0.0, pm.math.exp(v / 2.0), shape=2)
    return model


def two_modes() -> pm.Model:
    """Equal modes at (-1.5, -1.5) and (1.5, 1.5)."""
    with pm.Model() as model:
        x = pm.Flat("x", shape=2)
        squares = [-0.5 * (((x - c) / 0.7) ** 2).sum() for c in (1.5, -1.5)]
        pm.Potential("p", pm.math.logaddexp(*squares) - np.log(4.0 * np.pi * 0.49))
    return model


TARGETS = {
    "banana": (banana, [0.0, 1.0], [1.0, np.sqrt(2.09)]),
    "funnel": (funnel, [0.0] * 3, [1.5, np.exp(9 / 16), np.exp(9 / 16)]),
    "two modes": (two_modes, [0.0] * 2, [np.sqrt(1.5**2 + 0.49)] * 2),
}


@pytest.mark.parametrize("method", ["iaf", "realnvp"])
@pytest.mark.parametrize("target", sorted(TARGETS))
def test_flows_come_nearer_than_a_normal_on_targets_that_are_none(target: str, method: str) -> None:
    """The bound, which is at most the log evidence 0, and both moments."""
    model, mean, std = TARGETS[target]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        normal = pm.fit(method="fullrank_advi", model=model(), random_seed=1)
        flow = pm.fit(method=method, model=model(), random_seed=1)
    assert normal.elbo < flow.elbo - 0.2
    assert flow.elbo < 0.02
    errors = []
    for approx in (flow, normal):
        center, spread = approx.moments()
        errors.append(max(np.abs((center - mean) / std).max(), np.abs(np.array(spread) / std - 1.0).max()))
    assert errors[0] < min(0.2, errors[1])


def test_log_densities_of_draws_are_those_of_the_density_by_the_inverse() -> None:
    """Of an affine flow, whose density is a normal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        approx = pm.fit(200, method="nfvi=scale-loc", model=banana(), random_seed=1, converge=False)
    points, logq = approx.points(100, np.random.default_rng(1))
    loc, scale = approx.parameters[2:], np.exp(approx.parameters[:2])
    expected = -0.5 * (((points - loc) / scale) ** 2).sum(1) - np.log(scale).sum() - np.log(2 * np.pi)
    np.testing.assert_allclose(logq, expected, rtol=1e-12)


def test_a_scale_and_a_shift_are_mean_field() -> None:
    rng = np.random.default_rng(3)
    data = rng.normal(2.0, 0.5, size=40)
    with pm.Model() as model:
        m = pm.Normal("m", 0.0, 5.0)
        pm.Normal("y", m, 0.5, observed=data)
    approx = pm.fit(method="nfvi=scale-loc", model=model, random_seed=1)
    precision = 1 / 25 + 40 / 0.25
    loc, scale = approx.parameters[1], np.exp(approx.parameters[0])
    assert approx.converged
    assert loc == pytest.approx(data.sum() / 0.25 / precision, abs=0.05 / np.sqrt(precision))
    assert scale == pytest.approx(1 / np.sqrt(precision), rel=0.05)


def test_draws_and_expressions_of_a_flow_agree() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        approx = pm.fit(1500, method="iaf", layers=2, model=banana(), random_seed=1, converge=False)
    draws = approx.sample(4000, random_seed=1, return_inferencedata=False)["y"]
    node = approx.sample_node(approx.model["y"], size=4000)
    other = pm.draw(node, random_seed=2)
    assert other.shape == (4000,)
    np.testing.assert_allclose(np.quantile(draws, [0.25, 0.5, 0.75]), np.quantile(other, [0.25, 0.5, 0.75]), atol=0.1)
    assert pm.draw(approx.sample_node(approx.model["y"]), random_seed=2).shape == ()


def test_restarts_have_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads in (1, 2, 8):
        monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
        approx = pm.fit(
            300, method="planar", layers=4, model=funnel(), random_seed=5, restarts=4, converge=False, check=False
        )
        found.append((approx.parameters.tobytes(), approx.hist.tobytes()))
    assert found[0] == found[1] == found[2]


CHILD = """
import os, pickle, sys
from pathlib import Path
from tests.variational.test_flows import funnel
import consilience as pm
place = Path(sys.argv[1])
method = pm.NFVI("planar*4-scale-loc", model=funnel(), random_seed=7)
while True:
    method.refine(100, check=False)
    part = place.with_suffix(".part")
    part.write_bytes(pickle.dumps(method))
    os.replace(part, place)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_fit_goes_on_from_its_last_file_with_the_same_bits(tmp_path: Path) -> None:
    place = tmp_path / "fit.pickle"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(place)], cwd=Path(__file__).parents[2])
    try:
        deadline = time.monotonic() + 60
        while not place.exists():
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    resumed = pickle.loads(place.read_bytes())
    begun = resumed.taken
    assert begun >= 100
    resumed.refine(200, check=False)
    whole = pm.NFVI("planar*4-scale-loc", model=funnel(), random_seed=7)
    whole.refine(begun + 200, check=False)
    np.testing.assert_array_equal(resumed.approx.parameters, whole.approx.parameters)
    np.testing.assert_array_equal(resumed.hist, whole.hist)


def test_formulas_name_their_layers_in_order() -> None:
    assert layers_of("scale-planar*2-loc") == ("scale", "planar", "planar", "loc")
    for wrong in ("", "planer", "planar*0", "planar*-1", "planar**2", "scale,loc", "planar-"):
        with pytest.raises(ValueError, match="planar\\*8-scale-loc"):
            pm.NFVI(wrong, model=banana())


def test_what_a_flow_cannot_be_is_refused() -> None:
    with pm.Model() as one:
        pm.Normal("x")
    with pytest.raises(ValueError, match="`coupling` need 2 coordinates, and the model has 1"):
        pm.fit(method="realnvp", model=one)
    with pytest.raises(ValueError, match="no natural gradient"):
        pm.fit(method="iaf", model=one, obj_optimizer=pm.natural_gradient)
    with pytest.raises(ValueError, match="`layers` must be a whole number > 0, got 0"):
        pm.fit(method="planar", layers=0, model=one)
    with pytest.raises(TypeError, match="`layers` is for"):
        pm.fit(method="advi", layers=3, model=one)
    with pytest.raises(TypeError, match="method='nfvi'"):
        pm.fit(method="planar", inf_kwargs={"flow": "iaf"}, model=one)


def test_a_flow_of_one_coordinate_is_fitted_and_its_light_tails_are_told() -> None:
    """The log of a gamma variable has an exponential tail, which no flow of normals has."""
    with pm.Model() as one:
        pm.Gamma("x", 2.0, 1.0)
    with pytest.warns(ConsilienceWarning, match="tails are too light"):
        approx = pm.fit(method="planar", layers=4, model=one, random_seed=1)
    assert approx.elbo == pytest.approx(0.0, abs=0.05)
