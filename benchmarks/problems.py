"""The densities to be timed: data, the same formula in NumPy, and which C file holds it.

Positions are unconstrained, in the order in which `benchmarks/models.py` declares the variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RADON = Path(__file__).resolve().parent.parent / "src" / "consilience" / "datasets" / "radon.csv"
LOG_2PI = float(np.log(2 * np.pi))

EFFECTS = np.array([28, 8, -3, 7, -1, 1, 18, 12], dtype=float)
ERRORS = np.array([15, 10, 16, 11, 9, 11, 10, 18], dtype=float)


@dataclass(frozen=True)
class Problem:
    """One density: `fields` and the constant fill the C file's `struct data`, in that order.

    gradient   in NumPy, where differences of so many coordinates would take too long
    """

    name: str
    source: str
    sizes: dict[str, int]
    fields: tuple[np.ndarray, ...]
    constant: float
    position: np.ndarray
    logp: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray] | None = None


def normal(x: np.ndarray | float, mu: np.ndarray | float, sigma: np.ndarray | float) -> float:
    """Summed log density of the normal distribution."""
    z = (np.asarray(x) - mu) / sigma
    return float(np.sum(-0.5 * z * z - np.log(sigma) - 0.5 * LOG_2PI))


def half_normal(x: float, sigma: float) -> float:
    """Log density of the half-normal distribution."""
    return normal(x, 0, sigma) + float(np.log(2))


def start(dimension: int, seed: int = 1) -> np.ndarray:
    """A position near the origin."""
    return 0.3 * np.random.default_rng(seed).standard_normal(dimension)


def eight_schools() -> Problem:
    """Eight schools, non-centred: q = mu, log tau, z[8]."""

    def logp(q: np.ndarray) -> float:
        mu, log_tau, z = q[0], q[1], q[2:]
        tau = np.exp(log_tau)
        half_cauchy = np.log(2 / (np.pi * 5)) - np.log1p((tau / 5) ** 2)
        return normal(mu, 0, 5) + half_cauchy + log_tau + normal(z, 0, 1) + normal(EFFECTS, mu + tau * z, ERRORS)

    constant = normal(0, 0, 5) + np.log(2 / (5 * np.pi)) + normal(np.zeros(8), 0, 1) + normal(EFFECTS, EFFECTS, ERRORS)
    return Problem("eight schools", "eight_schools", {"J": 8}, (EFFECTS, ERRORS**-2), float(constant), start(10), logp)


def radon_data() -> dict[str, np.ndarray]:
    """The radon data: county from 1, floor, log radon and log uranium of each house, and how many of both there are."""
    table = np.genfromtxt(RADON, delimiter=",", names=True)
    whole = {"county_idx": table["county"].astype(np.int64), "floor_measure": table["floor"].astype(np.int64)}
    sizes = {"N": np.asarray(len(table)), "J": whole["county_idx"].max()}
    return {**sizes, **whole, "log_radon": table["log_radon"], "log_uppm": table["log_uranium"]}


def radon(by_county: bool = False) -> Problem:
    """The model of `examples/radon.py`; q in its order of declaration, scales as logarithms.

    With `by_county` C gets the houses sorted by county and where each county starts.
    """
    data = radon_data()
    houses, counties = int(data["N"]), int(data["J"])
    county, y, floor = (
        data["county_idx"] - 1,
        data["log_radon"].astype(float),
        data["floor_measure"].astype(float),
    )
    uranium = data["log_uppm"][np.unique(county, return_index=True)[1]].astype(float)
    order = np.argsort(county, kind="stable") if by_county else np.arange(houses)
    index = np.searchsorted(county[order], np.arange(counties + 1)) if by_county else county

    def logp(q: np.ndarray) -> float:
        (intercept, slope, effect), (si, sf), sigma = q[:3], np.exp(q[3:5]), np.exp(q[-1])
        z_intercept, z_floor = q[5 : 5 + counties], q[5 + counties : 5 + 2 * counties]
        a, b = intercept + slope * uranium + si * z_intercept, effect + sf * z_floor
        prior = normal(q[:3], 0, 5) + half_normal(si, 1) + half_normal(sf, 1) + half_normal(sigma, 1)
        jacobian = q[3] + q[4] + q[-1]
        varying = normal(z_intercept, 0, 1) + normal(z_floor, 0, 1)
        return prior + jacobian + varying + normal(y, a[county] + b[county] * floor, sigma)

    terms = 3 + 3 + 2 * counties + houses
    constant = -0.5 * LOG_2PI * terms - 3 * np.log(5) + 3 * np.log(2)
    return Problem(
        "radon, C sorted by county" if by_county else "radon",
        "radon",
        {"N": houses, "J": counties, "SORTED": int(by_county)},
        (y[order], floor[order], index.astype(np.int32), uranium),
        float(constant),
        start(6 + 2 * counties),
        logp,
    )


@functools.cache
def logistic_data(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """A design matrix with independent normal columns and outcomes drawn from the model."""
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, columns))
    beta = rng.standard_normal(columns) / np.sqrt(columns)
    return x, (rng.random(rows) < 1 / (1 + np.exp(-x @ beta))).astype(np.int64)


def logistic(rows: int, columns: int) -> Problem:
    """Logistic regression, beta ~ N(0, 2.5)."""
    x, y = logistic_data(rows, columns)

    def logp(q: np.ndarray) -> float:
        eta = x @ q
        return normal(q, 0, 2.5) + float(np.sum(y * eta - np.logaddexp(0, eta)))

    constant = -columns * (0.5 * LOG_2PI + np.log(2.5))
    return Problem(
        f"logistic {rows}x{columns}",
        "logistic",
        {"N": rows, "K": columns},
        (np.ascontiguousarray(x.T), y.astype(float)),
        float(constant),
        start(columns),
        logp,
    )


@functools.cache
def ratings_data(ratings: int, people: int, films: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who rated which film, in no order, and how."""
    rng = np.random.default_rng(ratings)
    return rng.integers(0, people, ratings), rng.integers(0, films, ratings), rng.standard_normal(ratings)


def factorisation(ratings: int = 90_000, people: int = 943, films: int = 1682, factors: int = 10) -> Problem:
    """Ratings as products of factors: q = U, V, log sigma."""
    person, film, y = ratings_data(ratings, people, films)
    size = people * factors

    def parts(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        u, v = q[:size].reshape(people, factors), q[size:-1].reshape(films, factors)
        return u, v, y - (u[person] * v[film]).sum(1), float(np.exp(q[-1]))

    def logp(q: np.ndarray) -> float:
        _, _, residual, sigma = parts(q)
        return normal(q[:-1], 0, 1) + half_normal(sigma, 1) + q[-1] + normal(residual, 0, sigma)

    def gradient(q: np.ndarray) -> np.ndarray:
        u, v, residual, sigma = parts(q)
        weighted, gu, gv = residual[:, None] / sigma**2, -u, -v
        np.add.at(gu, person, weighted * v[film])
        np.add.at(gv, film, weighted * u[person])
        scale = residual @ residual / sigma**2 - ratings + 1 - sigma**2
        return np.concatenate([gu.ravel(), gv.ravel(), [scale]])

    coordinates = (people + films) * factors + 1
    constant = np.log(2) - 0.5 * LOG_2PI * (coordinates + ratings)
    sizes = {"N": ratings, "P": people, "F": films, "K": factors}
    name, fields = f"factorisation {ratings}x{factors}", (y, person, film)
    return Problem(name, "factorisation", sizes, fields, float(constant), start(coordinates), logp, gradient)


@functools.cache
def mixture_data(rows: int) -> np.ndarray:
    """Draws from three normal distributions."""
    rng = np.random.default_rng(rows)
    component = rng.choice(3, rows, p=[0.3, 0.3, 0.4])
    return np.array([-2.0, 0.0, 3.0])[component] + np.array([1.0, 0.5, 1.0])[component] * rng.standard_normal(rows)


def normal_mixture(rows: int, components: int = 3) -> Problem:
    """Mixture of normal distributions, w ~ Dirichlet(1), mu ~ N(0, 3), sigma ~ half-N(2)."""
    from scipy.special import gammaln  # models alone do not need it

    y = mixture_data(rows)

    def logp(q: np.ndarray) -> float:
        z = np.append(q[: components - 1], -q[: components - 1].sum())
        mu, log_sigma = q[components - 1 : 2 * components - 1], q[2 * components - 1 :]
        log_w = z - np.log(np.exp(z).sum())
        terms = log_w - log_sigma - 0.5 * ((y[:, None] - mu) / np.exp(log_sigma)) ** 2 - 0.5 * LOG_2PI
        priors = normal(mu, 0, 3) + sum(half_normal(s, 2) for s in np.exp(log_sigma)) + log_sigma.sum()
        jacobian = np.log(components) - components * np.log(np.exp(z).sum())
        return float(np.log(np.exp(terms).sum(1)).sum() + priors + gammaln(components) + jacobian)

    position = start(3 * components - 1)
    zero = normal(np.zeros(components), 0, 3) + components * half_normal(0, 2)
    constant = zero + gammaln(components) + np.log(components) - 0.5 * LOG_2PI * rows
    sizes = {"N": rows, "K": components}
    return Problem(f"mixture {components}x{rows}", "normal_mixture", sizes, (y,), float(constant), position, logp)


@functools.cache
def gaussian_process_data(points: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Noisy observations of a smooth curve."""
    rng = np.random.default_rng(points)
    x = np.linspace(0, 10, points)
    return x, np.sin(x) + 0.3 * rng.standard_normal(points)


def gaussian_process_covariance(q: np.ndarray, points: int = 200) -> np.ndarray:
    """RBF kernel plus noise at q = log rho, log alpha, log sigma."""
    x, _ = gaussian_process_data(points)
    rho, alpha, sigma = np.exp(q)
    squares = (x[:, None] - x[None, :]) ** 2
    return alpha**2 * np.exp(-0.5 * squares / rho**2) + sigma**2 * np.eye(points)


def gaussian_process_logp(q: np.ndarray, points: int = 200) -> float:
    """Marginal density: rho ~ Gamma(25, 4), alpha ~ half-N(2), sigma ~ half-N(1), y ~ N(0, K)."""
    from scipy.special import xlogy  # models alone do not need it

    _, y = gaussian_process_data(points)
    rho, alpha, sigma = np.exp(q)
    gamma = 25 * np.log(4) - 54.78472939811232 + xlogy(24, rho) - 4 * rho  # log Gamma(25) = 54.78...
    factor = np.linalg.cholesky(gaussian_process_covariance(q, points))
    z = np.linalg.solve(factor, y)
    evidence = -0.5 * z @ z - np.log(np.diag(factor)).sum() - 0.5 * points * LOG_2PI
    return float(gamma + half_normal(alpha, 2) + half_normal(sigma, 1) + q.sum() + evidence)


def problems() -> list[Problem]:
    """All densities that have a counterpart in C."""
    return [
        eight_schools(),
        radon(),
        radon(by_county=True),
        logistic(1000, 10),
        logistic(100_000, 20),
        logistic(100_000, 100),
        factorisation(),
        normal_mixture(1000),
    ]
