"""The zeta function of Hurwitz, of which the higher derivatives of digamma are multiples.

In: float64 exponents and arguments. Out: sums of powers, relatively about 1e-16 per unit of the exponent off. Ten terms
are added, the rest follows from the formula of Euler and Maclaurin.
"""

from __future__ import annotations

import math
from typing import Final

from consilience.native.vectormath.incomplete import Cell
from consilience.native.vectormath.notation import Lanes, choose, elementary
from consilience.native.vectormath.power import power

TERMS: Final = 10
# B_2k / (2k)!, k = 1, 2, …
BERNOULLI: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
    77683 / 14101100039391805440000, -236364091 / 1693824136731743669452800000,
)  # fmt: skip


def _of_positive(s: Lanes, q: Lanes) -> Lanes:
    """The sum of (q + k)**-s over k = 0, 1, …; s > 1, q > 0."""
    at, sum = Cell(q), Cell(q.constant(0.0))
    with s.builder.for_(0, TERMS):
        sum.set(sum.get() + power(at.get(), -s))
        at.set(at.get() + 1.0)
    a = at.get()
    last = power(a, -s)
    rising, rest, k = s / a, s.constant(0.5), 1.0
    for coefficient in BERNOULLI:
        rest = rest + coefficient * rising
        rising = rising * ((s + k) / a) * ((s + (k + 1.0)) / a)
        k += 2.0
    # Powers of a large exponent may overflow where the last term is 0.
    more = choose(last.equals(0.0), 0.0, last * (rest + a / (s - 1.0)))
    return sum.get() + more


@elementary
def zeta(s: Lanes, q: Lanes) -> Lanes:
    """The sum of (q + k)**-s over k = 0, 1, …; for negative q whole s only. Infinite at q = 0, -1, … and for s = 1.

    Below 0 the terms up to the sign change are those of two zeta functions of positive arguments.
    """
    builder = s.builder
    size, negative = abs(q), q < 0.0
    over = size - size.floor()
    first = choose(negative, 1.0 - over, q)
    result = builder.variable(_of_positive(s, first).value)
    with builder.if_(negative.any()):
        below = _of_positive(s, over) - _of_positive(s, size + 1.0)
        half = 0.5 * s
        signed = choose(half.floor().equals(half), below, -below)
        builder.set(result, choose(negative, s.of(builder.get(result)) + signed, s.of(builder.get(result))).value)
    value = s.of(builder.get(result))
    pole = (q <= 0.0) & size.floor().equals(size)
    undefined = negative & s.floor().differs(s)
    value = choose(pole, math.inf, choose(undefined, math.nan, value))
    value = choose(q.equals(math.inf), 0.0, value)
    value = choose(s.equals(1.0), math.inf, choose(s > 1.0, value, math.nan))
    return choose(q.equals(q) & (s < math.inf), value, math.nan)
