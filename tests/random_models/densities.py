"""Log densities in plain NumPy that also take complex numbers, and SciPy's for the same distributions.

Every value of a model is computed by both; gradients are imaginary parts of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from tests.random_models.dialect import cholesky, gammaln, log_softmax, normal_logp, poisson_logp, softplus

Array = npt.NDArray[Any]
LOG_PI = np.log(np.pi)


@dataclass(frozen=True)
class Family:
    """A distribution.

    support     real, positive, unit, interval, simplex or discrete
    formula     (value, *parameters in order) -> log density of each event; takes complex numbers
    scipy       the same by SciPy
    other       parameters by other names -> those of the formula
    event       rank of one event
    shape       (*parameters) -> shape of a variable that they alone give; their common shape if not given
    """

    support: str
    parameters: tuple[str, ...]
    formula: Callable[..., Any]
    scipy: Callable[..., Any]
    other: Mapping[frozenset[str], Callable[..., dict[str, Any]]]
    event: int = 0
    defaults: tuple[tuple[str, float], ...] = ()
    shape: Callable[..., tuple[int, ...]] | None = None

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        """Parameters in the formula's order, from whatever names the user gave."""
        own = {**dict(self.defaults), **given}
        for names, change in self.other.items():
            if names <= given.keys():
                new = change(**{n: given[n] for n in names})
                own = {**{n: v for n, v in own.items() if n not in names}, **new}
        return [own[name] for name in self.parameters]


FAMILIES: dict[str, Family] = {}


def _family(
    name: str, support: str, parameters: str, formula: Callable[..., Any], scipy: Callable[..., Any], **options: Any
) -> None:
    other = {frozenset(names.split()): change for names, change in options.pop("other", {}).items()}
    FAMILIES[name] = Family(support, tuple(parameters.split()), formula, scipy, other, **options)


_family(
    "Normal", "real", "mu sigma", normal_logp, lambda v, m, s: stats.norm(m, s).logpdf(v),
    other={"tau": lambda tau: {"sigma": 1 / np.sqrt(tau)}}, defaults=(("mu", 0.0), ("sigma", 1.0)),
)  # fmt: skip
_family(
    "StudentT", "real", "nu mu sigma",
    lambda v, nu, m, s: gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * (np.log(nu) + LOG_PI) - np.log(s)
    - (nu + 1) / 2 * np.log1p(((v - m) / s) ** 2 / nu),
    lambda v, nu, m, s: stats.t(nu, m, s).logpdf(v), defaults=(("mu", 0.0), ("sigma", 1.0)),
)  # fmt: skip
_family(
    "Cauchy", "real", "alpha beta",
    lambda v, a, b: -LOG_PI - np.log(b) - np.log1p(((v - a) / b) ** 2),
    lambda v, a, b: stats.cauchy(a, b).logpdf(v),
)  # fmt: skip
_family(
    "Laplace", "real", "mu b",
    lambda v, m, b: -np.where(np.real(v - m) < 0, m - v, v - m) / b - np.log(2 * b),
    lambda v, m, b: stats.laplace(m, b).logpdf(v),
)  # fmt: skip
_family(
    "Uniform", "interval", "lower upper",
    lambda v, a, b: -np.log(b - a) + 0 * v, lambda v, a, b: stats.uniform(a, b - a).logpdf(v),
)  # fmt: skip
_family(
    "HalfNormal", "positive", "sigma",
    lambda v, s: np.log(2) + normal_logp(v, 0, s), lambda v, s: stats.halfnorm(0, s).logpdf(v),
    other={"tau": lambda tau: {"sigma": 1 / np.sqrt(tau)}}, defaults=(("sigma", 1.0),),
)  # fmt: skip
_family(
    "HalfCauchy", "positive", "beta",
    lambda v, b: np.log(2) - LOG_PI - np.log(b) - np.log1p((v / b) ** 2), lambda v, b: stats.halfcauchy(0, b).logpdf(v),
)  # fmt: skip
_family(
    "LogNormal", "positive", "mu sigma",
    lambda v, m, s: normal_logp(np.log(v), m, s) - np.log(v),
    lambda v, m, s: stats.lognorm(s, scale=np.exp(m)).logpdf(v),
)  # fmt: skip
_family(
    "Exponential", "positive", "lam",
    lambda v, r: np.log(r) - r * v, lambda v, r: stats.expon(0, 1 / np.asarray(r)).logpdf(v),
    other={"scale": lambda scale: {"lam": 1 / scale}},
)  # fmt: skip
_family(
    "Gamma", "positive", "alpha beta",
    lambda v, a, b: a * np.log(b) + (a - 1) * np.log(v) - b * v - gammaln(a),
    lambda v, a, b: stats.gamma(a, scale=1 / np.asarray(b)).logpdf(v),
    other={"mu sigma": lambda mu, sigma: {"alpha": (mu / sigma) ** 2, "beta": mu / sigma**2}},
)  # fmt: skip
_family(
    "InverseGamma", "positive", "alpha beta",
    lambda v, a, b: a * np.log(b) - (a + 1) * np.log(v) - b / v - gammaln(a),
    lambda v, a, b: stats.invgamma(a, scale=b).logpdf(v),
    other={
        "mu sigma": lambda mu, sigma: {"alpha": (mu / sigma) ** 2 + 2, "beta": mu * ((mu / sigma) ** 2 + 1)},
    },
)  # fmt: skip
_family(
    "Beta", "unit", "alpha beta",
    lambda v, a, b: (a - 1) * np.log(v) + (b - 1) * np.log1p(-v) + gammaln(a + b) - gammaln(a) - gammaln(b),
    lambda v, a, b: stats.beta(a, b).logpdf(v),
    other={
        "mu nu": lambda mu, nu: {"alpha": mu * nu, "beta": (1 - mu) * nu},
        "mu sigma": lambda mu, sigma: {
            "alpha": mu * (mu * (1 - mu) / sigma**2 - 1), "beta": (1 - mu) * (mu * (1 - mu) / sigma**2 - 1),
        },
    },
)  # fmt: skip
_family(
    "Poisson", "discrete", "mu", poisson_logp, lambda v, m: stats.poisson(m).logpmf(v),
)  # fmt: skip
_family(
    "Bernoulli", "discrete", "logit_p",
    lambda v, z: v * z - softplus(z), lambda v, z: v * special.log_expit(z) + (1 - v) * special.log_expit(-z),
    other={"p": lambda p: {"logit_p": np.log(p) - np.log1p(-p)}},
)  # fmt: skip
_family(
    "Binomial", "discrete", "n logit_p",
    lambda v, n, z: special.gammaln(n + 1.0) - special.gammaln(v + 1.0) - special.gammaln(n - v + 1.0)
    + v * z - n * softplus(z),
    lambda v, n, z: stats.binom(n, 0.5).logpmf(v) + n * np.log(2)
    + v * special.log_expit(z) + (n - v) * special.log_expit(-z),
    other={"p": lambda p: {"logit_p": np.log(p) - np.log1p(-p)}},
)  # fmt: skip
_family(
    "NegativeBinomial", "discrete", "mu alpha",
    lambda v, m, a: gammaln(v + a) - gammaln(a) - special.gammaln(v + 1.0) + a * np.log(a / (m + a))
    + v * np.log(m / (m + a)),
    lambda v, m, a: stats.nbinom(a, a / (m + a)).logpmf(v),
    other={"p n": lambda p, n: {"mu": n * (1 - p) / p, "alpha": n}},
)  # fmt: skip


def _categorical(v: Any, log_p: Any) -> Any:
    log_p = np.asarray(log_p)
    shape = np.broadcast_shapes(np.shape(v), log_p.shape[:-1])
    table = np.broadcast_to(log_p, (*shape, log_p.shape[-1]))
    return np.take_along_axis(table, np.broadcast_to(v, shape)[..., None].astype(int), -1)[..., 0]


_family(
    "Categorical", "discrete", "logit_p", lambda v, z: _categorical(v, log_softmax(z, -1)),
    lambda v, z: _categorical(v, np.log(special.softmax(z, axis=-1))), other={"p": lambda p: {"logit_p": np.log(p)}},
)  # fmt: skip


def _rows(function: Callable[..., Any], value: Any, *parameters: Any) -> Any:
    """A density of vectors for each row."""
    value = np.asarray(value)
    flat = [np.broadcast_to(p, value.shape).reshape(-1, value.shape[-1]) for p in parameters]
    rows = value.reshape(-1, value.shape[-1])
    return np.array([function(row, *p) for row, *p in zip(rows, *flat, strict=True)]).reshape(value.shape[:-1])


def _multivariate_normal(v: Any, mu: Any, cov: Any) -> Any:
    factor = cholesky(cov)
    z = np.linalg.solve(factor, np.atleast_2d(v - mu).T).T
    result = -0.5 * np.sum(z**2, -1) - np.sum(np.log(np.diag(factor))) - 0.5 * len(factor) * np.log(2 * np.pi)
    return result.reshape(np.shape(v - mu)[:-1])


_family(
    "MvNormal", "real", "mu cov", _multivariate_normal,
    lambda v, mu, cov: _rows(lambda r, m: stats.multivariate_normal(m, cov).logpdf(r), v, mu), event=1,
    other={"chol": lambda chol: {"cov": chol @ np.asarray(chol).T}, "tau": lambda tau: {"cov": np.linalg.inv(tau)}},
)  # fmt: skip
_family(
    "Dirichlet", "simplex", "a",
    lambda v, a: np.sum((a - 1) * np.log(v), -1) - np.sum(gammaln(a), -1) + gammaln(np.sum(a, -1)),
    lambda v, a: _rows(lambda r, c: stats.dirichlet(c).logpdf(r / r.sum()), v, a), event=1,
)  # fmt: skip


# ---- from the real line


def constrained(support: str, u: Any, parameters: list[Any]) -> tuple[Any, Any, str]:
    """A value on its own scale, the log of the derivative's determinant, and the end of the name of `u`."""
    if support == "positive":
        return np.exp(u), u, "_log__"
    if support in ("unit", "interval"):
        low, high = (0.0, 1.0) if support == "unit" else parameters
        share = 1 / (1 + np.exp(-u))
        jacobian = np.log(high - low) - softplus(u) - softplus(-u)
        return low + (high - low) * share, jacobian, "_logodds__" if support == "unit" else "_interval__"
    if support == "simplex":
        z = np.concatenate([u, -np.sum(u, -1, keepdims=True)], -1)
        log_value = log_softmax(z, -1)
        # d x_i / d u_j = x_i (δ_ij - δ_in - x_j + x_n); its determinant is n times the product of all x.
        return np.exp(log_value), np.log(z.shape[-1]) + np.sum(log_value, -1), "_simplex__"
    return u, 0.0, ""
