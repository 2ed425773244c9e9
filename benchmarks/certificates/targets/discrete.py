"""Discrete variables by the element: assignments, presence, abundance, selection, states. Truths by sums and grids."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import stats
from scipy.special import expit, gammaln, logsumexp, xlogy

import consilience as pm
import consilience.tensor as pt
from benchmarks.certificates.exact import chosen, normalised, on_grid
from benchmarks.certificates.target import Array, Draws, Target

Rng = np.random.Generator
ELEVEN = np.array([-2.1, -1.9, -2.3, -1.7, -2.0, -2.2, 1.8, 2.2, 2.0, 1.9, 2.1])


def two_groups(values: Array, centres: tuple[float, float], wide: float, noise: float) -> Target:
    """Values in two groups, memberships as Bernoulli variables; centres that are equal let labels be exchanged."""
    symmetric = centres[0] == centres[1]

    def make() -> pm.Model:
        with pm.Model() as model:
            z = pm.Bernoulli("z", 0.5, shape=len(values))
            mu = pm.Normal("mu", np.array(centres), wide, shape=2)
            pm.Normal("y", mu[z], noise, observed=values)
        return model

    def log_density(a: Array, b: Array) -> Array:
        total = stats.norm.logpdf(a, centres[0], wide) + stats.norm.logpdf(b, centres[1], wide)
        for v in values:
            total = total + np.logaddexp(-0.5 * ((v - a) / noise) ** 2, -0.5 * ((v - b) / noise) ** 2)
        return np.asarray(total)

    def then(rng: Rng, a: Array, b: Array) -> dict[str, Array]:
        mu = np.stack([a, b], axis=-1)
        return {"mu": mu, "z": chosen(rng, -0.5 * ((values[:, None] - mu[:, None, :]) / noise) ** 2)}

    def measure(draws: Draws) -> Draws:
        mu, z = draws["mu"], draws["z"]
        together = {f"{i} with 0": z[..., i] == z[..., 0] for i in (1, len(values) // 2, len(values) - 1)}
        return {"mu": np.sort(mu, axis=-1) if symmetric else mu, "first below": mu[..., 0] < mu[..., 1], **together}

    low, high = min(centres) - 5 * wide, max(centres) + 5 * wide
    return Target(make, on_grid(log_density, then, a=(low, high), b=(low, high)), measure)


def rates_of_three() -> Target:
    """Counts of three kinds whose rates are sought, kinds as Categorical variables; labels may be exchanged."""
    counts = np.random.default_rng(41).poisson(np.repeat([1.0, 6.0, 16.0], 5))

    def make() -> pm.Model:
        with pm.Model() as model:
            z = pm.Categorical("z", np.ones(3) / 3, shape=15)
            rate = pm.Gamma("rate", 1.5, 0.2, shape=3)
            pm.Poisson("y", rate[z], observed=counts)
        return model

    def log_density(a: Array, b: Array, c: Array) -> Array:
        total = 0.0
        for r in (a, b, c):
            total = total + 0.5 * np.log(r) - 0.2 * r
        for n in counts:
            total = total + np.log(sum(np.exp(xlogy(n, r) - r - gammaln(n + 1)) for r in (a, b, c)))
        return np.asarray(total)

    def measure(draws: Draws) -> Draws:
        return {"rate": np.sort(draws["rate"], axis=-1)}

    def then(rng: Rng, a: Array, b: Array, c: Array) -> dict[str, Array]:
        return {"rate": np.stack([a, b, c], axis=-1)}

    return Target(make, on_grid(log_density, then, a=(0, 60), b=(0, 60), c=(0, 60)), measure)


def occupancy(sites: int, visits: int, psi: float, p: float, seed: int) -> Target:
    """Presence at sites (MacKenzie and others 2002)."""
    rng = np.random.default_rng(seed)
    y = ((rng.random((sites, visits)) < p) & (rng.random((sites, 1)) < psi)).astype(int)
    found, total = y.any(axis=1), int(y.sum())
    n = int(found.sum())

    def make() -> pm.Model:
        with pm.Model() as model:
            psi, p = pm.Beta("psi", 1, 1), pm.Beta("p", 1, 1)
            z = pm.Bernoulli("z", psi, shape=(sites, 1), initval=np.ones((sites, 1), int))
            pm.Bernoulli("y", p * z, observed=y)
        return model

    def log_density(psi: Array, p: Array) -> Array:
        missed = np.log(psi * (1 - p) ** visits + 1 - psi)
        return np.asarray(
            n * np.log(psi) + xlogy(total, p) + (n * visits - total) * np.log1p(-p) + (sites - n) * missed
        )

    def then(rng: Rng, psi: Array, p: Array) -> dict[str, Array]:
        there = psi * (1 - p) ** visits
        z = found | (rng.random((len(psi), sites)) < (there / (there + 1 - psi))[:, None])
        return {"z": z.astype(int)[..., None]}

    def measure(draws: Draws) -> Draws:
        return {"psi": draws["psi"], "p": draws["p"], "present": draws["z"].sum(axis=(-1, -2))}

    return Target(make, on_grid(log_density, then, psi=(0, 1), p=(0, 1)), measure)


def abundance(sites: int, visits: int, mean: float, p: float, seed: int) -> Target:
    """Abundance from counts (N-mixture, Royle 2004)."""
    rng = np.random.default_rng(seed)
    y = rng.binomial(rng.poisson(mean, sites)[:, None], p, (sites, visits))
    least, total = y.max(axis=1), int(y.sum())
    n = np.arange(120)[:, None]
    with np.errstate(invalid="ignore"):
        ways = np.where(
            n >= least, (gammaln(n[..., None] + 1) - gammaln(np.maximum(n[..., None] - y, 0) + 1)).sum(-1), -np.inf
        )
    ways = ways - gammaln(n + 1.0)  # (n, site)

    def make() -> pm.Model:
        with pm.Model() as model:
            lam, p = pm.Gamma("lam", 2, 0.2), pm.Beta("p", 1, 1)
            number = pm.Poisson("n", lam, shape=(sites, 1), initval=y.max(axis=1, keepdims=True) + 2)
            pm.Binomial("y", number, p, observed=y)
        return model

    def log_density(lam: Array, p: Array) -> Array:
        log = n[:, 0] * (np.log(lam[..., None]) + visits * np.log1p(-p[..., None]))  # (..., n)
        most = log.max(axis=-1, keepdims=True)
        peak = ways.max(axis=0)
        sums = np.log(np.exp(log - most) @ np.exp(ways - peak)) + most + peak
        own = sums.sum(axis=-1) - sites * lam + total * (np.log(p) - np.log1p(-p))
        return np.asarray(own + np.log(lam) - 0.2 * lam)

    def then(rng: Rng, lam: Array, p: Array) -> dict[str, Array]:
        log = n[:, 0] * (np.log(lam[:, None]) + visits * np.log1p(-p[:, None]))
        return {"n": np.stack([chosen(rng, log + ways[:, i]) for i in range(sites)], axis=-1)[..., None]}

    def measure(draws: Draws) -> Draws:
        return {"lam": draws["lam"], "p": draws["p"], "all": draws["n"].sum(axis=(-1, -2))}

    return Target(make, on_grid(log_density, then, lam=(0, 90), p=(0, 1)), measure)


def thinned() -> Target:
    """Counts of which three in ten were seen: infinite support, a truth in closed form."""
    y = np.random.default_rng(43).binomial(np.random.default_rng(44).poisson(9.0, 8), 0.3)

    def make() -> pm.Model:
        with pm.Model() as model:
            lam = pm.Gamma("lam", 2.0, 0.2)
            n = pm.Poisson("n", lam, shape=8, initval=y + 5)
            pm.Binomial("y", n, 0.3, observed=y)
        return model

    def draw(rng: Rng, count: int) -> Draws:
        lam = rng.gamma(2.0 + y.sum(), size=count) / (0.2 + 8 * 0.3)
        return {"lam": lam, "n": y + rng.poisson(0.7 * lam[:, None], (count, 8))}

    return Target(make, draw)


def unknown_trials() -> Target:
    """Successes of an unknown number of trials, whose probability is hardly known."""
    y = np.array([5, 7, 4, 8])
    n = np.arange(8, 120)

    def make() -> pm.Model:
        with pm.Model() as model:
            number, p = pm.Poisson("n", 20.0, initval=15), pm.Beta("p", 3.0, 5.0)
            pm.Binomial("y", number, p, observed=y)
        return model

    def parts(p: Array) -> Array:
        each = stats.binom.logpmf(y[:, None], n, p[..., None, None]).sum(axis=-2)
        return np.asarray(stats.poisson.logpmf(n, 20.0) + each)

    def log_density(p: Array) -> Array:
        return np.asarray(np.concatenate([
            stats.beta.logpdf(some, 3.0, 5.0) + logsumexp(parts(some), axis=-1) for some in np.array_split(p, 50)
        ]))  # fmt: skip

    def then(rng: Rng, p: Array) -> dict[str, Array]:
        return {"n": np.concatenate([n[chosen(rng, parts(some))] for some in np.array_split(p, 50)])}

    return Target(make, on_grid(log_density, then, p=(0, 1)))


def zeros() -> Target:
    """Counts with too many zeros, the reason of each as a Bernoulli variable."""
    rng = np.random.default_rng(45)
    y = np.where(rng.random(30) < 0.6, rng.poisson(2.0, 30), 0)
    n, some, total = len(y), int((y > 0).sum()), int(y.sum())

    def make() -> pm.Model:
        with pm.Model() as model:
            psi, rate = pm.Beta("psi", 1, 1), pm.Gamma("rate", 2.0, 1.0)
            z = pm.Bernoulli("z", psi, shape=n, initval=np.ones(n, int))
            pm.Poisson("y", rate * z, observed=y)
        return model

    def log_density(psi: Array, rate: Array) -> Array:
        zero = np.log(psi * np.exp(-rate) + 1 - psi)
        prior = np.log(rate) - rate
        return np.asarray(prior + some * (np.log(psi) - rate) + total * np.log(rate) + (n - some) * zero)

    def then(rng: Rng, psi: Array, rate: Array) -> dict[str, Array]:
        there = psi * np.exp(-rate)
        z = (y > 0) | (rng.random((len(psi), n)) < (there / (there + 1 - psi))[:, None])
        return {"z": z.astype(int)}

    def measure(draws: Draws) -> Draws:
        return {"psi": draws["psi"], "rate": draws["rate"], "real": draws["z"].sum(axis=-1)}

    return Target(make, on_grid(log_density, then, psi=(0, 1), rate=(0, 15)), measure)


def hidden_states() -> Target:
    """Two hidden states of fifteen steps, written as a chain of Bernoulli variables; their levels are sought."""
    rng = np.random.default_rng(46)
    states = np.cumsum(rng.random(15) < 0.2) % 2
    y = np.array([-1.0, 1.5])[states] + 0.8 * rng.normal(size=15)

    def make() -> pm.Model:
        with pm.Model() as model:
            level = pm.Normal("level", np.array([-1.0, 1.0]), 2.0, shape=2)
            z = [pm.Bernoulli("z0", 0.5)]
            for t in range(1, 15):
                z.append(pm.Bernoulli(f"z{t}", 0.2 + 0.6 * z[-1]))
            pm.Normal("y", level[pt.stack(z)], 0.8, observed=y)
        return model

    stay = np.log(np.array([[0.8, 0.2], [0.2, 0.8]]))

    def filtered(a: Array, b: Array) -> list[Array]:
        found: list[Array] = []
        for t, v in enumerate(y):
            seen = np.stack(np.broadcast_arrays(-0.5 * ((v - a) / 0.8) ** 2, -0.5 * ((v - b) / 0.8) ** 2), axis=-1)
            before = np.log(0.5) if t == 0 else logsumexp(found[-1][..., :, None] + stay, axis=-2)
            found.append(seen + before)
        return found

    def log_density(a: Array, b: Array) -> Array:
        prior = stats.norm.logpdf(a, -1.0, 2.0) + stats.norm.logpdf(b, 1.0, 2.0)
        return np.asarray(prior + logsumexp(filtered(a, b)[-1], axis=-1))

    def then(rng: Rng, a: Array, b: Array) -> dict[str, Array]:
        forward = filtered(a, b)
        z = {14: chosen(rng, forward[14])}
        for t in range(13, -1, -1):
            z[t] = chosen(rng, forward[t] + stay.T[z[t + 1]])
        return {"level": np.stack([a, b], axis=-1), **{f"z{t}": z[t] for t in range(15)}}

    def measure(draws: Draws) -> Draws:
        events = {f"z{t}": draws[f"z{t}"] == 1 for t in (0, 4, 9, 14)}
        return {"level": draws["level"], "first below": draws["level"][..., 0] < draws["level"][..., 1], **events}

    return Target(make, on_grid(log_density, then, a=(-11, 11), b=(-11, 11)), measure)


def selection(predictors: int, correlated: bool = False, known: bool = False) -> Target:
    """Spike and slab: inclusion of predictors as Bernoulli variables (George and McCulloch 1993)."""
    rng = np.random.default_rng(3)
    if correlated:
        x = rng.normal(size=(60, 1)) + 0.1 * rng.normal(size=(60, predictors))
        y = x[:, 0] + 0.5 * rng.normal(size=60)
    else:
        x = rng.normal(size=(60, predictors))
        y = x @ np.array([1.0, 0.0, 0.25, -0.3])[:predictors] + 0.8 * rng.normal(size=60)

    def make() -> pm.Model:
        with pm.Model() as model:
            g = pm.Bernoulli("g", 0.5, shape=predictors)
            b = pm.Normal("b", 0.0, 1.0, shape=predictors)
            sigma = 0.7 if known else pm.HalfNormal("sigma", 1.0)
            pm.Normal("y", pt.dot(x, g * b), sigma, observed=y)
        return model

    grid = np.array([0.7]) if known else np.linspace(0.0005, 3.0, 3000)
    subsets = np.array(list(itertools.product((0, 1), repeat=predictors)))

    def regression(g: Array, sigma: float) -> tuple[Array, Array, float]:
        design = x * g
        precision = design.T @ design / sigma**2 + np.eye(predictors)
        mean = np.linalg.solve(precision, design.T @ y / sigma**2)
        log = 0.5 * mean @ precision @ mean - 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * y @ y / sigma**2
        return mean, np.linalg.cholesky(np.linalg.inv(precision)), float(log - 60 * np.log(sigma) - 0.5 * sigma**2)

    def draw(rng: Rng, count: int) -> Draws:
        table = [[regression(g, sigma) for sigma in grid] for g in subsets]
        logs = np.array([[one[2] for one in row] for row in table])
        which = rng.choice(logs.size, count, p=normalised(logs).ravel())
        means = np.array([one[0] for row in table for one in row])
        halves = np.array([one[1] for row in table for one in row])
        b = means[which] + np.einsum("nij,nj->ni", halves[which], rng.normal(size=(count, predictors)))
        step = 0.0 if known else grid[1] - grid[0]
        sigma = grid[which % len(grid)] + step * (rng.random(count) - 0.5)
        return {"g": subsets[which // len(grid)], "b": b, "sigma": sigma}

    def measure(draws: Draws) -> Draws:
        events = {f"in {i}": draws["g"][..., i] == 1 for i in range(predictors)}
        return {"b": draws["b"], **events, **({} if known else {"sigma": draws["sigma"]})}

    return Target(make, draw, measure)


def raters() -> Target:
    """Twelve items judged by three raters (Dawid and Skene 1979), prevalence one half; prior accuracy above a half."""
    rng = np.random.default_rng(47)
    truth = rng.random(12) < 0.5
    y = np.where(rng.random((12, 3)) < np.array([0.9, 0.75, 0.65]), truth[:, None], ~truth[:, None]).astype(int)

    def make() -> pm.Model:
        with pm.Model() as model:
            z, skill = pm.Bernoulli("z", 0.5, shape=(12, 1)), pm.Beta("skill", 2.0, 1.5, shape=3)
            pm.Bernoulli("y", z * skill + (1 - z) * (1 - skill), observed=y)
        return model

    def parts(skills: list[Array], row: Array) -> tuple[Array, Array]:
        one = sum((np.log(s) if v else np.log1p(-s)) for s, v in zip(skills, row, strict=True))
        zero = sum((np.log1p(-s) if v else np.log(s)) for s, v in zip(skills, row, strict=True))
        return zero, one

    def log_density(a: Array, b: Array, c: Array) -> Array:
        total = sum(np.log(s) + 0.5 * np.log1p(-s) for s in (a, b, c))
        for row in y:
            total = total + np.logaddexp(*parts([a, b, c], row))
        return np.asarray(total)

    def then(rng: Rng, a: Array, b: Array, c: Array) -> dict[str, Array]:
        z = [chosen(rng, np.stack(parts([a, b, c], row), axis=-1)) for row in y]
        return {"skill": np.stack([a, b, c], axis=-1), "z": np.stack(z, axis=-1)[..., None]}

    def measure(draws: Draws) -> Draws:
        better = draws["skill"].mean(axis=-1) > 0.5
        return {"skill": draws["skill"], "better than chance": better, "ones": draws["z"].sum(axis=(-1, -2))}

    return Target(make, on_grid(log_density, then, a=(0, 1), b=(0, 1), c=(0, 1)), measure)


def captures() -> Target:
    """Capture and recapture with augmented data (Royle and Dorazio 2012): fifteen seen of at most fifty."""
    y = np.zeros(50, int)
    y[:15] = [1, 2, 1, 1, 3, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1]
    total = int(y.sum())

    def make() -> pm.Model:
        with pm.Model() as model:
            psi, p = pm.Beta("psi", 1, 1), pm.Beta("p", 1, 1)
            z = pm.Bernoulli("z", psi, shape=50, initval=np.ones(50, int))
            pm.Binomial("y", 5, p * z, observed=y)
        return model

    def log_density(psi: Array, p: Array) -> Array:
        seen = 15 * np.log(psi) + total * np.log(p) + (75 - total) * np.log1p(-p)
        return np.asarray(seen + 35 * np.log(psi * (1 - p) ** 5 + 1 - psi))

    def then(rng: Rng, psi: Array, p: Array) -> dict[str, Array]:
        there = psi * (1 - p) ** 5
        unseen = rng.random((len(psi), 35)) < (there / (there + 1 - psi))[:, None]
        return {"z": np.concatenate([np.ones((len(psi), 15), int), unseen], axis=1)}

    def measure(draws: Draws) -> Draws:
        return {"psi": draws["psi"], "p": draws["p"], "size": draws["z"].sum(axis=-1)}

    return Target(make, on_grid(log_density, then, psi=(0, 1), p=(0, 1)), measure)


def classes() -> Target:
    """Two latent classes of twenty persons, who answer six items; labels may be exchanged."""
    rng = np.random.default_rng(48)
    sums = rng.binomial(6, np.where(rng.random(20) < 0.5, 0.8, 0.3))

    def make() -> pm.Model:
        with pm.Model() as model:
            z, theta = pm.Bernoulli("z", 0.5, shape=20), pm.Beta("theta", 1.0, 1.0, shape=2)
            pm.Binomial("y", 6, theta[z], observed=sums)
        return model

    def each(theta: Array, s: Array) -> Array:
        return np.asarray(s * np.log(theta) + (6 - s) * np.log1p(-theta))

    def log_density(a: Array, b: Array) -> Array:
        return np.asarray(sum(np.logaddexp(each(a, s), each(b, s)) for s in sums))

    def then(rng: Rng, a: Array, b: Array) -> dict[str, Array]:
        theta = np.stack([a, b], axis=-1)
        return {"theta": theta, "z": chosen(rng, each(theta[:, None, :], sums[:, None]))}

    def measure(draws: Draws) -> Draws:
        theta, z = draws["theta"], draws["z"]
        return {
            "theta": np.sort(theta, axis=-1),
            "0 with 1": z[..., 0] == z[..., 1],
            "up": theta[..., 0] < theta[..., 1],
        }

    return Target(make, on_grid(log_density, then, a=(0, 1), b=(0, 1)), measure)


def outliers() -> Target:
    """A line with flags for outliers (Hogg, Bovy and Lang 2010)."""
    rng = np.random.default_rng(49)
    x = np.linspace(-1.0, 1.0, 12)
    y = 0.5 + 1.5 * x + 0.3 * rng.normal(size=12)
    y[[2, 9]] += [4.0, -3.0]

    def make() -> pm.Model:
        with pm.Model() as model:
            a, b = pm.Normal("a", 0.0, 3.0), pm.Normal("b", 0.0, 3.0)
            flag = pm.Bernoulli("flag", 0.15, shape=12)
            pm.Normal("y", a + b * x, pt.switch(flag, 4.0, 0.3), observed=y)
        return model

    def parts(a: Array, b: Array, u: float, v: float) -> tuple[Array, Array]:
        off = v - a - b * u
        good = np.log(0.85 / 0.3) - 0.5 * (off / 0.3) ** 2
        return np.asarray(good), np.asarray(np.log(0.15 / 4.0) - 0.5 * (off / 4.0) ** 2)

    def log_density(a: Array, b: Array) -> Array:
        total = stats.norm.logpdf(a, 0.0, 3.0) + stats.norm.logpdf(b, 0.0, 3.0)
        for u, v in zip(x, y, strict=True):
            total = total + np.logaddexp(*parts(a, b, u, v))
        return np.asarray(total)

    def then(rng: Rng, a: Array, b: Array) -> dict[str, Array]:
        flags = [chosen(rng, np.stack(parts(a, b, u, v), axis=-1)) for u, v in zip(x, y, strict=True)]
        return {"flag": np.stack(flags, axis=-1)}

    def measure(draws: Draws) -> Draws:
        return {"a": draws["a"], "b": draws["b"], "flags": draws["flag"].sum(axis=-1)}

    return Target(make, on_grid(log_density, then, a=(-12, 12), b=(-12, 12)), measure)


def guessing() -> Target:
    """Who knows and who guesses, of twenty persons: a Bernoulli variable for each, two probabilities."""
    sums = np.array([5, 6, 4, 9, 10, 8, 5, 10, 9, 3, 5, 7, 9, 10, 6, 5, 8, 4, 9, 5])

    def make() -> pm.Model:
        with pm.Model() as model:
            knows = pm.Bernoulli("knows", 0.5, shape=20)
            skill = pm.Normal("skill", 1.5, 1.0)
            pm.Binomial("y", 10, pt.switch(knows, pm.math.invlogit(skill), 0.5), observed=sums)
        return model

    def parts(skill: Array) -> Array:
        p = expit(skill)[..., None]
        able = sums * np.log(p) + (10 - sums) * np.log1p(-p)
        return np.stack(np.broadcast_arrays(10 * np.log(0.5), able), axis=-1)

    def log_density(skill: Array) -> Array:
        return np.asarray(stats.norm.logpdf(skill, 1.5, 1.0) + np.logaddexp.reduce(parts(skill), axis=-1).sum(axis=-1))

    def then(rng: Rng, skill: Array) -> dict[str, Array]:
        return {"knows": chosen(rng, parts(skill))}

    return Target(
        make, on_grid(log_density, then, skill=(-6, 8)), lambda d: {"skill": d["skill"], "know": d["knows"].sum(-1)}
    )


DISCRETE = {
    "eleven values in two groups": two_groups(ELEVEN, (0.0, 0.0), 3.0, 0.5),
    "eleven values, groups told apart": two_groups(ELEVEN + 0.3, (-1.0, 1.0), 3.0, 0.5),
    "groups that overlap": two_groups(ELEVEN / 2, (-1.0, 1.0), 1.5, 0.8),
    "rates of three kinds": rates_of_three(),
    "occupancy": occupancy(40, 4, 0.6, 0.4, 2),
    "occupancy, rarely seen": occupancy(30, 3, 0.5, 0.15, 42),
    "abundance": abundance(25, 3, 8.0, 0.4, 1),
    "abundance, small": abundance(8, 4, 5.0, 0.5, 50),
    "thinned counts": thinned(),
    "unknown number of trials": unknown_trials(),
    "too many zeros": zeros(),
    "hidden states": hidden_states(),
    "selection of 1": selection(1, known=True),
    "selection of 2, collinear": selection(2, correlated=True),
    "selection of 3": selection(3),
    "selection of 4": selection(4, known=True),
    "raters": raters(),
    "captures": captures(),
    "latent classes": classes(),
    "outliers": outliers(),
    "knowing or guessing": guessing(),
}
