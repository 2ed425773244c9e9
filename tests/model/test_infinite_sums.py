"""Variables without end, summed out: right to the last digits where there is a number, and no number elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

import consilience as pm
from consilience.errors import ModelError
from consilience.model import marginalize
from consilience.model.summation import without
from consilience.model.tails import lengthen_for, short_tails
from consilience.sample import recover_marginals

COUNTS = np.array([[3, 2], [0, 1], [5, 7], [0, 0]])
TREND = np.array([-0.5, 0.0, 0.3, 1.0])
FAR = np.arange(1500)[:, None]  # values summed by NumPy

# Declaration, and its likelihood summed by NumPy, of values on their own scales.
MODELS: dict[str, tuple[Callable[[], None], Callable[..., float]]] = {}


def sites(log_prior: Any, log_seen: Any) -> float:
    """Log of the sum over abundances 0, 1, … of each site; (value, site) and (value, site, visit)."""
    return float(logsumexp(log_prior + log_seen.sum(axis=2), axis=0).sum())


def seen(p: Any) -> Any:
    return stats.binom.logpmf(COUNTS, FAR[:, :, None], p)


def poisson() -> None:
    n = pm.Poisson("n", pm.Gamma("lam", 2, 0.5), shape=(4, 1))
    pm.Binomial("y", n, pm.Beta("p", 2, 2), observed=COUNTS)


MODELS["poisson"] = poisson, lambda lam, p: sites(stats.poisson.logpmf(FAR, lam), seen(p))


def covariates() -> None:
    """Of abundance and of detection; sites counts, and starting values of a user's."""
    a, b = pm.Normal("a", 1, 1), pm.Normal("b", 0, 1)
    n = pm.Poisson("n", pm.math.exp(a + b * TREND), initval=COUNTS.max(axis=1) + 2)
    pm.Binomial("y", n[:, None], pm.math.sigmoid(pm.Normal("c") + TREND)[:, None], observed=COUNTS)


MODELS["covariates"] = (
    covariates,
    lambda a, b, c: sites(stats.poisson.logpmf(FAR, np.exp(a + b * TREND)), seen(expit(c + TREND)[:, None])),
)


def negative_binomial() -> None:
    n = pm.NegativeBinomial("n", mu=pm.Gamma("mu", 2, 0.5), alpha=pm.Gamma("alpha", 4, 4), shape=(4, 1))
    pm.Binomial("y", n, 0.4, observed=COUNTS)


MODELS["negative_binomial"] = (
    negative_binomial,
    lambda mu, alpha: sites(stats.nbinom.logpmf(FAR, alpha, alpha / (alpha + mu)), seen(0.4)),
)


def geometric() -> None:
    n = pm.Geometric("n", pm.Beta("q", 4, 4), shape=4)
    pm.Poisson("y", pm.Gamma("rate", 2, 2) * n[:, None], observed=COUNTS)


MODELS["geometric"] = (
    geometric,
    lambda q, rate: sites(stats.geom.logpmf(FAR, q), stats.poisson.logpmf(COUNTS, rate * FAR[:, :, None])),
)


def occupied() -> None:
    """Abundance that is 0 where a site is not occupied: two variables, one summed inside the other."""
    z = pm.Bernoulli("z", pm.Beta("psi", 2, 2), shape=(4, 1))
    n = pm.Poisson("n", pm.Gamma("lam", 2, 0.5) * z)
    pm.Binomial("y", n, 0.4, observed=COUNTS)


MODELS["occupied"] = (
    occupied,
    lambda psi, lam: sites(
        np.logaddexp(np.log(psi) + stats.poisson.logpmf(FAR, lam), np.log1p(-psi) + stats.poisson.logpmf(FAR, 0.0)),
        seen(0.4),
    ),
)


def survivors() -> None:
    """A latent Binomial whose own number is latent: thinned Poisson numbers."""
    n = pm.Poisson("n", pm.Gamma("lam", 2, 0.5), shape=(4, 1))
    alive = pm.Binomial("z", n, pm.Beta("w", 2, 2))
    pm.Binomial("y", alive, 0.4, observed=COUNTS)


MODELS["survivors"] = survivors, lambda lam, w: sites(stats.poisson.logpmf(FAR, lam * w), seen(0.4))


def built(name: str) -> pm.Model:
    with pm.Model() as model:
        MODELS[name][0]()
    return marginalize(model, [v.name for v in model.free if not v.continuous])


def own_scale(model: pm.Model, position: npt.NDArray[np.float64]) -> dict[str, float]:
    found = model.log_density().expand(position[None], False)
    return {v.name: float(found[v.name][0]) for v in model.free}


@pytest.mark.parametrize("name", MODELS)
def test_density_has_a_value_where_it_is_right_and_nowhere_else(name: str) -> None:
    """At a hundred points, most of them beyond what is summed for; with its gradient. Samplers see no higher one."""
    model = built(name)
    density = model.log_density()
    rng = np.random.default_rng(1)
    positions = rng.normal(size=(100, density.dimension)) * np.linspace(0.1, 4.0, 100)[:, None]
    _, sampled = density.tempered(positions)
    logp = model.compile_logp([*(v.node for v in model.observed), *model.potentials])
    found = np.array([logp(density.layout.point(position)) for position in positions])
    there = np.isfinite(found)
    assert there.sum() > 20
    assert not there.all() or name in ("occupied", "geometric", "negative_binomial")
    exact = np.array([MODELS[name][1](**own_scale(model, position)) for position in positions])
    np.testing.assert_allclose(found[there], exact[there], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sampled[there], exact[there], rtol=1e-11, atol=1e-11)
    assert (sampled[~there] < exact[~there] + 1e-9).all()
    step = 1e-6 * np.eye(density.dimension)
    for position in positions[there][:10]:
        _, slope = density(position)
        differences = [(density(position + h)[0] - density(position - h)[0]) / 2e-6 for h in step]
        np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-5)


def test_more_values_are_summed_where_draws_come_near_to_the_last_ones() -> None:
    model = built("poisson")
    near = {"lam": np.array([4.0, 5.0]), "p": np.array([0.4, 0.5])}
    far = {"lam": np.array([4.0, 200.0]), "p": np.full(2, 0.05)}
    assert short_tails(model, near) == []
    assert short_tails(model, far) == ["n"]
    assert model.compile_logp()({"lam_log__": np.log(200.0), "p_logodds__": np.log(0.05 / 0.95)}) == -np.inf
    lengthen_for(model, far)
    assert short_tails(model, far) == []
    logp = model.compile_logp()({"lam_log__": np.log(200.0), "p_logodds__": np.log(0.05 / 0.95)})
    exact = MODELS["poisson"][1](lam=200.0, p=0.05)
    exact += stats.gamma.logpdf(200.0, 2, scale=2) + np.log(200.0) + stats.beta.logpdf(0.05, 2, 2) + np.log(0.05 * 0.95)
    assert logp == pytest.approx(exact, rel=1e-12)
    assert pm.do(model, {"p": 0.4}).summed_values == model.summed_values


def test_numbers_are_drawn_with_their_probabilities() -> None:
    """n given y: what was not seen is a Poisson number of its own, thinned."""
    with pm.Model() as model:
        lam = pm.Gamma("lam", 2, 0.5)
        n = pm.Poisson("n", lam, shape=2)
        pm.Binomial("y", n, 0.3, observed=[2, 4])
    summed = marginalize(model, "n")
    draws = {"lam": np.full((1, 20_000), 5.0)}
    found = recover_marginals(draws, model=summed, random_seed=1, extend_inferencedata=False)
    values = np.arange(found["lp_n"].shape[-1])
    exact = stats.poisson.pmf(values - np.array([[2], [4]]), 5.0 * 0.7)
    np.testing.assert_allclose(np.exp(found["lp_n"].values[0, 0]), exact, rtol=1e-9, atol=1e-14)
    for site in range(2):
        frequencies = np.bincount(found["n"].values[0, :, site], minlength=len(values)) / 20_000
        np.testing.assert_allclose(frequencies, exact[site], atol=0.015)


def test_sums_that_cannot_be_cut_off_are_refused() -> None:
    with pm.Model() as model:
        together = pm.Poisson("together", 2.0, shape=3)
        pm.Normal("y", together.sum(), 1.0, observed=5.0)
        heavy = pm.DiscreteWeibull("heavy", 0.9, 0.1)
        pm.Normal("x", pm.math.sqrt(pm.math.abs(heavy)) * 0.0, 1.0, observed=0.0)
        none = pm.Poisson("none", 3.0)
        pm.Normal("mu")
        pm.Potential("never", pm.math.where(none >= 0, -np.inf, 0.0))
    for name, message in {
        "together": "`together` .* which has infinitely many values, act together",
        "heavy": "of them are not enough to sum all but 1e-12: its tail is heavy",
        "none": "no value agrees with the data",
    }.items():
        with pytest.raises(pm.ModelError, match=message):
            marginalize(model, name)


def test_counts_that_grow_with_one_another_are_refused_before_their_tables_are_large() -> None:
    """However many values the first has, the second needs more for the greatest of them."""
    with pm.Model() as model:
        first = pm.Poisson("first", pm.Gamma("rate", 2, 0.5))
        second = pm.Poisson("second", first + 1.0)
        pm.Poisson("y", second + 0.5, observed=3)
    with pytest.raises(ModelError, match=r"`(first|second)`.* infinitely many"):
        without(model, ["first", "second"])
