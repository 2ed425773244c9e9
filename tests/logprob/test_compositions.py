"""Random compositions of cases: the distribution function fits draws, and density and masses make it up."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import consilience.distributions as pd
import consilience.tensor as pt
from consilience import logprob
from consilience.distributions.random_variable import distribution_of, is_random
from consilience.ir import Node
from consilience.logprob import derivation
from consilience.logprob.derived import derived_variable
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
    "sum of counts": lambda: pd.NegativeBinomial.dist(n=[0.8, 1.5], p=0.6).sum() * 1.0,
    "derived": lambda: derived_variable(2.0 * pd.Gamma.dist(2.0, 1.5) - 1.0),
    "middle of three": lambda: pt.sort(pd.Normal.dist([0.0, 1.0, -0.5], [1.0, 0.5, 2.0]))[1],
    "middle of equal ones": lambda: pt.sort(pd.Laplace.dist(0.2, 0.7, shape=3))[1],
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
    "truth": lambda x: (x > 0.2).astype("float64"),
    "without closed inverse": lambda x: x + pt.tanh(x),
    "decreasing without closed inverse": lambda x: pt.exp(-0.3 * x) - pt.arctan(x),
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


OPTIONS = {"numeric_inverse": True}
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
    reached = cdf(node, values, **OPTIONS)
    assert np.abs(reached - np.cumsum(counts) / COUNT).max() < DISTANCE
    beyond = np.exp(evaluated(logprob.logccdf, node, values, **OPTIONS))
    np.testing.assert_allclose(reached + beyond, 1, atol=1e-9)
    # Cells between quantiles: each holds the integral of the density over its inside and the masses in it.
    atoms = values[counts > 1]
    edges = np.unique(np.r_[np.quantile(draws, np.linspace(0, 1, CELLS + 1)), atoms])
    points, weights = np.polynomial.legendre.leggauss(24)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    inside = middle[:, None] + half[:, None] * points
    integral = (np.exp(evaluated(logprob.logp, node, inside, **OPTIONS)) @ weights) * half
    masses = np.zeros(len(edges))
    masses[np.isin(edges, atoms)] = np.exp(evaluated(logprob.logp, node, atoms, **OPTIONS)) if len(atoms) else 0
    expected = np.diff(cdf(node, edges, **OPTIONS))
    np.testing.assert_allclose(masses[1:], np.where(masses[1:] > 0, expected - integral, 0), atol=0.02)
    # Where the density is infinite or leaps inside a cell, the quadrature is wrong.
    wrong = np.abs(integral + masses[1:] - expected)
    assert np.sort(wrong)[:-12].sum() < 1e-3


MATRIX = np.array([[1.0, 0.5], [-0.4, 0.8]])
COVARIANCE = np.array([[0.8, 0.2], [0.2, 0.5]])
VECTORS = {
    "independent": lambda: pd.Laplace.dist([0.2, -0.3], 0.7),
    "dependent": lambda: pd.MvNormal.dist([0.3, -0.4], COVARIANCE),
    "joined": lambda: pt.concatenate([pd.Normal.dist(0.0, 1.0, shape=1), pd.Gamma.dist(2.5, 1.5, shape=1)]),
    "hierarchy": lambda: (lambda x: pt.stack([x, pd.Normal.dist(0.5 * x, 0.7)]))(pd.Normal.dist(0.3, 1.0)),
    "in order": lambda: pt.sort(pd.Logistic.dist(0.3, 0.5, shape=2)),
    "linear": lambda: pt.as_tensor(MATRIX) @ pd.Normal.dist([0.3, 0.5], [1.0, 0.4]),
    "mixed": lambda: pt.switch(
        pd.Bernoulli.dist(0.4, shape=2), pd.Normal.dist([1.0, -1.0], 0.6), pd.Normal.dist(shape=2)
    ),
}
VECTOR_STEPS = {
    "exp": lambda x: pt.exp(0.4 * x),
    "affine": lambda x: 1.0 - 0.7 * x,
    "tanh": lambda x: pt.tanh(0.3 * x),
    "without closed inverse": lambda x: x + pt.tanh(x),
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: x.reshape((2, 1)).T[0],
    "running sum": pt.cumsum,
    "matrix product": lambda x: pt.as_tensor(MATRIX) @ x,
}
VECTOR_PLANS = st.recursive(
    st.sampled_from(sorted(VECTORS)),
    lambda inner: st.tuples(st.sampled_from(sorted(VECTOR_STEPS)), inner),
    max_leaves=3,
)


def vector_of(plan) -> Node:
    """The node of a plan for vectors."""
    return VECTORS[plan]() if isinstance(plan, str) else VECTOR_STEPS[plan[0]](vector_of(plan[1]))


def proportions() -> Node:
    """A softmax, which has as many degrees of freedom as one coordinate less."""
    return pt.special.softmax(pt.concatenate([pd.MvNormal.dist([0.3, -0.4], COVARIANCE), np.zeros(1)]))


# Cells per box, and points per cell, along each axis.
PARTS, POINTS = 6, 4


def check_boxes(node: Node, complete=lambda v: v) -> None:
    """Every box between quantiles of two coordinates holds as many draws as the integral of the density says.

    complete   the vectors from those of two coordinates
    """
    count = 20000
    draws = np.asarray(pd.draw(node, count, random_seed=7))[:, :2]
    edges = np.quantile(draws, [0.02, 0.25, 0.5, 0.75, 0.98], axis=0)
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    axes = []
    for k in range(2):
        ends = np.interp(np.arange(4 * PARTS + 1) / PARTS, np.arange(5), edges[:, k])
        half = np.diff(ends)[:, None] / 2
        axes.append(((ends[:-1, None] + half * (1 + points)).ravel(), (half * weights).ravel()))
    grid = np.stack(np.meshgrid(axes[0][0], axes[1][0], indexing="ij"), -1).reshape(-1, 2)
    density = evaluated(logprob.logp, node, complete(grid), **OPTIONS)
    density = np.exp(density.sum(-1) if density.ndim == 2 else density)
    integral = density * np.outer(axes[0][1], axes[1][1]).ravel()
    found = integral.reshape(4, PARTS * POINTS, 4, PARTS * POINTS).sum((1, 3))
    share = np.histogram2d(draws[:, 0], draws[:, 1], bins=[edges[:, 0], edges[:, 1]])[0] / count
    # Six standard deviations, and what a leap of the density costs the quadrature.
    assert (np.abs(found - share) < 6 * np.sqrt(share / count + 1 / count**2) + 0.004).all()
    np.testing.assert_allclose(found.sum(), share.sum(), atol=0.015)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(VECTOR_PLANS.filter(lambda plan: depth(plan) <= 3))
def test_densities_of_vectors_fit_draws(plan) -> None:
    """In every box of two coordinates."""
    check_boxes(vector_of(plan))


def test_density_of_proportions_fits_draws() -> None:
    """The last coordinate follows from the others."""
    check_boxes(proportions(), lambda v: np.c_[v, 1 - v.sum(1)])


def cases_used(make) -> set[str]:
    """The modules whose rules, measures and distributions the density of a node is made of."""
    used = set()

    def recording(rule):
        def call(node: Node):
            measure = rule(node)
            if measure is not None:
                used.update({rule.__module__, type(measure).__module__})
                if is_random(measure.node):
                    used.add(type(distribution_of(measure.node)).__module__)
            return measure

        return call

    with ExitStack() as stack:
        for table in (derivation.RULES, derivation.LAST_RULES):
            stack.enter_context(patch.dict(table, {key: list(map(recording, rules)) for key, rules in table.items()}))
        node = make()
        evaluated(logprob.logp, node, np.full(node.static_shape, 0.3), **OPTIONS)
    return used


def test_every_case_has_a_row() -> None:
    """Every file of rules is used by a composition above."""
    rows = [*(lambda f=f: 1.0 - f() for f in BASES.values()), *VECTORS.values(), proportions]
    rows += [lambda f=f: f(pd.Normal.dist(0.3, 0.9)) for f in STEPS.values()]
    rows += [lambda f=f: f(pd.Normal.dist(0.3, 0.9), pd.Gamma.dist(2.5, 1.5)) for f in PAIRS.values()]
    rows += [lambda f=f: f(pd.Laplace.dist([0.2, -0.3], 0.7)) for f in VECTOR_STEPS.values()]
    rows.append(
        lambda: pt.scan(lambda x: pd.Normal.dist(0.5 * x, 1.0), outputs_info=[0.0], n_steps=3, return_updates=False)
    )
    used = set().union(*map(cases_used, rows))
    assert {case.__name__ for case in logprob.CASES} - used == set()


def test_every_file_of_rules_is_a_case() -> None:
    """The listing of cases is complete."""
    rules = [rule for table in (derivation.RULES, derivation.LAST_RULES) for rules in table.values() for rule in rules]
    assert {rule.__module__ for rule in rules} <= {case.__name__ for case in logprob.CASES}
