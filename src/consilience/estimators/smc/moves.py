"""How particles move at one temperature: independent proposals of a Student distribution, or steps of a random walk.

Particles and their log densities in; moved ones out. Any of the moves leaves the tempered posterior unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from consilience.errors import SamplingError
from consilience.estimators.smc.particles import Floats, Particles, TemperedDensity, joined
from consilience.record import Record

DEGREES: Final = 5.0  # of freedom of independent proposals: tails that are heavier than most posteriors'
MOST_MOVES = 500
UNMOVED: Final = 0.05  # share of particles that may still be where they began when moves end
SLOW: Final = 0.1  # share of coordinates that may still be correlated with where they began
MORE_MOVES: Final = 20  # at most, after log likelihoods have forgotten where they began
LEVEL_MOVES: Final = 64  # before correlations are taken to fall no more, as between separate modes
LEVEL: Final = np.array(
    [0.2, 0.05]
)  # shares by which coordinates' and log likelihoods' then fell in the later half of the moves
TARGET: Final = 0.234  # share of accepted steps of a random walk (Roberts, Gelman, Gilks 1997)


class Moved(Record, eq=False):
    """Particles after their moves.

    particles: The last ones; with a path, those of all of its places, one place after the other.
    accepted: Mean probability with which proposals were accepted.
    moves: How many there were.
    ended: Whether they ended by the rule, and not by their greatest number.
    state: What the kernel carries to the next temperature.
    """

    particles: Particles
    accepted: float
    moves: int
    ended: bool
    state: tuple[float, ...]


def together(parts: Sequence[Moved]) -> Moved:
    """Groups of particles that moved apart, as one."""
    sizes = np.array([len(part.particles.points) for part in parts])
    return Moved(
        joined([part.particles for part in parts]),
        float(np.average([part.accepted for part in parts], weights=sizes)),
        max(part.moves for part in parts),
        all(part.ended for part in parts),
        tuple(float(x) for x in np.mean([part.state for part in parts], axis=0)),
    )


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


class Temperature(Record, eq=False):
    """What moves at one temperature are made of: the spread of the particles, their density, numbers by chance."""

    shape: Shape
    target: TemperedDensity
    beta: float
    generator: np.random.Generator


class ParticleKernel:
    """Base of kernels: moves until particles have forgotten where they began, and hardly one is still there.

    Parameters
    ----------
    threshold : float, default 0.5
        Share of the particles that tempering keeps effective from one temperature to the next.
    correlation_threshold : float, default 0.1
        With the beginning, to which log likelihoods and nine in ten coordinates fall before moves end, and then as many
        moves more; if it is less than the noise of so many particles, that. A correlation that falls no more may stay,
        as between separate modes.

    Notes
    -----
    Adaptation follows all particles together: one that followed a particle's path would favour some places.
    """

    needs_gradient: ClassVar[bool] = False

    def __init__(self, *, threshold: float = 0.5, correlation_threshold: float = 0.1) -> None:
        for name, value in (("threshold", threshold), ("correlation_threshold", correlation_threshold)):
            check_share(name, value)
        self.threshold = threshold
        self.correlation_threshold = correlation_threshold

    def begin(self, dimension: int, before: tuple[float, ...]) -> tuple[float, ...]:
        """What the kernel carries from move to move, given what it carried `before`, at the last temperature."""
        del dimension, before
        return ()

    def propose(
        self, state: tuple[float, ...], particles: Particles, at: Temperature
    ) -> tuple[Particles, Floats | float]:
        """New particles, and the log ratio of the probabilities of proposing back and forth."""
        raise NotImplementedError

    def adapt(self, state: tuple[float, ...], chances: Floats) -> tuple[float, ...]:
        """The state after a move, from the probabilities that its proposals were accepted with."""
        del chances
        return state

    def moved(
        self,
        particles: Particles,
        shape: Shape,
        beta: float,
        target: TemperedDensity,
        generator: np.random.Generator,
        before: tuple[float, ...] = (),
        path: int = 0,
    ) -> Moved:
        """The particles after moves that leave prior times likelihood ** beta unchanged.

        Parameters
        ----------
        particles : Particles
            Particles at this temperature.
        shape : Shape
            Their weighted mean and covariance.
        beta : float
            Power of the likelihood, from 0 to 1.
        target : TemperedDensity
            Log densities of prior and likelihood.
        generator : numpy.random.Generator
            Source of random numbers.
        before : tuple of float, default ()
            State of the kernel at the temperature before.
        path : int, default 0
            How many places of each particle are kept, that where it begins among them; 0: the last one alone, after as
            many moves as the rule wants.
        """
        at = Temperature(shape, target, beta, generator)
        state = self.begin(len(shape.mean), before)
        began = particles
        limit = max(self.correlation_threshold, 2 / np.sqrt(len(began.points)))
        course = np.ones((MOST_MOVES + 1, 2))  # mean correlations of coordinates, and those of log likelihoods
        calm = 0  # the first move after which log likelihoods were below the limit; as many again square what is left
        unmoved = np.ones(len(began.points), bool)
        accepted, moves, ended = 0.0, 0, False
        places = [particles]
        most = path - 1 if path else MOST_MOVES
        while not ended and moves < most:
            proposed, ratio = self.propose(state, particles, at)
            with np.errstate(invalid="ignore", over="ignore"):
                now, then = particles.log_density(beta), proposed.log_density(beta)
                chances = np.minimum(1.0, np.exp(np.where(np.isfinite(then), then - now + ratio, -np.inf)))
            chances = np.where(np.isnan(chances), 0.0, chances)
            taken = generator.random(len(chances)) < chances
            particles = particles.replaced(taken, proposed)
            unmoved &= ~taken
            state = self.adapt(state, chances)
            accepted += float(chances.mean())
            moves += 1
            if path:
                places.append(particles)
                ended = moves == most
                continue
            found = np.abs(_correlations(began.points, particles.points))
            energy = _correlations(began.likelihood[:, None], particles.likelihood[:, None])[0]
            course[moves] = found.mean(), energy
            level = (moves >= LEVEL_MOVES) & (course[moves] > (1 - LEVEL) * course[moves // 2])
            calm = calm or (moves if level[1] or energy <= limit else 0)
            forgotten = 0 < calm <= moves - min(calm, MORE_MOVES) and (level[0] or np.mean(found > limit) <= SLOW)
            ended = bool(forgotten and unmoved.mean() <= UNMOVED)
        return Moved(joined(places) if path else particles, accepted / moves, moves, ended, state)


class IMH(ParticleKernel):
    """Independent Metropolis-Hastings: proposals of a Student distribution fitted to the particles.

    threshold: Share of the particles that tempering keeps effective from one temperature to the next.
    correlation_threshold: Correlation with the beginning, to which particles fall before moves end.
    See MH: Random walks.
    See HMC: With gradients.
    >>> import consilience as pm
    >>> from consilience.estimators.smc import IMH
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     result = pm.sample_smc(500, kernel=IMH(threshold=0.6), random_seed=1, progressbar=False)
    >>> "mu" in result.posterior
    True
    """

    def propose(
        self, state: tuple[float, ...], particles: Particles, at: Temperature
    ) -> tuple[Particles, Floats | float]:
        """Draws that do not depend on where a particle is."""
        points, shape = particles.points, at.shape
        normals = at.generator.standard_normal(points.shape)
        mixing = np.sqrt(DEGREES / at.generator.chisquare(DEGREES, len(points)))
        standard = normals * mixing[:, None]
        back: Floats = np.asarray(np.linalg.solve(shape.factor, (points - shape.mean).T).T, dtype=float)
        found = at.target.at(shape.mean + standard @ shape.factor.T, at.generator)
        return found, _log_student(back) - _log_student(standard)


class AdaptiveSteps(ParticleKernel):
    """Base of kernels whose steps have one length, which goes from one temperature to the next.

    It follows the share of proposals that are accepted, over all particles, by less and less. Carried are its
    logarithm, and how many moves there were.
    """

    target_accept: float = TARGET
    longest: ClassVar[float] = np.inf

    def first_step(self, dimension: int) -> float:
        """The length of steps at the first temperature."""
        raise NotImplementedError

    def begin(self, dimension: int, before: tuple[float, ...]) -> tuple[float, ...]:
        return (before[0] if before else float(np.log(self.first_step(dimension)))), 0.0

    def adapt(self, state: tuple[float, ...], chances: Floats) -> tuple[float, ...]:
        length, moves = state
        longer = length + (float(chances.mean()) - self.target_accept) / np.sqrt(moves + 1)
        return min(longer, float(np.log(self.longest))), moves + 1


class MH(AdaptiveSteps):
    """Random-walk Metropolis-Hastings: steps of a normal distribution of the particles' covariance.

    threshold: Share of the particles that tempering keeps effective from one temperature to the next.
    correlation_threshold: Correlation with the beginning, to which particles fall before moves end.
    See IMH: Proposals that do not depend on the position.
    See HMC: With gradients.
    >>> import consilience as pm
    >>> from consilience.estimators.smc import MH
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     result = pm.sample_smc(500, kernel=MH(), random_seed=1, progressbar=False)
    >>> "mu" in result.posterior
    True
    """

    def first_step(self, dimension: int) -> float:
        return float(2.38 / np.sqrt(dimension))

    def propose(
        self, state: tuple[float, ...], particles: Particles, at: Temperature
    ) -> tuple[Particles, Floats | float]:
        """Points around those of the particles."""
        points = particles.points
        steps = at.generator.standard_normal(points.shape) @ at.shape.factor.T
        return at.target.at(points + np.exp(state[0]) * steps, at.generator), 0.0


def check_share(name: str, value: float) -> None:
    """Raise ValueError for a setting that is no share."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"`{name}` must lie between 0 and 1, got {value!r}.")


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
