"""How much of what starting points lead to has been met: ascents that ended in each region enter, a bound leaves.

Of N independent ascents, f ended in a region that no other came to. The chance that the next one leads to a region not
yet met is f / N on average (Good and Turing); f is about a Poisson variable, of which an upper bound is known. What is
bounded is the share of starting points that lead elsewhere: a region that draws fewer of them than that may be missing,
however much it weighs.

Source: Good (1953), The population frequencies of species and the estimation of population parameters, Biometrika 40.
"""

from __future__ import annotations

from math import exp
from typing import Final

import numpy as np
from numpy.typing import NDArray

PROMISED: Final = 0.02  # share of starting points that may lead elsewhere, at which a search of several regions ends
DOUBT: Final = 0.05


def poisson_bound(count: int, doubt: float = DOUBT) -> float:
    """The mean of a Poisson variable of which so few, or fewer, are counted with probability `doubt`."""
    low, high = 0.0, 10.0 + 3.0 * count
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        term = total = exp(-middle)
        for k in range(1, count + 1):
            term *= middle / k
            total += term
        low, high = (middle, high) if total > doubt else (low, middle)
    return high


def unmet(hits: NDArray[np.int64], ascents: int) -> float:
    """With 95 % probability, less than this share of ascents leads to regions not met by those that were made."""
    return min(1.0, poisson_bound(int((hits == 1).sum())) / ascents) if ascents else np.nan
