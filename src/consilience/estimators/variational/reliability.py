"""How far an approximation is from the posterior: its moments against three estimates of those of the posterior.

Draws of the approximation, with log densities of both and slopes, in; a tail index and what there is to warn of out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.estimators.approximations.importance import LARGEST, weighted
from consilience.estimators.approximations.target import Floats
from consilience.estimators.variational.approximation import Approximation
from consilience.record import Record

DEVIATION: Final = 0.3  # of means, in standard deviations
SPREAD: Final = 0.2  # of standard deviations; less, for importance ratios find but a part of what tails lack
UNVARIED: Final = 1e-6  # range of log ratios below which they are equal


class Reliability(Record, eq=False):
    """What is known of an approximation.

    `pareto_k`: tail index of the importance ratios; -inf where they do not vary. `deviation`: largest distance between
    its means and those of the posterior, in its standard deviations. `warning`: what to tell, or nothing.
    """

    pareto_k: float
    deviation: float
    warning: str


class Moments(Record, eq=False):
    """The posterior's moments as one method estimates them.

    `method`: for messages. `shift`: of the means, in standard deviations of the approximation, float64[dimension].
    `spread`: standard deviations over those of the approximation, float64[dimension].
    """

    method: str
    shift: Floats
    spread: Floats

    def warning(self, approx: Approximation) -> str:
        """What is off by more than `DEVIATION` or `SPREAD`, or nothing."""
        far, wide = int(np.argmax(np.abs(self.shift))), int(np.argmax(np.abs(self.spread - 1.0)))
        coordinate = approx.target.coordinate
        if abs(self.shift[far]) > DEVIATION:
            off = f"the mean of `{coordinate(far)}` {abs(self.shift[far]):.2f} standard deviations from its own"
            return f"{self.method} put {off}"
        if abs(self.spread[wide] - 1.0) > SPREAD:
            off = f"the standard deviation of `{coordinate(wide)}` at {self.spread[wide]:.2f} times its own"
            return f"{self.method} put {off}"
        return ""


def by_ratios(approx: Approximation, points: Floats, logp: Floats, logq: Floats) -> tuple[float, Moments]:
    """Tail index of the importance ratios of draws, and the moments of the draws with smoothed weights."""
    ratios = logp - logq
    n = points.shape[1]
    if np.isfinite(ratios).all() and np.ptp(ratios) < UNVARIED:
        return -np.inf, Moments("importance ratios", np.zeros(n), np.ones(n))
    found = weighted(points, logp, logq)
    mean = found.weights @ points
    spread = np.sqrt(found.weights @ (points - mean) ** 2) / points.std(0)
    return found.pareto_k, Moments("importance ratios", (mean - points.mean(0)) / approx.moments()[1], spread)


def by_slopes(approx: Approximation, points: Floats, slopes: Floats) -> Moments | None:
    """Moments of the normal whose slopes are nearest to those of the posterior at the draws, by least squares.

    It sees correlations that the approximation lacks, of which importance ratios tell little. None where the slopes are
    not those of a normal.
    """
    mean, std = approx.moments()
    normals = (points - mean) / std
    rows = np.isfinite(slopes).all(1)
    design = np.concatenate([np.ones((rows.sum(), 1)), normals[rows]], 1)
    if len(design) < 2 * design.shape[1]:
        return None
    fitted = np.linalg.lstsq(design, slopes[rows] * std, rcond=None)[0]
    precision = -0.5 * (fitted[1:] + fitted[1:].T)
    eigenvalues, vectors = np.linalg.eigh(precision)
    if eigenvalues[0] <= 0.0:
        return None
    covariance = (vectors / eigenvalues) @ vectors.T
    return Moments("slopes of the density", covariance @ fitted[0], np.sqrt(np.diag(covariance)))


def by_chains(approx: Approximation, ends: Floats) -> Moments:
    """Moments of where short chains are that began at draws, float64[chains, dimension].

    They see what no draw is near to, as the tails of a funnel, and in part only: what they find is a beginning.
    """
    mean, std = approx.moments()
    return Moments("short chains from its draws", (ends.mean(0) - mean) / std, ends.std(0) / std)


def examined(
    approx: Approximation,
    points: Floats,
    logp: Floats,
    logq: Floats,
    slopes: Floats | None,
    ends: Floats | None,
) -> Reliability:
    """The verdict of all, from draws, float64[draws, dimension].

    `slopes`: of the log density at the first of them, float64[fewer, dimension], or None. `ends`: where chains came to
    that began at the first of them, float64[fewer, dimension], or None.
    """
    index, moments = by_ratios(approx, points, logp, logq)
    judged = [moments]
    normal = None if slopes is None else by_slopes(approx, points[: len(slopes)], slopes)
    if normal is not None:
        judged.append(normal)
    if ends is not None:
        judged.append(by_chains(approx, ends))
    warning = next(filter(None, (m.warning(approx) for m in judged)), "")
    if np.isnan(index) or index > LARGEST:
        warning = (
            f"the Pareto tail index of the importance ratios is {index:.2f}, above {LARGEST}: its tails are too light, "
            "or it lies elsewhere, so that they cannot tell how far off it is"
        )
    return Reliability(index, float(max(np.abs(m.shift).max() for m in judged)), warning)
