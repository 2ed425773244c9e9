"""How much of a posterior lies around a mode: by the curvature there, and by importance sampling.

Laplace: the mass of the normal with the mode's height and curvature. Importance sampling: draws from the equal mixture
of Student-t distributions with 30 degrees of freedom around all modes; a draw's weight is shared among the regions in
proportion to the density of their components times Laplace's mass.
"""

from __future__ import annotations

from math import lgamma
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.inference.modes.evaluations import Evaluations, Floats
from consilience.record import Record

FREEDOM: Final = 30.0  # degrees of freedom of the proposals
DRAWS: Final = 400  # per region
NUDGE: Final = 1e-5  # of a coordinate, or absolute, for differences of gradients
SINGULAR: Final = 1e-8  # least eigenvalue of the scaled curvature as a share of the greatest: differences know no less


class Curvature(Record, eq=False):
    """What is known of a mode whose negative Hessian, of all coordinates or of a block, is positive definite.

    `factor`: Cholesky factor of its inverse, float64[block, block]. `whitening`: the inverse of `factor`. `log_volume`:
    log of the factor's determinant. `decrement`: `g' H^-1 g` with the gradient g there: twice the gain that is left.
    """

    factor: Floats
    whitening: Floats
    log_volume: float
    decrement: float


def curvature_at(evaluations: Evaluations, mode: Floats) -> Curvature | None:
    """By differences of gradients, 2 dimension of them; None if the Hessian is not negative definite there."""
    n = len(mode)
    width = NUDGE * np.maximum(1.0, np.abs(mode))
    moves = np.concatenate([np.diag(width), -np.diag(width)])
    gradients = evaluations.gradients(mode + moves)
    if not np.isfinite(gradients).all():
        return None
    return definite((gradients[n:] - gradients[:n]) / (2.0 * width[:, None]), gradients.mean(0))


def definite(hessian: Floats, gradient: Floats) -> Curvature | None:
    """What follows from a negative Hessian, and the gradient; None unless it is positive definite."""
    hessian = 0.5 * (hessian + hessian.T)
    diagonal = np.diag(hessian)
    if not (np.isfinite(hessian).all() and np.isfinite(gradient).all()) or diagonal.min() <= 0.0:
        return None
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(scale[:, None] * hessian * scale)
    if values[0] <= SINGULAR * values[-1]:
        return None
    covariance = (scale[:, None] * vectors) / values @ (scale[:, None] * vectors).T
    factor = np.linalg.cholesky(0.5 * (covariance + covariance.T))
    decrement = float(((gradient @ factor) ** 2).sum())
    return Curvature(factor, np.linalg.inv(factor), float(np.log(np.diag(factor)).sum()), decrement)


def laplace(logp: float, curvature: Curvature) -> float:
    """Log mass of the normal with this height and curvature."""
    return float(logp + 0.5 * len(curvature.factor) * np.log(2.0 * np.pi) + curvature.log_volume)


def importance(
    evaluations: Evaluations,
    modes: Floats,
    curvatures: list[Curvature],
    masses: Floats,
    generator: np.random.Generator,
    places: NDArray[np.int64] | None = None,
) -> Floats:
    """Log masses, float64[regions], from 400 draws per region; NaN where the budget does not allow it.

    `masses`: log masses that decide to which region a draw belongs, Laplace's. `places`: coordinates that are drawn,
    int64[block], those of the curvatures; the others stay at the first mode. None: all.
    """
    places = np.arange(modes.shape[1]) if places is None else places
    base, modes = modes[0], modes[:, places]
    count, n = modes.shape
    draws = evaluations.affordable(count * DRAWS, 1) // count
    if draws < DRAWS // 4:
        return np.full(count, np.nan)
    normals = generator.standard_normal((count, draws, n))
    stretch = np.sqrt(FREEDOM / generator.chisquare(FREEDOM, (count, draws, 1)))
    points = np.concatenate(
        [mode + z @ c.factor.T for mode, c, z in zip(modes, curvatures, normals * stretch, strict=True)]
    )
    whole = np.repeat(base[None], len(points), axis=0)
    whole[:, places] = points
    logps = evaluations.at(whole)
    components = np.stack([_log_student(points, mode, c) for mode, c in zip(modes, curvatures, strict=True)])
    weights = logps - np.logaddexp.reduce(components) + np.log(count)
    belonging = components + masses[:, None]
    shares = belonging - np.logaddexp.reduce(belonging)
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(weights + shares, axis=1) - np.log(count * draws))


def _log_student(points: Floats, mode: Floats, curvature: Curvature) -> Floats:
    """Log density of the multivariate t."""
    n = len(mode)
    squares = (((points - mode) @ curvature.whitening.T) ** 2).sum(1)
    constant = lgamma(0.5 * (FREEDOM + n)) - lgamma(0.5 * FREEDOM) - 0.5 * n * np.log(np.pi * FREEDOM)
    return np.asarray(constant - curvature.log_volume - 0.5 * (FREEDOM + n) * np.log1p(squares / FREEDOM))
