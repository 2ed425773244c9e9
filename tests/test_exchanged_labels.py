"""A posterior that is the same in several copies, by labels, signs or rotations: what is found, said and drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConvergenceWarning
from consilience.inference.modes.symmetries import Quotient, find_symmetries
from consilience.model.log_density import model_density
from consilience.sample.copies import Copies, axes_of

Found = set[tuple[str, tuple[str, ...], int]]
Model = Callable[[np.random.Generator], None]
MODELS: list[tuple[Model, Found]] = []


def known(*groups: tuple[str, str, int]) -> Callable[[Model], Model]:
    """Enter a model with its groups: kind, names of the variables, number of units."""

    def enter(build: Model) -> Model:
        MODELS.append((build, {(kind, tuple(sorted(names.split())), units) for kind, names, units in groups}))
        return build

    return enter


def components(rng: np.random.Generator, mu: Any, size: int, **more: Any) -> None:
    weights = pm.Dirichlet("w", np.ones(size))
    y = np.concatenate([rng.normal(3 * k, 1, 15) for k in range(size)])
    pm.NormalMixture("y", weights, mu, more.get("sigma", 1.0), observed=y)


@known(("labels", "w mu", 2))
def two_components(rng: np.random.Generator) -> None:
    components(rng, pm.Normal("mu", 0, 5, shape=2), 2)


@known(("labels", "w mu sd", 4))
def four_components(rng: np.random.Generator) -> None:
    components(rng, pm.Normal("mu", 0, 5, shape=4), 4, sigma=pm.HalfNormal("sd", 1, shape=4))


@known()
def ordered_components(rng: np.random.Generator) -> None:
    order = pm.distributions.transforms.ordered
    components(rng, pm.Normal("mu", 0, 5, shape=3, transform=order, initval=[-1.0, 0.0, 1.0]), 3)


@known(("labels", "w mu", 2))
def a_prior_that_tells_one_component_apart(rng: np.random.Generator) -> None:
    components(rng, pm.Normal("mu", [0, 0, 0.1], 5, shape=3), 3)


@known(("labels", "a", 2), ("labels", "b", 2))
def two_pairs_of_their_own(rng: np.random.Generator) -> None:
    a, b = pm.Normal("a", 0, 1, shape=2), pm.Normal("b", 1, 1, shape=2)
    pm.Normal("y", pt.sum(a**2 + 0.3 * a), 1, observed=rng.normal(size=5))
    pm.Normal("z", pt.prod(b) + b.sum(), 1, observed=rng.normal(size=5))


@known(("signs", "a b", 1))
def a_product(rng: np.random.Generator) -> None:
    a, b = pm.Normal("a", 0, 1, shape=3), pm.Normal("b", 0, 2)
    pm.Normal("y", a * b, 1, observed=rng.normal(size=(4, 3)))


@known(("signs", "a b", 1), ("signs", "a c", 1))
def a_product_of_three(rng: np.random.Generator) -> None:
    a, b, c = pm.Normal("a", 0, 1), pm.Normal("b", 0, 2), pm.Normal("c", 0, 3)
    pm.Normal("y", a * b * c, 1, observed=rng.normal(size=4))


@known()
def a_product_with_a_positive_factor(rng: np.random.Generator) -> None:
    a, b = pm.Normal("a", 0, 1, shape=3), pm.HalfNormal("b", 2)
    pm.Normal("y", a * b, 1, observed=rng.normal(size=(4, 3)))


@known(("signs", "a", 3))
def squares(rng: np.random.Generator) -> None:
    pm.Normal("y", pm.Normal("a", 0, [1, 2, 3], shape=3) ** 2, 1, observed=rng.normal(size=(4, 3)))


@known(("signed", "one two", 4))
def units_of_a_network(rng: np.random.Generator) -> None:
    one, two = pm.Normal("one", 0, 1, shape=(2, 4)), pm.Normal("two", 0, 1, shape=4)
    hidden = pt.tanh(pt.dot(rng.normal(size=(9, 2)), one))
    pm.Normal("y", pt.dot(hidden, two), 1, observed=rng.normal(size=9))


@known(("labels", "one two", 4))
def units_that_are_not_odd(rng: np.random.Generator) -> None:
    one, two = pm.Normal("one", 0, 1, shape=(2, 4)), pm.Normal("two", 0, 1, shape=4)
    hidden = pt.sigmoid(pt.dot(rng.normal(size=(9, 2)), one))
    pm.Normal("y", pt.dot(hidden, two), 1, observed=rng.normal(size=9))


@known(("signed", "one two", 3), ("signed", "two three", 3))
def two_layers(rng: np.random.Generator) -> None:
    one, two = pm.Normal("one", 0, 1, shape=(2, 3)), pm.Normal("two", 0, 1, shape=(3, 3))
    three = pm.Normal("three", 0, 1, shape=3)
    hidden = pt.tanh(pt.dot(pt.tanh(pt.dot(rng.normal(size=(9, 2)), one)), two))
    pm.Normal("y", pt.dot(hidden, three), 1, observed=rng.normal(size=9))


@known(("rotations", "loadings scores", 2))
def factors(rng: np.random.Generator) -> None:
    loadings, scores = pm.Normal("loadings", 0, 1, shape=(5, 2)), pm.Normal("scores", 0, 1, shape=(7, 2))
    pm.Normal("y", pt.dot(scores, loadings.T), 1, observed=rng.normal(size=(7, 5)))


@known(("signed", "loadings scores", 2))
def factors_with_loadings_of_heavy_tails(rng: np.random.Generator) -> None:
    loadings, scores = pm.StudentT("loadings", 4, 0, 1, shape=(5, 2)), pm.Normal("scores", 0, 1, shape=(7, 2))
    pm.Normal("y", pt.dot(scores, loadings.T), 1, observed=rng.normal(size=(7, 5)))


@known(("signs", "loadings scores", 2))
def factors_of_two_scales(rng: np.random.Generator) -> None:
    loadings, scores = pm.Normal("loadings", 0, [1, 1.01], shape=(5, 2)), pm.Normal("scores", 0, 1, shape=(7, 2))
    pm.Normal("y", pt.dot(scores, loadings.T), 1, observed=rng.normal(size=(7, 5)))


@known(("rotations", "loadings", 3))
def principal_components(rng: np.random.Generator) -> None:
    loadings = pm.Normal("loadings", 0, 1, shape=(5, 3))
    cov = pt.dot(loadings, loadings.T) + pm.HalfNormal("sd", 1) ** 2 * pt.eye(5)
    pm.MvNormal("y", np.zeros(5), cov=cov, observed=rng.normal(size=(8, 5)))


@known()
def a_product_whose_sign_is_seen_far_away_alone(rng: np.random.Generator) -> None:
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 2)
    pm.Normal("y", a * b, 1, observed=rng.normal(size=4))
    pm.Potential("far", pt.switch(a > 1.5, -3.0, 0.0))


@known(("signs", "a b", 1))
def a_product_beside_counts(rng: np.random.Generator) -> None:
    a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 2)
    pm.Normal("y", a * b, 1, observed=rng.normal(size=4))
    pm.Normal("z", pm.Poisson("count", 3.0), 1, observed=rng.normal(size=4))


@known()
def a_regression(rng: np.random.Generator) -> None:
    x = rng.normal(size=(20, 3))
    mu = pm.Normal("level", 0, 2) + pt.dot(x, pm.Normal("slope", 0, 1, shape=3))
    pm.Normal("y", mu, pm.HalfNormal("sigma", 1), observed=rng.normal(size=20))


@known()
def a_thousand_units(rng: np.random.Generator) -> None:
    pm.Normal("y", pm.Normal("mu", 0, 1, shape=1000) + 1.0, 1, observed=rng.normal(size=1000))


@known()
def one_coordinate(rng: np.random.Generator) -> None:
    pm.Normal("y", pm.Normal("mu", 1, 1, shape=1), 1, observed=rng.normal(size=3))


@pytest.mark.parametrize(("build", "groups"), MODELS, ids=[build.__name__ for build, _ in MODELS])
def test_symmetries_are_found_where_they_are_and_leave_the_density_as_it_is(build: Model, groups: Found) -> None:
    """All random elements keep the density and turn its gradient; all copies are folded into one, which stays."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        with pm.Model() as model:
            build(rng)
        density = model_density(model)
        draws = rng.normal(size=(2, 50, density.dimension))
        draws[:, :, [s.start for s in density.layout.stretches if not s.variable.continuous]] = 2.0
        find = Copies(density, seed)
        quotient = find(draws, True)
        assert {(s.kind, tuple(sorted(s.names)), len(s.units)) for s in find.known} == groups
        assert (quotient is None) == (not groups)
        if quotient is None:
            continue
        points = quotient.fold(draws.reshape(-1, density.dimension))
        slopes = np.stack([density(point)[1] for point in points])
        moved, turned = quotient.scattered(points, seed, 1, 0, slopes)
        assert not np.allclose(moved, points)
        np.testing.assert_allclose([density(p)[0] for p in moved], [density(p)[0] for p in points], rtol=1e-9)
        np.testing.assert_allclose([density(p)[1] for p in moved], turned, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())
        np.testing.assert_allclose(quotient.fold(points), points, atol=1e-9)
        np.testing.assert_allclose(quotient.fold(moved), points, atol=1e-9)
        whole = [quotient.scattered(points[k : k + 9], seed, 1, k)[0] for k in range(0, len(points), 9)]
        np.testing.assert_array_equal(np.concatenate(whole), moved)
        again = Quotient.load(quotient.save())
        np.testing.assert_array_equal(again.fold(moved), quotient.fold(moved))


def test_elements_are_drawn_evenly() -> None:
    """All six orders of three components come as often; a rotated vector has no direction."""
    for build, count in ((two_components, 2), (a_product, 2), (principal_components, 0)):
        with pm.Model() as model:
            build(np.random.default_rng(0))
        density = model_density(model)
        quotient = Copies(density, 0)(np.random.default_rng(1).normal(size=(2, 20, density.dimension)), True)
        assert quotient is not None
        uniform = np.random.default_rng(2).random((6000, quotient.symmetries[0].numbers))
        drawn = quotient.symmetries[0].elements(uniform)
        if count:
            times = np.unique(drawn.reshape(len(drawn), -1), axis=0, return_counts=True)[1]
            assert len(times) == count
            assert (np.abs(times - 6000 / count) < 5 * np.sqrt(6000 / count)).all()
        else:
            assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(3 * 6000)
            np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0)


def test_a_density_without_numbers_has_no_symmetries() -> None:
    """Where no point near the draws has a finite density, nothing is concluded."""
    with pm.Model() as model:
        factors(np.random.default_rng(0))
    axes = list(axes_of(model_density(model)))
    draws = np.random.default_rng(1).normal(size=(20, 24))
    for value in (-np.inf, np.inf, np.nan):
        assert find_symmetries(lambda point, value=value: value, axes, draws, 0) == ()


def mixture(symmetric: bool) -> None:
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.normal(-4.0, 0.5, 20), rng.normal(4.0, 0.5, 40)])
    mu = pm.Normal("mu", 0.0, 5.0, shape=2)
    weights = [0.5, 0.5] if symmetric else [0.49, 0.51]
    pm.Mixture("y", weights, [pm.Normal.dist(mu[0], 0.5), pm.Normal.dist(mu[1], 0.5)], observed=y)


@pytest.mark.parametrize("symmetric", [True, False])
def test_reasons_say_whether_chains_differ_by_labels(symmetric: bool) -> None:
    """Without jumps, chains stay where they begin; of a mixture whose weights are fixed to be unequal they differ."""
    with pm.Model():
        mixture(symmetric)
        with pytest.warns(ConvergenceWarning):
            result = pm.sample(
                random_seed=1, progressbar=False, remedies=("coordinates", "steps", "metric", "modes"), chains=4
            )
    assert result.status in {"chains_disagree", "not_converged"}
    assert ("the same answer with other labels" in result.reason) == symmetric
    assert ("ordered" in result.advice) == symmetric


def abilities(rng: np.random.Generator) -> None:
    ability, item = pm.Normal("ability", 0, 1, shape=20), pm.Normal("item", 0, 1, shape=15)
    y = rng.normal(size=20)[:, None] * rng.normal(size=15)
    pm.Normal("y", ability[:, None] * item, 0.3, observed=y + 0.3 * rng.normal(size=y.shape))


def known_factors(rng: np.random.Generator) -> None:
    loadings = pm.Normal("loadings", 0, 1, shape=(6, 2))
    cov = pt.dot(loadings, loadings.T) + pm.HalfNormal("sd", 1) ** 2 * pt.eye(6)
    y = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 0.4 * rng.normal(size=(80, 6))
    pm.MvNormal("y", np.zeros(6), cov=cov, observed=y)


@pytest.mark.parametrize("build", [abilities, known_factors])
def test_runs_of_posteriors_that_are_the_same_in_copies_converge(build: Model) -> None:
    """Draws are in all copies as often, advice says how to have one; extended, draws go on as they would have."""
    with pm.Model():
        build(np.random.default_rng(3))
        result = pm.sample(random_seed=3, progressbar=False, remedies="symmetries")
    assert result.status == "converged", result.reason
    assert "symmetries" in result.posterior.attrs["restarts"]
    assert "each draw lies in one of them at random" in result.advice
    name = next(iter(result.posterior.data_vars))
    signs = np.sign(result.posterior[name].values).reshape(-1, *result.posterior[name].shape[2:]).mean(axis=0)
    assert np.abs(signs).max() < 5 / np.sqrt(4 * result.posterior.sizes["draw"])
    longer = result.extend(draws=result.posterior.sizes["draw"] + 50, progressbar=False)
    for name, draws in result.posterior.data_vars.items():
        np.testing.assert_array_equal(longer.posterior[name][:, : draws.sizes["draw"]], draws)


def test_a_run_in_copies_that_is_resumed_gives_the_same_draws(tmp_path: Path) -> None:
    """Which copy a draw lies in depends on seed, chain and its number."""
    with pm.Model():
        abilities(np.random.default_rng(3))
        path = tmp_path / "run"
        saved = pm.sample(random_seed=3, progressbar=False, remedies="symmetries", save=pm.Save(checkpoint=path))
        assert "symmetries" in saved.posterior.attrs["restarts"]
        count = saved.posterior.sizes["draw"] + 70
        whole = saved.extend(draws=count, progressbar=False)
        path2 = tmp_path / "other"
        pm.sample(random_seed=3, progressbar=False, remedies="symmetries", save=pm.Save(checkpoint=path2))
        resumed = pm.resume(path2, progressbar=False).extend(draws=count, progressbar=False)
    for name in ("ability", "item"):
        np.testing.assert_array_equal(resumed.posterior[name], whole.posterior[name])
