"""Draws and densities describe the same distributions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience.distributions as pd
from consilience.distributions.random_variable import distribution_of
from consilience.errors import GraphError, MissingRuleError
from consilience.ir import tensor_input
from consilience.ops.elementwise import apply
from tests.distributions.cases import CASES, Case, name_of, value_of
from tests.distributions.goodness import LEAST, chi_square, distance

COUNT = 100_000
over_all = pytest.mark.parametrize("case", CASES, ids=name_of)


@over_all
def test_draws_follow_the_distribution_function(case: Case) -> None:
    """Kolmogorov-Smirnov for continuous, chi square for discrete; three sets of parameters, fixed seeds."""
    rng = np.random.default_rng(21)
    parameters = case.parameters(rng, (3,))
    draws = pd.draw(case.distribution.dist(**parameters), COUNT, random_seed=5)
    assert draws.shape == (COUNT, 3)
    assert draws.dtype == ("int64" if case.discrete else "float64")
    for i in range(3):
        single = case.scipy(**{n: v[i] for n, v in parameters.items()})
        assert (chi_square(draws[:, i], single) if case.discrete else distance(draws[:, i], single.cdf)) > LEAST


@pytest.mark.parametrize("case", [c for c in CASES if c.has("mean")], ids=name_of)
def test_moments_of_draws_are_the_declared_ones(case: Case) -> None:
    """Mean and variance within five standard errors, where the fourth moment exists."""
    rng = np.random.default_rng(22)
    parameters, frozen = case.sample(rng, (3,))
    with np.errstate(invalid="ignore"):  # SciPy 1.15 divides where it does not take the quotient
        kurtosis = np.asarray(frozen.stats(moments="k"), float)
    rv = case.distribution.dist(**parameters)
    draws = pd.draw(rv, COUNT, random_seed=6).astype(float)
    for i in np.flatnonzero(np.isfinite(kurtosis) & (kurtosis < 60)):
        mean, variance = (float(value_of(f(rv))[i]) for f in (pd.mean, pd.variance))
        assert abs(draws[:, i].mean() - mean) < 5 * np.sqrt(variance / COUNT)
        error = variance * np.sqrt((kurtosis[i] + 2) / COUNT)
        assert abs(draws[:, i].var() - variance) < 5 * error


def test_one_seed_gives_the_same_draws_and_another_seed_others() -> None:
    """And every element of a variable is its own draw."""
    rv = pd.Normal.dist(0, 1, shape=(3, 4))
    first, again, other = (pd.draw(rv, random_seed=s) for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert len(np.unique(np.concatenate([first, other]))) == 24
    assert len(np.unique(pd.draw(rv, 10, random_seed=1))) == 120


def test_a_numpy_generator_may_be_the_seed() -> None:
    """Equal generators give equal draws; a generator that went on gives others."""
    rng = np.random.default_rng(1)
    rv = pd.Normal.dist(shape=3)
    first = pd.draw(rv, random_seed=rng)
    assert_array_equal(first, pd.draw(rv, random_seed=np.random.default_rng(1)))
    assert (first != pd.draw(rv, random_seed=rng)).all()


def test_draws_without_seed_differ() -> None:
    """No hidden default seed."""
    rv = pd.Normal.dist()
    assert pd.draw(rv) != pd.draw(rv)


def test_variables_of_equal_parameters_are_independent() -> None:
    """The key of each variable makes it another one."""
    x, y = pd.Normal.dist(), pd.Normal.dist()
    assert x is not y
    a, b = pd.draw([x, y], COUNT, random_seed=3)
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(COUNT)


def test_a_graph_is_drawn_jointly_from_parents_to_children() -> None:
    """Expressions see the same draws as their variables; children follow their parents."""
    location = pd.Normal.dist(0, 100)
    scale = pd.HalfNormal.dist(1)
    x = pd.Normal.dist(location, apply("mul", scale, 1e-3), shape=5)
    twice = apply("mul", location, 2.0)
    a, b, c = pd.draw([location, x, twice], 50, random_seed=4)
    assert_array_equal(c, 2 * a)
    assert np.abs(b - a[:, None]).max() < 0.02
    assert np.abs(b - a[:, None]).max() > 0


def test_realise_leaves_no_random_variable_and_takes_keys() -> None:
    """A variable's key is an input of the realised graph unless another key is given."""
    x = pd.Normal.dist(pd.Normal.dist(), 1)
    parent = x.inputs[1]
    assert pd.random_variables([x]) == [parent, x]
    (graph,) = pd.realise([x])
    assert pd.random_variables([graph]) == []
    keys = {parent.inputs[0]: np.int64(1), x.inputs[0]: np.int64(2)}
    key = tensor_input("key", ())
    (swapped,) = pd.realise([x], {parent: key})
    assert value_of(graph, keys) == value_of(swapped, {key: np.int64(1), x.inputs[0]: np.int64(2)})


def test_compiled_draws_are_those_of_the_reference() -> None:
    """One key, one draw, whatever computes it."""
    for case in CASES:
        parameters, _ = case.sample(np.random.default_rng(23), (3,))
        rv = case.distribution.dist(**parameters)
        key = tensor_input("key", ())
        (graph,) = pd.realised_with([rv], key)
        assert_allclose(pd.draw(rv, random_seed=9), value_of(graph, {key: 9}), rtol=1e-12, err_msg=name_of(case))


def test_float32_variables_have_float32_draws() -> None:
    """The draw itself is made in double precision."""
    rv = pd.Normal.dist(np.float32(1), np.float32(2), shape=3)
    assert pd.draw(rv, random_seed=1).dtype == "float32"


def test_what_cannot_be_drawn_says_so() -> None:
    """Improper distributions, open inputs, a count below one."""
    with pytest.raises(MissingRuleError, match="Flat has no `draw`; available are logp"):
        pd.draw(pd.Flat.dist())
    with pytest.raises(GraphError, match="every input to be random or constant, but the graph depends on `s`"):
        pd.draw(pd.Normal.dist(0, tensor_input("float64", (), "s")))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        pd.draw(pd.Normal.dist(), 0)
    assert not distribution_of(pd.Flat.dist()).can_draw()
    assert distribution_of(pd.Normal.dist()).can_draw()


@over_all
def test_draws_of_wrong_parameters_are_marked(case: Case) -> None:
    """NaN, or -1 where whole numbers have no NaN; never a number of the support."""
    parameters, _ = case.sample(np.random.default_rng(24), (3,))
    key = tensor_input("key", ())
    for name, own in parameters.items():
        leaf = tensor_input("int64" if own.dtype.kind == "i" else "float64", (3,), name)
        rv = case.distribution.dist(**{**parameters, name: leaf}, shape=(2, 3))
        (graph,) = pd.realised_with([rv], key)
        wrong = own.copy()
        wrong[1] = -1 if own.dtype.kind == "i" else np.nan
        drawn = value_of(graph, {key: 1, leaf: wrong})
        (plain,) = pd.realised_with([case.distribution.dist(**parameters, shape=(2, 3))], key)
        assert_array_equal(drawn[:, [0, 2]], value_of(plain, {key: 1})[:, [0, 2]])
        assert (drawn[:, 1] == -1).all() if case.discrete else np.isnan(drawn[:, 1]).all()


def test_tiny_shapes_do_not_underflow() -> None:
    """Beta and Dirichlet draws stay in their support and on the simplex."""
    beta = pd.draw(pd.Beta.dist(1e-3, 1e-3, shape=200), random_seed=7)
    assert ((beta >= 0) & (beta <= 1)).all()
    assert 50 < (beta > 0.5).sum() < 150
    simplex = pd.draw(pd.Dirichlet.dist([1e-3, 1e-3, 1e-3], shape=(200, 3)), random_seed=8)
    assert_allclose(simplex.sum(-1), 1.0, rtol=1e-12)
    assert set(simplex.argmax(-1)) == {0, 1, 2}
