"""Distributions whose parameters are of simple kinds: formulas that take complex numbers, and SciPy's where there are.

A row makes the distribution known to the generator as a prior, as a likelihood, or both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from tests.random_models.densities import FAMILIES, LOG_PI, Family
from tests.random_models.dialect import gammaln, normal_logp, softplus


@dataclass(frozen=True)
class Kinds:
    """How the generator writes a distribution.

    parameters  kind of each: real, positive, unit, or above1, above2, share (of mass, with a literal)
    data        kind of its data: real, positive, unit, count, bit
    prior       whether it may stand as a prior
    """

    parameters: dict[str, str]
    data: str
    prior: bool


KINDS: dict[str, Kinds] = {}
LOG_2PI = np.log(2 * np.pi)


def _row(
    name: str, support: str, parameters: str, data: str, formula: Callable[..., Any],
    scipy: Callable[..., Any] | None = None, prior: bool = True,
) -> None:  # fmt: skip
    kinds = dict(item.split(":") for item in parameters.split())
    FAMILIES[name] = Family(support, tuple(kinds), formula, formula if scipy is None else scipy, {})
    KINDS[name] = Kinds(kinds, data, prior and support != "discrete")


def _absolute(x: Any) -> Any:
    return np.where(np.real(x) < 0, -x, x)


def _log_ndtr(x: Any) -> Any:
    return special.log_ndtr(np.asarray(x))


def _normal_mass(low: Any, high: Any) -> Any:
    """Probability of a standard normal variable between two numbers, from the smaller tail."""
    low, high = np.asarray(low), np.asarray(high)
    right = np.real(low) + np.real(high) > 0
    return np.where(right, special.ndtr(-low) - special.ndtr(-high), special.ndtr(high) - special.ndtr(low))


def _log_bessel(x: Any) -> Any:
    """log I_0(x); SciPy's own continuation to complex numbers loses the small imaginary part of large x."""
    real = np.real(x)
    value = np.log(special.i0e(real)) + np.abs(real)
    return value + 1j * np.imag(x) * special.i1e(real) / special.i0e(real) if np.iscomplexobj(x) else value


def _betaln(a: Any, b: Any) -> Any:
    return gammaln(a) + gammaln(b) - gammaln(a + b)


# ---- on the real line

_row(
    "Logistic", "real", "mu:real s:positive", "real",
    lambda v, m, s: -(v - m) / s - np.log(s) - 2 * softplus(-(v - m) / s),
    lambda v, m, s: stats.logistic(m, s).logpdf(v),
)  # fmt: skip
_row(
    "Gumbel", "real", "mu:real beta:positive", "real",
    lambda v, m, b: -(v - m) / b - np.exp(-(v - m) / b) - np.log(b), lambda v, m, b: stats.gumbel_r(m, b).logpdf(v),
)  # fmt: skip
_row(
    "Moyal", "real", "mu:real sigma:positive", "real",
    lambda v, m, s: -0.5 * ((v - m) / s + np.exp(-(v - m) / s)) - np.log(s) - 0.5 * LOG_2PI,
    lambda v, m, s: stats.moyal(m, s).logpdf(v),
)  # fmt: skip
_row(
    "SkewNormal", "real", "mu:real sigma:positive alpha:real", "real",
    lambda v, m, s, a: np.log(2) + normal_logp(v, m, s) + _log_ndtr(a * (v - m) / s),
)  # fmt: skip
_row(
    "AsymmetricLaplace", "real", "kappa:positive mu:real b:positive", "real",
    lambda v, k, m, b: np.log(b / (k + 1 / k)) + np.where(np.real(v - m) >= 0, -(v - m) * b * k, (v - m) * b / k),
    lambda v, k, m, b: stats.laplace_asymmetric(k, m, 1 / np.asarray(b)).logpdf(v),
)  # fmt: skip
_row(
    "ExGaussian", "real", "mu:real sigma:positive nu:positive", "real",
    lambda v, m, s, n: -np.log(n) + (m - v) / n + 0.5 * (s / n) ** 2 + _log_ndtr((v - m) / s - s / n),
)  # fmt: skip
# ---- positive
_row(
    "ChiSquared", "positive", "nu:above2", "positive",
    lambda v, n: (n / 2 - 1) * np.log(v) - v / 2 - n / 2 * np.log(2) - gammaln(n / 2),
    lambda v, n: stats.chi2(n).logpdf(v),
)  # fmt: skip
_row(
    "HalfStudentT", "positive", "nu:above1 sigma:positive", "positive",
    lambda v, n, s: np.log(2) + gammaln((n + 1) / 2) - gammaln(n / 2) - 0.5 * (np.log(n) + LOG_PI) - np.log(s)
    - (n + 1) / 2 * np.log1p((v / s) ** 2 / n),
    lambda v, n, s: np.log(2) + stats.t(n, 0, s).logpdf(v),
)  # fmt: skip
_row(
    "Weibull", "positive", "alpha:positive beta:positive", "positive",
    lambda v, a, b: np.log(a / b) + (a - 1) * np.log(v / b) - (v / b) ** a,
    lambda v, a, b: stats.weibull_min(a, 0, b).logpdf(v),
)  # fmt: skip
_row(
    "Wald", "positive", "mu:positive lam:positive", "positive",
    lambda v, m, r: 0.5 * (np.log(r) - LOG_2PI - 3 * np.log(v)) - r * (v - m) ** 2 / (2 * m**2 * v),
    lambda v, m, r: stats.invgauss(m / r, 0, r).logpdf(v),
)  # fmt: skip
_row(
    "Rice", "positive", "nu:positive sigma:positive", "positive",
    lambda v, n, s: np.log(v) - 2 * np.log(s) - (v**2 + n**2) / (2 * s**2) + _log_bessel(v * n / s**2),
    lambda v, n, s: stats.rice(n / s, 0, s).logpdf(v),
)  # fmt: skip
# ---- between bounds
_row(
    "Kumaraswamy", "unit", "a:positive b:positive", "unit",
    lambda v, a, b: np.log(a * b) + (a - 1) * np.log(v) + (b - 1) * np.log1p(-(v**a)),
)  # fmt: skip
_row(
    "LogitNormal", "unit", "mu:real sigma:positive", "unit",
    lambda v, m, s: normal_logp(np.log(v) - np.log1p(-v), m, s) - np.log(v) - np.log1p(-v),
)  # fmt: skip
_row(
    "VonMises", "real", "mu:unit kappa:positive", "real",
    lambda v, m, k: np.where(np.abs(v) <= np.pi, k * np.cos(m - v) - LOG_2PI - _log_bessel(k), 0.0), prior=False,
)  # fmt: skip
_row(
    "TruncatedNormal", "real", "mu:real sigma:positive lower:low upper:high", "real",
    lambda v, m, s, a, b: normal_logp(v, m, s) - np.log(_normal_mass((a - m) / s, (b - m) / s)), prior=False,
)  # fmt: skip
_row(
    "Triangular", "real", "lower:low c:unit upper:high", "real",
    lambda v, a, c, b: np.log(2 / (b - a)) + np.where(
        np.real(v) < np.real(c), np.log((v - a) / (c - a)), np.log((b - v) / (b - c))
    ), prior=False,
)  # fmt: skip

# ---- counts
_row(
    "Geometric", "discrete", "p:unit", "count1", lambda v, p: np.log(p) + (v - 1) * np.log1p(-p),
    lambda v, p: stats.geom(p).logpmf(v),
)  # fmt: skip
_row(
    "BetaBinomial", "discrete", "n:trials alpha:positive beta:positive", "bit",
    lambda v, n, a, b: special.gammaln(n + 1.0) - special.gammaln(v + 1.0) - special.gammaln(n - v + 1.0)
    + _betaln(v + a, n - v + b) - _betaln(a, b),
    lambda v, n, a, b: stats.betabinom(n, a, b).logpmf(v),
)  # fmt: skip
_row(
    "DiscreteUniform", "discrete", "lower:zero upper:trials", "bit",
    lambda v, a, b: -np.log(b - a + 1.0) + 0.0 * v,
    lambda v, a, b: stats.randint(a, b + 1).logpmf(v),
)  # fmt: skip
_row(
    "DiscreteWeibull", "discrete", "q:unit beta:positive", "count",
    lambda v, q, b: np.log(np.exp((v + 0.0) ** b * np.log(q)) - np.exp((v + 1.0) ** b * np.log(q))),
)  # fmt: skip


def _poisson(v: Any, m: Any) -> Any:
    return v * np.log(m) - m - special.gammaln(v + 1.0)


def _binomial(v: Any, n: Any, p: Any) -> Any:
    ways = special.gammaln(n + 1.0) - special.gammaln(v + 1.0) - special.gammaln(n - v + 1.0)
    return ways + v * np.log(p) + (n - v) * np.log1p(-p)


def _negative_binomial(v: Any, m: Any, a: Any) -> Any:
    ways = gammaln(v + a) - gammaln(a) - special.gammaln(v + 1.0)
    return ways + a * np.log(a / (m + a)) + v * np.log(m / (m + a))


def _zero_inflated(base: Callable[..., Any]) -> Callable[..., Any]:
    def formula(v: Any, psi: Any, *parameters: Any) -> Any:
        zero = np.log(1 - psi + psi * np.exp(base(0.0 * v, *parameters)))
        return np.where(np.asarray(v) == 0, zero, np.log(psi) + base(v, *parameters))

    return formula


def _hurdle(base: Callable[..., Any]) -> Callable[..., Any]:
    def formula(v: Any, psi: Any, *parameters: Any) -> Any:
        above = np.log(psi) + base(v, *parameters) - np.log1p(-np.exp(base(0.0 * v, *parameters)))
        return np.where(np.asarray(v) == 0, np.log1p(-psi), above)

    return formula


_row("ZeroInflatedPoisson", "discrete", "psi:unit mu:positive", "count", _zero_inflated(_poisson))
_row("ZeroInflatedBinomial", "discrete", "psi:unit n:trials p:unit", "bit", _zero_inflated(_binomial))
_row(
    "ZeroInflatedNegativeBinomial", "discrete", "psi:unit mu:positive alpha:positive", "count",
    _zero_inflated(_negative_binomial),
)  # fmt: skip
_row("HurdlePoisson", "discrete", "psi:unit mu:positive", "count", _hurdle(_poisson))
_row("HurdleNegativeBinomial", "discrete", "psi:unit mu:positive alpha:positive", "count", _hurdle(_negative_binomial))
