"""What single continuous distributions promise beyond the laws for all: other parameters, far bounds, limits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import consilience as pm
import consilience.distributions as pd
from consilience.backends.function import function
from consilience.errors import ParameterError
from consilience.ir import tensor_input
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

SAME = [
    (pd.AsymmetricLaplace, {"q": 0.2, "mu": 1.0, "b": 2.0}, {"kappa": 0.5, "mu": 1.0, "b": 2.0}),
    (pd.HalfStudentT, {"nu": 3.0, "lam": 0.25}, {"nu": 3.0, "sigma": 2.0}),
    (pd.LogitNormal, {"mu": 1.0, "tau": 0.25}, {"mu": 1.0, "sigma": 2.0}),
    (pd.Rice, {"b": 3.0, "sigma": 2.0}, {"nu": 6.0, "sigma": 2.0}),
    (pd.Rice, {"b": 3.0}, {"nu": 3.0, "sigma": 1.0}),
    (pd.SkewNormal, {"alpha": 2.0, "tau": 0.25}, {"alpha": 2.0, "mu": 0.0, "sigma": 2.0}),
    (pd.SkewStudentT, {"a": 1.0, "b": 2.0, "lam": 0.25}, {"a": 1.0, "b": 2.0, "mu": 0.0, "sigma": 2.0}),
    (pd.TruncatedNormal, {"tau": 0.25, "lower": 0.0}, {"mu": 0.0, "sigma": 2.0, "lower": 0.0, "upper": np.inf}),
    (pd.Wald, {"mu": 2.0, "phi": 3.0}, {"mu": 2.0, "lam": 6.0, "alpha": 0.0}),
    (pd.Wald, {"lam": 6.0, "phi": 3.0}, {"mu": 2.0, "lam": 6.0}),
    (pd.Wald, {"mu": 2.0}, {"mu": 2.0, "lam": 1.0}),
    (pd.DoubleExponential, {"mu": 1.0, "b": 2.0}, {"mu": 1.0, "b": 2.0}),
]


@pytest.mark.parametrize(
    ("distribution", "given", "canonical"), SAME, ids=[f"{d.__name__}{list(g)}" for d, g, _ in SAME]
)
def test_other_parameters_mean_the_canonical_ones(
    distribution: Any, given: dict[str, float], canonical: dict[str, float]
) -> None:
    """One density, whichever way it was written."""
    values = np.array([0.1, 0.4, 0.9])
    densities = [value_of(pd.logp(distribution.dist(**p), values)) for p in (given, canonical)]
    assert_allclose(*densities, rtol=1e-14)


@pytest.mark.parametrize(
    ("distribution", "wrong"),
    [
        (pd.AsymmetricLaplace, {"kappa": 1.0, "q": 0.5, "mu": 0.0, "b": 1.0}),
        (pd.AsymmetricLaplace, {"mu": 0.0, "b": 1.0}),
        (pd.ChiSquared, {"alpha": 1.0}),
        (pd.ExGaussian, {"sigma": 1.0}),
        (pd.HalfStudentT, {"nu": 1.0, "sigma": 1.0, "lam": 1.0}),
        (pd.Rice, {"sigma": 1.0}),
        (pd.Rice, {"nu": 1.0, "b": 1.0}),
        (pd.SkewNormal, {"alpha": 1.0, "sigma": 1.0, "tau": 1.0}),
        (pd.TruncatedNormal, {"sigma": 1.0, "tau": 1.0}),
        (pd.Wald, {"mu": 1.0, "lam": 1.0, "phi": 1.0}),
        (pd.Wald, {"phi": 1.0}),
        (pd.Interpolated, {"x_points": [0.0, 1.0]}),
    ],
)
def test_wrong_combinations_of_parameters_are_refused(distribution: Any, wrong: dict[str, Any]) -> None:
    """With all accepted combinations in the message."""
    with pytest.raises(TypeError, match=f"{distribution.__name__} (accepts the parameters|has no parameter)"):
        distribution.dist(**wrong)


def test_bounds_of_a_truncated_normal_may_be_left_out() -> None:
    """None, infinity and nothing mean the same; the map to the real line has as many bounds as the variable."""
    values = np.array([-1.0, 0.3, 2.0])
    plain = value_of(pd.logp(pd.Normal.dist(0.5, 2.0), values))
    for bounds in ({}, {"lower": None}, {"upper": np.inf}, {"lower": -np.inf, "upper": None}):
        assert_allclose(value_of(pd.logp(pd.TruncatedNormal.dist(0.5, 2.0, **bounds), values)), plain, rtol=1e-14)
    assert pd.default_transform(pd.TruncatedNormal.dist()) is None
    for given in ({"lower": 0.0}, {"lower": 1.0}, {"upper": 1.0}, {"lower": 1.0, "upper": 2.0}):
        assert pd.default_transform(pd.TruncatedNormal.dist(**given)).name == "interval"
    for crossed in ({"lower": 1.0, "upper": 1.0}, {"lower": np.inf}, {"upper": -np.inf}, {"lower": 2.0, "upper": 1.0}):
        with pytest.raises(ParameterError, match="TruncatedNormal: upper must be a number >"):
            pd.TruncatedNormal.dist(**crossed)


@pytest.mark.parametrize(
    ("lower", "upper"), [(40.0, 41.0), (-41.0, -40.0), (300.0, np.inf), (5.0, 5.0 + 1e-9), (-1e3, 1e3)]
)
def test_a_truncated_normal_keeps_its_digits_where_the_normal_has_no_mass(lower: float, upper: float) -> None:
    """Density, tails, quantiles and moments against sixty digits."""
    rv = pd.TruncatedNormal.dist(0.0, 1.0, lower, upper)
    with mp.workdps(60):
        low, high = mp.mpf(lower), mp.mpf(min(upper, 400.0))

        def mass(a: Any, b: Any) -> Any:
            if a > 0:
                return (mp.erfc(a / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2))) / 2
            return (mp.erfc(-b / mp.sqrt(2)) - mp.erfc(-a / mp.sqrt(2))) / 2

        width = min(high - low, 1 / max(abs(low), abs(high)))
        start = low if low > 0 else high - width if high < 0 else -width / 2
        points = [float(start + width * k / 4) for k in (1, 2, 3)]
        total = mass(low, high)
        density = [float(-(mp.mpf(x) ** 2) / 2 - mp.log(mp.sqrt(2 * mp.pi)) - mp.log(total)) for x in points]
        below = [float(mp.log(mass(low, mp.mpf(x)) / total)) for x in points]
        edge = [mp.exp(-e * e / 2) / mp.sqrt(2 * mp.pi) / total for e in (low, high)]
        mean = edge[0] - edge[1]
        variance = float(1 + low * edge[0] - high * edge[1] - mean**2)
    # Places round at 1e-16 of themselves, which a narrow interval sees as a shift.
    room = 4e-16 * abs(points[0]) / float(width)
    assert_allclose(value_of(pd.logp(rv, points)), density, rtol=1e-12, atol=1e-12)
    assert_allclose(np.exp(value_of(pd.logcdf(rv, points))), np.exp(below), rtol=1e-11 + 4.0 * room)
    back = np.exp(value_of(pd.logcdf(rv, value_of(pd.icdf(rv, np.exp(below))))))
    assert_allclose(back, np.exp(below), rtol=1e-11 + 20.0 * room)
    assert_allclose(value_of(pd.mean(rv)), float(mean), rtol=1e-13, atol=1e-13)
    assert_allclose(value_of(pd.variance(rv)), variance, rtol=1e-11)
    draws = pd.draw(rv, 2000, random_seed=1)
    assert ((draws >= lower) & (draws <= upper)).all()
    assert abs(draws.mean() - float(mean)) < 5.0 * np.sqrt(variance / 2000.0)


def test_generalized_extreme_values_pass_through_gumbel() -> None:
    """Density and moments are smooth in xi at 0."""
    values = np.linspace(-1.5, 6.0, 9)
    xi = np.array([-1e-3, -1e-9, 0.0, 1e-300, 1e-9, 1e-3])[:, None]
    rv = pd.GeneralizedExtremeValue.dist(0.0, 1.0, xi)
    gumbel = scipy.stats.gumbel_r()
    assert_allclose(value_of(pd.logp(rv, values))[1:-1], np.broadcast_to(gumbel.logpdf(values), (4, 9)), rtol=1e-7)
    assert_allclose(value_of(pd.mean(rv))[1:-1, 0], gumbel.mean(), rtol=1e-8)
    assert_allclose(value_of(pd.variance(rv))[1:-1, 0], gumbel.var(), rtol=1e-8)
    for size in (0.00999, 0.01001):  # where a series takes over from the gamma function
        pair = pd.GeneralizedExtremeValue.dist(0.0, 1.0, np.array([-size, size]))
        with mp.workdps(40):
            exact = [
                (mp.gamma(1 - x) - 1) / x + 1j * (mp.gamma(1 - 2 * x) - mp.gamma(1 - x) ** 2) / x**2
                for x in (mp.mpf(-size), mp.mpf(size))
            ]
        assert_allclose(value_of(pd.mean(pair)), [float(e.real) for e in exact], rtol=1e-12)
        assert_allclose(value_of(pd.variance(pair)), [float(e.imag) for e in exact], rtol=1e-10)


def test_supports_that_depend_on_the_sign_of_a_shape_are_known_with_it() -> None:
    """And where the sign is open the density outside is 0."""
    for xi, outside in ((0.5, -2.1), (-0.5, 2.1)):
        rv = pd.GeneralizedExtremeValue.dist(0.0, 1.0, xi)
        assert pd.default_transform(rv).name == "interval"
        leaf = tensor_input("float64", (), "xi")
        free = pd.GeneralizedExtremeValue.dist(0.0, 1.0, leaf)
        assert pd.default_transform(free).name == "extreme_value"
        both = [value_of(pd.logp(rv, outside)), value_of(pd.logp(free, outside), {leaf: np.asarray(xi)})]
        assert_array_equal(both, -np.inf)
        below = value_of(pd.logcdf(free, outside), {leaf: np.asarray(xi)})
        assert below == (-np.inf if xi > 0 else 0.0)


def test_extreme_values_of_a_shape_of_either_sign_have_one_map_to_the_real_line() -> None:
    """It turns them into a Gumbel variable: there and back, with the density of that."""
    xi = np.array([-0.7, -1e-9, 0.0, 1e-9, 0.8])
    leaf = tensor_input("float64", (5,), "xi")
    rv = pd.GeneralizedExtremeValue.dist(3.0, 2.0, leaf)
    transform = pd.default_transform(rv)
    y = np.array([-2.0, -0.1, 0.0, 1.5, 6.0])[:, None] + np.zeros(5)
    free = tensor_input("float64", y.shape, "y")
    x = transform.backward(free)
    density = pd.logp(rv, x) + transform.log_jacobian_determinant(free)
    back, found = function([leaf, free], [transform.forward(x), density])(xi, y)
    assert_allclose(back, y, rtol=1e-9, atol=1e-9)
    assert_allclose(found, scipy.stats.gumbel_r.logpdf(y), rtol=1e-9)
    with pm.Model() as model:
        pm.GeneralizedExtremeValue("x", pm.Normal("mu"), pm.HalfNormal("sigma"), pm.Normal("xi"))
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_angles_lie_between_minus_pi_and_pi_whatever_the_direction() -> None:
    """mu counts modulo 2 pi, in densities, tails and draws."""
    values = np.linspace(-3.1, 3.1, 8)
    near, turned = (pd.VonMises.dist(mu, 2.0) for mu in (3.0, 3.0 - 4.0 * np.pi))
    for formula in (pd.logp, pd.logcdf, pd.logccdf):
        assert_allclose(value_of(formula(near, values)), value_of(formula(turned, values)), rtol=1e-12)
    draws = pd.draw(near, 4000, random_seed=2)
    assert (np.abs(draws) <= np.pi).all()
    assert (draws < -2.5).any()
    assert_array_equal(value_of(pd.logp(near, [-3.2, 3.2])), -np.inf)
    assert pd.default_transform(near).name == "circular"


def test_slopes_of_concentrated_angles_keep_their_digits() -> None:
    """In kappa, from 1 to 1e15: the slope at the mean direction is almost 1 / (2 kappa)."""
    kappa = tensor_input("float64", (), "kappa")
    (slope,) = gradient(pd.logp(pd.VonMises.dist(0.0, kappa), 0.0), [kappa])
    for size in (1.0, 30.0, 999.0, 1001.0, 1e8, 1e15):
        with mp.workdps(60):
            ratio = 1 - mp.besseli(1, size) / mp.besseli(0, size) if size < 1e4 else 1 / (2 * mp.mpf(size))
        assert_allclose(value_of(slope, {kappa: np.asarray(size)}), float(ratio), rtol=1e-8 if size == 1e8 else 1e-11)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_normal_densities_are_those_of_the_standardised_value_at_any_scale(scale: float) -> None:
    """Of many values and one scale too, whose squares are not numbers."""
    x, sigma = tensor_input("float64", (3,), "x"), tensor_input("float64", (), "sigma")
    z = np.array([0.0, 1.0, -2.0])
    expected = -0.5 * z**2 - np.log(scale) - 0.5 * np.log(2.0 * np.pi)
    for backend in ("reference", "llvm"):
        found = function([x, sigma], pd.logp(pd.Normal.dist(0.0, sigma), x), backend=backend)(z * scale, scale)
        assert_allclose(found, expected, rtol=1e-14)
