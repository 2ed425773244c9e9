"""Arguments for the methods of NumPy's generator."""

from __future__ import annotations

from typing import Any

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "bernoulli": (0.3,), "beta": (2.0, 3.0), "betabinom": (10, 2.0, 3.0), "binomial": (10, 0.3),
    "categorical": ([0.2, 0.3, 0.5],), "chisquare": (5.0,), "choice": ([1.0, 4.0, 9.0],),
    "dirichlet": ([1.0, 2.0, 3.0],), "exponential": (2.0,), "gamma": (3.0, 0.5), "geometric": (0.3,),
    "hypergeometric": (7, 5, 6), "integers": (2, 9), "invgamma": (5.0,), "laplace": (1.0, 2.0), "lognormal": (0.1, 0.4),
    "multinomial": (10, [0.2, 0.3, 0.5]), "multivariate_hypergeometric": ([5, 3, 4], 6),
    "multivariate_normal": ([1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]]), "negative_binomial": (5, 0.4), "normal": (1.0, 2.0),
    "pareto": (6.0,), "permutation": (4,), "poisson": (3.0,), "power": (2.0,), "shuffle": ([1.0, 2.0, 3.0],),
    "standard_gamma": (2.0,), "standard_t": (9.0,), "t": (9.0,), "triangular": (0.0, 1.0, 3.0), "uniform": (1.0, 3.0),
    "vonmises": (0.5, 2.0), "wald": (1.0, 2.0), "weibull": (2.0,),
}  # fmt: skip
