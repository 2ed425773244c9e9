"""Quantiles of the F distribution with 200 denominator degrees of freedom."""

from __future__ import annotations

import functools

DENOMINATOR = 200
LEVEL = 0.01


def upper_tail(ratio: float, numerator: int) -> float:
    """Probability that F with `numerator` (odd or even) and 200 degrees of freedom exceeds `ratio`.

    The regularised incomplete beta function at x is x^a (1 + a (1 - x) + a (a + 1) (1 - x)^2 / 2! + ...), a sum of b
    terms when b, half the denominator's degrees, is whole.
    Source: Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.5.6 and 26.6.2.
    """
    a = numerator / 2
    x = numerator * ratio / (numerator * ratio + DENOMINATOR)
    term = total = 1.0
    for j in range(1, DENOMINATOR // 2):
        term *= (a + j - 1) / j * (1 - x)
        total += term
    return 1.0 - float(x**a) * total


@functools.lru_cache(maxsize=64)
def largest_ratio(chains: int, scalars: int) -> float:
    """The ratio that half chains' variances exceed by chance in one of `scalars` scalars at most 1 time in 100.

    It is the quantile 1 - 0.01 / (2 scalars) of F(2 chains - 1, 200); two series are looked at per scalar.
    """
    numerator = 2 * chains - 1
    level = LEVEL / (2 * scalars)
    low, high = 0.0, 1.0
    while upper_tail(high, numerator) > level:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if upper_tail(middle, numerator) > level:
            low = middle
        else:
            high = middle
    return (low + high) / 2
