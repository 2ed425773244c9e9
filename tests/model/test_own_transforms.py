"""Transforms that users write, in PyMC's spelling: a density integrates to the same, whatever its coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import consilience as pm
import consilience.tensor as pt
from consilience.distributions import transforms
from consilience.errors import MissingRuleError


class Sinh(transforms.Transform):
    """R to R by y = arcsinh(x); the Jacobian is left to the program."""

    name = "arsinh"

    def forward(self, value: Any, *inputs: Any) -> Any:
        return pt.arcsinh(value)

    def backward(self, value: Any, *inputs: Any) -> Any:
        return pt.sinh(value)


class WithJacobian(Sinh):
    """The same with PyMC's method."""

    name = "sinh2"

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        return pt.log(pt.cosh(value))


class InUnits:
    """No subclass of anything: distances in units of the second parameter."""

    name = "units"

    def forward(self, value: Any, key: Any, size: Any, mu: Any, sigma: Any) -> Any:
        return (value - mu) / sigma

    def backward(self, value: Any, key: Any, size: Any, mu: Any, sigma: Any) -> Any:
        return mu + sigma * value


class Alone:
    """Without the inputs of the variable, and without a name."""

    def forward(self, value: Any) -> Any:
        return value / 3.0

    def backward(self, value: Any) -> Any:
        return 3.0 * value


def ends(key: Any, size: Any, mu: Any, sigma: Any) -> tuple[Any, Any]:
    return mu - sigma, mu + 2.0 * sigma


def above(*inputs: Any) -> tuple[Any, None]:
    return inputs[2], None


# A transform -> the name of the value variable, and the part of N(1, 2) that it reaches.
CASES: dict[str, tuple[Any, str, tuple[float, float]]] = {
    "derivative": (Sinh(), "x_arsinh__", (-np.inf, np.inf)),
    "log_jac_det": (WithJacobian(), "x_sinh2__", (-np.inf, np.inf)),
    "parameters": (InUnits(), "x_units__", (-np.inf, np.inf)),
    "alone": (Alone(), "x_alone__", (-np.inf, np.inf)),
    "chain": (transforms.Chain([Alone(), Sinh()]), "x_chain__", (-np.inf, np.inf)),
    "both bounds": (transforms.Interval(bounds_fn=ends), "x_interval__", (-1.0, 5.0)),
    "one bound": (transforms.Interval(bounds_fn=above), "x_interval__", (1.0, np.inf)),
}


@pytest.mark.parametrize("case", CASES)
def test_density_integrates_to_the_part_that_is_reached(case: str) -> None:
    transform, name, (lower, upper) = CASES[case]
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("x", mu, 2.0, transform=transform)
    for one in (model, pm.do(model, {"mu": 1.0})):
        assert [str(v.name) for v in one.value_vars][-1] == name
        logp = one.compile_logp("x")
        point = {"mu": 1.0} if one is model else {}
        reached, _ = quad(
            lambda u, f=logp, p=point: np.exp(f({**p, name: np.float64(u)})), -30.0, 30.0, points=[0.0], limit=400
        )
        assert reached == pytest.approx(np.diff(stats.norm.cdf([lower, upper], 1.0, 2.0))[0], rel=1e-6)
        density = one.log_density()
        position = np.linspace(0.3, 0.5, density.dimension)
        step = 1e-6 * np.eye(density.dimension)
        slopes = [(density(position + h)[0] - density(position - h)[0]) / 2e-6 for h in step]
        np.testing.assert_allclose(density(position)[1], slopes, rtol=1e-6)


def test_starting_points_and_draws_are_on_the_variables_own_scale() -> None:
    with pm.Model() as model:
        pm.Normal("x", [1.0, 2.0], 2.0, transform=InUnits(), initval=[3.0, 4.0])
    np.testing.assert_allclose(model.initial_point()["x_units__"], [1.0, 1.0])
    trace = pm.sample(
        50, tune=50, chains=1, model=model, random_seed=1, progressbar=False, compute_convergence_checks=False
    )
    assert trace.posterior["x"].shape == (1, 50, 2)


def test_what_is_no_transform_is_refused() -> None:
    with pm.Model():
        for wrong in (Sinh, 3.0, "log"):
            with pytest.raises(TypeError, match=r"a transform must have the methods `forward\(value, \*inputs\)`"):
                pm.Normal("x", 0.0, 1.0, transform=wrong)

        class OfVectors(Sinh):
            ndim_supp = 1

        pm.Normal("y", 0.0, 1.0, shape=3, transform=OfVectors())
        with pytest.raises(MissingRuleError, match="`arsinh` of vectors needs a method `log_jac_det"):
            pm.modelcontext(None).logp()
    with pytest.raises(ValueError, match="takes bounds, or a function `bounds_fn`"):
        transforms.Interval(0.0, 1.0, bounds_fn=ends)
