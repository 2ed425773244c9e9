"""Random variables with named dims: their axes, their draws and their keys."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
import consilience.xtensor as px
from consilience.xtensor import random as pxr


def test_axes_are_further_dims_dims_of_parameters_and_those_of_an_event() -> None:
    """In this order, whatever order the parameters have."""
    mu = px.as_xtensor(np.array([0.0, 100.0]), dims="a")
    sigma = px.as_xtensor(np.full((3, 2), 1e-3), dims=("b", "a"))
    x = pxr.normal(mu, sigma, extra_dims={"draw": 4}, rng=pt.key(1))
    assert x.dims == ("draw", "a", "b")
    found = x.eval()
    assert found.shape == (4, 2, 3)
    np.testing.assert_allclose(found, np.broadcast_to(np.array([0.0, 100.0])[:, None], (4, 2, 3)), atol=0.01)
    assert len(np.unique(found)) == found.size

    weights = px.as_xtensor(np.array([[1e6, 1.0], [1.0, 1e6]]), dims=("k", "a"))
    p = pxr.dirichlet(weights, core_dims="k", rng=pt.key(1))
    assert p.dims == ("a", "k")
    np.testing.assert_allclose(p.eval(), np.eye(2), atol=0.01)
    place = pxr.categorical(p, core_dims="k", extra_dims={"draw": 3}, rng=pt.key(2))
    assert place.dims == ("draw", "a")
    np.testing.assert_array_equal(place.eval(), [[0, 1]] * 3)

    cov = px.as_xtensor(np.diag([1e-6, 1e-6]), dims=("a", "a2"))
    for core in (("a", "a2"), ("a2", "a")):
        v = pxr.multivariate_normal(mu, cov, core_dims=core, extra_dims={"draw": 3}, rng=pt.key(3))
        assert v.dims == ("draw", "a")
        np.testing.assert_allclose(v.eval(), [[0.0, 100.0]] * 3, atol=0.01)


def test_keys_draw_with_names_and_go_on() -> None:
    """`next_rng, x = rng.normal(…)`, as the input of a function and as a shared variable."""
    rng = pxr.rng("rng")
    following, x = rng.normal(0, 1, extra_dims={"a": 3})
    assert x.dims == ("a",)
    f = px.function([rng], [following, x])
    state, first = f(np.random.default_rng(153))
    _, second = f(state)
    assert first.shape == (3,)
    assert not np.array_equal(first, second)
    shared = pxr.shared_rng(seed=153)
    after, y = shared.normal(px.as_xtensor(np.zeros(2), dims="b"), 1)
    g = px.function([], y, updates={shared: after})
    assert not np.array_equal(g(), g())


def test_densities_are_those_of_the_plain_variable() -> None:
    x = pxr.normal(px.as_xtensor(np.array([0.0, 1.0]), dims="a"), 2.0)
    np.testing.assert_allclose(pm.logp(x.values, np.array([0.5, 0.5])).eval(), [-1.64333571, -1.64333571], rtol=1e-8)


def test_mistakes_are_named() -> None:
    mu = px.as_xtensor(np.zeros(2), dims="a")
    with pytest.raises(ValueError, match=r"`dirichlet` needs 1 `core_dims`.*got \(\)"):
        pxr.dirichlet(mu)
    with pytest.raises(ValueError, match="have the dim `a` already"):
        pxr.normal(mu, 1.0, extra_dims={"a": 3})
    with pytest.raises(AttributeError, match="did you mean 'normal'"):
        _ = pxr.norma


def test_functions_of_plain_tensors_take_tensors_with_names() -> None:
    """As inputs and outputs: their axes are in the order of the dims."""
    x = px.xtensor("x", dims=("a", "b"))
    f = pm.function([x], [x.sum("a"), x.transpose("b", "a")])
    total, turned = f(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(total, [3.0, 5.0, 7.0])
    assert turned.shape == (3, 2)
    assert pm.function([x], x.sum())(np.ones((2, 3))) == 6.0
