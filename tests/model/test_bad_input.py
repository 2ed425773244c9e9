"""What probability models cannot mean: each case is refused, in words that name the variable and the element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import DtypeError

NORMAL, WIDE = (lambda: pm.Normal.dist(0.0, 1.0)), (lambda: pm.Normal.dist(0.0, 2.0))


def of_data(observed: Any) -> pm.Model:
    with pm.Model() as model:
        pm.Gamma("x", pm.HalfNormal("a"), 1.0, observed=pm.Data("d", observed))
    return model


def crossed_by_data() -> None:
    upper = pm.Data("u", [3.0, 1.0])
    pm.Censored("x", pm.Normal.dist(pm.Normal("mu"), 1.0), 1.5, upper, observed=[1.5, 1.5])
    pm.modelcontext(None).log_density()


# A declaration inside a model -> the error, and what its message says.
DECLARATIONS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "parameters twice": (
        lambda: pm.Normal("x", mu=0, sigma=1, tau=1), TypeError,
        r"\(mu=0, sigma=1\) or \(mu=0, tau\); got mu, sigma, tau",
    ),
    "parameters of two forms": (lambda: pm.Beta("x", alpha=1, mu=0.5), TypeError, "got alpha, mu"),
    "a static parameter that is random": (
        lambda: pm.LKJCorr("x", n=pm.Poisson("k", 3), eta=1), pm.ParameterError, "n must be a number known when",
    ),
    "a random length": (
        lambda: pm.GaussianRandomWalk("x", steps=pm.Poisson("k", 3)), pm.ModelError,
        "the shape of `x` depends on `k`, a random variable",
    ),
    "a random shape": (
        lambda: pm.Normal("x", shape=pm.Poisson("k", 3)), pm.ModelError, "the shape of `x` depends on `k`",
    ),
    "a component that is observed": (
        lambda: pm.Mixture("x", [0.5, 0.5], [pm.Normal("a", observed=1.0), NORMAL()]), pm.ParameterError,
        "must be a distribution outside any model, .* got `a`",
    ),
    "components of different shapes": (
        lambda: pm.Mixture("x", [0.5, 0.5], [pm.Normal.dist(shape=3), pm.Normal.dist(shape=4)]), pm.ShapeError,
        r"\(3,\), \(4,\) do not broadcast",
    ),
    "counts mixed with numbers": (
        lambda: pm.Mixture("x", [0.5, 0.5], [NORMAL(), pm.Poisson.dist(1)]), pm.ParameterError,
        "must be all continuous or all discrete",
    ),
    "weights that do not sum to one": (
        lambda: pm.Mixture("x", [0.5, 0.6], [NORMAL(), WIDE()]), pm.ParameterError,
        r"w must be numbers >= 0 that sum to 1, got \[0\.5 0\.6\]",
    ),
    "truncation without mass": (
        lambda: pm.Truncated("x", pm.Beta.dist(1, 1), 2, 3), pm.ParameterError,
        "Beta has no probability between lower and upper",
    ),
    "truncation between whole numbers": (
        lambda: pm.Truncated("x", pm.Poisson.dist(3), 1.2, 1.8), pm.ParameterError, "Poisson has no probability",
    ),
    "truncation crossed": (
        lambda: pm.Truncated("x", NORMAL(), 3, 2), pm.ParameterError, "upper must be a number >= lower",
    ),
    "censoring crossed": (
        lambda: pm.Censored("x", pm.Normal.dist(shape=2), [0, 3], [1, 2], observed=[1.0, 2.0]), pm.ParameterError,
        r"upper must be a number >= lower, or infinite, got 2\.0 \(element 1\)",
    ),
    "censoring crossed by data": (
        crossed_by_data, pm.ParameterError, "`x`: its parameter `upper` must be a number >= lower",
    ),
    "an element outside the support": (
        lambda: pm.Gamma("x", 1, 1, observed=[[1.0, 2.0], [3.0, -1.0]]), pm.SupportError,
        r"must be >= 0, got -1\.0 \(element 1, 1\)",
    ),
    "an element beyond the bound": (
        lambda: pm.Censored("x", NORMAL(), 0, 2, observed=[1.0, 2.5]), pm.SupportError,
        r">= 0 and <= 2, got 2\.5 \(element 1\)",
    ),
    "a vector that is no simplex": (
        lambda: pm.Dirichlet("x", np.ones(3), observed=[[0.2, 0.3, 0.5], [0.2, 0.3, 0.6]]), pm.SupportError,
        r"sum to 1, got \[0\.2 0\.3 0\.6\] \(element 1\)",
    ),
    "counts of another total": (
        lambda: pm.Multinomial("x", 4, np.ones(3) / 3, observed=[[1, 2, 1], [1, 2, 3]]), pm.SupportError,
        r"sum to 4, got \[1 2 3\] \(element 1\)",
    ),
    "no factor of correlations": (
        lambda: pm.LKJCorr("x", n=2, eta=1, observed=[[1, 2.0], [2.0, 1]]), pm.SupportError,
        "must be lower triangular with a positive diagonal and rows of length 1",
    ),
    "one variable without correlations": (
        lambda: pm.LKJCorr("x", n=1, eta=1), pm.ParameterError, "n must be a whole number >= 2, got 1",
    ),
    "NaN in counts of categories": (
        lambda: pm.Multinomial("x", 4, np.ones(3) / 3, observed=[[1, np.nan, 1]]), pm.ModelError,
        "elements of Multinomial are tied to each other",
    ),
    "texts as observations": (
        lambda: pm.Categorical("x", [0.5, 0.5], observed=["a", "b"]), DtypeError, "they hold texts such as 'a'",
    ),
    "a density of two random parents": (
        lambda: pm.logp(NORMAL() * pm.Gamma.dist(1, 1), 1.0), Exception, "2 random operands meet in one step",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLARATIONS)
def test_declarations_without_a_meaning_are_refused(case: str) -> None:
    declare, error, message = DECLARATIONS[case]
    with pm.Model(), pytest.raises(error, match=message):
        declare()


def small() -> pm.Model:
    with pm.Model() as model:
        mu = pm.Normal("mu")
        k = pm.Poisson("k", 3.0)
        pm.Bernoulli("b", 0.5, observed=1)
        z = pm.Categorical("z", np.ones(4) / 4, shape=8)
        pm.Potential("lag", mu * (1.0 * (z[2:] - z[:-2]) ** 2).sum())
        pm.Normal("y", mu + k, 1.0, observed=1.0)
    return model


# What is asked of that model -> the error, and what its message says.
REQUESTS: dict[str, tuple[Callable[[pm.Model], Any], type[Exception], str]] = {
    "marginalize data": (lambda m: pm.marginalize(m, "b"), pm.ModelError, "`b` is observed"),
    "marginalize the unknown": (lambda m: pm.marginalize(m, "u"), KeyError, "no variable `u`; it has mu, k, b"),
    "marginalize a number": (lambda m: pm.marginalize(m, "mu"), pm.ModelError, "`mu` .* is continuous"),
    "marginalize what acts beyond neighbours": (
        lambda m: pm.marginalize(m, "z"), pm.ModelError,
        r"`z` \(shape \(8,\)\) act together .* 4\^8; .* each with the next one, as in `log_p\[z\[:-1\], z\[1:\]\]`",
    ),
    "do the unknown": (lambda m: pm.do(m, {"u": 1.0}), KeyError, "no variable `u`; it has mu, k, b"),
    "do a stranger": (lambda m: pm.do(m, {NORMAL(): 1.0}), pm.ModelError, "is not a named variable of the model"),
    "do another shape": (lambda m: pm.do(m, {"mu": [1.0, 2.0]}), pm.ShapeError, r"`mu` has shape \(\), got .* \(2,\)"),
    "do another type": (lambda m: pm.do(m, {"k": 1.5}), pm.ModelError, "`k` is int64, got values of float64"),
    "observe the unknown": (lambda m: pm.observe(m, {"u": 1.0}), KeyError, "no variable `u`"),
    "observe the impossible": (
        lambda m: pm.observe(m, {"z": [0, 1, 2, 3, 4, 0, 1, 2]}), pm.SupportError, r"got 4 \(element 4\)",
    ),
    "observe data beyond": (lambda m: pm.observe(m, {"b": 2}), pm.SupportError, "got 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS)
def test_requests_without_a_meaning_are_refused(case: str) -> None:
    ask, error, message = REQUESTS[case]
    with pytest.raises(error, match=message):
        ask(small())


def test_exchanged_data_outside_the_support_are_told_with_their_place() -> None:
    with pytest.raises(pm.SupportError, match=r"got -3\.0 \(element 2\)"):
        of_data([1.0, 2.0, -3.0]).log_density()
    model = of_data([1.0, 2.0])
    model.log_density()
    model.set_data("d", [1.0, -2.0])
    with pytest.raises(pm.SupportError, match=r"got -2\.0 \(element 1\)"):
        model.log_density()


def test_weights_that_do_not_sum_to_one_have_no_density_when_they_are_computed() -> None:
    with pm.Model() as model:
        pm.Mixture("x", pm.HalfNormal("w", shape=2), [NORMAL(), WIDE()], observed=0.3)
    assert model.compile_logp()({"w_log__": np.zeros(2)}) == -np.inf
    assert np.isfinite(model.compile_logp()({"w_log__": np.log([0.25, 0.75])}))


def test_huge_counts_and_extreme_parameters_have_their_number() -> None:
    # Terms of 2e10 cancel, each rounded.
    exact = -0.5 * np.log(2 * np.pi * 1e9) - 1 / 12e9
    assert float(pm.logp(pm.Poisson.dist(1e9), 10**9).eval()) == pytest.approx(exact, abs=3 * 2e10 * 2**-53)
    for scale in (1e-300, 1e300):
        found = float(pm.logp(pm.Normal.dist(0.0, scale), 0.5 * scale).eval())
        assert found == pytest.approx(-0.125 - np.log(scale) - 0.5 * np.log(2 * np.pi), rel=1e-14)
