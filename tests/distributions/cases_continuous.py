"""The continuous distributions beyond the common ones, each with the same distribution in other words.

SciPy's where it has it, else a second formula in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.integrate
import scipy.special
import scipy.stats

import consilience.distributions as pd
from tests.distributions.cases import FAR, POSITIVE, Case, named, real, scale

Array = npt.NDArray[Any]


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that divides by zero and overflows without a warning: at the ends of a support it may."""

    def call(*arguments: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments, **named)

    return call


class Formulas:
    """A distribution by its density, tails and quantile; SciPy's names of a frozen distribution."""

    def __init__(
        self,
        logpdf: Callable[[Array], Array],
        cdf: Callable[[Array], Array],
        sf: Callable[[Array], Array],
        ppf: Callable[[Array], Array],
        moments: tuple[Array, Array],
        kurtosis: float | Array = 0.0,
    ) -> None:
        self.logpdf, self.cdf, self.sf, self.ppf = map(quietly, (logpdf, cdf, sf, ppf))
        self._moments, self._kurtosis = moments, kurtosis

    def pdf(self, x: Array) -> Array:
        return np.exp(self.logpdf(x))

    def logcdf(self, x: Array) -> Array:
        return quietly(np.log)(self.cdf(x))

    def logsf(self, x: Array) -> Array:
        return quietly(np.log)(self.sf(x))

    def mean(self) -> Array:
        return np.asarray(self._moments[0])

    def var(self) -> Array:
        return np.asarray(self._moments[1])

    def stats(self, moments: str) -> Array:
        return self._kurtosis + np.zeros_like(self.mean())

    def rvs(self, size: tuple[int, ...], random_state: np.random.Generator) -> Array:
        return self.ppf(random_state.uniform(size=size))


def in_order(distribution: Any) -> Callable[..., Any]:
    """A SciPy distribution whose parameters have another name and the same order."""
    return lambda **parameters: distribution(*parameters.values())


class Exact:
    """A SciPy distribution, some of whose methods are replaced because SciPy's lose digits or the far tails."""

    def __init__(self, frozen: Any, **methods: Callable[..., Array]) -> None:
        self._frozen, self._methods = frozen, methods

    def __getattr__(self, name: str) -> Any:
        return quietly(self._methods.get(name) or getattr(self._frozen, name))


def within(low: float, high: float, inside: Callable[[Array], Array], below: float, above: float) -> Any:
    """A formula between the ends of a support, constants outside."""

    def call(x: Array) -> Array:
        x = np.asarray(x, float)
        with np.errstate(all="ignore"):
            return np.where(x < low, below, np.where(x > high, above, inside(np.clip(x, low, high))))

    return call


def _half_student(nu: Array, sigma: Array) -> Formulas:
    t = scipy.stats.t(nu, 0.0, sigma)
    with np.errstate(all="ignore"):
        ratio = np.exp(scipy.special.gammaln((nu + 1) / 2) - scipy.special.gammaln(nu / 2))
        mean = np.where(nu > 1.0, 2.0 * sigma * np.sqrt(nu / np.pi) * ratio / (nu - 1.0), np.inf)
        variance = np.where(nu > 2.0, sigma**2 * nu / (nu - 2.0) - mean**2, np.inf)
    middle = lambda x: scipy.special.betainc(0.5, 0.5 * nu, (x / sigma) ** 2 / (nu + (x / sigma) ** 2))  # noqa: E731
    return Formulas(
        within(0.0, np.inf, lambda x: np.log(2.0) + t.logpdf(x), -np.inf, -np.inf),
        within(0.0, np.inf, lambda x: np.where(x < 1e100, middle(np.minimum(x, 1e100)), 1.0), 0.0, 1.0),
        within(0.0, np.inf, lambda x: 2.0 * t.sf(x), 1.0, 0.0),
        lambda q: sigma * np.sqrt(nu / (1.0 / scipy.special.betaincinv(0.5, nu / 2, q) - 1.0)),
        (mean, variance),
        np.where(nu > 4.5, 20.0, np.inf),
    )


def _kumaraswamy(a: Array, b: Array) -> Formulas:
    moment = [b * scipy.special.beta(1.0 + k / a, b) for k in (1.0, 2.0)]
    return Formulas(
        within(
            0.0,
            1.0,
            lambda x: np.log(a * b) + scipy.special.xlogy(a - 1, x) + scipy.special.xlogy(b - 1, 1 - x**a),
            -np.inf,
            -np.inf,
        ),
        within(0.0, 1.0, lambda x: -np.expm1(b * np.log1p(-(x**a))), 0.0, 1.0),
        within(0.0, 1.0, lambda x: (1.0 - x**a) ** b, 1.0, 0.0),
        lambda q: (-np.expm1(np.log1p(-np.asarray(q)) / b)) ** (1.0 / a),
        (moment[0], moment[1] - moment[0] ** 2),
    )


def _logit_normal(mu: Array, sigma: Array) -> Formulas:
    normal = scipy.stats.norm(mu, sigma)
    slope = lambda x: np.log(x) + np.log1p(-x)  # noqa: E731
    z = np.linspace(-12.0, 12.0, 4001)
    weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    shares = scipy.special.expit(np.expand_dims(mu, -1) + np.expand_dims(sigma, -1) * z)
    mean = shares @ weights
    return Formulas(
        within(1e-300, 1 - 1e-16, lambda x: normal.logpdf(scipy.special.logit(x)) - slope(x), -np.inf, -np.inf),
        within(1e-300, 1 - 1e-16, lambda x: normal.cdf(scipy.special.logit(x)), 0.0, 1.0),
        within(1e-300, 1 - 1e-16, lambda x: normal.sf(scipy.special.logit(x)), 1.0, 0.0),
        lambda q: scipy.special.expit(normal.ppf(q)),
        (mean, (shares - np.expand_dims(mean, -1)) ** 2 @ weights),
    )


def _dagum(p: Array, a: Array, b: Array) -> Any:
    def upper(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where(x > 0.0, -np.expm1(-p * np.log1p((np.maximum(x, 1e-300) / b) ** -a)), 1.0)

    return Exact(scipy.stats.burr(a, p, 0, b), sf=upper, logsf=lambda x: np.log(upper(x)))


def _log_logistic(alpha: Array, beta: Array) -> Any:
    def log_odds(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where(x > 0.0, beta * np.log(np.maximum(x, 0.0) / alpha), -np.inf)

    return Exact(
        scipy.stats.fisk(beta, 0, alpha),
        sf=lambda x: scipy.special.expit(-log_odds(x)),
        ppf=lambda q: alpha * np.exp(scipy.special.logit(q) / beta),
    )


def _frechet(alpha: Array, sigma: Array) -> Any:
    with np.errstate(all="ignore"):
        first = np.where(alpha > 1.0, sigma * scipy.special.gamma(1.0 - 1.0 / alpha), np.inf)
        second = np.where(alpha > 2.0, sigma**2 * scipy.special.gamma(1.0 - 2.0 / alpha), np.inf)
        variance = np.where(alpha > 2.0, second - first**2, np.inf)
    frozen = scipy.stats.invweibull(alpha, 0, sigma)
    return Exact(
        frozen,
        mean=lambda: first,
        var=lambda: variance,
        stats=lambda moments: np.where(alpha > 4.5, frozen.stats(moments=moments), np.inf),
    )


def log_erfc(u: Array) -> Array:
    return np.where(u < 0.5, np.log1p(-scipy.special.erf(u)), np.log(2.0) + scipy.special.log_ndtr(-np.sqrt(2.0) * u))


def _moyal(mu: Array, sigma: Array) -> Any:
    z = lambda x: (x - mu) / sigma  # noqa: E731
    return Exact(
        scipy.stats.moyal(mu, sigma),
        logpdf=lambda x: -0.5 * (z(x) + np.exp(-z(x))) - np.log(sigma) - 0.5 * np.log(2.0 * np.pi),
        logcdf=lambda x: log_erfc(np.exp(-0.5 * z(x)) / np.sqrt(2.0)),
        logsf=lambda x: np.log(scipy.special.erf(np.exp(-0.5 * z(x)) / np.sqrt(2.0))),
    )


def _levy(mu: Array, c: Array) -> Any:
    def logpdf(x: Array) -> Array:
        with np.errstate(all="ignore"):
            t = x - mu
            return np.where(t > 0.0, 0.5 * np.log(c / (2.0 * np.pi)) - 0.5 * c / t - 1.5 * np.log(t), -np.inf)

    def logcdf(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where(x > mu, log_erfc(np.sqrt(0.5 * c / (x - mu))), -np.inf)

    return Exact(scipy.stats.levy(mu, c), logpdf=logpdf, logcdf=logcdf)


def _skew_student(a: Array, b: Array, mu: Array, sigma: Array) -> Any:
    def share(t: Array) -> Array:
        """(1 + t / r) / 2 where it is the smaller one of both shares, r = sqrt(a + b + t^2)."""
        r = np.sqrt(a + b + t * t)
        return np.where(t < 0.0, 0.5 * (a + b) / (r * (r - t)), 0.5 * (1.0 + t / r))

    return Exact(
        scipy.stats.jf_skew_t(a, b, mu, sigma),
        cdf=lambda x: scipy.special.betainc(a, b, share((x - mu) / sigma)),
        logcdf=lambda x: np.log(scipy.special.betainc(a, b, share((x - mu) / sigma))),
        sf=lambda x: scipy.special.betainc(b, a, share((mu - x) / sigma)),
        logsf=lambda x: np.log(scipy.special.betainc(b, a, share((mu - x) / sigma))),
    )


def by_quadrature(
    logpdf: Callable[..., Array], low: float, high: float, **parameters: Array
) -> dict[str, Callable[..., Array]]:
    """Both tails of a density on (low, high) by tanh-sinh quadrature of its logarithm."""

    def tail(from_x: bool) -> Callable[[Array], Array]:
        def integral(x: Array) -> Array:
            shape = np.broadcast_shapes(np.shape(x), *(np.shape(p) for p in parameters.values()))
            x = np.broadcast_to(np.asarray(x, float), shape)
            inside = (x > low) & (x < high)
            given = tuple(np.broadcast_to(p, shape)[inside] for p in parameters.values())
            found = np.where((x <= low) == from_x, 0.0, -np.inf)
            ends = (x[inside], high) if from_x else (low, x[inside])
            result = scipy.integrate.tanhsinh(logpdf, *ends, args=given, log=True, rtol=np.log(1e-13))
            found[inside] = np.real(result.integral)
            return found[()]

        return integral

    above, below = tail(True), tail(False)
    return {
        "logcdf": below,
        "logsf": above,
        "cdf": lambda x: np.exp(below(x)),
        "sf": lambda x: np.exp(above(x)),
    }


def _log_rice(x: Array, nu: Array, sigma: Array) -> Array:
    u = x * nu / sigma**2
    return np.log(x / sigma**2) - 0.5 * ((x - nu) / sigma) ** 2 + np.log(scipy.special.i0e(u))


def _log_skew_normal(x: Array, alpha: Array, mu: Array, sigma: Array) -> Array:
    z = (x - mu) / sigma
    return np.log(2.0 / sigma) + scipy.stats.norm.logpdf(z) + scipy.special.log_ndtr(alpha * z)


def _rice(nu: Array, sigma: Array) -> Any:
    return Exact(scipy.stats.rice(nu / sigma, 0, sigma), **by_quadrature(_log_rice, 0.0, np.inf, nu=nu, sigma=sigma))


def _skew_normal(alpha: Array, mu: Array, sigma: Array) -> Any:
    return Exact(
        scipy.stats.skewnorm(alpha, mu, sigma),
        logpdf=lambda x: _log_skew_normal(x, alpha, mu, sigma),
        **by_quadrature(_log_skew_normal, -np.inf, np.inf, alpha=alpha, mu=mu, sigma=sigma),
    )


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Shapes of both signs, also 0."""
    values = np.asarray(rng.uniform(-0.4, 0.4, shape))
    if values.size > 2:
        values.flat[:1] = 0.0
    return values


def _asymmetric(kappa: Array, mu: Array, b: Array) -> Any:
    def depth(x: Array) -> Array:
        return np.where(x < mu, (mu - x) * b / kappa, (x - mu) * b * kappa)

    below, above = -np.log1p(kappa**-2.0), -np.log1p(kappa**2.0)
    return Exact(
        scipy.stats.laplace_asymmetric(kappa, mu, 1.0 / b),
        logpdf=lambda x: np.log(b / (kappa + 1.0 / kappa)) - depth(x),
        logcdf=lambda x: np.where(x < mu, below - depth(x), np.log1p(-np.exp(above - depth(x)))),
        logsf=lambda x: np.where(x > mu, above - depth(x), np.log1p(-np.exp(below - depth(x)))),
    )


def _log_von_mises(x: Array, mu: Array, kappa: Array) -> Array:
    return kappa * np.cos(x - mu) - np.log(2.0 * np.pi * scipy.special.i0(kappa))


def _von_mises(mu: Array, kappa: Array) -> Any:
    """On the interval from -pi to pi, where SciPy's has the interval around mu."""
    tails = by_quadrature(_log_von_mises, -np.pi, np.pi, mu=mu, kappa=kappa)
    frozen = scipy.stats.vonmises(kappa, mu)
    grid = np.linspace(-np.pi, np.pi, 100_001)
    density = np.exp(_log_von_mises(np.expand_dims(grid, tuple(range(1, 1 + np.ndim(mu)))), mu, kappa))
    sums = scipy.integrate.cumulative_simpson(density, x=grid, axis=0, initial=0.0)
    sums /= sums[-1]

    def ppf(q: Array) -> Array:
        shape = np.broadcast_shapes(np.shape(q), np.shape(mu))
        each = np.broadcast_to(q, shape)
        found = [np.interp(each[..., i], sums[:, i], grid) for i in range(shape[-1])] if np.ndim(mu) else None
        return np.interp(q, sums, grid) if found is None else np.stack(found, -1)

    inside = within(-np.pi, np.pi, lambda x: _log_von_mises(x, mu, kappa), -np.inf, -np.inf)
    return Exact(frozen, logpdf=inside, pdf=lambda x: np.exp(inside(x)), ppf=ppf, **tails)


def _truncation(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Array]:
    mu, sigma = real(rng, shape), scale(rng, shape)
    lower = mu + sigma * rng.normal(-0.5, 1.0, shape)
    upper = lower + sigma * scale(rng, shape)
    if np.ndim(mu) and mu.size > 2:
        lower.flat[0], upper.flat[1] = -np.inf, np.inf
    return {"mu": mu, "sigma": sigma, "lower": lower, "upper": upper}


def _triangle(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Array]:
    lower = real(rng, shape)
    c = lower + scale(rng, shape)
    return {"lower": lower, "upper": c + scale(rng, shape), "c": c}


CONTINUOUS_CASES = [
    Case(pd.Gumbel, named(mu=real, beta=scale), in_order(scipy.stats.gumbel_r), (-20.0, 0.0, 5.0, 40.0, 300.0)),
    Case(
        pd.Weibull,
        named(alpha=scale, beta=scale),
        lambda alpha, beta: scipy.stats.weibull_min(alpha, 0, beta),
        POSITIVE[:-1],
    ),
    Case(
        pd.Frechet,
        named(alpha=scale, sigma=scale),
        _frechet,
        (-1.0, 0.0, 0.3, 1.0, 30.0, 500.0),
    ),
    Case(
        pd.GeneralizedExtremeValue,
        named(mu=real, sigma=scale, xi=signed),
        lambda mu, sigma, xi: scipy.stats.genextreme(-xi, mu, sigma),
        (-300.0, -5.0, 0.0, 5.0, 40.0),
    ),
    Case(
        pd.GeneralizedPareto,
        named(mu=real, sigma=scale, xi=signed),
        lambda mu, sigma, xi: scipy.stats.genpareto(xi, mu, sigma),
        (-300.0, -5.0, 0.0, 5.0, 40.0),
    ),
    Case(
        pd.Pareto,
        named(alpha=scale, m=scale),
        lambda alpha, m: scipy.stats.pareto(alpha, 0, m),
        (-1.0, 0.0, 1.0, 30.0, 1e10),
    ),
    Case(pd.HalfStudentT, named(nu=scale, sigma=scale), _half_student, POSITIVE),
    Case(pd.Logistic, named(mu=real, s=scale), in_order(scipy.stats.logistic), FAR),
    Case(pd.ChiSquared, named(nu=scale), in_order(scipy.stats.chi2), POSITIVE),
    Case(pd.InverseChiSquared, named(nu=scale), lambda nu: scipy.stats.invgamma(nu / 2, 0, 0.5), POSITIVE),
    Case(
        pd.ScaledInverseChiSquared,
        named(nu=scale, sigma=scale),
        lambda nu, sigma: scipy.stats.invgamma(nu / 2, 0, nu * sigma**2 / 2),
        POSITIVE,
    ),
    Case(
        pd.LogGamma,
        named(alpha=scale, beta=scale),
        lambda alpha, beta: scipy.stats.loggamma(alpha, -np.log(beta)),
        (-5.0, 0.0, 3.0, 5.0),
    ),
    Case(
        pd.GeneralizedNormal,
        named(mu=real, alpha=scale, beta=scale),
        lambda mu, alpha, beta: scipy.stats.gennorm(beta, mu, alpha),
        (-40.0, -5.0, 0.0, 5.0, 40.0),
    ),
    Case(pd.Kumaraswamy, named(a=scale, b=scale), _kumaraswamy, (-0.5, 0.0, 1e-9, 0.5, 1.0, 1.5)),
    Case(pd.LogitNormal, named(mu=real, sigma=scale), _logit_normal, (-0.5, 0.0, 1e-3, 0.5, 1.0, 1.5)),
    Case(
        pd.BetaPrime,
        named(alpha=scale, beta=scale),
        in_order(scipy.stats.betaprime),
        (-1.0, 1e-12, 1e-3, 1.0, 30.0, 500.0),
    ),
    Case(
        pd.Dagum,
        named(p=scale, a=scale, b=scale),
        _dagum,
        (-1.0, 1e-12, 1e-3, 1.0, 30.0, 500.0),
        {"p": (-1.0, 0.0, np.nan, np.inf)},
    ),
    Case(
        pd.LogLogistic,
        named(alpha=scale, beta=scale),
        _log_logistic,
        (-1.0, 1e-12, 1e-3, 1.0, 30.0, 500.0),
    ),
    Case(pd.AsymmetricLaplace, named(kappa=scale, mu=real, b=scale), _asymmetric, FAR),
    Case(pd.Moyal, named(mu=real, sigma=scale), _moyal, (-10.0, -5.0, 0.0, 5.0, 40.0, 300.0)),
    Case(
        pd.SkewStudentT,
        named(a=scale, b=scale, mu=real, sigma=scale),
        _skew_student,
        (-40.0, -5.0, 0.0, 5.0, 40.0),
    ),
    Case(
        pd.Wald,
        named(mu=scale, lam=scale, alpha=real),
        lambda mu, lam, alpha: scipy.stats.invgauss(mu / lam, alpha, lam),
        (-300.0, 0.0, 5.0, 40.0),
        {"alpha": (np.nan, np.inf, -np.inf)},
    ),
    Case(
        pd.Levy,
        named(mu=real, c=scale),
        _levy,
        (-300.0, 0.0, 5.0, 40.0, 1e6),
    ),
    Case(
        pd.SkewNormal,
        named(alpha=real, mu=real, sigma=scale),
        _skew_normal,
        (-40.0, -5.0, 0.0, 5.0, 40.0),
        {"alpha": (np.nan, np.inf, -np.inf)},
    ),
    Case(
        pd.ExGaussian,
        named(mu=real, sigma=scale, nu=scale),
        lambda mu, sigma, nu: scipy.stats.exponnorm(nu / sigma, mu, sigma),
        (-5.0, 0.0, 5.0, 40.0),
    ),
    Case(
        pd.Rice,
        named(nu=scale, sigma=scale),
        _rice,
        (-1.0, 0.0, 1e-3, 1.0, 5.0),
        {"nu": (-1.0, np.nan, np.inf, -np.inf)},
    ),
    Case(
        pd.TruncatedNormal,
        _truncation,
        lambda mu, sigma, lower, upper: scipy.stats.truncnorm((lower - mu) / sigma, (upper - mu) / sigma, mu, sigma),
        (-300.0, -1.0, 0.0, 1.0, 300.0),
        {"lower": (np.nan,), "upper": (-50.0, np.nan, -np.inf)},
    ),
    Case(
        pd.Triangular,
        _triangle,
        lambda lower, upper, c: scipy.stats.triang((c - lower) / (upper - lower), lower, upper - lower),
        (-300.0, 0.0, 300.0),
        {"c": (-50.0, 50.0, np.nan, np.inf, -np.inf)},
    ),
    Case(pd.VonMises, named(mu=real, kappa=scale), _von_mises, (-4.0, -np.pi, -1.0, 0.0, 1.0, np.pi, 4.0)),
]
