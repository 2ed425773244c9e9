"""Random walks, autoregressive series and diffusions against products of the densities of their steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as stats
from numpy.testing import assert_allclose
from scipy.signal import lfilter

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.distributions.autoregression import recurrence
from consilience.errors import MissingRuleError, ParameterError, ShapeError
from consilience.ir import tensor_input
from consilience.ops.parameter_check import released
from consilience.ops.reduce import reduce
from consilience.transforms.gradient import gradient
from tests.distributions.cases import value_of

RNG = np.random.default_rng(41)
BACKENDS = ("reference", "llvm")
normal = stats.norm.logpdf


def start() -> object:
    return pd.Normal.dist(0, 2)


def test_density_of_a_random_walk_is_that_of_its_steps() -> None:
    """Batches of series and of values; other families."""
    mu, x = np.array([0.1, 0.2, 0.3]), RNG.normal(size=(4, 3, 6)).cumsum(-1)
    rv = pd.GaussianRandomWalk.dist(mu, 0.5, init_dist=start(), steps=5)
    assert rv.static_shape == (3, 6)
    for value in (x, x[0], x[0, 0]):
        expected = normal(value[..., 0], 0, 2) + normal(np.diff(value), mu[:, None], 0.5).sum(-1)
        assert_allclose(value_of(pd.logp(rv, value)), expected, rtol=1e-12)
    rv = pd.RandomWalk.dist(pd.Laplace.dist(0, 1), pd.StudentT.dist(3, 0, 0.5), steps=5)
    expected = stats.laplace.logpdf(x[0, 0, 0]) + stats.t.logpdf(np.diff(x[0, 0]), 3, 0, 0.5).sum()
    assert_allclose(value_of(pd.logp(rv, x[0, 0])), expected, rtol=1e-12)
    rv = pd.RandomWalk.dist(pd.Normal.dist(0, 1), pd.Exponential.dist(1.0), steps=2)
    assert value_of(pd.logp(rv, [0.0, 1.0, 0.5])) == -np.inf


def test_moments_and_draws_of_a_random_walk() -> None:
    """Means, covariances min(s, t) of 4000 paths within five standard errors, and normal ends."""
    rv = pd.GaussianRandomWalk.dist([0.1, -1.0], [0.5, 2.0], init_dist=pd.Normal.dist(3, 1), steps=4)
    draws = pd.draw(rv, 4000, random_seed=1)
    assert draws.shape == (4000, 2, 5)
    mean, variance = value_of(pd.mean(rv)), value_of(pd.variance(rv))
    assert_allclose(mean, 3 + np.outer([0.1, -1.0], np.arange(5)))
    assert_allclose(variance, 1 + np.outer([0.25, 4.0], np.arange(5)))
    assert_allclose(value_of(pd.support_point(rv)), mean)
    assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(variance / 4000)).all()
    for i in range(2):
        covariance = np.minimum(variance[i][:, None], variance[i])
        error = np.sqrt((np.outer(variance[i], variance[i]) + covariance**2) / 4000)
        assert (np.abs(np.cov(draws[:, i].T) - covariance) < 5 * error).all()
        assert stats.kstest((draws[:, i, -1] - mean[i, -1]) / np.sqrt(variance[i, -1]), "norm").pvalue > 1e-3


def test_random_walks_of_vectors() -> None:
    """By covariance, precision and factor; time comes before the elements of a vector."""
    cov = np.array([[1.0, 0.5], [0.5, 2.0]])
    chol = np.linalg.cholesky(cov)
    x = RNG.normal(size=(3, 4, 2)).cumsum(1)
    expected = stats.multivariate_normal([0, 0], 100 * np.eye(2)).logpdf(x[:, 0])
    expected = expected + stats.multivariate_normal([0.5, -1], cov).logpdf(np.diff(x, axis=1)).sum(-1)
    for given in ({"cov": cov}, {"tau": np.linalg.inv(cov)}, {"chol": chol}, {"chol": chol.T, "lower": False}):
        rv = pd.MvGaussianRandomWalk.dist([0.5, -1], **given, shape=(4, 2))
        assert rv.static_shape == (4, 2)
        assert_allclose(value_of(pd.logp(rv, x)), expected, rtol=1e-10)
    assert_allclose(value_of(pd.mean(rv)), np.outer(np.arange(4), [0.5, -1]))
    steps = np.diff(pd.draw(rv, 4000, random_seed=1), axis=1).reshape(-1, 2)
    error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / len(steps))
    assert (np.abs(np.cov(steps.T) - cov) < 5 * error).all()


AUTOREGRESSIONS = {
    "order 1": ([0.7], False),
    "order 3": ([0.5, -0.2, 0.1], False),
    "order 2 with a constant": ([1.5, 0.5, 0.2], True),
}
over_orders = pytest.mark.parametrize(("rho", "constant"), AUTOREGRESSIONS.values(), ids=AUTOREGRESSIONS)


def autoregression(rho, constant, x, sigma, initial):
    """The same density in a loop over time."""
    coefficients, c = (rho[1:], rho[0]) if constant else (rho, 0.0)
    p = len(coefficients)
    total = initial(x[..., :p])
    for t in range(p, x.shape[-1]):
        total = total + normal(x[..., t], c + sum(r * x[..., t - k] for k, r in enumerate(coefficients, 1)), sigma)
    return total


@over_orders
@pytest.mark.parametrize("backend", BACKENDS)
def test_density_of_an_autoregressive_series(rho, constant, backend) -> None:
    """By sigma and by tau, first values independent or a vector."""
    p = len(rho) - constant
    x = RNG.normal(size=(3, 9))
    value = tensor_input("float64", (3, 9), "value")
    for init, initial in (
        (start(), lambda v: normal(v, 0, 2).sum(-1)),
        (pd.Normal.dist(np.arange(p), 1), lambda v: normal(v, np.arange(p), 1).sum(-1)),
        (pd.MvNormal.dist(0, np.eye(p)), lambda v: normal(v, 0, 1).sum(-1)),
    ):
        for scale in ({"sigma": 0.5}, {"tau": 4.0}):
            rv = pd.AR.dist(rho, **scale, init_dist=init, constant=constant, shape=(9,))
            found = function([value], pd.logp(rv, value), backend=backend)(x)
            assert_allclose(found, autoregression(rho, constant, x, 0.5, initial), rtol=1e-11)


def test_batches_of_autoregressive_series() -> None:
    """Coefficients and scales per series."""
    rho, sigma, x = RNG.uniform(-0.4, 0.4, (4, 2)), np.array([0.5, 1.0, 1.5, 2.0]), RNG.normal(size=(4, 7))
    rv = pd.AR.dist(rho, sigma, init_dist=start(), steps=5)
    assert rv.static_shape == (4, 7)
    expected = [
        autoregression(r, False, v, s, lambda first: normal(first, 0, 2).sum())
        for r, s, v in zip(rho, sigma, x, strict=True)
    ]
    assert_allclose(value_of(pd.logp(rv, x)), expected, rtol=1e-12)
    assert pd.draw(rv, 3, random_seed=1).shape == (3, 4, 7)


@over_orders
def test_draws_of_an_autoregressive_series(rho, constant) -> None:
    """What remains of a drawn series after its recurrence is independent normal noise."""
    coefficients, c = (rho[1:], rho[0]) if constant else (rho, 0.0)
    p = len(coefficients)
    rv = pd.AR.dist(rho, 0.5, init_dist=pd.Normal.dist(3, 2), constant=constant, steps=40)
    x = pd.draw(rv, 500, random_seed=1)
    assert stats.kstest(x[:, :p].ravel(), stats.norm(3, 2).cdf).pvalue > 1e-3
    noise = x[:, p:] - c - sum(r * x[:, p - k : -k] for k, r in enumerate(coefficients, 1))
    assert stats.kstest(noise.ravel(), stats.norm(0, 0.5).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(noise[:, 1:].ravel(), noise[:, :-1].ravel())[0, 1]) < 5 / np.sqrt(noise.size)


@pytest.mark.parametrize("rho", [[0.99], [1.0], [1.05], [1.5, -0.9, 0.3], [1.9, -0.95], [0.0] * 11 + [-0.99]])
def test_recurrence_by_doubling_lags_is_that_of_a_filter(rho) -> None:
    """Of 3000 values: stationary, with a unit root, growing, and oscillating."""
    noise, coefficients = tensor_input("float64", (3000,), "noise"), tensor_input("float64", (len(rho),), "rho")
    compiled = function([noise, coefficients], recurrence(noise, coefficients))
    e = RNG.normal(size=3000)
    expected = lfilter([1.0], [1.0, *(-r for r in rho)], e)
    assert_allclose(compiled(e, np.array(rho)), expected, atol=1e-11 * np.abs(expected).max(), rtol=1e-9)


def diffusion(x, a, b):
    """Drift to 0 and constant noise."""
    return -a * x, b


@pytest.mark.parametrize("backend", BACKENDS)
def test_density_and_draws_of_a_diffusion(backend) -> None:
    """Parameters per series; the variance of an Ornstein-Uhlenbeck process on a grid."""
    b = np.array([0.5, 2.0])
    rv = pd.EulerMaruyama.dist(0.1, diffusion, [1.5, b], init_dist=pd.Normal.dist(0, 1), steps=12)
    assert rv.static_shape == (2, 13)
    x = RNG.normal(size=(5, 2, 13))
    value = tensor_input("float64", x.shape, "value")
    expected = normal(x[..., 0]) + normal(x[..., 1:], 0.85 * x[..., :-1], np.sqrt(0.1) * b[:, None]).sum(-1)
    assert_allclose(function([value], pd.logp(rv, value), backend=backend)(x), expected, rtol=1e-12)
    if backend == "llvm":
        draws = pd.draw(rv, 4000, random_seed=1)
        deviation = np.sqrt(0.85**24 + 0.1 * b**2 * (1 - 0.85**24) / (1 - 0.85**2))
        for i in range(2):
            assert stats.kstest(draws[:, i, -1] / deviation[i], "norm").pvalue > 1e-3


def densities(value, mu, sigma):
    """One of each, of a series of 6 values."""
    return [
        pd.density(pd.GaussianRandomWalk.dist(mu, sigma, init_dist=start(), shape=(6,)), value),
        pd.density(pd.AR.dist(mu, sigma, init_dist=start(), shape=(6,)), value),
        pd.density(pd.EulerMaruyama.dist(0.5, diffusion, [mu, sigma], init_dist=start(), shape=(6,)), value),
    ]


@pytest.mark.parametrize("position", range(3), ids=["walk", "autoregression", "diffusion"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_series(position, backend) -> None:
    """With respect to values and parameters, against differences."""
    value, mu, sigma = tensor_input("float64", (6,), "value"), *(tensor_input("float64", (), n) for n in ("mu", "s"))
    total, leaves = reduce("sum", densities(value, mu, sigma)[position]), [value, mu, sigma]
    compiled = function(leaves, [total, *gradient(total, leaves)], backend=backend)
    point = [RNG.normal(size=6), np.array(0.3), np.array(0.8)]
    for place, slope in enumerate(compiled(*point)[1:]):
        for i in np.ndindex(slope.shape):
            moved = [[p.copy() for p in point] for _ in range(2)]
            moved[0][place][i] += 1e-5
            moved[1][place][i] -= 1e-5
            above, below = (compiled(*arguments)[0] for arguments in moved)
            assert_allclose(slope[i], (above - below) / 2e-5, rtol=1e-6, atol=1e-7)


def test_length_of_a_series_follows_from_steps_or_shape_and_may_be_symbolic() -> None:
    """What is missing or does not fit is said."""
    value = tensor_input("float64", (None,), "value")
    (n,) = value.static_shape
    for rv in (
        pd.GaussianRandomWalk.dist(0, 1, init_dist=start(), shape=(n,)),
        pd.AR.dist([0.0], 1, init_dist=start(), shape=(n,)),
        pd.EulerMaruyama.dist(1.0, lambda x: (-x, 1.0), [], init_dist=start(), shape=(n,)),
    ):
        assert rv.static_shape == (n,)
        compiled = function([value], pd.logp(rv, value))
        for count in (1, 4):
            fixed = rv.op.distribution.title
            x = RNG.normal(size=count)
            mean = 0.0 if fixed != "RandomWalk" else x[:-1]
            assert_allclose(compiled(x), normal(x[0], 0, 2) + normal(x[1:], mean, 1).sum(), rtol=1e-12)
    drawn = pd.realised_with([pd.AR.dist([0.5], 1.0, shape=(n,))], tensor_input("key", ()))[0]
    assert drawn.static_shape == (n,)
    assert pd.GaussianRandomWalk.dist(0, 1, steps=3, size=(2,)).static_shape == (2, 4)
    assert pd.AR.dist([0.5, 0.2], steps=3, shape=(2, 5)).static_shape == (2, 5)
    with pytest.raises(TypeError, match="RandomWalk needs `steps`, or a shape, dims or data"):
        pd.GaussianRandomWalk.dist(0, 1)
    with pytest.raises(ShapeError, match=r"the shape \(7,\) must end with the shape of one event, \(4,\)"):
        pd.GaussianRandomWalk.dist(0, 1, steps=3, shape=(7,))
    with pytest.raises(ShapeError, match="at least 2 values along axis -1"):
        pd.AR.dist([0.5, 0.2], shape=(1,))


def test_what_is_no_series() -> None:
    """Wrong settings, components and parameters."""
    vector = pd.MvNormal.dist([0, 0], np.eye(2))
    cases = [
        (lambda: pd.RandomWalk.dist(start(), vector, steps=3), ShapeError, r"events of the shapes \(\) and \(2,\)"),
        (lambda: pd.RandomWalk.dist(start(), pd.Poisson.dist(1), steps=3), ParameterError, "must be continuous"),
        (lambda: pd.RandomWalk.dist(start(), 1.0, steps=3), TypeError, "innovation_dist must be a distribution"),
        (lambda: pd.RandomWalk.dist(start(), start(), steps=-1), ParameterError, "steps must be a whole number >= 0"),
        (lambda: pd.RandomWalk.dist(start(), start(), steps=1.5), ParameterError, "steps must be a whole number"),
        (lambda: pd.AR.dist([0.1, 0.2], steps=3, ar_order=3), ShapeError, "rho needs 3 elements for ar_order=3"),
        (
            lambda: pd.AR.dist([0.1, 0.2], init_dist=pd.Normal.dist([0, 1, 2]), steps=3),
            ShapeError,
            "last axis of length 2",
        ),
        (lambda: pd.AR.dist([0.1], constant=2, steps=3), ParameterError, "`constant` must be True or False"),
        (lambda: pd.AR.dist([0.1], constant=True, steps=3), ParameterError, "ar_order must be a whole number >= 1"),
        (lambda: pd.AR.dist([0.1], sigma=-1.0, steps=3), ParameterError, "sigma must be > 0"),
        (lambda: pd.EulerMaruyama.dist(0.0, diffusion, [1, 1], steps=3), ParameterError, "dt must be a number > 0"),
        (lambda: pd.EulerMaruyama.dist(0.1, 3, [1, 1], steps=3), ParameterError, "sde_fn must be a function"),
        (lambda: pd.EulerMaruyama.dist(0.1, diffusion, steps=3), TypeError, "needs dt, sde_fn and sde_pars"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
    with pytest.raises(ParameterError, match="sde_fn must give two tensors, drift and diffusion"):
        pd.logp(pd.EulerMaruyama.dist(0.1, lambda x: -x, [], steps=3), np.zeros(4))
    assert pd.draw(pd.EulerMaruyama.dist(0.1, diffusion, [1, 1], steps=2000)).shape == (2001,)
    s = tensor_input("float64", (), "s")
    for rv in (pd.GaussianRandomWalk.dist(0, s, steps=2), pd.AR.dist([0.5], s, steps=2)):
        density = pd.logp(rv, np.zeros(3))
        with pytest.raises(ParameterError, match="sigma must be > 0"):
            function([s], density)(-1.0)
        assert np.isnan(function([s], released([density])[0])(-1.0))


@pytest.mark.parametrize(
    "parameters",
    [
        {"rho": [0.2, 0.5, -0.3], "sigma": 0.7, "init_dist": pd.Normal.dist(1.0, 2.0), "constant": True, "steps": 6},
        {"rho": [[0.9], [0.3]], "sigma": [0.7, 2.0], "init_dist": pd.Normal.dist([[1.0], [2.0]], 3.0), "steps": 4},
        {
            "rho": [0.2, 0.5, -0.3],
            "tau": 2.0,
            "init_dist": pd.Normal.dist([1.0, 2.0, 3.0], [1.0, 2.0, 0.1]),
            "steps": 5,
        },
    ],
)
def test_moments_of_autoregressive_series_are_those_of_draws(parameters) -> None:
    """Of every value, within five standard errors."""
    rv = pd.AR.dist(**parameters)
    count = 100_000
    draws = pd.draw(rv, count, random_seed=2)
    mean, variance = function([], [pd.mean(rv), pd.variance(rv)])()
    assert mean.shape == variance.shape == rv.static_shape
    assert np.abs((draws.mean(0) - mean) / np.sqrt(variance / count)).max() < 5
    assert np.abs(draws.var(0) / variance - 1.0).max() < 5 * np.sqrt(2 / count)


def test_the_variance_of_a_series_that_begins_with_a_vector_is_missing() -> None:
    """Covariances of the first values are not known; the mean is."""
    rv = pd.AR.dist([0.2, 0.5], init_dist=pd.MvNormal.dist([1.0, 2.0], np.eye(2)), steps=2)
    assert_allclose(value_of(pd.mean(rv)), [1.0, 2.0, 0.9, 1.18])
    with pytest.raises(MissingRuleError, match="AR has no `variance`"):
        pd.variance(rv)
