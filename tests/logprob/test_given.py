"""What is handed to `dist`, and variables of the model that it uses, are held fixed while the density is derived."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import consilience as pm
import consilience.tensor as pt
from consilience.errors import MissingRuleError, ModelError, ShapeError

N = scipy.stats.norm
Y = np.array([4.0, 5.5, 6.25])


def shifted(s, size):
    """A normal variable around the parameter."""
    return s + pm.Normal.dist(0.0, 1.0, size=size)


def term(make, at: float = 5.0, **others: float) -> float:
    """Log density of `y` at a value of `s`, without the prior."""
    with pm.Model() as model:
        s = pm.Normal("s", 0.0, 10.0)
        make(s)
    (found,) = model.compile_logp(vars=[model["y"]], sum=False, jacobian=False)({"s": at, **others})
    return float(np.sum(found))


GIVEN = {
    "parameter": (lambda s: pm.CustomDist("y", s, dist=shifted, observed=Y), N(5.0, 1.0)),
    "expression": (lambda s: pm.CustomDist("y", 2 * s, dist=shifted, observed=Y), N(10.0, 1.0)),
    "used twice": (
        lambda s: pm.CustomDist("y", s, 2 * s, dist=lambda a, b, size: a * shifted(b, size), observed=Y), N(50.0, 5.0)
    ),
    "not normal": (
        lambda s: pm.CustomDist("y", s, dist=lambda s, size: pm.Exponential.dist(1.0, size=size) + s - 3, observed=Y),
        scipy.stats.expon(2.0),
    ),
    "captured": (lambda s: pm.CustomDist("y", dist=lambda size: shifted(s, size), observed=Y), N(5.0, 1.0)),
    "captured parent": (
        lambda s: pm.CustomDist("y", dist=lambda size: pt.exp(pm.Normal.dist(s, 1.0, size=size)), observed=Y),
        scipy.stats.lognorm(1.0, scale=np.exp(5.0)),
    ),
    "of data": (lambda s: pm.CustomDist("y", s + pm.Data("d", 0.5), dist=shifted, observed=Y), N(5.5, 1.0)),
    "truncated expression": (
        lambda s: pm.Truncated("y", s + pm.Normal.dist(), lower=s - 9.0, observed=Y), N(5.0, 1.0)
    ),
    "censored expression": (lambda s: pm.Censored("y", s + pm.Normal.dist(), -50.0, 50.0, observed=Y), N(5.0, 1.0)),
    "mixture of expressions": (
        lambda s: pm.Mixture("y", [0.5, 0.5], [s + pm.Normal.dist(), pm.Normal.dist() + s], observed=Y), N(5.0, 1.0)
    ),
    "ignored": (lambda s: pm.CustomDist("y", s, dist=lambda s, size: pm.Normal.dist(size=size), observed=Y), N(0, 1)),
    "drawn twice": (
        lambda s: pm.CustomDist("y", s, dist=lambda s, size: shifted(s, size) + shifted(0.0, size), observed=Y),
        N(5.0, np.sqrt(2.0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_density_is_that_given_what_is_handed_over(name: str) -> None:
    make, frozen = GIVEN[name]
    assert term(make) == pytest.approx(frozen.logpdf(Y).sum(), rel=1e-9)


def test_free_variable_of_a_random_parameter() -> None:
    def make(s):
        pm.CustomDist("y", s, dist=lambda mu, size: pm.Normal.dist(0.0, 1.0, size=size) + mu)

    assert term(make, 5.0, y=4.0) == pytest.approx(N(5.0, 1.0).logpdf(4.0))


def test_pert_between_ends_that_are_variables() -> None:
    """The density, the support and its transform follow the ends."""

    def pert(low, mode, high, size):
        a, b = 1 + 4 * (mode - low) / (high - low), 1 + 4 * (high - mode) / (high - low)
        return pm.Beta.dist(a, b, size=size) * (high - low) + low

    with pm.Model() as model:
        low = pm.Normal("low", 0.0, 1.0)
        high = pm.Deterministic("high", low + 10.0)
        pm.CustomDist("y", low, low + 4.0, high, dist=pert)
    (found,) = model.compile_logp(vars=[model["y"]], sum=False)({"low": 1.0, "y": 3.5})
    assert found == pytest.approx(scipy.stats.beta(2.6, 3.4, 1.0, 10.0).logpdf(3.5))
    assert pm.find_MAP(model=model, progressbar=False)["y"] > 0.0


def test_draws_and_missing_values_are_given_the_parameter() -> None:
    """Posterior predictive draws have the parameter's draw, whether it was handed over or captured."""
    for make in (
        lambda s: pm.CustomDist("y", s, dist=shifted, observed=Y),
        lambda s: pm.CustomDist("y", dist=lambda size: shifted(s, size), observed=Y),
        lambda s: pm.CustomDist(
            "y", logp=lambda v: pm.logp(pm.Normal.dist(s, 1.0), v), dist=lambda size: shifted(s, size), observed=Y
        ),
    ):
        with pm.Model() as model:
            make(pm.Normal("s", 100.0, 10.0))
        chosen = xr.Dataset({"s": (("chain", "draw"), np.full((1, 400), 7.0))})
        after = pm.sample_posterior_predictive(chosen, model=model, random_seed=1, progressbar=False)
        draws = after.posterior_predictive["y"].to_numpy().ravel()
        assert scipy.stats.kstest(draws, N(7.0, 1.0).cdf).pvalue > 1e-5


@pytest.mark.filterwarnings("ignore::consilience.errors.ImputationWarning")
def test_missing_values_are_given_the_parameter() -> None:
    """Elements with data and those without have the density of their own."""
    with pm.Model() as model:
        s = pm.Normal("s", 0.0, 10.0, shape=4)
        pm.CustomDist(
            "y", s, dist=lambda s, size: s - pm.Exponential.dist(0.5, size=size), observed=np.r_[1.0, np.nan, 2.0, -1.0]
        )
    at = np.array([1.5, 4.0, 2.5, 0.0])
    wanted = N(0.0, 10.0).logpdf(at).sum() + scipy.stats.expon(scale=2.0).logpdf(at - [1.0, 3.0, 2.0, -1.0]).sum()
    found = model.compile_logp(jacobian=False)({"s": at, "y_unobserved": [3.0]})
    assert float(found) == pytest.approx(wanted)


def test_rows_of_a_batch_are_given() -> None:
    x = np.arange(50.0)
    with pm.Model() as model:
        slope = pm.Normal("slope")
        rows, y = pm.Minibatch(x, 2.0 * x, batch_size=10)
        pm.CustomDist("y", slope * rows, dist=shifted, observed=y, total_size=50)
    found = model.compile_logp()
    assert float(found({"slope": 2.0})) == pytest.approx(N.logpdf(2.0) + 50 * N.logpdf(0.0))


def test_another_model_made_of_it_has_its_variables() -> None:
    """`do` and `observe` replace what was captured as what was handed over."""
    with pm.Model() as model:
        s = pm.Normal("s", 0.0, 10.0)
        pm.CustomDist("y", s, dist=lambda a, size: a + shifted(s, size), observed=Y)
    assert float(pm.do(model, {"s": 2.5}).compile_logp()({})) == pytest.approx(N(5.0, 1.0).logpdf(Y).sum())


def test_posterior_is_the_closed_form() -> None:
    """Of a normal mean, and of the shift of exponential numbers, whose posterior is an exponential's mirror image."""
    y = np.random.default_rng(1).exponential(1.0, 40) + 3.0
    with pm.Model():
        a = pm.Flat("a")
        pm.CustomDist("y", a, dist=lambda a, size: a + pm.Normal.dist(0.0, 2.0, size=size), observed=y)
        run = pm.sample(1000, tune=300, chains=2, random_seed=1, progressbar=False)
    draws = run.posterior["a"].to_numpy().ravel()
    assert abs(draws.mean() - y.mean()) < 0.06
    assert draws.std() == pytest.approx(2.0 / np.sqrt(40), rel=0.12)
    with pm.Model() as model:
        b = pm.Uniform("b", 0.0, 3.0)
        pm.CustomDist("y", b, dist=lambda b, size: b + pm.Exponential.dist(1.0, size=size), observed=y)
    (found,) = model.compile_logp(vars=[model["y"]], sum=False)({"b_interval__": 0.0})
    np.testing.assert_allclose(found, 1.5 - y)


REFUSED: dict[str, tuple[Any, Any]] = {
    "must return an expression": (TypeError, lambda s: pm.CustomDist("y", s, dist=lambda s, size: s, observed=Y)),
    "are held fixed in it": (TypeError, lambda s: pm.CustomDist("y", dist=lambda size: s, observed=Y)),
    "got 3.0": (TypeError, lambda s: pm.CustomDist("y", s, dist=lambda s, size: 3.0, observed=Y)),
    "give `size=size`": (ShapeError, lambda s: pm.CustomDist("y", s, dist=lambda s, size: shifted(s, 2), observed=Y)),
    "integrated out": (
        MissingRuleError,
        lambda s: pm.CustomDist("y", s, dist=lambda s, size: pm.Normal.dist(shifted(s, size), 1.0), observed=Y),
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_functions_without_a_density(message: str) -> None:
    error, make = REFUSED[message]
    with pytest.raises(error, match=message):
        term(make)


def test_size_is_kept_outside_models() -> None:
    with pytest.raises(ShapeError, match="where the size"):
        pm.CustomDist.dist(0.0, dist=lambda s, size: shifted(s, 3), size=4)


def test_random_names_the_variable_that_it_has_not_as_parameter() -> None:
    with pm.Model() as model:
        s = pm.Normal("s")
        pm.CustomDist("y", logp=lambda v: -(v**2), random=lambda rng, size: rng.normal(s, 1.0, size=size), observed=Y)
    with pytest.raises(ModelError, match="`random` uses `s`"):
        pm.sample_prior_predictive(5, model=model)


def test_log_density_by_rows_or_columns_is_summed() -> None:
    """One number per event, per row, per column or for all: the model's density is the same."""
    data = np.arange(6.0).reshape(3, 2)
    for axes in ((), 0, 1, -1, (0, 1)):
        found = term(
            lambda s, axes=axes: pm.CustomDist(
                "y", s, logp=lambda v, s: pm.logp(pm.Normal.dist(s, 1.0), v).sum(axes), observed=data
            )
        )
        assert found == pytest.approx(N(5.0, 1.0).logpdf(data).sum())
    with pytest.raises(ShapeError, match="sums of these over some axes"):
        term(lambda s: pm.CustomDist("y", s, logp=lambda v, s: v[:, None] - v[None] + s, observed=data))
