"""Logarithms of ratios of gamma functions, of which masses and beta densities are made, without cancellation.

Graphs of positive numbers in, graphs out. Gamma functions of large numbers agree in almost all digits; here only
what differs is computed.
"""

from __future__ import annotations

from typing import Final

from consilience.distributions.mathematics import (
    LOG_SQRT_2_PI,
    absolute,
    equal,
    gammaln,
    greater,
    less,
    log,
    log1p,
    maximum,
    reciprocal,
    square,
    where,
)
from consilience.ir import Node, constant

# From here on Stirling's series to z^-15 holds to the last digit.
_FAR: Final = 10.0
# B_2k / (2k (2k - 1)), the coefficients of x^(1-2k).
_STIRLING: Final = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
# atanh(y) is the sum of y^(2 k + 1) / (2 k + 1), to the last digit by so many terms for y below 0.1.
_ODD: Final = 8
_LEAST: Final = 1e-300
# A ratio may overflow beyond it.
_GREATEST: Final = 1e300


def stirling_rest(x: Node) -> Node:
    """log Gamma(x) less Stirling's leading terms (x - 1/2) log x - x + log(2 pi) / 2; about 1 / (12 x)."""
    large = greater(x, _FAR)
    inverse = reciprocal(where(large, x, _FAR))
    z = square(inverse)
    series = z * _STIRLING[-1] + _STIRLING[-2]
    for coefficient in reversed(_STIRLING[:-2]):
        series = series * z + coefficient
    near = where(large, _FAR, x)
    direct = gammaln(near) - ((near - 0.5) * log(near) - near + LOG_SQRT_2_PI)
    return where(large, series * inverse, direct)


def log1p_ratio(b: Node, a: Node) -> Node:
    """log(1 + b / a) for positive numbers of any size."""
    ratio = b / a
    large = greater(ratio, _GREATEST)
    return where(large, log(b) - log(a), log1p(where(large, 0.0, ratio)))


def log_ratio(relative: Node, logarithm: Node) -> Node:
    """The logarithm of a ratio r, given both r - 1, which keeps its digits near 0, and log r, which does far away."""
    far = greater(absolute(relative), 0.5)
    return where(far, logarithm, log1p(where(far, 0.0, relative)))


def log_beta(a: Node, b: Node) -> Node:
    """log(Gamma(a) Gamma(b) / Gamma(a + b))."""
    total = a + b
    rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(total)
    leading = (0.5 - a) * log1p_ratio(b, a) + (0.5 - b) * log1p_ratio(a, b) - 0.5 * log(total)
    return LOG_SQRT_2_PI + rest + leading


def log_rising_rest(a: Node, n: Node) -> Node:
    """log(a (a + 1) … (a + n - 1) / n!) less a log((a + n) / a) + n log((a + n) / n), for a whole n >= 0."""
    count, total = maximum(n, 1.0), a + n
    slow = 0.5 * (log(a) - log(total) - log(count)) - LOG_SQRT_2_PI
    return where(equal(n, 0), 0.0, slow + stirling_rest(total) - stirling_rest(a) - stirling_rest(count))


def log_polya(a: Node, x: Node, total: Node, n: Node) -> Node:
    """log(a (a + 1) … (a + x - 1) / x!), with its share of the same of `total` and n, but for the slow part, taken off.

    a and x are parts of `total` and n; next to x = a n / total, where masses are large, both ratios of which it takes
    powers are 1.
    """
    count, most, own, all = maximum(x, 1.0), maximum(n, 1.0), a + x, total + n
    offset = x * (total / all) - a * (n / all)
    scale = log(own) - log(all)
    shapes = a * log_ratio(offset / a, scale + log(total) - log(a))
    counts = x * log_ratio(-offset / count, scale + log(most) - log(count))
    return shapes + where(equal(x, 0), 0.0, counts) + log_rising_rest(a, x)


def log_factorial_rest(n: Node) -> Node:
    """log n! less n log n - n, for a whole n >= 0; 0 for n = 0."""
    count = maximum(n, 1.0)
    return where(equal(n, 0), 0.0, LOG_SQRT_2_PI + 0.5 * log(count) + stirling_rest(count))


def log_binomial(x: Node, n: Node, p: Node, q: Node) -> Node:
    """The logarithm of C(n, x) p^x q^(n-x) for q = 1 - p, by the ratios of n p to x and of n q to n - x."""
    ones, zeros = maximum(x, 1.0), maximum(n - x, 1.0)
    offset = n * p - x
    success = x * log_ratio(offset / ones, log(n * p) - log(ones))
    failure = (n - x) * log_ratio(-offset / zeros, log(n * q) - log(zeros))
    slow = log_factorial_rest(n) - log_factorial_rest(x) - log_factorial_rest(n - x)
    return slow + where(equal(x, 0), 0.0, success) + where(equal(x, n), 0.0, failure)


def deviance(x: Node, mean: Node) -> Node:
    """x log(x / mean) + mean - x for x >= 0 and mean > 0, without cancellation next to x = mean.

    C. Loader: Fast and accurate computation of binomial probabilities (2000).
    """
    offset, count = x - mean, maximum(x, _LEAST)
    share = offset / (x + mean)
    near = less(absolute(share), 0.1)
    small = where(near, share, 0.0)
    series = constant(1.0 / (2 * _ODD + 1))
    for k in range(_ODD - 1, 0, -1):
        series = series * square(small) + 1.0 / (2 * k + 1)
    far = x * (log(count) - log(mean)) - offset
    return where(near, offset * small + 2.0 * x * small * square(small) * series, far)
