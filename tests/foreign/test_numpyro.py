"""Models of NumPyro have the density and the posterior that NumPyro gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ModelError
from consilience.foreign.numpyro_distributions import FAMILIES

jax = pytest.importorskip("jax")
numpyro = pytest.importorskip("numpyro")

import jax.numpy as jnp  # noqa: E402  # behind the check that it is there
import numpyro.distributions as dist  # noqa: E402
from jax.experimental.ode import odeint  # noqa: E402
from numpyro.contrib.control_flow import scan  # noqa: E402
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


def volatility_by_scan() -> None:
    phi = numpyro.sample("phi", dist.Uniform(-1, 1))
    size = numpyro.sample("size", dist.HalfNormal(0.5))

    def move(h: Any, r: Any) -> Any:
        h = numpyro.sample("h", dist.Normal(phi * h, size))
        numpyro.sample("r", dist.Normal(0.0, jnp.exp(h / 2)), obs=r)
        return h, h

    _, path = scan(move, 0.0, Y)
    numpyro.deterministic("last", path[-1])


def shares() -> None:
    a = numpyro.sample("a", dist.Gamma(2.0, 1.0).expand([3]).to_event(1))
    numpyro.sample("n", dist.DirichletMultinomial(a, total_count=10), obs=np.array([[3, 5, 2], [1, 8, 1]]))
    p = numpyro.sample("p", dist.Dirichlet(a))
    numpyro.sample("m", dist.Multinomial(12, probs=p), obs=np.array([3, 5, 4]))
    numpyro.sample("k", dist.BetaBinomial(a[0], a[1], total_count=9), obs=np.array([3, 7, 0]))
    numpyro.sample("g", dist.GammaPoisson(a[0], a[2]), obs=np.array([3, 7, 0]))


def cut_off() -> None:
    mu, scale = numpyro.sample("mu", dist.SoftLaplace(0.0, 2.0)), numpyro.sample("scale", dist.HalfNormal(2.0))
    numpyro.sample("l", dist.LeftTruncatedDistribution(dist.Normal(mu, scale), low=-3.0), obs=np.maximum(Y, -2.9))
    numpyro.sample(
        "r", dist.RightTruncatedDistribution(dist.StudentT(4.0, mu, scale), high=5.0), obs=np.minimum(Y, 4.9)
    )
    numpyro.sample("b", dist.TwoSidedTruncatedDistribution(dist.Cauchy(mu, scale), -9.0, 9.0), obs=np.clip(Y, -8, 8))
    numpyro.sample("o", dist.DoublyTruncatedPowerLaw(mu, 0.5, 3.0), obs=np.array([0.6, 2.0]))
    numpyro.sample("t", dist.LowerTruncatedPowerLaw(-2.0 - scale, 0.5), obs=np.array([0.6, 2.0]))


def censored() -> None:
    mu, scale = numpyro.sample("mu", dist.Normal(0, 2)), numpyro.sample("scale", dist.HalfNormal(2.0))
    numpyro.sample(
        "r", dist.RightCensoredDistribution(dist.Normal(mu, scale), (Y > 1).astype(int)), obs=np.minimum(Y, 1.0)
    )
    numpyro.sample(
        "l", dist.LeftCensoredDistribution(dist.Normal(mu, scale), (Y < 0).astype(int)), obs=np.maximum(Y, 0.0)
    )
    numpyro.sample(
        "i",
        dist.IntervalCensoredDistribution(dist.Normal(mu, scale), (Y < -1).astype(int), (Y > 2).astype(int)),
        obs=np.stack([np.clip(Y, -1, 2), np.clip(Y, -1, 2) + 0.5], -1),
    )


def directions() -> None:
    with numpyro.handlers.reparam(config={"turn": numpyro.infer.reparam.CircularReparam()}):
        turn = numpyro.sample("turn", dist.VonMises(0.5, 2.0))
    loc, k = numpyro.sample("loc", dist.Normal(0, 1)), numpyro.sample("k", dist.Gamma(2, 1))
    numpyro.sample("y", dist.VonMises(loc + turn, k), obs=np.sin(Y))
    numpyro.sample("v", dist.SineBivariateVonMises(loc, turn, 1.0 + k, 2.0, 0.3), obs=np.array([0.3, 1.0]))


def heavy_tails() -> None:
    nu = numpyro.sample("nu", dist.Gamma(2.0, 0.1))
    loc = numpyro.sample("loc", dist.Normal(0, 1).expand([3]).to_event(1))
    numpyro.sample("x", dist.MultivariateStudentT(nu + 2, loc, jnp.diag(jnp.array([1.0, 0.5, 2.0]))), obs=X)
    lam = numpyro.sample("lam", dist.Gamma(2.0, 1.0))
    numpyro.sample("y", dist.AsymmetricLaplace(loc[0], lam, 0.7), obs=Y)
    numpyro.sample("g", dist.Gumbel(loc[1], lam), obs=Y)
    numpyro.sample("e", dist.Logistic(loc[2], lam), obs=Y)
    numpyro.sample("p", dist.Pareto(0.1, lam), obs=np.abs(Y) + 0.2)
    numpyro.sample("l", dist.Levy(-9.0, lam), obs=Y)
    numpyro.sample("i", dist.InverseGamma(nu, lam), obs=np.abs(Y) + 0.2)
    numpyro.sample("k", dist.Kumaraswamy(lam, nu), obs=jax.nn.sigmoid(Y))
    numpyro.sample("m", dist.Gompertz(lam, nu), obs=np.abs(Y))
    numpyro.sample("c", dist.Chi2(nu), obs=np.abs(Y) + 0.2)
    numpyro.sample("h", dist.Beta(lam, nu), obs=jax.nn.sigmoid(Y))
    numpyro.sample("b", dist.BetaProportion(0.4, nu), obs=jax.nn.sigmoid(Y))


def improper() -> None:
    mu = numpyro.sample("mu", dist.ImproperUniform(dist.constraints.real, (), (3,)))
    s = numpyro.sample("s", dist.ImproperUniform(dist.constraints.positive, (), ()))
    numpyro.factor("prior", -2 * jnp.log(s))
    with numpyro.handlers.scale(scale=0.5):
        numpyro.sample("x", dist.Normal(mu, s).to_event(1), obs=X)


def state_space() -> None:
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    turn = jnp.array([[1.0, 1.0], [0.0, 0.9]])
    path = numpyro.sample("path", dist.GaussianStateSpace(10, turn, scale_tril=s * jnp.eye(2)))
    numpyro.sample("y", dist.Normal(path[:, 0], 1.0), obs=Y[:10])


def lotka_volterra() -> None:
    theta = numpyro.sample("theta", dist.TruncatedNormal(jnp.array([1.0, 0.05, 1.0, 0.05]), 0.2, low=0.0))
    start = numpyro.sample("start", dist.LogNormal(jnp.log(10.0), 1.0).expand([2]))

    def flow(z: Any, _: Any, theta: Any) -> Any:
        a, b, c, d = theta
        return jnp.stack([(a - b * z[1]) * z[0], (-c + d * z[0]) * z[1]])

    z = odeint(flow, start, np.linspace(0.0, 2.0, 8), theta, rtol=1e-6, atol=1e-5, mxstep=1000)
    numpyro.sample("y", dist.LogNormal(jnp.log(z), 0.3), obs=np.full((8, 2), 9.0))


def matrices() -> None:
    tau = numpyro.sample("tau", dist.Gamma(2.0, 2.0))
    a = numpyro.sample("a", dist.Uniform(0.1, 0.9))
    near = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    phi = numpyro.sample("phi", dist.CAR(jnp.zeros(4), a, tau, near))
    numpyro.sample("y", dist.Poisson(jnp.exp(phi)), obs=np.array([1, 3, 0, 2]))
    numpyro.sample("w", dist.Wishart(5.0 + tau, rate_matrix=jnp.eye(2)), obs=np.array([[2.0, 0.3], [0.3, 1.0]]))
    numpyro.sample("lr", dist.LowRankMultivariateNormal(phi, jnp.ones((4, 1)) * tau, jnp.ones(4)), obs=Y[:4])
    numpyro.sample("mn", dist.MatrixNormal(jnp.zeros((2, 2)), jnp.eye(2) * tau, jnp.eye(2)), obs=X[:2, :2])
    numpyro.sample(
        "eu", dist.EulerMaruyama(jnp.arange(4.0), lambda x, t: (-a * x, tau), dist.Normal(0.0, 1.0)), obs=Y[:4]
    )


MODELS: tuple[Callable[[], None], ...] = (
    regression, groups, logistic, counts, mixture, correlated, walk, constrained, volatility, hidden_states, process,
    horseshoe, ordered, many_zeros, varying_slopes, rewritten, survival, items, network, predators, volatility_by_scan,
    shares, cut_off, censored, directions, heavy_tails, improper, state_space, lotka_volterra, matrices,
)  # fmt: skip


@pytest.mark.parametrize("numpyro_model", MODELS)
def test_density_and_gradient_are_those_of_numpyro(numpyro_model: Callable[[], None]) -> None:
    model = pm.from_numpyro(numpyro_model)
    logp, dlogp = model.compile_logp(), model.compile_dlogp()
    with jax.enable_x64(True):
        found = initialize_model(jax.random.key(0), numpyro_model)
        theirs = jax.jit(jax.value_and_grad(found.potential_fn))
        start = {k: np.asarray(v) for k, v in found.param_info.z.items()}
        rng = np.random.default_rng(1)
        for _ in range(5):
            point = {k: v + 0.3 * rng.normal(size=v.shape) for k, v in start.items()}
            energy, slopes = theirs({k: jnp.asarray(v) for k, v in point.items()})
            own = dict(
                zip(
                    model.initial_point(),
                    (point[v.name.removesuffix("_unconstrained")] for v in model.free),
                    strict=True,
                )
            )
            # JAX's betaln is good to 1e-7; ours is SciPy's to the last digits.
            assert float(logp(own)) == pytest.approx(-float(energy), rel=1e-6 if numpyro_model is counts else 1e-9)
            flat = np.concatenate([np.ravel(slopes[v.name.removesuffix("_unconstrained")]) for v in model.free])
            np.testing.assert_allclose(dlogp(own), -flat, rtol=1e-8, atol=1e-6 if numpyro_model is counts else 1e-8)


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


@pytest.mark.filterwarnings("ignore::consilience.errors.ConvergenceWarning")
def test_sites_of_known_families_are_variables() -> None:
    """With their dims, observed ones too: they are predicted, and written in other coordinates; factors are no part."""

    def schools(errors: Any, effects: Any) -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
        tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
        with numpyro.plate("school", 8):
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
            numpyro.sample("y", dist.Normal(theta, errors), obs=effects)
        numpyro.deterministic("ratio", theta / tau)

    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    model = pm.from_numpyro(schools, errors, np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]))
    assert [v.name for v in model.free_RVs] == ["mu", "tau", "theta"]
    assert [v.name for v in model.observed_RVs] == ["y"]
    assert not model.potentials
    assert model.named_vars_to_dims["theta"] == ("school",)
    with model:
        found = pm.sample(random_seed=1, progressbar=False, compute_convergence_checks=True)
        predicted = pm.sample_posterior_predictive(found, random_seed=1, progressbar=False)
        pm.compute_log_likelihood(found)
    assert "coordinates" in found.posterior.attrs["restarts"]
    assert found.status in ("converged", "converged_with_divergences")
    assert predicted["posterior_predictive"]["y"].sizes["school"] == 8
    assert found["log_likelihood"]["y"].shape[2:] == (8,)
    np.testing.assert_allclose(found.posterior["ratio"], found.posterior["theta"] / found.posterior["tau"], rtol=1e-9)


# Arguments of a distribution for every family of the table, and a value where it is discrete.
ARGUMENTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "Normal": (lambda: dist.Normal(0.3, 1.2), None),
    "HalfNormal": (lambda: dist.HalfNormal(1.2), None),
    "StudentT": (lambda: dist.StudentT(3.0, 0.3, 1.2), None),
    "Cauchy": (lambda: dist.Cauchy(0.3, 1.2), None),
    "HalfCauchy": (lambda: dist.HalfCauchy(1.2), None),
    "Laplace": (lambda: dist.Laplace(0.3, 1.2), None),
    "Logistic": (lambda: dist.Logistic(0.3, 1.2), None),
    "Gumbel": (lambda: dist.Gumbel(0.3, 1.2), None),
    "LogNormal": (lambda: dist.LogNormal(0.3, 0.7), None),
    "Exponential": (lambda: dist.Exponential(1.7), None),
    "Gamma": (lambda: dist.Gamma(2.5, 1.7), None),
    "InverseGamma": (lambda: dist.InverseGamma(2.5, 1.7), None),
    "Weibull": (lambda: dist.Weibull(1.2, 2.5), None),
    "Beta": (lambda: dist.Beta(2.5, 1.7), None),
    "Uniform": (lambda: dist.Uniform(-0.5, 1.7), None),
    "MultivariateNormal": (lambda: dist.MultivariateNormal(jnp.arange(2.0), jnp.array([[2.0, 0.3], [0.3, 1.0]])), None),
    "GaussianRandomWalk": (lambda: dist.GaussianRandomWalk(0.7, num_steps=5), None),
    "BernoulliProbs": (lambda: dist.Bernoulli(probs=0.3), np.array([0, 1])),
    "BernoulliLogits": (lambda: dist.Bernoulli(logits=0.3), np.array([0, 1])),
    "BinomialProbs": (lambda: dist.Binomial(5, probs=0.3), np.array([0, 3])),
    "BinomialLogits": (lambda: dist.Binomial(5, logits=0.3), np.array([0, 3])),
    "Poisson": (lambda: dist.Poisson(2.5), np.array([0, 3])),
    "NegativeBinomial2": (lambda: dist.NegativeBinomial2(2.5, 1.7), np.array([0, 3])),
    "CategoricalProbs": (lambda: dist.Categorical(probs=jnp.array([0.2, 0.5, 0.3])), np.array([0, 2])),
    "CategoricalLogits": (lambda: dist.Categorical(logits=jnp.array([0.2, 0.5, 0.3])), np.array([0, 2])),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_families_of_the_table_have_numpyros_densities(family: str) -> None:
    """Also in a plate and with more batch axes; none of them is left to the potential."""
    make, value = ARGUMENTS[family]

    def one() -> None:
        centre = numpyro.sample("centre", dist.Normal(0.0, 1.0))
        if value is None:
            x = numpyro.sample("x", make().expand([2]).to_event(1))
            numpyro.sample("y", dist.Normal(x.sum() + centre, 1.0), obs=0.4)
        else:
            numpyro.sample("x", make(), obs=value)

    model = pm.from_numpyro(one)
    assert not model.potentials
    assert {v.name for v in model.basic_RVs} == {"centre", "x"} | ({"y"} if value is None else set())
    with jax.enable_x64(True):
        found = initialize_model(jax.random.key(0), one)
        wanted = -float(found.potential_fn(found.param_info.z))
        own = dict(
            zip(model.initial_point(), (np.asarray(found.param_info.z[v.name]) for v in model.free), strict=True)
        )
    assert float(model.compile_logp()(own)) == pytest.approx(wanted, rel=1e-6 if "Negative" in family else 1e-10)


def test_special_sites_stay_densities() -> None:
    """Those with masks, weights or families that only NumPyro knows; and those of loops, which depend on themselves."""
    model = pm.from_numpyro(volatility_by_scan)
    assert {v.name for v in model.free_RVs} == {"phi", "size", "h"}
    assert [v.name for v in model.potentials] == ["numpyro"]
    model = pm.from_numpyro(survival)
    assert not model.observed_RVs

    def weighed() -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
        with numpyro.handlers.scale(scale=0.5):
            numpyro.sample("y", dist.Normal(mu, 1.0), obs=Y)
        numpyro.sample("z", dist.Normal(mu, 1.0), obs=Y)

    model = pm.from_numpyro(weighed)
    assert [v.name for v in model.observed_RVs] == ["z"]
    assert len(model.potentials) == 1

    def computed() -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
        numpyro.sample("rest", dist.Normal(0.0, 1.0), obs=Y - mu)

    model = pm.from_numpyro(computed)
    assert not model.observed_RVs
    wanted = dist.Normal(0.0, 1.0).log_prob(0.7) + dist.Normal(0.0, 1.0).log_prob(Y - 0.7).sum()
    assert float(model.compile_logp()({"mu": np.array(0.7)})) == pytest.approx(float(wanted), rel=1e-5)

    def walks() -> None:
        scale = numpyro.sample("scale", dist.HalfNormal(jnp.ones(2)).to_event(1))
        numpyro.sample("path", dist.GaussianRandomWalk(scale, num_steps=4))

    model = pm.from_numpyro(walks)
    assert not model.potentials
    with jax.enable_x64(True):
        found = initialize_model(jax.random.key(0), walks)
        place = {k: np.asarray(v) for k, v in found.param_info.z.items()}
        wanted = -found.potential_fn(place)
    own = dict(zip(model.initial_point(), (place[v.name] for v in model.free), strict=True))
    assert float(model.compile_logp()(own)) == pytest.approx(float(wanted), rel=1e-10)


def test_parts_of_data_sets_in_two_plates_have_both_dims() -> None:
    def crossed() -> None:
        scale = numpyro.sample("scale", dist.HalfNormal(1.0))
        with numpyro.plate("row", 3, dim=-2), numpyro.plate("column", 4, dim=-1):
            a = numpyro.sample("a", dist.StudentT(4.0, 0.0, scale))
            numpyro.sample("n", dist.Poisson(jnp.exp(a)), obs=np.arange(12).reshape(3, 4))
        with numpyro.plate("group", 2):
            numpyro.sample("v", dist.MultivariateNormal(jnp.zeros(3), scale_tril=scale * jnp.eye(3)))

    model = pm.from_numpyro(crossed)
    assert model.named_vars_to_dims == {
        "a": ("row", "column"), "n": ("row", "column"), "v": ("group", None),
    }  # fmt: skip
