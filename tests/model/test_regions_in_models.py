"""Free variables that branches, loops and functions read have the value of the point, not a draw of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError


def custom(z: Any) -> Any:
    """A function with a derivative of its own, which reads z from around it."""

    @pt.custom_vjp
    def scaled(x: Any) -> Any:
        return x * z

    scaled.defvjp(lambda x: (x * z, (x,)), lambda kept, g: (g * z,))
    return scaled(z + 1.0)


# Functions of z, and what they are at z = 0.5.
READERS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "ifelse": (lambda z: pt.ifelse(z > 0, 2 * z, z), 1.0),
    "ifelse within ifelse": (lambda z: pt.ifelse(z > 0, pt.ifelse(z > 1, pt.exp(z), 3 * z), z), 1.5),
    "another distribution's value": (lambda z: pt.ifelse(z > 0, pm.logp(pm.Normal.dist(z, 1.0), z), z), -0.91893853),
    "switch_case": (lambda z: pt.switch_case(pt.constant(1), z, 4 * z, z), 2.0),
    "scan": (lambda z: pt.scan(lambda v: v * z, np.array([1.0, 2.0]), return_updates=False).sum(), 1.5),
    "while_loop": (lambda z: pt.while_loop(lambda v: v < 1.9, lambda v: v + z, pt.constant(0.0)), 2.0),
    "custom_vjp": (custom, 0.75),
    "vmap": (lambda z: pt.vmap(lambda v: v * z)(pt.constant([1.0, 2.0])).sum(), 1.5),
}


@pytest.mark.parametrize("prior", ["Normal", "Flat", "a component"])
@pytest.mark.parametrize("name", READERS)
def test_regions_read_the_value_of_a_free_variable(name: str, prior: str) -> None:
    make, wanted = READERS[name]
    with pm.Model() as model:
        if prior == "a component":
            z = pm.Mixture("z", [0.5, 0.5], [pm.Normal.dist(0.0, 1.0), pm.Normal.dist(0.0, 1.0)])
        else:
            z = pm.Normal("z") if prior == "Normal" else pm.Flat("z", initval=0.5)
        pm.Potential("potential", make(z))
    start = 0.0 if prior == "Flat" else -0.5 * 0.5**2 - 0.5 * np.log(2 * np.pi)
    logp = model.compile_logp()
    assert logp({"z": 0.5}) == pytest.approx(start + wanted)
    slope = (logp({"z": 0.5 + 1e-6}) - logp({"z": 0.5 - 1e-6})) / 2e-6
    if name != "custom_vjp":  # whose derivative leaves out what it reads from around it
        assert model.compile_dlogp()({"z": 0.5})[0] == pytest.approx(slope, rel=1e-4)


def test_likelihoods_with_means_of_branches() -> None:
    """As many observations as there are, with the mean that the branch gives at the point."""
    y = np.array([0.3, 1.2])
    with pm.Model() as model:
        a, b = pm.Normal("a"), pm.HalfNormal("b")
        pm.Normal("y", pt.ifelse(a > 0, a * b, a - b), b, observed=y)
    at = {"a": 0.4, "b_log__": np.log(1.5)}
    found = model.compile_logp(vars=model.observed_RVs)(at)
    assert found == pytest.approx(np.sum(-0.5 * ((y - 0.6) / 1.5) ** 2 - np.log(1.5) - 0.5 * np.log(2 * np.pi)))


def test_draws_of_a_variable_are_the_same_inside_and_outside() -> None:
    """Of one draw, a branch gives the same number as what stands around it."""
    z = pm.Normal.dist(0.0, 1.0)
    inside, outside = pm.draw([pt.ifelse(pt.constant(True), z * 1.0, z), z], draws=5, random_seed=1)
    np.testing.assert_array_equal(inside, outside)


def test_a_loop_of_unknown_length_inside_a_branch_is_told() -> None:
    x = pt.scalar("x")
    y = pt.ifelse(x > 0, x, pt.while_loop(lambda v: v < -1, lambda v: v / 2, x))
    assert y.eval({x: -5.0}) == -0.625
    with pytest.raises(MissingRuleError, match="give `while_loop` its `max_steps=`"):
        pt.grad(y, x)
    bounded = pt.ifelse(x > 0, x, pt.while_loop(lambda v: v < -1, lambda v: v / 2, x, max_steps=50))
    assert pt.grad(bounded, x).eval({x: -5.0}) == 0.125
