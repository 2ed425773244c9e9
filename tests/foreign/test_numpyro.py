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


MODELS: tuple[Callable[[], None], ...] = (regression, groups, logistic, counts, mixture, correlated, walk, constrained)


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
