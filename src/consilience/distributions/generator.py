"""NumPy's generator of random numbers for functions that build graphs: its methods in, random variables out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from consilience import distributions as pd
from consilience.distributions.random_variable import with_key
from consilience.errors import MissingRuleError
from consilience.ir import Node
from consilience.ops.random import fold_in

# A method of NumPy's generator as a variable of ours; parameters in NumPy's order and with its defaults.
METHODS: Final[dict[str, Callable[..., Node]]] = {
    "beta": lambda a, b, size=None: pd.Beta.dist(a, b, size=size),
    "binomial": lambda n, p, size=None: pd.Binomial.dist(n, p, size=size),
    "dirichlet": lambda alpha, size=None: pd.Dirichlet.dist(alpha, size=size),
    "exponential": lambda scale=1.0, size=None: pd.Exponential.dist(scale=scale, size=size),
    "gamma": lambda shape, scale=1.0, size=None: pd.Gamma.dist(shape, 1.0 / scale, size=size),
    "laplace": lambda loc=0.0, scale=1.0, size=None: pd.Laplace.dist(loc, scale, size=size),
    "lognormal": lambda mean=0.0, sigma=1.0, size=None: pd.LogNormal.dist(mean, sigma, size=size),
    "multivariate_normal": lambda mean, cov, size=None: pd.MvNormal.dist(mean, cov, size=size),
    "negative_binomial": lambda n, p, size=None: pd.NegativeBinomial.dist(n=n, p=p, size=size),
    "normal": lambda loc=0.0, scale=1.0, size=None: pd.Normal.dist(loc, scale, size=size),
    "poisson": lambda lam=1.0, size=None: pd.Poisson.dist(lam, size=size),
    "random": lambda size=None: pd.Uniform.dist(0.0, 1.0, size=size),
    "standard_cauchy": lambda size=None: pd.Cauchy.dist(0.0, 1.0, size=size),
    "standard_exponential": lambda size=None: pd.Exponential.dist(1.0, size=size),
    "standard_gamma": lambda shape, size=None: pd.Gamma.dist(shape, 1.0, size=size),
    "standard_normal": lambda size=None: pd.Normal.dist(0.0, 1.0, size=size),
    "standard_t": lambda df, size=None: pd.StudentT.dist(df, 0.0, 1.0, size=size),
    "uniform": lambda low=0.0, high=1.0, size=None: pd.Uniform.dist(low, high, size=size),
}


class GraphGenerator:
    """A random key with the methods of `numpy.random.Generator`; each call is independent of the others.

    key   the key, for the functions of `pt.random`, which take the generator as well
    """

    def __init__(self, key: Node) -> None:
        self.key = key
        self._calls = 0

    def __getattr__(self, method: str) -> Callable[..., Node]:
        if method.startswith("__"):
            raise AttributeError(method)
        make = METHODS.get(method)
        if make is None:
            raise MissingRuleError(
                f"the generator given to `random=` has no method `{method}`; it has {', '.join(METHODS)}. Build others "
                "from these, or from `pt.random` with `rng` as the key."
            )

        def call(*arguments: Any, **named: Any) -> Node:
            return with_key(make(*arguments, **named), self.next_key())

        return call

    def next_key(self) -> Node:
        """A key that no other call gets."""
        self._calls += 1
        return fold_in(self.key, self._calls)
