"""Modified Bessel functions of the first kind, and the same over exp(|x|): i0, i1, i0e, i1e, and the slope of i0e.

In: float64 values. Out: values at most 4 ULP off. Up to 8 the power series' place is taken by a polynomial in
x**2 / 4, all of whose coefficients are positive; beyond, 1 / sqrt(2 pi x) is corrected by one in 16 / x - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from consilience.native.vectormath.coefficients import BESSEL_I0, BESSEL_I0_FAR, BESSEL_I1, BESSEL_I1_FAR
from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.modified_bessel import FROM as DEBYE_FROM
from consilience.native.vectormath.modified_bessel import SLOPES, SUMS
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial

FAR: Final = 8.0
EXP_FAR: Final = math.exp(FAR)
SUMS_AT_0: Final = [row[0] for row in SUMS]
SLOPES_AT_0: Final = [row[0] for row in SLOPES]
LIMIT: Final = 1.0 / math.sqrt(2.0 * math.pi)


def _parts(x: Lanes, near: Sequence[float], far: Sequence[float]) -> tuple[Lanes, Lanes, Lanes]:
    """|x|, the series over its first term where |x| <= 8, and the scaled function where |x| is greater."""
    size = abs(x)
    beyond = size > FAR
    close, distant = choose(beyond, FAR, size), choose(beyond, size, FAR)
    quarter = 0.25 * (close * close)
    series = fma(quarter, polynomial(quarter, near), 1.0)
    inverse = 1.0 / distant
    leading = fma(inverse, polynomial(fma(inverse, 2.0 * FAR, -1.0), far), LIMIT)
    return size, series, leading / distant.sqrt()


def _scaled(x: Lanes, near: Sequence[float], far: Sequence[float]) -> tuple[Lanes, Lanes, Lanes]:
    """The same with the series over exp(|x|)."""
    size, series, distant = _parts(x, near, far)
    return size, exponential(-choose(size > FAR, FAR, size)) * series, distant


def _growth(size: Lanes) -> Lanes:
    """exp(|x| - 8) beyond 8: the functions are finite a little farther than the exponential."""
    return exponential(choose(size > FAR, size, FAR) - FAR)


@elementary
def i0(x: Lanes) -> Lanes:
    """I_0(x)."""
    size, near, far = _parts(x, BESSEL_I0, BESSEL_I0_FAR)
    return choose(size > FAR, choose(size.equals(math.inf), math.inf, EXP_FAR * far * _growth(size)), near)


@elementary
def i1(x: Lanes) -> Lanes:
    """I_1(x)."""
    size, near, far = _parts(x, BESSEL_I1, BESSEL_I1_FAR)
    beyond = choose(size.equals(math.inf), math.inf, EXP_FAR * far * _growth(size))
    return choose(size > FAR, beyond, 0.5 * size * near).with_sign(x)


@elementary
def i0e(x: Lanes) -> Lanes:
    """I_0(x) exp(-|x|)."""
    size, near, far = _scaled(x, BESSEL_I0, BESSEL_I0_FAR)
    return choose(size > FAR, far, near)


@elementary
def i1e(x: Lanes) -> Lanes:
    """I_1(x) exp(-|x|)."""
    size, near, far = _scaled(x, BESSEL_I1, BESSEL_I1_FAR)
    return choose(size > FAR, far, 0.5 * size * near).with_sign(x)


@elementary
def i0e_slope(x: Lanes) -> Lanes:
    """The derivative of I_0(x) exp(-|x|), 0 at 0; far out by that of its asymptotic series (DLMF 10.40.1)."""
    size, near, far = _scaled(x, BESSEL_I0, BESSEL_I0_FAR)
    _, near_first, far_first = _scaled(x, BESSEL_I1, BESSEL_I1_FAR)
    beyond = size > FAR
    value, first = choose(beyond, far, near), choose(beyond, far_first, 0.5 * size * near_first)
    inverse = 1.0 / choose(size > DEBYE_FROM, size, DEBYE_FROM)
    logarithmic = inverse * (polynomial(inverse, SLOPES_AT_0) / polynomial(inverse, SUMS_AT_0) - 0.5)
    slope = choose(size > DEBYE_FROM, value * logarithmic, first - value)
    return choose(size.equals(0.0), 0.0, slope.with_sign(-x))
