"""Draws from continuous distributions, as pure functions of key, counter and parameters.

In: a key, a counter, parameters. Out: one f64. A parameter outside its range gives NaN. Outside: location
and scale, which the caller applies.
"""

from __future__ import annotations

from typing import Final

from consilience.native.mathematics import atan, cos, exp, floor, inf, log, nan, pi, sin, sqrt
from consilience.native.random.philox import uniforms
from consilience.native.typed_python import Array, f64, i64, native

TWO_PI: Final = 2.0 * pi
QUARTER: Final = 0.25
ATTEMPTS: Final = 1000  # rejection accepts at least 3 of 4 attempts: more than this never happens


@native
def random_uniform(key: i64, counter: i64) -> f64:
    """Uniform on the open interval (0, 1), in steps of 2**-52."""
    u, _ = uniforms(key, counter, 0)
    return u


@native
def random_exponential(key: i64, counter: i64) -> f64:
    """Exponential with mean 1."""
    u, _ = uniforms(key, counter, 0)
    return -log(u)


@native
def cosine_of_turn(turn: f64) -> f64:
    """cos(2 pi turn) for -1/4 <= turn < 1; the nearest quarter is taken off exactly, so zeros stay sharp."""
    quarter = floor(4.0 * turn + 0.5)
    angle = TWO_PI * (turn - QUARTER * quarter)
    half = 0.5 * quarter
    size = cos(angle) if floor(half) == half else sin(angle)
    return -size if quarter == 1.0 or quarter == 2.0 else size


@native
def normal_pair(key: i64, counter: i64, block: i64) -> tuple[f64, f64]:
    """Two independent standard normals from one block (G. E. P. Box, M. E. Muller 1958)."""
    u, v = uniforms(key, counter, block)
    radius = sqrt(-2.0 * log(u))
    return radius * cosine_of_turn(v), radius * cosine_of_turn(v - QUARTER)


@native
def random_normal(key: i64, counter: i64) -> f64:
    """Standard normal. Counters 2m and 2m + 1 share one block; both numbers are independent."""
    u, v = uniforms(key, counter >> 1, 0)
    turn = v if (counter & 1) == 0 else v - QUARTER  # the sine is the cosine a quarter turn before
    return sqrt(-2.0 * log(u)) * cosine_of_turn(turn)


@native
def random_uniforms(key: i64, counter: i64, out: Array[f64], n: i64) -> None:
    """For i < n out[i] = number (counter + i) % 2 of block (counter + i) // 2, as `philox.uniforms` gives them."""
    i = 0
    if n > 0 and (counter & 1) == 1:
        _, second = uniforms(key, counter >> 1, 0)
        out[0] = second
        i = 1
    while i + 1 < n:
        first, second = uniforms(key, (counter + i) >> 1, 0)
        out[i] = first
        out[i + 1] = second
        i += 2
    if i < n:
        first, second = uniforms(key, (counter + i) >> 1, 0)
        out[i] = first


@native
def random_normals(key: i64, counter: i64, out: Array[f64], n: i64) -> None:
    """out[i] = random_normal(key, counter + i) for i < n, with one block per two numbers."""
    i = 0
    if n > 0 and (counter & 1) == 1:
        out[0] = random_normal(key, counter)
        i = 1
    while i + 1 < n:
        first, second = normal_pair(key, (counter + i) >> 1, 0)
        out[i] = first
        out[i + 1] = second
        i += 2
    if i < n:
        out[i] = random_normal(key, counter + i)


@native
def random_gamma(key: i64, counter: i64, shape: f64) -> f64:
    """Gamma with scale 1 and shape >= 0; NaN when shape is negative, infinite or NaN.

    G. Marsaglia, W. W. Tsang: A simple method for generating gamma variables (2000). A shape below 1 is
    raised by one, and the draw multiplied by a power of a uniform number.
    """
    if not 0.0 <= shape < inf:
        return nan
    if shape == 0.0:
        return 0.0
    raised = shape + 1.0 if shape < 1.0 else shape
    d = raised - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    for attempt in range(ATTEMPTS):
        x, _ = normal_pair(key, counter, 2 * attempt)
        u, boost = uniforms(key, counter, 2 * attempt + 1)
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            square = x * x
            accepted = u < 1.0 - 0.0331 * square * square
            if not accepted:
                accepted = log(u) < 0.5 * square + d * (1.0 - v + log(v))
            if accepted:
                return d * v if shape >= 1.0 else d * v * exp(log(boost) / shape)
    return nan


@native
def random_von_mises(key: i64, counter: i64, kappa: f64) -> f64:
    """Von Mises around 0 on [-pi, pi], concentration kappa >= 0; NaN when kappa is negative, infinite or NaN.

    D. J. Best, N. I. Fisher: Efficient simulation of the von Mises distribution (1979): a wrapped Cauchy variable,
    accepted in at least 2 of 3 attempts. In place of their r and f stand e = r - 1 and the tangent of half the angle,
    which keep their digits where a large kappa makes both small.
    """
    if not 0.0 <= kappa < inf:
        return nan
    if kappa < 1e-9:
        u, _ = uniforms(key, counter, 0)
        return pi * (2.0 * u - 1.0)
    s = sqrt(1.0 + 4.0 * kappa * kappa) if kappa < 1e8 else 2.0 * kappa
    root = sqrt(2.0 * (1.0 + s))
    rho = 2.0 * kappa * root / ((root + 2.0) * (s + 1.0))
    rest = (root - 1.0 - 1.0 / (2.0 * kappa + s)) / (2.0 * kappa)  # 1 - rho
    e = rest * rest / (2.0 * rho)
    narrow = sqrt(e / (2.0 + e))
    for attempt in range(ATTEMPTS):
        u, v = uniforms(key, counter, 2 * attempt)
        side, _ = uniforms(key, counter, 2 * attempt + 1)
        quarter = 0.5 * pi * u
        far = cos(quarter)
        c = kappa * e * (2.0 + e) / (e + 2.0 * far * far)
        accepted = c * (2.0 - c) > v
        if not accepted:
            accepted = log(c / v) + 1.0 >= c
        if accepted:
            angle = 2.0 * atan(narrow * sin(quarter) / far)
            return angle if side < 0.5 else -angle
    return nan


@native
def random_beta(key: i64, counter: i64, a: f64, b: f64) -> f64:
    """Beta with both shapes positive; NaN otherwise. A ratio of gammas, taken in logarithms.

    Small shapes would underflow as plain gammas; the logarithms keep their ratio.
    """
    if not (0.0 < a < inf and 0.0 < b < inf):
        return nan
    x = log_gamma_draw(key, 2 * counter, a)
    y = log_gamma_draw(key, 2 * counter + 1, b)
    return 1.0 / (1.0 + exp(y - x))


@native
def log_gamma_draw(key: i64, counter: i64, shape: f64) -> f64:
    """Logarithm of a gamma draw, finite for every positive shape."""
    if shape >= 1.0:
        return log(random_gamma(key, counter, shape))
    _, boost = uniforms(key, counter, 2 * ATTEMPTS)
    return log(random_gamma(key, counter, shape + 1.0)) + log(boost) / shape
