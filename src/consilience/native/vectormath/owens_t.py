"""Owen's function T, the probability of a wedge of the normal distribution in the plane.

In: float64 values. Out: values relatively about 1e-15 off. An integral over at most 1 by the rule of Gauss and
Legendre.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from consilience.native.vectormath.error_function import gaussian, scaled_complement
from consilience.native.vectormath.exponential import exponential
from consilience.native.vectormath.notation import Lanes, choose, elementary, fma

HALF_NODES: Final = 22
REACH: Final = 8.6  # standard deviations beyond which the density is 0 beside that of the centre
ROOT_HALF: Final = math.sqrt(0.5)


def _wedge(h: Lanes, a: Lanes) -> Lanes:
    """The integral of exp(-h**2 (1 + x**2) / 2) / (1 + x**2) / (2 pi) over x from 0 to a; h >= 0, 0 <= a <= 1."""
    end = choose(h * a > REACH, REACH / h, a)
    reach, square = h * end, end * end
    fall = -0.5 * reach * reach
    nodes, weights = np.polynomial.legendre.leggauss(2 * HALF_NODES)
    sum = h.constant(0.0)
    for x, weight in zip(nodes[HALF_NODES:].tolist(), weights[HALF_NODES:].tolist(), strict=True):
        sum = fma(exponential(fall * (x * x)) / fma(square, x * x, 1.0), weight, sum)
    return gaussian(h, 0.5) * end * sum * (0.5 / math.pi)


def _tail(x: Lanes) -> Lanes:
    """The probability that a standard normal lies above x >= 0."""
    x = choose(x > 40.0, 40.0, x)
    return 0.5 * gaussian(x, 0.5) * scaled_complement(x * ROOT_HALF)


@elementary
def owens_t(h: Lanes, a: Lanes) -> Lanes:
    """T(h, a), odd in a, even in h; arctan(a) / (2 pi) at h = 0.

    For a > 1 the wedge between the axis and the line of slope a follows from that beyond the line.
    """
    size, slope = abs(h), abs(a)
    steep = slope > 1.0
    far = choose(steep, size * slope, size)
    far = choose(far.equals(far), far, 0.0)  # 0 times infinity: all wedges end at the axis
    part = _wedge(choose(far > 40.0, 40.0, far), choose(steep, 1.0 / slope, slope))
    tail, beyond = (_tail(x) for x in (size, far))
    mirrored = fma(0.5, tail + beyond, -tail * beyond) - part
    result = choose(steep, mirrored, part)
    result = choose(size.equals(math.inf) & slope.equals(slope), 0.0, result)
    return choose(h.equals(h) & a.equals(a), result, math.nan).with_sign(a)
