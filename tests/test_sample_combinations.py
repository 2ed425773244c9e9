"""Discrete variables that chains move: combinations of their values are found before, begun in, and jumped between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special, stats

import consilience as pm
import consilience.tensor as pt
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.starting_point import starting_positions
from consilience.sample.discrete_regions import DiscreteRegions
from consilience.sample.monitoring import monitored_of
from consilience.sample.plan import ModelPlan
from consilience.sample.summed_regions import contradicted, few_combinations
from tests.inference.region_normals import normals_of

STEPS, NOISE, WIDE = 60, 0.5, 3.0
SERIES = np.repeat([0.0, 1.0, 2.0], 20) + np.random.default_rng(2).normal(0.0, 0.35, STEPS)


def one_step_of_two() -> pm.Model:
    """One step in a series that has two: its place is near 20 or near 40."""
    with pm.Model() as model:
        k = pm.DiscreteUniform("k", 1, STEPS - 1)
        level = pm.Normal("level", 0.0, WIDE, shape=2)
        pm.Normal("y", pt.switch(np.arange(STEPS) < k, level[0], level[1]), NOISE, observed=SERIES)
    return model


def places_of_one_step() -> np.ndarray:
    """Probabilities of k = 1, …, as the levels integrate out."""

    def evidence(part: np.ndarray) -> float:
        n = len(part)
        covariance = WIDE**2 * np.ones((n, n)) + NOISE**2 * np.eye(n)
        return float(stats.multivariate_normal(np.zeros(n), covariance).logpdf(part))

    logs = np.array([evidence(SERIES[:k]) + evidence(SERIES[k:]) for k in range(1, STEPS)])
    return np.asarray(np.exp(logs - special.logsumexp(logs)))


RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 1)) + 0.1 * RNG.normal(size=(60, 2))
Y = X[:, 0] + RNG.normal(size=60) * 0.5


def collinear() -> pm.Model:
    """Two predictors that tell the same, with indicators of inclusion; an excluded coefficient follows its prior."""
    with pm.Model() as model:
        g = pm.Bernoulli("g", 0.5, shape=2)
        b = pm.Normal("b", 0.0, 1.0, shape=2)
        s = pm.HalfNormal("s", 1.0)
        pm.Normal("y", pt.dot(X, g * b), s, observed=Y)
    return model


def included() -> np.ndarray:
    """Probabilities that either predictor is included."""

    def evidence(kept: list[int]) -> float:
        def at(s: float) -> float:
            covariance = s * s * np.eye(60) + X[:, kept] @ X[:, kept].T
            likelihood = stats.multivariate_normal(np.zeros(60), covariance).logpdf(Y)
            return float(np.exp(likelihood + 60.0) * stats.halfnorm.pdf(s))

        return float(integrate.quad(at, 0.3, 1.0, limit=20)[0])

    one, other, both = evidence([0]), evidence([1]), evidence([0, 1])
    return np.array([one + both, other + both]) / (one + other + both)


def test_two_places_of_one_step_are_weighed_right() -> None:
    """Gibbs sampling of the place never leads from one to the other."""
    truth = places_of_one_step()
    early = truth[: STEPS // 2 - 1].sum()
    assert 0.05 < early < 0.95
    for seed in range(3):
        step = [pm.NUTS(["level"]), pm.CategoricalGibbsMetropolis(["k"])]
        result = pm.sample(model=one_step_of_two(), step=step, random_seed=seed, progressbar=False)
        assert result.status == "converged", result.reason
        assert float((result.posterior["k"] < STEPS // 2).mean()) == pytest.approx(early, abs=0.08)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_indicators_jump_with_their_coefficients() -> None:
    """Element by element an included predictor is hardly exchanged for its like."""
    step = [pm.NUTS(["b", "s"]), pm.CategoricalGibbsMetropolis(["g"])]
    result = pm.sample(model=collinear(), step=step, random_seed=1, progressbar=False)
    assert result.status in {"converged", "converged_with_divergences"}, result.reason
    np.testing.assert_allclose(result.posterior["g"].mean(("chain", "draw")), included(), atol=0.06)
    excluded = result.posterior["b"].to_numpy()[result.posterior["g"].to_numpy() == 0]
    assert abs(excluded.std() - 1.0) < 0.15  # by its prior


def test_draws_that_pass_without_a_combination_lead_to_jumps() -> None:
    """Of 100 seeds the one at whose first check all agreed on one of the combinations, summed out."""
    result = pm.sample(model=collinear(), random_seed=1002, progressbar=False)
    assert result.status == "converged", result.reason
    np.testing.assert_allclose(result.posterior["g"].mean(("chain", "draw")), included(), atol=0.07)


@pytest.mark.parametrize("share", [0.05, 0.28, 0.5])
@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_draws_are_compared_with_what_combinations_weigh(share: float, width: float) -> None:
    """Right draws contradict nothing, also of a normal within another; those that lack half of one do."""
    model, rng = collinear(), np.random.default_rng(5)
    normals = normals_of([np.zeros(3), np.full(3, 5.0)], [np.eye(3), width * np.eye(3)], [1.0 - share, share])

    def draws(of_second: float) -> np.ndarray:
        second = rng.random((4, 1000, 1)) < of_second
        return np.where(second, 5.0 + width * rng.normal(size=(4, 1000, 3)), rng.normal(size=(4, 1000, 3)))

    assert contradicted(model, normals, draws(share)) == ""
    if share > 0.1:
        said = contradicted(model, normals, draws(0.2 * share))
        assert "`g`" in said
        assert f"about {100 * share:.2g} %" in said or f"about {100 * (1 - share):.2g} %" in said


def test_few_combinations_are_counted_by_their_values() -> None:
    """Of declared lengths and bounds; what has no end is not few."""
    with pm.Model() as counts:
        pm.Poisson("n", 3.0)
    with pm.Model() as labels:
        pm.Bernoulli("z", 0.5, shape=6)
    assert [few_combinations(m) for m in (collinear(), one_step_of_two(), counts, labels)] == [
        True,
        False,
        False,
        False,
    ]


def searched(model: pm.Model) -> tuple[DiscreteRegions, ModelDensity]:
    density = model_density(model)
    return DiscreteRegions(density, monitored_of(density, ModelPlan()), 1, 1), density


def test_masses_of_combinations_are_those_of_curvatures() -> None:
    """Exact where the rest is normal."""
    search, _ = searched(one_step_of_two())
    found = search.found
    assert found.complete
    by_value = {int(one.values[0]): share for one, share in zip(found.found, found.shares, strict=True)}
    np.testing.assert_allclose([by_value[k] for k in range(1, STEPS)], places_of_one_step(), atol=1e-4)


def test_chains_begin_in_different_combinations_and_a_missed_one_is_named() -> None:
    search, density = searched(one_step_of_two())
    points = search.spread(starting_positions(density, 4, 1))
    ks = points[:, search.whole[0]]
    assert len(set(ks)) == 4
    stuck = np.repeat(points[:1, None], 100, axis=1)
    assert "`k` = " in search.missed(stuck)


def test_discrete_variables_begin_at_draws_of_the_prior() -> None:
    """One for each chain; values of the user's, and those without a density, do not."""
    density = model_density(one_step_of_two())
    free, given = starting_positions(density, 6, 1), starting_positions(density, 6, 1, {"k": 7})
    place = next(s.start for s in density.layout.stretches if s.variable.name == "k")
    assert len(set(free[:, place])) > 3
    assert set(given[:, place]) == {7.0}
    with pm.Model() as bounded:
        n = pm.Poisson("n", 4.0, initval=30)
        p = pm.Beta("p", 1.0, 1.0)
        pm.Binomial("y", n, p, observed=25)
    density = model_density(bounded)
    assert (starting_positions(density, 3, 1)[:, 0] == 30.0).all()


def test_many_combinations_are_looked_at_from_the_heaviest_on() -> None:
    """Eight indicators, two of them exchangeable: both are among the heaviest found, and the search is not complete."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(50, 8))
    x[:, 1] = x[:, 0]
    y = x[:, 0] + 0.5 * rng.normal(size=50)
    with pm.Model() as model:
        g = pm.Bernoulli("g", 0.1, shape=8)
        b = pm.Normal("b", 0.0, 1.0, shape=8)
        pm.Normal("y", pt.dot(x, g * b), 0.5, observed=y)
    search, _ = searched(model)
    assert not search.found.complete
    best = [tuple(np.flatnonzero(one.values)) for one in search.found.found[:2]]
    assert sorted(best) == [(0,), (1,)]
    assert search.found.shares[0] == pytest.approx(search.found.shares[1], rel=1e-3)
    assert search.missed(np.zeros((1, 5, 16))) == ""


def test_a_run_of_combinations_is_resumed_with_the_same_draws(tmp_path: Path) -> None:
    model, plain = one_step_of_two(), {"random_seed": 2, "progressbar": False}
    step = [pm.NUTS(["level"]), pm.CategoricalGibbsMetropolis(["k"])]
    whole = pm.sample(model=model, step=step, save=pm.Save(checkpoint=tmp_path / "run"), **plain)
    again = pm.resume(tmp_path / "run", model, progressbar=False)
    np.testing.assert_array_equal(again.posterior["k"], whole.posterior["k"])
    single = pm.sample(model=model, step=step, cores=1, **plain)
    np.testing.assert_array_equal(single.posterior["level"], whole.posterior["level"])


def test_indicators_alone_are_looked_at_without_ascents() -> None:
    """A model without continuous variables: masses are the density's own values."""
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.5, shape=4)
        pm.Potential("together", 6.0 * pt.eq(pt.sum(z), 0) + 6.0 * pt.eq(pt.sum(z), 4))
    search, _ = searched(model)
    assert search.found.complete
    heavy = 2.0 * np.exp(6.0) / (2.0 * np.exp(6.0) + 14.0)
    assert search.found.shares[:2].sum() == pytest.approx(heavy, rel=1e-9)
    result = pm.sample(model=model, random_seed=1, progressbar=False)
    assert result.status == "converged", result.reason
    assert float(result.posterior["z"].mean()) == pytest.approx(0.5, abs=0.08)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_what_can_be_summed_out_is_named_where_draws_fail() -> None:
    with pm.Model() as model:
        n = pm.Poisson("n", 20.0, initval=20)
        p = pm.Beta("p", 1.0, 1.0)
        pm.Binomial("y", n, p, observed=9)
    step = [pm.NUTS(["p"]), pm.Metropolis(["n"])]
    result = pm.sample(model=model, step=step, random_seed=1, progressbar=False, stop=pm.Stop(max_draws=100))
    assert result.status == "not_converged"
    assert "`n` can be summed out" in result.reason
    assert "pm.marginalize(model, ['n'])" in result.reason
