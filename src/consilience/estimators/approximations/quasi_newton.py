"""Paths of L-BFGS that are kept, and the inverse Hessians along them: a diagonal and a matrix of low rank.

Batches of log densities with gradients in; paths, and normal distributions around their points, out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from consilience.estimators.approximations.target import Floats
from consilience.inference.modes.evaluations import Evaluations
from consilience.record import Record

ARMIJO: Final = 1e-4  # share of the promised gain that a step has to bring
MOST_TRIALS: Final = 20  # halvings of a step
GAIN: Final = 1e-10  # of the log density, relative: less ends a path
CURVED: Final = 1e-12  # s'z / z'z below which a pair says nothing


class InverseHessian(Record, eq=False):
    """`diag(alpha) + beta gamma beta'`, the L-BFGS estimate in compact form (Byrd, Nocedal, Schnabel 1994).

    `alpha`: float64[dimension], positive. `beta`: float64[dimension, 2 pairs]. `gamma`: symmetric, float64[2 pairs, 2
    pairs].
    """

    alpha: Floats
    beta: Floats
    gamma: Floats

    def times(self, x: Floats) -> Floats:
        """The matrix times a vector."""
        return np.asarray(self.alpha * x + self.beta @ (self.gamma @ (self.beta.T @ x)))

    def draws(self, mean: Floats, count: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws of the normal with this covariance, float64[count, dimension], and their log densities.

        NaN where rounding has made the matrix indefinite.
        """
        root = np.sqrt(self.alpha)
        q, r = np.linalg.qr(self.beta / root[:, None])
        inner = np.eye(len(r)) + r @ self.gamma @ r.T
        normals = generator.standard_normal((count, len(mean)))
        try:
            factor = np.linalg.cholesky(0.5 * (inner + inner.T))
        except np.linalg.LinAlgError:
            return np.full((count, len(mean)), np.nan), np.full(count, np.nan)
        bent = normals + (normals @ q) @ (factor - np.eye(len(r))).T @ q.T
        logdet = np.log(self.alpha).sum() + 2 * np.log(np.diag(factor)).sum()
        logq = -0.5 * ((normals**2).sum(1) + len(mean) * np.log(2 * np.pi) + logdet)
        return mean + root * bent, logq


def inverse_hessian(alpha: Floats, moves: list[Floats], turns: list[Floats]) -> InverseHessian:
    """From the latest differences of points and of gradients of the negative log density, oldest first."""
    if not moves:
        return InverseHessian(alpha, np.zeros((len(alpha), 0)), np.zeros((0, 0)))
    s, z = np.array(moves).T, np.array(turns).T
    products = s.T @ z
    upper = np.triu(products)
    own = np.linalg.inv(upper)
    corner = own.T @ (np.diag(np.diag(products)) + (z * alpha[:, None]).T @ z) @ own
    gamma = np.block([[np.zeros_like(own), -own], [-own.T, corner]])
    return InverseHessian(alpha, np.hstack([alpha[:, None] * z, s]), gamma)


def scaled(alpha: Floats, s: Floats, z: Floats) -> Floats:
    """The diagonal after one more pair (Gilbert and Lemaréchal 1989, Some numerical experiments, equation 4.9)."""
    a, b, c = z @ (alpha * z), z @ s, s @ (s / alpha)
    return np.asarray(1.0 / (a / (b * alpha) + z**2 / b - a * s**2 / (b * c * alpha**2)))


class QuasiNewtonPath:
    """Points of one path with the gradients of the log density there, and what the next step is computed from."""

    def __init__(self, point: Floats, logp: float, gradient: Floats, maxcor: int) -> None:
        self.points, self.gradients, self.logp = [point], [gradient], logp
        self.alpha = np.ones(len(point))
        self.moves: list[Floats] = []
        self.turns: list[Floats] = []
        self.maxcor = maxcor
        self.going = bool(np.isfinite(logp) and np.isfinite(gradient).all())

    def direction(self) -> Floats:
        """Uphill, by the inverse Hessian."""
        return inverse_hessian(self.alpha, self.moves, self.turns).times(self.gradients[-1])

    def forget(self) -> None:
        """Begin the estimate anew."""
        self.alpha = np.ones_like(self.alpha)
        self.moves, self.turns = [], []

    def moved(self, point: Floats, logp: float, gradient: Floats) -> None:
        """One step further."""
        s, z = point - self.points[-1], self.gradients[-1] - gradient
        self.going = logp - self.logp > GAIN * max(1.0, abs(logp))
        if s @ z > CURVED * (z @ z):
            self.alpha = scaled(self.alpha, s, z)
            self.moves, self.turns = [*self.moves, s][-self.maxcor :], [*self.turns, z][-self.maxcor :]
        self.points.append(point)
        self.gradients.append(gradient)
        self.logp = logp

    def normals(self, maxcor: int) -> Iterator[tuple[Floats, InverseHessian]]:
        """Mean and covariance of the normal at every point behind the first."""
        alpha = np.ones_like(self.alpha)
        moves: list[Floats] = []
        turns: list[Floats] = []
        for k in range(1, len(self.points)):
            s, z = self.points[k] - self.points[k - 1], self.gradients[k - 1] - self.gradients[k]
            if s @ z > CURVED * (z @ z):
                alpha = scaled(alpha, s, z)
                moves, turns = [*moves, s][-maxcor:], [*turns, z][-maxcor:]
            if not (np.isfinite(alpha).all() and (alpha > 0).all()):
                return
            inverse = inverse_hessian(alpha, moves, turns)
            yield self.points[k] + inverse.times(self.gradients[k]), inverse


def climb(evaluations: Evaluations, starts: Floats, maxcor: int, most: int) -> list[QuasiNewtonPath]:
    """Paths from each row of `starts`, float64[rows, dimension], all a step at a time in batches."""
    logps, gradients = evaluations.with_gradients(starts)
    paths = [QuasiNewtonPath(*row, maxcor) for row in zip(starts, logps, gradients, strict=True)]
    for _ in range(most):
        going = [p for p in paths if p.going]
        if not going:
            break
        _step(evaluations, going)
    return paths


def _step(evaluations: Evaluations, paths: list[QuasiNewtonPath]) -> None:
    """One step of each, halved until it gains enough; those that find none end."""
    directions, gains = [], []
    for path in paths:
        direction = path.direction()
        if not path.gradients[-1] @ direction > 0:
            path.forget()
            direction = path.gradients[-1]
        if not path.moves:  # the gradient has no scale
            direction = direction / max(1.0, float(np.linalg.norm(direction)))
        directions.append(direction)
        gains.append(float(path.gradients[-1] @ direction))
    lengths = np.ones(len(paths))
    waiting = list(range(len(paths)))
    for _ in range(MOST_TRIALS):
        trials = np.array([paths[k].points[-1] + lengths[k] * directions[k] for k in waiting])
        logps, gradients = evaluations.with_gradients(trials)
        short = []
        for k, trial, logp, gradient in zip(waiting, trials, logps, gradients, strict=True):
            enough = logp >= paths[k].logp + ARMIJO * lengths[k] * gains[k]
            if enough and np.isfinite(gradient).all():
                paths[k].moved(trial, float(logp), gradient)
            else:
                lengths[k] *= 0.5
                short.append(k)
        waiting = short
        if not waiting:
            return
    for k in waiting:
        paths[k].going = False
