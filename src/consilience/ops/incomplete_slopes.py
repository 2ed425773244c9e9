"""What the slopes of the incomplete gamma and beta functions in their shapes mean in NumPy.

In: arrays of shapes and arguments. Out: float64 arrays, with a relative error of about 1e-12 (more where the shapes
are beyond 1e6). The density times the slope of its logarithm is integrated on the side where that has one sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.ops.log_beta import SERIES_FROM, betaln, gammaln_rest

Array = npt.NDArray[Any]

# The integral of f(u) over u > 0 is that of f(u(s)) u'(s) over all s, u = exp(s - exp(-s)), for which the trapezoidal
# rule converges exponentially (Takahasi and Mori 1974).
STEP: Final = 1 / 8
FIRST: Final = -3.75
NODES: Final = 68
AT_ONCE: Final = 2**16  # numbers
_S: Final = FIRST + STEP * np.arange(NODES)
_U: Final = np.exp(_S - np.exp(-_S))
_WEIGHTS: Final = STEP * _U * (1.0 + np.exp(-_S))
CLOSE: Final = 2e-3  # relative distance of two arguments of digamma whose difference needs care
GAUSS: Final = 0.5 / 3.0**0.5  # the nodes of the rule with two nodes, in lengths of the interval from its middle
LEAST_SHAPE: Final = 1e-300  # in place of 0, where the slope has this limit


def excess(x: Array, ratio: Array) -> Array:
    """x - log(ratio) for ratio = 1 + x, without cancellation."""
    s = x / (x + 2.0)
    z = s * s
    series: Array = np.sum([z**k / (2 * k + 3) for k in range(10)], 0)
    return np.where(np.abs(s) < 0.17, x * s - 2.0 * s * z * series, x - np.log(ratio))


def digamma_rest(x: Array) -> Array:
    """digamma(x) - log(x)."""
    from scipy.special import digamma

    inverse = 1.0 / np.maximum(x, SERIES_FROM)
    terms = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
    series = inverse * (inverse * np.polyval(terms[::-1], inverse**2) - 0.5)
    return np.where(x < SERIES_FROM, digamma(x) - np.log(x), series)


def _gamma_density(a: Array, x: Array) -> Array:
    """x**a exp(-x) / gamma(a + 1)."""
    from scipy.special import gammaln

    far = np.exp(-a * excess((x - a) / a, x / a) - gammaln_rest(a)) / np.sqrt(2.0 * np.pi * a)
    return np.where(a > SERIES_FROM, far, np.exp(a * np.log(x) - x - gammaln(a + 1.0)))


def _beta_density(a: Array, b: Array, x: Array, y: Array, offset: Array) -> Array:
    """x**a y**b / B(a, b), for x + y = 1 and offset = b x - a y."""
    n = a + b
    exponent = -a * excess(offset / a, x * (n / a)) - b * excess(-offset / b, y * (n / b))
    rest = gammaln_rest(n) - gammaln_rest(a) - gammaln_rest(b)
    far = np.exp(exponent + rest) * np.sqrt(a * (b / n) / (2.0 * np.pi))
    log_x, log_y = np.where(x < y, np.log(x), np.log1p(-y)), np.where(x < y, np.log1p(-x), np.log(y))
    near = np.exp(a * log_x + b * log_y - betaln(a, b))
    return np.asarray(np.where((a > SERIES_FROM) & (b > SERIES_FROM), far, near))


def integral(exponent: Callable[[Array], Array], weight: Callable[[Array], Array], slope: Array, bend: Array) -> Array:
    """The integral of weight(u) exp(exponent(u)) over u > 0, where exponent(u) begins as -slope u - bend u**2 / 2."""
    length = 2.0 / (slope + np.sqrt(slope * slope + 2.0 * np.maximum(bend, 0.0)))
    together = max(1, AT_ONCE // max(1, length.size))
    total = np.zeros(())
    for first in range(0, NODES, together):
        nodes = (slice(first, first + together), *(None,) * length.ndim)
        u = _U[nodes] * length
        total = total + np.sum(_WEIGHTS[nodes] * weight(u) * np.exp(exponent(u)), 0)
    return np.asarray(length * total)


def gammainc_slope(a: Array, x: Array) -> Array:
    """The slope of gammainc(a, x) in a, at most 0: the integral of log(t) - digamma(a) over the density."""
    from scipy.special import digamma

    with np.errstate(all="ignore"):
        valid, inside = (a >= 0.0) & (x >= 0.0), (a < np.inf) & (x > 0.0) & (x < np.inf)
        a = np.where(a < LEAST_SHAPE, LEAST_SHAPE, a)
        # gammainc(a, x) = x**a exp(-x) / gamma(a + 1) + gammainc(a + 1, x)
        near = (a < 1.0) & (np.log(x) < digamma(a + 1.0))
        first = np.where(near, _gamma_density(a, x) * (np.log(x) - digamma(a + 1.0)), 0.0)
        a = np.where(near, a + 1.0, a)
        relative = (x - a) / a
        log_ratio = np.where(np.abs(relative) < 0.5, np.log1p(relative), np.log(x) - np.log(a))
        gap = log_ratio - digamma_rest(a)
        below = integral(  # t = x exp(-u)
            lambda u: (x - a) * u - x * excess(np.expm1(-u), np.exp(-u)), lambda u: gap - u, a - x, x
        )
        steepness = 1.0 - (a - 1.0) / x
        above = integral(  # t = x + u
            lambda u: -(a - 1.0) * excess(u / x, 1.0 + u / x) - steepness * u,
            lambda u: gap + np.log1p(u / x),
            np.minimum(steepness, 1.0),
            (a - 1.0) / x / x,
        )
        slope = first + _gamma_density(a, x) * a * np.where(gap < 0.0, below, -above / x)
        return _with_ends(slope, valid, inside)


def _with_ends(slope: Array, valid: Array, inside: Array) -> Array:
    """The slope inside of the domain, 0 at its ends, NaN outside."""
    return np.where(valid & inside, slope, np.where(valid, 0.0, np.nan))


def fall(own: Array, other: Array, odds: Array, steepness: Array) -> Callable[[Array], Array]:
    """The fall of the logarithm of a beta density from x, where it has the slope `steepness`, to x exp(-u)."""

    def exponent(u: Array) -> Array:
        growth = np.expm1(-u)
        rest = -odds * growth
        # Each is free of cancellation for its shapes.
        falling = -own * u + (other - 1.0) * np.log1p(rest)
        bending = growth * steepness - own * excess(growth, np.exp(-u)) - (other - 1.0) * excess(rest, 1.0 + rest)
        return np.asarray(np.where(other < 1.0, falling, bending))

    return exponent


def _first_slope(a: Array, b: Array, x: Array, y: Array) -> Array:
    """The slope of betainc(a, b, x) in a, for x + y = 1."""
    from scipy.special import digamma, zeta

    log_x = np.where(x < y, np.log(x), np.log1p(-y))
    n = a + b
    near = (a < 1.0) & (log_x < digamma(a + 1.0) - digamma(n))
    density = _beta_density(a, b, x, y, b * x - a * y)
    # betainc(a, b, x) = x**a y**b / (a B(a, b)) + betainc(a + 1, b, x)
    total = np.where(near, density / a * (log_x - (digamma(a + 1.0) - digamma(n))), 0.0)
    density = np.where(near, density * (n / a) * x, density)
    a = np.where(near, a + 1.0, a)
    n = a + b
    offset = b * x - a * y
    relative = offset / a
    log_ratio = np.where(np.abs(relative) < 0.5, np.log1p(relative), log_x + np.log(n / a))
    middle, half = a + 0.5 * b, GAUSS * b
    short = 0.5 * b * (zeta(2.0, middle - half) + zeta(2.0, middle + half))
    gap = np.where(b < CLOSE * a, log_x + short, log_ratio - (digamma_rest(a) - digamma_rest(n)))
    odds = x / y
    below = integral(  # t = x exp(-u)
        fall(a, b, odds, (x - offset) / y),
        lambda u: gap - u,
        np.minimum((x - offset) / y, a),
        (b - 1.0) * odds / y,
    )
    # betainc(a, b, x) = betainc(a, b + 1, x) - x**a y**b / (b B(a, b))
    small = (gap >= 0.0) & (b < 1.0)
    total = total - np.where(small, density / b * gap, 0.0)
    density = np.where(small, density * (n / b) * y, density)
    b = np.where(small, b + 1.0, b)
    offset = b * x - a * y
    gap = np.where(small, gap + 1.0 / n, gap)
    above = integral(  # 1 - t = y exp(-u)
        fall(b, a, 1.0 / odds, (y + offset) / x),
        lambda u: gap + np.log1p(-np.expm1(-u) / odds),
        np.minimum((y + offset) / x, b),
        (a - 1.0) / odds / x,
    )
    return np.asarray(total + density * np.where(gap < 0.0, below / y, -above / x))


def _slope_of_beta(a: Array, b: Array, x: Array, first: bool) -> Array:
    with np.errstate(all="ignore"):
        valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
        inside = (a + b < np.inf) & (x > 0.0) & (x < 1.0)
        a, b = (np.where(shape < LEAST_SHAPE, LEAST_SHAPE, shape) for shape in (a, b))
        y = 1.0 - x
        return _with_ends(_first_slope(a, b, x, y) if first else -_first_slope(b, a, y, x), valid, inside)


def betainc_slope_a(a: Array, b: Array, x: Array) -> Array:
    """The slope of betainc(a, b, x) in a, which is negative."""
    return _slope_of_beta(a, b, x, first=True)


def betainc_slope_b(a: Array, b: Array, x: Array) -> Array:
    """The slope of betainc(a, b, x) in b, which is positive."""
    return _slope_of_beta(a, b, x, first=False)
