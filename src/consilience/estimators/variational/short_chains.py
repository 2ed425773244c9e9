"""Whether draws of an approximation stay where they are: short Hamiltonian chains that begin at them.

Draws and a log density in; estimates of the posterior's moments out. Chains leave the posterior unchanged, so that what
they move was misplaced; importance ratios do not tell of places that no draw is near to.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.estimators.approximations.target import Floats
from consilience.inference.modes.evaluations import Evaluations

MOVES: Final = 10
LENGTH: Final = 0.5 * np.pi  # mean length of paths, in standard deviations: a quarter of a normal's period
FEWEST: Final = 20  # gradients for each chain, below which nothing is learnt
MOST: Final = 160
ACCEPTED: Final = 0.8  # mean probability that a path is accepted


def moved(points: Floats, scale: Floats, evaluations: Evaluations, gradients: int, seed: int) -> Floats | None:
    """Where chains are after some moves.

    `points`: where they begin, float64[chains, dimension]. `scale`: standard deviations of the approximation,
    float64[dimension]. `gradients`: how many each chain may take. Returns: float64[chains, dimension], or None where so
    few gradients tell nothing.
    """
    if gradients < FEWEST:
        return None
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), 8]))
    each = min(gradients, MOST) // MOVES
    step = LENGTH / min(each, 4)
    here, (logps, slopes) = points, evaluations.with_gradients(points)
    for move in range(MOVES):
        count = int(np.clip(round(LENGTH * generator.uniform(0.5, 1.5) / step), 1, each))
        momenta = generator.standard_normal(points.shape)
        before = logps - 0.5 * (momenta**2).sum(1)
        there, slope = here, slopes
        with np.errstate(invalid="ignore", over="ignore"):
            for _ in range(count):
                momenta = momenta + 0.5 * step * scale * slope
                there = there + step * scale * momenta
                found, slope = evaluations.with_gradients(there)
                momenta = momenta + 0.5 * step * scale * slope
            chances = np.exp(np.minimum(0.0, found - 0.5 * (momenta**2).sum(1) - before))
        chances = np.where(np.isnan(chances), 0.0, chances)
        taken = generator.random(len(chances)) < chances
        here = np.where(taken[:, None], there, here)
        slopes = np.where(taken[:, None], slope, slopes)
        logps = np.where(taken, found, logps)
        step *= float(np.exp((chances.mean() - ACCEPTED) / np.sqrt(move + 1)))
    return here
