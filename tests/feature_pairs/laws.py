"""Distributions of one row in NumPy and SciPy, and distributions made of them.

A law answers at a value, for a location and a scale: log density (of mass, where it has some), and log probability up
to and beyond the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

Function = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Law:
    """Functions of (value, location, scale)."""

    logpdf: Function
    logcdf: Function
    logsf: Function

    @staticmethod
    def of(family: Any) -> Law:
        """A family of SciPy."""
        return Law(family.logpdf, family.logcdf, family.logsf)

    def affine(self, shift: float, factor: float) -> Law:
        """The law of shift + factor * value."""

        def at(function: Function) -> Function:
            return lambda v, m, s: function((v - shift) / factor, m, s)

        inside = at(self.logpdf)
        return Law(lambda v, m, s: inside(v, m, s) - np.log(factor), at(self.logcdf), at(self.logsf))

    def mixed(self, weight: float, shift: float) -> Law:
        """With a weight the location is moved."""

        def at(function: Function) -> Function:
            return lambda v, m, s: np.logaddexp(
                np.log(1 - weight) + function(v, m, s), np.log(weight) + function(v, m + shift, s)
            )

        return Law(at(self.logpdf), at(self.logcdf), at(self.logsf))

    def truncated(self, low: float) -> Law:
        """Of values beyond `low` alone."""

        def logpdf(v: Any, m: Any, s: Any) -> Any:
            return np.where(v >= low, self.logpdf(v, m, s) - self.logsf(low, m, s), -np.inf)

        def logsf(v: Any, m: Any, s: Any) -> Any:
            return np.where(v >= low, self.logsf(v, m, s) - self.logsf(low, m, s), 0.0)

        return Law(logpdf, lambda v, m, s: np.log(-np.expm1(logsf(v, m, s))), logsf)

    def censored(self, high: float) -> Law:
        """What is beyond `high` is `high`, which has the mass of it. Below a value means up to it."""
        return Law(
            lambda v, m, s: np.where(
                v > high, -np.inf, np.where(v == high, self.logsf(high, m, s), self.logpdf(v, m, s))
            ),
            lambda v, m, s: np.where(v >= high, 0.0, self.logcdf(v, m, s)),
            lambda v, m, s: np.where(v >= high, -np.inf, self.logsf(v, m, s)),
        )


NORMAL, GUMBEL, LOGISTIC = Law.of(stats.norm), Law.of(stats.gumbel_r), Law.of(stats.logistic)
