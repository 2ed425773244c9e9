"""Incomplete gamma and beta functions, their slopes and their logarithms, in as many digits as asked for.

In: mpmath's numbers. Out: the same. Series and continued fractions from far behind.
"""

from __future__ import annotations

import mpmath as mp


def _gammainc(a: mp.mpf, x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """P and Q by the series, or the continued fraction from far behind."""
    with mp.workdps(90):
        density = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
        if x < a + 40:
            term = total = mp.mpf(1)
            k = 0
            while term > total * mp.mpf(10) ** -85:
                k += 1
                term *= x / (a + k)
                total += term
            return density * total, 1 - density * total
        tail = mp.mpf(0)
        for i in range(int(100 + 40 * mp.sqrt(a)), 0, -1):
            tail = i * (a - i) / (x - a + 1 + 2 * i + tail)
        q = density * a / (x - a + 1 + tail)
        return 1 - q, q


def _betainc(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> mp.mpf:
    """The continued fraction from far behind."""
    with mp.workdps(60):
        mirrored = x * (a + b + 2) > a + 1
        if mirrored:
            a, b, x = b, a, 1 - x
        f = mp.mpf(1)
        for m in range(int(100 + 20 * mp.sqrt(max(a, b))), 0, -1):
            f = 1 - (a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) / f
            f = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / f
        f = 1 - (a + b) * x / (a + 1) / f
        log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
        value = mp.exp(a * mp.log(x) + b * mp.log1p(-x) - log_beta) / (a * f)
        return 1 - value if mirrored else value


def _gammainc_slope(a: mp.mpf, x: mp.mpf) -> mp.mpf:
    """The slope of P in its shape, of its series term by term."""
    with mp.workdps(60 + int(x)):
        term = total = mp.mpf(1)
        logarithmic = slope = k = mp.mpf(0)
        while k < x - a or term * (1 + logarithmic) > total * mp.mpf(10) ** -mp.mp.dps:
            k += 1
            term *= x / (a + k)
            logarithmic += 1 / (a + k)
            total += term
            slope -= term * logarithmic
        density = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
        return density * ((mp.log(x) - mp.digamma(a + 1)) * total + slope)


def _betainc_slope(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> mp.mpf:
    """The slope of I_x(a, b) in a, of the series of the smaller tail term by term (DLMF 8.17.8)."""
    mirrored = x > max(a / (a + b), 0.3)
    y = 1 - x
    a, b, x, y = (b, a, y, x) if mirrored else (a, b, x, y)
    with mp.workdps(130):
        term = total = mp.mpf(1)
        logarithmic = slope = k = mp.mpf(0)
        while term * (1 + abs(logarithmic)) > total * mp.mpf(10) ** -125:
            term *= (a + b + k) / (a + 1 + k) * x
            logarithmic += 1 / (a + b + k) - (0 if mirrored else 1 / (a + 1 + k))
            k += 1
            total += term
            slope += term * logarithmic
        front = mp.log(y) - mp.digamma(b) if mirrored else mp.log(x) - mp.digamma(a + 1)
        log_density = a * mp.log(x) + b * mp.log(y) - mp.loggamma(a + 1) - mp.loggamma(b) + mp.loggamma(a + b)
        result = mp.exp(log_density) * ((front + mp.digamma(a + b)) * total + slope)
        return -result if mirrored else result


def _beta_density(a: mp.mpf, b: mp.mpf, x: mp.mpf) -> mp.mpf:
    log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    return mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - log_beta)


def _log_gammainc(a: mp.mpf, x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """log P and log Q, the tail that is below the mean first."""
    with mp.workdps(mp.mp.dps + 60):
        log_density = a * mp.log(x) - x - mp.loggamma(a)
        if x < a + 1:
            term = total = 1 / a
            k = 0
            while term > total * mp.mpf(10) ** -mp.mp.dps:
                k += 1
                term *= x / (a + k)
                total += term
            log = log_density + mp.log(total)
            return log, mp.log1p(-mp.exp(log))
        tail = mp.mpf(0)
        for i in range(int(400 + 60 * mp.sqrt(a) + 4000 / x), 0, -1):
            tail = i * (a - i) / (x - a + 1 + 2 * i + tail)
        log = log_density - mp.log(x - a + 1 + tail)
        return mp.log1p(-mp.exp(log)), log


def _log_betainc_odds(a: mp.mpf, b: mp.mpf, w: mp.mpf) -> mp.mpf:
    """log I of a and b at log odds w."""
    with mp.workdps(mp.mp.dps + 60):
        mirrored = (a + b + 2) / (1 + mp.exp(-w)) > a + 1
        a, b, w = (b, a, -w) if mirrored else (a, b, w)
        x = 1 / (1 + mp.exp(-w))
        f = mp.mpf(1)
        for m in range(int(150 + 20 * mp.sqrt(max(a, b))), 0, -1):
            f = 1 - (a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) / f
            f = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / f
        f = 1 - (a + b) * x / (a + 1) / f
        log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
        log = a * mp.log(x) - b * mp.log1p(mp.exp(w)) - log_beta - mp.log(a * f)
        return mp.log1p(-mp.exp(log)) if mirrored else log
