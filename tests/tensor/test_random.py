"""One form of randomness: `pt.random`, `Normal.dist` and a model's variable are the same node."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.generator import METHODS
from consilience.distributions.random_variable import random_variables
from consilience.errors import DtypeError, MissingRuleError
from tests.distributions.generator_arguments import ARGUMENTS


@pytest.mark.parametrize("method", sorted(METHODS))
def test_names_of_numpys_generator_make_random_variables(method: str) -> None:
    """Of ops of declared distributions; equal arguments make independent ones."""
    assert random_variables([getattr(pt.random, method)(*ARGUMENTS.get(method, ()))])


def test_a_random_function_has_a_density() -> None:
    """That of the distribution."""
    mu = pt.dscalar("mu")
    y = pt.random.normal(mu, 2.0, size=3)
    found = pm.logp(y, [0.0, 1.0, 2.0]).eval({mu: 0.5})
    assert_allclose(found, -0.5 * ((np.arange(3.0) - 0.5) / 2.0) ** 2 - np.log(2.0) - 0.5 * np.log(2.0 * np.pi))


def test_a_key_gives_the_same_draw_at_every_call() -> None:
    """Without one every call draws anew; equal arguments make independent variables."""
    key = pt.key(3)
    fixed, free = pt.random.gamma(2.0, rng=key), pt.random.gamma(2.0)
    f = pm.function([], [fixed, free, pt.random.gamma(2.0)])
    first, second = f(), f()
    assert first[0] == second[0]
    assert len({float(first[1]), float(second[1]), float(first[2]), float(second[2])}) == 4


def test_pathwise_derivatives() -> None:
    """With respect to location and scale they are those of mu + sigma z at the drawn z, in one function."""
    mu, sigma = pt.dscalar("mu"), pt.dscalar("sigma")
    y = pt.random.normal(mu, sigma, size=5)
    slopes = pm.grad(pt.sum(y**2), [mu, sigma])
    value, by_mu, by_sigma = pm.function([mu, sigma], [y, *slopes])(1.5, 2.0)
    assert_allclose(by_mu, 2.0 * value.sum())
    assert_allclose(by_sigma, (2.0 * value * (value - 1.5) / 2.0).sum())


def test_draws_without_a_derivative_refuse_it() -> None:
    """Counts have none; the shape of a gamma variable is not passed."""
    alpha = pt.dscalar("alpha")
    with pytest.raises(MissingRuleError):
        pm.grad(pt.random.gamma(alpha), alpha)


def test_vectorize_makes_independent_draws_for_a_batch() -> None:
    """One variable of a larger shape, which has a density."""
    means = np.array([0.0, 10.0, 20.0])
    v = pt.dvector("v")
    batch = pt.vectorize(lambda m: pt.random.normal(m, 0.1, size=2), "()->(n)")(v)
    found = pm.function([v], batch)(means)
    assert found.shape == (3, 2)
    assert_allclose(found, np.repeat(means[:, None], 2, 1), atol=0.6)
    assert len(np.unique(found - means[:, None])) == 6
    assert pm.logp(batch, np.zeros((3, 2))).eval({v: means}).shape == (3, 2)


def test_no_key_is_refused() -> None:
    """With what was needed."""
    with pytest.raises(DtypeError, match=r"`rng` must be a random key.*pt\.key"):
        pt.random.normal(rng=3)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_random_variables_in_branches_are_drawn(backend: str) -> None:
    """In the branch as outside of it."""
    x, y, chosen = pt.random.normal(), pt.random.normal(100.0), pt.random.bernoulli(0.5)
    f = pm.function([], [pt.ifelse(pt.gt(chosen, 0), x, y), x, y, chosen], backend=backend)
    for _ in range(6):
        found, first, second, which = f()
        assert found == (first if which else second)


@pytest.mark.parametrize("one", [True, False])
def test_a_batch_of_mixtures_has_independent_draws(one: bool) -> None:
    """Parameters of components take part in the batch."""
    means = np.array([0.0, 1000.0, 2000.0])

    def mixture(m):
        parts = pm.Normal.dist(m + pt.as_tensor([0.0, 10.0]), 0.1)
        return pm.Mixture.dist(
            [0.5, 0.5], parts if one else [pm.Normal.dist(m, 0.1), pm.Normal.dist(m + 10.0, 0.1)], size=40
        )

    v = pt.dvector("v")
    batch = pt.vectorize(mixture, "()->(n)")(v)
    found = pm.function([v], batch)(means) - means[:, None]
    assert found.shape == (3, 40)
    chosen = found > 5.0
    assert_allclose(found, np.where(chosen, 10.0, 0.0), atol=0.6)
    assert not (chosen[0] == chosen[1]).all()
    assert not (chosen[1] == chosen[2]).all()
    at_means = pm.logp(batch, v[:, None] * np.ones(40)).eval({v: means})
    assert_allclose(at_means, np.log(0.5 / 0.1 / np.sqrt(2.0 * np.pi)), rtol=1e-9)
