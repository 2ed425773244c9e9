"""NumPy's generator of random numbers for functions that build graphs: its methods in, random variables out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from consilience import distributions as pd
from consilience.distributions.random_variable import fresh_keys
from consilience.distributions.sampling import choice, multivariate_hypergeometric, permutation
from consilience.errors import MissingRuleError
from consilience.ir import Node, substitute
from consilience.ops.elementwise import as_tensor
from consilience.ops.random import fold_in


def _integers(low: Any, high: Any = None, size: Any = None, endpoint: bool = False) -> Node:
    low, high = (0, low) if high is None else (low, high)
    return pd.DiscreteUniform.dist(low, as_tensor(high) - (0 if endpoint else 1), size=size)


# A method of NumPy's generator as a variable of ours, parameters in NumPy's order and with its defaults; what NumPy
# does not have, as PyTensor's `random` has it.
METHODS: Final[dict[str, Callable[..., Node]]] = {
    "bernoulli": lambda p, size=None: pd.Bernoulli.dist(p, size=size),
    "beta": lambda a, b, size=None: pd.Beta.dist(a, b, size=size),
    "betabinom": lambda n, a, b, size=None: pd.BetaBinomial.dist(n=n, alpha=a, beta=b, size=size),
    "binomial": lambda n, p, size=None: pd.Binomial.dist(n, p, size=size),
    "categorical": lambda p, size=None: pd.Categorical.dist(p, size=size),
    "cauchy": lambda loc=0.0, scale=1.0, size=None: pd.Cauchy.dist(loc, scale, size=size),
    "chisquare": lambda df, size=None: pd.ChiSquared.dist(df, size=size),
    "choice": choice,
    "dirichlet": lambda alpha, size=None: pd.Dirichlet.dist(alpha, size=size),
    "exponential": lambda scale=1.0, size=None: pd.Exponential.dist(scale=scale, size=size),
    "gamma": lambda shape, scale=1.0, size=None: pd.Gamma.dist(shape, 1.0 / scale, size=size),
    "geometric": lambda p, size=None: pd.Geometric.dist(p, size=size),
    "gumbel": lambda loc=0.0, scale=1.0, size=None: pd.Gumbel.dist(loc, scale, size=size),
    "halfcauchy": lambda scale=1.0, size=None: pd.HalfCauchy.dist(scale, size=size),
    "halfnormal": lambda scale=1.0, size=None: pd.HalfNormal.dist(scale, size=size),
    "hypergeometric": lambda ngood, nbad, nsample, size=None: pd.HyperGeometric.dist(
        N=as_tensor(ngood) + nbad, k=ngood, n=nsample, size=size
    ),
    "integers": _integers,
    "invgamma": lambda shape, scale=1.0, size=None: pd.InverseGamma.dist(shape, scale, size=size),
    "laplace": lambda loc=0.0, scale=1.0, size=None: pd.Laplace.dist(loc, scale, size=size),
    "logistic": lambda loc=0.0, scale=1.0, size=None: pd.Logistic.dist(loc, scale, size=size),
    "lognormal": lambda mean=0.0, sigma=1.0, size=None: pd.LogNormal.dist(mean, sigma, size=size),
    "multinomial": lambda n, pvals, size=None: pd.Multinomial.dist(n, pvals, size=size),
    "multivariate_hypergeometric": multivariate_hypergeometric,
    "multivariate_normal": lambda mean, cov, size=None: pd.MvNormal.dist(mean, cov, size=size),
    "negative_binomial": lambda n, p, size=None: pd.NegativeBinomial.dist(n=n, p=p, size=size),
    "normal": lambda loc=0.0, scale=1.0, size=None: pd.Normal.dist(loc, scale, size=size),
    "pareto": lambda a, size=None: pd.Pareto.dist(a, 1.0, size=size) - 1.0,
    "permutation": permutation,
    "poisson": lambda lam=1.0, size=None: pd.Poisson.dist(lam, size=size),
    "power": lambda a, size=None: pd.Beta.dist(a, 1.0, size=size),
    "random": lambda size=None: pd.Uniform.dist(0.0, 1.0, size=size),
    "rayleigh": lambda scale=1.0, size=None: pd.Weibull.dist(2.0, math.sqrt(2.0) * as_tensor(scale), size=size),
    "shuffle": permutation,
    "standard_cauchy": lambda size=None: pd.Cauchy.dist(0.0, 1.0, size=size),
    "standard_exponential": lambda size=None: pd.Exponential.dist(1.0, size=size),
    "standard_gamma": lambda shape, size=None: pd.Gamma.dist(shape, 1.0, size=size),
    "standard_normal": lambda size=None: pd.Normal.dist(0.0, 1.0, size=size),
    "standard_t": lambda df, size=None: pd.StudentT.dist(df, 0.0, 1.0, size=size),
    "t": lambda df, loc=0.0, scale=1.0, size=None: pd.StudentT.dist(df, loc, scale, size=size),
    "triangular": lambda left, mode, right, size=None: pd.Triangular.dist(lower=left, c=mode, upper=right, size=size),
    "uniform": lambda low=0.0, high=1.0, size=None: pd.Uniform.dist(low, high, size=size),
    "vonmises": lambda mu, kappa, size=None: pd.VonMises.dist(mu, kappa, size=size),
    "wald": lambda mean, scale, size=None: pd.Wald.dist(mean, scale, size=size),
    "weibull": lambda a, size=None: pd.Weibull.dist(a, 1.0, size=size),
}


def made_with(key: Node | None, method: Callable[..., Node], arguments: tuple[Any, ...], named: dict[str, Any]) -> Node:
    """The variable that a method makes, drawn with a key; without one, anew at every call."""
    node = method(*arguments, **named)
    if key is None:
        return node
    given = fresh_keys([v for v in (*arguments, *named.values()) if isinstance(v, Node)])
    own = [fresh for fresh in fresh_keys([node]) if fresh not in given]
    keys = [key] if len(own) == 1 else [fold_in(key, i) for i in range(len(own))]
    return substitute([node], dict(zip(own, keys, strict=True)))[0]


class GraphGenerator:
    """A random key with the methods of `numpy.random.Generator`; each call is independent of the others.

    `key`: the key, for the functions of `pt.random`, which take the generator as well.
    """

    def __init__(self, key: Node) -> None:
        self.key = key
        self._calls = 0

    def __getattr__(self, method: str) -> Callable[..., Node]:
        if method.startswith("__"):
            raise AttributeError(method)
        if method not in METHODS:
            raise MissingRuleError(
                f"the generator given to `random=` has no method `{method}`; it has {', '.join(METHODS)}. Build others "
                "from these, or from `pt.random` with `rng` as the key."
            )
        return lambda *arguments, **named: made_with(self.next_key(), METHODS[method], arguments, named)

    def next_key(self) -> Node:
        """A key that no other call gets."""
        self._calls += 1
        return fold_in(self.key, self._calls)
