"""Random compositions of cases: the distribution function fits draws, and density and masses make it up."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.ir import Node
from tests.logprob.laws import cdf, evaluated

BASES = {
    "normal": lambda: pd.Normal.dist(0.3, 0.9),
    "gamma": lambda: pd.Gamma.dist(2.5, 1.5),
    "uniform": lambda: pd.Uniform.dist(-1.0, 2.0),
    "laplace": lambda: pd.Laplace.dist(0.2, 0.7),
    "poisson": lambda: pd.Poisson.dist(3.0) * 1.0,
    "second of three": lambda: pd.Normal.dist([0.0, -0.4, 1.0], 0.8)[1],
    "sum": lambda: pd.Gamma.dist(1.2, 2.0, shape=3).sum(),
    "difference": lambda: pt.diff(pd.Normal.dist([0.0, 0.5], 0.8))[0],
    "of a vector": lambda: pd.MvNormal.dist([0.0, 0.5], [[1.0, 0.3], [0.3, 0.7]])[0],
}
STEPS = {
    "exp": lambda x: pt.exp(0.4 * x),
    "reflected": lambda x: 1.0 - x,
    "scaled": lambda x: -1.7 * x,
    "tanh": lambda x: pt.tanh(0.2 * x),
    "sigmoid": lambda x: pt.sigmoid(0.2 * x),
    "softplus": pt.softplus,
    "arcsinh": pt.arcsinh,
    "sinh": lambda x: pt.sinh(0.3 * x),
    "square": pt.square,
    "size": pt.abs,
    "cube": lambda x: (0.5 * x) ** 3,
    "logarithm of the size": lambda x: pt.log1p(pt.abs(x)),
    "root of the size": lambda x: pt.sqrt(pt.abs(x)),
    "censored": lambda x: pt.clip(x, -0.6, 1.3),
    "floor": lambda x: pt.floor(2.0 * x),
    "rounded": lambda x: pt.round(x),
    "digits": lambda x: pt.trunc(3.0 * x) / 3.0,
}
PAIRS = {
    "mixture": lambda x, y: pt.switch(pd.Bernoulli.dist(0.35), x, y),
    "index": lambda x, y: pt.stack([x, y])[pd.Categorical.dist([0.4, 0.6])],
    "greater": lambda x, y: pt.maximum(x, y),
    "less": lambda x, y: pt.minimum(x, y),
    "greatest of joined": lambda x, y: pt.stack([x, y]).max(),
    "element of joined": lambda x, y: pt.stack([x, y])[1],
}

# What to build: a base, a step on something smaller, or a pair of such.
PLANS = st.recursive(
    st.sampled_from(sorted(BASES)),
    lambda inner: (
        st.tuples(st.sampled_from(sorted(STEPS)), inner)
        | st.tuples(st.sampled_from(sorted(STEPS)), inner)
        | st.tuples(st.sampled_from(sorted(PAIRS)), inner, inner)
    ),
    max_leaves=3,
)


def depth(plan) -> int:
    """Steps between the node and its farthest variable."""
    return 0 if isinstance(plan, str) else 1 + max(map(depth, plan[1:]))


def built(plan) -> Node:
    """The node of a plan."""
    if isinstance(plan, str):
        return BASES[plan]()
    name, *parts = plan
    return (STEPS if len(parts) == 1 else PAIRS)[name](*map(built, parts))


COUNT = 3000
# Dvoretzky, Kiefer and Wolfowitz: the greatest distance of the two functions exceeds it with probability 10^-6, for
# any distribution.
DISTANCE = np.sqrt(np.log(2e6) / (2 * COUNT))
CELLS = 150


@settings(max_examples=70, deadline=None, derandomize=True)
@given(PLANS.filter(lambda plan: depth(plan) <= 4))
def test_density_and_masses_make_up_what_is_drawn(plan) -> None:
    """The distribution function is near that of draws, and the integral of the density, with the masses, is it."""
    node = built(plan)
    draws = np.sort(np.asarray(pd.draw(node, COUNT, random_seed=7), "float64"))
    assume(np.isfinite(draws).all() and np.abs(draws).max() < 1e6)
    values, counts = np.unique(draws, return_counts=True)
    reached = cdf(node, values)
    assert np.abs(reached - np.cumsum(counts) / COUNT).max() < DISTANCE
    beyond = np.exp(evaluated(logprob.logccdf, node, values))
    np.testing.assert_allclose(reached + beyond, 1, atol=1e-9)
    # Cells between quantiles: each holds the integral of the density over its inside and the masses in it.
    atoms = values[counts > 1]
    edges = np.unique(np.r_[np.quantile(draws, np.linspace(0, 1, CELLS + 1)), atoms])
    points, weights = np.polynomial.legendre.leggauss(24)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    inside = middle[:, None] + half[:, None] * points
    integral = (np.exp(evaluated(logprob.logp, node, inside)) @ weights) * half
    masses = np.zeros(len(edges))
    masses[np.isin(edges, atoms)] = np.exp(evaluated(logprob.logp, node, atoms)) if len(atoms) else 0
    expected = np.diff(cdf(node, edges))
    np.testing.assert_allclose(masses[1:], np.where(masses[1:] > 0, expected - integral, 0), atol=0.02)
    # Where the density is infinite or leaps inside a cell, the quadrature is wrong.
    wrong = np.abs(integral + masses[1:] - expected)
    assert np.sort(wrong)[:-12].sum() < 1e-3
