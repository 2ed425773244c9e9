"""Particles that move along Hamiltonian paths at one temperature, all by steps of one length.

Particles, their covariance and the gradients of a tempered density in; the ends of paths out. Source: A. Buchholz,
N. Chopin, P. E. Jacob (2021), "Adaptive tuning of Hamiltonian Monte Carlo within sequential Monte Carlo".
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from consilience.estimators.smc.moves import AdaptiveSteps, Temperature, check_share
from consilience.estimators.smc.particles import Floats, Particles

LENGTH: Final = 0.5 * np.pi  # mean length of paths, in standard deviations: a quarter of a normal posterior's period


class HMC(AdaptiveSteps):
    """Hamiltonian Monte Carlo, in coordinates in which the particles are uncorrelated and have deviation 1.

    Paths have a random number of leapfrog steps, the same for all particles. The length of steps follows the share of
    accepted paths, and goes from one temperature to the next.

    target_accept: Mean probability that a path is accepted.
    max_steps: Greatest number of leapfrog steps.
    threshold: Share of the particles that tempering keeps effective from one temperature to the next.
    correlation_threshold: Correlation with the beginning, to which particles fall before moves end.
    See IMH: Without gradients.
    See MH: Without gradients.
    >>> import consilience as pm
    >>> from consilience.estimators.smc import HMC
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     result = pm.sample_smc(500, kernel=HMC(), random_seed=1, progressbar=False)
    >>> "mu" in result.posterior
    True
    """

    needs_gradient: ClassVar[bool] = True
    longest: ClassVar[float] = 1.5

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

    def first_step(self, dimension: int) -> float:
        return float(dimension**-0.25)

    def propose(
        self, state: tuple[float, ...], particles: Particles, at: Temperature
    ) -> tuple[Particles, Floats | float]:
        """Ends of paths from the particles, and by how much the kinetic energy fell on the way."""
        step, factor = float(np.exp(state[0])), at.shape.factor
        count = max(1, min(self.max_steps, round(LENGTH * at.generator.uniform(0.5, 1.5) / step)))
        momenta = at.generator.standard_normal(particles.points.shape)
        before = 0.5 * (momenta**2).sum(1)
        with np.errstate(invalid="ignore", over="ignore"):
            found, slopes = at.target.slopes(particles.points, at.beta)
            for _ in range(count):
                momenta = momenta + 0.5 * step * slopes @ factor
                found, slopes = at.target.slopes(found.points + step * momenta @ factor.T, at.beta)
                momenta = momenta + 0.5 * step * slopes @ factor
            return found, before - 0.5 * (momenta**2).sum(1)
