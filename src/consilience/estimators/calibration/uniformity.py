"""Whether ranks are uniform: the chi-square test, and the distribution function with simultaneous bands.

Ranks in; p-values and bands out. Source: T. Säilynoja, P.-C. Bürkner, A. Vehtari (2022), "Graphical test for discrete
uniformity and its applications in goodness-of-fit evaluation and multiple sample comparison".
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.record import Record

SIMULATIONS: Final = 4000
FEWEST_IN_A_BIN: Final = 5

Floats = npt.NDArray[np.float64]


class Uniformity(Record, eq=False):
    """What two tests say about ranks.

    `chi_square_p`: p-value of the chi-square test over bins.
    `ecdf_p`: p-value of the largest departure of the distribution function, over all its points together.
    `points`: share of the ranks' range, float64[levels - 1].
    `difference`: distribution function of the ranks minus that of the uniform distribution, float64[levels - 1].
    `lower`, `upper`: band that holds all of `difference` with probability `prob` if the ranks are uniform.
    """

    chi_square_p: float
    ecdf_p: float
    points: Floats
    difference: Floats
    lower: Floats
    upper: Floats


def uniformity(ranks: npt.ArrayLike, levels: int, prob: float = 0.95) -> Uniformity:
    """Test whether ranks, whole numbers from 0 to `levels` - 1, are uniform.

    `prob`: of the simultaneous band, between 0 and 1. Raises ShapeError without ranks, or with ranks outside of their
    range.
    """
    from scipy import stats

    found = np.asarray(ranks)
    if found.ndim != 1 or not found.size or found.min() < 0 or found.max() >= levels:
        raise ShapeError(f"ranks must be a list of whole numbers from 0 to {levels - 1}, got {found!r}.")
    if not 0 < prob < 1:
        raise ValueError(f"`prob` must lie between 0 and 1, got {prob}.")
    count = len(found)
    points, table, null = _null(count, levels)
    heights = np.cumsum(np.bincount(found, minlength=levels))[:-1]
    own = table[np.arange(levels - 1), heights].min()
    gamma = np.quantile(null, 1 - prob)
    low = stats.binom.ppf(gamma / 2, count, points)
    high = stats.binom.ppf(1 - gamma / 2, count, points)
    return Uniformity(
        _chi_square(found, levels),
        float((1 + (null <= own).sum()) / (1 + len(null))),
        points,
        heights / count - points,
        low / count - points,
        high / count - points,
    )


def _chi_square(ranks: npt.NDArray[Any], levels: int) -> float:
    """Of bins that are as equal as the levels allow, with what is expected in each."""
    from scipy import stats

    bins = int(min(20, levels, max(2, len(ranks) // FEWEST_IN_A_BIN)))
    edges = np.round(np.linspace(0, levels, bins + 1))
    observed = np.histogram(ranks, edges - 0.5)[0]
    return float(stats.chisquare(observed, len(ranks) * np.diff(edges) / levels).pvalue)


@functools.lru_cache(maxsize=8)
def _null(count: int, levels: int) -> tuple[Floats, Floats, Floats]:
    """Points, two-sided probability of each height at each point, and the smallest of these for uniform ranks."""
    from scipy import stats

    points = np.arange(1, levels) / levels
    heights = np.arange(count + 1)
    below = stats.binom.cdf(heights[None], count, points[:, None])
    above = stats.binom.sf(heights[None] - 1, count, points[:, None])
    table = np.minimum(1.0, 2 * np.minimum(below, above))
    drawn = np.random.default_rng(0).multinomial(count, np.full(levels, 1 / levels), SIMULATIONS)
    simulated = np.cumsum(drawn, axis=1)[:, :-1]
    return points, table, table[np.arange(levels - 1), simulated].min(axis=1)
