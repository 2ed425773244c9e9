"""Densities as plain functions, `Normal.logp(value, mu, sigma)`, beside PyMC's, and the signatures of `dist`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.distribution import Distribution

COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
FACTOR = np.linalg.cholesky(np.array(COVARIANCE)).tolist()
# A value, or a probability of 0.3 for icdf, the parameters of PyMC's densities in their order, and PyMC 6.4's numbers.
ROWS: list[tuple[str, Any, tuple[Any, ...], dict[str, float]]] = [
    ("AsymmetricLaplace", 0.7, (1.2, 0.8, 0.3), {"logp": -0.919518236}),
    ("Bernoulli", 1, (0.3,), {"logp": -1.2039728, "logcdf": 0.0, "icdf": 0.0}),
    ("Beta", 0.4, (2.0, 3.0), {"logp": 0.54696467, "logcdf": -0.644738041, "icdf": 0.272383942}),
    ("BetaBinomial", 3, (7, 2.0, 3.0), {"logp": -1.70474809, "logcdf": -0.428454626}),
    ("Binomial", 3, (7, 0.4), {"logp": -1.23682663, "logcdf": -0.342197394}),
    ("Categorical", 1, ([0.2, 0.5, 0.3],), {"logp": -0.693147181, "logcdf": -0.356674944}),
    ("Cauchy", 0.7, (0.2, 1.5), {"logp": -1.65555551, "logcdf": -0.506806408, "icdf": -0.889813792}),
    ("DiracDelta", 2.0, (2.0,), {"logp": 0.0, "logcdf": 0.0}),
    ("Dirichlet", [0.2, 0.5, 0.3], ([1.0, 2.0, 3.0],), {"logp": 0.993251773}),
    ("DirichletMultinomial", [2, 1, 1], (4, [1.0, 2.0, 3.0]), {"logp": -3.04452244}),
    ("DiscreteUniform", 3, (1, 6), {"logp": -1.79175947, "logcdf": -0.693147181, "icdf": 2.0}),
    ("DiscreteWeibull", 2, (0.6, 1.3), {"logp": -1.79860759, "logcdf": -0.126413331}),
    ("ExGaussian", 0.7, (0.2, 1.1, 0.8), {"logp": -1.17877194, "logcdf": -0.845932926}),
    ("Exponential", 0.7, (2.5,), {"logp": -1.19629073, "logcdf": -1.40970114, "icdf": 0.89168736}),
    ("Gamma", 0.7, (2.0, 1.7), {"logp": -1.82969615, "logcdf": -2.73746985, "icdf": 1.86549366}),
    ("Geometric", 3, (0.3,), {"logp": -1.91732269, "logcdf": -0.42007126, "icdf": 1.0}),
    ("Gumbel", 0.7, (0.2, 1.4), {"logp": -1.39328763, "logcdf": -0.699672537, "icdf": -0.0598774624}),
    ("HalfCauchy", 0.7, (1.4,), {"logp": -1.01119849, "logcdf": -1.22021318, "icdf": 0.713335629}),
    ("HalfNormal", 1.7, (0.5, 1.4), {"logp": -0.929610528, "logcdf": -0.496538062, "icdf": 1.03944865}),
    ("HalfStudentT", 0.7, (4.0, 1.4), {"logp": -0.775715862, "icdf": 0.579828564}),
    ("HyperGeometric", 2, (5, 6, 4), {"logp": -0.78845736, "logcdf": -0.219362828}),
    ("InverseGamma", 0.7, (2.0, 1.7), {"logp": -0.297290095, "logcdf": -1.19642775, "icdf": 0.69694511}),
    ("Kumaraswamy", 0.4, (2.0, 3.0), {"logp": 0.526761963, "logcdf": -0.898215085, "icdf": 0.334807405}),
    ("Laplace", 0.7, (0.2, 1.4), {"logp": -1.38676227, "logcdf": -0.430531053, "icdf": -0.515155873}),
    ("LogNormal", 0.7, (0.2, 1.4), {"logp": -0.97778863, "logcdf": -1.06289773, "icdf": 0.586161038}),
    ("Logistic", 0.7, (0.2, 1.4), {"logp": -1.75448631, "logcdf": -0.530435607, "icdf": -0.986217005}),
    ("MatrixNormal", [[0.1, 0.2], [0.3, 0.4]], ([[0.0, 0.0], [0.0, 0.0]], FACTOR, FACTOR), {"logp": -4.87825101}),
    ("Moyal", 0.7, (0.2, 1.4), {"logp": -1.78381847, "logcdf": -0.909082404, "icdf": 0.0998009192}),
    ("Multinomial", [2, 1, 1], (4, [0.2, 0.5, 0.3]), {"logp": -2.63108916}),
    ("MvNormal", [0.3, 0.6], ([0.0, 1.0], COVARIANCE), {"logp": -2.26911353}),
    ("MvStudentT", [0.3, 0.6], (4.0, [0.0, 1.0], COVARIANCE), {"logp": -2.33663964}),
    ("NegativeBinomial", 3, (2.5, 0.4), {"logp": -1.94183207, "logcdf": -0.587343304}),
    ("Normal", 0.7, (0.2, 1.4), {"logp": -1.31918628, "logcdf": -0.447056819, "icdf": -0.534160718}),
    ("Pareto", 2.7, (1.3, 1.4), {"logp": -1.58470091, "logcdf": -0.554756844, "icdf": 1.84197355}),
    ("Poisson", 3, (2.5,), {"logp": -1.54288727, "logcdf": -0.277631241}),
    ("Rice", 0.7, (0.8, 1.4), {"logp": -1.43501245}),
    ("SkewNormal", 0.7, (0.2, 1.4, 2.0), {"logp": -0.897224996}),
    ("SkewStudentT", 0.7, (2.0, 3.0, 0.2, 1.4), {"logp": -1.66349176, "logcdf": -0.228662659, "icdf": -1.4005677}),
    ("StickBreakingWeights", [0.2, 0.5, 0.2, 0.1], (2.0, 3), {"logp": 1.2039728}),
    ("StudentT", 0.7, (4.0, 0.2, 1.4), {"logp": -1.39577623, "logcdf": -0.461266084, "icdf": -0.596108688}),
    ("Triangular", 0.7, (0.0, 0.5, 2.0), {"logp": -0.143100844, "logcdf": -0.828585151, "icdf": 0.550862325}),
    ("TruncatedNormal", 0.7, (0.2, 1.4, -1.0, 3.0),
     {"logp": -1.07273176, "logcdf": -0.565871304, "icdf": -0.0463783845}),
    ("Uniform", 0.7, (0.2, 1.4), {"logp": -0.182321557, "logcdf": -0.875468737, "icdf": 0.56}),
    ("VonMises", 0.7, (0.2, 1.4), {"logp": -1.0497044}),
    ("Wald", 0.7, (1.2, 1.4, 0.1), {"logp": -0.276130646, "logcdf": -1.09164241}),
    ("Weibull", 0.7, (2.0, 1.4), {"logp": -0.586472237, "logcdf": -1.50869155, "icdf": 0.836111769}),
    ("Wishart", COVARIANCE, (4.0, FACTOR), {"logp": -5.06359512}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "parameters", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_formulas_of_classes_are_pymcs(name: str, value: Any, parameters: Any, expected: dict[str, float]) -> None:
    """The same numbers for the same parameters in the same places, rates or scales as PyMC's densities have them."""
    for formula, number in expected.items():
        at = 0.3 if formula == "icdf" else value
        found = getattr(getattr(pm, name), formula)(at, *parameters).eval()
        assert_allclose(found, number, rtol=2e-7, atol=2e-8)  # PyMC has constants of float32


def test_every_distribution_has_its_formulas_as_functions() -> None:
    """By the names of `dist`, where PyMC's densities have the same or others."""
    assert_allclose(pm.Gamma.logp(2.0, alpha=3.0, beta=2.0).eval(), pm.Gamma.logp(2.0, 3.0, 0.5).eval())
    assert_allclose(pm.Normal.logp(2.0, mu=3.0, tau=4.0).eval(), pm.Normal.logp(2.0, 3.0, 0.5).eval())
    assert_allclose(pm.Normal.logccdf(2.0, 3.0, 0.5).eval(), np.log1p(-np.exp(pm.Normal.logcdf(2.0, 3.0, 0.5).eval())))
    censored = pm.Censored.logp(1.0, pm.Normal.dist(0.0, 1.0), lower=None, upper=1.0).eval()
    assert_allclose(censored, pm.Normal.logccdf(1.0, 0.0, 1.0).eval())


def test_densities_of_classes_make_custom_likelihoods() -> None:
    """A mixture written by hand, as a potential and in a `CustomDist`, with gradient; vectors broadcast."""
    data = np.array([-1.2, 0.3, 2.2])

    def mixture(value: Any, w: Any, mu: Any) -> Any:
        return pt.logaddexp(pt.log(w) + pm.Normal.logp(value, mu, 1.0), pt.log1p(-w) + pm.Normal.logp(value, -mu, 1.0))

    with pm.Model() as by_hand:
        w, mu = pm.Beta("w", 2.0, 2.0), pm.Normal("mu", 0.0, 2.0)
        pm.Potential("y", mixture(data, w, mu))
    with pm.Model() as custom:
        w, mu = pm.Beta("w", 2.0, 2.0), pm.Normal("mu", 0.0, 2.0)
        pm.CustomDist("y", w, mu, logp=mixture, observed=data)
    with pm.Model() as built:
        w, mu = pm.Beta("w", 2.0, 2.0), pm.Normal("mu", 0.0, 2.0)
        pm.NormalMixture("y", pt.stack([w, 1.0 - w]), pt.stack([mu, -mu]), 1.0, observed=data)
    point = by_hand.initial_point() | {"mu": 0.7}
    expected = built.compile_logp()(point), built.compile_dlogp()(point)
    for model in (by_hand, custom):
        assert_allclose(model.compile_logp()(point), expected[0])
        assert_allclose(model.compile_dlogp()(point), expected[1])


def test_wrong_parameters_of_a_formula_are_named() -> None:
    """Too many, too few, twice, out of range, and a formula that a distribution does not have."""
    with pytest.raises(TypeError, match=r"Gamma.logp takes \(value, alpha, scale\); scale is missing"):
        pm.Gamma.logp(1.0, 2.0)
    with pytest.raises(TypeError, match=r"Poisson.logp takes a value and mu; got 2"):
        pm.Poisson.logp(1, 2.0, 3.0)
    with pytest.raises(TypeError, match=r"Poisson.logcdf got `mu` twice"):
        pm.Poisson.logcdf(1, 2.0, mu=3.0)
    with pytest.raises(pm.ParameterError, match="Normal: sigma must be > 0, got -1"):
        pm.Normal.logp(1.0, 2.0, -1.0)
    with pytest.raises(NotImplementedError, match="Dirichlet has no `logcdf`; available are logp"):
        pm.Dirichlet.logcdf([0.5, 0.5], [1.0, 1.0])


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("Gamma", "alpha=None, beta=None, mu=None, sigma=None"),
        ("StudentT", "nu, mu=0.0, sigma=1.0, lam=None"),
        ("AR", "rho, sigma=1.0, tau=None, init_dist=None, steps=None, constant=None, ar_order=None"),
        ("Wald", "mu=None, lam=1.0, phi=None, alpha=0.0"),
        ("LKJCorr", "n, eta"),
    ],
)
def test_signatures_of_dist_name_the_parameters(name: str, signature: str) -> None:
    """As programs that write models for others read them."""
    shown = str(inspect.signature(getattr(pm, name).dist))
    assert shown.startswith(f"({signature}, *, "), shown
    function = inspect.signature(pm.Rice.logp)
    assert list(function.parameters) == ["value", "b", "sigma"]


def test_settings_of_pymcs_draws_are_taken() -> None:
    """Generators and ways to draw, which change no distribution; wrong ones are refused."""
    rng = np.random.default_rng(1)
    with pm.Model() as model:
        pm.PolyaGamma("omega", 1.0, 0.5, rng=rng)
        pm.MvNormal("x", [0.0, 1.0], np.eye(2), method="svd")
        pm.HurdleNegativeBinomial("y", 0.4, 2.0, 3.0, max_n_steps=100)
    drawn = pm.draw(model["x"], random_seed=3)
    assert_allclose(drawn, pm.draw(pm.MvNormal.dist([0.0, 1.0], np.eye(2)), random_seed=3))
    with pytest.raises(pm.ParameterError, match="MvNormal: method must be 'cholesky', 'svd' or 'eigh', got 'qr'"):
        pm.MvNormal.dist([0.0, 1.0], np.eye(2), method="qr")
    with pytest.raises(pm.ParameterError, match="HurdlePoisson: max_n_steps must be a whole number >= 1, got 0"):
        pm.HurdlePoisson.dist(0.5, 2.0, max_n_steps=0)


def test_signatures_of_calls_name_the_parameters() -> None:
    """Of every distribution, here and with dims: the name, the parameters, what models add."""
    listed = [getattr(pm, name) for names in pm.distributions.PUBLIC.values() for name in names.split()]
    for one in listed:
        if isinstance(one, type) and issubclass(one, Distribution):
            found = inspect.signature(one).parameters
            assert next(iter(found)) == "name"
            assert "observed" in found
    assert list(inspect.signature(pm.Gamma).parameters)[:5] == ["name", "alpha", "beta", "mu", "sigma"]
    plain, named = inspect.signature(pm.dims.Gamma), inspect.signature(pm.dims.Gamma.dist)
    assert list(plain.parameters)[:6] == ["name", "alpha", "beta", "mu", "sigma", "dims"]
    assert list(named.parameters) == ["alpha", "beta", "mu", "sigma", "core_dims", "dim_lengths"]
    assert inspect.signature(pm.Normal).parameters["sigma"].default == 1.0
