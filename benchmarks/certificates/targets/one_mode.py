"""One mode each: curves, necks, heavy tails, bounds and skewness, high dimensions; exact draws of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import signal

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.target import Array, Draws, Target

Rng = np.random.Generator


def mirrored(x: Array) -> Draws:
    """Draws of a symmetric distribution around zero, with their images: their mean is exact."""
    return {"x": np.concatenate([x, -x])}


def of(build: Callable[[], Any], draw: Callable[[Rng, int], Draws], **more: Any) -> Target:
    """A target of a function that declares its variables within a model."""

    def make() -> pm.Model:
        with pm.Model() as model:
            build()
        return model

    return Target(make, draw, **more)


def curved(scale: float) -> Target:
    """A normal variable around the square of another."""

    def draw(rng: Rng, n: int) -> Draws:
        a = rng.normal(size=n)
        return {"a": a, "b": a**2 + scale * rng.normal(size=n)}

    return of(lambda: pm.Normal("b", pm.Normal("a", 0.0, 1.0) ** 2, scale), draw)


def banana() -> Target:
    """A normal variable around a parabola, as Haario, Saksman and Tamminen (1999) have it."""

    def draw(rng: Rng, n: int) -> Draws:
        x = 10.0 * rng.normal(size=n)
        return {"x": x, "y": 0.03 * (x**2 - 100.0) + rng.normal(size=n)}

    return of(lambda: pm.Normal("y", 0.03 * (pm.Normal("x", 0.0, 10.0) ** 2 - 100.0), 1.0), draw)


def funnel(scale: float, d: int, centred: bool = True) -> Target:
    """Neal's funnel (2003), whose log scale has a standard deviation `scale`."""

    def build() -> None:
        v = pm.Normal("v", 0.0, scale)
        if centred:
            pm.Normal("x", 0.0, pt.exp(v / 2.0), shape=d)
        else:
            pm.Normal("z", 0.0, 1.0, shape=d)

    def draw(rng: Rng, n: int) -> Draws:
        v, z = scale * rng.normal(size=n), rng.normal(size=(n, d))
        return {"v": v, "x": np.exp(v / 2.0)[:, None] * z} if centred else {"v": v, "z": z}

    return of(build, draw)


def gaussian(d: int, condition: float) -> Target:
    """A normal distribution whose axes are turned."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))
    half = rotation * np.sqrt(np.geomspace(1.0, condition, d))
    return of(
        lambda: pm.MvNormal("x", np.zeros(d), cov=half @ half.T),
        lambda rng, n: mirrored(rng.normal(size=(n // 8, d)) @ half.T),
    )


def scales(d: int, widest: float) -> Target:
    """Independent normal variables, with deviations from 1 to `widest`."""
    widths = np.geomspace(1.0, widest, d)
    return of(
        lambda: pm.Normal("x", 0.0, widths, shape=d),
        lambda rng, n: mirrored(widths * rng.normal(size=(n // max(2, d // 50), d))),
    )


def autoregressive(d: int, rho: float) -> Target:
    """A stationary sequence of standard normal variables, written by its differences."""

    def build() -> None:
        x = pm.Normal("x", 0.0, 1.0, shape=d)
        own = 0.5 * pt.sum(x[1:] ** 2)
        pm.Potential("rest", own - 0.5 * pt.sum((x[1:] - rho * x[:-1]) ** 2) / (1.0 - rho**2))

    def draw(rng: Rng, n: int) -> Draws:
        noise = rng.normal(size=(n // 4, d))
        noise[:, 1:] *= np.sqrt(1.0 - rho**2)
        return mirrored(signal.lfilter([1.0], [1.0, -rho], noise, axis=1))

    return of(build, draw)


def student(nu: float, d: int) -> Target:
    """Heavy tails."""
    return of(lambda: pm.StudentT("x", nu, 0.0, 1.0, shape=d), lambda rng, n: mirrored(rng.standard_t(nu, (n // 2, d))))


def skewed_and_bounded() -> Target:
    """Gamma, beta and Dirichlet of common shape."""
    a = np.array([1.0, 2.0, 3.0, 4.0])

    def build() -> None:
        pm.Gamma("g", 2.0, 1.0)
        pm.Beta("b", 2.0, 5.0)
        pm.Dirichlet("p", a)

    return of(build, lambda rng, n: {"g": rng.gamma(2.0, size=n), "b": rng.beta(2.0, 5.0, n), "p": rng.dirichlet(a, n)})


def at_the_border() -> Target:
    """Gamma and beta whose densities are infinite at the borders of the support."""

    def build() -> None:
        pm.Gamma("g", 0.3, 1.0)
        pm.Beta("b", 0.5, 0.5)

    return of(build, lambda rng, n: {"g": rng.gamma(0.3, size=n), "b": rng.beta(0.5, 0.5, n)})


def long_right_tails() -> Target:
    """Positive variables with few or no moments."""

    def build() -> None:
        pm.LogNormal("lognormal", 0.0, 1.5)
        pm.Weibull("weibull", 0.7, 1.0)
        pm.InverseGamma("inverse", 3.0, 1.0)
        pm.HalfCauchy("cauchy", 1.0)

    def draw(rng: Rng, n: int) -> Draws:
        return {
            "lognormal": rng.lognormal(0.0, 1.5, n),
            "weibull": rng.weibull(0.7, n),
            "inverse": 1.0 / rng.gamma(3.0, size=n),
            "cauchy": np.abs(rng.standard_cauchy(n)),
        }

    return of(build, draw)


def within_bounds() -> Target:
    """Uniform, triangular, cut normal."""

    def build() -> None:
        pm.Uniform("u", -1.0, 3.0)
        pm.Triangular("t", 0.0, 1.0, 0.2)
        pm.TruncatedNormal("cut", 0.0, 1.0, lower=1.0, upper=4.0)

    def draw(rng: Rng, n: int) -> Draws:
        from scipy.stats import truncnorm

        cut = truncnorm.rvs(1.0, 4.0, size=n, random_state=rng)
        return {"u": rng.uniform(-1.0, 3.0, n), "t": rng.triangular(0.0, 0.2, 1.0, n), "cut": cut}

    return of(build, draw)


def skewed_families() -> Target:
    """Laplace, logistic, Gumbel, skew normal and normal plus exponential."""

    def build() -> None:
        pm.Laplace("laplace", 0.0, 1.0)
        pm.Logistic("logistic", 1.0, 2.0)
        pm.Gumbel("gumbel", 0.0, 1.0)
        pm.SkewNormal("skew", mu=0.0, sigma=1.0, alpha=6.0)
        pm.ExGaussian("sum", mu=0.0, sigma=0.5, nu=2.0)

    def draw(rng: Rng, n: int) -> Draws:
        delta = 6.0 / np.sqrt(37.0)
        return {
            "laplace": rng.laplace(size=n),
            "logistic": rng.logistic(1.0, 2.0, n),
            "gumbel": rng.gumbel(size=n),
            "skew": delta * np.abs(rng.normal(size=n)) + np.sqrt(1 - delta**2) * rng.normal(size=n),
            "sum": 0.5 * rng.normal(size=n) + rng.exponential(2.0, n),
        }

    return of(build, draw)


def angle() -> Target:
    """An angle."""
    return of(
        lambda: pm.VonMises("angle", 2.0, 2.0),
        lambda rng, n: {"angle": rng.vonmises(2.0, 2.0, n)},
        measure=lambda draws: {"cos": np.cos(draws["angle"]), "sin": np.sin(draws["angle"])},
    )


def sparse_shares() -> Target:
    """A Dirichlet distribution that puts nearly everything in one share."""
    return of(lambda: pm.Dirichlet("p", np.full(5, 0.1)), lambda rng, n: {"p": rng.dirichlet(np.full(5, 0.1), n)})


def random_walk(d: int) -> Target:
    """A local level observed with noise: a normal posterior."""
    data = np.random.default_rng(8).normal(size=d).cumsum() + np.random.default_rng(9).normal(size=d)
    precision: Array = np.eye(d) + np.eye(d) / 0.25 * 2.0
    precision -= (np.eye(d, k=1) + np.eye(d, k=-1)) / 0.25
    precision[-1, -1] = 1.0 + 1.0 / 0.25
    precision[0, 0] = 1.0 + 1.0 / 0.25 + 1.0 / 25.0
    half = np.linalg.cholesky(np.linalg.inv(precision))
    mean = np.linalg.solve(precision, data)

    def build() -> None:
        level = pm.GaussianRandomWalk("level", sigma=0.5, init_dist=pm.Normal.dist(0.0, 5.0), shape=d)
        pm.Normal("y", level, 1.0, observed=data)

    return of(build, lambda rng, n: {"level": mean + rng.normal(size=(n // 4, d)) @ half.T})


ONE_MODE = {
    "curved, 0.3": curved(0.3),
    "curved, 0.1": curved(0.1),
    "banana": banana(),
    "funnel": funnel(3.0, 9),
    "funnel, sd 1": funnel(1.0, 9),
    "funnel, non-centred": funnel(3.0, 9, centred=False),
    "gaussian, d = 50, condition 1e4": gaussian(50, 1e4),
    "gaussian, d = 100, condition 100": gaussian(100, 100.0),
    "independent, d = 10": scales(10, 1.0),
    "independent, d = 200": scales(200, 1.0),
    "independent, d = 1000": scales(1000, 1.0),
    "scales of 1 to 1,000, d = 300": scales(300, 1e3),
    "AR(1), rho 0.9": autoregressive(50, 0.9),
    "AR(1), rho 0.999": autoregressive(50, 0.999),
    "local level, d = 100": random_walk(100),
    "Student-t, 5": student(5.0, 5),
    "Student-t, 4": student(4.0, 5),
    "Student-t, 3": student(3.0, 10),
    "Student-t, 2": student(2.0, 3),
    "Cauchy": student(1.0, 2),
    "skewed and bounded": skewed_and_bounded(),
    "infinite at the border": at_the_border(),
    "long right tails": long_right_tails(),
    "within bounds": within_bounds(),
    "skewed families": skewed_families(),
    "angle": angle(),
    "sparse shares": sparse_shares(),
}
