"""Sparse factors of a curvature: products with them, metrics in their coordinates, where the curvature comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import consilience as pm
from consilience.elimination.curvature_pattern import curvature_pattern
from consilience.events import Event, Progress
from consilience.inference import whitening
from consilience.inference.curvature import SparseCurvature
from consilience.inference.metric import Scales, install, installed, new_metric, scale_momentum, velocity_of
from consilience.inference.vectors import Vectors
from consilience.inference.whitening import Whitener, whitening_of
from consilience.model.log_density import model_density
from tests.cutting import stopping


def random_factor(seed: int, count: int) -> tuple[Whitener, np.ndarray]:
    """A sparse factor in a random order of elimination, and as a matrix in the order of the coordinates."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    order = rng.permutation(count)
    lower = np.tril(rng.standard_normal((count, count)) * (rng.random((count, count)) < 0.4), -1)
    diagonal = rng.uniform(0.5, 2.0, count)
    below = sparse.csc_matrix(lower)
    own = np.empty(count)
    own[order] = diagonal
    whole = np.zeros((count, count))
    whole[np.ix_(order, order)] = lower + np.diag(diagonal)
    starts, rows = below.indptr.astype(np.int64), order[below.indices].astype(np.int32)
    return Whitener(order, starts, rows, below.data, own), whole


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 12))
def test_products_and_solutions_are_those_of_the_matrix(seed: int, count: int) -> None:
    """In CPython and as machine code."""
    factor, lower = random_factor(seed, count)
    points = np.random.default_rng(seed).standard_normal((3, count))
    np.testing.assert_allclose(factor.seen(points), points @ lower, atol=1e-10)
    np.testing.assert_allclose(factor.slopes(points), np.linalg.solve(lower, points.T).T, rtol=1e-8, atol=1e-8)
    for function, expected in (
        (whitening.solve_lower, np.linalg.solve(lower, points[0])),
        (whitening.solve_upper, np.linalg.solve(lower.T, points[0])),
        (whitening.times_lower, lower @ points[0]),
    ):
        for run in (function, function.compiled):
            vector = points[0].copy()
            run(whitening_of(factor), vector)
            np.testing.assert_allclose(vector, expected, rtol=1e-8, atol=1e-8)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(2, 9), st.integers(0, 2))
def test_momenta_of_a_whitened_metric_have_the_mass_whose_inverse_gives_velocities(
    seed: int, count: int, rank: int
) -> None:
    """Also with directions; and the metric in place is the one that was installed."""
    factor, lower = random_factor(seed, count)
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((count, count)))[0][:rank]
    scales = Scales(rng.uniform(0.5, 2.0, count), directions, rng.uniform(0.3, 3.0, rank), factor)
    metric = new_metric(Vectors(count))
    install(metric, scales)
    root, inverse = np.empty((count, count)), np.empty((count, count))
    for i, unit in enumerate(np.eye(count)):
        root[:, i] = unit
        momentum, velocity = unit.copy(), np.empty(count)
        scale_momentum.compiled(metric, momentum)
        root[:, i] = momentum
        velocity_of.compiled(metric, unit.copy(), velocity)
        inverse[:, i] = velocity
    np.testing.assert_allclose(inverse @ root @ root.T, np.eye(count), atol=1e-7)
    inner = np.diag(scales.scale) @ (np.eye(count) + directions.T @ np.diag(scales.eigenvalues - 1.0) @ directions)
    expected = np.linalg.solve(lower.T, inner @ np.diag(scales.scale) @ np.linalg.inv(lower))
    np.testing.assert_allclose(inverse, expected, rtol=1e-6, atol=1e-8)
    again = Scales.load(installed(metric).save())
    assert again.whitener is not None
    np.testing.assert_array_equal(again.whitener.seen(np.eye(count)), factor.seen(np.eye(count)))


def walk(length: int) -> pm.Model:
    """A random walk with Poisson counts, whose step is estimated."""
    counts = np.random.default_rng(1).poisson(np.exp(1.0 + 0.1 * np.random.default_rng(2).normal(size=length).cumsum()))
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 2.0)
        step = pm.HalfNormal("step", 0.3)
        x = pm.GaussianRandomWalk("x", sigma=step, init_dist=pm.Normal.dist(0.0, 1.0), shape=length)
        pm.Poisson("y", pm.math.exp(level + x), observed=counts)
    return model


@pytest.mark.parametrize("sparse", [True, False])
def test_the_factor_is_that_of_the_mean_curvature(sparse: bool) -> None:
    """With rows of their own for coordinates that act together with all others; and where nothing is sparse."""
    density = model_density(walk(40))
    pattern = (lambda: curvature_pattern(density, 10)) if sparse else (lambda: None)
    points = 0.1 * np.random.default_rng(3).standard_normal((3, density.dimension)) + np.r_[1.0, -2.0, np.zeros(40)]
    found = SparseCurvature(density, pattern).whitener(points, np.full(density.dimension, 0.1))
    assert found is not None
    lower = found.seen(np.eye(density.dimension))
    curvature = np.zeros((density.dimension, density.dimension))
    for point in points[: 3 if sparse else None]:
        for i, unit in enumerate(1e-4 * np.eye(density.dimension)):
            curvature[i] -= (density(point + unit)[1] - density(point - unit)[1]) / 2e-4 / len(points)
    np.testing.assert_allclose(lower @ lower.T, 0.5 * (curvature + curvature.T), rtol=1e-4, atol=1e-3)


def test_a_curvature_that_is_not_definite_gets_a_multiple_of_its_diagonal() -> None:
    """As of a mixture between its modes; a flat coordinate, and one of which the density has no value, do no harm."""
    with pm.Model() as model:
        pm.Mixture("x", [0.5, 0.5], pm.Normal.dist([-3.0, 3.0], 1.0), shape=5)
        pm.Flat("flat")
    density = model_density(model)
    curvature = SparseCurvature(density, lambda: curvature_pattern(density))
    found = curvature.whitener(np.zeros((2, 6)), np.ones(6))
    assert found is None or np.isfinite(found.seen(np.eye(6))).all()
    beyond = np.full((2, 6), np.nan)
    assert curvature.whitener(beyond, np.ones(6)) is None
    assert curvature.spent > 0


WALK = 1500, 0.05, 1.0  # length, and standard deviations of steps and noise


def series() -> np.ndarray:
    """Data of a walk seen through noise."""
    rng, (length, step, noise) = np.random.default_rng(4), WALK
    return np.asarray(step * rng.normal(size=length).cumsum() + noise * rng.normal(size=length))


def noisy_walk() -> pm.Model:
    """Its model, of known standard deviations."""
    with pm.Model() as model:
        x = pm.GaussianRandomWalk("x", sigma=WALK[1], init_dist=pm.Normal.dist(0.0, 1.0), shape=WALK[0])
        pm.Normal("y", x, WALK[2], observed=series())
    return model


def test_draws_with_a_whitened_metric_are_those_of_the_exact_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random walk seen through noise, whose posterior is a normal distribution with a tridiagonal precision.

    The gradients that the curvature takes are among those that are counted.
    """
    from scipy.linalg import solveh_banded

    asked: list[SparseCurvature] = []
    take = SparseCurvature.whitener
    monkeypatch.setattr(SparseCurvature, "whitener", lambda own, *given: (asked.append(own), take(own, *given))[1])
    y, (length, step, noise), told = series(), WALK, list[Event]()
    result = pm.sample(model=noisy_walk(), random_seed=5, progressbar=False, callback=told.append)
    by_chains = sum(chain.gradients for chain in [e for e in told if isinstance(e, Progress)][-1].chains)
    assert len(set(asked)) == 1
    assert result.posterior.attrs["gradients"] - by_chains == asked[0].spent > 0
    assert result.status == "converged"
    assert float(result.sample_stats.n_steps.mean()) < 20  # more than two hundred with a diagonal metric
    band = np.zeros((2, length))
    band[0, 1:] = -(step**-2)
    band[1] = 2.0 * step**-2 + noise**-2
    band[1, 0], band[1, -1] = 1.0 + step**-2 + noise**-2, step**-2 + noise**-2
    mean = solveh_banded(band, y / noise**2)
    draws: Any = result.posterior.x.values.reshape(-1, length)
    sizes = pm.ess(result, var_names=["x"]).x.values
    errors = (draws.mean(axis=0) - mean) / (draws.std(axis=0) / np.sqrt(sizes))
    assert np.abs(errors).max() < 5.0
    assert np.sqrt((errors**2).mean()) < 1.3


def test_a_run_with_a_whitened_metric_goes_on_from_a_checkpoint_bit_for_bit(tmp_path: Path) -> None:
    """Cut off after one message, three, five; another pattern of threads gives the same draws."""
    model = noisy_walk()
    unbroken = pm.sample(model=model, random_seed=5, progressbar=False, cores=1)
    tree = pm.sample(
        model=model, random_seed=5, progressbar=False, save=pm.Save(checkpoint=tmp_path / "run"), callback=stopping(1)
    )
    attempts = 1
    while tree.status == "interrupted":
        attempts += 2
        tree = pm.resume(tmp_path / "run", model, callback=stopping(attempts), progressbar=False)
    assert attempts > 1
    np.testing.assert_array_equal(tree.posterior["x"], unbroken.posterior["x"])
    for name in ("gradients", "gradients_warmup"):
        assert tree.posterior.attrs[name] == unbroken.posterior.attrs[name]
