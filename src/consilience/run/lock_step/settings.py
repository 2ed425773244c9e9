"""Settings of chains in lock step, and the rows of their statistics; without JAX, which is an extra."""

from __future__ import annotations

import math
from typing import Final

from consilience.errors import SamplingError
from consilience.inference.columns import Columns
from consilience.record import Record

COLUMNS: Final = Columns(
    types={
        "acceptance_rate": "float64",
        "energy": "float64",
        "energy_error": "float64",
        "lp": "float64",
        "step_size": "float64",
        "n_steps": "int64",
        "diverging": "bool",
        "accepted": "bool",
    },
    roles={
        "log density": "lp",
        "divergence": "diverging",
        "energy": "energy",
        "energy error": "energy_error",
        "acceptance": "acceptance_rate",
        "step size": "step_size",
    },
)


class ChEES(Record):
    """Hamiltonian Monte Carlo of many chains in lock step, with one step size and one trajectory length for all.

    `target_accept`: mean acceptance probability that the step size is tuned for, between 0 and 1. `max_steps`: greatest
    number of leapfrog steps of a trajectory, at least 1. Raises SamplingError for values out of range.

    Source: Hoffman, Radul, Sountsov (2021), An adaptive-MCMC scheme for setting trajectory lengths in Hamiltonian
    Monte Carlo, AISTATS.
    """

    target_accept: float = 0.8
    max_steps: int = 1000

    def __post_init__(self) -> None:
        if not 0.0 < self.target_accept < 1.0:
            raise SamplingError(f"`target_accept` must lie between 0 and 1, got {self.target_accept!r}.")
        if self.max_steps < 1:
            raise SamplingError(f"`max_steps` must be at least 1, got {self.max_steps!r}.")

    @property
    def harmonic_target(self) -> float:
        """Harmonic mean of the acceptance probabilities of chains whose arithmetic mean is `target_accept`.

        Where energy errors are normal, as in many dimensions, with mean m and variance 2 m: then the arithmetic mean
        is 2 Phi(-sqrt(m / 2)). The harmonic mean is smaller, and sees chains in which steps are too long for the place
        where they are. 0.8 gives 0.71.
        """
        low, high = 0.0, 50.0
        for _ in range(100):
            middle = (low + high) / 2.0
            low, high = (
                (middle, high) if 2.0 * _normal_cdf(-math.sqrt(middle / 2.0)) > self.target_accept else (low, middle)
            )
        root = math.sqrt(low / 2.0)
        return float(1.0 / (math.exp(2.0 * low) * _normal_cdf(3.0 * root) + _normal_cdf(-root)))


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x * math.sqrt(0.5))
