"""Log densities as users of JAX and BlackJAX write them: value, gradient and posteriors are JAX's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402  # behind the check that it is there
import jax.scipy.stats as stats  # noqa: E402
from jax.experimental.ode import odeint  # noqa: E402
from jax.flatten_util import ravel_pytree  # noqa: E402

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 3))
GROUP = RNG.integers(0, 4, 30)
Y = X @ [1.0, -0.5, 0.3] + 0.4 * GROUP + RNG.normal(size=30)
LABELS = (Y > 0).astype(int)
COUNTS = RNG.poisson(np.exp(0.3 * Y))
PARTS = jnp.asarray(np.where(RNG.random(30) < 0.4, -2.0, 1.5) + RNG.normal(size=30))  # an array that JAX made
TRIANGLE = np.tril_indices(3, -1)

Density = Callable[[Any], Any]
DENSITIES: dict[str, tuple[Density, Any]] = {}


def density(example: Any) -> Callable[[Density], Density]:
    """Enter a log density with a position, whose form and shapes it takes."""

    def enter(function: Density) -> Density:
        DENSITIES[function.__name__] = function, example
        return function

    return enter


@density((0.3, -0.2))
def banana(q: Any) -> Any:
    x, y = q
    return -((1 - x) ** 2) - 2 * (y - x**2) ** 2


@density(np.linspace(-0.5, 0.5, 6))
def rosenbrock(x: Any) -> Any:
    return -jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2) / 20


@density({"loc": 1.0, "log_scale": 0.3})
def linear(q: Any) -> Any:
    """The first example of BlackJAX."""
    scale = jnp.exp(q["log_scale"])
    return stats.expon.logpdf(scale, 0, 1) + q["log_scale"] + jnp.sum(stats.norm.logpdf(Y, q["loc"], scale))


@density(np.full(3, 0.2))
def logistic(b: Any) -> Any:
    logits = X @ b
    return jnp.sum(LABELS * jax.nn.log_sigmoid(logits) + (1 - LABELS) * jax.nn.log_sigmoid(-logits)) - b @ b / 2


@density({"w": 0.1, "means": np.array([-1.0, 1.0]), "s": np.zeros(2)})
def mixture(q: Any) -> Any:
    parts = stats.norm.logpdf(PARTS[:, None], q["means"], jnp.exp(q["s"]))
    weights = jnp.stack([jax.nn.log_sigmoid(q["w"]), jax.nn.log_sigmoid(-q["w"])])
    prior = stats.norm.logpdf(q["means"], 0, 5).sum() + stats.norm.logpdf(q["s"]).sum() + stats.norm.logpdf(q["w"])
    return jnp.sum(jax.scipy.special.logsumexp(parts + weights, axis=1)) + prior


@density(np.array([0.5, 0.1, -0.4, 0.7]))
def funnel(q: Any) -> Any:
    return stats.norm.logpdf(q[0], 0, 3) + stats.norm.logpdf(q[1:], 0, jnp.exp(q[0] / 2)).sum()


@density({"mu": 0.1, "log_tau": -0.2, "z": np.linspace(-1, 1, 4), "log_s": 0.0})
def hierarchical(q: Any) -> Any:
    tau, s = jnp.exp(q["log_tau"]), jnp.exp(q["log_s"])
    a = q["mu"] + tau * q["z"]
    prior = stats.norm.logpdf(q["mu"], 0, 5) + stats.cauchy.logpdf(tau, 0, 2) + q["log_tau"]
    own = stats.norm.logpdf(q["z"]).sum() + stats.gamma.logpdf(s, 2.0, scale=0.5) + q["log_s"]
    return prior + own + stats.norm.logpdf(Y, a[GROUP], s).sum()


@density({"b": np.array([0.2, -0.1, 0.4]), "local": np.zeros(3), "all": -0.3})
def sparse(q: Any) -> Any:
    """A horseshoe on the logarithms of its scales."""

    def half_cauchy(log_scale: Any) -> Any:
        return jnp.log(2) + stats.cauchy.logpdf(jnp.exp(log_scale)) + log_scale

    b = q["b"] * jnp.exp(q["local"] + q["all"])
    prior = stats.norm.logpdf(q["b"]).sum() + half_cauchy(q["local"]).sum() + half_cauchy(q["all"])
    return prior + stats.t.logpdf(Y - X @ b, 4.0).sum()


@density({"f": np.linspace(-0.5, 0.5, 12), "log_length": 0.1, "log_size": 0.0})
def process_classification(q: Any) -> Any:
    x = X[:12, 0]
    kernel = jax.vmap(
        jax.vmap(lambda a, b: jnp.exp(-(((a - b) / jnp.exp(q["log_length"])) ** 2) / 2), (None, 0)), (0, None)
    )
    root = jnp.linalg.cholesky(jnp.exp(q["log_size"]) * kernel(x, x) + 1e-4 * jnp.eye(12))
    f = root @ q["f"]
    prior = sum(stats.norm.logpdf(v).sum() for v in jax.tree_util.tree_leaves(q))
    return prior + stats.bernoulli.logpmf(LABELS[:12], jax.scipy.stats.norm.cdf(f)).sum()


@density({"rows": np.array([[0.2, 0.0], [0.1, 0.4]]), "means": np.array([-1.0, 0.5])})
def hidden_markov(q: Any) -> Any:
    turn = jax.nn.log_softmax(q["rows"], axis=1)

    def forward(alpha: Any, y: Any) -> Any:
        return jax.nn.logsumexp(alpha[:, None] + turn, axis=0) + stats.norm.logpdf(y, q["means"]), None

    alpha, _ = jax.lax.scan(forward, jnp.full(2, jnp.log(0.5)), jnp.asarray(Y))
    return jax.nn.logsumexp(alpha) + stats.norm.logpdf(q["rows"]).sum() + stats.norm.logpdf(q["means"]).sum()


@density({"rates": np.array([-0.2, -1.4]), "k": 1.0})
def epidemic(q: Any) -> Any:
    catch, leave = jnp.exp(q["rates"])

    def day(state: Any, _: Any) -> Any:
        s, i = state
        new = catch * s * i
        return (s - new, i + new - leave * i), new

    _, new = jax.lax.scan(day, (0.98, 0.02), None, length=12)
    k = jax.nn.softplus(q["k"])
    mean = 500 * new
    seen = stats.nbinom.logpmf(np.arange(3, 15), k, k / (k + mean))
    return seen.sum() + stats.norm.logpdf(q["rates"], -1, 1).sum() + stats.norm.logpdf(q["k"])


@density({"theta": np.array([0.1, -1.0, 0.0, -1.2]), "start": np.array([0.5, 0.1])})
def predators(q: Any) -> Any:
    """Lotka and Volterra's equations, whose derivative JAX takes by the adjoint equation."""

    def flow(z: Any, _: Any, theta: Any) -> Any:
        a, b, c, d = theta
        return jnp.array([(a - b * z[1]) * z[0], (d * z[0] - c) * z[1]])

    z = odeint(flow, jnp.exp(q["start"]), jnp.linspace(0.0, 2.0, 5), jnp.exp(q["theta"]), rtol=1e-10, atol=1e-10)
    seen = stats.norm.logpdf(np.log([1.5, 1.2, 1.0, 0.8, 0.9])[:, None], jnp.log(z), 0.3).sum()
    return seen + stats.norm.logpdf(q["theta"]).sum() + stats.norm.logpdf(q["start"]).sum()


@density({"log_s": np.zeros(3), "free": np.array([0.2, -0.3, 0.1]), "mean": np.zeros(3)})
def covariance(q: Any) -> Any:
    root = jnp.diag(jnp.exp(q["log_s"])).at[TRIANGLE].set(q["free"])
    prior = stats.norm.logpdf(q["free"]).sum() + stats.norm.logpdf(q["log_s"]).sum()
    return jax.vmap(lambda x: stats.multivariate_normal.logpdf(x, q["mean"], root @ root.T))(X).sum() + prior


@density({"level": 0.2, "ar": np.array([0.3, -0.2]), "log_s": 0.1})
def autoregression(q: Any) -> Any:
    bounded = jnp.tanh(q["ar"])
    mean = q["level"] + jnp.convolve(Y, bounded, mode="valid")[:-1]
    return stats.norm.logpdf(Y[2:], mean, jnp.exp(q["log_s"])).sum() + stats.norm.logpdf(ravel_pytree(q)[0]).sum()


@density({"b": np.array([0.1, 0.2, -0.1]), "log_phi": 0.5})
def counts(q: Any) -> Any:
    phi = jnp.exp(q["log_phi"])
    mu = jnp.exp(X @ q["b"])
    by_group = jax.ops.segment_sum(mu, GROUP, 4)
    return stats.nbinom.logpmf(COUNTS, phi, phi / (phi + mu)).sum() - jnp.sum(q["b"] ** 2) - jnp.log(by_group).sum() / 9


@density([(np.full((3, 4), 0.1), np.zeros(4)), (np.linspace(-1, 1, 4)[:, None], np.zeros(1))])
def network(layers: Any) -> Any:
    h = X
    for w, b in layers[:-1]:
        h = jax.nn.gelu(h @ w + b)
    out = (h @ layers[-1][0] + layers[-1][1])[:, 0]
    return stats.norm.logpdf(Y, out, 0.5).sum() + sum(
        stats.norm.logpdf(v).sum() for v in jax.tree_util.tree_leaves(layers)
    )


@density({"a": np.array([0.2, 0.1, -0.3]), "k": 0.4})
def shares_and_angles(q: Any) -> Any:
    p, k = jax.nn.softmax(q["a"]), jnp.exp(q["k"])
    whole = stats.dirichlet.logpdf(p, k + jnp.ones(3)) + stats.multinomial.logpmf(np.array([3, 5, 2]), 10, p)
    angles = stats.vonmises.logpdf(np.sin(Y) - q["a"][0], k).sum() + stats.gennorm.logpdf(Y, 1.0 + k).sum()
    cut = stats.truncnorm.logpdf(np.clip(Y, -1, 1), -2.0, 2.0, q["a"][1] / 9, k).sum()
    return whole + angles + cut + stats.beta.logpdf(p, k, 2.0).sum() + stats.laplace.logpdf(q["a"], 0, k).sum()


@density({"x": np.array([0.1, 0.5, -0.2]), "log_s": -0.1})
def kalman(q: Any) -> Any:
    """A local level by filtering in associative order, and a solve inside."""
    s = jnp.exp(q["log_s"])
    smooth = jax.lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.full(30, 0.7), s * Y))[1]
    a = jnp.eye(3) * s + X.T @ X / 30
    return stats.norm.logpdf(Y, smooth, s).sum() - q["x"] @ jnp.linalg.solve(a, q["x"]) - jnp.linalg.slogdet(a)[1]


@pytest.mark.parametrize("name", DENSITIES)
def test_values_and_gradients_are_those_of_jax(name: str) -> None:
    function, example = DENSITIES[name]
    with jax.enable_x64(True):
        flat, back = ravel_pytree(jax.tree_util.tree_map(lambda v: np.asarray(v, float), example))
        theirs = jax.jit(jax.value_and_grad(lambda q: function(back(q))))
    q = pt.vector("q", shape=flat.shape)
    ours = pm.from_jax(lambda q: function(back(q)), np.asarray(flat))(q)
    f = pm.function([q], [ours, pt.grad(ours, q)])
    rng = np.random.default_rng(1)
    for _ in range(5):
        at = np.asarray(flat) + 0.2 * rng.normal(size=flat.shape)
        with jax.enable_x64(True):
            value, slope = theirs(at)
        own, own_slope = f(at)
        assert float(own) == pytest.approx(float(value), rel=1e-9)
        # the adjoint equation is solved to the tolerance that the function gives
        np.testing.assert_allclose(own_slope, slope, rtol=1e-8, atol=1e-8 * max(1.0, float(np.abs(slope).max())))


def test_a_posterior_of_a_location_and_a_scale() -> None:
    """Its mean is that of the data but for terms of the prior of order 1/n; its spread is that of the mean."""
    function, example = DENSITIES["linear"]
    with pm.Model():
        free = {k: pm.Flat(k, shape=np.shape(v), initval=v) for k, v in example.items()}
        pm.Potential("density", pm.from_jax(function, example)(free))
        draws = pm.sample(draws=1000, tune=1000, chains=2, random_seed=1, progressbar=False).posterior
    assert float(draws["loc"].mean()) == pytest.approx(Y.mean(), abs=0.08)
    assert float(draws["loc"].std()) == pytest.approx(Y.std() / np.sqrt(30), rel=0.2)


def test_a_banana_has_its_moments() -> None:
    """The first coordinate is normal, and the second one normal around the square of the first."""
    with pm.Model():
        x, y = pm.Flat("x"), pm.Flat("y")
        pm.Potential("density", pm.from_jax(*DENSITIES["banana"])((x, y)))
        draws = pm.sample(
            draws=4000, tune=1000, chains=2, random_seed=1, target_accept=0.95, progressbar=False
        ).posterior
    assert float(draws["x"].mean()) == pytest.approx(1.0, abs=0.1)
    assert float(draws["x"].var()) == pytest.approx(0.5, rel=0.15)
    assert float(draws["y"].mean()) == pytest.approx(1.5, abs=0.2)
    assert float(draws["y"].var()) == pytest.approx(2.75, rel=0.25)


def test_a_normal_vector_has_its_moments() -> None:
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    mean = np.array([1.0, -2.0])
    function = pm.from_jax(lambda q: stats.multivariate_normal.logpdf(q, mean, jnp.linalg.inv(precision)), mean)
    with pm.Model():
        q = pm.Flat("q", shape=2)
        pm.Potential("density", function(q))
        draws = pm.sample(draws=2000, tune=1000, chains=2, random_seed=1, progressbar=False).posterior["q"].values
    flat = draws.reshape(-1, 2)
    np.testing.assert_allclose(flat.mean(0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(flat.T), np.linalg.inv(precision), atol=0.15)
