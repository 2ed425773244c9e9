"""Counts that come as floats: whole ones are integers, others are refused by name, or taken by formula when asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm

COUNTS = [0, 1, 1, 2]
BITS = [0, 1, 1, 0]
VECTORS = [[1, 2, 0], [0, 0, 3]]

Declared = tuple[Callable[..., Any], list[Any]]
DISTRIBUTIONS: dict[str, Declared] = {
    "Bernoulli": (lambda p, **k: pm.Bernoulli("y", p, **k), BITS),
    "BernoulliLogit": (lambda p, **k: pm.Bernoulli("y", logit_p=p, **k), BITS),
    "BetaBinomial": (lambda p, **k: pm.BetaBinomial("y", p, 2.0, 3, **k), COUNTS),
    "Binomial": (lambda p, **k: pm.Binomial("y", 3, p, **k), COUNTS),
    "Categorical": (lambda p, **k: pm.Categorical("y", pm.math.stack([p / 2, p / 2, 1 - p]), **k), COUNTS),
    "Censored": (lambda p, **k: pm.Censored("y", pm.Poisson.dist(p), lower=None, upper=2, **k), COUNTS),
    "CustomDist": (lambda p, **k: pm.CustomDist("y", p, logp=lambda v, p: -p * v, dtype="int64", **k), COUNTS),
    "DirichletMultinomial": (lambda p, **k: pm.DirichletMultinomial("y", 3, p * np.ones(3), **k), VECTORS),
    "DiscreteUniform": (lambda p, **k: pm.DiscreteUniform("y", 0, 4, **k), COUNTS),
    "DiscreteWeibull": (lambda p, **k: pm.DiscreteWeibull("y", p, 1.5, **k), COUNTS),
    "Geometric": (lambda p, **k: pm.Geometric("y", p, **k), [1, 2, 2, 3]),
    "HurdlePoisson": (lambda p, **k: pm.HurdlePoisson("y", p, 2.0, **k), COUNTS),
    "HyperGeometric": (lambda p, **k: pm.HyperGeometric("y", 10, 4, 5, **k), COUNTS),
    "Mixture": (lambda p, **k: pm.Mixture("y", [0.5, 0.5], [pm.Poisson.dist(p), pm.Poisson.dist(3)], **k), COUNTS),
    "Multinomial": (lambda p, **k: pm.Multinomial("y", 3, pm.math.stack([p / 2, p / 2, 1 - p]), **k), VECTORS),
    "NegativeBinomial": (lambda p, **k: pm.NegativeBinomial("y", mu=p, alpha=2.0, **k), COUNTS),
    "OrderedLogistic": (lambda p, **k: pm.OrderedLogistic("y", p, [-1.0, 1.0], **k), COUNTS),
    "OrderedProbit": (lambda p, **k: pm.OrderedProbit("y", p, [-1.0, 1.0], **k), COUNTS),
    "Poisson": (lambda p, **k: pm.Poisson("y", p, **k), COUNTS),
    "Truncated": (lambda p, **k: pm.Truncated("y", pm.Poisson.dist(p), upper=5, **k), COUNTS),
    "ZeroInflatedBinomial": (lambda p, **k: pm.ZeroInflatedBinomial("y", p, 3, 0.4, **k), COUNTS),
    "ZeroInflatedPoisson": (lambda p, **k: pm.ZeroInflatedPoisson("y", p, 2.0, **k), COUNTS),
}


def model_of(declare: Callable[..., Any], observed: Any, as_data: bool, **settings: Any) -> pm.Model:
    with pm.Model(**settings) as model:
        p = pm.Beta("p", 2, 3)
        declare(p, observed=pm.Data("d", observed) if as_data else observed)
    return model


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_whole_floats_in_data_are_the_integers_they_equal(name: str) -> None:
    declare, values = DISTRIBUTIONS[name]
    first, second = np.array(values), np.array(values)[::-1]
    model = model_of(declare, first.astype(float), as_data=True)
    point = model.initial_point()
    for given in (first, second):
        pm.set_data({"d": given.astype(float)}, model)
        wanted = model_of(declare, given, as_data=False).compile_logp(mode="reference")(point)
        assert model.compile_logp(mode="reference")(point) == pytest.approx(wanted, rel=1e-13)
        assert np.isfinite(wanted)
    assert model.observed[0].data.dtype == "int64"
    pm.set_data({"d": first + 1e-7}, model)
    with pytest.raises(pm.SupportError, match=r"`y`: \d of \d values are not whole, the first is .*`np.round`"):
        model.compile_logp(mode="reference")(point)


def test_data_of_floats_serve_predictions_likelihoods_and_parameters() -> None:
    with pm.Model() as model:
        n, d = pm.Data("n", [3.0, 4.0]), pm.Data("d", [1.0, 2.0])
        p = pm.Beta("p", 1, 1)
        pm.Binomial("y", n, p, observed=d)
    draws = {"p": np.array([[0.25, 0.5]])}
    drawn = pm.sample_posterior_predictive(draws, model=model, random_seed=1)
    assert drawn.posterior_predictive["y"].dtype == np.int64
    assert drawn.observed_data["y"].dtype == np.int64
    found = pm.compute_log_likelihood(draws, model=model, extend_inferencedata=False)["y"].values
    np.testing.assert_allclose(found[0], stats.binom([3, 4], [[0.25], [0.5]]).logpmf([1, 2]), rtol=1e-12)


@pytest.mark.parametrize("value", [1.0000001, 2.5, np.nan, np.inf])
def test_values_that_are_no_counts_are_named_with_the_way_round(value: float) -> None:
    model = model_of(DISTRIBUTIONS["Poisson"][0], [0.0, value], as_data=True)
    with pytest.raises(pm.SupportError, match=rf"`y`: 1 of 2 .*{value} \(element 1\).*check_bounds=False"):
        model.compile_logp()(model.initial_point())


def test_indices_take_whole_floats_and_name_others() -> None:
    with pm.Model() as model:
        pm.Deterministic("a_of", pm.Normal("a", shape=2)[pm.Data("index", [0, 1])])
    pm.set_data({"index": [1.0, 0.0]}, model)
    np.testing.assert_array_equal(model.get_data("index"), [1, 0])
    with pytest.raises(pm.errors.DtypeError, match=r"the value 1\.0000001 \(element 1\)"):
        pm.set_data({"index": [1.0, 1.0000001]}, model)


def poisson(rate: float, values: np.ndarray) -> float:
    return float((values * np.log(rate) - rate - special.gammaln(values + 1)).sum())


@pytest.mark.parametrize("as_data", [False, True])
def test_without_bounds_the_formula_is_used_between_whole_numbers(as_data: bool) -> None:
    """Annual means as counts. Backends and gradients see one formula; NaN and negative values stay refused."""
    values = np.array([1.5, 2.25, 0.0])

    def declare(p: Any, **settings: Any) -> Any:
        return pm.Poisson("y", 3 * p, **settings)

    model = model_of(declare, values, as_data, check_bounds=False)
    prior = stats.beta(2, 3).logpdf(0.5) + np.log(0.25)
    for mode in ("llvm", "reference", "c"):
        assert model.compile_logp(mode=mode)({"p_logodds__": 0.0}) == pytest.approx(prior + poisson(1.5, values))
    drawn = pm.sample_prior_predictive(50, model=model, random_seed=1)
    assert (drawn.prior_predictive["y"] % 1 == 0).all()
    np.testing.assert_array_equal(drawn.observed_data["y"], values)
    with pytest.raises(pm.SupportError, match=r"-0\.5"):
        model_of(declare, np.array([-0.5]), as_data, check_bounds=False).compile_logp()({"p_logodds__": 0.0})


def test_values_between_counts_may_be_missing_and_used_elsewhere() -> None:
    with pm.Model(check_bounds=False) as model:
        with pytest.warns(pm.errors.ImputationWarning):
            y = pm.Poisson("y", 2.0, observed=[1.5, None])
        pm.Normal("z", y, 1.0, observed=[1.0, 2.0])
    assert model.free[0].node.dtype == "int64"
    wanted = poisson(2.0, np.array([1.5, 3.0])) + stats.norm([1.5, 3.0], 1).logpdf([1.0, 2.0]).sum()
    assert model.compile_logp()({"y_unobserved": np.array([3])}) == pytest.approx(wanted)
