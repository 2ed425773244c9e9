"""Draws of several parameters at once, with the orderings and ranks that the diagnostics share.

Arrays (chain, draw, ...) enter; `measure` gives one number, or a few, per parameter. What is measured is
written elsewhere, as functions of a `Sample`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.rank_normalisation import normal_scores
from consilience.errors import ShapeError

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

NUMBERS_PER_BLOCK = 1 << 17
"""Draws handled at a time: one MiB, so that the passes over a block find it in the cache."""


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
        deviation: FloatArray = self.pooled.std(axis=1, ddof=1)
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


Measure = Callable[[Sample], FloatArray]
"""Gives, for a sample of p parameters, an array (p,) or (p, k)."""


def measure(
    variables: Sequence[npt.NDArray[np.generic]], measures: Mapping[str, Measure]
) -> dict[str, FloatArray]:
    """Evaluate measures for every parameter of every variable.

    `variables` are arrays (chain, draw, ...) of numbers or booleans with the same chains and draws. The
    parameters of the result, its first axis, are the elements of the first variable in C order, then those of
    the second, and so on. A parameter with a NaN draw has NaN measures.

    Raises ShapeError for an array without chain and draw axes, or with others than the first one has, and
    TypeError for elements that are no real numbers.
    """
    flat = [flatten(variable) for variable in variables]
    if len({array.shape[:2] for array in flat}) > 1:
        raise ShapeError(
            "all variables need the same number of chains and draws; they have "
            + ", ".join(f"{chains} x {draws}" for chains, draws, _ in (array.shape for array in flat))
        )
    total = sum(array.shape[2] for array in flat)
    results: dict[str, FloatArray] = {}
    done = 0
    for block in blocks(flat):
        sample = Sample(block)
        here = slice(done, done + len(block))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for name, function in measures.items():
                found = function(sample)
                if name not in results:
                    results[name] = np.full((total, *found.shape[1:]), np.nan)
                results[name][here] = found
        unknown = np.isnan(sample.pooled).any(axis=1)
        if unknown.any():
            for result in results.values():
                result[here][unknown] = np.nan
        done = here.stop
    return results


def measure_one(draws: npt.ArrayLike, function: Measure) -> FloatArray:
    """Evaluate one measure for an array (chain, draw, *shape); gives `shape`, then the measure's axes."""
    array = np.asarray(draws)
    found = measure([array], {"": function})[""]
    return found.reshape(array.shape[2:] + found.shape[1:])


def flatten(draws: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """View (chain, draw, ...) as (chain, draw, parameter), after checking that it can be examined."""
    if draws.ndim < 2 or 0 in draws.shape[:2]:
        raise ShapeError(
            f"draws need the axes (chain, draw, ...) with at least one of each; the shape is {draws.shape}. "
            "For a single chain, add an axis: draws[None]."
        )
    if draws.dtype.kind not in "biuf":
        raise TypeError(f"draws need to be real numbers or booleans; their element type is {draws.dtype}")
    return draws.reshape(*draws.shape[:2], -1) if draws.size else draws.reshape(*draws.shape[:2], 0)


def blocks(flat: Sequence[npt.NDArray[np.generic]]) -> Iterator[FloatArray]:
    """Cut arrays (chain, draw, parameter) into arrays (parameter, chain, draw) of moderate size."""
    chains, draws, _ = flat[0].shape if flat else (1, 1, 0)
    total = sum(array.shape[2] for array in flat)
    if total == 0:  # one empty block: measures tell the shape of their results by it
        yield np.empty((0, chains, draws))
        return
    size = max(1, NUMBERS_PER_BLOCK // (chains * draws))
    block, filled, left = np.empty((min(size, total), chains, draws)), 0, total
    for array in flat:
        start = 0
        while start < array.shape[2]:
            count = min(len(block) - filled, array.shape[2] - start)
            block[filled : filled + count] = np.moveaxis(array[:, :, start : start + count], 2, 0)
            start, filled, left = start + count, filled + count, left - count
            if filled == len(block):
                yield block
                block, filled = np.empty((min(size, left), chains, draws)), 0
