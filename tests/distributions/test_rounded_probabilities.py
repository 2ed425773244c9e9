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


WRITTEN: dict[str, Callable[[Any], Any]] = {
    "exp(x - logsumexp(x))": lambda x: pt.exp(x - pt.logsumexp(x, axis=-1, keepdims=True)),
    "exp(x - log(sum(exp(x))))": lambda x: pt.exp(x - pt.log(pt.exp(x).sum(axis=-1, keepdims=True))),
    "exp(x) / sum(exp(x))": lambda x: pt.exp(x) / pt.exp(x).sum(axis=-1, keepdims=True),
    "exp(x - max(x)) / sum": lambda x: (
        pt.exp(x - x.max(axis=-1, keepdims=True)) / pt.exp(x - x.max(axis=-1, keepdims=True)).sum(-1, keepdims=True)
    ),
    "softmax(x)": lambda x: pt.special.softmax(x, axis=-1),
}
KINDS: dict[str, Callable[[Any], Any]] = {
    "Categorical": lambda p: pm.Categorical("y", p=p, observed=[1, 0]),
    "Multinomial": lambda p: pm.Multinomial("y", n=[3, 3], p=p, observed=[[1, 1, 1], [0, 2, 1]]),
    "Bernoulli": lambda p: pm.Bernoulli("y", p=p[:, 0], observed=[0, 1]),
    "Binomial": lambda p: pm.Binomial("y", n=4, p=p[:, 0], observed=[2, 3]),
    "log(1 - p)": lambda p: pm.Potential("y", (pt.log(1 - p[:, 0]) + pt.log(p[:, 1])).sum()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", WRITTEN)
def test_probabilities_of_choices_have_a_density_and_a_slope_where_they_saturate(form: str, kind: str) -> None:
    """A softmax, however it is written: linear in the utilities far out, where p is 0 or 1 to the last digit."""
    with pm.Model() as model:
        b = pm.Flat("b")
        KINDS[kind](WRITTEN[form](b * np.array([[1.0, -1.0, 0.0], [-1.0, 0.5, 1.0]])))
    logp, slope = model.compile_logp(), model.compile_dlogp()
    for sign in (-1.0, 1.0):
        near, far = ({"b": np.array(sign * v)} for v in (400.0, 800.0))
        assert np.isfinite(logp(far))
        np.testing.assert_allclose(slope(far), (logp(far) - logp(near)) / (sign * 400.0), rtol=1e-9, atol=1e-30)


def test_one_option_against_the_sum_has_a_slope_where_the_other_was_chosen() -> None:
    """`exp(q[:, 1] / b - logsumexp(q / b))` with choices that the model holds for impossible."""
    with pm.Model() as model:
        q = pm.Flat("q", shape=(2, 2))
        p = pt.exp(q[:, 1] / 0.5 - pt.logsumexp(q / 0.5, axis=1))
        pm.Bernoulli("y", p=p, observed=[0, 1])
    point = {"q": np.array([[0.0, 300.0], [300.0, 0.0]])}
    assert model.compile_logp()(point) == pytest.approx(-1200.0)
    np.testing.assert_allclose(model.compile_dlogp()(point), [2.0, -2.0, -2.0, 2.0], rtol=1e-12)
