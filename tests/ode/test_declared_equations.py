"""PyMC's form of an equation, and a published posterior with it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ParameterError, ShapeError
from tests.ode.equations import lotka_volterra
from tests.posteriordb.test_posteriors import compare, load, reproduced

TIMES = np.arange(0.5, 5, 0.5)


def logistic(y: Any, t: Any, p: Any) -> Any:
    """Growth to one."""
    return p[0] * y[0] * (1 - y[0])


def growth(y0: float, rate: float) -> np.ndarray:
    """Its solution."""
    risen = y0 * np.exp(rate * TIMES)
    return risen / (1 - y0 + risen)


class TestDifferentialEquation:
    """`DifferentialEquation(func, times, n_states, n_theta, t0)`."""

    def test_states_and_their_derivatives(self) -> None:
        y0, theta = pt.vector("y0"), pt.vector("theta")
        equation = pm.ode.DifferentialEquation(logistic, TIMES, n_states=1, n_theta=1, rtol=1e-8, atol=1e-10)
        states, slopes = equation(y0=y0, theta=theta, return_sens=True)
        plain = equation([y0[0]], [theta[0]])
        f = pt.function([y0, theta], [states, slopes, plain, *pt.grad(plain.sum(), [y0, theta])])
        found, sensitivities, alone, by_start, by_rate = f([0.1], [2.0])
        h = 1e-5
        exact = np.stack(
            [(growth(0.1 + h, 2.0) - growth(0.1 - h, 2.0)), (growth(0.1, 2 + h) - growth(0.1, 2 - h))], -1
        ) / (2 * h)
        assert sensitivities.shape == (9, 1, 2)
        assert_allclose(found[:, 0], growth(0.1, 2.0), rtol=1e-7)
        assert_allclose(alone, found, rtol=1e-6)
        assert_allclose(sensitivities[:, 0], exact, rtol=1e-6, atol=1e-8)
        assert_allclose([*by_start, *by_rate], exact.sum(axis=0), rtol=1e-5)

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"n_states": 0}, ParameterError, "`n_states` must be an integer >= 1"),
            ({"n_theta": 0}, ParameterError, "`n_theta` must be an integer >= 1"),
            ({"n_states": 1.5}, ParameterError, "`n_states`"),
            ({"func": 3}, TypeError, "`func` must be a function"),
            ({"tolerance": 1}, TypeError, "no setting `tolerance`"),
            ({"n_states": 2}, ShapeError, "`y0` must be a vector of 2 numbers, as declared"),
            ({"n_theta": 2}, ShapeError, "`theta` must be a vector of 2 numbers, as declared"),
            ({"times": TIMES - 1}, ParameterError, "may lie before `t0`"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, change: dict[str, Any], error: type[Exception], message: str) -> None:
        given: dict[str, Any] = {
            "func": lambda y, t, p: [logistic(y, t, p)],
            "times": TIMES,
            "n_states": 1,
            "n_theta": 1,
        }
        with pytest.raises(error, match=re.escape(message)):
            pm.ode.DifferentialEquation(**given | change)(y0=[0.1], theta=[2.0])


def lynx_and_hare(method: str) -> tuple[pm.Model, dict[str, Any]]:
    """The published model, with a solver of adaptive steps, and its reference."""
    posterior = load("hudson_lynx_hare-lotka_volterra")
    d = posterior["data_values"]
    equation = pm.ode.DifferentialEquation(lotka_volterra, d["ts"], n_states=2, n_theta=4, t0=0, method=method)
    with pm.Model() as model:
        theta = pm.TruncatedNormal(
            "theta", np.array([1, 0.05, 1, 0.05]), np.array([0.5, 0.05, 0.5, 0.05]), lower=0, shape=4,
            initval=[0.6, 0.03, 0.8, 0.03],
        )  # fmt: skip
        sigma = pm.LogNormal("sigma", -1, 1, shape=2)
        z_init = pm.LogNormal("z_init", np.log(10), 1, shape=2, initval=d["y_init"])
        z = equation(y0=z_init, theta=theta)
        pm.LogNormal("y_init", pt.log(z_init), sigma, observed=np.array(d["y_init"], float))
        pm.LogNormal("y", pt.log(z), sigma, observed=np.array(d["y"], float))
    return model, posterior["reference_summary"]


@pytest.mark.parametrize("method", ["rk45", pytest.param("stiff", marks=pytest.mark.slow)])
def test_lynx_and_hare_are_reproduced(method: str) -> None:
    """Means within 4 standard errors of the published ones, standard deviations within 10 %."""
    model, reference = lynx_and_hare(method)
    with model:
        found = pm.sample(draws=800, tune=600, chains=4, random_seed=2, progressbar=False)
    distances = compare(found["posterior"], reference)
    assert reproduced(distances), distances
