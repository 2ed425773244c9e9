"""How well draws fit a distribution: p-values of tests with fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats

Array = npt.NDArray[Any]

# Some 500 tests of right draws fail together with a probability of 1 in 2000.
LEAST = 1e-6
# The distribution function is asked for every so many draws, in order; some of SciPy's take 0.1 ms a number.
STRIDE = 50


def distance(draws: Array, cdf: Callable[[Array], Array]) -> float:
    """Kolmogorov and Smirnov's test at some of the draws; conservative, and for steps of the function too."""
    ordered = np.sort(draws)
    at = ordered[STRIDE // 2 :: STRIDE]
    share = np.searchsorted(ordered, at, side="right") / len(ordered)
    return float(scipy.stats.kstwobign.sf(np.abs(share - cdf(at)).max() * np.sqrt(len(ordered))))


def chi_square(draws: Array, frozen: Any) -> float:
    """Pearson's test of counts from 0 on; what is expected less than five times is one cell."""
    cells = np.arange(int(frozen.ppf(1 - 1e-9)) + 2)
    expected = frozen.pmf(cells) * len(draws)
    large = expected >= 5
    if large.sum() < 2:
        return 1.0
    counts = np.array([(draws == c).sum() for c in cells[large]])
    observed = np.append(counts, len(draws) - counts.sum())
    wanted = np.append(expected[large], len(draws) - expected[large].sum())
    kept = wanted > 1e-6
    return float(scipy.stats.chisquare(observed[kept], wanted[kept] * observed[kept].sum() / wanted[kept].sum()).pvalue)
