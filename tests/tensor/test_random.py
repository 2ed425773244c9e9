"""One form of randomness: `pt.random`, `Normal.dist` and a model's variable are the same node."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

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


def test_a_key_gives_the_next_one_with_each_variable() -> None:
    """`next_rng, x = rng.normal()`: shared and updated, as an input, or with `return_next_rng`."""
    rng = pt.random.shared_rng(seed=153, name="rng")
    assert rng.name == "rng"
    next_rng, x = rng.normal(size=2)
    f = pm.function([], x, updates={rng: next_rng})
    first, second = f(), f()
    assert not np.array_equal(first, second)
    for again in ({"seed": 153}, {"new_value": np.random.default_rng(153)}):
        rng.set_value(**again)
        assert np.array_equal(f(), first)
        assert np.array_equal(f(), second)
    other = pt.random.rng("other")
    later, a = other.gamma(3.0, scale=2.0)
    latest, b = pt.random.gamma(3.0, scale=2.0, rng=later, return_next_rng=True)
    g = pm.function([other], [latest, a, b])
    generator = np.random.default_rng(3)
    key, *values = g(generator)
    assert g(np.random.default_rng(3))[1:] == values
    assert len({*map(float, values), float(g(key)[1])}) == 3
    assert generator.integers(9) == np.random.default_rng(3).integers(9)  # as it was


def test_keys_go_from_step_to_step_of_a_loop() -> None:
    """A step returns the next key as it does other carried values."""

    def step(rng):
        next_rng, x = rng.normal()
        return x, next_rng

    rng = pt.random.shared_rng(seed=1)
    draws, keys = pt.scan(step, outputs_info=[None, rng], n_steps=4, return_updates=False)
    f = pm.function([], draws, updates={rng: keys[-1]})
    assert len(np.unique([f(), f()])) == 8


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (lambda r: r.gamma(2.0, 4.0), lambda: pm.Gamma.dist(2.0, 4.0)),
        (lambda r: r.gamma(2.0, scale=4.0), lambda: pm.Gamma.dist(2.0, 0.25)),
        (lambda r: r.halfnormal(1.0, 2.0), lambda: 1.0 + pm.HalfNormal.dist(2.0)),
        (lambda r: r.pareto(6.0, 2.0), lambda: pm.Pareto.dist(6.0, 2.0)),
        (lambda r: r.dirichlet(alphas=[1.0, 2.0]), lambda: pm.Dirichlet.dist([1.0, 2.0])),
        (lambda r: r.dirichlet(alpha=[1.0, 2.0]), lambda: pm.Dirichlet.dist([1.0, 2.0])),
        (lambda r: r.weibull(shape=2.0), lambda: pm.Weibull.dist(2.0, 1.0)),
        (lambda r: r.multinomial(5, p=[0.2, 0.8]), lambda: pm.Multinomial.dist(5, [0.2, 0.8])),
        (lambda r: r.beta(alpha=2.0, beta=3.0), lambda: pm.Beta.dist(2.0, 3.0)),
        (lambda r: r.nbinom(5, 0.3), lambda: pm.NegativeBinomial.dist(n=5, p=0.3)),
    ],
)  # fmt: skip
def test_parameters_are_pytensors(theirs, ours) -> None:
    """Their names and their order, where NumPy's differ; NumPy's names serve too."""
    made = theirs(pt.random)
    at = (
        np.array([2.0, 3.0] if made.dtype == "int64" else [0.3, 0.7])
        if made.ndim
        else 3.0
        if made.dtype == "int64"
        else 0.7
    )
    at = at + 2.0 if made.ndim == 0 and made.dtype != "int64" and pm.logp(made, at).eval() == -np.inf else at
    assert pm.logp(made, at).eval() == pm.logp(ours(), at).eval() > -np.inf


def test_distributions_that_scipy_names() -> None:
    """`gengamma` and `truncexpon` have SciPy's means."""
    draws = pm.draw([pt.random.gengamma(3.0, 2.0, 1.5), pt.random.truncexpon(2.0, 1.0, 3.0)], 20_000, random_seed=3)
    laws = [stats.gengamma(1.5, 2.0, scale=1.5), stats.truncexpon(2.0, 1.0, 3.0)]
    for values, law in zip(draws, laws, strict=True):
        assert abs(values.mean() - law.mean()) < 5 * law.std() / np.sqrt(20_000)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: pt.random.shared_rng(3), "takes a generator of NumPy's, or `seed=`"),
        (lambda: pt.random.shared_rng(np.random.default_rng(), seed=3), "and not both"),
        (lambda: pt.random.normal(return_next_rng=True), "gives the next key behind one that it is given"),
        (lambda: pt.random.gamma(2.0, 1.0, 1.0), "`scale` or its reciprocal"),
        (lambda: pt.random.shared_rng(seed=1).nothing, "a random key has no `nothing`"),
    ],
)  # fmt: skip
def test_mistakes_with_keys_are_told(mistake, message: str) -> None:
    """What was needed and what came."""
    with pytest.raises((TypeError, AttributeError), match=message):
        mistake()


def test_updates_of_shared_keys_are_collected() -> None:
    """The key behind the last that was used; variables without keys need none, which is what a loop's step returns."""
    rng = pt.random.shared_rng(seed=1)
    next_rng, x = rng.normal()
    last, y = next_rng.normal()
    assert pm.collect_default_updates([x]) == {rng: next_rng}
    assert pm.collect_default_updates(x + y) == {rng: last}
    assert pm.collect_default_updates([pt.random.normal()]) == {}
    other = pt.random.rng()
    assert pm.collect_default_updates(other.normal()[1]) == {}
    assert len(pm.collect_default_updates(other.normal()[1], must_be_shared=False)) == 1

    def step(before):
        now = before + pm.Normal.dist()
        return now, pm.collect_default_updates([now])

    walk, updates = pt.scan(step, outputs_info=[pm.Normal.dist()], n_steps=10)
    draws = pm.draw(walk, draws=10, random_seed=1)
    assert not updates
    assert len(np.unique(np.diff(draws))) == 90

    def step_with_key(before):
        now = before + pt.random.normal(rng=rng)
        return now, pm.collect_default_updates([now])

    walk, updates = pt.scan(step_with_key, outputs_info=[0.0], n_steps=10)
    f = pm.function([], walk, updates=updates)
    assert len(np.unique(np.round(np.diff([f(), f()]), 12))) == 18
