"""Random small models with discrete variables summed out: density, gradient and draws are those of the enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import consilience as pm
import consilience.tensor as pt
from consilience.model import marginalize
from consilience.sample import recover_marginals

VARIABLES = {
    "bernoulli": (lambda name, q: pm.Bernoulli(name, q, shape=2), range(2)),
    "binomial": (lambda name, q: pm.Binomial(name, 2, q, shape=2), range(3)),
    "category": (lambda name, q: pm.Categorical(name, pt.stack([q, 0.0 * q, 1.0 - q]), shape=2), range(3)),
    "interval": (lambda name, q: pm.DiscreteUniform(name, 0, 2, shape=2), range(3)),
    "poisson": (lambda name, q: pm.Poisson(name, q, shape=2), range(30)),
    "geometric": (lambda name, q: pm.Geometric(name, 0.5 + 0.4 * q, shape=2), range(1, 60)),
}
DATA = {
    "normal": lambda mu: pm.Normal("y", mu, 1.0, observed=[0.3, 1.7]),
    "poisson": lambda mu: pm.Poisson("y", mu, observed=[0, 2]),  # a rate of 0 is excluded by the second
    "binomial": lambda mu: pm.Binomial("y", 3, mu / (1.0 + mu), observed=[0, 2]),
    "bernoulli": lambda mu: pm.Bernoulli("y", pm.math.tanh(mu), observed=[0, 1]),
    "impossible": lambda mu: pm.Potential("y", pt.where(mu > 0.1, -mu, -np.inf)),
}
TOGETHER = {
    "sum": lambda a, b, s: s * (a + b),
    "product": lambda a, b, s: s * a + 0.0 * b,
    "weighted": lambda a, b, s: s * a + 0.1 * b,
}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sampled_from(sorted(VARIABLES)),
    st.sampled_from(["bernoulli", "binomial", "category", "interval"]),
    st.sampled_from(sorted(DATA)),
    st.sampled_from(sorted(TOGETHER)),
    st.floats(-1.0, 1.0),
    st.floats(-1.0, 1.0),
)
def test_sums_and_draws_are_those_of_the_enumeration(
    first: str, second: str, data: str, together: str, x: float, y: float
) -> None:
    with pm.Model() as model:
        q, s = pm.Beta("q", 2, 2), pm.Exponential("s", 1)
        a, b = VARIABLES[first][0]("a", q), VARIABLES[second][0]("b", q)
        DATA[data](TOGETHER[together](a, b, s))
    summed = marginalize(model, ["a", "b"])
    point = {"q_logodds__": np.array(x), "s_log__": np.array(y)}
    # Elements are independent of each other: one by one, the log density of each is a sum over pairs of values.
    logp = model.compile_logp(sum=False)
    pairs = list(itertools.product(VARIABLES[first][1], VARIABLES[second][1]))
    terms = np.zeros((len(pairs), 2))
    for i, (of_a, of_b) in enumerate(pairs):
        found = logp({**point, "a": np.full(2, of_a), "b": np.full(2, of_b)})
        shared, own = [t for t in found if np.ndim(t) == 0], [t for t in found if np.ndim(t) == 1]
        terms[i] = sum(own)
        alone = float(np.sum(shared))
    exact = alone + logsumexp(terms, axis=0).sum()
    found = float(summed.compile_logp()(point))
    if np.isneginf(exact):
        assert np.isneginf(found)
        return
    assert found == pytest.approx(exact, rel=1e-11, abs=1e-11)
    slope = summed.compile_dlogp()(point)
    value = summed.compile_logp()
    steps = [{**point, key: point[key] + h} for key in point for h in (1e-6, -1e-6)]
    above, below = [value(p) for p in steps[::2]], [value(p) for p in steps[1::2]]
    np.testing.assert_allclose(slope, (np.array(above) - below) / 2e-6, rtol=1e-5, atol=1e-6)
    own_scale = {"q": 1 / (1 + np.exp(-x)), "s": np.exp(y)}
    draws = {name: np.full((1, 4000), number) for name, number in own_scale.items()}
    drawn = recover_marginals(draws, model=summed, random_seed=1, extend_inferencedata=False)
    p = np.exp(terms - logsumexp(terms, axis=0))
    codes = {pair: i for i, pair in enumerate(pairs)}
    for element in range(2):
        seen = [codes[int(i), int(j)] for i, j in zip(*(drawn[n].values[0, :, element] for n in "ab"), strict=True)]
        frequencies = np.bincount(seen, minlength=len(pairs)) / 4000
        np.testing.assert_allclose(frequencies, p[:, element], atol=0.04)
        assert not frequencies[p[:, element] == 0].any()
