"""Mixtures of skewed distributions in one dimension, many at once.

Means, standard deviations, skewness and weights of the parts in; densities, probabilities and quantiles out. A part is
a shifted log-normal distribution with these three moments, mirrored where the skewness is negative.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from consilience.record import Record

Floats = npt.NDArray[np.float64]
NORMAL: Final = 1e-6  # skewness below which a part is normal
BISECTIONS: Final = 60


def shape_of(skewness: Floats) -> Floats:
    """The standard deviation s of the log of a log-normal variable with this skewness >= 0.

    With w = exp(s^2) the skewness is (w + 2) sqrt(w - 1), of which w is the root of a cubic.
    """
    squared = skewness**2
    root = np.cbrt(1.0 + 0.5 * squared + skewness * np.sqrt(1.0 + 0.25 * squared))
    w = root + 1.0 / root - 1.0
    # For small skewness w - 1 = skewness^2 / 9 cancels in the root.
    return np.sqrt(np.log1p(np.where(skewness < 1e-3, squared / 9.0, w - 1.0)))


def skewed(normals: Floats, skewness: Floats) -> Floats:
    """Standard normal numbers as numbers of mean 0, deviation 1 and this skewness, in the same order."""
    size = np.abs(skewness)
    sign = np.where(skewness < 0, -1.0, 1.0)
    s = shape_of(np.maximum(size, NORMAL))
    turned = np.expm1(s * sign * normals - 0.5 * s * s) / np.sqrt(np.expm1(s * s))
    return np.asarray(np.where(size < NORMAL, normals, sign * turned))


class SkewedMixture(Record, eq=False):
    """Distributions of several quantities, each a mixture of the same number of parts.

    weights (ndarray): Sum to one, float64[parts].
    means, deviations, skewnesses (ndarray): float64[parts, ...] for quantities of shape ...
    """

    weights: Floats
    means: Floats
    deviations: Floats
    skewnesses: Floats

    def _total(self, parts: Floats) -> Floats:
        """The weighted sum over the parts, the first axis."""
        return np.asarray(np.tensordot(self.weights, parts, 1))

    @property
    def mean(self) -> Floats:
        """Means."""
        return self._total(self.means)

    @property
    def sd(self) -> Floats:
        """Standard deviations."""
        second = self.deviations**2 + (self.means - self.mean) ** 2
        return np.sqrt(self._total(second))

    @property
    def skewness(self) -> Floats:
        """Third moments around the mean over the third power of the standard deviation."""
        off = self.means - self.mean
        third = self.skewnesses * self.deviations**3 + 3.0 * off * self.deviations**2 + off**3
        return self._total(third) / self.sd**3

    def _normals(self, x: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The standard normal numbers that stand for x in each part, and logs of their slopes along x."""
        given = np.asarray(x, float)
        ahead = (-1, *(1 for _ in range(given.ndim - self.mean.ndim)), *self.mean.shape)
        mean, sd, skewness = (a.reshape(ahead) for a in (self.means, self.deviations, self.skewnesses))
        z = (given - mean) / sd
        size, sign = np.abs(skewness), np.where(skewness < 0, -1.0, 1.0)
        s = shape_of(np.maximum(size, NORMAL))
        inside = 1.0 + sign * z * np.sqrt(np.expm1(s * s))
        log = np.log(np.where(inside > 0, inside, 1.0))
        turned = np.where(inside > 0, sign * (log + 0.5 * s * s) / s, sign * -np.inf)
        slope = np.where(inside > 0, 0.5 * np.log(np.expm1(s * s)) - np.log(s) - log, 0.0)
        plain = size < NORMAL
        return np.where(plain, z, turned), np.where(plain, 0.0, slope) - np.log(sd)

    def pdf(self, x: npt.ArrayLike) -> Floats:
        """Densities at x, an array (..., *shape of the quantities)."""
        normals, slopes = self._normals(x)
        return np.asarray(self._total(np.exp(slopes - 0.5 * normals**2)) / np.sqrt(2.0 * np.pi))

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Probabilities of values up to x, as in `pdf`."""
        from scipy import special

        return self._total(special.ndtr(self._normals(x)[0]))

    def quantile(self, probability: float) -> Floats:
        """Values below which quantities lie with a probability between 0 and 1."""
        from scipy import special

        if not 0.0 < probability < 1.0:
            raise ValueError(f"`probability` must lie between 0 and 1, got {probability!r}.")
        own = self.means + self.deviations * skewed(
            np.full(self.means.shape, special.ndtri(probability)), self.skewnesses
        )
        low, high = own.min(0), own.max(0)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))
