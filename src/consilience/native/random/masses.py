"""Log masses of counts, accurate also where the count is huge, for rejection sampling.

In: counts and parameters as f64. Out: log probabilities. Outside: draws.

C. Loader: Fast and accurate computation of binomial probabilities (2000): the mass is written with Stirling's
error and a deviance, so that nothing large cancels.
"""

from __future__ import annotations

from typing import Final

from consilience.native.mathematics import log, log1p, pi
from consilience.native.typed_python import f64, native

HALF_LOG_TWO_PI: Final = 0.9189385332046727418
TWO_PI: Final = 2.0 * pi
SERIES: Final = 16.0


@native
def stirling_error(n: f64) -> f64:
    """log n! minus Stirling's formula, for a whole n >= 1: about 1 / (12 n)."""
    if n < SERIES:
        product = 1.0
        k = 2.0
        while k <= n:
            product *= k
            k += 1.0
        return log(product) - (n + 0.5) * log(n) + n - HALF_LOG_TWO_PI
    s = 1.0 / (n * n)
    series = 1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))
    return series / n


@native
def deviance(x: f64, mean: f64) -> f64:
    """x log(x / mean) + mean - x, for x > 0 and mean > 0, without cancellation near x = mean."""
    difference = x - mean
    total = x + mean
    if abs(difference) < 0.1 * total:
        v = difference / total
        value = difference * v
        term = 2.0 * x * v
        square = v * v
        odd = 3.0
        while odd < 40.0:
            term *= square
            value += term / odd
            odd += 2.0
        return value
    return x * log(x / mean) + mean - x


@native
def poisson_log_mass(k: f64, rate: f64) -> f64:
    """log P(K = k), K Poisson with rate > 0, for a whole k >= 0."""
    if k == 0.0:
        return -rate
    return -stirling_error(k) - deviance(k, rate) - 0.5 * log(TWO_PI * k)


@native
def binomial_log_mass(k: f64, n: f64, p: f64) -> f64:
    """log P(K = k), K binomial with 0 < p < 1, for whole 0 <= k <= n."""
    if k == 0.0:
        return n * log1p(-p)
    if k == n:
        return n * log(p)
    rest = n - k
    corrections = stirling_error(n) - stirling_error(k) - stirling_error(rest)
    deviances = deviance(k, n * p) + deviance(rest, n * (1.0 - p))
    return corrections - deviances + 0.5 * (log(n / rest) - log(TWO_PI * k))
