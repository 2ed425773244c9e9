"""Every univariate distribution with random parameters and the same distribution in SciPy's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats

import consilience.distributions as pd
from consilience.backends.reference import evaluate
from consilience.ir import Node

Array = npt.NDArray[Any]
Generator = np.random.Generator


@dataclass(frozen=True)
class Case:
    """One distribution.

    parameters  random valid parameters of a shape, from a generator
    scipy       the frozen SciPy distribution of the same parameters
    edges       values at and beyond the ends of the support, and far out in the tails
    wrong       values that a parameter refuses, where the name alone does not say them
    """

    distribution: type[pd.Distribution]
    parameters: Callable[[Generator, tuple[int, ...]], dict[str, Array]]
    scipy: Callable[..., Any]
    edges: tuple[float, ...]
    wrong: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def discrete(self) -> bool:
        return issubclass(self.distribution, pd.Discrete)

    def has(self, formula: str) -> bool:
        """Whether the distribution declares a formula."""
        return getattr(self.distribution, formula) is not getattr(pd.Distribution, formula)

    def sample(self, rng: Generator, shape: tuple[int, ...]) -> tuple[dict[str, Array], Any]:
        """Parameters of a shape and the SciPy distribution."""
        parameters = self.parameters(rng, shape)
        return parameters, self.scipy(**parameters)

    def values(self, rng: Generator, frozen: Any, count: int) -> Array:
        """`count` random values per parameter, in leading axis, and the edges."""
        shape = frozen.mean().shape if np.ndim(frozen.mean()) else ()
        drawn = frozen.rvs(size=(count, *shape), random_state=rng)
        edges = np.broadcast_to(np.reshape(self.edges, (-1, *(1,) * len(shape))), (len(self.edges), *shape))
        return np.concatenate([drawn, edges]).astype("int64" if self.discrete else float)


def real(rng: Generator, shape: tuple[int, ...]) -> Array:
    return rng.normal(0.0, 3.0, shape)


def scale(rng: Generator, shape: tuple[int, ...]) -> Array:
    return np.exp(rng.normal(0.0, 0.7, shape))


def unit(rng: Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.02, 0.98, shape)


def trials(rng: Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(1, 40, shape)


def named(**makers: Callable[[Generator, tuple[int, ...]], Array]) -> Callable[..., dict[str, Array]]:
    return lambda rng, shape: {name: make(rng, shape) for name, make in makers.items()}


def _bounds(rng: Generator, shape: tuple[int, ...]) -> dict[str, Array]:
    lower = real(rng, shape)
    return {"lower": lower, "upper": lower + scale(rng, shape)}


def _negative_binomial(mu: Array, alpha: Array) -> Any:
    return scipy.stats.nbinom(alpha, alpha / (mu + alpha))


def _logit(logit_p: Array) -> Any:
    return scipy.stats.bernoulli(1.0 / (1.0 + np.exp(-logit_p)))


class LaplaceTails:
    """SciPy's Laplace distribution, with logarithms that do not underflow."""

    def __init__(self, mu: Array, b: Array) -> None:
        self._frozen = scipy.stats.laplace(mu, b)
        self._mu, self._b = mu, b

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frozen, name)

    def logpdf(self, x: Array) -> Array:
        return -np.abs(x - self._mu) / self._b - np.log(2.0 * self._b)

    def logcdf(self, x: Array) -> Array:
        z = (x - self._mu) / self._b
        return np.where(z < 0.0, z - np.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(z))))


FAR = (-1e6, -300.0, -40.0, -5.0, 0.0, 5.0, 40.0, 300.0, 1e6)
POSITIVE = (-1.0, 0.0, 1e-12, 1e-3, 1.0, 30.0, 500.0, np.inf)
COUNTS = (-1, 0, 1, 2, 60, 1000)

CASES = [
    Case(pd.Normal, named(mu=real, sigma=scale), lambda mu, sigma: scipy.stats.norm(mu, sigma), FAR),
    Case(
        pd.StudentT,
        named(nu=scale, mu=real, sigma=scale),
        lambda nu, mu, sigma: scipy.stats.t(nu, mu, sigma),
        FAR,
    ),
    Case(pd.Cauchy, named(alpha=real, beta=scale), lambda alpha, beta: scipy.stats.cauchy(alpha, beta), FAR),
    Case(pd.Laplace, named(mu=real, b=scale), LaplaceTails, FAR),
    Case(pd.Uniform, _bounds, lambda lower, upper: scipy.stats.uniform(lower, upper - lower), (-1e3, 0.0, 1e3)),
    Case(pd.HalfNormal, named(sigma=scale), lambda sigma: scipy.stats.halfnorm(0, sigma), POSITIVE),
    Case(pd.HalfCauchy, named(beta=scale), lambda beta: scipy.stats.halfcauchy(0, beta), POSITIVE),
    Case(
        pd.LogNormal,
        named(mu=real, sigma=scale),
        lambda mu, sigma: scipy.stats.lognorm(sigma, 0, np.exp(mu)),
        POSITIVE,
    ),
    Case(pd.Exponential, named(lam=scale), lambda lam: scipy.stats.expon(0, 1 / lam), POSITIVE),
    Case(
        pd.Gamma,
        named(alpha=scale, beta=scale),
        lambda alpha, beta: scipy.stats.gamma(alpha, 0, 1 / beta),
        POSITIVE,
    ),
    Case(
        pd.InverseGamma,
        named(alpha=scale, beta=scale),
        lambda alpha, beta: scipy.stats.invgamma(alpha, 0, beta),
        POSITIVE,
    ),
    Case(
        pd.Beta,
        named(alpha=scale, beta=scale),
        lambda alpha, beta: scipy.stats.beta(alpha, beta),
        (-0.5, 0.0, 1e-9, 0.5, 1.0, 1.5),
    ),
    Case(pd.Bernoulli, named(p=unit), lambda p: scipy.stats.bernoulli(p), (-1, 0, 1, 2)),
    Case(pd.Bernoulli, named(logit_p=real), _logit, (-1, 0, 1, 2)),
    Case(pd.Binomial, named(n=trials, p=unit), lambda n, p: scipy.stats.binom(n, p), COUNTS),
    Case(pd.Poisson, named(mu=scale), lambda mu: scipy.stats.poisson(mu), COUNTS),
    Case(pd.NegativeBinomial, named(mu=scale, alpha=scale), _negative_binomial, COUNTS),
]

# Joined here, where the words of its rows are known.
from tests.distributions.cases_continuous import CONTINUOUS_CASES  # noqa: E402
from tests.distributions.cases_discrete import CASES_DISCRETE  # noqa: E402

CASES += [*CONTINUOUS_CASES, *CASES_DISCRETE]


def name_of(case: Case) -> str:
    """A test id."""
    parameters = case.parameters(np.random.default_rng(0), ())
    return f"{case.distribution.__name__}({', '.join(parameters)})"


def value_of(node: Node, inputs: dict[Node, Any] | None = None) -> Array:
    """The value of a graph by the reference backend."""
    return evaluate([node], inputs or {})[0]
