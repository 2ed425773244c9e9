"""Gaussian processes beside PyMC 6.4: covariance functions, densities and predictions give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm

RNG = np.random.default_rng(0)
X, NEW = RNG.uniform(0.0, 2.0, (6, 2)), RNG.uniform(0.0, 2.0, (3, 2))
LINE, NEW_LINE, Y = X[:, :1], NEW[:, :1], np.linspace(-1.0, 1.0, 6)
SIDES = [X[:3, :1], X[:2, 1:]]
FREQUENCIES = np.array([[0.0, 0.0], [0.3, 1.0], [2.0, 0.7]])
cov, mean = pm.gp.cov, pm.gp.mean
# Numbers of PyMC 6.4.
EXPECTED: dict[str, Any] = {
    "wrap": [[0.27409756, 0.65845496, 0.26687541], [0.27951478, 0.67790978, 0.27182186], [0.89285488, 0.70281976, 0.86741211], [0.24317833, 0.52351137, 0.23913005], [0.2265846, 0.33232717, 0.22798319], [0.90369533, 0.69007923, 0.87898429]],
    "wrap2": [[0.27409756, 0.65845496, 0.26687541], [0.27951478, 0.67790978, 0.27182186], [0.89285488, 0.70281976, 0.86741211], [0.24317833, 0.52351137, 0.23913005], [0.2265846, 0.33232717, 0.22798319], [0.90369533, 0.69007923, 0.87898429]],
    "rq": [6.1036657, 1.867865, 1.0674013],
    "rq1": [2.0300277, 0.42102443],
    "latent": -34.158318,
    "latentnr": 3.4070214,
    "tp": 4.3318341,
    "margs": -15.718311,
    "marggivens": [-0.10800639, -0.53218461, -0.089496821, 0.2377558, 0.14589632, 0.24829553],
    "margcov": -16.092587,
    "marggivencov": [-0.10800639, -0.53218461, -0.089496821, 0.2377558, 0.14589632, 0.24829553],
    "margfree": -2.797126,
    "appVFE": -17.591015,
    "apppredVFE": [0.78823442, 0.12178937, 0.81843112, 0.26459811, 0.12861122, 0.28117351],
    "appFITC": -15.437209,
    "apppredFITC": [0.71410529, 0.16185986, 0.73337882, 0.26799566, 0.13014836, 0.28514141],
    "appDTC": -15.659914,
    "apppredDTC": [0.78823442, 0.12178937, 0.81843112, 0.26459811, 0.12861122, 0.28117351],
    "kronlat": -36.648588,
    "kronmar": -14.837685,
    "kronpred": [1.105363, -0.045793818, 0.51377872, 0.11282079, 0.11767433, 0.66309872],
}  # fmt: skip


def logp(declare: Callable[[], Any]) -> Any:
    """The log density of a model where every free number on the unconstrained line is 0.3."""
    with pm.Model() as model:
        declare()
    return model.compile_logp()({name: np.full(np.shape(v), 0.3) for name, v in model.initial_point().items()})


def lengthscale() -> Any:
    return pm.Gamma("ls", 2.0, 2.0)


def noise(kind: str) -> Any:
    return 0.3 if kind == "s" else cov.WhiteNoise(0.2) + cov.ExpQuad(1, 0.1)


def seen(kind: str) -> Any:
    """A marginal process with its likelihood, in the model of the context."""
    process = pm.gp.Marginal(mean_func=mean.Constant(0.3), cov_func=cov.ExpQuad(1, ls=lengthscale()))
    process.marginal_likelihood("y", LINE, Y, noise(kind), 1e-5)
    return process


def induced(kind: str) -> Any:
    process = pm.gp.MarginalApprox(kind, mean_func=mean.Constant(0.3), cov_func=cov.ExpQuad(1, ls=lengthscale()))
    process.marginal_likelihood("y", LINE, NEW_LINE, Y, 0.3, 1e-5)
    return process


def on_a_grid() -> Any:
    covariances = [cov.ExpQuad(1, ls=lengthscale()), cov.Matern32(1, 0.7)]
    process = pm.gp.MarginalKron(mean_func=mean.Constant(0.3), cov_funcs=covariances)
    process.marginal_likelihood("y", Xs=SIDES, y=Y, sigma=0.3)
    return process


def predicted(declare: Callable[[], Any], new: Any, **how: Any) -> Any:
    """Means and variances at new inputs, for a lengthscale of 0.4."""
    with pm.Model():
        return np.concatenate(declare().predict(new, point={"ls": 0.4}, diag=True, **how))


def latent() -> None:
    process = pm.gp.Latent(mean_func=mean.Constant(0.3), cov_func=cov.Matern52(1, ls=lengthscale()))
    pm.Normal("y", process.prior("f", X=LINE), 0.3, observed=Y)


def latent_on_a_grid() -> None:
    covariances = [cov.ExpQuad(1, ls=lengthscale()), cov.Matern32(1, 0.7)]
    process = pm.gp.LatentKron(mean_func=mean.Constant(0.3), cov_funcs=covariances)
    pm.Normal("y", process.prior("f", Xs=SIDES), 0.3, observed=Y)


FOUND: dict[str, Callable[[], Any]] = {
    "wrap": lambda: cov.WrappedPeriodic(cov.Matern52(1, ls=0.6), period=1.2)(LINE, NEW_LINE).eval(),
    "wrap2": lambda: cov.WrappedPeriodic(cov.Matern52(1, ls=0.6), period=1.2).full(LINE, NEW_LINE).eval(),
    "rq": lambda: cov.RatQuad(2, alpha=1.7, ls=[0.5, 0.8]).power_spectral_density(FREQUENCIES).eval(),
    "rq1": lambda: cov.RatQuad(1, alpha=0.5, ls=0.5).power_spectral_density(FREQUENCIES[1:, :1]).eval(),
    "latent": lambda: logp(latent),
    "latentnr": lambda: logp(
        lambda: pm.gp.Latent(cov_func=cov.Matern52(1, ls=0.5)).prior("f", LINE, reparameterize=False, jitter=1e-5)
    ),
    "tp": lambda: logp(
        lambda: pm.gp.TP(scale_func=cov.Matern52(1, ls=0.5), nu=5.0).prior("f", X=LINE, reparameterize=False)
    ),
    "margs": lambda: logp(lambda: seen("s")),
    "margcov": lambda: logp(lambda: seen("cov")),
    "margpreds": lambda: predicted(lambda: seen("s"), NEW_LINE, pred_noise=True),
    "margpredcov": lambda: predicted(lambda: seen("cov"), NEW_LINE, pred_noise=True),
    "marggivens": lambda: predicted(lambda: seen("s"), NEW_LINE, given={"X": LINE[:3], "y": Y[:3], "sigma": 0.5}),
    "marggivencov": lambda: predicted(lambda: seen("cov"), NEW_LINE, given={"X": LINE[:3], "y": Y[:3], "sigma": 0.5}),
    "margfree": lambda: logp(
        lambda: pm.gp.Marginal(cov_func=cov.ExpQuad(1, ls=0.5)).marginal_likelihood("y", LINE, Y, 0.3, 1e-5, False)
    ),
    **{f"app{kind}": lambda kind=kind: logp(lambda: induced(kind)) for kind in ("VFE", "FITC", "DTC")},
    **{
        f"apppred{kind}": lambda kind=kind: predicted(lambda: induced(kind), NEW_LINE + 0.1, pred_noise=True)
        for kind in ("VFE", "FITC", "DTC")
    },
    "kronlat": lambda: logp(latent_on_a_grid),
    "kronmar": lambda: logp(on_a_grid),
    "kronpred": lambda: predicted(on_a_grid, NEW, pred_noise=False),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_of_processes_are_pymcs(name: str) -> None:
    """Densities with all parts of a model, predictions by point, and functions of arrays."""
    assert_allclose(FOUND[name](), EXPECTED[name], rtol=1e-6, atol=1e-7)  # PyMC has constants of float32


def test_functions_of_nodes_take_arrays() -> None:
    """`full`, `diag` and the distances of a covariance function."""
    function = cov.Matern52(2, ls=[0.5, 0.8])
    assert_allclose(function.full(X, NEW).eval(), function(X, NEW).eval())
    assert_allclose((2.0 * function + 1.0).full(X).eval(), (2.0 * function + 1.0)(X).eval())
    assert_allclose(cov.Linear(2, 0.3).diag(X).eval(), cov.Linear(2, 0.3)(X, diag=True).eval())
    squares = (((X[:, None] - NEW[None]) / [0.5, 0.8]) ** 2).sum(-1)
    assert_allclose(function.square_dist(X, NEW).eval(), squares, rtol=1e-10)
    assert_allclose(function.euclidean_dist(X, Xs=NEW).eval(), np.sqrt(squares), rtol=1e-6)


def test_a_spectral_density_without_a_bound_is_infinite_at_zero() -> None:
    """Of RatQuad with alpha up to half of the columns."""
    densities = cov.RatQuad(2, alpha=0.8, ls=0.5).power_spectral_density(FREQUENCIES).eval()
    assert densities[0] == np.inf
    assert np.isfinite(densities[1:]).all()
