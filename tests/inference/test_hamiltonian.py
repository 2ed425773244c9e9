"""Laws of the leapfrog integrator and of the momentum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference.density import open_density
from consilience.inference.hamiltonian import draw_momentum, kinetic_energy, leapfrog
from consilience.inference.metric import Metric, diagonal, new_metric, velocity_of
from consilience.inference.point import new_point
from consilience.inference.streams import MOMENTUM
from consilience.inference.vectors import Vectors
from tests.inference.metrics import inverse_mass, metric_of, random_scales
from tests.inference.targets import Target, correlated, correlated_normal, funnel, half_space, standard

Ranks = st.integers(1, 20).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def integrate(
    target: Target,
    metric: Metric,
    step: float,
    count: int,
    position: NDArray[np.float64],
    momentum: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """End position, end momentum and the energies along the way, the start included."""
    n = target.dimension
    density = open_density(target, np.zeros(1, np.int64))
    q, p, v = position.copy(), momentum.copy(), np.zeros(n)
    g, d, next_q, next_g, next_d = np.zeros((5, n))
    velocity_of.compiled(metric, p, v)
    # a step of no length evaluates the start
    logp, kinetic = leapfrog.compiled(density, metric, 0.0, q, g, d, p, v, next_q, next_g, next_d)
    g[:], d[:] = next_g, next_d
    energies = [kinetic - logp]
    for _ in range(count):
        logp, kinetic = leapfrog.compiled(density, metric, step, q, g, d, p, v, next_q, next_g, next_d)
        energies.append(kinetic - logp)
        q[:], g[:], d[:] = next_q, next_g, next_d
    # what is carried along is still what it stands for; drifts are carried only where there are directions
    for carried, of in ((v, p), (d, g))[: 2 if metric.rank else 1]:
        product = np.zeros(n)
        velocity_of.compiled(metric, of, product)
        np.testing.assert_allclose(carried, product, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(product).max()))
    assert kinetic == pytest.approx(0.5 * p @ v, rel=1e-12, abs=1e-300)
    return q, p, np.array(energies)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Ranks, st.floats(0.01, 0.2), st.integers(1, 30), st.integers(0, 2**31))
def test_leapfrog_is_reversible(shape: tuple[int, int], step: float, count: int, seed: int) -> None:
    """As many steps back in time lead to where one came from, whatever the directions of the metric."""
    dimension, rank = shape
    rng = np.random.default_rng(seed)
    target = correlated_normal(dimension, seed)
    metric = metric_of(random_scales(seed, dimension, rank, 0.4))
    position, momentum = rng.standard_normal(dimension), rng.standard_normal(dimension)
    there, pushed, _ = integrate(target, metric, step, count, position, momentum)
    back, returned, _ = integrate(target, metric, -step, count, there, pushed)
    np.testing.assert_allclose(back, position, atol=1e-8 * (1.0 + np.abs(there).max()))
    np.testing.assert_allclose(returned, momentum, atol=1e-8 * (1.0 + np.abs(pushed).max()))


@pytest.mark.parametrize("rank", [0, 2, 5])
def test_energy_error_of_leapfrog_is_of_second_order(rank: int) -> None:
    """Half the step, a quarter of the energy error over the same time."""
    target = correlated_normal(5, 3)
    rng = np.random.default_rng(4)
    position, momentum = rng.standard_normal(5), rng.standard_normal(5)
    metric = metric_of(random_scales(1, 5, rank, 0.3))
    errors = []
    for count in (64, 128, 256):
        _, _, energies = integrate(target, metric, 3.2 / count, count, position, momentum)
        errors.append(np.abs(energies - energies[0]).max())
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.8 < errors[1] / errors[2] < 4.2


@settings(max_examples=40, deadline=None, derandomize=True)
@given(Ranks, st.floats(0.01, 0.5), st.integers(1, 10), st.integers(0, 2**31))
def test_leapfrog_keeps_volume_and_the_symplectic_form(
    shape: tuple[int, int], step: float, count: int, seed: int
) -> None:
    """On a normal target the steps are a linear map J of position and momentum: det J = 1 and J' W J = W."""
    dimension, rank = shape
    centred = Target(
        correlated, dimension, np.zeros(dimension), np.ones(dimension), correlated_normal(dimension, seed).matrix
    )
    metric = metric_of(random_scales(seed, dimension, rank, 0.4))
    columns = []
    for unit in np.eye(2 * dimension):
        q, p, _ = integrate(centred, metric, step, count, unit[:dimension].copy(), unit[dimension:].copy())
        columns.append(np.concatenate([q, p]))
    jacobian = np.array(columns).T
    zero, one = np.zeros((dimension, dimension)), np.eye(dimension)
    form = np.block([[zero, one], [-one, zero]])
    size = np.abs(jacobian).max() ** 2
    np.testing.assert_allclose(jacobian.T @ form @ jacobian, form, atol=1e-12 * dimension * (1.0 + size))
    assert np.linalg.slogdet(jacobian)[1] == pytest.approx(0.0, abs=1e-10 * dimension * (1.0 + size))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(Ranks, st.floats(0.01, 0.3), st.integers(1, 20), st.integers(0, 2**31))
def test_a_metric_is_a_linear_change_of_coordinates(shape: tuple[int, int], step: float, count: int, seed: int) -> None:
    """With inverse mass L L' the same path as under the unit metric in y, x = L y: momenta L' p, energies equal."""
    dimension, rank = shape
    rng = np.random.default_rng(seed)
    target = correlated_normal(dimension, seed)
    scales = random_scales(seed, dimension, rank, 0.4)
    factor = np.linalg.cholesky(inverse_mass(scales))
    mean = np.linalg.solve(factor, target.mean)
    precision = factor.T @ target.matrix @ factor
    turned = Target(correlated, dimension, mean, np.ones(dimension), precision)
    position, momentum = rng.standard_normal((2, dimension))
    q, p, energies = integrate(target, metric_of(scales), step, count, position, momentum)
    y, py, same = integrate(
        turned, new_metric(Vectors(dimension)), step, count, np.linalg.solve(factor, position), factor.T @ momentum
    )
    np.testing.assert_allclose(factor @ y, q, atol=1e-9 * (1.0 + np.abs(q).max()))
    np.testing.assert_allclose(py, factor.T @ p, atol=1e-9 * (1.0 + np.abs(py).max()))
    np.testing.assert_allclose(same, energies, atol=1e-9 * (1.0 + np.abs(energies).max()))


def test_directions_of_eigenvalue_one_change_nothing() -> None:
    """The path with directions and the one without are two pieces of code for one thing, curved targets included."""
    target = Target(funnel, 6, np.zeros(6), np.ones(6))
    rng = np.random.default_rng(2)
    scales = random_scales(3, 6, 5)
    scales.eigenvalues[:] = 1.0
    position, momentum = rng.standard_normal((2, 6))
    with_directions = integrate(target, metric_of(scales), 0.05, 20, position, momentum)
    without = integrate(target, metric_of(diagonal(scales.scale**2)), 0.05, 20, position, momentum)
    for one, other in zip(with_directions, without, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("failure", [1, 2, 3, 4], ids=["status", "nan", "inf", "gradient"])
def test_leapfrog_into_a_place_without_density_loses_all_energy(failure: int, rank: int) -> None:
    """Whatever is not finite there, the energy is not finite either."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=float(failure))
    density = open_density(target, np.zeros(1, np.int64))
    metric = metric_of(random_scales(1, 1, rank, 0.0))
    one, gradient, momentum = np.zeros(1), np.array([-1.0]), np.array([-3.0])
    logp, kinetic = leapfrog.compiled(
        density, metric, 1.0, np.array([0.1]), gradient, gradient.copy(), momentum, momentum.copy(),
        one, np.zeros(1), np.zeros(1),
    )  # fmt: skip
    assert one[0] < 0.0
    assert not np.isfinite(kinetic - logp)


def test_momentum_has_the_variance_of_the_mass() -> None:
    """100,000 momenta of masses 0.01 to 100."""
    deviation = np.geomspace(0.1, 10.0, 5)
    momentum, metric = np.zeros(5), metric_of(diagonal(deviation**-2.0))
    draws = np.empty((20_000, 5))
    point = new_point(7, np.zeros(5), Vectors(5))
    for transition in range(len(draws)):
        point.transition = transition
        draw_momentum.compiled(point, metric, MOMENTUM, 0, momentum)
        draws[transition] = momentum
    scaled = draws / deviation
    assert np.abs(scaled.mean(axis=0)).max() < 5.0 / np.sqrt(len(draws))
    assert np.abs((scaled**2).mean(axis=0) - 1.0).max() < 5.0 * np.sqrt(2.0 / len(draws))
    correlation = np.corrcoef(scaled.T) - np.eye(5)
    assert np.abs(correlation).max() < 5.0 / np.sqrt(len(draws))


def test_kinetic_energy_is_half_the_momentum_times_the_velocity() -> None:
    """Any length, so every tail of the vector loop is seen."""
    rng = np.random.default_rng(0)
    for dimension in range(1, 40):
        momentum, variance = rng.standard_normal(dimension), rng.uniform(0.1, 2.0, dimension)
        expected = 0.5 * np.sum(variance * momentum**2)
        assert kinetic_energy.compiled(momentum, variance * momentum, dimension) == pytest.approx(expected, rel=1e-13)


def test_density_is_evaluated_once_per_leapfrog() -> None:
    """The count that efficiency is measured with."""
    target = standard(3)
    density = open_density(target, np.zeros(1, np.int64))
    metric, z = new_metric(Vectors(3)), np.zeros(3)
    for _ in range(5):
        leapfrog.compiled(density, metric, 0.1, z, z, z, np.ones(3), np.ones(3), *np.zeros((3, 3)))
    assert density.evaluations == 5
