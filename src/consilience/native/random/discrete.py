"""Draws of counts, as pure functions of key, counter and parameters.

In: a key, a counter, parameters. Out: one i64; -1 when a parameter lies outside its range. Small means are
inverted, large ones use transformed rejection. Outside: masses (`masses`).

W. Hormann: The generation of binomial random variates (1993), algorithm BTRS, and The transformed rejection
method for generating Poisson random variables (1993), algorithm PTRS.
"""

from __future__ import annotations

from typing import Final

from consilience.native.mathematics import exp, floor, isnan, log, log1p, nan, sqrt
from consilience.native.random.masses import binomial_log_mass, poisson_log_mass
from consilience.native.random.philox import uniforms
from consilience.native.typed_python import f64, i64, native

SMALL: Final = 10.0  # means below are inverted
FARTHEST: Final = 200.0  # a count that inversion of a small mean never reaches
ATTEMPTS: Final = 1000
GREATEST_RATE: Final = 9.2e18
INVALID: Final = -1


@native
def random_poisson(key: i64, counter: i64, rate: f64) -> i64:
    """Poisson with 0 <= rate <= 9.2e18; -1 for any other rate."""
    if not 0.0 <= rate <= GREATEST_RATE:
        return INVALID
    if rate == 0.0:
        return 0
    if rate < SMALL:
        return _poisson_inversion(key, counter, rate)
    return _poisson_rejection(key, counter, rate)


@native
def _poisson_inversion(key: i64, counter: i64, rate: f64) -> i64:
    for attempt in range(ATTEMPTS):
        u, _ = uniforms(key, counter, attempt)
        k = 0.0
        mass = exp(-rate)
        while u > mass and k < FARTHEST:
            u -= mass
            k += 1.0
            mass *= rate / k
        if k < FARTHEST:
            return i64(k)
    return INVALID


@native
def _poisson_rejection(key: i64, counter: i64, rate: f64) -> i64:
    b = 0.931 + 2.53 * sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    for attempt in range(ATTEMPTS):
        first, v = uniforms(key, counter, attempt)
        u = first - 0.5
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return i64(k)
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        if log(v * inverse_alpha / (a / (us * us) + b)) <= poisson_log_mass(k, rate):
            return i64(k)
    return INVALID


@native
def random_binomial(key: i64, counter: i64, n: i64, p: f64) -> i64:
    """Binomial with n >= 0 trials and 0 <= p <= 1; -1 otherwise."""
    if n < 0 or not 0.0 <= p <= 1.0:
        return INVALID
    if n == 0 or p == 0.0:
        return 0
    if p == 1.0:
        return n
    rarer = p if p <= 0.5 else 1.0 - p
    if f64(n) * rarer < SMALL:
        k = _binomial_inversion(key, counter, n, rarer)
    else:
        k = _binomial_rejection(key, counter, f64(n), rarer)
    if k < 0:
        return INVALID
    k = min(k, n)  # above 2**53 trials, counts are rounded
    return k if p <= 0.5 else n - k


@native
def _binomial_inversion(key: i64, counter: i64, n: i64, p: f64) -> i64:
    trials = f64(n)
    odds = p / (1.0 - p)
    none = exp(trials * log1p(-p))
    for attempt in range(ATTEMPTS):
        u, _ = uniforms(key, counter, attempt)
        k = 0.0
        mass = none
        while u > mass and k <= trials and k < FARTHEST:
            u -= mass
            k += 1.0
            mass *= odds * (trials - k + 1.0) / k
        if k <= trials and k < FARTHEST:
            return i64(k)
    return INVALID


@native
def _binomial_rejection(key: i64, counter: i64, n: f64, p: f64) -> i64:
    deviation = sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    alpha = (2.83 + 5.1 / b) * deviation
    squeeze = 0.92 - 4.2 / b
    mode = nan  # log mass of the most frequent count, computed when it is first needed
    for attempt in range(ATTEMPTS):
        first, v = uniforms(key, counter, attempt)
        u = first - 0.5
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + c)
        if us >= 0.07 and v <= squeeze:
            return i64(k)
        if k < 0.0 or k > n:
            continue
        if isnan(mode):
            mode = binomial_log_mass(floor((n + 1.0) * p), n, p)
        if log(v * alpha / (a / (us * us) + b)) <= binomial_log_mass(k, n, p) - mode:
            return i64(k)
    return INVALID
