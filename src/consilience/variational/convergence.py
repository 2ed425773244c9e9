"""When a stochastic ascent has arrived: a rule on blocks of steps.

Bounds and mean parameters of one block after the other in; the size of further steps, and the average of the
parameters once it stays where it is, out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from consilience.approximations.target import Floats
from consilience.record import Record

BLOCK: Final = 25  # steps
SIGNIFICANT: Final = 2.0  # standard errors by which the bound has to rise for the ascent to be under way
FEWEST: Final = 2  # blocks of the first window
STILL: Final = 0.05  # standard deviations, by which the average may move between two windows
NEAR: Final = 0.1  # standard deviations to the optimum, by the mean gradient of a window


class Verdict(Record):
    """What one more block says.

    rate        factor on the learning rate from here on
    arrived     whether the average counts
    """

    rate: float
    arrived: bool


class Arrival:
    """First the bound has to stop rising by more than its Monte Carlo error between blocks; from then on the steps get
    shorter and parameters are averaged over windows of doubling length, until two of them agree and the mean gradient
    of the latest says that the optimum is near.

    moved     largest distance between parameters, in standard deviations
    average   of the latest window; None before there is one

    Source of averages in place of last iterates: Dhaka, Catalina, Andersen, Magnusson, Huggins, Vehtari (2020), Robust,
    accurate stochastic optimization for variational inference.
    """

    def __init__(self, moved: Callable[[Floats, Floats], float], decays: bool) -> None:
        self._moved, self._decays = moved, decays
        self._before: tuple[float, float] | None = None
        self._rate = 1.0
        self._settled = 0  # blocks since the bound stopped to rise
        self._window, self._blocks = FEWEST, 0
        self._sum: Floats | None = None
        self._pull: Floats | float = 0.0
        self._last: Floats | None = None

    @property
    def average(self) -> Floats | None:
        """Mean parameters of the latest window."""
        return self._last if self._sum is None or self._last is not None else self._sum / self._blocks

    def block(self, bounds: Floats, mean: Floats, pull: Floats) -> Verdict:
        """One block more.

        bounds   of its steps, float64[steps]
        mean     its mean parameters
        pull     how far its mean gradient says the optimum is, by coordinate, in standard deviations
        """
        finite = bounds[np.isfinite(bounds)]
        if len(finite) < len(bounds) or len(bounds) < 2:
            self._begin_again()
            self._before = None
            return Verdict(self._rate, False)
        now = float(finite.mean()), float(finite.var(ddof=1) / len(finite))
        change = np.inf if self._before is None else now[0] - self._before[0]
        error = np.sqrt(now[1] + (0.0 if self._before is None else self._before[1])) + 1e-10 * abs(now[0])
        self._before = now
        if change > SIGNIFICANT * error:
            self._begin_again()
            return Verdict(self._rate, False)
        if change < -SIGNIFICANT * error and self._decays:
            self._rate *= 0.5
        return self._settle(mean, pull)

    def _begin_again(self) -> None:
        self._settled, self._window, self._blocks = 0, FEWEST, 0
        self._sum = self._last = None
        self._pull = 0.0

    def _settle(self, mean: Floats, pull: Floats) -> Verdict:
        self._settled += 1
        self._sum = mean.copy() if self._sum is None else self._sum + mean
        self._pull = self._pull + pull
        self._blocks += 1
        if self._blocks == self._window:
            average = self._sum / self._blocks
            still = self._last is not None and self._moved(self._last, average) <= STILL
            still = still and float(np.abs(self._pull / self._blocks).max()) <= NEAR
            self._last, self._sum, self._pull = average, None, 0.0
            self._window, self._blocks = 2 * self._window, 0
            if still:
                return Verdict(0.0, True)
        return Verdict(self._rate / np.sqrt(1.0 + self._settled) if self._decays else 1.0, False)
