"""Modified Bessel functions of the first kind, and the same over exp(|x|): i0, i1, i0e, i1e.

In: float64 values. Out: values at most 4 ULP off. Up to 8 the power series' place is taken by a polynomial in
x**2 / 4, all of whose coefficients are positive; beyond, 1 / sqrt(2 pi x) is corrected by one in 16 / x - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from consilience.native.vectormath.coefficients import BESSEL_I0, BESSEL_I0_FAR, BESSEL_I1, BESSEL_I1_FAR
from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma, polynomial

FAR: Final = 8.0
EXP_FAR: Final = math.exp(FAR)
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
