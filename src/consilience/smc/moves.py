"""How particles move at one temperature: independent proposals of a Student distribution, or steps of a random walk.

Particles and their log densities in; moved ones out. Any of the moves leaves the tempered posterior unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import SamplingError
from consilience.record import Record

Floats = npt.NDArray[np.float64]
Densities = Callable[[Floats], tuple[Floats, Floats]]

DEGREES: Final = 5.0  # of freedom of independent proposals: tails that are heavier than most posteriors'
LEAST_MOVES, MOST_MOVES = 2, 200
TARGET: Final = 0.234  # share of accepted steps of a random walk (Roberts, Gelman, Gilks 1997)


class Particles(Record, eq=False):
    """Points float64[particles, dimension], and at each the log density of the prior and that of the data."""

    points: Floats
    prior: Floats
    likelihood: Floats

    def chosen(self, places: npt.NDArray[Any]) -> Particles:
        """Some of them, perhaps several times."""
        return Particles(self.points[places], self.prior[places], self.likelihood[places])


class Moved(Record, eq=False):
    """Particles after their moves, and the share of proposals that were accepted."""

    particles: Particles
    accepted: float
    moves: int


class Shape(Record, eq=False):
    """Mean and factor L of the covariance L L' of weighted particles."""

    mean: Floats
    factor: Floats


def shape_of(points: Floats, weights: Floats) -> Shape:
    """Mean and covariance; where particles lie in a plane, its thickness is made a little of their spread."""
    mean = weights @ points
    centred = points - mean
    covariance = (centred * weights[:, None]).T @ centred
    scale = np.diag(covariance).copy()
    scale[scale <= 0] = 1e-12
    share = 1e-10
    while share < 1:
        try:
            factor: Floats = np.asarray(np.linalg.cholesky(covariance + share * np.diag(scale)), dtype=float)
            return Shape(mean, factor)
        except np.linalg.LinAlgError:
            share *= 100
    raise SamplingError("the particles have no covariance: their numbers are not finite.")


class _Kernel:
    """Moves until particles no longer forget where they began.

    threshold               share of the particles that tempering keeps effective from one temperature to the next
    correlation_threshold   moves end when the correlation with the beginning falls by less in most coordinates
    """

    def __init__(self, *, threshold: float = 0.5, correlation_threshold: float = 0.01) -> None:
        for name, value in (("threshold", threshold), ("correlation_threshold", correlation_threshold)):
            if not 0.0 < value < 1.0:
                raise ValueError(f"`{name}` must lie between 0 and 1, got {value!r}.")
        self.threshold = threshold
        self.correlation_threshold = correlation_threshold

    def begin(self, shape: Shape, count: int) -> Any:
        """What the kernel carries from move to move."""
        raise NotImplementedError

    def propose(
        self, state: Any, shape: Shape, points: Floats, generator: np.random.Generator
    ) -> tuple[Floats, Floats | float]:
        """New points, and the log ratio of the probabilities of proposing back and forth."""
        raise NotImplementedError

    def adapt(self, state: Any, chances: Floats) -> Any:
        """The state after a move, from the probabilities that its proposals were accepted with."""
        return state

    def moved(
        self, particles: Particles, shape: Shape, beta: float, densities: Densities, generator: np.random.Generator
    ) -> Moved:
        """The particles after moves that leave prior times likelihood ** beta unchanged."""
        state = self.begin(shape, len(particles.points))
        began = particles.points
        correlation = np.full(began.shape[1], 2.0)
        accepted, moves = 0.0, 0
        while moves < MOST_MOVES:
            points, ratio = self.propose(state, shape, particles.points, generator)
            prior, likelihood = densities(points)
            now = particles.prior + beta * particles.likelihood
            # A likelihood of 0 has weight 0 at every temperature.
            then = prior + np.where(np.isneginf(likelihood), -np.inf, beta * likelihood)
            with np.errstate(invalid="ignore", over="ignore"):
                chances = np.minimum(1.0, np.exp(np.where(np.isfinite(then), then - now + ratio, -np.inf)))
            taken = generator.random(len(chances)) < chances
            particles = Particles(
                np.where(taken[:, None], points, particles.points),
                np.where(taken, prior, particles.prior),
                np.where(taken, likelihood, particles.likelihood),
            )
            state = self.adapt(state, chances)
            accepted += float(chances.mean())
            moves += 1
            found = _correlations(began, particles.points)
            if moves >= LEAST_MOVES and np.mean(correlation - found > self.correlation_threshold) <= 0.5:
                break
            correlation = found
        return Moved(particles, accepted / moves, moves)


class IMH(_Kernel):
    """Independent Metropolis-Hastings: proposals of a Student distribution fitted to the particles.

    threshold, correlation_threshold   as all kernels have them
    """

    def begin(self, shape: Shape, count: int) -> Any:
        """Nothing."""
        return None

    def propose(
        self, state: Any, shape: Shape, points: Floats, generator: np.random.Generator
    ) -> tuple[Floats, Floats | float]:
        """Draws that do not depend on where a particle is."""
        normals = generator.standard_normal(points.shape)
        mixing = np.sqrt(DEGREES / generator.chisquare(DEGREES, len(points)))
        standard = normals * mixing[:, None]
        found = shape.mean + standard @ shape.factor.T
        back: Floats = np.asarray(np.linalg.solve(shape.factor, (points - shape.mean).T).T, dtype=float)
        return found, _log_student(back) - _log_student(standard)


class MH(_Kernel):
    """Random-walk Metropolis-Hastings: steps of a normal distribution of the particles' covariance.

    Their length follows the share that is accepted, over all particles.
    """

    def begin(self, shape: Shape, count: int) -> Any:
        """The logarithm of the length of steps, and how many moves there were."""
        return float(np.log(2.38 / np.sqrt(len(shape.mean)))), 0

    def propose(
        self, state: Any, shape: Shape, points: Floats, generator: np.random.Generator
    ) -> tuple[Floats, Floats | float]:
        """Points around those of the particles."""
        steps = generator.standard_normal(points.shape) @ shape.factor.T
        return points + np.exp(state[0]) * steps, 0.0

    def adapt(self, state: Any, chances: Floats) -> Any:
        """By less and less; one length for all, since one that follows a particle's path would favour some places."""
        length, moves = state
        return length + (float(chances.mean()) - TARGET) / np.sqrt(moves + 1), moves + 1


def _log_student(standard: Floats) -> Floats:
    """Log density of the multivariate Student distribution, but for constants."""
    result: Floats = -0.5 * (DEGREES + standard.shape[1]) * np.log1p((standard**2).sum(1) / DEGREES)
    return result


def _correlations(first: Floats, second: Floats) -> Floats:
    """Correlation over the particles, for each coordinate; 0 where one of them does not vary."""
    a, b = first - first.mean(0), second - second.mean(0)
    size = np.sqrt((a**2).sum(0) * (b**2).sum(0))
    found: Floats = np.divide((a * b).sum(0), size, out=np.zeros(len(size)), where=size > 0)
    return found
