"""Compiled log densities and gradients of the reference posteriors agree with plain sums of log densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from consilience.model.log_density import ModelDensity
from tests.posteriordb import densities
from tests.posteriordb.densities import DENSITIES, Array, positive
from tests.posteriordb.models import MODELS
from tests.posteriordb.test_posteriors import load

STEP = 1e-100  # of the complex argument: nothing is subtracted, so it may be as small as one likes
POINTS = 10


def terms(name: str, data: dict[str, Any], density: ModelDensity, position: Array) -> Array:
    """All terms of the log density at a position, those of the change of variables among them."""
    values, result = {}, []
    for stretch in density.layout.stretches:
        value = position[stretch.slice].reshape(stretch.shape)
        parameter = stretch.variable.name
        if positive(name, parameter):
            result.append(value)
            value = np.exp(value)
        values[parameter] = value
    result += DENSITIES[name](data, values)
    return np.concatenate([np.ravel(term) for term in result])


def positions(name: str, density: ModelDensity, reference: dict[str, dict[str, float]]) -> Array:
    """Points of two kinds: around the reference posterior, and where chains begin that know nothing."""
    rng = np.random.default_rng(len(name))
    near = np.zeros((POINTS, density.dimension))
    for stretch in density.layout.stretches:
        parameter = stretch.variable.name
        for i in range(stretch.size):
            published = reference.get(f"{parameter}[{i + 1}]" if stretch.shape else parameter)
            if published is None:  # standard normal in the posterior, or nearly so
                near[:, stretch.start + i] = rng.normal(size=POINTS)
                continue
            mean, deviation = published["mean"], published["sd"]
            if positive(name, parameter):
                mean, deviation = np.log(mean), deviation / mean
            near[:, stretch.start + i] = mean + 2 * deviation * rng.normal(size=POINTS)
    return np.concatenate([near, rng.uniform(-2, 2, (POINTS, density.dimension))])


# Whose coordinates are more than logarithms of the parameters, or whose rounding errors grow along a path.
WITHOUT = {"hmm_example-hmm_example", "bball_drive_event_1-hmm_drive_1", "hudson_lynx_hare-lotka_volterra"}


def test_every_posterior_has_a_second_density() -> None:
    """The table of second densities and the table of models name the same posteriors, but for three."""
    assert set(DENSITIES) == set(MODELS) - WITHOUT


@pytest.mark.parametrize("name", sorted(DENSITIES))
def test_compiled_density_and_gradient_are_the_sums_of_the_terms(name: str) -> None:
    """To 1e-11 of the sum of the terms' sizes: rounding of each, 1e-16, times what the residuals cancel."""
    build, _ = MODELS[name]
    posterior = load(name)
    data = posterior["data_values"]
    density = build(pm, pt, data).log_density()
    directions = 1j * STEP * np.eye(density.dimension)
    for position in positions(name, density, posterior["reference_summary"]):
        logp, gradient = density(position)
        expected = terms(name, data, density, position)
        assert abs(logp - expected.sum()) <= 1e-11 * np.abs(expected).sum()
        slopes = np.array([terms(name, data, density, position + step).imag / STEP for step in directions])
        error = np.abs(gradient - slopes.sum(axis=1))
        assert np.all(error <= 1e-11 * np.abs(slopes).sum(axis=1)), (error, np.abs(slopes).sum(axis=1))


@pytest.mark.parametrize("name", sorted(DENSITIES))
def test_expanded_positions_are_the_arguments_of_the_density(name: str) -> None:
    """Draws are stored on the scale that the density means: logarithms undone, nothing permuted."""
    build, _ = MODELS[name]
    posterior = load(name)
    density = build(pm, pt, posterior["data_values"]).log_density()
    many = positions(name, density, posterior["reference_summary"])
    expanded = density.expand(many)
    for stretch in density.layout.stretches:
        value = many[:, stretch.slice].reshape(len(many), *stretch.shape)
        parameter = stretch.variable.name
        expected = np.exp(value) if positive(name, parameter) else value
        assert_allclose(expanded[parameter], expected, rtol=1e-14)


def test_formulas_of_the_second_densities_agree_with_scipy() -> None:
    """The formulas that take complex numbers are the densities that SciPy gives for real ones."""
    rng = np.random.default_rng(1)
    x, s = rng.normal(size=20), np.exp(rng.normal(size=20))
    positives = np.exp(x)
    assert_allclose(densities.normal(x, 0.3, s), stats.norm(0.3, s).logpdf(x), rtol=1e-12)
    assert_allclose(densities.half_normal(positives, s), stats.halfnorm(0, s).logpdf(positives), rtol=1e-12)
    assert_allclose(densities.half_cauchy(positives, s), stats.halfcauchy(0, s).logpdf(positives), rtol=1e-12)
    assert_allclose(densities.gamma(positives, 25, 4), stats.gamma(25, scale=1 / 4).logpdf(positives), rtol=1e-12)
    root = rng.normal(size=(20, 20))
    covariance = root @ root.T + np.eye(20)
    expected = stats.multivariate_normal(np.zeros(20), covariance).logpdf(x)
    assert_allclose(densities.multivariate_normal(x, covariance).sum(), expected, rtol=1e-11)
