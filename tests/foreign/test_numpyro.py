"""Models of NumPyro have the density and the posterior that NumPyro gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ModelError

jax = pytest.importorskip("jax")
numpyro = pytest.importorskip("numpyro")

import jax.numpy as jnp  # noqa: E402  # behind the check that it is there
import numpyro.distributions as dist  # noqa: E402
from numpyro.infer.util import initialize_model  # noqa: E402

RNG = np.random.default_rng(0)
X, G = RNG.normal(size=(40, 3)), RNG.integers(0, 5, 40)
Y = X @ [1.0, -1.0, 0.5] + RNG.normal(size=40)


def regression() -> None:
    b = numpyro.sample("b", dist.Normal(0, 1).expand([3]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    numpyro.sample("y", dist.Normal(X @ b, scale), obs=Y)


def groups() -> None:
    mu, tau = numpyro.sample("mu", dist.Normal(0, 3)), numpyro.sample("tau", dist.HalfCauchy(1.0))
    with numpyro.plate("groups", 5):
        a = numpyro.sample("a", dist.Normal(mu, tau))
    numpyro.sample("y", dist.StudentT(4.0, a[G], 1.0), obs=Y)


def logistic() -> None:
    b = numpyro.sample("b", dist.Laplace(0, 1).expand([3]))
    numpyro.sample("y", dist.Bernoulli(logits=X @ b), obs=(Y > 0).astype(int))


def counts() -> None:
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
    shape = numpyro.sample("shape", dist.Exponential(1.0))
    numpyro.sample("y", dist.NegativeBinomial2(rate, shape), obs=np.array([1, 0, 4, 2, 7]))


def mixture() -> None:
    w = numpyro.sample("w", dist.Dirichlet(jnp.ones(2)))
    m = numpyro.sample("m", dist.Normal(jnp.array([-1.0, 1.0]), 1.0))
    numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(w), dist.Normal(m, 1.0)), obs=Y)


def correlated() -> None:
    chol = numpyro.sample("chol", dist.LKJCholesky(3, 2.0))
    sd = numpyro.sample("sd", dist.LogNormal(0.0, 0.5).expand([3]))
    numpyro.sample("x", dist.MultivariateNormal(jnp.zeros(3), scale_tril=sd[:, None] * chol), obs=X)


def walk() -> None:
    step = numpyro.sample("step", dist.Uniform(0.01, 2.0))

    def move(state: Any, y: Any) -> Any:
        numpyro.factor("one", dist.Normal(state, step).log_prob(y))
        return y, None

    path, _ = jax.lax.scan(lambda c, y: (c + dist.Normal(0.9 * y, step).log_prob(y), None), 0.0, Y)
    numpyro.factor("path", path)


def constrained() -> None:
    o = numpyro.sample(
        "o",
        dist.TransformedDistribution(dist.Normal(jnp.zeros(3), 1.0).to_event(1), dist.transforms.OrderedTransform()),
    )
    p = numpyro.sample("p", dist.Beta(2.0, 2.0))
    t = numpyro.sample("t", dist.TruncatedNormal(0.0, 1.0, low=-1.0, high=2.0))
    numpyro.deterministic("total", o.sum() + p + t)
    numpyro.sample("y", dist.Normal(o[0] + p * t, 1.0), obs=Y)


def volatility() -> None:
    step = numpyro.sample("step", dist.Exponential(5.0))
    nu = numpyro.sample("nu", dist.Gamma(2.0, 0.5))
    s = numpyro.sample("s", dist.GaussianRandomWalk(scale=step, num_steps=len(Y)))
    numpyro.sample("y", dist.StudentT(nu + 2, 0.0, jnp.exp(s)), obs=Y)


def hidden_states() -> None:
    rows = numpyro.sample("rows", dist.Dirichlet(jnp.ones((2, 2)) * 2).to_event(1))
    m = numpyro.sample("m", dist.Normal(jnp.array([-1.0, 1.0]), 1.0).to_event(1))

    def forward(alpha: Any, y: Any) -> Any:
        return jax.scipy.special.logsumexp(alpha[:, None] + jnp.log(rows), 0) + dist.Normal(m, 1.0).log_prob(y), None

    alpha, _ = jax.lax.scan(forward, jnp.log(jnp.full(2, 0.5)), Y)
    numpyro.factor("forward", jax.scipy.special.logsumexp(alpha))


def process() -> None:
    variance, length = numpyro.sample("variance", dist.LogNormal()), numpyro.sample("length", dist.InverseGamma(3, 2))
    apart = (X[:, None, 0] - X[None, :, 0]) ** 2
    covariance = variance * jnp.exp(-0.5 * apart / length**2) + 0.1 * jnp.eye(len(Y))
    numpyro.sample("y", dist.MultivariateNormal(0.0, covariance), obs=Y)


def horseshoe() -> None:
    tau = numpyro.sample("tau", dist.HalfCauchy(1.0))
    with numpyro.plate("features", 3):
        b = numpyro.sample("b", dist.Normal(0.0, 1.0)) * numpyro.sample("lambda", dist.HalfCauchy(1.0)) * tau
    numpyro.sample("y", dist.Normal(X @ b, numpyro.sample("s", dist.InverseGamma(2.0, 2.0))), obs=Y)


def ordered() -> None:
    b = numpyro.sample("b", dist.Normal(0, 1).expand([3]))
    free = dist.Normal(jnp.zeros(2), 1.0).to_event(1)
    cut = numpyro.sample("cut", dist.TransformedDistribution(free, dist.transforms.OrderedTransform()))
    numpyro.sample("y", dist.OrderedLogistic(X @ b, cut), obs=np.digitize(Y, [-1.0, 1.0]))


def many_zeros() -> None:
    gate, rate = numpyro.sample("gate", dist.Beta(2, 2)), numpyro.sample("rate", dist.Gamma(2, 1))
    numpyro.sample("y", dist.ZeroInflatedPoisson(gate, rate), obs=np.array([0, 0, 3, 1, 0, 5]))


def varying_slopes() -> None:
    sd = numpyro.sample("sd", dist.Exponential(1.0).expand([2]))
    chol = numpyro.sample("chol", dist.LKJCholesky(2, 2.0))
    with numpyro.plate("groups", 5):
        ab = numpyro.sample("ab", dist.MultivariateNormal(jnp.zeros(2), scale_tril=sd[:, None] * chol))
    numpyro.sample("y", dist.Normal(ab[G, 0] + ab[G, 1] * X[:, 0], 1.0), obs=Y)


def rewritten() -> None:
    """Centred groups by `handlers.reparam`."""
    noncentred = {"a": numpyro.infer.reparam.LocScaleReparam(0)}
    with numpyro.handlers.reparam(config=noncentred):
        groups()


def survival() -> None:
    shape, scale = numpyro.sample("shape", dist.Gamma(2, 1)), numpyro.sample("scale", dist.LogNormal(0, 1))
    times = np.abs(Y) + 0.1
    with numpyro.handlers.mask(mask=np.arange(len(Y)) % 3 > 0):
        numpyro.sample("seen", dist.Weibull(scale, shape), obs=times)
    numpyro.factor("still", -jnp.sum(jnp.where(np.arange(len(Y)) % 3 == 0, (times / scale) ** shape, 0.0)))


def items() -> None:
    ability = numpyro.sample("ability", dist.Normal(0, 1).expand([5]))
    difficulty = numpyro.sample("difficulty", dist.ZeroSumNormal(1.0, (4,)))
    numpyro.sample("y", dist.BernoulliLogits(ability[G] - difficulty[np.arange(40) % 4]), obs=(Y > 0).astype(int))


def network() -> None:
    w, out = numpyro.sample("w", dist.Normal().expand([3, 4])), numpyro.sample("out", dist.Normal().expand([4]))
    numpyro.sample("y", dist.Normal(jnp.tanh(X @ w) @ out, numpyro.sample("s", dist.HalfNormal())), obs=Y)


def predators() -> None:
    """Lotka and Volterra's equations by steps of Runge and Kutta."""
    z = numpyro.sample("z", dist.LogNormal(jnp.zeros(2), 0.5).to_event(1))
    theta = numpyro.sample("theta", dist.LogNormal(-0.5, 0.3).expand([4]).to_event(1))

    def f(s: Any) -> Any:
        return jnp.array([theta[0] * s[0] - theta[1] * s[0] * s[1], theta[2] * s[0] * s[1] - theta[3] * s[1]])

    def step(s: Any, _: Any) -> Any:
        k = f(s)
        s = s + 0.1 * f(s + 0.05 * k)
        return s, s

    _, path = jax.lax.scan(step, z, None, length=20)
    numpyro.sample("y", dist.LogNormal(jnp.log(path), 0.5), obs=np.exp(Y.reshape(20, 2) / 3))


MODELS: tuple[Callable[[], None], ...] = (
    regression, groups, logistic, counts, mixture, correlated, walk, constrained, volatility, hidden_states, process,
    horseshoe, ordered, many_zeros, varying_slopes, rewritten, survival, items, network, predators,
)  # fmt: skip


@pytest.mark.parametrize("numpyro_model", MODELS)
def test_density_and_gradient_are_those_of_numpyro(numpyro_model: Callable[[], None]) -> None:
    model = pm.from_numpyro(numpyro_model)
    with jax.enable_x64(True):
        found = initialize_model(jax.random.key(0), numpyro_model)
        start = {k: np.asarray(v) for k, v in found.param_info.z.items()}
        rng = np.random.default_rng(1)
        for _ in range(5):
            point = {k: v + 0.3 * rng.normal(size=v.shape) for k, v in start.items()}
            energy, slopes = jax.value_and_grad(found.potential_fn)({k: jnp.asarray(v) for k, v in point.items()})
            own = dict(
                zip(
                    model.initial_point(),
                    (point[v.name.removesuffix("_unconstrained")] for v in model.free),
                    strict=True,
                )
            )
            assert float(model.compile_logp()(own)) == pytest.approx(-float(energy), rel=1e-9)
            flat = np.concatenate([np.ravel(slopes[v.name.removesuffix("_unconstrained")]) for v in model.free])
            np.testing.assert_allclose(model.compile_dlogp()(own), -flat, rtol=1e-8, atol=1e-8)


def test_the_posterior_has_constrained_values_by_name() -> None:
    result = pm.sample(model=pm.from_numpyro(constrained), random_seed=1, progressbar=False)
    draws = result.posterior
    assert (np.diff(draws["o"].values, axis=-1) > 0).all()
    assert ((draws["p"] > 0) & (draws["p"] < 1) & (draws["t"] > -1) & (draws["t"] < 2)).all()
    np.testing.assert_allclose(draws["total"], draws["o"].sum("o_dim_0") + draws["p"] + draws["t"])


def test_discrete_sites_are_told() -> None:
    def discrete() -> None:
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        numpyro.sample("y", dist.Normal(z, 1.0), obs=Y)

    def nothing() -> None:
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=Y)

    with pytest.raises(ModelError, match="`z` of the NumPyro model is discrete"):
        pm.from_numpyro(discrete)
    with pytest.raises(ModelError, match="no latent sites"):
        pm.from_numpyro(nothing)
