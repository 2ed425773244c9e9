"""Particles that move along Hamiltonian paths at one temperature, all by steps of one length.

Particles, their covariance and the gradients of a tempered density in; the ends of paths out. Source: A. Buchholz,
N. Chopin, P. E. Jacob (2021), "Adaptive tuning of Hamiltonian Monte Carlo within sequential Monte Carlo".
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from consilience.estimators.smc.moves import ParticleKernel, Shape, check_share
from consilience.estimators.smc.particles import Floats, Particles, TemperedDensity

LENGTH: Final = 0.5 * np.pi  # mean length of paths, in standard deviations: a quarter of a normal posterior's period
LONGEST_STEP: Final = 1.5


class HMC(ParticleKernel):
    """Hamiltonian Monte Carlo, in coordinates in which the particles are uncorrelated and have deviation 1.

    Paths have a random number of leapfrog steps, the same for all particles. The length of steps follows the share of
    accepted paths, and goes from one temperature to the next.

    target_accept                      mean probability that a path is accepted
    max_steps                          greatest number of leapfrog steps
    threshold, correlation_threshold   as all kernels have them
    """

    needs_gradient: ClassVar[bool] = True

    def __init__(
        self,
        *,
        target_accept: float = 0.8,
        max_steps: int = 128,
        threshold: float = 0.5,
        correlation_threshold: float = 0.1,
    ) -> None:
        super().__init__(threshold=threshold, correlation_threshold=correlation_threshold)
        check_share("target_accept", target_accept)
        if max_steps < 1:
            raise ValueError(f"`max_steps` must be at least 1, got {max_steps!r}.")
        self.target_accept = target_accept
        self.max_steps = max_steps

    def begin(self, dimension: int, before: tuple[float, ...]) -> tuple[float, ...]:
        """The logarithm of the length of steps, and how many moves there were."""
        return (before[0] if before else float(np.log(dimension**-0.25))), 0.0

    def propose(
        self,
        state: tuple[float, ...],
        shape: Shape,
        particles: Particles,
        target: TemperedDensity,
        beta: float,
        generator: np.random.Generator,
    ) -> tuple[Particles, Floats | float]:
        """Ends of paths from the particles, and by how much the kinetic energy fell on the way."""
        step = float(np.exp(state[0]))
        count = max(1, min(self.max_steps, round(LENGTH * generator.uniform(0.5, 1.5) / step)))
        momenta = generator.standard_normal(particles.points.shape)
        before = 0.5 * (momenta**2).sum(1)
        with np.errstate(invalid="ignore", over="ignore"):
            found, slopes = target.slopes(particles.points, beta)
            for _ in range(count):
                momenta = momenta + 0.5 * step * slopes @ shape.factor
                found, slopes = target.slopes(found.points + step * momenta @ shape.factor.T, beta)
                momenta = momenta + 0.5 * step * slopes @ shape.factor
            return found, before - 0.5 * (momenta**2).sum(1)

    def adapt(self, state: tuple[float, ...], chances: Floats) -> tuple[float, ...]:
        """By less and less."""
        length, moves = state
        longer = length + (float(chances.mean()) - self.target_accept) / np.sqrt(moves + 1)
        return min(longer, float(np.log(LONGEST_STEP))), moves + 1
