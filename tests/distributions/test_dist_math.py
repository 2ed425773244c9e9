"""Functions for densities of users' own, against SciPy; checks of parameters in models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import consilience as pm
import consilience.tensor as pt
from consilience.distributions import dist_math

X = np.array([0.3, 1.0, 2.5, 7.0])
K = np.array([0, 1, 2, 5])


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("factln", (K,), special.gammaln(K + 1)),
        ("binomln", (7, K), np.log(special.comb(7, K))),
        ("betaln", (X, 0.7), special.betaln(X, 0.7)),
        ("std_cdf", (-X,), stats.norm.cdf(-X)),
        ("zvalue", (X, 1.0, 2.0), (X - 1) / 2),
        ("normal_lcdf", (1.0, 0.1, -X), stats.norm(1, 0.1).logcdf(-X)),
        ("normal_lccdf", (1.0, 0.1, X), stats.norm(1, 0.1).logsf(X)),
        ("log_diff_normal_cdf", (0.0, 1.0, X + 1, X), np.log(stats.norm.sf(X) - stats.norm.sf(X + 1))),
        ("log_diff_normal_cdf", (0.0, 1.0, -X, -X - 1), np.log(stats.norm.sf(X) - stats.norm.sf(X + 1))),
        ("rho2sigma", (X,), np.log1p(np.exp(X))),
        ("sigma2rho", (X,), np.log(np.expm1(X))),
        ("log_i0", (-X,), np.log(special.i0(X))),
        ("multigammaln", (X + 2, 3), [special.multigammaln(x, 3) for x in X + 2]),
        ("logpow", (X, 3), 3 * np.log(X)),
        ("logpow", (np.zeros(2), np.array([0.0, 2.0])), [0.0, -np.inf]),
        ("check_icdf_value", (X, np.array([-0.1, 0.0, 1.0, 1.1])), [np.nan, 1.0, 2.5, np.nan]),
    ],
)
def test_formulas_are_those_of_scipy(name: str, arguments: tuple[object, ...], expected: object) -> None:
    """Each name on numbers where the plain formula does not lose digits."""
    np.testing.assert_allclose(getattr(dist_math, name)(*arguments).eval(), expected, rtol=1e-11)


def test_differences_of_probabilities_hold_far_out() -> None:
    """Where both probabilities round to 0 or 1."""
    for sign in (1, -1):
        low, high = sorted((sign * 40.0, sign * 41.0))
        found = dist_math.log_diff_normal_cdf(0.0, 1.0, high, low).eval()
        np.testing.assert_allclose(found, stats.norm.logsf(40.0), rtol=1e-12)


def test_a_checked_density_is_minus_infinity_where_a_condition_fails() -> None:
    """In a density of a user's own, imported as PyMC's users do; its slope stays finite."""
    from consilience.distributions.dist_math import check_parameters

    def logp(value: pt.TensorVariable, rate: pt.TensorVariable) -> pt.TensorVariable:
        return check_parameters(pt.log(rate) - rate * value, rate > 0, msg="rate > 0")

    with pm.Model() as model:
        rate = pm.Normal("rate", 1.0)
        pm.CustomDist("y", rate, logp=logp, observed=[0.5, 1.5])
    density = model.compile_logp()
    expected = stats.norm.logpdf(2.0, 1.0) + stats.expon(scale=0.5).logpdf([0.5, 1.5]).sum()
    np.testing.assert_allclose(density({"rate": 2.0}), expected, rtol=1e-13)
    assert density({"rate": -2.0}) == -np.inf
    assert np.isfinite(model.compile_dlogp()({"rate": 2.0})).all()


def test_a_check_that_is_no_density_raises_with_its_message() -> None:
    """Several conditions, of arrays too."""
    x = pt.vector("x")
    checked = dist_math.check_icdf_parameters(x + 1, x > 0, [True, True], msg="x > 0")
    np.testing.assert_array_equal(checked.eval({x: [1.0, 2.0]}), [2.0, 3.0])
    with pytest.raises(AssertionError, match="x > 0"):
        checked.eval({x: [1.0, -2.0]})
    with pytest.raises(ValueError, match=r"a whole number >= 1, got 1\.5"):
        dist_math.multigammaln(2.0, 1.5)  # type: ignore[arg-type]  # the mistake
