"""Graphs without a density that users write by mistake: what stops them, on which line, and what would help."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.errors import MissingRuleError
from consilience.ir import Node


def normal() -> Node:
    """A variable with values of both signs."""
    return pd.Normal.dist(0.3, 0.8)


def gamma() -> Node:
    """A variable with positive values."""
    return pd.Gamma.dist(2.0, 1.0)


def in_a_model() -> Node:
    """A deterministic variable of two parents."""
    with pm.Model():
        return pm.Deterministic("mu", pm.Normal("a") * pm.HalfNormal("b", 1.0))


# The graph, what stops it, and what would help.
MISTAKES = {
    "noise times a scale": (lambda: normal() * gamma(), "result of mul.*2 random operands", r"Normal\.dist\(0\.0, x\)"),
    "noise added": (lambda: normal() + gamma(), "result of add.*2 random operands", r"Normal\.dist\(x, 1\.0\)"),
    "different rates": (
        lambda: gamma() + pd.Gamma.dist(2.0, 3.0),
        "result of Gamma .* and the result of Gamma",
        "`conditional_logp`",
    ),
    "variable of a model": (in_a_model, "`mu` .*2 random operands.*`a` .* and `b` ", "`conditional_logp`"),
    "child and parent": (
        lambda: (lambda x: x + pd.Normal.dist(x, 1.0))(normal()),
        "is a parameter of another",
        "`conditional_logp`",
    ),
    "variable times itself": (lambda: (lambda x: x * x)(normal()), "used twice in one step", r"`x\*\*2` for `x \* x`"),
    "polynomial": (
        lambda: (lambda x: x**2 + x)(normal()),
        "more than one depends on the result of Normal",
        "as a function of one operand",
    ),
    "monotone without a closed inverse": (
        lambda: (lambda x: x + pt.exp(x))(normal()),
        "increases in the result of Normal",
        "`numeric_inverse=True`",
    ),
    "function that is not monotone": (lambda: pt.sin(normal()), "no rule for `sin`", r"`CustomDist\(logp=\)`"),
    "number that is stretched": (
        lambda: normal() + np.zeros(3),
        "repeats one random number over several elements",
        "full `shape`",
    ),
    "part chosen by itself": (
        lambda: (lambda x: pt.where(x > 0.0, x, 2.0 * x))(normal()),
        "result of where.*same random numbers twice",
        "function of one expression",
    ),
    "two bounds": (
        lambda: (lambda x: (x > 0.0) & (x < 1.0))(normal()),
        "result of bitwise_and.*same random numbers twice",
        "function of one expression",
    ),
    "softmax of gammas": (
        lambda: pt.special.softmax(pd.Gamma.dist(2.0, 1.0, shape=3)),
        "softmax.*all coordinates .* are normal",
        "Fix a coordinate",
    ),
    "no random variable": (lambda: 2.0 * pt.as_tensor(3.0), "does not depend on a random variable", "deterministic"),
    "exponent of both signs": (
        lambda: normal() ** pt.scalar("c"),
        "result of pow.*the exponent is not known",
        "exponent as a number",
    ),
    "elements twice": (
        lambda: pd.Normal.dist(0.0, 1.0, shape=3)[[0, 0]],
        "repeats elements of a random tensor",
        "constants that differ",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_name_the_node_the_line_and_the_way_out(name: str) -> None:
    """In this order: the node that stops the derivation with the user's line, why, and what would help."""
    make, why, instead = MISTAKES[name]
    with pytest.raises(MissingRuleError) as raised:
        logprob.logp(make(), 0.3)
    message = str(raised.value)
    assert message.startswith("no density follows for ")
    for wanted in (r"written at .*test_messages\.py:\d+", why, instead):
        assert re.search(wanted, message), message


@pytest.mark.parametrize(
    "made",
    [
        lambda size: pm.Flat("inner", size=size),
        lambda size: pm.Normal("inner") + pm.Normal.dist(size=size),
        lambda size: pm.Deterministic("inner", pm.Normal.dist(size=size)),
    ],
)
def test_functions_that_make_expressions_add_nothing_to_the_model(made: Any) -> None:
    with pm.Model() as model:
        with pytest.raises(pm.ModelError, match=r"`dist` (makes `inner`|asks for the model).*without a name"):
            pm.CustomDist("y", dist=made, observed=[1.0, 2.0])
        pm.Normal("x")
    assert list(model.named) == ["x"]


def test_formulas_that_are_missing() -> None:
    """A quantile of a maximum has no formula, and the density of a number is none."""
    with pytest.raises(
        MissingRuleError, match=r"no `icdf` follows for the result of maximum.*test_messages\.py.*`logp`"
    ):
        logprob.icdf(pt.maximum(normal(), gamma()), 0.3)
    for formula in (logprob.logp, logprob.logcdf, logprob.logccdf, logprob.icdf):
        with pytest.raises(TypeError, match=r"a random variable or an expression of some was needed, got 3\.0"):
            formula(3.0, 0.3)


def test_distributions_of_graphs() -> None:
    """The option of `CustomDist` is the same, and belongs to `dist`."""

    def dist(mu, size):
        x = pd.Normal.dist(mu, 1.0, size=size)
        return x + pt.tanh(x)

    with pytest.raises(
        MissingRuleError, match=r"test_messages\.py.*`numeric_inverse=True` to `logp`, or to `CustomDist`"
    ):
        pm.CustomDist.dist(0.3, dist=dist)
    rv = pm.CustomDist.dist(0.3, dist=dist, numeric_inverse=True)
    same = dist(0.3, None)
    found, expected = pm.logp(rv, [0.2, 1.4]), pm.logp(same, [0.2, 1.4], numeric_inverse=True)
    np.testing.assert_allclose(*pt.function([], [found, expected])())
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 1.0)
        pm.CustomDist("y", mu, dist=dist, numeric_inverse=True, observed=[0.2, 1.4])
    point = {"mu": 0.4}
    step = 1e-5
    slope = (model.compile_logp()({"mu": 0.4 + step}) - model.compile_logp()({"mu": 0.4 - step})) / (2 * step)
    np.testing.assert_allclose(model.compile_dlogp()(point), slope, rtol=1e-6)
    with pytest.raises(TypeError, match="for densities derived from `dist`"):
        pm.CustomDist.dist(0.3, logp=lambda value, mu: -value, numeric_inverse=True)
