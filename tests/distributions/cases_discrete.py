"""Distributions of counts with random parameters, and the same in SciPy's words or by their masses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special
import scipy.stats

import consilience.distributions as pd
from tests.distributions.cases import COUNTS, Case, named, scale, trials, unit

Array = npt.NDArray[Any]
Generator = np.random.Generator


class Masses:
    """A distribution of whole numbers by its masses from `start` on, with the methods of a frozen one of SciPy's.

    log_masses      shape (numbers, *parameters); what is beyond is negligible
    """

    def __init__(self, log_masses: Array, start: int = 0) -> None:
        self._log_p = np.asarray(log_masses, float)
        self._p = np.exp(self._log_p)
        self._start = start
        self._x = (start + np.arange(len(self._p))).reshape(-1, *(1,) * (self._p.ndim - 1))
        self._below = np.cumsum(self._p, 0)
        self._beyond = np.cumsum(self._p[::-1], 0)[::-1] - self._p

    def _at(self, table: Array, x: Array, before: float, after: float) -> Array:
        k = np.asarray(np.floor(x), int) - self._start
        parameters = self._p.shape[1:]
        k = np.broadcast_to(k, np.broadcast_shapes(k.shape, parameters))
        inside = np.take_along_axis(
            np.broadcast_to(table[(slice(None), *(None,) * (k.ndim - len(parameters)))], (len(table), *k.shape)),
            np.clip(k, 0, len(table) - 1)[None],
            0,
        )[0]
        return np.where(k < 0, before, np.where(k >= len(table), after, inside))

    def pmf(self, x: Array) -> Array:
        return self._at(self._p, x, 0.0, 0.0)

    def logpmf(self, x: Array) -> Array:
        return self._at(self._log_p, x, -np.inf, -np.inf)

    def cdf(self, x: Array) -> Array:
        return self._at(self._below, x, 0.0, 1.0)

    def logcdf(self, x: Array) -> Array:
        return np.log(self.cdf(x))

    def sf(self, x: Array) -> Array:
        return self._at(self._beyond, x, 1.0, 0.0)

    def ppf(self, q: Array) -> Array:
        q = np.asarray(q, float)[..., None] if self._p.ndim == 1 else np.asarray(q, float)
        q = q[(None, *(slice(None),) * q.ndim)]
        parts = self._p.shape[1:] or (1,)
        shape = (len(self._p), *(1,) * (q.ndim - 1 - len(parts)), *parts)
        below, beyond = self._below.reshape(shape), self._beyond.reshape(shape)
        short = np.where(q <= 0.5, below < q * (1 - 2.0**-42), beyond > (1 - q) * (1 + 2.0**-42) + 2.0**-54)
        result = self._start + short.sum(0).astype(float)
        return result[..., 0] if self._p.ndim == 1 else result

    def rvs(self, size: tuple[int, ...], random_state: Generator) -> Array:
        return self.ppf(random_state.uniform(size=size)).astype(int)

    def mean(self) -> Array:
        return (self._x * self._p).sum(0)

    def var(self) -> Array:
        return ((self._x - self.mean()) ** 2 * self._p).sum(0)

    def stats(self, moments: str) -> Array:
        assert moments == "k"
        return ((self._x - self.mean()) ** 4 * self._p).sum(0) / self.var() ** 2 - 3.0


FAR = np.arange(1200)


def _numbers(like: Array) -> Array:
    return FAR.reshape(-1, *(1,) * np.ndim(like))


def _inflated(psi: Array, log_masses: Array) -> Masses:
    zeros = np.where(_numbers(psi) == 0, np.log1p(-psi), -np.inf)
    return Masses(np.logaddexp(zeros, np.log(psi) + log_masses))


def _beyond_hurdle(psi: Array, log_masses: Array) -> Masses:
    positive = np.log(psi) + log_masses - np.log(np.exp(log_masses[1:]).sum(0))
    return Masses(np.where(_numbers(psi) == 0, np.log1p(-psi), positive))


def _nbinom(mu: Array, alpha: Array) -> Any:
    return scipy.stats.nbinom(alpha, alpha / (mu + alpha))


def _weibull(q: Array, beta: Array) -> Masses:
    x = _numbers(q).astype(float)
    return Masses(x**beta * np.log(q) + np.log(-np.expm1(((x + 1) ** beta - x**beta) * np.log(q))))


def _bounds(rng: Generator, shape: tuple[int, ...]) -> dict[str, Array]:
    lower = rng.integers(-5, 5, shape).astype(float)
    return {"lower": lower, "upper": lower + rng.integers(2, 9, shape)}


def _urn(rng: Generator, shape: tuple[int, ...]) -> dict[str, Array]:
    whole = rng.integers(10, 60, shape)
    return {"N": whole, "k": np.asarray(whole * rng.uniform(0.2, 0.9, shape)).astype(int), "n": whole // 3}


PSI = {"psi": (-0.1, 1.1, np.nan)}
PSI_MU = PSI | {"mu": (-1.0, np.nan, np.inf)}


def sizeable(rng: Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.9, 2.0, shape)


def power_of_poisson(log_rate: Array, nu: Array) -> Masses:
    """Masses exp(log_rate)^k / (k!)^nu up to their sum, of which those of 1200 numbers are all that matter."""
    k = _numbers(nu)
    terms = k * log_rate - nu * scipy.special.gammaln(k + 1.0)
    return Masses(terms - scipy.special.logsumexp(terms, axis=0))


CASES_DISCRETE = [
    Case(
        pd.ConwayMaxwellPoisson,
        named(lam=scale, nu=scale),
        lambda lam, nu: power_of_poisson(np.log(lam), nu),
        COUNTS,
    ),
    Case(
        pd.ConwayMaxwellPoisson,
        named(mu=scale, nu=scale),
        lambda mu, nu: power_of_poisson(nu * np.log(mu), nu),
        COUNTS,
    ),
    Case(pd.Geometric, named(p=unit), scipy.stats.geom, COUNTS, {"p": (0.0, -0.1, 1.1, np.nan)}),
    Case(pd.DiscreteWeibull, named(q=unit, beta=sizeable), _weibull, (-1, 0, 1, 2), {"q": (0.0, 1.0, -0.5, np.nan)}),
    Case(
        pd.DiscreteUniform,
        _bounds,
        lambda lower, upper: scipy.stats.randint(lower, upper + 1),
        (-20, 20),
        {"lower": (0.5, np.nan), "upper": (0.5, -50.0, np.nan)},
    ),
    Case(
        pd.BetaBinomial,
        named(alpha=scale, beta=scale, n=trials),
        lambda alpha, beta, n: scipy.stats.betabinom(n, alpha, beta),
        COUNTS,
    ),
    Case(
        pd.HyperGeometric,
        _urn,
        lambda N, k, n: scipy.stats.hypergeom(N, k, n),
        COUNTS,
        {"N": (-1, -7), "k": (-1, 1000), "n": (-1, 1000)},
    ),
    Case(
        pd.ZeroInflatedPoisson,
        named(psi=unit, mu=scale),
        lambda psi, mu: _inflated(psi, scipy.stats.poisson(mu).logpmf(_numbers(mu))),
        COUNTS,
        PSI_MU,
    ),
    Case(
        pd.ZeroInflatedBinomial,
        named(psi=unit, n=trials, p=unit),
        lambda psi, n, p: _inflated(psi, scipy.stats.binom(n, p).logpmf(_numbers(psi))),
        COUNTS,
        PSI,
    ),
    Case(
        pd.ZeroInflatedNegativeBinomial,
        named(psi=unit, mu=scale, alpha=scale),
        lambda psi, mu, alpha: _inflated(psi, _nbinom(mu, alpha).logpmf(_numbers(mu))),
        COUNTS,
        PSI_MU,
    ),
    Case(
        pd.HurdlePoisson,
        named(psi=unit, mu=scale),
        lambda psi, mu: _beyond_hurdle(psi, scipy.stats.poisson(mu).logpmf(_numbers(mu))),
        COUNTS,
        PSI_MU,
    ),
    Case(
        pd.HurdleNegativeBinomial,
        named(psi=unit, mu=scale, alpha=scale),
        lambda psi, mu, alpha: _beyond_hurdle(psi, _nbinom(mu, alpha).logpmf(_numbers(mu))),
        COUNTS,
        PSI_MU,
    ),
]
