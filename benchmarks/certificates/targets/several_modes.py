"""Published models with posteriors of several modes; of copies, what labels and signs leave alone counts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.exact import on_grid, particles
from benchmarks.certificates.target import Array, Draws, Target

GALAXIES = np.array([
    9172, 9350, 9483, 9558, 9775, 10227, 10406, 16084, 16170, 18419, 18552, 18600, 18927, 19052, 19070, 19330, 19343,
    19349, 19440, 19473, 19529, 19541, 19547, 19663, 19846, 19856, 19863, 19914, 19918, 19973, 19989, 20166, 20175,
    20179, 20196, 20215, 20221, 20415, 20629, 20795, 20821, 20846, 20875, 20986, 21137, 21492, 21701, 21814, 21921,
    21960, 22185, 22209, 22242, 22249, 22314, 22374, 22495, 22746, 22747, 22888, 22914, 23206, 23241, 23263, 23484,
    23538, 23542, 23666, 23706, 23711, 24129, 24285, 24289, 24366, 24717, 24990, 25633, 26960, 26995, 32065, 32789,
    34279,
]) / 1000.0  # fmt: skip


def galaxies() -> Target:
    """Velocities of 82 galaxies (Roeder 1990), three normal components of one width whose labels may be exchanged."""

    def make() -> pm.Model:
        with pm.Model() as model:
            mu = pm.Normal("mu", 20.0, 10.0, shape=3)
            pm.NormalMixture("y", np.ones(3) / 3, mu, 1.5, observed=GALAXIES)
        return model

    def log_density(a: Array, b: Array, c: Array) -> Array:  # of the places in their order
        total = sum(stats.norm.logpdf(m, 20.0, 10.0) for m in (a, b, c)) + np.where((a < b) & (b < c), 0.0, -np.inf)
        for v in GALAXIES:
            first, second, third = (-0.5 * ((v - m) / 1.5) ** 2 for m in (a, b, c))
            total = total + np.logaddexp(np.logaddexp(first, second), third)
        return np.asarray(total)

    def then(rng: np.random.Generator, a: Array, b: Array, c: Array) -> dict[str, Array]:
        return {"mu": rng.permuted(np.stack([a, b, c], axis=-1), axis=-1)}

    def measure(draws: Draws) -> Draws:
        return {"mu": np.sort(draws["mu"], axis=-1)}

    return Target(make, on_grid(log_density, then, a=(0, 40), b=(0, 40), c=(0, 40)), measure)


def mixture_of_regressions() -> Target:
    """Two slopes; which is the first is told by weights of 60 and 40 % alone."""
    rng = np.random.default_rng(21)
    x = rng.normal(size=25)
    y = np.where(rng.random(25) < 0.6, 1.5, -1.0) * x + 0.4 * rng.normal(size=25)

    def make() -> pm.Model:
        with pm.Model() as model:
            slope = pm.Normal("slope", 0.0, 2.0, shape=2)
            pm.NormalMixture("y", np.array([0.6, 0.4]), slope * x[:, None], 0.4, observed=y)
        return model

    def log_density(a: Array, b: Array) -> Array:
        total = stats.norm.logpdf(a, 0.0, 2.0) + stats.norm.logpdf(b, 0.0, 2.0)
        for u, v in zip(x, y, strict=True):
            first, second = -0.5 * ((v - a * u) / 0.4) ** 2, -0.5 * ((v - b * u) / 0.4) ** 2
            total = total + np.logaddexp(np.log(0.6) + first, np.log(0.4) + second)
        return np.asarray(total)

    def measure(draws: Draws) -> Draws:
        slope = draws["slope"]
        return {"slope": slope, "first above": slope[..., 0] > slope[..., 1]}

    then = partial(_stacked, into="slope", names=("a", "b"))
    return Target(make, on_grid(log_density, then, a=(-6, 6), b=(-6, 6)), measure)


def _stacked(rng: np.random.Generator, into: str, names: tuple[str, ...], **values: Array) -> dict[str, Array]:
    return {into: np.stack([values[name] for name in names], axis=-1)}


def frequency(low: float, high: float, times: Array, values: Array, noise: float, log: bool) -> Target:
    """A sinusoid of unknown frequency (Bretthorst 1988), amplitudes integrated out; `log`: of its logarithm."""

    def basis(f: Array) -> Array:
        phase = 2.0 * np.pi * f[..., None] * times
        return np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)], axis=-1)

    def make() -> pm.Model:
        with pm.Model() as model:
            at = pm.Uniform("at", low, high)
            c = pm.Normal("c", 0.0, 1.0, shape=3)
            phase = 2.0 * np.pi * (pt.exp(-at) if log else at) * times
            pm.Normal("y", c[0] * pt.cos(phase) + c[1] * pt.sin(phase) + c[2], noise, observed=values)
        return model

    def posterior(at: Array) -> tuple[Array, Array, Array]:
        b = basis(np.exp(-at) if log else at)
        precision = np.swapaxes(b, -1, -2) @ b / noise**2 + np.eye(3)
        mean = np.linalg.solve(precision, (np.swapaxes(b, -1, -2) @ values / noise**2)[..., None])[..., 0]
        return mean, precision, np.einsum("...i,...ij,...j->...", mean, precision, mean)

    def log_density(at: Array) -> Array:
        _, precision, gain = posterior(at)
        return np.asarray(0.5 * gain - 0.5 * np.linalg.slogdet(precision)[1])

    def then(rng: np.random.Generator, at: Array) -> dict[str, Array]:
        mean, precision, _ = posterior(at)
        half = np.linalg.cholesky(np.linalg.inv(precision))
        return {"c": mean + np.einsum("nij,nj->ni", half, rng.normal(size=mean.shape))}

    return Target(make, on_grid(log_density, then, at=(low, high)))


def moving_average() -> Target:
    """An MA(1) sequence whose coefficient may be within the circle or without: two modes that the prior weighs."""
    rng = np.random.default_rng(23)
    n = 40
    noise = rng.normal(size=n + 1)
    y = noise[1:] + 0.5 * noise[:-1]
    k = np.arange(1, n + 1)
    sines = np.sqrt(2.0 / (n + 1)) * np.sin(np.pi * np.outer(k, k) / (n + 1))
    power, cosines = (sines @ y) ** 2, np.cos(np.pi * k / (n + 1))

    def make() -> pm.Model:
        with pm.Model() as model:
            theta, sigma = pm.Normal("theta", 0.0, 1.5), pm.HalfNormal("sigma", 2.0)
            spectrum = sigma**2 * (1.0 + theta**2 + 2.0 * theta * cosines)
            pm.Potential("y", -0.5 * pt.sum(pt.log(spectrum) + power / spectrum))
        return model

    def log_density(theta: Array, sigma: Array) -> Array:
        total = stats.norm.logpdf(theta, 0.0, 1.5) + stats.halfnorm.logpdf(sigma, scale=2.0)
        for c, p in zip(cosines, power, strict=True):
            spectrum = sigma**2 * (1.0 + theta**2 + 2.0 * theta * c)
            total = total - 0.5 * (np.log(spectrum) + p / spectrum)
        return np.asarray(total)

    def measure(draws: Draws) -> Draws:
        return {**draws, "invertible": np.abs(draws["theta"]) < 1.0}

    return Target(make, on_grid(log_density, theta=(-8, 8), sigma=(0.0, 6.0)), measure)


def factor() -> Target:
    """One factor behind three items; all signs may be turned, and a prior mean of 0.1 says a little which way."""
    rng = np.random.default_rng(24)
    y = rng.normal(size=(15, 1)) * np.array([1.2, 0.9, -0.8]) + 0.5 * rng.normal(size=(15, 3))
    cross = y.T @ y

    def make() -> pm.Model:
        with pm.Model() as model:
            loading, score = pm.Normal("loading", 0.1, 1.0, shape=3), pm.Normal("score", 0.0, 1.0, shape=(15, 1))
            pm.Normal("y", score * loading, 0.5, observed=y)
        return model

    def log_density(a: Array, b: Array, c: Array) -> Array:
        s2, total = 0.25, 0.0
        for v in (a, b, c):
            total = total + stats.norm.logpdf(v, 0.1, 1.0)
        length = a**2 + b**2 + c**2
        along = sum(cross[i, j] * u * v for i, u in enumerate((a, b, c)) for j, v in enumerate((a, b, c)))
        return np.asarray(total - 15 / 2 * np.log1p(length / s2) + 0.5 / s2 * along / (s2 + length))

    def then(rng: np.random.Generator, a: Array, b: Array, c: Array) -> dict[str, Array]:
        loading = np.stack([a, b, c], axis=-1)
        precision = 1.0 + (loading**2).sum(-1) / 0.25
        mean = loading @ y.T / 0.25 / precision[:, None]
        return {"loading": loading, "score": mean + rng.normal(size=mean.shape) / np.sqrt(precision)[:, None]}

    def measure(draws: Draws) -> Draws:
        loading = draws["loading"]
        sign = np.sign(loading[..., :1])
        score = draws["score"].reshape(*loading.shape[:-1], 15)
        return {"turned": loading * sign, "scores": score * sign, "up": loading[..., 0] > 0.0}

    return Target(make, on_grid(log_density, then, a=(-4, 4), b=(-4, 4), c=(-4, 4)), measure)


def neurons(hidden: int) -> Target:
    """A small neural network on twelve values; units may be exchanged and signs turned, so its predictions count."""
    x = np.linspace(-2.0, 2.0, 12)
    y = np.tanh(2.0 * x) + 0.3 * np.random.default_rng(25).normal(size=12)

    def make() -> pm.Model:
        with pm.Model() as model:
            w, a = pm.Normal("w", 0.0, 1.5, shape=hidden), pm.Normal("a", 0.0, 1.5, shape=hidden)
            pm.Normal("y", pt.dot(pt.tanh(x[:, None] * w), a), 0.3, observed=y)
        return model

    def measure(draws: Draws) -> Draws:
        w, a = draws["w"], draws["a"]
        at = np.array([-1.5, -0.3, 0.8, 3.0])
        return {
            "predicted": (np.tanh(at[:, None] * w[..., None, :]) * a[..., None, :]).sum(axis=-1),
            "up": a[..., 0] > 0,
        }

    return Target(make, particles(make), measure)


def process() -> Target:
    """A Gaussian process on seven values: a short length with little noise, or a long one with much.

    As in figure 5.5 of Rasmussen and Williams (2006); amplitude 1.
    """
    x = np.array([-2.5, -1.9, -0.4, 0.3, 1.1, 2.0, 2.6])
    y = np.array([-1.2, 0.9, 0.6, -0.3, 1.3, 0.4, -0.4])
    squared = (x[:, None] - x) ** 2

    def make() -> pm.Model:
        with pm.Model() as model:
            length, noise = pm.Normal("length", 0.0, 1.5), pm.Normal("noise", -1.0, 1.0)
            cov = pt.exp(-0.5 * squared / pt.exp(2.0 * length)) + (pt.exp(2.0 * noise) + 1e-6) * np.eye(7)
            pm.MvNormal("y", np.zeros(7), cov=cov, observed=y)
        return model

    def log_density(length: Array, noise: Array) -> Array:
        total = stats.norm.logpdf(length, 0.0, 1.5) + stats.norm.logpdf(noise, -1.0, 1.0)
        kernel = np.exp(-0.5 * squared / np.exp(2.0 * length)[..., None, None])  # one matrix for each length
        values, vectors = np.linalg.eigh(kernel)
        spectrum = np.maximum(values, 0.0) + (np.exp(2.0 * noise) + 1e-6)[..., None]
        power = np.einsum("...ji,j->...i", vectors, y) ** 2
        return np.asarray(total - 0.5 * (np.log(spectrum) + power / spectrum).sum(axis=-1))

    return Target(make, on_grid(log_density, length=(-7, 7), noise=(-7, 5)))


def dose_response() -> Target:
    """Responses that rise and fall with dose, fitted by a curve that can only do one: two slopes, two median doses."""
    dose = np.log(np.array([0.1, 0.3, 1.0, 3.0, 10.0, 30.0]))
    y = np.array([0.15, 0.55, 0.95, 0.9, 0.5, 0.12])

    def make() -> pm.Model:
        with pm.Model() as model:
            median, slope = pm.Normal("median", 0.0, 2.0), pm.Normal("slope", 0.0, 2.0)
            pm.Normal("y", pm.math.invlogit(slope * (dose - median)), 0.25, observed=y)
        return model

    def log_density(median: Array, slope: Array) -> Array:
        total = stats.norm.logpdf(median, 0.0, 2.0) + stats.norm.logpdf(slope, 0.0, 2.0)
        for d, v in zip(dose, y, strict=True):
            total = total + stats.norm.logpdf(v, expit(slope * (d - median)), 0.25)
        return np.asarray(total)

    def measure(draws: Draws) -> Draws:
        return {**draws, "rising": draws["slope"] > 0.0}

    return Target(make, on_grid(log_density, median=(-9, 9), slope=(-10, 10)), measure)


def flip_flop() -> Target:
    """One compartment with absorption, whose two rates may change places with another volume (flip-flop kinetics)."""
    t = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 9.0])

    def curve(absorbed: Any, lost: Any, volume: Any, times: Any, exp: Any) -> Any:
        a, k, v = exp(absorbed), exp(lost), exp(volume)
        return 10.0 / v * a / (a - k) * (exp(-k * times) - exp(-a * times))

    y = curve(0.5, -1.2, 0.3, t, np.exp) + 0.8 * np.random.default_rng(27).normal(size=7)

    def make() -> pm.Model:
        with pm.Model() as model:
            absorbed, lost = pm.Normal("absorbed", 0.0, 1.0), pm.Normal("lost", -1.0, 1.0)
            volume = pm.Normal("volume", 0.0, 1.0)
            pm.Normal("y", curve(absorbed, lost, volume, t, pt.exp), 0.8, observed=y)
        return model

    def log_density(absorbed: Array, lost: Array, volume: Array) -> Array:
        total = stats.norm.logpdf(absorbed) + stats.norm.logpdf(lost, -1.0, 1.0) + stats.norm.logpdf(volume)
        for time, v in zip(t, y, strict=True):
            total = total - 0.5 * ((v - curve(absorbed, lost + 1e-9, volume, time, np.exp)) / 0.8) ** 2
        return np.asarray(total)

    def measure(draws: Draws) -> Draws:
        return {**draws, "usual": draws["absorbed"] > draws["lost"]}

    return Target(make, on_grid(log_density, absorbed=(-5, 5), lost=(-5, 4), volume=(-5, 5)), measure)


def two_sites() -> Target:
    """Binding at two sites (two Michaelis-Menten terms of one maximum), whose constants may be exchanged."""
    x = np.array([0.05, 0.2, 0.6, 2.0, 6.0, 20.0])
    y = x / (0.1 + x) + x / (5.0 + x) + 0.05 * np.random.default_rng(28).normal(size=6)

    def make() -> pm.Model:
        with pm.Model() as model:
            k = pm.Normal("k", 0.0, 2.0, shape=2)
            pm.Normal("y", pt.sum(x[:, None] / (pt.exp(k) + x[:, None]), axis=1), 0.05, observed=y)
        return model

    def log_density(a: Array, b: Array) -> Array:
        total = stats.norm.logpdf(a, 0.0, 2.0) + stats.norm.logpdf(b, 0.0, 2.0)
        for u, v in zip(x, y, strict=True):
            total = total + stats.norm.logpdf(v, u / (np.exp(a) + u) + u / (np.exp(b) + u), 0.05)
        return np.asarray(total)

    def measure(draws: Draws) -> Draws:
        return {"sorted": np.sort(draws["k"], axis=-1), "first below": draws["k"][..., 0] < draws["k"][..., 1]}

    then = partial(_stacked, into="k", names=("a", "b"))
    return Target(make, on_grid(log_density, then, a=(-8, 8), b=(-8, 8)), measure)


def ability() -> Target:
    """Item response (2PL) of twelve persons to four items: abilities and discriminations may change all signs."""
    rng = np.random.default_rng(29)
    theta, a, b = rng.normal(size=(12, 1)), np.array([2.0, 1.5, 2.5, 1.0]), np.array([-0.5, 0.3, 0.0, 0.8])
    y = (rng.random((12, 4)) < expit(a * theta - b)).astype(int)

    def make() -> pm.Model:
        with pm.Model() as model:
            ability, discrimination = pm.Normal("ability", shape=(12, 1)), pm.Normal("a", 0.0, 1.5, shape=4)
            difficulty = pm.Normal("b", 0.0, 1.5, shape=4)
            pm.Bernoulli("y", logit_p=discrimination * ability - difficulty, observed=y)
        return model

    def measure(draws: Draws) -> Draws:
        a = draws["a"]
        ability = draws["ability"].reshape(*a.shape[:-1], 12)
        return {"b": draws["b"], "size": np.abs(a), "turned": ability * np.sign(a.sum(axis=-1, keepdims=True))}

    return Target(make, particles(make), measure)


def location(family: str) -> Target:
    """One number: places that contradict each other under a Cauchy likelihood, data against a prior, a square."""
    likelihoods: dict[str, Any] = {
        "cauchy": (0.0, 10.0, lambda x: sum(stats.cauchy.logpdf(v, x, 0.5) for v in (-6.0, -5.2, 5.0, 6.1, 6.3))),
        "conflict": (10.0, 1.0, lambda x: sum(stats.t.logpdf(v, 3, x, 0.5) for v in (-0.2, 0.3, 0.9, 0.1))),
        "square": (0.3, 2.0, lambda x: stats.norm.logpdf(4.0, x**2, 0.5)),
    }
    mean, sd, likelihood = likelihoods[family]

    def make() -> pm.Model:
        with pm.Model() as model:
            x = pm.Normal("x", mean, sd)
            match family:
                case "cauchy":
                    pm.Cauchy("y", x, 0.5, observed=[-6.0, -5.2, 5.0, 6.1, 6.3])
                case "conflict":
                    pm.StudentT("y", 3, x, 0.5, observed=[-0.2, 0.3, 0.9, 0.1])
                case "square":
                    pm.Normal("y", x**2, 0.5, observed=4.0)
        return model

    def log_density(x: Array) -> Array:
        return np.asarray(stats.norm.logpdf(x, mean, sd) + likelihood(x))

    return Target(make, on_grid(log_density, x=(-40.0, 40.0)))


def comb() -> Target:
    """Some forty modes in a row under a wide normal distribution."""

    def make() -> pm.Model:
        with pm.Model() as model:
            x = pm.Normal("x", 0.0, 10.0)
            pm.Potential("teeth", 4.0 * pt.cos(2.0 * np.pi * x))
        return model

    def log_density(x: Array) -> Array:
        return np.asarray(stats.norm.logpdf(x, 0.0, 10.0) + 4.0 * np.cos(2.0 * np.pi * x))

    return Target(make, on_grid(log_density, x=(-70.0, 70.0)))


def at_the_border() -> Target:
    """A mode at the border of the support, another inside."""

    def make() -> pm.Model:
        with pm.Model() as model:
            x = pm.HalfFlat("x")
            pm.Potential("density", pt.logaddexp(-x, -0.5 * (x - 12.0) ** 2 - 0.5 * np.log(2.0 * np.pi)))
        return model

    def draw(rng: np.random.Generator, count: int) -> Draws:
        return {"x": np.where(rng.random(count) < 0.5, rng.exponential(size=count), rng.normal(12.0, 1.0, count))}

    return Target(make, draw, lambda draws: {"x": draws["x"], "inside": draws["x"] > 7.0})


def sensor() -> Target:
    """A place told by distances to two anchors, and its mirror image (Ihler and others 2005); a third is vague."""
    anchors, sds = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), np.array([0.05, 0.05, 1.0])
    seen = np.array([1.5, 1.3, 2.2])

    def make() -> pm.Model:
        with pm.Model() as model:
            place = pm.Normal("place", 0.0, 2.0, shape=2)
            pm.Normal("y", pt.sqrt(pt.sum((place - anchors) ** 2, axis=1)), sds, observed=seen)
        return model

    def log_density(a: Array, b: Array) -> Array:
        total = stats.norm.logpdf(a, 0.0, 2.0) + stats.norm.logpdf(b, 0.0, 2.0)
        for (u, v), sd, d in zip(anchors, sds, seen, strict=True):
            total = total + stats.norm.logpdf(d, np.hypot(a - u, b - v), sd)
        return np.asarray(total)

    then = partial(_stacked, into="place", names=("a", "b"))
    return Target(make, on_grid(log_density, then, a=(-4, 4), b=(-4, 4)), lambda draws: {"place": draws["place"]})


def decay() -> Target:
    """Two exponentials in a sum, rates exchangeable but for their amplitudes of 1 and 0.8."""
    t = np.linspace(0.2, 4.0, 10)
    y = np.exp(-0.4 * t) + 0.8 * np.exp(-2.0 * t) + 0.05 * np.random.default_rng(31).normal(size=10)

    def make() -> pm.Model:
        with pm.Model() as model:
            rate = pm.Normal("rate", 0.0, 1.5, shape=2)
            k = pt.exp(rate)
            pm.Normal("y", pt.exp(-k[0] * t) + 0.8 * pt.exp(-k[1] * t), 0.05, observed=y)
        return model

    def log_density(a: Array, b: Array) -> Array:
        total = stats.norm.logpdf(a, 0.0, 1.5) + stats.norm.logpdf(b, 0.0, 1.5)
        for time, v in zip(t, y, strict=True):
            total = total + stats.norm.logpdf(v, np.exp(-np.exp(a) * time) + 0.8 * np.exp(-np.exp(b) * time), 0.05)
        return np.asarray(total)

    then = partial(_stacked, into="rate", names=("a", "b"))
    return Target(make, on_grid(log_density, then, a=(-7, 7), b=(-7, 7)), lambda draws: {"rate": draws["rate"]})


_rng = np.random.default_rng(22)
_times = np.sort(_rng.uniform(0.0, 20.0, 10))
_values = np.sin(2.0 * np.pi * 0.31 * _times) + 0.5 * _rng.normal(size=10)
_nights = np.array([0.0, 1.0, 2.1, 3.0, 29.0, 30.1, 31.0, 58.2, 59.0])
_velocities = np.cos(2.0 * np.pi * _nights / 7.3) + 0.3 * _rng.normal(size=9)
SEVERAL_MODES = {
    "galaxies": galaxies(),
    "mixture of regressions": mixture_of_regressions(),
    "sinusoid of unknown frequency": frequency(0.0, 0.5, _times, _values, 0.5, log=False),
    "radial velocity": frequency(np.log(3.0), np.log(20.0), _nights, _velocities, 0.3, log=True),
    "MA(1), both sides": moving_average(),
    "factor, signs": factor(),
    "neural network, one unit": neurons(1),
    "neural network, two units": neurons(2),
    "Gaussian process, two lengths": process(),
    "dose and response": dose_response(),
    "flip-flop kinetics": flip_flop(),
    "binding at two sites": two_sites(),
    "item response, signs": ability(),
    "Cauchy, places that contradict": location("cauchy"),
    "data against prior": location("conflict"),
    "square": location("square"),
    "sensor in a mirror": sensor(),
    "comb": comb(),
    "a mode at the border": at_the_border(),
    "sum of two decays": decay(),
}
