"""Probabilities that were computed and are beyond 1 by rounding alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt

BEYOND = 1.0 + 2.0**-49


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda p: pm.Bernoulli.dist(p=p), 1),
        (lambda p: pm.Binomial.dist(n=3, p=p), 3),
        (lambda p: pm.Geometric.dist(p=p), 1),
    ],
    ids=["Bernoulli", "Binomial", "Geometric"],
)
def test_a_probability_beyond_one_by_rounding_is_one(make: Callable[[Any], Any], value: int) -> None:
    """The certain outcome has density 1, alone and in a batch; a probability that is really above 1 stays refused."""
    p = pt.vector()
    density = pt.function([p], pm.logp(make(p), value))
    np.testing.assert_allclose(density(np.array([BEYOND, 0.5, 1.0]))[[0, 2]], 0.0, atol=1e-14)
    with pytest.raises(Exception, match="p"):
        density(np.array([1.001]))


def test_a_softmax_written_out_has_a_density_where_it_saturates() -> None:
    """`exp(q[:, 1] / b - logsumexp(q / b))` reaches 1 + 5e-14."""
    rng = np.random.default_rng(1)
    with pm.Model() as model:
        q = pm.Flat("q", shape=(200, 2))
        p = pt.exp(q[:, 1] / 0.07 - pt.logsumexp(q / 0.07, axis=1))
        pm.Bernoulli("y", p=p, observed=np.ones(200, int))
    logp, slope = model.compile_logp(), model.compile_dlogp()
    for _ in range(20):
        first = rng.normal(0.0, 10.0, 200)
        point = {"q": np.stack([first, first + rng.uniform(3.0, 30.0, 200)], 1)}
        assert logp(point) == pytest.approx(0.0, abs=1e-9)
        assert np.isfinite(slope(point)).all()
