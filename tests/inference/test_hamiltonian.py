"""Laws of the leapfrog integrator and of the momentum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.inference.hamiltonian import draw_momentum, kinetic_energy, leapfrog
from consilience.inference.native_chain import new_state, open_density
from consilience.inference.streams import MOMENTUM
from consilience.inference.vectors import Vectors
from tests.inference.targets import Target, correlated_normal, half_space, standard


def integrate(
    target: Target,
    variance: NDArray[np.float64],
    step: float,
    count: int,
    position: NDArray[np.float64],
    momentum: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """End position, end momentum and the energies along the way, the start included."""
    n = target.dimension
    density = open_density(target, np.zeros(1, np.int64))
    q, p, g = position.copy(), momentum.copy(), np.zeros(n)
    next_q, next_g = np.zeros(n), np.zeros(n)
    _, _ = leapfrog.compiled(density, variance, 0.0, q, g, p, next_q, g, n)
    energies = []
    for _ in range(count):
        logp, kinetic = leapfrog.compiled(density, variance, step, q, g, p, next_q, next_g, n)
        energies.append(kinetic - logp)
        q[:], g[:] = next_q, next_g
    return q, p, np.array(energies)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 20), st.floats(0.01, 0.3), st.integers(1, 30), st.integers(0, 2**31))
def test_leapfrog_is_reversible(dimension: int, step: float, count: int, seed: int) -> None:
    """As many steps back in time lead to where one came from."""
    rng = np.random.default_rng(seed)
    target = correlated_normal(dimension, seed)
    variance = rng.uniform(0.5, 2.0, dimension)
    position, momentum = rng.standard_normal(dimension), rng.standard_normal(dimension)
    there, pushed, _ = integrate(target, variance, step, count, position, momentum)
    back, returned, _ = integrate(target, variance, -step, count, there, pushed)
    np.testing.assert_allclose(back, position, atol=1e-8 * (1.0 + np.abs(there).max()))
    np.testing.assert_allclose(returned, momentum, atol=1e-8 * (1.0 + np.abs(pushed).max()))


def test_energy_error_of_leapfrog_is_of_second_order() -> None:
    """Half the step, a quarter of the energy error over the same time."""
    target = correlated_normal(5, 3)
    rng = np.random.default_rng(4)
    position, momentum = rng.standard_normal(5), rng.standard_normal(5)
    errors = []
    for count in (64, 128, 256):
        _, _, energies = integrate(target, np.ones(5), 3.2 / count, count, position, momentum)
        errors.append(np.abs(energies - energies[0]).max())
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.8 < errors[1] / errors[2] < 4.2


@pytest.mark.parametrize("failure", [1, 2, 3, 4], ids=["status", "nan", "inf", "gradient"])
def test_leapfrog_into_a_place_without_density_loses_all_energy(failure: int) -> None:
    """Whatever is not finite there, the energy is not finite either."""
    target = Target(half_space, 1, np.ones(1), np.ones(1), number=float(failure))
    density = open_density(target, np.zeros(1, np.int64))
    one = np.zeros(1)
    logp, kinetic = leapfrog.compiled(
        density, np.ones(1), 1.0, np.array([0.1]), np.array([-1.0]), np.array([-3.0]), one, np.zeros(1), 1
    )
    assert one[0] < 0.0
    assert not np.isfinite(kinetic - logp)


def test_momentum_has_the_variance_of_the_mass() -> None:
    """100,000 momenta of masses 0.01 to 100."""
    deviation = np.geomspace(0.1, 10.0, 5)
    momentum = np.zeros(5)
    draws = np.empty((20_000, 5))
    state = new_state(7, np.zeros(5), Vectors(5))
    for transition in range(len(draws)):
        state.transition = transition
        draw_momentum.compiled(state, MOMENTUM, 0, deviation, momentum)
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
        assert kinetic_energy.compiled(momentum, variance, dimension) == pytest.approx(expected, rel=1e-13)


def test_density_is_evaluated_once_per_leapfrog() -> None:
    """The count that efficiency is measured with."""
    target = standard(3)
    density = open_density(target, np.zeros(1, np.int64))
    z = np.zeros(3)
    for _ in range(5):
        leapfrog.compiled(density, np.ones(3), 0.1, z, z, np.ones(3), np.zeros(3), np.zeros(3), 3)
    assert density.evaluations == 5
