"""Values that data exclude drop out of sums over discrete variables, with their derivatives, whatever excludes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.ir import Node
from consilience.model import marginalize
from tests.model.test_marginalize import full_sum

Y = np.array([0, 3, 0, 2, 1])
SEEN = np.minimum(Y, 1)
MODELS: dict[str, Callable[[], None]] = {}


def a_model(declare: Callable[[], None]) -> Callable[[], None]:
    MODELS[declare.__name__] = declare
    return declare


def occupied() -> Node:
    return pm.Bernoulli("z", pm.Beta("psi", 2, 2), shape=5)


def open_rows() -> Node:
    """Transitions of which one is impossible, the others are not known."""
    a = pm.Beta("a", 1, 1)
    return pt.stack([pt.stack([a, 1 - a]), pt.stack([0.0 * a, 1.0 + 0.0 * a])])


@a_model
def bernoulli() -> None:
    pm.Bernoulli("y", pm.Beta("p", 2, 2) * occupied(), observed=SEEN)


@a_model
def visits() -> None:
    z = pm.Bernoulli("z", pm.Beta("psi", 2, 2), shape=(5, 1))
    effort = pm.Normal("effort", 0, 1, shape=3)
    pm.Bernoulli("y", pm.math.sigmoid(effort) * z, observed=np.outer(SEEN, [1, 0, 1]))


@a_model
def poisson() -> None:
    pm.Poisson("y", pm.Exponential("lam", 1) * occupied(), observed=Y)


@a_model
def binomial() -> None:
    pm.Binomial("y", 4, pm.Beta("p", 2, 2) * occupied(), observed=Y)


@a_model
def negative_binomial() -> None:
    pm.NegativeBinomial("y", mu=pm.Exponential("lam", 1) * occupied(), alpha=2.0, observed=Y)


@a_model
def geometric() -> None:
    pm.Geometric("y", pm.Beta("p", 2, 2) ** (1.0 - occupied()), observed=Y + 1)


@a_model
def by_switch() -> None:
    pm.Poisson("y", pm.math.where(pm.math.eq(occupied(), 1), pm.Exponential("lam", 1), 0.0), observed=Y)


@a_model
def by_index() -> None:
    pm.Poisson("y", pt.stack([0.0, pm.Exponential("lam", 1)])[occupied()], observed=Y)


@a_model
def by_power() -> None:
    pm.Poisson("y", pm.Exponential("lam", 1) ** 2 * occupied() ** 0.5, observed=Y)


@a_model
def mixture_below() -> None:
    pm.ZeroInflatedPoisson("y", mu=pm.Exponential("lam", 1) * occupied(), psi=0.5, observed=Y)


@a_model
def categories() -> None:
    q = pm.Dirichlet("q", np.ones(3))
    rows = pt.stack([pt.stack([1.0, 0.0, 0.0, 0.0]), pt.concatenate([[0.0], q])])
    pm.Categorical("y", p=rows[occupied()], observed=Y)


@a_model
def logarithms_of_rows() -> None:
    q = pm.Dirichlet("q", np.ones(3))
    rows = pt.stack([pt.stack([1.0, 0.0, 0.0, 0.0]), pt.concatenate([[0.0], q])])
    pm.Potential("y", pt.log(rows)[occupied(), Y])


@a_model
def category_without_probability() -> None:
    w = pm.Dirichlet("w", np.ones(2))
    z = pm.Categorical("z", p=pt.concatenate([w, [0.0]]))
    pm.Normal("y", pm.Normal("mu", shape=3)[z], 1.0, observed=Y)


@a_model
def chain_with_zeros() -> None:
    z = occupied()
    pm.Potential("steps", pt.log(open_rows())[z[:-1], z[1:]])
    pm.Normal("y", pm.Normal("mu", shape=2)[z], 1.0, observed=Y)


@a_model
def chain_of_densities() -> None:
    z = occupied()
    pm.Potential("steps", pm.logp(pm.Categorical.dist(p=open_rows()[z[:-1]]), z[1:]))
    pm.Bernoulli("y", pm.Beta("p", 2, 2) * z, observed=SEEN * [0, 1, 1, 1, 1])


@a_model
def potential() -> None:
    z, lam = occupied(), pm.Exponential("lam", 1)
    pm.Potential("y", pm.math.where(pm.math.eq(z, 0) & (Y > 0), -np.inf, pt.log(lam) * Y))


@a_model
def constraint() -> None:
    z = pm.Binomial("z", 3, pm.Beta("p", 2, 2), shape=2)
    pm.Potential("three", pm.math.where(pm.math.eq(z.sum(), 3), 0.0, -np.inf))
    pm.Normal("y", pm.Normal("mu") * z, 1.0, observed=[1.0, 2.0])


@pytest.mark.parametrize("name", MODELS)
def test_impossible_values_drop_out_with_their_derivatives(name: str) -> None:
    with pm.Model() as model:
        MODELS[name]()
    summed = marginalize(model, "z")
    point = summed.initial_point()
    point = {key: value + 0.1 * np.cos(np.arange(value.size)).reshape(value.shape) for key, value in point.items()}
    assert summed.compile_logp()(point) == pytest.approx(full_sum(model, ["z"], point), rel=1e-12)
    density = summed.log_density()
    position = 0.3 * np.cos(np.arange(density.dimension) + 1.0)
    _, slope = density(position)
    step = 1e-6 * np.eye(density.dimension)
    differences = [(density(position + h)[0] - density(position - h)[0]) / 2e-6 for h in step]
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-7)


def test_logarithms_of_sums_have_no_slope_in_what_is_nothing() -> None:
    x = pt.dvector("x")
    at = np.array([0.0, 1.0, 2.0])
    for graph in (pt.logsumexp(pt.log(x)), pt.logaddexp(pt.log(x)[0], pt.log(x)[1:]).sum()):
        (slope,) = pm.function([x], [pt.grad(graph, x)])(at)
        assert slope[0] == 0
        assert np.isfinite(slope).all()
