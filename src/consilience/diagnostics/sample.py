"""Draws of several parameters at once: an array enters; orderings, ranks and halves of chains leave.

They are what the diagnostics share; these themselves are written elsewhere, as functions of a `Sample`.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.rank_normalisation import normal_scores

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


class Sample:
    """Draws (parameter, chain, draw), and what is derived from them, computed when first asked for."""

    def __init__(self, draws: FloatArray) -> None:
        self.draws = draws

    @functools.cached_property
    def pooled(self) -> FloatArray:
        """Draws of all chains in one row, (parameter, chain * draw)."""
        return pool(self.draws)

    @functools.cached_property
    def halves(self) -> FloatArray:
        """Each chain cut into two, (parameter, 2 * chain, draw // 2); an odd middle draw is left out."""
        parameters, chains, draws = self.draws.shape
        half = draws // 2
        if draws % 2 == 0:
            return self.draws.reshape(parameters, 2 * chains, half)
        parts = self.draws[:, :, :half], self.draws[:, :, draws - half :]
        return np.stack(parts, axis=2).reshape(parameters, 2 * chains, half)

    @functools.cached_property
    def order(self) -> IndexArray:
        """Indices that sort the draws of `halves`, (parameter, 2 * chain * (draw // 2))."""
        return np.argsort(pool(self.halves), axis=1)

    @functools.cached_property
    def ascending_halves(self) -> FloatArray:
        """Draws of `halves` in ascending order."""
        return np.take_along_axis(pool(self.halves), self.order, axis=1)

    @functools.cached_property
    def ascending(self) -> FloatArray:
        """All draws in ascending order, (parameter, chain * draw)."""
        if self.draws.shape[2] % 2 == 0:
            return self.ascending_halves
        return np.sort(self.pooled, axis=1)

    @functools.cached_property
    def deviation(self) -> FloatArray:
        """Standard deviation of all draws, one per parameter; NaN for a single draw."""
        if self.pooled.shape[1] < 2:
            return np.full(len(self.draws), np.nan)
        # Seen from the first of them, equal draws have a deviation of exactly zero.
        deviation: FloatArray = (self.pooled - self.pooled[:, :1]).std(axis=1, ddof=1)
        return deviation

    @functools.cached_property
    def scores(self) -> FloatArray:
        """Rank-normalised draws of `halves`, same shape."""
        result = np.empty_like(self.ascending_halves)
        np.put_along_axis(result, self.order, normal_scores(self.ascending_halves), axis=1)
        return result.reshape(self.halves.shape)

    @functools.cached_property
    def folded_scores(self) -> FloatArray:
        """Rank-normalised distances from the median of `halves`, same shape."""
        ascending = self.ascending_halves
        count = ascending.shape[1]
        median = ascending[:, (count - 1) // 2 : count // 2 + 1].mean(axis=1, keepdims=True)
        distance = np.abs(ascending - median)
        # The distances fall, then rise: a merge sort finds the two runs and needs a single merge.
        again = np.argsort(distance, axis=1, kind="stable")
        scores = normal_scores(np.take_along_axis(distance, again, axis=1))
        result = np.empty_like(ascending)
        np.put_along_axis(result, np.take_along_axis(self.order, again, axis=1), scores, axis=1)
        return result.reshape(self.halves.shape)

    def quantile(self, probability: float) -> FloatArray:
        """Quantile of all draws, one per parameter; interpolates linearly between neighbours in order.

        Source: Hyndman and Fan (1996), Sample quantiles in statistical packages, definition 7.
        """
        count = self.ascending.shape[1]
        place = (count - 1) * probability
        below = min(int(np.floor(place)), count - 1)
        above = min(below + 1, count - 1)
        share = place - below
        lower, upper = self.ascending[:, below], self.ascending[:, above]
        step = upper - lower
        # Interpolating from the nearer end is exact at both, and between equal draws.
        result = lower + step * share if share < 0.5 else upper - step * (1 - share)
        return np.where(lower == upper, lower, result)


def pool(chains: FloatArray) -> FloatArray:
    """Chains (parameter, chain, draw) put in one row, (parameter, chain * draw)."""
    return chains.reshape(len(chains), chains.shape[1] * chains.shape[2])
