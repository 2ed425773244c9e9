"""Where particles begin: draws of the prior that have no density are drawn again, and the evidence knows."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.transforms import ordered
from consilience.errors import ConsilienceWarning, SamplingError

QUIET = {"random_seed": 1, "progressbar": False}


def test_a_likelihood_that_is_no_number_has_weight_0() -> None:
    """Against the same model that says so itself; the line names the variable and counts."""
    with pm.Model() as silent:
        a = pm.Normal("a")
        pm.Normal("y", pt.sqrt(a + 2.0), 1.0, observed=[1.2, 1.4])
    with pm.Model() as spoken:
        a = pm.Normal("a")
        pm.Normal("y", pt.sqrt(pt.maximum(a + 2.0, 0.0)), 1.0, observed=[1.2, 1.4])
        pm.Potential("inside", pt.switch(a > -2.0, 0.0, -np.inf))
    with pytest.warns(
        ConsilienceWarning, match=r"\d+ of 2000 draws of the prior .* weight 0.* `y` has log density nan"
    ):
        found = pm.sample_smc(1000, chains=2, model=silent, **QUIET)
    wanted = pm.sample_smc(1000, chains=2, model=spoken, **QUIET)
    for name in ("log_marginal_likelihood", "log_marginal_likelihood_error"):
        assert found.posterior.attrs[name] == pytest.approx(wanted.posterior.attrs[name])
    np.testing.assert_allclose(found.posterior["a"], wanted.posterior["a"])


@pytest.mark.parametrize("nested", [False, True])
def test_draws_that_ordered_excludes_are_drawn_again(nested: bool) -> None:
    """Two exchangeable normal variables in order: half the draws fit, and half the mass of all is the evidence."""
    data = np.array([-0.4, 0.9])

    def model(order: bool) -> pm.Model:
        with pm.Model() as built:
            x = pm.Normal("x", shape=2, **({"transform": ordered, "initval": [-1.0, 1.0]} if order else {}))
            pm.Normal("y", pt.sum(x), 1.0, observed=data)
        return built

    def evidence(built: pm.Model) -> tuple[float, float]:
        sampled = (
            pm.smc.sample_nested(live=300, model=built, random_seed=1)
            if nested
            else pm.sample_smc(1000, chains=4, model=built, **QUIET)
        )
        attrs = sampled.posterior.attrs
        if built is in_order:
            assert (np.diff(sampled.posterior["x"]) > 0).all()
        return attrs["log_marginal_likelihood"], attrs["log_marginal_likelihood_error"]

    in_order = model(True)
    with pytest.warns(ConsilienceWarning, match="draws of the prior have no density and were drawn again.* `x`"):
        found, error = evidence(in_order)
    whole, other = evidence(model(False))
    assert abs(found - (whole - np.log(2.0))) < 4.0 * np.hypot(np.hypot(error, other), 0.03)


def test_a_prior_that_hardly_fits_is_named() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", shape=12, transform=ordered, initval=np.arange(12.0))
        pm.Normal("y", x, 1.0, observed=np.arange(12.0))
    with pytest.raises(
        SamplingError, match=r"0 of \d+ draws of the prior have a density.*`x` has log density nan.*start="
    ):
        pm.sample_smc(200, chains=1, model=model, compute_convergence_checks=False, **QUIET)
