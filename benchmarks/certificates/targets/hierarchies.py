"""Hierarchies and regressions, with truths by integrals where there are such, else by long runs: they are harmless."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.exact import long_run, on_grid
from benchmarks.certificates.target import Array, Draws, Target

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(centred: bool) -> pm.Model:
    """Eight schools (Rubin 1981)."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        theta = pm.Normal("theta", mu, tau, shape=8) if centred else mu + tau * pm.Normal("z", 0.0, 1.0, shape=8)
        pm.Normal("y", theta, ERRORS, observed=EFFECTS)
    return model


def groups(centred: bool, values: Array, errors: Array | float, wide: float) -> pm.Model:
    """Means of groups with known standard errors."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", wide)
        n = len(values)
        theta = pm.Normal("theta", mu, tau, shape=n) if centred else mu + tau * pm.Normal("z", 0.0, 1.0, shape=n)
        pm.Normal("y", theta, errors, observed=values)
    return model


def group_means(
    values: Array, errors: Array, prior: Callable[[Array], Array], widest: float, centred: bool, wide_mu: float = 5.0
) -> Any:
    """Draws of mu, tau and theta or z; theta is integrated out of the grid."""

    def log_density(mu: Array, log_tau: Array) -> Array:
        tau = np.exp(log_tau)
        total = stats.norm.logpdf(mu, 0.0, wide_mu) + prior(tau) + log_tau
        for y, e in zip(values, np.broadcast_to(errors, values.shape), strict=True):
            total = total + stats.norm.logpdf(y, mu, np.hypot(e, tau))
        return total

    def then(rng: np.random.Generator, mu: Array, log_tau: Array) -> dict[str, Any]:
        tau = np.exp(log_tau)[:, None]
        precision = 1.0 / errors**2 + 1.0 / tau**2
        mean = (values / errors**2 + mu[:, None] / tau**2) / precision
        theta = mean + rng.normal(size=mean.shape) / np.sqrt(precision)
        rest = {"theta": theta} if centred else {"z": (theta - mu[:, None]) / tau}
        return {"mu": mu, "tau": tau[:, 0], **rest}

    inner = on_grid(log_density, then, mu=(-4 * wide_mu, 4 * wide_mu), log_tau=(-12.0, np.log(widest)))
    return lambda rng, n: {k: v for k, v in inner(rng, n).items() if k != "log_tau"}


def fifty_groups() -> pm.Model:
    """Fifty centred groups with twenty values each."""
    means, which, values = fifty()
    with pm.Model() as model:
        mu, tau, sigma = pm.Normal("mu", 0.0, 5.0), pm.HalfNormal("tau", 5.0), pm.HalfNormal("sigma", 2.0)
        theta = pm.Normal("theta", mu, tau, shape=len(means))
        pm.Normal("y", theta[which], sigma, observed=values)
    return model


def fifty() -> tuple[Array, Array, Array]:
    """Means of the groups, the group of each value, values."""
    rng = np.random.default_rng(4)
    means, which = rng.normal(1.0, 2.0, 50), np.repeat(np.arange(50), 20)
    return means, which, rng.normal(means[which], 1.0)


def poisson_effects() -> pm.Model:
    """Random effects of counts, non-centred."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(np.exp(1.0 + rng.normal(0.0, 0.5, 20)))
    with pm.Model() as model:
        mu, scale = pm.Normal("mu", 0.0, 2.0), pm.HalfNormal("scale", 1.0)
        z = pm.Normal("z", 0.0, 1.0, shape=20)
        pm.Poisson("y", pt.exp(mu + scale * z), observed=counts)
    return model


def logistic() -> pm.Model:
    """Logistic regression with eight predictors."""
    rng = np.random.default_rng(3)
    predictors = rng.normal(size=(200, 8))
    happened = rng.random(200) < 1.0 / (1.0 + np.exp(-predictors @ rng.normal(size=8)))
    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 2.5, shape=8)
        pm.Bernoulli("y", logit_p=pt.dot(predictors, beta), observed=happened)
    return model


def regression(kind: str) -> pm.Model:
    """Sixty values against two predictors."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 2))
    x[:, 1] = x[:, 1] if kind != "collinear" else x[:, 0] + 0.05 * x[:, 1]
    line = 0.5 + x @ np.array([1.0, -0.7])
    with pm.Model() as model:
        a, b = pm.Normal("a", 0.0, 2.0), pm.Normal("b", 0.0, 2.0, shape=2)
        mu = a + pt.dot(x, b)
        match kind:
            case "collinear":
                pm.Normal("y", mu, pm.HalfNormal("sigma", 2.0), observed=line + 0.8 * rng.normal(size=60))
            case "robust":
                nu, sigma = pm.Gamma("nu", 2.0, 0.1), pm.HalfNormal("sigma", 2.0)
                pm.StudentT("y", nu, mu, sigma, observed=line + 0.5 * rng.standard_t(2.5, 60))
            case "negative binomial":
                counts = rng.poisson(np.exp(line) * rng.gamma(1.5, 1 / 1.5, 60))
                pm.NegativeBinomial("y", mu=pt.exp(mu), alpha=pm.Exponential("alpha", 0.5), observed=counts)
            case "beta":
                share = np.clip(rng.beta(6.0 / (1 + np.exp(-line)), 6.0 / (1 + np.exp(line))), 1e-3, 1 - 1e-3)
                m, k = pm.math.invlogit(mu), pm.Gamma("k", 2.0, 0.2)
                pm.Beta("y", m * k, (1 - m) * k, observed=share)
            case "scale too":
                c = pm.Normal("c", 0.0, 1.0, shape=2)
                noise = np.exp(0.3 * x[:, 0]) * rng.normal(size=60)
                pm.Normal("y", mu, pt.exp(c[0] + c[1] * x[:, 0]), observed=line + noise)
            case "probit":
                pm.Bernoulli("y", pm.math.invprobit(mu), observed=line + rng.normal(size=60) > 0)
    return model


def needles() -> Target:
    """Five normal means with horseshoe scales (Carvalho and others 2009), the global one known: tails and necks."""
    values = np.array([0.3, -0.5, 1.2, 4.0, 8.0])

    def make() -> pm.Model:
        with pm.Model() as model:
            scale, z = pm.HalfCauchy("scale", 1.0, shape=5), pm.Normal("z", 0.0, 1.0, shape=5)
            pm.Normal("y", scale * z, 1.0, observed=values)
        return model

    def one(y: float) -> Any:
        def log_density(log_scale: Array) -> Array:
            scale = np.exp(log_scale)
            return log_scale + stats.halfcauchy.logpdf(scale) + stats.norm.logpdf(y, 0.0, np.hypot(1.0, scale))

        return on_grid(log_density, log_scale=(-18.0, 18.0))

    each = [one(y) for y in values]

    def draw(rng: np.random.Generator, count: int) -> Draws:
        scale = np.exp(np.stack([f(rng, count)["log_scale"] for f in each], axis=1))
        precision = 1.0 + scale**2
        return {"scale": scale, "z": scale * values / precision + rng.normal(size=scale.shape) / np.sqrt(precision)}

    return Target(make, draw)


def harmless(make: Callable[[], pm.Model]) -> Target:
    """By a long run."""
    return Target(make, long_run(make))


def known_errors(centred: bool, values: Array, error: float, wide: float) -> Target:
    """Groups whose standard errors are all the same."""
    draw = group_means(
        values, np.full(len(values), error), partial(stats.halfnorm.logpdf, scale=wide), 8 * wide, centred
    )
    return Target(partial(groups, centred, values, error, wide), draw)


_rng = np.random.default_rng(6)
RICH, POOR = _rng.normal(1.0, 2.0, 20), _rng.normal(1.0, 1.0, 20)
_schools = partial(group_means, EFFECTS, ERRORS, partial(stats.halfcauchy.logpdf, scale=5.0), 3000.0)
HIERARCHIES = {
    "schools, centred": Target(partial(schools, True), _schools(True)),
    "schools, non-centred": Target(partial(schools, False), _schools(False)),
    "twenty groups, much data, centred": known_errors(True, RICH, 0.2, 3.0),
    "twenty groups, much data, non-centred": known_errors(False, RICH, 0.2, 3.0),
    "twenty groups, little data, centred": known_errors(True, POOR, 1.0, 1.0),
    "twenty groups, little data, non-centred": known_errors(False, POOR, 1.0, 1.0),
    "fifty groups": harmless(fifty_groups),
    "poisson effects": harmless(poisson_effects),
    "logistic regression": harmless(logistic),
    **{
        f"regression: {kind}": harmless(partial(regression, kind))
        for kind in ("collinear", "robust", "negative binomial", "beta", "scale too", "probit")
    },
    "horseshoe": needles(),
}
