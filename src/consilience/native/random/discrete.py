"""Draws of counts, as pure functions of key, counter and parameters.

In: a key, a counter, parameters. Out: one i64; -1 when a parameter lies outside its range. Small means are
inverted, large ones use transformed rejection. Outside: masses (`masses`).

W. Hormann: The generation of binomial random variates (1993), algorithm BTRS, and The transformed rejection
method for generating Poisson random variables (1993), algorithm PTRS. Masses that are log-concave lie below a hat that
is level around the mode and falls geometrically beyond it (L. Devroye: A simple generator for discrete log-concave
distributions, 1987).
"""

from __future__ import annotations

from typing import Final

from consilience.native.mathematics import exp, expm1, floor, inf, isnan, lgamma, log, log1p, nan, sqrt
from consilience.native.random.masses import binomial_log_mass, poisson_log_mass
from consilience.native.random.philox import uniforms
from consilience.native.typed_python import f64, i64, native

SMALL: Final = 10.0  # means below are inverted
FARTHEST: Final = 200.0  # a count that inversion of a small mean never reaches
ATTEMPTS: Final = 1000
GREATEST_RATE: Final = 9.2e18
GREATEST_COUNT: Final = 4.6e18
LOG_GREATEST_CENTER: Final = 42.97  # of 4.6e18
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


@native
def random_conway_maxwell_poisson(key: i64, counter: i64, log_rate: f64, power: f64) -> i64:
    """Counts of masses rate^k / (k!)^power up to a factor, with power > 0 and counts below 4.6e18; else -1."""
    if not power > 0.0 or not -inf < log_rate < inf or not log_rate / power < LOG_GREATEST_CENTER:
        return INVALID
    center = exp(log_rate / power)
    mode = floor(center)
    # From about a standard deviation next to the mode on, the ratio of consecutive masses bounds all beyond.
    width = floor(sqrt(max(center, 1.0) / power)) + 1.0
    if log_rate < 0.0:
        width = min(width, floor(-1.0 / log_rate) + 1.0)
    left = max(mode - width, 0.0)
    right = mode + width
    top = _power_log_mass(mode, log_rate, power, center)
    fall_left = 0.0
    before = 0.0  # mass of the hat below `left`, in units of that of the mode
    if left > 0.0:
        fall_left = log_rate - power * log(left)
        before = exp(_power_log_mass(left, log_rate, power, center) - top - fall_left) / -expm1(-fall_left)
    fall_right = power * log(right + 1.0) - log_rate
    beyond = exp(_power_log_mass(right, log_rate, power, center) - top - fall_right) / -expm1(-fall_right)
    level = right - left + 1.0
    for attempt in range(ATTEMPTS):
        first, v = uniforms(key, counter, attempt)
        u = first * (before + level + beyond)
        if u < level:
            k = min(left + floor(u), right)
            hat = 0.0
        elif u < level + beyond:
            # What is left of the uniform number is uniform again.
            steps = floor(-log((u - level) / beyond) / fall_right) + 1.0
            k = right + steps
            hat = _power_log_mass(right, log_rate, power, center) - top - fall_right * steps
        else:
            steps = floor(-log((u - level - beyond) / before) / fall_left) + 1.0
            k = left - steps
            hat = _power_log_mass(left, log_rate, power, center) - top - fall_left * steps
        if 0.0 <= k < GREATEST_COUNT and log(v) <= _power_log_mass(k, log_rate, power, center) - top - hat:
            return i64(k)
    return INVALID


@native
def _power_log_mass(k: f64, log_rate: f64, power: f64, center: f64) -> f64:
    """k log_rate - power log k!; from a center above 2 on less power times the center."""
    if center > 2.0:
        return power * poisson_log_mass(k, center)
    return k * log_rate - power * lgamma(k + 1.0)
