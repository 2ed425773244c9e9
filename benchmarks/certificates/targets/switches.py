"""Change points, indices of models and switches: whole numbers on which everything hangs. Truths by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaln

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.exact import chosen, normalised, on_grid
from benchmarks.certificates.target import Array, Draws, Target

STEPS, NOISE, WIDE = 100, 0.5, 3.0


def evidence(values: Array) -> tuple[float, float, float]:
    """Log evidence of normal values around one level, and mean and deviation of the level's posterior."""
    precision = 1.0 / WIDE**2 + len(values) / NOISE**2
    mean = values.sum() / NOISE**2 / precision
    log = stats.norm.logpdf(values, 0.0, NOISE).sum() + 0.5 * mean**2 * precision
    return float(log - 0.5 * np.log(precision * WIDE**2)), float(mean), float(precision**-0.5)


def of_partitions(partitions: Array, values: Array, index: Callable[[Array], dict[str, Array]]) -> Any:
    """Draws of the places (combination, place) at which values are divided, and of the levels between."""
    parts = [
        [evidence(part) for part in np.split(values, places)] for places in partitions
    ]  # (combination, level): log evidence, mean, deviation
    logs = np.array([[one[0] for one in row] for row in parts])
    means = np.array([[one[1] for one in row] for row in parts])
    sds = np.array([[one[2] for one in row] for row in parts])
    shares = normalised(logs.sum(axis=1))

    def draw(rng: np.random.Generator, count: int) -> Draws:
        which = rng.choice(len(shares), count, p=shares)
        return {
            **index(partitions[which]),
            "level": means[which] + sds[which] * rng.normal(size=(count, means.shape[1])),
        }

    return draw


def one_step(height: float, **more: Any) -> Target:
    """One step in a series that has two, of `height` and 1: two places of like mass, 40 steps apart."""
    values = np.random.default_rng(11).normal(0.0, 0.35, STEPS)
    values[30:70] += height
    values[70:] += height + 1.0

    def make() -> pm.Model:
        with pm.Model() as model:
            k = pm.DiscreteUniform("k", 1, STEPS - 1)
            level = pm.Normal("level", 0.0, WIDE, shape=2)
            pm.Normal("y", pt.switch(np.arange(STEPS) < k, level[0], level[1]), NOISE, observed=values)
        return model

    def measure(draws: Draws) -> Draws:
        return {**draws, "early": draws["k"] < 50}

    draw = of_partitions(np.arange(1, STEPS)[:, None], values, lambda places: {"k": places[:, 0]})
    return Target(make, draw, measure, **more)


def two_steps() -> Target:
    """Two change points that may lie anywhere in their halves, three levels."""
    values = np.random.default_rng(12).normal(0.0, 0.5, 40)
    values[12:] += 1.0
    values[28:] -= 1.2

    def make() -> pm.Model:
        t = np.arange(40)
        with pm.Model() as model:
            k, m = pm.DiscreteUniform("k", 1, 19), pm.DiscreteUniform("m", 20, 39)
            level = pm.Normal("level", 0.0, WIDE, shape=3)
            mu = pt.switch(t < k, level[0], pt.switch(t < m, level[1], level[2]))
            pm.Normal("y", mu, NOISE, observed=values)
        return model

    places = np.stack(np.meshgrid(np.arange(1, 20), np.arange(20, 40), indexing="ij"), axis=-1).reshape(-1, 2)
    return Target(make, of_partitions(places, values, lambda found: {"k": found[:, 0], "m": found[:, 1]}))


def disasters() -> Target:
    """Yearly counts with a change of their rate, as the disasters of coal mines (Jarrett 1979); data simulated."""
    counts = np.random.default_rng(13).poisson(np.where(np.arange(60) < 25, 3.0, 1.4))

    def make() -> pm.Model:
        with pm.Model() as model:
            k, rate = pm.DiscreteUniform("k", 1, 59), pm.Exponential("rate", 1.0, shape=2)
            pm.Poisson("y", pt.switch(np.arange(60) < k, rate[0], rate[1]), observed=counts)
        return model

    split = [(counts[:k].sum(), k, counts[k:].sum(), 60 - k) for k in range(1, 60)]
    shares = normalised(
        np.array([sum(gammaln(1 + s) - (1 + s) * np.log(1.0 + n) for s, n in ((a, m), (b, o))) for a, m, b, o in split])
    )

    def draw(rng: np.random.Generator, count: int) -> Draws:
        which = rng.choice(59, count, p=shares)
        sums, years = np.array([(a, b) for a, _, b, _ in split]), np.array([(m, o) for _, m, _, o in split])
        return {"k": which + 1, "rate": rng.gamma(1.0 + sums[which]) / (1.0 + years[which])}

    return Target(make, draw)


def kind_of_curve() -> Target:
    """Which of three curves: the index of a model with parameters in common."""
    x = np.linspace(0.1, 2.0, 10)
    y = 1.2 * x + 0.3 * np.random.default_rng(14).normal(size=10)

    def curves(a: Any, b: Any, module: Any) -> list[Any]:
        return [a * x, a * x**2 + b, a * module.exp(-x) + b]

    def make() -> pm.Model:
        with pm.Model() as model:
            kind = pm.Categorical("kind", np.ones(3) / 3)
            a, b = pm.Normal("a", 0.0, 2.0), pm.Normal("b", 0.0, 2.0)
            pm.Normal("y", pt.stack(curves(a, b, pt))[kind], 0.5, observed=y)
        return model

    def parts(a: Array, b: Array) -> Array:
        logs = [stats.norm.logpdf(y, c, 0.5).sum(-1) for c in curves(a[..., None], b[..., None], np)]
        return np.stack(np.broadcast_arrays(*logs), axis=-1)

    def log_density(a: Array, b: Array) -> Array:
        prior = stats.norm.logpdf(a, 0.0, 2.0) + stats.norm.logpdf(b, 0.0, 2.0)
        return np.asarray(prior + np.logaddexp.reduce(parts(a, b), axis=-1))

    def then(rng: np.random.Generator, a: Array, b: Array) -> dict[str, Array]:
        return {"kind": chosen(rng, parts(a, b))}

    def measure(draws: Draws) -> Draws:
        return {"a": draws["a"], "b": draws["b"], **{f"kind {i}": draws["kind"] == i for i in range(3)}}

    return Target(make, on_grid(log_density, then, a=(-9, 9), b=(-9, 9)), measure)


def switched(weight: float, far: float) -> Target:
    """A switch that moves a normal variable to another place."""

    def make() -> pm.Model:
        with pm.Model() as model:
            z = pm.Bernoulli("z", weight)
            pm.Normal("x", far * z, 1.0)
        return model

    def draw(rng: np.random.Generator, count: int) -> Draws:
        z = (rng.random(count) < weight).astype(int)
        return {"z": z, "x": far * z + rng.normal(size=count)}

    return Target(make, draw, lambda draws: {"x": draws["x"], "on": draws["z"] == 1})


def tails_by_index() -> Target:
    """Degrees of freedom from a list, an outlier in the data."""
    degrees, data = np.array([1.0, 3.0, 30.0]), np.array([0.1, -0.4, 0.8, 0.3, 6.0])

    def make() -> pm.Model:
        with pm.Model() as model:
            which, mu = pm.Categorical("which", np.ones(3) / 3), pm.Normal("mu", 0.0, 5.0)
            pm.StudentT("y", pt.constant(degrees)[which], mu, 1.0, observed=data)
        return model

    def parts(mu: Array) -> Array:
        return np.stack([stats.t.logpdf(data, nu, mu[..., None], 1.0).sum(-1) for nu in degrees], axis=-1)

    def log_density(mu: Array) -> Array:
        return np.asarray(stats.norm.logpdf(mu, 0.0, 5.0) + np.logaddexp.reduce(parts(mu), axis=-1))

    def then(rng: np.random.Generator, mu: Array) -> dict[str, Array]:
        return {"which": chosen(rng, parts(mu))}

    def measure(draws: Draws) -> Draws:
        return {"mu": draws["mu"], **{f"degrees {nu:.0f}": draws["which"] == i for i, nu in enumerate(degrees)}}

    return Target(make, on_grid(log_density, then, mu=(-30, 30)), measure)


def enumerated(make: Callable[[], pm.Model], values: dict[str, Array], logs: Array, **more: Any) -> Target:
    """A posterior of discrete variables alone: all combinations (combination, ...) with their log weights."""
    shares = normalised(logs)

    def draw(rng: np.random.Generator, count: int) -> Draws:
        which = rng.choice(len(shares), count, p=shares)
        return {name: table[which] for name, table in values.items()}

    return Target(make, draw, **more)


def tanks() -> Target:
    """How many there are, from the numbers of five that were seen: a whole number up to a million."""
    seen = np.array([61, 19, 56, 24, 16])

    def make() -> pm.Model:
        with pm.Model() as model:
            n = pm.DiscreteUniform("n", 1, 1_000_000, initval=100)
            pm.DiscreteUniform("y", 1, n, observed=seen)
        return model

    n = np.arange(seen.max(), 1_000_001)
    return enumerated(make, {"n": n}, -5.0 * np.log(n))


def waiting() -> Target:
    """A geometric number seen with noise: infinite support."""

    def make() -> pm.Model:
        with pm.Model() as model:
            n = pm.Geometric("n", 0.1)
            pm.Normal("y", n, 2.0, observed=[6.2, 9.1])
        return model

    n = np.arange(1, 60)
    return enumerated(make, {"n": n}, n * np.log(0.9) + stats.norm.logpdf(6.2, n, 2.0) + stats.norm.logpdf(9.1, n, 2.0))


def constrained_sum() -> Target:
    """Two counts whose sum is known closely: no move of one alone is possible."""

    def make() -> pm.Model:
        with pm.Model() as model:
            a, b = pm.Poisson("a", 5.0), pm.Poisson("b", 5.0)
            pm.Normal("y", a + b, 0.25, observed=12.0)
        return model

    a, b = (x.ravel() for x in np.meshgrid(np.arange(40), np.arange(40), indexing="ij"))
    logs = stats.poisson.logpmf(a, 5.0) + stats.poisson.logpmf(b, 5.0) + stats.norm.logpdf(12.0, a + b, 0.25)
    return enumerated(make, {"a": a, "b": b}, logs)


def ising(coupling: float, field: float, **more: Any) -> Target:
    """Nine spins in a square."""
    pairs = [(3 * i + j, 3 * i + j + 1) for i in range(3) for j in range(2)]
    pairs += [(3 * i + j, 3 * i + j + 3) for i in range(2) for j in range(3)]
    left, right = np.array(pairs).T

    def make() -> pm.Model:
        with pm.Model() as model:
            x = pm.Bernoulli("x", 0.5, shape=9)
            s = 2.0 * x - 1.0
            pm.Potential("energy", coupling * pt.sum(s[left] * s[right]) + field * pt.sum(s))
        return model

    states = (np.arange(512)[:, None] >> np.arange(9)) & 1
    s = 2.0 * states - 1.0
    logs = coupling * (s[:, left] * s[:, right]).sum(1) + field * s.sum(1)

    def measure(draws: Draws) -> Draws:
        return {
            "up": draws["x"].sum(axis=-1),
            "most up": draws["x"].sum(axis=-1) > 4,
            "corners": draws["x"][..., 0] == 1,
        }

    return enumerated(make, {"x": states}, logs, measure=measure, **more)


def alarm() -> Target:
    """Causes of an alarm (Pearl's network): burglary, earthquake, and two neighbours who call."""

    def chance(b: Any, e: Any) -> Any:
        return 0.01 + 0.9 * b + 0.3 * e - 0.25 * b * e

    def make() -> pm.Model:
        with pm.Model() as model:
            b, e = pm.Bernoulli("b", 0.05), pm.Bernoulli("e", 0.1)
            a = pm.Bernoulli("a", chance(b, e))
            pm.Bernoulli("john", 0.05 + 0.85 * a, observed=1)
            pm.Bernoulli("mary", 0.02 + 0.65 * a, observed=1)
        return model

    b, e, a = (np.arange(8)[:, None] >> np.arange(3) & 1).T
    prior = stats.bernoulli.logpmf(b, 0.05) + stats.bernoulli.logpmf(e, 0.1) + stats.bernoulli.logpmf(a, chance(b, e))
    return enumerated(make, {"b": b, "e": e, "a": a}, prior + np.log(0.05 + 0.85 * a) + np.log(0.02 + 0.65 * a))


SWITCHES = {
    **{f"one step for two, {height:.2f}": one_step(height) for height in (0.98, 1.0, 1.02)},
    "one step for two, one chain": one_step(1.0, settings={"chains": 1}),
    "one step for two, 1,000 draws": one_step(1.0, settings={"draws": 1000}),
    "one step for two, Metropolis": one_step(1.0, step=pm.Metropolis),
    "two change points": two_steps(),
    "change of a rate": disasters(),
    "kind of curve": kind_of_curve(),
    "switch at 10 sd": switched(0.3, 10.0),
    "switch at 3 sd": switched(0.5, 3.0),
    "tails by index": tails_by_index(),
    "how many tanks": tanks(),
    "geometric number": waiting(),
    "sum that is known": constrained_sum(),
    "nine spins": ising(0.3, 0.1),
    "nine spins, Gibbs": ising(0.3, 0.1, step=pm.BinaryGibbsMetropolis),
    "nine spins, strongly coupled": ising(0.9, 0.02),
    "alarm": alarm(),
}
