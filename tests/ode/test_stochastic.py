"""Paths of stochastic equations converge to the exact ones as their methods promise."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError

DRIFT, SPREAD = 0.4, 0.8


def errors(method: str) -> list[float]:
    """Mean errors at time 1 of geometric Brownian motion, for steps of 1/64 and 1/1024."""
    paths, finest = 400, 1024
    z = np.random.default_rng(1).normal(size=(finest, paths))
    exact = np.exp(DRIFT - SPREAD**2 / 2 + SPREAD * z.sum(axis=0) / np.sqrt(finest))
    found = []
    for steps in (64, finest):
        noise = z.reshape(steps, -1, paths).sum(axis=1) / np.sqrt(finest // steps)
        path = pm.ode.sde(
            lambda y, t, p: p[0] * y, lambda y, t, p: p[1] * y, np.ones(paths), np.linspace(0, 1, steps + 1),
            [DRIFT, SPREAD], noise=noise, method=method,
        )  # fmt: skip
        found.append(float(abs(path[-1] - exact).mean().eval()))
    return found


@pytest.mark.parametrize(("method", "order"), [("euler-maruyama", 0.5), ("milstein", 1.0)])
def test_strong_order(method: str, order: float) -> None:
    """Over a factor of 16 in the step."""
    coarse, fine = errors(method)
    assert np.log(coarse / fine) / np.log(16) == pytest.approx(order, abs=0.15)


def test_without_noise_it_is_eulers_method_and_differentiable() -> None:
    k, z = pt.scalar("k"), pt.vector("z", shape=(3,))
    times = [0.0, 0.5, 0.5, 2.0]
    path = pm.ode.sde(lambda y, t, p: [-k * y[0] + t], lambda y, t, p: [0.3], [1.0], times, noise=z[:, None])
    f = pt.function([k, z], [path, *pt.grad(path[-1, 0], [k, z])])
    states, by_k, by_noise = f(0.4, np.zeros(3))
    one = 1 - 0.4 * 0.5
    assert_allclose(states[:, 0], [1.0, one, one, one + 1.5 * (0.5 - 0.4 * one)])
    assert_allclose(by_k, -0.5 * (1 - 0.4 * 1.5) - 1.5 * one)
    assert_allclose(by_noise, 0.3 * np.sqrt([0.5, 0.0, 1.5]) * [1 - 0.6, 1 - 0.6, 1])


def test_methods_agree_where_the_diffusion_is_constant() -> None:
    z = np.random.default_rng(2).normal(size=(20, 2, 2))
    both = [
        pm.ode.sde(lambda y, t, p: -y, lambda y, t, p: 0 * y + 0.5, np.ones((2, 2)), np.linspace(0, 1, 21), noise=z,
                   method=method).eval()
        for method in ("euler-maruyama", "milstein")
    ]  # fmt: skip
    assert_allclose(both[0], both[1], rtol=1e-14)


def test_latent_noise_in_a_model() -> None:
    """A path of an unseen equation under data, its noise standard normal."""
    with pm.Model() as model:
        noise = pm.Normal("noise", shape=(10, 1))
        path = pm.ode.sde(lambda y, t, p: [-y[0]], lambda y, t, p: [0.3], [1.0], np.linspace(0, 1, 11), noise=noise)
        pm.Normal("seen", path[::5, 0], 0.1, observed=[1.0, 0.5, 0.4])
    logp, slope = model.log_density()(np.zeros(10))
    assert np.isfinite(logp)
    assert np.isfinite(slope).all()


def plain(y: Any, t: Any, p: Any) -> Any:
    """Of the shape of y."""
    return y


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"f": 1}, TypeError, "`f` must be a function"),
        ({"g": 1}, TypeError, "`g` must be a function"),
        ({"g": lambda y, t, p: [1.0, 2.0]}, ShapeError, "g(y, t, theta) must give one number for every element"),
        ({"method": "heun"}, ParameterError, "'euler-maruyama' or 'milstein', got 'heun'"),
        ({"t": [1.0, 0.0]}, ParameterError, "must ascend"),
        ({"t": [0.0, 1.0, 2.0]}, ShapeError, "`noise` must have the shape (2, 1)"),
        ({"noise": np.zeros((1, 2))}, ShapeError, "`noise` must have the shape (1, 1)"),
        ({"noise": np.zeros(1)}, ShapeError, "`noise` must have the shape (1, 1)"),
        ({"y0": np.zeros(0)}, ShapeError, "`y0` must have at least one element"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    given: dict[str, Any] = {"f": plain, "g": plain, "y0": [1.0], "t": [0.0, 1.0], "noise": np.zeros((1, 1))}
    with pytest.raises(error, match=re.escape(message)):
        pm.ode.sde(**given | arguments)
