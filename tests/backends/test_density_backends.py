"""A model's density and its predictions are the same through every backend."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
from consilience.backends import callback, registry
from consilience.backends.registry import installed
from consilience.errors import OutOfBoundsError, Status
from consilience.inference.density import LogDensity
from consilience.ir import tensor_input
from consilience.model.log_density import model_density
from consilience.native.batch import run_batch
from consilience.ops import apply

X = np.linspace(-1.0, 1.0, 7)


def regression() -> pm.Model:
    """Elements times columns, data that can be exchanged, and a mask of the data."""
    with pm.Model() as model:
        x = pm.Data("x", X)
        b = pm.Normal("b", 0, 1, shape=2)
        s = pm.HalfNormal("s")
        pm.Normal("y", b[0] + b[1] * x, s, observed=X**2)
        pm.Deterministic("positive", x[x > 0] * s)
    return model


@pytest.mark.parametrize("backend", installed())
def test_every_backend_gives_a_log_density(backend: str) -> None:
    """Called as a function, mapped over draws, and through the address that native code calls."""
    density = model_density(regression(), backend=backend)
    assert isinstance(density, LogDensity)
    oracle = model_density(regression())
    positions = np.random.default_rng(2).normal(size=(5, density.dimension))
    logp, gradient = np.zeros(5), np.zeros((5, density.dimension))
    scratch = np.zeros(density.workspace + 64, np.uint8)
    status = run_batch(
        density.entry,
        density.constants,
        scratch.ctypes.data + -scratch.ctypes.data % 64,
        5,
        [(positions.ctypes.data, positions.strides[0])],
        [(logp.ctypes.data, 8), (gradient.ctypes.data, gradient.strides[0])],
    )
    assert status == Status.OK
    for position, value, slope in zip(positions, logp, gradient, strict=True):
        wanted, wanted_slope = oracle(position)
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        np.testing.assert_allclose(slope, wanted_slope, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(density(position)[0], wanted, rtol=1e-12)
    named, meant = density.expand(positions), oracle.expand(positions)
    for key, value in meant.items():
        np.testing.assert_allclose(named[key], value, rtol=1e-12)


@pytest.mark.parametrize("backend", installed())
def test_a_failure_in_a_loop_over_draws_is_a_status(backend: str) -> None:
    x, i = tensor_input("float64", (3,)), tensor_input("int64", ())
    code = registry.backend(backend)([x, i], [apply("mul", 2.0, x[i])], {}).bind()
    values, status = code.map([(np.arange(3.0), False), (np.array([0, 5, 2]), True)], 3)
    assert status == Status.OUT_OF_BOUNDS
    np.testing.assert_array_equal(values[0][[0, 2]], [0.0, 4.0])
    with pytest.raises(OutOfBoundsError):
        code([np.arange(3.0), np.array(5)])


def test_exceptions_become_the_bits_of_machine_code() -> None:
    assert callback.status_of(OutOfBoundsError("outside")) == Status.OUT_OF_BOUNDS
