"""What Bessel and hypergeometric functions mean, beyond the range of SciPy's: its functions completed in NumPy.

In: float64 arrays. Out: values, and slopes that no closed form leads to. Outside: machine code, and derivatives by
formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ratio = Callable[..., tuple[Array, Array]]

LARGE = 1e5  # orders and arguments from which three terms of Debye's expansion have 16 digits
SMALL = 1e-290  # arguments below which SciPy's Bessel functions give 0 or infinity
TERMS = 1_000_000


def _scipy() -> Any:
    """scipy.special, imported when first used."""
    import scipy.special

    return scipy.special


def _debye(v: Array, x: Array, sign: float) -> tuple[Array, Array, Array]:
    """Exponent of the scaled function, algebraic part over its constant, logarithmic slope (DLMF 10.41)."""
    s = np.hypot(v, x)
    q, difference = np.square(v / s), v * (v / (s + x))
    first, second = (3 - 5 * q) / 24, (81 - 462 * q + 385 * q**2) / 1152
    total = 1 + sign * first / s + second / s**2
    change = -sign * (first - 10 * q / 24) / s - (2 * second + 2 * q * (770 * q - 462) / 1152) / s**2
    exponent = sign * (difference - v * np.arcsinh(v / x))
    return exponent, total / np.sqrt(s), sign * (v / x) * (v / (s + x)) + (x / s) * (change / total - 0.5) / s


def _first_kind(name: str, v: Array, x: Array) -> Array:
    special = _scipy()

    whole = v == np.floor(v)
    order, size = np.where(whole | (np.abs(v) < SMALL), np.abs(v), v), np.abs(x)
    parity = np.where(x < 0, np.where(whole, np.where(0.5 * v == np.floor(0.5 * v), 1.0, -1.0), np.nan), 1.0)
    exponent, factor, slope = _debye(np.abs(order), size, 1.0)
    scaled = np.exp(exponent) * factor / np.sqrt(2 * np.pi)
    large = ((np.abs(order) > LARGE) | (size > LARGE)) & np.isfinite(order) & np.isfinite(size)
    if name == "ive_slope":
        mean = 0.5 * (_first_kind("ive", v - 1, size) + _first_kind("ive", v + 1, size))
        value = _first_kind("ive", v, size)
        near = mean - np.where(size == 0, 0.0, value)
        return np.where(x < 0, -1.0, 1.0) * parity * np.where(large, np.where(value == 0, 0.0, value * slope), near)
    limit = 0.0 if name == "ive" else np.inf
    far = scaled if name == "ive" else np.exp(exponent + size) * factor / np.sqrt(2 * np.pi)
    start = np.power(size, order) * np.power(0.5, order) * special.rgamma(order + 1)
    start = np.where(order == 0, 1.0, np.where(order > 3, 0.0, start))
    result = np.where(size < SMALL, start, getattr(special, name)(order, size))
    result = np.where(large & (size >= SMALL), far, result)
    result = np.where(np.isinf(size) & np.isfinite(order), limit, result)
    return parity * np.where(np.isinf(order) & (size < np.inf), 0.0, result)


def _second_kind(name: str, v: Array, x: Array) -> Array:
    special = _scipy()

    order = np.abs(v)
    exponent, factor, slope = _debye(order, x, -1.0)
    large = ((order > LARGE) | (x > LARGE)) & np.isfinite(order) & np.isfinite(x) & (x > 0)
    if name == "kve_slope":
        value = _second_kind("kve", order, x)
        near = value - 0.5 * (_second_kind("kve", order - 1, x) + _second_kind("kve", order + 1, x))
        return np.where(value == np.inf, -np.inf, np.where(large, value * slope, near))
    far = np.exp(exponent if name == "kve" else exponent - x) * factor * np.sqrt(np.pi / 2)
    result = np.where(large, far, getattr(special, name)(order, x))
    result = np.where((x == np.inf) & np.isfinite(order), 0.0, result)
    return np.where(np.isinf(order) & (x >= 0) & (x < np.inf), np.inf, result)


def modified_bessel(name: str) -> Callable[[Array, Array], Array]:
    """iv, ive, kv, kve, or the slope of ive or kve in the argument, for any order and argument."""

    def call(v: Array, x: Array) -> Array:
        with np.errstate(all="ignore"):
            v, x = np.broadcast_arrays(v, x)
            return (_second_kind if name.startswith("k") else _first_kind)(name, v, x)

    call.__name__ = name
    return call


def i0(x: Array) -> Array:
    """I_0(x), also where SciPy's own gives infinity or NaN."""
    return modified_bessel("iv")(np.zeros((), x.dtype), x)


def i0e_slope(x: Array) -> Array:
    """The derivative of I_0(x) exp(-|x|), 0 at 0."""
    slope = modified_bessel("ive_slope")(np.zeros((), x.dtype), np.abs(x))
    return np.where(x == 0, 0.0, -np.copysign(np.abs(slope), x))


def i1(x: Array) -> Array:
    """I_1(x), likewise."""
    return modified_bessel("iv")(np.ones((), x.dtype), x)


def ordinary_bessel(name: str) -> Callable[[Array], Array]:
    """j0, j1, y0 or y1; far out by SciPy's functions of any order, which lose no digits there."""
    order = float(name[1])

    def call(x: Array) -> Array:
        special = _scipy()
        if name[0] == "y":
            far = special.yv(order, x)
        else:
            far = np.where((x < 0) & (order == 1), -1.0, 1.0) * special.jv(order, np.abs(x))
        return np.asarray(np.where(np.abs(x) > 50, far, getattr(special, name)(x)))

    call.__name__ = name
    return call


def expn(n: Array, x: Array) -> Array:
    """E_n(x); NaN unless n is whole and not negative."""
    special = _scipy()

    with np.errstate(all="ignore"):
        n, x = np.broadcast_arrays(n, x)
        fits = (n == np.floor(n)) & (n >= 0) & (x >= 0)
        large = fits & ((n > 1e9) | (x == np.inf))
        usual = fits & ~large
        value = special.expn(np.where(usual, n, 0).astype(int), np.where(usual, x, 1.0))
        return np.where(usual, value, np.where(large, np.exp(-x) / (n + x), np.nan))


def sine_integral(x: Array) -> Array:
    """Si(x)."""
    special = _scipy()

    return np.asarray(special.sici(x)[0])


def cosine_integral(x: Array) -> Array:
    """Ci(|x|)."""
    special = _scipy()

    return np.asarray(special.sici(x)[1])


def _series(ratio: Ratio, *arguments: Array) -> tuple[Array, Array]:
    """1 + r_0 + r_0 r_1 + ... and its slope; NaN without convergence or with fewer than 8 digits left.

    `ratio`: of n and the arguments: r_n and its slope.
    """
    shape = arguments[0].shape
    results = np.full((2, arguments[0].size), np.nan)
    left, given = np.arange(arguments[0].size), [a.ravel() for a in arguments]
    term, slope = np.ones(left.size), np.zeros(left.size)
    value, total, size = term, slope, term
    for n in range(TERMS):
        r, change = ratio(n, *given)
        slope, term = slope * r + term * change, term * r
        value, total = value + term, total + slope
        size = size + np.maximum(np.abs(term), np.abs(slope))
        going = (np.abs(term) > np.abs(value) * 2**-54) | (np.abs(slope) > np.abs(total) * 2**-54)
        known = ~going & (size * 2**-52 <= 1e-8 * np.maximum(np.abs(total), np.abs(value)))
        results[:, left[known]] = value[known], total[known]
        if not going.any():
            break
        if not going.all():
            left, given = left[going], [a[going] for a in given]
            term, slope, value, total, size = (a[going] for a in (term, slope, value, total, size))
    return results[0].reshape(shape), results[1].reshape(shape)


def _reachable(z: Array, *parameters: Array) -> Array:
    """Where a series ends in time, and its parameters are not so great that whole numbers do not change them."""
    inside: Array = z < 1 - 4e-5
    for parameter in parameters:
        inside = inside & (np.abs(parameter) < 1e15)
    return inside


def hyp2f1(a: Array, b: Array, c: Array, z: Array) -> Array:
    """F(a, b; c; z) by SciPy; for parameters greater than 10, where it loses its digits, from the series for z < 1."""
    special = _scipy()

    with np.errstate(all="ignore"):
        a, b, c, z = np.broadcast_arrays(a, b, c, z)
        exchanged = (z < 0) & ~((a > 0) & (c >= b))
        first, other = np.where(exchanged, b, a), np.where(exchanged, a, b)
        second, w = np.where(z < 0, c - other, other), np.where(z < 0, z / (z - 1), z)
        small = (np.abs(a) <= 10) & (np.abs(b) <= 10) & (np.abs(c) <= 10)
        w = np.where(~small & _reachable(w, a, b, c), w, np.nan)

        def ratio(n: int, first: Array, second: Array, c: Array, w: Array) -> tuple[Array, Array]:
            return (first + n) / (c + n) * ((second + n) / (n + 1)) * w, np.zeros(w.shape)

        series = np.where(z < 0, np.power(1 - z, -first), 1.0) * _series(ratio, first, second, c, w)[0]
        scipys = special.hyp2f1(*(np.where(small, x, 1.0) for x in (a, b, c)), np.where(small, z, 0.0))
        return np.where(small, scipys, series)


def hyp2f1_slope(place: str) -> Callable[[Array, Array, Array, Array], Array]:
    """The derivative of F(a, b; c; z) in its parameter a or c, for z < 1."""

    def in_first(n: int, first: Array, b: Array, c: Array, w: Array, sign: Array) -> tuple[Array, Array]:
        common = (b + n) / ((c + n) * (n + 1)) * w
        return (first + n) * common, sign * common

    def in_third(n: int, a: Array, b: Array, second: Array, c: Array, w: Array, sign: Array) -> tuple[Array, Array]:
        common = (a + n) / ((c + n) * (n + 1)) * w
        return (second + n) * common, common * (np.where(sign < 0, b, -(b + n)) / (c + n))

    def call(a: Array, b: Array, c: Array, z: Array) -> Array:
        with np.errstate(all="ignore"):
            a, b, c, z = np.broadcast_arrays(a, b, c, z)
            sign = np.where(z < 0, -1.0, 1.0)
            w = np.where(z < 0, z / (z - 1), z)
            w = np.where(_reachable(w, a, b, c), w, np.nan)
            power = b if place == "a" else a
            if place == "a":
                series = _series(in_first, np.where(z < 0, c - a, a), b, c, w, sign)
            else:
                series = _series(in_third, a, b, np.where(z < 0, c - b, b), c, w, sign)
            return np.where(z < 0, np.power(1 - z, -power), 1.0) * series[1]

    call.__name__ = f"hyp2f1_slope_{place}"
    return call


def hyp1f1(a: Array, b: Array, z: Array) -> Array:
    """M(a, b, z) for |z| up to 1e6 and parameters up to 1e5; beyond, SciPy's loops do not end: infinity or NaN."""
    special = _scipy()

    with np.errstate(all="ignore"):
        a, b, z = np.broadcast_arrays(a, b, z)
        usual = (np.abs(a) <= 1e5) & (np.abs(b) <= 1e5)
        beyond = np.where(usual & (a > 0) & (b > 0) & (z > 1e6), np.inf, np.nan)
        usual &= np.abs(z) <= 1e6
        return np.where(usual, special.hyp1f1(*(np.where(usual, x, 1.0) for x in (a, b, z))), beyond)


def hyp1f1_slope(place: str) -> Callable[[Array, Array, Array], Array]:
    """The derivative of M(a, b, z) in its parameter a or b, for |z| < 700."""

    def ratio(n: int, first: Array, a: Array, b: Array, z: Array) -> tuple[Array, Array]:
        common = np.abs(z) / ((b + n) * (n + 1))
        if place == "a":
            return (first + n) * common, np.where(z < 0, -common, common)
        return (first + n) * common, common * (np.where(z < 0, a, -(a + n)) / (b + n))

    def call(a: Array, b: Array, z: Array) -> Array:
        with np.errstate(all="ignore"):
            a, b, z = np.broadcast_arrays(a, b, z)
            z = np.where(_reachable(np.abs(z) / 1400, a, b), z, np.nan)
            return np.where(z < 0, np.exp(z), 1.0) * _series(ratio, np.where(z < 0, b - a, a), a, b, z)[1]

    call.__name__ = f"hyp1f1_slope_{place}"
    return call
